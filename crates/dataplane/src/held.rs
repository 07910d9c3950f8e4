//! What a switch knows of a packet beside what it says itself.

use backwater_types::{Packet, PortId, QueueId};
use core::ops::Add;

/// What a switch keeps with a packet it holds. The packet itself is already as it will depart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// A word of the assignment's (BFC: the flow-table entry).
    pub tag: u32,
    /// The queue it left upstream, as its header said on arrival (BFC-A4).
    pub upstream_queue: QueueId,
    /// Port it came in by.
    pub ingress: u8,
    /// It counts towards a pause (BFC `counted`).
    pub counted: bool,
    /// It takes part in bookkeeping (BFC-B3); always, without sampling.
    pub sampled: bool,
}

impl Held {
    /// Of a packet that came in by `ingress`, before it counts towards anything.
    #[inline(always)]
    pub(crate) fn new(packet: &Packet, ingress: PortId, tag: u32, sampled: bool) -> Held {
        Held { tag, upstream_queue: packet.upstream_queue, ingress: ingress as u8, counted: false, sampled }
    }
}

/// Where a packet would go.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The queue.
    pub queue: QueueId,
    /// A word to keep with the packet.
    pub tag: u32,
    /// The flow was given this queue just now.
    pub fresh: bool,
}

/// How often flows were given a queue at one port, and how often that queue held other data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assigned {
    /// Flows that became active.
    pub assignments: u64,
    /// Of those, into a queue that was not empty.
    pub collisions: u64,
}

impl Add for Assigned {
    type Output = Assigned;

    fn add(self, other: Assigned) -> Assigned {
        Assigned { assignments: self.assignments + other.assignments, collisions: self.collisions + other.collisions }
    }
}

/// A packet held by a switch, for checks.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    /// Egress port.
    pub port: PortId,
    /// Data queue.
    pub queue: QueueId,
    /// The packet.
    pub packet: Packet,
    /// What is kept with it.
    pub held: Held,
}
