//! Metadata that a switch keeps with a packet.

use backwater_types::{Packet, PortId, QueueId};
use core::ops::Add;

/// Metadata of a buffered packet. The packet itself already has the header with which it will depart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Tag of the queue assignment (BFC: index of the flow-table entry).
    pub tag: u32,
    /// Queue that the packet left upstream, from its header on arrival (BFC-A4).
    pub upstream_queue: QueueId,
    /// Ingress port.
    pub ingress: u8,
    /// Whether the packet counts towards a pause (BFC `counted`).
    pub counted: bool,
    /// Whether the packet takes part in bookkeeping (BFC-B3). Always true without sampling.
    pub sampled: bool,
}

impl Meta {
    /// Metadata of a packet that arrives by `ingress` and is not counted.
    #[inline(always)]
    pub(crate) fn new(packet: &Packet, ingress: PortId, tag: u32, sampled: bool) -> Meta {
        Meta { tag, upstream_queue: packet.upstream_queue, ingress: ingress as u8, counted: false, sampled }
    }
}

/// Queue chosen for a packet.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The queue.
    pub queue: QueueId,
    /// Tag to keep with the packet.
    pub tag: u32,
    /// Whether the flow has just been assigned to this queue.
    pub fresh: bool,
}

/// Flows assigned to queues at one port, and how many of these queues held other data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize))]
pub struct Assigned {
    /// Flows that became active.
    pub assignments: u64,
    /// Assignments to a queue that was not empty.
    pub collisions: u64,
}

impl Add for Assigned {
    type Output = Assigned;

    fn add(self, other: Assigned) -> Assigned {
        Assigned { assignments: self.assignments + other.assignments, collisions: self.collisions + other.collisions }
    }
}

/// A buffered packet and its place, for checks.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    /// Egress port.
    pub port: PortId,
    /// Data queue.
    pub queue: QueueId,
    /// The packet.
    pub packet: Packet,
    /// Metadata of the packet.
    pub held: Meta,
}
