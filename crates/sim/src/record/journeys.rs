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

use crate::net::build;
use crate::observe::{Joined, Stand};
use crate::record::pausers::{Pausers, Sake};
use crate::workload::Flow;
use backwater_dataplane::{Departed, Readings};
use backwater_scenario::Scenario;
use backwater_scenario::model::{Assignment, LossRecovery, Transport};
use backwater_scenario::topology::Graph;
use backwater_schemes::build::ser_time;
use backwater_types::{
    ControlFrame, DropReason, Duration, FlowName, Instant, Kind, Packet, PortId, QueueId, SerTime, flags,
};
use std::collections::HashMap;

/// What a flow's last packet waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The link or the port sent packets of the same flow that were ahead.
    OwnPackets,
    /// The port sent packets of the same queue, of other flows.
    Queue,
    /// The port sent packets of other queues.
    OtherQueues,
    /// The NIC sent packets of other flows.
    OtherFlows,
    /// ACKs or control frames were sent.
    AcksAndFrames,
    /// A neighbour held the queue, the flow or the port.
    Paused,
    /// The sender might not send: its window, its pace, credits or grants.
    Transport,
    /// It, or what the receiver lacked before it, was lost or late, and had to be sent again.
    Recovery,
    /// The port sent nothing, though nothing held the packet.
    Idle,
    /// Onto a link.
    Transmission,
    /// Along a link.
    Propagation,
    /// In the receiving host.
    HostDelay,
}

impl Why {
    /// All of them, in the order of their numbers.
    pub const ALL: [Why; 12] = {
        use Why::*;
        [
            OwnPackets,
            Queue,
            OtherQueues,
            OtherFlows,
            AcksAndFrames,
            Paused,
            Transport,
            Recovery,
            Idle,
            Transmission,
            Propagation,
            HostDelay,
        ]
    };

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Why::OwnPackets => "own-packets",
            Why::Queue => "queue",
            Why::OtherQueues => "other-queues",
            Why::OtherFlows => "other-flows",
            Why::AcksAndFrames => "acks-and-frames",
            Why::Paused => "paused",
            Why::Transport => "transport",
            Why::Recovery => "recovery",
            Why::Idle => "idle",
            Why::Transmission => "transmission",
            Why::Propagation => "propagation",
            Why::HostDelay => "host-delay",
        }
    }
}

/// A part of a flow's completion time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Flow number.
    pub flow: u32,
    /// Links before it: 0 at the source.
    pub hop: u8,
    /// Where.
    pub node: u32,
    /// At which port of it.
    pub port: PortId,
    /// In which of its data queues.
    pub queue: QueueId,
    /// For what.
    pub why: Why,
    /// The workload of the packets that were sent meanwhile, or of the flow for whose sake it was paused.
    pub whose: Option<u8>,
    /// For the sake of which flow it was paused, if that is known.
    pub sake: Option<u32>,
    /// Which node paused it.
    pub by: Option<u32>,
    /// Towards which node the paused-for flow's packet was waiting there.
    pub towards: Option<u32>,
    /// How long.
    pub span: Duration,
}

/// Follows the packets of the flows asked for.
#[derive(Clone, Debug)]
pub(crate) struct Journeys {
    /// `[flow / 64]`: bits of these.
    asked: Vec<u64>,
    /// When each reaches its receiver.
    finish: HashMap<u32, Instant>,
    /// Receivers take packets in order, so that no packet but a flow's last completes it.
    in_order: bool,
    /// `[node]`: every flow has a queue of its own.
    queue_per_flow: Vec<bool>,
    /// `[flow]`: its workload.
    classes: Vec<u8>,
    /// `[host]`.
    sources: Vec<Vec<Source>>,
    /// `[node][port]`.
    lines: Vec<Vec<Line>>,
    pausers: Pausers,
    /// Ports of the switch at hand whose queues may have been paused or resumed.
    touched: Vec<PortId>,
    waits: Vec<Wait>,
}

/// An egress port with its link.
#[derive(Clone, Debug)]
struct Line {
    /// The port at the other end.
    peer: (usize, PortId),
    ser: SerTime,
    delay: Duration,
    sending: Sending,
    /// Followed packets in its queues, and on its link; each in the order in which they came.
    waiting: Vec<Journey>,
    flying: Vec<Journey>,
}

/// The last transmission of a port.
#[derive(Clone, Copy, Debug)]
struct Sending {
    until: Instant,
    flow: u32,
    /// `None`: no data.
    queue: Option<QueueId>,
}

/// A part of a journey: its flow is that of the journey.
type Parts = Vec<Wait>;

/// A packet on its way.
#[derive(Clone, Debug)]
struct Journey {
    name: FlowName,
    seq: u32,
    hop: u8,
    queue: QueueId,
    /// Up to when its time is accounted for.
    since: Instant,
    held: Option<Sake>,
    parts: Parts,
}

/// A flow at its source.
#[derive(Clone, Debug)]
struct Source {
    flow: u32,
    slot: u32,
    since: Instant,
    stand: Stand,
    /// Each of its packets was sent.
    all_sent: bool,
    parts: Parts,
}

/// Adds a part, to an equal one of the same place if there is one.
fn add(parts: &mut Parts, part: Wait) {
    if part.span == Duration::ZERO {
        return;
    }
    let same = |other: &&mut Wait| Wait { span: part.span, ..**other } == part;
    match parts.iter_mut().rev().take_while(|other| other.hop == part.hop).find(same) {
        Some(other) => other.span = Duration(other.span.0 + part.span.0),
        None => parts.push(part),
    }
}

/// One at a place, of nothing yet.
fn part(flow: u32, hop: u8, (node, port): (usize, PortId), queue: QueueId, why: Why) -> Wait {
    let (whose, sake, by, towards) = (None, None, None, None);
    Wait { flow, hop, node: node as u32, port, queue, why, whose, sake, by, towards, span: Duration::ZERO }
}

impl Journeys {
    /// Of these flows, each with when it reaches its receiver.
    pub(crate) fn new(flows: &[(u32, Instant)], scenario: &Scenario, graph: &Graph) -> Journeys {
        let mut asked = vec![0; flows.iter().map(|(flow, _)| *flow as usize / 64 + 1).max().unwrap_or(0)];
        flows.iter().for_each(|(flow, _)| asked[*flow as usize / 64] |= 1 << (flow % 64));
        let links = build::ports(graph);
        let line = |node: usize, link: usize| {
            let peer = graph.peer(link, node);
            let port = links[peer].iter().position(|other| *other == link).expect("a link is a port of its ends");
            let idle = Sending { until: Instant::ZERO, flow: 0, queue: None };
            Line {
                peer: (peer, port as PortId),
                ser: ser_time(&scenario.conventions, graph.links[link].rate),
                delay: graph.links[link].delay,
                sending: idle,
                waiting: Vec::new(),
                flying: Vec::new(),
            }
        };
        let per_flow = |node: usize| {
            node >= graph.hosts && scenario.switch_at(&graph.nodes[node].name).built_as() == Assignment::PerFlow
        };
        let any_order = matches!(scenario.host.transport, Transport::Tcp | Transport::Homa);
        Journeys {
            asked,
            finish: flows.iter().copied().collect(),
            in_order: !any_order && scenario.host.recovery != LossRecovery::Selective,
            queue_per_flow: (0..graph.nodes.len()).map(per_flow).collect(),
            classes: Vec::new(),
            sources: vec![Vec::new(); graph.hosts],
            pausers: Pausers::new(links.iter().map(Vec::len)),
            lines: (0..graph.nodes.len())
                .map(|node| links[node].iter().map(|link| line(node, *link)).collect())
                .collect(),
            touched: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// By flow.
    pub(crate) fn into_waits(mut self) -> Vec<Wait> {
        self.waits.sort_by_key(|wait| wait.flow);
        self.waits
    }

    #[inline(always)]
    fn is_asked(&self, flow: u32) -> bool {
        self.asked.get(flow as usize / 64).is_some_and(|word| word >> (flow % 64) & 1 == 1)
    }

    /// Whether this may be the packet that completes a flow asked for.
    #[inline(always)]
    fn is_followed(&self, packet: &Packet) -> bool {
        packet.kind == Kind::Data && (!self.in_order || packet.has(flags::LAST)) && self.is_asked(packet.flow)
    }

    pub(crate) fn flow_started(&mut self, _now: Instant, flow: &Flow, slot: u32) {
        let id = flow.id as usize;
        if self.classes.len() <= id {
            self.classes.resize(id + 1, 0);
        }
        self.classes[id] = flow.class;
        if self.is_asked(flow.id) {
            let stand = Stand::Blocked;
            let source = Source { flow: flow.id, slot, since: flow.at, stand, all_sent: false, parts: Vec::new() };
            self.sources[usize::from(flow.src)].push(source);
        }
    }

    pub(crate) fn host_settled(&mut self, now: Instant, host: usize, stand: &dyn Fn(u32, u32) -> Stand) {
        self.settle_sources(now, host);
        for source in &mut self.sources[host] {
            source.stand = stand(source.slot, source.flow);
        }
    }

    pub(crate) fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        self.settle_sources(now, host);
        if packet.kind == Kind::Data && self.is_asked(packet.flow) {
            let followed = self.is_followed(packet);
            let line = &mut self.lines[host][0];
            if let Some(source) = self.sources[host].iter_mut().find(|source| source.flow == packet.flow) {
                if followed {
                    line.flying.push(Journey {
                        name: packet.flow_name(),
                        seq: packet.seq,
                        hop: 0,
                        queue: packet.upstream_queue,
                        since: now.max(source.since),
                        held: None,
                        parts: source.parts.clone(),
                    });
                }
                source.all_sent |= packet.has(flags::LAST);
            }
        }
        let queue = (packet.kind == Kind::Data).then_some(packet.upstream_queue);
        self.lines[host][0].send(now, packet, queue);
    }

    pub(crate) fn host_received(&mut self, now: Instant, host: usize, packet: &Packet) {
        if !self.is_followed(packet) {
            return;
        }
        let Some(journey) = self.land(now, (host, 0), packet) else { return };
        if self.finish.get(&packet.flow) == Some(&now) {
            self.waits.extend(journey.parts);
            self.sources[usize::from(packet.src)].retain(|source| source.flow != packet.flow);
        }
    }

    pub(crate) fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet) {
        if joined.control_on.is_some() {
            self.pausers.raised(switch, joined, packet);
        }
        if self.is_followed(packet)
            && let Some(mut journey) = self.land(now, (switch, joined.ingress), packet)
        {
            (journey.queue, journey.held) = (joined.queue, None);
            self.touch(now, switch, joined.egress);
            self.lines[switch][usize::from(joined.egress)].waiting.push(journey);
            self.touched.push(joined.egress);
        }
    }

    pub(crate) fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        self.touch(now, switch, port);
        if let Some(frame) = packet.control() {
            self.pausers.sent(switch, port, frame);
        }
        let followed = self.is_followed(packet);
        let line = &mut self.lines[switch][usize::from(port)];
        if followed && let Some(at) = find(&line.waiting, packet) {
            let journey = line.waiting.remove(at);
            line.flying.push(journey);
        }
        line.send(now, packet, sent.queue);
    }

    pub(crate) fn dropped(&mut self, _now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        if reason == DropReason::Nic || !self.is_followed(packet) {
            return;
        }
        if node == usize::from(packet.src) {
            // It was sent just now, onto a link that lost it.
            self.lines[node][0].flying.pop_if(|journey| is(journey, packet));
            return;
        }
        if matches!(reason, DropReason::NotEct | DropReason::LinkDown | DropReason::LinkLoss) {
            for line in &mut self.lines[node] {
                if let Some(at) = find(&line.waiting, packet) {
                    line.waiting.remove(at);
                    return;
                }
            }
        }
        // It came, and was not let in.
        for port in 0..self.lines[node].len() {
            let (peer, port) = self.lines[node][port].peer;
            let flying = &mut self.lines[peer][usize::from(port)].flying;
            if let Some(at) = find(flying, packet) {
                flying.remove(at);
                return;
            }
        }
    }

    pub(crate) fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        if node < self.sources.len() {
            self.settle_sources(now, node);
        } else {
            self.touch(now, node, port);
        }
        let from = self.lines[node][usize::from(port)].peer;
        self.pausers.received((node, port), from, frame);
    }

    pub(crate) fn link_changed(&mut self, now: Instant, switch: usize, port: PortId, _up: bool) {
        self.touch(now, switch, port);
        self.pausers.released(switch, port);
    }

    pub(crate) fn released(&mut self, now: Instant, host: usize) {
        self.settle_sources(now, host);
        self.pausers.released(host, 0);
    }

    pub(crate) fn woke(&mut self, now: Instant, switch: usize) {
        for port in 0..self.lines[switch].len() {
            self.touch(now, switch, port as PortId);
        }
    }

    pub(crate) fn settled(&mut self, _now: Instant, switch: usize, plane: &dyn Readings) {
        let pausers = &self.pausers;
        for port in self.touched.drain(..) {
            for journey in &mut self.lines[switch][usize::from(port)].waiting {
                let held = plane.is_held(port, journey.queue, journey.name);
                journey.held = held.then(|| pausers.sake(switch, port, journey.queue, journey.name.flow));
            }
        }
    }

    /// Something is about to happen to a port of a switch: what waited there waited until now as things were.
    #[inline]
    fn touch(&mut self, now: Instant, switch: usize, port: PortId) {
        if !self.lines[switch][usize::from(port)].waiting.is_empty() {
            self.settle_queues(now, switch, port);
        }
    }

    fn settle_queues(&mut self, now: Instant, switch: usize, port: PortId) {
        if self.touched.last() != Some(&port) {
            self.touched.push(port);
        }
        let line = &mut self.lines[switch][usize::from(port)];
        let (sending, peer, mut waiting) = (line.sending, line.peer, std::mem::take(&mut line.waiting));
        let by_flow = self.queue_per_flow[switch];
        let class = |flow: u32| self.classes.get(flow as usize).copied();
        for journey in &mut waiting {
            let Journey { name: FlowName { flow, .. }, hop, queue, since, held, .. } = *journey;
            journey.since = now;
            let here = |why: Why| part(flow, hop, (switch, port), queue, why);
            if let Some(sake) = held {
                let whose = sake.flow.and_then(class);
                let (by, towards) = (Some(peer.0 as u32), self.towards(peer.0, sake));
                let span = now.since(since);
                add(&mut journey.parts, Wait { whose, sake: sake.flow, by, towards, span, ..here(Why::Paused) });
                continue;
            }
            let busy = sending.until.clamp(since, now);
            let (why, whose) = match sending.queue {
                None => (Why::AcksAndFrames, None),
                Some(_) if sending.flow == flow => (Why::OwnPackets, class(flow)),
                Some(other) if other == queue && !by_flow => (Why::Queue, class(sending.flow)),
                Some(_) => (Why::OtherQueues, class(sending.flow)),
            };
            add(&mut journey.parts, Wait { whose, span: busy.since(since), ..here(why) });
            add(&mut journey.parts, Wait { span: now.since(busy), ..here(Why::Idle) });
        }
        self.lines[switch][usize::from(port)].waiting = waiting;
    }

    /// The same for the flows of a host.
    fn settle_sources(&mut self, now: Instant, host: usize) {
        if self.sources[host].is_empty() {
            return;
        }
        let (sending, peer) = (self.lines[host][0].sending, self.lines[host][0].peer);
        let class = |flow: u32| self.classes.get(flow as usize).copied();
        let mut sources = std::mem::take(&mut self.sources[host]);
        for source in &mut sources {
            let Source { flow, since, stand, all_sent, .. } = *source;
            // In ns-3's order a flow may start within the nanosecond that has come.
            if now <= since {
                continue;
            }
            source.since = now;
            let held = match stand {
                Stand::Held(queue) => Some((queue, self.pausers.sake(host, 0, queue, flow))),
                _ => None,
            };
            let here = |why: Why| part(flow, 0, (host, 0), held.map_or(0, |(queue, _)| queue), why);
            let ready = match stand {
                Stand::Ready | Stand::Held(_) => since,
                Stand::Paced(at) => at,
                Stand::Blocked => now,
            };
            let busy = sending.until.clamp(since, now);
            for (from, to, is_busy) in [(since, busy, true), (busy, now, false)] {
                let own = is_busy && sending.queue.is_some() && sending.flow == flow;
                if own || all_sent {
                    let why = if own { Why::OwnPackets } else { Why::Recovery };
                    let whose = own.then(|| class(flow)).flatten();
                    add(&mut source.parts, Wait { whose, span: to.since(from), ..here(why) });
                    continue;
                }
                let ready = ready.clamp(from, to);
                add(&mut source.parts, Wait { span: ready.since(from), ..here(Why::Transport) });
                let rest = match held {
                    Some((_, sake)) => {
                        let towards = self.towards(peer.0, sake);
                        let (by, whose) = (Some(peer.0 as u32), sake.flow.and_then(class));
                        Wait { whose, sake: sake.flow, by, towards, ..here(Why::Paused) }
                    }
                    None if !is_busy => here(Why::Idle),
                    None if sending.queue.is_none() => here(Why::AcksAndFrames),
                    None => Wait { whose: class(sending.flow), ..here(Why::OtherFlows) },
                };
                add(&mut source.parts, Wait { span: to.since(ready), ..rest });
            }
        }
        self.sources[host] = sources;
    }

    /// The node that the packet waited for, for whose sake `switch` paused.
    fn towards(&self, switch: usize, sake: Sake) -> Option<u32> {
        sake.egress.map(|egress| self.lines[switch][usize::from(egress)].peer.0 as u32)
    }

    /// A followed packet has come to the end of a link: it is taken off it, with the time it took accounted for.
    fn land(&mut self, now: Instant, (node, port): (usize, PortId), packet: &Packet) -> Option<Journey> {
        let from = self.lines[node][usize::from(port)].peer;
        let line = &mut self.lines[from.0][usize::from(from.1)];
        let mut journey = line.flying.remove(find(&line.flying, packet)?);
        let whole = now.since(journey.since);
        let transmission = line.ser.of_bytes(packet.wire.into()).min(whole);
        let rest = Duration(whole.0 - transmission.0);
        let in_host = node < self.sources.len();
        let propagation = if in_host { rest.min(line.delay) } else { rest };
        let Journey { name: FlowName { flow, .. }, hop, queue, .. } = journey;
        for (why, span) in [(Why::Transmission, transmission), (Why::Propagation, propagation)] {
            add(&mut journey.parts, Wait { span, ..part(flow, hop, from, queue, why) });
        }
        journey.hop = hop.saturating_add(1);
        journey.since = now;
        let span = Duration(rest.0 - propagation.0);
        add(&mut journey.parts, Wait { span, ..part(flow, journey.hop, (node, port), 0, Why::HostDelay) });
        Some(journey)
    }
}

impl Line {
    fn send(&mut self, now: Instant, packet: &Packet, queue: Option<QueueId>) {
        self.sending = Sending { until: now + self.ser.of_bytes(packet.wire.into()), flow: packet.flow, queue };
    }
}

fn is(journey: &Journey, packet: &Packet) -> bool {
    journey.name.flow == packet.flow && journey.seq == packet.seq
}

/// The first journey of this packet; a packet that was sent again may be on several.
fn find(journeys: &[Journey], packet: &Packet) -> Option<usize> {
    journeys.iter().position(|journey| is(journey, packet))
}
