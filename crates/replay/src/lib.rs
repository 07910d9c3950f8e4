//! Logs of a data plane: every input of a switch with every decision it made.
//!
//! A holder of a switch wraps it in [`Recorded`], which writes a [`Log`]. A [`Reader`] hands over its records, each
//! checked.
//!
//! | module | contents |
//! |---|---|
//! | [`calls`] | inputs of a data plane, and what it answers |
//! | `bytes` | their form in a log |
//! | [`log`] | the writer, and the head of a log |
//! | [`recorded`] | a data plane that keeps a log |
//! | [`read`] | the reader: records in order, checked |
//!
//! `docs/replay.md` describes the file.

mod bytes;
pub mod calls;
pub mod log;
pub mod read;
pub mod recorded;

pub use calls::{Answer, Call, Dropped, Step};
pub use log::{Head, Log};
pub use read::{Ending, Error, Reader};
pub use recorded::Recorded;
