//! Links: frames in flight, and what puts them there.
//!
//! A link delivers in order, so only its head frame is an event. The receiving node's side holds the frames; the sending port
//! holds rate, delay and faults, and puts a frame on the link when its transmission starts.

use crate::compat::hpcc::wheel::{Event, What, Wheel};
use crate::net::stats::Drops;
use backwater_dataplane::Ring;
use backwater_types::hash::Stream;
use backwater_types::{DropReason, Duration, Instant, Kind, Packet, QueueId, SerTime};

/// Frames in flight on one direction of a link, with the times their last bits arrive.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    frames: Ring<(Instant, Packet)>,
}

impl InFlight {
    /// Arrival of the head frame; [`Instant::NEVER`] if none is in flight.
    #[inline(always)]
    pub fn head(&self) -> Instant {
        self.frames.front().map_or(Instant::NEVER, |(at, _)| *at)
    }

    /// The head frame.
    #[inline(always)]
    pub fn front(&self) -> Option<&Packet> {
        self.frames.front().map(|(_, packet)| packet)
    }

    /// How many.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// Frames that arrive before `end`.
    #[inline(always)]
    pub fn before(&self, end: Instant) -> impl Iterator<Item = &Packet> {
        self.frames.iter().take_while(move |(at, _)| *at < end).map(|(_, packet)| packet)
    }

    /// The head frame has been dealt with. The arrival of the next; [`Instant::NEVER`] if none is in flight.
    #[inline(always)]
    pub fn advance(&mut self) -> Instant {
        self.frames.drop_front();
        self.head()
    }

    #[inline(always)]
    fn push(&mut self, at: Instant, packet: &Packet, queue: QueueId) {
        debug_assert!(self.frames.back().is_none_or(|(last, _)| *last <= at), "a link delivers in order");
        // Copied whole, then patched where it lies: see `Cells::packet` on copies of patched packets.
        self.frames.push_back((at, *packet)).1.upstream_queue = queue;
    }
}

/// Where a port's frames go: the receiving side of the link.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Partition of the receiving node.
    pub partition: u16,
    /// Its port.
    pub port: u16,
    /// Its number within the partition.
    pub node: u32,
    /// The link's number within the partition.
    pub link: u32,
}

/// The sending side of one direction of a link.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Serialisation time of a byte.
    pub ser: SerTime,
    /// Propagation delay.
    pub delay: Duration,
    /// The other end.
    pub target: Target,
    /// `None`: a link that never fails.
    pub faults: Option<Box<Faults>>,
}

/// How one direction of a link fails.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Frames below this 32-bit draw are lost.
    pub loss_below: u64,
    /// Control frames (not ACKs) below this 32-bit draw are lost on top.
    pub control_loss_below: u64,
    /// Intervals without service, ascending.
    pub down: Vec<[Instant; 2]>,
    /// Draws of this direction.
    pub rng: Stream,
}

impl Faults {
    /// Whether a frame sent from `start` to `arrival` is lost.
    pub fn strike(&mut self, kind: Kind, start: Instant, arrival: Instant) -> Option<DropReason> {
        if self.down.iter().any(|[down, up]| *down <= arrival && start < *up) {
            return Some(DropReason::LinkDown);
        }
        let below = match kind {
            Kind::Control => self.loss_below + self.control_loss_below,
            _ => self.loss_below,
        };
        (below > 0 && (self.rng.next_u32() as u64) < below).then_some(DropReason::LinkLoss)
    }
}

/// Everything in flight towards the nodes of one partition, and what leaves it for others.
#[derive(Debug)]
pub struct Fabric {
    /// This partition.
    pub id: u16,
    /// `[link]`: frames in flight.
    pub in_flight: Vec<InFlight>,
    /// `[link]`: receiving node and port.
    pub ends: Vec<(u32, u16)>,
    /// `[node]`: no event before this.
    pub next: Vec<Instant>,
    /// `[node]`: ports whose link was idle and is not any more.
    pub woken: Vec<Vec<u16>>,
    /// `[partition]`: frames for other partitions, handed over at the end of the window.
    pub outbox: Vec<Vec<Crossing>>,
    /// Earliest arrival in `outbox`.
    pub outbox_next: Instant,
    /// Frames that fully crossed a link.
    pub packet_hops: u64,
    /// Every event of the network, where they come in the order of scheduling; only with one partition.
    pub wheel: Option<Box<Wheel>>,
}

/// A frame on its way to another partition.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    link: u32,
    at: Instant,
    packet: Packet,
}

impl Fabric {
    /// Puts a frame that leaves `queue` on a link; its last bit arrives at `at`.
    #[inline(always)]
    pub fn send(&mut self, to: Target, at: Instant, packet: &Packet, queue: QueueId) {
        if to.partition == self.id {
            self.deliver(to.node, to.port, to.link, at, packet, queue);
        } else {
            self.outbox_next = self.outbox_next.min(at);
            self.outbox[to.partition as usize].push(Crossing {
                link: to.link,
                at,
                packet: Packet { upstream_queue: queue, ..*packet },
            });
        }
    }

    /// Schedules an event, where they come in the order of scheduling.
    #[inline(always)]
    pub fn schedule(&mut self, at: Instant, event: Event) {
        if let Some(wheel) = &mut self.wheel {
            wheel.push(at, event);
        }
    }

    /// Takes over what another partition sent here.
    pub fn accept(&mut self, crossings: &mut Vec<Crossing>) {
        for c in crossings.drain(..) {
            let (node, port) = self.ends[c.link as usize];
            self.deliver(node, port, c.link, c.at, &c.packet, c.packet.upstream_queue);
        }
    }

    #[inline(always)]
    fn deliver(&mut self, node: u32, port: u16, link: u32, at: Instant, packet: &Packet, queue: QueueId) {
        if let Some(wheel) = &mut self.wheel {
            return wheel.push_frame(at, Event::new(What::Arrival, node, port), packet, queue);
        }
        let frames = &mut self.in_flight[link as usize];
        if frames.frames.is_empty() {
            self.woken[node as usize].push(port);
            self.next[node as usize] = self.next[node as usize].min(at);
        }
        frames.push(at, packet, queue);
    }
}

/// Puts a frame of `queue` on a wire, on which it is completely at `sent`; faults may take it.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // the link's two ends, when, and what
pub fn put_on_wire(
    wire: &mut Wire,
    fabric: &mut Fabric,
    drops: &mut Drops,
    start: Instant,
    sent: Instant,
    packet: &Packet,
    queue: QueueId,
    dropped: impl FnOnce(&Packet, DropReason),
) {
    let at = sent + wire.delay;
    if let Some(faults) = &mut wire.faults
        && let Some(reason) = faults.strike(packet.kind, start, at)
    {
        if packet.kind != Kind::Control {
            drops.count(reason, packet);
            // A copy, so that the packet itself need not have an address: one in registers is written once, to the link.
            let lost = *packet;
            dropped(&lost, reason);
        }
        return;
    }
    fabric.send(wire.target, at, packet, queue);
}
