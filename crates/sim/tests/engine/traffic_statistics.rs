//! The traffic generator alone: over many draws, gaps, sizes and load have the requested means.
//!
//! The mean of n draws deviates by CV / sqrt(n). Log-normal gaps of sigma 2 have CV = sqrt(exp(4) - 1) = 7.32, so ten
//! million draws deviate by 0.23 % and a hundred million by 0.07 %. The fast tests take up to ten million;
//! `a_hundred_million_draws_have_the_means_asked_for` belongs to `make test-long`.

use crate::common::scenario;
use backwater_scenario::topology::expand;
use backwater_scenario::{Scenario, sizes};
use backwater_sim::workload::{Sampler, Traffic};
use backwater_types::hash;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const LOAD: f64 = 0.6;
/// Capacity of 64 links of 100 Gb/s in one direction, bytes per second.
const CORE: f64 = 64.0 * 100e9 / 8.0;

/// Returns the 128-host Clos of the BFC paper with one background workload.
fn clos(sizes: &str, arrivals: &str) -> Scenario {
    scenario(&format!(
        "scheme = \"bfc\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 8\nspines = 8\nhosts_per_leaf = 16\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n\
         [run]\nduration = \"500 ms\"\ndrain = 1.0\n\
         [[workload]]\nkind = \"background\"\nsizes = {sizes}\narrivals = {arrivals}\nload = {LOAD}\n"
    ))
}

/// Sums over draws.
#[derive(Default)]
struct Moments {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.n += 1.0;
        self.sum += x;
        self.squares += x * x;
    }

    fn mean(&self) -> f64 {
        self.sum / self.n
    }

    /// Standard error of the mean, as a share of the mean.
    fn error(&self) -> f64 {
        let variance = self.squares / self.n - self.mean() * self.mean();
        (variance / self.n).sqrt() / self.mean()
    }
}

/// Draws `n` flows and compares gaps, sizes and load with the requested values.
fn check(sizes: &str, mean_size: f64, arrivals: &str, n: usize, within: f64) {
    let scenario = clos(sizes, arrivals);
    let graph = expand(&scenario.topology);
    let (mut gap, mut size) = (Moments::default(), Moments::default());
    let mut before = 0;
    let mut from = vec![0u64; graph.hosts];
    for flow in Traffic::new(&scenario, &graph).take(n) {
        gap.add((flow.at.0 - before) as f64);
        size.add(flow.size as f64);
        before = flow.at.0;
        from[flow.src as usize] += 1;
        assert_ne!(flow.src, flow.dst);
    }
    assert_eq!(gap.n as usize, n, "the run is long enough");
    let asked_gap = 1e12 * mean_size / (LOAD * CORE);
    let load = size.sum / (before as f64 * 1e-12) / CORE;
    println!(
        "{sizes}, {arrivals}, {n} flows: gap {:+.3} % (error {:.3} %), size {:+.3} % (error {:.3} %), load {load:.5}",
        100.0 * (gap.mean() / asked_gap - 1.0),
        100.0 * gap.error(),
        100.0 * (size.mean() / mean_size - 1.0),
        100.0 * size.error(),
    );
    assert!((gap.mean() / asked_gap - 1.0).abs() < within, "mean gap {} ps, asked {asked_gap}", gap.mean());
    assert!((size.mean() / mean_size - 1.0).abs() < within, "mean size {} B, asked {mean_size}", size.mean());
    // Uniform sources: chi-square with 127 degrees of freedom, one in a thousand above 181.
    let mean = n as f64 / from.len() as f64;
    let chi2: f64 = from.iter().map(|k| (*k as f64 - mean).powi(2) / mean).sum();
    assert!(chi2 < 181.0, "sources: chi-square {chi2:.0}");
}

/// Returns the mean of a shipped table by a separate integration. Between points the size is uniform if the table says
/// so.
fn table_mean(name: &str) -> f64 {
    let table = sizes::table(name).expect("a shipped table");
    let (mut sum, mut before) = (0.0, None::<(f64, f64)>);
    for (size, p) in &table.points {
        let (low, q) = before.unwrap_or((*size, 0.0));
        sum += (p - q) * if table.linear { (low + size) / 2.0 } else { *size };
        before = Some((*size, *p));
    }
    sum
}

fn table(name: &str) -> String {
    format!("{{ table = \"{name}\" }}")
}

const LOG_NORMAL: &str = "{ log-normal = 2.0 }";

#[test]
fn ten_million_log_normal_gaps_have_the_mean_asked_for() {
    check("{ fixed = \"10 KB\" }", 10_000.0, LOG_NORMAL, 10_000_000, 0.005);
}

#[test]
fn poisson_gaps_and_exponential_sizes_have_the_means_asked_for() {
    check("{ exponential = \"20 KB\" }", 20_000.0, "\"poisson\"", 4_000_000, 0.002);
}

/// Reads the names of all tables of sizes from the experiments' files.
fn tables_in_use() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut tables = BTreeSet::new();
    for folder in fs::read_dir(&root).expect("experiments are there").map(|entry| entry.expect("readable").path()) {
        for file in fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.expect("readable").path()) {
            let text = fs::read_to_string(&file).expect("experiments are text");
            // `table = "NAME"`, also as a sweep or an override of a variant: every quoted word that names a table.
            tables.extend(text.split('"').filter(|word| sizes::table(word).is_some()).map(String::from));
        }
    }
    tables
}

/// Expects the mean of the sizes drawn to be the mean that sets the arrival rate, for every table. Random draws from a
/// heavy tail miss the mean by more than 1 % even after millions of draws. The test therefore takes one size at a
/// random place in each of `n` equal parts of the distribution. The mean of these is within two thousandths.
#[test]
fn every_table_draws_the_mean_that_loads_are_computed_from() {
    let used = tables_in_use();
    for name in ["google_rpc_bfc_authors", "fb_hadoop_bfc_authors", "web_server", "cache"] {
        assert!(used.contains(name), "{name} is among {used:?}");
    }
    for name in used.into_iter().chain(sizes::names().map(String::from)).collect::<BTreeSet<_>>() {
        let name = name.as_str();
        let sampler = Sampler::new(&backwater_scenario::model::Sizes::Table(name.into()));
        let n = 1u64 << 21;
        let part = u64::MAX / n + 1;
        let drawn = (0..n).map(|i| sampler.draw(i * part + hash::draw(7, i) % part) as f64);
        let off = drawn.sum::<f64>() / n as f64 / sampler.mean() - 1.0;
        println!("{name}: mean {:.1} B, draws {:+.4} %", sampler.mean(), 100.0 * off);
        // Rounding down loses up to one byte.
        assert!(off.abs() < 0.002 + 1.0 / sampler.mean(), "{name}: {:+.3} %", 100.0 * off);
        let own = table_mean(name);
        let stated = sampler.table_mean();
        assert!((stated / own - 1.0).abs() < 1e-9, "{name}: states {stated}, integrates to {own}");
    }
}

/// Expects the authors' mean of whole packets to exceed that of the table by this factor. Drawn sizes cut to whole
/// bytes gave 1.0263, 1.0017 and 1.0003: half a byte is 0.02 % of Google's mean.
#[test]
fn whole_packets_are_larger_than_their_tables_by_what_was_measured() {
    for (name, more) in [("google_rpc", 1.0265), ("fb_hadoop", 1.0017), ("web_search", 1.0003)] {
        let sampler = Sampler::new(&backwater_scenario::model::Sizes::Table(format!("{name}_bfc_authors")));
        let ratio = sampler.mean() / sampler.table_mean();
        assert!((ratio - more).abs() < 5e-5, "{name}: {ratio}");
    }
}

/// `make test-long`.
#[test]
#[ignore = "a minute"]
fn a_hundred_million_draws_have_the_means_asked_for() {
    for name in ["google_rpc", "fb_hadoop"] {
        let mean = sizes::table(name).expect("a shipped table").mean();
        check(&table(name), mean, LOG_NORMAL, 100_000_000, 0.005);
    }
    check("{ exponential = \"20 KB\" }", 20_000.0, "\"poisson\"", 100_000_000, 0.001);
}
