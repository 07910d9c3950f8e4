//! The simulator: runs a scenario and returns an outcome.
//!
//! | module | contents |
//! |---|---|
//! | `simulation` | choice of the engine for a scenario, its run, and the outcome |
//! | `run` | the loop of a run: windows, threads, samples |
//! | `gather` | the outcome, from the results of all threads |
//! | [`record`] | recording on request: why flows were slow, their rates over time, single events |
//!
//! Nodes, links and events are in `backwater-engine`, flows in `backwater-traffic`, tables and summaries in
//! `backwater-measure`. The compiled combinations of hosts and switches are in the
//! `engines-*` crates.

mod gather;
pub mod record;
mod run;
mod simulation;

pub use backwater_engine::observe;
pub use backwater_engines_any::planes::Planes;
pub use backwater_fabric::ports;
pub use backwater_measure::{self as measure, LinkSample, Outcome, samples};
pub use backwater_traffic::{self as workload, shortened};
pub use run::{Turns, Watch};
pub use simulation::Simulation;
