//! NIC of the public HPCC simulator: a list of queue pairs served round robin, packet by packet.
//!
//! Source: baselines 0.2 and 0.3, the simulator's NIC and RDMA models. Differences from [`super::rings`] that show in
//! results:
//!
//! * A queue pair may send if it has unsent bytes, its window is open and its send time has come. The search starts
//!   after the pair that sent last *by its place in the list*. Finished pairs leave the list only when a search meets
//!   one, and that place is not adjusted, so turns are skipped.
//! * A finished pair has unsent bytes if a NACK put it back before the ACKs that finished it. Until it leaves the list
//!   it counts as a pair that may send, and it sends these bytes if its window is open.
//! * When no pair may send, the NIC wakes at the earliest send time of any pair with unsent bytes. If that pair's
//!   window is full, its send time may have passed already. Then nothing wakes the NIC before the next ACK, although
//!   other pairs wait for their send times.
//! * When routes change, the list is emptied and finished pairs are removed. The others are listed again in the order
//!   in which a hash table is walked (`hash_order`), and the link is polled after each.
//! * A pause of a traffic class holds its pairs; the round robin skips them.
//! * ACKs go before data. A pause of the data class holds them too, unless `ACK_HIGH_PRIO` is set; with several
//!   classes, a pause of class 3.

use crate::flows::{Flow, Flows};
use crate::hash_order::HashOrder;
use crate::nic::{Context, Nic};
use crate::params::{NicParams, NicSetup};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use backwater_dataplane::Ring;
use backwater_transport::{Dctcp, GoBackNSender, Next, Sender};
use backwater_types::{ControlFrame, Effect, Extension, Frame, Instant, QueueId, Target};

/// NIC of the HPCC simulator.
pub struct List<E = ()> {
    replies: Ring<Frame<E>>,
    pairs: Pairs,
    /// Pending wake-up for a send time.
    wake: Instant,
    /// Number of that wake-up, from 1 to [`NUMBERS`].
    number: u16,
    paused: Classes,
    /// Order in which pairs are listed anew, where routes may change.
    anew: Option<Box<Anew>>,
}

/// Order in which pairs are listed anew.
struct Anew {
    order: HashOrder,
    /// `[host]`: address.
    addresses: Arc<[u32]>,
    /// Pairs that are yet to be listed, the next one last.
    waiting: Vec<Pair>,
}

/// Place of a queue pair in the list, or `NOT_LISTED`.
#[derive(Clone, Copy, Debug)]
pub struct Place(u32);

impl Default for Place {
    fn default() -> Place {
        Place(NOT_LISTED)
    }
}

/// Traffic classes that are paused. Classes beyond the last count as the last.
struct Classes {
    last: u8,
    paused: u8,
}

impl Classes {
    fn new(count: u8) -> Classes {
        Classes { last: count - 1, paused: 0 }
    }

    fn obey(&mut self, frame: ControlFrame) {
        match frame.effect() {
            Effect::Set { target: Target::Class(class), holds } if class <= self.last => {
                self.paused = self.paused & !(1 << class) | u8::from(holds) << class;
            }
            Effect::Set { .. } | Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => {}
        }
    }

    #[inline(always)]
    fn hold(&self, class: u8) -> bool {
        self.paused >> class.min(self.last) & 1 == 1
    }

    #[inline(always)]
    fn hold_all(&self) -> bool {
        self.paused == u8::MAX >> (7 - self.last)
    }
}

/// Numbers of wake-ups; no more are ever pending at once.
const NUMBERS: u16 = 1 << 13;
/// Place of a pair that is not in the list.
const NOT_LISTED: u32 = u32::MAX;

const _: () = assert!(size_of::<Flow<GoBackNSender<Dctcp>, Place>>() == 128, "two cache lines");

impl<S: Sender> Nic<S> for List<S::Extension> {
    type Flow = Place;
    const SENDS_AT_EACH_START: bool = true;

    fn new(setup: NicSetup) -> List<S::Extension> {
        let anew = |addresses| Box::new(Anew { order: HashOrder::new(), addresses, waiting: Vec::new() });
        List {
            replies: Ring::default(),
            pairs: Pairs::default(),
            wake: Instant::NEVER,
            number: 0,
            paused: Classes::new(setup.classes),
            anew: setup.addresses.map(anew),
        }
    }

    /// Updates the pair in `slot`. A new pair goes to the end of the list.
    #[inline(always)]
    fn offer(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        if cx.flows[slot].nic.0 == NOT_LISTED {
            return self.open(cx, slot);
        }
        self.note(cx.flows, cx.params, slot);
        self.update_send_time(cx, slot);
    }

    #[inline(always)]
    fn done(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        if let Some(anew) = &mut self.anew {
            anew.order.remove(slot);
        }
        self.note(cx.flows, cx.params, slot);
        self.update_send_time(cx, slot);
    }

    #[inline(always)]
    fn reply(&mut self, _params: &NicParams<S::Params>, reply: Frame<S::Extension>) {
        self.replies.push_back(reply);
    }

    #[inline(always)]
    fn next_reply(&mut self, params: &NicParams<S::Params>) -> Option<Frame<S::Extension>> {
        let held = params.acks_held_with.is_some_and(|class| self.paused.hold(class));
        if held { None } else { self.replies.pop_front() }
    }

    /// Takes the next packet of a queue pair; if none may go, arms a wake-up.
    #[inline(always)]
    fn next_data(&mut self, cx: &mut Context<S, Place>) -> Option<Frame<S::Extension>> {
        match self.turn(cx) {
            Some(place) => Some(self.send_from(cx, place)),
            None => {
                self.sleep(cx);
                None
            }
        }
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.replies.is_empty() || self.pairs.count > 0
    }

    fn held(&self, flow: &Flow<S, Place>) -> Option<QueueId> {
        let class = flow.source.class();
        self.paused.hold(class).then_some(class.into())
    }

    fn on_control(&mut self, _cx: &mut Context<S, Place>, frame: ControlFrame) {
        self.paused.obey(frame);
    }

    fn release(&mut self, _cx: &mut Context<S, Place>) {
        self.paused.paused = 0;
    }

    fn reroute(&mut self, cx: &mut Context<S, Place>) {
        let Some(anew) = &mut self.anew else { return };
        let old = core::mem::take(&mut self.pairs);
        self.pairs.last = old.last;
        old.finished.within(0, old.places.len()).for_each(|place| cx.flows.remove(old.places[place].slot));
        let listed = |slot: &u32| old.places[cx.flows[*slot].nic.0 as usize];
        anew.waiting = anew.order.slots().iter().rev().map(listed).collect();
    }

    fn relist(&mut self, cx: &mut Context<S, Place>) -> bool {
        let Some(pair) = self.anew.as_mut().and_then(|anew| anew.waiting.pop()) else { return false };
        cx.flows[pair.slot].nic = Place(self.pairs.next_place());
        self.pairs.push(pair);
        self.note(cx.flows, cx.params, pair.slot);
        true
    }

    fn next_timer(&self) -> Instant {
        self.wake
    }

    #[inline(always)]
    fn timer_number(&self) -> u16 {
        self.number
    }

    fn on_timer(&mut self, cx: &mut Context<S, Place>) {
        if self.wake <= cx.now {
            self.wake = Instant::NEVER;
        }
    }
}

impl<E: Extension> List<E> {
    fn open<S: Sender>(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        if let Some(anew) = &mut self.anew {
            let flow = &cx.flows[slot];
            let address = anew.addresses[flow.dst as usize];
            anew.order.insert(queue_pair(address, flow.source.key() as u16, flow.source.class()), slot);
        }
        let flow = &mut cx.flows[slot];
        flow.nic = Place(self.pairs.next_place());
        self.pairs.push(Pair { slot, class: flow.source.class(), next_avail: cx.now });
        self.note(cx.flows, cx.params, slot);
        if self.pairs.is_sparse() {
            self.pairs.close_up();
            for (place, pair) in (0..).zip(&self.pairs.places) {
                cx.flows[pair.slot].nic = Place(place);
            }
        }
    }

    #[inline(always)]
    fn note<S: Sender>(&mut self, flows: &Flows<S, Place>, params: &NicParams<S::Params>, slot: u32) {
        let flow = &flows[slot];
        let (place, unsent) = (flow.nic.0 as usize, flow.source.has_unsent());
        let open = flow.source.peek(&params.transport, Instant::NEVER) != Next::Blocked;
        self.pairs.unsent.set(place, unsent);
        self.pairs.open.set(place, unsent && open);
        self.pairs.finished.set(place, flow.source.is_done());
    }

    /// Updates the send time of the pair in `slot`. A pending wake-up moves to an earlier time for it, not to a later
    /// one.
    #[inline(always)]
    fn update_send_time<S: Sender>(&mut self, cx: &mut Context<S, Place>, slot: u32) {
        let flow = &mut cx.flows[slot];
        if !flow.source.moves() || !flow.source.take_moved() {
            return;
        }
        let at = flow.source.next_send();
        self.pairs.places[flow.nic.0 as usize].next_avail = at;
        if self.wake != Instant::NEVER && at < self.wake {
            self.wake_at(cx, at.max(cx.now));
        }
    }

    /// Returns the place in the list of the pair whose turn it is. Removes finished pairs if the search met one.
    #[inline(always)]
    fn turn<S: Sender>(&mut self, cx: &mut Context<S, Place>) -> Option<usize> {
        let start = self.pairs.start();
        let found = self.pairs.search(start, cx.now, &self.paused);
        if let Some(first) = self.pairs.first_finished(start, found, &self.paused) {
            self.pairs.remove_finished(first, |slot| cx.flows.remove(slot));
        }
        found
    }

    #[inline(always)]
    fn send_from<S: Sender>(&mut self, cx: &mut Context<S, Place>, place: usize) -> Frame<S::Extension> {
        self.pairs.last = self.pairs.listed.below(place);
        let slot = self.pairs.places[place].slot;
        let (flow, params) = (&mut cx.flows[slot], &cx.params.transport);
        let Next::Packet(out) = flow.source.next_packet(params, cx.now) else {
            unreachable!("the list knows which pairs may send")
        };
        let packet = flow.frame(cx.host, slot, 0, out);
        self.pairs.places[place].next_avail = flow.source.next_send();
        self.note(cx.flows, cx.params, slot);
        packet
    }

    /// Arms a wake-up for the earliest send time of a pair with unsent bytes, if that is still to come.
    fn sleep<S: Sender>(&mut self, cx: &mut Context<S, Place>) {
        if self.wake == Instant::NEVER
            && let Some(at) = self.pairs.earliest_after(cx.now)
        {
            self.wake_at(cx, at);
        }
    }

    fn wake_at<S: Sender>(&mut self, cx: &mut Context<S, Place>, at: Instant) {
        (self.wake, self.number) = (at, self.number % NUMBERS + 1);
        cx.wake_at(at);
    }
}

/// Key of a queue pair in the simulator: destination, source port, priority group. Where all pairs are of one group,
/// any will do.
fn queue_pair(address: u32, source_port: u16, group: u8) -> u64 {
    (address as u64) << 32 | (source_port as u64) << 16 | group as u64
}

/// Queue pairs in order of their start. Sets of places hold the conditions of a search, so that it is as fast with
/// hundreds of pairs as with one. A pair that is removed leaves a gap, so that others keep their places; the
/// simulator's indices count without gaps.
#[derive(Default)]
struct Pairs {
    places: Vec<Pair>,
    /// Places that are no gaps.
    listed: Places,
    /// Number of pairs.
    count: usize,
    /// Index of the pair that sent last; it is not adjusted when pairs before it are removed.
    last: usize,
    /// Pairs with unsent bytes.
    unsent: Places,
    /// Pairs with unsent bytes whose window is open.
    open: Places,
    /// Pairs that were acknowledged to the end.
    finished: Places,
}

#[derive(Clone, Copy)]
struct Pair {
    slot: u32,
    class: u8,
    /// Earliest start of its next packet by pacing.
    next_avail: Instant,
}

impl Pairs {
    fn next_place(&self) -> u32 {
        self.places.len() as u32
    }

    fn push(&mut self, pair: Pair) {
        self.places.push(pair);
        for set in [&mut self.listed, &mut self.unsent, &mut self.open, &mut self.finished] {
            set.0.resize(self.places.len().div_ceil(64), 0);
        }
        self.listed.set(self.places.len() - 1, true);
        self.count += 1;
    }

    /// Returns the place at which a search starts: the pair after the last sender, by index.
    #[inline(always)]
    fn start(&self) -> usize {
        let next = self.last + 1;
        self.listed.nth(if next < self.count { next } else { next % self.count.max(1) })
    }

    /// Finds the first pair from `start` on, all the way round, that may send.
    #[inline(always)]
    fn search(&self, start: usize, now: Instant, paused: &Classes) -> Option<usize> {
        if paused.hold_all() {
            return None;
        }
        let ready = |place: &usize| {
            let pair = self.places[*place];
            pair.next_avail <= now && !paused.hold(pair.class)
        };
        let after = self.open.within(start, self.places.len()).find(ready);
        after.or_else(|| self.open.within(0, start).find(ready))
    }

    /// Finds the lowest place of a finished pair that the search from `start` met before it stopped at `found`. A pair
    /// that only waits for its send time is not met.
    #[inline(always)]
    fn first_finished(&self, start: usize, found: Option<usize>, paused: &Classes) -> Option<usize> {
        let seen = |place: &usize| !self.open.has(*place) || paused.hold(self.places[*place].class);
        let first = |from, to| self.finished.within(from, to).find(seen);
        match found {
            None => first(0, self.places.len()),
            Some(found) if found >= start => first(start, found),
            Some(found) => first(0, found).or_else(|| first(start, self.places.len())),
        }
    }

    /// Removes the finished pair at place `first`, and all finished pairs after it, from the list.
    fn remove_finished(&mut self, first: usize, mut gone: impl FnMut(u32)) {
        let mut next = Some(first);
        while let Some(place) = next {
            gone(self.places[place].slot);
            for set in [&mut self.listed, &mut self.unsent, &mut self.open, &mut self.finished] {
                set.set(place, false);
            }
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
        let old = core::mem::take(self);
        self.last = old.last;
        for (new, place) in old.listed.within(0, old.places.len()).enumerate() {
            self.push(old.places[place]);
            self.unsent.set(new, old.unsent.has(place));
            self.open.set(new, old.open.has(place));
            self.finished.set(new, old.finished.has(place));
        }
    }

    /// Returns the earliest send time of a pair with unsent bytes, if all of these are still to come.
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

    /// Counts the members below `place`.
    #[inline(always)]
    fn below(&self, place: usize) -> usize {
        let whole: u32 = self.0[..place / 64].iter().map(|word| word.count_ones()).sum();
        (whole + (self.0[place / 64] & !(!0 << (place % 64))).count_ones()) as usize
    }

    /// Returns the member with `n` members below it; 0 if there is none.
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

    /// Iterates over the members in `from..to`, ascending.
    #[inline(always)]
    fn within(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let mut word = from / 64;
        let mut bits = self.0.get(word).map_or(0, |bits| bits & !0 << (from % 64));
        core::iter::from_fn(move || {
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
    use alloc::vec;

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
        let mut list = Pairs::default();
        for slot in 0..5 {
            list.push(Pair { slot, class: (slot % 2) as u8, next_avail: Instant(10 * slot as u64) });
            list.unsent.set(slot as usize, true);
            list.open.set(slot as usize, true);
        }
        let mut paused = Classes::new(2);
        let search = |list: &Pairs, now| list.search(list.start(), Instant(now), &Classes::new(2));
        assert_eq!(search(&list, 100), Some(1), "the first search starts at index 1");
        list.last = 3;
        assert_eq!(search(&list, 100), Some(4));
        assert_eq!(search(&list, 20), Some(0), "4 has not come, 0 has");
        paused.obey(ControlFrame::PfcPause(0));
        assert_eq!(
            list.search(list.start(), Instant(100), &paused),
            Some(1),
            "4 and 0 are of the class that is paused"
        );
        paused.obey(ControlFrame::PfcPause(1));
        paused.obey(ControlFrame::PfcPause(2));
        assert_eq!(list.search(list.start(), Instant(100), &paused), None);
        paused.obey(ControlFrame::PfcResume(0));
        assert_eq!(list.search(list.start(), Instant(100), &paused), Some(4));
        assert!(paused.hold(7) && !paused.hold(0), "7 counts as 1");
        list.finished.set(2, true);
        list.open.set(2, false);
        let none = Classes::new(2);
        assert_eq!(list.first_finished(4, Some(4), &none), None);
        assert_eq!(list.first_finished(4, None, &none), Some(2));
        list.open.set(1, false);
        assert_eq!(list.earliest_after(Instant(5)), None, "place 0 could have sent at 0, were its window open");
        list.unsent.set(0, false);
        assert_eq!(list.earliest_after(Instant(5)), Some(Instant(10)));
    }

    /// A NACK puts the pair back, and then ACKs finish it.
    #[test]
    fn a_finished_pair_with_unsent_bytes_waits_for_its_pace_and_leaves_nothing_behind() {
        let mut list = Pairs::default();
        let none = Classes::new(1);
        for (slot, next_avail) in [(0, Instant(50)), (1, Instant(90))] {
            list.push(Pair { slot, class: 0, next_avail });
            list.unsent.set(slot as usize, true);
        }
        list.open.set(0, true);
        list.finished.set(0, true);
        assert_eq!(list.first_finished(0, None, &none), None, "it is held back by its pace");
        assert_eq!(list.search(1, Instant(50), &none), Some(0));
        let mut paused = Classes::new(1);
        paused.obey(ControlFrame::PfcPause(0));
        assert_eq!(list.first_finished(0, None, &paused), Some(0));
        list.open.set(0, false);
        assert_eq!(list.first_finished(0, None, &none), Some(0), "a window holds it back");
        assert_eq!(list.earliest_after(Instant(60)), None, "its pace has passed");
        list.remove_finished(0, |_| {});
        assert_eq!(list.earliest_after(Instant(60)), Some(Instant(90)));
        assert_eq!(list.search(0, Instant(60), &none), None);
    }

    #[test]
    fn gaps_change_places_and_not_what_is_found() {
        let mut list = Pairs::default();
        for slot in 0..200 {
            list.push(Pair { slot, class: 0, next_avail: Instant(0) });
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
        assert_eq!(list.search(list.start(), Instant(0), &Classes::new(1)), Some(51));
        assert_eq!(list.listed.below(51), 17);
        assert!(list.is_sparse());
        list.close_up();
        assert_eq!((list.start(), list.places[17].slot, list.count), (17, 51, 67));
    }
}
