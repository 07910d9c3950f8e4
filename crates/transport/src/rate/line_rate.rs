//! No congestion control: a flow sends as fast as its NIC and backpressure let it, as hosts of pure BFC do.

use crate::rate::{ClosedForm, Control, Site};

/// Congestion control without state.
#[derive(Clone, Copy, Debug)]
pub struct LineRate;

impl Control for LineRate {
    type Params = ();
    type Extension = ();
    type Due = ();
    type Times = ();

    fn at(_params: &(), _site: Site) {}

    fn new(_params: &()) -> LineRate {
        LineRate
    }

    #[inline(always)]
    fn window(&self, _params: &()) -> u64 {
        u64::MAX
    }
}

impl ClosedForm for LineRate {}
