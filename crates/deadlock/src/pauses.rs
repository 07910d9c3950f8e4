//! By which turns a switch pauses the neighbour that packets came from.

use crate::switches::Switches;
use crate::turns::{Cause, Turn};
use backwater_scenario::model::{Grain, Scenario, Switch};
use backwater_schemes::PausedBy;
use backwater_schemes::build::{ElidedTurns, elided};
use backwater_types::PortId;

/// What comes of a turn whose egress may not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nobody waits: no pause is sent that the neighbour obeys.
    None,
    /// Nobody waits: the scenario elides the pause.
    Elided,
    /// A flow waits for its own next queue and holds no other flow, so that its path ends the wait.
    FlowAlone,
    /// The neighbour's port, or a class, queue or flow of it with all that it holds.
    By(PausedBy),
}

impl Pause {
    /// How the neighbour's port comes to wait for the egress, if it does.
    pub(crate) const fn waits_by(self) -> Option<PausedBy> {
        match self {
            Pause::None | Pause::Elided | Pause::FlowAlone => None,
            Pause::By(paused) => Some(paused),
        }
    }
}

/// How each switch pauses its neighbours.
pub(crate) struct Pauses<'a> {
    /// `[switch]`.
    tables: Vec<&'a Switch>,
    /// `[switch]`.
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

    /// The table whose `elide` opens a wait at this switch; `None` if what holds the neighbour names no egress.
    pub(crate) fn elidable(&self, switch: usize, paused: PausedBy) -> Option<&'static str> {
        self.tables[switch].pausing().elide.filter(|_| paused.grain.is_fine()).and(paused.by.table())
    }

    /// What the switch does to the neighbour that a turn's packets come from.
    pub(crate) fn by(&self, switches: &Switches, turn: &Turn) -> Pause {
        let own = self.tables[turn.switch];
        if own.grants_credits() {
            // A link without credit holds whatever is to go by it, and a switch grants none of it while it cannot send on.
            return Pause::By(PausedBy { by: own.backpressure, grain: Grain::Port });
        }
        let (paused, elided) = match switches.ports[turn.switch].get(turn.ingress).and_then(|port| port.peer) {
            Some((above, _)) => (own.pauses(self.tables[above]), self.is_elided(turn)),
            None => (own.pauses_hosts(), false),
        };
        match paused.grain {
            Grain::Nothing => Pause::None,
            // The frame names no egress: it is sent on every turn.
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

    /// Turns between switches on which backpressure is elided, whether packets take them or not.
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
