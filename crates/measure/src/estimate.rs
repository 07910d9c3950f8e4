//! An estimate of a run's flows, packet-hops and memory, before it runs.

use crate::ideal::Ideal;
use crate::unloaded::end_of_jobs;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology;
use backwater_traffic::{ENDLESS, FlowKeys, Traffic, counted_window, shortened};
use backwater_types::Instant;
use serde_json::{Value, json};

/// Number of flows drawn; the remaining flows are extrapolated.
const DRAWN: usize = 200_000;

/// Estimates flows, packet-hops, simulated time and memory of a run from its first flows.
///
/// Packet-hops count each data packet and one ACK per packet on every link of the flow's path. An endless flow has an
/// equal share of every link that it uses, and sends at the smallest of these shares.
///
/// A run ends when all counted flows have finished. That is not known before, so the estimate counts the whole cooldown,
/// of which a run may need a part. It counts jobs to their end on a network that is never full, and no retransmissions.
///
/// Memory is a fit to runs of 10 flows to 10 million. The simulation takes 5 MB, 100 KB per switch, 600 bytes per queue of
/// its ports and 80 bytes per flow. Writing the tables takes 12 MB, 365 bytes per flow and 170 bytes per sample of a
/// switch's buffer. Each flow after the first 400,000 takes 40 bytes in all, since the times of many flows lie in a file.
pub fn estimate(scenario: &Scenario) -> Value {
    let graph = topology::expand(&scenario.topology);
    let scenario = &*shortened(scenario, &graph);
    let ideal = Ideal::new(&graph, scenario);
    let (warm, counted) = counted_window(scenario);
    let until = Instant::ZERO + scenario.run.duration;
    let duration = scenario.run.duration.as_secs_f64();
    let packet = scenario.host.payload.0 + scenario.host.header.0;
    let (mut flows, mut hops, mut last) = (0u64, 0f64, Instant::ZERO);
    let (mut endless, mut sharing) = (Vec::new(), vec![0u32; 2 * graph.links.len()]);
    let mut closed_loop_hops = 0.0;
    let (mut path, mut keys) = (Vec::new(), FlowKeys::new(scenario));
    let traffic = Traffic::new(scenario, &graph);
    // A job runs to its end, so all its flows count.
    let end_of_jobs = end_of_jobs(scenario, &graph, &ideal, &traffic).unwrap_or(Instant::ZERO);
    let closed_loop_flows = traffic.closed_loop_flows();
    let drawn = closed_loop_flows.min(DRAWN as u32);
    for id in 0..drawn {
        let flow = traffic.closed_loop_flow(id, Instant::NEVER);
        ideal.path(flow.src, flow.dst, keys.next(&flow), &mut path);
        closed_loop_hops += flow.packets(scenario.host.payload.0).0 as f64 * 2.0 * path.len() as f64;
    }
    closed_loop_hops *= closed_loop_flows as f64 / drawn.max(1) as f64;
    for flow in traffic.filter(|flow| !flow.is_closed_loop()).take_while(|flow| flow.at < until).take(DRAWN) {
        ideal.path(flow.src, flow.dst, keys.next(&flow), &mut path);
        flows += 1;
        last = flow.at;
        if flow.size == ENDLESS {
            let directed = directions(&graph, flow.src as usize, &path);
            directed.iter().for_each(|direction| sharing[*direction] += 1);
            endless.push(directed);
        } else {
            hops += flow.packets(scenario.host.payload.0).0 as f64 * 2.0 * path.len() as f64;
        }
    }
    let part = if flows < DRAWN as u64 { 1.0 } else { last.0 as f64 * 1e-12 / duration };
    let share = |direction: &usize| graph.links[direction / 2].rate.0 as f64 / sharing[*direction] as f64;
    let endless: f64 =
        endless.iter().map(|path| path.iter().map(share).fold(f64::INFINITY, f64::min) * 2.0 * path.len() as f64).sum();
    let endless = endless * duration / (8 * packet) as f64;
    let (flows, hops) = (flows as f64 / part + closed_loop_flows as f64, hops / part + endless + closed_loop_hops);
    let switches = (graph.nodes.len() - graph.hosts) as f64;
    let sampled = counted.since(warm).as_secs_f64();
    let samples = match scenario.measure.sample.as_secs_f64() {
        0.0 => 0.0,
        period => switches * sampled / period,
    };
    let ports = graph.links.iter().flat_map(|link| [link.a, link.b]).filter(|node| *node >= graph.hosts).count();
    let queues = ports as f64 * scenario.switch.queues as f64;
    let few = flows.min(400_000.0);
    let of_flows = (80.0 + 365.0) * few + 40.0 * (flows - few);
    let memory = (5e6 + 1e5 * switches + 600.0 * queues) + (12e6 + 170.0 * samples) + of_flows;
    json!({
        "flows": flows.round() as u64,
        "packet_hops": hops.round() as u64,
        "sim_time_ps": until.max(end_of_jobs).0,
        "memory_mb": (memory / 1e6).ceil() as u64,
    })
}

/// Converts a path from `node` to directions of links. A link's direction is twice its number, plus 1 from `b` to `a`.
fn directions(graph: &topology::Graph, mut node: usize, path: &[usize]) -> Vec<usize> {
    let direction = |link: &usize| {
        let l = &graph.links[*link];
        let back = l.b == node;
        node = if back { l.a } else { l.b };
        2 * link + usize::from(back)
    };
    path.iter().map(direction).collect()
}
