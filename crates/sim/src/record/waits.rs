//! What a flow's completion time is made of.

use backwater_types::{Duration, PortId, QueueId};

/// What a flow's last packet waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The link or the port sent packets of the same flow that were ahead.
    OwnPackets,
    /// The port sent packets of the same queue, of other flows.
    Queue,
    /// The port sent packets of other queues.
    OtherQueues,
    /// The NIC sent packets of other flows.
    OtherFlows,
    /// ACKs or control frames were sent.
    AcksAndFrames,
    /// A neighbour held the queue, the flow or the port.
    Paused,
    /// The sender might not send: its window, its pace, credits or grants.
    Transport,
    /// It, or what the receiver lacked before it, was lost or late, and had to be sent again.
    Recovery,
    /// The port sent nothing, though nothing held the packet.
    Idle,
    /// Onto a link.
    Transmission,
    /// Along a link.
    Propagation,
    /// In the receiving host.
    HostDelay,
}

impl Why {
    /// All of them, in the order of their numbers.
    pub const ALL: [Why; 12] = {
        use Why::*;
        [
            OwnPackets,
            Queue,
            OtherQueues,
            OtherFlows,
            AcksAndFrames,
            Paused,
            Transport,
            Recovery,
            Idle,
            Transmission,
            Propagation,
            HostDelay,
        ]
    };

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Why::OwnPackets => "own-packets",
            Why::Queue => "queue",
            Why::OtherQueues => "other-queues",
            Why::OtherFlows => "other-flows",
            Why::AcksAndFrames => "acks-and-frames",
            Why::Paused => "paused",
            Why::Transport => "transport",
            Why::Recovery => "recovery",
            Why::Idle => "idle",
            Why::Transmission => "transmission",
            Why::Propagation => "propagation",
            Why::HostDelay => "host-delay",
        }
    }
}

/// A part of a flow's completion time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Flow number.
    pub flow: u32,
    /// Links before it: 0 at the source.
    pub hop: u8,
    /// Where.
    pub node: u32,
    /// At which port of it.
    pub port: PortId,
    /// In which of its data queues.
    pub queue: QueueId,
    /// For what.
    pub why: Why,
    /// The workload of the packets that were sent meanwhile, or of the flow for whose sake it was paused.
    pub whose: Option<u8>,
    /// For the sake of which flow it was paused, if that is known.
    pub sake: Option<u32>,
    /// Which node paused it.
    pub by: Option<u32>,
    /// Towards which node the paused-for flow's packet was waiting there.
    pub towards: Option<u32>,
    /// How long.
    pub span: Duration,
}

/// The parts of a journey so far, of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    list: Vec<Wait>,
    /// `[why][whose]`, modulo 2: where such a one was put last.
    latest: [[u8; 2]; Why::ALL.len()],
}

impl Parts {
    /// Adds a part. It is not looked for far: equal ones of the same place become one when there is no more room, and at the end.
    pub(super) fn add(&mut self, part: Wait) {
        if part.span == Duration::ZERO {
            return;
        }
        let latest = &mut self.latest[part.why as usize][usize::from(part.whose.unwrap_or(0) % 2)];
        match self.list.get_mut(usize::from(*latest)) {
            Some(other) if key(other) == key(&part) => other.span = other.span + part.span,
            _ => {
                if self.list.len() == self.list.capacity() {
                    make_room(&mut self.list);
                }
                *latest = self.list.len().min(u8::MAX.into()) as u8;
                self.list.push(part);
            }
        }
    }

    /// From the source on, each once.
    pub(super) fn into_waits(mut self) -> Vec<Wait> {
        merge(&mut self.list);
        self.list
    }
}

#[inline(never)]
fn make_room(parts: &mut Vec<Wait>) {
    merge(parts);
    parts.reserve(parts.len() + 4);
}

/// Equal ones of the same place become one.
fn merge(parts: &mut Vec<Wait>) {
    parts.sort_unstable_by_key(key);
    parts.dedup_by(|other, first| {
        let same = key(other) == key(first);
        first.span = if same { first.span + other.span } else { first.span };
        same
    });
}

/// What those have in common that are one, by the order in which they are told.
#[inline(always)]
fn key(part: &Wait) -> impl Ord + use<> {
    let Wait { flow: _, hop, node, port, queue, why, whose, sake, by, towards, span: _ } = *part;
    (hop, why as u8, sake, whose, by, towards, node, port, queue)
}

/// One at a place, of nothing yet.
pub(super) fn part(flow: u32, hop: u8, (node, port): (usize, PortId), queue: QueueId, why: Why) -> Wait {
    let (whose, sake, by, towards) = (None, None, None, None);
    Wait { flow, hop, node: node as u32, port, queue, why, whose, sake, by, towards, span: Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_once_from_the_source_on() {
        let (mut parts, mut spans) = (Parts::default(), std::collections::BTreeMap::new());
        let whys = [Why::OwnPackets, Why::Queue, Why::Paused];
        for i in 0..10_000u32 {
            let (hop, why) = ((i / 4000) as u8, whys[i as usize % 3]);
            let sake = (why == Why::Paused).then_some(i * i % 40);
            let whose = Some((i % 5) as u8);
            parts.add(Wait { sake, whose, span: Duration(i.into()), ..part(7, hop, (hop.into(), 1), 2, why) });
            *spans.entry((hop, why as u8, sake, whose)).or_insert(0) += u64::from(i);
        }
        assert!(parts.list.len() <= 2 * spans.len(), "{} of {}", parts.list.len(), spans.len());
        let waits = parts.into_waits();
        let told = waits.iter().map(|wait| ((wait.hop, wait.why as u8, wait.sake, wait.whose), wait.span.0));
        assert!(told.eq(spans), "{waits:?}");
    }
}
