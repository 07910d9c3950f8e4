//! Data queues of a NIC's egress port. Flows are pulled from them, and an [`Upstream`](crate::backpressure::Upstream)
//! half may pause some of them (spec A.7).
//!
//! A queue is a ring of flows with data to send, served in turn packet by packet; pausing the queue stops all its
//! flows. Separate flows inside a queue avoid head-of-line blocking in the host, which the papers do not model. Queues
//! of a group are served by deficit round robin, and groups in strict priority; a flow's class is its group. Flows are
//! named by the caller's slot numbers.

use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::drr::Served;
use crate::queues::groups::{Groups, Members};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use backwater_types::hash::{self, Stream};
use backwater_types::{QueueId, QueueMap};

const NIL: u32 = u32::MAX;

/// Queues of one NIC.
#[derive(Clone, Debug)]
pub struct NicQueues {
    rings: Vec<Ring>,
    /// `[slot]`: next flow in the same ring.
    next: Vec<u32>,
    groups: Groups<2>,
    classes: Box<[Class]>,
    all: Bits<2>,
    /// Queues with a flow that may send.
    ready: Bits<2>,
    /// Queues with an assigned flow.
    taken: Bits<2>,
    closed: Bits<2>,
    obeys: bool,
    /// Whether labelled flows have a queue of their own.
    labels: bool,
}

/// Queues of one class.
#[derive(Clone, Copy, Debug)]
struct Class {
    queues: Members<2>,
    /// Start of the search for an empty queue.
    rotor: usize,
    /// Whether a labelled flow has been seen; the first queue is then reserved for labelled flows.
    labelled: bool,
}

#[derive(Clone, Copy, Debug)]
struct Ring {
    head: u32,
    tail: u32,
    /// Number of flows assigned to the queue, ready or not.
    members: u32,
    deficit: u32,
}

impl Served for Ring {
    #[inline(always)]
    fn deficit(&mut self) -> &mut u32 {
        &mut self.deficit
    }
}

impl NicQueues {
    /// Creates `queues` data queues in `groups` groups. `obeys` false: pauses of queues are ignored (spec B, "BFC -
    /// NIC").
    pub fn new(queues: u16, groups: u16, quantum: u32, obeys: bool) -> NicQueues {
        let class = |queues: &Members<2>| Class { queues: *queues, rotor: 0, labelled: false };
        NicQueues {
            rings: vec![Ring { head: NIL, tail: NIL, members: 0, deficit: 0 }; queues as usize],
            next: Vec::with_capacity(64),
            groups: Groups::new(queues, groups, quantum),
            classes: Members::of(queues, groups).iter().map(class).collect(),
            all: Bits::below(queues as usize),
            ready: Bits::EMPTY,
            taken: Bits::EMPTY,
            closed: Bits::EMPTY,
            obeys,
            labels: false,
        }
    }

    /// Sets `labels`: all labelled flows share the first queue of their class, and no other flow is assigned to it once
    /// there was one (spec B, incast label).
    pub fn with_labels(self, labels: bool) -> NicQueues {
        NicQueues { labels, ..self }
    }

    /// Number of queues.
    pub fn count(&self) -> usize {
        self.rings.len()
    }

    /// Paused queues.
    #[inline(always)]
    pub fn closed(&self) -> Bits<2> {
        self.closed
    }

    /// Assigns a newly active flow to a queue of its class, by the rule of spec A.3.
    pub fn join(&mut self, class: u8, labelled: bool, rng: &mut Stream) -> QueueId {
        let class = (class as usize).min(self.classes.len() - 1);
        let Class { queues, rotor, labelled: seen } = &mut self.classes[class];
        *seen |= self.labels && labelled && queues.count > 1;
        let q = if *seen && labelled {
            queues.first as usize
        } else {
            let kept = *seen as u16;
            let mut empty = queues.all.minus(&self.taken);
            if *seen {
                empty.remove(queues.first as usize);
            }
            let found = empty.minus(&self.closed).next_from(*rotor).or_else(|| empty.next_from(*rotor));
            let any =
                |draw| ((queues.first + kept) as u32 + hash::range32(draw, (queues.count - kept).into())) as usize;
            let q = found.unwrap_or_else(|| any(rng.next_u32()));
            *rotor = if q + 1 == self.rings.len() { 0 } else { q + 1 };
            q
        };
        self.taken.insert(q);
        self.rings[q].members += 1;
        q as QueueId
    }

    /// Records that a flow of `q` has no data left.
    pub fn leave(&mut self, q: QueueId) {
        let ring = &mut self.rings[q as usize];
        ring.members -= 1;
        if ring.members == 0 {
            self.taken.remove(q as usize);
        }
    }

    /// Records that the flow in `slot`, of queue `q` and in no ring, may send.
    #[inline(always)]
    pub fn make_ready(&mut self, q: QueueId, slot: u32) {
        if self.next.len() <= slot as usize {
            self.next.resize(slot as usize + 1, NIL);
        }
        self.next[slot as usize] = NIL;
        let ring = &mut self.rings[q as usize];
        if ring.head == NIL {
            ring.head = slot;
            self.ready.insert(q as usize);
        } else {
            self.next[ring.tail as usize] = slot;
        }
        ring.tail = slot;
    }

    /// Picks the flow to send from, if any may send. `wire` returns the size of a flow's next packet. Must be followed
    /// by [`NicQueues::sent`].
    #[inline(always)]
    pub fn pick(&mut self, wire: impl Fn(u32) -> u32) -> Option<(QueueId, u32)> {
        let eligible = self.ready.minus(&self.closed);
        let q = self.groups.pick(&eligible, &mut self.rings, |ring| wire(ring.head))?;
        Some((q as QueueId, self.rings[q].head))
    }

    /// Records that the flow picked by [`NicQueues::pick`] has sent: it moves to the back of its ring, or leaves it.
    #[inline(always)]
    pub fn sent(&mut self, q: QueueId, still_ready: bool) {
        let ring = &mut self.rings[q as usize];
        let slot = ring.head;
        if still_ready && ring.tail == slot {
            return;
        }
        ring.head = self.next[slot as usize];
        if ring.head == NIL {
            self.ready.remove(q as usize);
            self.groups.emptied(q as usize, ring);
        }
        if still_ready {
            self.make_ready(q, slot);
        }
    }

    /// Whether any flow may send.
    #[inline(always)]
    pub fn sendable(&self) -> bool {
        !self.ready.minus(&self.closed).is_empty()
    }
}

impl PausableByNumber for NicQueues {
    fn set_closed(&mut self, queue: QueueId, closed: bool) {
        if self.obeys && (queue as usize) < self.rings.len() {
            if closed { self.closed.insert(queue as usize) } else { self.closed.remove(queue as usize) }
        }
    }

    fn set_all_closed(&mut self, closed: QueueMap) {
        if self.obeys {
            self.closed = self.all.and(&Bits::from_map(closed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backpressure::{PausedQueues, Upstream};
    use backwater_types::{ControlFrame, Instant};

    #[test]
    fn flows_of_a_queue_take_turns_and_a_paused_queue_is_silent() {
        let (mut nic, mut rng) = (NicQueues::new(2, 1, 1048, true), Stream::new(1, 1, 1));
        assert_eq!((nic.join(0, false, &mut rng), nic.join(0, false, &mut rng)), (0, 1));
        nic.make_ready(0, 0);
        nic.make_ready(0, 1);
        nic.make_ready(1, 2);
        let mut order = Vec::new();
        for _ in 0..6 {
            let (q, slot) = nic.pick(|_| 1048).unwrap();
            nic.sent(q, true);
            order.push(slot);
        }
        assert_eq!(order, [2, 0, 2, 1, 2, 0]);
        nic.set_closed(1, true);
        for _ in 0..4 {
            let (q, slot) = nic.pick(|_| 1048).unwrap();
            assert_ne!(slot, 2);
            nic.sent(q, true);
        }
        nic.set_closed(0, true);
        assert!(!nic.sendable() && nic.pick(|_| 1048).is_none());
        nic.set_all_closed(QueueMap::default());
        assert!(nic.sendable());
    }

    #[test]
    fn bfcs_half_pauses_queues_of_a_nic_that_obeys() {
        for obeys in [true, false] {
            let (mut nic, mut half) = (NicQueues::new(2, 1, 1048, obeys), PausedQueues::default());
            nic.join(0, false, &mut Stream::new(1, 1, 1));
            nic.make_ready(0, 0);
            let mut sends_after = |frame: ControlFrame| {
                half.on_control(Instant::ZERO, 0, frame, &mut nic);
                nic.sendable()
            };
            assert_eq!(sends_after(ControlFrame::Pause(0)), !obeys);
            assert!(sends_after(ControlFrame::Resume(0)));
            assert_eq!(sends_after(ControlFrame::Bitmap(QueueMap::new([1, 0]))), !obeys);
            assert!(sends_after(ControlFrame::Bitmap(QueueMap::new([2, 0]))));
            assert!(sends_after(ControlFrame::Pause(2)), "queue 2 does not exist");
        }
    }

    #[test]
    fn a_new_flow_gets_an_empty_unpaused_queue_first() {
        let (mut nic, mut rng) = (NicQueues::new(3, 1, 1048, true), Stream::new(1, 1, 1));
        nic.set_closed(0, true);
        assert_eq!(nic.join(0, false, &mut rng), 1);
        assert_eq!(nic.join(0, false, &mut rng), 2);
        assert_eq!(nic.join(0, false, &mut rng), 0, "queue 0 is empty, though paused");
        nic.leave(2);
        assert_eq!(nic.join(0, false, &mut rng), 2);
    }

    #[test]
    fn labelled_flows_share_the_first_queue_and_leave_the_others_alone() {
        let (mut nic, mut rng) = (NicQueues::new(3, 1, 1048, true).with_labels(true), Stream::new(1, 1, 1));
        assert_eq!(nic.join(0, false, &mut rng), 0, "no labelled flow has been seen");
        nic.leave(0);
        assert_eq!([(); 5].map(|()| nic.join(0, true, &mut rng)), [0; 5]);
        (0..5).for_each(|_| nic.leave(0));
        for _ in 0..50 {
            assert_ne!(nic.join(0, false, &mut rng), 0, "queue 0 is reserved, empty or not");
        }
        let mut nic = NicQueues::new(3, 1, 1048, true);
        assert_eq!([(); 3].map(|()| nic.join(0, true, &mut rng)), [0, 1, 2], "labels are ignored");
        let mut single = NicQueues::new(1, 1, 1048, true).with_labels(true);
        assert_eq!(
            (single.join(0, true, &mut rng), single.join(0, false, &mut rng)),
            (0, 0),
            "the only queue is shared"
        );
    }

    #[test]
    fn a_flow_gets_a_queue_of_its_class_and_the_highest_class_that_may_send_goes_first() {
        // Queues 0 to 2 belong to class 0, 3 and 4 to class 1, 5 and 6 to class 2.
        let (mut nic, mut rng) = (NicQueues::new(7, 3, 1048, true), Stream::new(1, 1, 1));
        for (class, queues) in [(0, 0..3), (1, 3..5), (2, 5..7)] {
            for q in queues.clone() {
                assert_eq!(nic.join(class, false, &mut rng), q, "flows take empty queues in turn");
            }
            for _ in 0..50 {
                assert!(queues.contains(&nic.join(class, false, &mut rng)), "class {class} shares its own queues");
            }
        }
        assert!((5..7).contains(&nic.join(9, false, &mut rng)), "classes beyond the last count as the last");
        for (slot, q) in [6, 4, 3, 1].into_iter().enumerate() {
            nic.make_ready(q, slot as u32);
        }
        let next = |nic: &mut NicQueues| {
            let (q, _) = nic.pick(|_| 1048).expect("a flow may send");
            nic.sent(q, true);
            q
        };
        assert_eq!([(); 3].map(|()| next(&mut nic)), [1; 3]);
        nic.set_closed(1, true);
        assert_eq!([(); 4].map(|()| next(&mut nic)), [3, 4, 3, 4], "queues of a class take turns");
        nic.set_all_closed(QueueMap::new([1 << 1 | 1 << 3 | 1 << 4, 0]));
        assert_eq!(next(&mut nic), 6);
        nic.set_closed(4, false);
        assert_eq!(next(&mut nic), 4);
    }
}
