//! Receiving end of a message: a handle into the [`Inbox`] of its host, which holds its state and decides on grants.

use super::grants::Inbox;
use super::{HomaHeader, HomaReceiverParams};
use crate::flow::{Receiver, Reply};
use backwater_types::{Frame, Instant, Kind, Packet};

/// Receiving end of a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct HomaReceiver {
    /// Number of the message in the inbox.
    number: Option<u32>,
    done: bool,
}

impl Receiver for HomaReceiver {
    type Params = HomaReceiverParams;
    type Extension = HomaHeader;
    type Host = Inbox;

    #[inline(always)]
    fn on_packet(
        &mut self,
        params: &HomaReceiverParams,
        inbox: &mut Inbox,
        now: Instant,
        packet: &Frame<HomaHeader>,
        also: &mut impl FnMut(&Packet, Reply<HomaHeader>),
    ) -> Option<Reply<HomaHeader>> {
        let number = *self.number.get_or_insert_with(|| inbox.open(params, now, packet));
        // The packet may cause grants to other messages.
        self.done = inbox.on_data(params, number, now, packet.seq, also);
        None
    }

    #[inline(always)]
    fn timer(&self, params: &HomaReceiverParams, inbox: &Inbox) -> Instant {
        self.number.map_or(Instant::NEVER, |number| inbox.deadline(params, number))
    }

    fn on_timer(
        &mut self,
        params: &HomaReceiverParams,
        inbox: &mut Inbox,
        now: Instant,
        reply: &mut impl FnMut(&Packet, Reply<HomaHeader>),
    ) {
        if let Some(number) = self.number {
            inbox.on_silence(params, number, now, reply);
        }
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.done
    }

    /// Acknowledges the whole message.
    fn late(params: &HomaReceiverParams, packet: &Frame<HomaHeader>) -> Option<Reply<HomaHeader>> {
        let packets = packet.extension.packets;
        let extension = HomaHeader { packets, span: 0, level: params.levels.levels - 1 };
        Some(Reply { kind: Kind::Ack, seq: packets, word: Some(packets), wire: params.ack_wire, flags: 0, extension })
    }
}
