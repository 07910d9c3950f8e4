//! Queues that a neighbour pauses by number.

use backwater_types::{QueueId, QueueMap};

/// Queues that a neighbour pauses by number. Frames from the network are not trusted: numbers without a queue are
/// ignored.
pub trait PausableByNumber {
    /// Pauses or resumes `queue`.
    fn set_closed(&mut self, queue: QueueId, closed: bool);
    /// Pauses the queues in `closed` and resumes all others.
    fn set_all_closed(&mut self, closed: QueueMap);
}
