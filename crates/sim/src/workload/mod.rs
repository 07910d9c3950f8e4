//! The flows of a run, in order of arrival.
//!
//! What waits for nothing is one network-wide sequence: flow k's gap, source, destination and size are functions of (seed, k), so
//! every scheme sees the same traffic, and every partition walks the same sequence and keeps what is its own. Nothing is stored:
//! the report walks it once more.
//!
//! A process may listen: what has arrived at a host may start flows there ([`process`]). When such a flow starts is recorded.
//!
//! | file | what is in it |
//! |---|---|
//! | [`flow`] | a flow, and which flows count |
//! | [`process`] | what a source of flows is to the rest |
//! | [`background`], [`incast`], [`listed`] | sources that do not listen |
//! | [`collective`] | one that does |
//! | [`traffic`] | all of them, merged |
//! | [`load`] | offered load |
//! | `levels` | what of it is unscheduled under Homa |
//! | `hosts`, [`gaps`], [`sizes`], [`draws`] | what sources draw from |

pub mod background;
pub mod collective;
pub mod draws;
pub mod flow;
pub mod gaps;
mod hosts;
pub mod incast;
pub(crate) mod levels;
pub mod listed;
pub mod load;
pub mod process;
pub mod sizes;
pub mod traffic;

pub use backwater_engine::{FlowKeys, flow_key};
pub use flow::{ENDLESS, Flow, counted_window};
pub use sizes::Sampler;
pub use traffic::Traffic;
