//! BFC's backpressure by hand: counted packets and the pauses that they cause, by queue and by flow ID.

use backwater_dataplane::{
    Bfc, BfcByFlow, BfcParams, Composed, DataPlane, Dynamic, PauseByFlowParams, Policy, PortShape, Readings, Shape,
    Switch,
};
use backwater_types::{
    BitsPerSec, Bytes, ControlFrame, Duration, FlowName, Instant, Kind, Packet, PortId, QueueId, flags,
};

const NOW: Instant = Instant::ZERO;
const EGRESS: PortId = 3;
const WIRE: u64 = 1048;

/// Shape of four ports of 100 Gb/s.
fn shape(queues: u16) -> Shape {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    Shape { quantum: WIRE as u32, buffer: 1_000_000, smallest_packet: WIRE as u32, ..Shape::new(vec![port; 4], queues) }
}

/// Switch with 4 data queues, each of which pauses above three packets.
fn switch(count_last: bool) -> Switch<Composed<Dynamic<1>, Bfc>> {
    let bfc = BfcParams {
        fixed_threshold: Some(Bytes(3 * WIRE)),
        refresh: Duration::ZERO,
        count_last,
        ..BfcParams::default()
    };
    Switch::new(&shape(4), &(bfc.clone(), bfc))
}

/// A packet of `flow` that left queue `upstream_queue` of the neighbour.
pub fn packet(flow: u32, seq: u32, upstream_queue: QueueId, last: bool) -> Packet {
    Packet {
        flow,
        seq,
        key: flow.wrapping_mul(0x9e37_79b1),
        sender_slot: 0,
        receiver_slot: 0,
        dst: 0,
        src: 0,
        wire: WIRE as u16,
        upstream_queue,
        class: 0,
        kind: Kind::Data,
        flags: if last { flags::LAST } else { 0 },
    }
}

/// Returns the frame that leaves by `port` before anything else, if one waits.
fn frame(switch: &mut Switch<impl Policy>, port: PortId) -> Option<ControlFrame> {
    switch.transmit(NOW, port).and_then(|sent| sent.packet.control())
}

/// Receives `count` packets of flow 7 while its egress is busy. Packets 4 and 5 find more than three in the queue.
fn arrive(switch: &mut Switch<Composed<Dynamic<1>, Bfc>>, count: u32) -> Vec<Option<ControlFrame>> {
    let mut answers = Vec::new();
    for seq in 0..count {
        let received = switch.receive(NOW, &packet(7, seq, 2, seq + 1 == count).into(), 0, EGRESS);
        assert!(received.dropped.is_none());
        answers.push(received.frame_on.and_then(|port| frame(switch, port)));
        switch.audit().unwrap();
    }
    answers
}

#[test]
fn a_last_packet_pauses_nobody() {
    let pause = Some(ControlFrame::Pause(2));
    // Packet 4 finds four packets, above the threshold; it is the last one of five.
    assert_eq!(arrive(&mut switch(false), 5), [None; 5]);
    assert_eq!(arrive(&mut switch(true), 5), [None, None, None, None, pause]);
}

#[test]
fn a_flow_with_more_to_send_is_paused_as_ever_and_resumed_without_its_last_packet() {
    for (count_last, resumed_after) in [(false, 5), (true, 6)] {
        let mut switch = switch(count_last);
        let answers = arrive(&mut switch, 6);
        assert_eq!(answers, [None, None, None, None, Some(ControlFrame::Pause(2)), None]);
        // The RESUME follows the departure of the last counted packet: packet 4, or 5 if the last one counts.
        for sent in 1..=6 {
            let packet = switch.transmit(NOW, EGRESS).expect("six packets").packet;
            assert_eq!(packet.seq + 1, sent);
            let resumed = frame(&mut switch, 0);
            assert_eq!(resumed, (sent == resumed_after).then_some(ControlFrame::Resume(2)), "after {sent}");
            switch.audit().unwrap();
        }
    }
}

/// Flows 1 and 2 share queue 2 upstream. One has sent its last packet into a congested queue here; the other goes
/// elsewhere.
#[test]
fn an_orphan_does_not_hold_another_flow() {
    let mut held = Vec::new();
    for count_last in [false, true] {
        let mut switch = switch(count_last);
        for seq in 0..4 {
            switch.receive(NOW, &packet(1, seq, 0, false).into(), 1, EGRESS);
        }
        // The one packet of flow 2 has to share flow 1's queue: flows 3 to 5 hold the others.
        for (flow, seq) in [(3, 0), (4, 0), (5, 0)] {
            switch.receive(NOW, &packet(flow, seq, 0, false).into(), 1, EGRESS);
        }
        let joins = (10..200).find(|flow| {
            let mut trial = switch.clone();
            trial.receive(NOW, &packet(*flow, 0, 2, true).into(), 0, EGRESS).frame_on.is_some()
        });
        held.push(joins.is_some());
    }
    assert_eq!(held, [false, true]);
}

/// Th = HRTT x rate / active queues: 25,000 B over the unpaused queues with data, that of the packet included.
#[test]
fn a_queue_pauses_above_its_share_of_hrtt_times_rate() {
    for (others, paused) in [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0), (5, 0), (5, 2), (5, 5)] {
        let params = BfcParams { refresh: Duration::ZERO, ..BfcParams::default() };
        let params = (params.clone(), params);
        let mut switch: Switch<Composed<Dynamic<1>, Bfc>> = Switch::new(&shape(8), &params);
        // Each flow has a queue of its own, from the first on.
        for flow in 0..others {
            switch.receive(NOW, &packet(100 + flow, 0, 0, false).into(), 1, EGRESS);
        }
        for queue in 0..paused {
            switch.control(NOW, EGRESS, ControlFrame::Pause(queue));
        }
        let mut counts =
            |seq: &u32| switch.receive(NOW, &packet(7, *seq, 2, false).into(), 0, EGRESS).frame_on.is_some();
        let first = (0..100).find(|seq| counts(seq));
        let active = 1 + others - paused as u32;
        // Packet n finds n packets of 1048 B ahead of it.
        let expected = 25_000 / active / WIRE as u32 + 1;
        assert_eq!(first, Some(expected), "{others} other queues, {paused} of them paused");
    }
}

/// Links of 10, 100 and 400 Gb/s, near and far. With a threshold per ingress, each has its own round trip times the
/// egress's rate; without it all have the round trip of the farthest.
#[test]
fn each_ingress_pauses_by_its_own_round_trip_at_the_rate_of_the_egress() {
    let links = [(10, 500), (100, 1_000), (400, 2_000), (100, 20_000), (10, 10), (400, 100)];
    let gbps = |rate: u64| BitsPerSec(rate * 1_000_000_000);
    let ports = links.map(|(rate, delay)| PortShape::new(gbps(rate), Duration::from_ns(delay))).to_vec();
    let shape = Shape { buffer: 100_000_000, smallest_packet: WIRE as u32, ..Shape::new(ports, 8) };
    for per_ingress_threshold in [false, true] {
        let params = BfcParams { per_ingress_threshold, refresh: Duration::ZERO, ..BfcParams::default() };
        for (ingress, (_, delay)) in links.iter().enumerate() {
            for (egress, (rate, _)) in links.iter().enumerate().filter(|(egress, _)| *egress != ingress) {
                for others in [0, 2] {
                    let mut switch: Switch<Composed<Dynamic<1>, Bfc>> =
                        Switch::new(&shape, &(params.clone(), params.clone()));
                    for flow in 0..others {
                        switch.receive(NOW, &packet(100 + flow, 0, 0, false).into(), 0, egress as PortId);
                    }
                    let hrtt = 2 * if per_ingress_threshold { *delay } else { 20_000 };
                    // Gb/s times ns are bits.
                    let threshold = hrtt * rate / 8 / u64::from(1 + others);
                    let first = (0..).find(|seq| {
                        let received =
                            switch.receive(NOW, &packet(7, *seq, 2, false).into(), ingress as PortId, egress as PortId);
                        assert!(received.dropped.is_none());
                        received.frame_on.is_some()
                    });
                    // Packet n finds n packets of 1048 B; an empty queue causes no pause.
                    let expected = (threshold / WIRE + 1) as u32;
                    assert_eq!(
                        first,
                        Some(expected),
                        "{ingress} to {egress}, {others} others, {per_ingress_threshold}"
                    );
                }
            }
        }
    }
}

/// The search for an empty queue starts behind the queue found last: a queue that has just emptied is taken last.
#[test]
fn new_flows_take_the_queues_in_turn() {
    let mut switch = switch(false);
    let mut taken = |flow: u32| {
        // Each flow is gone before the next arrives, so all queues are empty every time.
        switch.receive(NOW, &packet(flow, 0, 0, true).into(), 0, EGRESS);
        switch.transmit(NOW, EGRESS).expect("a queue has data").queue.expect("data leaves a queue")
    };
    assert_eq!((1..=9).map(&mut taken).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3, 0]);
}

/// A visit is worth a quantum; unused credit is kept for the next visit.
#[test]
fn a_visit_sends_a_quantum() {
    for (quantum, visits) in [(WIRE, [1, 1, 1, 1]), (3 * WIRE, [3, 3, 3, 3]), (WIRE + WIRE / 2, [1, 1, 2, 2])] {
        let params = (BfcParams::default(), BfcParams::default());
        let shape = Shape { quantum: quantum as u32, ..shape(4) };
        let mut switch: Switch<Composed<Dynamic<1>, Bfc>> = Switch::new(&shape, &params);
        for seq in 0..20 {
            for flow in [1, 2] {
                switch.receive(NOW, &packet(flow, seq, flow as QueueId, false).into(), 0, EGRESS);
            }
        }
        let sent: Vec<u32> = (0..12).map(|_| switch.transmit(NOW, EGRESS).expect("data").packet.flow).collect();
        let runs: Vec<usize> = sent.chunk_by(|a, b| a == b).map(<[u32]>::len).collect();
        assert_eq!(runs[..4], visits, "quantum {quantum}: {sent:?}");
    }
}

// --- pauses by flow ID --------------------------------------------------------------------------------------------

/// Switch with one data queue, which pauses flows above three packets, an eighth of HRTT x rate.
fn by_flow() -> Switch<BfcByFlow> {
    let threshold = 3.0 * WIRE as f64 / 25_000.0;
    Switch::new(&shape(1), &PauseByFlowParams { threshold, count_last: false, refresh: Duration::ZERO })
}

fn name(flow: u32) -> FlowName {
    packet(flow, 0, 0, false).flow_name()
}

#[test]
fn a_queue_serves_the_first_packet_whose_flow_is_not_paused() {
    let mut switch = by_flow();
    // Arrival order of flows: 1 2 1 3 2.
    for (flow, seq) in [(1, 0), (2, 0), (1, 1), (3, 0), (2, 1)] {
        assert!(switch.receive(NOW, &packet(flow, seq, 0, false).into(), 0, EGRESS).dropped.is_none());
    }
    while frame(&mut switch, 0).is_some() {}
    let mut next = |before: &[ControlFrame]| {
        for frame in before {
            switch.control(NOW, EGRESS, *frame);
        }
        switch.audit().unwrap();
        let sent = switch.transmit(NOW, EGRESS).map(|sent| (sent.packet.flow, sent.packet.seq));
        switch.audit().unwrap();
        sent
    };
    assert_eq!(next(&[ControlFrame::PauseFlow(name(1))]), Some((2, 0)));
    assert_eq!(next(&[]), Some((3, 0)), "flow 1 is paused");
    // Flow 1's packet arrived before the rest of flow 2.
    assert_eq!(next(&[ControlFrame::ResumeFlow(name(1))]), Some((1, 0)));
    assert_eq!(next(&[ControlFrame::PauseFlow(name(1)), ControlFrame::PauseFlow(name(2))]), None);
    assert_eq!(next(&[ControlFrame::ResumeFlow(name(2))]), Some((2, 1)));
    assert_eq!(next(&[]), None);
    assert_eq!(next(&[ControlFrame::ResumeFlow(name(1))]), Some((1, 1)));
    assert_eq!(next(&[]), None);
}

#[test]
fn a_flow_behind_a_long_queue_is_paused_by_name_and_alone() {
    let mut switch = by_flow();
    let mut answers = Vec::new();
    // Flow 1 has four packets. Flow 2 has one and more to come; flow 3 has one, its last.
    for (flow, seq, last) in [(1, 0, false), (1, 1, false), (1, 2, false), (1, 3, false), (2, 0, false), (3, 0, true)] {
        let ingress = flow as PortId - 1;
        let received = switch.receive(NOW, &packet(flow, seq, 0, last).into(), ingress, EGRESS);
        answers.push(received.frame_on.and_then(|port| frame(&mut switch, port)));
        switch.audit().unwrap();
    }
    assert_eq!(answers, [None, None, None, None, Some(ControlFrame::PauseFlow(name(2))), None]);
    let resumed: Vec<Option<ControlFrame>> = (0..6)
        .map(|_| {
            switch.transmit(NOW, EGRESS).expect("six packets");
            frame(&mut switch, 1)
        })
        .collect();
    assert_eq!(resumed, [None, None, None, None, Some(ControlFrame::ResumeFlow(name(2))), None]);
}

/// Two packets within the sticky time use one queue, sampled or not, as the first is still queued when the second
/// arrives.
#[test]
fn a_flow_of_unsampled_packets_keeps_its_queue() {
    let bfc = BfcParams { sampling: 1e-9, refresh: Duration::ZERO, ..BfcParams::default() };
    let mut switch = Switch::<Composed<Dynamic<1>, Bfc>>::new(&shape(4), &(bfc.clone(), bfc));
    // The flow sends every 3 us with a sticky time of 4; other flows take the queues in between.
    for (at, seq) in [0, 3, 6, 9].into_iter().zip(0..) {
        let now = Instant::ZERO + Duration::from_us(at);
        switch.receive(now, &packet(1, seq, 0, false).into(), 0, EGRESS);
        switch.receive(now, &packet(2 + seq, 0, 1, false).into(), 1, EGRESS);
    }
    let mut seen = Vec::new();
    switch.visit(&mut |port, queue, packet, _| seen.extend((port == EGRESS && packet.flow == 1).then_some(queue)));
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|queue| *queue == seen[0]), "{seen:?}");
}
