//! Flow records of one switch: a bounded cuckoo table, and a refresh list of the records with periodic work.
//!
//! A flow at an egress port has two buckets of four entries. An entry holds a few bits of the flow's fingerprint and
//! the slot of its record, so records stay in place while entries move (Fan et al., "Cuckoo Filter", CoNEXT 2014: a
//! bucket and the fingerprint alone determine the other bucket). A fingerprint of all 32 bits makes the table exact.
//! With fewer, flows of a class with equal fingerprints are one flow to the switch, as in FlowSail's section V.

mod record;

pub use record::{NO_QUEUE, Record, state};

use alloc::vec;
use alloc::vec::Vec;
use backwater_types::hash;
use backwater_types::{FlowName, Instant, PortId};
use core::hash::{Hash, Hasher};
use core::ops::{Index, IndexMut};

/// Index of a record.
pub type Slot = u32;

/// The slot that means "no record".
pub const NONE: Slot = u32::MAX;

/// Refresh periods after which a pause that was not repeated lapses.
pub const LAPSE: u64 = 3;

/// Initial capacity of an exact table, in records.
const FIRST_CAPACITY: u32 = 256;
const WAYS: usize = 4;
/// Low bits of an entry, for the record's slot plus one: an entry of zero is free.
const SLOT_BITS: u32 = 20;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Largest capacity, in records.
pub const CAPACITY_MAX: u32 = SLOT_MASK - 1;
/// Largest number of entries moved to make room for one.
const KICKS_MAX: usize = 64;

/// The flow table of one switch.
#[derive(Clone, Debug)]
pub struct FlowTable {
    buckets: Vec<[u32; WAYS]>,
    records: Vec<Record>,
    /// Records that fit now, and the upper limit.
    capacity: u32,
    limit: u32,
    free: Slot,
    /// Records in use, and `[port]`: records in use.
    used: u32,
    by_port: Vec<u32>,
    /// Head and tail of the refresh list.
    first: Slot,
    last: Slot,
    /// Number of bits by which the fingerprint is shorter than the name.
    cut: u32,
    /// Odd multiplier of this switch. With one multiplier for all switches, flows with consecutive names, as in this
    /// simulator, would almost never collide.
    multiplier: u32,
    salt: u64,
    /// Multiplier of port and class in a flow's bucket; 0: they do not matter.
    spread: u32,
    /// Start of the search for an entry to move.
    rotor: u32,
    refused: u64,
}

/// Location of a flow: its fingerprint and its first bucket.
#[derive(Clone, Copy)]
struct Place {
    fingerprint: u32,
    bucket: u32,
}

impl FlowTable {
    /// Creates a table with room for at most `capacity` records; `None`: no limit. An exact table starts with few
    /// buckets, so that look-ups stay in the cache, and allocates more when they fill.
    ///
    /// # Panics
    /// If `capacity` is zero or above [`CAPACITY_MAX`], or there are more than 256 ports.
    pub fn new(capacity: Option<u32>, fingerprint_bits: u32, ports: usize, salt: u64) -> FlowTable {
        let limit = capacity.unwrap_or(CAPACITY_MAX);
        assert!((1..=CAPACITY_MAX).contains(&limit) && ports <= 256, "{limit} records for {ports} ports");
        // The number of buckets decides which flows short fingerprints confuse; it must be that of the hardware.
        let capacity = if fingerprint_bits < 32 { limit } else { limit.min(FIRST_CAPACITY) };
        FlowTable {
            buckets: vec![[0; WAYS]; buckets(capacity)],
            records: Vec::with_capacity(if limit == CAPACITY_MAX { 0 } else { limit as usize }),
            capacity,
            limit,
            free: NONE,
            used: 0,
            by_port: vec![0; ports],
            first: NONE,
            last: NONE,
            cut: 32 - fingerprint_bits,
            multiplier: hash::mix64(salt ^ 0x6d75_6c74) as u32 | 1,
            salt: hash::mix64(salt ^ 0x6675_6c6c),
            spread: if limit == CAPACITY_MAX { 0x9e37_79b1 } else { 0 },
            rotor: 0,
            refused: 0,
        }
    }

    /// Largest number of records.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Number of records in use.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Number of flows that found no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Computes the location of a flow. Odd multipliers are bijections, so 32 bits tell all flows apart. A flow has one
    /// egress at a time, so its buckets in hardware do not depend on the port. A table without a limit has room for a
    /// flow at any number of ports and classes, as packet spraying and pauses of unknown flows need it.
    #[inline(always)]
    fn place(&self, flow: u32, port: PortId, class: u8) -> Place {
        let fingerprint = self.fingerprint(flow);
        let of_flow = fingerprint ^ (u32::from(port) << 8 | u32::from(class)).wrapping_mul(self.spread);
        let bucket = ((of_flow as u64).wrapping_mul(self.salt | 1) >> 32) as u32;
        Place { fingerprint, bucket: bucket & self.mask() }
    }

    /// Prefetches the buckets of a flow for a later look-up, in a table with a limit.
    #[inline(always)]
    pub fn prefetch(&self, flow: u32) -> u32 {
        let place = self.place(flow, 0, 0);
        let other = self.other(place.bucket, place.fingerprint);
        self.buckets[place.bucket as usize][0] ^ self.buckets[other as usize][0]
    }

    #[inline(always)]
    fn mask(&self) -> u32 {
        self.buckets.len() as u32 - 1
    }

    /// The other bucket of an entry.
    #[inline(always)]
    fn other(&self, bucket: u32, fingerprint: u32) -> u32 {
        bucket ^ (fingerprint.wrapping_mul(0x5bd1_e995) >> 8 | 1) & self.mask()
    }

    /// Fingerprint bits stored in an entry.
    #[inline(always)]
    fn hint(fingerprint: u32) -> u32 {
        (fingerprint ^ fingerprint >> 16) << SLOT_BITS
    }

    /// Fingerprint of a flow.
    #[inline(always)]
    pub fn fingerprint(&self, flow: u32) -> u32 {
        flow.wrapping_mul(self.multiplier) >> self.cut
    }

    /// Finds the record of the flow `name` at `port`.
    #[inline(always)]
    pub fn find(&self, port: PortId, name: FlowName) -> Option<Slot> {
        let FlowName { flow, class, .. } = name;
        if self.by_port[port as usize] == 0 {
            return None;
        }
        let place = self.place(flow, port, class);
        let hint = FlowTable::hint(place.fingerprint);
        for bucket in [place.bucket, self.other(place.bucket, place.fingerprint)] {
            for entry in self.buckets[bucket as usize] {
                if entry & !SLOT_MASK == hint && entry & SLOT_MASK != 0 {
                    let slot = (entry & SLOT_MASK) - 1;
                    let record = &self.records[slot as usize];
                    if record.port as PortId == port
                        && record.class == class
                        && self.fingerprint(record.flow) == place.fingerprint
                    {
                        return Some(slot);
                    }
                }
            }
        }
        None
    }

    /// Creates a record for `name` at `port`, which has none. If the table or the two buckets are full, records in
    /// these buckets are evicted first where `evict` allows. Returns `None` if there is still no room.
    pub fn insert(&mut self, port: PortId, name: FlowName, evict: impl Fn(&Record) -> bool) -> Option<Slot> {
        let place = self.place(name.flow, port, name.class);
        let both = [place.bucket, self.other(place.bucket, place.fingerprint)];
        let bucket = loop {
            if self.used < self.capacity
                && let Some(bucket) = self.vacancy(both)
            {
                break bucket;
            }
            if self.capacity < self.limit {
                self.grow();
                return self.insert(port, name, evict);
            }
            if let Some(slot) = self.evictable(both, &evict) {
                self.remove(slot);
            } else {
                self.refused += 1;
                return None;
            }
        };
        let slot = self.new_record(Record::new(port, name, bucket));
        self.put_entry(bucket, FlowTable::hint(place.fingerprint) | (slot + 1));
        self.used += 1;
        self.by_port[port as usize] += 1;
        Some(slot)
    }

    /// Stores a record outside all lists, without packets.
    fn new_record(&mut self, record: Record) -> Slot {
        let slot = self.free;
        if slot == NONE {
            self.records.push(record);
            return (self.records.len() - 1) as Slot;
        }
        self.free = self.records[slot as usize].after;
        self.records[slot as usize] = record;
        slot
    }

    fn put_entry(&mut self, bucket: u32, entry: u32) {
        let free = self.buckets[bucket as usize].iter_mut().find(|at| **at == 0);
        *free.expect("a bucket with a vacancy") = entry;
    }

    fn has_vacancy(&self, bucket: u32) -> bool {
        self.buckets[bucket as usize].contains(&0)
    }

    /// Finds one of two buckets with a free entry, and moves other entries if necessary.
    fn vacancy(&mut self, both: [u32; 2]) -> Option<u32> {
        if let Some(bucket) = both.into_iter().find(|bucket| self.has_vacancy(*bucket)) {
            return Some(bucket);
        }
        // Search a path to a free entry first. Entries move only once it is found, from its end backwards.
        let mut path = [(0u32, 0usize); KICKS_MAX];
        let mut at = both[self.rotor as usize & 1];
        let start = at;
        for step in 0..KICKS_MAX {
            self.rotor = self.rotor.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let way = (self.rotor >> 30) as usize;
            path[step] = (at, way);
            let slot = (self.buckets[at as usize][way] & SLOT_MASK) - 1;
            let next = self.other(at, self.fingerprint(self.records[slot as usize].flow));
            if path[..=step].iter().any(|(seen, _)| *seen == next) {
                return None;
            }
            if self.has_vacancy(next) {
                let mut to = next;
                for (from, way) in path[..=step].iter().rev() {
                    let entry = core::mem::take(&mut self.buckets[*from as usize][*way]);
                    self.put_entry(to, entry);
                    self.records[((entry & SLOT_MASK) - 1) as usize].bucket = to;
                    to = *from;
                }
                return Some(start);
            }
            at = next;
        }
        None
    }

    fn evictable(&self, both: [u32; 2], evict: &impl Fn(&Record) -> bool) -> Option<Slot> {
        let entries = both.into_iter().flat_map(|bucket| self.buckets[bucket as usize]);
        entries.filter(|entry| *entry != 0).map(|entry| (entry & SLOT_MASK) - 1).find(|slot| evict(&self[*slot]))
    }

    #[cold]
    fn grow(&mut self) {
        let mut live: Vec<Slot> = Vec::with_capacity(self.used as usize);
        let entries = self.buckets.iter().flatten().filter(|entry| **entry != 0);
        live.extend(entries.map(|entry| (entry & SLOT_MASK) - 1));
        live.sort_unstable();
        self.capacity = (2 * self.capacity).min(self.limit);
        let mut count = buckets(self.capacity);
        loop {
            self.buckets = vec![[0; WAYS]; count];
            count *= 2;
            let fits = live.iter().all(|slot| {
                let record = self.records[*slot as usize];
                let place = self.place(record.flow, record.port(), record.class);
                let both = [place.bucket, self.other(place.bucket, place.fingerprint)];
                let Some(bucket) = self.vacancy(both) else { return false };
                self.put_entry(bucket, FlowTable::hint(place.fingerprint) | (slot + 1));
                self.records[*slot as usize].bucket = bucket;
                true
            });
            if fits {
                return;
            }
        }
    }

    /// Removes a record.
    pub fn remove(&mut self, slot: Slot) {
        self.remove_from_refresh(slot);
        let record = self.records[slot as usize];
        let entry = self.buckets[record.bucket as usize].iter_mut().find(|at| **at & SLOT_MASK == slot + 1);
        *entry.expect("a record is in its bucket") = 0;
        self.by_port[record.port as usize] -= 1;
        self.used -= 1;
        self.records[slot as usize].after = self.free;
        self.free = slot;
    }

    /// Appends a record to the refresh list. Returns whether it was absent.
    pub fn add_to_refresh(&mut self, slot: Slot) -> bool {
        let last = self.last;
        let record = &mut self.records[slot as usize];
        if record.is(state::IN_REFRESH) {
            return false;
        }
        record.set(state::IN_REFRESH);
        (record.before, record.after) = (last, NONE);
        match last {
            NONE => self.first = slot,
            _ => self.records[last as usize].after = slot,
        }
        self.last = slot;
        true
    }

    /// Removes a record from the refresh list.
    pub fn remove_from_refresh(&mut self, slot: Slot) {
        let record = &mut self.records[slot as usize];
        if !record.is(state::IN_REFRESH) {
            return;
        }
        record.clear(state::IN_REFRESH);
        let (before, after) = (record.before, record.after);
        match before {
            NONE => self.first = after,
            _ => self.records[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            _ => self.records[after as usize].before = before,
        }
    }

    /// First record of the refresh list.
    #[inline(always)]
    pub fn first_to_refresh(&self) -> Slot {
        self.first
    }

    /// Record after `slot` in the refresh list.
    #[inline(always)]
    pub fn next_to_refresh(&self, slot: Slot) -> Slot {
        self.records[slot as usize].after
    }

    /// Records for model checkers: those in the refresh list in its order, the others by name. Idle times are capped at
    /// `release`, ages of pauses at `lapse`.
    pub fn canonical(&self, now: Instant, release: u32, from_touch: bool, lapse: u32, state: &mut impl Hasher) {
        self.used.hash(state);
        let mut others: Vec<&Record> = self.iter().map(|(_, record)| record).collect();
        others.retain(|record| !record.is(state::IN_REFRESH));
        others.sort_unstable_by_key(|record| (record.port, record.flow));
        let some = |slot: Slot| (slot != NONE).then_some(slot);
        let in_refresh = core::iter::successors(some(self.first), |slot| some(self.next_to_refresh(*slot)));
        for record in in_refresh.map(|slot| &self[slot]).chain(others) {
            record.canonical(now, release, from_touch, lapse, state);
        }
    }

    /// All records, for checks.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Record)> {
        let slots = self.buckets.iter().flatten().filter(|entry| **entry != 0).map(|entry| (entry & SLOT_MASK) - 1);
        slots.map(|slot| (slot, &self.records[slot as usize]))
    }
}

/// Buckets of four entries for `capacity` records, with spare room: a cuckoo table of fours fills to 97 %.
fn buckets(capacity: u32) -> usize {
    (capacity as usize).div_ceil(WAYS).next_power_of_two().max(2)
}

impl Index<Slot> for FlowTable {
    type Output = Record;

    #[inline(always)]
    fn index(&self, slot: Slot) -> &Record {
        &self.records[slot as usize]
    }
}

impl IndexMut<Slot> for FlowTable {
    #[inline(always)]
    fn index_mut(&mut self, slot: Slot) -> &mut Record {
        &mut self.records[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use backwater_types::hash::Stream;

    fn name(flow: u32) -> FlowName {
        FlowName { flow, slot: 0, class: 0 }
    }

    /// Compares with a map: a flow is found while inserted and not found once removed, whatever entries moved in
    /// between.
    #[test]
    fn the_table_is_a_map_of_bounded_size() {
        for (capacity, bits) in [(Some(64), 32), (Some(1000), 32), (None, 32), (Some(4096), 24)] {
            let (mut table, mut rng) = (FlowTable::new(capacity, bits, 24, 7), Stream::new(1, 2, 3));
            let mut model: BTreeMap<(u16, u32), Slot> = BTreeMap::new();
            for step in 0..60_000 {
                let (port, flow) = ((rng.next_u32() % 24) as u16, rng.next_u32() % 400);
                match model.remove(&(port, flow)) {
                    Some(slot) => {
                        assert_eq!(table.find(port, name(flow)), Some(slot), "step {step}");
                        table.remove(slot);
                    }
                    None => {
                        assert_eq!(table.find(port, name(flow)), None, "step {step}");
                        if let Some(slot) = table.insert(port, name(flow), |_| false) {
                            model.insert((port, flow), slot);
                        }
                    }
                }
                assert_eq!(table.used() as usize, model.len());
            }
            assert_eq!(table.iter().count(), model.len());
            // Half of 24 x 400 flows are inserted.
            assert!(capacity.is_none_or(|c| table.refused() > 0 || c > 2000) && table.used() > 50);
        }
    }

    #[test]
    fn short_fingerprints_make_two_flows_one_and_full_buckets_evict() {
        let mut table = FlowTable::new(Some(16), 8, 2, 3);
        let slot = table.insert(1, name(5), |_| false).unwrap();
        let twin = (6..).find(|flow| table.find(1, name(*flow)).is_some()).unwrap();
        assert_eq!(table.find(1, name(twin)), Some(slot));
        assert_eq!(table.find(1, FlowName { class: 1, ..name(twin) }), None);
        assert_eq!(table.find(0, name(5)), None);
        let mut table = FlowTable::new(Some(16), 32, 1, 3);
        let room = (0..200).filter(|flow| table.insert(0, name(*flow), |_| false).is_some()).count();
        assert!(room == table.used() as usize && room > 12 && table.refused() > 0);
        let (used, refused) = (table.used(), table.refused());
        assert!((200..210).all(|flow| table.insert(0, name(flow), |_| true).is_some()));
        assert_eq!((table.used().max(used), table.refused()), (16, refused));
    }

    /// One flow at every port and in every class, as when its packets are sprayed.
    #[test]
    fn a_table_without_a_limit_has_room_for_a_flow_at_every_port() {
        let mut table = FlowTable::new(None, 32, 256, 5);
        let names = (0..256u16).flat_map(|port| (0..8).map(move |class| (port, FlowName { class, ..name(77) })));
        let slots: Vec<_> = names.map(|(port, name)| (port, name, table.insert(port, name, |_| false))).collect();
        assert!(slots.iter().all(|(port, name, slot)| slot.is_some() && table.find(*port, *name) == *slot));
        assert_eq!((table.used(), table.refused()), (2048, 0));
    }

    #[test]
    fn the_list_keeps_its_order() {
        let mut table = FlowTable::new(Some(64), 32, 1, 3);
        let slots: Vec<Slot> = (0..5).map(|flow| table.insert(0, name(flow), |_| false).unwrap()).collect();
        assert!(slots.iter().all(|slot| table.add_to_refresh(*slot)) && !table.add_to_refresh(slots[2]));
        table.remove_from_refresh(slots[0]);
        table.remove(slots[3]);
        table.add_to_refresh(slots[0]);
        let mut seen = Vec::new();
        let mut at = table.first_to_refresh();
        while at != NONE {
            seen.push(table[at].name().flow);
            at = table.next_to_refresh(at);
        }
        assert_eq!(seen, [1, 2, 4, 0]);
    }
}
