//! What the receivers of followed flows got, over time.
//!
//! Counted is the payload of a flow's data packets that reach its receiver, also of those that it had already: over a
//! flow of which nothing was sent again it sums to the flow's size, and else to as much more as came twice. An interval
//! begins at a multiple of its length; those in which nothing came are left out.
//!
//! A flow begins with intervals as long as the period of `measure.links`, or 1 us, and takes intervals twice as long
//! whenever it has more than [`INTERVALS_MAX`]: 256 x 16 B = 4 KB a flow, 80 MB for 20,000.

use crate::record::asked::Asked;
use crate::record::label::Label;
use backwater_scenario::Scenario;
use backwater_types::{Duration, Instant};

/// Intervals of a flow at most.
pub const INTERVALS_MAX: usize = 256;

/// What a flow's receiver got in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Flow number.
    pub flow: u32,
    /// The interval's end, which is not in it.
    pub end: Instant,
    /// Its length.
    pub span: Duration,
    /// Payload, bytes.
    pub bytes: u64,
}

/// Counts for the flows asked for.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    asked: Asked,
    /// Of a data packet, with what it carries beside them; bytes.
    headers: u64,
    /// By the rank of the flow among those asked for.
    flows: Vec<Arrivals>,
}

/// What came of a flow.
#[derive(Clone, Debug)]
struct Arrivals {
    span: Duration,
    /// Number of the interval and bytes, rising.
    intervals: Vec<(u64, u64)>,
}

impl Rates {
    /// Of these flows.
    pub(super) fn new(asked: Asked, scenario: &Scenario) -> Rates {
        let links = scenario.measure.links;
        let period = if links > Duration::ZERO { links } else { Duration::from_us(1) };
        let flows = vec![Arrivals { span: period, intervals: Vec::new() }; asked.count()];
        Rates { asked, headers: scenario.host.headers().0, flows }
    }

    /// A packet of a flow that is asked for is received.
    pub(super) fn received(&mut self, now: Instant, packet: Label) {
        // What opens a connection of TCP has headers alone.
        let bytes = u64::from(packet.wire).saturating_sub(self.headers);
        if packet.data && bytes > 0 {
            self.flows[self.asked.rank(packet.name.flow)].add(now, bytes);
        }
    }

    /// By flow, then by time.
    pub(crate) fn into_rates(self) -> impl Iterator<Item = Rate> {
        let flows: Vec<u32> = self.asked.iter().collect();
        flows.into_iter().zip(self.flows).flat_map(|(flow, Arrivals { span, intervals })| {
            let end = move |number: u64| Instant((number + 1) * span.0);
            intervals.into_iter().map(move |(number, bytes)| Rate { flow, end: end(number), span, bytes })
        })
    }
}

impl Arrivals {
    fn add(&mut self, now: Instant, bytes: u64) {
        let number = now.0 / self.span.0;
        match self.intervals.last_mut() {
            Some((last, sum)) if *last == number => *sum += bytes,
            _ => self.intervals.push((number, bytes)),
        }
        while self.intervals.len() > INTERVALS_MAX {
            self.double();
        }
    }

    /// Two intervals become one.
    fn double(&mut self) {
        self.span = self.span + self.span;
        self.intervals.iter_mut().for_each(|(number, _)| *number /= 2);
        self.intervals.dedup_by(|(number, bytes), (before, sum)| {
            let same = number == before;
            *sum += if same { *bytes } else { 0 };
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_flow_takes_longer_intervals_and_loses_nothing() {
        let mut long = Arrivals { span: Duration::from_us(1), intervals: Vec::new() };
        // A packet of 7 B every 3 us, a thousand of them, then one an hour later.
        let times = (0..1000).map(|i| i * 3_000_000).chain([3_600_000_000_000_000]);
        times.for_each(|at| long.add(Instant(at), 7));
        assert!(long.intervals.len() <= INTERVALS_MAX);
        assert!(long.intervals.len() > INTERVALS_MAX / 2, "{}", long.intervals.len());
        assert_eq!(long.intervals.iter().map(|(_, bytes)| bytes).sum::<u64>(), 7 * 1001);
        assert!(long.intervals.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(long.span, Duration::from_us(16));
    }
}
