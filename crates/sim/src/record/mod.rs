//! What a run records beside its outcome, where that is asked for: where flows spent their time and what came of them when,
//! and single events.
//!
//! A run is the same to the bit each time, so what is to be explained need not be known beforehand: the run is run
//! again, with the flows that turned out slow named. It costs nothing where nobody asks, and memory by what is asked
//! for.

mod asked;
pub mod events;
mod holds;
mod journeys;
mod label;
mod pausers;
pub mod rates;
pub mod waits;

use crate::record::asked::Asked;
use crate::record::events::{Event, Events, EventsWanted};
use crate::record::journeys::Journeys;
use crate::record::label::Label;
use crate::record::rates::{Rate, Rates};
use crate::record::waits::Wait;
use crate::workload::Flow;
use backwater_dataplane::{Departed, Readings};
use backwater_engine::observe::{Joined, Observer, Stand, Timer, Transmission};
use backwater_scenario::Scenario;
use backwater_scenario::topology::Graph;
use backwater_types::{ControlFrame, DropReason, Instant, Kind, Packet, PortId, flags};

/// What is to be recorded.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Flows, and when each reaches its receiver: their waits and rates. The run has to be on one thread.
    pub explain: Vec<(u32, Instant)>,
    /// Single events.
    pub events: Option<EventsWanted>,
}

impl Wanted {
    /// With times in picoseconds: flows and when each arrives; events from, until and at most so many.
    pub fn in_ps(explain: Vec<(u32, u64)>, events: Option<(u64, u64, usize)>) -> Wanted {
        Wanted {
            explain: explain.into_iter().map(|(flow, at)| (flow, Instant(at))).collect(),
            events: events.map(|(from, until, at_most)| EventsWanted {
                from: Instant(from),
                until: Instant(until),
                at_most,
            }),
        }
    }

    /// Whether nothing is.
    pub fn is_nothing(&self) -> bool {
        self.explain.is_empty() && self.events.is_none()
    }
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Parts of the flows' completion times: by flow, then from the source on. Of each flow they sum to its completion
    /// time.
    pub waits: Vec<Wait>,
    /// What the same flows' receivers got, by flow and time.
    pub rates: Vec<Rate>,
    /// By time and node, each node's in order.
    pub events: Vec<Event>,
    /// Events in the span that there was no room for, all later than those that are here.
    pub events_left_out: u64,
}

/// Records one partition of a run.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The flows to be explained.
    asked: Asked,
    /// There are any.
    explains: bool,
    journeys: Journeys,
    rates: Rates,
    events: Option<Box<Events>>,
    /// Single events are: any packet may be one.
    watches_all: bool,
}

impl Recorder {
    /// For a run of this scenario.
    pub(crate) fn new(wanted: &Wanted, scenario: &Scenario, graph: &Graph) -> Recorder {
        let asked = Asked::new(wanted.explain.iter().map(|(flow, _)| *flow));
        Recorder {
            journeys: Journeys::new(&wanted.explain, asked.clone(), scenario, graph),
            rates: Rates::new(asked.clone(), scenario),
            events: wanted.events.map(|wanted| Box::new(Events::new(wanted, graph.hosts))),
            watches_all: wanted.events.is_some(),
            explains: !wanted.explain.is_empty(),
            asked,
        }
    }

    /// What the partitions recorded, in one.
    pub(crate) fn conclude(recorders: Vec<Recorder>) -> Recorded {
        let (mut waits, mut rates, mut events) = (Vec::new(), Vec::new(), Vec::new());
        for recorder in recorders {
            waits.extend(recorder.journeys.into_waits());
            rates.extend(recorder.rates.into_rates());
            events.extend(recorder.events.map(|events| *events));
        }
        let (events, events_left_out) = Events::merged(events);
        Recorded { waits, rates, events, events_left_out }
    }

    /// Where flows are to be explained.
    fn explaining(&mut self) -> Option<&mut Journeys> {
        self.explains.then_some(&mut self.journeys)
    }

    #[inline(never)]
    fn note_sent(&mut self, host: usize, packet: Label, sent: Transmission) {
        if self.journeys.waits_at_host(host) {
            match self.asked.has(packet.name.flow) {
                true => self.journeys.followed_sent(host, packet, sent),
                false => self.journeys.host_sent(host, sent),
            }
        }
        if let Some(events) = &mut self.events {
            events.host_sent(sent.at, host, packet);
        }
    }

    #[inline(never)]
    fn note_received(&mut self, now: Instant, host: usize, packet: Label) {
        self.rates.received(now, packet);
        self.journeys.followed_received(now, host, packet);
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
            && let Some(journeys) = self.explaining()
        {
            journeys.raised(switch, joined, packet);
        }
        if followed {
            self.journeys.followed_enqueued(now, switch, joined, packet, last);
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
            && let Some(journeys) = self.explaining()
        {
            journeys.frame_sent(switch, port, frame);
        }
        if self.journeys.may_wait_at(switch, port) {
            if followed {
                self.journeys.followed_departed(switch, port, packet, sent);
            }
            self.journeys.departed_past(switch, port, sent);
        }
        if let Some(events) = &mut self.events {
            match frame {
                Some(frame) => events.sent(sent.at, switch, port, frame),
                None => events.departed(sent.at, switch, port, packet, sent.queue()),
            }
        }
    }
}

// What is called for every packet asks, in line, whether it may matter; the rest is out of line, as the engines that may
// be looked on are many, and what is in line has each of them hold less at hand.
impl Observer for Recorder {
    fn follows(&self, flow: u32) -> bool {
        self.asked.has(flow)
    }

    #[inline(never)]
    fn flow_started(&mut self, _now: Instant, flow: &Flow, slot: u32) {
        if let Some(journeys) = self.explaining() {
            journeys.flow_started(flow, slot);
        }
    }

    #[inline(always)]
    fn host_settled(&mut self, now: Instant, host: usize, last: &Transmission, stand: &dyn Fn(u32, u32) -> Stand) {
        if self.journeys.waits_at_host(host) {
            self.journeys.host_settled(now, host, last, stand);
        }
    }

    #[inline(always)]
    fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        if self.journeys.waits_at_host(host) | self.watches_all {
            let queue = (packet.kind == Kind::Data).then_some(packet.upstream_queue);
            let sent = Transmission::of(packet, queue, now);
            if self.watches_all | self.asked.has(packet.flow) {
                self.note_sent(host, Label::of(packet), sent);
            } else {
                self.journeys.host_sent(host, sent);
            }
        }
    }

    #[inline(always)]
    fn host_received(&mut self, now: Instant, host: usize, packet: &Packet) {
        if self.journeys.waits_at_host(host) {
            self.journeys.host_received(packet);
        }
        if packet.has(flags::FOLLOWED) {
            self.note_received(now, host, Label::of(packet));
        }
    }

    #[inline(always)]
    fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet, last: &Transmission) {
        let followed = self.journeys.follows(packet);
        if followed | joined.frame_on.is_some() | self.watches_all {
            self.note_enqueued(now, switch, joined, followed, Label::of(packet), last);
        }
    }

    #[inline(always)]
    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        let frame = packet.kind == Kind::Control;
        if frame | self.journeys.may_wait_at(switch, port) | self.watches_all {
            let sent = Transmission::of(packet, sent.queue, now);
            let followed = self.journeys.follows(packet);
            if frame | self.watches_all | followed {
                let frame = if frame { packet.control() } else { None };
                self.note_departed((switch, port), frame, followed, Label::of(packet), sent);
            } else {
                self.journeys.departed_past(switch, port, sent);
            }
        }
    }

    #[inline(always)]
    fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        if self.asked.has(packet.flow) {
            self.journeys.followed_dropped(node, Label::of(packet), reason);
        }
        if let Some(events) = &mut self.events {
            events.dropped(now, node, Label::of(packet), reason);
        }
    }

    #[inline(never)]
    fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        if let Some(journeys) = self.explaining() {
            journeys.controlled(now, node, port, frame);
        }
        if let Some(events) = &mut self.events {
            events.controlled(now, node, port, frame);
        }
    }

    #[inline(never)]
    fn link_changed(&mut self, now: Instant, switch: usize, port: PortId, up: bool) {
        if let Some(journeys) = self.explaining() {
            journeys.link_changed(switch, port);
        }
        if let Some(events) = &mut self.events {
            events.link_changed(now, switch, port, up);
        }
    }

    #[inline(never)]
    fn released(&mut self, now: Instant, host: usize) {
        if let Some(journeys) = self.explaining() {
            journeys.released(now, host);
        }
        if let Some(events) = &mut self.events {
            events.released(now, host);
        }
    }

    #[inline(never)]
    fn woke(&mut self, _now: Instant, node: usize, timer: Timer) {
        if let Some(journeys) = self.explaining() {
            journeys.woke(node, timer);
        }
    }

    #[inline(always)]
    fn settled(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        if self.journeys.may_be_held() {
            self.journeys.hold(now, switch, plane);
        }
        if cfg!(debug_assertions) {
            self.journeys.check_held(switch, plane);
        }
    }
}
