//! Links: what puts frames on them, and what may happen to those.
//!
//! The sending port holds rate, delay and faults, and puts a frame on the link when its transmission starts. How frames in flight
//! are held is up to the schedule.

use crate::compat::hpcc::errors::Errors;
use crate::net::schedule::{Schedule, Target};
use crate::net::stats::Drops;
use backwater_types::hash::Stream;
use backwater_types::{DropReason, Duration, Frame, Instant, Kind, Packet, QueueId, SerTime};

/// The sending side of one direction of a link.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Serialisation time of a byte.
    pub ser: SerTime,
    /// Propagation delay.
    pub delay: Duration,
    /// The other end.
    pub target: Target,
    /// `None`: a link that never fails.
    pub faults: Option<Box<Faults>>,
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

/// Everything in flight towards the nodes of one partition, and what leaves it for others.
pub struct Fabric<S: Schedule> {
    /// This partition.
    pub id: u16,
    /// The events ahead.
    pub schedule: S,
    /// `[link]`: receiving node and port.
    pub ends: Vec<(u32, u16)>,
    /// `[partition]`: frames for other partitions, handed over at the end of the window.
    pub outbox: Vec<Vec<Crossing<S>>>,
    /// Earliest arrival in `outbox`.
    pub outbox_next: Instant,
    /// Frames that fully crossed a link.
    pub packet_hops: u64,
    /// Where events come in ns-3's order: what decides which frames are lost.
    pub(crate) errors: Option<Errors>,
}

/// A frame on its way to another partition.
pub struct Crossing<S: Schedule> {
    link: u32,
    at: Instant,
    stamp: S::Stamp,
    frame: Frame<S::Extension>,
}

impl<S: Schedule> Fabric<S> {
    /// Puts a frame that leaves `queue` on a link; its last bit arrives at `at`, by which it is kept with its stamp.
    #[inline(always)]
    pub fn send(&mut self, to: Target, (at, stamp): (Instant, S::Stamp), frame: &Frame<S::Extension>, queue: QueueId) {
        if to.partition == self.id {
            self.schedule.deliver(to, at, stamp, frame, queue);
        } else {
            self.outbox_next = self.outbox_next.min(at);
            let mut crossing = Crossing { link: to.link, at, stamp, frame: *frame };
            crossing.frame.upstream_queue = queue;
            self.outbox[to.partition as usize].push(crossing);
        }
    }

    /// Takes over what another partition sent here.
    pub fn accept(&mut self, crossings: &mut Vec<Crossing<S>>) {
        for c in crossings.drain(..) {
            let (node, port) = self.ends[c.link as usize];
            let to = Target { partition: self.id, port, node, link: c.link };
            self.schedule.deliver(to, c.at, c.stamp, &c.frame, c.frame.upstream_queue);
        }
    }
}

/// Puts a frame of `queue` on a wire, on which it is completely at `sent`; faults may take it.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // the link's two ends, when, and what
pub(crate) fn put_on_wire<S: Schedule>(
    wire: &mut Wire,
    fabric: &mut Fabric<S>,
    drops: &mut Drops,
    start: Instant,
    sent: Instant,
    frame: &Frame<S::Extension>,
    queue: QueueId,
    dropped: impl FnOnce(&Packet, DropReason),
) {
    let at = sent + wire.delay;
    // Lost or not, so that the end of each transmission has one beside it.
    let stamp = fabric.schedule.stamp(at);
    if let Some(faults) = &mut wire.faults
        && let Some(reason) = faults.strike(frame.kind, start, at)
    {
        if frame.kind != Kind::Control {
            drops.count(reason, frame);
            // A copy, so that the packet itself need not have an address: one in registers is written once, to the link.
            let lost = frame.packet;
            dropped(&lost, reason);
        }
        return;
    }
    fabric.send(wire.target, stamp, frame, queue);
}
