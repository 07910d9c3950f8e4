//! The binary layout of LogGOPSim and ATLAHS says the same as a text. It is read and written.
//!
//! Source: `Parser.hpp` of LogGOPSim (spcl/LogGOPSim, src/LogGOPSim). Little endian, without padding:
//!
//! ```text
//! file     := u64 4223, u32 ranks, u8 highest cpu, u8 highest nic, { u64 start, u64 end }, { rank }
//! rank     := u32 nodes, u32 roots, { u32 root }, { node }, { u32 effect }
//! node     := u32 unmet, u8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//!             u32 ends, u32 first, u32 starts, u32 first
//! ```
//!
//! Start and end of a rank count from byte 8. A type is 1 for a send, 2 for a receive and 3 for a calc, whose size is its
//! time in ns. Roots are the nodes that wait for no other. The list after the nodes has those that wait for each:
//! `ends` from the first `first` on wait until it has ended, `starts` from the second on until it has started.
//!
//! | what a file may have | here |
//! |---|---|
//! | the number 2342 at its start | refused: LogGOPSim with --save-mem has used up the file |
//! | the larger layout of LogGOPSim2 | refused, as its lengths do not fit |
//! | bytes between ranks and after them | skipped; ranks may not overlap |
//! | highest cpu and nic | not read |
//! | peer, tag and nic of a calc | not read: the original writes whatever is there |
//! | size of a receive | not read: it takes what is sent |
//! | `first` of an empty list | not read |
//! | `unmet`, roots or lists that disagree | refused |
//! | all else that the text may not have | refused as in a text |
//!
//! Each length is held against that of the file before anything is kept for it. Besides the job, memory holds the lists
//! of one rank. The operations of a long job go to a temporary file, as those of a text do.

use crate::goal::express::{self, Sizes};
use crate::job::{Job, JobBuilder, OPS_MAX, Problem, RANKS_MAX, When};
use crate::op::{ANY, BYTES_MAX, Op, TIME_MAX, Work};
use crate::refused::Refused;
use crate::unwritten::Unwritten;
use backwater_types::Duration;
use std::fmt::Display;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

/// First eight bytes of a file.
const COOKIE: u64 = 4223;
/// The same, after LogGOPSim has written into the file.
const USED_UP: u64 = 2342;
/// Starts and ends count from here.
const BASE: u64 = 8;
/// Bytes before the table of ranks.
const HEADER: u64 = 14;
const NODE: usize = 39;
const SEND: u8 = 1;
const RECV: u8 = 2;
const CALC: u8 = 3;

/// Reads a job. `file` is its name in messages. A slice of bytes is read through [`std::io::Cursor`].
///
/// # Errors
/// Names the first byte that is refused, what is there, and what was expected.
pub fn read(input: impl Read + Seek, file: &str) -> Result<Job, Refused> {
    let mut input = Input::new(input, file)?;
    let table = read_table(&mut input)?;
    let mut builder = JobBuilder::of_trace();
    // `[rank]`: byte of its first node.
    let mut nodes = Vec::with_capacity(table.len());
    let mut free = HEADER + 16 * table.len() as u64;
    for (rank, [start, end]) in (0..).zip(&table) {
        let row = HEADER + 16 * u64::from(rank);
        let fits = start.checked_add(BASE).zip(end.checked_add(BASE)).filter(|(start, end)| {
            free <= *start && start.checked_add(8).is_some_and(|first| first <= *end) && *end <= input.length
        });
        let Some((start, end)) = fits else {
            let (low, high) = (free - BASE, input.length.saturating_sub(BASE));
            let expected = format_args!("8 bytes or more within {low} to {high}, after those of the rank before");
            return Err(input.refuse(row, format_args!("rank {rank} is {start} to {end}: expected {expected}")));
        };
        nodes.push(read_rank(&mut input, &mut builder, rank, table.len() as u32, start, end)?);
        free = end;
    }
    let position = |rank: u32, op: u32| nodes[rank as usize] + NODE as u64 * u64::from(op);
    builder.finish_with(|job, problem| {
        let Problem::Unmatched(unmatched) = &problem else { return Refused::at(file, problem) };
        let (from, to, tag) = (unmatched.from, unmatched.to, unmatched.tag);
        let first = |rank: u32, is: &dyn Fn(Work) -> bool| {
            (0..job.len(rank)).find(|op| is(job.op(rank, *op).work)).map(|op| position(rank, op))
        };
        let receives = |work| match work {
            Work::Recv { from: source, tag: its } if from == ANY => source == ANY || its == ANY,
            Work::Recv { from: source, tag: its } => (source, its) == (from, tag),
            _ => false,
        };
        let sends = |work| matches!(work, Work::Send { to: other, tag: its, .. } if (other, its) == (to, tag));
        let send = if from == ANY { None } else { first(from, &sends) };
        let byte = send.or_else(|| first(to, &receives)).expect("a send or a receive is there");
        input.refuse(byte, problem)
    })
}

/// Reads where each rank starts and ends.
fn read_table(input: &mut Input<impl Read + Seek>) -> Result<Vec<[u64; 2]>, Refused> {
    if input.length < HEADER {
        return Err(input.refuse(0, format_args!("{} bytes: expected a header of {HEADER}", input.length)));
    }
    match input.u64()? {
        COOKIE => {}
        USED_UP => {
            let problem =
                "2342: LogGOPSim with --save-mem has overwritten the file: expected 4223; convert the text again";
            return Err(input.refuse(0, problem));
        }
        other => return Err(input.refuse(0, format_args!("{other}: expected {COOKIE}, with which binary GOAL starts"))),
    }
    let ranks = input.u32()?;
    if !(1..=RANKS_MAX).contains(&ranks) {
        return Err(input.refuse(BASE, format_args!("{ranks} ranks: expected 1 to {RANKS_MAX}")));
    }
    let end = HEADER + 16 * u64::from(ranks);
    if input.length < end {
        let problem = format_args!(
            "{ranks} ranks: expected at least {end} bytes, which their table ends at, not {}",
            input.length
        );
        return Err(input.refuse(BASE, problem));
    }
    input.bytes::<2>()?;
    (0..ranks).map(|_| Ok([input.u64()?, input.u64()?])).collect()
}

/// Reads the rank whose bytes are `start..end`. Returns the byte of its first node.
fn read_rank(
    input: &mut Input<impl Read + Seek>,
    builder: &mut JobBuilder,
    rank: u32,
    ranks: u32,
    start: u64,
    end: u64,
) -> Result<u64, Refused> {
    input.go(start)?;
    let (nodes, roots) = (input.u32()?, input.u32()?);
    let first = start + 8 + 4 * u64::from(roots);
    let list = first + NODE as u64 * u64::from(nodes);
    if list > end || !(end - list).is_multiple_of(4) || roots > nodes || nodes > OPS_MAX {
        let problem = format_args!(
            "rank {rank} has {nodes} nodes, {roots} roots and {} bytes: expected {NODE} bytes a node, 4 a root, and 4 for \
             each that waits",
            end - start
        );
        return Err(input.refuse(start, problem));
    }
    let roots = (0..roots).map(|_| input.u32()).collect::<Result<Vec<u32>, Refused>>()?;
    let mut lists = Vec::with_capacity(nodes as usize);
    for _ in 0..nodes {
        let (op, list) = read_node(input, ranks)?;
        builder.op(op);
        lists.push(list);
    }
    let effects = (end - list) / 4;
    let mut left = effects;
    for (op, of) in (0..).zip(&lists) {
        for (count, place) in [of.ends, of.starts] {
            let fits = u64::from(place) + u64::from(count) <= effects && u64::from(count) <= left;
            if count > 0 && !fits {
                let byte = first + NODE as u64 * op;
                let problem =
                    format!("node {op} has {count} that wait, from {place} on: expected places in a list of {effects}");
                return Err(input.refuse(byte, format_args!("{problem}, each of one node")));
            }
            left -= u64::from(count);
        }
    }
    let list_of = (0..effects).map(|_| input.u32()).collect::<Result<Vec<u32>, Refused>>()?;
    let mut unmet = vec![0; nodes as usize];
    for (op, of) in (0..).zip(&lists) {
        for ((count, place), when) in [(of.ends, When::Ended), (of.starts, When::Started)] {
            for place in place as usize..place as usize + count as usize {
                let Some(unmet) = list_of.get(place).and_then(|effect| unmet.get_mut(*effect as usize)) else {
                    let problem = format_args!("node {}: expected one of {nodes} nodes of rank {rank}", list_of[place]);
                    return Err(input.refuse(list + 4 * place as u64, problem));
                };
                *unmet += 1;
                builder.after(op, list_of[place], when);
            }
        }
    }
    if let Some(op) = (0..nodes as usize).find(|op| unmet[*op] != lists[*op].unmet) {
        let problem = format_args!("node {op} waits for {}: expected {}, as lists say", lists[op].unmet, unmet[op]);
        return Err(input.refuse(first + (NODE * op) as u64, problem));
    }
    let mut sorted = roots.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq((0..nodes).filter(|op| unmet[*op as usize] == 0)) {
        let expected = unmet.iter().filter(|unmet| **unmet == 0).count();
        let problem =
            format_args!("{} roots: expected the {expected} nodes that wait for none, once each", roots.len());
        return Err(input.refuse(start + 4, problem));
    }
    builder.end_rank().map_err(|problem| match problem {
        Problem::Cycle { ref ops, .. } => input.refuse(first + NODE as u64 * u64::from(ops[0]), problem),
        problem => input.refuse(start, problem),
    })?;
    Ok(first)
}

/// What waits for a node: numbers of them and their first places.
struct Lists {
    unmet: u32,
    ends: (u32, u32),
    starts: (u32, u32),
}

fn read_node(input: &mut Input<impl Read + Seek>, ranks: u32) -> Result<(Op, Lists), Refused> {
    let at = input.at;
    let node = input.bytes::<NODE>()?;
    let u32_at = |at: usize| u32::from_le_bytes([node[at], node[at + 1], node[at + 2], node[at + 3]]);
    let (kind, peer, tag, stream, nic) = (node[4], u32_at(5), u32_at(17), node[21], node[22]);
    let size = u64::from(u32_at(13)) << 32 | u64::from(u32_at(9));
    let refuse = |offset: u64, problem: &dyn Display| Err(input.refuse(at + offset, problem));
    if kind != CALC && peer >= ranks && (kind, peer) != (RECV, ANY) {
        return refuse(5, &format_args!("peer {peer}: expected rank 0 to {}", ranks - 1));
    }
    let work = match kind {
        CALC if size > TIME_MAX.0 / 1000 => {
            return refuse(9, &format_args!("calc {size}: expected 0 to {} ns", TIME_MAX.0 / 1000));
        }
        CALC => Work::Calc(Duration::from_ns(size)),
        SEND if size > BYTES_MAX => return refuse(9, &format_args!("send {size}: expected 0 to {BYTES_MAX} bytes")),
        SEND if tag == ANY => return refuse(17, &format_args!("tag {ANY} of a send: expected 0 to {}", ANY - 1)),
        SEND => Work::Send { to: peer, bytes: size, tag },
        RECV => Work::Recv { from: peer, tag },
        kind => return refuse(4, &format_args!("type {kind}: expected 1 (send), 2 (recv) or 3 (calc)")),
    };
    let nic = if kind == CALC { 0 } else { nic };
    let lists = Lists { unmet: u32_at(0), ends: (u32_at(23), u32_at(27)), starts: (u32_at(31), u32_at(35)) };
    Ok((Op { stream, nic, ..Op::new(work) }, lists))
}

/// A file that is read from start to end, but for gaps.
struct Input<'a, R> {
    file: &'a str,
    input: BufReader<R>,
    /// The next byte.
    at: u64,
    length: u64,
}

impl<'a, R: Read + Seek> Input<'a, R> {
    fn new(mut input: R, file: &'a str) -> Result<Input<'a, R>, Refused> {
        let failed = |error| Refused::at(file, format_args!("cannot be read: {error}"));
        let length = input.seek(SeekFrom::End(0)).map_err(failed)?;
        input.rewind().map_err(failed)?;
        Ok(Input { file, input: BufReader::with_capacity(1 << 16, input), at: 0, length })
    }

    fn refuse(&self, byte: u64, problem: impl Display) -> Refused {
        Refused::at(format_args!("{}: byte {byte}", self.file), problem)
    }

    /// Continues at a byte.
    fn go(&mut self, to: u64) -> Result<(), Refused> {
        if to != self.at {
            self.input
                .seek(SeekFrom::Start(to))
                .map_err(|error| self.refuse(to, format_args!("cannot be read: {error}")))?;
            self.at = to;
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        let mut bytes = [0; N];
        let read = self.input.read_exact(&mut bytes);
        read.map_err(|error| self.refuse(self.at, format_args!("cannot be read: {error}")))?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, Refused> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Refused> {
        self.bytes().map(u64::from_le_bytes)
    }
}

/// Writes a job.
///
/// # Errors
/// If the job has what GOAL cannot say, as in [`write`](crate::goal::write::write), or 2^32 dependencies of a rank.
pub fn write(job: &Job, out: impl Write) -> Result<(), Unwritten> {
    express::check(job)?;
    let sizes = Sizes::new(job);
    let mut out = BufWriter::new(out);
    let ops = || (0..job.ranks()).flat_map(|rank| (0..job.len(rank)).map(move |op| job.op(rank, op)));
    let highest = [ops().map(|op| op.stream).max(), ops().map(|op| op.nic).max()].map(Option::unwrap_or_default);
    out.write_all(&COOKIE.to_le_bytes())?;
    out.write_all(&job.ranks().to_le_bytes())?;
    out.write_all(&highest)?;
    let mut start = HEADER - BASE + 16 * u64::from(job.ranks());
    for rank in 0..job.ranks() {
        let effects: u64 = (0..job.len(rank)).map(|op| job.edges(rank, op).len() as u64).sum();
        if effects > u64::from(u32::MAX) {
            return Err(Unwritten::Cannot {
                what: format!("rank {rank} has {effects} dependencies"),
                format: "binary GOAL",
            });
        }
        let end = start + 8 + 4 * job.roots(rank).len() as u64 + NODE as u64 * u64::from(job.len(rank)) + 4 * effects;
        out.write_all(&start.to_le_bytes())?;
        out.write_all(&end.to_le_bytes())?;
        start = end;
    }
    for rank in 0..job.ranks() {
        write_rank(job, rank, &sizes, &mut out)?;
    }
    Ok(out.flush()?)
}

fn write_rank(job: &Job, rank: u32, sizes: &Sizes, out: &mut impl Write) -> Result<(), Unwritten> {
    let (nodes, roots) = (job.len(rank), job.roots(rank));
    for number in [nodes, roots.len() as u32].into_iter().chain(roots) {
        out.write_all(&number.to_le_bytes())?;
    }
    let mut sizes = sizes.of(job, rank);
    let mut place: u32 = 0;
    for number in 0..nodes {
        let op = job.op(rank, number);
        let (kind, peer, size, tag) = match op.work {
            Work::Send { to, bytes, tag } => (SEND, to, bytes, tag),
            Work::Recv { from, tag } => (RECV, from, sizes.next(from, tag), tag),
            Work::Calc(time) => (CALC, 0, time.0 / 1000, 0),
        };
        let edges = || job.edges(rank, number);
        let ends = edges().filter(|edge| edge.when() == When::Ended).count() as u32;
        let starts = edges().len() as u32 - ends;
        out.write_all(&job.unmet(rank, number).to_le_bytes())?;
        out.write_all(&[kind])?;
        out.write_all(&peer.to_le_bytes())?;
        out.write_all(&size.to_le_bytes())?;
        out.write_all(&tag.to_le_bytes())?;
        out.write_all(&[op.stream, op.nic])?;
        for number in [ends, place, starts, place + ends] {
            out.write_all(&number.to_le_bytes())?;
        }
        place += ends + starts;
    }
    for number in 0..nodes {
        for when in [When::Ended, When::Started] {
            for edge in job.edges(rank, number).filter(|edge| edge.when() == when) {
                out.write_all(&edge.effect().to_le_bytes())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::write::tests::random;
    use crate::goal::{text, write as write_text};
    use std::io::Cursor;

    fn bytes(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&text::read(text.as_bytes(), "t").expect(text), &mut bytes).expect("can be said");
        bytes
    }

    /// A send and a calc that waits for its end, a receive and a calc that waits for its start.
    fn two_ranks() -> Vec<u8> {
        bytes(
            "num_ranks 2\nrank 0 {\na: send 9b to 1 tag 3 cpu 1\nb: calc 5\nb requires a\n}\n\
             rank 1 {\nr: recv 9b from 0 tag 3 nic 2\nc: calc 6\nc irequires r\n}\n",
        )
    }

    fn refusal(change: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut bytes = two_ranks();
        change(&mut bytes);
        read(Cursor::new(bytes), "b").expect_err("changed").to_string()
    }

    #[test]
    fn the_layout_is_that_of_the_original() {
        let bytes = two_ranks();
        // Header 14, table 32; each rank has 8 + one root + two nodes + one that waits: 8 + 4 + 78 + 4 = 94 bytes.
        assert_eq!(bytes.len(), 14 + 32 + 2 * 94);
        assert_eq!(bytes[..14], [0x7f, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2]);
        assert_eq!((bytes[14], bytes[22], bytes[30], bytes[38]), (38, 132, 132, 226));
        assert_eq!(bytes[46..58], [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        let send = [
            0, 0, 0, 0, 1, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
            0, 0, 0,
        ];
        assert_eq!(bytes[58..97], send);
        let waits = [
            1, 0, 0, 0, 3, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,
            0, 0, 0,
        ];
        assert_eq!(bytes[97..136], waits);
        assert_eq!(bytes[136..140], [1, 0, 0, 0]);
    }

    #[test]
    fn text_and_binary_are_the_same_job() {
        for seed in 0..500 {
            let job = random(seed);
            let (mut binary, mut text) = (Vec::new(), Vec::new());
            write(&job, &mut binary).expect("can be said");
            let from_binary = read(Cursor::new(&binary), "b").unwrap_or_else(|error| panic!("{seed}: {error}"));
            assert_eq!(from_binary, job);
            write_text::write(&from_binary, &mut text).expect("can be said");
            assert_eq!(text::read(&text[..], "t"), Ok(job));
        }
    }

    #[test]
    fn no_part_of_a_file_is_read_as_a_job() {
        let bytes = two_ranks();
        for length in 0..bytes.len() {
            read(Cursor::new(&bytes[..length]), "b").expect_err("cut off");
        }
        read(Cursor::new([&bytes[..], &[1, 2, 3]].concat()), "b").expect("more bytes");
    }

    #[test]
    fn headers_are_refused_by_byte() {
        assert_eq!(refusal(|bytes| bytes.truncate(5)), "b: byte 0: 5 bytes: expected a header of 14");
        let said = refusal(|bytes| bytes[..8].copy_from_slice(&2342u64.to_le_bytes()));
        let expected =
            "2342: LogGOPSim with --save-mem has overwritten the file: expected 4223; convert the text again";
        assert_eq!(said, format!("b: byte 0: {expected}"));
        assert_eq!(refusal(|bytes| bytes[0] = 0), "b: byte 0: 4096: expected 4223, with which binary GOAL starts");
        assert_eq!(refusal(|bytes| bytes[8] = 0), "b: byte 8: 0 ranks: expected 1 to 1048576");
        assert_eq!(refusal(|bytes| bytes[11] = 200), "b: byte 8: 3355443202 ranks: expected 1 to 1048576");
        let said = refusal(|bytes| bytes[10] = 15);
        assert_eq!(
            said,
            "b: byte 8: 983042 ranks: expected at least 15728686 bytes, which their table ends at, not 234"
        );
        let expected = "expected 8 bytes or more within 132 to 226, after those of the rank before";
        assert_eq!(refusal(|bytes| bytes[30] = 131), format!("b: byte 30: rank 1 is 131 to 226: {expected}"));
        assert_eq!(refusal(|bytes| bytes[38] = 227), format!("b: byte 30: rank 1 is 132 to 227: {expected}"));
        assert_eq!(refusal(|bytes| bytes[38] = 139), format!("b: byte 30: rank 1 is 132 to 139: {expected}"));
        refusal(|bytes| bytes[14..22].fill(0xff));
    }

    #[test]
    fn ranks_and_nodes_are_refused_by_byte() {
        let said = refusal(|bytes| bytes[49] = 255);
        let expected = "expected 39 bytes a node, 4 a root, and 4 for each that waits";
        assert_eq!(said, format!("b: byte 46: rank 0 has 4278190082 nodes, 1 roots and 94 bytes: {expected}"));
        refusal(|bytes| bytes[50] = 2);
        assert_eq!(
            refusal(|bytes| bytes[54] = 1),
            "b: byte 50: 1 roots: expected the 1 nodes that wait for none, once each"
        );
        assert_eq!(refusal(|bytes| bytes[62] = 4), "b: byte 62: type 4: expected 1 (send), 2 (recv) or 3 (calc)");
        assert_eq!(refusal(|bytes| bytes[63] = 2), "b: byte 63: peer 2: expected rank 0 to 1");
        assert_eq!(refusal(|bytes| bytes[63..67].fill(255)), "b: byte 63: peer 4294967295: expected rank 0 to 1");
        assert_eq!(
            refusal(|bytes| bytes[74] = 128),
            "b: byte 67: send 9223372036854775817: expected 0 to 137438953472 bytes"
        );
        assert_eq!(
            refusal(|bytes| bytes[75..79].fill(255)),
            "b: byte 75: tag 4294967295 of a send: expected 0 to 4294967294"
        );
        let said = refusal(|bytes| bytes[112] = 1);
        assert_eq!(said, "b: byte 106: calc 281474976710661: expected 0 to 3600000000000 ns");
    }

    #[test]
    fn dependencies_are_refused_by_byte() {
        let expected = "expected places in a list of 1, each of one node";
        assert_eq!(
            refusal(|bytes| bytes[81] = 2),
            format!("b: byte 58: node 0 has 2 that wait, from 0 on: {expected}")
        );
        assert_eq!(
            refusal(|bytes| bytes[85] = 1),
            format!("b: byte 58: node 0 has 1 that wait, from 1 on: {expected}")
        );
        // Both nodes name the whole list, so files could have more dependencies than bytes.
        assert_eq!(
            refusal(|bytes| (bytes[120], bytes[124]) = (1, 0)),
            format!("b: byte 97: node 1 has 1 that wait, from 0 on: {expected}")
        );
        assert_eq!(refusal(|bytes| bytes[136] = 2), "b: byte 136: node 2: expected one of 2 nodes of rank 0");
        assert_eq!(refusal(|bytes| bytes[97] = 2), "b: byte 97: node 1 waits for 2: expected 1, as lists say");
        assert_eq!(refusal(|bytes| bytes[136] = 0), "b: byte 58: node 0 waits for 0: expected 1, as lists say");
        let said = refusal(|bytes| (bytes[58], bytes[97], bytes[136]) = (1, 0, 0));
        assert_eq!(said, "b: byte 50: 1 roots: expected the 1 nodes that wait for none, once each");
        let said = refusal(|bytes| (bytes[54], bytes[58], bytes[97], bytes[136]) = (1, 1, 0, 0));
        assert_eq!(said, "b: byte 58: rank 0: operations wait for one another in a cycle: 0, 0");
    }

    #[test]
    fn messages_that_do_not_match_are_named_by_byte() {
        let said = refusal(|bytes| bytes[75] = 4);
        assert!(
            said.starts_with("b: byte 152: messages from rank 0 to rank 1 with tag 3: sends 0, receives 1;"),
            "{said}"
        );
        let said = refusal(|bytes| {
            bytes[62] = CALC;
            bytes[157..161].fill(255);
        });
        assert!(said.starts_with("b: byte 152: messages to rank 1: sends 0, receives 1;"), "{said}");
    }
}
