//! A job without packets: its ranks run, and a function says when each message arrives.

use crate::machine::{Begin, Machine};
use backwater_types::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When the ranks run.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// Start of the job.
    pub start: Instant,
    /// Times at hosts are rounded up to multiples of this many picoseconds.
    pub tick: u64,
    /// End of the run: what happens then or later is left out.
    pub end: Instant,
    /// Which comes first if a rank wakes when a message arrives.
    pub first: First,
}

/// What comes first of a wake and an arrival at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The wake.
    Wakes,
    /// The arrival.
    Arrivals,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake(u32),
    Received(u32),
    Acknowledged(u32),
}

/// Events by time. A host wakes its ranks in the order in which they asked for it.
struct Events {
    heap: BinaryHeap<Reverse<(Instant, bool, u64, Event)>>,
    pushed: u64,
    first: First,
}

impl Events {
    fn push(&mut self, at: Instant, event: Event) {
        if at != Instant::NEVER {
            let later = matches!(event, Event::Wake(_)) == (self.first == First::Arrivals);
            self.pushed += 1;
            self.heap.push(Reverse((at, later, self.pushed, event)));
        }
    }
}

/// Runs all ranks of a job that has not started, and returns the time of the last event. `carry(number, at)` returns when
/// a message that starts at `at` arrives, and when its acknowledgement does; [`Instant::NEVER`] if they do not.
pub fn drive(machine: &mut Machine, when: When, carry: &mut dyn FnMut(u32, Instant) -> [Instant; 2]) -> Instant {
    let placed = machine.placed().clone();
    let busy = (0..placed.job().ranks()).filter(|rank| placed.job().len(*rank) > 0);
    // Ranks start in the order of their first messages.
    let mut ranks: Vec<(u32, u32)> = busy.map(|rank| (placed.first_message(rank), rank)).collect();
    ranks.sort_unstable();
    let mut events = Events { heap: BinaryHeap::new(), pushed: 0, first: when.first };
    let mut start = ranks.into_iter().map(|(_, rank)| (when.start, Event::Wake(rank)));
    let mut last = when.start;
    let mut begun = Vec::new();
    while let Some((now, event)) =
        start.next().or_else(|| events.heap.pop().map(|Reverse((at, .., event))| (at, event)))
        && now < when.end
    {
        let begin = &mut |begin| begun.push(begin);
        match event {
            Event::Wake(rank) => machine.on_wake(rank, now, begin),
            Event::Received(number) => machine.on_received(number, now, begin),
            Event::Acknowledged(number) => machine.on_acknowledged(number, now, begin),
        }
        for begin in begun.drain(..) {
            match begin {
                Begin::Wake { rank, at } => events.push(Instant(at.0.next_multiple_of(when.tick)), Event::Wake(rank)),
                Begin::Message { number, at } => {
                    let [received, acknowledged] = carry(number, at);
                    events.push(received, Event::Received(number));
                    events.push(acknowledged, Event::Acknowledged(number));
                }
            }
        }
        last = now;
    }
    last
}
