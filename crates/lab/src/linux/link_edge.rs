//! The end of a link to another process of the lab: frames in, and out.

use crate::fabric::Fabric;
use crate::frames::Frames;
use crate::linux::clock::{Clock, Now};
use crate::linux::lateness::Lateness;
use crate::linux::sys::Ring;
use backwater_dataplane::DataPlane;
use backwater_nic::Nic;
use backwater_types::Instant;

/// This process's end of a link to another one.
pub(super) struct LinkEdge {
    pub(super) ring: Ring,
    /// Frames on their way out, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Time at which each is due at the other end.
    due: Vec<Instant>,
    /// Lateness of frames in, and out.
    late: [Lateness; 2],
    /// Frames that found no room in the ring, or that the interface did not take.
    lost: u64,
}

impl LinkEdge {
    pub(super) fn new(ring: Ring) -> LinkEdge {
        LinkEdge { ring, bytes: Vec::new(), ends: Vec::new(), due: Vec::new(), late: Default::default(), lost: 0 }
    }

    /// Puts the frames that have come by link number `link` into the fabric, each at the time at which the kernel got it.
    pub(super) fn take_in<D: DataPlane<Extension = ()>, N: Nic<Frames>>(
        &mut self,
        link: usize,
        now: &Now,
        clock: &Clock,
        fabric: &mut Fabric<D, N>,
    ) {
        // Events up to `reached` have happened, so a frame that came before arrives then: it is late by the difference.
        let reached = clock.wall(fabric.reached()).unwrap_or(now.wall());
        let mut count = 0;
        for (bytes, stamp) in self.ring.pending() {
            count += 1;
            let came = now.stamped(stamp.at);
            self.late[0].count(reached.saturating_duration_since(came));
            fabric.take(clock.network(came), link, bytes);
        }
        self.ring.release(count);
    }

    /// Keeps a frame, which is due at `due`, for the next call of [`LinkEdge::send`].
    pub(super) fn keep(&mut self, due: Instant, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
        self.due.push(due);
    }

    /// Sends the frames that were kept.
    pub(super) fn send(&mut self, clock: &Clock) {
        if self.ends.is_empty() {
            return;
        }
        let (bytes, mut start) = (&self.bytes, 0);
        let frames = self.ends.iter().map(|end| &bytes[std::mem::replace(&mut start, *end)..*end]);
        let sent = self.ring.send(frames).unwrap_or(0);
        self.lost += (self.ends.len() - sent) as u64;
        let wall = clock.now().wall();
        for due in self.due.drain(..) {
            let due = clock.wall(due).unwrap_or(wall);
            self.late[1].count(wall.saturating_duration_since(due));
        }
        self.bytes.clear();
        self.ends.clear();
    }

    /// Lateness of frames in and out, and the number of frames that were lost here.
    pub(super) fn counts(&mut self) -> ([Lateness; 2], u64) {
        // The kernel counts from the last call on. What it does not tell is not counted.
        self.lost += u64::from(self.ring.overflowed().unwrap_or(0));
        (self.late.clone(), self.lost)
    }

    /// Counts lateness anew.
    pub(super) fn count_lateness_anew(&mut self) {
        self.late = Default::default();
    }
}
