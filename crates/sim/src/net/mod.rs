//! Links, routes and switches, and the network they make.

pub mod build;
pub mod link;
pub mod meters;
pub mod node_by_node;
pub mod pause_census;
pub mod routes;
pub mod schedule;
pub mod stats;
pub mod switch_node;
pub mod tree;
