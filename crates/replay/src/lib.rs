//! Logs of a data plane, and their replay: every input of a switch with every decision it made.
//!
//! A holder of a switch wraps it in [`Recorded`], which writes a [`Log`]. [`replay`] builds the same switch from the
//! scenario in the log, feeds it every input, and compares every decision. So a switch that forwards real packets is
//! shown to decide as the one in the simulator.
//!
//! | module | contents |
//! |---|---|
//! | [`calls`] | inputs of a data plane, and what it answers |
//! | `bytes` | their form in a log |
//! | [`log`] | the writer, and the head of a log |
//! | [`recorded`] | a data plane that keeps a log |
//! | [`read`] | the reader: records in order, checked |
//! | [`player`] | a data plane against a log: the first difference |
//!
//! `docs/replay.md` describes the file.

mod bytes;
pub mod calls;
pub mod log;
pub mod player;
pub mod read;
pub mod recorded;

pub use calls::{Answer, Call, Dropped, Step};
pub use log::{Head, Log};
pub use player::{Difference, Fact, Replay, number_of, replay, switch};
pub use read::{Ending, Error, Reader};
pub use recorded::Recorded;
