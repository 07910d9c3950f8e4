//! The data plane: packet processing of a switch, and the egress queues of a NIC.
//!
//! The crate has no I/O, clock, threads or logging: time and randomness are arguments. It allocates nothing after
//! construction if the buffer is finite and its packets fit [`cells_ahead`](Shape::cells_ahead). A [`Switch`] of some
//! [`shape`] is used through [`plane`], by the protocol of [`driver`]. It is the product of five choices:
//!
//! | choice | module |
//! |---|---|
//! | buffer | [`buffer`] |
//! | queue assignment | [`assign`] |
//! | backpressure | [`backpressure`]: [`pfc`], [`bfc`], [`hpcc_memory`] |
//! | marking | [`marking`] |
//! | scheduler | [`queues`], over [`drr`](queues::drr) |
//!
//! Assignment and backpressure together form a [`policy`]: composed of the two, or one that decides both, such as
//! [`flowsail`](policy::flowsail) and [`pause_by_flow`](policy::pause_by_flow), which use flow records in a
//! [`flow_table`].

#![no_std]
extern crate alloc;

pub mod assign;
pub mod backpressure;
pub mod buffer;
pub mod canonical;
pub mod driver;
pub mod elide;
pub mod flow_table;
pub mod hardware;
pub mod marking;
pub mod meta;
pub mod nic;
pub mod plane;
pub mod policy;
mod port;
pub mod queues;
pub mod shape;
pub mod switch;
mod ticks;

pub use assign::{Assignment, ByClass, ByPriority, Dynamic, HomaDynamic, PerFlow, Single, SingleFifo, Stochastic};
pub use backpressure::*;
pub use buffer::{Buffer, BufferSize, MemoryShape, Mmu, Pool, PoolCounts, QueueMemory, Returns, Ring};
pub use canonical::Canonical;
pub use driver::{Driver, Outlets};
pub use elide::{Elide, ElideRule, ElidedTurns};
pub use hardware::{HardwareParams, Recirculated};
pub use marking::{Ecn, EcnAt, EcnOf, NotEct, Ns3Stream, Ns3Streams, PoolEcn, Red, SpacedOver, Spacing};
pub use meta::{Assigned, Choice, Meta, Resident};
pub use nic::NicQueues;
pub use plane::{DataPlane, Departed, Discarded, Joined, Readings, Received, Sent};
pub use policy::{
    BfcByFlow, Composed, FlowSail, FlowSailAsPrinted, FlowSailParams, Hold, IdealFlowControl, PauseByFlowParams,
    PfcInterop, Policy, Recirculating, ReleaseFrom, Residue, SketchParams,
};
pub use port::Ports;
pub use shape::{DownQueues, MarkingShape, PortShape, Shape};
pub use switch::Switch;
