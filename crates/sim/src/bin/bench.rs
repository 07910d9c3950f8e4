//! Packet-hops per second and peak memory, one line per scenario: the 128-server Clos, and the 1024-server fat tree.
//!
//! `bench [--out FILE] [--filter TEXT] [--all] [--threads N] [--ms MILLISECONDS] [--set KEY=VALUE] [--follow SHARE]`. Each
//! scenario runs in a separate process, which separates peak memory. `--set measure.active_flows=true` shows what a key
//! of a scenario costs. Besides the rows listed here, every registered scheme has a short row `registry/SCHEME`, shown
//! with `--all` or `--filter registry`. With `--follow 0.01` each scenario runs again with delay breakdowns of the
//! slowest hundredth of its flows. The row then shows the ratio of the run times with and without breakdowns, each the
//! shortest of five runs, taken in turn.

use backwater_scenario::Scenario;
use backwater_schemes::registry::PRESETS;
use backwater_sim::measure::outcome::FlowRow;
use backwater_sim::record::Wanted;
use backwater_sim::{Outcome, Simulation, Watch};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A row: `(scenario, scheme, workloads, simulated time)`. Scheme `scheme@profile` runs in the profile of another
/// simulator, and `scheme@profile+convention` also resets one convention to the default.
type Row = (&'static str, &'static str, &'static str, &'static str);

const SCENARIOS: [Row; 19] = [
    ("facebook", "bfc", FACEBOOK, "10 ms"),
    ("facebook", "dctcp", FACEBOOK, "10 ms"),
    ("facebook", "ideal-fq", FACEBOOK, "10 ms"),
    ("facebook", "flowsail", FACEBOOK, "10 ms"),
    ("google-incast", "bfc", GOOGLE, "4 ms"),
    ("google-incast", "dctcp", GOOGLE, "4 ms"),
    ("google-incast", "ideal-fq", GOOGLE, "4 ms"),
    ("google-incast", "flowsail", GOOGLE, "4 ms"),
    ("web-server", "flowsail", WEB_SERVER, "5 ms"),
    ("web-server-1024", "flowsail", WEB_SERVER, "5 ms"),
    ("web-server-1024", "bfc", WEB_SERVER, "5 ms"),
    ("web-server-1024", "dctcp", WEB_SERVER, "5 ms"),
    ("web-search", "dctcp-tcp", WEB_SEARCH, "20 ms"),
    ("web-search", "bcc", WEB_SEARCH, "20 ms"),
    ("web-search-100k", "bcc", WEB_SEARCH, "1 s"),
    ("facebook", "dctcp@hpcc-sim", FACEBOOK, "10 ms"),
    ("facebook", "dctcp@hpcc-sim+ties", FACEBOOK, "10 ms"),
    ("google-incast", "dctcp@hpcc-sim", GOOGLE, "4 ms"),
    ("google-incast", "dctcp@hpcc-sim+ties", GOOGLE, "4 ms"),
];

const FACEBOOK: &str = r#"
[[workload]]
kind = "background"
sizes = { table = "fb_hadoop" }
load = 0.6
"#;

const GOOGLE: &str = r#"
[[workload]]
kind = "background"
sizes = { table = "google_rpc" }
load = 0.55
[[workload]]
kind = "incast"
degree = 100
aggregate = "20 MB"
load = 0.05
"#;

/// Workloads of FlowSail, section VI-B.
const WEB_SERVER: &str = r#"
[[workload]]
kind = "background"
sizes = { table = "web_server" }
arrivals = "poisson"
load = 0.6
[[workload]]
kind = "incast"
degree = 50
sizes = { uniform = ["50 KB", "200 KB"] }
load = 0.06
"#;

/// Workload of BCC, section V-B: 90 % load of the core, 9 KB frames, 80 us round trip. A scenario named `...-100k` is a
/// whole run of the paper, with 100,000 flows.
const WEB_SEARCH: &str = r#"
[host]
delay = "36 us"
[[workload]]
kind = "background"
sizes = { table = "web_search" }
arrivals = "poisson"
load = 0.9
load_of = "exact-core"
load_with_headers = true
local_share = 0.125
"#;

/// Topology of FlowSail, section VI-B: 1024 servers, 64 switches per tier.
const FAT_TREE: &str = r#"
[topology]
kind = "fat-tree"
pods = 8
tors_per_pod = 8
aggs_per_pod = 8
cores = 64
hosts_per_tor = 16
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
"#;

const TOPOLOGY: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 8
spines = 8
hosts_per_leaf = 16
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
"#;

/// Lists the rows above, then one row for every registered scheme. `--one` takes an index into this list.
fn rows() -> impl Iterator<Item = Row> {
    SCENARIOS.into_iter().chain(PRESETS.iter().map(|(scheme, _)| (REGISTRY, *scheme, FACEBOOK, "2 ms")))
}

/// Name of the scenario of every registered scheme.
const REGISTRY: &str = "registry";

/// Command-line options.
#[derive(Default)]
struct Options {
    threads: Option<usize>,
    /// Index of the only row to run, in this process.
    one: Option<usize>,
    ms: Option<f64>,
    /// Keys of the scenarios that differ, as `KEY=VALUE`.
    sets: Vec<String>,
    filter: String,
    all: bool,
    out: Option<String>,
    /// Share of the flows with a delay breakdown.
    follow: Option<f64>,
}

const USAGE: &str = "usage: bench [--filter TEXT] [--all] [--ms N] [--set KEY=VALUE] [--threads N] [--follow SHARE] [--out FILE] [--one ROW]";

impl Options {
    /// Parses the arguments. The error describes the first wrong argument.
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        fn number<T: std::str::FromStr>(name: &str, value: String) -> Result<Option<T>, String> {
            value.parse().map(Some).map_err(|_| format!("{name} {value}: expected a number"))
        }
        let mut options = Options::default();
        while let Some(name) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{name}: expected a value"));
            match name.as_str() {
                "--all" => options.all = true,
                "--filter" => options.filter = value()?,
                "--out" => options.out = Some(value()?),
                "--threads" => options.threads = number(&name, value()?)?,
                "--set" => options.sets.push(value()?),
                "--ms" => options.ms = number(&name, value()?)?,
                "--follow" => options.follow = number(&name, value()?)?,
                "--one" => options.one = number(&name, value()?)?.filter(|row| *row < rows().count()),
                _ => return Err(format!("{name}: no such option")),
            }
            if name == "--one" && options.one.is_none() {
                return Err(format!("--one: expected 0 to {}", rows().count() - 1));
            }
        }
        Ok(options)
    }
}

fn main() -> ExitCode {
    let Options { threads, one: row, ms, sets, filter, all, out, follow } =
        match Options::parse(std::env::args().skip(1)) {
            Ok(options) => options,
            Err(wrong) => {
                eprintln!("{wrong}\n{USAGE}");
                return ExitCode::from(2);
            }
        };
    let threads = threads.unwrap_or(1);
    if let Some(row) = row {
        return match one(row, threads, ms, &sets, follow) {
            Ok(measured) => {
                println!("{measured}");
                ExitCode::SUCCESS
            }
            Err(wrong) => {
                eprintln!("{wrong}");
                ExitCode::from(2)
            }
        };
    }
    let all = all || filter.starts_with(REGISTRY);
    let mut measured = Vec::new();
    println!("{:<16}{:<20}{:>14}{:>18}{:>14}", "scenario", "scheme", "packet-hops", "packet-hops/s", "peak RSS");
    for (i, (scenario, scheme, ..)) in rows().enumerate() {
        if !format!("{scenario}/{scheme}").contains(&filter) || (scenario == REGISTRY && !all) {
            continue;
        }
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"));
        child.args(["--one", &i.to_string(), "--threads", &threads.to_string()]);
        if let Some(ms) = ms {
            child.args(["--ms", &ms.to_string()]);
        }
        child.args(sets.iter().flat_map(|set| ["--set", set]));
        if let Some(share) = follow {
            child.args(["--follow", &share.to_string()]);
        }
        let output = child.output().expect("this program runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let Ok(row) = serde_json::from_str::<serde_json::Value>(&text) else {
            eprintln!("{scenario}/{scheme} failed:\n{}", String::from_utf8_lossy(&output.stderr));
            return output.status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8));
        };
        println!(
            "{scenario:<16}{scheme:<20}{:>14}{:>16.2} M{:>11.0} MB{}",
            row["packet_hops"],
            row["packet_hops_per_s"].as_f64().unwrap_or(0.0) / 1e6,
            row["peak_rss_mb"].as_f64().unwrap_or(0.0),
            row["following"].as_f64().map_or(String::new(), |ratio| format!("{ratio:>9.3} x followed")),
        );
        measured.push(row);
    }
    if let Some(out) = out {
        std::fs::write(&out, serde_json::to_string_pretty(&measured).expect("rows are JSON") + "\n")
            .expect("--out is writable");
    }
    ExitCode::SUCCESS
}

/// Runs row number `i` in this process and measures it. The error describes a wrong key.
fn one(
    i: usize,
    threads: usize,
    ms: Option<f64>,
    sets: &[String],
    follow: Option<f64>,
) -> Result<serde_json::Value, backwater_scenario::Error> {
    let (name, scheme, workload, duration) = rows().nth(i).expect("the row exists");
    let duration = ms.map_or(duration.to_string(), |ms| format!("{ms} ms"));
    let (preset, profile) = scheme.split_once('@').unwrap_or((scheme, ""));
    let (profile, ties) =
        profile.split_once('+').map_or((profile, ""), |(profile, _)| (profile, "[conventions]\nties = \"random\"\n"));
    let compat = if profile.is_empty() { String::new() } else { format!("compat = \"{profile}\"\n") };
    let topology = if name.ends_with("1024") { FAT_TREE } else { TOPOLOGY };
    let (drain, flows) = if name.ends_with("100k") { (4.0, "warmup = \"0 s\"\nflows = 100000\n") } else { (1.0, "") };
    let text = format!(
        "scheme = \"{preset}\"\n{compat}{ties}{topology}{workload}\n[run]\nduration = \"{duration}\"\ndrain = {drain:.1}\n{flows}"
    );
    let plan = backwater_scenario::load_str(&text, std::path::Path::new("."), "bench", sets, None)?;
    let scenario = &plan.runs[0].scenario;
    let simulation = Simulation::new(scenario, threads);
    let start = Instant::now();
    let outcome = simulation.run(&Watch::default());
    let seconds = start.elapsed().as_secs_f64();
    let peak_rss_mb = peak_rss_mb();
    let following = follow.map(|share| following(scenario, share, &outcome));
    Ok(serde_json::json!({
        "scenario": name,
        "scheme": scheme,
        "threads": threads,
        "packet_hops": outcome.packet_hops,
        "packet_hops_per_s": outcome.packet_hops as f64 / seconds,
        "seconds": seconds,
        "peak_rss_mb": peak_rss_mb,
        "following": following.as_ref().map(|(ratio, _)| ratio),
        "recorded": following.as_ref().map(|(_, recorded)| recorded),
        "digest": outcome.digest.whole,
        "retransmitted": outcome.retransmitted.iter().map(|n| *n as u64).sum::<u64>(),
        "timeouts": outcome.timeout_reasons,
        "dropped": outcome.drops.iter().map(|d| d.packets.iter().sum::<u64>()).sum::<u64>(),
    }))
}

/// Measures the run time with delay breakdowns of the slowest `share` of flows, over the run time without. Returns this
/// ratio and a hash of the recorded tables, for comparison between builds.
fn following(scenario: &Scenario, share: f64, outcome: &Outcome) -> (f64, String) {
    let mut flows: Vec<FlowRow> = outcome.flows().filter(|row| row.slowdown.is_finite()).collect();
    flows.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
    flows.truncate((flows.len() as f64 * share).ceil() as usize);
    let explain = flows.iter().map(|row| (row.flow.id, row.received)).collect();
    let wanted = Wanted { explain, ..Wanted::default() };
    let simulation = Simulation::new(scenario, 1);
    let timed = |run: &dyn Fn() -> Outcome| {
        let start = Instant::now();
        assert_eq!(run().digest, outcome.digest, "recording changes no result");
        start.elapsed().as_secs_f64()
    };
    let pair = || {
        let plain = timed(&|| simulation.run(&Watch::default()));
        (plain, timed(&|| simulation.record(&wanted, &Watch::default())))
    };
    let (plain, followed) = (0..5).map(|_| pair()).reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).expect("five pairs");
    let recorded = simulation.record(&wanted, &Watch::default()).recorded;
    let hash = blake3::hash(format!("{:?} {:?}", recorded.waits, recorded.rates).as_bytes());
    (followed / plain, hash.to_hex()[..16].to_string())
}

/// Peak resident memory of this process, MB, from the kernel's accounting; 0 where the kernel has none.
fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1000.0
}
