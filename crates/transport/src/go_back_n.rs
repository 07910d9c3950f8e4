//! Go-back-N: the receiver takes packets in order only, the sender starts again where it was told to.
//!
//! Source: baselines 0.3 (the HPCC simulator), with the two repairs it recommends: a retransmission timer, and an ACK for
//! duplicate data, so that lost ACKs, NACKs and last packets heal.

use backwater_types::{Duration, Instant};

/// The sending side of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Packets in the flow.
    pub total: u32,
    /// Next packet to send.
    pub next: u32,
    /// First packet not yet acknowledged.
    pub acked: u32,
    /// One more than the last packet ever sent.
    pub high: u32,
    /// Packets sent again.
    pub retransmitted: u32,
    /// Last time `acked` moved, or the flow had nothing in flight and sent.
    pub progress: Instant,
}

impl Sender {
    /// A flow of `total` packets.
    pub fn new(total: u32, now: Instant) -> Sender {
        Sender { total, next: 0, acked: 0, high: 0, retransmitted: 0, progress: now }
    }

    /// Whether something is left to send (again, perhaps).
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        self.next < self.total
    }

    /// Packets sent and not acknowledged.
    #[inline(always)]
    pub fn in_flight(&self) -> u32 {
        self.next - self.acked
    }

    /// Whether every packet was acknowledged.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        self.acked == self.total
    }

    /// The packet at `next` is put on the wire; its number.
    #[inline(always)]
    pub fn send(&mut self, now: Instant) -> u32 {
        let seq = self.next;
        if seq == self.acked {
            self.progress = now;
        }
        self.next += 1;
        if seq < self.high {
            self.retransmitted += 1;
        } else {
            self.high = self.next;
        }
        seq
    }

    /// Everything before `seq` has arrived.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Instant, seq: u32) {
        if seq > self.acked && seq <= self.high {
            self.acked = seq;
            self.next = self.next.max(seq);
            self.progress = now;
        }
    }

    /// Everything before `seq` has arrived and `seq` itself was missed: go back to it.
    pub fn on_nack(&mut self, now: Instant, seq: u32) {
        self.on_ack(now, seq);
        self.next = self.acked;
    }

    /// When the retransmission timer would fire, if nothing moves; `None` with nothing in flight.
    pub fn deadline(&self, timeout: Duration) -> Option<Instant> {
        (self.in_flight() > 0).then(|| self.progress + timeout)
    }

    /// The timer fired: go back to what was not acknowledged.
    pub fn on_timeout(&mut self, now: Instant) {
        self.next = self.acked;
        self.progress = now;
    }
}

/// The receiving side of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiver {
    /// Next packet expected.
    pub expected: u32,
    /// When the last NACK for `expected` was sent.
    nacked: Option<Instant>,
}

/// What the receiver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A cumulative ACK.
    Ack(u32),
    /// A NACK: go back to this packet.
    Nack(u32),
    /// Nothing: a NACK for the same packet is on its way.
    Silence,
}

impl Receiver {
    /// A data packet came in; a second NACK for the same packet waits `guard`.
    #[inline(always)]
    pub fn on_data(&mut self, now: Instant, seq: u32, guard: Duration) -> Answer {
        if seq == self.expected {
            self.expected += 1;
            self.nacked = None;
            return Answer::Ack(self.expected);
        }
        if seq < self.expected {
            return Answer::Ack(self.expected);
        }
        if self.nacked.is_some_and(|at| now.since(at) < guard) {
            return Answer::Silence;
        }
        self.nacked = Some(now);
        Answer::Nack(self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: Duration = Duration::from_us(500);

    #[test]
    fn a_gap_is_answered_once_and_sent_again_from_there() {
        let (mut tx, mut rx) = (Sender::new(5, Instant(0)), Receiver::default());
        for _ in 0..5 {
            tx.send(Instant(0));
        }
        assert_eq!(rx.on_data(Instant(1), 0, GUARD), Answer::Ack(1));
        assert_eq!(rx.on_data(Instant(2), 2, GUARD), Answer::Nack(1), "packet 1 was lost");
        assert_eq!(rx.on_data(Instant(3), 3, GUARD), Answer::Silence);
        tx.on_ack(Instant(4), 1);
        tx.on_nack(Instant(5), 1);
        assert_eq!((tx.send(Instant(6)), tx.retransmitted), (1, 1));
        assert_eq!(rx.on_data(Instant(7), 1, GUARD), Answer::Ack(2));
    }

    #[test]
    fn a_lost_last_packet_is_recovered_by_the_timer() {
        let mut tx = Sender::new(1, Instant(0));
        assert_eq!(tx.deadline(GUARD), None);
        tx.send(Instant(10));
        assert_eq!(tx.deadline(GUARD), Some(Instant(10) + GUARD));
        tx.on_timeout(Instant(10) + GUARD);
        assert!(tx.has_unsent());
        tx.send(Instant(11));
        tx.on_ack(Instant(12), 1);
        assert!(tx.is_done());
    }

    #[test]
    fn duplicates_are_acknowledged_and_stale_answers_ignored() {
        let (mut tx, mut rx) = (Sender::new(3, Instant(0)), Receiver::default());
        tx.send(Instant(0));
        rx.on_data(Instant(1), 0, GUARD);
        assert_eq!(rx.on_data(Instant(2), 0, GUARD), Answer::Ack(1));
        tx.on_ack(Instant(3), 1);
        tx.on_ack(Instant(4), 1);
        tx.on_ack(Instant(5), 9);
        assert_eq!(tx.acked, 1);
    }
}
