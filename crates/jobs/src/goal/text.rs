//! A GOAL file lists the operations of each rank, and which of them wait for others.
//!
//! ```text
//! file   := "num_ranks" INT { "rank" INT "{" { stmt } "}" }
//! stmt   := [IDENT ":"] op NL | IDENT ("requires" | "irequires") IDENT NL
//! op     := "calc" INT ["cpu" INT]
//!         | "send" INT "b" "to"   INT          ["tag" INT]          ["cpu" INT] ["nic" INT]
//!         | "recv" INT "b" "from" (INT | "-1") ["tag" (INT | "-1")] ["cpu" INT] ["nic" INT]
//! ```
//!
//! Source: `txt2bin.re` of LogGOPSim (spcl/LogGOPSim, src/LogGOPSim) and of ATLAHS. Times are in ns, sizes in bytes.
//! `a requires b`: a starts when b has ended. `a irequires b`: when b has started. Streams (`cpu`) and NICs are 0 unless
//! named, and so are tags. Receives have no size here: they take what is sent.
//!
//! All NICs of a rank share the one link of its host. Each NIC keeps the gaps `g` and `G` between its own messages, if you
//! set them. If a trace has several NICs a rank, give each NIC a rank of its own.
//!
//! | what the original does | here |
//! |---|---|
//! | options in the order tag, cpu, nic only | any order, each once |
//! | a comment only where a statement may start | anywhere between words |
//! | a statement ends with its line | or with `}` |
//! | `4096b` or `4096 b` | the same |
//! | lines end in `\n` or `\r\n` | the same |
//! | size 0 counts as 1 | kept; the network sends 1 byte |
//! | `tag -1` on a send becomes 4294967295 | refused: receives use it for any |
//! | the tag 4294967295 is the tag -1 | refused: write -1 |
//! | a second operation with a label is not found | refused |
//! | a label must be defined before it is required | the same, refused by line |
//! | numbers overflow, cpu and nic lose bits above 255 | refused |
//! | ranks in any order lose some of them | refused: once each, in rising order, from 0 |
//! | reading stops after the last rank | refused, but for comments |
//! | `nic` or `tag` of a calc | refused, as in the original |
//! | peers are not checked | refused unless they are ranks |
//! | cycles and unmatched messages hang | refused |
//! | LogGOPSim2 has more operations (`append`, `put`, `get`, `test` ...) | refused |
//!
//! The text is read once, from start to end. Besides the job, memory holds the operations and labels of one rank and one
//! byte for each operation. If a job has more than a million operations, they go to a temporary file in the directory
//! that `TMPDIR` names. A run then holds in memory the operations that its ranks are at.

use crate::goal::labels::{Labels, NotTaken};
use crate::goal::lines::Lines;
use crate::goal::scan::{Scanner, Token};
use crate::job::{Job, JobBuilder, OPS_MAX, Problem, RANKS_MAX, When};
use crate::op::{ANY, BYTES_MAX, Op, TIME_MAX, Work};
use crate::refused::Refused;
use crate::text::{digits, quoted};
use backwater_types::Duration;
use std::fmt::Display;
use std::io::BufRead;

/// Reads a job. `file` is its name in messages.
///
/// # Errors
/// Names the first line that is refused, what it has, and what was expected.
pub fn read(input: impl BufRead, file: &str) -> Result<Job, Refused> {
    let mut reader = Reader {
        scan: Scanner::new(file, input),
        token: Token::NewLine,
        ranks: 0,
        builder: JobBuilder::of_trace(),
        labels: Labels::default(),
        name: Vec::new(),
        lines: Lines::default(),
    };
    reader.header()?;
    for rank in 0..reader.ranks {
        reader.rank(rank)?;
    }
    reader.skip_lines()?;
    if reader.token != Token::End {
        let last = reader.ranks - 1;
        return Err(reader.expected(format_args!("the end of the file after rank {last}, as num_ranks says")));
    }
    let Reader { builder, lines, .. } = reader;
    builder.finish_with(|job, problem| explain(file, &lines, job, problem))
}

struct Reader<'a, R> {
    scan: Scanner<'a, R>,
    /// The token to be read next.
    token: Token,
    ranks: u32,
    builder: JobBuilder,
    labels: Labels,
    /// The label that the current statement starts with.
    name: Vec<u8>,
    lines: Lines,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Send,
    Recv,
    Calc,
}

impl<R: BufRead> Reader<'_, R> {
    fn header(&mut self) -> Result<(), Refused> {
        self.skip_lines()?;
        self.keyword("num_ranks")?;
        let allowed = |ranks: &u32| (1..=RANKS_MAX).contains(ranks);
        self.ranks = self.number("num_ranks", format_args!("1 to {RANKS_MAX}"), allowed)?;
        Ok(())
    }

    fn rank(&mut self, rank: u32) -> Result<(), Refused> {
        self.skip_lines()?;
        if self.token == Token::End {
            let last = self.ranks - 1;
            return Err(self.expected(format_args!("ranks {rank} to {last}, as num_ranks is {}", self.ranks)));
        }
        self.keyword("rank")?;
        self.lines.rank(self.scan.line_of_last());
        self.number("rank", format_args!("{rank}: ranks come once each, in rising order"), |it: &u32| *it == rank)?;
        self.skip_lines()?;
        if self.token != Token::Sign(b'{') {
            return Err(self.expected("\"{\""));
        }
        self.advance()?;
        loop {
            match self.token {
                Token::NewLine => self.advance()?,
                Token::Word => self.statement(rank)?,
                Token::Sign(b'}') => break,
                Token::Sign(_) => return Err(self.expected("an operation, a label or \"}\"")),
                Token::End => return Err(self.unclosed(rank)),
            }
        }
        match self.builder.end_rank() {
            Ok(()) => self.labels.clear(),
            Err(problem) => return Err(self.explain_rank(rank, problem)),
        }
        self.advance()
    }

    fn statement(&mut self, rank: u32) -> Result<(), Refused> {
        if let Some(kind) = kind(self.scan.word()) {
            return self.op(kind, false);
        }
        self.name.clear();
        self.name.extend_from_slice(self.scan.word());
        if matches!(&self.name[..], b"rank" | b"num_ranks") {
            return Err(self.unclosed(rank));
        }
        let line = self.scan.line_of_last();
        self.advance()?;
        match self.token {
            Token::Sign(b':') => {
                if !self.name[0].is_ascii_alphabetic()
                    || !self.name.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_')
                {
                    let name = quoted(&self.name);
                    return Err(self
                        .scan
                        .refuse(format_args!("label {name}: expected a letter, and then letters, digits and \"_\"")));
                }
                self.advance()?;
                match kind(self.scan.word()).filter(|_| self.token == Token::Word) {
                    Some(kind) => self.op(kind, true),
                    None => Err(self.expected("send, recv or calc")),
                }
            }
            Token::Word if self.scan.word() == b"requires" => self.dependency(When::Ended),
            Token::Word if self.scan.word() == b"irequires" => self.dependency(When::Started),
            _ => {
                let (name, expected) = (quoted(&self.name), "expected send, recv, calc, a label with \":\"");
                let problem = format_args!("{name}: {expected}, or a label with requires or irequires");
                Err(self.scan.at_line(line, problem))
            }
        }
    }

    /// Reads the rest of `a requires b`.
    fn dependency(&mut self, when: When) -> Result<(), Refused> {
        let effect = self.labelled(&self.name)?;
        self.advance()?;
        if self.token != Token::Word {
            return Err(self.expected("the label that is required"));
        }
        let cause = self.labelled(self.scan.word())?;
        self.builder.after(cause, effect, when);
        self.advance()?;
        self.end_statement("the end of the line")
    }

    fn labelled(&self, name: &[u8]) -> Result<u32, Refused> {
        self.labels.get(name).ok_or_else(|| {
            let (name, rank) = (quoted(name), self.builder.rank());
            self.scan.refuse(format_args!("label {name}: expected the label of an operation of rank {rank} above"))
        })
    }

    /// Reads an operation from its kind on, and gives it the label that was read.
    fn op(&mut self, kind: Kind, labelled: bool) -> Result<(), Refused> {
        let (line, number) = (self.scan.line_of_last(), self.builder.len());
        if number == OPS_MAX {
            return Err(self.scan.refuse(format_args!("expected at most {OPS_MAX} operations of a rank")));
        }
        self.advance()?;
        let mut op = match kind {
            Kind::Calc => {
                let most = TIME_MAX.0 / 1000;
                let ns = self.number("calc", format_args!("whole ns, 0 to {most}"), |ns: &u64| *ns <= most)?;
                Op::calc(Duration::from_ns(ns))
            }
            Kind::Send => {
                let bytes = self.size("send")?;
                self.keyword("to")?;
                Op::send(self.peer("to", false)?, bytes, 0)
            }
            Kind::Recv => {
                self.size("recv")?;
                self.keyword("from")?;
                Op::recv(self.peer("from", true)?, 0)
            }
        };
        self.options(kind, &mut op)?;
        self.builder.op(op);
        self.lines.op(line);
        if labelled {
            self.label(number)?;
        }
        self.end_statement(options(kind))
    }

    /// Gives an operation the label that was read.
    fn label(&mut self, op: u32) -> Result<(), Refused> {
        let problem = match self.labels.insert(&self.name, op) {
            Ok(()) => return Ok(()),
            Err(NotTaken::TooMany) => "expected labels of at most 4 GiB in a rank".to_string(),
            Err(NotTaken::Of(first)) => {
                let line = self.lines.of_op(self.builder.rank(), first);
                format!("label {}: expected another than that of line {line}", quoted(&self.name))
            }
        };
        Err(self.scan.refuse(problem))
    }

    fn options(&mut self, kind: Kind, op: &mut Op) -> Result<(), Refused> {
        let mut seen = [false; 3];
        while self.token == Token::Word {
            let option = match self.scan.word() {
                b"tag" if kind != Kind::Calc => 0,
                b"cpu" => 1,
                b"nic" if kind != Kind::Calc => 2,
                _ => return Err(self.expected(options(kind))),
            };
            if std::mem::replace(&mut seen[option], true) {
                return Err(self.expected("each option once"));
            }
            self.advance()?;
            match (option, &mut op.work) {
                (1, _) => op.stream = self.number("cpu", "0 to 255", |_| true)?,
                (2, _) => op.nic = self.number("nic", "0 to 255", |_| true)?,
                (_, Work::Recv { tag, .. }) => match self.is_any() {
                    true => {
                        *tag = ANY;
                        self.advance()?;
                    }
                    false => {
                        *tag = self.number("tag", format_args!("0 to {}, or -1 for any", ANY - 1), |t| *t != ANY)?
                    }
                },
                (_, Work::Send { tag, .. }) => {
                    let only = format_args!("0 to {}: only a receive may take any", ANY - 1);
                    *tag = self.number("tag", only, |t| *t != ANY)?;
                }
                (_, Work::Calc(_)) => unreachable!("has no tag"),
            }
        }
        Ok(())
    }

    /// Reads a size such as `4096b` or `4096 b`.
    fn size(&mut self, what: &str) -> Result<u64, Refused> {
        let word = self.scan.word();
        let number = word.strip_suffix(b"b");
        let bytes =
            digits::<u64>(number.unwrap_or(word)).filter(|bytes| *bytes <= BYTES_MAX && self.token == Token::Word);
        let expected = |it: &Self| {
            let found = it.found();
            it.scan.refuse(format_args!("{what} {found}: expected bytes such as 4096b, 0b to {BYTES_MAX}b"))
        };
        let Some(bytes) = bytes else { return Err(expected(self)) };
        if number.is_none() {
            self.advance()?;
            if self.token != Token::Word || self.scan.word() != b"b" {
                return Err(expected(self));
            }
        }
        self.advance()?;
        Ok(bytes)
    }

    fn peer(&mut self, what: &str, may_be_any: bool) -> Result<u32, Refused> {
        if may_be_any && self.is_any() {
            self.advance()?;
            return Ok(ANY);
        }
        let ranks = self.ranks;
        let or = if may_be_any { ", or -1 for any" } else { "" };
        self.number(what, format_args!("rank 0 to {}{or}", ranks - 1), |peer| *peer < ranks)
    }

    fn is_any(&self) -> bool {
        self.token == Token::Word && self.scan.word() == b"-1"
    }

    /// Reads a number in digits that is allowed.
    fn number<T: TryFrom<u64>>(
        &mut self,
        what: &str,
        expected: impl Display,
        allowed: impl Fn(&T) -> bool,
    ) -> Result<T, Refused> {
        let number = Some(self.scan.word()).filter(|_| self.token == Token::Word).and_then(digits::<T>);
        let Some(number) = number.filter(allowed) else {
            return Err(self.scan.refuse(format_args!("{what} {}: expected {expected}", self.found())));
        };
        self.advance()?;
        Ok(number)
    }

    fn keyword(&mut self, word: &str) -> Result<(), Refused> {
        if self.token != Token::Word || self.scan.word() != word.as_bytes() {
            return Err(self.expected(word));
        }
        self.advance()
    }

    fn end_statement(&mut self, expected: &str) -> Result<(), Refused> {
        match self.token {
            Token::NewLine | Token::Sign(b'}') | Token::End => Ok(()),
            _ => Err(self.expected(expected)),
        }
    }

    fn skip_lines(&mut self) -> Result<(), Refused> {
        while self.token == Token::NewLine {
            self.advance()?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), Refused> {
        self.token = self.scan.next()?;
        Ok(())
    }

    fn expected(&self, expected: impl Display) -> Refused {
        self.scan.refuse(format_args!("{}: expected {expected}", self.found()))
    }

    fn unclosed(&self, rank: u32) -> Refused {
        self.expected(format_args!("\"}}\", which ends rank {rank} of line {}", self.lines.of_rank(rank)))
    }

    /// Shows the next token.
    fn found(&self) -> String {
        match self.token {
            Token::Word => quoted(self.scan.word()),
            Token::Sign(sign) => format!("\"{}\"", sign as char),
            Token::NewLine => "the end of the line".into(),
            Token::End => "the end of the file".into(),
        }
    }

    /// Says which operations of the rank that was read a problem is about.
    fn explain_rank(&self, rank: u32, problem: Problem) -> Refused {
        let Problem::Cycle { ops, .. } = problem else { return self.scan.refuse(problem) };
        let label = |op: u32| {
            let label = self.labels.of(op).expect("only operations with labels wait for one another");
            label.chars().take(60).collect::<String>()
        };
        let named = |op: &u32| format!("{} (line {})", label(*op), self.lines.of_op(rank, *op));
        let mut shown: Vec<String> = ops.iter().take(8).map(named).collect();
        shown.push(match ops.len() > 8 {
            true => format!("... ({} operations)", ops.len()),
            false => label(ops[0]),
        });
        let text = format!("operations of rank {rank} wait for one another in a cycle: {}", shown.join(", "));
        self.scan.at_line(self.lines.of_op(rank, ops[0]), text)
    }
}

fn kind(word: &[u8]) -> Option<Kind> {
    match word {
        b"send" => Some(Kind::Send),
        b"recv" => Some(Kind::Recv),
        b"calc" => Some(Kind::Calc),
        _ => None,
    }
}

/// What may follow an operation.
fn options(kind: Kind) -> &'static str {
    if kind == Kind::Calc { "cpu or the end of the line" } else { "tag, cpu, nic or the end of the line" }
}

/// Says on which lines the operations are that a problem of the whole job is about.
fn explain(file: &str, lines: &Lines, job: &Job, problem: Problem) -> Refused {
    let Problem::Unmatched(unmatched) = &problem else {
        return Refused::at(file, problem);
    };
    let (from, to, tag) = (unmatched.from, unmatched.to, unmatched.tag);
    let first = |rank: u32, is: &dyn Fn(Work) -> bool| {
        let op = (0..job.len(rank)).find(|op| is(job.op(rank, *op).work))?;
        Some(lines.of_op(rank, op))
    };
    let wild = |work| matches!(work, Work::Recv { from, tag } if from == ANY || tag == ANY);
    let sends = |work| matches!(work, Work::Send { to: other, tag: its, .. } if (other, its) == (to, tag));
    let receives = |work| matches!(work, Work::Recv { from: other, tag: its } if (other, its) == (from, tag));
    let (line, other) = match from {
        ANY => (first(to, &wild), None),
        from => (first(from, &sends), first(to, &receives)),
    };
    match (line, other) {
        (Some(line), Some(other)) => Refused::line(file, line, format_args!("{problem} (received on line {other})")),
        (line, other) => Refused::line(file, line.or(other).expect("one of them is there"), problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        read(text.as_bytes(), "t").expect_err(text).to_string()
    }

    /// Wraps statements of rank 0 of two.
    fn body(statements: &str) -> String {
        format!("num_ranks 2\nrank 0 {{\n{statements}\n}}\nrank 1 {{\n}}\n")
    }

    #[test]
    fn a_job_reads_with_streams_tags_and_dependencies() {
        let text = "num_ranks 3\nrank 0 {\n a: calc 1500 cpu 1\n b: send 4096b to 1 tag 7 nic 2\n b requires a\n}\n\
                    rank 1 {\n r: recv 4096b from 0 tag 7\n s: send 64 b to 2 cpu 3 tag 9 // why\n s irequires r\n}\n\
                    rank 2 { r: recv 64b from -1 tag -1 /* any\n rank */ }";
        let job = read(text.as_bytes(), "t").expect("valid");
        assert_eq!((job.ranks(), job.operations(), job.roots(0).collect()), (3, 5, vec![0]));
        assert_eq!(job.op(0, 0), Op::calc(Duration::from_ns(1500)).on(1));
        assert_eq!(job.op(0, 1), Op { nic: 2, ..Op::send(1, 4096, 7) });
        assert_eq!(job.op(1, 1), Op::send(2, 64, 9).on(3));
        assert_eq!(job.op(2, 0), Op::recv(ANY, ANY));
        let edge = job.edges(1, 0).next().expect("one");
        assert_eq!((edge.effect(), edge.when()), (1, When::Started));
    }

    #[test]
    fn headers_are_checked_before_anything_is_kept() {
        assert_eq!(refusal(""), "t:1: the end of the file: expected num_ranks");
        assert_eq!(refusal("\n// x\nrank 0 {}"), "t:3: \"rank\": expected num_ranks");
        for number in ["0", "1048577", "4000000000", "99999999999999999999", "-1", "x"] {
            let said = refusal(&format!("num_ranks {number}\n"));
            assert_eq!(said, format!("t:1: num_ranks \"{number}\": expected 1 to 1048576"));
        }
        assert_eq!(
            refusal("num_ranks 1000000\n"),
            "t:2: the end of the file: expected ranks 0 to 999999, as num_ranks is 1000000"
        );
    }

    #[test]
    fn ranks_come_once_each_in_rising_order() {
        let said = |text: &str| refusal(&format!("num_ranks 2\n{text}"));
        assert_eq!(said("rank 1 {\n}\n"), "t:2: rank \"1\": expected 0: ranks come once each, in rising order");
        assert_eq!(
            said("rank 0 {\n}\nrank 0 {}"),
            "t:4: rank \"0\": expected 1: ranks come once each, in rising order"
        );
        assert_eq!(said("rank 0 {\n}\n"), "t:4: the end of the file: expected ranks 1 to 1, as num_ranks is 2");
        let said = said("rank 0 {}\nrank 1 {} rank 2 {}");
        assert_eq!(said, "t:3: \"rank\": expected the end of the file after rank 1, as num_ranks says");
    }

    #[test]
    fn braces_are_named_when_they_are_missing() {
        assert_eq!(refusal("num_ranks 1\nrank 0\ncalc 5\n"), "t:3: \"calc\": expected \"{\"");
        let said = refusal("num_ranks 2\nrank 0 {\ncalc 5\nrank 1 {\n}");
        assert_eq!(said, "t:4: \"rank\": expected \"}\", which ends rank 0 of line 2");
        let said = refusal("num_ranks 1\nrank 0 {\ncalc 5");
        assert_eq!(said, "t:3: the end of the file: expected \"}\", which ends rank 0 of line 2");
        assert_eq!(refusal("num_ranks 1\nrank 0 { {"), "t:2: \"{\": expected an operation, a label or \"}\"");
    }

    #[test]
    fn operations_are_refused_with_value_and_what_was_allowed() {
        let cases = [
            ("calc -5", "calc \"-5\": expected whole ns, 0 to 3600000000000"),
            ("calc 1.5", "calc \"1.5\": expected whole ns, 0 to 3600000000000"),
            ("calc 3600000000001", "calc \"3600000000001\": expected whole ns, 0 to 3600000000000"),
            ("calc", "calc the end of the line: expected whole ns, 0 to 3600000000000"),
            ("calc 5 nic 1", "\"nic\": expected cpu or the end of the line"),
            ("calc 5 tag 1", "\"tag\": expected cpu or the end of the line"),
            ("calc 5 cpu 256", "cpu \"256\": expected 0 to 255"),
            ("calc 5 : x", "\":\": expected cpu or the end of the line"),
            ("send 4kb to 1", "send \"4kb\": expected bytes such as 4096b, 0b to 137438953472b"),
            ("send 4096 to 1", "send \"to\": expected bytes such as 4096b, 0b to 137438953472b"),
            (
                "send 9223372036854775808b to 1",
                "send \"9223372036854775808b\": expected bytes such as 4096b, 0b to 137438953472b",
            ),
            ("send 1b from 1", "\"from\": expected to"),
            ("send 1b to 2", "to \"2\": expected rank 0 to 1"),
            ("send 1b to -1", "to \"-1\": expected rank 0 to 1"),
            ("send 1b to 1 tag -1", "tag \"-1\": expected 0 to 4294967294: only a receive may take any"),
            ("send 1b to 1 nic 300", "nic \"300\": expected 0 to 255"),
            ("send 1b to 1 nic 1 nic 1", "\"nic\": expected each option once"),
            ("send 1b to 1 prio 1", "\"prio\": expected tag, cpu, nic or the end of the line"),
            ("recv 1b from 2", "from \"2\": expected rank 0 to 1, or -1 for any"),
            ("recv 1b from 1 tag 4294967295", "tag \"4294967295\": expected 0 to 4294967294, or -1 for any"),
            (
                "put 1b to 1",
                "\"put\": expected send, recv, calc, a label with \":\", or a label with requires or irequires",
            ),
            ("a: put 1b to 1", "\"put\": expected send, recv or calc"),
            ("a:\ncalc 1", "the end of the line: expected send, recv or calc"),
            ("1: calc 1", "label \"1\": expected a letter, and then letters, digits and \"_\""),
            ("/ calc 1", "\"/\": expected an operation, a label or \"}\""),
        ];
        for (statement, said) in cases {
            assert_eq!(refusal(&body(statement)), format!("t:3: {said}"), "{statement}");
        }
    }

    #[test]
    fn dependencies_name_labels_above() {
        let said = refusal(&body("a: calc 1\na requires b\nb: calc 2"));
        assert_eq!(said, "t:4: label \"b\": expected the label of an operation of rank 0 above");
        assert_eq!(
            refusal(&body("a: calc 1\na requires")),
            "t:4: the end of the line: expected the label that is required"
        );
        assert_eq!(refusal(&body("a: calc 1\na requires a a")), "t:4: \"a\": expected the end of the line");
        let said = refusal(&body("a: calc 1\n\na: calc 2"));
        assert_eq!(said, "t:5: label \"a\": expected another than that of line 3");
        let other = "num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\nb: calc 1\nb requires a\n}";
        assert_eq!(refusal(other), "t:7: label \"a\": expected the label of an operation of rank 1 above");
    }

    #[test]
    fn a_cycle_is_named_by_labels_and_lines() {
        let said = refusal(&body("a: calc 1\nb: calc 1\n\nc: calc 1\nb requires a\na irequires c\nc requires b"));
        assert_eq!(
            said,
            "t:3: operations of rank 0 wait for one another in a cycle: a (line 3), c (line 6), b (line 4), a"
        );
    }

    #[test]
    fn messages_that_do_not_match_are_named_by_lines() {
        let said = refusal(&body("send 1b to 1\n\nsend 1b to 1 tag 5"));
        let expected =
            "t:3: messages from rank 0 to rank 1 with tag 0: sends 1, receives 0; expected a receive for each send";
        assert_eq!(said, expected);
        let said = refusal(&body("recv 1b from 1\nrecv 1b from 1"));
        assert!(said.starts_with("t:3: messages from rank 1 to rank 0 with tag 0: sends 0, receives 2;"), "{said}");
        let said = refusal("num_ranks 2\nrank 0 {\nsend 1b to 1\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}");
        assert!(said.ends_with("(received on line 7)"), "{said}");
        let said = refusal(&body("recv 1b from -1"));
        assert!(said.starts_with("t:3: messages to rank 0: sends 0, receives 1;"), "{said}");
    }
}
