//! A value sampled periodically and reported with a delay.

use alloc::boxed::Box;
use alloc::vec;
use backwater_types::{Duration, Instant};

/// Periodic samples of a value: a reader learns the value at every multiple of `period`, `delay` later. The value may
/// change at any time. Samples are computed from changes, so no timer is needed.
#[derive(Clone, Debug)]
pub(crate) struct Sampled<T> {
    period: u64,
    delay: u64,
    /// `[k modulo length]`: the value at multiple `k` of the period, up to `last`. The value has not changed since
    /// `last`.
    at: Box<[T]>,
    last: u64,
}

impl<T: Copy> Sampled<T> {
    /// Creates samples of a value that starts as `first`. `period` is more than 0.
    pub(crate) fn new(period: Duration, delay: Duration, first: T) -> Sampled<T> {
        let kept = delay.0.div_ceil(period.0) + 2;
        Sampled { period: period.0, delay: delay.0, at: vec![first; kept as usize].into_boxed_slice(), last: 0 }
    }

    /// Records that the value, `before` until now, is about to change.
    pub(crate) fn change(&mut self, now: Instant, before: T) {
        let due = now.0 / self.period;
        let kept = self.at.len() as u64;
        for k in (self.last + 1).max((due + 1).saturating_sub(kept))..=due {
            self.at[(k % kept) as usize] = before;
        }
        self.last = due;
    }

    /// The value known to the reader at `now`, given the present `value`.
    pub(crate) fn seen(&self, now: Instant, value: T) -> T {
        let k = now.0.saturating_sub(self.delay) / self.period;
        if k > self.last { value } else { self.at[(k % self.at.len() as u64) as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use backwater_types::hash::Stream;

    /// Compares each sample with a record of all changes.
    #[test]
    fn samples_agree_with_a_record_of_changes() {
        for (period, delay) in [(1, 0), (10, 0), (10, 3), (10, 10), (7, 40), (100, 1)] {
            let (mut rng, mut now, mut value) = (Stream::new(period, delay, 1), 0u64, 0u32);
            let mut sampled = Sampled::new(Duration(period), Duration(delay), value);
            // Each value and the time when it ended.
            let mut record: Vec<(u64, u32)> = Vec::new();
            for _ in 0..5_000 {
                now += u64::from(rng.next_u32() % 30);
                let asked = now.saturating_sub(delay) / period * period;
                let truth = record.iter().find(|(end, _)| *end >= asked).map_or(value, |(_, value)| *value);
                assert_eq!(sampled.seen(Instant(now), value), truth, "period {period}, delay {delay}, at {now}");
                if rng.next_u32().is_multiple_of(3) {
                    sampled.change(Instant(now), value);
                    record.push((now, value));
                    value = rng.next_u32();
                    now += 1;
                }
                record.drain(..record.len().saturating_sub(100));
            }
        }
    }
}
