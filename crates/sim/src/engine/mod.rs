//! The event loop: node by node in look-ahead windows.
//!
//! Nodes meet only at links, and a frame sent in a window arrives after it: propagation and the shortest frame's serialisation
//! are the window's length. So within a window each node runs on its own, its state warm in cache, in any order and on any
//! thread, with the same outcome. Threads hand over frames at the end of a window, behind one barrier.
//!
//! Windows also end at a fixed grid of instants, whatever the look-ahead and the number of threads: where occupancy is sampled,
//! counters are read, and the run may end. Nothing a run reports depends on where the other windows end.

mod barrier;
pub(crate) mod node_by_node;
pub(crate) mod standstill;
pub(crate) mod windows;

use crate::engine::barrier::{Barrier, Breaker, Patience};
use crate::engine::standstill::{Stand, Stillness, still};
use crate::engine::windows::Windows;
use crate::host::params::{Finished, HostParams};
use crate::host::port::{EndHost, ExtensionOf};
use crate::net::build::Nodes;
use crate::net::link::Crossing;
use crate::net::link_meter::{LinkCount, LinkMeter, LinkSample};
use crate::net::schedule::Schedule;
use crate::net::stats::PortStats;
use crate::observe::Observer;
use crate::workload::{ENDLESS, Traffic};
use backwater_dataplane::DataPlane;
use backwater_types::{Duration, Instant};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

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
    /// Pools are sampled too.
    pub pools: bool,
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

/// What one partition brings home.
pub struct Harvest {
    /// `[dependent flow]`: when it started, if its source is here; else [`Instant::NEVER`].
    pub started: Vec<Instant>,
    /// `[flow]`: time its last byte reached the receiver, if here; else [`Instant::NEVER`].
    pub received: Vec<Instant>,
    /// `[flow]`: time its last acknowledgement reached the sender, if here.
    pub acknowledged: Vec<Instant>,
    /// `[flow]`: packets sent again.
    pub retransmitted: Vec<u32>,
    /// `[flow]`: timeouts of TCP.
    pub timeouts: Vec<u16>,
    /// Samples of switches.
    pub buffers: Vec<Sample>,
    /// Samples of egress ports: when, switch, port, bytes.
    pub queues: Vec<(Instant, u32, u16, u64)>,
    /// Samples of data queues: when, switch, port, queue, bytes.
    pub data_queues: Vec<(Instant, u32, u16, u16, u64)>,
    /// Samples of pools: when, switch, MMU, bytes.
    pub pools: Vec<(Instant, u32, u16, u64)>,
    /// What links did, period by period.
    pub links: Vec<LinkSample>,
    /// `[switch here][port][active flows]`: samples.
    pub active: Vec<Vec<Vec<u64>>>,
    /// Counters of every port at the start and the end of the counted window: hosts, then switches port by port.
    pub at_warm: Vec<PortStats>,
    /// See `at_warm`.
    pub at_end: Vec<PortStats>,
    /// `[class]`: payload bytes acknowledged up to the start, and up to the end, of the counted window.
    pub acknowledged_bytes: [Vec<u64>; 2],
    /// When the run ended.
    pub ended: Instant,
    /// The run was stopped before its time.
    pub cancelled: bool,
    /// Nothing could move any more.
    pub stood_still: bool,
}

/// A switch at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Number of the switch in the graph.
    pub node: u32,
    /// Bytes held.
    pub bytes: u64,
    /// Flows isolated because a neighbour paused them.
    pub isolated: u32,
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
struct Shared<'a, S: Schedule> {
    watch: &'a Watch,
    barrier: Barrier,
    /// `[parity][from x to]`.
    mail: [Vec<Mutex<Vec<Crossing<S>>>>; 2],
    /// `[parity][partition]`: what it scheduled in the window.
    accounts: [Vec<RwLock<S::Account>>; 2],
    /// `[parity][partition]`.
    posts: [Vec<Post>; 2],
    /// `[parity]`: the first thread has seen the word to stop.
    stop: [AtomicBool; 2],
    /// `[parity of the look][partition]`.
    stands: [Vec<Mutex<Stand>>; 2],
}

/// Runs all partitions to the end, each on a thread of its own, and returns them with what they measured.
pub(crate) fn run<H: EndHost<Schedule: Windows<H, D, O>>, D: DataPlane<Extension = ExtensionOf<H>>, O: Observer>(
    partitions: Vec<(Nodes<H, D>, O)>,
    params: &HostParams<H::Params>,
    traffic: impl Fn() -> Traffic,
    timing: Timing,
    watch: &Watch,
) -> Vec<(Nodes<H, D>, O, Harvest)> {
    let n = partitions.len();
    let posts = || (0..n).map(|_| Post::default()).collect::<Vec<_>>();
    let mail = || (0..n * n).map(|_| Mutex::new(Vec::new())).collect::<Vec<_>>();
    let accounts = || (0..n).map(|_| RwLock::default()).collect::<Vec<_>>();
    let stands = || (0..n).map(|_| Mutex::default()).collect::<Vec<_>>();
    let shared = Shared {
        watch,
        barrier: Barrier::new(n),
        mail: [mail(), mail()],
        accounts: [accounts(), accounts()],
        posts: [posts(), posts()],
        stop: Default::default(),
        stands: [stands(), stands()],
    };
    let worker = |(nodes, observer)| Worker::new(nodes, observer, params.clone(), traffic(), timing, &shared);
    if n == 1 {
        return partitions.into_iter().map(|p| worker(p).run()).collect();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            partitions.into_iter().map(worker).map(|worker| scope.spawn(move || worker.run())).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    })
}

/// One partition on its thread.
struct Worker<'a, H: EndHost, D, O> {
    nodes: Nodes<H, D>,
    observer: O,
    params: HostParams<H::Params>,
    traffic: Traffic,
    timing: Timing,
    shared: &'a Shared<'a, H::Schedule>,
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

impl<'a, H: EndHost<Schedule: Windows<H, D, O>>, D: DataPlane<Extension = ExtensionOf<H>>, O: Observer>
    Worker<'a, H, D, O>
{
    fn new(
        nodes: Nodes<H, D>,
        observer: O,
        params: HostParams<H::Params>,
        traffic: Traffic,
        timing: Timing,
        shared: &'a Shared<'a, H::Schedule>,
    ) -> Self {
        let dependents = traffic.dependents() as usize;
        let harvest = Harvest {
            started: vec![Instant::NEVER; dependents],
            received: vec![Instant::NEVER; dependents],
            acknowledged: vec![Instant::NEVER; dependents],
            retransmitted: vec![0; dependents],
            timeouts: vec![0; dependents],
            buffers: Vec::new(),
            queues: Vec::new(),
            data_queues: Vec::new(),
            pools: Vec::new(),
            links: Vec::new(),
            active: nodes.switches.iter().map(|s| vec![Vec::new(); s.ports.len()]).collect(),
            at_warm: Vec::new(),
            at_end: Vec::new(),
            acknowledged_bytes: [vec![0; params.flags.len()], vec![0; params.flags.len()]],
            ended: Instant::ZERO,
            cancelled: false,
            stood_still: false,
        };
        Worker {
            nodes,
            observer,
            params,
            traffic,
            timing,
            shared,
            patience: Patience::default(),
            harvest,
            first_counted: u32::MAX,
            counted: dependents as u64,
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
        H::Schedule::run_window(&mut self.nodes, end, &self.params, &mut record, &mut self.observer);
    }

    fn run(mut self) -> (Nodes<H, D>, O, Harvest) {
        let _breaker = Breaker(&self.shared.barrier);
        H::Schedule::begin(&mut self.nodes);
        self.harvest.at_warm = self.snapshot(Instant::ZERO);
        let (mut now, mut parity) = (Instant::ZERO, 0);
        let mut grid = self.next_grid(now);
        'windows: loop {
            let end = (now + self.timing.look_ahead).min(grid);
            self.admit(end);
            self.run_window(end);
            let local = H::Schedule::next(&self.nodes);
            let all = self.exchange(parity, end, local);
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
        (self.nodes, self.observer, self.harvest)
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
            let here = self.nodes.local[flow.src as usize] != u32::MAX;
            if flow.is_dependent() {
                if here {
                    self.harvest.started[flow.id as usize] = flow.at;
                    self.started += 1;
                    H::Schedule::announce(&mut self.nodes, flow);
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
                H::Schedule::announce(&mut self.nodes, flow);
            }
        }
    }

    /// Hands over frames for other partitions and learns how all of them stand; the next event here is at `local`.
    fn exchange(&mut self, parity: usize, end: Instant, local: Instant) -> Standing {
        let (fabric, shared) = (&mut self.nodes.fabric, self.shared);
        let n = fabric.outbox.len();
        let me = fabric.id as usize;
        let next = H::Schedule::earliest(local.min(fabric.outbox_next).min(self.traffic.next_at()));
        if n == 1 {
            H::Schedule::settle(&mut self.nodes, &[], end);
            shared.stop[parity].store(shared.watch.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
            let standing = Standing { next, counted_finished: self.counted_finished, started: self.started };
            self.report(end, self.finished, self.nodes.fabric.packet_hops, &standing);
            return standing;
        }
        let accounts = &shared.accounts[parity];
        fabric.schedule.hand_over(&mut accounts[me].write().unwrap_or_else(|e| e.into_inner()));
        fabric.outbox_next = Instant::NEVER;
        for to in (0..n).filter(|to| *to != me) {
            let mut box_ = shared.mail[parity][me * n + to].lock().unwrap_or_else(|e| e.into_inner());
            std::mem::swap(&mut *box_, &mut fabric.outbox[to]);
        }
        let post = &shared.posts[parity][me];
        post.next.store(next.0, Ordering::Relaxed);
        post.counted_finished.store(self.counted_finished, Ordering::Relaxed);
        post.started.store(self.started, Ordering::Relaxed);
        post.finished.store(self.finished, Ordering::Relaxed);
        post.packet_hops.store(fabric.packet_hops, Ordering::Relaxed);
        if me == 0 {
            shared.stop[parity].store(shared.watch.cancel.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        shared.barrier.wait(&mut self.patience);
        for from in (0..n).filter(|from| *from != me) {
            let mut box_ = shared.mail[parity][from * n + me].lock().unwrap_or_else(|e| e.into_inner());
            fabric.accept(&mut box_);
        }
        H::Schedule::settle(&mut self.nodes, accounts, end);
        let posts = &shared.posts[parity];
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
            for (i, switch) in self.nodes.switches.iter_mut().enumerate() {
                if let Some(pauses) = &mut switch.pauses {
                    pauses.sample(switch.plane.readings());
                }
                if let Some(sharing) = &mut switch.sharing {
                    sharing.sample(switch.plane.readings());
                }
                if let Some(queues) = &mut switch.data_queues {
                    let held = queues.sample(switch.plane.readings());
                    let rows = held.map(|(port, queue, bytes)| (now, switch.id as u32, port, queue, bytes));
                    self.harvest.data_queues.extend(rows);
                }
                self.harvest.buffers.push(Sample {
                    at: now,
                    node: switch.id as u32,
                    bytes: switch.plane.readings().buffered(),
                    isolated: switch.plane.readings().isolated_flows(),
                });
                for port in &switch.sampled {
                    self.harvest.queues.push((now, switch.id as u32, *port, switch.plane.readings().queued(*port)));
                }
                if s.pools {
                    let pools = switch.plane.readings().pools().iter().zip(0..);
                    self.harvest.pools.extend(pools.map(|(pool, mmu)| (now, switch.id as u32, mmu, pool.used())));
                }
                for (port, counts) in self.harvest.active[i].iter_mut().enumerate() {
                    if let Some(flows) = switch.active_flows(port as u16) {
                        let flows = flows as usize;
                        counts.resize(counts.len().max(flows + 1), 0);
                        counts[flows] += 1;
                    }
                }
            }
        }
    }

    /// What every link did since it was last looked at.
    fn look_at_links(&mut self, now: Instant) {
        let hosts = self.nodes.hosts.iter_mut().map(|host| host.port_mut());
        let mut counts: Vec<(u32, u16, LinkCount)> =
            hosts.map(|port| (port.id.into(), 0, port.link_count(now))).collect();
        for switch in &mut self.nodes.switches {
            let id = switch.id as u32;
            counts.extend(switch.link_counts(now).into_iter().zip(0..).map(|(count, port)| (id, port, count)));
        }
        let meter = &mut self.link_meter;
        let samples = counts
            .iter()
            .enumerate()
            .filter_map(|(i, (node, port, count))| meter.since_last(i, now, (*node, *port), count));
        self.harvest.links.extend(samples);
    }

    /// Counters of every port here: hosts, then switches port by port.
    fn snapshot(&mut self, now: Instant) -> Vec<PortStats> {
        let hosts = self.nodes.hosts.iter_mut().map(|host| {
            let stats = &mut host.port_mut().stats;
            stats.held.settle(now);
            *stats
        });
        hosts.chain(self.nodes.switches.iter_mut().flat_map(|switch| switch.stats(now))).collect()
    }

    fn count_acknowledged(&mut self, at: usize) {
        let sum = &mut self.harvest.acknowledged_bytes[at];
        sum.fill(0);
        self.nodes.hosts.iter().for_each(|host| host.add_acknowledged(&self.params, sum));
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
        let stand = self
            .stillness
            .look(now, span, &self.nodes, &self.params.nic.transport, |flow| flow >= first || flow < dependents);
        // A thread may be one look ahead of another, never two.
        let stands = &shared.stands[(now.0 / standstill::EVERY.0 % 2) as usize];
        let lock = |stand: &'a Mutex<Stand>| stand.lock().unwrap_or_else(|e| e.into_inner());
        *lock(&stands[self.nodes.fabric.id as usize]) = stand;
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
