//! Why a job is not written in a format.

use std::io;

/// A format cannot say what the job has, or the file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The format has no words for something.
    #[error("{what}: {format} cannot say that")]
    Cannot {
        /// What the job has, and where: `rank 3, operation 7 ends when it is acknowledged`.
        what: String,
        /// The format.
        format: &'static str,
    },
}
