//! Collective communication of a training job: hosts, called ranks, exchange data in steps.
//!
//! * **Ring**: an all-reduce of n ranks in 2 (n - 1) steps (Patarasuk and Yuan, "Bandwidth optimal all-reduce
//!   algorithms for clusters of workstations", JPDC 2009). In step k rank r sends part (r - k) mod n to its successor:
//!   the part that it received in step k - 1, with its own data added. A rank begins the next iteration when it has
//!   received all parts of the current one. Parts of the next iteration that arrive earlier wait until then.
//! * **All-to-all**: each rank sends a part to every other rank. A rank begins the next iteration when it has received
//!   the parts of all other ranks, so each iteration ends with a barrier.
//! * **Pipeline**: the first rank sends one microbatch per iteration, and each rank forwards a received microbatch to
//!   the next rank.
//!
//! A rank computes on one item at a time, for `compute` each, and then sends. An item is the first step of a ring, a
//! part received, an iteration of an all-to-all, or a microbatch.
//!
//! Flow `(iteration x steps + step) x receivers + receiver` carries the data of that step to that receiver. All
//! receivers receive equally many flows.

use crate::flow::{Arrival, Own};
use crate::hosts::Hosts;
use crate::process::Process;
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
    /// `[rank]`: host of the rank.
    hosts: Vec<u16>,
    /// `[rank]`: state of the rank.
    ranks: Vec<Rank>,
    /// Number of unprompted flows that `next` has returned.
    given: u32,
}

/// State of one rank.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// End of the rank's computation.
    busy_until: Instant,
    /// Current iteration.
    iteration: u32,
    /// Ring only: flows of the next iteration that have arrived already, at most one from each other rank.
    early: Vec<u32>,
    /// Flows received in the current iteration and in the next, `[iteration modulo 2]`. No flow of a later iteration
    /// can arrive: other ranks need this rank's data of the next iteration first.
    received: [u32; 2],
}

/// Position of a flow in the pattern; source and destination are ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    iteration: u32,
    step: u32,
    src: u32,
    dst: u32,
}

impl Collective {
    /// Creates the process of a collective workload.
    pub fn new(scenario: &Scenario, workload: &Workload, graph: &Graph) -> Collective {
        let Workload::Collective { pattern, hosts, bytes, iterations, start, compute, .. } = workload else {
            unreachable!("built from a collective workload")
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

    /// Counts the ranks that receive flows.
    fn receivers(&self) -> u32 {
        match self.pattern {
            Pattern::Ring | Pattern::AllToAll => self.n(),
            Pattern::Pipeline => self.n() - 1,
        }
    }

    /// Counts the flows to each receiver in one iteration.
    fn steps(&self) -> u32 {
        match self.pattern {
            Pattern::Ring => 2 * (self.n() - 1),
            Pattern::AllToAll => self.n() - 1,
            Pattern::Pipeline => 1,
        }
    }

    /// Lowest rank that receives; all higher ranks receive too.
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

    /// Bytes of part number `part`; the data is divided into one part per rank.
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

    /// Adds one computation to `rank` and returns its end.
    fn work(&mut self, rank: u32, now: Instant) -> Instant {
        let busy_until = &mut self.ranks[rank as usize].busy_until;
        *busy_until = now.max(*busy_until) + self.compute;
        *busy_until
    }

    /// Ends the iteration of `rank` if all its flows have arrived. Returns the next iteration, if there is one.
    fn next_iteration(&mut self, rank: u32) -> Option<u32> {
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

    /// Forwards the part that `rank` of a ring received in flow `number`, unless that was the last step.
    fn forward(&mut self, rank: u32, number: u32, now: Instant, start: &mut dyn FnMut(Arrival)) {
        let Hop { iteration, step, .. } = self.hop(number);
        if step + 1 < self.steps() {
            let at = self.work(rank, now);
            start(self.flow(self.number(iteration, step + 1, (rank + 1) % self.n()), at));
        }
    }

    /// Counts the flows that wait for no other flow.
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

    fn closed_loop_flows(&self) -> u32 {
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
                    false => self.forward(rank, number, now, start),
                }
                while let Some(iteration) = self.next_iteration(rank) {
                    let at = self.work(rank, now);
                    start(self.flow(self.number(iteration, 0, next), at));
                    for number in std::mem::take(&mut self.ranks[rank as usize].early) {
                        self.forward(rank, number, now, start);
                    }
                }
            }
            Pattern::AllToAll => {
                // The next iteration may be complete already: if one flow to this rank was late, all other ranks are in
                // it.
                while let Some(iteration) = self.next_iteration(rank) {
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
        // The order of ranks differs from the order of their hosts.
        let hosts = (0..n).map(|rank| 100 + (rank * 7 + 3) % n).collect();
        Collective { pattern, bytes, iterations, start, compute, hosts, ranks, given: 0 }
    }

    /// Runs a collective in which every flow takes a random time, so flows overtake one another. Returns all flows in
    /// the order in which they finished, each with its start and its finish.
    fn play(collective: &mut Collective, seed: u64) -> Vec<(Arrival, Instant)> {
        let mut rng = Stream::new(seed, 1, 1);
        let (mut flying, mut started, mut arrived) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let mut fly = |arrival: Arrival, flying: &mut BTreeMap<(Instant, u32), Arrival>| {
            let number = arrival.own.expect("a closed-loop flow has a number").number;
            assert!(started.insert(number), "flow {number} started twice");
            // One flow in eight takes long enough for all others to overtake it.
            let most = if rng.next_u32().is_multiple_of(8) { 5000 } else { 200 };
            flying.insert((arrival.at + Duration(1 + rng.next_u32() as u64 % most), number), arrival);
        };
        while let Some(arrival) = collective.next() {
            fly(arrival, &mut flying);
        }
        while let Some(((now, number), arrival)) = flying.pop_first() {
            arrived.push((arrival, now));
            collective.on_received(number, now, &mut |next| {
                assert_eq!(next.src, arrival.dst, "a flow starts at the host that received its cause");
                assert!(next.at.0 >= now.0 + 10, "a flow starts after 10 ps of computation");
                fly(next, &mut flying);
            });
        }
        assert_eq!(started, (0..collective.closed_loop_flows()).collect(), "every flow starts");
        arrived
    }

    #[test]
    fn numbers_and_positions_are_one_to_one() {
        for pattern in [Pattern::Ring, Pattern::AllToAll, Pattern::Pipeline] {
            let collective = collective(pattern, 5, 1003, 3);
            let mut positions = BTreeSet::new();
            for number in 0..collective.closed_loop_flows() {
                let hop = collective.hop(number);
                assert_eq!(collective.number(hop.iteration, hop.step, hop.dst), number);
                assert!(hop.src != hop.dst && hop.src < 5 && hop.dst < 5 && hop.iteration < 3, "{hop:?}");
                let slot = collective.flow(number, Instant::ZERO).own.expect("a closed-loop flow has a number").slot;
                assert!(slot < collective.steps() * 3 && positions.insert((hop.dst, slot)), "{pattern:?}: {hop:?}");
            }
        }
    }

    /// At the end of an iteration every part at every rank is the sum over all ranks, in whichever order flows arrive.
    #[test]
    fn a_ring_reduces_every_part_over_all_ranks() {
        for n in 2..=9 {
            let mut ring = collective(Pattern::Ring, n, 1000, 1);
            // `[rank][part]`: ranks whose data is in the sum.
            let own = |rank: u16| vec![BTreeSet::from([rank]); n as usize];
            let mut held: Vec<_> = (0..n).map(own).collect();
            for (arrival, _) in play(&mut ring, n as u64) {
                let hop = ring.hop(arrival.own.expect("a closed-loop flow has a number").number);
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
            let hop = |arrival: &Arrival| collective.hop(arrival.own.expect("a closed-loop flow has a number").number);
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
    fn sizes_of_parts_sum_to_the_bytes_of_a_collective() {
        let (ring, all) = (collective(Pattern::Ring, 7, 1003, 1), collective(Pattern::AllToAll, 7, 1003, 1));
        // A ring moves all bytes in each of its 2 (n - 1) steps. In an all-to-all n - 1 ranks receive each part.
        let bytes = |of: &Collective| (0..of.closed_loop_flows()).map(|i| of.flow(i, Instant::ZERO).size).sum::<u64>();
        assert_eq!((bytes(&ring), bytes(&all)), (1003 * 12, 1003 * 6));
        assert_eq!((0..7).map(|part| ring.part(part)).collect::<Vec<_>>(), [144, 144, 143, 143, 143, 143, 143]);
    }
}
