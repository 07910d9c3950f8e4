//! The edge of the fabric: frames in from the hosts' links, and out to them.

use crate::fabric::{Delivered, Fabric};
use crate::frames::Frames;
use crate::ip::Refused;
use crate::linux::clock::{Clock, Now};
use crate::linux::lateness::Lateness;
use crate::linux::sys::Ring;
use backwater_dataplane::DataPlane;
use backwater_nic::Nic;
use backwater_types::Instant;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The fabric's end of one host's link.
pub(super) struct Edge {
    pub(super) ring: Ring,
    /// Frames on their way out.
    out: Vec<Delivered>,
    /// Lateness of frames in, and out.
    late: [Lateness; 2],
    /// Frames in, and out.
    frames: [u64; 2],
    /// Frames that the host's interface did not take.
    unsent: u64,
    /// Frames that found no room in the ring.
    overflowed: u64,
}

/// Counters at one host's link.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HostCounts {
    /// Frames from the host, and to it.
    pub frames: [u64; 2],
    /// Lateness of frames from the host, and to it.
    pub late: [Lateness; 2],
    /// Frames that were not carried, by reason.
    pub refused: [u64; Refused::COUNT],
    /// Frames that found no room in the ring.
    pub overflowed: u64,
    /// Frames that the host's interface did not take.
    pub unsent: u64,
}

/// Frames of a ring that the fabric takes at once. The loop carries them to the end before it takes more, while their
/// bytes are in the processor's cache: 64 frames of 1,000 B fill 64 KB of it.
const BATCH: usize = 64;

impl Edge {
    pub(super) fn new(ring: Ring) -> Edge {
        Edge { ring, out: Vec::new(), late: Default::default(), frames: [0; 2], unsent: 0, overflowed: 0 }
    }

    /// Puts frames that have come into the fabric, each at the time at which the kernel got it. Returns the time of the
    /// first frame that still waits.
    pub(super) fn take_in<D: DataPlane<Extension = ()>, N: Nic<Frames>>(
        &mut self,
        host: u16,
        now: &Now,
        clock: &Clock,
        fabric: &mut Fabric<D, N>,
    ) -> Option<Instant> {
        let Edge { ring, late, frames, .. } = self;
        // Events up to `reached` have happened, so a frame that came before enters then: it is late by the difference.
        let reached = clock.wall(fabric.reached()).unwrap_or(now.wall());
        let mut count = 0;
        for (bytes, stamp) in ring.pending().take(BATCH) {
            count += 1;
            let came = now.stamped(stamp.at);
            if stamp.vlan || stamp.unfinished || stamp.length > bytes.len() {
                let why = if stamp.vlan { Refused::Vlan } else { Refused::TooLong };
                fabric.refuse(host, why);
                continue;
            }
            late[0].count(reached.saturating_duration_since(came));
            frames[0] += 1;
            fabric.put(clock.network(came), host, bytes);
        }
        ring.release(count);
        if count < BATCH {
            return None;
        }
        let (_, stamp) = ring.pending().next()?;
        Some(clock.network(now.stamped(stamp.at)))
    }

    /// Returns what was counted at the link of `host`.
    pub(super) fn counts<D: DataPlane<Extension = ()>, N: Nic<Frames>>(
        &mut self,
        host: u16,
        fabric: &Fabric<D, N>,
    ) -> HostCounts {
        // The kernel counts from the last call on. What it does not tell is not counted.
        self.overflowed += u64::from(self.ring.overflowed().unwrap_or(0));
        HostCounts {
            frames: self.frames,
            late: self.late.clone(),
            refused: fabric.refused(host),
            overflowed: self.overflowed,
            unsent: self.unsent,
        }
    }

    /// Counts lateness anew.
    pub(super) fn count_lateness_anew(&mut self) {
        self.late = Default::default();
    }

    /// Keeps a frame that has reached the host, for the next call of [`Edge::send`].
    pub(super) fn keep(&mut self, frame: Delivered) {
        self.out.push(frame);
    }

    /// Sends the frames that were kept, out of the fabric's store.
    pub(super) fn send<D: DataPlane<Extension = ()>, N: Nic<Frames>>(
        &mut self,
        clock: &Clock,
        fabric: &mut Fabric<D, N>,
    ) {
        if self.out.is_empty() {
            return;
        }
        let sent = self.ring.send(self.out.iter().map(|frame| fabric.bytes(frame))).unwrap_or(0);
        let wall = clock.now().wall();
        self.frames[1] += sent as u64;
        self.unsent += (self.out.len() - sent) as u64;
        for frame in self.out.drain(..) {
            let due = clock.wall(frame.at).unwrap_or(wall);
            self.late[1].count(wall.checked_duration_since(due).unwrap_or(Duration::ZERO));
            fabric.free(frame);
        }
    }
}
