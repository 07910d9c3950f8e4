//! Deterministic mixing of integers. Not cryptographic: keys are small integers chosen by us, or a keyed hash of a
//! 5-tuple.

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output bit.
#[inline(always)]
pub const fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Draw number `counter` of the stream named `stream`: SplitMix64 with its state computed instead of kept.
#[inline(always)]
pub const fn draw(stream: u64, counter: u64) -> u64 {
    mix64(stream.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Name of the stream for one purpose and one node (or other number) of a run.
pub const fn stream(seed: u64, purpose: u64, number: u64) -> u64 {
    mix64(mix64(mix64(seed ^ 0x6261_636b_7761_7465) ^ purpose) ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// Maps a 32-bit hash to `0..n` without division (Lemire 2016).
#[inline(always)]
pub const fn range32(hash: u32, n: u32) -> u32 {
    ((hash as u64 * n as u64) >> 32) as u32
}

/// Hashes `key` to 32 bits by the member of a family that a random `salt` selects; members of two salts are
/// independent.
///
/// Multiply-shift (Dietzfelbinger et al. 1997): the salt, made odd, is the multiplier. Keys should be well spread
/// already, as flow keys are.
#[inline(always)]
pub const fn salted(key: u32, salt: u64) -> u32 {
    ((key as u64).wrapping_mul(salt | 1) >> 32) as u32
}

/// A stream of random draws with its state: one per purpose and node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// Makes the stream that [`stream`] names.
    pub const fn new(seed: u64, purpose: u64, number: u64) -> Stream {
        Stream { state: stream(seed, purpose, number) }
    }

    /// Draws the next 32 bits.
    #[inline(always)]
    pub fn next_u32(&mut self) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix64(self.state) >> 32) as u32
    }
}
