//! The event queue of one node: a winner tree over its ports.
//!
//! A leaf is an incoming link (its head packet), an outgoing port (when it may send again) or a timer; a leaf holds at most one
//! pending time. Setting a leaf replays its path to the root with one `min` a level: no branches, no moves.
//!
//! A key packs 46 bits of time (70 s of picoseconds, [`TIME_LIMIT`]) over 18 bits that break ties: a hash of node, time and
//! leaf, then the leaf. So events at one instant come in an order re-drawn each instant, and no port is favoured.

use backwater_types::Instant;
use backwater_types::hash;

/// Times at or beyond this do not fit a key.
pub const TIME_LIMIT: Instant = Instant(1 << 46);

const TIE_BITS: u32 = 18;

/// A winner tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// A complete binary tree, root at 1, leaves in the upper half.
    keys: Vec<u64>,
    leaves: usize,
    leaf_bits: u32,
    /// `[leaf]`: random words for the tie hash.
    salts: Vec<u64>,
}

impl Tree {
    /// A tree of `leaves` leaves, all idle; ties are drawn from `seed`.
    ///
    /// # Panics
    /// With more than 2^10 leaves: eight bits at least have to be left for the tie hash.
    pub fn new(leaves: usize, seed: u64) -> Tree {
        let size = leaves.max(2).next_power_of_two();
        assert!(size <= 1 << 10, "a node has at most 511 ports");
        Tree {
            keys: vec![u64::MAX; 2 * size],
            leaves: size,
            leaf_bits: size.trailing_zeros(),
            salts: (0..size).map(|leaf| hash::draw(seed, leaf as u64)).collect(),
        }
    }

    /// Sets the time of `leaf`; [`Instant::NEVER`] makes it idle.
    #[inline(always)]
    pub fn set(&mut self, leaf: usize, at: Instant) {
        let mut winner = if at == Instant::NEVER { u64::MAX } else { self.key(leaf, at) };
        let mut i = self.leaves + leaf;
        self.keys[i] = winner;
        // The winner so far stays in a register; siblings load independently of it.
        while i > 1 {
            winner = winner.min(self.keys[i ^ 1]);
            i >>= 1;
            self.keys[i] = winner;
        }
    }

    #[inline(always)]
    fn key(&self, leaf: usize, at: Instant) -> u64 {
        debug_assert!(at < TIME_LIMIT, "time beyond the key's range");
        // The top bits of a product depend on all bits below: one multiplication mixes enough for ties.
        let x = (at.0 ^ self.salts[leaf]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let tie = x >> (64 - TIE_BITS) & !0 << self.leaf_bits;
        at.0 << TIE_BITS | tie | leaf as u64
    }

    /// The earliest leaf, if it is before `end`.
    #[inline(always)]
    pub fn first_before(&self, end: Instant) -> Option<(Instant, usize)> {
        let key = self.keys[1];
        (key < end.0 << TIE_BITS).then(|| (Instant(key >> TIE_BITS), key as usize & (self.leaves - 1)))
    }

    /// Time of the earliest leaf; [`Instant::NEVER`] if all are idle.
    #[inline(always)]
    pub fn next(&self) -> Instant {
        if self.keys[1] == u64::MAX { Instant::NEVER } else { Instant(self.keys[1] >> TIE_BITS) }
    }

    /// Whether `leaf` has a pending time.
    #[inline(always)]
    pub fn is_set(&self, leaf: usize) -> bool {
        self.keys[self.leaves + leaf] != u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_in_time_order() {
        let mut tree = Tree::new(5, 1);
        for (leaf, at) in [(0, 50), (1, 10), (2, 40), (3, 30), (4, 20)] {
            tree.set(leaf, Instant(at));
        }
        let mut order = Vec::new();
        while let Some((at, leaf)) = tree.first_before(Instant(45)) {
            order.push((at.0, leaf));
            tree.set(leaf, Instant::NEVER);
        }
        assert_eq!(order, [(10, 1), (20, 4), (30, 3), (40, 2)]);
        assert_eq!(tree.next(), Instant(50));
    }

    /// Of three leaves tied at many instants each comes first a third of the time: chi-square with 2 degrees of freedom, 0.1 %.
    #[test]
    fn ties_favour_no_leaf() {
        let mut wins = [0u32; 3];
        let mut tree = Tree::new(3, 7);
        for t in 0..30_000u64 {
            (0..3).for_each(|leaf| tree.set(leaf, Instant(1000 * t)));
            wins[tree.first_before(Instant(TIME_LIMIT.0 - 1)).unwrap().1] += 1;
        }
        let chi2: f64 = wins.iter().map(|w| (*w as f64 - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 13.8, "{wins:?}");
    }
}
