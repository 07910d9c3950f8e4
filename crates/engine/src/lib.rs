//! The event engine: how time passes at the nodes of a network. Generic over hosts, switches and the order of events; nothing is
//! compiled for a scheme here, that is for the `engines-*` crates.
//!
//! | module | contents |
//! |---|---|
//! | [`partition`] | one thread's nodes behind one interface: what the loop of a run drives |
//! | [`setup`], [`build`] | from a scenario to partitions |
//! | [`nodes`] | one thread's nodes, by type |
//! | [`windows`] | the events of a window: node by node |
//! | [`hpcc`] | the same in the order of the HPCC simulator |
//! | [`host`], [`hosts`] | both ends of flows: a NIC and a transport |
//! | [`switch_node`] | a data plane with its links and routes |
//! | [`schedule`], [`node_by_node`], [`tree`] | events ahead and frames in flight |
//! | [`link`] | frames on links |
//! | [`flow`], [`keys`] | flows, and the hashes by which switches tell them apart |
//! | [`observe`] | hooks at every event |
//! | [`stats`], [`meters`], [`link_meter`] | counters of ports, and measurements on the path of every packet |

pub mod build;
pub mod flow;
pub mod host;
pub mod hosts;
pub mod hpcc;
pub mod keys;
pub mod link;
pub mod link_meter;
pub mod meters;
pub mod node_by_node;
pub mod nodes;
pub mod observe;
pub mod partition;
pub mod schedule;
pub mod setup;
pub mod stats;
pub mod switch_node;
pub mod tree;
pub mod windows;

pub use build::build;
pub use flow::{ENDLESS, Flow};
pub use keys::{FlowKeys, flow_key};
pub use partition::Partition;
pub use setup::{Order, Setup};
