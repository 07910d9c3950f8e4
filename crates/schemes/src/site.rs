//! Place of a switch or a host in the network: the properties of its links and neighbours that it is built by.

use crate::registry::Switch;
use backwater_types::{BitsPerSec, Duration};

/// Place of a switch.
#[derive(Clone, Debug)]
pub struct SwitchSite<'a> {
    /// Name of the switch.
    pub name: &'a str,
    /// Hops from the hosts: 1 where hosts are attached. Backpressure may be suppressed by it.
    pub layer: u32,
    /// Number that selects its streams of random numbers.
    pub number: u64,
    /// Rate of hosts' links, by which the HPCC simulator scales thresholds.
    pub nic_rate: BitsPerSec,
    /// First level of Homa's scheduled packets, where hosts run Homa.
    pub scheduled: Option<u8>,
    /// Neighbour at each port.
    pub ports: Vec<Neighbour<'a>>,
}

/// Place of a NIC.
#[derive(Clone, Copy, Debug)]
pub struct NicSite {
    /// Number of its host, which is its address and selects its stream of random numbers.
    pub host: u16,
    /// Rate of its link.
    pub rate: BitsPerSec,
    /// Propagation delay of its link.
    pub delay: Duration,
}

/// Node at the other end of a port's link.
#[derive(Clone, Debug)]
pub struct Neighbour<'a> {
    /// Name of the node.
    pub name: &'a str,
    /// Hops from the hosts; 0 of a host.
    pub layer: u32,
    /// Table of the switch; `None` for a host.
    pub switch: Option<&'a Switch>,
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Propagation delay of the link.
    pub delay: Duration,
}
