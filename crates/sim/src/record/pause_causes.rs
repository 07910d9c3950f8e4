//! Causes of pauses: each pause is followed from the packet that caused it to the queue that it holds.
//!
//! A switch asks a neighbour to pause when it enqueues a packet. The cause of the pause is that packet's flow and its
//! egress port. The frame carries the cause along to the neighbour. A repetition has no cause, so a pause learned only
//! from a refresh has no known cause.

use crate::record::holds::Holds;
use crate::record::label::Label;
use backwater_engine::observe::Joined;
use backwater_types::{ControlFrame, Effect, PortId, QueueId, Target};
use std::collections::VecDeque;

/// Cause of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// Flow whose packet caused the pause; `None` if unknown.
    pub(super) flow: Option<u32>,
    /// Egress port of that packet at the switch that paused.
    pub(super) egress: Option<PortId>,
}

impl Cause {
    const UNKNOWN: Cause = Cause { flow: None, egress: None };
}

/// Packet that caused a pause.
#[derive(Clone, Copy, Debug)]
struct Raise {
    flow: u32,
    upstream_queue: QueueId,
    egress: PortId,
}

/// Number of causes that a port remembers until their frames leave. A port sends its frames before all else, so few
/// wait.
const REMEMBERED: usize = 256;

/// Pauses that a port requests, and pauses requested from it.
#[derive(Clone, Debug, Default)]
struct Port {
    /// Packets that arrived by the port and caused a pause, newest last.
    raised: VecDeque<Raise>,
    /// Frames in flight from the port, with their causes.
    sent: VecDeque<(ControlFrame, Cause)>,
    /// Pauses of the neighbour in force.
    held: Holds<Cause>,
}

/// Causes of the pauses in force at all ports of a network.
#[derive(Clone, Debug)]
pub(super) struct PauseCauses {
    /// `[node][port]`.
    ports: Vec<Vec<Port>>,
}

impl PauseCauses {
    /// Builds the state of nodes with the given numbers of ports.
    pub(super) fn new(ports: impl Iterator<Item = usize>) -> PauseCauses {
        PauseCauses { ports: ports.map(|ports| vec![Port::default(); ports]).collect() }
    }

    /// Remembers a packet that joined a queue of `switch`, if it caused a frame.
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

    /// Gives a frame that leaves `switch` by `port` the newest packet that can be its cause.
    #[inline(never)]
    pub(super) fn sent(&mut self, switch: usize, port: PortId, frame: ControlFrame) {
        let Effect::Set { target, holds: true } = frame.effect() else { return };
        let Port { raised, sent, .. } = &mut self.ports[switch][usize::from(port)];
        let newest = raised.iter().rposition(|raise| match target {
            Target::Queue(queue) => raise.upstream_queue == queue,
            Target::Flow(name) => raise.flow == name.flow,
            Target::Class(_) => true,
        });
        let cause = match (newest.and_then(|at| raised.remove(at)), target) {
            (Some(raise), _) => Cause { flow: Some(raise.flow), egress: Some(raise.egress) },
            (None, Target::Flow(name)) => Cause { flow: Some(name.flow), egress: None },
            (None, Target::Queue(_) | Target::Class(_)) => Cause::UNKNOWN,
        };
        sent.push_back((frame, cause));
    }

    /// Applies a frame that reached `node` by `port`, from port `from` of its neighbour. Frames sent earlier and not
    /// received were lost.
    pub(super) fn received(&mut self, (node, port): (usize, PortId), from: (usize, PortId), frame: ControlFrame) {
        let mut cause = Cause::UNKNOWN;
        let sent = &mut self.ports[from.0][usize::from(from.1)].sent;
        if let Some(at) = sent.iter().position(|(sent, _)| *sent == frame) {
            cause = sent.drain(..=at).next_back().map_or(cause, |(_, cause)| cause);
        }
        self.ports[node][usize::from(port)].held.apply(frame, cause, |_, _| ());
    }

    /// Ends all pauses of `port`, whose link changed.
    pub(super) fn released(&mut self, node: usize, port: PortId) {
        let port = &mut self.ports[node][usize::from(port)];
        port.held = Holds::default();
        port.sent.clear();
    }

    /// Cause of the pause that holds `flow` in `queue` of `port`. A pause that names the flow comes first, then one of
    /// the queue, then one of a class. Otherwise it is the oldest pause of any flow, since packets of paused flows hold
    /// up their queue.
    pub(super) fn of(&self, node: usize, port: PortId, queue: QueueId, flow: u32) -> Cause {
        let held = &self.ports[node][usize::from(port)].held;
        let by_flow = held.flow_or_oldest(flow);
        if let Some((true, cause)) = by_flow {
            return cause;
        }
        let by_queue = held.queue(queue).or_else(|| held.oldest_class());
        by_queue.or(by_flow.map(|(_, cause)| cause)).unwrap_or(Cause::UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::{FlowName, Packet, QueueMap};

    const PAUSING: (usize, PortId) = (1, 0);
    const HELD: (usize, PortId) = (0, 0);

    fn causes() -> PauseCauses {
        PauseCauses::new([1, 3].into_iter())
    }

    fn raise(causes: &mut PauseCauses, flow: u32, upstream_queue: QueueId, egress: PortId) {
        let joined = Joined { ingress: PAUSING.1, egress, upstream_queue, queue: 0, frame_on: Some(PAUSING.1) };
        causes.raised(PAUSING.0, joined, Label::of(&Packet { flow, ..Packet::NONE }));
    }

    fn cause(flow: u32, egress: PortId) -> Cause {
        Cause { flow: Some(flow), egress: Some(egress) }
    }

    #[test]
    fn a_pause_is_for_the_flow_that_raised_it_until_its_resume() {
        let mut causes = causes();
        raise(&mut causes, 7, 3, 2);
        raise(&mut causes, 8, 4, 1);
        for frame in [ControlFrame::Pause(3), ControlFrame::Pause(4)] {
            causes.sent(PAUSING.0, PAUSING.1, frame);
        }
        for frame in [ControlFrame::Pause(3), ControlFrame::Pause(4)] {
            causes.received(HELD, PAUSING, frame);
        }
        let of = |causes: &PauseCauses, queue| causes.of(HELD.0, HELD.1, queue, 0);
        assert_eq!((of(&causes, 3), of(&causes, 4)), (cause(7, 2), cause(8, 1)));
        // A repetition, then a bitmap that keeps one pause, ends one, and begins one.
        causes.sent(PAUSING.0, PAUSING.1, ControlFrame::Pause(3));
        causes.received(HELD, PAUSING, ControlFrame::Pause(3));
        causes.received(HELD, PAUSING, ControlFrame::Bitmap(QueueMap::new([1 << 3 | 1 << 9, 0])));
        assert_eq!((of(&causes, 3), of(&causes, 4), of(&causes, 9)), (cause(7, 2), Cause::UNKNOWN, Cause::UNKNOWN));
        causes.received(HELD, PAUSING, ControlFrame::Resume(3));
        assert_eq!(of(&causes, 3), Cause::UNKNOWN);
    }

    #[test]
    fn a_lost_frame_does_not_give_its_cause_to_the_next() {
        let mut causes = causes();
        let name = |flow| FlowName { flow, slot: 0, class: 0 };
        for flow in [1, 2] {
            raise(&mut causes, flow, 0, flow as PortId);
            causes.sent(PAUSING.0, PAUSING.1, ControlFrame::PauseFlow(name(flow)));
        }
        causes.received(HELD, PAUSING, ControlFrame::PauseFlow(name(2)));
        assert_eq!(causes.of(HELD.0, HELD.1, 0, 2), cause(2, 2));
        assert_eq!(causes.of(HELD.0, HELD.1, 0, 5), cause(2, 2), "behind the paused flow in its queue");
    }
}
