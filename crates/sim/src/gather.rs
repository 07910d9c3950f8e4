//! The outcome of a run, from the results of its partitions.

use crate::run::partition_results::PartitionResults;
use backwater_dataplane::Assigned;
use backwater_engine::Partition;
use backwater_fabric::ports;
use backwater_measure::Outcome;
use backwater_paged::{Paged, Record};
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_types::Instant;
use std::collections::BTreeMap;

/// Merges the results of all partitions.
pub(crate) fn gather(
    scenario: &Scenario,
    graph: &Graph,
    mut parts: Vec<(Box<dyn Partition>, PartitionResults)>,
) -> Outcome {
    let mut outcome = Outcome::empty(scenario, graph);
    for (nodes, results) in &mut parts {
        outcome.packet_hops += nodes.packet_hops();
        take_results(&mut outcome, results);
        take_hosts(&mut outcome, &**nodes);
        nodes.switches(&mut |switch| outcome.take_switch(switch));
        take_ports(&mut outcome, &mut **nodes, results);
    }
    outcome
}

fn take_results(outcome: &mut Outcome, results: &mut PartitionResults) {
    merge(&mut outcome.started, &mut results.started, Instant::min);
    merge(&mut outcome.received, &mut results.received, Instant::min);
    merge(&mut outcome.acknowledged, &mut results.acknowledged, Instant::min);
    merge(&mut outcome.retransmitted, &mut results.retransmitted, |a, b| a + b);
    merge(&mut outcome.timeouts, &mut results.timeouts, |a, b| a + b);
    for (all, here) in outcome.progress.iter_mut().zip(&mut results.progress) {
        all.spans.append(&mut here.spans);
        all.waiting.append(&mut here.waiting);
    }
    outcome.samples.join(std::mem::take(&mut results.samples));
    outcome.links.append(&mut results.links);
    outcome.ended = results.ended;
    outcome.complete &= !results.cancelled;
    outcome.stood_still |= results.stalled;
    let [from, middle, to] = &results.acknowledged_bytes;
    for class in 0..outcome.goodput.len() {
        outcome.goodput[class] += to[class].saturating_sub(from[class]);
        outcome.early_goodput[class] += middle[class].saturating_sub(from[class]);
    }
}

fn take_hosts(outcome: &mut Outcome, nodes: &dyn Partition) {
    nodes.hosts(&mut |host| {
        outcome.drops[host.number as usize] = host.drops;
        outcome.timeout_reasons.iter_mut().zip(host.timeouts).for_each(|(sum, n)| *sum += n);
        outcome.credits.received += host.credits.received;
        outcome.credits.wasted += host.credits.wasted;
    });
}

/// Adds the counters of ports, and their queue assignments.
fn take_ports(outcome: &mut Outcome, nodes: &mut dyn Partition, results: &PartitionResults) {
    let (links, ended, mut i) = (ports(&outcome.graph), outcome.ended, 0);
    let mut assigned: BTreeMap<(u32, u16), Assigned> = BTreeMap::new();
    nodes.switches(&mut |switch| {
        let of = |port| ((switch.number(), port), switch.readings().assigned(port));
        assigned.extend((0..switch.ports()).map(of));
    });
    nodes.ports(ended, &mut |node, port, total| {
        let link = outcome.graph.links[links[node as usize][usize::from(port)]];
        let from = results.at_warm.get(i).copied().unwrap_or_default();
        let to = results.at_end.get(i).copied().unwrap_or(*total);
        i += 1;
        let assigned = assigned.get(&(node, port)).copied().unwrap_or_default();
        outcome.take_port((node, port), &link, [&from, &to, total], assigned);
    });
}

/// Merges two columns row by row. The first one is moved, not copied.
fn merge<T: Record>(into: &mut Paged<T>, from: &mut Paged<T>, join: impl Fn(T, T) -> T) {
    let from = std::mem::take(from);
    match into.is_empty() {
        true => *into = from,
        false => (0..into.len()).for_each(|row| into.set(row, join(into.get(row), from.get(row)))),
    }
}
