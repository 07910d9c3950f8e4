//! A static description of a network: nodes, links, routes and their changes over time, derived from a scenario.
//!
//! The crate has no events, no clock and no type parameter. A simulator, a deadlock check and a software switch build
//! from the same [`Blueprint`].
//!
//! | module | contents |
//! |---|---|
//! | [`blueprint`] | every node with its links and the parameters to build it, split into partitions |
//! | [`wire`] | one direction of a link: rate, delay, faults |
//! | [`link_states`] | links that are up, by time |
//! | [`routes`] | next hops of equal cost, for one state of the links |
//! | [`choice`] | load balancing: the choice among next hops of equal cost |
//! | [`flow`], [`keys`] | flows, and the hashes by which switches tell them apart |
//! | [`sites`] | path parameters of flows: line rate, window and base round trip |
//! | [`paths`] | the longest delays of a network |
//! | [`probes`] | meters of packets and pauses |
//! | [`partition`] | assignment of nodes to threads |
//! | [`hpcc`] | quantities that the public HPCC simulator computes from a network |

pub mod blueprint;
pub mod choice;
pub mod flow;
pub mod hpcc;
pub mod keys;
pub mod link_states;
pub mod partition;
pub mod paths;
mod ports;
pub mod probes;
pub mod routes;
pub mod sites;
pub mod wire;

pub use blueprint::{Blueprint, HostPlan, SwitchPlan, network};
pub use flow::{ENDLESS, Flow};
pub use keys::{FlowKeys, flow_key};
pub use ports::ports;
pub use sites::Sites;
