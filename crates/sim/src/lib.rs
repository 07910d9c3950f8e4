//! The simulator: links, routing, workloads, measurement, and the event loop around the data plane and the transports.
//!
//! | room | what is in it |
//! |---|---|
//! | [`workload`] | flows in order of arrival, and the loads they offer |
//! | `host` | both ends of flows: a NIC and a transport |
//! | `net` | links, routes and switches, their event queues and counters; a network built from a scenario |
//! | `engine` | the event loop: windows, threads, samples |
//! | [`measure`] | what a run leaves: outcomes, tables, summaries, digests, ideal completion times |
//! | [`record`] | what is recorded on request: why flows were slow and what came of them when, single events |
//! | `compat` | conventions of other simulators |

mod compat;
mod engine;
mod host;
pub mod measure;
mod net;
pub mod observe;
mod planes;
pub mod record;
mod simulation;
pub mod workload;

pub use engine::Watch;
pub use measure::Outcome;
pub use net::build::ports;
pub use planes::Planes;
pub use simulation::{Simulation, shortened};
