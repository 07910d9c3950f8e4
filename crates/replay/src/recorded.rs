//! A data plane that keeps a log of its calls.

use crate::calls::{Answer, Call, Dropped};
use crate::log::Log;
use backwater_dataplane::{DataPlane, Departed, Discarded, Readings, Received, Sent};
use backwater_types::{ControlFrame, Frame, Instant, Kind, Packet, PortId, QueueId};
use std::fs::File;
use std::io::{BufWriter, Write};

/// A data plane that writes every call with its arguments and results to a log, and is otherwise the one inside.
///
/// Prefetches and telemetry are not written: they change nothing. An error in writing ends the log, not the plane;
/// [`Log::finish`] returns it.
#[derive(Debug)]
pub struct Recorded<D, W: Write = BufWriter<File>> {
    plane: D,
    log: Log<W>,
    /// Packets that the holder has not taken yet. Each is in the record of the call that dropped it.
    discarded: Vec<Discarded>,
}

impl<D: DataPlane<Extension = ()>, W: Write> Recorded<D, W> {
    /// Wraps `plane`, which has not been used yet.
    pub fn new(plane: D, log: Log<W>) -> Recorded<D, W> {
        Recorded { plane, log, discarded: Vec::new() }
    }

    fn answered(&mut self, answer: Answer, to_poll: &[PortId]) {
        let dropped = self.plane.discarded();
        self.log.answer(&answer, dropped.iter().map(Dropped::from), to_poll);
        self.discarded.append(dropped);
    }

    /// Writes a question, which changes nothing, and its answer.
    fn asked(&self, call: Call, answer: Answer) {
        self.log.call(&call);
        self.log.answer(&answer, std::iter::empty(), &[]);
    }
}

impl<D: DataPlane<Extension = ()>, W: Write + Send + 'static> DataPlane for Recorded<D, W> {
    type Extension = ();

    fn receive(&mut self, now: Instant, frame: &Frame, ingress: PortId, egress: PortId) -> Received {
        self.log.call(&Call::Receive { now, packet: frame.packet, ingress, egress });
        let received = self.plane.receive(now, frame, ingress, egress);
        self.answered(Answer::Received(received), &[]);
        received
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        let mut packet = None;
        let departed = self.transmit_with(now, port, &mut |frame, _| packet = Some(*frame))?;
        let Departed { queue, frame_on, timer_changed, entered } = departed;
        packet.map(|packet| Sent { packet, queue, frame_on, timer_changed, entered })
    }

    fn transmit_with(
        &mut self,
        now: Instant,
        port: PortId,
        out: &mut dyn FnMut(&Frame, &Departed),
    ) -> Option<Departed> {
        self.log.call(&Call::Transmit { now, port });
        let mut sent = None;
        let departed = self.plane.transmit_with(now, port, &mut |frame, departed| {
            sent = Some((frame.packet, *departed));
            out(frame, departed);
        });
        self.answered(Answer::Sent(sent), &[]);
        departed
    }

    fn pass(&mut self, now: Instant, frame: &mut Frame, ingress: PortId, egress: PortId) -> Option<QueueId> {
        self.log.call(&Call::Pass { now, packet: frame.packet, ingress, egress });
        let queue = self.plane.pass(now, frame, ingress, egress);
        self.answered(Answer::Passed(queue.map(|queue| (frame.packet, queue))), &[]);
        queue
    }

    fn prefetch(&self, packet: &Packet, ingress: PortId, egress: PortId) -> u32 {
        self.plane.prefetch(packet, ingress, egress)
    }

    fn prefetch_ports(&self) -> u64 {
        self.plane.prefetch_ports()
    }

    fn queues_as_data(&self, kind: Kind) -> bool {
        let joins = self.plane.queues_as_data(kind);
        self.asked(Call::QueuesAsData { kind }, Answer::Flag(joins));
        joins
    }

    fn sendable(&self, port: PortId) -> bool {
        let sendable = self.plane.sendable(port);
        self.asked(Call::Sendable { port }, Answer::Flag(sendable));
        sendable
    }

    fn due(&self, port: PortId) -> Instant {
        self.plane.due(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        self.log.call(&Call::Control { now, port, frame });
        self.plane.control(now, port, frame);
        self.answered(Answer::Done, &[]);
    }

    fn next_timer(&self) -> Instant {
        let next = self.plane.next_timer();
        self.asked(Call::NextTimer, Answer::Time(next));
        next
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        self.log.call(&Call::Timer { now });
        let before = to_poll.len();
        self.plane.timer(now, to_poll);
        self.answered(Answer::Done, &to_poll[before..]);
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.log.call(&Call::LinkDown { now, port });
        let before = to_poll.len();
        self.plane.link_down(now, port, to_poll);
        self.answered(Answer::Done, &to_poll[before..]);
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.log.call(&Call::LinkUp { now, port });
        let before = to_poll.len();
        self.plane.link_up(now, port, to_poll);
        self.answered(Answer::Done, &to_poll[before..]);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded> {
        &mut self.discarded
    }

    fn readings(&self) -> &dyn Readings {
        self.plane.readings()
    }
}
