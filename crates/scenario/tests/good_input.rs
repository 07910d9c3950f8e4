//! Features of scenario files, and the plans that result.

use std::path::Path;

use backwater_scenario::model::{
    Assignment, Backpressure, BufferSize, Elide, ElideRule, Hold, ReleaseFrom, Residue, Sizes, SketchParams, Topology,
    Transport, WhenPaused, Window, Workload,
};
use backwater_scenario::{
    Plan, Scenario, flow_list, from_json, job, load, load_str, scenario_schema, schemes, topology,
};
use backwater_types::{BitsPerSec, Bytes, Duration};

const GOOD: &str = r#"name = "good"
description = "A test."
scheme = "bfc"
topology = { kind = "dumbbell", left = 2, right = 2, rate = "100 Gbps", delay = "1 us", bottleneck_rate = "50 Gbps", bottleneck_delay = "2 us" }
run = { duration = "1 ms" }

[[workload]]
kind = "background"
sizes = { fixed = "10 KB" }
load = 0.5
"#;

fn plan(text: &str, sets: &[&str], scale: Option<&str>) -> Plan {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    load_str(text, Path::new("."), "good.toml", &sets, scale).unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(text: &str, sets: &[&str]) -> Scenario {
    plan(text, sets, None).runs.remove(0).scenario
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.runs.iter().map(|run| run.label.as_str()).collect()
}

#[test]
fn every_scheme_is_valid_and_reads_back() {
    for scheme in schemes() {
        let run = scenario(GOOD, &[&format!("scheme={}", scheme.name)]);
        assert_eq!(run.scheme, scheme.name);
        let json = serde_json::to_string(&run).expect("plain data");
        assert_eq!(from_json(&json).expect("valid"), run);
    }
}

#[test]
fn schemes_are_the_published_ones() {
    let bfc = scenario(GOOD, &[]);
    assert_eq!((bfc.switch.assignment, bfc.switch.backpressure), (Assignment::Dynamic, Backpressure::Bfc));
    assert_eq!((bfc.switch.queues, bfc.switch.data_queues()), (32, 31));
    assert_eq!((bfc.switch.buffer, bfc.host.transport), (BufferSize::Shared(Bytes(12_000_000)), Transport::LineRate));
    assert_eq!(bfc.switch.ecn, None);
    let dctcp = scenario(GOOD, &["scheme=dctcp"]);
    let ecn = dctcp.switch.ecn.as_ref().expect("DCTCP marks");
    assert_eq!((ecn.kmin, ecn.kmax, ecn.pmax), (Bytes(100_000), Bytes(400_000), 1.0));
    assert_eq!((dctcp.switch.backpressure, dctcp.host.window), (Backpressure::Pfc, Some(Window::Size(Bytes(104_000)))));
    let flowsail = scenario(GOOD, &["scheme=flowsail"]).switch;
    assert_eq!((flowsail.assignment, flowsail.backpressure), (Assignment::Flowsail, Backpressure::Flowsail));
    assert_eq!((flowsail.queues, flowsail.data_queues(), flowsail.priority_groups), (8, 8, 1));
    let own = &flowsail.flowsail;
    assert_eq!((own.ql, own.qh, own.isolation_queues, own.hrtt, own.release), (1.0, 3.0, 1, None, None));
    assert_eq!((own.hold, own.release_from, own.residue), (Hold::Head, ReleaseFrom::Resume, Residue::Hold));
    let over = scenario(GOOD, &["scheme=flowsail+dctcp"]);
    assert_eq!((&over.switch.flowsail, over.switch.ecn, &over.host), (own, dctcp.switch.ecn.clone(), &dctcp.host));
    let fc = scenario(GOOD, &["scheme=ideal-fc"]).switch;
    assert_eq!((fc.assignment, fc.backpressure), (Assignment::PerFlow, Backpressure::PerFlow));
    let ideal = scenario(GOOD, &["scheme=ideal-fq"]);
    assert_eq!((ideal.switch.assignment, ideal.switch.buffer), (Assignment::PerFlow, BufferSize::Infinite));
    assert_eq!((ideal.host.transport, ideal.host.window), (Transport::Window, Some(Window::Size(Bytes(100_000)))));
}

#[test]
fn the_file_goes_over_the_preset_and_a_set_over_both() {
    let text = format!("{GOOD}\n[switch]\nbuffer = \"6 MB\"\necn = {{ kmin = \"50 KB\" }}\n");
    let run =
        scenario(&text, &["scheme=dctcp", "switch.queues=128", "run.duration=2 ms", "workload.0.load=0.25", "seed=7"]);
    assert_eq!(run.switch.buffer, BufferSize::Shared(Bytes(6_000_000)));
    let ecn = run.switch.ecn.expect("DCTCP marks");
    assert_eq!((ecn.kmin, ecn.kmax), (Bytes(50_000), Bytes(400_000)));
    assert_eq!((run.switch.queues, run.seed, run.run.duration), (128, 7, Duration::from_us(2000)));
    assert!(matches!(run.workload[0], Workload::Background { load, .. } if load == 0.25));
}

#[test]
fn sets_are_toml_values_or_text() {
    let run = scenario(
        GOOD,
        &[
            "name=spaces are fine",
            "measure.size_bins=[\"1 KB\", \"2 KB\"]",
            "switch.bfc.sticky_reserve=true",
            "workload.0.sizes.table=web_search",
            "seed=9223372036854775807",
            "switch.bfc.elide=valley",
        ],
    );
    assert_eq!((run.name.as_str(), run.seed), ("spaces are fine", i64::MAX as u64));
    assert_eq!(run.measure.size_bins, [Bytes(1000), Bytes(2000)]);
    assert!(run.switch.bfc.sticky_reserve);
    assert!(matches!(&run.workload[0], Workload::Background { sizes: Sizes::Table(name), .. } if name == "web_search"));
    let json = serde_json::to_string(&run).expect("plain data");
    assert_eq!(from_json(&json).expect("valid"), run);
}

#[test]
fn another_topology_replaces_the_first() {
    let run = scenario(
        GOOD,
        &["topology={ kind = \"chain\", switches = 3, hosts_per_switch = 1, rate = \"1 Gbps\", delay = \"1 us\" }"],
    );
    let Topology::Chain { switches, rate, .. } = run.topology else { panic!("a chain was asked for") };
    assert_eq!((switches, rate), (3, BitsPerSec(1_000_000_000)));
}

#[test]
fn runs_are_the_product_of_variants_and_sweep() {
    let text = format!(
        "{GOOD}\n[sweep]\n\"workload.0.load\" = [0.2, 0.4]\nswitch.queues = [16, 32]\n[[variant]]\nname = \"A/1\"\nscheme = \"bfc\"\n[[variant]]\nname = \"B\"\nscheme = \"dqa\"\nhost.window = \"50 KB\"\n"
    );
    let all = plan(&text, &[], None);
    assert_eq!(all.runs.len(), 8);
    assert_eq!(labels(&all)[..3], ["A-1.queues=16.load=0.2", "A-1.queues=16.load=0.4", "A-1.queues=32.load=0.2"]);
    let last = &all.runs[7];
    assert_eq!(last.scenario.host.window, Some(Window::Size(Bytes(50_000))));
    assert_eq!(
        serde_json::to_string(&last.params).expect("plain"),
        r#"{"switch.queues":32,"variant":"B","workload.0.load":0.4}"#
    );

    let some = plan(&text, &["variant=B", "workload.0.load=0.3"], None);
    assert_eq!(labels(&some), ["B.queues=16", "B.queues=32"]);
    let other =
        plan(&text, &["variant=[\"B\"]", "sweep.workload.0.load=[0.1]", "sweep.seed=[1, 2]", "switch.queues=8"], None);
    assert_eq!(labels(&other), ["B.seed=1.load=0.1", "B.seed=2.load=0.1"]);
}

#[test]
fn labels_are_unique_and_fit_to_be_directories() {
    let text = format!(
        "{GOOD}\n[[variant]]\nname = \"a b\"\n[[variant]]\nname = \"A?B\"\n[[variant]]\nname = \"a-b\"\n[[variant]]\nname = \"figures\"\n[[variant]]\nname = \"..\"\n"
    );
    assert_eq!(labels(&plan(&text, &[], None)), ["ab", "A-B", "a-b-2", "figures-2", "run"]);
    assert_eq!(labels(&plan(GOOD, &[], None)), ["bfc"]);
    let schemes = format!("{GOOD}\nsweep = 1\n")
        .replace("\nsweep = 1\n", "\n[sweep]\nscheme = [\"bfc\", \"dqa\"]\nseed = [1, 2]\n");
    assert_eq!(labels(&plan(&schemes, &[], None)), ["bfc.seed=1", "bfc.seed=2", "dqa.seed=1", "dqa.seed=2"]);
}

#[test]
fn runs_are_made_with_each_seed() {
    let seeds_of = |text: &str, sets: &[&str], scale| -> Vec<(String, u64)> {
        plan(text, sets, scale).runs.into_iter().map(|run| (run.label, run.scenario.seed)).collect()
    };
    let labels = |n: std::ops::Range<u64>| n.map(|seed| (format!("bfc.seed={seed}"), seed)).collect::<Vec<_>>();
    let text = format!("{GOOD}\n[seeds]\ncount = 3\n[scale.smoke]\n\"seeds.count\" = 1\n");
    let first = plan(GOOD, &[], None).runs[0].scenario.seed;
    assert_eq!(seeds_of(&text, &["seeds.first=7"], None), labels(7..10));
    assert_eq!(seeds_of(&text, &["seeds.count=2"], None), labels(first..first + 2));
    assert_eq!(seeds_of(&text, &[], Some("smoke")), [("bfc".to_string(), first)]);
    assert_eq!(seeds_of(&text, &["seed=9"], None), [("bfc".to_string(), 9)]);
    assert_eq!(seeds_of(GOOD, &["seeds.count=2"], None), labels(first..first + 2));
    let swept = format!("{text}[sweep]\n\"switch.queues\" = [16, 32]\n");
    let params: Vec<_> = plan(&swept, &["seeds.count=2"], None).runs.into_iter().map(|run| run.label).collect();
    let wanted = [(16, 0), (16, 1), (32, 0), (32, 1)].map(|(q, n)| format!("bfc.queues={q}.seed={}", first + n));
    assert_eq!(params, wanted);
}

#[test]
fn what_lacks_a_mechanism_is_taken_over_by_files_that_have_it() {
    let dir = std::env::temp_dir().join(format!("backwater-{}-without", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let variants =
        |names: &[&str]| names.iter().map(|name| format!("[[variant]]\nname = \"{name}\"\n")).collect::<String>();
    let base = format!("{GOOD}{}[without]\nA = \"B\"\n", variants(&["A", "B"]));
    std::fs::write(dir.join("base.toml"), base).expect("a temporary file");
    let without = |text: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let text = format!("extends = \"base.toml\"\n{text}");
        load_str(&text, &dir, "child.toml", &sets, None).unwrap_or_else(|error| panic!("{error}")).without
    };
    let both = serde_json::json!({ "A": "B" });
    assert_eq!(without("", &[]), both);
    assert_eq!(without("", &["variant=A"]), both, "what was not run is no reason to pass");
    assert_eq!(without(&variants(&["A", "C"]), &[]), serde_json::json!({}));
    assert_eq!(plan(GOOD, &[], None).without, serde_json::json!({}));
    std::fs::remove_dir_all(&dir).expect("it was made above");
}

#[test]
fn a_scale_changes_runs_sweeps_and_variants() {
    let text = format!(
        "{GOOD}\n[sweep]\n\"seed\" = [1, 2, 3]\n[[variant]]\nname = \"A\"\n\"run.drain\" = 2\n[[variant]]\nname = \"B\"\n[scale.smoke]\nrun.duration = \"1 us\"\n\"sweep.seed\" = [9]\nvariant.A.run.drain = 3\n[scale.quick]\n\"run.duration\" = \"5 us\"\n"
    );
    let smoke = plan(&text, &[], Some("smoke"));
    assert_eq!((smoke.scale.as_str(), labels(&smoke)), ("smoke", vec!["A.seed=9", "B.seed=9"]));
    assert_eq!(smoke.runs[0].scenario.run.duration, Duration::from_us(1));
    assert_eq!((smoke.runs[0].scenario.run.drain, smoke.runs[1].scenario.run.drain), (3.0, 4.0));
    let quick = plan(&text, &[], None);
    assert_eq!((quick.scale.as_str(), quick.runs.len()), ("quick", 6));
    assert_eq!((quick.runs[0].scenario.run.duration, quick.runs[0].scenario.run.drain), (Duration::from_us(5), 2.0));
    assert_eq!(plan(GOOD, &[], None).scale, "");
}

#[test]
fn figure_and_expectations_pass_through() {
    let text = format!(
        "{GOOD}\n[figure]\nnumber = \"9\"\n[[expect]]\nclaim = \"x\"\nkind = \"between\"\nvalue = 2\nlow = 1.5\n"
    );
    let plan = plan(&text, &[], None);
    assert_eq!(plan.figure["number"], "9");
    assert_eq!(plan.expect.len(), 1);
    assert_eq!(plan.expect[0]["low"], 1.5);
    assert_eq!((plan.name.as_str(), plan.description.as_str()), ("good", "A test."));
}

/// Published points for panels and variants of an extended file do not apply to those that replace them.
#[test]
fn published_points_of_an_extended_file_do_not_bind_it() {
    let dir = std::env::temp_dir().join(format!("backwater-{}-published", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("a temporary file");
    let figure = "[[variant]]\nname = \"ours\"\n[figure]\npanels = [{ label = \"loss\", value = 1 }]\n\
                  published = [{ panel = \"loss\", variant = \"ours\", value = 2 }]\n";
    write("base.toml", &format!("{GOOD}{figure}"));
    let child =
        "extends = \"base.toml\"\n[[variant]]\nname = \"mine\"\n[figure]\npanels = [{ label = \"mean\", value = 1 }]\n";
    write("child.toml", child);
    let point = "published = [{ panel = \"loss\", variant = \"mine\", value = 2 }]\n";
    write("wrong.toml", &format!("{child}{point}"));
    let all = ["base.toml", "child.toml", "wrong.toml"]
        .map(|name| load(&dir.join(name), &[], None).map_err(|e| e.to_string()));
    std::fs::remove_dir_all(&dir).expect("the temporary directory");
    assert!(all[0].is_ok() && all[1].is_ok(), "{all:?}");
    assert!(
        all[2]
            .as_ref()
            .is_err_and(|e| e.contains("wrong.toml:6: figure.published.0.panel = \"loss\": expected \"mean\""))
    );
}

#[test]
fn extended_files_tables_and_lists_are_relative_to_the_file_that_names_them() {
    let dir = std::env::temp_dir().join(format!("backwater-{}-good", std::process::id()));
    std::fs::create_dir_all(dir.join("base")).expect("a temporary directory");
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("a temporary file");
    let base = GOOD.replace("{ fixed = \"10 KB\" }", "{ file = \"sizes.csv\" }");
    write(
        "base/base.toml",
        &format!(
            "{base}\n[[workload]]\nkind = \"flow-list\"\nfile = \"flows.csv\"\n[switch]\nqueues = 16\nbuffer = \"6 MB\"\n"
        ),
    );
    write("base/sizes.csv", "\u{feff}# whole_packets=true\n100 0\n200 50\n3000 100\n");
    write("base/flows.csv", "start_ns,src,dst,bytes\n2000,host1,host2,10\n1000.5,host0,host3,20\n");
    write("child.toml", "extends = \"base/base.toml\"\nname = \"child\"\n[switch]\nqueues = 8\n");
    let plan = load(&dir.join("child.toml"), &[], None).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&dir).expect("the temporary directory");

    let run = &plan.runs[0].scenario;
    assert_eq!(
        (run.name.as_str(), run.switch.queues, run.switch.buffer),
        ("child", 8, BufferSize::Shared(Bytes(6_000_000)))
    );
    let Workload::Background { sizes: Sizes::Points(table), .. } = &run.workload[0] else {
        panic!("the file was read")
    };
    assert_eq!((table.points.as_slice(), table.linear), ([(100.0, 0.0), (200.0, 0.5), (3000.0, 1.0)].as_slice(), true));
    assert!(table.whole_packets);
    let Workload::FlowList { file: None, rows, flows, .. } = &run.workload[1] else { panic!("the file was read") };
    let rows = flow_list::parse(rows, "rows").expect("checked");
    assert_eq!(rows.iter().map(|row| row.start).collect::<Vec<_>>(), [Duration(2_000_000), Duration(1_000_500)]);
    assert!(flows.is_empty());
    let json = serde_json::to_string(run).expect("plain data");
    assert_eq!(&from_json(&json).expect("valid"), run);
}

/// Hosts from a file are hosts of the scenario, which needs the file no more.
#[test]
fn hosts_of_ranks_may_be_in_a_file() {
    let dir = std::env::temp_dir().join(format!("backwater-{}-hosts", std::process::id()));
    std::fs::create_dir_all(dir.join("lists")).expect("a temporary directory");
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("a temporary file");
    write("lists/job.txt", "host3 slots=2\n1\n# others\nhost3\n");
    write("lists/ring.txt", "2-3\nhost0..host1\n");
    write("job.csv", "id,src,dst,bytes\na,0,1,10\nb,2,3,10\n");
    let job = "[[workload]]\nkind = \"job\"\nfile = \"job.csv\"";
    let ring = "[[workload]]\nkind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"";
    let of_files = format!("{GOOD}{job}\nhosts_file = \"lists/job.txt\"\n{ring}\n");
    let lists = ["[\"host3\", \"host3\", \"host1\", \"host3\"]", "[\"host2\", \"host3\", \"host0\", \"host1\"]"];
    let listed = format!("{GOOD}{job}\nhosts = {}\n{ring}\nhosts = {}\n", lists[0], lists[1]);
    let load = |text: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let plan = load_str(text, &dir, "s.toml", &sets, None).unwrap_or_else(|error| panic!("{error}"));
        plan.runs[0].scenario.clone()
    };
    let (file, list) = (load(&of_files, &["collective.hosts_file=lists/ring.txt"]), load(&listed, &[]));
    std::fs::remove_dir_all(&dir).expect("the temporary directory");
    let json = |scenario: &Scenario| serde_json::to_string(scenario).expect("plain data");
    assert_eq!(json(&file), json(&list));
    assert_eq!(json(&from_json(&json(&file)).expect("valid")), json(&file));
    let graph = topology::expand(&file.topology);
    let placed = |i: usize| job::placed(&file, &file.workload[i], &graph).expect("checked").placement().hosts.clone();
    assert_eq!((placed(1), placed(2)), (vec![3, 3, 1, 3], vec![2, 3, 0, 1]));
}

#[test]
fn ranges_of_hosts_are_spelt_out() {
    let text = GOOD.replace("load = 0.5", "load = 0.5\nfrom = [\"host0..host2\", \"host0\"]\nto = [\"host3\"]");
    let Workload::Background { from, .. } = &scenario(&text, &[]).workload[0] else { panic!("a background") };
    assert_eq!(from, &["host0", "host1", "host2", "host0"]);
}

/// A fat tree of three tiers under FlowSail.
const PODS: &str = r#"scheme = "flowsail"
run = { duration = "1 ms" }

[topology]
kind = "fat-tree"
pods = 2
tors_per_pod = 2
aggs_per_pod = 2
cores = 4
hosts_per_tor = 2
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"

[switch]
buffer = "9 MB"

[[workload]]
kind = "incast"
degree = 50
sizes = { uniform = ["50 KB", "200 KB"] }
load = 0.06
"#;

#[test]
fn every_key_of_flowsail_is_taken() {
    let keys = [
        "ql=0.5",
        "qh=0.5",
        "hrtt=3 us",
        "release=0 us",
        "release_from=touch",
        "hold=any",
        "residue=drain",
        "count_last=false",
        "refresh=0 us",
        "isolation_queues=15",
        "table_entries=1000000",
        "fingerprint_bits=8",
        "nactive_literal=true",
        "strict_fair=false",
        "weights=[1, 2, 255]",
        "sketch={ rows = 8, columns = 65536 }",
        "nic_obeys=false",
        "elide=valley",
    ];
    let keys: Vec<String> = keys.iter().map(|key| format!("switch.flowsail.{key}")).collect();
    let mut sets: Vec<&str> = keys.iter().map(String::as_str).collect();
    sets.extend(["switch.queues=128", "switch.priority_groups=8", "switch.when_paused=discard"]);
    let run = scenario(PODS, &sets);
    let own = &run.switch.flowsail;
    assert_eq!((own.ql, own.qh, own.isolation_queues, own.table_entries), (0.5, 0.5, 15, 1_000_000));
    assert_eq!(
        (own.hrtt, own.release, own.refresh),
        (Some(Duration::from_us(3)), Some(Duration::ZERO), Duration::ZERO)
    );
    assert_eq!((own.hold, own.release_from, own.residue), (Hold::Any, ReleaseFrom::Touch, Residue::Drain));
    assert_eq!((own.fingerprint_bits, own.weights.as_slice()), (8, [1, 2, 255].as_slice()));
    assert_eq!(own.sketch, Some(SketchParams { rows: 8, columns: 65_536 }));
    assert!(!own.count_last);
    assert_eq!((own.nactive_literal, own.strict_fair, own.as_printed, own.nic_obeys), (true, false, false, false));
    assert!(scenario(PODS, &["switch.flowsail.as_printed=true"]).switch.flowsail.as_printed);
    assert_eq!(own.elide, Elide::Rule(ElideRule::Valley));
    assert_eq!((run.switch.priority_groups, run.switch.when_paused), (8, WhenPaused::Discard));
    let json = serde_json::to_string(&run).expect("plain data");
    assert_eq!(from_json(&json).expect("valid"), run);
}

#[test]
fn priorities_are_below_the_groups_and_free_without_groups() {
    let priority = |sets: &[&str]| scenario(PODS, sets).workload[0].priority();
    assert_eq!(priority(&[]), 0);
    assert_eq!(priority(&["workload.0.priority=7"]), 7);
    assert_eq!(priority(&["workload.0.priority=3", "switch.priority_groups=4"]), 3);
    assert_eq!(priority(&["workload.0.priority=2", "switch.flowsail.weights=[1, 2, 4]"]), 2);
    assert_eq!(priority(&["workload.0.priority=7", "scheme=dctcp"]), 7);
}

#[test]
fn the_queues_of_every_scheme_of_a_class_are_divided() {
    let queues = |sets: &[&str]| {
        let sets: Vec<&str> = ["switch.priority_groups=4", "switch.queues=32"].iter().chain(sets).copied().collect();
        scenario(PODS, &sets).switch.data_queues()
    };
    let alone = ["region=[]", "switch.flowsail={}"];
    let of = |scheme: &str| queues(&[&alone[..], &[&format!("scheme={scheme}")]].concat());
    assert_eq!(["bfc", "bfc-stochastic", "dqa", "hpcc-nopfc+sfq"].map(of), [31; 4]);
    // One FIFO per class.
    assert_eq!(["hpcc", "dctcp", "dcqcn", "pfc", "fifo-window", "irn"].map(of), [4; 6]);
    assert_eq!(of("flowsail"), 32);
    assert_eq!(queues(&[]), 32, "beside neighbours of PFC");
}

#[test]
fn incast_sizes_are_drawn_or_parts_of_an_aggregate() {
    let Workload::Incast { aggregate: None, sizes: Some(Sizes::Uniform(sizes)), .. } = &scenario(PODS, &[]).workload[0]
    else {
        panic!("sizes were given")
    };
    assert_eq!(sizes, &[Bytes(50_000), Bytes(200_000)]);
    let parts = PODS.replace("sizes = { uniform = [\"50 KB\", \"200 KB\"] }", "aggregate = \"20 MB\"");
    let Workload::Incast { aggregate: Some(aggregate), sizes: None, .. } = &scenario(&parts, &[]).workload[0] else {
        panic!("an aggregate was given")
    };
    assert_eq!(aggregate, &Bytes(20_000_000));
    let one = scenario(PODS, &["workload.0.sizes={ uniform = [\"1 B\", \"1 B\"] }"]);
    assert!(matches!(&one.workload[0], Workload::Incast { sizes: Some(Sizes::Uniform([Bytes(1), Bytes(1)])), .. }));
}

#[test]
fn an_application_may_write_at_a_rate() {
    let workload = "\n[[workload]]\nkind = \"long-lived\"\ncount = 1\nto = [\"host0\"]\n";
    let run = |rate: &str| scenario(&format!("{PODS}{workload}{rate}"), &[]);
    assert_eq!(run("rate = \"60 Gbps\"").workload[1].rate(), Some(BitsPerSec(60_000_000_000)));
    assert_eq!((run("").workload[1].rate(), run("").workload[0].rate()), (None, None));
}

#[test]
fn a_region_of_the_same_scheme_has_the_scenarios_keys_under_its_own() {
    let text = format!("{PODS}\n[[region]]\nat = [\"tor1..tor2\", \"agg*\"]\nswitch = {{ queues = 2 }}\n");
    let run = scenario(&text, &["switch.flowsail.qh=5"]);
    assert_eq!(run.region[0].scheme, "flowsail");
    for (name, queues) in [("tor0", 8), ("tor1", 2), ("tor2", 2), ("tor3", 8), ("agg0", 2), ("agg3", 2), ("core0", 8)] {
        let switch = run.switch_at(name);
        assert_eq!(
            (switch.queues, switch.buffer, switch.flowsail.qh),
            (queues, BufferSize::Shared(Bytes(9_000_000)), 5.0)
        );
    }
    let json = serde_json::to_string(&run).expect("plain data");
    assert_eq!(from_json(&json).expect("valid"), run);
}

#[test]
fn a_region_of_another_scheme_has_that_preset_alone_under_its_keys() {
    let text = format!("{PODS}\n[[region]]\nat = [\"core*\"]\nscheme = \"dctcp\"\n[region.switch]\nalpha = 0.5\n");
    let run = scenario(&text, &["switch.queues=4", "region.0.switch.pfc.alpha=0.25"]);
    let core = run.switch_at("core3");
    assert_eq!((core.assignment, core.backpressure), (Assignment::Single, Backpressure::Pfc));
    assert_eq!((core.queues, core.buffer, core.alpha), (32, BufferSize::Shared(Bytes(12_000_000)), Some(0.5)));
    assert_eq!((core.pfc.alpha, core.ecn.is_some()), (0.25, true));
    assert_eq!((run.switch_at("agg0").backpressure, run.switch_at("agg0").queues), (Backpressure::Flowsail, 4));
    assert_eq!((run.host.transport, run.switch_at("agg0").ecn.is_none()), (Transport::LineRate, true));
    let json = serde_json::to_string(&run).expect("plain data");
    assert_eq!(from_json(&json).expect("valid"), run);
}

#[test]
fn a_region_follows_the_scheme_of_a_variant() {
    let text = format!(
        "{PODS}\n[[region]]\nat = [\"core*\"]\nswitch = {{ buffer = \"6 MB\" }}\n[[variant]]\nname = \"A\"\nscheme = \"bfc\"\n[[variant]]\nname = \"B\"\n\"region.0.scheme\" = \"pfc\"\n"
    );
    let plan = plan(&text, &[], None);
    let [a, b] = [0, 1].map(|i| plan.runs[i].scenario.switch_at("core0"));
    assert_eq!((a.backpressure, a.queues, a.buffer), (Backpressure::Bfc, 32, BufferSize::Shared(Bytes(6_000_000))));
    assert_eq!((b.backpressure, b.buffer), (Backpressure::Pfc, BufferSize::Shared(Bytes(6_000_000))));
}

#[test]
fn the_papers_fat_tree_is_checked_in_no_time() {
    let sizes = [("pods", 8), ("tors_per_pod", 8), ("aggs_per_pod", 8), ("cores", 64), ("hosts_per_tor", 16)];
    let mut sets: Vec<String> = sizes.iter().map(|(key, n)| format!("topology.{key}={n}")).collect();
    sets.push("workload.0.from=[\"host0..host1023\"]".into());
    let text = format!("{PODS}\n[[region]]\nat = [\"core0..core63\"]\nscheme = \"pfc\"\n");
    let started = std::time::Instant::now();
    let run = scenario(&text, &sets.iter().map(String::as_str).collect::<Vec<_>>());
    let taken = started.elapsed();
    assert!(taken.as_millis() < 500, "{taken:?}");
    assert_eq!(run.region[0].at.len(), 64);
}

#[test]
fn the_schema_describes_what_the_reader_takes() {
    let schema = scenario_schema();
    assert_eq!(schema["title"], "Backwater scenario file");
    for name in
        ["Topology", "Switch", "FlowSailParams", "DctcpParams", "Region", "Workload", "Sizes", "Duration", "Buffer"]
    {
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
    let scales: Vec<&String> =
        schema["properties"]["scale"]["properties"].as_object().expect("a table").keys().collect();
    assert_eq!(scales, ["paper", "quick", "smoke"]);
}

/// A number reads back from its JSON as the double nearest to the text.
#[test]
fn numbers_are_what_was_written() {
    let mut stream = backwater_types::hash::Stream::new(7, 7, 7);
    let mut random = || (stream.next_u32() as f64 + stream.next_u32() as f64 / 4_294_967_296.0) / 4_294_967_296.0;
    let awkward = [0.9999999999999999, 0.1, 5e-324, 2.2250738585072014e-308, 1.0 - f64::EPSILON];
    for loss in awkward.into_iter().chain((0..2000).map(|_| random())) {
        let fault = format!("{GOOD}[[fault]]\nlink = [\"host0\", \"switch0\"]\nloss = {loss:?}\n");
        let scenario = &plan(&fault, &[], None).runs[0].scenario;
        assert_eq!(scenario.fault[0].loss.to_bits(), loss.to_bits(), "{loss:?}");
        let again = from_json(&serde_json::to_string(scenario).expect("plain data")).expect("valid");
        assert_eq!(again.fault[0].loss.to_bits(), loss.to_bits(), "{loss:?}");
    }
}

/// Every allowed link rate works with every scheme. Parameters that a scheme does not use cause no refusal.
#[test]
fn slow_hosts_are_refused_by_those_whose_control_is_faster_alone() {
    for scheme in schemes() {
        let sets = [format!("scheme={}", scheme.name), "topology.rate=10 Mbps".into()];
        let slow = load_str(GOOD, Path::new("."), "good.toml", &sets, None);
        if let Err(error) = slow {
            let message = error.to_string();
            assert!(message.contains("min_rate"), "{}: {message}", scheme.name);
            assert!(!scheme.name.starts_with("bfc"), "{message}");
        }
    }
}

/// Two workloads under one class, and one alone.
const NAMED: &str = r#"
[[workload]]
kind = "incast"
degree = 2
aggregate = "40 KB"
period = "100 us"

[[workload]]
kind = "long-lived"
class = "elephants"
count = 2
to = ["host2"]
"#;

/// Dotted keys may name a workload by its class or kind instead of its number.
#[test]
fn keys_of_workloads_have_names() {
    let text = format!(
        "{GOOD}{NAMED}\n[sweep]\n\"incast.degree\" = [1, 2]\n[[variant]]\nname = \"one\"\n\"elephants.count\" = 1\n\
         [[variant]]\nname = \"three\"\nlong-lived.count = 3\n[scale.smoke]\n\"background.load\" = 0.2\n\"sweep.incast.degree\" = [1]\n"
    );
    let whole = plan(&text, &[], None);
    assert_eq!(labels(&whole), ["one.degree=1", "one.degree=2", "three.degree=1", "three.degree=2"]);
    let facts = |run: &backwater_scenario::PlannedRun| {
        let found = run.scenario.workload.iter().map(|workload| match workload {
            Workload::Background { load, .. } => *load,
            Workload::Incast { degree, .. } => f64::from(*degree),
            Workload::LongLived { count, .. } => f64::from(*count),
            other => panic!("{other:?}"),
        });
        found.collect::<Vec<_>>()
    };
    assert_eq!(whole.runs.iter().map(facts).collect::<Vec<_>>()[1..3], [vec![0.5, 2.0, 1.0], vec![0.5, 1.0, 3.0]]);
    assert_eq!(whole.runs[1].params["incast.degree"], 2);
    let smoke = plan(&text, &["load=0.3", "variant=one"], Some("smoke"));
    assert_eq!(smoke.runs.iter().map(facts).collect::<Vec<_>>(), [[0.3, 1.0, 1.0]]);
}

/// An axis is the same under all its names, and keeps the name in the file.
#[test]
fn an_axis_is_replaced_and_fixed_under_any_of_its_names() {
    for (written, asked) in
        [("workload.0.load", "load"), ("background.load", "workload.0.load"), ("load", "background.load")]
    {
        let text = format!("{GOOD}[sweep]\n\"{written}\" = [0.1, 0.2, 0.3]\n");
        let other = plan(&text, &[&format!("sweep.{asked}=[0.4, 0.5]")], None);
        assert_eq!(labels(&other), ["bfc.load=0.4", "bfc.load=0.5"]);
        assert_eq!(other.runs[0].params.keys().collect::<Vec<_>>(), {
            let mut keys = [written, "variant"];
            keys.sort_unstable();
            keys
        });
        assert_eq!(labels(&plan(&text, &[&format!("{asked}=0.6")], None)), ["bfc"]);
    }
}
