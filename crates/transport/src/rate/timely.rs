//! TIMELY: a rate that falls while round trips grow, measured by a time stamp that packets carry and ACKs bring back.
//!
//! Sources: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, section 4 and
//! algorithm 1; HPCC's simulator, mode 7 (baselines 3), whose parameters are the defaults.
//!
//! ```text
//! once per round trip, when a packet sent after the last update is acknowledged, with the round trip rtt of that packet:
//!   diff = (1 - a) diff + a (rtt - rtt at the last update) ; gradient = diff / min_rtt
//!   rtt < t_low:          increase
//!   rtt > t_high:         R = R (1 - b (1 - t_high / rtt))
//!   else gradient <= 0:   increase
//!   else:                 R = R max(0, 1 - b gradient)
//! increase: R += AI, or HAI once there were `hyper_after` increases in a row; R stays between Rmin and that of the line
//! ```
//!
//! Starts at line rate. The first ACK changes nothing. A change of rate leaves the send time of the packet that waits.
//! Differs from the paper, with the simulator: one update per round trip, not per completed segment of 16 to 64 KB;
//! increases below t_low count towards hyper increase and may be hyper increases themselves, which the paper has
//! between t_low and t_high alone. Floating point: additions, multiplications and divisions only.

use crate::rate::{Ack, ClosedForm, Control, Site};
use backwater_types::{BitsPerSec, Bytes, Duration, Extension, Instant, LinkShape, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// TIMELY (baselines 3).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct TimelyParams {
    /// Weight of the newest difference of round trips (a; alpha in the paper).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub weight: f64,
    /// Factor of a cut (b; beta in the paper): the share of the excess that it takes away.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub beta: f64,
    /// Round trips below this let the rate grow, whatever the gradient.
    pub t_low: Duration,
    /// Round trips above this cut the rate, whatever the gradient.
    pub t_high: Duration,
    /// Round trip of an idle network, by which differences are divided.
    pub min_rtt: Duration,
    /// Rate added by an increase (AI; delta in the paper).
    pub additive_increase: BitsPerSec,
    /// Rate added by an increase after several in a row (HAI).
    pub hyper_increase: BitsPerSec,
    /// Increases in a row before hyper increase.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub hyper_after: u32,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// Bytes of the time stamp on every data packet.
    pub stamp_bytes: Bytes,
    /// The window, where there is one, is in proportion to the rate.
    pub window_follows_rate: bool,
    /// Packets are spaced by the rate (false: only the window limits them).
    pub paced: bool,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl Default for TimelyParams {
    fn default() -> TimelyParams {
        TimelyParams {
            weight: 0.875,
            beta: 0.8,
            t_low: Duration::from_us(50),
            t_high: Duration::from_us(500),
            min_rtt: Duration::from_us(20),
            additive_increase: BitsPerSec(100_000_000),
            hyper_increase: BitsPerSec(500_000_000),
            hyper_after: 5,
            min_rate: BitsPerSec(100_000_000),
            stamp_bytes: Bytes(8),
            window_follows_rate: false,
            paced: true,
            site: Site::default(),
        }
    }
}

impl Ranges for TimelyParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let time = |key: &str, value: Duration, least: u64| {
            let expected = if least == 0 { "0 to 1 s" } else { "1 ns to 1 s" };
            OutOfRange::unless((least..=1_000_000_000_000).contains(&value.0), key, expected)
        };
        OutOfRange::unless(self.weight > 0.0 && self.weight <= 1.0, "weight", "more than 0 and at most 1")?;
        OutOfRange::unless(self.beta > 0.0 && self.beta <= 1.0, "beta", "more than 0 and at most 1")?;
        time("t_low", self.t_low, 0)?;
        time("t_high", self.t_high, 0)?;
        OutOfRange::unless(self.t_low <= self.t_high, "t_low", "at most t_high")?;
        time("min_rtt", self.min_rtt, 1_000)?;
        OutOfRange::unless(self.hyper_after <= 1000, "hyper_after", "0 to 1000")?;
        OutOfRange::unless(self.min_rate.0 > 0, "min_rate", "more than 0 bps")?;
        OutOfRange::unless(self.stamp_bytes.0 <= 512, "stamp_bytes", "up to 512 B")
    }
}

/// Send time of a packet, which its sender's NIC writes into it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SentAt(pub(super) Instant);

impl Extension for SentAt {
    type Port = ();

    fn port(_link: &LinkShape) {}
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Timely {
    /// Sending rate (R), bit/s.
    rate: f64,
    /// Smoothed difference of round trips (diff), nanoseconds.
    difference: f64,
    /// Round trip at the last update.
    last: Duration,
    /// Increases since the last cut.
    increases: u32,
    /// Next packet to be sent at the last update; 0 before the first ACK.
    updated: u32,
}

impl Timely {
    /// Sending rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    #[inline(always)]
    fn react(&mut self, params: &TimelyParams, rtt: Duration) {
        let new = nanoseconds(rtt) - nanoseconds(self.last);
        self.difference = (1.0 - params.weight) * self.difference + params.weight * new;
        let gradient = self.difference / nanoseconds(params.min_rtt);
        if rtt < params.t_low || (rtt <= params.t_high && gradient <= 0.0) {
            self.increase(params);
        } else if rtt > params.t_high {
            self.cut(params, 1.0 - params.beta * (1.0 - nanoseconds(params.t_high) / nanoseconds(rtt)));
        } else {
            self.cut(params, (1.0 - params.beta * gradient).max(0.0));
        }
    }

    #[inline(always)]
    fn increase(&mut self, params: &TimelyParams) {
        let hyper = self.increases >= params.hyper_after;
        let step = if hyper { params.hyper_increase } else { params.additive_increase };
        self.rate = (self.rate + step.0 as f64).min(params.site.line_rate);
        self.increases = self.increases.saturating_add(1);
    }

    #[inline(always)]
    fn cut(&mut self, params: &TimelyParams, share: f64) {
        self.rate = params.site.kept(self.rate * share).max(params.min_rate.0 as f64);
        self.increases = 0;
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.0 as f64 / 1000.0
}

impl Control for Timely {
    type Params = TimelyParams;
    type Extension = SentAt;
    type Times = ();
    type Due = ();

    #[inline(always)]
    fn outgoing(&self, now: Instant, _left: u64) -> SentAt {
        SentAt(now)
    }

    fn at(params: &TimelyParams, site: Site) -> TimelyParams {
        TimelyParams { site, ..*params }
    }

    fn new(params: &TimelyParams) -> Timely {
        let (rate, last) = (params.site.line_rate, Duration::ZERO);
        Timely { rate, difference: 0.0, last, increases: 0, updated: 0 }
    }

    fn to_min_rate(&mut self, params: &TimelyParams) -> bool {
        (self.rate, self.increases) = (params.min_rate.0 as f64, 0);
        true
    }

    #[inline(always)]
    fn window(&self, params: &TimelyParams) -> u64 {
        params.site.window_at(if params.window_follows_rate { self.rate } else { params.site.line_rate })
    }

    #[inline(always)]
    fn gap(&self, params: &TimelyParams, wire: u64) -> Duration {
        if params.paced { params.site.gap_at(self.rate, wire) } else { Duration::ZERO }
    }

    #[inline(always)]
    fn on_ack(&mut self, params: &TimelyParams, ack: Ack<SentAt>) -> bool {
        if ack.seq <= self.updated {
            return false;
        }
        let (before, rtt) = (self.rate, ack.now.since(ack.extension.0));
        if self.updated > 0 {
            self.react(params, rtt);
        }
        if ack.next > self.updated {
            (self.updated, self.last) = (ack.next, rtt);
        }
        self.rate != before
    }
}

impl ClosedForm for Timely {
    fn carried(params: &TimelyParams) -> Bytes {
        params.stamp_bytes
    }

    fn min_rate(params: &TimelyParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }

    /// Hyper increase by a step a round trip. A port that is not full keeps round trips below t_low, so this is 10 ms
    /// at most at 100 Gb/s with the simulator's steps.
    fn recovery(params: &TimelyParams) -> Duration {
        let steps = params.site.line_rate / params.hyper_increase.0 as f64;
        Duration(((params.hyper_after as f64 + steps) * params.t_low.0 as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: f64 = 1e11;

    fn params() -> TimelyParams {
        let site = Site {
            line_rate: LINE,
            window: 104_000,
            payload: 1000,
            base_rtt: Duration::ZERO,
            int_unit: 1,
            whole: false,
            timer_events: false,
        };
        Timely::at(&TimelyParams::default(), site)
    }

    /// An ACK of packet `seq - 1`, which was sent so many microseconds ago.
    fn ack(seq: u32, next: u32, rtt_us: u64) -> Ack<SentAt> {
        let (sent, rtt) = (Instant(1_000_000_000), Duration::from_us(rtt_us));
        Ack { now: sent + rtt, key: 0, seq, next, whole: next, marked: false, rtt: None, extension: SentAt(sent) }
    }

    /// A flow at `rate` after these round trips, of which each but the first is an update.
    fn after(params: &TimelyParams, rate: f64, rtts_us: &[u64]) -> Timely {
        let mut flow = Timely::new(params);
        for (seq, rtt) in (1..).zip(rtts_us) {
            flow.on_ack(params, ack(seq, seq, *rtt));
            if seq == 1 {
                assert_eq!(flow.rate(), LINE, "the first sets the scene");
                flow.rate = rate;
            }
        }
        flow
    }

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() <= 1e-9 * expected.abs(), "{measured}, not {expected}");
    }

    #[test]
    fn round_trips_below_the_band_let_the_rate_grow_whatever_the_gradient() {
        let params = params();
        near(after(&params, 4e10, &[10, 49]).rate(), 4e10 + 1e8);
        near(after(&params, 4e10, &[49, 10]).rate(), 4e10 + 1e8);
    }

    #[test]
    fn round_trips_above_the_band_cut_it_by_how_far_they_are() {
        let params = params();
        // 1 - 0.8 (1 - 500 / 1000), with a gradient that has nothing to say.
        near(after(&params, 4e10, &[1000, 1000]).rate(), 4e10 * 0.6);
        near(after(&params, 4e10, &[2000, 1000]).rate(), 4e10 * 0.6);
        near(after(&params, 4e10, &[400, 501]).rate(), 4e10 * (1.0 - 0.8 * (1.0 - 500.0 / 501.0)));
    }

    #[test]
    fn inside_the_band_the_gradient_decides() {
        let params = params();
        near(after(&params, 4e10, &[100, 100]).rate(), 4e10 + 1e8);
        near(after(&params, 4e10, &[110, 100]).rate(), 4e10 + 1e8);
        // 0.875 x 8 us / 20 us.
        near(after(&params, 4e10, &[100, 108]).rate(), 4e10 * (1.0 - 0.8 * 0.35));
        // 0.875 x 2 + 0.125 x 0.875 x 8 = 2.625 us.
        let twice = after(&params, 4e10, &[100, 108, 110]);
        near(twice.rate(), 4e10 * (1.0 - 0.8 * 0.35) * (1.0 - 0.8 * 2.625 / 20.0));
    }

    #[test]
    fn both_ends_belong_to_the_band() {
        let params = params();
        near(after(&params, 4e10, &[40, 50]).rate(), 4e10 * (1.0 - 0.8 * 0.875 * 10.0 / 20.0));
        near(after(&params, 4e10, &[510, 500]).rate(), 4e10 + 1e8);
    }

    #[test]
    fn five_increases_in_a_row_are_followed_by_larger_ones_until_a_cut() {
        let params = params();
        let mut rtts = [10; 9];
        near(after(&params, 1e10, &rtts[..6]).rate(), 1e10 + 5.0 * 1e8);
        near(after(&params, 1e10, &rtts).rate(), 1e10 + 5.0 * 1e8 + 3.0 * 5e8);
        // The third is far above, and all that follow it below.
        rtts[2] = 1000;
        near(after(&params, 1e10, &rtts).rate(), (1e10 + 1e8) * 0.6 + 5.0 * 1e8 + 5e8);
    }

    #[test]
    fn rates_stay_between_the_lowest_and_the_line() {
        let params = params();
        near(after(&params, 4e10, &[60, 160]).rate(), 1e8);
        near(after(&params, LINE - 1.0, &[10, 10]).rate(), LINE);
        let flow = after(&params, LINE, &[10, 10]);
        assert_eq!(flow.gap(&params, 1056), Duration::ZERO, "at line rate the link is the pace");
    }

    #[test]
    fn one_update_per_round_trip() {
        let params = params();
        let mut flow = Timely::new(&params);
        flow.rate = 1e10;
        assert!(!flow.on_ack(&params, ack(1, 40, 10)), "the first sets the scene");
        (2..=40).for_each(|seq| assert!(!flow.on_ack(&params, ack(seq, 39 + seq, 10)), "packet {seq} was sent before"));
        assert!(flow.on_ack(&params, ack(41, 80, 10)));
        assert_eq!(flow.rate(), 1.01e10);
        assert!(!flow.on_ack(&params, ack(80, 120, 10)));
        assert!(flow.on_ack(&params, ack(81, 120, 10)));
    }

    #[test]
    fn packets_carry_when_they_were_sent() {
        let flow = Timely::new(&params());
        assert_eq!(flow.outgoing(Instant(7), 0), SentAt(Instant(7)));
        assert_eq!(Timely::carried(&params()), Bytes(8));
    }

    #[test]
    fn rates_may_be_whole_and_windows_may_follow_them() {
        let params = params();
        let whole = TimelyParams { site: Site { whole: true, ..params.site }, ..params };
        let flow = after(&whole, 40_000_000_001.0, &[1000, 1000]);
        assert_eq!(flow.rate(), 24_000_000_000.0);
        assert_eq!(flow.window(&whole), 104_000);
        assert_eq!(flow.window(&TimelyParams { window_follows_rate: true, ..whole }), 24_960);
    }
}
