//! How long, and which flows count.

use backwater_types::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long, and which flows count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Flows arrive for this long.
    pub duration: Duration,
    /// Flows arrive until there are this many, if that is sooner; those of collectives are not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Flows that arrive earlier do not count. Absent: a tenth of `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Duration>,
    /// After `duration`, run on until every counted flow and every collective has finished, at most to this multiple of `duration`.
    #[serde(default = "four")]
    pub drain: f64,
    /// Every counted flow and every collective is expected to finish: if one does not, the run is not complete.
    #[serde(default = "yes")]
    pub all_finish: bool,
    /// What time zero is called in files of other simulators.
    #[serde(default)]
    pub origin: Duration,
    /// Look-ahead window of the engine; absent: the largest the topology allows. Results do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
}

impl Run {
    /// Start of the counted window.
    pub fn warmup(&self) -> Duration {
        self.warmup.unwrap_or(Duration(self.duration.0 / 10))
    }
}

fn yes() -> bool {
    true
}

fn four() -> f64 {
    4.0
}
