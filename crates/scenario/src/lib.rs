//! Scenario files: TOML in, typed and valid scenarios out.
//!
//! A file goes through these steps, one module each:
//!
//! ```text
//! text -> document    every value knows its line; `extends` and overrides are laid over one another (merge)
//!      -> plan        one document per run: scale, variants, sweep, --set, and the preset of its scheme below
//!      -> structure   keys, types, choices and units, against the schema of the model
//!      -> expect      what the results should show, against the same schema and by name
//!      -> resolve     host ranges, size tables, flow lists and host lists read in; typed
//!      -> validate    ranges, names, combinations
//! ```
//!
//! Computations (`[compute]`) go the same way, but are resolved by `compute`, against a schema that Python hands over.
//!
//! Every refusal is an [`Error`] that names the place, the value and what was allowed.

pub mod chips;
mod compute;
mod document;
mod error;
mod expect;
pub mod flow_list;
pub mod host_list;
pub mod job;
pub mod machine;
mod merge;
pub mod model;
mod named;
mod plan;
mod presets;
mod published;
mod ranges;
mod resolve;
mod schema;
mod seeds;
pub mod sizes;
mod structure;
mod suggest;
mod text;
pub mod topology;
mod validate;

pub use compute::{Computations, Work, file_schema};
pub use error::Error;
pub use model::Scenario;
pub use plan::{Plan, PlannedRun, load, load_any, load_any_str, load_str};
pub use presets::{SchemeInfo, schemes};
pub use resolve::from_json;
pub use schema::{claims_schema, scenario_schema};
