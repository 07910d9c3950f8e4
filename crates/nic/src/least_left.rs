//! NIC that pulls packets from the flow with the fewest bytes left, among those whose queue BFC has not paused:
//! shortest remaining flow first at the host.
//!
//! Source: Goyal et al., NSDI 2022, appendix A.2; spec B, "BFC-SRF". Flows have queues by the rule of [`NicQueues`],
//! which a switch may pause; queues do not affect the order otherwise. Replies go before data. Among flows with equally
//! many bytes left, the first to start goes first.

use crate::flows::{Flow, Flows};
use crate::nic::{Context, Nic, ONLY_PORT};
use crate::params::{NicParams, NicSetup};
use crate::timers::Timers;
use alloc::vec;
use alloc::vec::Vec;
use backwater_dataplane::queues::bits::Bits;
use backwater_dataplane::{NicQueues, PausedQueues, Ring, Upstream};
use backwater_transport::{Next, Sender};
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, Frame, Instant, QueueId};

/// NIC that serves the flow with the fewest bytes left.
pub struct LeastLeft<E = ()> {
    /// Sendable flows, highest priority last.
    ready: Vec<Ready>,
    /// `[queue]`: number of its sendable flows.
    count: Vec<u32>,
    /// Queues with sendable flows.
    waiting: Bits<2>,
    queues: NicQueues,
    upstream: PausedQueues,
    replies: Ring<Frame<E>>,
    /// Flows that wait for their send time.
    paced: Timers,
    rng: Stream,
}

/// A sendable flow.
#[derive(Clone, Copy, Debug)]
struct Ready {
    left: u64,
    id: u32,
    slot: u32,
    queue: QueueId,
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Sort key of the flow in [`LeastLeft::ready`], bytes left; `None` if it is not there.
    ready: Option<u64>,
    queue: QueueId,
    /// Whether the flow is a member of its queue: it has unsent packets.
    joined: bool,
    /// Whether the flow is in [`LeastLeft::paced`].
    pacing: bool,
}

impl<S: Sender> Nic<S> for LeastLeft<S::Extension> {
    type Flow = Place;

    fn new(setup: NicSetup) -> LeastLeft<S::Extension> {
        LeastLeft {
            ready: Vec::with_capacity(64),
            count: vec![0; setup.queues.count()],
            waiting: Bits::EMPTY,
            upstream: PausedQueues::default(),
            replies: Ring::default(),
            paced: Timers::default(),
            rng: setup.draws(),
            queues: setup.queues,
        }
    }

    /// Sorts the flow in by its bytes left, if it may send.
    #[inline(always)]
    fn offer(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        let flow = &mut cx.flows[slot];
        let left = flow.source.left_bytes(&cx.params.transport);
        if flow.nic.ready == Some(left) || flow.nic.pacing {
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
            flow.nic.pacing = true;
            self.paced.push((at, slot, flow.id));
            return cx.wake_at(at);
        }
        let (before, id, queue) = (flow.nic.ready.replace(left), flow.id, flow.nic.queue);
        if let Some(before) = before {
            self.take(before, id);
        }
        self.put(Ready { left, id, slot, queue });
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
        if !self.may_send() {
            return None;
        }
        let (params, closed) = (&cx.params.transport, self.queues.closed());
        loop {
            let at = self.ready.iter().rposition(|flow| !closed.contains(flow.queue as usize))?;
            let Ready { slot, queue, .. } = self.remove(at);
            let flow = &mut cx.flows[slot];
            flow.nic.ready = None;
            let sent = flow.source.next_packet(params, cx.now);
            let packet = match sent {
                Next::Packet(out) => Some(flow.frame(cx.host, slot, queue, out)),
                _ => None,
            };
            let free_at = packet.map_or(cx.now, |packet| cx.now + cx.ser.of_bytes(packet.wire.into()));
            cx.busy_until = cx.busy_until.max(free_at);
            self.settle(cx.flows, slot);
            self.offer(cx, slot);
            if packet.is_some() {
                return packet;
            }
        }
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.replies.is_empty() || (self.may_send() && !self.waiting.minus(&self.queues.closed()).is_empty())
    }

    fn held(&self, flow: &Flow<S, Place>) -> Option<QueueId> {
        let closed = flow.nic.joined && self.queues.closed().contains(flow.nic.queue.into());
        (closed || !self.may_send()).then_some(flow.nic.queue)
    }

    fn on_control(&mut self, cx: &mut Context<S, Place>, frame: ControlFrame) {
        self.upstream.on_control(cx.now, ONLY_PORT, frame, &mut self.queues);
    }

    fn release(&mut self, _cx: &mut Context<S, Place>) {
        self.upstream.release(ONLY_PORT, &mut self.queues);
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

impl<E: Extension> LeastLeft<E> {
    /// Whether PFC does not pause the port.
    #[inline(always)]
    fn may_send(&self) -> bool {
        Upstream::<NicQueues>::may_send(&self.upstream, ONLY_PORT)
    }

    #[inline(always)]
    fn put(&mut self, flow: Ready) {
        let at = self.ready.partition_point(|other| (other.left, other.id) > (flow.left, flow.id));
        self.ready.insert(at, flow);
        self.count[flow.queue as usize] += 1;
        self.waiting.insert(flow.queue as usize);
    }

    #[inline(always)]
    fn remove(&mut self, at: usize) -> Ready {
        let flow = self.ready.remove(at);
        let count = &mut self.count[flow.queue as usize];
        *count -= 1;
        if *count == 0 {
            self.waiting.remove(flow.queue as usize);
        }
        flow
    }

    /// Removes flow `id`, with sort key `left`, from the sendable flows.
    fn take(&mut self, left: u64, id: u32) {
        let at = self.ready.partition_point(|other| (other.left, other.id) > (left, id));
        self.remove(at);
    }

    /// Frees the queue of a flow that may not send if all is sent, and its slot if all is acknowledged.
    #[inline(always)]
    fn settle<S: Sender>(&mut self, flows: &mut Flows<S, Place>, slot: u32) {
        let flow = &mut flows[slot];
        if flow.nic.joined && !flow.source.has_unsent() {
            flow.nic.joined = false;
            self.queues.leave(flow.nic.queue);
        }
        if flow.live && flow.source.is_done() && flow.nic.ready.is_none() && !flow.nic.pacing {
            flows.remove(slot);
        }
    }
}
