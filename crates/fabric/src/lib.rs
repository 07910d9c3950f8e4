//! A network, before anything moves in it: nodes, links, routes and their changes over time, as a scenario describes them.
//!
//! No event, no clock and no type parameter: a simulator, a check for deadlock and a switch of real packets build from the same
//! [`Blueprint`].
//!
//! | module | contents |
//! |---|---|
//! | [`blueprint`] | every node with its links and what it is built from, split into partitions |
//! | [`wire`] | one direction of a link: rate, delay, faults |
//! | [`link_states`] | which links are up from when on |
//! | [`routes`] | next hops of equal cost, for one state of the links |
//! | [`choice`] | load balancing: which of these next hops a packet takes |
//! | [`sites`] | line rate, window and base round trip where flows start |
//! | [`paths`] | the longest delays of a network |
//! | [`partition`] | which nodes run on which thread |
//! | [`hpcc`] | what the public HPCC simulator computes of a network |

pub mod blueprint;
pub mod choice;
pub mod hpcc;
pub mod link_states;
pub mod partition;
pub mod paths;
mod ports;
pub mod routes;
pub mod sites;
pub mod wire;

pub use blueprint::{Blueprint, HostPlan, SwitchPlan, network};
pub use ports::ports;
pub use sites::Sites;
