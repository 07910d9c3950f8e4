//! Text workloads of SimAI as jobs: closed forms of pipelines, and files as they are found.

mod toy;

use backwater_jobs::simai::{Options, job, read};
use backwater_jobs::{Job, Work};
use backwater_types::{Duration, Instant};
use std::fmt::Write;

fn file(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a file")
}

fn sent(job: &Job) -> u64 {
    let ops = (0..job.ranks()).flat_map(|rank| (0..job.len(rank)).map(move |op| job.op(rank, op)));
    ops.map(|op| if let Work::Send { bytes, .. } = op.work { bytes } else { 0 }).sum()
}

/// A model of `rows` rows for each microbatch, which compute 1 us forward, 2 us backward, half of that for weights.
fn pipeline(stages: u32, microbatches: u32, rows: usize, stage_bytes: u64) -> String {
    let row = "-1 1000 NONE 0 1000 NONE 0 1000 NONE 0 0";
    let mut text = format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 pp: {stages} ga: {microbatches} all_gpus: {stages} pp_comm: {stage_bytes}\n{}\n",
        microbatches as usize * rows
    );
    for _ in 0..microbatches {
        writeln!(text, "embedding_layer {row}").expect("memory");
        (1..rows).for_each(|_| writeln!(text, "mlp {row}").expect("memory"));
    }
    text
}

fn time(text: &str, options: Options, takes: impl FnMut(u64) -> Duration) -> Instant {
    let made = job(&read(text, "m").expect("valid"), options, "m").expect("it divides");
    let ranks = made.ranks();
    let (machine, last) = toy::run(made, toy::placement(ranks), takes);
    assert!((0..ranks).all(|rank| machine.has_ended(rank)));
    last
}

/// Without time for messages an iteration takes (m + p - 1) forward and backward passes of a stage: the bubble is p - 1.
/// Interleaved with v parts the bubble is (p - 1)/v.
#[test]
fn a_pipeline_has_its_bubble() {
    for (stages, microbatches) in [(1, 4), (2, 4), (4, 8), (4, 4)] {
        let text = pipeline(stages, microbatches, 4, 1000);
        let passes = u64::from(microbatches + stages - 1);
        assert_eq!(time(&text, Options::default(), |_| Duration::ZERO), Instant(passes * 4 * 3_000_000));
        for iterations in [1, 3] {
            let options = Options { parts: 2, iterations, ..Options::default() };
            let each = u64::from(microbatches) * 4 * 3_000_000 + u64::from(stages - 1) * 2 * 3_000_000;
            let found = time(&text, options, |_| Duration::ZERO);
            assert!(
                found.0 >= each * u64::from(iterations) - u64::from(iterations - 1) * u64::from(stages - 1) * 6_000_000
            );
            if iterations == 1 {
                assert_eq!(found, Instant(each), "{stages} stages, {microbatches} microbatches");
            }
        }
    }
    // Stages pass on their bytes forward and backward, once for each microbatch.
    let made = job(&read(&pipeline(4, 8, 4, 1000), "m").expect("valid"), Options::default(), "m").expect("it divides");
    assert_eq!(sent(&made), 3 * 8 * 2 * 1000);
}

/// Two all-reduces round a ring of eight: 14 steps each, of S/8 bytes. Computations and updates of the file are added.
#[test]
fn the_micro_workload_takes_its_closed_form() {
    let text = file("microAllReduce.txt");
    let (alpha, beta) = (5_000_000, 80);
    let ring = |bytes: u64| 14 * (alpha + bytes / 8 * beta);
    let compute = |ns: u64| ns * 1000;
    // Forward: compute and all-reduce of both rows. Backward: 1 ns for the gradient of the input and 1 ns for that of
    // the weights, of both rows.
    let expected = ring(16_777_216) + ring(67_108_864) + 2 * compute(556_000) + 2 * compute(2);
    assert_eq!(time(&text, Options::default(), |bytes| Duration(alpha + bytes * beta)), Instant(expected));
    let made = job(&read(&text, "m").expect("valid"), Options::default(), "m").expect("it divides");
    assert_eq!(sent(&made), 2 * 7 * (16_777_216 + 67_108_864));
    let small = Options { shrink: 1024, ..Options::default() };
    let made = job(&read(&text, "m").expect("valid"), small, "m").expect("it divides");
    assert_eq!(sent(&made), 2 * 7 * (16_384 + 65_536));
}

/// Gradients of weights are communicated beside the backward pass. The next forward pass of the row waits for them.
#[test]
fn gradients_overlap_with_the_backward_pass() {
    let row = "-1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 8000 0";
    let text = format!("DATA all_gpus: 8\n2\nfirst {row}\nsecond {row}\n");
    let ring = 14 * (100_000 + 1000 * 80);
    let times = |iterations| {
        time(&text, Options { iterations, ..Options::default() }, |bytes| Duration(100_000 + bytes * 80)).0
    };
    // Forward 2 us; backward of the second row 2 us, of the first 2 us, and then the ring of the first.
    assert_eq!(times(1), 6_000_000 + ring);
    // The ring of the second row has ended by then, so only that of the first delays the second iteration.
    assert_eq!(times(2), 2 * (6_000_000 + ring));
}

#[test]
fn ranks_have_to_be_known_and_to_divide() {
    let text = file("all_reduce.txt");
    let model = read(&text, "all_reduce.txt").expect("valid");
    assert_eq!((model.layers.len(), model.ranks), (19, None));
    let said = job(&model, Options::default(), "all_reduce.txt").expect_err("no ranks").to_string();
    assert_eq!(said, "all_reduce.txt: does not say all_gpus: expected the number of ranks");
    let made = job(&model, Options { ranks: Some(4), ..Options::default() }, "m").expect("four ranks");
    let all: u64 = (0..19).map(|k| 4096 << k).sum();
    assert_eq!(sent(&made), 2 * 3 * all);
    let row = "a -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1";
    let large = format!("MODEL model_parallel_NPU_group: 1048576 all_gpus: 1048576\n1\n{row}\n");
    let said = job(&read(&large, "m").expect("valid"), Options::default(), "m").expect_err("many").to_string();
    assert!(said.starts_with("m: about 4398") && said.contains("expected at most 50000000"), "{said}");
    let text = pipeline(4, 6, 4, 1);
    let options = Options { parts: 2, ..Options::default() };
    let said = job(&read(&text, "m").expect("valid"), options, "m").expect_err("six").to_string();
    assert_eq!(said, "m: 6 microbatches, and 4 stages that are interleaved: expected a multiple");
}
