//! The hosts of a lab: a namespace for each, and the fabric's end of its link.

use crate::fabric::outside::End;
use crate::ip::ETHERNET;
use crate::linux::namespace::Namespace;
use crate::linux::netlink::{Netlink, hardware_address, number_of};
use crate::linux::sys::{Ring, turn_offloads_off};
use crate::linux::{During, LabError};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;

/// Interface of a host.
const INTERFACE: &str = "eth0";

/// All hosts of a lab.
pub struct Network {
    hosts: Vec<Host>,
    netlink: Netlink,
}

/// A host.
struct Host {
    /// Namespace of its programs.
    namespace: Namespace,
    /// The fabric's end of its link, until the fabric starts.
    ring: Option<Ring>,
    /// Number of the interface at that end.
    interface: u32,
}

impl Network {
    /// Makes `count` hosts, whose frames have up to `longest` bytes. The caller has [entered](super::namespace::enter)
    /// a namespace of its own.
    ///
    /// # Errors
    /// If the system refuses a namespace, a link or a socket.
    pub fn new(count: u16, longest: usize) -> Result<Network, LabError> {
        let mtu = (longest - ETHERNET) as u32;
        let mut netlink = Netlink::open().during("cannot open a netlink socket", "")?;
        let hosts: Result<Vec<Host>, LabError> = (0..count)
            .map(|host| {
                make(&mut netlink, host, count, mtu, longest)
                    .during(format!("cannot set host {host} up"), "`make lab-doctor` prints what this kernel has")
            })
            .collect();
        Ok(Network { hosts: hosts?, netlink })
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Lets the TCP of all hosts use a congestion control, with ECN: from now on, and unless a program chooses another.
    ///
    /// # Errors
    /// If the kernel has no such congestion control, or does not allow it here.
    pub fn use_congestion_control(&self, name: &str) -> Result<(), LabError> {
        let set = |file: &str, value: &str| fs::write(format!("/proc/sys/net/ipv4/{file}"), value);
        let both = || set("tcp_congestion_control", name).and_then(|()| set("tcp_ecn", "1"));
        let mut hosts = self.hosts.iter();
        hosts.try_for_each(|host| host.namespace.within(both)).during(format!("cannot let hosts use {name}"), "")
    }

    /// Makes a pair of interfaces for each link of a network, for frames of up to `longest` bytes. They are gone with the
    /// lab's namespace.
    ///
    /// # Errors
    /// If the system refuses them.
    pub fn add_links(&mut self, links: usize, longest: usize) -> Result<(), LabError> {
        let here = File::open("/proc/thread-self/ns/net").during("cannot open the lab's namespace", "")?;
        let mtu = (longest - ETHERNET) as u32;
        let mut add = |link: usize| {
            let ends = [false, true].map(|b| name_of_end(End { link, b }));
            let [high, low] = (link as u16).to_be_bytes();
            self.netlink.add_pair(&ends[0], (&ends[1], [0x02, 0xb7, 2, 0, high, low]), here.as_fd(), mtu)?;
            ends.iter().try_for_each(|end| {
                no_ipv6(end)?;
                turn_offloads_off(end)?;
                self.netlink.bring_up(number_of(end)?)
            })
        };
        (0..links).try_for_each(|link| add(link).during(format!("cannot set link {link} up"), ""))
    }

    /// Takes the fabric's ends of all links. [`Running::start`](super::Running::start) does so too.
    pub fn take_rings(&mut self) -> Vec<Ring> {
        self.hosts.iter_mut().filter_map(|host| host.ring.take()).collect()
    }

    /// Opens the host's end of its link, beside the host's network stack.
    ///
    /// # Errors
    /// If the system refuses a socket.
    pub fn host_ring(&self, host: u16, longest: usize) -> io::Result<Ring> {
        self.within(host, || Ring::open(number_of(INTERFACE)?, longest))
    }

    /// Returns another descriptor of each host's namespace.
    ///
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn namespaces(&self) -> io::Result<Vec<Namespace>> {
        self.hosts.iter().map(|host| host.namespace.again()).collect()
    }

    /// Moves the calling thread into a host.
    ///
    /// # Errors
    /// If there is no such host, or the system does not allow it.
    pub fn join(&self, host: u16) -> Result<(), LabError> {
        let there = self.hosts.get(usize::from(host)).ok_or_else(|| io::Error::other("there is no such host"));
        there.and_then(|host| host.namespace.join()).during(format!("cannot enter host {host}"), "")
    }

    /// Calls `f` inside a host, for sockets that belong to it.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn within<T: Send>(&self, host: u16, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        self.hosts[usize::from(host)].namespace.within(f)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // An interface that is gone already needs no removal. The namespaces go with their descriptors.
        self.hosts.iter().for_each(|host| drop(self.netlink.remove(host.interface)));
    }
}

/// Opens the fabric's ends of the links to `count` hosts, in a process of the lab.
pub(super) fn rings_of_hosts(count: usize, longest: usize) -> io::Result<Vec<Ring>> {
    (0..count).map(|host| Ring::open(number_of(&name_of_host(host))?, longest)).collect()
}

/// Opens ends of links between processes, in a process of the lab.
pub(super) fn rings_of_ends(ends: impl Iterator<Item = End>, longest: usize) -> io::Result<Vec<Ring>> {
    ends.map(|end| Ring::open(number_of(&name_of_end(end))?, longest)).collect()
}

fn name_of_host(host: usize) -> String {
    format!("bw{host}")
}

fn name_of_end(end: End) -> String {
    format!("link{}{}", end.link, if end.b { 'b' } else { 'a' })
}

fn make(netlink: &mut Netlink, host: u16, count: u16, mtu: u32, longest: usize) -> io::Result<Host> {
    let namespace = Namespace::new()?;
    let name = name_of_host(host.into());
    netlink.add_pair(&name, (INTERFACE, hardware_address(host)), namespace.as_fd(), mtu)?;
    let number = number_of(&name)?;
    no_ipv6(&name)?;
    turn_offloads_off(&name)?;
    netlink.bring_up(number)?;
    namespace.within(|| {
        let mut netlink = Netlink::open()?;
        no_ipv6("all")?;
        turn_offloads_off(INTERFACE)?;
        let number = number_of(INTERFACE)?;
        netlink.bring_up(number_of("lo")?)?;
        netlink.bring_up(number)?;
        netlink.add_address(number, host)?;
        (0..count).filter(|other| *other != host).try_for_each(|other| netlink.add_neighbour(number, other))
    })?;
    Ok(Host { namespace, ring: Some(Ring::open(number, longest)?), interface: number })
}

/// Keeps IPv6 off an interface, so that nothing is sent that no program asked for.
fn no_ipv6(interface: &str) -> io::Result<()> {
    match fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1") {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
