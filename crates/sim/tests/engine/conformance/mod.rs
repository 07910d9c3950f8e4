//! What every scheme and transport does, by being registered: no test here names one.
//!
//! | module | property |
//! |---|---|
//! | `closed_form` | a flow alone takes what a packet-by-packet recursion gives, and beyond it what its host states |
//! | `sharing` | two flows into one port get half each |
//! | `faults` | under losses, flaps and tiny buffers no rule is broken, and every flow finishes |
//! | `digests` | threads, windows and how the switch's type is chosen do not matter |
//! | `passing` | a switch that lets a packet pass does what it does when it queues and takes it, event by event |
//! | `explained` | what flows waited for sums to their completion times |
//! | `rates` | what receivers of such flows get over time sums to the flows' sizes |
//! | `parameters` | unknown and extreme parameters are refused by name, or run |
//!
//! That nothing is allocated per packet takes a process of its own: `tests/allocations.rs`.

mod closed_form;
pub mod digests;
mod explained;
mod faults;
mod parameters;
mod passing;
mod rates;
mod registry;
mod sharing;
