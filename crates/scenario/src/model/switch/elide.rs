//! Turns of a switch on which backpressure is elided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Turns `(ingress, egress)` of a switch on which backpressure is elided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Elide {
    /// `"none"`, or `"valley"`: every turn from a higher layer back to a higher layer.
    Rule(ElideRule),
    /// Named turns, `[from, switch, to]`.
    Turns(Vec<[String; 3]>),
}

/// A rule for [`Elide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ElideRule {
    /// Backpressure on every turn.
    None,
    /// None on down-then-up turns of a layered topology, which makes the backpressure graph acyclic.
    Valley,
}
