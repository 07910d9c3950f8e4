//! The interface of a NIC: which flow sends next, and when.

use crate::flows::{Flow, Flows};
use crate::params::{NicParams, NicSetup};
use backwater_transport::Sender;
use backwater_types::{ControlFrame, Frame, Instant, Packet, PortId, QueueId, SerTime};

/// A NIC has one port; what tells ports apart knows it by this number.
pub(crate) const ONLY_PORT: PortId = 0;

/// A NIC for flows with senders `S`.
pub trait Nic<S: Sender>: Send + Sized {
    /// What it keeps of each flow.
    type Flow: Default + Send;
    /// Of flows that start at one instant the first sends before it knows of the next.
    const SENDS_AT_EACH_START: bool = false;
    /// It takes all that a flow may send as soon as it is offered.
    const TAKES_AT_ONCE: bool = false;
    /// It may have no room for a packet.
    const DROPS: bool = false;

    /// In its place.
    fn new(setup: NicSetup) -> Self;
    /// What the flow in `slot` may do has changed.
    fn offer(&mut self, cx: &mut Context<S, Self::Flow>, slot: u32);
    /// The flow in `slot` was acknowledged to the end.
    fn done(&mut self, cx: &mut Context<S, Self::Flow>, slot: u32);
    /// A reply is to be sent.
    fn reply(&mut self, params: &NicParams<S::Params>, reply: Frame<S::Extension>);
    /// Whether a reply need not wait here if the link is free.
    #[inline(always)]
    fn lets_replies_pass(&self) -> bool {
        false
    }
    /// The link is free: the reply that goes before data, if there is one.
    fn next_reply(&mut self, params: &NicParams<S::Params>) -> Option<Frame<S::Extension>>;
    /// The link is free, and no reply goes: the packet that does.
    fn next_data(&mut self, cx: &mut Context<S, Self::Flow>) -> Option<Frame<S::Extension>>;
    /// A packet for which there was no room, until it has been asked for.
    #[inline(always)]
    fn dropped(&mut self) -> Option<Packet> {
        None
    }
    /// Whether the link should be looked at when it is free.
    fn sendable(&self) -> bool;
    /// The queue of a flow whose packets a neighbour holds, whatever its sender may do; `None` if none does.
    fn held(&self, flow: &Flow<S, Self::Flow>) -> Option<QueueId>;
    /// Whether a packet that it took of the flow of this number still waits in it.
    fn holds_packet_of(&self, _flow: u32) -> bool {
        false
    }
    /// A frame of the switch.
    fn on_control(&mut self, cx: &mut Context<S, Self::Flow>, frame: ControlFrame);
    /// The link went down or came up: nothing is held.
    fn release(&mut self, cx: &mut Context<S, Self::Flow>);
    /// Routes have changed: flows are to be [listed anew](Nic::relist).
    fn reroute(&mut self, _cx: &mut Context<S, Self::Flow>) {}
    /// Lists the next flow anew, after which the link is looked at. Whether there was one.
    fn relist(&mut self, _cx: &mut Context<S, Self::Flow>) -> bool {
        false
    }
    /// When [`Nic::on_timer`] is due.
    fn next_timer(&self) -> Instant;
    /// Whether [`Nic::on_timer`] does no more at `now` than let flows go whose pace is due.
    fn only_paces(&self, _now: Instant) -> bool {
        false
    }
    /// Tells the timer that it set last from others that it set before, where events of those still come: not 0.
    #[inline(always)]
    fn timer_number(&self) -> u16 {
        0
    }
    /// The timer of the host has run: its own may be due.
    fn on_timer(&mut self, cx: &mut Context<S, Self::Flow>);
}

/// What a NIC sees of its host, and what it leaves there.
pub struct Context<'a, S: Sender, F> {
    /// Now.
    pub now: Instant,
    /// The link is taken until then.
    pub busy_until: Instant,
    /// Transmission times on the link.
    pub ser: SerTime,
    /// Number of the host, which is its address.
    pub host: u16,
    /// Parameters of all NICs.
    pub params: &'a NicParams<S::Params>,
    /// The host's flows.
    pub flows: &'a mut Flows<S, F>,
    /// The earliest timer that was set; [`Instant::NEVER`] if none was.
    pub wake: Instant,
}

impl<S: Sender, F> Context<'_, S, F> {
    /// A timer was set.
    #[inline(always)]
    pub fn wake_at(&mut self, at: Instant) {
        self.wake = self.wake.min(at);
    }
}
