//! Reads messages that depend on messages.
//!
//! Memory holds the text of the file and, for each line, its place and a few fields. The other fields are parsed again
//! when the rank is built.

use super::{COLUMNS, ITERATIONS_MAX, MESSAGES, NAME_MAX, NEEDED, OTHERS};
use crate::job::{Job, JobBuilder, RANKS_MAX, When};
use crate::op::{BYTES_MAX, Op, TIME_MAX, Work};
use crate::refused::Refused;
use crate::starts::Starts;
use crate::text::{digits, quoted, scaled};
use backwater_types::Duration;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::collections::HashMap;
use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};

/// Reads a job. `file` is its name in messages. It has `ranks` ranks, or as many as the highest of a message says.
///
/// # Errors
/// Names the first line that is refused, what it has, and what was expected.
///
/// # Panics
/// If `ranks` is 0.
pub fn read(text: &str, file: &str, ranks: Option<u32>) -> Result<Job, Refused> {
    assert!(ranks != Some(0), "a job has a rank");
    let most = ranks.unwrap_or(RANKS_MAX).min(RANKS_MAX);
    // Spreadsheets put a mark at the start.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut messages = Messages::parse(text, file, most)?;
    messages.resolve()?;
    messages.order()?;
    let highest = messages.rows.iter().map(|row| row.src.max(row.dst) + 1).max();
    messages.build(ranks.map_or(highest.unwrap_or(0), |_| most))
}

struct Messages<'a> {
    file: &'a str,
    text: &'a str,
    columns: Columns,
    /// Ranks are below this.
    ranks: u32,
    rows: Vec<Row>,
    /// Rows by their id.
    by_id: HashTable<u32>,
    seed: RandomState,
    /// What rows wait for: row `i` for `causes[rows[i].causes..rows[i + 1].causes]`.
    causes: Vec<u32>,
    /// Names and iterations of the phases. The first has no name.
    phases: Vec<(&'a str, u32)>,
}

/// A message or a computation.
struct Row {
    /// Where its line starts in the text.
    at: usize,
    /// Where what it waits for starts in `causes`.
    causes: usize,
    start: Duration,
    src: u32,
    /// That of `src`, of a computation.
    dst: u32,
    phase: u32,
    is_message: bool,
    /// Whether others wait until it was acknowledged.
    acknowledged: bool,
}

/// The fields of a line.
struct Fields<'a> {
    id: &'a str,
    src: u32,
    /// That of `src`, of a computation.
    dst: u32,
    /// `None`: it is a computation.
    bytes: Option<u64>,
    compute: Duration,
    start: Duration,
    stream: u8,
    /// Name and iteration.
    phase: (&'a str, u32),
}

impl<'a> Messages<'a> {
    fn refuse(&self, line: u64, problem: impl Display) -> Refused {
        Refused::line(self.file, line, problem)
    }

    /// Number of the line of a row, from 1.
    fn line(&self, row: u32) -> u64 {
        1 + self.text[..self.rows[row as usize].at].matches('\n').count() as u64
    }

    fn content(&self, row: u32) -> &'a str {
        self.text[self.rows[row as usize].at..].lines().next().unwrap_or_default().trim()
    }

    /// Returns a field of a row, empty if there is no such column.
    fn field(&self, row: u32, column: usize) -> &'a str {
        let place = self.columns[column];
        place.and_then(|place| self.content(row).split(',').nth(place)).unwrap_or_default().trim()
    }

    fn id(&self, row: u32) -> &'a str {
        self.field(row, ID)
    }

    fn fields(&self, row: u32) -> Fields<'a> {
        fields(self.content(row), &self.columns, self.ranks).expect("it was parsed before")
    }

    fn parse(text: &'a str, file: &'a str, ranks: u32) -> Result<Messages<'a>, Refused> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, content)| {
            let content = content.trim();
            !content.is_empty() && !content.starts_with('#')
        });
        let Some((line, first)) = lines.next() else {
            let expected = format!("is empty: expected the header \"{}\"", COLUMNS[..NEEDED].join(","));
            return Err(Refused::at(file, expected));
        };
        let columns = header(first.trim()).map_err(|problem| Refused::line(file, line, problem))?;
        let (rows, by_id, seed) = (Vec::new(), HashTable::new(), RandomState::new());
        let phases = vec![("", 0)];
        let mut messages = Messages { file, text, columns, ranks, rows, by_id, seed, causes: Vec::new(), phases };
        let mut numbers = HashMap::from([(("", 0), 0)]);
        for (line, content) in lines {
            // A line is a part of the text.
            let at = content.as_ptr() as usize - text.as_ptr() as usize;
            let fields = fields(content.trim(), &columns, ranks);
            let Fields { id, src, dst, bytes, start, phase, .. } =
                fields.map_err(|problem| messages.refuse(line, problem))?;
            let phase = *numbers.entry(phase).or_insert_with(|| {
                messages.phases.push(phase);
                messages.phases.len() as u32 - 1
            });
            let is_message = bytes.is_some();
            messages.rows.push(Row { at, causes: 0, start, src, dst, phase, is_message, acknowledged: false });
            messages.name(id).map_err(|first| {
                let (id, first) = (quoted(id), messages.line(first));
                messages.refuse(line, format_args!("id {id}: expected another than that of line {first}"))
            })?;
        }
        match messages.rows.is_empty() {
            true => Err(Refused::at(file, "has no message: expected a line for each")),
            false => Ok(messages),
        }
    }

    /// Gives the last row its id. Fails with the row that has it already.
    fn name(&mut self, id: &str) -> Result<(), u32> {
        let number = self.rows.len() as u32 - 1;
        let mut by_id = std::mem::take(&mut self.by_id);
        let hash = |id: &str| self.seed.hash_one(id);
        let found = match by_id.entry(hash(id), |row| self.id(*row) == id, |row| hash(self.id(*row))) {
            Entry::Occupied(taken) => Err(*taken.get()),
            Entry::Vacant(free) => {
                free.insert(number);
                Ok(())
            }
        };
        self.by_id = by_id;
        found
    }

    fn named(&self, id: &str) -> Option<u32> {
        self.by_id.find(self.seed.hash_one(id), |row| self.id(*row) == id).copied()
    }

    /// Finds the messages that each message waits for.
    fn resolve(&mut self) -> Result<(), Refused> {
        for number in 0..self.rows.len() as u32 {
            let causes = self.causes.len();
            self.rows[number as usize].causes = causes;
            let src = self.rows[number as usize].src;
            for id in self.field(number, AFTER).split_ascii_whitespace() {
                let Some(cause) = self.named(id) else {
                    let problem = format_args!("after {}: expected ids of this file", quoted(id));
                    return Err(self.refuse(self.line(number), problem));
                };
                let Row { src: from, dst: to, .. } = self.rows[cause as usize];
                if from != src && to != src {
                    let expected = format_args!("expected a message that arrives at rank {src} or leaves it");
                    let problem = match from == to {
                        true => {
                            format!("after {}: it is a computation of rank {from}: expected one of {src}", quoted(id))
                        }
                        false => format!("after {}: it goes from rank {from} to {to}: {expected}", quoted(id)),
                    };
                    return Err(self.refuse(self.line(number), problem));
                }
                let cause_row = &mut self.rows[cause as usize];
                cause_row.acknowledged |= from == src && cause_row.is_message;
                self.causes.push(cause);
            }
        }
        Ok(())
    }

    fn causes(&self, row: u32) -> &[u32] {
        let end = self.rows.get(row as usize + 1).map_or(self.causes.len(), |row| row.causes);
        &self.causes[self.rows[row as usize].causes..end]
    }

    /// Refuses messages that wait for one another.
    fn order(&self) -> Result<(), Refused> {
        let rows = self.rows.len() as u32;
        // Effects of row `i` are `effects[starts[i]..starts[i + 1]]`.
        let mut starts = vec![0; rows as usize + 2];
        self.causes.iter().for_each(|cause| starts[*cause as usize + 2] += 1);
        (2..starts.len()).for_each(|row| starts[row] += starts[row - 1]);
        let mut effects = vec![0; self.causes.len()];
        for row in 0..rows {
            for cause in self.causes(row) {
                let next = &mut starts[*cause as usize + 1];
                effects[*next] = row;
                *next += 1;
            }
        }
        let mut unmet: Vec<u32> = (0..rows).map(|row| self.causes(row).len() as u32).collect();
        let mut ready: Vec<u32> = (0..rows).filter(|row| unmet[*row as usize] == 0).collect();
        while let Some(row) = ready.pop() {
            for effect in &effects[starts[row as usize]..starts[row as usize + 1]] {
                unmet[*effect as usize] -= 1;
                if unmet[*effect as usize] == 0 {
                    ready.push(*effect);
                }
            }
        }
        let waits = |row: &u32| unmet[*row as usize] > 0;
        let Some(mut at) = (0..rows).find(waits) else { return Ok(()) };
        // Each message that is left waits for one that is left, so walking on closes a cycle.
        let next = |row: u32| *self.causes(row).iter().find(|cause| waits(cause)).expect("it waits for something");
        let mut seen = vec![false; rows as usize];
        while !std::mem::replace(&mut seen[at as usize], true) {
            at = next(at);
        }
        let cycle: Vec<u32> =
            std::iter::successors(Some(at), |row| Some(next(*row)).filter(|row| *row != at)).collect();
        let named = |row: &u32| format!("{} (line {})", quoted(self.id(*row)), self.line(*row));
        let mut shown: Vec<String> = cycle.iter().take(8).map(named).collect();
        shown.push(match cycle.len() > 8 {
            true => format!("... ({} messages)", cycle.len()),
            false => quoted(self.id(at)),
        });
        let problem = format!("messages wait for one another in a cycle: {}", shown.join(", "));
        Err(self.refuse(self.line(at), problem))
    }

    fn build(&self, ranks: u32) -> Result<Job, Refused> {
        let mut builder = JobBuilder::of_trace();
        self.phases[1..].iter().for_each(|(name, iteration)| _ = builder.phase(*name, *iteration));
        let mut of_rank = vec![Vec::new(); ranks as usize];
        for (number, row) in (0..).zip(&self.rows) {
            of_rank[row.src as usize].push(number);
            if row.is_message {
                of_rank[row.dst as usize].push(number);
            }
        }
        // Messages have numbers as tags.
        let messages = self.rows.iter().scan(0, |next, row| {
            let tag = *next;
            *next += u32::from(row.is_message);
            Some(tag)
        });
        let tags: Vec<u32> = messages.collect();
        // `[row]`: its send while its sender is built, its receive while its receiver is.
        let mut done = vec![0; self.rows.len()];
        let mut begins = Vec::new();
        for (rank, numbers) in (0..ranks).zip(&of_rank) {
            let sent = |number: &&u32| self.rows[**number as usize].src == rank;
            let times = numbers.iter().filter(sent).map(|number| self.rows[*number as usize].start);
            let starts = Starts::add(&mut builder, times);
            begins.clear();
            for number in numbers {
                let (row, tag) = (&self.rows[*number as usize], tags[*number as usize]);
                let of = |op: Op| op.of(row.phase);
                if row.src != rank {
                    done[*number as usize] = builder.op(of(Op::recv(row.src, tag).on(MESSAGES)));
                    continue;
                }
                let Fields { bytes, compute, stream, .. } = self.fields(*number);
                let calc = of(Op::calc(compute).on(stream));
                let Some(bytes) = bytes else {
                    done[*number as usize] = builder.op(calc);
                    begins.push((*number, done[*number as usize]));
                    continue;
                };
                let computation = (compute > Duration::ZERO).then(|| builder.op(calc));
                let work = Work::Send { to: row.dst, bytes, tag };
                let send = Op { acknowledged: row.acknowledged, ..of(Op::new(work).on(MESSAGES)) };
                let send = builder.op_after(send, computation.as_slice());
                done[*number as usize] = send;
                begins.push((*number, computation.unwrap_or(send)));
            }
            for (number, begin) in &begins {
                starts.delay(&mut builder, *begin, self.rows[*number as usize].start);
                self.causes(*number).iter().for_each(|cause| builder.after(done[*cause as usize], *begin, When::Ended));
            }
            builder.end_rank().map_err(|problem| Refused::at(self.file, problem))?;
        }
        Ok(builder.finish().expect("each message has a send and a receive, with a tag of its own"))
    }
}

/// Place of each column in a line; `None`: it is not there.
type Columns = [Option<usize>; COLUMNS.len()];

const ID: usize = 0;
const AFTER: usize = 4;

fn header(line: &str) -> Result<Columns, String> {
    let mut columns = Columns::default();
    for (place, name) in line.split(',').map(str::trim).enumerate() {
        match COLUMNS.iter().position(|column| *column == name) {
            Some(column) if columns[column].is_none() => columns[column] = Some(place),
            Some(_) => return Err(format!("{}: expected each column once", quoted(name))),
            None => return Err(format!("{}: expected a header with columns {}", quoted(name), COLUMNS.join(", "))),
        }
    }
    match columns[..NEEDED].iter().position(Option::is_none) {
        Some(missing) => Err(format!("{}: expected a column {} in the header", quoted(line), COLUMNS[missing])),
        None => Ok(columns),
    }
}

/// Parses the fields of a line.
fn fields<'a>(content: &'a str, columns: &Columns, ranks: u32) -> Result<Fields<'a>, String> {
    let mut fields = [""; COLUMNS.len()];
    let mut count = 0;
    for field in content.split(',') {
        if let Some(column) = columns.iter().position(|place| *place == Some(count)) {
            fields[column] = field.trim();
        }
        count += 1;
    }
    let expected = columns.iter().flatten().count();
    if count != expected {
        return Err(format!("{}: expected {expected} fields as in the header, not {count}", quoted(content)));
    }
    let [id, src, dst, bytes, _, compute, start, stream, phase, iteration] = fields;
    let refuse =
        |column: &str, value: &str, expected: String| format!("{column} {}: expected {expected}", quoted(value));
    if id.is_empty() || id.chars().count() > NAME_MAX || id.contains(char::is_whitespace) {
        return Err(refuse("id", id, format!("a name without blanks, of 1 to {NAME_MAX} characters")));
    }
    let rank = |column, value| {
        let rank = digits(value).filter(|rank| *rank < ranks);
        rank.ok_or_else(|| refuse(column, value, format!("a rank, 0 to {}", ranks - 1)))
    };
    let src = rank("src", src)?;
    let (dst, bytes) = if dst.is_empty() && bytes.is_empty() {
        (src, None)
    } else {
        let dst = rank("dst", dst)?;
        if src == dst {
            return Err(format!("dst {dst}: expected another rank than src"));
        }
        let size: Option<u64> = digits(bytes).filter(|bytes| (1..=BYTES_MAX).contains(bytes));
        (dst, Some(size.ok_or_else(|| refuse("bytes", bytes, format!("whole bytes, 1 to {BYTES_MAX}")))?))
    };
    let time = |column, value| match value {
        "" => Ok(Duration::ZERO),
        value => {
            let time = scaled(value, 1000).filter(|time| *time <= TIME_MAX.0).map(Duration);
            let expected = || format!("ns with at most three decimals, 0 to {}", TIME_MAX.0 / 1000);
            time.ok_or_else(|| refuse(column, value, expected()))
        }
    };
    let (compute, start) = (time("compute_ns", compute)?, time("start_ns", start)?);
    let stream = match stream {
        "" => 0,
        stream => {
            let number = digits::<u8>(stream).filter(|number| *number <= u8::MAX - OTHERS);
            number.ok_or_else(|| refuse("stream", stream, format!("0 to {}, or nothing", u8::MAX - OTHERS)))?
        }
    };
    let stream = if stream == 0 { 0 } else { stream + OTHERS };
    if phase.chars().count() > NAME_MAX || phase.contains(char::is_control) {
        return Err(refuse("phase", phase, format!("a name of at most {NAME_MAX} characters")));
    }
    let number = digits(iteration).filter(|number| *number < ITERATIONS_MAX);
    let expected = || format!("0 to {}, or nothing", ITERATIONS_MAX - 1);
    let iteration = match iteration {
        "" => 0,
        given => number.ok_or_else(|| refuse("iteration", given, expected()))?,
    };
    Ok(Fields { id, src, dst, bytes, compute, start, stream, phase: (phase, iteration) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Result<Job, String> {
        read(text, "m.csv", None).map_err(|error| error.to_string())
    }

    /// Refusal of lines under a header with all columns.
    fn refusal(lines: &str) -> String {
        let header = COLUMNS.join(",");
        read_all(&format!("{header}\n{lines}")).expect_err(lines)
    }

    /// What each operation of a rank waits for.
    fn causes(job: &Job, rank: u32) -> Vec<Vec<u32>> {
        let mut causes = vec![Vec::new(); job.len(rank) as usize];
        for op in 0..job.len(rank) {
            for edge in job.edges(rank, op) {
                assert_eq!(edge.when(), When::Ended);
                causes[edge.effect() as usize].push(op);
            }
        }
        causes
    }

    #[test]
    fn messages_wait_for_those_that_arrive_and_for_those_that_were_acknowledged() {
        let text = "\u{feff}# three ranks\r\nbytes, id, src, dst, after, compute_ns\r\n1000,a,0,1,,500\r\n\r\n10,b,1,2,a,0\n\
                    20,c,0,2,a,\n30,d,2,0,b c,1200.5\n";
        let job = read_all(text).expect("valid");
        assert_eq!(job.ranks(), 3);
        let ops = |rank| (0..job.len(rank)).map(|op| job.op(rank, op)).collect::<Vec<_>>();
        let (a, c) = (Op::send(1, 1000, 0).on(1), Op::send(2, 20, 2).on(1));
        let a = Op { acknowledged: true, ..a };
        assert_eq!(ops(0), [Op::calc(Duration(500_000)), a, c, Op::recv(2, 3).on(1)]);
        assert_eq!(ops(1), [Op::recv(0, 0).on(1), Op::send(2, 10, 1).on(1)]);
        let d = [Op::calc(Duration(1_200_500)), Op::send(0, 30, 3).on(1)];
        assert_eq!(ops(2), [Op::recv(1, 1).on(1), Op::recv(0, 2).on(1), d[0], d[1]]);
        assert_eq!(causes(&job, 0), [vec![], vec![0], vec![1], vec![]]);
        assert_eq!(causes(&job, 1), [vec![], vec![0]]);
        assert_eq!(causes(&job, 2), [vec![], vec![], vec![0, 1], vec![2]]);
    }

    #[test]
    fn starts_streams_and_phases_are_kept() {
        let text = "id,src,dst,bytes,start_ns,compute_ns,stream,phase,iteration\na,0,1,8,30,5,1,forward,\nb,0,1,8,20.5,,,backward 2,0\n\
                    c,1,0,8,,,,forward,\nd,0,1,8,30,,,,\ne,1,0,8,,,,forward,3\n";
        let job = read_all(text).expect("valid");
        let ops = (0..job.len(0)).map(|op| job.op(0, op)).collect::<Vec<_>>();
        let delays = [Op::calc(Duration(20_500)).on(2), Op::calc(Duration(9_500)).on(2)];
        assert_eq!(ops[..2], delays);
        assert_eq!(
            ops[2..5],
            [Op::calc(Duration(5_000)).on(3).of(1), Op::send(1, 8, 0).on(1).of(1), Op::send(1, 8, 1).on(1).of(2)]
        );
        assert_eq!(causes(&job, 0), [vec![], vec![0], vec![1], vec![2], vec![0], vec![], vec![1], vec![]]);
        let phases = job.phases.iter().map(|phase| (phase.name.as_str(), phase.iteration)).collect::<Vec<_>>();
        assert_eq!(phases, [("", 0), ("forward", 0), ("backward 2", 0), ("forward", 3)]);
    }

    #[test]
    fn computations_stand_alone_if_several_wait_for_them() {
        let text = "id,src,dst,bytes,after,compute_ns,start_ns,stream\na,1,0,8,,,,\nc,0,,,a,500,20,1\nm,0,1,5,c,,,\n\
                    n,0,1,6,c,7,,\nd,0,,,m n c,,,\n";
        let job = read_all(text).expect("valid");
        let ops = (0..job.len(0)).map(|op| job.op(0, op)).collect::<Vec<_>>();
        let sent = |tag, bytes| Op { acknowledged: true, ..Op::send(1, bytes, tag).on(1) };
        let calcs = [Op::calc(Duration(20_000)).on(2), Op::calc(Duration(500_000)).on(3)];
        let expected = [calcs[0], Op::recv(1, 0).on(1), calcs[1], sent(1, 5)];
        assert_eq!(ops[..4], expected);
        assert_eq!(ops[4..], [Op::calc(Duration(7_000)), sent(2, 6), Op::calc(Duration::ZERO)]);
        assert_eq!(causes(&job, 0), [vec![], vec![], vec![0, 1], vec![2], vec![2], vec![4], vec![2, 3, 5]]);
        assert_eq!(read_all("id,src,dst,bytes\nc,3,,\n").expect("valid").ranks(), 4);
        let said = read_all("id,src,dst,bytes,after\nc,3,,,\nm,0,1,8,c\n").expect_err("another rank");
        assert_eq!(said, "m.csv:3: after \"c\": it is a computation of rank 3: expected one of 0");
        let said = read_all("id,src,dst,bytes\nc,3,,8\n").expect_err("no dst");
        assert_eq!(said, "m.csv:2: dst \"\": expected a rank, 0 to 1048575");
    }

    #[test]
    fn ranks_may_be_more_than_messages_need() {
        assert_eq!(read("id,src,dst,bytes\na,0,1,8\n", "m", Some(7)).expect("valid").ranks(), 7);
        let error = read("id,src,dst,bytes\na,0,7,8\n", "m", Some(7)).expect_err("seven ranks");
        assert_eq!(error.to_string(), "m:2: dst \"7\": expected a rank, 0 to 6");
    }

    #[test]
    fn headers_are_refused_by_column() {
        let expected = "m.csv: is empty: expected the header \"id,src,dst,bytes\"";
        assert_eq!(read_all("# nothing\n").expect_err("empty"), expected);
        assert_eq!(
            read_all("id,src,dst,bytes").expect_err("no line"),
            "m.csv: has no message: expected a line for each"
        );
        let said = read_all("id,src,dst,size\n").expect_err("size");
        let columns = "id, src, dst, bytes, after, compute_ns, start_ns, stream, phase, iteration";
        assert_eq!(said, format!("m.csv:1: \"size\": expected a header with columns {columns}"));
        assert_eq!(read_all("id,src,src\n").expect_err("twice"), "m.csv:1: \"src\": expected each column once");
        let said = read_all("src,dst,bytes\n").expect_err("no id");
        assert_eq!(said, "m.csv:1: \"src,dst,bytes\": expected a column id in the header");
    }

    #[test]
    fn lines_are_refused_with_value_and_what_was_allowed() {
        let cases = [
            ("a,0,1,8", "\"a,0,1,8\": expected 10 fields as in the header, not 4"),
            (",0,1,8,,,,,,", "id \"\": expected a name without blanks, of 1 to 64 characters"),
            ("a b,0,1,8,,,,,,", "id \"a b\": expected a name without blanks, of 1 to 64 characters"),
            ("a,-1,1,8,,,,,,", "src \"-1\": expected a rank, 0 to 1048575"),
            ("a,0,4000000000,8,,,,,,", "dst \"4000000000\": expected a rank, 0 to 1048575"),
            ("a,1,1,8,,,,,,", "dst 1: expected another rank than src"),
            ("a,0,1,0,,,,,,", "bytes \"0\": expected whole bytes, 1 to 137438953472"),
            ("a,0,1,1e6,,,,,,", "bytes \"1e6\": expected whole bytes, 1 to 137438953472"),
            (
                "a,0,1,8,,1.0001,,,,",
                "compute_ns \"1.0001\": expected ns with at most three decimals, 0 to 3600000000000",
            ),
            ("a,0,1,8,,,-5,,,", "start_ns \"-5\": expected ns with at most three decimals, 0 to 3600000000000"),
            ("a,0,1,8,,,,254,,", "stream \"254\": expected 0 to 253, or nothing"),
            ("a,0,1,8,,,,,,x", "iteration \"x\": expected 0 to 1048575, or nothing"),
            ("a,0,1,8,b,,,,,", "after \"b\": expected ids of this file"),
        ];
        for (line, said) in cases {
            assert_eq!(refusal(line), format!("m.csv:2: {said}"), "{line}");
        }
        assert_eq!(
            refusal("a,0,1,8,,,,,,\n\na,1,0,8,,,,,,"),
            "m.csv:4: id \"a\": expected another than that of line 2"
        );
        let said = refusal("a,0,1,8,,,,,,\nb,2,3,8,a,,,,,");
        assert_eq!(
            said,
            "m.csv:3: after \"a\": it goes from rank 0 to 1: expected a message that arrives at rank 2 or leaves it"
        );
    }

    #[test]
    fn a_cycle_across_ranks_is_named() {
        let said = refusal("x,2,0,8,,,,,,\na,0,1,8,c x,,,,,\nb,1,2,8,a,,,,,\nc,2,0,8,b,,,,,\ny,0,1,1,c,,,,,");
        let expected =
            "messages wait for one another in a cycle: \"a\" (line 3), \"c\" (line 5), \"b\" (line 4), \"a\"";
        assert_eq!(said, format!("m.csv:3: {expected}"));
        let said = refusal("a,0,1,8,a,,,,,");
        assert_eq!(said, "m.csv:2: messages wait for one another in a cycle: \"a\" (line 2), \"a\"");
    }
}
