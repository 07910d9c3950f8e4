//! Parameters of priority flow control.

use backwater_types::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ingress accounting of priority flow control (baselines 0.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// An ingress may hold `alpha` times the free shared buffer before it pauses.
    pub alpha: f64,
    /// Room for what arrives after XOFF; absent: the exact worst case of each link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// Bytes guaranteed to each ingress port.
    pub reserve: Bytes,
    /// XON only when the ingress is this far below its threshold.
    pub hysteresis: Bytes,
}

impl Default for Pfc {
    fn default() -> Pfc {
        Pfc { alpha: 0.125, headroom: None, reserve: Bytes(4096), hysteresis: Bytes(3072) }
    }
}
