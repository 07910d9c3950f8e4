//! Pending events of the fabric, in order of time. The order of simultaneous events is random, as in the simulator, so
//! that no port of a node is favoured for a whole run.

use backwater_types::hash::Stream;
use backwater_types::{Instant, PortId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The first frame of the link into this port arrives.
    Arrival(u32, PortId),
    /// The transmission of this port ends.
    Poll(u32, PortId),
    /// The timer of this node expires.
    Timer(u32),
    /// The next frame of this host's program enters its NIC.
    Enter(u32),
    /// The neighbour at this port has started again.
    Started(u32, PortId),
    /// An alarm at the end of this link to another part.
    Outside(u32),
}

/// Pending events.
#[derive(Debug)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Instant, u32, Event)>>,
    ties: Stream,
}

impl Agenda {
    /// Creates an empty agenda. `seed` decides the order of simultaneous events.
    pub(super) fn new(seed: u64) -> Agenda {
        Agenda { heap: BinaryHeap::new(), ties: Stream::new(seed, 0x7469_6573, 0) }
    }

    /// Schedules an event.
    pub(super) fn push(&mut self, at: Instant, event: Event) {
        self.heap.push(Reverse((at, self.ties.next_u32(), event)));
    }

    /// Time of the next event; [`Instant::NEVER`] if there is none.
    pub(super) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, ..))| *at)
    }

    /// Takes the next event up to `until`.
    pub(super) fn pop(&mut self, until: Instant) -> Option<(Instant, Event)> {
        let first = self.heap.peek_mut().filter(|first| first.0.0 <= until)?;
        let Reverse((at, _, event)) = std::collections::binary_heap::PeekMut::pop(first);
        Some((at, event))
    }
}
