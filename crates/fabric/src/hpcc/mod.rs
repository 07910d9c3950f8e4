//! Quantities that the public simulator of HPCC, in ns-3, computes from a network, and its random streams.

pub mod errors;
pub mod network;
pub mod streams;
