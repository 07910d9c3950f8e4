//! Duration of a run, and the flows that count.

use backwater_types::Duration;

use super::{Doc, Net};
use crate::error::Error;

/// Longest run: the engine's event keys hold 46 bits of picoseconds, 70.4 s; a minute is the round number below.
const DURATION_MAX: Duration = Duration(60_000_000_000_000);
const CLOCK_MAX: u64 = 1 << 46;
/// Most flows of a run that is limited by their number: all are drawn to find its duration, two million a second.
const FLOWS_MAX: u32 = 10_000_000;

pub(super) fn check(doc: &Doc, net: &Net) -> Result<(), Error> {
    let run = &doc.scenario.run;
    let within = run.duration > Duration::ZERO && run.duration <= DURATION_MAX;
    doc.need(within, "run.duration", || {
        format!("expected more than 0 and at most {DURATION_MAX}, the range of the clock")
    })?;
    doc.need(run.flows.is_none_or(|flows| (1..=FLOWS_MAX).contains(&flows)), "run.flows", || {
        format!("expected 1 to {FLOWS_MAX}")
    })?;
    let arrive = doc.scenario.workload.iter().any(|workload| !workload.is_closed_loop());
    doc.need(run.flows.is_none() || arrive, "run.flows", || {
        "flows of collectives and jobs wait for one another: expected run.duration, or another workload whose flows it counts"
            .into()
    })?;
    let counts_all = run.flows.is_none() || run.warmup.is_none_or(|warmup| warmup == Duration::ZERO);
    doc.need(counts_all, "run.warmup", || {
        "run.flows sets the length of the run; expected \"0 s\", or no run.warmup, which then is a tenth of the run"
            .into()
    })?;
    let known = run.flows.is_none() || run.cooldown.is_none_or(|cooldown| cooldown == Duration::ZERO);
    doc.need(known, "run.cooldown", || "run.flows sets the length of the run; expected none".into())?;
    doc.need(run.warmup() < run.duration, "run.warmup", || {
        format!("expected less than run.duration = {}", run.duration)
    })?;
    doc.need(run.warmup() < run.counted_until(), "run.cooldown", || {
        let most = run.duration - run.warmup();
        format!("expected less than {most}, which run.warmup leaves of run.duration")
    })?;
    doc.need(run.origin <= DURATION_MAX, "run.origin", || format!("expected at most {DURATION_MAX}"))?;
    let end = run.duration.0 as f64 * run.drain;
    // A limit of flows makes the run shorter than its duration; the engine stops at the end of its clock.
    let reached = end <= CLOCK_MAX as f64 || run.flows.is_some();
    doc.need(run.drain >= 1.0 && reached, "run.drain", || {
        let most = CLOCK_MAX as f64 / run.duration.0 as f64;
        format!("expected 1 to {:.0}, a multiple of run.duration that the clock reaches", most.floor())
    })?;
    if let Some(window) = run.window {
        let most = net.graph.look_ahead(&doc.scenario.host, &doc.scenario.conventions);
        let within = window > Duration::ZERO && window <= most;
        doc.need(within, "run.window", || {
            format!("expected more than 0 and at most {most}, the shortest link delay and the shortest frame on it")
        })?;
    }
    Ok(())
}
