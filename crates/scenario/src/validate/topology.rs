//! Hosts, switches and links.

use std::collections::{HashMap, HashSet};

use backwater_types::{BitsPerSec, Duration};

use super::{Doc, Net};
use crate::error::Error;
use crate::model::{GraphLink, Topology};
use crate::suggest::hint;

/// Most nodes: hosts are numbered in 16 bits in every packet; the rest is room for switches.
const HOSTS_MAX: u64 = 60_000;
/// Most ports of a switch: they are numbered in 8 bits in every packet.
const PORTS_MAX: u64 = 255;
const SWITCHES_MAX: u64 = 60_000;
/// Most routes between switches: a chain of 4,000 switches, or a fat tree of 60,000 hosts, 32 to a ToR, and 3,000
/// switches.
const ROUTES_MAX: u64 = 16_000_000;
/// Slowest and fastest link: below, a jumbo frame's serialisation time overflows; above, a byte takes less than a
/// picosecond.
pub(super) const RATE_MIN: BitsPerSec = BitsPerSec(1_000_000);
pub(super) const RATE_MAX: BitsPerSec = BitsPerSec(8_000_000_000_000);
/// Longest link: half way round the Earth in fibre.
const DELAY_MAX: Duration = Duration(100_000_000_000);

/// Checks counts and names, which have to be right before the topology can be expanded.
pub(super) fn check_counts(doc: &Doc) -> Result<(), Error> {
    let positive =
        |field: &str, count: u16| doc.need(count > 0, &format!("topology.{field}"), || "expected at least 1".into());
    match doc.scenario.topology {
        Topology::LeafSpine { leaves, spines, hosts_per_leaf, .. } => {
            positive("leaves", leaves)?;
            positive("spines", spines)?;
            positive("hosts_per_leaf", hosts_per_leaf)?;
            hosts(doc, "hosts_per_leaf", u64::from(leaves) * u64::from(hosts_per_leaf))?;
            ports(doc, "hosts_per_leaf", "a leaf", u64::from(hosts_per_leaf) + u64::from(spines))?;
            ports(doc, "leaves", "a spine", leaves.into())
        }
        Topology::FatTree { pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor, .. } => {
            positive("pods", pods)?;
            positive("tors_per_pod", tors_per_pod)?;
            positive("aggs_per_pod", aggs_per_pod)?;
            positive("cores", cores)?;
            positive("hosts_per_tor", hosts_per_tor)?;
            doc.need(cores % aggs_per_pod == 0, "topology.cores", || {
                format!("expected a multiple of aggs_per_pod = {aggs_per_pod}: aggregation switch j of a pod links to the cores of group j")
            })?;
            let group = u64::from(cores / aggs_per_pod);
            let [pods, tors, aggs, cores, per_tor] =
                [pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor].map(u64::from);
            hosts(doc, "hosts_per_tor", pods * tors * per_tor)?;
            ports(doc, "hosts_per_tor", "a ToR", per_tor + aggs)?;
            ports(doc, "cores", "an aggregation switch", tors + group)?;
            ports(doc, "pods", "a core", pods)?;
            let count = pods * (tors + aggs) + cores;
            doc.need(count <= SWITCHES_MAX, "topology.pods", || {
                format!("makes {count} switches: expected at most {SWITCHES_MAX}")
            })
        }
        Topology::TwoClos { leaves, spines, hosts_per_leaf, .. } => {
            positive("leaves", leaves)?;
            positive("spines", spines)?;
            positive("hosts_per_leaf", hosts_per_leaf)?;
            hosts(doc, "hosts_per_leaf", 2 * u64::from(leaves) * u64::from(hosts_per_leaf))?;
            ports(doc, "hosts_per_leaf", "a leaf", u64::from(hosts_per_leaf) + u64::from(spines))?;
            ports(doc, "leaves", "a spine", u64::from(leaves) + 1)?;
            ports(doc, "spines", "a gateway", u64::from(spines) + 1)
        }
        Topology::SingleSwitch { hosts: count, .. } => {
            positive("hosts", count)?;
            hosts(doc, "hosts", count.into())?;
            ports(doc, "hosts", "the switch", count.into())
        }
        Topology::Dumbbell { left, right, .. } => {
            positive("left", left)?;
            positive("right", right)?;
            hosts(doc, "right", u64::from(left) + u64::from(right))?;
            ports(doc, "left", "the first switch", u64::from(left) + 1)?;
            ports(doc, "right", "the second switch", u64::from(right) + 1)
        }
        Topology::Chain { switches, hosts_per_switch, .. } => {
            positive("switches", switches)?;
            positive("hosts_per_switch", hosts_per_switch)?;
            hosts(doc, "hosts_per_switch", u64::from(switches) * u64::from(hosts_per_switch))?;
            ports(doc, "hosts_per_switch", "a switch", u64::from(hosts_per_switch) + 2.min(u64::from(switches) - 1))
        }
        Topology::Graph { ref hosts, ref switches, ref links, ref ids } => {
            check_graph(doc, hosts, switches, links)?;
            check_ids(doc, ids, hosts.len() + switches.len())
        }
    }
}

fn hosts(doc: &Doc, field: &str, count: u64) -> Result<(), Error> {
    let key = format!("topology.{field}");
    doc.need((2..=HOSTS_MAX).contains(&count), &key, || format!("makes {count} hosts: expected 2 to {HOSTS_MAX}"))
}

fn ports(doc: &Doc, field: &str, whose: &str, count: u64) -> Result<(), Error> {
    let key = format!("topology.{field}");
    doc.need(count <= PORTS_MAX, &key, || format!("gives {whose} {count} ports: expected at most {PORTS_MAX}"))
}

fn check_graph(doc: &Doc, hosts: &[String], switches: &[String], links: &[GraphLink]) -> Result<(), Error> {
    let counts = |field: &str, count: u64, least: u64, most: u64| {
        let key = format!("topology.{field}");
        doc.need((least..=most).contains(&count), &key, || format!("{count} {field}: expected {least} to {most}"))
    };
    counts("hosts", hosts.len() as u64, 2, HOSTS_MAX)?;
    counts("switches", switches.len() as u64, 1, SWITCHES_MAX)?;
    let mut nodes = HashMap::new();
    for (field, names) in [("hosts", hosts), ("switches", switches)] {
        for (i, name) in names.iter().enumerate() {
            let key = format!("topology.{field}.{i}");
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
            let legible = (1..=64).contains(&name.len()) && name.chars().all(plain) && !name.contains("..");
            doc.need(legible, &key, || "expected a name of 1 to 64 letters, digits and _ - . / :".into())?;
            let host = field == "hosts";
            doc.need(nodes.insert(name.as_str(), host).is_none(), &key, || {
                "another node has this name; expected one of its own".into()
            })?;
        }
    }
    let mut degree: HashMap<&str, u64> = HashMap::new();
    let mut joined = HashSet::new();
    for (i, link) in links.iter().enumerate() {
        let key = format!("topology.links.{i}.ends");
        for (end, name) in link.ends.iter().enumerate() {
            doc.need(nodes.contains_key(name.as_str()), &format!("{key}.{end}"), || {
                let hint = hint(name, nodes.keys().copied());
                format!("unknown node; {hint}expected one of the {} names in hosts and switches", nodes.len())
            })?;
            *degree.entry(name).or_default() += 1;
        }
        let [a, b] = [0, 1].map(|end| link.ends[end].as_str());
        doc.need(a != b, &key, || "a link joins two different nodes".into())?;
        doc.need(!(nodes[a] && nodes[b]), &key, || "two hosts: expected a switch at one end".into())?;
        let pair = if a < b { (a, b) } else { (b, a) };
        doc.need(joined.insert(pair), &key, || {
            "these two nodes are joined already: expected one link per pair".into()
        })?;
    }
    for (i, host) in hosts.iter().enumerate() {
        let count = degree.get(host.as_str()).copied().unwrap_or(0);
        doc.need(count == 1, &format!("topology.hosts.{i}"), || {
            format!("has {count} links: expected a host to have exactly 1")
        })?;
    }
    for (i, switch) in switches.iter().enumerate() {
        let count = degree.get(switch.as_str()).copied().unwrap_or(0);
        let key = format!("topology.switches.{i}");
        doc.need((1..=PORTS_MAX).contains(&count), &key, || format!("has {count} ports: expected 1 to {PORTS_MAX}"))?;
    }
    Ok(())
}

/// Checks that there is one number for each node, and none twice.
fn check_ids(doc: &Doc, ids: &[u16], nodes: usize) -> Result<(), Error> {
    doc.need(ids.is_empty() || ids.len() == nodes, "topology.ids", || {
        format!("{} numbers: expected one for each host and then each switch, {nodes}, or none", ids.len())
    })?;
    let mut seen = HashSet::new();
    for (i, id) in ids.iter().enumerate() {
        doc.need(seen.insert(id), &format!("topology.ids.{i}"), || {
            "another node has this number; expected one of its own".into()
        })?;
    }
    Ok(())
}

/// Limits the number of routes, which are found root by root, each by a walk over all links.
pub(super) fn check_routes(doc: &Doc, net: &Net) -> Result<(), Error> {
    let (routes, switches) = (net.routes(), net.graph.nodes.len() - net.graph.hosts);
    let field = match doc.scenario.topology {
        Topology::LeafSpine { .. } | Topology::TwoClos { .. } => "leaves",
        Topology::FatTree { .. } => "pods",
        Topology::SingleSwitch { .. } => "hosts",
        Topology::Dumbbell { .. } => "left",
        Topology::Chain { .. } | Topology::Graph { .. } => "switches",
    };
    doc.need(routes <= ROUTES_MAX, &format!("topology.{field}"), || {
        format!("makes {switches} switches with {routes} routes between them: expected at most {ROUTES_MAX} routes")
    })
}

/// Checks rates, delays, and that a path joins every two hosts.
pub(super) fn check_links(doc: &Doc, net: &Net) -> Result<(), Error> {
    let rate = |field: &str, rate: BitsPerSec| {
        let within = (RATE_MIN..=RATE_MAX).contains(&rate);
        doc.need(within, &format!("topology.{field}"), || format!("expected {RATE_MIN} to {RATE_MAX}"))
    };
    let delay = |field: &str, delay: Duration| {
        let within = delay > Duration::ZERO && delay <= DELAY_MAX;
        let why = "a link without delay leaves the engine no look-ahead";
        doc.need(within, &format!("topology.{field}"), || {
            format!("expected more than 0 and at most {DELAY_MAX}: {why}")
        })
    };
    match doc.scenario.topology {
        Topology::LeafSpine { host_rate, core_rate, host_delay, core_delay, .. }
        | Topology::FatTree { host_rate, core_rate, host_delay, core_delay, .. } => {
            rate("host_rate", host_rate)?;
            rate("core_rate", core_rate)?;
            delay("host_delay", host_delay)?;
            delay("core_delay", core_delay)
        }
        Topology::TwoClos { host_rate, core_rate, host_delay, core_delay, wan_rate, wan_delay, .. } => {
            rate("host_rate", host_rate)?;
            rate("core_rate", core_rate)?;
            delay("host_delay", host_delay)?;
            delay("core_delay", core_delay)?;
            rate("wan_rate", wan_rate)?;
            delay("wan_delay", wan_delay)
        }
        Topology::Dumbbell { rate: host_rate, delay: host_delay, bottleneck_rate, bottleneck_delay, .. } => {
            rate("rate", host_rate)?;
            delay("delay", host_delay)?;
            rate("bottleneck_rate", bottleneck_rate)?;
            delay("bottleneck_delay", bottleneck_delay)
        }
        Topology::SingleSwitch { rate: all, delay: each, .. } | Topology::Chain { rate: all, delay: each, .. } => {
            rate("rate", all)?;
            delay("delay", each)
        }
        Topology::Graph { ref links, .. } => {
            for (i, link) in links.iter().enumerate() {
                rate(&format!("links.{i}.rate"), link.rate)?;
                delay(&format!("links.{i}.delay"), link.delay)?;
            }
            check_connected(doc, net)
        }
    }
}

fn check_connected(doc: &Doc, net: &Net) -> Result<(), Error> {
    let graph = &net.graph;
    let mut near = vec![Vec::new(); graph.nodes.len()];
    for link in &graph.links {
        near[link.a].push(link.b);
        near[link.b].push(link.a);
    }
    let mut reached = vec![false; graph.nodes.len()];
    let mut todo = vec![0];
    reached[0] = true;
    while let Some(node) = todo.pop() {
        todo.extend(near[node].iter().copied().filter(|&next| !std::mem::replace(&mut reached[next], true)));
    }
    match reached.iter().position(|reached| !reached) {
        None => Ok(()),
        Some(apart) => {
            let (from, to) = (&graph.nodes[0].name, &graph.nodes[apart].name);
            Err(doc.wrong("topology.links", format!("no path joins {from} and {to}: expected a connected graph")))
        }
    }
}
