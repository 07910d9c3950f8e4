//! What crosses a link: packets, and the frames by which neighbours pause each other.

use crate::packet::Packet;

/// A set of queues of one port, up to 128. Two words, so that a frame stays 32 bytes and 4-aligned.
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

    /// Whether no queue is in the set.
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }
}

/// A hop-by-hop frame from a switch to the neighbour that feeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlFrame {
    /// BFC: hold this queue (spec A.5).
    Pause(u16),
    /// BFC: release this queue.
    Resume(u16),
    /// BFC: exactly these queues are held; repairs lost frames.
    Bitmap(QueueMap),
    /// PFC: hold this class.
    PfcPause(u8),
    /// PFC: release this class.
    PfcResume(u8),
}

/// A packet or a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Data, ACK or NACK.
    Packet(Packet),
    /// Backpressure between neighbours.
    Control(ControlFrame),
}

const _: () = assert!(size_of::<Frame>() == 32, "a control frame hides in a packet's niche");
