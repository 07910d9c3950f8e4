//! The bytes of each format are those of its table.

use crate::corpus::{PORT, SOURCE, example, examples};
use backwater_types::{ControlFrame, Kind, Packet, flags};
use backwater_wire::{Body, Frame, HEADER, Header, Pfc, Unfit};

#[test]
fn bytes_written_by_hand_are_read() {
    for example in examples() {
        assert_eq!(Frame::parse(&example.bytes, &PORT), Ok(example.value()), "{}", example.name);
    }
}

#[test]
fn values_give_the_bytes_written_by_hand() {
    for example in examples() {
        let mut out = [0xee; 200];
        let length = example.value().emit(&mut out).expect("it has bytes");
        assert_eq!(out[..length], example.bytes, "{}", example.name);
        assert!(out[length..].iter().all(|byte| *byte == 0xee), "{}: nothing else is written", example.name);
    }
}

#[test]
fn pauses_of_pfc_leave_as_frames_of_pfc() {
    let emitted = |frame| {
        let mut out = [0; 60];
        Frame { source: SOURCE, body: Body::Control(frame) }.emit(&mut out).map(|_| out.to_vec())
    };
    assert_eq!(emitted(ControlFrame::PfcPause(3)), Ok(example("pfc-pause").bytes));
    assert_eq!(emitted(ControlFrame::PfcResume(0)), Ok(example("pfc-resume").bytes));
    assert_eq!(emitted(ControlFrame::PfcPause(8)), Err(Unfit::Class));
    assert_eq!(emitted(ControlFrame::PfcResume(255)), Err(Unfit::Class));
}

#[test]
fn a_frame_of_pfc_pauses_and_resumes_the_classes_that_it_enables() {
    let pfc = Pfc { classes: 0b1011, quanta: [0, 0x1234, 9, 1, 0, 0, 0, 0] };
    let told: Vec<ControlFrame> = pfc.frames().collect();
    assert_eq!(told, [ControlFrame::PfcResume(0), ControlFrame::PfcPause(1), ControlFrame::PfcPause(3)]);
    let last: Vec<ControlFrame> = Pfc::pause(7).expect("a class").frames().collect();
    assert_eq!(last, [ControlFrame::PfcPause(7)]);
}

#[test]
fn a_header_comes_before_the_frame_that_it_wraps() {
    for example in [example("data"), example("ack")] {
        let Body::Packet(header, wrapped) = example.value().body else { panic!("a packet") };
        let before = Frame::wrap(SOURCE, &header, wrapped.len()).expect("it is wrapped");
        assert_eq!([&before, wrapped].concat(), example.bytes);
    }
}

#[test]
fn a_header_has_all_properties_of_a_packet_but_its_handle() {
    let packet = Packet {
        flow: 1,
        seq: 2,
        key: 3,
        sender_slot: 4,
        receiver_slot: 5,
        dst: 6,
        src: 7,
        wire: 80,
        upstream_queue: 9,
        class: 10,
        kind: Kind::Data,
        flags: flags::CE | flags::LAST,
    };
    for packet in [packet, Packet { kind: Kind::Ack, flags: flags::ECT | flags::INCAST, ..packet }] {
        let header = Header::of(&packet).expect("it is carried");
        assert_eq!(header.packet(5), packet);
        assert_eq!(header.packet(6), Packet { receiver_slot: 6, ..packet }, "a handle is the node's own");
        let followed = Packet { flags: packet.flags | flags::FOLLOWED, ..packet };
        assert_eq!(Header::of(&followed), Ok(header), "an observer does not change the packet");
    }
    for kind in [Kind::Nack, Kind::DropNotice, Kind::Cnp, Kind::Control, Kind::Credit, Kind::Request] {
        assert_eq!(Header::of(&Packet { kind, ..packet }), Err(Unfit::Kind), "{kind:?}");
    }
    assert_eq!(Header::of(&Packet { flags: flags::DATAGRAM, ..packet }), Err(Unfit::Flags));
}

#[test]
fn nothing_is_written_of_a_frame_that_has_no_bytes() {
    let data = example("data");
    let Body::Packet(header, wrapped) = data.value().body else { panic!("a packet") };
    let mut out = vec![0xee; HEADER + (1 << 16)];
    let large = vec![0; 1 << 16];
    let of = |body| Frame { source: SOURCE, body };
    let flagged = Header { flags: flags::DATAGRAM, ..header };
    assert_eq!(of(Body::Packet(header, &large)).emit(&mut out), Err(Unfit::Wrapped));
    assert_eq!(of(Body::Packet(header, &wrapped[..13])).emit(&mut out), Err(Unfit::Wrapped));
    assert_eq!(of(Body::Packet(flagged, wrapped)).emit(&mut out), Err(Unfit::Flags));
    for example in examples() {
        let short = example.bytes.len() - 1;
        assert_eq!(example.value().emit(&mut out[..short]), Err(Unfit::NoRoom), "{}", example.name);
    }
    assert!(out.iter().all(|byte| *byte == 0xee));
    assert_eq!(of(Body::Packet(header, &large[1..])).emit(&mut out), Ok(HEADER + 65535));
}
