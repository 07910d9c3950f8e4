//! Links that lose frames or go down.

use backwater_types::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link that loses frames or goes down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The two nodes.
    pub link: [String; 2],
    /// Share of frames lost, each direction, 0 to below 1.
    #[serde(default)]
    pub loss: f64,
    /// With `conventions.losses = "ns3"`: one stream of draws decides for all links that say so. Else each link has one of its own.
    #[serde(default)]
    pub common: bool,
    /// Share of control frames (not ACKs) lost on top.
    #[serde(default)]
    pub control_loss: f64,
    /// Intervals `[down, up]` in which the link carries nothing and routes avoid it.
    #[serde(default)]
    pub down: Vec<[Duration; 2]>,
}
