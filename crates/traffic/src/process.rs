//! The interface of a source of flows: open-loop or closed-loop.
//!
//! An open-loop process returns all its flows from [`Process::next`], and every partition calls it for itself. A
//! closed-loop process is notified of each of its flows that has arrived in full or was acknowledged in full. It may then
//! start further flows **at the host where that happened**, now or later, or ask to be woken there. Partitions therefore
//! exchange only packets, and results are the same for any window and any number of threads. The state of a closed-loop process is kept per host: information for
//! another host has to be sent as a flow.
//!
//! Threads do not exchange start times, so a closed-loop process numbers all its flows in advance. All of its flows are
//! closed-loop flows, including the first ones, which wait for no other
//! ([`Flow::is_closed_loop`](crate::Flow::is_closed_loop)).

use crate::flow::Arrival;
use backwater_jobs::Span;
use backwater_jobs::machine::WaitingReceive;
use backwater_types::Instant;

/// What the ranks of a job have done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Times of ranks in phases, in no order.
    pub spans: Vec<Span>,
    /// Receives that wait for a message.
    pub waiting: Vec<WaitingReceive>,
}

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

    /// Handles the last acknowledgement of closed-loop flow `number`, and starts the flows that waited for it at its
    /// source.
    fn on_acknowledged(&mut self, _number: u32, _now: Instant, _start: &mut dyn FnMut(Arrival)) {}

    /// Handles a time that the process asked for by [`Arrival::wake`].
    fn on_wake(&mut self, what: u32, _now: Instant, _start: &mut dyn FnMut(Arrival)) {
        unreachable!("wake {what} of a process that asks for none")
    }

    /// Takes the spans of iterations that ranks of a job have ended since they were last taken. All spans of a rank in an
    /// iteration come at once. [`Process::take_progress`] has the others.
    fn take_ended_spans(&mut self) -> Vec<Span> {
        Vec::new()
    }

    /// Takes what the ranks of a job have done, and what they wait for.
    fn take_progress(&mut self) -> Progress {
        Progress::default()
    }

    /// Handles the arrival of the last byte of closed-loop flow `number`, and starts the flows that waited for it at
    /// its destination.
    fn on_received(&mut self, number: u32, _now: Instant, _start: &mut dyn FnMut(Arrival)) {
        unreachable!("flow {number} of an open-loop process")
    }
}
