//! Priority levels of Homa's packets, computed from the message sizes of all workloads.
//!
//! Source: Montazeri et al., SIGCOMM 2018, section 3.4; baselines 7. R is RTTbytes, S the size of a message, and P the
//! number of levels. Unscheduled packets have
//!
//! `round(P E[min(S, R)] / E[S])` levels, at least 1 and at most P - 1.
//!
//! Cutoffs of message size divide the unscheduled bytes `U(x) = E[min(S, R); S <= x]` into equal parts, one per level.
//! Each workload is weighted by the number of messages expected in `run.duration`; endless flows are left out. Sizes
//! are those of tables and parameters, before the sampler rounds them. Cutoffs are rounded down to whole bytes.

use crate::flow::ENDLESS;
use crate::hosts::Hosts;
use crate::incast;
use crate::listed::Listed;
use crate::load::flow_rate;
use crate::process::Process;
use crate::sizes::Sampler;
use backwater_scenario::job;
use backwater_scenario::model::{Scenario, SizeTable, Sizes, Workload};
use backwater_scenario::sizes;
use backwater_scenario::topology::Graph;
use backwater_transport::HomaLevels;
use std::collections::BTreeMap;

/// Computes the levels of a valid scenario under Homa, with `rtt_bytes` unscheduled bytes (R) at the start of a
/// message.
pub fn homa_levels(scenario: &Scenario, graph: &Graph, rtt_bytes: u64) -> HomaLevels {
    let homa = &scenario.host.homa;
    let mut messages = Messages::new(rtt_bytes as f64);
    scenario.workload.iter().for_each(|workload| messages.add_workload(scenario, graph, workload));
    messages.add_up();
    let cutoffs = match &homa.cutoffs {
        Some(cutoffs) => cutoffs.iter().map(|size| size.0).collect(),
        None => messages.cutoffs(homa.unscheduled_levels.unwrap_or_else(|| messages.unscheduled_levels(homa.levels))),
    };
    HomaLevels { levels: homa.levels, cutoffs }
}

/// Expected number of messages by size.
struct Messages {
    /// Messages with sizes uniform over an interval.
    runs: Vec<Run>,
    /// Messages of one size.
    equal: Vec<Equal>,
    /// RTTbytes R.
    rtt_bytes: f64,
}

/// Messages with sizes uniform from `low` to `high`.
struct Run {
    low: f64,
    high: f64,
    messages: f64,
}

/// Messages of one size.
struct Equal {
    size: f64,
    messages: f64,
    /// Unscheduled bytes of these messages and of all smaller ones in `Messages::equal`; set by `add_up`.
    unscheduled: f64,
}

impl Messages {
    fn new(rtt_bytes: f64) -> Messages {
        Messages { runs: Vec::new(), equal: Vec::new(), rtt_bytes }
    }

    fn add_workload(&mut self, scenario: &Scenario, graph: &Graph, workload: &Workload) {
        let seconds = |from: u64| scenario.run.duration.0.saturating_sub(from) as f64 * 1e-12;
        match workload {
            Workload::Background { sizes, from, to, start, .. } => {
                let (from, to) = (Hosts::named(graph, from), Hosts::named(graph, to));
                let rate = flow_rate(scenario, workload, graph, &from, &to, &Sampler::new(sizes));
                self.add(sizes, rate * seconds(start.0));
            }
            Workload::Incast { degree, aggregate, sizes, .. } => {
                let events = seconds(0) / (incast::period(workload, graph) * 1e-12);
                let flows = f64::from(*degree) * events;
                match (sizes, aggregate) {
                    (Some(sizes), _) => self.add(sizes, flows),
                    (None, aggregate) => {
                        self.add_equal(aggregate.map_or(0, |bytes| bytes.0) / u64::from(*degree), flows)
                    }
                }
            }
            Workload::LongLived { rate: Some(_), .. } => {}
            Workload::LongLived { .. } => self.add_listed(Listed::long_lived(workload, graph)),
            Workload::FlowList { .. } => self.add_listed(Listed::flow_list(workload, graph)),
            Workload::Collective { .. } | Workload::Job { .. } => {
                let placed = job::placed(scenario, workload, graph).expect("scenario checked: the job fits");
                let mut sizes = BTreeMap::<u64, u64>::new();
                (0..placed.messages()).for_each(|number| *sizes.entry(placed.transfer(number).bytes).or_default() += 1);
                sizes.into_iter().for_each(|(size, messages)| self.add_equal(size, messages as f64));
            }
        }
    }

    fn add(&mut self, sizes: &Sizes, messages: f64) {
        match sizes {
            Sizes::Fixed(bytes) => self.add_equal(bytes.0, messages),
            Sizes::Uniform([least, most]) => self.runs.push(Run { low: least.0 as f64, high: most.0 as f64, messages }),
            Sizes::Exponential(mean) => self.add_exponential(mean.0 as f64, messages),
            Sizes::Points(table) => self.add_table(table, messages),
            Sizes::Table(name) => self.add_table(sizes::table(name).expect("scenario checked: table exists"), messages),
            Sizes::File(_) => unreachable!("the reader turns files into points"),
        }
    }

    fn add_equal(&mut self, size: u64, messages: f64) {
        self.equal.push(Equal { size: size as f64, messages, unscheduled: 0.0 });
    }

    fn add_listed(&mut self, mut listed: Listed) {
        while let Some(flow) = listed.next().filter(|flow| flow.size != ENDLESS) {
            self.add_equal(flow.size, 1.0);
        }
    }

    fn add_table(&mut self, table: &SizeTable, messages: f64) {
        let (mut low, mut below) = (table.points[0].0, 0.0);
        for &(high, cdf) in &table.points {
            let messages = messages * (cdf - below);
            match table.linear && high > low {
                _ if messages == 0.0 => {}
                true => self.runs.push(Run { low, high, messages }),
                false => self.equal.push(Equal { size: high, messages, unscheduled: 0.0 }),
            }
            (low, below) = (high, cdf);
        }
    }

    /// Adds exponential sizes in a thousand parts of equally many messages, with uniform sizes in all parts but the
    /// last.
    fn add_exponential(&mut self, mean: f64, messages: f64) {
        const PARTS: u32 = 1000;
        let quantile = |part: u32| -mean * libm::log(1.0 - f64::from(part) / f64::from(PARTS));
        let messages = messages / f64::from(PARTS);
        self.runs.extend((1..PARTS).map(|part| Run { low: quantile(part - 1), high: quantile(part), messages }));
        // An exponential size beyond a quantile exceeds it by the mean.
        self.add_equal((quantile(PARTS - 1) + mean) as u64, messages);
    }

    /// Sorts `equal` and sums its unscheduled bytes. Called once, after the last `add`.
    fn add_up(&mut self) {
        self.equal.sort_by(|a, b| a.size.total_cmp(&b.size));
        let mut sum = 0.0;
        for equal in &mut self.equal {
            sum += equal.messages * equal.size.min(self.rtt_bytes);
            equal.unscheduled = sum;
        }
    }

    /// Computes U(x): unscheduled bytes of messages of at most `x` bytes.
    fn unscheduled_to(&self, x: f64) -> f64 {
        // Mean of min(S, R) over sizes uniform from low to high.
        let unscheduled = |low: f64, high: f64| match self.rtt_bytes {
            r if high <= r => (low + high) / 2.0,
            r if low >= r => r,
            r => ((r * r - low * low) / 2.0 + r * (high - r)) / (high - low),
        };
        let run = |run: &Run| match () {
            _ if run.high <= x => run.messages * unscheduled(run.low, run.high),
            _ if run.low >= x => 0.0,
            _ => run.messages * (x - run.low) / (run.high - run.low) * unscheduled(run.low, x),
        };
        let equal = self.equal.partition_point(|equal| equal.size <= x).checked_sub(1);
        self.runs.iter().map(run).sum::<f64>() + equal.map_or(0.0, |last| self.equal[last].unscheduled)
    }

    fn unscheduled_levels(&self, levels: u8) -> u8 {
        let runs: f64 = self.runs.iter().map(|run| run.messages * (run.low + run.high) / 2.0).sum();
        let bytes = runs + self.equal.iter().map(|equal| equal.messages * equal.size).sum::<f64>();
        let share = if bytes > 0.0 { self.unscheduled_to(f64::INFINITY) / bytes } else { 0.0 };
        ((f64::from(levels) * share).round() as u8).clamp(1, levels - 1)
    }

    fn cutoffs(&self, unscheduled_levels: u8) -> Vec<u64> {
        let all = self.unscheduled_to(f64::INFINITY);
        let sizes = self.runs.iter().map(|run| run.high).chain(self.equal.last().map(|equal| equal.size));
        let largest = sizes.fold(0.0, f64::max);
        let cutoff = |level: u8| {
            let wanted = all * f64::from(level) / f64::from(unscheduled_levels);
            let (mut below, mut at) = (0.0, largest);
            // Bisect until no number lies between: an f64 has 53 bits, and sizes have 37 bits before the point.
            for _ in 0..90 {
                let middle = (below + at) / 2.0;
                if self.unscheduled_to(middle) < wanted { below = middle } else { at = middle }
            }
            (at as u64).max(1)
        };
        (1..unscheduled_levels).map(cutoff).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_table(name: &str) -> Messages {
        let mut messages = Messages::new(100_000.0);
        messages.add(&Sizes::Table(name.into()), 7.0);
        messages.add_up();
        messages
    }

    /// Levels and cutoffs from the parameters of BFC's comparison (baselines 7), with 32 levels.
    #[test]
    fn levels_and_cutoffs_of_published_workloads() {
        let google = [
            344, 760, 2075, 4403, 6407, 8990, 11_774, 15_424, 23_814, 38_564, 62_442, 76_885, 91_822, 110_178, 139_887,
            219_676, 379_282,
        ];
        let hadoop = [48_033, 76_633, 106_006, 189_769, 509_631];
        for (name, share, cutoffs) in
            [("google_rpc", 0.561, &google[..]), ("fb_hadoop", 0.178, &hadoop[..]), ("web_search", 0.037, &[][..])]
        {
            let messages = of_table(name);
            let table = sizes::table(name).expect("the table ships");
            let realised = messages.unscheduled_to(f64::INFINITY) / (7.0 * table.mean());
            assert!((realised - share).abs() < 5e-4, "{name}: {realised} of the bytes unscheduled");
            let levels = messages.unscheduled_levels(32);
            assert_eq!(levels as usize, cutoffs.len() + 1, "{name}");
            assert_eq!(messages.cutoffs(levels), cutoffs, "{name}");
        }
    }

    /// Equal unscheduled bytes lie between any two cutoffs, summed message by message.
    #[test]
    fn every_level_has_equally_many_unscheduled_bytes() {
        let (messages, table) = (of_table("google_rpc"), sizes::table("google_rpc").expect("the table ships"));
        let cutoffs = messages.cutoffs(18);
        let (mut of_level, draws) = ([0.0; 18], 4_000_000);
        for draw in 0..draws {
            let size = table.at((f64::from(draw) + 0.5) / f64::from(draws));
            of_level[cutoffs.partition_point(|cutoff| (*cutoff as f64) < size)] += size.min(100_000.0);
        }
        let mean = of_level.iter().sum::<f64>() / 18.0;
        assert!(of_level.iter().all(|bytes| (bytes / mean - 1.0).abs() < 0.01), "{of_level:?} over {mean}");
    }

    #[test]
    fn sizes_that_are_fixed_and_exponential_count_by_their_bytes() {
        let of = |sizes: &[(Sizes, f64)]| {
            let mut messages = Messages::new(100_000.0);
            sizes.iter().for_each(|(sizes, number)| messages.add(sizes, *number));
            messages.add_up();
            messages
        };
        let fixed = |bytes: u64| Sizes::Fixed(backwater_types::Bytes(bytes));
        let messages = of(&[(fixed(400_000), 10.0)]);
        assert_eq!((messages.unscheduled_levels(32), messages.cutoffs(3)), (8, vec![400_000, 400_000]));
        // Unscheduled are 20 x 50 KB and 10 x 100 KB, of 20 x 50 KB and 10 x 400 KB in all: two fifths.
        let messages = of(&[(fixed(400_000), 10.0), (fixed(50_000), 20.0)]);
        assert_eq!((messages.unscheduled_levels(32), messages.cutoffs(2)), (13, vec![50_000]));
        // For exponential S of mean m, E[min(S, m)] is m (1 - 1/e).
        let messages = of(&[(Sizes::Exponential(backwater_types::Bytes(100_000)), 1.0)]);
        let unscheduled = messages.unscheduled_to(f64::INFINITY) / 100_000.0;
        assert!((unscheduled - (1.0 - libm::exp(-1.0))).abs() < 1e-3, "{unscheduled}");
    }
}
