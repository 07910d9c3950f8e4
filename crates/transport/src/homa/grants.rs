//! The messages that come in at a host, and which of them may send: those with the fewest packets left.
//!
//! A message waits here from its first packet to the grant of its last. Those that wait are in order of what is left of them,
//! which changes by a packet at a time, so a message that is heard of moves by few places, mostly none. The best of each sender
//! counts; of these, as many as `overcommitment` are granted to.

use super::{HomaHeader, HomaReceiverParams};
use crate::flow::Reply;
use crate::packet_set::PacketSet;
use alloc::vec::Vec;
use backwater_types::{Frame, Instant, Kind, Packet};

/// Messages that come in at one host.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    messages: Vec<Inbound>,
    free: Vec<u32>,
    /// Those that are not granted to the end, fewest packets left first; of equals, that which came first.
    waiting: Vec<Waiting>,
    /// Senders of these.
    competing: u32,
    /// `[sender]`: how many of these are its.
    of_sender: Vec<u32>,
}

/// A message that comes in.
#[derive(Clone, Debug)]
struct Inbound {
    /// One of its packets, which says whence.
    of: Packet,
    seen: PacketSet,
    packets: u32,
    granted: u32,
    /// Place among those that wait; [`NOWHERE`] once all is granted.
    place: u32,
    /// Of the last grant.
    level: u8,
    /// When a packet of it came last, or was asked for again.
    heard: Instant,
    /// What is missing before this is being asked for again, and has been up to there.
    recover: u32,
    asked: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Packets that have not arrived.
    left: u32,
    message: u32,
    sender: u16,
    /// The best of its sender.
    best: bool,
}

const NOWHERE: u32 = u32::MAX;
/// Runs of missing packets asked for at a time.
const RUNS: usize = 16;

impl Inbox {
    /// A message of which this is the first packet to come in. Its number, until it is complete.
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

    /// A packet of message `number`. Whether the message is complete, and its number free.
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

    /// When message `number` has been silent for too long.
    #[inline(always)]
    pub(super) fn deadline(&self, params: &HomaReceiverParams, number: u32) -> Instant {
        self.messages[number as usize].heard + params.rto
    }

    /// It has: what may have been sent of it and has not come is asked for again.
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

    /// Message `number` takes its place among those that wait.
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

    /// All of message `number` is granted.
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

    /// Places from there on have moved.
    fn renumber(&mut self, from: usize) {
        for (place, waiting) in self.waiting.iter().enumerate().skip(from) {
            self.messages[waiting.message as usize].place = place as u32;
        }
    }

    /// One packet less is left of message `number`.
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

    /// Grants to message `number` what it may have more, if it is among those granted to.
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

    /// Grants to all what they may have more: others are among those granted to than before.
    fn grant_all(&mut self, params: &HomaReceiverParams, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        let (mut rank, mut place) = (0, 0);
        while rank < params.overcommitment && place < self.waiting.len() {
            let Waiting { message, best, .. } = self.waiting[place];
            if best && self.grant_to(params, message, rank, reply) {
                // Another has its place.
                self.leave(message);
            } else {
                rank += u32::from(best);
                place += 1;
            }
        }
    }

    /// Grants to message `number`, at this rank, what it may have more. Whether all of it is granted now.
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

    /// Says what has arrived, and what may be sent.
    #[inline(always)]
    fn acknowledge(&self, params: &HomaReceiverParams, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        self.answer(params, Kind::Ack, (self.seen.count(), 0), reply);
    }

    /// Says what may be sent, and with a NACK which run of packets is to be sent again: the first of them, and how many.
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

    /// Something came of what is being repaired: asks for more, if all that was asked for has come.
    #[cold]
    fn recover_on(&mut self, params: &HomaReceiverParams, reply: &mut impl FnMut(&Packet, Reply<HomaHeader>)) {
        let missing = self.seen.first_missing();
        if missing >= self.recover {
            self.recover = 0;
        } else if missing >= self.asked {
            self.ask(params, reply);
        }
    }

    /// Asks for the first runs of missing packets.
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
