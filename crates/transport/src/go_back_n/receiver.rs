//! The receiving side of go-back-N: takes packets in order and answers all others with the number it expects.

use crate::flow::{Receiver, Reply};
use crate::notifier::{Notifier, cnp};
use backwater_types::{Duration, Extension, Frame, Instant, Kind, Packet, flags};
use core::marker::PhantomData;

/// Parameters of a [`GoBackNReceiver`].
#[derive(Clone, Copy, Debug)]
pub struct GoBackNReceiverParams {
    /// Wire bytes of an ACK or NACK.
    pub ack_wire: u16,
    /// Least time between two NACKs for the same packet.
    pub nack_guard: Duration,
    /// Whether duplicates are acknowledged.
    pub answers_duplicates: bool,
    /// Least time between two congestion notifications; `None`: the receiver sends none ([`Control::notifies`]).
    ///
    /// [`Control::notifies`]: crate::Control::notifies
    pub notifies: Option<Duration>,
    /// Packets that are acknowledged; `None`: all.
    pub acknowledged: Option<Acknowledged>,
}

/// Rule of the packets that a receiver acknowledges. Packets qualify that end at byte `from` of their flow or beyond,
/// or at a multiple of `multiples_of` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Bytes.
    pub from: u64,
    /// Bytes.
    pub multiples_of: u64,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Wire bytes of a full packet.
    pub full_wire: u64,
}

impl Acknowledged {
    /// Whether `packet` is acknowledged.
    fn covers(&self, packet: &Packet) -> bool {
        let end = (packet.seq as u64 + 1) * self.payload - (self.full_wire - packet.wire as u64);
        end >= self.from || end.is_multiple_of(self.multiples_of)
    }
}

/// Receiving side of one flow. Acknowledgements carry the extension of the packet that they answer.
#[derive(Clone, Debug)]
pub struct GoBackNReceiver<E = ()> {
    /// Next packet expected.
    expected: u32,
    done: bool,
    /// Time of the last NACK for `expected`; never if none was sent.
    nacked: Instant,
    /// Congestion notifications, if any are sent.
    notifier: Notifier,
    carries: PhantomData<E>,
}

impl<E> Default for GoBackNReceiver<E> {
    fn default() -> GoBackNReceiver<E> {
        let (nacked, notifier) = (Instant::NEVER, Notifier::default());
        GoBackNReceiver { expected: 0, done: false, nacked, notifier, carries: PhantomData }
    }
}

impl<E: Extension> Receiver for GoBackNReceiver<E> {
    type Params = GoBackNReceiverParams;
    type Extension = E;
    type Host = ();

    #[inline(always)]
    fn on_packet(
        &mut self,
        params: &GoBackNReceiverParams,
        _host: &mut (),
        now: Instant,
        packet: &Frame<E>,
        also: &mut impl FnMut(&Packet, Reply<E>),
    ) -> Option<Reply<E>> {
        if self.notifier.on_packet(now, params.notifies, packet) {
            also(packet, cnp(packet, params.ack_wire));
        }
        let kind = if packet.seq == self.expected {
            self.expected += 1;
            self.nacked = Instant::NEVER;
            self.done = packet.has(flags::LAST);
            if params.acknowledged.is_some_and(|which| !which.covers(packet)) {
                return None;
            }
            Kind::Ack
        } else if packet.seq < self.expected {
            if !params.answers_duplicates {
                return None;
            }
            Kind::Ack
        } else {
            if self.nacked != Instant::NEVER && now.since(self.nacked) < params.nack_guard {
                return None;
            }
            self.nacked = now;
            Kind::Nack
        };
        Some(params.reply(packet, kind, self.expected))
    }

    #[inline(always)]
    fn timer(&self, _params: &GoBackNReceiverParams, _host: &()) -> Instant {
        self.notifier.timer()
    }

    fn on_timer(
        &mut self,
        params: &GoBackNReceiverParams,
        _host: &mut (),
        now: Instant,
        reply: &mut impl FnMut(&Packet, Reply<E>),
    ) {
        if let Some(packet) = self.notifier.on_timer(now, params.notifies) {
            reply(packet, cnp(packet, params.ack_wire));
        }
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.done
    }

    fn late(params: &GoBackNReceiverParams, packet: &Frame<E>) -> Option<Reply<E>> {
        params.answers_duplicates.then(|| params.reply(packet, Kind::Ack, packet.seq + 1))
    }
}

impl GoBackNReceiverParams {
    #[inline(always)]
    fn reply<E: Extension>(&self, packet: &Frame<E>, kind: Kind, seq: u32) -> Reply<E> {
        let (flags, extension) = (packet.flags & flags::CE, packet.extension);
        Reply { kind, seq, word: None, wire: self.ack_wire, flags, extension }
    }
}
