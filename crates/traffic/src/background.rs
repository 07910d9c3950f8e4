//! Background traffic: an open-loop process over pairs of hosts.

use crate::flow::Arrival;
use crate::gaps::Gaps;
use crate::hosts::Hosts;
use crate::load::flow_rate;
use crate::process::Process;
use crate::sizes::Sampler;
use backwater_scenario::model::{BACKGROUND_PORT, Scenario, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, hash};

/// Background flows. Gap, source, destination and size of flow k are functions of k.
#[derive(Clone, Debug)]
pub struct Background {
    stream: u64,
    k: u64,
    /// Time of the latest arrival, picoseconds.
    at: f64,
    from: Hosts,
    to: Hosts,
    sizes: Sampler,
    gaps: Gaps,
}

impl Background {
    /// Creates the process of a background workload, which draws from random stream `stream`.
    pub fn new(scenario: &Scenario, workload: &Workload, graph: &Graph, stream: u64) -> Background {
        let Workload::Background { sizes, arrivals, from, to, start, .. } = workload else {
            unreachable!("built from a background workload")
        };
        let (from, to) = (Hosts::named(graph, from), Hosts::named(graph, to));
        let sizes = Sampler::new(sizes);
        let rate = flow_rate(scenario, workload, graph, &from, &to, &sizes);
        let gaps = Gaps::new(*arrivals, rate);
        Background { stream, k: 0, at: start.0 as f64, from, to, sizes, gaps }
    }
}

impl Process for Background {
    fn next(&mut self) -> Option<Arrival> {
        let word = |i: u64| hash::draw(self.stream, 4 * self.k + i);
        // An f64 holds whole picoseconds exactly up to 2.5 hours.
        self.at += self.gaps.draw(word(0));
        let src = self.from.draw(word(1));
        let arrival = Arrival {
            at: Instant(self.at as u64),
            src,
            dst: self.to.draw_but(word(2), src),
            size: self.sizes.draw(word(3)),
            port: BACKGROUND_PORT,
            priority: None,
            own: None,
        };
        self.k += 1;
        Some(arrival)
    }
}
