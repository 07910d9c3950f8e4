//! Thousands of small random networks, every event checked.
//!
//! `random_networks_break_no_rule` runs 10,000 of them; `a_quarter_of_a_million_random_networks_break_no_rule` is for
//! `make test-long`. A case that fails prints its scenario file.

mod common;

use backwater_sim::{Simulation, Watch};
use backwater_types::Instant;
use common::audit::{Counts, Fault};
use common::{audited, random, scenario, spy};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// Branches that the random networks have to reach.
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

/// Runs case number `number`; what was broken, if anything, and what was reached.
fn check(number: u64) -> Result<(Counts, bool), String> {
    let case = random::case(number);
    let fail = |text: String| format!("case {number}: {text}\n{}", case.toml);
    let scenario = scenario(&case.toml);
    let ran = catch_unwind(AssertUnwindSafe(|| audited(&scenario, case.threads)));
    let (outcome, report) = ran.map_err(|_| fail("panicked".into()))?;
    let faults = report.faults.iter().filter(|(fault, _)| *fault != Fault::Unfinished || case.live);
    if let Some((fault, text)) = faults.into_iter().next() {
        return Err(fail(format!("{fault:?}: {text}")));
    }
    let full = |d: &backwater_sim::stats::Drops| d.packets[0] + d.packets[1] > 0;
    if case.lossless && outcome.drops.iter().any(full) {
        return Err(fail("PFC with its computed headroom dropped a packet".into()));
    }
    if number.is_multiple_of(32) {
        let again = Simulation::new(&scenario, 3 - case.threads).run(&Watch::default());
        if again.digest != outcome.digest {
            return Err(fail(format!("digest on {} threads differs", 3 - case.threads)));
        }
    }
    let mut counts = report.counts;
    if outcome.acknowledged.contains(&Instant::NEVER) {
        counts.insert("runs without end", 1);
    }
    Ok((counts, report.quiescent))
}

/// One thread for the sweep: cases on two threads want the other core.
fn sweep(cases: std::ops::Range<u64>) {
    let total = cases.end - cases.start;
    let (mut counts, mut quiescent, mut failed) = (Counts::new(), 0, Vec::new());
    for number in cases {
        match check(number) {
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
    for (what, n) in
        [("random queue, none empty", &spy::FALLBACKS), ("empty queue, but paused", &spy::EMPTY_BUT_PAUSED)]
    {
        counts.insert(what, n.load(Ordering::Relaxed));
        assert!(counts[what] > 0, "no network reached \"{what}\"");
    }
    println!("{total} networks, {quiescent} of them run until silent; reached:");
    counts.iter().for_each(|(what, n)| println!("{n:>10}  {what}"));
    assert!(quiescent * 10 >= total * 8, "only {quiescent} of {total} runs fell silent");
    for branch in BRANCHES {
        assert!(counts.contains_key(branch), "no network reached \"{branch}\"");
    }
}

#[test]
fn random_networks_break_no_rule() {
    sweep(0..10_000);
}

/// `make test-long`.
#[test]
#[ignore = "minutes"]
fn a_quarter_of_a_million_random_networks_break_no_rule() {
    sweep(10_000..260_000);
}

/// Runs the case that the environment variable `CASE` names, and shows it.
#[test]
#[ignore = "for one case by hand"]
fn one_case() {
    let number = std::env::var("CASE").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let case = random::case(number);
    let (outcome, report) = audited(&scenario(&case.toml), case.threads);
    println!("{}\n{:?}\n{:#?}", case.toml, report.faults, report.counts);
    outcome.flows().for_each(|flow| println!("{flow:?}"));
}
