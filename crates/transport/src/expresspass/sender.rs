//! Sending side of ExpressPass: requests credits, and sends a packet for each.

use crate::expresspass::{ExpressPassFlowParams, ExpressPassHeader};
use crate::flow::{Next, Outgoing, Sender, Start};
use crate::tcp::TimeoutReason;
use backwater_types::{Duration, Frame, Instant, Kind, flags};

/// Sending end of a flow. Its NIC takes packets at once, so a sender holds one credit at most.
#[derive(Clone, Debug)]
pub struct ExpressPassSender {
    start: Start,
    /// Next packet to send.
    next: u32,
    /// First packet not acknowledged.
    acked: u32,
    /// One more than the last packet ever sent.
    high: u32,
    retransmitted: u32,
    phase: Phase,
    /// Request that waits to be sent.
    asks: Option<Ask>,
    /// Credit that no packet has answered yet.
    credit: Option<ExpressPassHeader>,
    /// Credits that arrived with nothing left to send.
    wasted: u32,
    /// Time of the last request for credits.
    asked: Instant,
    /// Time from that request to the first credit.
    round_trip: Duration,
    /// Credits that arrived since `counted`.
    came: u32,
    counted: Instant,
    /// Time at which the sender requests credits again, unless an answer comes before.
    deadline: Instant,
}

/// State of a flow's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Credits are requested, and none has arrived.
    Asking,
    /// Credits arrive.
    Credited,
    /// The sender has told the receiver to stop credits.
    Stopped,
}

/// Purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Credits,
    NoMore,
}

impl ExpressPassSender {
    /// Opens a flow.
    pub fn new(now: Instant, start: Start) -> ExpressPassSender {
        ExpressPassSender {
            start,
            next: 0,
            acked: 0,
            high: 0,
            retransmitted: 0,
            phase: Phase::Asking,
            asks: Some(Ask::Credits),
            credit: None,
            wasted: 0,
            asked: now,
            round_trip: Duration::ZERO,
            came: 0,
            counted: now,
            deadline: Instant::NEVER,
        }
    }

    #[inline(always)]
    fn left(&self) -> u32 {
        self.start.packets - self.next
    }

    #[inline(always)]
    fn wire(&self, params: &ExpressPassFlowParams) -> u16 {
        if self.next + 1 == self.start.packets { self.start.last_wire } else { params.full_wire }
    }

    /// Takes note that the receiver has all packets before `seq`.
    #[inline(always)]
    fn advance(&mut self, seq: u32) {
        self.acked = self.acked.max(seq.min(self.start.packets));
        self.next = self.next.max(self.acked);
    }

    /// Goes back to packet `seq`, which the receiver misses; for the retransmissions credits may have to be requested.
    fn go_back(&mut self, seq: u32) {
        self.next = seq;
        if self.phase == Phase::Stopped {
            self.asks = Some(Ask::Credits);
        }
    }

    fn on_credit(&mut self, params: &ExpressPassFlowParams, now: Instant, credit: ExpressPassHeader) {
        if self.phase != Phase::Stopped {
            self.deadline = now + params.rto;
        }
        self.came += 1;
        if self.phase == Phase::Asking && self.asks.is_none() {
            self.phase = Phase::Credited;
            self.round_trip = now.since(self.asked);
            self.counted = now;
        }
        if self.left() == 0 || self.credit.is_some() {
            self.wasted += 1;
            return;
        }
        self.credit = Some(credit);
        if self.phase == Phase::Credited && params.receiver.of.early_stop && now.since(self.counted) >= self.round_trip
        {
            // The packet that answers this credit no longer counts as left.
            if self.came >= self.left() - 1 && self.left() > 1 {
                self.asks = Some(Ask::NoMore);
            }
            (self.came, self.counted) = (0, now);
        }
    }

    /// Makes the request that waits.
    fn ask(&mut self, params: &ExpressPassFlowParams, now: Instant, ask: Ask) -> Outgoing<ExpressPassHeader> {
        self.asks = None;
        let number = match ask {
            Ask::Credits => {
                self.phase = Phase::Asking;
                self.asked = now;
                self.deadline = now + params.receiver.of.retry;
                self.left()
            }
            Ask::NoMore => {
                self.phase = Phase::Stopped;
                // Credits in flight arrive within a round trip, or they are lost.
                let early = self.left() > 0;
                self.deadline = now + if early { Duration(2 * self.round_trip.0) } else { params.rto };
                0
            }
        };
        Outgoing {
            kind: Kind::Request,
            seq: self.start.packets,
            wire: params.receiver.ack_wire,
            class: self.start.class,
            flags: 0,
            extension: ExpressPassHeader { number, sent: now },
        }
    }

    /// Makes the packet that answers `credit`.
    #[inline(always)]
    fn data(
        &mut self,
        params: &ExpressPassFlowParams,
        now: Instant,
        credit: ExpressPassHeader,
    ) -> Outgoing<ExpressPassHeader> {
        let (seq, wire) = (self.next, self.wire(params));
        self.next += 1;
        if seq < self.high {
            self.retransmitted += 1;
        } else {
            self.high = self.next;
        }
        let last = if self.left() == 0 { flags::LAST } else { 0 };
        if self.left() == 0 {
            self.asks = (self.phase == Phase::Credited).then_some(Ask::NoMore);
            self.deadline = now + params.rto;
        }
        let (class, flags) = (self.start.class, self.start.flags | last);
        Outgoing { kind: Kind::Data, seq, wire, class, flags, extension: credit }
    }
}

impl Sender for ExpressPassSender {
    type Params = ExpressPassFlowParams;
    type Extension = ExpressPassHeader;
    type Due = ();

    fn peek(&self, params: &ExpressPassFlowParams, _now: Instant) -> Next<u16> {
        match (self.credit, self.asks) {
            (Some(_), _) if self.left() > 0 => Next::Packet(self.wire(params)),
            (_, Some(_)) => Next::Packet(params.receiver.ack_wire),
            _ => Next::Blocked,
        }
    }

    #[inline]
    fn next_packet(&mut self, params: &ExpressPassFlowParams, now: Instant) -> Next<Outgoing<ExpressPassHeader>> {
        if let Some(credit) = self.credit.take() {
            if self.left() > 0 {
                return Next::Packet(self.data(params, now, credit));
            }
            self.wasted += 1;
        }
        self.asks.map_or(Next::Blocked, |ask| Next::Packet(self.ask(params, now, ask)))
    }

    #[inline]
    fn on_packet(&mut self, params: &ExpressPassFlowParams, now: Instant, packet: &Frame<ExpressPassHeader>) {
        self.advance(packet.seq);
        match packet.kind {
            Kind::Credit => self.on_credit(params, now, packet.extension),
            Kind::Nack if (self.acked..self.next).contains(&packet.seq) => self.go_back(packet.seq),
            _ => {}
        }
    }

    #[inline(always)]
    fn timer(&self, _params: &ExpressPassFlowParams) -> Instant {
        if self.is_done() { Instant::NEVER } else { self.deadline }
    }

    /// Requests credits again, and goes back to the first packet not acknowledged; the first credit may acknowledge
    /// more.
    fn on_timer(&mut self, params: &ExpressPassFlowParams, now: Instant) -> Option<TimeoutReason> {
        if self.left() == 0 {
            self.next = self.acked;
        }
        self.asks = Some(Ask::Credits);
        self.deadline = now + params.receiver.of.retry;
        None
    }

    #[inline(always)]
    fn has_unsent(&self) -> bool {
        self.left() > 0 || self.asks.is_some()
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.acked == self.start.packets
    }

    fn acknowledged(&self) -> u32 {
        self.acked
    }

    fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    fn wasted(&self) -> u32 {
        self.wasted
    }

    #[inline(always)]
    fn key(&self) -> u32 {
        self.start.key
    }

    #[inline(always)]
    fn class(&self) -> u8 {
        self.start.class
    }
}
