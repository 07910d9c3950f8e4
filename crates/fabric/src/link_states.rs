//! Links over time: the moments at which they fail and come back.

use crate::routes::Routes;
use backwater_scenario::model::{Fault, Paths};
use backwater_scenario::topology::Graph;
use backwater_types::Instant;

/// A moment at which links fail or come back.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// When it begins.
    pub at: Instant,
    /// Its routes, by place in the list of [`epochs`].
    pub number: usize,
    /// Links that change then, and whether they are up from now on.
    pub links: Vec<(usize, bool)>,
}

/// A change of links as one switch sees it.
#[derive(Clone, Debug)]
pub struct Change {
    /// When it happens.
    pub at: Instant,
    /// Routes from then on: the number of their [`Epoch`].
    pub epoch: usize,
    /// Ports of this switch whose link fails (`false`) or comes back (`true`).
    pub ports: Vec<(u16, bool)>,
}

impl Epoch {
    /// Whether `link` changes.
    pub fn touches(&self, link: usize) -> bool {
        self.links.iter().any(|(l, _)| *l == link)
    }

    /// The change at a switch whose ports have these `links`.
    pub fn at_switch(&self, links: &[usize]) -> Change {
        let ports = links.iter().enumerate().filter_map(|(port, link)| {
            let (_, up) = self.links.iter().find(|(l, _)| l == link)?;
            Some((port as u16, *up))
        });
        Change { at: self.at, epoch: self.number, ports: ports.collect() }
    }
}

/// Whether `fault` is one of `link`.
pub fn is_on(graph: &Graph, fault: &Fault, link: usize) -> bool {
    let l = &graph.links[link];
    let (a, b) = (&graph.nodes[l.a].name, &graph.nodes[l.b].name);
    let [x, y] = &fault.link;
    (a == x && b == y) || (a == y && b == x)
}

/// Which links are up from the start and from each moment on at which one may change, ascending: `[moment][link]`. Two that follow one
/// another may be equal.
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

/// Routes for every state of the links, with all up first, and the moments between them.
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
