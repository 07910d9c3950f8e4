//! Duration of a run, and the flows that count.

use backwater_types::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Duration of a run, and the flows that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Time in which flows arrive.
    pub duration: Duration,
    /// Flows after which arrivals end, if that is sooner than `duration`; those of collectives do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Time of the first arrival that counts. Absent: a tenth of the time until the end of the counted window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Duration>,
    /// Time at the end of `duration` whose arrivals do not count, so that counted flows finish under load. The run ends
    /// once they have finished. Absent: all arrivals from `warmup` on count, and the last of them finish in a network
    /// that drains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Duration>,
    /// Limit of the run as a multiple of `duration`, until which it goes on for counted flows and collectives that have
    /// not finished.
    #[serde(default = "four")]
    pub drain: f64,
    /// Every counted flow and every collective has to finish: if one does not, the run is not complete.
    #[serde(default = "yes")]
    pub all_finish: bool,
    /// Time zero of the run in files of other simulators.
    #[serde(default)]
    pub origin: Duration,
    /// Look-ahead window of the engine; absent: the largest that the topology allows. Results do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
}

impl Run {
    /// Returns the start of the counted window.
    pub fn warmup(&self) -> Duration {
        self.warmup.unwrap_or(Duration(self.counted_until().0 / 10))
    }

    /// Returns the end of the counted window.
    pub fn counted_until(&self) -> Duration {
        Duration(self.duration.0.saturating_sub(self.cooldown.map_or(0, |cooldown| cooldown.0)))
    }
}

fn yes() -> bool {
    true
}

fn four() -> f64 {
    4.0
}
