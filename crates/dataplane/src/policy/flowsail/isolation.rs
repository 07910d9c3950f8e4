//! Isolation of paused flows in order: isolation queues, order marks, and normal queues held for old packets.

use super::FlowSail;
use crate::buffer::cells::Cells;
use crate::flow_table::{NO_QUEUE, NONE, Slot, state};
use crate::queues::PausableQueues;
use crate::ticks::ticks;
use backwater_types::{Extension, FlowName, Instant, PortId, QueueId};

impl<const W: usize> FlowSail<W> {
    /// Handles a PAUSE of a flow, first or repeated.
    pub(super) fn pause(
        &mut self,
        now: Instant,
        port: PortId,
        name: FlowName,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        let Some(slot) = self.table.find(port, name).or_else(|| self.new_record(now, port, name)) else { return };
        let record = &mut self.table[slot];
        record.signalled_at = ticks(now);
        if record.is(state::PAUSED) {
            return;
        }
        record.set(state::PAUSED);
        let isolation = record.isolation_queue();
        if !self.hold_by_head {
            self.hold(port, isolation, queues);
        }
        if !self.table[slot].is(state::CONGESTED) {
            self.isolate(port, slot, queues, cells);
        }
        self.settle(port, isolation, queues, cells);
        let record = &mut self.table[slot];
        if !self.drains && record.is(state::MARK_NORMAL) && record.held == NO_QUEUE {
            record.held = record.queue;
            let normal = record.normal_queue();
            self.hold(port, normal, queues);
        }
        self.add_to_refresh(now, slot);
    }

    /// Handles a RESUME of a flow, or the lapse of its pause.
    pub(super) fn resume(
        &mut self,
        now: Instant,
        slot: Slot,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        let record = &mut self.table[slot];
        record.clear(state::PAUSED);
        record.signalled_at = ticks(now);
        let held = core::mem::replace(&mut record.held, NO_QUEUE);
        let (port, isolation) = (record.port(), record.isolation_queue());
        match self.hold_by_head {
            true => self.settle(port, isolation, queues, cells),
            false => self.unhold(port, isolation, queues, cells),
        }
        if held != NO_QUEUE {
            self.unhold(port, held as QueueId, queues, cells);
        }
    }

    /// Directs new packets of the flow to the isolation queue. Order marks keep them behind the old packets.
    fn isolate(&mut self, port: PortId, slot: Slot, queues: &mut PausableQueues<W>, cells: &mut Cells<impl Extension>) {
        let record = self.table[slot];
        let FlowName { flow, class, .. } = record.name();
        let residue = record.normal > 0 || self.may_have_untracked(port, class, flow);
        let hashed = self.hashed_queue(class, flow);
        let record = &mut self.table[slot];
        record.set(state::CONGESTED);
        self.isolated += 1;
        if !residue {
            return;
        }
        if record.normal == 0 {
            record.queue = hashed as u8;
        }
        record.set(state::MARK_NORMAL | state::MARK_ISOLATED);
        let (isolation, normal) = (record.isolation_queue(), record.normal_queue());
        queues.push_mark(cells, isolation, slot);
        queues.push_mark(cells, normal, slot);
        self.marks += 2;
    }

    /// Opens or closes a queue, and consumes the marks at its head while it may send (F.5). A queue with only a mark
    /// needs this, because the scheduler does not visit it.
    pub(super) fn settle(
        &mut self,
        port: PortId,
        queue: QueueId,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        loop {
            let held = self.is_held(port, queue, queues, cells);
            queues.set_closed(queue, held);
            if held {
                return;
            }
            let Some(slot) = queues.take_mark(cells, queue) else { return };
            self.marks -= 1;
            let record = &mut self.table[slot];
            if self.layout.is_isolation(queue) {
                record.clear(state::MARK_ISOLATED);
                if record.is(state::MARK_NORMAL) {
                    let at = self.at(port, queue);
                    self.queues[at].waiting = slot;
                    self.queues[at].holds += 1;
                }
            } else {
                record.clear(state::MARK_NORMAL);
                let isolation = record.isolation_queue();
                let at = self.at(port, isolation);
                if self.queues[at].waiting == slot {
                    self.queues[at].waiting = NONE;
                    self.unhold(port, isolation, queues, cells);
                }
            }
        }
    }

    /// Whether a queue may not send: it has a reason to wait, or, under `hold_by_head`, the flow of its first item is
    /// paused.
    #[inline(always)]
    fn is_held(&self, port: PortId, queue: QueueId, queues: &PausableQueues<W>, cells: &Cells<impl Extension>) -> bool {
        let first_is_paused = |slot: Slot| self.table[slot].is(state::PAUSED);
        self.queues[self.at(port, queue)].holds > 0
            || (self.hold_by_head
                && self.layout.is_isolation(queue)
                && queues.first_tag(cells, queue).is_some_and(first_is_paused))
    }

    fn hold(&mut self, port: PortId, queue: QueueId, queues: &mut PausableQueues<W>) {
        let at = self.at(port, queue);
        self.queues[at].holds += 1;
        queues.set_closed(queue, true);
    }

    fn unhold(
        &mut self,
        port: PortId,
        queue: QueueId,
        queues: &mut PausableQueues<W>,
        cells: &mut Cells<impl Extension>,
    ) {
        let at = self.at(port, queue);
        self.queues[at].holds -= 1;
        self.settle(port, queue, queues, cells);
    }
}
