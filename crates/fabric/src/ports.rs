//! Numbering of the ports of nodes.

use backwater_scenario::topology::Graph;

/// Lists the link of each port, `[node][port]`.
pub fn ports(graph: &Graph) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); graph.nodes.len()];
    for (i, link) in graph.links.iter().enumerate() {
        out[link.a].push(i);
        out[link.b].push(i);
    }
    out
}
