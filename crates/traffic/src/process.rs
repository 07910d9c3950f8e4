//! The interface of a source of flows: open-loop or closed-loop.
//!
//! An open-loop process returns all its flows from [`Process::next`], and every partition calls it for itself. A
//! closed-loop process is notified of each of its flows that has arrived in full. It may then start further flows **at
//! the host where the flow arrived**, now or later. Partitions therefore exchange only packets, and results are the
//! same for any window and any number of threads. The state of a closed-loop process is kept per host: information for
//! another host has to be sent as a flow.
//!
//! Threads do not exchange start times, so a closed-loop process numbers all its flows in advance. All of its flows are
//! closed-loop flows, including the first ones, which wait for no other
//! ([`Flow::is_closed_loop`](crate::Flow::is_closed_loop)).

use crate::flow::Arrival;
use backwater_types::Instant;

/// A source of flows.
pub trait Process: Send {
    /// Returns the next flow that waits for no other, in order of arrival.
    fn next(&mut self) -> Option<Arrival>;

    /// Number of closed-loop flows, which are numbered from 0; 0 for an open-loop process.
    fn closed_loop_flows(&self) -> u32 {
        0
    }

    /// Describes closed-loop flow `number` with start `at`.
    fn flow(&self, number: u32, _at: Instant) -> Arrival {
        unreachable!("flow {number} of an open-loop process")
    }

    /// Handles the arrival of the last byte of closed-loop flow `number`, and starts the flows that waited for it at
    /// its destination.
    fn on_received(&mut self, number: u32, _now: Instant, _start: &mut dyn FnMut(Arrival)) {
        unreachable!("flow {number} of an open-loop process")
    }
}
