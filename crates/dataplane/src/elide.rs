//! Turns of a switch on which backpressure is elided.

use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Turns `(ingress, egress)` of a switch on which backpressure is elided (spec C.1).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(untagged))]
pub enum Elide {
    /// `"none"`, or `"valley"`: every turn from a higher layer back to a higher layer.
    Rule(ElideRule),
    /// Named turns, `[from, switch, to]`.
    Turns(Vec<[String; 3]>),
}

impl Default for Elide {
    fn default() -> Elide {
        Elide::Rule(ElideRule::None)
    }
}

/// A rule for [`Elide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ElideRule {
    /// Backpressure on every turn.
    None,
    /// None on down-then-up turns of a layered topology, which makes the backpressure graph acyclic.
    Valley,
}
