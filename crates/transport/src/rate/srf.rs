//! What is left of a flow on each of its packets, for whoever serves first what has the least left.
//!
//! Source: Goyal et al., "Backpressure Flow Control", NSDI 2022, appendix A.2; spec B, "BFC-SRF", and D. A packet says how many payload
//! bytes of its flow had yet to be sent when it was, its own among them, and says so anew when it is sent again. Beyond that there is
//! no control but a cap on bytes in flight, `host.window`, or none.
//!
//! The papers do not count what the field takes on the wire, nor do the defaults.

use crate::rate::{Control, Site};
use backwater_types::{Bytes, Extension, Instant, LinkShape, OutOfRange, Packet, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Shortest remaining flow first at the host: its NIC, and what packets say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct SrfParams {
    /// Bytes on every data packet that say what is left.
    pub field_bytes: Bytes,
    /// Where flows start; not said here.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl Ranges for SrfParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.field_bytes.0 <= 512, "field_bytes", "up to 512 B")
    }
}

/// Payload bytes that were left of its flow when a packet was sent. One that does not say goes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left(pub u64);

impl Default for Left {
    fn default() -> Left {
        Left(u64::MAX)
    }
}

impl Extension for Left {
    type Port = ();
    const TELLS_LEFT: bool = true;

    fn port(_link: &LinkShape) {}

    #[inline(always)]
    fn left(&self, _packet: &Packet) -> u64 {
        self.0
    }
}

/// No state.
#[derive(Clone, Copy, Debug)]
pub struct Srf;

impl Control for Srf {
    type Params = SrfParams;
    type Extension = Left;
    type Due = ();
    type Times = ();

    fn at(params: &SrfParams, site: Site) -> SrfParams {
        SrfParams { site, ..*params }
    }

    fn new(_params: &SrfParams) -> Srf {
        Srf
    }

    fn carried(params: &SrfParams) -> Bytes {
        params.field_bytes
    }

    #[inline(always)]
    fn window(&self, params: &SrfParams) -> u64 {
        params.site.window
    }

    #[inline(always)]
    fn outgoing(&self, _now: Instant, left: u64) -> Left {
        Left(left)
    }
}
