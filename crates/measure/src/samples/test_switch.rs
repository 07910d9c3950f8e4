//! A switch for the tests of samplers.

use backwater_dataplane::{BfcParams, DataPlane, PortShape, Shape};
use backwater_schemes::planes::BfcSwitch;
use backwater_types::{BitsPerSec, Duration, Instant, Kind, Packet, PortId};

/// Creates a switch of three ports with two data queues each, and a flow table in which flows 1 to 4 do not collide.
pub(super) fn switch() -> BfcSwitch {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let shape = Shape { buffer: 1 << 20, hardware_queues: 2, smallest_packet: 1048, ..Shape::new(vec![port; 3], 2) };
    let bfc = BfcParams { table_entries_per_queue: 10_000, refresh: Duration::ZERO, ..BfcParams::default() };
    BfcSwitch::new(&shape, &(bfc.clone(), bfc))
}

/// Enqueues a packet of `flow` at `egress`.
pub(super) fn arrive(switch: &mut BfcSwitch, flow: u32, egress: PortId) {
    let packet = Packet {
        flow,
        seq: 0,
        key: flow,
        sender_slot: 0,
        receiver_slot: 0,
        dst: 0,
        src: 0,
        wire: 1048,
        upstream_queue: 0,
        class: 0,
        kind: Kind::Data,
        flags: 0,
    };
    switch.receive(Instant::ZERO, &packet.into(), 0, egress);
}
