//! From a scenario to an outcome: picks the engines, runs them, puts together what they measured.

use crate::measure::digest;
use crate::measure::outcome::Outcome;
use crate::record::{Recorder, Wanted};
use crate::run::{self, Timing, Watch, standstill};
use crate::workload::levels::homa_levels;
use crate::workload::{Traffic, counted_window};
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
use backwater_scenario::model::{LoadBalancing, Losses, Scenario, Switch, Ties, Transport};
use backwater_scenario::topology::{self, Graph};
use backwater_transport::HomaLevels;
use backwater_types::{Duration, Instant};
use std::any::Any;
use std::borrow::Cow;

/// A scenario ready to run.
pub struct Simulation<'a> {
    /// The scenario; one that ends after a number of flows has the duration that these take.
    pub scenario: Cow<'a, Scenario>,
    /// Its nodes and links.
    pub graph: Graph,
    /// Threads to run on; the outcome does not depend on it.
    pub threads: usize,
    order: Order,
    sites: Sites,
    homa_levels: Option<HomaLevels>,
}

impl<'a> Simulation<'a> {
    /// For a valid scenario.
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

    /// The same with all events of the network in one list, where simultaneous events come in the order in which they were scheduled:
    /// the reference for ranked events.
    pub fn one_by_one(mut self) -> Simulation<'a> {
        if self.order == Order::Ranked {
            (self.threads, self.order) = (1, Order::OneByOne);
        }
        self
    }

    /// Runs it: published combinations of transport and switch by engines of their own, all others by engines behind tables of
    /// functions.
    pub fn run(&self, watch: &Watch) -> Outcome {
        self.outcome(self.partitions(), watch).0
    }

    /// Types of the engine that [`Simulation::run`] runs it on.
    pub fn engine(&self) -> &'static str {
        self.partitions()[0].engine()
    }

    fn partitions(&self) -> Vec<Box<dyn Partition>> {
        let setup = &self.setup();
        let own = backwater_engines_published::build(setup).or_else(|| backwater_engines_compat::build(setup));
        own.unwrap_or_else(|| backwater_engines_any::build(setup, &|| None))
    }

    /// Runs it by the engines behind tables of functions.
    pub fn run_any(&self, watch: &Watch) -> Outcome {
        self.outcome(backwater_engines_any::build(&self.setup(), &|| None), watch).0
    }

    /// Runs it, and records what is wanted beside.
    ///
    /// # Panics
    /// If flows are to be explained on more threads than one.
    pub fn record(&self, wanted: &Wanted, watch: &Watch) -> Outcome {
        assert!(wanted.explain.is_empty() || self.threads == 1, "flows are explained on one thread");
        let (mut outcome, recorders) = self.observe_any(|| Recorder::new(wanted, &self.scenario, &self.graph), watch);
        outcome.recorded = Recorder::conclude(recorders);
        outcome
    }

    /// As [`Simulation::run_any`], with an observer in each partition.
    pub fn observe_any<O: Observer>(&self, observer: impl Fn() -> O, watch: &Watch) -> (Outcome, Vec<O>) {
        let observer = || -> AnyObserver { Some(Box::new(observer())) };
        self.observed(backwater_engines_any::build(&self.setup(), &observer), watch)
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

    /// As [`Simulation::observe_any`], with switches that `planes` makes.
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
        let own =
            |observer: Box<dyn Observer>| *(observer as Box<dyn Any>).downcast::<O>().expect("one type of observer");
        (outcome, observers.into_iter().map(own).collect())
    }

    fn outcome(&self, partitions: Vec<Box<dyn Partition>>, watch: &Watch) -> (Outcome, Vec<Box<dyn Observer>>) {
        let mut parts = run::run(partitions, (&self.scenario, &self.graph), self.timing(), watch);
        let observers = parts.iter_mut().filter_map(|(nodes, _)| nodes.detach()).collect();
        let mut outcome = Outcome::gather(&self.scenario, &self.graph, parts);
        outcome.digest = digest::of(&outcome);
        (outcome, observers)
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

    /// See [`Timing::still`]. The frame that ends a pause crosses a link, and what it lets go crosses the next.
    fn still(&self) -> Option<Duration> {
        let switches = self.scenario.region.iter().map(|region| &region.switch).chain([&self.scenario.switch]);
        let mut by_flow = switches.map(|switch| switch.load_balancing == LoadBalancing::Flow);
        let holds = self.scenario.fault.is_empty() && by_flow.all(|by_flow| by_flow);
        let way = longest_way(&self.scenario, &self.graph) + self.scenario.host.delay;
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
            links: self.scenario.measure.links,
            still: self.still(),
        }
    }
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
        Ties::Random => (threads, Order::Random),
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
