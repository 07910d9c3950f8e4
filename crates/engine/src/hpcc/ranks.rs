//! The order in which a network's events were scheduled, found window by window though each node runs alone.
//!
//! Of events at one instant that comes first which was scheduled first: by an event of an earlier window, or by one that comes first in
//! the same. What a node scheduled it has in that order anyway. So nodes note what was scheduled by which of their events, and when the
//! window is over this is brought into one order, instant by instant: what scheduled those events has its place by then. That gives a
//! rank to all that was scheduled in the window, before any of it meets what another node scheduled: nodes meet at links, and no
//! frame arrives in the window in which it is sent.
//!
//! Events of one instant that were scheduled at different times need no ranks. So they are kept by a time that says both: whole
//! nanoseconds, and below them how long before it was scheduled, as precisely as fits.

use super::known::{Known, UNKNOWN};
use super::stamps::{NUMBERS, PARTITIONS, Stamp};
use backwater_types::{Duration, Instant};
use std::sync::{RwLock, RwLockReadGuard};

/// Something that was scheduled.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The event that scheduled it.
    by: Stamp,
    /// What was scheduled before it in the same nanosecond; one more than its number, or 0.
    before: u32,
}

/// What a partition scheduled in a window, by numbers.
#[derive(Debug, Default)]
pub struct Account {
    entries: Vec<Entry>,
    /// The nanosecond in which it begins.
    begins: u64,
    /// `[nanosecond]`: one more than the number of the last thing that was scheduled then, or 0.
    last: Vec<u32>,
    /// No frame that was sent arrives later.
    until: Instant,
}

impl Account {
    fn clear(&mut self) {
        self.entries.clear();
        self.last.clear();
        self.until = Instant::ZERO;
    }

    /// Numbers of what was scheduled in a nanosecond, from the last to the first, and by what.
    #[inline(always)]
    fn of(&self, ns: u64) -> impl Iterator<Item = (usize, Stamp)> {
        let mut last = self.last.get(ns.wrapping_sub(self.begins) as usize).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            let number = (last as usize).checked_sub(1)?;
            let entry = self.entries[number];
            last = entry.before;
            Some((number, entry.by))
        })
    }
}

/// The most that are ranked by counting which come before which.
const FEW: usize = 64;

/// The event that comes, which schedules what is scheduled next.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    /// By which it was kept.
    at: Instant,
    ns: u64,
    stamp: Stamp,
}

/// The order of what was scheduled lately, as one partition knows it.
#[derive(Debug)]
pub(crate) struct Ranks {
    now: Now,
    account: Account,
    partition: u64,
    /// Number of the window that runs.
    window: u64,
    /// Of those before it.
    known: Known,
    /// So many nanoseconds before it something may be scheduled for times to tell, and in steps of which power of two they do.
    reach: u64,
    coarse: u32,
    /// When the window that runs began.
    begun: Instant,
    /// Of one instant: what is to be ranked, and by what it was scheduled.
    many: Vec<(Stamp, usize)>,
}

impl Ranks {
    /// Before anything has happened, as partition number `partition`. Most frames are on their way no longer than `reach`.
    pub(crate) fn new(partition: u16, reach: Duration) -> Ranks {
        assert!(usize::from(partition) < PARTITIONS, "threads are fewer");
        let reach = reach.0.div_ceil(1000);
        let coarse = (0..).find(|coarse| reach >> coarse < START_OF_NS).expect("all is shifted out");
        Ranks {
            now: Now::default(),
            account: Account::default(),
            partition: u64::from(partition),
            window: 1,
            known: Known::new(),
            reach,
            coarse,
            begun: Instant::ZERO,
            many: Vec::new(),
        }
    }

    /// In the window that runs nothing comes before `first`, nor at `end`.
    pub(crate) fn open(&mut self, first: Instant, end: Instant) {
        self.account.begins = first.0 / 1000;
        let nanoseconds = end.0.div_ceil(1000).saturating_sub(self.account.begins);
        self.account.last.resize(nanoseconds as usize, 0);
    }

    /// The event of `stamp` comes, which was kept by `at`. Its whole nanosecond.
    #[inline(always)]
    pub(crate) fn come(&mut self, at: Instant, stamp: Stamp) -> Instant {
        let ns = at.0 / 1000;
        self.now = Now { at, ns, stamp };
        Instant(1000 * ns)
    }

    /// By which time something is kept that is scheduled now for `at`.
    #[inline(always)]
    pub(crate) fn kept_by(&self, at: Instant) -> Instant {
        let ns = at.0 / 1000;
        let younger = self.reach.saturating_sub(ns - self.now.ns) >> self.coarse;
        Instant(1000 * ns + younger)
    }

    /// The stamp of a frame that is sent now, and by which time it is kept that arrives at `at`.
    #[inline(always)]
    pub(crate) fn stamp_frame(&mut self, at: Instant) -> (Instant, Stamp) {
        let at = self.kept_by(at);
        self.account.until = self.account.until.max(at);
        (at, self.stamp())
    }

    /// The stamp of what is scheduled next. If it is no frame's, nobody may ask for it before it has its rank.
    #[inline(always)]
    pub(crate) fn stamp(&mut self) -> Stamp {
        let account = &mut self.account;
        let number = account.entries.len();
        let last = &mut account.last[(self.now.ns - account.begins) as usize];
        account.entries.push(Entry { by: self.now.stamp, before: *last });
        *last = number as u32 + 1;
        Stamp::of(self.window, self.partition, number)
    }

    /// The stamp of the end of the transmission whose arrival had the last.
    #[inline(always)]
    pub(crate) fn stamp_of_end(&self) -> Stamp {
        Stamp::of(self.window, self.partition, self.account.entries.len() - 1).of_end()
    }

    /// Whether the event of `stamp` has come that was kept by `at`, or comes now.
    #[inline(always)]
    pub(crate) fn has_come(&self, at: Instant, stamp: Stamp) -> bool {
        at < self.now.at || at == self.now.at && self.ranked(stamp) <= self.ranked(self.now.stamp)
    }

    /// The stamp with its rank, if its window is over.
    pub(crate) fn ranked(&self, stamp: Stamp) -> Stamp {
        if stamp.is_final() || stamp.window() == self.window {
            return stamp;
        }
        stamp.with(self.known.rank(stamp))
    }

    /// The window is over: its account is put where all partitions find it, in exchange for an old one.
    pub(crate) fn hand_over(&mut self, place: &mut Account) {
        std::mem::swap(&mut self.account, place);
        self.account.clear();
    }

    /// What was scheduled in the window that ended at `end` gets its ranks. All partitions have handed over their accounts; without
    /// any this one is alone and has not.
    pub(crate) fn settle(&mut self, accounts: &[RwLock<Account>], end: Instant) {
        if accounts.is_empty() {
            let mut own = std::mem::take(&mut self.account);
            self.rank(&[&own]);
            own.clear();
            self.account = own;
        } else {
            let accounts: Vec<_> = accounts.iter().map(read).collect();
            self.rank(&accounts.iter().map(|account| &**account).collect::<Vec<_>>());
        }
        (self.begun, self.window) = (end, self.window + 1);
    }

    fn rank(&mut self, accounts: &[&Account]) {
        let scheduled = accounts.iter().map(|account| account.entries.len());
        let until = accounts.iter().map(|account| account.until).max().unwrap_or(Instant::ZERO);
        assert!(scheduled.clone().all(|count| count <= NUMBERS), "a window has too many events");
        self.known.add(self.window as usize, scheduled, self.begun, until);
        let spans = accounts
            .iter()
            .map(|account| (account.begins, account.last.len() as u64))
            .filter(|(_, length)| *length > 0);
        let first = spans.clone().map(|(begins, _)| begins).min().unwrap_or(0);
        let last = spans.map(|(begins, length)| begins + length).max().unwrap_or(0);
        let (mut next, mut few) = (0, Few { keys: [0; FEW], places: [0; FEW] });
        for ns in first..last {
            self.rank_instant(accounts, ns, &mut next, &mut few);
        }
    }

    /// Ranks what was scheduled in a nanosecond of the last window; the next rank to give is `next`.
    #[inline(always)]
    fn rank_instant(&mut self, accounts: &[&Account], ns: u64, next: &mut u32, Few { keys, places }: &mut Few) {
        let (mut count, mut few) = (0, true);
        let mut begins = self.known.last();
        for account in accounts {
            for (number, by) in account.of(ns) {
                let mut key = by;
                if !by.is_final() {
                    let rank = self.known.rank(by);
                    few &= rank != UNKNOWN;
                    key = by.with(rank);
                }
                (keys[count % FEW], places[count % FEW]) = (key.key(), self.known.place(begins, number));
                count += 1;
            }
            begins = begins.wrapping_add(account.entries.len() as u32);
        }
        if !few || count > FEW {
            return self.rank_many(accounts, ns, next);
        }
        let known = &mut self.known;
        let mut give = |before: &[u64]| {
            places[..count].iter().zip(before).for_each(|(place, before)| known.set(*place, *next + *before as u32));
        };
        match count {
            0 => {}
            1 => give(&[0]),
            2..=8 => give(&counts::<8>(keys, count)),
            9..=16 => give(&counts::<16>(keys, count)),
            17..=32 => give(&counts::<32>(keys, count)),
            _ => give(&counts::<FEW>(keys, count)),
        }
        *next += count as u32;
    }

    /// The same where there are many, or where what scheduled some of it was itself scheduled in that nanosecond.
    #[cold]
    #[inline(never)]
    fn rank_many(&mut self, accounts: &[&Account], ns: u64, next: &mut u32) {
        let mut many = std::mem::take(&mut self.many);
        let mut before = 0;
        for account in accounts {
            many.extend(account.of(ns).map(|(number, by)| (by, before + number)));
            before += account.entries.len();
        }
        let mut left = &mut many[..];
        while !left.is_empty() {
            for (by, _) in left.iter_mut().filter(|(by, _)| !by.is_final()) {
                let rank = self.known.rank(*by);
                if rank != UNKNOWN {
                    *by = by.with(rank);
                }
            }
            // Flows start when nothing else is left; what others of this instant scheduled waits until those have their ranks.
            let phase = |by: Stamp| match by {
                _ if by.is_start() => 1,
                _ if by.is_final() => 0,
                _ => 2,
            };
            left.sort_unstable_by_key(|(by, number)| (phase(*by), *by, *number));
            let first = left[0].0;
            let ready = left.partition_point(|(by, _)| phase(*by) == 0 || *by == first);
            let ranked;
            (ranked, left) = left.split_at_mut(ready);
            for (_, number) in ranked {
                let place = self.known.place(self.known.last(), *number);
                self.known.set(place, *next);
                *next += 1;
            }
        }
        many.clear();
        self.many = many;
    }
}

/// Flows start after all else of their nanosecond, which is kept by less than so many picoseconds above it.
pub(crate) const START_OF_NS: u64 = 999;

/// What is to be ranked of one instant: stamps of what scheduled it, and the places of its ranks.
struct Few {
    keys: [u64; FEW],
    places: [usize; FEW],
}

/// Of each of the first `count` keys how many come before it: lower ones, and equal ones that are further back.
#[inline(always)]
fn counts<const N: usize>(keys: &mut [u64; FEW], count: usize) -> [u64; N] {
    keys[count..N].fill(u64::MAX);
    let keys: &[u64; N] = keys.first_chunk().expect("there are as many");
    let mut before = [0; N];
    for (i, one) in keys.iter().enumerate() {
        for (j, (key, before)) in keys.iter().zip(&mut before).enumerate() {
            *before += u64::from(*one < key.wrapping_add(u64::from(j < i)));
        }
    }
    before
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
    const END: u64 = 320;

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

    /// Node by node in windows of `length`, the nodes dealt out to `partitions`; what is on its way for longer than `reach` all looks
    /// the same to times.
    fn node_by_node(partitions: usize, length: u64, reach: u64) -> Vec<Vec<(u64, u64)>> {
        let mut ranks: Vec<Ranks> = (0..partitions).map(|p| Ranks::new(p as u16, Duration::from_ns(reach))).collect();
        let accounts: Vec<RwLock<Account>> = (0..partitions).map(|_| RwLock::default()).collect();
        let mut ahead: Vec<Vec<(Instant, Stamp, u64)>> = vec![Vec::new(); NODES];
        for (k, (at, node, name)) in firsts().enumerate() {
            ahead[node].push((Instant(1000 * at), Stamp::before_all(k as u32), name));
        }
        let mut came = vec![Vec::new(); NODES];
        let mut now = 0;
        while now < END {
            let next = (now + length).min(END);
            let end = Instant(1000 * next);
            ranks.iter_mut().for_each(|own| own.open(Instant(1000 * now), end));
            for node in 0..NODES {
                let own = &mut ranks[node % partitions];
                while let Some((place, at)) = (0..ahead[node].len())
                    .map(|place| (place, ahead[node][place].0))
                    .filter(|(_, at)| *at < end)
                    .min_by_key(|(place, at)| (*at, own.ranked(ahead[node][*place].1)))
                {
                    let (_, stamp, name) = ahead[node].swap_remove(place);
                    let at = own.come(at, stamp).0 / 1000;
                    came[node].push((at, name));
                    for (k, (to, later)) in schedules(name).enumerate() {
                        let to = if to == usize::MAX { node } else { to };
                        let (kept_by, stamp) = own.stamp_frame(Instant(1000 * (at + later)));
                        ahead[to].push((kept_by, stamp, child(name, k)));
                    }
                }
            }
            if partitions > 1 {
                for (ranks, account) in ranks.iter_mut().zip(&accounts) {
                    ranks.hand_over(&mut account.write().expect("nobody panicked"));
                }
            }
            let accounts = if partitions > 1 { &accounts[..] } else { &[] };
            ranks.iter_mut().for_each(|ranks| ranks.settle(accounts, end));
            now = next;
        }
        came
    }

    /// Thousands of events, up to hundreds at an instant, some scheduled in the same window or the same instant.
    #[test]
    fn nodes_that_run_alone_find_the_order_of_all_events() {
        let expected = one_by_one();
        let events: usize = expected.iter().map(Vec::len).sum();
        let ties = expected.iter().flat_map(|came| came.windows(2)).filter(|pair| pair[0].0 == pair[1].0).count();
        let at_once = |now: u64| expected.iter().flatten().filter(|(at, _)| *at == now).count();
        let most = (0..END).map(at_once).max();
        assert!(events > 5000 && ties > 2000 && most > Some(2 * FEW), "{events} events, {ties} ties, {most:?} at once");
        for (partitions, length, reach) in [(1, WINDOW, 70), (2, WINDOW, 20), (3, 7, 4000), (6, 13, 1000)] {
            let found = node_by_node(partitions, length, reach);
            assert!(found == expected, "{partitions} partitions, windows of {length} ns, {reach} ns in times");
        }
    }

    #[test]
    fn counting_puts_keys_in_order_and_equal_ones_from_the_back() {
        let mut rng = Stream::new(3, 4, 5);
        for _ in 0..1000 {
            let mut keys = [7; FEW];
            let count = 1 + range32(rng.next_u32(), FEW as u32) as usize;
            keys[..count].fill_with(|| u64::from(range32(rng.next_u32(), 40)));
            let mut places: Vec<usize> = (0..count).collect();
            places.sort_by_key(|place| (keys[*place], std::cmp::Reverse(*place)));
            let before = counts::<FEW>(&mut keys, count);
            assert!(places.into_iter().enumerate().all(|(rank, place)| before[place] == rank as u64));
        }
    }

    #[test]
    fn flows_start_after_all_else_of_their_nanosecond() {
        let mut ranks = Ranks::new(0, Duration::ZERO);
        ranks.open(Instant::ZERO, Instant(1000));
        let scheduled = [Stamp::before_all(3), ranks.stamp(), ranks.stamp()];
        let starts = [(0, 200, 9), (1, 0, 5), (1, 0, 6), (1, 7, 1)]
            .map(|(at, class, number)| Stamp::after_all(Instant(5000 + at), class, number));
        let all: Vec<Stamp> = scheduled.into_iter().chain(starts).collect();
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
