//! NIC with one FIFO, which takes all packets that flows may send, up to [`NicParams::buffer`]; more are dropped.

use crate::flows::Flow;
use crate::nic::{Context, Nic, ONLY_PORT};
use crate::params::{NicParams, NicSetup};
use crate::timers::Timers;
use alloc::vec::Vec;
use backwater_dataplane::{PausedPorts, Red, Ring};
use backwater_transport::{Next, Sender};
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, Frame, Instant, Kind, Packet, QueueId, flags};

/// NIC with one FIFO.
pub struct Fifo<E = ()> {
    queue: Ring<Frame<E>>,
    bytes: u64,
    /// Replies that do not wait with the data.
    replies: Ring<Frame<E>>,
    /// Flows that wait for their send time.
    paced: Timers,
    /// Packets for which there was no room.
    dropped: Vec<Packet>,
    red: Red,
    rng: Stream,
    paused: PausedPorts,
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Whether the flow is in [`Fifo::paced`].
    pacing: bool,
}

impl<S: Sender> Nic<S> for Fifo<S::Extension> {
    type Flow = Place;
    const TAKES_AT_ONCE: bool = true;
    const DROPS: bool = true;

    fn new(setup: NicSetup) -> Fifo<S::Extension> {
        Fifo {
            queue: Ring::default(),
            bytes: 0,
            replies: Ring::default(),
            paced: Timers::default(),
            dropped: Vec::new(),
            red: setup.red,
            rng: setup.draws(),
            paused: PausedPorts::default(),
        }
    }

    /// Takes all packets that the flow may send.
    #[inline(always)]
    fn offer(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        loop {
            let flow = &mut cx.flows[slot];
            match flow.source.next_packet(&cx.params.transport, cx.now) {
                Next::Packet(out) => {
                    let packet = flow.frame(cx.host, slot, 0, out);
                    self.push(cx.params.buffer, packet);
                }
                Next::NotBefore(at) if !flow.nic.pacing => {
                    flow.nic.pacing = true;
                    self.paced.push((at, slot, flow.id));
                    return cx.wake_at(at);
                }
                Next::NotBefore(_) => return,
                Next::Blocked if flow.source.is_done() => return cx.flows.remove(slot),
                Next::Blocked => return,
            }
        }
    }

    fn done(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        cx.flows.remove(slot);
    }

    #[inline(always)]
    fn reply(&mut self, params: &NicParams<S::Params>, reply: Frame<S::Extension>) {
        if params.acks_with_data {
            self.push(params.buffer, reply);
        } else {
            self.replies.push_back(reply);
        }
    }

    #[inline(always)]
    fn next_reply(&mut self, _params: &NicParams<S::Params>) -> Option<Frame<S::Extension>> {
        self.replies.pop_front()
    }

    #[inline(always)]
    fn next_data(&mut self, _cx: &mut Context<S, Place>) -> Option<Frame<S::Extension>> {
        if !self.paused.may_send(ONLY_PORT) {
            return None;
        }
        let mut packet = self.queue.pop_front()?;
        self.bytes -= packet.wire as u64;
        if packet.has(flags::ECT) && self.red.marks(self.bytes, packet.wire as u64, &mut self.rng) {
            packet.flags |= flags::CE;
        }
        Some(packet)
    }

    #[inline(always)]
    fn dropped(&mut self) -> Option<Packet> {
        self.dropped.pop()
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.replies.is_empty() || (self.paused.may_send(ONLY_PORT) && !self.queue.is_empty())
    }

    fn held(&self, _flow: &Flow<S, Place>) -> Option<QueueId> {
        (!self.paused.may_send(ONLY_PORT)).then_some(0)
    }

    fn holds_packet_of(&self, flow: u32) -> bool {
        self.queue.iter().any(|packet| packet.flow == flow && packet.kind == Kind::Data)
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
                self.offer(cx, slot);
            }
        }
    }
}

impl<E: Extension> Fifo<E> {
    #[inline(always)]
    fn push(&mut self, room: u64, packet: Frame<E>) {
        let wire = packet.wire as u64;
        if self.bytes + wire > room {
            return self.dropped.push(packet.packet);
        }
        self.bytes += wire;
        self.queue.push_back(packet);
    }
}
