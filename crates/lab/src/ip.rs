//! What the lab reads of a host's frame, and the one thing that it writes into it: congestion experienced.
//!
//! A flow is told by protocol, addresses and ports, and by nothing that varies within a flow. Fragments are told by
//! addresses and protocol alone, because only the first has ports.

use backwater_types::hash;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::net::Ipv4Addr;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// Smallest frame on a wire, with its check sequence.
pub const SMALLEST_WIRE: u16 = 64;

const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const ARP: u16 = 0x0806;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Flow control of IEEE 802.3, which PFC uses.
const MAC_CONTROL: u16 = 0x8808;
/// Local experimental EtherType of IEEE 802, which frames between our switches use.
pub const OURS: u16 = 0x88b5;

const TCP: u8 = 6;
const NOT_ECT: u8 = 0;
const CE: u8 = 3;
/// Offset of the byte with the ECN bits in a frame, and of the header's checksum.
const TOS: usize = ETHERNET + 1;
const CHECKSUM: usize = ETHERNET + 10;

/// Identity of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// IP protocol.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Source and destination port; `None` for fragments, and for protocols other than TCP and UDP.
    pub ports: Option<(u16, u16)>,
}

impl FiveTuple {
    /// Hash of the flow, by which switches tell it from others.
    pub fn key(&self, seed: u64) -> u32 {
        let addresses = u64::from(self.source.to_bits()) << 32 | u64::from(self.destination.to_bits());
        let (from, to) = self.ports.unwrap_or_default();
        let ports = u64::from(from) << 32 | u64::from(to) << 16 | u64::from(self.protocol) << 1;
        (hash::stream(seed ^ 0x6b65_7973, addresses, ports | u64::from(self.ports.is_some())) >> 32) as u32
    }
}

/// A frame with an IPv4 packet, as far as the lab reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Flow.
    pub flow: FiveTuple,
    /// Whether it is a TCP segment that only acknowledges.
    pub pure_ack: bool,
    /// Whether it is the last packet of its flow: a TCP segment with FIN or RST.
    pub last: bool,
    /// Whether its transport is ECN-capable.
    pub ect: bool,
    /// Whether it has experienced congestion already.
    pub ce: bool,
}

/// Reason for which the lab does not carry a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// Shorter than an Ethernet and an IPv4 header.
    Runt,
    /// Longer than the link's MTU allows, such as a frame that segmentation offload has not split.
    TooLong,
    /// With a VLAN tag.
    Vlan,
    /// A question of ARP. The lab sets all neighbours itself.
    Arp,
    /// IPv6.
    Ipv6,
    /// A control frame, which only switches and NICs of the lab may send.
    Control,
    /// Another protocol than IPv4.
    Protocol,
    /// A header that contradicts itself, or the length of the frame.
    Malformed,
    /// An address that is no host of the lab.
    NoHost,
    /// The store of frames is full, or the flow's queue in the NIC.
    NoRoom,
}

impl Refused {
    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();
    /// All reasons, in the order of their numbers.
    pub const ALL: [Refused; 10] = {
        use Refused::*;
        [Runt, TooLong, Vlan, Arp, Ipv6, Control, Protocol, Malformed, NoHost, NoRoom]
    };

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Refused::Runt => "runt",
            Refused::TooLong => "too-long",
            Refused::Vlan => "vlan",
            Refused::Arp => "arp",
            Refused::Ipv6 => "ipv6",
            Refused::Control => "control",
            Refused::Protocol => "protocol",
            Refused::Malformed => "malformed",
            Refused::NoHost => "no-host",
            Refused::NoRoom => "no-room",
        }
    }
}

/// Reads a frame of at most `longest` bytes, without its check sequence.
///
/// # Errors
/// If the lab does not carry such frames.
pub fn read(frame: &[u8], longest: usize) -> Result<Seen, Refused> {
    if frame.len() > longest {
        return Err(Refused::TooLong);
    }
    let Some(ethertype) = frame.get(12..ETHERNET) else { return Err(Refused::Runt) };
    match u16::from_be_bytes([ethertype[0], ethertype[1]]) {
        IPV4 => {}
        ARP => return Err(Refused::Arp),
        IPV6 => return Err(Refused::Ipv6),
        MAC_CONTROL | OURS => return Err(Refused::Control),
        tag if VLAN.contains(&tag) => return Err(Refused::Vlan),
        _ => return Err(Refused::Protocol),
    }
    if frame.len() < ETHERNET + 20 {
        return Err(Refused::Runt);
    }
    let sliced = SlicedPacket::from_ethernet(frame).map_err(|_| Refused::Malformed)?;
    let Some(NetSlice::Ipv4(ip)) = sliced.net else { return Err(Refused::Malformed) };
    let (header, tos) = (ip.header(), frame[TOS]);
    let ports = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => Some((tcp.source_port(), tcp.destination_port())),
        Some(TransportSlice::Udp(udp)) => Some((udp.source_port(), udp.destination_port())),
        _ => None,
    };
    let fragment = header.is_fragmenting_payload();
    let tcp = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) if !fragment => Some(tcp),
        _ => None,
    };
    Ok(Seen {
        flow: FiveTuple {
            protocol: header.protocol().0,
            source: header.source_addr(),
            destination: header.destination_addr(),
            ports: ports.filter(|_| !fragment),
        },
        pure_ack: tcp.is_some_and(|t| t.ack() && !t.syn() && !t.fin() && !t.rst() && t.payload().is_empty()),
        last: header.protocol().0 == TCP && tcp.is_some_and(|t| t.fin() || t.rst()),
        ect: tos & CE != NOT_ECT,
        ce: tos & CE == CE,
    })
}

/// Writes "congestion experienced" into the header of an IPv4 frame, and mends its checksum (RFC 1624, equation 3).
/// A packet that is not ECN-capable stays as it is.
pub fn mark(frame: &mut [u8]) {
    if frame[TOS] & CE == NOT_ECT {
        return;
    }
    let word = |frame: &[u8]| u16::from_be_bytes([frame[ETHERNET], frame[TOS]]);
    let before = word(frame);
    frame[TOS] |= CE;
    let after = word(frame);
    let sum = u16::from_be_bytes([frame[CHECKSUM], frame[CHECKSUM + 1]]);
    let mended = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (mended & 0xffff) + (mended >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::Stream;
    use etherparse::{IpFragOffset, IpNumber, Ipv4Header, PacketBuilder};
    use std::collections::HashMap;

    const LONGEST: usize = 1514;

    /// A frame of one of ten flows, with everything else drawn: lifetime, identification, payload, options, flags.
    fn frame(draws: &mut Stream, flow: u32, fragment: bool) -> Vec<u8> {
        let mut draw = |below: u32| draws.next_u32() % below;
        let (source, destination) = ([10, 0, 0, 1 + flow as u8], [10, 0, 1, 1]);
        let payload = vec![draw(256) as u8; draw(900) as usize];
        let protocol = flow % 3;
        let ip_number = [IpNumber::TCP, IpNumber::UDP, IpNumber::ICMP][protocol as usize];
        let mut ip = Ipv4Header::new(0, draw(255) as u8 + 1, ip_number, source, destination).unwrap();
        ip.identification = draw(1 << 16) as u16;
        ip.options = (&vec![1u8; 4 * draw(11) as usize][..]).try_into().unwrap();
        ip.ecn = (draw(4) as u8).try_into().unwrap();
        if fragment {
            ip.more_fragments = true;
            ip.fragment_offset = IpFragOffset::try_new(if draw(2) == 0 { 0 } else { draw(100) as u16 }).unwrap();
        }
        let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let mut bytes = Vec::new();
        let at = link.ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
        match protocol {
            0 => at
                .tcp(1000 + flow as u16, 80, draw(1 << 31), draw(1 << 16) as u16)
                .ack(draw(1 << 31))
                .write(&mut bytes, &payload),
            1 => at.udp(1000 + flow as u16, 53).write(&mut bytes, &payload),
            _ => at.icmpv4_echo_request(draw(1 << 16) as u16, draw(1 << 16) as u16).write(&mut bytes, &payload),
        }
        .unwrap();
        bytes
    }

    #[test]
    fn a_flow_never_has_two_keys() {
        let mut draws = Stream::new(1, 2, 3);
        let mut keys: HashMap<(u32, bool), FiveTuple> = HashMap::new();
        for number in 0..20_000u32 {
            let (flow, fragment) = (number % 10, number % 7 == 0);
            let seen = read(&frame(&mut draws, flow, fragment), LONGEST).unwrap();
            assert_eq!(*keys.entry((flow, fragment)).or_insert(seen.flow), seen.flow, "flow {flow}");
        }
        let tcp_and_udp = (0..10).filter(|flow| flow % 3 != 2);
        for flow in tcp_and_udp {
            assert!(keys[&(flow, false)].ports.is_some() && keys[&(flow, true)].ports.is_none());
        }
        let mut all: Vec<&FiveTuple> = keys.iter().filter(|((_, part), _)| !part).map(|(_, key)| key).collect();
        all.dedup();
        assert_eq!(all.len(), 10, "ten flows have ten keys");
    }

    #[test]
    fn a_mark_changes_the_ecn_bits_and_the_checksum_and_no_other_byte() {
        let mut draws = Stream::new(4, 5, 6);
        for number in 0..5_000 {
            let before = frame(&mut draws, number % 10, false);
            let mut after = before.clone();
            mark(&mut after);
            let was = read(&before, LONGEST).unwrap();
            let is = read(&after, LONGEST).unwrap();
            assert_eq!(is.ce, was.ect);
            let (ip, _) = Ipv4Header::from_slice(&after[ETHERNET..]).unwrap();
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            let others = |f: &[u8]| [&f[..TOS], &f[TOS + 1..CHECKSUM], &f[CHECKSUM + 2..]].concat();
            assert_eq!(others(&before), others(&after));
        }
    }

    #[test]
    fn frames_that_are_not_carried_are_told_apart() {
        let mut draws = Stream::new(7, 8, 9);
        let good = frame(&mut draws, 1, false);
        let with_type = |ethertype: u16| {
            let mut other = good.clone();
            other[12..14].copy_from_slice(&ethertype.to_be_bytes());
            read(&other, LONGEST)
        };
        assert_eq!(with_type(0x8100), Err(Refused::Vlan));
        assert_eq!(with_type(0x0806), Err(Refused::Arp));
        assert_eq!(with_type(0x86dd), Err(Refused::Ipv6));
        assert_eq!([0x8808, 0x88b5].map(with_type), [Err(Refused::Control); 2]);
        assert_eq!(with_type(0x1234), Err(Refused::Protocol));
        assert_eq!(read(&good[..13], LONGEST), Err(Refused::Runt));
        assert_eq!(read(&good[..20], LONGEST), Err(Refused::Runt));
        assert_eq!(read(&good, good.len() - 1), Err(Refused::TooLong));
        let mut lies = good.clone();
        lies[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&9000u16.to_be_bytes());
        assert_eq!(read(&lies, LONGEST), Err(Refused::Malformed), "the IP header claims more than there is");
    }

    /// Random bytes are read or refused; nothing panics, and a mark stays inside the frame.
    #[test]
    fn no_frame_ends_the_lab() {
        let mut draws = Stream::new(10, 11, 12);
        for number in 0..200_000u32 {
            let mut bytes = match number % 3 {
                0 => (0..draws.next_u32() % 100).map(|_| draws.next_u32() as u8).collect(),
                _ => frame(&mut draws, number % 10, number % 2 == 0),
            };
            for _ in 0..draws.next_u32() % 4 {
                let length = bytes.len().max(1) as u32;
                if let Some(byte) = bytes.get_mut((draws.next_u32() % length) as usize) {
                    *byte = draws.next_u32() as u8;
                }
            }
            bytes.truncate((draws.next_u32() % 1200) as usize);
            if read(&bytes, LONGEST).is_ok() {
                mark(&mut bytes);
            }
        }
    }
}
