//! Requests to the kernel about links, addresses and neighbours, which the `ip` program would make.

use crate::fabric::address;
pub(super) use backwater_capture::hardware_address;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bits of the network part of hosts' addresses.
const PREFIX: u8 = 16;

/// A socket for requests about the namespace of the thread that opened it.
pub(super) struct Netlink {
    socket: Socket,
    number: u32,
}

impl Netlink {
    pub(super) fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, number: 0 })
    }

    /// Makes a request, and waits for the kernel's answer.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.number += 1;
        let mut packet = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(message));
        packet.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        packet.header.sequence_number = self.number;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer: NetlinkMessage<RouteNetlinkMessage> =
            NetlinkMessage::deserialize(&answer).map_err(|why| io::Error::other(why.to_string()))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            _ => Ok(()),
        }
    }

    /// Makes a pair of interfaces, `name` here and `peer` in `namespace`.
    pub(super) fn add_pair(
        &mut self,
        name: &str,
        (peer, hardware): (&str, [u8; 6]),
        namespace: BorrowedFd,
        mtu: u32,
    ) -> io::Result<()> {
        let mut there = LinkMessage::default();
        there.attributes = vec![
            LinkAttribute::IfName(peer.into()),
            LinkAttribute::Address(hardware.to_vec()),
            LinkAttribute::Mtu(mtu),
            LinkAttribute::NetNsFd(namespace.as_raw_fd()),
        ];
        let mut here = LinkMessage::default();
        here.attributes = vec![
            LinkAttribute::IfName(name.into()),
            LinkAttribute::Mtu(mtu),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(there))),
            ]),
        ];
        self.request(RouteNetlinkMessage::NewLink(here), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes an interface, and its peer.
    pub(super) fn remove(&mut self, interface: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = interface;
        self.request(RouteNetlinkMessage::DelLink(link), 0)
    }

    /// Brings an interface up.
    pub(super) fn bring_up(&mut self, interface: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = interface;
        (link.header.flags, link.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Gives an interface the address of a host.
    pub(super) fn add_address(&mut self, interface: u32, host: u16) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = PREFIX;
        message.header.index = interface;
        let ip = IpAddr::V4(address(host));
        message.attributes = vec![AddressAttribute::Local(ip), AddressAttribute::Address(ip)];
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Sets the hardware address of another host, so that nobody has to ask for it.
    pub(super) fn add_neighbour(&mut self, interface: u32, host: u16) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = interface;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address(host))),
            NeighbourAttribute::LinkLayerAddress(hardware_address(host).to_vec()),
        ];
        self.request(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_EXCL)
    }
}

/// Returns the number of an interface of this thread's namespace.
pub(super) fn number_of(interface: &str) -> io::Result<u32> {
    Ok(if_nametoindex(interface)?)
}
