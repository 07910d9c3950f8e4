//! Credits in packets, and their limit at a port.
//!
//! ```text
//! bucket:  two mean credits deep, filled at line x credit / (credit + data) bytes ;
//!          a credit takes its size, and waits until it can
//! queue:   `credit_queue` credits ; more are dropped
//! ```
//!
//! The state of the bucket is the time at which it will be full, in whole picoseconds.

use alloc::collections::VecDeque;
use backwater_types::{BitsPerSec, Duration, Extension, Frame, Instant, LinkShape, SerTime};

/// Header of ExpressPass: of a credit, or in a data packet that of the credit it answers; in a request the packets
/// left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpressPassHeader {
    /// Number of the credit; in a request: packets left to send, 0: no more credits.
    pub number: u32,
    /// Send time of the credit.
    pub sent: Instant,
}

/// Credits that wait at a port, and its token bucket.
#[derive(Clone, Debug)]
pub struct CreditPort {
    waiting: VecDeque<Frame<ExpressPassHeader>>,
    /// Credits that may wait.
    most: usize,
    /// Time in which the bucket fills by bytes.
    fills: SerTime,
    /// Time from empty to full.
    depth: Duration,
    /// Time at which the bucket is full.
    full_at: Instant,
}

impl CreditPort {
    /// Returns the time at which the bucket holds a credit of `wire` bytes.
    #[inline(always)]
    fn affords_at(&self, wire: u16) -> Instant {
        let spare = self.depth.0.saturating_sub(self.fills.of_bytes(wire as u64).0);
        Instant(self.full_at.0.saturating_sub(spare))
    }

    #[inline(always)]
    fn spend(&mut self, now: Instant, wire: u16) {
        self.full_at = self.full_at.max(now) + self.fills.of_bytes(wire as u64);
    }
}

impl Extension for ExpressPassHeader {
    type Port = CreditPort;
    const CREDITED: bool = true;

    fn port(link: &LinkShape) -> CreditPort {
        let (credit, data) = (link.credits.credit.max(1) as u64, link.credits.data as u64);
        let rate = (link.rate.0 as u128 * credit as u128 / (credit + data) as u128) as u64;
        let fills = SerTime::of(BitsPerSec(rate.max(1)));
        CreditPort {
            waiting: VecDeque::with_capacity(link.credits.queue as usize),
            most: link.credits.queue as usize,
            fills,
            depth: fills.of_bytes(2 * credit),
            full_at: Instant::ZERO,
        }
    }

    #[inline]
    fn hold(port: &mut CreditPort, credit: &Frame<ExpressPassHeader>) -> bool {
        let room = port.waiting.len() < port.most;
        if room {
            port.waiting.push_back(*credit);
        }
        room
    }

    #[inline]
    fn release(port: &mut CreditPort, now: Instant) -> Option<Frame<ExpressPassHeader>> {
        let wire = port.waiting.front()?.wire;
        if port.affords_at(wire) > now {
            return None;
        }
        port.spend(now, wire);
        port.waiting.pop_front()
    }

    #[inline]
    fn passes(port: &mut CreditPort, now: Instant, wire: u16) -> bool {
        let passes = port.waiting.is_empty() && port.affords_at(wire) <= now;
        if passes {
            port.spend(now, wire);
        }
        passes
    }

    #[inline]
    fn credit_due(port: &CreditPort) -> Instant {
        port.waiting.front().map_or(Instant::NEVER, |credit| port.affords_at(credit.wire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use backwater_types::{CreditShape, Kind, Packet};

    /// 100 Gb/s, 84 B of credits for 1538 of data: a byte of credits each 1622 / 84 x 80 ps.
    fn port() -> CreditPort {
        let credits = CreditShape { queue: 16, credit: 84, data: 1538 };
        ExpressPassHeader::port(&LinkShape { credits, ..LinkShape::new(BitsPerSec(100_000_000_000)) })
    }

    fn credit(number: u32, wire: u16) -> Frame<ExpressPassHeader> {
        let packet = Packet { kind: Kind::Credit, wire, ..Packet::NONE };
        Frame { packet, extension: ExpressPassHeader { number, sent: Instant::ZERO } }
    }

    /// A credit and its packet take 1622 B x 80 ps of the link together.
    const EACH: u64 = 1622 * 80;

    #[test]
    fn two_credits_go_at_once_and_then_one_for_each_packet_that_the_link_can_take() {
        let mut port = port();
        (0..10).for_each(|number| assert!(ExpressPassHeader::hold(&mut port, &credit(number, 84))));
        let (mut now, mut at) = (Instant(1_000_000), Vec::new());
        while ExpressPassHeader::credit_due(&port) != Instant::NEVER {
            if ExpressPassHeader::credit_due(&port) > now {
                now = ExpressPassHeader::credit_due(&port);
                assert!(ExpressPassHeader::release(&mut port, Instant(now.0 - 1)).is_none(), "its time has not come");
            }
            assert!(ExpressPassHeader::release(&mut port, now).is_some(), "its time has come");
            at.push(now.0);
        }
        assert_eq!(at[..2], [1_000_000, 1_000_000], "the bucket holds two");
        for (k, at) in at.iter().enumerate().skip(2) {
            let exact = 1_000_000 + (k as u64 - 1) * EACH;
            // The rate is whole bit/s, and each time whole picoseconds.
            assert!(at.abs_diff(exact) <= k as u64, "credit {k} at {at}, not {exact}");
        }
    }

    #[test]
    fn credits_beyond_the_queue_are_dropped_and_the_others_keep_their_order() {
        let mut port = port();
        let held = (0..20).filter(|number| ExpressPassHeader::hold(&mut port, &credit(*number, 84))).count();
        assert_eq!(held, 16);
        let released = core::iter::from_fn(|| ExpressPassHeader::release(&mut port, Instant(1 << 40)));
        assert_eq!(released.map(|credit| credit.extension.number).collect::<Vec<_>>(), [0, 1]);
        assert!(!ExpressPassHeader::passes(&mut port, Instant(1 << 41), 84), "others wait");
    }

    /// Expects the bytes of passing credits to be their share of the link over a long time, for any sizes.
    #[test]
    fn credits_take_their_share_of_the_link() {
        let mut port = port();
        let (mut now, mut bytes) = (Instant::ZERO, 0u64);
        for number in 0..10_000 {
            let wire = 76 + (number * 7 % 17) as u16;
            ExpressPassHeader::hold(&mut port, &credit(number, wire));
            now = now.max(ExpressPassHeader::credit_due(&port));
            bytes += ExpressPassHeader::release(&mut port, now).expect("it was waited for").wire as u64;
        }
        let most = now.0 as f64 / 80.0 * 84.0 / 1622.0 + 168.0;
        // Each time loses less than a picosecond, of which 1545 are a byte.
        assert!((most - 93.0..most + 10_000.0 / 1545.0).contains(&(bytes as f64)), "{bytes} of {most}");
    }

    #[test]
    fn a_credit_passes_a_port_without_others_as_if_it_had_waited() {
        let (mut passing, mut waiting) = (port(), port());
        for (k, now) in [0, 0, 0, 50_000, 129_760, 129_800, 500_000, 500_000, 500_001].into_iter().enumerate() {
            let passed = ExpressPassHeader::passes(&mut passing, Instant(now), 84);
            ExpressPassHeader::hold(&mut waiting, &credit(0, 84));
            assert_eq!(passed, ExpressPassHeader::release(&mut waiting, Instant(now)).is_some(), "credit {k}");
            waiting.waiting.clear();
            assert_eq!(passing.full_at, waiting.full_at);
        }
    }
}
