//! Measurements of a fabric at fixed times of the network, as the simulator makes them: samples of switches and links,
//! and counters at both ends of the counted window. Switches also measure every packet; these measurements are taken at
//! the end.
//!
//! A measurement at some time comes before the events of that time.

use crate::fabric::Fabric;
use crate::frames::Frames;
use backwater_counters::{DelayHistogram, Drops, HeldQueue, PortStats};
use backwater_dataplane::{Assigned, DataPlane, Recirculated};
use backwater_measure::link_samples::{LinkMeter, LinkSample};
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
    link_meter: LinkMeter,
    links: Vec<LinkSample>,
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
            link_meter: LinkMeter::default(),
            links: Vec::new(),
            windows: [(warm == Instant::ZERO).then(|| fabric.stats(warm)), None],
            next: Instant::ZERO,
        };
        meter.next = meter.after(Instant::ZERO);
        meter
    }

    /// First time of a measurement after `now`.
    fn after(&self, now: Instant) -> Instant {
        let (sample, links) = (self.scenario.measure.sample, self.scenario.measure.links);
        let due = |period: Duration, from: Instant| {
            let first = from.0.max(now.0 + 1);
            (period > Duration::ZERO).then(|| Instant(first.next_multiple_of(period.0)))
        };
        let times = [Some(self.warm), Some(self.until), due(sample, self.warm), due(links, Instant::ZERO)];
        let left = times.into_iter().flatten().filter(|at| *at > now && *at <= self.until);
        left.min().unwrap_or(Instant::NEVER)
    }

    /// Time of the next measurement; [`Instant::NEVER`] after the last.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Last time whose events come before the next measurement.
    pub fn before_next(&self) -> Instant {
        Instant(self.next.0 - 1)
    }

    /// Makes the measurement of [`Meter::next`]. The fabric has run up to [`Meter::before_next`].
    pub fn measure<D: DataPlane<Extension = ()>, N: Nic<Frames>>(&mut self, fabric: &mut Fabric<D, N>) {
        let now = self.next;
        for (at, window) in [self.warm, self.until].into_iter().zip(&mut self.windows) {
            if now == at {
                *window = Some(fabric.stats(now));
            }
        }
        let is_due = |period: Duration| period > Duration::ZERO && now.0.is_multiple_of(period.0);
        let measure = &self.scenario.measure;
        if is_due(measure.links) || measure.links > Duration::ZERO && now == self.until {
            let (meter, links, mut i) = (&mut self.link_meter, &mut self.links, 0);
            fabric.link_counts(now, &mut |node, port, count| {
                links.extend(meter.since_last(i, now, (node, port), count));
                i += 1;
            });
        }
        if is_due(measure.sample) && now >= self.warm {
            let samples = &mut self.samples;
            fabric.switches(&mut |switch| samples.sample(measure, now, switch));
        }
        self.next = self.after(now);
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
        let (mut held, mut pools, mut recirculated) = (Vec::new(), Vec::new(), Recirculated::default());
        let (mut delays, mut valleys) = (Vec::new(), None);
        fabric.switches(&mut |switch| {
            drops.push((switch.number(), *switch.drops()));
            held.append(&mut switch.held_queues());
            pools.extend(PoolRow::of(switch));
            recirculated = recirculated.with(switch.readings().recirculated());
            let Some(meters) = switch.take_meters() else { return };
            delays.extend(meters.delays.map(|delays| (switch.number(), delays)));
            if let Some(found) = meters.valleys {
                *valleys.get_or_insert(0) += found.packets;
            }
        });
        let packet_hops = fabric.packet_hops();
        let (samples, links) = (self.samples, self.links);
        Measured { ports, drops, held, pools, recirculated, samples, links, delays, valleys, packet_hops, ended }
    }
}

/// Measurements of a network, or of a part of it.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    ports: Vec<AtPort>,
    /// Drops of each node.
    drops: Vec<(u32, Drops)>,
    /// Queues whose data may not leave at the end.
    held: Vec<HeldQueue>,
    pools: Vec<PoolRow>,
    recirculated: Recirculated,
    samples: Samples,
    links: Vec<LinkSample>,
    /// Queueing delays at each switch.
    delays: Vec<(u32, DelayHistogram)>,
    /// Data packets that switches sent back up to a higher tier.
    valleys: Option<u64>,
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
            outcome.held.extend(part.held);
            outcome.pools.extend(part.pools);
            outcome.recirculated = outcome.recirculated.with(part.recirculated);
            outcome.samples.join(part.samples);
            outcome.links.extend(part.links);
            part.delays.iter().for_each(|(node, delays)| outcome.add_delays(*node, delays));
            part.valleys.into_iter().for_each(|packets| outcome.add_valleys(packets));
            outcome.packet_hops += part.packet_hops;
            outcome.ended = outcome.ended.max(part.ended);
        }
        outcome
    }
}
