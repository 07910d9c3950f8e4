//! The interface of end-to-end control: a window, a pace, and what an ACK does to them.

use backwater_types::Duration;

/// An acknowledgement as control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Next packet the receiver expects.
    pub seq: u32,
    /// Next packet the sender will send.
    pub next: u32,
    /// The acknowledged packet was marked.
    pub marked: bool,
}

/// Where a flow starts, as far as its control has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Site {
    /// Rate of the NIC, bit/s.
    pub line_rate: f64,
    /// Window at line rate, payload bytes; `u64::MAX`: none.
    pub window: u64,
    /// The window was asked not to be there, whatever the rate.
    pub unlimited: bool,
    /// Rates are whole bit/s and times whole nanoseconds, as in the HPCC simulator.
    pub whole: bool,
}

/// An idle path, as the only flow on it sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdlePath {
    /// From the start of a full packet to the arrival of its acknowledgement.
    pub round_trip: Duration,
    /// The same of a packet without payload.
    pub opening: Duration,
    /// Time of a full packet at the slowest link.
    pub packet: Duration,
    /// Packets of the flow.
    pub packets: u64,
}

/// End-to-end control of one flow.
pub trait Control: Copy + Send + 'static {
    /// Parameters shared by all flows.
    type Params: Clone + Send + Sync;
    /// The parameters, where the flows start.
    fn at(params: &Self::Params, site: Site) -> Self::Params;
    /// For a new flow.
    fn new(params: &Self::Params) -> Self;
    /// A packet may start when fewer payload bytes than this are in flight.
    fn window(&self, params: &Self::Params) -> u64;
    /// Time from the start of a packet of `wire` bytes to the earliest start of the next; zero: no pacing.
    #[inline(always)]
    fn gap(&self, _params: &Self::Params, _wire: u64) -> Duration {
        Duration::ZERO
    }
    /// What a flow alone takes beyond store and forward, on a path its window covers: nothing, if it starts at line rate and
    /// nothing slows it.
    fn startup(_params: &Self::Params, _path: &IdlePath) -> Duration {
        Duration::ZERO
    }
    /// An ACK came in. Whether the window or the pace has changed.
    #[inline(always)]
    fn on_ack(&mut self, _params: &Self::Params, _ack: Ack) -> bool {
        false
    }
}
