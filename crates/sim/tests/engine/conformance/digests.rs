//! The same scenario and seed give the same bytes on each repetition, thread count, window, and choice of the switch's
//! type.

use crate::conformance::registry::{Subject, each, everyday, profiled, schemes};
use backwater_scenario::Scenario;
use backwater_sim::measure::outcome::Digests;
use backwater_sim::{Simulation, Watch};
use backwater_types::Duration;

/// A small Clos with losses, flaps, and samples of queues and delays: everything that the digest covers.
pub fn busy(subject: &Subject) -> Scenario {
    subject.scenario(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"600 ns\"\n\
         [run]\nduration = \"150 us\"\n[measure]\nsample = \"3 us\"\nactive_flows = true\nqueueing_delay = true\n\
         [[workload]]\nkind = \"background\"\nsizes = { table = \"google_rpc\" }\nload = 0.7\n\
         [[workload]]\nkind = \"incast\"\ndegree = 12\naggregate = \"120 KB\"\nperiod = \"40 us\"\n\
         [[fault]]\nlink = [\"leaf0\", \"spine1\"]\nloss = 0.01\ncontrol_loss = 0.02\ndown = [[\"50 us\", \"90 us\"]]\n\
         [[fault]]\nlink = [\"host3\", \"leaf0\"]\ndown = [[\"30 us\", \"45 us\"]]\n",
    )
}

/// Returns the digests of a run of `scenario` on `threads` threads.
pub fn digest(scenario: &Scenario, threads: usize) -> Digests {
    Simulation::new(scenario, threads).run(&Watch::default()).digest
}

fn schemes_and_profiles(check: impl Fn(&str, Scenario)) {
    let subjects = schemes().into_iter().chain(profiled()).collect();
    each(subjects, |subject| check(&subject.name, busy(subject)));
}

#[test]
fn a_run_repeats_itself() {
    schemes_and_profiles(|name, scenario| {
        assert_eq!(digest(&scenario, 1), digest(&scenario, 1), "{name}");
    });
}

#[test]
fn another_seed_is_another_run() {
    schemes_and_profiles(|name, scenario| {
        assert_ne!(
            digest(&scenario, 1),
            digest(&Scenario { seed: scenario.seed + 1, ..scenario.clone() }, 1),
            "{name}"
        );
    });
}

#[test]
fn threads_do_not_matter() {
    schemes_and_profiles(|name, scenario| {
        let one = digest(&scenario, 1);
        for threads in [2, 4] {
            assert_eq!(one, digest(&scenario, threads), "{name} on {threads} threads");
        }
    });
}

/// Windows equal to the look-ahead, just below it, and far below it.
#[test]
fn windows_at_or_below_the_look_ahead_do_not_matter() {
    schemes_and_profiles(|name, mut scenario| {
        let widest = digest(&scenario, 1);
        let look_ahead = Simulation::new(&scenario, 1).graph.look_ahead(&scenario.host, &scenario.conventions).0;
        assert!((600_000..700_000).contains(&look_ahead), "{look_ahead} ps: the core's delay and a short frame");
        for window in everyday([look_ahead, 84_000, 600_000, 7_919]) {
            scenario.run.window = Some(Duration(window));
            assert_eq!(widest, digest(&scenario, 1), "{name}, windows of {window} ps");
        }
        scenario.run.window = Some(Duration(200_000));
        assert_eq!(widest, digest(&scenario, 2), "{name}, short windows on two threads");
    });
}

/// Compares within one release build; `determinism.rs` compares builds.
#[test]
#[cfg_attr(debug_assertions, ignore = "this build has neither")]
fn the_enum_of_all_switches_does_as_the_types_do() {
    schemes_and_profiles(|name, scenario| {
        assert_eq!(digest(&scenario, 1), Simulation::new(&scenario, 2).run_any(&Watch::default()).digest, "{name}");
    });
}
