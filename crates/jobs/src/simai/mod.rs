//! Text workloads of SimAI and ASTRA-sim: the layers of a model, with what each computes and communicates.
//!
//! | file | contents |
//! |---|---|
//! | [`text`] | the file: its header and its rows |
//! | [`policy`] | what runs under which policy, and among which ranks |
//! | [`groups`] | which ranks communicate: tensor, data, expert and pipeline parallelism |
//! | [`schedule`] | the order of microbatches at a stage of the pipeline |
//! | [`plan`] | how ranks and rows are divided |
//! | [`rank`] | what one rank does |
//! | [`job`] | the job of all ranks |

pub mod groups;
pub mod job;
mod plan;
pub mod policy;
mod rank;
pub mod schedule;
pub mod text;

pub use job::job;
pub use plan::{MICROBATCHES_MAX, Options};
pub use text::{Model, read};
