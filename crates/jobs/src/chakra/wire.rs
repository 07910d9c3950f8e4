//! Protobuf messages, field by field.
//!
//! Source: the encoding of Protocol Buffers (protobuf.dev/programming-guides/encoding). A field is a varint of its number
//! and type, and its value: a varint, 4 or 8 bytes, or a length and as many bytes.

use crate::refused::Refused;
use std::io::{self, Read};

/// Longest message, bytes.
const MESSAGE_MAX: u64 = 1 << 28;

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Four([u8; 4]),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
}

/// Fields of a message in turn.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, at: 0 }
    }

    fn varint(&mut self) -> Option<u64> {
        let (value, len) = varint(&self.bytes[self.at..])?;
        self.at += len;
        Some(value)
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Returns the next field; an error names the byte of the message that is wrong.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, usize> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let start = self.at;
        let mut read = || {
            let key = self.varint()?;
            let value = match key & 7 {
                0 => Value::Varint(self.varint()?),
                1 => Value::Eight(self.take(8)?.try_into().ok()?),
                2 => {
                    let len = self.varint()?;
                    Value::Bytes(self.take(len)?)
                }
                5 => Value::Four(self.take(4)?.try_into().ok()?),
                _ => return None,
            };
            Some((key >> 3, value))
        };
        read().map(Some).ok_or(start)
    }
}

/// Reads varints until the end; `None` if the last is cut short.
pub(super) fn packed(mut bytes: &[u8], mut see: impl FnMut(u64)) -> Option<()> {
    while !bytes.is_empty() {
        let (value, len) = varint(bytes)?;
        see(value);
        bytes = &bytes[len..];
    }
    Some(())
}

/// Reads a varint: its value and its length. A varint has at most ten bytes.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if place == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, place + 1));
        }
    }
    None
}

/// Messages of a file, each after its length.
pub(super) struct Messages<'a, R> {
    from: R,
    file: &'a str,
    /// Place of the message that was read last.
    pub(super) at: u64,
    next: u64,
    pub(super) message: Vec<u8>,
}

impl<'a, R: Read> Messages<'a, R> {
    pub(super) fn new(from: R, file: &'a str) -> Messages<'a, R> {
        Messages { from, file, at: 0, next: 0, message: Vec::new() }
    }

    /// Refuses something at a place in the message that was read last.
    pub(super) fn refuse(&self, within: usize, problem: impl std::fmt::Display) -> Refused {
        Refused::at(format_args!("{}: byte {}", self.file, self.at + within as u64), problem)
    }

    /// Reads the next message. Returns whether there is one. A length that the file does not have takes no memory.
    pub(super) fn advance(&mut self) -> Result<bool, Refused> {
        self.at = self.next;
        let mut length = Vec::new();
        let mut byte = [0];
        loop {
            match self.from.read(&mut byte) {
                Ok(0) if length.is_empty() => return Ok(false),
                Ok(0) => return Err(self.refuse(0, "the file ends within a length")),
                Ok(_) => length.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.refuse(0, format_args!("cannot be read: {error}"))),
            }
            if byte[0] & 0x80 == 0 {
                break;
            }
            if length.len() == 5 {
                return Err(self.refuse(0, "expected the length of a message, in at most 5 bytes"));
            }
        }
        let (len, _) = varint(&length).expect("the last byte ends it");
        if len > MESSAGE_MAX {
            return Err(self.refuse(0, format_args!("a message of {len} bytes: expected at most {MESSAGE_MAX}")));
        }
        self.message.clear();
        let read = self.from.by_ref().take(len).read_to_end(&mut self.message);
        let read = read.map_err(|error| self.refuse(0, format_args!("cannot be read: {error}")))? as u64;
        if read < len {
            return Err(self.refuse(0, format_args!("a message of {len} bytes, of which the file has {read}")));
        }
        self.at += length.len() as u64;
        self.next = self.at + len;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_damaged_ones_are_not() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let mut fields = Fields::new(&bytes);
        assert_eq!(fields.next(), Ok(Some((1, Value::Varint(150)))));
        assert_eq!(fields.next(), Ok(Some((2, Value::Bytes(b"hi")))));
        assert_eq!(fields.next(), Ok(Some((3, Value::Four([1, 0, 0, 0])))));
        assert_eq!(fields.next(), Ok(Some((4, Value::Eight([2, 0, 0, 0, 0, 0, 0, 0])))));
        assert_eq!(fields.next(), Ok(None));
        assert_eq!(Fields::new(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]).next(), Err(0));
        assert_eq!(Fields::new(&[0x0b]).next(), Err(0));
        assert_eq!(varint(&[0xff; 10]), None);
        assert_eq!(varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), Some((u64::MAX, 10)));
    }
}
