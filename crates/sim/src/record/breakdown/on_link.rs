//! Followed packets on the link of one egress port.

use crate::record::breakdown::by_flow::ByFlow;
use crate::record::breakdown::path_trace::PathTrace;
use crate::record::label::Label;
use backwater_types::Duration;

/// Traces of the followed packets on a link, in the order in which they were sent.
#[derive(Clone, Debug)]
pub(super) struct OnLink {
    traces: ByFlow<PathTrace>,
    /// Propagation delay.
    pub(super) delay: Duration,
}

impl OnLink {
    /// Builds an empty link.
    pub(super) fn new(delay: Duration) -> OnLink {
        OnLink { traces: ByFlow::new(), delay }
    }

    /// Puts a packet on the link.
    pub(super) fn push(&mut self, trace: PathTrace) {
        self.traces.push(trace.name.flow, trace);
    }

    /// Takes a packet off the link at its end, or if it is lost there; `None` if the packet has no trace.
    pub(super) fn take(&mut self, packet: Label) -> Option<PathTrace> {
        let at = self.traces.position(packet.name.flow, |trace| trace.is_of(packet))?;
        self.traces.remove(at)
    }

    /// Drops the trace of a packet that was just put on the link and is lost.
    pub(super) fn drop_last(&mut self, packet: Label) {
        if let Some(last) = self.traces.len().checked_sub(1)
            && self.traces[last].is_of(packet)
        {
            self.traces.remove(last);
        }
    }
}
