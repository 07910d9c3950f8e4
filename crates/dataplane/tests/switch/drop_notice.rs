//! A switch that notifies senders of the data it drops.

use backwater_dataplane::{Composed, DataPlane, NoBackpressure, PortShape, Shape, SingleFifo, Switch};
use backwater_types::{BitsPerSec, DropReason, Duration, Instant, Kind, Packet, flags};

type Fifo = Switch<Composed<SingleFifo, NoBackpressure>>;

/// Three ports, and room for two packets.
fn switch(drop_notice: Option<u16>) -> Fifo {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    Fifo::new(&Shape { buffer: 2 * 1048, drop_notice, ..Shape::new(vec![port; 3], 1) }, &((), ()))
}

fn packet(kind: Kind, seq: u32, flags: u8) -> Packet {
    let (dst, src, wire) = (2, 0, if kind == Kind::Data { 1048 } else { 64 });
    Packet {
        kind,
        flow: 5,
        seq,
        key: 77,
        sender_slot: 3,
        receiver_slot: 4,
        dst,
        src,
        wire,
        class: 1,
        flags,
        ..Packet::NONE
    }
}

/// Offers a packet from port 0 to port 2. Returns the reason of a drop, and the port with a waiting frame.
fn offer(switch: &mut Fifo, packet: Packet) -> (Option<DropReason>, Option<u16>) {
    let received = switch.receive(Instant(1), &packet.into(), 0, 2);
    (received.dropped, received.frame_on)
}

#[test]
fn dropped_data_sends_a_notice_to_its_ingress() {
    let mut switch = switch(Some(64));
    for seq in 0..2 {
        assert_eq!(offer(&mut switch, packet(Kind::Data, seq, flags::ECT)), (None, None));
    }
    assert_eq!(
        offer(&mut switch, packet(Kind::Data, 2, flags::ECT | flags::LAST)),
        (Some(DropReason::Buffer), Some(0))
    );
    assert!(switch.sendable(0) && !switch.sendable(1));
    let notice = switch.transmit(Instant(2), 0).expect("a notice").packet.packet;
    // The notice does not take the handle of the dropped packet.
    let dropped = packet(Kind::Data, 2, 0);
    let expected =
        Packet { kind: Kind::DropNotice, dst: 0, src: 2, wire: 64, receiver_slot: Packet::NO_FRAME, ..dropped };
    assert_eq!(notice, expected);
    assert!(switch.transmit(Instant(3), 0).is_none());
    // The switch holds the two packets that were admitted before.
    assert_eq!(switch.readings().buffered(), 2 * 1048);
    switch.readings().audit().expect("the state equals a recount");
}

/// The notice waits only behind control frames and ACKs.
#[test]
fn notices_go_before_data_in_turn_with_acks() {
    let mut switch = switch(Some(64));
    switch.receive(Instant(1), &packet(Kind::Data, 9, 0).into(), 1, 0);
    switch.receive(Instant(1), &packet(Kind::Ack, 8, 0).into(), 1, 0);
    offer(&mut switch, packet(Kind::Data, 0, 0));
    offer(&mut switch, packet(Kind::Data, 1, 0));
    let kinds: Vec<Kind> = std::iter::from_fn(|| switch.transmit(Instant(2), 0)).map(|sent| sent.packet.kind).collect();
    assert_eq!(kinds, [Kind::Ack, Kind::DropNotice, Kind::Data]);
}

#[test]
fn datagrams_cause_no_notice_nor_does_data_without_the_setting() {
    let mut notifying = switch(Some(64));
    (0..2).for_each(|seq| assert_eq!(offer(&mut notifying, packet(Kind::Data, seq, 0)), (None, None)));
    assert_eq!(offer(&mut notifying, packet(Kind::Data, 2, flags::DATAGRAM)), (Some(DropReason::Buffer), None));
    // Replies to data use no buffer, so they are never dropped.
    assert_eq!(offer(&mut notifying, packet(Kind::Nack, 2, 0)), (None, None));
    assert_eq!(offer(&mut notifying, packet(Kind::DropNotice, 2, 0)), (None, None));
    let mut silent = switch(None);
    (0..2).for_each(|seq| assert_eq!(offer(&mut silent, packet(Kind::Data, seq, 0)), (None, None)));
    assert_eq!(offer(&mut silent, packet(Kind::Data, 2, 0)), (Some(DropReason::Buffer), None));
    assert!(!silent.sendable(0));
}

/// Where ACKs share the buffer with data, ACKs and other switches' notices may be dropped; neither causes a notice.
#[test]
fn replies_to_data_cause_no_notice() {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let shape = Shape { buffer: 1048, drop_notice: Some(64), acks_with_data: true, ..Shape::new(vec![port; 3], 1) };
    let mut switch = Fifo::new(&shape, &((), ()));
    assert_eq!(offer(&mut switch, packet(Kind::Data, 0, 0)), (None, None));
    for kind in [Kind::Ack, Kind::Nack, Kind::DropNotice] {
        assert_eq!(offer(&mut switch, packet(kind, 1, 0)), (Some(DropReason::Buffer), None), "{kind:?}");
    }
    assert_eq!(offer(&mut switch, packet(Kind::Data, 1, 0)), (Some(DropReason::Buffer), Some(0)));
}
