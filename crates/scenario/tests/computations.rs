//! Files of computations: defaults, allowed requests, and refusals by place, value and allowed values.

use std::fs;
use std::path::PathBuf;

use backwater_scenario::{Computations, Error, Plan, Work, file_schema, load, load_any};

const KINDS: &str = r##"{
    "line": {
        "description": "Points of a line.",
        "parameters": {
            "slope": { "type": "number", "exclusiveMinimum": 0, "maximum": 10 },
            "steps": { "type": "integer", "minimum": 1, "maximum": 5, "default": 2 },
            "rtt": { "$ref": "#/$defs/Duration", "exclusiveMinimum": 0, "default": "8 us" }
        },
        "results": ["y", "z"]
    },
    "mean": {
        "description": "Mean of flow sizes.",
        "parameters": { "sizes": { "$ref": "#/$defs/Sizes" } },
        "results": ["mean"]
    }
}"##;

const GOOD: &str = r#"name = "line"
description = "A line."

[compute]
kind = "line"
slope = 1.5

[sweep]
"compute.steps" = [1, 2, 5]

[[variant]]
name = "A"

[[variant]]
name = "B"
"compute.rtt" = "12 us"

[figure]
panels = [{ label = "y", value = { result = "y" }, marks = { "BDP" = 2 } }]

[[expect]]
claim = "line.1"
kind = "between"
variant = "A"
value = { quotient = [{ result = "y" }, { scenario = "compute.rtt" }] }
low = 0
"#;

fn kinds() -> Computations {
    Computations::from_json(KINDS).expect("a registry")
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("backwater-compute-{}-{name}.toml", std::process::id()));
    fs::write(&path, text).expect("a temporary file");
    path
}

fn plan(name: &str, text: &str, sets: &[&str]) -> Result<Plan<Work>, Error> {
    let path = file(name, text);
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let plan = load_any(&path, &sets, None, &kinds());
    fs::remove_file(path).expect("it was written");
    plan
}

#[test]
fn what_is_left_open_is_filled_in() {
    let plan = plan("filled", GOOD, &["seed=7"]).expect("valid");
    let labels: Vec<&str> = plan.runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["A.steps=1", "A.steps=2", "A.steps=5", "B.steps=1", "B.steps=2", "B.steps=5"]);
    let json = serde_json::to_value(&plan.runs[5].scenario).expect("plain data");
    let wanted = r#"{"name":"line","description":"A line.","seed":7,
        "compute":{"kind":"line","slope":1.5,"steps":5,"rtt":"12 us"}}"#;
    assert_eq!(json, serde_json::from_str::<serde_json::Value>(wanted).expect("JSON"));
    assert_eq!(plan.runs[0].params["variant"], "A");
}

#[test]
fn a_file_of_sizes_is_read_where_it_is_named() {
    let sizes = file("sizes", "size_bytes,cdf\n100,0.5\n200,1\n");
    let text = |table: &str| format!("[compute]\nkind = \"mean\"\nsizes = {{ {table} }}\n");
    let named = format!("file = {:?}", sizes.file_name().expect("a name"));
    let good = plan("points", &text(&named), &[]).expect("valid");
    let json = serde_json::to_value(&good.runs[0].scenario).expect("plain data");
    assert_eq!(json["compute"]["sizes"]["points"]["points"][1][0], 200.0);
    assert_eq!(good.runs[0].label, "mean");
    fs::write(&sizes, "size_bytes,cdf\n100,0.5\n50,1\n").expect("the same file");
    let error = plan("falling", &text(&named), &[]).expect_err("sizes that fall").to_string();
    assert!(error.contains(":3: size 50 after 100"), "{error}");
    fs::remove_file(sizes).expect("it was written");
    let error = plan("unknown", &text("table = \"googel_rpc\""), &[]).expect_err("no such table").to_string();
    for part in ["toml:3: compute.sizes.table = \"googel_rpc\"", "google_rpc", "expected one of"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn refusals_name_place_value_and_what_was_allowed() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("kind = \"line\"", "kind = \"lime\"", &["toml:5: compute.kind = \"lime\"", "\"line\", \"mean\""]),
        ("slope = 1.5", "slope = 0", &["toml:6: compute.slope = 0", "a number, above 0 and at most 10"]),
        ("slope = 1.5", "slope = \"steep\"", &["compute.slope = \"steep\"", "expected a number"]),
        ("slope = 1.5", "", &["compute.slope: missing: expected a number"]),
        ("slope = 1.5", "slope = 1\nslop = 2", &["toml:7: compute.slop = 2: unknown key", "slope"]),
        ("[1, 2, 5]", "[1, 6]", &["compute.steps = 6: expected a whole number from 1 to 5", "A.steps=6"]),
        ("\"12 us\"", "\"12 MB\"", &["compute.rtt = \"12 MB\""]),
        ("\"12 us\"", "\"0 us\"", &["compute.rtt = \"0 us\"", "above 0"]),
        ("description", "scheme = \"bfc\"\ndescription", &["toml:2: scheme = \"bfc\": unknown key", "compute, descr"]),
        ("{ result = \"y\" }, { sc", "{ result = \"x\" }, { sc", &["result = \"x\": no such result", "\"y\", \"z\""]),
        ("compute.rtt\" }", "compute.slop\" }", &["no run has a number there"]),
        ("{ result = \"y\" }, { sc", "{ fct = \"mean\" }, { sc", &["a computation has no fct", "result or scenario"]),
        ("variant = \"A\"", "variant = \"C\"", &["no such variant", "\"A\", \"B\""]),
        ("\"BDP\" = 2", "\"BDP\" = \"far\"", &["figure.panels.0.marks.BDP = \"far\"", "expected a number"]),
    ];
    for (i, (old, new, parts)) in cases.iter().enumerate() {
        assert!(GOOD.contains(old), "{old}");
        let error = plan(&format!("case{i}"), &GOOD.replacen(old, new, 1), &[]).expect_err(new).to_string();
        for part in *parts {
            assert!(error.contains(part), "{new}: {part:?} in {error}");
        }
    }
}

#[test]
fn a_network_has_no_results_and_no_computation_is_simulated() {
    let network = r#"scheme = "bfc"
        [topology]
        kind = "single-switch"
        hosts = 2
        rate = "1 Gbps"
        delay = "1 us"
        [[workload]]
        kind = "long-lived"
        count = 1
        to = ["host0"]
        [run]
        duration = "1 us"
        [[expect]]
        claim = "a.1"
        kind = "between"
        low = 0
        variant = "bfc"
        value = { result = "y" }
    "#;
    let error = plan("network", network, &[]).expect_err("not a computation").to_string();
    assert!(error.contains("only a computation has results"), "{error}");
    let path = file("alone", GOOD);
    let error = load(&path, &[], None).expect_err("nothing can be computed here").to_string();
    fs::remove_file(path).expect("it was written");
    assert!(error.contains("toml:4: compute") && error.contains("expected a network to simulate"), "{error}");
}

#[test]
fn the_schema_has_every_kind() {
    let schema = file_schema(&kinds());
    let forms = schema["properties"]["compute"]["oneOf"].as_array().expect("a choice");
    assert_eq!(forms.len(), 2);
    assert_eq!(forms[0]["properties"]["kind"]["const"], "line");
    assert_eq!(forms[0]["required"], serde_json::json!(["kind", "slope"]));
}
