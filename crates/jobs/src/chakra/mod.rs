//! Execution traces of Chakra, which ASTRA-sim runs.
//!
//! | file | contents |
//! |---|---|
//! | [`wire`] | protobuf: fields of a message |
//! | [`node`] | nodes of a trace |
//! | [`groups`] | groups of ranks |
//! | [`job`] | the job of all ranks |

pub mod groups;
pub mod job;
pub mod node;
mod wire;

pub use groups::Groups;
pub use job::{Options, Survey, Traces, job};
