//! Incoming messages of a host, and the grants to those with the fewest packets left.
//!
//! A message waits here from its first packet to the grant of its last. Waiting messages are sorted by packets left,
//! which change by one at a time, so a message moves by few places with a packet, mostly none. The best message of each
//! sender competes; the first `overcommitment` of these are granted to.

use super::{HomaHeader, HomaReceiverParams};
use crate::flow::Reply;
use crate::packet_set::PacketSet;
use alloc::vec::Vec;
use backwater_types::{Frame, Instant, Kind, Packet};

/// Incoming messages of one host.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    messages: Vec<Inbound>,
    free: Vec<u32>,
    /// Messages not granted to the end, fewest packets left first; of equals, the first to come.
    waiting: Vec<Waiting>,
    /// Number of senders with waiting messages.
    competing: u32,
    /// `[sender]`: number of its waiting messages.
    of_sender: Vec<u32>,
}

/// An incoming message.
#[derive(Clone, Debug)]
struct Inbound {
    /// One of its packets, from which answers take their addresses.
    of: Packet,
    /// Packets that have arrived.
    seen: PacketSet,
    packets: u32,
    granted: u32,
    /// Place among waiting messages; [`NOWHERE`] once all is granted.
    place: u32,
    /// Level of the last grant.
    level: u8,
    /// Last time that a packet arrived or was requested again.
    heard: Instant,
    /// Packets missing before this are in recovery.
    recover: u32,
    /// Packets missing before this have been requested again.
    asked: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Packets that have not arrived.
    left: u32,
    message: u32,
    sender: u16,
    /// Whether it is the best of its sender.
    best: bool,
}

/// Place of a message that does not wait.
const NOWHERE: u32 = u32::MAX;
/// Runs of missing packets in one request.
const RUNS: usize = 16;

impl Inbox {
    /// Opens the message of `packet`, its first to arrive. Returns the message's number, which is free again once the
    /// message is complete.
    pub(super) fn open(&mut self, params: &HomaReceiverParams, now: Instant, packet: &Frame<HomaHeader>) -> u32 {
        let packets = packet.extension.packets;
        let number = self.free.pop().unwrap_or_else(|| {
            self.messages.push(Inbound::EMPTY);
            self.messages.len() as u32 - 1
        });
        let message = &mut self.messages[number as usize];
        message.seen.clear();
        (message.of, message.packets, message.heard) = (packet.packet, packets, now);
        (message.recover, message.asked, message.place) = (0, 0, NOWHERE);
        (message.granted, message.level) = (packets.min(params.window), params.levels.levels - 1);
        if message.granted < packets {
            self.enter(number, packets, packet.src);
        }
        number
    }

    /// Handles a packet of message `number`. Returns whether the message is complete, and its number free.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        params: &HomaReceiverParams,
        number: u32,
        now: Instant,
        seq: u32,
        reply: &mut impl FnMut(&Packet, Reply<HomaHeader>),
    ) -> bool {
        let message = &mut self.messages[number as usize];
        message.heard = now;
        if !message.seen.insert(seq) {
            message.acknowledge(params, reply);
            return false;
        }
        if message.seen.count() == message.packets {
            message.granted = message.packets;
            message.acknowledge(params, reply);
            if message.place != NOWHERE {
                self.leave(number);
                self.grant_all(params, reply);
            }
            self.free.push(number);
            return true;
        }
        if message.recover > 0 {
            message.recover_on(params, reply);
        }
        if message.place != NOWHERE {
            self.rise(number);
            self.grant(params, number, reply);
        }
        false
    }

    /// Returns the time at which message `number` will have been silent for too long.
    #[inline(always)]
    pub(super) fn deadline(&self, params: &HomaReceiverParams, number: u32) -> Instant {
        self.messages[number as usize].heard + params.rto
    }

    /// Requests the packets of a silent message that may have been sent and have not arrived.
    pub(super) fn on_silence(
        &mut self,
        params: &HomaReceiverParams,
        number: u32,
        now: Instant,
        reply: &mut impl FnMut(&Packet, Reply<HomaHeader>),
    ) {
        let message = &mut self.messages[number as usize];
        message.heard = now;
        message.recover = message.granted;
        message.ask(params, reply);
    }

    /// Adds message `number` to the waiting ones.
    fn enter(&mut self, number: u32, left: u32, sender: u16) {
        let place = self.waiting.partition_point(|other| other.left <= left);
        self.waiting.insert(place, Waiting { left, message: number, sender, best: false });
        self.renumber(place);
        if self.of_sender.len() <= sender.into() {
            self.of_sender.resize(usize::from(sender) + 1, 0);
        }
        self.of_sender[usize::from(sender)] += 1;
        if self.of_sender[usize::from(sender)] == 1 {
            self.competing += 1;
            self.waiting[place].best = true;
        } else if let Some(behind) =
            self.waiting[place + 1..].iter_mut().find(|other| other.sender == sender && other.best)
        {
            behind.best = false;
            self.waiting[place].best = true;
        }
    }

    /// Removes message `number` from the waiting ones.
    fn leave(&mut self, number: u32) {
        let place = core::mem::replace(&mut self.messages[number as usize].place, NOWHERE) as usize;
        let Waiting { sender, best, .. } = self.waiting.remove(place);
        self.renumber(place);
        self.of_sender[usize::from(sender)] -= 1;
        if self.of_sender[usize::from(sender)] == 0 {
            self.competing -= 1;
        } else if best && let Some(next) = self.waiting[place..].iter_mut().find(|other| other.sender == sender) {
            next.best = true;
        }
    }

    /// Updates the messages whose places have moved, from `from` on.
    fn renumber(&mut self, from: usize) {
        for (place, waiting) in self.waiting.iter().enumerate().skip(from) {
            self.messages[waiting.message as usize].place = place as u32;
        }
    }

    /// Subtracts a packet from those left of message `number`, and moves the message ahead.
    #[inline]
    fn rise(&mut self, number: u32) {
        let mut place = self.messages[number as usize].place as usize;
        self.waiting[place].left -= 1;
        while place > 0 && self.waiting[place - 1].left > self.waiting[place].left {
            self.waiting.swap(place - 1, place);
            let (ahead, behind) = (self.waiting[place - 1], self.waiting[place]);
            if ahead.sender == behind.sender && behind.best {
                (self.waiting[place - 1].best, self.waiting[place].best) = (true, false);
            }
            self.messages[behind.message as usize].place = place as u32;
            place -= 1;
        }
        self.messages[number as usize].place = place as u32;
    }

    /// Grants to message `number` up to its limit, if it is among those granted to.
    #[inline]
    fn grant(&mut self, params: &HomaReceiverParams, number: u32, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        let place = self.messages[number as usize].place as usize;
        if !self.waiting[place].best {
            return;
        }
        let ahead = self.waiting[..place].iter().filter(|other| other.best);
        let rank = ahead.take(params.overcommitment as usize).count() as u32;
        if rank < params.overcommitment && self.grant_to(params, number, rank, reply) {
            self.leave(number);
            self.grant_all(params, reply);
        }
    }

    /// Grants to all messages up to their limits, after a change of those granted to.
    fn grant_all(&mut self, params: &HomaReceiverParams, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        let (mut rank, mut place) = (0, 0);
        while rank < params.overcommitment && place < self.waiting.len() {
            let Waiting { message, best, .. } = self.waiting[place];
            if best && self.grant_to(params, message, rank, reply) {
                // The next message has moved to this place.
                self.leave(message);
            } else {
                rank += u32::from(best);
                place += 1;
            }
        }
    }

    /// Grants to message `number`, at this rank, up to its limit. Returns whether all of it is granted now.
    #[inline]
    fn grant_to(
        &mut self,
        params: &HomaReceiverParams,
        number: u32,
        rank: u32,
        reply: &mut impl FnMut(&Packet, Reply<HomaHeader>),
    ) -> bool {
        let active = self.competing.min(params.overcommitment);
        let message = &mut self.messages[number as usize];
        let may = message.seen.count().saturating_add(params.window).min(message.packets);
        if may > message.granted {
            message.granted = may;
            message.level = params.levels.of_scheduled(rank, active);
            message.acknowledge(params, reply);
        }
        message.granted == message.packets
    }
}

impl Inbound {
    const EMPTY: Inbound = Inbound {
        of: Packet::NONE,
        seen: PacketSet::EMPTY,
        packets: 0,
        granted: 0,
        place: NOWHERE,
        level: 0,
        heard: Instant::ZERO,
        recover: 0,
        asked: 0,
    };

    /// Answers with the number of packets that have arrived, and the packets that may be sent.
    #[inline(always)]
    fn acknowledge(&self, params: &HomaReceiverParams, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        self.answer(params, Kind::Ack, (self.seen.count(), 0), reply);
    }

    /// Answers with the packets that may be sent. A NACK also carries a run of packets to be sent again: its first
    /// packet and its length.
    #[inline(always)]
    fn answer(
        &self,
        params: &HomaReceiverParams,
        kind: Kind,
        (word, span): (u32, u16),
        reply: &mut impl FnMut(&Packet, Reply<HomaHeader>),
    ) {
        let extension = HomaHeader { packets: self.granted, span, level: self.level };
        let (seq, wire) = (self.seen.first_missing(), params.ack_wire);
        reply(&self.of, Reply { kind, seq, word: Some(word), wire, flags: 0, extension });
    }

    /// Requests more packets, if all requested ones have arrived.
    #[cold]
    fn recover_on(&mut self, params: &HomaReceiverParams, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        let missing = self.seen.first_missing();
        if missing >= self.recover {
            self.recover = 0;
        } else if missing >= self.asked {
            self.ask(params, reply);
        }
    }

    /// Requests the first runs of missing packets.
    #[cold]
    fn ask(&mut self, params: &HomaReceiverParams, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        let most = params.window.min(u16::MAX.into());
        let mut from = 0;
        for _ in 0..RUNS {
            let Some((first, end)) = self.seen.hole(from, self.recover) else { break };
            let span = (end - first).min(most) as u16;
            self.answer(params, Kind::Nack, (first, span), reply);
            (self.asked, from) = (first + u32::from(span), end);
        }
    }
}
