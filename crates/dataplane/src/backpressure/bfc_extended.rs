//! BFC's backpressure with two extensions: early resume, and credits of links.
//!
//! A separate type, so that plain BFC does not pay for the extensions. Sources of the parts: [`Bfc`],
//! `early_resume`, `credits`.

use super::credits::{Gate, Grants};
use super::early_resume::Holders;
use crate::backpressure::{Backpressure, Bfc, BfcParams, PausedQueues, Upstream};
use crate::meta::{Meta, Resident};
use crate::port::Ports;
use crate::queues::Queues;
use crate::queues::by_number::PausableByNumber;
use crate::shape::{PortShape, Shape};
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Duration, Effect, Extension, Instant, Packet, PortId, QueueId};

/// The downstream half.
#[derive(Clone, Debug)]
pub struct BfcExtended {
    bfc: Bfc,
    early: Option<Holders>,
    grants: Option<Grants>,
    /// Frames beyond the one that a call may return, and the time to send them: the same instant, before any later
    /// frame.
    more: Vec<(PortId, ControlFrame)>,
    more_at: Instant,
}

impl BfcExtended {
    fn send(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        self.more.push((port, frame));
        self.more_at = now;
    }

    /// Returns the first of two frames to `port` unless other frames wait already. The rest are queued.
    fn both(
        &mut self,
        now: Instant,
        port: PortId,
        frame: Option<ControlFrame>,
        credit: Option<ControlFrame>,
    ) -> Option<ControlFrame> {
        let waits = !self.more.is_empty();
        let mut frames = frame.into_iter().chain(credit);
        let first = if waits { None } else { frames.next() };
        frames.for_each(|frame| self.send(now, port, frame));
        first
    }
}

impl<Q: Queues + PausableByNumber> Backpressure<Q> for BfcExtended {
    type Params = BfcParams;
    type Upstream = CreditedQueues;
    const SETS_TIMERS: bool = true;

    fn new(params: &BfcParams, shape: &Shape) -> BfcExtended {
        let ahead = (shape.buffer / u64::from(shape.smallest_packet)).saturating_add(1).min(shape.cells_ahead);
        // A departure may resume every queue of every neighbour.
        let let_go = if params.early_resume { usize::from(shape.queues) } else { 0 };
        let holders = || Holders::new(shape.ports.len(), shape.queues.into(), ahead as usize);
        BfcExtended {
            bfc: <Bfc as Backpressure<Q>>::new(params, shape),
            early: params.early_resume.then(holders),
            grants: params.credits.as_ref().map(|credits| Grants::new(credits, shape)),
            more: Vec::with_capacity(shape.ports.len() * (1 + let_go)),
            more_at: Instant::NEVER,
        }
    }

    fn upstream(params: &BfcParams, shape: &Shape) -> CreditedQueues {
        let largest = shape.largest_packet.into();
        let gates = params.credits.as_ref().map(|credits| {
            let gate = |port: &PortShape| {
                let reserve = credits.reserve(port.rate, Duration(port.hrtt.0 / 2), largest);
                port.credited.then(|| Gate::new(reserve, largest, params.refresh))
            };
            shape.ports.iter().map(gate).collect()
        });
        CreditedQueues { queues: PausedQueues::default(), gates: gates.unwrap_or_default(), ask_at: Instant::NEVER }
    }

    fn passes(&self, _ingress: PortId, _packet: &Packet) -> bool {
        false
    }

    #[inline(always)]
    fn samples(&self, rng: &mut Stream) -> bool {
        <Bfc as Backpressure<Q>>::samples(&self.bfc, rng)
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        egress: PortId,
        queue: QueueId,
        queues: &Q,
    ) -> Option<ControlFrame> {
        let frame = self.bfc.on_enqueue(now, packet, held, egress, queue, queues);
        let ingress = held.ingress as PortId;
        if let Some(early) = self.early.as_mut().filter(|_| held.counted) {
            early.enter(egress, queue, ingress, held.upstream_queue);
        }
        let credit = self.grants.as_mut().and_then(|grants| grants.enter(ingress, packet.wire.into()));
        self.both(now, ingress, frame, credit)
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        egress: PortId,
        queue: QueueId,
    ) -> Option<ControlFrame> {
        let ingress = held.ingress as PortId;
        let counts = held.counted && self.early.as_mut().is_none_or(|early| early.leave(egress, queue));
        let frame = if counts { self.bfc.discount(now, ingress, held.upstream_queue) } else { None };
        let credit = self.grants.as_mut().and_then(|grants| grants.leave(ingress, packet.wire.into()));
        self.both(now, ingress, frame, credit)
    }

    fn on_gone(&mut self, now: Instant, egress: PortId, queue: QueueId, queues: &Q) {
        let Some(early) = self.early.as_mut().filter(|early| early.holds(egress, queue)) else { return };
        // All ingress ports have one threshold: the scenario checks ensure it.
        if queues.bytes(queue) > self.bfc.threshold(0, egress, queues.active_in_group(queue)) {
            return;
        }
        while let Some((ingress, upstream)) = early.let_off(egress, queue) {
            if let Some(frame) = self.bfc.discount(now, ingress, upstream) {
                self.more.push((ingress, frame));
                self.more_at = now;
            }
        }
    }

    fn on_control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        if let (Some(grants), Effect::Ask(sent)) = (&mut self.grants, frame.effect()) {
            let answer = grants.sync(port, sent);
            self.send(now, port, answer);
        }
    }

    fn next_refresh(&self) -> Instant {
        <Bfc as Backpressure<Q>>::next_refresh(&self.bfc).min(self.more_at)
    }

    fn refresh(&mut self, now: Instant, send: &mut dyn FnMut(PortId, ControlFrame)) {
        self.more.drain(..).for_each(|(port, frame)| send(port, frame));
        self.more_at = Instant::NEVER;
        if <Bfc as Backpressure<Q>>::next_refresh(&self.bfc) <= now {
            <Bfc as Backpressure<Q>>::refresh(&mut self.bfc, now, send);
        }
    }

    fn state_of(&mut self, now: Instant, port: PortId, send: &mut dyn FnMut(ControlFrame)) {
        <Bfc as Backpressure<Q>>::state_of(&mut self.bfc, now, port, send);
        if let Some(grants) = &mut self.grants {
            send(grants.restart(port));
        }
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut counted = residents.to_vec();
        if let Some(early) = &self.early {
            early.audit(&mut counted)?;
        }
        if let Some(grants) = &self.grants {
            grants.audit(residents)?;
        }
        <Bfc as Backpressure<Q>>::audit(&self.bfc, &counted)
    }
}

/// The upstream half of a switch: paused queues, and credits of ports.
#[derive(Clone, Debug)]
pub struct CreditedQueues {
    queues: PausedQueues,
    /// `[port]`: credit gate of a port that needs credits. Empty: no port needs any.
    gates: Vec<Option<Gate>>,
    /// Time before which no gate asks for credit.
    ask_at: Instant,
}

impl CreditedQueues {
    fn gate(&mut self, port: PortId) -> Option<&mut Gate> {
        self.gates.get_mut(port as usize)?.as_mut()
    }
}

impl<Q: PausableByNumber> Upstream<Q> for CreditedQueues {
    fn on_control(&mut self, now: Instant, port: PortId, frame: ControlFrame, queues: &mut Q) {
        match frame.effect() {
            Effect::Limit(limit) => {
                if let Some(gate) = self.gate(port) {
                    gate.grant(limit);
                }
            }
            Effect::Set { .. } | Effect::SetQueues(_) | Effect::Ask(_) => {
                self.queues.on_control(now, port, frame, queues)
            }
        }
    }

    /// Ends pauses and opens the gate: while the link is down all data sent is lost and needs no credit.
    fn release(&mut self, port: PortId, queues: &mut Q) {
        self.queues.release(port, queues);
        if let Some(gate) = self.gate(port) {
            gate.open();
        }
    }

    fn on_link_up(&mut self, now: Instant, port: PortId) {
        if let Some(gate) = self.gate(port) {
            gate.close(now);
            self.ask_at = self.ask_at.min(now);
        }
    }

    #[inline(always)]
    fn may_send(&self, port: PortId) -> bool {
        let credit = self.gates.is_empty() || self.gates[port as usize].as_ref().is_none_or(Gate::may_send);
        credit && Upstream::<Q>::may_send(&self.queues, port)
    }

    fn on_sent(&mut self, now: Instant, port: PortId, _queue: QueueId, packet: &Packet, _queues: &mut Q) {
        if let Some(gate) = self.gate(port) {
            gate.on_sent(now, packet.wire.into());
            let ask_at = gate.ask_at();
            self.ask_at = self.ask_at.min(ask_at);
        }
    }

    fn next_timer(&self) -> Instant {
        self.ask_at
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, Q, impl Extension>) {
        self.ask_at = Instant::NEVER;
        for (port, gate) in self.gates.iter_mut().enumerate() {
            let Some(gate) = gate else { continue };
            if let Some(frame) = gate.ask(now) {
                ports.send(port as PortId, frame);
            }
            self.ask_at = self.ask_at.min(gate.ask_at());
        }
    }
}
