//! What a source of flows is to the rest.
//!
//! Most processes do not listen: [`Process::next`] says all they ever start, and every partition walks it for itself. One that
//! listens is told of each of its flows when that has arrived in full, and may start others **at the host where it arrived**, now
//! or later. So nothing crosses a partition but the flows themselves, and results are the same for any windows and any number of
//! threads. What it remembers is therefore by host: whatever another host should know has to be a flow to it.
//!
//! Threads do not talk about what starts when, so a process that listens numbers its flows itself, beforehand. All of its flows
//! are called dependent, those too that wait for none.

use crate::workload::flow::Arrival;
use backwater_types::Instant;

/// A source of flows.
pub trait Process: Send {
    /// The next flow that waits for no other, in order of arrival.
    fn next(&mut self) -> Option<Arrival>;

    /// How many flows it has, if it listens; they are numbered from 0.
    fn listens_to(&self) -> u32 {
        0
    }

    /// Its flow of this number, should it start at `at`.
    fn flow(&self, number: u32, _at: Instant) -> Arrival {
        unreachable!("flow {number} of a process that does not listen")
    }

    /// Its flow of this number has arrived in full, now. What starts at that host because of it.
    fn on_received(&mut self, number: u32, _now: Instant, _start: &mut dyn FnMut(Arrival)) {
        unreachable!("flow {number} of a process that does not listen")
    }
}
