//! Meters of packets and pauses, where the scenario asks for them. They are the simulator's, and asked for by the same
//! keys.

use backwater_counters::link_meter::FlowsHeld;
use backwater_counters::meters::{Census, DelayHistogram, Meters, Valleys};
use backwater_dataplane::Grain;
use backwater_fabric::ports;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_schemes::Switch;
use backwater_types::Duration;

/// Creates the meters of switch number `number` of the graph. The lab carries no scheduled packets of Homa.
pub(super) fn meters(scenario: &Scenario, graph: &Graph, number: usize) -> Option<Box<Meters>> {
    let (measure, links) = (&scenario.measure, &ports(graph)[number]);
    let layer = |node: usize| graph.nodes[node].layer;
    let up = |link: &usize| layer(graph.peer(*link, number)) > layer(number);
    (measure.active_flows || measure.queueing_delay || measure.valleys).then(|| {
        Box::new(Meters {
            delays: measure.queueing_delay.then(DelayHistogram::default),
            scheduled: None,
            census: measure.active_flows.then(|| Census::new(links.len())),
            valleys: measure.valleys.then(|| Valleys::new(links.iter().map(up).collect())),
        })
    })
}

/// Creates the record of flows that are paused at a port of a switch with these settings, or of a host beside it. `None`
/// unless pause frames name flows and the scenario samples links.
pub(super) fn flows_held(scenario: &Scenario, table: &Switch) -> Option<FlowsHeld> {
    let by_flow = table.grain() == Grain::Flow;
    (scenario.measure.links > Duration::ZERO && by_flow).then(|| FlowsHeld::new(table.pausing().lapse))
}
