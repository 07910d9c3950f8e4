//! Setup of a run: the scenario, its network and the parameters of its hosts, from which every engine is built.

use crate::host::params::HostParams;
use backwater_fabric::paths::delay_on_wire;
use backwater_fabric::{Sites, network};
use backwater_scenario::model::{Marks, Scenario, Ties, Transport, Workload};
use backwater_scenario::topology::Graph;
use backwater_schemes::Product;
use backwater_transport::{
    Control, ExpressPassFlowParams, GoBackNParams, HomaFlowParams, HomaLevels, SelectiveFlowParams, Site, Srf,
    SrfParams, TcpFlowParams,
};
use backwater_types::{Duration, LibraryRand, SerTime, flags};

/// Setup of the engines of a run.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Valid scenario.
    pub scenario: &'a Scenario,
    /// Nodes and links of the network.
    pub graph: &'a Graph,
    /// Path parameters of flows, by source and destination.
    pub sites: &'a Sites,
    /// Partitions to build.
    pub threads: usize,
    /// Order of simultaneous events.
    pub order: Order,
    /// Priorities of Homa's packets, by the sizes of the workloads; `None` under other transports.
    pub homa_levels: Option<&'a HomaLevels>,
}

/// Order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Random, drawn anew each instant; node by node.
    Random,
    /// Order in which events were scheduled; node by node.
    Ranked,
    /// Order in which events were scheduled, from one list of all events.
    OneByOne,
}

impl Setup<'_> {
    /// Returns the product that the switches are compiled to, if one product serves all.
    pub fn product(&self) -> Option<Product> {
        let (scenario, alike) = (self.scenario, self.scenario.region.is_empty());
        alike.then(|| Product::of(scenario.conventions.memory, &scenario.switch, false)).flatten()
    }

    /// Returns the parameters of all hosts, under `transport`.
    pub fn host_params<P>(&self, transport: P) -> HostParams<P> {
        let (host, switch) = (&self.scenario.host, &self.scenario.switch);
        let ecn = match host.transport {
            Transport::Tcp => host.tcp.marks != Marks::None,
            _ => switch.ecn.is_some() || switch.pool_ecn.is_some(),
        };
        let flags = |workload: &Workload| {
            let label = if matches!(workload, Workload::Incast { .. }) { flags::INCAST } else { 0 };
            if ecn { label | flags::ECT } else { label }
        };
        let mut nic = network(self.scenario, self.graph).nic_params(switch, transport);
        for (i, _) in self.scenario.workload.iter().enumerate().filter(|(_, w)| matches!(w, Workload::Incast { .. })) {
            nic.tagged[i / 64] |= 1 << (i % 64);
        }
        HostParams {
            nic,
            sites: self.sites.clone(),
            payload: host.payload.0,
            header: host.headers().0,
            delay: Duration(host.delay.0 - delay_on_wire(self.scenario).0),
            symmetric: switch.symmetric_ecmp,
            flags: self.scenario.workload.iter().map(flags).collect(),
            datagrams: self.scenario.workload.iter().map(|w| w.rate().map(SerTime::of)).collect(),
            queue_pairs: self.scenario.workload.iter().any(|w| w.queue_pairs().is_some()),
        }
    }

    /// Returns the C library's random numbers, which ns-3 draws from, if the scenario asks for ns-3's order of events.
    pub fn library_rand(&self) -> Option<LibraryRand> {
        (self.scenario.conventions.ties == Ties::Ns3).then(LibraryRand::default)
    }

    /// Returns the parameters of go-back-N under control `C`; `at` gives those of `C` for flows that start at a site.
    pub fn go_back_n<C: Control>(&self, at: impl Fn(Site) -> C::Params) -> GoBackNParams<C::Params> {
        let controls = self.sites.list.iter().map(|site| at(*site)).collect();
        network(self.scenario, self.graph).go_back_n::<C>(controls)
    }

    /// Returns the parameters of selective retransmission under control `C`; `at` gives those of `C` for flows that
    /// start at a site.
    pub fn selective<C: Control>(&self, at: impl Fn(Site) -> C::Params) -> SelectiveFlowParams<C::Params> {
        let controls = self.sites.list.iter().map(|site| at(*site)).collect();
        let windows = self.sites.list.iter().map(|site| site.window);
        network(self.scenario, self.graph).selective::<C>(controls, windows)
    }

    /// Returns the parameters of ExpressPass.
    pub fn expresspass(&self) -> ExpressPassFlowParams {
        let rates = self.graph.links[..self.graph.hosts].iter().map(|link| link.rate);
        network(self.scenario, self.graph).expresspass(rates)
    }

    /// Returns the parameters of TCP.
    pub fn tcp(&self) -> TcpFlowParams {
        network(self.scenario, self.graph).tcp()
    }

    /// Returns the parameters of Homa, with one window for all flows.
    ///
    /// # Panics
    /// If the transport is not Homa.
    pub fn homa(&self) -> HomaFlowParams {
        let levels = self.homa_levels.expect("Homa's levels are known under Homa").clone();
        network(self.scenario, self.graph).homa(self.sites.list[0].window, levels)
    }

    /// Returns the parameters of SRF (shortest remaining flow first).
    pub fn srf(&self) -> GoBackNParams<SrfParams> {
        self.go_back_n::<Srf>(|site| Srf::at(&self.scenario.host.srf, site))
    }

    /// Returns the first level of Homa's scheduled packets.
    pub fn scheduled_level(&self) -> Option<u8> {
        self.homa_levels.map(HomaLevels::unscheduled)
    }
}
