//! Event order of the public simulator of HPCC, in ns-3: simultaneous events run in the order in which they were
//! scheduled.
//!
//! | module | contents |
//! |---|---|
//! | [`in_order`], [`wheel`] | one list of all events, on one thread |
//! | [`ranked`] | the same order node by node, on any number of threads |
//! | `ranks` | ranks of the events that a window schedules, with a worked example |
//! | `stamps` | stamps: when an event was scheduled, in a word |
//! | `known` | ranks of recent windows |

pub mod in_order;
mod known;
pub mod ranked;
mod ranks;
mod stamps;
pub mod wheel;
