//! The simulator: runs a scenario and returns an outcome.
//!
//! | module | contents |
//! |---|---|
//! | `simulation` | choice of the engine for a scenario, its run, and the outcome |
//! | `run` | the loop of a run: windows, threads, samples |
//! | [`workload`] | flows in order of arrival, and the loads they offer |
//! | [`samples`] | tables of samples |
//! | [`measure`] | results of a run: outcomes, tables, summaries, digests, ideal completion times |
//! | [`record`] | recording on request: why flows were slow, their rates over time, single events |
//!
//! Nodes, links and events are in `backwater-engine`. The compiled combinations of hosts and switches are in the
//! `engines-*` crates.

pub mod measure;
pub mod record;
mod run;
pub mod samples;
mod simulation;
pub mod workload;

pub use backwater_engine::observe;
pub use backwater_engines_any::planes::Planes;
pub use backwater_fabric::ports;
pub use measure::Outcome;
pub use run::Watch;
pub use run::link_samples::LinkSample;
pub use simulation::{Simulation, shortened};
