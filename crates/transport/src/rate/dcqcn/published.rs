//! The published form: notifications cut, and a byte counter and a timer increase.

use crate::rate::dcqcn::{Dcqcn, DcqcnParams, DcqcnVariant};
use backwater_types::Instant;

/// Byte counter, which runs from the first cut on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteCounter {
    /// Wire bytes to its next expiry; [`ByteCounter::OFF`] if it does not run.
    left: u64,
    /// Expiries since the last cut (Sb).
    pub(super) stage: u32,
}

impl ByteCounter {
    const STOPPED: u64 = u64::MAX;
    /// A counter that does not run.
    pub(super) const OFF: ByteCounter = ByteCounter { left: ByteCounter::STOPPED, stage: 0 };

    /// Starts the counter again.
    pub(super) fn restart(&mut self, params: &DcqcnParams) {
        *self = ByteCounter { left: ByteCounter::period(params), stage: 0 };
    }

    /// Bytes between expiries.
    fn period(params: &DcqcnParams) -> u64 {
        match params.variant {
            DcqcnVariant::Published if params.byte_counter.0 > 0 => params.byte_counter.0,
            _ => ByteCounter::STOPPED,
        }
    }
}

impl Dcqcn {
    /// Counts the bytes of a packet that starts.
    #[inline(always)]
    pub(super) fn count(&mut self, params: &DcqcnParams, wire: u64) {
        if self.bytes.left == ByteCounter::STOPPED {
            return;
        }
        self.bytes.left = self.bytes.left.saturating_sub(wire);
        if self.bytes.left == 0 {
            self.bytes.stage += 1;
            self.expire(params);
            self.bytes.left = ByteCounter::period(params) / self.divisor(params);
        }
    }

    /// Cuts the rate on a congestion notification.
    pub(super) fn on_notification(&mut self, params: &DcqcnParams, now: Instant) {
        if self.rates.alpha_at != Instant::NEVER {
            self.rates.age_alpha(params, now, &mut self.echoes.since_tick);
        }
        self.rates.alpha = (1.0 - params.g) * self.rates.alpha + params.g;
        self.rates.alpha_at = now;
        self.cut(params, now);
    }

    /// Increases the rate when the byte counter or the timer has expired.
    pub(super) fn expire(&mut self, params: &DcqcnParams) {
        let (bytes, time) = (self.bytes.stage, self.rates.stage);
        let (most, least) = (bytes.max(time), bytes.min(time));
        let first = bytes == 1 || time == 1;
        if first && self.rates.target > 10.0 * self.rates.rate {
            self.rates.target /= 8.0;
            return self.rates.increase(params, 0.0);
        }
        let step = if most < params.fast_recovery {
            0.0
        } else if least < params.fast_recovery {
            params.additive_increase.0 as f64
        } else {
            params.hyper_increase.0 as f64 * (least - params.fast_recovery + 1) as f64
        };
        self.rates.increase(params, step);
    }
}
