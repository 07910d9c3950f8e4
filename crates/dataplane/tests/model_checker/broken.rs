//! Policies with one planted bug each, for the checker to find.

use backwater_dataplane::buffer::cells::Cells;
use backwater_dataplane::policy::Outgoing;
use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{
    Backpressure, Bfc, BfcParams, Canonical, Choice, FlowSail, FlowSailParams, Meta, PausedQueues, Policy, Ports,
    Resident, Shape,
};
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, FlowName, Instant, Packet, PortId, QueueId};
use std::hash::Hasher;

type Queues = PausableQueues<1>;

/// FlowSail that sometimes loses the mark in front of a flow's new packets without noticing.
#[derive(Clone)]
pub struct LosesMarks(FlowSail<1>);

impl Policy for LosesMarks {
    type Queues = Queues;
    type Params = FlowSailParams;

    fn new(params: &FlowSailParams, shape: &Shape) -> LosesMarks {
        LosesMarks(FlowSail::new(params, shape))
    }

    fn extra_cells(params: &FlowSailParams) -> usize {
        FlowSail::<1>::extra_cells(params)
    }

    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &Queues,
        rng: &mut Stream,
    ) -> Choice {
        self.0.choose(now, packet, ingress, port, queues, rng)
    }

    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
        self.0.prefetch(packet, ingress, port)
    }

    fn lets_pass(&self, choice: Choice) -> bool {
        self.0.lets_pass(choice)
    }

    fn record_of(&self, port: PortId, flow: FlowName) -> u32 {
        self.0.record_of(port, flow)
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &Queues,
    ) -> Option<Outgoing> {
        self.0.on_enqueue(now, packet, held, port, choice, queues)
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        self.0.on_dequeue(now, packet, held, port, queue)
    }

    fn on_joined(&mut self, port: PortId, queue: QueueId, queues: &mut Queues, cells: &mut Cells<impl Extension>) {
        self.0.on_joined(port, queue, queues, cells);
    }

    fn on_gone(&mut self, port: PortId, queue: QueueId, queues: &mut Queues, cells: &mut Cells<impl Extension>) {
        self.0.on_gone(port, queue, queues, cells);
    }

    fn on_pass(&mut self, now: Instant, packet: &Packet, held: &Meta, port: PortId, choice: Choice, queues: &Queues) {
        self.0.on_pass(now, packet, held, port, choice, queues);
    }

    /// The bug: drops the first mark of the isolation queue.
    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut Queues,
        cells: &mut Cells<impl Extension>,
    ) {
        self.0.on_control(now, port, frame, queues, cells);
        queues.take_mark(cells, 0);
    }

    fn may_send(&self, port: PortId) -> bool {
        self.0.may_send(port)
    }

    fn next_timer(&self) -> Instant {
        self.0.next_timer()
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, Queues, impl Extension>) {
        self.0.on_timer(now, ports);
    }

    fn on_link_down(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, Queues, impl Extension>) {
        self.0.on_link_down(now, port, ports);
    }

    fn isolated_flows(&self) -> u32 {
        self.0.isolated_flows()
    }

    fn audit(&self, _residents: &[Resident], _queues: &[&Queues]) -> Result<(), String> {
        Ok(())
    }
}

impl Canonical for LosesMarks {
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        self.0.canonical(now, state);
    }

    fn owner(&self, tag: u32) -> u64 {
        self.0.owner(tag)
    }
}

/// BFC that does not repeat its pauses.
#[derive(Clone)]
pub struct NeverRepeats(Bfc);

impl Backpressure<Queues> for NeverRepeats {
    type Params = BfcParams;
    type Upstream = PausedQueues;

    fn new(params: &BfcParams, shape: &Shape) -> NeverRepeats {
        NeverRepeats(<Bfc as Backpressure<Queues>>::new(params, shape))
    }

    fn upstream(_params: &BfcParams, _shape: &Shape) -> PausedQueues {
        PausedQueues::default()
    }

    fn samples(&self, rng: &mut Stream) -> bool {
        Backpressure::<Queues>::samples(&self.0, rng)
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        egress: PortId,
        queue: QueueId,
        queues: &Queues,
    ) -> Option<ControlFrame> {
        self.0.on_enqueue(now, packet, held, egress, queue, queues)
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        egress: PortId,
        queue: QueueId,
    ) -> Option<ControlFrame> {
        Backpressure::<Queues>::on_dequeue(&mut self.0, now, packet, held, egress, queue)
    }

    fn next_refresh(&self) -> Instant {
        Backpressure::<Queues>::next_refresh(&self.0)
    }

    /// The bug: discards the repeated frames.
    fn refresh(&mut self, now: Instant, _send: &mut dyn FnMut(PortId, ControlFrame)) {
        Backpressure::<Queues>::refresh(&mut self.0, now, &mut |_, _| {});
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        Backpressure::<Queues>::audit(&self.0, residents)
    }
}

impl Canonical for NeverRepeats {
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        self.0.canonical(now, state);
    }
}
