//! Receiving side of ExpressPass: sends credits while they are requested, and takes packets in order.

use crate::expresspass::{CreditRate, ExpressPassHeader, ExpressPassReceiverParams};
use crate::flow::{Receiver, Reply};
use backwater_types::{Duration, Frame, Instant, Kind, Packet, TIMER_MAX, flags, hash};

/// Receiving end of a flow.
#[derive(Clone, Debug)]
pub struct ExpressPassReceiver {
    /// A packet of the flow, from which credits take their addresses.
    of: Packet,
    /// Next packet missing.
    expected: u32,
    done: bool,
    /// Time of the last NACK for it.
    nacked: Instant,
    rate: CreditRate,
    /// Number of the next credit.
    credits: u32,
    /// Number of the credit whose answer comes next if none is lost.
    answers: u32,
    /// Send time of the next credit; [`Instant::NEVER`]: none is requested.
    due: Instant,
}

impl Default for ExpressPassReceiver {
    fn default() -> ExpressPassReceiver {
        ExpressPassReceiver {
            of: Packet::NONE,
            expected: 0,
            done: false,
            nacked: Instant::NEVER,
            rate: CreditRate::default(),
            credits: 0,
            answers: 0,
            due: Instant::NEVER,
        }
    }
}

impl Receiver for ExpressPassReceiver {
    type Params = ExpressPassReceiverParams;
    type Extension = ExpressPassHeader;
    type Host = ();

    #[inline]
    fn on_packet(
        &mut self,
        params: &ExpressPassReceiverParams,
        _host: &mut (),
        now: Instant,
        packet: &Frame<ExpressPassHeader>,
        also: &mut impl FnMut(&Packet, Reply<ExpressPassHeader>),
    ) -> Option<Reply<ExpressPassHeader>> {
        if self.of.wire == 0 {
            self.of = packet.packet;
        }
        match packet.kind {
            Kind::Request => {
                self.on_request(params, now, packet.extension.number, also);
                None
            }
            _ => self.on_data(params, now, packet),
        }
    }

    #[inline(always)]
    fn timer(&self, _params: &ExpressPassReceiverParams, _host: &()) -> Instant {
        self.due
    }

    fn on_timer(
        &mut self,
        params: &ExpressPassReceiverParams,
        _host: &mut (),
        now: Instant,
        reply: &mut impl FnMut(&Packet, Reply<ExpressPassHeader>),
    ) {
        self.send_credit(params, now, reply);
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.done
    }

    /// Acknowledges the whole flow; a request for no more credits needs no answer.
    fn late(params: &ExpressPassReceiverParams, packet: &Frame<ExpressPassHeader>) -> Option<Reply<ExpressPassHeader>> {
        match packet.kind {
            Kind::Request => (packet.extension.number > 0).then(|| params.reply(Kind::Ack, packet.seq)),
            _ => Some(params.reply(Kind::Ack, packet.seq + 1)),
        }
    }
}

impl ExpressPassReceiver {
    /// Handles a request of a sender with `left` packets left.
    fn on_request(
        &mut self,
        params: &ExpressPassReceiverParams,
        now: Instant,
        left: u32,
        reply: &mut impl FnMut(&Packet, Reply<ExpressPassHeader>),
    ) {
        if left == 0 {
            self.due = Instant::NEVER;
        } else if self.due == Instant::NEVER {
            self.rate.start(&params.of, now, left);
            self.answers = self.credits;
            self.send_credit(params, now, reply);
        }
    }

    #[inline]
    fn on_data(
        &mut self,
        params: &ExpressPassReceiverParams,
        now: Instant,
        packet: &Frame<ExpressPassHeader>,
    ) -> Option<Reply<ExpressPassHeader>> {
        let credit = packet.extension;
        // Credits from before the last request do not count.
        if credit.number >= self.answers {
            self.rate.on_data(now, credit.sent, credit.number - self.answers);
            self.answers = credit.number + 1;
        }
        if packet.seq == self.expected {
            self.expected += 1;
            self.nacked = Instant::NEVER;
            self.done = packet.has(flags::LAST);
            self.done.then(|| params.reply(Kind::Ack, self.expected))
        } else {
            let nacks = packet.seq > self.expected && self.nacks(params, now);
            nacks.then(|| params.reply(Kind::Nack, self.expected))
        }
    }

    /// Whether to send a NACK now.
    fn nacks(&mut self, params: &ExpressPassReceiverParams, now: Instant) -> bool {
        let nacks = self.nacked == Instant::NEVER || now.since(self.nacked) >= params.nack_guard;
        if nacks {
            self.nacked = now;
        }
        nacks
    }

    fn send_credit(
        &mut self,
        params: &ExpressPassReceiverParams,
        now: Instant,
        reply: &mut impl FnMut(&Packet, Reply<ExpressPassHeader>),
    ) {
        let gap = params.gaps[self.of.dst as usize];
        self.rate.on_credit(&params.of, now, gap);
        let (number, draw) = (self.credits, params.draw(self.of.flow, self.credits));
        self.credits += 1;
        let jitter = params.of.jitter * (2.0 * (draw >> 32) as f64 / 4_294_967_296.0 - 1.0);
        let wait = (gap / self.rate.share() * (1.0 + jitter)).min(TIMER_MAX.0 as f64);
        self.due = now + Duration((wait as u64).max(1));
        let sizes = (params.of.credit_max.0 - params.of.credit_min.0 + 1) as u32;
        let wire = params.of.credit_min.0 as u16 + hash::range32(draw as u32, sizes) as u16;
        let extension = ExpressPassHeader { number, sent: now };
        reply(&self.of, Reply { kind: Kind::Credit, seq: self.expected, word: None, wire, flags: 0, extension });
    }
}

impl ExpressPassReceiverParams {
    /// Draws random bits for the size of a flow's credit and for the time until the next.
    fn draw(&self, flow: u32, number: u32) -> u64 {
        hash::draw(hash::stream(self.seed, 0x6372_6564, flow.into()), number.into())
    }

    fn reply(&self, kind: Kind, seq: u32) -> Reply<ExpressPassHeader> {
        Reply { kind, seq, word: None, wire: self.ack_wire, flags: 0, extension: ExpressPassHeader::default() }
    }
}
