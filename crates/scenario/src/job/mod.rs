//! Jobs of a scenario.
//!
//! | file | contents |
//! |---|---|
//! | [`facts`] | what a file holds |
//! | [`file`] | files of jobs |
//! | [`generated`] | collectives as jobs |
//! | [`placing`] | ranks on hosts |

mod facts;
pub(crate) mod file;
pub(crate) mod generated;
mod placing;

pub use facts::{facts, htsim_tree};
pub use placing::{placed, tick};
