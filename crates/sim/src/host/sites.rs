//! Where flows start: what their control has to know of their NIC and of their path.

use backwater_transport::Site;

/// The sites of a network, numbered: as many as differ.
#[derive(Clone, Debug)]
pub struct Sites {
    /// All of them.
    pub list: Vec<Site>,
    hosts: usize,
    /// `[source]`, or `[source x destination]` where windows differ by pair: which of them.
    of: Vec<u16>,
}

impl Sites {
    /// Of a network with so many hosts, before any is known.
    pub(crate) fn new(hosts: usize) -> Sites {
        Sites { list: Vec::new(), hosts, of: Vec::new() }
    }

    /// The next source, or pair.
    pub(crate) fn add(&mut self, site: Site) {
        let number = self.list.iter().position(|other| *other == site).unwrap_or_else(|| {
            self.list.push(site);
            self.list.len() - 1
        });
        self.of.push(number as u16);
    }

    /// The number of the site of a flow.
    #[inline]
    pub(crate) fn of(&self, src: u16, dst: u16) -> u16 {
        match self.of.len() == self.hosts {
            true => self.of[src as usize],
            false => self.of[src as usize * self.hosts + dst as usize],
        }
    }
}
