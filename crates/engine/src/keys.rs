//! The hashes by which switches know flows.

use crate::flow::Flow;
use backwater_fabric::hpcc;
use backwater_scenario::model::{Paths, Scenario};
use backwater_types::hash;
use std::collections::HashMap;

/// The hash by which switches know flow number `id`.
#[inline]
pub fn flow_key(seed: u64, id: u32) -> u32 {
    (hash::draw(seed ^ 0x6b65_7973, id as u64) >> 32) as u32
}

/// The keys of flows in order of arrival: all of them, or those of one source. A key is a hash of the flow's number, or, where
/// paths are chosen as in the HPCC simulator, its ports.
#[derive(Clone, Debug)]
pub struct FlowKeys {
    seed: u64,
    /// Flows so far between two hosts, which number source ports.
    opened: Option<HashMap<(u16, u16), u16>>,
}

impl FlowKeys {
    /// Before the first flow.
    pub fn new(scenario: &Scenario) -> FlowKeys {
        let by_ports = scenario.conventions.paths == Paths::HpccSim;
        FlowKeys { seed: scenario.seed, opened: by_ports.then(HashMap::new) }
    }

    /// The key of an ACK to a packet with this key.
    #[inline(always)]
    pub fn answer(&self, key: u32) -> u32 {
        match self.opened {
            Some(_) => key.rotate_left(16),
            None => hash::salted(key, 0x9e37_79b9_7f4a_7c15),
        }
    }

    /// The key of the next flow.
    pub fn next(&mut self, flow: &Flow) -> u32 {
        let Some(opened) = &mut self.opened else { return flow_key(self.seed, flow.id) };
        if flow.is_dependent() {
            // Which flow opens first is not known beforehand, so its number takes the place of the order.
            return hpcc::network::ports(hpcc::network::FIRST_SOURCE_PORT.wrapping_add(flow.id as u16), flow.port);
        }
        let opened = opened.entry((flow.src, flow.dst)).or_insert(0);
        let source_port = hpcc::network::FIRST_SOURCE_PORT.wrapping_add(*opened);
        *opened = opened.wrapping_add(1);
        hpcc::network::ports(source_port, flow.port)
    }
}
