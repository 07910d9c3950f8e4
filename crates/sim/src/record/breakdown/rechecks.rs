//! Ports of the switch at hand where the event at hand may begin or end pauses of followed packets.

use backwater_types::{PortId, QueueId};

/// Port to look at when the event has been handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recheck {
    pub(super) port: PortId,
    /// Queue that alone is concerned.
    pub(super) queue: Option<QueueId>,
    /// A frame, a timer or a change of the link is the reason, so that the cause of a pause may change too.
    pub(super) by_frame: bool,
}

/// Ports to look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Rechecks {
    /// A port below is set: all that is read after most events.
    some: bool,
    ports: Vec<Recheck>,
    /// Port that a followed packet joined, the last one in its queues.
    joined: Option<PortId>,
}

impl Rechecks {
    /// Whether there is any.
    #[inline(always)]
    pub(super) fn some(&self) -> bool {
        self.some
    }

    /// Adds a port; a repetition of the last one adds nothing.
    pub(super) fn add(&mut self, recheck: Recheck) {
        if self.ports.last() != Some(&recheck) {
            self.ports.push(recheck);
            self.some = true;
        }
    }

    /// Adds the packet that has joined `port`.
    pub(super) fn add_joined(&mut self, port: PortId) {
        (self.joined, self.some) = (Some(port), true);
    }

    /// Begins to take the ports: returns that of a packet that joined, which comes before the others.
    pub(super) fn begin(&mut self) -> Option<PortId> {
        self.some = false;
        self.joined.take()
    }

    /// Takes a port, the newest first.
    pub(super) fn pop(&mut self) -> Option<Recheck> {
        self.ports.pop()
    }
}
