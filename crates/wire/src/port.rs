//! The port that a frame came by, as far as frames name parts of it.

/// Bounds of the fields of the frames that arrive at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Data queues of the port. Pauses name them.
    pub queues: u16,
    /// Data queues of the neighbour's port. Packets name the one that they left.
    pub upstream_queues: u16,
    /// Traffic classes.
    pub classes: u8,
    /// Hosts of the network.
    pub hosts: u32,
    /// Largest packet, bytes on the wire.
    pub largest: u16,
}
