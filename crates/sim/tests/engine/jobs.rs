//! Jobs: the same flows as the built-in collectives, closed forms, and jobs that cannot go on.

use crate::common::{audited, run, scenario};
use backwater_scenario::Scenario;
use backwater_sim::measure::critical::{Times, critical_path};
use backwater_sim::measure::summary::summary;
use backwater_sim::workload::Traffic;
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Instant};
use serde_json::Value;
use std::fmt::Write;
use std::ops::Range;

const HOSTS: usize = 8;
const BACKGROUND: &str = "[[workload]]\nkind = \"background\"\nsizes = { table = \"google_rpc\" }\nload = 0.5\n";
const LOSSY: &str = "[[fault]]\nlink = [\"host3\", \"leaf1\"]\nloss = 0.02\n\
                     [[fault]]\nlink = [\"leaf0\", \"spine1\"]\nloss = 0.02\ndown = [[\"20 us\", \"60 us\"]]\n";
const SCHEMES: [&str; 6] = ["bfc", "flowsail", "dctcp", "ideal-fq", "bcc", "dctcp@hpcc-sim"];

/// Returns a scenario of eight hosts below four leaves.
fn clos(scheme: &str, workload: &str) -> Scenario {
    let (preset, profile) = scheme.split_once('@').unwrap_or((scheme, ""));
    let compat = if profile.is_empty() { String::new() } else { format!("compat = \"{profile}\"\n") };
    scenario(&format!(
        "scheme = \"{preset}\"\n{compat}[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"600 ns\"\n\
         [run]\nduration = \"100 us\"\ndrain = 40000.0\n{workload}"
    ))
}

fn job(format: &str, rows: &str, keys: &str) -> String {
    format!(
        "[[workload]]\nkind = \"job\"\nclass = \"collective\"\nformat = \"{format}\"\n{keys}\nrows = '''\n{rows}'''\n"
    )
}

/// Bytes of part `part` of data that is divided among ranks.
fn part(bytes: usize, part: usize) -> usize {
    bytes / HOSTS + usize::from(part < bytes % HOSTS)
}

/// Writes one iteration of a built-in pattern as GOAL, or all iterations of a pipeline: a rank passes on what comes
/// first. Computations are on cpu 0, messages on cpu 1.
fn goal(pattern: &str, bytes: usize, compute_ns: usize, iterations: usize) -> String {
    let mut text = format!("num_ranks {HOSTS}\n");
    for rank in 0..HOSTS {
        let (next, before) = ((rank + 1) % HOSTS, (rank + HOSTS - 1) % HOSTS);
        writeln!(text, "rank {rank} {{").expect("memory");
        match pattern {
            "ring" => {
                for step in 0..2 * (HOSTS - 1) {
                    let bytes = part(bytes, (rank + 2 * HOSTS - step) % HOSTS);
                    writeln!(text, "c{step}: calc {compute_ns}\ns{step}: send {bytes}b to {next} tag {step} cpu 1")
                        .expect("memory");
                    writeln!(text, "s{step} requires c{step}\nr{step}: recv 0b from {before} tag {step}")
                        .expect("memory");
                    if step > 0 {
                        writeln!(text, "c{step} requires r{}", step - 1).expect("memory");
                    }
                }
            }
            "all-to-all" => {
                writeln!(text, "c: calc {compute_ns}").expect("memory");
                for step in 1..HOSTS {
                    let to = (rank + step) % HOSTS;
                    writeln!(text, "s{step}: send {}b to {to} cpu 1\ns{step} requires c", part(bytes, to))
                        .expect("memory");
                    writeln!(text, "recv 0b from {}", (rank + HOSTS - step) % HOSTS).expect("memory");
                }
            }
            _ => {
                for batch in 0..iterations {
                    if rank > 0 {
                        writeln!(text, "r{batch}: recv 0b from {before} tag {batch}").expect("memory");
                    }
                    if rank + 1 < HOSTS {
                        writeln!(text, "c{batch}: calc {compute_ns}").expect("memory");
                        writeln!(text, "s{batch}: send {bytes}b to {next} tag {batch} cpu 1").expect("memory");
                        writeln!(text, "s{batch} requires c{batch}").expect("memory");
                        if rank > 0 {
                            writeln!(text, "c{batch} requires r{batch}").expect("memory");
                        }
                    }
                }
            }
        }
        writeln!(text, "}}").expect("memory");
    }
    text
}

/// Writes one iteration of a ring as CSV.
fn csv(bytes: usize, compute_ns: usize) -> String {
    let mut text = String::from("id,src,dst,bytes,after,compute_ns\n");
    for step in 0..2 * (HOSTS - 1) {
        for rank in 0..HOSTS {
            let bytes = part(bytes, (rank + 2 * HOSTS - step) % HOSTS);
            let before = (rank + HOSTS - 1) % HOSTS;
            let after = if step > 0 { format!("m{}-{before}", step - 1) } else { String::new() };
            writeln!(text, "m{step}-{rank},{rank},{},{bytes},{after},{compute_ns}", (rank + 1) % HOSTS)
                .expect("memory");
        }
    }
    text
}

/// Digest of the flow table.
fn flows(outcome: &Outcome) -> String {
    outcome.digest.tables.iter().find(|(name, _)| *name == "flows").expect("a table of every run").1.clone()
}

/// Rank 0 sends three equal messages to rank 1 at once. On one queue pair they arrive one after the other; on a pair each,
/// all arrive as late as the last. A message that a NIC holds all packets of waits for the last of them to leave.
#[test]
fn messages_of_a_queue_pair_leave_one_after_the_other() {
    let goal = "num_ranks 2\nrank 0 {\nsend 100000b to 1 tag 0\nsend 100000b to 1 tag 1\nsend 100000b to 1 tag 2\n}\n\
                rank 1 {\nrecv 0b from 0 tag 0\nrecv 0b from 0 tag 1\nrecv 0b from 0 tag 2\n}\n";
    for scheme in SCHEMES.into_iter().chain(["hpcc", "expresspass", "homa"]) {
        let of = |keys: &str| run(&clos(scheme, &job("goal", goal, keys)));
        let (alone, shared) = (of("queue_pairs = 1"), of(""));
        assert_eq!(shared.started, [Instant::ZERO; 3], "{scheme}");
        assert!(
            alone.received.iter().is_sorted()
                && alone.started.iter().is_sorted()
                && alone.started.get(0) == Instant::ZERO
        );
        // A message starts when the last packet of the one before has left, and the link is then busy with that.
        for (next, before) in [(1, 0), (2, 1)] {
            let (started, arrived) = (alone.started.get(next), alone.received.get(before));
            assert!(
                arrived > started && started.0 > (next as u64) * 8_000_000 - 100_000,
                "{scheme}: {started:?} {arrived:?}"
            );
        }
        let last = |outcome: &Outcome| outcome.received.iter().max().expect("three");
        let later = last(&alone).0 as f64 / last(&shared).0 as f64;
        // Where the NIC is a queue of packets, or serves the shortest flow, the first message is early anyway.
        let (early, before) = (alone.received.get(0).0, shared.received.get(0).0);
        let in_turn = ["bcc", "homa"].contains(&scheme);
        assert!(early < before * 3 / 4 || in_turn && early <= before, "{scheme}: it no longer shares the link");
        assert!(later < if scheme == "expresspass" { 2.0 } else { 1.5 }, "{scheme}: {later}");
        for threads in [2, 3] {
            let scenario = clos(scheme, &job("goal", goal, "queue_pairs = 1"));
            assert_eq!(Simulation::new(&scenario, threads).run(&Watch::default()).digest, alone.digest);
        }
    }
}

/// A pattern that is built in, written as GOAL and as CSV has the same flows, with other traffic and with losses.
#[test]
fn a_collective_is_a_job() {
    for scheme in SCHEMES {
        for (pattern, bytes, iterations, compute_ns) in [
            ("ring", 80_003, 3, 0),
            ("ring", 8_000, 4, 700),
            ("all-to-all", 80_003, 3, 0),
            ("all-to-all", 9, 3, 250),
            ("pipeline", 20_500, 9, 1300),
        ] {
            let lossy = if scheme.contains('@') { "" } else { LOSSY };
            let around = |workload: String| run(&clos(scheme, &format!("{BACKGROUND}{workload}{lossy}")));
            let keys = format!("iterations = {iterations}\nstart = \"5 us\"");
            let built_in = around(format!(
                "[[workload]]\nkind = \"collective\"\npattern = \"{pattern}\"\nbytes = \"{bytes} B\"\n{keys}\ncompute = \"{compute_ns} ns\"\n"
            ));
            let text = goal(pattern, bytes, compute_ns, iterations);
            let as_goal = if pattern == "pipeline" { "start = \"5 us\"" } else { &keys };
            let as_goal = around(job("goal", &text, as_goal));
            assert_eq!(as_goal.started.len(), built_in.started.len());
            assert_eq!(flows(&as_goal), flows(&built_in), "{scheme}: {pattern} of {bytes} B, {compute_ns} ns");
            if pattern == "ring" {
                let as_csv = around(job("csv", &csv(bytes, compute_ns), &keys));
                assert_eq!(flows(&as_csv), flows(&built_in), "{scheme}: {pattern} of {bytes} B, as CSV");
            }
        }
    }
}

/// On one switch a hop of LogGOPSim's binary tree takes o + L + o, or in ATLAHS o + L + g + o, with L the time of a
/// packet on two idle links.
#[test]
fn a_binary_tree_takes_what_loggopsim_says() {
    let mut text = String::from("num_ranks 32\n");
    for rank in 0..32_u32 {
        writeln!(text, "rank {rank} {{").expect("memory");
        let top = rank.checked_ilog2();
        if let Some(top) = top {
            writeln!(text, "r: recv 1b from {}", rank - (1 << top)).expect("memory");
        }
        for k in top.map_or(0, |top| top + 1)..5 {
            writeln!(text, "s{k}: send 1b to {}", rank + (1 << k)).expect("memory");
            if top.is_some() {
                writeln!(text, "s{k} requires r").expect("memory");
            }
        }
        writeln!(text, "}}").expect("memory");
    }
    // 49 B at 100 Gb/s take 3.92 ns on each of two links, so links of 1246.08 ns make L 2500 ns.
    let network = "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = 32\nrate = \"100 Gbps\"\ndelay = \"1246.08 ns\"\n\
                   [run]\nduration = \"10 us\"\nwarmup = \"0 s\"\ndrain = 1e5\n";
    for (at_receiver, ns) in [(false, 27_500), (true, 32_500)] {
        let keys = format!("overheads = {{ message = \"1500 ns\", gap = \"1 us\", gap_at_receiver = {at_receiver} }}");
        let outcome = run(&scenario(&format!("{network}{}", job("goal", &text, &keys))));
        let summary = summary(&outcome);
        assert_eq!(summary["jobs"][0]["iteration_ps"], ns * 1000, "{summary}");
        assert_eq!(summary["jobs"][0]["ended"], 1);
    }
}

/// ASTRA-sim's regression test of an all-reduce of 1 MiB on a ring of 8, which takes 117,780 ns: four quarters one after
/// another. A part of 32 KiB crosses in 610 ns and 500 ns. A step takes 10 ns at the receiver, and a pass over memory
/// takes 655 ns: two of them where it reduces, and one where it gathers. Each quarter ends with 10 ns.
#[test]
fn a_ring_takes_what_astra_sim_says() {
    let mut text = String::from("num_ranks 8\n");
    for rank in 0..8 {
        writeln!(text, "rank {rank} {{").expect("memory");
        let mut before = None;
        for step in 0..4 * 14 {
            let passes = if step % 14 < 7 { 2 } else { 1 };
            let ends = if step % 14 == 13 { 10 } else { 0 };
            writeln!(text, "s{step}: send 32768b to {} tag {step}", (rank + 1) % 8).expect("memory");
            writeln!(text, "r{step}: recv 32768b from {} tag {step}", (rank + 7) % 8).expect("memory");
            writeln!(text, "c{step}: calc {} cpu 1", 10 + passes * 655 + ends).expect("memory");
            writeln!(text, "c{step} requires r{step}").expect("memory");
            if let Some(before) = before {
                writeln!(text, "s{step} requires c{before}").expect("memory");
            }
            before = Some(step);
        }
        writeln!(text, "}}").expect("memory");
    }
    // Four packets of 8 KiB and a header each: the last one leaves the host after 4 times 122 ns, and the switch after another 122 ns.
    let network = "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = 8\nrate = \"540325500000 bps\"\ndelay = \"250 ns\"\n\
                   [host]\npayload = \"8192 B\"\n[switch]\nquantum = \"8240 B\"\n[run]\nduration = \"10 us\"\nwarmup = \"0 s\"\ndrain = 1e5\n";
    let outcome = run(&scenario(&format!("{network}{}", job("goal", &text, ""))));
    assert_eq!(summary(&outcome)["jobs"][0]["iteration_ps"], 117_780_000);
}

/// A large message asks first: a packet there, a packet back, and the data, whose sender learns of its end.
#[test]
fn a_large_message_waits_for_its_receive() {
    let network = "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
                   [run]\nduration = \"10 us\"\nwarmup = \"0 s\"\ndrain = 1e5\n";
    let text = "num_ranks 2\nrank 0 {\na: send 1000b to 1\nb: calc 0\nb requires a\n}\nrank 1 {\nc: calc 10000\nr: recv 0b from 0\nr requires c\n}\n";
    let outcome = run(&scenario(&format!("{network}{}", job("goal", text, "eager = \"999 B\"\ncontrol = \"52 B\""))));
    let (control, data, ack) = (2 * (100 * 80 + 1_000_000), 2 * (1048 * 80 + 1_000_000), 2 * (64 * 80 + 1_000_000));
    let rows: Vec<_> = outcome.flows().collect();
    assert_eq!(rows.iter().map(|row| row.flow.at.0).collect::<Vec<_>>(), [0, 10_000_000, 10_000_000 + control]);
    // The acknowledgement of the answer leaves before the data.
    assert_eq!(summary(&outcome)["jobs"][0]["iteration_ps"], 10_000_000 + control + 64 * 80 + data + ack);
}

/// A run goes on while ranks compute, also if no message is left, or there was none.
#[test]
fn a_run_does_not_end_before_its_last_computation() {
    for text in [
        "num_ranks 2\nrank 0 {\ns: send 1b to 1\n}\nrank 1 {\nr: recv 1b from 0\nc: calc 3000000\nc requires r\n}\n",
        "num_ranks 1\nrank 0 {\ncalc 3000000\n}\n",
    ] {
        for (scheme, threads) in [("bfc", 1), ("bfc", 2), ("dctcp@hpcc-sim", 1)] {
            let outcome = Simulation::new(&clos(scheme, &job("goal", text, "")), threads).run(&Watch::default());
            assert_eq!(summary(&outcome)["jobs"][0]["ended"], 1, "{scheme}");
            assert!((3_000_000_000..3_020_000_000).contains(&outcome.ended.0), "{:?}", outcome.ended);
        }
    }
}

/// Two ranks that first receive and then send wait for one another. The run ends, and says who waits for whom.
#[test]
fn a_job_that_cannot_go_on_ends_and_says_who_waits() {
    let text = "num_ranks 3\nrank 0 {\nr: recv 1b from 1 tag 4\ns: send 1b to 1\ns requires r\n}\n\
                rank 1 {\nr: recv 1b from 0\ns: send 1b to 0 tag 4\ns requires r\n}\nrank 2 {\ncalc 100\n}\n";
    for scheme in ["bfc", "dctcp@hpcc-sim"] {
        let outcome = run(&clos(scheme, &job("goal", text, "")));
        assert!(outcome.ended <= Instant(110_000_000), "it ends with the duration");
        let job = &summary(&outcome)["jobs"][0];
        assert_eq!((&job["ended"], &job["waiting"]), (&0.into(), &2.into()));
        let wait = |rank: u32, from: u32, tag: u32| serde_json::json!({ "class": "collective", "rank": rank, "operation": 0, "from": from, "tag": tag });
        assert_eq!(summary(&outcome)["waits"], serde_json::json!([wait(0, 1, 4), wait(1, 0, 0)]));
    }
}

/// Writes a random job of `ranks` without deadlock: a receive stands behind its send in one order of all operations.
fn random(rng: &mut Stream, ranks: u32) -> String {
    let mut of_rank = vec![(String::new(), 0); ranks as usize];
    let mut flying = Vec::new();
    let mut draw = |n: u32| rng.next_u32() % n;
    let mut add = |rank: u32, op: String, causes: &mut dyn FnMut(u32) -> u32| {
        let (text, ops) = &mut of_rank[rank as usize];
        writeln!(text, "l{ops}: {op}").expect("memory");
        for _ in 0..if *ops > 0 { causes(3) } else { 0 } {
            let word = ["requires", "irequires"][causes(2) as usize];
            writeln!(text, "l{ops} {word} l{}", causes(*ops)).expect("memory");
        }
        *ops += 1;
    };
    for tag in 0..8 * ranks {
        let rank = draw(ranks);
        match (draw(3), flying.iter().position(|(_, to, _)| *to == rank)) {
            (0, _) => add(rank, format!("calc {} cpu {}", draw(4) * 500, draw(2)), &mut draw),
            (1, Some(at)) => {
                let (from, _, tag) = flying.remove(at);
                add(rank, format!("recv 1b from {from} tag {tag}"), &mut draw);
            }
            _ => {
                let (to, bytes) = (draw(ranks), [1, 3000, 40_000][draw(3) as usize]);
                flying.push((rank, to, tag));
                add(rank, format!("send {bytes}b to {to} tag {tag} cpu {}", draw(2)), &mut draw);
            }
        }
    }
    for (from, to, tag) in flying {
        add(to, format!("recv 1b from {from} tag {tag}"), &mut |_| 0);
    }
    let bodies = of_rank.iter().enumerate().map(|(rank, (text, _))| format!("rank {rank} {{\n{text}}}\n"));
    format!("num_ranks {ranks}\n{}", bodies.collect::<String>())
}

/// Checks that the steps of the critical path of each iteration follow one another from its begin to its end, and that
/// the crossing of a message is the time of its flow. Returns how many paths were asked for, and how many refused.
fn steps_fill_iterations(outcome: &Outcome, case: u64) -> [u32; 2] {
    let [mut asked, mut refused] = [0; 2];
    let whole = summary(outcome);
    let mut iterations = whole["iterations"].as_array().expect("jobs ended").iter().peekable();
    let traffic = Traffic::new(&outcome.scenario, &outcome.graph);
    for class in (0..outcome.scenario.workload.len()).filter(|class| outcome.scenario.workload[*class].is_closed_loop())
    {
        let flows = traffic.closed_loop_flows_of(class);
        let [started, received, acknowledged] = &[&outcome.started, &outcome.received, &outcome.acknowledged]
            .map(|all| all.range(flows.clone()).collect::<Vec<_>>());
        let times = Times { started, received, acknowledged };
        while let Some(row) = iterations.next_if(|row| row["class"] == outcome.class(class)) {
            let number = row["iteration"].as_u64().expect("a number") as u32;
            let ps = |row: &Value, key: &str| row[key].as_u64().expect("a time");
            let ran = (Instant(ps(row, "begin_ps")), Instant(ps(row, "end_ps")));
            asked += 1;
            let Ok(path) = critical_path(&outcome.scenario, class, number, times, ran, outcome.ended) else {
                // The times of these jobs are often equal, and a host may have an order of its own.
                refused += 1;
                continue;
            };
            let mut at = ps(row, "begin_ps");
            for step in path["steps"].as_array().expect("steps") {
                assert_eq!(ps(step, "begin_ps"), at, "case {case}, iteration {number}: {path}");
                at = ps(step, "end_ps");
                if let (Some(flow), "message") = (step["flow"].as_u64(), step["kind"].as_str().expect("a kind")) {
                    let flow = flow as usize;
                    assert_eq!(outcome.received.get(flow).0, at);
                    assert_eq!(outcome.started.get(flow).0.max(ps(row, "begin_ps")), ps(step, "begin_ps"));
                }
            }
            assert_eq!(at, ps(row, "end_ps"), "case {case}, iteration {number}: {path}");
        }
    }
    assert!(iterations.next().is_none());
    [asked, refused]
}

/// Two random jobs at once, placed at random and with losses, end with the same digests on any number of threads. Returns
/// how many critical paths were asked for, and how many refused.
fn pair_of_random_jobs(case: u64) -> [u32; 2] {
    let mut rng = Stream::new(case, 7, 7);
    let mut keys = |skip: u32| {
        let mut pick = |of: &[&'static str]| of[rng.next_u32() as usize % of.len()];
        let overheads = pick(&["", "overheads = { message = \"300 ns\", gap = \"200 ns\", latency = \"1 us\" }\n"]);
        let (placement, iterations) = (pick(&["packed", "strided", "random"]), pick(&["1", "3"]));
        let (each, pairs) = (pick(&["1", "2"]), pick(&["", "queue_pairs = 3\n"]));
        format!(
            "placement = \"{placement}\"\nskip = {skip}\niterations = {iterations}\nranks_per_host = {each}\n{pairs}{overheads}local = {{ latency = \"200 ns\", rate = \"400 Gbps\" }}"
        )
    };
    let (first, second) = (keys(0), keys(4));
    let (one, two) = (random(&mut rng, 4), random(&mut rng, 4));
    let second = job("goal", &two, &second).replace("class = \"collective\"", "class = \"second\"");
    let scheme = SCHEMES[case as usize % SCHEMES.len()];
    let lossy = if scheme.contains('@') { "" } else { LOSSY };
    let mut scenario = clos(scheme, &format!("{}{second}{lossy}", job("goal", &one, &first)));
    let digest = |scenario: &Scenario, threads| Simulation::new(scenario, threads).run(&Watch::default());
    let outcome = digest(&scenario, 1);
    let jobs = &summary(&outcome)["jobs"];
    for job in jobs.as_array().expect("two jobs") {
        assert_eq!((&job["ended"], &job["waiting"]), (&job["iterations"], &0.into()), "case {case}: {job}");
    }
    let paths = steps_fill_iterations(&outcome, case);
    for threads in [2, 7] {
        let other = digest(&scenario, threads);
        assert_eq!((&outcome.digest, &outcome.progress), (&other.digest, &other.progress), "case {case}, {scheme}");
    }
    scenario.run.window = Some(Duration(84_000));
    assert_eq!(outcome.digest, digest(&scenario, 2).digest, "case {case}, {scheme}, other windows");
    paths
}

/// Runs such pairs. At most one path in a hundred may be refused.
fn pairs_of_random_jobs(cases: Range<u64>) {
    let [asked, refused] = cases.map(pair_of_random_jobs).fold([0; 2], |[a, b], [c, d]| [a + c, b + d]);
    println!("{asked} critical paths, of which {refused} are refused");
    assert!(asked > 0 && refused * 100 <= asked);
}

#[test]
fn random_jobs_do_not_depend_on_threads() {
    pairs_of_random_jobs(0..40);
}

#[test]
#[ignore = "10,000 jobs: some minutes"]
fn ten_thousand_random_jobs_do_not_depend_on_threads() {
    pairs_of_random_jobs(40..5040);
}

#[test]
fn every_event_of_a_job_holds_up() {
    for scheme in ["bfc", "flowsail", "dctcp-tcp"] {
        let text = random(&mut Stream::new(5, 8, 9), 8);
        let (outcome, report) =
            audited(&clos(scheme, &format!("{BACKGROUND}{}{LOSSY}", job("goal", &text, "iterations = 2"))), 2);
        assert!(report.faults.is_empty(), "{scheme}: {:?}", report.faults);
        assert!(outcome.started.iter().all(|at| at != Instant::NEVER));
    }
}
