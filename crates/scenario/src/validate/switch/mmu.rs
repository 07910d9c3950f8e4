//! MMUs and private memory.

use std::collections::HashSet;

use backwater_types::Bytes;

use super::Part;
use crate::error::Error;
use crate::model::{Assignment, Backpressure};

/// Most MMUs of a switch.
const MMUS_MAX: usize = 64;

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let (switch, mmu) = (part.switch, &part.switch.mmu);
    let graph = &part.net.graph;
    if let Some(ports) = mmu.ports {
        part.need(ports >= 1, "mmu.ports", || "expected at least 1".into())?;
    }
    part.need(mmu.neighbours.len() <= MMUS_MAX, "mmu.neighbours", || format!("expected at most {MMUS_MAX} MMUs"))?;
    let mut seen = HashSet::new();
    for (i, names) in mmu.neighbours.iter().enumerate() {
        part.need(!names.is_empty(), &format!("mmu.neighbours.{i}"), || "expected at least one neighbour".into())?;
        for (n, name) in names.iter().enumerate() {
            let field = format!("mmu.neighbours.{i}.{n}");
            let node = part.net.node(name).map_err(|problem| part.wrong(&field, problem))?;
            part.need(seen.insert(node), &field, || "named twice: expected each neighbour once".into())?;
            let mut links = graph.links.iter();
            let beside = links.any(|l| (l.a == node && part.here[l.b]) || (l.b == node && part.here[l.a]));
            part.need(beside, &field, || "no neighbour of any of these switches; expected one that is".into())?;
        }
    }
    let memory = mmu.private.0 > 0 || !mmu.queue.is_empty();
    let numbered = switch.assignment != Assignment::PerFlow;
    part.need(numbered || !memory, "mmu", || {
        "private memory belongs to numbered queues, and per-flow queues have no numbers; expected no private memory"
            .into()
    })?;
    let (queues, most) = (switch.data_queues(), Bytes(1 << 40));
    part.need(mmu.private <= most, "mmu.private", || format!("expected at most {most}"))?;
    part.need(mmu.queue.len() <= queues.into(), "mmu.queue", || {
        format!("{} queues: expected at most {queues}, the data queues of a port", mmu.queue.len())
    })?;
    for (i, queue) in mmu.queue.iter().enumerate() {
        let field = |name: &str| format!("mmu.queue.{i}.{name}");
        part.need(queue.alpha.is_none_or(|alpha| alpha > 0.0), &field("alpha"), || "expected more than 0".into())?;
        let private = queue.private.is_none_or(|bytes| bytes <= most);
        part.need(private, &field("private"), || format!("expected at most {most}"))?;
    }
    let ports = |node: usize| graph.links.iter().filter(|l| l.a == node || l.b == node).count();
    let most = (0..graph.nodes.len()).filter(|node| part.here[*node]).map(ports).max().unwrap_or(0);
    let by_number = mmu.neighbours.is_empty();
    let several = match by_number {
        true => mmu.ports.is_some_and(|ports| usize::from(ports) < most),
        false => mmu.neighbours.len() > 1,
    };
    let pfc = switch.backpressure == Backpressure::Pfc;
    part.need(!pfc || !several, if by_number { "mmu.ports" } else { "mmu.neighbours" }, || {
        format!("PFC accounts for one pool; expected one MMU for all {most} ports, or backpressure = \"none\"")
    })
}
