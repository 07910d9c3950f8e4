//! The critical path of an iteration of a job, from the times of its messages.

use backwater_jobs::critical::{Kind, Path, Step};
use backwater_jobs::drive::{First, When};
pub use backwater_jobs::replay::Times;
use backwater_jobs::{Placed, critical};
use backwater_scenario::model::{Scenario, Workload};
use backwater_scenario::{job, topology};
use backwater_traffic::Traffic;
use backwater_types::{Duration, Instant};
use serde_json::{Value, json};

/// Why there is no critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The iteration did not run so.
    #[error(transparent)]
    Unknown(#[from] critical::Unknown),
    /// There are more or fewer flows than messages.
    #[error("{found} flows: expected those of the {expected} messages of the job")]
    Flows {
        /// Number of flows.
        found: usize,
        /// Number of messages.
        expected: usize,
    },
}

/// Returns the critical path of iteration `iteration` of workload number `class`, a job, as JSON: `begin_ps`, `end_ps`
/// and `steps`. The iteration ran from `ran.0` to `ran.1`, and the run ended at `end`. `times` are those of all flows of
/// the job, in the order of their numbers.
///
/// # Errors
/// If the times are not those of the job, or if the order of what happened at one instant matters and is not known.
///
/// # Panics
/// If the workload is no job.
pub fn critical_path(
    scenario: &Scenario,
    class: usize,
    iteration: u32,
    times: Times,
    ran: (Instant, Instant),
    end: Instant,
) -> Result<Value, Refused> {
    let graph = topology::expand(&scenario.topology);
    let workload = &scenario.workload[class];
    let start = match workload {
        Workload::Collective { start, .. } | Workload::Job { start, .. } => *start,
        _ => Duration::ZERO,
    };
    let placed = job::placed(scenario, workload, &graph).expect("scenario checked: the job fits");
    let flows = Traffic::new(scenario, &graph).closed_loop_flows_of(class);
    let (expected, of) = (flows.len(), [times.started, times.received, times.acknowledged]);
    if let Some(found) = of.map(|all| all.len()).into_iter().find(|found| *found != expected) {
        return Err(Refused::Flows { found, expected });
    }
    let when = When { start: Instant::ZERO + start, tick: job::tick(&scenario.conventions), end, first: First::Wakes };
    let path = critical::critical_path(&placed, when, times, iteration, ran)?;
    Ok(whole(&path, &placed, workload.class(), flows.start as u32))
}

fn whole(path: &Path, placed: &Placed, class: &str, first_flow: u32) -> Value {
    let steps = path.steps.iter().map(|step| one(step, placed, class, first_flow));
    json!({ "begin_ps": path.begin.0, "end_ps": path.end.0, "steps": steps.collect::<Vec<_>>() })
}

fn one(step: &Step, placed: &Placed, class: &str, first_flow: u32) -> Value {
    let (from, op) = step.op;
    let phase = &placed.job().phases[placed.job().op(from, op).phase as usize].name;
    json!({
        "kind": Kind::NAMES[step.kind as usize],
        "rank": step.rank,
        "sender": step.kind.is_message().then_some(from),
        "phase": if phase.is_empty() { class } else { phase },
        "begin_ps": step.begin.0,
        "end_ps": step.end.0,
        "flow": step.message.map(|number| first_flow + number),
    })
}
