//! What the public simulator of HPCC, in ns-3, computes of a network, and what it draws.

pub mod errors;
pub mod network;
pub mod streams;
