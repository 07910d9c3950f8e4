//! A lab that runs: the loop that carries frames between links of this machine and the fabric.

use crate::fabric::outside::{self, End};
use crate::fabric::{Fabric, watchdog};
use crate::frames::Frames;
use crate::linux::clock::Clock;
use crate::linux::edge::{Edge, HostCounts};
use crate::linux::lateness::Lateness;
use crate::linux::link_edge::LinkEdge;
use crate::linux::sys::{Ring, Sleep};
use crate::linux::{During, LabError, Network};
use crate::logs::Logs;
use crate::meter::{Measured, Meter};
use backwater_counters::{PortStats, SwitchView};
use backwater_dataplane::DataPlane;
use backwater_nic::Nic;
use backwater_types::Instant;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant as Wall, SystemTime};

/// Frames that fit into the store of a fabric.
pub const FRAMES: usize = 1 << 16;

/// Longest sleep of the loop.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Time before an event at which the loop wakes to wait awake, where a processor is free. A sleep may end late by that.
const AWAKE: Duration = Duration::from_micros(150);

/// Carrier of frames between the hosts: a [thread](Running), or [processes](crate::linux::Processes).
pub trait Carrier: Send {
    /// Clock of the lab.
    fn clock(&self) -> Clock;
    /// Time of the network that was reached.
    fn now(&self) -> Instant;
    /// Whether it runs.
    fn runs(&self) -> bool;
    /// Packets that have crossed a link, up to a moment ago.
    fn packet_hops(&self) -> u64;
    /// Returns the counters of a moment ago.
    fn counts(&self) -> Counts;
    /// Counts lateness anew: that of frames up to now does not matter.
    fn count_lateness_anew(&self);
    /// Ends it. Returns its counters, and the measurements of each part of the network: none without a meter, and none at
    /// a second call.
    fn stop(&mut self) -> (Counts, Vec<Measured>);
}

/// Resources of the process that runs a part of the network.
pub(super) struct Process {
    /// Rings of its hosts, and of its links to other parts.
    pub(super) rings: [Vec<Ring>; 2],
    /// Logs and captures, which are written at least once in [`LONGEST_SLEEP`]. Whoever makes them ends them.
    pub(super) files: Logs,
    /// Number of the network's other processes.
    pub(super) beside: usize,
}

/// Time after which a hello is repeated that was not answered.
const GREETED_AGAIN: Duration = Duration::from_millis(20);

/// A lab whose fabric runs on a thread.
pub struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Option<Measured>>>,
    clock: Clock,
}

/// State that the loop shares with its owner.
struct Shared {
    stop: AtomicBool,
    /// Whether lateness is to be counted anew.
    counts_anew: AtomicBool,
    /// Clock that takes the place of one that stands.
    begins: OnceLock<Clock>,
    /// Whether all neighbours in other parts have answered.
    greeted: AtomicBool,
    wake: EventFd,
    /// Time of the network, picoseconds.
    now: AtomicU64,
    counts: Mutex<Counts>,
}

/// Counters of the loop.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Links between processes.
    pub links: Vec<LinkCounts>,
    /// Processes, where the network runs as such.
    pub processes: Vec<ProcessCounts>,
    /// First error in writing the logs and captures of a process.
    pub unwritten: Option<String>,
}

/// Counters of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessCounts {
    /// Name of its switch, or `hosts`.
    pub name: String,
    /// Times that it was started again.
    pub restarts: u64,
    /// Names of the logs of its switch, one for each start.
    pub logs: Vec<String>,
}

/// Counters at the end of a link to another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkCounts {
    /// The link, and its end.
    pub end: End,
    /// Lateness of frames in, and out.
    pub late: [Lateness; 2],
    /// Frames that were not accepted, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Times that the neighbour started again.
    pub restarts: u64,
    /// Watchdog.
    pub watchdog: watchdog::Counts,
}

/// A port of the fabric at one time.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
        let rings = [network.take_rings(), Vec::new()];
        Running::carry(fabric, meter, clock, Process { rings, files: Logs::default(), beside: 0 })
    }

    /// The same for a part of the network in a process of its own.
    pub(super) fn carry<D: DataPlane<Extension = ()> + 'static, N: Nic<Frames> + 'static>(
        fabric: Fabric<D, N>,
        meter: Option<Meter>,
        clock: Clock,
        process: Process,
    ) -> Result<Running, LabError>
    where
        N::Flow: 'static,
    {
        let wake =
            EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).during("cannot make an event", "")?;
        let (stop, counts_anew, now) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
        let (begins, greeted) = (OnceLock::new(), AtomicBool::new(false));
        let shared = Arc::new(Shared { stop, counts_anew, begins, greeted, wake, now, counts: Mutex::default() });
        let Process { rings: [edges, links], files, beside } = process;
        let edges = edges.into_iter().map(Edge::new).collect();
        let links = links.into_iter().map(LinkEdge::new).collect();
        let awake = Duration::ZERO;
        let work = Loop { fabric, meter, edges, links, clock, files, beside, awake, shared: Arc::clone(&shared) };
        let thread = thread::Builder::new().name("fabric".into()).spawn(move || work.run());
        Ok(Running { shared, thread: Some(thread.during("cannot start the fabric", "")?), clock })
    }

    /// Whether all neighbours in other parts have answered.
    pub(super) fn is_greeted(&self) -> bool {
        self.shared.greeted.load(Ordering::Relaxed)
    }

    /// Lets a clock take the place of the one that stands.
    pub(super) fn begin(&mut self, clock: Clock) {
        // A second clock changes nothing.
        let _ = self.shared.begins.set(clock);
        self.clock = clock;
        self.wake();
    }

    fn wake(&self) {
        // A full counter of events wakes the loop as well.
        let _ = self.shared.wake.write(1);
    }

    fn end(&mut self) -> thread::Result<Option<Measured>> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.wake();
        self.thread.take().map_or(Ok(None), JoinHandle::join)
    }
}

impl Carrier for Running {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn now(&self) -> Instant {
        Instant(self.shared.now.load(Ordering::Relaxed))
    }

    fn runs(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn packet_hops(&self) -> u64 {
        self.shared.counts.lock().map(|counts| counts.packet_hops).unwrap_or_default()
    }

    /// Returns what the loop had counted when it last published, once a tenth of a second.
    fn counts(&self) -> Counts {
        self.shared.counts.lock().map(|counts| counts.clone()).unwrap_or_default()
    }

    fn count_lateness_anew(&self) {
        self.shared.counts_anew.store(true, Ordering::Relaxed);
    }

    /// Ends the loop. Panics if the loop has, with its message.
    fn stop(&mut self) -> (Counts, Vec<Measured>) {
        let measured = self.end().unwrap_or_else(|why| std::panic::resume_unwind(why));
        (self.counts(), measured.into_iter().collect())
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
    /// Links to hosts, and to other parts.
    edges: Vec<Edge>,
    links: Vec<LinkEdge>,
    clock: Clock,
    files: Logs,
    /// Number of the network's other processes.
    beside: usize,
    /// Time that the loop waited awake.
    awake: Duration,
    shared: Arc<Shared>,
}

impl<D: DataPlane<Extension = ()>, N: Nic<Frames>> Loop<D, N> {
    fn run(mut self) -> Option<Measured> {
        // Sleeps end when asked, not up to 50 us later. A kernel that refuses is late by that.
        let _ = prctl::set_timerslack(1);
        let (mut publish_at, mut wakes_early) = (Instant::ZERO, false);
        let mut sleep = Sleep::over(self.rings().map(AsFd::as_fd).chain([self.shared.wake.as_fd()]));
        let (number, mut greet_at) = (number_of_start(), self.clock.now().wall());
        while !self.shared.stop.load(Ordering::Relaxed) || self.is_behind() {
            self.begin();
            let now = self.clock.now();
            let mut until = now.network();
            let mut waits = false;
            for (host, edge) in (0..).zip(&mut self.edges) {
                if let Some(first) = edge.take_in(host, &now, &self.clock, &mut self.fabric) {
                    // A frame that still waits has to enter before later events happen.
                    (until, waits) = (until.min(first), true);
                }
            }
            for (link, edge) in self.links.iter_mut().enumerate() {
                edge.take_in(link, &now, &self.clock, &mut self.fabric);
            }
            self.carry(until);
            // Only now the fabric has the time at which a hello is sent: a part that starts again begins at time 0.
            if !self.shared.greeted.load(Ordering::Relaxed) && now.wall() >= greet_at {
                self.fabric.greet(number);
                greet_at = now.wall() + GREETED_AGAIN;
            }
            let links = &mut self.links;
            self.fabric.emitted(|due, link, frame| links[link].keep(due, frame));
            self.edges.iter_mut().for_each(|edge| edge.send(&self.clock, &mut self.fabric));
            self.links.iter_mut().for_each(|edge| edge.send(&self.clock));
            self.shared.greeted.store(self.fabric.is_greeted(), Ordering::Relaxed);
            self.shared.now.store(self.fabric.reached().0, Ordering::Relaxed);
            if now.network() >= publish_at {
                publish_at = self.clock.network(now.wall() + LONGEST_SLEEP);
                if self.shared.counts_anew.swap(false, Ordering::Relaxed) {
                    self.count_lateness_anew();
                }
                self.publish();
                wakes_early = has_free_processor(self.beside);
            }
            if !waits {
                self.wait(&mut sleep, wakes_early);
            }
        }
        self.publish();
        self.meter.take().map(|meter| meter.measured(&mut self.fabric))
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.edges.iter().map(|edge| &edge.ring).chain(self.links.iter().map(|edge| &edge.ring))
    }

    fn has_frame(&self) -> bool {
        self.rings().any(Ring::has_frame)
    }

    /// Whether a measurement is due that has not been made, because the loop is late.
    fn is_behind(&self) -> bool {
        self.meter.as_ref().is_some_and(|meter| meter.next() < self.clock.now().network())
    }

    /// Takes the clock of the lab, once it has begun.
    fn begin(&mut self) {
        let Some(clock) = self.shared.begins.get().filter(|clock| **clock != self.clock) else { return };
        self.clock = *clock;
        // What woke the loop is read, or it would wake it again.
        let _ = self.shared.wake.read();
        self.count_lateness_anew();
    }

    fn count_lateness_anew(&mut self) {
        self.edges.iter_mut().for_each(Edge::count_lateness_anew);
        self.links.iter_mut().for_each(LinkEdge::count_lateness_anew);
    }

    /// Runs the fabric up to `until`, measures it on the way, and keeps the frames that reach hosts at their edges.
    fn carry(&mut self, until: Instant) {
        loop {
            let pause = self.meter.as_ref().map_or(Instant::NEVER, Meter::before_next);
            while let Some(frame) = self.fabric.deliver(until.min(pause)) {
                self.edges[usize::from(frame.host)].keep(frame);
            }
            match &mut self.meter {
                Some(meter) if pause < until => meter.measure(&mut self.fabric),
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
        while now < until && !self.has_frame() {
            std::hint::spin_loop();
            now = Wall::now();
        }
        self.awake += now - from;
    }

    fn publish(&mut self) {
        let unwritten = self.files.flush().err().map(|error| error.to_string());
        let ports = self.ports();
        let fabric = &self.fabric;
        let hosts = (0..).zip(&mut self.edges).map(|(host, edge)| edge.counts(host, fabric)).collect();
        let links = fabric
            .outside_counts()
            .zip(&mut self.links)
            .map(|((end, counts), edge)| LinkCounts::of(end, &counts, edge));
        let links = links.collect();
        let Ok(mut counts) = self.shared.counts.lock() else { return };
        *counts = Counts {
            now: fabric.reached(),
            hosts,
            inside: fabric.frames(),
            dropped: fabric.dropped(),
            packet_hops: fabric.packet_hops(),
            ports,
            awake: self.awake,
            links,
            processes: Vec::new(),
            unwritten,
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

impl LinkCounts {
    fn of(end: End, counts: &outside::Counts, edge: &mut LinkEdge) -> LinkCounts {
        let (late, unsent) = edge.counts();
        let refused = counts.refused.each().map(|(why, count)| (why.name(), count));
        let refused = refused.chain([("not-ip", counts.not_ip), ("no-room", counts.no_room), ("not-taken", unsent)]);
        let refused = refused.filter(|(_, count)| *count > 0).map(|(why, count)| (why.into(), count)).collect();
        LinkCounts { end, late, refused, restarts: counts.restarts, watchdog: counts.watchdog }
    }
}

/// A number that differs from those of earlier starts.
fn number_of_start() -> u64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since_epoch.as_nanos() as u64
}

/// Whether this loop may wait awake: every process of the network may have a processor, `beside` other ones too, one is
/// left for programs, and fewer tasks than processors want to run. `false` where the system does not say.
fn has_free_processor(beside: usize) -> bool {
    let Ok(load) = std::fs::read_to_string("/proc/loadavg") else { return false };
    let running = load.split(' ').nth(3).and_then(|tasks| tasks.split('/').next()?.parse::<usize>().ok());
    let processors = thread::available_parallelism().map_or(1, |count| count.get());
    running.is_some_and(|running| may_wait_awake(running, processors, beside))
}

fn may_wait_awake(running: usize, processors: usize, beside: usize) -> bool {
    running <= processors && processors > 1 + beside
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes that wait awake on one processor take it from each other, and all of them from programs.
    #[test]
    fn nothing_waits_awake_without_a_processor_to_spare() {
        let may = [(1, 2, 0), (2, 2, 0), (1, 4, 2), (1, 8, 2)];
        assert!(may.iter().all(|&(running, processors, beside)| may_wait_awake(running, processors, beside)));
        let may_not = [(1, 1, 0), (3, 2, 0), (1, 2, 1), (1, 2, 2), (1, 3, 2), (5, 4, 2)];
        assert!(!may_not.iter().any(|&(running, processors, beside)| may_wait_awake(running, processors, beside)));
    }
}
