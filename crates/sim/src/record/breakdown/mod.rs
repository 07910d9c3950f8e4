//! Delay breakdown of flow completion times, to the picosecond.
//!
//! A flow completes when the last missing packet arrives at its receiver. Its completion time is the delay of that
//! packet's path: at the source until the packet is sent, then queue after queue and link after link. Each span is put
//! down to one cause, so the parts sum to the completion time under any scheme:
//!
//! ```text
//! at the source   own packets on the link, else after the last packet was first sent: recovery,
//!                 else blocked by the sender: transport,
//!                 else paused, else the link was taken by others, else idle
//! in a queue      paused, else the packet that the port was sending: of the same flow, of the same queue,
//!                 of another queue, an ACK or a control frame; else idle
//! on a link       transmission, propagation; at the receiver the host's delay
//! ```
//!
//! A packet counts as paused while its queue (or its flow, where flows are paused) may not send. That holds even if its
//! port sends from other queues meanwhile, since they do not cause the wait.
//!
//! A followed flow is [`AtSource`] until its packets leave. The [`PathTrace`] of a packet is [`InQueue`] or [`OnLink`]
//! at one of the [`Ports`], whose [`PortClock`] says whose turn it was. [`Followed`] names the packets. [`Rechecks`]
//! names the ports where an event may have begun or ended pauses.

mod at_source;
mod by_flow;
mod followed;
mod in_queue;
mod on_link;
mod path_trace;
mod port_clock;
mod ports;
mod rechecks;

use crate::record::asked::Asked;
use crate::record::breakdown::at_source::{AtSource, Concern};
use crate::record::breakdown::followed::Followed;
use crate::record::breakdown::in_queue::InQueue;
use crate::record::breakdown::on_link::OnLink;
use crate::record::breakdown::path_trace::PathTrace;
use crate::record::breakdown::port_clock::PortClock;
use crate::record::breakdown::ports::{Port, Ports};
use crate::record::breakdown::rechecks::{Recheck, Rechecks};
use crate::record::label::Label;
use crate::record::pause_causes::{Cause, PauseCauses};
use crate::record::waits::{Wait, Why};
use backwater_dataplane::Readings;
use backwater_engine::observe::{Joined, SendState, Timer, Transmission};
use backwater_fabric::ports;
use backwater_scenario::Scenario;
use backwater_scenario::model::Assignment;
use backwater_scenario::topology::Graph;
use backwater_schemes::build::ser_time;
use backwater_traffic::Flow;
use backwater_types::{
    ControlFrame, DropReason, Duration, Effect, FlowName, Instant, Kind, Packet, PortId, QueueId, Target,
};

/// Recorder of the delays of followed flows.
///
/// Ports where followed packets or flows wait run a clock, which is read when a wait begins, ends or changes its cause.
/// Other ports, which most packets use, keep no record.
#[derive(Clone, Debug)]
pub(crate) struct Breakdown {
    followed: Followed,
    /// `[flow]`: number of its workload.
    classes: Vec<u8>,
    ports: Ports,
    /// `[node]`: rule of its pauses.
    rules: Vec<HoldRule>,
    /// `[host]`: whether followed flows are there. Always `!sources[host].is_empty()`, in less memory, as each event
    /// reads it.
    sends: Vec<bool>,
    /// `[host]`: followed flows at their source.
    sources: Vec<AtSource>,
    /// Flows that the current event concerns, at a host with followed flows.
    concern: Concern,
    /// Ports that the current event concerns, at a switch.
    rechecks: Rechecks,
    causes: PauseCauses,
    /// Delays of completed flows, each flow's from the source on. They are one list, so that the memory in which they
    /// were summed is used again while it is in a cache.
    done: Vec<Wait>,
}

/// Events that can change pauses of waiting packets at a node. Decides where the recorder looks at them.
#[derive(Clone, Copy, Debug)]
struct HoldRule {
    /// Whether only frames, timers and changes of links begin and end pauses. Otherwise a transmission may, too: it
    /// spends a credit, or brings another flow to the front of an isolation queue.
    steady: bool,
    /// Whether a pause holds whole queues, of which there are at most 64.
    by_queue: bool,
}

impl HoldRule {
    fn new(scenario: &Scenario, graph: &Graph, node: usize) -> HoldRule {
        if node < graph.hosts {
            // Read from the switch table of the whole network, as a region may not have extended BFC.
            return HoldRule { steady: !scenario.switch.bfc.is_extended(), by_queue: false };
        }
        let switch = scenario.switch_at(&graph.nodes[node].name);
        let by_flow = switch.pausing().flows_hold_queues();
        HoldRule { steady: !by_flow && !switch.bfc.is_extended(), by_queue: by_flow && switch.data_queues() <= 64 }
    }
}

impl Breakdown {
    /// Builds the recorder of these flows, each with its completion time at the receiver.
    pub(crate) fn new(flows: &[(u32, Instant)], asked: Asked, scenario: &Scenario, graph: &Graph) -> Breakdown {
        let links = ports(graph);
        let shared = |node: usize| {
            node >= graph.hosts && scenario.switch_at(&graph.nodes[node].name).built_as() != Assignment::PerFlow
        };
        let port = |node: usize, link: usize| {
            let peer = graph.peer(link, node);
            let port = links[peer].iter().position(|other| *other == link).expect("a link is a port of its ends");
            let ser = ser_time(&scenario.conventions, graph.links[link].rate);
            Port {
                clock: PortClock::new(ser, scenario.workload.len()),
                queues: InQueue::new(shared(node)),
                link: OnLink::new(graph.links[link].delay),
                peer: (peer, port as PortId),
            }
        };
        let ports_of = |node: usize| links[node].iter().map(|link| port(node, *link)).collect();
        Breakdown {
            followed: Followed::new(flows, asked, scenario),
            classes: Vec::new(),
            ports: Ports::new((0..graph.nodes.len()).map(ports_of)),
            rules: (0..graph.nodes.len()).map(|node| HoldRule::new(scenario, graph, node)).collect(),
            sends: vec![false; graph.hosts],
            sources: vec![AtSource::new(); graph.hosts],
            concern: Concern::default(),
            rechecks: Rechecks::default(),
            causes: PauseCauses::new(links.iter().map(Vec::len)),
            done: Vec::new(),
        }
    }

    /// Delays of all flows that completed, by flow.
    pub(crate) fn into_waits(mut self) -> Vec<Wait> {
        self.done.sort_by_key(|wait| wait.flow);
        self.done
    }

    /// Whether this packet is followed.
    #[inline(always)]
    pub(super) fn follows(&self, packet: &Packet) -> bool {
        self.followed.follows(packet)
    }

    /// Whether followed flows are at this host.
    #[inline(always)]
    pub(super) fn waits_at_host(&self, host: usize) -> bool {
        self.sends[host]
    }

    /// Whether followed packets may wait at this port. If not, none does.
    #[inline(always)]
    pub(super) fn may_wait_at(&self, switch: usize, port: PortId) -> bool {
        self.ports.may_run(switch, port)
    }

    fn is_host(&self, node: usize) -> bool {
        node < self.sources.len()
    }

    /// Class of a flow that has started.
    fn class(&self, flow: u32) -> Option<u8> {
        self.classes.get(flow as usize).copied()
    }

    /// Class of a flow; the first class for unknown flows.
    fn class_or_first(&self, flow: u32) -> u8 {
        self.class(flow).unwrap_or(0)
    }

    /// Starts the clock of a port, if it does not run; `last` is the port's last transmission.
    fn start_clock(&mut self, node: usize, port: PortId, last: &Transmission) {
        if !self.ports.runs(node, port) {
            let class = self.class_or_first(last.flow());
            self.ports.start(node, port, *last, class);
        }
    }

    /// Completes the delay of a pause at a port by its cause.
    fn paused(&self, cause: Cause, wait: Wait) -> Wait {
        let by = self.ports.at(wait.node as usize, wait.port).peer.0;
        let towards = cause.egress.map(|egress| self.ports.at(by, egress).peer.0 as u32);
        let whose = cause.flow.and_then(|flow| self.class(flow));
        Wait { whose, sake: cause.flow, by: Some(by as u32), towards, ..wait }
    }
}

/// Events at hosts.
impl Breakdown {
    /// Notes a flow that starts.
    pub(super) fn flow_started(&mut self, flow: &Flow, slot: u32) {
        let id = flow.id as usize;
        if self.classes.len() <= id {
            self.classes.resize(id + 1, 0);
        }
        self.classes[id] = flow.class;
        let host = usize::from(flow.src);
        let followed = self.followed.has(flow.id);
        if followed {
            self.sends[host] = true;
            self.sources[host].start(flow, slot);
        }
        if self.sends[host] {
            self.hears(flow.id, followed);
        }
    }

    /// Settles the current event, at a host with followed flows.
    #[inline(always)]
    pub(super) fn host_settled(
        &mut self,
        now: Instant,
        host: usize,
        last: &Transmission,
        send_state: &dyn Fn(u32, u32) -> SendState,
    ) {
        let Concern { heard, some, .. } = self.concern;
        let may = some || !heard || self.sources[host].may_be_due(now) || !self.rules[host].steady;
        if may || cfg!(debug_assertions) {
            self.settle_host(now, host, last, send_state);
        }
        self.concern.heard = false;
    }

    /// Notes a packet of another flow that a host with followed flows sends.
    #[inline(never)]
    pub(super) fn host_sent(&mut self, host: usize, sent: Transmission) {
        self.concern.heard = true;
        self.before_send(host, sent.at);
        self.after_send(host, sent);
    }

    /// Notes a packet of a followed flow that a host sends.
    #[inline(never)]
    pub(super) fn followed_sent(&mut self, host: usize, packet: Label, sent: Transmission) {
        self.concern.add(packet.name.flow);
        self.before_send(host, sent.at);
        if packet.data {
            self.source_sent(sent.at, host, packet);
        }
        self.after_send(host, sent);
    }

    /// Notes that the current event concerns a flow.
    fn hears(&mut self, flow: u32, followed: bool) {
        self.concern.heard = true;
        if followed {
            self.concern.add(flow);
        }
    }

    /// Notes that a host with followed flows receives a packet, which concerns one of them unless it is data.
    #[inline(always)]
    pub(super) fn host_received(&mut self, packet: &Packet) {
        self.hears(packet.flow, packet.kind != Kind::Data && self.followed.has(packet.flow));
    }

    /// Notes that data of a followed flow reaches its receiver.
    pub(super) fn followed_received(&mut self, now: Instant, host: usize, packet: Label) {
        if !self.followed.may_complete(packet) {
            return;
        }
        let Some(trace) = self.land(now, (host, 0), packet) else { return };
        let flow = packet.name.flow;
        if self.followed.completes(flow, now) {
            self.done.extend(trace.parts.into_waits());
            self.source_done(packet.src.into(), flow);
        }
    }

    /// Ends all pauses of a host, whose link failed or recovered.
    pub(crate) fn released(&mut self, now: Instant, host: usize) {
        self.release_host(now, host);
        self.causes.released(host, 0);
    }
}

/// Events at switches, at links, and at any node.
impl Breakdown {
    /// Remembers a packet that joined a queue and caused a frame.
    pub(super) fn raised(&mut self, switch: usize, joined: Joined, packet: Label) {
        self.causes.raised(switch, joined, packet);
    }

    /// Notes a frame that leaves.
    pub(super) fn frame_sent(&mut self, switch: usize, port: PortId, frame: ControlFrame) {
        self.causes.sent(switch, port, frame);
    }

    /// Notes that a followed packet joins a queue of a port, whose last transmission is `last`.
    #[inline(never)]
    pub(super) fn followed_enqueued(
        &mut self,
        now: Instant,
        switch: usize,
        joined: Joined,
        packet: Label,
        last: &Transmission,
    ) {
        let Some(mut trace) = self.land(now, (switch, joined.ingress), packet) else { return };
        trace.queue = joined.queue;
        self.start_clock(switch, joined.egress, last);
        let Port { queues, clock, .. } = self.ports.at_mut(switch, joined.egress);
        queues.join(trace, clock, now);
        self.rechecks.add_joined(joined.egress);
        let HoldRule { steady, by_queue } = self.rules[switch];
        if !steady {
            self.recheck(switch, Recheck { port: joined.egress, queue: None, by_frame: !by_queue });
        }
    }

    /// Notes that a followed packet leaves a port; it was waiting there unless it found the port idle.
    pub(super) fn followed_departed(&mut self, switch: usize, port: PortId, packet: Label, sent: Transmission) {
        let Some(at) = self.ports.at(switch, port).queues.find(packet) else { return };
        self.resume(sent.at, switch, port, at);
        let own_class = self.class_or_first(packet.name.flow);
        let Port { queues, clock, link, .. } = self.ports.at_mut(switch, port);
        if let Some(trace) = queues.leave(at, clock, sent.at, (switch, port), own_class) {
            link.push(trace);
        }
        self.stop_unless_awaited(switch, port);
    }

    /// Stops the clock of a switch's port if no followed packet waits there any more.
    fn stop_unless_awaited(&mut self, switch: usize, port: PortId) {
        if self.ports.at(switch, port).queues.is_empty() {
            self.ports.stop(switch, port);
        }
    }

    /// Advances the clock of a port that sends, if it runs.
    #[inline(never)]
    pub(super) fn departed_past(&mut self, switch: usize, port: PortId, sent: Transmission) {
        if !self.ports.runs(switch, port) {
            return;
        }
        if !self.rules[switch].steady {
            self.recheck(switch, Recheck { port, queue: None, by_frame: false });
        }
        let class = self.class_or_first(sent.flow());
        let Port { queues, clock, .. } = self.ports.at_mut(switch, port);
        let (last, span) = clock.advance(sent, class);
        if let Some(queue) = last.queue()
            && self.followed.has(last.flow())
        {
            queues.add_own(last.flow(), queue, span);
        }
    }

    /// Drops the trace of a dropped packet of a followed flow, wherever the packet was.
    #[inline(never)]
    pub(super) fn followed_dropped(&mut self, node: usize, packet: Label, reason: DropReason) {
        if reason == DropReason::Nic || !self.followed.may_complete(packet) {
            return;
        }
        if node == usize::from(packet.src) {
            // The packet was sent just now, onto a link that lost it.
            return self.ports.at_mut(node, 0).link.drop_last(packet);
        }
        let ports = 0..self.ports.of(node).len() as PortId;
        if matches!(reason, DropReason::NotEct | DropReason::LinkDown | DropReason::LinkLoss) {
            for port in ports.clone() {
                if let Some(at) = self.ports.at(node, port).queues.find(packet) {
                    self.ports.at_mut(node, port).queues.remove(at);
                    return self.stop_unless_awaited(node, port);
                }
            }
        }
        // The packet arrived and was not admitted.
        for port in ports {
            let (peer, port) = self.ports.at(node, port).peer;
            if self.ports.at_mut(peer, port).link.take(packet).is_some() {
                return;
            }
        }
    }

    /// Notes a neighbour's frame, before the node obeys it.
    pub(crate) fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        match self.is_host(node) {
            true => self.host_controlled(now, node, frame),
            false => self.recheck(node, Recheck { port, queue: queue_of(frame), by_frame: true }),
        }
        let from = self.ports.at(node, port).peer;
        self.causes.received((node, port), from, frame);
    }

    /// Ends all pauses of a switch's port, whose link failed or recovered.
    pub(super) fn link_changed(&mut self, switch: usize, port: PortId) {
        self.recheck(switch, Recheck { port, queue: None, by_frame: true });
        self.causes.released(switch, port);
    }

    /// Notes that a timer of a node runs.
    pub(super) fn woke(&mut self, node: usize, timer: Timer) {
        match (self.is_host(node), timer) {
            (true, _) if self.sources[node].is_empty() => (),
            (true, Timer::Pace) => self.concern.heard = true,
            (true, Timer::Any) => self.concern.add_all(),
            (false, Timer::Pace | Timer::Any) => {
                let all = 0..self.ports.of(node).len() as PortId;
                all.for_each(|port| self.recheck(node, Recheck { port, queue: None, by_frame: true }));
            }
        }
    }

    /// Takes a followed packet off the link that ends at port `to`, with its time on the link accounted for.
    fn land(&mut self, now: Instant, to: (usize, PortId), packet: Label) -> Option<PathTrace> {
        let from = self.ports.at(to.0, to.1).peer;
        let in_host = self.is_host(to.0);
        let Port { link, clock, .. } = self.ports.at_mut(from.0, from.1);
        let mut trace = link.take(packet)?;
        let transmission = clock.ser().of_bytes(packet.wire.into());
        // A switch has no delay besides the link's.
        let delay = if in_host { link.delay } else { Duration(u64::MAX) };
        trace.land(now, (transmission, delay), from, to);
        Some(trace)
    }
}

/// Pauses of followed packets at switches.
impl Breakdown {
    /// Marks a port for a look after the current event, if followed packets wait there.
    #[inline]
    fn recheck(&mut self, switch: usize, recheck: Recheck) {
        if self.ports.runs(switch, recheck.port) {
            self.rechecks.add(recheck);
        }
    }

    /// Whether the current event may have begun or ended pauses.
    #[inline(always)]
    pub(super) fn may_be_held(&self) -> bool {
        self.rechecks.some()
    }

    /// Asserts that the noted pauses are those in force.
    pub(super) fn check_held(&self, switch: usize, plane: &dyn Readings) {
        let HoldRule { steady, by_queue } = self.rules[switch];
        for (port, Port { queues, .. }) in (0..).zip(self.ports.of(switch)) {
            for trace in queues.iter() {
                let holds = plane.is_held(port, trace.queue, trace.name);
                let noted = trace.paused_by().is_some();
                assert!(!(steady || by_queue) || holds == noted, "{:?} at port {port} of {switch}", trace.name);
            }
        }
    }

    /// Looks at the ports of this switch where the current event may have begun or ended pauses.
    #[inline(never)]
    pub(super) fn hold(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        if let Some(port) = self.rechecks.begin()
            && let Some(last) = self.ports.at(switch, port).queues.len().checked_sub(1)
        {
            self.hold_one(now, switch, port, last, true, plane);
        }
        while let Some(Recheck { port, queue, by_frame }) = self.rechecks.pop() {
            match self.rules[switch].by_queue && !by_frame {
                true => self.hold_queues(now, switch, port, plane),
                false => self.hold_all(now, switch, port, queue, by_frame, plane),
            }
        }
    }

    /// Looks at each packet at a port, or in one queue of it.
    fn hold_all(
        &mut self,
        now: Instant,
        switch: usize,
        port: PortId,
        queue: Option<QueueId>,
        by_frame: bool,
        plane: &dyn Readings,
    ) {
        for at in 0..self.ports.at(switch, port).queues.len() {
            if queue.is_none_or(|queue| self.ports.at(switch, port).queues.at(at).queue == queue) {
                self.hold_one(now, switch, port, at, by_frame, plane);
            }
        }
    }

    /// Looks at each queue in which followed packets wait, and at the packets of the few queues whose hold has changed.
    fn hold_queues(&mut self, now: Instant, switch: usize, port: PortId, plane: &dyn Readings) {
        for queue in self.ports.at(switch, port).clock.counted() {
            let holds = plane.is_held(port, queue, FlowName::default());
            if self.ports.at_mut(switch, port).queues.now_held(queue, holds) {
                self.hold_all(now, switch, port, Some(queue), false, plane);
            }
        }
    }

    /// Begins or ends the pause of one packet, or changes its cause, by the present state of the switch.
    fn hold_one(&mut self, now: Instant, switch: usize, port: PortId, at: usize, by_frame: bool, plane: &dyn Readings) {
        let queues = &mut self.ports.at_mut(switch, port).queues;
        let trace = queues.at(at);
        let (queue, name, noted) = (trace.queue, trace.name, trace.paused_by());
        let holds = plane.is_held(port, queue, name);
        queues.now_held(queue, holds);
        if holds == noted.is_some() && !(by_frame && holds) {
            return;
        }
        let cause = holds.then(|| self.causes.of(switch, port, queue, name.flow));
        if cause != noted {
            self.resume(now, switch, port, at);
            if let Some(cause) = cause {
                let Port { queues, clock, .. } = self.ports.at_mut(switch, port);
                queues.pause(at, clock, now, cause);
            }
        }
    }

    /// Ends the pause of one packet, if there is one, and accounts for it.
    fn resume(&mut self, now: Instant, switch: usize, port: PortId, at: usize) {
        let Port { queues, clock, .. } = self.ports.at_mut(switch, port);
        let Some((cause, span)) = queues.resume(at, clock, now) else { return };
        let paused = Wait { span, ..queues.at(at).part((switch, port), Why::Paused) };
        let paused = self.paused(cause, paused);
        self.ports.at_mut(switch, port).queues.at_mut(at).parts.add(paused);
    }
}

/// Queue that a frame holds or releases, if it names one queue.
fn queue_of(frame: ControlFrame) -> Option<QueueId> {
    match frame.effect() {
        Effect::Set { target: Target::Queue(queue), .. } => Some(queue),
        Effect::Set { target: Target::Flow(_) | Target::Class(_), .. } => None,
        Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => None,
    }
}
