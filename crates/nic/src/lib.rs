//! Scheduling at a NIC: which flow of a host sends next, and when.
//!
//! Flows are senders of a transport. A [`Nic`] chooses among them and obeys the frames of its switch. There are five
//! disciplines, and one that wraps another, each in a file:
//!
//! | NIC | discipline |
//! |---|---|
//! | [`Rings`] | pulls packets from flows, queue by queue; BFC may pause queues, FlowSail flows by name |
//! | [`Fifo`] | takes all packets that flows may send, and drops those for which it has no room |
//! | [`Throttled`] | wraps another, and limits credits as ports of switches do |
//! | [`Srpt`] | pulls packets from the flow with the fewest packets left |
//! | [`LeastLeft`] | pulls packets from the flow with the fewest bytes left, in queues that BFC may pause |
//! | [`List`] | the HPCC simulator's round robin over queue pairs |
//!
//! Constraints are those of the data plane: no I/O, no clock, no threads. The owner of a NIC, a simulator or a software
//! NIC, keeps the time and the link, and calls it with a [`Context`] at each event:
//!
//! * A flow starts: [`Flows::add`], then [`Nic::offer`], which is repeated whenever a reply or a timer may have
//!   unblocked the flow.
//! * A flow is acknowledged to the end: [`Nic::done`].
//! * The link is free: [`Nic::next_reply`], and if there is none [`Nic::next_data`]. If neither has a packet, poll
//!   again after the next event; [`Nic::sendable`] tells whether to poll when a transmission ends.
//! * A frame of the switch arrives: [`Nic::on_control`]. The link fails or recovers: [`Nic::release`].
//! * The timer is due: [`Nic::on_timer`]. [`Nic::next_timer`] returns its next expiry, and [`Context::wake`] an earlier
//!   one that an event has set.
//!
//! After each event the link may have a packet to send, and a NIC that [drops](Nic::DROPS) may have dropped one.

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
