//! Direct model of the public HPCC simulator (ns-3). It is the oracle for the engine's compatibility profile, flow by
//! flow.
//!
//! The model has one list of events and runs one event at a time. Events at one nanosecond happen in the order in which
//! they were scheduled. The model shares no code with the engine and is plain rather than fast: three million
//! transmissions a second.
//!
//! Top-down order: input and output, list of events, devices and links, switches with their memory, hosts with their
//! queue pairs, PINT, DCTCP, routes, transmission times.
//!
//! Times are whole nanoseconds, rates whole bit/s. A *device* is one end of a link. Data packets and ACKs have the
//! class of their flow, 1 to 7. PFC frames go before them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// A link between nodes `a` and `b`, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub a: u32,
    pub b: u32,
    /// Bit/s.
    pub rate: u64,
    pub delay_ns: u64,
}

/// Nodes `0..nodes`; nodes that are not switches are hosts, with one link each.
#[derive(Clone, Debug)]
pub struct Net {
    pub nodes: u32,
    pub switches: Vec<u32>,
    pub links: Vec<Link>,
}

/// A flow. Lists of flows are in order of start.
#[derive(Clone, Copy, Debug)]
pub struct FlowSpec {
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
    pub start_ns: u64,
    pub dport: u16,
    /// Priority group, 1 to 7.
    pub pg: u8,
}

/// Congestion control of a sender, beside go-back-N.
#[derive(Clone, Copy, Debug)]
pub enum Cc {
    /// Sends at its link's rate without a window.
    LineRate,
    /// DCTCP as a rate, under a window of fixed size or one that follows the rate.
    Dctcp {
        /// Weight of the newest fraction of marks.
        g: f64,
        /// Additive increase per round, bit/s.
        ai: u64,
        min_rate: u64,
        /// Whether the window shrinks with the rate.
        var_win: bool,
        /// Whether there is a window.
        has_win: bool,
    },
    /// HPCC over PINT's telemetry, with the same choice of windows.
    Pint {
        utilization: f64,
        max_stage: u32,
        /// Additive increase, bit/s.
        ai: u64,
        min_rate: u64,
        /// Base of the powers in which utilization is encoded.
        log_base: f64,
        /// Share of the ACKs that a sender evaluates.
        prob: f64,
        var_win: bool,
        has_win: bool,
    },
}

impl Cc {
    /// Whether there is a window, and whether it shrinks with the rate.
    fn window(&self) -> (bool, bool) {
        match *self {
            Cc::LineRate => (false, false),
            Cc::Dctcp { var_win, has_win, .. } | Cc::Pint { var_win, has_win, .. } => (has_win, var_win),
        }
    }

    /// Bytes of headers in a data packet.
    fn header_bytes(&self) -> u64 {
        HEADERS + if let Cc::Pint { .. } = self { 2 } else { 0 }
    }
}

/// Marking at devices of one rate. Devices of an unlisted rate do not mark.
#[derive(Clone, Copy, Debug)]
pub struct Ecn {
    pub rate: u64,
    pub kmin: u64,
    pub kmax: u64,
    pub pmax: f64,
}

/// Order of events at one nanosecond. Orders other than the first serve only to measure its effect.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// Order of scheduling, as in ns-3.
    Scheduled,
    /// Random order from this seed.
    Random(u64),
    /// Arrivals by node and port, then ends of transmissions by node and port, then other events in order of
    /// scheduling.
    ByNode,
}

#[derive(Clone, Debug)]
pub struct Config {
    pub cc: Cc,
    /// Whether hosts send ACKs while class 3 is paused.
    pub ack_high_prio: bool,
    /// Memory of each switch, bytes.
    pub buffer: u64,
    /// Marking by link rate; no device marks if the list is empty.
    pub ecn: Vec<Ecn>,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    pub order: Order,
    /// Faults: for each entry, one data packet with this flow and sequence number is lost at the first switch.
    pub lose: Vec<(usize, u64)>,
    /// A link that fails for good.
    pub down: Option<Down>,
    /// Share of frames lost on links outside `loss_of`.
    pub loss: f64,
    /// Share of frames lost on single links, by index in the list of links.
    pub loss_of: Vec<(usize, f64)>,
    /// Receivers acknowledge a packet if it ends at or beyond byte `ack_from`, or at a multiple of `ack_chunk`.
    pub ack_from: u64,
    pub ack_chunk: u64,
    /// Whether the gap between packets follows the flow's rate; if not, the link's rate.
    pub rate_bound: bool,
}

/// A link that fails for good.
#[derive(Clone, Copy, Debug)]
pub struct Down {
    pub at_ns: u64,
    /// Index in the list of links.
    pub link: usize,
    /// Whether packets waiting for the link stay charged to the buffer, as in the simulator.
    pub leaks: bool,
}

/// Result of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Time from start to the last ACK; `None` if that did not arrive.
    pub fct_ns: Option<u64>,
    /// The simulator's estimate of this time in an idle network.
    pub standalone_ns: u64,
    pub sport: u16,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Results in the order of the list of flows.
    pub flows: Vec<Fate>,
    /// Packets dropped by switches for lack of buffer.
    pub drops: u64,
    /// Pause frames sent, without resumes.
    pub pauses: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Transmissions of data packets, ACKs and NACKs.
    pub packet_hops: u64,
}

/// Number of classes. Class 0 belongs to PFC frames, which have their own queue in this model.
const CLASSES: usize = 8;
/// A pause of this class also stops ACKs.
const ACK_CLASS: usize = 3;
const HEADERS: u64 = 48;
const ACK_BYTES: u64 = 60;
const PFC_BYTES: u64 = 43;
/// Bytes of a switch's memory reserved for each device.
const RESERVE: u64 = 4096;
/// A pause ends when a device is this many bytes below its threshold.
const RESUME_OFFSET: u64 = 3072;
/// A device may use the free shared memory divided by two to the power of `SHIFT`. Devices faster than the NICs may use
/// more.
const SHIFT: u32 = 3;
const NACK_INTERVAL_NS: u64 = 500_000;

/// Runs the model until no event is left, or to `stop_ns`. Events at `stop_ns` do not happen.
pub fn run(net: &Net, flows: &[FlowSpec], config: &Config, stop_ns: u64) -> Outcome {
    assert!(flows.is_sorted_by_key(|flow| flow.start_ns), "flows start in the order of the list");
    let mut model = Model::new(net, flows, config);
    if let Some(first) = flows.first() {
        model.schedule(first.start_ns, Event::NextFlows);
    }
    if let Some(down) = config.down {
        model.schedule(down.at_ns, Event::TakeDown);
    }
    while let Some(Reverse(entry)) = model.events.pop() {
        if entry.time >= stop_ns {
            break;
        }
        assert!(entry.time >= model.now, "time goes forwards");
        model.now = entry.time;
        match entry.event {
            Event::NextFlows => model.next_flows(),
            Event::TakeDown => model.take_down(),
            Event::Start(flow) => model.start(flow),
            Event::TransmitComplete(device) => {
                model.devices[device].busy = false;
                model.try_transmit(device);
            }
            Event::Receive(device, packet) => model.receive(device, packet),
            Event::Wake(device, number) => {
                if model.nic(device).wake.is_some_and(|(_, pending)| pending == number) {
                    model.nic(device).wake = None;
                    model.try_transmit(device);
                }
            }
        }
    }
    model.outcome
}

/// Index in the list of flows.
type FlowId = usize;
/// Index among all devices. Link `i` of the list ends at devices `2 i` and `2 i + 1`.
type DeviceId = usize;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Ack,
    Nack,
    Pause,
    Resume,
}

#[derive(Clone, Copy)]
struct Packet {
    kind: Kind,
    class: usize,
    /// Congestion experienced: by this data packet, or by the data packet that an ACK answers.
    marked: bool,
    /// Length on the wire.
    bytes: u64,
    flow: FlowId,
    /// Data: offset of the first byte. ACK and NACK: next expected offset.
    seq: u64,
    /// Utilization of the busiest link so far, encoded as an exponent.
    power: u16,
    /// Ingress device at the switch that holds the packet.
    came_by: DeviceId,
}

impl Packet {
    fn is_pfc(&self) -> bool {
        matches!(self.kind, Kind::Pause | Kind::Resume)
    }
}

#[derive(Clone, Copy)]
enum Event {
    /// The next flows of the list start.
    NextFlows,
    /// A link fails.
    TakeDown,
    Start(FlowId),
    TransmitComplete(DeviceId),
    Receive(DeviceId, Packet),
    /// The pacing gap of a queue pair ends. A later event for the device makes the one with this number void.
    Wake(DeviceId, u64),
}

/// An entry of the list of events. Sorted by time, then by `rank` (0 for all in ns-3's order), then by order of
/// scheduling.
struct Entry {
    time: u64,
    rank: u64,
    scheduled: u64,
    event: Event,
}

impl Entry {
    fn key(&self) -> (u64, u64, u64) {
        (self.time, self.rank, self.scheduled)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// One end of a link.
struct Device {
    node: usize,
    /// Port number at the node, from 1.
    port: u64,
    peer: DeviceId,
    rate: u64,
    delay_ns: u64,
    busy: bool,
    up: bool,
    /// Index of the error model for received frames.
    errors: usize,
    /// By class: whether the peer has paused it.
    paused: [bool; CLASSES],
    /// PFC frames waiting at a switch.
    pfc: VecDeque<Packet>,
    /// Packets waiting at a switch, by class.
    data: [VecDeque<Packet>; CLASSES],
    /// Class that sent last.
    last_class: usize,
    ecn: Option<Ecn>,
    /// Buffer accounts at a switch, by class.
    accounts: [Account; CLASSES],
    meter: Meter,
    /// Queues at a host.
    nic: Option<Nic>,
}

/// Counters of a switch per device and class, bytes.
#[derive(Default)]
struct Account {
    /// Queued bytes that came by this device, without those in headroom.
    ingress: u64,
    /// Queued bytes in headroom: they came by this device while it was over its threshold.
    in_headroom: u64,
    headroom: u64,
    /// Bytes queued for departure by this device.
    egress: u64,
    shift: u32,
    /// Whether the device has paused its peer.
    pausing: bool,
}

impl Account {
    /// Bytes of `ingress` in shared memory.
    fn shared(&self) -> u64 {
        self.ingress.saturating_sub(RESERVE)
    }
}

/// Utilization of a switch's link, as its device measures it.
#[derive(Default)]
struct Meter {
    utilization: f64,
    /// Length of the packet sent last, and time of that transmission.
    bytes: u64,
    at_ns: u64,
}

/// Queues of a host at its device.
#[derive(Default)]
struct Nic {
    /// ACKs and NACKs waiting for transmission.
    acks: VecDeque<Packet>,
    /// Queue pairs in order of creation. Finished ones stay until a search finds them.
    pairs: Vec<FlowId>,
    /// Index of the pair that sent last.
    last: usize,
    /// Queue pairs by name, in the order in which the hash table is walked.
    table: Table,
    /// Time and number of the pending wake event.
    wake: Option<(u64, u64)>,
}

#[derive(Default)]
struct Switch {
    /// Memory beyond reserves and headroom, and the bytes of it in use.
    shared: u64,
    shared_used: u64,
}

/// A flow's sender and receiver.
struct Flow {
    spec: FlowSpec,
    /// Header words of data and of ACKs that the choice of routes hashes.
    data_words: [u32; 3],
    ack_words: [u32; 3],

    // Sender.
    next: u64,
    acknowledged: u64,
    next_avail: u64,
    line_rate: u64,
    rate: u64,
    dctcp: Dctcp,
    pint: Pint,
    /// Length of the packet sent last, bytes.
    last_bytes: u64,
    /// Whether the sender's table contains the flow.
    known: bool,

    // Receiver.
    expected: u64,
    nack_timer: u64,
    last_nack: u64,
}

impl Flow {
    fn finished(&self) -> bool {
        self.acknowledged >= self.spec.bytes
    }

    /// Returns the flow's key in the sender's table: destination, source port, class.
    fn name(&self) -> u64 {
        let group = u64::from(self.spec.pg);
        u64::from(self.data_words[1]) << 32 | u64::from(self.data_words[2] & 0xffff) << 16 | group
    }

    fn has_bytes_left(&self) -> bool {
        self.next < self.spec.bytes
    }
}

struct Model<'a> {
    net: &'a Net,
    config: &'a Config,
    /// Error models: one for all links outside `loss_of`, and one for each link in it.
    errors: Vec<Errors>,
    now: u64,
    events: BinaryHeap<Reverse<Entry>>,
    scheduled: u64,
    /// Generator states for the order of ties and for marks.
    tie_draws: u64,
    mark_draws: u64,
    devices: Vec<Device>,
    /// Switches by node; `None` for hosts.
    switches: Vec<Option<Switch>>,
    /// Device of each host, by node.
    nic_of: Vec<Option<DeviceId>>,
    routes: Routes,
    /// Largest product of bandwidth and delay between two hosts, bytes.
    max_window: u64,
    /// Longest round trip between two hosts in an idle network.
    max_rtt_ns: u64,
    /// State of the C library's rand().
    rand: Rand,
    flows: Vec<Flow>,
    /// First flow of the list that has not started.
    next_flow: FlowId,
    lose: Vec<(usize, u64)>,
    outcome: Outcome,
}

// List of events, starts of flows.
impl<'a> Model<'a> {
    fn new(net: &'a Net, specs: &[FlowSpec], config: &'a Config) -> Model<'a> {
        let nodes = net.nodes as usize;
        let mut is_switch = vec![false; nodes];
        for &switch in &net.switches {
            is_switch[switch as usize] = true;
        }

        let mut ports = vec![0; nodes];
        let mut devices = Vec::new();
        for link in &net.links {
            for node in [link.a as usize, link.b as usize] {
                ports[node] += 1;
                let id = devices.len();
                devices.push(Device {
                    node,
                    port: ports[node],
                    peer: id ^ 1,
                    rate: link.rate,
                    delay_ns: link.delay_ns,
                    busy: false,
                    up: true,
                    errors: config.loss_of.iter().position(|(of, _)| *of == id / 2).map_or(0, |place| place + 1),
                    paused: [false; CLASSES],
                    pfc: VecDeque::new(),
                    data: Default::default(),
                    last_class: 0,
                    ecn: config.ecn.iter().copied().find(|ecn| ecn.rate == link.rate),
                    accounts: Default::default(),
                    meter: Meter::default(),
                    nic: (!is_switch[node]).then(Nic::default),
                });
            }
        }
        let mut nic_of = vec![None; nodes];
        for (id, device) in devices.iter().enumerate().filter(|(_, device)| device.nic.is_some()) {
            assert!(nic_of[device.node].replace(id).is_none(), "host {} has one link", device.node);
        }

        let nic_rate = nic_of.iter().flatten().next().map_or(0, |&id| devices[id].rate);
        let switches = (0..nodes)
            .map(|node| is_switch[node].then(|| set_up_switch(node, &mut devices, nic_rate, config.buffer)))
            .collect();

        let routes = Routes::new(net, &devices, &is_switch, config.payload);
        let hosts: Vec<usize> = (0..nodes).filter(|&node| !is_switch[node]).collect();
        let pairs = hosts.iter().flat_map(|&src| hosts.iter().map(move |&dst| (src, dst)));
        let paths: Vec<&Path> =
            pairs.filter(|(src, dst)| src != dst).filter_map(|(src, dst)| routes.path(src, dst)).collect();
        let max_window = paths.iter().map(|path| path.rtt_ns() * path.rate / 1_000_000_000 / 8).max().unwrap_or(0);
        let max_rtt_ns = paths.iter().map(|path| path.rtt_ns()).max().unwrap_or(0);

        let mut earlier: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut flows = Vec::new();
        let mut fates = Vec::new();
        for spec in specs {
            assert!(spec.bytes > 0 && spec.src != spec.dst, "{spec:?} has something to send");
            assert!((1..CLASSES).contains(&spec.pg.into()), "{spec:?} has a class");
            let count = earlier.entry((spec.src, spec.dst)).or_default();
            let sport = (10_000 + *count) as u16;
            *count += 1;

            let path = routes.path(spec.src as usize, spec.dst as usize).expect("a flow has a route");
            let wire_bytes = spec.bytes + spec.bytes.div_ceil(config.payload) * HEADERS;
            let standalone_ns = path.rtt_ns() + wire_bytes * 8_000_000_000 / path.rate;
            fates.push(Fate { fct_ns: None, standalone_ns, sport });

            let line_rate = devices[nic_of[spec.src as usize].expect("a flow starts at a host")].rate;
            let (src, dst) = (address(spec.src), address(spec.dst));
            flows.push(Flow {
                spec: *spec,
                data_words: [src, dst, u32::from(sport) | u32::from(spec.dport) << 16],
                ack_words: [dst, src, u32::from(spec.dport) | u32::from(sport) << 16],
                next: 0,
                acknowledged: 0,
                next_avail: 0,
                line_rate,
                rate: line_rate,
                dctcp: Dctcp::new(),
                pint: Pint { round_end: 0, stage: 0, reference: line_rate },
                last_bytes: 0,
                known: false,
                expected: 0,
                nack_timer: 0,
                last_nack: 0,
            });
        }

        let errors = [config.loss].into_iter().chain(config.loss_of.iter().map(|(_, share)| *share));
        Model {
            net,
            config,
            errors: errors.map(Errors::new).collect(),
            now: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            tie_draws: if let Order::Random(seed) = config.order { seed } else { 0 },
            mark_draws: 1,
            devices,
            switches,
            nic_of,
            routes,
            max_window,
            max_rtt_ns,
            rand: Rand::new(),
            flows,
            next_flow: 0,
            lose: config.lose.clone(),
            outcome: Outcome { flows: fates, drops: 0, pauses: 0, nacks: 0, packet_hops: 0 },
        }
    }

    fn schedule(&mut self, time: u64, event: Event) {
        let rank = match self.config.order {
            Order::Scheduled => 0,
            Order::Random(_) => draw(&mut self.tie_draws),
            Order::ByNode => {
                let place = |id: DeviceId| (self.devices[id].node as u64) << 32 | self.devices[id].port;
                match event {
                    Event::Receive(device, _) => place(device),
                    Event::TransmitComplete(device) => 1 << 62 | place(device),
                    _ => 1 << 63,
                }
            }
        };
        self.events.push(Reverse(Entry { time, rank, scheduled: self.scheduled, event }));
        self.scheduled += 1;
    }

    /// Schedules an event for each flow that starts now, after the events already scheduled. Then schedules the next
    /// starts.
    fn next_flows(&mut self) {
        while self.next_flow < self.flows.len() && self.flows[self.next_flow].spec.start_ns == self.now {
            self.schedule(self.now, Event::Start(self.next_flow));
            self.next_flow += 1;
        }
        if let Some(flow) = self.flows.get(self.next_flow) {
            self.schedule(flow.spec.start_ns, Event::NextFlows);
        }
    }

    fn start(&mut self, id: FlowId) {
        let flow = &mut self.flows[id];
        flow.known = true;
        flow.next_avail = self.now;
        let device = self.nic_of[flow.spec.src as usize].expect("a flow starts at a host");
        let name = self.flows[id].name();
        self.nic(device).table.insert(name, id);
        self.nic(device).pairs.push(id);
        self.try_transmit(device);
    }

    /// Takes a link down: its devices drop their packets, routes are computed again, and each host lists its queue
    /// pairs anew.
    fn take_down(&mut self) {
        let down = self.config.down.expect("it was scheduled");
        let ends = [2 * down.link, 2 * down.link + 1];
        ends.iter().for_each(|&id| self.devices[id].up = false);
        let is_switch: Vec<bool> = self.switches.iter().map(Option::is_some).collect();
        self.routes = Routes::new(self.net, &self.devices, &is_switch, self.config.payload);
        for id in ends {
            if let Some(nic) = &mut self.devices[id].nic {
                nic.acks.clear();
                continue;
            }
            self.devices[id].paused = [false; CLASSES];
            self.devices[id].pfc.clear();
            while let Some(packet) = self.next_in_turn(id) {
                if !down.leaks {
                    self.remove(packet.came_by, packet.class, packet.bytes);
                    self.devices[id].accounts[packet.class].egress -= packet.bytes;
                    self.check_resume(packet.came_by, packet.class);
                }
            }
        }
        for id in self.nic_of.clone().into_iter().flatten() {
            self.nic(id).pairs.clear();
            for flow in self.nic(id).table.walk() {
                self.nic(id).pairs.push(flow);
                self.try_transmit(id);
            }
        }
    }
}

/// Hash table of the GNU C++ library for integers that are their own hashes: one list runs through all buckets.
#[derive(Default)]
struct Table {
    list: Vec<(u64, FlowId)>,
    buckets: u64,
}

impl Table {
    fn insert(&mut self, name: u64, flow: FlowId) {
        let sizes = [13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273];
        if self.list.len() as u64 + 1 > self.buckets {
            self.buckets = *sizes.iter().find(|&&size| size > self.buckets).expect("so many queue pairs are not tried");
            let old = std::mem::take(&mut self.list);
            old.into_iter().for_each(|(name, flow)| self.link(name, flow));
        }
        self.link(name, flow);
    }

    /// Inserts before the first entry of the bucket, or at the front of the list.
    fn link(&mut self, name: u64, flow: FlowId) {
        let same = |(other, _): &(u64, FlowId)| other % self.buckets == name % self.buckets;
        let place = self.list.iter().position(same).unwrap_or(0);
        self.list.insert(place, (name, flow));
    }

    fn erase(&mut self, flow: FlowId) {
        self.list.retain(|(_, other)| *other != flow);
    }

    fn walk(&self) -> Vec<FlowId> {
        self.list.iter().map(|(_, flow)| *flow).collect()
    }
}

/// Error model: a share of lost frames, and a random stream. All streams start at the same state.
struct Errors {
    share: f64,
    /// The last three numbers of each recurrence of MRG32k3a.
    state: [[u64; 3]; 2],
}

const MRG_MODULI: [u64; 2] = [4_294_967_087, 4_294_944_443];

impl Errors {
    /// Starts stream 2^63 + 50 at its first run: 2^127 steps per stream, then 2^76 more.
    fn new(share: f64) -> Errors {
        type Matrix = [[u64; 3]; 3];
        let step: [Matrix; 2] = [
            [[0, 1, 0], [0, 0, 1], [MRG_MODULI[0] - 810_728, 1_403_580, 0]],
            [[0, 1, 0], [0, 0, 1], [MRG_MODULI[1] - 1_370_589, 0, 527_612]],
        ];
        let mut state = [[1; 3]; 2];
        for ((state, mut power), modulus) in state.iter_mut().zip(step).zip(MRG_MODULI) {
            for bit in 0..=190 {
                // 2^76 + 2^127 (2^63 + 32 + 16 + 2)
                if [76, 127 + 1, 127 + 4, 127 + 5, 127 + 63].contains(&bit) {
                    *state = power.map(|row| (0..3).fold(0, |sum, i| (sum + row[i] * state[i] % modulus) % modulus));
                }
                let column = |j: usize| power.map(|row: [u64; 3]| row[j]);
                let columns = [column(0), column(1), column(2)];
                let product = |row: [u64; 3], column: [u64; 3]| {
                    (0..3).fold(0, |sum, i| (sum + row[i] * column[i] % modulus) % modulus)
                };
                power = power.map(|row| columns.map(|column| product(row, column)));
            }
        }
        Errors { share, state }
    }

    /// Whether the next frame is lost.
    fn strike(&mut self) -> bool {
        let [x, y] = &mut self.state;
        let [m1, m2] = MRG_MODULI;
        let next_x = (1_403_580 * x[1] % m1 + (m1 - 810_728) * x[0] % m1) % m1;
        let next_y = (527_612 * y[2] % m2 + (m2 - 1_370_589) * y[0] % m2) % m2;
        (*x, *y) = ([x[1], x[2], next_x], [y[1], y[2], next_y]);
        let difference = if next_x > next_y { next_x - next_y } else { next_x + m1 - next_y };
        difference as f64 * (1.0 / 4_294_967_088.0) < self.share
    }
}

// Devices.
impl Model<'_> {
    fn nic(&mut self, id: DeviceId) -> &mut Nic {
        self.devices[id].nic.as_mut().expect("only hosts")
    }

    /// Sends the next packet or frame, unless the device is busy or down.
    fn try_transmit(&mut self, id: DeviceId) {
        if self.devices[id].busy || !self.devices[id].up {
            return;
        }
        if self.devices[id].nic.is_some() { self.try_transmit_host(id) } else { self.try_transmit_switch(id) }
    }

    /// Sends a packet. The end of the transmission is scheduled before the arrival, which orders other events at these
    /// instants.
    fn transmit(&mut self, id: DeviceId, packet: Packet) {
        let device = &mut self.devices[id];
        assert!(!device.busy, "one packet at a time");
        device.busy = true;
        (device.meter.bytes, device.meter.at_ns) = (packet.bytes, self.now);
        let (peer, delay) = (device.peer, device.delay_ns);
        let end = self.now + transmission_ns(packet.bytes, device.rate);
        if !packet.is_pfc() {
            self.outcome.packet_hops += 1;
        }
        self.schedule(end, Event::TransmitComplete(id));
        self.schedule(end + delay, Event::Receive(peer, packet));
    }

    fn receive(&mut self, id: DeviceId, packet: Packet) {
        if !self.devices[id].up || self.errors[self.devices[id].errors].strike() {
            return;
        }
        match packet.kind {
            Kind::Pause => self.devices[id].paused[packet.class] = true,
            Kind::Resume => {
                self.devices[id].paused[packet.class] = false;
                self.try_transmit(id);
            }
            _ if self.devices[id].nic.is_none() => self.forward(id, packet),
            Kind::Data => self.receive_data(id, packet),
            Kind::Ack | Kind::Nack => self.receive_ack(id, packet),
        }
    }
}

// Switches.
impl Model<'_> {
    fn forward(&mut self, came_by: DeviceId, mut packet: Packet) {
        if packet.kind == Kind::Data
            && let Some(found) = self.lose.iter().position(|&lost| lost == (packet.flow, packet.seq))
        {
            self.lose.swap_remove(found);
            return;
        }
        packet.came_by = came_by;
        let node = self.devices[came_by].node;
        let flow = &self.flows[packet.flow];
        let (words, to) = match packet.kind {
            Kind::Data => (&flow.data_words, flow.spec.dst),
            _ => (&flow.ack_words, flow.spec.src),
        };
        let out = self.routes.next(node, to as usize, words);

        if !self.has_room(came_by, packet.class, packet.bytes) {
            self.outcome.drops += 1;
            return;
        }
        self.add(came_by, packet.class, packet.bytes);
        self.devices[out].accounts[packet.class].egress += packet.bytes;
        self.check_pause(came_by, packet.class);
        self.devices[out].data[packet.class].push_back(packet);
        self.try_transmit(out);
    }

    fn try_transmit_switch(&mut self, id: DeviceId) {
        if let Some(frame) = self.devices[id].pfc.pop_front() {
            self.transmit(id, frame);
            return;
        }
        let Some(mut packet) = self.next_in_turn(id) else { return };
        self.remove(packet.came_by, packet.class, packet.bytes);
        self.devices[id].accounts[packet.class].egress -= packet.bytes;
        // The simulator marks ACKs too, but no one reads their marks.
        if self.marks(id, packet.class) && packet.kind == Kind::Data {
            packet.marked = true;
        }
        self.check_resume(packet.came_by, packet.class);
        if let Cc::Pint { log_base, .. } = self.config.cc
            && packet.kind == Kind::Data
        {
            self.measure(id, log_base, &mut packet);
        }
        self.transmit(id, packet);
    }

    /// Removes and returns the first packet of the next unpaused class after the one that sent last.
    fn next_in_turn(&mut self, id: DeviceId) -> Option<Packet> {
        let device = &mut self.devices[id];
        let mut turns = (1..=CLASSES).map(|step| (device.last_class + step) % CLASSES);
        let class = turns.find(|&class| !device.paused[class] && !device.data[class].is_empty())?;
        device.last_class = class;
        device.data[class].pop_front()
    }

    /// Whether the departing packet is marked, from the bytes left in its class at the device.
    fn marks(&mut self, id: DeviceId, class: usize) -> bool {
        let Some(ecn) = self.devices[id].ecn else { return false };
        let queue = self.devices[id].accounts[class].egress;
        if queue > ecn.kmax {
            return true;
        }
        queue > ecn.kmin && {
            let probability = ecn.pmax * (queue - ecn.kmin) as f64 / (ecn.kmax - ecn.kmin) as f64;
            ((draw(&mut self.mark_draws) >> 11) as f64 / (1u64 << 53) as f64) < probability
        }
    }

    fn check_pause(&mut self, id: DeviceId, class: usize) {
        let account = &self.devices[id].accounts[class];
        if !account.pausing && (account.in_headroom > 0 || account.shared() >= self.threshold(id)) {
            self.outcome.pauses += 1;
            self.send_pfc(id, Kind::Pause, class);
            self.devices[id].accounts[class].pausing = true;
        }
    }

    fn check_resume(&mut self, id: DeviceId, class: usize) {
        let account = &self.devices[id].accounts[class];
        let low = account.shared() == 0 || account.shared() + RESUME_OFFSET <= self.threshold(id);
        if account.pausing && account.in_headroom == 0 && low {
            self.send_pfc(id, Kind::Resume, class);
            self.devices[id].accounts[class].pausing = false;
        }
    }

    fn send_pfc(&mut self, id: DeviceId, kind: Kind, class: usize) {
        let frame = Packet { kind, class, marked: false, bytes: PFC_BYTES, flow: 0, seq: 0, power: 0, came_by: id };
        self.devices[id].pfc.push_back(frame);
        self.try_transmit(id);
    }
}

// Memory of a switch. It is divided by ingress device and class: a reserve each, then the free shared memory divided by
// a power of two. Headroom takes packets in flight when a pause is sent.
impl Model<'_> {
    fn memory(&mut self, id: DeviceId, class: usize) -> (&mut Switch, &mut Account) {
        let device = &mut self.devices[id];
        (self.switches[device.node].as_mut().expect("only switches"), &mut device.accounts[class])
    }

    fn threshold(&self, id: DeviceId) -> u64 {
        let device = &self.devices[id];
        let switch = self.switches[device.node].as_ref().expect("only switches");
        (switch.shared - switch.shared_used) >> device.accounts[0].shift
    }

    fn has_room(&self, id: DeviceId, class: usize, bytes: u64) -> bool {
        let account = &self.devices[id].accounts[class];
        bytes + account.in_headroom <= account.headroom || bytes + account.shared() <= self.threshold(id)
    }

    fn add(&mut self, id: DeviceId, class: usize, bytes: u64) {
        let threshold = self.threshold(id);
        let (switch, account) = self.memory(id, class);
        let after = account.ingress + bytes;
        if after <= RESERVE {
            account.ingress = after;
        } else if after - RESERVE > threshold {
            account.in_headroom += bytes;
        } else {
            account.ingress = after;
            switch.shared_used += bytes.min(after - RESERVE);
        }
    }

    fn remove(&mut self, id: DeviceId, class: usize, bytes: u64) {
        let (switch, account) = self.memory(id, class);
        let from_headroom = account.in_headroom.min(bytes);
        let from_shared = (bytes - from_headroom).min(account.shared());
        account.in_headroom -= from_headroom;
        account.ingress -= bytes - from_headroom;
        switch.shared_used -= from_shared;
    }
}

/// Sets headroom and shift of a switch's devices; returns the rest of its memory.
fn set_up_switch(node: usize, devices: &mut [Device], nic_rate: u64, buffer: u64) -> Switch {
    let mut set_aside = 0;
    for device in devices.iter_mut().filter(|device| device.node == node) {
        let headroom = device.rate * device.delay_ns / 8 / 1_000_000_000 * 3;
        let (mut shift, mut rate) = (SHIFT, device.rate);
        while rate > nic_rate && shift > 0 {
            shift -= 1;
            rate /= 2;
        }
        // All classes of a device share its headroom, which is set aside once.
        device.accounts.iter_mut().for_each(|account| (account.headroom, account.shift) = (headroom, shift));
        set_aside += headroom + RESERVE;
    }
    // With less memory, the simulator's unsigned subtraction would wrap around.
    assert!(buffer >= set_aside, "switch {node} sets aside {set_aside} of {buffer} B");
    Switch { shared: buffer - set_aside, shared_used: 0 }
}

// Hosts.
impl Model<'_> {
    /// Sends an ACK if there is one, else a packet of the next eligible queue pair. If every pair must wait, schedules
    /// a wake event for the earliest.
    fn try_transmit_host(&mut self, id: DeviceId) {
        let paused = self.devices[id].paused[ACK_CLASS];
        if (!paused || self.config.ack_high_prio)
            && let Some(ack) = self.nic(id).acks.pop_front()
        {
            self.transmit(id, ack);
        } else if let Some(place) = self.next_pair(id) {
            self.nic(id).last = place;
            let flow = self.nic(id).pairs[place];
            self.send_data(id, flow);
        } else {
            let nic = self.devices[id].nic.as_ref().expect("only hosts");
            let unsent = nic.pairs.iter().map(|&pair| &self.flows[pair]).filter(|flow| flow.has_bytes_left());
            if let Some(due) = unsent.map(|flow| flow.next_avail).min()
                && due > self.now
                && nic.wake.is_none()
            {
                self.wake_at(id, due);
            }
        }
    }

    /// Returns the index of the next eligible pair in turn after the one that sent last. Removes finished pairs if it
    /// met one. The index that sent last may then refer to another pair, as in the simulator.
    fn next_pair(&mut self, id: DeviceId) -> Option<usize> {
        let nic = self.devices[id].nic.as_ref().expect("only hosts");
        let (count, last) = (nic.pairs.len(), nic.last);
        let mut sender = None;
        let mut first_finished = None;
        for step in 1..=count {
            let place = (last + step) % count;
            let flow = &self.flows[nic.pairs[place]];
            if !self.devices[id].paused[usize::from(flow.spec.pg)]
                && flow.has_bytes_left()
                && !self.window_is_full(flow)
            {
                if flow.next_avail <= self.now {
                    sender = Some(place);
                    break;
                }
            } else if flow.finished() {
                first_finished = Some(first_finished.map_or(place, |first: usize| first.min(place)));
            }
        }
        let Some(first_finished) = first_finished else { return sender };

        let before = std::mem::take(&mut self.nic(id).pairs);
        let mut after = Vec::with_capacity(before.len());
        let mut moved = sender;
        for (place, &pair) in before.iter().enumerate() {
            if place < first_finished || !self.flows[pair].finished() {
                if sender == Some(place) {
                    moved = Some(after.len());
                }
                after.push(pair);
            }
        }
        self.nic(id).pairs = after;
        moved
    }

    fn window_is_full(&self, flow: &Flow) -> bool {
        let (has_win, var_win) = self.config.cc.window();
        if !has_win || self.max_window == 0 {
            return false;
        }
        let window = if var_win { (self.max_window * flow.rate / flow.line_rate).max(1) } else { self.max_window };
        // A late NACK may have moved `next` back while ACKs for later bytes are in flight. The simulator's unsigned
        // difference then wraps around, and the pair sends nothing until another NACK.
        flow.next.wrapping_sub(flow.acknowledged) >= window
    }

    fn send_data(&mut self, id: DeviceId, flow_id: FlowId) {
        let flow = &mut self.flows[flow_id];
        let payload = self.config.payload.min(flow.spec.bytes - flow.next);
        let bytes = payload + self.config.cc.header_bytes();
        let (seq, power) = (flow.next, 0);
        let class = flow.spec.pg.into();
        let packet = Packet { kind: Kind::Data, class, marked: false, bytes, flow: flow_id, seq, power, came_by: id };
        flow.next += payload;
        flow.last_bytes = bytes;
        let rate = if self.config.rate_bound { flow.rate } else { flow.line_rate };
        flow.next_avail = self.now + transmission_ns(bytes, rate);
        self.transmit(id, packet);
    }

    /// Answers the expected packet with an ACK. Answers a packet beyond it with a NACK, unless the same NACK was sent
    /// within the interval. Repeated packets get no answer.
    fn receive_data(&mut self, id: DeviceId, packet: Packet) {
        let flow = &mut self.flows[packet.flow];
        let kind = if packet.seq == flow.expected {
            flow.expected += packet.bytes - self.config.cc.header_bytes();
            if flow.expected < self.config.ack_from && !flow.expected.is_multiple_of(self.config.ack_chunk) {
                return;
            }
            Kind::Ack
        } else if packet.seq > flow.expected && (self.now >= flow.nack_timer || flow.last_nack != flow.expected) {
            flow.nack_timer = self.now + NACK_INTERVAL_NS;
            flow.last_nack = flow.expected;
            self.outcome.nacks += 1;
            Kind::Nack
        } else {
            return;
        };
        let seq = flow.expected;
        let answer = Packet { kind, bytes: ACK_BYTES, seq, came_by: id, ..packet };
        self.nic(id).acks.push_back(answer);
        self.try_transmit(id);
    }

    fn receive_ack(&mut self, id: DeviceId, packet: Packet) {
        let flow = &mut self.flows[packet.flow];
        if !flow.known {
            return;
        }
        flow.acknowledged = flow.acknowledged.max(packet.seq);
        if flow.finished() {
            flow.known = false;
            self.devices[id].nic.as_mut().expect("only hosts").table.erase(packet.flow);
            self.outcome.flows[packet.flow].fct_ns = Some(self.now - flow.spec.start_ns);
        }
        if packet.kind == Kind::Nack {
            flow.next = flow.acknowledged;
        }
        if let Cc::Dctcp { g, ai, min_rate, .. } = self.config.cc {
            let params = DctcpParams { g, ai, min_rate, line_rate: flow.line_rate, payload: self.config.payload };
            flow.rate = flow.dctcp.on_ack(&params, flow.rate, flow.next, packet.seq, packet.marked);
        }
        if let Cc::Pint { .. } = self.config.cc {
            self.on_power(id, packet);
        }
        self.try_transmit(id);
    }
}

// PINT: telemetry of switches, and rate control of senders. Logarithms and powers are those of the C library.
impl Model<'_> {
    /// Measures the link's utilization including the departing packet, and writes it to the packet if it is the largest
    /// so far.
    fn measure(&mut self, id: DeviceId, log_base: f64, packet: &mut Packet) {
        let device = &mut self.devices[id];
        let queued: u64 = device.pfc.iter().chain(device.data.iter().flatten()).map(|waiting| waiting.bytes).sum();
        let (max, second, bytes) = (self.max_rtt_ns, 1e9f64.log2() * 32768.0, (device.rate / 8) as f64);
        let (log_max, log_bytes) = ((max as f64).log2() * 32768.0, bytes.log2() * 32768.0);
        let idle = (self.now - device.meter.at_ns).min(max);
        let mut utilization = 0.0;
        if queued / 256 > 0 {
            let sum = self.rand.log2(idle) + self.rand.log2(queued / 256);
            utilization += 2f64.powf((sum as f64 + second - log_bytes - 2.0 * log_max) / 32768.0) * 256.0;
        }
        if device.meter.bytes > 0 {
            let sum = self.rand.log2(device.meter.bytes);
            utilization += 2f64.powf((sum as f64 + second - log_bytes - log_max) / 32768.0);
        }
        if max > idle && device.meter.utilization > 0.0 {
            let rest = self.rand.log2(max - idle);
            let sum = rest + self.rand.log2((device.meter.utilization * 8192.0).round() as u64);
            utilization += 2f64.powf((sum as f64 - log_max) / 32768.0) / 8192.0;
        }
        device.meter.utilization = utilization;

        let units = ((utilization * 512.0).ceil() as u32).max(1);
        let exact = f64::from(units).ln() * (1.0 / log_base.ln());
        let (upper, lower) = (exact.ceil(), exact.floor());
        let (mut high, low) = (log_base.powf(upper), log_base.powf(lower));
        if upper == lower {
            high *= log_base;
        }
        let share = (f64::from(units) - low) / (high - low) * 65536.0;
        let power = if f64::from(self.rand.next() % 65536) < share { upper } else { lower } as u16;
        if power > packet.power {
            // The exponent takes one byte where that of 512 x 512 fits in one.
            let bits = ((512.0f64 * 512.0).ln() * (1.0 / log_base.ln())).log2().ceil();
            packet.power = if bits <= 8.0 { power & 0xff } else { power };
        }
    }

    /// Sets the rate after a sampled ACK or NACK.
    fn on_power(&mut self, id: DeviceId, packet: Packet) {
        let Cc::Pint { utilization, max_stage, ai, min_rate, log_base, prob, .. } = self.config.cc else { return };
        if self.rand.next() % 65536 >= (65536.0 * prob) as u32 {
            return;
        }
        let flow = &mut self.flows[packet.flow];
        if flow.pint.round_end == 0 {
            flow.pint.round_end = flow.next;
            return;
        }
        let over = log_base.powf(f64::from(packet.power)) / 512.0 / utilization;
        let (rate, stage) = match over >= 1.0 || flow.pint.stage >= max_stage {
            true => ((flow.pint.reference as f64 / over) as u64 + ai, 0),
            false => (flow.pint.reference + ai, flow.pint.stage + 1),
        };
        let rate = rate.max(min_rate).min(flow.line_rate);
        if packet.seq > flow.pint.round_end {
            (flow.pint.reference, flow.pint.stage) = (rate, stage);
            flow.pint.round_end = flow.pint.round_end.max(flow.next);
        }
        self.change_rate(id, packet.flow, rate);
    }

    /// Changes the rate, and moves the next send time by the change of its predecessor's transmission time. A wake
    /// event may move earlier for it, never later.
    fn change_rate(&mut self, id: DeviceId, flow: FlowId, rate: u64) {
        let flow = &mut self.flows[flow];
        flow.next_avail =
            flow.next_avail + transmission_ns(flow.last_bytes, rate) - transmission_ns(flow.last_bytes, flow.rate);
        flow.rate = rate;
        let due = flow.next_avail;
        if self.nic(id).wake.is_some_and(|(at, _)| due < at) {
            self.wake_at(id, due.max(self.now));
        }
    }

    fn wake_at(&mut self, id: DeviceId, at: u64) {
        let number = self.scheduled;
        self.nic(id).wake = Some((at, number));
        self.schedule(at, Event::Wake(id, number));
    }
}

/// A flow's state under PINT.
struct Pint {
    /// Offset at which the round ends; 0 before the first ACK.
    round_end: u64,
    stage: u32,
    /// Rate at the end of the last round, bit/s.
    reference: u64,
}

/// rand() of the GNU C library without a seed: `r[i] = r[i - 3] + r[i - 31]`.
struct Rand(VecDeque<u32>);

impl Rand {
    fn new() -> Rand {
        let mut words = VecDeque::from([1u32]);
        while words.len() < 31 {
            words.push_back((u64::from(words[words.len() - 1]) * 16807 % 0x7fff_ffff) as u32);
        }
        // Entries 31 to 33 repeat 0 to 2. The library discards the next 310 numbers.
        (0..3).for_each(|i| words.push_back(words[i]));
        (0..3).for_each(|_| _ = words.pop_front());
        let mut rand = Rand(words);
        (0..310).for_each(|_| _ = rand.next());
        rand
    }

    fn next(&mut self) -> u32 {
        let next = self.0[28].wrapping_add(self.0[0]);
        self.0.push_back(next);
        self.0.pop_front();
        next >> 1
    }

    /// Returns the logarithm in units of 2^-15. It uses 16 bits of `number`; the lower bits round these up at random.
    fn log2(&mut self, number: u64) -> i64 {
        if number == 0 {
            return i64::from(i32::MIN);
        }
        let bits = number.ilog2() + 1;
        let mut number = number;
        if bits > 16 {
            let rest = number % (1 << (bits - 16));
            number -= rest;
            if rest > u64::from(self.next()) % (1 << (bits - 16)) {
                number += 1 << (bits - 16);
            }
        }
        ((number as f64).log2() * 32768.0) as i64
    }
}

struct DctcpParams {
    g: f64,
    ai: u64,
    min_rate: u64,
    line_rate: u64,
    payload: u64,
}

/// DCTCP's state of a flow. A round ends with the first ACK beyond the bytes sent before the last round's end.
struct Dctcp {
    alpha: f64,
    /// Offset at which the round ends; 0 before the first ACK.
    round_end: u64,
    /// Marks and packets of this round.
    marks: u64,
    packets: u64,
    /// Whether the rate was cut; no further cut before an ACK beyond `cut_end`.
    cut: bool,
    cut_end: u64,
}

impl Dctcp {
    fn new() -> Dctcp {
        Dctcp { alpha: 1.0, round_end: 0, marks: 0, packets: 0, cut: false, cut_end: 0 }
    }

    /// Returns the rate after an ACK of all bytes before `seq`; `next` is the first byte not sent.
    fn on_ack(&mut self, params: &DctcpParams, mut rate: u64, next: u64, seq: u64, marked: bool) -> u64 {
        self.marks += u64::from(marked);
        let new_round = seq > self.round_end;
        if new_round && self.round_end == 0 {
            self.round_end = next;
            self.packets = next / params.payload + 1;
        } else if new_round {
            let fraction = (self.marks as f64 / self.packets as f64).min(1.0);
            self.alpha = (1.0 - params.g) * self.alpha + params.g * fraction;
            self.round_end = next;
            self.marks = 0;
            // The simulator's unsigned difference, truncated to 32 bits.
            self.packets = (next.wrapping_sub(seq) / params.payload + 1) & 0xffff_ffff;
        }
        if self.cut && seq > self.cut_end {
            self.cut = false;
        }
        if marked && !self.cut {
            rate = ((rate as f64 * (1.0 - self.alpha / 2.0)) as u64).max(params.min_rate);
            self.cut = true;
            self.cut_end = next;
        }
        if new_round && !self.cut {
            rate = (rate + params.ai).min(params.line_rate);
        }
        rate
    }
}

/// Shortest paths from every node to every host.
struct Routes {
    nodes: usize,
    /// By node and destination: egress devices at the node, in the order in which the choice counts.
    next: Vec<Vec<DeviceId>>,
    paths: Vec<Option<Path>>,
}

/// Sums over the links from a node to a host.
#[derive(Clone, Copy)]
struct Path {
    links: u32,
    delay_ns: u64,
    /// Transmission time of a full packet without headers, link after link.
    transmission_ns: u64,
    /// Rate of the slowest link, bit/s.
    rate: u64,
}

impl Path {
    fn rtt_ns(&self) -> u64 {
        2 * self.delay_ns + self.transmission_ns
    }
}

impl Routes {
    fn new(net: &Net, devices: &[Device], is_switch: &[bool], payload: u64) -> Routes {
        let nodes = net.nodes as usize;
        // The last one of parallel links counts.
        let mut neighbours = vec![BTreeMap::new(); nodes];
        for (id, device) in devices.iter().enumerate().filter(|(_, device)| device.up) {
            neighbours[device.node].insert(devices[device.peer].node, id);
        }

        let mut routes = Routes { nodes, next: vec![Vec::new(); nodes * nodes], paths: vec![None; nodes * nodes] };
        for host in (0..nodes).filter(|&node| !is_switch[node]) {
            let mut paths = vec![None; nodes];
            paths[host] = Some(Path { links: 0, delay_ns: 0, transmission_ns: 0, rate: u64::MAX });
            let mut waiting = VecDeque::from([host]);
            while let Some(now) = waiting.pop_front() {
                let here: Path = paths[now].expect("was visited");
                for (&next, &device) in neighbours[now].iter().rev() {
                    let Device { rate, delay_ns, peer, .. } = devices[device];
                    if paths[next].is_none() && is_switch[next] {
                        waiting.push_back(next);
                    }
                    let there = paths[next].get_or_insert(Path {
                        links: here.links + 1,
                        delay_ns: here.delay_ns + delay_ns,
                        transmission_ns: here.transmission_ns + payload * 1_000_000_000 * 8 / rate,
                        rate: here.rate.min(rate),
                    });
                    if here.links + 1 == there.links {
                        routes.next[next * nodes + host].push(peer);
                    }
                }
            }
            for (node, path) in paths.into_iter().enumerate() {
                routes.paths[node * nodes + host] = path;
            }
        }
        routes
    }

    fn path(&self, from: usize, to: usize) -> Option<&Path> {
        self.paths[from * self.nodes + to].as_ref()
    }

    /// Returns the egress device of a packet with these header words.
    fn next(&self, switch: usize, to: usize, words: &[u32; 3]) -> DeviceId {
        let choices = &self.next[switch * self.nodes + to];
        assert!(!choices.is_empty(), "switch {switch} has a route to host {to}");
        choices[murmur3(words, switch as u32) as usize % choices.len()]
    }
}

/// Murmur3, 32 bits, of whole words.
pub fn murmur3(words: &[u32], seed: u32) -> u32 {
    let mut hash = seed;
    for word in words {
        hash ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= 4 * words.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Returns a node's IP address.
pub fn address(node: u32) -> u32 {
    0x0b00_0001 + node / 256 * 0x1_0000 + node % 256 * 0x100
}

/// Returns the transmission time of `bytes` at `rate` bit/s in ns-3. ns-3 converts a double in seconds to fixed point
/// with 64 binary places and truncates to nanoseconds, so exactly 80 ns may become 79.
pub fn transmission_ns(bytes: u64, rate: u64) -> u64 {
    let seconds = bytes as f64 * 8.0 / rate as f64;
    let fraction = (seconds.fract() * 18_446_744_073_709_551_616.0) as u64;
    seconds.floor() as u64 * 1_000_000_000 + ((u128::from(fraction) * 1_000_000_000) >> 64) as u64
}

/// Returns the next number of a random sequence (SplitMix64).
pub fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
