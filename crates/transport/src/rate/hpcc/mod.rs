//! HPCC: a rate, and a window in proportion to it, from telemetry that the switches on the path write into every
//! packet.
//!
//! Sources: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, section 3 and algorithm 1; its authors'
//! simulator, mode 3 (baselines 4), which has the rate where the paper has the window.
//!
//! ```text
//! a switch writes at each hop j:  its clock ts, bytes sent tx, bytes left in the port q, rate B of the link
//! per ACK, with its telemetry x and that of the ACK before y:
//!   u_j = 8 (x.tx - y.tx) / (x.ts - y.ts) / B_j + min(x.q, y.q) line / (B_j Wmax)
//!   u = max u_j, of hop j ; t = min(x_j.ts - y_j.ts, T) ; U = (1 - t/T) U + (t/T) u          (U starts at 1)
//!   U / eta >= 1 or stage >= max_stage:  R = Rc eta / U + AI, stage starts again ; else R = Rc + AI, stage one up
//!   once per round trip, when a packet sent after the last such update is acknowledged:  Rc = R, and the stage counts
//! window = Wmax R / line ; a packet of L bytes is followed by a gap of 8 L / R
//! ```
//!
//! Starts at line rate. The first ACK, and the first of another path, changes nothing but y: records of different
//! switches are not compared, so where packets are sprayed an ACK counts only if the one before came by the same path.
//! The simulator compares them, and divides by zero where two ACKs bring the same time; here the second does not count.
//! With `multi_rate` each hop has its own U, Rc and stage, and the least rate holds. A drop notice sets R and each Rc
//! to the minimum. A change of rate moves the send time of the packet that waits. The wire format of telemetry is in
//! `int`, the simulator's differences in `simulator`. Floating point: additions, multiplications and divisions only.

mod int;
mod simulator;

pub use int::{HOPS, Int};

use crate::rate::{Ack, ClosedForm, Control, Site};
use backwater_types::{BitsPerSec, Bytes, Duration, Instant, OutOfRange, Ranges};
use int::{IntHop, IntRate, QUEUED_UNIT};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// HPCC (baselines 4).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct HpccParams {
    /// Target utilisation (eta).
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub utilization: f64,
    /// Steps of additive increase before a multiplicative one (maxStage).
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub max_stage: u32,
    /// Rate added at every update (W_AI / T).
    pub additive_increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// ACKs at which the rate changes.
    pub reacts: HpccReaction,
    /// Each hop has a rate of its own, the least of which holds.
    pub multi_rate: bool,
    /// Hops with empty queues are ignored between updates.
    pub sample_feedback: bool,
    /// Hops that packets have room for; a packet that passes more is no sample.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = HOPS)))]
    pub hops: u8,
    /// Bytes of telemetry on every data packet, whatever the number of hops.
    pub int_bytes: Bytes,
    /// Factor of the units of telemetry, 128 B (sent) and 80 B (queued). Absent: one for each 25 Gb/s of the fastest
    /// NIC.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1024)))]
    pub int_unit: Option<u32>,
    /// Packets are spaced by the rate (false: only the window limits them).
    pub paced: bool,
    /// The window is in proportion to the rate (false: it stays at `host.window`).
    pub window_follows_rate: bool,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

/// ACKs at which HPCC changes its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum HpccReaction {
    /// Every ACK, starting from the rate a round trip ago.
    Fast,
    /// Every ACK, starting from the current rate.
    PerAck,
    /// One ACK per round trip.
    PerRtt,
}

impl Default for HpccParams {
    fn default() -> HpccParams {
        HpccParams {
            utilization: 0.95,
            max_stage: 5,
            additive_increase: BitsPerSec(50_000_000),
            min_rate: BitsPerSec(100_000_000),
            reacts: HpccReaction::Fast,
            multi_rate: false,
            sample_feedback: false,
            hops: 5,
            int_bytes: Bytes(42),
            int_unit: None,
            paced: true,
            window_follows_rate: true,
            site: Site::default(),
        }
    }
}

impl Ranges for HpccParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let within = self.utilization > 0.0 && self.utilization <= 1.0;
        OutOfRange::unless(within, "utilization", "more than 0 and at most 1")?;
        OutOfRange::unless(self.max_stage <= 1000, "max_stage", "0 to 1000")?;
        OutOfRange::unless(self.min_rate.0 > 0, "min_rate", "more than 0 bps")?;
        OutOfRange::unless((1..=HOPS).contains(&usize::from(self.hops)), "hops", "1 to 6")?;
        OutOfRange::unless(self.int_bytes.0 <= 512, "int_bytes", "up to 512 B")?;
        let unit = self.int_unit.unwrap_or(1);
        OutOfRange::unless((1..=1 << 10).contains(&unit), "int_unit", "1 to 1024")
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Hpcc {
    /// Sending rate (R), bit/s.
    rate: f64,
    /// Reference of the flow, or with `multi_rate` of each hop.
    references: [Reference; HOPS],
    /// Last record of each hop.
    last: [IntHop; HOPS],
    /// Path of these hops.
    path: u16,
    /// Next packet to be sent at the last update; 0 before the first ACK.
    updated: u32,
}

/// State that rates are computed from.
#[derive(Clone, Copy, Debug)]
struct Reference {
    /// Rate a round trip ago (Rc), bit/s.
    rate: f64,
    /// Utilisation of the path or hop (U).
    utilization: f64,
    /// Steps of additive increase since the last multiplicative one.
    stage: u32,
}

impl Reference {
    /// Updates U by `u`, which was measured over `tau` of a round trip of `base`, both in nanoseconds.
    #[inline(always)]
    fn observe(&mut self, u: f64, tau: u64, base: u64) {
        let tau = tau.min(base);
        self.utilization = (self.utilization * (base - tau) as f64 + u * tau as f64) / base as f64;
    }

    /// Returns the rate and the stage that follow.
    #[inline(always)]
    fn next(&self, params: &HpccParams) -> (f64, u32) {
        let over = self.utilization / params.utilization;
        let (rate, stage) = if over >= 1.0 || self.stage >= params.max_stage {
            (params.site.kept(self.rate / over), 0)
        } else {
            (self.rate, self.stage + 1)
        };
        let rate = rate + params.additive_increase.0 as f64;
        (rate.max(params.min_rate.0 as f64).min(params.site.line_rate), stage)
    }
}

impl Hpcc {
    /// Sending rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Utilisation of the path as the flow estimates it (U; with `multi_rate` the largest of any hop); 1 is full.
    pub fn utilization(&self, params: &HpccParams) -> f64 {
        let flows = if params.multi_rate { &self.references[..] } else { &self.references[..1] };
        flows.iter().fold(0.0, |most, reference| most.max(reference.utilization))
    }

    /// Updates U by the records of an ACK, and returns the bits of the hops that count.
    #[inline(always)]
    fn observe(&mut self, params: &HpccParams, hops: &[IntHop], rates: &[IntRate; HOPS], fast: bool) -> u8 {
        let (site, unit) = (&params.site, params.site.int_unit as u64);
        let base = (site.base_rtt.0 / 1000).max(1);
        let (mut seen, mut most, mut over) = (0, 0.0, 0);
        for (i, (&hop, &rate)) in hops.iter().zip(rates).enumerate() {
            if params.sample_feedback && fast && hop.queued() == 0 {
                continue;
            }
            let tau = hop.since(self.last[i]);
            if !params.is_sample(tau) {
                continue;
            }
            seen |= 1 << i;
            let (before, rate) = (core::mem::replace(&mut self.last[i], hop), params.link_rate(rate));
            let sent = (hop.sent_since(before, unit) * 8) as f64 / (tau as f64 * 1e-9);
            let queued = (hop.queued().min(before.queued()) * QUEUED_UNIT * unit) as f64;
            let u = sent / rate + queued * site.line_rate / rate / params.full_window();
            if params.multi_rate {
                self.references[i].observe(u, tau, base);
            } else if u > most {
                (most, over) = (u, tau);
            }
        }
        if !params.multi_rate && seen != 0 {
            self.references[0].observe(most, over, base);
        }
        seen
    }

    /// Sets the rate that follows from U, and with `keep` the references too.
    #[inline(always)]
    fn react(&mut self, params: &HpccParams, hops: usize, seen: u8, keep: bool) {
        if !params.multi_rate {
            let (rate, stage) = self.references[0].next(params);
            self.rate = rate;
            if keep {
                self.references[0] = Reference { rate, stage, ..self.references[0] };
            }
            return;
        }
        self.rate = params.site.line_rate;
        for (i, reference) in self.references[..hops].iter_mut().enumerate() {
            if seen >> i & 1 == 0 {
                self.rate = self.rate.min(reference.rate);
                continue;
            }
            let (rate, stage) = reference.next(params);
            self.rate = self.rate.min(rate);
            if keep {
                *reference = Reference { rate, stage, ..*reference };
            }
        }
    }
}

impl HpccParams {
    /// Window at line rate (Wmax), bytes.
    #[inline(always)]
    fn full_window(&self) -> f64 {
        match self.site.window {
            u64::MAX => self.site.line_rate * self.site.base_rtt.as_secs_f64() / 8.0,
            bytes => bytes as f64,
        }
    }
}

impl Control for Hpcc {
    type Params = HpccParams;
    type Extension = Int;
    type Times = ();
    type Due = Instant;

    fn at(params: &HpccParams, site: Site) -> HpccParams {
        HpccParams { site, ..*params }
    }

    fn new(params: &HpccParams) -> Hpcc {
        let rate = params.site.line_rate;
        Hpcc {
            rate,
            references: [Reference { rate, utilization: 1.0, stage: 0 }; HOPS],
            last: [IntHop(0); HOPS],
            path: 0,
            updated: 0,
        }
    }

    fn to_min_rate(&mut self, params: &HpccParams) -> bool {
        let rate = params.min_rate.0 as f64;
        self.rate = rate;
        self.references.iter_mut().for_each(|reference| *reference = Reference { rate, stage: 0, ..*reference });
        true
    }

    #[inline(always)]
    fn window(&self, params: &HpccParams) -> u64 {
        params.site.window_at(if params.window_follows_rate { self.rate } else { params.site.line_rate })
    }

    #[inline(always)]
    fn gap(&self, params: &HpccParams, wire: u64) -> Duration {
        params.site.time_at(if params.paced { self.rate } else { params.site.line_rate }, wire)
    }

    #[inline(always)]
    fn spacing(&self, params: &HpccParams, wire: u64) -> Duration {
        params.site.moving_gap(self.rate, wire, || self.gap(params, wire))
    }

    #[inline]
    fn on_ack(&mut self, params: &HpccParams, ack: Ack<Int>) -> bool {
        let fast = ack.seq <= self.updated;
        if fast && params.reacts == HpccReaction::PerRtt {
            return false;
        }
        let hops = ack.extension.read(params.hops);
        let moved = self.path != ack.extension.path && !hops.is_empty() && !params.compares_paths();
        if self.updated == 0 || moved {
            self.updated = ack.next;
            self.path = ack.extension.path;
            self.last[..hops.len()].copy_from_slice(hops);
            return false;
        }
        let seen = self.observe(params, hops, &ack.extension.rates, fast);
        if seen != 0 {
            self.react(params, hops.len(), seen, !fast || params.reacts == HpccReaction::PerAck);
        }
        if !fast {
            self.updated = self.updated.max(ack.next);
        }
        seen != 0
    }
}

impl ClosedForm for Hpcc {
    const ASKS_BASE_RTT: bool = true;

    fn carried(params: &HpccParams) -> Bytes {
        params.int_bytes
    }

    fn min_rate(params: &HpccParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }

    /// The target utilisation; steps of additive increase go beyond it.
    fn share(params: &HpccParams) -> f64 {
        params.utilization
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::{Extension, LinkShape};
    use int::{IntPort, SENT_BITS, SENT_UNIT, TIME_BITS};

    /// 12.288 us at 25 Gb/s are 38 400 B, of which 128 and 80 are divisors.
    const BASE: u64 = 12_288;
    const LINE: f64 = 25e9;
    const WINDOW: u64 = 38_400;

    fn params() -> HpccParams {
        let site = Site {
            line_rate: LINE,
            window: WINDOW,
            payload: 1000,
            base_rtt: Duration::from_ns(BASE),
            int_unit: 1,
            whole: false,
            timer_events: false,
        };
        let additive_increase = BitsPerSec(50_000_000);
        Hpcc::at(&HpccParams { max_stage: 0, additive_increase, ..HpccParams::default() }, site)
    }

    /// Times are divided by 10^9 before rates are: equal up to rounding.
    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-12 * expected, "{value} for {expected}");
    }

    /// A port of 25 Gb/s, whose telemetry is written as a switch does.
    struct Wire {
        port: IntPort,
        now: u64,
    }

    impl Wire {
        fn new() -> Wire {
            Wire::tagged(1)
        }

        fn tagged(tag: u16) -> Wire {
            Wire { port: Int::port(&LinkShape { tag, ..LinkShape::new(BitsPerSec(LINE as u64)) }), now: 0 }
        }

        /// Telemetry of a packet after so many nanoseconds, with bytes sent in that time and bytes queued.
        fn after(&mut self, ns: u64, sent: u64, queued: u64) -> Int {
            self.now += ns;
            self.port.sent += sent;
            let mut int = Int::default();
            int.stamp(&mut self.port, Instant(1000 * self.now), queued);
            int
        }
    }

    fn ack(seq: u32, next: u32, extension: Int) -> Ack<Int> {
        Ack { now: Instant(0), key: 0, seq, next, whole: next, marked: false, rtt: None, extension }
    }

    /// A flow that has had its first ACK.
    fn flow(params: &HpccParams, wire: &mut Wire) -> Hpcc {
        let mut flow = Hpcc::new(params);
        assert!(!flow.on_ack(params, ack(1, 40, wire.after(0, 0, 0))), "the first sets the scene");
        flow
    }

    #[test]
    fn a_full_link_is_used_to_its_target() {
        let (params, mut wire) = (params(), Wire::new());
        let mut flow = flow(&params, &mut wire);
        // A round trip in which it sent all it could: u = 1.
        assert!(flow.on_ack(&params, ack(41, 80, wire.after(BASE, 38_400, 0))));
        near(flow.utilization(&params), 1.0);
        near(flow.rate(), 0.95 * LINE + 50e6);
        assert_eq!(flow.window(&params), (38_400.0 * (flow.rate() / LINE)) as u64);
        assert_eq!(flow.gap(&params, 1090), Duration((1090.0 * 8e12 / flow.rate()) as u64));
    }

    #[test]
    fn a_queue_counts_by_the_window_and_the_lesser_of_two_observations() {
        let (params, mut wire) = (params(), Wire::new());
        let mut flow = flow(&params, &mut wire);
        // It was empty when the first came by: nothing is counted.
        flow.on_ack(&params, ack(41, 80, wire.after(BASE, 38_400, 38_400)));
        near(flow.utilization(&params), 1.0);
        // A window is queued: u = 1 + 1.
        flow.on_ack(&params, ack(81, 120, wire.after(BASE, 38_400, 57_600)));
        near(flow.utilization(&params), 2.0);
    }

    #[test]
    fn from_the_lowest_rate_it_grows_by_what_the_path_has_left() {
        let (params, mut flow, mut wire) = (params(), Hpcc::new(&params()), Wire::new());
        flow.on_ack(&params, ack(1, 10, wire.after(0, 0, 0)));
        assert!(flow.to_min_rate(&params));
        near(flow.rate(), 1e8);
        // Half of the port was used for a round trip.
        flow.on_ack(&params, ack(11, 20, wire.after(BASE, WINDOW / 2, 0)));
        near(flow.rate(), 1e8 * 0.95 / 0.5 + 50e6);
    }

    #[test]
    fn what_was_seen_for_part_of_a_round_trip_counts_in_part() {
        let (params, mut wire) = (params(), Wire::new());
        let mut flow = flow(&params, &mut wire);
        flow.on_ack(&params, ack(2, 41, wire.after(BASE / 2, 9_600, 0)));
        near(flow.utilization(&params), 0.75);
    }

    #[test]
    fn between_updates_rates_start_from_the_one_a_round_trip_ago() {
        let (params, mut wire) = (params(), Wire::new());
        let mut flow = flow(&params, &mut wire);
        for seq in 2..=40 {
            flow.on_ack(&params, ack(seq, 40 + seq, wire.after(BASE, 38_400, 0)));
            near(flow.rate(), 0.95 * LINE + 50e6);
        }
        flow.on_ack(&params, ack(41, 81, wire.after(BASE, 38_400, 0)));
        flow.on_ack(&params, ack(42, 82, wire.after(BASE, 38_400, 0)));
        assert_eq!(
            flow.rate(),
            (LINE / (1.0 / 0.95) + 50e6) / (1.0 / 0.95) + 50e6,
            "the update before is the reference"
        );
        let (params, mut wire) = (HpccParams { reacts: HpccReaction::PerAck, ..params }, Wire::new());
        let mut flow = self::flow(&params, &mut wire);
        (2..4).for_each(|seq| _ = flow.on_ack(&params, ack(seq, 40 + seq, wire.after(BASE, 38_400, 0))));
        near(flow.rate(), 0.95 * (0.95 * LINE + 50e6) + 50e6);
        let params = HpccParams { reacts: HpccReaction::PerRtt, ..params };
        let mut flow = self::flow(&params, &mut wire);
        assert!(!flow.on_ack(&params, ack(2, 41, wire.after(BASE, 38_400, 0))), "not before a round trip");
    }

    #[test]
    fn additive_steps_come_before_a_multiplicative_one() {
        let (params, mut wire) = (HpccParams { max_stage: 3, ..params() }, Wire::new());
        let mut flow = flow(&params, &mut wire);
        flow.references[0] = Reference { rate: 5e9, utilization: 0.5, stage: 0 };
        let mut seq = 41;
        let mut rates = [0.0; 4];
        for rate in &mut rates {
            flow.on_ack(&params, ack(seq, seq + 39, wire.after(BASE, 19_200, 0)));
            (*rate, seq) = (flow.rate(), seq + 40);
        }
        // The link is half used, so three steps of 50 Mb/s, then as much as fills it.
        [5.05e9, 5.1e9, 5.15e9, 5.15e9 / (0.5 / 0.95) + 50e6].iter().zip(rates).for_each(|(e, rate)| near(rate, *e));
    }

    #[test]
    fn flows_share_and_fill_what_they_aim_for() {
        let params = params();
        // Algorithm 1 once a round trip: each rate is scaled by the same factor, and grows by the same step.
        let mut wire = Wire::new();
        let mut flows = [flow(&params, &mut wire), flow(&params, &mut wire)];
        (flows[0].references[0].rate, flows[0].rate) = (20e9, 20e9);
        (flows[1].references[0].rate, flows[1].rate) = (4e9, 4e9);
        let mut seq = 41;
        for _ in 0..2000 {
            let (sum, apart) = (flows[0].rate() + flows[1].rate(), flows[0].rate() - flows[1].rate());
            // What the port sends in a round trip, in units that divide it, over a multiple of it.
            let sent = ((sum / LINE).min(1.0) * 38_400.0 / 128.0) as u64 * 128;
            let int = wire.after(BASE, sent, 0);
            flows.iter_mut().for_each(|flow| _ = flow.on_ack(&params, ack(seq, seq + 39, int)));
            seq += 40;
            let u = sent as f64 / 38_400.0;
            let expected = apart * 0.95 / u;
            let now = flows[0].rate() - flows[1].rate();
            assert!((now - expected).abs() <= 1e-6 * LINE, "{now} for {expected}");
        }
        let sum = flows[0].rate() + flows[1].rate();
        // Fixed point of R' = R eta B / sum + AI, and one unit of 128 B in a round trip.
        assert!((sum - (0.95 * LINE + 2.0 * 50e6)).abs() < 128.0 * 8e9 / BASE as f64, "{sum}");
        assert!((flows[0].rate() - flows[1].rate()).abs() < 0.002 * LINE, "{flows:?}");
    }

    #[test]
    fn counters_wrap() {
        let (params, mut wire) = (params(), Wire::new());
        wire.now = (1 << TIME_BITS) - 100;
        wire.port.sent = SENT_UNIT * ((1 << SENT_BITS) - 1);
        let mut flow = flow(&params, &mut wire);
        flow.on_ack(&params, ack(41, 80, wire.after(BASE, 38_400, 0)));
        assert!((flow.utilization(&params) - 1.0).abs() < 1e-9, "{}", flow.utilization(&params));
    }

    #[test]
    fn each_hop_may_have_a_rate_of_its_own() {
        let params = HpccParams { multi_rate: true, ..params() };
        let mut wires = [Wire::new(), Wire::new()];
        let mut both = |ns: u64, sent: [u64; 2]| {
            let mut int = wires[0].after(ns, sent[0], 0);
            wires[1].now += ns;
            wires[1].port.sent += sent[1];
            int.stamp(&mut wires[1].port, Instant(1000 * wires[1].now), 0);
            int
        };
        let mut flow = Hpcc::new(&params);
        flow.on_ack(&params, ack(1, 40, both(0, [0, 0])));
        flow.on_ack(&params, ack(41, 80, both(BASE, [19_200, 38_400])));
        // Half used: as much as the line lets it; all used: the target.
        near(flow.references[0].rate, LINE);
        near(flow.references[1].rate, 0.95 * LINE + 50e6);
        assert_eq!(flow.rate(), flow.references[1].rate);
    }

    #[test]
    fn two_acks_of_one_nanosecond_count_as_one() {
        let (params, mut wire) = (params(), Wire::new());
        let mut flow = flow(&params, &mut wire);
        flow.on_ack(&params, ack(41, 80, wire.after(BASE / 2, 9_600, 0)));
        flow.on_ack(&params, ack(42, 81, wire.after(0, 9_600, 0)));
        // Their bytes count with the next: 28 800 B in half a round trip, u = 1.5 for that half.
        near(flow.utilization(&params), 0.75);
        flow.on_ack(&params, ack(43, 82, wire.after(BASE / 2, 19_200, 0)));
        near(flow.utilization(&params), 0.75 / 2.0 + 1.5 / 2.0);
    }

    #[test]
    fn what_switches_of_two_paths_wrote_is_not_compared() {
        let (params, mut here, mut there) = (params(), Wire::new(), Wire::tagged(2));
        let mut flow = flow(&params, &mut here);
        (there.now, there.port.sent) = (500, 1 << 30);
        flow.on_ack(&params, ack(41, 80, there.after(BASE, 38_400, 0)));
        assert_eq!(flow.utilization(&params), 1.0, "it sets the scene");
        flow.on_ack(&params, ack(81, 120, there.after(BASE, 19_200, 0)));
        near(flow.utilization(&params), 0.5);
    }

    #[test]
    fn rates_are_told_to_three_digits() {
        for rate in [1, 64_000, 25_000_000_000, 40_000_000_000, 100_000_000_000, 409_500_000_000, 8_000_000_000_000] {
            assert_eq!(params().link_rate(IntRate::of(BitsPerSec(rate))), rate as f64);
        }
        for rate in [33_333_333_333_u64, 123_456_789, 99_999_999_999] {
            let told = params().link_rate(IntRate::of(BitsPerSec(rate)));
            assert!(told <= rate as f64 && told > rate as f64 * (1.0 - 1.0 / 409.0), "{told} of {rate}");
        }
    }

    #[test]
    fn a_packet_that_met_too_many_switches_tells_nothing() {
        let (params, mut wire) = (params(), Wire::new());
        let mut flow = flow(&params, &mut wire);
        let mut int = wire.after(BASE, 38_400, 0);
        let mut further = |n| (0..n).for_each(|_| int.stamp(&mut wire.port, Instant(0), 0));
        further(HOPS - 1);
        assert!(!flow.on_ack(&params, ack(41, 80, int)), "six, where there is room for five");
        assert_eq!(flow.rate(), LINE);
        // Where there is room for six, only a seventh is too many: the first ACK was of another path, so this one sets
        // the scene.
        let roomy = HpccParams { hops: 6, ..params };
        assert_eq!(int.read(roomy.hops).len(), 6);
        int.stamp(&mut wire.port, Instant(0), 0);
        assert!(int.read(roomy.hops).is_empty());
    }
}
