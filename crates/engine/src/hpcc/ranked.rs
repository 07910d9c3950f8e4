//! Order of ns-3 node by node: simultaneous events run in the order in which they were scheduled, although each node
//! runs alone through a window.
//!
//! Nodes run as in [`crate::node_by_node`], and each event has a stamp that says when it was scheduled. Two nodes A and
//! B may each send a frame to a switch at nanosecond 100, and both arrive at nanosecond 1100. By then the window of
//! nanosecond 100 is over, and `ranks` has given both frames a rank in the whole network. The switch therefore
//! knows which frame ns-3 would have scheduled first, on whatever threads A and B ran. That module goes through the
//! example step by step.
//!
//! The outcome is that of [`super::in_order`], which runs all events one by one on one thread. This schedule runs on
//! any number of threads. It does not serve scenarios that draw random numbers in the order of all events.

use super::ranks::{Account, Ranks, START_OF_NS};
use super::stamps::Stamp;
use crate::host::params::{HostParams, Report};
use crate::host::port::{ARRIVAL, EndHost, EventContext, LINK, PORT, TIMER};
use crate::link::Transit;
use crate::node_by_node::NodeByNode;
use crate::nodes::Nodes;
use crate::observe::Observer;
use crate::schedule::{Agenda, EventName, FlowTimer, Schedule};
use crate::switch_node::SwitchNode;
use crate::tree::Tree;
use crate::windows::Windows;
use backwater_dataplane::DataPlane;
use backwater_fabric::flow::Flow;
use backwater_fabric::wire::Target;
use backwater_types::{Duration, Extension, Frame, Instant, PortId};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::RwLock;

/// Longest window, however long links are. Each nanosecond of a window has a place in memory, and the events that a
/// partition schedules in a window are numbered in 25 bits.
pub const WINDOW_MAX: Duration = Duration::from_us(16);

/// Schedule of one partition: frames in flight towards its nodes, and the order in which all events were scheduled.
#[derive(Debug)]
pub struct Ranked<E: Extension = ()> {
    ranks: Ranks,
    nodes: NodeByNode<E, Stamp>,
    /// Nodes that set timers in this window, by number in the graph.
    timed: Vec<u32>,
    /// Leaves of a node whose next events have the same sort time, in reverse order of their stamps.
    tied: Vec<(Stamp, usize)>,
}

/// Pending events of a node: a leaf for each link and port as node by node, and timers, each setting of which is an
/// event.
pub struct Leaves<const LEAVES: usize> {
    tree: Tree<LEAVES>,
    /// `[port]`: sort time and stamp of the end of its last transmission. It has a leaf only if a frame waits for it.
    ends: Vec<(Instant, Stamp)>,
    /// Timers that were set before this window.
    timers: BinaryHeap<Timer>,
    /// Timers that were set in this window, which have no ranks yet.
    lately: BinaryHeap<Timer>,
}

/// Timer of a node or of a flow there. The greatest timer is the first due; of timers due at once, the first set.
#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Instant,
    stamp: Stamp,
    /// Number by which a NIC tells its timers apart.
    number: u16,
    /// Timer of a flow; `None`: of the node.
    flow_timer: Option<FlowTimer>,
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
    const FRAMES_FIRST: bool = true;
    const EACH_TIMER_IS_AN_EVENT: bool = true;

    fn new(partition: u16, nodes: usize, links: usize, longest: Duration) -> Ranked<E> {
        Ranked {
            ranks: Ranks::new(partition, longest),
            nodes: NodeByNode::of(nodes, links),
            timed: Vec::new(),
            tied: Vec::new(),
        }
    }

    #[inline(always)]
    fn stamp(&mut self, at: Instant) -> (Instant, Stamp) {
        self.ranks.stamp_frame(at)
    }

    /// Rounds down to the nanosecond: a flow that starts within a nanosecond schedules from the whole nanosecond on.
    #[inline(always)]
    fn earliest(kept_by: Instant) -> Instant {
        if kept_by == Instant::NEVER { kept_by } else { Instant(kept_by.0 / 1000 * 1000) }
    }

    /// Events come at whole nanoseconds.
    fn not_before(at: Instant) -> Instant {
        Instant(at.0.div_ceil(1000) * 1000)
    }

    #[inline(always)]
    fn deliver(&mut self, to: Target, at: Instant, stamp: Stamp, frame: &Frame<E>) {
        self.nodes.put(to, at, stamp, frame);
    }

    fn hand_over(&mut self, place: &mut Account) {
        self.ranks.hand_over(place);
    }
}

impl<E: Extension, const LEAVES: usize> Agenda<Ranked<E>> for Leaves<LEAVES> {
    fn new(leaves: usize, tie_seed: u64) -> Leaves<LEAVES> {
        Leaves {
            tree: Tree::new(leaves, tie_seed),
            ends: vec![(Instant::ZERO, Stamp::before_all(0)); leaves],
            timers: BinaryHeap::new(),
            lately: BinaryHeap::new(),
        }
    }

    #[inline(always)]
    fn take_port(&mut self, schedule: &mut Ranked<E>, port: EventName, until: Instant) {
        self.ends[port.port as usize] = (schedule.ranks.kept_by(until), schedule.ranks.stamp_of_end());
    }

    #[inline(always)]
    fn is_free(&self, schedule: &Ranked<E>, port: EventName, _busy_until: Instant, _now: Instant) -> bool {
        let (at, stamp) = self.ends[port.port as usize];
        schedule.ranks.has_come(at, stamp)
    }

    #[inline(always)]
    fn awaits(&self, port: EventName) -> bool {
        self.tree.is_set(port.leaf)
    }

    #[inline(always)]
    fn set_port(&mut self, port: EventName, at: Instant) {
        if at != Instant::NEVER {
            self.tree.set_plain(port.leaf, self.ends[port.port as usize].0);
        }
    }

    #[inline(always)]
    fn set_start(&mut self, leaf: usize, at: Instant) {
        let after_all = if at == Instant::NEVER { at } else { Instant(at.0 / 1000 * 1000 + START_OF_NS) };
        self.tree.set_plain(leaf, after_all);
    }

    #[inline(always)]
    fn wake_at(&mut self, schedule: &mut Ranked<E>, timer: EventName, at: Instant) {
        self.set(schedule, timer, at, None);
    }

    fn set_flow_timer(&mut self, schedule: &mut Ranked<E>, node: EventName, at: Instant, timer: FlowTimer) {
        self.set(schedule, node, at, Some(timer));
    }

    /// Does nothing: each setting of the timer was an event.
    #[inline(always)]
    fn set_timer(&mut self, _timer: EventName, _at: Instant) {}
}

impl<const LEAVES: usize> Leaves<LEAVES> {
    #[inline]
    fn set<E: Extension>(
        &mut self,
        schedule: &mut Ranked<E>,
        timer: EventName,
        at: Instant,
        flow_timer: Option<FlowTimer>,
    ) {
        if self.lately.is_empty() {
            schedule.timed.push(timer.node);
        }
        let (at, stamp) = (schedule.ranks.kept_by(at), schedule.ranks.stamp());
        self.lately.push(Timer { at, stamp, number: timer.port, flow_timer });
        if at < self.tree.time(timer.leaf) {
            self.tree.set_plain(timer.leaf, at);
        }
    }

    /// Sets a timer before the run starts.
    fn preset(&mut self, leaf: usize, at: Instant, node: usize) {
        let at = Instant(at.0 / 1000 * 1000);
        self.timers.push(Timer { at, stamp: Stamp::before_all(node as u32), number: 0, flow_timer: None });
        self.await_timer(leaf);
    }

    /// Returns the heap whose first timer comes first.
    fn first_timers(&mut self) -> &mut BinaryHeap<Timer> {
        let earlier = self.timers.peek().is_some_and(|timer| self.lately.peek().is_none_or(|late| late < timer));
        if earlier { &mut self.timers } else { &mut self.lately }
    }

    /// Takes the timer that is due.
    fn take_timer(&mut self, leaf: usize) -> Timer {
        let timer = self.first_timers().pop().expect("one is due");
        self.await_timer(leaf);
        timer
    }

    fn await_timer(&mut self, leaf: usize) {
        let next = |timers: &BinaryHeap<Timer>| timers.peek().map_or(Instant::NEVER, |timer| timer.at);
        self.tree.set_plain(leaf, next(&self.timers).min(next(&self.lately)));
    }

    /// Ends a window: gives the timers that were set in it their ranks.
    fn settle(&mut self, ranks: &Ranks) {
        let ranked = |timer: Timer| Timer { stamp: ranks.ranked(timer.stamp), ..timer };
        self.timers.extend(self.lately.drain().map(ranked));
    }
}

impl<E: Extension, H, D, O: Observer> Windows<H, D, O> for Ranked<E>
where
    H: EndHost<Schedule = Ranked<E>>,
    D: DataPlane<Extension = E>,
{
    fn begin(nodes: &mut Nodes<H, D>) {
        let next = &mut nodes.transit.schedule.nodes.next;
        for (next, host) in next.iter_mut().zip(&mut nodes.hosts) {
            let changes: Vec<Instant> = host.changes().collect();
            let port = host.port_mut();
            changes.iter().for_each(|at| port.agenda.preset(TIMER, *at, port.id.into()));
            *next = port.agenda.tree.next();
        }
        for (next, switch) in next[nodes.hosts.len()..].iter_mut().zip(&mut nodes.switches) {
            let changes: Vec<Instant> = switch.changes().collect();
            let leaf = 2 * switch.links.ports.len();
            changes.iter().for_each(|at| switch.links.agenda.preset(leaf, *at, switch.id()));
            *next = switch.links.agenda.tree.next();
        }
    }

    fn announce(nodes: &mut Nodes<H, D>, flow: Flow) {
        let host = nodes.announce_at_source(flow);
        nodes.transit.schedule.nodes.wake(host, flow.at);
    }

    fn next(nodes: &Nodes<H, D>) -> Instant {
        nodes.transit.schedule.nodes.next_event()
    }

    fn settle(nodes: &mut Nodes<H, D>, accounts: &[RwLock<Account>], end: Instant) {
        let schedule = &mut nodes.transit.schedule;
        schedule.ranks.settle(accounts, end);
        for node in schedule.timed.drain(..) {
            match nodes.local.get(node as usize) {
                Some(host) => nodes.hosts[*host as usize].port_mut().agenda.settle(&schedule.ranks),
                None => {
                    let at = nodes.switches.binary_search_by_key(&(node as usize), |switch| switch.id());
                    nodes.switches[at.expect("it is here")].links.agenda.settle(&schedule.ranks);
                }
            }
        }
    }

    fn run_window(
        nodes: &mut Nodes<H, D>,
        end: Instant,
        params: &HostParams<H::Params>,
        report: &mut dyn FnMut(Instant, Report),
        observer: &mut O,
    ) {
        // The window includes all of its last nanosecond, for any sort time of its events.
        let end = Instant(end.0.div_ceil(1000) * 1000);
        let first = <Self as Windows<H, D, O>>::next(nodes);
        if first >= end {
            return;
        }
        let (hosts, transit) = (nodes.hosts.len(), &mut nodes.transit);
        transit.schedule.ranks.open(first, end);
        for (i, host) in nodes.hosts.iter_mut().enumerate() {
            if transit.schedule.nodes.next[i] < end {
                let port = host.port_mut();
                if !transit.schedule.nodes.woken[i].is_empty() {
                    transit.schedule.nodes.woken[i].clear();
                    port.agenda.tree.set_plain(LINK, transit.schedule.nodes.head(port.link_in));
                }
                let mut node = AtHost { host, params, transit, report, observer };
                run(&mut node, end);
                transit.schedule.nodes.next[i] = host.port().agenda.tree.next();
            }
        }
        for (i, switch) in nodes.switches.iter_mut().enumerate() {
            let i = hosts + i;
            if transit.schedule.nodes.next[i] < end {
                while let Some(port) = transit.schedule.nodes.woken[i].pop() {
                    let link = switch.links.ports[port as usize].link_in;
                    switch.links.agenda.tree.set_plain(port as usize, transit.schedule.nodes.head(link));
                }
                switch.prefetch(end, &transit.schedule.nodes.in_flight);
                run(&mut AtSwitch { switch, transit, observer }, end);
                transit.schedule.nodes.next[i] = switch.links.agenda.tree.next();
            }
        }
    }
}

/// Node that runs through a window, with the state that its events touch.
trait Node<E: Extension, const LEAVES: usize> {
    fn leaves(&mut self) -> &mut Leaves<LEAVES>;
    fn schedule(&mut self) -> &mut Ranked<E>;
    /// Returns the link whose frames arrive as events of `leaf`; `None` if the leaf is no link's.
    fn link(&self, leaf: usize) -> Option<u32>;
    /// Returns the stamp of the next event of `leaf`.
    fn stamp(&mut self, leaf: usize) -> Stamp;
    /// Runs the event of `leaf`, whose sort time is `at`. The caller sets the leaf of a link anew.
    fn run(&mut self, at: Instant, leaf: usize);
}

#[inline(always)]
fn run<E: Extension, const LEAVES: usize>(node: &mut impl Node<E, LEAVES>, end: Instant) {
    while let Some((at, leaf)) = node.leaves().tree.first_before(end) {
        let next = node.link(leaf).map_or(Instant::NEVER, |link| node.schedule().nodes.second(link));
        let tree = &mut node.leaves().tree;
        tree.set_plain(leaf, next);
        if tree.next() == at {
            run_tied(node, at, leaf);
        } else {
            node.run(at, leaf);
        }
    }
}

/// Runs all events of one sort time, that of `leaf` among them, in the order in which they were scheduled.
#[inline(never)]
fn run_tied<E: Extension, const LEAVES: usize>(node: &mut impl Node<E, LEAVES>, at: Instant, leaf: usize) {
    let mut tied = std::mem::take(&mut node.schedule().tied);
    let mut more = Some(leaf);
    loop {
        while let Some(leaf) = more {
            node.leaves().tree.set_plain(leaf, Instant::NEVER);
            // The first event of a leaf stands for the whole leaf.
            if tied.iter().all(|(_, other)| *other != leaf) {
                let stamp = node.stamp(leaf);
                let stamp = node.schedule().ranks.ranked(stamp);
                let place = tied.partition_point(|(other, _)| *other > stamp);
                tied.insert(place, (stamp, leaf));
            }
            more = node.leaves().tree.first_before(Instant(at.0 + 1)).map(|(_, leaf)| leaf);
        }
        let Some((_, leaf)) = tied.pop() else { break };
        node.run(at, leaf);
        if let Some(link) = node.link(leaf) {
            let head = node.schedule().nodes.head(link);
            node.leaves().tree.set_plain(leaf, head);
        }
        more = node.leaves().tree.first_before(Instant(at.0 + 1)).map(|(_, leaf)| leaf);
    }
    node.schedule().tied = tied;
}

struct AtHost<'a, H: EndHost, O> {
    host: &'a mut H,
    params: &'a HostParams<H::Params>,
    transit: &'a mut Transit<H::Schedule>,
    report: &'a mut dyn FnMut(Instant, Report),
    observer: &'a mut O,
}

impl<E: Extension, H: EndHost<Schedule = Ranked<E>>, O: Observer> Node<E, 4> for AtHost<'_, H, O> {
    #[inline(always)]
    fn leaves(&mut self) -> &mut Leaves<4> {
        &mut self.host.port_mut().agenda
    }

    #[inline(always)]
    fn schedule(&mut self) -> &mut Ranked<E> {
        &mut self.transit.schedule
    }

    #[inline(always)]
    fn link(&self, leaf: usize) -> Option<u32> {
        (leaf == LINK).then(|| self.host.port().link_in)
    }

    fn stamp(&mut self, leaf: usize) -> Stamp {
        let port = self.host.port_mut();
        match leaf {
            LINK => self.transit.schedule.nodes.front(port.link_in).0,
            PORT => port.agenda.ends[0].1,
            ARRIVAL => port.next_flow().map(start_stamp).expect("one is due"),
            _ => port.agenda.first_timers().peek().expect("one is due").stamp,
        }
    }

    #[inline(always)]
    fn run(&mut self, at: Instant, leaf: usize) {
        let AtHost { host, params, transit, report, observer } = self;
        let port = host.port_mut();
        let mut w = EventContext { now: at, params, transit, report: *report, observer: *observer };
        match leaf {
            LINK => {
                let (stamp, frame, _) = w.transit.schedule.nodes.take(port.link_in);
                w.now = w.transit.schedule.ranks.come(at, stamp);
                host.arrive(&mut w, frame);
            }
            PORT => {
                w.now = w.transit.schedule.ranks.come(at, port.agenda.ends[0].1);
                host.free(&mut w);
            }
            ARRIVAL => {
                let flow = port.arrival(at).expect("one is due");
                port.await_arrival();
                w.now = w.transit.schedule.ranks.come(at, start_stamp(&flow));
                host.start(&mut w, flow);
                host.started(&mut w);
            }
            _ => {
                let Timer { stamp, number, flow_timer, .. } = port.agenda.take_timer(TIMER);
                w.now = w.transit.schedule.ranks.come(at, stamp);
                match flow_timer {
                    None => host.timer(&mut w, number),
                    Some(timer) => host.expire(&mut w, timer),
                }
            }
        }
        let (now, id) = (w.now, host.port().id as usize);
        observer.host_settled(now, id, &host.port().last, &|slot, flow| host.send_state(params, now, slot, flow));
    }
}

fn start_stamp(flow: &Flow) -> Stamp {
    Stamp::after_all(flow.at, flow.class, flow.id)
}

struct AtSwitch<'a, D: DataPlane, S: Schedule, O> {
    switch: &'a mut SwitchNode<D, S>,
    transit: &'a mut Transit<S>,
    observer: &'a mut O,
}

impl<E: Extension, D: DataPlane<Extension = E>, O: Observer> Node<E, 64> for AtSwitch<'_, D, Ranked<E>, O> {
    #[inline(always)]
    fn leaves(&mut self) -> &mut Leaves<64> {
        &mut self.switch.links.agenda
    }

    #[inline(always)]
    fn schedule(&mut self) -> &mut Ranked<E> {
        &mut self.transit.schedule
    }

    #[inline(always)]
    fn link(&self, leaf: usize) -> Option<u32> {
        self.switch.links.ports.get(leaf).map(|port| port.link_in)
    }

    fn stamp(&mut self, leaf: usize) -> Stamp {
        let ports = self.switch.links.ports.len();
        match self.link(leaf) {
            Some(link) => self.transit.schedule.nodes.front(link).0,
            None if leaf < 2 * ports => self.switch.links.agenda.ends[leaf - ports].1,
            None => self.switch.links.agenda.first_timers().peek().expect("one is due").stamp,
        }
    }

    #[inline(always)]
    fn run(&mut self, at: Instant, leaf: usize) {
        let AtSwitch { switch, transit, observer } = self;
        let ports = switch.links.ports.len();
        let now;
        if let Some(port) = switch.links.ports.get(leaf) {
            let (stamp, frame, _) = transit.schedule.nodes.take(port.link_in);
            now = transit.schedule.ranks.come(at, stamp);
            switch.arrive(now, leaf as PortId, frame, transit, *observer);
        } else if leaf < 2 * ports {
            now = transit.schedule.ranks.come(at, switch.links.agenda.ends[leaf - ports].1);
            switch.free(now, (leaf - ports) as PortId, transit, *observer);
        } else {
            now = transit.schedule.ranks.come(at, switch.links.agenda.take_timer(leaf).stamp);
            switch.timer(now, transit, *observer);
        }
        observer.settled(now, switch.id(), switch.plane.readings());
    }
}
