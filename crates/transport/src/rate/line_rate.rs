//! No end-to-end control: a flow sends as fast as its NIC and backpressure let it. What pure BFC runs on.

use crate::rate::{Control, Site};

/// No state.
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
