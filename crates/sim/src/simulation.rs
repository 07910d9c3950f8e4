//! From a scenario to an outcome: picks the types a scheme compiles to, builds the network, runs it.

use crate::any_control::{AnyControl, AnyFlow};
use crate::any_switch::{self, BfcSwitch, BfcWide, Build, DataPlane, FairQueueing, FifoPfc, PlaneParams};
use crate::engine::{self, Harvest, Schedule, Watch};
use crate::host::HostParams;
use crate::network::{self, Nodes};
use crate::observe::{Nobody, Observer};
use crate::outcome::Outcome;
use crate::traffic::{Traffic, counted_window};
use crate::tree::TIME_LIMIT;
use backwater_dataplane::Shape;
use backwater_scenario::model::{Assignment, Backpressure, Scenario, Transport, Workload};
use backwater_scenario::topology::{self, Graph};
use backwater_transport::{Control, Dctcp, DctcpParams, LineRate, Window, WindowParams};
use backwater_types::{BitsPerSec, Bytes, Duration, Instant, flags};

/// A scenario ready to run.
pub struct Simulation<'a> {
    /// What was asked.
    pub scenario: &'a Scenario,
    /// Its nodes and links.
    pub graph: Graph,
    /// Threads to run on; the outcome does not depend on it.
    pub threads: usize,
}

impl<'a> Simulation<'a> {
    /// For a valid scenario.
    pub fn new(scenario: &'a Scenario, threads: usize) -> Simulation<'a> {
        let graph = topology::expand(&scenario.topology);
        let switches = graph.nodes.len() - graph.hosts;
        Simulation { scenario, graph, threads: threads.clamp(1, switches) }
    }

    /// Runs it. Published combinations run as types of their own, all others through an enum of them.
    pub fn run(&self, watch: &Watch) -> Outcome {
        let host = &self.scenario.host;
        let switch = &self.scenario.switch;
        let wide = switch.data_queues() > 64;
        let window = WindowParams { window: self.window() };
        match (host.transport, switch.assignment, switch.backpressure) {
            (Transport::LineRate, Assignment::Dynamic, Backpressure::Bfc) if host.window.is_none() && !wide => {
                self.run_as::<LineRate, BfcSwitch>((), watch)
            }
            (Transport::LineRate, Assignment::Dynamic, Backpressure::Bfc) if host.window.is_none() => {
                self.run_as::<LineRate, BfcWide>((), watch)
            }
            (Transport::Dctcp, Assignment::Single, Backpressure::Pfc) => {
                self.run_as::<Dctcp, FifoPfc>(self.dctcp(), watch)
            }
            (Transport::Window, Assignment::PerFlow, Backpressure::None) => {
                self.run_as::<Window, FairQueueing>(window, watch)
            }
            _ => self.run_any(watch),
        }
    }

    fn run_as<C: Control, D: Build>(&self, control: C::Params, watch: &Watch) -> Outcome {
        self.run_with::<C, D, Nobody>(control, D::build, || Nobody, watch).0
    }

    /// Runs any accepted combination through the enums.
    pub fn run_any(&self, watch: &Watch) -> Outcome {
        self.observe_any(|| Nobody, watch).0
    }

    /// As [`Simulation::run_any`], with an observer in each partition.
    pub fn observe_any<O: Observer>(&self, observer: impl Fn() -> O, watch: &Watch) -> (Outcome, Vec<O>) {
        let window = WindowParams { window: self.window() };
        let control = match self.scenario.host.transport {
            Transport::LineRate if self.scenario.host.window.is_none() => AnyControl::LineRate,
            Transport::LineRate | Transport::Window => AnyControl::Window(window),
            Transport::Dctcp => AnyControl::Dctcp(self.dctcp()),
        };
        let plane = |shape: &Shape, params: &PlaneParams| any_switch::any(&self.scenario.switch, shape, params);
        self.run_with::<AnyFlow, _, O>(control, plane, observer, watch)
    }

    /// Runs with control `C`, switches made by `plane`, and an observer in each partition.
    pub fn run_with<C: Control, D: DataPlane, O: Observer>(
        &self,
        control: C::Params,
        plane: impl Fn(&Shape, &PlaneParams) -> D,
        observer: impl Fn() -> O,
        watch: &Watch,
    ) -> (Outcome, Vec<O>) {
        let nodes: Vec<Nodes<C, D>> = network::build(self.scenario, &self.graph, self.threads, plane);
        let traffic = Traffic::new(self.scenario, &self.graph);
        let partitions = nodes.into_iter().map(|n| (n, observer())).collect();
        let done = engine::run(partitions, &self.host_params::<C>(control), &traffic, self.schedule(), watch);
        let mut observers = Vec::new();
        let parts: Vec<(Nodes<C, D>, Harvest)> = done
            .into_iter()
            .map(|(nodes, observer, harvest)| {
                observers.push(observer);
                (nodes, harvest)
            })
            .collect();
        (Outcome::gather(self.scenario, &self.graph, parts), observers)
    }

    fn host_params<C: Control>(&self, control: C::Params) -> HostParams<C> {
        let (host, switch) = (&self.scenario.host, &self.scenario.switch);
        let label = |w: &Workload| {
            if matches!(w, Workload::Incast { .. }) { flags::INCAST } else { 0 }
        };
        HostParams {
            control,
            payload: host.payload.0,
            header: host.header.0,
            ack: host.ack.0 as u16,
            rto: host.rto,
            nack_guard: host.nack_guard,
            delay: host.delay,
            ecn: switch.ecn.is_some(),
            symmetric: switch.symmetric_ecmp,
            labels: self.scenario.workload.iter().map(label).collect(),
            seed: self.scenario.seed,
        }
    }

    fn dctcp(&self) -> DctcpParams {
        let d = &self.scenario.host.dctcp;
        DctcpParams {
            g: d.g,
            additive_increase: d.additive_increase.0 as f64,
            min_rate: d.min_rate.0 as f64,
            line_rate: self.line_rate().0 as f64,
            window: self.window(),
        }
    }

    /// Rate of the fastest NIC.
    fn line_rate(&self) -> BitsPerSec {
        self.graph.links[..self.graph.hosts].iter().map(|l| l.rate).max().unwrap_or_default()
    }

    /// The window asked for, or one bandwidth-delay product of the longest path: propagation both ways at NIC rate.
    fn window(&self) -> u64 {
        let longest = || crate::ideal::longest_propagation(&self.graph) + self.scenario.host.delay;
        let bdp = || Duration(2 * longest().0).bytes_at(self.line_rate());
        self.scenario.host.window.unwrap_or_else(|| Bytes(bdp().0.max(self.scenario.host.payload.0))).0
    }

    /// When to stop and what to sample.
    pub fn schedule(&self) -> Schedule {
        let run = &self.scenario.run;
        let (warm, until) = counted_window(self.scenario);
        let widest = self.graph.look_ahead(&self.scenario.host);
        Schedule {
            look_ahead: run.window.map_or(widest, |w| w.min(widest)),
            warm,
            until,
            cap: Instant((run.duration.0 as f64 * run.drain.max(1.0)) as u64).max(until).min(Instant(TIME_LIMIT.0 - 1)),
            sample: self.scenario.measure.sample,
        }
    }
}
