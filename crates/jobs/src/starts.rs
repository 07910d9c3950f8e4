//! Earliest starts of operations of a rank: computations on a stream of their own, each of which ends at one of them.
//!
//! The first computation lasts until the earliest start, the next one from there to the second, and so on. So none
//! waits for the stream, and each ends exactly at its time after the start of the rank.

use crate::job::{JobBuilder, When};
use crate::op::Op;
use backwater_types::Duration;

/// Stream of the computations. No other operation of the rank may use it.
pub(crate) const STREAM: u8 = 2;

/// The computations of a rank.
pub(crate) struct Starts {
    /// Times in rising order, each with the operation that ends then.
    ends: Vec<(Duration, u32)>,
}

impl Starts {
    /// Adds the computations to the current rank. Time 0 needs none.
    pub(crate) fn add(builder: &mut JobBuilder, times: impl Iterator<Item = Duration>) -> Starts {
        let mut times: Vec<Duration> = times.filter(|time| *time > Duration::ZERO).collect();
        times.sort_unstable();
        times.dedup();
        let mut ends: Vec<(Duration, u32)> = Vec::with_capacity(times.len());
        for time in times {
            let (before, causes) = ends.last().map_or((Duration::ZERO, None), |(before, op)| (*before, Some(*op)));
            let op = builder.op_after(Op::calc(time - before).on(STREAM), causes.as_slice());
            ends.push((time, op));
        }
        Starts { ends }
    }

    /// Makes an operation of the current rank wait until `time`, which is one of those that were added.
    pub(crate) fn delay(&self, builder: &mut JobBuilder, op: u32, time: Duration) {
        if time > Duration::ZERO {
            let place = self.ends.binary_search_by_key(&time, |(end, _)| *end).expect("this time was added");
            builder.after(self.ends[place].1, op, When::Ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Work;

    #[test]
    fn computations_end_at_their_times() {
        let mut builder = JobBuilder::default();
        let times = [70, 0, 30, 70, 31].map(Duration);
        let starts = Starts::add(&mut builder, times.into_iter());
        for time in times {
            let op = builder.op(Op::calc(Duration(1)));
            starts.delay(&mut builder, op, time);
        }
        builder.end_rank().expect("no cycle");
        let job = builder.finish().expect("no message");
        let lasts = (0..3).map(|op| job.op(0, op).work).collect::<Vec<_>>();
        assert_eq!(lasts, [30, 1, 39].map(|time| Work::Calc(Duration(time))));
        let effects = |op| job.edges(0, op).map(|edge| edge.effect()).collect::<Vec<_>>();
        assert_eq!((effects(0), effects(1), effects(2)), (vec![1, 5], vec![2, 7], vec![3, 6]));
        assert!(job.roots(0).eq([0, 4]));
    }
}
