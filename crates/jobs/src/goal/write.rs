//! Writes GOAL in text.
//!
//! Operation 7 of a rank has the label `l7`, if others wait for it or it for others. Dependencies stand after the later
//! of both. So a text that is read again gives the same job.

use crate::goal::express::{self, Sizes};
use crate::job::{Job, When};
use crate::op::{ANY, Work};
use crate::unwritten::Unwritten;
use std::io::{BufWriter, Write};

/// Writes a job.
///
/// # Errors
/// If the job has what GOAL cannot say, of which nothing is written then: phases, sends that end when they are
/// acknowledged, times that are not whole ns.
pub fn write(job: &Job, out: impl Write) -> Result<(), Unwritten> {
    express::check(job)?;
    let sizes = Sizes::new(job);
    let mut out = BufWriter::new(out);
    writeln!(out, "num_ranks {}", job.ranks())?;
    for rank in 0..job.ranks() {
        write_rank(job, rank, &sizes, &mut out)?;
    }
    Ok(out.flush()?)
}

fn write_rank(job: &Job, rank: u32, sizes: &Sizes, out: &mut impl Write) -> Result<(), Unwritten> {
    let mut sizes = sizes.of(job, rank);
    let dependencies = express::dependencies(job, rank);
    let mut left = &dependencies[..];
    writeln!(out, "\nrank {rank} {{")?;
    for number in 0..job.len(rank) {
        if job.unmet(rank, number) > 0 || job.edges(rank, number).len() > 0 {
            write!(out, "l{number}: ")?;
        }
        let op = job.op(rank, number);
        match op.work {
            Work::Calc(time) => write!(out, "calc {}", time.0 / 1000)?,
            Work::Send { to, bytes, tag } => write!(out, "send {bytes}b to {to} tag {tag}")?,
            Work::Recv { from, tag } => {
                write!(out, "recv {}b from {} tag {}", sizes.next(from, tag), OrAny(from), OrAny(tag))?;
            }
        }
        if op.stream != 0 {
            write!(out, " cpu {}", op.stream)?;
        }
        if op.nic != 0 {
            write!(out, " nic {}", op.nic)?;
        }
        writeln!(out)?;
        while let Some(((later, cause, effect, when), rest)) = left.split_first()
            && *later == number
        {
            let requires = if *when == When::Ended { "requires" } else { "irequires" };
            writeln!(out, "l{effect} {requires} l{cause}")?;
            left = rest;
        }
    }
    writeln!(out, "}}")?;
    Ok(())
}

/// A rank or a tag, -1 for any.
struct OrAny(u32);

impl std::fmt::Display for OrAny {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        if self.0 == ANY { f.write_str("-1") } else { write!(f, "{}", self.0) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::goal::text::read;
    use crate::job::JobBuilder;
    use crate::op::Op;
    use backwater_types::Duration;
    use backwater_types::hash::Stream;

    /// A job that has everything that GOAL can say.
    pub(in crate::goal) fn random(seed: u64) -> Job {
        let mut stream = Stream::new(seed, 0, 0);
        let mut below = |n: u32| stream.next_u32() % n;
        let ranks = 1 + below(5);
        let mut ops: Vec<Vec<Op>> = vec![Vec::new(); ranks as usize];
        let wild = below(4) == 0;
        for _ in 0..below(40) {
            let (from, to, tag, bytes) = (below(ranks), below(ranks), below(3), u64::from(below(1000)));
            let of_any = wild && below(3) == 0;
            let recv = if of_any { Op::recv(ANY, [tag, ANY][below(2) as usize]) } else { Op::recv(from, tag) };
            ops[from as usize].push(Op { nic: below(3) as u8, ..Op::send(to, bytes, tag).on(below(3) as u8) });
            ops[to as usize].push(recv);
            ops[below(ranks) as usize].push(Op::calc(Duration::from_ns(below(99).into())).on(below(256) as u8));
        }
        let mut builder = JobBuilder::default();
        for ops in ops {
            ops.iter().for_each(|op| _ = builder.op(*op));
            let len = ops.len() as u32;
            // A dependency may name a later operation: a random order has no cycle.
            let place = |op: u32| op.wrapping_mul(2_654_435_761) ^ seed as u32;
            for _ in 0..if len == 0 { 0 } else { below(2 * len) } {
                let (a, b) = (below(len), below(len));
                let when = [When::Started, When::Ended][below(2) as usize];
                if place(a) < place(b) {
                    builder.after(a, b, when);
                }
            }
            builder.end_rank().expect("no cycle");
        }
        builder.finish().expect("matched")
    }

    #[test]
    fn what_is_written_reads_as_the_same_job() {
        for seed in 0..500 {
            let job = random(seed);
            let mut text = Vec::new();
            write(&job, &mut text).expect("can be said");
            let again =
                read(&text[..], "t").unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&text)));
            assert_eq!(again, job, "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn receives_have_the_sizes_of_their_sends() {
        let text = "num_ranks 2\n\nrank 0 {\nsend 7b to 1 tag 0\nl1: calc 3\nl2: send 9b to 1 tag 0\nl2 requires l1\n}\n\n\
                    rank 1 {\nrecv 7b from 0 tag 0\nrecv 9b from -1 tag -1 cpu 1 nic 2\n}\n";
        let mut written = Vec::new();
        write(&read(text.as_bytes(), "t").expect("valid"), &mut written).expect("can be said");
        assert_eq!(String::from_utf8_lossy(&written), text);
    }

    #[test]
    fn what_goal_cannot_say_is_named() {
        let said = |ops: &[Op]| {
            let mut builder = JobBuilder::default();
            ops.iter().for_each(|op| _ = builder.op(*op));
            builder.end_rank().expect("no dependency");
            write(&builder.finish().expect("matched"), Vec::new()).expect_err("cannot be said").to_string()
        };
        let acknowledged = Op { acknowledged: true, ..Op::send(0, 1, 0) };
        let expected = "rank 0, operation 1 ends when it is acknowledged: GOAL cannot say that";
        assert_eq!(said(&[Op::recv(0, 0), acknowledged]), expected);
        assert_eq!(
            said(&[Op::calc(Duration(1500))]),
            "rank 0, operation 0 takes 1500 ps, not whole ns: GOAL cannot say that"
        );
        let mut builder = JobBuilder::default();
        let phase = builder.phase("forward", 0);
        builder.op(Op::calc(Duration(0)).of(phase));
        builder.end_rank().expect("no dependency");
        let error = write(&builder.finish().expect("no message"), Vec::new()).expect_err("phases");
        assert_eq!(error.to_string(), "phase \"forward\": GOAL cannot say that");
    }
}
