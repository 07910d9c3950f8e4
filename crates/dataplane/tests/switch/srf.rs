//! Shortest remaining flow first, compared with linear searches: the next departure, with a queue for each flow and
//! with a fixed number of queues, and the completion of whole flows.

use backwater_dataplane::buffer::cells::Cells;
use backwater_dataplane::queues::Queues;
use backwater_dataplane::queues::by_number::PausableByNumber;
use backwater_dataplane::queues::numbered::Numbered;
use backwater_dataplane::queues::srf_flows::SrfFlows;
use backwater_dataplane::queues::srf_queues::SrfQueues;
use backwater_dataplane::{
    Bfc, BfcParams, Composed, DataPlane, Dynamic, Meta, NoBackpressure, PerFlow, PortShape, Shape, Switch,
};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Duration, Extension, Frame, Instant, Kind, LinkShape, Packet, QueueId};

/// Remaining size that a packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Left(u64);

impl Extension for Left {
    type Port = ();
    const TELLS_LEFT: bool = true;

    fn port(_link: &LinkShape) {}

    fn left(&self, _packet: &Packet) -> u64 {
        self.0
    }
}

fn frame(flow: u32, seq: u32, left: u64) -> Frame<Left> {
    let key = flow.wrapping_mul(0x9e37_79b9);
    Frame { packet: Packet { flow, seq, key, wire: 1000, kind: Kind::Data, ..Packet::NONE }, extension: Left(left) }
}

/// Flows of random sizes, some with retransmitted packets. Each departure is from the flow with the least left, by a
/// list of all packets and a count of turns.
#[test]
fn the_flow_with_the_least_left_in_its_first_packet_goes_next() {
    const FLOWS: u32 = 7;
    for case in 0..200 {
        let (mut rng, mut cells) = (Stream::new(case, 2, 2), Cells::<Left>::new(64, false));
        let mut queues = SrfFlows::new(1, 1, 1048);
        // `[flow]`: packets of the flow, each with its number and remaining size, and the flow's last turn.
        let mut lists: Vec<Vec<(u32, u64)>> = vec![Vec::new(); FLOWS as usize];
        let mut turns = [0u32; FLOWS as usize];
        for step in 1..500 {
            if rng.next_u32() % 5 < 3 {
                let flow = rng.next_u32() % FLOWS;
                // Few values, so that many are equal.
                let left = u64::from(rng.next_u32() % 6);
                if lists[flow as usize].is_empty() {
                    turns[flow as usize] = step;
                }
                lists[flow as usize].push((step, left));
                queues.push(&mut cells, 0, &frame(flow, step, left), Meta::default(), Instant::ZERO);
            } else {
                let waiting = (0..FLOWS as usize).filter(|flow| !lists[*flow].is_empty());
                let expected = waiting.min_by_key(|flow| (lists[*flow][0].1, turns[*flow]));
                let served = queues.pop(&cells).map(|(_, cell)| cell);
                assert_eq!(served.is_some(), expected.is_some(), "case {case}, step {step}");
                let (Some(cell), Some(flow)) = (served, expected) else { continue };
                let sent = *cells.frame(cell);
                assert_eq!((sent.flow as usize, sent.seq), (flow, lists[flow].remove(0).0), "case {case}, step {step}");
                turns[flow] = step;
                cells.free(cell);
            }
            let waiting = lists.iter().filter(|list| !list.is_empty()).count() as u32;
            let bytes = lists.iter().map(Vec::len).sum::<usize>() as u64 * 1000;
            assert_eq!((queues.occupied(), queues.all_bytes(), queues.sendable()), (waiting, bytes, waiting > 0));
            let mut seen = 0;
            queues.visit(&cells, &mut |_, _, _| seen += 1000);
            assert_eq!(seen, bytes);
        }
    }
}

/// The same for queues that flows share and a neighbour pauses, with ties in turn, and for the most similar queue.
#[test]
fn the_queue_with_the_least_left_in_its_first_packet_goes_next() {
    fn check<const W: usize>(count: usize) {
        for case in 0..200 {
            let (mut rng, mut cells) = (Stream::new(case, 3, count as u64), Cells::<Left>::new(64, false));
            let mut queues = SrfQueues::<W>::new(count, 1, 1048);
            let mut lists: Vec<Vec<(u32, u64)>> = vec![Vec::new(); count];
            let (mut closed, mut next) = (vec![false; count], 0);
            for step in 1..500 {
                let q = rng.next_u32() as usize % count;
                let round = || (0..count).map(|k| (next + k) % count);
                match rng.next_u32() % 8 {
                    0..=3 => {
                        let left = u64::from(rng.next_u32() % 6);
                        lists[q].push((step, left));
                        let held = Meta::default();
                        queues.push(&mut cells, q as QueueId, &frame(1, step, left), held, Instant::ZERO);
                    }
                    4 => {
                        closed[q] = rng.next_u32().is_multiple_of(2);
                        queues.set_closed(q as QueueId, closed[q]);
                    }
                    _ => {
                        let may = round().filter(|q| !lists[*q].is_empty() && !closed[*q]);
                        let expected = may.min_by_key(|q| lists[*q][0].1);
                        let served = queues.pop(&cells);
                        assert_eq!(served.map(|(q, _)| q as usize), expected, "case {case}, step {step}");
                        let Some((q, cell)) = served else { continue };
                        assert_eq!(cells.frame(cell).seq, lists[q as usize].remove(0).0, "case {case}, step {step}");
                        cells.free(cell);
                        next = (q as usize + 1) % count;
                    }
                }
                let round = || (0..count).map(|k| (next + k) % count);
                let full = || round().filter(|q| !lists[*q].is_empty());
                for left in [0, 3, 9] {
                    let nearest = full().min_by_key(|q| lists[*q][0].1.abs_diff(left));
                    assert_eq!(queues.nearest(left).map(usize::from), nearest, "case {case}, step {step}");
                }
                assert_eq!(queues.occupied(), full().count() as u32);
                assert_eq!(queues.sendable(), full().any(|q| !closed[q]));
            }
        }
    }
    check::<1>(5);
    check::<2>(70);
}

type IdealSrf = Switch<Composed<PerFlow<SrfFlows>, NoBackpressure>, Left>;
type BfcSrf = Switch<Composed<Dynamic<1, SrfQueues<1>>, Bfc>, Left>;

fn shape(queues: u16) -> Shape {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    Shape::new(vec![port; 2], queues)
}

/// Runs whole flows through one port, one packet time each. Returns the completion of each flow, in packet times.
fn flows_at(switch: &mut impl DataPlane<Extension = Left>, arrivals: &[(u64, u32)]) -> Vec<u64> {
    let mut done = vec![0; arrivals.len()];
    let (mut came, mut left) = (0, arrivals.iter().map(|(_, packets)| u64::from(*packets)).sum::<u64>());
    let mut now = 0;
    while left > 0 {
        while came < arrivals.len() && arrivals[came].0 <= now {
            let packets = arrivals[came].1;
            for seq in 0..packets {
                switch.receive(Instant(now), &frame(came as u32, seq, u64::from(packets - seq) * 1000), 0, 1);
            }
            came += 1;
        }
        now += 1;
        if let Some(sent) = switch.transmit(Instant(now), 1) {
            done[sent.packet.flow as usize] = now;
            left -= 1;
        }
    }
    done
}

/// Shortest remaining processing time by its definition, on remaining sizes alone. Ties go to the flow that has waited
/// longest.
fn srpt(arrivals: &[(u64, u32)]) -> Vec<u64> {
    // Remaining size, turn and number of each flow present.
    let (mut here, mut done): (Vec<(u32, u64, usize)>, _) = (Vec::new(), vec![0; arrivals.len()]);
    let (mut came, mut turn) = (0, 0);
    for now in 0.. {
        while came < arrivals.len() && arrivals[came].0 <= now {
            turn += 1;
            here.push((arrivals[came].1, turn, came));
            came += 1;
        }
        if let Some(served) = here.iter_mut().min() {
            turn += 1;
            (served.0, served.1) = (served.0 - 1, turn);
            done[served.2] = now + 1;
        } else if came == arrivals.len() {
            break;
        }
        here.retain(|(left, ..)| *left > 0);
    }
    done
}

#[test]
fn whole_flows_at_one_port_complete_as_under_srpt() {
    let mut rng = Stream::new(5, 5, 5);
    for _ in 0..50 {
        let (mut at, mut arrivals) = (0, Vec::new());
        for _ in 0..200 {
            at += u64::from(rng.next_u32() % 40);
            arrivals.push((at, 1 + rng.next_u32() % [4, 30, 60][rng.next_u32() as usize % 3]));
        }
        let expected = srpt(&arrivals);
        assert_eq!(flows_at(&mut IdealSrf::new(&shape(1), &((), ())), &arrivals), expected);
        // With as many queues as concurrent flows, and a table in which no two flows collide, the result is the same.
        let params = BfcParams { table_entries_per_queue: 1 << 14, ..BfcParams::default() };
        let mut bfc = BfcSrf::new(&shape(60), &(params.clone(), params));
        let outcome = flows_at(&mut bfc, &arrivals);
        let mean = |done: &[u64]| done.iter().sum::<u64>() as f64 / done.len() as f64;
        assert!((mean(&outcome) - mean(&expected)).abs() < 0.01 * mean(&expected), "{outcome:?} for {expected:?}");
    }
}

/// Flows that arrive together complete in the order of their sizes, each once it and all smaller ones have been sent.
#[test]
fn flows_that_arrive_together_complete_in_the_order_of_their_sizes() {
    let sizes = [9, 2, 40, 1, 17, 5, 30];
    let arrivals = sizes.map(|packets| (0, packets));
    let expected = sizes.map(|own| u64::from(sizes.iter().filter(|other| **other <= own).sum::<u32>()));
    assert_eq!(flows_at(&mut IdealSrf::new(&shape(1), &((), ())), &arrivals), expected);
    let params = BfcParams { table_entries_per_queue: 1 << 14, ..BfcParams::default() };
    assert_eq!(flows_at(&mut BfcSrf::new(&shape(7), &(params.clone(), params)), &arrivals), expected);
}

/// Three queues hold flows with 3, 50 and 900 packets left. With `similar` another flow, of 60 packets, joins the
/// second; once a queue is empty, it takes that queue.
#[test]
fn a_flow_that_finds_no_empty_queue_may_share_one_of_similar_size() {
    let joined = |similar: bool, seed: u64| {
        let params = BfcParams { similar, table_entries_per_queue: 1 << 14, ..BfcParams::default() };
        let mut switch = BfcSrf::new(&Shape { seed, ..shape(3) }, &(params.clone(), params));
        let mut queues = Vec::new();
        for (flow, left) in [(1, 3_000), (2, 50_000), (3, 900_000), (4, 60_000), (4, 59_000)] {
            switch.receive(Instant(1), &frame(flow, 0, left), 0, 1);
        }
        let mut order = Vec::new();
        while let Some(sent) = switch.transmit(Instant(2), 1) {
            queues.push((sent.packet.flow, sent.queue.expect("data has a queue")));
            order.push(sent.packet.flow);
        }
        let of = |flow: u32| queues.iter().find(|(other, _)| *other == flow).expect("the flow has sent").1;
        ([1, 2, 3].iter().position(|flow| of(*flow) == of(4)).expect("all queues were taken"), order)
    };
    for seed in 0..20 {
        assert_eq!(joined(true, seed), (1, vec![1, 2, 4, 4, 3]));
    }
    let random: Vec<usize> = (0..20).map(|seed| joined(false, seed).0).collect();
    assert!((0..3).all(|queue| random.contains(&queue)), "{random:?}");
}
