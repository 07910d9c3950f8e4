//! Bytes of the frames between switches on real links: parsed to values, and emitted from them.
//!
//! There are two formats. IEEE 802.1Qbb defines PFC frames (EtherType 0x8808, [`Pfc`]). All other frames have the local
//! experimental EtherType 0x88B5 ([`Body`]): wrapped packets, control frames, and the hello by which a switch finds out
//! that a neighbour runs.
//!
//! Numbers are big-endian. Offsets count from the first byte of the Ethernet frame, whose check sequence is not part of
//! it. Each field is checked against the [`Port`] that the frame came by. Bytes without a meaning are zero. So there is
//! one sequence of bytes for each value, and [`Frame::parse`] accepts no other.
//!
//! | offset | bytes | every frame with EtherType 0x88B5 |
//! |---|---|---|
//! | 0 | 6 | destination, 01-80-C2-00-00-0E: the nearest bridge, which forwards it to nobody |
//! | 6 | 6 | source, the sending port's own address |
//! | 12 | 2 | 0x88B5 |
//! | 14 | 1 | version, 1 |
//! | 15 | 1 | type: 1 packet, 2 control frame, 3 hello, 4 answer to a hello |
//!
//! | offset | bytes | packet (type 1) |
//! |---|---|---|
//! | 16 | 1 | kind: 0 data, 1 acknowledgement |
//! | 17 | 1 | flags: 1 congestion experienced, 2 last packet of its flow, 4 ECN-capable, 8 incast |
//! | 18 | 1 | traffic class; 0 has the highest priority |
//! | 19 | 1 | zero |
//! | 20 | 2 | upstream queue: the queue that the packet left at the sender of this frame |
//! | 22 | 2 | bytes that the packet counts in queues and on links, at least 64 and at least the next field |
//! | 24 | 2 | length of the wrapped frame, at least 14 |
//! | 26 | 2 | number of the destination host |
//! | 28 | 2 | number of the source host |
//! | 30 | 2 | zero |
//! | 32 | 4 | flow, first half of its name |
//! | 36 | 4 | slot of the flow at its sender, second half of its name |
//! | 40 | 4 | hash of the flow |
//! | 44 | 4 | position of the packet in its flow |
//! | 48 | | the wrapped frame: the host's Ethernet frame, byte for byte |
//!
//! | offset | bytes | control frame (type 2), 60 bytes |
//! |---|---|---|
//! | 16 | 1 | operation: 1 PAUSE, 2 RESUME, 3 BITMAP, 4 PAUSE of a flow, 5 RESUME of a flow, 6 CREDIT, 7 CREDIT SENT |
//! | 17 | 1 | traffic class of the flow (4, 5), else zero |
//! | 18 | 2 | queue (1, 2), else zero |
//! | 20 | 16 | queues as bits, queue 0 the least significant (3) |
//! | 20 | 4 | flow (4, 5) |
//! | 24 | 4 | slot (4, 5) |
//! | 20 | 8 | bytes since the link came up, less than 2^63 (6, 7) |
//! | | | the rest is zero |
//!
//! | offset | bytes | hello (type 3) and its answer (type 4), 60 bytes |
//! |---|---|---|
//! | 16 | 8 | random number, which the answer repeats |
//! | 24 | 36 | zero |
//!
//! | offset | bytes | PFC frame, 60 bytes |
//! |---|---|---|
//! | 0 | 6 | destination, 01-80-C2-00-00-01 |
//! | 6 | 6 | source, the sending port's own address |
//! | 12 | 2 | 0x8808 |
//! | 14 | 2 | operation, 0x0101 |
//! | 16 | 1 | zero |
//! | 17 | 1 | classes that the frame is about, class 0 the least significant bit |
//! | 18 | 16 | for each of the eight classes, how long it is paused: a number of quanta of 512 bit times; 0 resumes it |
//! | 34 | 26 | zero |

#![no_std]

mod bytes;
mod control;
mod frame;
mod header;
mod pfc;
mod port;
mod refused;

pub use bytes::{Address, HEADER, SMALLEST};
pub use frame::{Body, Frame};
pub use header::{FLAGS, Header, LARGEST_WRAPPED, SMALLEST_WRAPPED};
pub use pfc::Pfc;
pub use port::Port;
pub use refused::{Counts, Refused, Unfit};
