//! The flows of a run, in order of arrival.
//!
//! Open-loop flows are one network-wide sequence. Gap, source, destination and size of flow k are functions of the seed
//! and k, so every scheme sees the same traffic. Every partition generates the whole sequence and keeps the flows of
//! its own hosts. The sequence is not stored: the report generates it once more.
//!
//! Closed-loop flows start when another flow has arrived at their source ([`process`]). Their start times are recorded.
//!
//! | file | contents |
//! |---|---|
//! | [`flow`] | arrivals of flows, and the counted window |
//! | [`process`] | the interface of a source of flows |
//! | [`background`], [`incast`], [`listed`] | open-loop processes |
//! | [`job`] | the closed-loop process |
//! | [`traffic`] | all processes, merged |
//! | [`load`] | offered load |
//! | [`levels`] | priority levels of Homa |
//! | `hosts`, [`gaps`], [`sizes`], [`draws`] | sets and distributions from which processes draw |

pub mod background;
pub mod draws;
pub mod flow;
pub mod gaps;
mod hosts;
pub mod incast;
pub mod job;
pub mod levels;
pub mod listed;
pub mod load;
pub mod process;
pub mod sizes;
pub mod traffic;

pub use backwater_fabric::{FlowKeys, flow_key};
pub use backwater_jobs::Span;
pub use flow::{ENDLESS, Flow, counted_window};
pub use process::Progress;
pub use sizes::Sampler;
pub use traffic::{Traffic, shortened};
