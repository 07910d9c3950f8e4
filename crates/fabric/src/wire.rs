//! One direction of a link.

use backwater_types::hash::Stream;
use backwater_types::{DropReason, Duration, Instant, Kind, SerTime};

/// The sending side of one direction of a link.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Serialisation time of a byte.
    pub ser: SerTime,
    /// Propagation delay.
    pub delay: Duration,
    /// The other end.
    pub target: Target,
    /// Faults; `None`: a link that never fails.
    pub faults: Option<Box<Faults>>,
}

/// The receiving side of a link.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Partition of the receiving node.
    pub partition: u16,
    /// Its port.
    pub port: u16,
    /// Its number within the partition.
    pub node: u32,
    /// The link's number within the partition.
    pub link: u32,
}

/// How one direction of a link fails.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Frames below this 32-bit draw are lost.
    pub loss_below: u64,
    /// Control frames (not ACKs) below this 32-bit draw are lost on top.
    pub control_loss_below: u64,
    /// Intervals without service, ascending.
    pub down: Vec<[Instant; 2]>,
    /// Draws of this direction.
    pub rng: Stream,
}

impl Faults {
    /// Whether a frame sent from `start` to `arrival` is lost.
    pub fn strike(&mut self, kind: Kind, start: Instant, arrival: Instant) -> Option<DropReason> {
        if self.down.iter().any(|[down, up]| *down <= arrival && start < *up) {
            return Some(DropReason::LinkDown);
        }
        let below = match kind {
            Kind::Control => self.loss_below + self.control_loss_below,
            _ => self.loss_below,
        };
        (below > 0 && (self.rng.next_u32() as u64) < below).then_some(DropReason::LinkLoss)
    }
}
