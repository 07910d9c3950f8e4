//! FlowSail: flows are paused by name, and a paused flow is moved to an isolation queue of its egress port.
//!
//! Source: spec F; Li et al., "FlowSail", IEEE/ACM Transactions on Networking 2024, sections III to V.
//!
//! ```text
//! on enqueue:  to the isolation queue if the flow is congested, else to its normal queue; L bytes were there before
//!              flag if L > Qh, or L > Ql and the flow is alone in the queue or holds more than its fair share of it;
//!              flagged += 1; on 0 -> 1 send PAUSE(flow)
//! on dequeue:  if flagged: flagged -= 1; on 1 -> 0 send RESUME(flow)
//! PAUSE(f):    f is congested and paused; hold f's normal queue while it has old packets of f.
//!              If it has, an order mark is put behind them and another in front of f's new packets
//! RESUME(f):   f is paused no more; let its normal queue go
//! the isolation queue waits while the flow of its first packet or mark is paused
//! mark in the isolation queue: hold it until the twin in the normal queue has come through
//! f is released: not paused, nothing isolated, no marks, and its RESUME more than two HRTT ago
//! Ql = HRTT x rate / (8 x queues with data and not paused), Qh = 3 Ql, fair share = queue / 2^ceil(log2 flows)
//! ```
//!
//! By the letter of section IV-C an isolation queue waits while any of its flows is paused (`hold_by_head` unset). At 6
//! % of incast nearly every uplink has such a flow, the queue hardly ever runs, and the network collapses, which the
//! paper's figures do not show. Section VII names waiting for order marks as the blocking among congested flows: this
//! is the blocking of a FIFO (FS-A1).
//!
//! By the text the two HRTT count from the flow's last enqueue or dequeue (`release_from`), so a flow that keeps
//! sending is never released. By Algorithm 2 a flow is released at a dequeue, when its last dequeue was just now.
//! Counting from the RESUME satisfies both: a flow that stays resumed gets a normal queue again, and a flow that is
//! paused over and over does not change queues each time.
//!
//! Beyond the paper, `residue = "drain"`: a normal queue is not held for the old packets of a paused flow, so the other
//! flows of that queue do not wait with them. Only isolation queues are ever paused then.
//!
//! Differs from the printed pseudo-code as FS-A1 to A17 say. Frames may be lost, for which the paper has no remedy:
//! pauses in force are repeated every refresh period, and one not repeated for three periods lapses.
//!
//! If the table is full a flow has no record. Its packets take a queue chosen by a hash and are never flagged, and a
//! PAUSE for it is ignored until the next repetition. While such packets are in a queue, any flow whose hash names that
//! queue is assumed to have packets there, so order holds when the flow gets a record.

mod audit;
mod canonical;
mod isolation;
mod layout;
mod params;
mod sketch;

pub use params::{FlowSailParams, Hold, ReleaseFrom, Residue, SketchParams};

use crate::backpressure::PausedPorts;
use crate::buffer::cells::Cells;
use crate::elide::ElidedTurns;
use crate::flow_table::{FlowTable, NONE, Record, Slot, state};
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::policy::flowsail::layout::Layout;
use crate::policy::flowsail::sketch::Sketch;
use crate::policy::{Outgoing, Policy};
use crate::port::Ports;
use crate::queues::bits::Bits;
use crate::queues::{PausableQueues, Queues};
use crate::shape::Shape;
use crate::ticks::ticks;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use backwater_types::hash::{self, Stream};
use backwater_types::{
    ControlFrame, Duration, Effect, Extension, FlowName, Instant, Packet, PortId, QueueId, Target, flags,
};

/// State of one switch.
#[derive(Clone, Debug)]
pub struct FlowSail<const W: usize> {
    table: FlowTable,
    /// `[port x queue]`: counters of each queue.
    queues: Vec<QueueState>,
    /// `[port]`: counters of each port.
    ports: Vec<PortState>,
    /// Ports paused by PFC.
    paused: PausedPorts,
    /// `[port x active queues]`: `[Ql, Qh]`, bytes.
    thresholds: Vec<[u32; 2]>,
    layout: Layout,
    release: Release,
    lapse: u32,
    period: Duration,
    repeats: bool,
    next: Instant,
    hold_by_head: bool,
    drains: bool,
    /// Packet flags that exempt a packet from being flagged.
    exempt: u8,
    nactive_literal: bool,
    strict_fair: bool,
    weights: Vec<u32>,
    sketch: Option<Sketch>,
    elided: ElidedTurns,
    isolated: u32,
    /// Number of order marks in the queues.
    marks: u32,
    salt: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct QueueState {
    /// Flows with packets in the queue (`flowNum`).
    flows: u16,
    /// Reasons why the queue may not send (`cfNum`).
    holds: u16,
    /// Packets in the queue of flows without a record.
    untracked: u32,
    /// Sum of the weights of the flows in the queue.
    weight: u32,
    /// Isolation queues only: the record whose order mark the queue waits for (`OM_waiting`).
    waiting: Slot,
}

#[derive(Clone, Copy, Debug, Default)]
struct PortState {
    /// Packets of flows without a record.
    untracked: u32,
    /// Start of the search for an empty queue.
    rotor: usize,
    /// Flows with packets at this port.
    active_flows: u32,
    assigned: Assigned,
}

/// Rule for the release of a congested flow.
#[derive(Clone, Copy, Debug)]
struct Release {
    /// Time after which a flow is released, in ticks.
    after: u32,
    /// Whether the time counts from the last enqueue or dequeue, not from the RESUME.
    from_touch: bool,
}

impl Release {
    /// Whether a flow is due for release (F.7): resumed for long enough, with nothing isolated and no order marks. Its
    /// last packets in a normal queue have then departed too, because a mark follows them.
    #[inline(always)]
    fn is_due(&self, record: &Record, now: Instant) -> bool {
        let since = if self.from_touch { record.touched } else { record.signalled_at };
        record.is(state::CONGESTED)
            && !record.is(state::PAUSED | state::MARK_NORMAL | state::MARK_ISOLATED)
            && record.isolated == 0
            && ticks(now).wrapping_sub(since) > self.after
    }
}

impl<const W: usize> FlowSail<W> {
    /// Flow records, for checks.
    pub fn table(&self) -> &FlowTable {
        &self.table
    }

    #[inline(always)]
    fn at(&self, port: PortId, queue: QueueId) -> usize {
        port as usize * self.layout.queues as usize + queue as usize
    }

    /// Normal queue of a flow without a record: the same for all flows with this hash.
    fn hashed_queue(&self, class: u8, flow: u32) -> QueueId {
        let layout = &self.layout;
        let first = layout.group(class) * layout.per_group + layout.isolation;
        let hash = hash::salted(self.table.fingerprint(flow).wrapping_mul(0x9e37_79b1), self.salt);
        first + hash::range32(hash, (layout.per_group - layout.isolation) as u32) as u16
    }

    /// Whether the flow may have packets at this port that no record counts.
    #[inline(always)]
    fn may_have_untracked(&self, port: PortId, class: u8, flow: u32) -> bool {
        let at = |queue| &self.queues[self.at(port, queue)];
        self.ports[port as usize].untracked > 0 && at(self.hashed_queue(class, flow)).untracked > 0
    }

    /// Picks a queue for a flow that becomes active. A flow that may have packets without a record gets its hashed
    /// queue. Others get the first empty and open queue from the rotating start, else the first empty one, else a
    /// random one.
    fn pick_queue(&self, packet: &Packet, port: PortId, queues: &PausableQueues<W>, rng: &mut Stream) -> QueueId {
        if self.may_have_untracked(port, packet.class, packet.flow) {
            return self.hashed_queue(packet.class, packet.flow);
        }
        let normal: Bits<W> = self.layout.normal(self.layout.group(packet.class));
        let empty = normal.minus(&normal.minus(&queues.empty()));
        let rotor = self.ports[port as usize].rotor;
        if let Some(q) = empty.minus(&queues.closed()).next_from(rotor).or_else(|| empty.next_from(rotor)) {
            return q as QueueId;
        }
        let count = self.layout.per_group - self.layout.isolation;
        let first = self.layout.group(packet.class) * self.layout.per_group + self.layout.isolation;
        first + hash::range32(rng.next_u32(), count as u32) as QueueId
    }

    fn release(&mut self, slot: Slot) {
        let record = &mut self.table[slot];
        record.clear(state::CONGESTED);
        self.isolated -= 1;
        if record.flagged == 0 {
            self.table.remove_from_refresh(slot);
        }
        self.free_if_spent(slot);
    }

    #[inline(always)]
    fn free_if_spent(&mut self, slot: Slot) {
        if self.table[slot].is_spent() {
            self.table.remove(slot);
        }
    }

    /// Creates a record, if there is room. Evicted records are due for release but were not reached by the periodic
    /// sweep yet.
    fn new_record(&mut self, now: Instant, port: PortId, name: FlowName) -> Option<Slot> {
        let (before, release) = (self.table.used(), self.release);
        let slot = self.table.insert(port, name, |record| release.is_due(record, now))?;
        self.isolated -= before + 1 - self.table.used();
        self.table[slot].isolation = self.layout.isolation_queue(name.class, name.flow, self.salt) as u8;
        Some(slot)
    }

    #[inline(always)]
    fn weight(&self, class: u8) -> u32 {
        self.weights.get(class as usize).copied().unwrap_or(1)
    }

    /// Whether a flow with `mine` of the `length` bytes of a queue of `flows` flows holds more than its share.
    #[inline(always)]
    fn is_unfair(&self, mine: u64, length: u64, queue: &QueueState, class: u8) -> bool {
        let beyond = |mine: u64, share: u64| mine > share || (!self.strict_fair && mine == share);
        if !self.weights.is_empty() {
            return beyond(mine * queue.weight as u64, length * self.weight(class) as u64);
        }
        beyond(mine, length >> (queue.flows as u32 - 1).checked_ilog2().map_or(0, |log| log + 1))
    }

    #[inline(always)]
    fn add_to_refresh(&mut self, now: Instant, slot: Slot) {
        self.table.add_to_refresh(slot);
        if self.next == Instant::NEVER {
            self.next = now + self.period;
        }
    }
}

impl<const W: usize> Policy for FlowSail<W> {
    type Queues = PausableQueues<W>;
    type Params = FlowSailParams;

    fn new(params: &FlowSailParams, shape: &Shape) -> FlowSail<W> {
        let (ports, queues) = (shape.ports.len(), shape.queues as usize);
        let mut thresholds = Vec::with_capacity(ports * (queues + 1));
        for port in &shape.ports {
            let hop = shape.hrtt().bytes_at(port.rate).0 as f64;
            let at = |share: f64, active: usize| (share * hop / active.max(1) as f64) as u32;
            thresholds.extend((0..=queues).map(|active| [at(params.ql, active), at(params.qh, active)]));
        }
        let release = params.release.unwrap_or(Duration(2 * shape.hrtt().0));
        let repeats = params.refresh > Duration::ZERO;
        FlowSail {
            table: FlowTable::new(Some(params.table_entries), params.fingerprint_bits.into(), ports, shape.salt),
            queues: vec![QueueState { waiting: NONE, ..QueueState::default() }; ports * queues],
            ports: vec![PortState::default(); ports],
            paused: PausedPorts::default(),
            thresholds,
            layout: Layout {
                queues: shape.queues,
                per_group: shape.queues / shape.groups,
                isolation: params.isolation_queues,
            },
            release: Release {
                after: ticks(Instant(release.0)),
                from_touch: params.release_from == ReleaseFrom::Touch,
            },
            lapse: ticks(Instant(params.lapse().0)),
            period: if repeats { params.refresh } else { release.max(shape.hrtt()).max(Duration::from_ns(1)) },
            repeats,
            next: Instant::NEVER,
            nactive_literal: params.nactive_literal,
            hold_by_head: params.hold == Hold::Head,
            drains: params.residue == Residue::Drain,
            exempt: if params.count_last { 0 } else { flags::LAST },
            strict_fair: params.strict_fair,
            weights: params.weights.clone(),
            sketch: params.sketch.as_ref().map(|sketch| Sketch::new(ports, sketch.rows, sketch.columns)),
            elided: shape.elided.clone(),
            isolated: 0,
            marks: 0,
            // The salt differs from that of the routing hash.
            salt: hash::mix64(shape.salt ^ 0x6673_6169),
        }
    }

    /// Two order marks for each record.
    fn extra_cells(params: &FlowSailParams) -> usize {
        2 * params.table_entries as usize
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet, _ingress: PortId, _port: PortId) -> u32 {
        self.table.prefetch(packet.flow)
    }

    #[inline(always)]
    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        _ingress: PortId,
        port: PortId,
        queues: &PausableQueues<W>,
        rng: &mut Stream,
    ) -> Choice {
        let Some(slot) = self.table.find(port, packet.flow_name()) else {
            return Choice { queue: self.pick_queue(packet, port, queues, rng), tag: NONE, fresh: true };
        };
        let record = &self.table[slot];
        let queue = match () {
            () if record.is(state::CONGESTED) && !self.release.is_due(record, now) => record.isolation_queue(),
            () if record.normal > 0 => record.normal_queue(),
            () => return Choice { queue: self.pick_queue(packet, port, queues, rng), tag: slot, fresh: true },
        };
        Choice { queue, tag: slot, fresh: false }
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &PausableQueues<W>,
    ) -> Option<Outgoing> {
        if choice.tag == NONE {
            match self.new_record(now, port, packet.flow_name()) {
                Some(slot) => choice.tag = slot,
                None => {
                    choice.queue = self.hashed_queue(packet.class, packet.flow);
                    let at = self.at(port, choice.queue);
                    self.queues[at].untracked += 1;
                    self.ports[port as usize].untracked += 1;
                    held.tag = NONE;
                    return None;
                }
            }
        }
        let slot = choice.tag;
        held.tag = slot;
        let (wire, queue) = (packet.wire as u32, choice.queue);
        if choice.fresh {
            if self.table[slot].is(state::CONGESTED) {
                self.table[slot].clear(state::CONGESTED);
                self.isolated -= 1;
                self.table.remove_from_refresh(slot);
            }
            let port = &mut self.ports[port as usize];
            port.rotor = if queue + 1 == self.layout.queues { 0 } else { queue as usize + 1 };
            port.assigned.assignments += 1;
            port.assigned.collisions += (queues.bytes(queue) > 0) as u64;
            self.table[slot].queue = queue as u8;
        }
        let weight = if self.weights.is_empty() { 0 } else { self.weight(self.table[slot].class()) };
        let at = self.at(port, queue);
        let record = &mut self.table[slot];
        record.touched = ticks(now);
        let isolated = self.layout.is_isolation(queue);
        self.ports[port as usize].active_flows += (record.normal | record.isolated == 0) as u32;
        let mine = if isolated { &mut record.isolated } else { &mut record.normal };
        let joins = *mine == 0;
        *mine += wire;
        let mut mine = *mine as u64;
        let state = &mut self.queues[at];
        state.flows += joins as u16;
        state.weight += if joins { weight } else { 0 };
        if let Some(sketch) = &mut self.sketch {
            mine = sketch.add(port, packet.flow, isolated, wire);
        }
        let before = queues.bytes(queue);
        if before == 0 {
            return None;
        }
        let active = match self.nactive_literal {
            false => queues.active_with(queue),
            true => self.layout.queues as u32 - queues.closed().count(),
        };
        let [ql, qh] = self.thresholds[port as usize * (self.layout.queues as usize + 1) + active as usize];
        if before <= ql as u64 || packet.flags & self.exempt != 0 {
            return None;
        }
        let class = self.table[slot].class();
        let state = &self.queues[at];
        let is_flagged =
            before > qh as u64 || state.flows <= 1 || self.is_unfair(mine, before + wire as u64, state, class);
        let ingress = held.ingress as PortId;
        if !is_flagged || self.elided.contains(ingress, port) {
            return None;
        }
        held.counted = true;
        let record = &mut self.table[slot];
        record.flagged += 1;
        // After a link failure a flow may arrive by another port: it is then paused there, and the old pause lapses.
        if record.flagged > 1 && record.ingress as PortId == ingress {
            return None;
        }
        record.rename(packet.flow_name());
        record.ingress = ingress as u8;
        self.add_to_refresh(now, slot);
        Some((ingress, ControlFrame::PauseFlow(packet.flow_name())))
    }

    #[inline(always)]
    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        let at = self.at(port, queue);
        let slot = held.tag;
        if slot == NONE {
            self.queues[at].untracked -= 1;
            self.ports[port as usize].untracked -= 1;
            return None;
        }
        let isolated = self.layout.is_isolation(queue);
        let record = &mut self.table[slot];
        record.touched = ticks(now);
        let mine = if isolated { &mut record.isolated } else { &mut record.normal };
        *mine -= packet.wire as u32;
        if *mine == 0 {
            let class = record.class();
            self.ports[port as usize].active_flows -= (record.normal | record.isolated == 0) as u32;
            self.queues[at].flows -= 1;
            if !self.weights.is_empty() {
                self.queues[at].weight -= self.weight(class);
            }
        }
        if let Some(sketch) = &mut self.sketch {
            sketch.take(port, packet.flow, isolated, packet.wire as u32);
        }
        let record = &mut self.table[slot];
        let mut outgoing = None;
        if held.counted {
            record.flagged -= 1;
            if record.flagged == 0 {
                outgoing = Some((record.ingress as PortId, ControlFrame::ResumeFlow(record.name())));
                if !record.is(state::CONGESTED) {
                    self.table.remove_from_refresh(slot);
                }
            }
        }
        self.free_if_spent(slot);
        outgoing
    }

    #[inline(always)]
    fn on_joined(
        &mut self,
        port: PortId,
        queue: QueueId,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        // A packet behind another does not change the first packet of the queue.
        if self.hold_by_head && self.layout.is_isolation(queue) && queues.is_single(queue) {
            self.settle(port, queue, queues, cells);
        }
    }

    #[inline(always)]
    fn on_gone(
        &mut self,
        port: PortId,
        queue: QueueId,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        if self.marks > 0 || (self.hold_by_head && self.layout.is_isolation(queue)) {
            self.settle(port, queue, queues, cells);
        }
    }

    /// `NONE`: in an empty isolation queue the packet would be first, and wait if its flow is paused.
    fn record_of(&self, _port: PortId, _flow: FlowName) -> u32 {
        NONE
    }

    #[inline(always)]
    fn lets_pass(&self, choice: Choice) -> bool {
        choice.tag == NONE || !self.table[choice.tag].is(state::PAUSED)
    }

    #[inline(always)]
    fn on_pass(
        &mut self,
        now: Instant,
        _packet: &Packet,
        _held: &Meta,
        port: PortId,
        choice: Choice,
        _queues: &PausableQueues<W>,
    ) {
        let state = &mut self.ports[port as usize];
        if choice.fresh {
            state.rotor = if choice.queue + 1 == self.layout.queues { 0 } else { choice.queue as usize + 1 };
            state.assigned.assignments += 1;
        }
        if choice.tag != NONE {
            self.table[choice.tag].touched = ticks(now);
            if choice.fresh {
                self.release(choice.tag);
            }
        }
    }

    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        let Effect::Set { target: Target::Flow(name), holds } = frame.effect() else {
            return self.paused.obey(port, frame);
        };
        if holds {
            self.pause(now, port, name, queues, cells);
        } else if let Some(slot) = self.table.find(port, name)
            && self.table[slot].is(state::PAUSED)
        {
            self.resume(now, slot, queues, cells);
        }
    }

    #[inline(always)]
    fn may_send(&self, port: PortId) -> bool {
        self.paused.may_send(port)
    }

    #[inline(always)]
    fn next_timer(&self) -> Instant {
        self.next
    }

    /// Repeats the pauses in force here, ends pauses that a neighbour did not repeat, and releases congested flows that
    /// send no more packets.
    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, PausableQueues<W>, impl Extension>) {
        let mut slot = self.table.first_to_refresh();
        while slot != NONE {
            let next = self.table.next_to_refresh(slot);
            let record = self.table[slot];
            if record.flagged > 0 && self.repeats {
                ports.send(record.ingress as PortId, ControlFrame::PauseFlow(record.name()));
            }
            if record.is(state::PAUSED) && self.repeats && ticks(now).wrapping_sub(record.signalled_at) > self.lapse {
                let (queues, cells) = ports.open(record.port());
                self.resume(now, slot, queues, cells);
            }
            if self.release.is_due(&self.table[slot], now) {
                self.release(slot);
            }
            slot = next;
        }
        self.next = if self.table.first_to_refresh() == NONE { Instant::NEVER } else { now + self.period };
    }

    fn on_link_down(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, PausableQueues<W>, impl Extension>) {
        self.paused.release(port);
        let mut slot = self.table.first_to_refresh();
        let (queues, cells) = ports.open(port);
        while slot != NONE {
            let next = self.table.next_to_refresh(slot);
            let record = &self.table[slot];
            if record.port() == port && record.is(state::PAUSED) {
                self.resume(now, slot, queues, cells);
            }
            slot = next;
        }
    }

    fn on_link_up(&mut self, _now: Instant, port: PortId, ports: &mut Ports<'_, PausableQueues<W>, impl Extension>) {
        let mut slot = self.table.first_to_refresh();
        while slot != NONE {
            let record = &self.table[slot];
            if record.flagged > 0 && record.ingress as PortId == port {
                ports.send(port, ControlFrame::PauseFlow(record.name()));
            }
            slot = self.table.next_to_refresh(slot);
        }
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        Some(self.ports[port as usize].active_flows)
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.ports[port as usize].assigned
    }

    fn isolated_flows(&self) -> u32 {
        self.isolated
    }

    fn audit(&self, residents: &[Resident], queues: &[&PausableQueues<W>]) -> Result<(), String> {
        audit::check(self, residents, queues)
    }
}
