//! Flows that arrive in `run.cooldown` load the network and do not count.

use crate::common::audit::Fault;
use crate::common::{audited, run, scenario};
use backwater_scenario::Scenario;
use backwater_sim::measure::outcome::FlowRow;
use backwater_sim::measure::summary::summary;
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::Instant;

/// End of the counted window, ps.
const COUNTED: u64 = 300_000_000;
/// Shortly before it.
const LATE: u64 = 270_000_000;

/// Returns a scenario of 16 hosts whose flows count from 50 us on; `more` are keys of `[run]`.
fn at_load(scheme: &str, more: &str) -> Scenario {
    scenario(&format!(
        "scheme = \"{scheme}\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n\
         [run]\nwarmup = \"50 us\"\n{more}\n[[workload]]\nkind = \"background\"\nsizes = {{ uniform = [\"1 KB\", \"400 KB\"] }}\nload = 0.6\n"
    ))
}

fn without(scheme: &str) -> Scenario {
    at_load(scheme, "duration = \"300 us\"\ndrain = 1000.0")
}

fn with(scheme: &str) -> Scenario {
    at_load(scheme, "duration = \"30 ms\"\ncooldown = \"29700 us\"\ndrain = 10.0")
}

fn counted(outcome: &Outcome) -> Vec<FlowRow> {
    outcome.flows().filter(|row| row.counted).collect()
}

/// Time until the last counted flow is acknowledged, ps.
fn last(outcome: &Outcome) -> u64 {
    counted(outcome).iter().map(|row| row.acknowledged.0).max().expect("some count")
}

#[test]
fn the_same_flows_count_and_finish_under_load() {
    for scheme in ["dctcp", "bfc", "ideal-fq"] {
        let (drained, loaded) = (run(&without(scheme)), run(&with(scheme)));
        let [few, same] = [&drained, &loaded].map(counted);
        assert!(few.len() > 20, "{scheme}: {}", few.len());
        let named =
            |rows: &[FlowRow]| rows.iter().map(|row| (row.flow.id, row.flow.at, row.flow.size)).collect::<Vec<_>>();
        assert_eq!(named(&few), named(&same), "{scheme}");
        assert!(same.iter().all(|row| row.flow.at.0 < COUNTED && row.acknowledged != Instant::NEVER), "{scheme}");
        // Other flows load the network until the last counted one has finished, and no longer.
        let end = loaded.ended.0;
        let arrivals: Vec<u64> = loaded.flows().map(|row| row.flow.at.0).collect();
        let latest = *arrivals.iter().max().expect("flows arrive");
        assert!((last(&loaded)..last(&loaded) + 20_000_000).contains(&end), "{scheme}: {end}");
        assert!(latest > end - 100_000_000, "{scheme}: {latest} of {end}");
        // The last ones share their links with those that follow.
        let mean = |rows: &[FlowRow]| {
            let late: Vec<f64> = rows.iter().filter(|row| row.flow.at.0 >= LATE).map(|row| row.slowdown).collect();
            late.iter().sum::<f64>() / late.len() as f64
        };
        assert!(mean(&same) > 1.05 * mean(&few), "{scheme}: {} and {}", mean(&same), mean(&few));
        let load = &summary(&loaded)["load"][0];
        let offered = summary(&drained)["load"][0].clone();
        assert_eq!(load["offered_bps"], offered["offered_bps"], "{scheme}: the load is that of the counted window");
    }
}

#[test]
fn no_rule_is_broken_and_threads_do_not_matter() {
    for scheme in ["bfc", "flowsail"] {
        let scenario = scenario(&format!(
            "scheme = \"{scheme}\"\n[topology]\nkind = \"single-switch\"\nhosts = 5\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
             [run]\nduration = \"500 us\"\ncooldown = \"400 us\"\n\
             [[workload]]\nkind = \"background\"\nsizes = {{ uniform = [\"1 KB\", \"40 KB\"] }}\nload = 0.6\nload_of = \"senders\"\n"
        ));
        let (outcome, report) = audited(&scenario, 1);
        assert!(counted(&outcome).iter().all(|row| row.acknowledged != Instant::NEVER), "{scheme}");
        // Others may still be under way.
        let faults: Vec<_> = report.faults.iter().filter(|(fault, _)| *fault != Fault::Unfinished).collect();
        assert!(faults.is_empty(), "{scheme}: {faults:?}");
        let again = Simulation::new(&scenario, 3).run(&Watch::default());
        assert_eq!(again.digest, outcome.digest, "{scheme} on 3 threads");
    }
}

/// A run that never gets to the end of its cooldown is the same with a longer one.
#[test]
fn the_length_of_the_cooldown_does_not_matter_beyond_the_last_counted_flow() {
    let longer = at_load("bfc", "duration = \"50 ms\"\ncooldown = \"49700 us\"\ndrain = 10.0");
    assert_eq!(run(&with("bfc")).digest, run(&longer).digest);
}
