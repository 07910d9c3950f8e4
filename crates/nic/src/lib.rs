//! What a NIC does with the flows of its host: which of them sends next, and when.
//!
//! Flows are senders of some transport, which say what they may send; a [`Nic`] chooses among them and obeys the switch. There
//! are five disciplines and one around another, each a file:
//!
//! | NIC | what it is |
//! |---|---|
//! | [`Rings`] | pulls packets out of flows, queue by queue; BFC may pause queues, FlowSail flows by name |
//! | [`Fifo`] | takes all that flows may send, and drops what it has no room for |
//! | [`Throttled`] | another, that holds credits as ports of switches do |
//! | [`Srpt`] | pulls packets out of the flow with the fewest left |
//! | [`LeastLeft`] | the same by bytes, queue by queue; BFC may pause queues |
//! | [`List`] | the HPCC simulator's round robin over queue pairs |
//!
//! Same constraints as the data plane: no I/O, no clock, no threads. Who holds a NIC, a simulator or a software NIC, keeps the time
//! and the link, and tells it what happens by way of a [`Context`]:
//!
//! * A flow starts: [`Flows::add`], then [`Nic::offer`], and that again whenever a reply or a timer has changed what it may do.
//! * A flow is acknowledged to the end: [`Nic::done`].
//! * The link is free: [`Nic::next_reply`], and if there is none [`Nic::next_data`]. If neither has a packet, look again when
//!   something has happened; [`Nic::sendable`] says whether to come back once a transmission has ended.
//! * A frame of the switch comes in: [`Nic::on_control`]. The link fails or comes back: [`Nic::release`].
//! * Its timer is due: [`Nic::on_timer`]. After that, [`Nic::next_timer`] says when it will be again, and [`Context::wake`] if
//!   something has happened that makes it earlier.
//!
//! After each of them the link may have something to send, and a NIC that [drops](Nic::DROPS) may have dropped something.

#![no_std]
extern crate alloc;

pub mod fifo;
pub mod flows;
mod hash_order;
pub mod least_left;
pub mod list;
pub mod nic;
pub mod params;
pub mod rings;
pub mod srpt;
pub mod throttled;
pub mod timers;

pub use fifo::Fifo;
pub use flows::{Flow, Flows, NewFlow};
pub use least_left::LeastLeft;
pub use list::List;
pub use nic::{Context, Nic};
pub use params::{NicParams, NicSetup};
pub use rings::Rings;
pub use srpt::Srpt;
pub use throttled::Throttled;
pub use timers::Timers;
