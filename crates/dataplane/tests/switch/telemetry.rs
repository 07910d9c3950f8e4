//! Metadata of packets: a switch writes it at departure, on every path through the switch.

use backwater_dataplane::{ByPriority, Composed, DataPlane, NoBackpressure, PortShape, Shape, SingleFifo, Switch};
use backwater_types::{BitsPerSec, Duration, Extension, Frame, Instant, Kind, LinkShape, Packet};

/// Telemetry of the last hop: time, bytes queued behind, bytes sent by the port before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Last(u64, u64, u64);

impl Extension for Last {
    type Port = u64;
    const STAMPED: bool = true;

    fn port(link: &LinkShape) -> u64 {
        assert_eq!((link.rate, link.int_unit), (BitsPerSec(100_000_000_000), 4));
        0
    }

    fn stamp(&mut self, sent: &mut u64, now: Instant, queued: u64) {
        *self = Last(now.0, queued, *sent);
    }

    fn sent(sent: &mut u64, _now: Instant, wire: u16) {
        *sent += wire as u64;
    }
}

type Fifo<E> = Switch<Composed<SingleFifo, NoBackpressure>, E>;

fn switch<E: Extension>(acks_with_data: bool) -> Fifo<E> {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    Switch::new(&Shape { int_unit: 4, acks_with_data, ..Shape::new(vec![port; 2], 1) }, &((), ()))
}

fn packet<E: Extension>(kind: Kind, wire: u16) -> Frame<E> {
    Packet { kind, wire, ..Packet::NONE }.into()
}

#[test]
fn data_carries_the_bytes_sent_and_queued_at_the_port() {
    let mut switch = switch::<Last>(false);
    for wire in [1000, 700, 300] {
        assert!(switch.receive(Instant(1), &packet(Kind::Data, wire), 0, 1).dropped.is_none());
    }
    switch.receive(Instant(1), &packet(Kind::Ack, 64), 0, 1);
    let mut next = |at: u64| switch.transmit(Instant(at), 1).map(|sent| (sent.packet.wire, sent.packet.extension));
    // ACKs go first and keep their metadata; their bytes count.
    assert_eq!(next(10), Some((64, Last::default())));
    assert_eq!(next(20), Some((1000, Last(20, 1000, 64))));
    assert_eq!(next(30), Some((700, Last(30, 300, 1064))));
    switch.receive(Instant(35), &packet(Kind::Ack, 64), 0, 1);
    switch.receive(Instant(35), &packet(Kind::Ack, 64), 0, 1);
    let mut next = |at: u64| switch.transmit(Instant(at), 1).map(|sent| (sent.packet.wire, sent.packet.extension));
    assert_eq!((next(40), next(41)), (Some((64, Last::default())), Some((64, Last::default()))));
    assert_eq!(next(50), Some((300, Last(50, 0, 1892))));
    assert_eq!(next(60), None);
}

/// The bytes queued at the port are those of all classes (BFC, appendix A.3: "HPCC uses switch aggregates").
#[test]
fn data_of_a_class_carries_the_bytes_queued_of_all_classes() {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let shape = Shape { int_unit: 4, groups: 2, ..Shape::new(vec![port; 2], 2) };
    let mut switch = Switch::<Composed<ByPriority, NoBackpressure>, Last>::new(&shape, &((), ()));
    for (class, wire) in [(1, 1000), (0, 700), (1, 300)] {
        switch.receive(Instant(1), &Packet { class, kind: Kind::Data, wire, ..Packet::NONE }.into(), 0, 1);
    }
    let mut next = |at: u64| switch.transmit(Instant(at), 1).map(|sent| (sent.packet.wire, sent.packet.extension));
    assert_eq!(next(10), Some((700, Last(10, 1300, 0))));
    assert_eq!(next(20), Some((1000, Last(20, 300, 700))));
    assert_eq!(next(30), Some((300, Last(30, 0, 1700))));
}

#[test]
fn packets_that_bypass_an_empty_port_carry_telemetry_too() {
    let mut switch = switch::<Last>(false);
    let mut data = packet(Kind::Data, 1000);
    assert!(switch.pass(Instant(5), &mut data, 0, 1).is_some());
    assert_eq!(data.extension, Last(5, 0, 0));
    let mut ack = packet(Kind::Ack, 64);
    assert!(switch.pass(Instant(6), &mut ack, 0, 1).is_some());
    assert_eq!(ack.extension, Last::default());
    assert!(switch.pass(Instant(7), &mut data, 0, 1).is_some());
    assert_eq!(data.extension, Last(7, 0, 1064));
    // Each port has counters of its own.
    assert!(switch.pass(Instant(8), &mut data, 1, 0).is_some());
    assert_eq!(data.extension, Last(8, 0, 0));
}

#[test]
fn acks_among_the_data_keep_their_metadata() {
    let mut switch = switch::<Last>(true);
    let mut ack = packet(Kind::Ack, 64);
    ack.extension = Last(1, 2, 3);
    switch.receive(Instant(1), &packet(Kind::Data, 1000), 0, 1);
    switch.receive(Instant(1), &ack, 0, 1);
    let mut next = |at: u64| switch.transmit(Instant(at), 1).map(|sent| sent.packet.extension);
    assert_eq!((next(10), next(20)), (Some(Last(10, 64, 0)), Some(Last(1, 2, 3))));
    assert!(switch.pass(Instant(30), &mut ack, 0, 1).is_some());
    assert_eq!(ack.extension, Last(1, 2, 3));
}
