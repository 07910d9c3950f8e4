//! A fixed cap on bytes in flight: one bandwidth-delay product for ideal fair queueing (spec D).

use crate::control::Control;

/// Parameters of [`Window`].
#[derive(Clone, Copy, Debug)]
pub struct WindowParams {
    /// Payload bytes in flight below which a packet may start.
    pub window: u64,
}

/// No state.
#[derive(Clone, Copy, Debug)]
pub struct Window;

impl Control for Window {
    type Params = WindowParams;

    fn new(_params: &WindowParams) -> Window {
        Window
    }

    #[inline(always)]
    fn window(&self, params: &WindowParams) -> u64 {
        params.window
    }
}
