//! A packet inside the simulator or the software switch: a 32-byte value, copied, never shared.

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Payload of a flow.
    Data,
    /// Cumulative acknowledgement: `seq` is the next packet expected.
    Ack,
    /// Negative acknowledgement: go back to `seq`.
    Nack,
    /// Notice of a switch to the sender that data packet `seq` was dropped.
    DropNotice,
    /// Congestion notification: marked packets of the flow arrived.
    Cnp,
    /// Backpressure between neighbours; see [`crate::ControlFrame`].
    Control,
    /// Credit of ExpressPass, which lets its sender send one data packet; `seq` is the next packet expected. Ports
    /// limit credits to the rate at which data can come back.
    Credit,
    /// Request of ExpressPass to the receiver to start or to stop credits; `seq` is the number of packets of the flow.
    Request,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = Kind::Request as usize + 1;

    /// Whether packets of this kind are for the receiver of their flow.
    #[inline(always)]
    pub const fn is_for_receiver(self) -> bool {
        matches!(self, Kind::Data | Kind::Request)
    }
}

/// Bits of [`Packet::flags`].
pub mod flags {
    /// Congestion experienced (data), or its echo (ACK).
    pub const CE: u8 = 1 << 0;
    /// The flow's last packet.
    pub const LAST: u8 = 1 << 1;
    /// ECN-capable transport.
    pub const ECT: u8 = 1 << 2;
    /// Tagged as incast traffic by its sender.
    pub const INCAST: u8 = 1 << 3;
    /// Packet of a flow that is not acknowledged; `receiver_slot` is then the number of its workload.
    pub const DATAGRAM: u8 = 1 << 4;
    /// Data of a flow that an observer follows. The flag saves looking the flow up at each hop, and does not affect the
    /// packet.
    pub const FOLLOWED: u8 = 1 << 5;
}

/// A packet as it is on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet {
    /// Flow id, never reused within a run.
    pub flow: u32,
    /// Position in the flow, in packets.
    pub seq: u32,
    /// Hash of the flow's identity, which routing and flow tables use.
    pub key: u32,
    /// Slot of the flow at its sender.
    pub sender_slot: u32,
    /// Slot of the flow at its receiver. Where real frames cross a data plane, the handle of the frame: see
    /// [`Packet::NO_FRAME`]. No switch reads it.
    pub receiver_slot: u32,
    /// Destination host.
    pub dst: u16,
    /// Source host.
    pub src: u16,
    /// Bytes on the wire, headers included.
    pub wire: u16,
    /// Queue that the packet left at the last switch or NIC (BFC `upstreamQ`); rewritten at each hop.
    pub upstream_queue: u16,
    /// Traffic class: 0 has the highest priority.
    pub class: u8,
    /// Kind of packet.
    pub kind: Kind,
    /// Bits of [`flags`].
    pub flags: u8,
}

const _: () = assert!(size_of::<Packet>() == 32, "two to a cache line");

impl Packet {
    /// Handle in [`Packet::receiver_slot`] of a packet without a frame, such as a control frame or a drop notice, which
    /// switches make themselves. All other packets of a software switch carry the handle of a frame in a store. A frame
    /// has one owner: it goes with its packet, and whoever drops the packet has to free it.
    pub const NO_FRAME: u32 = u32::MAX;

    /// Placeholder where there is no packet: it has no bytes and is never sent.
    pub const NONE: Packet = Packet {
        flow: 0,
        seq: 0,
        key: 0,
        sender_slot: 0,
        receiver_slot: 0,
        dst: 0,
        src: 0,
        wire: 0,
        upstream_queue: 0,
        class: 0,
        kind: Kind::Control,
        flags: 0,
    };

    /// Whether all bits of `mask` are set.
    #[inline(always)]
    pub const fn has(&self, mask: u8) -> bool {
        self.flags & mask == mask
    }
}
