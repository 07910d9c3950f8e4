//! TOML and JSON documents as trees in which every value knows the place where it was written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Error;
use crate::text::{digits, shorten};

/// Place where a value was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// A line of a file.
    Line { file: Arc<Source>, line: usize },
    /// A `--set KEY=VALUE`, as given.
    Set(Arc<str>),
    /// The preset of this scheme.
    Preset(&'static str),
    /// A chip of this name.
    Chip(&'static str),
    /// A resolved scenario.
    Json,
}

impl Place {
    /// Whether both places are in one file or in the claims file beside it, or one of them is in no file.
    pub(crate) fn is_in_file_of(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Line { file, .. }, Place::Line { file: other, .. }) => {
                file.dir == other.dir && file.stem() == other.stem()
            }
            _ => true,
        }
    }
}

/// Ending of the name of a claims file.
pub(crate) const CLAIMS_ENDING: &str = ".claims.toml";

/// A file: its name in messages, and the directory that file names in it are relative to.
#[derive(Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
}

impl Source {
    /// Name that a scenario and its claims file share.
    fn stem(&self) -> &str {
        [CLAIMS_ENDING, ".toml"].iter().find_map(|ending| self.name.strip_suffix(ending)).unwrap_or(&self.name)
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// Value of TOML or JSON.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Array(Vec<Node>),
    Table(Table),
}

/// Keys in alphabetical order.
pub(crate) type Table = BTreeMap<String, Node>;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line { file, line } => write!(f, "{}:{line}", file.name),
            Place::Set(text) => write!(f, "--set {text}"),
            Place::Preset(name) => write!(f, "preset \"{name}\""),
            Place::Chip(name) => write!(f, "chip \"{name}\""),
            Place::Json => f.write_str("resolved scenario"),
        }
    }
}

impl Node {
    /// Reads a TOML document. `name` is its name in messages; `dir` is the directory that file names in it are relative
    /// to.
    pub(crate) fn from_toml(text: &str, name: &str, dir: &Path) -> Result<Node, Error> {
        let file = Arc::new(Source { name: name.into(), dir: dir.into() });
        let lines = Lines::of(text);
        let place = |offset: usize| Place::Line { file: file.clone(), line: lines.at(offset) };
        match DeTable::parse(text) {
            Ok(table) => Ok(Node { value: table_of(table.get_ref(), &place), place: place(0) }),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                let line = text[lines.starts[lines.at(offset) - 1]..].lines().next().unwrap_or("").trim();
                let problem = format!("not TOML: {} (in: {})", error.message().replace('\n', ", "), shorten(line, 80));
                Err(Error::at(place(offset).to_string(), problem))
            }
        }
    }

    /// Reads the VALUE of a `--set KEY=VALUE`: a TOML value, or if it is none the text itself.
    pub(crate) fn from_set(value: &str, place: Place) -> Node {
        let document = format!("value = {value}");
        let parsed = DeTable::parse(&document).ok().filter(|table| table.get_ref().len() == 1);
        let node = parsed.map(|table| {
            let value = table.get_ref().get("value").expect("the document is `value = ...`").get_ref();
            value_of(value, &|_| place.clone())
        });
        Node { value: node.unwrap_or_else(|| Value::Text(value.trim().into())), place }
    }

    /// Reads JSON; a null is a missing key.
    pub(crate) fn from_json(json: &Json) -> Node {
        let value = match json {
            Json::Null => Value::Table(Table::new()),
            Json::Bool(b) => Value::Bool(*b),
            Json::Number(n) => match (n.as_u64(), n.as_i64()) {
                (Some(n), _) => Value::Int(n.into()),
                (_, Some(n)) => Value::Int(n.into()),
                _ => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::Array(items.iter().map(Node::from_json).collect()),
            Json::Object(object) => {
                let kept = object.iter().filter(|(_, value)| !value.is_null());
                Value::Table(kept.map(|(key, value)| (key.clone(), Node::from_json(value))).collect())
            }
        };
        Node { value, place: Place::Json }
    }

    /// Converts to JSON, without places.
    pub(crate) fn to_json(&self) -> Json {
        match &self.value {
            Value::Bool(b) => Json::Bool(*b),
            Value::Int(n) => match (u64::try_from(*n), i64::try_from(*n)) {
                (Ok(n), _) => n.into(),
                (_, Ok(n)) => n.into(),
                _ => Json::String(n.to_string()),
            },
            Value::Float(x) => serde_json::Number::from_f64(*x).map_or(Json::Null, Json::Number),
            Value::Text(text) => Json::String(text.clone()),
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(table) => {
                Json::Object(table.iter().map(|(key, node)| (key.clone(), node.to_json())).collect())
            }
        }
    }

    /// Returns the table, if the value is one.
    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the table of a document.
    pub(crate) fn into_table(self) -> Table {
        match self.value {
            Value::Table(table) => table,
            _ => unreachable!("a document is a table"),
        }
    }

    /// Returns the text, if the value is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a key, if this is a table with that key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.table()?.get(key)
    }

    /// Returns the node at a path of keys and indices, or the deepest existing node above it; and whether it is the
    /// former.
    pub(crate) fn find<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> (&Node, bool) {
        let mut node = self;
        for key in path {
            let next = match &node.value {
                Value::Table(table) => table.get(key),
                Value::Array(items) => digits::<usize>(key).and_then(|i| items.get(i)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => return (node, false),
            }
        }
        (node, true)
    }

    /// Makes an error about this value.
    pub(crate) fn error(&self, key: impl Into<String>, problem: impl Into<String>) -> Error {
        Error {
            place: self.place.to_string(),
            key: key.into(),
            value: Some(self.show()),
            problem: problem.into(),
            run: None,
        }
    }

    /// Shows the value as TOML, cut short.
    pub(crate) fn show(&self) -> String {
        shorten(&self.toml(), 70)
    }

    fn toml(&self) -> String {
        match &self.value {
            Value::Bool(b) => b.to_string(),
            Value::Int(n) => n.to_string(),
            Value::Float(x) => format!("{x:?}"),
            Value::Text(text) => format!("{:?}", shorten(text, 70)),
            Value::Array(items) => {
                let shown: Vec<String> = items.iter().take(20).map(Node::toml).collect();
                format!("[{}{}]", shown.join(", "), if items.len() > 20 { ", ..." } else { "" })
            }
            Value::Table(table) => {
                let entry = |(key, node): (&String, &Node)| format!("{} = {}", shorten(key, 70), node.toml());
                let shown: Vec<String> = table.iter().take(20).map(entry).collect();
                format!("{{ {} }}", shown.join(", "))
            }
        }
    }

    /// Names the kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Text(_) => "a text",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Byte offsets of the starts of lines.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Lines {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1));
        Lines { starts: starts.filter(|start| *start <= text.len()).collect() }
    }

    /// Returns the number of the line that holds this byte, from 1.
    fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}

fn table_of(table: &DeTable<'_>, place: &dyn Fn(usize) -> Place) -> Value {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        // A table without a header of its own (`[a.b]` makes `a`) and a dotted key both span the key itself.
        let node = Node { value: value_of(value.get_ref(), place), place: place(key.span().start) };
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        (key.to_string(), node)
    };
    Value::Table(table.iter().map(entry).collect())
}

fn value_of(value: &DeValue<'_>, place: &dyn Fn(usize) -> Place) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Int(n),
            Err(_) => Value::Text(n.as_str().into()),
        },
        DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(when) => Value::Text(when.to_string()),
        DeValue::Array(items) => {
            let node = |item: &Spanned<DeValue<'_>>| Node {
                value: value_of(item.get_ref(), place),
                place: place(item.span().start),
            };
            Value::Array(items.iter().map(node).collect())
        }
        DeValue::Table(table) => table_of(table, place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line() {
        let text = "seed = 7\n\n[switch]\nqueues = 32\n[switch.pfc]\nalpha = 0.5\n\n[[workload]]\nload = 0.5\n[[workload]]\nload = [\n  1,\n  2,\n]\n";
        let document = Node::from_toml(text, "a.toml", Path::new(".")).expect("valid TOML");
        let place = |path: &str| document.find(path.split('.')).0.place.to_string();
        assert_eq!(place("seed"), "a.toml:1");
        assert_eq!(place("switch.queues"), "a.toml:4");
        assert_eq!(place("switch.pfc.alpha"), "a.toml:6");
        assert_eq!(place("workload.0.load"), "a.toml:9");
        assert_eq!(place("workload.1.load.1"), "a.toml:13");
        assert_eq!(document.find("workload.1.nothing".split('.')).0.place.to_string(), "a.toml:10");
    }

    #[test]
    fn a_set_value_is_toml_or_else_text() {
        let place = Place::Set("x".into());
        assert_eq!(Node::from_set("7", place.clone()).show(), "7");
        assert_eq!(Node::from_set("2 ms", place.clone()).show(), "\"2 ms\"");
        assert_eq!(Node::from_set("[1, 2]", place.clone()).show(), "[1, 2]");
        assert_eq!(Node::from_set("1\nother = 2", place.clone()).show(), "\"1\\nother = 2\"");
        assert_eq!(Node::from_set("18446744073709551615", place).show(), "18446744073709551615");
    }
}
