//! Expectations (`[[expect]]`) and panels of figures, checked before anything is run. Their language is described in
//! `experiments/README.md`; results are judged in Python.
//!
//! ```text
//! grammar    keys, kinds, types and choices, as a part of the schema of scenario files
//! words      texts with a form of their own: statistics, ranges of sizes, paths
//! names      variants, classes, swept keys, and conditions on several keys together
//! ```

pub(crate) mod grammar;
pub(crate) mod names;
pub(crate) mod words;
