//! Links over time: the times at which they fail and come back.

use crate::routes::Routes;
use backwater_scenario::model::{Fault, Paths};
use backwater_scenario::topology::Graph;
use backwater_types::Instant;

/// A period of constant link states, which begins when links fail or come back.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Start of the epoch.
    pub at: Instant,
    /// Index of its routes in the list of [`epochs`].
    pub number: usize,
    /// Links that change at the start: `(link, is up)`.
    pub links: Vec<(usize, bool)>,
}

/// A change of link states at one switch.
#[derive(Clone, Debug)]
pub struct Change {
    /// Time of the change.
    pub at: Instant,
    /// Number of the [`Epoch`] that begins, which selects the new routes.
    pub epoch: usize,
    /// Ports of this switch with a link that fails (`false`) or comes back (`true`).
    pub ports: Vec<(u16, bool)>,
}

impl Epoch {
    /// Whether `link` changes at the start of the epoch.
    pub fn touches(&self, link: usize) -> bool {
        self.links.iter().any(|(l, _)| *l == link)
    }

    /// Selects the changes at a switch with these `links` at its ports.
    pub fn at_switch(&self, links: &[usize]) -> Change {
        let ports = links.iter().enumerate().filter_map(|(port, link)| {
            let (_, up) = self.links.iter().find(|(l, _)| l == link)?;
            Some((port as u16, *up))
        });
        Change { at: self.at, epoch: self.number, ports: ports.collect() }
    }
}

/// Whether `fault` is a fault of `link`.
pub fn is_on(graph: &Graph, fault: &Fault, link: usize) -> bool {
    let l = &graph.links[link];
    let (a, b) = (&graph.nodes[l.a].name, &graph.nodes[l.b].name);
    let [x, y] = &fault.link;
    (a == x && b == y) || (a == y && b == x)
}

/// Lists each time at which a link may change, ascending, with the new states: `[time][link]`, `true` for a link that
/// is up. Two consecutive states may be equal.
pub fn link_states(graph: &Graph, faults: &[Fault]) -> Vec<(Instant, Vec<bool>)> {
    let mut moments: Vec<Instant> = faults.iter().flat_map(|f| &f.down).flatten().map(|d| Instant(d.0)).collect();
    moments.sort();
    moments.dedup();
    let mut on: Vec<Vec<&Fault>> = vec![Vec::new(); graph.links.len()];
    for fault in faults.iter().filter(|fault| !fault.down.is_empty()) {
        (0..on.len()).filter(|link| is_on(graph, fault, *link)).for_each(|link| on[link].push(fault));
    }
    let is_up = |link: usize, at: Instant| {
        let mut downs = on[link].iter().flat_map(|fault| &fault.down);
        !downs.any(|[from, to]| Instant(from.0) <= at && at < Instant(to.0))
    };
    moments.into_iter().map(|at| (at, (0..graph.links.len()).map(|link| is_up(link, at)).collect())).collect()
}

/// Computes the routes for every state of the links, starting with all links up, and the epochs that select them.
pub fn epochs(graph: &Graph, faults: &[Fault], paths: Paths) -> (Vec<Routes>, Vec<Epoch>) {
    let mut up = vec![true; graph.links.len()];
    let mut routes = vec![Routes::new(graph, &up, paths)];
    let mut schedule = Vec::new();
    for (at, now) in link_states(graph, faults) {
        let links = (0..now.len()).filter(|l| now[*l] != up[*l]).map(|l| (l, now[l])).collect();
        schedule.push(Epoch { at, number: routes.len(), links });
        routes.push(Routes::new(graph, &now, paths));
        up = now;
    }
    (routes, schedule)
}
