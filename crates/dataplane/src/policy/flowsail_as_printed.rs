//! FlowSail's published pseudo-code to the letter, for the experiment that shows its faults.
//!
//! Source: Algorithms 1 to 3 of Li et al., 2024; spec F.9 lists the faulty lines. The printed code stops isolation
//! queues for ever, lets packets of paused flows depart, and repeats PAUSE for packets that need none. For the
//! corrected scheme see [`crate::policy::flowsail`].

use crate::backpressure::PausedPorts;
use crate::buffer::cells::Cells;
use crate::flow_table::NONE;
use crate::meta::{Assigned, Choice, Meta};
use crate::policy::flowsail::FlowSailParams;
use crate::policy::{Outgoing, Policy};
use crate::port::Ports;
use crate::queues::bits::Bits;
use crate::queues::{PausableQueues, Queues};
use crate::shape::Shape;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use backwater_types::hash::{self, Stream};
use backwater_types::{ControlFrame, Effect, Extension, FlowName, Instant, Packet, PortId, QueueId, Target};

/// Isolation queue of every port.
const ISOLATION: QueueId = 0;

/// State of one switch.
#[derive(Clone, Debug)]
pub struct FlowSailAsPrinted {
    /// Normal flow table. The printed key has no egress port; a flow has one egress here, so none is missed.
    normal: BTreeMap<u32, Normal>,
    /// Congested flow table.
    congested: BTreeMap<u32, Congested>,
    /// `[port x queue]`: counters of each queue.
    queues: Vec<QueueState>,
    /// `[port]`: the flow whose order mark the isolation queue waits for.
    waiting: Vec<Option<u32>>,
    /// Ports paused by PFC.
    paused: PausedPorts,
    rotors: Vec<usize>,
    assigned: Vec<Assigned>,
    /// `[port]`: one-hop bandwidth-delay product, bytes.
    hop: Vec<f64>,
    ql: f64,
    qh: f64,
    count: u16,
}

#[derive(Clone, Copy, Debug, Default)]
struct Normal {
    queue: QueueId,
    size: u32,
    flagged: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Congested {
    size: u32,
    paused: bool,
    flagged: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct QueueState {
    /// `flowNum`. Algorithm 1 never increments it for the isolation queue.
    flows: u16,
    /// `cfNum`: incremented by every PAUSE frame, decremented by every RESUME.
    holds: i32,
    /// Whether Algorithm 3 has paused the original queue, by its uncounted pause action.
    stopped: bool,
}

impl FlowSailAsPrinted {
    fn at(&self, port: PortId, queue: QueueId) -> usize {
        port as usize * self.count as usize + queue as usize
    }

    /// Opens or closes a queue by its state, and consumes the marks at its head while it is open.
    fn settle<const W: usize>(
        &mut self,
        port: PortId,
        queue: QueueId,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        loop {
            let state = &self.queues[self.at(port, queue)];
            let closed = state.holds > 0 || state.stopped;
            queues.set_closed(queue, closed);
            if closed {
                return;
            }
            let Some(flow) = queues.take_mark(cells, queue) else { return };
            let waits = self.waiting[port as usize] == Some(flow);
            let isolation = self.at(port, ISOLATION);
            if queue == ISOLATION {
                // Algorithm 2, line 5. This condition differs from "the twin is still queued".
                if self.normal.get(&flow).is_some_and(|flow| flow.size != 0) {
                    self.waiting[port as usize] = Some(flow);
                    self.queues[isolation].holds += 1;
                }
            } else if waits {
                self.waiting[port as usize] = None;
                self.queues[isolation].holds -= 1;
                self.settle(port, ISOLATION, queues, cells);
            }
        }
    }

    fn pause<const W: usize>(
        &mut self,
        port: PortId,
        flow: u32,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        let isolation = self.at(port, ISOLATION);
        self.queues[isolation].holds += 1;
        queues.set_closed(ISOLATION, true);
        if let Some(known) = self.congested.get_mut(&flow) {
            known.paused = true;
            return;
        }
        self.congested.insert(flow, Congested { paused: true, ..Congested::default() });
        if let Some(old) = self.normal.get(&flow).copied().filter(|old| old.size > 0) {
            let at = self.at(port, old.queue);
            self.queues[at].stopped = true;
            queues.set_closed(old.queue, true);
            queues.push_mark(cells, ISOLATION, flow);
            queues.push_mark(cells, old.queue, flow);
        }
    }

    fn resume<const W: usize>(
        &mut self,
        port: PortId,
        flow: u32,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        let isolation = self.at(port, ISOLATION);
        self.queues[isolation].holds -= 1;
        if let Some(old) = self.normal.get(&flow).copied().filter(|old| old.size > 0) {
            let at = self.at(port, old.queue);
            self.queues[at].stopped = false;
            self.settle(port, old.queue, queues, cells);
        }
        self.settle(port, ISOLATION, queues, cells);
        if let Some(known) = self.congested.get_mut(&flow) {
            known.paused = false;
            if known.size == 0 {
                self.congested.remove(&flow);
            }
        }
    }
}

impl Policy for FlowSailAsPrinted {
    type Queues = PausableQueues<2>;
    type Params = FlowSailParams;

    fn new(params: &FlowSailParams, shape: &Shape) -> FlowSailAsPrinted {
        let ports = shape.ports.len();
        FlowSailAsPrinted {
            normal: BTreeMap::new(),
            congested: BTreeMap::new(),
            queues: vec![QueueState::default(); ports * shape.queues as usize],
            waiting: vec![None; ports],
            paused: PausedPorts::default(),
            rotors: vec![0; ports],
            assigned: vec![Assigned::default(); ports],
            hop: shape.ports.iter().map(|port| shape.hrtt().bytes_at(port.rate).0 as f64).collect(),
            ql: params.ql,
            qh: params.qh,
            count: shape.queues,
        }
    }

    fn choose(
        &self,
        _now: Instant,
        packet: &Packet,
        _ingress: PortId,
        port: PortId,
        queues: &PausableQueues<2>,
        rng: &mut Stream,
    ) -> Choice {
        let tag = packet.flow;
        if self.congested.contains_key(&tag) {
            return Choice { queue: ISOLATION, tag, fresh: false };
        }
        if let Some(known) = self.normal.get(&tag).filter(|known| known.size > 0) {
            return Choice { queue: known.queue, tag, fresh: false };
        }
        let normal = Bits::below(self.count as usize).minus(&Bits::below(1));
        let empty = normal.minus(&normal.minus(&queues.empty()));
        let queue = match empty.next_from(self.rotors[port as usize]) {
            Some(queue) => queue as QueueId,
            None => 1 + hash::range32(rng.next_u32(), self.count as u32 - 1) as QueueId,
        };
        Choice { queue, tag, fresh: true }
    }

    fn on_enqueue(
        &mut self,
        _now: Instant,
        packet: &Packet,
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &PausableQueues<2>,
    ) -> Option<Outgoing> {
        held.tag = choice.tag;
        let (queue, wire, at) = (choice.queue, packet.wire as u32, self.at(port, choice.queue));
        let before = queues.bytes(queue);
        if choice.fresh {
            self.rotors[port as usize] = if queue + 1 == self.count { 0 } else { queue as usize + 1 };
            self.assigned[port as usize].assignments += 1;
            self.assigned[port as usize].collisions += (before > 0) as u64;
            self.queues[at].flows += 1;
            self.normal.entry(choice.tag).or_default().queue = queue;
        }
        let mine = match queue {
            ISOLATION => &mut self.congested.entry(choice.tag).or_default().size,
            _ => &mut self.normal.entry(choice.tag).or_default().size,
        };
        *mine += wire;
        let active = queues.active_with(queue).max(1) as f64;
        let hop = self.hop[port as usize] / active;
        let share = (before + wire as u64)
            >> u32::from(self.queues[at].flows.saturating_sub(1)).checked_ilog2().map_or(0, |log| log + 1);
        let flags = before as f64 > self.qh * hop || (before as f64 > self.ql * hop && *mine as u64 > share);
        held.counted = flags;
        let flagged = match queue {
            ISOLATION => self.congested.get_mut(&choice.tag).map(|known| &mut known.flagged),
            _ => self.normal.get_mut(&choice.tag).map(|known| &mut known.flagged),
        }?;
        *flagged += flags as u32;
        // Algorithm 1, line 27 stands outside the branch: it sends a PAUSE for every packet while the count is one.
        let name = packet.flow_name();
        (*flagged == 1).then_some((held.ingress as PortId, ControlFrame::PauseFlow(name)))
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        let (flow, wire, at) = (held.tag, packet.wire as u32, self.at(port, queue));
        let name = FlowName { flow, ..packet.flow_name() };
        let resume = Some((held.ingress as PortId, ControlFrame::ResumeFlow(name)));
        if queue == ISOLATION {
            let known = self.congested.get_mut(&flow)?;
            known.size -= wire;
            known.flagged -= held.counted as u32;
            let clear = known.flagged == 0;
            // Algorithm 2, lines 14 to 17 are nested under this condition: a flow whose last packet was not flagged is
            // never released.
            if held.counted && clear && known.size == 0 {
                self.queues[at].flows = self.queues[at].flows.saturating_sub(1);
                if !known.paused {
                    self.congested.remove(&flow);
                }
            }
            return if held.counted && clear { resume } else { None };
        }
        let known = self.normal.get_mut(&flow)?;
        known.size -= wire;
        known.flagged -= held.counted as u32;
        let clear = held.counted && known.flagged == 0;
        if known.size == 0 {
            self.queues[at].flows -= 1;
            if known.flagged == 0 {
                self.normal.remove(&flow);
            }
        }
        if clear { resume } else { None }
    }

    fn on_gone(
        &mut self,
        port: PortId,
        queue: QueueId,
        queues: &mut PausableQueues<2>,
        cells: &mut Cells<impl Extension>,
    ) {
        self.settle(port, queue, queues, cells);
    }

    fn passes(&self, _ingress: PortId, _packet: &Packet) -> bool {
        false
    }

    fn on_pass(&mut self, _: Instant, _: &Packet, _: &Meta, _: PortId, _: Choice, _: &PausableQueues<2>) {}

    fn on_control(
        &mut self,
        _now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut PausableQueues<2>,
        cells: &mut Cells<impl Extension>,
    ) {
        match frame.effect() {
            Effect::Set { target: Target::Flow(name), holds: true } => self.pause(port, name.flow, queues, cells),
            Effect::Set { target: Target::Flow(name), holds: false } => self.resume(port, name.flow, queues, cells),
            Effect::Set { .. } | Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => {
                self.paused.obey(port, frame)
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, _packet: &Packet, _ingress: PortId, _port: PortId) -> u32 {
        0
    }

    #[inline(always)]
    fn lets_pass(&self, _choice: Choice) -> bool {
        true
    }

    fn record_of(&self, _port: PortId, _flow: FlowName) -> u32 {
        NONE
    }

    fn may_send(&self, port: PortId) -> bool {
        self.paused.may_send(port)
    }

    /// Keeps pauses of flows across a link failure: the printed pseudo-code has no failure handling.
    fn on_link_down(&mut self, _now: Instant, port: PortId, _ports: &mut Ports<'_, PausableQueues<2>, impl Extension>) {
        self.paused.release(port);
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.assigned[port as usize]
    }

    fn isolated_flows(&self) -> u32 {
        self.congested.len() as u32
    }
}
