//! BFC's backpressure by hand: which packets are counted, and what that pauses.

use backwater_dataplane::assign::DynamicParams;
use backwater_dataplane::{
    Bfc, BfcParams, Composed, Dynamic, MarkingShape, MemoryShape, PortShape, Red, Shape, Switch,
};
use backwater_types::{BitsPerSec, ControlFrame, Duration, Instant, Kind, Packet, PortId, QueueId, flags};

const NOW: Instant = Instant::ZERO;
const EGRESS: PortId = 3;
const WIRE: u64 = 1048;

/// Four ports of 100 Gb/s and 4 data queues; a queue pauses above three packets.
fn switch(count_last: bool) -> Switch<Composed<Dynamic<1>, Bfc>> {
    let port = PortShape { rate: BitsPerSec(100_000_000_000), hrtt: Duration::from_us(2), red: Red::OFF };
    let shape = Shape {
        ports: vec![port; 4],
        queues: 4,
        groups: 1,
        quantum: WIRE as u32,
        buffer: 1_000_000,
        alpha: None,
        memory: MemoryShape::default(),
        marking: MarkingShape::default(),
        smallest_packet: WIRE as u32,
        seed: 1,
        salt: 1,
        hrtt: None,
        stamp: false,
        acks_with_data: false,
        pfc_frame: 64,
        discards_paused: false,
    };
    let table = DynamicParams {
        entries_per_port: 400,
        sticky: None,
        literal_empty: false,
        sticky_reserve: false,
        incast_label: false,
    };
    let bfc = BfcParams {
        fixed_threshold: Some(3 * WIRE),
        per_ingress_threshold: false,
        refresh: Duration::ZERO,
        nic_queues: 0,
        sampling: 1.0,
        count_last,
        elided: Vec::new(),
    };
    Switch::new(&shape, &(table, bfc))
}

/// A packet of `flow` that left queue `upstream_queue` of the neighbour.
fn packet(flow: u32, seq: u32, upstream_queue: QueueId, last: bool) -> Packet {
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

/// The frame that goes out by `port` before anything else, if one waits.
fn frame(switch: &mut Switch<Composed<Dynamic<1>, Bfc>>, port: PortId) -> Option<ControlFrame> {
    switch.transmit(NOW, port).and_then(|sent| sent.packet.control())
}

/// Flow 7 of six packets arrives whole while its egress is busy elsewhere: packets 4 and 5 find more than three in the queue.
fn arrive(switch: &mut Switch<Composed<Dynamic<1>, Bfc>>, count: u32) -> Vec<Option<ControlFrame>> {
    let mut told = Vec::new();
    for seq in 0..count {
        let received = switch.receive(NOW, &packet(7, seq, 2, seq + 1 == count), 0, EGRESS);
        assert!(received.dropped.is_none());
        told.push(received.control_on.and_then(|port| frame(switch, port)));
        switch.audit().unwrap();
    }
    told
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
        let told = arrive(&mut switch, 6);
        assert_eq!(told, [None, None, None, None, Some(ControlFrame::Pause(2)), None]);
        // The RESUME goes when the last packet that counts leaves: packet 4, or 5 if the last one counts.
        for sent in 1..=6 {
            let packet = switch.transmit(NOW, EGRESS).expect("six packets").packet;
            assert_eq!(packet.seq + 1, sent);
            let resumed = frame(&mut switch, 0);
            assert_eq!(resumed, (sent == resumed_after).then_some(ControlFrame::Resume(2)), "after {sent}");
            switch.audit().unwrap();
        }
    }
}

/// Two flows upstream share queue 2. One has sent its last packet into a congested queue here, the other goes elsewhere.
#[test]
fn an_orphan_does_not_hold_another_flow() {
    let mut held = Vec::new();
    for count_last in [false, true] {
        let mut switch = switch(count_last);
        for seq in 0..4 {
            switch.receive(NOW, &packet(1, seq, 0, false), 1, EGRESS);
        }
        // The one packet of flow 2 has to share flow 1's queue: the others are taken.
        for (flow, seq) in [(3, 0), (4, 0), (5, 0)] {
            switch.receive(NOW, &packet(flow, seq, 0, false), 1, EGRESS);
        }
        let joins = (10..200).find(|flow| {
            let mut trial = switch.clone();
            trial.receive(NOW, &packet(*flow, 0, 2, true), 0, EGRESS).control_on.is_some()
        });
        held.push(joins.is_some());
    }
    assert_eq!(held, [false, true]);
}
