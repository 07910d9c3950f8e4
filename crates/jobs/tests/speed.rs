//! How fast traces are read. Run alone, in a release build:
//! `cargo test --release -p backwater-jobs --test speed -- --ignored --nocapture`.

use backwater_jobs::htsim::{self, Unit};
use backwater_jobs::{csv, goal};
use std::fmt::Write as _;
use std::io::{BufReader, Cursor, Read};

/// A trace of 16 ranks that pass a message round and compute, written while it is read: `each` operations a rank.
struct Ring {
    each: u64,
    /// Rank and operation that come next.
    rank: u64,
    op: u64,
    text: Vec<u8>,
    at: usize,
}

const RANKS: u64 = 16;

impl Read for Ring {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            for _ in 0..1000 {
                self.write();
            }
        }
        let length = into.len().min(self.text.len() - self.at);
        into[..length].copy_from_slice(&self.text[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

impl Ring {
    fn new(each: u64) -> Ring {
        let text = format!("num_ranks {RANKS}\n").into_bytes();
        Ring { each, rank: 0, op: 0, text, at: 0 }
    }

    fn write(&mut self) {
        use std::io::Write;
        let Ring { each, rank, op, text, .. } = self;
        if *rank == RANKS {
            return;
        }
        if *op == 0 {
            writeln!(text, "\nrank {rank} {{").expect("memory");
        }
        let (next, before) = ((*rank + 1) % RANKS, (*rank + RANKS - 1) % RANKS);
        match *op % 3 {
            0 => writeln!(text, "l{op}: send 65536b to {next} tag {} cpu 0 nic 0", *op / 3),
            1 => writeln!(text, "l{op}: recv 65536b from {before} tag {} cpu 0 nic 0", *op / 3),
            _ => writeln!(text, "l{op}: calc 1234 cpu 0"),
        }
        .expect("memory");
        if *op > 0 {
            writeln!(text, "l{op} requires l{}", *op - 1).expect("memory");
        }
        *op += 1;
        if *op == *each {
            writeln!(text, "}}").expect("memory");
            (*rank, *op) = (*rank + 1, 0);
        }
    }
}

#[test]
fn a_ring_is_read() {
    let job = goal::text::read(BufReader::new(Ring::new(3000)), "ring.goal").expect("valid");
    assert_eq!((job.ranks(), job.operations()), (16, 48_000));
}

#[test]
#[ignore = "measures; in a release build, alone"]
fn ten_million_operations_are_read_at_two_million_a_second() {
    let each = 625_002;
    let mut text = Vec::new();
    Ring::new(each).read_to_end(&mut text).expect("memory");
    let start = seconds();
    let job = goal::text::read(&text[..], "ring.goal").expect("valid");
    report("text", job.operations(), text.len(), start);
    drop(text);
    let (start, mut binary) = (seconds(), Vec::new());
    goal::binary::write(&job, &mut binary).expect("memory");
    report("binary, written", job.operations(), binary.len(), start);
    let start = seconds();
    let again = goal::binary::read(Cursor::new(&binary), "ring.bin").expect("valid");
    report("binary, read", job.operations(), binary.len(), start);
    assert_eq!(again, job);
}

/// Prints operations a second since `start`.
fn report(what: &str, operations: u64, bytes: usize, start: f64) {
    let (seconds, megabytes) = (seconds() - start, bytes >> 20);
    let rate = operations as f64 / seconds / 1e6;
    println!("{what}: {operations} operations, {megabytes} MiB, {seconds:.2} s: {rate:.2} million/s");
}

/// Seconds that this thread has run: others may use the machine as well.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

#[test]
#[ignore = "measures; in a release build, alone"]
fn large_traces_with_an_error_are_refused_in_seconds() {
    let operations = 5_000_000;
    let mut text = String::from("num_ranks 2\nrank 0 {\n");
    (0..operations).for_each(|tag| writeln!(text, "send 1b to 1 tag {}", tag * 7 % 4_294_967_291_u64).expect("memory"));
    let refused = |what: &str, text: &str| {
        let start = seconds();
        let error = goal::text::read(text.as_bytes(), "large.goal").expect_err("an error").to_string();
        println!("{error}");
        report(what, operations, text.len(), start);
    };
    refused("no receive", &format!("{text}}}\nrank 1 {{\n}}\n"));
    refused("one receive of any", &format!("{text}}}\nrank 1 {{\nrecv 1b from -1\n}}\n"));
    // Labels that are found by hash, each required by the next, and the last by the first.
    let mut text = String::from("num_ranks 1\nrank 0 {\n");
    (0..operations)
        .for_each(|op| writeln!(text, "op{op}x: calc 1\nop{op}x requires op{}x", op.max(1) - 1).expect("memory"));
    let text = text.replacen("op0x requires op0x\n", "", 1);
    refused("a cycle", &format!("{text}op0x requires op{}x\n}}", operations - 1));
}

#[test]
#[ignore = "measures; in a release build, alone"]
fn a_million_messages_are_read_in_seconds() {
    let (messages, hosts) = (1_000_000, 1024);
    let mut text = String::from("id,src,dst,bytes,after,compute_ns\n");
    let mut matrix = format!("Nodes {hosts}\nConnections {messages}\n");
    for number in 0..messages {
        let (src, dst, before) = (number % hosts, (number + 1) % hosts, number as i64 - hosts as i64);
        // Each host waits for its message before.
        let after = if before < 0 { String::new() } else { format!("m{before}") };
        writeln!(text, "m{number},{src},{dst},4096,{after},10").expect("memory");
        let begin = if before < 0 { format!("start {number}") } else { format!("trigger {}", before + 1) };
        let id = number + 1;
        writeln!(matrix, "{src}->{dst} id {id} {begin} size 4096 send_done_trigger {id}").expect("memory");
        writeln!(matrix, "trigger id {id} oneshot").expect("memory");
    }
    let start = seconds();
    let job = csv::read(&text, "large.csv", None).expect("valid");
    report("CSV", job.operations(), text.len(), start);
    let start = seconds();
    let read = htsim::matrix::read(&matrix, "large.cm", Unit::Picoseconds).expect("valid");
    let job = read.job("large.cm", None).expect("each trigger has one host");
    report("connection matrix", job.operations(), matrix.len(), start);
}
