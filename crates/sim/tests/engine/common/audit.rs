//! Checks every event of a run against the rules that no run may break.
//!
//! The checker keeps its own account from the packets and frames that cross the links. It compares the account at every
//! event:
//!
//! | [`Fault`] | rule |
//! |---|---|
//! | `Recount` | a switch's counters equal a recount over the packets it holds |
//! | `Clock` | events at a switch happen in the order of time |
//! | `Order` | at each port a flow's packets leave in the order of arrival, except those of a higher priority |
//! | `Paused` | no packet leaves while received frames pause its queue, port, NIC queue or flow |
//! | `Buffer` | no switch exceeds its buffer; pools, private bytes and thresholds admit exactly the packets that fit |
//! | `Marked` | packets are marked only where a rule allows it, always where one demands it, never without ECN |
//! | `Window` | a TCP sender is never further ahead than its windows can have grown |
//! | `Protocol` | PAUSE and RESUME of a queue alternate and name a queue that sent packets; bitmaps repeat them |
//! | `Protocol` | a flow's pause goes to a port it came by and is repeated every period; a resume follows a pause |
//! | `Invented` | no packet leaves that did not arrive |
//! | `Idle` | a free port with data and no pause sends at once |
//!
//! At the end of the run it checks:
//!
//! | [`Fault`] | rule |
//! |---|---|
//! | `Acknowledged` | receivers acknowledge only data that arrived in order |
//! | `Conservation` | sent = received + dropped + lost, per flow; switches and links are empty |
//! | `Held` | in a drained network no pause is left, and no flow is on record |
//! | `Protocol` | a switch that holds no packet of a flow has resumed the flow |
//! | `Statistics` | the reported counters equal the observed events |
//! | `Unfinished` | every flow with an end has finished |

use super::memory::Memory;
use super::watched::Sheets;
use backwater_dataplane::flow_table::LAPSE;
use backwater_dataplane::{Departed, Readings};
use backwater_scenario::model::{
    Assignment, Backpressure, BufferSize, Connections, LossRecovery, Marks, Memory as SwitchMemory, Residue, Scenario,
    Switch, Transport,
};
use backwater_scenario::topology::Graph;
use backwater_schemes::build::ser_time;
use backwater_sim::Outcome;
use backwater_sim::observe::{Joined, Observer, Transmission};
use backwater_sim::ports;
use backwater_sim::workload::ENDLESS;
use backwater_types::{ControlFrame, DropReason, Duration, Instant, Kind, Packet, PortId, QueueId, SerTime, flags};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// A broken rule; the module lists the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Recount,
    Clock,
    Order,
    Paused,
    Buffer,
    Marked,
    Window,
    Protocol,
    Invented,
    Idle,
    Acknowledged,
    Conservation,
    Held,
    Statistics,
    Unfinished,
}

/// Number of times that each branch was reached, by name.
pub type Counts = BTreeMap<&'static str, u64>;

/// Findings of a run's checkers.
#[derive(Debug, Default)]
pub struct Report {
    /// Broken rules in order of discovery; only the first of each kind.
    pub faults: Vec<(Fault, String)>,
    /// Branches reached.
    pub counts: Counts,
    /// Whether no packet was in flight when the run ended.
    pub quiescent: bool,
}

impl Report {
    /// Whether a rule of this kind was broken.
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.iter().any(|(f, _)| *f == fault)
    }

    pub fn fault(&mut self, fault: Fault, text: String) {
        if !self.has(fault) {
            self.faults.push((fault, text));
        }
    }
}

/// The checker's copy of the scenario's parameters.
struct Rules {
    /// `[node]`: bytes a switch may hold.
    buffer: Vec<u64>,
    /// Whether a switch can never reorder a flow: it samples every packet (BFC-B3), and each flow stays in one
    /// pipeline.
    ordered: bool,
    nic_obeys: bool,
    /// `[node]`: whether BFC's frames pause queues at this switch.
    by_queue: Vec<bool>,
    /// Whether routes never change.
    steady: bool,
    hosts: usize,
    /// `[node][port]`: time to send a byte.
    ser: Vec<Vec<SerTime>>,
    /// `[node][port]`: node and port at the other end.
    peers: Vec<Vec<(usize, PortId)>>,
    /// `[host]`: times at which its link fails or comes back.
    flaps: Vec<Vec<Instant>>,
    /// `[node]`: rules of pauses per flow.
    flow_pauses: Vec<FlowPauses>,
    tcp: Option<Tcp>,
    /// Whether receivers keep out-of-order packets.
    selective: bool,
    /// `[node]`: whether packets of one flow may have different priorities and be served by them.
    by_priority: Vec<bool>,
    /// Classes that PFC pauses separately; with 1, PFC pauses whole ports.
    pfc_classes: u8,
    /// Whether switches grant credits.
    credited: bool,
}

/// Bytes that a port has sent, and the limit it was granted.
#[derive(Clone, Copy, Default)]
struct Credited {
    sent: u64,
    limit: Option<u64>,
}

impl Rules {
    /// Whether PFC's pause of `classes` forbids a port to send `packet`.
    fn pfc_holds(&self, classes: u8, packet: &Packet) -> bool {
        classes >> packet.class.min(self.pfc_classes - 1) & 1 == 1
    }
}

/// The checker's copy of TCP's parameters.
struct Tcp {
    /// Largest distance of a sender ahead of its acknowledgements, segments.
    most: u32,
    /// Initial window of a new connection, segments; `None` if flows share connections.
    initial: Option<u32>,
    /// Wire size of a segment that opens a connection, bytes.
    opening: Option<u16>,
    capable: bool,
}

impl Tcp {
    fn new(scenario: &Scenario) -> Option<Tcp> {
        let (host, tcp) = (&scenario.host, &scenario.host.tcp);
        (host.transport == Transport::Tcp).then(|| Tcp {
            most: if tcp.max_window == 0 { u32::MAX } else { tcp.max_window },
            initial: (tcp.connections == Connections::PerFlow).then_some(tcp.initial_window),
            opening: tcp.handshake.then_some(host.header.0 as u16),
            capable: tcp.marks != Marks::None,
        })
    }

    fn opens(&self, packet: &Packet) -> bool {
        packet.seq == 0 && self.opening == Some(packet.wire)
    }
}

/// Rules for pauses of single flows at one node.
struct FlowPauses {
    /// A pause lapses after this time; `None`: never.
    lapse: Option<Duration>,
    /// Longest delay until a node notices that a pause has lapsed.
    slack: Duration,
    /// Whether every flow has its own record, so that each is paused and resumed alone.
    exact: bool,
    /// Whether the node pauses flows by name: a switch that understands the frames, or a NIC that obeys them.
    obeys: bool,
    /// Period in which a switch repeats its pauses.
    period: Option<Duration>,
    /// Queues that may send old packets of a paused flow: [queues per group, first queue of a group that is not
    /// isolated].
    drains: Option<[QueueId; 2]>,
}

/// Identifies a packet within its flow; acknowledgements and data get different numbers.
fn id(packet: &Packet) -> u32 {
    packet.seq ^ ((packet.kind != Kind::Data) as u32) << 31
}

/// A packet in a switch's queue.
#[derive(Clone, Copy)]
struct Queued {
    id: u32,
    class: u8,
    /// Whether the packet arrived marked.
    marked: bool,
}

/// Resolution of the times in a switch's records.
const TICK: Duration = Duration(1024);

impl FlowPauses {
    fn new(scenario: &Scenario, switch: &Switch, host: bool) -> FlowPauses {
        // All hosts have the same parameters.
        let flowsail = if host { &scenario.switch.flowsail } else { &switch.flowsail };
        let ideal = switch.backpressure == Backpressure::PerFlow;
        let refresh = flowsail.refresh;
        FlowPauses {
            lapse: (refresh.0 > 0).then(|| Duration(LAPSE * refresh.0)),
            slack: refresh,
            exact: host || ideal || (flowsail.fingerprint_bits == 32 && flowsail.table_entries >= 1024),
            obeys: match host {
                true => flowsail.nic_obeys,
                false => ideal || switch.backpressure == Backpressure::Flowsail,
            },
            period: (refresh.0 > 0).then_some(refresh),
            drains: (!host && flowsail.residue == Residue::Drain)
                .then(|| [switch.data_queues() / u16::from(switch.priority_groups), flowsail.isolation_queues]),
        }
    }

    /// Whether `queue` may send packets of a paused flow.
    fn is_residue(&self, queue: QueueId) -> bool {
        self.drains.is_some_and(|[per_group, isolation]| queue % per_group >= isolation)
    }

    /// Whether a pause last repeated at `at` is still in force. `late` allows for a node that looks for lapses only
    /// once a period.
    fn holds(&self, at: Instant, now: Instant, late: bool) -> bool {
        let Some(lapse) = self.lapse else { return true };
        if late { now <= at + lapse + self.slack + TICK } else { now + TICK < at + lapse }
    }
}

/// Pauses in force at one port.
#[derive(Clone, Copy, Default)]
struct Held {
    /// Queues paused by BFC.
    queues: u128,
    /// Classes paused by PFC, one bit each.
    classes: u8,
    /// Time-weighted sums of paused queues and of PFC pauses, ps; `since` is the instant they reach.
    bfc_paused: u64,
    pfc_paused: u64,
    since: Instant,
    /// At a host: number of its link's changes applied so far.
    flaps: usize,
}

impl Held {
    fn settle(&mut self, now: Instant) {
        let span = now.since(self.since).0;
        self.bfc_paused += span * self.queues.count_ones() as u64;
        self.pfc_paused += if self.classes != 0 { span } else { 0 };
        self.since = now;
    }

    fn clear(&mut self, now: Instant) {
        self.settle(now);
        (self.queues, self.classes) = (0, 0);
    }

    fn obey(&mut self, now: Instant, frame: ControlFrame) {
        self.settle(now);
        match frame {
            ControlFrame::Pause(q) => self.queues |= 1 << q,
            ControlFrame::Resume(q) => self.queues &= !(1 << q),
            ControlFrame::Bitmap(map) => self.queues = bits(map),
            ControlFrame::PfcPause(class) => self.classes |= 1 << class,
            ControlFrame::PfcResume(class) => self.classes &= !(1 << class),
            // [`Audit::hold_flow`] keeps pauses of single flows.
            ControlFrame::PauseFlow(_) | ControlFrame::ResumeFlow(_) => {}
            ControlFrame::Credit(_) | ControlFrame::CreditSent(_) => {}
        }
    }
}

fn bits(map: backwater_types::QueueMap) -> u128 {
    let [low, high] = map.words();
    low as u128 | (high as u128) << 64
}

/// Counts of one flow's packets.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// Packets put on a link by the host.
    sent: u64,
    received: u64,
    dropped: u64,
    /// Packets that switches put on links, and packets that switches admitted.
    departed: u64,
    enqueued: u64,
    /// Sequence number that the receiver expects next.
    expected: u32,
    /// Highest acknowledgement that the sender has received.
    acknowledged: u32,
    /// One more than the last packet sent; under TCP, one more than the highest.
    next: u32,
    /// Whether a NACK arrived since the last packet sent.
    nacked: bool,
    /// Packets dropped by the NIC, and packets that a switch dropped instead of marking.
    refused: u64,
    discarded: u64,
    /// TCP: number of segments, once the last one was seen.
    total: u32,
    /// TCP: end of the segments received, and end of the segments selectively acknowledged.
    highest: u32,
    selected: u32,
    /// TCP: whether the receiver has acknowledged the whole flow.
    complete: bool,
    /// TCP: whether a segment was retransmitted, dropped or selectively acknowledged.
    hurt: bool,
}

/// Observer of one partition.
pub struct Audit {
    rules: Arc<Rules>,
    report: Report,
    /// `[switch]`: time of the last event.
    clocks: HashMap<usize, Instant>,
    /// `[flow]`: packet counts.
    flows: Vec<Tally>,
    /// Packets in queues, in order of arrival, by switch, port and flow.
    queued: HashMap<(usize, PortId, u32), VecDeque<Queued>>,
    /// `[node]`: model of the switch's shared memory, where it has one.
    memories: Vec<Option<Memory>>,
    /// Segments received beyond the first missing one, by flow.
    beyond: HashMap<u32, BTreeSet<u32>>,
    /// Overtaken packets, which must turn out to be dropped at departure: switch, port, flow, packet id.
    owed: Vec<(usize, PortId, u32, u32)>,
    /// `[node]`: bytes in the buffer.
    bytes: HashMap<usize, u64>,
    held: HashMap<(usize, PortId), Held>,
    /// Pauses in force according to the frames a port sent: queues, and whether PFC pauses.
    told: HashMap<(usize, PortId), (u128, bool)>,
    /// Flows that a neighbour has paused, with the time of the last repetition.
    held_flows: HashMap<(usize, PortId), HashMap<(u32, u8), Instant>>,
    /// Flows that a switch has paused at its neighbour, with the time of the last repetition.
    told_flows: HashMap<(usize, PortId, u32), Instant>,
    /// Records of the switches' frames and when they took effect, if the switches keep them.
    sheets: Option<Arc<Sheets>>,
    /// Ingress port of a flow at a switch, by flow and switch.
    last_hop: HashMap<(u32, usize), PortId>,
    /// `(switch, ingress, upstream queue)` of every packet enqueued.
    came: HashSet<(usize, PortId, u16)>,
    /// `(switch, ingress, flow)` of every packet enqueued.
    came_flows: HashSet<(usize, PortId, u32)>,
    /// `[switch][port]`: end of the transmission, data packets queued, and start of an unexplained idle time.
    ports: HashMap<usize, Vec<(Instant, u64, Option<Instant>)>>,
    /// Ports of this partition's nodes that have sent data.
    active: HashSet<(usize, PortId)>,
    /// `(node, port)`: bytes of data sent, and the last limit granted.
    credited: HashMap<(usize, PortId), Credited>,
    /// Packets lost or dropped, by reason.
    drops: [u64; DropReason::COUNT],
}

impl Audit {
    /// Creates the observer for a run of `scenario`.
    pub fn new(scenario: &Scenario, graph: &Graph) -> Audit {
        let flaps_of = |host: usize| {
            let peer = graph.links[host].b;
            let names = [&graph.nodes[host].name, &graph.nodes[peer].name];
            let on_link = |link: &[String; 2]| link.iter().all(|end| names.contains(&end));
            let mut at: Vec<Instant> = scenario
                .fault
                .iter()
                .filter(|f| on_link(&f.link))
                .flat_map(|f| &f.down)
                .flatten()
                .map(|d| Instant(d.0))
                .collect();
            at.sort();
            at
        };
        let links = ports(graph);
        let peer = |node: usize, link: &usize| {
            let l = &graph.links[*link];
            let other = if l.a == node { l.b } else { l.a };
            (other, links[other].iter().position(|at| at == link).expect("a link has two ends") as PortId)
        };
        let config = |node: usize| scenario.switch_at(&graph.nodes[node].name);
        let buffer = |switch: &Switch| match switch.buffer {
            BufferSize::Infinite => u64::MAX,
            BufferSize::Shared(bytes) => bytes.0,
        };
        let memories: Vec<Option<Memory>> = (0..graph.nodes.len())
            .map(|node| if node < graph.hosts { None } else { Memory::new(scenario, graph, node) })
            .collect();
        let most = |node: usize| match &memories[node] {
            Some(memory) => memory.most(),
            None => buffer(config(node)),
        };
        let steady = scenario.fault.iter().all(|f| f.down.is_empty());
        let rules = Rules {
            tcp: Tcp::new(scenario),
            selective: scenario.host.transport == Transport::Homa || scenario.host.recovery == LossRecovery::Selective,
            pfc_classes: match (scenario.conventions.memory, scenario.switch.assignment) {
                (SwitchMemory::HpccSim, Assignment::Class) => scenario.switch.queues as u8,
                _ => 1,
            },
            by_priority: (0..graph.nodes.len())
                .map(|node| matches!(config(node).built_as(), Assignment::Priority | Assignment::HomaDynamic))
                .collect(),
            credited: scenario.switch.grants_credits(),
            steady,
            ser: links
                .iter()
                .map(|ports| ports.iter().map(|l| ser_time(&scenario.conventions, graph.links[*l].rate)).collect())
                .collect(),
            peers: links
                .iter()
                .enumerate()
                .map(|(node, ports)| ports.iter().map(|l| peer(node, l)).collect())
                .collect(),
            buffer: (0..graph.nodes.len()).map(most).collect(),
            ordered: scenario.switch.backpressure != Backpressure::Bfc
                || scenario.switch.bfc.sampling == 1.0 && (scenario.switch.bfc.pipelines == 1 || steady),
            nic_obeys: scenario.switch.bfc.nic_obeys,
            by_queue: (0..graph.nodes.len())
                .map(|node| {
                    let tail = config(node).bfc.tofino.as_ref().is_some_and(|tofino| tofino.tail_fifo.0 > 0);
                    config(node).backpressure == Backpressure::Bfc && !tail
                })
                .collect(),
            hosts: graph.hosts,
            flaps: (0..graph.hosts).map(flaps_of).collect(),
            flow_pauses: (0..graph.nodes.len())
                .map(|node| FlowPauses::new(scenario, config(node), node < graph.hosts))
                .collect(),
        };
        Audit {
            rules: Arc::new(rules),
            report: Report::default(),
            flows: Vec::new(),
            clocks: HashMap::new(),
            queued: HashMap::new(),
            memories,
            beyond: HashMap::new(),
            owed: Vec::new(),
            bytes: HashMap::new(),
            held: HashMap::new(),
            told: HashMap::new(),
            held_flows: HashMap::new(),
            told_flows: HashMap::new(),
            sheets: None,
            last_hop: HashMap::new(),
            came: HashSet::new(),
            came_flows: HashSet::new(),
            ports: HashMap::new(),
            active: HashSet::new(),
            credited: HashMap::new(),
            drops: [0; DropReason::COUNT],
        }
    }

    /// Reads the frames that switches obeyed from their `sheets`.
    pub fn reading(self, sheets: &Arc<Sheets>) -> Audit {
        Audit { sheets: Some(sheets.clone()), ..self }
    }

    fn count(&mut self, what: &'static str) {
        *self.report.counts.entry(what).or_default() += 1;
    }

    fn flow(&mut self, flow: u32) -> &mut Tally {
        let at = flow as usize;
        if self.flows.len() <= at {
            self.flows.resize(at + 1, Tally::default());
        }
        &mut self.flows[at]
    }

    fn fault(&mut self, now: Instant, fault: Fault, text: impl FnOnce() -> String) {
        if !self.report.has(fault) {
            self.report.fault(fault, format!("at {} ps: {}", now.0, text()));
        }
    }

    /// Returns the pauses at `port` of `node`. Link changes of a host are applied from the scenario, as no event
    /// reports them.
    fn held(&mut self, now: Instant, node: usize, port: PortId) -> &mut Held {
        let held = self.held.entry((node, port)).or_default();
        if let Some(flaps) = self.rules.flaps.get(node) {
            while flaps.get(held.flaps).is_some_and(|at| *at <= now) {
                held.clear(flaps[held.flaps]);
                held.flaps += 1;
                self.held_flows.remove(&(node, port));
            }
        }
        held
    }

    /// Applies the flow pauses that a switch has accepted since the last call.
    fn sync(&mut self, switch: usize) {
        let Some(sheets) = &self.sheets else { return };
        let applied = sheets.with(switch - self.rules.hosts, |sheet| std::mem::take(&mut sheet.applied));
        for frame in applied.into_iter().filter(|frame| frame.accepted) {
            self.hold_flow(frame.at, switch, frame.port, frame.frame);
        }
    }

    /// Returns the key under which `node` records a flow; flows with one key share a pause.
    fn key(&self, node: usize, flow: u32, class: u8) -> (u32, u8) {
        let Some(sheets) = self.sheets.as_ref().filter(|_| node >= self.rules.hosts) else { return (flow, 0) };
        sheets.with(node - self.rules.hosts, |sheet| {
            (sheet.names.as_ref().map_or(flow, |table| table.fingerprint(flow)), class)
        })
    }

    /// Applies a neighbour's frame at `port` of `node`.
    fn hold_flow(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        match frame {
            ControlFrame::PauseFlow(name) if self.rules.flow_pauses[node].obeys => {
                let key = self.key(node, name.flow, name.class);
                self.held_flows.entry((node, port)).or_default().insert(key, now);
            }
            ControlFrame::ResumeFlow(name) => {
                let key = self.key(node, name.flow, name.class);
                self.held_flows.entry((node, port)).or_default().remove(&key);
            }
            _ => {}
        }
    }

    /// Whether a neighbour has paused the flow of `packet` at `port` of `node`. A switch without sheets does not tell
    /// which flows fit in its table, so the answer is known only where all do.
    fn flow_held(&self, now: Instant, node: usize, port: PortId, packet: &Packet) -> bool {
        let rules = &self.rules.flow_pauses[node];
        if !rules.exact && self.sheets.is_none() {
            return false;
        }
        let Some(flows) = self.held_flows.get(&(node, port)).filter(|flows| !flows.is_empty()) else { return false };
        let since = flows.get(&self.key(node, packet.flow, packet.class));
        since.is_some_and(|at| rules.holds(*at, now, false))
    }

    /// Whether any flow may be paused at `port` of `node`.
    fn some_flow_held(&mut self, now: Instant, node: usize, port: PortId) -> bool {
        let rules = self.rules.clone();
        let Some(flows) = self.held_flows.get_mut(&(node, port)) else { return false };
        flows.retain(|_, at| rules.flow_pauses[node].holds(*at, now, true));
        !flows.is_empty()
    }

    /// Records a flow's pause or resume that a switch sends to a neighbour. Returns the rule it breaks, if any.
    fn on_flow_told(&mut self, now: Instant, switch: usize, port: PortId, frame: ControlFrame) -> Option<&'static str> {
        let rules = &self.rules.flow_pauses[switch];
        let strict = rules.exact && self.rules.steady;
        // A frame waits for the packet in transmission and for other frames.
        let period = rules.period.map(|period| period + Duration::from_us(4));
        let late = |at: Instant| period.is_some_and(|period| now > at + period);
        match frame {
            ControlFrame::PauseFlow(name) => {
                let key = (switch, port, name.flow);
                let before = self.told_flows.insert(key, now);
                // This partition does not observe a neighbour in another one.
                let seen = self.rules.steady && self.sees_neighbour(switch, port);
                if seen && !self.came_flows.contains(&key) {
                    return Some("but no packet of it came that way");
                }
                (strict && before.is_some_and(late)).then_some("late")
            }
            ControlFrame::ResumeFlow(name) => match self.told_flows.remove(&(switch, port, name.flow)) {
                None => strict.then_some("out of turn"),
                Some(at) => (strict && late(at)).then_some("not having repeated its pause"),
            },
            _ => None,
        }
    }

    /// Checks that a frame sent by a switch follows from its earlier frames.
    fn on_frame_sent(&mut self, now: Instant, switch: usize, port: PortId, frame: ControlFrame) {
        if let Some(what) = self.on_flow_told(now, switch, port, frame) {
            self.fault(now, Fault::Protocol, || format!("switch {switch} port {port} sends {frame:?}, {what}"));
        }
        let (queues, pfc) = self.told.entry((switch, port)).or_default();
        let right = match frame {
            ControlFrame::Pause(q) => {
                let right = *queues >> q & 1 == 0;
                *queues |= 1 << q;
                right
            }
            ControlFrame::Resume(q) => {
                let right = *queues >> q & 1 == 1;
                *queues &= !(1 << q);
                right
            }
            ControlFrame::Bitmap(map) => bits(map) == *queues,
            // PFC repeats its state in the same frames.
            ControlFrame::PfcPause(_) => {
                *pfc = true;
                true
            }
            ControlFrame::PfcResume(_) => {
                *pfc = false;
                true
            }
            // Pauses of flows are repeated, too.
            ControlFrame::PauseFlow(_) | ControlFrame::ResumeFlow(_) => true,
            ControlFrame::Credit(_) | ControlFrame::CreditSent(_) => true,
        };
        if !right {
            self.fault(now, Fault::Protocol, || format!("switch {switch} port {port} sends {frame:?} out of turn"));
        }
        // This partition does not observe a neighbour in another one.
        let seen = self.rules.steady && self.sees_neighbour(switch, port);
        if let ControlFrame::Pause(q) | ControlFrame::Resume(q) = frame
            && seen
            && !self.came.contains(&(switch, port, q))
        {
            self.fault(now, Fault::Protocol, || {
                format!("switch {switch} port {port} sends {frame:?}, but nothing came from that queue")
            });
        }
    }
}

impl Audit {
    /// Records that `packet` leaves a port of `node`.
    fn on_way(&mut self, node: usize, port: PortId, packet: &Packet) {
        let (peer, port_there) = self.rules.peers[node][port as usize];
        self.last_hop.insert((packet.flow, peer), port_there);
        self.active.insert((node, port));
    }

    /// Checks that the bytes sent stay within the last limit that the neighbour granted.
    fn check_credit(&mut self, now: Instant, node: usize, port: PortId, packet: &Packet) {
        if !self.rules.credited || !self.rules.steady {
            return;
        }
        let credited = self.credited.entry((node, port)).or_default();
        credited.sent += u64::from(packet.wire);
        let Credited { sent, limit } = *credited;
        if limit.is_some_and(|limit| sent > limit) {
            self.fault(now, Fault::Paused, || format!("node {node} port {port} has sent {sent} bytes of {limit:?}"));
        }
    }

    /// Checks that neither the flow nor the NIC queue of a host's packet is paused.
    fn check_held(&mut self, now: Instant, host: usize, packet: &Packet) {
        let held = *self.held(now, host, 0);
        if self.flow_held(now, host, 0, packet) {
            let flow = packet.flow;
            self.fault(now, Fault::Paused, || format!("host {host} sends of flow {flow}, which is paused"));
        }
        let queue_held = self.rules.nic_obeys && held.queues >> packet.upstream_queue & 1 == 1;
        if queue_held || self.rules.pfc_holds(held.classes, packet) {
            let q = packet.upstream_queue;
            self.fault(now, Fault::Paused, || format!("host {host} sends from queue {q}, which is held"));
        }
    }

    /// Records a segment that a TCP sender puts on its link, and checks its window.
    fn on_segment(&mut self, now: Instant, host: usize, packet: &Packet) {
        let rules = self.rules.clone();
        let tcp = rules.tcp.as_ref().expect("hosts speak TCP");
        let opens = tcp.opens(packet);
        let tally = self.flow(packet.flow);
        tally.sent += 1;
        let again = packet.seq < tally.next;
        tally.hurt |= again;
        tally.next = tally.next.max(packet.seq + 1);
        if packet.has(flags::LAST) {
            tally.total = packet.seq + 1;
        }
        let (ahead, known) = (tally.next.saturating_sub(tally.acknowledged), tally.acknowledged);
        let grown = tcp.initial.filter(|_| !tally.hurt).map_or(u32::MAX, |initial| initial + known);
        if ahead > tcp.most.min(grown) {
            let flow = packet.flow;
            self.fault(now, Fault::Window, || {
                format!(
                    "host {host}, flow {flow}: {ahead} segments out, {known} acknowledged, window at most {}",
                    tcp.most.min(grown)
                )
            });
        }
        if packet.has(flags::ECT) != (tcp.capable && !opens) || packet.has(flags::CE) && !tcp.capable {
            self.fault(now, Fault::Marked, || format!("host {host} sends {packet:?}"));
        }
        if again {
            self.count("segments sent again");
        }
        if opens {
            self.count("connections opened");
        }
        if packet.has(flags::CE) {
            self.count("marked by a NIC");
        }
    }

    /// Records a segment or acknowledgement that a host received, or data of any transport with out-of-order receivers.
    fn on_tcp(&mut self, packet: &Packet) {
        let ahead = self.beyond.entry(packet.flow).or_default();
        let at = packet.flow as usize;
        if self.flows.len() <= at {
            self.flows.resize(at + 1, Tally::default());
        }
        let tally = &mut self.flows[at];
        if packet.kind == Kind::Data {
            tally.received += 1;
            tally.highest = tally.highest.max(packet.seq + 1);
            let (duplicate, gap) =
                (packet.seq < tally.expected || ahead.contains(&packet.seq), packet.seq > tally.expected);
            ahead.insert(packet.seq);
            while ahead.remove(&tally.expected) {
                tally.expected += 1;
            }
            ahead.remove(&packet.seq).then(|| (packet.seq > tally.expected).then(|| ahead.insert(packet.seq)));
            if duplicate {
                self.count("duplicates received");
            } else if gap {
                self.count("gaps received");
            }
            return;
        }
        let long = packet.receiver_slot & 0xffff;
        if packet.seq == u32::MAX {
            tally.complete = true;
            tally.acknowledged = tally.acknowledged.max(tally.next);
        } else {
            tally.acknowledged = tally.acknowledged.max(packet.seq);
        }
        if long > 0 && packet.seq != u32::MAX {
            tally.hurt = true;
            tally.selected = tally.selected.max(packet.seq + (packet.receiver_slot >> 16) + long);
            self.count("segments selectively acknowledged");
        }
    }

    /// Checks the mark of a packet that leaves a switch.
    fn check_marks(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, was_marked: bool) {
        let marked = packet.has(flags::CE);
        let same = marked == was_marked;
        let right = match &mut self.memories[switch] {
            _ if !packet.has(flags::ECT) => same,
            // The observer hears of a drop only after the packet sent instead.
            Some(memory) if memory.drops => marked || same,
            Some(memory) => {
                let mut after = memory.clone();
                after.leave(port, packet);
                let (may, must) = after.marks(port, packet);
                if marked { was_marked || may } else { !was_marked && !must }
            }
            None => marked || same,
        };
        if let Some(memory) = &mut self.memories[switch] {
            memory.leave(port, packet);
        }
        if marked && !same {
            self.count("marked by a switch");
        }
        if !right {
            self.fault(now, Fault::Marked, || {
                format!("switch {switch} port {port} sends {packet:?}, marked before: {was_marked}")
            });
        }
    }

    /// Records a packet that is dropped at its departure.
    fn discard(&mut self, now: Instant, switch: usize, packet: &Packet) {
        let (flow, seq) = (packet.flow, id(packet));
        let owed = self.owed.iter().position(|(at, _, f, s)| (*at, *f, *s) == (switch, flow, seq));
        let place = match owed {
            Some(at) => Some(self.owed.swap_remove(at).1),
            None => {
                let ports = self.rules.peers[switch].len() as PortId;
                (0..ports).find(|port| {
                    let queued = self.queued.get_mut(&(switch, *port, flow));
                    queued.and_then(|queued| queued.pop_front_if(|front| front.id == seq)).is_some()
                })
            }
        };
        let Some(port) = place else {
            return self
                .fault(now, Fault::Invented, || format!("switch {switch} drops {packet:?}, which it does not hold"));
        };
        if packet.has(flags::ECT) {
            self.fault(now, Fault::Marked, || format!("switch {switch} drops {packet:?}, which could be marked"));
        }
        let bytes = self.bytes.entry(switch).or_default();
        *bytes = bytes.wrapping_sub(packet.wire as u64);
        let packets = &mut self.port(switch, port).1;
        *packets = packets.saturating_sub(1);
        self.flow(flow).discarded += (packet.kind == Kind::Data) as u64;
        if let Some(memory) = &mut self.memories[switch] {
            memory.leave(port, packet);
        }
    }

    /// Returns the state of `port` of `switch`.
    fn port(&mut self, switch: usize, port: PortId) -> &mut (Instant, u64, Option<Instant>) {
        let ports = self.rules.peers[switch].len();
        &mut self.ports.entry(switch).or_insert_with(|| vec![(Instant::ZERO, 0, None); ports])[port as usize]
    }

    /// Checks that no port of `switch` has been free with data since an earlier instant. At one instant, more events
    /// may follow.
    fn check_idle(&mut self, now: Instant, switch: usize) {
        // While frames are in flight, the checker does not know which port waits for credit.
        if self.rules.credited {
            return;
        }
        for port in 0..self.rules.peers[switch].len() as PortId {
            let held = self.held.get(&(switch, port)).copied().unwrap_or_default();
            let flow_held = self.some_flow_held(now, switch, port);
            let (free_at, packets, since) = self.port(switch, port);
            let idle = *packets > 0 && *free_at <= now && held.classes == 0 && held.queues == 0 && !flow_held;
            let before = idle.then(|| *since.get_or_insert(now));
            if !idle {
                *since = None;
            }
            if let Some(since) = before.filter(|since| *since < now) {
                self.fault(now, Fault::Idle, || {
                    format!(
                        "switch {switch} port {port} has been free since {} ps, with data and nothing held",
                        since.0
                    )
                });
            }
        }
    }

    /// Whether the observer has seen the neighbour at `port` of `switch` send.
    fn sees_neighbour(&self, switch: usize, port: PortId) -> bool {
        self.active.contains(&self.rules.peers[switch][port as usize])
    }
}

impl Observer for Audit {
    fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        if packet.kind != Kind::Data {
            return self.count(match packet.kind {
                Kind::Nack => "NACKs",
                Kind::Credit => "credits",
                Kind::Request => "requests for credits",
                Kind::Control => "control frames of hosts",
                _ => "ACKs",
            });
        }
        self.on_way(host, 0, packet);
        self.check_credit(now, host, 0, packet);
        if self.rules.tcp.is_some() {
            self.on_segment(now, host, packet);
            return self.check_held(now, host, packet);
        }
        let tally = self.flow(packet.flow);
        let (again, nacked) = (packet.seq < tally.next, tally.nacked);
        tally.sent += 1;
        let back = packet.seq < tally.next && tally.next != 0;
        tally.next = packet.seq + 1;
        tally.nacked = false;
        if again && back {
            self.count(if nacked { "goes back after a NACK" } else { "goes back after a timeout" });
        }
        self.check_held(now, host, packet);
    }

    fn host_received(&mut self, _now: Instant, _host: usize, packet: &Packet) {
        if packet.has(flags::CE) {
            self.count("CE marks received");
        }
        if self.rules.tcp.is_some() {
            return self.on_tcp(packet);
        }
        if self.rules.selective && packet.kind == Kind::Data {
            return self.on_tcp(packet);
        }
        let tally = self.flow(packet.flow);
        match packet.kind {
            Kind::Data => {
                tally.received += 1;
                let (duplicate, gap) = (packet.seq < tally.expected, packet.seq > tally.expected);
                tally.expected += (packet.seq == tally.expected) as u32;
                if duplicate {
                    self.count("duplicates received");
                }
                if gap {
                    self.count("gaps received");
                }
            }
            Kind::Ack | Kind::Credit => tally.acknowledged = tally.acknowledged.max(packet.seq),
            Kind::Nack => {
                tally.acknowledged = tally.acknowledged.max(packet.seq);
                tally.nacked = true;
            }
            Kind::Cnp => self.count("notifications received"),
            Kind::DropNotice => self.count("notices of drops received"),
            Kind::Request => {}
            Kind::Control => unreachable!("control frames are not for hosts' flows"),
        }
    }

    fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet, _last: &Transmission) {
        let egress = joined.egress;
        if let Some(ingress) = self.last_hop.get(&(packet.flow, switch)) {
            self.came.insert((switch, *ingress, joined.upstream_queue));
            self.came_flows.insert((switch, *ingress, packet.flow));
        }
        self.port(switch, egress).1 += 1;
        self.flow(packet.flow).enqueued += (packet.kind == Kind::Data) as u64;
        self.queued.entry((switch, egress, packet.flow)).or_default().push_back(Queued {
            id: id(packet),
            class: packet.class,
            marked: packet.has(flags::CE),
        });
        if let Some(memory) = &mut self.memories[switch] {
            let fits = memory.admits(egress, packet);
            memory.enter(egress, packet);
            if !fits {
                self.fault(now, Fault::Buffer, || {
                    format!("switch {switch} port {egress} takes a packet that does not fit: {packet:?}")
                });
            }
        }
        let bytes = self.bytes.entry(switch).or_default();
        *bytes += packet.wire as u64;
        let (bytes, most) = (*bytes, self.rules.buffer[switch]);
        if bytes > most {
            self.fault(now, Fault::Buffer, || format!("switch {switch} holds {bytes} bytes of at most {most}"));
        }
    }

    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        let until = now + self.rules.ser[switch][port as usize].of_bytes(packet.wire as u64);
        self.port(switch, port).0 = until;
        if let Some(frame) = packet.control() {
            self.count("control frames sent");
            return self.on_frame_sent(now, switch, port, frame);
        }
        let Some(queue) = sent.queue else { return };
        self.on_way(switch, port, packet);
        self.check_credit(now, switch, port, packet);
        let packets = &mut self.port(switch, port).1;
        *packets = packets.saturating_sub(1);
        self.flow(packet.flow).departed += (packet.kind == Kind::Data) as u64;
        let held = *self.held(now, switch, port);
        let queue_held = self.rules.by_queue[switch] && held.queues >> queue & 1 == 1;
        if self.rules.pfc_holds(held.classes, packet) || queue_held {
            self.fault(now, Fault::Paused, || {
                format!("switch {switch} port {port} serves queue {queue}, which is held")
            });
        }
        self.sync(switch);
        if !self.rules.flow_pauses[switch].is_residue(queue) && self.flow_held(now, switch, port, packet) {
            let flow = packet.flow;
            self.fault(now, Fault::Paused, || {
                format!("switch {switch} port {port} sends of flow {flow}, which is paused")
            });
        }
        let bytes = self.bytes.entry(switch).or_default();
        *bytes = bytes.wrapping_sub(packet.wire as u64);
        let (flow, seq) = (packet.flow, id(packet));
        let queued = self.queued.entry((switch, port, flow)).or_default();
        let drops = self.memories[switch].as_ref().is_some_and(|memory| memory.drops);
        let came = queued.iter().position(|s| s.id == seq && s.class == packet.class);
        let was_marked = came.is_some_and(|at| queued[at].marked);
        let above = |other: &Queued| self.rules.by_priority[switch] && packet.class < other.class;
        let goes_first = came.is_some_and(|at| queued.range(..at).all(above));
        match came {
            Some(0) => {
                queued.pop_front();
            }
            Some(at) if drops => {
                self.owed.extend(queued.drain(..at).map(|other| (switch, port, flow, other.id)));
                queued.pop_front();
            }
            Some(at) => {
                queued.remove(at);
                if goes_first {
                    self.count("overtaken by a higher priority");
                } else if self.rules.ordered {
                    self.fault(now, Fault::Order, || {
                        format!("switch {switch} port {port}: packet {seq} of flow {flow} overtakes {at} of its own")
                    });
                } else {
                    self.count("overtaken under sampling");
                }
            }
            None => self.fault(now, Fault::Invented, || {
                format!("switch {switch} port {port}: packet {seq} of flow {flow} never arrived")
            }),
        }
        self.check_marks(now, switch, port, packet, was_marked);
    }

    fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        self.drops[reason as usize] += 1;
        self.count(match reason {
            DropReason::Buffer => "dropped: buffer",
            DropReason::Headroom => "dropped: headroom",
            DropReason::LinkLoss => "lost: link loss",
            DropReason::LinkDown => "lost: link down",
            DropReason::NoRoute => "dropped: no route",
            DropReason::Paused => "dropped: paused",
            DropReason::Nic => "dropped: NIC",
            DropReason::NotEct => "dropped: not ECN-capable",
            DropReason::Credit => "dropped: credit",
        });
        if reason == DropReason::Buffer && self.memories[node].as_ref().is_some_and(|memory| !memory.may_refuse(packet))
        {
            self.fault(now, Fault::Buffer, || format!("switch {node} refuses a packet that fits: {packet:?}"));
        }
        if reason == DropReason::NotEct {
            self.discard(now, node, packet);
        }
        if reason == DropReason::Nic {
            // The packet was never sent.
            let tally = self.flow(packet.flow);
            tally.refused += (packet.kind == Kind::Data) as u64;
            tally.hurt = true;
            if packet.kind == Kind::Data && packet.has(flags::LAST) {
                tally.total = packet.seq + 1;
            }
            return;
        }
        if packet.kind == Kind::Data {
            self.flow(packet.flow).dropped += 1;
        }
    }

    fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        let host = node < self.rules.hosts;
        self.count(match frame {
            ControlFrame::Pause(_) if host => "PAUSE at a NIC",
            ControlFrame::Pause(_) => "PAUSE at a switch",
            ControlFrame::Resume(_) if host => "RESUME at a NIC",
            ControlFrame::Resume(_) => "RESUME at a switch",
            ControlFrame::Bitmap(map) if map.is_empty() => "BITMAP, all clear",
            ControlFrame::Bitmap(_) => "BITMAP, some held",
            ControlFrame::PfcPause(_) if host => "PFC pause at a NIC",
            ControlFrame::PfcPause(_) => "PFC pause at a switch",
            ControlFrame::PfcResume(_) => "PFC resume",
            ControlFrame::PauseFlow(_) if host => "PAUSE of a flow at a NIC",
            ControlFrame::PauseFlow(_) => "PAUSE of a flow at a switch",
            ControlFrame::ResumeFlow(_) if host => "RESUME of a flow at a NIC",
            ControlFrame::ResumeFlow(_) => "RESUME of a flow at a switch",
            ControlFrame::Credit(_) if host => "credit at a NIC",
            ControlFrame::Credit(_) => "credit at a switch",
            ControlFrame::CreditSent(_) => "asked for credit",
        });
        if let ControlFrame::Credit(limit) = frame {
            self.credited.entry((node, port)).or_default().limit = Some(limit);
        }
        let held = self.held(now, node, port);
        let before = held.queues;
        held.obey(now, frame);
        let repaired = matches!(frame, ControlFrame::Bitmap(_)) && held.queues != before;
        if host || self.sheets.is_none() {
            self.hold_flow(now, node, port, frame);
        }
        if repaired {
            self.count("BITMAP that repairs");
        }
    }

    fn link_changed(&mut self, now: Instant, switch: usize, port: PortId, _up: bool) {
        self.count("link changes");
        self.sync(switch);
        self.held.entry((switch, port)).or_default().clear(now);
        self.held_flows.remove(&(switch, port));
    }

    fn settled(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        let before = self.clocks.insert(switch, now).unwrap_or(now);
        if before > now {
            self.fault(now, Fault::Clock, || format!("switch {switch}: after what happened at {before:?}"));
        }
        if let Err(text) = plane.audit() {
            self.fault(now, Fault::Recount, || format!("switch {switch}: {text}"));
        }
        self.sync(switch);
        self.check_idle(now, switch);
        if let Some((_, port, flow, seq)) = self.owed.pop() {
            self.fault(now, Fault::Order, || {
                format!("switch {switch} port {port}: packet {seq} of flow {flow} was overtaken by its own")
            });
        }
    }
}

/// Time after the last acknowledgement in which the network drains: the longest path and three PFC refreshes.
const SETTLING: Duration = Duration::from_us(600);

/// Merges the partitions' accounts and checks the rules for the end of a run.
pub fn conclude(audits: Vec<Audit>, outcome: &Outcome) -> Report {
    let mut all = Report::default();
    let mut flows = vec![Tally::default(); outcome.received.len()];
    let (mut left, mut held_left, mut flows_left) = (0, Vec::new(), Vec::new());
    let mut drops = [0; DropReason::COUNT];
    let pfc = outcome.scenario.switch.backpressure == Backpressure::Pfc;
    let mut paused: HashMap<(usize, PortId), Held> = HashMap::new();
    let (mut untold, mut sheets) = (Vec::new(), None);
    for mut audit in audits {
        let strict = |node: usize| audit.rules.steady && audit.rules.flow_pauses[node].exact;
        let holds = |node, flow| audit.queued.iter().any(|(at, held)| (at.0, at.2) == (node, flow) && !held.is_empty());
        let owed = |(node, _, flow): &&(usize, PortId, u32)| strict(*node) && !holds(*node, *flow);
        untold.extend(audit.told_flows.keys().filter(owed).copied());
        sheets = audit.sheets.clone();
        for (fault, text) in std::mem::take(&mut audit.report.faults) {
            all.fault(fault, text);
        }
        audit.report.counts.iter().for_each(|(what, n)| *all.counts.entry(what).or_default() += n);
        for (sum, part) in flows.iter_mut().zip(&audit.flows) {
            sum.sent += part.sent;
            sum.received += part.received;
            sum.dropped += part.dropped;
            sum.departed += part.departed;
            sum.enqueued += part.enqueued;
            sum.expected = sum.expected.max(part.expected);
            sum.acknowledged = sum.acknowledged.max(part.acknowledged);
            sum.refused += part.refused;
            sum.discarded += part.discarded;
            sum.total = sum.total.max(part.total);
            sum.highest = sum.highest.max(part.highest);
            sum.selected = sum.selected.max(part.selected);
            sum.complete |= part.complete;
        }
        left += audit.queued.values().map(|q| q.len()).sum::<usize>();
        drops.iter_mut().zip(audit.drops).for_each(|(sum, n)| *sum += n);
        let ports: Vec<(usize, PortId)> = audit.held.keys().copied().collect();
        for (node, port) in ports {
            let held = audit.held(outcome.ended, node, port);
            held.settle(outcome.ended);
            if held.queues != 0 || held.classes != 0 {
                held_left.push((node, port, held.queues, held.classes));
            }
            paused.insert((node, port), *held);
            if audit.some_flow_held(outcome.ended, node, port) {
                flows_left.push((node, port));
            }
        }
    }
    if let Some(sheets) = &sheets {
        sheets.conclude(&mut all);
    }
    check_flows(&mut all, &flows, outcome);
    check_statistics(&mut all, &flows, drops, &paused, outcome);
    let last = outcome.acknowledged.iter().max().unwrap_or_default();
    if last != Instant::NEVER && last + SETTLING < outcome.ended {
        all.quiescent = true;
        // Lost or duplicated frames leave pauses behind where no pause lapses.
        let mishaps = sheets.as_ref().is_some_and(|sheets| sheets.mishaps) || !outcome.scenario.fault.is_empty();
        let flowsail = &outcome.scenario.switch.flowsail;
        let settles = flowsail.refresh.0 > 0 || !mishaps && flowsail.fingerprint_bits == 32;
        for (flow, t) in flows.iter().enumerate() {
            if settles && (t.sent != t.received + t.dropped || t.enqueued != t.departed + t.discarded) {
                all.fault(Fault::Conservation, format!(
                    "flow {flow}: {} packets sent, {} received, {} dropped or lost; {} into switches, {} out of them",
                    t.sent, t.received, t.dropped, t.enqueued, t.departed
                ));
            }
        }
        if settles && left > 0 {
            all.fault(Fault::Conservation, format!("{left} packets are still held by switches"));
        }
        if let Some((node, port, flow)) = untold.iter().min() {
            all.fault(Fault::Protocol, format!("switch {node} port {port} never says that flow {flow} may send again"));
        }
        if let Some(number) = sheets.as_ref().and_then(|sheets| sheets.with_records())
            && settles
        {
            all.fault(Fault::Held, format!("switch {} still has flows on record", number + outcome.graph.hosts));
        }
        if let Some((node, port)) = flows_left.iter().min()
            && settles
        {
            all.fault(Fault::Held, format!("node {node} port {port} still holds flows"));
        }
        held_left.sort_unstable();
        // Where every other frame is lost, three repetitions can be lost in a row; see `random`.
        let lossy = outcome.scenario.fault.iter().any(|f| f.control_loss > 0.1);
        if let Some((node, port, queues, pfc)) = held_left.first()
            && !lossy
        {
            all.fault(
                Fault::Held,
                format!("node {node} port {port} is still held: queues {queues:#x}, classes {pfc:#x}"),
            );
        }
    }
    let collisions: u64 = outcome.ports.iter().map(|p| p.assigned.collisions).sum();
    let assigned: u64 = outcome.ports.iter().map(|p| p.assigned.assignments).sum();
    let sent: u64 = outcome.ports.iter().map(|p| p.total.sent.control().packets).sum();
    let seen = |name: &str| all.counts.iter().filter(|(n, _)| n.contains(name)).map(|(_, c)| c).sum::<u64>();
    let arrived: u64 = ["PAUSE ", "RESUME ", "BITMAP, ", "PFC "].map(seen).iter().sum();
    let lost = if all.quiescent { sent - arrived.min(sent) } else { 0 };
    for (what, n) in [
        ("queue assignments", assigned),
        ("queue collisions", collisions),
        ("packets sent again", outcome.retransmitted.iter().map(u64::from).sum()),
        ("control frames lost", if pfc { 0 } else { lost }),
    ] {
        if n > 0 {
            *all.counts.entry(what).or_default() += n;
        }
    }
    all
}

fn check_flows(all: &mut Report, flows: &[Tally], outcome: &Outcome) {
    let payload = outcome.scenario.host.payload.0;
    for flow in outcome.flows().map(|row| row.flow).take(flows.len()) {
        let (i, tally) = (flow.id as usize, &flows[flow.id as usize]);
        let (mut packets, _) = flow.packets(payload);
        if let Some(tcp) = Tcp::new(&outcome.scenario) {
            let opened = tcp.opening.is_some() && tally.total == packets + 1;
            if tally.total > 0 && tally.total != packets && !opened {
                all.fault(Fault::Acknowledged, format!("flow {i}: {} segments for {packets} packets", tally.total));
            }
            if tally.selected > tally.highest || tally.complete && tally.expected != tally.total {
                let (selected, highest) = (tally.selected, tally.highest);
                let text = format!(
                    "flow {i}: {selected} selectively acknowledged, {highest} received, {} in order",
                    tally.expected
                );
                all.fault(Fault::Acknowledged, text);
            }
            packets += opened as u32;
        }
        if tally.acknowledged > tally.expected {
            let text = format!("flow {i}: {} acknowledged, {} received in order", tally.acknowledged, tally.expected);
            all.fault(Fault::Acknowledged, text);
        }
        let received = outcome.received.get(i) != Instant::NEVER;
        if received != (tally.expected == packets) {
            let text =
                format!("flow {i}: {} of {packets} packets received, said to be all: {received}", tally.expected);
            all.fault(Fault::Acknowledged, text);
        }
        let acknowledged = outcome.acknowledged.get(i);
        if acknowledged == Instant::NEVER && flow.size != ENDLESS {
            all.fault(Fault::Unfinished, format!("flow {i} from {} to {} has not finished", flow.src, flow.dst));
        }
        if acknowledged < outcome.received.get(i) {
            all.fault(Fault::Acknowledged, format!("flow {i} is acknowledged before it is received"));
        }
    }
}

/// Checks that the outcome's counters equal the observed events.
fn check_statistics(
    all: &mut Report,
    flows: &[Tally],
    drops: [u64; DropReason::COUNT],
    paused: &HashMap<(usize, PortId), Held>,
    outcome: &Outcome,
) {
    let hosts = outcome.graph.hosts as u32;
    let (mut sent, mut departed) = (0, 0);
    for row in &outcome.ports {
        *if row.node < hosts { &mut sent } else { &mut departed } += row.total.sent.data().packets;
        let seen = paused.get(&(row.node as usize, row.port)).copied().unwrap_or_default();
        if (seen.bfc_paused, seen.pfc_paused) != (row.total.held.bfc_paused, row.total.held.pfc_paused) {
            all.fault(
                Fault::Statistics,
                format!(
                    "node {} port {}: paused for {} ps by BFC and {} by PFC, reported {} and {}",
                    row.node,
                    row.port,
                    seen.bfc_paused,
                    seen.pfc_paused,
                    row.total.held.bfc_paused,
                    row.total.held.pfc_paused
                ),
            );
        }
    }
    let seen: (u64, u64) = (flows.iter().map(|t| t.sent).sum(), flows.iter().map(|t| t.departed).sum());
    if seen != (sent, departed) {
        all.fault(Fault::Statistics, format!("{seen:?} packets sent and forwarded, reported ({sent}, {departed})"));
    }
    let mut reported = [0; DropReason::COUNT];
    outcome.drops.iter().for_each(|d| reported.iter_mut().zip(d.packets).for_each(|(sum, n)| *sum += n));
    if reported != drops {
        all.fault(Fault::Statistics, format!("drops by reason {drops:?}, reported {reported:?}"));
    }
    let again: u64 = outcome.retransmitted.iter().map(u64::from).sum();
    let finished = outcome.acknowledged.iter().all(|at| at != Instant::NEVER);
    let once: u64 = flows.iter().map(|t| t.expected as u64).sum();
    let refused: u64 = flows.iter().map(|t| t.refused).sum();
    if finished && seen.0 + refused != once + again {
        all.fault(Fault::Statistics, format!("{} packets sent, {once} needed, {again} reported sent again", seen.0));
    }
}
