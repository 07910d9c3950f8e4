//! Where a switch or a host stands: what is around it, as far as building it goes.

use crate::registry::Switch;
use backwater_types::{BitsPerSec, Duration};

/// A switch in its place.
#[derive(Clone, Debug)]
pub struct SwitchSite<'a> {
    /// Its name.
    pub name: &'a str,
    /// Hops from the hosts: 1 where hosts are attached. Turns are elided by it.
    pub layer: u32,
    /// Number that tells its random draws from other switches'.
    pub number: u64,
    /// Rate of hosts' links, by which the HPCC simulator scales thresholds.
    pub nic_rate: BitsPerSec,
    /// The first level of Homa's scheduled packets, where that is what hosts send.
    pub scheduled: Option<u8>,
    /// What is at each port.
    pub ports: Vec<Neighbour<'a>>,
}

/// A NIC in its place.
#[derive(Clone, Copy, Debug)]
pub struct NicSite {
    /// Number of its host, which is its address, and tells its random draws from others'.
    pub host: u16,
    /// Rate of its link.
    pub rate: BitsPerSec,
    /// Propagation delay of its link.
    pub delay: Duration,
}

/// What is at the other end of a port's link.
#[derive(Clone, Debug)]
pub struct Neighbour<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its layer; 0 of a host.
    pub layer: u32,
    /// What it does, if it is a switch.
    pub switch: Option<&'a Switch>,
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Propagation delay of the link.
    pub delay: Duration,
}
