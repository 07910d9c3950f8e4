//! A lab that runs: the loop that carries frames between the hosts' links and the fabric.

use crate::fabric::Fabric;
use crate::frames::Frames;
use crate::linux::clock::Clock;
use crate::linux::edge::{Edge, HostCounts};
use crate::linux::sys::Sleep;
use crate::linux::{During, LabError, Network};
use crate::meter::Meter;
use backwater_counters::{PortStats, SwitchView};
use backwater_dataplane::DataPlane;
use backwater_measure::Outcome;
use backwater_nic::Nic;
use backwater_types::Instant;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Wall};

/// Longest sleep of the loop.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Time before an event at which the loop wakes to wait awake, where a processor is free. A sleep may end late by that.
const AWAKE: Duration = Duration::from_micros(150);

/// A lab whose fabric runs on a thread.
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Option<Outcome>>>,
    /// Clock of the lab.
    pub clock: Clock,
}

/// What the loop shares with its owner.
struct Shared {
    stop: AtomicBool,
    /// Whether lateness is to be counted anew.
    counts_anew: AtomicBool,
    wake: EventFd,
    /// Time of the network, picoseconds.
    now: AtomicU64,
    counts: Mutex<Counts>,
}

/// What the loop has counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Time of the network.
    pub now: Instant,
    /// `[host]`.
    pub hosts: Vec<HostCounts>,
    /// Frames inside the fabric.
    pub inside: usize,
    /// Frames that switches and NICs dropped, or that were lost on links.
    pub dropped: u64,
    /// Packets that crossed a link of the fabric.
    pub packet_hops: u64,
    /// Every port: hosts first, then switches port by port.
    pub ports: Vec<PortReading>,
    /// Time that the loop waited awake, where a processor was free. It did no work then.
    pub awake: Duration,
}

/// A port of the fabric at one time.
#[derive(Clone, Debug)]
pub struct PortReading {
    /// Counters since the start.
    pub stats: PortStats,
    /// Data bytes that wait at a port of a switch.
    pub queued: Option<u64>,
    /// Flows with data there, where the switch knows flows.
    pub active_flows: Option<u32>,
}

impl Running {
    /// Starts to carry frames between the hosts of `network` and `fabric`, by this clock. `meter` measures the fabric.
    ///
    /// # Errors
    /// If the system refuses a descriptor or a thread.
    pub fn start<D: DataPlane<Extension = ()> + 'static, N: Nic<Frames> + 'static>(
        network: &mut Network,
        fabric: Fabric<D, N>,
        meter: Option<Meter>,
        clock: Clock,
    ) -> Result<Running, LabError>
    where
        N::Flow: 'static,
    {
        let wake =
            EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).during("cannot make an event", "")?;
        let (stop, counts_anew, now) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
        let shared = Arc::new(Shared { stop, counts_anew, wake, now, counts: Mutex::default() });
        let rings = network.take_rings();
        let work = Loop {
            fabric,
            meter,
            edges: rings.into_iter().map(Edge::new).collect(),
            clock,
            awake: Duration::ZERO,
            shared: shared.clone(),
        };
        let thread = thread::Builder::new().name("fabric".into()).spawn(move || work.run());
        Ok(Running { shared, thread: Some(thread.during("cannot start the fabric", "")?), clock })
    }

    /// Time of the network that the loop has reached, picoseconds.
    pub fn now(&self) -> Instant {
        Instant(self.shared.now.load(Ordering::Relaxed))
    }

    /// Whether the loop runs.
    pub fn runs(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Packets that had crossed a link of the fabric when the loop last published.
    pub fn packet_hops(&self) -> u64 {
        self.shared.counts.lock().map(|counts| counts.packet_hops).unwrap_or_default()
    }

    /// Counts lateness anew: that of frames up to now does not matter.
    pub fn count_lateness_anew(&self) {
        self.shared.counts_anew.store(true, Ordering::Relaxed);
    }

    /// Ends the loop. Returns what it counted, and what its meter measured; `None` without a meter, and at a second
    /// call.
    ///
    /// # Panics
    /// If the loop has panicked, with its message.
    pub fn stop(&mut self) -> (Counts, Option<Outcome>) {
        let outcome = self.end().unwrap_or_else(|why| std::panic::resume_unwind(why));
        (self.counts(), outcome)
    }

    fn end(&mut self) -> thread::Result<Option<Outcome>> {
        self.shared.stop.store(true, Ordering::Relaxed);
        // A full counter of events wakes the loop as well.
        let _ = self.shared.wake.write(1);
        self.thread.take().map_or(Ok(None), JoinHandle::join)
    }

    /// Returns what the loop had counted when it last published, once a tenth of a second.
    pub fn counts(&self) -> Counts {
        self.shared.counts.lock().map(|counts| counts.clone()).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A loop that panicked has nothing left to end.
        let _ = self.end();
    }
}

/// The loop.
struct Loop<D, N: Nic<Frames>> {
    fabric: Fabric<D, N>,
    meter: Option<Meter>,
    edges: Vec<Edge>,
    clock: Clock,
    /// Time that the loop waited awake.
    awake: Duration,
    shared: Arc<Shared>,
}

impl<D: DataPlane<Extension = ()>, N: Nic<Frames>> Loop<D, N> {
    fn run(mut self) -> Option<Outcome> {
        // Sleeps end when asked, not up to 50 us later. A kernel that refuses is late by that.
        let _ = prctl::set_timerslack(1);
        let (mut publish_at, mut wakes_early) = (Instant::ZERO, false);
        let links = self.edges.iter().map(|edge| edge.ring.as_fd());
        let mut sleep = Sleep::over(links.chain([self.shared.wake.as_fd()]));
        while !self.shared.stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let mut until = now.network();
            let mut waits = false;
            for (host, edge) in (0..).zip(&mut self.edges) {
                if let Some(first) = edge.take_in(host, &now, &self.clock, &mut self.fabric) {
                    // A frame that still waits has to enter before later events happen.
                    (until, waits) = (until.min(first), true);
                }
            }
            self.carry(until);
            self.edges.iter_mut().for_each(|edge| edge.send(&self.clock, &mut self.fabric));
            self.shared.now.store(self.fabric.reached().0, Ordering::Relaxed);
            if now.network() >= publish_at {
                publish_at = self.clock.network(now.wall() + LONGEST_SLEEP);
                if self.shared.counts_anew.swap(false, Ordering::Relaxed) {
                    self.edges.iter_mut().for_each(Edge::count_lateness_anew);
                }
                self.publish();
                wakes_early = has_free_processor();
            }
            if !waits {
                self.wait(&mut sleep, wakes_early);
            }
        }
        self.publish();
        self.meter.take().map(|meter| meter.outcome(&mut self.fabric))
    }

    /// Runs the fabric up to `until`, measures it on the way, and keeps the frames that reach hosts at their edges.
    fn carry(&mut self, until: Instant) {
        loop {
            let pause = self.meter.as_ref().map_or(Instant::NEVER, Meter::next);
            while let Some(frame) = self.fabric.deliver(until.min(pause)) {
                self.edges[usize::from(frame.host)].keep(frame);
            }
            match &mut self.meter {
                Some(meter) if pause <= until => meter.measure(&mut self.fabric),
                _ => return,
            }
        }
    }

    /// Waits until a frame can be due at a host, the next frame comes from one, or the end. What happens inside until then
    /// happens at its time all the same.
    fn wait(&mut self, sleep: &mut Sleep, wakes_early: bool) {
        let until = self.clock.wall(self.fabric.next_out());
        let now = self.clock.now().wall();
        let span = until.map_or(LONGEST_SLEEP, |until| until.saturating_duration_since(now).min(LONGEST_SLEEP));
        let asleep = if wakes_early { span.saturating_sub(AWAKE) } else { span };
        if !asleep.is_zero() && !sleep.sleep(asleep) {
            return;
        }
        let Some(until) = until.filter(|_| wakes_early && span < LONGEST_SLEEP) else { return };
        let from = Wall::now();
        let mut now = from;
        while now < until && !self.edges.iter().any(|edge| edge.ring.has_frame()) {
            std::hint::spin_loop();
            now = Wall::now();
        }
        self.awake += now - from;
    }

    fn publish(&mut self) {
        let ports = self.ports();
        let fabric = &self.fabric;
        let hosts = (0..).zip(&mut self.edges).map(|(host, edge)| edge.counts(host, fabric)).collect();
        let Ok(mut counts) = self.shared.counts.lock() else { return };
        *counts = Counts {
            now: fabric.reached(),
            hosts,
            inside: fabric.frames(),
            dropped: fabric.dropped(),
            packet_hops: fabric.packet_hops(),
            ports,
            awake: self.awake,
        };
    }

    fn ports(&mut self) -> Vec<PortReading> {
        let stats = self.fabric.stats(self.fabric.reached());
        let mut waiting = vec![(None, None); self.edges.len()];
        self.fabric.switches(&mut |switch: &mut dyn SwitchView| {
            let ports = 0..switch.ports();
            waiting.extend(ports.map(|port| (Some(switch.readings().queued(port)), switch.active_flows(port))));
        });
        let both = stats.into_iter().zip(waiting);
        both.map(|(stats, (queued, active_flows))| PortReading { stats, queued, active_flows }).collect()
    }
}

/// Whether fewer tasks than processors want to run. `false` where the system does not say.
fn has_free_processor() -> bool {
    let Ok(load) = std::fs::read_to_string("/proc/loadavg") else { return false };
    let running = load.split(' ').nth(3).and_then(|tasks| tasks.split('/').next()?.parse::<usize>().ok());
    let processors = thread::available_parallelism().map_or(1, |count| count.get());
    running.is_some_and(|running| running <= processors && processors > 1)
}
