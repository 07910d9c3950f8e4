//! NIC that pulls packets from flows, queue by queue, where BFC may pause queues and FlowSail flows.
//!
//! Replies go before data; where they are in the class of data, a pause of the port holds them too. A flow is in the
//! ring of its queue while it may send; otherwise it waits for its send time, or for its sender.

use crate::flows::{Flow, Flows};
use crate::nic::{Context, Nic, ONLY_PORT};
use crate::params::{NicParams, NicSetup};
use crate::timers::Timers;
use alloc::boxed::Box;
use backwater_dataplane::{Gate, NicQueues, PausedQueues, Ring, Upstream};
use backwater_transport::{Due, Next, Sender};
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Duration, Effect, Extension, FlowName, Frame, Instant, Packet, QueueId, Target};

/// NIC with a ring of flows for each queue.
pub struct Rings<E = ()> {
    queues: NicQueues,
    upstream: PausedQueues,
    /// Limit of data by BFC's credits, where the switch grants them.
    gate: Option<Box<Gate>>,
    replies: Ring<Frame<E>>,
    /// Whether PFC pauses replies with the data.
    holds_replies: bool,
    /// Flows that wait for their send time.
    paced: Timers,
    /// Flows that the switch has paused, by the time at which the pause lapses.
    paused: Timers,
    rng: Stream,
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<D> {
    queue: QueueId,
    /// Whether the flow is a member of its queue: it has unsent packets.
    joined: bool,
    /// Whether the flow is in the ring of its queue.
    ringed: bool,
    /// Whether the flow is in [`Rings::paced`].
    pacing: bool,
    /// Whether the switch has paused the flow.
    paused: bool,
    /// Whether the flow has an entry in [`Rings::paused`].
    lapsing: bool,
    /// Time of the last frame that paused the flow.
    paused_at: Instant,
    /// Time of its entry in [`Rings::paced`], where the send time may move.
    due: D,
}

impl<S: Sender> Nic<S> for Rings<S::Extension> {
    type Flow = Place<S::Due>;

    fn new(setup: NicSetup) -> Rings<S::Extension> {
        Rings {
            upstream: PausedQueues::default(),
            gate: setup.gate.clone().map(Box::new),
            replies: Ring::default(),
            holds_replies: setup.holds_replies,
            paced: Timers::default(),
            paused: Timers::default(),
            rng: setup.draws(),
            queues: setup.queues,
        }
    }

    /// Puts the flow into the ring of its queue, or into the pacing timer, if it is not blocked.
    #[inline(always)]
    fn offer(&mut self, cx: &mut Context<S, Place<S::Due>>, slot: u32) {
        let flow = &mut cx.flows[slot];
        if flow.nic.ringed || (flow.nic.pacing && !flow.source.moves()) || flow.nic.paused {
            return;
        }
        let next = flow.source.peek(&cx.params.transport, cx.now.max(cx.busy_until));
        if next == Next::Blocked {
            return;
        }
        if !flow.nic.joined {
            flow.nic.joined = true;
            flow.nic.queue = self.queues.join(flow.source.class(), cx.params.tags(flow.class), &mut self.rng);
        }
        if let Next::NotBefore(at) = next {
            if flow.nic.pacing && flow.nic.due.at() <= at {
                return;
            }
            flow.nic.pacing = true;
            flow.nic.due.set(at);
            self.paced.push((at, slot, flow.id));
            cx.wake_at(at);
        } else {
            flow.nic.pacing = false;
            flow.nic.ringed = true;
            self.queues.make_ready(flow.nic.queue, slot);
        }
    }

    #[inline(always)]
    fn done(&mut self, cx: &mut Context<S, Place<S::Due>>, slot: u32) {
        self.settle(cx.flows, slot);
    }

    #[inline(always)]
    fn reply(&mut self, _params: &NicParams<S::Params>, reply: Frame<S::Extension>) {
        self.replies.push_back(reply);
    }

    #[inline(always)]
    fn lets_replies_pass(&self) -> bool {
        self.replies.is_empty() && self.may_reply()
    }

    #[inline(always)]
    fn next_reply(&mut self, _params: &NicParams<S::Params>) -> Option<Frame<S::Extension>> {
        if self.may_reply() { self.replies.pop_front() } else { None }
    }

    /// Takes the next packet of the flow whose turn it is.
    #[inline(always)]
    fn next_data(&mut self, cx: &mut Context<S, Place<S::Due>>) -> Option<Frame<S::Extension>> {
        if !self.may_send() {
            return None;
        }
        let (now, params) = (cx.now, &cx.params.transport);
        loop {
            let flows = &*cx.flows;
            let wire = |slot: u32| {
                let flow = &flows[slot];
                match flow.source.peek(params, now) {
                    Next::Packet(wire) if !flow.nic.paused => wire as u32,
                    _ => 0,
                }
            };
            let (queue, slot) = self.queues.pick(wire)?;
            let flow = &mut cx.flows[slot];
            if !flow.nic.paused
                && let Next::Packet(out) = flow.source.next_packet(params, now)
            {
                let packet = flow.frame(cx.host, slot, queue, out);
                let free_at = now + cx.ser.of_bytes(out.wire as u64);
                let ready = matches!(flow.source.peek(params, free_at), Next::Packet(_));
                flow.nic.ringed = ready;
                self.queues.sent(queue, ready);
                if !ready {
                    self.settle(cx.flows, slot);
                    cx.busy_until = free_at;
                    self.offer(cx, slot);
                }
                if let Some(gate) = &mut self.gate {
                    gate.on_sent(now, packet.wire.into());
                    cx.wake_at(gate.ask_at());
                }
                return Some(packet);
            }
            // Since the flow entered the ring its window was filled, its send time moved, or all was acknowledged.
            flow.nic.ringed = false;
            self.queues.sent(queue, false);
            self.settle(cx.flows, slot);
            self.offer(cx, slot);
        }
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        (!self.replies.is_empty() && self.may_reply()) || (self.may_send() && self.queues.sendable())
    }

    fn held(&self, flow: &Flow<S, Place<S::Due>>) -> Option<QueueId> {
        let closed = flow.nic.joined && self.queues.closed().contains(flow.nic.queue.into());
        (flow.nic.paused || closed || !self.may_send()).then_some(flow.nic.queue)
    }

    fn on_control(&mut self, cx: &mut Context<S, Place<S::Due>>, frame: ControlFrame) {
        self.upstream.on_control(cx.now, ONLY_PORT, frame, &mut self.queues);
        match frame.effect() {
            Effect::Set { target: Target::Flow(name), holds } => {
                if cx.params.obeys_flow_pauses || !holds {
                    self.hold(cx, name, holds);
                }
            }
            Effect::Limit(limit) => {
                if let Some(gate) = &mut self.gate {
                    gate.grant(limit);
                }
            }
            Effect::Set { target: Target::Queue(_) | Target::Class(_), .. } | Effect::SetQueues(_) | Effect::Ask(_) => {
            }
        }
    }

    fn release(&mut self, cx: &mut Context<S, Place<S::Due>>) {
        self.upstream.release(ONLY_PORT, &mut self.queues);
        if let Some(gate) = &mut self.gate {
            gate.close(cx.now);
            cx.wake_at(gate.ask_at());
        }
        for slot in cx.flows.slots() {
            let flow = &mut cx.flows[slot];
            if core::mem::take(&mut flow.nic.paused) && flow.live {
                self.offer(cx, slot);
            }
        }
    }

    fn next_timer(&self) -> Instant {
        self.paced.next().min(self.next_but_paced())
    }

    fn only_paces(&self, now: Instant) -> bool {
        self.next_but_paced() > now
    }

    fn on_timer(&mut self, cx: &mut Context<S, Place<S::Due>>) {
        let now = cx.now;
        // The request for credits goes before data, so that it counts all data sent before it.
        if let Some(frame) = self.gate.as_mut().and_then(|gate| gate.ask(now)) {
            self.replies.push_back(Packet::from(frame).into());
        }
        while let Some((at, slot, id)) = self.paced.pop_due(now) {
            if let Some(flow) = cx.flows.named(slot, id) {
                // The send time has moved since, and the flow has another entry or needs none.
                if flow.source.moves() && !(flow.nic.pacing && flow.nic.due.at() == at) {
                    continue;
                }
                flow.nic.pacing = false;
                self.settle(cx.flows, slot);
                self.offer(cx, slot);
            }
        }
        while let Some((_, slot, id)) = self.paused.pop_due(now) {
            let Some(flow) = cx.flows.named(slot, id) else { continue };
            let lapses_at = flow.nic.paused_at + cx.params.lapse;
            if flow.nic.paused && lapses_at > now {
                self.paused.push((lapses_at, slot, id));
                continue;
            }
            (flow.nic.paused, flow.nic.lapsing) = (false, false);
            self.offer(cx, slot);
        }
    }
}

impl<E: Extension> Rings<E> {
    /// Returns the next expiry of the timer for anything but pacing.
    fn next_but_paced(&self) -> Instant {
        self.paused.next().min(self.gate.as_ref().map_or(Instant::NEVER, |gate| gate.ask_at()))
    }

    /// Whether neither PFC nor lack of credit stops data.
    #[inline(always)]
    fn may_send(&self) -> bool {
        self.is_open() && self.gate.as_ref().is_none_or(|gate| gate.may_send())
    }

    /// Whether PFC does not pause the port.
    #[inline(always)]
    fn is_open(&self) -> bool {
        Upstream::<NicQueues>::may_send(&self.upstream, ONLY_PORT)
    }

    /// Whether PFC lets replies be sent.
    #[inline(always)]
    fn may_reply(&self) -> bool {
        !self.holds_replies || self.is_open()
    }

    /// Pauses or resumes one flow.
    fn hold<S: Sender<Extension = E>>(&mut self, cx: &mut Context<S, Place<S::Due>>, name: FlowName, paused: bool) {
        let (now, lapse) = (cx.now, cx.params.lapse);
        let Some(flow) = cx.flows.named(name.slot, name.flow) else { return };
        (flow.nic.paused, flow.nic.paused_at) = (paused, now);
        if !paused {
            return self.offer(cx, name.slot);
        }
        if lapse > Duration::ZERO && !core::mem::replace(&mut flow.nic.lapsing, true) {
            self.paused.push_last((now + lapse, name.slot, name.flow));
            cx.wake_at(now + lapse);
        }
    }

    /// Frees the queue of a flow that left its ring if all is sent, and its slot if all is acknowledged.
    #[inline(always)]
    fn settle<S: Sender>(&mut self, flows: &mut Flows<S, Place<S::Due>>, slot: u32) {
        let flow = &mut flows[slot];
        if flow.nic.joined && !flow.source.has_unsent() {
            flow.nic.joined = false;
            self.queues.leave(flow.nic.queue);
        }
        if flow.live && flow.source.is_done() && !flow.nic.ringed && !flow.nic.pacing {
            flows.remove(slot);
        }
    }
}
