//! BFC's extended switch by hand: early resume, credits, a chip's limits, queues shared by classes.

use backwater_dataplane::policy::recirculating::RecirculatingParams;
use backwater_dataplane::queues::hardware_queues::HardwareQueues;
use backwater_dataplane::{
    Bfc, BfcExtended, BfcParams, Composed, CreditParams, DataPlane, Dynamic, HardwareParams, Policy, PortShape,
    Readings, Recirculated, Recirculating, Shape, Switch,
};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Bytes, ControlFrame, Duration, Instant, Kind, Packet, PortId, QueueId, flags};
use std::collections::{BTreeMap, VecDeque};

type Extended = Recirculating<Composed<Dynamic<2, HardwareQueues>, BfcExtended>>;

const NOW: Instant = Instant(1_000_000);
const EGRESS: PortId = 3;
const WIRE: u64 = 1048;
/// Hardware without limits.
const FREE: HardwareParams = HardwareParams {
    depth_period: Duration::ZERO,
    depth_delay: Duration::ZERO,
    bitmap_period: Duration::ZERO,
    recirc_delay: Duration::ZERO,
    recirc_share: 0.0,
    recirc_frame: Bytes(64),
    cycle: Duration::ZERO,
    tail_fifo: Bytes(0),
};

/// Shape of four ports of 100 Gb/s.
fn shape(queues: u16, groups: u16) -> Shape {
    let port = PortShape { credited: true, ..PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1)) };
    let shape = Shape::new(vec![port; 4], queues);
    Shape { buffer: 1_000_000, smallest_packet: WIRE as u32, groups, ..shape }
}

/// Parameters under which a queue pauses above three packets.
fn params() -> BfcParams {
    BfcParams { fixed_threshold: Some(Bytes(3 * WIRE)), count_last: true, nic_queues: Some(8), ..BfcParams::default() }
}

fn extended(params: &BfcParams, shape: &Shape) -> Switch<Extended> {
    let late = RecirculatingParams {
        pipelines: params.pipelines,
        all_may_signal: params.credits.is_some(),
        hardware: params.tofino.clone(),
    };
    Switch::new(shape, &((params.clone(), params.clone()), late))
}

/// Parameters of a chip with `pipelines` pipelines and these limits.
fn chip(pipelines: u8, limits: HardwareParams) -> BfcParams {
    BfcParams { pipelines, tofino: Some(limits), ..params() }
}

/// A packet of `flow`, not its last, that left queue `upstream_queue` of the neighbour.
fn packet(flow: u32, seq: u32, upstream_queue: QueueId) -> Packet {
    crate::bfc::packet(flow, seq, upstream_queue, false)
}

/// `frame_on` names a port only if a frame waits there, whatever sets a timer: recorders take it for a pause caused by
/// the packet.
#[test]
fn a_changed_timer_reports_no_waiting_frame() {
    let credits = Some(CreditParams::default());
    for params in [
        BfcParams { early_resume: true, ..params() },
        BfcParams { credits, ..params() },
        chip(1, FREE),
        chip(2, HardwareParams::default()),
    ] {
        let mut switch = extended(&params, &shape(32, 1));
        let waits = |switch: &mut Switch<Extended>, port: PortId| {
            let is_frame = switch.clone().transmit(NOW, port).is_some_and(|sent| sent.packet.kind == Kind::Control);
            is_frame.then(|| switch.transmit(NOW, port)).is_some()
        };
        // Drain the frames of the start, which no packet caused.
        (0..4).for_each(|port| while waits(&mut switch, port) {});
        let mut quiet = 0;
        for seq in 0..12 {
            let received = switch.receive(NOW, &packet(7, seq, 2).into(), 0, EGRESS);
            let waiting: Vec<PortId> = (0..4).filter(|port| waits(&mut switch, *port)).collect();
            assert_eq!(
                received.frame_on.into_iter().collect::<Vec<_>>(),
                waiting,
                "{params:?}: packet {seq}, ports with a frame"
            );
            assert!(received.timer_changed, "{params:?}: packet {seq}");
            quiet += u32::from(waiting.is_empty());
        }
        assert!(quiet > 0, "{params:?}: some packets cause no frame");
    }
}

/// Runs the timers due at `now`, and takes the frames that wait at `port`.
fn frames(switch: &mut Switch<impl Policy>, now: Instant, port: PortId) -> Vec<ControlFrame> {
    if switch.next_timer() <= now {
        switch.timer(now, &mut Vec::new());
    }
    let mut waiting = switch.clone();
    let mut frames = Vec::new();
    while let Some(frame) = waiting.transmit(now, port).and_then(|sent| sent.packet.control()) {
        switch.transmit(now, port);
        frames.push(frame);
    }
    switch.audit().unwrap();
    frames
}

/// Receives a packet from `ingress`. Returns the frames sent back.
fn receive(switch: &mut Switch<Extended>, now: Instant, packet: Packet, ingress: PortId) -> Vec<ControlFrame> {
    assert!(switch.receive(now, &packet.into(), ingress, EGRESS).dropped.is_none());
    frames(switch, now, ingress)
}

fn send(switch: &mut Switch<Extended>, now: Instant) -> Packet {
    let sent = switch.transmit(now, EGRESS).expect("a packet waits").packet.packet;
    switch.audit().unwrap();
    sent
}

// --- early resume -------------------------------------------------------------------------------------------------

#[test]
fn an_upstream_queue_resumes_when_its_queue_is_short_again() {
    for (early_resume, resumed_after) in [(false, 6), (true, 3)] {
        let mut switch = extended(&BfcParams { early_resume, ..params() }, &shape(1, 1));
        let answers: Vec<_> = (0..6).map(|seq| receive(&mut switch, NOW, packet(7, seq, 2), 0)).collect();
        assert_eq!(answers, [vec![], vec![], vec![], vec![], vec![ControlFrame::Pause(2)], vec![]]);
        for sent in 1..=6 {
            assert_eq!(send(&mut switch, NOW).seq + 1, sent);
            let expected = if sent == resumed_after { vec![ControlFrame::Resume(2)] } else { vec![] };
            assert_eq!(frames(&mut switch, NOW, 0), expected, "after {sent}, early: {early_resume}");
        }
    }
}

/// One upstream queue feeds two queues here: it resumes when both are short.
#[test]
fn an_upstream_queue_with_packets_in_two_queues_waits_for_both() {
    let mut switch = extended(&BfcParams { early_resume: true, ..params() }, &shape(2, 1));
    for seq in 0..6 {
        receive(&mut switch, NOW, packet(1, seq, 2), 0);
        receive(&mut switch, NOW, packet(2, seq, 2), 0);
    }
    let mut resumed = Vec::new();
    for sent in 1..=12 {
        send(&mut switch, NOW);
        if !frames(&mut switch, NOW, 0).is_empty() {
            resumed.push(sent);
        }
    }
    assert_eq!(resumed, [6], "resumes with three packets left in each queue");
}

/// Compares with the rule itself, on random traffic: an upstream queue is paused if and only if the switch holds a
/// counted packet of it that was not let off. A departure that leaves no more than the threshold behind lets off all
/// packets in its queue.
#[test]
fn an_upstream_queue_is_paused_as_long_as_the_rule_says() {
    let mut resumed_in_all = 0;
    for seed in 0..20 {
        let params = BfcParams { early_resume: true, ..params() };
        let (mut switch, mut rng) = (extended(&params, &shape(3, 1)), Stream::new(seed, 3, 4));
        let mut queues: Vec<VecDeque<(PortId, QueueId, bool)>> = vec![VecDeque::new(); 3];
        let (mut paused, mut resumed) = (BTreeMap::new(), 0);
        for step in 0..4_000u32 {
            let frames_of = |switch: &mut Switch<Extended>| -> Vec<(PortId, ControlFrame)> {
                (0..3).flat_map(|port| frames(switch, NOW, port).into_iter().map(move |frame| (port, frame))).collect()
            };
            let burst = (step / 200).is_multiple_of(2);
            let answers = if rng.next_u32() % 10 < if burst { 6 } else { 3 } {
                let (ingress, upstream) = ((rng.next_u32() % 3) as PortId, (rng.next_u32() % 2) as QueueId);
                let packet = packet(rng.next_u32() % 5, step, upstream);
                let mut before = Vec::new();
                switch.readings().visit(&mut |_, queue, _, _| before.push(queue));
                switch.receive(NOW, &packet.into(), ingress, EGRESS);
                let mut joined = None;
                switch.readings().visit(&mut |_, queue, seen, held| {
                    joined = if seen.seq == step { Some((queue, held.counted)) } else { joined };
                });
                let (queue, counted) = joined.expect("the packet is queued");
                assert_eq!(counted, before.iter().filter(|q| **q == queue).count() > 3);
                queues[queue as usize].push_back((ingress, upstream, counted));
                frames_of(&mut switch)
            } else if let Some(sent) = switch.transmit(NOW, EGRESS) {
                let queue = &mut queues[sent.queue.expect("data") as usize];
                queue.pop_front();
                if queue.len() <= 3 {
                    queue.iter_mut().for_each(|packet| packet.2 = false);
                }
                frames_of(&mut switch)
            } else {
                continue;
            };
            for (port, frame) in answers {
                match frame {
                    ControlFrame::Pause(q) => assert!(paused.insert((port, q), ()).is_none()),
                    ControlFrame::Resume(q) => {
                        resumed += 1;
                        assert!(paused.remove(&(port, q)).is_some());
                    }
                    other => panic!("{other:?}"),
                }
            }
            let counts = |at: &(PortId, QueueId)| queues.iter().flatten().any(|(i, q, c)| *c && (*i, *q) == *at);
            for at in (0..3).flat_map(|ingress| [(ingress, 0), (ingress, 1)]) {
                assert_eq!(paused.contains_key(&at), counts(&at), "seed {seed}, step {step}: {at:?}");
            }
        }
        resumed_in_all += resumed;
    }
    assert!(resumed_in_all > 1_000, "{resumed_in_all} resumed");
}

// --- credits ------------------------------------------------------------------------------------------------------

#[test]
fn a_port_without_credit_waits_asks_and_goes_on() {
    let credits = CreditParams { reserve: Some(Bytes(40_000)), ..CreditParams::default() };
    let params = BfcParams { credits: Some(credits), ..params() };
    let mut switch = extended(&params, &shape(4, 1));
    for seq in 0..60 {
        receive(&mut switch, NOW, packet(seq % 3, seq, 0), 0);
    }
    let sent = (0..).take_while(|_| switch.transmit(NOW, EGRESS).is_some()).count() as u64;
    assert_eq!(sent, 40_000 / WIRE, "the initial credit");
    assert!(!switch.sendable(EGRESS));
    // The port asks after a period, and reports all bytes sent.
    let asks_at = NOW + params.refresh;
    assert_eq!(switch.next_timer(), asks_at);
    assert_eq!(frames(&mut switch, asks_at, EGRESS), [ControlFrame::CreditSent(sent * WIRE)]);
    switch.control(asks_at, EGRESS, ControlFrame::Credit(40_000 + 2 * WIRE));
    let more = (0..).take_while(|_| switch.transmit(asks_at, EGRESS).is_some()).count() as u64;
    assert_eq!(more, 2, "a repeated frame changes nothing");
    switch.control(asks_at, EGRESS, ControlFrame::Credit(40_000 + 2 * WIRE));
    assert!(!switch.sendable(EGRESS));
    // While the link is down the port needs no credit; when it returns, the port has none.
    switch.link_down(asks_at, EGRESS, &mut Vec::new());
    assert!(switch.sendable(EGRESS));
    switch.link_up(asks_at, EGRESS, &mut Vec::new());
    let answers = frames(&mut switch, asks_at, EGRESS);
    assert!(answers.contains(&ControlFrame::CreditSent(0)), "{answers:?}");
    assert!(!switch.sendable(EGRESS));
}

/// A neighbour that sends all it is granted finds room, and the buffer is used.
#[test]
fn granted_data_finds_room() {
    let params = BfcParams { credits: Some(CreditParams::default()), ..params() };
    let shape = Shape { buffer: 200_000, ..shape(4, 1) };
    let reserve = CreditParams::default().reserve(BitsPerSec(100_000_000_000), Duration::from_us(1), WIRE);
    let mut switch = extended(&params, &shape);
    let (mut limits, mut sent) = ([reserve; 4], [0; 4]);
    let (mut rng, mut most, mut dropped) = (Stream::new(9, 9, 9), 0, 0);
    for seq in 0..30_000 {
        let ingress = (rng.next_u32() % 3) as usize;
        if sent[ingress] + WIRE <= limits[ingress] {
            sent[ingress] += WIRE;
            let received = switch.receive(NOW, &packet(seq % 9, seq, 0).into(), ingress as PortId, EGRESS);
            dropped += u64::from(received.dropped.is_some());
        }
        switch.control(NOW, EGRESS, ControlFrame::Credit(u64::MAX >> 1));
        if rng.next_u32().is_multiple_of(4) {
            switch.transmit(NOW, EGRESS);
        }
        for (port, known) in limits.iter_mut().enumerate().take(3) {
            for frame in frames(&mut switch, NOW, port as PortId) {
                if let ControlFrame::Credit(limit) = frame {
                    assert!(limit >= *known);
                    *known = limit;
                }
            }
        }
        most = most.max(switch.buffered());
    }
    assert_eq!(dropped, 0);
    assert!((100_000..=200_000).contains(&most), "peak of {most} B");
    // A neighbour that reports the loss of a packet has the same window as before.
    let window = |limit: u64, sent: u64| limit - sent;
    let before = window(limits[1], sent[1]);
    sent[1] += WIRE;
    switch.control(NOW, 1, ControlFrame::CreditSent(sent[1]));
    let answers = frames(&mut switch, NOW, 1);
    let Some(ControlFrame::Credit(limit)) = answers.last() else { panic!("{answers:?}") };
    assert!(window(*limit, sent[1]) >= before);
}

// --- a chip's limits ----------------------------------------------------------------------------------------------

/// A RESUME follows the recirculation of the last counted packet's header, not its departure.
#[test]
fn a_departure_is_booked_when_its_header_has_gone_round() {
    let late = Duration::from_ns(700);
    let mut switch = extended(&chip(4, HardwareParams { recirc_delay: late, ..FREE }), &shape(1, 1));
    for seq in 0..5 {
        receive(&mut switch, NOW, packet(7, seq, 2), 0);
    }
    for n in 0..5 {
        send(&mut switch, NOW + Duration::from_ns(100 * n));
    }
    let due = NOW + Duration::from_ns(400) + late;
    assert_eq!(switch.active_flows(EGRESS), Some(1), "departed packets are not booked yet");
    let mut now = NOW;
    while switch.next_timer() < due {
        now = switch.next_timer();
        assert_eq!(frames(&mut switch, now, 0), [], "{now:?}");
    }
    assert_eq!(switch.next_timer(), due);
    assert_eq!(frames(&mut switch, due, 0), [ControlFrame::Resume(2)]);
    assert_eq!(switch.active_flows(EGRESS), Some(0));
    assert_eq!(switch.recirculated(), Recirculated { headers: 5, waited: 0, longest: Duration::ZERO });
    assert!(now > NOW);
}

/// A pipeline has one port of 100 Gb/s, of which headers may take 12 %: a header of 64 B takes 42.7 ns. Packets below
/// 533 B at line rate exceed the budget, and wait longer the more there are.
#[test]
fn headers_of_small_packets_go_over_budget() {
    for (wire, over) in [(540, false), (520, true)] {
        let mut switch = extended(&chip(4, HardwareParams { recirc_share: 0.12, ..FREE }), &shape(1, 1));
        let mut now = NOW;
        for seq in 0..1000 {
            let packet = Packet { wire, ..packet(7, seq, 2) };
            receive(&mut switch, now, packet, 0);
            send(&mut switch, now);
            now += Duration(u64::from(wire) * 80);
        }
        let Recirculated { headers, waited, longest } = switch.recirculated();
        assert_eq!(headers, 1000);
        // A header of 64 B at 12 Gb/s takes 42,667 ps, a packet of 520 B at 100 Gb/s 41,600: each header waits 1,067 ps
        // more than the one before.
        let expected = if over { 999 * (42_666 - 41_600) } else { 0 };
        assert!(longest.0.abs_diff(expected) < 1_000, "{wire} B: {longest:?}");
        assert_eq!(waited, if over { 999 } else { 0 }, "{wire} B");
    }
}

/// Arriving packets and recirculating headers compete for the cycles of a pipeline.
#[test]
fn a_header_waits_for_a_cycle_of_its_pipeline() {
    let cycle = Duration::from_ns(10);
    let mut switch = extended(&chip(1, HardwareParams { cycle, ..FREE }), &shape(4, 1));
    for seq in 0..8 {
        receive(&mut switch, NOW, packet(seq, 0, 2), (seq % 3) as PortId);
    }
    // Eight packets keep the pipeline busy for 80 ns.
    send(&mut switch, NOW);
    assert_eq!(switch.recirculated(), Recirculated { headers: 1, waited: 1, longest: Duration::from_ns(80) });
    send(&mut switch, NOW + Duration::from_ns(500));
    assert_eq!(switch.recirculated().waited, 1);
}

/// Depths are sampled every 100 ns and arrive 250 ns later. A queue counts as long, or short, only from then on.
#[test]
fn a_queue_pauses_by_the_depth_known_to_its_pipeline() {
    let (period, delay) = (Duration::from_ns(100), Duration::from_ns(250));
    let mut switch =
        extended(&chip(1, HardwareParams { depth_period: period, depth_delay: delay, ..FREE }), &shape(1, 1));
    let start = Instant(10_000_000);
    for seq in 0..6 {
        assert_eq!(
            receive(&mut switch, start + Duration::from_ns(30), packet(7, seq, 2), 0),
            [],
            "no depth has arrived yet"
        );
    }
    // The depth of six packets at 100 ns arrives at 350 ns.
    let at = |ns: u64| start + Duration::from_ns(ns);
    assert_eq!(receive(&mut switch, at(349), packet(7, 6, 2), 0), []);
    assert_eq!(receive(&mut switch, at(350), packet(7, 7, 2), 0), [ControlFrame::Pause(2)]);
    // All but one packet leave at 420 ns. At 749 ns the latest known depth is that of 400 ns, at 750 ns that of 500 ns.
    for _ in 0..7 {
        send(&mut switch, at(420));
    }
    let mut counts = |ns: u64, seq: u32| {
        switch.receive(at(ns), &packet(7, seq, 3).into(), 1, EGRESS);
        !frames(&mut switch, at(ns), 1).is_empty()
    };
    assert!(counts(749, 8));
    let mut later = |ns: u64| {
        switch.receive(at(ns), &packet(7, 9, 4).into(), 2, EGRESS);
        frames(&mut switch, at(ns), 2)
    };
    assert_eq!(later(750), []);
}

/// Pipelines choose queues from copies of the map of empty ones. A copy lacks its own pipeline's choices at once, and
/// those of others from the next renewal on.
#[test]
fn two_pipelines_may_give_the_same_queue_and_one_does_not() {
    let period = Duration::from_ns(500);
    let start = Instant(0);
    let queue_of = |switch: &mut Switch<Extended>, now: Instant, flow: u32, ingress: PortId| {
        switch.receive(now, &packet(flow, 0, 0).into(), ingress, EGRESS);
        let mut found = None;
        switch.readings().visit(&mut |_, queue, seen, _| found = if seen.flow == flow { Some(queue) } else { found });
        switch.audit().unwrap();
        found.expect("the packet is queued")
    };
    // Ports 0 and 1 belong to the first pipeline, 2 and 3 to the second, which starts in the middle of eight queues.
    let mut switch = extended(&chip(2, HardwareParams { bitmap_period: period, ..FREE }), &shape(8, 1));
    let first: Vec<_> = (0..6).map(|flow| queue_of(&mut switch, start, flow, 0)).collect();
    let second: Vec<_> = (10..14).map(|flow| queue_of(&mut switch, start, flow, 2)).collect();
    assert_eq!((first, second), (vec![0, 1, 2, 3, 4, 5], vec![4, 5, 6, 7]));
    assert_eq!(switch.assigned(EGRESS).collisions, 2, "both pipelines chose queues 4 and 5");
    // After a renewal the maps have no empty queue. Without copies this is known at once.
    let mut exact = extended(&chip(2, FREE), &shape(8, 1));
    (0..6).for_each(|flow| assert_eq!(u32::from(queue_of(&mut exact, start, flow, 0)), flow));
    assert_eq!([10, 11].map(|flow| queue_of(&mut exact, start, flow, 2)), [6, 7]);
    assert_eq!(exact.assigned(EGRESS).collisions, 0);
    // Two packets leave. The first pipeline, which assigned six queues at first, learns of it at the next renewal.
    while switch.transmit(start + Duration::from_ns(510), EGRESS).is_some_and(|sent| sent.packet.flow != 1) {}
    let [early, late] = [900, 1001].map(|ns| {
        let mut switch = switch.clone();
        queue_of(&mut switch, start + Duration::from_ns(ns), 50, 0);
        switch.assigned(EGRESS).collisions
    });
    assert_eq!((early, late), (3, 2));
}

/// A flow that arrives by two pipelines counts as two flows. The pipelines divide the entries of one table.
#[test]
fn each_pipeline_has_a_part_of_the_table() {
    for (pipelines, flows) in [(1, 1), (2, 2)] {
        let mut switch = extended(&BfcParams { pipelines, ..params() }, &shape(8, 1));
        receive(&mut switch, NOW, packet(7, 0, 0), 0);
        receive(&mut switch, NOW, packet(7, 1, 0), 1);
        receive(&mut switch, NOW, packet(7, 2, 0), 2);
        assert_eq!(switch.active_flows(EGRESS), Some(flows), "{pipelines} pipelines");
    }
    // With one entry for each pipeline, all flows of a pipeline share it.
    let params = BfcParams { pipelines: 4, table_entries_per_queue: 1, ..params() };
    let mut switch = extended(&params, &Shape { hardware_queues: 4, ..shape(8, 1) });
    (0..9).for_each(|flow| drop(receive(&mut switch, NOW, packet(flow, 0, 0), (flow % 3) as PortId)));
    assert_eq!(switch.active_flows(EGRESS), Some(3));
}

/// Packets in the FIFO depart although their queue is paused; no others do.
#[test]
fn packets_in_the_fifo_depart_though_paused() {
    for (bytes, leave) in [(0, 0), (1, 1), (WIRE, 1), (2 * WIRE, 2), (2 * WIRE + 1, 3)] {
        let mut switch = extended(&chip(1, HardwareParams { tail_fifo: Bytes(bytes), ..FREE }), &shape(1, 1));
        for seq in 0..6 {
            receive(&mut switch, NOW, packet(7, seq, 2), 0);
        }
        switch.control(NOW, EGRESS, ControlFrame::Pause(0));
        let sent = (0..).take_while(|seq| switch.transmit(NOW, EGRESS).is_some_and(|s| s.packet.seq == *seq)).count();
        assert_eq!(sent, leave, "{bytes} B");
        assert!(!switch.sendable(EGRESS));
        switch.control(NOW, EGRESS, ControlFrame::Resume(0));
        assert!(switch.sendable(EGRESS));
        (leave..6).for_each(|seq| assert_eq!(send(&mut switch, NOW).seq as usize, seq));
    }
}

// --- queues shared by classes -------------------------------------------------------------------------------------

fn classed(flow: u32, seq: u32, class: u8) -> Packet {
    Packet { class, ..packet(flow, seq, 0) }
}

#[test]
fn an_empty_queue_goes_to_the_class_that_needs_it_and_each_has_one() {
    let queues_of = |switch: &Switch<Extended>| {
        let mut queues: BTreeMap<QueueId, u8> = BTreeMap::new();
        switch.readings().visit(&mut |_, queue, packet, _| {
            assert_eq!(*queues.entry(queue).or_insert(packet.class), packet.class, "queue {queue} holds two classes");
        });
        queues
    };
    for (shared_queues, low, high) in [(false, 4, 4), (true, 7, 1)] {
        let mut switch = extended(&BfcParams { shared_queues, ..params() }, &shape(8, 2));
        for flow in 0..20 {
            receive(&mut switch, NOW, classed(flow, 0, 1), 0);
        }
        let count = |switch: &Switch<Extended>, class: u8| queues_of(switch).values().filter(|c| **c == class).count();
        assert_eq!(count(&switch, 1), low, "queues of the class, shared: {shared_queues}");
        for flow in 20..30 {
            receive(&mut switch, NOW, classed(flow, 0, 0), 0);
        }
        assert_eq!((count(&switch, 1), count(&switch, 0)), (low, high));
        // The higher class goes first whatever its queue numbers, and then leaves the queues to any class.
        let order: Vec<u8> = (0..30).map(|_| send(&mut switch, NOW).class).collect();
        assert_eq!(order, [vec![0; 10], vec![1; 20]].concat());
        let later = NOW + Duration::from_us(100);
        for flow in 30..50 {
            receive(&mut switch, later, classed(flow, 0, 0), 0);
        }
        assert_eq!(count(&switch, 0), if shared_queues { 7 } else { 4 });
    }
}

/// A flow that returns and finds its queue in another class gets another queue.
#[test]
fn a_queue_given_to_another_class_does_not_stick() {
    let mut switch = extended(&BfcParams { shared_queues: true, ..params() }, &shape(3, 2));
    let queue = |switch: &Switch<Extended>, flow: u32| {
        let mut found = None;
        switch.readings().visit(&mut |_, q, packet, _| found = if packet.flow == flow { Some(q) } else { found });
        found
    };
    // Class 0 owns queue 0, class 1 queue 1; queue 2 is shared.
    receive(&mut switch, NOW, classed(1, 0, 0), 0);
    receive(&mut switch, NOW, classed(2, 0, 0), 0);
    assert_eq!([1, 2].map(|flow| queue(&switch, flow)), [Some(0), Some(2)]);
    send(&mut switch, NOW);
    send(&mut switch, NOW);
    receive(&mut switch, NOW, classed(3, 0, 1), 0);
    receive(&mut switch, NOW, classed(4, 0, 1), 0);
    let taken = [3, 4].map(|flow| queue(&switch, flow).unwrap());
    assert!(taken.contains(&2) && taken.contains(&1), "{taken:?}");
    receive(&mut switch, NOW, classed(2, 1, 0), 0);
    assert_eq!(queue(&switch, 2), Some(0), "queue 2 belongs to class 1 now");
}

/// The threshold depends on the active queues of the packet's class, wherever they are.
#[test]
fn active_queues_of_the_own_class_count() {
    let params = BfcParams { shared_queues: true, count_last: true, ..BfcParams::default() };
    for others in [0, 3] {
        let mut switch = extended(&params, &shape(8, 2));
        for flow in 0..others {
            receive(&mut switch, NOW, classed(100 + flow, 0, 1), 1);
        }
        let first = (0..100).find(|seq| !receive(&mut switch, NOW, classed(7, *seq, 0), 0).is_empty());
        assert_eq!(first, Some(25_000 / WIRE as u32 + 1), "{others} active queues of the other class");
    }
}

// --- all extensions together --------------------------------------------------------------------------------------

/// All compatible extensions together on random traffic: state equals a recount, and nothing is held in the end.
#[test]
fn all_extensions_together_agree_with_a_recount() {
    let all = HardwareParams::default();
    let credits = Some(CreditParams { reserve: Some(Bytes(30_000)), ..CreditParams::default() });
    let cases = [
        BfcParams { credits: credits.clone(), ..chip(4, all.clone()) },
        BfcParams { credits: credits.clone(), early_resume: true, shared_queues: true, ..params() },
        BfcParams { sampling: 0.5, ..chip(2, all) },
        BfcParams { early_resume: true, sampling: 0.5, pipelines: 3, ..params() },
    ];
    for (number, params) in cases.iter().enumerate() {
        let shape = Shape { buffer: 150_000, ..shape(6, 2) };
        let (mut switch, mut rng) = (extended(params, &shape), Stream::new(number as u64, 5, 6));
        let (mut now, mut held) = (NOW, BTreeMap::new());
        let mut seen = 0;
        let mut step = |switch: &mut Switch<Extended>, now: Instant, rng: &mut Stream, ends: bool| {
            switch.timer(now, &mut Vec::new());
            for port in 0..4 {
                for frame in frames(switch, now, port) {
                    match frame {
                        ControlFrame::Pause(q) => drop(held.insert((port, q), ())),
                        ControlFrame::Resume(q) => drop(held.remove(&(port, q))),
                        _ => {}
                    }
                }
            }
            switch.control(now, EGRESS, ControlFrame::Credit(u64::MAX >> 1));
            let q = (rng.next_u32() % 6) as QueueId;
            let pause = rng.next_u32().is_multiple_of(3) && !ends;
            switch.control(now, EGRESS, if pause { ControlFrame::Pause(q) } else { ControlFrame::Resume(q) });
            if rng.next_u32().is_multiple_of(2) {
                switch.transmit(now, EGRESS);
            }
            seen = seen.max(held.len());
            held.len()
        };
        for seq in 0..6_000 {
            now += Duration(u64::from(rng.next_u32() % 150_000));
            step(&mut switch, now, &mut rng, false);
            if rng.next_u32().is_multiple_of(2) {
                let flow = rng.next_u32() % 40;
                let last = if rng.next_u32().is_multiple_of(9) { flags::LAST } else { 0 };
                let class = (flow % 2) as u8;
                let packet = Packet { class, flags: last, ..packet(flow, seq, (rng.next_u32() % 4) as QueueId) };
                switch.receive(now, &packet.into(), (rng.next_u32() % 3) as PortId, EGRESS);
            }
            switch.audit().unwrap();
        }
        let mut left = usize::MAX;
        for _ in 0..2_000 {
            now += Duration::from_ns(200);
            left = step(&mut switch, now, &mut rng, true);
        }
        assert_eq!((switch.buffered(), left), (0, 0), "case {number}");
        assert!(seen > 2, "case {number}: at most {seen} queues were paused");
        assert_eq!(switch.active_flows(EGRESS), Some(0));
    }
}

/// With no extension in use, extended BFC behaves like plain BFC.
#[test]
fn without_extensions_extended_bfc_equals_plain_bfc() {
    let params = params();
    let mut extended = extended(&params, &shape(6, 1));
    let mut plain: Switch<Composed<Dynamic<2>, Bfc>> = Switch::new(&shape(6, 1), &(params.clone(), params));
    let mut rng = Stream::new(8, 8, 8);
    for seq in 0..20_000 {
        let now = NOW + Duration::from_ns(u64::from(seq) * 50);
        let draws = [rng.next_u32(), rng.next_u32(), rng.next_u32()];
        if draws[0].is_multiple_of(2) {
            let packet = packet(draws[1] % 30, seq, (draws[1] % 4) as QueueId).into();
            let ingress = (draws[2] % 3) as PortId;
            let both = (extended.receive(now, &packet, ingress, EGRESS), plain.receive(now, &packet, ingress, EGRESS));
            assert_eq!(both.0.dropped, both.1.dropped);
        } else {
            let sent = [extended.transmit(now, EGRESS), plain.transmit(now, EGRESS)];
            let [a, b] = sent.map(|sent| sent.map(|sent| (sent.queue, sent.packet.packet)));
            assert_eq!(a, b);
        }
        let q = (draws[2] % 6) as QueueId;
        let frame = if draws[1].is_multiple_of(5) { ControlFrame::Pause(q) } else { ControlFrame::Resume(q) };
        extended.control(now, EGRESS, frame);
        plain.control(now, EGRESS, frame);
        for port in 0..3 {
            assert_eq!(frames(&mut extended, now, port), frames(&mut plain, now, port));
        }
    }
}
