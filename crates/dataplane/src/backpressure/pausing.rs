//! Properties of a backpressure's pauses, for users that reason about them without running a switch: the deadlock
//! check, the checks of scenarios, NICs, measurement.
//!
//! A backpressure states them beside its parameters, as [`Pauses`]; most have a default ([`Pausing::of`]).

use crate::backpressure::credits::CreditParams;
use crate::elide::Elide;
use backwater_types::Duration;

/// Scope of one pause at the neighbour that receives it.
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
    /// Whether PFC frames pause ports or classes. Every switch and every NIC obeys them.
    pub const fn is_coarse(self) -> bool {
        match self {
            Grain::Port | Grain::Class => true,
            Grain::Nothing | Grain::Queue | Grain::Flow => false,
        }
    }

    /// Whether single queues or flows are paused, by frames that only neighbours with the same backpressure obey.
    pub const fn is_fine(self) -> bool {
        match self {
            Grain::Queue | Grain::Flow => true,
            Grain::Nothing | Grain::Port | Grain::Class => false,
        }
    }
}

/// Properties of the pauses that a switch sends.
#[derive(Clone, Copy, Debug)]
pub struct Pausing<'a> {
    /// Scope of one pause.
    pub grain: Grain,
    /// With flows: whether a paused flow holds back no other flow, whatever queue it is in.
    pub isolates: bool,
    /// With queues or flows: whether a switch exists that pauses neighbours of coarser grain by PFC
    /// ([`PfcInterop`](crate::PfcInterop)).
    pub pfc_interop: bool,
    /// With queues or flows: turns on which no pause is sent. `None`: pauses are sent on every turn.
    pub elide: Option<&'a Elide>,
    /// With queues or flows: round trip to a neighbour, which sets pause thresholds. `None`: twice the largest
    /// propagation delay of the switch.
    pub hrtt: Option<Duration>,
    /// Period in which frames are repeated. Zero: frames are not repeated.
    pub refresh: Duration,
    /// Time after which a pause that is not repeated lapses. Zero: pauses do not lapse.
    pub lapse: Duration,
    /// Pausing of NICs.
    pub nic: NicPausing,
    /// Credits that neighbours and NICs need in order to send.
    pub credits: Option<&'a CreditParams>,
    /// Memory for the scheme's state in a switch, apart from packets and queues.
    pub state: Option<State>,
}

impl Pausing<'_> {
    /// Defaults for pauses of this grain: all NICs obey, nothing is elided, nothing lapses.
    pub const fn of(grain: Grain) -> Self {
        Pausing {
            grain,
            isolates: false,
            pfc_interop: false,
            elide: None,
            hrtt: None,
            refresh: Duration::ZERO,
            lapse: Duration::ZERO,
            nic: NicPausing { obeys: true, queues: None, labels: false },
            credits: None,
            state: None,
        }
    }

    /// Whether a pause holds packets of flows other than its target. Such pauses may form a cyclic dependency.
    pub const fn holds_others(&self) -> bool {
        match self.grain {
            Grain::Nothing => false,
            Grain::Port | Grain::Class | Grain::Queue => true,
            Grain::Flow => !self.isolates,
        }
    }

    /// Whether a paused flow holds the queue that it is in, with all flows behind it.
    pub const fn flows_hold_queues(&self) -> bool {
        match self.grain {
            Grain::Flow => !self.isolates,
            Grain::Nothing | Grain::Port | Grain::Class | Grain::Queue => false,
        }
    }
}

/// Pausing of NICs. Every NIC obeys PFC.
#[derive(Clone, Copy, Debug)]
pub struct NicPausing {
    /// Whether NICs obey pauses of queues or of flows.
    pub obeys: bool,
    /// With queues: number of data queues of a NIC. `None`: as many as a port of the switch has.
    pub queues: Option<u16>,
    /// With queues: labelled incast flows share one queue ([`NicQueues::with_labels`](crate::NicQueues::with_labels)).
    pub labels: bool,
}

/// Memory for a backpressure's state in a switch.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The parameter that determines the amount.
    pub key: &'static str,
    /// The kind of objects stored, in the plural.
    pub what: &'static str,
    /// Bytes for each port.
    pub per_port: u64,
    /// Bytes for each queue of each port.
    pub per_queue: u64,
}

/// Parameters of a backpressure that describe its pauses.
pub trait Pauses {
    /// Properties of the pauses that a switch with these parameters sends.
    fn pausing(&self) -> Pausing<'_>;
}
