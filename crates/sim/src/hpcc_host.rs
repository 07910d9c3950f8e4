//! A host as the public HPCC simulator has it: a list of queue pairs served round robin, packet by packet, and go-back-N on
//! NACKs alone.
//!
//! Source: baselines 0.2 and 0.3, the simulator's NIC and RDMA models. What shows in results beside [`crate::host`]:
//!
//! * A queue pair may send if it has unsent bytes, its window is open and its pace has come. The search starts after the pair
//!   that sent last *by its place in the list*, finished pairs are taken out of the list only when a search meets one, and
//!   the place is not adjusted then, so turns are skipped.
//! * When nothing may send, the NIC wakes at the earliest pace of any pair with unsent bytes. If that pair's window is shut its
//!   pace may have passed already: then nothing wakes the NIC before the next ACK, whatever pace other pairs wait for.
//! * Duplicates are not answered, and there is no retransmission timer: a flow that loses its last packet never ends.
//! * ACKs go before data. A pause of the data class holds them too, unless `ACK_HIGH_PRIO` is set.

use crate::host::{Finished, HostParams};
use crate::host_port::{ARRIVAL, EndHost, HostPort, HostSetup, LINK, PORT, TIMER};
use crate::in_order::{HostEvent, OrderedHost};
use crate::link::Fabric;
use crate::observe::Observer;
use crate::receivers::Receivers;
use crate::traffic::{Flow as Arrival, FlowKeys};
use crate::wheel::{Event, What};
use backwater_dataplane::Ring;
use backwater_transport::{Ack, Answer, Control, Receiver, Sender};
use backwater_types::{ControlFrame, Instant, Kind, Packet, flags};
use std::collections::VecDeque;

/// A host.
pub struct HpccHost<C: Control> {
    port: HostPort,
    acks: Ring<Packet>,
    /// Queue pairs by slot, which packets name them by.
    pairs: Vec<Pair<C>>,
    free: Vec<u32>,
    list: List,
    /// Pending wake-up for a pace.
    wake: Instant,
    /// The data class is paused.
    paused: bool,
    /// A transmission has not come to its end yet; only where events come in order.
    sending: bool,
    receivers: Receivers<Receiver>,
    keys: FlowKeys,
    changes: VecDeque<Instant>,
    finished_bytes: Vec<u64>,
}

struct Pair<C> {
    send: Sender,
    control: C,
    size: u64,
    id: u32,
    key: u32,
    receiver_slot: u32,
    /// Packets in flight at which its window is shut.
    limit: u32,
    /// Its place in the list.
    place: u32,
    dst: u16,
    last_wire: u16,
    class: u8,
}

impl<C: Control> Pair<C> {
    #[inline(always)]
    fn in_window(&self) -> bool {
        self.send.in_flight() < self.limit
    }

    fn set_limit(&mut self, params: &HostParams<C::Params>) {
        self.limit = self.control.window(&params.control).div_ceil(params.payload).min(u32::MAX as u64) as u32;
    }
}

impl<C: Control> EndHost for HpccHost<C> {
    type Params = C::Params;

    fn new(mut port: HostPort, setup: HostSetup) -> HpccHost<C> {
        port.tree.set(TIMER, setup.changes.front().copied().unwrap_or(Instant::NEVER));
        HpccHost {
            port,
            acks: Ring::default(),
            pairs: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            list: List::default(),
            wake: Instant::NEVER,
            paused: false,
            sending: false,
            receivers: Receivers::default(),
            keys: setup.keys,
            changes: setup.changes,
            finished_bytes: vec![0; setup.classes],
        }
    }

    #[inline(always)]
    fn port(&self) -> &HostPort {
        &self.port
    }

    #[inline(always)]
    fn port_mut(&mut self) -> &mut HostPort {
        &mut self.port
    }

    #[inline]
    fn run<O: Observer>(
        &mut self,
        end: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        while let Some((now, leaf)) = self.port.tree.first_before(end) {
            match leaf {
                LINK => {
                    let packet = self.port.take(fabric);
                    self.on_frame(now, packet, params, fabric, finished, observer);
                }
                PORT => {
                    self.port.tree.set(PORT, Instant::NEVER);
                    self.transmit(now, params, fabric, observer);
                }
                ARRIVAL => {
                    while let Some(arrival) = self.port.arrival(now) {
                        self.open(now, arrival, params);
                        self.kick(now, params, fabric, observer);
                    }
                }
                _ => self.on_timer(now, params, fabric, observer),
            }
        }
    }

    fn add_acknowledged(&self, params: &HostParams<C::Params>, sum: &mut [u64]) {
        self.finished_bytes.iter().zip(sum.iter_mut()).for_each(|(bytes, sum)| *sum += bytes);
        let listed = self.list.slots().map(|slot| &self.pairs[slot as usize]);
        for pair in listed.filter(|pair| !pair.send.is_done()) {
            sum[pair.class as usize] += pair.send.acked as u64 * params.payload;
        }
    }
}

impl<C: Control> OrderedHost for HpccHost<C> {
    #[inline]
    fn handle<O: Observer>(
        &mut self,
        now: Instant,
        event: HostEvent,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        match event {
            HostEvent::Arrival(packet) => {
                fabric.packet_hops += 1;
                self.on_frame(now, packet, params, fabric, finished, observer);
            }
            HostEvent::Free => {
                self.sending = false;
                self.transmit(now, params, fabric, observer);
            }
            HostEvent::Start(flow) => {
                self.open(now, flow, params);
                self.kick(now, params, fabric, observer);
            }
            HostEvent::Timer => self.on_timer(now, params, fabric, observer),
        }
    }

    fn changes(&self) -> impl Iterator<Item = Instant> {
        self.changes.iter().copied()
    }
}

impl<C: Control> HpccHost<C> {
    #[inline(always)]
    fn on_frame<O: Observer>(
        &mut self,
        now: Instant,
        packet: Packet,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        match packet.control() {
            Some(frame) => {
                observer.controlled(now, self.port.id as usize, 0, frame);
                self.port.stats.held.on_control(now, frame);
                self.paused = matches!(frame, ControlFrame::PfcPause(_));
                self.kick(now, params, fabric, observer);
            }
            None => self.receive(now, packet, params, fabric, finished, observer),
        }
    }

    /// A new queue pair, at the end of the list.
    fn open(&mut self, now: Instant, arrival: Arrival, params: &HostParams<C::Params>) {
        let (total, last) = arrival.packets(params.payload);
        let mut pair = Pair {
            send: Sender::new(total, now),
            control: C::new(&params.control),
            size: arrival.size,
            id: arrival.id,
            key: self.keys.next(&arrival),
            receiver_slot: arrival.receiver_slot,
            limit: 0,
            place: self.list.next_place(),
            dst: arrival.dst,
            last_wire: (last + params.header) as u16,
            class: arrival.class,
        };
        pair.set_limit(params);
        let slot = self.free.pop().unwrap_or(self.pairs.len() as u32);
        match self.pairs.get_mut(slot as usize) {
            Some(old) => *old = pair,
            None => self.pairs.push(pair),
        }
        self.list.push(slot, now);
        self.note(slot);
        if self.list.is_sparse() {
            self.list.close_up();
            for (place, entry) in self.list.places.iter().enumerate() {
                self.pairs[entry.slot as usize].place = place as u32;
            }
        }
    }

    /// The list learns what the pair in `slot` may do now.
    #[inline(always)]
    fn note(&mut self, slot: u32) {
        let pair = &self.pairs[slot as usize];
        let place = pair.place as usize;
        let unsent = pair.send.has_unsent();
        self.list.unsent.set(place, unsent);
        self.list.open.set(place, unsent && pair.in_window());
        self.list.finished.set(place, pair.send.is_done());
    }

    /// Sends if the link is free, else makes sure it is looked at when it is.
    #[inline(always)]
    fn kick<O: Observer>(
        &mut self,
        now: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        if fabric.wheel.is_some() {
            if !self.sending {
                self.transmit(now, params, fabric, observer);
            }
        } else if self.port.busy_until <= now {
            self.transmit(now, params, fabric, observer);
        } else if !self.port.tree.is_set(PORT) {
            self.port.tree.set(PORT, self.port.busy_until);
        }
    }

    /// The link is free: an ACK, or the next packet of a queue pair, or a wake-up call.
    fn transmit<O: Observer>(
        &mut self,
        now: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        let held = self.paused && params.acks_paused;
        let packet = match self.acks.front() {
            Some(ack) if !held => *ack,
            _ => match self.turn(now) {
                Some(place) => return self.send_from(now, place, params, fabric, observer),
                None => return self.sleep(now, fabric),
            },
        };
        self.acks.drop_front();
        self.depart(now, &packet, fabric, observer);
    }

    fn depart<O: Observer>(&mut self, now: Instant, packet: &Packet, fabric: &mut Fabric, observer: &mut O) {
        let free_at = self.port.depart(now, packet, fabric, observer);
        if fabric.wheel.is_some() {
            self.sending = true;
            fabric.schedule(free_at, Event::new(What::Free, self.port.id as u32, 0));
        } else if !self.acks.is_empty() || self.list.count > 0 {
            self.port.tree.set(PORT, free_at);
        }
    }

    /// The place in the list of the pair whose turn it is. Takes finished pairs out if the search met one.
    #[inline(always)]
    fn turn(&mut self, now: Instant) -> Option<usize> {
        let start = self.list.start();
        let found = self.list.search(start, now, self.paused);
        if let Some(first) = self.list.first_finished(start, found) {
            let free = &mut self.free;
            self.list.remove_finished(first, |slot| free.push(slot));
        }
        found
    }

    fn send_from<O: Observer>(
        &mut self,
        now: Instant,
        place: usize,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        self.list.last = self.list.listed.below(place);
        let slot = self.list.places[place].slot;
        let pair = &mut self.pairs[slot as usize];
        let seq = pair.send.send(now);
        let last = seq + 1 == pair.send.total;
        let wire = if last { pair.last_wire } else { (params.payload + params.header) as u16 };
        self.list.places[place].next_avail = now + pair.control.gap(&params.control, wire as u64);
        let packet = Packet {
            flow: pair.id,
            seq,
            key: pair.key,
            sender_slot: slot,
            receiver_slot: pair.receiver_slot,
            dst: pair.dst,
            src: self.port.id,
            wire,
            upstream_queue: 0,
            class: 0,
            kind: Kind::Data,
            flags: params.flags(pair.class, last),
        };
        self.note(slot);
        self.depart(now, &packet, fabric, observer);
    }

    /// Nothing may send now: wakes at the earliest pace of a pair with unsent bytes, if that is still to come.
    fn sleep(&mut self, now: Instant, fabric: &mut Fabric) {
        if self.wake != Instant::NEVER {
            return;
        }
        if let Some(at) = self.list.earliest_after(now) {
            self.wake = at;
            self.arm_timer();
            fabric.schedule(at, Event::new(What::Timer, self.port.id as u32, 0));
        }
    }

    fn arm_timer(&mut self) {
        let change = self.changes.front().copied().unwrap_or(Instant::NEVER);
        self.port.tree.set(TIMER, self.wake.min(change));
    }

    fn on_timer<O: Observer>(
        &mut self,
        now: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        while self.changes.front().is_some_and(|at| *at <= now) {
            self.changes.pop_front();
            self.paused = false;
            self.port.stats.held.on_link_change(now);
        }
        if self.wake <= now {
            self.wake = Instant::NEVER;
        }
        self.arm_timer();
        self.kick(now, params, fabric, observer);
    }

    #[inline]
    fn receive<O: Observer>(
        &mut self,
        now: Instant,
        packet: Packet,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        observer.host_received(now, self.port.id as usize, &packet);
        let heard = match packet.kind {
            Kind::Data => self.on_data(now, &packet, params, finished),
            _ => self.on_answer(now, packet, params, finished),
        };
        if heard {
            self.kick(now, params, fabric, observer);
        }
    }

    /// Queues what answers a data packet; whether anything does.
    fn on_data(
        &mut self,
        now: Instant,
        packet: &Packet,
        params: &HostParams<C::Params>,
        finished: &mut impl FnMut(Instant, Finished),
    ) -> bool {
        let Some(receiver) = self.receivers.get(packet.receiver_slot) else { return false };
        let (first_time, duplicate) = (packet.seq == receiver.expected, packet.seq < receiver.expected);
        if duplicate {
            return false;
        }
        let answer = receiver.on_data(now, packet.seq, params.nack_guard);
        if first_time && packet.has(flags::LAST) {
            self.receivers.finish(packet.receiver_slot);
            finished(now, Finished::Received { flow: packet.flow });
        }
        let (kind, seq) = match answer {
            Answer::Ack(seq) => (Kind::Ack, seq),
            Answer::Nack(seq) => (Kind::Nack, seq),
            Answer::Silence => return false,
        };
        self.acks.push_back(params.answer(self.port.id, &self.keys, packet, kind, seq));
        true
    }

    /// What an ACK or NACK does; false if its flow has finished.
    fn on_answer(
        &mut self,
        now: Instant,
        packet: Packet,
        params: &HostParams<C::Params>,
        finished: &mut impl FnMut(Instant, Finished),
    ) -> bool {
        let pair = &mut self.pairs[packet.sender_slot as usize];
        if pair.id != packet.flow || pair.send.is_done() {
            return false;
        }
        if packet.kind == Kind::Nack {
            pair.send.on_nack(now, packet.seq);
        } else {
            pair.send.on_ack(now, packet.seq);
        }
        let ack = Ack { seq: packet.seq, next: pair.send.next, marked: packet.has(flags::CE) };
        if pair.control.on_ack(&params.control, ack) {
            pair.set_limit(params);
        }
        if pair.send.is_done() {
            self.finished_bytes[pair.class as usize] += pair.size;
            let (flow, retransmitted) = (pair.id, pair.send.retransmitted);
            finished(now, Finished::Acknowledged { flow, retransmitted, timeouts: 0 });
        }
        self.note(packet.sender_slot);
        true
    }
}

/// The NIC's queue pairs in order of their start, with what a search asks of each in sets of places: it has to be as quick with
/// hundreds of pairs as with one. A pair that is taken out leaves a gap, so that others keep their places; the simulator's
/// indices count without gaps.
#[derive(Default)]
struct List {
    places: Vec<Place>,
    /// Places that are no gaps, and how many.
    listed: Places,
    count: usize,
    /// Index of the pair that sent last; it is not changed when pairs before it are taken out.
    last: usize,
    /// Pairs with unsent bytes.
    unsent: Places,
    /// Of those, the ones whose window is open.
    open: Places,
    /// Pairs that were acknowledged to the end.
    finished: Places,
}

#[derive(Clone, Copy)]
struct Place {
    slot: u32,
    /// Earliest start of its next packet.
    next_avail: Instant,
}

impl List {
    fn next_place(&self) -> u32 {
        self.places.len() as u32
    }

    fn push(&mut self, slot: u32, next_avail: Instant) {
        self.places.push(Place { slot, next_avail });
        for set in [&mut self.listed, &mut self.unsent, &mut self.open, &mut self.finished] {
            set.0.resize(self.places.len().div_ceil(64), 0);
        }
        self.listed.set(self.places.len() - 1, true);
        self.count += 1;
    }

    fn slots(&self) -> impl Iterator<Item = u32> {
        self.listed.within(0, self.places.len()).map(|place| self.places[place].slot)
    }

    /// Where a search starts: at the pair after the last sender, by index.
    #[inline(always)]
    fn start(&self) -> usize {
        let next = self.last + 1;
        self.listed.nth(if next < self.count { next } else { next % self.count.max(1) })
    }

    /// The first pair from `start` on, all the way round, that may send.
    #[inline(always)]
    fn search(&self, start: usize, now: Instant, paused: bool) -> Option<usize> {
        if paused {
            return None;
        }
        let ready = |place: &usize| self.places[*place].next_avail <= now;
        let after = self.open.within(start, self.places.len()).find(ready);
        after.or_else(|| self.open.within(0, start).find(ready))
    }

    /// The lowest place of a finished pair that the search from `start` passed before it stopped at `found`.
    #[inline(always)]
    fn first_finished(&self, start: usize, found: Option<usize>) -> Option<usize> {
        match found {
            None => self.finished.within(0, self.places.len()).next(),
            Some(found) if found >= start => self.finished.within(start, found).next(),
            Some(found) => {
                let before = self.finished.within(0, found).next();
                before.or_else(|| self.finished.within(start, self.places.len()).next())
            }
        }
    }

    /// Takes the finished pair at place `first`, and all after it, out of the list.
    fn remove_finished(&mut self, first: usize, mut gone: impl FnMut(u32)) {
        let mut next = Some(first);
        while let Some(place) = next {
            gone(self.places[place].slot);
            self.listed.set(place, false);
            self.finished.set(place, false);
            self.count -= 1;
            next = self.finished.within(place + 1, self.places.len()).next();
        }
    }

    /// Whether there are more gaps than pairs.
    fn is_sparse(&self) -> bool {
        self.places.len() > 2 * self.count + 64
    }

    /// Closes all gaps.
    fn close_up(&mut self) {
        let old = std::mem::take(self);
        self.last = old.last;
        for (new, place) in old.listed.within(0, old.places.len()).enumerate() {
            let entry = old.places[place];
            self.push(entry.slot, entry.next_avail);
            self.unsent.set(new, old.unsent.has(place));
            self.open.set(new, old.open.has(place));
            self.finished.set(new, old.finished.has(place));
        }
    }

    /// The earliest pace of a pair with unsent bytes, if all of them are still to come.
    fn earliest_after(&self, now: Instant) -> Option<Instant> {
        let mut earliest = Instant::NEVER;
        for place in self.unsent.within(0, self.places.len()) {
            let at = self.places[place].next_avail;
            if at <= now {
                return None;
            }
            earliest = earliest.min(at);
        }
        (earliest != Instant::NEVER).then_some(earliest)
    }
}

/// A set of places.
#[derive(Default)]
struct Places(Vec<u64>);

impl Places {
    #[inline(always)]
    fn set(&mut self, place: usize, is_in: bool) {
        let word = &mut self.0[place / 64];
        *word = *word & !(1 << (place % 64)) | (is_in as u64) << (place % 64);
    }

    fn has(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    /// How many members are below `place`.
    #[inline(always)]
    fn below(&self, place: usize) -> usize {
        let whole: u32 = self.0[..place / 64].iter().map(|word| word.count_ones()).sum();
        (whole + (self.0[place / 64] & !(!0 << (place % 64))).count_ones()) as usize
    }

    /// The member with `n` members below it; 0 if there is none.
    #[inline(always)]
    fn nth(&self, mut n: usize) -> usize {
        for (i, word) in self.0.iter().enumerate() {
            let here = word.count_ones() as usize;
            if n < here {
                let mut word = *word;
                (0..n).for_each(|_| word &= word - 1);
                return 64 * i + word.trailing_zeros() as usize;
            }
            n -= here;
        }
        0
    }

    /// Its members in `from..to`, ascending.
    #[inline(always)]
    fn within(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let mut word = from / 64;
        let mut bits = self.0.get(word).map_or(0, |bits| bits & !0 << (from % 64));
        std::iter::from_fn(move || {
            while bits == 0 {
                word += 1;
                bits = *self.0.get(word)?;
            }
            let place = 64 * word + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            (place < to).then_some(place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_places_gives_its_members_in_a_range() {
        let mut places = Places(vec![0; 4]);
        [0, 63, 64, 130, 200].iter().for_each(|place| places.set(*place, true));
        places.set(130, false);
        assert_eq!(places.within(0, 256).collect::<Vec<_>>(), [0, 63, 64, 200]);
        assert_eq!(places.within(1, 200).collect::<Vec<_>>(), [63, 64]);
        assert_eq!(places.within(201, 256).count(), 0);
    }

    /// Turns are skipped as in the simulator: the place of the last sender stays when pairs before it leave the list.
    #[test]
    fn a_search_goes_round_from_the_last_sender() {
        let mut list = List::default();
        for slot in 0..5 {
            list.push(slot, Instant(10 * slot as u64));
            list.unsent.set(slot as usize, true);
            list.open.set(slot as usize, true);
        }
        let search = |list: &List, now| list.search(list.start(), Instant(now), false);
        assert_eq!(search(&list, 100), Some(1), "the first search starts at index 1");
        list.last = 3;
        assert_eq!(search(&list, 100), Some(4));
        assert_eq!(search(&list, 20), Some(0), "4 has not come, 0 has");
        assert_eq!(list.search(list.start(), Instant(100), true), None);
        list.finished.set(2, true);
        assert_eq!(list.first_finished(4, Some(4)), None);
        assert_eq!(list.first_finished(4, None), Some(2));
        list.open.set(1, false);
        assert_eq!(list.earliest_after(Instant(5)), None, "place 0 could have sent at 0, were its window open");
        list.unsent.set(0, false);
        assert_eq!(list.earliest_after(Instant(5)), Some(Instant(10)));
    }

    #[test]
    fn gaps_change_places_and_not_what_is_found() {
        let mut list = List::default();
        for slot in 0..200 {
            list.push(slot, Instant(0));
            list.open.set(slot as usize, true);
            list.unsent.set(slot as usize, true);
        }
        list.last = 150;
        (0..200).filter(|place| place % 3 > 0).for_each(|place| list.finished.set(place, true));
        let mut gone = 0;
        list.remove_finished(1, |_| gone += 1);
        assert_eq!((gone, list.count), (133, 67));
        // Index 151 of 67 left is index 17, which is place 51.
        assert_eq!(list.start(), 51);
        (0..200).filter(|place| place % 3 > 0).for_each(|place| list.open.set(place, false));
        assert_eq!(list.search(list.start(), Instant(0), false), Some(51));
        assert_eq!(list.listed.below(51), 17);
        assert!(list.is_sparse());
        list.close_up();
        assert_eq!((list.start(), list.places[17].slot, list.count), (17, 51, 67));
    }
}
