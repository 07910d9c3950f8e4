//! Timing wheel: events in order of time, and at one instant in the order in which they were scheduled, as in ns-3.
//!
//! The wheel has a slot for every nanosecond and a first-in, first-out list in each, so that order costs nothing to
//! keep. An event further ahead than the wheel reaches waits in a sorted map. It moves into its slot before anything
//! scheduled later can. Times are whole nanoseconds. An arrival carries its frame, so that the frame lies where it is
//! looked for first.

use crate::schedule::FlowTimer;
use backwater_types::{Extension, Frame, Instant, Packet, PortId};
use std::collections::BTreeMap;

/// Event at a node: kind, node and port in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event(u32);

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A frame arrives at the port.
    Arrival,
    /// A transmission of the port ends.
    Free,
    /// A timer of the node expires.
    Timer,
    /// A timer of one flow of the node expires; the frame names the flow.
    FlowTimer,
}

const PORT_SHIFT: u32 = 16;
const KIND_SHIFT: u32 = 30;

impl Event {
    /// Returns an event at `port` of node number `node`, which counts hosts first.
    #[inline(always)]
    pub fn new(kind: EventKind, node: u32, port: PortId) -> Event {
        debug_assert!(node < 1 << PORT_SHIFT && (port as u32) < 1 << (KIND_SHIFT - PORT_SHIFT));
        Event((kind as u32) << KIND_SHIFT | (port as u32) << PORT_SHIFT | node)
    }

    /// Returns the kind, node and port.
    #[inline(always)]
    pub fn parts(self) -> (EventKind, usize, PortId) {
        let kind = match self.0 >> KIND_SHIFT {
            0 => EventKind::Arrival,
            1 => EventKind::Free,
            2 => EventKind::Timer,
            _ => EventKind::FlowTimer,
        };
        let port = self.0 >> PORT_SHIFT & ((1 << (KIND_SHIFT - PORT_SHIFT)) - 1);
        (kind, (self.0 & 0xffff) as usize, port as PortId)
    }
}

const SLOTS: u64 = 1 << 14;
const NIL: u32 = u32::MAX;

/// Frame of an event that has none.
const NO_FRAME: Packet = Packet::NONE;

/// Event in its slot. The frame means something only if the event is an arrival or a flow's timer.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    frame: Frame<E>,
    event: Event,
    next: u32,
}

/// Pending events.
#[derive(Debug)]
pub struct Wheel<E = ()> {
    /// `[time mod SLOTS]`: first and last event.
    slots: Vec<(u32, u32)>,
    /// Slots that hold events, a bit each.
    taken: Vec<u64>,
    entries: Vec<Entry<E>>,
    free: u32,
    held: usize,
    /// Time of the last event, ns; nothing is scheduled before it.
    now: u64,
    far: BTreeMap<u64, Vec<(Event, Frame<E>)>>,
    far_first: u64,
}

impl<E> Default for Wheel<E> {
    fn default() -> Wheel<E> {
        Wheel {
            slots: vec![(NIL, NIL); SLOTS as usize],
            taken: vec![0; SLOTS as usize / 64],
            entries: Vec::new(),
            free: NIL,
            held: 0,
            now: 0,
            far: BTreeMap::new(),
            far_first: u64::MAX,
        }
    }
}

impl<E: Extension> Wheel<E> {
    /// Schedules an event without a frame, after all others at that time.
    #[inline(always)]
    pub fn push(&mut self, at: Instant, event: Event) {
        let at = at.0 / 1000;
        match self.reaches(at) {
            true => self.append(at, event),
            false => self.put_far(at, event, NO_FRAME.into()),
        }
    }

    /// Schedules the arrival of a frame, after all others at that time.
    #[inline(always)]
    pub fn push_frame(&mut self, at: Instant, event: Event, frame: &Frame<E>) {
        let at = at.0 / 1000;
        if !self.reaches(at) {
            return self.put_far(at, event, *frame);
        }
        self.append(at, event);
        let last = self.slots[(at % SLOTS) as usize].1;
        self.entries[last as usize].frame = *frame;
    }

    /// Schedules the expiry of a flow's timer, after all others at that time.
    pub fn push_flow_timer(&mut self, at: Instant, node: u32, timer: FlowTimer) {
        let named = Packet { flow: timer.flow, sender_slot: timer.slot, class: timer.number, ..NO_FRAME };
        self.push_frame(at, Event::new(EventKind::FlowTimer, node, 0), &named.into());
    }

    #[inline(always)]
    fn reaches(&self, at: u64) -> bool {
        debug_assert!(at >= self.now, "an event in the past");
        at - self.now < SLOTS
    }

    #[cold]
    fn put_far(&mut self, at: u64, event: Event, frame: Frame<E>) {
        self.far.entry(at).or_default().push((event, frame));
        self.far_first = self.far_first.min(at);
    }

    #[inline(always)]
    fn append(&mut self, at: u64, event: Event) {
        let cell = self.free;
        let cell = if cell == NIL {
            self.entries.push(Entry { frame: NO_FRAME.into(), event, next: NIL });
            self.entries.len() as u32 - 1
        } else {
            let entry = &mut self.entries[cell as usize];
            self.free = entry.next;
            (entry.event, entry.next) = (event, NIL);
            cell
        };
        let slot = (at % SLOTS) as usize;
        let (first, last) = self.slots[slot];
        if first == NIL {
            self.slots[slot] = (cell, cell);
            self.taken[slot / 64] |= 1 << (slot % 64);
        } else {
            self.entries[last as usize].next = cell;
            self.slots[slot].1 = cell;
        }
        self.held += 1;
    }

    /// Returns the time of the next event; [`Instant::NEVER`] if there is none.
    pub fn next(&self) -> Instant {
        match self.next_ns() {
            u64::MAX => Instant::NEVER,
            ns => Instant(1000 * ns),
        }
    }

    #[inline(always)]
    fn next_ns(&self) -> u64 {
        if self.held == 0 {
            return self.far_first;
        }
        let start = (self.now % SLOTS) as usize;
        let words = self.taken.len();
        let mut bits = self.taken[start / 64] & !0 << (start % 64);
        let mut word = start / 64;
        while bits == 0 {
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = self.taken[word];
        }
        let slot = (64 * word) as u64 + bits.trailing_zeros() as u64;
        self.now + (slot + SLOTS - start as u64) % SLOTS
    }

    /// Takes the next event, if it is before `end`, with its frame.
    #[inline(always)]
    pub fn pop_before(&mut self, end: Instant) -> Option<(Instant, Event, Frame<E>)> {
        let at = self.next_ns();
        if at == u64::MAX || 1000 * at >= end.0 {
            return None;
        }
        if at > self.now {
            self.now = at;
            if self.far_first < at + SLOTS {
                self.move_in();
            }
        }
        let slot = (at % SLOTS) as usize;
        let (cell, last) = self.slots[slot];
        let entry = &mut self.entries[cell as usize];
        let (event, next, frame) = (entry.event, entry.next, entry.frame);
        entry.next = self.free;
        self.free = cell;
        self.slots[slot].0 = next;
        if cell == last {
            self.slots[slot] = (NIL, NIL);
            self.taken[slot / 64] &= !(1 << (slot % 64));
        }
        self.held -= 1;
        Some((Instant(1000 * at), event, frame))
    }

    /// Moves the events that the wheel now reaches from the map into their slots.
    #[cold]
    fn move_in(&mut self) {
        while let Some(entry) = self.far.first_entry()
            && *entry.key() < self.now + SLOTS
        {
            let (at, events) = entry.remove_entry();
            for (event, frame) in events {
                self.append(at, event);
                let last = self.slots[(at % SLOTS) as usize].1;
                self.entries[last as usize].frame = frame;
            }
        }
        self.far_first = self.far.first_key_value().map_or(u64::MAX, |(at, _)| *at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::Stream;

    #[test]
    fn an_event_says_what_it_was_made_of() {
        for kind in [EventKind::Arrival, EventKind::Free, EventKind::Timer] {
            for (node, port) in [(0, 0), (65_535, 511), (143, 23)] {
                assert_eq!(Event::new(kind, node, port).parts(), (kind, node as usize, port));
            }
        }
    }

    /// The reference is a list sorted by `(time, number of the push)`.
    #[test]
    fn events_come_by_time_and_then_in_the_order_they_were_scheduled() {
        let (mut wheel, mut rng) = (Wheel::<()>::default(), Stream::new(1, 2, 3));
        let (mut expected, mut now, mut pushed) = (BTreeMap::new(), 0u64, 0u32);
        for _ in 0..200_000 {
            if rng.next_u32() % 5 < 3 || expected.is_empty() {
                let reach = [3, 300, 20_000, 100_000][rng.next_u32() as usize % 4];
                let at = now + rng.next_u32() as u64 % reach;
                let event = Event::new(EventKind::Free, pushed % 65_536, (pushed / 65_536) as PortId);
                wheel.push(Instant(1000 * at), event);
                expected.insert((at, pushed), event);
                pushed += 1;
            } else {
                let ((at, _), event) = expected.pop_first().expect("not empty");
                assert_eq!(wheel.next(), Instant(1000 * at));
                assert_eq!(wheel.pop_before(Instant(1000 * at)), None);
                let popped = wheel.pop_before(Instant(1000 * at + 1)).map(|(at, event, _)| (at, event));
                assert_eq!(popped, Some((Instant(1000 * at), event)));
                now = at;
            }
        }
        assert!(pushed > 100_000);
    }
}
