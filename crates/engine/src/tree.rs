//! Event queue of one node: a winner tree over its ports.
//!
//! A leaf is an incoming link (its head packet), an outgoing port (when it may send again) or a timer. A leaf holds at
//! most one pending time. Setting a leaf replays its path to the root with one `min` a level: no branches, no moves.
//!
//! A key packs 46 bits of time (70 s of picoseconds, [`TIME_LIMIT`]) over 18 bits that break ties: a hash of node, time
//! and leaf, then the leaf. The order of events at one instant is therefore drawn anew each instant, and no port is
//! favoured.

use backwater_types::{Instant, hash};

/// First time that does not fit a key; every run ends before.
pub const TIME_LIMIT: Instant = Instant(1 << 46);

const TIE_BITS: u32 = 18;

/// Winner tree of `LEAVES` leaves, or of several such blocks whose roots are compared one by one.
///
/// The size is a constant power of two, so that a path has a fixed number of steps and no step checks a bound.
#[derive(Clone, Debug)]
pub struct Tree<const LEAVES: usize> {
    first: Block<LEAVES>,
    /// Blocks of the leaves beyond the first `LEAVES`.
    more: Vec<Block<LEAVES>>,
    /// Bits of a key that hold the leaf.
    leaf_bits: u32,
}

/// Complete binary tree: the root is `inner[1]`, leaves are apart.
#[derive(Clone, Debug)]
struct Block<const LEAVES: usize> {
    inner: [u64; LEAVES],
    leaves: [u64; LEAVES],
    /// Random words for the tie hash.
    salts: [u64; LEAVES],
}

impl<const LEAVES: usize> Tree<LEAVES> {
    /// Creates a tree of `leaves` leaves, all idle. Ties are drawn from `seed`.
    ///
    /// # Panics
    /// If there are more than 2^10 leaves, because the tie hash needs at least eight bits.
    pub fn new(leaves: usize, seed: u64) -> Tree<LEAVES> {
        const { assert!(LEAVES.is_power_of_two() && LEAVES > 1) };
        let blocks = leaves.div_ceil(LEAVES);
        assert!(blocks * LEAVES <= 1 << 10, "a node has at most 511 ports");
        let block = |b: usize| Block {
            inner: [u64::MAX; LEAVES],
            leaves: [u64::MAX; LEAVES],
            salts: std::array::from_fn(|leaf| hash::draw(seed, (b * LEAVES + leaf) as u64)),
        };
        Tree {
            first: block(0),
            more: (1..blocks).map(block).collect(),
            leaf_bits: (blocks * LEAVES).next_power_of_two().trailing_zeros(),
        }
    }

    /// Sets the time of `leaf`. A time at or beyond [`TIME_LIMIT`] makes the leaf idle, like [`Instant::NEVER`], since
    /// no run lasts so long.
    #[inline(always)]
    pub fn set(&mut self, leaf: usize, at: Instant) {
        let leaf_bits = self.leaf_bits;
        let block = self.block_mut(leaf);
        let salt = block.salts[leaf % LEAVES];
        block.put(leaf, if at >= TIME_LIMIT { u64::MAX } else { key(leaf, at, salt, leaf_bits) });
    }

    /// Sets the time of `leaf` as [`Tree::set`] does, without the tie hash: of tied leaves the lowest number comes
    /// first.
    #[inline(always)]
    pub fn set_plain(&mut self, leaf: usize, at: Instant) {
        self.block_mut(leaf).put(leaf, if at >= TIME_LIMIT { u64::MAX } else { at.0 << TIE_BITS | leaf as u64 });
    }

    #[inline(always)]
    fn block(&self, leaf: usize) -> &Block<LEAVES> {
        if leaf < LEAVES { &self.first } else { &self.more[leaf / LEAVES - 1] }
    }

    #[inline(always)]
    fn block_mut(&mut self, leaf: usize) -> &mut Block<LEAVES> {
        if leaf < LEAVES { &mut self.first } else { &mut self.more[leaf / LEAVES - 1] }
    }

    #[inline(always)]
    fn root(&self) -> u64 {
        self.more.iter().fold(self.first.inner[1], |root, block| root.min(block.inner[1]))
    }

    /// Returns the time and number of the earliest leaf, if it is before `end`.
    #[inline(always)]
    pub fn first_before(&self, end: Instant) -> Option<(Instant, usize)> {
        let key = self.root();
        (key < end.0 << TIE_BITS).then(|| (Instant(key >> TIE_BITS), key as usize & ((1 << self.leaf_bits) - 1)))
    }

    /// Returns the time of the earliest leaf; [`Instant::NEVER`] if all are idle.
    #[inline(always)]
    pub fn next(&self) -> Instant {
        match self.root() {
            u64::MAX => Instant::NEVER,
            key => Instant(key >> TIE_BITS),
        }
    }

    /// Returns the time of `leaf`; [`Instant::NEVER`] if it is idle.
    #[inline(always)]
    pub fn time(&self, leaf: usize) -> Instant {
        match self.block(leaf).leaves[leaf % LEAVES] {
            u64::MAX => Instant::NEVER,
            key => Instant(key >> TIE_BITS),
        }
    }

    /// Whether `leaf` has a pending time.
    #[inline(always)]
    pub fn is_set(&self, leaf: usize) -> bool {
        self.block(leaf).leaves[leaf % LEAVES] != u64::MAX
    }
}

impl<const LEAVES: usize> Block<LEAVES> {
    #[inline(always)]
    fn put(&mut self, leaf: usize, key: u64) {
        let (mut i, mut winner) = (leaf % LEAVES, key);
        self.leaves[i] = winner;
        // The winner so far stays in a register; siblings load independently of it.
        winner = winner.min(self.leaves[i ^ 1]);
        i = (i + LEAVES) / 2;
        for _ in 1..LEAVES.trailing_zeros() {
            self.inner[i % LEAVES] = winner;
            winner = winner.min(self.inner[(i ^ 1) % LEAVES]);
            i /= 2;
        }
        self.inner[1] = winner;
    }
}

#[inline(always)]
fn key(leaf: usize, at: Instant, salt: u64, leaf_bits: u32) -> u64 {
    debug_assert!(at < TIME_LIMIT, "time beyond the key's range");
    // Two rounds. After one round, times in even steps leave leaves in step with one another, and losses of
    // synchronised senders spread twice as wide as chance allows (tests/ties.rs).
    let x = (at.0 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let tie = x >> (64 - TIE_BITS) & !0 << leaf_bits;
    at.0 << TIE_BITS | tie | leaf as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_in_time_order() {
        let mut tree = Tree::<8>::new(5, 1);
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
        assert_eq!([tree.time(0), tree.time(1)], [Instant(50), Instant::NEVER]);
    }

    /// A timer may be set for longer than a run can last. It must not wrap around to the start of the run.
    #[test]
    fn leaves_due_beyond_the_time_limit_never_come() {
        let mut tree = Tree::<8>::new(5, 1);
        let last = Instant(TIME_LIMIT.0 - 2);
        tree.set(0, last);
        for beyond in [TIME_LIMIT, Instant(TIME_LIMIT.0 + 5), Instant(2 * TIME_LIMIT.0), Instant::NEVER] {
            tree.set(1, beyond);
            assert_eq!((tree.next(), tree.time(1), tree.is_set(1)), (last, Instant::NEVER, false));
        }
        assert_eq!(tree.first_before(Instant(TIME_LIMIT.0 - 1)), Some((last, 0)));
    }

    #[test]
    fn blocks_compare_by_their_roots() {
        let mut tree = Tree::<4>::new(11, 3);
        for leaf in 0..11 {
            tree.set(leaf, Instant(100 - leaf as u64));
        }
        for leaf in (0..11).rev() {
            assert_eq!(tree.first_before(Instant(1000)), Some((Instant(100 - leaf as u64), leaf)));
            tree.set(leaf, Instant::NEVER);
        }
        assert_eq!(tree.next(), Instant::NEVER);
    }

    /// Three leaves are tied at many instants: each wins a third of them. Chi-square with 2 degrees of freedom, 0.1 %.
    #[test]
    fn ties_favour_no_leaf() {
        let mut wins = [0u32; 3];
        let mut tree = Tree::<4>::new(3, 7);
        for t in 0..30_000u64 {
            (0..3).for_each(|leaf| tree.set(leaf, Instant(1000 * t)));
            wins[tree.first_before(Instant(TIME_LIMIT.0 - 1)).unwrap().1] += 1;
        }
        let chi2: f64 = wins.iter().map(|w| (*w as f64 - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 13.8, "{wins:?}");
    }
}
