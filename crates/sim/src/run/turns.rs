//! Partitions that take turns on one core, so that each window of each partition is timed alone.
//!
//! Threads that share cores tell nothing about a machine with a core for each. In turns, no partition disturbs another,
//! except that they share caches. The slowest partition of a window decides when the next window starts. So the sum over
//! the windows of the longest time is the run time with a core for each partition, without the barriers.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The turn, and the times that partitions took.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Vec<Times>>);

/// Times of one partition.
#[derive(Clone, Debug, Default)]
struct Times {
    /// `[window]`.
    windows: Vec<Duration>,
    /// Time since the last barrier.
    open: Duration,
}

impl Turns {
    /// Creates the turns of `partitions` partitions.
    pub fn new(partitions: usize) -> Turns {
        Turns(Mutex::new(vec![Times::default(); partitions]))
    }

    /// Runs `work` of a partition in its turn. With `at_barrier`, the window of the partition ends with it.
    pub(super) fn take<T>(&self, partition: usize, at_barrier: bool, work: impl FnOnce() -> T) -> T {
        let mut turn = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let start = Instant::now();
        let done = work();
        let times = &mut turn[partition];
        times.open += start.elapsed();
        if at_barrier {
            times.windows.push(std::mem::take(&mut times.open));
        }
        done
    }

    /// Returns the run time with a core for each partition, and the sum of all partitions' times.
    pub fn seconds(&self) -> (f64, f64) {
        let turn = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let windows = turn.iter().map(|times| times.windows.len()).max().unwrap_or(0);
        let of = |window: usize| turn.iter().filter_map(move |times| times.windows.get(window));
        let longest: Duration = (0..windows).filter_map(|window| of(window).max()).sum();
        let all: Duration = (0..windows).flat_map(of).sum();
        (longest.as_secs_f64(), all.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_partition_of_each_window_counts() {
        let ms = Duration::from_millis;
        let times = |windows: [u64; 3]| Times { windows: windows.map(ms).to_vec(), open: ms(7) };
        let turns = Turns(Mutex::new(vec![times([5, 1, 1]), times([2, 4, 1])]));
        assert_eq!(turns.seconds(), (0.010, 0.014));
    }
}
