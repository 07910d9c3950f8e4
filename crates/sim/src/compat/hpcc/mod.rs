//! The public simulator of HPCC, in ns-3: what it computes of a [`network`], the order of its events, and what it draws.

pub(crate) mod errors;
pub(crate) mod in_order;
mod known;
pub(crate) mod network;
pub(crate) mod ranked;
mod ranks;
mod stamps;
pub(crate) mod streams;
pub(crate) mod wheel;
