//! Where threads meet at the end of a window.
//!
//! Windows take tens of microseconds, too short to sleep in, so a thread that waits looks, then yields, the sooner where a core is wanted
//! by more than one. Where that does not help it sleeps: others have more than their share of the window, or of the cores.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Looks before a thread that waits yields.
const LOOKS: RangeInclusive<u32> = 16..=4096;
/// A yield that takes longer let another thread run.
const YIELD_ALONE: Duration = Duration::from_micros(10);
/// Yields before it sleeps: where there is a core for each party, and where not.
const YIELDS: [u32; 2] = [1000, 1];
/// Sleeps no longer without a look whether somebody has panicked.
const NAP: Duration = Duration::from_millis(50);

/// A barrier for short windows.
pub(super) struct Barrier {
    parties: usize,
    yields: u32,
    waiting: AtomicUsize,
    round: AtomicUsize,
    /// A party has panicked and will not come.
    broken: AtomicBool,
    sleeping: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

/// How long one party looks before it yields, for all its waits.
pub(super) struct Patience(u32);

impl Default for Patience {
    fn default() -> Patience {
        Patience(*LOOKS.end())
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

    /// Waits until all parties do.
    ///
    /// # Panics
    /// If another has.
    pub(super) fn wait(&self, Patience(looks): &mut Patience) {
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
        let (mut left, mut yields) = (*looks, self.yields);
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
            *looks = if wanted { *looks / 2 } else { *looks * 2 }.clamp(*LOOKS.start(), *LOOKS.end());
            left = *looks;
        }
    }

    /// Whoever ends the round sees that somebody sleeps, or it is seen here that the round has ended.
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

/// Lets the other parties go when a thread panics: they would wait for it for ever.
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

    /// More parties than any machine has cores, one of them slow: nobody passes before it, and nobody sleeps for ever.
    #[test]
    fn nobody_passes_before_the_last_has_come() {
        let (parties, rounds) = (300, 20);
        let (barrier, come) = (Barrier::new(parties), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for party in 0..parties {
                let (barrier, come) = (&barrier, &come);
                scope.spawn(move || {
                    let mut patience = Patience::default();
                    for round in 1..=rounds {
                        if party == round {
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        come.fetch_add(1, Ordering::SeqCst);
                        barrier.wait(&mut patience);
                        assert!(come.load(Ordering::SeqCst) >= round * parties);
                    }
                });
            }
        });
    }
}
