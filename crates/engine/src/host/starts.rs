//! Flows that what has arrived at a host starts there, until they start.

use crate::flow::Flow;
use backwater_types::Instant;
use std::collections::VecDeque;

/// By time; of one instant in the order in which they were put here.
#[derive(Debug, Default)]
pub struct Starts(VecDeque<Flow>);

impl Starts {
    /// A flow that will start here.
    pub fn push(&mut self, flow: Flow) {
        let place = self.0.partition_point(|other| other.at <= flow.at);
        self.0.insert(place, flow);
    }

    /// When the next starts; [`Instant::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Instant {
        self.0.front().map_or(Instant::NEVER, |flow| flow.at)
    }

    /// The next, if it is due.
    #[inline]
    pub fn pop_due(&mut self, now: Instant) -> Option<Flow> {
        self.0.pop_front_if(|flow| flow.at <= now)
    }
}
