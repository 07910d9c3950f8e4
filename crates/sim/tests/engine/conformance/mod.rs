//! Tests that hold for every registered scheme and transport; none of them names one.
//!
//! | module | property |
//! |---|---|
//! | `closed_form` | a flow alone takes the time of a packet-by-packet recursion plus the time that its host states |
//! | `sharing` | two flows into one port get half each |
//! | `faults` | with losses, flaps and tiny buffers no rule is broken, and every flow finishes |
//! | `digests` | threads, windows and the choice of the switch's type do not change outcomes |
//! | `passing` | the fast path through an empty port equals enqueue and dequeue, event by event |
//! | `explained` | the waits of a flow sum to its completion time |
//! | `rates` | the rates of explained flows sum to the flows' sizes |
//! | `parameters` | unknown and extreme parameters are refused by name, or run |
//!
//! `tests/allocations.rs` needs its own process; it tests that no packet causes an allocation.

mod closed_form;
pub mod digests;
mod explained;
mod faults;
mod parameters;
mod passing;
mod rates;
mod registry;
mod sharing;
