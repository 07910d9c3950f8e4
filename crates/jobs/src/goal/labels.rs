//! Labels of the operations of one rank.
//!
//! Most traces number their labels: `l1`, `l2` and so on. Those are an index into a table. All others are found by hash.

use backwater_types::hash::mix64;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, RandomState};

/// Finds operations by label.
#[derive(Debug)]
pub(super) struct Labels {
    /// What stands before the number, in the first numbered label of the rank; empty before that.
    prefix: Vec<u8>,
    /// `[number]`: operation with that label, or [`NO_OP`].
    numbered: Vec<u32>,
    /// Labels that are not in `numbered`.
    named: HashTable<Named>,
    /// Their texts, one after another, each after its length.
    texts: Vec<u8>,
    /// Differs from run to run: a file may be made so that all labels collide in a known hash function. Labels are only
    /// looked up, never listed by hash.
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Named {
    /// Where its text starts.
    at: u32,
    op: u32,
    hash: u32,
}

const NO_OP: u32 = u32::MAX;

/// Why a label is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// It is that of this operation already.
    Of(u32),
    /// Labels of the rank need more than 4 GiB.
    TooMany,
}

impl Default for Labels {
    fn default() -> Labels {
        let seed = RandomState::new().hash_one(0);
        Labels { prefix: Vec::new(), numbered: Vec::new(), named: HashTable::new(), texts: Vec::new(), seed }
    }
}

impl Labels {
    /// Gives an operation a label of 1 to 255 bytes.
    pub(super) fn insert(&mut self, name: &[u8], op: u32) -> Result<(), NotTaken> {
        if let Some((prefix, number)) = split(name) {
            if self.prefix.is_empty() {
                self.prefix.extend_from_slice(prefix);
            }
            // Numbers may have gaps, but the table is never much larger than what it is for.
            if self.prefix == prefix && number < 1024 + 2 * op as usize {
                if number >= self.numbered.len() {
                    self.numbered.resize(number + 1, NO_OP);
                }
                // It was too large a number before, perhaps.
                let named = if self.named.is_empty() { None } else { self.find(name) };
                return match (self.numbered[number], named) {
                    (NO_OP, None) => {
                        self.numbered[number] = op;
                        Ok(())
                    }
                    (NO_OP, Some(first)) | (first, _) => Err(NotTaken::Of(first)),
                };
            }
        }
        self.insert_named(name, op)
    }

    fn insert_named(&mut self, name: &[u8], op: u32) -> Result<(), NotTaken> {
        let hash = hash(self.seed, name);
        let Labels { named, texts, .. } = self;
        let Ok(at) = u32::try_from(texts.len()) else { return Err(NotTaken::TooMany) };
        let same = |label: &Named| label.hash == hash && text(texts, *label) == name;
        match named.entry(spread(hash), same, |label| spread(label.hash)) {
            Entry::Occupied(entry) => return Err(NotTaken::Of(entry.get().op)),
            Entry::Vacant(entry) => entry.insert(Named { at, op, hash }),
        };
        texts.push(name.len() as u8);
        texts.extend_from_slice(name);
        Ok(())
    }

    /// Returns the operation with a label.
    pub(super) fn get(&self, name: &[u8]) -> Option<u32> {
        if let Some((prefix, number)) = split(name)
            && self.prefix == prefix
            && let Some(op) = self.numbered.get(number).filter(|op| **op != NO_OP)
        {
            return Some(*op);
        }
        self.find(name)
    }

    fn find(&self, name: &[u8]) -> Option<u32> {
        let hash = hash(self.seed, name);
        let same = |label: &Named| label.hash == hash && text(&self.texts, *label) == name;
        self.named.find(spread(hash), same).map(|label| label.op)
    }

    /// Returns the label of an operation. Looks at all labels.
    pub(super) fn of(&self, op: u32) -> Option<String> {
        if let Some(number) = self.numbered.iter().position(|it| *it == op) {
            return Some(format!("{}{number}", String::from_utf8_lossy(&self.prefix)));
        }
        let label = self.named.iter().find(|label| label.op == op)?;
        Some(String::from_utf8_lossy(text(&self.texts, *label)).into_owned())
    }

    /// Forgets all labels. Costs no more than they did: ranks with few labels may follow one with millions.
    pub(super) fn clear(&mut self) {
        self.prefix.clear();
        self.numbered.clear();
        self.texts.clear();
        match self.named.capacity() > 64 + 8 * self.named.len() {
            true => self.named = HashTable::new(),
            false => self.named.clear(),
        }
    }
}

/// Splits a label into what stands before its number, and the number. Each number is written in one way.
fn split(name: &[u8]) -> Option<(&[u8], usize)> {
    let digits = name.iter().rev().take_while(|c| c.is_ascii_digit()).count();
    let (prefix, digits) = name.split_at(name.len() - digits);
    let numbered = (1..=10).contains(&digits.len()) && (digits[0] != b'0' || digits.len() == 1);
    let add = |number: usize, digit: &u8| 10 * number + (digit - b'0') as usize;
    (numbered && !prefix.is_empty()).then(|| (prefix, digits.iter().fold(0, add)))
}

fn text(texts: &[u8], label: Named) -> &[u8] {
    let at = label.at as usize;
    &texts[at + 1..][..texts[at] as usize]
}

/// Hash of a label, eight bytes at a time.
fn hash(seed: u64, name: &[u8]) -> u32 {
    let mut hash = seed ^ name.len() as u64;
    for bytes in name.chunks(8) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        hash = mix64(hash ^ u64::from_le_bytes(word));
    }
    (hash >> 32) as u32
}

/// The table uses both ends of 64 bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn a_label_has_one_operation() {
        let mut labels = Labels::default();
        let names =
            ["l1", "l01", "l0", "l00", "m1", "l", "l99999", "l9999999999", "l99999999999", "a_b", "l1_", "long_name_1"];
        let mut known = HashMap::new();
        for op in 0..60_000 {
            let name = if op % 2 == 0 { format!("l{}", op * 2) } else { names[op % names.len()].to_string() };
            let first = *known.entry(name.clone()).or_insert(op as u32);
            let taken = if first == op as u32 { Ok(()) } else { Err(NotTaken::Of(first)) };
            assert_eq!(labels.insert(name.as_bytes(), op as u32), taken, "{name}");
        }
        for (name, op) in &known {
            assert_eq!((labels.get(name.as_bytes()), labels.of(*op).as_ref()), (Some(*op), Some(name)));
        }
        assert_eq!((labels.get(b"l3"), labels.get(b"x"), labels.of(60_000)), (None, None, None));
        labels.clear();
        assert_eq!((labels.get(b"l8"), labels.get(b"a_b")), (None, None));
        labels.insert(b"x8", 0).expect("new again");
        assert_eq!((labels.get(b"x8"), labels.get(b"l8")), (Some(0), None));
    }

    #[test]
    fn a_number_that_was_too_large_is_found_when_it_no_longer_is() {
        let mut labels = Labels::default();
        labels.insert(b"l5000", 0).expect("new");
        labels.insert(b"l1", 5000).expect("new");
        assert_eq!((labels.insert(b"l5000", 5001), labels.get(b"l5000")), (Err(NotTaken::Of(0)), Some(0)));
    }
}
