//! Scenario files: TOML in, typed and valid scenarios out.

pub mod model;
