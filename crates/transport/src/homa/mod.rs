//! Homa: messages whose receivers decide who may send, and at which priority.
//!
//! Source: Montazeri et al., "Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network Priorities", SIGCOMM
//! 2018. Details that the paper leaves open are as in its simulator, and parameters are those of BFC's comparison
//! (baselines 7). A flow is a message.
//!
//! * A sender sends the first RTTbytes of a message unscheduled, at the level of the message's size. It sends the rest
//!   as it is granted, at the level of the last grant. Among several messages, the one with the fewest packets left
//!   goes first ([`Sender::left`](crate::Sender::left)).
//! * A receiver grants to the messages with the fewest packets left, one of each sender, to `overcommitment` senders at
//!   most. A grant keeps RTTbytes of its message in flight: every packet that arrives allows another.
//! * With `m` messages granted to, the `m` lowest of `P` levels are in use, the highest of them for the message with
//!   the fewest packets left: `level = P - m + rank`. A new message with fewer packets left than all others therefore
//!   leaves their levels unchanged. A new message with more packets left raises the levels of those ahead of it. Their
//!   packets in flight at the old level then arrive behind later ones.
//! * The number of unscheduled levels is in proportion to unscheduled bytes, `round(P E[min(S, RTTbytes)] / E[S])`, and
//!   their cutoffs give each level an equal share of these bytes. Both follow from the distribution of sizes `S`; here
//!   they are given as [`HomaLevels`].
//! * Losses are detected by time, because paths and priorities reorder packets. A receiver that gets no packet of a
//!   message for `rto` asks again for all packets that may have been sent (RESEND), run by run. A sender without any
//!   answer, or without the last one, sends a packet again. The last packet to arrive is answered by an acknowledgement
//!   of the whole message.
//!
//! On the wire: data packets carry the length of their message. Answers carry the granted length and the level, among
//! the headers that every packet has. An ACK is a GRANT, with the first missing packet and the number of packets that
//! have arrived. A NACK is a RESEND, with a run of packets in place of that number.
//!
//! Length and position of a data packet together tell the packets left of its message, by which a switch may serve
//! unscheduled packets without a further field. A retransmitted packet counts all packets from it on, even those that
//! have arrived.
//!
//! Differs from the paper: messages go one way, with an acknowledgement in place of an RPC's response. A host that is
//! asked for packets that it has not sent yet does not answer BUSY: it sends them in their turn.
//!
//! Differs from the paper's simulator:
//!
//! * A message that is granted to anew may get one grant for several packets. In the simulator each packet has its own
//!   grant.
//! * The level of a packet follows from the size of its message, not from the packets left.
//! * The last RTTbytes to be granted are not raised to an unscheduled level.

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

/// Homa.
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

/// Header of Homa.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomaHeader {
    /// Packets of the message in a data packet; packets granted so far in an answer.
    pub packets: u32,
    /// Packets to be sent again, in a RESEND.
    pub span: u16,
    /// Level of scheduled packets, in an answer.
    pub level: u8,
}

const _: () = assert!(size_of::<HomaHeader>() == 8, "a cell stays a cache line");

impl HomaHeader {
    /// Makes the header of data of a message of `packets` packets.
    #[inline(always)]
    pub(crate) fn of_data(packets: u32) -> HomaHeader {
        HomaHeader { packets, span: 0, level: 0 }
    }
}

impl Extension for HomaHeader {
    type Port = ();
    const TELLS_LEFT: bool = true;

    fn port(_link: &LinkShape) {}

    /// Packets of the message from this one on.
    #[inline(always)]
    fn left(&self, packet: &Packet) -> u64 {
        self.packets.saturating_sub(packet.seq).into()
    }
}
