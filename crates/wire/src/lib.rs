//! Bytes of the frames between switches on real links: parsed to values, and emitted from them.
//!
//! [`Frame::parse`] checks each field against the [`Port`] that the frame came by, and [`Frame::emit`] gives the same
//! bytes again. The format is that of `docs/lab-wire.md`, which this page repeats.
#![cfg_attr(doc, doc = include_str!("../../../docs/lab-wire.md"))]
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
