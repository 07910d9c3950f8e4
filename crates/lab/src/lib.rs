//! The lab: the data plane of the simulator between real network stacks.
//!
//! | module | contents |
//! |---|---|
//! | [`fabric`] | switches and NICs of a scenario in virtual time, without clock or sockets |
//! | [`frames`] | the frames of a flow, as a sender of the shipped NICs |
//! | `check` | whether the lab can carry a scenario, and how fast |
//! | [`meter`] | measurements of a fabric |
//! | [`own`] | the scenario's own flows, as the lab sends them |
//! | [`slab`] | the store of frames |
//! | `linux` | namespaces, links and the loop that carries frames, on Linux |
//! | [`logs`] | logs of switches, for a replay |
//! | [`captures`] | captures of ports, for Wireshark |
//! | [`ip`] | what the lab reads of a frame |

pub mod captures;
mod check;
pub mod fabric;
pub mod frames;
pub mod ip;
#[cfg(target_os = "linux")]
pub mod linux;
pub mod logs;
pub mod meter;
pub mod own;
pub mod slab;

pub use captures::Captures;
pub use check::{Pace, check, check_flows};
pub use fabric::Fabric;
pub use logs::Logs;
