//! How many of ns-3's streams are gone when the first mark is drawn.
//!
//! Every random variable takes one, whether anybody draws from it: in HPCC's simulator the routing of each node and the five
//! extension headers of its IPv6, and of each error model its variable and the one that is put in its place: there is one that links
//! without errors of their own share, and one for each other.

use backwater_dataplane::Ns3Streams;
use backwater_scenario::model::Fault;
use backwater_scenario::topology::Graph;

const OF_A_NODE: usize = 6;
const OF_AN_ERROR_MODEL: usize = 2;

/// Those that are left, for marks and pause frames in the order of events.
pub fn streams(graph: &Graph, faults: &[Fault]) -> Ns3Streams {
    let own = faults.iter().filter(|fault| fault.loss > 0.0 && !fault.common).count();
    Ns3Streams::after(OF_A_NODE * graph.nodes.len() + OF_AN_ERROR_MODEL * (1 + own))
}
