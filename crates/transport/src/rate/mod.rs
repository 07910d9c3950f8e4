//! The interface of end-to-end control: a window, a pace, and what an ACK does to them.

mod dcqcn;
mod dctcp;
mod hpcc;
mod line_rate;
mod pint;
mod rtt;
mod srf;
mod swift;
mod timely;
mod window;

pub use dcqcn::{Dcqcn, DcqcnParams, DcqcnVariant};
pub use dctcp::{Dctcp, DctcpParams};
pub use hpcc::{HOPS, Hpcc, HpccParams, HpccReaction, Int};
pub use line_rate::LineRate;
pub use pint::{Pint, PintParams, Power};
pub use rtt::{Rtt, RttParams};
pub use srf::{Left, Srf, SrfParams};
pub use swift::{Swift, SwiftParams, Trip};
pub use timely::{SentAt, Timely, TimelyParams};
pub use window::Window;

use crate::due::Due;
use alloc::collections::VecDeque;
use backwater_types::{BitsPerSec, Bytes, Duration, Extension, Instant, LibraryRand, whole_ns};

/// An acknowledgement as control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<E = ()> {
    /// When it came.
    pub now: Instant,
    /// Key of the flow's packets.
    pub key: u32,
    /// Next packet the receiver expects.
    pub seq: u32,
    /// Next packet the sender will send.
    pub next: u32,
    /// The same as the HPCC simulator has it, in bytes: of a last packet that is not full nothing counts.
    pub whole: u32,
    /// The acknowledged packet was marked.
    pub marked: bool,
    /// Since the packet before `seq` was last sent, where control [asks for it](Control::Times).
    pub rtt: Option<Duration>,
    /// What the acknowledged packet carried when it arrived.
    pub extension: E,
}

impl<E> Ack<E> {
    /// The same with something else carried.
    #[inline(always)]
    pub fn with<F>(self, extension: F) -> Ack<F> {
        let Ack { now, key, seq, next, whole, marked, rtt, extension: _ } = self;
        Ack { now, key, seq, next, whole, marked, rtt, extension }
    }
}

/// Where a flow starts, as far as its control has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Site {
    /// Rate of the NIC, bit/s.
    pub line_rate: f64,
    /// Window at line rate, payload bytes; `u64::MAX`: none.
    pub window: u64,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Base round trip: of an idle network, with a packet's time at every link. Zero where nobody asks.
    pub base_rtt: Duration,
    /// Telemetry counts bytes in units as many times as large as at 25 Gb/s.
    pub int_unit: u32,
    /// Rates are whole bit/s and times whole nanoseconds, as in the HPCC simulator.
    pub whole: bool,
    /// Clocks strike as events of their own, in the order of scheduling, as in ns-3.
    pub clocks: bool,
}

impl Site {
    /// A rate as it is kept, bit/s.
    #[inline(always)]
    fn kept(&self, rate: f64) -> f64 {
        if self.whole { rate as u64 as f64 } else { rate }
    }

    /// A window that shrinks with the rate, payload bytes; none stays none.
    #[inline(always)]
    fn window_at(&self, rate: f64) -> u64 {
        if rate == self.line_rate || self.window == u64::MAX {
            return self.window;
        }
        if self.whole {
            return (self.window * rate as u64 / self.line_rate as u64).max(1);
        }
        ((self.window as f64 * (rate / self.line_rate)) as u64).max(1)
    }

    /// Time from the start of a packet of `wire` bytes to the next at this rate; none at that of the line.
    #[inline(always)]
    fn gap_at(&self, rate: f64, wire: u64) -> Duration {
        if rate == self.line_rate { Duration::ZERO } else { self.time_at(rate, wire) }
    }

    /// Part of a waiting packet's send time that a change of the rate shifts, behind a packet of `wire` bytes: `gap`, which the flow
    /// keeps. In the HPCC simulator the time at `rate`, also where the flow is not paced and keeps no gap.
    #[inline(always)]
    fn moving_gap(&self, rate: f64, wire: u64, gap: impl FnOnce() -> Duration) -> Duration {
        if self.whole { self.time_at(rate, wire) } else { gap() }
    }

    /// Time that a packet of `wire` bytes takes at this rate.
    #[inline(always)]
    fn time_at(&self, rate: f64, wire: u64) -> Duration {
        if self.whole {
            return whole_ns(wire, rate);
        }
        Duration((wire as f64 * 8e12 / rate) as u64)
    }
}

/// How it is known that packets were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver missed one.
    Missed,
    /// Nothing was heard for the retransmission timeout.
    Timeout,
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
    /// Rate of the first link, which is the NIC's.
    pub line: BitsPerSec,
    /// Bytes of a full packet on the wire.
    pub wire: Bytes,
}

impl IdlePath {
    /// Time of a full packet at the first link.
    pub fn at_line(&self) -> Duration {
        Duration(self.wire.0 * 8_000_000_000_000 / self.line.0)
    }
}

/// End-to-end control of one flow.
pub trait Control: Copy + Send + 'static {
    /// Parameters shared by all flows.
    type Params: Clone + Send + Sync;
    /// What packets carry beside their headers, and acknowledgements bring back: telemetry.
    type Extension: Extension;
    /// The parameters, where the flows start.
    fn at(params: &Self::Params, site: Site) -> Self::Params;
    /// What it draws is drawn from streams of this seed; whole numbers come from `rand` where that is given.
    fn draw_from(_params: &mut Self::Params, _seed: u64, _rand: Option<&LibraryRand>) {}
    /// For a new flow.
    fn new(params: &Self::Params) -> Self;
    /// A packet may start when fewer payload bytes than this are in flight.
    fn window(&self, params: &Self::Params) -> u64;
    /// Time from the start of a packet of `wire` bytes to the earliest start of the next; zero: no pacing.
    #[inline(always)]
    fn gap(&self, _params: &Self::Params, _wire: u64) -> Duration {
        Duration::ZERO
    }
    /// What changes of the pace move a packet by that waits behind one of `wire` bytes: the difference of this before and after.
    #[inline(always)]
    fn moved_by(&self, params: &Self::Params, wire: u64) -> Duration {
        self.gap(params, wire)
    }
    /// What a flow alone takes beyond store and forward, on a path its window covers: nothing, if it starts at line rate and
    /// nothing slows it.
    fn startup(_params: &Self::Params, _path: &IdlePath) -> Duration {
        Duration::ZERO
    }
    /// The first packets of a flow are not sent back to back: a last one that is short takes so much less than [`Control::startup`]
    /// states as it catches up with the one before.
    fn starts_paced(_params: &Self::Params) -> bool {
        false
    }
    /// Share of an idle path that a flow alone takes in the long run, by its payload and headers.
    fn share(_params: &Self::Params) -> f64 {
        1.0
    }
    /// The lowest rate it goes to, where it has one: at most that of the slowest NIC.
    fn min_rate(_params: &Self::Params) -> Option<BitsPerSec> {
        None
    }
    /// From nothing to the rate of the NIC in steps of additive increase alone: how long two flows take to fill a port that both
    /// gave up too much of. Zero: a few round trips.
    fn recovery(_params: &Self::Params) -> Duration {
        Duration::ZERO
    }
    /// An ACK came in. Whether the window or the pace was set, be it to what it was.
    #[inline(always)]
    fn on_ack(&mut self, _params: &Self::Params, _ack: Ack<Self::Extension>) -> bool {
        false
    }
    /// A packet of `wire` bytes starts.
    #[inline(always)]
    fn on_sent(&mut self, _params: &Self::Params, _now: Instant, _wire: u64) {}
    /// The receiver notified of congestion. Whether the window or the pace has changed.
    #[inline(always)]
    fn on_cnp(&mut self, _params: &Self::Params, _now: Instant) -> bool {
        false
    }
    /// Packets were lost: the receiver says so, or nothing was heard of them for the retransmission timeout. Whether the window or
    /// the pace has changed.
    #[inline(always)]
    fn on_loss(&mut self, _params: &Self::Params, _now: Instant, _loss: Loss) -> bool {
        false
    }
    /// A switch says that it dropped a packet: to the lowest rate, where it has one. Whether the window or the pace has changed.
    fn to_min_rate(&mut self, _params: &Self::Params) -> bool {
        false
    }
    /// It has timers of its own.
    const TIMED: bool = false;
    /// When [`Control::on_timer`] is due; [`Instant::NEVER`] if there is nothing to wait for.
    #[inline(always)]
    fn timer(&self, _params: &Self::Params) -> Instant {
        Instant::NEVER
    }
    /// Its time has come. Whether the window or the pace has changed.
    fn on_timer(&mut self, _params: &Self::Params, _now: Instant) -> bool {
        false
    }
    /// A clock that was wound and not told of, by its number, and when it strikes; in the order of winding. Only where
    /// [`Site::clocks`] asks for them.
    #[inline(always)]
    fn wound(&mut self) -> Option<(Instant, u8)> {
        None
    }
    /// A clock strikes that was wound for now. Whether the window or the pace has changed.
    fn on_clock(&mut self, _params: &Self::Params, _now: Instant, _clock: u8) -> bool {
        false
    }
    /// When packets in flight were sent: [`SendTimes`], if it is told round trip times, else nothing.
    type Times: Times;
    /// Whether a change of the pace moves the packet that waits for it: an [`Instant`] if so, else `()`.
    type Due: Due;
    /// Whether it does for this flow.
    #[inline(always)]
    fn moves(&self) -> bool {
        Self::Due::MOVES
    }
    /// For a new flow, with nothing sent.
    fn times(_params: &Self::Params) -> Self::Times {
        Self::Times::default()
    }
    /// Bytes on the wire that data packets carry beside their headers.
    fn carried(_params: &Self::Params) -> Bytes {
        Bytes(0)
    }
    /// What a packet that starts now carries beside its headers; so many payload bytes of its flow are left, its own among them.
    #[inline(always)]
    fn outgoing(&self, _now: Instant, _left: u64) -> Self::Extension {
        Self::Extension::default()
    }
    /// It asks for [`Site::base_rtt`].
    const ASKS_BASE_RTT: bool = false;
    /// Receivers notify of congestion: at most once in this time, if a marked packet came in it.
    fn notifies(_params: &Self::Params) -> Option<Duration> {
        None
    }
}

/// When packets in flight were sent, for those that ask.
pub trait Times: Default + Clone + core::fmt::Debug + Send + 'static {
    /// It keeps any.
    const KEPT: bool = false;
    /// The next packet starts.
    #[inline(always)]
    fn sent(&mut self, _now: Instant) {}
    /// The packet `place` places behind the first in flight starts again.
    #[inline(always)]
    fn sent_again(&mut self, _now: Instant, _place: u32) {}
    /// How long ago the packet `place` places behind the first in flight was sent.
    #[inline(always)]
    fn since(&self, _now: Instant, _place: u32) -> Option<Duration> {
        None
    }
    /// The first `packets` in flight were acknowledged.
    #[inline(always)]
    fn acknowledged(&mut self, _packets: u32) {}
    /// Nothing is in flight any more.
    #[inline(always)]
    fn clear(&mut self) {}
}

impl Times for () {}

/// `[packet in flight]`: when it was last sent.
#[derive(Clone, Debug, Default)]
pub struct SendTimes(VecDeque<Instant>);

impl Times for SendTimes {
    const KEPT: bool = true;

    #[inline]
    fn sent(&mut self, now: Instant) {
        self.0.push_back(now);
    }

    #[inline]
    fn sent_again(&mut self, now: Instant, place: u32) {
        if let Some(sent) = self.0.get_mut(place as usize) {
            *sent = now;
        }
    }

    #[inline]
    fn since(&self, now: Instant, place: u32) -> Option<Duration> {
        self.0.get(place as usize).map(|sent| now.since(*sent))
    }

    #[inline]
    fn acknowledged(&mut self, packets: u32) {
        self.0.drain(..(packets as usize).min(self.0.len()));
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Where it is not known beforehand whether any are kept.
impl Times for Option<SendTimes> {
    #[inline]
    fn sent(&mut self, now: Instant) {
        if let Some(times) = self {
            times.sent(now);
        }
    }

    #[inline]
    fn sent_again(&mut self, now: Instant, place: u32) {
        if let Some(times) = self {
            times.sent_again(now, place);
        }
    }

    #[inline]
    fn since(&self, now: Instant, place: u32) -> Option<Duration> {
        self.as_ref()?.since(now, place)
    }

    #[inline]
    fn acknowledged(&mut self, packets: u32) {
        if let Some(times) = self {
            times.acknowledged(packets);
        }
    }

    fn clear(&mut self) {
        if let Some(times) = self {
            times.clear();
        }
    }
}
