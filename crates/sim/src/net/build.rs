//! Builds a network from a scenario: nodes, wires and routes, split into partitions.

use crate::any_switch::PlaneParams;
use crate::host::port::{EndHost, HostPort, HostSetup};
use crate::net::link::{Fabric, Faults, Wire};
use crate::net::meters::{Census, DelayHistogram, Meters};
use crate::net::pause_census::PauseCensus;
use crate::net::routes::{Choice, Routes};
use crate::net::schedule::{Schedule, Target};
use crate::net::switch_node::{Change, SwitchNode};
use crate::workload::FlowKeys;
use backwater_dataplane::{
    BesideParams, BfcParams, DataPlane, DynamicParams, FlowSailParams, HpccMemoryParams, MarkingShape, MemoryShape,
    NicQueues, PauseByFlowParams, PfcParams, PortShape, Red, Shape, hpcc_memory,
};
use backwater_scenario::model::{
    self, AckClass, Assignment, Backpressure, Buffer, Ecn, EcnOf, Elide, ElideRule, Fault, Hold, Memory, Mmu, NotEct,
    Paths, ReleaseFrom, Residue, Returns, Scenario, SpacedOver, Spacing, Transport, WhenPaused,
};
use backwater_scenario::topology::{self, Graph, Link, ser_time};
use backwater_types::hash::{self, Stream};
use backwater_types::{BitsPerSec, Duration, Instant};
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

/// Builds all partitions. `plane` makes a switch's data plane.
pub fn build<H: EndHost, D: DataPlane>(
    scenario: &Scenario,
    graph: &Graph,
    partitions: usize,
    plane: impl Fn(&Shape, &PlaneParams) -> D,
) -> Vec<Nodes<H, D>> {
    let part = assign_partitions(graph, partitions);
    let (routes, schedule) = epochs(graph, &scenario.fault, scenario.conventions.paths);
    let (local, counts) = number(graph, &part, partitions);
    let incoming = number_links(graph, &part, partitions);
    let wires = Wires { scenario, graph, part: &part, local: &local, incoming: &incoming };
    let mut nodes: Vec<Nodes<H, D>> = (0..partitions)
        .map(|p| Nodes {
            hosts: Vec::new(),
            switches: Vec::new(),
            fabric: Fabric {
                id: p as u16,
                schedule: H::Schedule::new(counts[p], incoming.ends[p].len()),
                ends: incoming.ends[p].iter().map(|(node, port)| (local[*node], *port)).collect(),
                outbox: vec![Vec::new(); partitions],
                outbox_next: Instant::NEVER,
                packet_hops: 0,
            },
            local: (0..graph.hosts).map(|h| if part[h] == p { local[h] } else { u32::MAX }).collect(),
        })
        .collect();
    let links = ports(graph);
    let tie_seed = |node: usize| hash::stream(scenario.seed, 0x7469_6573, node as u64);
    for host in 0..graph.hosts {
        let changes: VecDeque<Instant> = schedule.iter().filter(|c| c.touches(links[host][0])).map(|c| c.at).collect();
        let nic = nic_queues(scenario.switch_at(&graph.nodes[graph.switch_of(host)].name));
        let port = HostPort::new(host as u16, wires.of(host, links[host][0]), tie_seed(host));
        let classes = scenario.workload.len();
        let red = nic_red(scenario, graph, host, links[host][0]);
        let setup = HostSetup { nic, red, classes, keys: FlowKeys::new(scenario), seed: scenario.seed, changes };
        nodes[part[host]].hosts.push(H::new(port, setup));
    }
    let routes = Arc::new(routes);
    for switch in graph.hosts..graph.nodes.len() {
        let ports: Vec<(u32, Wire)> = links[switch].iter().map(|link| wires.of(switch, *link)).collect();
        let shape = shape(scenario, graph, switch, &links[switch]);
        let params = plane_params(scenario, graph, switch, &links[switch]);
        let changes = schedule.iter().map(|c| c.at_switch(&links[switch])).collect();
        let mut node = SwitchNode::new(
            switch,
            plane(&shape, &params),
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
            let config = scenario.switch_at(name(switch));
            let by_flow = config.backpressure != Backpressure::Bfc;
            node.pauses = Some(Box::new(PauseCensus::new(links.len(), config.data_queues(), by_flow)));
        }
        if measure.active_flows || measure.queueing_delay {
            node.meters = Some(Box::new(Meters {
                delays: measure.queueing_delay.then(DelayHistogram::default),
                census: measure.active_flows.then(|| Census::new(links.len())),
            }));
        }
        nodes[part[switch]].switches.push(node);
    }
    nodes
}

/// What of [`model::Host::delay`] frames spend on the last link: all of it, where no control frame comes by it that would have to
/// overtake them, and no link goes down while they are in the host. It saves an event for each.
pub fn delay_on_wire(scenario: &Scenario) -> Duration {
    let plain = |switch: &model::Switch| switch.backpressure == Backpressure::None;
    let plain = plain(&scenario.switch) && scenario.region.iter().all(|region| plain(&region.switch));
    let up = scenario.fault.iter().all(|fault| fault.down.is_empty());
    let all = plain && up && scenario.host.transport == Transport::Tcp;
    if all { scenario.host.delay } else { Duration::ZERO }
}

/// The queues of a NIC on a switch.
fn nic_queues(switch: &model::Switch) -> NicQueues {
    let quantum = switch.quantum.0 as u32;
    match switch.backpressure {
        Backpressure::Bfc => NicQueues::new(nic_queue_count(switch), quantum, switch.bfc.nic_obeys),
        _ if switch.priority_groups > 1 => NicQueues::by_class(switch.priority_groups.into(), quantum),
        _ => NicQueues::new(1, quantum, false),
    }
}

/// Data queues of a NIC on a switch of BFC.
fn nic_queue_count(switch: &model::Switch) -> u16 {
    switch.bfc.nic_queues.unwrap_or(switch.data_queues())
}

/// Marking by a NIC that is a FIFO: as the switch it is on.
fn nic_red(scenario: &Scenario, graph: &Graph, host: usize, link: usize) -> Red {
    let switch = scenario.switch_at(&graph.nodes[graph.switch_of(host)].name);
    match &switch.ecn {
        Some(ecn) if scenario.host.nic_marks => red(ecn, graph.links[link].rate, full_packet(scenario)),
        _ => Red::OFF,
    }
}

/// Bytes of a full packet on the wire.
fn full_packet(scenario: &Scenario) -> u32 {
    (scenario.host.payload.0 + scenario.host.header.0) as u32
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
        let mut down: Vec<[Instant; 2]> =
            of_link.iter().flat_map(|f| &f.down).map(|[from, to]| [Instant(from.0), Instant(to.0)]).collect();
        down.sort();
        Some(Box::new(Faults {
            loss_below: of_link.iter().map(|f| below(f.loss)).max().unwrap_or(0),
            control_loss_below: of_link.iter().map(|f| below(f.control_loss)).max().unwrap_or(0),
            down,
            rng: Stream::new(self.scenario.seed, 0x6c6f_7373, (2 * link + direction) as u64),
        }))
    }
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

fn shape(scenario: &Scenario, graph: &Graph, switch: usize, links: &[usize]) -> Shape {
    let config = scenario.switch_at(&graph.nodes[switch].name);
    let port = |link: &usize| {
        let l = &graph.links[*link];
        let red = config.ecn.as_ref().map_or(Red::OFF, |ecn| red(ecn, l.rate, full_packet(scenario)));
        PortShape { rate: l.rate, hrtt: Duration(2 * l.delay.0), red }
    };
    let buffer = match config.buffer {
        Buffer::Infinite => u64::MAX,
        Buffer::Shared(bytes) => bytes.0,
    };
    Shape {
        ports: links.iter().map(port).collect(),
        queues: config.data_queues(),
        groups: config.priority_groups.into(),
        quantum: config.quantum.0 as u32,
        buffer,
        alpha: config.alpha,
        memory: memory(scenario, graph, switch, links),
        marking: MarkingShape {
            per_port: config.ecn.as_ref().is_some_and(|ecn| ecn.of == EcnOf::Port),
            exempt: exempt_queues(config),
            pool_exempts: config.pool_ecn.as_ref().is_some_and(|pool| pool.only_ecn_queues),
            drops_not_ect: config.not_ect == NotEct::Drop,
        },
        smallest_packet: match scenario.conventions.acks {
            AckClass::High => scenario.host.smallest_packet().0 as u32,
            AckClass::Data => scenario.host.smallest_packet().min(scenario.host.ack).0 as u32,
        },
        seed: hash::stream(scenario.seed, 0x7377_6974, switch as u64),
        salt: hash::stream(scenario.seed, 0x7361_6c74, switch as u64),
        hrtt: match config.backpressure {
            Backpressure::Flowsail | Backpressure::PerFlow => config.flowsail.hrtt,
            _ => config.bfc.hrtt,
        },
        stamp: scenario.measure.queueing_delay,
        acks_with_data: scenario.conventions.acks == AckClass::Data,
        pfc_frame: scenario.conventions.pfc_frame.0 as u16,
        discards_paused: config.when_paused == WhenPaused::Discard,
    }
}

/// Thresholds of a port of this rate; a full packet is of `packet` bytes.
fn red(ecn: &Ecn, rate: BitsPerSec, packet: u32) -> Red {
    let red = match ecn.by_rate.iter().find(|at| at.rate == rate) {
        Some(at) => Red::new(at.kmin.0, at.kmax.0, at.pmax),
        None => Red::new(ecn.kmin.0, ecn.kmax.0, ecn.pmax),
    };
    spaced(red, ecn.spacing, packet)
}

fn spaced(red: Red, spacing: Spacing, packet: u32) -> Red {
    match spacing {
        Spacing::Plain => red,
        Spacing::Uniform => red.uniform(packet),
    }
}

/// Bits of the queues that `ecn` does not cover; all, where there is none.
fn exempt_queues(config: &model::Switch) -> u128 {
    match &config.ecn {
        None => u128::MAX,
        Some(ecn) if ecn.queues.is_empty() => 0,
        Some(ecn) => !ecn.queues.iter().fold(0, |bits, queue| bits | 1u128 << queue),
    }
}

/// MMUs and private memory of a switch.
fn memory(scenario: &Scenario, graph: &Graph, switch: usize, links: &[usize]) -> MemoryShape {
    let config = scenario.switch_at(&graph.nodes[switch].name);
    let mmu = &config.mmu;
    let queues = config.data_queues() as usize;
    let own = |queue: usize| mmu.queue.get(queue);
    let private: Vec<u64> =
        (0..queues).map(|queue| own(queue).and_then(|own| own.private).unwrap_or(mmu.private).0).collect();
    let alpha: Vec<Option<f64>> =
        (0..queues).map(|queue| own(queue).and_then(|own| own.alpha).or(config.alpha)).collect();
    let plain = mmu.queue.is_empty() && mmu.private.0 == 0;
    MemoryShape {
        mmu: mmus(mmu, graph, switch, links),
        private: if plain { Vec::new() } else { private },
        alpha: if plain { Vec::new() } else { alpha },
        returns_private: mmu.returns == Returns::Private,
        red: config
            .pool_ecn
            .as_ref()
            .map(|pool| spaced(Red::new(pool.kmin.0, pool.kmax.0, pool.pmax), pool.spacing, full_packet(scenario))),
        red_per_port: config.pool_ecn.as_ref().is_some_and(|pool| pool.spaced_over == SpacedOver::Port),
    }
}

/// `[port]`: its MMU.
fn mmus(mmu: &Mmu, graph: &Graph, switch: usize, links: &[usize]) -> Vec<u8> {
    let of = |(port, link): (usize, &usize)| {
        let peer = &graph.nodes[graph.peer(*link, switch)].name;
        let named = mmu.neighbours.iter().position(|names| names.contains(peer)).unwrap_or(0);
        let by_number = mmu.ports.filter(|_| mmu.neighbours.is_empty());
        by_number.map_or(named, |ports| port / ports as usize) as u8
    };
    links.iter().enumerate().map(of).collect()
}

fn plane_params(scenario: &Scenario, graph: &Graph, switch: usize, links: &[usize]) -> PlaneParams {
    let (config, host) = (scenario.switch_at(&graph.nodes[switch].name), &scenario.host);
    let headroom = |link: &usize| {
        let exact = || topology::headroom(host, &scenario.conventions, &graph.links[*link]);
        config.pfc.headroom.unwrap_or_else(exact).0
    };
    let pfc = |headroom: Vec<u64>| PfcParams {
        buffer: match config.buffer {
            Buffer::Infinite => u64::MAX >> 1,
            Buffer::Shared(bytes) => bytes.0,
        },
        alpha: config.pfc.alpha,
        headroom,
        reserve: config.pfc.reserve.0,
        hysteresis: config.pfc.hysteresis.0,
        refresh: PFC_REFRESH,
    };
    let entries = config.bfc.table_entries_per_queue * config.queues as u32;
    let speaks_pfc: Vec<bool> = links.iter().map(|link| speaks_pfc(scenario, graph, switch, *link)).collect();
    let beside = config.backpressure == Backpressure::Flowsail && speaks_pfc.contains(&true);
    let mut flowsail = flowsail_params(scenario, graph, switch, links);
    if beside {
        let all = ports_bits(|port| speaks_pfc[port], links.len());
        flowsail.elided.resize(links.len(), [0; 4]);
        flowsail.elided.iter_mut().flat_map(|bits| bits.iter_mut().zip(all)).for_each(|(word, more)| *word |= more);
    }
    PlaneParams {
        assignment: config.assignment,
        backpressure: config.backpressure,
        dynamic: DynamicParams {
            entries_per_port: if config.assignment == Assignment::Dynamic { entries } else { 0 },
            sticky: config.bfc.sticky,
            literal_empty: config.bfc.literal_empty,
            sticky_reserve: config.bfc.sticky_reserve,
            incast_label: config.bfc.incast_label,
        },
        bfc: BfcParams {
            fixed_threshold: config.bfc.fixed_threshold.map(|b| b.0),
            per_ingress_threshold: config.bfc.per_ingress_threshold,
            refresh: config.bfc.refresh,
            nic_queues: nic_queue_count(config),
            sampling: config.bfc.sampling,
            count_last: config.bfc.count_last,
            elided: elided(&config.bfc.elide, graph, switch, links),
        },
        hpcc: hpcc_memory_params(scenario, graph, links),
        pfc: (config.backpressure == Backpressure::Pfc).then(|| pfc(links.iter().map(headroom).collect())),
        beside: beside.then(|| BesideParams {
            policy: flowsail.clone(),
            pfc: pfc(links.iter().zip(&speaks_pfc).map(|(link, pfc)| if *pfc { headroom(link) } else { 0 }).collect()),
            speaks_pfc,
        }),
        as_printed: config.flowsail.as_printed,
        by_flow: PauseByFlowParams {
            threshold: config.flowsail.ql,
            count_last: config.assignment == Assignment::PerFlow || config.bfc.count_last,
            refresh: config.flowsail.refresh,
        },
        flowsail,
    }
}

fn flowsail_params(scenario: &Scenario, graph: &Graph, switch: usize, links: &[usize]) -> FlowSailParams {
    let config = &scenario.switch_at(&graph.nodes[switch].name).flowsail;
    FlowSailParams {
        ql: config.ql,
        qh: config.qh,
        release: config.release,
        release_from_touch: config.release_from == ReleaseFrom::Touch,
        refresh: config.refresh,
        isolation_queues: config.isolation_queues,
        records: config.table_entries,
        fingerprint_bits: config.fingerprint_bits.into(),
        nactive_literal: config.nactive_literal,
        hold_by_head: config.hold == Hold::Head,
        drains: config.residue == Residue::Drain,
        count_last: config.count_last,
        strict_fair: config.strict_fair,
        weights: config.weights.clone(),
        sketch: config.sketch.as_ref().map(|sketch| (sketch.rows, sketch.columns)),
        elided: elided(&config.elide, graph, switch, links),
    }
}

/// Whether the switch behind a link has PFC and nothing else to pause its neighbours with.
fn speaks_pfc(scenario: &Scenario, graph: &Graph, switch: usize, link: usize) -> bool {
    let peer = graph.peer(link, switch);
    peer >= graph.hosts && scenario.switch_at(&graph.nodes[peer].name).backpressure == Backpressure::Pfc
}

/// Memory as the HPCC simulator has it, where that is asked for. Its NIC speed is that of the first host.
fn hpcc_memory_params(scenario: &Scenario, graph: &Graph, links: &[usize]) -> Option<HpccMemoryParams> {
    let pfc = &scenario.switch.pfc;
    let Buffer::Shared(buffer) = scenario.switch.buffer else { return None };
    if scenario.conventions.memory != Memory::HpccSim {
        return None;
    }
    // Scenarios are checked for an alpha of 1, 1/2, 1/4, ...
    let base = ((1.0 / pfc.alpha) as u64).trailing_zeros() as u8;
    let of_link = |link: &usize| &graph.links[*link];
    let headroom = |link: &Link| pfc.headroom.map_or_else(|| hpcc_memory::headroom(link.delay, link.rate), |h| h.0);
    Some(HpccMemoryParams {
        buffer: buffer.0,
        headroom: links.iter().map(of_link).map(headroom).collect(),
        shift: links.iter().map(|l| hpcc_memory::shift(base, of_link(l).rate, graph.links[0].rate)).collect(),
        reserve: pfc.reserve.0,
        hysteresis: pfc.hysteresis.0,
    })
}

/// How often a PFC pause is repeated: well inside the 335 us after which real hardware at 100 Gb/s would let it lapse.
const PFC_REFRESH: Duration = Duration::from_us(100);

/// Bits of the ports for which `holds`.
fn ports_bits(holds: impl Fn(usize) -> bool, ports: usize) -> [u64; 4] {
    let mut bits = [0; 4];
    (0..ports).filter(|port| holds(*port)).for_each(|port| bits[port / 64] |= 1 << (port % 64));
    bits
}

/// `[egress]`: bits of the ingress ports towards which no backpressure is sent; empty if there is none.
fn elided(elide: &Elide, graph: &Graph, switch: usize, links: &[usize]) -> Vec<[u64; 4]> {
    let peer = |port: usize| {
        let l = &graph.links[links[port]];
        if l.a == switch { l.b } else { l.a }
    };
    let layer = |node: usize| graph.nodes[node].layer;
    let is_elided = |ingress: usize, egress: usize| match elide {
        Elide::Rule(ElideRule::None) => false,
        Elide::Rule(ElideRule::Valley) => layer(peer(ingress)) > layer(switch) && layer(peer(egress)) > layer(switch),
        Elide::Turns(turns) => turns.iter().any(|[from, at, to]| {
            let name = |node: usize| &graph.nodes[node].name;
            name(peer(ingress)) == from && name(switch) == at && name(peer(egress)) == to
        }),
    };
    let ports = links.len();
    let out: Vec<[u64; 4]> = (0..ports).map(|egress| ports_bits(|ingress| is_elided(ingress, egress), ports)).collect();
    if out.iter().any(|bits| *bits != [0; 4]) { out } else { Vec::new() }
}
