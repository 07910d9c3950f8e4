//! AIMD: a rate that marks cut and round trips without marks raise, and a window in proportion to it.
//!
//! The worked example of CONTRIBUTING.md: a small complete control with parameters. Source: Chiu and Jain, "Analysis of
//! the increase and decrease algorithms for congestion avoidance", 1989, with ECN as the binary feedback.
//!
//! ```text
//! first mark of a round trip:  R = max(Rmin, R (1 - cut))
//! round trip without a mark:   R = min(line, R + increase)
//! window = Wmax x R / line ; a packet of L bytes is followed by a gap of 8 L / R
//! ```
//!
//! Parameters: `cut`, a share of the rate; `increase` and `min_rate`, rates. A flow starts at line rate.

use backwater_transport::{Ack, ClosedForm, Control, Site};
use backwater_types::{BitsPerSec, Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Parameters of AIMD.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct AimdParams {
    /// Share of the rate that the first mark of a round trip takes away.
    pub cut: f64,
    /// Rate added after a round trip without a mark.
    pub increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl Default for AimdParams {
    fn default() -> AimdParams {
        AimdParams {
            cut: 0.5,
            increase: BitsPerSec(1_000_000_000),
            min_rate: BitsPerSec(100_000_000),
            site: Site::default(),
        }
    }
}

impl Ranges for AimdParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.cut > 0.0 && self.cut < 1.0, "cut", "more than 0 and less than 1")?;
        OutOfRange::unless(self.increase.0 > 0, "increase", "more than 0 bps")
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    /// Sending rate (R), bit/s.
    rate: f64,
    /// Packet whose acknowledgement ends the round trip.
    round_end: u32,
    /// Whether this round trip had a mark.
    marked: bool,
}

impl Aimd {
    /// Share of the line rate.
    fn share(&self, params: &AimdParams) -> f64 {
        self.rate / params.site.line_rate
    }
}

impl Control for Aimd {
    type Params = AimdParams;
    type Extension = (); // Packets carry nothing but their headers.
    type Due = (); // A new rate does not move a packet that already waits.
    type Times = (); // It reads no round-trip times.

    fn at(params: &AimdParams, site: Site) -> AimdParams {
        AimdParams { site, ..*params }
    }

    fn new(params: &AimdParams) -> Aimd {
        Aimd { rate: params.site.line_rate, round_end: 0, marked: false }
    }

    fn window(&self, params: &AimdParams) -> u64 {
        match params.site.window {
            u64::MAX => u64::MAX,
            window => ((window as f64 * self.share(params)) as u64).max(1),
        }
    }

    fn gap(&self, params: &AimdParams, wire: u64) -> Duration {
        if self.rate == params.site.line_rate {
            return Duration::ZERO;
        }
        Duration((wire as f64 * 8e12 / self.rate) as u64)
    }

    fn on_ack(&mut self, params: &AimdParams, ack: Ack) -> bool {
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

impl ClosedForm for Aimd {
    fn min_rate(params: &AimdParams) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }
}
