//! Deficit round robin over a set of queues, one packet per call.
//!
//! Source: Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM 1995; spec A.6.
//! A queue is visited in turn, gets `quantum` bytes of credit, and sends while its credit covers its first packet.
//! With a quantum of at least the largest packet every visit sends, so a pick looks at no more than two queues.
//! Credit is kept while a queue is paused and lost when it empties.

use crate::bits::Bits;
use alloc::vec;
use alloc::vec::Vec;

/// The scheduler's state for one port.
#[derive(Clone, Debug)]
pub struct Drr {
    /// Credit in bytes, per queue.
    deficit: Vec<u32>,
    quantum: u32,
    /// The queue being visited.
    current: usize,
    /// Whether `current` was given its quantum for this visit and may go on.
    visiting: bool,
}

impl Drr {
    /// For `queues` queues. `quantum` in bytes, at least the largest packet.
    pub fn new(queues: usize, quantum: u32) -> Drr {
        Drr { deficit: vec![0; queues], quantum, current: 0, visiting: false }
    }

    /// The queue to send from, out of `eligible` (not empty, not paused); `head` gives the wire bytes of its first packet.
    /// The credit for that packet is taken.
    #[inline(always)]
    pub fn pick<const W: usize>(&mut self, eligible: &Bits<W>, head: impl Fn(usize) -> u32) -> Option<usize> {
        if self.visiting && eligible.contains(self.current) {
            let wire = head(self.current);
            if self.deficit[self.current] >= wire {
                self.deficit[self.current] -= wire;
                return Some(self.current);
            }
        }
        let start = if self.current + 1 == self.deficit.len() { 0 } else { self.current + 1 };
        let mut q = eligible.next_from(start)?;
        loop {
            self.deficit[q] += self.quantum;
            let wire = head(q);
            if self.deficit[q] >= wire {
                self.deficit[q] -= wire;
                self.current = q;
                self.visiting = true;
                return Some(q);
            }
            q = eligible.next_from(if q + 1 == self.deficit.len() { 0 } else { q + 1 })?;
        }
    }

    /// `q` has no packet left: its credit is lost.
    #[inline(always)]
    pub fn emptied(&mut self, q: usize) {
        self.deficit[q] = 0;
        if q == self.current {
            self.visiting = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::Stream;

    /// Spec A.6 and the fairness line: two queues backlogged since the same moment never differ by more than one
    /// quantum plus one packet, whatever the packet sizes.
    #[test]
    fn backlogged_queues_stay_within_a_quantum_and_a_packet() {
        let (quantum, largest) = (1048, 1048);
        let mut rng = Stream::new(1, 2, 3);
        for queues in [2usize, 3, 31, 64] {
            let mut drr = Drr::new(queues, quantum);
            let eligible = Bits::<1>::below(queues);
            let mut head: Vec<u32> = (0..queues).map(|_| 49 + rng.next_u32() % 1000).collect();
            let mut served = vec![0u64; queues];
            for _ in 0..20_000 {
                let q = drr.pick(&eligible, |q| head[q]).unwrap();
                served[q] += head[q] as u64;
                head[q] = 49 + rng.next_u32() % 1000;
                let (low, high) = (served.iter().min().unwrap(), served.iter().max().unwrap());
                assert!(high - low <= (quantum + largest) as u64, "{queues} queues: {low} and {high}");
            }
        }
    }

    #[test]
    fn a_paused_queue_keeps_its_credit_and_an_empty_one_loses_it() {
        let mut drr = Drr::new(2, 1048);
        let both = Bits::<1>::below(2);
        let mut only0 = both;
        only0.remove(1);
        assert_eq!(drr.pick(&both, |_| 600), Some(1));
        assert_eq!(drr.pick(&only0, |_| 1000), Some(0), "queue 1 is paused with 448 bytes of credit");
        assert_eq!(drr.pick(&both, |_| 1048), Some(1));
        assert_eq!(drr.deficit[1], 448);
        drr.emptied(1);
        assert_eq!(drr.deficit[1], 0);
    }
}
