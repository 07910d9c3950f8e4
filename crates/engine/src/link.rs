//! Links: what puts frames on them, and what may happen to those.
//!
//! The sending port holds rate, delay and faults, and puts a frame on the link when its transmission starts. How frames in flight
//! are held is up to the schedule.

use crate::schedule::Schedule;
use crate::stats::Drops;
use backwater_fabric::hpcc::errors::Errors;
use backwater_fabric::wire::{Target, Wire};
use backwater_types::{DropReason, Frame, Instant, Kind, Packet};

/// Frames in transit towards the nodes of one partition, and those that leave it for others.
pub struct Transit<S: Schedule> {
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
    pub errors: Option<Errors>,
}

/// A frame on its way to another partition.
pub struct Crossing<S: Schedule> {
    link: u32,
    at: Instant,
    stamp: S::Stamp,
    frame: Frame<S::Extension>,
}

impl<S: Schedule> Transit<S> {
    /// Puts a frame on a link; its last bit arrives at `at`, by which it is kept with its stamp.
    #[inline(always)]
    pub fn send(&mut self, to: Target, (at, stamp): (Instant, S::Stamp), frame: &Frame<S::Extension>) {
        if to.partition == self.id {
            self.schedule.deliver(to, at, stamp, frame);
        } else {
            self.outbox_next = self.outbox_next.min(at);
            self.outbox[to.partition as usize].push(Crossing { link: to.link, at, stamp, frame: *frame });
        }
    }

    /// Takes over what another partition sent here.
    pub fn accept(&mut self, crossings: &mut Vec<Crossing<S>>) {
        for c in crossings.drain(..) {
            let (node, port) = self.ends[c.link as usize];
            let to = Target { partition: self.id, port, node, link: c.link };
            self.schedule.deliver(to, c.at, c.stamp, &c.frame);
        }
    }
}

/// Puts a frame on a wire, on which it is completely at `sent`; faults may take it.
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
    // Lost or not, so that the end of each transmission has one beside it.
    let stamp = transit.schedule.stamp(at);
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
    transit.send(wire.target, stamp, frame);
}
