//! For whose sake ports are held: each pause is followed from the packet that raised it to the queue that it holds.
//!
//! A switch asks a neighbour to pause when a packet joins one of its queues; that packet's flow is the one the pause is
//! for, and its egress the port it is for. The frame takes that along to the neighbour. A repetition says nothing new,
//! and what only a repetition brought is for nobody known.

use crate::record::holds::Holds;
use crate::record::label::Label;
use backwater_engine::observe::Joined;
use backwater_types::{ControlFrame, Effect, PortId, QueueId, Target};
use std::collections::VecDeque;

/// For whom a port is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sake {
    /// The flow whose packet raised the pause; `None` if that is not known.
    pub(super) flow: Option<u32>,
    /// The egress port of the switch that paused where that packet waited.
    pub(super) egress: Option<PortId>,
}

impl Sake {
    const UNKNOWN: Sake = Sake { flow: None, egress: None };
}

/// A packet that raised a pause.
#[derive(Clone, Copy, Debug)]
struct Raise {
    flow: u32,
    upstream_queue: QueueId,
    egress: PortId,
}

/// Raises of one port that are remembered until their frames leave; a port sends its frames before all else, so few
/// wait.
const REMEMBERED: usize = 256;

/// One port: what it is asked to pause, and what its neighbour has it hold.
#[derive(Clone, Debug, Default)]
struct Port {
    /// Packets that came by it and raised a pause, the newest last.
    raised: VecDeque<Raise>,
    /// Frames on their way out of it, with whom they are for.
    sent: VecDeque<(ControlFrame, Sake)>,
    /// What its neighbour has paused.
    held: Holds<Sake>,
}

/// All ports of a network.
#[derive(Clone, Debug)]
pub(super) struct Pausers {
    /// `[node][port]`.
    ports: Vec<Vec<Port>>,
}

impl Pausers {
    /// Of nodes with so many ports.
    pub(super) fn new(ports: impl Iterator<Item = usize>) -> Pausers {
        Pausers { ports: ports.map(|ports| vec![Port::default(); ports]).collect() }
    }

    /// A packet joined a queue of `switch`, and a frame waits because of it.
    #[inline(never)]
    pub(super) fn raised(&mut self, switch: usize, joined: Joined, packet: Label) {
        let Some(port) = joined.frame_on else { return };
        let raised = &mut self.ports[switch][usize::from(port)].raised;
        if raised.len() == REMEMBERED {
            raised.pop_front();
        }
        let Joined { upstream_queue, egress, .. } = joined;
        raised.push_back(Raise { flow: packet.name.flow, upstream_queue, egress });
    }

    /// A frame leaves `switch` by `port`.
    #[inline(never)]
    pub(super) fn sent(&mut self, switch: usize, port: PortId, frame: ControlFrame) {
        let Port { raised, sent, .. } = &mut self.ports[switch][usize::from(port)];
        let Effect::Set { target, holds: true } = frame.effect() else { return };
        let newest = raised.iter().rposition(|raise| match target {
            Target::Queue(queue) => raise.upstream_queue == queue,
            Target::Flow(name) => raise.flow == name.flow,
            Target::Class(_) => true,
        });
        let sake = match (newest.and_then(|at| raised.remove(at)), target) {
            (Some(raise), _) => Sake { flow: Some(raise.flow), egress: Some(raise.egress) },
            (None, Target::Flow(name)) => Sake { flow: Some(name.flow), egress: None },
            (None, Target::Queue(_) | Target::Class(_)) => Sake::UNKNOWN,
        };
        sent.push_back((frame, sake));
    }

    /// That frame reached `node` by `port`, from the port `from` of its neighbour. Frames lost on the way are passed
    /// over.
    pub(super) fn received(&mut self, (node, port): (usize, PortId), from: (usize, PortId), frame: ControlFrame) {
        let mut sake = Sake::UNKNOWN;
        let sent = &mut self.ports[from.0][usize::from(from.1)].sent;
        if let Some(at) = sent.iter().position(|(sent, _)| *sent == frame) {
            sake = sent.drain(..=at).next_back().map_or(sake, |(_, sake)| sake);
        }
        self.ports[node][usize::from(port)].held.apply(frame, sake, |_, _| ());
    }

    /// The link of `port` changed: nothing holds it.
    pub(super) fn released(&mut self, node: usize, port: PortId) {
        let port = &mut self.ports[node][usize::from(port)];
        port.held = Holds::default();
        port.sent.clear();
    }

    /// For whom `queue` of `port` is held, or `flow` in it: the pause that names the flow, the queue, the port; else
    /// the oldest of any flow, which a queue of paused flows waits behind.
    pub(super) fn sake(&self, node: usize, port: PortId, queue: QueueId, flow: u32) -> Sake {
        let held = &self.ports[node][usize::from(port)].held;
        let by_flow = held.flow_or_oldest(flow);
        match by_flow {
            Some((true, sake)) => sake,
            _ => held
                .queue(queue)
                .or_else(|| held.oldest_class())
                .or(by_flow.map(|(_, sake)| sake))
                .unwrap_or(Sake::UNKNOWN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::{FlowName, Packet, QueueMap};

    const PAUSING: (usize, PortId) = (1, 0);
    const HELD: (usize, PortId) = (0, 0);

    fn pausers() -> Pausers {
        Pausers::new([1, 3].into_iter())
    }

    fn raise(pausers: &mut Pausers, flow: u32, upstream_queue: QueueId, egress: PortId) {
        let joined = Joined { ingress: PAUSING.1, egress, upstream_queue, queue: 0, frame_on: Some(PAUSING.1) };
        pausers.raised(PAUSING.0, joined, Label::of(&Packet { flow, ..Packet::NONE }));
    }

    fn sake(flow: u32, egress: PortId) -> Sake {
        Sake { flow: Some(flow), egress: Some(egress) }
    }

    #[test]
    fn a_pause_is_for_the_flow_that_raised_it_until_its_resume() {
        let mut pausers = pausers();
        raise(&mut pausers, 7, 3, 2);
        raise(&mut pausers, 8, 4, 1);
        for frame in [ControlFrame::Pause(3), ControlFrame::Pause(4)] {
            pausers.sent(PAUSING.0, PAUSING.1, frame);
        }
        for frame in [ControlFrame::Pause(3), ControlFrame::Pause(4)] {
            pausers.received(HELD, PAUSING, frame);
        }
        let of = |pausers: &Pausers, queue| pausers.sake(HELD.0, HELD.1, queue, 0);
        assert_eq!((of(&pausers, 3), of(&pausers, 4)), (sake(7, 2), sake(8, 1)));
        // A repetition, and a bitmap that keeps one of them and brings another.
        pausers.sent(PAUSING.0, PAUSING.1, ControlFrame::Pause(3));
        pausers.received(HELD, PAUSING, ControlFrame::Pause(3));
        pausers.received(HELD, PAUSING, ControlFrame::Bitmap(QueueMap::new([1 << 3 | 1 << 9, 0])));
        assert_eq!((of(&pausers, 3), of(&pausers, 4), of(&pausers, 9)), (sake(7, 2), Sake::UNKNOWN, Sake::UNKNOWN));
        pausers.received(HELD, PAUSING, ControlFrame::Resume(3));
        assert_eq!(of(&pausers, 3), Sake::UNKNOWN);
    }

    #[test]
    fn a_lost_frame_does_not_give_its_cause_to_the_next() {
        let mut pausers = pausers();
        let name = |flow| FlowName { flow, slot: 0, class: 0 };
        for flow in [1, 2] {
            raise(&mut pausers, flow, 0, flow as PortId);
            pausers.sent(PAUSING.0, PAUSING.1, ControlFrame::PauseFlow(name(flow)));
        }
        pausers.received(HELD, PAUSING, ControlFrame::PauseFlow(name(2)));
        assert_eq!(pausers.sake(HELD.0, HELD.1, 0, 2), sake(2, 2));
        assert_eq!(pausers.sake(HELD.0, HELD.1, 0, 5), sake(2, 2), "behind the paused flow in its queue");
    }
}
