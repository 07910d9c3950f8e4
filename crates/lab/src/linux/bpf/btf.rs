//! Types of the running kernel: where a field of a structure is, which number a function has.
//!
//! Source: Linux, "BPF Type Format (BTF)", Documentation/bpf/btf.rst. Crates that read it hide the offsets of fields
//! (aya-obj), hide bit-fields (btf) or have a licence that we cannot ship (btf-rs).

use std::fmt;
use std::io;
use std::ops::Range;

/// Where the kernel describes its types.
pub(super) const FILE: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u32 = 0xeb9f;
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const DECLARATION_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// Reason for which the kernel's types cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing(pub(super) String);

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// A field of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Bytes before it.
    pub(super) offset: u32,
    /// Bytes of it.
    pub(super) size: u32,
}

/// Types of a kernel.
pub(super) struct Types {
    bytes: Vec<u8>,
    names: Range<usize>,
    /// Offset of each type's record. Type 1 is the first.
    records: Vec<usize>,
}

/// A type's record.
#[derive(Clone, Copy)]
struct Record {
    name: u32,
    kind: u32,
    /// Number of its members.
    count: usize,
    /// Whether offsets of its members contain the sizes of bit-fields.
    bits: bool,
    /// Bytes of a value, or number of another type.
    size: u32,
    /// Offset of what follows.
    rest: usize,
}

impl Types {
    /// Reads the types of the kernel that runs.
    ///
    /// # Errors
    /// If the kernel describes none, or their form is unknown.
    pub(super) fn of_kernel() -> io::Result<Types> {
        Types::read(std::fs::read(FILE)?).map_err(|why| io::Error::other(why.0))
    }

    fn read(bytes: Vec<u8>) -> Result<Types, Missing> {
        let broken = || Missing("the description of types is cut short".into());
        let word = |at| word(&bytes, at).ok_or_else(broken);
        if word(0)? & 0xffff != MAGIC {
            return Err(Missing("the description of types is not in BTF of this machine's byte order".into()));
        }
        let [header, types, types_length, names, names_length] = [word(4)?, word(8)?, word(12)?, word(16)?, word(20)?];
        let part = |start: u32, length: u32| {
            let start = header as usize + start as usize;
            let end = start + length as usize;
            if end <= bytes.len() { Ok(start..end) } else { Err(broken()) }
        };
        let (types, names) = (part(types, types_length)?, part(names, names_length)?);
        let (mut records, mut at) = (Vec::new(), types.start);
        while at < types.end {
            let record = record(&bytes, at).ok_or_else(broken)?;
            records.push(at);
            at = record.rest + rest_size(record)?;
        }
        if at > types.end {
            return Err(broken());
        }
        Ok(Types { bytes, names, records })
    }

    /// Number of a structure.
    pub(super) fn structure(&self, name: &str) -> Result<u32, Missing> {
        self.find(STRUCTURE, name).ok_or_else(|| Missing(format!("the kernel has no structure {name}")))
    }

    /// Number of a function.
    pub(super) fn function(&self, name: &str) -> Result<u32, Missing> {
        self.find(FUNCTION, name).ok_or_else(|| Missing(format!("the kernel has no function {name}")))
    }

    /// Bytes of a structure.
    pub(super) fn size(&self, name: &str) -> Result<u32, Missing> {
        self.size_of(self.structure(name)?).ok_or_else(|| Missing(format!("{name} has no size")))
    }

    /// Number of a structure's member.
    pub(super) fn member(&self, structure: &str, name: &str) -> Result<u32, Missing> {
        let found = self.record(self.structure(structure)?).and_then(|record| {
            (0..record.count).find(|index| self.member_of(record, *index).is_some_and(|(named, ..)| named == name))
        });
        found.map(|index| index as u32).ok_or_else(|| Missing(format!("the kernel has no field {structure}.{name}")))
    }

    /// Field that `path` names: a structure, and a member of each structure inside it, joined by dots.
    pub(super) fn field(&self, path: &str) -> Result<Field, Missing> {
        let missing = || Missing(format!("the kernel has no field {path}"));
        let mut parts = path.split('.');
        let mut number = self.structure(parts.next().unwrap_or_default())?;
        let mut bits = 0u32;
        for part in parts {
            let record = self.record(self.plain(number).ok_or_else(missing)?).ok_or_else(missing)?;
            if !matches!(record.kind, STRUCTURE | UNION) {
                return Err(missing());
            }
            let members = (0..record.count).filter_map(|index| self.member_of(record, index));
            let (_, kind, place) = { members }.find(|(name, ..)| *name == part).ok_or_else(missing)?;
            if record.bits && place >> 24 != 0 {
                return Err(Missing(format!("the kernel's field {path} has {} bits", place >> 24)));
            }
            bits = bits.checked_add(if record.bits { place & 0xff_ffff } else { place }).ok_or_else(missing)?;
            number = kind;
        }
        let size = self.size_of(number).ok_or_else(missing)?;
        Ok(Field { offset: bits / 8, size })
    }

    /// Value that `path` names: an enumeration and one of its values, joined by a dot.
    pub(super) fn value(&self, path: &str) -> Result<u32, Missing> {
        let missing = || Missing(format!("the kernel has no value {path}"));
        let (name, value) = path.split_once('.').ok_or_else(missing)?;
        let record = self.find(ENUM, name).and_then(|number| self.record(number)).ok_or_else(missing)?;
        let found = (0..record.count).map(|index| record.rest + 8 * index).find_map(|at| {
            let named = word(&self.bytes, at).and_then(|name| self.text(name))?;
            if named == value { word(&self.bytes, at + 4) } else { None }
        });
        found.ok_or_else(missing)
    }

    /// Number of the first type of this kind and name.
    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        let is = |record: Record| record.kind == kind && self.text(record.name) == Some(name);
        let found = self.records.iter().position(|at| record(&self.bytes, *at).is_some_and(is));
        found.map(|index| index as u32 + 1)
    }

    fn record(&self, number: u32) -> Option<Record> {
        let at = *self.records.get((number as usize).checked_sub(1)?)?;
        record(&self.bytes, at)
    }

    /// Name, type, and offset of a member.
    fn member_of(&self, record: Record, index: usize) -> Option<(&str, u32, u32)> {
        let at = record.rest + 12 * index;
        let [name, kind, place] = [at, at + 4, at + 8].map(|at| word(&self.bytes, at));
        Some((self.text(name?)?, kind?, place?))
    }

    fn text(&self, name: u32) -> Option<&str> {
        let bytes = self.bytes[self.names.clone()].get(name as usize..)?;
        std::str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()
    }

    /// The type behind other names of it.
    fn plain(&self, mut number: u32) -> Option<u32> {
        // More names of names than types can only be a circle.
        for _ in &self.records {
            let record = self.record(number)?;
            if !matches!(record.kind, TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG) {
                return Some(number);
            }
            number = record.size;
        }
        None
    }

    fn size_of(&self, number: u32) -> Option<u32> {
        let mut count = 1u32;
        let mut number = self.plain(number)?;
        for _ in &self.records {
            let record = self.record(number)?;
            match record.kind {
                INT | STRUCTURE | UNION | ENUM | ENUM64 => return count.checked_mul(record.size),
                POINTER => return count.checked_mul(8),
                ARRAY => {
                    count = count.checked_mul(word(&self.bytes, record.rest + 8)?)?;
                    number = self.plain(word(&self.bytes, record.rest)?)?;
                }
                _ => return None,
            }
        }
        None
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

fn record(bytes: &[u8], at: usize) -> Option<Record> {
    let [name, info, size] = [word(bytes, at)?, word(bytes, at + 4)?, word(bytes, at + 8)?];
    let (kind, count, bits) = (info >> 24 & 31, (info & 0xffff) as usize, info >> 31 == 1);
    Some(Record { name, kind, count, bits, size, rest: at + 12 })
}

/// Bytes of what follows the head of a type's record.
fn rest_size(record: Record) -> Result<usize, Missing> {
    Ok(match record.kind {
        INT | VARIABLE | DECLARATION_TAG => 4,
        ARRAY => 12,
        STRUCTURE | UNION | SECTION | ENUM64 => 12 * record.count,
        ENUM | PROTOTYPE => 8 * record.count,
        // Pointers, names of types, forward declarations, functions and floats.
        2 | 7..=12 | 16 | 18 => 0,
        kind => return Err(Missing(format!("types of kind {kind} are unknown"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Descriptions of these records: name, kind, count with the flag of bit-fields, size, and the words that follow.
    fn types(records: &[(&'static str, u32, u32, u32, &[u32])], names: &[u8]) -> Vec<u8> {
        let at = |name: &str| names.windows(name.len() + 1).position(|part| part == [name.as_bytes(), &[0]].concat());
        let mut body: Vec<u32> = Vec::new();
        for (name, kind, count, size, rest) in records {
            body.extend([at(name).expect("a name") as u32, kind << 24 | count, *size]);
            body.extend(*rest);
        }
        let length = 4 * body.len() as u32;
        let header = [MAGIC | 1 << 16, 24, 0, length, length, names.len() as u32];
        let words = header.into_iter().chain(body).flat_map(u32::to_ne_bytes);
        words.chain(names.iter().copied()).collect()
    }

    const NAMES: &[u8] = b"\0int\0pair\0first\0second\0outer\0inner\0list\0few\0event\0LOST\0act\0";

    fn place(name: &str) -> u32 {
        let wanted = format!("\0{name}\0");
        NAMES.windows(wanted.len()).position(|part| part == wanted.as_bytes()).expect("a name") as u32 + 1
    }

    fn small() -> Vec<u8> {
        types(
            &[
                ("int", INT, 0, 4, &[32]),
                ("pair", STRUCTURE, 2, 8, &[place("first"), 1, 0, place("second"), 4, 32]),
                (
                    "outer",
                    STRUCTURE,
                    3 | 1 << 31,
                    32,
                    &[place("inner"), 2, 64, place("list"), 5, 128, place("few"), 1, 3 << 24 | 250],
                ),
                ("", TYPEDEF, 0, 1, &[]),
                ("", ARRAY, 0, 0, &[4, 1, 3]),
                ("event", ENUM, 1, 4, &[place("LOST"), 7]),
                ("act", FUNCTION, 0, 0, &[]),
            ],
            NAMES,
        )
    }

    #[test]
    fn fields_have_the_offsets_and_sizes_of_their_types() {
        let types = Types::read(small()).expect("types");
        assert_eq!(types.field("pair.second"), Ok(Field { offset: 4, size: 4 }));
        assert_eq!(types.field("outer.inner"), Ok(Field { offset: 8, size: 8 }));
        assert_eq!(types.field("outer.inner.second"), Ok(Field { offset: 12, size: 4 }));
        assert_eq!(types.field("outer.list"), Ok(Field { offset: 16, size: 12 }));
        assert_eq!((types.size("outer"), types.member("outer", "list")), (Ok(32), Ok(1)));
        assert_eq!((types.structure("pair"), types.function("act")), (Ok(2), Ok(7)));
        assert_eq!(types.value("event.LOST"), Ok(7));
    }

    #[test]
    fn what_is_missing_is_named() {
        let types = Types::read(small()).expect("types");
        let said = |missing: Result<Field, Missing>| missing.expect_err("missing").0;
        assert_eq!(said(types.field("pair.third")), "the kernel has no field pair.third");
        assert_eq!(said(types.field("none.first")), "the kernel has no structure none");
        assert_eq!(said(types.field("pair.first.more")), "the kernel has no field pair.first.more");
        assert_eq!(said(types.field("outer.few")), "the kernel's field outer.few has 3 bits");
        assert!(types.value("event.FOUND").is_err() && types.value("event").is_err());
        assert!(types.member("pair", "third").is_err() && types.function("pair").is_err());
    }

    #[test]
    fn types_that_are_cut_short_or_altered_are_an_error_and_no_panic() {
        let whole = small();
        for length in 0..whole.len() {
            assert!(Types::read(whole[..length].to_vec()).is_err(), "{length} bytes");
        }
        let paths = ["pair.second", "outer.list", "outer.inner.second", "outer.few"];
        for at in 0..whole.len() {
            for value in [0, 1, 4, 0x7f, 0xff] {
                let mut altered = whole.clone();
                altered[at] = value;
                let Ok(types) = Types::read(altered) else { continue };
                paths.iter().for_each(|path| drop(types.field(path)));
                drop((types.value("event.LOST"), types.size("outer"), types.member("pair", "second")));
            }
        }
    }

    #[test]
    fn the_kernel_that_runs_describes_what_dctcp_needs() {
        let Ok(types) = Types::of_kernel() else {
            println!("skipped: this kernel has no {FILE}");
            return;
        };
        let [all, one] = ["tcp_sock.inet_conn", "tcp_sock.snd_cwnd"].map(|path| types.field(path).expect(path));
        assert!(one.offset >= all.size && one.size == 4);
        assert_eq!(types.value("tcp_ca_state.TCP_CA_Recovery"), Ok(3));
    }
}
