//! Published points, which a figure draws beside results: `[figure] published`.

use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::suggest::hint;

/// Checks that the points of `figure` have values, and belong to panels, variants and axes of the file. Keys and types
/// are checked by the schema. Points from a file that this one, at `place`, extends may belong to others, and are then
/// not drawn.
///
/// # Errors
/// Names the first point that does not belong anywhere, and the names that exist.
pub(crate) fn check(figure: &Table, variants: &[&str], sweep: Option<&Table>, place: &Place) -> Result<(), Error> {
    let list = |key: &str| figure.get(key).and_then(items).unwrap_or_default();
    let panels: Vec<&str> = list("panels").iter().filter_map(|panel| panel.table()?.get("label")?.text()).collect();
    let swept: Vec<&str> = sweep.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    for (i, point) in list("published").iter().enumerate().filter(|(_, point)| point.place.is_in_file_of(place)) {
        let table = point.table().expect("checked to be a table");
        let key = |name: &str| format!("figure.published.{i}.{name}");
        for (name, allowed) in [("panel", &panels[..]), ("variant", variants)] {
            one_of(&table[name], &key(name), table[name].text().unwrap_or(""), allowed)?;
        }
        for (name, node) in table.get("where").and_then(Node::table).into_iter().flatten() {
            one_of(node, &format!("{}.{name}", key("where")), name, &swept)?;
        }
        let value = &table["value"];
        let values = items(value).unwrap_or(std::slice::from_ref(value));
        if let Some(node) = values.iter().find(|node| !is_number(node)) {
            return Err(node.error(key("value"), "expected a number, or a list of numbers"));
        }
        match table.get("at") {
            Some(at) if items(at).map(<[Node]>::len) != items(value).map(<[Node]>::len) => {
                let one_each = |n: usize| format!("expected a list of {n}, one for each value");
                return Err(
                    at.error(key("at"), items(value).map_or("expected one value".into(), |v| one_each(v.len())))
                );
            }
            // Runs that differ only in their seed are drawn as one.
            None if swept.iter().any(|key| *key != "seed") || items(value).is_some() => {
                let problem = "missing: expected its place on the swept axis";
                return Err(Error { value: None, ..point.error(key("at"), problem) });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Entries of a list, if it is one.
fn items(node: &Node) -> Option<&[Node]> {
    match &node.value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn is_number(node: &Node) -> bool {
    matches!(node.value, Value::Int(_)) || matches!(node.value, Value::Float(x) if x.is_finite())
}

fn one_of(node: &Node, key: &str, name: &str, allowed: &[&str]) -> Result<(), Error> {
    if allowed.contains(&name) {
        return Ok(());
    }
    let names = allowed.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let names = if names.is_empty() { "no such key: the file has none".into() } else { names };
    Err(node.error(key, format!("{}expected {names}", hint(name, allowed.iter().copied()))))
}
