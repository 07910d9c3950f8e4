//! The vendor's form: marks are echoed in ACKs, and a periodic timer cuts the rate if an echo came since its last tick.

use crate::rate::dcqcn::{Dcqcn, DcqcnParams};
use backwater_types::{Duration, Instant};
use core::cmp::Ordering;

/// Echoes of marks, and the timer of cuts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echoes {
    /// Whether an echo came since alpha's last tick.
    pub(super) since_tick: bool,
    /// Next cut; never while no echo waits for one.
    pub(super) cut_at: Instant,
    /// A tick of the timer of cuts.
    cut_from: Instant,
    /// Whether an echo came since the last tick of the timer of cuts, where timers are events.
    pub(super) since_cut: bool,
    /// Bits of the timers that were armed and not yet taken, where timers are events.
    pub(super) armed: u8,
}

impl Echoes {
    /// State before the first echo.
    pub(super) const NONE: Echoes =
        Echoes { since_tick: false, cut_at: Instant::NEVER, cut_from: Instant::NEVER, since_cut: false, armed: 0 };
}

impl Dcqcn {
    /// Handles an echo, where ticks are computed when they are needed.
    pub(super) fn on_echo(&mut self, params: &DcqcnParams, now: Instant) {
        let (rates, echoes) = (&mut self.rates, &mut self.echoes);
        if rates.alpha_at == Instant::NEVER {
            // The first echo starts both timers; that of cuts ticks just behind that of alpha.
            (rates.alpha, rates.alpha_at) = (params.alpha, now);
            echoes.cut_from = now + Duration::from_ns(1);
        } else {
            rates.age_alpha(params, now, &mut echoes.since_tick);
        }
        echoes.since_tick = true;
        if echoes.cut_at == Instant::NEVER {
            let ticks = now.since(echoes.cut_from).0 / params.decrease_interval.0 + 1;
            echoes.cut_at = echoes.cut_from + Duration(ticks * params.decrease_interval.0);
        }
    }

    /// Cuts the rate when the timer of cuts ticks after an echo.
    pub(super) fn on_cut_tick(&mut self, params: &DcqcnParams, now: Instant) {
        self.rates.age_alpha(params, now, &mut self.echoes.since_tick);
        self.echoes.cut_at = Instant::NEVER;
        self.cut(params, now);
    }
}

impl DcqcnParams {
    /// Step of the target (bit/s) after `stage` expiries of the increase timer.
    pub(super) fn vendor_step(&self, stage: u32) -> f64 {
        match stage.cmp(&self.fast_recovery) {
            Ordering::Less => 0.0,
            Ordering::Equal => self.additive_increase.0 as f64,
            Ordering::Greater => self.hyper_increase.0 as f64,
        }
    }
}
