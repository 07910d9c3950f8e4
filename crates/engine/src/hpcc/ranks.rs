//! Ranks: the order in which the whole network scheduled its events, found after each window although nodes run alone.
//!
//! ns-3 keeps one list of events. Simultaneous events run in the order in which they were scheduled. In Backwater each
//! node runs through a window alone, perhaps on another thread, so no list has this order. A node still knows the order
//! of its own events. Only events from different nodes need a comparison, and they meet at the end of a link. A window
//! is no longer than the shortest link, so a frame never arrives in the window in which it is sent. It is therefore
//! enough to find the order when the window is over.
//!
//! **Example: two nodes, one nanosecond.** A frame takes 1000 ns from node A or node B to switch S. Both nodes send S a
//! frame at nanosecond 100. Both frames arrive at nanosecond 1100, and S has to know which comes first. The window is 0
//! to 1000 ns, and schedules four events:
//!
//! | nanosecond | event that runs | schedules | rank |
//! |---|---|---|---|
//! | 40 | at A | timer *a* of A, for 100 | 0 |
//! | 60 | at B | timer *b* of B, for 100 | 1 |
//! | 100 | *a* at A | arrival of A's frame at S, for 1100 | 2 |
//! | 100 | *b* at B | arrival of B's frame at S, for 1100 | 3 |
//!
//! While the window runs, A and B only note which event scheduled which, nanosecond by nanosecond. These notes are an
//! [`Account`]. When the window is over, [`Ranks::settle`] goes through all accounts in order of nanoseconds and counts
//! up ranks:
//!
//! * Nanoseconds 40 and 60 each have one event to rank: *a* gets 0, *b* gets 1.
//! * Nanosecond 100 has two. Both were scheduled at the same instant, so the order of *a* and *b* decides. Their ranks
//!   are known by now, 0 and 1. ns-3 would therefore have run *a* first, and A's frame gets 2, B's frame 3.
//!
//! At nanosecond 1100 S takes the frame of rank 2 first. It does not matter whether A or B ran first, or on which
//! thread. Two events that the same event scheduled keep the order in which it did so. An event of an earlier window
//! was scheduled first, so events of different windows need no ranks.
//!
//! **Sort times.** Most ties need no rank. Had B sent its frame at nanosecond 98 over a link of 1002 ns, it would
//! arrive at 1100 as well, and it would come first because it was scheduled at an earlier nanosecond. The sort time of
//! an event contains this. It is the nanosecond at which the event is due, plus picoseconds that are fewer the longer
//! before that nanosecond the event was scheduled ([`Ranks::kept_by`]). Only events with equal sort times are compared
//! by ranks.

use super::known::{Known, UNKNOWN};
use super::stamps::{NUMBERS, PARTITIONS, Stamp};
use backwater_types::{Duration, Instant};
use std::sync::{RwLock, RwLockReadGuard};

/// Scheduled event.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Stamp of the event that scheduled this one.
    by: Stamp,
    /// One more than the number of the event scheduled before this one in the same nanosecond, or 0.
    before: u32,
}

/// Account of a window: the events that a partition scheduled in it, by number.
#[derive(Debug, Default)]
pub struct Account {
    entries: Vec<Entry>,
    /// Nanosecond in which the window begins.
    begins: u64,
    /// `[nanosecond of the window]`: one more than the number of the last event that was scheduled then, or 0.
    last: Vec<u32>,
    /// Latest sort time of a frame that was sent.
    until: Instant,
}

impl Account {
    fn clear(&mut self) {
        self.entries.clear();
        self.last.clear();
        self.until = Instant::ZERO;
    }

    /// Iterates over the events scheduled in a nanosecond, from the last to the first: the number of each, and the
    /// stamp of the event that scheduled it.
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

/// Most events of one nanosecond that are ranked by counting, for each, the events before it.
const FEW: usize = 64;

/// Event that runs now, and schedules the next ones.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    /// Sort time of the event.
    at: Instant,
    ns: u64,
    stamp: Stamp,
}

/// Order of recently scheduled events, as one partition knows it.
#[derive(Debug)]
pub(crate) struct Ranks {
    now: Now,
    account: Account,
    partition: u64,
    /// Number of the current window.
    window: u64,
    /// Ranks of the windows before it.
    known: Known,
    /// Longest time from scheduling to the event that sort times tell apart, nanoseconds.
    reach: u64,
    /// Binary logarithm of the steps, in nanoseconds, in which sort times tell these times apart.
    coarse: u32,
    /// Start of the current window.
    begun: Instant,
    /// Events of one nanosecond to rank: for each the stamp of the event that scheduled it, and its number among those
    /// of all partitions. Empty between calls.
    many: Vec<(Stamp, usize)>,
}

impl Ranks {
    /// Creates the ranks of partition number `partition`, before the run starts. Most frames are in flight no longer
    /// than `reach`.
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

    /// Starts a window: no event comes before `first`, nor at or after `end`.
    pub(crate) fn open(&mut self, first: Instant, end: Instant) {
        self.account.begins = first.0 / 1000;
        let nanoseconds = end.0.div_ceil(1000).saturating_sub(self.account.begins);
        self.account.last.resize(nanoseconds as usize, 0);
    }

    /// Makes the event of `stamp`, with sort time `at`, the one that runs now. Returns its nanosecond.
    #[inline(always)]
    pub(crate) fn come(&mut self, at: Instant, stamp: Stamp) -> Instant {
        let ns = at.0 / 1000;
        self.now = Now { at, ns, stamp };
        Instant(1000 * ns)
    }

    /// Returns the sort time of an event that is scheduled now for `at`: the nanosecond of `at`, and picoseconds for
    /// how late it was scheduled, in steps of 2^`coarse` ns.
    #[inline(always)]
    pub(crate) fn kept_by(&self, at: Instant) -> Instant {
        let ns = at.0 / 1000;
        let younger = self.reach.saturating_sub(ns - self.now.ns) >> self.coarse;
        Instant(1000 * ns + younger)
    }

    /// Returns the sort time and the stamp of a frame that is sent now and arrives at `at`.
    #[inline(always)]
    pub(crate) fn stamp_frame(&mut self, at: Instant) -> (Instant, Stamp) {
        let at = self.kept_by(at);
        self.account.until = self.account.until.max(at);
        (at, self.stamp())
    }

    /// Returns the stamp of the event that is scheduled next, and notes the event in the account. The stamp of a frame
    /// may get its rank as late as the frame's arrival. Any other stamp has to get its rank when the window ends,
    /// because ranks are kept only until the last frame of the window arrives.
    #[inline(always)]
    pub(crate) fn stamp(&mut self) -> Stamp {
        let account = &mut self.account;
        let number = account.entries.len();
        let last = &mut account.last[(self.now.ns - account.begins) as usize];
        account.entries.push(Entry { by: self.now.stamp, before: *last });
        *last = number as u32 + 1;
        Stamp::of(self.window, self.partition, number)
    }

    /// Returns the stamp of the end of the transmission whose frame got the last stamp.
    #[inline(always)]
    pub(crate) fn stamp_of_end(&self) -> Stamp {
        Stamp::of(self.window, self.partition, self.account.entries.len() - 1).of_end()
    }

    /// Whether the event of `stamp`, with sort time `at`, has come, or comes now.
    #[inline(always)]
    pub(crate) fn has_come(&self, at: Instant, stamp: Stamp) -> bool {
        at < self.now.at || at == self.now.at && self.ranked(stamp) <= self.ranked(self.now.stamp)
    }

    /// Returns the stamp with its rank, if its window is over.
    pub(crate) fn ranked(&self, stamp: Stamp) -> Stamp {
        if stamp.is_final() || stamp.window() == self.window {
            return stamp;
        }
        stamp.with(self.known.rank(stamp))
    }

    /// Ends a window: swaps its account into `place`, where all partitions find it, for an older one.
    pub(crate) fn hand_over(&mut self, place: &mut Account) {
        std::mem::swap(&mut self.account, place);
        self.account.clear();
    }

    /// Gives ranks to the events scheduled in the window that ended at `end`. All partitions have handed over their
    /// accounts; a partition that is alone has not, and passes an empty list.
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

    /// Ranks the events scheduled in nanosecond `ns` of the last window. `next` is the next rank to give.
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
            2 => give(&counts::<2>(keys, count)),
            3..=4 => give(&counts::<4>(keys, count)),
            5..=8 => give(&counts::<8>(keys, count)),
            9..=16 => give(&counts::<16>(keys, count)),
            17..=32 => give(&counts::<32>(keys, count)),
            _ => give(&counts::<FEW>(keys, count)),
        }
        *next += count as u32;
    }

    /// Ranks the events scheduled in nanosecond `ns` if there are many, or if some were scheduled by events that were
    /// themselves scheduled in this nanosecond.
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
            // A flow starts when nothing else of its nanosecond is left. An event scheduled by an event of this
            // nanosecond waits until the latter has its rank.
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

/// Picoseconds of the sort time of a flow's start. All other events of a nanosecond have fewer, so flows start after
/// them.
pub(crate) const START_OF_NS: u64 = 999;

/// Events of one nanosecond to rank: the stamps of the events that scheduled them, and the places of their ranks.
struct Few {
    keys: [u64; FEW],
    places: [usize; FEW],
}

/// Returns, for each of the first `count` keys, the number of keys before it: lower keys, and equal keys that are
/// further back.
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
    /// Returns the events that event `name` schedules: for each its node, `usize::MAX` for the event's own, and its
    /// delay, ns.
    fn schedules(name: u64) -> impl Iterator<Item = (usize, u64)> {
        let mut rng = Stream::new(1, 2, name);
        // Each event schedules 0 to 3 others, 1.5 on average.
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

    /// Runs all events one by one. Returns `[node]`: times and names of its events.
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

    /// Runs nodes one after another in windows of `length`, divided among `partitions`. Sort times do not distinguish
    /// events scheduled longer than `reach` before.
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
