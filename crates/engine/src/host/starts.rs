//! Flows that are started at a host by the completion of other flows there, and wakes, until their time comes.

use backwater_fabric::flow::Flow;
use backwater_types::Instant;
use std::collections::VecDeque;

/// Flows that will start, by time. Flows of one instant are in the order of [`Starts::push`].
#[derive(Debug, Default)]
pub struct Starts(VecDeque<Flow>);

impl Starts {
    /// Adds a flow that will start at the host, or a wake.
    pub fn push(&mut self, flow: Flow) {
        let place = self.0.partition_point(|other| other.at <= flow.at);
        self.0.insert(place, flow);
    }

    /// Returns when the next flow starts; [`Instant::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Instant {
        self.0.front().map_or(Instant::NEVER, |flow| flow.at)
    }

    /// Takes the next flow, if it is due.
    #[inline]
    pub fn pop_due(&mut self, now: Instant) -> Option<Flow> {
        self.0.pop_front_if(|flow| flow.at <= now)
    }
}
