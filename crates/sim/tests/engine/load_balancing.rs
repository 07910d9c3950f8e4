//! Units that keep to one of several equal-cost paths, as the ports' counters show: flows, flowlets or packets.

use crate::common::{run, scenario, watched};
use crate::conformance::digests::digest;
use backwater_scenario::Scenario;
use backwater_sim::Outcome;
use backwater_types::Duration;

/// Returns a scenario of two leaves with four hosts each, and four spines.
fn clos(scheme: &str, balancing: &str, rest: &str) -> Scenario {
    scenario(&format!(
        "scheme = \"{scheme}\"\nswitch.load_balancing = {balancing}\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\n\
         hosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"600 ns\"\n{rest}"
    ))
}

/// Returns the data packets sent from the first leaf to each spine.
fn up(outcome: &Outcome) -> Vec<u64> {
    let leaf = outcome.graph.nodes.iter().position(|node| node.name == "leaf0").expect("there is one") as u32;
    let spine = |node: u32| outcome.graph.nodes[node as usize].name.starts_with("spine");
    let ports = outcome.ports.iter().filter(|port| port.node == leaf && spine(port.peer));
    ports.map(|port| port.total.sent.data().packets).collect()
}

/// Runs one flow of ten thousand packets; returns the packets sent to each spine.
fn flow(balancing: &str) -> Vec<u64> {
    let outcome = run(&clos(
        "ideal-fq",
        balancing,
        "[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n[[workload]]\nkind = \"long-lived\"\ncount = 1\n\
         from = [\"host0\"]\nto = [\"host4\"]\nsize = \"10 MB\"\n",
    ));
    assert_eq!(
        outcome.retransmitted.get(0),
        0,
        "{balancing}: paths of equal length do not reorder a flow that is alone"
    );
    up(&outcome)
}

/// Expects a quarter of the packets on each of four paths: 2500, with a standard deviation of 43.
#[test]
fn packets_of_one_flow_take_all_paths_evenly() {
    let taken = flow("\"packet\"");
    assert_eq!(taken.iter().sum::<u64>(), 10_000);
    assert!(taken.iter().all(|n| n.abs_diff(2500) < 220), "{taken:?}");
}

#[test]
fn a_flow_without_gaps_keeps_its_path() {
    for balancing in ["\"flow\"", "{ flowlet = \"1 us\" }"] {
        let mut taken = flow(balancing);
        taken.sort_unstable();
        assert_eq!(taken, [0, 0, 0, 10_000], "{balancing}");
    }
}

/// Datagrams of 1048 B at 1 Gb/s are 8.384 us apart.
#[test]
fn a_gap_lets_a_flow_take_another_path() {
    let taken = |gap: &str| {
        let mut taken = up(&run(&clos(
            "fifo",
            &format!("{{ flowlet = \"{gap}\" }}"),
            "[run]\nduration = \"20 ms\"\nwarmup = \"0 s\"\ndrain = 1.0\n[[workload]]\nkind = \"long-lived\"\ncount = 1\n\
             from = [\"host0\"]\nto = [\"host4\"]\nrate = \"1 Gbps\"\n",
        )));
        taken.sort_unstable();
        taken
    };
    let wide = taken("8385 ns");
    assert!(wide[..3] == [0; 3] && wide[3] > 2300, "{wide:?}");
    let narrow = taken("8384 ns");
    assert!(narrow[0] > 480 && narrow[3] < 720, "596 each, which strays by 21: {narrow:?}");
}

/// Returns a scenario of flows of all kinds, with losses and a failing link.
fn busy(scheme: &str, balancing: &str) -> Scenario {
    clos(
        scheme,
        balancing,
        "[run]\nduration = \"100 us\"\ndrain = 2000.0\n[measure]\nsample = \"3 us\"\n\
         [[workload]]\nkind = \"background\"\nsizes = { table = \"google_rpc\" }\nload = 0.5\n\
         [[workload]]\nkind = \"incast\"\ndegree = 6\naggregate = \"120 KB\"\nperiod = \"40 us\"\n\
         [[fault]]\nlink = [\"leaf0\", \"spine1\"]\nloss = 0.01\ndown = [[\"30 us\", \"60 us\"]]\n",
    )
}

const SPLIT: [&str; 2] = ["\"packet\"", "{ flowlet = \"2 us\" }"];

#[test]
fn threads_and_windows_do_not_matter_where_flows_are_split() {
    for (scheme, balancing) in ["dctcp", "dctcp-tcp"].into_iter().flat_map(|s| SPLIT.map(|b| (s, b))) {
        let mut scenario = busy(scheme, balancing);
        let one = digest(&scenario, 1);
        assert_eq!(one, digest(&scenario, 2), "{scheme}, {balancing}: two threads");
        scenario.run.window = Some(Duration(84_000));
        assert_eq!(one, digest(&scenario, 2), "{scheme}, {balancing}: short windows");
        assert_ne!(one, digest(&busy(scheme, "\"flow\""), 1), "{scheme}, {balancing}");
    }
}

/// Go-back-N takes reordering for loss and retransmits, but still finishes.
#[test]
fn no_rule_is_broken_where_flows_are_split_and_every_flow_finishes() {
    for (scheme, balancing) in ["dctcp", "dctcp-tcp", "ideal-fq", "dqa"].into_iter().flat_map(|s| SPLIT.map(|b| (s, b)))
    {
        let (_, report) = watched(&busy(scheme, balancing), 1, None);
        assert!(report.faults.is_empty(), "{scheme}, {balancing}: {:?}", report.faults);
    }
}
