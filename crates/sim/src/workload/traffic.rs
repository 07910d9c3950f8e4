//! All flows of a run.

use crate::workload::background::Background;
use crate::workload::flow::{Arrival, Flow};
use crate::workload::incast::Incast;
use crate::workload::listed::Listed;
use crate::workload::process::Process;
use backwater_scenario::model::{Scenario, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, hash};

/// All flows of a scenario, in order of arrival; ties go to the earlier workload.
#[derive(Clone, Debug)]
pub struct Traffic {
    sources: Vec<Source>,
    heads: Vec<Option<Arrival>>,
    next_id: u32,
    /// `[host]`: flows to it so far.
    to: Vec<u32>,
    until: Instant,
}

#[derive(Clone, Debug)]
enum Source {
    Background(Background),
    Incast(Incast),
    Listed(Listed),
}

impl Traffic {
    /// The flows of `scenario`, which is valid, on its graph.
    pub fn new(scenario: &Scenario, graph: &Graph) -> Traffic {
        let until = Instant::ZERO + scenario.run.duration;
        let sources: Vec<Source> = scenario
            .workload
            .iter()
            .enumerate()
            .map(|(i, w)| Source::new(scenario, w, graph, hash::stream(scenario.seed, 0x7472_6166, i as u64)))
            .collect();
        let mut traffic = Traffic { heads: Vec::new(), sources, next_id: 0, to: vec![0; graph.hosts], until };
        traffic.heads = traffic.sources.iter_mut().map(Source::next).collect();
        traffic
    }

    /// Arrival of the next flow; [`Instant::NEVER`] when there is none.
    pub fn next_at(&self) -> Instant {
        let first = self.heads.iter().flatten().map(|a| a.at).min();
        first.filter(|at| *at < self.until).unwrap_or(Instant::NEVER)
    }

    /// The next flow, if it arrives before `end`.
    #[inline]
    pub fn next_before(&mut self, end: Instant) -> Option<Flow> {
        let mut first = None::<(Instant, usize)>;
        for (class, head) in self.heads.iter().enumerate() {
            if let Some(head) = head
                && first.is_none_or(|(at, _)| head.at < at)
            {
                first = Some((head.at, class));
            }
        }
        let (at, class) = first.filter(|(at, _)| *at < end && *at < self.until)?;
        let arrival = self.heads[class].take()?;
        self.heads[class] = self.sources[class].next();
        let slot = &mut self.to[arrival.dst as usize];
        let receiver_slot = *slot;
        *slot += 1;
        let id = self.next_id;
        self.next_id += 1;
        let Arrival { src, dst, size, port, .. } = arrival;
        Some(Flow { id, at, src, dst, size, receiver_slot, port, class: class as u8 })
    }
}

impl Iterator for Traffic {
    type Item = Flow;
    fn next(&mut self) -> Option<Flow> {
        self.next_before(Instant::NEVER)
    }
}

impl Source {
    fn new(scenario: &Scenario, workload: &Workload, graph: &Graph, stream: u64) -> Source {
        match workload {
            Workload::Background { .. } => Source::Background(Background::new(scenario, workload, graph, stream)),
            Workload::Incast { .. } => Source::Incast(Incast::new(workload, graph, stream)),
            Workload::LongLived { .. } => Source::Listed(Listed::long_lived(workload, graph)),
            Workload::FlowList { .. } => Source::Listed(Listed::flow_list(workload, graph)),
        }
    }
}

impl Process for Source {
    fn next(&mut self) -> Option<Arrival> {
        match self {
            Source::Background(background) => background.next(),
            Source::Incast(incast) => incast.next(),
            Source::Listed(listed) => listed.next(),
        }
    }
}
