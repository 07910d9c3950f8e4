//! Number of ns-3's random streams in use before the first random mark.
//!
//! Every random variable takes one stream, whether the simulator draws from it or not. In HPCC's simulator each node
//! has six variables: its routing and the five extension headers of its IPv6. Each error model has two variables: its
//! default and the replacement. One error model is shared by all links without an individual error rate; each other
//! link has its own.

use backwater_dataplane::Ns3Streams;
use backwater_scenario::model::Fault;
use backwater_scenario::topology::Graph;

/// Streams of one node.
const OF_A_NODE: usize = 6;
/// Streams of one error model.
const OF_AN_ERROR_MODEL: usize = 2;

/// Returns the remaining streams, which marks and pause frames take in the order of events.
pub fn streams(graph: &Graph, faults: &[Fault]) -> Ns3Streams {
    let own = faults.iter().filter(|fault| fault.loss > 0.0 && !fault.common).count();
    Ns3Streams::after(OF_A_NODE * graph.nodes.len() + OF_AN_ERROR_MODEL * (1 + own))
}
