//! What a flow's completion time is made of.

use backwater_types::{Duration, PortId, QueueId};

/// What a flow's last packet waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The link or the port sent packets of the same flow that were ahead.
    OwnPackets,
    /// The port sent packets of the same queue, of other flows.
    Queue,
    /// The port sent packets of other queues.
    OtherQueues,
    /// The NIC sent packets of other flows.
    OtherFlows,
    /// ACKs or control frames were sent.
    AcksAndFrames,
    /// A neighbour held the queue, the flow or the port.
    Paused,
    /// The sender might not send: its window, its pace, credits or grants.
    Transport,
    /// It, or what the receiver lacked before it, was lost or late, and had to be sent again.
    Recovery,
    /// The port sent nothing, though nothing held the packet.
    Idle,
    /// Onto a link.
    Transmission,
    /// Along a link.
    Propagation,
    /// In the receiving host.
    HostDelay,
}

impl Why {
    /// All of them, in the order of their numbers.
    pub const ALL: [Why; 12] = {
        use Why::*;
        [
            OwnPackets,
            Queue,
            OtherQueues,
            OtherFlows,
            AcksAndFrames,
            Paused,
            Transport,
            Recovery,
            Idle,
            Transmission,
            Propagation,
            HostDelay,
        ]
    };

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Why::OwnPackets => "own-packets",
            Why::Queue => "queue",
            Why::OtherQueues => "other-queues",
            Why::OtherFlows => "other-flows",
            Why::AcksAndFrames => "acks-and-frames",
            Why::Paused => "paused",
            Why::Transport => "transport",
            Why::Recovery => "recovery",
            Why::Idle => "idle",
            Why::Transmission => "transmission",
            Why::Propagation => "propagation",
            Why::HostDelay => "host-delay",
        }
    }
}

/// A part of a flow's completion time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Flow number.
    pub flow: u32,
    /// Links before it: 0 at the source.
    pub hop: u8,
    /// Where.
    pub node: u32,
    /// At which port of it.
    pub port: PortId,
    /// In which of its data queues.
    pub queue: QueueId,
    /// For what.
    pub why: Why,
    /// The workload of the packets that were sent meanwhile, or of the flow for whose sake it was paused.
    pub whose: Option<u8>,
    /// For the sake of which flow it was paused, if that is known.
    pub sake: Option<u32>,
    /// Which node paused it.
    pub by: Option<u32>,
    /// Towards which node the paused-for flow's packet was waiting there.
    pub towards: Option<u32>,
    /// How long.
    pub span: Duration,
}

/// A part of a journey: its flow is that of the journey.
pub(super) type Parts = Vec<Wait>;

/// Adds a part, to an equal one of the same place if there is one.
pub(super) fn add(parts: &mut Parts, part: Wait) {
    if part.span == Duration::ZERO {
        return;
    }
    // What differs most often is compared first.
    let alike = |other: &Wait| (other.why, other.sake, other.whose) == (part.why, part.sake, part.whose);
    let same = |other: &&mut Wait| alike(other) && Wait { span: part.span, ..**other } == part;
    match parts.iter_mut().rev().take_while(|other| other.hop == part.hop).find(same) {
        Some(other) => other.span = Duration(other.span.0 + part.span.0),
        None => parts.push(part),
    }
}

/// One at a place, of nothing yet.
pub(super) fn part(flow: u32, hop: u8, (node, port): (usize, PortId), queue: QueueId, why: Why) -> Wait {
    let (whose, sake, by, towards) = (None, None, None, None);
    Wait { flow, hop, node: node as u32, port, queue, why, whose, sake, by, towards, span: Duration::ZERO }
}
