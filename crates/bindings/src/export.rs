//! Jobs as files of other formats.

use crate::{json, refused};
use backwater_scenario as scenario;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes the job of a workload of a resolved scenario to a file. `asked` and what is returned are JSON.
#[pyfunction]
pub(crate) fn job_export(py: Python<'_>, scenario_json: &str, asked: &str, out: PathBuf) -> PyResult<String> {
    let export = || scenario::job::export(&scenario::from_json(scenario_json)?, asked, &out);
    json(&py.detach(export).map_err(refused)?)
}

/// Writes the job of a file to another file. `asked` and what is returned are JSON.
#[pyfunction]
pub(crate) fn job_file_export(py: Python<'_>, path: PathBuf, asked: &str, out: PathBuf) -> PyResult<String> {
    json(&py.detach(|| scenario::job::export_file(&path, asked, &out)).map_err(refused)?)
}
