//! Feeds mutations of valid files to every reader. No reader may panic, take long, or allocate much, each must say what is
//! wrong in one line, and each must accept what is written of what it accepted.
//!
//! `make fuzz` runs them for long: `FUZZ` is the number of executions per reader, `FUZZ_SEED` selects another sequence, and
//! `FUZZ_READER` the readers whose names have this text. A failure prints its input.

use backwater_jobs::htsim::{self, Unit};
use backwater_jobs::{Job, Refused, chakra, csv, goal, simai};
use backwater_types::hash::Stream;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Most bytes that one execution may allocate, all in all.
const BYTES_MAX: usize = 1 << 30;
/// Longest that one execution may take.
const TIME_MAX: Duration = Duration::from_secs(10);

const SPLICES: &[&[u8]] = &[
    b"0",
    b"1",
    b"2",
    b"3",
    b"-1",
    b"+",
    b".",
    b"..",
    b",",
    b":",
    b"->",
    b"{",
    b"}",
    b"/",
    b"//",
    b"/*",
    b"*/",
    b"#",
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b"_",
    b"e9",
    b"\0",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\xef\xbb\xbf",
    b"\xd9\xa3",
    b"\xe2\x80\xae",
    b"255",
    b"256",
    b"1048575",
    b"1048576",
    b"4294967295",
    b"4294967296",
    b"18446744073709551616",
    b"0.0000000000000000001",
    b"num_ranks ",
    b"rank 1 {\n",
    b"send 1b to 1\n",
    b"recv 1b from 0\n",
    b" requires ",
    b" irequires ",
    b" tag -1",
    b" cpu 9",
    b" nic 9",
    b"l1",
    b"calc 5\n",
    b" id 1",
    b" start 0",
    b" size 5",
    b" trigger 1",
    b" send_done_trigger 1",
    b" recv_done_trigger 2",
    b"trigger id 1 oneshot\n",
    b"trigger id 2 multishot\n",
    b" barrier count 2",
    b"failure switch_type AGG switch_id 2 link_id 1\n",
    b"0->1",
    b"1->0",
    b"Nodes 9\n",
    b"Tier 1\n",
    b"Bundle 2\n",
    b"Radix_Up 2\n",
    b"Radix_Down 2\n",
    b"Oversubscribed 2\n",
    b"a b",
    b"a,0,1,8,",
    b" checkpoints: 1 0",
    b" checkpoint_initiates: 1 1",
    b" pp: 2",
    b"embedding_layer",
    b"HYBRID_MODEL_DATA",
    b"ALLTOALL_EP",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"\x52\x15\x0a\x0cinvolved_dim\xe2\x01\x04\x0a\x02\x01\x00",
    b"\x80\x01",
    b"\x00\x00\x00\x00",
];

const GOAL: &[&str] = &[
    include_str!("data/binary_tree_32.goal"),
    "num_ranks 3\nrank 0 {\n a: calc 1500 cpu 1\n b: send 4096b to 1 tag 7 nic 0\n b requires a\n}\nrank 1 {\n\
     r: recv 4096b from 0 tag 7\n s: send 64 b to 2 cpu 3 tag 9 // x\n s irequires r\n}\nrank 2 {\n r: recv 64b from -1 tag -1\n}",
    "num_ranks 2\nrank 0 {\nl1: send 1b to 1\nl2: send 2b to 1 tag 1\nl2 requires l1\n}\nrank 1 { /*\n*/\nrecv 1b from 0\n\
     l1: recv 2b from 0 tag 1\nl3: calc 9\nl3 requires l1\nl4: calc 9\nl4 irequires l3\nl4 requires l1\n}\n",
];
const CSV: &[&str] = &[
    "id,src,dst,bytes,after,compute_ns,start_ns,stream,phase\na,0,1,1000,,500,,,x\nb,1,2,10,a,0,30.25,1,\nc,0,2,20,a,,,,y\n\
     d,2,0,30,b c,1200.5,,2,x\n",
    "# x\nid,src,dst,bytes,after\n1,0,1,1,\n2,1,0,1,1\n3,0,1,1,2 1\n",
    "id,src,dst,bytes,after,compute_ns,start_ns\na,0,1,1,,,\nb,1,,,a,5,9\nc,1,0,1,b,,\nd,1,2,1,b,,\ne,0,,,c,,1\n",
];
const MATRICES: &[&str] = &[
    "Nodes 16\nConnections 3\nTriggers 2\n3->9 id 1 start 5 size 1048576 send_done_trigger 4 recv_done_trigger 5\n\
     9->3 id 2 trigger 5 size 4096 prio 2\n3->5 id 3 trigger 4 size 1\ntrigger id 4 oneshot\ntrigger id 5 barrier count 1\n",
    "Nodes 4\n0->1 id 1 start 0 size 1 send_done_trigger 1\n2->1 id 2 start 3 size 1 send_done_trigger 1\n\
     0->3 id 3 trigger 1 size 1 recv_done_trigger 2\n0->2 id 4 trigger 1 size 1 send_done_trigger 2\n\
     3->0 id 5 trigger 2 size 7\ntrigger id 1 multishot\ntrigger id 2 oneshot\n",
    include_str!("data/bidir.cm"),
    include_str!("data/test_cr_1f1m10p.cm"),
];
const TREES: &[&str] = &[
    include_str!("data/fat_tree_128_4os.topo"),
    include_str!("data/leaf_spine_tiny.topo"),
    "Nodes 64\nTiers 2\nPodsize 64\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 16\nRadix_Up 8\nQueue_Up 9000\n\
     Oversubscribed 2\nDownlink_Latency_ns 500\nTier 1\nDownlink_speed_Gbps 400\nRadix_Down 8\nBundle 2\nDownlink_Latency_ns 500\n",
];

const MODELS: &[&str] = &[
    include_str!("data/microAllReduce.txt"),
    "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 pp: 2 ga: 2 all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0 pp_comm 64\n3\n\
     norm -1 1 BROADCAST 64 1 NONE 0 1 REDUCESCATTER 96 100\nembedding_layer -1 5 ALLGATHER 64 5 REDUCESCATTER 64 5 NONE 0 1\n\
     embedding_layer -1 5 ALLTOALL_EP 64 5 ALLREDUCE 64 5 ALLREDUCE_DP_EP 64 1\n",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 2 0 2 checkpoint_initiates: 2 3 1\n4\n\
     a -1 1 ALLREDUCE 64 1 NONE 0 1 ALLGATHER 96 100\nb -1 5 ALLGATHER 64 5 REDUCESCATTER 64 5 NONE 0 1\n\
     c -1 1 NONE 0 1 NONE 0 1 NONE 0 0\nd -1 1 ALLREDUCE 8 1 NONE 0 1 ALLREDUCE 9 1\n",
    "HYBRID_CUSTOMIZED\n2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 96 100 DATA\nb -1 5 ALLGATHER 64 5 ALLREDUCE 64 5 NONE 0 1 MODEL\n",
    "HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1\n3\ne -1 1 ALLTOALL 64 1 ALLTOALL 64 1 NONE 0 9\n\
     a -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 64 1\nb -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 64 1\n",
    "DISTRIBUTED_INFERENCE all_gpus: 4\n1\na -1 1 ALLTOALL 64 1 NONE 0 1 NONE 0 9\n",
    "HYBRID_DATA_MODEL\n1\na -1 1 ALLTOALL 64 1 ALLREDUCE 64 1 NONE 0 9\n",
];
const TRACES: &[&[u8]] = &[
    include_bytes!("data/astra/all_reduce.0.et"),
    include_bytes!("data/astra/all_to_all.1.et"),
    // Metadata; the groups of PyTorch; an all-reduce of group "1" of 64 bytes after it.
    b"\0\x50\x08\x03\x12\x12process_group:init\x18\x01\x42\x36\x0a\x34[{\"pg_name\": \"1\", \"ranks\": [0]}, {\"pg_name\": \"b\\n\"}]\
      \x25\x08\x04\x18\x07\x2a\x01\x03\x52\x0d\x0a\x09comm_size\x48\x40\x52\x0d\x0a\x07pg_name\xea\x01\x011",
    // Metadata; computation 1 of 5 us; send 2 after it, to rank 1.
    b"\0\x08\x08\x01\x12\x00\x18\x04\x38\x05\x35\x08\x02\x12\x01s\x18\x05\x2a\x01\x01\
      \x52\x0d\x0a\x09comm_size\x48\x09\x52\x0c\x0a\x08comm_dst\x38\x01\x52\x0c\x0a\x08comm_tag\x38\x02",
];

/// Returns a valid file with a few pieces doubled, removed, reversed, overwritten, or taken from another file.
fn mutate(files: &[Vec<u8>], stream: &mut Stream) -> Vec<u8> {
    let mut below = |n: usize| stream.next_u32() as usize % n.max(1);
    let mut file = files[below(files.len())].clone();
    for _ in 0..=below(3) {
        let at = below(file.len() + 1);
        let most = [2, 16][below(2)];
        let end = (at + below(most)).min(file.len());
        let piece = file[at..end].to_vec();
        let middle: Vec<u8> = match below(8) {
            0 => Vec::new(),
            1 => [&piece[..], &piece].concat(),
            2 => piece.into_iter().rev().collect(),
            3 => {
                let other = &files[below(files.len())];
                let from = below(other.len());
                other[from..(from + below(40)).min(other.len())].to_vec()
            }
            4 => [&[below(256) as u8], piece.get(1..).unwrap_or(&[])].concat(),
            5 => [&[b'0' + below(10) as u8], piece.get(1..).unwrap_or(&[])].concat(),
            _ => SPLICES[below(SPLICES.len())].to_vec(),
        };
        file.splice(at..end, middle);
    }
    file
}

/// Feeds mutations to a reader, which returns whether it accepted one. Returns the number accepted.
fn fuzz(name: &str, few: u64, files: Vec<Vec<u8>>, read: impl Fn(&[u8]) -> bool) -> u64 {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) if !text.is_empty() => text.parse().expect("a whole number"),
        _ => default,
    };
    let (count, seed) = (number("FUZZ", few), number("FUZZ_SEED", 14));
    let only = std::env::var("FUZZ_READER").unwrap_or_default();
    if !name.contains(&only) {
        return 1;
    }
    let refused = files.iter().find(|file| !read(file));
    assert!(refused.is_none(), "{name}: not valid: {:?}", refused.map(|file| String::from_utf8_lossy(file)));
    let mut stream = Stream::new(seed, count, name.len() as u64);
    let (mut taken, mut most, mut longest) = (0, 0, Duration::ZERO);
    for execution in 0..count {
        let file = mutate(&files, &mut stream);
        let (region, start) = (Region::new(ALLOCATOR), Instant::now());
        let read = catch_unwind(AssertUnwindSafe(|| read(&file)));
        let (bytes, time) = (region.change().bytes_allocated, start.elapsed());
        (most, longest) = (most.max(bytes), longest.max(time));
        match read {
            Ok(took) if bytes <= BYTES_MAX && time <= TIME_MAX => taken += u64::from(took),
            _ => {
                let shown = String::from_utf8_lossy(&file);
                panic!("{name}, seed {seed}, execution {execution}, {bytes} B, {time:?}: {shown:?}\n{file:?}")
            }
        }
    }
    println!("{name}: {count} executions, {taken} taken, at most {} MiB and {longest:?} each", most >> 20);
    taken
}

/// Checks that an error is one short line, and returns what there is without one.
fn legible<T>(result: Result<T, Refused>) -> Option<T> {
    result
        .map_err(|error| {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control) && message.chars().count() < 2000, "{message}");
        })
        .ok()
}

fn accept(job: Option<Job>) -> bool {
    let Some(job) = job else { return false };
    export(&job);
    let (mut text, mut binary) = (Vec::new(), Vec::new());
    goal::write::write(&job, &mut text).expect("it was read from GOAL");
    assert_eq!(goal::text::read(&text[..], "again").as_ref(), Ok(&job));
    goal::binary::write(&job, &mut binary).expect("it was read from GOAL");
    assert_eq!(goal::binary::read(Cursor::new(binary), "again"), Ok(job));
    true
}

/// Writes a job in every format that can say it, and reads that.
fn export(job: &Job) {
    let (mut table, mut flows) = (Vec::new(), Vec::new());
    if csv::write(job, &mut table).is_ok() {
        let again = csv::read(&String::from_utf8_lossy(&table), "again.csv", None).expect("what is written is valid");
        assert!(again.ranks() <= job.ranks());
    }
    let Ok(matrix) = htsim::matrix_of(job) else { return };
    if htsim::matrix::write(&matrix, Unit::Picoseconds, &mut flows).is_ok() {
        let text = String::from_utf8_lossy(&flows);
        let again = htsim::matrix::read(&text, "again.cm", Unit::Picoseconds).expect("what is written is valid");
        assert_eq!(again.job("again.cm", None).expect("hits and flows are at one host").ranks(), job.ranks());
    }
}

fn matrix(text: &[u8], unit: Unit) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some(matrix) = legible(htsim::matrix::read(&text, "f.cm", unit)) else { return false };
    let (alone, told) = (matrix.job("f.cm", None), matrix.job("f.cm", Some(64)));
    assert!(alone.is_err() || alone == told, "a size of signals changes only what is refused without");
    let mut written = Vec::new();
    if htsim::matrix::write(&matrix, unit, &mut written).is_ok() {
        let again = htsim::matrix::read(&String::from_utf8_lossy(&written), "f.cm", unit).expect("valid");
        let told_again = again.job("f.cm", Some(64));
        assert!(told_again.as_ref().ok() == told.as_ref().ok(), "{told:?} {told_again:?}");
    }
    legible(alone);
    let told = legible(told);
    told.iter().for_each(export);
    told.is_some()
}

fn tree(text: &[u8]) -> bool {
    let Some(tree) = legible(htsim::fat_tree::read(&String::from_utf8_lossy(text), "f.topo")) else { return false };
    let mut written = Vec::new();
    htsim::fat_tree::write(&tree, &mut written).expect("it was read");
    // The top has neither links upwards nor is it oversubscribed.
    let mut expected = tree.clone();
    expected.tiers.last_mut().expect("two tiers").oversubscribed = 1;
    assert_eq!(htsim::fat_tree::read(&String::from_utf8_lossy(&written), "again"), Ok(expected));
    true
}

fn model(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some(read) = legible(simai::read(&text, "m.txt")) else { return false };
    // Larger jobs may take more than an execution may.
    let small = read.ranks.is_none_or(|ranks| ranks <= 64);
    let plain = simai::Options { ranks: read.ranks.or(Some(8)), ..simai::Options::default() };
    let dimension = simai::Options { first_dimension: Some(4), ..plain };
    let divided = simai::Options { stages: Some(2), parts: 2, microbatches: Some(4), ..plain };
    // Any of these may be refused.
    let taken =
        [plain, dimension, divided].map(|options| small && legible(simai::job(&read, options, "m.txt")).is_some());
    taken.contains(&true)
}

fn traces(file: &[u8]) -> bool {
    let Some(nodes) = legible(chakra::node::read(file, "t.0.et")) else { return false };
    let ranks = [("t.0.et".into(), nodes), ("t.1.et".into(), Vec::new())];
    legible(chakra::job(&ranks, chakra::Groups::default(), chakra::Options::default()));
    true
}

fn all() {
    let bytes = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>();
    let binary = GOAL.iter().map(|text| {
        let mut binary = Vec::new();
        goal::binary::write(&goal::text::read(text.as_bytes(), "g").expect("valid"), &mut binary).expect("memory");
        binary
    });
    let taken = [
        fuzz("GOAL text", 20_000, bytes(GOAL), |text| accept(legible(goal::text::read(text, "f.goal")))),
        fuzz("GOAL binary", 20_000, binary.collect(), |file| {
            accept(legible(goal::binary::read(Cursor::new(file), "f.bin")))
        }),
        fuzz("messages in CSV", 20_000, bytes(CSV), |text| {
            let text = String::from_utf8_lossy(text);
            legible(csv::read(&text, "f.csv", Some(9)));
            let job = legible(csv::read(&text, "f.csv", None));
            if let Some(job) = &job {
                // What was read can be written, and has the same operations.
                let mut written = Vec::new();
                csv::write(job, &mut written).expect("it was read from CSV");
                let again = csv::read(&String::from_utf8_lossy(&written), "again", None).expect("valid");
                assert_eq!(again.operations(), job.operations());
                export(job);
            }
            job.is_some()
        }),
        fuzz("connection matrices", 20_000, bytes(MATRICES), |text| {
            matrix(text, if text.len() % 2 == 0 { Unit::Picoseconds } else { Unit::Microseconds })
        }),
        fuzz("fat trees", 20_000, bytes(TREES), tree),
        fuzz("text workloads", 20_000, bytes(MODELS), model),
        fuzz("execution traces", 20_000, TRACES.iter().map(|file| file.to_vec()).collect(), traces),
    ];
    assert!(taken.iter().all(|taken| *taken > 0), "none refuses everything: {taken:?}");
}

#[test]
fn no_reader_panics_at_a_mutation() {
    all();
}

#[test]
#[ignore = "make fuzz"]
fn fuzz_every_reader_for_long() {
    all();
}
