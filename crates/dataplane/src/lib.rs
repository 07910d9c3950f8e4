//! What a switch, or a NIC's egress port, does to a packet.
//!
//! No I/O, no clock, no threads, no logging, and no allocation after construction where the buffer is finite: time and
//! randomness are arguments. A [`Switch`], which is used through [`plane`], is the product of five choices, each a module here:
//!
//! | choice | module |
//! |---|---|
//! | buffer | [`buffer`] |
//! | queue assignment | [`assign`] |
//! | backpressure | [`backpressure`]: [`pfc`], [`bfc`], [`hpcc_memory`] |
//! | marking | [`marking`] |
//! | scheduler | [`queues`], over [`drr`] |
//!
//! Assignment and backpressure together are a [`policy`]: composed of the two, or one that decides both, as [`flowsail`] and
//! [`pause_by_flow`] do over their flow records in a [`flow_table`].

#![no_std]
extern crate alloc;

pub mod assign;
pub mod backpressure;
pub mod beside;
pub mod bfc;
pub mod bits;
pub mod buffer;
pub mod canonical;
pub mod cells;
pub mod drr;
pub mod flow_queues;
pub mod flow_table;
pub mod flowsail;
pub mod flowsail_as_printed;
pub mod hpcc_memory;
pub mod marking;
pub mod nic;
pub mod pause_by_flow;
pub mod pfc;
pub mod plane;
pub mod policy;
pub mod queues;
pub mod record_queues;
pub mod ring;
pub mod skipping_queues;
pub mod switch;
mod ticks;

pub use assign::{Assignment, ByClass, Dynamic, PerFlow, Single, Stochastic};
pub use backpressure::{Backpressure, NoBackpressure};
pub use beside::{Beside, BesideParams};
pub use bfc::{Bfc, BfcParams};
pub use buffer::{Buffer, MemoryShape, Pool, PoolCounts};
pub use canonical::Canonical;
pub use flowsail::{FlowSail, FlowSailParams};
pub use flowsail_as_printed::FlowSailAsPrinted;
pub use hpcc_memory::{HpccMemory, HpccMemoryParams};
pub use marking::Red;
pub use nic::NicQueues;
pub use pause_by_flow::{BfcByFlow, IdealFlowControl, PauseByFlowParams};
pub use pfc::{Pfc, PfcParams};
pub use plane::{DataPlane, Readings};
pub use policy::{Composed, Policy};
pub use ring::Ring;
pub use switch::{Departed, MarkingShape, PortShape, Received, Sent, Shape, Switch};
