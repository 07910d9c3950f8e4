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

use crate::net::build;
use crate::observe::{Joined, Stand, Timer};
use crate::record::asked::Asked;
use crate::record::journeys::by_flow::ByFlow;
use crate::record::journeys::sources::{Concern, Source, Sources};
use crate::record::journeys::turns::{Seen, Sent, Turn, Turns};
use crate::record::label::Label;
use crate::record::pausers::{Pausers, Sake};
use crate::record::waits::{Parts, Wait, Why, add, part};
use crate::workload::Flow;
use backwater_dataplane::Readings;
use backwater_scenario::Scenario;
use backwater_scenario::model::{Assignment, LossRecovery, Transport};
use backwater_scenario::topology::Graph;
use backwater_schemes::build::ser_time;
use backwater_types::{ControlFrame, DropReason, Duration, FlowName, Instant, Kind, Packet, PortId, QueueId, flags};
use std::collections::HashMap;
use std::ops::Range;

/// Follows the packets of the flows asked for.
///
/// What every packet costs is a store at its port. Ports where followed packets or flows wait count whose turn it is
/// besides, which is read when a wait ends, or changes its cause.
#[derive(Clone, Debug)]
pub(crate) struct Journeys {
    asked: Asked,
    /// When each reaches its receiver.
    finish: HashMap<u32, Instant>,
    /// Receivers take packets in order, so that no packet but a flow's last completes it.
    in_order: bool,
    nodes: Vec<Node>,
    /// `[flow]`: its workload.
    classes: Vec<u8>,
    /// `[port]`, of all nodes in a row: what is looked at for every packet.
    ports: Vec<Port>,
    /// `[port]`: the rest.
    lines: Vec<Line>,
    /// `[host]`.
    sources: Vec<Sources>,
    /// Of the event at hand, at a host with such.
    concern: Concern,
    pausers: Pausers,
    /// Ports of the switch at hand where what is held may have changed for those that wait there: in one of its queues, if
    /// that is known.
    touched: Vec<(PortId, Option<QueueId>)>,
    /// The port that a followed packet joined.
    joined: Option<PortId>,
    waits: Vec<Wait>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The number of its first port.
    first: u32,
    /// What is held at a port changes by frames and timers alone. Otherwise it may as the port sends: credits are spent,
    /// or an isolation queue has another flow in front.
    steady: bool,
}

/// An egress port, as every packet finds it.
#[derive(Clone, Copy, Debug)]
struct Port {
    last: Sent,
    /// Followed packets or flows wait here, so that turns are counted.
    counts: bool,
}

/// An egress port with its link.
#[derive(Clone, Debug)]
struct Line {
    /// The port at the other end.
    peer: (usize, PortId),
    delay: Duration,
    /// Flows share queues, so that one may wait for another in its queue.
    shared: bool,
    turns: Turns,
    /// Followed packets in its queues, and on its link; each in the order in which they came.
    waiting: ByFlow<Journey>,
    flying: ByFlow<Journey>,
}

/// A packet on its way.
#[derive(Clone, Debug)]
struct Journey {
    name: FlowName,
    seq: u32,
    hop: u8,
    queue: QueueId,
    /// Up to when its time is accounted for.
    seen: Seen,
    held: Option<Sake>,
    parts: Parts,
}

impl Journeys {
    /// Of these flows, each with when it reaches its receiver.
    pub(crate) fn new(flows: &[(u32, Instant)], asked: Asked, scenario: &Scenario, graph: &Graph) -> Journeys {
        let links = build::ports(graph);
        let line = |node: usize, link: usize| {
            let peer = graph.peer(link, node);
            let port = links[peer].iter().position(|other| *other == link).expect("a link is a port of its ends");
            Line {
                peer: (peer, port as PortId),
                delay: graph.links[link].delay,
                shared: node >= graph.hosts
                    && scenario.switch_at(&graph.nodes[node].name).built_as() != Assignment::PerFlow,
                turns: Turns::new(ser_time(&scenario.conventions, graph.links[link].rate), scenario.workload.len()),
                waiting: ByFlow::new(),
                flying: ByFlow::new(),
            }
        };
        let lines: Vec<Line> = links
            .iter()
            .enumerate()
            .flat_map(|(node, links)| links.iter().map(move |link| (node, *link)))
            .map(|(node, link)| line(node, link))
            .collect();
        let mut first = 0;
        let mut node = |number: usize| {
            let of = Node { first, steady: !scenario.switch.bfc.is_extended() };
            first += links[number].len() as u32;
            if number < graph.hosts {
                return of;
            }
            let switch = scenario.switch_at(&graph.nodes[number].name);
            let steady = switch.built_as() != Assignment::Flowsail && !switch.bfc.is_extended();
            Node { steady, ..of }
        };
        let any_order = matches!(scenario.host.transport, Transport::Tcp | Transport::Homa);
        Journeys {
            asked,
            finish: flows.iter().copied().collect(),
            in_order: !any_order && scenario.host.recovery != LossRecovery::Selective,
            nodes: (0..graph.nodes.len()).map(&mut node).collect(),
            classes: Vec::new(),
            ports: vec![Port { last: Sent::NOTHING, counts: false }; lines.len()],
            lines,
            sources: vec![Sources::new(); graph.hosts],
            concern: Concern::default(),
            pausers: Pausers::new(links.iter().map(Vec::len)),
            touched: Vec::new(),
            joined: None,
            waits: Vec::new(),
        }
    }

    /// By flow.
    pub(crate) fn into_waits(mut self) -> Vec<Wait> {
        self.waits.sort_by_key(|wait| wait.flow);
        self.waits
    }

    /// Whether this may be the packet that completes a flow asked for.
    #[inline(always)]
    fn is_followed(&self, packet: &Packet) -> bool {
        // Few are asked for, which is guessed well; data and ACKs alternate.
        self.asked.has(packet.flow) && packet.kind == Kind::Data && (!self.in_order || packet.has(flags::LAST))
    }

    #[inline(always)]
    fn number(&self, node: usize, port: PortId) -> usize {
        self.nodes[node].first as usize + usize::from(port)
    }

    pub(crate) fn flow_started(&mut self, _now: Instant, flow: &Flow, slot: u32) {
        let id = flow.id as usize;
        if self.classes.len() <= id {
            self.classes.resize(id + 1, 0);
        }
        self.classes[id] = flow.class;
        self.concern.heard = true;
        if self.asked.has(flow.id) {
            let host = usize::from(flow.src);
            let number = self.number(host, 0);
            let (seen, stand) = (self.look(number, flow.at, flow.id, None), Stand::Blocked);
            let source = Source { flow: flow.id, slot, seen, stand, all_sent: false, parts: Vec::new() };
            self.sources[host].push(source);
            self.concern.hears(flow.id, true);
        }
    }

    #[inline(always)]
    pub(crate) fn host_settled(&mut self, now: Instant, host: usize, stand: &dyn Fn(u32, u32) -> Stand) {
        if !self.sources[host].of.is_empty() {
            let may = self.concern.is_any() || self.sources[host].due <= now || !self.nodes[host].steady;
            if may || cfg!(debug_assertions) {
                self.sources_settled(now, host, stand);
            }
        }
        self.concern.heard = false;
    }

    #[inline(always)]
    pub(crate) fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        if !self.sources[host].of.is_empty() {
            let asked = self.asked.has(packet.flow);
            self.concern.hears(packet.flow, asked);
            if asked && packet.kind == Kind::Data {
                self.source_sent(now, host, Label::of(packet));
            }
        }
        let queue = (packet.kind == Kind::Data).then_some(packet.upstream_queue);
        self.send(now, self.number(host, 0), packet, queue);
    }

    #[inline(always)]
    pub(crate) fn host_received(&mut self, now: Instant, host: usize, packet: &Packet) {
        if !self.sources[host].of.is_empty() {
            self.concern.hears(packet.flow, self.asked.has(packet.flow));
        }
        if self.is_followed(packet) {
            self.followed_received(now, host, Label::of(packet));
        }
    }

    #[inline(never)]
    fn followed_received(&mut self, now: Instant, host: usize, packet: Label) {
        let Some(journey) = self.land(now, (host, 0), packet) else { return };
        if self.finish.get(&packet.name.flow) == Some(&now) {
            self.waits.extend(journey.parts);
            let source = usize::from(packet.src);
            self.sources[source].of.remove_flow(packet.name.flow);
            let number = self.number(source, 0);
            self.ports[number].counts = !self.sources[source].of.is_empty();
        }
    }

    #[inline(always)]
    pub(crate) fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet) {
        if joined.control_on.is_some() {
            self.pausers.raised(switch, joined, Label::of(packet));
        }
        if self.is_followed(packet) {
            self.followed_enqueued(now, switch, joined, Label::of(packet));
        }
    }

    #[inline(never)]
    fn followed_enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: Label) {
        let Some(mut journey) = self.land(now, (switch, joined.ingress), packet) else { return };
        let number = self.number(switch, joined.egress);
        (journey.queue, journey.held) = (joined.queue, None);
        let queue = self.lines[number].shared.then_some(journey.queue);
        journey.seen = self.look(number, now, packet.name.flow, queue);
        self.lines[number].waiting.push(packet.name.flow, journey);
        match self.nodes[switch].steady {
            true => self.joined = Some(joined.egress),
            false => self.touch(switch, joined.egress, None),
        }
    }

    #[inline(always)]
    pub(crate) fn departed(
        &mut self,
        now: Instant,
        switch: usize,
        port: PortId,
        packet: &Packet,
        queue: Option<QueueId>,
    ) {
        if let Some(frame) = packet.control() {
            self.pausers.sent(switch, port, frame);
        }
        let number = self.number(switch, port);
        if self.ports[number].counts {
            self.departed_past(now, switch, port, Label::of(packet));
        }
        self.send(now, number, packet, queue);
    }

    /// It left a port where followed packets wait, and may be one of them.
    #[inline(never)]
    fn departed_past(&mut self, now: Instant, switch: usize, port: PortId, packet: Label) {
        if !self.nodes[switch].steady {
            self.touch(switch, port, None);
        }
        let number = self.number(switch, port);
        if packet.data
            && (!self.in_order || packet.last)
            && self.asked.has(packet.name.flow)
            && let Some(at) = find(&self.lines[number].waiting, packet)
        {
            self.settle_journey(now, switch, port, at);
            let line = &mut self.lines[number];
            line.flying.extend(line.waiting.remove(at).map(|journey| (packet.name.flow, journey)));
            self.ports[number].counts = !self.lines[number].waiting.is_empty();
        }
    }

    /// A port starts to send a packet.
    #[inline(always)]
    fn send(&mut self, now: Instant, number: usize, packet: &Packet, queue: Option<QueueId>) {
        let counts = self.ports[number].counts;
        if counts {
            self.count(now, number);
        }
        self.ports[number].last = Sent { at: now, flow: packet.flow, wire: packet.wire, queue };
        // In ns-3's order a flow may start within the nanosecond that has come.
        if counts && self.sources.get(number).is_some_and(|sources| sources.starts > now) {
            self.look_again(now, number);
        }
    }

    /// Counts what a port has sent, as it starts to send something else.
    #[inline(never)]
    fn count(&mut self, now: Instant, number: usize) {
        let (last, class) = self.last(number);
        if self.sources.get(number).is_some_and(|sources| sources.due != Instant::NEVER) {
            self.settle_paced(now, number);
        }
        let span = self.lines[number].turns.count(last, class, now);
        if last.queue.is_some() && self.asked.has(last.flow) {
            let line = &mut self.lines[number];
            for journey in line.waiting.of_mut(last.flow) {
                journey.seen.count_own(line.shared.then_some(journey.queue), last.queue, span);
            }
            for source in self.sources.get_mut(number).into_iter().flat_map(|sources| sources.of.of_mut(last.flow)) {
                source.seen.count_own(None, last.queue, span);
            }
        }
    }

    /// What starts at a host later than `now` looks at what was sent last.
    #[cold]
    fn look_again(&mut self, now: Instant, host: usize) {
        for at in 0..self.sources[host].of.len() {
            let Source { flow, seen: Seen { at: from, .. }, .. } = self.sources[host].of[at];
            if from > now {
                self.sources[host].of[at].seen = self.look(host, from, flow, None);
            }
        }
    }

    /// What a port sent last, and the class of that.
    #[inline]
    fn last(&self, number: usize) -> (Sent, u8) {
        let last = self.ports[number].last;
        (last, self.class(last.flow).unwrap_or(0))
    }

    /// One of a flow waits at a port from `at` on, in this queue if flows share it.
    fn look(&mut self, number: usize, at: Instant, flow: u32, queue: Option<QueueId>) -> Seen {
        self.ports[number].counts = true;
        let (last, mut seen) = (self.last(number), Seen::nothing_until(Instant::ZERO));
        self.lines[number].turns.show(&mut seen, queue, last, last.0.is_data_of(flow), at);
        seen
    }

    #[inline(always)]
    pub(crate) fn dropped(&mut self, _now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        if reason != DropReason::Nic && self.is_followed(packet) {
            self.followed_dropped(node, Label::of(packet), reason);
        }
    }

    #[inline(never)]
    fn followed_dropped(&mut self, node: usize, packet: Label, reason: DropReason) {
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
            for number in ports.clone() {
                if let Some(at) = find(&self.lines[number].waiting, packet) {
                    self.lines[number].waiting.remove(at);
                    self.ports[number].counts = !self.lines[number].waiting.is_empty();
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
            false => self.touch(node, port, queue_of(frame)),
        }
        let from = self.lines[self.number(node, port)].peer;
        self.pausers.received((node, port), from, frame);
    }

    pub(crate) fn link_changed(&mut self, _now: Instant, switch: usize, port: PortId, _up: bool) {
        self.touch(switch, port, None);
        self.pausers.released(switch, port);
    }

    pub(crate) fn released(&mut self, now: Instant, host: usize) {
        self.all_concerned(now, host);
        self.pausers.released(host, 0);
    }

    pub(crate) fn woke(&mut self, _now: Instant, node: usize, timer: Timer) {
        match (node < self.sources.len(), timer) {
            (true, _) if self.sources[node].of.is_empty() => (),
            (true, Timer::Pace) => self.concern.heard = true,
            (true, Timer::Any) => self.concern.all = true,
            (false, _) => {
                let ports = self.ports_of(node);
                (0..ports.len()).for_each(|port| self.touch(node, port as PortId, None));
            }
        }
    }

    /// The numbers of a node's ports.
    fn ports_of(&self, node: usize) -> Range<usize> {
        let end = self.nodes.get(node + 1).map_or(self.lines.len(), |next| next.first as usize);
        self.nodes[node].first as usize..end
    }

    #[inline(always)]
    pub(crate) fn settled(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        if self.joined.is_some() || !self.touched.is_empty() {
            self.hold(now, switch, plane);
        }
        if cfg!(debug_assertions) {
            self.check_held(switch, plane);
        }
    }

    /// What waits at a switch is held as was noted.
    fn check_held(&self, switch: usize, plane: &dyn Readings) {
        for (port, number) in self.ports_of(switch).enumerate() {
            for Journey { queue, name, held, .. } in self.lines[number].waiting.iter() {
                let holds = plane.is_held(port as PortId, *queue, *name);
                assert!(!self.nodes[switch].steady || holds == held.is_some(), "{name:?} at port {port} of {switch}");
            }
        }
    }

    /// What is held at ports of a switch may have changed: those that wait there wait on for that.
    #[inline(never)]
    fn hold(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        if let Some(port) = self.joined.take()
            && let Some(last) = self.lines[self.number(switch, port)].waiting.len().checked_sub(1)
        {
            self.hold_one(now, switch, port, last, plane);
        }
        while let Some((port, queue)) = self.touched.pop() {
            let number = self.number(switch, port);
            for at in 0..self.lines[number].waiting.len() {
                if queue.is_none_or(|queue| self.lines[number].waiting[at].queue == queue) {
                    self.hold_one(now, switch, port, at, plane);
                }
            }
        }
    }

    fn hold_one(&mut self, now: Instant, switch: usize, port: PortId, at: usize, plane: &dyn Readings) {
        let number = self.number(switch, port);
        let Journey { queue, name, held, .. } = self.lines[number].waiting[at];
        let holds = plane.is_held(port, queue, name);
        let holds = holds.then(|| self.pausers.sake(switch, port, queue, name.flow));
        if holds != held {
            self.settle_journey(now, switch, port, at);
            self.lines[number].waiting[at].held = holds;
        }
    }

    /// What is held at a port, or in one of its queues, may change with the event at hand.
    #[inline]
    fn touch(&mut self, switch: usize, port: PortId, queue: Option<QueueId>) {
        if self.ports[self.number(switch, port)].counts && self.touched.last() != Some(&(port, queue)) {
            self.touched.push((port, queue));
        }
    }

    /// Accounts for the time that a packet waited at a port of a switch.
    fn settle_journey(&mut self, now: Instant, switch: usize, port: PortId, at: usize) {
        let number = self.number(switch, port);
        let mut journey = std::mem::replace(&mut self.lines[number].waiting[at], Journey::NONE);
        let Journey { name: FlowName { flow, .. }, hop, queue, held, .. } = journey;
        let here = |why: Why| part(flow, hop, (switch, port), queue, why);
        let shared = self.lines[number].shared.then_some(queue);
        let (turns, last) = (&self.lines[number].turns, self.last(number));
        let (own, own_class) = (last.0.is_data_of(flow), self.class(flow).unwrap_or(0));
        let Journey { seen, parts, .. } = &mut journey;
        match held {
            Some(sake) => {
                let (whose, by) = (sake.flow.and_then(|flow| self.class(flow)), self.lines[number].peer.0);
                let (by, towards) = (Some(by as u32), self.towards(by, sake));
                let span = now.since(seen.at);
                add(parts, Wait { whose, sake: sake.flow, by, towards, span, ..here(Why::Paused) });
                turns.show(seen, shared, last, own, now);
            }
            None => turns.tell(seen, shared, last, (own, own_class), now, |turn, span| {
                let (why, whose) = match turn {
                    Turn::Own => (Why::OwnPackets, Some(own_class)),
                    Turn::Queue(class) => (Why::Queue, Some(class)),
                    Turn::Others(class) => (Why::OtherQueues, Some(class)),
                    Turn::Frames => (Why::AcksAndFrames, None),
                    Turn::Idle => (Why::Idle, None),
                };
                add(parts, Wait { whose, span, ..here(why) });
            }),
        }
        self.lines[number].waiting[at] = journey;
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
        let line = &mut self.lines[sender];
        let mut journey = line.flying.remove(find(&line.flying, packet)?)?;
        let whole = now.since(journey.seen.at);
        let transmission = line.turns.ser().of_bytes(packet.wire.into()).min(whole);
        let rest = Duration(whole.0 - transmission.0);
        let in_host = node < self.sources.len();
        let propagation = if in_host { rest.min(line.delay) } else { rest };
        let Journey { name: FlowName { flow, .. }, hop, queue, .. } = journey;
        for (why, span) in [(Why::Transmission, transmission), (Why::Propagation, propagation)] {
            add(&mut journey.parts, Wait { span, ..part(flow, hop, from, queue, why) });
        }
        journey.hop = hop.saturating_add(1);
        journey.seen.at = now;
        let span = Duration(rest.0 - propagation.0);
        add(&mut journey.parts, Wait { span, ..part(flow, journey.hop, (node, port), 0, Why::HostDelay) });
        Some(journey)
    }
}

impl Journey {
    /// Stands where one is taken from for a moment.
    const NONE: Journey = Journey {
        name: FlowName { flow: 0, slot: 0, class: 0 },
        seq: 0,
        hop: 0,
        queue: 0,
        seen: Seen::nothing_until(Instant::ZERO),
        held: None,
        parts: Vec::new(),
    };
}

fn is(journey: &Journey, packet: Label) -> bool {
    journey.name.flow == packet.name.flow && journey.seq == packet.seq
}

/// The one queue that a frame holds or releases.
fn queue_of(frame: ControlFrame) -> Option<QueueId> {
    match frame {
        ControlFrame::Pause(queue) | ControlFrame::Resume(queue) => Some(queue),
        _ => None,
    }
}

/// The first journey of this packet; a packet that was sent again may be on several.
fn find(journeys: &ByFlow<Journey>, packet: Label) -> Option<usize> {
    journeys.position(packet.name.flow, |journey| is(journey, packet))
}
