//! Policies: the decisions of a scheme in a switch.
//!
//! A policy owns no queue, buffer or link; it sees those of the switch through its arguments. Where assignment and
//! backpressure are independent a policy is a [`Composed`] of the two. FlowSail's two parts share their flow records
//! and form one policy.

#[macro_use]
mod inner;

pub mod composed;
pub mod flowsail;
pub mod flowsail_as_printed;
pub mod pause_by_flow;
pub mod pfc_interop;
pub mod recirculating;

pub use composed::Composed;
pub use flowsail::{FlowSail, FlowSailParams, Hold, ReleaseFrom, Residue, SketchParams};
pub use flowsail_as_printed::FlowSailAsPrinted;
pub use pause_by_flow::{BfcByFlow, IdealFlowControl, PauseByFlowParams};
pub use pfc_interop::PfcInterop;
pub use recirculating::Recirculating;

use crate::buffer::cells::Cells;
use crate::hardware::Recirculated;
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::port::Ports;
use crate::queues::Queues;
use crate::shape::Shape;
use alloc::string::String;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, FlowName, Instant, Packet, PortId, QueueId};

/// A control frame to send, and the port it goes out of.
pub type Outgoing = (PortId, ControlFrame);

/// Decisions of a scheme.
pub trait Policy: Clone + Send + 'static {
    /// Queues of a port under this policy.
    type Queues: Queues;
    /// Parameters of the policy.
    type Params;
    /// Whether any packet may set a timer, not only a packet that causes a control frame.
    const SETS_TIMERS: bool = false;
    /// Creates the state for a switch of this `shape`.
    fn new(params: &Self::Params, shape: &Shape) -> Self;
    /// Creates the queues of one port.
    fn queues(_params: &Self::Params, shape: &Shape) -> Self::Queues {
        Self::Queues::new(shape.queues as usize, shape.groups as usize, shape.quantum)
    }
    /// Completes deferred bookkeeping that is due at `now`. Called before a packet is looked at.
    #[inline(always)]
    fn catch_up(&mut self, _now: Instant) {}
    /// Cells that the policy fills beyond those of packets.
    fn extra_cells(_params: &Self::Params) -> usize {
        0
    }
    /// Chooses the queue for `packet` at egress `port`. Pure: the buffer may still refuse the packet.
    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &Self::Queues,
        rng: &mut Stream,
    ) -> Choice;
    /// Adjusts `choice` for a scheduler by remaining size: `left` bytes of the packet's flow remain.
    #[inline(always)]
    fn adjust(&self, choice: Choice, _left: u64, _queues: &Self::Queues) -> Choice {
        choice
    }
    /// Prefetches the state that [`Policy::choose`] reads first. In large networks most of the run time is the wait for
    /// this memory.
    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32;
    /// Whether the policy's own accounting has room for a packet from `ingress`.
    fn admits(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether the next packet takes part in bookkeeping (spec B, sampling).
    #[inline(always)]
    fn samples(&self, _rng: &mut Stream) -> bool {
        true
    }
    /// Records that the buffer took the packet, which is about to join the chosen queue. The policy may still change
    /// `choice` and complete `held`. `queues` do not contain the packet yet. Returns a control frame to send.
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &Self::Queues,
    ) -> Option<Outgoing>;
    /// Records that the packet has joined `queue`.
    #[inline(always)]
    fn on_joined(
        &mut self,
        _port: PortId,
        _queue: QueueId,
        _queues: &mut Self::Queues,
        _cells: &mut Cells<impl Extension>,
    ) {
    }
    /// Records that the packet starts its transmission. Returns a control frame to send.
    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing>;
    /// Records that the packet was dropped because the link of its port went down. Returns a control frame to send.
    fn on_lost(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        self.on_dequeue(now, packet, held, port, queue)
    }
    /// Records that the packet has gone from `queue`. `queues` no longer contain it.
    #[inline(always)]
    fn on_gone(
        &mut self,
        _port: PortId,
        _queue: QueueId,
        _queues: &mut Self::Queues,
        _cells: &mut Cells<impl Extension>,
    ) {
    }
    /// Whether a packet from `ingress` that finds its port empty may bypass the queues: its enqueue and dequeue would
    /// send no frame and leave all counters as before.
    #[inline(always)]
    fn passes(&self, _ingress: PortId, _packet: &Packet) -> bool {
        true
    }
    /// Whether a packet that finds its port empty may bypass `choice`, by conditions beyond the state of its queue.
    fn lets_pass(&self, choice: Choice) -> bool;
    /// Records that a packet bypasses the chosen queue at an empty port.
    fn on_pass(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        choice: Choice,
        queues: &Self::Queues,
    );
    /// Handles a control frame that arrived by `port`. Every policy obeys PFC frames.
    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut Self::Queues,
        cells: &mut Cells<impl Extension>,
    );
    /// Whether `port` may send data: no neighbour pauses the whole port. Asked before a packet is chosen.
    fn may_send(&self, port: PortId) -> bool;
    /// Records that a data packet of `queue` starts its transmission on `port`, whose queues no longer hold it.
    #[inline(always)]
    fn on_sent(&mut self, _now: Instant, _port: PortId, _queue: QueueId, _packet: &Packet, _queues: &mut Self::Queues) {
    }
    /// Slot of the record by which a flow is paused at `port`, as in [`Choice::tag`]; [`NONE`](crate::flow_table::NONE)
    /// if the flow has no record.
    fn record_of(&self, port: PortId, flow: FlowName) -> u32;
    /// Time of the next [`Policy::on_timer`].
    fn next_timer(&self) -> Instant {
        Instant::NEVER
    }
    /// Repeats frames whose loss may have left a neighbour with wrong state, and ends pauses here that were not
    /// repeated.
    fn on_timer(&mut self, _now: Instant, _ports: &mut Ports<'_, Self::Queues, impl Extension>) {}
    /// Records that the link of `port` went down: pauses of the port and of its queues end.
    fn on_link_down(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, Self::Queues, impl Extension>);
    /// Records that the link of `port` came up, with nothing paused, and sends the neighbour this switch's state.
    fn on_link_up(&mut self, _now: Instant, _port: PortId, _ports: &mut Ports<'_, Self::Queues, impl Extension>) {}
    /// Number of flows with packets at `port`, if the policy tracks flows.
    fn active_flows(&self, _port: PortId) -> Option<u32> {
        None
    }
    /// Assignment counts at `port`.
    fn assigned(&self, _port: PortId) -> Assigned {
        Assigned::default()
    }
    /// Delays of the policy's recirculated bookkeeping.
    fn recirculated(&self) -> Recirculated {
        Recirculated::default()
    }
    /// Number of flows kept in isolation queues because a neighbour paused them.
    fn isolated_flows(&self) -> u32 {
        0
    }
    /// Compares the state with a recount over all buffered packets, in order, and the queues of all ports.
    fn audit(&self, _residents: &[Resident], _queues: &[&Self::Queues]) -> Result<(), String> {
        Ok(())
    }
}
