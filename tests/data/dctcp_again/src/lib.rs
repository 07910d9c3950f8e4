//! DCTCP written again in a crate outside, from its description. Its results have to equal those of the built-in one.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, as the HPCC simulator runs it with rates.
//!
//! ```text
//! once per batch (one window of packets):  F = marked / packets ; alpha = (1 - g) alpha + g F
//! first mark outside a reduction:          R = max(Rmin, R (1 - alpha / 2)), until the packets in flight are acknowledged
//! a new batch outside a reduction:         R = min(line, R + increase)
//! ```

use backwater::Scheme;
use backwater::parts::{ControlPart, Pfc, SingleFifo};
use backwater::transport::{Ack, ClosedForm, Control, Site};
use backwater::types::{BitsPerSec, Duration, OutOfRange, Ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters, in the table `[host.mine.dctcp_again]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weight of the newest batch.
    pub g: f64,
    /// Rate added once per round trip.
    pub increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// Path parameters, which are filled in later.
    #[serde(skip)]
    pub site: Site,
}

impl Default for Params {
    fn default() -> Params {
        let (increase, min_rate) = (BitsPerSec(961_000_000), BitsPerSec(100_000_000));
        Params { g: 0.0625, increase, min_rate, site: Site::default() }
    }
}

impl Ranges for Params {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.g > 0.0 && self.g <= 1.0, "g", "more than 0 and at most 1")
    }
}

/// State of one flow.
#[derive(Clone, Copy, Debug)]
pub struct DctcpAgain {
    rate: f64,
    alpha: f64,
    /// Packet whose acknowledgement ends the batch; 0 before the first ACK.
    batch_end: u32,
    batch: u32,
    marked: u32,
    reduced_until: Option<u32>,
}

impl Control for DctcpAgain {
    type Params = Params;
    type Extension = ();
    type Due = ();
    type Times = ();

    fn at(params: &Params, site: Site) -> Params {
        Params { site, ..*params }
    }

    fn new(params: &Params) -> DctcpAgain {
        let rate = params.site.line_rate;
        DctcpAgain { rate, alpha: 1.0, batch_end: 0, batch: 0, marked: 0, reduced_until: None }
    }

    fn window(&self, params: &Params) -> u64 {
        params.site.window_at(self.rate)
    }

    fn gap(&self, params: &Params, wire: u64) -> Duration {
        params.site.gap_at(self.rate, wire)
    }

    fn on_ack(&mut self, params: &Params, ack: Ack) -> bool {
        let before = self.rate;
        self.marked += ack.marked as u32;
        let new_batch = ack.seq > self.batch_end;
        if new_batch {
            let first = self.batch_end == 0;
            if !first {
                let share = (self.marked as f64 / self.batch as f64).min(1.0);
                self.alpha = (1.0 - params.g) * self.alpha + params.g * share;
                self.marked = 0;
            }
            self.batch = if first { ack.next } else { ack.next - ack.seq } + 1;
            self.batch_end = ack.next;
        }
        if self.reduced_until.is_some_and(|until| ack.seq > until) {
            self.reduced_until = None;
        }
        if self.reduced_until.is_none() {
            if ack.marked {
                self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(params.min_rate.0 as f64);
                self.reduced_until = Some(ack.next);
            } else if new_batch {
                self.rate = (self.rate + params.increase.0 as f64).min(params.site.line_rate);
            }
        }
        self.rate != before
    }
}

impl ClosedForm for DctcpAgain {
    fn min_rate(params: &Params) -> Option<BitsPerSec> {
        Some(params.min_rate)
    }
}

impl ControlPart for DctcpAgain {
    const NAME: &'static str = "mine/dctcp_again";
}

/// The scheme.
pub fn scheme() -> Scheme {
    Scheme::new("mine/dctcp_again", include_str!("../preset.toml"))
        .control::<DctcpAgain>("DCTCP, written again.")
        .engine::<DctcpAgain, SingleFifo, Pfc>()
}
