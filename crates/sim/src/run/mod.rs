//! The loop of a run: windows, threads, samples, and the end of the run.
//!
//! Nodes interact only through links, and a frame sent in a window arrives after the window: its length is at most the
//! propagation delay plus the serialisation time of the shortest frame. Within a window each node therefore runs on its
//! own, with its state warm in cache. Nodes may run in any order and on any thread, with the same outcome. Threads
//! exchange frames at the end of a window, behind one barrier.
//!
//! Windows also end at a fixed grid of instants, independent of the look-ahead and the number of threads. At these
//! instants the loop samples occupancy, reads counters, and may end the run. Nothing a run reports depends on the ends
//! of the other windows.
//!
//! The types of the nodes are hidden in a [`Partition`], which the loop calls once per window.

mod barrier;
pub(crate) mod partition_results;
pub(crate) mod stall;
mod turns;

pub use turns::Turns;

use crate::run::barrier::{Barrier, Breaker, Patience};
use crate::run::partition_results::PartitionResults;
use crate::run::stall::{PartitionState, StallDetector, has_stalled};
use backwater_counters::stats::PortStats;
use backwater_engine::Partition;
use backwater_engine::host::params::Report;
use backwater_engine::host::starts::Starts;
use backwater_measure::link_samples::LinkMeter;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_traffic::{ENDLESS, Flow, Span, Traffic};
use backwater_types::{Duration, Instant};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Times of a run and its periods of sampling; the same for all threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Longest window.
    pub look_ahead: Duration,
    /// Start of the counted window.
    pub warm: Instant,
    /// Middle of the counted window.
    pub middle: Instant,
    /// End of the counted window.
    pub until: Instant,
    /// Latest end of the run.
    pub cap: Instant,
    /// Period of the samples of switches; zero for none.
    pub sample: Duration,
    /// Period of the samples of links; zero for none.
    pub links: Duration,
    /// Idle time after which a run may have stalled ([`stall`]); `None` where stalls are not detected.
    pub stall_after: Option<Duration>,
}

/// Period of the instants at which the run may end, once every counted flow has finished.
const END_GRID: Duration = Duration::from_us(10);

/// Progress of a run, and the request to cancel it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Simulated time, picoseconds.
    pub now: AtomicU64,
    /// Frames that crossed a link.
    pub packet_hops: AtomicU64,
    /// Flows that arrived.
    pub started: AtomicU64,
    /// Flows that were acknowledged in full.
    pub finished: AtomicU64,
    /// Counted flows and flows of collectives that have not finished.
    pub counted_left: AtomicU64,
    /// Set to cancel the run at the end of the window.
    pub cancel: AtomicBool,
    /// Times of windows, if the partitions are to take turns.
    pub turns: Option<Turns>,
    /// Spans of iterations that ranks of jobs have ended, `[workload]`, if somebody takes them while the run goes on.
    pub spans: Option<Mutex<Vec<Vec<Span>>>>,
}

/// Message of one partition to all others at the end of a window.
#[derive(Default)]
struct Post {
    /// Earliest event ahead, picoseconds.
    next: AtomicU64,
    counted_finished: AtomicU64,
    /// Closed-loop flows that started.
    started: AtomicU64,
    finished: AtomicU64,
    packet_hops: AtomicU64,
    /// Wakes of ranks that are still to come.
    wakes: AtomicU64,
}

/// State shared by all threads. Messages are double-buffered: a thread may be one window ahead of another, never two.
struct Shared<'a> {
    watch: &'a Watch,
    barrier: Barrier,
    /// `[parity][partition]`.
    posts: [Vec<Post>; 2],
    /// `[parity]`: whether the first thread has read the request to cancel.
    stop: [AtomicBool; 2],
    /// `[parity of the stall check][partition]`.
    states: [Vec<Mutex<PartitionState>>; 2],
}

/// Runs all partitions to the end, each on a thread of its own. Returns the partitions with their results.
pub(crate) fn run(
    partitions: Vec<Box<dyn Partition>>,
    (scenario, graph): (&Scenario, &Graph),
    timing: Timing,
    watch: &Watch,
) -> Vec<(Box<dyn Partition>, PartitionResults)> {
    let n = partitions.len();
    let posts = || (0..n).map(|_| Post::default()).collect::<Vec<_>>();
    let states = || (0..n).map(|_| Mutex::default()).collect::<Vec<_>>();
    let shared = Shared {
        watch,
        barrier: Barrier::new(n),
        posts: [posts(), posts()],
        stop: Default::default(),
        states: [states(), states()],
    };
    let worker = |nodes| Worker::new(nodes, (scenario, graph), timing, &shared);
    if n == 1 {
        return partitions.into_iter().map(|nodes| worker(nodes).run()).collect();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            partitions.into_iter().map(worker).map(|worker| scope.spawn(move || worker.run())).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    })
}

/// One partition on its thread.
struct Worker<'a> {
    nodes: Box<dyn Partition>,
    scenario: &'a Scenario,
    traffic: Traffic,
    timing: Timing,
    shared: &'a Shared<'a>,
    patience: Patience,
    results: PartitionResults,
    /// Numbers of the open-loop flows that arrived in the counted window. Open-loop flows are numbered in order of
    /// arrival.
    counted_flows: Range<u32>,
    /// Counted flows of finite size that have arrived in the whole network, plus all closed-loop flows.
    counted: u64,
    /// Closed-loop flows that started in this partition.
    started: u64,
    /// Wakes of ranks of jobs in this partition that are still to come.
    wakes: u64,
    /// Counted flows that finished in this partition.
    counted_finished: u64,
    /// Flows that finished in this partition.
    finished: u64,
    stall_detector: StallDetector,
    link_meter: LinkMeter,
}

impl<'a> Worker<'a> {
    fn new(
        mut nodes: Box<dyn Partition>,
        (scenario, graph): (&'a Scenario, &'a Graph),
        timing: Timing,
        shared: &'a Shared<'a>,
    ) -> Self {
        let traffic = Traffic::of_hosts(scenario, graph, &|host| nodes.has_host(host));
        let closed_loop_flows = traffic.closed_loop_flows();
        let mut results = PartitionResults::new(closed_loop_flows as usize, scenario.workload.len());
        nodes.switches(&mut |switch| results.samples.add_switch(switch, scenario, graph));
        Worker {
            nodes,
            scenario,
            traffic,
            timing,
            shared,
            patience: Patience::default(),
            results,
            counted_flows: u32::MAX..u32::MAX,
            counted: closed_loop_flows.into(),
            started: 0,
            wakes: 0,
            counted_finished: 0,
            finished: 0,
            stall_detector: StallDetector::default(),
            link_meter: LinkMeter::default(),
        }
    }

    /// Handles every event before `end`, and records the flows that finish.
    fn run_window(&mut self, end: Instant) {
        let (results, counted_flows) = (&mut self.results, &self.counted_flows);
        let (counted_finished, all_finished) = (&mut self.counted_finished, &mut self.finished);
        let (traffic, started, cap) = (&mut self.traffic, &mut self.started, self.timing.cap);
        let (mut asked, mut woken) = (0, 0);
        let closed_loop_flows = traffic.closed_loop_flows();
        let mut begin = |results: &mut PartitionResults, starts: &mut Starts, next: Flow| {
            if next.at < cap {
                if next.is_wake() {
                    asked += 1;
                } else {
                    results.started.set(next.id as usize, next.at);
                    *started += 1;
                }
                starts.push(next);
            }
        };
        let mut record = |now: Instant, report: Report| match report {
            Report::Received { flow, starts } => {
                results.received.set(flow as usize, now);
                if flow < closed_loop_flows {
                    traffic.on_received(flow, now, |next| begin(results, starts, next));
                }
            }
            Report::Acknowledged { flow, retransmitted, timeouts, starts } => {
                results.acknowledged.set(flow as usize, now);
                results.retransmitted.set(flow as usize, retransmitted);
                results.timeouts.set(flow as usize, timeouts.min(u16::MAX as u32) as u16);
                *all_finished += 1;
                *counted_finished += (counted_flows.contains(&flow) || flow < closed_loop_flows) as u64;
                if flow < closed_loop_flows {
                    traffic.on_acknowledged(flow, now, |next| begin(results, starts, next));
                }
            }
            Report::Began { flow } => results.started.set(flow as usize, now),
            Report::Woke { wake, starts } => {
                woken += 1;
                traffic.on_wake(wake, now, |next| begin(results, starts, next));
            }
        };
        self.nodes.run_window(end, &mut record);
        self.wakes += asked;
        self.wakes -= woken;
    }

    fn run(mut self) -> (Box<dyn Partition>, PartitionResults) {
        let _breaker = Breaker(&self.shared.barrier);
        self.nodes.begin();
        self.results.at_warm = self.snapshot(Instant::ZERO);
        let (mut now, mut parity) = (Instant::ZERO, 0);
        let mut grid = self.next_grid(now);
        'windows: loop {
            let end = (now + self.timing.look_ahead).min(grid);
            let next = self.in_turn(true, |worker| {
                worker.admit(end);
                worker.run_window(end);
                let next = worker.nodes.next(worker.traffic.next_at());
                worker.nodes.hand_over(parity);
                next
            });
            let all = self.exchange(parity, end, next);
            now = end;
            if self.shared.stop[parity].load(Ordering::Relaxed) {
                self.results.cancelled = true;
                break;
            }
            parity = 1 - parity;
            // Skip idle time up to the next event, stopping only at grid points with work to do.
            loop {
                if now == grid {
                    self.on_grid(now);
                    if self.is_over(now, all) {
                        break 'windows;
                    }
                    if self.has_stalled(now, all) {
                        self.results.stalled = true;
                        break 'windows;
                    }
                    grid = self.next_grid(now).max(self.next_idle_grid(now, all.next));
                }
                if all.next < grid {
                    now = now.max(all.next);
                    break;
                }
                now = grid;
            }
        }
        self.results.ended = now;
        self.pass_on_spans();
        for (all, last) in self.results.progress.iter_mut().zip(self.traffic.take_progress()) {
            all.spans.extend(last.spans);
            all.waiting = last.waiting;
        }
        // Flows scheduled after the end of the run have not started.
        self.results.started.update(|at| if at >= now { Instant::NEVER } else { at });
        (self.nodes, self.results)
    }

    /// Finds the next grid instant after `now`, at which all windows end.
    fn next_grid(&self, now: Instant) -> Instant {
        let s = &self.timing;
        let after = |period: Duration| Instant((now.0 / period.0 + 1) * period.0);
        let mut grid = after(END_GRID).min(s.cap);
        for period in [s.sample, s.links] {
            if period > Duration::ZERO && now < s.until {
                grid = grid.min(after(period));
            }
        }
        for fixed in [s.warm, s.middle, s.until] {
            if fixed > now {
                grid = grid.min(fixed);
            }
        }
        grid
    }

    /// Finds the latest grid instant up to `next`, the next event, that skips no sample, counter reading or stall check
    /// after `now`.
    fn next_idle_grid(&self, now: Instant, next: Instant) -> Instant {
        let s = &self.timing;
        if s.sample.max(s.links) > Duration::ZERO && now < s.until {
            return now;
        }
        let fixed = [s.warm, s.middle, s.until].into_iter().filter(|at| *at > now).min().unwrap_or(s.cap);
        let check = Instant((now.0 / stall::EVERY.0 + 1) * stall::EVERY.0);
        Instant(next.0 / END_GRID.0 * END_GRID.0).min(fixed).min(s.cap).min(check)
    }

    /// Announces the arrivals of this window to their source hosts in this partition.
    fn admit(&mut self, end: Instant) {
        while let Some(flow) = self.traffic.next_before(end) {
            let here = self.nodes.has_host(flow.src);
            if flow.is_wake() {
                if here {
                    self.wakes += 1;
                    self.nodes.announce(flow);
                }
                continue;
            }
            if flow.is_closed_loop() {
                if here {
                    self.results.started.set(flow.id as usize, flow.at);
                    self.started += 1;
                    self.nodes.announce(flow);
                }
                continue;
            }
            let Range { start, end } = &mut self.counted_flows;
            if flow.at >= self.timing.until {
                *end = flow.id.min(*end);
            } else if flow.at >= self.timing.warm {
                *start = flow.id.min(*start);
                self.counted += (flow.size != ENDLESS) as u64;
            }
            self.results.received.push(Instant::NEVER);
            self.results.acknowledged.push(Instant::NEVER);
            self.results.retransmitted.push(0);
            self.results.timeouts.push(0);
            if here {
                self.nodes.announce(flow);
            }
        }
    }

    /// Does `work`, in a turn of this partition if partitions take turns ([`turns`]).
    fn in_turn<T>(&mut self, at_barrier: bool, work: impl FnOnce(&mut Worker<'a>) -> T) -> T {
        match &self.shared.watch.turns {
            None => work(self),
            Some(turns) => turns.take(self.nodes.number(), at_barrier, || work(self)),
        }
    }

    /// Exchanges frames and messages with the other partitions. `next` is the earliest event ahead in this one.
    fn exchange(&mut self, parity: usize, end: Instant, next: Instant) -> NetworkState {
        let (shared, me) = (self.shared, self.nodes.number());
        let posts = &shared.posts[parity];
        let post = &posts[me];
        post.next.store(next.0, Ordering::Relaxed);
        post.counted_finished.store(self.counted_finished, Ordering::Relaxed);
        post.started.store(self.started, Ordering::Relaxed);
        post.finished.store(self.finished, Ordering::Relaxed);
        post.packet_hops.store(self.nodes.packet_hops(), Ordering::Relaxed);
        let wakes = self.wakes + u64::from(self.traffic.has_closed_loop_arrivals());
        post.wakes.store(wakes, Ordering::Relaxed);
        if me == 0 {
            shared.stop[parity].store(shared.watch.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        if posts.len() > 1 {
            shared.barrier.wait(&mut self.patience);
        }
        self.in_turn(false, |worker| worker.nodes.take_over(parity, end));
        let sum = |field: fn(&Post) -> &AtomicU64| posts.iter().map(|p| field(p).load(Ordering::Relaxed)).sum();
        let next = posts.iter().map(|p| p.next.load(Ordering::Relaxed)).min().map_or(Instant::NEVER, Instant);
        let [counted_finished, started, wakes] = [sum(|p| &p.counted_finished), sum(|p| &p.started), sum(|p| &p.wakes)];
        let all = NetworkState { next, counted_finished, started, wakes };
        if me == 0 {
            self.report(end, sum(|p| &p.finished), sum(|p| &p.packet_hops), &all);
        }
        all
    }

    fn report(&self, now: Instant, finished: u64, packet_hops: u64, all: &NetworkState) {
        let watch = self.shared.watch;
        watch.now.store(now.0, Ordering::Relaxed);
        let arrived = self.results.received.len() - self.results.started.len();
        watch.started.store(arrived as u64 + all.started, Ordering::Relaxed);
        watch.finished.store(finished, Ordering::Relaxed);
        watch.packet_hops.store(packet_hops, Ordering::Relaxed);
        watch.counted_left.store(self.counted - all.counted_finished, Ordering::Relaxed);
    }

    fn on_grid(&mut self, now: Instant) {
        let s = self.timing;
        self.pass_on_spans();
        if now == s.warm {
            self.results.at_warm = self.snapshot(now);
            self.count_acknowledged(0);
        }
        if now == s.middle {
            self.count_acknowledged(1);
        }
        if now == s.until {
            self.results.at_end = self.snapshot(now);
            self.count_acknowledged(2);
        }
        if s.links > Duration::ZERO && (now == s.until || now < s.until && now.0.is_multiple_of(s.links.0)) {
            self.sample_links(now);
        }
        if s.sample > Duration::ZERO && now >= s.warm && now <= s.until && now.0.is_multiple_of(s.sample.0) {
            let (samples, measure) = (&mut self.results.samples, &self.scenario.measure);
            self.nodes.switches(&mut |switch| samples.sample(measure, now, switch));
        }
    }

    /// Passes the spans of iterations that have ended on to who watches the run.
    fn pass_on_spans(&mut self) {
        let Some(spans) = &self.shared.watch.spans else { return };
        let ended = self.traffic.take_ended_spans();
        if ended.iter().all(Vec::is_empty) {
            return;
        }
        let mut spans = spans.lock().unwrap_or_else(PoisonError::into_inner);
        if spans.is_empty() {
            spans.resize(ended.len(), Vec::new());
        }
        for ((all, passed), ended) in self.results.progress.iter_mut().zip(spans.iter_mut()).zip(ended) {
            passed.extend_from_slice(&ended);
            all.spans.extend(ended);
        }
    }

    /// Samples every port of this partition since its last sample.
    fn sample_links(&mut self, now: Instant) {
        let (meter, links, mut i) = (&mut self.link_meter, &mut self.results.links, 0);
        self.nodes.link_counts(now, &mut |node, port, count| {
            links.extend(meter.since_last(i, now, (node, port), count));
            i += 1;
        });
    }

    /// Copies the counters of every port of this partition: hosts, then switches port by port.
    fn snapshot(&mut self, now: Instant) -> Vec<PortStats> {
        let mut all = Vec::new();
        self.nodes.ports(now, &mut |_, _, stats| all.push(*stats));
        all
    }

    fn count_acknowledged(&mut self, at: usize) {
        let sum = &mut self.results.acknowledged_bytes[at];
        sum.fill(0);
        self.nodes.add_acknowledged(sum);
    }

    /// Whether the run has stalled for good ([`stall`]). All threads get the same answer.
    fn has_stalled(&mut self, now: Instant, all: NetworkState) -> bool {
        let closed_loop_flows = self.traffic.closed_loop_flows();
        // Closed-loop flows that have not started wait for other flows, so they are left out.
        let left = self.counted + all.started - all.counted_finished - u64::from(closed_loop_flows);
        let is_due = now >= self.timing.until && now.0.is_multiple_of(stall::EVERY.0);
        let Some(stall_after) = self.timing.stall_after.filter(|_| is_due) else { return false };
        if left == 0 || self.traffic.next_at() != Instant::NEVER {
            return false;
        }
        let (shared, counted_flows) = (self.shared, &self.counted_flows);
        let counts = |flow| counted_flows.contains(&flow) || flow < closed_loop_flows;
        let state = self.stall_detector.check(now, stall_after, &mut *self.nodes, counts);
        // A thread may be one check ahead of another, never two.
        let states = &shared.states[(now.0 / stall::EVERY.0 % 2) as usize];
        let lock = |state: &'a Mutex<PartitionState>| state.lock().unwrap_or_else(|e| e.into_inner());
        *lock(&states[self.nodes.number()]) = state;
        if states.len() > 1 {
            shared.barrier.wait(&mut self.patience);
        }
        let states: Vec<_> = states.iter().map(lock).collect();
        has_stalled(states.iter().map(|state| &**state), left)
    }

    fn is_over(&self, now: Instant, all: NetworkState) -> bool {
        // Ranks may compute, or send to others on their host, when all flows have finished.
        let done = all.counted_finished == self.counted && all.wakes == 0 || all.next == Instant::NEVER;
        now >= self.timing.cap || (now >= self.timing.until && done)
    }
}

/// State of the whole network at the end of a window: the combined messages of all partitions.
#[derive(Clone, Copy)]
struct NetworkState {
    /// Earliest event ahead in any partition.
    next: Instant,
    counted_finished: u64,
    /// Closed-loop flows that started.
    started: u64,
    /// Wakes of ranks that are still to come.
    wakes: u64,
}
