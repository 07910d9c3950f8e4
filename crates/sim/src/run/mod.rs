//! The loop of a run: windows, threads, samples, and the end.
//!
//! Nodes meet only at links, and a frame sent in a window arrives after it: propagation and the shortest frame's serialisation
//! are the window's length. So within a window each node runs on its own, its state warm in cache, in any order and on any
//! thread, with the same outcome. Threads hand over frames at the end of a window, behind one barrier.
//!
//! Windows also end at a fixed grid of instants, whatever the look-ahead and the number of threads: where occupancy is sampled,
//! counters are read, and the run may end. Nothing a run reports depends on where the other windows end.
//!
//! What the nodes are is for a [`Partition`] to know: the loop calls it once a window.

mod barrier;
pub(crate) mod harvest;
pub(crate) mod link_samples;
pub(crate) mod standstill;

use crate::run::barrier::{Barrier, Breaker, Patience};
use crate::run::harvest::Harvest;
use crate::run::link_samples::LinkMeter;
use crate::run::standstill::{Stand, Stillness, still};
use crate::workload::{ENDLESS, Traffic};
use backwater_engine::Partition;
use backwater_engine::host::params::Finished;
use backwater_engine::stats::PortStats;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_types::{Duration, Instant};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// When to stop and what to sample; the same for all threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Longest window.
    pub look_ahead: Duration,
    /// Start of the counted window.
    pub warm: Instant,
    /// End of the counted window and of arrivals.
    pub until: Instant,
    /// Last moment of the run.
    pub cap: Instant,
    /// Sampling period; zero: none.
    pub sample: Duration,
    /// Period of what links do over time; zero: none.
    pub links: Duration,
    /// A run in which nothing has moved for so long ends, if what is held stays so and nothing goes another way.
    pub still: Option<Duration>,
}

/// The run may end at multiples of this, once every counted flow has finished.
const END_GRID: Duration = Duration::from_us(10);

/// Progress, for whoever watches, and the word to stop.
#[derive(Debug, Default)]
pub struct Watch {
    /// Simulated time, picoseconds.
    pub now: AtomicU64,
    /// Frames that crossed a link.
    pub packet_hops: AtomicU64,
    /// Flows that arrived.
    pub started: AtomicU64,
    /// Flows acknowledged to the end.
    pub finished: AtomicU64,
    /// Counted flows, and flows of collectives, not finished.
    pub counted_left: AtomicU64,
    /// Set to stop at the next window.
    pub cancel: AtomicBool,
}

/// What one thread tells the others at the end of a window.
#[derive(Default)]
struct Post {
    /// Earliest event it knows of, picoseconds.
    next: AtomicU64,
    counted_finished: AtomicU64,
    /// Dependent flows.
    started: AtomicU64,
    finished: AtomicU64,
    packet_hops: AtomicU64,
}

/// What threads share. Everything is double: a thread may be one window ahead of another, never two.
struct Shared<'a> {
    watch: &'a Watch,
    barrier: Barrier,
    /// `[parity][partition]`.
    posts: [Vec<Post>; 2],
    /// Whether the first thread has seen the word to stop, `[parity]`.
    stop: [AtomicBool; 2],
    /// `[parity of the look][partition]`.
    stands: [Vec<Mutex<Stand>>; 2],
}

/// Runs all partitions to the end, each on a thread of its own, and returns them with what they measured.
pub(crate) fn run(
    partitions: Vec<Box<dyn Partition>>,
    (scenario, graph): (&Scenario, &Graph),
    timing: Timing,
    watch: &Watch,
) -> Vec<(Box<dyn Partition>, Harvest)> {
    let n = partitions.len();
    let posts = || (0..n).map(|_| Post::default()).collect::<Vec<_>>();
    let stands = || (0..n).map(|_| Mutex::default()).collect::<Vec<_>>();
    let shared = Shared {
        watch,
        barrier: Barrier::new(n),
        posts: [posts(), posts()],
        stop: Default::default(),
        stands: [stands(), stands()],
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
    harvest: Harvest,
    /// The first flow that arrived in the counted window; flows are numbered in order of arrival.
    first_counted: u32,
    /// Counted flows that arrived, in the whole network, and will end; and all dependent ones.
    counted: u64,
    /// Dependent flows that started here.
    started: u64,
    /// Counted flows, and all flows, that finished here.
    counted_finished: u64,
    finished: u64,
    stillness: Stillness,
    link_meter: LinkMeter,
}

impl<'a> Worker<'a> {
    fn new(
        mut nodes: Box<dyn Partition>,
        (scenario, graph): (&'a Scenario, &'a Graph),
        timing: Timing,
        shared: &'a Shared<'a>,
    ) -> Self {
        let traffic = Traffic::new(scenario, graph);
        let dependents = traffic.dependents();
        let mut harvest = Harvest::new(dependents as usize, scenario.workload.len());
        nodes.switches(&mut |switch| harvest.samples.add_switch(switch, scenario, graph));
        Worker {
            nodes,
            scenario,
            traffic,
            timing,
            shared,
            patience: Patience::default(),
            harvest,
            first_counted: u32::MAX,
            counted: dependents.into(),
            started: 0,
            counted_finished: 0,
            finished: 0,
            stillness: Stillness::default(),
            link_meter: LinkMeter::default(),
        }
    }

    /// Handles every event before `end`, and records flows that finish.
    fn run_window(&mut self, end: Instant) {
        let (harvest, first_counted) = (&mut self.harvest, self.first_counted);
        let (counted_finished, all_finished) = (&mut self.counted_finished, &mut self.finished);
        let (traffic, started, cap) = (&mut self.traffic, &mut self.started, self.timing.cap);
        let dependents = traffic.dependents();
        let mut record = |now: Instant, what: Finished| match what {
            Finished::Received { flow, starts } => {
                harvest.received[flow as usize] = now;
                if flow < dependents {
                    traffic.on_received(flow, now, |next| {
                        if next.at < cap {
                            harvest.started[next.id as usize] = next.at;
                            *started += 1;
                            starts.push(next);
                        }
                    });
                }
            }
            Finished::Acknowledged { flow, retransmitted, timeouts } => {
                harvest.acknowledged[flow as usize] = now;
                harvest.retransmitted[flow as usize] = retransmitted;
                harvest.timeouts[flow as usize] = timeouts.min(u16::MAX as u32) as u16;
                *all_finished += 1;
                *counted_finished += (flow >= first_counted || flow < dependents) as u64;
            }
        };
        self.nodes.run_window(end, &mut record);
    }

    fn run(mut self) -> (Box<dyn Partition>, Harvest) {
        let _breaker = Breaker(&self.shared.barrier);
        self.nodes.begin();
        self.harvest.at_warm = self.snapshot(Instant::ZERO);
        let (mut now, mut parity) = (Instant::ZERO, 0);
        let mut grid = self.next_grid(now);
        'windows: loop {
            let end = (now + self.timing.look_ahead).min(grid);
            self.admit(end);
            self.run_window(end);
            let all = self.exchange(parity, end);
            now = end;
            if self.shared.stop[parity].load(Ordering::Relaxed) {
                self.harvest.cancelled = true;
                break;
            }
            parity = 1 - parity;
            // Idle costs nothing: on to the next event, past grid points before it.
            loop {
                if now == grid {
                    self.on_grid(now);
                    if self.is_over(now, all) {
                        break 'windows;
                    }
                    if self.stands_still(now, all) {
                        self.harvest.stood_still = true;
                        break 'windows;
                    }
                    grid = self.next_grid(now).max(self.next_look(now, all.next));
                }
                if all.next < grid {
                    now = now.max(all.next);
                    break;
                }
                now = grid;
            }
        }
        self.harvest.ended = now;
        // What was to start later did not.
        self.harvest.started.iter_mut().filter(|at| **at >= now).for_each(|at| *at = Instant::NEVER);
        (self.nodes, self.harvest)
    }

    /// The next instant after `now` at which all windows end.
    fn next_grid(&self, now: Instant) -> Instant {
        let s = &self.timing;
        let after = |period: Duration| Instant((now.0 / period.0 + 1) * period.0);
        let mut grid = after(END_GRID).min(s.cap);
        for period in [s.sample, s.links] {
            if period > Duration::ZERO && now < s.until {
                grid = grid.min(after(period));
            }
        }
        for fixed in [s.warm, s.until] {
            if fixed > now {
                grid = grid.min(fixed);
            }
        }
        grid
    }

    /// While nothing happens before `next`, the next instant after `now` at which there is anything to look at.
    fn next_look(&self, now: Instant, next: Instant) -> Instant {
        let s = &self.timing;
        if s.sample.max(s.links) > Duration::ZERO && now < s.until {
            return now;
        }
        let fixed = [s.warm, s.until].into_iter().filter(|at| *at > now).min().unwrap_or(s.cap);
        let still = Instant((now.0 / standstill::EVERY.0 + 1) * standstill::EVERY.0);
        Instant(next.0 / END_GRID.0 * END_GRID.0).min(fixed).min(s.cap).min(still)
    }

    /// Hands this window's arrivals to the hosts they start at.
    fn admit(&mut self, end: Instant) {
        while let Some(flow) = self.traffic.next_before(end) {
            let here = self.nodes.has_host(flow.src);
            if flow.is_dependent() {
                if here {
                    self.harvest.started[flow.id as usize] = flow.at;
                    self.started += 1;
                    self.nodes.announce(flow);
                }
                continue;
            }
            if flow.at >= self.timing.warm {
                self.first_counted = self.first_counted.min(flow.id);
                self.counted += (flow.size != ENDLESS) as u64;
            }
            self.harvest.received.push(Instant::NEVER);
            self.harvest.acknowledged.push(Instant::NEVER);
            self.harvest.retransmitted.push(0);
            self.harvest.timeouts.push(0);
            if here {
                self.nodes.announce(flow);
            }
        }
    }

    /// Hands over frames for other partitions and learns how all of them stand.
    fn exchange(&mut self, parity: usize, end: Instant) -> Standing {
        let (shared, me) = (self.shared, self.nodes.number());
        let next = self.nodes.next(self.traffic.next_at());
        self.nodes.hand_over(parity);
        let posts = &shared.posts[parity];
        let post = &posts[me];
        post.next.store(next.0, Ordering::Relaxed);
        post.counted_finished.store(self.counted_finished, Ordering::Relaxed);
        post.started.store(self.started, Ordering::Relaxed);
        post.finished.store(self.finished, Ordering::Relaxed);
        post.packet_hops.store(self.nodes.packet_hops(), Ordering::Relaxed);
        if me == 0 {
            shared.stop[parity].store(shared.watch.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        if posts.len() > 1 {
            shared.barrier.wait(&mut self.patience);
        }
        self.nodes.take_over(parity, end);
        let sum = |field: fn(&Post) -> &AtomicU64| posts.iter().map(|p| field(p).load(Ordering::Relaxed)).sum();
        let next = posts.iter().map(|p| p.next.load(Ordering::Relaxed)).min().map_or(Instant::NEVER, Instant);
        let standing = Standing { next, counted_finished: sum(|p| &p.counted_finished), started: sum(|p| &p.started) };
        if me == 0 {
            self.report(end, sum(|p| &p.finished), sum(|p| &p.packet_hops), &standing);
        }
        standing
    }

    fn report(&self, now: Instant, finished: u64, packet_hops: u64, all: &Standing) {
        let watch = self.shared.watch;
        watch.now.store(now.0, Ordering::Relaxed);
        let arrived = self.harvest.received.len() - self.harvest.started.len();
        watch.started.store(arrived as u64 + all.started, Ordering::Relaxed);
        watch.finished.store(finished, Ordering::Relaxed);
        watch.packet_hops.store(packet_hops, Ordering::Relaxed);
        watch.counted_left.store(self.counted - all.counted_finished, Ordering::Relaxed);
    }

    fn on_grid(&mut self, now: Instant) {
        let s = self.timing;
        if now == s.warm {
            self.harvest.at_warm = self.snapshot(now);
            self.count_acknowledged(0);
        }
        if now == s.until {
            self.harvest.at_end = self.snapshot(now);
            self.count_acknowledged(1);
        }
        if s.links > Duration::ZERO && (now == s.until || now < s.until && now.0.is_multiple_of(s.links.0)) {
            self.look_at_links(now);
        }
        if s.sample > Duration::ZERO && now >= s.warm && now <= s.until && now.0.is_multiple_of(s.sample.0) {
            let (samples, measure) = (&mut self.harvest.samples, &self.scenario.measure);
            self.nodes.switches(&mut |switch| samples.sample(measure, now, switch));
        }
    }

    /// What every link did since it was last looked at.
    fn look_at_links(&mut self, now: Instant) {
        let (meter, links, mut i) = (&mut self.link_meter, &mut self.harvest.links, 0);
        self.nodes.link_counts(now, &mut |node, port, count| {
            links.extend(meter.since_last(i, now, (node, port), count));
            i += 1;
        });
    }

    /// Counters of every port here: hosts, then switches port by port.
    fn snapshot(&mut self, now: Instant) -> Vec<PortStats> {
        let mut all = Vec::new();
        self.nodes.ports(now, &mut |_, _, stats| all.push(*stats));
        all
    }

    fn count_acknowledged(&mut self, at: usize) {
        let sum = &mut self.harvest.acknowledged_bytes[at];
        sum.fill(0);
        self.nodes.add_acknowledged(sum);
    }

    /// Whether nothing can move any more; on all threads alike.
    fn stands_still(&mut self, now: Instant, all: Standing) -> bool {
        let dependents = self.traffic.dependents();
        // Dependent flows that have not started wait for others.
        let left = self.counted + all.started - all.counted_finished - u64::from(dependents);
        let asked = now >= self.timing.until && now.0.is_multiple_of(standstill::EVERY.0);
        let Some(span) = self.timing.still.filter(|_| asked) else { return false };
        if left == 0 || self.traffic.next_at() != Instant::NEVER {
            return false;
        }
        let (shared, first) = (self.shared, self.first_counted);
        let stand = self.stillness.look(now, span, &mut *self.nodes, |flow| flow >= first || flow < dependents);
        // A thread may be one look ahead of another, never two.
        let stands = &shared.stands[(now.0 / standstill::EVERY.0 % 2) as usize];
        let lock = |stand: &'a Mutex<Stand>| stand.lock().unwrap_or_else(|e| e.into_inner());
        *lock(&stands[self.nodes.number()]) = stand;
        if stands.len() > 1 {
            shared.barrier.wait(&mut self.patience);
        }
        let stands: Vec<_> = stands.iter().map(lock).collect();
        still(stands.iter().map(|stand| &**stand), left)
    }

    fn is_over(&self, now: Instant, all: Standing) -> bool {
        let done = all.counted_finished == self.counted || all.next == Instant::NEVER;
        now >= self.timing.cap || (now >= self.timing.until && done)
    }
}

/// How all partitions stand at the end of a window.
#[derive(Clone, Copy)]
struct Standing {
    /// Earliest event anywhere.
    next: Instant,
    counted_finished: u64,
    /// Dependent flows.
    started: u64,
}
