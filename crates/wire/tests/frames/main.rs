//! Frames between switches: golden bytes, properties, refusals and fuzzing.

mod corpus;
mod fuzz;
mod golden;
mod properties;
mod random;
mod refusals;
mod switches;
mod tables;
