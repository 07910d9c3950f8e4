//! Sources of a plan's keys: a scenario file with its claims file, the files that it extends, and the command line's
//! `--set`.

use std::path::{Path, PathBuf};

use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::plan::claims;
use crate::{merge, named, presets, schema, structure};

/// Longest chain of files that extend one another.
const CHAIN_MAX: usize = 32;

/// A scenario file with its claims, laid over the files that it extends.
pub(super) struct Source {
    /// Keys of all files of the chain.
    pub(super) keys: Table,
    /// Place of the whole file, for errors about no key in particular.
    pub(super) place: Place,
    /// Directory that file names on the command line are relative to.
    pub(super) dir: PathBuf,
    /// Name of the file without its ending; `None` for text that is in no file.
    pub(super) stem: Option<String>,
}

impl Source {
    /// Reads the file at `path`, the claims beside it, and the files that it extends.
    pub(super) fn file(path: &Path) -> Result<Source, Error> {
        let dir = path.parent().unwrap_or(Path::new(""));
        let document = claims::read(path)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).map(String::from);
        Source::over_base(document, dir, stem, vec![identity(path)])
    }

    /// Reads `text`, which messages call `name`, and the files that it extends, relative to `dir`.
    pub(super) fn text(text: &str, dir: &Path, name: &str) -> Result<Source, Error> {
        Source::over_base(Node::from_toml(text, name, dir)?, dir, None, Vec::new())
    }

    fn over_base(document: Node, dir: &Path, stem: Option<String>, mut chain: Vec<PathBuf>) -> Result<Source, Error> {
        let document = extend(document, dir, &mut chain)?;
        let place = document.place.clone();
        let mut keys = document.into_table();
        presets::rename(&mut keys);
        Ok(Source { keys, place, dir: dir.to_path_buf(), stem })
    }
}

/// Identity of a file, by which `extend` recognises a cycle of files that extend one another.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// Lays a document over the one it extends, and that over the next. `chain` holds the files read so far.
fn extend(mut document: Node, dir: &Path, chain: &mut Vec<PathBuf>) -> Result<Node, Error> {
    let Value::Table(table) = &mut document.value else { unreachable!("a document is a table") };
    check_plan_keys(table)?;
    flatten_overrides(table);
    let Some(extends) = table.remove("extends") else { return Ok(document) };
    let path = dir.join(extends.text().expect("checked to be text"));
    let name = path.display().to_string();
    if chain.len() >= CHAIN_MAX {
        let problem = format!("one file extends another {CHAIN_MAX} times: expected no more");
        return Err(extends.error("extends", problem));
    }
    if chain.contains(&identity(&path)) {
        return Err(extends.error("extends", "extends this file in turn: expected a file that does not"));
    }
    let base = claims::read(&path)
        .map_err(|error| if error.place == name { extends.error("extends", error.problem) } else { error })?;
    chain.push(identity(&path));
    let mut base = extend(base, path.parent().unwrap_or(Path::new("")), chain)?;
    let Value::Table(below) = &mut base.value else { unreachable!("a document is a table") };
    merge::merge(below, document.clone().into_table());
    Ok(Node { value: base.value, place: document.place })
}

/// Checks keys and types of the tables that belong to the plan and not to a run.
pub(super) fn check_plan_keys(table: &Table) -> Result<(), Error> {
    for key in schema::PLAN_KEYS {
        if let Some(node) = table.get(key) {
            structure::check_at(schema::of_runs(), &schema::of_runs()["properties"][key], node, key)?;
        }
    }
    Ok(())
}

/// A dotted key and the value that it is set to.
pub(super) type Override = (String, Node);

/// `--set` arguments, by the part of the plan that they change.
#[derive(Default)]
pub(super) struct Sets {
    /// Keys set in every run.
    pub(super) overrides: Vec<Override>,
    /// Lists of values that replace an axis of the sweep or add one (`sweep.KEY=[VALUES]`).
    pub(super) axes: Vec<Override>,
    /// Keys set in `[seeds]`.
    pub(super) seeds: Vec<Override>,
    /// Names of the variants to keep (`variant=NAME` or `variant=[NAMES]`).
    pub(super) variant: Option<Node>,
}

impl Sets {
    /// Parses `KEY=VALUE` arguments.
    pub(super) fn parse(sets: &[String]) -> Result<Sets, Error> {
        let mut parsed = Sets::default();
        for set in sets {
            let place = Place::Set(set.as_str().into());
            let Some((key, value)) = set.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
                return Err(Error::at(place.to_string(), "expected KEY=VALUE, such as seed=7 or switch.queues=128"));
            };
            let (key, mut node) = (key.trim(), Node::from_set(value, place));
            presets::rename_in(&mut node, merge::path(key).last().is_some_and(|last| last == "scheme"));
            match key.strip_prefix("sweep.") {
                Some(axis) => parsed.axes.push((axis.trim_matches('"').into(), node)),
                None if key == "variant" => parsed.variant = Some(node),
                None if key.starts_with("seeds.") => parsed.seeds.push((key.into(), node)),
                None => parsed.overrides.push((key.into(), node)),
            }
        }
        for (key, node) in &parsed.overrides {
            refuse_plan_key(key, node)?;
        }
        Ok(parsed)
    }

    /// Whether the arguments select other flows, or fewer variants, than the file has.
    pub(super) fn change_flows(&self) -> bool {
        let changes = |first: &str| ["scheme", "workload", "topology"].contains(&first) || !named::is_key(first);
        let other = |(key, _): &Override| changes(&merge::path(key)[0]);
        self.variant.is_some() || self.overrides.iter().chain(&self.axes).any(other)
    }
}

/// Refuses a key that belongs to the plan and so cannot be set in one run.
pub(super) fn refuse_plan_key(key: &str, node: &Node) -> Result<(), Error> {
    let top = merge::path(key).swap_remove(0);
    let instead = match top.as_str() {
        "scale" => "choose a scale by its name instead",
        "sweep" => "write it in [sweep], or set sweep.KEY=[VALUES]",
        "seeds" => "write it in [seeds], or set seeds.count=N",
        "extends" | "source" | "variant" | "without" | "configured" | "components" | "figure" | "expect" => {
            "write it in the file"
        }
        _ => return Ok(()),
    };
    Err(node.error(key, format!("{top} is not a key of a run: {instead}")))
}

/// Makes the keys of sweep, variants and scales dotted, whether they were written as tables or in quotes, so that a
/// scale can override single keys of the others.
fn flatten_overrides(table: &mut Table) {
    let flatten = |node: &mut Node| {
        if let Value::Table(table) = &mut node.value {
            *table = merge::flatten(table).into_iter().collect();
        }
    };
    if let Some(sweep) = table.get_mut("sweep") {
        flatten(sweep);
    }
    if let Some(Value::Array(variants)) = table.get_mut("variant").map(|node| &mut node.value) {
        variants.iter_mut().for_each(flatten);
    }
    if let Some(Value::Table(scales)) = table.get_mut("scale").map(|node| &mut node.value) {
        scales.values_mut().for_each(flatten);
    }
}
