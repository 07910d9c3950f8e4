//! A policy: what a scheme decides in a switch.
//!
//! It has no queue, buffer or wire of its own and sees those of the switch through what it is given. Where assignment and
//! backpressure do not know of each other a policy is a [`Composed`] of the two; FlowSail's share their flow records and are one.

#[macro_use]
mod inner;

pub mod beside;
pub mod composed;
pub mod flowsail;
pub mod flowsail_as_printed;
pub mod pause_by_flow;
pub mod recirculating;

pub use beside::Beside;
pub use composed::Composed;
pub use flowsail::{FlowSail, FlowSailParams, Hold, ReleaseFrom, Residue, SketchParams};
pub use flowsail_as_printed::FlowSailAsPrinted;
pub use pause_by_flow::{BfcByFlow, IdealFlowControl, PauseByFlowParams};
pub use recirculating::Recirculating;

use crate::buffer::cells::Cells;
use crate::hardware::Recirculated;
use crate::held::{Assigned, Choice, Held, Resident};
use crate::port::Ports;
use crate::queues::Queues;
use crate::shape::Shape;
use alloc::string::String;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, FlowName, Instant, Packet, PortId, QueueId};

/// A frame, and the port it goes out of.
pub type Told = (PortId, ControlFrame);

/// A scheme's decisions.
pub trait Policy: Clone + Send + 'static {
    /// The queues it needs at each port.
    type Queues: Queues;
    /// Its parameters.
    type Params;
    /// Any packet may set a timer, not only one that has a frame sent.
    const SETS_TIMERS: bool = false;
    /// For a switch of this shape.
    fn new(params: &Self::Params, shape: &Shape) -> Self;
    /// The queues of a port of it.
    fn queues(_params: &Self::Params, shape: &Shape) -> Self::Queues {
        Self::Queues::new(shape.queues as usize, shape.groups as usize, shape.quantum)
    }
    /// A packet is about to be looked at: what was put off until now is done.
    #[inline(always)]
    fn catch_up(&mut self, _now: Instant) {}
    /// Cells it may fill beyond those of packets.
    fn extra_cells(_params: &Self::Params) -> usize {
        0
    }
    /// The queue for `packet` at egress `port`. Pure: the buffer may still refuse the packet.
    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &Self::Queues,
        rng: &mut Stream,
    ) -> Choice;
    /// The queue for the packet that `choice` was for, where packets say what is left of their flow: so much.
    #[inline(always)]
    fn beside(&self, choice: Choice, _left: u64, _queues: &Self::Queues) -> Choice {
        choice
    }
    /// Prefetches the state that [`Policy::choose`] will read first: in large networks most of the time goes into waiting for it.
    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32;
    /// Whether its own accounting has room for a packet from `ingress`.
    fn admits(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether this packet takes part in bookkeeping (spec B, sampling).
    #[inline(always)]
    fn samples(&self, _rng: &mut Stream) -> bool {
        true
    }
    /// The buffer took the packet, which is about to join the queue chosen; that may still be changed, and what is kept with
    /// the packet completed. The queues are given without it. A frame to send.
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Held,
        port: PortId,
        choice: &mut Choice,
        queues: &Self::Queues,
    ) -> Option<Told>;
    /// The packet has joined `queue`.
    #[inline(always)]
    fn on_joined(
        &mut self,
        _port: PortId,
        _queue: QueueId,
        _queues: &mut Self::Queues,
        _cells: &mut Cells<impl Extension>,
    ) {
    }
    /// The packet starts its transmission. A frame to send.
    fn on_dequeue(&mut self, now: Instant, packet: &Packet, held: &Held, port: PortId, queue: QueueId) -> Option<Told>;
    /// The packet was dropped as the link of its port went down. A frame to send.
    fn on_lost(&mut self, now: Instant, packet: &Packet, held: &Held, port: PortId, queue: QueueId) -> Option<Told> {
        self.on_dequeue(now, packet, held, port, queue)
    }
    /// The packet has gone, and `queue` shows what was behind it.
    #[inline(always)]
    fn on_gone(
        &mut self,
        _port: PortId,
        _queue: QueueId,
        _queues: &mut Self::Queues,
        _cells: &mut Cells<impl Extension>,
    ) {
    }
    /// Whether a packet from `ingress` that finds its port empty, and leaves at once, would leave no trace: no frame sent, all
    /// counters as before.
    #[inline(always)]
    fn passes(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether a packet that finds its port empty may leave at once, where that hangs on more than its queue.
    fn lets_pass(&self, choice: Choice) -> bool;
    /// A packet passes through the queue chosen at a port that holds nothing.
    fn on_pass(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Held,
        port: PortId,
        choice: Choice,
        queues: &Self::Queues,
    );
    /// A neighbour's frame came in by `port`. Every policy obeys PFC's.
    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut Self::Queues,
        cells: &mut Cells<impl Extension>,
    );
    /// Whether `port` may send data: no neighbour holds it as a whole. Asked before a packet is chosen.
    fn may_send(&self, port: PortId) -> bool;
    /// A data packet of `queue` goes onto the link of `port`, whose queues hold it no longer.
    #[inline(always)]
    fn on_sent(&mut self, _now: Instant, _port: PortId, _queue: QueueId, _packet: &Packet, _queues: &mut Self::Queues) {
    }
    /// The record by which a flow is paused at `port`, as a tag of [`Choice`]; [`NONE`](crate::flow_table::NONE) where it has none.
    fn record_of(&self, port: PortId, flow: FlowName) -> u32;
    /// When [`Policy::on_timer`] wants to run next.
    fn next_timer(&self) -> Instant {
        Instant::NEVER
    }
    /// Repeats state that a lost frame may have left wrong, and lets lapse what was not repeated.
    fn on_timer(&mut self, _now: Instant, _ports: &mut Ports<'_, Self::Queues, impl Extension>) {}
    /// The link of `port` went down: nothing holds it or its queues.
    fn on_link_down(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, Self::Queues, impl Extension>);
    /// The link of `port` came up, with nothing held: the neighbour is to be told this switch's state.
    fn on_link_up(&mut self, _now: Instant, _port: PortId, _ports: &mut Ports<'_, Self::Queues, impl Extension>) {}
    /// Flows with packets in `port`, if the policy knows.
    fn active_flows(&self, _port: PortId) -> Option<u32> {
        None
    }
    /// Counts at `port`.
    fn assigned(&self, _port: PortId) -> Assigned {
        Assigned::default()
    }
    /// What its bookkeeping was late by.
    fn recirculated(&self) -> Recirculated {
        Recirculated::default()
    }
    /// Flows kept apart from the others because a neighbour paused them.
    fn isolated_flows(&self) -> u32 {
        0
    }
    /// Compares its state with a recount over all that the queues of the ports hold, in order.
    fn audit(&self, _residents: &[Resident], _queues: &[&Self::Queues]) -> Result<(), String> {
        Ok(())
    }
}
