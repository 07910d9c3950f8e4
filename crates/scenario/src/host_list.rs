//! Lists of hosts for the ranks of a job, as in two kinds of files of MPI. A host file has a host in each line, in the
//! order of ranks; a rank file of Open MPI has a rank and its host in each line.
//!
//! ```text
//! # The first eight ranks share a host.
//! host0 slots=8
//! host1:8
//! host2
//! host4..host7
//! 8-11
//! ```
//!
//! | a line may have | here |
//! |---|---|
//! | a name | the host of the next rank. Several lines may name one host, which takes a rank for each |
//! | a range, `host4..host7` | these hosts, a rank each |
//! | a number, or a range `8-11` or `8..11` of them | `host8` to `host11`. Where a graph names the hosts, only its names |
//! | `slots=N` after a blank, as for Open MPI | so many ranks, one after another |
//! | `:N` after the name, as for MPICH | the same. Both together are refused |
//! | `max_slots=N` | at least the slots, as for Open MPI. It changes nothing |
//! | no slots | one rank, or `ranks_per_host`. Open MPI takes the number of processor cores |
//! | anything else after the name, such as `user=NAME` | refused |
//! | `rank 0=host0 slot=1`, as in rank files of Open MPI | the host of rank 0. Then all lines are such, each of another rank |
//! | `slot=` in such a line: processor cores | changes nothing |
//! | a relative host in it, such as `+n0` | refused |
//! | `#`, and what follows it in the line; empty lines | skipped |
//!
//! A job needs a place for each rank, and leaves hosts free that it does not need. With too few places it is refused.
//! `mpiexec` of MPICH begins again at the first line. A collective has a rank for each host of the file, and takes no
//! host twice. A rank file places every rank, so `ranks_per_host`, `placement` and `skip` are refused beside it.

use crate::error::Error;
use crate::ranges::range;
use crate::text::digits;
use backwater_jobs::job::RANKS_MAX;
use std::collections::{BTreeMap, HashSet};

/// Host of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Line number, from 1.
    pub line: usize,
    /// Name of the host.
    pub host: String,
}

/// A list as a file.
#[derive(Clone, Debug)]
pub struct HostList {
    /// Name of the file in messages.
    pub file: String,
    /// Hosts, in the order of ranks.
    pub entries: Vec<Entry>,
    /// Whether the lines name their ranks.
    pub by_rank: bool,
}

impl HostList {
    /// Parses a list. `file` is its name in messages. `named` are the names of the hosts, if a graph has given them;
    /// otherwise hosts are `host0`, `host1` and so on.
    ///
    /// # Errors
    /// Names the first line that is not as in the module's documentation. Whether a host exists is checked later.
    pub fn parse(text: &str, file: &str, named: Option<&[String]>) -> Result<HostList, Error> {
        let named: Option<HashSet<&str>> = named.map(|names| names.iter().map(String::as_str).collect());
        let lines = text.lines().enumerate().map(|(number, line)| (number + 1, bare(line)));
        let lines: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.is_empty()).collect();
        let Some((_, first)) = lines.first() else {
            return Err(Error::at(file, "names no host: expected one in each line"));
        };
        let by_rank = is_of_rank(first, named.as_ref());
        let read = if by_rank { placed } else { in_turn };
        Ok(HostList { file: file.into(), entries: read(&lines, file, named.as_ref())?, by_rank })
    }

    /// Makes an error about the host of a rank.
    pub(crate) fn error(&self, rank: usize, problem: &str) -> Error {
        let Entry { line, host } = &self.entries[rank];
        Error::at(format!("{}:{line}", self.file), format!("host \"{host}\": {problem}"))
    }
}

/// Returns a line without its comment and the blanks around it.
fn bare(line: &str) -> &str {
    line.split('#').next().unwrap_or("").trim()
}

/// Returns the places of a list whose lines are in the order of ranks.
fn in_turn(lines: &[(usize, &str)], file: &str, named: Option<&HashSet<&str>>) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for &(number, line) in lines {
        let refuse = |problem: String| Error::at(format!("{file}:{number}"), problem);
        let (hosts, slots) = read_line(line, named).map_err(refuse)?;
        if entries.len() as u64 + hosts.len() as u64 * u64::from(slots) > u64::from(RANKS_MAX) {
            return Err(refuse(format!("\"{line}\": expected no more than {RANKS_MAX} ranks up to this line")));
        }
        for host in hosts {
            entries.extend(std::iter::repeat_n(Entry { line: number, host }, slots as usize));
        }
    }
    Ok(entries)
}

/// Returns the places of a rank file, whose lines name their ranks.
fn placed(lines: &[(usize, &str)], file: &str, named: Option<&HashSet<&str>>) -> Result<Vec<Entry>, Error> {
    let mut placed: BTreeMap<u32, Entry> = BTreeMap::new();
    for &(number, line) in lines {
        let refuse = |problem: String| Error::at(format!("{file}:{number}"), problem);
        let (rank, host) = read_rank(line, named).map_err(refuse)?;
        if let Some(Entry { line: before, .. }) = placed.get(&rank) {
            return Err(refuse(format!("rank {rank}: line {before} has placed it: expected every rank once")));
        }
        placed.insert(rank, Entry { line: number, host });
    }
    match (0..).zip(&placed).find(|(expected, (rank, _))| expected != *rank) {
        Some((absent, (rank, Entry { line, .. }))) => {
            Err(Error::at(format!("{file}:{line}"), format!("rank {rank}: expected a line for rank {absent} too")))
        }
        None => Ok(placed.into_values().collect()),
    }
}

/// Whether a line is one of a rank file. A graph may have a host of the name `rank`.
fn is_of_rank(line: &str, named: Option<&HashSet<&str>>) -> bool {
    let rank = line.split_whitespace().next() == Some("rank");
    rank && !named.is_some_and(|names| names.contains("rank"))
}

/// Returns the rank and the host of a line of a rank file.
fn read_rank(line: &str, named: Option<&HashSet<&str>>) -> Result<(u32, String), String> {
    let wrong = || format!("\"{line}\": expected `rank N=HOST slot=CORES`, as in the first line");
    let joined = joined(line);
    let mut words = joined.split_whitespace();
    let (Some("rank"), Some((rank, host))) = (words.next(), words.next().and_then(|word| word.split_once('='))) else {
        return Err(wrong());
    };
    let cores = words.next();
    if cores.is_some_and(|cores| !cores.starts_with("slot=")) || words.next().is_some() {
        return Err(wrong());
    }
    if host.starts_with('+') {
        return Err(format!("\"{host}\": expected the name of a host: a relative one is of another file"));
    }
    let rank = digits::<u32>(rank)
        .filter(|rank| *rank < RANKS_MAX)
        .ok_or_else(|| format!("rank \"{rank}\": expected a number from 0 to {}", RANKS_MAX - 1))?;
    match &read_hosts(host, named)?[..] {
        [host] if !host.is_empty() => Ok((rank, host.clone())),
        _ => Err(format!("\"{host}\": expected one host for a rank")),
    }
}

/// Returns a line without blanks around its signs of equality.
fn joined(line: &str) -> String {
    let parts: Vec<&str> = line.split('=').map(str::trim).collect();
    parts.join("=")
}

/// Returns the hosts of a line, and the ranks of each.
fn read_line(line: &str, named: Option<&HashSet<&str>>) -> Result<(Vec<String>, u32), String> {
    let joined = joined(line);
    let mut words = joined.split_whitespace();
    let host = words.next().unwrap_or("");
    // A graph may have a host `rack1:2`.
    let known = named.is_some_and(|names| names.contains(host));
    if is_of_rank(line, named) {
        return Err(format!("\"{line}\": expected the host alone, as in the first line"));
    }
    let after = host.rsplit_once(':').filter(|_| !known);
    let (host, mut slots) = match after {
        Some((host, count)) => (host, Some(read_slots(count, line)?)),
        None => (host, None),
    };
    let mut most = None;
    for word in words {
        let Some((key @ ("slots" | "max_slots" | "max-slots"), count)) = word.split_once('=') else {
            return Err(format!("\"{word}\": expected nothing but slots=N after the host"));
        };
        let into = if key == "slots" { &mut slots } else { &mut most };
        if into.is_some() {
            return Err(format!("\"{word}\": the line has said it before: expected one number of slots"));
        }
        *into = Some(read_slots(count, line)?);
    }
    let slots = slots.unwrap_or(1);
    if most.is_some_and(|most| most < slots) {
        return Err(format!("\"{line}\": expected max_slots of {slots} or more, since so many ranks are here"));
    }
    Ok((read_hosts(host, named)?, slots))
}

/// Reads a number of ranks.
fn read_slots(count: &str, line: &str) -> Result<u32, String> {
    let slots = digits::<u32>(count).filter(|slots| (1..=RANKS_MAX).contains(slots));
    slots.ok_or_else(|| format!("\"{line}\": slots \"{count}\": expected a number of ranks, 1 to {RANKS_MAX}"))
}

/// Returns the hosts that a word stands for.
fn read_hosts(word: &str, named: Option<&HashSet<&str>>) -> Result<Vec<String>, String> {
    let numbered = named.is_none();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let dashed = word.split_once('-').filter(|(first, last)| numbered && number(first) && number(last));
    let names = match word.split_once("..").or(dashed) {
        None => vec![word.to_string()],
        Some((first, last)) => range(first, last).ok_or_else(|| {
            let example = if numbered { "\"host4..host7\" or \"4-7\"" } else { "\"host4..host7\"" };
            format!("\"{word}\": expected a range of hosts from a lower to a higher number, such as {example}")
        })?,
    };
    let name = |text: String| if numbered && number(&text) { format!("host{text}") } else { text };
    Ok(names.into_iter().map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hosts of a list, each after its line.
    fn read(text: &str, named: Option<&[String]>) -> Vec<(usize, String)> {
        let list = HostList::parse(text, "p.txt", named).unwrap_or_else(|error| panic!("{error}"));
        list.entries.into_iter().map(|entry| (entry.line, entry.host)).collect()
    }

    /// Pairs of a line and a host.
    fn pairs(pairs: &[(usize, &str)]) -> Vec<(usize, String)> {
        pairs.iter().map(|(line, host)| (*line, host.to_string())).collect()
    }

    #[test]
    fn each_line_is_the_host_of_the_next_rank() {
        let text = "# of a scheduler\n\nhost3\n  host1 # not host2\nhost3\r\n";
        assert_eq!(read(text, None), pairs(&[(3, "host3"), (4, "host1"), (5, "host3")]));
    }

    #[test]
    fn slots_are_ranks_one_after_another() {
        let of = |line: &str| read(line, None);
        let twice = pairs(&[(1, "host4"), (1, "host4")]);
        let lines = ["host4 slots=2", "host4:2", "host4\tslots = 2 max_slots=2", "host4 max-slots=9 slots=2", "4:2"];
        for line in lines {
            assert_eq!(of(line), twice, "{line}");
        }
        assert_eq!(of("host0..host1 slots=2"), pairs(&[(1, "host0"), (1, "host0"), (1, "host1"), (1, "host1")]));
    }

    #[test]
    fn numbers_and_ranges_stand_for_names() {
        let three = pairs(&[(1, "host9"), (1, "host10"), (1, "host11")]);
        for line in ["host9..host11", "9..11", "9-11"] {
            assert_eq!(read(line, None), three, "{line}");
        }
        assert_eq!(read("7\n07", None), pairs(&[(1, "host7"), (2, "host07")]));
    }

    #[test]
    fn a_rank_file_places_each_rank() {
        let text = "# by hand\nrank 1=host4 slot=0:1,2\nrank 0 = 7 slot=1-2\nrank 2=host4\n";
        assert_eq!(read(text, None), pairs(&[(3, "host7"), (2, "host4"), (4, "host4")]));
        let names = ["rank", "x"].map(String::from);
        assert_eq!(read("rank\nx", Some(&names)), pairs(&[(1, "rank"), (2, "x")]), "a host of this name");
    }

    #[test]
    fn names_of_a_graph_are_taken_as_they_are() {
        let names = ["7", "1-2", "rack1:2"].map(String::from);
        let text = "7\n1-2\nrack1:2\nrack1:2:2\nrack1:3";
        let hosts: Vec<String> = read(text, Some(&names)).into_iter().map(|(_, host)| host).collect();
        assert_eq!(hosts, ["7", "1-2", "rack1:2", "rack1:2", "rack1:2", "rack1", "rack1", "rack1"]);
    }

    #[test]
    fn what_is_not_a_line_is_refused_with_its_number() {
        let cases = [
            ("", "p.txt: names no host: expected one in each line"),
            ("# host0\n", "p.txt: names no host"),
            ("host0\nhost1 host2", "p.txt:2: \"host2\": expected nothing but slots=N after the host"),
            ("host0 user=me", "p.txt:1: \"user=me\": expected nothing but slots=N"),
            ("host0, host1", "p.txt:1: \"host1\": expected nothing but slots=N"),
            ("host0 slots=", "p.txt:1: \"host0 slots=\": slots \"\": expected a number of ranks, 1 to 1048576"),
            ("host0 slots=+1", "p.txt:1: \"host0 slots=+1\": slots \"+1\": expected a number"),
            ("host0 slots=0", "slots \"0\": expected a number of ranks, 1 to 1048576"),
            ("host0:x", "p.txt:1: \"host0:x\": slots \"x\": expected a number of ranks"),
            ("host0:2 slots=2", "p.txt:1: \"slots=2\": the line has said it before: expected one number of slots"),
            ("host0 slots=4 max_slots=2", "expected max_slots of 4 or more, since so many ranks are here"),
            (
                "host0\nrank 1=host1 slot=0",
                "p.txt:2: \"rank 1=host1 slot=0\": expected the host alone, as in the first line",
            ),
            ("rank 0=host0\nhost1", "p.txt:2: \"host1\": expected `rank N=HOST slot=CORES`, as in the first line"),
            ("rank 0=host0 slots=1", "p.txt:1: \"rank 0=host0 slots=1\": expected `rank N=HOST slot=CORES`"),
            ("rank 0=host0 slot=0 x", "expected `rank N=HOST slot=CORES`"),
            ("rank 0", "p.txt:1: \"rank 0\": expected `rank N=HOST"),
            ("rank 0=", "p.txt:1: \"\": expected one host for a rank"),
            ("rank 0=0-3", "p.txt:1: \"0-3\": expected one host for a rank"),
            ("rank 0=+n0", "p.txt:1: \"+n0\": expected the name of a host"),
            ("rank -1=host0", "p.txt:1: rank \"-1\": expected a number from 0 to 1048575"),
            ("rank 0=host0\nrank 0=host1", "p.txt:2: rank 0: line 1 has placed it: expected every rank once"),
            ("rank 2=host0\nrank 0=host1", "p.txt:1: rank 2: expected a line for rank 1 too"),
            ("\nhost5..host2", "p.txt:2: \"host5..host2\": expected a range of hosts from a lower to a higher number"),
            ("5-2", "p.txt:1: \"5-2\": expected a range of hosts from a lower to a higher number, such as"),
            ("host0 slots=1048576\nhost1", "p.txt:2: \"host1\": expected no more than 1048576 ranks up to this line"),
            ("0-59999 slots=1048576", "p.txt:1: \"0-59999 slots=1048576\": expected no more than 1048576 ranks"),
        ];
        for (text, said) in cases {
            let error = HostList::parse(text, "p.txt", None).expect_err(text).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
