//! The event order of the public simulator of HPCC, in ns-3.

pub mod in_order;
mod known;
pub mod ranked;
mod ranks;
mod stamps;
pub mod wheel;
