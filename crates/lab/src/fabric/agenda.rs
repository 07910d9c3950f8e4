//! Pending events of the fabric, in order of time. The order of simultaneous events is random, as in the simulator, so
//! that no port of a node is favoured for a whole run.
//!
//! Frames on a link, and those that a program has sent, happen in their order. So only the first of each is an event
//! here, and the agenda stays small however many frames there are.

use backwater_types::hash::Stream;
use backwater_types::{Instant, PortId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// An event at a node.
#[derive(Clone, Copy, Debug)]
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

/// Place of an event in the agenda: its time, and a random number that decides between simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u128);

impl Place {
    /// Time of the event.
    pub(super) fn at(self) -> Instant {
        Instant((self.0 >> 32) as u64)
    }
}

/// Pending events.
#[derive(Debug)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Pending>>,
    ties: Stream,
}

/// A pending event. Only its place orders it.
#[derive(Clone, Copy, Debug)]
struct Pending {
    place: Place,
    event: Event,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.place == other.place
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl Agenda {
    /// Creates an empty agenda. `seed` decides the order of simultaneous events.
    pub(super) fn new(seed: u64) -> Agenda {
        Agenda { heap: BinaryHeap::new(), ties: Stream::new(seed, 0x7469_6573, 0) }
    }

    /// Schedules an event.
    pub(super) fn push(&mut self, at: Instant, event: Event) {
        let place = self.place(at);
        self.push_at(place, event);
    }

    /// Draws a place for an event that is scheduled later, by [`Agenda::push_at`].
    pub(super) fn place(&mut self, at: Instant) -> Place {
        Place(u128::from(at.0) << 32 | u128::from(self.ties.next_u32()))
    }

    /// Schedules an event at its place.
    pub(super) fn push_at(&mut self, place: Place, event: Event) {
        self.heap.push(Reverse(Pending { place, event }));
    }

    /// Time of the next event; [`Instant::NEVER`] if there is none.
    pub(super) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse(first)| first.place.at())
    }

    /// Takes the next event up to `until`.
    pub(super) fn pop(&mut self, until: Instant) -> Option<(Instant, Event)> {
        let first = self.heap.peek_mut().filter(|first| first.0.place.at() <= until)?;
        let Reverse(Pending { place, event }) = PeekMut::pop(first);
        Some((place.at(), event))
    }
}
