//! Order in which a hash table of the GNU C++ library is walked, for [`crate::list`]: HPCC's simulator lists a host's
//! queue pairs anew in this order when routes change.
//!
//! Source: `std::unordered_map` of GCC 9 to 13 with whole numbers as keys, which are their own hashes (observed, and in
//! its documentation: one list through all buckets). A new key goes before the first key of its bucket, or to the front
//! of the list if the bucket is empty. When keys outnumber buckets, the table grows, first to 13 buckets, then each
//! time to the next prime of a table of about doubled numbers. All keys are then inserted into a new list in the order
//! of the old one.
//!
//! GCC 5 to 8 start with fewer buckets and walk in another order.

use alloc::vec::Vec;

/// Keys in the order of a walk, each with its slot.
#[derive(Clone, Debug)]
pub(crate) struct HashOrder {
    walk: Vec<(u64, u32)>,
    /// Growths so far: one more than the index into [`BUCKETS`].
    grown: usize,
}

/// Numbers of buckets as a table grows. A host has fewer pairs at once than the last.
const BUCKETS: [u64; 16] =
    [13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172_933, 351_061, 712_697];

impl HashOrder {
    pub(crate) fn new() -> HashOrder {
        HashOrder { walk: Vec::new(), grown: 0 }
    }

    fn buckets(&self) -> u64 {
        if self.grown == 0 { 1 } else { BUCKETS[(self.grown - 1).min(BUCKETS.len() - 1)] }
    }

    /// Inserts `slot` under `key`, which is not in the table.
    pub(crate) fn insert(&mut self, key: u64, slot: u32) {
        if self.grown == 0 || self.walk.len() as u64 + 1 > self.buckets() {
            self.grown += 1;
            for (key, slot) in core::mem::take(&mut self.walk) {
                self.place(key, slot);
            }
        }
        self.place(key, slot);
    }

    fn place(&mut self, key: u64, slot: u32) {
        let bucket = key % self.buckets();
        let at = self.walk.iter().position(|(other, _)| other % self.buckets() == bucket).unwrap_or(0);
        self.walk.insert(at, (key, slot));
    }

    /// Removes `slot`.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.walk.retain(|(_, other)| *other != slot);
    }

    /// Returns the slots, in order.
    pub(crate) fn slots(&self) -> Vec<u32> {
        self.walk.iter().map(|(_, slot)| *slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of a C++ program, compiled with GCC 12, that inserts 20 numbers under keys of the simulator's form
    /// (address, port and group), removes one after every fourth, and walks the table in between.
    #[test]
    fn a_walk_is_that_of_the_library() {
        let key = |i: u64| (0x0b00_0001 + ((i * 7 % 11) << 8)) << 32 | (10_000 + i / 11) << 16 | 3;
        let mut table = HashOrder::new();
        let mut walks = Vec::new();
        for i in 0..20 {
            table.insert(key(i), i as u32);
            if i % 4 == 3 {
                table.remove(i as u32 / 2);
            }
            if [5, 12, 19].contains(&i) {
                walks.push(table.slots());
            }
        }
        assert_eq!(walks[0], [5, 4, 3, 2, 0]);
        assert_eq!(walks[1], [10, 12, 9, 11, 8, 7, 6, 4, 2, 0]);
        assert_eq!(walks[2], [19, 18, 17, 0, 2, 16, 4, 6, 8, 11, 12, 10, 13, 14, 15]);
    }
}
