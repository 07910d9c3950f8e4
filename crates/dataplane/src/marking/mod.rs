//! Random early detection on the instantaneous length of an egress queue or a pool, at dequeue.
//!
//! Source: spec G.2 and baselines 0.5, after Floyd and Jacobson 1993 without averaging. A packet that leaves `q` bytes
//! behind is not marked up to `kmin`, always marked above `kmax`, and in between marked with probability
//!
//! ```text
//! plain:    p = pmax (q - kmin) / (kmax - kmin)
//! uniform:  p / (1 - n p) x len / packet,   n = bytes since the last mark / packet      (baselines 11; ns-2)
//! ```
//!
//! Random numbers come from the switch's own stream. With the event order of ns-3 they come from ns-3's streams
//! ([`Ns3Streams`]), and the plain p is computed in floating point, as there.
//!
//! Uniform spacing resets its count whenever `q` is at or below `kmin`. With `kmin = kmax` either variant is DCTCP's
//! step.

mod ns3;
mod params;

pub(crate) use ns3::Ns3Draws;
pub use ns3::{Ns3Stream, Ns3Streams};
pub use params::{Ecn, EcnAt, EcnOf, NotEct, PoolEcn, SpacedOver, Spacing};

use backwater_types::hash::Stream;

/// RED thresholds of one queue, port or pool. With uniform spacing, also the bytes since its last mark.
#[derive(Clone, Copy, Debug)]
pub struct Red {
    kmin: u64,
    kmax: u64,
    pmax: f64,
    /// Marking probability per byte above `kmin`, in units of 2^-64, rounded down.
    slope: u64,
    /// Bytes of a full packet for uniform spacing; 0: plain.
    packet: u32,
    since: u64,
}

impl Red {
    /// A rule that never marks.
    pub const OFF: Red = Red { kmin: u64::MAX, kmax: u64::MAX, pmax: 0.0, slope: 0, packet: 0, since: 0 };

    /// Creates a plain rule. `kmin` and `kmax` in bytes, `pmax` from 0 to 1.
    pub fn new(kmin: u64, kmax: u64, pmax: f64) -> Red {
        let range = kmax.saturating_sub(kmin).max(1);
        let slope = (pmax * (u64::MAX as f64) / range as f64) as u64;
        Red { kmin, kmax, pmax, slope, packet: 0, since: 0 }
    }

    /// Adds uniform spacing, with full packets of `packet` bytes.
    pub fn uniform(self, packet: u32) -> Red {
        Red { packet, ..self }
    }

    /// Whether no packet is marked at `queue` bytes. If so, the count of uniform spacing is reset.
    #[inline(always)]
    pub fn is_below(&mut self, queue: u64) -> bool {
        let below = queue <= self.kmin;
        if below {
            self.since = 0;
        }
        below
    }

    /// Whether to mark a packet of `wire` bytes that left `queue` bytes behind.
    #[inline(always)]
    pub fn marks(&mut self, queue: u64, wire: u64, rng: &mut Stream) -> bool {
        if self.is_below(queue) {
            return false;
        }
        if queue > self.kmax {
            self.since = 0;
            return true;
        }
        let word = (rng.next_u32() as u64) << 32;
        let p = self.slope.saturating_mul(queue - self.kmin);
        if self.packet == 0 { word < p } else { self.is_due(p, wire, word) }
    }

    /// Like [`Red::marks`], with a random number of ns-3's where one is needed.
    pub(crate) fn marks_as_ns3(&mut self, queue: u64, wire: u64, draws: &mut Ns3Draws) -> bool {
        if self.is_below(queue) {
            return false;
        }
        if queue > self.kmax {
            self.since = 0;
            return true;
        }
        let u = draws.next();
        if self.packet == 0 {
            return u < self.pmax * (queue - self.kmin) as f64 / (self.kmax - self.kmin) as f64;
        }
        self.is_due(self.slope.saturating_mul(queue - self.kmin), wire, (u * ONE) as u64)
    }

    /// Whether uniform spacing marks a packet now. `p` and `word` in units of 2^-64.
    fn is_due(&mut self, p: u64, wire: u64, word: u64) -> bool {
        self.since += wire;
        let (p, packet) = (p as f64 / ONE, self.packet as f64);
        let spent = self.since as f64 / packet * p;
        let due = spent >= 1.0 || (word as f64 / ONE) < p / (1.0 - spent) * (wire as f64 / packet);
        if due {
            self.since = 0;
        }
        due
    }
}

/// 2^64.
const ONE: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn marks_nothing_at_kmin_half_midway_and_all_above_kmax() {
        let (mut red, mut rng) = (Red::new(100_000, 400_000, 1.0), Stream::new(1, 1, 1));
        let mut share = |queue| (0..100_000).filter(|_| red.marks(queue, 1000, &mut rng)).count();
        assert_eq!(share(100_000), 0);
        assert_eq!(share(400_001), 100_000);
        let midway = share(250_000);
        assert!((49_000..51_000).contains(&midway), "{midway}");
    }

    #[test]
    fn ns3_draws_between_the_thresholds_only() {
        let streams = Ns3Streams::after(0);
        let (mut alone, mut draws) = (Ns3Draws::new(streams.fork()), Ns3Draws::new(streams));
        let mut red = Red::new(100_000, 400_000, 0.5);
        assert!(!red.marks_as_ns3(100_000, 1000, &mut draws) && red.marks_as_ns3(400_001, 1000, &mut draws));
        for _ in 0..1000 {
            assert_eq!(red.marks_as_ns3(250_000, 1000, &mut draws), alone.next() < 0.25);
        }
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        for mut red in [Red::new(30_000, 30_000, 1.0), Red::new(30_000, 30_000, 1.0).uniform(9000)] {
            let mut rng = Stream::new(1, 1, 1);
            assert!(!red.marks(30_000, 1000, &mut rng) && red.marks(30_001, 1000, &mut rng));
        }
    }

    /// With p = 1/20, gaps between marks are uniform over 1 to 19 packets, half as long as the geometric ones of mean
    /// 20.
    #[test]
    fn uniform_spacing_bounds_the_gap_and_halves_its_mean() {
        let (mut red, mut rng) = (Red::new(0, 100_000, 0.1).uniform(9000), Stream::new(1, 1, 1));
        let (mut gaps, mut gap) = (Vec::new(), 0u32);
        for _ in 0..100_000 {
            gap += 1;
            if red.marks(50_000, 9000, &mut rng) {
                gaps.push(gap);
                gap = 0;
            }
        }
        let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
        assert!(gaps.iter().all(|gap| *gap <= 19), "{:?}", gaps.iter().max());
        assert!((9.8..10.2).contains(&mean), "{mean}");
        // A packet of a tenth of the size counts a tenth.
        let marks = (0..100_000).filter(|_| red.marks(50_000, 900, &mut rng)).count() as f64;
        assert!((90.0..115.0).contains(&(100_000.0 / marks)), "{marks}");
    }

    #[test]
    fn below_kmin_the_count_is_forgotten() {
        let (mut red, mut rng) = (Red::new(10_000, 100_000, 0.1).uniform(9000), Stream::new(1, 1, 1));
        for _ in 0..1000 {
            (0..9).for_each(|_| _ = red.marks(55_000, 9000, &mut rng));
            assert!(!red.marks(10_000, 9000, &mut rng) && red.since == 0);
        }
    }
}
