//! The first bitmap that arrives after a lost, duplicated or late pause frame repairs its effect (spec A.9, A.11).
//!
//! There are two switches; the second is slow and pauses the first. One of its frames is lost, duplicated or delayed on
//! departure. The test compares the pauses that the first switch received with those that the second intended one
//! crossing earlier.

use crate::common::log::Log;
use crate::common::{row, scenario};
use backwater_dataplane::{DataPlane, Discarded, Readings, Received, Sent, Shape};
use backwater_planes::any;
use backwater_scenario::Scenario;
use backwater_scenario::model::Memory;
use backwater_schemes::AnySwitch;
use backwater_schemes::Switch as Table;
use backwater_sim::{Simulation, Watch};
use backwater_types::{ControlFrame, Frame, Instant, PortId};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    None,
    Lost,
    Doubled,
    /// Delay, ps.
    Late(u64),
}

/// Frames that the switch intended to send: time, frame, and whether the frame was tampered with.
type Record = Arc<Mutex<Vec<(u64, ControlFrame, bool)>>>;

/// A switch that tampers with one of its PAUSE and RESUME frames.
struct Tamper {
    inner: AnySwitch,
    mishap: Mishap,
    /// Frames left until that one, inclusive.
    left: u32,
    /// Time to send the late frame.
    alarm: Instant,
    /// Frame to send late or again, and its port.
    kept: Option<(PortId, Sent)>,
    meant: Record,
}

impl Tamper {
    /// Counts a queued frame. A late frame sets its alarm now, while the engine reads timers.
    fn on_frame_queued(&mut self, now: Instant, port: Option<PortId>) {
        if port.is_some() && self.left > 0 {
            self.left -= 1;
            if let (0, Mishap::Late(by)) = (self.left, self.mishap) {
                self.alarm = Instant(now.0 + by);
            }
        }
    }

    fn may_send_kept(&self, port: PortId) -> bool {
        self.alarm == Instant::NEVER && self.kept.is_some_and(|(at, _)| at == port)
    }
}

impl DataPlane for Tamper {
    type Extension = ();

    fn receive(&mut self, now: Instant, packet: &Frame, ingress: PortId, egress: PortId) -> Received {
        let received = self.inner.receive(now, packet, ingress, egress);
        self.on_frame_queued(now, received.frame_on);
        received
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        if self.may_send_kept(port) {
            return self.kept.take().map(|(_, sent)| sent);
        }
        let sent = self.inner.transmit(now, port)?;
        self.on_frame_queued(now, sent.frame_on);
        let Some(frame) = sent.packet.control() else { return Some(sent) };
        let tampered = self.left == 0 && self.mishap != Mishap::None && !matches!(frame, ControlFrame::Bitmap(_));
        self.meant.lock().unwrap().push((now.0, frame, tampered));
        if !tampered {
            return Some(sent);
        }
        let mishap = std::mem::replace(&mut self.mishap, Mishap::None);
        if mishap != Mishap::Lost {
            self.kept = Some((port, sent));
        }
        if mishap == Mishap::Doubled { Some(sent) } else { self.transmit(now, port) }
    }

    fn sendable(&self, port: PortId) -> bool {
        self.may_send_kept(port) || self.inner.sendable(port)
    }

    fn next_timer(&self) -> Instant {
        self.inner.next_timer().min(self.alarm)
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        if self.inner.next_timer() <= now {
            self.inner.timer(now, to_poll);
        }
        if self.alarm <= now {
            self.alarm = Instant::NEVER;
            to_poll.extend(self.kept.map(|(port, _)| port));
        }
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        self.inner.control(now, port, frame);
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.inner.link_down(now, port, to_poll);
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.inner.link_up(now, port, to_poll);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded<Self::Extension>> {
        self.inner.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.inner.readings()
    }
}

const PERIOD: u64 = 10_000_000;
/// Time of a frame from start to arrival, ps: 64 B at 100 Gb/s and 1 us.
const CROSSING: u64 = 64 * 80 + 1_000_000;
/// Longest wait of a frame, ps: a full packet in transmission.
const WAIT: u64 = 1048 * 80;
const FIRST: usize = 2;
const SECOND: usize = 3;

fn slow_second_switch() -> Scenario {
    scenario(&format!(
        "scheme = \"bfc\"\n{}[run]\nduration = \"400 us\"\nwarmup = \"0 s\"\n[measure]\nsample = \"0 s\"\n\
         [switch.bfc]\nfixed_threshold = \"5000 B\"\nrefresh = \"10 us\"\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\nsize = \"500 KB\"\n",
        row(&[(100, 1000), (100, 1000), (25, 1000)])
    ))
}

/// Runs with a mishap to PAUSE or RESUME number `number`, from 1. Returns the log, the intended frames, and the last
/// acknowledgement's time.
fn run(mishap: Mishap, number: u32) -> (Log, Vec<(u64, ControlFrame, bool)>, u64) {
    let scenario = slow_second_switch();
    let simulation = Simulation::new(&scenario, 1);
    let (record, built) = (Record::default(), Mutex::new(FIRST));
    let plane = |shape: &Shape, params: &Table| {
        // The engine builds switches in order.
        let mut node = built.lock().unwrap();
        *node += 1;
        let is_second = *node == SECOND + 1;
        Tamper {
            inner: any(Memory::Exact, shape, params),
            mishap: if is_second { mishap } else { Mishap::None },
            left: number,
            alarm: Instant::NEVER,
            kept: None,
            meant: if is_second { record.clone() } else { Record::default() },
        }
    };
    let (outcome, mut logs) = simulation.observe_planes(plane, Log::default, &Watch::default());
    assert_ne!(outcome.acknowledged.get(0), Instant::NEVER, "{mishap:?} {number}: the flow finishes");
    let meant = record.lock().unwrap().clone();
    (logs.remove(0), meant, outcome.acknowledged.get(0).0)
}

/// Returns the queues paused after each frame: `(time, queues)`.
fn states(frames: impl Iterator<Item = (u64, ControlFrame)>) -> Vec<(u64, u64)> {
    let mut held = 0;
    let state = |(at, frame)| {
        match frame {
            ControlFrame::Pause(q) => held |= 1 << q,
            ControlFrame::Resume(q) => held &= !(1 << q),
            ControlFrame::Bitmap(map) => held = map.words()[0],
            _ => {}
        }
        (at, held)
    };
    frames.map(state).collect()
}

fn at(states: &[(u64, u64)], time: u64) -> u64 {
    states.iter().take_while(|(from, _)| *from <= time).last().map_or(0, |(_, held)| *held)
}

/// Returns the instants at which the first switch's pauses differ from those that the second intended.
fn differences(log: &Log, meant: &[(u64, ControlFrame, bool)]) -> Vec<u64> {
    let told = states(log.frames_received.iter().filter(|f| (f.1, f.2) == (FIRST, 1)).map(|f| (f.0, f.3)));
    let meant = states(meant.iter().map(|(at, frame, _)| (*at + CROSSING, *frame)));
    let mut moments: Vec<u64> = told.iter().chain(&meant).map(|(at, _)| *at).collect();
    moments.sort_unstable();
    moments.dedup();
    moments.retain(|moment| at(&told, *moment) != at(&meant, *moment));
    moments
}

/// Tampers with each of the first frames in turn. Returns the number of runs in which the first switch had wrong
/// pauses.
fn check(mishap: Mishap, is_pause: bool) -> usize {
    let mut misled = 0;
    for number in (1..=12).filter(|n| (n % 2 == 1) == is_pause) {
        let (log, meant, _) = run(mishap, number);
        let (sent, frame, _) = *meant.iter().find(|(_, _, tampered)| *tampered).expect("there are so many frames");
        assert_eq!(matches!(frame, ControlFrame::Pause(_)), is_pause);
        // Last instant at which the frame itself can still do harm.
        let arrives = sent + CROSSING + if let Mishap::Late(by) = mishap { by + WAIT } else { 0 };
        let bitmaps = log.frames_received.iter().filter(|f| (f.1, f.2) == (FIRST, 1) && f.0 >= arrives);
        let healed =
            bitmaps.filter(|f| matches!(f.3, ControlFrame::Bitmap(_))).map(|f| f.0).next().expect("a refresh comes");
        assert!(healed - arrives <= PERIOD + WAIT, "{mishap:?} {number}: within a period");
        let wrong = differences(&log, &meant);
        assert!(
            wrong.iter().all(|at| (sent..healed).contains(at)),
            "{mishap:?} {number}: {wrong:?}, healed at {healed}"
        );
        misled += !wrong.is_empty() as usize;
        // The switch acts on the repair: it sends at the instant of its release.
        if mishap == Mishap::Lost && !is_pause {
            let left: Vec<u64> = log.departed.iter().filter(|d| (d.1, d.2) == (FIRST, 1)).map(|d| d.0).collect();
            let quiet = |at: &&u64| (sent + CROSSING..healed).contains(at);
            assert_eq!(left.iter().find(quiet), None, "{number}: held until the refresh");
            assert!(left.contains(&healed), "{number}: sends at the instant of the refresh");
        }
    }
    misled
}

#[test]
fn without_a_mishap_the_first_switch_knows_what_the_second_means() {
    let (log, meant, _) = run(Mishap::None, 1);
    assert!(meant.len() > 20);
    assert!(differences(&log, &meant).is_empty());
}

#[test]
fn a_lost_pause_is_healed_by_the_first_refresh() {
    assert_eq!(check(Mishap::Lost, true), 6);
}

#[test]
fn a_lost_resume_is_healed_by_the_first_refresh() {
    assert_eq!(check(Mishap::Lost, false), 6);
}

/// Frames are level-triggered: a repetition changes nothing, not even times.
#[test]
fn a_doubled_frame_does_nothing() {
    assert_eq!(check(Mishap::Doubled, true) + check(Mishap::Doubled, false), 0);
    let (plain, doubled) = (run(Mishap::None, 1), run(Mishap::Doubled, 1));
    assert_eq!(plain.0.departed, doubled.0.departed);
}

/// Delays include some that let the frame arrive after the frame that revokes it.
#[test]
fn a_late_frame_is_healed_by_the_first_refresh_after_it() {
    for by in [500_000, 3_000_000, 9_000_000, 14_000_000, 25_000_000] {
        assert!(check(Mishap::Late(by), true) > 0);
        assert!(check(Mishap::Late(by), false) > 0);
    }
}
