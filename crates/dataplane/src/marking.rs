//! Random early detection on the instantaneous length of an egress queue, at dequeue.
//!
//! Source: spec G.2 and baselines 0.5, after Floyd and Jacobson 1993 without averaging and without an inter-mark count.
//! After the packet has left its queue of `q` bytes: no mark up to `kmin`; every packet above `kmax`; in between with
//! probability `pmax * (q - kmin) / (kmax - kmin)`. With `kmin = kmax` this is DCTCP's step.

use backwater_types::hash::Stream;

/// Thresholds of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Red {
    kmin: u64,
    kmax: u64,
    /// Marking probability per byte above `kmin`, in units of 2^-64, rounded down.
    slope: u64,
}

impl Red {
    /// Never marks.
    pub const OFF: Red = Red { kmin: u64::MAX, kmax: u64::MAX, slope: 0 };

    /// `kmin` and `kmax` in bytes, `pmax` from 0 to 1.
    pub fn new(kmin: u64, kmax: u64, pmax: f64) -> Red {
        let range = kmax.saturating_sub(kmin).max(1);
        let slope = (pmax * (u64::MAX as f64) / range as f64) as u64;
        Red { kmin, kmax, slope }
    }

    /// Whether a packet that left `queue` bytes behind it is marked.
    #[inline(always)]
    pub fn marks(&self, queue: u64, rng: &mut Stream) -> bool {
        if queue <= self.kmin {
            return false;
        }
        queue > self.kmax || (rng.next_u32() as u64) << 32 < self.slope.saturating_mul(queue - self.kmin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_nothing_at_kmin_half_midway_and_all_above_kmax() {
        let (red, mut rng) = (Red::new(100_000, 400_000, 1.0), Stream::new(1, 1, 1));
        let mut share = |queue| (0..100_000).filter(|_| red.marks(queue, &mut rng)).count();
        assert_eq!(share(100_000), 0);
        assert_eq!(share(400_001), 100_000);
        let midway = share(250_000);
        assert!((49_000..51_000).contains(&midway), "{midway}");
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        let (red, mut rng) = (Red::new(30_000, 30_000, 1.0), Stream::new(1, 1, 1));
        assert!(!red.marks(30_000, &mut rng) && red.marks(30_001, &mut rng));
    }
}
