//! Why a file is refused.

use std::fmt;

/// An error in a file that describes a job: where, and what is wrong with what was found there and what was allowed.
///
/// Shown as `PLACE: PROBLEM`, such as `trace.goal:12: "send 4kb": expected a size in bytes, such as 4096b`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Refused {
    /// File with line, `trace.goal:12`, or with the position of the byte, `trace.bin: byte 96`.
    pub place: String,
    /// What was found, and what was expected.
    pub problem: String,
}

impl Refused {
    /// Refuses what stands at a place.
    pub fn at(place: impl fmt::Display, problem: impl fmt::Display) -> Refused {
        Refused { place: place.to_string(), problem: problem.to_string() }
    }

    /// Refuses a line, counted from 1.
    pub fn line(file: &str, line: u64, problem: impl fmt::Display) -> Refused {
        Refused::at(format_args!("{file}:{line}"), problem)
    }
}
