//! Parts of a flow's completion time.

use backwater_types::{Duration, PortId, QueueId};

/// Reason for which the packet that completed a flow waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The port sent earlier packets of the same flow.
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
    /// The sender's window, pace, credits or grants did not let it send.
    Transport,
    /// The packet, or one before it that the receiver lacked, was lost or late, and had to be sent again.
    Recovery,
    /// The port sent nothing, though nothing held the packet.
    Idle,
    /// Transmission onto a link.
    Transmission,
    /// Propagation along a link.
    Propagation,
    /// Delay in the receiving host.
    HostDelay,
}

impl Why {
    /// All reasons, in the order of their numbers.
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

    /// Name in tables.
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

/// Part of a flow's completion time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Flow number.
    pub flow: u32,
    /// Number of links behind the packet: 0 at the source.
    pub hop: u8,
    /// Node where the packet waited.
    pub node: u32,
    /// Port of the node.
    pub port: PortId,
    /// Data queue of the port.
    pub queue: QueueId,
    /// Reason.
    pub why: Why,
    /// Workload of the packets that were sent meanwhile, or of the flow that caused the pause.
    pub whose: Option<u8>,
    /// Flow that caused the pause, if it is known.
    pub sake: Option<u32>,
    /// Node that sent the pause.
    pub by: Option<u32>,
    /// Next node of the packet that caused the pause, which waited at `by`.
    pub towards: Option<u32>,
    /// Length.
    pub span: Duration,
}
