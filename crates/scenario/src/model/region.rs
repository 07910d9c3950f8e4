//! Switches that do something else than the rest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, names};

/// Switches that do something else than the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Names of the switches; `"core0..core7"` stands for eight of them, and `"core*"` for all whose names begin so.
    pub at: Vec<String>,
    /// Preset of these switches, of which only the switch counts. Absent: the scenario's scheme, with the keys of its `switch`.
    #[serde(default)]
    pub scheme: String,
    /// What they do: these keys over the preset's.
    #[serde(default)]
    pub switch: Switch,
}

impl Region {
    /// Whether the switch of this name is in it.
    pub(super) fn covers(&self, name: &str) -> bool {
        self.at.iter().any(|at| names(at, name))
    }
}
