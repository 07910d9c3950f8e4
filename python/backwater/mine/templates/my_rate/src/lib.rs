//! AIMD: a rate that marks cut and round trips without marks raise, and a window in proportion to it.
//!
//! Source: Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance", 1989, with ECN as
//! the binary feedback.
//!
//! ```text
//! first mark of a round trip:  R = max(Rmin, R (1 - cut))
//! round trip without a mark:   R = min(line, R + increase)
//! window = Wmax x R / line ; a packet of L bytes is followed by a gap of 8 L / R
//! ```
//!
//! Parameters: `cut`, a share of the rate; `increase` and `min_rate`, rates. A flow starts at line rate.

use backwater::Scheme;
use backwater::parts::{ControlPart, Pfc, SingleFifo};
use backwater::transport::{Ack, ClosedForm, Control, Site};
use backwater::types::{BitsPerSec, Duration, OutOfRange, Ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters, in the table `[host.mine.my_rate]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MyRateParams {
    /// Share of the rate that the first mark of a round trip takes away.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub cut: f64,
    /// Rate added after a round trip without a mark.
    pub increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// Path parameters, which are filled in later.
    #[serde(skip)]
    pub site: Site,
}

impl Default for MyRateParams {
    fn default() -> MyRateParams {
        MyRateParams {
            cut: 0.5,
            increase: BitsPerSec(1_000_000_000),
            min_rate: BitsPerSec(100_000_000),
            site: Site::default(),
        }
    }
}

impl Ranges for MyRateParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.cut > 0.0 && self.cut < 1.0, "cut", "more than 0 and less than 1")?;
        OutOfRange::unless(self.increase.0 > 0, "increase", "more than 0 bps")
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct MyRate {
    /// Sending rate (R), bit/s.
    rate: f64,
    /// Packet whose acknowledgement ends the round trip.
    round_end: u32,
    /// Whether this round trip had a mark.
    marked: bool,
}

impl Control for MyRate {
    type Params = MyRateParams;
    type Extension = (); // Packets carry nothing but their headers.
    type Due = (); // A new rate does not move a packet that already waits.
    type Times = (); // It reads no round-trip times.

    fn at(params: &MyRateParams, site: Site) -> MyRateParams {
        MyRateParams { site, ..*params }
    }

    fn new(params: &MyRateParams) -> MyRate {
        MyRate { rate: params.site.line_rate, round_end: 0, marked: false }
    }

    fn window(&self, params: &MyRateParams) -> u64 {
        params.site.window_at(self.rate)
    }

    fn gap(&self, params: &MyRateParams, wire: u64) -> Duration {
        params.site.gap_at(self.rate, wire)
    }

    fn on_ack(&mut self, params: &MyRateParams, ack: Ack) -> bool {
        let before = self.rate;
        if ack.seq > self.round_end {
            if !self.marked && !ack.marked {
                self.rate = (self.rate + params.increase.0 as f64).min(params.site.line_rate);
            }
            (self.round_end, self.marked) = (ack.next, false);
        }
        if ack.marked && !self.marked {
            self.marked = true;
            self.rate = (self.rate * (1.0 - params.cut)).max(params.min_rate.0 as f64);
        }
        self.rate != before
    }
}

impl ClosedForm for MyRate {
    fn min_rate(params: &MyRateParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }
}

impl ControlPart for MyRate {
    const NAME: &'static str = "mine/my_rate";
}

/// The scheme: this control at the hosts, and switches with one FIFO per port and PFC.
pub fn scheme() -> Scheme {
    Scheme::new("mine/my_rate", include_str!("../preset.toml"))
        .control::<MyRate>("A rate that marks cut and round trips without marks raise.")
        .engine::<MyRate, SingleFifo, Pfc>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater::types::Instant;

    #[test]
    fn only_the_first_mark_of_a_round_trip_cuts() {
        let site = Site { line_rate: 100e9, window: 100_000, payload: 1000, ..Site::default() };
        let params = MyRate::at(&MyRateParams::default(), site);
        let mut flow = MyRate::new(&params);
        let ack =
            |seq, marked| Ack { now: Instant(0), key: 0, seq, next: 20, whole: 20, marked, rtt: None, extension: () };
        assert_eq!(flow.window(&params), 100_000, "a flow starts at line rate");
        flow.on_ack(&params, ack(1, true));
        flow.on_ack(&params, ack(2, true));
        assert_eq!(flow.rate, 50e9);
        assert_eq!(flow.gap(&params, 1000), Duration(160_000), "1000 B at 50 Gb/s");
        flow.on_ack(&params, ack(21, false));
        assert_eq!(flow.rate, 50e9, "that round trip had a mark");
        flow.on_ack(&params, ack(41, false));
        assert_eq!(flow.rate, 51e9);
    }
}
