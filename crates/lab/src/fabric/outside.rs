//! Links to nodes that other processes run: packets and control frames cross them as bytes of `backwater-wire`.
//!
//! A fabric is then a [`Part`] of the network. A frame leaves it with the time at which it arrives at the neighbour.
//! Each end of such a link says hello when it starts. The neighbour then knows that the other end has no pauses and no
//! packets of before, as if the link had come up.

use crate::fabric::Fabric;
use crate::fabric::agenda::{Agenda, Event};
use crate::fabric::links::Shared;
use crate::fabric::watchdog::{self, Watchdog};
use crate::frames::Frames;
use crate::ip;
use crate::slab::Handle;
use backwater_capture::{Way, port_address};
use backwater_dataplane::DataPlane;
use backwater_fabric::Blueprint;
use backwater_nic::Nic;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_types::{ControlFrame, Instant, Kind, Packet, PortId, SerTime};
use backwater_wire::{Address, Body, Frame, HEADER, Header, Pfc, Port, SMALLEST};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Nodes that one process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The whole network.
    All,
    /// The NICs of all hosts.
    Hosts,
    /// The switch with this number in the graph.
    Switch(usize),
}

impl Part {
    /// Numbers of the nodes of this part.
    pub fn nodes(self, graph: &Graph) -> Range<usize> {
        match self {
            Part::All => 0..graph.nodes.len(),
            Part::Hosts => 0..graph.hosts,
            Part::Switch(number) => number..number + 1,
        }
    }

    /// Parts of a network in which each switch is a process.
    pub fn each(graph: &Graph) -> impl Iterator<Item = Part> {
        std::iter::once(Part::Hosts).chain((graph.hosts..graph.nodes.len()).map(Part::Switch))
    }
}

/// End of a link whose other end is in another part.
pub(super) struct Outside {
    /// The link in the graph, and its end.
    pub(super) end: End,
    node: u32,
    port: PortId,
    /// Direction of the link into the node, and out of it.
    pub(super) ways: [u32; 2],
    bounds: Port,
    /// Longest frame of a host.
    longest: usize,
    address: Address,
    /// Time of a quantum of PFC, 512 bits.
    quantum: u64,
    /// Number of our hello, and whether it was answered.
    hello: (u64, bool),
    /// Number of the neighbour's last hello.
    heard: Option<u64>,
    /// `[class]`: end of PFC's pause.
    lapses: [Instant; 8],
    watchdog: Option<Watchdog>,
    counts: Counts,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Number of the link in the graph.
    pub link: usize,
    /// Whether it is the end `b`.
    pub b: bool,
}

impl End {
    /// The other end of the link.
    pub fn other(self) -> End {
        End { b: !self.b, ..self }
    }
}

/// Counters at the end of a link to another part.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Frames that were not accepted, by reason.
    pub refused: backwater_wire::Counts,
    /// Packets whose wrapped frame is no IPv4 frame.
    pub not_ip: u64,
    /// Packets that found no room in the store.
    pub no_room: u64,
    /// Times that the neighbour started after the first.
    pub restarts: u64,
    /// Watchdog.
    pub watchdog: watchdog::Counts,
}

/// Frames that have left the fabric for other parts.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    bytes: Vec<u8>,
    /// Time of arrival, number of the link among those to other parts, and end of the bytes.
    frames: Vec<(Instant, usize, usize)>,
}

impl Emitted {
    /// Adds a frame, and returns its bytes.
    fn push(&mut self, at: Instant, link: usize, frame: &Frame) -> &[u8] {
        let start = self.bytes.len();
        let room = if let Body::Packet(_, wrapped) = frame.body { HEADER + wrapped.len() } else { SMALLEST };
        self.bytes.resize(start + room, 0);
        let length = frame.emit(&mut self.bytes[start..]).expect("every value that leaves a switch has bytes");
        debug_assert_eq!(length, room, "the frame fills its room");
        self.frames.push((at, link, self.bytes.len()));
        &self.bytes[start..]
    }
}

/// Lists the ends of links between `part` and others, and directs the links of its nodes there.
pub(super) fn outside(
    blueprint: &mut Blueprint,
    scenario: &Scenario,
    graph: &Graph,
    part: Part,
    watchdog: Option<watchdog::Settings>,
) -> Vec<Outside> {
    let ours = part.nodes(graph);
    let queues = |node: usize| match graph.nodes[node].name.as_str() {
        name if node >= graph.hosts => scenario.switch_at(name).data_queues(),
        _ => blueprint.hosts[node].nic.queues.count() as u16,
    };
    let mut found: Vec<Outside> = Vec::new();
    for (number, link) in graph.links.iter().enumerate() {
        for (b, (node, peer)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
            if !ours.contains(&node) || ours.contains(&peer) {
                continue;
            }
            let ways = blueprint.partitions.links[number];
            let bounds = Port {
                queues: queues(node),
                upstream_queues: queues(peer),
                classes: scenario.switch.priority_groups.max(1),
                hosts: graph.hosts as u32,
                largest: scenario.host.full_packet().0 as u16,
            };
            found.push(Outside {
                end: End { link: number, b: b == 1 },
                node: node as u32,
                port: blueprint.partitions.ends[0][ways[b] as usize].1,
                ways: [ways[b], ways[1 - b]],
                bounds,
                longest: scenario.host.full_packet().0 as usize,
                address: port_address(number, b == 1),
                quantum: SerTime::of(link.rate).of_bytes(64).0,
                hello: (0, false),
                heard: None,
                lapses: [Instant::NEVER; 8],
                watchdog: watchdog.map(Watchdog::new),
                counts: Counts::default(),
            });
        }
    }
    for (i, outside) in found.iter().enumerate() {
        let node = outside.node as usize;
        let wire = match node.checked_sub(graph.hosts) {
            None => &mut blueprint.hosts[node].port.1,
            Some(switch) => &mut blueprint.switches[switch].ports[usize::from(outside.port)].1,
        };
        // Numbers after those of all nodes name links to other parts.
        (wire.target.node, wire.target.port) = ((graph.nodes.len() + i) as u32, 0);
    }
    found
}

impl Outside {
    /// Lets a packet arrive at the node.
    fn arrives(&self, at: Instant, packet: Packet, shared: &mut Shared) {
        shared.put(at, self.ways[0], (self.node, self.port), &packet);
    }

    /// Lets a control frame arrive, as far as the watchdog lets it pass.
    fn obeys(&mut self, at: Instant, frame: ControlFrame, shared: &mut Shared) {
        let left = self.watchdog.as_mut().map_or(Some(frame), |watchdog| watchdog.hear(at, frame));
        if let Some(frame) = left {
            self.arrives(at, frame.into(), shared);
        }
    }

    /// Takes a frame of PFC, whose pauses end by themselves.
    fn pfc(&mut self, at: Instant, pfc: &Pfc, link: usize, shared: &mut Shared) {
        for frame in pfc.frames() {
            let (class, lapse) = match frame {
                ControlFrame::PfcPause(class) => {
                    (class, Instant(at.0 + u64::from(pfc.quanta[class as usize]) * self.quantum))
                }
                ControlFrame::PfcResume(class) => (class, Instant::NEVER),
                _ => continue,
            };
            self.lapses[class as usize] = lapse;
            if lapse < Instant::NEVER {
                shared.agenda.push(lapse, Event::Outside(link as u32));
            }
            self.obeys(at, frame, shared);
        }
    }

    /// Ends pauses of PFC that have lasted their quanta, and lets the watchdog look.
    fn alarm(&mut self, now: Instant, link: usize, shared: &mut Shared) {
        for class in 0..8u8 {
            if self.lapses[usize::from(class)] <= now {
                self.lapses[usize::from(class)] = Instant::NEVER;
                self.obeys(now, ControlFrame::PfcResume(class), shared);
            }
        }
        if self.watchdog.as_ref().is_some_and(|watchdog| watchdog.next(Instant(now.0.saturating_sub(1))) == now) {
            let released = self.watchdog.as_mut().map(|watchdog| watchdog.look(now)).unwrap_or_default();
            released.into_iter().for_each(|frame| self.arrives(now, frame.into(), shared));
            self.look_again(now, link, &mut shared.agenda);
        }
    }

    /// Schedules the watchdog's next look.
    pub(super) fn look_again(&self, now: Instant, link: usize, agenda: &mut Agenda) {
        if let Some(watchdog) = &self.watchdog {
            agenda.push(watchdog.next(now), Event::Outside(link as u32));
        }
    }
}

impl<D: DataPlane<Extension = ()>, N: Nic<Frames>> Fabric<D, N> {
    /// Ends of the links to other parts, in the order of their numbers.
    pub fn ends(&self) -> impl Iterator<Item = End> {
        self.outside.iter().map(|outside| outside.end)
    }

    /// Counters at each end of a link to another part.
    pub fn outside_counts(&self) -> impl Iterator<Item = (End, Counts)> {
        self.outside.iter().map(|outside| {
            let watchdog = outside.watchdog.as_ref().map(|watchdog| watchdog.counts).unwrap_or_default();
            (outside.end, Counts { watchdog, ..outside.counts.clone() })
        })
    }

    /// Says hello to each neighbour in another part that has not answered yet. `number` is one of this start.
    pub fn greet(&mut self, number: u64) {
        let Fabric { outside, emitted, shared, reached, .. } = self;
        for (link, outside) in outside.iter_mut().enumerate().filter(|(_, outside)| !outside.hello.1) {
            outside.hello.0 = number;
            let bytes = emitted.push(*reached, link, &Frame { source: outside.address, body: Body::Hello(number) });
            shared.crosses(*reached, Way::Out, outside.ways[1], bytes);
        }
    }

    /// Whether all neighbours in other parts have answered.
    pub fn is_greeted(&self) -> bool {
        self.outside.iter().all(|outside| outside.hello.1)
    }

    /// Takes the bytes of a frame that came at `at` by link number `link` to another part. A time before
    /// [`Fabric::reached`] counts as that.
    pub fn take(&mut self, at: Instant, link: usize, bytes: &[u8]) {
        let Fabric { outside, emitted, shared, reached, .. } = self;
        let (at, outside) = (at.max(*reached), &mut outside[link]);
        shared.crosses(at, Way::In, outside.ways[0], bytes);
        let frame = match Frame::parse(bytes, &outside.bounds) {
            Ok(frame) => frame,
            Err(why) => return outside.counts.refused.count(why),
        };
        match frame.body {
            Body::Packet(header, wrapped) => match ip::read(wrapped, outside.longest) {
                Err(_) => outside.counts.not_ip += 1,
                Ok(_) => match shared.slab.put(wrapped) {
                    None => outside.counts.no_room += 1,
                    Some(handle) => outside.arrives(at, header.packet(handle.word()), shared),
                },
            },
            Body::Control(frame) => outside.obeys(at, frame, shared),
            Body::Pfc(pfc) => outside.pfc(at, &pfc, link, shared),
            Body::Hello(number) => {
                if outside.heard != Some(number) {
                    outside.counts.restarts += u64::from(outside.heard.is_some());
                    outside.heard = Some(number);
                    outside.lapses = [Instant::NEVER; 8];
                    outside.watchdog.iter_mut().for_each(Watchdog::start_again);
                    shared.agenda.push(at, Event::Started(outside.node, outside.port));
                }
                let bytes = emitted.push(at, link, &Frame { source: outside.address, body: Body::Answer(number) });
                shared.crosses(at, Way::Out, outside.ways[1], bytes);
            }
            Body::Answer(number) => outside.hello.1 |= number == outside.hello.0,
        }
    }

    /// Passes every frame that has left for another part to `send`, with the time at which it arrives there and the
    /// number of its link.
    pub fn emitted(&mut self, mut send: impl FnMut(Instant, usize, &[u8])) {
        let Emitted { bytes, frames } = &mut self.emitted;
        let mut start = 0;
        for (at, link, end) in frames.drain(..) {
            send(at, link, &bytes[start..end]);
            start = end;
        }
        bytes.clear();
    }

    /// Lets the next packet of a link leave for another part.
    pub(super) fn leave(&mut self, now: Instant, link: usize) {
        let Fabric { outside, emitted, shared, node_count, .. } = self;
        let (outside, neighbour) = (&mut outside[link], ((*node_count + link) as u32, 0));
        let Some(packet) = shared.take(now, outside.ways[1], neighbour) else { return };
        let mut emit = |body: Body| {
            emitted.push(now, link, &Frame { source: outside.address, body });
        };
        if let Some(frame) = packet.control() {
            return emit(Body::Control(frame));
        }
        let Some(handle) = Handle::of(&packet) else { return };
        let held = packet.kind == Kind::Data
            && outside.watchdog.as_mut().is_some_and(|watchdog| watchdog.drops(&packet, outside.bounds.classes));
        if let Ok(header) = Header::of(&packet)
            && !held
        {
            emit(Body::Packet(header, shared.slab.bytes(&handle)));
        }
        shared.slab.free(handle);
    }

    /// Handles an alarm at the end of a link.
    pub(super) fn outside_alarm(&mut self, now: Instant, link: usize) {
        self.outside[link].alarm(now, link, &mut self.shared);
    }
}
