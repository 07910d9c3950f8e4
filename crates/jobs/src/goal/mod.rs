//! GOAL: the trace format of LogGOPSim and ATLAHS, in text and binary.
//!
//! | file | contents |
//! |---|---|
//! | [`text`] | reads the text |
//! | `scan`, `labels`, `lines` | its words, labels and line numbers |
//! | [`mod@write`] | writes the text |
//! | [`binary`] | reads and writes the binary layout |
//! | `express` | what GOAL can say of a job |

pub mod binary;
mod express;
mod labels;
mod lines;
mod scan;
pub mod text;
pub mod write;
