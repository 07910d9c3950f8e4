//! Recordings beyond flows and counters.

use backwater_types::{Bytes, Duration};

use super::{Doc, Net};
use crate::error::Error;
use crate::model::{Assignment, Switch, names};

const BINS_MAX: usize = 64;
/// Shortest period of samples: finer sampling would cost more than the simulation.
const SAMPLE_MIN: Duration = Duration(10_000);

pub(super) fn check(doc: &Doc, net: &Net) -> Result<(), Error> {
    let measure = &doc.scenario.measure;
    let sampled = measure.sample == Duration::ZERO || measure.sample >= SAMPLE_MIN;
    doc.need(sampled, "measure.sample", || format!("expected \"0 s\" for none, or at least {SAMPLE_MIN}"))?;
    let links = measure.links == Duration::ZERO || measure.links >= SAMPLE_MIN;
    doc.need(links, "measure.links", || format!("expected \"0 s\" for none, or at least {SAMPLE_MIN}"))?;
    let sampled = [!measure.queues.is_empty(), measure.pools, measure.pauses, measure.sharing];
    doc.need(!sampled.contains(&true) || measure.sample > Duration::ZERO, "measure.sample", || {
        "measure.queues, measure.pools, measure.pauses and measure.sharing need a period; expected more than 0".into()
    })?;
    let named = !measure.data_queues || !measure.queues.is_empty();
    doc.need(named, "measure.data_queues", || "no port is sampled: expected `measure.queues` to name some".into())?;
    let scenario = &doc.scenario;
    let numbered = |switch: &Switch| switch.assignment != Assignment::PerFlow;
    let numbered = numbered(&scenario.switch) && scenario.region.iter().all(|region| numbered(&region.switch));
    for (key, asked) in [("data_queues", measure.data_queues), ("sharing", measure.sharing)] {
        doc.need(numbered || !asked, &format!("measure.{key}"), || {
            "with assignment = \"per-flow\" every flow has a queue of its own: expected false".into()
        })?;
    }
    let pauses = !measure.pauses || doc.scenario.switch.grain().is_fine();
    doc.need(pauses, "measure.pauses", || {
        "this scheme pauses no single queue or flow; expected false, or backpressure = \"bfc\", \"flowsail\" or \"per-flow\""
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
        doc.need(end.0 > below, &key, || format!("expected more than the end before it, {}", Bytes(below)))?;
    }
    Ok(())
}
