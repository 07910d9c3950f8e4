//! Suppression of backpressure: the pairs of ingress and egress that are named have to exist.

use std::collections::HashSet;

use super::Part;
use crate::error::Error;
use crate::model::Elide;

pub(super) fn check(part: &Part, field: &str, elide: &Elide) -> Result<(), Error> {
    let Elide::Turns(turns) = elide else { return Ok(()) };
    let graph = &part.net.graph;
    let links: HashSet<(usize, usize)> =
        graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]).collect();
    for (i, turn) in turns.iter().enumerate() {
        let field = format!("{field}.{i}");
        let mut nodes = [0; 3];
        for (slot, name) in turn.iter().enumerate() {
            nodes[slot] = part.net.node(name).map_err(|problem| part.wrong(&format!("{field}.{slot}"), problem))?;
        }
        let [from, switch, to] = nodes;
        // A packet may go back to the neighbour that it came from, when routes change.
        let turns_there = switch >= graph.hosts && links.contains(&(from, switch)) && links.contains(&(switch, to));
        part.need(turns_there, &field, || "expected [from, switch, to] with links from-switch and switch-to".into())?;
    }
    Ok(())
}
