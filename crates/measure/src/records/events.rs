//! Single events: pauses, drops, marks and changes of links.

use backwater_types::{DropReason, Instant, PortId, QueueId};

/// Event at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time.
    pub at: Instant,
    /// Node in the graph.
    pub node: u32,
    /// Port of the node; `None` for a drop on arrival.
    pub port: Option<PortId>,
    /// Queue that is paused, or that a packet left; `None` if the port (PFC) or a flow is paused.
    pub queue: Option<QueueId>,
    /// Flow that is paused, or of the packet.
    pub flow: Option<u32>,
    /// Kind of event.
    pub what: What,
}

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A frame left that pauses the neighbour.
    PauseSent,
    /// A frame left that resumes the neighbour.
    ResumeSent,
    /// A neighbour's pause begins to hold this port, or a queue or flow of it.
    Paused,
    /// The pause of the port, queue or flow ended.
    Resumed,
    /// A packet was marked as it left its queue.
    Marked,
    /// A packet was dropped here, or lost on the link it was put on.
    Dropped(DropReason),
    /// The link of this port failed.
    LinkDown,
    /// The link of this port recovered.
    LinkUp,
}

impl What {
    /// Names in tables; drops follow, in the order of their reasons.
    pub const NAMES: [&'static str; 7] =
        ["pause-sent", "resume-sent", "paused", "resumed", "marked", "link-down", "link-up"];

    /// Number of the name: its place in [`What::NAMES`], with drops behind them.
    pub fn code(self) -> u16 {
        match self {
            What::PauseSent => 0,
            What::ResumeSent => 1,
            What::Paused => 2,
            What::Resumed => 3,
            What::Marked => 4,
            What::LinkDown => 5,
            What::LinkUp => 6,
            What::Dropped(reason) => What::NAMES.len() as u16 + reason as u16,
        }
    }
}
