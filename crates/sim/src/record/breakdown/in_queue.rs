//! Followed packets in the queues of one egress port.

use crate::record::breakdown::by_flow::ByFlow;
use crate::record::breakdown::path_trace::PathTrace;
use crate::record::breakdown::port_clock::PortClock;
use crate::record::label::Label;
use crate::record::pause_causes::Cause;
use backwater_types::{Duration, Instant, PortId, QueueId};

/// With fewer waiting packets than this, their queues are looked up whenever one leaves. With more, queues in which
/// none waits any more are counted for a while.
const FEW: usize = 8;

/// Traces of the followed packets that wait at a port, in the order of arrival.
#[derive(Clone, Debug)]
pub(super) struct InQueue {
    traces: ByFlow<PathTrace>,
    /// Whether flows share queues, so that a packet may wait for another flow in its own queue. Otherwise the clock
    /// need not count queues.
    shared: bool,
    /// `[bit]`: queues held at the last look. Read only where a pause holds whole queues and there are at most 64
    /// queues.
    held: u64,
}

impl InQueue {
    /// Builds the empty queues of a port.
    pub(super) fn new(shared: bool) -> InQueue {
        InQueue { traces: ByFlow::new(), shared, held: 0 }
    }

    /// Number of followed packets.
    pub(super) fn len(&self) -> usize {
        self.traces.len()
    }

    /// Whether no followed packet waits.
    pub(super) fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// Traces of the followed packets.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PathTrace> {
        self.traces.iter()
    }

    /// Trace at this place.
    pub(super) fn at(&self, at: usize) -> &PathTrace {
        &self.traces[at]
    }

    /// Trace at this place.
    pub(super) fn at_mut(&mut self, at: usize) -> &mut PathTrace {
        &mut self.traces[at]
    }

    /// Place of a packet's first trace.
    pub(super) fn find(&self, packet: Label) -> Option<usize> {
        self.traces.position(packet.name.flow, |trace| trace.is_of(packet))
    }

    /// Adds a packet that joins `trace.queue`; the clock must run.
    pub(super) fn join(&mut self, mut trace: PathTrace, clock: &mut PortClock, now: Instant) {
        let queue = self.told_apart(&trace);
        queue.into_iter().for_each(|queue| clock.count_queue(queue));
        trace.wait(clock, queue, now);
        self.traces.push(trace.name.flow, trace);
    }

    /// Queue of a packet, if other flows may wait in it, too.
    fn told_apart(&self, trace: &PathTrace) -> Option<QueueId> {
        self.shared.then_some(trace.queue)
    }

    /// Tells the packets of `flow` that data of their flow was sent for `span`, from `queue`.
    pub(super) fn add_own(&mut self, flow: u32, queue: QueueId, span: u64) {
        for trace in self.traces.of_mut(flow) {
            trace.add_own(self.shared && trace.queue == queue, span);
        }
    }

    /// Notes whether `queue` is held now. Returns whether that is new.
    pub(super) fn now_held(&mut self, queue: QueueId, holds: bool) -> bool {
        let bit = 1 << (queue % 64);
        let before = self.held;
        self.held = if holds { before | bit } else { before & !bit };
        self.held != before
    }

    /// Begins a pause of one packet.
    pub(super) fn pause(&mut self, at: usize, clock: &PortClock, now: Instant, cause: Cause) {
        let queue = self.told_apart(&self.traces[at]);
        self.traces[at].pause(clock, queue, now, cause);
    }

    /// Ends the pause of one packet, if there is one. Returns its cause and length.
    pub(super) fn resume(&mut self, at: usize, clock: &PortClock, now: Instant) -> Option<(Cause, Duration)> {
        let queue = self.told_apart(&self.traces[at]);
        self.traces[at].resume(clock, queue, now)
    }

    /// Removes a packet that is not paused and starts its transmission.
    pub(super) fn leave(
        &mut self,
        at: usize,
        clock: &mut PortClock,
        now: Instant,
        place: (usize, PortId),
        own_class: u8,
    ) -> Option<PathTrace> {
        let mut trace = self.traces.remove(at)?;
        trace.leave(clock, self.told_apart(&trace), now, place, own_class);
        if self.traces.len() < FEW {
            clock.count_only(self.traces.iter().map(|trace| trace.queue));
        }
        Some(trace)
    }

    /// Drops the trace at this place.
    pub(super) fn remove(&mut self, at: usize) {
        self.traces.remove(at);
    }
}
