//! A whole run of a scenario in the lab: its flows as datagrams, and the outcome that a simulation has too.

use crate::Logs;
use crate::linux::clock::Clock;
use crate::linux::flows::{Flows, Programs};
use crate::linux::namespace::Namespace;
use crate::linux::processes::Asked;
use crate::linux::running::FRAMES;
use crate::linux::{Carrier, Counts, During, LabError, Network, Processes, Running};
use crate::meter::{Measured, Meter};
use crate::own::{Own, own_flows};
use backwater_measure::Outcome;
use backwater_measure::digest::conclude;
use backwater_nic::Rings;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_traffic::counted_window;
use backwater_types::Instant;
use std::thread;
use std::time::Duration;

/// Time for the programs to open their sockets before time 0 of the network.
const SETTING_UP: Duration = Duration::from_millis(300);
/// The same for each host.
const PER_HOST: Duration = Duration::from_millis(3);
const LOOK: Duration = Duration::from_millis(20);

/// A run so far.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time of the network.
    pub now: Instant,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Flows that have started, and finite flows that have arrived.
    pub flows: [u64; 2],
}

/// Results of a run.
pub struct Whole {
    /// The outcome, as a simulation has it.
    pub outcome: Outcome,
    /// Counters of the loop at the edge.
    pub counts: Counts,
    /// Counters of the programs.
    pub flows: Flows,
}

/// Observer of a run.
pub trait Watcher {
    /// Is given the namespaces of the hosts, when they are set up.
    fn on_start(&mut self, hosts: Vec<Namespace>);
    /// Is told of the progress now and then, and says whether to go on.
    fn goes_on(&mut self, so_far: Progress, running: &dyn Carrier) -> bool;
}

/// Runs the flows of a scenario, whose network is `graph`, with these logs, or on processes if they are asked for.
///
/// # Errors
/// If the system refuses a part of the lab.
pub fn run(
    scenario: &Scenario,
    graph: &Graph,
    divisor: u32,
    logs: &Logs,
    processes: Option<Asked>,
    watcher: &mut dyn Watcher,
) -> Result<Whole, LabError> {
    let mut network = Network::new(graph.hosts as u16, scenario.host.full_packet().0 as usize)?;
    watcher.on_start(network.namespaces().during("cannot keep the hosts", "")?);
    let own = own_flows(scenario, graph);
    let later = SETTING_UP + PER_HOST * graph.hosts as u32;
    let mut running: Box<dyn Carrier> = match processes {
        Some(asked) => {
            let longest = scenario.host.full_packet().0 as usize;
            Box::new(Processes::start(&mut network, graph, longest, asked, later)?)
        }
        None => {
            let mut fabric = logs.fabric::<Rings>(scenario, graph, FRAMES);
            fabric.name_flows(own.iter().filter_map(Own::name));
            let meter = Meter::new(scenario, graph, &mut fabric);
            Box::new(Running::start(&mut network, fabric, Some(meter), Clock::start(divisor).later(later))?)
        }
    };
    let programs = Programs::start(&network, scenario, graph, &own, running.clock())?;
    let until = counted_window(scenario).1;
    let cap = Instant((scenario.run.duration.0 as f64 * scenario.run.drain.max(1.0)) as u64).max(until);
    let mut complete = true;
    loop {
        thread::sleep(LOOK);
        let now = running.now();
        let progress = Progress { now, packet_hops: running.packet_hops(), flows: programs.counts() };
        if !watcher.goes_on(progress, &*running) || !running.runs() {
            complete = false;
            break;
        }
        if now >= cap || now >= until && !programs.waits() {
            break;
        }
    }
    let flows = programs.stop();
    let (counts, measured) = running.stop();
    let mut outcome = Measured::outcome(measured, scenario, graph);
    let count = flows.counts[0] as usize;
    let mut received = flows.received.clone();
    received.resize(count, Instant::NEVER);
    (outcome.received, outcome.acknowledged) = (received.clone().into(), received.into());
    (outcome.retransmitted, outcome.timeouts) = (vec![0; count].into(), vec![0; count].into());
    outcome.goodput.clone_from(&flows.goodput);
    outcome.early_goodput.clone_from(&flows.early_goodput);
    outcome.complete = complete;
    Ok(Whole { outcome: conclude(outcome), counts, flows })
}
