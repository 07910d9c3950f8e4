//! Ports of the current switch where the current event may begin or end pauses of followed packets.

use backwater_types::{PortId, QueueId};

/// Port to look at after the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recheck {
    pub(super) port: PortId,
    /// The only queue that the event concerns; `None`: all queues.
    pub(super) queue: Option<QueueId>,
    /// Whether the reason is a frame, a timer or a change of the link, which may also change the cause of a pause.
    pub(super) by_frame: bool,
}

/// Ports to look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Rechecks {
    /// Whether a port below is set. Most events read only this field.
    some: bool,
    ports: Vec<Recheck>,
    /// Port where a followed packet joined a queue as the last packet.
    joined: Option<PortId>,
}

impl Rechecks {
    /// Whether there are ports to look at.
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

    /// Begins to take the ports. Returns the port that a packet joined, which comes before the others.
    pub(super) fn begin(&mut self) -> Option<PortId> {
        self.some = false;
        self.joined.take()
    }

    /// Takes a port, the newest first.
    pub(super) fn pop(&mut self) -> Option<Recheck> {
        self.ports.pop()
    }
}
