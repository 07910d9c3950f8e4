//! A value as it was at the last multiple of a period, told some time later.

use alloc::boxed::Box;
use alloc::vec;
use backwater_types::{Duration, Instant};

/// What a reader knows who is told a value at every multiple of `period`, each time `delay` late. It changes at any time; nothing is
/// done when it is told, so that no clock has to run.
#[derive(Clone, Debug)]
pub(crate) struct Sampled<T> {
    period: u64,
    delay: u64,
    /// The value at multiple `k` stands at `k` modulo their number, up to `last`; since then it has not changed.
    at: Box<[T]>,
    last: u64,
}

impl<T: Copy> Sampled<T> {
    /// Of a value that is `first` at first; `period` is more than 0.
    pub(crate) fn new(period: Duration, delay: Duration, first: T) -> Sampled<T> {
        let kept = delay.0.div_ceil(period.0) + 2;
        Sampled { period: period.0, delay: delay.0, at: vec![first; kept as usize].into_boxed_slice(), last: 0 }
    }

    /// The value, `before` until now, is about to change.
    pub(crate) fn change(&mut self, now: Instant, before: T) {
        let due = now.0 / self.period;
        let kept = self.at.len() as u64;
        for k in (self.last + 1).max((due + 1).saturating_sub(kept))..=due {
            self.at[(k % kept) as usize] = before;
        }
        self.last = due;
    }

    /// What is known at `now` of a value that is `value` in truth.
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

    /// Against a record of all changes.
    #[test]
    fn it_is_what_the_record_says() {
        for (period, delay) in [(1, 0), (10, 0), (10, 3), (10, 10), (7, 40), (100, 1)] {
            let (mut rng, mut now, mut value) = (Stream::new(period, delay, 1), 0u64, 0u32);
            let mut sampled = Sampled::new(Duration(period), Duration(delay), value);
            // Each value, and when it ended.
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
