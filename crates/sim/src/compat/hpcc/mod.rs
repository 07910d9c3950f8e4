//! The public simulator of HPCC, in ns-3: what it computes of a [`network`], and the order of its events.

pub mod in_order;
pub mod network;
pub mod wheel;
