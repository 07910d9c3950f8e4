//! Axes of a plan: the variants, and the keys that are swept. A plan has a run for each variant at each point of the
//! sweep.

use std::collections::BTreeSet;

use crate::document::{Node, Table, Value};
use crate::error::Error;
use crate::plan::sources::{Override, Sets, refuse_plan_key};
use crate::schema::CLAIMS_KEYS;
use crate::suggest::hint;
use crate::{merge, seeds};

/// A variant, or the one nameless entry of a file without variants.
pub(super) struct Variant {
    pub(super) name: Option<String>,
    pub(super) overrides: Vec<Override>,
}

impl Variant {
    fn chooses_scheme(&self) -> bool {
        self.overrides.iter().any(|(key, _)| key == "scheme")
    }

    /// Reads the `[[variant]]` tables.
    pub(super) fn all(keys: &Table) -> Result<Vec<Variant>, Error> {
        let node = keys.get("variant");
        let Some(Value::Array(items)) = node.map(|node| &node.value) else {
            return Ok(vec![Variant { name: None, overrides: Vec::new() }]);
        };
        if items.is_empty() {
            return Err(node.expect("just seen").error("variant", "expected at least one variant, or no such key"));
        }
        let mut variants: Vec<Variant> = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let mut table = item.table().expect("checked to be a table").clone();
            let name = table.remove("name").expect("checked to be there");
            let text = name.text().expect("checked to be text").to_string();
            let key = format!("variant.{i}.name");
            if text.trim().is_empty() || text.chars().count() > 64 || text.chars().any(char::is_control) {
                return Err(name.error(key, "expected a name of 1 to 64 characters"));
            }
            if variants.iter().any(|other| other.name.as_ref() == Some(&text)) {
                return Err(name.error(key, "an earlier variant has this name; expected another"));
            }
            variants.push(Variant { name: Some(text), overrides: merge::flatten(&table) });
        }
        Ok(variants)
    }
}

/// Keeps the variants that `--set variant=` names, and refuses `--set scheme=` where the variants choose the scheme.
pub(super) fn picked(mut variants: Vec<Variant>, sets: &Sets) -> Result<Vec<Variant>, Error> {
    if let Some(wanted) = &sets.variant {
        let texts: Vec<&str> = match &wanted.value {
            Value::Array(items) => items.iter().filter_map(Node::text).collect(),
            _ => wanted.text().into_iter().collect(),
        };
        let names: Vec<&str> = variants.iter().filter_map(|variant| variant.name.as_deref()).collect();
        let stranger = texts.iter().find(|text| !names.contains(text));
        if texts.is_empty() || stranger.is_some() {
            let hint = stranger.map_or(String::new(), |name| hint(name, names.iter().copied()));
            let allowed = if names.is_empty() {
                "the file has no [[variant]]".into()
            } else {
                format!("expected one of {}", names.join(", "))
            };
            return Err(wanted.error("variant", format!("unknown variant; {hint}{allowed}")));
        }
        variants.retain(|variant| variant.name.as_deref().is_some_and(|name| texts.contains(&name)));
    }
    match sets.overrides.iter().find(|(key, _)| key == "scheme") {
        Some((key, scheme)) if variants.iter().any(Variant::chooses_scheme) => {
            let problem = "the variants choose the scheme; expected variant=NAME to run one of them";
            Err(scheme.error(key.as_str(), problem))
        }
        _ => Ok(variants),
    }
}

/// A swept key and its values.
pub(super) struct Axis {
    key: String,
    pub(super) values: Vec<Node>,
}

/// A value for each swept key.
pub(super) type Point<'a> = Vec<(&'a str, &'a Node)>;

impl Axis {
    /// Reads `[sweep]`, without the keys that `--set` fixes.
    pub(super) fn all(keys: &Table, fixed: &[Override]) -> Result<Vec<Axis>, Error> {
        let Some(sweep) = keys.get("sweep").and_then(Node::table) else { return Ok(Vec::new()) };
        let fixed = fixed.iter().map(|(key, node)| merge::full_path(keys, key, node)).collect::<Result<Vec<_>, _>>()?;
        let mut axes = Vec::new();
        for (key, node) in sweep {
            let shown = format!("sweep.\"{key}\"");
            let Value::Array(values) = &node.value else {
                return Err(node.error(shown, "expected a list of the values that the key takes in turn"));
            };
            if values.is_empty() {
                return Err(node.error(shown, "expected at least one value"));
            }
            refuse_plan_key(key, node)?;
            if !fixed.contains(&merge::full_path(keys, key, node)?) {
                axes.push(Axis { key: key.clone(), values: values.clone() });
            }
        }
        Ok(axes)
    }

    /// Reads `[seeds]`: the seed of runs that do not sweep it, and the axis of seeds, if there are several and `--set`
    /// fixes none.
    pub(super) fn of_seeds(keys: &Table, fixed: &[Override]) -> Result<Option<(Node, Option<Axis>)>, Error> {
        let Some(seeds) = keys.get("seeds") else { return Ok(None) };
        let values = seeds::of(seeds, keys.get("seed"), keys.get("sweep"))?;
        let first = values[0].clone();
        let swept = values.len() > 1 && !fixed.iter().any(|(key, _)| key == "seed");
        Ok(Some((first, swept.then(|| Axis { key: "seed".into(), values }))))
    }
}

/// Points of the product of all axes, the last axis fastest.
pub(super) fn points(axes: &[Axis]) -> impl Iterator<Item = Point<'_>> {
    let count: usize = axes.iter().map(|axis| axis.values.len()).product();
    (0..count).map(|index| {
        let mut rest = index;
        let mut point = Point::with_capacity(axes.len());
        for Axis { key, values } in axes.iter().rev() {
            point.push((key.as_str(), &values[rest % values.len()]));
            rest /= values.len();
        }
        point.reverse();
        point
    })
}

/// Paths of all keys that are swept, at any scale of the file or by `--set`.
pub(super) fn swept_keys(keys: &Table, set: &[Override]) -> BTreeSet<Vec<String>> {
    let sweep = keys.get("sweep").and_then(Node::table).into_iter().flat_map(Table::keys);
    let scales = keys.get("scale").and_then(Node::table).into_iter().flat_map(Table::values).filter_map(Node::table);
    let scaled = scales.flat_map(Table::keys).filter_map(|key| key.strip_prefix("sweep."));
    let set = set.iter().map(|(key, _)| key.as_str());
    // Runs that differ in their seed alone are judged together, at any scale.
    sweep.map(String::as_str).chain(scaled).chain(set).chain(["seed"]).map(merge::path).collect()
}

/// Lays the axes of `--set` over the sweep. Expectations and figures of the file are about its own runs, so a further
/// axis removes them; an axis of schemes also replaces variants that choose a scheme.
pub(super) fn sweep_also(mut keys: Table, axes: &[Override]) -> Result<Table, Error> {
    let count = |keys: &Table| keys.get("sweep").and_then(Node::table).map_or(0, Table::len);
    for (axis, node) in axes {
        let before = count(&keys);
        sweep_over(&mut keys, axis, node.clone())?;
        if count(&keys) == before || axis == "seed" {
            continue;
        }
        keys.retain(|key, _| !CLAIMS_KEYS.contains(&key.as_str()));
        if axis == "scheme" && Variant::all(&keys)?.iter().any(Variant::chooses_scheme) {
            keys.remove("variant");
        }
    }
    Ok(keys)
}

/// Replaces an axis of the sweep, under the name that it has there, or adds one.
pub(super) fn sweep_over(keys: &mut Table, axis: &str, node: Node) -> Result<(), Error> {
    let axis = axis.trim_matches('"');
    let full = merge::full_path(keys, axis, &node)?;
    let swept = keys.get("sweep").and_then(Node::table).into_iter().flatten();
    let same = swept.map(|(key, _)| key).find(|key| merge::full_path(keys, key, &node).is_ok_and(|path| path == full));
    let key = same.cloned().unwrap_or(axis.into());
    let place = node.place.clone();
    let sweep = keys.entry("sweep".into()).or_insert(Node { value: Value::Table(Table::new()), place });
    if let Value::Table(sweep) = &mut sweep.value {
        sweep.insert(key, node);
    }
    Ok(())
}
