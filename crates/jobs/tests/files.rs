//! Files of other simulators read as their authors meant them. `data/README.md` says where each comes from.

use backwater_jobs::op::Work;
use backwater_jobs::{Job, goal};
use std::fs::{self, File};
use std::io::{BufReader, Read};

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn text(name: &str) -> String {
    fs::read_to_string(data(name)).expect(name)
}

/// Number of sends and their bytes.
fn sends(job: &Job) -> (usize, u64) {
    let of_rank = |rank| (0..job.len(rank)).map(move |op| job.op(rank, op).work);
    let bytes: Vec<u64> = (0..job.ranks())
        .flat_map(of_rank)
        .filter_map(|work| if let Work::Send { bytes, .. } = work { Some(bytes) } else { None })
        .collect();
    (bytes.len(), bytes.iter().sum())
}

#[test]
fn traces_of_goal_read() {
    for (name, ranks, operations, sent) in [
        ("binary_tree_32.goal", 32, 62, (31, 31)),
        ("comp.goal", 16, 3, (1, 80_000_000)),
        ("incast_8_1_2MiB.goal", 16, 4, (2, 160_000_000)),
    ] {
        let job = goal::text::read(BufReader::new(File::open(data(name)).expect(name)), name).expect(name);
        assert_eq!((job.ranks(), job.operations(), sends(&job)), (ranks, operations, sent), "{name}");
        let mut written = Vec::new();
        goal::write::write(&job, &mut written).expect("GOAL says it");
        assert_eq!(goal::text::read(&written[..], "again").expect("valid"), job, "{name}");
    }
    let tree = goal::text::read(text("binary_tree_32.goal").as_bytes(), "tree").expect("valid");
    assert_eq!((tree.edges(1, 0).len(), tree.roots(1)), (4, &[0][..]));
}

#[test]
fn a_line_of_any_length_is_read_in_chunks() {
    let start = &b"num_ranks 1\nrank 0 {"[..];
    let blanks = start.chain(std::io::repeat(b' ').take(1 << 28)).chain(&b"calc 5}"[..]);
    let job = goal::text::read(BufReader::new(blanks), "blanks").expect("valid");
    assert_eq!(job.operations(), 1);
    let comment = start.chain(&b"/*"[..]).chain(std::io::repeat(b'\n').take(1 << 28));
    let error = goal::text::read(BufReader::new(comment), "comment").expect_err("no end");
    assert_eq!(error.to_string(), "comment:2: a comment starts here: expected its end, \"*/\"");
    let word = start.chain(std::io::repeat(b'l'));
    let error = goal::text::read(BufReader::new(word), "word").expect_err("a word without end").to_string();
    assert!(error.ends_with("expected a word of at most 255 bytes"), "{error}");
    let labels = start.chain(&b"calc "[..]).chain(std::io::repeat(b'7'));
    goal::text::read(BufReader::new(labels), "number").expect_err("a number without end");
}
