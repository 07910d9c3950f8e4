//! Homa: messages whose receivers say who may send, and at which priority.
//!
//! Source: Montazeri et al., "Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network Priorities", SIGCOMM 2018; what is
//! not said there is as in its simulator, and parameters are those of BFC's comparison (baselines 7). A flow is a message.
//!
//! * A sender sends the first RTTbytes of a message unasked, at the level of the message's size; the rest as it is granted, at the
//!   level the last grant said. Of several messages that with the fewest packets left goes first
//!   ([`Sender::left`](crate::Sender::left)).
//! * A receiver grants to the messages with the fewest packets left, of as many senders as `overcommitment` says, one of each sender. To
//!   each so much that RTTbytes of it may be on their way: with every packet that comes another may go.
//! * With `m` messages granted to, of `P` levels the `m` lowest are in use, the message with the fewest packets left at the highest of
//!   them: `level = P - m + rank`. So one that comes with less left than all others leaves them their levels. One that comes with more
//!   raises those ahead of it, whose packets that are on their way at the level before then wait for theirs that follow.
//! * Unscheduled levels are as many as the share of unscheduled bytes, `round(P E[min(S, RTTbytes)] / E[S])`, and their cutoffs give
//!   each an equal share of these. Whoever knows the distribution of sizes `S` computes that; here they are [`HomaLevels`].
//! * What is lost is not missed by its order, which paths and priorities upset, but by time. A receiver that has heard nothing of a
//!   message for `rto` asks again for what may have been sent (RESEND), run by run; a sender that nobody has answered, or that waits
//!   for the last answer, sends a packet again. The last packet to arrive is answered by an acknowledgement of the whole message.
//!
//! On the wire: data packets carry the length of their message, answers how far it is granted and at which level, among the headers
//! that every packet has. An ACK is a GRANT, and says which packet is the first missing and how many have come; a NACK is a RESEND, and
//! names a run of packets in place of that.
//!
//! Length and place of a data packet together say what is left of its message, by which a switch may serve unscheduled
//! packets: it takes no field of its own. Of a packet that is sent again that is all from it on, even what has arrived.
//!
//! Differs from the paper: messages go one way, so that there is an acknowledgement in place of an RPC's response. A host asked for
//! packets that it has not sent yet is not BUSY but silent: it sends them in their turn. Differs from its simulator: a grant may
//! cover several packets, where a message is granted to anew, in place of one for each packet's time; a packet has the level of its
//! message's size and not of what is left of it; and what is left to be granted of a message is not raised to an unscheduled level
//! when it is less than RTTbytes.

mod grants;
mod params;
mod receiver;
mod sender;

pub use grants::Inbox;
pub use params::{HomaFlowParams, HomaLevels, HomaParams, HomaReceiverParams};
pub use receiver::HomaReceiver;
pub use sender::HomaSender;

use crate::flow::{Start, Transport};
use backwater_types::{Extension, Instant, LinkShape, Packet};

/// The transport.
#[derive(Debug)]
pub struct Homa;

impl Transport for Homa {
    type Extension = HomaHeader;
    type Params = HomaFlowParams;
    type Sender = HomaSender;
    type Receiver = HomaReceiver;
    type Peers = ();

    fn open(params: &HomaFlowParams, _peers: &mut (), now: Instant, start: Start) -> HomaSender {
        HomaSender::new(params, now, start)
    }

    fn receiving(params: &HomaFlowParams) -> &HomaReceiverParams {
        &params.receiver
    }
}

/// What packets of Homa say beside what all packets do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomaHeader {
    /// Of data: packets of its message. Of an answer: packets of the message that may be sent.
    pub packets: u32,
    /// Of a RESEND: packets to be sent again.
    pub span: u16,
    /// Of an answer: level of scheduled packets.
    pub level: u8,
}

const _: () = assert!(size_of::<HomaHeader>() == 8, "a cell stays a cache line");

impl HomaHeader {
    /// On a packet of a message of so many.
    #[inline(always)]
    pub(crate) fn of_data(packets: u32) -> HomaHeader {
        HomaHeader { packets, span: 0, level: 0 }
    }
}

impl Extension for HomaHeader {
    type Port = ();
    const TELLS_LEFT: bool = true;

    fn port(_link: &LinkShape) {}

    /// Packets of the message from this one on, as its length and the packet's place in it say.
    #[inline(always)]
    fn left(&self, packet: &Packet) -> u64 {
        self.packets.saturating_sub(packet.seq).into()
    }
}
