//! How many of ns-3's streams are gone when the first mark is drawn.
//!
//! Every random variable takes one, whether anybody draws from it: in HPCC's simulator the routing of each node and the five
//! extension headers of its IPv6, and of the one error model that links without errors of their own share, its variable and the one
//! that is put in its place.

use backwater_dataplane::Ns3Streams;
use backwater_scenario::topology::Graph;

const OF_A_NODE: usize = 6;
const OF_THE_ERROR_MODEL: usize = 2;

/// Those that are left, for marks and pause frames in the order of events.
pub(crate) fn streams(graph: &Graph) -> Ns3Streams {
    Ns3Streams::after(OF_A_NODE * graph.nodes.len() + OF_THE_ERROR_MODEL)
}
