//! Mistakes of users and the messages for them: the place, the value, and the allowed values.

use std::path::Path;
use std::process;

use backwater_scenario::{from_json, load, load_str};

/// A good scenario; cases replace one piece of it.
const GOOD: &str = r#"name = "good"
scheme = "bfc"
seed = 1

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"

[switch]
queues = 32
buffer = "12 MB"
ecn = { kmin = "10 KB", kmax = "20 KB", pmax = 0.5 }

[host]
payload = "1000 B"

[[workload]]
kind = "background"
sizes = { table = "google_rpc" }
load = 0.5

[[workload]]
kind = "incast"
degree = 4
aggregate = "40 KB"
period = "100 us"

[[workload]]
kind = "long-lived"
count = 2
to = ["host0"]

[run]
duration = "1 ms"
warmup = "100 us"

[[fault]]
link = ["leaf0", "spine0"]
loss = 0.001
"#;

/// A piece of `GOOD`, its replacement, and texts that the message must contain.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    // Seeds.
    ("[switch]\n", "[seeds]\ncount = 0\n[switch]\n", &["seeds.count = 0: expected a whole number from 1 to 1000"]),
    ("[switch]\n", "[seeds]\ncounts = 2\n[switch]\n", &["seeds.counts = 2: unknown key; did you mean \"count\"?"]),
    ("[switch]\n", "[seeds]\nfirst = -1\n[switch]\n", &["seeds.first = -1: expected a whole number from 0 to"]),
    (
        "[switch]\n",
        "[seeds]\ncount = 2\nfixed = \"so\"\n[switch]\n",
        &["seeds.fixed = \"so\": one seed is fixed, 2 are asked for: expected seeds.count = 1"],
    ),
    (
        "[switch]\n",
        "[seeds]\ncount = 2\n[sweep]\nseed = [1, 2]\n[switch]\n",
        &["sweep.seed = [1, 2]: given beside [seeds]: expected one of the two"],
    ),
    (
        "seed = 1\n",
        "seed = 9223372036854775807\nseeds = { count = 2 }\n",
        &["seeds.first = 9223372036854775807: 2 seeds follow one another"],
    ),
    ("seed = 1\n", "seed = \"x\"\nseeds = { count = 2 }\n", &["seed = \"x\": expected a whole number"]),
    ("[switch]\n", "[without]\nBFC = \"bfc\"\n[switch]\n", &["without.BFC = \"bfc\": no such variant; "]),
    ("[switch]\n", "[without]\nbfc = \"dqa\"\n[switch]\n", &["without.bfc = \"dqa\": no such variant; "]),
    ("[switch]\n", "[without]\nbfc = 1\n[switch]\n", &["without.bfc = 1: expected a text in quotes"]),
    (
        "[switch]\n",
        "[without]\nbfc = \"bfc\"\n[switch]\n",
        &["expected another variant, to judge with instead of this one"],
    ),
    ("[switch]\n", "[configured]\nbfc = \"hpcc\"\n[switch]\n", &["configured.bfc = \"hpcc\": no such variant; "]),
    ("[switch]\n", "[components]\nbfc = \"dqa\"\n[switch]\n", &["components.bfc = \"dqa\": expected a table"]),
    (
        "[switch]\n",
        "[components.bfc]\npausing = \"dqa\"\n[switch]\n",
        &["components.bfc.pausing = \"dqa\": no such variant; "],
    ),
    (
        "[switch]\n",
        "[components.bfc]\npausing = \"bfc\"\n[switch]\n",
        &["expected another variant, to judge with instead of this one"],
    ),
    // Invalid TOML, unknown keys and missing keys.
    ("seed = 1", "seed = ", &["bad.toml:3:", "not TOML", "seed ="]),
    ("seed = 1", "seed = 1\nseed = 2", &["bad.toml:4:", "not TOML", "duplicate key"]),
    (
        "seed = 1",
        "sed = 1",
        &["bad.toml:3: sed = 1: unknown key; did you mean \"seed\"?", "allowed at the top:", "workload"],
    ),
    (
        "queues = 32",
        "quues = 32",
        &[
            "bad.toml:16: switch.quues = 32: unknown key; did you mean \"queues\"?",
            "allowed in switch: alpha, assignment",
        ],
    ),
    (
        "leaves = 2",
        "leafs = 2",
        &["bad.toml:7: topology.leafs = 2: unknown key", "allowed in topology:", "hosts_per_leaf"],
    ),
    ("load = 0.5", "laod = 0.5", &["bad.toml:26: workload.0.laod = 0.5: unknown key; did you mean \"load\"?"]),
    (
        "period = \"100 us\"",
        "every = \"100 us\"",
        &["bad.toml:32: workload.1.every = \"100 us\": unknown key", "allowed in workload.1:", "period"],
    ),
    ("loss = 0.001", "lost = 0.001", &["bad.toml:45: fault.0.lost = 0.001: unknown key; did you mean \"loss\"?"]),
    ("scheme = \"bfc\"\n", "", &["bad.toml:1: scheme: missing", "text in quotes"]),
    ("duration = \"1 ms\"\n", "", &["bad.toml:39: run.duration: missing", "a time with a unit"]),
    ("leaves = 2\n", "", &["bad.toml:5: topology.leaves: missing", "a whole number from 0 to 65535"]),
    ("kind = \"leaf-spine\"\n", "", &["bad.toml:5: topology.kind: missing", "\"single-switch\""]),
    ("sizes = { table = \"google_rpc\" }\n", "", &["bad.toml:23: workload.0.sizes: missing", "{ table = ... }"]),
    // Types, choices and units.
    (
        "buffer = \"12 MB\"",
        "buffer = \"12 Mb\"",
        &["bad.toml:17: switch.buffer = \"12 Mb\": expected \"infinite\" or a size with a unit, such as \"12 MB\""],
    ),
    ("buffer = \"12 MB\"", "buffer = 12", &["bad.toml:17: switch.buffer = 12: expected \"infinite\" or a size"]),
    (
        "host_rate = \"100 Gbps\"",
        "host_rate = \"100 Gb/s\"",
        &["bad.toml:10: topology.host_rate = \"100 Gb/s\": expected a rate with a unit", "Gbps"],
    ),
    (
        "core_delay = \"1 us\"",
        "core_delay = \"1\"",
        &["bad.toml:13: topology.core_delay = \"1\": expected a time with a unit", "us"],
    ),
    ("duration = \"1 ms\"", "duration = 0.001", &["bad.toml:40: run.duration = 0.001: expected a time with a unit"]),
    ("duration = \"1 ms\"", "duration = \"-1 ms\"", &["bad.toml:40: run.duration = \"-1 ms\": expected a time"]),
    (
        "payload = \"1000 B\"",
        "payload = \"1e3 B\"",
        &["bad.toml:21: host.payload = \"1e3 B\": expected a size with a unit"],
    ),
    (
        "queues = 32",
        "queues = \"many\"",
        &["bad.toml:16: switch.queues = \"many\": expected a whole number from 0 to 65535, not a text"],
    ),
    ("queues = 32", "queues = -1", &["bad.toml:16: switch.queues = -1: expected a whole number from 0 to 65535"]),
    ("queues = 32", "queues = 3.5", &["bad.toml:16: switch.queues = 3.5: expected a whole number"]),
    ("leaves = 2", "leaves = 70000", &["bad.toml:7: topology.leaves = 70000: expected a whole number from 0 to 65535"]),
    ("seed = 1", "seed = -1", &["bad.toml:3: seed = -1: expected a whole number from 0 to 9223372036854775807"]),
    (
        "seed = 1",
        "seed = 9223372036854775808",
        &["bad.toml:3: seed = 9223372036854775808: expected a whole number from 0 to 9223372036854775807"],
    ),
    (
        "seed = 1",
        "seeds = { first = 9223372036854775808 }",
        &["bad.toml:3: seeds.first = 9223372036854775808: expected a whole number from 0 to 9223372036854775807"],
    ),
    ("name = \"good\"", "name = 7", &["bad.toml:1: name = 7: expected a text in quotes, not a whole number"]),
    ("load = 0.5", "load = nan", &["bad.toml:26: workload.0.load = NaN: expected a number"]),
    ("load = 0.5", "load = \"50 %\"", &["bad.toml:26: workload.0.load = \"50 %\": expected a number, not a text"]),
    (
        "kind = \"leaf-spine\"",
        "kind = \"leafspine\"",
        &["bad.toml:6: topology.kind = \"leafspine\": did you mean \"leaf-spine\"?", "\"dumbbell\""],
    ),
    (
        "kind = \"incast\"",
        "kind = \"burst\"",
        &["bad.toml:29: workload.1.kind = \"burst\": expected one of \"background\", \"incast\""],
    ),
    (
        "queues = 32",
        "assignment = \"dinamic\"",
        &[
            "bad.toml:16: switch.assignment = \"dinamic\": did you mean \"dynamic\"? expected \"single\" or \"stochastic\"",
        ],
    ),
    (
        "load = 0.5",
        "load = 0.5\narrivals = \"uniform\"",
        &["bad.toml:27: workload.0.arrivals = \"uniform\": expected \"poisson\" or { log-normal = ... }"],
    ),
    (
        "{ table = \"google_rpc\" }",
        "\"google_rpc\"",
        &["bad.toml:25: workload.0.sizes = \"google_rpc\": expected { table = ... } or"],
    ),
    (
        "{ table = \"google_rpc\" }",
        "{ tabel = \"google_rpc\" }",
        &["bad.toml:25: workload.0.sizes = { tabel = \"google_rpc\" }: expected { table = ... }"],
    ),
    (
        "{ table = \"google_rpc\" }",
        "{ table = \"x\", fixed = \"1 KB\" }",
        &["bad.toml:25: workload.0.sizes.fixed = \"1 KB\": unknown key"],
    ),
    (
        "link = [\"leaf0\", \"spine0\"]",
        "link = [\"leaf0\"]",
        &["bad.toml:44: fault.0.link = [\"leaf0\"]: expected a list of 2, not 1 entries"],
    ),
    ("to = [\"host0\"]", "to = \"host0\"", &["bad.toml:37: workload.2.to = \"host0\": expected a list"]),
    (
        "ecn = { kmin = \"10 KB\", kmax = \"20 KB\", pmax = 0.5 }",
        "ecn = true",
        &["bad.toml:18: switch.ecn = true: expected a table with the keys by_rate, kmax, kmin, of, pmax"],
    ),
    (
        "[host]\npayload = \"1000 B\"",
        "[host]\ntransport = \"quic\"",
        &["bad.toml:21: host.transport = \"quic\": expected \"line-rate\" or \"window\" or \"dctcp\""],
    ),
    // Schemes.
    (
        "scheme = \"bfc\"",
        "scheme = \"bcf\"",
        &[
            "bad.toml:2: scheme = \"bcf\": unknown scheme; did you mean \"bfc\"?",
            "names that `backwater list schemes` lists",
        ],
    ),
    // Topology.
    ("leaves = 2", "leaves = 0", &["bad.toml:7: topology.leaves = 0: expected at least 1"]),
    (
        "hosts_per_leaf = 4",
        "hosts_per_leaf = 254",
        &["bad.toml:9: topology.hosts_per_leaf = 254: gives a leaf 256 ports: expected at most 255"],
    ),
    (
        "leaves = 2",
        "leaves = 65000",
        &["bad.toml:9: topology.hosts_per_leaf = 4: makes 260000 hosts: expected 2 to 60000"],
    ),
    (
        "host_rate = \"100 Gbps\"",
        "host_rate = \"0 bps\"",
        &["bad.toml:10: topology.host_rate = \"0 bps\": expected 1 Mbps to 8 Tbps"],
    ),
    (
        "core_rate = \"100 Gbps\"",
        "core_rate = \"9 Tbps\"",
        &["bad.toml:11: topology.core_rate = \"9 Tbps\": expected 1 Mbps to 8 Tbps"],
    ),
    (
        "host_delay = \"1 us\"",
        "host_delay = \"0 us\"",
        &["bad.toml:12: topology.host_delay = \"0 us\": expected more than 0", "look-ahead"],
    ),
    (
        "core_delay = \"1 us\"",
        "core_delay = \"0 ns\"",
        &["bad.toml:13: topology.core_delay = \"0 ns\": expected more than 0", "look-ahead"],
    ),
    // Switch.
    ("queues = 32", "queues = 1", &["bad.toml:16: switch.queues = 1: expected 2 to 129"]),
    ("queues = 32", "queues = 130", &["bad.toml:16: switch.queues = 130: expected 2 to 129"]),
    (
        "queues = 32",
        "queues = 129\nbfc.extra_control_queue = true",
        &["bad.toml:16: switch.queues = 129: expected 2 to 128"],
    ),
    (
        "queues = 32",
        "quantum = \"1000 B\"",
        &[
            "bad.toml:16: switch.quantum = \"1000 B\": expected host.payload + host.header = 1 KB + 48 B = 1048 B, or more",
        ],
    ),
    (
        "kmin = \"10 KB\"",
        "kmin = \"30 KB\"",
        &["bad.toml:18: switch.ecn.kmin = \"30 KB\": expected at most kmax, 20 KB"],
    ),
    ("pmax = 0.5", "pmax = 1.5", &["bad.toml:18: switch.ecn.pmax = 1.5: expected a number, at least 0 and at most 1"]),
    (
        "buffer = \"12 MB\"",
        "buffer = \"0 B\"",
        &["bad.toml:17: switch.buffer = \"0 B\": expected at least one full packet, 1048 B"],
    ),
    // Conventions of another simulator that do not fit the scheme or other conventions. GOOD uses BFC.
    (
        "[switch]\nqueues = 32",
        "[conventions]\nacks = \"data\"\n[switch]",
        &["bad.toml:16: conventions.acks = \"data\": ACKs among the data need one queue a port"],
    ),
    (
        "[switch]\nqueues = 32",
        "[conventions]\nhosts = \"hpcc-sim\"\n[switch]",
        &["bad.toml:16: conventions.hosts = \"hpcc-sim\": HPCC's simulator has no BFC"],
    ),
    (
        "[switch]\nqueues = 32",
        "[conventions]\nmemory = \"hpcc-sim\"\n[switch]",
        &[
            "bad.toml:16: conventions.memory = \"hpcc-sim\": HPCC's simulator always runs PFC, over one queue a port or one",
        ],
    ),
    ("payload = \"1000 B\"", "ack_priority = 8", &["bad.toml:21: host.ack_priority = 8: expected 0 to 7"]),
    (
        "[switch]\nqueues = 32",
        "[conventions]\nties = \"scheduled\"\n[switch]",
        &["bad.toml:16: conventions.ties = \"scheduled\": events are scheduled in the order of ns-3", "whole-ns"],
    ),
    (
        "[switch]\nqueues = 32",
        "[conventions]\npfc_frame = \"8 B\"\n[switch]",
        &["bad.toml:16: conventions.pfc_frame = \"8 B\": expected 20 B to 1500 B"],
    ),
    (
        "[switch]\nqueues = 32",
        "[conventions]\ntime = \"ns\"\n[switch]",
        &["bad.toml:16: conventions.time = \"ns\": ", "whole-ns"],
    ),
    (
        "payload = \"1000 B\"",
        "ack_class = \"data\"",
        &["bad.toml:21: host.ack_class = \"data\": a NIC whose ACKs are paused needs conventions.hosts = \"hpcc-sim\""],
    ),
    (
        "kmin = \"10 KB\"",
        "by_rate = [{ rate = \"1 Gbps\", kmin = \"9 KB\", kmax = \"8 KB\", pmax = 1 }], kmin = \"10 KB\"",
        &["bad.toml:18: switch.ecn.by_rate.0.kmin = \"9 KB\": expected at most kmax, 8 KB"],
    ),
    ("payload = \"1000 B\"", "window = \"wide\"", &["bad.toml:21: host.window = \"wide\": ", "base-bdp"]),
    (
        "duration = \"1 ms\"",
        "duration = \"1 ms\"\norigin = \"61 s\"",
        &["run.origin = \"61 s\": expected at most 60 s"],
    ),
    ("queues = 32", "alpha = 0", &["bad.toml:16: switch.alpha = 0: expected more than 0"]),
    ("queues = 32", "pfc.alpha = -0.5", &["bad.toml:16: switch.pfc.alpha = -0.5: expected more than 0"]),
    (
        "queues = 32",
        "bfc.sampling = 0",
        &["bad.toml:16: switch.bfc.sampling = 0: expected a number, above 0 and at most 1"],
    ),
    (
        "queues = 32",
        "bfc.refresh = \"0 us\"",
        &["bad.toml:16: switch.bfc.refresh = \"0 us\": expected at least 100 ns and at most 10 s"],
    ),
    (
        "queues = 32",
        "bfc.table_entries_per_queue = 0",
        &["bad.toml:16: switch.bfc.table_entries_per_queue = 0: expected a whole number from 1 to 10000"],
    ),
    (
        "queues = 32",
        "assignment = \"per-flow\"",
        &[
            "preset \"bfc\": switch.backpressure = \"bfc\": not with assignment = \"per-flow\"",
            "expected assignment = \"dynamic\"",
        ],
    ),
    (
        "queues = 32",
        "assignment = \"per-flow\"\nbackpressure = \"pfc\"",
        &[
            "bad.toml:17: switch.backpressure = \"pfc\": not with assignment = \"per-flow\"",
            "expected backpressure = \"none\"",
        ],
    ),
    (
        "queues = 32\nbuffer = \"12 MB\"",
        "backpressure = \"pfc\"\nbuffer = \"infinite\"",
        &["bad.toml:17: switch.buffer = \"infinite\": not with backpressure = \"pfc\"", "expected a size"],
    ),
    (
        "queues = 32\nbuffer = \"12 MB\"",
        "backpressure = \"pfc\"\nbuffer = \"100 KB\"",
        &[
            "bad.toml:17: switch.buffer = \"100 KB\": headroom and reserve of all ports of leaf0 add up to",
            "expected less than switch.buffer",
        ],
    ),
    (
        "queues = 32",
        "backpressure = \"pfc\"\npfc.headroom = \"5 MB\"",
        &[
            "bad.toml:17: switch.pfc.headroom = \"5 MB\": headroom and reserve of all ports of leaf0",
            "expected less than switch.buffer = 12 MB",
        ],
    ),
    (
        "queues = 32",
        "bfc.elide = [[\"leaf0\", \"spine9\", \"leaf1\"]]",
        &["bad.toml:16: switch.bfc.elide.0.1 = \"spine9\": unknown node", "leaf0"],
    ),
    (
        "queues = 32",
        "bfc.elide = [[\"host0\", \"spine0\", \"leaf1\"]]",
        &["bad.toml:16: switch.bfc.elide.0 = [\"host0\", \"spine0\", \"leaf1\"]: expected [from, switch, to]"],
    ),
    (
        "queues = 32",
        "bfc.elide = \"valey\"",
        &["bad.toml:16: switch.bfc.elide = \"valey\": did you mean \"valley\"? expected \"none\" or \"valley\""],
    ),
    // Extended BFC.
    (
        "queues = 32",
        "bfc.pipelines = 0",
        &["bad.toml:16: switch.bfc.pipelines = 0: expected a whole number from 1 to 16"],
    ),
    (
        "queues = 32",
        "bfc.pipelines = 16\nqueues = 8\nbfc.table_entries_per_queue = 1",
        &["bad.toml:16: switch.bfc.pipelines = 16: a port has 8 entries for 16 combinations of pipeline and class"],
    ),
    (
        "queues = 32",
        "bfc.early_resume = true\nbfc.per_ingress_threshold = true",
        &[
            "bad.toml:16: switch.bfc.early_resume = true: early resume looks at a whole queue, not at the share of an ingress port; expected false",
        ],
    ),
    (
        "queues = 32",
        "bfc.early_resume = true\nbfc.tofino = {}",
        &[
            "bad.toml:16: switch.bfc.early_resume = true: early resume looks at a queue as a packet departs",
            "no bfc.tofino",
        ],
    ),
    (
        "queues = 32",
        "backpressure = \"none\"\nbfc.early_resume = true",
        &[
            "bad.toml:17: switch.bfc.early_resume = true: only BFC that assigns queues to flows and serves them in turn has this",
        ],
    ),
    (
        "queues = 32",
        "assignment = \"stochastic\"\nbfc.tofino = {}",
        &["bad.toml:17: switch.bfc.tofino = {  }: only BFC that assigns queues to flows", "assignment = \"dynamic\""],
    ),
    (
        "queues = 32",
        "bfc.shared_queues = true",
        &[
            "bad.toml:16: switch.bfc.shared_queues = true: with one class there is nothing to share; expected false, or priority_groups of at least 2",
        ],
    ),
    (
        "queues = 32",
        "bfc.shared_queues = true\npriority_groups = 2\nbfc.tofino = {}",
        &[
            "bad.toml:16: switch.bfc.shared_queues = true: the chip's map of empty queues is old, so two classes could get the same queue",
        ],
    ),
    (
        "queues = 32",
        "bfc.credits = { step = \"0 B\" }",
        &["bad.toml:16: switch.bfc.credits.step = \"0 B\": expected more than 0"],
    ),
    (
        "queues = 32",
        "bfc.credits = { reserve = \"100 B\" }",
        &[
            "switch.bfc.credits.reserve = \"100 B\": a link needs credits for a step and two full packets; expected at least 10096 B",
        ],
    ),
    (
        "buffer = \"12 MB\"",
        "buffer = \"200 KB\"\nbfc.credits = {}",
        // Four hosts and two spines: 36 208 B for each link.
        &[
            "bad.toml:17: switch.buffer = \"200 KB\": credits need 217248 B for the links of leaf0",
            "expected at least as much",
        ],
    ),
    (
        "buffer = \"12 MB\"",
        "buffer = \"infinite\"\nbfc.credits = {}",
        &[
            "bad.toml:17: switch.buffer = \"infinite\": credits divide a buffer of a known size; expected a size, or no bfc.credits",
        ],
    ),
    (
        "queues = 32",
        "alpha = 1.0\nbfc.credits = {}",
        &[
            "bad.toml:16: switch.alpha = 1.0: a limit by alpha would drop packets that have a credit; expected no alpha, or no bfc.credits",
        ],
    ),
    (
        "queues = 32",
        "mmu = { ports = 2 }\nbfc.credits = {}",
        &[
            "bad.toml:16: switch.mmu",
            "credits divide one pool among all ports and queues; expected no table mmu, or no bfc.credits",
        ],
    ),
    (
        "[run]",
        "[[region]]\nat = [\"leaf*\"]\nscheme = \"bfc-credit\"\n[run]",
        &[
            "region.0.switch.bfc.credits",
            "the buffer has no room for packets of a neighbour without credits; expected the same",
        ],
    ),
    (
        "queues = 32",
        "bfc.tofino = { depth_period = \"0 s\" }",
        &[
            "switch.bfc.tofino.depth_delay = \"400 ns\" (default): expected at most 64 times depth_period, and 0 where that is",
        ],
    ),
    (
        "queues = 32",
        "bfc.tofino = { recirc_share = 1.5 }",
        &["bad.toml:16: switch.bfc.tofino.recirc_share = 1.5: expected a number, at least 0 and at most 1"],
    ),
    (
        "queues = 32",
        "mmu = { private = \"1 KB\" }\nbfc.tofino = {}",
        &[
            "switch.bfc.tofino.tail_fifo = \"2096 B\" (default): packets in the tail FIFO belong to no queue, and an mmu charges queues; expected 0, or no table mmu",
        ],
    ),
    // Host.
    ("payload = \"1000 B\"", "payload = \"63 B\"", &["bad.toml:21: host.payload = \"63 B\": expected 64 B to 9000 B"]),
    (
        "payload = \"1000 B\"",
        "payload = \"9001 B\"",
        &["bad.toml:21: host.payload = \"9001 B\": expected 64 B to 9000 B"],
    ),
    ("payload = \"1000 B\"", "header = \"0 B\"", &["bad.toml:21: host.header = \"0 B\": expected 1 B to 512 B"]),
    ("payload = \"1000 B\"", "ack = \"0 B\"", &["bad.toml:21: host.ack = \"0 B\": expected 20 B to 1500 B"]),
    (
        "payload = \"1000 B\"",
        "window = \"100 B\"",
        &["bad.toml:21: host.window = \"100 B\": expected at least host.payload (1 KB)"],
    ),
    (
        "payload = \"1000 B\"",
        "rto = \"0 us\"",
        &["bad.toml:21: host.rto = \"0 us\": expected more than 0 and at most 10 s"],
    ),
    (
        "payload = \"1000 B\"",
        "dctcp.g = 1.5",
        &["bad.toml:21: host.dctcp.g = 1.5: expected a number, above 0 and at most 1"],
    ),
    (
        "payload = \"1000 B\"",
        "transport = \"dctcp\"\ndctcp.min_rate = \"200 Gbps\"",
        &[
            "bad.toml:22: host.dctcp.min_rate = \"200 Gbps\": expected more than 0 and at most the slowest host link, 100 Gbps",
        ],
    ),
    (
        "payload = \"1000 B\"",
        "transport = \"dcqcn\"\ndcqcn.min_rate = \"200 Gbps\"",
        &[
            "bad.toml:22: host.dcqcn.min_rate = \"200 Gbps\": expected more than 0 and at most the slowest host link, 100 Gbps",
        ],
    ),
    (
        "payload = \"1000 B\"",
        "dcqcn.increase_timer = \"2 s\"",
        &["bad.toml:21: host.dcqcn.increase_timer = \"2 s\": expected 1 ns to 1 s"],
    ),
    // Workloads.
    ("load = 0.5", "load = 0", &["bad.toml:26: workload.0.load = 0: expected more than 0 and at most 1"]),
    ("load = 0.5", "load = -0.5", &["bad.toml:26: workload.0.load = -0.5: expected more than 0 and at most 1"]),
    ("load = 0.5", "load = 60", &["bad.toml:26: workload.0.load = 60: expected more than 0 and at most 1"]),
    (
        "google_rpc",
        "googel_rpc",
        &[
            "bad.toml:25: workload.0.sizes.table = \"googel_rpc\": unknown table; did you mean \"google_rpc\"?",
            "expected one of the 25 names that `backwater list workloads` lists",
        ],
    ),
    (
        "{ table = \"google_rpc\" }",
        "{ fixed = \"0 B\" }",
        &["bad.toml:25: workload.0.sizes.fixed = \"0 B\": expected 1 B to 128 GiB"],
    ),
    (
        "{ table = \"google_rpc\" }",
        "{ points = { linear = true, points = [[1, 0.5], [2, 0.9]] } }",
        &[
            "bad.toml:25: workload.0.sizes.points.points.1 = [2, 0.9]: the last cumulative probability is 0.9: expected 1",
        ],
    ),
    (
        "{ table = \"google_rpc\" }",
        "{ points = { linear = true, points = [[5, 0.5], [2, 1]] } }",
        &["bad.toml:25: workload.0.sizes.points.points.1 = [2, 1]: size 2 after 5: expected sizes that do not fall"],
    ),
    (
        "{ table = \"google_rpc\" }",
        "{ points = { linear = true, points = [[5]] } }",
        &["bad.toml:25: workload.0.sizes.points.points.0 = [5]: expected a list of 2, not 1 entries"],
    ),
    (
        "load = 0.5",
        "load = 0.5\nfrom = [\"host8\"]",
        &["bad.toml:27: workload.0.from.0 = \"host8\": unknown host \"host8\"; expected one of host0, host1", "host7"],
    ),
    (
        "load = 0.5",
        "load = 0.5\nto = [\"leaf0\"]",
        &["bad.toml:27: workload.0.to.0 = \"leaf0\": \"leaf0\" is a switch; expected one of the hosts host0"],
    ),
    (
        "load = 0.5",
        "load = 0.5\nfrom = [\"host3..host1\"]",
        &[
            "bad.toml:27: workload.0.from.0 = \"host3..host1\": expected a range of hosts from a lower to a higher number",
        ],
    ),
    (
        "load = 0.5",
        "load = 0.5\nfrom = [\"host1\"]\nto = [\"host1\"]",
        &["bad.toml:28: workload.0.to = [\"host1\"]: no source has another host to send to"],
    ),
    (
        "load = 0.5",
        "load = 0.5\nload_of = \"exact-core\"\nfrom = [\"host0\"]\nto = [\"host1\"]",
        &[
            "bad.toml:27: workload.0.load_of = \"exact-core\": no pair of hosts in from and to crosses the core; expected \"receivers\"",
        ],
    ),
    (
        "load = 0.5",
        "load = 0.5\nstart = \"2 ms\"",
        &["bad.toml:27: workload.0.start = \"2 ms\": expected a time before run.duration = 1 ms"],
    ),
    (
        "load = 0.5",
        "load = 0.5\narrivals = { log-normal = 0 }",
        &["bad.toml:27: workload.0.arrivals.log-normal = 0: expected a sigma above 0 and at most 5"],
    ),
    (
        "load = 0.5",
        "load = 0.5\nclass = \"\"",
        &["bad.toml:27: workload.0.class = \"\": expected a name of 1 to 64 characters"],
    ),
    ("degree = 4", "degree = 0", &["bad.toml:30: workload.1.degree = 0: expected 1 to 1000000"]),
    (
        "aggregate = \"40 KB\"",
        "aggregate = \"3 B\"",
        &["bad.toml:31: workload.1.aggregate = \"3 B\": expected at least one byte for each of the 4 flows"],
    ),
    (
        "period = \"100 us\"\n",
        "",
        &["bad.toml:28: workload.1.period: missing, and so is load: expected one of the two"],
    ),
    (
        "period = \"100 us\"",
        "period = \"100 us\"\nload = 0.1",
        &["bad.toml:33: workload.1.load = 0.1: given beside period: expected one of the two"],
    ),
    ("period = \"100 us\"", "period = \"0 us\"", &["bad.toml:32: workload.1.period = \"0 us\": expected more than 0"]),
    ("period = \"100 us\"", "load = 1.5", &["bad.toml:32: workload.1.load = 1.5: expected more than 0 and at most 1"]),
    (
        "period = \"100 us\"",
        "period = \"100 us\"\nfrom = [\"host0\"]",
        &["workload.1.to = []", "host0 is the only source and a victim"],
    ),
    ("count = 2", "count = 0", &["bad.toml:36: workload.2.count = 0: expected 1 to 1000000"]),
    ("count = 2", "count = 2\nsize = \"0 B\"", &["bad.toml:37: workload.2.size = \"0 B\": expected 1 B to 128 GiB"]),
    (
        "count = 2",
        "count = 2\nfrom = [\"host1\", \"host0\"]",
        &["bad.toml:37: workload.2.from = [\"host1\", \"host0\"]: flow 1 would go from host0 to itself"],
    ),
    (
        "count = 2",
        "count = 2\nstagger = \"1 ms\"",
        &["bad.toml:37: workload.2.stagger = \"1 ms\": the last of 2 flows would start after run.duration = 1 ms"],
    ),
    (
        "degree = 4",
        "degree = 4\nclass = \"background\"",
        &["bad.toml:31: workload.1.class = \"background\": workload.0 has this class: expected another"],
    ),
    ("to = [\"host0\"]", "to = []", &["bad.toml:37: workload.2.to = []: expected at least one host"]),
    (
        "to = [\"host0\"]",
        "to = [\"host0..host7\"]",
        &["workload.2.to = ", "every host is a destination, and from is empty"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"flow-list\"",
        &["bad.toml:34: workload.2.flows = [] (default): expected at least one flow", "start_ns,src,dst,bytes"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"flow-list\"\nflows = [{ start = \"1 us\", src = \"host1\", dst = \"host1\", bytes = \"1 KB\" }]",
        &["bad.toml:36: workload.2.flows.0.dst = \"host1\": the same host as src: expected another"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"flow-list\"\nflows = [{ start = \"1 us\", src = \"host1\", dst = \"host2\", bytes = \"0 B\" }]",
        &["bad.toml:36: workload.2.flows.0.bytes = \"0 B\": expected 1 B to 128 GiB"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"flow-list\"\nflows = [{ start = \"1 ms\", src = \"host1\", dst = \"host2\", bytes = \"1 B\" }]",
        &["bad.toml:36: workload.2.flows.0.start = \"1 ms\": expected a time before run.duration = 1 ms"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\nbytes = \"1 MB\"",
        &["bad.toml:34: workload.2.pattern: missing", "\"ring\""],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"",
        &["bad.toml:34: workload.2.bytes: missing"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"star\"\nbytes = \"1 MB\"",
        &["bad.toml:36: workload.2.pattern = \"star\": expected \"ring\" or \"all-to-all\" or \"pipeline\""],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\nhosts = [\"host0\"]",
        &["bad.toml:38: workload.2.hosts = [\"host0\"]: expected at least two hosts"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\nhosts = [\"host0..host3\", \"host2\"]",
        &[
            "bad.toml:38: workload.2.hosts.4 = \"host2\": rank 2 is at this host too: expected a host of its own for each rank",
        ],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\nhosts = [\"host0\", \"leaf0\"]",
        &["bad.toml:38: workload.2.hosts.1 = \"leaf0\": \"leaf0\" is a switch"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"all-to-all\"\nbytes = \"7 B\"",
        &["bad.toml:37: workload.2.bytes = \"7 B\": expected at least one byte for each of 8 ranks"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"pipeline\"\nbytes = \"0 B\"",
        &["bad.toml:37: workload.2.bytes = \"0 B\": expected 1 B to 128 GiB"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"129 GiB\"",
        &["workload.2.bytes = \"129 GiB\": expected 1 B to 128 GiB"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\niterations = 0",
        &["bad.toml:38: workload.2.iterations = 0: expected 1 to 74898: an iteration has 112 flows"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"pipeline\"\nbytes = \"1 MB\"\niterations = 2000000",
        &["bad.toml:38: workload.2.iterations = 2000000: expected 1 to 1198372: an iteration has 7 flows"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\nstart = \"1 ms\"",
        &["bad.toml:38: workload.2.start = \"1 ms\": expected a time before run.duration = 1 ms"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\ncompute = \"2 ms\"",
        &["bad.toml:38: workload.2.compute = \"2 ms\": expected at most run.duration = 1 ms"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]",
        "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\npriority = 8",
        &["bad.toml:38: workload.2.priority = 8: expected 0 to 7"],
    ),
    // Run, measure, fault.
    (
        "duration = \"1 ms\"",
        "duration = \"0 s\"",
        &["bad.toml:40: run.duration = \"0 s\": expected more than 0 and at most 60 s"],
    ),
    (
        "duration = \"1 ms\"",
        "duration = \"61 s\"",
        &["bad.toml:40: run.duration = \"61 s\": expected more than 0 and at most 60 s, the range of the clock"],
    ),
    (
        "warmup = \"100 us\"",
        "warmup = \"1 ms\"",
        &["bad.toml:41: run.warmup = \"1 ms\": expected less than run.duration = 1 ms"],
    ),
    (
        "warmup = \"100 us\"",
        "warmup = \"100 us\"\ncooldown = \"900 us\"",
        &["bad.toml:42: run.cooldown = \"900 us\": expected less than 900 us, which run.warmup leaves of run.duration"],
    ),
    (
        "warmup = \"100 us\"",
        "cooldown = \"1 ms\"",
        &["bad.toml:41: run.cooldown = \"1 ms\": expected less than 1 ms, which run.warmup leaves of run.duration"],
    ),
    ("warmup = \"100 us\"", "cooldown = \"-1 us\"", &["bad.toml:41: run.cooldown = \"-1 us\": expected"]),
    ("warmup = \"100 us\"", "drain = 0.5", &["bad.toml:41: run.drain = 0.5: expected 1 to"]),
    (
        "warmup = \"100 us\"",
        "window = \"2 us\"",
        &[
            "bad.toml:41: run.window = \"2 us\": expected more than 0 and at most 1003920 ps, the shortest link delay and the shortest frame on it",
        ],
    ),
    ("warmup = \"100 us\"", "window = \"0 ns\"", &["bad.toml:41: run.window = \"0 ns\": expected more than 0"]),
    (
        "[run]",
        "[measure]\nsample = \"1 ps\"\n[run]",
        &["bad.toml:40: measure.sample = \"1 ps\": expected \"0 s\" for none, or at least 10 ns"],
    ),
    (
        "[run]",
        "[measure]\nsize_bins = [\"1 KB\", \"1 KB\"]\n[run]",
        &["bad.toml:40: measure.size_bins.1 = \"1 KB\": expected more than the end before it, 1 KB"],
    ),
    ("\"spine0\"", "\"spine7\"", &["bad.toml:44: fault.0.link.1 = \"spine7\": unknown node", "spine1"]),
    ("\"spine0\"", "\"leaf1\"", &["bad.toml:44: fault.0.link = [\"leaf0\", \"leaf1\"]: no link joins these two"]),
    ("loss = 0.001", "loss = 1", &["bad.toml:45: fault.0.loss = 1: expected 0 to below 1"]),
    ("loss = 0.001", "control_loss = -0.1", &["bad.toml:45: fault.0.control_loss = -0.1: expected 0 to below 1"]),
    (
        "loss = 0.001",
        "down = [[\"2 us\", \"1 us\"]]",
        &["bad.toml:45: fault.0.down.0 = [\"2 us\", \"1 us\"]: expected [down, up] with down before up"],
    ),
    (
        "loss = 0.001",
        "down = [[\"1 us\", \"3 us\"], [\"2 us\", \"4 us\"]]",
        &["bad.toml:45: fault.0.down.1 = ", "do not overlap"],
    ),
    (
        "loss = 0.001",
        "[[fault]]\nlink = [\"spine0\", \"leaf0\"]",
        &["bad.toml:46: fault.1.link = [\"spine0\", \"leaf0\"]: an earlier [[fault]] is about this link"],
    ),
    // Sweeps, variants, scales, extends.
    (
        "seed = 1",
        "sweep = { \"switch.queues\" = 32 }",
        &["bad.toml:3: sweep.\"switch.queues\" = 32: expected a list of the values"],
    ),
    (
        "seed = 1",
        "sweep = { \"switch.queues\" = [] }",
        &["bad.toml:3: sweep.\"switch.queues\" = []: expected at least one value"],
    ),
    (
        "seed = 1",
        "sweep = { \"switch.queues\" = [32, 500] }",
        &["bad.toml:3: switch.queues = 500: expected 2 to 129", "(run bfc.queues=500)"],
    ),
    (
        "seed = 1",
        "sweep = { \"switch.quues\" = [32] }",
        &["bad.toml:3: switch.quues = 32: unknown key; did you mean \"queues\"?"],
    ),
    (
        "seed = 1",
        "sweep = { \"workload.7.load\" = [0.1] }",
        &["bad.toml:3: workload.7.load = 0.1: workload.7 is not an entry of the list: its entries are 0 to 2"],
    ),
    ("seed = 1", "sweep = { \"class\" = [\"a\"] }\nseed = 1", &["bad.toml:3: class = \"a\": unknown key"]),
    (
        "kind = \"long-lived\"\ncount = 2\n",
        "kind = \"background\"\nsizes = { table = \"google_rpc\" }\nload = 0.1\n[sweep]\nload = [0.2]\n[[workload]]\nkind = \"long-lived\"\ncount = 2\n",
        &["load = [0.2]: 2 workloads have it; expected workload.0.load or workload.2.load"],
    ),
    (
        "kind = \"long-lived\"\ncount = 2\n",
        "kind = \"background\"\nclass = \"more\"\nsizes = { table = \"google_rpc\" }\nload = 0.1\n[sweep]\nload = [0.2]\n[[workload]]\nkind = \"long-lived\"\ncount = 2\n",
        &["load = [0.2]: 2 workloads have it; expected background.load or more.load"],
    ),
    (
        "seed = 1",
        "sweep = { \"incst.degree\" = [4] }\nseed = 1",
        &["incst.degree = [4]: unknown key; did you mean \"incast\"? the workloads are background, incast"],
    ),
    (
        "seed = 1",
        "sweep = { \"incast.degre\" = [4] }\nseed = 1",
        &["workload.1.degre = 4: unknown key; did you mean \"degree\"?"],
    ),
    (
        "seed = 1",
        "sweep = { \"seed.deep\" = [1] }\nseed = 1",
        &["bad.toml:3: seed.deep = 1: seed is a whole number and has no keys"],
    ),
    (
        "[run]",
        "[[variant]]\nscheme = \"bfc\"\n[run]",
        &["bad.toml:39: variant.0.name: missing: expected a text in quotes"],
    ),
    (
        "[run]",
        "[[variant]]\nname = \"A\"\n[[variant]]\nname = \"A\"\n[run]",
        &["bad.toml:42: variant.1.name = \"A\": an earlier variant has this name"],
    ),
    (
        "[run]",
        "[[variant]]\nname = \"A\"\nscheme = \"nope\"\n[run]",
        &["bad.toml:41: scheme = \"nope\": unknown scheme; expected one of the "],
    ),
    (
        "[run]",
        "[scale.quik]\nseed = 2\n[run]",
        &["bad.toml:39: scale.quik = { seed = 2 }: unknown key; did you mean \"quick\"?", "paper"],
    ),
    (
        "[run]",
        "[scale.quick]\n\"variant.B.seed\" = 2\n[[variant]]\nname = \"A\"\n[run]",
        &["bad.toml:40: scale.quick.variant.B.seed = 2: unknown variant \"B\"; expected one of A"],
    ),
    ("seed = 1", "extends = 7", &["bad.toml:3: extends = 7: expected a text in quotes"]),
    (
        "seed = 1",
        "extends = \"missing.toml\"",
        &["bad.toml:3: extends = \"missing.toml\": cannot be read: there is no such file"],
    ),
    ("seed = 1", "figure = 7", &["bad.toml:3: figure = 7: expected a table"]),
    ("seed = 1", "expect = [7]", &["bad.toml:3: expect.0 = 7: expected a table"]),
];

/// A good scenario of FlowSail in pods, with PFC at the cores.
const PODS: &str = r#"name = "pods"
scheme = "flowsail"

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
queues = 8
priority_groups = 2

[switch.flowsail]
ql = 1.0
qh = 3.0
weights = [1, 2]
sketch = { rows = 2, columns = 1024 }

[[workload]]
kind = "incast"
degree = 4
sizes = { uniform = ["50 KB", "200 KB"] }
load = 0.06
priority = 1

[[workload]]
kind = "long-lived"
count = 1
rate = "60 Gbps"
to = ["host0"]

[[region]]
at = ["core0..core2", "core3"]
scheme = "pfc"
switch = { buffer = "6 MB" }

[run]
duration = "1 ms"
"#;

/// Cases like [`CASES`], for [`PODS`].
const PODS_CASES: &[Case] = &[
    // Fat tree.
    ("pods = 2", "pods = 0", &["bad.toml:6: topology.pods = 0: expected at least 1"]),
    (
        "kind = \"fat-tree\"",
        "kind = \"two-clos\"",
        &["bad.toml:8: topology.aggs_per_pod = 2: unknown key; allowed in topology: core_delay"],
    ),
    ("aggs_per_pod = 2", "aggs_per_pod = 0", &["bad.toml:8: topology.aggs_per_pod = 0: expected at least 1"]),
    (
        "cores = 4",
        "cores = 3",
        &[
            "bad.toml:9: topology.cores = 3: expected a multiple of aggs_per_pod = 2: aggregation switch j of a pod links to the cores of group j",
        ],
    ),
    ("cores = 4\n", "", &["bad.toml:4: topology.cores: missing: expected a whole number"]),
    (
        "hosts_per_tor = 2",
        "hosts_per_tor = 254",
        &["bad.toml:10: topology.hosts_per_tor = 254: gives a ToR 256 ports: expected at most 255"],
    ),
    (
        "cores = 4",
        "cores = 508",
        &["bad.toml:9: topology.cores = 508: gives an aggregation switch 256 ports: expected at most 255"],
    ),
    ("pods = 2", "pods = 256", &["bad.toml:6: topology.pods = 256: gives a core 256 ports: expected at most 255"]),
    ("pods = 2", "pods = 40000", &["bad.toml:10: topology.hosts_per_tor = 2: makes 160000 hosts: expected 2 to 60000"]),
    (
        "tors_per_pod = 2\naggs_per_pod = 2\ncores = 4\n",
        "pods_ = 1\n",
        &["bad.toml:7: topology.pods_ = 1: unknown key; did you mean \"pods\"?", "aggs_per_pod"],
    ),
    (
        "core_rate = \"100 Gbps\"",
        "core_rate = \"0 bps\"",
        &["bad.toml:12: topology.core_rate = \"0 bps\": expected 1 Mbps"],
    ),
    (
        "core_delay = \"1 us\"",
        "core_delay = \"0 us\"",
        &["bad.toml:14: topology.core_delay = \"0 us\": expected more than 0", "look-ahead"],
    ),
    // Products.
    (
        "queues = 8\n",
        "assignment = \"dynamic\"\n",
        &[
            "preset \"flowsail\": switch.backpressure = \"flowsail\": only with assignment = \"flowsail\"",
            "expected assignment = \"flowsail\", or another backpressure",
        ],
    ),
    (
        "queues = 8\n",
        "backpressure = \"bfc\"\n",
        &[
            "bad.toml:17: switch.backpressure = \"bfc\": not with assignment = \"flowsail\": one table of flows",
            "expected backpressure = \"flowsail\"",
        ],
    ),
    (
        "queues = 8\n",
        "backpressure = \"none\"\n",
        &["bad.toml:17: switch.backpressure = \"none\": not with assignment = \"flowsail\""],
    ),
    (
        "queues = 8\n",
        "assignment = \"stochastic\"\nbackpressure = \"per-flow\"\n",
        &[
            "bad.toml:18: switch.backpressure = \"per-flow\": only with a table of flows",
            "the switch has to know it",
            "expected assignment = \"per-flow\" or \"dynamic\"",
        ],
    ),
    ("queues = 8\n", "queues = 129\n", &["bad.toml:17: switch.queues = 129: expected 2 to 128"]),
    ("queues = 8\n", "queues = 1\n", &["bad.toml:17: switch.queues = 1: expected 2 to 128"]),
    ("queues = 8\n", "when_paused = \"drop\"\n", &["bad.toml:17: switch.when_paused = \"drop\": expected \"hold\" or"]),
    (
        "switch = { buffer = \"6 MB\" }",
        "switch = { when_paused = \"discard\" }",
        &[
            "bad.toml:42: region.0.switch.when_paused = \"discard\": this scheme pauses no single queue; expected \"hold\"",
            "backpressure = \"bfc\", \"flowsail\" or \"per-flow\"",
        ],
    ),
    (
        "queues = 8\n",
        "buffer = \"infinite\"\n",
        &["bad.toml:17: switch.buffer = \"infinite\": not with neighbours that use PFC, which pauses at a share"],
    ),
    (
        "queues = 8\n",
        "buffer = \"60 KB\"\n",
        &["bad.toml:17: switch.buffer = \"60 KB\": headroom and reserve of all ports of agg0 add up to"],
    ),
    // Priority groups.
    ("priority_groups = 2", "priority_groups = 0", &["bad.toml:18: switch.priority_groups = 0: expected 1 to 8"]),
    ("priority_groups = 2", "priority_groups = 9", &["bad.toml:18: switch.priority_groups = 9: expected 1 to 8"]),
    (
        "priority_groups = 2",
        "priority_groups = 3",
        &[
            "bad.toml:18: switch.priority_groups = 3: expected a divisor of the 8 data queues that leaves each group at least two",
        ],
    ),
    (
        "priority_groups = 2",
        "priority_groups = 8",
        &[
            "bad.toml:18: switch.priority_groups = 8: expected a divisor of the 8 data queues that leaves each group at least two",
        ],
    ),
    (
        "switch = { buffer = \"6 MB\" }",
        "switch = { assignment = \"priority\", queues = 8, priority_groups = 2 }",
        &[
            "bad.toml:42: region.0.switch.priority_groups = 2: this assignment already has a queue for each priority",
            "expected 1, or assignment = \"single\"",
        ],
    ),
    (
        "priority = 1",
        "priority = 2",
        &["bad.toml:31: workload.0.priority = 2: expected less than switch.priority_groups = 2"],
    ),
    ("priority = 1", "priority = 8", &["bad.toml:31: workload.0.priority = 8: expected 0 to 7"]),
    (
        "priority_groups = 2\n\n[switch.flowsail]\nql = 1.0\nqh = 3.0\nweights = [1, 2]",
        "\n[switch.flowsail]\nweights = [1]",
        &["workload.0.priority = 1: switch.flowsail.weights has 1 entries: expected a priority that has one"],
    ),
    // FlowSail's parameters.
    ("ql = 1.0", "ql = 0", &["bad.toml:21: switch.flowsail.ql = 0: expected more than 0"]),
    ("qh = 3.0", "qh = 0.5", &["bad.toml:22: switch.flowsail.qh = 0.5: expected at least ql = 1"]),
    (
        "qh = 3.0",
        "hrtt = \"0 us\"",
        &["bad.toml:22: switch.flowsail.hrtt = \"0 us\": expected at least 1 ps and at most 10 s"],
    ),
    ("qh = 3.0", "release = 4", &["bad.toml:22: switch.flowsail.release = 4: expected a time with a unit"]),
    (
        "qh = 3.0",
        "release_from = \"pause\"",
        &["bad.toml:22: switch.flowsail.release_from = \"pause\": expected \"resume\" or \"touch\""],
    ),
    ("qh = 3.0", "hold = \"all\"", &["bad.toml:22: switch.flowsail.hold = \"all\": expected \"head\" or \"any\""]),
    (
        "qh = 3.0",
        "residue = \"drop\"",
        &["bad.toml:22: switch.flowsail.residue = \"drop\": expected \"hold\" or \"drain\""],
    ),
    (
        "qh = 3.0",
        "refresh = \"soon\"",
        &["bad.toml:22: switch.flowsail.refresh = \"soon\": expected a time with a unit"],
    ),
    ("qh = 3.0", "isolation_queues = 0", &["bad.toml:22: switch.flowsail.isolation_queues = 0: expected at least 1"]),
    (
        "qh = 3.0",
        "isolation_queues = 4",
        &["bad.toml:22: switch.flowsail.isolation_queues = 4: expected fewer than the 4 queues of a group"],
    ),
    (
        "qh = 3.0",
        "table_entries = 15",
        &["bad.toml:22: switch.flowsail.table_entries = 15: expected a whole number from 16 to 1000000"],
    ),
    (
        "qh = 3.0",
        "table_entries = 1000001",
        &["switch.flowsail.table_entries = 1000001: expected a whole number from 16 to 1000000"],
    ),
    (
        "qh = 3.0",
        "fingerprint_bits = 7",
        &["bad.toml:22: switch.flowsail.fingerprint_bits = 7: expected a whole number from 8 to 32"],
    ),
    (
        "qh = 3.0",
        "fingerprint_bits = 33",
        &["bad.toml:22: switch.flowsail.fingerprint_bits = 33: expected a whole number from 8 to 32"],
    ),
    ("qh = 3.0", "nactive_literal = 1", &["bad.toml:22: switch.flowsail.nactive_literal = 1: expected true or false"]),
    (
        "qh = 3.0",
        "strict_fair = \"no\"",
        &["bad.toml:22: switch.flowsail.strict_fair = \"no\": expected true or false"],
    ),
    ("qh = 3.0", "as_printed = 1", &["bad.toml:22: switch.flowsail.as_printed = 1: expected true or false"]),
    ("qh = 3.0", "nic_obeys = 1", &["bad.toml:22: switch.flowsail.nic_obeys = 1: expected true or false"]),
    ("weights = [1, 2]", "weights = [1, 0]", &["bad.toml:23: switch.flowsail.weights.1 = 0: expected 1 to 255"]),
    ("weights = [1, 2]", "weights = [256, 1]", &["bad.toml:23: switch.flowsail.weights.0 = 256: expected 1 to 255"]),
    (
        "weights = [1, 2]",
        "weights = [1, 1, 1, 1, 1, 1, 1, 1, 1]",
        &["bad.toml:23: switch.flowsail.weights = ", "expected one for each priority, at most 8; there are 9"],
    ),
    ("rows = 2", "rows = 0", &["bad.toml:24: switch.flowsail.sketch.rows = 0: expected a whole number from 1 to 8"]),
    ("rows = 2", "rows = 9", &["bad.toml:24: switch.flowsail.sketch.rows = 9: expected a whole number from 1 to 8"]),
    (
        "columns = 1024",
        "columns = 1000",
        &["switch.flowsail.sketch.columns = 1000: expected a power of two from 16 to 65536"],
    ),
    ("columns = 1024", "columns = 131072", &["switch.flowsail.sketch.columns = 131072: expected a power of two"]),
    (", columns = 1024", "", &["bad.toml:24: switch.flowsail.sketch.columns: missing: expected a whole number"]),
    (
        "qh = 3.0",
        "elide = [[\"host0\", \"core0\", \"agg1\"]]",
        &["bad.toml:22: switch.flowsail.elide.0 = [\"host0\", \"core0\", \"agg1\"]: expected [from, switch, to]"],
    ),
    ("qh = 3.0", "elide = \"valey\"", &["bad.toml:22: switch.flowsail.elide = \"valey\": did you mean \"valley\"?"]),
    (
        "sketch = { rows = 2, columns = 1024 }",
        "as_printed = true",
        &["bad.toml:24: switch.flowsail.as_printed = true: agg0 has neighbours that use PFC", "expected false"],
    ),
    // Sizes drawn for each flow, and datagrams.
    (
        "sizes = { uniform = [\"50 KB\", \"200 KB\"] }\n",
        "",
        &["bad.toml:26: workload.0.aggregate: missing, and so is sizes: expected one of the two"],
    ),
    (
        "degree = 4",
        "degree = 4\naggregate = \"1 MB\"",
        &["bad.toml:30: workload.0.sizes = ", "given beside aggregate: expected one of the two"],
    ),
    (
        "[\"50 KB\", \"200 KB\"]",
        "[\"0 B\", \"200 KB\"]",
        &["bad.toml:29: workload.0.sizes.uniform.0 = \"0 B\": expected 1 B to 128 GiB"],
    ),
    (
        "[\"50 KB\", \"200 KB\"]",
        "[\"50 KB\", \"40 KB\"]",
        &["bad.toml:29: workload.0.sizes.uniform.1 = \"40 KB\": expected at least the first size, 50 KB"],
    ),
    (
        "[\"50 KB\", \"200 KB\"]",
        "[\"50 KB\"]",
        &["bad.toml:29: workload.0.sizes.uniform = [\"50 KB\"]: expected a list of 2, not 1 entries"],
    ),
    (
        "[\"50 KB\", \"200 KB\"]",
        "\"50 KB\"",
        &["bad.toml:29: workload.0.sizes.uniform = \"50 KB\": expected a list of 2, not a text"],
    ),
    (
        "{ uniform = [\"50 KB\", \"200 KB\"] }",
        "{ table = \"googel_rpc\" }",
        &["bad.toml:29: workload.0.sizes.table = \"googel_rpc\": unknown table; did you mean \"google_rpc\"?"],
    ),
    (
        "{ uniform = [\"50 KB\", \"200 KB\"] }",
        "{ file = \"none.csv\" }",
        &["bad.toml:29: workload.0.sizes.file = \"none.csv\": cannot be read: there is no such file"],
    ),
    (
        "rate = \"60 Gbps\"",
        "rate = \"0 bps\"",
        &["bad.toml:36: workload.1.rate = \"0 bps\": expected 1 Mbps to 8 Tbps"],
    ),
    ("rate = \"60 Gbps\"", "rate = 60", &["bad.toml:36: workload.1.rate = 60: expected a rate with a unit"]),
    // Regions.
    (
        "\"core3\"]",
        "\"core9\"]",
        &["bad.toml:40: region.0.at.3 = \"core9\": unknown node \"core9\"; expected one of host0"],
    ),
    (
        "\"core3\"]",
        "\"host3\"]",
        &["bad.toml:40: region.0.at.3 = \"host3\": \"host3\" is a host; expected one of tor0, tor1"],
    ),
    (
        "\"core3\"]",
        "\"spine*\"]",
        &["bad.toml:40: region.0.at.3 = \"spine*\": no switch has a name that begins like this; expected one of tor0"],
    ),
    (
        "\"core3\"]",
        "\"core*\"]",
        &["bad.toml:40: region.0.at.3 = \"core*\": region.0 has core0: expected a switch to be named once"],
    ),
    (
        "[run]",
        "[[region]]\nat = [\"core3\"]\n[run]",
        &["bad.toml:45: region.1.at.0 = \"core3\": region.0 has core3: expected a switch to be named once"],
    ),
    (
        "core0..core2",
        "core2..core0",
        &[
            "bad.toml:40: region.0.at.0 = \"core2..core0\": expected a range of switches from a lower to a higher number",
        ],
    ),
    ("[\"core0..core2\", \"core3\"]", "[]", &["bad.toml:40: region.0.at = []: expected at least one switch"]),
    ("at = [\"core0..core2\", \"core3\"]\n", "", &["bad.toml:39: region.0.at: missing: expected a list"]),
    (
        "scheme = \"pfc\"",
        "scheme = \"pcf\"",
        &["bad.toml:41: region.0.scheme = \"pcf\": unknown scheme; did you mean \"pfc\"?", "`backwater list schemes`"],
    ),
    ("scheme = \"pfc\"", "scheme = 7", &["bad.toml:41: region.0.scheme = 7: expected a text in quotes"]),
    (
        "buffer = \"6 MB\"",
        "bufer = \"6 MB\"",
        &["bad.toml:42: region.0.switch.bufer = \"6 MB\": unknown key; did you mean \"buffer\"?"],
    ),
    ("{ buffer = \"6 MB\" }", "7", &["bad.toml:42: region.0.switch = 7: expected a table with the keys"]),
    (
        "buffer = \"6 MB\"",
        "buffer = \"60 KB\"",
        &[
            "bad.toml:42: region.0.switch.buffer = \"60 KB\": headroom and reserve of all ports of core0 add up to",
            "expected less than region.0.switch.buffer = 60 KB",
        ],
    ),
    ("buffer = \"6 MB\"", "pfc.alpha = 0", &["bad.toml:42: region.0.switch.pfc.alpha = 0: expected more than 0"]),
    (
        "buffer = \"6 MB\"",
        "quantum = \"1 KB\"",
        &["bad.toml:42: region.0.switch.quantum = \"1 KB\": expected host.payload + host.header"],
    ),
    (
        "buffer = \"6 MB\"",
        "symmetric_ecmp = true",
        &["bad.toml:42: region.0.switch.symmetric_ecmp = true: paths are the same in both directions only if"],
    ),
    (
        "scheme = \"pfc\"\nswitch = { buffer = \"6 MB\" }",
        "scheme = \"bfc\"",
        &[
            "preset \"bfc\": region.0.switch.backpressure = \"bfc\": agg0 has \"flowsail\" and its neighbour core0 \"bfc\"",
            "expected the same at both, \"flowsail\" or \"bfc\" beside \"pfc\" (BFC without credits",
        ],
    ),
    (
        "scheme = \"flowsail\"",
        "scheme = \"bfc-tofino2\"",
        &[
            "preset \"pfc\": region.0.switch.backpressure = \"pfc\": agg0 has \"bfc\" and its neighbour core0 \"pfc\"",
            "beside \"pfc\" (BFC without credits, early resume, Tofino2, split or shared tables and srf)",
        ],
    ),
    (
        "[run]",
        "[[region]]\nat = [\"tor*\"]\nswitch.flowsail.refresh = \"20 us\"\n[run]",
        &[
            "bad.toml:46: region.1.switch.flowsail.refresh = \"20 us\": hosts end a pause by switch.flowsail.refresh = 10 us: expected the same value",
        ],
    ),
    (
        "[run]",
        "[[region]]\nat = [\"tor*\"]\nswitch.flowsail.nic_obeys = false\n[run]",
        &[
            "bad.toml:46: region.1.switch.flowsail.nic_obeys = false: hosts obey pauses by switch.flowsail.nic_obeys = true",
        ],
    ),
    (
        "scheme = \"flowsail\"",
        "scheme = \"flowsail\"\ncompat = \"hpcc-sim\"",
        &["preset \"hpcc-sim\": conventions.memory = \"hpcc-sim\": HPCC's simulator has one scheme in all switches"],
    ),
];

/// A good scenario of shared memory and TCP; cases replace one piece of it.
const MEMORY: &str = r#"name = "good"
scheme = "fifo"

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"

[conventions]
acks = "high"

[switch]
buffer = "3 MB"
alpha = 4.0
quantum = "9000 B"
assignment = "class"
queues = 4
not_ect = "drop"
ecn = { kmin = "700 KB", kmax = "700 KB", pmax = 1.0, of = "port", queues = [0, 1] }
pool_ecn = { kmin = "1 MB", kmax = "2 MB", pmax = 0.1, only_ecn_queues = true }
mmu = { ports = 3, private = "10 KB", queue = [{ alpha = 2.0 }, { private = "0 B" }], returns = "private" }

[host]
transport = "tcp"
payload = "8960 B"
header = "40 B"
rto = "5 ms"
nic_buffer = "10 MB"
nic_marks = true

[host.tcp]
marks = "ecn-star"
initial_window = 20
max_window = 125
connections = "persistent"
handshake = true
open = 2
ack_every = 2

[[workload]]
kind = "background"
sizes = { fixed = "10 KB" }
load = 0.5
load_of = "exact-core"
local_share = 0.2

[[workload]]
kind = "long-lived"
count = 1
to = ["host0"]
rate = "1 Gbps"
priority = 7

[run]
duration = "10 ms"
flows = 1000

[measure]
sample = "1 us"
pools = true
queues = [["leaf0", "host0"]]
"#;

const MEMORY_CASES: &[Case] = &[
    // Chips.
    (
        "buffer = \"3 MB\"",
        "chip = \"tomahok\"",
        &[
            "switch.chip = \"tomahok\": unknown chip; did you mean \"tomahawk\"? expected one of broadcom-56538, trident-plus",
        ],
    ),
    ("buffer = \"3 MB\"", "chip = 56538", &["switch.chip = 56538: expected a text in quotes, not a whole number"]),
    ("buffer = \"3 MB\"", "chip = \"\"", &["switch.chip = \"\": unknown chip; expected one of broadcom-56538"]),
    (
        "[run]",
        "[[region]]\nat = [\"spine0\"]\nswitch.chip = \"trident3\"\n[run]",
        &["region.0.switch.chip = \"trident3\": unknown chip; did you mean \"trident2\"?"],
    ),
    // MMUs and private memory.
    ("ports = 3", "ports = 0", &["switch.mmu.ports = 0: expected at least 1"]),
    ("ports = 3", "neighbours = [[\"host0\"], []]", &["switch.mmu.neighbours.1 = []: expected at least one neighbour"]),
    (
        "ports = 3",
        "neighbours = [[\"host0\"], [\"host99\"]]",
        &["switch.mmu.neighbours.1.0 = \"host99\": unknown node \"host99\"; expected one of host0"],
    ),
    (
        "ports = 3",
        "neighbours = [[\"host0\", \"spine1\"], [\"host0\"]]",
        &["switch.mmu.neighbours.1.0 = \"host0\": named twice: expected each neighbour once"],
    ),
    (
        "ports = 3",
        "neighbours = [[\"host0\"], [\"host1\"]], port = 3",
        &["switch.mmu.port = 3: unknown key; did you mean \"ports\"?"],
    ),
    ("private = \"10 KB\"", "private = \"2 TB\"", &["switch.mmu.private = \"2 TB\": expected at most"]),
    ("private = \"10 KB\"", "private = 10", &["switch.mmu.private = 10: expected a size with a unit"]),
    ("{ private = \"0 B\" }", "{ private = \"2 TB\" }", &["switch.mmu.queue.1.private = \"2 TB\": expected at most"]),
    ("{ alpha = 2.0 }", "{ alpha = 0.0 }", &["switch.mmu.queue.0.alpha = 0.0: expected more than 0"]),
    ("{ alpha = 2.0 }", "{ alpha = -1 }", &["switch.mmu.queue.0.alpha = -1: expected more than 0"]),
    ("{ alpha = 2.0 }", "{ alpha = nan }", &["switch.mmu.queue.0.alpha = NaN: expected"]),
    (
        "{ alpha = 2.0 }",
        "{}, {}, {}, {}",
        &["switch.mmu.queue = ", "5 queues: expected at most 4, the data queues of a port"],
    ),
    (
        "returns = \"private\"",
        "returns = \"pool\"",
        &["switch.mmu.returns = \"pool\": expected \"shared\" or \"private\""],
    ),
    (
        "not_ect = \"drop\"",
        "backpressure = \"pfc\"",
        &[
            "switch.mmu.ports = 3: PFC accounts for one pool; expected one MMU for all 6 ports, or backpressure = \"none\"",
        ],
    ),
    (
        "not_ect = \"drop\"",
        "backpressure = \"pfc\"\nbfc.refresh = \"0 s\"",
        &["switch.mmu.ports = 3: PFC accounts for one pool"],
    ),
    // Marks.
    (
        "queues = [0, 1]",
        "queues = [0, 4]",
        &["switch.ecn.queues.1 = 4: expected a queue below 4, the data queues of a port"],
    ),
    ("of = \"port\"", "of = \"pool\"", &["switch.ecn.of = \"pool\": expected \"queue\" or \"port\""]),
    ("of = \"port\"", "spacing = \"even\"", &["switch.ecn.spacing = \"even\": expected \"plain\" or \"uniform\""]),
    ("kmin = \"1 MB\"", "kmin = \"3 MB\"", &["switch.pool_ecn.kmin = \"3 MB\": expected at most kmax, 2 MB"]),
    (
        "kmax = \"2 MB\", pmax = 0.1",
        "kmax = \"2 MB\", pmax = 1.1",
        &["switch.pool_ecn.pmax = 1.1: expected a number, at least 0 and at most 1"],
    ),
    (
        "kmin = \"1 MB\", kmax = \"2 MB\"",
        "kmin = \"0 B\", kmax = \"0 B\"",
        &["switch.pool_ecn.kmax = \"0 B\": expected more than 0 B"],
    ),
    (
        "kmax = \"2 MB\"",
        "kmax = \"4 MB\"",
        &["switch.pool_ecn.kmax = \"4 MB\": expected at most switch.buffer = 3 MB, which the pool never exceeds"],
    ),
    (
        "buffer = \"3 MB\"",
        "buffer = \"infinite\"",
        &["switch.pool_ecn = ", "an infinite pool has no share in use; expected a size as buffer"],
    ),
    (
        "only_ecn_queues = true",
        "spaced_over = \"port\"",
        &["switch.pool_ecn.spaced_over = \"port\": spacing = \"plain\" counts no packets; expected \"pool\""],
    ),
    (
        "only_ecn_queues = true",
        "spacing = \"uniform\", spaced_over = \"queue\"",
        &["switch.pool_ecn.spaced_over = \"queue\": expected \"pool\" or \"port\""],
    ),
    ("kmin = \"1 MB\", ", "", &["switch.pool_ecn.kmin: missing: expected a size with a unit"]),
    ("not_ect = \"drop\"", "not_ect = \"mark\"", &["switch.not_ect = \"mark\": expected \"pass\" or \"drop\""]),
    // Classes.
    (
        "queues = 4",
        "queues = 9",
        &["switch.queues = 9: expected 2 to 8: a queue for each traffic class, of which there are 8"],
    ),
    ("queues = 4", "queues = 1", &["switch.queues = 1: expected 2 to 8: a queue for each traffic class"]),
    (
        "not_ect = \"drop\"",
        "backpressure = \"bfc\"",
        &["host.transport = \"tcp\": the NIC of a TCP host is one FIFO, which only PFC can pause"],
    ),
    ("priority = 7", "priority = 8", &["workload.1.priority = 8: expected 0 to 7"]),
    // TCP.
    (
        "marks = \"ecn-star\"",
        "marks = \"ecn\"",
        &["host.tcp.marks = \"ecn\": ", "\"none\" or \"dctcp\" or \"ecn-star\""],
    ),
    ("marks = \"ecn-star\"", "g = 0", &["host.tcp.g = 0: expected a number, above 0 and at most 1"]),
    ("marks = \"ecn-star\"", "g = 1.5", &["host.tcp.g = 1.5: expected a number, above 0 and at most 1"]),
    ("marks = \"ecn-star\"", "alpha = 1.5", &["host.tcp.alpha = 1.5: expected a number, at least 0 and at most 1"]),
    ("marks = \"ecn-star\"", "alpha = -0.5", &["host.tcp.alpha = -0.5: expected a number, at least 0 and at most 1"]),
    ("initial_window = 20", "initial_window = 0", &["host.tcp.initial_window = 0: expected 1 to 65535 segments"]),
    (
        "initial_window = 20",
        "initial_window = 65536",
        &["host.tcp.initial_window = 65536: expected 1 to 65535 segments"],
    ),
    ("initial_window = 20", "min_window = 0", &["host.tcp.min_window = 0: expected 1 to 65535 segments"]),
    ("initial_window = 20", "dup_acks = 0", &["host.tcp.dup_acks = 0: expected 1 to 65535 segments"]),
    ("max_window = 125", "max_window = 70000", &["host.tcp.max_window = 70000: expected 0 to 65535 segments"]),
    (
        "max_window = 125",
        "max_window = 19",
        &["host.tcp.max_window = 19: expected 0 for none, or at least initial_window and min_window"],
    ),
    (
        "initial_window = 20",
        "min_window = 126",
        &["host.tcp.max_window = 125: expected 0 for none, or at least initial_window and min_window"],
    ),
    ("ack_every = 2", "ack_every = 0", &["host.tcp.ack_every = 0: expected 1 to 65535 segments"]),
    (
        "ack_every = 2",
        "ack_delay = \"0 us\"",
        &["host.tcp.ack_delay = \"0 us\": expected more than 0 and less than host.rto = 5 ms"],
    ),
    (
        "ack_every = 2",
        "ack_delay = \"5 ms\"",
        &["host.tcp.ack_delay = \"5 ms\": expected more than 0 and less than host.rto = 5 ms"],
    ),
    ("ack_every = 2", "rto_max = \"4 ms\"", &["host.tcp.rto_max = \"4 ms\": expected host.rto = 5 ms to 64 s"]),
    ("ack_every = 2", "rto_max = \"65 s\"", &["host.tcp.rto_max = \"65 s\": expected host.rto = 5 ms to 64 s"]),
    (
        "connections = \"persistent\"",
        "connections = \"pooled\"",
        &["host.tcp.connections = \"pooled\": expected \"per-flow\" or \"persistent\""],
    ),
    ("open = 2", "open = 65536", &["host.tcp.open = 65536: expected 0 to 65535 segments"]),
    (
        "handshake = true\nopen = 2",
        "handshake = false\nopen = 3",
        &["host.tcp.open = 3: without a handshake connections are not opened; expected the default, 2"],
    ),
    ("handshake = true", "idle_restart = 1", &["host.tcp.idle_restart = 1: expected true or false"]),
    (
        "handshake = true",
        "hand_shake = true",
        &["host.tcp.hand_shake = true: unknown key; did you mean \"handshake\"?"],
    ),
    (
        "nic_buffer = \"10 MB\"",
        "nic_buffer = \"1 KB\"",
        &["host.nic_buffer = \"1 KB\": expected at least one full packet, 9 KB"],
    ),
    (
        "nic_buffer = \"10 MB\"",
        "window = \"bdp\"",
        &["host.window = \"bdp\": TCP uses host.tcp.max_window instead; expected none"],
    ),
    (
        "transport = \"tcp\"",
        "transport = \"dctcp\"",
        &[
            "host.nic_marks = true: the NIC of this transport takes packets from flows and has no queue; expected false, or transport = \"tcp\"",
        ],
    ),
    (
        "[conventions]",
        "[conventions]\nhosts = \"hpcc-sim\"",
        &["host.transport = \"tcp\": hosts of HPCC's simulator do not speak TCP; expected another transport"],
    ),
    (
        "[run]",
        "[[region]]\nat = [\"leaf*\", \"spine*\"]\nscheme = \"bfc\"\n[run]",
        &[
            "host.transport = \"tcp\": region 0 pauses queues or flows, which the NIC of a TCP host does not obey; expected another transport",
        ],
    ),
    // Runs and workloads.
    ("flows = 1000", "flows = 0", &["run.flows = 0: expected 1 to 10000000"]),
    ("flows = 1000", "flows = 1000000001", &["run.flows = 1000000001: expected 1 to 10000000"]),
    (
        "flows = 1000",
        "flows = 1000\nwarmup = \"1 us\"",
        &["run.warmup = \"1 us\": run.flows sets the length of the run"],
    ),
    (
        "flows = 1000",
        "flows = 1000\ncooldown = \"1 us\"",
        &["run.cooldown = \"1 us\": run.flows sets the length of the run; expected none"],
    ),
    ("flows = 1000", "flows = -5", &["run.flows = -5: expected a whole number"]),
    ("flows = 1000", "drain = 0.5", &["run.drain = 0.5: expected 1 to"]),
    (
        "duration = \"10 ms\"\nflows = 1000",
        "duration = \"60 s\"\ndrain = 4",
        &["run.drain = 4: expected 1 to 1, a multiple"],
    ),
    (
        "sample = \"1 us\"",
        "sample = \"0 s\"",
        &[
            "measure.sample = \"0 s\": measure.queues, measure.pools, measure.pauses and measure.sharing need a period; expected more than 0",
        ],
    ),
    (
        "[[\"leaf0\", \"host0\"]]",
        "[[\"leaf0\", \"host0\"], [\"host0\", \"leaf0\"]]",
        &["measure.queues.1.0 = \"host0\": \"host0\" is a host; expected one of leaf0"],
    ),
    (
        "[[\"leaf0\", \"host0\"]]",
        "[[\"leaf9\", \"host0\"]]",
        &["measure.queues.0.0 = \"leaf9\": unknown node \"leaf9\""],
    ),
    (
        "[[\"leaf0\", \"host0\"]]",
        "[[\"leaf0\", \"host7\"]]",
        &["measure.queues.0.1 = \"host7\": no neighbour of leaf0; expected one that is"],
    ),
    (
        "[[\"leaf0\", \"host0\"]]",
        "[[\"leaf*\", \"core*\"]]",
        &["measure.queues.0.1 = \"core*\": no neighbour of leaf*; expected one that is"],
    ),
    (
        "[[\"leaf0\", \"host0\"]]",
        "[[\"tor*\", \"host*\"]]",
        &["measure.queues.0.0 = \"tor*\": no switch has a name that begins like this; expected one of leaf0"],
    ),
    (
        "[[\"leaf0\", \"host0\"]]",
        "[[\"leaf0\"]]",
        &["measure.queues.0 = [\"leaf0\"]: expected a list of 2, not 1 entries"],
    ),
    ("pools = true", "pools = \"all\"", &["measure.pools = \"all\": expected true or false"]),
    (
        "queues = [[\"leaf0\", \"host0\"]]",
        "data_queues = true",
        &["measure.data_queues = true: no port is sampled: expected `measure.queues` to name some"],
    ),
    (
        "local_share = 0.2",
        "local_share = 1.0",
        &["workload.0.local_share = 1.0: expected 0 to below 1, with load_of = \"exact-core\""],
    ),
    (
        "load_of = \"exact-core\"",
        "load_of = \"core\"",
        &["workload.0.local_share = 0.2: expected 0 to below 1, with load_of = \"exact-core\""],
    ),
    ("local_share = 0.2", "load_with_headers = 1", &["workload.0.load_with_headers = 1: expected true or false"]),
    (
        "local_share = 0.2",
        "load_by = \"tabel\"",
        &["workload.0.load_by = \"tabel\": did you mean \"table\"? expected \"drawn\" or \"table\""],
    ),
];

/// Expected results, appended to `GOOD`.
const SHOWN: &str = r#"
[sweep]
seed = [1, 2]
"switch.buffer" = ["1 MB", "12 MB"]
"host.transport" = ["line-rate", "window"]
[[variant]]
name = "A"
[[variant]]
name = "B"
[figure]
missing = ["C"]
panels = [{ label = "loss", value = { summary = "loss.share" } }]
[[expect]]
claim = "ratio"
kind = "ratio"
over = ["seed"]
where = { "switch.buffer" = { min = "1 MB" } }
each = { slowdown = ["p99", "mean"], sizes = ["<=3000"] }
numerator = { variant = "A", class = "incast" }
denominator = { variant = "C" }
low = 1
high = 1.5
[[expect]]
claim = "knee"
kind = "knee"
variant = "A"
value = { quotient = [{ queue = "p99.99", node = "leaf*", after = "1 us" }, { scenario = "switch.buffer", at = { seed = 1 } }] }
along = "switch.buffer"
factor = 2
relative_to = "1 MB"
expected = "12 MB"
[[expect]]
claim = "chain"
kind = "ordering"
value = { ports = "control_frames" }
chains = [["A", "B", "C"]]
"#;

const SHOWN_CASES: &[Case] = &[
    ("kind = \"ratio\"", "", &["bad.toml:58: expect.0.kind: missing: expected one of \"ratio\", \"between\""]),
    ("\"ratio\"\nover", "\"ration\"\nover", &["bad.toml:60: expect.0.kind = \"ration\": did you mean \"ratio\"?"]),
    ("claim = \"chain\"", "", &["expect.2.claim: missing: expected a text in quotes"]),
    ("claim = \"chain\"", "claim = \"knee\"", &["expect.2.claim = \"knee\": an earlier expectation has this name"]),
    ("claim = \"chain\"", "claim = 1", &["expect.2.claim = 1: expected a text in quotes, not a whole number"]),
    ("low = 1\n", "loww = 1\n", &["bad.toml:66: expect.0.loww = 1: unknown key; did you mean \"low\"?"]),
    ("low = 1\n", "low = \"1\"\n", &["expect.0.low = \"1\": expected a number, not a text"]),
    ("low = 1\n", "low = 2\n", &["expect.0.high = 1.5: below `low`: expected at least as much"]),
    ("low = 1\nhigh = 1.5\n", "", &["expect.0.kind = \"ratio\": has no bound: expected `low`, `high` or both"]),
    ("\"p99\", \"mean\"", "\"p999x\"", &["expect.0.each.slowdown.0 = \"p999x\": expected a statistic: mean, min, max"]),
    ("\"p99\", \"mean\"", "", &["expect.0.each.slowdown = []: expected at least one value"]),
    (
        "slowdown = [",
        "slowdwn = [",
        &["expect.0.each.slowdwn = [\"p99\", \"mean\"]: unknown key; did you mean \"slowdown\"?"],
    ),
    (
        "slowdown = [\"p99\", \"mean\"], ",
        "",
        &["expect.0.numerator = { class = \"incast\", variant = \"A\" }: does not say what is"],
    ),
    ("\"<=3000\"", "\"<3000\"", &["expect.0.each.sizes.0 = \"<3000\": expected a range of sizes in bytes: \"<=3000\""]),
    (
        "class = \"incast\" }",
        "class = \"incast\", spread = \"variance\" }",
        &["expect.0.numerator.spread = \"variance\": expected \"deviation\": the standard deviation over the points"],
    ),
    (
        "over = [\"seed\"]",
        "over = \"seed\"",
        &["expect.0.over = \"seed\": expected a list, each entry a text in quotes"],
    ),
    (
        "over = [\"seed\"]",
        "over = [\"sed\"]",
        &["expect.0.over.0 = \"sed\": \"sed\" is not a swept key; did you mean \"seed\"?"],
    ),
    (
        "{ min = \"1 MB\" }",
        "{ mn = \"1 MB\" }",
        &["expect.0.where.switch.buffer = { mn = \"1 MB\" }: expected a value of"],
    ),
    (
        "{ min = \"1 MB\" }",
        "[1]",
        &["expect.0.where.switch.buffer = [1]: expected a value of the swept key, or bounds"],
    ),
    (
        "where = { \"switch.buffer\"",
        "where = { \"switch.bufer\"",
        &["\"switch.bufer\" is not a swept key; did you mean"],
    ),
    (
        "where = { \"switch.buffer\"",
        "where = { \"host.transport\"",
        &["\"host.transport\" takes \"line-rate\": expected a key that"],
    ),
    (
        "class = \"incast\"",
        "class = \"incst\"",
        &["expect.0.numerator.class = \"incst\": no such class of flows; did you mean"],
    ),
    (
        "{ variant = \"C\" }",
        "{ variant = \"D\" }",
        &["denominator.variant = \"D\": no such variant; expected one of \"A\", \"B\", \"C\""],
    ),
    ("{ variant = \"C\" }", "{}", &["expect.0.denominator = {  }: names no variant: expected `variant` here"]),
    ("{ variant = \"C\" }", "\"1\"", &["expect.0.denominator = \"1\": expected a number, or a table"]),
    (
        "{ variant = \"C\" }",
        "{ slowdwn = \"p99\", variant = \"C\" }",
        &["expect.0.denominator.slowdwn = \"p99\": unknown key; did you mean \"slowdown\"?"],
    ),
    (
        "{ variant = \"C\" }",
        "{ fct = \"p99\", node = \"leaf0\" }",
        &["expect.0.denominator.node = \"leaf0\": unknown key;"],
    ),
    ("variant = \"A\"\nvalue", "value", &["expect.1.value.quotient.0 = ", "names no variant"]),
    (
        "\"p99.99\"",
        "\"p100\"",
        &[
            "value.quotient.0.queue = \"p100\": expected a statistic: mean, min, max, a percentile such as p99, or a share",
        ],
    ),
    ("after = \"1 us\"", "after = \"1\"", &["quotient.0.after = \"1\": expected a time with a unit"]),
    (
        "at = { seed = 1 }",
        "at = { sed = 1 }",
        &["value.quotient.1.at = 1: \"sed\" is not a swept key; did you mean \"seed\"?"],
    ),
    (
        "quotient = [",
        "quotient = 1, x = [",
        &["expect.1.value.quotient = 1: expected a list of at least 1, each entry a number, or a table"],
    ),
    (
        "along = \"switch.buffer\"",
        "along = \"host.transport\"",
        &["\"host.transport\" takes \"line-rate\": expected a key that takes numbers"],
    ),
    ("along = \"switch.buffer\"", "", &["expect.1.along: missing: expected a text in quotes"]),
    (
        "along = \"switch.buffer\"",
        "along = \"seed\"\nover = [\"seed\"]",
        &["expect.1.over.0 = \"seed\": the expectation goes along this key"],
    ),
    ("factor = 2\n", "", &["expect.1: expected `threshold`, or `factor` and `relative_to`"]),
    ("expected = \"12 MB\"", "", &["expect.1: expected `expected`, or `low` and `high`"]),
    (
        "expected = \"12 MB\"",
        "expected = \"12 Mb\"",
        &["expect.1.expected = \"12 Mb\": expected a number, or a text with a unit"],
    ),
    (
        "\"control_frames\"",
        "\"control_frame\"",
        &["expect.2.value.ports = \"control_frame\": did you mean \"control_frames\"?"],
    ),
    (
        "{ ports = \"control_frames\" }",
        "{ summary = \"los.share\" }",
        &["expect.2.value.summary = \"los.share\": expected a number of summary"],
    ),
    (
        "node = \"leaf*\"",
        "node = \"lief*\"",
        &["value.quotient.0.node = \"lief*\": no run has such a node: expected a name such as"],
    ),
    (
        "scenario = \"switch.buffer\"",
        "scenario = \"switch.bufer\"",
        &["value.quotient.1.scenario = \"switch.bufer\": no run has a number there"],
    ),
    ("[[\"A\", \"B\", \"C\"]]", "[[\"A\"]]", &["expect.2.chains.0 = [\"A\"]: expected two variants or more"]),
    ("[[\"A\", \"B\", \"C\"]]", "[]", &["expect.2.chains = []: expected at least one chain"]),
    (
        "[[\"A\", \"B\", \"C\"]]",
        "[[\"A\", \"a\"]]",
        &["expect.2.chains.0.1 = \"a\": no such variant; did you mean \"A\"?"],
    ),
    ("panels = [{", "panles = [{", &["figure.panles = ", "unknown key; did you mean \"panels\"?"]),
    (
        "panels = [{",
        "panels = [1, {",
        &["figure.panels.0 = 1: expected a table with the keys label, marks, value, not a whole number"],
    ),
    (
        "label = \"loss\"",
        "lable = \"loss\"",
        &["figure.panels.0.lable = \"loss\": unknown key; did you mean \"label\"?"],
    ),
    (
        "{ summary = \"loss.share\" }",
        "{ summary = 1 }",
        &["figure.panels.0.value.summary = 1: expected a number of summary.json"],
    ),
    ("{ summary = \"loss.share\" }", "{}", &["figure.panels.0.value = {  }: does not say what is measured"]),
    (
        "{ summary = \"loss.share\" }",
        "{ fct = \"p50\", class = \"x\" }",
        &["figure.panels.0.value.class = \"x\": no such class of flows"],
    ),
];

fn refuse(text: &str, sets: &[&str], scale: Option<&str>) -> String {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    match load_str(text, Path::new("no-such-directory"), "bad.toml", &sets, scale) {
        Ok(_) => panic!("was not refused:\n{text}"),
        Err(error) => error.to_string(),
    }
}

fn has(message: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(message.contains(part), "\n  message: {message}\n  lacks:   {part}");
    }
    assert!(!message.contains('\n') && message.len() < 1000, "one line of sane length: {message}");
}

#[test]
fn the_good_one_is_good() {
    load_str(GOOD, Path::new("."), "good.toml", &[], None).expect("valid");
}

#[test]
fn every_mistake_is_refused_with_its_place_and_what_is_allowed() {
    assert!(CASES.len() >= 60);
    for (piece, instead, wanted) in CASES {
        assert_eq!(GOOD.matches(piece).count().min(1), 1, "not in the good scenario: {piece}");
        let message = refuse(&GOOD.replacen(piece, instead, 1), &[], None);
        has(&message, wanted);
    }
}

/// Expects mistakes in expectations and figures to be refused before the runs.
#[test]
fn mistakes_about_what_results_should_show_are_refused_before_a_run() {
    let shown = format!("{GOOD}{SHOWN}");
    load_str(&shown, Path::new("."), "good.toml", &[], None).unwrap_or_else(|error| panic!("{error}"));
    for (piece, instead, wanted) in SHOWN_CASES {
        assert_eq!(shown.matches(piece).count().min(1), 1, "not in the good scenario: {piece}");
        has(&refuse(&shown.replacen(piece, instead, 1), &[], None), wanted);
    }
}

/// Flows or variants chosen on the command line may leave claims without their variants. The file is still valid.
#[test]
fn what_the_command_line_leaves_out_may_still_be_named() {
    let shown = format!("{GOOD}{SHOWN}");
    let other = "workload.1.class=x";
    for sets in [vec!["variant=B"], vec![other], vec!["sweep.seed=[3]"]] {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        load_str(&shown, Path::new("."), "good.toml", &sets, None).unwrap_or_else(|error| panic!("{error}"));
    }
    has(&refuse(&shown.replace("\"incast\" }", "\"incst\" }"), &["seed=3"], None), &["incst", "no such class"]);
}

#[test]
fn mistakes_about_flowsail_pods_and_regions_are_refused_likewise() {
    load_str(PODS, Path::new("."), "good.toml", &[], None).expect("valid");
    for (piece, instead, wanted) in PODS_CASES {
        assert_eq!(PODS.matches(piece).count().min(1), 1, "not in the good scenario: {piece}");
        has(&refuse(&PODS.replacen(piece, instead, 1), &[], None), wanted);
    }
}

#[test]
fn mistakes_about_memory_and_tcp_are_refused_likewise() {
    load_str(MEMORY, Path::new("."), "good.toml", &[], None).expect("valid");
    for (piece, instead, wanted) in MEMORY_CASES {
        assert_eq!(MEMORY.matches(piece).count().min(1), 1, "not in the good scenario: {piece}");
        has(&refuse(&MEMORY.replacen(piece, instead, 1), &[], None), wanted);
    }
    let together: &[(&[&str], &str)] = &[
        (
            &["switch.backpressure=pfc"],
            "switch.not_ect = \"drop\": only a switch without backpressure drops packets as they leave their queues",
        ),
        (&["switch.backpressure=pfc", "switch.not_ect=pass"], "switch.mmu.ports = 3: PFC accounts for one pool"),
        (&["switch.assignment=per-flow"], "switch.ecn.of = \"port\": per-flow queues are not marked"),
        (&["switch.assignment=per-flow", "switch.ecn.of=queue"], "private memory belongs to numbered queues"),
        (
            &[
                "switch.assignment=class",
                "switch.backpressure=bfc",
                "host.transport=line-rate",
                "host.nic_marks=false",
                "switch.not_ect=pass",
            ],
            "switch.backpressure=bfc: not with assignment = \"class\"",
        ),
        (
            &["conventions.acks=data", "switch.assignment=stochastic"],
            "ACKs among the data need one queue a port, or one for each traffic class",
        ),
    ];
    for (sets, wanted) in together {
        has(&refuse(MEMORY, sets, None), &[wanted]);
    }
}

#[test]
fn knobs_that_a_policy_does_not_have_are_refused() {
    let alone = |sets: &[&str]| {
        let text = PODS.split("[[region]]").next().expect("a part").replace("[switch.flowsail]", "[switch.flow]");
        let text = text.split("[switch.flow]").next().expect("a part").replace("priority_groups = 2\n", "");
        let rest = "[[workload]]\nkind = \"incast\"\ndegree = 4\naggregate = \"1 MB\"\nload = 0.1\n[run]\nduration = \"1 ms\"\n";
        refuse(&format!("{text}{rest}"), sets, None)
    };
    for knob in [
        "flowsail.release=1 us",
        "flowsail.release_from=touch",
        "flowsail.hold=any",
        "flowsail.residue=drain",
        "flowsail.count_last=false",
        "flowsail.isolation_queues=2",
        "flowsail.fingerprint_bits=16",
        "flowsail.nactive_literal=true",
        "flowsail.strict_fair=false",
        "flowsail.weights=[1]",
        "flowsail.sketch={ rows = 1, columns = 16 }",
        "flowsail.elide=valley",
        "priority_groups=2",
    ] {
        let knob = format!("switch.{knob}");
        let message = alone(&["switch.flowsail.as_printed=true", &knob]);
        has(
            &message,
            &[&format!("--set {knob}: the pseudo-code as printed does not use this key; expected the default")],
        );
    }
    has(
        &alone(&["scheme=ideal-fc", "switch.flowsail.elide=valley"]),
        &[
            "--set switch.flowsail.elide=valley: backpressure = \"per-flow\" pauses flows on every turn; expected \"none\"",
        ],
    );
    has(
        &alone(&["scheme=dctcp", "measure.pauses=true"]),
        &["--set measure.pauses=true: this scheme pauses no single queue or flow; expected false, or backpressure"],
    );
    for knob in
        ["sticky=0 s", "sampling=0.5", "incast_label=true", "fixed_threshold=9 KB", "elide=valley", "nic_obeys=false"]
    {
        let knob = format!("switch.bfc.{knob}");
        has(
            &alone(&["scheme=bfc-flow-id", &knob]),
            &[&format!("--set {knob}: BFC by flow id does not use this key; expected the default, or backpressure")],
        );
    }
}

#[test]
fn queues_are_divided_where_an_assignment_knows_of_classes() {
    let groups = "switch.priority_groups=4";
    let undivided =
        "--set switch.priority_groups=4: this scheme's queues are not divided among priorities; expected 1, or";
    for (sets, wanted) in [
        (&["scheme=ideal-fq"][..], undivided),
        (&["scheme=bfc-flow-id"], undivided),
        (&["scheme=bfc-single"], undivided),
        (
            &["switch.assignment=class", "switch.backpressure=none", "switch.queues=8"],
            "expected 1, or assignment = \"single\"",
        ),
        (
            &["scheme=bfc-srf"],
            "scheduler = \"srf\" serves the flow with the fewest bytes left, whatever its priority; expected 1",
        ),
        (
            &["switch.queues=4"],
            "--set switch.priority_groups=4: expected at most the 3 data queues, one for each group",
        ),
        (
            &["switch.bfc.nic_queues=3"],
            "--set switch.bfc.nic_queues=3: expected at least switch.priority_groups = 4, a queue for each group",
        ),
        (
            &["scheme=dctcp", "conventions.hosts=hpcc-sim"],
            "--set conventions.hosts=hpcc-sim: the NIC of HPCC's simulator serves the flows of all classes in turn; expected",
        ),
        (
            &["scheme=dctcp", "conventions.memory=hpcc-sim"],
            "--set conventions.memory=hpcc-sim: HPCC's simulator always runs PFC, over one queue a port",
        ),
        (
            &["scheme=dctcp", "conventions.acks=data"],
            "--set conventions.acks=data: ACKs among the data need one queue a port, or one for each traffic class",
        ),
        (&["workload.2.priority=4"], "--set workload.2.priority=4: expected less than switch.priority_groups = 4"),
    ] {
        let sets: Vec<&str> = sets.iter().copied().chain([groups]).collect();
        has(&refuse(GOOD, &sets, None), &[wanted]);
    }
}

#[test]
fn expresspass_has_no_window_and_no_fine_pauses() {
    for (set, wanted) in [
        ("host.window=bdp", "credits limit what a host may send; expected none"),
        ("switch.backpressure=bfc", "the NIC of an ExpressPass host is one FIFO, which only PFC can pause"),
        (
            "conventions.hosts=hpcc-sim",
            "hosts of HPCC's simulator do not speak ExpressPass; expected another transport",
        ),
        ("host.expresspass.initial_rate=0.0", "expected a number, above 0 and at most 1"),
        ("host.expresspass.initial_weight=0.6", "expected a number, above 0 and at most 0.5"),
        ("host.expresspass.target_loss=1.5", "expected a number, at least 0 and at most 1"),
        ("host.expresspass.jitter=1.0", "expected a number, at least 0 and at most 0.9"),
        ("host.expresspass.credit_min=93 B", "expected at least 64 B, and at most credit_max"),
        ("host.expresspass.credit_max=2 KB", "expected at most 1500 B"),
        ("host.expresspass.credit_queue=0", "expected at least 1"),
        ("host.expresspass.retry=1 ns", "expected at least 100 ns and at most 10 s"),
    ] {
        has(&refuse(GOOD, &["scheme=expresspass", set], None), &[wanted]);
    }
}

#[test]
fn neighbours_have_to_understand_each_other() {
    let bfc = PODS.replace("\"flowsail\"", "\"bfc\"").replace("priority_groups = 2\n", "");
    let region = bfc.replace("scheme = \"pfc\"\nswitch = { buffer = \"6 MB\" }", "switch = { queues = 9 }");
    has(
        &refuse(&region, &[], None),
        &[
            "bad.toml:40: region.0.switch.queues = 9: agg0 has 7 data queues a port and its neighbour core0 8",
            "BFC's frames name queues by number; expected as many at both",
        ],
    );
    let region = bfc.replace("scheme = \"pfc\"", "scheme = \"flowsail\"");
    has(
        &refuse(&region, &[], None),
        &["region.0.switch.backpressure = \"flowsail\": agg0 has \"bfc\" and its neighbour core0 \"flowsail\""],
    );
}

#[test]
fn a_set_is_refused_by_its_own_text() {
    let cases: &[(&str, &[&str])] = &[
        ("switch.quues=3", &["--set switch.quues=3: unknown key; did you mean \"queues\"? allowed in switch:"]),
        ("switch.buffer=12 Mb", &["--set switch.buffer=12 Mb: expected \"infinite\" or a size with a unit"]),
        ("seed=soon", &["--set seed=soon: expected a whole number from 0 to"]),
        ("seed", &["--set seed: expected KEY=VALUE, such as seed=7"]),
        ("=7", &["--set =7: expected KEY=VALUE"]),
        ("colour=red", &["--set colour=red: unknown key; allowed at the top:"]),
        (
            "workload.9.load=0.5",
            &["--set workload.9.load=0.5: workload.9 is not an entry of the list: its entries are 0 to 2"],
        ),
        ("workload.x.load=0.5", &["--set workload.x.load=0.5: workload.x is not an entry of the list"]),
        ("workload.0.load=2", &["--set workload.0.load=2: expected more than 0 and at most 1"]),
        ("switch..queues=2", &["--set switch..queues=2: a dotted key is names joined by dots"]),
        ("scheme=bcf", &["--set scheme=bcf: unknown scheme; did you mean \"bfc\"?"]),
        ("variant=A", &["--set variant=A: unknown variant; the file has no [[variant]]"]),
        ("extends=x.toml", &["--set extends=x.toml: extends is not a key of a run"]),
        ("scale=paper", &["--set scale=paper: scale is not a key of a run: choose a scale by its name"]),
        (
            "workload.0.sizes.file=none.csv",
            &["--set workload.0.sizes.file=none.csv: cannot be read: there is no such file"],
        ),
    ];
    for (set, wanted) in cases {
        has(&refuse(GOOD, &[set], None), wanted);
    }
}

#[test]
fn flows_are_split_only_where_nothing_takes_them_to_have_one_path() {
    let pods = |from: &str, to: &str| PODS.replacen(from, to, 1);
    let key = |text: &str, sets: &[&str], why: &str| {
        has(&refuse(text, sets, None), &["switch.load_balancing", why, "expected \"flow\""]);
    };
    // GOOD uses BFC; PODS uses FlowSail with a region of PFC.
    key(GOOD, &["switch.load_balancing=packet"], "expects a flow to use one port in and one port out");
    key(GOOD, &["switch.load_balancing={ flowlet = \"50 us\" }"], "one port in and one port out");
    key(&pods("buffer = \"6 MB\"", "load_balancing = \"packet\""), &[], "one port in and one port out");
    let dctcp = ["scheme=dctcp", "switch.load_balancing=packet"];
    key(GOOD, &[dctcp[0], dctcp[1], "switch.symmetric_ecmp=true"], "one path in both directions");
    key(GOOD, &[dctcp[0], dctcp[1], "conventions.paths=hpcc-sim"], "chooses by flow");
    for gap in ["0 s", "1000 s"] {
        let set = format!("switch.load_balancing={{ flowlet = \"{gap}\" }}");
        has(
            &refuse(GOOD, &[dctcp[0], &set], None),
            &["switch.load_balancing.flowlet = ", "expected more than 0 and at most 10 s"],
        );
    }
    has(&refuse(GOOD, &["switch.load_balancing=spray"], None), &["expected \"flow\" or \"packet\" or"]);
    load_str(GOOD, Path::new("."), "good.toml", &dctcp.map(String::from), None).expect("go-back-N may be split");
}

#[test]
fn what_does_not_go_with_homa_is_refused() {
    let refused = |set: &str, wanted: &[&str]| has(&refuse(GOOD, &["scheme=homa", set], None), wanted);
    refused("host.homa.levels=1", &["host.homa.levels=1", "expected a whole number from 2 to 64"]);
    refused("host.homa.unscheduled_levels=32", &["host.homa.unscheduled_levels=32", "expected 1 to 31"]);
    refused("host.homa.cutoffs=[\"2 KB\", \"1 KB\"]", &["host.homa.cutoffs", "sizes above 0 that do not fall"]);
    refused("host.homa.overcommitment=0", &["host.homa.overcommitment=0", "expected 1 or more"]);
    refused("host.window=pair-bdp", &["host.window=pair-bdp", "however long its path"]);
    refused(
        "workload.0.priority=1",
        &["workload.0.priority=1", "Homa chooses the priority of each packet; expected 0"],
    );
    refused("switch.queues=65", &["switch.queues=65", "expected 2 to 64"]);
    refused("conventions.hosts=hpcc-sim", &["host.transport", "hosts of HPCC's simulator do not speak Homa"]);
    has(
        &refuse(GOOD, &["host.transport=homa"], None),
        &[
            "host.transport=homa",
            "chooses the message with the fewest bytes left",
            "switch.backpressure = \"none\" or \"pfc\"",
        ],
    );
    let both = ["scheme=homa", "host.homa.unscheduled_levels=2", "host.homa.cutoffs=[\"1 KB\", \"2 KB\"]"];
    has(&refuse(GOOD, &both, None), &["host.homa.cutoffs", "expected one fewer than unscheduled_levels"]);
    let all = ["scheme=homa", "host.homa.levels=4", "host.homa.cutoffs=[\"1 KB\", \"2 KB\", \"3 KB\"]"];
    has(&refuse(GOOD, &all, None), &["host.homa.cutoffs", "expected at most 2"]);
}

#[test]
fn what_does_not_go_with_homas_dynamic_assignment_is_refused() {
    let refused = |set: &str, wanted: &[&str]| has(&refuse(GOOD, &["scheme=homa+dqa", set], None), wanted);
    refused(
        "host.transport=window",
        &["switch.assignment", "expected host.transport = \"homa\", or another assignment"],
    );
    refused("switch.queues=16", &["switch.queues=16", "one queue for each level", "expected host.homa.levels = 32"]);
    refused("host.homa.levels=8", &["switch.queues", "expected host.homa.levels = 8"]);
    refused("switch.queues=65", &["switch.queues=65", "expected 2 to 64"]);
    refused(
        "switch.scheduler=drr",
        &["switch.scheduler", "are served in the order of the bytes left of their messages; expected \"srf\""],
    );
    let pfc = "switch.backpressure=pfc";
    refused(pfc, &[pfc, "nothing pauses a sender; expected backpressure = \"none\""]);
}

#[test]
fn what_does_not_go_with_shortest_remaining_flow_first_is_refused() {
    let refused = |scheme: &str, set: &str, wanted: &[&str]| has(&refuse(GOOD, &[scheme, set], None), wanted);
    let (ideal, bfc) = ("scheme=ideal-srf", "scheme=bfc-srf");
    refused(
        ideal,
        "host.transport=window",
        &["switch.scheduler", "do not carry the bytes left", "host.transport = \"srf\""],
    );
    refused(ideal, "switch.assignment=dynamic", &["switch.scheduler", "in the order of the bytes left of their flows"]);
    refused(bfc, "switch.backpressure=none", &["switch.scheduler", "with backpressure = \"none\""]);
    refused(ideal, "conventions.hosts=hpcc-sim", &["host.transport", "do not speak shortest remaining flow first"]);
    refused("scheme=bfc", "switch.bfc.similar=true", &["switch.bfc.similar=true", "expected false, or that"]);
    has(
        &refuse(GOOD, &[bfc, "switch.bfc.similar=true", "switch.bfc.incast_label=true"], None),
        &["switch.bfc.similar=true", "expected false, or bfc.incast_label = false"],
    );
    refused("scheme=bfc-flow-id", "host.transport=srf", &["host.transport=srf", "not pauses of single flows"]);
    refused(ideal, "host.srf.field_bytes=\"513 B\"", &["host.srf.field_bytes", "expected up to 512 B"]);
}

#[test]
fn parameters_of_swift_and_of_a_target_of_round_trips_have_ranges() {
    let refused = |set: &str, wanted: &[&str]| has(&refuse(GOOD, &["scheme=swift", set], None), wanted);
    refused("host.swift.beta=0", &["host.swift.beta=0", "a number, above 0 and at most 1"]);
    refused("host.swift.max_cut=1", &["host.swift.max_cut=1", "a number, above 0 and below 1"]);
    refused("host.swift.base_target=\"2 s\"", &["host.swift.base_target", "expected 0 to 1 s"]);
    refused("host.swift.scaling_min=100", &["host.swift.scaling_min=100", "less than scaling_max"]);
    refused("host.swift.min_window=2000", &["host.swift.min_window=2000", "at most max_window"]);
    refused("host.swift.reset_after=0", &["host.swift.reset_after=0", "expected a whole number from 1 to 1000"]);
    has(
        &refuse(GOOD, &["scheme=bfc+cc", "host.rtt.target=0.5"], None),
        &["host.rtt.target=0.5", "expected a number, at least 1 and at most 1000"],
    );
}

#[test]
fn what_does_not_go_with_selective_retransmission_is_refused() {
    let refused = |set: &str, wanted: &[&str]| has(&refuse(GOOD, &["scheme=irn", set], None), wanted);
    refused("host.recovery=nonsense", &["host.recovery=nonsense", "go-back-n", "selective"]);
    refused("host.selective.reach=0", &["host.selective.reach=0", "expected a whole number from 1 to 64"]);
    refused("host.selective.rto_high=\"0 s\"", &["host.selective.rto_high", "expected more than 0 and at most 10 s"]);
    refused("host.selective.rto_low=\"1 ms\"", &["host.selective.rto_low", "expected at most rto_high = 320 us"]);
    refused("host.window=none", &["host.window=none", "a bit for each packet of a window; expected a window"]);
    refused("host.transport=homa", &["host.recovery", "this transport has its own way to recover from loss"]);
    refused(
        "conventions.hosts=hpcc-sim",
        &["host.recovery", "hosts of HPCC's simulator have no selective retransmission"],
    );
    let line_rate = ["scheme=fifo", "host.recovery=selective"];
    has(&refuse(GOOD, &line_rate, None), &["host.window", "expected a size, or transport = \"window\""]);
    let told = refuse(GOOD, &["scheme=dctcp", "switch.drop_notice=true"], None);
    has(
        &told,
        &["switch.drop_notice=true", "no sender can send a single packet again", "host.recovery = \"selective\""],
    );
}

#[test]
fn combinations_that_need_another_topology() {
    let single = r#"scheme = "dctcp"
topology = { kind = "single-switch", hosts = 4, rate = "100 Gbps", delay = "1 us" }
run = { duration = "1 ms" }
[[workload]]
kind = "background"
sizes = { fixed = "1 KB" }
load = 0.5
"#;
    let core = "the topology has no links between switches, so a load cannot be a share of its core; expected";
    has(
        &refuse(single, &[], None),
        &["bad.toml:4: workload.0.load_of = \"core\" (default): ", core, "load_of = \"receivers\""],
    );
    let burst = single.replace(
        "kind = \"background\"\nsizes = { fixed = \"1 KB\" }",
        "kind = \"incast\"\ndegree = 2\naggregate = \"2 KB\"",
    );
    has(&refuse(&burst, &[], None), &["bad.toml:8: workload.0.load = 0.5: ", core, "a period"]);
    has(
        &refuse(single.split("[[").next().expect("a part"), &[], None),
        &["bad.toml:1: workload = [] (default): no [[workload]]"],
    );
    has(
        &refuse(&single.replace("hosts = 4", "hosts = 256"), &[], None),
        &["topology.hosts = 256: gives the switch 256 ports: expected at most 255"],
    );
    has(
        &refuse(&single.replace("hosts = 4", "hosts = 1"), &[], None),
        &["topology.hosts = 1: makes 1 hosts: expected 2 to 60000"],
    );
    let large = GOOD.replace("leaves = 2", "leaves = 128").replace("hosts_per_leaf = 4", "hosts_per_leaf = 100");
    has(
        &refuse(&large, &["host.window=pair-bdp"], None),
        &[
            "host.window=pair-bdp: a window for each pair of 12800 hosts takes too much memory; expected at most 8192 hosts, or \"base-bdp\"",
        ],
    );
    has(
        &refuse(single, &["host.payload=8000 B"], None),
        &["preset \"dctcp\": switch.quantum = \"1048 B\": expected host.payload + host.header = 8 KB + 48 B = 8048 B"],
    );
}

#[test]
fn graphs_are_checked_node_by_node() {
    let graph = |hosts: &str, switches: &str, links: &str| {
        format!(
            "scheme = \"bfc\"\nrun = {{ duration = \"1 ms\" }}\nworkload = [{{ kind = \"background\", sizes = {{ fixed = \"1 KB\" }}, load = 0.5, load_of = \"senders\" }}]\n[topology]\nkind = \"graph\"\nhosts = [{hosts}]\nswitches = [{switches}]\nlinks = [\n{links}]\n"
        )
    };
    let link = |a: &str, b: &str| format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"100 Gbps\", delay = \"1 us\" }},\n");
    let (x, y) = (link("x", "s"), link("y", "s"));
    let good = graph("\"x\", \"y\"", "\"s\"", &format!("{x}{y}"));
    load_str(&good, Path::new("."), "good.toml", &[], None).expect("valid");
    let cases: &[(String, &[&str])] = &[
        (graph("\"x\", \"x\"", "\"s\"", &x), &["bad.toml:6: topology.hosts.1 = \"x\": another node has this name"]),
        (graph("\"x\", \"y\"", "\"x\"", &x), &["bad.toml:7: topology.switches.0 = \"x\": another node has this name"]),
        (
            graph("\"x\", \"a b\"", "\"s\"", &x),
            &["bad.toml:6: topology.hosts.1 = \"a b\": expected a name of 1 to 64 letters"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\"", &x),
            &["bad.toml:6: topology.hosts.1 = \"y\": has 0 links: expected a host to have exactly 1"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\", \"t\"", &format!("{x}{y}{}", link("x", "t"))),
            &["bad.toml:6: topology.hosts.0 = \"x\": has 2 links"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\"", &format!("{x}{}", link("y", "q"))),
            &["bad.toml:10: topology.links.1.ends.1 = \"q\": unknown node", "expected one of the 3 names"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\"", &link("x", "y")),
            &["bad.toml:9: topology.links.0.ends = [\"x\", \"y\"]: two hosts: expected a switch at one end"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\"", &format!("{x}{y}{}", link("s", "s"))),
            &["bad.toml:11: topology.links.2.ends = [\"s\", \"s\"]: a link joins two different nodes"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\", \"t\"", &format!("{x}{y}{0}{0}", link("s", "t"))),
            &["bad.toml:12: topology.links.3.ends = ", "joined already"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\", \"t\"", &format!("{x}{}", link("y", "t"))),
            &["bad.toml:8: topology.links = ", "no path joins x and y: expected a connected graph"],
        ),
        (
            graph("\"x\", \"y\"", "\"s\", \"t\"", &format!("{x}{y}")),
            &["bad.toml:7: topology.switches.1 = \"t\": has 0 ports: expected 1 to 255"],
        ),
        (
            good.replace("delay = \"1 us\" },\n]", "delay = \"0 us\" },\n]"),
            &["bad.toml:10: topology.links.1.delay = \"0 us\": expected more than 0"],
        ),
        (
            good.replace("\"senders\"", "\"core\""),
            &["bad.toml:3: workload.0.load_of = \"core\": the topology has no links between switches"],
        ),
    ];
    for (text, wanted) in cases {
        has(&refuse(text, &[], None), wanted);
    }
}

/// A directory of files for one test.
struct Files(std::path::PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Files {
        let dir = std::env::temp_dir().join(format!("backwater-{}-{name}", process::id()));
        std::fs::create_dir_all(dir.join("folder")).expect("a temporary directory");
        for (name, text) in files {
            std::fs::write(dir.join(name), text).expect("a temporary file");
        }
        Files(dir)
    }

    fn refuse(&self, file: &str) -> String {
        match load(&self.0.join(file), &[], None) {
            Ok(_) => panic!("was not refused: {file}"),
            Err(error) => error.to_string().replace(&format!("{}/", self.0.display()), ""),
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_that_cannot_be_scenarios() {
    let files = Files::new(
        "scenarios",
        &[
            ("latin.toml", b"name = \"x\"\n# caf\xe9\n"),
            ("a.toml", b"extends = \"b.toml\"\n"),
            ("b.toml", b"\nextends = \"a.toml\"\n"),
            ("self.toml", b"extends = \"self.toml\"\n"),
            ("child.toml", b"extends = \"parent.toml\"\n"),
            ("parent.toml", b"scheme = \"bfc\"\nqueues = 3\n"),
            ("up.toml", b"extends = \"folder\"\n"),
        ],
    );
    has(&files.refuse("none.toml"), &["none.toml: cannot be read: there is no such file"]);
    has(&files.refuse("folder"), &["folder: is a directory: expected a file"]);
    has(&files.refuse("latin.toml"), &["latin.toml:2: is not UTF-8 text"]);
    has(&files.refuse("a.toml"), &["b.toml:2: extends = \"a.toml\": extends this file in turn"]);
    has(&files.refuse("self.toml"), &["self.toml:1: extends = \"self.toml\": extends this file in turn"]);
    has(&files.refuse("child.toml"), &["parent.toml:2: queues = 3: unknown key; allowed at the top:"]);
    has(&files.refuse("up.toml"), &["up.toml:1: extends = \"folder\": is a directory: expected a file"]);
}

#[test]
fn size_tables_of_ones_own() {
    let cases: &[(&[u8], &[&str])] = &[
        (
            b"size_bytes,cdf\n0,0\n10,0.6\n20,0.5\n30,1\n",
            &["t.csv:4: cumulative probability 0.5 after 0.6: expected one that does not fall"],
        ),
        (b"size_bytes,cdf\n0,0\n20,0.5\n10,1\n", &["t.csv:4: size 10 after 20: expected sizes that do not fall"]),
        (b"size_bytes,cdf\n0,0\n10,0.9\n", &["t.csv:3: the last cumulative probability is 0.9: expected 1"]),
        (b"size_bytes,cdf\n10,1\n", &["t.csv:2: expected at least 2 points, found 1"]),
        (b"size_bytes,cdf\n", &["t.csv:1: expected at least 2 points, found 0"]),
        (b"", &["t.csv:1: expected at least 2 points, found 0"]),
        (b"size_bytes,cdf\n0,0\n1O,1\n", &["t.csv:3: \"1O\": expected two numbers, size_bytes,cdf"]),
        (b"size_bytes,cdf\n0,0\ninf,1\n", &["t.csv:3: \"inf\": expected two numbers"]),
        (b"size_bytes,cdf\n0,0,0\n", &["t.csv:2: \"0,0,0\": expected two numbers, size_bytes,cdf, not 3 fields"]),
        (b"size_bytes,cdf\n-1,0\n5,1\n", &["t.csv:2: size -1: expected 0 to"]),
        (b"size_bytes,cdf\n1,0\n5,1.5\n", &["t.csv:3: cumulative probability 1.5: expected 0 to 1"]),
        (
            b"bytes,cdf\n1,0\n5,1\n",
            &[
                "t.csv:1: \"bytes,cdf\": expected the header \"size_bytes,cdf\", or rows \"bytes percent\" without a header",
            ],
        ),
        (b"1,0\n5,1\n", &["t.csv:1: \"1,0\": expected the header \"size_bytes,cdf\""]),
        (b"0 0\n10 50\n20 99\n", &["t.csv:3: the last cumulative probability is 0.99: expected 1"]),
        (b"0 0\n10 fifty\n", &["t.csv:2: \"fifty\": expected two numbers, bytes and percent (0 to 100)"]),
        (
            b"# interpolation=cubic\nsize_bytes,cdf\n0,0\n1,1\n",
            &["t.csv:1: interpolation=cubic: expected interpolation=linear or interpolation=step"],
        ),
        (b"size_bytes,cdf\n0,0\n0.1,1\n", &["t.csv:3: the mean size is 0.050 bytes: expected at least 1"]),
        (b"size_bytes,cdf\n0,0\n\xff,1\n", &["t.csv:3: is not UTF-8 text"]),
    ];
    let scenario = GOOD.replace("{ table = \"google_rpc\" }", "{ file = \"t.csv\" }");
    for (i, (table, wanted)) in cases.iter().enumerate() {
        let files = Files::new(&format!("sizes{i}"), &[("s.toml", scenario.as_bytes()), ("t.csv", table)]);
        has(&files.refuse("s.toml"), wanted);
    }
    let files = Files::new("sizes", &[("s.toml", scenario.as_bytes())]);
    has(
        &files.refuse("s.toml"),
        &["s.toml:25: workload.0.sizes.file = \"t.csv\": cannot be read: there is no such file"],
    );
    std::fs::create_dir(files.0.join("t.csv")).expect("a directory");
    has(&files.refuse("s.toml"), &["s.toml:25: workload.0.sizes.file = \"t.csv\": is a directory: expected a file"]);
}

/// `GOOD` with a sweep, variants and a figure, whose published points do not belong there.
#[test]
fn published_points_stand_in_panels_at_variants_and_on_axes() {
    let refuse = |sweep: &str, point: &str| {
        let text = format!(
            "{GOOD}{sweep}\n[[variant]]\nname = \"one\"\n[[variant]]\nname = \"two\"\n[figure]\n\
             panels = [{{ label = \"loss\", value = 1 }}]\npublished = [\n    {{ {point} }},\n]\n"
        );
        load_str(&text, Path::new("."), "bad.toml", &[], None).map_err(|error| error.to_string())
    };
    let swept = "[sweep]\n\"workload.0.load\" = [0.4, 0.5]";
    let good = "panel = \"loss\", variant = \"one\", at = 0.4, value = 0.1";
    let cases: [(&str, &str, &str); 13] = [
        ("value = 0.1", "", "figure.published.0.value: missing: expected"),
        ("0.1", "[0.1, 0.2]", "figure.published.0.at = 0.4: expected a list of 2, one for each value"),
        ("0.1", "[0.1, true]", "figure.published.0.value = true: expected a number, or a list of numbers"),
        ("0.4", "[0.4, 0.5]", "figure.published.0.at = [0.4, 0.5]: expected one value"),
        ("0.1", "\"0.1\"", "figure.published.0.value = \"0.1\": expected a number, or a list of numbers"),
        ("0.1", "nan", "figure.published.0.value = NaN: expected a number, or a list of numbers"),
        ("panel", "pannel", "figure.published.0.pannel = \"loss\": unknown key; did you mean \"panel\"?"),
        ("\"loss\"", "\"lost\"", "figure.published.0.panel = \"lost\": did you mean \"loss\"? expected \"loss\""),
        ("\"loss\"", "7", "figure.published.0.panel = 7: expected a text in quotes, not"),
        ("\"one\"", "\"three\"", "figure.published.0.variant = \"three\": expected \"one\", \"two\""),
        ("at = 0.4, ", "", "figure.published.0.at: missing: expected its place on the swept axis"),
        ("value", "where = { seed = 1 }, value", "figure.published.0.where.seed = 1: expected \"workload.0.load\""),
        ("at = 0.4", "where = 3", "figure.published.0.where = 3: expected a table, not"),
    ];
    for (piece, instead, problem) in cases {
        assert!(good.contains(piece), "{piece}");
        let message = refuse(swept, &good.replacen(piece, instead, 1)).expect_err(problem);
        has(&message, &["bad.toml:", problem]);
    }
    assert!(refuse(swept, good).is_ok());
    assert!(refuse(swept, "panel = \"loss\", variant = \"one\", at = [0.4, 0.5], value = [0.1, 0.2]").is_ok());
    let message = refuse("", &good.replace("at = 0.4", "where = { seed = 1 }")).expect_err("nothing is swept");
    let listed = refuse("", &good.replace("at = 0.4, value = 0.1", "value = [0.1]")).expect_err("a list has places");
    has(&listed, &["figure.published.0.at: missing: expected its place on the swept axis"]);
    has(&message, &["figure.published.0.where.seed = 1: expected no such key: the file has none"]);
    for seeds in ["", "[sweep]\nseed = [1, 2]"] {
        assert!(refuse(seeds, &good.replace("at = 0.4, ", "")).is_ok(), "bars have no axis");
    }
}

#[test]
fn a_deviation_is_of_several_seeds() {
    let stray = "[[expect]]\nclaim = \"stray\"\nkind = \"between\"\nvariant = \"bfc\"\nhigh = 1\n\
                 value = { ports = \"control_frames\", spread = \"deviation\" }\n";
    let problem =
        "expect.0.value.spread = \"deviation\": a spread is that of several points: expected [seeds], or `over`";
    has(&refuse(&format!("{GOOD}{stray}"), &[], None), &[problem]);
    for seeds in ["[seeds]\ncount = 2", "[sweep]\nseed = [1, 2]"] {
        let text = format!("{GOOD}{stray}{seeds}\n");
        assert!(load_str(&text, Path::new("nowhere"), "good.toml", &[], None).is_ok(), "{seeds}");
    }
}

#[test]
fn flow_lists_of_ones_own() {
    let cases: &[(&[u8], &[&str])] = &[
        (
            b"start_ns,src,dst,bytes\nsoon,host0,host1,10\n",
            &["f.csv:2: start_ns \"soon\": expected nanoseconds since the start"],
        ),
        (b"start_ns,src,dst,bytes\n-5,host0,host1,10\n", &["f.csv:2: start_ns \"-5\": expected nanoseconds"]),
        (b"start_ns,src,dst,bytes\n0,host0,host1,ten\n", &["f.csv:2: bytes \"ten\": expected a whole number of bytes"]),
        (
            b"start_ns,src,dst,bytes,port,priority\n0,host0,host1,10,100,8\n",
            &["f.csv:2: priority \"8\": expected 0 to 7"],
        ),
        (b"start_ns,src,dst,bytes\n0,host0,host1,0\n", &["f.csv:2: bytes \"0 B\": expected 1 B to 128 GiB"]),
        (
            b"start_ns,src,dst,bytes\n\n# x\n0,host0,host9,10\n",
            &["f.csv:4: dst \"host9\": unknown host \"host9\"; expected one of host0"],
        ),
        (
            b"start_ns,src,dst,bytes\n0,spine0,host1,10\n",
            &["f.csv:2: src \"spine0\": \"spine0\" is a switch; expected one of the hosts"],
        ),
        (
            b"start_ns,src,dst,bytes\n0,host1,host1,10\n",
            &["f.csv:2: dst \"host1\": the same host as src: expected another"],
        ),
        (
            b"start_ns,src,dst,bytes\n2000000,host1,host2,10\n",
            &["f.csv:2: start \"2 ms\": expected a time before run.duration = 1 ms"],
        ),
        (
            b"start_ns,src,dst,bytes\n0,host0,host1\n",
            &["f.csv:2: \"0,host0,host1\": expected 4 fields, start_ns,src,dst,bytes, not 3"],
        ),
        (
            b"start,src,dst,bytes\n0,host0,host1,10\n",
            &["f.csv:1: \"start,src,dst,bytes\": expected the header \"start_ns,src,dst,bytes\""],
        ),
        (b"start_ns,src,dst,bytes\n", &["s.toml:36: workload.2.file = \"f.csv\": expected at least one flow"]),
        (b"", &["s.toml:36: workload.2.file = \"f.csv\": is empty: expected the header \"start_ns,src,dst,bytes\""]),
    ];
    let scenario =
        GOOD.replace("kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]", "kind = \"flow-list\"\nfile = \"f.csv\"");
    for (i, (list, wanted)) in cases.iter().enumerate() {
        let files = Files::new(&format!("flows{i}"), &[("s.toml", scenario.as_bytes()), ("f.csv", list)]);
        has(&files.refuse("s.toml"), wanted);
    }
}

/// An error in a line of a list of hosts names the line. An error about the whole list names the key.
#[test]
fn lists_of_hosts_of_ones_own() {
    let long_lived = "kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]";
    let ring = "kind = \"collective\"\npattern = \"ring\"\nbytes = \"1 MB\"\nhosts_file = \"p.txt\"";
    let job = "kind = \"job\"\nfile = \"j.csv\"\nhosts_file = \"p.txt\"";
    let (eight, beside) = (format!("{job}\nranks_per_host = 8"), format!("{job}\nhosts = [\"host0\"]"));
    let strided = format!("{job}\nplacement = \"strided\"");
    let (skip, both) = (format!("{job}\nskip = 1"), format!("{ring}\nhosts = [\"host0\", \"host1\"]"));
    let cases: &[(&str, &str, &str)] = &[
        (
            job,
            "host0\n\n# x\nhost9\n",
            "p.txt:4: host \"host9\": unknown host \"host9\"; expected one of host0, host1,",
        ),
        (job, "7\n8\n", "p.txt:2: host \"host8\": unknown host \"host8\"; expected one of host0, host1,"),
        (ring, "host0\nspine0\n", "p.txt:2: host \"spine0\": \"spine0\" is a switch; expected one of the hosts host0"),
        (job, "host0 slot=2\n", "p.txt:1: \"slot=2\": expected nothing but slots=N after the host"),
        (
            job,
            "host0\nhost1\nhost0\n",
            "s.toml:37: workload.2.hosts_file = \"p.txt\": the job has 4 ranks, and its hosts take 3: expected hosts that take 4",
        ),
        (
            &skip,
            "host0 slots=4\n",
            "the job has 4 ranks, and its hosts take 3 after skip = 1: expected hosts that take 4",
        ),
        (job, "", "s.toml:37: workload.2.hosts_file = \"p.txt\": names no host: expected one in each line"),
        (
            &eight,
            "host0\nhost1\nhost0\n",
            "p.txt:3: host \"host0\": line 1 has this host too: with ranks_per_host = 8 expected each host once, without slots",
        ),
        (job, "rank 0=host0\nrank 1=host9\n", "p.txt:2: host \"host9\": unknown host \"host9\""),
        (&eight, "rank 0=host0\n", "ranks_per_host = 8: expected 1: each line of hosts_file places one rank"),
        (&strided, "rank 0=host0\n", "placement = \"strided\": expected packed: each line of hosts_file places one"),
        (&skip, "rank 0=host0\n", "skip = 1: expected 0: each line of hosts_file places one rank"),
        (&eight, "host0 slots=8\n", "p.txt:1: host \"host0\": line 1 has this host too: with ranks_per_host = 8"),
        (
            ring,
            "host0\nhost2..host4\nhost3\n",
            "p.txt:3: host \"host3\": rank 2 is at this host too: expected a host of its own for each rank",
        ),
        (ring, "host0:2\n", "p.txt:1: host \"host0\": rank 0 is at this host too: expected a host of its own"),
        (ring, "host0\n", "workload.2.hosts_file = \"p.txt\": expected at least two hosts"),
        (
            &beside,
            "host0:4\n",
            "s.toml:37: workload.2.hosts_file = \"p.txt\": given beside hosts: expected one of the two",
        ),
        (&both, "host0\nhost1\n", "workload.2.hosts_file = \"p.txt\": given beside hosts: expected one of the two"),
    ];
    let messages = "id,src,dst,bytes\na,0,1,10\nb,2,3,10\n";
    for (i, (workload, list, wanted)) in cases.iter().enumerate() {
        let scenario = GOOD.replace(long_lived, workload);
        let texts = [("s.toml", scenario.as_str()), ("p.txt", *list), ("j.csv", messages)];
        let files = Files::new(&format!("hosts{i}"), &texts.map(|(name, text)| (name, text.as_bytes())));
        has(&files.refuse("s.toml"), &[wanted]);
    }
    let missing = refuse(&GOOD.replace(long_lived, ring), &[], None);
    has(&missing, &["bad.toml:38: workload.2.hosts_file = \"p.txt\": cannot be read: there is no such file"]);
    let listed =
        GOOD.replace(long_lived, "kind = \"job\"\nfile = \"j.csv\"\nranks_per_host = 2\nhosts = [\"2\", \"2\"]");
    let files = Files::new("hosts", &[("s.toml", listed.as_bytes()), ("j.csv", messages.as_bytes())]);
    has(&files.refuse("s.toml"), &["workload.2.hosts.0 = \"2\": unknown host"]);
    let listed = listed.replace("\"2\"", "\"host2\"");
    let files = Files::new("twice", &[("s.toml", listed.as_bytes()), ("j.csv", messages.as_bytes())]);
    has(
        &files.refuse("s.toml"),
        &["workload.2.hosts.1 = \"host2\": hosts.0 has this host too: with ranks_per_host = 2 expected each host once"],
    );
}

/// A large trace takes seconds to read, so what has nothing to do with it is told first.
#[test]
fn what_files_do_not_change_is_told_before_they_are_read() {
    let job = GOOD.replace("kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]", "kind = \"job\"\nfile = \"j.csv\"");
    let refuse = |name: &str, text: &str| {
        let files = Files::new(name, &[("s.toml", text.as_bytes()), ("j.csv", b"id,src\n")]);
        files.refuse("s.toml")
    };
    has(&refuse("damaged", &job), &["j.csv:1: \"id,src\": expected a column dst in the header"]);
    let long = job.replace("duration = \"1 ms\"", "duration = \"100 s\"");
    has(&refuse("long", &long), &["s.toml:39: run.duration = \"100 s\": expected more than 0 and at most"]);
}

#[test]
fn what_a_text_workload_leaves_open_has_ranges() {
    let row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
    let text = format!("HYBRID_TRANSFORMER model_parallel_NPU_group: 1 all_gpus: 2\n2\n{row}{row}");
    let cases = [
        ("simai", "{ stages = 0 }", "workload.2.model.stages = 0: expected 1 to 1048576"),
        ("simai", "{ first_dimension = 0 }", "workload.2.model.first_dimension = 0: expected 1 to 1048576"),
        ("simai", "{ microbatches = 65537 }", "workload.2.model.microbatches = 65537: expected 1 to 65536"),
        ("simai", "{ stage_bytes = \"0 B\" }", "workload.2.model.stage_bytes = \"0 B\": expected 1 B to 128 GiB"),
        ("simai", "{ stages = 4 }", "m.txt\": 2 ranks are not divided by groups of 1 and 4 stages"),
        (
            "simai",
            "{ stages = 2, virtual_stages = 2, microbatches = 2 }",
            "2 rows are not divided by 4 parts: expected a row each",
        ),
        ("chakra", "{ stages = 2 }", "workload.2.model.stages = 2: expected none: only SimAI's format leaves it open"),
    ];
    for (i, (format, model, wanted)) in cases.into_iter().enumerate() {
        let job = format!("kind = \"job\"\nfile = \"m.txt\"\nformat = \"{format}\"\nmodel = {model}");
        let scenario = GOOD.replace("kind = \"long-lived\"\ncount = 2\nto = [\"host0\"]", &job);
        let files = Files::new(&format!("model{i}"), &[("s.toml", scenario.as_bytes()), ("m.txt", text.as_bytes())]);
        has(&files.refuse("s.toml"), &[wanted]);
    }
}

#[test]
fn scales_are_named() {
    let scaled = format!("{GOOD}\n[scale.smoke]\nseed = 2\n");
    has(&refuse(&scaled, &[], Some("paper")), &["bad.toml: unknown scale \"paper\"; expected one of smoke"]);
    has(&refuse(&scaled, &[], Some("smok")), &["bad.toml: unknown scale \"smok\"; did you mean \"smoke\"?"]);
    has(&refuse(GOOD, &[], Some("quick")), &["bad.toml: unknown scale \"quick\"; the file has no [scale.*]"]);
}

#[test]
fn resolved_scenarios_are_checked_again() {
    let plan = load_str(GOOD, Path::new("."), "good.toml", &[], None).expect("valid");
    let json = serde_json::to_string(&plan.runs[0].scenario).expect("plain data");
    let refuse = |piece: &str, instead: &str| {
        assert!(json.contains(piece), "{piece} in {json}");
        from_json(&json.replacen(piece, instead, 1)).expect_err("not valid").to_string()
    };
    has(&refuse("\"queues\":32", "\"queues\":500"), &["resolved scenario: switch.queues = 500: expected 2 to 129"]);
    let collective =
        "{\"kind\":\"collective\",\"class\":\"r\",\"pattern\":\"ring\",\"bytes\":\"1 MB\",\"hosts_file\":\"p.txt\"},";
    has(
        &refuse("\"workload\":[", &format!("\"workload\":[{collective}")),
        &["resolved scenario: workload.0.hosts_file = \"p.txt\": a resolved scenario carries what its files held"],
    );
    has(&refuse("\"seed\":1", "\"sed\":1"), &["resolved scenario: sed = 1: unknown key"]);
    has(
        &refuse("{\"table\":\"google_rpc\"}", "{\"file\":\"x.csv\"}"),
        &["resolved scenario: workload.0.sizes.file = \"x.csv\": a resolved scenario carries"],
    );
    has(&refuse("\"seed\":1", "\"seed\":"), &["resolved scenario: not JSON:"]);
    has(&from_json("[]").expect_err("a list").to_string(), &["resolved scenario: expected a JSON object"]);
}

/// Keys of any notation have a limited depth, so that none overflows the stack.
#[test]
fn depth_is_refused_with_its_figure() {
    let deep = |parts: usize| vec!["a"; parts].join(".");
    let set = format!("switch.{}=1", deep(100_000));
    has(&refuse(GOOD, &[&set], None), &["--set switch.a.a", "a key of 100001 parts: expected at most 32"]);
    for table in ["sweep", "scale.quick"] {
        let text = format!("{GOOD}[{table}]\n\"{}\" = [1]\n", deep(100_000));
        has(&refuse(&text, &[], None), &["bad.toml:47: ", "a key of 100000 parts: expected at most 32"]);
    }
    let text = format!("{GOOD}[[variant]]\nname = \"x\"\n\"{}\" = 1\n", deep(50_000));
    has(&refuse(&text, &[], None), &["bad.toml:48: ", "a key of 50000 parts: expected at most 32"]);
    for nested in [format!("seed = {}1{}", "[".repeat(100_000), "]".repeat(100_000)), deep(100_000) + " = 1"] {
        has(&refuse(&format!("{nested}\n{GOOD}"), &[], None), &["bad.toml:1: not TOML: ", "recurs"]);
    }
    let json = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    has(&from_json(&json).expect_err("too deep").to_string(), &["not JSON: recursion limit exceeded"]);
    let set = format!("seed={}", "[".repeat(100_000));
    has(&refuse(GOOD, &[&set], None), &["--set seed=[[[", "expected a whole number"]);
}

#[test]
fn a_chain_of_files_ends() {
    let dir = std::env::temp_dir().join(format!("backwater-{}-chain", process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let write = |i: usize, text: &str| std::fs::write(dir.join(format!("{i}.toml")), text).expect("a temporary file");
    for i in 0..1000 {
        write(i, &format!("extends = \"{}.toml\"\n", i + 1));
    }
    write(1000, GOOD);
    let at = |i: usize| load(&dir.join(format!("{i}.toml")), &[], None).map_err(|error| error.to_string());
    let (long, short) = (at(0), at(970));
    std::fs::remove_dir_all(&dir).expect("the temporary directory");
    has(&long.expect_err("a long chain"), &["31.toml:1: extends = \"32.toml\"", "32 times: expected no more"]);
    assert!(short.is_ok(), "{short:?}");
}

#[test]
fn numbers_have_ascii_digits_and_nothing_else() {
    for (set, wanted) in [
        ("run.duration=+1 ms", "expected a time with a unit"),
        ("run.duration=1_000 us", "expected a time with a unit"),
        ("run.duration=\u{661} ms", "expected a time with a unit"),
        ("run.duration=1\u{a0}ms", "expected a time with a unit"),
        ("workload.+0.load=0.1", "workload.+0 is not an entry of the list"),
        ("workload.\u{660}.load=0.1", "is not an entry of the list"),
        ("workload.2.to=[\"host01..host02\"]", "expected a range of hosts"),
        ("seed=99999999999999999999999999999999999999999999999999", "expected a whole number"),
    ] {
        has(&refuse(GOOD, &[set], None), &[wanted]);
    }
    let digits = format!("seed={}", "9".repeat(100_000));
    has(&refuse(GOOD, &[&digits], None), &["--set seed=999", "expected a whole number from"]);
}

/// A message shows keys, names and values in one line of limited length.
#[test]
fn what_the_user_wrote_is_shown_in_one_line() {
    let long = "k".repeat(1_000_000);
    for text in [
        format!("\"{long}\" = 1\n{GOOD}"),
        format!("\"a\\nb\\u001b[31m\" = 1\n{GOOD}"),
        GOOD.replace("name = \"good\"", &format!("nme = \"{long}\"")),
        GOOD.replace("name = \"good\"", &format!("nme = {{ \"{long}\" = 1 }}")),
        GOOD.replace("scheme = \"bfc\"", &format!("scheme = \"{long}\"")),
    ] {
        let message = refuse(&text, &[], None);
        assert!(!message.chars().any(char::is_control) && message.chars().count() < 3000, "{message}");
    }
    has(&refuse(GOOD, &[&format!("{long}=1")], None), &["unknown key"]);
}

/// The cost of a run is known before it starts: every table has a size, and every loop an end.
#[test]
fn what_is_too_large_is_refused_with_its_figure() {
    let chain =
        "topology = { kind = \"chain\", switches = 60000, hosts_per_switch = 1, rate = \"1 Gbps\", delay = \"1 us\" }";
    let start = GOOD.find("[topology]").expect("it has one");
    let end = GOOD.find("[switch]").expect("it has one");
    let chained = format!("{chain}\n{}{}", &GOOD[..start], &GOOD[end..]);
    let routes = "makes 60000 switches with 3600000000 routes between them: expected at most 16000000 routes";
    has(&refuse(&chained, &[], None), &["bad.toml:1: topology.switches = 60000", routes]);
    for (sets, wanted) in [
        (
            ["workload.1.period=1 ps", "seed=1"],
            "--set workload.1.period=1 ps: starts 4.00e12 flows a second: expected at most 2e11",
        ),
        (["workload.1.period=20 ps", "run.duration=1 s"], "flows in the run: expected at most 1e9"),
        (
            ["workload.1.period=100 ps", "run.duration=10 s"],
            "starts 4.00e11 flows in the run: expected at most 1e9, as in",
        ),
        (["workload.0.sizes.fixed=1 B", "topology.host_rate=8 Tbps"], "starts 4.00e12 flows a second"),
        (["run.flows=10000001", "run.warmup=0 s"], "expected 1 to 10000000"),
        (["measure.sample=10 ns", "run.duration=17 s"], "samples: expected at most"),
    ] {
        has(&refuse(GOOD, &sets, None), &[wanted]);
    }
    let seeds: Vec<String> = (0..9999).map(|seed| seed.to_string()).collect();
    let many = format!("sweep.seed=[{}]", seeds.join(","));
    let large = ["topology.leaves=200", "topology.spines=50", "topology.hosts_per_leaf=50", &many];
    has(
        &refuse(GOOD, &large, None),
        &["bad.toml:1: the first ", " of 9999 runs have ", "expected at most 1000000 in all"],
    );
}
