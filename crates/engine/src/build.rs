//! Construction of partitions, with nodes of given types, from a blueprint.

use crate::host::port::{EndHost, ExtensionOf, HostPort, HostSetup};
use crate::link::Transit;
use crate::nodes::Nodes;
use crate::observe::EngineObserver;
use crate::partition::Partition;
use crate::schedule::Schedule;
use crate::setup::Setup;
use crate::switch_node::SwitchNode;
use crate::typed_partition::{Exchange, TypedPartition};
use crate::windows::Windows;
use backwater_counters::link_meter::FlowsHeld;
use backwater_counters::meters::Meters;
use backwater_dataplane::{DataPlane, Shape};
use backwater_fabric::blueprint::{Blueprint, HostPlan, SwitchPlan};
use backwater_fabric::keys::FlowKeys;
use backwater_fabric::sites::pint;
use backwater_fabric::{ports, probes};
use backwater_schemes::Switch;
use backwater_types::Instant;
use std::sync::Arc;

/// Builds the partitions of a run: hosts `H` under `transport`, switches whose data planes `plane` makes, and an
/// observer in each partition.
pub fn build<H, D, O>(
    setup: &Setup,
    transport: H::Params,
    plane: &dyn Fn(&Shape, &Switch) -> D,
    observer: &dyn Fn() -> O,
) -> Vec<Box<dyn Partition>>
where
    H: EndHost<Schedule: Windows<H, D, O>> + 'static,
    D: DataPlane<Extension = ExtensionOf<H>>,
    O: EngineObserver,
{
    let Parts { blueprint, probes, rand } = Parts::new(setup);
    let mut params = setup.host_params(transport);
    H::draw_from(&mut params.nic.transport, setup.scenario.seed, rand.as_ref());
    let params = Arc::new(params);
    let Blueprint { partitions: parts, hosts, switches, routes, longest_way, mut errors } = blueprint;
    let exchange = Arc::new(Exchange::new(parts.count));
    let mut runs: Vec<TypedPartition<H, D, O>> = (0..parts.count)
        .map(|p| TypedPartition {
            nodes: Nodes {
                hosts: Vec::new(),
                switches: Vec::new(),
                transit: Transit {
                    id: p as u16,
                    schedule: H::Schedule::new(p as u16, parts.nodes[p], parts.ends[p].len(), longest_way),
                    ends: parts.ends[p].iter().map(|(node, port)| (parts.local[*node], *port)).collect(),
                    outbox: std::iter::repeat_with(Vec::new).take(parts.count).collect(),
                    outbox_next: Instant::NEVER,
                    packet_hops: 0,
                    errors: errors.take(),
                },
                local: parts.local_hosts(p, hosts.len()),
            },
            params: params.clone(),
            observer: observer(),
            exchange: exchange.clone(),
        })
        .collect();
    let count = hosts.len();
    for (number, HostPlan { port, tie_seed, nic, changes, reroutes }) in hosts.into_iter().enumerate() {
        let mut port = HostPort::new(number as u16, port, tie_seed);
        port.flows_held = probes.hosts[number].clone().map(Box::new);
        let setup = HostSetup { nic, classes: probes.classes, keys: probes.keys.clone(), changes, reroutes };
        runs[parts.of[number]].nodes.hosts.push(H::new(port, setup));
    }
    for (SwitchPlan { number, table, shape, ports, choice, changes, tie_seed }, probes) in
        switches.into_iter().zip(probes.switches)
    {
        let plane = plane(&shape, table);
        let mut node = SwitchNode::new(number, plane, ports, count, (routes.clone(), choice), changes, tie_seed);
        node.flows_held = probes.flows_held;
        node.links.meters = probes.meters;
        runs[parts.of[number]].nodes.switches.push(node);
    }
    runs.into_iter().map(|run| Box::new(run) as Box<dyn Partition>).collect()
}

/// Parts of a network that depend on no type of host or switch.
struct Parts<'a> {
    blueprint: Blueprint<'a>,
    probes: Probes,
    rand: Option<backwater_types::LibraryRand>,
}

impl<'a> Parts<'a> {
    fn new(setup: &Setup<'a>) -> Parts<'a> {
        let Setup { scenario, graph, threads, .. } = *setup;
        let rand = setup.library_rand();
        let pint = pint(scenario, graph, rand.clone());
        let blueprint = Blueprint::new(scenario, graph, threads, setup.scheduled_level(), &pint);
        Parts { blueprint, probes: Probes::new(setup), rand }
    }
}

/// Meters of packets and pauses, where the scenario asks for them.
struct Probes {
    /// Number of workloads.
    classes: usize,
    keys: FlowKeys,
    /// `[host]`: flows that the switch pauses at the host.
    hosts: Vec<Option<FlowsHeld>>,
    /// `[switch]`, hosts not counted: meters of the switch.
    switches: Vec<SwitchProbes>,
}

/// Meters of one switch.
struct SwitchProbes {
    flows_held: Vec<FlowsHeld>,
    meters: Option<Box<Meters>>,
}

impl Probes {
    fn new(setup: &Setup) -> Probes {
        let (scenario, graph) = (setup.scenario, setup.graph);
        let links = ports(graph);
        let table = |switch: usize| scenario.switch_at(&graph.nodes[switch].name);
        Probes {
            classes: scenario.workload.len(),
            keys: FlowKeys::new(scenario),
            hosts: (0..graph.hosts).map(|host| probes::flows_held(scenario, table(graph.switch_of(host)))).collect(),
            switches: (graph.hosts..graph.nodes.len())
                .map(|switch| SwitchProbes {
                    flows_held: vec![probes::flows_held(scenario, table(switch)); links[switch].len()]
                        .into_iter()
                        .flatten()
                        .collect(),
                    meters: probes::meters(scenario, graph, switch, &links[switch], setup.scheduled_level()),
                })
                .collect(),
        }
    }
}
