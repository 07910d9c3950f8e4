//! Merges of documents, and values set by a dotted key.

use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::named;
use crate::text::digits;

/// Tables in which one key is the choice: another key replaces the choice instead of joining it.
const CHOICES: [&str; 2] = ["sizes", "arrivals"];

/// Most parts of a dotted key. No key of a scenario has half as many; TOML itself may be nested 80 deep.
const DEPTH_MAX: usize = 32;

/// Lays `over` on `base`: tables are merged key by key, other values are replaced.
///
/// A table that names another `kind` replaces the whole table, and so does another choice of `sizes` or `arrivals`.
pub(crate) fn merge(base: &mut Table, over: Table) {
    for (key, node) in over {
        match base.get_mut(&key) {
            Some(below) if joins(&key, below, &node) => {
                let place = node.place;
                if let (Value::Table(below), Value::Table(above)) = (&mut below.value, node.value) {
                    merge(below, above);
                }
                below.place = place;
            }
            _ => {
                base.insert(key, node);
            }
        }
    }
}

fn joins(key: &str, below: &Node, above: &Node) -> bool {
    let (Some(old), Some(new)) = (below.table(), above.table()) else { return false };
    if CHOICES.contains(&key) {
        return new.keys().eq(old.keys());
    }
    match (old.get("kind").and_then(Node::text), new.get("kind").and_then(Node::text)) {
        (Some(old), Some(new)) => old == new,
        _ => true,
    }
}

/// Splits a dotted key; a part with dots in it is in double quotes.
pub(crate) fn path(dotted: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in dotted.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => parts.last_mut().expect("starts with one part").push(c),
        }
    }
    parts.iter().map(|part| part.trim().to_string()).collect()
}

/// Splits a dotted key of this document, after replacing a [name](named) by the key that it stands for.
///
/// # Errors
/// If the name stands for several keys.
pub(crate) fn full_path(root: &Table, dotted: &str, node: &Node) -> Result<Vec<String>, Error> {
    named::full(root, path(dotted), dotted, node)
}

/// Flattens a table of overrides into dotted keys, so that `switch.queues = 3` and `"switch.queues" = 3` mean the same.
///
/// A table under a choice (`sizes`, `arrivals`) and an empty table are values.
pub(crate) fn flatten(table: &Table) -> Vec<(String, Node)> {
    let mut flat = Vec::new();
    for (key, node) in table {
        let last = path(key).pop().unwrap_or_default();
        match &node.value {
            Value::Table(inner)
                if !inner.is_empty() && !CHOICES.contains(&last.as_str()) && !inner.contains_key("kind") =>
            {
                flat.extend(flatten(inner).into_iter().map(|(rest, node)| (format!("{key}.{rest}"), node)));
            }
            _ => flat.push((key.clone(), node.clone())),
        }
    }
    flat
}

/// Sets the value at a dotted key, or at the key that a name stands for, and makes missing tables.
///
/// # Errors
/// If the key has too many parts, runs through something that is not a table or a list, or past the end of a list; or
/// if it is a name for several keys.
pub(crate) fn assign(root: &mut Table, dotted: &str, node: Node) -> Result<(), Error> {
    let keys = full_path(root, dotted, &node)?;
    if keys.iter().any(String::is_empty) {
        return Err(
            node.error(dotted, "a dotted key is names joined by dots, such as switch.queues or workload.0.load")
        );
    }
    if keys.len() > DEPTH_MAX {
        let problem = format!("a key of {} parts: expected at most {DEPTH_MAX}", keys.len());
        return Err(node.error(dotted, problem));
    }
    assign_in(root, &keys, 0, node, dotted)
}

/// Sets `keys[done..]` in a table.
fn assign_in(table: &mut Table, keys: &[String], done: usize, node: Node, dotted: &str) -> Result<(), Error> {
    let (key, rest) = keys[done..].split_first().expect("a dotted key has a last part");
    if rest.is_empty() || CHOICES.contains(&key.as_str()) {
        // `sizes.fixed = "1 KB"` is `sizes = { fixed = "1 KB" }`.
        let place = node.place.clone();
        let value = rest.iter().rev().fold(node, |inner, key| nest(key, inner, &place));
        merge(table, Table::from([(key.clone(), value)]));
        return Ok(());
    }
    let empty = || Node { value: Value::Table(Table::new()), place: node.place.clone() };
    assign_below(table.entry(key.clone()).or_insert_with(empty), keys, done + 1, node, dotted)
}

/// Sets `keys[done..]` in the node at `keys[..done]`: a table by key, a list by index.
fn assign_below(at: &mut Node, keys: &[String], done: usize, node: Node, dotted: &str) -> Result<(), Error> {
    let kind = at.kind();
    match &mut at.value {
        Value::Table(table) => assign_in(table, keys, done, node, dotted),
        Value::Array(items) => {
            let count = items.len();
            let Some(slot) = digits::<usize>(&keys[done]).and_then(|i| items.get_mut(i)) else {
                let walked = keys[..=done].join(".");
                let entries =
                    if count == 0 { "it is empty".into() } else { format!("its entries are 0 to {}", count - 1) };
                return Err(node.error(dotted, format!("{walked} is not an entry of the list: {entries}")));
            };
            if done + 1 == keys.len() {
                *slot = node;
                return Ok(());
            }
            assign_below(slot, keys, done + 1, node, dotted)
        }
        _ => Err(node.error(dotted, format!("{} is {kind} and has no keys", keys[..done].join(".")))),
    }
}

fn nest(key: &str, inner: Node, place: &Place) -> Node {
    Node { value: Value::Table(Table::from([(key.to_string(), inner)])), place: place.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn table(text: &str) -> Table {
        match Node::from_toml(text, "t", Path::new(".")).expect("valid TOML").value {
            Value::Table(table) => table,
            _ => unreachable!("a document is a table"),
        }
    }

    fn show(table: Table) -> String {
        Node { value: Value::Table(table), place: Place::Json }.to_json().to_string()
    }

    #[test]
    fn tables_merge_and_lists_replace() {
        let mut base = table("a = { b = 1, c = [1, 2] }\nd = 1");
        merge(&mut base, table("a = { c = [3] }\ne = 2"));
        assert_eq!(show(base), r#"{"a":{"b":1,"c":[3]},"d":1,"e":2}"#);
    }

    #[test]
    fn another_kind_replaces_the_table() {
        let mut base = table("topology = { kind = \"leaf-spine\", leaves = 2 }");
        merge(&mut base, table("topology = { leaves = 3 }"));
        merge(&mut base, table("topology = { kind = \"leaf-spine\", spines = 2 }"));
        assert_eq!(show(base.clone()), r#"{"topology":{"kind":"leaf-spine","leaves":3,"spines":2}}"#);
        merge(&mut base, table("topology = { kind = \"single-switch\", hosts = 2 }"));
        assert_eq!(show(base), r#"{"topology":{"hosts":2,"kind":"single-switch"}}"#);
    }

    #[test]
    fn another_choice_of_sizes_replaces_it() {
        let mut base = table("[[workload]]\nsizes = { table = \"google_rpc\" }");
        let value = Node::from_set("\"2 KB\"", Place::Json);
        assign(&mut base, "workload.0.sizes.fixed", value).expect("the path exists");
        assert_eq!(show(base), r#"{"workload":[{"sizes":{"fixed":"2 KB"}}]}"#);
    }

    #[test]
    fn quoted_and_bare_dotted_keys_are_the_same() {
        let bare = flatten(&table("switch.queues = 3\nworkload.0.load = 0.5"));
        let quoted = flatten(&table("\"switch.queues\" = 3\n\"workload.0.load\" = 0.5"));
        let keys = |flat: Vec<(String, Node)>| flat.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(bare), keys(quoted));
    }

    #[test]
    fn a_key_past_the_end_of_a_list_is_refused() {
        let mut base = table("[[workload]]\nload = 0.5");
        let value = Node::from_set("1", Place::Set("workload.3.load=1".into()));
        let error = assign(&mut base, "workload.3.load", value).expect_err("there is one entry");
        assert_eq!(
            error.to_string(),
            "--set workload.3.load=1: workload.3 is not an entry of the list: its entries are 0 to 0"
        );
    }
}
