//! Where a flow spent its time, to the picosecond.
//!
//! A flow completes when the packet arrives that its receiver lacked last, so its completion time is the journey of
//! that packet: at the source until it was sent, then queue after queue and link after link. Every span of it is put
//! down to what held the packet in that span, so the parts sum to the completion time whatever the scheme does:
//!
//! ```text
//! at the source   own packets on the link, else after the last packet was first sent: recovery,
//!                 else what the sender did not allow: transport,
//!                 else paused, else the link was taken by others, else idle
//! in a queue      paused, else the packet that the port was sending: of the same flow, of the same queue,
//!                 of another queue, an ACK or a control frame; else idle
//! on a link       transmission, propagation; at the receiver the host's delay
//! ```
//!
//! A packet counts as paused while its queue (or its flow, where flows are paused) may not send, also while its port
//! sends of other queues: that is not why it waits.

mod by_flow;
mod sources;
mod turns;

use crate::record::asked::Asked;
use crate::record::journeys::by_flow::ByFlow;
use crate::record::journeys::sources::{Concern, Source, Sources};
use crate::record::journeys::turns::{Seen, Turn, Turns};
use crate::record::label::Label;
use crate::record::pausers::{Pausers, Sake};
use crate::record::waits::{Parts, Wait, Why, part};
use crate::workload::Flow;
use backwater_dataplane::Readings;
use backwater_engine::observe::{Joined, Stand, Timer, Transmission};
use backwater_fabric::ports;
use backwater_scenario::Scenario;
use backwater_scenario::model::{Assignment, LossRecovery, Transport};
use backwater_scenario::topology::Graph;
use backwater_schemes::build::ser_time;
use backwater_types::{
    ControlFrame, DropReason, Duration, Effect, FlowName, Instant, Kind, Packet, PortId, QueueId, Target, flags,
};
use std::ops::Range;

/// Follows the packets of the flows asked for.
///
/// Ports where followed packets or flows wait count whose turn it is, which is read when a wait ends, or changes its
/// cause. Of other ports, which most packets go by, nothing is kept.
#[derive(Clone, Debug)]
pub(crate) struct Journeys {
    asked: Asked,
    /// When each reaches its receiver, by its rank among them.
    finish: Vec<Instant>,
    /// Receivers take packets in order, so that no packet but a flow's last completes it.
    in_order: bool,
    /// Flags of the packets that may complete a flow asked for.
    completes: u8,
    nodes: Vec<Node>,
    /// `[flow]`: its workload.
    classes: Vec<u8>,
    /// `[port]`, of all nodes in a row: followed packets or flows wait there, so that turns are counted.
    counts: Vec<bool>,
    /// `[node]`: the same as bits, by ports modulo 64. Looked at for every packet.
    counting: Vec<u64>,
    /// `[port]`: whose turn it was there, while that is counted.
    turns: Vec<Turns>,
    /// `[port]`: the rest.
    lines: Vec<Line>,
    /// `[host]`: flows asked for are there.
    sends: Vec<bool>,
    /// `[host]`.
    sources: Vec<Sources>,
    /// Of the event at hand, at a host with such.
    concern: Concern,
    pausers: Pausers,
    /// Ports of the switch at hand where what is held may have changed for those that wait there.
    touched: Vec<Touched>,
    /// The port that a followed packet joined.
    joined: Option<PortId>,
    /// There are such ports.
    may_be_held: bool,
    /// Of flows that have completed, each flow's from the source on. In one list, so that what follows uses again the memory in
    /// which they were counted, while a cache has it.
    done: Vec<Wait>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The number of its first port.
    first: u32,
    /// What is held at a port changes by frames and timers alone. Otherwise it may as the port sends: credits are spent,
    /// or an isolation queue has another flow in front.
    steady: bool,
    /// All that is in a queue is held or nothing is, and there are no more than 64.
    by_queue: bool,
}

/// What is held at a port may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touched {
    port: PortId,
    /// In this queue alone.
    queue: Option<QueueId>,
    /// By a frame: also for whose sake.
    by_frame: bool,
}

/// An egress port with its link.
#[derive(Clone, Debug)]
struct Line {
    /// The port at the other end.
    peer: (usize, PortId),
    delay: Duration,
    /// Flows share queues, so that one may wait for another in its queue.
    shared: bool,
    /// Queues that were held when that was looked at last, as bits, where all in a queue are.
    held: u64,
    /// Followed packets in its queues, and on its link; each in the order in which they came.
    waiting: ByFlow<Journey>,
    flying: ByFlow<Journey>,
}

/// Of so few that wait at a port it is looked up which queues they are in.
const FEW: usize = 8;

/// A packet on its way.
#[derive(Clone, Debug)]
struct Journey {
    name: FlowName,
    seq: u32,
    hop: u8,
    queue: QueueId,
    /// Up to when its time is accounted for.
    seen: Seen,
    /// Data of its flow that the port has sent since, in its queue and in others, less what it had sent by then of the one under
    /// way. Wraps.
    own: [u64; 2],
    held: Option<Held>,
    parts: Parts,
}

/// A packet is held.
#[derive(Clone, Copy, Debug)]
struct Held {
    sake: Sake,
    /// From then on.
    at: Instant,
    /// [`Journey::own`] then, and what had been sent of the one under way.
    own: [u64; 2],
}

impl Line {
    /// A queue is held now, or not: whether that is otherwise than before.
    fn now_held(&mut self, queue: QueueId, holds: bool) -> bool {
        let bit = 1 << (queue % 64);
        let before = self.held;
        self.held = if holds { before | bit } else { before & !bit };
        self.held != before
    }
}

impl Journeys {
    /// Of these flows, each with when it reaches its receiver.
    pub(crate) fn new(flows: &[(u32, Instant)], asked: Asked, scenario: &Scenario, graph: &Graph) -> Journeys {
        let links = ports(graph);
        let shared = |node: usize| {
            node >= graph.hosts && scenario.switch_at(&graph.nodes[node].name).built_as() != Assignment::PerFlow
        };
        let line = |node: usize, link: usize| {
            let peer = graph.peer(link, node);
            let port = links[peer].iter().position(|other| *other == link).expect("a link is a port of its ends");
            Line {
                peer: (peer, port as PortId),
                delay: graph.links[link].delay,
                shared: shared(node),
                held: 0,
                waiting: ByFlow::new(),
                flying: ByFlow::new(),
            }
        };
        let turns =
            |link: usize| Turns::new(ser_time(&scenario.conventions, graph.links[link].rate), scenario.workload.len());
        let ends = || links.iter().enumerate().flat_map(|(node, links)| links.iter().map(move |link| (node, *link)));
        let lines: Vec<Line> = ends().map(|(node, link)| line(node, link)).collect();
        let mut first = 0;
        let mut node = |number: usize| {
            let of = Node { first, steady: !scenario.switch.bfc.is_extended(), by_queue: false };
            first += links[number].len() as u32;
            if number < graph.hosts {
                return of;
            }
            let switch = scenario.switch_at(&graph.nodes[number].name);
            let by_flow = switch.pausing().flows_hold_queues();
            let by_queue = by_flow && switch.data_queues() <= 64;
            Node { steady: !by_flow && !switch.bfc.is_extended(), by_queue, ..of }
        };
        let mut finish = vec![Instant::NEVER; asked.count()];
        flows.iter().for_each(|(flow, at)| finish[asked.rank(*flow)] = *at);
        let any_order = matches!(scenario.host.transport, Transport::Tcp | Transport::Homa);
        let in_order = !any_order && scenario.host.recovery != LossRecovery::Selective;
        Journeys {
            asked,
            finish,
            in_order,
            completes: flags::FOLLOWED | if in_order { flags::LAST } else { 0 },
            nodes: (0..graph.nodes.len()).map(&mut node).collect(),
            classes: Vec::new(),
            counts: vec![false; lines.len()],
            counting: vec![0; graph.nodes.len()],
            turns: ends().map(|(_, link)| turns(link)).collect(),
            lines,
            sends: vec![false; graph.hosts],
            sources: vec![Sources::new(); graph.hosts],
            concern: Concern::default(),
            pausers: Pausers::new(links.iter().map(Vec::len)),
            touched: Vec::new(),
            joined: None,
            may_be_held: false,
            done: Vec::new(),
        }
    }

    /// By flow.
    pub(crate) fn into_waits(mut self) -> Vec<Wait> {
        self.done.sort_by_key(|wait| wait.flow);
        self.done
    }

    /// Whether this packet may be the one that completes its flow, and its flow is asked for.
    #[inline(always)]
    pub(super) fn follows(&self, packet: &Packet) -> bool {
        let asked = || packet.kind == Kind::Data && self.asked.has(packet.flow);
        debug_assert_eq!(packet.has(flags::FOLLOWED), asked(), "{packet:?}");
        packet.has(self.completes)
    }

    /// Whether this packet of a flow asked for may be the one that completes it.
    fn is_followed(&self, packet: Label) -> bool {
        packet.data && (!self.in_order || packet.last)
    }

    /// Whether flows asked for are at this host.
    #[inline(always)]
    pub(super) fn waits_at_host(&self, host: usize) -> bool {
        self.sends[host]
    }

    /// Whether packets that are followed may be in this port's queues: in those of a port with the same last digits, at least.
    #[inline(always)]
    pub(super) fn may_wait_at(&self, switch: usize, port: PortId) -> bool {
        self.counting[switch] & bit(port) != 0
    }

    /// Whether turns are counted at a port.
    fn set_counts(&mut self, node: usize, port: PortId, counts: bool) {
        let (ports, first) = (self.ports_of(node), usize::from(port % 64));
        self.counts[ports.start + usize::from(port)] = counts;
        let any = self.counts[ports].iter().skip(first).step_by(64).any(|counts| *counts);
        self.counting[node] = self.counting[node] & !bit(port) | if any { bit(port) } else { 0 };
    }

    #[inline(always)]
    fn number(&self, node: usize, port: PortId) -> usize {
        self.nodes[node].first as usize + usize::from(port)
    }

    pub(super) fn flow_started(&mut self, flow: &Flow, slot: u32) {
        let id = flow.id as usize;
        if self.classes.len() <= id {
            self.classes.resize(id + 1, 0);
        }
        self.classes[id] = flow.class;
        let host = usize::from(flow.src);
        let asked = self.asked.has(flow.id);
        if asked {
            self.sends[host] = true;
            self.sources[host].push(Source::new(flow, slot));
        }
        if self.sends[host] {
            self.hears(flow.id, asked);
        }
    }

    /// An event at a host with flows asked for is over.
    #[inline(always)]
    pub(super) fn host_settled(
        &mut self,
        now: Instant,
        host: usize,
        last: &Transmission,
        stand: &dyn Fn(u32, u32) -> Stand,
    ) {
        let may = self.concern.some || !self.concern.heard || self.sources[host].due <= now || !self.nodes[host].steady;
        if may || cfg!(debug_assertions) {
            self.sources_settled(now, host, last, stand);
        }
        self.concern.heard = false;
    }

    /// A host with flows asked for sends.
    #[inline(never)]
    pub(super) fn host_sent(&mut self, host: usize, sent: Transmission) {
        self.concern.heard = true;
        self.begins_to_send(host, sent);
        self.has_begun_to_send(host, sent);
    }

    /// The same of a packet of a flow asked for.
    #[inline(never)]
    pub(super) fn followed_sent(&mut self, host: usize, packet: Label, sent: Transmission) {
        self.concern.hears(packet.name.flow);
        self.begins_to_send(host, sent);
        if packet.data {
            self.source_sent(sent.at, host, packet);
        }
        self.has_begun_to_send(host, sent);
    }

    #[inline(always)]
    fn begins_to_send(&mut self, host: usize, sent: Transmission) {
        self.sources[host].interrupt(sent.at);
        if self.counts[host] && self.sources[host].due != Instant::NEVER {
            self.settle_paced(sent.at, host);
        }
    }

    #[inline(always)]
    fn has_begun_to_send(&mut self, host: usize, sent: Transmission) {
        if self.counts[host] {
            let class = self.class(sent.flow()).unwrap_or(0);
            self.turns[host].count(sent, class);
        }
        // In ns-3's order a flow may start within the nanosecond that has come.
        if self.sources[host].starts > sent.at {
            self.look_again(sent.at, host);
        }
    }

    /// A host with flows asked for hears of a flow.
    fn hears(&mut self, flow: u32, asked: bool) {
        self.concern.heard = true;
        if asked {
            self.concern.hears(flow);
        }
    }

    /// A host receives, and has flows asked for: of one of these, if it is no data.
    #[inline(always)]
    pub(super) fn host_received(&mut self, packet: &Packet) {
        self.hears(packet.flow, packet.kind != Kind::Data && self.asked.has(packet.flow));
    }

    /// Data of a flow asked for reached its receiver.
    pub(super) fn followed_received(&mut self, now: Instant, host: usize, packet: Label) {
        if !self.is_followed(packet) {
            return;
        }
        let Some(journey) = self.land(now, (host, 0), packet) else { return };
        let flow = packet.name.flow;
        if self.finish[self.asked.rank(flow)] == now {
            self.done.extend(journey.parts.into_waits());
            let source = usize::from(packet.src);
            self.sources[source].of.remove_flow(flow);
            self.sends[source] = !self.sources[source].of.is_empty();
            self.set_counts(source, 0, self.sources[source].counts());
        }
    }

    /// A packet joined a queue, and a frame waits because of it.
    pub(super) fn raised(&mut self, switch: usize, joined: Joined, packet: Label) {
        self.pausers.raised(switch, joined, packet);
    }

    /// A frame leaves.
    pub(super) fn frame_sent(&mut self, switch: usize, port: PortId, frame: ControlFrame) {
        self.pausers.sent(switch, port, frame);
    }

    #[inline(never)]
    pub(super) fn followed_enqueued(
        &mut self,
        now: Instant,
        switch: usize,
        joined: Joined,
        packet: Label,
        last: &Transmission,
    ) {
        let Some(mut journey) = self.land(now, (switch, joined.ingress), packet) else { return };
        let number = self.number(switch, joined.egress);
        (journey.queue, journey.held) = (joined.queue, None);
        let queue = self.lines[number].shared.then_some(journey.queue);
        self.begin(switch, joined.egress, last);
        let turns = &mut self.turns[number];
        queue.into_iter().for_each(|queue| turns.wait_in(queue));
        turns.show(&mut journey.seen, queue, now);
        journey.own = turns.own(queue, packet.name.flow, now).map(u64::wrapping_neg);
        self.lines[number].waiting.push(packet.name.flow, journey);
        (self.joined, self.may_be_held) = (Some(joined.egress), true);
        let Node { steady, by_queue, .. } = self.nodes[switch];
        if !steady {
            self.touch(switch, Touched { port: joined.egress, queue: None, by_frame: !by_queue });
        }
    }

    /// A packet that is followed leaves a port where such wait, and is one of them if it waited.
    pub(super) fn followed_departed(&mut self, switch: usize, port: PortId, packet: Label, sent: Transmission) {
        let number = self.number(switch, port);
        if let Some(at) = find(&self.lines[number].waiting, packet) {
            self.settle_journey(sent.at, switch, port, at);
            let line = &mut self.lines[number];
            line.flying.extend(line.waiting.remove(at).map(|journey| (packet.name.flow, journey)));
            if line.waiting.len() < FEW {
                self.turns[number].wait_only_in(line.waiting.iter().map(|journey| journey.queue));
            }
            let waits = !line.waiting.is_empty();
            self.set_counts(switch, port, waits);
        }
    }

    /// A port where followed packets wait sends.
    #[inline(never)]
    pub(super) fn departed_past(&mut self, switch: usize, port: PortId, sent: Transmission) {
        let number = self.number(switch, port);
        if !self.counts[number] {
            return;
        }
        if !self.nodes[switch].steady {
            self.touch(switch, Touched { port, queue: None, by_frame: false });
        }
        self.count(number, sent);
    }

    /// A port of a switch where turns are counted starts to send `next`.
    #[inline(always)]
    fn count(&mut self, number: usize, next: Transmission) {
        let class = self.class(next.flow()).unwrap_or(0);
        let (last, span) = self.turns[number].count(next, class);
        if last.queue().is_some() && self.asked.has(last.flow()) {
            let line = &mut self.lines[number];
            for journey in line.waiting.of_mut(last.flow()) {
                let queue = line.shared.then_some(journey.queue);
                let own = &mut journey.own[usize::from(last.queue() != queue)];
                *own = own.wrapping_add(span);
            }
        }
    }

    /// A port counts turns from now on; `last` is what it sent last.
    fn begin(&mut self, node: usize, port: PortId, last: &Transmission) {
        let number = self.number(node, port);
        if !self.counts[number] {
            self.set_counts(node, port, true);
            let class = self.class(last.flow()).unwrap_or(0);
            self.turns[number].begin(*last, class);
        }
    }

    #[inline(never)]
    pub(super) fn followed_dropped(&mut self, node: usize, packet: Label, reason: DropReason) {
        if reason == DropReason::Nic || !self.is_followed(packet) {
            return;
        }
        let ports = self.ports_of(node);
        if node == usize::from(packet.src) {
            // It was sent just now, onto a link that lost it.
            let flying = &mut self.lines[ports.start].flying;
            if let Some(last) = flying.len().checked_sub(1).filter(|last| is(&flying[*last], packet)) {
                flying.remove(last);
            }
            return;
        }
        if matches!(reason, DropReason::NotEct | DropReason::LinkDown | DropReason::LinkLoss) {
            for (port, number) in ports.clone().enumerate() {
                if let Some(at) = find(&self.lines[number].waiting, packet) {
                    self.lines[number].waiting.remove(at);
                    self.set_counts(node, port as PortId, !self.lines[number].waiting.is_empty());
                    return;
                }
            }
        }
        // It came, and was not let in.
        for number in ports {
            let (peer, port) = self.lines[number].peer;
            let from = self.number(peer, port);
            let flying = &mut self.lines[from].flying;
            if let Some(at) = find(flying, packet) {
                flying.remove(at);
                return;
            }
        }
    }

    pub(crate) fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        match node < self.sources.len() {
            true => self.held_at_host(now, node, frame),
            false => self.touch(node, Touched { port, queue: queue_of(frame), by_frame: true }),
        }
        let from = self.lines[self.number(node, port)].peer;
        self.pausers.received((node, port), from, frame);
    }

    pub(super) fn link_changed(&mut self, switch: usize, port: PortId) {
        self.touch(switch, Touched { port, queue: None, by_frame: true });
        self.pausers.released(switch, port);
    }

    pub(crate) fn released(&mut self, now: Instant, host: usize) {
        self.all_concerned(now, host);
        self.sources[host].release();
        self.pausers.released(host, 0);
    }

    pub(super) fn woke(&mut self, node: usize, timer: Timer) {
        match (node < self.sources.len(), timer) {
            (true, _) if self.sources[node].of.is_empty() => (),
            (true, Timer::Pace) => self.concern.heard = true,
            (true, Timer::Any) => self.concern.is_all(),
            (false, _) => {
                let ports = self.ports_of(node);
                let touched = |port| Touched { port, queue: None, by_frame: true };
                (0..ports.len()).for_each(|port| self.touch(node, touched(port as PortId)));
            }
        }
    }

    /// The numbers of a node's ports.
    fn ports_of(&self, node: usize) -> Range<usize> {
        let end = self.nodes.get(node + 1).map_or(self.lines.len(), |next| next.first as usize);
        self.nodes[node].first as usize..end
    }

    /// What waits at the switch at hand may be held now, or no longer.
    #[inline(always)]
    pub(super) fn may_be_held(&self) -> bool {
        self.may_be_held
    }

    /// What waits at a switch is held as was noted.
    pub(super) fn check_held(&self, switch: usize, plane: &dyn Readings) {
        for (port, number) in self.ports_of(switch).enumerate() {
            for Journey { queue, name, held, .. } in self.lines[number].waiting.iter() {
                let (holds, Node { steady, by_queue, .. }) =
                    (plane.is_held(port as PortId, *queue, *name), self.nodes[switch]);
                assert!(!(steady || by_queue) || holds == held.is_some(), "{name:?} at port {port} of {switch}");
            }
        }
    }

    /// What is held at ports of a switch may have changed: those that wait there wait on for that.
    #[inline(never)]
    pub(super) fn hold(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        self.may_be_held = false;
        if let Some(port) = self.joined.take()
            && let Some(last) = self.lines[self.number(switch, port)].waiting.len().checked_sub(1)
        {
            self.hold_one(now, switch, port, last, true, plane);
        }
        while let Some(Touched { port, queue, by_frame }) = self.touched.pop() {
            let number = self.number(switch, port);
            if self.nodes[switch].by_queue && !by_frame {
                self.hold_queues(now, switch, port, plane);
                continue;
            }
            for at in 0..self.lines[number].waiting.len() {
                if queue.is_none_or(|queue| self.lines[number].waiting[at].queue == queue) {
                    self.hold_one(now, switch, port, at, by_frame, plane);
                }
            }
        }
    }

    /// The same at a port that sent: few of the queues that followed packets wait in are held now, or no longer.
    fn hold_queues(&mut self, now: Instant, switch: usize, port: PortId, plane: &dyn Readings) {
        let number = self.number(switch, port);
        for queue in self.turns[number].waited() {
            if !self.lines[number].now_held(queue, plane.is_held(port, queue, FlowName::default())) {
                continue;
            }
            for at in 0..self.lines[number].waiting.len() {
                if self.lines[number].waiting[at].queue == queue {
                    self.hold_one(now, switch, port, at, false, plane);
                }
            }
        }
    }

    fn hold_one(&mut self, now: Instant, switch: usize, port: PortId, at: usize, by_frame: bool, plane: &dyn Readings) {
        let number = self.number(switch, port);
        let Journey { queue, name, held, .. } = self.lines[number].waiting[at];
        let holds = plane.is_held(port, queue, name);
        self.lines[number].now_held(queue, holds);
        if holds == held.is_some() && !(by_frame && holds) {
            return;
        }
        let holds = holds.then(|| self.pausers.sake(switch, port, queue, name.flow));
        if holds != held.map(|held| held.sake) {
            self.resume(now, switch, port, at);
            if let Some(sake) = holds {
                let (line, turns) = (&mut self.lines[number], &self.turns[number]);
                let queue = line.shared.then_some(queue);
                let Journey { own, seen, held, .. } = &mut line.waiting[at];
                turns.hold(seen, queue, now);
                let under_way = turns.own(queue, name.flow, now);
                *held = Some(Held { sake, at: now, own: [0, 1].map(|i| own[i].wrapping_add(under_way[i])) });
            }
        }
    }

    /// A packet that was held goes on.
    fn resume(&mut self, now: Instant, switch: usize, port: PortId, at: usize) {
        let number = self.number(switch, port);
        let Journey { name: FlowName { flow, .. }, hop, queue, held, .. } = self.lines[number].waiting[at];
        let Some(Held { sake, at: since, own: then }) = held else { return };
        let (whose, by) = (sake.flow.and_then(|flow| self.class(flow)), self.lines[number].peer.0);
        let (by, towards, span) = (Some(by as u32), self.towards(by, sake), now.since(since));
        let paused = part(flow, hop, (switch, port), queue, Why::Paused);
        let (line, turns) = (&mut self.lines[number], &self.turns[number]);
        let queue = line.shared.then_some(queue);
        let Journey { seen, parts, own, held, .. } = &mut line.waiting[at];
        *held = None;
        parts.add(Wait { whose, sake: sake.flow, by, towards, span, ..paused });
        turns.resume(seen, queue, now, span);
        let under_way = turns.own(queue, flow, now);
        for i in [0, 1] {
            // What was sent meanwhile is taken away.
            let sent = own[i].wrapping_add(under_way[i]).wrapping_sub(then[i]);
            own[i] = own[i].wrapping_sub(sent);
        }
    }

    /// What is held at a port, or in one of its queues, may change with the event at hand.
    #[inline]
    fn touch(&mut self, switch: usize, touched: Touched) {
        if self.counts[self.number(switch, touched.port)] && self.touched.last() != Some(&touched) {
            self.touched.push(touched);
            self.may_be_held = true;
        }
    }

    /// Accounts for the time that a packet waited at a port of a switch that it leaves.
    fn settle_journey(&mut self, now: Instant, switch: usize, port: PortId, at: usize) {
        self.resume(now, switch, port, at);
        let number = self.number(switch, port);
        let Journey { name: FlowName { flow, .. }, hop, queue, .. } = self.lines[number].waiting[at];
        let own_class = self.class(flow).unwrap_or(0);
        let (line, turns) = (&mut self.lines[number], &self.turns[number]);
        let shared = line.shared.then_some(queue);
        let Journey { seen, parts, own, .. } = &mut line.waiting[at];
        let under_way = turns.own(shared, flow, now);
        let sent = [0, 1].map(|i| own[i].wrapping_add(under_way[i]));
        turns.tell(seen, shared, (sent, own_class), now, |turn, span| {
            let (why, whose) = match turn {
                Turn::Own => (Why::OwnPackets, Some(own_class)),
                Turn::Queue(class) => (Why::Queue, Some(class)),
                Turn::Others(class) => (Why::OtherQueues, Some(class)),
                Turn::Frames => (Why::AcksAndFrames, None),
                Turn::Idle => (Why::Idle, None),
            };
            parts.add(Wait { whose, span, ..part(flow, hop, (switch, port), queue, why) });
        });
    }

    fn class(&self, flow: u32) -> Option<u8> {
        self.classes.get(flow as usize).copied()
    }

    /// The node that the packet waited for, for whose sake `switch` paused.
    fn towards(&self, switch: usize, sake: Sake) -> Option<u32> {
        sake.egress.map(|egress| self.lines[self.number(switch, egress)].peer.0 as u32)
    }

    /// A followed packet has come to the end of a link: it is taken off it, with the time it took accounted for.
    fn land(&mut self, now: Instant, (node, port): (usize, PortId), packet: Label) -> Option<Journey> {
        let from = self.lines[self.number(node, port)].peer;
        let sender = self.number(from.0, from.1);
        let (line, ser) = (&mut self.lines[sender], self.turns[sender].ser());
        let mut journey = line.flying.remove(find(&line.flying, packet)?)?;
        let whole = now.since(journey.seen.at);
        let transmission = ser.of_bytes(packet.wire.into()).min(whole);
        let rest = Duration(whole.0 - transmission.0);
        let in_host = node < self.sources.len();
        let propagation = if in_host { rest.min(line.delay) } else { rest };
        let Journey { name: FlowName { flow, .. }, hop, queue, .. } = journey;
        for (why, span) in [(Why::Transmission, transmission), (Why::Propagation, propagation)] {
            journey.parts.add(Wait { span, ..part(flow, hop, from, queue, why) });
        }
        journey.hop = hop.saturating_add(1);
        journey.seen.at = now;
        let span = Duration(rest.0 - propagation.0);
        journey.parts.add(Wait { span, ..part(flow, journey.hop, (node, port), 0, Why::HostDelay) });
        Some(journey)
    }
}

fn bit(port: PortId) -> u64 {
    1 << (port % 64)
}

fn is(journey: &Journey, packet: Label) -> bool {
    journey.name.flow == packet.name.flow && journey.seq == packet.seq
}

/// The one queue that a frame holds or releases.
fn queue_of(frame: ControlFrame) -> Option<QueueId> {
    match frame.effect() {
        Effect::Set { target: Target::Queue(queue), .. } => Some(queue),
        Effect::Set { target: Target::Flow(_) | Target::Class(_), .. } => None,
        Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => None,
    }
}

/// The first journey of this packet; a packet that was sent again may be on several.
fn find(journeys: &ByFlow<Journey>, packet: Label) -> Option<usize> {
    journeys.position(packet.name.flow, |journey| is(journey, packet))
}
