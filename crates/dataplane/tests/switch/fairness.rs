//! Deficit round robin through the whole switch. Service of two queues backlogged since the same moment never differs
//! by more than one quantum plus one packet, whatever the packet sizes; over an interval from any moment on, by one
//! packet more.
//!
//! Source of the bounds: Shreedhar and Varghese 1995. In k visits a backlogged queue sends k quanta, less one packet at
//! most; the visits of two queues differ by one at most.

use backwater_dataplane::{
    Assignment, Bfc, BfcParams, Composed, DataPlane, Dynamic, NoBackpressure, PerFlow, PortShape, Shape, Switch,
};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Bytes, ControlFrame, Duration, Instant, Kind, Packet};

const LARGEST: u32 = 1048;

fn shape(queues: u16, quantum: u32) -> Shape {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    Shape { quantum, hardware_queues: 1, ..Shape::new(vec![port; 2], queues) }
}

/// Switch with as many queues as flows, and a table in which no two flows collide.
fn dynamic<const W: usize>(flows: u32, quantum: u32) -> Switch<Composed<Dynamic<W>, NoBackpressure>> {
    let params = BfcParams { table_entries_per_queue: 1 << 20, ..BfcParams::default() };
    Switch::new(&shape(flows as u16, quantum), &(params, ()))
}

fn per_flow(quantum: u32) -> Switch<Composed<PerFlow, NoBackpressure>> {
    Switch::new(&shape(1, quantum), &((), ()))
}

/// Distribution of packet sizes.
#[derive(Clone, Copy, Debug)]
enum Mix {
    Uniform,
    /// Even flows send the largest packets, odd ones the smallest.
    Extremes,
    /// Sizes just above half a quantum, so that credit is left over at every visit.
    Halves,
}

fn wire(mix: Mix, flow: u32, rng: &mut Stream) -> u16 {
    let wire = match mix {
        Mix::Uniform => 49 + rng.next_u32() % (LARGEST - 48),
        Mix::Extremes => [LARGEST, 49][flow as usize % 2],
        Mix::Halves => LARGEST / 2 + 1 + rng.next_u32() % 8,
    };
    wire as u16
}

fn packet(flow: u32, seq: u32, wire: u16) -> Packet {
    let (key, kind) = (flow.wrapping_mul(0x9e37_79b9), Kind::Data);
    let (sender_slot, receiver_slot, dst, src, upstream_queue, class, flags) = (0, 0, 0, 0, 0, 0, 0);
    Packet { flow, seq, key, sender_slot, receiver_slot, dst, src, wire, upstream_queue, class, kind, flags }
}

/// Returns the widest gap in service between two backlogged flows of a switch.
fn gaps<A: Assignment>(mut switch: Switch<Composed<A, NoBackpressure>>, flows: u32, mix: Mix) -> (u64, u64) {
    let mut rng = Stream::new(3, flows as u64, mix as u64);
    let now = Instant::ZERO;
    let mut seq = 0;
    let mut feed = |switch: &mut Switch<Composed<A, NoBackpressure>>, flow: u32| {
        seq += 1;
        switch.receive(now, &packet(flow, seq, wire(mix, flow, &mut rng)).into(), 0, 1);
    };
    (0..4).for_each(|_| (0..flows).for_each(|flow| feed(&mut switch, flow)));
    widest(flows, || {
        let sent = switch.transmit(now, 1).expect("every flow is backlogged");
        // A new packet replaces each sent one, so no queue empties.
        feed(&mut switch, sent.packet.flow);
        (sent.packet.flow, sent.packet.wire)
    })
}

/// Returns the widest gap in service between two of `flows` backlogged flows, since the start and over any interval.
/// `serve` returns the flow and size of the next packet.
fn widest(flows: u32, mut serve: impl FnMut() -> (u32, u16)) -> (u64, u64) {
    let n = flows as usize;
    let mut served = vec![0i64; n];
    // `[pair]`: lowest and highest difference so far.
    let mut ranges = vec![(0i64, 0i64); n * n];
    for _ in 0..4_000 {
        let (flow, wire) = serve();
        served[flow as usize] += wire as i64;
        for other in 0..n {
            let difference = served[flow as usize] - served[other];
            let range = &mut ranges[flow as usize * n + other];
            *range = (range.0.min(difference), range.1.max(difference));
            let range = &mut ranges[other * n + flow as usize];
            *range = (range.0.min(-difference), range.1.max(-difference));
        }
    }
    let start = ranges.iter().map(|(low, high)| (*high).max(-low)).max();
    let any = ranges.iter().map(|(low, high)| high - low).max();
    (start.unwrap_or(0) as u64, any.unwrap_or(0) as u64)
}

#[test]
fn backlogged_queues_stay_within_one_quantum_and_one_packet() {
    for quantum in [LARGEST, 2 * LARGEST, 9000] {
        for mix in [Mix::Uniform, Mix::Extremes, Mix::Halves] {
            for flows in [2, 3, 7, 31, 63] {
                let widest = [
                    ("dynamic", gaps(dynamic::<1>(flows, quantum), flows, mix)),
                    ("dynamic, two words", gaps(dynamic::<2>(flows, quantum), flows, mix)),
                    ("per flow", gaps(per_flow(quantum), flows, mix)),
                ];
                for (name, (start, any)) in widest {
                    let bound = (quantum + LARGEST) as u64;
                    assert!(
                        start <= bound,
                        "{name}, {flows} flows, quantum {quantum}, {mix:?}: {start} since the start"
                    );
                    let bound = (quantum + 2 * LARGEST) as u64;
                    assert!(
                        any <= bound,
                        "{name}, {flows} flows, quantum {quantum}, {mix:?}: {any} over some interval"
                    );
                }
            }
        }
    }
}

/// The bounds catch a round robin of packets without credit if small packets pay for large ones, and accept it if sizes
/// are equal on average.
#[test]
fn the_bounds_catch_a_round_robin_of_packets() {
    let turns = |mix: Mix| {
        let (mut rng, mut turn) = (Stream::new(3, 2, mix as u64), 0);
        widest(2, move || {
            turn += 1;
            (turn % 2, wire(mix, turn % 2, &mut rng))
        })
    };
    let (start, any) = turns(Mix::Extremes);
    assert!(start > 9000 + LARGEST as u64 && any > 9000 + 2 * LARGEST as u64, "{start} {any}");
    let (start, _) = turns(Mix::Halves);
    assert!(start <= 2 * LARGEST as u64, "sizes within 8 bytes of each other: a gap of {start}");
}

/// A paused queue resumes with the credit it had, and earns none during the pause.
#[test]
fn a_pause_earns_no_credit() {
    let params = BfcParams {
        table_entries_per_queue: 1 << 20,
        fixed_threshold: Some(Bytes(u64::MAX)),
        refresh: Duration::ZERO,
        ..BfcParams::default()
    };
    let mut switch = Switch::<Composed<Dynamic<1>, Bfc>>::new(&shape(2, LARGEST), &(params.clone(), params));
    for seq in 0..300 {
        for flow in 0..2 {
            switch.receive(Instant::ZERO, &packet(flow, seq, 700).into(), 0, 1);
        }
    }
    let first = switch.transmit(Instant::ZERO, 1).and_then(|sent| sent.queue).expect("two queues are full");
    switch.control(Instant(0), 1, ControlFrame::Pause(first));
    for _ in 0..100 {
        let sent = switch.transmit(Instant::ZERO, 1).expect("the other queue is full");
        assert_ne!(sent.queue, Some(first), "a paused queue does not depart");
    }
    switch.control(Instant(0), 1, ControlFrame::Resume(first));
    let mut served = [0i64; 2];
    for _ in 0..200 {
        let sent = switch.transmit(Instant::ZERO, 1).expect("both queues are full");
        served[sent.packet.flow as usize] += sent.packet.wire as i64;
        assert!((served[0] - served[1]).abs() <= 3 * LARGEST as i64, "{served:?}");
    }
}
