//! A network in which each message takes a given time, to run jobs on.

use backwater_jobs::placed::{Local, Overheads};
use backwater_jobs::{Begin, Job, Machine, Placed, Placement};
use backwater_types::{Duration, Instant};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Places rank r on host r, without overheads.
pub(crate) fn placement(ranks: u32) -> Placement {
    Placement {
        hosts: (0..ranks as u16).collect(),
        repetitions: 1,
        eager: u64::MAX,
        control: 64,
        queue_pairs: None,
        overheads: Overheads::default(),
        local: Local::default(),
    }
}

enum Event {
    Wake(u32),
    Received(u32),
    Acknowledged(u32),
}

/// Runs a job. A message of so many bytes takes `takes`, its acknowledgement nothing. Returns the machine, with a trace
/// of the first repetition, and the time of the last event.
pub(crate) fn run(job: Job, placement: Placement, mut takes: impl FnMut(u64) -> Duration) -> (Machine, Instant) {
    let hosts = placement.hosts.len();
    let placed = Arc::new(Placed::new(Arc::new(job), placement, hosts, 1 << 23).expect("few messages"));
    let mut machine = Machine::new(placed.clone());
    machine.trace(0);
    let (mut events, mut number) = (BTreeMap::new(), 0_u64);
    let mut push = |events: &mut BTreeMap<(Instant, u64), Event>, at, event| {
        number += 1;
        events.insert((at, number), event);
    };
    (0..placed.job().ranks()).for_each(|rank| push(&mut events, Instant::ZERO, Event::Wake(rank)));
    let mut last = Instant::ZERO;
    while let Some(((now, _), event)) = events.pop_first() {
        let mut begun = Vec::new();
        match event {
            Event::Wake(rank) => machine.on_wake(rank, now, &mut |what| begun.push(what)),
            Event::Received(number) => machine.on_received(number, now, &mut |what| begun.push(what)),
            Event::Acknowledged(number) => machine.on_acknowledged(number, now, &mut |what| begun.push(what)),
        }
        for what in begun {
            match what {
                Begin::Wake { rank, at } => push(&mut events, at, Event::Wake(rank)),
                Begin::Message { number, at } => {
                    let there = at + takes(placed.transfer(number).bytes);
                    push(&mut events, there, Event::Received(number));
                    push(&mut events, there, Event::Acknowledged(number));
                }
            }
        }
        last = now;
    }
    (machine, last)
}
