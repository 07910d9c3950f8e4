//! Control frames, by which neighbours pause each other: their effects and their bytes.

use crate::packet::{Kind, Packet};
use crate::{CONTROL_WIRE, QueueId};

/// A set of queues of one port, up to 128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueMap([u32; 4]);

impl QueueMap {
    /// The set with the bits of `words`, least significant first.
    pub const fn new(words: [u64; 2]) -> QueueMap {
        QueueMap([words[0] as u32, (words[0] >> 32) as u32, words[1] as u32, (words[1] >> 32) as u32])
    }

    /// The bits, least significant first.
    pub const fn words(self) -> [u64; 2] {
        [self.0[0] as u64 | (self.0[1] as u64) << 32, self.0[2] as u64 | (self.0[3] as u64) << 32]
    }

    /// The bits as one number: queue 0 is the least significant.
    pub const fn bits(self) -> u128 {
        let [low, high] = self.words();
        low as u128 | (high as u128) << 64
    }

    /// Whether no queue is in the set.
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }
}

/// Name of a flow in a frame: 64 bits that stand for its five-tuple, and its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowName {
    /// [`Packet::flow`].
    pub flow: u32,
    /// [`Packet::sender_slot`], by which the flow's NIC finds it.
    pub slot: u32,
    /// Traffic class.
    pub class: u8,
}

/// A hop-by-hop frame from a switch to the neighbour that feeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlFrame {
    /// BFC: hold this queue (spec A.5).
    Pause(u16),
    /// BFC: release this queue.
    Resume(u16),
    /// BFC: hold exactly these queues, which repairs the loss of earlier frames.
    Bitmap(QueueMap),
    /// FlowSail and ideal flow control: hold this flow (spec F.6).
    PauseFlow(FlowName),
    /// FlowSail and ideal flow control: release this flow.
    ResumeFlow(FlowName),
    /// PFC: hold this class.
    PfcPause(u8),
    /// PFC: release this class.
    PfcResume(u8),
    /// Credit for the neighbour that feeds a link: bytes of data that it may send in all since the link came up.
    Credit(u64),
    /// Report of that neighbour: bytes of data that it has sent since then. It may send no more.
    CreditSent(u64),
}

/// Part of an egress port that a frame holds or releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A data queue.
    Queue(QueueId),
    /// A flow, in whichever queue its packets are.
    Flow(FlowName),
    /// A traffic class of PFC. A port whose scheduler does not distinguish classes is held whole.
    Class(u8),
}

/// Effect of a control frame on the port that it reaches. Frames are level-triggered: applying one twice is applying it
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Holds the target, or releases it.
    Set {
        /// Part of the port.
        target: Target,
        /// Held from now on; `false`: released.
        holds: bool,
    },
    /// Holds exactly these queues and releases all others.
    SetQueues(QueueMap),
    /// Limits the data sent since the link came up to this number of bytes.
    Limit(u64),
    /// Requests credit for a neighbour that has sent this number of bytes; no pause.
    Ask(u64),
}

impl ControlFrame {
    /// Effect on the port that the frame reaches: the one place that knows the meaning of each frame.
    #[inline(always)]
    pub const fn effect(self) -> Effect {
        match self {
            ControlFrame::Pause(queue) => Effect::Set { target: Target::Queue(queue), holds: true },
            ControlFrame::Resume(queue) => Effect::Set { target: Target::Queue(queue), holds: false },
            ControlFrame::Bitmap(map) => Effect::SetQueues(map),
            ControlFrame::PauseFlow(name) => Effect::Set { target: Target::Flow(name), holds: true },
            ControlFrame::ResumeFlow(name) => Effect::Set { target: Target::Flow(name), holds: false },
            ControlFrame::PfcPause(class) => Effect::Set { target: Target::Class(class), holds: true },
            ControlFrame::PfcResume(class) => Effect::Set { target: Target::Class(class), holds: false },
            ControlFrame::Credit(bytes) => Effect::Limit(bytes),
            ControlFrame::CreditSent(bytes) => Effect::Ask(bytes),
        }
    }
}

/// Operation codes of the frames inside a packet.
const PAUSE: u32 = 0;
const RESUME: u32 = 1;
const BITMAP: u32 = 2;
const PFC_PAUSE: u32 = 3;
const PFC_RESUME: u32 = 4;
const PAUSE_FLOW: u32 = 5;
const RESUME_FLOW: u32 = 6;
const CREDIT: u32 = 7;
const CREDIT_SENT: u32 = 8;

/// Everything that crosses a link is a [`Packet`], so that links, queues and copies have one plain type. A control
/// frame is a packet of kind [`Kind::Control`]. Its `seq` holds the operation, and `flow` the queue or class. A flow is
/// named as in its own packets. A bitmap takes the four words that name flows in other packets.
impl From<ControlFrame> for Packet {
    fn from(frame: ControlFrame) -> Packet {
        let (operation, words) = match frame {
            ControlFrame::Pause(q) => (PAUSE, [q as u32, 0, 0, 0]),
            ControlFrame::Resume(q) => (RESUME, [q as u32, 0, 0, 0]),
            ControlFrame::Bitmap(map) => (BITMAP, map.0),
            ControlFrame::PauseFlow(name) => (PAUSE_FLOW, [name.flow, 0, name.slot, 0]),
            ControlFrame::ResumeFlow(name) => (RESUME_FLOW, [name.flow, 0, name.slot, 0]),
            ControlFrame::PfcPause(class) => (PFC_PAUSE, [class as u32, 0, 0, 0]),
            ControlFrame::PfcResume(class) => (PFC_RESUME, [class as u32, 0, 0, 0]),
            ControlFrame::Credit(bytes) => (CREDIT, [bytes as u32, (bytes >> 32) as u32, 0, 0]),
            ControlFrame::CreditSent(bytes) => (CREDIT_SENT, [bytes as u32, (bytes >> 32) as u32, 0, 0]),
        };
        let [flow, key, sender_slot, receiver_slot] = words;
        let class = match frame {
            ControlFrame::PauseFlow(name) | ControlFrame::ResumeFlow(name) => name.class,
            _ => 0,
        };
        Packet {
            flow,
            seq: operation,
            key,
            sender_slot,
            receiver_slot,
            dst: 0,
            src: 0,
            wire: CONTROL_WIRE,
            upstream_queue: 0,
            class,
            kind: Kind::Control,
            flags: 0,
        }
    }
}

impl Packet {
    /// Returns the name of the packet's flow.
    #[inline(always)]
    pub const fn flow_name(&self) -> FlowName {
        FlowName { flow: self.flow, slot: self.sender_slot, class: self.class }
    }

    /// Returns the control frame that the packet holds; `None` for data, ACKs and NACKs, and for an unknown operation.
    pub fn control(&self) -> Option<ControlFrame> {
        if self.kind != Kind::Control {
            return None;
        }
        match self.seq {
            PAUSE => Some(ControlFrame::Pause(self.flow as u16)),
            RESUME => Some(ControlFrame::Resume(self.flow as u16)),
            BITMAP => Some(ControlFrame::Bitmap(QueueMap([self.flow, self.key, self.sender_slot, self.receiver_slot]))),
            PAUSE_FLOW => Some(ControlFrame::PauseFlow(self.flow_name())),
            RESUME_FLOW => Some(ControlFrame::ResumeFlow(self.flow_name())),
            PFC_PAUSE => Some(ControlFrame::PfcPause(self.flow as u8)),
            PFC_RESUME => Some(ControlFrame::PfcResume(self.flow as u8)),
            CREDIT => Some(ControlFrame::Credit(self.flow as u64 | (self.key as u64) << 32)),
            CREDIT_SENT => Some(ControlFrame::CreditSent(self.flow as u64 | (self.key as u64) << 32)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_frame_survives_its_packet() {
        let map = QueueMap::new([0x8000_0001_0000_0002, 0x4000_0000_8000_0001]);
        for frame in [
            ControlFrame::Pause(127),
            ControlFrame::Resume(0),
            ControlFrame::Bitmap(map),
            ControlFrame::PauseFlow(FlowName { flow: 9, slot: u32::MAX, class: 7 }),
            ControlFrame::ResumeFlow(FlowName { flow: u32::MAX, slot: 3, class: 0 }),
            ControlFrame::PfcPause(7),
            ControlFrame::PfcResume(3),
            ControlFrame::Credit(u64::MAX - 1),
            ControlFrame::CreditSent(1 << 40),
        ] {
            assert_eq!(Packet::from(frame).control(), Some(frame));
        }
        assert_eq!(Packet { kind: Kind::Ack, ..Packet::from(ControlFrame::Pause(1)) }.control(), None);
    }
}
