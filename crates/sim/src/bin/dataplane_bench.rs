//! Benchmark of the data plane alone, nanoseconds per packet: enqueue and dequeue, without links or events.
//!
//! A 24-port switch at 100 Gb/s holds about eight packets per port. Ingress ports take turns; each receives flows of 16
//! packets on average, to random ports, as from senders at line rate. Each step receives a packet and transmits one
//! from the same egress. Usage: `dataplane_bench [MILLIONS OF PACKETS]`.

use backwater_dataplane::{PortShape, Shape};
use backwater_scenario::model::{Assignment, Backpressure};
use backwater_schemes::Switch as Table;
use backwater_schemes::planes::{BfcSwitch, Build, FairQueueing, FifoPfc, FlowSailSwitch};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Duration, Instant, Kind, Packet};
use std::hint::black_box;

const PORTS: u16 = 24;
const RATE: BitsPerSec = BitsPerSec(100_000_000_000);

fn main() {
    let millions: u64 = std::env::args().nth(1).map_or(20, |n| n.parse().expect("a number of millions"));
    println!("{:<12}{:>22}", "scheme", "enqueue + dequeue");
    for (name, ns) in [
        ("bfc", measure::<BfcSwitch>(millions)),
        ("dctcp", measure::<FifoPfc>(millions)),
        ("flowsail", measure::<FlowSailSwitch>(millions)),
        ("ideal-fq", measure::<FairQueueing>(millions)),
    ] {
        println!("{name:<12}{ns:>19.1} ns");
    }
}

fn measure<D: Build>(millions: u64) -> f64 {
    let (shape, params) = (shape(), params());
    let mut switch = D::build(&shape, &params);
    let mut rng = Stream::new(1, 2, 3);
    let packets = arrivals(&mut rng);
    let mut now = Instant(1);
    let step = |switch: &mut D, i: usize, now: Instant| {
        let (packet, ingress, egress) = &packets[i % packets.len()];
        black_box(switch.receive(now, &(*packet).into(), *ingress, *egress).dropped);
        *egress
    };
    for i in 0..8 * PORTS as usize {
        step(&mut switch, i, now);
    }
    let start = std::time::Instant::now();
    for i in 0..(millions * 1_000_000) as usize {
        now += Duration(3_500);
        let egress = step(&mut switch, i, now);
        // Control frames may be sent first: transmit until a packet leaves.
        let mut is_frame = true;
        while is_frame {
            is_frame = false;
            let sent = switch.transmit_to(now, egress, |packet, _| is_frame = black_box(packet).kind == Kind::Control);
            black_box(sent.is_some());
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / (millions as f64 * 1e6)
}

/// Generates packets with their ingress and egress.
fn arrivals(rng: &mut Stream) -> Vec<(Packet, u16, u16)> {
    let mut flows: Vec<(Packet, u16)> = (0..PORTS).map(|ingress| flow(rng, ingress)).collect();
    let mut next = |i: usize| {
        let ingress = i % PORTS as usize;
        if rng.next_u32().is_multiple_of(16) {
            flows[ingress] = flow(rng, ingress as u16);
        }
        let (packet, egress) = flows[ingress];
        (packet, ingress as u16, egress)
    };
    (0..PORTS as usize * 4096).map(&mut next).collect()
}

/// Generates the packet of a new flow from `ingress`, and its egress.
fn flow(rng: &mut Stream, ingress: u16) -> (Packet, u16) {
    let (id, egress) = (rng.next_u32(), rng.next_u32() as u16 % PORTS);
    let packet = Packet {
        flow: id,
        seq: 0,
        key: id,
        sender_slot: 0,
        receiver_slot: 0,
        dst: egress,
        src: ingress,
        wire: 1048,
        upstream_queue: (id % 31) as u16,
        class: 0,
        kind: Kind::Data,
        flags: 0,
    };
    (packet, egress)
}

fn shape() -> Shape {
    let port = PortShape::new(RATE, Duration::from_us(1));
    Shape { buffer: 12_000_000, salt: 0x5eed_5a17_5eed_5a17, ..Shape::new(vec![port; PORTS as usize], 31) }
}

fn params() -> Table {
    Table { assignment: Assignment::Dynamic, backpressure: Backpressure::Bfc, ..Table::default() }
}
