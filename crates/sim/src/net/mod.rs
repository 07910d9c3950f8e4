//! Links, routes and switches, and the network they make.

pub mod build;
pub mod link;
pub mod pause_census;
pub mod routes;
pub mod stats;
pub mod switch_node;
pub mod tree;
