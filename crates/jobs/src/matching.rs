//! Which receive takes which message.
//!
//! A receive takes the message that arrived first among those from its source with its tag. A message goes to the
//! receive that was posted first among those that accept it. Both as in MPI and LogGOPSim, except that messages are
//! ordered by arrival: a network of flows may deliver a later message first.
//!
//! Receives that name a source and a tag are found by these. Those that name any are few, and are searched in order.

use crate::op::ANY;
use backwater_types::hash::mix64;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// Receives of a rank that wait for a message, and messages that wait for a receive.
#[derive(Clone, Debug)]
pub struct Matching<M> {
    /// Numbers of receives and messages, in the order in which they came.
    next: u64,
    posted: HashMap<u64, Queue<(u64, u32)>, ByInteger>,
    /// Receives that name any source or any tag, by number: source, tag, operation.
    wild: BTreeMap<u64, (u32, u32, u32)>,
    arrived: HashMap<u64, Queue<(u64, M)>, ByInteger>,
    /// Messages that arrived, by number: source and tag. Empty until a receive names any.
    in_order: Option<BTreeMap<u64, (u32, u32)>>,
}

type ByInteger = BuildHasherDefault<IntegerHasher>;

/// A queue that is not empty. A rank may post all receives of a job at its start, each for a message of its own, so a
/// queue of one takes no memory besides its place.
#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "a queue of one is half as large, and others are few")]
enum Queue<T> {
    One(T),
    More(Box<VecDeque<T>>),
}

/// Hashes integers. Maps are never iterated, so nothing depends on the order of their entries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IntegerHasher(u64);

impl Hasher for IntegerHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(*byte as u64));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix64(self.0 ^ word);
    }
}

/// Key of a source and a tag.
fn key(from: u32, tag: u32) -> u64 {
    (from as u64) << 32 | tag as u64
}

fn accepts((from, tag): (u32, u32), (source, sent): (u32, u32)) -> bool {
    (from == ANY || from == source) && (tag == ANY || tag == sent)
}

impl<M> Default for Matching<M> {
    fn default() -> Matching<M> {
        Matching {
            next: 0,
            posted: HashMap::default(),
            wild: BTreeMap::new(),
            arrived: HashMap::default(),
            in_order: None,
        }
    }
}

impl<M> Matching<M> {
    /// Posts receive `op`. Returns the message that it takes, if one has arrived.
    pub fn post(&mut self, from: u32, tag: u32, op: u32) -> Option<M> {
        let exact = from != ANY && tag != ANY;
        let taken = if exact { key(from, tag) } else { self.first_for(from, tag).unwrap_or(u64::MAX) };
        if let Some(message) = self.take(taken) {
            return Some(message);
        }
        let number = self.number();
        if exact {
            push(&mut self.posted, key(from, tag), (number, op));
        } else {
            self.wild.insert(number, (from, tag, op));
        }
        None
    }

    /// Hands a message from `source` to the receive that takes it, which is returned. Keeps the message if there is
    /// none.
    pub fn arrive(&mut self, source: u32, tag: u32, message: M) -> Option<(u32, M)> {
        let key = key(source, tag);
        let exact = self.posted.get(&key).map(|queue| *queue.front());
        let wild = self.wild.iter().find(|(_, (from, any, _))| accepts((*from, *any), (source, tag)));
        let wild = wild.map(|(number, (_, _, op))| (*number, *op));
        if let Some((number, op)) = wild
            && exact.is_none_or(|(posted, _)| number < posted)
        {
            self.wild.remove(&number);
            return Some((op, message));
        }
        if let Some((_, op)) = exact {
            pop(&mut self.posted, key);
            return Some((op, message));
        }
        let number = self.number();
        push(&mut self.arrived, key, (number, message));
        if let Some(in_order) = &mut self.in_order {
            in_order.insert(number, (source, tag));
        }
        None
    }

    /// Lists receives that wait, in order of their operations: source, tag and operation.
    pub fn waiting(&self) -> Vec<(u32, u32, u32)> {
        let exact = self.posted.iter().flat_map(|(key, queue)| {
            let (from, tag) = ((key >> 32) as u32, *key as u32);
            queue.iter().map(move |(_, op)| (from, tag, *op))
        });
        let mut all: Vec<_> = exact.chain(self.wild.values().copied()).collect();
        all.sort_unstable_by_key(|(_, _, op)| *op);
        all
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Finds the key of the first message that a receive of any accepts.
    fn first_for(&mut self, from: u32, tag: u32) -> Option<u64> {
        let arrived = &self.arrived;
        let in_order = self.in_order.get_or_insert_with(|| {
            let of = |(key, queue): (&u64, &Queue<(u64, M)>)| {
                let named = ((key >> 32) as u32, *key as u32);
                queue.iter().map(move |(number, _)| (*number, named)).collect::<Vec<_>>()
            };
            arrived.iter().flat_map(of).collect()
        });
        let (_, (source, sent)) = in_order.iter().find(|(_, message)| accepts((from, tag), **message))?;
        Some(key(*source, *sent))
    }

    /// Takes the first message with this key.
    fn take(&mut self, key: u64) -> Option<M> {
        let (number, message) = pop(&mut self.arrived, key)?;
        if let Some(in_order) = &mut self.in_order {
            in_order.remove(&number);
        }
        Some(message)
    }
}

impl<T> Queue<T> {
    /// Adds an entry behind the others.
    fn with(self, last: T) -> Queue<T> {
        match self {
            Queue::One(first) => Queue::More(Box::new([first, last].into())),
            Queue::More(mut all) => {
                all.push_back(last);
                Queue::More(all)
            }
        }
    }

    fn front(&self) -> &T {
        match self {
            Queue::One(one) => one,
            Queue::More(all) => all.front().expect("a queue is not empty"),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        let (one, more) = match self {
            Queue::One(one) => (Some(one), None),
            Queue::More(all) => (None, Some(all.iter())),
        };
        one.into_iter().chain(more.into_iter().flatten())
    }
}

fn push<T>(queues: &mut HashMap<u64, Queue<T>, ByInteger>, key: u64, last: T) {
    match queues.entry(key) {
        Entry::Vacant(place) => _ = place.insert(Queue::One(last)),
        Entry::Occupied(place) => _ = place.replace_entry_with(|_, queue| Some(queue.with(last))),
    }
}

/// Takes the first entry of a queue, and removes the queue if it was the last.
fn pop<T>(queues: &mut HashMap<u64, Queue<T>, ByInteger>, key: u64) -> Option<T> {
    if let Queue::More(all) = queues.get_mut(&key)?
        && all.len() > 1
    {
        return all.pop_front();
    }
    match queues.remove(&key)? {
        Queue::One(one) => Some(one),
        Queue::More(mut all) => all.pop_front(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::Stream;

    /// The same by searching lists.
    #[derive(Default)]
    struct Lists {
        posted: Vec<(u32, u32, u32)>,
        arrived: Vec<(u32, u32, u32)>,
    }

    impl Lists {
        fn post(&mut self, from: u32, tag: u32, op: u32) -> Option<u32> {
            match self.arrived.iter().position(|(source, sent, _)| accepts((from, tag), (*source, *sent))) {
                Some(at) => Some(self.arrived.remove(at).2),
                None => {
                    self.posted.push((from, tag, op));
                    None
                }
            }
        }

        fn arrive(&mut self, source: u32, tag: u32, message: u32) -> Option<(u32, u32)> {
            match self.posted.iter().position(|(from, any, _)| accepts((*from, *any), (source, tag))) {
                Some(at) => Some((self.posted.remove(at).2, message)),
                None => {
                    self.arrived.push((source, tag, message));
                    None
                }
            }
        }
    }

    #[test]
    fn matches_as_a_search_of_lists_does() {
        for seed in 0..300 {
            let mut rng = Stream::new(seed, 1, 2);
            let (mut lists, mut matching) = (Lists::default(), Matching::default());
            for number in 0..400 {
                let draw = rng.next_u32();
                let (from, tag) = (draw >> 8 & 3, draw >> 16 & 1);
                if draw & 1 == 0 {
                    // One receive in four names any source, one in four any tag, except in one seed of three.
                    let any = |bits: u32, named| if seed % 3 > 0 && draw >> bits & 3 == 0 { ANY } else { named };
                    let (from, tag) = (any(20, from), any(24, tag));
                    assert_eq!(matching.post(from, tag, number), lists.post(from, tag, number));
                } else {
                    assert_eq!(matching.arrive(from, tag, number), lists.arrive(from, tag, number));
                }
            }
            let mut left = lists.posted;
            left.sort_unstable_by_key(|(_, _, op)| *op);
            assert_eq!(matching.waiting(), left);
        }
    }
}
