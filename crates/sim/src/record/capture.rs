//! Packets that cross some ports of a run, in both directions.
//!
//! A packet leaves a port when its first bit does. It arrives when its last bit does, which is known as it leaves the
//! port at the other end. A packet that the link loses does not arrive. Control frames are seen as they arrive.
//!
//! The request bounds their number: the first ones are kept, the others counted. The choice does not depend on threads:
//! one node sends all packets of a port in one direction, and each such list keeps its own first ones.

use backwater_fabric::ports;
pub use backwater_measure::records::capture::{Captured, Crossing};
use backwater_scenario::topology::Graph;
use backwater_types::{ControlFrame, DropReason, Duration, Instant, Kind, Packet, PortId, SerTime};
use std::collections::HashMap;

/// Request for the packets that cross ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureWanted {
    /// Ports: node in the graph, and port of the node.
    pub ports: Vec<(u32, PortId)>,
    /// Largest number of packets that are kept.
    pub at_most: usize,
}

/// Recorder of one partition's packets.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    at_most: usize,
    /// `[node, port]`: numbers of the wanted ports that see what the port sends.
    seen_by: HashMap<(usize, PortId), Seen>,
    /// Packets that leave ports, that arrive there, and control frames that arrive: a list each, in the order of time.
    lists: Vec<[Vec<(Instant, Packet)>; 3]>,
    /// Number of packets in all lists, including those not kept.
    seen: u64,
    /// The packet that a link lost last. A switch says so before the packet departs.
    lost: Option<Name>,
    /// The packet that was sent last to a wanted port, the port, and the length of its list before. A host says after
    /// that whether the packet is lost.
    sent: Option<(Name, u32, usize)>,
}

/// Time, node, flow and sequence number of a packet that is sent.
type Name = (Instant, usize, u32, u32);

/// Wanted ports at the ends of a link.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The sending port itself.
    own: Option<u32>,
    /// The port at the other end, with the link's transmission and propagation times.
    other: Option<(u32, SerTime, Duration)>,
}

const LEAVES: usize = 0;
const ARRIVES: usize = 1;
const CONTROL: usize = 2;

impl Capture {
    pub(crate) fn new(wanted: &CaptureWanted, graph: &Graph) -> Capture {
        let links = ports(graph);
        let mut seen_by: HashMap<(usize, PortId), Seen> = HashMap::new();
        for (&(node, port), number) in wanted.ports.iter().zip(0..) {
            let node = node as usize;
            seen_by.entry((node, port)).or_default().own = Some(number);
            let link = links[node][usize::from(port)];
            let peer = graph.peer(link, node);
            let far = links[peer].iter().position(|other| *other == link).expect("a link has two ends");
            let ser = SerTime::of(graph.links[link].rate);
            seen_by.entry((peer, far as PortId)).or_default().other = Some((number, ser, graph.links[link].delay));
        }
        Capture {
            at_most: wanted.at_most,
            lists: vec![Default::default(); wanted.ports.len()],
            seen_by,
            seen: 0,
            lost: None,
            sent: None,
        }
    }

    /// Records a packet that leaves a port.
    pub(crate) fn sent(&mut self, now: Instant, (node, port): (usize, PortId), packet: &Packet) {
        let Some(seen) = self.seen_by.get(&(node, port)).copied() else { return };
        if let Some(number) = seen.own {
            self.push((number, LEAVES), now, packet);
        }
        let name = (now, node, packet.flow, packet.seq);
        self.sent = None;
        if let Some((number, ser, delay)) = seen.other
            && packet.kind != Kind::Control
            && self.lost != Some(name)
        {
            let before = self.lists[number as usize][ARRIVES].len();
            self.push((number, ARRIVES), now + ser.of_bytes(packet.wire.into()) + delay, packet);
            self.sent = Some((name, number, before));
        }
    }

    /// Records a control frame that arrives at a port.
    pub(crate) fn controlled(&mut self, now: Instant, (node, port): (usize, PortId), frame: ControlFrame) {
        if let Some(number) = self.seen_by.get(&(node, port)).and_then(|seen| seen.own) {
            self.push((number, CONTROL), now, &frame.into());
        }
    }

    /// Takes back the arrival of a packet that its link loses.
    pub(crate) fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        if !matches!(reason, DropReason::LinkLoss | DropReason::LinkDown) {
            return;
        }
        let name = (now, node, packet.flow, packet.seq);
        self.lost = Some(name);
        if let Some((_, number, before)) = self.sent.take_if(|(sent, ..)| *sent == name) {
            self.seen -= 1;
            self.lists[number as usize][ARRIVES].truncate(before);
        }
    }

    fn push(&mut self, (number, list): (u32, usize), at: Instant, packet: &Packet) {
        self.seen += 1;
        let list = &mut self.lists[number as usize][list];
        if list.len() < self.at_most {
            list.push((at, *packet));
        }
    }

    /// Merges the packets of all partitions.
    pub(crate) fn merged(parts: Vec<Capture>) -> Captured {
        let at_most = parts.first().map_or(0, |part| part.at_most);
        let seen: u64 = parts.iter().map(|part| part.seen).sum();
        let mut packets = Vec::new();
        for (lists, port) in parts.into_iter().flat_map(|part| part.lists.into_iter().zip(0..)) {
            for (number, list) in lists.into_iter().enumerate() {
                let crosses = |(at, packet)| Crossing { at, port, arrives: number != LEAVES, packet };
                packets.extend(list.into_iter().map(crosses));
            }
        }
        // Stable: packets that cross a port at one instant stay in their order.
        packets.sort_by_key(|one| (one.at, one.port, one.arrives));
        packets.truncate(at_most);
        Captured { left_out: seen - packets.len() as u64, packets }
    }
}
