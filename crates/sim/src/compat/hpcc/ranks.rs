//! The order in which a network's events were scheduled, found window by window though each node runs alone.
//!
//! Of events at one instant that comes first which was scheduled first: by an event of an earlier window, or by one that comes first in
//! the same. What a node scheduled it has in that order anyway. So nodes note which of their events scheduled how much, and when the
//! window is over these are brought into one order, instant by instant: what scheduled them has its place by then. That gives a
//! rank to all that was scheduled in the window, before any of it meets what another node scheduled: nodes meet at links, and no frame
//! arrives in the window in which it is sent.

use backwater_types::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::{RwLock, RwLockReadGuard};

/// When something was scheduled: in which window, and there as which of what its partition did, or as which of what all did.
///
/// The greater is the later of those that one node scheduled, and of any two once [`Ranks::key`] was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(u64);

/// Bits that say which of a window: a rank in the whole network, or a number in a partition.
const OF_WINDOW: u32 = 34;
const RANKED: u64 = 1 << (OF_WINDOW - 1);
const START: u64 = 1 << 63;
const OF_PARTITION: u32 = 26;
/// Partitions that stamps can tell apart.
pub(crate) const PARTITIONS: usize = 1 << (OF_WINDOW - 1 - OF_PARTITION);

impl Stamp {
    /// Of what was there before anything happened, by its place.
    pub(crate) fn before_all(place: u32) -> Stamp {
        Stamp::ranked(0, place)
    }

    /// Of a flow that starts at `at`, after all else of its nanosecond: of workload `class`, and there by its number.
    pub(crate) fn after_all(at: Instant, class: u8, number: u32) -> Stamp {
        Stamp(START | (at.0 % 1000) << 40 | u64::from(class) << 32 | u64::from(number))
    }

    fn ranked(window: u64, rank: u32) -> Stamp {
        Stamp(window << OF_WINDOW | RANKED | u64::from(rank))
    }

    #[inline(always)]
    fn window(self) -> u64 {
        self.0 >> OF_WINDOW
    }

    /// Partition and number there.
    #[inline(always)]
    fn parts(self) -> (usize, usize) {
        let number = self.0 & ((1 << OF_PARTITION) - 1);
        ((self.0 >> OF_PARTITION) as usize & (PARTITIONS - 1), number as usize)
    }

    /// Its rank is known.
    #[inline(always)]
    fn is_ranked(self) -> bool {
        self.0 & RANKED != 0
    }

    #[inline(always)]
    fn is_start(self) -> bool {
        self.0 & START != 0
    }
}

/// An event that came.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: Instant,
    stamp: Stamp,
    /// All that its partition has scheduled in the window, with what it did.
    scheduled: u32,
}

/// What a partition did in a window: its events, each node's in their order, and how much they scheduled.
#[derive(Debug, Default)]
pub(crate) struct Account {
    events: Vec<Event>,
    scheduled: u32,
}

/// Ranks of what was scheduled in a window, in the whole network.
#[derive(Debug, Default)]
struct Window {
    /// Nobody asks any more from then on.
    asked_until: Instant,
    /// `[partition]`: where its numbers begin among all.
    starts: Vec<u32>,
    ranks: Vec<u32>,
}

impl Window {
    #[inline(always)]
    fn rank(&self, stamp: Stamp) -> u32 {
        let (partition, number) = stamp.parts();
        self.ranks[self.starts[partition] as usize + number]
    }
}

/// Not known yet.
const UNKNOWN: u32 = u32::MAX;

/// An event of a window, among those of all partitions.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    stamp: Stamp,
    /// What it scheduled, by numbers among all: the first, and the one after the last.
    first: u32,
    end: u32,
}

/// The order of what was scheduled lately, as one partition knows it.
#[derive(Debug)]
pub(crate) struct Ranks {
    partition: u64,
    /// Number of the window that runs.
    window: u64,
    account: Account,
    /// Those before it, of which stamps may still be asked for; the last is the one before.
    windows: VecDeque<Window>,
    /// How long after its window a stamp may be asked for.
    reach: Duration,
    /// When the window that runs began.
    begun: Instant,
    /// Of the last window, by time and then by rank.
    entries: Vec<Entry>,
    /// `[nanosecond of the window]`: the first of its entries.
    slots: Vec<u32>,
}

impl Ranks {
    /// Before anything has happened, as partition number `partition`. No stamp is asked for, by any partition, longer than `reach`
    /// after the window in which it was given.
    pub(crate) fn new(partition: u16, reach: Duration) -> Ranks {
        assert!(usize::from(partition) < PARTITIONS, "threads are fewer");
        Ranks {
            partition: u64::from(partition),
            window: 1,
            account: Account::default(),
            windows: VecDeque::new(),
            reach,
            begun: Instant::ZERO,
            entries: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// The stamp of what is scheduled next.
    #[inline(always)]
    pub(crate) fn stamp(&mut self) -> Stamp {
        let number = self.account.scheduled;
        debug_assert!(number < 1 << OF_PARTITION);
        self.account.scheduled = number + 1;
        Stamp(self.window << OF_WINDOW | self.partition << OF_PARTITION | u64::from(number))
    }

    /// The event of `stamp` came at `at` and has scheduled what it does.
    #[inline(always)]
    pub(crate) fn came(&mut self, at: Instant, stamp: Stamp) {
        let scheduled = self.account.scheduled;
        self.account.events.push(Event { at, stamp, scheduled });
    }

    /// The stamp with its rank, if its window is over.
    #[inline(always)]
    pub(crate) fn ranked(&self, stamp: Stamp) -> Stamp {
        if stamp.is_ranked() || stamp.is_start() || stamp.window() == self.window {
            return stamp;
        }
        let ago = (self.window - stamp.window()) as usize;
        Stamp::ranked(stamp.window(), self.windows[self.windows.len() - ago].rank(stamp))
    }

    /// The window is over: its account is put where all partitions find it, in exchange for an old one.
    pub(crate) fn hand_over(&mut self, place: &mut Account) {
        std::mem::swap(&mut self.account, place);
        self.account.events.clear();
        self.account.scheduled = 0;
    }

    /// All partitions have handed over: what was scheduled in the window that ended at `end` gets its ranks.
    pub(crate) fn settle(&mut self, accounts: &[RwLock<Account>], end: Instant) {
        let mut window = match self.windows.front() {
            Some(oldest) if oldest.asked_until < self.begun => self.windows.pop_front().unwrap_or_default(),
            _ => Window::default(),
        };
        let mut scheduled = 0;
        window.starts.clear();
        for account in accounts {
            window.starts.push(scheduled);
            scheduled += read(account).scheduled;
        }
        window.ranks.clear();
        window.ranks.resize(scheduled as usize, UNKNOWN);
        self.sort_by_time(accounts, &window.starts);
        self.rank(&mut window);
        window.asked_until = end + self.reach;
        self.windows.push_back(window);
        (self.begun, self.window) = (end, self.window + 1);
    }

    /// Puts the events of all partitions into their instants' slots.
    fn sort_by_time(&mut self, accounts: &[RwLock<Account>], starts: &[u32]) {
        let (mut first, mut last, mut count) = (Instant::NEVER, Instant::ZERO, 0);
        for account in accounts {
            let events = &read(account).events;
            count += events.len();
            events.iter().for_each(|event| (first, last) = (first.min(event.at), last.max(event.at)));
        }
        let slot = |at: Instant| (at.0 / 1000 - first.0 / 1000) as usize;
        self.slots.clear();
        self.slots.resize(if count == 0 { 0 } else { slot(last) + 1 }, 0);
        for account in accounts {
            read(account).events.iter().for_each(|event| self.slots[slot(event.at)] += 1);
        }
        // Where each slot ends; then, as its entries are put there from the last on, where it begins.
        let mut end = 0;
        for slot in &mut self.slots {
            end += *slot;
            *slot = end;
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.resize(count, Entry::default());
        for (account, start) in accounts.iter().zip(starts) {
            let mut first = *start;
            for event in &read(account).events {
                let (stamp, end) = (self.ranked(event.stamp), start + event.scheduled);
                let place = &mut self.slots[slot(event.at)];
                *place -= 1;
                entries[*place as usize] = Entry { stamp, first, end };
                first = end;
            }
        }
        self.entries = entries;
    }

    /// Ranks what the events scheduled, instant by instant.
    fn rank(&mut self, window: &mut Window) {
        let (mut next, mut rest) = (0, &mut self.entries[..]);
        let mut first = 0;
        for end in self.slots.iter().skip(1).copied().chain([rest.len() as u32]) {
            let instant;
            (instant, rest) = rest.split_at_mut((end - first) as usize);
            first = end;
            window.rank_instant(self.window, instant, &mut next);
        }
    }
}

impl Window {
    /// Ranks what the events of one instant scheduled, in window number `number`; the next rank to give is `next`.
    fn rank_instant(&mut self, number: u64, mut events: &mut [Entry], next: &mut u32) {
        while !events.is_empty() {
            for event in events.iter_mut() {
                if !event.stamp.is_start() && !event.stamp.is_ranked() {
                    let rank = self.rank(event.stamp);
                    if rank != UNKNOWN {
                        event.stamp = Stamp::ranked(number, rank);
                    }
                }
            }
            // What others of this instant scheduled waits until they have their place, and flows start when nothing else is left.
            let phase = |stamp: Stamp| {
                if stamp.is_start() {
                    2
                } else if stamp.is_ranked() {
                    0
                } else {
                    1
                }
            };
            events.sort_unstable_by_key(|event| (phase(event.stamp), event.stamp));
            let ready = events.partition_point(|event| phase(event.stamp) == 0).max(1);
            for event in &events[..ready] {
                for number in event.first..event.end {
                    self.ranks[number as usize] = *next;
                    *next += 1;
                }
            }
            events = &mut events[ready..];
        }
    }
}

fn read(account: &RwLock<Account>) -> RwLockReadGuard<'_, Account> {
    account.read().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::{Stream, range32};
    use std::collections::BTreeMap;

    const NODES: usize = 6;
    const WINDOW: u64 = 20;
    /// Nanoseconds that something is on its way between nodes at most, and at least the window.
    const REACH: u64 = 70;

    /// What the event does that was scheduled by `parent` as its `child`: what it schedules, for which node, so many nanoseconds ahead.
    fn schedules(name: u64) -> impl Iterator<Item = (usize, u64)> {
        let mut rng = Stream::new(1, 2, name);
        // A little more than one each, while there are few.
        (0..range32(rng.next_u32(), 4)).map(move |_| {
            let (local, node) = (rng.next_u32().is_multiple_of(3), range32(rng.next_u32(), NODES as u32) as usize);
            let ahead = u64::from(range32(rng.next_u32(), 8));
            if local { (usize::MAX, ahead) } else { (node, WINDOW + 5 * ahead) }
        })
    }

    fn child(name: u64, number: usize) -> u64 {
        backwater_types::hash::draw(name, number as u64)
    }

    const FIRST: usize = 40;
    const END: u64 = 400;

    fn firsts() -> impl Iterator<Item = (u64, usize, u64)> {
        (0..FIRST).map(|k| (k as u64 % 3, k % NODES, child(7, k)))
    }

    /// All events one by one: `[node]`: times and names.
    fn one_by_one() -> Vec<Vec<(u64, u64)>> {
        let (mut ahead, mut pushed) = (BTreeMap::new(), 0);
        let mut push = |ahead: &mut BTreeMap<_, _>, at: u64, node: usize, name: u64| {
            ahead.insert((at, pushed), (node, name));
            pushed += 1;
        };
        for (at, node, name) in firsts() {
            push(&mut ahead, at, node, name);
        }
        let mut came = vec![Vec::new(); NODES];
        while let Some(((now, _), (node, name))) = ahead.pop_first() {
            if now >= END {
                break;
            }
            came[node].push((now, name));
            for (k, (to, later)) in schedules(name).enumerate() {
                push(&mut ahead, now + later, if to == usize::MAX { node } else { to }, child(name, k));
            }
        }
        came
    }

    /// Node by node in windows of `length`, the nodes dealt out to `partitions`.
    fn node_by_node(partitions: usize, length: u64) -> Vec<Vec<(u64, u64)>> {
        let mut ranks: Vec<Ranks> = (0..partitions).map(|p| Ranks::new(p as u16, Duration::from_ns(REACH))).collect();
        let accounts: Vec<RwLock<Account>> = (0..partitions).map(|_| RwLock::default()).collect();
        let mut ahead: Vec<Vec<(u64, Stamp, u64)>> = vec![Vec::new(); NODES];
        for (k, (at, node, name)) in firsts().enumerate() {
            ahead[node].push((at, Stamp::before_all(k as u32), name));
        }
        let mut came = vec![Vec::new(); NODES];
        let mut now = 0;
        while now < END {
            let end = (now + length).min(END);
            for node in 0..NODES {
                let own = &mut ranks[node % partitions];
                while let Some((place, at)) = (0..ahead[node].len())
                    .map(|place| (place, ahead[node][place].0))
                    .filter(|(_, at)| *at < end)
                    .min_by_key(|(place, at)| (*at, own.ranked(ahead[node][*place].1)))
                {
                    let (_, stamp, name) = ahead[node].swap_remove(place);
                    came[node].push((at, name));
                    for (k, (to, later)) in schedules(name).enumerate() {
                        let to = if to == usize::MAX { node } else { to };
                        ahead[to].push((at + later, own.stamp(), child(name, k)));
                    }
                    own.came(Instant(1000 * at), stamp);
                }
            }
            for (ranks, account) in ranks.iter_mut().zip(&accounts) {
                ranks.hand_over(&mut account.write().expect("nobody panicked"));
            }
            ranks.iter_mut().for_each(|ranks| ranks.settle(&accounts, Instant(1000 * end)));
            now = end;
        }
        came
    }

    /// Thousands of events, up to dozens at an instant, some scheduled in the same window or the same instant.
    #[test]
    fn nodes_that_run_alone_find_the_order_of_all_events() {
        let expected = one_by_one();
        let events: usize = expected.iter().map(Vec::len).sum();
        let ties = expected.iter().flat_map(|came| came.windows(2)).filter(|pair| pair[0].0 == pair[1].0).count();
        assert!(events > 5000 && ties > 2000, "{events} events, {ties} ties");
        for (partitions, length) in [(1, WINDOW), (2, WINDOW), (3, 7), (6, 13)] {
            assert!(node_by_node(partitions, length) == expected, "{partitions} partitions, windows of {length} ns");
        }
    }

    #[test]
    fn flows_start_after_all_else_of_their_nanosecond() {
        let mut ranks = Ranks::new(0, Duration::ZERO);
        let scheduled = [Stamp::before_all(3), ranks.stamp(), ranks.stamp()];
        let starts = [(0, 200, 9), (1, 0, 5), (1, 0, 6), (1, 7, 1)]
            .map(|(at, class, number)| Stamp::after_all(Instant(5000 + at), class, number));
        let all: Vec<Stamp> = scheduled.into_iter().chain(starts).collect();
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
