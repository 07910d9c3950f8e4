//! Measurements of a fabric at fixed times of the network: samples of switches, and counters at both ends of the
//! counted window.

use crate::fabric::Fabric;
use crate::frames::Frames;
use backwater_counters::{Drops, PortStats};
use backwater_dataplane::{Assigned, DataPlane, Recirculated};
use backwater_measure::outcome::PoolRow;
use backwater_measure::{Outcome, Samples};
use backwater_nic::Nic;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_traffic::counted_window;
use backwater_types::{Duration, Instant};
use serde::{Deserialize, Serialize};

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

    /// Returns the measurements.
    pub fn measured<D: DataPlane<Extension = ()>, N: Nic<Frames>>(self, fabric: &mut Fabric<D, N>) -> Measured {
        let ended = fabric.reached();
        let total = fabric.stats(ended);
        let [from, to] = self.windows.map(|window| window.unwrap_or_else(|| total.clone()));
        let nodes = fabric.nodes();
        let links = backwater_fabric::ports(&self.graph);
        let places = nodes.clone().flat_map(|node| {
            links[node].iter().enumerate().map(move |(port, link)| ((node as u32, port as u16), *link))
        });
        let stats = from.into_iter().zip(to).zip(total).map(|((from, to), total)| [from, to, total]);
        let ports = places.zip(stats).zip(fabric.assigned());
        let ports = ports.map(|(((place, link), stats), assigned)| AtPort { place, link, stats, assigned }).collect();
        let mut drops: Vec<(u32, Drops)> = nodes
            .filter(|node| *node < self.graph.hosts)
            .map(|host| (host as u32, fabric.host_drops(host as u16)))
            .collect();
        let (mut pools, mut recirculated) = (Vec::new(), Recirculated::default());
        fabric.switches(&mut |switch| {
            drops.push((switch.number(), *switch.drops()));
            pools.extend(PoolRow::of(switch));
            recirculated = recirculated.with(switch.readings().recirculated());
        });
        let packet_hops = fabric.packet_hops();
        Measured { ports, drops, pools, recirculated, samples: self.samples, packet_hops, ended }
    }
}

/// Measurements of a network, or of a part of it.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    ports: Vec<AtPort>,
    /// Drops of each node.
    drops: Vec<(u32, Drops)>,
    pools: Vec<PoolRow>,
    recirculated: Recirculated,
    samples: Samples,
    packet_hops: u64,
    ended: Instant,
}

/// Measurements of one port.
#[derive(Serialize, Deserialize)]
struct AtPort {
    /// Node and port.
    place: (u32, u16),
    /// Number of the link.
    link: usize,
    /// Counters at the start and at the end of the counted window, and at the end of the run.
    stats: [PortStats; 3],
    assigned: Assigned,
}

impl Measured {
    /// Joins the parts of a network to an outcome, without its flows and its digest.
    pub fn outcome(parts: impl IntoIterator<Item = Measured>, scenario: &Scenario, graph: &Graph) -> Outcome {
        let mut outcome = Outcome::empty(scenario, graph);
        for part in parts {
            for AtPort { place, link, stats: [from, to, total], assigned } in part.ports {
                outcome.take_port(place, &graph.links[link], [&from, &to, &total], assigned);
            }
            part.drops.into_iter().for_each(|(node, drops)| outcome.drops[node as usize] = drops);
            outcome.pools.extend(part.pools);
            outcome.recirculated = outcome.recirculated.with(part.recirculated);
            outcome.samples.join(part.samples);
            outcome.packet_hops += part.packet_hops;
            outcome.ended = outcome.ended.max(part.ended);
        }
        outcome
    }
}
