//! Scales: named sets of overrides in a scenario file, `[scale.quick]` and others, of which a plan takes one at most.

use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::merge;
use crate::plan::axes::sweep_over;
use crate::schema::SCALES;
use crate::suggest::hint;

/// Returns the keys with the overrides of the scale laid over them and `[scale]` removed, and the name of the scale:
/// `asked`, else "quick" if the file has it, else none (an empty name).
pub(super) fn at_scale(mut keys: Table, place: &Place, asked: Option<&str>) -> Result<(Table, String), Error> {
    let scales = keys.remove("scale").map(Node::into_table).unwrap_or_default();
    let Some(name) = choose(&scales, place, asked)? else { return Ok((keys, String::new())) };
    for (key, node) in scales[name].table().expect("checked to be a table").clone() {
        let parts = merge::path(&key);
        match (parts[0].as_str(), key.strip_prefix("sweep.")) {
            ("extends" | "scale", _) => {
                let problem = "not part of a scale; expected a key of a run, sweep.KEY or variant.NAME.KEY";
                return Err(node.error(format!("scale.{name}.{key}"), problem));
            }
            (_, Some(axis)) => sweep_over(&mut keys, axis, node)?,
            ("variant", _) if parts.len() > 2 => {
                change_variant(&mut keys, &parts, &format!("scale.{name}.{key}"), node)?
            }
            _ => merge::assign(&mut keys, &key, node)?,
        }
    }
    Ok((keys, name.into()))
}

/// Chooses a scale of the file.
fn choose<'a>(scales: &Table, place: &Place, asked: Option<&'a str>) -> Result<Option<&'a str>, Error> {
    let known = SCALES.iter().copied().filter(|scale| scales.contains_key(*scale)).collect::<Vec<_>>();
    match asked {
        Some(name) if known.contains(&name) => Ok(Some(name)),
        Some(name) => {
            let allowed = if known.is_empty() {
                "the file has no [scale.*]".into()
            } else {
                format!("expected one of {}", known.join(", "))
            };
            let problem = format!("unknown scale \"{name}\"; {}{allowed}", hint(name, known.iter().copied()));
            let file = match place {
                Place::Line { file, .. } => file.name.clone(),
                other => other.to_string(),
            };
            Err(Error::at(file, problem))
        }
        None => Ok(known.contains(&"quick").then_some("quick")),
    }
}

/// Sets a key of one variant: `parts` are those of `variant.NAME.KEY`.
fn change_variant(keys: &mut Table, parts: &[String], key: &str, node: Node) -> Result<(), Error> {
    let mut names = Vec::new();
    if let Some(Value::Array(variants)) = keys.get_mut("variant").map(|node| &mut node.value) {
        for variant in variants {
            let Value::Table(table) = &mut variant.value else { continue };
            match table.get("name").and_then(Node::text) {
                Some(name) if name == parts[1] => {
                    table.insert(parts[2..].join("."), node);
                    return Ok(());
                }
                name => names.extend(name.map(String::from)),
            }
        }
    }
    let hint = hint(&parts[1], names.iter().map(String::as_str));
    let allowed = if names.is_empty() {
        "the file has no [[variant]]".into()
    } else {
        format!("expected one of {}", names.join(", "))
    };
    Err(node.error(key, format!("unknown variant \"{}\"; {hint}{allowed}", parts[1])))
}
