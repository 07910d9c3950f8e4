//! Incast labels: labelled flows share a queue, and the order of all other flows is unaffected (spec B, incast label).

use backwater_dataplane::{
    BfcParams, Composed, DataPlane, Dynamic, NoBackpressure, PortShape, Readings, Shape, Switch,
};
use backwater_types::{BitsPerSec, Duration, Instant, Kind, Packet, flags};

fn switch(queues: u16) -> Switch<Composed<Dynamic<1>, NoBackpressure>> {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let shape = Shape { buffer: 1 << 20, hardware_queues: 1, ..Shape::new(vec![port; 2], queues) };
    // With one table entry every flow of a port shares it.
    let params = BfcParams { table_entries_per_queue: 1, incast_label: true, ..BfcParams::default() };
    Switch::new(&shape, &(params, ()))
}

fn packet(flow: u32, seq: u32, flags: u8) -> Packet {
    let (key, wire, kind) = (flow, 1048, Kind::Data);
    let (sender_slot, receiver_slot, dst, src, upstream_queue, class) = (0, 0, 0, 0, 0, 0);
    Packet { flow, seq, key, sender_slot, receiver_slot, dst, src, wire, upstream_queue, class, kind, flags }
}

/// Flow 1 is labelled, flow 2 is not; both map to one entry of the flow table.
#[test]
fn a_labelled_flow_does_not_move_another_with_packets_held() {
    let mut switch = switch(4);
    // A labelled packet has been seen long ago.
    switch.receive(Instant::ZERO, &packet(1, 0, flags::INCAST).into(), 0, 1);
    assert_eq!(switch.transmit(Instant::ZERO, 1).unwrap().queue, Some(0));
    let now = Instant::ZERO + Duration::from_us(100);
    let mut arrive = |flow, seq, label| {
        switch.receive(now, &packet(flow, seq, label).into(), 0, 1);
        switch.audit().unwrap();
    };
    (0..5).for_each(|seq| arrive(2, seq, 0));
    arrive(1, 1, flags::INCAST);
    (5..10).for_each(|seq| arrive(2, seq, 0));
    let (mut next, mut queues) = ([1, 0], [Vec::new(), Vec::new()]);
    while let Some(sent) = switch.transmit(now, 1) {
        let of = sent.packet.flow as usize - 1;
        assert_eq!(sent.packet.seq, next[of], "flow {} leaves in order", of + 1);
        next[of] += 1;
        queues[of].extend(sent.queue);
        switch.audit().unwrap();
    }
    assert_eq!(next, [2, 10]);
    assert!(queues[0].iter().all(|q| *q == 0) && queues[1].iter().all(|q| *q == queues[1][0] && *q != 0), "{queues:?}");
}

#[test]
fn with_a_single_queue_there_is_nothing_to_reserve() {
    let mut switch = switch(1);
    for (flow, label) in [(1, flags::INCAST), (2, 0), (3, 0)] {
        assert!(switch.receive(Instant::ZERO, &packet(flow, 0, label).into(), 0, 1).dropped.is_none());
    }
    switch.audit().unwrap();
    assert_eq!((0..4).filter_map(|_| switch.transmit(Instant::ZERO, 1)).count(), 3);
}
