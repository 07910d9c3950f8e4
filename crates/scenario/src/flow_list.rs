//! Lists of flows in CSV: `start_ns,src,dst,bytes`, and `port` and `priority` as in files of other simulators.
//!
//! A list may have millions of rows. It is kept as text, whose rows are parsed where they are needed.

use backwater_types::{Bytes, Duration};

use crate::error::Error;
use crate::model::{BACKGROUND_PORT, ListedFlow};
use crate::text::digits;
use crate::validate::PRIORITIES;

const HEADER: [&str; 6] = ["start_ns", "src", "dst", "bytes", "port", "priority"];
/// Columns that are required.
const NEEDED: usize = 4;

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Line number, from 1; or the number of the entry, from 0, where the flows are listed in the scenario.
    pub line: usize,
    /// Arrival time.
    pub start: Duration,
    /// Source host.
    pub src: &'a str,
    /// Destination host.
    pub dst: &'a str,
    /// Payload bytes.
    pub bytes: Bytes,
    /// Destination port.
    pub port: u16,
    /// Priority of its packets; `None`: that of the workload.
    pub priority: Option<u8>,
}

impl<'a> Row<'a> {
    /// Makes entry number `line` of a list in a scenario.
    pub fn of(line: usize, flow: &'a ListedFlow) -> Row<'a> {
        let ListedFlow { start, src, dst, bytes, port, priority } = flow;
        Row { line, start: *start, src, dst, bytes: *bytes, port: *port, priority: *priority }
    }
}

/// Iterates over the rows of a list. `name` is its name in messages.
///
/// # Errors
/// Names the first line that is not a row.
pub fn parse<'a>(text: &'a str, name: &str) -> Result<Vec<Row<'a>>, Error> {
    let mut rows = Vec::new();
    let mut columns = None;
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (number + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let refuse = |problem: String| Error::at(format!("{name}:{number}"), problem);
        let Some(columns) = columns else {
            columns = Some(read_header(line).ok_or_else(|| {
                let expected = HEADER[..NEEDED].join(",");
                refuse(format!(
                    "\"{line}\": expected the header \"{expected}\", perhaps with \",port\" or \",port,priority\""
                ))
            })?);
            continue;
        };
        let mut fields = [""; HEADER.len()];
        let mut count = 0;
        for field in line.split(',') {
            if let Some(slot) = fields.get_mut(count) {
                *slot = field.trim();
            }
            count += 1;
        }
        if count != columns {
            let names = HEADER[..columns].join(",");
            return Err(refuse(format!("\"{line}\": expected {columns} fields, {names}, not {count}")));
        }
        let [start, src, dst, bytes, port, priority] = fields;
        rows.push(Row {
            line: number,
            start: nanoseconds(start).ok_or_else(|| {
                refuse(format!("start_ns \"{start}\": expected nanoseconds since the start, such as 1500 or 1500.25"))
            })?,
            src,
            dst,
            bytes: digits(bytes)
                .map(Bytes)
                .ok_or_else(|| refuse(format!("bytes \"{bytes}\": expected a whole number of bytes")))?,
            port: match columns {
                NEEDED => BACKGROUND_PORT,
                _ => digits(port).ok_or_else(|| refuse(format!("port \"{port}\": expected 0 to 65535")))?,
            },
            priority: match columns < HEADER.len() {
                true => None,
                false => {
                    let wrong = || refuse(format!("priority \"{priority}\": expected 0 to {}", PRIORITIES - 1));
                    Some(digits(priority).filter(|class| *class < PRIORITIES).ok_or_else(wrong)?)
                }
            },
        });
    }
    if columns.is_none() {
        return Err(Error::at(name, format!("is empty: expected the header \"{}\"", HEADER[..NEEDED].join(","))));
    }
    Ok(rows)
}

/// Number of columns, if the line is a header.
fn read_header(line: &str) -> Option<usize> {
    let names: Vec<&str> = line.split(',').map(str::trim).collect();
    (names.len() >= NEEDED && HEADER.starts_with(&names)).then_some(names.len())
}

/// Parses nanoseconds with up to three decimals, exact in picoseconds.
fn nanoseconds(text: &str) -> Option<Duration> {
    if let Some(whole) = digits::<u64>(text) {
        return whole.checked_mul(1000).map(Duration);
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.contains(|c: char| !c.is_ascii_digit() && c != '.') {
        return None;
    }
    format!("{text} ns").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_with_its_lines() {
        let rows = parse("# three\nstart_ns,src,dst,bytes\n10.5,a,b,1000\n\n0,b,a,1\n", "f.csv").expect("valid");
        assert_eq!(rows.len(), 2);
        let first =
            Row { line: 3, start: Duration(10_500), src: "a", dst: "b", bytes: Bytes(1000), port: 100, priority: None };
        assert_eq!(rows[0], first);
        assert_eq!((rows[1].line, rows[1].port), (5, 100));
    }

    #[test]
    fn a_list_may_have_priorities() {
        let rows = parse("start_ns,src,dst,bytes,port,priority\n0,a,b,1000,200,7\n", "f.csv").expect("valid");
        assert_eq!((rows[0].port, rows[0].priority), (200, Some(7)));
        let error = parse("start_ns,src,dst,bytes,port,priority\n0,a,b,1,100,8\n", "f.csv").expect_err("eight classes");
        assert_eq!(error.to_string(), "f.csv:2: priority \"8\": expected 0 to 7");
        parse("start_ns,src,dst,bytes,priority\n", "f.csv").expect_err("a port comes before");
    }

    #[test]
    fn a_list_may_have_ports() {
        let rows = parse("start_ns,src,dst,bytes,port\n0,a,b,1000,200\n", "f.csv").expect("valid");
        assert_eq!(rows[0].port, 200);
        let error = parse("start_ns,src,dst,bytes,port\n0,a,b,1000\n", "f.csv").expect_err("four fields of five");
        assert!(error.to_string().contains("f.csv:2"), "{error}");
    }
}
