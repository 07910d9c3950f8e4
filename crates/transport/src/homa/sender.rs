//! Sending end of a message: unscheduled packets go at once, scheduled ones as they are granted, and retransmissions
//! first.

use super::{HomaFlowParams, HomaHeader};
use crate::flow::{Next, Outgoing, Sender, Start};
use crate::tcp::TimeoutReason;
use alloc::vec::Vec;
use backwater_types::{Frame, Instant, Kind, flags};

/// Sending end of a message.
#[derive(Clone, Debug)]
pub struct HomaSender {
    key: u32,
    /// Packets of the message.
    packets: u32,
    /// Wire bytes of the last packet.
    last_wire: u16,
    flags: u8,
    /// Levels of unscheduled and of scheduled packets.
    levels: [u8; 2],
    /// Whether the receiver has answered, and so knows of the message.
    heard: bool,
    /// Unscheduled packets.
    unscheduled: u32,
    /// Packets that may be sent.
    granted: u32,
    /// Next packet to send for the first time.
    next: u32,
    /// First packet not acknowledged.
    acked: u32,
    /// Packets that have arrived.
    arrived: u32,
    retransmitted: u32,
    /// Last time that a packet was sent.
    sent: Instant,
    /// Runs of packets to be sent again: the first packet of each, and the one after its last.
    again: Vec<(u32, u32)>,
}

impl HomaSender {
    /// Opens a message.
    pub(super) fn new(params: &HomaFlowParams, now: Instant, start: Start) -> HomaSender {
        let Start { key, packets, last_wire, flags, .. } = start;
        let last = u64::from(last_wire).saturating_sub(params.header);
        let bytes = u64::from(packets - 1) * params.payload + last;
        let levels = &params.receiver.levels;
        let unscheduled = packets.min(params.receiver.window);
        HomaSender {
            key,
            packets,
            last_wire,
            flags: flags & !flags::ECT,
            levels: [levels.of_unscheduled(bytes), levels.levels - 1],
            heard: false,
            unscheduled,
            granted: unscheduled,
            next: 0,
            acked: 0,
            arrived: 0,
            retransmitted: 0,
            sent: now,
            again: Vec::new(),
        }
    }

    /// Returns the packet that goes next.
    #[inline(always)]
    fn candidate(&self) -> Option<u32> {
        match self.again.first() {
            Some((seq, _)) => Some(*seq),
            None => (self.next < self.granted).then_some(self.next),
        }
    }

    #[inline(always)]
    fn wire(&self, params: &HomaFlowParams, seq: u32) -> u16 {
        if seq + 1 == self.packets { self.last_wire } else { params.full_wire }
    }

    /// Whether the sender has to repeat a packet if no answer comes: it has sent all that it may, which is the whole
    /// message, or nothing that the receiver has answered. In any other case the receiver asks.
    fn waits(&self) -> bool {
        self.next == self.granted && self.acked < self.packets && (self.next == self.packets || !self.heard)
    }

    /// Queues packets that the receiver asks for again.
    #[cold]
    fn resend(&mut self, from: u32, end: u32) {
        let (from, end) = (from.max(self.acked), end.min(self.next));
        let known = self.again.iter().any(|(first, last)| *first <= from && end <= *last);
        if from < end && !known {
            self.again.push((from, end));
        }
    }

    /// Removes packets that have arrived from those to be sent again.
    #[cold]
    fn settle(&mut self) {
        let acked = self.acked;
        self.again.retain(|(_, end)| *end > acked);
        self.again.iter_mut().for_each(|(first, _)| *first = acked.max(*first));
    }
}

impl Sender for HomaSender {
    type Params = HomaFlowParams;
    type Extension = HomaHeader;
    type Due = ();
    const TIMER_RECEDES: bool = true;

    #[inline(always)]
    fn peek(&self, params: &HomaFlowParams, _now: Instant) -> Next<u16> {
        self.candidate().map_or(Next::Blocked, |seq| Next::Packet(self.wire(params, seq)))
    }

    #[inline(always)]
    fn next_packet(&mut self, params: &HomaFlowParams, now: Instant) -> Next<Outgoing<HomaHeader>> {
        let Some(seq) = self.candidate() else { return Next::Blocked };
        match self.again.first_mut() {
            None => self.next += 1,
            Some((first, end)) => {
                *first += 1;
                if first == end {
                    self.again.remove(0);
                }
                self.retransmitted += 1;
            }
        }
        self.sent = now;
        let last = if seq + 1 == self.packets { flags::LAST } else { 0 };
        Next::Packet(Outgoing {
            kind: Kind::Data,
            seq,
            wire: self.wire(params, seq),
            class: self.levels[usize::from(seq >= self.unscheduled)],
            flags: self.flags | last,
            extension: HomaHeader::of_data(self.packets),
        })
    }

    #[inline(always)]
    fn on_packet(&mut self, _params: &HomaFlowParams, _now: Instant, packet: &Frame<HomaHeader>) {
        let HomaHeader { packets: granted, span, level } = packet.extension;
        self.heard = true;
        self.acked = self.acked.max(packet.seq.min(self.packets));
        // Grants may be reordered.
        if granted >= self.granted {
            self.granted = granted.min(self.packets);
            self.levels[1] = level;
        }
        if !self.again.is_empty() {
            self.settle();
        }
        // First packet of a RESEND, or number of packets that have arrived.
        let word = packet.receiver_slot;
        match packet.kind {
            Kind::Nack => self.resend(word, word.saturating_add(span.into())),
            _ => self.arrived = self.arrived.max(word.min(self.packets)),
        }
    }

    #[inline(always)]
    fn timer(&self, params: &HomaFlowParams) -> Instant {
        if self.waits() { self.sent + params.receiver.rto } else { Instant::NEVER }
    }

    /// Sends the first packet again that is not known to have arrived, on which the receiver asks for the rest or
    /// acknowledges all.
    fn on_timer(&mut self, params: &HomaFlowParams, now: Instant) -> Option<TimeoutReason> {
        if self.timer(params) <= now {
            self.resend(self.acked, self.acked + 1);
        }
        None
    }

    #[inline(always)]
    fn has_unsent(&self) -> bool {
        self.next < self.packets || !self.again.is_empty()
    }

    #[inline(always)]
    fn left(&self) -> u32 {
        self.again.iter().fold(self.packets - self.next, |left, (first, end)| left.saturating_add(end - first))
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.acked == self.packets
    }

    fn acknowledged(&self) -> u32 {
        self.arrived
    }

    fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    #[inline(always)]
    fn key(&self) -> u32 {
        self.key
    }

    #[inline(always)]
    fn class(&self) -> u8 {
        self.levels[0]
    }
}
