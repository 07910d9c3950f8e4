//! Early resume: an upstream queue resumes as soon as the queues with its counted packets are short again.
//!
//! An extension of the BFC paper, which resumes an upstream queue once all its counted packets have departed. Here a
//! counted packet counts until it departs, or until a departure leaves its queue at or below its threshold, whichever
//! is first:
//!
//! ```text
//! on enqueue:  counted: append (ingress, upstream queue) to the list of the packet's queue
//! on dequeue:  counted, and not let off: take the first of that list; counter[ingress, upstream queue] -= 1
//!              if the queue is down to Th: let off all in its list, counter[...] -= 1 for each
//! ```
//!
//! A queue is a FIFO, and so is its list: a departing packet is the first of the list, and the packets let off are the
//! next to depart. A packet enters a list once and leaves it once, so the amortised cost of a packet is constant. One
//! departure may let off as many packets as the threshold holds, 25 full packets at 25 KB. The lists have at most as
//! many entries as the buffer has packets.

use crate::meta::Resident;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::{PortId, QueueId};

/// Counted packets in each queue of a switch that pause upstream queues.
#[derive(Clone, Debug)]
pub(super) struct Holders {
    /// `[egress x queue]`: list of counted packets.
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
    /// Counted packets at the front of the queue that were let off.
    let_off: u32,
}

/// A counted packet: the neighbour and the upstream queue that it pauses.
#[derive(Clone, Copy, Debug)]
struct Holder {
    ingress: u16,
    upstream: u16,
    next: u32,
}

const NIL: u32 = u32::MAX;

impl Holders {
    /// Creates empty lists for `ports` egress ports of `stride` queues. Allocates `ahead` places now, and more when
    /// needed.
    pub(super) fn new(ports: usize, stride: usize, ahead: usize) -> Holders {
        let empty = Waiting { first: NIL, last: NIL, let_off: 0 };
        Holders { queues: vec![empty; ports * stride], stride, places: Vec::with_capacity(ahead), free: NIL }
    }

    #[inline(always)]
    fn at(&self, egress: PortId, queue: QueueId) -> usize {
        egress as usize * self.stride + queue as usize
    }

    /// Records a packet that joins `queue` of `egress` and counts towards a pause of queue `upstream` of the neighbour
    /// at `ingress`.
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

    /// Records that a counted packet departs from `queue`. Returns whether the packet still counts.
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

    /// Whether a packet in `queue` still counts.
    #[inline(always)]
    pub(super) fn holds(&self, egress: PortId, queue: QueueId) -> bool {
        self.queues[self.at(egress, queue)].first != NIL
    }

    /// Lets off the first packet in `queue` that still counts. Returns its ingress and upstream queue.
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

    /// Compares the lists with the packets held, queue by queue in order. Clears `counted` of packets that were let
    /// off.
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
                return Err(format!("queue {} of port {}: the list has {named:?} for {:?}", r.queue, r.port, r.held));
            }
            *next = holder.map_or(NIL, |holder| holder.next);
        }
        match at.iter().position(|left| *left != (0, NIL)) {
            None => Ok(()),
            Some(at) => Err(format!(
                "queue {} of port {}: the list has more packets than the queue",
                at % self.stride,
                at / self.stride
            )),
        }
    }
}
