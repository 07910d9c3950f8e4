//! Gaps between arrivals.

use crate::draws;
use backwater_scenario::model::Arrivals;

/// Distribution of the gaps between arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    arrivals: Arrivals,
    /// Mean gap, picoseconds.
    mean: f64,
    /// Log-normal gaps: mean of the logarithm.
    mu: f64,
}

impl Gaps {
    /// Creates gaps for `rate` arrivals per second. Log-normal gaps have `mu = ln(mean) - sigma^2 / 2`, so the mean is
    /// exact (traffic 1).
    pub fn new(arrivals: Arrivals, rate: f64) -> Gaps {
        let mean = 1e12 / rate;
        let mu = match arrivals {
            Arrivals::Poisson => 0.0,
            Arrivals::LogNormal(sigma) => libm::log(mean) - sigma * sigma / 2.0,
        };
        Gaps { arrivals, mean, mu }
    }

    /// Converts a random word to a gap, picoseconds.
    pub fn draw(&self, word: u64) -> f64 {
        match self.arrivals {
            Arrivals::Poisson => self.mean * draws::exponential(word),
            Arrivals::LogNormal(sigma) => libm::exp(self.mu + sigma * draws::normal(word)),
        }
    }
}
