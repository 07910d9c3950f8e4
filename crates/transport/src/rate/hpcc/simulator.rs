//! Differences of the authors' simulator of HPCC, for scenarios that ask for its arithmetic
//! ([`Site::whole`](crate::Site::whole)).

use crate::rate::hpcc::HpccParams;
use crate::rate::hpcc::int::IntRate;

/// Rates above 25 Gb/s that the simulator's telemetry can express, bit/s.
const KNOWN_RATES: [f64; 4] = [50e9, 100e9, 200e9, 400e9];

impl HpccParams {
    /// Reads the rate of a link (bit/s); the simulator takes any rate that it does not know for 25 Gb/s.
    #[inline(always)]
    pub(super) fn link_rate(&self, written: IntRate) -> f64 {
        let rate = written.bits_per_sec();
        if self.site.whole && !KNOWN_RATES.contains(&rate) { 25e9 } else { rate }
    }

    /// Whether a record counts that is `elapsed` nanoseconds younger than the one before; the simulator divides by
    /// zero.
    #[inline(always)]
    pub(super) fn is_sample(&self, elapsed: u64) -> bool {
        elapsed != 0 || self.site.whole
    }

    /// Whether records of different paths are compared.
    #[inline(always)]
    pub(super) fn compares_paths(&self) -> bool {
        self.site.whole
    }
}
