//! A pause frame lost, doubled or late is healed by the first bitmap that arrives after it (spec A.9, A.11).
//!
//! Two switches; the second is slow and pauses the first, and one of its frames is tampered with on the way out. What the first
//! switch was told is compared with what the second meant, one crossing earlier.

use crate::common::log::Log;
use crate::common::{row, scenario};
use backwater_dataplane::{DataPlane, Discarded, Readings, Received, Sent, Shape};
use backwater_scenario::Scenario;
use backwater_scenario::model::Memory;
use backwater_schemes::Switch as Table;
use backwater_schemes::planes::{AnySwitch, any};
use backwater_sim::{Simulation, Watch};
use backwater_types::{ControlFrame, Frame, Instant, PortId};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    None,
    Lost,
    Doubled,
    /// Picoseconds.
    Late(u64),
}

/// What the switch meant to send, and which of it was tampered with.
type Record = Arc<Mutex<Vec<(u64, ControlFrame, bool)>>>;

/// A switch one of whose PAUSE and RESUME frames meets with a mishap.
struct Tamper {
    inner: AnySwitch,
    mishap: Mishap,
    /// Frames up to it.
    left: u32,
    /// When the late frame is to be sent.
    alarm: Instant,
    /// The frame taken out, or to be sent again, and its port.
    kept: Option<(PortId, Sent)>,
    meant: Record,
}

impl Tamper {
    /// A frame has been queued: a late one needs its alarm now, while timers are looked at.
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
/// A frame from start to arrival: 64 B at 100 Gb/s and 1 us.
const CROSSING: u64 = 64 * 80 + 1_000_000;
/// What a frame may wait for: a full packet.
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

/// Runs with a mishap to PAUSE or RESUME number `number`, from 1.
fn run(mishap: Mishap, number: u32) -> (Log, Vec<(u64, ControlFrame, bool)>, u64) {
    let scenario = slow_second_switch();
    let simulation = Simulation::new(&scenario, 1);
    let (record, built) = (Record::default(), Mutex::new(FIRST));
    let plane = |shape: &Shape, params: &Table| {
        // Switches are built in order.
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
    assert_ne!(outcome.acknowledged[0], Instant::NEVER, "{mishap:?} {number}: the flow finishes");
    let meant = record.lock().unwrap().clone();
    (logs.remove(0), meant, outcome.acknowledged[0].0)
}

/// What is held after each of these frames: `(time, queues)`.
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

/// Moments at which the first switch was told something else than the second meant.
fn differences(log: &Log, meant: &[(u64, ControlFrame, bool)]) -> Vec<u64> {
    let told = states(log.frames_received.iter().filter(|f| (f.1, f.2) == (FIRST, 1)).map(|f| (f.0, f.3)));
    let meant = states(meant.iter().map(|(at, frame, _)| (*at + CROSSING, *frame)));
    let mut moments: Vec<u64> = told.iter().chain(&meant).map(|(at, _)| *at).collect();
    moments.sort_unstable();
    moments.dedup();
    moments.retain(|moment| at(&told, *moment) != at(&meant, *moment));
    moments
}

/// Tampers with each of the first frames in turn; returns how often the first switch was misled.
fn check(mishap: Mishap, is_pause: bool) -> usize {
    let mut misled = 0;
    for number in (1..=12).filter(|n| (n % 2 == 1) == is_pause) {
        let (log, meant, _) = run(mishap, number);
        let (sent, frame, _) = *meant.iter().find(|(_, _, tampered)| *tampered).expect("there are so many frames");
        assert_eq!(matches!(frame, ControlFrame::Pause(_)), is_pause);
        // The last moment at which the frame itself can still do harm.
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
        // And the switch acts on it: whenever it is let go it sends, at that instant.
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

/// Level-triggered: once more changes nothing, not even the times.
#[test]
fn a_doubled_frame_does_nothing() {
    assert_eq!(check(Mishap::Doubled, true) + check(Mishap::Doubled, false), 0);
    let (plain, doubled) = (run(Mishap::None, 1), run(Mishap::Doubled, 1));
    assert_eq!(plain.0.departed, doubled.0.departed);
}

/// Late enough to arrive after the frame that takes it back.
#[test]
fn a_late_frame_is_healed_by_the_first_refresh_after_it() {
    for by in [500_000, 3_000_000, 9_000_000, 14_000_000, 25_000_000] {
        assert!(check(Mishap::Late(by), true) > 0);
        assert!(check(Mishap::Late(by), false) > 0);
    }
}
