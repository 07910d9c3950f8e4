//! Rings with cyclic pauses: the summary names who waits for whom, and the run ends once nothing can move.

use crate::common::{run, scenario};
use backwater_scenario::Scenario;
use backwater_sim::measure::summary::summary;
use backwater_sim::{Simulation, Watch};
use serde_json::{Value, json};

/// Returns a ring of `n` switches with a host each. Each host sends `flows` flows of 4 MB to the host `hops` switches
/// on. `keys` are at the top of the scenario.
fn ring(n: usize, hops: usize, flows: usize, keys: &str) -> Scenario {
    let quoted = |name: &str| (0..n).map(|i| format!("\"{name}{i}\"")).collect::<Vec<_>>().join(", ");
    let link = |a: String, b: String| format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"100 Gbps\", delay = \"1 us\" }}");
    let hosts = (0..n).map(|i| link(format!("h{i}"), format!("s{i}")));
    let links: Vec<String> = hosts.chain((0..n).map(|i| link(format!("s{i}"), format!("s{}", (i + 1) % n)))).collect();
    let flow = |k: usize| {
        let (src, dst) = (k % n, (k + hops) % n);
        format!("{{ start = \"{k} ns\", src = \"h{src}\", dst = \"h{dst}\", bytes = \"4 MB\" }}")
    };
    let listed: Vec<String> = (0..n * flows).map(flow).collect();
    scenario(&format!(
        "{keys}\n[topology]\nkind = \"graph\"\nhosts = [{}]\nswitches = [{}]\nlinks = [{}]\n\
         [run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 1000.0\n[measure]\nsample = \"0 s\"\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [{}]\n",
        quoted("h"),
        quoted("s"),
        links.join(", "),
        listed.join(", ")
    ))
}

/// Rings that deadlock: keys, switches, hops per flow, flows per host.
const STUCK: [(&str, usize, usize, usize); 6] = [
    ("scheme = \"pfc\"\nswitch.buffer = \"1 MB\"", 5, 2, 4),
    ("scheme = \"bfc-single\"", 5, 2, 4),
    ("scheme = \"bfc\"\nswitch.queues = 2", 5, 2, 4),
    ("scheme = \"bfc\"\nswitch.queues = 3", 5, 2, 10),
    ("scheme = \"flowsail\"\nswitch.queues = 2", 5, 2, 10),
    ("scheme = \"flowsail\"", 9, 4, 8),
];

fn ending(scenario: &Scenario) -> (Value, u64, bool) {
    let outcome = run(scenario);
    let all = summary(&outcome);
    (all["ending"].clone(), outcome.ended.0, all["complete"].as_bool().expect("a boolean"))
}

#[test]
fn a_ring_that_can_move_no_more_says_who_waits_for_whom() {
    for (keys, n, hops, flows) in STUCK {
        let mut scenario = ring(n, hops, flows, keys);
        let (ending, ended, complete) = ending(&scenario);
        println!("{keys}: {ended} ps, {}", ending["cycle"]);
        assert_eq!(ending["why"], "standstill", "{keys}");
        let cycle = ending["cycle"].as_array().expect("a list");
        let of = |key: &str| cycle.iter().map(|wait| wait[key].as_str().expect("a name")).collect::<Vec<_>>();
        let (nodes, mut peers) = (of("node"), of("for"));
        peers.rotate_right(1);
        assert_eq!(nodes, peers, "{keys}: each waits for the next");
        assert_eq!(nodes.len() % n, 0, "{keys}: all around");
        assert!(!complete, "{keys}");
        assert!(ended < 20_000_000_000, "{keys}: {ended} ps, of 1 s");
        let two = Simulation::new(&scenario, 2).run(&Watch::default());
        assert_eq!((two.ended.0, summary(&two)["ending"].clone()), (ended, ending), "{keys}: on two threads");
        scenario.run.all_finish = false;
        assert!(self::ending(&scenario).2, "{keys}: nobody expects it to finish");
    }
}

/// The same rings do not deadlock if all flows go to the next switch.
#[test]
fn a_ring_that_drains_finishes() {
    for (keys, n, _, flows) in STUCK {
        let (ending, _, complete) = ending(&ring(n, 1, flows, keys));
        assert_eq!((&ending["why"], complete), (&Value::from("finished"), true), "{keys}");
        assert_eq!((&ending["held"], &ending["cycle"]), (&json!([]), &json!([])), "{keys}");
    }
}

/// Waiting for a retransmission timeout is no standstill, although nothing moves meanwhile.
#[test]
fn waiting_for_a_timeout_is_no_standstill() {
    let text = "scheme = \"fifo\"\nswitch.buffer = \"2100 B\"\nhost.rto = \"8 ms\"\n[topology]\nkind = \"single-switch\"\nhosts = 3\n\
                rate = \"100 Gbps\"\ndelay = \"1 us\"\n[run]\nduration = \"100 us\"\nwarmup = \"0 s\"\ndrain = 1000.0\n\
                [[workload]]\nkind = \"flow-list\"\nflows = [{ start = \"0 s\", src = \"host0\", dst = \"host2\", bytes = \"10 KB\" },\n\
                { start = \"0 s\", src = \"host1\", dst = \"host2\", bytes = \"10 KB\" }]\n";
    let (ending, ended, complete) = ending(&scenario(text));
    assert_eq!((&ending["why"], complete), (&Value::from("finished"), true));
    assert!(ended > 8_000_000_000, "nothing moved for 8 ms, and then it did: {ended} ps");
}

/// A resume in flight on a very long link is no standstill. No ACK moves meanwhile, except the last.
#[test]
fn waiting_for_the_end_of_a_pause_on_a_long_link_is_no_standstill() {
    let text = "scheme = \"pfc\"\ncompat = \"hpcc-sim\"\n[topology]\nkind = \"graph\"\nhosts = [\"h0\", \"h1\"]\nswitches = [\"s0\", \"s1\"]\nlinks = [\n\
                { ends = [\"h0\", \"s0\"], rate = \"1 Gbps\", delay = \"1 us\" },\n\
                { ends = [\"h1\", \"s1\"], rate = \"100 Mbps\", delay = \"1 us\" },\n\
                { ends = [\"s0\", \"s1\"], rate = \"1 Gbps\", delay = \"5 ms\" }]\n\
                [switch]\nbuffer = \"9 MB\"\npfc = { headroom = \"1400 KB\", alpha = 0.0009765625 }\n\
                [host]\nack_from = \"6 MB\"\nack_chunk = \"100 GB\"\n\
                [run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 5000.0\n[measure]\nsample = \"0 s\"\n\
                [[workload]]\nkind = \"flow-list\"\nflows = [{ start = \"0 s\", src = \"h0\", dst = \"h1\", bytes = \"6 MB\" }]\n";
    let (ending, _, complete) = ending(&scenario(text));
    assert_eq!((&ending["why"], complete), (&Value::from("finished"), true), "{ending}");
}
