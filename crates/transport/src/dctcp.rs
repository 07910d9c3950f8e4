//! DCTCP as RDMA NICs run it: a rate with a window that follows it.
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
//! Starts at line rate with alpha = 1. The first batch only sets the scene: its marks count towards the next.
//! Differs from the paper: rates instead of windows are halved, and the window test is made before sending.
//! Floating point: additions, multiplications and divisions only, which IEEE 754 rounds the same everywhere.

use crate::control::{Ack, Control};
use backwater_types::{Duration, whole_ns};

/// Parameters of [`Dctcp`].
#[derive(Clone, Copy, Debug)]
pub struct DctcpParams {
    /// Weight of the newest batch.
    pub g: f64,
    /// Rate added per batch, bit/s.
    pub additive_increase: f64,
    /// Lowest rate, bit/s.
    pub min_rate: f64,
    /// Rate of the NIC, bit/s.
    pub line_rate: f64,
    /// Window at line rate, payload bytes.
    pub window: u64,
    /// The window shrinks with the rate.
    pub window_follows_rate: bool,
    /// Rates in whole bit/s, gaps in whole nanoseconds, as the HPCC simulator counts.
    pub whole: bool,
}

impl DctcpParams {
    #[inline(always)]
    fn rate(&self, rate: f64) -> f64 {
        if self.whole { rate as u64 as f64 } else { rate }
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    rate: f64,
    alpha: f64,
    batch_end: u32,
    batch_packets: u32,
    marked: u32,
    /// A reduction lasts until this packet is acknowledged.
    reduced_until: Option<u32>,
}

impl Dctcp {
    /// Sending rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

impl Control for Dctcp {
    type Params = DctcpParams;

    fn new(params: &DctcpParams) -> Dctcp {
        Dctcp { rate: params.line_rate, alpha: 1.0, batch_end: 0, batch_packets: 0, marked: 0, reduced_until: None }
    }

    #[inline(always)]
    fn window(&self, params: &DctcpParams) -> u64 {
        if self.rate == params.line_rate || !params.window_follows_rate {
            return params.window;
        }
        if params.whole {
            return (params.window * self.rate as u64 / params.line_rate as u64).max(1);
        }
        ((params.window as f64 * (self.rate / params.line_rate)) as u64).max(1)
    }

    #[inline(always)]
    fn gap(&self, params: &DctcpParams, wire: u64) -> Duration {
        if self.rate == params.line_rate {
            return Duration::ZERO;
        }
        if params.whole {
            return whole_ns(wire, self.rate);
        }
        Duration((wire as f64 * 8e12 / self.rate) as u64)
    }

    #[inline(always)]
    fn on_ack(&mut self, params: &DctcpParams, ack: Ack) -> bool {
        let before = self.rate;
        self.marked += ack.marked as u32;
        let new_batch = ack.seq > self.batch_end;
        if new_batch {
            if self.batch_end == 0 {
                self.batch_packets = ack.next + 1;
            } else {
                let share = (self.marked as f64 / self.batch_packets as f64).min(1.0);
                self.alpha = (1.0 - params.g) * self.alpha + params.g * share;
                self.marked = 0;
                self.batch_packets = ack.next.saturating_sub(ack.seq) + 1;
            }
            self.batch_end = ack.next;
        }
        if self.reduced_until.is_some_and(|until| ack.seq > until) {
            self.reduced_until = None;
        }
        if self.reduced_until.is_none() {
            if ack.marked {
                self.rate = params.rate(self.rate * (1.0 - self.alpha / 2.0)).max(params.min_rate);
                self.reduced_until = Some(ack.next);
            } else if new_batch {
                self.rate = (self.rate + params.additive_increase).min(params.line_rate);
            }
        }
        self.rate != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: DctcpParams = DctcpParams {
        g: 1.0 / 16.0,
        additive_increase: 1e9,
        min_rate: 1e8,
        line_rate: 1e11,
        window: 104_000,
        window_follows_rate: true,
        whole: false,
    };

    #[test]
    fn the_first_mark_halves_the_rate_and_the_window_once_per_window() {
        let mut flow = Dctcp::new(&PARAMS);
        flow.on_ack(&PARAMS, Ack { seq: 1, next: 100, marked: true });
        assert_eq!(flow.rate(), 5e10);
        assert_eq!(flow.window(&PARAMS), 52_000);
        assert_eq!(flow.gap(&PARAMS, 1048), Duration(167_680));
        for seq in 2..=100 {
            flow.on_ack(&PARAMS, Ack { seq, next: 150, marked: true });
        }
        assert_eq!(flow.rate(), 5e10, "one cut per window");
        flow.on_ack(&PARAMS, Ack { seq: 101, next: 150, marked: true });
        // The first batch's 100 marks and this one over a batch of 101: alpha stays 1, so the rate halves again.
        assert_eq!(flow.rate(), 2.5e10);
    }

    #[test]
    fn gaps_and_rates_may_be_whole() {
        let params = DctcpParams { whole: true, ..PARAMS };
        let mut flow = Dctcp::new(&params);
        flow.on_ack(&params, Ack { seq: 1, next: 100, marked: true });
        assert_eq!((flow.gap(&params, 1048), flow.window(&params)), (Duration(167_000), 52_000));
    }

    #[test]
    fn an_unmarked_batch_adds_once() {
        let mut flow = Dctcp::new(&PARAMS);
        flow.on_ack(&PARAMS, Ack { seq: 1, next: 100, marked: true });
        for seq in 2..=101 {
            flow.on_ack(&PARAMS, Ack { seq, next: 150, marked: false });
        }
        assert_eq!(flow.rate(), 5.1e10);
        for seq in 102..=150 {
            flow.on_ack(&PARAMS, Ack { seq, next: 200, marked: false });
        }
        assert_eq!(flow.rate(), 5.1e10);
    }
}
