//! Any end-to-end control behind one type, for combinations that have none of their own.

use backwater_transport::{Ack, Control, Dctcp, DctcpParams, LineRate, Window, WindowParams};
use backwater_types::Duration;

/// Parameters of whichever control it is.
#[derive(Clone, Debug)]
pub enum AnyControl {
    /// [`LineRate`]
    LineRate,
    /// [`Window`]
    Window(WindowParams),
    /// [`Dctcp`]
    Dctcp(DctcpParams),
}

/// State of one flow under whichever control it is.
#[derive(Clone, Copy, Debug)]
pub enum AnyFlow {
    /// [`LineRate`]
    LineRate(LineRate),
    /// [`Window`]
    Window(Window),
    /// [`Dctcp`]
    Dctcp(Dctcp),
}

impl Control for AnyFlow {
    type Params = AnyControl;

    fn new(params: &AnyControl) -> AnyFlow {
        match params {
            AnyControl::LineRate => AnyFlow::LineRate(LineRate),
            AnyControl::Window(p) => AnyFlow::Window(Window::new(p)),
            AnyControl::Dctcp(p) => AnyFlow::Dctcp(Dctcp::new(p)),
        }
    }

    #[inline]
    fn window(&self, params: &AnyControl) -> u64 {
        match (self, params) {
            (AnyFlow::Window(f), AnyControl::Window(p)) => f.window(p),
            (AnyFlow::Dctcp(f), AnyControl::Dctcp(p)) => f.window(p),
            _ => u64::MAX,
        }
    }

    #[inline]
    fn gap(&self, params: &AnyControl, wire: u64) -> Duration {
        match (self, params) {
            (AnyFlow::Dctcp(f), AnyControl::Dctcp(p)) => f.gap(p, wire),
            _ => Duration::ZERO,
        }
    }

    #[inline]
    fn on_ack(&mut self, params: &AnyControl, ack: Ack) -> bool {
        match (self, params) {
            (AnyFlow::Dctcp(f), AnyControl::Dctcp(p)) => f.on_ack(p, ack),
            _ => false,
        }
    }
}
