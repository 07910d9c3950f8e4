//! From parameters and a place to what a host is built from: its NIC.

use crate::build::{Network, red};
use crate::conventions::AckClass;
use crate::registry::{Backpressure, Switch};
use crate::site::NicSite;
use backwater_dataplane::flow_table::LAPSE;
use backwater_dataplane::{NicQueues, Red};
use backwater_nic::{NicParams, NicSetup};
use backwater_types::Duration;

impl Network<'_> {
    /// A NIC at its place, on a switch that does as its table says.
    pub fn nic(&self, table: &Switch, site: &NicSite) -> NicSetup {
        NicSetup { host: site.host, queues: queues(table), red: self.nic_red(table, site), seed: self.seed }
    }

    /// What is the same for all NICs, where most switches do as this table says. `priorities` has the traffic class of each workload.
    pub fn nic_params<P>(&self, table: &Switch, transport: P, priorities: Vec<u8>) -> NicParams<P> {
        NicParams {
            transport,
            priorities,
            acks_paused: self.host.ack_class == AckClass::Data,
            obeys_flow_pauses: table.flowsail.nic_obeys,
            lapse: Duration(LAPSE * table.flowsail.refresh.0),
            buffer: self.host.nic_buffer.0,
            acks_with_data: self.conventions.acks == AckClass::Data,
        }
    }

    /// Marking by the NIC, if it is a FIFO that marks: as the switch does.
    fn nic_red(&self, table: &Switch, site: &NicSite) -> Red {
        match &table.ecn {
            Some(ecn) if self.host.nic_marks => red(ecn, site.rate, self.host.full_packet().0 as u32),
            _ => Red::OFF,
        }
    }
}

/// The queues of a NIC on a switch.
fn queues(table: &Switch) -> NicQueues {
    let quantum = table.quantum.0 as u32;
    match table.backpressure {
        Backpressure::Bfc => {
            NicQueues::new(table.bfc.nic_queues.unwrap_or(table.data_queues()), quantum, table.bfc.nic_obeys)
        }
        _ if table.priority_groups > 1 => NicQueues::by_class(table.priority_groups.into(), quantum),
        _ => NicQueues::new(1, quantum, false),
    }
}
