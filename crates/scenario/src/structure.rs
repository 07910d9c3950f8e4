//! Structure check: keys, types, choices and units of a document, against the schema of the model.
//!
//! Serde would find the same errors, but not where they are: it loses the path inside tagged tables. The schema comes
//! from the same model, so there is still one definition; serde has the last word when the checked document is typed.
//! The check supports the parts of JSON Schema that the model produces: `$ref`, `type`, `const`, `oneOf`, `anyOf`,
//! `properties`, `required`, `additionalProperties: false`, `items`, `prefixItems`, `minItems`, `maxItems`, `minimum`,
//! `maximum`, and for numbers `exclusiveMinimum` and `exclusiveMaximum`.

use std::collections::BTreeSet;

use backwater_types::{BitsPerSec, Bytes, Duration};
use serde_json::Value as Json;

use crate::document::{Node, Table, Value};
use crate::error::Error;
use crate::expect::grammar::VALUE;
use crate::expect::words;
use crate::suggest::hint;

/// Checks a document against its schema.
pub(crate) fn check(root: &Json, node: &Node) -> Result<(), Error> {
    check_at(root, root, node, "")
}

/// Checks the value of the dotted key `key` against `schema`, a part of `root`.
pub(crate) fn check_at(root: &Json, schema: &Json, node: &Node, key: &str) -> Result<(), Error> {
    Checker { root }.check(schema, node, key)
}

struct Checker<'a> {
    root: &'a Json,
}

impl Checker<'_> {
    fn check(&self, schema: &Json, node: &Node, key: &str) -> Result<(), Error> {
        if let Some((name, target)) = self.target(schema) {
            return match unit(name, node) {
                Some(true) => self.check_bounds(schema, node, key),
                Some(false) => Err(node.error(key, format!("expected {}", self.expected(schema)))),
                None if name == VALUE && !matches!(node.value, Value::Table(_) | Value::Int(_) | Value::Float(_)) => {
                    Err(node.error(key, format!("expected {}, not {}", self.expected(schema), node.kind())))
                }
                None => self.check(target, node, key),
            };
        }
        if let Some(branches) = branches(schema) {
            return self.check_choice(&branches, node, key);
        }
        let wrong = || node.error(key, format!("expected {}, not {}", self.expected(schema), node.kind()));
        if let Some(constant) = schema.get("const") {
            return if node.to_json() == *constant { Ok(()) } else { Err(wrong()) };
        }
        match (main_type(schema), &node.value) {
            ("object", Value::Table(table)) => self.check_table(schema, node, table, key),
            ("array", Value::Array(items)) => self.check_items(schema, node, items, key),
            ("string", Value::Text(_)) | ("boolean", Value::Bool(_)) | ("", _) => Ok(()),
            ("integer", Value::Int(n)) => match range(schema) {
                (low, high) if (low..=high).contains(n) => Ok(()),
                _ => Err(node.error(key, format!("expected {}", self.expected(schema)))),
            },
            ("number", Value::Int(_)) => self.check_bounds(schema, node, key),
            ("number", Value::Float(x)) if x.is_finite() => self.check_bounds(schema, node, key),
            ("number", Value::Float(_)) => {
                Err(node.error(key, format!("expected {}, and a finite one", self.expected(schema))))
            }
            _ => Err(wrong()),
        }
    }

    /// Checks the bounds of a number, or of a quantity in its base unit.
    fn check_bounds(&self, schema: &Json, node: &Node, key: &str) -> Result<(), Error> {
        let holds = |(name, _, holds): &Bound| {
            let bound = schema.get(*name).and_then(Json::as_f64);
            bound.zip(words::number_of(node)).is_none_or(|(bound, x)| holds(x, bound))
        };
        if BOUNDS.iter().all(holds) {
            return Ok(());
        }
        Err(node.error(key, format!("expected {}", self.expected(schema))))
    }

    fn check_table(&self, schema: &Json, node: &Node, table: &Table, key: &str) -> Result<(), Error> {
        let empty = serde_json::Map::new();
        let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
        for (name, value) in table {
            match properties.get(name) {
                Some(schema) => self.check(schema, value, &join(key, name))?,
                None if schema.get("additionalProperties") == Some(&Json::Bool(false)) => {
                    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                    let here = if key.is_empty() { "allowed at the top".into() } else { format!("allowed in {key}") };
                    let hint = hint(name, names.iter().copied());
                    return Err(
                        value.error(join(key, name), format!("unknown key; {hint}{here}: {}", names.join(", ")))
                    );
                }
                None => {
                    if let Some(of_all) = schema.get("additionalProperties").filter(|of_all| of_all.is_object()) {
                        self.check(of_all, value, &join(key, name))?;
                    }
                }
            }
        }
        for name in schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
            if !table.contains_key(name) {
                let mut error = node.error(join(key, name), String::new());
                error.value = None;
                error.problem = format!("missing: expected {}", self.expected(&properties[name]));
                return Err(error);
            }
        }
        Ok(())
    }

    fn check_items(&self, schema: &Json, node: &Node, items: &[Node], key: &str) -> Result<(), Error> {
        let bound = |name: &str| schema.get(name).and_then(Json::as_u64);
        let (least, most) = (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(u64::MAX));
        if !(least..=most).contains(&(items.len() as u64)) {
            return Err(node.error(key, format!("expected {}, not {} entries", self.expected(schema), items.len())));
        }
        let prefix = schema.get("prefixItems").and_then(Json::as_array);
        for (i, item) in items.iter().enumerate() {
            let of_item = prefix.and_then(|prefix| prefix.get(i)).or(schema.get("items"));
            if let Some(of_item) = of_item {
                self.check(of_item, item, &join(key, &i.to_string()))?;
            }
        }
        Ok(())
    }

    /// Checks one of several forms, chosen by the `kind`, by the one key, or by the type, so that the message is about
    /// that form.
    fn check_choice(&self, branches: &[&Json], node: &Node, key: &str) -> Result<(), Error> {
        let branches: Vec<&Json> = branches.iter().flat_map(|branch| self.unfold(branch)).collect();
        let expected = || self.expected_of(&branches);
        if let [only] = branches.as_slice() {
            return self.check(only, node, key);
        }
        match &node.value {
            Value::Int(_) | Value::Float(_) if branches.iter().any(|branch| main_type(branch) == "number") => {
                self.check(&Json::from_iter([("type", "number")]), node, key)
            }
            Value::Text(text) => {
                let names: Vec<&str> = branches.iter().filter_map(|branch| branch.get("const")?.as_str()).collect();
                if names.contains(&text.as_str()) {
                    return Ok(());
                }
                Err(node.error(key, format!("{}expected {}", hint(text, names), expected())))
            }
            Value::Table(table) => {
                let kinds: Vec<&str> = branches.iter().filter_map(|branch| kind(branch)).collect();
                if !kinds.is_empty() {
                    return self.check_kind(&branches, &kinds, node, table, key);
                }
                let named =
                    |branch: &&&Json| branch["required"][0].as_str().is_some_and(|name| table.contains_key(name));
                // A form without a key of its own takes values that no other takes.
                let open = |branch: &&&Json| branch["required"] == Json::Array(Vec::new());
                if let Some(branch) = branches.iter().find(named) {
                    return self.check(branch, node, key);
                }
                let Some(branch) = branches.iter().find(open) else {
                    return Err(node.error(key, format!("expected {}", expected())));
                };
                let all = branches.iter().filter_map(|branch| branch["properties"].as_object()).flat_map(|p| p.keys());
                let names: BTreeSet<&str> = all.map(String::as_str).collect();
                match table.iter().find(|(name, _)| !names.contains(name.as_str())) {
                    None => self.check(branch, node, key),
                    Some((name, value)) => {
                        let allowed = names.iter().copied().collect::<Vec<_>>().join(", ");
                        let hint = hint(name, names);
                        Err(value.error(join(key, name), format!("unknown key; {hint}expected one of {allowed}")))
                    }
                }
            }
            Value::Array(_) => match branches.iter().find(|branch| main_type(branch) == "array") {
                Some(branch) => self.check(branch, node, key),
                None => Err(node.error(key, format!("expected {}", expected()))),
            },
            _ => Err(node.error(key, format!("expected {}, not {}", expected(), node.kind()))),
        }
    }

    fn check_kind(
        &self,
        branches: &[&Json],
        kinds: &[&str],
        node: &Node,
        table: &Table,
        key: &str,
    ) -> Result<(), Error> {
        let names = kinds.iter().map(|kind| format!("\"{kind}\"")).collect::<Vec<_>>().join(", ");
        let Some(given) = table.get("kind") else {
            let mut error = node.error(join(key, "kind"), format!("missing: expected one of {names}"));
            error.value = None;
            return Err(error);
        };
        let text = given.text().unwrap_or("");
        match branches.iter().find(|branch| kind(branch) == Some(text)) {
            Some(branch) => self.check(branch, node, key),
            None => {
                let hint = hint(text, kinds.iter().copied());
                Err(given.error(join(key, "kind"), format!("{hint}expected one of {names}")))
            }
        }
    }

    /// Returns the branches of a branch that is only a reference to a choice.
    fn unfold<'b>(&'b self, branch: &'b Json) -> Vec<&'b Json> {
        match self.target(branch) {
            Some((name, target)) if !is_unit(name) => match branches(target) {
                Some(inner) => inner.iter().flat_map(|branch| self.unfold(branch)).collect(),
                None => vec![branch],
            },
            _ => vec![branch],
        }
    }

    fn target<'b>(&'b self, schema: &'b Json) -> Option<(&'b str, &'b Json)> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        Some((name, &self.root["$defs"][name]))
    }

    /// Describes a choice, in words.
    fn expected_of(&self, branches: &[&Json]) -> String {
        let kinds: Vec<String> = branches.iter().filter_map(|b| kind(b)).map(|kind| format!("\"{kind}\"")).collect();
        match kinds.is_empty() {
            true => branches.iter().map(|branch| self.expected(branch)).collect::<Vec<_>>().join(" or "),
            false => format!("a table whose kind is one of {}", kinds.join(", ")),
        }
    }

    /// Describes the values that a schema allows, in words.
    fn expected(&self, schema: &Json) -> String {
        if let Some((name, target)) = self.target(schema) {
            // Values in words contain values, so they are described by their type.
            return if is_unit(name) || name == VALUE {
                format!("{}{}", target["description"].as_str().unwrap_or(""), bounds(schema))
            } else {
                self.expected(target)
            };
        }
        if let Some(branches) = branches(schema) {
            let branches: Vec<&Json> = branches.iter().flat_map(|branch| self.unfold(branch)).collect();
            return self.expected_of(&branches);
        }
        if let Some(constant) = schema.get("const") {
            return constant.to_string();
        }
        match main_type(schema) {
            "object" => {
                let names = |key: &str| match &schema[key] {
                    Json::Array(names) => names.iter().filter_map(Json::as_str).collect::<Vec<_>>(),
                    Json::Object(table) => table.keys().map(String::as_str).collect(),
                    _ => Vec::new(),
                };
                match (names("required").as_slice(), names("properties").as_slice()) {
                    ([only], [_]) => format!("{{ {only} = ... }}"),
                    (_, []) => "a table".into(),
                    (_, all) => format!("a table with the keys {}", all.join(", ")),
                }
            }
            "array" => match (schema.get("minItems"), schema.get("items")) {
                (Some(n), Some(item)) if schema.get("maxItems") != Some(n) => {
                    format!("a list of at least {n}, each entry {}", self.expected(item))
                }
                (Some(n), _) => format!("a list of {n}"),
                (None, Some(item)) => format!("a list, each entry {}", self.expected(item)),
                (None, None) => "a list".into(),
            },
            "string" => "a text in quotes".into(),
            "boolean" => "true or false".into(),
            "number" => format!("a number{}", bounds(schema)),
            "integer" => {
                let (low, high) = range(schema);
                format!("a whole number from {low} to {high}")
            }
            _ => "a value".into(),
        }
    }
}

/// A bound of JSON Schema: its name, its wording, and the condition on a number and the bound.
type Bound = (&'static str, &'static str, fn(f64, f64) -> bool);

const BOUNDS: [Bound; 4] = [
    ("minimum", "at least", |x, bound| x >= bound),
    ("exclusiveMinimum", "above", |x, bound| x > bound),
    ("maximum", "at most", |x, bound| x <= bound),
    ("exclusiveMaximum", "below", |x, bound| x < bound),
];

/// Describes the bounds of a number, in words behind a comma; those of quantities are in bytes, seconds and bits per
/// second.
fn bounds(schema: &Json) -> String {
    let told: Vec<String> =
        BOUNDS.iter().filter_map(|(name, words, _)| Some(format!("{words} {}", schema.get(*name)?))).collect();
    if told.is_empty() { String::new() } else { format!(", {}", told.join(" and ")) }
}

/// Whether the definition is a type that is written as text with a unit.
fn is_unit(name: &str) -> bool {
    matches!(name, "Duration" | "Bytes" | "BitsPerSec" | "Buffer") || words::FORMS.iter().any(|(form, _)| *form == name)
}

/// Whether the value parses as this unit; `None` if the definition is not a unit.
fn unit(name: &str, node: &Node) -> Option<bool> {
    let text = node.text();
    let reads = |parse: fn(&str) -> bool| Some(text.is_some_and(parse));
    match name {
        "Duration" => reads(|text| text.parse::<Duration>().is_ok()),
        "Bytes" => reads(|text| text.parse::<Bytes>().is_ok()),
        "BitsPerSec" => reads(|text| text.parse::<BitsPerSec>().is_ok()),
        "Buffer" => reads(|text| text == "infinite" || text.parse::<Bytes>().is_ok()),
        form => words::reads(form, node),
    }
}

/// Alternatives of `oneOf` or `anyOf`, without null.
fn branches(schema: &Json) -> Option<Vec<&Json>> {
    let list = schema.get("oneOf").or(schema.get("anyOf"))?.as_array()?;
    Some(list.iter().filter(|branch| main_type(branch) != "null").collect())
}

/// The `type`; if there are several, the one that is not null.
fn main_type(schema: &Json) -> &str {
    match schema.get("type") {
        Some(Json::String(name)) => name,
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).find(|name| *name != "null").unwrap_or(""),
        _ => "",
    }
}

/// The `kind` of a branch.
fn kind(branch: &Json) -> Option<&str> {
    branch.get("properties")?.get("kind")?.get("const")?.as_str()
}

/// Bounds of an integer, exact beyond 53 bits too. Where the schema states no maximum, the type has one.
fn range(schema: &Json) -> (i128, i128) {
    let whole = |bound: &Json| bound.as_i64().map(i128::from).or(bound.as_u64().map(i128::from));
    let bound = |name: &str| schema.get(name).and_then(|bound| whole(bound).or(bound.as_f64().map(|x| x as i128)));
    let widest = match schema["format"].as_str() {
        Some("uint8") => u8::MAX.into(),
        Some("uint16") => u16::MAX.into(),
        Some("uint32") => u32::MAX.into(),
        _ => u64::MAX.into(),
    };
    (bound("minimum").unwrap_or(i64::MIN.into()), bound("maximum").unwrap_or(widest))
}

/// Joins a key to the key of its table.
pub(crate) fn join(key: &str, name: &str) -> String {
    if key.is_empty() { name.into() } else { format!("{key}.{name}") }
}
