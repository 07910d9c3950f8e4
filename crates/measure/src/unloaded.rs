//! How long jobs take on a network that is never full: NICs send and receive one message after another, and nothing else
//! holds a message up.

use crate::ideal::Ideal;
use backwater_jobs::Machine;
use backwater_jobs::drive::{First, When, drive};
use backwater_scenario::job;
use backwater_scenario::model::{Scenario, Workload};
use backwater_scenario::topology::Graph;
use backwater_traffic::{FlowKeys, Traffic};
use backwater_types::{Duration, Instant};

/// Number of messages of a job that are sent; the rest is extrapolated.
const MESSAGES: u32 = 100_000;

/// Returns when the last job ends; `None` without jobs.
pub(crate) fn end_of_jobs(scenario: &Scenario, graph: &Graph, ideal: &Ideal, traffic: &Traffic) -> Option<Instant> {
    let workloads = scenario.workload.iter().enumerate();
    workloads.filter_map(|(class, workload)| end_of((class, workload), scenario, graph, ideal, traffic)).max()
}

fn end_of(
    (class, workload): (usize, &Workload),
    scenario: &Scenario,
    graph: &Graph,
    ideal: &Ideal,
    traffic: &Traffic,
) -> Option<Instant> {
    let (Workload::Collective { start, .. } | Workload::Job { start, .. }) = workload else { return None };
    let placed = job::placed(scenario, workload, graph).expect("scenario checked: the job fits");
    let (rates, first) = (rates(graph), traffic.closed_loop_flows_of(class).start as u32);
    let (payload, header) = (scenario.host.payload.0, scenario.host.header.0);
    // `[host]`: when its NIC can send the next message, and when it can receive one.
    let (mut sends, mut receives) = (vec![Instant::ZERO; graph.hosts], vec![Instant::ZERO; graph.hosts]);
    let (mut carried, mut path, mut keys) = (0, Vec::new(), FlowKeys::new(scenario));
    let mut carry = |number: u32, at: Instant| {
        if carried == MESSAGES {
            return [Instant::NEVER; 2];
        }
        carried += 1;
        let flow = traffic.closed_loop_flow(first + number, at);
        ideal.path(flow.src, flow.dst, keys.next(&flow), &mut path);
        let wire = flow.size + u64::from(flow.packets(payload).0) * header;
        let on_link = |host: u16| {
            let ps = u128::from(wire) * 8_000_000_000_000 / u128::from(rates[host as usize]);
            Duration(ps as u64)
        };
        let (sends, receives) = (&mut sends[flow.src as usize], &mut receives[flow.dst as usize]);
        let begin = at.max(*sends);
        *sends = begin + on_link(flow.src);
        *receives = (begin + ideal.completion(&path, flow.size)).max(*receives + on_link(flow.dst));
        [*receives, *receives + ideal.return_trip(&path)]
    };
    let mut machine = Machine::new(placed.clone());
    let start = Instant::ZERO + *start;
    let when = When { start, tick: 1, end: Instant::NEVER, first: First::Wakes };
    let took = drive(&mut machine, when, &mut carry).since(start);
    let more = f64::from(placed.messages()) / f64::from(carried.max(1));
    Some(start + Duration((took.0 as f64 * more.max(1.0)) as u64))
}

/// `[host]`: rate of its link, bits per second.
fn rates(graph: &Graph) -> Vec<u64> {
    let mut rates = vec![u64::MAX; graph.hosts];
    for link in &graph.links {
        for host in [link.a, link.b].into_iter().filter(|node| *node < graph.hosts) {
            rates[host] = link.rate.0;
        }
    }
    rates
}
