//! Rows of the benchmark: a scenario each.

use backwater_schemes::registry::PRESETS;

/// A row: `(scenario, scheme, workloads, simulated time)`. Scheme `scheme@profile` runs in the profile of another
/// simulator, and `scheme@profile+convention` also resets one convention to the default.
pub(crate) type Row = (&'static str, &'static str, &'static str, &'static str);

const SCENARIOS: [Row; 24] = [
    ("facebook", "bfc", FACEBOOK, "10 ms"),
    ("facebook", "dctcp", FACEBOOK, "10 ms"),
    ("facebook", "ideal-fq", FACEBOOK, "10 ms"),
    ("facebook", "flowsail", FACEBOOK, "10 ms"),
    ("google-incast", "bfc", GOOGLE, "4 ms"),
    ("google-incast", "dctcp", GOOGLE, "4 ms"),
    ("google-incast", "ideal-fq", GOOGLE, "4 ms"),
    ("google-incast", "flowsail", GOOGLE, "4 ms"),
    ("web-server", "flowsail", WEB_SERVER, "5 ms"),
    ("web-server-1024", "flowsail", WEB_SERVER, "5 ms"),
    ("web-server-1024", "bfc", WEB_SERVER, "5 ms"),
    ("web-server-1024", "dctcp", WEB_SERVER, "5 ms"),
    ("web-search", "dctcp-tcp", WEB_SEARCH, "20 ms"),
    ("web-search", "bcc", WEB_SEARCH, "20 ms"),
    ("web-search-100k", "bcc", WEB_SEARCH, "1 s"),
    ("facebook", "dctcp@hpcc-sim", FACEBOOK, "10 ms"),
    ("facebook", "dctcp@hpcc-sim+ties", FACEBOOK, "10 ms"),
    ("google-incast", "dctcp@hpcc-sim", GOOGLE, "4 ms"),
    ("google-incast", "dctcp@hpcc-sim+ties", GOOGLE, "4 ms"),
    ("web-server-8192", "flowsail", WEB_SERVER, "0.3 ms"),
    ("web-server-8192", "bfc", WEB_SERVER, "0.3 ms"),
    ("web-server-8192", "dctcp", WEB_SERVER, "0.3 ms"),
    ("ring-1024", "dctcp", RING, "2 ms"),
    ("equal-flows-1024", "dctcp", EQUAL_FLOWS, "2 ms"),
];

const FACEBOOK: &str = r#"
[[workload]]
kind = "background"
sizes = { table = "fb_hadoop" }
load = 0.6
"#;

const GOOGLE: &str = r#"
[[workload]]
kind = "background"
sizes = { table = "google_rpc" }
load = 0.55
[[workload]]
kind = "incast"
degree = 100
aggregate = "20 MB"
load = 0.05
"#;

/// Workloads of FlowSail, section VI-B.
const WEB_SERVER: &str = r#"
[[workload]]
kind = "background"
sizes = { table = "web_server" }
arrivals = "poisson"
load = 0.6
[[workload]]
kind = "incast"
degree = 50
sizes = { uniform = ["50 KB", "200 KB"] }
load = 0.06
"#;

/// A ring all-reduce of all hosts, in parts of 64 KB. It runs to its end.
const RING: &str = r#"
[[workload]]
kind = "collective"
pattern = "ring"
bytes = "64 MB"
"#;

/// Flows as long as the parts of that ring.
const EQUAL_FLOWS: &str = r#"
[[workload]]
kind = "background"
sizes = { fixed = "64 KB" }
load = 0.6
load_of = "receivers"
"#;

/// Workload of BCC, section V-B: 90 % load of the core, 9 KB frames, 80 us round trip. A scenario named `...-100k` is a
/// whole run of the paper, with 100,000 flows.
const WEB_SEARCH: &str = r#"
[host]
delay = "36 us"
[[workload]]
kind = "background"
sizes = { table = "web_search" }
arrivals = "poisson"
load = 0.9
load_of = "exact-core"
load_with_headers = true
local_share = 0.125
"#;

const TOPOLOGY: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 8
spines = 8
hosts_per_leaf = 16
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
"#;

/// Returns a fat tree with as many switches per pod in both tiers. That of FlowSail, section VI-B, has 8 pods of 8 and
/// 64 cores: 1,024 servers, 64 switches per tier.
fn fat_tree(pods: u32, tors_per_pod: u32, cores: u32, hosts_per_tor: u32) -> String {
    format!(
        "[topology]\nkind = \"fat-tree\"\npods = {pods}\ntors_per_pod = {tors_per_pod}\naggs_per_pod = {tors_per_pod}\n\
         cores = {cores}\nhosts_per_tor = {hosts_per_tor}\nhost_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\n\
         host_delay = \"1 us\"\ncore_delay = \"1 us\"\n"
    )
}

/// Lists the rows above, then one row for every registered scheme. `--one` takes an index into this list.
pub(crate) fn rows() -> impl Iterator<Item = Row> {
    SCENARIOS.into_iter().chain(PRESETS.iter().map(|(scheme, _)| (REGISTRY, *scheme, FACEBOOK, "2 ms")))
}

/// Name of the scenario of every registered scheme.
pub(crate) const REGISTRY: &str = "registry";

/// Returns the scenario file of a row that runs for `duration`.
pub(crate) fn text((name, scheme, workload, _): Row, duration: &str) -> String {
    let (preset, profile) = scheme.split_once('@').unwrap_or((scheme, ""));
    let (profile, ties) =
        profile.split_once('+').map_or((profile, ""), |(profile, _)| (profile, "[conventions]\nties = \"random\"\n"));
    let compat = if profile.is_empty() { String::new() } else { format!("compat = \"{profile}\"\n") };
    let topology = match name.rsplit('-').next() {
        Some("1024") => fat_tree(8, 8, 64, 16),
        Some("8192") => fat_tree(16, 16, 256, 32),
        _ => TOPOLOGY.to_string(),
    };
    let (drain, flows) = if name.ends_with("100k") { (4.0, "warmup = \"0 s\"\nflows = 100000\n") } else { (1.0, "") };
    format!(
        "scheme = \"{preset}\"\n{compat}{ties}{topology}{workload}\n[run]\nduration = \"{duration}\"\ndrain = {drain:.1}\n{flows}"
    )
}
