//! Values and bytes are in one-to-one correspondence, and no bytes end the process.

use crate::corpus::{PORT, examples};
use crate::random::{below, emitted, frame, port, wrapped};
use backwater_types::hash::Stream;
use backwater_wire::{Body, Frame, Refused};
use std::collections::BTreeSet;

#[test]
fn a_value_survives_its_bytes() {
    let mut stream = Stream::new(37, 1, 0);
    let mut kinds = BTreeSet::new();
    for _ in 0..50_000 {
        let port = port(&mut stream);
        let wrapped = wrapped(&mut stream, &port);
        let frame = frame(&mut stream, &port, &wrapped);
        let bytes = emitted(&frame);
        assert_eq!(Frame::parse(&bytes, &port), Ok(frame), "{port:?}");
        assert!(bytes.len() >= 60, "no runt is emitted: {frame:?}");
        kinds.insert((bytes[12], bytes[15], if matches!(frame.body, Body::Hello(_)) { 0 } else { bytes[16] }));
    }
    assert!(kinds.len() >= 11, "every kind of frame was drawn: {kinds:?}");
}

/// Changes each byte of valid frames to each other value. A frame that is still accepted has another value, and its own
/// bytes. So each byte counts, and none has two meanings.
#[test]
fn a_changed_byte_is_refused_or_says_something_else() {
    for example in examples() {
        let original = example.value();
        let (mut accepted, mut refused) = (0, BTreeSet::new());
        for at in 0..example.bytes.len() {
            for change in 1..=u8::MAX {
                let mut bytes = example.bytes.clone();
                bytes[at] ^= change;
                match Frame::parse(&bytes, &PORT) {
                    Ok(frame) => {
                        assert_ne!(frame, original, "{}: byte {at} ^ {change}", example.name);
                        assert_eq!(emitted(&frame), bytes, "{}: byte {at} ^ {change}", example.name);
                        accepted += 1;
                    }
                    Err(reason) => drop(refused.insert(reason.name())),
                }
            }
        }
        assert!(accepted > 0 && refused.len() >= 5, "{}: {accepted} accepted, {refused:?}", example.name);
    }
}

#[test]
fn every_length_but_the_right_one_is_refused() {
    for example in examples() {
        let mut longer = example.bytes.clone();
        longer.extend([0; 70]);
        for length in 0..longer.len() {
            let expected = match length {
                _ if length == example.bytes.len() => Ok(example.value()),
                ..60 => Err(Refused::Runt),
                _ if length < example.bytes.len() => Err(Refused::Truncated),
                _ => Err(Refused::Trailing),
            };
            assert_eq!(Frame::parse(&longer[..length], &PORT), expected, "{}: {length} bytes", example.name);
        }
    }
}

#[test]
fn random_bytes_are_no_frame() {
    let mut stream = Stream::new(37, 2, 0);
    for _ in 0..200_000 {
        let bytes: Vec<u8> = (0..below(&mut stream, 200)).map(|_| stream.next_u32() as u8).collect();
        let port = port(&mut stream);
        assert!(Frame::parse(&bytes, &port).is_err(), "{bytes:?}");
    }
}
