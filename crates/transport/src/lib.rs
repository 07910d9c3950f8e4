//! What an end host does with a flow: how fast it may send, and how it recovers what was lost.
//!
//! Same constraints as the data plane: no I/O, no clock, no threads, no allocation. Positions in a flow count packets.

#![no_std]

pub mod control;
pub mod dctcp;
pub mod go_back_n;
pub mod line_rate;
pub mod window;

pub use control::{Ack, Control};
pub use dctcp::{Dctcp, DctcpParams};
pub use go_back_n::{Answer, Receiver, Sender};
pub use line_rate::LineRate;
pub use window::{Window, WindowParams};
