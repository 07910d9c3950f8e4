//! Resolution: from the document of one run to its typed, valid scenario.

use std::path::Path;

use serde_json::Value as Json;

use crate::document::{Node, Place, Value};
use crate::error::Error;
use crate::flow_list;
use crate::model::{Scenario, Sizes, Switch, Workload};
use crate::sizes::{self, read_text};
use crate::validate::{self, Lists};
use crate::{presets, schema, structure};

/// Reads back a resolved scenario, as written to `scenario.json`.
///
/// # Errors
/// If it is not JSON, or not a valid scenario.
pub fn from_json(text: &str) -> Result<Scenario, Error> {
    let json: Json =
        serde_json::from_str(text).map_err(|error| Error::at("resolved scenario", format!("not JSON: {error}")))?;
    if !json.is_object() {
        return Err(Error::at("resolved scenario", "expected a JSON object"));
    }
    let mut document = Node::from_json(&json);
    presets::rename_in(&mut document, false);
    resolve(document, Path::new("."))
}

/// Types and checks the document of one run. File names on the command line are relative to `dir`.
pub(crate) fn resolve(mut document: Node, dir: &Path) -> Result<Scenario, Error> {
    structure::check(schema::of_runs(), &document)?;
    expand_ranges(&mut document)?;
    let mut scenario = type_of(&document)?;
    let lists = read_files(&document, &mut scenario, dir)?;
    validate::check(&document, &scenario, &lists)?;
    scenario.host.settle();
    let regions = scenario.region.iter_mut().map(|region| &mut region.switch);
    regions.chain([&mut scenario.switch]).for_each(Switch::settle);
    Ok(scenario)
}

/// Converts serde's error about a document whose structure is checked.
fn type_of(document: &Node) -> Result<Scenario, Error> {
    serde_path_to_error::deserialize(document.to_json()).map_err(|error| {
        let key = error.path().to_string().replace('[', ".").replace(']', "");
        document.find(key.split('.')).0.error(key.as_str(), error.inner().to_string())
    })
}

/// Replaces `"host2..host5"` in the host lists of workloads by the four names, and likewise in the switch lists of
/// regions.
fn expand_ranges(document: &mut Node) -> Result<(), Error> {
    let hosts = "expected a range of hosts from a lower to a higher number, such as \"host2..host5\"";
    let switches = "expected a range of switches from a lower to a higher number, such as \"core0..core7\"";
    expand_in(document, "workload", &["from", "to", "hosts"], hosts)?;
    expand_in(document, "region", &["at"], switches)
}

/// Replaces ranges in the fields `fields` of every entry of the list `list`.
fn expand_in(document: &mut Node, list: &str, fields: &[&str], expected: &str) -> Result<(), Error> {
    let Value::Table(top) = &mut document.value else { return Ok(()) };
    let Some(Value::Array(entries)) = top.get_mut(list).map(|node| &mut node.value) else { return Ok(()) };
    for (i, entry) in entries.iter_mut().enumerate() {
        let Value::Table(entry) = &mut entry.value else { continue };
        for field in fields {
            let Some(Value::Array(names)) = entry.get_mut(*field).map(|node| &mut node.value) else { continue };
            let mut expanded = Vec::new();
            for (n, name) in names.iter().enumerate() {
                match name.text().and_then(|text| text.split_once("..")) {
                    None => expanded.push(name.clone()),
                    Some((first, last)) => {
                        let names = range(first, last)
                            .ok_or_else(|| name.error(format!("{list}.{i}.{field}.{n}"), expected))?;
                        let node = |text| Node { value: Value::Text(text), place: name.place.clone() };
                        expanded.extend(names.into_iter().map(node));
                    }
                }
            }
            *names = expanded;
        }
    }
    Ok(())
}

/// Expands `host2`, `host5` to `host2`, `host3`, `host4`, `host5`.
fn range(first: &str, last: &str) -> Option<Vec<String>> {
    let split = |name: &str| {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at(name.len() - digits);
        // `host01` is another name than `host1`.
        let plain = number == "0" || !number.starts_with('0');
        Some((prefix.to_string(), number.parse::<u32>().ok().filter(|_| plain)?))
    };
    let ((prefix, low), (other, high)) = (split(first.trim())?, split(last.trim())?);
    let sound = prefix == other && low <= high && high - low < 60_000;
    sound.then(|| (low..=high).map(|number| format!("{prefix}{number}")).collect())
}

/// Reads the files that workloads name, and replaces the names by the contents.
fn read_files(document: &Node, scenario: &mut Scenario, dir: &Path) -> Result<Lists, Error> {
    let mut lists = Lists::new();
    for (i, workload) in scenario.workload.iter_mut().enumerate() {
        match workload {
            Workload::Background { sizes, .. } | Workload::Incast { sizes: Some(sizes), .. } => {
                if let Sizes::File(file) = &*sizes {
                    let key = format!("workload.{i}.sizes.file");
                    let table = read(document, &key, file, dir, sizes::read)?;
                    *sizes = Sizes::Points(table);
                }
            }
            Workload::FlowList { file, rows, flows, .. } => {
                let Some(given) = file.take() else {
                    lists.insert(i, format!("workload.{i}.rows"));
                    continue;
                };
                let key = format!("workload.{i}.file");
                if !flows.is_empty() || !rows.is_empty() {
                    let node = document.find(key.split('.')).0;
                    return Err(node.error(key, "given beside flows: expected one of the two"));
                }
                *rows = read(document, &key, &given, dir, |path, shown| {
                    lists.insert(i, shown.into());
                    let text = read_text(path, shown)?;
                    // An error about the whole list is an error about the file, told with the key that names it.
                    flow_list::parse(&text, shown)?;
                    Ok(text)
                })?;
            }
            Workload::Incast { .. } | Workload::LongLived { .. } | Workload::Collective { .. } => {}
        }
    }
    Ok(lists)
}

/// Reads a file named at `key`, relative to the file that names it. An error about the whole file is told at the key.
pub(crate) fn read<T>(
    document: &Node,
    key: &str,
    file: &str,
    dir: &Path,
    read: impl FnOnce(&Path, &str) -> Result<T, Error>,
) -> Result<T, Error> {
    let node = document.find(key.split('.')).0;
    let dir = match &node.place {
        Place::Line { file, .. } => &file.dir,
        Place::Json => return Err(node.error(key, "a resolved scenario carries what its files held, not their names")),
        Place::Set(_) | Place::Preset(_) | Place::Chip(_) => dir,
    };
    let path = dir.join(file);
    let name = path.display().to_string();
    read(&path, &name).map_err(|error| if error.place == name { node.error(key, error.problem) } else { error })
}
