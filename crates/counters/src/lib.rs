//! Counters that the nodes of a network keep, whoever drives them: a simulator or the lab.
//!
//! | module | contents |
//! |---|---|
//! | [`stats`] | counters of ports and of drops, which are always on |
//! | [`meters`] | meters of every packet, which cost time |
//! | [`census`] | flows with data at each port |
//! | [`link_meter`] | load and pauses of a link |
//! | [`senders`] | timeouts and credits of senders |
//! | [`switch`] | a switch, as measurements see it |

pub mod census;
pub mod link_meter;
pub mod meters;
pub mod senders;
pub mod stats;
pub mod switch;

pub use census::Census;
pub use link_meter::{FlowsHeld, LinkCount};
pub use meters::{DelayHistogram, Meters};
pub use senders::{Credits, Timeouts};
pub use stats::{Drops, PauseStats, PortStats, Sent};
pub use switch::{HeldQueue, SwitchView};
