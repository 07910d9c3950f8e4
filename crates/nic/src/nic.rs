//! Interface of a NIC's scheduler: which flow sends next, and when.

use crate::flows::{Flow, Flows};
use crate::params::{NicParams, NicSetup};
use backwater_transport::Sender;
use backwater_types::{ControlFrame, Frame, Instant, Packet, PortId, QueueId, SerTime};

/// Number of a NIC's one port.
pub(crate) const ONLY_PORT: PortId = 0;

/// A NIC for flows with senders `S`.
pub trait Nic<S: Sender>: Send + Sized {
    /// State that the NIC keeps of each flow.
    type Flow: Default + Send;
    /// Whether each of several flows that start at one instant sends before the next one starts.
    const SENDS_AT_EACH_START: bool = false;
    /// Whether the NIC takes all packets that a flow may send as soon as it is offered.
    const TAKES_AT_ONCE: bool = false;
    /// Whether the NIC may drop packets for lack of room.
    const DROPS: bool = false;

    /// Makes a NIC.
    fn new(setup: NicSetup) -> Self;
    /// Schedules the flow in `slot`, which may have become able to send.
    fn offer(&mut self, cx: &mut Context<S, Self::Flow>, slot: u32);
    /// Handles the last acknowledgement of the flow in `slot`.
    fn done(&mut self, cx: &mut Context<S, Self::Flow>, slot: u32);
    /// Queues a reply.
    fn reply(&mut self, params: &NicParams<S::Params>, reply: Frame<S::Extension>);
    /// Whether a reply may bypass this NIC if the link is free.
    #[inline(always)]
    fn lets_replies_pass(&self) -> bool {
        false
    }
    /// Takes the next reply, which goes before data, when the link is free.
    fn next_reply(&mut self, params: &NicParams<S::Params>) -> Option<Frame<S::Extension>>;
    /// Takes the next packet of data, when the link is free and no reply goes.
    fn next_data(&mut self, cx: &mut Context<S, Self::Flow>) -> Option<Frame<S::Extension>>;
    /// Takes a packet that was dropped for lack of room.
    #[inline(always)]
    fn dropped(&mut self) -> Option<Packet> {
        None
    }
    /// Whether the link has to be polled when it is free.
    fn sendable(&self) -> bool;
    /// Returns the queue of a flow that the switch pauses, independent of its sender's state; `None` if it is not
    /// paused.
    fn held(&self, flow: &Flow<S, Self::Flow>) -> Option<QueueId>;
    /// Whether a packet of this flow waits in the NIC.
    fn holds_packet_of(&self, _flow: u32) -> bool {
        false
    }
    /// Obeys a control frame of the switch.
    fn on_control(&mut self, cx: &mut Context<S, Self::Flow>, frame: ControlFrame);
    /// Ends all pauses, because the link went down or came up.
    fn release(&mut self, cx: &mut Context<S, Self::Flow>);
    /// Starts to [list flows anew](Nic::relist), because routes have changed.
    fn reroute(&mut self, _cx: &mut Context<S, Self::Flow>) {}
    /// Lists the next flow anew, after which the link is polled. Returns whether there was one.
    fn relist(&mut self, _cx: &mut Context<S, Self::Flow>) -> bool {
        false
    }
    /// Returns the next expiry of [`Nic::on_timer`].
    fn next_timer(&self) -> Instant;
    /// Whether [`Nic::on_timer`] at `now` does no more than release flows whose send time has come.
    fn only_paces(&self, _now: Instant) -> bool {
        false
    }
    /// Number of the timer that was armed last, not 0, where events of timers that were armed before still come.
    #[inline(always)]
    fn timer_number(&self) -> u16 {
        0
    }
    /// Handles the expiry of the timer, if it is due.
    fn on_timer(&mut self, cx: &mut Context<S, Self::Flow>);
}

/// State of the host that a NIC reads and changes.
pub struct Context<'a, S: Sender, F> {
    /// Current time.
    pub now: Instant,
    /// End of the current transmission on the link.
    pub busy_until: Instant,
    /// Transmission times on the link.
    pub ser: SerTime,
    /// Number of the host, which is its address.
    pub host: u16,
    /// Parameters of all NICs.
    pub params: &'a NicParams<S::Params>,
    /// The host's flows.
    pub flows: &'a mut Flows<S, F>,
    /// Earliest timer that was armed; [`Instant::NEVER`] if none was.
    pub wake: Instant,
}

impl<S: Sender, F> Context<'_, S, F> {
    /// Arms a timer.
    #[inline(always)]
    pub fn wake_at(&mut self, at: Instant) {
        self.wake = self.wake.min(at);
    }
}
