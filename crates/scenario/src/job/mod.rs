//! Jobs of a scenario.
//!
//! | file | contents |
//! |---|---|
//! | [`export`] | jobs as files of other formats |
//! | [`facts`] | what a file holds |
//! | [`file`] | files of jobs |
//! | [`generated`] | collectives as jobs |
//! | [`placing`] | ranks on hosts |
//! | [`recent`] | jobs that were made lately |

mod export;
mod facts;
pub(crate) mod file;
pub(crate) mod generated;
mod placing;
mod recent;

pub use export::{export, export_file};
pub use facts::{facts, htsim_tree};
pub(crate) use placing::check;
pub use placing::{placed, tick};
