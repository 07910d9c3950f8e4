//! Counters of one port, which are always on.

use backwater_types::{ControlFrame, DropReason, Effect, Instant, Kind, Packet, Target};
use serde::{Deserialize, Serialize};

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStats {
    /// Packets sent.
    pub sent: Sent,
    /// Packets, ACKs among them, that were to leave by the port and that its node dropped by choice.
    pub dropped: u64,
    /// Pauses by the neighbour.
    pub held: PauseStats,
}

/// Packets sent by a port, `[data, ACKs, control frames]`: one cache line, touched for every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent([Count; 3]);

/// Packet and byte count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// Pauses of a port by its neighbour, touched when a control frame comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseStats {
    /// PFC pauses that took effect at the port.
    pub pfc_pauses: u64,
    /// Time that PFC held the port, or at least one of its classes, picoseconds.
    pub pfc_paused: u64,
    /// PAUSE frames received.
    pub bfc_pauses: u64,
    /// RESUME frames received.
    pub bfc_resumes: u64,
    /// BITMAP frames received.
    pub bfc_bitmaps: u64,
    /// Time that BFC held queues, summed over queues, picoseconds.
    pub bfc_paused: u64,
    /// PAUSE frames for single flows received, repetitions included.
    pub flow_pauses: u64,
    /// RESUME frames for single flows received.
    pub flow_resumes: u64,
    /// Classes that PFC holds now, a bit each.
    pfc_held: u8,
    /// Queues that BFC holds now, a bit each.
    bfc_held: u128,
    /// Instant up to which paused times are summed.
    settled_at: Instant,
}

impl Sent {
    /// `[kind]`: index of its count. This is a table because a branch on the kind would be mispredicted as often as
    /// data and ACKs alternate.
    const OF: [u8; Kind::COUNT] = {
        let mut of = [1; Kind::COUNT];
        (of[Kind::Data as usize], of[Kind::Control as usize]) = (0, 2);
        of
    };

    /// Counts a packet that starts on the wire.
    #[inline(always)]
    pub fn count(&mut self, packet: &Packet) {
        let count = &mut self.0[Sent::OF[packet.kind as usize] as usize];
        count.packets += 1;
        count.bytes += packet.wire as u64;
    }

    /// Returns the count of data packets.
    pub fn data(&self) -> Count {
        self.0[0]
    }

    /// Returns the count of ACKs, NACKs, drop notices, credits and credit requests.
    pub fn acks(&self) -> Count {
        self.0[1]
    }

    /// Returns the count of control frames.
    pub fn control(&self) -> Count {
        self.0[2]
    }

    /// Returns the bytes on the wire of all packets.
    pub fn wire_bytes(&self) -> u64 {
        self.0.iter().map(|count| count.bytes).sum()
    }
}

impl PauseStats {
    /// Counts a control frame of the neighbour.
    pub fn on_control(&mut self, now: Instant, frame: ControlFrame) {
        self.settle(now);
        match frame.effect() {
            Effect::Set { target: Target::Class(class), holds } => {
                let class = 1u8.checked_shl(class.into()).unwrap_or(0);
                self.pfc_pauses += (holds && self.pfc_held & class == 0) as u64;
                self.pfc_held = self.pfc_held & !class | if holds { class } else { 0 };
            }
            Effect::Set { target: Target::Queue(queue), holds } => {
                let queue = 1u128.checked_shl(queue.into()).unwrap_or(0);
                self.bfc_pauses += holds as u64;
                self.bfc_resumes += !holds as u64;
                self.bfc_held = self.bfc_held & !queue | if holds { queue } else { 0 };
            }
            Effect::SetQueues(map) => {
                self.bfc_bitmaps += 1;
                self.bfc_held = map.bits();
            }
            Effect::Set { target: Target::Flow(_), holds } => {
                self.flow_pauses += holds as u64;
                self.flow_resumes += !holds as u64;
            }
            Effect::Limit(_) | Effect::Ask(_) => {}
        }
    }

    /// Ends all pauses, because the link failed or came back.
    pub fn on_link_change(&mut self, now: Instant) {
        self.settle(now);
        self.pfc_held = 0;
        self.bfc_held = 0;
    }

    /// Adds the paused times up to `now`.
    pub fn settle(&mut self, now: Instant) {
        let span = now.since(self.settled_at).0;
        self.pfc_paused += if self.pfc_held == 0 { 0 } else { span };
        self.bfc_paused += span * self.bfc_held.count_ones() as u64;
        self.settled_at = now;
    }
}

/// Packets that were dropped or lost, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// `[reason]`: packets.
    pub packets: [u64; DropReason::COUNT],
    /// `[reason]`: bytes.
    pub bytes: [u64; DropReason::COUNT],
    /// `[reason]`: data packets among `packets`; the rest are ACKs, NACKs and credits.
    pub data: [u64; DropReason::COUNT],
}

impl Drops {
    /// Counts a dropped packet.
    pub fn count(&mut self, reason: DropReason, packet: &Packet) {
        self.packets[reason as usize] += 1;
        self.bytes[reason as usize] += packet.wire as u64;
        self.data[reason as usize] += (packet.kind == Kind::Data) as u64;
    }

    /// Returns the data packets that nodes dropped by choice.
    pub fn chosen_data(&self) -> u64 {
        DropReason::ALL.iter().filter(|reason| reason.is_chosen()).map(|reason| self.data[*reason as usize]).sum()
    }
}
