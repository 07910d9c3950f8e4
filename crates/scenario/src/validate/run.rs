//! How long, and what is recorded.

use backwater_types::Duration;

use super::{Doc, Net};
use crate::error::Error;
use crate::model::{Backpressure, Switch, names};

/// The engine's event keys hold 46 bits of picoseconds, 70.4 s; a minute is the round number below.
const DURATION_MAX: Duration = Duration(60_000_000_000_000);
const CLOCK_MAX: u64 = 1 << 46;
const BINS_MAX: usize = 64;
/// Times of every flow are kept.
const FLOWS_MAX: u32 = 1_000_000_000;
/// Finer sampling would cost more than the simulation.
const SAMPLE_MIN: Duration = Duration(10_000);

pub(super) fn check(doc: &Doc, net: &Net) -> Result<(), Error> {
    let run = &doc.scenario.run;
    let within = run.duration > Duration::ZERO && run.duration <= DURATION_MAX;
    doc.need(within, "run.duration", || {
        format!("expected more than 0 and at most {DURATION_MAX}, the range of the clock")
    })?;
    doc.need(run.flows.is_none_or(|flows| (1..=FLOWS_MAX).contains(&flows)), "run.flows", || {
        format!("expected 1 to {FLOWS_MAX}")
    })?;
    let counts_all = run.flows.is_none() || run.warmup.is_none_or(|warmup| warmup == Duration::ZERO);
    doc.need(counts_all, "run.warmup", || {
        "run.flows sets how long the run is; expected \"0 s\", or nothing for a tenth of it".into()
    })?;
    doc.need(run.warmup() < run.duration, "run.warmup", || {
        format!("expected less than run.duration = {}", run.duration)
    })?;
    doc.need(run.origin <= DURATION_MAX, "run.origin", || format!("expected at most {DURATION_MAX}"))?;
    let end = run.duration.0 as f64 * run.drain;
    // A number of flows makes the run shorter than its duration; the engine stops at the end of its clock.
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
    check_measure(doc, net)
}

fn check_measure(doc: &Doc, net: &Net) -> Result<(), Error> {
    let measure = &doc.scenario.measure;
    let sampled = measure.sample == Duration::ZERO || measure.sample >= SAMPLE_MIN;
    doc.need(sampled, "measure.sample", || format!("expected \"0 s\" for none, or at least {SAMPLE_MIN}"))?;
    let samples = measure.queues.is_empty() && !measure.pools && !measure.pauses || measure.sample > Duration::ZERO;
    doc.need(samples, "measure.sample", || {
        "measure.queues, measure.pools and measure.pauses need a period; expected more than 0".into()
    })?;
    let by_name = |switch: &Switch| !matches!(switch.backpressure, Backpressure::None | Backpressure::Pfc);
    let pauses = !measure.pauses || by_name(&doc.scenario.switch);
    doc.need(pauses, "measure.pauses", || {
        "no queue or flow is paused by itself; expected false, or backpressure = \"bfc\", \"flowsail\" or \"per-flow\""
            .into()
    })?;
    for (i, [switch, peer]) in measure.queues.iter().enumerate() {
        let key = |at: usize| format!("measure.queues.{i}.{at}");
        let switches = net.switches(switch).map_err(|problem| doc.wrong(&key(0), problem))?;
        if !peer.ends_with('*') {
            net.node(peer).map_err(|problem| doc.wrong(&key(1), problem))?;
        }
        let ends = net.graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let named = |to: usize| names(peer, &net.graph.nodes[to].name);
        let linked = ends.into_iter().any(|(at, to)| switches.contains(&at) && named(to));
        doc.need(linked, &key(1), || format!("no neighbour of {switch}; expected one that is"))?;
    }
    let bins = &measure.size_bins;
    doc.need(bins.len() <= BINS_MAX, "measure.size_bins", || format!("expected at most {BINS_MAX} bins"))?;
    for (i, end) in bins.iter().enumerate() {
        let below = if i == 0 { 0 } else { bins[i - 1].0 };
        let key = format!("measure.size_bins.{i}");
        doc.need(end.0 > below, &key, || {
            format!("expected more than the end before it, {}", backwater_types::Bytes(below))
        })?;
    }
    Ok(())
}
