//! A policy whose bookkeeping of departures is delayed: a departing packet's header recirculates to the pipeline of the
//! packet's ingress.
//!
//! Source: spec B.1; BFC section 5. The header first takes the recirculation port of its pipeline, which has a share of
//! the bandwidth of the pipeline's ports. It then takes a cycle of the pipeline, for which arriving packets compete and
//! have precedence. The departure is booked [`recirc_delay`](HardwareParams::recirc_delay) later:
//!
//! ```text
//! port     = max(now, port) + frame / (share x rates)
//! pipeline = max(port, pipeline) + cycle              each packet in: pipeline = max(now, pipeline) + cycle
//! booked at pipeline + delay
//! ```
//!
//! A departure that cannot cause a control frame is booked when the next packet is looked at. A departure that may
//! cause one has a timer.
//!
//! Only packets handled by the policy take a cycle: data, not ACKs or control frames. A header recirculates from the
//! start of its packet's transmission. On the chip it leaves the traffic manager, earlier by the contents of the port's
//! FIFO.

use crate::buffer::Ring;
use crate::buffer::cells::Cells;
use crate::hardware::{HardwareParams, Recirculated, pipeline_of};
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::policy::{Outgoing, Policy};
use crate::port::Ports;
use crate::shape::Shape;
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{
    BitsPerSec, ControlFrame, Duration, Extension, FlowName, Instant, Packet, PortId, QueueId, SerTime,
};

/// The policy `P` with delayed booking of departures; immediate booking if no limit is set.
#[derive(Clone, Debug)]
pub struct Recirculating<P> {
    policy: P,
    /// Pipelines of the switch. Empty: departures are booked at once.
    pipelines: Vec<Pipeline>,
    /// `[port]`: pipeline of the port.
    of: Vec<u8>,
    delay: Duration,
    cycle: Duration,
    /// Whether any packet's departure may cause a control frame.
    all_may_signal: bool,
    /// Control frames caused by bookings and not sent yet, and the time to send them.
    outgoing: Vec<Outgoing>,
    outgoing_at: Instant,
    counts: Recirculated,
}

#[derive(Clone, Debug)]
struct Pipeline {
    pending: Ring<Header>,
    /// Number of headers in `pending` whose booking may cause a control frame.
    may_signal: u32,
    /// Time of a header on the recirculation port.
    frame: Duration,
    port_free_at: Instant,
    free_at: Instant,
}

/// Header of a departed packet that is not booked yet.
#[derive(Clone, Copy, Debug)]
struct Header {
    due: Instant,
    packet: Packet,
    held: Meta,
    port: PortId,
    queue: QueueId,
}

impl<P: Policy> Recirculating<P> {
    /// Wraps `policy` with these `limits`.
    fn limited(policy: P, limits: &RecirculatingParams, shape: &Shape) -> Recirculating<P> {
        let (ports, count) = (shape.ports.len(), limits.pipelines.into());
        let of: Vec<u8> = (0..ports).map(|port| pipeline_of(port, ports, count) as u8).collect();
        let hardware = limits.hardware.as_ref().filter(|hardware| hardware.books_late());
        let pipeline = |hardware: &HardwareParams, pipeline: usize| {
            let rates = shape.ports.iter().zip(&of).filter(|(_, of)| **of as usize == pipeline);
            let bandwidth = hardware.recirc_share * rates.map(|(port, _)| port.rate.0 as f64).sum::<f64>();
            let frame = match bandwidth as u64 {
                0 => Duration::ZERO,
                bandwidth => SerTime::of(BitsPerSec(bandwidth)).of_bytes(hardware.recirc_frame.0),
            };
            Pipeline {
                pending: Ring::default(),
                may_signal: 0,
                frame,
                port_free_at: Instant::ZERO,
                free_at: Instant::ZERO,
            }
        };
        Recirculating {
            policy,
            pipelines: hardware.map_or_else(Vec::new, |h| (0..count).map(|number| pipeline(h, number)).collect()),
            of,
            delay: hardware.map_or(Duration::ZERO, |hardware| hardware.recirc_delay),
            cycle: hardware.map_or(Duration::ZERO, |hardware| hardware.cycle),
            all_may_signal: limits.all_may_signal,
            outgoing: Vec::with_capacity(ports),
            outgoing_at: Instant::NEVER,
            counts: Recirculated::default(),
        }
    }

    /// The pipeline of `ingress`, if departures are booked late.
    fn pipeline(&mut self, ingress: u8) -> Option<&mut Pipeline> {
        let of = self.of[ingress as usize];
        self.pipelines.get_mut(of as usize)
    }

    /// Defers a control frame behind those that wait already, so that frames stay in order.
    fn after_others(&mut self, outgoing: Option<Outgoing>) -> Option<Outgoing> {
        if self.outgoing.is_empty() {
            return outgoing;
        }
        self.outgoing.extend(outgoing);
        None
    }

    /// Books all departures due at `now`.
    fn book(&mut self, now: Instant) {
        for number in 0..self.pipelines.len() {
            while let Some(header) = self.pipelines[number].pending.front().copied().filter(|h| h.due <= now) {
                let pipeline = &mut self.pipelines[number];
                pipeline.pending.drop_front();
                pipeline.may_signal -= u32::from(header.held.counted || self.all_may_signal);
                let Header { due, packet, held, port, queue } = header;
                if let Some(outgoing) = self.policy.on_dequeue(due, &packet, &held, port, queue) {
                    self.outgoing.push(outgoing);
                    self.outgoing_at = now;
                }
            }
        }
    }
}

/// Parameters of [`Recirculating`], apart from those of the wrapped policy.
#[derive(Clone, Debug)]
pub struct RecirculatingParams {
    /// Number of ingress pipelines.
    pub pipelines: u8,
    /// Whether any packet's departure may cause a control frame, not only that of a packet counted towards a pause.
    pub all_may_signal: bool,
    /// Hardware limits. `None`: no limit.
    pub hardware: Option<HardwareParams>,
}

impl<P: Policy> Policy for Recirculating<P> {
    type Queues = P::Queues;
    type Params = (P::Params, RecirculatingParams);
    const SETS_TIMERS: bool = true;

    leave_to!(policy);

    fn new(params: &Self::Params, shape: &Shape) -> Recirculating<P> {
        Recirculating::limited(P::new(&params.0, shape), &params.1, shape)
    }

    fn queues(params: &Self::Params, shape: &Shape) -> P::Queues {
        P::queues(&params.0, shape)
    }

    fn extra_cells(params: &Self::Params) -> usize {
        P::extra_cells(&params.0)
    }

    fn catch_up(&mut self, now: Instant) {
        self.book(now);
    }

    fn admits(&self, ingress: PortId, packet: &Packet) -> bool {
        self.policy.admits(ingress, packet)
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
        let cycle = self.cycle;
        if let Some(pipeline) = self.pipeline(held.ingress) {
            pipeline.free_at = pipeline.free_at.max(now) + cycle;
        }
        let outgoing = self.policy.on_enqueue(now, packet, held, port, choice, queues);
        self.after_others(outgoing)
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        // A departure that is due must be booked before the timer is set again, or the timer would lie in the past.
        self.book(now);
        let (cycle, delay, all_may_signal) = (self.cycle, self.delay, self.all_may_signal);
        // A header recirculates only if its packet takes part in bookkeeping (spec B, sampling).
        let goes_round = held.sampled || all_may_signal;
        let Some(pipeline) = self.pipeline(held.ingress).filter(|_| goes_round) else {
            let outgoing = self.policy.on_dequeue(now, packet, held, port, queue);
            return self.after_others(outgoing);
        };
        let idle = now + pipeline.frame + cycle;
        pipeline.port_free_at = pipeline.port_free_at.max(now) + pipeline.frame;
        pipeline.free_at = pipeline.free_at.max(pipeline.port_free_at) + cycle;
        let wait = pipeline.free_at.since(idle);
        pipeline.may_signal += u32::from(held.counted || all_may_signal);
        let header = Header { due: pipeline.free_at + delay, packet: *packet, held: *held, port, queue };
        pipeline.pending.push_back(header);
        let went = Recirculated { headers: 1, waited: u64::from(wait > Duration::ZERO), longest: wait };
        self.counts = self.counts.with(went);
        None
    }

    fn passes(&self, _ingress: PortId, _packet: &Packet) -> bool {
        false
    }

    fn next_timer(&self) -> Instant {
        let may_signal = self.pipelines.iter().filter(|pipeline| pipeline.may_signal > 0);
        let due = may_signal.filter_map(|pipeline| pipeline.pending.front()).map(|header| header.due).min();
        self.policy.next_timer().min(self.outgoing_at).min(due.unwrap_or(Instant::NEVER))
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, P::Queues, impl Extension>) {
        self.book(now);
        self.outgoing.drain(..).for_each(|(port, frame)| ports.send(port, frame));
        self.outgoing_at = Instant::NEVER;
        if self.policy.next_timer() <= now {
            self.policy.on_timer(now, ports);
        }
    }

    fn on_link_up(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, P::Queues, impl Extension>) {
        self.policy.on_link_up(now, port, ports);
    }

    fn recirculated(&self) -> Recirculated {
        self.counts
    }

    fn audit(&self, residents: &[Resident], queues: &[&P::Queues]) -> Result<(), String> {
        let mut booked = residents.to_vec();
        for header in self.pipelines.iter().flat_map(|pipeline| pipeline.pending.iter()) {
            let Header { packet, held, port, queue, .. } = *header;
            booked.push(Resident { port, queue, packet, held });
        }
        self.policy.audit(&booked, queues)
    }
}
