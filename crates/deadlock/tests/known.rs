//! Networks whose cycles of pauses are known.

use backwater_deadlock::{Backpressure, Failures, Watch, check, components};
use backwater_scenario::model::Backpressure as Scheme;
use backwater_scenario::{Scenario, load, load_str};
use backwater_schemes::registry::PRESETS;
use serde_json::Value;
use std::path::Path;

const RUN: &str = "[run]\nduration = \"1 ms\"\n[[workload]]\nkind = \"background\"\nload = 0.5\n\
                   sizes = { fixed = \"1 KB\" }\nload_of = \"receivers\"\n";
const LEAF_SPINE: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = SPINES\nhosts_per_leaf = 2\n\
                          host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\n\
                          core_delay = \"1 us\"\n";
const FAT_TREE: &str = "[topology]\nkind = \"fat-tree\"\npods = 3\ntors_per_pod = 2\naggs_per_pod = 2\ncores = 4\n\
                        hosts_per_tor = 2\nhost_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\n\
                        core_delay = \"1 us\"\n";

fn scenario(text: &str) -> Scenario {
    let plan = load_str(text, Path::new("."), "test", &[], None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    plan.runs.into_iter().next().expect("a run").scenario
}

fn leaf_spine(keys: &str, spines: u32) -> Scenario {
    scenario(&format!("{keys}\n{}{RUN}", LEAF_SPINE.replace("SPINES", &spines.to_string())))
}

/// Returns a ring of `n` switches with a host each.
fn ring(keys: &str, n: usize) -> Scenario {
    let names = |prefix: &str| (0..n).map(|i| format!("\"{prefix}{i}\"")).collect::<Vec<_>>().join(", ");
    let link = |a: String, b: String| format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"100 Gbps\", delay = \"1 us\" }}");
    let hosts = (0..n).map(|i| link(format!("h{i}"), format!("s{i}")));
    let links: Vec<String> = hosts.chain((0..n).map(|i| link(format!("s{i}"), format!("s{}", (i + 1) % n)))).collect();
    let (hosts, switches) = (names("h"), names("s"));
    let topology =
        format!("kind = \"graph\"\nhosts = [{hosts}]\nswitches = [{switches}]\nlinks = [{}]", links.join(", "));
    scenario(&format!("{keys}\n[topology]\n{topology}\n{RUN}"))
}

fn found(scenario: &Scenario, failures: Failures) -> Backpressure {
    check(scenario, failures, &Watch::default()).expect("nobody cancels")
}

fn report(scenario: &Scenario, failures: Failures) -> Value {
    let report = found(scenario, failures).report;
    if failures == Failures::None {
        assert_eq!(report["components"], serde_json::json!(components(scenario)));
    }
    report
}

/// Returns `from-switch-to` for each turn.
fn turns(list: &Value) -> Vec<String> {
    let name = |turn: &Value, key: &str| turn[key].as_str().expect("a name").to_string();
    list.as_array()
        .expect("a list")
        .iter()
        .map(|t| ["from", "switch", "to"].map(|key| name(t, key)).join("-"))
        .collect()
}

#[test]
fn up_and_down_has_no_cycle_and_every_way_has() {
    for scheme in ["bfc", "flowsail", "pfc"] {
        let keys = format!("scheme = \"{scheme}\"");
        let fat_tree = scenario(&format!("{keys}\n{FAT_TREE}{RUN}"));
        for scenario in [leaf_spine(&keys, 3), fat_tree] {
            assert_eq!(report(&scenario, Failures::None)["components"], serde_json::json!([]), "{scheme}");
            assert_ne!(report(&scenario, Failures::All)["components"], serde_json::json!([]), "{scheme}");
        }
    }
}

#[test]
fn ports_and_turns_of_a_leaf_spine_are_counted() {
    let all = report(&leaf_spine("scheme = \"bfc\"", 3), Failures::None);
    // There are 8 NICs. A leaf has 2 ports to hosts and 3 up, a spine 4 down.
    assert_eq!(all["ports"], 8 + 4 * 5 + 3 * 4);
    // A leaf has 2 turns between hosts, 2 x 3 up and 3 x 2 down; a spine has 4 x 3.
    assert_eq!((&all["turns"], &all["pausing"]), (&(4 * 14 + 3 * 12).into(), &(4 * 14 + 3 * 12).into()));
    assert_eq!(all["turns"], backwater_deadlock::turns(&leaf_spine("scheme = \"bfc\"", 3)).len());
    let deaf = report(&leaf_spine("scheme = \"bfc\"\nswitch.bfc.nic_obeys = false", 3), Failures::None);
    assert_eq!(deaf["pausing"], 4 * 6 + 3 * 12);
    for scheme in ["fifo", "dctcp-tcp", "ideal-fc", "bfc-flow-id"] {
        let none = report(&leaf_spine(&format!("scheme = \"{scheme}\""), 3), Failures::All);
        assert_eq!(none["components"], serde_json::json!([]), "{scheme}: no port waits for another");
    }
}

#[test]
fn a_ring_waits_for_itself_both_ways_round() {
    for (scheme, by) in [("bfc", "bfc"), ("flowsail", "flowsail"), ("pfc", "pfc")] {
        let all = report(&ring(&format!("scheme = \"{scheme}\""), 5), Failures::None);
        assert_eq!(all["components"], serde_json::json!([5, 5]));
        assert_eq!(all["alone"], true);
        let names = turns(&all["circle"]);
        assert_eq!(names, ["s0-s1-s2", "s1-s2-s3", "s2-s3-s4", "s3-s4-s0", "s4-s0-s1"]);
        assert!(
            all["circle"]
                .as_array()
                .expect("a list")
                .iter()
                .all(|turn| turn["by"] == by && turn["failed"] == serde_json::json!([]))
        );
        assert_eq!(all["circle"][0]["towards"], "s2");
        // In each direction, every turn is on the path of one of the 20 pairs of hosts.
        assert!(all["edges"].as_array().expect("a list").iter().all(|edge| edge["share"] == 0.05));
    }
    // In a ring of four, hosts reach the opposite host both ways.
    assert_eq!(report(&ring("scheme = \"bfc\"", 4), Failures::None)["components"], serde_json::json!([4, 4]));
    assert_eq!(report(&ring("scheme = \"bfc\"", 3), Failures::None)["components"], serde_json::json!([]));
    // One failure makes a line of three; all of them together make a ring.
    assert_eq!(report(&ring("scheme = \"bfc\"", 3), Failures::One)["components"], serde_json::json!([3, 3]));
    assert_eq!(report(&ring("scheme = \"bfc\"", 3), Failures::One)["alone"], false);
}

/// Covers every registered scheme, as an analysis without a case for a backpressure would report no cycle.
#[test]
fn a_ring_waits_for_itself_under_every_scheme_whose_pauses_hold_other_flows() {
    let mut left = Scheme::ALL.to_vec();
    for (name, _) in PRESETS {
        let scenario = ring(&format!("scheme = \"{name}\""), 5);
        let switch = &scenario.switch;
        left.retain(|other| *other != switch.backpressure);
        let found = report(&scenario, Failures::None);
        if !switch.pausing().holds_others() {
            assert_eq!((&found["components"], &found["pausing"]), (&serde_json::json!([]), &0.into()), "{name}");
            continue;
        }
        assert_eq!(found["components"], serde_json::json!([5, 5]), "{name}");
        let by = serde_json::to_value(switch.backpressure).expect("a word");
        let table = switch.backpressure.table().filter(|_| switch.grain().is_fine() && !switch.grants_credits());
        for edge in found["edges"].as_array().expect("a list") {
            assert_eq!((&edge["by"], edge["table"].as_str()), (&by, table), "{name}");
        }
    }
    assert_eq!(left, [], "backpressures without a scheme");
}

/// Links that wait for credit wait for all packets that leave the switch, including those of elided turns.
#[test]
fn credits_go_round_though_pauses_are_elided() {
    let elided = report(
        &ring("scheme = \"bfc-credit\"\nswitch.bfc.elide = [[\"s0\", \"s1\", \"s2\"], [\"s2\", \"s1\", \"s0\"]]", 5),
        Failures::None,
    );
    assert_eq!((&elided["components"], &elided["elided"]), (&serde_json::json!([5, 5]), &0.into()));
}

#[test]
fn eliding_a_turn_of_each_way_round_opens_a_ring() {
    let elide = "elide = [[\"s0\", \"s1\", \"s2\"], [\"s2\", \"s1\", \"s0\"]]";
    for table in ["bfc", "flowsail"] {
        let all = report(&ring(&format!("scheme = \"{table}\"\nswitch.{table}.{elide}"), 5), Failures::None);
        assert_eq!((&all["components"], &all["elided"]), (&serde_json::json!([]), &2.into()), "{table}");
        let one = elide.replace(", [\"s2\", \"s1\", \"s0\"]", "");
        let all = report(&ring(&format!("scheme = \"{table}\"\nswitch.{table}.{one}"), 5), Failures::None);
        assert_eq!((&all["components"], &all["elided"]), (&serde_json::json!([5]), &1.into()), "{table}");
    }
}

#[test]
fn valley_turns_are_all_that_a_clos_needs_elided() {
    let fat_tree = |keys: &str| scenario(&format!("scheme = \"bfc\"\n{keys}\n{FAT_TREE}{RUN}"));
    let leaf_spine = |keys: &str| leaf_spine(&format!("scheme = \"bfc\"\n{keys}"), 3);
    for of in [&fat_tree as &dyn Fn(&str) -> Scenario, &leaf_spine] {
        let elided = report(&of("switch.bfc.elide = \"valley\""), Failures::All);
        assert_eq!(elided["components"], serde_json::json!([]));
        assert_eq!(report(&of("switch.bfc.elide = \"valley\""), Failures::None)["elided"], 0);
        let open = found(&of(""), Failures::All);
        // The cycles consist of turns up, down and through valleys. Eliding the valleys opens them, and no pair of
        // hosts takes these.
        let edges = open.report["edges"].as_array().expect("a list");
        let share = |edge: &Value| edge["share"].as_f64().expect("a number");
        let costs: Vec<f64> = edges.iter().map(|edge| if share(edge) == 0.0 { 1.0 } else { f64::INFINITY }).collect();
        let chosen = open.cycles.complete(&[], &costs).expect("valleys are enough");
        assert!(!chosen.is_empty() && chosen.len() < elided["elided"].as_u64().expect("a number") as usize);
    }
}

/// With two spines and one failed link at each, leaf 0 and leaf 1 reach each other through another leaf.
#[test]
fn two_failures_make_a_valley_and_a_cycle() {
    let clos = leaf_spine("scheme = \"bfc\"", 2);
    assert_eq!(report(&clos, Failures::One)["components"], serde_json::json!([]));
    let all = report(&clos, Failures::Two);
    assert_eq!(all["alone"], true);
    let cycle = turns(&all["circle"]);
    assert_eq!(cycle.len(), 4, "{cycle:?}");
    let failed = &all["circle"][0]["failed"];
    assert_eq!(failed, &serde_json::json!([["leaf0", "spine0"], ["leaf1", "spine1"]]));
    // The same failures as faults of the scenario give the same cycle.
    let fault = |a: &str, b: &str| format!("[[fault]]\nlink = [\"{a}\", \"{b}\"]\ndown = [[\"0 s\", \"1 s\"]]\n");
    let keys = "scheme = \"bfc\"";
    let text = LEAF_SPINE.replace("SPINES", "2");
    let both = fault("leaf0", "spine0") + &fault("leaf1", "spine1");
    let faulty = scenario(&format!("{keys}\n{text}{RUN}{both}"));
    let own = report(&faulty, Failures::None);
    assert_eq!(turns(&own["circle"]), cycle);
    // With three spines two failures leave a way up and down between any two leaves.
    assert_eq!(report(&leaf_spine(keys, 3), Failures::Two)["components"], serde_json::json!([]));
}

/// Packets in flight when routes change may be turned back and pass through valleys.
#[test]
fn a_link_that_fails_during_a_run_brings_what_packets_under_way_do() {
    let fault = "[[fault]]\nlink = [\"leaf0\", \"spine0\"]\ndown = [[\"10 us\", \"20 us\"]]\n";
    let text = format!("scheme = \"bfc\"\n{}{RUN}{fault}", LEAF_SPINE.replace("SPINES", "3"));
    let all = found(&scenario(&text), Failures::None);
    let edges = turns(&all.report["edges"]);
    for turn in ["leaf1-spine0-leaf1", "spine0-leaf1-spine0"] {
        assert!(edges.contains(&turn.to_string()), "{turn} of {edges:?}");
    }
    assert!(
        edges.iter().all(|turn| turn.contains("spine0")),
        "only what went by the link that failed is turned: {edges:?}"
    );
    assert!(all.report["circle"].as_array().expect("a list").iter().any(|turn| turn["change"] == true));
}

#[test]
fn regions_pause_as_their_neighbours_understand() {
    // With FlowSail at the leaves and PFC at the spines, PFC pauses both ways between them and names no egress.
    let region = "[[region]]\nat = [\"spine*\"]\nscheme = \"SCHEME\"\n";
    let mixed = |scheme: &str, other: &str, elide: &str| {
        let text = LEAF_SPINE.replace("SPINES", "2");
        scenario(&format!("scheme = \"{scheme}\"\n{elide}\n{text}{RUN}{}", region.replace("SCHEME", other)))
    };
    let of = |scheme, other, elide| report(&mixed(scheme, other, elide), Failures::All);
    let by = |all: &Value| {
        let edges = all["edges"].as_array().expect("a list");
        let mut by: Vec<String> = edges.iter().map(|edge| edge["by"].as_str().expect("a word").to_string()).collect();
        by.sort();
        by.dedup();
        by
    };
    assert_eq!(by(&of("flowsail", "pfc", "")), ["pfc"]);
    assert_eq!(by(&of("flowsail", "pfc", "switch.flowsail.elide = \"valley\"")), ["pfc"]);
    // A leaf of BFC pauses spines of PFC by PFC frames, which elide no turn.
    assert_eq!(by(&of("bfc", "pfc", "switch.bfc.elide = \"valley\"")), ["pfc"]);
    // Spines that neither send pauses nor obey queue pauses give no cycle.
    assert_eq!(by(&of("bfc", "fifo", "")), Vec::<String>::new());
    assert_eq!(by(&of("pfc", "fifo", "")), Vec::<String>::new());
    // With BFC everywhere, eliding at the leaves is enough, as all valleys are there.
    let own = mixed("bfc", "bfc", "switch.bfc.elide = \"valley\"");
    assert_eq!(by(&report(&own, Failures::All)), Vec::<String>::new());
    let all = of("bfc", "bfc", "");
    assert!(
        all["edges"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|edge| { edge["region"].is_null() == edge["switch"].as_str().expect("a name").starts_with("leaf") })
    );
}

/// The names of variants tell the result: those with `-elided` have no cycle, the others have one.
#[test]
fn the_experiments_have_the_cycles_that_they_tell_of() {
    for name in ["deadlock/elided", "deadlock/clos", "bfc/appb-circles"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(format!("{name}.toml"));
        let plan = load(&file, &[], None).unwrap_or_else(|error| panic!("{error}"));
        for run in plan.runs {
            let found = check(&run.scenario, Failures::None, &Watch::default()).expect("nobody cancels").report;
            let elided = run.label.contains("-elided");
            assert_eq!(components(&run.scenario).is_empty(), elided, "{name}, {}", run.label);
            assert_eq!(found["components"] == serde_json::json!([]), elided, "{name}, {}", run.label);
            if name == "bfc/appb-circles" {
                let all = report(&run.scenario, Failures::All);
                assert_eq!(all["components"] == serde_json::json!([]), elided, "{name}, {}", run.label);
            }
        }
    }
    // In the leaf-spine with two failing links, the valleys are the only turns that no pair of hosts takes.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/deadlock/clos.toml");
    let plan = load(&file, &["variant=bfc".into()], None).unwrap_or_else(|error| panic!("{error}"));
    let found = report(&plan.runs[0].scenario, Failures::None);
    for edge in found["edges"].as_array().expect("a list") {
        let valley = edge["switch"].as_str().expect("a name").starts_with("leaf");
        assert_eq!(edge["share"] == 0.0, valley, "{edge}");
    }
}

/// 128 hosts of BFC's paper and 1024 of FlowSail's, with any two links between switches failed: 2,016 and 523,776
/// pairs.
#[test]
#[ignore = "takes half a minute"]
fn the_papers_networks_have_no_cycle_with_any_two_links_failed() {
    let clos = LEAF_SPINE.replace("leaves = 4", "leaves = 8").replace("SPINES", "8").replace("leaf = 2", "leaf = 16");
    let tree = "[topology]\nkind = \"fat-tree\"\npods = 8\ntors_per_pod = 8\naggs_per_pod = 8\ncores = 64\n\
                hosts_per_tor = 16\nhost_rate = \"100 Gbps\"\ncore_rate = \"25 Gbps\"\nhost_delay = \"1 us\"\n\
                core_delay = \"1 us\"\n";
    for (name, text) in [("128 hosts", clos.as_str()), ("1024 hosts", tree)] {
        let scenario = scenario(&format!("scheme = \"bfc\"\n{text}{RUN}"));
        for failures in [Failures::None, Failures::One, Failures::Two, Failures::All] {
            let began = std::time::Instant::now();
            let watch = Watch::default();
            let all = check(&scenario, failures, &watch).expect("nobody cancels").report;
            let took = began.elapsed();
            println!("{name}, {failures:?}: {took:?}, {watch:?}, {} turns, {}", all["turns"], all["components"]);
            assert_eq!(all["components"] == serde_json::json!([]), failures != Failures::All, "{name}, {failures:?}");
        }
    }
}
