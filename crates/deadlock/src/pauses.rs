//! By which turns a switch pauses the neighbour that packets came from.

use crate::fabric::Fabric;
use crate::turns::{Cause, Turn};
use backwater_scenario::model::{Backpressure, Scenario, Switch};
use backwater_schemes::build::{ElidedTurns, elided};
use backwater_types::PortId;

/// What comes of a turn whose egress may not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nobody waits for it.
    None,
    /// Nobody, because the scenario elides backpressure there.
    Elided,
    /// By BFC: the neighbour's queue.
    Bfc,
    /// By FlowSail: the flow, and what else is in its queue.
    Flowsail,
    /// By PFC: the neighbour's port, which names no egress, so that it cannot be elided for one.
    Pfc,
}

/// What each switch sends to whom.
pub(crate) struct Pauses<'a> {
    scenario: &'a Scenario,
    /// `[switch]`.
    switches: Vec<&'a Switch>,
    /// `[switch]`.
    elided: Vec<ElidedTurns>,
}

impl<'a> Pauses<'a> {
    pub(crate) fn new(scenario: &'a Scenario, fabric: &Fabric) -> Pauses<'a> {
        let graph = fabric.graph;
        let count = fabric.ports.len();
        let switches: Vec<&Switch> = (0..count).map(|switch| scenario.switch_at(fabric.name(switch))).collect();
        let of = |switch: usize| {
            let around: Vec<(&str, u32)> = (0..fabric.ports[switch].len())
                .map(|port| {
                    let node = graph.peer(fabric.ports[switch][port].link, graph.hosts + switch);
                    (graph.nodes[node].name.as_str(), graph.nodes[node].layer.into())
                })
                .collect();
            let here = (fabric.name(switch), graph.nodes[graph.hosts + switch].layer.into());
            let rule = match switches[switch].backpressure {
                Backpressure::Bfc => &switches[switch].bfc.elide,
                Backpressure::Flowsail => &switches[switch].flowsail.elide,
                _ => return ElidedTurns::default(),
            };
            elided(rule, here, &around)
        };
        let elided = (0..count).map(of).collect();
        Pauses { scenario, switches, elided }
    }

    /// What the switch does to the neighbour that a turn's packets come from.
    ///
    /// Where pauses name flows and flows do not wait for each other (`per-flow`), a flow waits for its own next queue
    /// only, and its path ends.
    pub(crate) fn by(&self, fabric: &Fabric, turn: &Turn) -> Pause {
        let Some((above, _)) = fabric.ports[turn.switch].get(turn.ingress).and_then(|port| port.peer) else {
            return self.by_hosts(turn.switch);
        };
        let (own, other) = (self.switches[turn.switch].backpressure, self.switches[above].backpressure);
        let pause = match (own, other) {
            // Every switch obeys PFC.
            (Backpressure::Pfc, _) | (Backpressure::Flowsail | Backpressure::Bfc, Backpressure::Pfc) => {
                return Pause::Pfc;
            }
            (Backpressure::Bfc, Backpressure::Bfc) => Pause::Bfc,
            (Backpressure::Flowsail, Backpressure::Flowsail) => Pause::Flowsail,
            _ => return Pause::None,
        };
        let elided = self.elided[turn.switch].contains(turn.ingress as PortId, turn.egress as PortId);
        if elided { Pause::Elided } else { pause }
    }

    /// Turns between switches on which backpressure is elided, whether packets take them or not.
    pub(crate) fn elided(&self, fabric: &Fabric) -> Vec<Turn> {
        let mut turns = Vec::new();
        for (switch, ports) in fabric.ports.iter().enumerate() {
            for egress in (0..ports.len()).filter(|port| ports[*port].peer.is_some()) {
                let turn = |ingress| Turn { switch, ingress, egress, cause: Cause::Possible };
                turns.extend((0..ports.len()).map(turn).filter(|turn| self.by(fabric, turn) == Pause::Elided));
            }
        }
        turns
    }

    /// What it does to its hosts.
    fn by_hosts(&self, switch: usize) -> Pause {
        match self.switches[switch].backpressure {
            Backpressure::Pfc => Pause::Pfc,
            Backpressure::Bfc if self.switches[switch].bfc.nic_obeys => Pause::Bfc,
            Backpressure::Flowsail if self.scenario.switch.flowsail.nic_obeys => Pause::Flowsail,
            _ => Pause::None,
        }
    }
}
