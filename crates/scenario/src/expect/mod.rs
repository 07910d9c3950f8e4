//! Expectations (`[[expect]]`) and panels of figures, checked before anything is run. `experiments/README.md` is the language;
//! judging is Python's.
//!
//! ```text
//! grammar    keys, kinds, types and choices, as a part of the schema of scenario files
//! words      texts with a form of their own: statistics, ranges of sizes, paths
//! names      variants, classes, swept keys, and what only several keys together say
//! ```

pub(crate) mod grammar;
pub(crate) mod names;
pub(crate) mod words;
