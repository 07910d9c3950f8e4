//! Strong components and cycles of a directed graph.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// Directed graph whose edges are numbered.
#[derive(Clone, Debug)]
pub struct Digraph {
    edges: Vec<(u32, u32)>,
    /// `[vertex]`: start of its edges in `out`; the last entry is the end of all edges.
    first: Vec<u32>,
    /// Edges, sorted by the vertex that they leave.
    out: Vec<u32>,
}

/// Number of no vertex, edge or search index.
const NONE: u32 = u32::MAX;

impl Digraph {
    /// Creates a graph of `vertices` vertices and these edges.
    ///
    /// # Panics
    /// If an edge names a vertex that is not there.
    pub fn new(vertices: usize, edges: Vec<(u32, u32)>) -> Digraph {
        let mut first = vec![0u32; vertices + 1];
        edges.iter().for_each(|(from, _)| first[*from as usize + 1] += 1);
        (0..vertices).for_each(|v| first[v + 1] += first[v]);
        let mut next = first.clone();
        let mut out = vec![0; edges.len()];
        for (edge, (from, to)) in edges.iter().enumerate() {
            assert!((*to as usize) < vertices, "edge {edge} leads to vertex {to} of {vertices}");
            out[next[*from as usize] as usize] = edge as u32;
            next[*from as usize] += 1;
        }
        Digraph { edges, first, out }
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns `(from, to)` of each edge.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    fn leaving(&self, vertex: u32) -> &[u32] {
        &self.out[self.first[vertex as usize] as usize..self.first[vertex as usize + 1] as usize]
    }

    /// Returns `[vertex]`: its strong component by the `kept` edges, if a cycle goes through it. Components are
    /// numbered by their lowest vertex. Tarjan 1972, without recursion.
    pub fn components(&self, kept: impl Fn(u32) -> bool) -> Vec<Option<u32>> {
        let count = self.vertices();
        let (mut index, mut low) = (vec![NONE; count], vec![NONE; count]);
        let mut of: Vec<Option<u32>> = vec![None; count];
        let (mut stack, mut on_stack) = (Vec::new(), vec![false; count]);
        let (mut numbered, mut found) = (0, 0);
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..count as u32 {
            if index[root as usize] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some((vertex, at)) = path.pop() {
                let v = vertex as usize;
                if at == 0 {
                    (index[v], low[v]) = (numbered, numbered);
                    numbered += 1;
                    stack.push(vertex);
                    on_stack[v] = true;
                }
                let rest = self.leaving(vertex)[at..].iter().enumerate().filter(|(_, edge)| kept(**edge));
                let mut deeper = None;
                for (i, &edge) in rest {
                    let to = self.edges[edge as usize].1;
                    if index[to as usize] == NONE {
                        deeper = Some((at + i + 1, to));
                        break;
                    }
                    if on_stack[to as usize] {
                        low[v] = low[v].min(index[to as usize]);
                    }
                }
                if let Some((next, to)) = deeper {
                    path.push((vertex, next));
                    path.push((to, 0));
                    continue;
                }
                if low[v] == index[v] {
                    let start = stack.iter().rposition(|on| *on == vertex).expect("it was pushed");
                    let loops = || self.leaving(vertex).iter().any(|e| kept(*e) && self.edges[*e as usize].1 == vertex);
                    if stack.len() - start > 1 || loops() {
                        stack[start..].iter().for_each(|member| of[*member as usize] = Some(found));
                        found += 1;
                    }
                    stack.drain(start..).for_each(|member| on_stack[member as usize] = false);
                }
                if let Some((above, _)) = path.last() {
                    let above = *above as usize;
                    low[above] = low[above].min(low[v]);
                }
            }
        }
        by_lowest(of, found)
    }

    /// Returns a shortest cycle of the smallest component, by the `kept` edges; `None` if there is no cycle. Ties: the
    /// component with the lowest vertex, then the first cycle found.
    pub fn cycle(&self, kept: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
        let of = self.components(&kept);
        let mut sizes: Vec<usize> = Vec::new();
        for component in of.iter().flatten() {
            sizes.resize(sizes.len().max(*component as usize + 1), 0);
            sizes[*component as usize] += 1;
        }
        let smallest = (0..sizes.len()).min_by_key(|component| sizes[*component])? as u32;
        let mut best: Option<Vec<u32>> = None;
        for start in (0..self.vertices() as u32).filter(|v| of[*v as usize] == Some(smallest)) {
            let shorter = best.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(cycle) = self.cycle_through(start, shorter, &kept) {
                best = Some(cycle);
            }
        }
        best
    }

    /// Returns a shortest cycle through `start` of fewer than `below` edges.
    fn cycle_through(&self, start: u32, below: usize, kept: &impl Fn(u32) -> bool) -> Option<Vec<u32>> {
        let mut by = vec![NONE; self.vertices()];
        let mut queue = VecDeque::from([(start, 1)]);
        while let Some((vertex, edges)) = queue.pop_front() {
            if edges >= below {
                return None;
            }
            for &edge in self.leaving(vertex).iter().filter(|edge| kept(**edge)) {
                let to = self.edges[edge as usize].1;
                if to == start {
                    return Some(self.walked(start, edge, &by));
                }
                if by[to as usize] == NONE {
                    by[to as usize] = edge;
                    queue.push_back((to, edges + 1));
                }
            }
        }
        None
    }

    /// Returns the first cycle that a depth-first search closes.
    fn any_cycle(&self, kept: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
        let mut done = vec![false; self.vertices()];
        let mut on_path = vec![false; self.vertices()];
        for root in 0..self.vertices() as u32 {
            // `path`: vertices, each with the number of its edges that were followed. `edges`: the edges between them.
            let (mut path, mut edges) = (vec![(root, 0)], Vec::new());
            while let Some((vertex, followed)) = path.last_mut() {
                on_path[*vertex as usize] = true;
                let next = if done[*vertex as usize] { None } else { self.leaving(*vertex).get(*followed) };
                *followed += 1;
                match next {
                    Some(edge) if !kept(*edge) || done[self.edges[*edge as usize].1 as usize] => {}
                    Some(edge) if on_path[self.edges[*edge as usize].1 as usize] => {
                        let to = self.edges[*edge as usize].1;
                        edges.push(*edge);
                        let start = path.iter().position(|(on, _)| *on == to).expect("it is on the path");
                        return Some(edges.split_off(start));
                    }
                    Some(edge) => {
                        edges.push(*edge);
                        path.push((self.edges[*edge as usize].1, 0));
                    }
                    None => {
                        (done[*vertex as usize], on_path[*vertex as usize]) = (true, false);
                        path.pop();
                        edges.pop();
                    }
                }
            }
        }
        None
    }

    /// Returns the walk from `start` to the end of edge `last`; edge `by[vertex]` reached each vertex.
    fn walked(&self, start: u32, last: u32, by: &[u32]) -> Vec<u32> {
        let mut cycle = vec![last];
        let mut at = self.edges[last as usize].0;
        while at != start {
            let edge = by[at as usize];
            cycle.push(edge);
            at = self.edges[edge as usize].0;
        }
        cycle.reverse();
        cycle
    }

    /// Returns cycles with a total weight below 1. Each is the lightest cycle through a vertex and an edge that leads
    /// back to the vertex; ties go to the fewest edges. `weights` are 0 or more.
    pub fn light_cycles(&self, weights: &[f64]) -> Vec<Vec<u32>> {
        let slack = 1.0 - 1e-6;
        let mut found = BTreeSet::new();
        let mut back: Vec<Vec<u32>> = vec![Vec::new(); self.vertices()];
        for (edge, (_, to)) in self.edges.iter().enumerate().filter(|(edge, _)| weights[*edge] < slack) {
            back[*to as usize].push(edge as u32);
        }
        let of = self.components(|edge| weights[edge as usize] < slack);
        // `reached`: (weight, edges) from the start. Weights are compared as integers, so that the order is total.
        let (mut reached, mut by) = (vec![(u64::MAX, NONE); self.vertices()], vec![NONE; self.vertices()]);
        let whole = |weight: f64| (weight.max(0.0) * 1e9) as u64;
        let limit = whole(slack);
        for start in (0..self.vertices() as u32).filter(|v| of[*v as usize].is_some()) {
            reached.fill((u64::MAX, NONE));
            by.fill(NONE);
            reached[start as usize] = (0, 0);
            let mut heap = BinaryHeap::from([Reverse(((0u64, 0u32), start))]);
            while let Some(Reverse((at, vertex))) = heap.pop() {
                if at > reached[vertex as usize] {
                    continue;
                }
                for &edge in self.leaving(vertex) {
                    let to = self.edges[edge as usize].1;
                    let next = (at.0 + whole(weights[edge as usize]), at.1 + 1);
                    if next.0 < limit && of[to as usize] == of[start as usize] && next < reached[to as usize] {
                        reached[to as usize] = next;
                        by[to as usize] = edge;
                        heap.push(Reverse((next, to)));
                    }
                }
            }
            for &edge in &back[start as usize] {
                let from = self.edges[edge as usize].0;
                let (weight, _) = reached[from as usize];
                if weight != u64::MAX && weight + whole(weights[edge as usize]) < limit {
                    let mut cycle = self.walked(start, edge, &by);
                    let lowest = (0..cycle.len()).min_by_key(|i| cycle[*i]).expect("an edge at least");
                    cycle.rotate_left(lowest);
                    found.insert(cycle);
                }
            }
        }
        found.into_iter().collect()
    }

    /// Extends `chosen` to a minimal set of edges without which the graph has no cycle. First, each remaining cycle
    /// loses its cheapest edge. Then each edge that need not be removed is put back, the dearest first. Edges of
    /// infinite cost are never removed.
    ///
    /// Returns `None` if edges of infinite cost form a cycle.
    pub fn complete(&self, chosen: &[u32], costs: &[f64]) -> Option<Vec<u32>> {
        let mut gone = vec![false; self.edges.len()];
        chosen.iter().for_each(|edge| gone[*edge as usize] = true);
        while let Some(cycle) = self.any_cycle(|edge| !gone[edge as usize]) {
            let cost = |edge: &u32| costs[*edge as usize];
            let cheapest = cycle.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
            if cost(cheapest).is_infinite() {
                return None;
            }
            gone[*cheapest as usize] = true;
        }
        let mut dearest: Vec<u32> = (0..self.edges.len() as u32).filter(|edge| gone[*edge as usize]).collect();
        dearest.sort_by(|a, b| costs[*b as usize].total_cmp(&costs[*a as usize]));
        for edge in dearest {
            let (from, to) = self.edges[edge as usize];
            gone[edge as usize] = self.leads(to, from, |other| !gone[other as usize]);
        }
        Some((0..self.edges.len() as u32).filter(|edge| gone[*edge as usize]).collect())
    }

    /// Whether a walk over `kept` edges leads from one vertex to another.
    fn leads(&self, from: u32, to: u32, kept: impl Fn(u32) -> bool) -> bool {
        let mut seen = vec![false; self.vertices()];
        let mut stack = vec![from];
        while let Some(vertex) = stack.pop() {
            if vertex == to {
                return true;
            }
            if !std::mem::replace(&mut seen[vertex as usize], true) {
                stack.extend(self.leaving(vertex).iter().filter(|e| kept(**e)).map(|e| self.edges[*e as usize].1));
            }
        }
        false
    }
}

/// Numbers components by their lowest vertices.
fn by_lowest(of: Vec<Option<u32>>, found: u32) -> Vec<Option<u32>> {
    let mut numbers = vec![NONE; found as usize];
    let mut next = 0;
    of.into_iter()
        .map(|component| {
            let number = &mut numbers[component? as usize];
            if *number == NONE {
                *number = next;
                next += 1;
            }
            Some(*number)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::{Stream, range32};

    /// Draws a graph of 1 to 7 vertices.
    fn drawn(seed: u64) -> Digraph {
        let mut draws = Stream::new(seed, 1, 0);
        let mut below = |n: u32| range32(draws.next_u32(), n);
        let vertices = 1 + below(7);
        let edges = below(2 * vertices + 2);
        Digraph::new(vertices as usize, (0..edges).map(|_| (below(vertices), below(vertices))).collect())
    }

    /// Returns `[from][to]`: whether a walk of one edge or more leads there. It is the transitive closure (Warshall
    /// 1962).
    fn closure(graph: &Digraph, kept: impl Fn(u32) -> bool) -> Vec<Vec<bool>> {
        let n = graph.vertices();
        let mut way = vec![vec![false; n]; n];
        for (edge, (a, b)) in graph.edges().iter().enumerate() {
            way[*a as usize][*b as usize] |= kept(edge as u32);
        }
        for via in 0..n {
            for from in 0..n {
                for to in 0..n {
                    way[from][to] |= way[from][via] && way[via][to];
                }
            }
        }
        way
    }

    /// Returns the length of a shortest cycle through each vertex, by powers of the graph.
    fn girths(graph: &Digraph) -> Vec<Option<usize>> {
        let n = graph.vertices();
        let mut walk: Vec<Vec<bool>> = (0..n).map(|a| (0..n).map(|b| a == b).collect()).collect();
        let mut girths = vec![None; n];
        for length in 1..=n {
            let mut longer = vec![vec![false; n]; n];
            for &(a, b) in graph.edges() {
                for row in 0..n {
                    longer[row][b as usize] |= walk[row][a as usize];
                }
            }
            walk = longer;
            (0..n).for_each(|v| girths[v] = girths[v].or(walk[v][v].then_some(length)));
        }
        girths
    }

    fn is_cycle(graph: &Digraph, cycle: &[u32]) -> bool {
        let edge = |i: usize| graph.edges()[cycle[i % cycle.len()] as usize];
        let mut through: Vec<u32> = (0..cycle.len()).map(|i| edge(i).0).collect();
        through.sort_unstable();
        through.dedup();
        through.len() == cycle.len() && (0..cycle.len()).all(|i| edge(i).1 == edge(i + 1).0)
    }

    #[test]
    fn components_and_cycles_are_those_of_brute_force() {
        let mut cyclic = 0;
        for seed in 0..10_000 {
            let graph = drawn(seed);
            let way = closure(&graph, |_| true);
            let of = graph.components(|_| true);
            for a in 0..graph.vertices() {
                assert_eq!(of[a].is_some(), way[a][a], "{seed}");
                for b in 0..graph.vertices() {
                    assert_eq!(of[a].is_some() && of[a] == of[b], way[a][b] && way[b][a], "{seed}: {a} {b}");
                }
            }
            let Some(cycle) = graph.cycle(|_| true) else {
                assert!(of.iter().all(Option::is_none), "{seed}");
                continue;
            };
            cyclic += 1;
            assert!(is_cycle(&graph, &cycle), "{seed}: {cycle:?}");
            let home = of[graph.edges()[cycle[0] as usize].0 as usize].expect("in a component");
            let size = |component: u32| of.iter().filter(|other| **other == Some(component)).count();
            assert!(of.iter().flatten().all(|other| (size(*other), *other) >= (size(home), home)), "{seed}");
            let shortest =
                (0..graph.vertices()).filter(|v| of[*v] == Some(home)).filter_map(|v| girths(&graph)[v]).min();
            assert_eq!(Some(cycle.len()), shortest, "{seed}");
        }
        assert!((2_000..9_000).contains(&cyclic), "{cyclic}");
    }

    /// Returns the least cost of a set of edges without which there is no cycle, over all sets of edges.
    fn least(graph: &Digraph, costs: &[f64]) -> Option<f64> {
        let free: Vec<u32> = (0..graph.edges().len() as u32).filter(|e| costs[*e as usize].is_finite()).collect();
        let sets = (0..1u32 << free.len()).filter_map(|set| {
            let gone = |edge: u32| free.iter().position(|e| *e == edge).is_some_and(|i| set >> i & 1 == 1);
            let way = closure(graph, |edge| !gone(edge));
            let cost = || free.iter().filter(|e| gone(**e)).map(|e| costs[*e as usize]).sum();
            (0..graph.vertices()).all(|v| !way[v][v]).then(cost)
        });
        sets.min_by(f64::total_cmp)
    }

    #[test]
    fn a_completed_set_leaves_no_cycle_and_has_no_spare_edge() {
        for seed in 0..3_000 {
            let graph = drawn(seed);
            let edges = graph.edges().len();
            let mut draws = Stream::new(seed, 2, 0);
            let costs: Vec<f64> =
                (0..edges).map(|_| if range32(draws.next_u32(), 6) == 0 { f64::INFINITY } else { 1.0 }).collect();
            let chosen: Vec<u32> =
                (0..edges as u32).filter(|e| costs[*e as usize] == 1.0 && draws.next_u32() & 3 == 0).collect();
            let done = graph.complete(&chosen, &costs);
            if edges <= 8 {
                let least = least(&graph, &costs);
                assert_eq!(done.is_some(), least.is_some(), "{seed}");
                assert!(done.as_ref().is_none_or(|done| done.len() as f64 >= least.unwrap_or(0.0)), "{seed}");
            }
            let Some(done) = done else { continue };
            assert!(graph.cycle(|edge| !done.contains(&edge)).is_none(), "{seed}");
            assert!(done.iter().all(|edge| costs[*edge as usize] == 1.0), "{seed}");
            for spare in &done {
                let without = |edge: u32| edge == *spare || !done.contains(&edge);
                assert!(graph.cycle(without).is_some(), "{seed}: {spare} of {done:?} is not needed");
            }
        }
    }

    #[test]
    fn light_cycles_are_cycles_and_there_are_some_where_any_is_light() {
        for seed in 0..5_000 {
            let graph = drawn(seed);
            let mut draws = Stream::new(seed, 3, 0);
            let weights: Vec<f64> =
                graph.edges().iter().map(|_| f64::from(range32(draws.next_u32(), 5)) / 4.0).collect();
            let found = graph.light_cycles(&weights);
            for cycle in &found {
                let weight: f64 = cycle.iter().map(|edge| weights[*edge as usize]).sum();
                assert!(is_cycle(&graph, cycle) && weight < 1.0, "{seed}: {cycle:?}");
            }
            // The lightest of the simple cycles, found by following every path.
            let mut lightest = f64::INFINITY;
            for start in 0..graph.vertices() as u32 {
                let mut ways = vec![(start, vec![start], 0.0)];
                while let Some((at, seen, weight)) = ways.pop() {
                    for (edge, &(from, to)) in graph.edges().iter().enumerate().filter(|(_, edge)| edge.0 == at) {
                        let weight = weight + weights[edge];
                        assert_eq!(from, at);
                        if to == start {
                            lightest = lightest.min(weight);
                        } else if !seen.contains(&to) {
                            ways.push((to, [seen.as_slice(), &[to]].concat(), weight));
                        }
                    }
                }
            }
            assert_eq!(found.is_empty(), lightest >= 1.0, "{seed}: {lightest}");
        }
    }
}
