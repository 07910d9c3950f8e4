//! A network in which each message takes a given time, to run jobs on.

use backwater_jobs::drive::{First, When, drive};
use backwater_jobs::placed::{Local, Overheads};
use backwater_jobs::{Job, Machine, Placed, Placement};
use backwater_types::{Duration, Instant};
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

/// Runs a job. A message of so many bytes takes `takes`, its acknowledgement nothing. Returns the machine, with a trace
/// of the first repetition, and the time of the last event.
pub(crate) fn run(job: Job, placement: Placement, mut takes: impl FnMut(u64) -> Duration) -> (Machine, Instant) {
    let hosts = placement.hosts.len();
    let placed = Arc::new(Placed::new(Arc::new(job), placement, hosts, 1 << 23).expect("few messages"));
    let mut machine = Machine::new(placed.clone());
    machine.trace(0..1);
    let when = When { start: Instant::ZERO, tick: 1, end: Instant::NEVER, first: First::Wakes };
    let last = drive(&mut machine, when, &mut |number, at| [at + takes(placed.transfer(number).bytes); 2]);
    (machine, last)
}
