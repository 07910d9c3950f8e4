//! Fixed window: a cap on bytes in flight, which is one bandwidth-delay product for ideal fair queueing (spec D).

use crate::rate::{ClosedForm, Control, Site};

/// Congestion control without state; its parameter is the window of its site.
#[derive(Clone, Copy, Debug)]
pub struct Window;

impl Control for Window {
    type Params = Site;
    type Extension = ();
    type Due = ();
    type Times = ();

    fn at(_params: &Site, site: Site) -> Site {
        site
    }

    fn new(_params: &Site) -> Window {
        Window
    }

    #[inline(always)]
    fn window(&self, params: &Site) -> u64 {
        params.window
    }
}

impl ClosedForm for Window {}
