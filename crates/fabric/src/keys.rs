//! Hashes by which switches tell flows apart.

use crate::flow::Flow;
use crate::hpcc;
use backwater_scenario::model::{Paths, Scenario};
use backwater_types::hash;
use std::collections::HashMap;

/// Returns the hash of flow number `id`.
#[inline]
pub fn flow_key(seed: u64, id: u32) -> u32 {
    (hash::draw(seed ^ 0x6b65_7973, id as u64) >> 32) as u32
}

/// Destination port of RoCEv2.
const RDMA_PORT: u16 = 4791;

/// Keys of flows in order of arrival: of all flows, or of those of one source. A key is a hash of the flow's number.
/// Where paths are chosen as in the HPCC simulator, a key is the flow's ports.
#[derive(Clone, Debug)]
pub struct FlowKeys {
    seed: u64,
    /// `(source, destination)`: flows opened so far. The count numbers their source ports.
    opened: Option<HashMap<(u16, u16), u16>>,
}

impl FlowKeys {
    /// Starts before the first flow.
    pub fn new(scenario: &Scenario) -> FlowKeys {
        let by_ports = scenario.conventions.paths == Paths::HpccSim;
        FlowKeys { seed: scenario.seed, opened: by_ports.then(HashMap::new) }
    }

    /// Returns the key of an ACK to a packet with this key.
    #[inline(always)]
    pub fn answer(&self, key: u32) -> u32 {
        match self.opened {
            Some(_) => key.rotate_left(16),
            None => hash::salted(key, 0x9e37_79b9_7f4a_7c15),
        }
    }

    /// Returns the key of the next flow. Flows of a connection of a job have one key, and so one path.
    pub fn next(&mut self, flow: &Flow) -> u32 {
        if flow.is_of_queue_pair() {
            if self.opened.is_some() {
                return hpcc::network::ports(flow.port, RDMA_PORT);
            }
            let ends = (flow.src as u64) << 48 | (flow.dst as u64) << 32 | (flow.class as u64) << 16 | flow.port as u64;
            return (hash::draw(self.seed ^ 0x636f_6e6e, ends) >> 32) as u32;
        }
        let Some(opened) = &mut self.opened else { return flow_key(self.seed, flow.id) };
        if flow.is_closed_loop() {
            // The order in which closed-loop flows open is not known beforehand, so the flow's number takes its place.
            return hpcc::network::ports(hpcc::network::FIRST_SOURCE_PORT.wrapping_add(flow.id as u16), flow.port);
        }
        let opened = opened.entry((flow.src, flow.dst)).or_insert(0);
        let source_port = hpcc::network::FIRST_SOURCE_PORT.wrapping_add(*opened);
        *opened = opened.wrapping_add(1);
        hpcc::network::ports(source_port, flow.port)
    }
}
