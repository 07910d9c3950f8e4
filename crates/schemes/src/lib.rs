//! Schemes by name: the tables of parameters that a scenario has for switches and hosts, and the switches and NICs
//! built from them.
//!
//! Parameters are defined beside their algorithms, in `dataplane` and `transport`; here they come together in
//! [`Switch`] and [`Host`]. From these and a [`site`] a [`Network`] makes the shape of a switch ([`Network::shape`]), or
//! the parameters of a NIC and its transport ([`Network::nic`]), without a simulator. A scheme is a preset of these
//! tables ([`registry::PRESETS`]).

mod any_control;
pub mod build;
pub mod conventions;
mod host;
pub mod mine;
pub mod mine_planes;
mod nic;
mod pausing;
pub mod planes;
pub mod registry;
pub mod site;
mod switch;
pub mod window;

pub use build::Network;
pub use conventions::{AckClass, Compat, Conventions, DownQueues, Hosts, Losses, Memory, Paths, Reroutes, Ties, Time};
pub use host::{ExtensionVisitor, LossRecovery, Stated, Visitor};
pub use mine::{Mine, MineTables};
pub use pausing::PausedBy;
pub use planes::{AnySwitch, Product};
pub use registry::{
    AnyCarried, AnyCarrying, AnyCarryingParams, AnyControl, AnyParams, Backpressure, Host, Switch, Transport,
    visit_extension,
};
pub use site::{Neighbour, NicSite, SwitchSite};
pub use switch::{Assignment, LoadBalancing, Scheduler, WhenPaused};
pub use window::Window;
