//! The replay of a switch's log.

use crate::{InputError, json, set_attributes};
use backwater_replay::{Difference, Ending, Error, Replay, replay as run};
use pyo3::prelude::*;
use serde_json::{Value, json as value};
use std::path::Path;

/// Replays the log of a switch, and returns what came of it, as JSON.
#[pyfunction]
pub(crate) fn replay(py: Python<'_>, path: &str) -> PyResult<String> {
    let mut interrupted = None;
    let mut go_on = |_| Python::attach(|py| py.check_signals()).map_err(|error| interrupted = Some(error)).is_ok();
    let outcome = py.detach(|| run(Path::new(path), &mut go_on)).map_err(|error| refused(path, &error))?;
    match (interrupted, outcome) {
        (Some(error), _) => Err(error),
        (None, outcome) => json(&outcome.map(|replay| to_json(&replay))),
    }
}

fn refused(path: &str, error: &Error) -> PyErr {
    let refusal = InputError::new_err(format!("{path}: {error}"));
    let place = error.place().map_or_else(|| path.to_string(), |place| format!("{path}: {place}"));
    set_attributes(&refusal, [Some(place), Some(path.into()), None, None, Some(error.problem.clone()), None]);
    refusal
}

fn to_json(replay: &Replay) -> Value {
    let Replay { backwater, switch, scheme, records, packets, until, ending, difference } = replay;
    let (ending, torn) = match ending {
        None => (None, None),
        Some(Ending::Complete) => (Some("complete"), None),
        Some(Ending::Interrupted) => (Some("interrupted"), None),
        Some(Ending::Torn { record, byte, call }) => {
            let call = call.map(|call| call.to_string());
            (Some("torn"), Some(value!({ "record": record, "byte": byte, "call": call })))
        }
    };
    value!({
        "written_by": backwater,
        "switch": switch,
        "scheme": scheme,
        "equal": difference.is_none(),
        "records": records,
        "packets": packets,
        "until_ps": until.0,
        "ending": ending,
        "torn": torn,
        "difference": difference.as_ref().map(difference_json),
    })
}

fn difference_json(difference: &Difference) -> Value {
    let Difference { record, at, call, facts } = difference;
    let facts: Vec<Value> = facts
        .iter()
        .map(|fact| value!({ "what": fact.what, "expected": fact.expected, "found": fact.found }))
        .collect();
    value!({ "record": record, "time_ps": at.0, "call": call.to_string(), "facts": facts })
}
