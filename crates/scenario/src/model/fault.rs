//! Links that lose frames or go down.

use backwater_types::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link that loses frames or goes down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The two nodes of the link.
    pub link: [String; 2],
    /// Share of frames lost, each direction, 0 to below 1.
    #[serde(default)]
    pub loss: f64,
    /// With `conventions.losses = "ns3"`: one stream of random numbers decides for all links that set this. Else each
    /// link has its own stream.
    #[serde(default)]
    pub common: bool,
    /// Share of control frames (not ACKs) lost in addition.
    #[serde(default)]
    pub control_loss: f64,
    /// Intervals `[down, up]` in which the link carries nothing and routes avoid it.
    #[serde(default)]
    pub down: Vec<[Duration; 2]>,
}
