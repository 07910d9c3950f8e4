//! Single events in a span of a run: pauses, drops, marks and changes of links.
//!
//! The request bounds their number: the first ones by time and node are kept, the others counted. The choice does not
//! depend on threads. Each partition keeps its own first events, and the first of all are among these.

use crate::record::holds::{Hold, Holds};
use crate::record::label::Label;
pub use backwater_measure::records::events::{Event, What};
use backwater_types::{ControlFrame, DropReason, Effect, Instant, PortId, QueueId};
use std::collections::{HashMap, HashSet};

/// Request for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventsWanted {
    /// Start of the span.
    pub from: Instant,
    /// End of the span, exclusive.
    pub until: Instant,
    /// Largest number of events that are kept.
    pub at_most: usize,
}

/// Recorder of one partition's events.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    first: FirstEvents,
    /// Number of hosts; nodes with higher numbers are switches.
    hosts: usize,
    /// Pauses in force, by node and port.
    held: HashMap<(usize, PortId), Holds<()>>,
    /// Packets in switches that were marked on arrival: switch, flow, sequence number.
    marked_before: HashSet<(usize, u32, u32)>,
}

/// First events of the span, up to the largest number kept.
#[derive(Clone, Debug)]
struct FirstEvents {
    wanted: EventsWanted,
    list: Vec<Event>,
    /// Number of events in the span, including those not kept.
    seen: u64,
    /// Time and node of the last event that may be kept.
    horizon: (Instant, u32),
}

impl FirstEvents {
    fn push(&mut self, event: Event) {
        if event.at < self.wanted.from || event.at >= self.wanted.until {
            return;
        }
        self.seen += 1;
        if order(&event) > self.horizon {
            return;
        }
        self.list.push(event);
        if self.list.len() >= 2 * self.wanted.at_most.max(1) {
            // Stable: events of a node at one instant stay in their order.
            self.list.sort_by_key(order);
            self.list.truncate(self.wanted.at_most);
            self.horizon = self.list.last().map_or((Instant::ZERO, 0), order);
        }
    }

    /// Records a pause or a resume of one part of a port.
    fn push_hold(&mut self, at: Instant, (node, port): (usize, PortId), hold: Hold, what: What) {
        let (queue, flow) = match hold {
            Hold::Queue(queue) => (Some(queue), None),
            Hold::Flow(flow) => (None, Some(flow)),
            Hold::Class(_) => (None, None),
        };
        self.push(Event { at, node: node as u32, port: Some(port), queue, flow, what });
    }
}

impl Events {
    /// Builds a recorder of the wanted events in a network of `hosts` hosts.
    pub(crate) fn new(wanted: EventsWanted, hosts: usize) -> Events {
        let first = FirstEvents { wanted, list: Vec::new(), seen: 0, horizon: (Instant::NEVER, u32::MAX) };
        Events { first, hosts, held: HashMap::new(), marked_before: HashSet::new() }
    }

    /// Merges the events of all partitions. Returns the first of all, in order, and the number of those left out.
    pub(crate) fn merged(parts: Vec<Events>) -> (Vec<Event>, u64) {
        let seen: u64 = parts.iter().map(|part| part.first.seen).sum();
        let at_most = parts.first().map_or(0, |part| part.first.wanted.at_most);
        let mut list: Vec<Event> = parts.into_iter().flat_map(|part| part.first.list).collect();
        list.sort_by_key(order);
        list.truncate(at_most);
        let left_out = seen - list.len() as u64;
        (list, left_out)
    }

    /// Records a frame that pauses or resumes as it leaves. A bitmap repeats pauses and is no event.
    #[inline(never)]
    pub(crate) fn sent(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        if let Effect::Set { target, holds } = frame.effect() {
            let what = if holds { What::PauseSent } else { What::ResumeSent };
            self.first.push_hold(now, (node, port), Hold::from(target), what);
        }
    }

    /// Records the pauses that a neighbour's frame begins or ends.
    pub(crate) fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        let held = self.held.entry((node, port)).or_default();
        held.apply(frame, (), |hold, holds| {
            self.first.push_hold(now, (node, port), hold, if holds { What::Paused } else { What::Resumed });
        });
    }

    /// Records the end of all pauses of a port.
    fn release(&mut self, now: Instant, at: (usize, PortId)) {
        for hold in self.held.remove(&at).unwrap_or_default().into_sorted() {
            self.first.push_hold(now, at, hold, What::Resumed);
        }
    }

    /// Records the mark on a packet that leaves a host.
    #[inline(never)]
    pub(crate) fn host_sent(&mut self, at: Instant, host: usize, packet: Label) {
        if packet.marked {
            let (queue, flow) = (Some(packet.upstream_queue), Some(packet.name.flow));
            self.first.push(Event { at, node: host as u32, port: Some(0), queue, flow, what: What::Marked });
        }
    }

    /// Remembers a packet that arrives at a switch with a mark.
    #[inline(never)]
    pub(crate) fn enqueued(&mut self, switch: usize, packet: Label) {
        if packet.marked {
            self.marked_before.insert((switch, packet.name.flow, packet.seq));
        }
    }

    /// Records the mark on a packet that leaves `queue` of a switch and arrived unmarked.
    #[inline(never)]
    pub(crate) fn departed(&mut self, at: Instant, switch: usize, port: PortId, packet: Label, queue: Option<QueueId>) {
        if packet.marked && !self.marked_before.remove(&(switch, packet.name.flow, packet.seq)) {
            let (node, flow) = (switch as u32, Some(packet.name.flow));
            self.first.push(Event { at, node, port: Some(port), queue, flow, what: What::Marked });
        }
    }

    /// Records a drop.
    #[inline(never)]
    pub(crate) fn dropped(&mut self, at: Instant, node: usize, packet: Label, reason: DropReason) {
        if packet.marked {
            self.marked_before.remove(&(node, packet.name.flow, packet.seq));
        }
        let port = (node < self.hosts).then_some(0);
        let (node, flow, what) = (node as u32, Some(packet.name.flow), What::Dropped(reason));
        self.first.push(Event { at, node, port, queue: None, flow, what });
    }

    /// Records that the link of a switch failed or recovered, which ends the pauses of its port.
    pub(crate) fn link_changed(&mut self, at: Instant, switch: usize, port: PortId, up: bool) {
        self.release(at, (switch, port));
        let what = if up { What::LinkUp } else { What::LinkDown };
        self.first.push(Event { at, node: switch as u32, port: Some(port), queue: None, flow: None, what });
    }

    /// Records the end of all pauses of a host, whose link failed or recovered.
    pub(crate) fn released(&mut self, now: Instant, host: usize) {
        self.release(now, (host, 0));
    }
}

/// Sort key: time, then node.
fn order(event: &Event) -> (Instant, u32) {
    (event.at, event.node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(at_most: usize) -> EventsWanted {
        EventsWanted { from: Instant(10), until: Instant(1_000_000), at_most }
    }

    fn event(at: u64, node: u32, flow: u32) -> Event {
        let (port, queue, flow) = (Some(0), None, Some(flow));
        Event { at: Instant(at), node, port, queue, flow, what: What::Paused }
    }

    /// Nodes run one after another through windows. The choice of nodes per partition must not matter.
    #[test]
    fn the_first_events_are_kept_however_nodes_are_dealt_out() {
        let all: Vec<Event> = (0..3000u64)
            .flat_map(|window| {
                let of = move |node: u64| {
                    (0..3).map(move |i| event(100 * window + 37 * node % 90 + i / 2, node as u32, i as u32))
                };
                (0..5).flat_map(of)
            })
            .collect();
        for at_most in [1, 10, 1000, 40_000, 100_000] {
            let keep = |partitions: u32| {
                let mut parts = vec![Events::new(wanted(at_most), 0); partitions as usize];
                all.iter().for_each(|event| parts[(event.node % partitions) as usize].first.push(*event));
                Events::merged(parts)
            };
            let mut first: Vec<Event> = all.iter().filter(|event| event.at.0 >= 10).copied().collect();
            first.sort_by_key(order);
            let left_out = first.len().saturating_sub(at_most) as u64;
            first.truncate(at_most);
            for partitions in [1, 2, 5] {
                assert!(keep(partitions) == (first.clone(), left_out), "{at_most} on {partitions}");
            }
        }
    }
}
