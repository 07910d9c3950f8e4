//! What a backpressure states of its pauses, for whoever reasons about them without running a switch: the deadlock check, the checks
//! of scenarios, NICs, measurement.
//!
//! A backpressure states it beside its parameters, as [`Pauses`]; most of it has a default ([`Pausing::of`]).

use crate::backpressure::credits::CreditParams;
use crate::elide::Elide;
use backwater_types::Duration;

/// What one pause holds at the neighbour that receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Nothing: no pause is ever sent.
    Nothing,
    /// All data of the port, by a frame of PFC.
    Port,
    /// One traffic class of the port, by a frame of PFC.
    Class,
    /// One queue of the port, by its number.
    Queue,
    /// One flow, by its name.
    Flow,
}

impl Grain {
    /// Ports or classes are paused, by frames of PFC, which every switch and every NIC obeys.
    pub const fn is_coarse(self) -> bool {
        match self {
            Grain::Port | Grain::Class => true,
            Grain::Nothing | Grain::Queue | Grain::Flow => false,
        }
    }

    /// Single queues or flows are paused, by frames that only neighbours with the same backpressure obey.
    pub const fn is_fine(self) -> bool {
        match self {
            Grain::Queue | Grain::Flow => true,
            Grain::Nothing | Grain::Port | Grain::Class => false,
        }
    }
}

/// How a switch pauses its neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Pausing<'a> {
    /// What one pause holds.
    pub grain: Grain,
    /// With flows: a paused flow holds no other, whatever queue it is in.
    pub isolates: bool,
    /// With queues or flows: there is a switch that pauses neighbours of coarser grain by PFC ([`Beside`](crate::Beside)).
    pub goes_beside_pfc: bool,
    /// With queues or flows: turns on which no pause is sent. `None`: pauses are sent on every turn.
    pub elide: Option<&'a Elide>,
    /// With queues or flows: round trip to a neighbour, which sets pause thresholds. `None`: twice the largest propagation delay of
    /// the switch.
    pub hrtt: Option<Duration>,
    /// Period in which frames are repeated. Zero: they are not.
    pub refresh: Duration,
    /// Time after which a pause lapses that is not repeated. Zero: it does not.
    pub lapse: Duration,
    /// NICs under these pauses.
    pub nic: NicPausing,
    /// Credits that neighbours and NICs need, to send anything.
    pub credits: Option<&'a CreditParams>,
    /// Memory for it in a switch, beside packets and queues.
    pub state: Option<State>,
}

impl Pausing<'_> {
    /// Pauses of this grain: all NICs obey, nothing is elided, nothing lapses.
    pub const fn of(grain: Grain) -> Self {
        Pausing {
            grain,
            isolates: false,
            goes_beside_pfc: false,
            elide: None,
            hrtt: None,
            refresh: Duration::ZERO,
            lapse: Duration::ZERO,
            nic: NicPausing { obeys: true, queues: None, labels: false },
            credits: None,
            state: None,
        }
    }

    /// A pause holds packets of flows other than those that it is for, so that pauses may depend on one another in a cycle.
    pub const fn holds_others(&self) -> bool {
        match self.grain {
            Grain::Nothing => false,
            Grain::Port | Grain::Class | Grain::Queue => true,
            Grain::Flow => !self.isolates,
        }
    }

    /// A paused flow holds the queue that it is in, with all flows behind it.
    pub const fn flows_hold_queues(&self) -> bool {
        match self.grain {
            Grain::Flow => !self.isolates,
            Grain::Nothing | Grain::Port | Grain::Class | Grain::Queue => false,
        }
    }
}

/// How NICs are paused. Every NIC obeys PFC.
#[derive(Clone, Copy, Debug)]
pub struct NicPausing {
    /// NICs obey pauses of queues or of flows.
    pub obeys: bool,
    /// With queues: data queues of a NIC. `None`: as many as a port of the switch has.
    pub queues: Option<u16>,
    /// With queues: flows of incast that are labelled share one ([`NicQueues::with_labels`](crate::NicQueues::with_labels)).
    pub labels: bool,
}

/// Memory that a backpressure takes in a switch.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The parameter that sets how much.
    pub key: &'static str,
    /// What is kept there, in the plural.
    pub what: &'static str,
    /// Bytes for each port.
    pub per_port: u64,
    /// Bytes for each queue of each port.
    pub per_queue: u64,
}

/// Parameters of a backpressure, which say how it pauses.
pub trait Pauses {
    /// How a switch with these parameters pauses its neighbours.
    fn pausing(&self) -> Pausing<'_>;
}
