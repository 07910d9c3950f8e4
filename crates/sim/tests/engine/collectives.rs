//! Flows that wait for other flows: closed forms on an idle network, barriers, and the same outcome on any number of
//! threads.

use crate::common::{audited, cases, run, scenario};
use backwater_scenario::Scenario;
use backwater_sim::measure::columns::Values;
use backwater_sim::measure::estimate::estimate;
use backwater_sim::measure::outcome::FlowRow;
use backwater_sim::measure::preview::flow_batches;
use backwater_sim::measure::summary::summary;
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::{Duration, Instant};

/// Returns a scenario of `n` hosts on one switch with links of 100 Gb/s and 1 us; a byte takes 80 ps.
fn star(scheme: &str, n: u16, keys: &str, workload: &str) -> Scenario {
    scenario(&format!(
        "scheme = \"{scheme}\"\n[topology]\nkind = \"single-switch\"\nhosts = {n}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n{keys}\n\
         [run]\nduration = \"10 us\"\nwarmup = \"0 s\"\ndrain = 1e5\n[[workload]]\nkind = \"collective\"\n{workload}\n"
    ))
}

/// Returns a scenario of eight hosts below four leaves.
fn clos(scheme: &str, workload: &str) -> Scenario {
    let (preset, profile) = scheme.split_once('@').unwrap_or((scheme, ""));
    let compat = if profile.is_empty() { String::new() } else { format!("compat = \"{profile}\"\n") };
    scenario(&format!(
        "scheme = \"{preset}\"\n{compat}[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"600 ns\"\n\
         [run]\nduration = \"100 us\"\ndrain = 40000.0\n{workload}"
    ))
}

/// Returns the time of a flow alone over two links of 100 Gb/s and 1 us each, with payloads of 1000 B and headers of 48
/// B, ps.
fn alone(bytes: u64) -> u64 {
    let packets = bytes.div_ceil(1000);
    let last = bytes - (packets - 1) * 1000 + 48;
    let full = if packets > 1 { 1048 } else { 0 };
    // The last packet waits for the one before it at both links, as that one is no shorter.
    80 * ((packets - 1) * 1048 + full.max(last) + last) + 2_000_000
}

/// Wire time of an acknowledgement of 64 B.
const ACK: u64 = 64 * 80;

fn completion(outcome: &Outcome) -> u64 {
    summary(outcome)["collectives"][0]["completion_ps"].as_u64().expect("it has come to its end")
}

/// Expects 2 (n - 1) steps that take as long as their part alone. Parts of one packet are acknowledged before the rank
/// sends again.
#[test]
fn a_ring_takes_its_steps_one_after_another() {
    for (n, part, iterations, compute) in [(2, 1000, 1, 20), (3, 1, 1, 20), (5, 700, 3, 150), (16, 1000, 2, 1000)] {
        let (bytes, steps) = (n * part, 2 * (n - 1));
        let keys = format!(
            "pattern = \"ring\"\nbytes = \"{bytes} B\"\niterations = {iterations}\nstart = \"3 us\"\ncompute = \"{compute} ns\""
        );
        for scheme in ["fifo", "bfc", "flowsail", "ideal-fq"] {
            let outcome = run(&star(scheme, n as u16, "", &keys));
            let expected = iterations * steps * (alone(part) + compute * 1000);
            assert_eq!(completion(&outcome), expected, "{scheme}, {n} ranks, {part} B");
            assert_eq!(outcome.started.get(0), Instant(3_000_000 + compute * 1000));
            assert!(outcome.flows().all(|row| row.slowdown == 1.0 && row.counted));
        }
    }
}

/// Expects acknowledgements to delay each step by at most one acknowledgement per data packet on both links.
#[test]
fn a_ring_of_many_packets_is_held_up_by_its_acknowledgements_alone() {
    let (n, part) = (4, 20_500);
    let outcome = run(&star("fifo", n, "", &format!("pattern = \"ring\"\nbytes = \"{} B\"", n as u64 * part)));
    let (steps, packets) = (6, 21);
    let least = steps * alone(part);
    assert!(
        (least..=least + steps * 2 * (packets + 1) * ACK).contains(&completion(&outcome)),
        "{}",
        completion(&outcome)
    );
}

/// Expects (microbatches - 1) times the work on one, which exceeds the transfer to the next rank. The last microbatch
/// adds (n - 1) times both.
#[test]
fn a_pipeline_fills_and_then_works_at_the_pace_of_a_rank() {
    for (n, batches, bytes) in [(2, 1, 1), (2, 8, 20_500), (6, 1, 20_500), (6, 12, 1000), (6, 12, 20_500)] {
        let work = 10_000_000;
        let keys =
            format!("pattern = \"pipeline\"\nbytes = \"{bytes} B\"\niterations = {batches}\ncompute = \"10 us\"");
        let outcome = run(&star("fifo", n as u16, "", &keys));
        let expected = (batches - 1) * work + (n - 1) * (work + alone(bytes));
        // A rank starts to send when it receives the last packet of the next microbatch, whose acknowledgement may go
        // first.
        let slack = if n == 2 || batches == 1 { 0 } else { 2 * (n + batches) * ACK };
        assert!((expected..=expected + slack).contains(&completion(&outcome)), "{n} ranks, {batches} x {bytes} B");
    }
}

/// Checks that each dependent flow of a collective starts as soon as the flows it waits for allow.
fn check_starts(outcome: &Outcome, pattern: &str, n: usize, compute: Duration) {
    let rows: Vec<FlowRow> = outcome.flows().take(outcome.started.len()).collect();
    let steps = match pattern {
        "ring" => 2 * (n - 1),
        _ => n - 1,
    };
    let all_of = |iteration: usize, host: u16| {
        let rows = &rows[iteration * steps * n..(iteration + 1) * steps * n];
        rows.iter().filter(|row| row.flow.dst == host).map(|row| row.received).max().expect("each receives")
    };
    let begun = |iteration: usize, host: u16| {
        let first = &rows[iteration * steps * n..][..n];
        first.iter().find(|row| row.flow.src == host).expect("each sends").flow.at
    };
    for (i, row) in rows.iter().enumerate() {
        let (iteration, step) = (i / n / steps, i / n % steps);
        let waits_for = match (pattern, iteration, step) {
            ("ring", _, 1..) => {
                let before = &rows[(iteration * steps + step - 1) * n..][..n];
                let got =
                    before.iter().find(|other| other.flow.dst == row.flow.src).expect("the predecessor's").received;
                got.max(begun(iteration, row.flow.src))
            }
            (_, 0, _) => continue,
            _ => all_of(iteration - 1, row.flow.src).max(begun(iteration - 1, row.flow.src)),
        };
        assert_ne!(row.received, Instant::NEVER, "{pattern}: flow {i} has not arrived");
        match compute {
            Duration::ZERO => assert_eq!(row.flow.at, waits_for, "{pattern}: flow {i}"),
            _ => assert!(row.flow.at >= waits_for + compute, "{pattern}: flow {i}"),
        }
    }
}

const JOB: &str = "[[workload]]\nkind = \"collective\"\nbytes = \"80 KB\"\niterations = 4\nstart = \"5 us\"\n";
const BACKGROUND: &str = "[[workload]]\nkind = \"background\"\nsizes = { table = \"google_rpc\" }\nload = 0.5\n";
const LOSSY: &str = "[[fault]]\nlink = [\"host3\", \"leaf1\"]\nloss = 0.02\n\
                     [[fault]]\nlink = [\"leaf0\", \"spine1\"]\nloss = 0.02\ndown = [[\"20 us\", \"60 us\"]]\n";

const SCHEMES: [&str; 6] = ["bfc", "flowsail", "dctcp", "ideal-fq", "bcc", "dctcp@hpcc-sim"];

fn job(pattern: &str) -> String {
    format!("{JOB}pattern = \"{pattern}\"\n")
}

#[test]
fn what_waits_starts_when_it_has_what_it_waits_for() {
    for scheme in SCHEMES {
        for pattern in ["ring", "all-to-all"] {
            // Switches of the HPCC simulator lose no packets that would be retransmitted.
            let lossy = if scheme.contains('@') { "" } else { LOSSY };
            for faults in ["", lossy] {
                let outcome = run(&clos(scheme, &format!("{BACKGROUND}{}{faults}", job(pattern))));
                check_starts(&outcome, pattern, 8, Duration::ZERO);
                let finished = outcome.received.range(0..outcome.started.len()).all(|at| at != Instant::NEVER);
                assert!(finished, "{scheme}, {pattern}: all of it arrives");
                assert!(outcome.retransmitted.iter().any(|n| n > 0) || faults.is_empty(), "{scheme}: some is lost");
            }
        }
    }
}

/// The link of one host is down until 300 us; no host may start the second round before.
#[test]
fn a_barrier_waits_for_the_slowest() {
    let slow = "[[fault]]\nlink = [\"host5\", \"leaf2\"]\ndown = [[\"1 us\", \"300 us\"]]\n";
    let begun = |faults: &str| {
        let outcome = run(&clos("bfc", &format!("{}{faults}", job("all-to-all"))));
        check_starts(&outcome, "all-to-all", 8, Duration::ZERO);
        outcome.started.range(56..112).min().expect("a round of 56 flows")
    };
    let (with, without) = (begun(slow), begun(""));
    assert!(with > Instant(300_000_000) && without < Instant(50_000_000), "{with:?} {without:?}");
}

#[test]
fn every_event_of_a_collective_holds_up() {
    let all = [("flowsail", "all-to-all"), ("bfc", "pipeline"), ("bfc", "ring"), ("dctcp-tcp", "ring")];
    for (scheme, pattern) in all.into_iter().take(cases(2, 4) as usize) {
        let (outcome, report) = audited(&clos(scheme, &format!("{BACKGROUND}{}{LOSSY}", job(pattern))), 2);
        assert!(report.faults.is_empty(), "{scheme}, {pattern}: {:?}", report.faults);
        assert!(outcome.started.iter().all(|at| at != Instant::NEVER));
    }
}

#[test]
fn threads_and_windows_do_not_matter() {
    let second = job("pipeline").replace("[[workload]]", "[[workload]]\nclass = \"second\"\ncompute = \"700 ns\"");
    for scheme in SCHEMES {
        for pattern in ["ring", "all-to-all"].into_iter().take(cases(1, 2) as usize) {
            let lossy = if scheme.contains('@') { "" } else { LOSSY };
            let mut scenario = clos(scheme, &format!("{BACKGROUND}{}{second}{lossy}", job(pattern)));
            let digest =
                |scenario: &Scenario, threads| Simulation::new(scenario, threads).run(&Watch::default()).digest;
            let one = digest(&scenario, 1);
            for threads in [2, 4].into_iter().take(cases(1, 2) as usize) {
                assert_eq!(one, digest(&scenario, threads), "{scheme}, {pattern} on {threads} threads");
            }
            for (window, threads) in [(84_000, 2), (600_000, 1)].into_iter().take(cases(1, 2) as usize) {
                scenario.run.window = Some(Duration(window));
                assert_eq!(one, digest(&scenario, threads), "{scheme}, {pattern}, windows of {window} ps");
            }
        }
    }
}

/// The digest includes the start times of flows, even if nothing else depends on them.
#[test]
fn the_digest_covers_starts() {
    let mut outcome = run(&clos("bfc", &job("ring")));
    let before = backwater_sim::measure::digest::of(&outcome);
    assert_eq!(before, outcome.digest);
    outcome.started.set(9, outcome.started.get(9) + Duration(1));
    let after = backwater_sim::measure::digest::of(&outcome);
    assert_ne!(before.whole, after.whole);
    let differ: Vec<&str> = before.tables.iter().zip(&after.tables).filter(|(a, b)| a != b).map(|(a, _)| a.0).collect();
    assert_eq!(differ, ["flows"]);
}

/// Background traffic ends with `run.duration`. A collective ends when it is complete, or with the run.
#[test]
fn a_collective_runs_to_its_end_unless_it_is_cut_off() {
    let text = format!("{BACKGROUND}{}", job("ring").replace("iterations = 4", "iterations = 40\ncompute = \"2 us\""));
    let whole = run(&clos("bfc", &text));
    let until = Instant(100_000_000);
    let late = whole.flows().filter(|row| row.flow.at >= until).map(|row| row.flow.class).collect::<Vec<_>>();
    assert!(!late.is_empty() && late.iter().all(|class| *class == 1), "none of the background starts late");
    assert!(whole.started.iter().chain(&whole.received).all(|at| at < whole.ended));
    let mut cut = clos("bfc", &text);
    cut.run.drain = 1.0;
    let cut = run(&cut);
    assert_eq!(cut.ended, until);
    let started = cut.started.iter().filter(|at| *at != Instant::NEVER).count();
    assert!(started > 0 && started < cut.started.len() && cut.started != whole.started);
    assert!(cut.started.iter().zip(&whole.started).all(|(cut, whole)| cut == Instant::NEVER || cut == whole));
    let summary = summary(&cut);
    assert_eq!(summary["collectives"][0]["started"], started);
    assert!(summary["collectives"][0]["completion_ps"].is_null() && summary["flows"]["unfinished"].as_u64() > Some(0));
}

/// Expects the counters during the run to end at the totals of the run.
#[test]
fn progress_counts_flows_that_wait() {
    let scenario = clos("bfc", &format!("{BACKGROUND}{}", job("all-to-all")));
    for threads in [1, 2] {
        let watch = Watch::default();
        let outcome = Simulation::new(&scenario, threads).run(&watch);
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(load(&watch.started), outcome.received.len() as u64);
        assert_eq!((load(&watch.finished), load(&watch.counted_left)), (outcome.received.len() as u64, 0));
    }
}

/// The flows of a collective are known before the run; their start times are not.
#[test]
fn a_preview_and_an_estimate_count_flows_that_wait() {
    let scenario = clos("fifo", &job("ring"));
    let outcome = run(&scenario);
    let estimate = estimate(&scenario);
    assert_eq!(estimate["flows"], outcome.received.len());
    assert_eq!(estimate["packet_hops"], outcome.packet_hops, "data and an acknowledgement over each link");
    let columns: Vec<_> = flow_batches(&scenario, 100).flatten().collect();
    let arrivals = columns.iter().filter(|(name, _)| *name == "arrival_ps").flat_map(|(_, values)| match values {
        Values::U64(at) => at.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(arrivals.collect::<Vec<_>>(), vec![u64::MAX; outcome.started.len()]);
}
