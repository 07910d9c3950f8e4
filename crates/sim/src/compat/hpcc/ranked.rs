//! The order of ns-3 node by node: of events at one instant that comes first which was scheduled first.
//!
//! As [`crate::net::node_by_node`], with a stamp on every event that says when it was scheduled, and ranks that tell any two stamps
//! apart by the time they meet ([`super::ranks`]). So the outcome is that of [`super::in_order`], whose events come one by one, at the
//! speed of nodes that run alone and on any number of threads. Not where anything is drawn in the order of all events.

use super::ranks::{Account, Ranks, Stamp};
use crate::engine::windows::Windows;
use crate::host::params::{Finished, HostParams};
use crate::host::port::{ARRIVAL, Around, EndHost, LINK, PORT, TIMER};
use crate::net::build::Nodes;
use crate::net::link::Fabric;
use crate::net::node_by_node::NodeByNode;
use crate::net::schedule::{Agenda, Clock, EventName, Schedule, Target};
use crate::net::switch_node::SwitchNode;
use crate::net::tree::Tree;
use crate::observe::Observer;
use crate::workload::Flow;
use backwater_dataplane::DataPlane;
use backwater_types::{Duration, Extension, Frame, Instant, PortId, QueueId};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::RwLock;

/// What is in flight towards the nodes of one partition, and in which order all was scheduled.
#[derive(Debug)]
pub(crate) struct Ranked<E: Extension = ()> {
    ranks: Ranks,
    nodes: NodeByNode<E, Stamp>,
    /// Hosts, by number in the graph, that set timers in this window.
    timed: Vec<u32>,
    /// Events of one instant at one node, the first last.
    tied: Vec<Due<E>>,
}

/// An event that has come, and when it was scheduled.
#[derive(Clone, Copy, Debug)]
struct Due<E> {
    stamp: Stamp,
    what: What<E>,
}

#[derive(Clone, Copy, Debug)]
enum What<E> {
    /// A frame has arrived at the port.
    Arrival(PortId, Frame<E>),
    /// The port has finished a transmission.
    Free(PortId),
    /// A timer of the node, or a clock of one of its flows.
    Timer(u16, Option<Clock>),
    /// A flow starts.
    Start(Flow),
}

/// What a node keeps of its events: a leaf for each link and port as node by node, and timers that each come for themselves.
pub(crate) struct Leaves<const LEAVES: usize> {
    tree: Tree<LEAVES>,
    /// `[port]`: of the end of its transmission.
    frees: Vec<Stamp>,
    /// Timers that were set before this window, and in it.
    timers: BinaryHeap<Timer>,
    lately: BinaryHeap<Timer>,
}

/// A timer of a node, or a clock of one of its flows. The greatest is that which was set first of those that are due first.
#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Instant,
    stamp: Stamp,
    /// By which a NIC tells those apart that it set.
    number: u16,
    clock: Option<Clock>,
}

impl Ord for Timer {
    fn cmp(&self, other: &Timer) -> Ordering {
        (other.at, other.stamp).cmp(&(self.at, self.stamp))
    }
}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timer {
    fn eq(&self, other: &Timer) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timer {}

impl<E: Extension> Schedule for Ranked<E> {
    type Extension = E;
    type Agenda<const LEAVES: usize> = Leaves<LEAVES>;
    type Stamp = Stamp;
    type Account = Account;
    const IN_ORDER: bool = true;

    fn new(partition: u16, nodes: usize, links: usize, longest: Duration) -> Ranked<E> {
        Ranked {
            ranks: Ranks::new(partition, longest),
            nodes: NodeByNode::of(nodes, links),
            timed: Vec::new(),
            tied: Vec::new(),
        }
    }

    #[inline(always)]
    fn stamp(&mut self) -> Stamp {
        self.ranks.stamp()
    }

    #[inline(always)]
    fn deliver(&mut self, to: Target, at: Instant, stamp: Stamp, frame: &Frame<E>, queue: QueueId) {
        self.nodes.put(to, whole_ns(at), stamp, frame, queue);
    }

    #[inline(always)]
    fn is_free(busy_until: Instant, _now: Instant) -> bool {
        busy_until == Instant::ZERO
    }

    #[inline(always)]
    fn ended(busy_until: &mut Instant) {
        *busy_until = Instant::ZERO;
    }

    fn hand_over(&mut self, place: &mut Account) {
        self.ranks.hand_over(place);
    }
}

impl<E: Extension, const LEAVES: usize> Agenda<Ranked<E>> for Leaves<LEAVES> {
    fn new(leaves: usize, tie_seed: u64) -> Leaves<LEAVES> {
        Leaves {
            tree: Tree::new(leaves, tie_seed),
            frees: vec![Stamp::default(); leaves],
            timers: BinaryHeap::new(),
            lately: BinaryHeap::new(),
        }
    }

    #[inline(always)]
    fn awaits(&self, _port: EventName) -> bool {
        true
    }

    #[inline(always)]
    fn set_port(&mut self, schedule: &mut Ranked<E>, port: EventName, at: Instant) {
        if at != Instant::NEVER {
            self.frees[port.port as usize] = schedule.ranks.stamp();
            self.tree.set(port.leaf, whole_ns(at));
        }
    }

    #[inline(always)]
    fn wake_at(&mut self, schedule: &mut Ranked<E>, timer: EventName, at: Instant) {
        self.set(schedule, timer, at, None);
    }

    fn clock_at(&mut self, schedule: &mut Ranked<E>, node: EventName, at: Instant, clock: Clock) {
        self.set(schedule, node, at, Some(clock));
    }

    /// It was asked to wake the node then.
    #[inline(always)]
    fn set_timer(&mut self, _timer: EventName, _at: Instant) {}
}

impl<const LEAVES: usize> Leaves<LEAVES> {
    #[inline]
    fn set<E: Extension>(&mut self, schedule: &mut Ranked<E>, timer: EventName, at: Instant, clock: Option<Clock>) {
        if self.lately.is_empty() {
            schedule.timed.push(timer.node);
        }
        let at = whole_ns(at);
        self.lately.push(Timer { at, stamp: schedule.ranks.stamp(), number: timer.port, clock });
        if at < self.tree.time(timer.leaf) {
            self.tree.set(timer.leaf, at);
        }
    }

    /// A timer that was set before anything happened.
    fn preset(&mut self, leaf: usize, at: Instant, node: usize) {
        self.timers.push(Timer { at: whole_ns(at), stamp: Stamp::before_all(node as u32), number: 0, clock: None });
        self.await_timer(leaf);
    }

    /// The timer that has come.
    fn take_timer(&mut self, leaf: usize) -> Timer {
        let earlier = self.timers.peek().is_some_and(|timer| self.lately.peek().is_none_or(|late| late < timer));
        let timers = if earlier { &mut self.timers } else { &mut self.lately };
        let timer = timers.pop().expect("one is due");
        self.await_timer(leaf);
        timer
    }

    fn await_timer(&mut self, leaf: usize) {
        let next = |timers: &BinaryHeap<Timer>| timers.peek().map_or(Instant::NEVER, |timer| timer.at);
        self.tree.set(leaf, next(&self.timers).min(next(&self.lately)));
    }

    /// The window is over in which the latest timers were set.
    fn settle(&mut self, ranks: &Ranks) {
        let ranked = |timer: Timer| Timer { stamp: ranks.ranked(timer.stamp), ..timer };
        self.timers.extend(self.lately.drain().map(ranked));
    }
}

impl<const LEAVES: usize> AsMut<Tree<LEAVES>> for Leaves<LEAVES> {
    fn as_mut(&mut self) -> &mut Tree<LEAVES> {
        &mut self.tree
    }
}

impl<E: Extension, H, D, O: Observer> Windows<H, D, O> for Ranked<E>
where
    H: EndHost<Schedule = Ranked<E>>,
    D: DataPlane<Extension = E>,
{
    fn begin(nodes: &mut Nodes<H, D>) {
        let next = &mut nodes.fabric.schedule.nodes.next;
        for (next, host) in next.iter_mut().zip(&mut nodes.hosts) {
            let changes: Vec<Instant> = host.changes().collect();
            let port = host.port_mut();
            changes.iter().for_each(|at| port.agenda.preset(TIMER, *at, port.id.into()));
            *next = port.agenda.tree.next();
        }
        for (next, switch) in next[nodes.hosts.len()..].iter_mut().zip(&mut nodes.switches) {
            let changes: Vec<Instant> = switch.changes().collect();
            let leaf = 2 * switch.ports.len();
            changes.iter().for_each(|at| switch.agenda.preset(leaf, *at, switch.id));
            *next = switch.agenda.tree.next();
        }
    }

    fn announce(nodes: &mut Nodes<H, D>, flow: Flow) {
        let local = nodes.local[flow.src as usize] as usize;
        let next = &mut nodes.fabric.schedule.nodes.next[local];
        *next = flow.at.min(*next);
        nodes.hosts[local].port_mut().announce(flow);
    }

    fn next(nodes: &Nodes<H, D>) -> Instant {
        nodes.fabric.schedule.nodes.next.iter().copied().min().unwrap_or(Instant::NEVER)
    }

    fn settle(nodes: &mut Nodes<H, D>, accounts: &[RwLock<Account>], end: Instant) {
        let schedule = &mut nodes.fabric.schedule;
        schedule.ranks.settle(accounts, end);
        for host in schedule.timed.drain(..) {
            nodes.hosts[nodes.local[host as usize] as usize].port_mut().agenda.settle(&schedule.ranks);
        }
    }

    fn run_window(
        nodes: &mut Nodes<H, D>,
        end: Instant,
        params: &HostParams<H::Params>,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        let (hosts, fabric) = (nodes.hosts.len(), &mut nodes.fabric);
        for (i, host) in nodes.hosts.iter_mut().enumerate() {
            if fabric.schedule.nodes.next[i] < end {
                let port = host.port_mut();
                if !fabric.schedule.nodes.woken[i].is_empty() {
                    fabric.schedule.nodes.woken[i].clear();
                    port.agenda.tree.set(LINK, fabric.schedule.nodes.head(port.link_in));
                }
                let mut node = AtHost { host, params, fabric, finished, observer };
                run(&mut node, end);
                fabric.schedule.nodes.next[i] = host.port().agenda.tree.next();
            }
        }
        for (i, switch) in nodes.switches.iter_mut().enumerate() {
            let i = hosts + i;
            if fabric.schedule.nodes.next[i] < end {
                while let Some(port) = fabric.schedule.nodes.woken[i].pop() {
                    let link = switch.ports[port as usize].link_in;
                    switch.agenda.tree.set(port as usize, fabric.schedule.nodes.head(link));
                }
                switch.touch(end, &fabric.schedule.nodes.in_flight);
                run(&mut AtSwitch { switch, fabric, observer }, end);
                fabric.schedule.nodes.next[i] = switch.agenda.tree.next();
            }
        }
    }
}

/// Events come at whole nanoseconds; only flows may start between them.
#[inline(always)]
fn whole_ns(at: Instant) -> Instant {
    if at == Instant::NEVER { at } else { Instant(at.0 / 1000 * 1000) }
}

/// A node that runs through a window, with what its events touch.
trait Node<E: Extension, const LEAVES: usize> {
    fn tree(&self) -> &Tree<LEAVES>;
    fn schedule(&mut self) -> &mut Ranked<E>;
    /// Takes the event of `leaf`, which has come.
    fn take(&mut self, now: Instant, leaf: usize) -> Due<E>;
    fn come(&mut self, now: Instant, what: What<E>);
}

#[inline(always)]
fn run<E: Extension, const LEAVES: usize>(node: &mut impl Node<E, LEAVES>, end: Instant) {
    while let Some((now, leaf)) = node.tree().first_before(end) {
        let due = node.take(now, leaf);
        if node.tree().next() == now {
            run_tied(node, now, due);
        } else {
            node.come(now, due.what);
            node.schedule().ranks.came(now, due.stamp);
        }
    }
}

/// Runs all events of the instant, of which one is `due`, in the order in which they were scheduled.
#[inline(never)]
fn run_tied<E: Extension, const LEAVES: usize>(node: &mut impl Node<E, LEAVES>, now: Instant, due: Due<E>) {
    let mut tied = std::mem::take(&mut node.schedule().tied);
    let mut more = Some(due);
    loop {
        while let Some(due) = more {
            let stamp = node.schedule().ranks.ranked(due.stamp);
            let place = tied.partition_point(|other: &Due<E>| other.stamp > stamp);
            tied.insert(place, Due { stamp, ..due });
            more = node.tree().first_before(Instant(now.0 + 1)).map(|(_, leaf)| node.take(now, leaf));
        }
        let Some(first) = tied.pop() else { break };
        node.come(now, first.what);
        node.schedule().ranks.came(now, first.stamp);
        more = node.tree().first_before(Instant(now.0 + 1)).map(|(_, leaf)| node.take(now, leaf));
    }
    node.schedule().tied = tied;
}

struct AtHost<'a, H: EndHost, F, O> {
    host: &'a mut H,
    params: &'a HostParams<H::Params>,
    fabric: &'a mut Fabric<H::Schedule>,
    finished: &'a mut F,
    observer: &'a mut O,
}

impl<E: Extension, H: EndHost<Schedule = Ranked<E>>, F: FnMut(Instant, Finished), O: Observer> Node<E, 4>
    for AtHost<'_, H, F, O>
{
    #[inline(always)]
    fn tree(&self) -> &Tree<4> {
        &self.host.port().agenda.tree
    }

    #[inline(always)]
    fn schedule(&mut self) -> &mut Ranked<E> {
        &mut self.fabric.schedule
    }

    #[inline(always)]
    fn take(&mut self, now: Instant, leaf: usize) -> Due<E> {
        let port = self.host.port_mut();
        match leaf {
            LINK => {
                let (stamp, frame) = self.fabric.schedule.nodes.take(&mut port.agenda.tree, LINK, port.link_in);
                Due { stamp, what: What::Arrival(0, frame) }
            }
            PORT => {
                port.agenda.tree.set(PORT, Instant::NEVER);
                Due { stamp: port.agenda.frees[0], what: What::Free(0) }
            }
            ARRIVAL => {
                let flow = port.arrival(now).expect("one is due");
                port.await_arrival();
                Due { stamp: Stamp::after_all(now, flow.class, flow.id), what: What::Start(flow) }
            }
            _ => {
                let Timer { stamp, number, clock, .. } = port.agenda.take_timer(TIMER);
                Due { stamp, what: What::Timer(number, clock) }
            }
        }
    }

    #[inline(always)]
    fn come(&mut self, now: Instant, what: What<E>) {
        let AtHost { host, params, fabric, finished, observer } = self;
        let w = &mut Around { now, params, fabric, finished: *finished, observer: *observer };
        match what {
            What::Arrival(_, frame) => host.arrive(w, frame),
            What::Free(_) => host.free(w),
            What::Timer(number, None) => host.timer(w, number),
            What::Timer(_, Some(clock)) => host.strike(w, clock),
            What::Start(flow) => {
                host.start(w, flow);
                host.started(w);
            }
        }
    }
}

struct AtSwitch<'a, D: DataPlane, S: Schedule, O> {
    switch: &'a mut SwitchNode<D, S>,
    fabric: &'a mut Fabric<S>,
    observer: &'a mut O,
}

impl<E: Extension, D: DataPlane<Extension = E>, O: Observer> Node<E, 64> for AtSwitch<'_, D, Ranked<E>, O> {
    #[inline(always)]
    fn tree(&self) -> &Tree<64> {
        &self.switch.agenda.tree
    }

    #[inline(always)]
    fn schedule(&mut self) -> &mut Ranked<E> {
        &mut self.fabric.schedule
    }

    #[inline(always)]
    fn take(&mut self, _now: Instant, leaf: usize) -> Due<E> {
        let ports = self.switch.ports.len();
        let agenda = &mut self.switch.agenda;
        if leaf < ports {
            let link = self.switch.ports[leaf].link_in;
            let (stamp, frame) = self.fabric.schedule.nodes.take(&mut agenda.tree, leaf, link);
            Due { stamp, what: What::Arrival(leaf as PortId, frame) }
        } else if leaf < 2 * ports {
            agenda.tree.set(leaf, Instant::NEVER);
            Due { stamp: agenda.frees[leaf - ports], what: What::Free((leaf - ports) as PortId) }
        } else {
            Due { stamp: agenda.take_timer(leaf).stamp, what: What::Timer(0, None) }
        }
    }

    #[inline(always)]
    fn come(&mut self, now: Instant, what: What<E>) {
        let AtSwitch { switch, fabric, observer } = self;
        match what {
            What::Arrival(port, frame) => switch.arrive(now, port, frame, fabric, *observer),
            What::Free(port) => switch.free(now, port, fabric, *observer),
            What::Timer(..) | What::Start(_) => switch.timer(now, fabric, *observer),
        }
        observer.settled(now, switch.id, &|| switch.plane.readings().audit());
    }
}
