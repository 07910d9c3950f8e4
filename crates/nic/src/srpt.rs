//! NIC that pulls packets from the flow with the fewest packets left (shortest remaining processing time), as Homa's
//! senders do.
//!
//! Source: Montazeri et al., SIGCOMM 2018, section 3.2. Replies go before data. Among flows with equally many packets
//! left, the first to start goes first.

use crate::flows::{Flow, Flows};
use crate::nic::{Context, Nic, ONLY_PORT};
use crate::params::{NicParams, NicSetup};
use crate::timers::Timers;
use alloc::vec::Vec;
use backwater_dataplane::{PausedPorts, Ring};
use backwater_transport::{Next, Sender};
use backwater_types::{ControlFrame, Extension, Frame, Instant, QueueId};

/// NIC that serves the flow with the fewest packets left.
pub struct Srpt<E = ()> {
    /// Sendable flows, highest priority last.
    ready: Vec<Ready>,
    replies: Ring<Frame<E>>,
    /// Flows that wait for their send time.
    paced: Timers,
    paused: PausedPorts,
}

/// A sendable flow: packets left, number and slot.
type Ready = (u32, u32, u32);

/// State of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Sort key of the flow in [`Srpt::ready`], packets left; `None` if it is not there.
    ready: Option<u32>,
    /// Whether the flow is in [`Srpt::paced`].
    pacing: bool,
}

impl<S: Sender> Nic<S> for Srpt<S::Extension> {
    type Flow = Place;

    fn new(_setup: NicSetup) -> Srpt<S::Extension> {
        Srpt {
            ready: Vec::with_capacity(64),
            replies: Ring::default(),
            paced: Timers::default(),
            paused: PausedPorts::default(),
        }
    }

    /// Sorts the flow in by its packets left, if it may send.
    #[inline(always)]
    fn offer(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        let flow = &mut cx.flows[slot];
        let left = flow.source.left();
        if flow.nic.ready == Some(left) || flow.nic.pacing {
            return;
        }
        match flow.source.peek(&cx.params.transport, cx.now.max(cx.busy_until)) {
            Next::Blocked => {}
            Next::NotBefore(at) => {
                flow.nic.pacing = true;
                self.paced.push((at, slot, flow.id));
                cx.wake_at(at);
            }
            Next::Packet(_) => {
                if let Some(before) = flow.nic.ready.replace(left) {
                    self.take(before, flow.id);
                }
                let entry = (left, flow.id, slot);
                let at = self.ready.partition_point(|other| *other > entry);
                self.ready.insert(at, entry);
            }
        }
    }

    #[inline(always)]
    fn done(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        let flow = &mut cx.flows[slot];
        if let Some(left) = flow.nic.ready.take() {
            self.take(left, flow.id);
        }
        self.settle(cx.flows, slot);
    }

    #[inline(always)]
    fn reply(&mut self, _params: &NicParams<S::Params>, reply: Frame<S::Extension>) {
        self.replies.push_back(reply);
    }

    #[inline(always)]
    fn lets_replies_pass(&self) -> bool {
        self.replies.is_empty()
    }

    #[inline(always)]
    fn next_reply(&mut self, _params: &NicParams<S::Params>) -> Option<Frame<S::Extension>> {
        self.replies.pop_front()
    }

    #[inline(always)]
    fn next_data(&mut self, cx: &mut Context<S, Place>) -> Option<Frame<S::Extension>> {
        if !self.paused.may_send(ONLY_PORT) {
            return None;
        }
        let params = &cx.params.transport;
        while let Some((_, _, slot)) = self.ready.last().copied() {
            let flow = &mut cx.flows[slot];
            let sent = flow.source.next_packet(params, cx.now);
            let packet = match sent {
                Next::Packet(out) => Some(flow.frame(cx.host, slot, 0, out)),
                _ => None,
            };
            let free_at = packet.map_or(cx.now, |packet| cx.now + cx.ser.of_bytes(packet.wire.into()));
            if packet.is_some() && matches!(flow.source.peek(params, free_at), Next::Packet(_)) {
                // The flow has less left than before, so it still goes first.
                let left = flow.source.left();
                flow.nic.ready = Some(left);
                self.ready.last_mut().expect("just seen").0 = left;
            } else {
                flow.nic.ready = None;
                self.ready.pop();
                self.settle(cx.flows, slot);
                cx.busy_until = cx.busy_until.max(free_at);
                self.offer(cx, slot);
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.replies.is_empty() || (self.paused.may_send(ONLY_PORT) && !self.ready.is_empty())
    }

    fn held(&self, _flow: &Flow<S, Place>) -> Option<QueueId> {
        (!self.paused.may_send(ONLY_PORT)).then_some(0)
    }

    fn on_control(&mut self, _cx: &mut Context<S, Place>, frame: ControlFrame) {
        self.paused.obey(ONLY_PORT, frame);
    }

    fn release(&mut self, _cx: &mut Context<S, Place>) {
        self.paused.release(ONLY_PORT);
    }

    fn next_timer(&self) -> Instant {
        self.paced.next()
    }

    fn on_timer(&mut self, cx: &mut Context<S, Place>) {
        while let Some((_, slot, id)) = self.paced.pop_due(cx.now) {
            if let Some(flow) = cx.flows.named(slot, id) {
                flow.nic.pacing = false;
                self.settle(cx.flows, slot);
                self.offer(cx, slot);
            }
        }
    }
}

impl<E: Extension> Srpt<E> {
    /// Removes flow `id`, with sort key `left`, from the sendable flows.
    fn take(&mut self, left: u32, id: u32) {
        let at = self.ready.partition_point(|(other, number, _)| (*other, *number) > (left, id));
        self.ready.remove(at);
    }

    /// Frees the slot of a flow that is acknowledged to the end and in none of the lists.
    #[inline(always)]
    fn settle<S: Sender>(&mut self, flows: &mut Flows<S, Place>, slot: u32) {
        let flow = &flows[slot];
        if flow.live && flow.source.is_done() && flow.nic.ready.is_none() && !flow.nic.pacing {
            flows.remove(slot);
        }
    }
}
