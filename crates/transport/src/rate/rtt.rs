//! Window that keeps round trips at a target: the congestion control that BFC's authors add to BFC.
//!
//! Source: Goyal et al., "Backpressure Flow Control", NSDI 2022, appendix A.1, algorithm 1; spec B.
//!
//! ```text
//! T = 2.5 base round trips ; w = 1 BDP at first, in packets
//! each ACK, of a packet whose round trip was R:  w += (T - R) / R, between 1 and the packets that the line sends in T
//! ```
//!
//! A window has as many ACKs as packets, so in a round trip w becomes w T / R: it is stable where R = T. The two
//! branches of the printed algorithm are one formula (BFC-B2). Differs from the paper: the window has a maximum,
//! without which it would grow 2.5-fold in each round trip of an idle path (BFC-B1). A sample includes the processing
//! time of hosts, and so does the base round trip. Floating point: additions, multiplications and divisions only.

use crate::rate::{Ack, ClosedForm, Control, SentAt, Site};
use backwater_types::{Bytes, Instant, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Window that keeps round trips at a target (BFC, algorithm 1). It starts at `host.window`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct RttParams {
    /// The target, in base round trips.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub target: f64,
    /// Bytes of the time stamp on every data packet; `"0 B"`: NICs keep send times themselves.
    pub stamp_bytes: Bytes,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl Default for RttParams {
    fn default() -> RttParams {
        RttParams { target: 2.5, stamp_bytes: Bytes(0), site: Site::default() }
    }
}

impl Ranges for RttParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless((1.0..=1000.0).contains(&self.target), "target", "1 to 1000")?;
        OutOfRange::unless(self.stamp_bytes.0 <= 512, "stamp_bytes", "up to 512 B")
    }
}

impl RttParams {
    /// Target, picoseconds.
    #[inline(always)]
    fn target_ps(&self) -> f64 {
        self.target * self.site.base_rtt.0 as f64
    }

    /// Largest window: packets that the line sends in the target.
    #[inline(always)]
    fn most(&self) -> f64 {
        (self.target_ps() * self.site.line_rate / (8e12 * self.site.payload as f64)).max(1.0)
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    /// Window, packets.
    window: f64,
}

impl Rtt {
    /// Window, in packets and fractions of one.
    pub fn packets(&self) -> f64 {
        self.window
    }
}

impl Control for Rtt {
    type Params = RttParams;
    type Extension = SentAt;
    type Due = ();
    type Times = ();

    #[inline(always)]
    fn outgoing(&self, now: Instant, _left: u64) -> SentAt {
        SentAt(now)
    }

    fn at(params: &RttParams, site: Site) -> RttParams {
        RttParams { site, ..*params }
    }

    fn new(params: &RttParams) -> Rtt {
        Rtt { window: (params.site.window as f64 / params.site.payload as f64).clamp(1.0, params.most()) }
    }

    #[inline(always)]
    fn window(&self, params: &RttParams) -> u64 {
        (self.window * params.site.payload as f64) as u64
    }

    #[inline(always)]
    fn on_ack(&mut self, params: &RttParams, ack: Ack<SentAt>) -> bool {
        let rtt = ack.now.since(ack.extension.0).0.max(1) as f64;
        let before = self.window;
        self.window = (before + (params.target_ps() - rtt) / rtt).clamp(1.0, params.most());
        self.window != before
    }
}

impl ClosedForm for Rtt {
    const ASKS_BASE_RTT: bool = true;

    fn carried(params: &RttParams) -> Bytes {
        params.stamp_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::Duration;

    /// A base round trip of 8 us at 100 Gb/s: 100 packets of 1000 B, and a target of 20 us.
    fn params(window: u64) -> RttParams {
        let (line_rate, payload, base_rtt) = (1e11, 1000, Duration::from_us(8));
        Rtt::at(&RttParams::default(), Site { line_rate, window, payload, base_rtt, ..Site::default() })
    }

    fn ack(rtt: f64) -> Ack<SentAt> {
        let now = Instant(1_000_000_000);
        let extension = SentAt(Instant(now.0 - (rtt * 1e6) as u64));
        Ack { now, key: 0, seq: 1, next: 2, whole: 2, marked: false, rtt: None, extension }
    }

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() <= 1e-9 * expected.abs(), "{measured}, not {expected}");
    }

    /// On an idle path each ACK adds 1.5 packets, so that the window is 2.5 times as large after as many as it had, up
    /// to what the line brings in 20 us.
    #[test]
    fn an_idle_path_multiplies_the_window_until_it_covers_the_target() {
        let params = params(10_000);
        let mut flow = Rtt::new(&params);
        near(flow.packets(), 10.0);
        for expected in [25.0, 62.5] {
            let round = flow.packets() as u32;
            (0..round).for_each(|_| assert!(flow.on_ack(&params, ack(8.0))));
            near(flow.packets(), expected);
        }
        (0..200).for_each(|_| _ = flow.on_ack(&params, ack(8.0)));
        near(flow.packets(), 250.0);
        assert_eq!(flow.window(&params), 250_000);
        assert!(!flow.on_ack(&params, ack(8.0)), "it has an end");
    }

    #[test]
    fn it_rests_where_round_trips_take_the_target_and_both_sides_have_one_formula() {
        let params = params(100_000);
        let mut flow = Rtt::new(&params);
        assert!(!flow.on_ack(&params, ack(20.0)));
        flow.on_ack(&params, ack(40.0));
        near(flow.packets(), 99.5);
        flow.on_ack(&params, ack(25.0));
        near(flow.packets(), 99.3);
        flow.on_ack(&params, ack(16.0));
        near(flow.packets(), 99.55);
    }

    /// One queue that the flow alone fills: R is w packets' time, or the base round trip. Of any window it makes the
    /// target's in two round trips, and that is left alone.
    #[test]
    fn a_window_that_is_all_in_one_queue_comes_to_the_targets() {
        for start in [10.0, 50.0, 125.0, 240.0] {
            // A link of 50 Gb/s: 6.25 packets a microsecond, 125 in 20 us.
            let params = params((start * 1000.0) as u64);
            let mut flow = Rtt::new(&params);
            for _ in 0..6 {
                let (sent, rtt) = (flow.packets(), (flow.packets() / 6.25).max(8.0));
                (0..sent as u32).for_each(|_| _ = flow.on_ack(&params, ack(rtt)));
                let expected = (sent + sent.floor() * (20.0 - rtt) / rtt).clamp(1.0, 250.0);
                assert!((flow.packets() - expected).abs() < 1e-3, "{} for {expected}", flow.packets());
            }
            assert!((flow.packets() - 125.0).abs() < 1.0, "from {start} to {}", flow.packets());
        }
    }

    #[test]
    fn a_window_is_a_packet_at_least_and_none_begins_with_all_of_the_target() {
        let params = params(u64::MAX);
        let mut flow = Rtt::new(&params);
        near(flow.packets(), 250.0);
        (0..10_000).for_each(|_| _ = flow.on_ack(&params, ack(900.0)));
        assert_eq!((flow.packets(), flow.window(&params)), (1.0, 1000));
    }
}
