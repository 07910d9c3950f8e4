//! Datagrams that an application writes at a constant rate, neither acknowledged nor retransmitted.

use crate::flow::{Next, Outgoing, Sender, Start};
use crate::tcp::TimeoutReason;
use backwater_types::{Extension, Frame, Instant, Kind, SerTime, flags};

/// Datagrams of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Datagrams {
    start: Start,
    full_wire: u16,
    rate: SerTime,
    next: u32,
    /// Time at which the next datagram is written.
    due: Instant,
}

impl Datagrams {
    /// Starts a flow of datagrams, full ones of `full_wire` bytes.
    pub fn new(start: Start, full_wire: u16, rate: SerTime, now: Instant) -> Datagrams {
        Datagrams { start, full_wire, rate, next: 0, due: now }
    }

    #[inline(always)]
    fn peek(&self, now: Instant) -> Next<u16> {
        if self.next == self.start.packets {
            Next::Blocked
        } else if self.due > now {
            Next::NotBefore(self.due)
        } else {
            Next::Packet(if self.next + 1 == self.start.packets { self.start.last_wire } else { self.full_wire })
        }
    }

    /// Sends the next datagram that was written. Datagrams that were held back follow at once.
    #[inline(always)]
    fn next_packet<E: Extension>(&mut self, now: Instant) -> Next<Outgoing<E>> {
        let wire = match self.peek(now) {
            Next::Packet(wire) => wire,
            Next::NotBefore(due) => return Next::NotBefore(due),
            Next::Blocked => return Next::Blocked,
        };
        let seq = self.next;
        self.next += 1;
        self.due += self.rate.of_bytes(wire as u64);
        let last = if self.next == self.start.packets { flags::LAST } else { 0 };
        let flags = (self.start.flags | last | flags::DATAGRAM) & !flags::ECT;
        Next::Packet(Outgoing { kind: Kind::Data, seq, wire, class: self.start.class, flags, extension: E::default() })
    }
}

/// Source of a flow's packets.
#[derive(Clone, Debug)]
pub enum Source<S> {
    /// Sender of a transport.
    Flow(S),
    /// Application without a transport.
    Datagrams(Datagrams),
}

impl<S: Sender> Sender for Source<S> {
    type Params = S::Params;
    type Extension = S::Extension;
    type Due = S::Due;
    const TIMER_RECEDES: bool = S::TIMER_RECEDES;

    #[inline(always)]
    fn peek(&self, params: &S::Params, now: Instant) -> Next<u16> {
        match self {
            Source::Flow(flow) => flow.peek(params, now),
            Source::Datagrams(datagrams) => datagrams.peek(now),
        }
    }

    #[inline(always)]
    fn next_packet(&mut self, params: &S::Params, now: Instant) -> Next<Outgoing<S::Extension>> {
        match self {
            Source::Flow(flow) => flow.next_packet(params, now),
            Source::Datagrams(datagrams) => datagrams.next_packet(now),
        }
    }

    #[inline(always)]
    fn on_packet(&mut self, params: &S::Params, now: Instant, packet: &Frame<S::Extension>) {
        if let Source::Flow(flow) = self {
            flow.on_packet(params, now, packet);
        }
    }

    #[inline(always)]
    fn timer(&self, params: &S::Params) -> Instant {
        match self {
            Source::Flow(flow) => flow.timer(params),
            Source::Datagrams(_) => Instant::NEVER,
        }
    }

    fn on_timer(&mut self, params: &S::Params, now: Instant) -> Option<TimeoutReason> {
        match self {
            Source::Flow(flow) => flow.on_timer(params, now),
            Source::Datagrams(_) => None,
        }
    }

    #[inline(always)]
    fn take_armed(&mut self) -> Option<(Instant, u8)> {
        match self {
            Source::Flow(flow) => flow.take_armed(),
            Source::Datagrams(_) => None,
        }
    }

    fn on_expiry(&mut self, params: &S::Params, now: Instant, timer: u8) {
        if let Source::Flow(flow) = self {
            flow.on_expiry(params, now, timer);
        }
    }

    fn next_send(&self) -> Instant {
        match self {
            Source::Flow(flow) => flow.next_send(),
            Source::Datagrams(datagrams) => datagrams.due,
        }
    }

    #[inline(always)]
    fn moves(&self) -> bool {
        match self {
            Source::Flow(flow) => flow.moves(),
            Source::Datagrams(_) => false,
        }
    }

    #[inline(always)]
    fn take_moved(&mut self) -> bool {
        match self {
            Source::Flow(flow) => flow.take_moved(),
            Source::Datagrams(_) => false,
        }
    }

    #[inline(always)]
    fn has_unsent(&self) -> bool {
        match self {
            Source::Flow(flow) => flow.has_unsent(),
            Source::Datagrams(datagrams) => datagrams.next < datagrams.start.packets,
        }
    }

    #[inline(always)]
    fn left(&self) -> u32 {
        match self {
            Source::Flow(flow) => flow.left(),
            Source::Datagrams(datagrams) => datagrams.start.packets - datagrams.next,
        }
    }

    #[inline(always)]
    fn left_bytes(&self, params: &S::Params) -> u64 {
        match self {
            Source::Flow(flow) => flow.left_bytes(params),
            Source::Datagrams(_) => u64::MAX,
        }
    }

    /// Whether the flow is over: for datagrams, once the last was sent.
    #[inline(always)]
    fn is_done(&self) -> bool {
        match self {
            Source::Flow(flow) => flow.is_done(),
            Source::Datagrams(datagrams) => datagrams.next == datagrams.start.packets,
        }
    }

    fn acknowledged(&self) -> u32 {
        match self {
            Source::Flow(flow) => flow.acknowledged(),
            Source::Datagrams(_) => 0,
        }
    }

    fn retransmitted(&self) -> u32 {
        match self {
            Source::Flow(flow) => flow.retransmitted(),
            Source::Datagrams(_) => 0,
        }
    }

    fn timeouts(&self) -> u32 {
        match self {
            Source::Flow(flow) => flow.timeouts(),
            Source::Datagrams(_) => 0,
        }
    }

    fn wasted(&self) -> u32 {
        match self {
            Source::Flow(flow) => flow.wasted(),
            Source::Datagrams(_) => 0,
        }
    }

    #[inline(always)]
    fn key(&self) -> u32 {
        match self {
            Source::Flow(flow) => flow.key(),
            Source::Datagrams(datagrams) => datagrams.start.key,
        }
    }

    #[inline(always)]
    fn class(&self) -> u8 {
        match self {
            Source::Flow(flow) => flow.class(),
            Source::Datagrams(datagrams) => datagrams.start.class,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go_back_n::GoBackNSender;
    use crate::rate::LineRate;
    use backwater_types::BitsPerSec;

    #[test]
    fn datagrams_keep_their_pace_and_catch_up_when_they_were_held() {
        let start = Start { dst: 1, key: 7, site: 0, packets: 3, last_wire: 548, class: 2, flags: flags::ECT };
        let mut source: Source<GoBackNSender<LineRate>> =
            Source::Datagrams(Datagrams::new(start, 1048, SerTime::of(BitsPerSec(8_000_000_000)), Instant(0)));
        let params = crate::go_back_n::tests::params();
        let (ns, first) = (
            |n: u64| Instant(n * 1000),
            Outgoing { kind: Kind::Data, seq: 0, wire: 1048, class: 2, flags: flags::DATAGRAM, extension: () },
        );
        assert_eq!(source.next_packet(&params, ns(0)), Next::Packet(first));
        assert_eq!(source.peek(&params, ns(1000)), Next::NotBefore(ns(1048)));
        // A late call sends both datagrams that are due.
        assert_eq!(source.next_packet(&params, ns(5000)), Next::Packet(Outgoing { seq: 1, ..first }));
        let last = Outgoing {
            kind: Kind::Data,
            seq: 2,
            wire: 548,
            class: 2,
            flags: flags::DATAGRAM | flags::LAST,
            extension: (),
        };
        assert_eq!(source.next_packet(&params, ns(5000)), Next::Packet(last));
        assert!(source.is_done() && source.peek(&params, ns(9000)) == Next::Blocked);
    }
}
