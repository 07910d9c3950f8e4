//! Types that all of Backwater shares: units, ids, packets and control frames. No behaviour beyond arithmetic and text.
//!
//! Everything is `Copy`, an integer underneath, and free of I/O, clocks and the standard library.

#![no_std]
extern crate alloc;

pub mod drop_reason;
pub mod extension;
pub mod frame;
pub mod hash;
pub mod library_rand;
pub mod packet;
pub mod ranges;
pub mod units;

pub use drop_reason::DropReason;
pub use extension::{CreditShape, Extension, Frame, LinkShape, PintShape};
pub use frame::{ControlFrame, Effect, FlowName, QueueMap, Target};
pub use library_rand::LibraryRand;
pub use packet::{Kind, Packet, flags};
pub use ranges::{OutOfRange, PERIOD_MIN, Ranges, TIMER_MAX};
pub use units::{BitsPerSec, Bytes, Duration, Instant, SerTime, whole_ns};

/// Wire size of ACK, NACK and control frames by default, bytes (BFC-A13).
pub const CONTROL_WIRE: u16 = 64;

/// A port of a node, counted from 0 in the order its links were declared.
pub type PortId = u16;

/// A data queue of an egress port, or of a NIC.
pub type QueueId = u16;
