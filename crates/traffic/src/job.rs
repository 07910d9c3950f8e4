//! The flows of a job: messages that depend on messages ([`backwater_jobs`]).

use crate::flow::{Arrival, Own};
use crate::process::{Process, Progress};
use backwater_fabric::flow::CONNECTION_PORT;
use backwater_jobs::{Begin, Machine, Placed, Span};
use backwater_scenario::model::COLLECTIVE_PORT;
use backwater_types::Instant;
use std::sync::Arc;

/// A job on its hosts.
#[derive(Clone, Debug)]
pub struct Job {
    machine: Machine,
    /// What the start of the job causes, in order of time.
    first: std::vec::IntoIter<Arrival>,
    /// Rounds times up to whole multiples of this many picoseconds.
    tick: u64,
}

impl Job {
    /// Starts the ranks of a job at `start`, if their hosts are `here`. Times at hosts are rounded up to multiples of
    /// `tick` picoseconds.
    pub fn new(placed: Arc<Placed>, start: Instant, tick: u64, here: &dyn Fn(u16) -> bool) -> Job {
        let job = placed.job();
        let busy = (0..job.ranks()).filter(|rank| job.len(*rank) > 0 && here(placed.host(*rank)));
        // Of ranks that start at one instant, that comes first whose first message does.
        let mut ranks: Vec<(u32, u32)> = busy.map(|rank| (placed.first_message(rank), rank)).collect();
        ranks.sort_unstable();
        let mut job = Job { machine: Machine::new(placed), first: Vec::new().into_iter(), tick };
        let mut first = Vec::new();
        for (order, rank) in ranks {
            job.begin(&mut |arrival| first.push(arrival), order, |machine, begin| machine.on_wake(rank, start, begin));
        }
        first.sort_by_key(|arrival: &Arrival| arrival.at);
        job.first = first.into_iter();
        job
    }

    fn placed(&self) -> &Placed {
        self.machine.placed()
    }

    /// Passes on what a rank asks for. `order` orders its wakes among those of one instant.
    fn begin(
        &mut self,
        start: &mut dyn FnMut(Arrival),
        order: u32,
        event: impl FnOnce(&mut Machine, &mut dyn FnMut(Begin)),
    ) {
        let (placed, tick) = (self.machine.placed().clone(), self.tick);
        event(&mut self.machine, &mut |begin| {
            start(match begin {
                Begin::Message { number, at } => message(&placed, number, at),
                Begin::Wake { rank, at } => {
                    Arrival::wake(rank, order, Instant(at.0.next_multiple_of(tick)), placed.host(rank))
                }
            });
        });
    }
}

/// Makes the flow of a message.
fn message(placed: &Placed, number: u32, at: Instant) -> Arrival {
    let transfer = placed.transfer(number);
    Arrival {
        at,
        src: transfer.src,
        dst: transfer.dst,
        size: transfer.bytes,
        port: transfer.queue_pair.map_or(COLLECTIVE_PORT, |pair| CONNECTION_PORT + pair),
        priority: None,
        own: Some(Own { number, slot: transfer.slot }),
    }
}

impl Process for Job {
    fn next(&mut self) -> Option<Arrival> {
        self.first.next()
    }

    fn closed_loop_flows(&self) -> u32 {
        self.placed().messages()
    }

    fn flow(&self, number: u32, at: Instant) -> Arrival {
        message(self.placed(), number, at)
    }

    fn on_received(&mut self, number: u32, now: Instant, start: &mut dyn FnMut(Arrival)) {
        self.begin(start, 0, |machine, begin| machine.on_received(number, now, begin));
    }

    fn on_acknowledged(&mut self, number: u32, now: Instant, start: &mut dyn FnMut(Arrival)) {
        self.begin(start, 0, |machine, begin| machine.on_acknowledged(number, now, begin));
    }

    fn take_progress(&mut self) -> Progress {
        Progress { waiting: self.machine.waiting(), spans: self.machine.take_spans() }
    }

    fn take_ended_spans(&mut self) -> Vec<Span> {
        self.machine.take_ended_spans()
    }

    fn on_wake(&mut self, rank: u32, now: Instant, start: &mut dyn FnMut(Arrival)) {
        self.begin(start, 0, |machine, begin| machine.on_wake(rank, now, begin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_scenario::topology::expand;
    use backwater_scenario::{job, load_str};
    use std::path::Path;

    /// Messages of a collective have these numbers: of n ranks, message `(iteration * steps + step) * receivers + r` goes to
    /// the r-th rank that receives, and comes from the rank before it, or in step s of an all-to-all from the rank s + 1
    /// before it. Its slot is its place among the messages to that rank.
    #[test]
    fn messages_of_collectives_are_numbered_by_step_and_receiver() {
        for n in 2..=9_u64 {
            for (pattern, iterations, bytes) in [("ring", 3, 1003), ("all-to-all", 3, 1003), ("pipeline", 5, 77)] {
                let text = format!(
                    "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = {n}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
                     [run]\nduration = \"10 us\"\n[[workload]]\nkind = \"collective\"\npattern = \"{pattern}\"\n\
                     bytes = \"{bytes} B\"\niterations = {iterations}\n"
                );
                let plan =
                    load_str(&text, Path::new("."), "t.toml", &[], None).unwrap_or_else(|error| panic!("{error}"));
                let scenario = plan.runs.into_iter().next().expect("one run").scenario;
                let graph = expand(&scenario.topology);
                let placed = job::placed(&scenario, &scenario.workload[0], &graph).expect("it fits");
                let (steps, receivers) = match pattern {
                    "ring" => (2 * (n - 1), n),
                    "all-to-all" => (n - 1, n),
                    _ => (1, n - 1),
                };
                assert_eq!(u64::from(placed.messages()), iterations * steps * receivers, "{pattern} of {n}");
                let part = |part: u64| bytes / n + u64::from(part < bytes % n);
                for number in 0..iterations * steps * receivers {
                    let (slot, dst) = (number / receivers, number % receivers + n - receivers);
                    let step = slot % steps;
                    let src = (dst + n - if pattern == "all-to-all" { 1 + step } else { 1 }) % n;
                    let size = match pattern {
                        "ring" => part((src + 2 * n - step) % n),
                        "all-to-all" => part(dst),
                        _ => bytes,
                    };
                    let found = message(&placed, number as u32, Instant::ZERO);
                    let own = found.own.expect("a closed-loop flow has a number");
                    assert_eq!(
                        (u64::from(found.src), u64::from(found.dst), found.size),
                        (src, dst, size),
                        "{pattern} of {n}: {number}"
                    );
                    assert_eq!((u64::from(own.number), u64::from(own.slot)), (number, slot), "{pattern} of {n}");
                }
            }
        }
    }
}
