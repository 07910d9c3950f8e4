//! Writes messages that depend on messages.
//!
//! A computation right before the one message that waits for it stands in the line of the message, and others in lines of
//! their own. Lines
//! stand in the order of the tags, if each rank sends in that order, as in a job that was read from CSV. So such a job
//! reads as the same operations. Of another one, tags and streams may differ then.

use super::{COLUMNS, ITERATIONS_MAX, NAME_MAX, NEEDED, OTHERS};
use crate::dependent::{Begin, Computation, Dependent, Message, Need, Passing};
use crate::job::Job;
use crate::op::{Op, TIME_MAX, Work};
use crate::starts;
use crate::unwritten::Unwritten;
use backwater_types::Duration;
use std::fmt::Display;
use std::io::{BufWriter, Write};

const FORMAT: &str = "the CSV of messages";

/// Writes a job.
///
/// # Errors
/// If the job has what a table of messages cannot say, of which nothing is written then: messages of a rank to itself
/// or of no bytes, receives of any source or tag, operations that wait until others have started, sends that wait for
/// computations on their stream, and names of phases that have commas.
pub fn write(job: &Job, out: impl Write) -> Result<(), Unwritten> {
    let dependent = Dependent::of(job, Passing::OfStarts(starts::STREAM), FORMAT)?;
    let table = Table::new(job, &dependent)?;
    table.check()?;
    let mut out = BufWriter::new(out);
    table.write(&mut out)?;
    Ok(out.flush()?)
}

fn cannot<T>(rank: u32, op: u32, what: impl Display) -> Result<T, Unwritten> {
    Err(Unwritten::Cannot { what: format!("rank {rank}, operation {op} {what}"), format: FORMAT })
}

/// A line.
#[derive(Clone, Copy)]
enum Line {
    /// A message, and perhaps the computation before it.
    Message(u32, Option<u32>),
    Computation(u32),
    /// A computation that takes no time, after a message was acknowledged. Nothing else comes after that.
    End(u32),
}

struct Table<'a> {
    job: &'a Job,
    dependent: &'a Dependent,
    lines: Vec<Line>,
    /// `[computation]`: number of its stream in the file.
    streams: Vec<u8>,
    /// Columns that are written.
    columns: [bool; COLUMNS.len()],
}

impl<'a> Table<'a> {
    fn new(job: &'a Job, dependent: &'a Dependent) -> Result<Table<'a>, Unwritten> {
        let streams = streams(job, &dependent.computations)?;
        let befores = befores(job, dependent);
        let lines = lines(job, dependent, &befores);
        let mut table = Table { job, dependent, lines, streams, columns: [false; COLUMNS.len()] };
        table.columns[..NEEDED].fill(true);
        for line in 0..table.lines.len() {
            let fields = table.fields(table.lines[line]);
            for (there, field) in table.columns.iter_mut().zip(&fields) {
                *there |= !field.is_empty();
            }
        }
        Ok(table)
    }

    fn check(&self) -> Result<(), Unwritten> {
        let (job, dependent) = (self.job, self.dependent);
        if self.lines.is_empty() {
            return Err(Unwritten::Cannot { what: "a job without messages and computations".into(), format: FORMAT });
        }
        for Message { src, send, dst, recv, bytes, .. } in &dependent.messages {
            let phases = [job.op(*src, *send).phase, job.op(*dst, *recv).phase];
            match bytes {
                _ if src == dst => return cannot(*src, *send, "sends to its own rank"),
                0 => return cannot(*src, *send, "sends no bytes"),
                _ if phases[0] != phases[1] => {
                    return cannot(*dst, *recv, format_args!("is of another phase than its send at rank {src}"));
                }
                _ => {}
            }
        }
        let begins = dependent.messages.iter().map(|message| (message.src, message.send, message.begin.at));
        let others = dependent.computations.iter().map(|one| (one.rank, one.op, one.begin.at));
        for (rank, op, at) in begins.chain(others) {
            let time = if let Work::Calc(time) = job.op(rank, op).work { time } else { Duration::ZERO };
            if at.max(time) > TIME_MAX {
                return cannot(rank, op, format_args!("takes or starts after more than {TIME_MAX}"));
            }
        }
        for phase in &job.phases {
            let name = &phase.name;
            let is_plain = name.trim() == name && !name.contains(|c: char| c == ',' || c.is_control());
            if !is_plain || name.chars().count() > NAME_MAX || phase.iteration >= ITERATIONS_MAX {
                let what = format!("phase {} of iteration {}", crate::text::quoted(name), phase.iteration);
                return Err(Unwritten::Cannot { what, format: FORMAT });
            }
        }
        Ok(())
    }

    fn write(&self, out: &mut impl Write) -> Result<(), Unwritten> {
        let mut put = |fields: &[String]| {
            let there = fields.iter().zip(self.columns).filter(|(_, there)| *there).map(|(field, _)| field.as_str());
            writeln!(out, "{}", there.collect::<Vec<_>>().join(","))
        };
        put(&COLUMNS.map(String::from))?;
        for line in &self.lines {
            put(&self.fields(*line))?;
        }
        Ok(())
    }

    /// Fields of a line, in the order of the columns.
    fn fields(&self, line: Line) -> [String; COLUMNS.len()] {
        let Dependent { messages, computations, .. } = self.dependent;
        let (id, src, dst, bytes, op, computation) = match line {
            Line::Message(number, before) => {
                let Message { src, send, dst, bytes, .. } = &messages[number as usize];
                (Need::Received(number), *src, dst.to_string(), bytes.to_string(), *send, before)
            }
            Line::Computation(number) => {
                let Computation { rank, op, .. } = &computations[number as usize];
                (Need::Computed(number), *rank, String::new(), String::new(), *op, Some(number))
            }
            Line::End(number) => {
                let Message { src, send, .. } = &messages[number as usize];
                (Need::Acknowledged(number), *src, String::new(), String::new(), *send, None)
            }
        };
        let end;
        let begin: &Begin = match (line, computation) {
            (_, Some(number)) => &computations[number as usize].begin,
            (Line::Message(number, _), None) => &messages[number as usize].begin,
            (Line::End(_), None) => {
                end = Begin { at: Duration::ZERO, needs: vec![id] };
                &end
            }
            (Line::Computation(_), None) => unreachable!("it is its own computation"),
        };
        let Op { phase, .. } = self.job.op(src, op);
        let phase = &self.job.phases[phase as usize];
        let number = |number: u32| if number == 0 { String::new() } else { number.to_string() };
        let (mut compute, mut stream) = (Duration::ZERO, 0);
        if let Some(number) = computation
            && let Work::Calc(time) = self.job.op(src, computations[number as usize].op).work
        {
            (compute, stream) = (time, self.streams[number as usize]);
        }
        let name = if let Line::End(number) = line { format!("e{number}") } else { id_of(id) };
        [
            name,
            src.to_string(),
            dst,
            bytes,
            begin.needs.iter().map(|need| id_of(*need)).collect::<Vec<_>>().join(" "),
            nanoseconds(compute),
            nanoseconds(begin.at),
            number(stream.into()),
            phase.name.clone(),
            number(phase.iteration),
        ]
    }
}

fn id_of(need: Need) -> String {
    match need {
        Need::Received(number) | Need::Acknowledged(number) => format!("m{number}"),
        Need::Computed(number) => format!("c{number}"),
    }
}

/// A time in ns, with as many decimals as it needs; nothing for none.
fn nanoseconds(time: Duration) -> String {
    match (time.0 / 1000, time.0 % 1000) {
        (0, 0) => String::new(),
        (whole, 0) => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest:03}").trim_end_matches('0').to_string(),
    }
}

/// Streams of computations in the file: as they are read, if there are such, and otherwise the first that are free.
fn streams(job: &Job, computations: &[Computation]) -> Result<Vec<u8>, Unwritten> {
    let mut all = Vec::with_capacity(computations.len());
    for of_rank in computations.chunk_by(|one, other| one.rank == other.rank) {
        let stream = |one: &Computation| job.op(one.rank, one.op).stream;
        let (mut numbers, mut used) = ([None; 256], [false; 256]);
        for stream in of_rank.iter().map(stream).filter(|stream| !(1..=OTHERS).contains(stream)) {
            let number = stream.saturating_sub(OTHERS);
            (numbers[stream as usize], used[number as usize]) = (Some(number), true);
        }
        for one in of_rank {
            let stream = stream(one);
            let number = match numbers[stream as usize] {
                Some(number) => number,
                None => match (0..=u8::MAX - OTHERS).find(|number| !used[*number as usize]) {
                    Some(number) => number,
                    None => return cannot(one.rank, one.op, format_args!("computes on one of more than 254 streams")),
                },
            };
            (numbers[stream as usize], used[number as usize]) = (Some(number), true);
            all.push(number);
        }
    }
    Ok(all)
}

/// `[message]`: the computation right before it, if it waits for nothing else and nothing else waits for that.
fn befores(job: &Job, dependent: &Dependent) -> Vec<Option<u32>> {
    let mut uses = vec![0_u32; dependent.computations.len()];
    let begins = dependent.messages.iter().map(|message| &message.begin);
    for begin in begins.chain(dependent.computations.iter().map(|one| &one.begin)) {
        for need in &begin.needs {
            if let Need::Computed(number) = need {
                uses[*number as usize] += 1;
            }
        }
    }
    let before = |message: &Message| {
        let (Duration::ZERO, [Need::Computed(number)]) = (message.begin.at, &message.begin.needs[..]) else {
            return None;
        };
        let op = dependent.computations[*number as usize].op;
        let computation = job.op(message.src, op);
        let same = op + 1 == message.send && computation.phase == job.op(message.src, message.send).phase;
        let takes = computation.work != Work::Calc(Duration::ZERO);
        (same && takes && uses[*number as usize] == 1).then_some(*number)
    };
    dependent.messages.iter().map(before).collect()
}

/// Orders the lines.
fn lines(job: &Job, dependent: &Dependent, befores: &[Option<u32>]) -> Vec<Line> {
    let Dependent { messages, computations } = dependent;
    let mut merged = vec![false; computations.len()];
    befores.iter().flatten().for_each(|number| merged[*number as usize] = true);
    let alone: Vec<u32> = (0..computations.len() as u32).filter(|number| !merged[*number as usize]).collect();
    let by_tags = dependent.by_tags();
    let order = by_tags.clone().unwrap_or_else(|| (0..messages.len() as u32).collect());
    // Computations of a rank come before its next operation. `[rank]`: those that are left.
    let mut left = vec![(0, 0); job.ranks() as usize];
    for (place, number) in alone.iter().enumerate() {
        let (start, end) = &mut left[computations[*number as usize].rank as usize];
        (*start, *end) = (if end == &0 { place } else { *start }, place + 1);
    }
    let mut lines = Vec::with_capacity(messages.len() + alone.len());
    let mut flush = |lines: &mut Vec<Line>, rank: u32, op: u32| {
        let (next, end) = &mut left[rank as usize];
        while next < end && computations[alone[*next] as usize].op < op {
            lines.push(Line::Computation(alone[*next]));
            *next += 1;
        }
    };
    for number in order {
        let Message { src, send, dst, recv, .. } = messages[number as usize];
        flush(&mut lines, src, send);
        if by_tags.is_some() {
            flush(&mut lines, dst, recv);
        }
        lines.push(Line::Message(number, befores[number as usize]));
    }
    (0..job.ranks()).for_each(|rank| flush(&mut lines, rank, u32::MAX));
    lines.extend(dependent.ends(job).into_iter().map(Line::End));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::read;
    use crate::goal;
    use crate::job::{JobBuilder, When};
    use backwater_types::hash::Stream;

    fn written(job: &Job) -> String {
        let mut text = Vec::new();
        write(job, &mut text).expect("can be said");
        String::from_utf8(text).expect("text")
    }

    /// A table that has everything that CSV can say.
    fn random(seed: u64) -> String {
        let mut stream = Stream::new(seed, 0, 0);
        let mut below = |n: u32| stream.next_u32() % n;
        let mut text = String::from("id,src,dst,bytes,after,compute_ns,start_ns,stream,phase,iteration\n");
        // Source and destination of each line so far.
        let mut ends: Vec<[u32; 2]> = Vec::new();
        for id in 0..below(30) {
            let (src, dst) = (below(4), below(4));
            let near: Vec<String> = (0..id)
                .filter(|at| ends[*at as usize].contains(&src) && below(3) == 0)
                .map(|at| at.to_string())
                .collect();
            let to = if src == dst { ",".into() } else { format!("{dst},{}", 1 + below(999)) };
            let time = |n: u32| if n < 3 { String::new() } else { format!("{n}.{:03}", n * 7 % 1000) };
            let [compute, start] = [time(below(9)), time(below(9))];
            let (lane, phase) = (below(3) * 100, ["", "forward", "backward 2"][below(3) as usize]);
            text += &format!("{id},{src},{to},{},{compute},{start},{lane},{phase},{}\n", near.join(" "), below(2));
            ends.push([src, dst]);
        }
        text + "last,3,2,1,,,,,,\n"
    }

    /// Operations with the names of their phases, and what waits for each.
    fn shown(job: &Job) -> Vec<String> {
        let ops = (0..job.ranks()).flat_map(|rank| (0..job.len(rank)).map(move |op| (rank, op)));
        let one = |(rank, number)| {
            let op = job.op(rank, number);
            format!(
                "{rank} {:?} {:?} {:?}",
                op.of(0),
                job.phases[op.phase as usize],
                job.edges(rank, number).collect::<Vec<_>>()
            )
        };
        ops.map(one).collect()
    }

    #[test]
    fn what_is_written_reads_as_the_same_operations() {
        for seed in 0..2000 {
            let text = random(seed);
            let job = read(&text, "t", None).expect("valid");
            let again = written(&job);
            assert_eq!(shown(&read(&again, "t", None).expect("valid")), shown(&job), "{text}\n{again}");
        }
    }

    #[test]
    fn a_table_is_written_as_a_reader_would_write_it() {
        let text = "id,src,dst,bytes,after,compute_ns\nm0,0,1,1000,,500\nm2,1,2,10,m0,\nm1,0,2,20,m0,\nm3,2,0,30,m1 m2,1200.5\n";
        assert_eq!(written(&read(text, "t", None).expect("valid")), text);
    }

    #[test]
    fn operations_that_take_no_time_are_left_out() {
        // Rank 0 sends, and after that again; rank 1 takes both in turn, and answers.
        let text = "num_ranks 2\nrank 0 {\na: calc 7\nb: send 8b to 1\nc: send 9b to 1 tag 1\nb requires a\nc requires b\n\
                    d: recv 1b from 1\n}\nrank 1 {\na: recv 8b from 0\nb: recv 9b from 0 tag 1\nb requires a\n\
                    c: send 1b to 0\nc requires b\n}\n";
        let job = goal::text::read(text.as_bytes(), "t").expect("valid");
        let expected = "id,src,dst,bytes,after,compute_ns\nc0,0,,,,7\nm0,0,1,8,c0,\nm1,0,1,9,c0,\nm2,1,0,1,m0 m1,\n";
        assert_eq!(written(&job), expected);
    }

    #[test]
    fn what_csv_cannot_say_is_named() {
        let said = |ops: [&[Op]; 2], edges: &[(u32, u32, When)]| {
            let mut builder = JobBuilder::default();
            builder.phase("one, two", 0);
            for (rank, ops) in ops.into_iter().enumerate() {
                ops.iter().for_each(|op| _ = builder.op(*op));
                edges
                    .iter()
                    .filter(|_| rank == 0)
                    .for_each(|(cause, effect, when)| builder.after(*cause, *effect, *when));
                builder.end_rank().expect("no cycle");
            }
            let error = write(&builder.finish().expect("matched"), Vec::new()).expect_err("cannot be said").to_string();
            let (what, whose) = error.split_once(": the CSV of messages").expect("the format is named");
            assert_eq!(whose, " cannot say that");
            what.to_string()
        };
        let (send, recv, calc) = (Op::send(1, 8, 0), Op::recv(0, 0), Op::calc(Duration(5)));
        assert_eq!(
            said([&[send], &[Op::recv(crate::op::ANY, 0)]], &[]),
            "rank 1, operation 0 takes a message of any source or tag"
        );
        assert_eq!(said([&[Op { nic: 1, ..send }], &[recv]], &[]), "rank 0, operation 0 uses NIC 1");
        assert_eq!(said([&[Op::send(0, 8, 0), recv], &[]], &[]), "rank 0, operation 0 sends to its own rank");
        assert_eq!(said([&[Op::send(1, 0, 0)], &[recv]], &[]), "rank 0, operation 0 sends no bytes");
        assert_eq!(
            said([&[calc, send.on(1)], &[recv]], &[(0, 1, When::Started)]),
            "rank 0, operation 1 waits until computation 0 has started"
        );
        assert_eq!(said([&[calc, send], &[recv]], &[]), "rank 0 computes and sends on stream 0, several at once");
        assert_eq!(
            said([&[send.on(1), calc], &[recv.of(1)]], &[]),
            "rank 1, operation 0 is of another phase than its send at rank 0"
        );
        assert_eq!(said([&[], &[]], &[]), "a job without messages and computations");
        assert_eq!(said([&[send], &[recv]], &[]), "phase \"one, two\" of iteration 0");
        let long = Op::calc(Duration(TIME_MAX.0 + 1));
        assert!(said([&[long], &[]], &[]).starts_with("rank 0, operation 0 takes or starts after more than"));
    }
}
