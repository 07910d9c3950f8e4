//! Shortest remaining flow first: packets carry the bytes left of their flow, by which NICs and switches choose.
//!
//! Source: Goyal et al., "Backpressure Flow Control", NSDI 2022, appendix A.2; spec B, "BFC-SRF", and D. A packet
//! carries the payload bytes of its flow that are left to send when it is sent, its own included; a retransmission
//! carries them anew. Congestion control is a cap on bytes in flight, `host.window`, or none.
//!
//! The papers do not count the wire bytes of the field, nor do the defaults.

use crate::rate::{ClosedForm, Control, Site};
use backwater_types::{Bytes, Extension, Instant, LinkShape, OutOfRange, Packet, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Shortest remaining flow first at the host: its NIC, and the field that packets carry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct SrfParams {
    /// Bytes of the field on every data packet.
    pub field_bytes: Bytes,
    /// Path parameters, which are filled in later.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub site: Site,
}

impl Ranges for SrfParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.field_bytes.0 <= 512, "field_bytes", "up to 512 B")
    }
}

/// Payload bytes of the flow that were left when the packet was sent. Packets without the field go last.
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

/// Congestion control without state.
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

    #[inline(always)]
    fn window(&self, params: &SrfParams) -> u64 {
        params.site.window
    }

    #[inline(always)]
    fn outgoing(&self, _now: Instant, left: u64) -> Left {
        Left(left)
    }
}

impl ClosedForm for Srf {
    fn carried(params: &SrfParams) -> Bytes {
        params.field_bytes
    }
}
