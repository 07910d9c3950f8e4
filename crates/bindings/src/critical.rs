//! The critical path of an iteration of a job.

use crate::{InputError, json, refused};
use backwater_scenario as scenario;
use backwater_sim::measure::critical;
use backwater_sim::measure::critical::Times;
use backwater_types::Instant;
use pyo3::prelude::*;

/// Returns the critical path of an iteration of a job, as JSON. It ran from `ran_ps[0]` to `ran_ps[1]`, in a run that
/// ended at `end_ps`. `times` are the starts of
/// all flows of the job, their arrivals and their acknowledgements, as 64-bit integers in bytes.
#[pyfunction]
pub(crate) fn critical_path(
    py: Python<'_>,
    scenario_json: &str,
    class: usize,
    iteration: u32,
    times: [Vec<u8>; 3],
    ran_ps: (u64, u64),
    end_ps: u64,
) -> PyResult<String> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let found = py.detach(|| {
        let [started, received, acknowledged] = &times.map(instants);
        let times = Times { started, received, acknowledged };
        let ran = (Instant(ran_ps.0), Instant(ran_ps.1));
        critical::critical_path(&scenario, class, iteration, times, ran, Instant(end_ps))
    });
    json(&found.map_err(|error| InputError::new_err(error.to_string()))?)
}

fn instants(bytes: Vec<u8>) -> Vec<Instant> {
    bytes.chunks_exact(8).map(|eight| Instant(u64::from_le_bytes(eight.try_into().expect("eight bytes")))).collect()
}
