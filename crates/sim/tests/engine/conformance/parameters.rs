//! Tries every key of `[switch]` and `[host]` in the JSON schema. Misspelt keys must be refused by name. Extreme values
//! must be refused by place, key and value, or give a network that runs in bounded memory.

use crate::conformance::registry::{NOTHING, Subject, each, schemes};
use backwater_scenario::{Error, scenario_schema};
use backwater_sim::{Simulation, Watch};
use serde_json::Value as Json;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

/// Limit of allocations for reading, building and running: hundreds of times the need of any shipped scheme with three
/// hosts.
const MEMORY: u64 = 1 << 30;

/// A key and the values to try, as TOML.
struct Leaf {
    key: String,
    values: Vec<String>,
}

/// Returns the keys of the tables for switches and hosts, and the tables.
fn keys() -> (Vec<Leaf>, Vec<String>) {
    let schema = scenario_schema();
    let (mut leaves, mut tables) = (Vec::new(), Vec::new());
    for table in ["switch", "host"] {
        walk(&schema, &schema["properties"][table], table, &mut leaves, &mut tables);
    }
    (leaves, tables)
}

fn walk(root: &Json, schema: &Json, key: &str, leaves: &mut Vec<Leaf>, tables: &mut Vec<String>) {
    let mut add = |values: &[&str]| {
        leaves.push(Leaf { key: key.into(), values: values.iter().map(|value| value.to_string()).collect() });
    };
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return match name {
            "Duration" => {
                add(&["\"0 s\"", "\"-1 us\"", "\"1 ps\"", "\"1000000 s\"", "\"1000000000000000000 s\"", "nan"])
            }
            "Bytes" | "Buffer" => add(&["\"0 B\"", "\"-1 B\"", "\"1 B\"", "\"1 TiB\"", "\"1000000000000000000 B\""]),
            "BitsPerSec" => add(&["\"0 bps\"", "\"-1 bps\"", "\"1 bps\"", "\"1000000000000000000 bps\""]),
            "Window" => add(&["\"0 B\"", "\"-1 B\"", "\"1000000000000000000 B\"", "\"nonsense\""]),
            _ => walk(root, &root["$defs"][name], key, leaves, tables),
        };
    }
    if let Some(choices) = schema.get("oneOf").or(schema.get("anyOf")).and_then(Json::as_array) {
        let tables_and_units =
            choices.iter().filter(|choice| choice["type"] != "null" && choice.get("const").is_none());
        tables_and_units.for_each(|choice| walk(root, choice, key, leaves, tables));
        return leaves.push(Leaf { key: key.into(), values: vec!["\"nonsense\"".into(), "-1".into(), "nan".into()] });
    }
    let kind = match &schema["type"] {
        Json::Array(kinds) => kinds[0].clone(),
        kind => kind.clone(),
    };
    match kind.as_str().unwrap_or_default() {
        "object" => {
            tables.push(key.into());
            for (name, of_name) in schema["properties"].as_object().into_iter().flatten() {
                walk(root, of_name, &format!("{key}.{name}"), leaves, tables);
            }
        }
        "integer" => {
            let most = schema["maximum"].as_f64().map_or("9223372036854775807".into(), |most| format!("{most:.0}"));
            add(&["0", "1", "-1", &most, "1000000000000000000", "nan"]);
        }
        "number" => add(&["0.0", "-1.0", "1e-18", "1e18", "nan", "inf", "-inf"]),
        "boolean" => add(&["true", "false", "0", "\"nonsense\""]),
        "array" => add(&["[]", "[-1]", "[\"nonsense\"]", "[1000000000000000000]"]),
        _ => add(&["\"\"", "\"nonsense\"", "-1"]),
    }
}

/// Whether the error names the place, the key and the value.
fn is_plain(error: &Error) -> bool {
    let said = error.value.is_some() || error.problem.starts_with("missing");
    !error.place.is_empty() && !error.key.is_empty() && said && error.to_string().contains(&error.key)
}

#[test]
fn unknown_keys_are_refused_by_name() {
    let (leaves, tables) = keys();
    assert!(leaves.len() > 60 && tables.len() > 6, "{} keys in {} tables", leaves.len(), tables.len());
    let neighbours = leaves.iter().map(|leaf| format!("{}_", leaf.key));
    let unknown: Vec<String> = tables.iter().map(|table| format!("{table}.nonsense")).chain(neighbours).collect();
    each(schemes(), |subject| {
        for key in &unknown {
            let error = subject.with(&format!("{key} = 7")).load(NOTHING).expect_err(key);
            // Where a key may hold a table or another type, the error names the table with the unknown key.
            let within =
                |rest: &str| error.value.as_ref().is_some_and(|value| value.contains(rest.trim_start_matches('.')));
            let named = error.key == *key || key.strip_prefix(&error.key).is_some_and(within);
            assert!(named || error.problem.starts_with("missing"), "{key}: {error}");
            assert!(error.place.starts_with("test:") && is_plain(&error), "{key}: {error}");
        }
    });
}

#[test]
fn extreme_values_are_refused_or_run() {
    let (leaves, _) = keys();
    each(schemes(), |subject| {
        let mut wrong = Vec::new();
        for (key, value) in leaves.iter().flat_map(|leaf| leaf.values.iter().map(|value| (&leaf.key, value))) {
            let (tried, took) = with_memory(|| catch_unwind(AssertUnwindSafe(|| attempt(subject, key, value))));
            match tried {
                Err(_) => wrong.push(format!("{key} = {value}: panics")),
                Ok(Err(error)) if !is_plain(&error) => wrong.push(format!("{key} = {value}: {error}")),
                Ok(_) if took > MEMORY => wrong.push(format!("{key} = {value}: allocates {took} B")),
                Ok(_) => {}
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", subject.name);
    });
}

fn attempt(subject: &Subject, key: &str, value: &str) -> Result<(), Error> {
    let scenario = subject.with(&format!("{key} = {value}")).load(NOTHING)?;
    Simulation::new(&scenario, 1).run_any(&Watch::default());
    Ok(())
}

/// Calls `f`. Returns its result and the bytes that its thread allocated meanwhile. Tests on other threads do not count.
fn with_memory<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let mut result = None;
    let counted = allocation_counter::measure(|| result = Some(f()));
    (result.expect("it was called"), counted.bytes_total)
}

/// A simulation counts, so it runs on the thread that asks for it. What another thread allocates beside it does not.
#[test]
fn memory_of_a_run_is_its_own() {
    let run = |beside: &dyn Fn()| {
        with_memory(|| {
            beside();
            attempt(&schemes()[0], "seed", "1").expect("a valid scenario");
        })
    };
    let (_, alone) = run(&|| {});
    assert!((10_000..MEMORY).contains(&alone), "{alone} B");
    let (asks, asked) = mpsc::channel::<()>();
    let (tells, told) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        while asked.recv().is_ok() {
            drop(black_box(Vec::<u8>::with_capacity(2 * MEMORY as usize)));
            tells.send(()).expect("the test waits");
        }
    });
    let (_, beside) = run(&|| {
        asks.send(()).expect("the other thread runs");
        told.recv().expect("the other thread has allocated");
    });
    assert!(beside < alone + 100_000, "{beside} B beside a thread that allocates, {alone} B alone");
    drop(asks);
    other.join().expect("the other thread ends");
}
