//! The simulator: links, routing, workloads, measurement, and the event loop around the data plane and the transports.

pub mod any_control;
pub mod any_switch;
pub mod digest;
pub mod draws;
pub mod engine;
pub mod estimate;
pub mod host;
pub mod hpcc;
pub mod ideal;
pub mod in_order;
pub mod link;
pub mod load;
pub mod network;
pub mod observe;
pub mod outcome;
pub mod pause_census;
pub mod preview;
pub mod routes;
pub mod simulation;
pub mod stats;
pub mod summary;
pub mod switch_node;
pub mod tables;
pub mod traffic;
pub mod tree;
pub mod wheel;

pub use engine::Watch;
pub use outcome::Outcome;
pub use simulation::Simulation;
