//! The worked example of CONTRIBUTING.md in the shipped switch.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

#[path = "../../../docs/example/stop_and_go.rs"]
mod stop_and_go;

use backwater_dataplane::{Composed, DataPlane, Grain, Pauses, PortShape, Readings, Shape, SingleFifo, Switch};
use backwater_types::{BitsPerSec, Bytes, ControlFrame, Duration, Instant, Kind, Packet, Ranges};
use stop_and_go::{StopAndGo, StopAndGoParams};

const WIRE: u16 = 1000;

fn switch() -> Switch<Composed<SingleFifo, StopAndGo>> {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let params = StopAndGoParams { stop: Bytes(5_000), go: Bytes(2_000), ..StopAndGoParams::default() };
    Switch::new(&Shape::new(vec![port; 3], 1), &((), params))
}

fn packet(seq: u32) -> Packet {
    let (flow, key, kind, flags) = (1, 1, Kind::Data, 0);
    let (sender_slot, receiver_slot, dst, src, upstream_queue, class) = (0, 0, 0, 0, 0, 0);
    Packet { flow, seq, key, sender_slot, receiver_slot, dst, src, wire: WIRE, upstream_queue, class, kind, flags }
}

#[test]
fn a_neighbour_is_stopped_above_one_threshold_and_goes_on_at_the_other() {
    let mut switch = switch();
    let now = Instant(1_000_000);
    for seq in 0..8 {
        let frame_on = switch.receive(now, &packet(seq).into(), 0, 2).frame_on;
        assert_eq!(frame_on, (seq == 5).then_some(0), "the sixth packet of 1000 B exceeds 5 000 B");
        switch.audit().expect("its counts equal a recount");
    }
    let frame = switch.transmit(now, 0).and_then(|sent| sent.packet.control());
    assert_eq!(frame, Some(ControlFrame::PfcPause(0)));
    assert_eq!(StopAndGoParams::default().pausing().grain, Grain::Port, "the scope of a PFC frame");
    for left in (0..8).rev() {
        let frame_on = switch.transmit(now, 2).and_then(|sent| sent.frame_on);
        assert_eq!(frame_on, (left == 2).then_some(0), "{left} packets are left");
        switch.audit().expect("its counts equal a recount");
    }
    assert_eq!(switch.next_timer(), now + StopAndGoParams::default().refresh);
}

#[test]
fn thresholds_the_wrong_way_round_are_refused() {
    let params = StopAndGoParams { stop: Bytes(1), go: Bytes(2), ..StopAndGoParams::default() };
    assert_eq!(params.check().map_err(|wrong| wrong.key), Err("go".into()));
}
