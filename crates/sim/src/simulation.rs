//! A run from scenario to outcome: chooses the engines, runs them, and merges their measurements.

use crate::gather::gather;
use crate::record::{Recorder, Wanted};
use crate::run::{self, Timing, Watch, stall};
use backwater_dataplane::{DataPlane, Ecn, Shape};
use backwater_engine::hpcc::ranked;
use backwater_engine::observe::Observer;
use backwater_engine::tree::TIME_LIMIT;
use backwater_engine::{Order, Partition, Setup};
use backwater_engines_any::AnyObserver;
use backwater_engines_any::planes::{Maker, Plain, Planes};
use backwater_fabric::Sites;
use backwater_fabric::paths::longest_way;
use backwater_fabric::sites::sites;
use backwater_measure::Outcome;
use backwater_measure::digest::conclude;
use backwater_scenario::model::{LoadBalancing, Losses, Scenario, Switch, Ties, Transport};
use backwater_scenario::topology::{self, Graph};
use backwater_traffic::levels::homa_levels;
use backwater_traffic::{counted_window, shortened};
use backwater_transport::HomaLevels;
use backwater_types::{Duration, Instant};
use std::any::Any;
use std::borrow::Cow;

/// A scenario ready to run.
pub struct Simulation<'a> {
    /// The scenario. If it ends after a number of flows, its duration is the time in which they arrive.
    pub scenario: Cow<'a, Scenario>,
    /// Nodes and links of the network.
    pub graph: Graph,
    /// Number of threads. The outcome does not depend on it.
    pub threads: usize,
    order: Order,
    sites: Sites,
    homa_levels: Option<HomaLevels>,
}

impl<'a> Simulation<'a> {
    /// Prepares the run of a valid scenario on up to `threads` threads.
    pub fn new(scenario: &'a Scenario, threads: usize) -> Simulation<'a> {
        let graph = topology::expand(&scenario.topology);
        let scenario = shortened(scenario, &graph);
        let switches = graph.nodes.len() - graph.hosts;
        let (threads, order) = order(&scenario, threads.clamp(1, switches));
        let sites = sites(&scenario, &graph);
        let homa = scenario.host.transport == Transport::Homa;
        let homa_levels = homa.then(|| homa_levels(&scenario, &graph, sites.list[0].window));
        Simulation { scenario, graph, threads, order, sites, homa_levels }
    }

    /// Keeps all events of the network in one list, in which simultaneous events run in the order in which they were
    /// scheduled. This order is the reference for [`Order::Ranked`]; simulations in another order are unchanged.
    pub fn one_by_one(mut self) -> Simulation<'a> {
        if self.order == Order::Ranked {
            (self.threads, self.order) = (1, Order::OneByOne);
        }
        self
    }

    /// Runs the simulation. Published combinations of transport and switch have compiled engines of their own; all
    /// other combinations run on engines with dynamic dispatch.
    pub fn run(&self, watch: &Watch) -> Outcome {
        self.outcome(self.partitions(), watch).0
    }

    /// Names the types of the engine that [`Simulation::run`] chooses.
    pub fn engine(&self) -> &'static str {
        self.partitions()[0].engine()
    }

    fn partitions(&self) -> Vec<Box<dyn Partition>> {
        let setup = &self.setup();
        let own = backwater_engines_published::build(setup)
            .or_else(|| backwater_engines_compat::build(setup))
            .or_else(|| backwater_engines_any::mine::compiled(setup));
        own.unwrap_or_else(|| backwater_engines_any::build(setup, &|| None))
    }

    /// Runs the simulation on an engine with dynamic dispatch, whatever its combination of transport and switch.
    pub fn run_any(&self, watch: &Watch) -> Outcome {
        self.outcome(backwater_engines_any::build(&self.setup(), &|| None), watch).0
    }

    /// Runs the simulation and records the delay breakdowns and events in `wanted`.
    ///
    /// # Panics
    /// If `wanted` explains flows and the run has more than one thread.
    pub fn record(&self, wanted: &Wanted, watch: &Watch) -> Outcome {
        assert!(wanted.explain.is_empty() || self.threads == 1, "flows are explained on one thread");
        let (mut outcome, recorders) = self.observe_any(|| Recorder::new(wanted, &self.scenario, &self.graph), watch);
        outcome.recorded = Recorder::conclude(recorders);
        outcome
    }

    /// Runs the simulation as [`Simulation::run_any`] does, with an observer in each partition.
    pub fn observe_any<O: Observer>(&self, observer: impl Fn() -> O, watch: &Watch) -> (Outcome, Vec<O>) {
        let observer = || -> AnyObserver { Some(Box::new(observer())) };
        self.observed(backwater_engines_any::build(&self.setup(), &observer), watch)
    }

    /// Runs the simulation as [`Simulation::observe_any`] does, with switches built by `plane`, for packets without an
    /// extension header.
    pub fn observe_planes<D: DataPlane<Extension = ()>, O: Observer>(
        &self,
        plane: impl Fn(&Shape, &Switch) -> D,
        observer: impl Fn() -> O,
        watch: &Watch,
    ) -> (Outcome, Vec<O>) {
        self.observe(&Plain(plane), observer, watch)
    }

    /// Runs the simulation as [`Simulation::observe_any`] does, with switches built by `planes`.
    pub fn observe<O: Observer>(
        &self,
        planes: &impl Planes,
        observer: impl Fn() -> O,
        watch: &Watch,
    ) -> (Outcome, Vec<O>) {
        let observer = || -> AnyObserver { Some(Box::new(observer())) };
        let planes: &dyn Maker = planes;
        self.observed(backwater_engines_any::build_with(&self.setup(), planes, &observer), watch)
    }

    fn observed<O: Observer>(&self, partitions: Vec<Box<dyn Partition>>, watch: &Watch) -> (Outcome, Vec<O>) {
        let (outcome, observers) = self.outcome(partitions, watch);
        let own = |observer: Box<dyn Observer>| {
            *(observer as Box<dyn Any>).downcast::<O>().expect("every partition has an observer of type O")
        };
        (outcome, observers.into_iter().map(own).collect())
    }

    fn outcome(&self, partitions: Vec<Box<dyn Partition>>, watch: &Watch) -> (Outcome, Vec<Box<dyn Observer>>) {
        let mut parts = run::run(partitions, (&self.scenario, &self.graph), self.timing(), watch);
        let observers = parts.iter_mut().filter_map(|(nodes, _)| nodes.detach()).collect();
        (conclude(gather(&self.scenario, &self.graph, parts)), observers)
    }

    fn setup(&self) -> Setup<'_> {
        Setup {
            scenario: &self.scenario,
            graph: &self.graph,
            sites: &self.sites,
            threads: self.threads,
            order: self.order,
            homa_levels: self.homa_levels.as_ref(),
        }
    }

    /// Computes [`Timing::stall_after`]. A resume frame crosses one link and the packet it releases crosses the next,
    /// so two link crossings are added to [`stall::MARGIN`]. `None` if packets of a flow may take several paths or
    /// links have faults.
    fn stall_after(&self) -> Option<Duration> {
        let switches = self.scenario.region.iter().map(|region| &region.switch).chain([&self.scenario.switch]);
        let mut by_flow = switches.map(|switch| switch.load_balancing == LoadBalancing::Flow);
        let detectable = self.scenario.fault.is_empty() && by_flow.all(|by_flow| by_flow);
        let crossing = longest_way(&self.scenario, &self.graph) + self.scenario.host.delay;
        detectable.then(|| stall::MARGIN + crossing + crossing)
    }

    /// Decides when the run stops and which periods it samples.
    fn timing(&self) -> Timing {
        let run = &self.scenario.run;
        let (warm, until) = counted_window(&self.scenario);
        let look_ahead = self.graph.look_ahead(&self.scenario.host, &self.scenario.conventions);
        let widest = if self.order == Order::Ranked { look_ahead.min(ranked::WINDOW_MAX) } else { look_ahead };
        Timing {
            look_ahead: run.window.map_or(widest, |w| w.min(widest)),
            warm,
            middle: Instant(u64::midpoint(warm.0, until.0)),
            until,
            cap: Instant((run.duration.0 as f64 * run.drain.max(1.0)) as u64).max(until).min(Instant(TIME_LIMIT.0 - 1)),
            sample: self.scenario.measure.sample,
            links: self.scenario.measure.links,
            stall_after: self.stall_after(),
        }
    }
}

/// Chooses the number of threads, at most `threads`, and the order of simultaneous events. Nodes that draw from one
/// shared random stream of ns-3 need one thread and one global event list.
fn order(scenario: &Scenario, threads: usize) -> (usize, Order) {
    let marks_at_random = |switch: &Switch| {
        let between = |ecn: &Ecn| ecn.kmin < ecn.kmax || ecn.by_rate.iter().any(|at| at.kmin < at.kmax);
        switch.ecn.as_ref().is_some_and(between)
    };
    let marks =
        marks_at_random(&scenario.switch) || scenario.region.iter().any(|region| marks_at_random(&region.switch));
    let lost = scenario.conventions.losses == Losses::Ns3 && scenario.fault.iter().any(|fault| fault.loss > 0.0);
    let down = scenario.fault.iter().any(|fault| !fault.down.is_empty());
    match scenario.conventions.ties {
        Ties::Random => (threads, Order::Random),
        Ties::Ns3 if marks || lost || down || scenario.host.transport == Transport::Pint => (1, Order::OneByOne),
        Ties::Scheduled | Ties::Ns3 => (threads, Order::Ranked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A ranked window of 100 ms would take 400 MB, at one entry per nanosecond. A hundred such links at 100 Gb/s would
    /// exhaust the sequence numbers of a window.
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
