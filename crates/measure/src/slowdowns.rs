//! Slowdowns of counted flows by workload and size, and the flows that arrived in the counted window. One pass over the
//! flows finds both.

use crate::flow_row::FlowRow;
use backwater_paged::{Paged, ROWS_MAX};
use backwater_scenario::model::{Scenario, Slowdown};
use backwater_traffic::counted_window;

/// The counted flows of a run.
pub struct Counted {
    /// Slowdowns by workload and size. Bins without flows are left out.
    pub bins: Vec<Bin>,
    /// Slowdowns by workload, of all sizes.
    pub all: Vec<Bin>,
    /// `[workload]`: counted flows that arrived in the counted window.
    pub arrived: Vec<Arrived>,
}

/// Flows that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrived {
    /// Number of flows.
    pub flows: u64,
    /// Their payload, bytes.
    pub bytes: u64,
}

/// Slowdowns of the counted flows of one workload and size bin. Statistics are `NaN` without finished flows.
#[derive(Clone, Copy, Debug)]
pub struct Bin {
    /// Workload number.
    pub class: usize,
    /// Lower end of sizes, exclusive, payload bytes.
    pub low: u64,
    /// Upper end of sizes, inclusive, payload bytes; `u64::MAX` for none.
    pub high: u64,
    /// Number of flows that have finished.
    pub flows: u64,
    /// Number of flows that have not finished.
    pub unfinished: u64,
    /// Mean slowdown.
    pub mean: f64,
    /// Percentiles of slowdown: the smallest slowdown that 50, 95 and 99 per cent of the flows do not exceed.
    pub percentiles: [f64; 3],
    /// Mean of completion time minus ideal, nanoseconds. Negative values occur where the ideal is an estimate.
    pub mean_excess_ns: f64,
    /// 99th percentile of the same.
    pub p99_excess_ns: f64,
}

impl Counted {
    /// Counts the flows of a run.
    pub(crate) fn of(scenario: &Scenario, flows: impl Iterator<Item = FlowRow>) -> Counted {
        let mut edges: Vec<u64> = scenario.measure.size_bins.iter().map(|b| b.0).collect();
        edges.push(u64::MAX);
        let classes = scenario.workload.len();
        let (_, until) = counted_window(scenario);
        let mut arrived = vec![Arrived::default(); classes];
        let mut bins: Vec<Flows> = (0..classes)
            .flat_map(|class| {
                let lows = std::iter::once(0).chain(edges.iter().copied());
                lows.zip(edges.clone()).map(move |(low, high)| Flows::new(class, low, high))
            })
            .collect();
        for row in flows.filter(|row| row.counted) {
            let class = row.flow.class as usize;
            if row.flow.at < until {
                arrived[class].flows += 1;
                arrived[class].bytes += row.flow.size;
            }
            let bin = edges.partition_point(|high| *high < row.flow.size);
            bins[class * edges.len() + bin].add(&row, scenario.measure.slowdown);
        }
        bins.retain(|bin| bin.unfinished > 0 || !bin.slowdowns.is_empty());
        bins.iter_mut().for_each(Flows::sort);
        let all = (0..classes).filter_map(|class| Flows::all_sizes(&bins, class)).map(|all| all.bin()).collect();
        Counted { bins: bins.iter().map(Flows::bin).collect(), all, arrived }
    }
}

/// Counted flows of one workload and size bin.
struct Flows {
    class: usize,
    low: u64,
    high: u64,
    unfinished: u64,
    /// Slowdowns of the finished flows.
    slowdowns: Paged<f64>,
    /// Sum of these slowdowns, in order of arrival.
    sum: f64,
    /// Completion times of the finished flows minus the ideal, picoseconds.
    excess: Paged<i64>,
}

impl Flows {
    fn new(class: usize, low: u64, high: u64) -> Flows {
        let (slowdowns, excess) = (Paged::new(ROWS_MAX), Paged::new(ROWS_MAX));
        Flows { class, low, high, unfinished: 0, slowdowns, sum: 0.0, excess }
    }

    /// Adds a flow, whose end is by the definition of slowdown that the scenario asks for.
    fn add(&mut self, row: &FlowRow, by: Slowdown) {
        if row.slowdown.is_nan() {
            self.unfinished += 1;
            return;
        }
        let end = match by {
            Slowdown::Exact => row.received,
            Slowdown::BfcScript | Slowdown::HpccSim => row.acknowledged,
        };
        self.sum += row.slowdown;
        self.slowdowns.push(row.slowdown);
        self.excess.push(end.since(row.flow.at).0 as i64 - row.ideal as i64);
    }

    /// Joins the sorted bins of one workload; `None` if it has no counted flows.
    fn all_sizes(bins: &[Flows], class: usize) -> Option<Flows> {
        let mut of_class = bins.iter().filter(|bin| bin.class == class).peekable();
        of_class.peek()?;
        let mut all = Flows::new(class, 0, u64::MAX);
        for bin in of_class {
            all.unfinished += bin.unfinished;
            all.sum += bin.slowdowns.iter().sum::<f64>();
            all.slowdowns.extend(&bin.slowdowns);
            all.excess.extend(&bin.excess);
        }
        all.sort();
        Some(all)
    }

    fn sort(&mut self) {
        self.slowdowns.sort_unstable_by(f64::total_cmp);
        self.excess.sort_unstable_by(i64::cmp);
    }

    /// The statistics of sorted flows.
    fn bin(&self) -> Bin {
        let flows = self.slowdowns.len();
        let rank = |percent| nearest_rank(flows as u64, percent) as usize;
        let percentile = |percent| if flows == 0 { f64::NAN } else { self.slowdowns.get(rank(percent)) };
        Bin {
            class: self.class,
            low: self.low,
            high: self.high,
            flows: flows as u64,
            unfinished: self.unfinished,
            mean: self.sum / flows as f64,
            percentiles: [50, 95, 99].map(percentile),
            mean_excess_ns: self.excess.iter().sum::<i64>() as f64 / flows as f64 / 1e3,
            p99_excess_ns: if flows == 0 { f64::NAN } else { self.excess.get(rank(99)) as f64 / 1e3 },
        }
    }
}

/// Percentile by nearest rank: the smallest value that `percent` per cent of the values do not exceed.
pub(crate) fn ranked<T>(sorted: &[T], percent: usize) -> Option<&T> {
    sorted.get(nearest_rank(sorted.len() as u64, percent as u64) as usize)
}

/// Index of a percentile in `n` sorted values.
pub(crate) fn nearest_rank(n: u64, percent: u64) -> u64 {
    (n * percent).div_ceil(100).saturating_sub(1)
}
