//! Hosts, called ranks, that send to one another step by step, as those of a training job do.
//!
//! * **Ring**: an all-reduce of n ranks in 2 (n - 1) steps (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for
//!   clusters of workstations", JPDC 2009). In step k rank r sends part (r - k) mod n to its successor, which is the part that it
//!   received in step k - 1, with its own added. It begins the next iteration when it has received all parts of this one; parts of
//!   the next that come earlier wait until then.
//! * **All-to-all**: each rank sends a part to each other. It begins the next iteration when it has received those of all others,
//!   so that each iteration ends with a barrier.
//! * **Pipeline**: the first rank sends a microbatch an iteration, and each rank sends on to the next what it has received.
//!
//! A rank works on one thing at a time, for `compute` each, and then sends: the first step, a part received, an iteration of an
//! all-to-all, a microbatch.
//!
//! Flow `(iteration x steps + step) x receivers + receiver` is what that receiver gets in that step. All receivers get as many.

use crate::workload::flow::{Arrival, Own};
use crate::workload::hosts::Hosts;
use crate::workload::process::Process;
use backwater_scenario::model::{COLLECTIVE_PORT, Pattern, Scenario, Time, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::{Duration, Instant};

/// The flows of a collective workload.
#[derive(Clone, Debug)]
pub struct Collective {
    pattern: Pattern,
    bytes: u64,
    iterations: u32,
    start: Instant,
    compute: Duration,
    /// `[rank]`: its host.
    hosts: Vec<u16>,
    /// `[rank]`.
    ranks: Vec<Rank>,
    /// How many of those that wait for none have been given.
    given: u32,
}

/// What a rank remembers.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// It works until then.
    busy_until: Instant,
    /// Which iteration it is in.
    iteration: u32,
    /// Of a ring: parts of the next that have come already, at most one of each other rank.
    early: Vec<u32>,
    /// Flows received of the current iteration and of the next, by its number modulo 2. Of none further ahead: for those others
    /// need what this rank sends in the next.
    received: [u32; 2],
}

/// A flow by its place in the pattern; source and destination are ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    iteration: u32,
    step: u32,
    src: u32,
    dst: u32,
}

impl Collective {
    /// Of a collective workload.
    pub fn new(scenario: &Scenario, workload: &Workload, graph: &Graph) -> Collective {
        let Workload::Collective { pattern, hosts, bytes, iterations, start, compute, .. } = workload else {
            unreachable!("made of a collective")
        };
        let hosts = Hosts::named(graph, hosts).list;
        let tick = if scenario.conventions.time == Time::WholeNs { 1000 } else { 1 };
        Collective {
            pattern: *pattern,
            bytes: bytes.0,
            iterations: *iterations,
            start: Instant::ZERO + *start,
            compute: Duration(compute.0.next_multiple_of(tick)),
            ranks: vec![Rank::default(); hosts.len()],
            hosts,
            given: 0,
        }
    }

    fn n(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// Ranks that receive.
    fn receivers(&self) -> u32 {
        match self.pattern {
            Pattern::Ring | Pattern::AllToAll => self.n(),
            Pattern::Pipeline => self.n() - 1,
        }
    }

    /// Flows to each of them in an iteration.
    fn steps(&self) -> u32 {
        match self.pattern {
            Pattern::Ring => 2 * (self.n() - 1),
            Pattern::AllToAll => self.n() - 1,
            Pattern::Pipeline => 1,
        }
    }

    /// The first of the receivers; ranks follow in turn.
    fn first_receiver(&self) -> u32 {
        self.n() - self.receivers()
    }

    fn number(&self, iteration: u32, step: u32, dst: u32) -> u32 {
        (iteration * self.steps() + step) * self.receivers() + dst - self.first_receiver()
    }

    fn hop(&self, number: u32) -> Hop {
        let (n, slot) = (self.n(), number / self.receivers());
        let (iteration, step) = (slot / self.steps(), slot % self.steps());
        let dst = number % self.receivers() + self.first_receiver();
        let behind = if self.pattern == Pattern::AllToAll { 1 + step } else { 1 };
        Hop { iteration, step, src: (dst + n - behind) % n, dst }
    }

    /// Bytes of part number `part` of as many as there are ranks.
    fn part(&self, part: u32) -> u64 {
        let n = self.n() as u64;
        self.bytes / n + ((part as u64) < self.bytes % n) as u64
    }

    fn size(&self, hop: Hop) -> u64 {
        let n = self.n();
        match self.pattern {
            Pattern::Ring => self.part((hop.src + 2 * n - hop.step) % n),
            Pattern::AllToAll => self.part(hop.dst),
            Pattern::Pipeline => self.bytes,
        }
    }

    /// When `rank` has worked on what it has got now.
    fn work(&mut self, rank: u32, now: Instant) -> Instant {
        let busy_until = &mut self.ranks[rank as usize].busy_until;
        *busy_until = now.max(*busy_until) + self.compute;
        *busy_until
    }

    /// The next iteration of `rank`, if it has received all of its current one and another follows.
    fn goes_on(&mut self, rank: u32) -> Option<u32> {
        let all = self.steps();
        let rank = &mut self.ranks[rank as usize];
        let received = &mut rank.received[rank.iteration as usize % 2];
        if *received < all {
            return None;
        }
        *received = 0;
        rank.iteration += 1;
        (rank.iteration < self.iterations).then_some(rank.iteration)
    }

    /// `rank` of a ring sends on what it has received in this flow, unless that was the last step.
    fn send_on(&mut self, rank: u32, number: u32, now: Instant, start: &mut dyn FnMut(Arrival)) {
        let Hop { iteration, step, .. } = self.hop(number);
        if step + 1 < self.steps() {
            let at = self.work(rank, now);
            start(self.flow(self.number(iteration, step + 1, (rank + 1) % self.n()), at));
        }
    }

    /// How many flows wait for none.
    fn unprompted(&self) -> u32 {
        match self.pattern {
            Pattern::Ring => self.n(),
            Pattern::AllToAll => self.n() * (self.n() - 1),
            Pattern::Pipeline => self.iterations,
        }
    }
}

impl Process for Collective {
    fn next(&mut self) -> Option<Arrival> {
        let given = self.given;
        if given == self.unprompted() {
            return None;
        }
        self.given += 1;
        Some(match self.pattern {
            Pattern::Ring | Pattern::AllToAll => self.flow(given, self.start + self.compute),
            Pattern::Pipeline => {
                let at = self.start + Duration(self.compute.0 * (given as u64 + 1));
                self.flow(self.number(given, 0, 1), at)
            }
        })
    }

    fn listens_to(&self) -> u32 {
        self.iterations * self.steps() * self.receivers()
    }

    fn flow(&self, number: u32, at: Instant) -> Arrival {
        let hop = self.hop(number);
        Arrival {
            at,
            src: self.hosts[hop.src as usize],
            dst: self.hosts[hop.dst as usize],
            size: self.size(hop),
            port: COLLECTIVE_PORT,
            priority: None,
            own: Some(Own { number, slot: number / self.receivers() }),
        }
    }

    fn on_received(&mut self, number: u32, now: Instant, start: &mut dyn FnMut(Arrival)) {
        let Hop { iteration, dst: rank, .. } = self.hop(number);
        let n = self.n();
        let (next, here) = ((rank + 1) % n, &mut self.ranks[rank as usize]);
        here.received[iteration as usize % 2] += 1;
        match self.pattern {
            Pattern::Ring => {
                match iteration > here.iteration {
                    true => here.early.push(number),
                    false => self.send_on(rank, number, now, start),
                }
                while let Some(iteration) = self.goes_on(rank) {
                    let at = self.work(rank, now);
                    start(self.flow(self.number(iteration, 0, next), at));
                    for number in std::mem::take(&mut self.ranks[rank as usize].early) {
                        self.send_on(rank, number, now, start);
                    }
                }
            }
            Pattern::AllToAll => {
                // The next may be complete already: all others are in it when one flow to this rank was late.
                while let Some(iteration) = self.goes_on(rank) {
                    let at = self.work(rank, now);
                    let to = |step| self.number(iteration, step, (rank + 1 + step) % n);
                    (0..n - 1).for_each(|step| start(self.flow(to(step), at)));
                }
            }
            Pattern::Pipeline => {
                if next > 0 {
                    let at = self.work(rank, now);
                    start(self.flow(self.number(iteration, 0, next), at));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::Stream;
    use std::collections::{BTreeMap, BTreeSet};

    fn collective(pattern: Pattern, n: u16, bytes: u64, iterations: u32) -> Collective {
        let (start, compute) = (Instant(7), Duration(10));
        let ranks = vec![Rank::default(); n as usize];
        // Ranks do not stand in the order of their hosts.
        let hosts = (0..n).map(|rank| 100 + (rank * 7 + 3) % n).collect();
        Collective { pattern, bytes, iterations, start, compute, hosts, ranks, given: 0 }
    }

    /// Every flow takes some time of its own, so they overtake one another. All flows in the order of their arrival, each with when
    /// it started and when it arrived.
    fn play(collective: &mut Collective, seed: u64) -> Vec<(Arrival, Instant)> {
        let mut rng = Stream::new(seed, 1, 1);
        let (mut flying, mut started, mut arrived) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let mut fly = |arrival: Arrival, flying: &mut BTreeMap<(Instant, u32), Arrival>| {
            let number = arrival.own.expect("it listens").number;
            assert!(started.insert(number), "flow {number} starts once");
            // One in eight takes long enough for all others to overtake it.
            let most = if rng.next_u32().is_multiple_of(8) { 5000 } else { 200 };
            flying.insert((arrival.at + Duration(1 + rng.next_u32() as u64 % most), number), arrival);
        };
        while let Some(arrival) = collective.next() {
            fly(arrival, &mut flying);
        }
        while let Some(((now, number), arrival)) = flying.pop_first() {
            arrived.push((arrival, now));
            collective.on_received(number, now, &mut |next| {
                assert_eq!(next.src, arrival.dst, "what starts, starts where it was heard of");
                assert!(next.at.0 >= now.0 + 10, "after some work");
                fly(next, &mut flying);
            });
        }
        assert_eq!(started, (0..collective.listens_to()).collect(), "all of it");
        arrived
    }

    #[test]
    fn numbers_and_places_are_one_to_one() {
        for pattern in [Pattern::Ring, Pattern::AllToAll, Pattern::Pipeline] {
            let collective = collective(pattern, 5, 1003, 3);
            let mut places = BTreeSet::new();
            for number in 0..collective.listens_to() {
                let hop = collective.hop(number);
                assert_eq!(collective.number(hop.iteration, hop.step, hop.dst), number);
                assert!(hop.src != hop.dst && hop.src < 5 && hop.dst < 5 && hop.iteration < 3, "{hop:?}");
                let slot = collective.flow(number, Instant::ZERO).own.expect("it listens").slot;
                assert!(slot < collective.steps() * 3 && places.insert((hop.dst, slot)), "{pattern:?}: {hop:?}");
            }
        }
    }

    /// Whatever overtakes what: at the end of an iteration every rank's every part is the sum of all ranks'.
    #[test]
    fn a_ring_reduces_every_part_over_all_ranks() {
        for n in 2..=9 {
            let mut ring = collective(Pattern::Ring, n, 1000, 1);
            // `[rank][part]`: whose it is the sum of.
            let own = |rank: u16| vec![BTreeSet::from([rank]); n as usize];
            let mut held: Vec<_> = (0..n).map(own).collect();
            for (arrival, _) in play(&mut ring, n as u64) {
                let hop = ring.hop(arrival.own.expect("it listens").number);
                let part = ((hop.src + 2 * n as u32 - hop.step) % n as u32) as usize;
                let sum = held[hop.src as usize][part].clone();
                held[hop.dst as usize][part].extend(sum);
            }
            assert!(held.iter().flatten().all(|part| part.len() == n as usize), "{n} ranks: {held:?}");
        }
    }

    #[test]
    fn no_rank_begins_an_iteration_before_it_has_all_of_the_one_before() {
        for (pattern, n, seed) in
            [(Pattern::Ring, 2, 1), (Pattern::Ring, 6, 2), (Pattern::AllToAll, 3, 3), (Pattern::AllToAll, 6, 4)]
        {
            let mut collective = collective(pattern, n, 6000, 20);
            let flows = play(&mut collective, seed);
            let hop = |arrival: &Arrival| collective.hop(arrival.own.expect("it listens").number);
            for (arrival, _) in flows.iter().filter(|(arrival, _)| hop(arrival).iteration > 0) {
                let begun = hop(arrival);
                let before = flows.iter().filter(|(other, _)| {
                    let other = hop(other);
                    other.dst == begun.src && other.iteration + 1 == begun.iteration
                });
                assert!(before.clone().count() as u32 == collective.steps());
                assert!(before.map(|(_, at)| *at).max() < Some(arrival.at), "{begun:?}");
            }
        }
    }

    #[test]
    fn parts_are_the_bytes() {
        let (ring, all) = (collective(Pattern::Ring, 7, 1003, 1), collective(Pattern::AllToAll, 7, 1003, 1));
        // Step by step a ring moves all of it, 2 (n - 1) times; an all-to-all all but each rank's own part, n - 1 times.
        let bytes = |of: &Collective| (0..of.listens_to()).map(|i| of.flow(i, Instant::ZERO).size).sum::<u64>();
        assert_eq!((bytes(&ring), bytes(&all)), (1003 * 12, 1003 * 6));
        assert_eq!((0..7).map(|part| ring.part(part)).collect::<Vec<_>>(), [144, 144, 143, 143, 143, 143, 143]);
    }
}
