//! All flows of a run, merged from the processes of its workloads.

use crate::background::Background;
use crate::flow::{Arrival, Flow, Own};
use crate::incast::Incast;
use crate::job::Job;
use crate::listed::Listed;
use crate::process::{Process, Progress};
use backwater_fabric::flow::own_slot;
use backwater_jobs::Span;
use backwater_scenario::job;
use backwater_scenario::model::{Scenario, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::{Duration, Instant, hash};
use std::borrow::Cow;
use std::ops::Range;

/// Creates the process of workload number `class`. Of jobs, ranks run whose hosts are `here`.
fn process(scenario: &Scenario, graph: &Graph, class: usize, here: &dyn Fn(u16) -> bool) -> Box<dyn Process> {
    let workload = &scenario.workload[class];
    let stream = hash::stream(scenario.seed, 0x7472_6166, class as u64);
    match workload {
        Workload::Background { .. } => Box::new(Background::new(scenario, workload, graph, stream)),
        Workload::Incast { .. } => Box::new(Incast::new(workload, graph, stream)),
        Workload::LongLived { .. } => Box::new(Listed::long_lived(workload, graph)),
        Workload::FlowList { .. } => Box::new(Listed::flow_list(workload, graph)),
        Workload::Collective { start, .. } | Workload::Job { start, .. } => {
            let placed = job::placed(scenario, workload, graph).expect("scenario checked: the job fits");
            Box::new(Job::new(placed, Instant::ZERO + *start, job::tick(&scenario.conventions), here))
        }
    }
}

/// All flows of a scenario. Iteration returns those that wait for no other flow, in order of arrival; ties go to the
/// earlier workload. [`Traffic::on_received`] starts the others.
pub struct Traffic {
    sources: Vec<Source>,
    closed_loop_flows: u32,
    next_id: u32,
    /// `[host]`: open-loop flows to the host so far.
    to: Vec<u32>,
    until: Instant,
}

/// The process of one workload, with its next flow.
struct Source {
    process: Box<dyn Process>,
    /// Workload number.
    class: u8,
    priority: u8,
    /// Number of the first closed-loop flow; that of the next source if this source has none.
    first: u32,
    /// Next flow that waits for no other.
    head: Option<Arrival>,
}

impl Traffic {
    /// Creates the traffic of a valid scenario on its graph. It cannot run jobs, but knows their flows.
    pub fn new(scenario: &Scenario, graph: &Graph) -> Traffic {
        Traffic::of_hosts(scenario, graph, &|_| false)
    }

    /// Creates the traffic of a valid scenario for a partition with the hosts that are `here`.
    pub fn of_hosts(scenario: &Scenario, graph: &Graph, here: &dyn Fn(u16) -> bool) -> Traffic {
        let until = Instant::ZERO + scenario.run.duration;
        let (mut sources, mut closed_loop_flows) = (Vec::new(), 0);
        for class in 0..scenario.workload.len() {
            let process = process(scenario, graph, class, here);
            let (first, flows) = (closed_loop_flows, process.closed_loop_flows());
            let priority = scenario.workload[class].priority();
            let mut source = Source { process, class: class as u8, priority, first, head: None };
            source.advance(until);
            sources.push(source);
            closed_loop_flows += flows;
        }
        Traffic { sources, closed_loop_flows, next_id: closed_loop_flows, to: vec![0; graph.hosts], until }
    }

    /// Number of closed-loop flows. They are numbered before all other flows.
    pub fn closed_loop_flows(&self) -> u32 {
        self.closed_loop_flows
    }

    /// Numbers of the closed-loop flows of a workload.
    pub fn closed_loop_flows_of(&self, class: usize) -> Range<usize> {
        let end = self.sources.get(class + 1).map_or(self.closed_loop_flows, |next| next.first);
        self.sources[class].first as usize..end as usize
    }

    /// Describes closed-loop flow `id` with start `at`.
    pub fn closed_loop_flow(&self, id: u32, at: Instant) -> Flow {
        let source = &self.sources[self.source_of(id)];
        source.name_closed_loop(source.process.flow(id - source.first, at))
    }

    /// Handles the arrival of the last byte of closed-loop flow `id`, and starts the flows that waited for it at its
    /// destination.
    pub fn on_received(&mut self, id: u32, now: Instant, mut start: impl FnMut(Flow)) {
        let at = self.source_of(id);
        let Source { process, class, priority, first, .. } = &mut self.sources[at];
        let mut named = |arrival| start(name_closed_loop(arrival, *class, *priority, *first));
        process.on_received(id - *first, now, &mut named);
    }

    /// Handles the last acknowledgement of closed-loop flow `id`, and starts the flows that waited for it at its source.
    pub fn on_acknowledged(&mut self, id: u32, now: Instant, mut start: impl FnMut(Flow)) {
        let at = self.source_of(id);
        let Source { process, class, priority, first, .. } = &mut self.sources[at];
        let mut named = |arrival| start(name_closed_loop(arrival, *class, *priority, *first));
        process.on_acknowledged(id - *first, now, &mut named);
    }

    /// Tells a workload that a time has come which it asked for, and starts the flows that waited for it.
    pub fn on_wake(&mut self, wake: Flow, now: Instant, mut start: impl FnMut(Flow)) {
        let (class, what) = own_slot(wake.receiver_slot).expect("closed-loop workloads ask for wakes");
        let Source { process, class, priority, first, .. } = &mut self.sources[class as usize];
        let mut named = |arrival| start(name_closed_loop(arrival, *class, *priority, *first));
        process.on_wake(what, now, &mut named);
    }

    /// Takes the spans of iterations that ranks of jobs have ended since they were last taken, `[workload]`.
    /// [`Traffic::take_progress`] has the others.
    pub fn take_ended_spans(&mut self) -> Vec<Vec<Span>> {
        self.sources.iter_mut().map(|source| source.process.take_ended_spans()).collect()
    }

    /// Takes what the ranks of jobs have done, `[workload]`.
    pub fn take_progress(&mut self) -> Vec<Progress> {
        self.sources.iter_mut().map(|source| source.process.take_progress()).collect()
    }

    /// Finds the source of a closed-loop flow: the last source with `first <= id`. A source without closed-loop flows
    /// has the `first` of the next source.
    fn source_of(&self, id: u32) -> usize {
        self.sources.partition_point(|source| source.first <= id) - 1
    }

    /// Arrival time of the next flow; [`Instant::NEVER`] if none is left.
    pub fn next_at(&self) -> Instant {
        self.sources.iter().flat_map(|source| &source.head).map(|a| a.at).min().unwrap_or(Instant::NEVER)
    }

    /// Whether a rank of a job has yet to be woken for the first time, or to send its first message.
    pub fn has_closed_loop_arrivals(&self) -> bool {
        self.sources.iter().flat_map(|source| &source.head).any(|arrival| arrival.own.is_some())
    }

    /// Returns the next flow if it arrives before `end`.
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
            return Some(source.name_closed_loop(arrival));
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
    /// Fetches the next flow of the process. Open-loop arrivals end at `until`; closed-loop processes run to their end.
    #[inline]
    fn advance(&mut self, until: Instant) {
        self.head = self.process.next().filter(|arrival| arrival.at < until || arrival.own.is_some());
    }

    fn name_closed_loop(&self, arrival: Arrival) -> Flow {
        name_closed_loop(arrival, self.class, self.priority, self.first)
    }
}

/// Numbers a flow of a closed-loop process with first number `first`.
fn name_closed_loop(arrival: Arrival, class: u8, priority: u8, first: u32) -> Flow {
    let own = arrival.own.expect("a closed-loop process numbers its flows");
    if arrival.size == 0 {
        return Flow::wake(Own { number: first + own.number, ..own }, arrival.at, arrival.src, class);
    }
    arrival.named(first + own.number, own.receiver_slot(class), class, priority)
}

impl Iterator for Traffic {
    type Item = Flow;
    fn next(&mut self) -> Option<Flow> {
        self.next_before(Instant::NEVER)
    }
}

/// Shortens `run.duration` to the arrival of the last of `run.flows` flows; flows of collectives do not count.
pub fn shortened<'a>(scenario: &'a Scenario, graph: &Graph) -> Cow<'a, Scenario> {
    let arrivals = || Traffic::new(scenario, graph).filter(|flow| !flow.is_closed_loop());
    let last = scenario.run.flows.and_then(|flows| arrivals().nth(flows as usize - 1));
    let Some(last) = last else { return Cow::Borrowed(scenario) };
    let mut shorter = scenario.clone();
    shorter.run.duration = Duration(last.at.0 + 1);
    Cow::Owned(shorter)
}
