//! What flows waited for sums to their completion times, to the picosecond, and the run that tells is the same run.

use crate::common::run;
use crate::conformance::faults::{crowd, lossy};
use crate::conformance::registry::{Subject, all, each, profiled};
use backwater_scenario::Scenario;
use backwater_sim::record::Wanted;
use backwater_sim::record::waits::{Wait, Why};
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::Instant;
use std::collections::BTreeMap;

/// The scenario run twice, the second time with all its finished flows explained.
pub(super) fn explained(scenario: &Scenario) -> Outcome {
    let first = run(scenario);
    let times = (0..).zip(&first.received).filter(|(_, at)| **at != Instant::NEVER);
    let wanted = Wanted { explain: times.map(|(flow, at)| (flow, *at)).collect(), events: None };
    assert!(!wanted.explain.is_empty(), "some flow finished");
    let second = Simulation::new(scenario, 1).record(&wanted, &Watch::default());
    assert_eq!(first.digest.whole, second.digest.whole, "the same run");
    second
}

fn sums_are_exact(name: &str, scenario: &Scenario) {
    let outcome = explained(scenario);
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for wait in &outcome.recorded.waits {
        *sums.entry(wait.flow).or_default() += wait.span.0;
    }
    for row in outcome.flows().filter(|row| row.received != Instant::NEVER) {
        let sum = sums.remove(&row.flow.id);
        assert_eq!(sum, Some(row.received.since(row.flow.at).0), "{name}: flow {}", row.flow.id);
    }
    assert!(sums.is_empty(), "{name}: parts of flows that did not finish: {sums:?}");
}

fn check(subjects: Vec<Subject>) {
    each(subjects, |subject| {
        let down =
            "[[fault]]\nlink = [\"switch0\", \"switch1\"]\ndown = [[\"12 us\", \"40 us\"], [\"45 us\", \"46 us\"]]\n";
        for more in ["", &lossy(0.02), down] {
            if let Ok(scenario) = subject.load(&crowd(more)) {
                sums_are_exact(&format!("{} {more}", subject.name), &scenario);
            }
        }
    });
}

#[test]
fn waits_sum_to_completion_times() {
    check(all());
}

#[test]
fn waits_sum_to_completion_times_in_every_profile() {
    check(profiled());
}

/// Where a crowd is pushed together, every scheme that pauses has some flow wait for a pause, and the switch that
/// paused is next to where it waited.
#[test]
fn pauses_have_a_cause_next_door() {
    each(all(), |subject| {
        let outcome = explained(&subject.scenario(&crowd("")));
        for wait in outcome.recorded.waits.iter().filter(|wait| wait.by.is_some()) {
            let row = outcome.ports.iter().find(|row| (row.node, row.port) == (wait.node, wait.port)).expect("a port");
            assert_eq!(wait.by, Some(row.peer), "{}: {wait:?}", subject.name);
            assert!(
                wait.sake.is_some() && wait.towards.is_some() && wait.whose.is_some(),
                "{}: {wait:?}",
                subject.name
            );
        }
    });
}

/// A port that sends nothing has nothing that may go: what waits there is held, and said to be.
#[test]
fn no_packet_waits_for_nothing() {
    each(all(), |subject| {
        let outcome = explained(&subject.scenario(&crowd("")));
        let idle = |wait: &&Wait| wait.why == Why::Idle && wait.hop > 0;
        let first = outcome.recorded.waits.iter().find(idle);
        assert_eq!(first, None, "{}", subject.name);
    });
}
