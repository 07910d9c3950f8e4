//! Which packets still hold an upstream queue, where it resumes as soon as the queues they wait in are short again.
//!
//! Beyond the BFC paper, which resumes an upstream queue once all its counted packets have left. Here a counted packet counts until it
//! leaves or until, as a packet departs, its queue is down to its threshold, whichever is first:
//!
//! ```text
//! on enqueue:  counted: append (ingress, upstream queue) to the list of the packet's queue
//! on dequeue:  counted, and not let off: take the first of that list; counter[ingress, upstream queue] -= 1
//!              if the queue is down to Th: let off all in its list, counter[...] -= 1 for each
//! ```
//!
//! A queue is a FIFO and so is its list: what leaves is the first of it, and the packets let off are those that leave next. A packet
//! enters a list once and leaves it once, so the cost of a packet is constant over time; one departure may let off as many as the
//! threshold holds, 25 full packets at 25 KB. A list has at most as many places as the buffer has packets.

use crate::held::Resident;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::{PortId, QueueId};

/// For each queue of a switch, the counted packets in it that hold upstream queues.
#[derive(Clone, Debug)]
pub(super) struct Holders {
    /// `[egress x queue]`.
    queues: Vec<Waiting>,
    /// Queues per egress.
    stride: usize,
    places: Vec<Holder>,
    /// First of the list of free places.
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    first: u32,
    last: u32,
    /// Counted packets at its front that were let off.
    let_off: u32,
}

/// A counted packet.
#[derive(Clone, Copy, Debug)]
struct Holder {
    ingress: u16,
    upstream: u16,
    next: u32,
}

const NIL: u32 = u32::MAX;

impl Holders {
    /// For `ports` egress ports of `stride` queues; `ahead` places are allocated now, more as they are needed.
    pub(super) fn new(ports: usize, stride: usize, ahead: usize) -> Holders {
        let empty = Waiting { first: NIL, last: NIL, let_off: 0 };
        Holders { queues: vec![empty; ports * stride], stride, places: Vec::with_capacity(ahead), free: NIL }
    }

    #[inline(always)]
    fn at(&self, egress: PortId, queue: QueueId) -> usize {
        egress as usize * self.stride + queue as usize
    }

    /// A packet that joins `queue` of `egress` counts towards a pause of queue `upstream` of the neighbour at `ingress`.
    pub(super) fn enter(&mut self, egress: PortId, queue: QueueId, ingress: PortId, upstream: QueueId) {
        let holder = Holder { ingress, upstream, next: NIL };
        let place = match self.free {
            NIL => {
                self.places.push(holder);
                self.places.len() as u32 - 1
            }
            place => {
                self.free = core::mem::replace(&mut self.places[place as usize], holder).next;
                place
            }
        };
        let at = self.at(egress, queue);
        let waiting = &mut self.queues[at];
        match waiting.last {
            NIL => waiting.first = place,
            last => self.places[last as usize].next = place,
        }
        waiting.last = place;
    }

    /// A counted packet leaves `queue`: whether it still counts.
    pub(super) fn leave(&mut self, egress: PortId, queue: QueueId) -> bool {
        let at = self.at(egress, queue);
        let waiting = &mut self.queues[at];
        if waiting.let_off > 0 {
            waiting.let_off -= 1;
            return false;
        }
        self.take(at).expect("a packet that counts is in the list of its queue");
        true
    }

    /// Whether some packet in `queue` counts.
    #[inline(always)]
    pub(super) fn holds(&self, egress: PortId, queue: QueueId) -> bool {
        self.queues[self.at(egress, queue)].first != NIL
    }

    /// `queue` is short again: lets off the first packet that counts, which was `(ingress, upstream queue)`'s.
    pub(super) fn let_off(&mut self, egress: PortId, queue: QueueId) -> Option<(PortId, QueueId)> {
        let at = self.at(egress, queue);
        let holder = self.take(at)?;
        self.queues[at].let_off += 1;
        Some((holder.ingress, holder.upstream))
    }

    fn take(&mut self, at: usize) -> Option<Holder> {
        let waiting = &mut self.queues[at];
        if waiting.first == NIL {
            return None;
        }
        let place = waiting.first;
        let holder = self.places[place as usize];
        waiting.first = holder.next;
        if holder.next == NIL {
            waiting.last = NIL;
        }
        self.places[place as usize].next = self.free;
        self.free = place;
        Some(holder)
    }

    /// Compares the lists with the packets held, queue by queue and first to last, of which those let off count no longer from now on.
    pub(super) fn audit(&self, residents: &mut [Resident]) -> Result<(), String> {
        let mut at: Vec<(u32, u32)> = self.queues.iter().map(|waiting| (waiting.let_off, waiting.first)).collect();
        for r in residents.iter_mut().filter(|r| r.held.counted) {
            let (let_off, next) = &mut at[r.port as usize * self.stride + r.queue as usize];
            if *let_off > 0 {
                *let_off -= 1;
                r.held.counted = false;
                continue;
            }
            let holder = (*next != NIL).then(|| self.places[*next as usize]);
            let named = holder.map(|holder| (holder.ingress, holder.upstream));
            if named != Some((r.held.ingress.into(), r.held.upstream_queue)) {
                return Err(format!("queue {} of port {}: {named:?} in the place of {:?}", r.queue, r.port, r.held));
            }
            *next = holder.map_or(NIL, |holder| holder.next);
        }
        match at.iter().position(|left| *left != (0, NIL)) {
            None => Ok(()),
            Some(at) => {
                Err(format!("queue {} of port {}: more count than are held", at % self.stride, at / self.stride))
            }
        }
    }
}
