//! Names for keys of workloads, so that users need no indices: `incast.degree` for `workload.1.degree`, or `load` where
//! one workload has it.

use crate::document::{Node, Table, Value};
use crate::error::Error;
use crate::schema;
use crate::suggest::hint;
use std::collections::BTreeSet;

/// Replaces a name by a full key. A first part that is no key of a scenario is the class or the kind of a workload, or
/// a key of one; any other key stays as it is.
///
/// # Errors
/// If several workloads match, or the key looks like a misspelt name.
pub(crate) fn full(root: &Table, mut keys: Vec<String>, dotted: &str, node: &Node) -> Result<Vec<String>, Error> {
    let Some(Value::Array(workloads)) = root.get("workload").map(|node| &node.value) else { return Ok(keys) };
    if is_key(&keys[0]) {
        return Ok(keys);
    }
    let known: Vec<(usize, &Table)> = workloads.iter().enumerate().filter_map(|(i, w)| Some((i, w.table()?))).collect();
    let text = |table: &&Table, key: &str| table.get(key).and_then(Node::text).map(String::from);
    let whose = |wanted: &dyn Fn(&Table) -> bool| -> Vec<usize> {
        known.iter().filter(|(_, table)| wanted(table)).map(|(i, _)| *i).collect()
    };
    let meant = if keys.len() == 1 {
        whose(&|table| table.contains_key(&keys[0]))
    } else {
        let of_class = whose(&|table| text(&table, "class").or(text(&table, "kind")).as_ref() == Some(&keys[0]));
        if of_class.is_empty() { whose(&|table| text(&table, "kind").as_ref() == Some(&keys[0])) } else { of_class }
    };
    match meant[..] {
        [] => return slip(&known, &keys, dotted, node).map_or(Ok(keys), Err),
        [i] => {
            if keys.len() > 1 {
                keys.remove(0);
            }
            keys.splice(0..0, ["workload".into(), i.to_string()]);
        }
        _ => {
            let rest = if keys.len() == 1 { &keys[..] } else { &keys[1..] };
            let each: Vec<String> = meant.iter().map(|i| call(known[*i].1, &known, *i, &rest.join("."))).collect();
            let problem = format!("{} workloads have it; expected {}", meant.len(), each.join(" or "));
            return Err(node.error(dotted, problem));
        }
    }
    Ok(keys)
}

/// Makes the error of a misspelt name: a key close to a workload's name or to a key of one, and to no key at the top.
fn slip(known: &[(usize, &Table)], keys: &[String], dotted: &str, node: &Node) -> Option<Error> {
    let at_top = schema::of_runs()["properties"].as_object().expect("an object's").keys();
    if !hint(&keys[0], at_top.map(String::as_str)).is_empty() {
        return None;
    }
    let named = |table: &Table, key: &str| table.get(key).and_then(Node::text).map(String::from);
    let (verb, names): (&str, BTreeSet<String>) = match keys {
        [_] => ("have", known.iter().flat_map(|(_, table)| table.keys().cloned()).collect()),
        _ => (
            "are",
            known.iter().flat_map(|(_, table)| [named(table, "class"), named(table, "kind")]).flatten().collect(),
        ),
    };
    let hint = hint(&keys[0], names.iter().map(String::as_str));
    let names = names.iter().cloned().collect::<Vec<_>>().join(", ");
    (!hint.is_empty()).then(|| node.error(dotted, format!("unknown key; {hint}the workloads {verb} {names}")))
}

/// Name of one workload's key: by its class if no other has it, else by its number.
fn call(table: &Table, known: &[(usize, &Table)], i: usize, rest: &str) -> String {
    let class = |table: &Table| table.get("class").or(table.get("kind")).and_then(Node::text).map(String::from);
    match class(table) {
        Some(name) if known.iter().filter(|(_, other)| class(other).as_ref() == Some(&name)).count() == 1 => {
            format!("{name}.{rest}")
        }
        _ => format!("workload.{i}.{rest}"),
    }
}

/// Whether a scenario has this key at its top level.
pub(crate) fn is_key(key: &str) -> bool {
    key.is_empty() || key == schema::COMPUTE || schema::of_runs()["properties"].get(key).is_some()
}
