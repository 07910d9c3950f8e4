//! Measurements of a fabric at fixed times of the network: samples of switches, and counters at both ends of the
//! counted window.

use crate::fabric::Fabric;
use crate::frames::Frames;
use backwater_counters::PortStats;
use backwater_dataplane::DataPlane;
use backwater_measure::{Outcome, Samples};
use backwater_nic::Nic;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_traffic::counted_window;
use backwater_types::{Duration, Instant};

/// Measurements so far.
pub struct Meter {
    scenario: Scenario,
    graph: Graph,
    warm: Instant,
    until: Instant,
    samples: Samples,
    /// Counters of every port at the start and at the end of the counted window.
    windows: [Option<Vec<PortStats>>; 2],
    /// Time of the next measurement; [`Instant::NEVER`] after the last.
    next: Instant,
}

impl Meter {
    /// Prepares the measurements that a scenario asks for.
    pub fn new<D: DataPlane<Extension = ()>, N: Nic<Frames>>(
        scenario: &Scenario,
        graph: &Graph,
        fabric: &mut Fabric<D, N>,
    ) -> Meter {
        let (warm, until) = counted_window(scenario);
        let mut samples = Samples::default();
        fabric.switches(&mut |switch| samples.add_switch(switch, scenario, graph));
        let mut meter = Meter {
            scenario: scenario.clone(),
            graph: graph.clone(),
            warm,
            until,
            samples,
            windows: [None, None],
            next: Instant::ZERO,
        };
        meter.next = meter.after(None);
        meter
    }

    /// First time of a measurement after `now`, or of all.
    fn after(&self, now: Option<Instant>) -> Instant {
        let period = self.scenario.measure.sample;
        let later = |at: &Instant| now.is_none_or(|now| *at > now);
        let sample = match (period > Duration::ZERO, now) {
            (false, _) => None,
            (true, None) => Some(Instant(self.warm.0.next_multiple_of(period.0))),
            (true, Some(now)) => Some(Instant((now.0 + 1).max(self.warm.0).next_multiple_of(period.0))),
        };
        let sample = sample.filter(|at| *at <= self.until);
        [Some(self.warm), Some(self.until), sample].into_iter().flatten().filter(later).min().unwrap_or(Instant::NEVER)
    }

    /// Time of the next measurement; [`Instant::NEVER`] after the last.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Makes the measurement of [`Meter::next`], up to which the fabric has run.
    pub fn measure<D: DataPlane<Extension = ()>, N: Nic<Frames>>(&mut self, fabric: &mut Fabric<D, N>) {
        let now = self.next;
        for (at, window) in [self.warm, self.until].into_iter().zip(&mut self.windows) {
            if now == at {
                *window = Some(fabric.stats(now));
            }
        }
        let period = self.scenario.measure.sample;
        if period > Duration::ZERO && now >= self.warm && now.0.is_multiple_of(period.0) {
            let (samples, measure) = (&mut self.samples, &self.scenario.measure);
            fabric.switches(&mut |switch| samples.sample(measure, now, switch));
        }
        self.next = self.after(Some(now));
    }

    /// Turns the measurements into an outcome, without its flows and its digest.
    pub fn outcome<D: DataPlane<Extension = ()>, N: Nic<Frames>>(self, fabric: &mut Fabric<D, N>) -> Outcome {
        let mut outcome = Outcome::empty(&self.scenario, &self.graph);
        let ended = fabric.reached();
        let total = fabric.stats(ended);
        let [from, to] = self.windows.map(|window| window.unwrap_or_else(|| total.clone()));
        let assigned = fabric.assigned();
        let links = backwater_fabric::ports(&self.graph);
        let places = links.iter().enumerate().flat_map(|(node, links)| {
            links.iter().enumerate().map(move |(port, link)| ((node as u32, port as u16), *link))
        });
        for (i, (place, link)) in places.enumerate() {
            let link = self.graph.links[link];
            outcome.take_port(place, &link, [&from[i], &to[i], &total[i]], assigned[i]);
        }
        for host in 0..self.graph.hosts {
            outcome.drops[host] = fabric.host_drops(host as u16);
        }
        fabric.switches(&mut |switch| outcome.take_switch(switch));
        outcome.samples = self.samples;
        outcome.packet_hops = fabric.packet_hops();
        outcome.ended = ended;
        outcome
    }
}
