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

use crate::rate::{Ack, Control, Site};
use backwater_types::{BitsPerSec, Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Rate-based DCTCP (baselines 1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct DctcpParams {
    /// Weight of the newest batch in the estimate of the marked share.
    pub g: f64,
    /// Rate added once per round trip.
    pub additive_increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// The window shrinks with the rate (false: it stays at `host.window`).
    pub window_follows_rate: bool,
    /// Where flows start; not said here.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl Default for DctcpParams {
    fn default() -> DctcpParams {
        DctcpParams {
            g: 1.0 / 16.0,
            additive_increase: BitsPerSec(961_000_000),
            min_rate: BitsPerSec(100_000_000),
            window_follows_rate: true,
            site: Site::default(),
        }
    }
}

impl Ranges for DctcpParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.g > 0.0 && self.g <= 1.0, "g", "more than 0 and at most 1")?;
        OutOfRange::unless(self.additive_increase.0 > 0, "additive_increase", "more than 0 bps")
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
    type Extension = ();
    type Due = ();
    type Times = ();

    fn at(params: &DctcpParams, site: Site) -> DctcpParams {
        DctcpParams { site, ..*params }
    }

    fn new(params: &DctcpParams) -> Dctcp {
        Dctcp {
            rate: params.site.line_rate,
            alpha: 1.0,
            batch_end: 0,
            batch_packets: 0,
            marked: 0,
            reduced_until: None,
        }
    }

    fn min_rate(params: &DctcpParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }

    #[inline(always)]
    fn window(&self, params: &DctcpParams) -> u64 {
        params.site.window_at(if params.window_follows_rate { self.rate } else { params.site.line_rate })
    }

    #[inline(always)]
    fn gap(&self, params: &DctcpParams, wire: u64) -> Duration {
        params.site.gap_at(self.rate, wire)
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
                self.rate = params.site.kept(self.rate * (1.0 - self.alpha / 2.0)).max(params.min_rate.0 as f64);
                self.reduced_until = Some(ack.next);
            } else if new_batch {
                self.rate = (self.rate + params.additive_increase.0 as f64).min(params.site.line_rate);
            }
        }
        self.rate != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::Instant;

    const PARAMS: DctcpParams = DctcpParams {
        g: 1.0 / 16.0,
        additive_increase: BitsPerSec(1_000_000_000),
        min_rate: BitsPerSec(100_000_000),
        window_follows_rate: true,
        site: Site {
            line_rate: 1e11,
            window: 104_000,
            base_rtt: Duration::ZERO,
            int_unit: 1,
            whole: false,
            clocks: false,
        },
    };

    fn ack(seq: u32, next: u32, marked: bool) -> Ack {
        Ack { now: Instant(0), seq, next, marked, rtt: None, extension: () }
    }

    #[test]
    fn the_first_mark_halves_the_rate_and_the_window_once_per_window() {
        let mut flow = Dctcp::new(&PARAMS);
        flow.on_ack(&PARAMS, ack(1, 100, true));
        assert_eq!(flow.rate(), 5e10);
        assert_eq!(flow.window(&PARAMS), 52_000);
        assert_eq!(flow.gap(&PARAMS, 1048), Duration(167_680));
        for seq in 2..=100 {
            flow.on_ack(&PARAMS, ack(seq, 150, true));
        }
        assert_eq!(flow.rate(), 5e10, "one cut per window");
        flow.on_ack(&PARAMS, ack(101, 150, true));
        // The first batch's 100 marks and this one over a batch of 101: alpha stays 1, so the rate halves again.
        assert_eq!(flow.rate(), 2.5e10);
    }

    #[test]
    fn gaps_and_rates_may_be_whole() {
        let params = DctcpParams { site: Site { whole: true, ..PARAMS.site }, ..PARAMS };
        let mut flow = Dctcp::new(&params);
        flow.on_ack(&params, ack(1, 100, true));
        assert_eq!((flow.gap(&params, 1048), flow.window(&params)), (Duration(167_000), 52_000));
    }

    #[test]
    fn an_unmarked_batch_adds_once() {
        let mut flow = Dctcp::new(&PARAMS);
        flow.on_ack(&PARAMS, ack(1, 100, true));
        for seq in 2..=101 {
            flow.on_ack(&PARAMS, ack(seq, 150, false));
        }
        assert_eq!(flow.rate(), 5.1e10);
        for seq in 102..=150 {
            flow.on_ack(&PARAMS, ack(seq, 200, false));
        }
        assert_eq!(flow.rate(), 5.1e10);
    }
}
