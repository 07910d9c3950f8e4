//! Builds a network from a scenario: nodes, wires and routes, split into partitions.

use crate::compat::hpcc::errors::Errors;
use crate::compat::hpcc::network::address;
use crate::compat::hpcc::streams::streams;
use crate::host::port::{EndHost, ExtensionOf, HostPort, HostSetup};
use crate::net::choice::Choice;
use crate::net::link::{Fabric, Faults, Wire};
use crate::net::link_meter::FlowsHeld;
use crate::net::meters::{Census, DelayHistogram, Meters, ScheduledDelays, Valleys};
use crate::net::pause_census::PauseCensus;
use crate::net::queue_census::{DataQueues, SharingCensus};
use crate::net::routes::Routes;
use crate::net::schedule::{Schedule, Target};
use crate::net::switch_node::{Change, SwitchNode};
use crate::workload::FlowKeys;
use backwater_dataplane::shape::cells_ahead;
use backwater_dataplane::{DataPlane, Shape};
use backwater_scenario::model::{Fault, Hosts, Losses, Paths, Reroutes, Scenario, Ties, Transport};
use backwater_scenario::topology::{Graph, Link};
use backwater_schemes::build::ser_time;
use backwater_schemes::{Backpressure, Neighbour, Network, NicSite, Switch, SwitchSite};
use backwater_types::hash::{self, Stream};
use backwater_types::{Duration, Instant, PintShape};
use std::collections::VecDeque;
use std::sync::Arc;

/// The nodes that one thread runs.
pub struct Nodes<H: EndHost, D> {
    /// Hosts, numbered from 0 in the partition.
    pub hosts: Vec<H>,
    /// Switches, numbered after the hosts.
    pub switches: Vec<SwitchNode<D, H::Schedule>>,
    /// Frames in flight towards them.
    pub fabric: Fabric<H::Schedule>,
    /// `[host in the graph]`: number here, or `u32::MAX`.
    pub local: Vec<u32>,
}

/// Builds all partitions. `plane` makes a switch's data plane; `scheduled` is the first level of Homa's scheduled packets,
/// whose times in queues are measured apart; `pint` says how ports measure their links.
pub(crate) fn build<H: EndHost, D: DataPlane<Extension = ExtensionOf<H>>>(
    scenario: &Scenario,
    graph: &Graph,
    partitions: usize,
    plane: impl Fn(&Shape, &Switch) -> D,
    scheduled: Option<u8>,
    pint: &PintShape,
) -> Vec<Nodes<H, D>> {
    let part = assign_partitions(graph, partitions);
    let (routes, schedule) = epochs(graph, &scenario.fault, scenario.conventions.paths);
    let (local, counts) = number(graph, &part, partitions);
    let incoming = number_links(graph, &part, partitions);
    let wires = Wires { scenario, graph, part: &part, local: &local, incoming: &incoming };
    let longest = longest_way(scenario, graph);
    let links = ports(graph);
    // Events in ns-3's order are those of one partition.
    let mut errors = loses_as_ns3(scenario)
        .then(|| Errors::new(&links, |link| scenario.fault.iter().find(|fault| is_on(graph, fault, link))))
        .flatten();
    let mut nodes: Vec<Nodes<H, D>> = (0..partitions)
        .map(|p| Nodes {
            hosts: Vec::new(),
            switches: Vec::new(),
            fabric: Fabric {
                id: p as u16,
                schedule: H::Schedule::new(p as u16, counts[p], incoming.ends[p].len(), longest),
                ends: incoming.ends[p].iter().map(|(node, port)| (local[*node], *port)).collect(),
                outbox: std::iter::repeat_with(Vec::new).take(partitions).collect(),
                outbox_next: Instant::NEVER,
                packet_hops: 0,
                errors: errors.take(),
            },
            local: (0..graph.hosts).map(|h| if part[h] == p { local[h] } else { u32::MAX }).collect(),
        })
        .collect();
    let network = network(scenario, graph);
    let conventions = &scenario.conventions;
    let lists =
        conventions.hosts == Hosts::HpccSim && conventions.reroutes == Reroutes::HpccSim && !schedule.is_empty();
    let addresses: Option<Arc<[u32]>> =
        lists.then(|| graph.nodes[..graph.hosts].iter().map(|n| address(n.id)).collect());
    let tie_seed = |node: usize| hash::stream(scenario.seed, 0x7469_6573, node as u64);
    for host in 0..graph.hosts {
        let changes: VecDeque<Instant> = schedule.iter().filter(|c| c.touches(links[host][0])).map(|c| c.at).collect();
        let table = scenario.switch_at(&graph.nodes[graph.switch_of(host)].name);
        let mut port = HostPort::new(host as u16, wires.of(host, links[host][0]), tie_seed(host));
        port.flows_held = flows_held(scenario, table).map(Box::new);
        let link = &graph.links[links[host][0]];
        let mut nic = network.nic(table, &NicSite { host: host as u16, rate: link.rate, delay: link.delay });
        nic.addresses = addresses.clone();
        let reroutes = schedule.iter().filter(|_| addresses.is_some()).map(|change| change.at).collect();
        let (classes, keys) = (scenario.workload.len(), FlowKeys::new(scenario));
        let setup = HostSetup { nic, classes, keys, changes, reroutes };
        nodes[part[host]].hosts.push(H::new(port, setup));
    }
    let routes = Arc::new(routes);
    let faults = if loses_as_ns3(scenario) { &scenario.fault[..] } else { &[] };
    let ns3 = (scenario.conventions.ties == Ties::Ns3).then(|| streams(graph, faults));
    for switch in graph.hosts..graph.nodes.len() {
        let ports: Vec<(u32, Wire)> = links[switch].iter().map(|link| wires.of(switch, *link)).collect();
        let table = scenario.switch_at(&graph.nodes[switch].name);
        let site = SwitchSite { scheduled, ..site(scenario, graph, switch, &links[switch]) };
        let shape = network.shape(table, &site);
        let cells_ahead = cells_ahead((graph.nodes.len() - graph.hosts) as u64);
        let shape = Shape { ns3: ns3.clone(), pint: pint.clone(), cells_ahead, ..shape };
        let changes = schedule.iter().map(|c| c.at_switch(&links[switch])).collect();
        let mut node = SwitchNode::new(
            switch,
            plane(&shape, table),
            ports,
            graph.hosts,
            (routes.clone(), Choice::new(scenario, graph, switch)),
            changes,
            tie_seed(switch),
        );
        let measure = &scenario.measure;
        let (name, links) = (|node: usize| &graph.nodes[node].name, &links[switch]);
        let sampled = |port: &u16| measure.samples(name(switch), name(graph.peer(links[*port as usize], switch)));
        node.sampled = (0..links.len() as u16).filter(sampled).collect();
        if measure.pauses {
            let by_flow = table.backpressure != Backpressure::Bfc;
            node.pauses = Some(Box::new(PauseCensus::new(links.len(), table.data_queues(), by_flow)));
        }
        node.flows_held = vec![flows_held(scenario, table); links.len()].into_iter().flatten().collect();
        node.sharing = measure.sharing.then(|| Box::new(SharingCensus::new(links.len())));
        node.data_queues = measure.data_queues.then(|| Box::new(DataQueues::new(node.sampled.clone())));
        if measure.active_flows || measure.queueing_delay || measure.valleys {
            node.meters = Some(Box::new(Meters {
                delays: measure.queueing_delay.then(DelayHistogram::default),
                scheduled: scheduled.filter(|_| measure.queueing_delay).map(|level| {
                    let peer = |link: &usize| graph.nodes[graph.peer(*link, switch)].layer;
                    ScheduledDelays::new(level, links.iter().map(peer).collect())
                }),
                census: measure.active_flows.then(|| Census::new(links.len())),
                valleys: measure.valleys.then(|| {
                    let layer = |node: usize| graph.nodes[node].layer;
                    let up = |link: &usize| layer(graph.peer(*link, switch)) > layer(switch);
                    Valleys::new(links.iter().map(up).collect())
                }),
            }));
        }
        nodes[part[switch]].switches.push(node);
    }
    nodes
}

/// Counts what neighbours hold at a port of this switch, or of a host beside it, where frames name flows and it is asked for.
fn flows_held(scenario: &Scenario, table: &Switch) -> Option<FlowsHeld> {
    let by_flow = matches!(table.backpressure, Backpressure::Flowsail | Backpressure::PerFlow);
    let refresh = table.flowsail.refresh;
    (scenario.measure.links > Duration::ZERO && by_flow).then(|| FlowsHeld::new(refresh + refresh + refresh))
}

/// What of [`model::Host::delay`] frames spend on the last link: all of it, where no control frame comes by it that would have to
/// overtake them, and no link goes down while they are in the host. It saves an event for each.
pub(crate) fn delay_on_wire(scenario: &Scenario) -> Duration {
    let plain = |switch: &Switch| switch.backpressure == Backpressure::None;
    let plain = plain(&scenario.switch) && scenario.region.iter().all(|region| plain(&region.switch));
    let up = scenario.fault.iter().all(|fault| fault.down.is_empty());
    let all = plain && up && scenario.host.transport == Transport::Tcp;
    if all { scenario.host.delay } else { Duration::ZERO }
}

/// As long as any full packet is on its way, from the start of its transmission.
pub(crate) fn longest_way(scenario: &Scenario, graph: &Graph) -> Duration {
    let full = scenario.host.payload.0 + scenario.host.headers().0;
    let way = |link: &Link| link.delay + ser_time(&scenario.conventions, link.rate).of_bytes(full);
    graph.links.iter().map(way).max().unwrap_or(Duration::ZERO) + delay_on_wire(scenario)
}

/// `[node][port]`: its link.
pub fn ports(graph: &Graph) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); graph.nodes.len()];
    for (i, link) in graph.links.iter().enumerate() {
        out[link.a].push(i);
        out[link.b].push(i);
    }
    out
}

/// `[node]`: its partition. Hosts go with their switch; switches of a layer are dealt out in blocks, so that layers balance.
fn assign_partitions(graph: &Graph, partitions: usize) -> Vec<usize> {
    let mut part = vec![0; graph.nodes.len()];
    let layers = graph.nodes.iter().map(|n| n.layer).max().unwrap_or(0);
    for layer in 1..=layers {
        let members: Vec<usize> = (graph.hosts..graph.nodes.len()).filter(|n| graph.nodes[*n].layer == layer).collect();
        for (i, node) in members.iter().enumerate() {
            part[*node] = i * partitions / members.len();
        }
    }
    for host in 0..graph.hosts {
        part[host] = part[graph.switch_of(host)];
    }
    part
}

/// `[node]`: its number within its partition, hosts first; and how many nodes each has.
fn number(graph: &Graph, part: &[usize], partitions: usize) -> (Vec<u32>, Vec<usize>) {
    let mut counts = vec![0; partitions];
    let local = (0..graph.nodes.len())
        .map(|node| {
            counts[part[node]] += 1;
            counts[part[node]] as u32 - 1
        })
        .collect();
    (local, counts)
}

struct Incoming {
    /// `[link][0: towards a, 1: towards b]`: number within the receiving partition.
    number: Vec<[u32; 2]>,
    /// `[partition][link]`: receiving node and its port.
    ends: Vec<Vec<(usize, u16)>>,
}

fn number_links(graph: &Graph, part: &[usize], partitions: usize) -> Incoming {
    let ports = ports(graph);
    let mut ends = vec![Vec::new(); partitions];
    let number = (0..graph.links.len()).map(|i| {
        [graph.links[i].a, graph.links[i].b].map(|node| {
            let port = ports[node].iter().position(|l| *l == i).expect("a link is a port of its ends") as u16;
            ends[part[node]].push((node, port));
            ends[part[node]].len() as u32 - 1
        })
    });
    let number = number.collect();
    Incoming { number, ends }
}

struct Wires<'a> {
    scenario: &'a Scenario,
    graph: &'a Graph,
    part: &'a [usize],
    local: &'a [u32],
    incoming: &'a Incoming,
}

impl Wires<'_> {
    /// For the port of `node` on link `link`: the number of the incoming direction, and the wire out.
    fn of(&self, node: usize, link: usize) -> (u32, Wire) {
        let l = &self.graph.links[link];
        let (towards, peer) = if l.a == node { (1, l.b) } else { (0, l.a) };
        let (number, part) = (self.incoming.number[link][towards], self.part[peer]);
        let (_, port) = self.incoming.ends[part][number as usize];
        let target = Target { partition: part as u16, port, node: self.local[peer], link: number };
        let ser = ser_time(&self.scenario.conventions, l.rate);
        let faults = self.faults(link, towards);
        let delay = l.delay + if peer < self.graph.hosts { delay_on_wire(self.scenario) } else { Duration::ZERO };
        (self.incoming.number[link][1 - towards], Wire { ser, delay, target, faults })
    }

    fn faults(&self, link: usize, direction: usize) -> Option<Box<Faults>> {
        let of_link: Vec<&Fault> = self.scenario.fault.iter().filter(|f| is_on(self.graph, f, link)).collect();
        if of_link.is_empty() {
            return None;
        }
        let below = |share: f64| (share * 4_294_967_296.0) as u64;
        let loss = |fault: &&Fault| if loses_as_ns3(self.scenario) { 0 } else { below(fault.loss) };
        let mut down: Vec<[Instant; 2]> =
            of_link.iter().flat_map(|f| &f.down).map(|[from, to]| [Instant(from.0), Instant(to.0)]).collect();
        down.sort();
        Some(Box::new(Faults {
            loss_below: of_link.iter().map(loss).max().unwrap_or(0),
            control_loss_below: of_link.iter().map(|f| below(f.control_loss)).max().unwrap_or(0),
            down,
            rng: Stream::new(self.scenario.seed, 0x6c6f_7373, (2 * link + direction) as u64),
        }))
    }
}

/// ns-3's error models decide which frames are lost.
fn loses_as_ns3(scenario: &Scenario) -> bool {
    scenario.conventions.ties == Ties::Ns3 && scenario.conventions.losses == Losses::Ns3
}

fn is_on(graph: &Graph, fault: &Fault, link: usize) -> bool {
    let l = &graph.links[link];
    let (a, b) = (&graph.nodes[l.a].name, &graph.nodes[l.b].name);
    let [x, y] = &fault.link;
    (a == x && b == y) || (a == y && b == x)
}

/// A moment at which links fail or come back.
struct Epoch {
    at: Instant,
    number: usize,
    /// Links that change, and whether they are up from now on.
    links: Vec<(usize, bool)>,
}

impl Epoch {
    fn touches(&self, link: usize) -> bool {
        self.links.iter().any(|(l, _)| *l == link)
    }

    fn at_switch(&self, links: &[usize]) -> Change {
        let ports = links.iter().enumerate().filter_map(|(port, link)| {
            let (_, up) = self.links.iter().find(|(l, _)| l == link)?;
            Some((port as u16, *up))
        });
        Change { at: self.at, epoch: self.number, ports: ports.collect() }
    }
}

/// Routes for every state of the links, and the moments between them.
fn epochs(graph: &Graph, faults: &[Fault], paths: Paths) -> (Vec<Routes>, Vec<Epoch>) {
    let mut moments: Vec<Instant> = faults.iter().flat_map(|f| &f.down).flatten().map(|d| Instant(d.0)).collect();
    moments.sort();
    moments.dedup();
    let is_up = |link: usize, at: Instant| {
        let mut downs = faults.iter().filter(|f| is_on(graph, f, link)).flat_map(|f| &f.down);
        !downs.any(|[from, to]| Instant(from.0) <= at && at < Instant(to.0))
    };
    let mut up = vec![true; graph.links.len()];
    let mut routes = vec![Routes::new(graph, &up, paths)];
    let mut schedule = Vec::new();
    for at in moments {
        let now: Vec<bool> = (0..graph.links.len()).map(|link| is_up(link, at)).collect();
        let links = (0..now.len()).filter(|l| now[*l] != up[*l]).map(|l| (l, now[l])).collect();
        schedule.push(Epoch { at, number: routes.len(), links });
        routes.push(Routes::new(graph, &now, paths));
        up = now;
    }
    (routes, schedule)
}

/// What is the same for all switches and hosts.
pub(crate) fn network<'a>(scenario: &'a Scenario, graph: &Graph) -> Network<'a> {
    let (host, conventions) = (&scenario.host, &scenario.conventions);
    let (stamps, fastest_nic) = (scenario.measure.queueing_delay, graph.fastest_nic());
    Network { host, conventions, seed: scenario.seed, stamps, fastest_nic }
}

/// Switch number `switch` in its place.
fn site<'a>(scenario: &'a Scenario, graph: &'a Graph, switch: usize, links: &[usize]) -> SwitchSite<'a> {
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
        scheduled: None,
        ports: links.iter().map(neighbour).collect(),
    }
}
