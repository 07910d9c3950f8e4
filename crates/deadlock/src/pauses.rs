//! Pauses of the neighbour that sent a turn's packets, turn by turn.

use crate::switches::Switches;
use crate::turns::{Cause, Turn};
use backwater_scenario::model::{Grain, Scenario, Switch};
use backwater_schemes::PausedBy;
use backwater_schemes::build::{ElidedTurns, elided};
use backwater_types::PortId;

/// Effect of a blocked egress on the neighbour that sent a turn's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// No dependency: no pause is sent that the neighbour obeys.
    None,
    /// No dependency: the scenario elides the pause.
    Elided,
    /// No dependency on other flows: a flow waits for its own next queue and holds no other flow, so the wait ends at
    /// the end of its path.
    FlowAlone,
    /// Dependency of the neighbour's port, or of one of its classes, queues or flows with all that it holds.
    By(PausedBy),
}

impl Pause {
    /// Returns the pause by which the neighbour's port waits for the egress, if it does.
    pub(crate) const fn waits_by(self) -> Option<PausedBy> {
        match self {
            Pause::None | Pause::Elided | Pause::FlowAlone => None,
            Pause::By(paused) => Some(paused),
        }
    }
}

/// Pauses of all switches.
pub(crate) struct Pauses<'a> {
    /// `[switch]`: its scheme.
    tables: Vec<&'a Switch>,
    /// `[switch]`: turns on which it elides backpressure.
    elided: Vec<ElidedTurns>,
}

impl<'a> Pauses<'a> {
    pub(crate) fn new(scenario: &'a Scenario, all: &Switches) -> Pauses<'a> {
        let graph = all.graph;
        let count = all.ports.len();
        let tables: Vec<&Switch> = (0..count).map(|switch| scenario.switch_at(all.name(switch))).collect();
        let of = |switch: usize| {
            let around: Vec<(&str, u32)> = (0..all.ports[switch].len())
                .map(|port| {
                    let node = graph.peer(all.ports[switch][port].link, graph.hosts + switch);
                    (graph.nodes[node].name.as_str(), graph.nodes[node].layer.into())
                })
                .collect();
            let here = (all.name(switch), graph.nodes[graph.hosts + switch].layer.into());
            elided(tables[switch], here, &around)
        };
        let elided = (0..count).map(of).collect();
        Pauses { tables, elided }
    }

    /// Returns the scenario table whose `elide` removes a dependency at this switch; `None` if the pause names no
    /// egress.
    pub(crate) fn elidable(&self, switch: usize, paused: PausedBy) -> Option<&'static str> {
        self.tables[switch].pausing().elide.filter(|_| paused.grain.is_fine()).and(paused.by.table())
    }

    /// Returns the effect of a blocked egress on the neighbour that sent the turn's packets.
    pub(crate) fn by(&self, switches: &Switches, turn: &Turn) -> Pause {
        let own = self.tables[turn.switch];
        if own.grants_credits() {
            // A link without credit holds all of its traffic, and a switch that cannot send on grants no credit.
            return Pause::By(PausedBy { by: own.backpressure, grain: Grain::Port });
        }
        let (paused, elided) = match switches.ports[turn.switch].get(turn.ingress).and_then(|port| port.peer) {
            Some((above, _)) => (own.pauses(self.tables[above]), self.is_elided(turn)),
            None => (own.pauses_hosts(), false),
        };
        match paused.grain {
            Grain::Nothing => Pause::None,
            // The pause frame names no egress, so no turn can be elided.
            Grain::Port | Grain::Class => Pause::By(paused),
            Grain::Queue | Grain::Flow if elided => Pause::Elided,
            Grain::Queue => Pause::By(paused),
            Grain::Flow if own.pausing().isolates => Pause::FlowAlone,
            Grain::Flow => Pause::By(paused),
        }
    }

    fn is_elided(&self, turn: &Turn) -> bool {
        self.elided[turn.switch].contains(turn.ingress as PortId, turn.egress as PortId)
    }

    /// Returns the turns between switches on which backpressure is elided, whether packets take them or not.
    pub(crate) fn elided(&self, switches: &Switches) -> Vec<Turn> {
        let mut turns = Vec::new();
        for (switch, ports) in switches.ports.iter().enumerate() {
            for egress in (0..ports.len()).filter(|port| ports[*port].peer.is_some()) {
                let turn = |ingress| Turn { switch, ingress, egress, cause: Cause::Possible };
                turns.extend((0..ports.len()).map(turn).filter(|turn| self.by(switches, turn) == Pause::Elided));
            }
        }
        turns
    }
}
