//! Pauses of single flows by name, the ideal that BFC and FlowSail approximate with few queues.
//!
//! Sources: [`IdealFlowControl`], a queue for every flow: spec D, "Ideal FC", the reference of FlowSail's section VI-A.
//! [`BfcByFlow`], the "ideal but impractical" variant of BFC's section 3.3.2: spec B.2. It has BFC's queues and
//! threshold, but frames name flows, and a queue serves its first packet whose flow is not paused.
//!
//! ```text
//! on enqueue:  if the queue held more than Th before this packet, and the packet is not its flow's last:
//!                  flagged[flow] += 1; on 0 -> 1 send PAUSE(flow)
//! on dequeue:  if flagged: flagged[flow] -= 1; on 1 -> 0 send RESUME(flow)
//! Th = HRTT x rate / (8 x max(1, queues with a packet that may leave))
//! ```
//!
//! After a link failure a flow may arrive by another port: it is then paused there, and the old pause lapses. There is
//! no sticky time: a returning flow is found by its name, not by its queue.

use crate::backpressure::PausedPorts;
use crate::buffer::cells::Cells;
use crate::flow_table::{FlowTable, LAPSE, NONE, Slot, state};
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::policy::{Outgoing, Policy};
use crate::port::Ports;
use crate::queues::by_record::PausableByFlow;
use crate::queues::record_queues::RecordQueues;
use crate::queues::skipping_queues::SkippingQueues;
use crate::shape::Shape;
use crate::ticks::ticks;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::hash::Stream;
use backwater_types::{
    ControlFrame, Duration, Effect, Extension, FlowName, Instant, Packet, PortId, QueueId, Target, flags,
};
use core::marker::PhantomData;

/// Parameters of [`PauseByFlow`].
#[derive(Clone, Debug)]
pub struct PauseByFlowParams {
    /// Threshold, in one-hop bandwidth-delay products over active queues.
    pub threshold: f64,
    /// A flow's last packet is flagged like the others (BFC-A29). The flow is then paused without need, which does no
    /// harm.
    pub count_last: bool,
    /// Period in which pauses are repeated; a pause not repeated for three periods lapses. Zero: pauses are neither
    /// repeated nor do they lapse.
    pub refresh: Duration,
}

/// Ideal flow control: a queue for every flow.
pub type IdealFlowControl = PauseByFlow<RecordQueues>;
/// BFC with pauses of flows in place of queues.
pub type BfcByFlow = PauseByFlow<SkippingQueues>;

/// State of one switch.
#[derive(Clone, Debug)]
pub struct PauseByFlow<Q> {
    table: FlowTable,
    /// `[port]`: threshold with one active queue, bytes.
    thresholds: Vec<u64>,
    /// Packet flags that exempt a packet from being flagged.
    exempt: u8,
    /// `[port]`: flows with packets.
    active_flows: Vec<u32>,
    assigned: Vec<Assigned>,
    refresh: Duration,
    next: Instant,
    /// Ports paused by PFC.
    paused: PausedPorts,
    queues: PhantomData<Q>,
}

impl<Q: PausableByFlow> PauseByFlow<Q> {
    /// Flow records, for checks.
    pub fn table(&self) -> &FlowTable {
        &self.table
    }

    fn add_to_refresh(&mut self, now: Instant, slot: Slot) {
        if self.refresh > Duration::ZERO {
            self.table.add_to_refresh(slot);
            if self.next == Instant::NEVER {
                self.next = now + self.refresh;
            }
        }
    }

    /// Drops the record from the refresh list if it has no pause to repeat or to end, and removes it once it is spent.
    fn settle(&mut self, slot: Slot) {
        let record = &self.table[slot];
        if record.flagged == 0 && !record.is(state::PAUSED) {
            self.table.remove_from_refresh(slot);
        }
        if self.table[slot].is_spent() {
            self.table.remove(slot);
        }
    }

    fn resume(&mut self, slot: Slot, queues: &mut Q) {
        queues.set_closed(slot, false);
        self.table[slot].clear(state::PAUSED);
        self.settle(slot);
    }
}

impl<Q: PausableByFlow> Policy for PauseByFlow<Q> {
    type Queues = Q;
    type Params = PauseByFlowParams;

    fn new(params: &PauseByFlowParams, shape: &Shape) -> PauseByFlow<Q> {
        let ports = shape.ports.len();
        let threshold = |rate| (params.threshold * shape.hrtt().bytes_at(rate).0 as f64) as u64;
        PauseByFlow {
            table: FlowTable::new(None, 32, ports, shape.salt),
            thresholds: shape.ports.iter().map(|port| threshold(port.rate)).collect(),
            exempt: if params.count_last { 0 } else { flags::LAST },
            active_flows: vec![0; ports],
            assigned: vec![Assigned::default(); ports],
            refresh: params.refresh,
            next: Instant::NEVER,
            paused: PausedPorts::default(),
            queues: PhantomData,
        }
    }

    fn choose(
        &self,
        _now: Instant,
        packet: &Packet,
        _ingress: PortId,
        port: PortId,
        queues: &Q,
        rng: &mut Stream,
    ) -> Choice {
        let tag = self.table.find(port, packet.flow_name()).unwrap_or(NONE);
        if tag != NONE && self.table[tag].normal > 0 {
            return Choice { queue: self.table[tag].normal_queue(), tag, fresh: false };
        }
        Choice { queue: queues.assign(rng), tag, fresh: true }
    }

    fn record_of(&self, port: PortId, flow: FlowName) -> u32 {
        self.table.find(port, flow).unwrap_or(NONE)
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &Q,
    ) -> Option<Outgoing> {
        if choice.tag == NONE {
            choice.tag = self.table.insert(port, packet.flow_name(), |_| false).expect("the table grows");
        }
        let slot = choice.tag;
        held.tag = slot;
        let record = &mut self.table[slot];
        record.normal += packet.wire as u32;
        let before = queues.length(choice.queue, slot);
        if choice.fresh {
            record.queue = choice.queue as u8;
            self.active_flows[port as usize] += 1;
            self.assigned[port as usize].assignments += 1;
            self.assigned[port as usize].collisions += (before > 0) as u64;
        }
        let active = queues.active_with_flow(choice.queue, slot).max(1);
        let above = before > 0 && before > self.thresholds[port as usize] / active as u64;
        if !above || packet.flags & self.exempt != 0 {
            return None;
        }
        held.counted = true;
        record.flagged += 1;
        if record.flagged > 1 && record.ingress == held.ingress {
            return None;
        }
        record.ingress = held.ingress;
        self.add_to_refresh(now, slot);
        Some((held.ingress as PortId, ControlFrame::PauseFlow(packet.flow_name())))
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        _queue: QueueId,
    ) -> Option<Outgoing> {
        let record = &mut self.table[held.tag];
        record.normal -= packet.wire as u32;
        self.active_flows[port as usize] -= (record.normal == 0) as u32;
        record.flagged -= held.counted as u32;
        let resumes = held.counted && record.flagged == 0;
        let outgoing = (record.ingress as PortId, ControlFrame::ResumeFlow(record.name()));
        if resumes || record.normal == 0 {
            self.settle(held.tag);
        }
        resumes.then_some(outgoing)
    }

    fn on_pass(&mut self, _: Instant, _: &Packet, _: &Meta, port: PortId, _: Choice, _: &Q) {
        self.assigned[port as usize].assignments += 1;
    }

    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut Q,
        _cells: &mut Cells<impl Extension>,
    ) {
        match frame.effect() {
            Effect::Set { target: Target::Flow(name), holds: true } => {
                let slot = self.table.find(port, name).or_else(|| self.table.insert(port, name, |_| false));
                let slot = slot.expect("the table grows");
                let record = &mut self.table[slot];
                record.signalled_at = ticks(now);
                record.set(state::PAUSED);
                queues.set_closed(slot, true);
                self.add_to_refresh(now, slot);
            }
            Effect::Set { target: Target::Flow(name), holds: false } => {
                if let Some(slot) = self.table.find(port, name) {
                    self.resume(slot, queues);
                }
            }
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

    fn may_send(&self, port: PortId) -> bool {
        self.paused.may_send(port)
    }

    fn next_timer(&self) -> Instant {
        self.next
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, Q, impl Extension>) {
        let lapse = ticks(Instant(LAPSE * self.refresh.0));
        let mut slot = self.table.first_to_refresh();
        while slot != NONE {
            let next = self.table.next_to_refresh(slot);
            let record = self.table[slot];
            if record.flagged > 0 {
                ports.send(record.ingress as PortId, ControlFrame::PauseFlow(record.name()));
            }
            if record.is(state::PAUSED) && ticks(now).wrapping_sub(record.signalled_at) > lapse {
                self.resume(slot, ports.open(record.port()).0);
            }
            slot = next;
        }
        self.next = if self.table.first_to_refresh() == NONE { Instant::NEVER } else { now + self.refresh };
    }

    fn on_link_down(&mut self, _now: Instant, port: PortId, ports: &mut Ports<'_, Q, impl Extension>) {
        self.paused.release(port);
        let paused = self.table.iter().filter(|(_, record)| record.port() == port && record.is(state::PAUSED));
        let paused: Vec<Slot> = paused.map(|(slot, _)| slot).collect();
        let queues = ports.open(port).0;
        paused.into_iter().for_each(|slot| self.resume(slot, queues));
    }

    fn on_link_up(&mut self, _now: Instant, port: PortId, ports: &mut Ports<'_, Q, impl Extension>) {
        for (_, record) in self.table.iter().filter(|(_, r)| r.flagged > 0 && r.ingress as PortId == port) {
            ports.send(port, ControlFrame::PauseFlow(record.name()));
        }
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        Some(self.active_flows[port as usize])
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.assigned[port as usize]
    }

    fn audit(&self, residents: &[Resident], queues: &[&Q]) -> Result<(), String> {
        let mut held: BTreeMap<Slot, (u32, u32)> = BTreeMap::new();
        for r in residents {
            let (bytes, flagged) = held.entry(r.held.tag).or_default();
            *bytes += r.packet.wire as u32;
            *flagged += r.held.counted as u32;
        }
        let mut active = vec![0; self.active_flows.len()];
        for (slot, record) in self.table.iter() {
            let found = held.remove(&slot).unwrap_or_default();
            if (record.normal, record.flagged) != found {
                return Err(format!(
                    "record {slot} has other bytes or flags than the {found:?} found in its queue: {record:?}"
                ));
            }
            if record.is_spent() {
                return Err(format!("record {slot} is spent and was not removed: {record:?}"));
            }
            let port = record.port() as usize;
            if queues[port].is_closed(slot) != record.is(state::PAUSED) {
                return Err(format!(
                    "the queue of record {slot} disagrees with it on whether the flow is paused: {record:?}"
                ));
            }
            active[port] += (record.normal > 0) as u32;
        }
        match held.keys().next() {
            Some(slot) => Err(format!("queues hold packets of record {slot}, which is free")),
            None if active != self.active_flows => {
                Err(format!("active flows are counted as {:?}, queues hold {active:?}", self.active_flows))
            }
            None => Ok(()),
        }
    }
}
