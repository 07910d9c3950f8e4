//! Registered schemes and transports, as first lines of scenario files.

use crate::common::cases;
use crate::under_test;
use backwater_scenario::model::Backpressure;
use backwater_scenario::{Error, Scenario, load_str, scenario_schema};
use backwater_schemes::registry::PRESETS;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A scheme or a transport under test.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name in messages.
    pub name: String,
    /// Keys at the top of a scenario file, before any table.
    top: String,
}

impl Subject {
    /// Returns the scenario with `rest` below the keys; `Err` if they do not fit together.
    pub fn load(&self, rest: &str) -> Result<Scenario, Error> {
        let text = format!("{}{rest}", self.top);
        under_test::ready();
        Ok(load_str(&text, Path::new("."), "test", &[], None)?.runs.remove(0).scenario)
    }

    /// Returns the scenario with `rest` below the keys.
    pub fn scenario(&self, rest: &str) -> Scenario {
        self.load(rest).unwrap_or_else(|error| panic!("{}: {error}\n{rest}", self.name))
    }

    /// Returns the subject with one more key at the top.
    pub fn with(&self, key: &str) -> Subject {
        Subject { name: format!("{}, {key}", self.name), top: format!("{}{key}\n", self.top) }
    }
}

/// Returns every scheme under test as it ships.
pub fn schemes() -> Vec<Subject> {
    under_test::schemes().into_iter().map(named).collect()
}

fn named(scheme: &str) -> Subject {
    Subject { name: scheme.to_string(), top: format!("scheme = \"{scheme}\"\n") }
}

/// Returns the first of these values, and all of them in `make test-long` and for a scheme of a user's own.
pub fn everyday<T, const N: usize>(values: [T; N]) -> impl Iterator<Item = T> {
    let count = if under_test::ALL { cases(1, N as u64) as usize } else { N };
    values.into_iter().take(count)
}

/// Returns every scheme in every profile that supports it.
pub fn profiled() -> Vec<Subject> {
    let schema = scenario_schema();
    let profiles = schema["$defs"]["Compat"]["oneOf"].as_array().expect("the names of profiles");
    let mut subjects = Vec::new();
    for profile in profiles.iter().map(|profile| &profile["const"]) {
        let inside = schemes().into_iter().map(|scheme| scheme.with(&format!("compat = {profile}")));
        let before = subjects.len();
        subjects.extend(inside.filter(|subject| subject.load(NOTHING).is_ok()));
        assert!(subjects.len() > before || !under_test::ALL, "the profile {profile} is for some scheme");
    }
    subjects
}

/// Returns every transport under test over each kind of backpressure that it supports, on the switches of the first scheme that
/// allows it.
pub fn transports() -> Vec<Subject> {
    let mut subjects = Vec::new();
    let registered = PRESETS.iter().map(|(name, _)| *name);
    let switches: Vec<&str> = under_test::schemes().into_iter().chain(registered).collect();
    for transport in under_test::transports() {
        let key = format!("host.transport = {}", serde_json::to_string(&transport).expect("a name"));
        let mut over: Vec<Backpressure> = Vec::new();
        for scheme in &switches {
            let subject = named(scheme).with("host.nic_marks = false").with(&key);
            // Metadata may make packets longer than a quantum.
            let wide = subject.with("switch.quantum = \"2 KB\"");
            let subject = if subject.load(NOTHING).is_ok() { subject } else { wide };
            let Ok(scenario) = subject.load(NOTHING) else { continue };
            if !over.contains(&scenario.switch.backpressure) {
                over.push(scenario.switch.backpressure);
                subjects.push(subject);
            }
        }
        assert!(over.len() >= 2, "{transport:?} goes over two kinds of switch at least, not {over:?} alone");
    }
    subjects
}

/// Returns all schemes and transports.
pub fn all() -> Vec<Subject> {
    schemes().into_iter().chain(transports()).collect()
}

/// Checks every subject, even after one has failed.
pub fn each(subjects: Vec<Subject>, check: impl Fn(&Subject)) {
    let failed = |subject: &&Subject| catch_unwind(AssertUnwindSafe(|| check(subject))).is_err();
    let failed: Vec<&str> = subjects.iter().filter(failed).map(|subject| subject.name.as_str()).collect();
    assert!(failed.is_empty(), "said above: {}", failed.join("; "));
}

/// The smallest scenario: two flows into one port for five microseconds.
pub const NOTHING: &str = "[topology]\nkind = \"single-switch\"\nhosts = 3\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
                           [run]\nduration = \"5 us\"\nwarmup = \"0 s\"\ndrain = 1.0\n\
                           [[workload]]\nkind = \"long-lived\"\ncount = 2\nto = [\"host2\"]\n";
