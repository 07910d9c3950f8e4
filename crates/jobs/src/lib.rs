//! Jobs: messages that depend on messages, as in a training job.
//!
//! A job has ranks. Each rank has operations: it sends a message, receives one, or computes. An operation starts when
//! those of the same rank that it requires have ended. Ranks depend on one another only through messages. So a rank
//! runs wherever its host is, and hears of other ranks by what arrives.
//!
//! | file | contents |
//! |---|---|
//! | [`op`] | operations |
//! | [`htsim`] | connection matrices and fat trees of htsim |
//! | [`chakra`] | execution traces of Chakra |
//! | [`collective`] | collectives as operations |
//! | [`job`] | a job as tables, and the builder that readers and generators use |
//! | [`left_out`] | jobs without what a format cannot say |
//! | `dependent` | a job as messages and computations that depend on one another |
//! | [`check`] | whether each send has a receive |
//! | [`placed`] | ranks on hosts, and the numbers of messages |
//! | [`matching`] | which receive takes which message |
//! | [`machine`] | ranks while they run |
//! | [`critical`] | what the last operation of an iteration waited for |
//! | [`csv`] | messages that depend on messages, in CSV |
//! | [`drive`](mod@drive) | a job without packets |
//! | [`goal`] | traces of LogGOPSim and ATLAHS, text and binary |
//! | [`replay`](mod@replay) | a job once more, without its network |
//! | [`refused`] | errors in files of jobs |
//! | [`simai`] | text workloads of SimAI and ASTRA-sim |
//! | [`span`] | times of ranks in phases |
//! | [`trace`] | what each operation waited for |
//! | [`unwritten`] | why a job is not written in a format |
//!
//! Nothing here has a clock or a network: time is an argument, and messages are handed to whoever carries them.

pub mod chakra;
pub mod check;
pub mod collective;
pub mod critical;
pub mod csv;
mod dependent;
pub mod drive;
pub mod goal;
pub mod htsim;
pub mod job;
pub mod left_out;
pub mod machine;
pub mod matching;
pub mod op;
pub mod placed;
pub mod refused;
pub mod replay;
pub mod simai;
pub mod span;
mod starts;
mod text;
#[cfg(test)]
mod toy;
pub mod trace;
pub mod unwritten;

pub use job::{Job, JobBuilder};
pub use left_out::LeftOut;
pub use machine::{Begin, Machine};
pub use op::{ANY, Op, Work};
pub use placed::{Placed, Placement};
pub use refused::Refused;
pub use span::Span;
pub use unwritten::Unwritten;
