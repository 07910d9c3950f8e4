//! The job of a model: every rank with its computations, collectives and messages between stages.
//!
//! [`plan`](super::plan) says which rows a rank runs, and [`rank`](super::rank) what it does for them.
//!
//! * **Iteration**: rows before the first microbatch run forward at its start, and backward at its end.
//! * **Stages** pass on `pp_comm` bytes forward and backward ([`schedule`](super::schedule)). SimAI has a formula instead.

use super::plan::{Options, Phases, Plan};
use super::rank::Writer;
use super::text::Model;
use crate::job::{Job, JobBuilder, MADE_MAX};
use crate::refused::Refused;

/// Makes the job of a model. `file` is its name in messages.
///
/// # Errors
/// If the ranks or the rows cannot be divided as the file and the options say, or the job is too large.
pub fn job(model: &Model, options: Options, file: &str) -> Result<Job, Refused> {
    let refuse = |problem: String| Refused::at(file, problem);
    let plan = Plan::new(model, options).map_err(|(line, problem)| match line {
        Some(line) => Refused::line(file, line, problem),
        None => refuse(problem),
    })?;
    let operations = plan.operations();
    if operations > MADE_MAX {
        let ranks = plan.division.ranks();
        let problem = format!(
            "about {operations} operations of {ranks} ranks: expected at most {MADE_MAX}, with fewer iterations or ranks"
        );
        return Err(refuse(problem));
    }
    let mut builder = JobBuilder::of_trace();
    let phases = Phases::new(&mut builder, options.iterations, plan.microbatches.len() as u32);
    for rank in 0..plan.division.ranks() {
        let mut writer = Writer::new(&mut builder, &plan, &phases, rank);
        for iteration in 0..options.iterations {
            writer.iteration(iteration)?;
        }
        builder.end_rank().map_err(|problem| Refused::at(file, problem))?;
    }
    builder.finish().map_err(|problem| Refused::at(file, problem))
}
