//! A preview of a run without running it: nodes and links, and the flows in order of arrival.

use crate::columns::{Column, Values};
use backwater_fabric::hpcc::network::Longest;
use backwater_scenario::model::{Host, Scenario};
use backwater_scenario::topology;
use backwater_traffic::Traffic;
use backwater_types::{Duration, Instant};
use serde_json::{Value, json};

/// Lists nodes and links of a valid scenario in the order of its graph. `base_bdp_bytes` is the largest base BDP of any
/// pair of hosts, with hosts that answer without delay, as in HPCC's simulator.
pub fn network(scenario: &Scenario) -> Value {
    let graph = topology::expand(&scenario.topology);
    let node = |(i, n): (usize, &topology::Node)| json!({ "name": n.name, "id": n.id, "host": i < graph.hosts });
    let link = |l: &topology::Link| json!({ "a": l.a, "b": l.b, "rate_bps": l.rate.0, "delay_ps": l.delay.0 });
    let at_once = Host { delay: Duration::ZERO, ..scenario.host.clone() };
    json!({
        "nodes": graph.nodes.iter().enumerate().map(node).collect::<Value>(),
        "links": graph.links.iter().map(link).collect::<Value>(),
        "base_bdp_bytes": Longest::new(&graph, &at_once).bdp,
    })
}

/// Lists the flows of a valid scenario in batches of at most `rows`: flows of collectives first, then all others in
/// order of arrival. Source, destination and class are numbers. An endless flow has size `u64::MAX`. A flow of a
/// collective has arrival `u64::MAX`, because it may wait for other flows.
pub fn flow_batches(scenario: &Scenario, rows: usize) -> impl Iterator<Item = Vec<Column>> + use<> {
    let graph = topology::expand(&scenario.topology);
    let (closed_loop, open_loop) = (Traffic::new(scenario, &graph), Traffic::new(scenario, &graph));
    let closed_loop =
        (0..closed_loop.closed_loop_flows()).map(move |id| closed_loop.closed_loop_flow(id, Instant::NEVER));
    let mut flows = closed_loop.chain(open_loop.filter(|flow| !flow.is_closed_loop())).peekable();
    std::iter::from_fn(move || {
        flows.peek()?;
        let (mut at, mut src, mut dst, mut size) = (vec![], vec![], vec![], vec![]);
        let (mut port, mut class, mut priority) = (vec![], vec![], vec![]);
        for flow in flows.by_ref().take(rows) {
            at.push(flow.at.0);
            src.push(flow.src);
            dst.push(flow.dst);
            size.push(flow.size);
            port.push(flow.port);
            class.push(flow.class);
            priority.push(flow.priority);
        }
        Some(vec![
            ("arrival_ps", Values::U64(at)),
            ("src", Values::U16(src)),
            ("dst", Values::U16(dst)),
            ("size_bytes", Values::U64(size)),
            ("port", Values::U16(port)),
            ("class", Values::U8(class)),
            ("priority", Values::U8(priority)),
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_scenario::load_str;
    use std::path::Path;

    const CLOS: &str = r#"
        scheme = "bfc"
        topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, host_rate = "100 Gbps",
                     core_rate = "100 Gbps", host_delay = "1 us", core_delay = "1 us" }
        workload = [{ kind = "background", sizes = { fixed = "1 KB" }, load = 0.5 }]
        run = { duration = "10 us" }
    "#;

    #[test]
    fn a_preview_has_the_network_and_flows_of_a_run() {
        let scenario = &load_str(CLOS, Path::new(""), "clos", &[], None).expect("valid").runs[0].scenario;
        let network = network(scenario);
        assert_eq!(network["nodes"][5], json!({ "name": "leaf1", "id": 5, "host": false }));
        assert_eq!(
            network["links"][3],
            json!({ "a": 3, "b": 5, "rate_bps": 100_000_000_000u64, "delay_ps": 1_000_000 })
        );
        // The base round trip is 8 us of propagation plus 80 ns on each of 4 links: 8.32 us at 100 Gb/s are 104,000
        // bytes.
        assert_eq!(network["base_bdp_bytes"], json!(104_000));
        let graph = topology::expand(&scenario.topology);
        let expected: Vec<u64> = Traffic::new(scenario, &graph).map(|flow| flow.at.0).collect();
        let batches: Vec<Vec<Column>> = flow_batches(scenario, 7).collect();
        let arrivals = batches.iter().flat_map(|columns| match &columns[0] {
            ("arrival_ps", Values::U64(at)) => at.clone(),
            other => panic!("{other:?}"),
        });
        assert_eq!(arrivals.collect::<Vec<_>>(), expected);
        assert!(batches.len() > 1 && expected.len() > 50);
    }
}
