//! From a scenario to an outcome: picks the types a scheme compiles to, builds the network, runs it.

use crate::compat::hpcc::in_order::InOrder;
use crate::compat::hpcc::ranked::{self, Ranked};
use crate::engine::standstill;
use crate::engine::windows::Windows;
use crate::engine::{self, Harvest, Timing, Watch};
use crate::host::port::{EndHost, ExtensionOf};
use crate::host::sites::Sites;
use crate::host::{ExpressPassHost, HomaHost, HostParams, HpccHost, RdmaHost, SelectiveHost, SrfHost, TcpHost};
use crate::measure::digest;
use crate::measure::outcome::Outcome;
use crate::net::build::{self, Nodes};
use crate::net::node_by_node::NodeByNode;
use crate::net::sites::{pint, sites};
use crate::net::tree::TIME_LIMIT;
use crate::observe::{Nobody, Observer};
use crate::planes::{AnyPlanes, Maker, Plain, Planes};
use crate::record::{Recorder, Wanted};
use crate::workload::levels::homa_levels;
use crate::workload::{Traffic, counted_window};
use backwater_dataplane::{DataPlane, Ecn, Shape};
use backwater_scenario::model::{
    Assignment, Backpressure, Hosts, LoadBalancing, LossRecovery, Losses, Marks, Memory, Scenario, Scheduler, Switch,
    Ties, Transport, Window as Cap, Workload,
};
use backwater_scenario::topology::{self, Graph};
use backwater_schemes::Visitor;
use backwater_schemes::planes::{
    self, AnySwitch, BfcSrf, BfcSwitch, BfcWide, Build, FairQueueing, Fifo, FifoPfc, FlowSailSwitch, FlowSailWide,
    HpccSim, IdealSrf, Priorities,
};
use backwater_transport::{
    Control, Credit, Dcqcn, Dctcp, ExpressPassFlowParams, GoBackNParams, HomaFlowParams, HomaHeader, Hpcc, Int, Left,
    LineRate, Pint, Power, Rtt, SelectiveFlowParams, SentAt, Site, Srf, SrfParams, Swift, TcpFlowParams, Timely, Trip,
    Window,
};
use backwater_types::{Bytes, Duration, Instant, LibraryRand, SerTime, flags};
use std::any::{Any, TypeId};
use std::borrow::Cow;

/// A scenario ready to run.
pub struct Simulation<'a> {
    /// What was asked, and of a number of flows the duration they take.
    pub scenario: Cow<'a, Scenario>,
    /// Its nodes and links.
    pub graph: Graph,
    /// Threads to run on; the outcome does not depend on it.
    pub threads: usize,
    order: Order,
    sites: Sites,
}

impl<'a> Simulation<'a> {
    /// For a valid scenario.
    pub fn new(scenario: &'a Scenario, threads: usize) -> Simulation<'a> {
        let graph = topology::expand(&scenario.topology);
        let scenario = shortened(scenario, &graph);
        let switches = graph.nodes.len() - graph.hosts;
        let (threads, order) = order(&scenario, threads.clamp(1, switches));
        let sites = sites(&scenario, &graph);
        Simulation { scenario, graph, threads, order, sites }
    }

    /// The same with all events of the network one by one where those of one instant come as they were scheduled: what the ranks are
    /// checked by.
    pub fn one_by_one(mut self) -> Simulation<'a> {
        if self.order == Order::Ranked {
            (self.threads, self.order) = (1, Order::OneByOne);
        }
        self
    }

    /// Runs it. Published combinations, all in `experiments/smoke/schemes.toml`, run as types of their own, all others through an
    /// enum of them; a build with debug assertions runs all through tables of functions and does without an engine for each.
    pub fn run(&self, watch: &Watch) -> Outcome {
        if cfg!(debug_assertions) {
            return self.observe_any(|| Nobody, watch).0;
        }
        self.run_published(&Watched { watch, look: &|| Nobody }).0
    }

    fn run_published<O: Look>(&self, watch: &Watched<O>) -> (Outcome, Vec<Recording>) {
        let (host, switch, conventions) = (&self.scenario.host, &self.scenario.switch, &self.scenario.conventions);
        let selective = host.recovery == LossRecovery::Selective;
        let (wide, plain) = (switch.data_queues() > 64, !switch.bfc.is_extended());
        let srf = switch.scheduler == Scheduler::Srf && self.scenario.region.is_empty();
        let (line_rate, hpcc) = (self.go_back_n::<LineRate>(|_| ()), conventions.memory == Memory::HpccSim);
        match (host.transport, switch.built_as(), switch.backpressure) {
            (Transport::Tcp, Assignment::Single, Backpressure::None) if self.scenario.region.is_empty() => {
                self.run_as::<TcpHost, Fifo, O>(self.tcp(), watch)
            }
            (Transport::Expresspass, Assignment::Single, Backpressure::None) if self.scenario.region.is_empty() => {
                self.run_as::<ExpressPassHost, Fifo<Credit>, O>(self.expresspass(), watch)
            }
            (Transport::Homa, Assignment::Priority, Backpressure::None) if self.scenario.region.is_empty() => {
                self.run_as::<HomaHost, Priorities<HomaHeader>, O>(self.homa(), watch)
            }
            (Transport::Srf, Assignment::PerFlow, Backpressure::None) if srf => {
                self.run_as::<SrfHost, IdealSrf<Left>, O>(self.srf(), watch)
            }
            (Transport::Srf, Assignment::Dynamic, Backpressure::Bfc) if srf && !wide => {
                self.run_as::<SrfHost, BfcSrf<Left>, O>(self.srf(), watch)
            }
            (Transport::Tcp | Transport::Expresspass | Transport::Homa | Transport::Srf, ..) => {
                self.run_unpublished(watch)
            }
            _ if hpcc && conventions.hosts == Hosts::HpccSim => match host.transport {
                Transport::Dctcp => self.run_hpcc::<Dctcp, O>(&host.dctcp, watch),
                Transport::Dcqcn => self.run_hpcc::<Dcqcn, O>(&host.dcqcn, watch),
                Transport::Hpcc => self.run_hpcc::<Hpcc, O>(&host.hpcc, watch),
                Transport::Timely => self.run_hpcc::<Timely, O>(&host.timely, watch),
                Transport::Pint => self.run_hpcc::<Pint, O>(&host.pint, watch),
                Transport::LineRate if self.cap().is_none() => self.run_hpcc::<LineRate, O>(&(), watch),
                _ => self.run_unpublished(watch),
            },
            _ if hpcc || conventions.hosts == Hosts::HpccSim || !self.scenario.region.is_empty() => {
                self.run_unpublished(watch)
            }
            (Transport::Window, Assignment::Single, Backpressure::None) if selective => {
                self.run_as::<SelectiveHost<Window>, Fifo, O>(self.selective::<Window>(|site| site), watch)
            }
            (Transport::Hpcc, Assignment::Single, Backpressure::None) if selective => {
                let transport = self.selective::<Hpcc>(|site| Hpcc::at(&host.hpcc, site));
                self.run_as::<SelectiveHost<Hpcc>, Fifo<Int>, O>(transport, watch)
            }
            _ if selective => self.run_unpublished(watch),
            (Transport::LineRate, Assignment::Dynamic, Backpressure::Bfc) if plain && self.cap().is_none() => {
                match wide {
                    false => self.run_as::<RdmaHost<LineRate>, BfcSwitch, O>(line_rate, watch),
                    true => self.run_as::<RdmaHost<LineRate>, BfcWide, O>(line_rate, watch),
                }
            }
            (Transport::LineRate, Assignment::Flowsail, _) if self.cap().is_none() && !switch.flowsail.as_printed => {
                match wide {
                    false => self.run_as::<RdmaHost<LineRate>, FlowSailSwitch, O>(line_rate, watch),
                    true => self.run_as::<RdmaHost<LineRate>, FlowSailWide, O>(line_rate, watch),
                }
            }
            (Transport::Rtt, Assignment::Dynamic, Backpressure::Bfc) if plain && !wide => {
                self.run_rdma::<Rtt, BfcSwitch<SentAt>, O>(&host.rtt, watch)
            }
            (Transport::Dctcp, Assignment::Single, Backpressure::Pfc) => {
                self.run_rdma::<Dctcp, FifoPfc, O>(&host.dctcp, watch)
            }
            (Transport::Dcqcn, Assignment::Single, Backpressure::Pfc) => {
                self.run_rdma::<Dcqcn, FifoPfc, O>(&host.dcqcn, watch)
            }
            (Transport::Hpcc, Assignment::Single, Backpressure::Pfc) => {
                self.run_rdma::<Hpcc, FifoPfc<Int>, O>(&host.hpcc, watch)
            }
            (Transport::Timely, Assignment::Single, Backpressure::Pfc) => {
                self.run_rdma::<Timely, FifoPfc<SentAt>, O>(&host.timely, watch)
            }
            (Transport::Pint, Assignment::Single, Backpressure::Pfc) => {
                self.run_rdma::<Pint, FifoPfc<Power>, O>(&host.pint, watch)
            }
            (Transport::Swift, Assignment::Single, Backpressure::Pfc) => {
                self.run_rdma::<Swift, FifoPfc<Trip>, O>(&host.swift, watch)
            }
            (Transport::Window, Assignment::PerFlow, Backpressure::None) => {
                self.run_as::<RdmaHost<Window>, FairQueueing, O>(self.go_back_n::<Window>(|site| site), watch)
            }
            _ => self.run_unpublished(watch),
        }
    }

    /// Through the enums.
    fn run_unpublished<O: Look>(&self, watch: &Watched<O>) -> (Outcome, Vec<Recording>) {
        self.run_enums(&|| (watch.look)().recording(), watch.watch)
    }

    fn run_as<H: EndHost<Schedule: Windows<H, D, O>>, D: Build<Extension = ExtensionOf<H>>, O: Look>(
        &self,
        transport: H::Params,
        watch: &Watched<O>,
    ) -> (Outcome, Vec<Recording>) {
        let (outcome, looked) = self.run_with::<H, D, O>(transport, D::build, watch.look, watch.watch);
        (outcome, looked.into_iter().map(Look::recording).collect())
    }

    /// Hosts with the NICs of the default, go-back-N and control `C`.
    fn run_rdma<C: Control, D: Build<Extension = C::Extension>, O: Look>(
        &self,
        params: &C::Params,
        watch: &Watched<O>,
    ) -> (Outcome, Vec<Recording>) {
        self.run_as::<RdmaHost<C>, D, O>(self.go_back_n::<C>(|site| C::at(params, site)), watch)
    }

    /// Hosts and switches of the HPCC simulator, in either order of ties.
    fn run_hpcc<C: Control, O: Look>(&self, params: &C::Params, watch: &Watched<O>) -> (Outcome, Vec<Recording>) {
        if O::RECORDS {
            return self.run_unpublished(watch);
        }
        let transport = self.go_back_n::<C>(|site| C::at(params, site));
        match self.order {
            Order::Drawn => {
                self.run_as::<HpccHost<C, NodeByNode<C::Extension>>, HpccSim<C::Extension>, O>(transport, watch)
            }
            Order::Ranked => {
                self.run_as::<HpccHost<C, Ranked<C::Extension>>, HpccSim<C::Extension>, O>(transport, watch)
            }
            Order::OneByOne => {
                self.run_as::<HpccHost<C, InOrder<C::Extension>>, HpccSim<C::Extension>, O>(transport, watch)
            }
        }
    }

    /// Runs any accepted combination through the enums.
    pub fn run_any(&self, watch: &Watch) -> Outcome {
        if cfg!(debug_assertions) {
            return self.observe_any(|| Nobody, watch).0;
        }
        self.run_enums(&|| None, watch).0
    }

    /// As [`Simulation::run`], and records what is wanted beside.
    ///
    /// # Panics
    /// If flows are to be explained on more threads than one.
    pub fn record(&self, wanted: &Wanted, watch: &Watch) -> Outcome {
        assert!(wanted.explain.is_empty() || self.threads == 1, "what a flow waits for is followed on one thread");
        let recorder = || Recorder::new(wanted, &self.scenario, &self.graph);
        let (mut outcome, recorders) = match cfg!(debug_assertions) {
            true => {
                let (outcome, recorders) = self.observe_any(recorder, watch);
                (outcome, recorders.into_iter().map(Look::recording).collect())
            }
            false => self.run_published(&Watched { watch, look: &recorder }),
        };
        outcome.recorded = Recorder::conclude(recorders.into_iter().flatten().map(|recorder| *recorder).collect());
        outcome
    }

    fn run_enums(&self, recorder: &dyn Fn() -> Recording, watch: &Watch) -> (Outcome, Vec<Recording>) {
        let enums = Enums { simulation: self, recorder, watch };
        match self.scenario.host.transport {
            Transport::Tcp => enums.run::<TcpHost>(self.tcp()),
            Transport::Expresspass => enums.run::<ExpressPassHost>(self.expresspass()),
            Transport::Homa => enums.run::<HomaHost>(self.homa()),
            Transport::Srf => enums.run::<SrfHost>(self.srf()),
            _ => self.scenario.host.visit(&enums).expect("it is a control"),
        }
    }

    /// As [`Simulation::run_any`], with an observer in each partition.
    pub fn observe_any<O: Observer>(&self, observer: impl Fn() -> O, watch: &Watch) -> (Outcome, Vec<O>) {
        self.observe_made(&*self.any_planes(), observer, watch)
    }

    /// As [`Simulation::observe_any`], with switches made by `plane`, for packets that carry nothing beside their headers.
    pub fn observe_planes<D: DataPlane<Extension = ()>, O: Observer>(
        &self,
        plane: impl Fn(&Shape, &Switch) -> D,
        observer: impl Fn() -> O,
        watch: &Watch,
    ) -> (Outcome, Vec<O>) {
        self.observe(&Plain(plane), observer, watch)
    }

    /// As [`Simulation::observe_any`], with switches that `planes` makes. The engine is compiled once for all that look on, and calls
    /// switches and observers through tables.
    pub fn observe<O: Observer>(
        &self,
        planes: &impl Planes,
        observer: impl Fn() -> O,
        watch: &Watch,
    ) -> (Outcome, Vec<O>) {
        self.observe_made(planes, observer, watch)
    }

    /// Made here, so that whoever looks on does not compile every switch again.
    fn any_planes(&self) -> Box<dyn Maker> {
        Box::new(AnyPlanes(self.scenario.conventions.memory))
    }

    fn observe_made<O: Observer>(
        &self,
        planes: &dyn Maker,
        observer: impl Fn() -> O,
        watch: &Watch,
    ) -> (Outcome, Vec<O>) {
        let (outcome, observers) = self.observe_by_tables(planes, &|| Box::new(observer()), watch);
        let own =
            |observer: Box<dyn Observer>| *(observer as Box<dyn Any>).downcast::<O>().expect("`observer` made it");
        (outcome, observers.into_iter().map(own).collect())
    }

    // Compiled with what looks on; tests, of which many do, have it compiled once.
    #[cfg_attr(not(debug_assertions), inline)]
    fn observe_by_tables(
        &self,
        planes: &dyn Maker,
        observer: &dyn Fn() -> Box<dyn Observer>,
        watch: &Watch,
    ) -> (Outcome, Vec<Box<dyn Observer>>) {
        let tables = Tables { simulation: self, planes, observer, watch };
        match self.scenario.host.transport {
            Transport::Tcp => tables.run::<TcpHost>(self.tcp()),
            Transport::Expresspass => tables.run::<ExpressPassHost>(self.expresspass()),
            Transport::Homa => tables.run::<HomaHost>(self.homa()),
            Transport::Srf => tables.run::<SrfHost>(self.srf()),
            _ => self.scenario.host.visit(&tables).expect("it is a control"),
        }
    }

    /// Runs with hosts `H`, switches made by `plane`, and an observer in each partition.
    fn run_with<H: EndHost<Schedule: Windows<H, D, O>>, D: DataPlane<Extension = ExtensionOf<H>>, O: Observer>(
        &self,
        transport: H::Params,
        plane: impl Fn(&Shape, &Switch) -> D,
        observer: impl Fn() -> O,
        watch: &Watch,
    ) -> (Outcome, Vec<O>) {
        let rand = (self.scenario.conventions.ties == Ties::Ns3).then(LibraryRand::default);
        let pint = pint(&self.scenario, &self.graph, rand.clone());
        let nodes: Vec<Nodes<H, D>> =
            build::build(&self.scenario, &self.graph, self.threads, plane, self.scheduled_level(), &pint);
        let traffic = || Traffic::new(&self.scenario, &self.graph);
        let partitions = nodes.into_iter().map(|n| (n, observer())).collect();
        let mut params = self.host_params(transport);
        H::draw_from(&mut params.nic.transport, self.scenario.seed, rand.as_ref());
        let done = engine::run::<H, D, O>(partitions, &params, traffic, self.timing(), watch);
        let mut observers = Vec::new();
        let parts: Vec<(Nodes<H, D>, Harvest)> = done
            .into_iter()
            .map(|(nodes, observer, harvest)| {
                observers.push(observer);
                (nodes, harvest)
            })
            .collect();
        let mut outcome = Outcome::gather(&self.scenario, &self.graph, parts);
        outcome.digest = digest::of(&outcome);
        (outcome, observers)
    }

    fn host_params<P>(&self, transport: P) -> HostParams<P> {
        let (host, switch) = (&self.scenario.host, &self.scenario.switch);
        let ecn = match host.transport {
            Transport::Tcp => host.tcp.marks != Marks::None,
            _ => switch.ecn.is_some() || switch.pool_ecn.is_some(),
        };
        let flags = |workload: &Workload| {
            let label = if matches!(workload, Workload::Incast { .. }) { flags::INCAST } else { 0 };
            if ecn { label | flags::ECT } else { label }
        };
        let mut nic = build::network(&self.scenario, &self.graph).nic_params(switch, transport);
        for (i, _) in self.scenario.workload.iter().enumerate().filter(|(_, w)| matches!(w, Workload::Incast { .. })) {
            nic.labelled[i / 64] |= 1 << (i % 64);
        }
        HostParams {
            nic,
            sites: self.sites.clone(),
            payload: host.payload.0,
            header: host.headers().0,
            delay: Duration(host.delay.0 - build::delay_on_wire(&self.scenario).0),
            symmetric: switch.symmetric_ecmp,
            flags: self.scenario.workload.iter().map(flags).collect(),
            datagrams: self.scenario.workload.iter().map(|w| w.rate().map(SerTime::of)).collect(),
        }
    }

    /// Go-back-N under control `C`, for flows that start at any of the sites.
    fn go_back_n<C: Control>(&self, at: impl Fn(Site) -> C::Params) -> GoBackNParams<C::Params> {
        let controls = self.sites.list.iter().map(|site| at(*site)).collect();
        build::network(&self.scenario, &self.graph).go_back_n::<C>(controls)
    }

    /// Selective retransmission under control `C`, likewise.
    fn selective<C: Control>(&self, at: impl Fn(Site) -> C::Params) -> SelectiveFlowParams<C::Params> {
        let controls = self.sites.list.iter().map(|site| at(*site)).collect();
        let windows = self.sites.list.iter().map(|site| site.window);
        build::network(&self.scenario, &self.graph).selective::<C>(controls, windows)
    }

    fn expresspass(&self) -> ExpressPassFlowParams {
        let rates = self.graph.links[..self.graph.hosts].iter().map(|link| link.rate);
        build::network(&self.scenario, &self.graph).expresspass(rates)
    }

    fn tcp(&self) -> TcpFlowParams {
        build::network(&self.scenario, &self.graph).tcp()
    }

    /// Homa, with one window for all, and levels by the sizes of the workloads.
    fn homa(&self) -> HomaFlowParams {
        let window = self.sites.list[0].window;
        build::network(&self.scenario, &self.graph).homa(window, homa_levels(&self.scenario, &self.graph, window))
    }

    fn srf(&self) -> GoBackNParams<SrfParams> {
        self.go_back_n::<Srf>(|site| Srf::at(&self.scenario.host.srf, site))
    }

    /// The first level of Homa's scheduled packets.
    fn scheduled_level(&self) -> Option<u8> {
        let homa = self.scenario.host.transport == Transport::Homa;
        homa.then(|| self.homa().receiver.levels.unscheduled())
    }

    /// A cap that also holds for flows without end-to-end control: a size that was asked for.
    fn cap(&self) -> Option<Bytes> {
        match self.scenario.host.window {
            Some(Cap::Size(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// See [`Timing::still`]. The frame that ends a pause crosses a link, and what it lets go crosses the next.
    fn still(&self) -> Option<Duration> {
        let switches = self.scenario.region.iter().map(|region| &region.switch).chain([&self.scenario.switch]);
        let mut by_flow = switches.map(|switch| switch.load_balancing == LoadBalancing::Flow);
        let holds = self.scenario.fault.is_empty() && by_flow.all(|by_flow| by_flow);
        let way = build::longest_way(&self.scenario, &self.graph) + self.scenario.host.delay;
        holds.then(|| standstill::MARGIN + way + way)
    }

    /// When to stop and what to sample.
    fn timing(&self) -> Timing {
        let run = &self.scenario.run;
        let (warm, until) = counted_window(&self.scenario);
        let seen = self.graph.look_ahead(&self.scenario.host, &self.scenario.conventions);
        let widest = if self.order == Order::Ranked { seen.min(ranked::WINDOW_MAX) } else { seen };
        Timing {
            look_ahead: run.window.map_or(widest, |w| w.min(widest)),
            warm,
            until,
            cap: Instant((run.duration.0 as f64 * run.drain.max(1.0)) as u64).max(until).min(Instant(TIME_LIMIT.0 - 1)),
            sample: self.scenario.measure.sample,
            pools: self.scenario.measure.pools,
            links: self.scenario.measure.links,
            still: self.still(),
        }
    }
}

/// Runs the hosts that a scenario asks for, under control `C`, whose parameters `$at` gives for flows that start at a site.
macro_rules! run_hosts {
    ($runner:ident, $simulation:expr, $control:ident, $at:ident) => {{
        let (host, conventions) = (&$simulation.scenario.host, &$simulation.scenario.conventions);
        if host.recovery == LossRecovery::Selective {
            return $runner.run::<SelectiveHost<$control>>($simulation.selective::<$control>($at));
        }
        let transport = $simulation.go_back_n::<$control>($at);
        type Of<C> = <C as Control>::Extension;
        match (conventions.hosts, $simulation.order) {
            (Hosts::Rings, _) => $runner.run::<RdmaHost<$control>>(transport),
            (Hosts::HpccSim, Order::Drawn) => $runner.run::<HpccHost<$control, NodeByNode<Of<$control>>>>(transport),
            (Hosts::HpccSim, Order::Ranked) => $runner.run::<HpccHost<$control, Ranked<Of<$control>>>>(transport),
            (Hosts::HpccSim, Order::OneByOne) => $runner.run::<HpccHost<$control, InOrder<Of<$control>>>>(transport),
        }
    }};
}

/// What records a partition, if anything does.
type Recording = Option<Box<Recorder>>;

/// Who looks on through engines of published combinations: nobody, who costs nothing, or what records.
trait Look: Observer {
    /// It does: then the many engines of the HPCC simulator's profile are not compiled once more, but run as enums.
    const RECORDS: bool;

    fn recording(self) -> Recording;
}

impl Look for Nobody {
    const RECORDS: bool = false;

    fn recording(self) -> Recording {
        None
    }
}

impl Look for Recorder {
    const RECORDS: bool = true;

    fn recording(self) -> Recording {
        Some(Box::new(self))
    }
}

/// How far it is, for others; and who looks on.
struct Watched<'a, O> {
    watch: &'a Watch,
    look: &'a dyn Fn() -> O,
}

/// Runs any hosts with switches of enums.
struct Enums<'a> {
    simulation: &'a Simulation<'a>,
    recorder: &'a dyn Fn() -> Recording,
    watch: &'a Watch,
}

impl Enums<'_> {
    fn run<H: EndHost<Schedule: Windows<H, AnySwitch<ExtensionOf<H>>, Recording>>>(
        &self,
        transport: H::Params,
    ) -> (Outcome, Vec<Recording>) {
        let memory = self.simulation.scenario.conventions.memory;
        let plane = |shape: &Shape, table: &Switch| planes::any(memory, shape, table);
        self.simulation.run_with::<H, _, _>(transport, plane, self.recorder, self.watch)
    }
}

impl Visitor for &Enums<'_> {
    type Out = (Outcome, Vec<Recording>);

    fn control<C: Control>(self, at: impl Fn(Site) -> C::Params) -> Self::Out {
        run_hosts!(self, self.simulation, C, at)
    }
}

/// Runs any hosts, with switches and observers behind tables.
struct Tables<'a> {
    simulation: &'a Simulation<'a>,
    planes: &'a dyn Maker,
    observer: &'a dyn Fn() -> Box<dyn Observer>,
    watch: &'a Watch,
}

impl Tables<'_> {
    fn run<H>(&self, transport: H::Params) -> (Outcome, Vec<Box<dyn Observer>>)
    where
        H: EndHost<Schedule: Windows<H, Box<dyn DataPlane<Extension = ExtensionOf<H>>>, Box<dyn Observer>>>,
    {
        let plane = |shape: &Shape, table: &Switch| -> Box<dyn DataPlane<Extension = ExtensionOf<H>>> {
            let made = self.planes.make_boxed(TypeId::of::<ExtensionOf<H>>(), shape, table);
            *made.downcast().expect("it is of the type that was asked for")
        };
        self.simulation.run_with::<H, _, _>(transport, plane, self.observer, self.watch)
    }
}

impl Visitor for &Tables<'_> {
    type Out = (Outcome, Vec<Box<dyn Observer>>);

    fn control<C: Control>(self, at: impl Fn(Site) -> C::Params) -> Self::Out {
        run_hosts!(self, self.simulation, C, at)
    }
}

/// How the order of events at one instant is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Node by node, drawn anew each time.
    Drawn,
    /// Node by node, by when they were scheduled.
    Ranked,
    /// One by one, by when they were scheduled.
    OneByOne,
}

/// On how many threads of so many, and how: on one, and all events one by one, where what one node draws depends on what another drew
/// before it.
fn order(scenario: &Scenario, threads: usize) -> (usize, Order) {
    let drawn = |switch: &Switch| {
        let between = |ecn: &Ecn| ecn.kmin < ecn.kmax || ecn.by_rate.iter().any(|at| at.kmin < at.kmax);
        switch.ecn.as_ref().is_some_and(between)
    };
    let marks = drawn(&scenario.switch) || scenario.region.iter().any(|region| drawn(&region.switch));
    let lost = scenario.conventions.losses == Losses::Ns3 && scenario.fault.iter().any(|fault| fault.loss > 0.0);
    let down = scenario.fault.iter().any(|fault| !fault.down.is_empty());
    match scenario.conventions.ties {
        Ties::Random => (threads, Order::Drawn),
        Ties::Ns3 if marks || lost || down || scenario.host.transport == Transport::Pint => (1, Order::OneByOne),
        Ties::Scheduled | Ties::Ns3 => (threads, Order::Ranked),
    }
}

/// The scenario with `run.duration` no longer than `run.flows` flows take to arrive, without those of collectives.
pub fn shortened<'a>(scenario: &'a Scenario, graph: &Graph) -> Cow<'a, Scenario> {
    let arrivals = || Traffic::new(scenario, graph).filter(|flow| !flow.is_dependent());
    let last = scenario.run.flows.and_then(|flows| arrivals().nth(flows as usize - 1));
    let Some(last) = last else { return Cow::Borrowed(scenario) };
    let mut shorter = scenario.clone();
    shorter.run.duration = Duration(last.at.0 + 1);
    Cow::Owned(shorter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// 100 ms of nanoseconds would take 400 MB, and a hundred such links at 100 Gb/s more numbers than there are.
    #[test]
    fn windows_that_are_ranked_stay_short_where_links_are_long() {
        let text = |delay: &str| {
            format!(
                "scheme = \"pfc\"\ncompat = \"hpcc-sim\"\nswitch.pfc.headroom = \"1 MB\"\n\
                 [topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"100 Gbps\"\ndelay = \"{delay}\"\n[run]\n\
                 duration = \"1 ms\"\n[[workload]]\nkind = \"flow-list\"\n\
                 flows = [{{ start = \"0 s\", src = \"host0\", dst = \"host1\", bytes = \"1 KB\" }}]\n"
            )
        };
        for (delay, ranked) in [("1 us", Duration::from_us(1)), ("100 ms", ranked::WINDOW_MAX)] {
            let plan = backwater_scenario::load_str(&text(delay), Path::new("."), "test", &[], None).expect("valid");
            let scenario = &plan.runs[0].scenario;
            let window = |simulation: Simulation| simulation.timing().look_ahead;
            assert!(window(Simulation::new(scenario, 1)) <= ranked + Duration::from_ns(100), "{delay}");
            assert!(window(Simulation::new(scenario, 1).one_by_one()) >= ranked, "{delay}");
        }
    }
}
