//! Jobs as files of other formats.

use crate::error::Error;
use crate::job::file::{Reading, files, hash_of, read_files};
use crate::job::generated;
use crate::job::placing::tick;
use crate::model::{JobFormat, JobModel, Scenario, StartUnit, Workload};
use crate::topology;
use backwater_jobs::htsim::{Unit, matrix, matrix_of};
use backwater_jobs::{Job, LeftOut, Unwritten, csv, goal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::sync::Arc;

/// How a job is to be written, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Format of the file that is written.
    to: JobFormat,
    /// Unit of the starts in a connection matrix.
    #[serde(default)]
    start_unit: Option<StartUnit>,
    /// What is left out.
    #[serde(default)]
    leave_out: Vec<Part>,
    /// Format of the file that is read.
    #[serde(default)]
    from: Option<JobFormat>,
    /// Class of the workload in a scenario; absent: the only one with a job.
    #[serde(default)]
    class: Option<String>,
}

/// What a format may have no words for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Part {
    Phases,
    Acknowledgements,
    Fractions,
}

/// Writes the job of a workload of a resolved scenario. Returns what it has.
///
/// # Errors
/// If the scenario has no such workload, the format cannot say what the job has, or the file cannot be written.
pub fn export(scenario: &Scenario, asked: &str, out: &Path) -> Result<Value, Error> {
    let asked = parse(asked)?;
    let (class, job, iterations) = job_of(scenario, asked.class.as_deref())?;
    write(&job, class, &asked, out, iterations)
}

/// Writes the job of a file in another format. Returns what it has.
///
/// # Errors
/// If the file is not valid, the format cannot say what the job has, or the file cannot be written.
pub fn export_file(path: &Path, asked: &str, out: &Path) -> Result<Value, Error> {
    let (asked, name) = (parse(asked)?, path.display().to_string());
    let Some(format) = asked.from else { return Err(Error::at(name, "expected the format of the file")) };
    let (start_unit, model) = (asked.start_unit.filter(|_| format == JobFormat::Htsim), JobModel::default());
    if format == JobFormat::Htsim && start_unit.is_none() {
        return Err(Error::at(name, "expected the unit of the starts, ps or us: the file does not say it"));
    }
    let reading = Reading { format, start_unit, signal: None, model, iterations: 1 };
    let files = files(path, &name, format)?;
    let job = read_files(&files, &hash_of(&files)?, &reading)?;
    write(&job, &name, &asked, out, 1)
}

fn parse(asked: &str) -> Result<Asked, Error> {
    serde_json::from_str(asked).map_err(|error| Error::at("what to export", error.to_string()))
}

/// Finds a workload that has a job: its class, the job, and how often it runs.
fn job_of<'a>(scenario: &'a Scenario, class: Option<&str>) -> Result<(&'a str, Arc<Job>, u32), Error> {
    let refuse = |problem: String| Error::at("workload", problem);
    let all: Vec<&Workload> = scenario.workload.iter().filter(|workload| workload.is_closed_loop()).collect();
    let named: Vec<&Workload> =
        all.iter().copied().filter(|workload| class.is_none_or(|class| workload.class() == class)).collect();
    let classes = || all.iter().map(|workload| workload.class()).collect::<Vec<_>>().join(", ");
    let workload = match (&named[..], class) {
        ([only], _) => *only,
        _ if all.is_empty() => return Err(refuse("expected a job or a collective; the scenario has neither".into())),
        ([], Some(class)) => return Err(refuse(format!("class {class}: expected one of {}", classes()))),
        _ => return Err(refuse(format!("{} jobs and collectives: expected one class of {}", all.len(), classes()))),
    };
    let (job, iterations) = match workload {
        Workload::Job { loaded, format, iterations, .. } => {
            let job = loaded.job.clone().expect("the job was read");
            // The iterations of a text workload are in the job.
            (job, if *format == Some(JobFormat::Simai) { 1 } else { *iterations })
        }
        Workload::Collective { hosts, iterations, .. } => {
            let all = || topology::expand(&scenario.topology).hosts;
            let ranks = if hosts.is_empty() { all() } else { hosts.len() };
            let (job, repeats) = generated::job(workload, ranks as u32, tick(&scenario.conventions)).map_err(refuse)?;
            (job, if repeats { *iterations } else { 1 })
        }
        _ => unreachable!("a workload with a job"),
    };
    Ok((workload.class(), job, iterations))
}

fn write(job: &Job, name: &str, asked: &Asked, out: &Path, iterations: u32) -> Result<Value, Error> {
    let leaves = |part: Part| asked.leave_out.contains(&part);
    let left = LeftOut {
        phases: leaves(Part::Phases),
        acknowledgements: leaves(Part::Acknowledgements),
        fractions: leaves(Part::Fractions),
    };
    let job = left.of(job);
    let place = out.display().to_string();
    let mut file = File::create(out).map_err(|error| Error::at(&place, format!("cannot be written: {error}")))?;
    let written = match (asked.to, asked.start_unit) {
        (JobFormat::Goal, _) => goal::write::write(&job, &file),
        (JobFormat::GoalBinary, _) => goal::binary::write(&job, &file),
        (JobFormat::Csv, _) => csv::write(&job, &file),
        (JobFormat::Htsim, Some(unit)) => {
            let unit = if unit == StartUnit::Ps { Unit::Picoseconds } else { Unit::Microseconds };
            matrix_of(&job).and_then(|matrix| matrix::write(&matrix, unit, &file))
        }
        (JobFormat::Htsim, None) => return Err(Error::at(name, "expected the unit of the starts, ps or us")),
        (JobFormat::Simai | JobFormat::Chakra, _) => {
            return Err(Error::at(name, "expected goal, goal-binary, csv or htsim, which are written"));
        }
    };
    written.map_err(|unwritten| match unwritten {
        Unwritten::Io(error) => Error::at(&place, format!("cannot be written: {error}")),
        Unwritten::Cannot { .. } => Error::at(name, unwritten.to_string()),
    })?;
    Ok(json!({
        "ranks": job.ranks(),
        "operations": job.operations(),
        "iterations": iterations,
        "bytes": file.stream_position().unwrap_or(0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::facts;

    const SCENARIO: &str = r#"
        scheme = "bfc"
        [topology]
        kind = "single-switch"
        hosts = 4
        rate = "100 Gbps"
        delay = "1 us"
        [run]
        duration = "1 ms"
        [[workload]]
        kind = "collective"
        class = "ring"
        pattern = "all-reduce"
        bytes = "4 KB"
        iterations = 3
        by_steps = true
        [[workload]]
        kind = "job"
        class = "table"
        format = "csv"
        rows = """
id,src,dst,bytes,after,compute_ns
a,0,1,100,,5
b,1,0,200,a,
"""
    "#;

    fn planned(text: &str) -> Scenario {
        let plan = crate::load_str(text, Path::new("."), "s.toml", &[], None).expect("valid");
        plan.runs[0].scenario.clone()
    }

    #[test]
    fn jobs_and_collectives_of_a_scenario_are_written() {
        let scenario = planned(SCENARIO);
        let out = std::env::temp_dir().join(format!("backwater-export-{}", std::process::id()));
        let write = |asked: &str| export(&scenario, asked, &out).map_err(|error| error.to_string());
        let wrote = write(r#"{"to": "csv", "class": "table"}"#).expect("written");
        let text = std::fs::read_to_string(&out).expect("a file");
        assert_eq!(
            text,
            "id,src,dst,bytes,after,compute_ns\nm0,0,1,100,,0.005\n".replace("0.005", "5") + "m1,1,0,200,m0,\n"
        );
        assert_eq!(
            (&wrote["ranks"], &wrote["iterations"], &wrote["bytes"]),
            (&json!(2), &json!(1), &json!(text.len()))
        );
        let said = write(r#"{"to": "goal", "class": "ring"}"#).expect_err("phases");
        assert_eq!(said, "ring: phase \"step 1\": GOAL cannot say that");
        let wrote = write(r#"{"to": "goal-binary", "class": "ring", "leave_out": ["phases"]}"#).expect("written");
        assert_eq!((&wrote["ranks"], &wrote["iterations"]), (&json!(4), &json!(3)));
        let read = facts(&out, r#"{"format": "goal-binary", "iterations": 1}"#).expect("valid");
        assert_eq!((&read["ranks"], &read["operations"]), (&wrote["ranks"], &wrote["operations"]));
        let asked = r#"{"to": "htsim", "start_unit": "ps", "from": "goal-binary"}"#;
        let matrix = out.with_extension("cm");
        export_file(&out, asked, &matrix).expect("written");
        let read = facts(&matrix, r#"{"format": "htsim", "start_unit": "ps", "iterations": 1}"#).expect("valid");
        assert_eq!((&read["ranks"], &read["messages"], &read["bytes"]), (&json!(4), &json!(24), &json!(24_000)));
        let said = write(r#"{"to": "goal"}"#).expect_err("two");
        assert_eq!(said, "workload: 2 jobs and collectives: expected one class of ring, table");
        let said = write(r#"{"to": "goal", "class": "rings"}"#).expect_err("another");
        assert_eq!(said, "workload: class rings: expected one of ring, table");
        let said = export_file(&matrix, r#"{"to": "csv", "from": "htsim"}"#, &out).expect_err("no unit").to_string();
        assert!(said.ends_with("expected the unit of the starts, ps or us: the file does not say it"), "{said}");
        for file in [out, matrix] {
            std::fs::remove_file(file).expect("it was written");
        }
    }
}
