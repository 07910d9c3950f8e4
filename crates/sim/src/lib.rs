//! The simulator: links, routing, workloads, measurement, and the event loop around the data plane and the transports.
//!
//! | room | what is in it |
//! |---|---|
//! | [`workload`] | flows in order of arrival, and the loads they offer |
//! | [`host`] | both ends of flows: a NIC and a transport |
//! | [`net`] | links, routes and switches, their event queues and counters; a network built from a scenario |
//! | [`engine`] | the event loop: windows, threads, samples |
//! | [`measure`] | what a run leaves: outcomes, tables, summaries, digests, ideal completion times |
//! | [`compat`] | conventions of other simulators |

pub mod compat;
pub mod engine;
pub mod host;
pub mod measure;
pub mod net;
pub mod observe;
pub mod simulation;
pub mod workload;

pub use engine::Watch;
pub use measure::Outcome;
pub use simulation::Simulation;
