//! Groups of switches that differ from the others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, names};

/// A group of switches that differ from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Names of the switches; `"core0..core7"` stands for eight of them, and `"core*"` for all names with that
    /// beginning.
    pub at: Vec<String>,
    /// Preset of these switches, of which only the switch's keys count. Absent: the scenario's scheme, with the keys of
    /// its `switch`.
    #[serde(default)]
    pub scheme: String,
    /// Keys of these switches, over the preset's.
    #[serde(default)]
    pub switch: Switch,
}

impl Region {
    /// Whether the switch of this name is in the region.
    pub(super) fn covers(&self, name: &str) -> bool {
        self.at.iter().any(|at| names(at, name))
    }
}
