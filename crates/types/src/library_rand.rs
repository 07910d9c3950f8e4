//! Random numbers of the GNU C library's `rand` in a program that never seeds it.
//!
//! Source: the library's manual, "ISO C Random Number Functions": `rand` is `random` with 128 bytes of state, seeded by
//! 1; the method is an additive feedback generator (Knuth, The Art of Computer Programming, volume 2, section 3.2.2).
//!
//! ```text
//! r[0] = 1 ; r[i] = 16807 r[i-1] mod (2^31 - 1), i < 31 ; r[i] = r[i-31], i < 34 ; r[i] = r[i-3] + r[i-31] mod 2^32
//! draw k, from 0:  r[k + 344] / 2
//! ```
//!
//! All holders share one stream, and draw from it in the order of their calls.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Handle of a program's one stream.
#[derive(Clone, Debug)]
pub struct LibraryRand(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The last 31 numbers.
    last: [AtomicU32; WORDS],
    /// Index of the oldest of these numbers.
    oldest: AtomicUsize,
}

const WORDS: usize = 31;
/// Seeds that the first numbers after the seeds repeat.
const SEEDS_REPEATED: usize = 3;
/// Numbers between the seed and the first draw.
const DISCARDED: usize = 310;

impl Default for LibraryRand {
    fn default() -> LibraryRand {
        let mut seed = 1u64;
        let last = core::array::from_fn(|_| {
            let word = seed as u32;
            seed = seed * 16_807 % 2_147_483_647;
            word.into()
        });
        let rand = LibraryRand(Arc::new(Shared { last, oldest: SEEDS_REPEATED.into() }));
        (0..DISCARDED).for_each(|_| _ = rand.draw());
        rand
    }
}

impl LibraryRand {
    /// Draws the next number, below 2^31.
    #[inline]
    pub fn draw(&self) -> u32 {
        let Shared { last, oldest } = &*self.0;
        let at = oldest.load(Ordering::Relaxed);
        // The one 28 after the oldest of 31 is the third before the next.
        let third = last[(at + WORDS - 3) % WORDS].load(Ordering::Relaxed);
        let next = last[at].load(Ordering::Relaxed).wrapping_add(third);
        last[at].store(next, Ordering::Relaxed);
        oldest.store((at + 1) % WORDS, Ordering::Relaxed);
        next >> 1
    }

    /// Copies the stream with its state, for checkers.
    pub fn fork(&self) -> LibraryRand {
        let fork = LibraryRand::default();
        fork.follow(self);
        fork
    }

    /// Takes over the state of `other`, for checkers.
    pub fn follow(&self, other: &LibraryRand) {
        for (word, theirs) in self.0.last.iter().zip(&other.0.last) {
            word.store(theirs.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.0.oldest.store(other.0.oldest.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Equal handles are handles of the same stream.
impl PartialEq for LibraryRand {
    fn eq(&self, other: &LibraryRand) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of a C program that calls `rand` and nothing else.
    #[test]
    fn the_first_numbers_are_those_of_a_c_program() {
        let rand = LibraryRand::default();
        let drawn = [0; 5].map(|_| rand.draw());
        assert_eq!(drawn, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793]);
    }

    #[test]
    fn all_who_hold_it_draw_from_one_stream() {
        let (one, alone) = (LibraryRand::default(), LibraryRand::default());
        let other = one.clone();
        let fork = one.fork();
        let drawn = [one.draw(), other.draw(), one.draw()];
        assert_eq!(drawn, [0; 3].map(|_| alone.draw()));
        assert_eq!(drawn, [0; 3].map(|_| fork.draw()));
        assert!(one == other && one != fork);
    }
}
