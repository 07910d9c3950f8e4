//! Payload of the lab's own datagrams: which packet of which flow it is, and a check of every byte.

use backwater_types::hash;
use std::sync::LazyLock;

/// Headers of a datagram's frame: Ethernet, IPv4, UDP.
pub(super) const HEADERS: usize = 14 + 20 + 8;
/// Bytes before the filler.
const FIXED: usize = 16;
/// Smallest frame that holds a payload, Ethernet header included.
pub(super) const SMALLEST: usize = HEADERS + FIXED;

/// Bytes after the fixed part.
static FILLER: LazyLock<Vec<u8>> = LazyLock::new(|| (0..1 << 16).map(|n| hash::draw(0x6669_6c6c, n) as u8).collect());

fn seal(flow: u32, number: u32, length: usize) -> u64 {
    hash::draw(hash::stream(0x7365_616c, flow.into(), number.into()), length as u64)
}

/// Writes the payload of packet `number` of `flow`, of `length` bytes, into `bytes`.
pub(super) fn write(bytes: &mut Vec<u8>, flow: u32, number: u32, length: usize) {
    bytes.clear();
    bytes.extend_from_slice(&flow.to_be_bytes());
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(&seal(flow, number, length).to_be_bytes());
    bytes.extend_from_slice(&FILLER[..length.saturating_sub(FIXED)]);
}

/// Reads a payload: its flow and its number. `None` if a byte is not as it was written.
pub(super) fn read(bytes: &[u8]) -> Option<(u32, u32)> {
    let (fixed, filler) = bytes.split_at_checked(FIXED)?;
    let word = |at: usize| Some(u32::from_be_bytes(fixed[at..at + 4].try_into().ok()?));
    let (flow, number) = (word(0)?, word(4)?);
    let sealed = u64::from_be_bytes(fixed[8..].try_into().ok()?);
    (sealed == seal(flow, number, bytes.len()) && *filler == FILLER[..filler.len()]).then_some((flow, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_read_as_it_was_written_and_no_changed_byte_passes() {
        let mut bytes = Vec::new();
        for (flow, number, length) in [(0, 0, 16), (7, 9, 100), (u32::MAX, u32::MAX, 9000)] {
            write(&mut bytes, flow, number, length);
            assert_eq!((bytes.len(), read(&bytes)), (length, Some((flow, number))));
            for at in 0..length {
                bytes[at] ^= 1 << (at % 8);
                assert_eq!(read(&bytes), None, "byte {at}");
                bytes[at] ^= 1 << (at % 8);
            }
            assert_eq!(read(&bytes[..length - 1]), None, "it was cut");
        }
    }
}
