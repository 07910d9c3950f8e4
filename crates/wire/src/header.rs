//! Properties of the packet that a frame wraps.

use crate::bytes::Head;
use crate::port::Port;
use crate::refused::{Refused, Unfit};
use backwater_types::{FlowName, Kind, Packet, flags};

/// Smallest wrapped frame: an Ethernet header, bytes.
pub const SMALLEST_WRAPPED: usize = 14;
/// Largest wrapped frame, bytes.
pub const LARGEST_WRAPPED: usize = u16::MAX as usize;
/// Flags of packets that frames carry, see [`backwater_types::flags`].
pub const FLAGS: u8 = flags::CE | flags::LAST | flags::ECT | flags::INCAST;

/// Properties of a wrapped packet, as the switches between its hosts need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether it is an acknowledgement, else data.
    pub acknowledges: bool,
    /// Bits of [`FLAGS`].
    pub flags: u8,
    /// Queue that it left at the sender of the frame.
    pub upstream_queue: u16,
    /// Bytes that it counts in queues and on links, at least 64 and at least those of the wrapped frame.
    pub wire: u16,
    /// Number of the destination host.
    pub dst: u16,
    /// Number of the source host.
    pub src: u16,
    /// Name and traffic class of its flow.
    pub flow: FlowName,
    /// Hash of its flow.
    pub key: u32,
    /// Position in its flow.
    pub seq: u32,
}

impl Header {
    /// Returns the properties of `packet`.
    ///
    /// # Errors
    /// [`Unfit::Kind`] and [`Unfit::Flags`]: no frame carries such a packet.
    pub const fn of(packet: &Packet) -> Result<Header, Unfit> {
        let acknowledges = match packet.kind {
            Kind::Data => false,
            Kind::Ack => true,
            Kind::Nack | Kind::DropNotice | Kind::Cnp | Kind::Control | Kind::Credit | Kind::Request => {
                return Err(Unfit::Kind);
            }
        };
        // An observer's flag does not affect the packet.
        let flags = packet.flags & !flags::FOLLOWED;
        if flags & !FLAGS != 0 {
            return Err(Unfit::Flags);
        }
        Ok(Header {
            acknowledges,
            flags,
            upstream_queue: packet.upstream_queue,
            wire: packet.wire,
            dst: packet.dst,
            src: packet.src,
            flow: packet.flow_name(),
            key: packet.key,
            seq: packet.seq,
        })
    }

    /// Returns the packet with these properties. `handle` names the wrapped frame where it is stored.
    pub const fn packet(&self, handle: u32) -> Packet {
        Packet {
            flow: self.flow.flow,
            seq: self.seq,
            key: self.key,
            sender_slot: self.flow.slot,
            receiver_slot: handle,
            dst: self.dst,
            src: self.src,
            wire: self.wire,
            upstream_queue: self.upstream_queue,
            class: self.flow.class,
            kind: if self.acknowledges { Kind::Ack } else { Kind::Data },
            flags: self.flags,
        }
    }

    /// Writes the properties, with the length of the wrapped frame.
    pub(crate) fn put(&self, head: &mut Head, wrapped: usize) -> Result<(), Unfit> {
        if !(SMALLEST_WRAPPED..=LARGEST_WRAPPED).contains(&wrapped) {
            return Err(Unfit::Wrapped);
        }
        if self.flags & !FLAGS != 0 {
            return Err(Unfit::Flags);
        }
        head.put(KIND, [u8::from(self.acknowledges)]);
        head.put(FLAGS_AT, [self.flags]);
        head.put(CLASS, [self.flow.class]);
        head.put(UPSTREAM_QUEUE, self.upstream_queue.to_be_bytes());
        head.put(WIRE, self.wire.to_be_bytes());
        head.put(LENGTH, (wrapped as u16).to_be_bytes());
        head.put(DST, self.dst.to_be_bytes());
        head.put(SRC, self.src.to_be_bytes());
        head.put(FLOW, self.flow.flow.to_be_bytes());
        head.put(SLOT, self.flow.slot.to_be_bytes());
        head.put(KEY, self.key.to_be_bytes());
        head.put(SEQ, self.seq.to_be_bytes());
        Ok(())
    }

    /// Reads the properties of a packet, before `wrapped` bytes.
    pub(crate) fn get(head: &Head, wrapped: usize, port: &Port) -> Result<Header, Refused> {
        let length = usize::from(head.u16(LENGTH));
        let header = Header {
            acknowledges: match head.u8(KIND) {
                0 => false,
                1 => true,
                _ => return Err(Refused::Operation),
            },
            flags: head.u8(FLAGS_AT),
            upstream_queue: head.u16(UPSTREAM_QUEUE),
            wire: head.u16(WIRE),
            dst: head.u16(DST),
            src: head.u16(SRC),
            flow: FlowName { flow: head.u32(FLOW), slot: head.u32(SLOT), class: head.u8(CLASS) },
            key: head.u32(KEY),
            seq: head.u32(SEQ),
        };
        let bounds = [
            (header.flags & !FLAGS == 0, Refused::Flags),
            (length <= wrapped, Refused::Truncated),
            (length >= wrapped, Refused::Trailing),
            (length >= SMALLEST_WRAPPED, Refused::WrappedRunt),
            (header.wire >= SMALLEST_WIRE && usize::from(header.wire) >= length, Refused::WireTooSmall),
            (header.wire <= port.largest, Refused::WireTooLarge),
            (header.upstream_queue < port.upstream_queues, Refused::Queue),
            (header.flow.class < port.classes, Refused::Class),
            (u32::from(header.dst) < port.hosts && u32::from(header.src) < port.hosts, Refused::Host),
        ];
        bounds.iter().find(|(holds, _)| !holds).map_or(Ok(header), |(_, reason)| Err(*reason))
    }
}

/// Bytes of the smallest packet on a wire, with its check sequence.
const SMALLEST_WIRE: u16 = 64;

const KIND: usize = 16;
const FLAGS_AT: usize = 17;
const CLASS: usize = 18;
const UPSTREAM_QUEUE: usize = 20;
const WIRE: usize = 22;
const LENGTH: usize = 24;
const DST: usize = 26;
const SRC: usize = 28;
const FLOW: usize = 32;
const SLOT: usize = 36;
const KEY: usize = 40;
const SEQ: usize = 44;
