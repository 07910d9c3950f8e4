//! A message at its receiver: the [`Inbox`] of its host knows what has come of it, and who may send.

use super::grants::Inbox;
use super::{HomaHeader, HomaReceiverParams};
use crate::flow::{Receiver, Reply};
use backwater_types::{Frame, Instant, Kind, Packet};

/// A message at its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct HomaReceiver {
    /// Its number in the inbox.
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
        // It may be that others are told more.
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

    /// All of it has arrived.
    fn late(params: &HomaReceiverParams, packet: &Frame<HomaHeader>) -> Option<Reply<HomaHeader>> {
        let packets = packet.extension.packets;
        let extension = HomaHeader { packets, span: 0, level: params.levels.levels - 1 };
        Some(Reply { kind: Kind::Ack, seq: packets, word: Some(packets), wire: params.ack_wire, flags: 0, extension })
    }
}
