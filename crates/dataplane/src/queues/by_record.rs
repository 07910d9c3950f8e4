//! Queues in which a neighbour pauses single flows, by flow record.

use crate::flow_table::Slot;
use crate::queues::Queues;
use backwater_types::QueueId;
use backwater_types::hash::Stream;

/// Queues in which single flows are paused, each by the slot of its flow record.
pub trait PausableByFlow: Queues {
    /// Chooses the queue of a flow that has no packets at this port.
    fn assign(&self, rng: &mut Stream) -> QueueId;
    /// Whether the flow with record `slot` is paused.
    fn is_closed(&self, slot: Slot) -> bool;
    /// Pauses or resumes the flow with record `slot`.
    fn set_closed(&mut self, slot: Slot, closed: bool);
    /// Queue length in bytes ahead of the next packet of the flow with record `slot`.
    fn length(&self, queue: QueueId, slot: Slot) -> u64;
    /// Queues that can send once a packet of the flow with record `slot` has joined `queue`.
    fn active_with_flow(&self, queue: QueueId, slot: Slot) -> u32;
}
