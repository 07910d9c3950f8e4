//! Thousands of small random networks with every event checked.
//!
//! Tests named `random_..._break_no_rule` run 1,000 cases each; of FlowSail also cases that reach branches that are rare.
//! `a_quarter_of_a_million_...` belong to `make test-long`. A failing case prints its scenario file.

use crate::common::audit::{Counts, Fault};
use crate::common::random::{self, Family};
use crate::common::{audited, cases, scenario, spy, watched};
use backwater_sim::{Simulation, Watch};
use backwater_types::Instant;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// Branches that the random networks must reach.
const BRANCHES: [&str; 29] = [
    "ACKs",
    "BITMAP that repairs",
    "BITMAP, all clear",
    "BITMAP, some held",
    "CE marks received",
    "NACKs",
    "PAUSE at a NIC",
    "PAUSE at a switch",
    "PFC pause at a NIC",
    "PFC pause at a switch",
    "PFC resume",
    "RESUME at a NIC",
    "RESUME at a switch",
    "control frames lost",
    "control frames sent",
    "dropped: buffer",
    "dropped: headroom",
    "dropped: no route",
    "duplicates received",
    "gaps received",
    "goes back after a NACK",
    "goes back after a timeout",
    "link changes",
    "lost: link down",
    "lost: link loss",
    "overtaken under sampling",
    "packets sent again",
    "queue assignments",
    "queue collisions",
];

/// Branches that networks with pauses of named flows must reach.
const FLOW_BRANCHES: [&str; 47] = [
    "ACKs",
    "CE marks received",
    "NACKs",
    "PAUSE of a flow at a NIC",
    "PAUSE of a flow at a switch",
    "PAUSE of a flow that had no record, and may have packets",
    "PAUSE of a flow with packets",
    "PAUSE of a flow without packets",
    "PAUSE without room for a record",
    "PFC pause at a NIC",
    "PFC pause at a switch",
    "PFC resume",
    "RESUME of a flow at a NIC",
    "RESUME of a flow at a switch",
    "RESUME of a flow not paused",
    "RESUME of a flow without a record",
    "control frames lost",
    "dropped: buffer",
    "dropped: no route",
    "dropped: paused",
    "frame for a flow that shares its record",
    "frame that comes late",
    "frame that comes twice",
    "frame under ideal flow control",
    "goes back after a NACK",
    "goes back after a timeout",
    "isolation queue waits for the twin mark",
    "link changes",
    "link fails or comes back under pauses",
    "lost: link down",
    "lost: link loss",
    "order mark alone in a queue",
    "order mark behind packets without a record",
    "packet of a flow that shares its record",
    "packet without a record",
    "passes while isolated",
    "pause lapsed",
    "pause repeated",
    "paused again while isolated",
    "paused again while its mark is outstanding",
    "queue collisions",
    "record evicted",
    "released at enqueue",
    "released by the sweep",
    "released in passing",
    "resumed",
    "resumed while its mark is outstanding",
];

/// Cases for three rare branches. One case in 500 or fewer reaches "PAUSE of a flow that had no record, and may have
/// packets", "PAUSE without room for a record", or "order mark behind packets without a record". After a change of the
/// random networks, `all_failures` finds other cases.
const RARE: [u64; 2] = [2632, 5047];

/// Branches that TCP networks must reach.
const TCP_BRANCHES: [&str; 20] = [
    "ACKs",
    "CE marks received",
    "PFC pause at a NIC",
    "PFC pause at a switch",
    "PFC resume",
    "connections opened",
    "dropped: NIC",
    "dropped: buffer",
    "dropped: no route",
    "dropped: not ECN-capable",
    "duplicates received",
    "gaps received",
    "link changes",
    "lost: link down",
    "lost: link loss",
    "marked by a NIC",
    "marked by a switch",
    "packets sent again",
    "segments selectively acknowledged",
    "segments sent again",
];

/// Branches that ExpressPass networks must reach.
const CREDIT_BRANCHES: [&str; 13] = [
    "ACKs",
    "NACKs",
    "credits",
    "dropped: buffer",
    "dropped: credit",
    "dropped: no route",
    "duplicates received",
    "gaps received",
    "link changes",
    "lost: link down",
    "lost: link loss",
    "packets sent again",
    "requests for credits",
];

/// Branches that networks of extended BFC must reach.
const EXTENDED_BRANCHES: [&str; 17] = [
    "BITMAP that repairs",
    "PAUSE at a NIC",
    "PAUSE at a switch",
    "RESUME at a NIC",
    "RESUME at a switch",
    "asked for credit",
    "control frames lost",
    "control frames of hosts",
    "credit at a NIC",
    "credit at a switch",
    "dropped: buffer",
    "dropped: no route",
    "link changes",
    "lost: link down",
    "lost: link loss",
    "packets sent again",
    "queue collisions",
];

/// Runs case number `number`. Returns the branches reached and whether the run fell silent, or the first broken rule.
fn check(family: Family, number: u64) -> Result<(Counts, bool), String> {
    let case = random::case(family, number);
    let mishaps = case.mishaps.map(|seed| format!("# Frames late and twice by seed {seed}\n")).unwrap_or_default();
    let fail = |text: String| format!("case {number}: {text}\n{mishaps}{}", case.toml);
    let scenario = scenario(&case.toml);
    let run = |threads| match family {
        Family::Queues | Family::Tcp | Family::Credits | Family::Extended => audited(&scenario, threads),
        Family::Flows => watched(&scenario, threads, case.mishaps),
    };
    let ran = catch_unwind(AssertUnwindSafe(|| run(case.threads)));
    let (outcome, report) = ran.map_err(|_| fail("panicked".into()))?;
    let faults = report.faults.iter().filter(|(fault, _)| *fault != Fault::Unfinished || case.live);
    if let Some((fault, text)) = faults.into_iter().next() {
        return Err(fail(format!("{fault:?}: {text}")));
    }
    let full = |d: &backwater_sim::measure::outcome::Drops| d.packets[0] + d.packets[1] > 0;
    if case.lossless && outcome.drops.iter().any(full) {
        return Err(fail("a packet was dropped for want of room".into()));
    }
    if number.is_multiple_of(32) {
        let threads = 3 - case.threads;
        let again = match case.mishaps {
            None => Simulation::new(&scenario, threads).run(&Watch::default()),
            Some(_) => run(threads).0,
        };
        if again.digest != outcome.digest {
            return Err(fail(format!("digest on {threads} threads differs")));
        }
    }
    let mut counts = report.counts;
    if outcome.acknowledged.iter().any(|at| at == Instant::NEVER) {
        counts.insert("runs without end", 1);
    }
    Ok((counts, report.quiescent))
}

/// Runs cases in a single thread, as cases on two threads need the other core.
fn sweep(family: Family, numbers: impl IntoIterator<Item = u64>) {
    let mut total = 0;
    let (mut counts, mut quiescent, mut failed) = (Counts::new(), 0, Vec::new());
    for number in numbers {
        total += 1;
        match check(family, number) {
            Ok((reached, silent)) => {
                reached.iter().for_each(|(what, n)| *counts.entry(what).or_default() += n);
                quiescent += silent as u64;
            }
            Err(text) => failed.push(text),
        }
        if failed.len() > 2 {
            break;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let mut branches = BRANCHES.to_vec();
    if family == Family::Queues {
        let seen = [("random queue, none empty", &spy::FALLBACKS), ("empty queue, but paused", &spy::EMPTY_BUT_PAUSED)];
        for (what, n) in seen {
            counts.insert(what, n.load(Ordering::Relaxed));
            assert!(counts[what] > 0, "no network reached \"{what}\"");
        }
    } else {
        branches = match family {
            Family::Flows => FLOW_BRANCHES.to_vec(),
            Family::Credits => CREDIT_BRANCHES.to_vec(),
            Family::Extended => EXTENDED_BRANCHES.to_vec(),
            _ => TCP_BRANCHES.to_vec(),
        };
    }
    println!("{total} networks, {quiescent} of them run until silent; reached:");
    counts.iter().for_each(|(what, n)| println!("{n:>10}  {what}"));
    assert!(quiescent * 10 >= total * 8, "only {quiescent} of {total} runs fell silent");
    for branch in branches {
        assert!(counts.contains_key(branch), "no network reached \"{branch}\"");
    }
}

#[test]
fn random_networks_break_no_rule() {
    sweep(Family::Queues, 0..cases(500, 1_000));
}

#[test]
fn random_flowsail_networks_break_no_rule() {
    sweep(Family::Flows, (0..cases(500, 1_000)).chain(RARE));
}

#[test]
fn random_tcp_networks_break_no_rule() {
    sweep(Family::Tcp, 0..cases(500, 1_000));
}

#[test]
fn random_credit_networks_break_no_rule() {
    sweep(Family::Credits, 0..cases(500, 1_000));
}

#[test]
fn random_networks_of_extended_bfc_break_no_rule() {
    sweep(Family::Extended, 0..cases(500, 1_000));
}

/// `make test-long`.
#[test]
#[ignore = "minutes"]
fn a_quarter_of_a_million_random_networks_of_extended_bfc_break_no_rule() {
    sweep(Family::Extended, 1_000..251_000);
}

/// `make test-long`.
#[test]
#[ignore = "minutes"]
fn a_quarter_of_a_million_random_tcp_networks_break_no_rule() {
    sweep(Family::Tcp, 1_000..251_000);
}

/// `make test-long`.
#[test]
#[ignore = "minutes"]
fn a_quarter_of_a_million_random_networks_break_no_rule() {
    sweep(Family::Queues, 1_000..251_000);
}

/// `make test-long`.
#[test]
#[ignore = "minutes"]
fn a_quarter_of_a_million_random_flowsail_networks_break_no_rule() {
    sweep(Family::Flows, 1_000..253_000);
}

/// Runs and prints the case in the environment variable `CASE`, of the family in `FAMILY`.
#[test]
#[ignore = "for one case by hand"]
fn one_case() {
    let number = std::env::var("CASE").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let family = family();
    let flows = family == Family::Flows;
    let case = random::case(family, number);
    let scenario = scenario(&case.toml);
    let (outcome, report) = match flows {
        true => watched(&scenario, case.threads, case.mishaps),
        false => audited(&scenario, case.threads),
    };
    println!("{}\n{:?}\n{:#?}", case.toml, report.faults, report.counts);
    outcome.flows().for_each(|flow| println!("{flow:?}"));
}

/// Returns the family in the environment variable `FAMILY`: `queues`, `flows`, `tcp`, `credits` or `extended`.
fn family() -> Family {
    match std::env::var("FAMILY").as_deref() {
        Ok("flows") => Family::Flows,
        Ok("tcp") => Family::Tcp,
        Ok("credits") => Family::Credits,
        Ok("extended") => Family::Extended,
        _ => Family::Queues,
    }
}

/// Runs the cases in the environment variable `CASES` without stopping at failures. Prints the first line of each
/// failure, the cases that reach the branch in `BRANCH`, and the branches reached.
#[test]
#[ignore = "for a look at many cases by hand"]
fn all_failures() {
    let range = std::env::var("CASES").unwrap_or("0-1000".into());
    let (from, to) = range.split_once('-').expect("FROM-TO");
    let branch = std::env::var("BRANCH");
    let mut counts = Counts::new();
    for number in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let start = std::time::Instant::now();
        match check(family(), number) {
            Ok((reached, _)) => {
                if branch.as_ref().is_ok_and(|branch| reached.contains_key(branch.as_str())) {
                    println!("case {number} reaches it");
                }
                reached.iter().for_each(|(what, n)| *counts.entry(what).or_default() += n);
            }
            Err(text) => println!("{}", text.lines().next().unwrap_or_default()),
        }
        let took = start.elapsed();
        if took.as_millis() > 300 {
            println!("case {number} took {took:?}");
        }
    }
    println!("{counts:#?}");
}
