//! The public simulator of HPCC, in ns-3: what it computes of a [`network`], and the order of its events.

pub(crate) mod in_order;
pub(crate) mod network;
pub(crate) mod wheel;
