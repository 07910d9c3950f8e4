//! The ideal completion time: the completion time of a flow alone in the network, in closed form. Slowdown divides by
//! it.
//!
//! Source: traffic 7.3, generalised to unequal rates. On an idle path packet i starts at hop h when it has arrived
//! there and packet i - 1 has left: `F(i, h) = max(F(i - 1, h), F(i, h - 1)) + w_i / C_h`. All packets but the last are
//! full, so `F(n - 1, h) = sum of a full packet's times over hops 1..h + (n - 2) x the largest of them`. The last
//! packet takes one pass of the recursion. With integer picoseconds the recursion is exact; tests compare it packet by
//! packet, and with the simulator.

use backwater_fabric::choice::ByFlow;
use backwater_fabric::ports;
use backwater_fabric::routes::Routes;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_schemes::build::ser_time;
use backwater_types::{ControlFrame, Duration, Packet};

/// Ideal completion times in one network.
pub struct Ideal<'a> {
    graph: &'a Graph,
    ports: Vec<Vec<usize>>,
    routes: Routes,
    payload: u64,
    header: u64,
    ack: u64,
    host_delay: Duration,
    scenario: &'a Scenario,
    /// `[switch]`, counted without hosts: choice of the next hop.
    choices: Vec<ByFlow>,
}

impl<'a> Ideal<'a> {
    /// Prepares the ideal times with all links up. Each flow takes the path that ECMP by flow chooses, under any load
    /// balancing.
    pub fn new(graph: &'a Graph, scenario: &'a Scenario) -> Ideal<'a> {
        let host = &scenario.host;
        Ideal {
            graph,
            ports: ports(graph),
            routes: Routes::new(graph, &vec![true; graph.links.len()], scenario.conventions.paths),
            payload: host.payload.0,
            header: host.header.0,
            ack: host.ack.0,
            host_delay: host.delay,
            scenario,
            choices: (graph.hosts..graph.nodes.len()).map(|switch| ByFlow::new(scenario, graph, switch)).collect(),
        }
    }

    /// Writes the links that packets with hash key `key` take from `src` to `dst` into `path`.
    pub fn path(&self, src: u16, dst: u16, key: u32, path: &mut Vec<usize>) {
        path.clear();
        path.push(self.ports[src as usize][0]);
        let mut node = self.graph.switch_of(src as usize);
        // Any packet will do: the choice of a path reads only its addresses and its key.
        let packet = Packet { src, dst, key, ..Packet::from(ControlFrame::PfcResume(0)) };
        while node != dst as usize {
            let switch = node - self.graph.hosts;
            let port = self.routes.next(switch, dst, |count| self.choices[switch].among(count, &packet));
            let link = self.ports[node][port.expect("valid scenarios are connected") as usize];
            path.push(link);
            let l = &self.graph.links[link];
            node = if l.a == node { l.b } else { l.a };
        }
    }

    /// Time from arrival to the last byte at the receiver, for `size` bytes of payload along `path`.
    pub fn completion(&self, path: &[usize], size: u64) -> Duration {
        let packets = size.div_ceil(self.payload);
        let last = size - (packets - 1) * self.payload + self.header;
        // Departure of the first full packet from this hop, and its largest serialisation time so far.
        let (mut before, mut slowest) = (0u64, 0u64);
        let mut at = 0u64;
        for link in path {
            let l = &self.graph.links[*link];
            let ser = ser_time(&self.scenario.conventions, l.rate);
            if packets > 1 {
                let full = ser.of_bytes(self.payload + self.header).0;
                before += full;
                slowest = slowest.max(full);
                at = at.max(before + (packets - 2) * slowest);
            }
            at += ser.of_bytes(last).0;
            // Propagation shifts all later times equally.
            at += l.delay.0;
            before += l.delay.0;
        }
        Duration(at) + self.host_delay
    }

    /// Time of an ACK alone on the reverse of `path`.
    pub fn return_trip(&self, path: &[usize]) -> Duration {
        let hop = |link: &usize| {
            let l = &self.graph.links[*link];
            l.delay.0 + ser_time(&self.scenario.conventions, l.rate).of_bytes(self.ack).0
        };
        Duration(path.iter().map(hop).sum::<u64>()) + self.host_delay
    }

    /// Denominator of slowdown in the BFC authors' script (traffic 7.2), from the path's bottleneck rate and delays.
    pub fn bfc_script(&self, path: &[usize], size: u64) -> Duration {
        let propagation: u64 = path.iter().map(|l| self.graph.links[*l].delay.0).sum();
        let slowest = path.iter().map(|l| self.graph.links[*l].rate).min().unwrap_or_default();
        let packet = ser_time(&self.scenario.conventions, slowest).of_bytes(size.min(self.payload)).0;
        let packets = (size / self.payload).max(1);
        Duration(2 * propagation + packet * (packets + path.len() as u64 - 1))
    }
}
