//! Code that the engine's tests share: scenarios from text, audited runs, random networks.

pub mod audit;
pub mod cases;
pub mod hpcc_model;
pub mod log;
pub mod memory;
pub mod random;
pub mod scenarios;
pub mod spy;
pub mod watched;

use backwater_dataplane::{Bfc, Composed, Shape, Switch};
use backwater_scenario::Scenario;
use backwater_scenario::model::{Assignment, Backpressure, Transport};
use backwater_schemes::Switch as Table;
use backwater_sim::{Outcome, Simulation, Watch};
use spy::Spy;

pub use audit::{Audit, Report};
pub use cases::cases;
pub use scenarios::scenario;

/// Runs `scenario` on one thread.
pub fn run(scenario: &Scenario) -> Outcome {
    Simulation::new(scenario, 1).run(&Watch::default())
}

/// Runs `scenario` and checks every event.
pub fn audited(scenario: &Scenario, threads: usize) -> (Outcome, Report) {
    let simulation = Simulation::new(scenario, threads);
    let audit = || Audit::new(scenario, &simulation.graph);
    let (host, switch) = (&scenario.host, &scenario.switch);
    let published = (Transport::LineRate, Assignment::Dynamic, Backpressure::Bfc);
    let spied = (host.transport, switch.assignment, switch.backpressure) == published && host.window.is_none();
    let plain = switch.data_queues() <= 64 && !switch.bfc.is_extended() && scenario.region.is_empty();
    let (outcome, audits) = if spied && plain {
        let plane = |shape: &Shape, params: &Table| {
            Switch::<Composed<Spy, Bfc>>::new(shape, &(params.bfc.clone(), params.bfc.clone()))
        };
        simulation.observe_planes(plane, audit, &Watch::default())
    } else {
        simulation.observe_any(audit, &Watch::default())
    };
    let report = audit::conclude(audits, &outcome);
    (outcome, report)
}

/// Runs `scenario`, checks every event and watches flow records. With `mishaps`, switches get some control frames twice
/// or late.
pub fn watched(scenario: &Scenario, threads: usize, mishaps: Option<u64>) -> (Outcome, Report) {
    let simulation = Simulation::new(scenario, threads);
    let graph = &simulation.graph;
    let sheets = watched::Sheets::new(scenario, graph, mishaps.is_some());
    let audit = || Audit::new(scenario, graph).reading(&sheets);
    let (outcome, audits) = simulation.observe(&sheets.planes(mishaps), audit, &Watch::default());
    let report = audit::conclude(audits, &outcome);
    (outcome, report)
}

/// Runs `scenario` and returns a log of its events.
pub fn logged(scenario: &Scenario) -> (Outcome, log::Log) {
    let (outcome, mut logs) = Simulation::new(scenario, 1).observe_any(log::Log::default, &Watch::default());
    (outcome, logs.remove(0))
}

/// Returns the topology of a row of switches with a host at each end. `links` are `(Gb/s, ns)` from host to host.
/// Nodes: `host0`, `host1`, `switch0`, ...
pub fn row(links: &[(u64, u64)]) -> String {
    let nodes = links.len() + 1;
    let name = |i: usize| match i {
        0 => "host0".to_string(),
        _ if i == nodes - 1 => "host1".to_string(),
        _ => format!("switch{}", i - 1),
    };
    let link = |(i, (rate, delay)): (usize, &(u64, u64))| {
        format!(
            "  {{ ends = [\"{}\", \"{}\"], rate = \"{rate} Gbps\", delay = \"{delay} ns\" }},\n",
            name(i),
            name(i + 1)
        )
    };
    let switches: Vec<String> = (1..nodes - 1).map(|i| format!("\"{}\"", name(i))).collect();
    let links: String = links.iter().enumerate().map(link).collect();
    format!(
        "[topology]\nkind = \"graph\"\nhosts = [\"host0\", \"host1\"]\nswitches = [{}]\nlinks = [\n{links}]\n",
        switches.join(", ")
    )
}

/// Returns the number of the node called `name`.
pub fn node(outcome: &Outcome, name: &str) -> usize {
    outcome.graph.find(name).unwrap_or_else(|| panic!("no node {name}"))
}
