//! The same scenario, seed and version give the same bytes across builds, as digests in `golden_digests.txt` show.
//! Random networks give the same bytes across threads and window sizes. `conformance/digests.rs` tests every registered
//! scheme.
//!
//! These tests run with debug assertions, where switches are called through `dyn`.
//! `tests/test_golden_digests.py` compares the release build, which has an engine per published scheme, with the same
//! file. After an intended change of outcomes: `BLESS=1 cargo test -p backwater-sim --test engine golden`.

use crate::common::random::{self, Family};
use crate::common::{cases, scenario};
use backwater_scenario::{PlannedRun, Scenario, load};
use backwater_sim::measure::outcome::Digests;
use backwater_sim::{Simulation, Turns, Watch};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SMOKE: [&str; 7] = ["bfc", "dctcp", "ideal-fq", "flowsail", "ideal-fc", "bcc", "dctcp-tcp"];

fn smoke(name: &str) -> Vec<PlannedRun> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/smoke").join(format!("{name}.toml"));
    load(&path, &[], None).unwrap_or_else(|e| panic!("{e}")).runs
}

fn digest(scenario: &Scenario, threads: usize) -> Digests {
    Simulation::new(scenario, threads).run(&Watch::default()).digest
}

/// Returns a small Clos with losses, flaps, and samples of queues and delays: everything that the digest covers.
fn busy() -> Scenario {
    scenario(
        "scheme = \"bfc\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"600 ns\"\n\
         [run]\nduration = \"150 us\"\n[measure]\nsample = \"3 us\"\nactive_flows = true\nqueueing_delay = true\n\
         [[workload]]\nkind = \"background\"\nsizes = { table = \"google_rpc\" }\nload = 0.7\n\
         [[workload]]\nkind = \"incast\"\ndegree = 12\naggregate = \"120 KB\"\nperiod = \"40 us\"\n\
         [[fault]]\nlink = [\"leaf0\", \"spine1\"]\nloss = 0.01\ncontrol_loss = 0.02\ndown = [[\"50 us\", \"90 us\"]]\n\
         [[fault]]\nlink = [\"host3\", \"leaf0\"]\ndown = [[\"30 us\", \"45 us\"]]\n",
    )
}

/// Expects no flow to change when measurements are on.
#[test]
fn measuring_does_not_disturb() {
    let scenario = busy();
    let mut plain = scenario.clone();
    plain.measure.sample = backwater_types::Duration::ZERO;
    (plain.measure.active_flows, plain.measure.queueing_delay) = (false, false);
    let run = |s: &Scenario| Simulation::new(s, 1).run(&Watch::default());
    let (with, without) = (run(&scenario), run(&plain));
    assert_eq!(with.received, without.received);
    assert_eq!(with.acknowledged, without.acknowledged);
}

/// Partitions that take turns are timed, and change nothing.
#[test]
fn turns_do_not_disturb() {
    let scenario = busy();
    let watch = Watch { turns: Some(Turns::new(4)), ..Watch::default() };
    assert_eq!(Simulation::new(&scenario, 4).run(&watch).digest, digest(&scenario, 1));
    let (longest, all) = watch.turns.as_ref().map(Turns::seconds).expect("turns were asked for");
    assert!(longest > 0.0 && longest < all && all < 4.0 * longest, "{longest} s of {all} s");
}

/// Events at one instant run in the order in which they were scheduled. Nodes that run separately, on any number of
/// threads, must find the same order as a single list of all events.
#[test]
fn ranked_node_by_node_events_come_as_they_do_one_by_one() {
    let texts = (3_000_000..).map(|number| random::case(Family::Queues, number).toml);
    for text in texts.filter(|text| text.contains("ties = \"scheduled\"")).take(cases(60, 300) as usize) {
        let mut scenario = scenario(&text);
        let one_by_one = Simulation::new(&scenario, 1).one_by_one().run(&Watch::default()).digest;
        let look_ahead = Simulation::new(&scenario, 1).graph.look_ahead(&scenario.host, &scenario.conventions);
        for (threads, share) in [(1, 1), (2, 1), (2, 7), (3, 3)] {
            scenario.run.window = Some(backwater_types::Duration((look_ahead.0 / share).max(1)));
            assert_eq!(digest(&scenario, threads), one_by_one, "{threads} threads, 1/{share} of a window: {text}");
        }
    }
}

#[test]
fn random_networks_do_not_depend_on_threads_or_windows() {
    let families = [(Family::Queues, 50), (Family::Flows, 25), (Family::Tcp, 50), (Family::Credits, 25)];
    let numbered = |(family, n)| (0..cases(n, 4 * n)).map(move |number| (family, number));
    for (family, number) in families.into_iter().flat_map(numbered) {
        let mut scenario = scenario(&random::case(family, 1_000_000 + number).toml);
        let one = digest(&scenario, 1);
        let look_ahead = Simulation::new(&scenario, 1).graph.look_ahead(&scenario.host, &scenario.conventions);
        scenario.run.window = Some(backwater_types::Duration(look_ahead.0 / 3));
        assert_eq!(one, digest(&scenario, 1 + number as usize % 4), "{family:?} case {number}");
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/golden_digests.txt")
}

#[test]
fn smoke_scenarios_have_their_golden_digests() {
    let mut text = String::new();
    for name in SMOKE {
        let Digests { whole, tables } = digest(&smoke(name).remove(0).scenario, 1);
        for (table, digest) in tables.into_iter().chain([("whole", whole)]) {
            let _ = writeln!(text, "experiments/smoke/{name}.toml {table} {digest}");
        }
    }
    for run in smoke("schemes") {
        let digest = digest(&run.scenario, 2).whole;
        let _ = writeln!(text, "experiments/smoke/schemes.toml#{} whole {digest}", run.label);
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden(), &text).unwrap();
    }
    let kept = std::fs::read_to_string(golden()).unwrap_or_default();
    let changed: Vec<&str> = text.lines().filter(|line| !kept.lines().any(|kept| kept == *line)).collect();
    assert!(changed.is_empty(), "outcomes changed; if that is meant, BLESS=1 and say so in the commit: {changed:#?}");
    assert_eq!(text, kept, "what is kept is not what there is");
}
