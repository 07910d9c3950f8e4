//! A switch, as measurements see it.

use crate::meters::Meters;
use crate::stats::Drops;
use backwater_dataplane::Readings;
use backwater_types::{PortId, QueueId};
use serde::{Deserialize, Serialize};

/// Queue with data that may not leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldQueue {
    /// Number of the switch in the graph.
    pub node: u32,
    /// Egress port.
    pub port: PortId,
    /// Data queue.
    pub queue: QueueId,
    /// Data in the queue, bytes on the wire.
    pub bytes: u64,
    /// Flows with packets in the queue, by the first packet of each.
    pub flows: Vec<u32>,
}

/// Switch, as measurements see it.
pub trait SwitchView {
    /// Returns the number of the switch in the graph.
    fn number(&self) -> u32;
    /// Returns the number of ports.
    fn ports(&self) -> PortId;
    /// Returns the readings of the data plane.
    fn readings(&self) -> &dyn Readings;
    /// Whether `port` has a frame that it may send.
    fn sendable(&self, port: PortId) -> bool;
    /// Returns the number of flows with data at `port`, if it is counted.
    fn active_flows(&self, port: PortId) -> Option<u32>;
    /// Returns the packets dropped by the switch or lost on its links.
    fn drops(&self) -> &Drops;
    /// Takes the meters of the switch, if any were asked for; it measures no more.
    fn take_meters(&mut self) -> Option<Box<Meters>>;

    /// Returns the queues of ports whose data may not leave.
    fn held_queues(&self) -> Vec<HeldQueue> {
        let readings = self.readings();
        let held = |port: PortId| readings.queued(port) > 0 && !self.sendable(port);
        let held: Vec<bool> = (0..self.ports()).map(held).collect();
        let mut queues: Vec<HeldQueue> = Vec::new();
        if !held.contains(&true) {
            return queues;
        }
        readings.visit(&mut |port, queue, packet, _| {
            // FlowSail's marks belong to no flow.
            if !held[port as usize] || packet.wire == 0 {
                return;
            }
            if queues.last().is_none_or(|last| (last.port, last.queue) != (port, queue)) {
                queues.push(HeldQueue { node: self.number(), port, queue, bytes: 0, flows: Vec::new() });
            }
            if let Some(last) = queues.last_mut() {
                last.bytes += u64::from(packet.wire);
                if !last.flows.contains(&packet.flow) {
                    last.flows.push(packet.flow);
                }
            }
        });
        queues
    }
}
