//! From parameters and a place to what a host is built from: its NIC and its transport.

use crate::build::{Network, red};
use crate::conventions::{AckClass, Hosts, Memory, Reroutes};
use crate::registry::Switch;
use crate::site::NicSite;
use crate::switch::Assignment;
use backwater_dataplane::{Gate, Grain, NicQueues, Red};
use backwater_nic::{NicParams, NicSetup};
use backwater_transport::{
    Acknowledged, Control, ExpressPassFlowParams, GoBackNParams, GoBackNReceiverParams, HomaFlowParams, HomaLevels,
    HomaReceiverParams, PacedParams, SelectiveFlowParams, SelectiveReceiverParams, TcpFlowParams,
};
use backwater_types::{BitsPerSec, LinkShape};

impl Network<'_> {
    /// A NIC at its place, on a switch that does as its table says.
    pub fn nic(&self, table: &Switch, site: &NicSite) -> NicSetup {
        let int_unit = self.host.int_unit(self.fastest_nic);
        let transport = self.host.transport as u8;
        let link = LinkShape { transport, int_unit, credits: self.credits(), ..LinkShape::new(site.rate) };
        NicSetup {
            host: site.host,
            queues: queues(table),
            gate: self.gate(table, site),
            classes: self.paused_classes(table),
            holds_replies: self.conventions.acks == AckClass::Data,
            red: self.nic_red(table, site),
            link,
            seed: self.seed,
            addresses: None,
        }
    }

    /// What holds a NIC back where its switch grants credits.
    fn gate(&self, table: &Switch, site: &NicSite) -> Option<Gate> {
        let credits = table.credits()?;
        let full = self.host.full_packet().0;
        Some(Gate::new(credits.reserve(site.rate, site.delay, full), full, table.pausing().refresh))
    }

    /// How many traffic classes the switches of a table pause one by one.
    fn paused_classes(&self, table: &Switch) -> u8 {
        let by_class = table.assignment == Assignment::Class && self.conventions.memory == Memory::HpccSim;
        if by_class { table.data_queues() as u8 } else { 1 }
    }

    /// What is the same for all NICs, where most switches do as this table says.
    pub fn nic_params<P>(&self, table: &Switch, transport: P) -> NicParams<P> {
        NicParams {
            transport,
            acks_held_with: (self.host.ack_class == AckClass::Data).then_some(self.host.ack_priority),
            obeys_flow_pauses: table.flow_pauses().nic.obeys,
            lapse: table.flow_pauses().lapse,
            buffer: self.host.nic_buffer.0,
            acks_with_data: self.conventions.acks == AckClass::Data,
            labelled: [0; 4],
        }
    }

    /// Makes the parameters of go-back-N under a control; receivers of the HPCC simulator leave duplicates unanswered.
    /// `controls` holds the parameters of the control for each site that flows start at, of which there is one at least.
    pub fn go_back_n<C: Control>(&self, controls: Vec<C::Params>) -> GoBackNParams<C::Params> {
        let hpcc = self.conventions.hosts == Hosts::HpccSim;
        let notifies = C::notifies(&controls[0]);
        GoBackNParams {
            paced: self.paced(controls),
            rto: self.host.rto,
            resends_acknowledged: self.conventions.reroutes == Reroutes::HpccSim,
            receiver: GoBackNReceiverParams {
                ack_wire: self.host.ack.0 as u16,
                nack_guard: self.host.nack_guard,
                answers_duplicates: !hpcc,
                notifies,
                acknowledged: (self.host.ack_from.0 > 1).then_some(Acknowledged {
                    from: self.host.ack_from.0,
                    multiples_of: self.host.ack_chunk.0,
                    payload: self.host.payload.0,
                    full_wire: self.host.full_packet().0,
                }),
            },
        }
    }

    /// Selective retransmission under a control, likewise; `windows`: `[site]`, bytes of payload at line rate.
    pub fn selective<C: Control>(
        &self,
        controls: Vec<C::Params>,
        windows: impl Iterator<Item = u64>,
    ) -> SelectiveFlowParams<C::Params> {
        let (host, notifies) = (self.host, C::notifies(&controls[0]));
        let packets = |window: u64| window.div_ceil(host.payload.0).saturating_mul(host.selective.reach.into());
        SelectiveFlowParams {
            paced: self.paced(controls),
            spans: windows.map(|window| packets(window).min(u32::MAX.into()) as u32).collect(),
            losses: host.selective.clone(),
            receiver: SelectiveReceiverParams { ack_wire: host.ack.0 as u16, notifies },
        }
    }

    /// Flows under a control, with its parameters for each site.
    fn paced<P>(&self, controls: Vec<P>) -> PacedParams<P> {
        let (payload, full_wire) = (self.host.payload.0, self.host.full_packet().0 as u16);
        PacedParams { controls, payload, full_wire }
    }

    /// Homa, whose messages may send `window` bytes of payload unasked.
    pub fn homa(&self, window: u64, levels: HomaLevels) -> HomaFlowParams {
        let host = self.host;
        let scheduled = u32::from(levels.levels - levels.unscheduled());
        HomaFlowParams {
            payload: host.payload.0,
            header: host.header.0,
            full_wire: host.full_packet().0 as u16,
            receiver: HomaReceiverParams {
                window: window.div_ceil(host.payload.0).min(u32::MAX.into()) as u32,
                overcommitment: host.homa.overcommitment.map_or(scheduled, u32::from),
                levels,
                ack_wire: host.ack.0 as u16,
                rto: host.rto,
            },
        }
    }

    /// TCP.
    pub fn tcp(&self) -> TcpFlowParams {
        let host = self.host;
        let full_wire = host.full_packet().0 as u16;
        TcpFlowParams::new(&host.tcp, host.rto, full_wire, host.header.0 as u16, host.ack.0 as u16)
    }

    /// ExpressPass, for hosts with links of these rates.
    pub fn expresspass(&self, rates: impl Iterator<Item = BitsPerSec>) -> ExpressPassFlowParams {
        let host = self.host;
        let sizes = [host.full_packet(), host.ack].map(|bytes| bytes.0 as u16);
        let times = [host.rto, host.nack_guard];
        ExpressPassFlowParams::new(&host.expresspass, sizes, times, rates.map(|rate| rate.0), self.seed)
    }

    /// Marking by the NIC, if it is a FIFO that marks: as the switch does.
    fn nic_red(&self, table: &Switch, site: &NicSite) -> Red {
        match &table.ecn {
            Some(ecn) if self.host.nic_marks => red(ecn, site.rate, self.host.full_packet().0 as u32),
            _ => Red::OFF,
        }
    }
}

/// Priorities of workloads.
const PRIORITIES: u16 = 8;

/// The queues of a NIC on a switch: divided among classes as there, of which single ones are paused where the switch pauses queues;
/// else one for each class.
fn queues(table: &Switch) -> NicQueues {
    let (quantum, groups) = (table.quantum.0 as u32, table.priority_groups.into());
    let pausing = table.pausing();
    match pausing.grain {
        Grain::Queue => {
            let queues = pausing.nic.queues.unwrap_or(table.data_queues());
            NicQueues::new(queues, groups, quantum, pausing.nic.obeys).with_labels(pausing.nic.labels)
        }
        Grain::Nothing | Grain::Port | Grain::Class | Grain::Flow => {
            let classes = if table.assignment == Assignment::Priority { PRIORITIES } else { groups };
            NicQueues::new(classes, classes, quantum, false)
        }
    }
}
