//! Parts of a packet that recording needs.

use backwater_types::{FlowName, Kind, Packet, QueueId, flags};

/// Parts of a packet, for code out of line.
///
/// A reference to the packet, or a whole copy, would force every packet into memory, even those of which nothing is
/// recorded. Then a packet that is written in parts and put on a link as a whole stalls the load until its own stores
/// are done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    pub(super) name: FlowName,
    pub(super) seq: u32,
    pub(super) src: u16,
    pub(super) wire: u16,
    /// Queue that it left last.
    pub(super) upstream_queue: QueueId,
    /// Data, as opposed to ACKs, NACKs, credits and frames.
    pub(super) data: bool,
    /// Last packet of its flow.
    pub(super) last: bool,
    /// Data with a congestion mark.
    pub(super) marked: bool,
}

impl Label {
    /// Takes the parts of a packet.
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
