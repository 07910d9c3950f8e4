//! Construction of hosts: the parameters of a NIC and of its transport, from the tables and a place in the network.

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
    /// Sets up a NIC at its place, on a switch of this table.
    pub fn nic(&self, table: &Switch, site: &NicSite) -> NicSetup {
        let int_unit = self.host.int_unit(self.fastest_nic);
        let transport = self.host.transport.number();
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

    /// Limit of a NIC's data by BFC's credits, where its switch grants them.
    fn gate(&self, table: &Switch, site: &NicSite) -> Option<Gate> {
        let credits = table.credits()?;
        let full = self.host.full_packet().0;
        Some(Gate::new(credits.reserve(site.rate, site.delay, full), full, table.pausing().refresh))
    }

    /// Number of traffic classes that the switches of a table pause separately.
    fn paused_classes(&self, table: &Switch) -> u8 {
        let by_class = table.assignment == Assignment::Class && self.conventions.memory == Memory::HpccSim;
        if by_class { table.data_queues() as u8 } else { 1 }
    }

    /// Parameters of all NICs, on switches of this table.
    pub fn nic_params<P>(&self, table: &Switch, transport: P) -> NicParams<P> {
        NicParams {
            transport,
            acks_held_with: (self.host.ack_class == AckClass::Data).then_some(self.host.ack_priority),
            obeys_flow_pauses: table.flow_pauses().nic.obeys,
            lapse: table.flow_pauses().lapse,
            buffer: self.host.nic_buffer.0,
            acks_with_data: self.conventions.acks == AckClass::Data,
            tagged: [0; 4],
        }
    }

    /// Makes the parameters of go-back-N under a control; receivers of the HPCC simulator leave duplicates unanswered.
    /// `controls` holds the parameters of the control for each site that flows start at, of which there is one at
    /// least.
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

    /// Makes the parameters of selective retransmission under a control. `controls` is as in [`Network::go_back_n`];
    /// `windows`: `[site]`, bytes of payload at line rate.
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

    /// Makes the parameters of paced flows; `controls`: `[site]`.
    fn paced<P>(&self, controls: Vec<P>) -> PacedParams<P> {
        let (payload, full_wire) = (self.host.payload.0, self.host.full_packet().0 as u16);
        PacedParams { controls, payload, full_wire }
    }

    /// Makes the parameters of Homa, whose messages send `window` bytes of payload unscheduled.
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

    /// Makes the parameters of TCP.
    pub fn tcp(&self) -> TcpFlowParams {
        let host = self.host;
        let full_wire = host.full_packet().0 as u16;
        TcpFlowParams::new(&host.tcp, host.rto, full_wire, host.header.0 as u16, host.ack.0 as u16)
    }

    /// Makes the parameters of ExpressPass, for hosts with links of these rates.
    pub fn expresspass(&self, rates: impl Iterator<Item = BitsPerSec>) -> ExpressPassFlowParams {
        let host = self.host;
        let sizes = [host.full_packet(), host.ack].map(|bytes| bytes.0 as u16);
        let times = [host.rto, host.nack_guard];
        ExpressPassFlowParams::new(&host.expresspass, sizes, times, rates.map(|rate| rate.0), self.seed)
    }

    /// Marking thresholds of a NIC that marks, which are those of its switch.
    fn nic_red(&self, table: &Switch, site: &NicSite) -> Red {
        match &table.ecn {
            Some(ecn) if self.host.nic_marks => red(ecn, site.rate, self.host.full_packet().0 as u32),
            _ => Red::OFF,
        }
    }
}

/// Number of priorities of workloads.
const PRIORITIES: u16 = 8;

/// Queues of a NIC on a switch of this table: where the switch pauses queues as many as it has, divided among classes;
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
