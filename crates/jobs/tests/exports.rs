//! Jobs written in other formats: what is read again does the same.

mod toy;

use backwater_jobs::collective::{Algorithm, Collective, Kind, algorithms, pipeline};
use backwater_jobs::htsim::{self, Unit, matrix_of};
use backwater_jobs::{Job, LeftOut, Unwritten, csv, goal, simai};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Instant};
use std::collections::BTreeMap;
use std::io::Cursor;

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect(name)
}

/// By rank, and by phase if `phases`: the end, the time that it computed, and the bytes that it sent.
type Done = BTreeMap<(u32, String), (Instant, Duration, u64)>;

/// Runs a job on a network in which messages of some sizes take long.
fn done(job: &Job, phases: bool) -> Done {
    let mut all = Done::new();
    let takes = |bytes: u64| Duration(1000 + bytes * 100 + bytes % 7 * 10_000);
    let (mut machine, _) = toy::run(job.clone(), toy::placement(job.ranks()), takes);
    assert!((0..job.ranks()).all(|rank| machine.has_ended(rank)));
    for span in machine.take_spans() {
        let name = if phases { format!("{:?}", job.phases[span.phase as usize]) } else { String::new() };
        let (end, compute, sent) = all.entry((span.rank, name)).or_insert((Instant::ZERO, Duration::ZERO, 0));
        *end = (*end).max(span.end);
        *compute = Duration(compute.0 + span.compute.0);
        *sent += span.sent;
    }
    // Ranks that do nothing need not be there, nor phases that take no time.
    all.retain(|_, done| *done != (Instant::ZERO, Duration::ZERO, 0));
    all
}

fn csv_of(job: &Job) -> Result<String, Unwritten> {
    let mut text = Vec::new();
    csv::write(job, &mut text)?;
    Ok(String::from_utf8(text).expect("text"))
}

fn through_csv(job: &Job) -> Result<Job, Unwritten> {
    Ok(csv::read(&csv_of(job)?, "again.csv", None).expect("what is written is valid"))
}

fn through_htsim(job: &Job) -> Result<Job, Unwritten> {
    let mut text = Vec::new();
    htsim::matrix::write(&matrix_of(job)?, Unit::Picoseconds, &mut text)?;
    let text = String::from_utf8(text).expect("text");
    let matrix = htsim::matrix::read(&text, "again.cm", Unit::Picoseconds).expect("what is written is valid");
    Ok(matrix.job("again.cm", None).expect("hits are at the hosts that they start flows of"))
}

fn through_goal(job: &Job) -> Result<Job, Unwritten> {
    let (mut text, mut binary) = (Vec::new(), Vec::new());
    goal::write::write(job, &mut text)?;
    goal::binary::write(job, &mut binary)?;
    let again = goal::text::read(&text[..], "again.goal").expect("what is written is valid");
    assert_eq!(goal::binary::read(Cursor::new(binary), "again.bin").as_ref(), Ok(&again));
    Ok(again)
}

const EVERY_KIND: [Kind; 7] = [
    Kind::AllReduce,
    Kind::ReduceScatter,
    Kind::AllGather,
    Kind::Broadcast,
    Kind::Reduce,
    Kind::AllToAll,
    Kind::Barrier,
];

/// Every collective by every algorithm, with and without what makes it harder.
fn collectives() -> Vec<(String, Job)> {
    let mut all = Vec::new();
    for kind in EVERY_KIND {
        for algorithm in algorithms(kind) {
            for n in [2, 3, 8] {
                let ranks: Vec<u32> = (0..n).collect();
                let plain = Collective::new(kind, *algorithm, &ranks, 1003);
                // Both at once have computations that are ready at one instant, whose order is not said.
                let computing = Collective { compute: Duration(7_500), ..plain };
                let divided = Collective { channels: 2, chunks: 2, slots: Some(2), ..plain };
                for (which, one, by_steps) in
                    [("plain", plain, false), ("computing", computing, true), ("divided", divided, true)]
                {
                    let name = format!("{which} {kind:?} {algorithm:?} of {n}");
                    all.push((name, one.job(by_steps).expect("it does this")));
                }
            }
        }
    }
    all.push(("pipeline".into(), pipeline(4, 1000, 6, Duration(9_000)).expect("four stages")));
    all
}

#[test]
fn collectives_go_through_csv() {
    for (name, job) in collectives() {
        let again = through_csv(&job).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (found, expected) = (done(&again, true), done(&job, true));
        let differ: Vec<_> = expected.iter().filter(|(key, done)| found.get(key) != Some(done)).collect();
        let there: Vec<_> = differ.iter().map(|(key, _)| found.get(key)).collect();
        assert!(differ.is_empty(), "{name}: {differ:?} {there:?}\n{}", csv_of(&job).expect("written"));
    }
}

#[test]
fn collectives_go_through_goal_without_what_it_cannot_say() {
    let left = LeftOut { phases: true, acknowledgements: true, fractions: true };
    for (name, job) in collectives() {
        let left = left.of(&job);
        assert_eq!(through_goal(&left).as_ref().ok(), Some(&left), "{name}");
    }
    let ring = Collective::new(Kind::AllReduce, Algorithm::Ring, &[0, 1, 2, 3], 4000).job(true).expect("a ring");
    let error = through_goal(&ring).expect_err("it has phases").to_string();
    assert!(error.starts_with("phase \"") && error.ends_with(": GOAL cannot say that"), "{error}");
}

/// Collectives without computations are flows that trigger flows, unless one flow would hit two triggers.
#[test]
fn collectives_go_through_htsim() {
    let left = LeftOut { phases: true, ..LeftOut::default() };
    let mut taken = Vec::new();
    for (name, job) in collectives() {
        let job = left.of(&job);
        match through_htsim(&job) {
            Ok(again) => {
                assert_eq!(times(&again), times(&job), "{name}");
                taken.push(name);
            }
            Err(error) => {
                let what = ["waits for a part of what another waits for", "computes after messages", "several at once"];
                let what = [&what[..], &["computes, and nothing comes after it"]].concat();
                assert!(what.iter().any(|what| error.to_string().contains(what)), "{name}: {error}");
            }
        }
    }
    for kind in ["AllReduce", "ReduceScatter", "AllGather"] {
        for algorithm in ["Ring", "BidirectionalRing"] {
            assert!(taken.contains(&format!("plain {kind} {algorithm} of 8")), "{taken:?}");
        }
    }
    for name in
        ["plain AllReduce DoubleBinaryTree of 8", "plain AllToAll Direct of 8", "computing AllToAll Direct of 8"]
    {
        assert!(taken.contains(&name.to_string()), "{name} {taken:?}");
    }
}

/// By rank its end, and the bytes that it sent.
fn times(job: &Job) -> Vec<(u32, Instant, u64)> {
    done(job, false).into_iter().map(|((rank, _), (end, _, sent))| (rank, end, sent)).collect()
}

#[test]
fn files_of_others_go_through_every_format_that_has_what_they_have() {
    let tree = goal::text::read(data("binary_tree_32.goal").as_bytes(), "t").expect("valid");
    for (name, through) in [("csv", through_csv as fn(&Job) -> _), ("htsim", through_htsim)] {
        assert_eq!(done(&through(&tree).expect(name), false), done(&tree, false), "{name}");
    }
    for name in ["outcast_incast.cm", "bidir.cm", "alltoall_serial_16n.cm", "test_cr_1f1m10p.cm"] {
        let matrix = htsim::matrix::read(&data(name), name, Unit::Microseconds).expect(name);
        let job = matrix.job(name, None).expect(name);
        assert_eq!(through_htsim(&job).as_ref().ok(), Some(&job), "{name}");
        assert_eq!(done(&through_csv(&job).expect(name), false), done(&job, false), "{name}");
    }
    let model = simai::read(&data("microAllReduce.txt"), "m").expect("valid");
    let options = simai::Options { shrink: 1000, iterations: 2, ..simai::Options::default() };
    let job = simai::job(&model, options, "m").expect("eight ranks");
    assert_eq!(done(&through_csv(&job).expect("csv"), true), done(&job, true));
    let left = LeftOut { phases: true, fractions: true, ..LeftOut::default() }.of(&job);
    assert_eq!(through_goal(&left).as_ref().ok(), Some(&left));
    let expected = "rank 0, operation 31 computes after messages: the connection matrix cannot say that";
    assert_eq!(matrix_of(&left).expect_err("it computes").to_string(), expected);
}

/// A random job of three ranks that compute, send and receive, some on streams of their own.
fn random(seed: u64) -> Job {
    let mut stream = Stream::new(seed, 0, 0);
    let mut below = |n: u32| stream.next_u32() % n;
    let mut text = String::from("num_ranks 3\n");
    let pairs: Vec<[u32; 2]> = (0..below(12)).map(|_| [below(3), below(3)]).collect();
    for rank in 0..3 {
        text += &format!("rank {rank} {{\n");
        let (mut ops, mut waits, mut last) = (Vec::new(), String::new(), BTreeMap::new());
        for (tag, [src, dst]) in pairs.iter().enumerate().filter(|(_, [src, dst])| src != dst) {
            let bytes = 1 + tag * 17 % 40;
            if *src == rank {
                ops.push(format!("send {bytes}b to {dst} tag {tag} cpu {}", 1 + below(2)));
            }
            if *dst == rank {
                ops.push(format!("recv {bytes}b from {src} tag {tag} cpu 1"));
            }
            if below(3) == 0 {
                let stream = [0, 0, 2, 7][below(4) as usize];
                // Which of two that are ready at one instant comes first is not said, so they come in turn.
                if let Some(before) = last.insert(stream, ops.len()) {
                    waits += &format!("l{} requires l{before}\n", ops.len());
                }
                ops.push(format!("calc {} cpu {stream}", below(4) * 10));
            }
        }
        for (number, op) in ops.iter().enumerate() {
            text += &format!("l{number}: {op}\n");
            // Messages are numbered alike everywhere, so waiting for what came before closes no cycle.
            for before in (0..number).filter(|_| below(4) == 0) {
                waits += &format!("l{number} requires l{before}\n");
            }
        }
        text += &format!("{waits}}}\n");
    }
    goal::text::read(text.as_bytes(), "random").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What is not refused does the same, whatever waits for what.
#[test]
fn random_jobs_do_the_same_or_are_refused() {
    let (mut as_csv, mut as_htsim) = (0, 0);
    for seed in 0..3000 {
        let job = random(seed);
        if let Ok(again) = through_csv(&job) {
            assert_eq!(
                done(&again, false),
                done(&job, false),
                "{seed}:\n{}\n{}",
                csv_of(&job).expect("written"),
                goal_of(&job)
            );
            as_csv += 1;
        }
        if let Ok(again) = through_htsim(&job) {
            assert_eq!(times(&again), times(&job), "{seed}");
            as_htsim += 1;
        }
    }
    assert!(as_csv > 1000 && as_htsim > 100, "{as_csv} {as_htsim}");
}

fn goal_of(job: &Job) -> String {
    let mut text = Vec::new();
    goal::write::write(job, &mut text).expect("it was read from GOAL");
    String::from_utf8(text).expect("text")
}
