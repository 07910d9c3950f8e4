//! Turns of a switch on which backpressure is suppressed ("elided").

use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::PortId;
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Turns `(ingress, egress)` of a switch without backpressure (spec C.1).
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
    /// No backpressure on down-then-up turns of a layered topology, which makes the backpressure graph acyclic.
    Valley,
}

/// Turns of one switch without backpressure, by port number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElidedTurns(
    /// `[egress]`: bits of ingress ports. Egress ports beyond the end of the list have no elided turn.
    Vec<[u64; 4]>,
);

impl ElidedTurns {
    /// Adds the turn from `ingress` to `egress`.
    pub fn insert(&mut self, ingress: PortId, egress: PortId) {
        let (ingress, egress) = (usize::from(ingress), usize::from(egress));
        if self.0.len() <= egress {
            self.0.resize(egress + 1, [0; 4]);
        }
        self.0[egress][ingress / 64] |= 1 << (ingress % 64);
    }

    /// Whether the turn from `ingress` to `egress` is elided.
    #[inline(always)]
    pub fn contains(&self, ingress: PortId, egress: PortId) -> bool {
        self.0.get(egress as usize).is_some_and(|ingresses| ingresses[ingress as usize / 64] >> (ingress % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_elided_one_way_and_at_its_own_ports() {
        let mut turns = ElidedTurns::default();
        assert!(!turns.contains(3, 200), "none is");
        turns.insert(130, 7);
        assert!(turns.contains(130, 7));
        for (ingress, egress) in [(7, 130), (130, 6), (130, 8), (129, 7), (2, 7), (194, 7)] {
            assert!(!turns.contains(ingress, egress), "{ingress} to {egress}");
        }
    }
}
