//! Congestion state of a connection: window, estimates, and the time of its last use.

use crate::tcp::params::TcpParams;
use backwater_types::{Duration, Instant};

/// Congestion state that a connection keeps from one flow to the next.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Congestion window, segments.
    pub window: f64,
    /// Slow start threshold, segments.
    pub threshold: f64,
    /// DCTCP's estimate of the share of marked segments.
    pub alpha: f64,
    /// Smoothed round trip time and its variation, if one was measured.
    pub rtt: Option<(Duration, Duration)>,
    /// Time of the last acknowledgement.
    pub used: Instant,
}

impl Congestion {
    /// State of a new connection.
    pub fn new(params: &TcpParams, now: Instant) -> Congestion {
        Congestion {
            window: params.initial_window as f64,
            threshold: f64::INFINITY,
            alpha: params.alpha,
            rtt: None,
            used: now,
        }
    }

    /// State for the next flow, after an idle time.
    pub fn resumed(mut self, params: &TcpParams, now: Instant) -> Congestion {
        let rest = if params.idle_raises { self.measured_rto(params) } else { self.rto(params) };
        if params.idle_restart && now.since(self.used) > rest {
            let initial = params.initial_window as f64;
            self.window = if params.idle_raises { initial } else { self.window.min(initial) };
        }
        self
    }

    /// Retransmission timeout before backing off.
    pub fn rto(&self, params: &TcpParams) -> Duration {
        self.measured_rto(params).clamp(params.rto_min, params.rto_max)
    }

    /// srtt + 4 var, without bounds; the shortest timeout before the first measurement.
    fn measured_rto(&self, params: &TcpParams) -> Duration {
        self.rtt.map_or(params.rto_min, |(smoothed, variation)| Duration(smoothed.0 + 4 * variation.0))
    }

    /// Updates the estimates by a round trip time (RFC 6298).
    pub(super) fn measure(&mut self, sample: Duration) {
        self.rtt = Some(match self.rtt {
            None => (sample, Duration(sample.0 / 2)),
            Some((smoothed, variation)) => {
                let off = smoothed.0.abs_diff(sample.0);
                (Duration((7 * smoothed.0 + sample.0) / 8), Duration((3 * variation.0 + off) / 4))
            }
        });
    }
}
