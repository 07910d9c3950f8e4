//! Every shipped scenario file loads at each of its scales and reads back from its JSON. Files of computations are left
//! out: Python knows them, and `tests/test_compute.py` loads them.

#[path = "../../sim/tests/engine/common/cases.rs"]
mod cases;

use std::fs;
use std::path::{Path, PathBuf};

use std::collections::BTreeSet;

use backwater_scenario::{Plan, from_json, load};
use cases::cases;
use serde_json::Value;

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("experiments ship with the source") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") && !stands_beside(&path) {
            found.push(path);
        }
    }
}

/// Whether it has the claims of a scenario or the programs of a lab, and is no scenario itself.
fn stands_beside(path: &Path) -> bool {
    let name = path.to_str().expect("names are of letters");
    [".claims.toml", ".programs.toml"].iter().any(|end| name.ends_with(end))
}

/// Scenario files of networks; their claims files are read with them.
fn experiments() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut found);
    let computed = |path: &PathBuf| load(path, &[ONE_SEED.into()], None).is_err_and(|error| error.key == "compute");
    found.retain(|path| !computed(path));
    assert!(found.len() >= 8, "{found:?}");
    found
}

/// Runs of other seeds load as the first does.
const ONE_SEED: &str = "seeds.count=1";

#[test]
fn every_experiment_loads_at_every_scale() {
    for path in experiments() {
        let text = fs::read_to_string(&path).expect("readable");
        let scales = ["smoke", "quick", "paper"].into_iter().filter(|scale| text.contains(&format!("[scale.{scale}")));
        for scale in scales.map(Some).chain([None]) {
            let plan = load(&path, &[ONE_SEED.into()], scale).unwrap_or_else(|error| panic!("{scale:?}: {error}"));
            assert!(!plan.name.is_empty() && !plan.description.is_empty(), "{}", path.display());
            for run in plan.runs.iter().step_by(cases(5, 1) as usize) {
                let json = serde_json::to_string(&run.scenario).expect("a scenario is plain data");
                let again =
                    from_json(&json).unwrap_or_else(|error| panic!("{} {}: {error}", path.display(), run.label));
                assert_eq!(again, run.scenario, "{} {}", path.display(), run.label);
            }
        }
    }
}

#[test]
fn what_judges_an_experiment_stands_beside_it() {
    for path in experiments() {
        let text = fs::read_to_string(&path).expect("readable");
        let plan = load(&path, &[ONE_SEED.into()], None).expect("it loads");
        let name = path.display();
        for key in ["[[expect]]", "[without]", "\npublished = ", "\nmissing = ", "\nfinding = "] {
            assert!(!text.contains(key), "{name}: {} belongs into its claims file", key.trim());
        }
        assert!(plan.expect.is_empty() || text.contains("extends = ") || claims_of(&path).is_file(), "{name}");
    }
}

#[test]
fn every_file_of_claims_or_programs_has_its_scenario() {
    let mut all = Vec::new();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for paper in fs::read_dir(shipped).expect("experiments ship with the source") {
        let paper = paper.expect("a directory entry").path();
        let entries = fs::read_dir(&paper).into_iter().flatten();
        all.extend(entries.map(|entry| entry.expect("a directory entry").path()).filter(|path| stands_beside(path)));
    }
    assert!(all.len() > 90, "{}", all.len());
    for beside in all {
        let name = beside.with_extension("").with_extension("toml");
        assert!(name.is_file(), "{}", name.display());
    }
}

fn claims_of(path: &Path) -> PathBuf {
    path.with_extension("claims.toml")
}

#[test]
fn every_experiment_can_be_swept_along_an_axis_that_it_has_not() {
    let along = |path: &Path, axis: &str| {
        load(path, &[ONE_SEED.into(), axis.into()], None).unwrap_or_else(|error| panic!("{error}"))
    };
    for path in experiments().into_iter().step_by(cases(4, 1) as usize) {
        let own = load(&path, &[ONE_SEED.into()], None).expect("it loads");
        let swept = along(&path, "sweep.run.origin=[\"0 s\", \"1 us\"]");
        assert_eq!(swept.runs.len(), 2 * own.runs.len(), "{}", path.display());
        // Expectations and figures belong to the file's own runs.
        assert!(
            swept.expect.is_empty()
                && swept.figure.is_null()
                && swept.without.as_object().is_none_or(|of| of.is_empty()),
            "{}",
            path.display()
        );
    }
    // More values of an existing axis keep them.
    let fig12 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/bfc/fig12.toml");
    let more = along(&fig12, "sweep.load=[0.5, 0.6, 0.9]");
    assert!(!more.expect.is_empty() && !more.figure.is_null());
    // Schemes on an axis replace variants that choose a scheme.
    let fig9 = fig12.with_file_name("fig9.toml");
    let schemes = along(&fig9, "sweep.scheme=[\"bfc\", \"dctcp\"]");
    let labels: BTreeSet<&str> = schemes.runs.iter().map(|run| run.label.split('.').next().expect("a part")).collect();
    assert_eq!(labels, BTreeSet::from(["bfc", "dctcp"]));
}

/// The keys that each kind of expectation needs, as `experiments/README.md` lists them.
const KINDS: [(&str, &[&str]); 11] = [
    ("ratio", &["numerator", "denominator"]),
    ("between", &["value"]),
    ("runs", &["value"]),
    ("approx", &["value", "expected", "tolerance"]),
    ("equals", &["value", "expected"]),
    ("ordering", &["value", "chains"]),
    ("knee", &["value", "along"]),
    ("up-to", &["numerator", "denominator", "times"]),
    ("fact", &[]),
    ("refers", &["to"]),
    ("not-run", &["reason"]),
];

/// Other keys of a knee: the level that it rises to, and the place.
const KNEE: [&str; 5] = ["threshold", "factor", "relative_to", "expected", "order"];

/// Keys that any expectation may have besides.
const COMMON: [&str; 21] = [
    "claim",
    "metric",
    "without",
    "fact",
    "amended",
    "to",
    "says",
    "kind",
    "scales",
    "where",
    "over",
    "each",
    "band",
    "note",
    "variant",
    "low",
    "high",
    "at_least",
    "at_most",
    "slack",
    "transient",
];

#[test]
fn every_expectation_is_in_the_language() {
    let mut claims = BTreeSet::new();
    for path in experiments() {
        let plan = load(&path, &[ONE_SEED.into()], None).unwrap_or_else(|error| panic!("{error}"));
        for expect in &plan.expect {
            let claim = expect["claim"].as_str().expect("an expectation has a claim");
            assert!(claims.insert(claim.to_string()), "{claim} occurs twice");
            // tests/test_claim_ids.py checks the source of each claim and its numbers.
            check(expect, &plan, claim);
        }
    }
}

fn check(expect: &Value, plan: &Plan, claim: &str) {
    let kind = expect["kind"].as_str().unwrap_or("");
    let needed = KINDS.iter().find(|(name, _)| *name == kind).unwrap_or_else(|| panic!("{claim}: kind {kind:?}")).1;
    for key in ["metric", "says"].iter().chain(needed) {
        assert!(expect.get(key).is_some(), "{claim}: {kind} needs {key}");
    }
    for key in expect.as_object().expect("a table").keys() {
        let known = COMMON.contains(&key.as_str()) || needed.contains(&key.as_str());
        assert!(known || kind == "knee" && KNEE.contains(&key.as_str()), "{claim}: {kind} has no {key}");
    }
    if kind == "knee" {
        let has = |keys: &[&str]| keys.iter().all(|key| expect.get(key).is_some());
        assert!(has(&["threshold"]) != has(&["factor", "relative_to"]), "{claim}: one thing that the value rises to");
        assert!(has(&["low", "high"]) != has(&["expected"]), "{claim}: one place where it does");
    }
    let missing = plan.figure["missing"].as_array().expect("a figure says what is missing");
    let ran = plan.runs.iter().map(|run| &run.params["variant"]);
    let variants: BTreeSet<&str> = ran.chain(missing).filter_map(Value::as_str).collect();
    let swept: BTreeSet<&str> = plan.runs.iter().flat_map(|run| run.params.keys().map(String::as_str)).collect();
    let mut named = Vec::new();
    names(expect, &mut named);
    for name in named {
        assert!(variants.contains(name), "{claim}: {name} is neither a variant nor missing");
    }
    let wheres = expect["where"].as_object().into_iter().flat_map(|table| table.keys().map(String::as_str));
    for key in wheres.chain(expect["along"].as_str()) {
        assert!(swept.contains(key), "{claim}: {key} is not swept");
    }
}

/// Collects every variant that an expectation names.
fn names<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                match key.as_str() {
                    "variant" | "active_flows_distance" | "chains" | "order" => texts(value, found),
                    _ => names(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        value => found.extend(value.as_str()),
    }
}
