//! What a file of a job holds, for those who make a scenario from it.

use crate::error::Error;
use crate::job::file::{Reading, files, format_of, hash_of, read_files, refused};
use crate::model::{JobFormat, JobModel, StartUnit};
use crate::sizes::read_text;
use backwater_jobs::htsim::fat_tree;
use backwater_jobs::{Job, Work};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// How a file is to be read, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    format: Option<JobFormat>,
    start_unit: Option<StartUnit>,
    signal: Option<u64>,
    #[serde(default)]
    model: JobModel,
    iterations: u32,
}

/// Reads a file of a job: its ranks, operations, messages, bytes, and phases of its first iteration. `asked` is JSON.
///
/// # Errors
/// If the file is not valid, or its format is not known.
pub fn facts(path: &Path, asked: &str) -> Result<Value, Error> {
    let name = path.display().to_string();
    let asked: Asked = serde_json::from_str(asked).map_err(|error| Error::at(&name, error.to_string()))?;
    let Asked { format, start_unit, signal, model, iterations } = asked;
    let Some(format) = format.or_else(|| format_of(&name)) else {
        return Err(Error::at(&name, "expected a format, since the name of the file does not say"));
    };
    if format == JobFormat::Htsim && start_unit.is_none() {
        return Err(Error::at(&name, "expected the unit of the starts, ps or us: the file does not say it"));
    }
    let reading = Reading { format, start_unit, signal, model, iterations };
    let files = files(path, &name, format)?;
    let job = read_files(&files, &hash_of(&files)?, &reading)?;
    Ok(of(&job, format))
}

fn of(job: &Job, format: JobFormat) -> Value {
    let (mut messages, mut bytes, mut compute) = (0_u64, 0_u64, 0_u128);
    for rank in 0..job.ranks() {
        for op in 0..job.len(rank) {
            match job.op(rank, op).work {
                Work::Send { bytes: size, .. } => (messages, bytes) = (messages + 1, bytes.saturating_add(size)),
                Work::Calc(time) => compute += u128::from(time.0),
                Work::Recv { .. } => {}
            }
        }
    }
    let phases = job.phases.iter().filter(|phase| phase.iteration == 0 && !phase.name.is_empty());
    json!({
        "format": format,
        "ranks": job.ranks(),
        "operations": job.operations(),
        "messages": messages,
        "bytes": bytes,
        "compute_ps": u64::try_from(compute).unwrap_or(u64::MAX),
        "phases": phases.map(|phase| &phase.name).collect::<Vec<_>>(),
    })
}

/// Reads a fat tree of htsim: its counts of switches, and its tiers from the hosts upwards.
///
/// # Errors
/// If the file is not valid.
pub fn htsim_tree(path: &Path) -> Result<Value, Error> {
    let name = path.display().to_string();
    let tree = fat_tree::read(&read_text(path, &name)?, &name).map_err(refused)?;
    let switches = tree.switches().map_err(|problem| Error::at(&name, problem.to_string()))?;
    let tier = |tier: &fat_tree::Tier| {
        json!({
            "rate_bps": tier.rate.0,
            "radix_down": tier.radix_down,
            "bundle": tier.bundle,
            "link_latency_ps": tier.link_latency.0,
            "switch_latency_ps": tier.switch_latency.0,
            "queue_down_bytes": tier.queue_down.map(|bytes| bytes.0),
            "queue_up_bytes": tier.queue_up.map(|bytes| bytes.0),
        })
    };
    Ok(json!({
        "hosts": tree.hosts,
        "pods": switches.pods,
        "tors": switches.tors,
        "aggregation": switches.aggregation,
        "cores": switches.cores,
        "tiers": tree.tiers.iter().map(tier).collect::<Vec<_>>(),
    }))
}
