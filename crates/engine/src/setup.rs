//! What every engine of a run is built from: the scenario, its network and the parameters of its hosts.

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

/// What the engines of a run are built from.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// A valid scenario.
    pub scenario: &'a Scenario,
    /// Its nodes and links.
    pub graph: &'a Graph,
    /// Where flows start.
    pub sites: &'a Sites,
    /// Partitions to build.
    pub threads: usize,
    /// Order of simultaneous events.
    pub order: Order,
    /// Priorities of Homa's packets, by the sizes of the workloads; only under Homa.
    pub homa_levels: Option<&'a HomaLevels>,
}

/// Order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Drawn anew each time; node by node.
    Random,
    /// The order in which they were scheduled; node by node.
    Ranked,
    /// The same, from one list of all events.
    OneByOne,
}

impl Setup<'_> {
    /// What the switches of the network are compiled to, if it is the same for all.
    pub fn product(&self) -> Option<Product> {
        let (scenario, alike) = (self.scenario, self.scenario.region.is_empty());
        alike.then(|| Product::of(scenario.conventions.memory, &scenario.switch, false)).flatten()
    }

    /// Parameters of all hosts, under `transport`.
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
        }
    }

    /// The random numbers of the C library that ns-3 draws from, where its order of events is asked for.
    pub fn library_rand(&self) -> Option<LibraryRand> {
        (self.scenario.conventions.ties == Ties::Ns3).then(LibraryRand::default)
    }

    /// Go-back-N under control `C`; `at` gives its parameters for flows that start at a site.
    pub fn go_back_n<C: Control>(&self, at: impl Fn(Site) -> C::Params) -> GoBackNParams<C::Params> {
        let controls = self.sites.list.iter().map(|site| at(*site)).collect();
        network(self.scenario, self.graph).go_back_n::<C>(controls)
    }

    /// Selective retransmission under control `C`, likewise.
    pub fn selective<C: Control>(&self, at: impl Fn(Site) -> C::Params) -> SelectiveFlowParams<C::Params> {
        let controls = self.sites.list.iter().map(|site| at(*site)).collect();
        let windows = self.sites.list.iter().map(|site| site.window);
        network(self.scenario, self.graph).selective::<C>(controls, windows)
    }

    /// ExpressPass.
    pub fn expresspass(&self) -> ExpressPassFlowParams {
        let rates = self.graph.links[..self.graph.hosts].iter().map(|link| link.rate);
        network(self.scenario, self.graph).expresspass(rates)
    }

    /// TCP.
    pub fn tcp(&self) -> TcpFlowParams {
        network(self.scenario, self.graph).tcp()
    }

    /// Homa, with one window for all.
    ///
    /// # Panics
    /// Under other transports.
    pub fn homa(&self) -> HomaFlowParams {
        let levels = self.homa_levels.expect("Homa's levels are known under Homa").clone();
        network(self.scenario, self.graph).homa(self.sites.list[0].window, levels)
    }

    /// Shortest remaining flow first.
    pub fn srf(&self) -> GoBackNParams<SrfParams> {
        self.go_back_n::<Srf>(|site| Srf::at(&self.scenario.host.srf, site))
    }

    /// The first level of Homa's scheduled packets.
    pub fn scheduled_level(&self) -> Option<u8> {
        self.homa_levels.map(HomaLevels::unscheduled)
    }
}
