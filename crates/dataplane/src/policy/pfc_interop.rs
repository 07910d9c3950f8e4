//! A policy for networks in which some neighbours speak only PFC (spec F.11).
//!
//! PFC accounts and pauses the ingress ports of those neighbours, within the part of the buffer that other traffic
//! leaves free. The wrapped policy serves all other neighbours unchanged.

use crate::backpressure::Backpressure;
use crate::backpressure::pfc::{Pfc, PfcParams};
use crate::buffer::cells::Cells;
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::policy::{Outgoing, Policy};
use crate::port::Ports;
use crate::shape::Shape;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, FlowName, Instant, Packet, PortId, QueueId};

/// The policy `P`, combined with PFC towards some neighbours.
#[derive(Clone, Debug)]
pub struct PfcInterop<P> {
    policy: P,
    pfc: Pfc,
    speaks_pfc: Vec<bool>,
}

impl<P> PfcInterop<P> {
    /// The wrapped policy, for checks.
    pub fn policy(&self) -> &P {
        &self.policy
    }
}

impl<P: Policy> PfcInterop<P> {
    /// Gives back the buffer of a packet that is gone. Returns the frame to send: PFC's for a PFC neighbour, else
    /// `outgoing`, which the policy decided on.
    fn release(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
        outgoing: Option<Outgoing>,
    ) -> Option<Outgoing> {
        if !self.speaks_pfc[held.ingress as usize] {
            self.pfc.give(packet.wire as u64);
            return outgoing;
        }
        let frame = <Pfc as Backpressure<P::Queues>>::on_dequeue(&mut self.pfc, now, packet, held, port, queue);
        frame.map(|frame| (held.ingress as PortId, frame))
    }
}

impl<P: Policy> Policy for PfcInterop<P> {
    type Queues = P::Queues;
    /// Parameters of the policy, and of PFC.
    type Params = (P::Params, PfcParams);
    const SETS_TIMERS: bool = P::SETS_TIMERS;

    leave_to!(policy);

    fn queues(params: &Self::Params, shape: &Shape) -> P::Queues {
        P::queues(&params.0, shape)
    }

    fn new(params: &Self::Params, shape: &Shape) -> Self {
        let speaks_pfc: Vec<bool> = shape.ports.iter().map(|port| port.pfc_only).collect();
        // PFC neighbours do not understand the policy's frames, so it sends them none.
        let mut own = shape.clone();
        for (ingress, _) in speaks_pfc.iter().enumerate().filter(|(_, speaks)| **speaks) {
            (0..speaks_pfc.len()).for_each(|egress| own.elided.insert(ingress as PortId, egress as PortId));
        }
        PfcInterop {
            policy: P::new(&params.0, &own),
            pfc: Pfc::towards(&params.1, shape, |port| port.pfc_only),
            speaks_pfc,
        }
    }

    fn catch_up(&mut self, now: Instant) {
        self.policy.catch_up(now);
    }

    fn extra_cells(params: &Self::Params) -> usize {
        P::extra_cells(&params.0)
    }

    fn admits(&self, ingress: PortId, packet: &Packet) -> bool {
        match self.speaks_pfc[ingress as usize] {
            true => <Pfc as Backpressure<P::Queues>>::admits(&self.pfc, ingress, packet),
            false => self.pfc.has_room(packet.wire as u64) && self.policy.admits(ingress, packet),
        }
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &P::Queues,
    ) -> Option<Outgoing> {
        let outgoing = self.policy.on_enqueue(now, packet, held, port, choice, queues);
        if !self.speaks_pfc[held.ingress as usize] {
            self.pfc.take(packet.wire as u64);
            return outgoing;
        }
        let frame = self.pfc.on_enqueue(now, packet, held, port, choice.queue, queues);
        frame.map(|frame| (held.ingress as PortId, frame))
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        let outgoing = self.policy.on_dequeue(now, packet, held, port, queue);
        self.release(now, packet, held, port, queue, outgoing)
    }

    fn on_lost(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        let outgoing = self.policy.on_lost(now, packet, held, port, queue);
        self.release(now, packet, held, port, queue, outgoing)
    }

    fn passes(&self, ingress: PortId, packet: &Packet) -> bool {
        let accounted = match self.speaks_pfc[ingress as usize] {
            true => <Pfc as Backpressure<P::Queues>>::passes(&self.pfc, ingress, packet),
            false => self.pfc.has_room(packet.wire as u64),
        };
        accounted && self.policy.passes(ingress, packet)
    }

    fn next_timer(&self) -> Instant {
        self.policy.next_timer().min(<Pfc as Backpressure<P::Queues>>::next_refresh(&self.pfc))
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, P::Queues, impl Extension>) {
        if self.policy.next_timer() <= now {
            self.policy.on_timer(now, ports);
        }
        if <Pfc as Backpressure<P::Queues>>::next_refresh(&self.pfc) <= now {
            let mut send = |port, frame| ports.send(port, frame);
            <Pfc as Backpressure<P::Queues>>::refresh(&mut self.pfc, now, &mut send);
        }
    }

    fn on_link_up(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, P::Queues, impl Extension>) {
        if !self.speaks_pfc[port as usize] {
            return self.policy.on_link_up(now, port, ports);
        }
        let mut send = |frame| ports.send(port, frame);
        <Pfc as Backpressure<P::Queues>>::state_of(&mut self.pfc, now, port, &mut send);
    }

    fn audit(&self, residents: &[Resident], queues: &[&P::Queues]) -> Result<(), String> {
        self.policy.audit(residents, queues)?;
        let by_pfc = |r: &&Resident| self.speaks_pfc[r.held.ingress as usize];
        let accounted: Vec<Resident> = residents.iter().filter(by_pfc).copied().collect();
        <Pfc as Backpressure<P::Queues>>::audit(&self.pfc, &accounted)?;
        let others: u64 = residents.iter().filter(|r| !by_pfc(r)).map(|r| r.packet.wire as u64).sum();
        if others != self.pfc.taken() {
            return Err(format!(
                "{} bytes are counted for neighbours without PFC, {others} are held",
                self.pfc.taken()
            ));
        }
        Ok(())
    }
}
