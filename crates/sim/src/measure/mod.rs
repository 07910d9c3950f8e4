//! Results of a run, and forecasts before it runs.

pub mod columns;
pub mod digest;
pub mod ending;
pub mod estimate;
pub mod ideal;
pub mod outcome;
pub mod preview;
pub mod summary;
pub mod tables;

pub use outcome::Outcome;
