//! The lab on Linux: namespaces, links to them, and the loop that carries frames.

pub mod bpf;
pub mod clock;
mod edge;
pub mod flows;
pub mod lateness;
mod link_edge;
pub mod namespace;
mod netlink;
pub mod network;
pub mod node;
mod payload;
pub mod processes;
pub mod running;
mod sys;
pub mod whole;

pub use edge::HostCounts;
pub use flows::Flows;
pub use network::Network;
pub use processes::Processes;
pub use running::{Carrier, Counts, PortReading, Running};
pub use sys::Ring;

use std::fmt;
use std::io;

/// A part of the lab that this machine refuses, and what to do.
#[derive(Debug)]
pub struct LabError {
    /// What could not be done.
    pub what: String,
    /// What to do, if anything is known to help.
    pub help: &'static str,
    /// Error of the system.
    pub why: io::Error,
}

impl fmt::Display for LabError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.what, self.why)?;
        if self.help.is_empty() { Ok(()) } else { write!(out, "; {}", self.help) }
    }
}

impl std::error::Error for LabError {}

/// Names the action that an error of the system ended.
pub(crate) trait During<T> {
    /// Adds what was done, and what may help.
    fn during(self, what: impl Into<String>, help: &'static str) -> Result<T, LabError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, what: impl Into<String>, help: &'static str) -> Result<T, LabError> {
        self.map_err(|why| LabError { what: what.into(), help, why: why.into() })
    }
}
