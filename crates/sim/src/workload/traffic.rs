//! All flows of a run.

use crate::workload::background::Background;
use crate::workload::collective::Collective;
use crate::workload::flow::{Arrival, Flow};
use crate::workload::incast::Incast;
use crate::workload::listed::Listed;
use crate::workload::process::Process;
use backwater_scenario::model::{Scenario, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, hash};
use std::ops::Range;

/// The process of workload number `class`.
fn process(scenario: &Scenario, graph: &Graph, class: usize) -> Box<dyn Process> {
    let workload = &scenario.workload[class];
    let stream = hash::stream(scenario.seed, 0x7472_6166, class as u64);
    match workload {
        Workload::Background { .. } => Box::new(Background::new(scenario, workload, graph, stream)),
        Workload::Incast { .. } => Box::new(Incast::new(workload, graph, stream)),
        Workload::LongLived { .. } => Box::new(Listed::long_lived(workload, graph)),
        Workload::FlowList { .. } => Box::new(Listed::flow_list(workload, graph)),
        Workload::Collective { .. } => Box::new(Collective::new(scenario, workload, graph)),
    }
}

/// All flows of a scenario that wait for no other, in order of arrival; ties go to the earlier workload. And those that they start.
pub struct Traffic {
    sources: Vec<Source>,
    dependents: u32,
    next_id: u32,
    /// `[host]`: flows to it so far, without dependent ones.
    to: Vec<u32>,
    until: Instant,
}

/// A process as a part of the traffic.
struct Source {
    process: Box<dyn Process>,
    /// Its workload.
    class: u8,
    priority: u8,
    /// Number of the first of its dependent flows, if it has any.
    first: u32,
    /// Its next flow that waits for no other.
    head: Option<Arrival>,
}

impl Traffic {
    /// The flows of `scenario`, which is valid, on its graph.
    pub fn new(scenario: &Scenario, graph: &Graph) -> Traffic {
        let until = Instant::ZERO + scenario.run.duration;
        let (mut sources, mut dependents) = (Vec::new(), 0);
        for class in 0..scenario.workload.len() {
            let process = process(scenario, graph, class);
            let (first, flows) = (dependents, process.listens_to());
            let priority = scenario.workload[class].priority();
            let mut source = Source { process, class: class as u8, priority, first, head: None };
            source.advance(until);
            sources.push(source);
            dependents += flows;
        }
        Traffic { sources, dependents, next_id: dependents, to: vec![0; graph.hosts], until }
    }

    /// How many dependent flows there are. They have the first numbers.
    pub fn dependents(&self) -> u32 {
        self.dependents
    }

    /// Numbers of the dependent flows of a workload.
    pub fn dependents_of(&self, class: usize) -> Range<usize> {
        let end = self.sources.get(class + 1).map_or(self.dependents, |next| next.first);
        self.sources[class].first as usize..end as usize
    }

    /// The dependent flow of this number, should it start at `at`.
    pub fn dependent(&self, id: u32, at: Instant) -> Flow {
        let source = &self.sources[self.source_of(id)];
        source.dependent(source.process.flow(id - source.first, at))
    }

    /// The dependent flow of this number has arrived in full, now. What starts at its destination because of it.
    pub fn on_received(&mut self, id: u32, now: Instant, mut start: impl FnMut(Flow)) {
        let at = self.source_of(id);
        let Source { process, class, priority, first, .. } = &mut self.sources[at];
        process.on_received(id - *first, now, &mut |arrival| start(dependent(arrival, *class, *priority, *first)));
    }

    /// The last source whose flows start at this number or before: one without dependent flows starts where the next does.
    fn source_of(&self, id: u32) -> usize {
        self.sources.partition_point(|source| source.first <= id) - 1
    }

    /// Arrival of the next flow; [`Instant::NEVER`] when there is none.
    pub fn next_at(&self) -> Instant {
        self.sources.iter().flat_map(|source| &source.head).map(|a| a.at).min().unwrap_or(Instant::NEVER)
    }

    /// The next flow, if it arrives before `end`.
    #[inline]
    pub fn next_before(&mut self, end: Instant) -> Option<Flow> {
        let mut first = None::<(Instant, usize)>;
        for (i, source) in self.sources.iter().enumerate() {
            if let Some(head) = &source.head
                && first.is_none_or(|(at, _)| head.at < at)
            {
                first = Some((head.at, i));
            }
        }
        let (_, i) = first.filter(|(at, _)| *at < end)?;
        let source = &mut self.sources[i];
        let arrival = source.head.take()?;
        source.advance(self.until);
        if arrival.own.is_some() {
            return Some(source.dependent(arrival));
        }
        let slot = &mut self.to[arrival.dst as usize];
        let receiver_slot = *slot;
        *slot += 1;
        let id = self.next_id;
        self.next_id += 1;
        Some(arrival.named(id, receiver_slot, source.class, source.priority))
    }
}

impl Source {
    /// To its next flow. Arrivals end in time; what listens runs to its end.
    #[inline]
    fn advance(&mut self, until: Instant) {
        self.head = self.process.next().filter(|arrival| arrival.at < until || arrival.own.is_some());
    }

    fn dependent(&self, arrival: Arrival) -> Flow {
        dependent(arrival, self.class, self.priority, self.first)
    }
}

/// A flow of a process that listens, whose flows are numbered from `first`.
fn dependent(arrival: Arrival, class: u8, priority: u8, first: u32) -> Flow {
    let own = arrival.own.expect("a process that listens numbers its flows");
    arrival.named(first + own.number, own.receiver_slot(class), class, priority)
}

impl Iterator for Traffic {
    type Item = Flow;
    fn next(&mut self) -> Option<Flow> {
        self.next_before(Instant::NEVER)
    }
}
