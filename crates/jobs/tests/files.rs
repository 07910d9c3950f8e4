//! Files of other simulators read as their authors meant them. `data/README.md` says where each comes from.

use backwater_jobs::htsim::Unit;
use backwater_jobs::htsim::fat_tree::Switches;
use backwater_jobs::op::Work;
use backwater_jobs::{Job, goal, htsim};
use std::fs::{self, File};
use std::io::{BufReader, Cursor, Read};

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
        written.clear();
        goal::binary::write(&job, &mut written).expect("GOAL says it");
        assert_eq!(goal::binary::read(Cursor::new(written), "again").expect("valid"), job, "{name}");
    }
    let tree = goal::text::read(text("binary_tree_32.goal").as_bytes(), "tree").expect("valid");
    assert_eq!((tree.edges(1, 0).len(), tree.roots(1).collect()), (4, vec![0]));
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

#[test]
fn connection_matrices_of_htsim_read() {
    for (name, hosts, flows, bytes) in [
        ("alltoall_serial_16n.cm", 16, 240, 480_000_000),
        ("bidir.cm", 16, 2, 4_000_000),
        ("outcast_incast.cm", 128, 21, 42_000_000),
        ("perm_1024n_1024c_0u_2000000b.cm", 1024, 1024, 2_048_000_000),
        ("test_cr_1f1m10p.cm", 2, 1, 40_860),
    ] {
        let matrix = htsim::matrix::read(&text(name), name, Unit::Microseconds).expect(name);
        let job = matrix.job(name, None).expect("each trigger has one host");
        assert_eq!((job.ranks(), sends(&job)), (hosts, (flows, bytes)), "{name}");
        let mut written = Vec::new();
        htsim::matrix::write(&matrix, Unit::Microseconds, &mut written).expect("can be said");
        let again =
            htsim::matrix::read(&String::from_utf8_lossy(&written), "again", Unit::Microseconds).expect("valid");
        assert_eq!(again.job("again", None).expect("the same job"), job, "{name}");
    }
}

#[test]
fn fat_trees_of_htsim_read() {
    for (name, hosts, [pods, tors, aggregation, cores]) in [
        ("fat_tree_128_1os.topo", 128, [8, 4, 4, 16]),
        ("fat_tree_128_4os.topo", 128, [8, 4, 4, 4]),
        ("leaf_spine_1024_oversub.topo", 1024, [1, 32, 8, 0]),
        ("leaf_spine_8192_400g.topo", 8192, [1, 128, 64, 0]),
        ("leaf_spine_tiny.topo", 32, [1, 4, 2, 0]),
    ] {
        let tree = htsim::fat_tree::read(&text(name), name).expect(name);
        assert_eq!(tree.hosts, hosts);
        assert_eq!(tree.switches(), Ok(Switches { pods, tors, aggregation, cores }), "{name}");
        let mut written = Vec::new();
        htsim::fat_tree::write(&tree, &mut written).expect("memory");
        assert_eq!(htsim::fat_tree::read(&String::from_utf8_lossy(&written), "again"), Ok(tree), "{name}");
    }
}
