//! Incast: many-to-one bursts.

use crate::flow::Arrival;
use crate::hosts::Hosts;
use crate::load::{capacity, event_bytes};
use crate::process::Process;
use crate::sizes::Sampler;
use backwater_scenario::model::{INCAST_PORT, LoadOf, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, hash};

/// Incast events at a fixed period, each of `degree` flows to one destination.
#[derive(Clone, Debug)]
pub struct Incast {
    stream: u64,
    event: u64,
    /// Flows of the current event that `next` has returned.
    sent: u32,
    degree: u32,
    aggregate: u64,
    /// Distribution of flow sizes; `None`: flows are equal parts of `aggregate`.
    sizes: Option<Sampler>,
    start: f64,
    period: f64,
    from: Hosts,
    to: Hosts,
}

impl Incast {
    /// Creates the process of an incast workload, which draws from random stream `stream`.
    pub fn new(workload: &Workload, graph: &Graph, stream: u64) -> Incast {
        let Workload::Incast { degree, aggregate, sizes, start, from, to, .. } = workload else {
            unreachable!("built from an incast workload")
        };
        let period = period(workload, graph);
        Incast {
            stream,
            event: 0,
            sent: 0,
            degree: *degree,
            aggregate: aggregate.map_or(0, |bytes| bytes.0),
            sizes: sizes.as_ref().map(Sampler::new),
            start: start.map_or(period, |s| s.0 as f64),
            period,
            from: Hosts::named(graph, from),
            to: Hosts::named(graph, to),
        }
    }
}

/// Time between incast events, picoseconds.
pub(crate) fn period(workload: &Workload, graph: &Graph) -> f64 {
    let Workload::Incast { period, load, .. } = workload else { unreachable!("only incast has a period") };
    period.map_or_else(
        || event_bytes(workload) * 8e12 / (load.unwrap_or(1.0) * capacity(graph, LoadOf::Core, &[], &[])),
        |period| period.0 as f64,
    )
}

impl Process for Incast {
    fn next(&mut self) -> Option<Arrival> {
        let at = Instant((self.start + self.period * self.event as f64) as u64);
        let word = |i: u64| hash::draw(self.stream, self.event * (self.degree as u64 + 1) + i);
        let dst = self.to.draw(word(0));
        let src = self.from.draw_but(word(1 + self.sent as u64), dst);
        let (share, rest) = (self.aggregate / self.degree as u64, self.aggregate % self.degree as u64);
        let size = match &self.sizes {
            None => (share + ((self.sent as u64) < rest) as u64).max(1),
            Some(sizes) => {
                let stream = hash::stream(self.stream, 0x7369_7a65, 0);
                sizes.draw(hash::draw(stream, self.event * self.degree as u64 + self.sent as u64))
            }
        };
        self.sent += 1;
        if self.sent == self.degree {
            self.sent = 0;
            self.event += 1;
        }
        Some(Arrival { at, src, dst, size, port: INCAST_PORT, priority: None, own: None })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Flow, Traffic};
    use backwater_scenario::load_str;
    use backwater_scenario::model::Scenario;
    use backwater_scenario::topology::expand;
    use std::path::Path;

    /// Scenario of eight hosts under FlowSail, with incast at 6 % of the core's four links.
    fn incast(keys: &str) -> Scenario {
        let text = format!(
            "scheme = \"flowsail\"\nrun = {{ duration = \"10 s\" }}\n[topology]\nkind = \"fat-tree\"\npods = 2\ntors_per_pod = 1\n\
             aggs_per_pod = 2\ncores = 2\nhosts_per_tor = 4\nhost_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\n\
             host_delay = \"1 us\"\ncore_delay = \"1 us\"\n[[workload]]\nkind = \"incast\"\ndegree = 50\nload = 0.06\n{keys}\n"
        );
        let plan = load_str(&text, Path::new("."), "incast.toml", &[], None).unwrap_or_else(|error| panic!("{error}"));
        plan.runs.into_iter().next().expect("one run").scenario
    }

    fn flows(scenario: &Scenario, n: usize) -> Vec<Flow> {
        Traffic::new(scenario, &expand(&scenario.topology)).take(n).collect()
    }

    const UNIFORM: &str = "sizes = { uniform = [\"50 KB\", \"200 KB\"] }";

    /// The mean of n sizes has standard error (200 - 50) / sqrt(12 n) KB: 0.05 KB at n = 750 000. Chi-squared over 30
    /// bins has mean 29 and standard deviation 7.6.
    #[test]
    fn incast_sizes_are_uniform_and_drawn_for_each_flow() {
        let flows = flows(&incast(UNIFORM), 750_000);
        let mean = flows.iter().map(|flow| flow.size as f64).sum::<f64>() / flows.len() as f64;
        assert!((mean - 125_000.0).abs() < 250.0, "{mean}");
        let mut bins = [0u32; 30];
        for flow in &flows {
            assert!((50_000..=200_000).contains(&flow.size));
            bins[((flow.size - 50_000) / 5001) as usize] += 1;
        }
        let expected = flows.len() as f64 / 30.0;
        let chi: f64 = bins.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        assert!(chi < 29.0 + 5.0 * 7.6, "{chi} {bins:?}");
        // Sizes are uncorrelated with one another and with sources, within an event and from one event to the next.
        let score = |of: &dyn Fn(usize) -> f64| {
            (0..flows.len() - 50).map(|i| (flows[i].size as f64 - 125_000.0) * of(i)).sum::<f64>() / flows.len() as f64
        };
        // A size has standard deviation 43.3 KB; a correlation has standard error 1 / sqrt(n) = 0.12 %.
        for lag in [1, 49, 50] {
            let correlation = score(&|i| flows[i + lag].size as f64 - 125_000.0) / 43_301.0f64.powi(2);
            assert!(correlation.abs() < 0.006, "lag {lag}: {correlation}");
        }
        // Sources are uniform over hosts 0 to 7, with standard deviation 2.29.
        let correlation = score(&|i| flows[i].src as f64 - 3.5) / (43_301.0 * 2.29);
        assert!(correlation.abs() < 0.006, "{correlation}");
    }

    #[test]
    fn the_load_sets_the_period_from_the_mean_event() {
        // The period is 50 x 125 KB x 8 / (0.06 x 4 x 100 Gb/s) = 2083.33 us; the first event comes after one period.
        let drawn = flows(&incast(UNIFORM), 150);
        assert_eq!([0, 49, 50, 100].map(|i| drawn[i].at.0 / 1_000), [2_083_333, 2_083_333, 4_166_666, 6_250_000]);
        // Hosts and times equal those of a workload of equal parts with the same mean.
        let parts = flows(&incast("aggregate = \"6250 KB\""), 150);
        for (drawn, part) in drawn.iter().zip(&parts) {
            assert_eq!((drawn.at, drawn.src, drawn.dst, part.size), (part.at, part.src, part.dst, 125_000));
        }
    }
}
