//! Backpressure: how a switch slows the neighbours that feed it.
//!
//! Two halves. The downstream half, [`Backpressure`], watches this switch's buffer and has frames sent to neighbours; the
//! [`Upstream`] half, which it names, is what egress ports obey. Frames are level-triggered, so a repeated one does no harm.
//! What its pauses hold a backpressure states beside its parameters ([`Pauses`]).

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

use crate::held::{Held, Resident};
use crate::queues::Queues;
use crate::shape::Shape;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Duration, Instant, Packet, PortId, QueueId};
use core::hash::{Hash, Hasher};

/// A backpressure rule over queues of type `Q`: its downstream half.
pub trait Backpressure<Q: Queues>: Clone + Send + 'static {
    /// Its parameters.
    type Params: Clone;
    /// What egress ports obey where it is the rule.
    type Upstream: Upstream<Q>;
    /// Any packet may set a timer, not only one that has a frame sent.
    const SETS_TIMERS: bool = false;
    /// For a switch of this shape.
    fn new(params: &Self::Params, shape: &Shape) -> Self;
    /// The other half, for the same switch, with nothing held.
    fn upstream(params: &Self::Params, shape: &Shape) -> Self::Upstream;
    /// Whether a packet from `ingress` that finds its port empty, and leaves at once, would leave no trace: no frame sent, all
    /// counters as before.
    #[inline(always)]
    fn passes(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether its own accounting has room for a packet from `ingress`.
    fn admits(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether this packet takes part in bookkeeping (spec B, sampling).
    #[inline(always)]
    fn samples(&self, _rng: &mut Stream) -> bool {
        true
    }
    /// `packet` is about to join `queue` of `egress`, whose queues are given without it; sets `held.counted`. A frame to send
    /// out of `held.ingress`.
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Held,
        egress: PortId,
        queue: QueueId,
        queues: &Q,
    ) -> Option<ControlFrame>;
    /// That packet starts its transmission. A frame to send out of `held.ingress`.
    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Held,
        egress: PortId,
        queue: QueueId,
    ) -> Option<ControlFrame>;
    /// That packet was dropped as the link of its port went down. A frame to send out of `held.ingress`.
    fn on_lost(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Held,
        egress: PortId,
        queue: QueueId,
    ) -> Option<ControlFrame> {
        self.on_dequeue(now, packet, held, egress, queue)
    }
    /// A packet has gone from `queue` of `egress`, whose queues are given without it.
    #[inline(always)]
    fn on_gone(&mut self, _now: Instant, _egress: PortId, _queue: QueueId, _queues: &Q) {}
    /// A neighbour's frame came in by `port`.
    #[inline(always)]
    fn on_control(&mut self, _now: Instant, _port: PortId, _frame: ControlFrame) {}
    /// When [`Backpressure::refresh`] wants to run next.
    fn next_refresh(&self) -> Instant {
        Instant::NEVER
    }
    /// Repeats state that a lost frame may have left wrong.
    fn refresh(&mut self, _now: Instant, _send: &mut dyn FnMut(PortId, ControlFrame)) {}
    /// Tells the state of `port`, for a link that came up.
    fn state_of(&mut self, _now: Instant, _port: PortId, _send: &mut dyn FnMut(ControlFrame)) {}
    /// Compares its state with a recount over all packets held.
    fn audit(&self, _residents: &[Resident]) -> Result<(), String> {
        Ok(())
    }
}

/// None; a neighbour that sends PFC's frames is obeyed.
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
        _: &mut Held,
        _: PortId,
        _: QueueId,
        _: &Q,
    ) -> Option<ControlFrame> {
        None
    }

    #[inline(always)]
    fn on_dequeue(&mut self, _: Instant, _: &Packet, _: &Held, _: PortId, _: QueueId) -> Option<ControlFrame> {
        None
    }
}

/// Which ports have state worth repeating, and when to repeat it (spec A.11).
///
/// A port is repeated every period from its first PAUSE until three all-clear repetitions in a row with no PAUSE or RESUME
/// between them, so a simulation can end, and a PAUSE and a lost RESUME between two ticks are still healed.
#[derive(Clone, Debug)]
pub struct Refresh {
    period: Duration,
    next: Instant,
    /// All-clear repetitions still to send, per port; 0: silent.
    left: Vec<u8>,
}

const CLEAR_REPEATS: u8 = 3;

impl Refresh {
    /// For `ports` ports. A period of zero: never.
    pub fn new(ports: usize, period: Duration) -> Refresh {
        Refresh { period, next: Instant::NEVER, left: vec![0; ports] }
    }

    /// A PAUSE or RESUME left `port`.
    #[inline]
    pub fn on_transition(&mut self, now: Instant, port: PortId) {
        self.left[port as usize] = CLEAR_REPEATS;
        if self.next == Instant::NEVER && self.period > Duration::ZERO {
            self.next = now + self.period;
        }
    }

    /// When to repeat next.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// For checkers: how long until it repeats, and what.
    pub fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        (self.next != Instant::NEVER).then(|| self.next.since(now)).hash(state);
        self.left.hash(state);
    }

    /// Repeats: `frame` gives a port's state and whether it is all clear.
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
