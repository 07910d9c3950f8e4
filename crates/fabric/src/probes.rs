//! Meters of packets and pauses, as the keys of `[measure]` ask for them.

use backwater_counters::Census;
use backwater_counters::link_meter::FlowsHeld;
use backwater_counters::meters::{DelayHistogram, Meters, ScheduledDelays, Valleys};
use backwater_dataplane::Grain;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_schemes::Switch;
use backwater_types::Duration;

/// Creates the meters of switch number `switch` of the graph, which has these links. Where Homa schedules packets, they
/// have this priority level and those below.
pub fn meters(
    scenario: &Scenario,
    graph: &Graph,
    switch: usize,
    links: &[usize],
    scheduled: Option<u8>,
) -> Option<Box<Meters>> {
    let measure = &scenario.measure;
    let layer = |node: usize| graph.nodes[node].layer;
    let peer_layer = |link: &usize| layer(graph.peer(*link, switch));
    let scheduled = scheduled.filter(|_| measure.queueing_delay);
    let up = |link: &usize| peer_layer(link) > layer(switch);
    (measure.active_flows || measure.queueing_delay || measure.valleys).then(|| {
        Box::new(Meters {
            delays: measure.queueing_delay.then(DelayHistogram::default),
            scheduled: scheduled.map(|level| ScheduledDelays::new(level, links.iter().map(peer_layer).collect())),
            census: measure.active_flows.then(|| Census::new(links.len())),
            valleys: measure.valleys.then(|| Valleys::new(links.iter().map(up).collect())),
        })
    })
}

/// Creates the record of flows that are paused at a port of a switch with these settings, or of a host beside it. `None`
/// unless pause frames name flows and the scenario samples links.
pub fn flows_held(scenario: &Scenario, table: &Switch) -> Option<FlowsHeld> {
    let by_flow = table.grain() == Grain::Flow;
    (scenario.measure.links > Duration::ZERO && by_flow).then(|| FlowsHeld::new(table.pausing().lapse))
}
