//! Sites: the path parameters that congestion control needs at a source, such as line rate, window and base round trip.

use crate::hpcc::network::{BaseTimes, Longest};
use crate::paths::longest_propagation;
use backwater_scenario::Scenario;
use backwater_scenario::model::{Ties, Time, Transport, Window as Cap};
use backwater_scenario::topology::Graph;
use backwater_transport::Site;
use backwater_types::{BitsPerSec, Duration, LibraryRand, PintShape};
use std::collections::HashMap;

/// Distinct sites of a network, numbered.
#[derive(Clone, Debug)]
pub struct Sites {
    /// Distinct sites, `[number]`.
    pub list: Vec<Site>,
    hosts: usize,
    /// `[source]`, or `[source x destination]` if windows differ by pair: number of the site.
    of: Vec<u32>,
}

impl Sites {
    /// Numbers the sites of a network with `hosts` hosts. `sites` has one site for each source, or for each pair
    /// `[source x destination]`.
    pub fn new(hosts: usize, sites: impl Iterator<Item = Site>) -> Sites {
        let (mut list, mut known) = (Vec::new(), HashMap::new());
        let of = sites.map(|site| {
            let differs = (site.line_rate.to_bits(), site.window, site.base_rtt);
            *known.entry(differs).or_insert_with(|| {
                list.push(site);
                list.len() as u32 - 1
            })
        });
        let of = of.collect();
        Sites { list, hosts, of }
    }

    /// Number of the site of a flow.
    #[inline]
    pub fn of(&self, src: u16, dst: u16) -> u32 {
        match self.of.len() == self.hosts {
            true => self.of[src as usize],
            false => self.of[src as usize * self.hosts + dst as usize],
        }
    }
}

/// Returns the parameters with which ports measure link utilisation for PINT; the default for other transports. Ports
/// draw random numbers from `rand`, if it is given.
pub fn pint(scenario: &Scenario, graph: &Graph, rand: Option<LibraryRand>) -> PintShape {
    if scenario.host.transport != Transport::Pint {
        return PintShape::default();
    }
    let base_rtt = Duration::from_ns(Longest::new(graph, &scenario.host).rtt);
    PintShape { base_rtt, log_base: scenario.host.pint.log_base, rand }
}

/// Computes the sites of all flows of a valid scenario.
pub fn sites(scenario: &Scenario, graph: &Graph) -> Sites {
    let rate = |host: usize| graph.links[host].rate;
    let host = &scenario.host;
    let asked = host.window.unwrap_or(Cap::Bdp);
    let int_unit = host.int_unit(graph.fastest_nic());
    let site = |line_rate: BitsPerSec, window: u64, base_rtt: u64| Site {
        line_rate: line_rate.0 as f64,
        window,
        payload: host.payload.0,
        base_rtt: Duration::from_ns(base_rtt),
        int_unit,
        whole: scenario.conventions.time == Time::WholeNs,
        timer_events: scenario.conventions.ties == Ties::Ns3,
    };
    let at_least = |window: u64| window.max(host.payload.0);
    if asked == Cap::PairBdp {
        let times = BaseTimes::new(graph, host);
        let pairs = (0..graph.hosts).flat_map(|src| (0..graph.hosts).map(move |dst| (src, dst)));
        let of_pair = |(src, dst)| site(rate(src), at_least(times.bdp(src, dst)), times.rtt(src, dst));
        return Sites::new(graph.hosts, pairs.map(of_pair));
    }
    let asks_times = asked == Cap::BaseBdp || host.asks_base_rtt();
    let longest = if asks_times { Longest::new(graph, host) } else { Longest::default() };
    let window = match asked {
        Cap::Size(bytes) => bytes.0,
        Cap::None => u64::MAX,
        Cap::Bdp => at_least(Duration(2 * (longest_propagation(graph) + host.delay).0).bytes_at(graph.fastest_nic()).0),
        Cap::BaseBdp | Cap::PairBdp => at_least(longest.bdp),
    };
    Sites::new(graph.hosts, (0..graph.hosts).map(|src| site(rate(src), window, longest.rtt)))
}
