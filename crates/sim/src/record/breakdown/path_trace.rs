//! Trace of one followed packet: the delays of its path so far.

use crate::record::breakdown::port_clock::{PortClock, Reading, Turn};
use crate::record::label::Label;
use crate::record::pause_causes::Cause;
use crate::record::waits::{Parts, Wait, Why, part};
use backwater_types::{Duration, FlowName, Instant, PortId, QueueId};

/// Trace of a packet that may complete its flow.
#[derive(Clone, Debug)]
pub(super) struct PathTrace {
    pub(super) name: FlowName,
    seq: u32,
    /// Number of links crossed.
    hop: u8,
    /// Queue at the port where the packet waits, or that it left last.
    pub(super) queue: QueueId,
    reading: Reading,
    /// Time since the reading that the port spent on data of the same flow: `[in its queue, in others]`. It is reduced
    /// by the progress, at the reading, of the transmission then in progress. Wraps.
    own: [u64; 2],
    pause: Option<Pause>,
    pub(super) parts: Parts,
}

/// Pause in force of a waiting packet.
#[derive(Clone, Copy, Debug)]
struct Pause {
    cause: Cause,
    since: Instant,
    /// [`PathTrace::own`] at the start of the pause, including the progress of the transmission in progress then.
    own: [u64; 2],
}

impl PathTrace {
    /// Creates the trace of a packet that its source sends at `at`; `parts` are its delays until then.
    pub(super) fn new(packet: Label, at: Instant, parts: Parts) -> PathTrace {
        PathTrace {
            name: packet.name,
            seq: packet.seq,
            hop: 0,
            queue: packet.upstream_queue,
            reading: Reading::none_until(at),
            own: [0; 2],
            pause: None,
            parts,
        }
    }

    /// Whether this is the trace of `packet`. A retransmitted packet may have several.
    pub(super) fn is_of(&self, packet: Label) -> bool {
        self.name.flow == packet.name.flow && self.seq == packet.seq
    }

    /// Cause of the pause in force.
    pub(super) fn paused_by(&self) -> Option<Cause> {
        self.pause.map(|pause| pause.cause)
    }

    /// Delay of zero length at `place`, where the packet is.
    pub(super) fn part(&self, place: (usize, PortId), why: Why) -> Wait {
        part(self.name.flow, self.hop, place, self.queue, why)
    }

    /// Begins a wait at a port. With `queue`, the reading distinguishes the packet's own queue from others.
    pub(super) fn wait(&mut self, clock: &PortClock, queue: Option<QueueId>, now: Instant) {
        self.pause = None;
        clock.read(&mut self.reading, queue, now);
        self.own = clock.own_progress(queue, self.name.flow, now).map(u64::wrapping_neg);
    }

    /// Counts a transmission of the same flow that has ended, from the same queue or from another one.
    pub(super) fn add_own(&mut self, same_queue: bool, span: u64) {
        let own = &mut self.own[usize::from(!same_queue)];
        *own = own.wrapping_add(span);
    }

    /// Time that went to data of the same flow since the reading, reduced as [`PathTrace::own`] says.
    fn own_by(&self, clock: &PortClock, queue: Option<QueueId>, now: Instant) -> [u64; 2] {
        let under_way = clock.own_progress(queue, self.name.flow, now);
        [0, 1].map(|i| self.own[i].wrapping_add(under_way[i]))
    }

    /// Begins a pause.
    pub(super) fn pause(&mut self, clock: &PortClock, queue: Option<QueueId>, now: Instant, cause: Cause) {
        clock.read_pause(&mut self.reading, queue, now);
        self.pause = Some(Pause { cause, since: now, own: self.own_by(clock, queue, now) });
    }

    /// Ends the pause in force, if any. Returns its cause and length. The reading continues as if there had been no
    /// pause.
    pub(super) fn resume(
        &mut self,
        clock: &PortClock,
        queue: Option<QueueId>,
        now: Instant,
    ) -> Option<(Cause, Duration)> {
        let Pause { cause, since, own: then } = self.pause.take()?;
        let span = now.since(since);
        clock.skip_pause(&mut self.reading, queue, now, span);
        let by_now = self.own_by(clock, queue, now);
        for i in [0, 1] {
            let sent_meanwhile = by_now[i].wrapping_sub(then[i]);
            self.own[i] = self.own[i].wrapping_sub(sent_meanwhile);
        }
        Some((cause, span))
    }

    /// Accounts for the wait at a port that ends now, without its pauses. `own_class` is the class of the flow.
    pub(super) fn leave(
        &mut self,
        clock: &PortClock,
        queue: Option<QueueId>,
        now: Instant,
        place: (usize, PortId),
        own_class: u8,
    ) {
        let (own, here) = (self.own_by(clock, queue, now), self.part(place, Why::Idle));
        clock.split(&mut self.reading, queue, (own, own_class), now, |turn, span| {
            let (why, whose) = match turn {
                Turn::Own => (Why::OwnPackets, Some(own_class)),
                Turn::Queue(class) => (Why::Queue, Some(class)),
                Turn::Others(class) => (Why::OtherQueues, Some(class)),
                Turn::Frames => (Why::AcksAndFrames, None),
                Turn::Idle => (Why::Idle, None),
            };
            self.parts.add(Wait { why, whose, span, ..here });
        });
    }

    /// Accounts for a link: `transmission`, then at most `delay` on the link after port `from`, and the rest in node
    /// `to` at its end.
    pub(super) fn land(
        &mut self,
        now: Instant,
        (transmission, delay): (Duration, Duration),
        from: (usize, PortId),
        to: (usize, PortId),
    ) {
        let whole = now.since(self.reading.at);
        let transmission = transmission.min(whole);
        let rest = Duration(whole.0 - transmission.0);
        let propagation = rest.min(delay);
        for (why, span) in [(Why::Transmission, transmission), (Why::Propagation, propagation)] {
            self.parts.add(Wait { span, ..self.part(from, why) });
        }
        self.hop = self.hop.saturating_add(1);
        self.reading.at = now;
        let span = Duration(rest.0 - propagation.0);
        self.parts.add(Wait { span, ..part(self.name.flow, self.hop, to, 0, Why::HostDelay) });
    }
}
