//! What a switch, or a NIC's egress port, does to a packet.
//!
//! No I/O, no clock, no threads, no logging, and no allocation after construction where the buffer is finite: time and
//! randomness are arguments. A [`Switch`] is the product of five choices, each a module here:
//!
//! | choice | module |
//! |---|---|
//! | buffer | [`buffer`] |
//! | queue assignment | [`assign`] |
//! | backpressure | [`backpressure`]: [`pfc`], [`bfc`], [`hpcc_memory`] |
//! | marking | [`marking`] |
//! | scheduler | [`queues`], over [`drr`] |

#![no_std]
extern crate alloc;

pub mod assign;
pub mod backpressure;
pub mod bfc;
pub mod bits;
pub mod buffer;
pub mod cells;
pub mod drr;
pub mod flow_queues;
pub mod hpcc_memory;
pub mod marking;
pub mod nic;
pub mod pfc;
pub mod queues;
pub mod ring;
pub mod switch;

pub use assign::{Assignment, Dynamic, PerFlow, Single, Stochastic};
pub use backpressure::{Backpressure, NoBackpressure};
pub use bfc::{Bfc, BfcParams};
pub use buffer::Buffer;
pub use hpcc_memory::{HpccMemory, HpccMemoryParams};
pub use marking::Red;
pub use nic::NicQueues;
pub use pfc::{Pfc, PfcParams};
pub use ring::Ring;
pub use switch::{Departed, DropReason, PortShape, Received, Sent, Shape, Switch};
