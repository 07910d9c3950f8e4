//! A barrier at which threads meet at the end of a window.
//!
//! Windows take tens of microseconds, too short for a sleep. A waiting thread therefore spins, then yields its core. It
//! spins less if other threads want its core. If yields do not help, it sleeps: the other threads have more work in
//! this window, or wait for cores.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Range of the number of spins between two yields.
const SPINS: RangeInclusive<u32> = 16..=4096;
/// Longest duration of a yield in which no other thread ran.
const YIELD_ALONE: Duration = Duration::from_micros(10);
/// Yields before a thread sleeps: with a core for each thread, and with fewer cores than threads.
const YIELDS: [u32; 2] = [1000, 1];
/// Longest sleep between two checks for a panic of another thread.
const NAP: Duration = Duration::from_millis(50);

/// A barrier for short windows.
pub(super) struct Barrier {
    parties: usize,
    yields: u32,
    waiting: AtomicUsize,
    round: AtomicUsize,
    /// Set when a party has panicked and will not arrive.
    broken: AtomicBool,
    sleeping: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

/// Number of spins of one party before it yields; adapts over all its waits.
pub(super) struct Patience(u32);

impl Default for Patience {
    fn default() -> Patience {
        Patience(*SPINS.end())
    }
}

impl Barrier {
    pub(super) fn new(parties: usize) -> Barrier {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Barrier {
            parties,
            yields: YIELDS[usize::from(parties > cores)],
            waiting: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleeping: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Waits until all parties have called `wait` in this round.
    ///
    /// # Panics
    /// If another party has panicked.
    pub(super) fn wait(&self, Patience(spins): &mut Patience) {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.waiting.store(0, Ordering::Release);
            self.round.store(round + 1, Ordering::SeqCst);
            if self.sleeping.load(Ordering::SeqCst) > 0 {
                drop(self.bed.lock());
                self.bell.notify_all();
            }
            return;
        }
        let (mut left, mut yields) = (*spins, self.yields);
        while self.round.load(Ordering::Acquire) == round {
            if left > 0 {
                left -= 1;
                std::hint::spin_loop();
                continue;
            }
            assert!(!self.broken.load(Ordering::Relaxed), "another partition has panicked");
            if yields == 0 {
                return self.sleep(round);
            }
            yields -= 1;
            let gone = Instant::now();
            std::thread::yield_now();
            let wanted = gone.elapsed() > YIELD_ALONE;
            *spins = if wanted { *spins / 2 } else { *spins * 2 }.clamp(*SPINS.start(), *SPINS.end());
            left = *spins;
        }
    }

    /// Sleeps until the round ends. The sequentially consistent order of `sleeping` and `round` loses no wake-up: the
    /// last party reads `sleeping > 0`, or this thread reads that the round has ended.
    #[cold]
    fn sleep(&self, round: usize) {
        let mut bed = self.bed.lock().unwrap_or_else(|e| e.into_inner());
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        while self.round.load(Ordering::SeqCst) == round {
            assert!(!self.broken.load(Ordering::Relaxed), "another partition has panicked");
            bed = self.bell.wait_timeout(bed, NAP).unwrap_or_else(|e| e.into_inner()).0;
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Guard that breaks the barrier when its thread panics, so that the other parties do not wait for ever.
pub(super) struct Breaker<'a>(pub(super) &'a Barrier);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More parties than any machine has cores, one of them slow: no party passes before it, and no party sleeps for
    /// ever.
    #[test]
    fn no_party_passes_before_the_last_has_arrived() {
        let (parties, rounds) = (300, 20);
        let (barrier, arrived) = (Barrier::new(parties), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for party in 0..parties {
                let (barrier, arrived) = (&barrier, &arrived);
                scope.spawn(move || {
                    let mut patience = Patience::default();
                    for round in 1..=rounds {
                        if party == round {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        arrived.fetch_add(1, Ordering::SeqCst);
                        barrier.wait(&mut patience);
                        assert!(arrived.load(Ordering::SeqCst) >= round * parties);
                    }
                });
            }
        });
    }
}
