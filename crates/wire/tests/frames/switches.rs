//! Parser and switch together: random frames, good and bad, reach a switch by its parser only. It may not panic, its
//! state stays consistent, every frame that it sends is one that its neighbour's parser accepts, and once its links
//! come up again no forged pause holds it.

use crate::corpus::{SOURCE, examples};
use crate::fuzz::{mutate, number};
use crate::random::{below, emitted, frame, wrapped};
use backwater_dataplane::{
    BfcParams, BufferSize, CreditParams, Departed, Discarded, Driver, Grain, HardwareParams, Outlets, Readings,
};
use backwater_schemes::planes::PRODUCTS;
use backwater_schemes::{
    AnySwitch, Assignment, Backpressure, Conventions, Host, Neighbour, Network, Scheduler, Switch, SwitchSite,
};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Bytes, ControlFrame, DropReason, Duration, FlowName, Instant, PortId, SerTime};
use backwater_wire::{Body, Counts, Frame, Header, Port};
use std::panic::{AssertUnwindSafe, catch_unwind};

const PORTS: u16 = 4;
const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
const LARGEST: u16 = 1048;
/// Frames between two resets of the links.
const ROUND: u32 = 2000;
/// Flows of ordinary packets. Forged ones name any.
const FLOWS: u32 = 24;

/// The links of a switch. Whatever goes onto one is read by the neighbour.
struct Links {
    /// The neighbours' ports, which are like those of the switch.
    port: Port,
    ser: SerTime,
    free_at: [Instant; PORTS as usize],
    poll: [Instant; PORTS as usize],
    timer: Instant,
    sent: u64,
    controls: u64,
    lost: u64,
}

impl Links {
    fn new(port: Port) -> Links {
        Links {
            port,
            ser: SerTime::of(RATE),
            free_at: [Instant::ZERO; PORTS as usize],
            poll: [Instant::NEVER; PORTS as usize],
            timer: Instant::NEVER,
            sent: 0,
            controls: 0,
            lost: 0,
        }
    }

    /// Emits a frame of the switch, and reads it as its neighbour does.
    fn cross(&mut self, packet: &backwater_types::Packet) {
        let host_frame = vec![0; usize::from(packet.wire.max(64))];
        let body = match packet.control() {
            Some(control) => Body::Control(control),
            None => Body::Packet(Header::of(packet).expect("it came in a frame"), &host_frame),
        };
        let bytes = emitted(&Frame { source: SOURCE, body });
        let read = Frame::parse(&bytes, &self.port).expect("the neighbour accepts it");
        match (packet.control(), read.body) {
            (Some(control), Body::Control(read)) => assert_eq!(read, control),
            (Some(control), Body::Pfc(pfc)) => assert_eq!(pfc.frames().collect::<Vec<_>>(), [control]),
            (None, Body::Packet(header, _)) => assert_eq!(header.packet(packet.receiver_slot), *packet),
            (sent, read) => panic!("{sent:?} became {read:?}"),
        }
        self.controls += u64::from(packet.control().is_some());
    }
}

impl Outlets<()> for Links {
    fn is_free(&self, now: Instant, port: PortId) -> bool {
        self.free_at[usize::from(port)] <= now
    }

    fn free_at(&self, port: PortId) -> Instant {
        self.free_at[usize::from(port)]
    }

    fn poll_at(&mut self, port: PortId, at: Instant) {
        self.poll[usize::from(port)] = at;
    }

    fn arm(&mut self, at: Instant) {
        self.timer = at;
    }

    fn send(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &backwater_types::Frame<()>,
        _departed: &Departed,
    ) -> Instant {
        self.cross(&frame.packet);
        self.sent += 1;
        let free_at = now + self.ser.of_bytes(frame.wire.into());
        self.free_at[usize::from(port)] = free_at;
        free_at
    }

    fn dropped(&mut self, _: Instant, _: PortId, _: &backwater_types::Frame<()>, _: DropReason) {
        self.lost += 1;
    }

    fn discarded(&mut self, _: Instant, _: PortId, _: Discarded<()>, _: DropReason) {
        self.lost += 1;
    }
}

/// A switch with its links.
struct Node {
    driver: Driver<AnySwitch>,
    links: Links,
    now: Instant,
    arrived: u64,
    refused: Counts,
}

impl Node {
    fn new(tried: &Tried, seed: u64) -> Node {
        let table = &tried.table;
        let host = Host::default();
        let conventions = Conventions::default();
        let network = Network { host: &host, conventions: &conventions, seed, stamps: false, fastest_nic: RATE };
        let delay = Duration::from_us(1);
        let neighbour = |switch| Neighbour { name: "", layer: 1, switch: Some(switch), rate: RATE, delay };
        let pfc = Switch { backpressure: Backpressure::Pfc, ..Switch::default() };
        let mut ports = vec![neighbour(table); PORTS.into()];
        if tried.beside_pfc {
            ports[1] = neighbour(&pfc);
        }
        let site = SwitchSite { name: "", layer: 1, number: 0, nic_rate: RATE, scheduled: Some(4), ports };
        let queues = table.data_queues();
        let port = Port { queues, upstream_queues: queues, classes: 8, hosts: PORTS.into(), largest: LARGEST };
        Node {
            driver: Driver::new(backwater_planes::at(&network, table, &site)),
            links: Links::new(port),
            now: Instant::ZERO,
            arrived: 0,
            refused: Counts::default(),
        }
    }

    /// Handles the bytes that came by `ingress`.
    fn arrive(&mut self, ingress: PortId, bytes: &[u8]) {
        let frame = match Frame::parse(bytes, &self.links.port) {
            Ok(frame) => frame,
            Err(reason) => return self.refused.count(reason),
        };
        let Node { driver, links, now, arrived, .. } = self;
        match frame.body {
            Body::Packet(header, _) => {
                *arrived += 1;
                driver.arrive(*now, ingress, header.dst, &mut header.packet(0).into(), links);
            }
            Body::Control(frame) => driver.control(*now, ingress, frame, links),
            Body::Pfc(pfc) => pfc.frames().for_each(|frame| driver.control(*now, ingress, frame, links)),
            Body::Hello(_) | Body::Answer(_) => {}
        }
    }

    /// Lets time pass until `end`.
    fn run_to(&mut self, end: Instant) {
        loop {
            let next = self.links.poll.iter().copied().fold(self.links.timer, Instant::min);
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            if self.links.timer <= self.now {
                self.links.timer = Instant::NEVER;
                self.driver.timer(self.now, &mut self.links);
            }
            for port in 0..PORTS {
                if self.links.poll[usize::from(port)] <= self.now {
                    self.links.poll[usize::from(port)] = Instant::NEVER;
                    self.driver.poll_due(self.now, port, &mut self.links);
                }
            }
        }
        self.now = end;
    }

    /// Resets all links, after which the switch empties itself.
    fn reset(&mut self) {
        for port in 0..PORTS {
            self.driver.link_changed(self.now, port, false, &mut self.links);
            self.driver.link_changed(self.now, port, true, &mut self.links);
        }
        self.driver.timer(self.now, &mut self.links);
        let credit = Frame { source: SOURCE, body: Body::Control(ControlFrame::Credit(1 << 40)) };
        (0..PORTS).for_each(|port| self.arrive(port, &emitted(&credit)));
        self.run_to(self.now + Duration::from_us(5_000));
        self.audit();
        assert_eq!(self.readings().buffered(), 0, "a link that comes up has no pauses");
    }

    fn audit(&self) {
        self.readings().audit().expect("consistent");
    }

    fn readings(&self) -> &dyn Readings {
        self.driver.readings()
    }
}

/// Draws a packet of a few flows, whose names and hashes go together.
fn ordinary(stream: &mut Stream, port: &Port, seq: u32) -> Header {
    let flow = below(stream, FLOWS);
    Header {
        acknowledges: below(stream, 16) == 0,
        flags: below(stream, 16) as u8,
        upstream_queue: (flow % u32::from(port.upstream_queues)) as u16,
        wire: if below(stream, 4) == 0 { 64 } else { LARGEST },
        dst: (flow % 2) as u16,
        src: (flow % u32::from(PORTS)) as u16,
        flow: FlowName { flow, slot: flow, class: 0 },
        key: flow.wrapping_mul(0x9e37_79b9),
        seq,
    }
}

/// Draws the bytes of a frame: of an ordinary packet, of any value, or of none.
fn draw(stream: &mut Stream, port: &Port, seeds: &[Vec<u8>], seq: u32) -> Vec<u8> {
    let small = Port { largest: 64, ..*port };
    let host_frame = wrapped(stream, &small);
    let mut bytes = match below(stream, 8) {
        0 => seeds[below(stream, seeds.len() as u32) as usize].clone(),
        1 => emitted(&frame(stream, port, &host_frame)),
        _ => emitted(&Frame { source: SOURCE, body: Body::Packet(ordinary(stream, port, seq), &host_frame) }),
    };
    if below(stream, 6) == 0 {
        mutate(&mut bytes, seeds, stream);
    }
    bytes
}

/// A switch to try.
struct Tried {
    name: String,
    table: Switch,
    /// Whether a neighbour understands only PFC.
    beside_pfc: bool,
}

/// Returns all switches but FlowSail as printed, whose faults are what its experiment shows.
fn tried() -> Vec<Tried> {
    use {Assignment as A, Backpressure as B};
    // Small, so that it fills.
    let buffer = BufferSize::Shared(Bytes(400_000));
    let of = |assignment, backpressure| {
        let queues = if assignment == A::Class { 8 } else { 32 };
        Switch { queues, assignment, backpressure, buffer, ..Switch::default() }
    };
    let mut tried: Vec<Tried> = Vec::new();
    for &(assignment, backpressure) in PRODUCTS {
        let name = format!("{assignment:?} with {backpressure:?}");
        if tried.iter().all(|other| other.name != name) {
            tried.push(Tried { name, table: of(assignment, backpressure), beside_pfc: false });
        }
    }
    let (bfc, flowsail) = (of(A::Dynamic, B::Bfc), of(A::Flowsail, B::Flowsail));
    let beyond = BfcParams { early_resume: true, credits: Some(CreditParams::default()), ..BfcParams::default() };
    let shared = BfcParams { shared_queues: true, ..beyond.clone() };
    let tofino2 = BfcParams { tofino: Some(HardwareParams::default()), pipelines: 4, ..BfcParams::default() };
    for (name, table, beside_pfc) in [
        ("BFC with 128 queues", Switch { queues: 129, ..bfc.clone() }, false),
        ("BFC with 3 queues", Switch { queues: 4, ..bfc.clone() }, false),
        ("BFC with groups", Switch { queues: 33, priority_groups: 4, ..bfc.clone() }, false),
        ("BFC by size", Switch { scheduler: Scheduler::Srf, ..bfc.clone() }, false),
        ("BFC with credits", Switch { bfc: beyond, ..bfc.clone() }, false),
        ("BFC with shared queues", Switch { queues: 33, priority_groups: 4, bfc: shared, ..bfc.clone() }, false),
        ("BFC on Tofino2", Switch { bfc: tofino2, ..bfc.clone() }, false),
        ("BFC beside PFC", bfc, true),
        ("FlowSail with 128 queues", Switch { queues: 128, ..flowsail.clone() }, false),
        ("FlowSail with 2 queues", Switch { queues: 2, ..flowsail.clone() }, false),
        ("FlowSail with groups", Switch { priority_groups: 4, ..flowsail.clone() }, false),
        ("FlowSail beside PFC", flowsail, true),
    ] {
        tried.push(Tried { name: name.into(), table, beside_pfc });
    }
    tried
}

/// Sends `count` frames to each switch.
fn switches(count: u64) {
    let seed = number("FUZZ_SEED", 37);
    let seeds: Vec<Vec<u8>> = examples().into_iter().map(|example| example.bytes).collect();
    for tried in tried() {
        let Tried { name, table, .. } = &tried;
        let mut stream = Stream::new(seed, 4, count);
        let mut node = Node::new(&tried, seed);
        for execution in 0..count {
            let bytes = draw(&mut stream, &node.links.port.clone(), &seeds, execution as u32);
            let ingress = below(&mut stream, PORTS.into()) as PortId;
            let gap = Duration(u64::from(below(&mut stream, 100_000)));
            let last = execution % u64::from(ROUND) == u64::from(ROUND) - 1;
            let done = catch_unwind(AssertUnwindSafe(|| {
                node.run_to(node.now + gap);
                node.arrive(ingress, &bytes);
                if execution % 64 == 0 {
                    node.audit();
                }
                if last {
                    node.reset();
                }
            }));
            if done.is_err() {
                panic!("{name}, seed {seed}, execution {execution}, port {ingress}: {bytes:02x?}");
            }
        }
        let Node { links: Links { sent, controls, lost, .. }, arrived, refused, .. } = node;
        println!(
            "{name}: {count} executions, {arrived} packets arrived, {} frames refused, {sent} sent, {controls} of them \
             control frames, {lost} lost",
            refused.total()
        );
        assert!(arrived > count / 2 && refused.total() > 0 && sent > arrived / 4, "{name}");
        assert!(controls > 0 || table.grain() == Grain::Nothing, "{name} pauses its neighbours");
    }
}

#[test]
fn no_frame_ends_a_switch() {
    switches(6_000);
}

#[test]
#[ignore = "make fuzz"]
fn fuzz_switches_for_long() {
    switches(number("FUZZ", 1_000_000) / 10);
}
