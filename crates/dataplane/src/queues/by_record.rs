//! Queues in which single flows can be paused, by the numbers of their records.

use crate::flow_table::Slot;
use crate::queues::Queues;
use backwater_types::QueueId;
use backwater_types::hash::Stream;

/// Queues in which a flow can be paused by the number of its record.
pub trait PausableByFlow: Queues {
    /// The queue for a flow that has no packets here.
    fn assign(&self, rng: &mut Stream) -> QueueId;
    /// Whether the flow of this record is paused.
    fn is_closed(&self, slot: Slot) -> bool;
    /// Pauses or resumes the flow of this record.
    fn set_closed(&mut self, slot: Slot, closed: bool);
    /// Bytes that a packet of this record's flow finds in its queue.
    fn length(&self, queue: QueueId, slot: Slot) -> u64;
    /// Queues with a packet that may leave, once one of this record's flow has joined.
    fn active_with_flow(&self, queue: QueueId, slot: Slot) -> u32;
}
