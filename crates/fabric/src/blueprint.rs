//! A blueprint: every node of a network with its links and the parameters to build it, split into partitions.

use crate::choice::Choice;
use crate::hpcc::errors::Errors;
use crate::hpcc::network::address;
use crate::hpcc::streams::streams;
use crate::link_states::{Change, Epoch, epochs, is_on};
use crate::partition::Partitions;
use crate::paths::{delay_on_wire, longest_way};
use crate::ports::ports;
use crate::routes::Routes;
use crate::wire::{Faults, Target, Wire};
use backwater_dataplane::Shape;
use backwater_dataplane::shape::cells_ahead;
use backwater_nic::NicSetup;
use backwater_scenario::model::{Fault, Hosts, Losses, Reroutes, Scenario, Ties};
use backwater_scenario::topology::Graph;
use backwater_schemes::build::ser_time;
use backwater_schemes::{Neighbour, Network, NicSite, Switch, SwitchSite};
use backwater_types::hash::{self, Stream};
use backwater_types::{Duration, Instant, PintShape};
use std::collections::VecDeque;
use std::sync::Arc;

/// Parameters to build a network.
pub struct Blueprint<'a> {
    /// Assignment of nodes to threads.
    pub partitions: Partitions,
    /// `[host]`: parameters of hosts.
    pub hosts: Vec<HostPlan>,
    /// Parameters of switches, in order of their numbers, which follow the numbers of hosts.
    pub switches: Vec<SwitchPlan<'a>>,
    /// `[epoch of the links]`: routes of all switches.
    pub routes: Arc<Vec<Routes>>,
    /// Longest time from the start of a full packet's transmission to its arrival.
    pub longest_way: Duration,
    /// Error models of ns-3 that decide which frames are lost, where the scenario asks for them. They need a single
    /// partition.
    pub errors: Option<Errors>,
}

/// A port and its link: the number of the incoming direction within the partition, and the outgoing direction.
pub type PortPlan = (u32, Wire);

/// Parameters to build a host.
pub struct HostPlan {
    /// Link of the host.
    pub port: PortPlan,
    /// Seed of the order of its simultaneous events.
    pub tie_seed: u64,
    /// Parameters of its NIC.
    pub nic: NicSetup,
    /// Times at which its link fails or comes back, ascending.
    pub changes: VecDeque<Instant>,
    /// Times at which routes change, ascending; empty unless its NIC needs them.
    pub reroutes: VecDeque<Instant>,
}

/// Parameters to build a switch.
pub struct SwitchPlan<'a> {
    /// Number in the graph.
    pub number: usize,
    /// Settings of the switch in the scenario.
    pub table: &'a Switch,
    /// Parameters of its data plane that follow from its position in the network.
    pub shape: Shape,
    /// `[port]`: links of the switch.
    pub ports: Vec<PortPlan>,
    /// Choice among next hops of equal cost.
    pub choice: Choice,
    /// State changes of its links, in order of time.
    pub changes: VecDeque<Change>,
    /// Seed of the order of its simultaneous events.
    pub tie_seed: u64,
}

impl<'a> Blueprint<'a> {
    /// Describes the network of a valid scenario in `partitions` partitions. `scheduled` is the first priority level of
    /// Homa's scheduled packets. `pint` has the parameters with which ports measure link utilisation.
    pub fn new(
        scenario: &'a Scenario,
        graph: &'a Graph,
        partitions: usize,
        scheduled: Option<u8>,
        pint: &PintShape,
    ) -> Blueprint<'a> {
        let (routes, schedule) = epochs(graph, &scenario.fault, scenario.conventions.paths);
        let links = ports(graph);
        let parts = Partitions::new(graph, partitions);
        let wires = Wires { scenario, graph, parts: &parts };
        let network = network(scenario, graph);
        let hosts = (0..graph.hosts).map(|host| host_plan(&wires, &network, &schedule, host, links[host][0])).collect();
        let ns3 = (scenario.conventions.ties == Ties::Ns3).then(|| {
            let faults = if loses_as_ns3(scenario) { &scenario.fault[..] } else { &[] };
            streams(graph, faults)
        });
        let cells_ahead = cells_ahead((graph.nodes.len() - graph.hosts) as u64);
        let switch = |number: usize| {
            let table = scenario.switch_at(&graph.nodes[number].name);
            let shape = network.shape(table, &site(scenario, graph, number, &links[number], scheduled));
            SwitchPlan {
                number,
                table,
                shape: Shape { ns3: ns3.clone(), pint: pint.clone(), cells_ahead, ..shape },
                ports: links[number].iter().map(|link| wires.of(number, *link)).collect(),
                choice: Choice::new(scenario, graph, number),
                changes: schedule.iter().map(|c| c.at_switch(&links[number])).collect(),
                tie_seed: tie_seed(scenario, number),
            }
        };
        let switches = (graph.hosts..graph.nodes.len()).map(switch).collect();
        let fault_of = |link: usize| scenario.fault.iter().find(|fault| is_on(graph, fault, link));
        let errors = loses_as_ns3(scenario).then(|| Errors::new(&links, fault_of)).flatten();
        Blueprint {
            hosts,
            switches,
            routes: Arc::new(routes),
            longest_way: longest_way(scenario, graph),
            errors,
            partitions: parts,
        }
    }
}

fn host_plan(wires: &Wires, network: &Network, schedule: &[Epoch], host: usize, link: usize) -> HostPlan {
    let (scenario, graph) = (wires.scenario, wires.graph);
    let table = scenario.switch_at(&graph.nodes[graph.switch_of(host)].name);
    let Graph { links, nodes, .. } = graph;
    let nic = network.nic(table, &NicSite { host: host as u16, rate: links[link].rate, delay: links[link].delay });
    let conventions = &scenario.conventions;
    let relists =
        conventions.hosts == Hosts::HpccSim && conventions.reroutes == Reroutes::HpccSim && !schedule.is_empty();
    let addresses = || nodes[..graph.hosts].iter().map(|n| address(n.id)).collect();
    HostPlan {
        port: wires.of(host, link),
        tie_seed: tie_seed(scenario, host),
        nic: NicSetup { addresses: relists.then(addresses), ..nic },
        changes: schedule.iter().filter(|c| c.touches(link)).map(|c| c.at).collect(),
        reroutes: schedule.iter().filter(|_| relists).map(|c| c.at).collect(),
    }
}

fn tie_seed(scenario: &Scenario, node: usize) -> u64 {
    hash::stream(scenario.seed, 0x7469_6573, node as u64)
}

/// Collects the parameters that are the same for all switches and hosts.
pub fn network<'a>(scenario: &'a Scenario, graph: &Graph) -> Network<'a> {
    let (host, conventions) = (&scenario.host, &scenario.conventions);
    let (stamps, fastest_nic) = (scenario.measure.queueing_delay, graph.fastest_nic());
    Network { host, conventions, seed: scenario.seed, stamps, fastest_nic }
}

/// Collects the parameters of switch number `switch` that follow from its position in the network.
fn site<'a>(
    scenario: &'a Scenario,
    graph: &'a Graph,
    switch: usize,
    links: &[usize],
    scheduled: Option<u8>,
) -> SwitchSite<'a> {
    let neighbour = |link: &usize| {
        let (node, link) = (graph.peer(*link, switch), &graph.links[*link]);
        let peer = &graph.nodes[node];
        let table = (node >= graph.hosts).then(|| scenario.switch_at(&peer.name));
        Neighbour { name: &peer.name, layer: peer.layer.into(), switch: table, rate: link.rate, delay: link.delay }
    };
    let node = &graph.nodes[switch];
    SwitchSite {
        name: &node.name,
        layer: node.layer.into(),
        number: switch as u64,
        nic_rate: graph.links[0].rate,
        scheduled,
        ports: links.iter().map(neighbour).collect(),
    }
}

/// Builder of the wires of a network.
struct Wires<'a> {
    scenario: &'a Scenario,
    graph: &'a Graph,
    parts: &'a Partitions,
}

impl Wires<'_> {
    /// Builds the port of `node` on link `link`.
    fn of(&self, node: usize, link: usize) -> PortPlan {
        let l = &self.graph.links[link];
        let (towards, peer) = if l.a == node { (1, l.b) } else { (0, l.a) };
        let (number, part) = (self.parts.links[link][towards], self.parts.of[peer]);
        let (_, port) = self.parts.ends[part][number as usize];
        let target = Target { partition: part as u16, port, node: self.parts.local[peer], link: number };
        let ser = ser_time(&self.scenario.conventions, l.rate);
        let faults = self.faults(link, towards);
        let delay = l.delay + if peer < self.graph.hosts { delay_on_wire(self.scenario) } else { Duration::ZERO };
        (self.parts.links[link][1 - towards], Wire { ser, delay, target, faults })
    }

    fn faults(&self, link: usize, direction: usize) -> Option<Box<Faults>> {
        let of_link: Vec<&Fault> = self.scenario.fault.iter().filter(|f| is_on(self.graph, f, link)).collect();
        if of_link.is_empty() {
            return None;
        }
        let loss = |fault: &&Fault| if loses_as_ns3(self.scenario) { 0.0 } else { fault.loss };
        let most = |shares: &mut dyn Iterator<Item = f64>| shares.fold(0.0, f64::max);
        let down = of_link.iter().flat_map(|f| &f.down).map(|[from, to]| [Instant(from.0), Instant(to.0)]).collect();
        Some(Box::new(Faults::new(
            most(&mut of_link.iter().map(loss)),
            most(&mut of_link.iter().map(|fault| fault.control_loss)),
            down,
            Stream::new(self.scenario.seed, 0x6c6f_7373, (2 * link + direction) as u64),
        )))
    }
}

/// Whether ns-3's error models decide which frames are lost.
fn loses_as_ns3(scenario: &Scenario) -> bool {
    scenario.conventions.ties == Ties::Ns3 && scenario.conventions.losses == Losses::Ns3
}
