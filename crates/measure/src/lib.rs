//! What a run measured: its outcome, tables, summary and digest, and forecasts before it runs. The simulator and the lab
//! fill an [`Outcome`] each.
//!
//! | module | contents |
//! |---|---|
//! | [`outcome`], [`flow_row`] | all measurements of one run |
//! | [`phases`] | jobs: ranks in phases, and iterations |
//! | [`critical`] | jobs: the critical path of an iteration |
//! | [`samples`], [`link_samples`] | tables of samples |
//! | [`records`] | records on request: waits, rates and events |
//! | [`tables`], [`columns`] | the outcome as columns |
//! | [`summary`], [`ending`] | the outcome in numbers, and how the run ended |
//! | [`slowdowns`] | counted flows by workload and size |
//! | [`digest`] | hashes of the outcome |
//! | [`ideal`] | completion times on an idle network |
//! | [`estimate`], [`preview`], `unloaded` | cost of a run, its network and its flows, beforehand |

pub mod columns;
pub mod critical;
pub mod digest;
pub mod ending;
pub mod estimate;
pub mod flow_row;
pub mod ideal;
pub mod link_samples;
pub mod outcome;
pub mod phases;
pub mod preview;
pub mod records;
pub mod samples;
pub mod slowdowns;
pub mod summary;
pub mod tables;
mod unloaded;

pub use link_samples::LinkSample;
pub use outcome::Outcome;
pub use samples::Samples;
