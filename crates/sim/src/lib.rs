//! The simulator: a scenario in, an outcome out.
//!
//! | module | contents |
//! |---|---|
//! | [`simulation`] | from a scenario to engines, and from these to an outcome |
//! | `run` | the loop of a run: windows, threads, samples |
//! | [`workload`] | flows in order of arrival, and the loads they offer |
//! | [`samples`] | tables of samples |
//! | [`measure`] | what a run leaves: outcomes, tables, summaries, digests, ideal completion times |
//! | [`record`] | recording on request: why flows were slow, their rates over time, single events |
//!
//! Nodes, links and events are `backwater-engine`'s; the combinations of hosts and switches that are compiled are in the `engines-*`
//! crates.

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
