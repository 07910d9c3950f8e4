//! The end of a run, and the wait-for relation of blocked queues if it left flows unfinished.

use crate::outcome::{HeldQueue, Outcome};
use backwater_fabric::ports;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Maximum number of blocked queues in the report.
const HELD_MAX: usize = 1000;

/// Whether the run is complete: it was not cancelled, and every counted flow has finished or need not finish.
pub(crate) fn complete(outcome: &Outcome, unfinished: u64) -> bool {
    outcome.complete && (unfinished == 0 || !outcome.scenario.run.all_finish)
}

/// Reports the end of a run that left `unfinished` counted flows unfinished.
pub(crate) fn ending(outcome: &Outcome, unfinished: u64) -> Value {
    let why = match (outcome.complete, outcome.stood_still, unfinished) {
        (false, ..) => "interrupted",
        (_, true, _) => "standstill",
        (.., 0) => "finished",
        _ => "time",
    };
    let waits = if unfinished > 0 { waits(outcome) } else { Vec::new() };
    let row = |wait: &Wait| wait.to_json(outcome);
    json!({
        "why": why,
        "held_queues": waits.len(),
        "held": waits.iter().take(HELD_MAX).map(row).collect::<Vec<_>>(),
        "cycle": cycle(&waits).into_iter().map(row).collect::<Vec<_>>(),
    })
}

/// A blocked queue, which its peer keeps from sending.
struct Wait<'a> {
    peer: u32,
    queue: &'a HeldQueue,
}

fn waits(outcome: &Outcome) -> Vec<Wait<'_>> {
    let links = ports(&outcome.graph);
    let peer = |node: usize, port: usize| outcome.graph.peer(links[node][port], node) as u32;
    let peers = outcome.held.iter().map(|queue| peer(queue.node as usize, queue.port as usize));
    outcome.held.iter().zip(peers).map(|(queue, peer)| Wait { peer, queue }).collect()
}

impl Wait<'_> {
    fn to_json(&self, outcome: &Outcome) -> Value {
        let name = |node: u32| outcome.graph.nodes[node as usize].name.as_str();
        let HeldQueue { node, queue, bytes, ref flows, .. } = *self.queue;
        json!({ "node": name(node), "for": name(self.peer), "queue": queue, "bytes": bytes, "first": flows[0], "flows": flows.len() })
    }
}

/// Finds a cycle of queues in which each waits for the next, and the last for the first; empty if there is none. A
/// queue waits for the blocked queue of its peer that holds packets of the flow at its own head. If no blocked queue
/// holds such packets, it waits for any blocked queue of the peer.
fn cycle<'a, 'b>(waits: &'a [Wait<'b>]) -> Vec<&'a Wait<'b>> {
    let mut at: BTreeMap<u32, Vec<&Wait>> = BTreeMap::new();
    waits.iter().for_each(|wait| at.entry(wait.queue.node).or_default().push(wait));
    // A queue that waits for a node without blocked queues is in no cycle.
    loop {
        let free = |wait: &&Wait| !at.contains_key(&wait.peer);
        let out: Vec<u32> = at.iter().filter(|(_, waits)| waits.iter().all(free)).map(|(node, _)| *node).collect();
        if out.is_empty() {
            break;
        }
        out.iter().for_each(|node| _ = at.remove(node));
    }
    let nodes: Vec<u32> = at.keys().copied().collect();
    at.values_mut().for_each(|waits| waits.retain(|wait| nodes.contains(&wait.peer)));
    let Some(mut last) = at.values().next().map(|waits| waits[0]) else { return Vec::new() };
    let mut walked = vec![last];
    loop {
        let next = &at[&last.peer];
        let first = last.queue.flows[0];
        last = next.iter().find(|wait| wait.queue.flows.contains(&first)).unwrap_or(&next[0]);
        if let Some(start) = walked.iter().position(|wait| std::ptr::eq(*wait, last)) {
            return walked.split_off(start);
        }
        walked.push(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the nodes of a cycle among queues of (node, peer, flows in the queue).
    fn nodes_of_cycle(of: &[(u32, u32, &[u32])]) -> Vec<u32> {
        let queue = |&(node, _, flows): &(u32, u32, &[u32])| HeldQueue {
            node,
            port: 0,
            queue: 0,
            bytes: 1,
            flows: flows.into(),
        };
        let queues: Vec<HeldQueue> = of.iter().map(queue).collect();
        let waits: Vec<Wait> = of.iter().zip(&queues).map(|(of, queue)| Wait { peer: of.1, queue }).collect();
        cycle(&waits).iter().map(|wait| wait.queue.node).collect()
    }

    #[test]
    fn a_cycle_is_found_among_queues_that_only_lead_to_it() {
        assert!(nodes_of_cycle(&[]).is_empty());
        assert!(nodes_of_cycle(&[(1, 2, &[7]), (2, 3, &[7]), (4, 2, &[7])]).is_empty());
        let around = [(1, 2, &[7][..]), (2, 9, &[7]), (2, 3, &[7]), (3, 4, &[7]), (4, 2, &[7]), (0, 1, &[7])];
        assert_eq!(nodes_of_cycle(&around), [2, 3, 4]);
        assert_eq!(nodes_of_cycle(&[(1, 2, &[7]), (2, 1, &[8])]), [1, 2]);
        // Node 2 has two blocked queues: the one with the head flow of node 1 is followed.
        assert_eq!(
            nodes_of_cycle(&[(1, 2, &[7]), (2, 3, &[8]), (2, 4, &[9, 7]), (3, 1, &[8]), (4, 1, &[9])]),
            [1, 2, 4]
        );
    }
}
