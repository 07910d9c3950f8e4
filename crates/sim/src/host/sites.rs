//! Where flows start: what their control has to know of their NIC and of their path.

use backwater_transport::Site;
use std::collections::HashMap;

/// The sites of a network, numbered: as many as differ.
#[derive(Clone, Debug)]
pub struct Sites {
    /// All of them.
    pub list: Vec<Site>,
    hosts: usize,
    /// `[source]`, or `[source x destination]` where windows differ by pair: which of them.
    of: Vec<u32>,
}

impl Sites {
    /// One for each source of a network with so many hosts, or in this order for each pair of source and destination.
    pub(crate) fn new(hosts: usize, sites: impl Iterator<Item = Site>) -> Sites {
        let (mut list, mut known) = (Vec::new(), HashMap::new());
        let of = sites.map(|site| {
            let differs = (site.line_rate.to_bits(), site.window, site.base_rtt);
            *known.entry(differs).or_insert_with(|| {
                list.push(site);
                list.len() as u32 - 1
            })
        });
        let of = of.collect();
        Sites { list, hosts, of }
    }

    /// The number of the site of a flow.
    #[inline]
    pub(crate) fn of(&self, src: u16, dst: u16) -> u32 {
        match self.of.len() == self.hosts {
            true => self.of[src as usize],
            false => self.of[src as usize * self.hosts + dst as usize],
        }
    }
}
