//! State that both forms of DCQCN share: the two rates, the estimate alpha, and the increase timer.

use crate::rate::dcqcn::DcqcnParams;
use backwater_types::{Duration, Instant};

/// Rates of one flow, and when they change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// Sending rate (R), bit/s.
    pub(super) rate: f64,
    /// Rate that increase goes towards (Rt), bit/s.
    pub(super) target: f64,
    /// Estimate of the share of marked packets.
    pub(super) alpha: f64,
    /// Last tick of alpha's timer that is accounted for; never before the first cut.
    pub(super) alpha_at: Instant,
    /// Expiry of the increase timer; never before the first cut.
    pub(super) increase_at: Instant,
    /// Expiries of the increase timer since the last cut (St).
    pub(super) stage: u32,
    /// Whether the rate was increased since the last cut.
    pub(super) increased: bool,
}

impl Rates {
    /// Starts at line rate.
    pub(super) fn new(params: &DcqcnParams) -> Rates {
        let (line, alpha) = (params.site.line_rate, params.alpha);
        let (alpha_at, increase_at) = (Instant::NEVER, Instant::NEVER);
        Rates { rate: line, target: line, alpha, alpha_at, increase_at, stage: 0, increased: true }
    }

    /// Brings alpha up to date: the first tick since counts `echoed`, and clears it.
    pub(super) fn age_alpha(&mut self, params: &DcqcnParams, now: Instant, echoed: &mut bool) {
        while self.alpha_at + params.alpha_timer <= now {
            self.step_alpha(params, core::mem::take(echoed));
            self.alpha_at += params.alpha_timer;
            if self.alpha == 0.0 {
                let ticks = now.since(self.alpha_at).0 / params.alpha_timer.0;
                self.alpha_at += Duration(ticks * params.alpha_timer.0);
            }
        }
    }

    /// Advances alpha by one tick.
    pub(super) fn step_alpha(&mut self, params: &DcqcnParams, echoed: bool) {
        self.alpha *= 1.0 - params.g;
        if echoed {
            self.alpha += params.g;
        }
    }

    /// Cuts the rate and starts increase again.
    pub(super) fn cut(&mut self, params: &DcqcnParams, now: Instant) {
        if params.clamp || self.increased {
            self.target = self.rate;
        }
        self.rate = params.site.kept(self.rate * (1.0 - self.alpha / 2.0)).max(params.min_rate.0 as f64);
        (self.stage, self.increased) = (0, false);
        self.increase_at = now + params.increase_timer;
    }

    /// Raises the target by `step` (bit/s), and the rate half way to it.
    pub(super) fn increase(&mut self, params: &DcqcnParams, step: f64) {
        let line = params.site.line_rate;
        self.target = (self.target + step).min(line);
        self.rate = params.site.kept((self.rate + self.target) / 2.0).min(line);
        self.increased = true;
    }

    /// Whether nothing changes until the next cut.
    pub(super) fn is_recovered(&self, params: &DcqcnParams) -> bool {
        self.rate >= params.site.line_rate && self.target >= params.site.line_rate
    }
}
