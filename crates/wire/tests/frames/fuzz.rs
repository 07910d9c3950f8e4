//! Mutations of valid frames, fed to the parser. It may not panic, and a frame that it accepts has the same bytes.
//!
//! `make fuzz` runs it for long: `FUZZ` is the number of executions, and `FUZZ_SEED` selects another sequence. A failure
//! prints its input.

use crate::corpus::{PORT, examples};
use crate::random;
use backwater_types::hash::Stream;
use backwater_wire::{Counts, Frame, Refused};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes that parsers often treat apart, written at any place.
const SPLICES: &[&[u8]] = &[
    &[0],
    &[0xff],
    &[0x7f, 0xff],
    &[0x80, 0x00],
    &[0, 0, 0, 0, 0, 0, 0, 0],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x88, 0xb5, 1, 1],
    &[0x88, 0xb5, 1, 2],
    &[0x88, 0x08, 1, 1],
    &[0x81, 0x00],
];

/// Changes a few bytes of a frame, or its length.
pub(crate) fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], stream: &mut Stream) {
    let mut below = |n: usize| stream.next_u32() as usize % n.max(1);
    for _ in 0..=below(3) {
        // Fields that decide how the rest is read are near the beginning.
        let near = if below(2) == 0 { 60 } else { bytes.len() };
        let at = below(bytes.len().min(near) + 1).min(bytes.len());
        match below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(8),
            1 if at < bytes.len() => bytes[at] = below(256) as u8,
            2 => bytes.truncate(at),
            3 => {
                let seed = &seeds[below(seeds.len())];
                let from = below(seed.len());
                let piece = &seed[from..(from + below(40)).min(seed.len())];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
            4 => bytes.splice(at..at, (0..below(70)).map(|n| n as u8)).for_each(drop),
            _ => {
                let splice = SPLICES[below(SPLICES.len())];
                let end = (at + splice.len()).min(bytes.len());
                bytes.splice(at..end, splice.iter().copied());
            }
        }
    }
    // A length that is right lets the parser read on.
    if below(4) == 0 && bytes.len() > 48 {
        let length = (bytes.len() - 48) as u16;
        bytes[24..26].copy_from_slice(&length.to_be_bytes());
    }
}

/// Number in the environment.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) if !text.is_empty() => text.parse().expect("a whole number"),
        _ => default,
    }
}

fn parser(count: u64) {
    let seed = number("FUZZ_SEED", 37);
    let seeds: Vec<Vec<u8>> = examples().into_iter().map(|example| example.bytes).collect();
    let mut stream = Stream::new(seed, 3, count);
    let (mut accepted, mut refused) = (0, Counts::default());
    for execution in 0..count {
        let mut bytes = seeds[stream.next_u32() as usize % seeds.len()].clone();
        mutate(&mut bytes, &seeds, &mut stream);
        let port = if execution % 2 == 0 { PORT } else { random::port(&mut stream) };
        let parsed = catch_unwind(AssertUnwindSafe(|| match Frame::parse(&bytes, &port) {
            Ok(frame) => {
                assert_eq!(random::emitted(&frame), bytes);
                Ok(())
            }
            Err(reason) => Err(reason),
        }));
        match parsed {
            Ok(Ok(())) => accepted += 1,
            Ok(Err(reason)) => refused.count(reason),
            Err(_) => panic!("frames, seed {seed}, execution {execution}, {port:?}: {bytes:02x?}"),
        }
    }
    println!("frames: {count} executions, {accepted} accepted, refused {:?}", refused.each().collect::<Vec<_>>());
    assert!(accepted > 0, "some mutations are accepted");
    let never: Vec<Refused> = refused.each().filter(|(_, n)| *n == 0).map(|(reason, _)| reason).collect();
    assert!(never.is_empty(), "mutations reach every reason: {never:?}");
}

#[test]
fn the_parser_does_not_panic_at_a_mutation() {
    parser(100_000);
}

#[test]
#[ignore = "make fuzz"]
fn fuzz_the_parser_for_long() {
    parser(number("FUZZ", 1_000_000));
}
