//! What a run records beside its outcome, where that is asked for: where flows spent their time and what came of them when,
//! and single events.
//!
//! A run is the same to the bit each time, so what is to be explained need not be known beforehand: the run is run
//! again, with the flows that turned out slow named. It costs nothing where nobody asks, and memory by what is asked
//! for.

mod asked;
pub mod events;
mod journeys;
mod label;
mod pausers;
pub mod rates;
pub mod waits;

use crate::observe::{Joined, Observer, Stand, Timer};
use crate::record::asked::Asked;
use crate::record::events::{Event, Events, EventsWanted};
use crate::record::journeys::Journeys;
use crate::record::label::Label;
use crate::record::rates::{Rate, Rates};
use crate::record::waits::Wait;
use crate::workload::Flow;
use backwater_dataplane::{Departed, Readings};
use backwater_scenario::Scenario;
use backwater_scenario::topology::Graph;
use backwater_types::{ControlFrame, DropReason, Instant, Packet, PortId};

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
    journeys: Option<Journeys>,
    rates: Option<Rates>,
    events: Option<Events>,
}

impl Recorder {
    /// For a run of this scenario.
    pub(crate) fn new(wanted: &Wanted, scenario: &Scenario, graph: &Graph) -> Recorder {
        let asked = (!wanted.explain.is_empty()).then(|| Asked::new(&wanted.explain));
        Recorder {
            journeys: asked.clone().map(|asked| Journeys::new(&wanted.explain, asked, scenario, graph)),
            rates: asked.map(|asked| Rates::new(asked, scenario)),
            events: wanted.events.map(|wanted| Events::new(wanted, graph.hosts)),
        }
    }

    /// What the partitions recorded, in one.
    pub(crate) fn conclude(recorders: Vec<Recorder>) -> Recorded {
        let (mut waits, mut rates, mut events) = (Vec::new(), Vec::new(), Vec::new());
        for recorder in recorders {
            waits.extend(recorder.journeys.into_iter().flat_map(Journeys::into_waits));
            rates.extend(recorder.rates.into_iter().flat_map(Rates::into_rates));
            events.extend(recorder.events);
        }
        let (events, events_left_out) = Events::merged(events);
        Recorded { waits, rates, events, events_left_out }
    }
}

/// Calls `$hook` of those that listen.
macro_rules! tell {
    ($self:ident, $hook:ident($($of:expr),*)) => {{
        if let Some(journeys) = &mut $self.journeys {
            journeys.$hook($($of),*);
        }
        if let Some(events) = &mut $self.events {
            events.$hook($($of),*);
        }
    }};
}

/// The same, of a packet.
macro_rules! tell_of {
    ($self:ident, $hook:ident($($of:expr),*; $packet:ident $(, $more:expr)*)) => {{
        if let Some(journeys) = &mut $self.journeys {
            journeys.$hook($($of,)* $packet $(, $more)*);
        }
        if let Some(events) = &mut $self.events {
            events.$hook($($of,)* Label::of($packet) $(, $more)*);
        }
    }};
}

// What is called for every packet looks, in line, whether there is anything to do; the rest is out of line, as the
// engines that may be looked on are many.
impl Observer for Recorder {
    #[inline(never)]
    fn flow_started(&mut self, now: Instant, flow: &Flow, slot: u32) {
        tell!(self, flow_started(now, flow, slot));
    }

    #[inline(always)]
    fn host_settled(&mut self, now: Instant, host: usize, stand: &dyn Fn(u32, u32) -> Stand) {
        tell!(self, host_settled(now, host, stand));
    }

    #[inline(always)]
    fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        tell_of!(self, host_sent(now, host; packet));
    }

    #[inline(always)]
    fn host_received(&mut self, now: Instant, host: usize, packet: &Packet) {
        if let Some(journeys) = &mut self.journeys {
            journeys.host_received(now, host, packet);
        }
        if let Some(rates) = &mut self.rates {
            rates.host_received(now, packet);
        }
    }

    #[inline(always)]
    fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet) {
        tell_of!(self, enqueued(now, switch, joined; packet));
    }

    #[inline(always)]
    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        if let Some(journeys) = &mut self.journeys {
            journeys.departed(now, switch, port, packet, sent.queue);
        }
        if let Some(events) = &mut self.events {
            match packet.control() {
                Some(frame) => events.sent(now, switch, port, frame),
                None => events.departed(now, switch, port, Label::of(packet), sent.queue),
            }
        }
    }

    #[inline(always)]
    fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        tell_of!(self, dropped(now, node; packet, reason));
    }

    #[inline(never)]
    fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        tell!(self, controlled(now, node, port, frame));
    }

    #[inline(never)]
    fn link_changed(&mut self, now: Instant, switch: usize, port: PortId, up: bool) {
        tell!(self, link_changed(now, switch, port, up));
    }

    #[inline(never)]
    fn released(&mut self, now: Instant, host: usize) {
        tell!(self, released(now, host));
    }

    #[inline(never)]
    fn woke(&mut self, now: Instant, node: usize, timer: Timer) {
        tell!(self, woke(now, node, timer));
    }

    #[inline(always)]
    fn settled(&mut self, now: Instant, switch: usize, plane: &dyn Readings) {
        tell!(self, settled(now, switch, plane));
    }
}
