//! Packets that crossed ports.

use backwater_types::{Instant, Packet};

/// Packets that crossed some ports, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The packets.
    pub packets: Vec<Crossing>,
    /// Number of packets for which there was no room, all later.
    pub left_out: u64,
}

/// A packet that crossed a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Time at which its first bit left, or its last bit arrived.
    pub at: Instant,
    /// Number of the port among those of the request.
    pub port: u32,
    /// Whether it arrived, else it left.
    pub arrives: bool,
    /// The packet.
    pub packet: Packet,
}
