//! DCTCP as RDMA NICs run it: a rate, and a window in proportion to it.
//!
//! Source: baselines 1.1 (the HPCC simulator's mode 8), after Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010.
//!
//! ```text
//! once per batch (one window of packets):  F = marked / packets ; alpha = (1 - g) alpha + g F
//! first mark outside a reduction:          R = max(Rmin, R (1 - alpha / 2)), until the packets in flight then are acknowledged
//! a new batch outside a reduction:         R = min(line, R + AI)
//! window = Wmax x R / line ; a packet of L bytes is followed by a gap of 8 L / R
//! ```
//!
//! Starts at line rate with alpha = 1. The first batch changes nothing: its marks count towards the next.
//!
//! With slow start (BFC, appendix A.6, "DCTCP + SS"; the fork of that simulator behind it):
//!
//! ```text
//! R = line / 10 at first ; before the first mark each ACK sets R = min(line, R + 2 AI), and nothing else happens
//! ```
//!
//! From that mark on the rules above hold for good, starting with the cut. A tenth of the line is 10 packets in 8.32 us
//! at 100 Gb/s; with an AI of half a packet in each round trip each ACK releases one more packet, so these double in a
//! round trip.
//!
//! Differs from the paper: rates instead of windows are halved, and the window test is made before sending.
//! Floating point: additions, multiplications and divisions only, which IEEE 754 rounds the same everywhere.

use crate::rate::{Ack, ClosedForm, Control, IdlePath, Site};
use alloc::vec::Vec;
use backwater_types::{BitsPerSec, Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Rate-based DCTCP (baselines 1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct DctcpParams {
    /// Weight of the newest batch in the estimate of the marked share.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub g: f64,
    /// Rate added once per round trip.
    pub additive_increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// The window is in proportion to the rate (false: it stays at `host.window`).
    pub window_follows_rate: bool,
    /// Flows start at a tenth of the line rate, and until their first mark each ACK adds twice the additive increase.
    pub slow_start: bool,
    /// Packets are spaced by the rate (false: only the window limits them).
    pub paced: bool,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl DctcpParams {
    fn first_rate(&self) -> f64 {
        let tenth = || self.site.kept(self.site.line_rate / 10.0).max(self.min_rate.0 as f64);
        if self.slow_start { tenth() } else { self.site.line_rate }
    }

    /// Returns the rate after an ACK in slow start.
    #[inline(always)]
    fn slow_start_rate(&self, rate: f64) -> f64 {
        (rate + 2.0 * self.additive_increase.0 as f64).min(self.site.line_rate)
    }
}

impl Default for DctcpParams {
    fn default() -> DctcpParams {
        DctcpParams {
            g: 1.0 / 16.0,
            additive_increase: BitsPerSec(961_000_000),
            min_rate: BitsPerSec(100_000_000),
            window_follows_rate: true,
            slow_start: false,
            paced: true,
            site: Site::default(),
        }
    }
}

impl Ranges for DctcpParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.g > 0.0 && self.g <= 1.0, "g", "more than 0 and at most 1")?;
        OutOfRange::unless(self.additive_increase.0 > 0, "additive_increase", "more than 0 bps")
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// Sending rate (R), bit/s.
    rate: f64,
    /// Estimate of the marked share.
    alpha: f64,
    /// Packet whose acknowledgement ends the current batch; 0 before the first ACK.
    batch_end: u32,
    /// Packets of the current batch.
    batch_packets: u32,
    /// Marks in the current batch.
    marked: u32,
    /// Packet whose acknowledgement ends the current reduction.
    reduced_until: Option<u32>,
}

impl Dctcp {
    /// Sending rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

/// Low 32 bits of 2^64 / 1000. Where less is sent than acknowledged, the simulator's unsigned difference of bytes
/// wraps; divided by packets of 1000 B and cut to 32 bits it is this, less the packets' difference.
const WRAPPED: u32 = 0x4bc6_a7ef;

/// Counts the packets of a batch, with `seq` acknowledged and `next` the next to be sent.
#[inline(always)]
fn batch(next: u32, seq: u32) -> u32 {
    match next.checked_sub(seq) {
        Some(packets) => packets + 1,
        None => WRAPPED.wrapping_sub(seq - next).wrapping_add(1),
    }
}

impl Control for Dctcp {
    type Params = DctcpParams;
    type Extension = ();
    type Due = ();
    type Times = ();

    fn at(params: &DctcpParams, site: Site) -> DctcpParams {
        DctcpParams { site, ..*params }
    }

    fn new(params: &DctcpParams) -> Dctcp {
        Dctcp { rate: params.first_rate(), alpha: 1.0, batch_end: 0, batch_packets: 0, marked: 0, reduced_until: None }
    }

    fn to_min_rate(&mut self, params: &DctcpParams) -> bool {
        self.rate = params.min_rate.0 as f64;
        true
    }

    #[inline(always)]
    fn window(&self, params: &DctcpParams) -> u64 {
        params.site.window_at(if params.window_follows_rate { self.rate } else { params.site.line_rate })
    }

    #[inline(always)]
    fn gap(&self, params: &DctcpParams, wire: u64) -> Duration {
        if params.paced { params.site.gap_at(self.rate, wire) } else { Duration::ZERO }
    }

    #[inline(always)]
    fn on_ack(&mut self, params: &DctcpParams, ack: Ack) -> bool {
        let before = self.rate;
        self.marked += ack.marked as u32;
        let new_batch = ack.seq > self.batch_end;
        if new_batch {
            if self.batch_end == 0 {
                if params.slow_start && self.marked == 0 {
                    self.rate = params.slow_start_rate(self.rate);
                    return self.rate != before;
                }
                self.batch_packets = ack.whole + 1;
            } else {
                let share = (self.marked as f64 / self.batch_packets as f64).min(1.0);
                self.alpha = (1.0 - params.g) * self.alpha + params.g * share;
                self.marked = 0;
                self.batch_packets = batch(ack.whole, ack.seq);
            }
            self.batch_end = ack.next;
        }
        if self.reduced_until.is_some_and(|until| ack.seq > until) {
            self.reduced_until = None;
        }
        if self.reduced_until.is_none() {
            if ack.marked {
                self.rate = params.site.kept(self.rate * (1.0 - self.alpha / 2.0)).max(params.min_rate.0 as f64);
                self.reduced_until = Some(ack.next);
            } else if new_batch {
                self.rate = (self.rate + params.additive_increase.0 as f64).min(params.site.line_rate);
            }
        }
        self.rate != before
    }
}

impl ClosedForm for Dctcp {
    fn min_rate(params: &DctcpParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }

    fn starts_paced(params: &DctcpParams) -> bool {
        params.slow_start
    }

    /// Simulates slow start: each ACK speeds up the packets that follow, until ACKs come back to back and nothing more
    /// is lost.
    fn startup(params: &DctcpParams, path: &IdlePath) -> Duration {
        let Site { line_rate, .. } = params.site;
        let (mut rate, mut start, mut heard) = (params.first_rate(), 0, 0);
        let mut answers: Vec<u64> = Vec::new();
        for sent in 0..path.packets {
            while answers.get(heard).is_some_and(|at| *at <= start) {
                (rate, heard) = (params.slow_start_rate(rate), heard + 1);
            }
            let (alone, behind) = (start + path.round_trip.0, answers.last().map_or(0, |at| at + path.packet.0));
            answers.push(alone.max(behind));
            let back_to_back = path.at_line();
            if sent + 1 == path.packets || rate == line_rate && (behind >= alone || back_to_back == path.packet) {
                return Duration(alone.max(behind) - path.round_trip.0 - sent * path.packet.0);
            }
            start += params.site.gap_at(rate, path.wire.0).max(back_to_back).0;
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::{Bytes, Instant};

    const PARAMS: DctcpParams = DctcpParams {
        g: 1.0 / 16.0,
        additive_increase: BitsPerSec(1_000_000_000),
        min_rate: BitsPerSec(100_000_000),
        window_follows_rate: true,
        slow_start: false,
        paced: true,
        site: Site {
            line_rate: 1e11,
            window: 104_000,
            payload: 1000,
            base_rtt: Duration::ZERO,
            int_unit: 1,
            whole: false,
            timer_events: false,
        },
    };

    fn ack(seq: u32, next: u32, marked: bool) -> Ack {
        Ack { now: Instant(0), key: 0, seq, next, whole: next, marked, rtt: None, extension: () }
    }

    #[test]
    fn the_first_mark_halves_the_rate_and_the_window_once_per_window() {
        let mut flow = Dctcp::new(&PARAMS);
        flow.on_ack(&PARAMS, ack(1, 100, true));
        assert_eq!(flow.rate(), 5e10);
        assert_eq!(flow.window(&PARAMS), 52_000);
        assert_eq!(flow.gap(&PARAMS, 1048), Duration(167_680));
        for seq in 2..=100 {
            flow.on_ack(&PARAMS, ack(seq, 150, true));
        }
        assert_eq!(flow.rate(), 5e10, "one cut per window");
        flow.on_ack(&PARAMS, ack(101, 150, true));
        // The first batch's 100 marks and this one over a batch of 101: alpha stays 1, so the rate halves again.
        assert_eq!(flow.rate(), 2.5e10);
    }

    #[test]
    fn gaps_and_rates_may_be_whole() {
        let params = DctcpParams { site: Site { whole: true, ..PARAMS.site }, ..PARAMS };
        let mut flow = Dctcp::new(&params);
        flow.on_ack(&params, ack(1, 100, true));
        assert_eq!((flow.gap(&params, 1048), flow.window(&params)), (Duration(167_000), 52_000));
    }

    #[test]
    fn an_unmarked_batch_adds_once() {
        let mut flow = Dctcp::new(&PARAMS);
        flow.on_ack(&PARAMS, ack(1, 100, true));
        for seq in 2..=101 {
            flow.on_ack(&PARAMS, ack(seq, 150, false));
        }
        assert_eq!(flow.rate(), 5.1e10);
        for seq in 102..=150 {
            flow.on_ack(&PARAMS, ack(seq, 200, false));
        }
        assert_eq!(flow.rate(), 5.1e10);
    }

    /// Half a packet in each round trip.
    const SLOW: DctcpParams = DctcpParams { additive_increase: BitsPerSec(500_000_000), slow_start: true, ..PARAMS };

    #[test]
    fn slow_start_begins_at_a_tenth_of_the_line_and_adds_twice_ai_with_each_ack() {
        let mut flow = Dctcp::new(&SLOW);
        assert_eq!((flow.rate(), flow.window(&SLOW)), (1e10, 10_400));
        assert_eq!(flow.gap(&SLOW, 1048), Duration(838_400));
        for k in 1..=90 {
            assert!(flow.on_ack(&SLOW, ack(k, k + 10, false)));
            assert_eq!(flow.rate(), 1e10 + f64::from(k) * 1e9);
        }
        assert!(!flow.on_ack(&SLOW, ack(91, 101, false)), "no faster than the line");
        assert_eq!((flow.rate(), flow.gap(&SLOW, 1048)), (1e11, Duration::ZERO));
        let slowest = DctcpParams { min_rate: BitsPerSec(20_000_000_000), ..SLOW };
        assert_eq!(Dctcp::new(&slowest).rate(), 2e10, "the lowest rate is the lowest");
    }

    #[test]
    fn the_first_mark_ends_slow_start_for_good() {
        let mut flow = Dctcp::new(&SLOW);
        (1..=10).for_each(|k| _ = flow.on_ack(&SLOW, ack(k, k + 10, false)));
        flow.on_ack(&SLOW, ack(11, 30, true));
        assert_eq!(flow.rate(), 1e10, "half of 2e10: alpha is 1");
        // The batch that begins there ends with packet 30; the reduction lasts as long.
        (12..=30).for_each(|k| assert!(!flow.on_ack(&SLOW, ack(k, 40, false))));
        assert!(flow.on_ack(&SLOW, ack(31, 50, false)));
        assert_eq!(flow.rate(), 1e10 + 5e8, "a round trip later AI, once");
        (32..=50).for_each(|k| assert!(!flow.on_ack(&SLOW, ack(k, 60, false))));
    }

    /// Packets go every 838.4 ns until the first answer comes, 8.36 us after it was asked for: the second is so much
    /// later than back to back, the last of ten nine times so much. Behind a link of half the rate a packet more of it
    /// is hidden by what waits there.
    #[test]
    fn what_slow_start_states_is_how_much_later_packets_go() {
        let line = BitsPerSec(100_000_000_000);
        let (round_trip, packet) = (Duration(8_360_000), Duration(83_840));
        let path = |packets| IdlePath { round_trip, opening: round_trip, packet, packets, line, wire: Bytes(1048) };
        let late = |packets| Dctcp::startup(&SLOW, &path(packets)).0;
        assert_eq!((late(1), late(2), late(10)), (0, 838_400 - 83_840, 9 * (838_400 - 83_840)));
        // Packets 10 and 11 start at 8.384 and, at 11 Gb/s after one answer, 762.181 ns later.
        assert_eq!(late(12), 10 * 838_400 + 762_181 - 11 * 83_840);
        let slow = |packets| IdlePath { packet: Duration(167_680), ..path(packets) };
        assert_eq!(Dctcp::startup(&SLOW, &slow(10)).0, 9 * (838_400 - 167_680));
        // At the rate of the line nothing more is lost.
        assert_eq!(late(400), late(4000));
        assert_eq!(Dctcp::startup(&PARAMS, &path(10)).0, 0);
    }
}
