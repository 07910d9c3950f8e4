//! Tests of the engines of published combinations. Only builds without debug assertions have them, so `make test` runs
//! these tests in the release profile.
//!
//! The engines have the golden digests of `engine/golden_digests.txt`. `engine/determinism.rs` tests builds with debug
//! assertions against the same file.
#![cfg(not(debug_assertions))]

use backwater_scenario::{PlannedRun, load, load_str};
use backwater_schemes::registry::PRESETS;
use backwater_sim::{Simulation, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn runs(file: &str) -> Vec<PlannedRun> {
    load(&root().join(file), &[], None).unwrap_or_else(|e| panic!("{e}")).runs
}

/// Reads the golden digests: `{scenario: {table: digest}}`.
fn golden() -> BTreeMap<String, BTreeMap<String, String>> {
    let text = std::fs::read_to_string(root().join("crates/sim/tests/engine/golden_digests.txt"))
        .expect("the file of golden digests is readable");
    let mut golden: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for line in text.lines() {
        let [scenario, table, digest] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        golden.entry(scenario.into()).or_default().insert(table.into(), digest.into());
    }
    golden
}

#[test]
fn published_combinations_have_their_golden_digests() {
    let golden = golden();
    let files: BTreeSet<&str> =
        golden.keys().map(|name| name.split('#').next().expect("a name starts with a file")).collect();
    for file in files {
        let runs = runs(file);
        for run in &runs {
            let name = if runs.len() == 1 { file.to_string() } else { format!("{file}#{}", run.label) };
            let digest = Simulation::new(&run.scenario, 2).run(&Watch::default()).digest;
            let all: BTreeMap<&str, String> = digest.tables.into_iter().chain([("whole", digest.whole)]).collect();
            for (table, kept) in &golden[&name] {
                assert_eq!(&all[table.as_str()], kept, "{name}: {table}");
            }
        }
    }
}

/// Every engine of a shipped scheme has a golden digest, in the default order of events and in the HPCC simulator's.
#[test]
fn every_engine_has_a_golden_digest() {
    let engine = |run: &PlannedRun| Simulation::new(&run.scenario, 1).engine();
    let tested: BTreeSet<&str> = runs("experiments/smoke/schemes.toml").iter().map(engine).collect();
    let own = tested.iter().filter(|engine| !engine.contains("dyn ")).count();
    assert!(own > 20, "only {own} engines are compiled for one combination");
    for (scheme, _) in PRESETS {
        for profile in ["", "compat = \"hpcc-sim\"\n"] {
            let text = format!(
                "scheme = \"{scheme}\"\n{profile}[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"100 Gbps\"\n\
                 delay = \"1 us\"\n[run]\nduration = \"1 us\"\n"
            );
            // Not every scheme is valid in the profile.
            for run in load_str(&text, Path::new("."), "test", &[], None).into_iter().flat_map(|plan| plan.runs) {
                assert!(tested.contains(engine(&run)), "{scheme} {profile}: {}", engine(&run));
            }
        }
    }
}
