//! Swift: a window that keeps round trips below a target, which grows with the hops of the path and falls as the window
//! grows.
//!
//! Sources: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM
//! 2020, algorithm 1 and section 3.5; Broadcom's csg-htsim, whose parameters are the defaults (baselines 5). That
//! simulator calls its additive increase, beta, largest cut, time of a hop, threshold of timeouts and smallest window
//! guesses, and so are the defaults here.
//!
//! ```text
//! target = base + hops x hop + max(0, min(a / sqrt(w) + b, range)),  a = range / (1 / sqrt(min) - 1 / sqrt(max)), b = -a / sqrt(max)
//! ACK of n packets, with round trip d of the packet that is acknowledged:
//!   d < target:                             w += ai n / w, or ai n where w < 1
//!   else, a round trip after the last cut:  w = w max(1 - beta (d - target) / d, 1 - max_cut)
//! a loss or a timeout, a round trip after the last cut:  w = w (1 - max_cut) ; after 5 timeouts in a row the smallest
//! w < 1: one packet in flight, spaced by d / w
//! ```
//!
//! A packet counts the switches that it passes, which a receiver of the paper knows by the TTL: a path may have more
//! hops than the one of the base round trip. Flows start with `host.window`, like all others here. The default base is
//! the 20 us of csg-htsim, or 1.5 base round trips where those are more: a target that an idle path exceeds would
//! starve every flow. Differs from the paper: round trips are not divided between network and hosts, so there is one
//! window for both; a change of the window leaves the send time of the packet that waits; losses are repaired by going
//! back. Floating point: additions, multiplications, divisions and square roots, all of which IEEE 754 rounds the same
//! everywhere.

use crate::rate::{Ack, ClosedForm, Control, Loss, Site};
use backwater_types::{Bytes, Duration, Extension, Instant, LinkShape, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Swift (baselines 5).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct SwiftParams {
    /// Packets that a window grows by in a round trip below the target (ai).
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub additive_increase: f64,
    /// Factor of a cut: the share of the excess that it takes away.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub beta: f64,
    /// Largest share of the window that a cut takes away (max_mdf).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
    pub max_cut: f64,
    /// Base of the target. Absent: 20 us, or 1.5 base round trips of the network if those are more.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub base_target: Option<Duration>,
    /// Addition to the target for each hop. Absent: the base divided by 6.55.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub hop: Option<Duration>,
    /// Largest addition to the target for a small window (fs_range). Absent: five times the base.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub scaling_range: Option<Duration>,
    /// Window at which `scaling_range` is added in full, packets.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.001, max = 1_000_000)))]
    pub scaling_min: f64,
    /// Window at which nothing is added, packets.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.001, max = 1_000_000)))]
    pub scaling_max: f64,
    /// Smallest window, packets.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.001, max = 1_000_000)))]
    pub min_window: f64,
    /// Largest window, packets; or `host.window`, if that is larger.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.001, max = 1_000_000)))]
    pub max_window: f64,
    /// Timeouts in a row that reset the window to the smallest.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub reset_after: u32,
    /// Bytes of the time stamp on every data packet.
    pub stamp_bytes: Bytes,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
    /// Terms of the target, which follow from the other parameters.
    #[cfg_attr(feature = "schema", serde(skip))]
    target: Target,
}

/// Terms of a target, picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Target {
    base: f64,
    hop: f64,
    range: f64,
    /// Factor of the inverse root of the window (a; alpha of flow scaling in the paper).
    scaled: f64,
    /// Offset of that product (b; beta of flow scaling in the paper).
    offset: f64,
}

/// Base of csg-htsim's target.
const BASE_TARGET: Duration = Duration::from_us(20);
/// Least base, in base round trips.
const BASE_RTTS: f64 = 1.5;
/// Base over the addition for a hop, in csg-htsim.
const HOPS_OF_BASE: f64 = 6.55;
/// Range of flow scaling over the base, in csg-htsim.
const RANGE_OF_BASE: f64 = 5.0;

impl Default for SwiftParams {
    fn default() -> SwiftParams {
        SwiftParams {
            additive_increase: 1.0,
            beta: 0.8,
            max_cut: 0.5,
            base_target: None,
            hop: None,
            scaling_range: None,
            scaling_min: 0.1,
            scaling_max: 100.0,
            min_window: 0.01,
            max_window: 1000.0,
            reset_after: 5,
            stamp_bytes: Bytes(8),
            site: Site::default(),
            target: Target::default(),
        }
    }
}

impl Ranges for SwiftParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let time = |key: &str, value: Option<Duration>| {
            OutOfRange::unless(value.is_none_or(|value| value.0 <= 1_000_000_000_000), key, "0 to 1 s")
        };
        let packets =
            |key: &str, value: f64| OutOfRange::unless((0.001..=1e6).contains(&value), key, "0.001 to 1000000 packets");
        OutOfRange::unless((0.0..=1000.0).contains(&self.additive_increase), "additive_increase", "0 to 1000")?;
        OutOfRange::unless(self.beta > 0.0 && self.beta <= 1.0, "beta", "more than 0 and at most 1")?;
        OutOfRange::unless(self.max_cut > 0.0 && self.max_cut < 1.0, "max_cut", "more than 0 and less than 1")?;
        time("base_target", self.base_target)?;
        time("hop", self.hop)?;
        time("scaling_range", self.scaling_range)?;
        packets("scaling_min", self.scaling_min)?;
        packets("scaling_max", self.scaling_max)?;
        OutOfRange::unless(self.scaling_min < self.scaling_max, "scaling_min", "less than scaling_max")?;
        packets("min_window", self.min_window)?;
        packets("max_window", self.max_window)?;
        OutOfRange::unless(self.min_window <= self.max_window, "min_window", "at most max_window")?;
        OutOfRange::unless((1..=1000).contains(&self.reset_after), "reset_after", "1 to 1000")?;
        OutOfRange::unless(self.stamp_bytes.0 <= 512, "stamp_bytes", "up to 512 B")
    }
}

impl SwiftParams {
    /// Target of a window (packets) on a path over `hops` switches: the longest round trip at which the window grows,
    /// picoseconds.
    #[inline(always)]
    fn target(&self, window: f64, hops: u8) -> f64 {
        let Target { base, hop, range, scaled, offset } = self.target;
        base + f64::from(hops) * hop + (scaled / libm::sqrt(window) + offset).clamp(0.0, range)
    }

    /// Window of a flow that starts, packets.
    fn first(&self) -> f64 {
        match self.site.window {
            u64::MAX => self.max_window,
            bytes => bytes as f64 / self.site.payload as f64,
        }
    }

    /// Clamps a window to its bounds.
    #[inline(always)]
    fn bounded(&self, window: f64) -> f64 {
        window.clamp(self.min_window, self.max_window.max(self.first()))
    }
}

/// Send time of a packet, and the switches it has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trip {
    sent: Instant,
    hops: u8,
}

impl Extension for Trip {
    type Port = ();
    const STAMPED: bool = true;

    fn port(_link: &LinkShape) {}

    #[inline(always)]
    fn stamp(&mut self, _port: &mut (), _now: Instant, _queued: u64) {
        self.hops = self.hops.saturating_add(1);
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Swift {
    /// Window (w), packets.
    window: f64,
    /// Round trip that was measured last; zero before the first.
    rtt: Duration,
    last_cut: Instant,
    /// Next packet that the receiver expects, by the last ACK.
    acked: u32,
    /// Timeouts in a row.
    timeouts: u32,
}

impl Swift {
    /// Window, in packets and fractions of one.
    pub fn packets(&self) -> f64 {
        self.window
    }

    /// Cuts the window to this share, at most once in a round trip.
    #[inline(always)]
    fn cut(&mut self, params: &SwiftParams, now: Instant, share: f64) {
        if now.since(self.last_cut) >= self.rtt {
            self.window = params.bounded(self.window * share);
            self.last_cut = now;
        }
    }
}

impl Control for Swift {
    type Params = SwiftParams;
    type Extension = Trip;
    type Due = ();
    type Times = ();

    #[inline(always)]
    fn outgoing(&self, now: Instant, _left: u64) -> Trip {
        Trip { sent: now, hops: 0 }
    }

    fn at(params: &SwiftParams, site: Site) -> SwiftParams {
        let idle = (BASE_RTTS * site.base_rtt.0 as f64).max(BASE_TARGET.0 as f64);
        let given = |time: Option<Duration>, derived: f64| time.map_or(derived, |time| time.0 as f64);
        let base = given(params.base_target, idle);
        let range = given(params.scaling_range, RANGE_OF_BASE * base);
        let inverse = |window: f64| 1.0 / libm::sqrt(window);
        let scaled = range / (inverse(params.scaling_min) - inverse(params.scaling_max));
        let offset = -scaled * inverse(params.scaling_max);
        let target = Target { base, hop: given(params.hop, base / HOPS_OF_BASE), range, scaled, offset };
        SwiftParams { site, target, ..*params }
    }

    fn new(params: &SwiftParams) -> Swift {
        Swift {
            window: params.bounded(params.first()),
            rtt: Duration::ZERO,
            last_cut: Instant::ZERO,
            acked: 0,
            timeouts: 0,
        }
    }

    #[inline(always)]
    fn window(&self, params: &SwiftParams) -> u64 {
        ((self.window * params.site.payload as f64) as u64).max(1)
    }

    #[inline(always)]
    fn gap(&self, _params: &SwiftParams, _wire: u64) -> Duration {
        if self.window < 1.0 { Duration((self.rtt.0 as f64 / self.window) as u64) } else { Duration::ZERO }
    }

    #[inline(always)]
    fn on_ack(&mut self, params: &SwiftParams, ack: Ack<Trip>) -> bool {
        let (before, delay) = (self.window, ack.now.since(ack.extension.sent));
        let packets = f64::from(ack.seq.saturating_sub(self.acked));
        (self.acked, self.rtt, self.timeouts) = (self.acked.max(ack.seq), delay, 0);
        let (took, target) = (delay.0 as f64, params.target(before, ack.extension.hops));
        if took < target {
            let step = params.additive_increase * packets;
            self.window = params.bounded(before + if before >= 1.0 { step / before } else { step });
        } else {
            let share = 1.0 - params.beta * (took - target) / took;
            self.cut(params, ack.now, share.max(1.0 - params.max_cut));
        }
        self.window != before
    }

    fn on_loss(&mut self, params: &SwiftParams, now: Instant, loss: Loss) -> bool {
        let before = self.window;
        self.timeouts += (loss == Loss::Timeout) as u32;
        if self.timeouts >= params.reset_after {
            self.window = params.min_window;
        } else {
            self.cut(params, now, 1.0 - params.max_cut);
        }
        self.window != before
    }
}

impl ClosedForm for Swift {
    const ASKS_BASE_RTT: bool = true;

    fn carried(params: &SwiftParams) -> Bytes {
        params.stamp_bytes
    }

    /// Steps of additive increase up to the window of the line at the target, each of which takes the target at most.
    fn recovery(params: &SwiftParams) -> Duration {
        let target = params.target(params.scaling_max, 1);
        let window = target * params.site.line_rate / (8e12 * params.site.payload.max(1) as f64);
        Duration((target * window / params.additive_increase.max(1e-3)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base round trip of 8 us at 100 Gb/s, and a base target of 20 us.
    fn params(window: u64) -> SwiftParams {
        let (line_rate, payload, base_rtt) = (1e11, 1000, Duration::from_us(8));
        Swift::at(&SwiftParams::default(), Site { line_rate, window, payload, base_rtt, ..Site::default() })
    }

    /// An ACK, at `now`, of the packets before `seq`, the last of which took so many microseconds over `hops` switches.
    fn ack(now: u64, seq: u32, took: f64, hops: u8) -> Ack<Trip> {
        let (now, mut extension) = (Instant(now * 1_000_000), Trip::default());
        extension.sent = Instant(now.0 - (took * 1e6) as u64);
        (0..hops).for_each(|_| extension.stamp(&mut (), now, 7));
        Ack { now, key: 0, seq, next: seq + 1, whole: seq + 1, marked: false, rtt: None, extension }
    }

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() <= 1e-9 * expected.abs(), "{measured}, not {expected}");
    }

    /// a = 100 us / (1 / sqrt 0.1 - 1 / sqrt 100) = 100 us / 3.0622..., b = -a / 10.
    #[test]
    fn a_target_grows_with_hops_and_with_smaller_windows() {
        let params = params(100_000);
        let a = 100e6 / (10f64.powf(0.5) - 0.1);
        let hop = 20e6 / 6.55;
        near(params.target(100.0, 0), 20e6);
        near(params.target(400.0, 0), 20e6);
        near(params.target(100.0, 3), 20e6 + 3.0 * hop);
        near(params.target(0.1, 3), 120e6 + 3.0 * hop);
        near(params.target(0.01, 3), 120e6 + 3.0 * hop);
        for window in [0.5f64, 1.0, 4.0, 25.0] {
            near(params.target(window, 1), 20e6 + hop + a / window.powf(0.5) - a / 10.0);
        }
    }

    #[test]
    fn bases_that_are_not_given_exceed_those_of_idle_paths() {
        let site = Site { base_rtt: Duration::from_us(40), payload: 1000, line_rate: 1e11, ..Site::default() };
        near(Swift::at(&SwiftParams::default(), site).target(100.0, 0), 60e6);
        let given = SwiftParams { base_target: Some(Duration::from_us(10)), ..SwiftParams::default() };
        near(Swift::at(&given, site).target(100.0, 1), 10e6 + 10e6 / 6.55);
        let all = SwiftParams { hop: Some(Duration::ZERO), scaling_range: Some(Duration::from_us(7)), ..given };
        near(Swift::at(&all, site).target(0.1, 9), 17e6);
    }

    #[test]
    fn below_the_target_a_window_grows_by_a_packet_in_a_round_trip() {
        let params = params(100_000);
        let mut flow = Swift::new(&params);
        near(flow.packets(), 100.0);
        flow.on_ack(&params, ack(100, 1, 8.0, 3));
        near(flow.packets(), 100.01);
        flow.on_ack(&params, ack(101, 4, 8.0, 3));
        near(flow.packets(), 100.01 + 3.0 / 100.01);
        assert!(!flow.on_ack(&params, ack(102, 4, 8.0, 3)), "nothing new was acknowledged");
        flow.window = 0.5;
        flow.on_ack(&params, ack(103, 5, 8.0, 3));
        near(flow.packets(), 1.5);
        flow.window = 1000.0;
        assert!(!flow.on_ack(&params, ack(104, 6, 8.0, 3)), "it has an end");
    }

    #[test]
    fn above_the_target_a_window_is_cut_by_the_excess_once_in_a_round_trip() {
        let params = params(100_000);
        let mut flow = Swift::new(&params);
        // The target is 20 us, without hops.
        assert!(flow.on_ack(&params, ack(100, 1, 25.0, 0)));
        let first = 100.0 * (1.0 - 0.8 * 5.0 / 25.0);
        near(flow.packets(), first);
        assert!(!flow.on_ack(&params, ack(124, 2, 30.0, 0)), "24 us later, and a round trip takes 30 us");
        assert!(!flow.on_ack(&params, ack(129, 3, 30.0, 0)));
        assert!(flow.on_ack(&params, ack(130, 4, 30.0, 0)));
        let target = params.target(first, 0) / 1e6;
        near(flow.packets(), first * (1.0 - 0.8 * (30.0 - target) / 30.0));
        let second = flow.packets();
        assert!(flow.on_ack(&params, ack(2000, 5, 900.0, 0)));
        near(flow.packets(), second / 2.0);
    }

    #[test]
    fn losses_halve_the_window_and_five_timeouts_leave_the_smallest() {
        let params = params(100_000);
        let us = |us: u64| Instant(us * 1_000_000);
        let mut flow = Swift::new(&params);
        flow.on_ack(&params, ack(50, 1, 8.0, 3));
        let before = flow.packets();
        assert!(flow.on_loss(&params, us(100), Loss::Missed));
        near(flow.packets(), before / 2.0);
        assert!(!flow.on_loss(&params, us(107), Loss::Missed), "within a round trip");
        for k in 1..5 {
            assert!(flow.on_loss(&params, us(5_000 * k), Loss::Timeout));
            near(flow.packets(), before / 2f64.powi(k as i32 + 1));
        }
        flow.on_loss(&params, us(25_000), Loss::Timeout);
        assert_eq!(flow.packets(), 0.01);
        // Heard of again: the count begins anew.
        flow.on_ack(&params, ack(30_000, 2, 8.0, 3));
        near(flow.packets(), 1.01);
        flow.on_loss(&params, us(40_000), Loss::Timeout);
        near(flow.packets(), 0.505);
    }

    #[test]
    fn windows_below_a_packet_are_paced() {
        let params = params(100_000);
        let mut flow = Swift::new(&params);
        flow.on_ack(&params, ack(100, 1, 8.0, 3));
        assert_eq!(flow.gap(&params, 1056), Duration::ZERO);
        flow.window = 0.25;
        assert_eq!((flow.gap(&params, 1056), flow.window(&params)), (Duration::from_us(32), 250));
        flow.window = 0.0001;
        assert_eq!(flow.window(&params), 1, "one packet may start when none is in flight");
    }

    #[test]
    fn a_flow_starts_with_the_window_of_its_site() {
        near(Swift::new(&params(104_000)).packets(), 104.0);
        near(Swift::new(&params(u64::MAX)).packets(), 1000.0);
        let wide = params(5_000_000);
        let mut flow = Swift::new(&wide);
        near(flow.packets(), 5000.0);
        assert!(!flow.on_ack(&wide, ack(100, 1, 8.0, 3)), "the largest there is");
    }
}
