//! A damaged scenario is refused or accepted, and never causes a panic. Damage cuts, doubles, swaps and overwrites
//! pieces of real files.

#[path = "../../sim/tests/engine/common/cases.rs"]
mod cases;

use std::path::Path;

use backwater_scenario::{from_json, load_str};
use backwater_types::hash::Stream;
use cases::cases;

/// Scenarios whose last table is `[figure]`, and their claims.
const PUBLISHED: [(&str, &str); 2] = [
    (include_str!("../../../experiments/bfc/fig9.toml"), include_str!("../../../experiments/bfc/fig9.claims.toml")),
    (include_str!("../../../experiments/bfc/fig15.toml"), include_str!("../../../experiments/bfc/fig15.claims.toml")),
];
const SEEDS: [&str; 2] = [
    "scheme = \"pfc\"\nrun.duration = \"1 ms\"\nswitch.bfc.elide = [[\"x\", \"s\", \"y\"]]\nfault = [{ link = [\"x\", \"s\"], down = [[\"1 us\", \"2 us\"]] }]\n[topology]\nkind = \"graph\"\nhosts = [\"x\", \"y\"]\nswitches = [\"s\"]\nlinks = [\n{ ends = [\"x\", \"s\"], rate = \"1 Gbps\", delay = \"1 us\" },\n{ ends = [\"y\", \"s\"], rate = \"1 Gbps\", delay = \"1 us\" }]\n[[workload]]\nkind = \"flow-list\"\nflows = [{ start = \"0 s\", src = \"x\", dst = \"y\", bytes = \"1 B\" }]\n",
    "scheme = \"flowsail\"\nrun.duration = \"1 ms\"\nswitch.queues = 8\nswitch.priority_groups = 2\nswitch.when_paused = \"discard\"\nswitch.flowsail = { qh = 4, weights = [1, 2], sketch = { rows = 2, columns = 64 } }\n[topology]\nkind = \"fat-tree\"\npods = 2\ntors_per_pod = 2\naggs_per_pod = 2\ncores = 4\nhosts_per_tor = 2\nhost_rate = \"1 Gbps\"\ncore_rate = \"1 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n[[workload]]\nkind = \"incast\"\ndegree = 5\nsizes = { uniform = [\"5 KB\", \"20 KB\"] }\nload = 0.1\npriority = 1\n[[workload]]\nkind = \"collective\"\npattern = \"all-to-all\"\nhosts = [\"host0..host3\"]\nbytes = \"1 MB\"\niterations = 3\ncompute = \"1 us\"\n[[region]]\nat = [\"core0..core2\", \"core3\"]\nscheme = \"pfc\"\nswitch = { pfc.alpha = 0.5 }\n[[region]]\nat = [\"tor*\"]\nswitch = { flowsail.ql = 0.5 }\n",
];

const SPLICES: [&str; 16] = [
    "0",
    "-1",
    "1e400",
    "nan",
    "18446744073709551616",
    "\"\"",
    "\"99999999999 TB\"",
    "[]",
    "{}",
    "[[]]",
    "\"host0..host9\"",
    "65535",
    ".",
    "\n[sweep]\n",
    "\"inf\"",
    "\u{1F30A}",
];

/// A scenario and its claims as one text, in which `[figure]` stands once.
fn whole((scenario, claims): (&str, &str)) -> String {
    let (before, rest) = claims.split_once("[figure]\n").expect("claims say what their figure lacks");
    let (figure, after) = rest.split_at(rest.find("\n[").expect("a table follows"));
    [scenario, figure, before, after].join("\n")
}

#[test]
fn damage_is_never_a_panic() {
    let seeds: Vec<String> = PUBLISHED.map(whole).into_iter().chain(SEEDS.map(String::from)).collect();
    for seed in &seeds {
        assert!(seed.contains("[[expect]]") || !seed.contains("[figure]"), "the claims are damaged too");
        load_str(seed, Path::new("no-such-directory"), "whole.toml", &[], None)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let mut stream = Stream::new(1, 2, 3);
    let mut below = |n: usize| (stream.next_u32() as usize) % n.max(1);
    let (mut good, mut bad) = (0, 0);
    let rounds = cases(150, 500) as usize;
    for round in 0..rounds {
        let text: Vec<char> = seeds[round % seeds.len()].chars().collect();
        let at = below(text.len());
        let end = (at + below(12)).min(text.len());
        let middle: String = match below(4) {
            0 => String::new(),
            1 => text[at..end].iter().chain(&text[at..end]).collect(),
            2 => text[at..end].iter().rev().collect(),
            _ => SPLICES[below(SPLICES.len())].into(),
        };
        let damaged: String =
            text[..at].iter().copied().chain(middle.chars()).chain(text[end..].iter().copied()).collect();
        match load_str(&damaged, Path::new("no-such-directory"), "damaged.toml", &[], None) {
            Ok(plan) => {
                good += 1;
                let run = &plan.runs[0].scenario;
                let json = serde_json::to_string(run).expect("a scenario is plain data");
                assert_eq!(&from_json(&json).unwrap_or_else(|error| panic!("{error}\n{damaged}")), run);
            }
            Err(error) => {
                bad += 1;
                let message = error.to_string();
                assert!(message.contains("damaged.toml") || message.contains("preset"), "{message}");
            }
        }
    }
    assert!(good > rounds / 7 && bad > rounds / 7, "{good} good, {bad} bad");
}
