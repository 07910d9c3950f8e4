//! Records of a run beside its outcome, on request: delay breakdowns and rates of named flows, and single events.
//!
//! A run is the same to the bit each time, so the flows to explain need not be known beforehand. The run is repeated
//! with the flows named that turned out slow. Recording costs nothing without a request, and memory in proportion to
//! the request.

mod asked;
mod breakdown;
pub mod capture;
pub mod events;
mod holds;
mod label;
mod pause_causes;
pub mod rates;
pub mod waits;

use crate::record::asked::Asked;
use crate::record::breakdown::Breakdown;
use crate::record::capture::{Capture, CaptureWanted};
use crate::record::events::{Events, EventsWanted};
use crate::record::label::Label;
use crate::record::rates::Rates;
use backwater_dataplane::{Departed, Readings};
use backwater_engine::observe::{Joined, Observer, SendState, Timer, Transmission};
pub use backwater_measure::records::Recorded;
use backwater_scenario::Scenario;
use backwater_scenario::topology::Graph;
use backwater_traffic::Flow;
use backwater_types::{ControlFrame, DropReason, Instant, Kind, Packet, PortId, flags};

/// Request for records.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Flows whose waits and rates are recorded, each with its completion time at the receiver. The run has to be on
    /// one thread.
    pub explain: Vec<(u32, Instant)>,
    /// Single events.
    pub events: Option<EventsWanted>,
    /// Packets that cross ports.
    pub capture: Option<CaptureWanted>,
}

impl Wanted {
    /// Builds a request from times in picoseconds: flows with their arrivals; start, end and largest number of events.
    pub fn in_ps(explain: Vec<(u32, u64)>, events: Option<(u64, u64, usize)>) -> Wanted {
        Wanted {
            explain: explain.into_iter().map(|(flow, at)| (flow, Instant(at))).collect(),
            events: events.map(|(from, until, at_most)| EventsWanted {
                from: Instant(from),
                until: Instant(until),
                at_most,
            }),
            capture: None,
        }
    }

    /// Whether nothing is requested.
    pub fn is_nothing(&self) -> bool {
        self.explain.is_empty() && self.events.is_none() && self.capture.is_none()
    }
}

/// Recorder of one partition of a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// Flows to explain.
    asked: Asked,
    /// Whether there are flows to explain.
    explains: bool,
    breakdown: Breakdown,
    rates: Rates,
    events: Option<Box<Events>>,
    /// Whether events are recorded, so that any packet may matter; always `events.is_some()`.
    watches_all: bool,
    capture: Option<Box<Capture>>,
}

impl Recorder {
    /// Builds a recorder for a run of this scenario.
    pub(crate) fn new(wanted: &Wanted, scenario: &Scenario, graph: &Graph) -> Recorder {
        let asked = Asked::new(wanted.explain.iter().map(|(flow, _)| *flow));
        Recorder {
            breakdown: Breakdown::new(&wanted.explain, asked.clone(), scenario, graph),
            rates: Rates::new(asked.clone(), scenario),
            events: wanted.events.map(|wanted| Box::new(Events::new(wanted, graph.hosts))),
            watches_all: wanted.events.is_some(),
            capture: wanted.capture.as_ref().map(|wanted| Box::new(Capture::new(wanted, graph))),
            explains: !wanted.explain.is_empty(),
            asked,
        }
    }

    /// Merges the records of all partitions.
    pub(crate) fn conclude(recorders: Vec<Recorder>) -> Recorded {
        let (mut waits, mut rates, mut events, mut captures) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for recorder in recorders {
            waits.extend(recorder.breakdown.into_waits());
            rates.extend(recorder.rates.into_rates());
            events.extend(recorder.events.map(|events| *events));
            captures.extend(recorder.capture.map(|capture| *capture));
        }
        let (events, events_left_out) = Events::merged(events);
        Recorded { waits, rates, events, events_left_out, captured: Capture::merged(captures) }
    }

    /// Delay breakdown, if there are flows to explain.
    fn explaining(&mut self) -> Option<&mut Breakdown> {
        self.explains.then_some(&mut self.breakdown)
    }

    #[inline(never)]
    fn capture_sent(&mut self, now: Instant, at: (usize, PortId), packet: Packet) {
        if let Some(capture) = &mut self.capture {
            capture.sent(now, at, &packet);
        }
    }

    #[inline(never)]
    fn note_sent(&mut self, host: usize, packet: Label, sent: Transmission) {
        if self.breakdown.waits_at_host(host) {
            match self.asked.has(packet.name.flow) {
                true => self.breakdown.followed_sent(host, packet, sent),
                false => self.breakdown.host_sent(host, sent),
            }
        }
        if let Some(events) = &mut self.events {
            events.host_sent(sent.at, host, packet);
        }
    }

    #[inline(never)]
    fn note_received(&mut self, now: Instant, host: usize, packet: Label) {
        self.rates.received(now, packet);
        self.breakdown.followed_received(now, host, packet);
    }

    #[inline(never)]
    fn note_enqueued(
        &mut self,
        now: Instant,
        switch: usize,
        joined: Joined,
        followed: bool,
        packet: Label,
        last: &Transmission,
    ) {
        if joined.frame_on.is_some()
            && let Some(breakdown) = self.explaining()
        {
            breakdown.raised(switch, joined, packet);
        }
        if followed {
            self.breakdown.followed_enqueued(now, switch, joined, packet, last);
        }
        if let Some(events) = &mut self.events {
            events.enqueued(switch, packet);
        }
    }

    #[inline(never)]
    fn note_departed(
        &mut self,
        (switch, port): (usize, PortId),
        frame: Option<ControlFrame>,
        followed: bool,
        packet: Label,
        sent: Transmission,
    ) {
        if let Some(frame) = frame
            && let Some(breakdown) = self.explaining()
        {
            breakdown.frame_sent(switch, port, frame);
        }
        if self.breakdown.may_wait_at(switch, port) {
            if followed {
                self.breakdown.followed_departed(switch, port, packet, sent);
            }
            self.breakdown.departed_past(switch, port, sent);
        }
        if let Some(events) = &mut self.events {
            match frame {
                Some(frame) => events.sent(sent.at, switch, port, frame),
                None => events.departed(sent.at, switch, port, packet, sent.queue()),
            }
        }
    }
}

// Hooks that run for every packet ask in line whether the packet may matter. The rest is out of line: many engines call
// the hooks, and code in line leaves each of them fewer registers.
impl Observer for Recorder {
    fn follows(&self, flow: u32) -> bool {
        self.asked.has(flow)
    }

    #[inline(never)]
    fn flow_started(&mut self, _now: Instant, flow: &Flow, slot: u32) {
        if let Some(breakdown) = self.explaining() {
            breakdown.flow_started(flow, slot);
        }
    }

    #[inline(always)]
    fn host_settled(
        &mut self,
        now: Instant,
        host: usize,
        last: &Transmission,
        send_state: &dyn Fn(u32, u32) -> SendState,
    ) {
        if self.breakdown.waits_at_host(host) {
            self.breakdown.host_settled(now, host, last, send_state);
        }
    }

    #[inline(always)]
    fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        if self.capture.is_some() {
            self.capture_sent(now, (host, 0), *packet);
        }
        if self.breakdown.waits_at_host(host) | self.watches_all {
            let queue = (packet.kind == Kind::Data).then_some(packet.upstream_queue);
            let sent = Transmission::of(packet, queue, now);
            if self.watches_all | self.asked.has(packet.flow) {
                self.note_sent(host, Label::of(packet), sent);
            } else {
                self.breakdown.host_sent(host, sent);
            }
        }
    }

    #[inline(always)]
    fn host_received(&mut self, now: Instant, host: usize, packet: &Packet) {
        if self.breakdown.waits_at_host(host) {
            self.breakdown.host_received(packet);
        }
        if packet.has(flags::FOLLOWED) {
            self.note_received(now, host, Label::of(packet));
        }
    }

    #[inline(always)]
    fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet, last: &Transmission) {
        let followed = self.breakdown.follows(packet);
        if followed | joined.frame_on.is_some() | self.watches_all {
            self.note_enqueued(now, switch, joined, followed, Label::of(packet), last);
        }
    }

    #[inline(always)]
    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        if self.capture.is_some() {
            self.capture_sent(now, (switch, port), *packet);
        }
        let frame = packet.kind == Kind::Control;
        if frame | self.breakdown.may_wait_at(switch, port) | self.watches_all {
            let sent = Transmission::of(packet, sent.queue, now);
            let followed = self.breakdown.follows(packet);
            if frame | self.watches_all | followed {
                let frame = if frame { packet.control() } else { None };
                self.note_departed((switch, port), frame, followed, Label::of(packet), sent);
            } else {
                self.breakdown.departed_past(switch, port, sent);
            }
        }
    }

    #[inline(always)]
    fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        if self.asked.has(packet.flow) {
            self.breakdown.followed_dropped(node, Label::of(packet), reason);
        }
        if let Some(events) = &mut self.events {
            events.dropped(now, node, Label::of(packet), reason);
        }
        if let Some(capture) = &mut self.capture {
            capture.dropped(now, node, packet, reason);
        }
    }

    #[inline(never)]
    fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        if let Some(breakdown) = self.explaining() {
            breakdown.controlled(now, node, port, frame);
        }
        if let Some(events) = &mut self.events {
            events.controlled(now, node, port, frame);
        }
        if let Some(capture) = &mut self.capture {
            capture.controlled(now, (node, port), frame);
        }
    }

    #[inline(never)]
    fn link_changed(&mut self, now: Instant, switch: usize, port: PortId, up: bool) {
        if let Some(breakdown) = self.explaining() {
            breakdown.link_changed(switch, port);
        }
        if let Some(events) = &mut self.events {
            events.link_changed(now, switch, port, up);
        }
    }

    #[inline(never)]
    fn released(&mut self, now: Instant, host: usize) {
        if let Some(breakdown) = self.explaining() {
            breakdown.released(now, host);
        }
        if let Some(events) = &mut self.events {
            events.released(now, host);
        }
    }

    #[inline(never)]
    fn woke(&mut self, _now: Instant, node: usize, timer: Timer) {
        if let Some(breakdown) = self.explaining() {
            breakdown.woke(node, timer);
        }
    }

    #[inline(always)]
    fn settled(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        if self.breakdown.may_be_held() {
            self.breakdown.hold(now, switch, plane);
        }
        if cfg!(debug_assertions) {
            self.breakdown.check_held(switch, plane);
        }
    }
}
