//! Each reason for a refusal, with frames that have nothing else wrong.

use crate::corpus::{PORT, example};
use backwater_wire::{Frame, Port, Refused};
use std::collections::BTreeSet;

/// Frame, offset, bytes there instead, and the reason. Where the value is the first beyond a bound, [`ACCEPTED`] has
/// the last within it.
const WRONG: &[(&str, usize, &[u8], Refused)] = &[
    ("data", 12, &[0x81, 0x00], Refused::Tagged),
    ("data", 12, &[0x88, 0xa8], Refused::Tagged),
    ("data", 12, &[0x91, 0x00], Refused::Tagged),
    ("data", 12, &[0x08, 0x00], Refused::EtherType),
    ("data", 12, &[0x88, 0xb6], Refused::EtherType),
    ("pause", 0, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Refused::Destination),
    ("pause", 5, &[0x01], Refused::Destination),
    ("pfc-pause", 5, &[0x0e], Refused::Destination),
    ("pause", 6, &[0x03], Refused::Source),
    ("pfc-pause", 6, &[0x01], Refused::Source),
    ("data", 14, &[0], Refused::Version),
    ("pause", 14, &[2], Refused::Version),
    ("hello", 15, &[0], Refused::Type),
    ("answer", 15, &[5], Refused::Type),
    ("data", 16, &[2], Refused::Operation),
    ("pause", 16, &[0], Refused::Operation),
    ("credit-sent", 16, &[8], Refused::Operation),
    ("pfc-pause", 14, &[0x00, 0x01], Refused::Operation),
    ("pfc-pause", 14, &[0x01, 0x02], Refused::Operation),
    ("data", 17, &[0x10], Refused::Flags),
    ("data", 17, &[0x20], Refused::Flags),
    ("data", 17, &[0x80], Refused::Flags),
    ("data", 24, &[0x00, 0x33], Refused::Truncated),
    ("data", 24, &[0xff, 0xff], Refused::Truncated),
    ("data", 24, &[0x00, 0x31], Refused::Trailing),
    ("data", 24, &[0x00, 0x00], Refused::Trailing),
    ("data", 22, &[0x00, 0x3f], Refused::WireTooSmall),
    ("data", 22, &[0x00, 0x00], Refused::WireTooSmall),
    ("data", 22, &[0x05, 0xdd], Refused::WireTooLarge),
    ("data", 20, &[0x00, 0x10], Refused::Queue),
    ("ack", 20, &[0xff, 0xff], Refused::Queue),
    ("pause", 18, &[0x00, 0x20], Refused::Queue),
    ("resume", 18, &[0x01, 0x00], Refused::Queue),
    ("bitmap", 31, &[0x01], Refused::Queue),
    ("bitmap", 20, &[0x80], Refused::Queue),
    ("data", 18, &[4], Refused::Class),
    ("pause-flow", 17, &[4], Refused::Class),
    ("resume-flow", 17, &[255], Refused::Class),
    ("pfc-pause", 17, &[0x10], Refused::Class),
    ("data", 26, &[0x03, 0xe8], Refused::Host),
    ("data", 28, &[0x03, 0xe8], Refused::Host),
    ("credit", 20, &[0x80], Refused::Sum),
    ("credit-sent", 20, &[0xff], Refused::Sum),
    ("data", 19, &[1], Refused::Reserved),
    ("ack", 31, &[1], Refused::Reserved),
    ("pause", 17, &[1], Refused::Reserved),
    ("pause", 20, &[1], Refused::Reserved),
    ("bitmap", 36, &[1], Refused::Reserved),
    ("credit", 18, &[1], Refused::Reserved),
    ("hello", 59, &[1], Refused::Reserved),
    ("pfc-pause", 16, &[1], Refused::Reserved),
    ("pfc-pause", 34, &[1], Refused::Reserved),
];

/// Frame, offset, and bytes there instead: the last value within its bounds.
const ACCEPTED: &[(&str, usize, &[u8])] = &[
    ("pause", 6, &[0xfe]),
    ("ack", 17, &[0x0f]),
    ("ack", 22, &[0x05, 0xdc]),
    ("ack", 20, &[0x00, 0x0f]),
    ("ack", 18, &[3]),
    ("ack", 26, &[0x03, 0xe7]),
    ("resume", 18, &[0x00, 0x1f]),
    ("bitmap", 32, &[0xff, 0xff, 0xff, 0xff]),
    ("pause-flow", 17, &[3]),
    ("pfc-pause", 17, &[0x0f]),
    ("credit", 20, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
];

fn changed(name: &str, at: usize, to: &[u8]) -> Vec<u8> {
    let mut bytes = example(name).bytes;
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn each_reason_is_found() {
    let mut found = BTreeSet::from([Refused::Runt.name(), Refused::WrappedRunt.name()]); // Below, and in `properties`.
    for &(name, at, to, reason) in WRONG {
        assert_eq!(Frame::parse(&changed(name, at, to), &PORT), Err(reason), "{name} with {to:02x?} at {at}");
        found.insert(reason.name());
    }
    assert_eq!(found, Refused::ALL.map(Refused::name).into());
}

#[test]
fn the_last_value_in_bounds_is_accepted() {
    for &(name, at, to) in ACCEPTED {
        let bytes = changed(name, at, to);
        assert!(Frame::parse(&bytes, &PORT).is_ok(), "{name} with {to:02x?} at {at}");
    }
}

#[test]
fn a_wrapped_frame_has_an_ethernet_header() {
    let bytes = changed("data", 24, &[0x00, 0x0d]);
    assert_eq!(Frame::parse(&bytes[..48 + 13], &PORT), Err(Refused::WrappedRunt));
    let bytes = changed("data", 24, &[0x00, 0x0e]);
    assert!(Frame::parse(&bytes[..48 + 14], &PORT).is_ok());
}

/// A packet that counts less than it has would pass a link faster than its bytes.
#[test]
fn a_packet_counts_at_least_its_bytes() {
    let mut bytes = changed("data", 24, &[0x00, 0x64]);
    bytes.resize(48 + 100, 0);
    bytes[22..24].copy_from_slice(&[0, 99]);
    assert_eq!(Frame::parse(&bytes, &PORT), Err(Refused::WireTooSmall));
    bytes[22..24].copy_from_slice(&[0, 100]);
    assert!(Frame::parse(&bytes, &PORT).is_ok());
}

#[test]
fn a_port_with_all_queues_and_classes_accepts_all_of_them() {
    let full = Port { queues: 128, upstream_queues: u16::MAX, classes: 8, hosts: 1 << 16, largest: u16::MAX };
    for (name, at, to) in [
        ("bitmap", 20, &[0xff; 16][..]),
        ("pfc-pause", 17, &[0xff]),
        ("pause", 18, &[0, 127]),
        ("data", 26, &[0xff, 0xff, 0xff, 0xff]),
        ("data", 18, &[7]),
        ("data", 20, &[0xff, 0xfe]),
    ] {
        assert!(Frame::parse(&changed(name, at, to), &full).is_ok(), "{name} with {to:02x?} at {at}");
    }
    assert_eq!(Frame::parse(&changed("pause", 18, &[0, 128]), &full), Err(Refused::Queue));
}
