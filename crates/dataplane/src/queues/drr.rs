//! Deficit round robin over a set of queues, one packet per call.
//!
//! Source: Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM 1995; spec A.6.
//! The scheduler visits queues in turn. A visit adds `quantum` bytes of credit to the queue, which sends while its
//! credit covers its first packet. With a quantum of at least the largest packet every visit sends, so a pick looks at
//! no more than two queues. A paused queue keeps its credit; an emptied queue loses it.

use crate::queues::bits::Bits;

/// A queue under deficit round robin. The queue stores its own credit, next to the other fields that a visit reads.
pub trait Served {
    /// Credit in bytes.
    fn deficit(&mut self) -> &mut u32;
}

/// The scheduler's state for one port.
#[derive(Clone, Debug)]
pub struct Drr {
    quantum: u32,
    /// The queue under visit.
    current: u32,
    /// Whether `current` has received its quantum for this visit and may continue.
    visiting: bool,
}

impl Drr {
    /// Creates a scheduler. `quantum`: bytes, at least the largest packet.
    pub fn new(quantum: u32) -> Drr {
        Drr { quantum, current: 0, visiting: false }
    }

    /// Picks the queue to send from among `eligible` (queues with data that are not paused) and takes the credit for
    /// its first packet. `head` returns the wire bytes of a queue's first packet.
    #[inline(always)]
    pub fn pick<const W: usize, S: Served>(
        &mut self,
        eligible: &Bits<W>,
        queues: &mut [S],
        head: impl Fn(&S) -> u32,
    ) -> Option<usize> {
        let mut q = self.current as usize;
        if self.visiting && eligible.contains(q) {
            let queue = &mut queues[q];
            let wire = head(queue);
            if *queue.deficit() >= wire {
                *queue.deficit() -= wire;
                return Some(q);
            }
        }
        loop {
            q = eligible.next_from(if q + 1 == queues.len() { 0 } else { q + 1 })?;
            let queue = &mut queues[q];
            let wire = head(queue);
            let credit = *queue.deficit() + self.quantum;
            if credit >= wire {
                *queue.deficit() = credit - wire;
                (self.current, self.visiting) = (q as u32, true);
                return Some(q);
            }
            *queue.deficit() = credit;
        }
    }

    /// Records that a packet of `q` was sent while all queues were empty: equals a pick followed by the loss of the
    /// remaining credit.
    #[inline(always)]
    pub fn passed(&mut self, q: usize) {
        (self.current, self.visiting) = (q as u32, false);
    }

    /// Clears the credit of the queue just picked, which is now empty.
    #[inline(always)]
    pub fn emptied<S: Served>(&mut self, queue: &mut S) {
        *queue.deficit() = 0;
        self.visiting = false;
    }

    /// Scheduler state for model checkers. A visit without credit left cannot continue.
    pub fn position(&self, credit: impl Fn(usize) -> u32) -> (u32, bool) {
        (self.current, self.visiting && credit(self.current as usize) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use backwater_types::hash::Stream;

    #[derive(Clone, Default)]
    struct Queue {
        deficit: u32,
        head: u32,
        served: u64,
    }

    impl Served for Queue {
        fn deficit(&mut self) -> &mut u32 {
            &mut self.deficit
        }
    }

    /// The bound of spec A.6 and of Shreedhar and Varghese: service of two queues backlogged since the same moment
    /// never differs by more than one quantum plus one packet, whatever the packet sizes.
    #[test]
    fn backlogged_queues_stay_within_a_quantum_and_a_packet() {
        let (quantum, largest) = (1048, 1048);
        let mut rng = Stream::new(1, 2, 3);
        for n in [2usize, 3, 31, 64] {
            let mut drr = Drr::new(quantum);
            let eligible = Bits::<1>::below(n);
            let mut queues: Vec<Queue> = vec![Queue::default(); n];
            queues.iter_mut().for_each(|queue| queue.head = 49 + rng.next_u32() % 1000);
            for _ in 0..20_000 {
                let q = drr.pick(&eligible, &mut queues, |queue| queue.head).unwrap();
                queues[q].served += queues[q].head as u64;
                queues[q].head = 49 + rng.next_u32() % 1000;
                let served = || queues.iter().map(|queue| queue.served);
                let (low, high) = (served().min().unwrap(), served().max().unwrap());
                assert!(high - low <= (quantum + largest) as u64, "{n} queues: {low} and {high}");
            }
        }
    }

    #[test]
    fn a_paused_queue_keeps_its_credit_and_an_empty_one_loses_it() {
        let mut drr = Drr::new(1048);
        let mut queues = vec![Queue::default(); 2];
        let both = Bits::<1>::below(2);
        let mut only0 = both;
        only0.remove(1);
        assert_eq!(drr.pick(&both, &mut queues, |_| 600), Some(1));
        assert_eq!(drr.pick(&only0, &mut queues, |_| 1000), Some(0), "queue 1 is paused with 448 bytes of credit");
        assert_eq!(drr.pick(&both, &mut queues, |_| 1048), Some(1));
        assert_eq!(queues[1].deficit, 448);
        drr.emptied(&mut queues[1]);
        assert_eq!(queues[1].deficit, 0);
    }
}
