//! Resolution: from the document of one run to its typed, valid scenario.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::document::{Node, Place, Value};
use crate::error::Error;
use crate::flow_list;
use crate::host_list::HostList;
use crate::job::file::{self, Reading};
use crate::job::generated::algorithm_of;
use crate::model::{JobFormat, JobModel, JobSource, LoadedJob, Scenario, Sizes, Switch, Topology, Workload};
use crate::ranges::range;
use crate::sizes::{self, read_text};
use crate::validate::{self, Lists};
use crate::{presets, schema, structure};
use backwater_jobs::Job;
use backwater_jobs::collective::{Kind, algorithms};
use backwater_jobs::job::RANKS_MAX;
use backwater_jobs::op::BYTES_MAX;
use backwater_jobs::simai::MICROBATCHES_MAX;

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
    let net = validate::check(&document, &scenario)?;
    let lists = read_files(&document, &mut scenario, dir)?;
    validate::check_workloads(&document, &scenario, &net, &lists)?;
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

/// Reads the files that workloads name, and replaces the names by the contents.
fn read_files(document: &Node, scenario: &mut Scenario, dir: &Path) -> Result<Lists, Error> {
    let mut lists = Lists::default();
    let named = match &scenario.topology {
        Topology::Graph { hosts, .. } => Some(hosts.as_slice()),
        _ => None,
    };
    for (i, workload) in scenario.workload.iter_mut().enumerate() {
        if let Workload::Collective { hosts, hosts_file, .. } | Workload::Job { hosts, hosts_file, .. } = workload
            && let Some(given) = hosts_file.take()
        {
            let key = format!("workload.{i}.hosts_file");
            if !hosts.is_empty() {
                let node = document.find(key.split('.')).0;
                return Err(node.error(key, "given beside hosts: expected one of the two"));
            }
            let parse = |path: &Path, shown: &str| HostList::parse(&read_text(path, shown)?, shown, named);
            let list = read(document, &key, &given, dir, parse)?;
            *hosts = list.entries.iter().map(|entry| entry.host.clone()).collect();
            lists.hosts.insert(i, list);
        }
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
                    lists.flows.insert(i, format!("workload.{i}.rows"));
                    continue;
                };
                let key = format!("workload.{i}.file");
                if !flows.is_empty() || !rows.is_empty() {
                    let node = document.find(key.split('.')).0;
                    return Err(node.error(key, "given beside flows: expected one of the two"));
                }
                *rows = read(document, &key, &given, dir, |path, shown| {
                    lists.flows.insert(i, shown.into());
                    let text = read_text(path, shown)?;
                    // An error about the whole list is an error about the file, told with the key that names it.
                    flow_list::parse(&text, shown)?;
                    Ok(text)
                })?;
            }
            Workload::Job { file, format, start_unit, signal, model, rows, source, iterations, loaded, .. } => {
                let reading = Reading {
                    format: format.unwrap_or(JobFormat::Goal),
                    start_unit: *start_unit,
                    signal: signal.map(|signal| signal.0),
                    model: (**model).clone(),
                    iterations: *iterations,
                };
                let job = read_job(document, i, (file, format, rows, source), reading, dir)?;
                *loaded = LoadedJob { job: Some(job), ..LoadedJob::default() };
            }
            Workload::Incast { .. } | Workload::LongLived { .. } | Workload::Collective { .. } => {}
        }
    }
    Ok(lists)
}

/// Fields of a workload that say where its job comes from.
type JobFields<'a> = (&'a mut Option<String>, &'a mut Option<JobFormat>, &'a mut String, &'a mut Option<JobSource>);

/// Reads the job of workload number `i`, and keeps what a resolved scenario needs to read it again.
fn read_job(
    document: &Node,
    i: usize,
    (given, format, rows, source): JobFields,
    mut reading: Reading,
    dir: &Path,
) -> Result<Arc<Job>, Error> {
    let at = |field: &str| format!("workload.{i}.{field}");
    let wrong = |field: &str, problem: String| document.find(at(field).split('.')).0.error(at(field), problem);
    let places = [given.is_some(), !rows.is_empty(), source.is_some()];
    if places.into_iter().filter(|there| *there).count() != 1 {
        return Err(wrong("file", "expected a file with the job, and neither rows nor a source beside it".into()));
    }
    let named = given.as_deref().and_then(file::format_of);
    let Some(kind) = format.or(named) else {
        return Err(wrong("format", "expected the format of the job, since the name of its file does not say".into()));
    };
    *format = Some(kind);
    reading.format = kind;
    let htsim = kind == JobFormat::Htsim;
    if htsim != reading.start_unit.is_some() {
        let problem = match htsim {
            true => "expected \"ps\" or \"us\", the unit of the starts in this file, which does not say it",
            false => "expected no unit: this format has none to choose",
        };
        return Err(wrong("start_unit", problem.into()));
    }
    if !htsim && reading.signal.is_some() {
        return Err(wrong("signal", "expected no size: this format has no triggers".into()));
    }
    check_model(&reading, &wrong)?;
    let reading = &reading;
    if let Some(source) = source {
        return file::read_again(source, reading);
    }
    let Some(given) = given.take() else { return file::parse(rows, &at("rows"), reading) };
    let (kept, job) = read(document, &at("file"), &given, dir, |path, shown| file::read(path, shown, reading))?;
    match kept {
        file::Kept::Rows(text) => *rows = text,
        file::Kept::Source(from) => *source = Some(from),
    }
    Ok(job)
}

/// Checks what a scenario says of a trace or a text workload.
fn check_model(reading: &Reading, wrong: &dyn Fn(&str, String) -> Error) -> Result<(), Error> {
    let Reading { format, model, iterations, .. } = reading;
    let plain = JobModel::default();
    let simai = *format == JobFormat::Simai;
    if !simai && *format != JobFormat::Chakra && *model != plain {
        return Err(wrong("model", "expected none: only SimAI's and Chakra's formats leave something open".into()));
    }
    let only_simai = [
        ("model.ranks", model.ranks.is_some()),
        ("model.first_dimension", model.first_dimension.is_some()),
        ("model.stages", model.stages.is_some()),
        ("model.microbatches", model.microbatches.is_some()),
        ("model.stage_bytes", model.stage_bytes.is_some()),
        ("model.virtual_stages", model.virtual_stages != 1),
        ("model.shrink", model.shrink != 1),
    ];
    if let Some((field, _)) = only_simai.into_iter().find(|(_, given)| *given && !simai) {
        return Err(wrong(field, "expected none: only SimAI's format leaves it open".into()));
    }
    if simai && !model.control_dependencies {
        return Err(wrong("model.control_dependencies", "expected none: only Chakra's format leaves it open".into()));
    }
    if simai && !model.groups.is_empty() {
        return Err(wrong("model.groups", "expected none: only Chakra's format leaves it open".into()));
    }
    let counts = [
        ("model.ranks", model.ranks.unwrap_or(1), RANKS_MAX),
        ("model.first_dimension", model.first_dimension.unwrap_or(1), RANKS_MAX),
        ("model.stages", model.stages.unwrap_or(1), RANKS_MAX),
        ("model.microbatches", model.microbatches.unwrap_or(1), MICROBATCHES_MAX),
        ("model.channels", model.channels.into(), 64),
        ("model.virtual_stages", model.virtual_stages, 1 << 10),
        ("model.shrink", model.shrink, 1 << 20),
        ("iterations", if simai { *iterations } else { 1 }, 1 << 16),
    ];
    for (field, count, most) in counts {
        if !(1..=most).contains(&count) {
            return Err(wrong(field, format!("expected 1 to {most}")));
        }
    }
    if model.stage_bytes.is_some_and(|bytes| !(1..=BYTES_MAX).contains(&bytes.0)) {
        return Err(wrong("model.stage_bytes", "expected 1 B to 128 GiB".into()));
    }
    let known = algorithms(Kind::AllReduce).contains(&algorithm_of(Kind::AllReduce, Some(model.all_reduce)));
    if !known {
        let words = "ring, bidirectional-ring, recursive-doubling, halving-doubling, double-binary-tree or direct";
        return Err(wrong("model.all_reduce", format!("expected {words}")));
    }
    Ok(())
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
