//! Queues that can be paused one by one, by their numbers.

use backwater_types::{QueueId, QueueMap};

/// Queues that a neighbour can pause by number. Numbers that there are no queues of are ignored: a frame from the network is not
/// trusted.
pub trait PausableByNumber {
    /// Pauses or resumes `queue`.
    fn set_closed(&mut self, queue: QueueId, closed: bool);
    /// Pauses exactly `closed`.
    fn set_all_closed(&mut self, closed: QueueMap);
}
