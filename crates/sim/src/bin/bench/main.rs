//! Packet-hops per second and peak memory, one line per scenario: a Clos of 128 servers, fat trees of 1,024 and 8,192.
//!
//! Each scenario runs in a separate process, which separates peak memory.
//!
//! | option | effect |
//! |---|---|
//! | `--filter TEXT`, `--all` | rows whose name contains a text; a short row `registry/SCHEME` for each registered scheme too |
//! | `--threads N`, `--ms MILLISECONDS` | threads of each run, simulated time |
//! | `--set KEY=VALUE` | a key of the scenarios: `measure.active_flows=true` shows what it costs |
//! | `--rounds N` | the median of so many runs of each row |
//! | `--cores N` | the speed with a core for each of N threads, from the times of their windows one by one ([`Turns`]) |
//! | `--follow 0.01` | run times with delay breakdowns of the slowest hundredth of flows over those without, each the shortest of five runs, taken in turn |
//! | `--out FILE` | all that was measured, as JSON |
//! | `--keep` | the speeds become the baseline of this machine |
//!
//! If the committed baseline is of this machine, rows show their ratio to it ([`baseline`]).

mod baseline;
mod rows;

use baseline::Baseline;
use rows::{REGISTRY, rows};

use backwater_scenario::Scenario;
use backwater_sim::measure::outcome::FlowRow;
use backwater_sim::record::Wanted;
use backwater_sim::{Outcome, Simulation, Turns, Watch};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Command-line options.
#[derive(Default)]
struct Options {
    threads: Option<usize>,
    rounds: Option<usize>,
    /// Cores to work out the speed for.
    cores: Option<usize>,
    /// Index of the only row to run, in this process.
    one: Option<usize>,
    ms: Option<f64>,
    /// Keys of the scenarios that differ, as `KEY=VALUE`.
    sets: Vec<String>,
    filter: String,
    all: bool,
    out: Option<String>,
    /// Whether the speeds become the baseline.
    keep: bool,
    /// Share of the flows with a delay breakdown.
    follow: Option<f64>,
}

const USAGE: &str = "usage: bench [--filter TEXT] [--all] [--ms N] [--set KEY=VALUE] [--threads N] [--rounds N] [--cores N] [--follow SHARE] [--out FILE] [--keep] [--one ROW]";

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
                "--keep" => options.keep = true,
                "--filter" => options.filter = value()?,
                "--out" => options.out = Some(value()?),
                "--threads" => options.threads = number(&name, value()?)?,
                "--rounds" => options.rounds = number(&name, value()?)?,
                "--cores" => options.cores = number(&name, value()?)?,
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
        if options.keep && !options.are_as_listed() {
            return Err("--keep: rows with --ms or --set are no baseline".into());
        }
        Ok(options)
    }

    /// Whether rows run as they are listed. Others are compared with nothing.
    fn are_as_listed(&self) -> bool {
        self.ms.is_none() && self.sets.is_empty()
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match options.one {
        Some(row) => match one(row, &options) {
            Ok(measured) => println!("{measured}"),
            Err(wrong) => {
                eprintln!("{wrong}");
                return ExitCode::from(2);
            }
        },
        None => return each(&options),
    }
    ExitCode::SUCCESS
}

/// Measures each row in a process of its own.
fn each(options: &Options) -> ExitCode {
    let all = options.all || options.filter.starts_with(REGISTRY);
    let baseline = Baseline::kept();
    let as_listed = options.are_as_listed();
    let mut measured = Vec::new();
    println!("{:<16}{:<20}{:>14}{:>18}{:>14}", "scenario", "scheme", "packet-hops", "packet-hops/s", "peak RSS");
    for (i, (scenario, scheme, ..)) in rows().enumerate() {
        if !format!("{scenario}/{scheme}").contains(&options.filter) || (scenario == REGISTRY && !all) {
            continue;
        }
        let row = match median(i, options) {
            Ok(row) => row,
            Err((code, text)) => {
                eprintln!("{scenario}/{scheme} failed:\n{text}");
                return code.map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8));
            }
        };
        let told =
            |key: &str, what: &str| row[key].as_f64().map_or(String::new(), |ratio| format!("{ratio:>9.3} x {what}"));
        let ratio = baseline.ratio(&row).filter(|_| as_listed);
        println!(
            "{scenario:<16}{scheme:<20}{:>14}{:>16.2} M{:>11.0} MB{}{}{}",
            row["packet_hops"],
            row["packet_hops_per_s"].as_f64().unwrap_or(0.0) / 1e6,
            row["peak_rss_mb"].as_f64().unwrap_or(0.0),
            told("following", "followed"),
            told("speedup", &format!("on {} cores", row["cores"])),
            ratio.map_or(String::new(), |ratio| format!("{ratio:>9.2} x the baseline")),
        );
        measured.push(row);
    }
    if as_listed && !options.keep && !baseline.is_of_this_machine() {
        println!("No ratios: the baseline is of another machine ({}).", baseline.machine());
    }
    if let Some(out) = &options.out {
        let all = serde_json::json!({"machine": baseline::machine(), "rows": measured});
        std::fs::write(out, serde_json::to_string_pretty(&all).expect("rows are JSON") + "\n")
            .expect("--out is writable");
    }
    if options.keep {
        Baseline::keep(&measured).expect("the baseline is writable");
    }
    ExitCode::SUCCESS
}

/// Runs row number `i` as often as asked. Returns the run of median speed, or the exit code and the errors of a failure.
fn median(i: usize, options: &Options) -> Result<serde_json::Value, (Option<i32>, String)> {
    let mut rounds =
        (0..options.rounds.unwrap_or(1).max(1)).map(|_| child(i, options)).collect::<Result<Vec<_>, _>>()?;
    let speed = |row: &serde_json::Value| row["packet_hops_per_s"].as_f64().unwrap_or(0.0);
    rounds.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
    Ok(rounds.swap_remove(rounds.len() / 2))
}

fn child(i: usize, options: &Options) -> Result<serde_json::Value, (Option<i32>, String)> {
    let mut child = Command::new(std::env::current_exe().expect("this program has a path"));
    child.args(["--one", &i.to_string()]);
    let numbers = [("--threads", options.threads), ("--cores", options.cores)];
    child.args(numbers.iter().flat_map(|(name, n)| n.map(|n| [name.to_string(), n.to_string()])).flatten());
    let shares = [("--ms", options.ms), ("--follow", options.follow)];
    child.args(shares.iter().flat_map(|(name, n)| n.map(|n| [name.to_string(), n.to_string()])).flatten());
    child.args(options.sets.iter().flat_map(|set| ["--set", set]));
    let output = child.output().expect("this program runs");
    serde_json::from_slice(&output.stdout)
        .map_err(|_| (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Runs row number `i` in this process and measures it. The error describes a wrong key.
fn one(i: usize, options: &Options) -> Result<serde_json::Value, backwater_scenario::Error> {
    let row = rows().nth(i).expect("the row exists");
    let (name, scheme, _, duration) = row;
    let duration = options.ms.map_or(duration.to_string(), |ms| format!("{ms} ms"));
    let text = rows::text(row, &duration);
    let plan = backwater_scenario::load_str(&text, std::path::Path::new("."), "bench", &options.sets, None)?;
    let scenario = &plan.runs[0].scenario;
    let threads = options.threads.unwrap_or(1);
    let simulation = Simulation::new(scenario, threads);
    let start = Instant::now();
    let outcome = simulation.run(&Watch::default());
    let seconds = start.elapsed().as_secs_f64();
    let peak_rss_mb = peak_rss_mb();
    let following = options.follow.map(|share| following(scenario, share, &outcome));
    let windows = options.cores.map(|cores| [1, cores].map(|cores| in_turns(scenario, cores, &outcome)));
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
        "cores": options.cores,
        "speedup": windows.map(|[(alone, _), (longest, _)]| alone / longest),
        "work": windows.map(|[(alone, _), (_, all)]| all / alone),
        "digest": outcome.digest.whole,
        "retransmitted": outcome.retransmitted.iter().map(u64::from).sum::<u64>(),
        "timeouts": outcome.timeout_reasons,
        "dropped": outcome.drops.iter().map(|d| d.packets.iter().sum::<u64>()).sum::<u64>(),
    }))
}

/// Runs the scenario in as many partitions as `cores`, which take turns. Returns what [`Turns::seconds`] does, so the time
/// to build the network does not count.
fn in_turns(scenario: &Scenario, cores: usize, outcome: &Outcome) -> (f64, f64) {
    let watch = Watch { turns: Some(Turns::new(cores)), ..Watch::default() };
    assert_eq!(Simulation::new(scenario, cores).run(&watch).digest, outcome.digest, "threads change no result");
    watch.turns.as_ref().map_or((0.0, 0.0), Turns::seconds)
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
