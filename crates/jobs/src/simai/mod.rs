//! Text workloads of SimAI and ASTRA-sim: the layers of a model, with what each computes and communicates.
//!
//! | file | contents |
//! |---|---|
//! | [`text`] | the file: its header and its rows |
//! | [`groups`] | which ranks communicate: tensor, data, expert and pipeline parallelism |
//! | [`schedule`] | the order of microbatches at a stage of the pipeline |
//! | [`job`] | the job of all ranks |

pub mod groups;
pub mod job;
pub mod schedule;
pub mod text;

pub use job::{Options, job};
pub use text::{Model, read};
