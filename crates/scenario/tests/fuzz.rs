//! Feeds mutations of valid texts to every parser. No parser may panic, and each must accept its own rendering of an
//! accepted text.
//!
//! `make fuzz` runs them for long: `FUZZ` is the number of executions per parser, and `FUZZ_SEED` selects another
//! sequence. A failure prints its input.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use backwater_scenario::host_list::HostList;
use backwater_scenario::{flow_list, from_json, load_str, sizes};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Bytes, Duration};

const SPLICES: &[&str] = &[
    "0",
    "-1",
    "+",
    ".",
    "..",
    ",",
    "=",
    "\"",
    "'",
    "#",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "\r",
    "\t",
    " ",
    "_",
    "e9",
    "nan",
    "inf",
    "1e400",
    "0x",
    "\u{feff}",
    "\0",
    "\u{663}",
    "\u{1F30A}",
    "\u{202e}",
    "18446744073709551616",
    "99999999999 TB",
    "0.00000000000000000001",
    "\"\"\"",
    "null",
    "true",
    "[[]]",
    "\\u0000",
    "a.b",
    "host0..host9",
    "_1",
    "us",
    "MiB",
];

const TOML: &[&str] = &[
    include_str!("../../../experiments/smoke/bfc.toml"),
    "scheme = \"pfc\"\nrun.duration = \"1 us\"\nworkload = [{ kind = \"long-lived\", count = 1, to = [\"host0\"] }]\n[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"1 Gbps\"\ndelay = \"1 us\"\n\
     [sweep]\nseed = [1, 2]\n[[variant]]\nname = \"a\"\n[figure]\npanels = [{ label = \"x\", value = { summary = \"loss.share\" } }]\n\
     [[expect]]\nclaim = \"x\"\nkind = \"ratio\"\nvariant = \"a\"\nnumerator = { fct = \"p99\" }\ndenominator = { quotient = [1, \
     { slowdown = \"mean\", sizes = \"(1,2]\" }] }\nlow = 1\nwhere = { seed = { min = 1 } }\nover = [\"seed\"]\n",
];
const SIZES: &[&str] =
    &["# interpolation=step whole_packets=true\nsize_bytes,cdf\n0,0\n1000,0.5\n2e3,1\n", "0 0\n1000 50\n2000 100\n"];
const FLOWS: &[&str] = &[
    "start_ns,src,dst,bytes,port,priority\n0,a,b,1000,100,0\n10.5,b,a,1,200,7\n",
    "# x\nstart_ns,src,dst,bytes\n0,a,b,1\n",
];
const HOSTS: &[&str] =
    &["# x\nhost0 slots=8\nhost1:8 # y\n\n2\n", "host4..host7 slots = 2 max_slots=4\n8-11\n12..15:2\n"];
const QUANTITIES: &[&str] = &["100 Gbps", "1 us", "12 MB", "1 TiB", "18446744073709551615 B"];
const SETS: &[&str] = &["switch.queues=32", "sweep.seed=[1, 2]", "topology.hosts=3", "variant=a", "run.drain=4.5"];

/// Returns a valid text with a few pieces doubled, removed, reversed, overwritten, or taken from another text.
fn mutate(texts: &[String], stream: &mut Stream) -> String {
    let mut below = |n: usize| stream.next_u32() as usize % n.max(1);
    let mut text: Vec<char> = texts[below(texts.len())].chars().collect();
    for _ in 0..=below(4) {
        let at = below(text.len() + 1);
        let end = (at + below(16)).min(text.len());
        let piece: Vec<char> = text[at..end].to_vec();
        let middle: Vec<char> = match below(6) {
            0 => Vec::new(),
            1 => [piece.clone(), piece].concat(),
            2 => piece.into_iter().rev().collect(),
            3 => {
                let other: Vec<char> = texts[below(texts.len())].chars().collect();
                let from = below(other.len());
                other[from..(from + below(40)).min(other.len())].to_vec()
            }
            _ => SPLICES[below(SPLICES.len())].chars().collect(),
        };
        text.splice(at..end, middle);
    }
    text.into_iter().collect()
}

/// Feeds mutations to a parser, which returns whether it accepted one. Returns the number accepted.
fn fuzz(name: &str, few: u64, texts: &[&str], parse: impl Fn(&str) -> bool) -> u64 {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) if !text.is_empty() => text.parse().expect("a whole number"),
        _ => default,
    };
    let (count, seed) = (number("FUZZ", few), number("FUZZ_SEED", 14));
    let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
    let refused = texts.iter().find(|text| !parse(text));
    assert!(refused.is_none(), "{name}: not valid: {refused:?}");
    let mut stream = Stream::new(seed, count, name.len() as u64);
    let mut taken = 0;
    for execution in 0..count {
        let text = mutate(&texts, &mut stream);
        match catch_unwind(AssertUnwindSafe(|| parse(&text))) {
            Ok(took) => taken += u64::from(took),
            Err(_) => panic!("{name}, seed {seed}, execution {execution}: {text:?}"),
        }
    }
    println!("{name}: {count} executions, {taken} taken");
    taken
}

fn scenario(text: &str, sets: &[String]) -> bool {
    match load_str(text, Path::new("no-such-directory"), "fuzz.toml", sets, None) {
        Ok(plan) => {
            let run = &plan.runs[0].scenario;
            let json = serde_json::to_string(run).expect("a scenario is plain data");
            assert_eq!(&from_json(&json).expect("what is taken is valid"), run);
            true
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control) && message.chars().count() < 4000, "{message}");
            false
        }
    }
}

fn quantity(text: &str) -> bool {
    let time = text.parse::<Duration>().map(|x| assert_eq!(x.to_string().parse(), Ok(x))).is_ok();
    let size = text.parse::<Bytes>().map(|x| assert_eq!(x.to_string().parse(), Ok(x))).is_ok();
    let rate = text.parse::<BitsPerSec>().map(|x| assert_eq!(x.to_string().parse(), Ok(x))).is_ok();
    assert!(u8::from(time) + u8::from(size) + u8::from(rate) < 2, "one unit has one meaning: {text}");
    time || size || rate
}

fn all() {
    let json = load_str(TOML[0], Path::new("."), "a.toml", &[], None).expect("valid").runs.remove(0).scenario;
    let json = serde_json::to_string(&json).expect("plain data");
    let taken = [
        fuzz("quantities", 40_000, QUANTITIES, quantity),
        fuzz("scenarios", 4_000, TOML, |text| scenario(text, &[])),
        fuzz("settings", 4_000, SETS, |set| scenario(TOML[1], &[set.to_string()])),
        fuzz("resolved scenarios", 4_000, &[&json], |text| from_json(text).is_ok()),
        fuzz("size tables", 20_000, SIZES, |text| {
            sizes::parse(text, "t.csv").is_ok_and(|table| {
                assert!(table.mean() >= 1.0 && table.at(0.5) >= 0.0 && table.drawn_moments()[0].is_finite());
                true
            })
        }),
        fuzz("lists of flows", 20_000, FLOWS, |text| flow_list::parse(text, "f.csv").is_ok()),
        fuzz("lists of hosts", 20_000, HOSTS, |text| HostList::parse(text, "p.txt", None).is_ok()),
    ];
    assert!(taken.iter().all(|taken| *taken > 0), "none refuses everything: {taken:?}");
}

#[test]
fn no_parser_panics_at_a_mutation() {
    all();
}

#[test]
#[ignore = "make fuzz"]
fn fuzz_every_parser_for_long() {
    all();
}
