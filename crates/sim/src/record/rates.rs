//! Rates at which the receivers of followed flows got data.
//!
//! Every data packet that reaches the receiver counts with its payload, even a duplicate. The bytes of a flow therefore
//! sum to its size if no packet arrived twice. An interval begins at a multiple of its length; empty intervals are left
//! out.
//!
//! A flow begins with intervals as long as the period of `measure.links`, or 1 us. It doubles their length whenever it
//! has more than [`INTERVALS_MAX`]: 256 x 16 B = 4 KB a flow, 80 MB for 20,000.

use crate::record::asked::Asked;
use crate::record::label::Label;
pub use backwater_measure::records::rates::Rate;
use backwater_scenario::Scenario;
use backwater_types::{Duration, Instant};

/// Largest number of intervals of a flow.
pub const INTERVALS_MAX: usize = 256;

/// Counts of all followed flows.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    asked: Asked,
    /// Bytes of a data packet beside its payload.
    headers: u64,
    /// Length of the shortest interval.
    period: Duration,
    /// `[rank among the flows asked for]`: arrivals.
    flows: Vec<Arrivals>,
    /// Periods that have ended, with the ranks of their flows, until all are added to their flows at once. They share
    /// few pages of memory here, while in the flows each takes its own page.
    ended: Vec<(u32, Interval)>,
}

/// Arrivals of one flow.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// Period of the last arrival.
    last: Interval,
    /// Earlier intervals with arrivals, ascending.
    intervals: Vec<Interval>,
    /// Number of doublings: an interval is 2 to this power times the period.
    doubled: u32,
}

/// Bytes of one interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    /// Start, in lengths of the interval.
    number: u64,
    bytes: u64,
}

/// Number of ended periods that are added to their flows at once: 8192 x 24 B = 196 KB.
const ENDED: usize = 8192;

impl Rates {
    /// Builds counts for these flows.
    pub(super) fn new(asked: Asked, scenario: &Scenario) -> Rates {
        let links = scenario.measure.links;
        let period = if links > Duration::ZERO { links } else { Duration::from_us(1) };
        let flows = vec![Arrivals::default(); asked.count()];
        Rates { asked, headers: scenario.host.headers().0, period, flows, ended: Vec::new() }
    }

    /// Counts a received packet of a followed flow.
    pub(super) fn received(&mut self, now: Instant, packet: Label) {
        // A packet that opens a TCP connection has only headers.
        let bytes = u64::from(packet.wire).saturating_sub(self.headers);
        if !packet.data || bytes == 0 {
            return;
        }
        let (rank, number) = (self.asked.rank(packet.name.flow), now.0 / self.period.0);
        let last = &mut self.flows[rank].last;
        if last.number == number {
            last.bytes += bytes;
            return;
        }
        self.ended.push((rank as u32, std::mem::replace(last, Interval { number, bytes })));
        if self.ended.len() == ENDED {
            self.put_ended();
        }
    }

    /// Adds all ended periods to their flows.
    #[inline(never)]
    fn put_ended(&mut self) {
        self.ended.drain(..).for_each(|(rank, interval)| self.flows[rank as usize].put(interval));
    }

    /// Rates by flow, then by time.
    pub(crate) fn into_rates(mut self) -> impl Iterator<Item = Rate> {
        self.put_ended();
        let flows: Vec<u32> = self.asked.iter().collect();
        let period = self.period;
        flows.into_iter().zip(self.flows).flat_map(move |(flow, mut arrivals)| {
            arrivals.put(arrivals.last);
            let span = Duration(period.0 << arrivals.doubled);
            let rate = move |of: Interval| Rate { flow, end: Instant((of.number + 1) * span.0), span, bytes: of.bytes };
            arrivals.intervals.into_iter().map(rate)
        })
    }
}

impl Arrivals {
    /// Adds a period that has ended.
    fn put(&mut self, Interval { number, bytes }: Interval) {
        if bytes == 0 {
            return;
        }
        let number = number >> self.doubled;
        match self.intervals.last_mut() {
            Some(last) if last.number == number => last.bytes += bytes,
            _ => self.intervals.push(Interval { number, bytes }),
        }
        while self.intervals.len() > INTERVALS_MAX {
            self.double();
        }
    }

    /// Doubles the intervals: two become one.
    fn double(&mut self) {
        self.doubled += 1;
        self.intervals.iter_mut().for_each(|interval| interval.number /= 2);
        self.intervals.dedup_by(|interval, before| {
            let same = interval.number == before.number;
            before.bytes += if same { interval.bytes } else { 0 };
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::{Kind, Packet};

    #[test]
    fn a_long_flow_takes_longer_intervals_and_loses_nothing() {
        let mut long = Arrivals::default();
        // A thousand packets of 7 B every 3 us, then one an hour later.
        let periods = (0..1000).map(|i| i * 3).chain([3_600_000_000]);
        periods.for_each(|number| long.put(Interval { number, bytes: 7 }));
        assert!(long.intervals.len() <= INTERVALS_MAX);
        assert!(long.intervals.len() > INTERVALS_MAX / 2, "{}", long.intervals.len());
        assert_eq!(long.intervals.iter().map(|of| of.bytes).sum::<u64>(), 7 * 1001);
        assert!(long.intervals.is_sorted_by(|a, b| a.number < b.number));
        assert_eq!(1 << long.doubled, 16);
    }

    /// More periods than are added to their flows at once. Two flows alternate, and a third gets one packet.
    #[test]
    fn what_comes_is_counted_in_its_flow_and_period() {
        let (flows, periods) = ([3, 70, 71], ENDED as u64 + 100);
        let (asked, period) = (Asked::new(flows.into_iter()), Duration::from_us(1));
        let empty = vec![Arrivals::default(); flows.len()];
        let mut rates = Rates { asked, headers: 48, period, flows: empty, ended: Vec::new() };
        let mut receive = |flow: u32, at: Instant| {
            rates.received(at, Label::of(&Packet { flow, kind: Kind::Data, wire: 1048, ..Packet::NONE }));
        };
        for number in 0..periods {
            // Each period has two packets for one flow and one for the other.
            receive(3, Instant(number * period.0));
            receive(70, Instant(number * period.0 + 1));
            receive(3, Instant((number + 1) * period.0 - 1));
        }
        receive(71, Instant(5 * period.0));
        let rates: Vec<Rate> = rates.into_rates().collect();
        for (flow, bytes) in [(3, 2000), (70, 1000)] {
            let of: Vec<&Rate> = rates.iter().filter(|rate| rate.flow == flow).collect();
            // 8292 periods give 130 intervals of 64.
            assert_eq!((of.len(), of[0].span), (130, Duration::from_us(64)), "{flow}");
            assert!(of.iter().all(|rate| rate.end.0 % rate.span.0 == 0));
            assert!(of[..129].iter().all(|rate| rate.bytes == 64 * bytes));
            assert_eq!(of[129].bytes, (periods - 129 * 64) * bytes);
        }
        assert_eq!(rates.last(), Some(&Rate { flow: 71, end: Instant(6 * period.0), span: period, bytes: 1000 }));
    }
}
