//! Interface of congestion control: a window, a rate, and their reaction to ACKs.

mod callback;
mod closed_form;
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

pub use callback::{Callback, CallbackParams, Event, Hop, Reaction, Reactions, Setting, Signals};
pub use closed_form::{ClosedForm, IdlePath};
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
use backwater_types::{Duration, Extension, Instant, LibraryRand, whole_ns};

/// An acknowledgement as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<E = ()> {
    /// Arrival time.
    pub now: Instant,
    /// Key of the flow's packets.
    pub key: u32,
    /// Next packet the receiver expects.
    pub seq: u32,
    /// Next packet the sender will send.
    pub next: u32,
    /// Next packet in the HPCC simulator's count of bytes, which leaves out a last packet that is not full.
    pub whole: u32,
    /// Whether the acknowledged packet was marked.
    pub marked: bool,
    /// Time since the packet before `seq` was last sent, where control [asks for it](Control::Times).
    pub rtt: Option<Duration>,
    /// Metadata of the acknowledged packet as it arrived.
    pub extension: E,
}

impl<E> Ack<E> {
    /// Replaces the metadata.
    #[inline(always)]
    pub fn with<F>(self, extension: F) -> Ack<F> {
        let Ack { now, key, seq, next, whole, marked, rtt, extension: _ } = self;
        Ack { now, key, seq, next, whole, marked, rtt, extension }
    }
}

/// Path parameters: the properties of a flow's source and path that its control uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Site {
    /// Rate of the NIC, bit/s.
    pub line_rate: f64,
    /// Window at line rate, payload bytes; `u64::MAX`: none.
    pub window: u64,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Round trip of a full packet on an idle network, with its transmission time at every link. Zero where no control
    /// asks for it.
    pub base_rtt: Duration,
    /// Factor of telemetry's units of bytes over those at 25 Gb/s.
    pub int_unit: u32,
    /// Whether rates are whole bit/s and times whole nanoseconds, as in the HPCC simulator.
    pub whole: bool,
    /// Whether timers of control expire as events of their own, in the order of scheduling, as in ns-3.
    pub timer_events: bool,
}

impl Site {
    /// Rounds a rate to the precision in which it is kept, bit/s.
    #[inline(always)]
    pub fn kept(&self, rate: f64) -> f64 {
        if self.whole { rate as u64 as f64 } else { rate }
    }

    /// Returns the window in proportion to the rate, payload bytes; no window stays none.
    #[inline(always)]
    pub fn window_at(&self, rate: f64) -> u64 {
        if rate == self.line_rate || self.window == u64::MAX {
            return self.window;
        }
        if self.whole {
            return (self.window * rate as u64 / self.line_rate as u64).max(1);
        }
        ((self.window as f64 * (rate / self.line_rate)) as u64).max(1)
    }

    /// Time from the start of a packet of `wire` bytes to the next at this rate; zero at line rate.
    #[inline(always)]
    pub fn gap_at(&self, rate: f64, wire: u64) -> Duration {
        if rate == self.line_rate { Duration::ZERO } else { self.time_at(rate, wire) }
    }

    /// Part of a waiting packet's send time that a change of the rate shifts, behind a packet of `wire` bytes: `gap`,
    /// which the flow keeps. In the HPCC simulator the time at `rate`, also where the flow is not paced and keeps no
    /// gap.
    #[inline(always)]
    pub fn moving_gap(&self, rate: f64, wire: u64, gap: impl FnOnce() -> Duration) -> Duration {
        if self.whole { self.time_at(rate, wire) } else { gap() }
    }

    /// Transmission time of `wire` bytes at this rate.
    #[inline(always)]
    pub fn time_at(&self, rate: f64, wire: u64) -> Duration {
        if self.whole {
            return whole_ns(wire, rate);
        }
        Duration((wire as f64 * 8e12 / rate) as u64)
    }
}

/// Sign of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver misses a packet, or a switch has told that it dropped one.
    Missed,
    /// Nothing was acknowledged for the retransmission timeout.
    Timeout,
}

/// Congestion control of one flow, end to end.
///
/// Handlers of events return whether the window or the rate was set.
pub trait Control: Copy + Send + 'static {
    /// Parameters shared by all flows.
    type Params: Clone + Send + Sync;
    /// Metadata that packets carry beside their headers and acknowledgements bring back, such as telemetry.
    type Extension: Extension;
    /// Completes the parameters for flows that start at `site`.
    fn at(params: &Self::Params, site: Site) -> Self::Params;
    /// Sets the source of random numbers: streams of this seed, and `rand` for whole numbers where it is given.
    fn draw_from(_params: &mut Self::Params, _seed: u64, _rand: Option<&LibraryRand>) {}
    /// Starts a flow.
    fn new(params: &Self::Params) -> Self;
    /// Window: a packet may start when fewer payload bytes than this are in flight.
    fn window(&self, params: &Self::Params) -> u64;
    /// Time from the start of a packet of `wire` bytes to the earliest start of the next; zero: no pacing.
    #[inline(always)]
    fn gap(&self, _params: &Self::Params, _wire: u64) -> Duration {
        Duration::ZERO
    }
    /// Spacing behind a packet of `wire` bytes; on a rate change the queued packet's send time shifts by the
    /// difference.
    #[inline(always)]
    fn spacing(&self, params: &Self::Params, wire: u64) -> Duration {
        self.gap(params, wire)
    }
    /// Handles an ACK.
    #[inline(always)]
    fn on_ack(&mut self, _params: &Self::Params, _ack: Ack<Self::Extension>) -> bool {
        false
    }
    /// Counts a packet of `wire` bytes that starts.
    #[inline(always)]
    fn on_sent(&mut self, _params: &Self::Params, _now: Instant, _wire: u64) {}
    /// Handles a congestion notification of the receiver.
    #[inline(always)]
    fn on_cnp(&mut self, _params: &Self::Params, _now: Instant) -> bool {
        false
    }
    /// Handles a loss.
    #[inline(always)]
    fn on_loss(&mut self, _params: &Self::Params, _now: Instant, _loss: Loss) -> bool {
        false
    }
    /// Sets the rate to its minimum, if there is one, because a switch dropped a packet.
    fn to_min_rate(&mut self, _params: &Self::Params) -> bool {
        false
    }
    /// Whether control has timers of its own.
    const TIMED: bool = false;
    /// Returns the expiry of the timer; [`Instant::NEVER`] if it does not run.
    #[inline(always)]
    fn timer(&self, _params: &Self::Params) -> Instant {
        Instant::NEVER
    }
    /// Handles the expiry of the timer.
    fn on_timer(&mut self, _params: &Self::Params, _now: Instant) -> bool {
        false
    }
    /// Takes a timer that was armed since the last call, in the order of arming: its expiry and its number. Only with
    /// [`Site::timer_events`].
    #[inline(always)]
    fn take_armed(&mut self) -> Option<(Instant, u8)> {
        None
    }
    /// Handles the expiry of timer number `timer`, which was armed for `now`.
    fn on_expiry(&mut self, _params: &Self::Params, _now: Instant, _timer: u8) -> bool {
        false
    }
    /// Record of the send times of packets in flight: [`SendTimes`] if control reads [`Ack::rtt`], else `()`.
    type Times: Times;
    /// Whether a rate change moves the send time of the packet that waits: [`Instant`] if so, else `()`.
    type Due: Due;
    /// Whether a rate change of this flow moves the send time of the packet that waits.
    #[inline(always)]
    fn moves(&self) -> bool {
        Self::Due::MOVES
    }
    /// Makes the record of send times of a new flow.
    fn times(_params: &Self::Params) -> Self::Times {
        Self::Times::default()
    }
    /// Makes the metadata of a packet that starts now; `left` payload bytes of its flow are left, its own included.
    #[inline(always)]
    fn outgoing(&self, _now: Instant, _left: u64) -> Self::Extension {
        Self::Extension::default()
    }
    /// Least time between two congestion notifications of a receiver, each for marked packets in that time; `None`:
    /// there are none.
    fn notifies(_params: &Self::Params) -> Option<Duration> {
        None
    }
}

/// Record of the send times of packets in flight.
pub trait Times: Default + Clone + core::fmt::Debug + Send + 'static {
    /// Whether send times are kept.
    const KEPT: bool = false;
    /// Adds the next packet, which starts now.
    #[inline(always)]
    fn sent(&mut self, _now: Instant) {}
    /// Updates the packet `place` places behind the first in flight, which is retransmitted now.
    #[inline(always)]
    fn sent_again(&mut self, _now: Instant, _place: u32) {}
    /// Time since the packet `place` places behind the first in flight was sent.
    #[inline(always)]
    fn since(&self, _now: Instant, _place: u32) -> Option<Duration> {
        None
    }
    /// Removes the first `packets`, which were acknowledged.
    #[inline(always)]
    fn acknowledged(&mut self, _packets: u32) {}
    /// Removes all packets.
    #[inline(always)]
    fn clear(&mut self) {}
}

impl Times for () {}

/// `[packet in flight]`: last send time.
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

/// Record that is kept or not by a choice at run time.
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
