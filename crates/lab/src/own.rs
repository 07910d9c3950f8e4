//! The scenario's own flows as the lab sends them: UDP from a port of each flow's own.
//!
//! Switches hash a flow to a queue or a path. The own flows have the hashes of the simulator's flows, so that the same
//! flows share a queue in both.

use crate::fabric::address;
use crate::ip::FiveTuple;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_traffic::{Flow, FlowKeys, Traffic};
use backwater_types::Instant;

/// Port at which hosts receive.
pub const PORT: u16 = 9;
/// First port from which hosts send.
const FIRST: u16 = 1024;

/// One of the scenario's own flows.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The flow.
    pub flow: Flow,
    /// Port from which its host sends. `None`: the host has no more, and any will do.
    pub port: Option<u16>,
    /// Hash of the flow in the simulator.
    pub key: u32,
}

impl Own {
    /// What switches of the lab tell the flow by, if that is known before it sends, and its number and hash in the
    /// simulator: for [`Fabric::name_flows`](crate::Fabric::name_flows).
    pub fn name(&self) -> Option<(FiveTuple, u32, u32)> {
        let (source, destination) = (address(self.flow.src), address(self.flow.dst));
        let flow = FiveTuple { protocol: 17, source, destination, ports: Some((self.port?, PORT)) };
        Some((flow, self.flow.id, self.key))
    }
}

/// Returns the flows of a scenario in the order of their starts.
pub fn own_flows(scenario: &Scenario, graph: &Graph) -> Vec<Own> {
    let until = Instant::ZERO + scenario.run.duration;
    let mut keys = FlowKeys::new(scenario);
    let mut sent = vec![0u16; graph.hosts];
    let flows = Traffic::new(scenario, graph).take_while(|flow| flow.at < until);
    flows
        .map(|flow| {
            let before = &mut sent[usize::from(flow.src)];
            let port = FIRST.checked_add(*before);
            *before = before.saturating_add(1);
            Own { flow, port, key: keys.next(&flow) }
        })
        .collect()
}
