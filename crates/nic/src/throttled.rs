//! NIC that wraps another, and limits ExpressPass credits as ports of switches do.
//!
//! Credits go after other replies and before data, when the bucket holds one; until then data goes.

use crate::flows::Flow;
use crate::nic::{Context, Nic};
use crate::params::{NicParams, NicSetup};
use alloc::vec::Vec;
use backwater_transport::Sender;
use backwater_types::{ControlFrame, Extension, Frame, Instant, Kind, Packet, QueueId};

/// NIC that limits credits, around one that takes packets at once.
pub struct Throttled<N, E: Extension> {
    nic: N,
    /// Credits that wait, and their limit.
    port: E::Port,
    /// Credits for which there was no room.
    dropped: Vec<Packet>,
    /// Time at which the first waiting credit may go, for which the timer is armed.
    wake: Instant,
}

impl<S: Sender, N: Nic<S>> Nic<S> for Throttled<N, S::Extension> {
    type Flow = N::Flow;
    const SENDS_AT_EACH_START: bool = N::SENDS_AT_EACH_START;
    const TAKES_AT_ONCE: bool = N::TAKES_AT_ONCE;
    const DROPS: bool = true;

    fn new(setup: NicSetup) -> Self {
        const { assert!(N::TAKES_AT_ONCE, "a sender holds one credit") };
        let port = S::Extension::port(&setup.link);
        Throttled { nic: N::new(setup), port, dropped: Vec::new(), wake: Instant::NEVER }
    }

    #[inline(always)]
    fn offer(&mut self, cx: &mut Context<S, N::Flow>, slot: u32) {
        self.nic.offer(cx, slot);
    }

    fn done(&mut self, cx: &mut Context<S, N::Flow>, slot: u32) {
        self.nic.done(cx, slot);
    }

    #[inline(always)]
    fn reply(&mut self, params: &NicParams<S::Params>, reply: Frame<S::Extension>) {
        if reply.kind != Kind::Credit {
            self.nic.reply(params, reply);
        } else if !S::Extension::hold(&mut self.port, &reply) {
            self.dropped.push(reply.packet);
        }
    }

    #[inline(always)]
    fn next_reply(&mut self, params: &NicParams<S::Params>) -> Option<Frame<S::Extension>> {
        self.nic.next_reply(params)
    }

    #[inline(always)]
    fn next_data(&mut self, cx: &mut Context<S, N::Flow>) -> Option<Frame<S::Extension>> {
        let credit = S::Extension::release(&mut self.port, cx.now);
        let next = credit.or_else(|| self.nic.next_data(cx));
        let due = S::Extension::credit_due(&self.port);
        if next.is_none() && due != Instant::NEVER {
            self.wake = due;
            cx.wake_at(due);
        }
        next
    }

    #[inline(always)]
    fn dropped(&mut self) -> Option<Packet> {
        self.dropped.pop().or_else(|| self.nic.dropped())
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        self.nic.sendable() || S::Extension::credit_due(&self.port) != Instant::NEVER
    }

    fn held(&self, flow: &Flow<S, N::Flow>) -> Option<QueueId> {
        self.nic.held(flow)
    }

    fn holds_packet_of(&self, flow: u32) -> bool {
        self.nic.holds_packet_of(flow)
    }

    fn on_control(&mut self, cx: &mut Context<S, N::Flow>, frame: ControlFrame) {
        self.nic.on_control(cx, frame);
    }

    fn release(&mut self, cx: &mut Context<S, N::Flow>) {
        self.nic.release(cx);
    }

    fn next_timer(&self) -> Instant {
        self.nic.next_timer().min(self.wake)
    }

    fn on_timer(&mut self, cx: &mut Context<S, N::Flow>) {
        if self.wake <= cx.now {
            self.wake = Instant::NEVER;
        }
        self.nic.on_timer(cx);
    }
}
