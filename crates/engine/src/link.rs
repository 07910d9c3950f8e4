//! Links: transmission, faults and frames in transit.
//!
//! The sending port holds rate, delay and faults, and puts a frame on the link when its transmission starts. The
//! schedule keeps frames in flight.

use crate::schedule::Schedule;
use backwater_counters::stats::Drops;
use backwater_fabric::hpcc::errors::Errors;
use backwater_fabric::wire::{Target, Wire};
use backwater_types::{DropReason, Frame, Instant, Kind, Packet};

/// Frames in transit towards the nodes of one partition, and from them to other partitions.
pub struct Transit<S: Schedule> {
    /// Number of the partition.
    pub id: u16,
    /// Pending events.
    pub schedule: S,
    /// `[link]`: receiving node and port.
    pub ends: Vec<(u32, u16)>,
    /// `[partition]`: frames for other partitions, handed over at the end of the window.
    pub outbox: Vec<Vec<Crossing<S>>>,
    /// Earliest arrival in `outbox`.
    pub outbox_next: Instant,
    /// Frames that fully crossed a link.
    pub packet_hops: u64,
    /// Random losses of frames, where events come in ns-3's order.
    pub errors: Option<Errors>,
}

/// Frame in flight to another partition.
pub struct Crossing<S: Schedule> {
    link: u32,
    at: Instant,
    stamp: S::Stamp,
    frame: Frame<S::Extension>,
}

impl<S: Schedule> Transit<S> {
    /// Puts a frame on a link. Its last bit arrives at `at`; `at` and `stamp` are its sort key.
    #[inline(always)]
    pub fn send(&mut self, to: Target, (at, stamp): (Instant, S::Stamp), frame: &Frame<S::Extension>) {
        if to.partition == self.id {
            self.schedule.deliver(to, at, stamp, frame);
        } else {
            self.outbox_next = self.outbox_next.min(at);
            self.outbox[to.partition as usize].push(Crossing { link: to.link, at, stamp, frame: *frame });
        }
    }

    /// Accepts the frames that another partition sent to this one.
    pub fn accept(&mut self, crossings: &mut Vec<Crossing<S>>) {
        for c in crossings.drain(..) {
            let (node, port) = self.ends[c.link as usize];
            let to = Target { partition: self.id, port, node, link: c.link };
            self.schedule.deliver(to, c.at, c.stamp, &c.frame);
        }
    }
}

/// Puts a frame on a wire. Its last bit is sent at `sent`. A fault may drop it.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // the link's two ends, when, and what
pub fn put_on_wire<S: Schedule>(
    wire: &mut Wire,
    transit: &mut Transit<S>,
    drops: &mut Drops,
    start: Instant,
    sent: Instant,
    frame: &Frame<S::Extension>,
    dropped: impl FnOnce(&Packet, DropReason),
) {
    let at = sent + wire.delay;
    // A lost frame takes a stamp too, so that the end of each transmission has a stamp beside it.
    let stamp = transit.schedule.stamp(at);
    if let Some(faults) = &mut wire.faults
        && let Some(reason) = faults.strike(frame.kind, start, at)
    {
        if frame.kind != Kind::Control {
            drops.count(reason, frame);
            // The closure gets a copy, so that the packet itself needs no address: a packet in registers is written
            // once, to the link.
            let lost = frame.packet;
            dropped(&lost, reason);
        }
        return;
    }
    transit.send(wire.target, stamp, frame);
}
