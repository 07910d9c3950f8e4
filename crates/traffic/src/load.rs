//! Offered load: the capacity it is relative to, the flow rate that offers it, and its sampling error.
//!
//! Flow rate: `load x capacity / (8 x mean size x counted bytes per payload byte x crossing share)`. The mean is that
//! of the sizes as drawn, so the realised load is the requested load. The generator of BFC's authors uses the mean of
//! the table (`load_by = "table"`). Rounding sizes up to whole packets exceeds that mean, for Google's table by 2.6 %.
//!
//! Sampling error: arrivals in a window form a renewal-reward process. Gaps and sizes have coefficients of variation
//! `c_gap` and `c_size` (standard deviation over mean). With n flows expected, the relative standard error of the load
//! is `sqrt((c_gap^2 + c_size^2) / n)` (Cox, "Renewal Theory", 1962). Log-normal gaps of sigma 2 have
//! `c_gap = sqrt(e^4 - 1) = 7.32`, and Google's sizes have `c_size = 22`, so the error of a million flows is 2.3 %. An
//! error of this size would hide a wrong rate. A run is therefore judged by two separate numbers: its number of flows
//! and their mean size.

use crate::flow::counted_window;
use crate::hosts::Hosts;
use crate::sizes::Sampler;
use backwater_scenario::model::{Arrivals, LoadBy, LoadOf, Scenario, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::Instant;

/// Arrivals in the counted window, compared with the requested load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Relative standard error of the load in a window of this length.
    pub sampling_error: f64,
    /// Number of flows (for incast, of events) over the expected number.
    arrivals: Ratio,
    /// Mean size of flows over the expected mean.
    size: Ratio,
}

/// Ratio of an observed to an expected value, with its sampling error.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    value: f64,
    /// Standard error.
    error: f64,
    /// Largest effect of a single rare value, `[downwards, upwards]`: of the longest gap, or of the largest flow.
    rare: [f64; 2],
}

/// Relative difference that is always accepted.
const TOLERATED: f64 = 0.02;
/// Number of standard errors, plus the effect of one rare value, that is accepted as chance. All of 15,000 windows of 3
/// to a million flows, with log-normal gaps and the sizes of Google and Facebook, were within 4 standard errors.
const ERRORS: f64 = 5.0;

impl Load {
    /// Computes the load of `flows` flows with `bytes` bytes in total that arrived in the counted window. `None` if the
    /// workload has no load, or if no arrivals are expected.
    pub fn of(scenario: &Scenario, workload: &Workload, graph: &Graph, flows: u64, bytes: u64) -> Option<Load> {
        let (warm, until) = counted_window(scenario);
        // A workload that starts late covers only a part of the window.
        let seconds = |start: Instant| until.since(warm.max(start).min(until)).as_secs_f64();
        let (flows, bytes) = (flows as f64, bytes as f64);
        let (sizes, arrivals, variation, expected) = match workload {
            Workload::Background { sizes, arrivals, start, from, to, .. } => {
                let sizes = Sampler::new(sizes);
                let (from, to) = (Hosts::named(graph, from), Hosts::named(graph, to));
                let rate = rate_for(scenario, workload, graph, &from, &to, sizes.mean());
                let expected = rate * seconds(Instant::ZERO + *start);
                let (variation, longest) = gaps(*arrivals, expected);
                // An excess of flows takes many short gaps; a deficit takes a single long gap.
                let error = variation * expected.max(flows).sqrt() / expected;
                let arrivals = Ratio { value: flows / expected, error, rare: [longest / expected, 0.0] };
                (Some(sizes), arrivals, variation, expected)
            }
            Workload::Incast { load, degree, sizes, start, .. } => {
                let sizes = sizes.as_ref().map(Sampler::new);
                let period = event_bytes(workload) * 8.0 / ((*load)? * capacity(graph, LoadOf::Core, &[], &[]));
                let events = seconds(Instant::ZERO + start.unwrap_or_default()) / period;
                let (degree, one) = (*degree as f64, 1.0 / events);
                let arrivals = Ratio { value: flows / degree / events, error: 0.0, rare: [one, one] };
                // The error of rounding to whole events, expressed as a coefficient of variation of single flows.
                let variation = (degree / events / 12.0).sqrt();
                (sizes, arrivals, variation, degree * events)
            }
            _ => return None,
        };
        let size = match &sizes {
            Some(sizes) if flows > 0.0 => Ratio::of_sizes(flows, bytes, sizes),
            _ => Ratio { value: 1.0, error: 0.0, rare: [0.0, 0.0] },
        };
        let of_sizes = sizes.map_or(0.0, |sizes| sizes.variation());
        let sampling_error = (variation.powi(2) + of_sizes.powi(2)).sqrt() / expected.sqrt();
        (expected > 0.0).then_some(Load { sampling_error, arrivals, size })
    }

    /// Whether the arrivals agree with the requested load, within `TOLERATED` or within the sampling error.
    pub fn is_as_asked(&self) -> bool {
        self.arrivals.is_one() && self.size.is_one()
    }
}

impl Ratio {
    /// Ratio of mean sizes. A single flow of the largest size can make the mean too large.
    fn of_sizes(flows: f64, bytes: f64, sizes: &Sampler) -> Ratio {
        let mean = sizes.mean();
        let rare = [0.0, sizes.largest(flows) / (mean * flows)];
        Ratio { value: bytes / flows / mean, error: sizes.variation() / flows.sqrt(), rare }
    }

    fn is_one(&self) -> bool {
        let off = self.value - 1.0;
        off.abs() <= TOLERATED || off.abs() <= ERRORS * self.error + self.rare[(off > 0.0) as usize]
    }
}

/// Coefficient of variation of gaps between arrivals, and the longest plausible gap of `n`, in mean gaps. A gap among
/// `n` exceeds this length with a probability of one in `2 e^(z^2 / 2)`, where z is [`ERRORS`]. For log-normal gaps the
/// length is `exp(sigma sqrt(z^2 + 2 ln n) - sigma^2 / 2)`.
fn gaps(arrivals: Arrivals, n: f64) -> (f64, f64) {
    let n = n.max(1.0);
    match arrivals {
        Arrivals::Poisson => (1.0, ERRORS * ERRORS / 2.0 + n.ln()),
        Arrivals::LogNormal(sigma) => {
            let longest = sigma * (ERRORS * ERRORS + 2.0 * n.ln()).sqrt() - sigma * sigma / 2.0;
            ((sigma * sigma).exp_m1().sqrt(), longest.exp())
        }
    }
}

/// Offered flow rate of a background workload, flows per second.
pub(crate) fn flow_rate(
    scenario: &Scenario,
    workload: &Workload,
    graph: &Graph,
    from: &Hosts,
    to: &Hosts,
    sizes: &Sampler,
) -> f64 {
    let Workload::Background { load_by, .. } = workload else {
        unreachable!("only background traffic has a flow rate")
    };
    let mean = match load_by {
        LoadBy::Drawn => sizes.mean(),
        LoadBy::Table => sizes.table_mean(),
    };
    rate_for(scenario, workload, graph, from, to, mean)
}

/// Flow rate of a background workload with this mean size, flows per second.
fn rate_for(scenario: &Scenario, workload: &Workload, graph: &Graph, from: &Hosts, to: &Hosts, mean_size: f64) -> f64 {
    let Workload::Background { load, load_of, load_with_headers, local_share, .. } = workload else {
        unreachable!("only background traffic has a flow rate")
    };
    let crossing = crossing(graph, *load_of, *local_share, from, to);
    let carried = mean_size * with_headers(scenario, *load_with_headers);
    load * capacity(graph, *load_of, &from.list, &to.list) / (8.0 * carried * crossing)
}

/// Mean bytes of an incast event.
pub(crate) fn event_bytes(workload: &Workload) -> f64 {
    match workload {
        Workload::Incast { aggregate: Some(aggregate), .. } => aggregate.0 as f64,
        Workload::Incast { degree, sizes: Some(sizes), .. } => *degree as f64 * Sampler::new(sizes).mean(),
        _ => unreachable!("scenario checked: incast has an aggregate or sizes"),
    }
}

/// Converts `bits` of payload per second to a load, by the rule of the workload. `None` if the workload has no load.
pub fn realised(scenario: &Scenario, workload: &Workload, graph: &Graph, bits: f64) -> Option<f64> {
    let (counted, capacity) = match workload {
        Workload::Background { load_of, load_with_headers, local_share, from, to, .. } => {
            let (from, to) = (Hosts::named(graph, from), Hosts::named(graph, to));
            let crossing = crossing(graph, *load_of, *local_share, &from, &to);
            let counted = crossing * with_headers(scenario, *load_with_headers);
            (counted, capacity(graph, *load_of, &from.list, &to.list))
        }
        Workload::Incast { .. } => (1.0, capacity(graph, LoadOf::Core, &[], &[])),
        _ => return None,
    };
    (capacity > 0.0).then(|| bits * counted / capacity)
}

/// Share of the payload that crosses the links of the load's capacity.
fn crossing(graph: &Graph, of: LoadOf, local_share: Option<f64>, from: &Hosts, to: &Hosts) -> f64 {
    match (of, local_share) {
        (LoadOf::ExactCore, Some(local)) => 1.0 - local,
        (LoadOf::ExactCore, None) => crossing_share(graph, from, to),
        _ => 1.0,
    }
}

/// Bytes that the load counts per byte of payload.
fn with_headers(scenario: &Scenario, counted: bool) -> f64 {
    let (payload, header) = (scenario.host.payload.0 as f64, scenario.host.header.0 as f64);
    if counted { (payload + header) / payload } else { 1.0 }
}

/// Capacity that a load is relative to, in one direction, bit/s.
pub fn capacity(graph: &Graph, of: LoadOf, from: &[u16], to: &[u16]) -> f64 {
    let sum = |links: &mut dyn Iterator<Item = usize>| links.map(|l| graph.links[l].rate.0 as f64).sum();
    match of {
        LoadOf::Core | LoadOf::ExactCore => sum(&mut graph.core_links.iter().copied()),
        LoadOf::Receivers => sum(&mut to.iter().map(|h| *h as usize)),
        LoadOf::Senders => sum(&mut from.iter().map(|h| *h as usize)),
    }
}

/// Share of the drawn pairs of hosts that are attached to different switches.
fn crossing_share(graph: &Graph, from: &Hosts, to: &Hosts) -> f64 {
    let mut share = 0.0;
    for src in &from.list {
        let others = to.list.iter().filter(|dst| *dst != src);
        let (mut all, mut crossing) = (0u32, 0u32);
        for dst in others {
            all += 1;
            crossing += (graph.switch_of(*src as usize) != graph.switch_of(*dst as usize)) as u32;
        }
        share += crossing as f64 / all.max(1) as f64;
    }
    share / from.list.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Traffic;
    use backwater_scenario::load_str;
    use backwater_scenario::topology::expand;
    use std::path::Path;

    /// Scenario of eight hosts below two leaves, four links of 100 Gb/s between switches, and one workload.
    fn scenario(duration: &str, workload: &str) -> Scenario {
        let text = format!(
            "scheme = \"bcc\"\nrun = {{ duration = \"{duration}\" }}\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
             hosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\n\
             core_delay = \"1 us\"\n[[workload]]\nload = 0.7\n{workload}\n"
        );
        let plan = load_str(&text, Path::new("."), "load.toml", &[], None).unwrap_or_else(|error| panic!("{error}"));
        plan.runs.into_iter().next().expect("one run").scenario
    }

    fn background(duration: &str, sizes: &str, arrivals: &str, keys: &str) -> Scenario {
        scenario(duration, &format!("kind = \"background\"\nsizes = {sizes}\narrivals = {arrivals}\n{keys}"))
    }

    const GOOGLE: &str = "{ table = \"google_rpc_bfc_authors\" }";
    const LOG_NORMAL: &str = "{ log-normal = 2.0 }";
    const POISSON: &str = "\"poisson\"";

    /// Computes the load of a scenario's own traffic.
    fn drawn(scenario: &Scenario) -> Load {
        let graph = expand(&scenario.topology);
        let (warm, _) = counted_window(scenario);
        let (mut flows, mut bytes) = (0, 0);
        for flow in Traffic::new(scenario, &graph).filter(|flow| flow.at >= warm) {
            flows += 1;
            bytes += flow.size;
        }
        Load::of(scenario, &scenario.workload[0], &graph, flows, bytes).expect("the workload has a load")
    }

    #[test]
    fn the_offered_load_is_the_requested_load_by_the_rule_of_its_workload() {
        for rule in ["core", "exact-core", "exact-core\"\nlocal_share = 0.125\nload_with_headers = true #", "senders"] {
            let web_search = "{ table = \"web_search\" }";
            let scenario = background("1 ms", web_search, POISSON, &format!("load_of = \"{rule}\""));
            let (graph, workload) = (expand(&scenario.topology), &scenario.workload[0]);
            let (hosts, sizes) = (Hosts::named(&graph, &[]), Sampler::Fixed(1_000_000));
            let bits = 8e6 * flow_rate(&scenario, workload, &graph, &hosts, &hosts, &sizes);
            let load = realised(&scenario, workload, &graph, bits).expect("the workload has a load");
            assert!((load - 0.7).abs() < 1e-12, "{rule}: {load}");
        }
    }

    /// Google's mean size is 2907.0 B in the table, and 2984.0 B in whole packets. At 70 % of 400 Gb/s this is 12.04 or
    /// 11.73 flows per microsecond: a million in 90 ms.
    #[test]
    fn a_rate_by_the_tables_mean_is_rejected_and_a_rate_by_the_drawn_mean_is_accepted() {
        for seed in 1..=3 {
            let by = |rule: &str| {
                let mut scenario = background("100 ms", GOOGLE, POISSON, &format!("load_by = \"{rule}\""));
                scenario.seed = seed;
                drawn(&scenario)
            };
            let (honest, authors) = (by("drawn"), by("table"));
            assert!(honest.is_as_asked(), "{honest:?}");
            assert!((authors.arrivals.value - 1.0263).abs() < 0.004, "{authors:?}");
            assert!(!authors.is_as_asked(), "{authors:?}");
        }
        // Bursty arrivals need more flows to reveal the rate: 5 x 7.32 / sqrt(n) is below 2.6 % from 2 million flows
        // on.
        let authors = drawn(&background("300 ms", GOOGLE, LOG_NORMAL, "load_by = \"table\""));
        assert!((authors.arrivals.error / (7.321 / 3.167e6f64.sqrt()) - 1.0).abs() < 0.03, "{authors:?}");
        assert!(ERRORS * authors.arrivals.error < 0.026, "{authors:?}");
    }

    #[test]
    fn no_run_at_the_drawn_mean_is_rejected_however_short() {
        for (duration, seeds) in [("20 us", 500), ("200 us", 200), ("2 ms", 50), ("20 ms", 5)] {
            for sizes in [GOOGLE, "{ table = \"web_server\" }", "{ exponential = \"20 KB\" }", "{ fixed = \"10 KB\" }"]
            {
                for arrivals in [POISSON, LOG_NORMAL] {
                    let mut scenario = background(duration, sizes, arrivals, "");
                    for seed in 1..=seeds {
                        scenario.seed = seed;
                        let load = drawn(&scenario);
                        assert!(load.is_as_asked(), "{duration} {sizes} {arrivals} {seed}: {load:?}");
                    }
                }
            }
        }
    }

    /// The sampling error by hand: 11.73 flows per microsecond over 900 us, with coefficients of variation 7.32 of gaps
    /// and 21.8 of sizes.
    #[test]
    fn the_sampling_error_is_that_of_a_renewal_process_with_rewards() {
        let n: f64 = 900.0 * 0.7 * 4.0 * 100e9 / 8.0 / 2984.0 / 1e6;
        let load = drawn(&background("1 ms", GOOGLE, LOG_NORMAL, ""));
        let variation =
            Sampler::new(&backwater_scenario::model::Sizes::Table("google_rpc_bfc_authors".into())).variation();
        assert!((variation - 21.8).abs() < 0.1, "{variation}");
        let by_hand = ((53.6 + variation * variation) / n).sqrt();
        assert!((load.sampling_error / by_hand - 1.0).abs() < 1e-3, "{load:?} {by_hand}");
    }

    #[test]
    fn the_number_of_events_at_a_fixed_period_differs_by_one_at_most() {
        let incast =
            |duration: &str, sizes: &str| scenario(duration, &format!("kind = \"incast\"\ndegree = 40\n{sizes}"));
        let equal = "aggregate = \"500 KB\"";
        for duration in ["30 us", "100 us", "1 ms", "1003 us"] {
            for sizes in [equal, "sizes = { uniform = [\"5 KB\", \"20 KB\"] }"] {
                let load = drawn(&incast(duration, sizes));
                assert!(load.is_as_asked(), "{duration} {sizes}: {load:?}");
            }
        }
        let scenario = incast("100 ms", equal);
        let graph = expand(&scenario.topology);
        // 90 ms x 0.7 x 400 Gb/s / 4 Mb are 6300 events. A difference of one event is chance; a difference of 2.6 % is
        // not.
        for (events, as_asked) in [(6300, true), (6301, true), (6464, false), (6136, false)] {
            let load = Load::of(&scenario, &scenario.workload[0], &graph, 40 * events, 500_000 * events);
            let load = load.expect("the workload has a load");
            assert_eq!(load.is_as_asked(), as_asked, "{events}: {load:?}");
        }
    }
}
