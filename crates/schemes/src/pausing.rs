//! How switches pause one another and their hosts: what each table states, and which neighbour obeys.

use crate::registry::{Backpressure, Switch};
use crate::switch::Scheduler;
use backwater_dataplane::{CreditParams, Grain, NicPausing, Pauses, Pausing};
use backwater_types::Duration;

/// Statement of a switch that pauses nobody.
pub(crate) const fn nothing(_: &Switch) -> Pausing<'_> {
    Pausing::of(Grain::Nothing)
}

/// Statement of a switch that pauses single flows, by the parameters that it shares with FlowSail.
pub(crate) const fn by_flow(table: &Switch) -> Pausing<'_> {
    let params = &table.flowsail;
    Pausing {
        isolates: true,
        hrtt: params.hrtt,
        refresh: params.refresh,
        lapse: params.lapse(),
        nic: NicPausing { obeys: params.nic_obeys, queues: None, labels: false },
        ..Pausing::of(Grain::Flow)
    }
}

/// How a switch pauses one neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PausedBy {
    /// Backpressure whose frames the switch sends there.
    pub by: Backpressure,
    /// Traffic that one frame pauses.
    pub grain: Grain,
}

impl Switch {
    /// Traffic that one pause of the switch's neighbours stops.
    pub fn grain(&self) -> Grain {
        self.pausing().grain
    }

    /// Credits that neighbours and NICs need before they send.
    pub fn credits(&self) -> Option<&CreditParams> {
        self.pausing().credits
    }

    /// Round trip to a neighbour if it is configured: that of pauses of queues or flows, else that of dynamic
    /// assignment.
    pub fn hrtt(&self) -> Option<Duration> {
        let pausing = self.pausing();
        if pausing.grain.is_fine() { pausing.hrtt } else { self.bfc.hrtt }
    }

    /// How hosts are paused flow by flow: as the switch states. A switch that pauses no flows has FlowSail's table
    /// here, for regions that use it.
    pub fn flow_pauses(&self) -> Pausing<'_> {
        let own = self.pausing();
        match own.grain {
            Grain::Flow => own,
            Grain::Nothing | Grain::Port | Grain::Class | Grain::Queue => self.flowsail.pausing(),
        }
    }

    /// How the switch pauses another switch. Every switch obeys PFC; only switches with the same backpressure obey
    /// frames for queues and flows.
    pub fn pauses(&self, neighbour: &Switch) -> PausedBy {
        let own = PausedBy { by: self.backpressure, grain: self.grain() };
        match own.grain {
            Grain::Nothing | Grain::Port | Grain::Class => own,
            Grain::Queue | Grain::Flow if neighbour.backpressure == self.backpressure => own,
            Grain::Queue | Grain::Flow if self.pfc_interop() && neighbour.grain().is_coarse() => {
                PausedBy { by: Backpressure::Pfc, grain: Grain::Port }
            }
            Grain::Queue | Grain::Flow => PausedBy { grain: Grain::Nothing, ..own },
        }
    }

    /// How the switch pauses its hosts. Every NIC obeys PFC.
    pub fn pauses_hosts(&self) -> PausedBy {
        let Pausing { grain, nic, .. } = self.pausing();
        let obeyed = match grain {
            Grain::Nothing | Grain::Port | Grain::Class => true,
            Grain::Queue | Grain::Flow => nic.obeys,
        };
        PausedBy { by: self.backpressure, grain: if obeyed { grain } else { Grain::Nothing } }
    }

    /// Whether there is a switch with this backpressure that pauses neighbours of coarser grain by PFC.
    fn pfc_interop(&self) -> bool {
        self.pausing().pfc_interop && self.scheduler != Scheduler::Srf
    }
}
