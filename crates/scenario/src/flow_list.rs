//! Lists of flows in CSV: `start_ns,src,dst,bytes`.

use std::path::Path;

use backwater_types::{Bytes, Duration};

use crate::error::Error;
use crate::model::ListedFlow;
use crate::sizes::read_text;

const HEADER: [&str; 4] = ["start_ns", "src", "dst", "bytes"];

/// Reads a list; each flow comes with the number of its line. `name` is what messages call the file.
pub(crate) fn read(path: &Path, name: &str) -> Result<Vec<(usize, ListedFlow)>, Error> {
    parse(&read_text(path, name)?, name)
}

fn parse(text: &str, name: &str) -> Result<Vec<(usize, ListedFlow)>, Error> {
    let mut flows = Vec::new();
    let mut headed = false;
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (number + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let refuse = |problem: String| Error::at(format!("{name}:{number}"), problem);
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if !headed {
            if fields != HEADER {
                return Err(refuse(format!("\"{line}\": expected the header \"{}\"", HEADER.join(","))));
            }
            headed = true;
            continue;
        }
        let [start, src, dst, bytes] = fields[..] else {
            return Err(refuse(format!("\"{line}\": expected 4 fields, {}, not {}", HEADER.join(","), fields.len())));
        };
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
            },
        ));
    }
    if !headed {
        return Err(Error::at(name, format!("is empty: expected the header \"{}\"", HEADER.join(","))));
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
    }
}
