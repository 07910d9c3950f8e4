//! What recording needs of a packet, in parts.

use backwater_types::{FlowName, Kind, Packet, QueueId, flags};

/// Parts of a packet, for what is out of line.
///
/// Were that shown the packet itself, or a whole copy, the packet would have to be in memory for its sake, also where
/// nothing is recorded of it; and what is written to memory in parts and then put on a link as a whole waits for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(super) name: FlowName,
    pub(super) seq: u32,
    pub(super) src: u16,
    pub(super) wire: u16,
    /// The queue it left last.
    pub(super) upstream_queue: QueueId,
    /// It is data.
    pub(super) data: bool,
    /// It is the last of its flow.
    pub(super) last: bool,
    /// It is data with a mark.
    pub(super) marked: bool,
}

impl Label {
    #[inline(always)]
    pub(super) fn of(packet: &Packet) -> Label {
        let data = packet.kind == Kind::Data;
        Label {
            name: packet.flow_name(),
            seq: packet.seq,
            src: packet.src,
            wire: packet.wire,
            upstream_queue: packet.upstream_queue,
            data,
            last: packet.has(flags::LAST),
            marked: data && packet.has(flags::CE),
        }
    }
}
