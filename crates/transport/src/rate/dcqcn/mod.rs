//! DCQCN: a rate that congestion notifications cut, and that recovers towards its value before the cut, then beyond.
//!
//! Sources: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, sections 3 and 5, and its
//! authors' simulator, which BFC cites (baselines 2.1); NICs of Mellanox as HPCC's simulator has them, mode 1
//! (baselines 2.2).
//!
//! ```text
//! published:  receiver: at most one CNP every `cnp_interval`, if a marked packet came in it
//!             CNP:      Rt = R (with `clamp`, else only if R was increased since the last cut) ; alpha = (1 - g) alpha + g
//!                       R = max(Rmin, R (1 - alpha / 2)) ; both counters and both stages start again
//!             every alpha_timer without a CNP:  alpha = (1 - g) alpha
//!             byte counter or increase timer expires, its stage Sb or St counts one up:
//!               max(Sb, St) < F:    fast recovery
//!               min(Sb, St) < F:    Rt += AI
//!               else:               Rt += HAI (min(Sb, St) - F + 1), and both run at half their period
//!             then R = (R + Rt) / 2. If either stage is 1 and Rt > 10 R, Rt is divided by 8 in place of growing.
//! vendor:     no CNPs, marks are echoed in ACKs
//!             every alpha_timer:        alpha = (1 - g) alpha + g [an echo came since]
//!             every decrease_interval, if an echo came since:  Rt = R (with `clamp`, or if R was increased) ; R cut as above
//!             every increase_timer:     St < F: - ; St = F: Rt += AI ; else Rt += HAI ; then R = (R + Rt) / 2 and St += 1
//! ```
//!
//! Starts at line rate. Both rates stay at or below it: the authors' simulator does not cap Rt. Alpha is brought up to
//! date when it is needed, with the same result as at every tick; `events` has it tick by tick, as HPCC's simulator has
//! the vendor's form. Both forms share `rates`; the rest of each is in `published` and `vendor`. Differs from the
//! paper: alpha is updated before the cut, as in the authors' simulator. Floating point: additions, multiplications and
//! divisions only.

mod events;
mod published;
mod rates;
mod vendor;

use crate::rate::{Ack, ClosedForm, Control, Site};
use backwater_types::{BitsPerSec, Bytes, Duration, Instant, OutOfRange, Ranges};
use published::ByteCounter;
use rates::Rates;
use vendor::Echoes;
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// DCQCN (baselines 2).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct DcqcnParams {
    /// Form of DCQCN.
    pub variant: DcqcnVariant,
    /// Weight of the newest observation in the estimate alpha.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub g: f64,
    /// Estimate alpha at a flow's first cut, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub alpha: f64,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// Rate added to the target in additive increase (AI).
    pub additive_increase: BitsPerSec,
    /// Rate added to the target in hyper increase (HAI).
    pub hyper_increase: BitsPerSec,
    /// Steps of fast recovery (F).
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub fast_recovery: u32,
    /// Period of the increase timer.
    pub increase_timer: Duration,
    /// Wire bytes between steps of the byte counter; `"0 B"`: no counter. Only published.
    pub byte_counter: Bytes,
    /// Period in which alpha decays, or with `vendor` is updated.
    pub alpha_timer: Duration,
    /// Least time between two notifications of a receiver. Only published.
    pub cnp_interval: Duration,
    /// Least time between two cuts. Only vendor.
    pub decrease_interval: Duration,
    /// A cut sets the target to the rate, also if the rate was not increased since the cut before.
    pub clamp: bool,
    /// The window, where there is one, is in proportion to the rate.
    pub window_follows_rate: bool,
    /// Packets are spaced by the rate (false: only the window limits them).
    pub paced: bool,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

/// The published forms of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum DcqcnVariant {
    /// As at SIGCOMM 2015: notification packets, a byte counter and a timer.
    Published,
    /// As NICs of Mellanox in HPCC's simulator: marks echoed in ACKs, timers only.
    Vendor,
}

impl Default for DcqcnParams {
    /// Defaults of the paper, sections 3.3 and 5.
    fn default() -> DcqcnParams {
        DcqcnParams {
            variant: DcqcnVariant::Published,
            g: 1.0 / 256.0,
            alpha: 1.0,
            min_rate: BitsPerSec(100_000_000),
            additive_increase: BitsPerSec(40_000_000),
            hyper_increase: BitsPerSec(200_000_000),
            fast_recovery: 5,
            increase_timer: Duration::from_us(55),
            byte_counter: Bytes(10_000_000),
            alpha_timer: Duration::from_us(55),
            cnp_interval: Duration::from_us(50),
            decrease_interval: Duration::from_us(50),
            clamp: true,
            window_follows_rate: false,
            paced: true,
            site: Site::default(),
        }
    }
}

impl Ranges for DcqcnParams {
    fn check(&self) -> Result<(), OutOfRange> {
        // A second is four orders of magnitude longer than any published period.
        let period = |key: &str, value: Duration| {
            let within = (1_000..=1_000_000_000_000).contains(&value.0);
            OutOfRange::unless(within, key, "1 ns to 1 s")
        };
        OutOfRange::unless(self.g > 0.0 && self.g <= 1.0, "g", "more than 0 and at most 1")?;
        OutOfRange::unless((0.0..=1.0).contains(&self.alpha), "alpha", "0 to 1")?;
        OutOfRange::unless(self.min_rate.0 > 0, "min_rate", "more than 0 bps")?;
        OutOfRange::unless(self.fast_recovery <= 1000, "fast_recovery", "0 to 1000")?;
        period("increase_timer", self.increase_timer)?;
        period("alpha_timer", self.alpha_timer)?;
        period("cnp_interval", self.cnp_interval)?;
        period("decrease_interval", self.decrease_interval)
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Dcqcn {
    rates: Rates,
    /// Byte counter. Only published.
    bytes: ByteCounter,
    /// Echoes of marks. Only vendor.
    echoes: Echoes,
}

impl Dcqcn {
    /// Sending rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rates.rate
    }

    /// Cuts the rate; both counters start again.
    fn cut(&mut self, params: &DcqcnParams, now: Instant) {
        self.rates.cut(params, now);
        self.bytes.restart(params);
    }

    /// Divisor of both counters' periods.
    fn divisor(&self, params: &DcqcnParams) -> u64 {
        1 + (self.bytes.stage.min(self.rates.stage) >= params.fast_recovery) as u64
    }

    /// Increases the rate when the increase timer expires.
    fn on_increase(&mut self, params: &DcqcnParams, now: Instant) {
        match params.variant {
            DcqcnVariant::Published => {
                self.rates.stage += 1;
                self.expire(params);
            }
            DcqcnVariant::Vendor => {
                self.rates.increase(params, params.vendor_step(self.rates.stage));
                self.rates.stage += 1;
            }
        }
        self.rates.increase_at = match self.rates.is_recovered(params) {
            true => Instant::NEVER,
            false => now + Duration(params.increase_timer.0 / self.divisor(params)),
        };
    }
}

impl DcqcnParams {
    /// Whether timers expire as events of their own.
    fn has_timer_events(&self) -> bool {
        self.site.timer_events && self.variant == DcqcnVariant::Vendor
    }
}

impl Control for Dcqcn {
    type Params = DcqcnParams;
    type Extension = ();
    type Due = ();
    type Times = ();
    const TIMED: bool = true;

    fn at(params: &DcqcnParams, site: Site) -> DcqcnParams {
        DcqcnParams { site, ..*params }
    }

    fn new(params: &DcqcnParams) -> Dcqcn {
        Dcqcn { rates: Rates::new(params), bytes: ByteCounter::OFF, echoes: Echoes::NONE }
    }

    fn notifies(params: &DcqcnParams) -> Option<Duration> {
        (params.variant == DcqcnVariant::Published).then_some(params.cnp_interval)
    }

    fn to_min_rate(&mut self, params: &DcqcnParams) -> bool {
        (self.rates.rate, self.rates.target) = (params.min_rate.0 as f64, params.min_rate.0 as f64);
        true
    }

    #[inline(always)]
    fn window(&self, params: &DcqcnParams) -> u64 {
        params.site.window_at(if params.window_follows_rate { self.rates.rate } else { params.site.line_rate })
    }

    #[inline(always)]
    fn gap(&self, params: &DcqcnParams, wire: u64) -> Duration {
        if params.paced { params.site.gap_at(self.rates.rate, wire) } else { Duration::ZERO }
    }

    #[inline(always)]
    fn on_sent(&mut self, params: &DcqcnParams, _now: Instant, wire: u64) {
        self.count(params, wire);
    }

    fn on_cnp(&mut self, params: &DcqcnParams, now: Instant) -> bool {
        self.on_notification(params, now);
        true
    }

    #[inline(always)]
    fn on_ack(&mut self, params: &DcqcnParams, ack: Ack) -> bool {
        if !ack.marked || params.variant == DcqcnVariant::Published {
            return false;
        }
        if params.has_timer_events() {
            self.on_echo_by_events(params, ack.now);
        } else {
            self.on_echo(params, ack.now);
        }
        false
    }

    #[inline(always)]
    fn timer(&self, params: &DcqcnParams) -> Instant {
        if params.has_timer_events() { Instant::NEVER } else { self.rates.increase_at.min(self.echoes.cut_at) }
    }

    fn on_timer(&mut self, params: &DcqcnParams, now: Instant) -> bool {
        let before = self.rates.rate;
        if self.echoes.cut_at <= now {
            self.on_cut_tick(params, now);
        } else if self.rates.increase_at <= now {
            self.on_increase(params, now);
        }
        self.rates.rate != before
    }

    #[inline(always)]
    fn take_armed(&mut self) -> Option<(Instant, u8)> {
        self.next_armed()
    }

    fn on_expiry(&mut self, params: &DcqcnParams, now: Instant, timer: u8) -> bool {
        let before = self.rates.rate;
        self.on_timer_event(params, now, timer);
        self.rates.rate != before
    }
}

impl ClosedForm for Dcqcn {
    /// Additive increase by a step a period: 137 ms at 100 Gb/s with the steps of the paper.
    fn recovery(params: &DcqcnParams) -> Duration {
        let steps = params.site.line_rate / params.additive_increase.0 as f64;
        Duration((steps * params.increase_timer.0 as f64) as u64)
    }

    fn min_rate(params: &DcqcnParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: Site = Site {
        line_rate: 1e11,
        window: u64::MAX,
        payload: 1000,
        base_rtt: Duration::ZERO,
        int_unit: 1,
        whole: false,
        timer_events: false,
    };

    fn us(n: u64) -> Instant {
        Instant(n * 1_000_000)
    }

    fn published() -> DcqcnParams {
        Dcqcn::at(&DcqcnParams { byte_counter: Bytes(0), g: 0.25, ..DcqcnParams::default() }, SITE)
    }

    fn vendor() -> DcqcnParams {
        let params = DcqcnParams {
            variant: DcqcnVariant::Vendor,
            g: 0.25,
            fast_recovery: 1,
            alpha_timer: Duration::from_us(1),
            decrease_interval: Duration::from_us(4),
            increase_timer: Duration::from_us(300),
            clamp: false,
            additive_increase: BitsPerSec(1_000_000_000),
            hyper_increase: BitsPerSec(2_000_000_000),
            ..DcqcnParams::default()
        };
        Dcqcn::at(&params, SITE)
    }

    fn echo(flow: &mut Dcqcn, params: &DcqcnParams, now: Instant) {
        flow.on_ack(params, Ack { now, key: 0, seq: 1, next: 2, whole: 2, marked: true, rtt: None, extension: () });
    }

    /// Runs its timers up to `until`.
    fn run(flow: &mut Dcqcn, params: &DcqcnParams, until: Instant) {
        while flow.timer(params) <= until {
            let now = flow.timer(params);
            flow.on_timer(params, now);
        }
    }

    #[test]
    fn a_notification_cuts_by_half_of_alpha_which_decays_with_the_clock() {
        let (params, mut flow) = (published(), Dcqcn::new(&published()));
        assert_eq!((flow.gap(&params, 1048), flow.timer(&params)), (Duration::ZERO, Instant::NEVER));
        assert!(flow.on_cnp(&params, us(10)));
        // Alpha starts at 1, and 3/4 of it and 1/4 are 1.
        assert_eq!((flow.rate(), flow.rates.target, flow.rates.alpha), (5e10, 1e11, 1.0));
        assert_eq!(flow.gap(&params, 1048), Duration(167_680));
        // Two periods of 55 us later: 9/16, then 3/4 of that and 1/4.
        flow.on_cnp(&params, us(10 + 111));
        assert_eq!(flow.rates.alpha, 0.75 * 0.5625 + 0.25);
        assert_eq!(flow.rate(), 5e10 * (1.0 - flow.rates.alpha / 2.0));
        assert_eq!(flow.rates.target, 5e10, "the clamp");
    }

    #[test]
    fn without_the_clamp_the_target_stays_until_the_rate_was_increased() {
        let params = DcqcnParams { clamp: false, ..published() };
        let mut flow = Dcqcn::new(&params);
        flow.on_cnp(&params, us(0));
        flow.on_cnp(&params, us(1));
        assert_eq!((flow.rate(), flow.rates.target), (2.5e10, 1e11), "two cuts in a row");
        run(&mut flow, &params, us(56));
        assert_eq!(flow.rate(), 6.25e10, "half way to the target");
        flow.on_cnp(&params, us(60));
        assert_eq!(flow.rates.target, 6.25e10);
    }

    /// Four halvings of the way back, additive increase while the byte counter stands still.
    #[test]
    fn the_timer_recovers_and_then_adds() {
        let (params, mut flow) = (published(), Dcqcn::new(&published()));
        flow.on_cnp(&params, us(0));
        flow.on_cnp(&params, us(1));
        let (cut, target) = (2.5e10, 5e10);
        assert_eq!((flow.rate(), flow.rates.target), (cut, target));
        let mut expected = cut;
        for step in 1..=4 {
            run(&mut flow, &params, us(1 + 55 * step));
            expected = (expected + target) / 2.0;
            assert_eq!((flow.rate(), flow.rates.target), (expected, target), "fast recovery, step {step}");
        }
        run(&mut flow, &params, us(1 + 55 * 5));
        assert_eq!(flow.rates.target, target + 4e7, "one stage is at F, the other is not");
        assert_eq!(flow.rate(), (expected + target + 4e7) / 2.0);
    }

    #[test]
    fn both_counters_at_their_end_are_hyper_increase_at_half_the_period() {
        let params = DcqcnParams { byte_counter: Bytes(1_000_000), ..published() };
        let mut flow = Dcqcn::new(&params);
        flow.on_cnp(&params, us(0));
        flow.on_cnp(&params, us(1));
        (0..5).for_each(|_| (0..1000).for_each(|_| flow.on_sent(&params, us(2), 1000)));
        run(&mut flow, &params, us(1 + 55 * 5));
        // The fifth step of the byte counter adds AI, and so do four of the timer; its fifth finds both at F: HAI once.
        assert_eq!((flow.bytes.stage, flow.rates.stage), (5, 5));
        assert_eq!(flow.rates.target, 5e10 + 5.0 * 4e7 + 2e8);
        assert_eq!(flow.timer(&params), us(1 + 55 * 5) + Duration(27_500_000));
        run(&mut flow, &params, us(1 + 55 * 5) + Duration(27_500_000));
        assert_eq!(flow.bytes.stage.min(flow.rates.stage), 5);
        assert_eq!(flow.rates.target, 5e10 + 5.0 * 4e7 + 2.0 * 2e8);
    }

    #[test]
    fn rates_stay_between_the_lowest_and_the_line() {
        let params = published();
        let mut flow = Dcqcn::new(&params);
        (0..100).for_each(|i| assert!(flow.on_cnp(&params, us(i))));
        assert_eq!(flow.rate(), 1e8);
        run(&mut flow, &params, us(2_000_000));
        assert_eq!((flow.rate(), flow.timer(&params)), (1e11, Instant::NEVER), "nothing is left to wait for");
    }

    /// Echoes start clocks of 1 us and 4 us; a cut needs an echo since the last tick of its clock.
    #[test]
    fn the_vendor_cuts_by_its_clock_and_only_after_an_echo() {
        let (params, mut flow) = (vendor(), Dcqcn::new(&vendor()));
        assert_eq!(Dcqcn::notifies(&params), None);
        echo(&mut flow, &params, us(100));
        assert_eq!(flow.timer(&params), us(104) + Duration::from_ns(1));
        run(&mut flow, &params, us(105));
        // Ticks at 101 with the echo, 102, 103 and 104 without.
        let alpha = 0.75f64.powi(3);
        assert_eq!((flow.rates.alpha, flow.rate()), (alpha, 1e11 * (1.0 - alpha / 2.0)));
        assert_eq!(flow.rates.target, 1e11);
        let cut = flow.rate();
        run(&mut flow, &params, us(300));
        assert_eq!(flow.rate(), cut, "no echo, no cut");
        // The first step of increase, 300 us after the cut, is F = 1 step of recovery, then AI, then HAI.
        run(&mut flow, &params, us(405));
        assert_eq!((flow.rate(), flow.rates.target), ((cut + 1e11) / 2.0, 1e11));
        echo(&mut flow, &params, us(406));
        // The clock of cuts ticks every 4 us from 100 us and 1 ns on.
        assert_eq!(flow.timer(&params), us(408) + Duration::from_ns(1));
        let recovered = flow.rate();
        run(&mut flow, &params, us(409));
        assert_eq!(flow.rates.target, recovered, "it was increased since the last cut");
    }

    #[test]
    fn a_window_may_follow_the_rate() {
        let site = Site { window: 104_000, ..SITE };
        let params = Dcqcn::at(&DcqcnParams { window_follows_rate: true, ..published() }, site);
        let mut flow = Dcqcn::new(&params);
        assert_eq!(flow.window(&params), 104_000);
        flow.on_cnp(&params, us(0));
        assert_eq!(flow.window(&params), 52_000);
        assert_eq!(flow.window(&DcqcnParams { window_follows_rate: false, ..params }), 104_000);
    }
}
