//! How late frames were at the edge of the fabric, where the machine's scheduler decides.

use backwater_counters::DelayHistogram;
use backwater_types::Duration as Span;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Lateness of one host's frames in one direction, in time of the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lateness {
    histogram: DelayHistogram,
    max: Duration,
    frames: u64,
}

impl Lateness {
    /// Counts a frame that was late by this.
    pub fn count(&mut self, late: Duration) {
        self.histogram.count(Span((late.as_nanos() * 1000).min(u128::from(u64::MAX)) as u64));
        self.max = self.max.max(late);
        self.frames += 1;
    }

    /// Adds the frames of another host or direction.
    pub fn add(&mut self, other: &Lateness) {
        self.histogram.merge(&other.histogram);
        self.max = self.max.max(other.max);
        self.frames += other.frames;
    }

    /// Number of frames.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Lateness of the latest frame.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// Lateness that a share of the frames did not exceed, to within the histogram's resolution; at most
    /// [`Lateness::max`].
    pub fn quantile(&self, share: f64) -> Duration {
        let (mut seen, wanted) = (0, (share * self.frames as f64).ceil() as u64);
        let bin = self.histogram.bins().find(|(_, _, count)| {
            seen += count;
            seen >= wanted
        });
        Duration::from_nanos(bin.map_or(0, |(_, high, _)| high)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_frames() {
        let mut late = Lateness::default();
        (1..=1000).for_each(|us| late.count(Duration::from_micros(us)));
        let median = late.quantile(0.5).as_micros();
        assert!((500..540).contains(&median), "{median}");
        assert_eq!(
            (late.quantile(1.0), late.max(), late.frames()),
            (Duration::from_millis(1), Duration::from_millis(1), 1000)
        );
        assert_eq!(Lateness::default().quantile(0.99), Duration::ZERO);
    }
}
