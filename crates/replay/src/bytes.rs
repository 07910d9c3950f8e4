//! Values as bytes: integers are little-endian, a flag is a byte of 0 or 1, and an optional value follows a flag.

use backwater_dataplane::{Departed, Received};
use backwater_types::{ControlFrame, DropReason, Instant, Kind, Packet};
use std::io;

/// Why a value cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file ends before the value does.
    Ends,
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The bytes stand for no value.
    Invalid(String),
}

/// Where bytes come from.
pub(crate) trait Source {
    /// Takes the next bytes.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Fault>;
}

/// A value with a form in bytes.
pub(crate) trait Field: Sized {
    /// Appends the bytes.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads the value.
    fn get(from: &mut impl Source) -> Result<Self, Fault>;
}

/// Kinds of packets by their number.
const KINDS: [Kind; Kind::COUNT] =
    [Kind::Data, Kind::Ack, Kind::Nack, Kind::DropNotice, Kind::Cnp, Kind::Control, Kind::Credit, Kind::Request];

const _: () = {
    let mut number = 0;
    while number < KINDS.len() {
        assert!(KINDS[number] as usize == number, "kinds are listed by number");
        number += 1;
    }
};

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(from: &mut impl Source) -> Result<$type, Fault> {
                from.take().map(<$type>::from_le_bytes)
            }
        }
    )*};
}

integers!(u8 u16 u32 u64);

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(from: &mut impl Source) -> Result<bool, Fault> {
        one_of("flag", &[false, true], from)
    }
}

impl Field for Kind {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn get(from: &mut impl Source) -> Result<Kind, Fault> {
        one_of("kind of packet", &KINDS, from)
    }
}

impl Field for DropReason {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn get(from: &mut impl Source) -> Result<DropReason, Fault> {
        one_of("reason of a drop", &DropReason::ALL, from)
    }
}

/// Reads a byte that is the number of a value.
fn one_of<T: Copy>(what: &str, all: &[T], from: &mut impl Source) -> Result<T, Fault> {
    let number = u8::get(from)?;
    let value = all.get(usize::from(number)).copied();
    value.ok_or_else(|| Fault::Invalid(format!("{what} = {number}: expected 0 to {}", all.len() - 1)))
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn get(from: &mut impl Source) -> Result<Option<T>, Fault> {
        bool::get(from)?.then(|| T::get(from)).transpose()
    }
}

impl Field for Instant {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(from: &mut impl Source) -> Result<Instant, Fault> {
        u64::get(from).map(Instant)
    }
}

/// A control frame is written as the packet that it crosses links in.
impl Field for ControlFrame {
    fn put(&self, out: &mut Vec<u8>) {
        Packet::from(*self).put(out);
    }

    fn get(from: &mut impl Source) -> Result<ControlFrame, Fault> {
        let packet = Packet::get(from)?;
        packet.control().ok_or_else(|| {
            Fault::Invalid(format!(
                "a packet of kind {:?} and operation {} is no control frame",
                packet.kind, packet.seq
            ))
        })
    }
}

/// Structs as their fields, in this order; the names of the fields name what differs.
macro_rules! fields {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl Field for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn get(from: &mut impl Source) -> Result<$type, Fault> {
                $(let $field = Field::get(from)?;)*
                Ok($type { $($field),* })
            }
        }

        impl Fields for $type {
            fn each(&self, see: &mut dyn FnMut(&'static str, String)) {
                $(see(stringify!($field), plain(&format!("{:?}", self.$field)));)*
            }
        }
    )*};
}

/// Text of a value, such as `3` for `Some(3)`, and `none` for `None`.
fn plain(debug: &str) -> String {
    let inner = debug.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    match (inner, debug) {
        (Some(inner), _) => plain(inner),
        (None, "None") => "none".into(),
        (None, value) => value.into(),
    }
}

/// A value with named fields.
pub(crate) trait Fields {
    /// Shows every field to `see`, by name.
    fn each(&self, see: &mut dyn FnMut(&'static str, String));
}

fields! {
    Packet {
        flow, seq, key, sender_slot, receiver_slot, dst, src, wire, upstream_queue, class, kind, flags
    }
    Received { dropped, queue, frame_on, timer_changed }
    Departed { queue, frame_on, timer_changed, entered }
}
