//! The vendor's three timers as events of their own, as HPCC's simulator schedules them.
//!
//! Source: the simulator's RDMA model, mode 1. Elsewhere alpha is brought up to date when it is needed, and a timer
//! that would change nothing does not expire. Here each expiry is an event among all others of its instant, so that an
//! echo in the same nanosecond comes before or after it as in the simulator:
//!
//! ```text
//! first echo:        alpha = its first value ; arm alpha for alpha_timer, then cuts for decrease_interval + 1 ns
//! alpha expires:     alpha = (1 - g) alpha + g [an echo came since] ; arm alpha
//! cuts expires:      arm cuts ; if an echo came since: cut, arm increase anew
//! increase expires:  arm increase ; R = R / 2 + Rt / 2, each cut off to whole bit/s, with the steps of the vendor's form
//! ```

use crate::rate::dcqcn::{Dcqcn, DcqcnParams};
use backwater_types::{Duration, Instant};

/// Timers, in the order in which one event arms several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Timer {
    Alpha,
    Cuts,
    Increase,
}

impl Dcqcn {
    /// Handles an echo; the first arms the timers.
    pub(super) fn on_echo_by_events(&mut self, params: &DcqcnParams, now: Instant) {
        let first = self.rates.alpha_at == Instant::NEVER;
        (self.echoes.since_tick, self.echoes.since_cut) = (!first, true);
        if first {
            (self.rates.alpha, self.rates.target) = (params.alpha, self.rates.rate);
            self.arm(Timer::Alpha, now + params.alpha_timer);
            self.arm(Timer::Cuts, now + params.decrease_interval + Duration::from_ns(1));
        }
    }

    /// Handles the expiry of a timer.
    pub(super) fn on_timer_event(&mut self, params: &DcqcnParams, now: Instant, timer: u8) {
        if timer == Timer::Alpha as u8 {
            let echoed = core::mem::take(&mut self.echoes.since_tick);
            self.rates.step_alpha(params, echoed);
            self.arm(Timer::Alpha, now + params.alpha_timer);
        } else if timer == Timer::Cuts as u8 {
            self.arm(Timer::Cuts, now + params.decrease_interval);
            if core::mem::take(&mut self.echoes.since_cut) {
                self.cut(params, now);
                self.arm(Timer::Increase, self.rates.increase_at);
            }
        } else if self.rates.increase_at == now {
            // At any other time a cut has armed the timer anew.
            self.arm(Timer::Increase, now + params.increase_timer);
            let (rates, site) = (&mut self.rates, &params.site);
            rates.target = (rates.target + params.vendor_step(rates.stage)).min(site.line_rate);
            rates.rate = site.kept(rates.rate / 2.0) + site.kept(rates.target / 2.0);
            (rates.increased, rates.stage) = (true, rates.stage + 1);
        }
    }

    fn arm(&mut self, timer: Timer, at: Instant) {
        *self.due(timer as u8) = at;
        self.echoes.armed |= 1 << timer as u8;
    }

    /// Takes the next timer that was armed: its expiry and its number.
    pub(super) fn next_armed(&mut self) -> Option<(Instant, u8)> {
        let armed = self.echoes.armed;
        if armed == 0 {
            return None;
        }
        let timer = armed.trailing_zeros() as u8;
        self.echoes.armed &= armed - 1;
        Some((*self.due(timer), timer))
    }

    fn due(&mut self, timer: u8) -> &mut Instant {
        match timer {
            0 => &mut self.rates.alpha_at,
            1 => &mut self.echoes.cut_at,
            _ => &mut self.rates.increase_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::{Ack, Control, DcqcnVariant, Site};
    use alloc::collections::BTreeMap;
    use backwater_types::BitsPerSec;

    fn params() -> DcqcnParams {
        let site = Site { line_rate: 1e11, window: u64::MAX, whole: true, timer_events: true, ..Site::default() };
        let params = DcqcnParams {
            variant: DcqcnVariant::Vendor,
            g: 0.25,
            fast_recovery: 1,
            alpha_timer: Duration::from_us(1),
            decrease_interval: Duration::from_us(4),
            increase_timer: Duration::from_us(300),
            clamp: false,
            additive_increase: BitsPerSec(1_000_000_001),
            hyper_increase: BitsPerSec(2_000_000_000),
            ..DcqcnParams::default()
        };
        Dcqcn::at(&params, site)
    }

    /// A flow, and its timers as a network keeps them: by time, then in the order of arming.
    struct Bench {
        params: DcqcnParams,
        flow: Dcqcn,
        ahead: BTreeMap<(Instant, u32), u8>,
        armed: u32,
    }

    impl Bench {
        fn new(params: DcqcnParams) -> Bench {
            Bench { flow: Dcqcn::new(&params), params, ahead: BTreeMap::new(), armed: 0 }
        }

        fn collect(&mut self) {
            while let Some((at, timer)) = self.flow.take_armed() {
                self.ahead.insert((at, self.armed), timer);
                self.armed += 1;
            }
        }

        fn echo(&mut self, now: Instant) {
            let ack = Ack { now, key: 0, seq: 1, next: 2, whole: 2, marked: true, rtt: None, extension: () };
            self.flow.on_ack(&self.params, ack);
            self.collect();
        }

        /// Runs the timers up to and including `until`.
        fn run(&mut self, until: Instant) {
            while let Some(first) = self.ahead.first_entry()
                && first.key().0 <= until
            {
                let ((now, _), timer) = first.remove_entry();
                self.flow.on_expiry(&self.params, now, timer);
                self.collect();
            }
        }
    }

    fn us(n: u64) -> Instant {
        Instant(n * 1_000_000)
    }

    const NS: Duration = Duration::from_ns(1);

    #[test]
    fn the_first_echo_arms_alpha_and_then_cuts_a_nanosecond_later() {
        let mut flow = Bench::new(params());
        flow.echo(us(100));
        let ahead: alloc::vec::Vec<_> = flow.ahead.iter().map(|((at, _), timer)| (*at, *timer)).collect();
        assert_eq!(ahead, [(us(101), 0), (us(104) + NS, 1)]);
        assert_eq!(flow.flow.timer(&flow.params), Instant::NEVER, "no timer beside them");
    }

    /// Without another echo alpha decays from its first tick on: the first echo has set it.
    #[test]
    fn a_cut_comes_with_its_timer_after_four_ticks_of_alpha() {
        let mut flow = Bench::new(params());
        flow.echo(us(100));
        flow.run(us(104));
        assert_eq!((flow.flow.rates.alpha, flow.flow.rate()), (0.75f64.powi(4), 1e11));
        flow.run(us(104) + NS);
        let cut = (1e11 * (1.0 - 0.75f64.powi(4) / 2.0)) as u64 as f64;
        assert_eq!((flow.flow.rate(), flow.flow.rates.target), (cut, 1e11));
        flow.run(us(300));
        assert_eq!(flow.flow.rate(), cut, "no echo, no cut");
    }

    #[test]
    fn an_echo_counts_for_the_tick_it_came_before() {
        let (mut before, mut after) = (Bench::new(params()), Bench::new(params()));
        [&mut before, &mut after].iter_mut().for_each(|flow| flow.echo(us(100)));
        // In the nanosecond of a tick, ahead of it and behind it.
        before.echo(us(101));
        before.run(us(101));
        after.run(us(101));
        after.echo(us(101));
        assert_eq!((before.flow.rates.alpha, after.flow.rates.alpha), (1.0, 0.75));
        after.run(us(102));
        assert_eq!(after.flow.rates.alpha, 0.75 * 0.75 + 0.25);
    }

    #[test]
    fn recovery_is_in_halves_of_whole_bits_and_starts_anew_with_a_cut() {
        let mut flow = Bench::new(params());
        flow.echo(us(100));
        flow.run(us(105));
        let cut = flow.flow.rate();
        let from = us(104) + NS;
        flow.run(from + Duration::from_us(300));
        let half = |a: f64, b: f64| (a as u64 / 2 + b as u64 / 2) as f64;
        let recovered = half(cut, 1e11);
        assert_eq!((flow.flow.rate(), flow.flow.rates.target), (recovered, 1e11), "F = 1 step of recovery");
        // A cut 1 us before the next step: the target is the rate, which was increased, and the step comes 300 us after
        // it.
        flow.echo(us(699));
        flow.run(us(701));
        assert_eq!(flow.flow.rates.target, recovered);
        let again = flow.flow.rate();
        assert!(again <= recovered);
        flow.run(from + Duration::from_us(600));
        assert_eq!(flow.flow.rate(), again, "the step that was armed before the cut does not come");
        flow.run(us(1003));
        let once = half(again, recovered);
        assert_eq!(flow.flow.rate(), once);
        flow.run(us(1303));
        assert_eq!(
            (flow.flow.rates.target, flow.flow.rate()),
            (recovered + 1e9 + 1.0, half(once, recovered + 1e9 + 1.0))
        );
        flow.run(us(1603));
        assert_eq!(flow.flow.rates.target, (recovered + 3e9 + 1.0).min(1e11), "hyper increase");
    }
}
