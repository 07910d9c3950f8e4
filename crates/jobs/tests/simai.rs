//! Text workloads of SimAI as jobs: closed forms of pipelines, and files as they are found.

mod toy;

use backwater_jobs::simai::{Options, job, read};
use backwater_jobs::{Job, Work};
use backwater_types::{Duration, Instant};
use std::collections::BTreeMap;
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

/// Operations of each iteration belong to phases of that iteration, which have the names of those of the first.
#[test]
fn each_iteration_has_its_own_phases() {
    let options = Options { iterations: 3, ..Options::default() };
    let made = job(&read(&pipeline(2, 2, 4, 1000), "m").expect("valid"), options, "m").expect("it divides");
    let mut names = vec![BTreeMap::<&str, usize>::new(); 3];
    for rank in 0..made.ranks() {
        for op in 0..made.len(rank) {
            let phase = &made.phases[made.op(rank, op).phase as usize];
            *names[phase.iteration as usize].entry(&phase.name).or_default() += 1;
        }
    }
    assert!(names[0].len() >= 4, "{names:?}");
    assert!(names.iter().all(|one| one == &names[0]), "{names:?}");
}

/// Two all-reduces round a ring of eight: 14 steps each, of S/8 bytes. Computations and updates of the file are added.
#[test]
fn the_micro_workload_takes_its_closed_form() {
    let text = file("microAllReduce.txt");
    let (alpha, beta) = (5_000_000, 80);
    let ring = |bytes: u64| 14 * (alpha + bytes / 8 * beta);
    let compute = |ns: u64| ns * 1000;
    // Forward: compute, all-reduce and 1 ns until the result is in place, of both rows. Backward: 1 ns for the gradient of
    // the input and 1 ns for that of the weights, of both rows.
    let expected = ring(16_777_216) + ring(67_108_864) + 2 * compute(556_001) + 2 * compute(2);
    assert_eq!(time(&text, Options::default(), |bytes| Duration(alpha + bytes * beta)), Instant(expected));
    let made = job(&read(&text, "m").expect("valid"), Options::default(), "m").expect("it divides");
    assert_eq!(sent(&made), 2 * 7 * (16_777_216 + 67_108_864));
    let small = Options { shrink: 1024, ..Options::default() };
    let made = job(&read(&text, "m").expect("valid"), small, "m").expect("it divides");
    assert_eq!(sent(&made), 2 * 7 * (16_384 + 65_536));
}

/// Time of a message and of its bytes.
fn takes(bytes: u64) -> Duration {
    Duration(ALPHA + bytes * BETA)
}
const ALPHA: u64 = 100_000;
const BETA: u64 = 80;
/// One microsecond.
const US: u64 = 1_000_000;

/// An all-reduce of n ranks round a ring.
fn ring(n: u64, bytes: u64) -> u64 {
    2 * (n - 1) * (ALPHA + bytes / n * BETA)
}

fn takes_with(text: &str, options: Options) -> u64 {
    time(text, options, takes).0
}

/// Gradients of weights are communicated beside the backward pass. The next forward pass of the row waits for them.
#[test]
fn gradients_overlap_with_the_backward_pass() {
    let row = "-1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 8000 0";
    let rows = format!("2\nfirst {row}\nsecond {row}\n");
    let times = |header: &str, iterations| {
        takes_with(&format!("{header} all_gpus: 8\n{rows}"), Options { iterations, ..Options::default() })
    };
    // Forward 2 us; backward of the second row 2 us, of the first 2 us, and then the ring of the first.
    let tensor = "HYBRID_TRANSFORMER model_parallel_NPU_group: 1";
    assert_eq!(times(tensor, 1), 6 * US + ring(8, 8000));
    // The ring of the second row has ended by then, so only that of the first delays the second iteration.
    assert_eq!(times(tensor, 2), 2 * (6 * US + ring(8, 8000)));
    // The gradient of the first row's input is not computed under DATA: nobody needs it.
    assert_eq!(times("DATA", 1), 5 * US + ring(8, 8000));
    assert_eq!(times("DATA", 2), 2 * (5 * US + ring(8, 8000)));
}

/// After a communication its result takes the update time until it is in place, which delays no computation.
#[test]
fn what_was_communicated_is_in_place_after_its_update() {
    let text = "HYBRID_TRANSFORMER all_gpus: 4\n1\na -1 1000 ALLREDUCE 400 1000 ALLREDUCE 400 1000 NONE 0 7000\n";
    assert_eq!(takes_with(text, Options::default()), 3 * US + 2 * (ring(4, 400) + 7 * US));
    let row = "-1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 400 7000";
    let text = format!("HYBRID_TRANSFORMER model_parallel_NPU_group: 1 all_gpus: 4\n2\na {row}\nb {row}\n");
    assert_eq!(takes_with(&text, Options::default()), 6 * US + ring(4, 400) + 7 * US);
}

/// Under MODEL and its hybrids the gradient of a row's input is communicated while that of its weights is computed.
/// Nobody needs it of the first row.
#[test]
fn gradients_of_inputs_overlap_with_those_of_weights() {
    let row = "-1 1000 ALLGATHER 800 1000 ALLREDUCE 800 5000 NONE 0 0";
    let text = format!("MODEL all_gpus: 8\n2\nfirst {row}\nsecond {row}\n");
    let gather = 7 * (ALPHA + 100 * BETA);
    assert!(ring(8, 800) < 5 * US);
    assert_eq!(takes_with(&text, Options::default()), 2 * (US + gather) + 2 * 6 * US);
    let text = text.replace("5000", "1000").replace("ALLREDUCE 800", "ALLREDUCE 80000");
    assert!(ring(8, 80_000) > US);
    assert_eq!(takes_with(&text, Options::default()), 2 * (US + gather) + US + ring(8, 80_000) + 2 * US);
}

/// The groups of the hybrids follow from the first dimension of the network: three neighbours of twelve ranks, and four
/// others.
#[test]
fn hybrids_have_the_groups_of_the_network() {
    let row = "a -1 0 ALLREDUCE 1200 0 NONE 0 0 ALLREDUCE 24000 0";
    let with = |policy: &str, row: &str, first_dimension| {
        let options = Options { first_dimension, ..Options::default() };
        let model = read(&format!("{policy} all_gpus: 12\n1\n{row}\n"), "m").expect("valid");
        job(&model, options, "m")
    };
    let times = |policy: &str, row: &str| {
        let made = with(policy, row, Some(3)).expect("it divides");
        toy::run(made, toy::placement(12), takes).1.0
    };
    assert_eq!(times("HYBRID_DATA_MODEL", row), ring(3, 1200) + ring(4, 24_000));
    assert_eq!(times("HYBRID_MODEL_DATA", row), ring(4, 1200) + ring(3, 24_000));
    for (policy, expected) in
        [("HYBRID_DATA_MODEL", ring(3, 1200) + ring(4, 24_000)), ("HYBRID_MODEL_DATA", ring(4, 1200) + ring(3, 24_000))]
    {
        assert_eq!(times("HYBRID_CUSTOMIZED", &format!("{row} {policy}")), expected);
    }
    assert_eq!(
        times("HYBRID_CUSTOMIZED", &format!("{} DATA", row.replace("ALLREDUCE 1200", "NONE 0"))),
        ring(12, 24_000)
    );
    let neighbours =
        |job: &Job| match (0..job.len(0)).map(|op| job.op(0, op).work).find(|work| matches!(work, Work::Send { .. })) {
            Some(Work::Send { to, .. }) => to,
            _ => panic!("rank 0 sends"),
        };
    assert_eq!(neighbours(&with("HYBRID_DATA_MODEL", row, Some(3)).expect("it divides")), 1);
    assert_eq!(neighbours(&with("HYBRID_MODEL_DATA", row, Some(3)).expect("it divides")), 3);
    let said = with("HYBRID_DATA_MODEL", row, None).expect_err("no dimension").to_string();
    let expected =
        "m: HYBRID_DATA_MODEL has the groups of ASTRA-sim's network: expected the ranks of its first dimension";
    assert_eq!(said, expected);
    let said = with("HYBRID_DATA_MODEL", row, Some(5)).expect_err("five").to_string();
    assert_eq!(said, "m: 12 ranks are not divided by groups of 5 and 1 stages: expected a multiple of 5");
}

/// ASTRA-sim 1.0's `DLRM_HybridParallel.txt`. Forward goes on beside the all-to-all of the embedding up to the last row of
/// the bottom.
#[test]
fn recommendation_models_overlap_their_all_to_all() {
    let text = "HYBRID_DLRM 4\n8\nEmbedding -1 300 ALLTOALL 98304 300 ALLTOALL 98304 300 NONE 0 98\n\
                MLP_Bottom_0 -1 1280 NONE 0 794 NONE 0 896 ALLREDUCE 13312 13\n\
                MLP_Bottom_1 -1 2560 NONE 0 2560 NONE 0 1792 ALLREDUCE 524288 524\n\
                MLP_Bottom_2 -1 2560 NONE 0 2560 NONE 0 1792 ALLREDUCE 524288 524\n\
                MLP_Bottom_3 -1 800 NONE 0 1280 NONE 0 800 ALLREDUCE 16384 16\n\
                MLP_Top_0 -1 6400 NONE 0 6400 NONE 0 4480 ALLREDUCE 1064960 1065\n\
                MLP_Top_1 -1 2560 NONE 0 2560 NONE 0 1792 ALLREDUCE 524288 524\n\
                MLP_Top_2 -1 2560 NONE 0 2560 NONE 0 1792 ALLREDUCE 524288 524\n";
    let four = Options { ranks: Some(4), ..Options::default() };
    let forward: u64 = [300, 1280, 2560, 2560, 800, 6400, 2560, 2560].iter().sum();
    let weights: u64 = [896, 1792, 1792, 800, 4480, 1792, 1792].iter().sum();
    let inputs: u64 = [794, 2560, 2560, 1280, 6400, 2560, 2560].iter().sum();
    let computes = (forward + weights + inputs + 300) * 1000;
    // Slow all-to-alls of 24,576 B to each other, and no time for anything else.
    let with = |text: &str, slow: u64, iterations| {
        let takes = |bytes: u64| Duration(if bytes == 98_304 / 4 { slow } else { 0 });
        time(text, Options { iterations, ..four }, takes).0
    };
    // Beside them computes the bottom, 7,200 ns forward, and 5,280 + 914 + 7,194 ns in all backward.
    let bottom: u64 = (1280 + 2560 + 2560 + 800) * 1000;
    let back: u64 = (800 + 1280 + 1792 + 2560 + 1792 + 2560 + 896 + 794 + 300) * 1000;
    let update = 98_000;
    assert_eq!(with(text, 0, 1), computes);
    assert_eq!(with(text, 10 * US, 1), computes + (10 * US + update - bottom));
    assert_eq!(with(text, 20 * US, 1), computes + (20 * US + update - bottom) + (20 * US + update - back));
    // An enhanced iteration does not wait for the last one: the next begins meanwhile.
    let enhanced = text.replace("DLRM 4", "DLRM_ENHANCED DLRM_LAST_BOTTOM_LAYER: 4");
    assert_eq!(with(&enhanced, 20 * US, 1), with(text, 20 * US, 1));
    let early = 2 * computes + 2 * (20 * US + update - bottom) + (20 * US + update - back);
    assert_eq!(with(&enhanced, 20 * US, 2), early);
    assert_eq!(with(text, 20 * US, 2), early + (20 * US + update - back));
}

#[test]
fn inference_runs_forward_alone() {
    let row = "-1 1000 ALLTOALL 800 9000 ALLREDUCE 999 9000 ALLREDUCE 999 500";
    let text = format!("DISTRIBUTED_INFERENCE all_gpus: 8\n2\na {row}\nb {row}\n");
    let row = US + ALPHA + 100 * BETA + US / 2;
    assert_eq!(takes_with(&text, Options::default()), 2 * row);
    assert_eq!(takes_with(&text, Options { iterations: 3, ..Options::default() }), 6 * row);
    // Four microbatches at two stages: five times the time of one at a stage.
    let pipeline = Options { stages: Some(2), microbatches: Some(4), ranks: Some(16), ..Options::default() };
    let text = text.replace(" all_gpus: 8", "");
    assert_eq!(takes_with(&text, pipeline), 5 * row + ALPHA + BETA);
}

/// Micro benchmarks measure one collective after another.
#[test]
fn micro_benchmarks_run_row_by_row() {
    let text = file("all_reduce.txt");
    let options = Options { ranks: Some(4), ..Options::default() };
    let all: u64 = (0..19).map(|k| ring(4, 4096 << k) + 1000).sum();
    assert_eq!(takes_with(&text, options), all);
    let said = job(&read(&text, "m").expect("valid"), Options { microbatches: Some(2), ..options }, "m");
    assert_eq!(said.expect_err("two").to_string(), "m: 2 microbatches of MICRO: expected 1");
    let said = job(&read(&text, "m").expect("valid"), Options { stages: Some(2), ..options }, "m");
    assert_eq!(said.expect_err("two").to_string(), "m: 2 stages: expected 1: rows of MICRO wait for each other");
}

/// Before its backward pass a row has the rows from its checkpoint on run forward again, with what they communicate.
#[test]
fn rows_run_again_from_their_checkpoint() {
    let row = "-1 1000 ALLREDUCE 400 2000 NONE 0 3000 NONE 0 0\n";
    let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 4";
    let rows = format!("6\n{}", format!("a {row}").repeat(6));
    let plain = 6 * (6 * US + ring(4, 400));
    assert_eq!(takes_with(&format!("{header}\n{rows}"), Options::default()), plain);
    // Rows 1 to 2 again before row 3, and row 4 before row 5.
    let text = format!("{header} checkpoints: 2 1 4 checkpoint_initiates: 2 5 3\n{rows}");
    assert_eq!(takes_with(&text, Options::default()), plain + 3 * (US + ring(4, 400)));
    assert_eq!(
        takes_with(&text, Options { iterations: 2, ..Options::default() }),
        2 * (plain + 3 * (US + ring(4, 400)))
    );
    // Divided between two stages, row 3 and its checkpoint are apart.
    let two = Options { stages: Some(2), ranks: Some(8), ..Options::default() };
    let text = text.replace(" all_gpus: 4", "");
    let said = job(&read(&text, "m").expect("valid"), two, "m").expect_err("apart").to_string();
    assert_eq!(said, "m:6: \"a\": runs again from row 1, in another part: expected both in one part of the rows");
    let text = text.replace("2 1 4 checkpoint_initiates: 2 5 3", "1 4 checkpoint_initiates: 1 5");
    job(&read(&text, "m").expect("valid"), two, "m").expect("together");
}

/// The rows of a whole model are divided among stages. Each microbatch runs all rows, and gradients are communicated once.
#[test]
fn the_rows_of_a_whole_model_are_divided_among_stages() {
    let row = "-1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 800 0\n";
    let text = format!("HYBRID_TRANSFORMER model_parallel_NPU_group: 1\n8\n{}", format!("a {row}").repeat(8));
    let with = |stages, microbatches, parts| Options {
        ranks: Some(4 * stages),
        stages: Some(stages),
        microbatches: Some(microbatches),
        stage_bytes: Some(1000),
        parts,
        ..Options::default()
    };
    let made = |options| job(&read(&text, "m").expect("valid"), options, "m").expect("it divides");
    for (stages, microbatches) in [(1, 3), (2, 4), (4, 8), (8, 8)] {
        // A stage has 8/p rows of 3 us, and the bubble is p - 1 of m + p - 1.
        let passes = u64::from(microbatches + stages - 1);
        let found = time(&text, with(stages, microbatches, 1), |_| Duration::ZERO);
        assert_eq!(found, Instant(passes * 8 / u64::from(stages) * 3 * US), "{stages} {microbatches}");
        let between = 4 * u64::from(stages - 1) * u64::from(microbatches) * 2 * 1000;
        assert_eq!(sent(&made(with(stages, microbatches, 1))), between + 8 * 6 * 800);
    }
    for (stages, microbatches, parts) in [(2, 4, 2), (4, 4, 2), (2, 4, 4)] {
        // Interleaved, the bubble is (p - 1)/v.
        let (p, m, v) = (u64::from(stages), u64::from(microbatches), u64::from(parts));
        let found = time(&text, with(stages, microbatches, parts), |_| Duration::ZERO);
        assert_eq!(found, Instant((m * v + p - 1) * (8 / (p * v)) * 3 * US), "{stages} {microbatches} {parts}");
    }
    // Uneven: of seven rows the first stage has three, the second four.
    let seven = text.replacen("\n8\n", "\n7\n", 1).replacen(&format!("a {row}"), "", 1);
    let found = time(&seven, with(2, 1, 1), |_| Duration::ZERO);
    assert_eq!(found, Instant(7 * 3 * US));
    let said = |options| job(&read(&seven, "m").expect("valid"), options, "m").expect_err("it does not").to_string();
    assert_eq!(said(with(8, 8, 1)), "m: 7 rows are not divided by 8 parts: expected a row each");
    let pp = pipeline(4, 8, 4, 1000);
    let said = |options| job(&read(&pp, "m").expect("valid"), options, "m").expect_err("it does not").to_string();
    let plain = Options::default();
    assert_eq!(said(Options { stages: Some(2), ..plain }), "m: says pp: 4, and 2 was asked for: expected the same");
    let expected = "m: lists the rows of 8 microbatches, and 4 were asked for: expected the same";
    assert_eq!(said(Options { microbatches: Some(4), ..plain }), expected);
    let expected = "m: says pp_comm: 1000, and 7 was asked for: expected the same";
    assert_eq!(said(Options { stage_bytes: Some(7), ..plain }), expected);
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
    let large = format!("MODEL all_gpus: 1048576\n1\n{row}\n");
    let said = job(&read(&large, "m").expect("valid"), Options::default(), "m").expect_err("many").to_string();
    assert!(said.starts_with("m: about 4398") && said.contains("expected at most 50000000"), "{said}");
    let text = pipeline(4, 6, 4, 1);
    let options = Options { parts: 2, ..Options::default() };
    let said = job(&read(&text, "m").expect("valid"), options, "m").expect_err("six").to_string();
    assert_eq!(said, "m: 6 microbatches, and 4 stages that are interleaved: expected a multiple");
}
