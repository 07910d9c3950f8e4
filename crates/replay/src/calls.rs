//! Inputs of a data plane and what it answers, as values.

use crate::bytes::{Fault, Field, Source};
use backwater_dataplane::{DataPlane, Departed, Discarded, Received};
use backwater_types::{ControlFrame, Frame, Instant, Kind, Packet, PortId, QueueId};
use std::fmt;

/// A call of a data plane, with its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Call {
    /// [`DataPlane::receive`].
    Receive {
        /// Time.
        now: Instant,
        /// Packet that arrives.
        packet: Packet,
        /// Port by which it arrives.
        ingress: PortId,
        /// Port to which it is routed.
        egress: PortId,
    },
    /// [`DataPlane::pass`].
    Pass {
        /// Time.
        now: Instant,
        /// Packet that arrives.
        packet: Packet,
        /// Port by which it arrives.
        ingress: PortId,
        /// Port to which it is routed.
        egress: PortId,
    },
    /// [`DataPlane::transmit`].
    Transmit {
        /// Time.
        now: Instant,
        /// Port with a free link.
        port: PortId,
    },
    /// [`DataPlane::control`].
    Control {
        /// Time.
        now: Instant,
        /// Port by which the frame arrives.
        port: PortId,
        /// The neighbour's frame.
        frame: ControlFrame,
    },
    /// [`DataPlane::timer`].
    Timer {
        /// Time.
        now: Instant,
    },
    /// [`DataPlane::link_down`].
    LinkDown {
        /// Time.
        now: Instant,
        /// Port of the link.
        port: PortId,
    },
    /// [`DataPlane::link_up`].
    LinkUp {
        /// Time.
        now: Instant,
        /// Port of the link.
        port: PortId,
    },
    /// [`DataPlane::sendable`].
    Sendable {
        /// Port in question.
        port: PortId,
    },
    /// [`DataPlane::next_timer`].
    NextTimer,
    /// [`DataPlane::queues_as_data`].
    QueuesAsData {
        /// Kind in question.
        kind: Kind,
    },
}

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Of an arrival.
    Received(Received),
    /// Of a packet that may bypass the queues: the packet as it goes on the wire, and its queue; `None`: it may not.
    Passed(Option<(Packet, QueueId)>),
    /// Of an opportunity to transmit; `None`: nothing is sent.
    Sent(Option<(Packet, Departed)>),
    /// Of calls without a result.
    Done,
    /// Of [`Call::Sendable`] and [`Call::QueuesAsData`].
    Flag(bool),
    /// Of [`Call::NextTimer`].
    Time(Instant),
}

/// A packet that a call dropped after its admission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// Its enqueue time, if stamps are kept.
    pub entered: Instant,
}

/// A call with everything that the data plane did about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The call.
    pub call: Call,
    /// Its result.
    pub answer: Answer,
    /// Packets that it dropped after their admission.
    pub dropped: Vec<Dropped>,
    /// Ports that it opened.
    pub to_poll: Vec<PortId>,
}

impl Call {
    /// Time of the call, where it has one.
    pub fn now(&self) -> Option<Instant> {
        match *self {
            Call::Receive { now, .. }
            | Call::Pass { now, .. }
            | Call::Transmit { now, .. }
            | Call::Control { now, .. }
            | Call::Timer { now }
            | Call::LinkDown { now, .. }
            | Call::LinkUp { now, .. } => Some(now),
            Call::Sendable { .. } | Call::NextTimer | Call::QueuesAsData { .. } => None,
        }
    }

    /// Name of the call in [`DataPlane`].
    pub fn name(&self) -> &'static str {
        match self {
            Call::Receive { .. } => "receive",
            Call::Pass { .. } => "pass",
            Call::Transmit { .. } => "transmit",
            Call::Control { .. } => "control",
            Call::Timer { .. } => "timer",
            Call::LinkDown { .. } => "link_down",
            Call::LinkUp { .. } => "link_up",
            Call::Sendable { .. } => "sendable",
            Call::NextTimer => "next_timer",
            Call::QueuesAsData { .. } => "queues_as_data",
        }
    }

    /// Ports that the call names.
    pub(crate) fn ports(&self) -> [Option<PortId>; 2] {
        match *self {
            Call::Receive { ingress, egress, .. } | Call::Pass { ingress, egress, .. } => [Some(ingress), Some(egress)],
            Call::Transmit { port, .. }
            | Call::Control { port, .. }
            | Call::LinkDown { port, .. }
            | Call::LinkUp { port, .. }
            | Call::Sendable { port } => [Some(port), None],
            Call::Timer { .. } | Call::NextTimer | Call::QueuesAsData { .. } => [None, None],
        }
    }

    /// Packet that the call hands over.
    pub(crate) fn packet(&self) -> Option<&Packet> {
        match self {
            Call::Receive { packet, .. } | Call::Pass { packet, .. } => Some(packet),
            _ => None,
        }
    }

    /// Makes the call. Drops that the plane has not handed over before count as the call's.
    pub fn make<D: DataPlane<Extension = ()>>(&self, plane: &mut D) -> Step {
        let mut to_poll = Vec::new();
        let answer = match *self {
            Call::Receive { now, packet, ingress, egress } => {
                Answer::Received(plane.receive(now, &packet.into(), ingress, egress))
            }
            Call::Pass { now, packet, ingress, egress } => {
                let mut frame: Frame = packet.into();
                let queue = plane.pass(now, &mut frame, ingress, egress);
                Answer::Passed(queue.map(|queue| (frame.packet, queue)))
            }
            Call::Transmit { now, port } => {
                let mut sent = None;
                plane.transmit_with(now, port, &mut |frame, departed| sent = Some((frame.packet, *departed)));
                Answer::Sent(sent)
            }
            Call::Control { now, port, frame } => {
                plane.control(now, port, frame);
                Answer::Done
            }
            Call::Timer { now } => {
                plane.timer(now, &mut to_poll);
                Answer::Done
            }
            Call::LinkDown { now, port } => {
                plane.link_down(now, port, &mut to_poll);
                Answer::Done
            }
            Call::LinkUp { now, port } => {
                plane.link_up(now, port, &mut to_poll);
                Answer::Done
            }
            Call::Sendable { port } => Answer::Flag(plane.sendable(port)),
            Call::NextTimer => Answer::Time(plane.next_timer()),
            Call::QueuesAsData { kind } => Answer::Flag(plane.queues_as_data(kind)),
        };
        let dropped = plane.discarded().drain(..).map(|discarded| Dropped::from(&discarded)).collect();
        Step { call: *self, answer, dropped, to_poll }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let tag = match self {
            Call::Receive { .. } => RECEIVE,
            Call::Pass { .. } => PASS,
            Call::Transmit { .. } => TRANSMIT,
            Call::Control { .. } => CONTROL,
            Call::Timer { .. } => TIMER,
            Call::LinkDown { .. } => LINK_DOWN,
            Call::LinkUp { .. } => LINK_UP,
            Call::Sendable { .. } => SENDABLE,
            Call::NextTimer => NEXT_TIMER,
            Call::QueuesAsData { .. } => QUEUES_AS_DATA,
        };
        tag.put(out);
        match self {
            Call::Receive { now, packet, ingress, egress } | Call::Pass { now, packet, ingress, egress } => {
                now.put(out);
                packet.put(out);
                ingress.put(out);
                egress.put(out);
            }
            Call::Transmit { now, port } | Call::LinkDown { now, port } | Call::LinkUp { now, port } => {
                now.put(out);
                port.put(out);
            }
            Call::Control { now, port, frame } => {
                now.put(out);
                port.put(out);
                frame.put(out);
            }
            Call::Timer { now } => now.put(out),
            Call::Sendable { port } => port.put(out),
            Call::NextTimer => {}
            Call::QueuesAsData { kind } => kind.put(out),
        }
    }

    /// Reads a call whose tag was read.
    pub(crate) fn get(tag: u8, from: &mut impl Source) -> Result<Call, Fault> {
        Ok(match tag {
            RECEIVE | PASS => {
                let (now, packet, ingress, egress) =
                    (Field::get(from)?, Field::get(from)?, Field::get(from)?, Field::get(from)?);
                match tag {
                    RECEIVE => Call::Receive { now, packet, ingress, egress },
                    _ => Call::Pass { now, packet, ingress, egress },
                }
            }
            TRANSMIT => Call::Transmit { now: Field::get(from)?, port: Field::get(from)? },
            CONTROL => Call::Control { now: Field::get(from)?, port: Field::get(from)?, frame: Field::get(from)? },
            TIMER => Call::Timer { now: Field::get(from)? },
            LINK_DOWN => Call::LinkDown { now: Field::get(from)?, port: Field::get(from)? },
            LINK_UP => Call::LinkUp { now: Field::get(from)?, port: Field::get(from)? },
            SENDABLE => Call::Sendable { port: Field::get(from)? },
            NEXT_TIMER => Call::NextTimer,
            QUEUES_AS_DATA => Call::QueuesAsData { kind: Field::get(from)? },
            other => {
                return Err(Fault::Invalid(format!("kind of record = {other}: expected {END} to {QUEUES_AS_DATA}")));
            }
        })
    }
}

/// First byte of the record that ends a log.
pub(crate) const END: u8 = 0;
const RECEIVE: u8 = 1;
const PASS: u8 = 2;
const TRANSMIT: u8 = 3;
const CONTROL: u8 = 4;
const TIMER: u8 = 5;
const LINK_DOWN: u8 = 6;
const LINK_UP: u8 = 7;
const SENDABLE: u8 = 8;
const NEXT_TIMER: u8 = 9;
const QUEUES_AS_DATA: u8 = 10;

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Receive { packet, ingress, egress, .. } => {
                write!(f, "receive {} from port {ingress} for port {egress}", Name(packet))
            }
            Call::Pass { packet, ingress, egress, .. } => {
                write!(f, "pass {} from port {ingress} to port {egress}", Name(packet))
            }
            Call::Transmit { port, .. } => write!(f, "transmit by port {port}"),
            Call::Control { port, frame, .. } => write!(f, "control frame {frame:?} by port {port}"),
            Call::Timer { .. } => write!(f, "timer"),
            Call::LinkDown { port, .. } => write!(f, "link of port {port} fails"),
            Call::LinkUp { port, .. } => write!(f, "link of port {port} comes back"),
            Call::Sendable { port } => write!(f, "has port {port} something to send"),
            Call::NextTimer => write!(f, "when does the timer run next"),
            Call::QueuesAsData { kind } => write!(f, "does {kind:?} join data queues"),
        }
    }
}

/// A packet in a few words.
pub(crate) struct Name<'a>(pub(crate) &'a Packet);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.control() {
            Some(frame) => write!(f, "control frame {frame:?}"),
            None => write!(f, "{:?} {} of flow {}", self.0.kind, self.0.seq, self.0.flow),
        }
    }
}

impl Answer {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Answer::Received(received) => received.put(out),
            Answer::Passed(passed) => passed.put(out),
            Answer::Sent(sent) => sent.put(out),
            Answer::Done => {}
            Answer::Flag(flag) => flag.put(out),
            Answer::Time(time) => time.put(out),
        }
    }

    /// Reads the result of `call`.
    pub(crate) fn get(call: &Call, from: &mut impl Source) -> Result<Answer, Fault> {
        Ok(match call {
            Call::Receive { .. } => Answer::Received(Field::get(from)?),
            Call::Pass { .. } => Answer::Passed(Field::get(from)?),
            Call::Transmit { .. } => Answer::Sent(Field::get(from)?),
            Call::Control { .. } | Call::Timer { .. } | Call::LinkDown { .. } | Call::LinkUp { .. } => Answer::Done,
            Call::Sendable { .. } | Call::QueuesAsData { .. } => Answer::Flag(Field::get(from)?),
            Call::NextTimer => Answer::Time(Field::get(from)?),
        })
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(from: &mut impl Source) -> Result<(A, B), Fault> {
        Ok((A::get(from)?, B::get(from)?))
    }
}

impl From<&Discarded> for Dropped {
    fn from(discarded: &Discarded) -> Dropped {
        Dropped { packet: discarded.frame.packet, entered: discarded.entered }
    }
}
