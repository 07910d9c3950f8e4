//! Packet-hops per second and peak memory, one line per scenario: the 128-server Clos, and the 1024-server fat tree.
//!
//! `bench [--out FILE] [--filter TEXT] [--all] [--threads N] [--ms MILLISECONDS] [--follow SHARE]`; each scenario runs in a
//! process of its own, so that peak memory is its own. Beside the rows listed here every registered scheme has a short one,
//! `registry/SCHEME`, shown with `--all` or `--filter registry`. With `--follow 0.01` each runs again with the slowest
//! hundredth of its flows followed, and says how many times as long that took: the least of five of either, in turn.

use backwater_scenario::Scenario;
use backwater_schemes::registry::PRESETS;
use backwater_sim::measure::outcome::FlowRow;
use backwater_sim::record::Wanted;
use backwater_sim::{Outcome, Simulation, Watch};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// `(scenario, scheme, workloads, simulated time)`; a scheme in another simulator's profile is `scheme@profile`, and
/// with one convention of the default again `scheme@profile+convention`.
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

/// FlowSail, section VI-B.
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

/// BCC, section V-B: 90 % of the core, 9 KB frames, 80 us; a name in `100k` is a whole run of the paper, 100,000 flows.
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

/// FlowSail, section VI-B: 1024 servers, 64 switches a tier.
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

/// The rows above, then one for every registered scheme; `--one` counts them.
fn rows() -> impl Iterator<Item = Row> {
    SCENARIOS.into_iter().chain(PRESETS.iter().map(|(scheme, _)| (REGISTRY, *scheme, FACEBOOK, "2 ms")))
}

/// What the scenario of a registered scheme is called.
const REGISTRY: &str = "registry";

/// What was asked for.
#[derive(Default)]
struct Options {
    threads: Option<usize>,
    /// Number of a row.
    one: Option<usize>,
    ms: Option<f64>,
    filter: String,
    all: bool,
    out: Option<String>,
    /// This share of the flows is followed.
    follow: Option<f64>,
}

const USAGE: &str =
    "usage: bench [--filter TEXT] [--all] [--ms N] [--threads N] [--follow SHARE] [--out FILE] [--one ROW]";

impl Options {
    /// Of the arguments; what is wrong with one of them.
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
    let Options { threads, one: row, ms, filter, all, out, follow } = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let threads = threads.unwrap_or(1);
    if let Some(row) = row {
        println!("{}", one(row, threads, ms, follow));
        return ExitCode::SUCCESS;
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
        if let Some(share) = follow {
            child.args(["--follow", &share.to_string()]);
        }
        let output = child.output().expect("this program runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let Ok(row) = serde_json::from_str::<serde_json::Value>(&text) else {
            eprintln!("{scenario}/{scheme} failed:\n{}", String::from_utf8_lossy(&output.stderr));
            return ExitCode::FAILURE;
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

/// Runs scenario number `i` here and measures it.
fn one(i: usize, threads: usize, ms: Option<f64>, follow: Option<f64>) -> serde_json::Value {
    let (name, scheme, workload, duration) = rows().nth(i).expect("a row of the list");
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
    let plan = backwater_scenario::load_str(&text, std::path::Path::new("."), "bench", &[], None)
        .expect("bench scenarios are valid");
    let scenario = &plan.runs[0].scenario;
    let simulation = Simulation::new(scenario, threads);
    let start = Instant::now();
    let outcome = simulation.run(&Watch::default());
    let seconds = start.elapsed().as_secs_f64();
    let peak_rss_mb = peak_rss_mb();
    let following = follow.map(|share| following(scenario, share, &outcome));
    serde_json::json!({
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
    })
}

/// How many times as long a run takes with this share of its flows followed, the slowest; and a hash of what was recorded, by
/// which builds can be compared.
fn following(scenario: &Scenario, share: f64, outcome: &Outcome) -> (f64, String) {
    let mut flows: Vec<FlowRow> = outcome.flows().filter(|row| row.slowdown.is_finite()).collect();
    flows.sort_by(|a, b| b.slowdown.total_cmp(&a.slowdown));
    flows.truncate((flows.len() as f64 * share).ceil() as usize);
    let explain = flows.iter().map(|row| (row.flow.id, row.received)).collect();
    let wanted = Wanted { explain, events: None };
    let simulation = Simulation::new(scenario, 1);
    let timed = |run: &dyn Fn() -> Outcome| {
        let start = Instant::now();
        assert_eq!(run().digest, outcome.digest, "who looks on changes nothing");
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

/// Peak resident memory of this process, from the kernel's accounting; 0 where there is none.
fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1000.0
}
