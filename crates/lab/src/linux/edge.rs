//! The edge of the fabric: frames in from the hosts' links, and out to them.

use crate::fabric::Fabric;
use crate::frames::Frames;
use crate::ip::Refused;
use crate::linux::clock::{Clock, Now};
use crate::linux::lateness::Lateness;
use crate::linux::sys::Ring;
use backwater_dataplane::DataPlane;
use backwater_nic::Nic;
use backwater_types::Instant;
use std::time::Duration;

/// The fabric's end of one host's link.
pub(super) struct Edge {
    pub(super) ring: Ring,
    out: Out,
    /// Lateness of frames in, and out.
    late: [Lateness; 2],
    /// Frames in, and out.
    frames: [u64; 2],
    /// Frames that the host's interface did not take.
    unsent: u64,
    /// Frames that found no room in the ring.
    overflowed: u64,
}

/// What an edge has counted at one host's link.
#[derive(Clone, Debug, Default)]
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

/// Frames on their way out.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    due: Vec<Instant>,
}

impl Edge {
    pub(super) fn new(ring: Ring) -> Edge {
        Edge { ring, out: Out::default(), late: Default::default(), frames: [0; 2], unsent: 0, overflowed: 0 }
    }

    /// Puts every frame that has come into the fabric, at the time at which the kernel got it.
    pub(super) fn take_in<D: DataPlane<Extension = ()>, N: Nic<Frames>>(
        &mut self,
        host: u16,
        now: &Now,
        clock: &Clock,
        fabric: &mut Fabric<D, N>,
    ) {
        let Edge { ring, late, frames, .. } = self;
        ring.receive(|bytes, stamp| {
            let came = now.stamped(stamp.at);
            if stamp.vlan || stamp.unfinished || stamp.length > bytes.len() {
                let why = if stamp.vlan { Refused::Vlan } else { Refused::TooLong };
                return fabric.refuse(host, why);
            }
            // Events up to `reached` have happened, so a frame that came before enters then: it is late by the difference.
            let reached = clock.wall(fabric.reached()).unwrap_or(came);
            late[0].count(reached.saturating_duration_since(came));
            frames[0] += 1;
            fabric.put(clock.network(came), host, bytes);
        });
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

    /// Keeps a frame, which was due at `due`, for the next call of [`Edge::send`].
    pub(super) fn keep(&mut self, due: Instant, frame: &[u8]) {
        self.out.bytes.extend_from_slice(frame);
        self.out.ends.push(self.out.bytes.len());
        self.out.due.push(due);
    }

    /// Sends the frames that were kept.
    pub(super) fn send(&mut self, clock: &Clock) {
        if self.out.ends.is_empty() {
            return;
        }
        let sent = self.ring.send(&self.out.bytes, &self.out.ends).unwrap_or(0);
        let wall = clock.now().wall();
        for due in &self.out.due {
            let due = clock.wall(*due).unwrap_or(wall);
            self.late[1].count(wall.checked_duration_since(due).unwrap_or(Duration::ZERO));
        }
        self.frames[1] += sent as u64;
        self.unsent += (self.out.ends.len() - sent) as u64;
        self.out.bytes.clear();
        self.out.ends.clear();
        self.out.due.clear();
    }
}
