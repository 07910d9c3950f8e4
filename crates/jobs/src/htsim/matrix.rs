//! A connection matrix lists flows, and the triggers by which one flow starts another.
//!
//! ```text
//! Nodes 16
//! Connections 3
//! Triggers 1
//! 3->9 id 1 start 0 size 1048576 send_done_trigger 4
//! 9->3 id 2 start 16 size 4096 recv_done_trigger 4
//! 3->5 id 7 trigger 4 size 65536
//! trigger id 4 barrier count 2
//! ```
//!
//! Source: `connection_matrix.cpp` of uet-htsim and csg-htsim (sim/datacenter). A trigger is `oneshot`, `multishot` or
//! `barrier count N`. Which unit `start` has depends on the program that reads the file: whole microseconds in
//! `htsim_uec`, picoseconds in the others.
//!
//! | what the original does | here |
//! |---|---|
//! | words are split at single blanks | at any blanks |
//! | header lines come first, others are ignored there | anywhere, and no others |
//! | `Connections`, `Triggers`, `Failures` must be the numbers of lines | the same, if they are there |
//! | comments only in the header | anywhere |
//! | a size that is left out is not initialised | refused |
//! | sizes end at 2 GiB | at 128 GiB; not written above 2 GiB |
//! | numbers end where their digits end, `4kb` is 4 | refused |
//! | a start is rounded to 24 bits, and its fraction dropped | exact; a fraction is refused |
//! | the id stands before `trigger` | anywhere on the line |
//! | ids of flows, triggers and messages are not 0 | the same |
//! | ids of flows may be equal | refused |
//! | a flow has a start or a trigger, not both | the same |
//! | hosts are not checked | 0 to Nodes - 1 |
//! | a trigger that is used and not described | refused |
//! | `msg` queues messages on one connection (-conn_reuse) | refused: these share a window, as flows do not |
//! | `prio` orders the pulls of an NDP receiver; `htsim_uec` ignores it | read, and changes nothing |
//! | `failure` slows down a link | refused: it names a link of htsim's network. Yours are taken down in `[[fault]]` |

use crate::job::RANKS_MAX;
use crate::op::{BYTES_MAX, TIME_MAX};
use crate::refused::Refused;
use crate::text::{digits, quoted, scaled};
use crate::unwritten::Unwritten;
use backwater_types::Duration;
use std::collections::HashMap;
use std::fmt::Display;
use std::io::{BufWriter, Write};

/// Unit of `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As in htsim's programs for NDP, EQDS, RoCE, HPCC and TCP, and in its generators.
    Picoseconds,
    /// As in `htsim_uec`.
    Microseconds,
}

/// A connection matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Number of hosts.
    pub hosts: u32,
    /// Flows, in the order of the file.
    pub flows: Vec<Flow>,
    /// Triggers, in the order of the file.
    pub triggers: Vec<Trigger>,
    /// Failures, in the order of the file.
    pub failures: Vec<Failure>,
}

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its line; 0 if it comes from no file.
    pub line: u64,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Its id, from 1.
    pub id: Option<u32>,
    /// When it starts.
    pub begin: Begin,
    /// Payload.
    pub bytes: u64,
    /// Trigger that it hits when its sender has the last acknowledgement.
    pub send_done: Option<u32>,
    /// Trigger that it hits when its receiver has it all. `htsim_uec` ignores it.
    pub recv_done: Option<u32>,
    /// Its priority: the lower, the earlier. htsim has 2000000 for `None`.
    pub prio: Option<u32>,
}

/// When a flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At a time.
    At(Duration),
    /// When a trigger starts it.
    Trigger(u32),
}

/// Something that flows hit when they end, and that starts others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its line; 0 if it comes from no file.
    pub line: u64,
    /// Its id, from 1.
    pub id: u32,
    /// What it starts when.
    pub kind: Kind,
}

/// What a trigger starts when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All its flows when it is hit for the first time.
    Oneshot,
    /// One of its flows each time, in the order of the file.
    Multishot,
    /// All its flows when it was hit `count` times.
    Barrier {
        /// Number of hits.
        count: u32,
    },
}

/// A link that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its line; 0 if it comes from no file.
    pub line: u64,
    /// Tier of the switch: 0 for TOR, 1 for AGG, 2 for CORE.
    pub tier: u8,
    /// Number of the switch.
    pub switch: u32,
    /// Number of its link.
    pub link: u32,
}

const TIERS: [&str; 3] = ["TOR", "AGG", "CORE"];

/// Largest size that htsim reads.
const HTSIM_BYTES_MAX: u64 = i32::MAX as u64;

/// Reads a matrix. `file` is its name in messages.
///
/// # Errors
/// Names the first line that is refused, what it has, and what was expected.
pub fn read(text: &str, file: &str, unit: Unit) -> Result<Matrix, Refused> {
    let mut matrix = Matrix::default();
    // `[header]`: its line and value.
    let mut headers = [None; HEADERS.len()];
    for (line, content) in (1..).zip(text.lines()) {
        let mut words = content.split_ascii_whitespace();
        let Some(first) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        let words = Words { words, unit };
        read_line(&mut matrix, &mut headers, line, first, words)
            .map_err(|problem| Refused::line(file, line, problem))?;
    }
    let Some((_, hosts)) = headers[0] else {
        return Err(Refused::at(file, "has no line Nodes: expected the number of hosts, such as \"Nodes 16\""));
    };
    matrix.hosts = hosts;
    let numbers = [matrix.flows.len(), matrix.triggers.len(), matrix.failures.len()];
    for ((name, header), number) in HEADERS[1..].iter().zip(&headers[1..]).zip(numbers) {
        if let Some((line, stated)) = header
            && *stated as usize != number
        {
            let problem = format!("{name} {stated}: expected {number}, the number of their lines");
            return Err(Refused::line(file, *line, problem));
        }
    }
    check(&matrix).map_err(|(line, problem)| Refused::line(file, line, problem))?;
    Ok(matrix)
}

const HEADERS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Words of a line that are left.
struct Words<'a> {
    words: std::str::SplitAsciiWhitespace<'a>,
    unit: Unit,
}

impl<'a> Words<'a> {
    fn value(&mut self, key: &str) -> Result<&'a str, String> {
        self.words.next().ok_or_else(|| format!("{key}: expected a value after it"))
    }

    fn number<T: TryFrom<u64> + PartialOrd + Display>(&mut self, key: &str, low: T, high: T) -> Result<T, String> {
        let value = self.value(key)?;
        let number = digits(value).filter(|number| (&low..=&high).contains(&number));
        number.ok_or_else(|| format!("{key} {}: expected {low} to {high}", quoted(value)))
    }

    /// Reads a number into a place that has none yet.
    fn once<T: TryFrom<u64> + PartialOrd + Display>(
        &mut self,
        key: &str,
        into: &mut Option<T>,
        low: T,
        high: T,
    ) -> Result<(), String> {
        match into.replace(self.number(key, low, high)?) {
            None => Ok(()),
            Some(_) => Err(format!("{key}: expected it once")),
        }
    }

    fn start(&mut self) -> Result<u64, String> {
        let (picoseconds, unit) = match self.unit {
            Unit::Picoseconds => (1, "picoseconds"),
            Unit::Microseconds => (1_000_000, "microseconds"),
        };
        let (value, most) = (self.value("start")?, TIME_MAX.0 / picoseconds);
        let start = scaled(value, 1).filter(|start| *start <= most);
        let expected = || format!("start {}: expected whole {unit}, 0 to {most}", quoted(value));
        Ok(start.ok_or_else(expected)? * picoseconds)
    }
}

type Headers = [Option<(u64, u32)>; HEADERS.len()];

fn read_line(
    matrix: &mut Matrix,
    headers: &mut Headers,
    line: u64,
    first: &str,
    mut words: Words,
) -> Result<(), String> {
    match first {
        "trigger" => matrix.triggers.push(read_trigger(line, words)?),
        "failure" => matrix.failures.push(read_failure(line, words)?),
        first if first.contains("->") => matrix.flows.push(read_flow(line, first, words)?),
        first => {
            let Some(header) = HEADERS.iter().position(|header| *header == first) else {
                let expected = "expected SRC->DST, trigger, failure, Nodes, Connections, Triggers or Failures";
                return Err(format!("{}: {expected}", quoted(first)));
            };
            let (low, high) = if header == 0 { (1, RANKS_MAX) } else { (0, u32::MAX) };
            let number = words.number(first, low, high)?;
            if let Some(word) = words.words.next() {
                return Err(format!("{}: expected the end of the line", quoted(word)));
            }
            if headers[header].replace((line, number)).is_some() {
                return Err(format!("{first}: expected it once"));
            }
        }
    }
    Ok(())
}

fn read_flow(line: u64, ends: &str, mut words: Words) -> Result<Flow, String> {
    let host = |text: &str| digits(text).ok_or_else(|| format!("{}: expected hosts such as 3->9", quoted(ends)));
    let (src, dst) = ends.split_once("->").expect("it has an arrow");
    let (src, dst): (u32, u32) = (host(src)?, host(dst)?);
    if src == dst {
        return Err(format!("{}: expected two hosts", quoted(ends)));
    }
    let (mut id, mut start, mut trigger, mut size) = (None, None, None, None);
    let (mut send_done, mut recv_done, mut prio) = (None, None, None);
    while let Some(key) = words.words.next() {
        match key {
            "id" => words.once(key, &mut id, 1, u32::MAX)?,
            "start" => match start.replace(Duration(words.start()?)) {
                None => {}
                Some(_) => return Err("start: expected it once".into()),
            },
            "trigger" => words.once(key, &mut trigger, 1, u32::MAX)?,
            "size" => words.once(key, &mut size, 1, BYTES_MAX)?,
            "send_done_trigger" => words.once(key, &mut send_done, 1, u32::MAX)?,
            "recv_done_trigger" => words.once(key, &mut recv_done, 1, u32::MAX)?,
            "prio" => words.once(key, &mut prio, 0, u32::MAX)?,
            "msg" => return Err("msg: messages of one connection share a window in htsim: expected flows".into()),
            _ => {
                let keys = "id, start, trigger, size, send_done_trigger, recv_done_trigger or prio";
                return Err(format!("{}: expected {keys}", quoted(key)));
            }
        }
    }
    let begin = match (start, trigger) {
        (Some(start), None) => Begin::At(start),
        (None, Some(_)) if id.is_none() => return Err("a flow with a trigger: expected an id".into()),
        (None, Some(trigger)) => Begin::Trigger(trigger),
        (Some(_), Some(_)) => return Err("start and trigger: expected one of them".into()),
        (None, None) => return Err("a flow without start: expected start or trigger".into()),
    };
    let bytes = size.ok_or("a flow without size: expected size, which htsim takes from memory at random")?;
    Ok(Flow { line, src, dst, id, begin, bytes, send_done, recv_done, prio })
}

fn read_trigger(line: u64, mut words: Words) -> Result<Trigger, String> {
    let (mut id, mut kind, mut count) = (None, None, None);
    while let Some(key) = words.words.next() {
        let this = match key {
            "id" => {
                words.once(key, &mut id, 1, u32::MAX)?;
                continue;
            }
            "count" => {
                words.once(key, &mut count, 1, u32::MAX)?;
                continue;
            }
            "oneshot" => Kind::Oneshot,
            "multishot" => Kind::Multishot,
            "barrier" => Kind::Barrier { count: 0 },
            _ => return Err(format!("{}: expected id, oneshot, multishot, barrier or count", quoted(key))),
        };
        if kind.replace(this).is_some() {
            return Err(format!("{key}: expected one of oneshot, multishot and barrier"));
        }
    }
    let id = id.ok_or("a trigger without id: expected id")?;
    let kind = match (kind, count) {
        (Some(Kind::Barrier { .. }), Some(count)) => Kind::Barrier { count },
        (Some(Kind::Barrier { .. }), None) => return Err("a barrier without count: expected count".into()),
        (Some(kind), None) => kind,
        (Some(_), Some(_)) => return Err("count: expected it only of a barrier".into()),
        (None, _) => return Err("a trigger without type: expected oneshot, multishot or barrier".into()),
    };
    Ok(Trigger { line, id, kind })
}

fn read_failure(line: u64, mut words: Words) -> Result<Failure, String> {
    let (mut tier, mut switch, mut link) = (None, None, None);
    while let Some(key) = words.words.next() {
        match key {
            "switch_type" => {
                let value = words.value(key)?;
                let found = TIERS.iter().position(|tier| *tier == value);
                let found = found.ok_or_else(|| format!("{key} {}: expected TOR, AGG or CORE", quoted(value)))?;
                if tier.replace(found as u8).is_some() {
                    return Err(format!("{key}: expected it once"));
                }
            }
            "switch_id" => words.once(key, &mut switch, 0, u32::MAX)?,
            "link_id" => words.once(key, &mut link, 0, u32::MAX)?,
            _ => return Err(format!("{}: expected switch_type, switch_id or link_id", quoted(key))),
        }
    }
    let expected = "a failure: expected switch_type, switch_id and link_id";
    Ok(Failure { line, tier: tier.ok_or(expected)?, switch: switch.ok_or(expected)?, link: link.ok_or(expected)? })
}

/// Checks what one line says of others.
fn check(matrix: &Matrix) -> Result<(), (u64, String)> {
    let (mut flows, mut triggers) = (HashMap::new(), HashMap::new());
    for Trigger { line, id, .. } in &matrix.triggers {
        if let Some(first) = triggers.insert(*id, *line) {
            return Err((*line, format!("id {id}: expected another than that of the trigger of line {first}")));
        }
    }
    for Flow { line, src, dst, id, begin, send_done, recv_done, .. } in &matrix.flows {
        if let Some(host) = [src, dst].into_iter().find(|host| **host >= matrix.hosts) {
            return Err((*line, format!("host {host}: expected 0 to {}, as Nodes says", matrix.hosts - 1)));
        }
        if let Some(id) = id
            && let Some(first) = flows.insert(*id, *line)
        {
            return Err((*line, format!("id {id}: expected another than that of the flow of line {first}")));
        }
        let own = if let Begin::Trigger(trigger) = begin { Some(*trigger) } else { None };
        let used = [own, *send_done, *recv_done].into_iter().flatten().find(|trigger| !triggers.contains_key(trigger));
        if let Some(trigger) = used {
            return Err((*line, format!("trigger {trigger}: expected a line \"trigger id {trigger}\" with its type")));
        }
    }
    Ok(())
}

/// Writes a matrix for a program of htsim that takes `start` in `unit`.
///
/// # Errors
/// If a start is not whole in `unit`, or a flow is larger than htsim reads; nothing is written then.
pub fn write(matrix: &Matrix, unit: Unit, out: impl Write) -> Result<(), Unwritten> {
    let unit = if unit == Unit::Picoseconds { 1 } else { 1_000_000 };
    for (number, flow) in matrix.flows.iter().enumerate() {
        let what = match flow.begin {
            Begin::At(start) if start.0 % unit != 0 => format!("a start at {} ps", start.0),
            _ if flow.bytes > HTSIM_BYTES_MAX => format!("{} bytes", flow.bytes),
            _ => continue,
        };
        return Err(Unwritten::Cannot { what: format!("flow {number} has {what}"), format: "the connection matrix" });
    }
    let mut out = BufWriter::new(out);
    let numbers = [matrix.hosts as usize, matrix.flows.len(), matrix.triggers.len(), matrix.failures.len()];
    for (header, number) in HEADERS.iter().zip(numbers).filter(|(header, number)| *number > 0 || **header != "Failures")
    {
        writeln!(out, "{header} {number}")?;
    }
    for flow in &matrix.flows {
        write!(out, "{}->{}", flow.src, flow.dst)?;
        let (start, trigger) = match flow.begin {
            Begin::At(start) => (Some(start.0 / unit), None),
            Begin::Trigger(trigger) => (None, Some(trigger)),
        };
        let number = |number: Option<u32>| number.map(u64::from);
        let words = [
            ("id", number(flow.id)),
            ("start", start),
            ("trigger", number(trigger)),
            ("size", Some(flow.bytes)),
            ("send_done_trigger", number(flow.send_done)),
            ("recv_done_trigger", number(flow.recv_done)),
            ("prio", number(flow.prio)),
        ];
        for (key, value) in words {
            if let Some(value) = value {
                write!(out, " {key} {value}")?;
            }
        }
        writeln!(out)?;
    }
    for Trigger { id, kind, .. } in &matrix.triggers {
        match kind {
            Kind::Oneshot => writeln!(out, "trigger id {id} oneshot")?,
            Kind::Multishot => writeln!(out, "trigger id {id} multishot")?,
            Kind::Barrier { count } => writeln!(out, "trigger id {id} barrier count {count}")?,
        }
    }
    for Failure { tier, switch, link, .. } in &matrix.failures {
        writeln!(out, "failure switch_type {} switch_id {switch} link_id {link}", TIERS[*tier as usize])?;
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(lines: &str) -> String {
        read(&format!("Nodes 16\n{lines}"), "f.cm", Unit::Picoseconds).expect_err(lines).to_string()
    }

    const TEXT: &str = "Nodes 16\nConnections 3\nTriggers 2\nFailures 1\n\
                        3->9 id 1 start 5000000 size 1048576 send_done_trigger 4 recv_done_trigger 5\n\
                        9->3 id 2 trigger 4 size 4096 prio 2\n3->5 start 0 size 1\n\
                        trigger id 4 oneshot\ntrigger id 5 barrier count 1\n\
                        failure switch_type AGG switch_id 2 link_id 1\n";

    #[test]
    fn a_matrix_is_written_as_it_was_read() {
        let matrix = read(TEXT, "f.cm", Unit::Picoseconds).expect("valid");
        assert_eq!(matrix.flows[0].begin, Begin::At(Duration(5_000_000)));
        assert_eq!((matrix.flows[1].begin, matrix.flows[1].prio), (Begin::Trigger(4), Some(2)));
        assert_eq!(matrix.triggers[1], Trigger { line: 9, id: 5, kind: Kind::Barrier { count: 1 } });
        assert_eq!(matrix.failures, [Failure { line: 10, tier: 1, switch: 2, link: 1 }]);
        let mut text = Vec::new();
        write(&matrix, Unit::Picoseconds, &mut text).expect("can be said");
        assert_eq!(String::from_utf8_lossy(&text), TEXT);
        text.clear();
        write(&matrix, Unit::Microseconds, &mut text).expect("5 us");
        assert_eq!(String::from_utf8_lossy(&text), TEXT.replace("5000000", "5"));
        assert_eq!(read(&String::from_utf8_lossy(&text), "f.cm", Unit::Microseconds).expect("valid"), matrix);
    }

    #[test]
    fn blanks_comments_and_headers_stand_anywhere() {
        let text = "# x\r\n\r\n  0->1\tstart  0.000 size 5 \r\n# y\nConnections 1\nNodes 2";
        let matrix = read(text, "f.cm", Unit::Microseconds).expect("valid");
        assert_eq!((matrix.hosts, matrix.flows.len(), matrix.flows[0].line), (2, 1, 3));
    }

    #[test]
    fn lines_are_refused_with_value_and_what_was_allowed() {
        let flow_keys = "expected id, start, trigger, size, send_done_trigger, recv_done_trigger or prio";
        let cases = [
            ("0->1 start 0", "a flow without size: expected size, which htsim takes from memory at random"),
            ("0->1 size 5", "a flow without start: expected start or trigger"),
            ("0->1 id 1 start 0 trigger 2 size 5", "start and trigger: expected one of them"),
            ("0->1 trigger 2 size 5", "a flow with a trigger: expected an id"),
            ("0->1 id 0 start 0 size 5", "id \"0\": expected 1 to 4294967295"),
            ("0->1 id 1 trigger 0 size 5", "trigger \"0\": expected 1 to 4294967295"),
            ("0->1 start 1.5 size 5", "start \"1.5\": expected whole picoseconds, 0 to 3600000000000000"),
            ("0->1 start 0 size 4kb", "size \"4kb\": expected 1 to 137438953472"),
            ("0->1 start 0 size 0", "size \"0\": expected 1 to 137438953472"),
            ("0->1 start 0 size", "size: expected a value after it"),
            ("0->1 start 0 size 5 size 6", "size: expected it once"),
            ("0->1 start 0 start 0 size 6", "start: expected it once"),
            ("0->1 msg 3 start 0 size 5", "msg: messages of one connection share a window in htsim: expected flows"),
            ("0->1 starts 0 size 5", &format!("\"starts\": {flow_keys}")),
            ("0->16 start 0 size 5", "host 16: expected 0 to 15, as Nodes says"),
            ("3->3 start 0 size 5", "\"3->3\": expected two hosts"),
            ("a->3 start 0 size 5", "\"a->3\": expected hosts such as 3->9"),
            (
                "0 -> 1 start 0 size 5",
                "\"0\": expected SRC->DST, trigger, failure, Nodes, Connections, Triggers or Failures",
            ),
            ("trigger id 1", "a trigger without type: expected oneshot, multishot or barrier"),
            ("trigger oneshot", "a trigger without id: expected id"),
            ("trigger id 1 barrier", "a barrier without count: expected count"),
            ("trigger id 1 oneshot count 2", "count: expected it only of a barrier"),
            ("trigger id 1 oneshot barrier count 2", "barrier: expected one of oneshot, multishot and barrier"),
            ("trigger id 1 barrier count 0", "count \"0\": expected 1 to 4294967295"),
            ("failure switch_type SPINE", "switch_type \"SPINE\": expected TOR, AGG or CORE"),
            ("failure switch_type TOR link_id 1", "a failure: expected switch_type, switch_id and link_id"),
            ("0->1 id 1 trigger 2 size 5", "trigger 2: expected a line \"trigger id 2\" with its type"),
            ("Nodes 16", "Nodes: expected it once"),
            ("Connections 1 2", "\"2\": expected the end of the line"),
            ("Connections 1", "Connections 1: expected 0, the number of their lines"),
        ];
        for (line, said) in cases {
            assert_eq!(refusal(line), format!("f.cm:2: {said}"), "{line}");
        }
        let said = refusal("0->1 id 3 start 0 size 5\n0->1 id 3 start 0 size 5");
        assert_eq!(said, "f.cm:3: id 3: expected another than that of the flow of line 2");
        let said = refusal("trigger id 3 oneshot\ntrigger id 3 oneshot");
        assert_eq!(said, "f.cm:3: id 3: expected another than that of the trigger of line 2");
        let said = read("", "f.cm", Unit::Picoseconds).expect_err("no hosts").to_string();
        assert_eq!(said, "f.cm: has no line Nodes: expected the number of hosts, such as \"Nodes 16\"");
        let said = read("Nodes 4000000000", "f.cm", Unit::Picoseconds).expect_err("many").to_string();
        assert_eq!(said, "f.cm:1: Nodes \"4000000000\": expected 1 to 1048576");
    }

    #[test]
    fn what_htsim_cannot_read_is_not_written() {
        let said = |line: &str| {
            let matrix = read(&format!("Nodes 2\n{line}"), "f", Unit::Picoseconds).expect("valid");
            write(&matrix, Unit::Microseconds, Vec::new()).expect_err(line).to_string()
        };
        assert_eq!(said("0->1 start 5 size 5"), "flow 0 has a start at 5 ps: the connection matrix cannot say that");
        assert_eq!(
            said("0->1 start 0 size 2147483648"),
            "flow 0 has 2147483648 bytes: the connection matrix cannot say that"
        );
    }
}
