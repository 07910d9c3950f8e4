//! Homa's levels with dynamic assignment of the unscheduled ones: the queue of each packet, and the order of departure.

use backwater_dataplane::{BfcParams, Composed, DataPlane, HomaDynamic, NoBackpressure, PortShape, Shape, Switch};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Duration, Extension, Frame, Instant, Kind, LinkShape, Packet, PortId, QueueId};
use std::collections::BTreeSet;

/// Remaining size from a packet's sequence number, as with Homa.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ByPlace;

impl Extension for ByPlace {
    type Port = ();
    const TELLS_LEFT: bool = true;

    fn port(_link: &LinkShape) {}

    fn left(&self, packet: &Packet) -> u64 {
        LENGTH - u64::from(packet.seq)
    }
}

type HomaDqa = Switch<Composed<HomaDynamic, NoBackpressure>, ByPlace>;

/// Packets of every message.
const LENGTH: u64 = 1000;
const QUEUES: u16 = 9;
const UNSCHEDULED: u16 = 4;
const EGRESS: PortId = 1;

fn switch(params: &BfcParams) -> HomaDqa {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let shape = Shape { groups: QUEUES - UNSCHEDULED + 1, ..Shape::new(vec![port; 2], QUEUES) };
    Switch::new(&shape, &(params.clone(), ()))
}

fn frame(flow: u32, level: u8, left: u64) -> Frame<ByPlace> {
    let (key, seq) = (flow.wrapping_mul(0x9e37_79b9), (LENGTH - left) as u32);
    let packet = Packet { flow, seq, key, class: level, wire: 1000, kind: Kind::Data, ..Packet::NONE };
    Frame { packet, extension: ByPlace }
}

/// Receives a packet. Returns the queue it joined.
fn join(switch: &mut HomaDqa, now: Instant, frame: Frame<ByPlace>) -> QueueId {
    let mut queue = None;
    assert!(switch.receive(now, &frame, 0, EGRESS).dropped.is_none());
    switch.readings().visit(&mut |_, q, packet, _| {
        if (packet.flow, packet.seq, packet.class) == (frame.flow, frame.seq, frame.class) {
            queue = Some(q);
        }
    });
    queue.expect("the packet is queued")
}

/// `[queue]`: packets of the queue, first to last.
fn queues(switch: &HomaDqa) -> Vec<Vec<Packet>> {
    let mut queues = vec![Vec::new(); QUEUES.into()];
    switch.readings().visit(&mut |_, q, packet, _| queues[usize::from(q)].push(*packet));
    queues
}

/// Random messages. Unscheduled packets are only in unscheduled queues, those of one message in one queue; scheduled
/// packets are in the queues of their levels. The next departure is the first packet with the least remaining size in
/// an unscheduled queue, or, if those are empty, the first of the first level.
#[test]
fn unscheduled_packets_go_by_remaining_size_before_scheduled_ones_by_level() {
    const FLOWS: u32 = 12;
    for (case, similar) in (0..100).flat_map(|case| [(case, false), (case, true)]) {
        let mut rng = Stream::new(case, 4, similar.into());
        let mut switch = switch(&BfcParams { similar, ..BfcParams::default() });
        for step in 1..400 {
            let now = Instant(step * 80_000);
            if rng.next_u32() % 9 < 5 {
                let (flow, level) = (rng.next_u32() % FLOWS, rng.next_u32() % u32::from(QUEUES));
                switch.receive(now, &frame(flow, level as u8, u64::from(rng.next_u32() % 7)), 0, EGRESS);
            } else {
                let before = queues(&switch);
                let (unscheduled, scheduled) = before.split_at(UNSCHEDULED.into());
                let least = unscheduled.iter().filter_map(|queue| queue.first()).map(|p| ByPlace.left(p)).min();
                let first = scheduled.iter().find_map(|queue| queue.first());
                let sent = switch.transmit(now, EGRESS).map(|sent| sent.packet.packet);
                match (sent, least) {
                    (Some(sent), Some(least)) => {
                        assert!(u16::from(sent.class) < UNSCHEDULED, "case {case}, step {step}");
                        assert_eq!(ByPlace.left(&sent), least, "case {case}, step {step}");
                        let heads = unscheduled.iter().filter_map(|queue| queue.first());
                        assert!(heads.into_iter().any(|head| (head.flow, head.seq) == (sent.flow, sent.seq)));
                    }
                    (sent, least) => {
                        let of = |packet: &Packet| (packet.flow, packet.seq, packet.class);
                        assert_eq!((sent.as_ref().map(of), least), (first.map(of), None), "case {case}, step {step}");
                    }
                }
            }
            for (q, packets) in queues(&switch).iter().enumerate() {
                let belongs = |packet: &Packet| match u16::from(packet.class) {
                    level if level < UNSCHEDULED => q < usize::from(UNSCHEDULED),
                    level => q == usize::from(level),
                };
                assert!(packets.iter().all(belongs), "case {case}, step {step}, queue {q}: {packets:?}");
            }
            for flow in 0..FLOWS {
                let unscheduled = &queues(&switch)[..UNSCHEDULED.into()];
                let with = unscheduled.iter().filter(|queue| queue.iter().any(|packet| packet.flow == flow));
                assert!(with.count() <= 1, "case {case}, step {step}: flow {flow} has several queues");
            }
            switch.readings().audit().unwrap_or_else(|wrong| panic!("case {case}, step {step}: {wrong}"));
        }
    }
}

/// Messages of one size, and so of one level, have a queue each, and keep it, as long as unscheduled queues suffice.
/// One more message has to share.
#[test]
fn messages_of_one_size_have_queues_of_their_own_while_one_is_empty() {
    let mut switch = switch(&BfcParams::default());
    let all: BTreeSet<QueueId> = (0..UNSCHEDULED).collect();
    let given: Vec<QueueId> =
        (0..UNSCHEDULED).map(|flow| join(&mut switch, Instant(1), frame(flow.into(), 2, 9))).collect();
    assert_eq!(given.iter().copied().collect::<BTreeSet<_>>(), all);
    for (flow, queue) in given.iter().enumerate() {
        assert_eq!(join(&mut switch, Instant(2), frame(flow as u32, 2, 8)), *queue, "flow {flow} keeps its queue");
    }
    assert!(all.contains(&join(&mut switch, Instant(3), frame(99, 2, 9))), "no queue is empty");
    let assigned = switch.readings().assigned(EGRESS);
    assert_eq!((assigned.assignments, assigned.collisions), (u64::from(UNSCHEDULED) + 1, 1));
    // Scheduled packets join the queue of their level whatever it holds, and never count as a collision.
    assert_eq!([5, 5, 8].map(|level| join(&mut switch, Instant(4), frame(level.into(), level, 3))), [5, 5, 8]);
    assert_eq!(switch.readings().assigned(EGRESS), assigned);
    // An idle flow loses its queue once it is no longer sticky: 2 HRTT of 2 us each.
    while switch.transmit(Instant(5), EGRESS).is_some() {}
    assert_eq!(join(&mut switch, Instant(5) + Duration::from_us(3), frame(0, 2, 7)), given[0]);
    while switch.transmit(Instant(6), EGRESS).is_some() {}
    let (late, other) = (Instant(6) + Duration::from_us(50), frame(0, 2, 6));
    let fresh = join(&mut switch, late, other);
    assert!(all.contains(&fresh) && fresh != given[0], "the search continues behind the queue assigned last");
}

/// With `similar` and no empty queue, the flow joins the unscheduled queue of the most similar size, even if a
/// scheduled packet is more similar.
#[test]
fn a_queue_of_similar_size_is_one_of_the_unscheduled() {
    let mut switch = switch(&BfcParams { similar: true, ..BfcParams::default() });
    let given: Vec<QueueId> =
        [10, 100, 400, 700].map(|left| join(&mut switch, Instant(1), frame(left as u32, 0, left))).into();
    assert_eq!(join(&mut switch, Instant(2), frame(1, 6, 500)), 6);
    for (flow, left, wanted) in [(2, 500, given[2]), (3, 12, given[0]), (4, 56, given[1]), (5, 999, given[3])] {
        assert_eq!(join(&mut switch, Instant(3), frame(flow, 3, left)), wanted, "{left} left");
    }
}
