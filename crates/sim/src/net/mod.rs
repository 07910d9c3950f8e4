//! Links, routes and switches, and the network they make.

pub(crate) mod build;
pub(crate) mod choice;
pub(crate) mod link;
pub(crate) mod link_meter;
pub(crate) mod meters;
pub(crate) mod node_by_node;
pub(crate) mod pause_census;
pub(crate) mod queue_census;
pub(crate) mod routes;
pub(crate) mod schedule;
pub(crate) mod sites;
pub(crate) mod stats;
pub(crate) mod switch_node;
pub(crate) mod tree;
