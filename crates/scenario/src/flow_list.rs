//! Lists of flows in CSV: `start_ns,src,dst,bytes`, and `port` where another simulator's files have one.

use std::path::Path;

use backwater_types::{Bytes, Duration};

use crate::error::Error;
use crate::model::{BACKGROUND_PORT, ListedFlow};
use crate::sizes::read_text;

const HEADER: [&str; 5] = ["start_ns", "src", "dst", "bytes", "port"];
/// Columns that have to be there.
const NEEDED: usize = 4;

/// Reads a list; each flow comes with the number of its line. `name` is what messages call the file.
pub(crate) fn read(path: &Path, name: &str) -> Result<Vec<(usize, ListedFlow)>, Error> {
    parse(&read_text(path, name)?, name)
}

fn parse(text: &str, name: &str) -> Result<Vec<(usize, ListedFlow)>, Error> {
    let mut flows = Vec::new();
    let mut columns = None;
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (number + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let refuse = |problem: String| Error::at(format!("{name}:{number}"), problem);
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let Some(columns) = columns else {
            if fields.len() < NEEDED || !HEADER.starts_with(&fields) {
                let expected = HEADER[..NEEDED].join(",");
                return Err(refuse(format!("\"{line}\": expected the header \"{expected}\", perhaps with \",port\"")));
            }
            columns = Some(fields.len());
            continue;
        };
        if fields.len() != columns {
            let names = HEADER[..columns].join(",");
            return Err(refuse(format!("\"{line}\": expected {columns} fields, {names}, not {}", fields.len())));
        }
        let [start, src, dst, bytes] = [0, 1, 2, 3].map(|column| fields[column]);
        let port = fields.get(NEEDED);
        flows.push((
            number,
            ListedFlow {
                start: nanoseconds(start).ok_or_else(|| {
                    refuse(format!(
                        "start_ns \"{start}\": expected nanoseconds since the start, such as 1500 or 1500.25"
                    ))
                })?,
                src: src.into(),
                dst: dst.into(),
                bytes: bytes
                    .parse()
                    .map(Bytes)
                    .map_err(|_| refuse(format!("bytes \"{bytes}\": expected a whole number of bytes")))?,
                port: port.map_or(Ok(BACKGROUND_PORT), |port| {
                    port.parse().map_err(|_| refuse(format!("port \"{port}\": expected 0 to 65535")))
                })?,
            },
        ));
    }
    if columns.is_none() {
        return Err(Error::at(name, format!("is empty: expected the header \"{}\"", HEADER[..NEEDED].join(","))));
    }
    Ok(flows)
}

/// Nanoseconds with up to three decimals, exact in picoseconds.
fn nanoseconds(text: &str) -> Option<Duration> {
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
        let flows = parse("# three\nstart_ns,src,dst,bytes\n10.5,a,b,1000\n\n0,b,a,1\n", "f.csv").expect("valid");
        assert_eq!(flows.len(), 2);
        assert_eq!(flows[0].0, 3);
        assert_eq!(flows[0].1.start, Duration(10_500));
        assert_eq!(flows[1].0, 5);
        assert_eq!(flows[1].1.port, 100);
    }

    #[test]
    fn a_list_may_have_ports() {
        let flows = parse("start_ns,src,dst,bytes,port\n0,a,b,1000,200\n", "f.csv").expect("valid");
        assert_eq!(flows[0].1.port, 200);
        let error = parse("start_ns,src,dst,bytes,port\n0,a,b,1000\n", "f.csv").expect_err("four fields of five");
        assert!(error.to_string().contains("f.csv:2"), "{error}");
    }
}
