//! Backpressure: how a switch slows the neighbours that feed it.
//!
//! A scheme has two halves. The downstream half, [`Backpressure`], watches this switch's buffer and sends frames to
//! neighbours. The [`Upstream`] half, which it names, is obeyed by egress ports. Frames are level-triggered, so
//! repeating one does no harm. A scheme states the effect of its pauses beside its parameters ([`Pauses`]).

pub mod bfc;
pub mod bfc_extended;
pub mod credits;
mod early_resume;
pub mod hpcc_memory;
pub mod paused_classes;
pub mod pausing;
pub mod pfc;
pub mod upstream;

pub use bfc::{Bfc, BfcParams, PausedQueues};
pub use bfc_extended::{BfcExtended, CreditedQueues};
pub use credits::{CreditParams, Gate};
pub use hpcc_memory::HpccMemory;
pub use paused_classes::PausedClasses;
pub use pausing::{Grain, NicPausing, Pauses, Pausing, State};
pub use pfc::{PausedPorts, Pfc, PfcParams};
pub use upstream::Upstream;

use crate::meta::{Meta, Resident};
use crate::queues::Queues;
use crate::shape::Shape;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Duration, Instant, Packet, PortId, QueueId};
use core::hash::{Hash, Hasher};

/// The downstream half of a backpressure scheme over queues of type `Q`.
pub trait Backpressure<Q: Queues>: Clone + Send + 'static {
    /// Parameters of the scheme.
    type Params: Clone;
    /// The upstream half of the scheme.
    type Upstream: Upstream<Q>;
    /// Whether any packet may set a timer, not only a packet that causes a control frame.
    const SETS_TIMERS: bool = false;
    /// Creates the state for a switch of this `shape`.
    fn new(params: &Self::Params, shape: &Shape) -> Self;
    /// Creates the upstream half for the same switch, with nothing paused.
    fn upstream(params: &Self::Params, shape: &Shape) -> Self::Upstream;
    /// Whether a packet from `ingress` that finds its port empty may bypass the queues: its enqueue and dequeue would
    /// send no frame and leave all counters as before.
    #[inline(always)]
    fn passes(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether the scheme's own accounting has room for a packet from `ingress`.
    fn admits(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether the next packet takes part in bookkeeping (spec B, sampling).
    #[inline(always)]
    fn samples(&self, _rng: &mut Stream) -> bool {
        true
    }
    /// Records that `packet` is about to join `queue` of `egress`, and sets `held.counted`. `queues` do not contain the
    /// packet yet. Returns a control frame to send out of `held.ingress`.
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        egress: PortId,
        queue: QueueId,
        queues: &Q,
    ) -> Option<ControlFrame>;
    /// Records that the packet starts its transmission. Returns a control frame to send out of `held.ingress`.
    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        egress: PortId,
        queue: QueueId,
    ) -> Option<ControlFrame>;
    /// Records that the packet was dropped because the link of its port went down. Returns a control frame to send out
    /// of `held.ingress`.
    fn on_lost(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        egress: PortId,
        queue: QueueId,
    ) -> Option<ControlFrame> {
        self.on_dequeue(now, packet, held, egress, queue)
    }
    /// Records that a packet has gone from `queue` of `egress`. `queues` no longer contain it.
    #[inline(always)]
    fn on_gone(&mut self, _now: Instant, _egress: PortId, _queue: QueueId, _queues: &Q) {}
    /// Handles a control frame that arrived by `port`.
    #[inline(always)]
    fn on_control(&mut self, _now: Instant, _port: PortId, _frame: ControlFrame) {}
    /// Time of the next [`Backpressure::refresh`].
    fn next_refresh(&self) -> Instant {
        Instant::NEVER
    }
    /// Repeats frames whose loss may have left a neighbour with wrong state.
    fn refresh(&mut self, _now: Instant, _send: &mut dyn FnMut(PortId, ControlFrame)) {}
    /// Sends the state of `port` after its link came up.
    fn state_of(&mut self, _now: Instant, _port: PortId, _send: &mut dyn FnMut(ControlFrame)) {}
    /// Compares the state with a recount over all buffered packets.
    fn audit(&self, _residents: &[Resident]) -> Result<(), String> {
        Ok(())
    }
}

/// No backpressure of its own. PFC frames from a neighbour are obeyed.
#[derive(Clone, Debug)]
pub struct NoBackpressure;

impl<Q: Queues> Backpressure<Q> for NoBackpressure {
    type Params = ();
    type Upstream = PausedPorts;

    fn new(_params: &(), _shape: &Shape) -> NoBackpressure {
        NoBackpressure
    }

    fn upstream(_params: &(), _shape: &Shape) -> PausedPorts {
        PausedPorts::default()
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        _: Instant,
        _: &Packet,
        _: &mut Meta,
        _: PortId,
        _: QueueId,
        _: &Q,
    ) -> Option<ControlFrame> {
        None
    }

    #[inline(always)]
    fn on_dequeue(&mut self, _: Instant, _: &Packet, _: &Meta, _: PortId, _: QueueId) -> Option<ControlFrame> {
        None
    }
}

/// Schedule of repeated frames: which ports have state to repeat, and when (spec A.11).
///
/// A port is repeated every period from its first PAUSE on. It stops after three all-clear repetitions in a row without
/// a PAUSE or RESUME between them, so a simulation can end, and a PAUSE and a lost RESUME between two ticks still heal.
#[derive(Clone, Debug)]
pub struct Refresh {
    period: Duration,
    next: Instant,
    /// `[port]`: all-clear repetitions still to send; 0: the port is silent.
    left: Vec<u8>,
}

const CLEAR_REPEATS: u8 = 3;

impl Refresh {
    /// Creates the schedule for `ports` ports. A period of zero: no repetition.
    pub fn new(ports: usize, period: Duration) -> Refresh {
        Refresh { period, next: Instant::NEVER, left: vec![0; ports] }
    }

    /// Records that a PAUSE or RESUME left `port`.
    #[inline]
    pub fn on_transition(&mut self, now: Instant, port: PortId) {
        self.left[port as usize] = CLEAR_REPEATS;
        if self.next == Instant::NEVER && self.period > Duration::ZERO {
            self.next = now + self.period;
        }
    }

    /// Time of the next repetition.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Time until the next repetition, and its content, for model checkers.
    pub fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        (self.next != Instant::NEVER).then(|| self.next.since(now)).hash(state);
        self.left.hash(state);
    }

    /// Repeats the state of ports. `frame` returns the frame of a port and whether it is all clear.
    pub fn run(
        &mut self,
        now: Instant,
        frame: impl Fn(PortId) -> (ControlFrame, bool),
        send: &mut dyn FnMut(PortId, ControlFrame),
    ) {
        let mut live = false;
        for (port, left) in self.left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
            let (frame, clear) = frame(port as PortId);
            send(port as PortId, frame);
            *left = if clear { *left - 1 } else { CLEAR_REPEATS };
            live |= *left > 0;
        }
        self.next = if live { now + self.period } else { Instant::NEVER };
    }
}
