//! Event engine: time at the nodes of a network. The engine is generic over hosts, switches and the order of events. It
//! compiles nothing for a scheme; the `engines-*` crates do that.
//!
//! | module | contents |
//! |---|---|
//! | [`partition`] | interface of one thread's nodes, which the loop of a run drives |
//! | [`setup`], [`mod@build`] | construction of partitions from a scenario |
//! | [`nodes`], [`typed_partition`] | nodes of one thread, by type, and the partition that they make |
//! | [`windows`] | events of a window, node by node |
//! | [`hpcc`] | events in the order of the HPCC simulator |
//! | [`host`], [`hosts`] | hosts: a NIC and both ends of flows |
//! | [`switch_node`] | switches: a data plane with its links and routes |
//! | [`schedule`], [`node_by_node`], [`tree`] | pending events and frames in flight |
//! | [`link`] | frames on links |
//! | [`observe`] | hooks at every event |

pub mod build;
pub mod host;
pub mod hosts;
pub mod hpcc;
pub mod link;
pub mod node_by_node;
pub mod nodes;
pub mod observe;
pub mod partition;
pub mod schedule;
pub mod setup;
pub mod switch_node;
pub mod tree;
pub mod typed_partition;
pub mod windows;

pub use build::build;
pub use partition::Partition;
pub use setup::{Order, Setup};
