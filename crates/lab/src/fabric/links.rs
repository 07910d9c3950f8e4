//! Links: frames between nodes, and the alarms of a node's ports and its timer.

use crate::captures::Taps;
use crate::fabric::agenda::{Agenda, Event, Place};
use crate::slab::{Handle, Slab};
use backwater_capture::Way;
use backwater_counters::stats::{Drops, Sent};
use backwater_fabric::wire::Wire;
use backwater_types::{DropReason, Instant, Kind, Packet, PortId};
use std::collections::VecDeque;

/// State that all nodes share: pending events, frames on links, and the store of frames.
pub(super) struct Shared {
    /// Pending events.
    pub(super) agenda: Agenda,
    /// `[direction of a link]`: packets that are on it, in the order in which they arrive.
    pub(super) in_flight: Vec<VecDeque<(Place, Packet)>>,
    /// Store of frames.
    pub(super) slab: Slab,
    /// Observer of the packets at captured ports; `None` if no port is captured.
    pub(super) taps: Option<Taps>,
    /// Packets that fully crossed a link.
    pub(super) packet_hops: u64,
}

impl Shared {
    /// Takes the packet whose arrival on a link, at `port` of `node`, is due. The arrival of the next one becomes an event.
    pub(super) fn take(&mut self, now: Instant, link: u32, (node, port): (u32, PortId)) -> Option<Packet> {
        let packets = &mut self.in_flight[link as usize];
        let (_, packet) = packets.pop_front_if(|(place, _)| place.at() <= now)?;
        if let Some((place, _)) = packets.front() {
            self.agenda.push_at(*place, Event::Arrival(node, port));
        }
        if let Some(taps) = &mut self.taps {
            taps.arrives(now, link, &packet, &self.slab);
        }
        Some(packet)
    }

    /// Puts a packet on a link, which arrives at `port` of `node` at `at`, after all that arrive until then.
    pub(super) fn put(&mut self, at: Instant, link: u32, (node, port): (u32, PortId), packet: &Packet) {
        let place = self.agenda.place(at);
        let packets = &mut self.in_flight[link as usize];
        let later = packets.iter().rev().take_while(|(other, _)| other.at() > at).count();
        if later == packets.len() {
            self.agenda.push_at(place, Event::Arrival(node, port));
        }
        packets.insert(packets.len() - later, (place, *packet));
    }

    /// Lets captures see the bytes of a frame that crosses a port from another part, or to it without being a packet.
    pub(super) fn crosses(&mut self, at: Instant, way: Way, link: u32, bytes: &[u8]) {
        if let Some(taps) = &mut self.taps {
            taps.crosses(at, way, link, bytes);
        }
    }

    /// Time of the next arrival on a link; [`Instant::NEVER`] if nothing is on it.
    pub(super) fn next_arrival(&self, link: u32) -> Instant {
        self.in_flight[link as usize].front().map_or(Instant::NEVER, |(place, _)| place.at())
    }
}

/// A port: its outgoing wire, and the time of its next poll.
pub(super) struct Port {
    /// Incoming direction of the link.
    pub(super) link_in: u32,
    wire: Wire,
    /// End of the current transmission.
    pub(super) busy_until: Instant,
    /// Pending poll; [`Instant::NEVER`] if there is none.
    poll: Instant,
    /// Packets sent.
    pub(super) sent: Sent,
}

impl Port {
    /// Creates a port with its link.
    pub(super) fn new((link_in, wire): (u32, Wire)) -> Port {
        Port { link_in, wire, busy_until: Instant::ZERO, poll: Instant::NEVER, sent: Sent::default() }
    }

    /// Serialisation times of the link.
    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Directions of the link into the port, and out of it.
    pub(super) fn ways(&self) -> [u32; 2] {
        [self.link_in, self.wire.target.link]
    }

    /// Schedules the next poll of port `port` of `node`, in place of any earlier one.
    pub(super) fn poll_at(&mut self, at: Instant, (node, port): (u32, PortId), agenda: &mut Agenda) {
        if at != self.poll && at != Instant::NEVER {
            agenda.push(at, Event::Poll(node, port));
        }
        self.poll = at;
    }

    /// Whether the poll at `now` is the one that is pending. Takes it.
    pub(super) fn take_poll(&mut self, now: Instant) -> bool {
        let pending = self.poll == now;
        if pending {
            self.poll = Instant::NEVER;
        }
        pending
    }

    /// Puts a packet on the link, which is free. A fault may drop it. Returns when the link is free again.
    pub(super) fn send(&mut self, now: Instant, packet: &Packet, shared: &mut Shared, drops: &mut Drops) -> Instant {
        self.busy_until = now + self.wire.ser.of_bytes(packet.wire.into());
        self.sent.count(packet);
        let at = self.busy_until + self.wire.delay;
        if let Some(taps) = &mut shared.taps {
            taps.leaves(now, self.wire.target.link, packet, &shared.slab);
        }
        let lost = self.wire.faults.as_mut().and_then(|faults| faults.strike(packet.kind, now, at));
        match lost {
            Some(reason) => lose(packet, reason, &mut shared.slab, drops),
            None => {
                let to = self.wire.target;
                shared.put(at, to.link, (to.node, to.port), packet);
            }
        }
        self.busy_until
    }
}

/// Drops a packet: counts it and frees its frame.
pub(super) fn lose(packet: &Packet, reason: DropReason, slab: &mut Slab, drops: &mut Drops) {
    if packet.kind == Kind::Control {
        return;
    }
    drops.count(reason, packet);
    if let Some(handle) = Handle::of(packet) {
        slab.free(handle);
    }
}

/// Alarm of a node's timer.
#[derive(Debug)]
pub(super) struct Alarm(Instant);

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm(Instant::NEVER)
    }
}

impl Alarm {
    /// Sets the alarm of `node` to `at`, in place of any earlier time; [`Instant::NEVER`] cancels it.
    pub(super) fn set(&mut self, at: Instant, node: u32, agenda: &mut Agenda) {
        if at != self.0 && at != Instant::NEVER {
            agenda.push(at, Event::Timer(node));
        }
        self.0 = at;
    }

    /// Whether the expiry at `now` is the one that is pending. Takes it.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let pending = self.0 == now;
        if pending {
            self.0 = Instant::NEVER;
        }
        pending
    }

    /// Time of the alarm.
    pub(super) fn at(&self) -> Instant {
        self.0
    }
}
