//! Validation of conditions that types cannot express: ranges, names that must exist, and combinations that make no
//! sense.
//!
//! Each file checks one part of the scenario. Every refusal names the place of the value, also when the value is a
//! default.

mod conventions;
mod fault;
mod host;
mod measure;
mod region;
mod run;
mod size;
mod switch;
mod topology;
mod workload;

use std::collections::{HashMap, HashSet};

use backwater_schemes::mine;
use backwater_types::Bytes;

use crate::document::Node;
use crate::error::Error;
use crate::model::Scenario;
use crate::presets;
use crate::suggest::{expected, hint};
use crate::topology::{Graph, expand};

pub(crate) use switch::PRIORITIES;
pub(crate) use workload::Lists;

/// Checks everything that the files of its workloads do not change; `document` is the document that it was read from. So a
/// wrong duration is told before a large trace is read.
pub(crate) fn check(document: &Node, scenario: &Scenario) -> Result<Net, Error> {
    let doc = Doc { document, scenario };
    doc.check_scheme()?;
    topology::check_counts(&doc)?;
    let graph = expand(&scenario.topology);
    let net = Net { names: graph.nodes.iter().enumerate().map(|(i, node)| (node.name.clone(), i)).collect(), graph };
    topology::check_routes(&doc, &net)?;
    topology::check_links(&doc, &net)?;
    host::check(&doc, &net)?;
    let region_of = region::check(&doc, &net)?;
    for part in &region::parts(&doc, &net, &region_of) {
        conventions::check(part)?;
        switch::check(part)?;
    }
    region::check_borders(&doc, &net, &region_of)?;
    run::check(&doc, &net)?;
    measure::check(&doc, &net)?;
    Ok(net)
}

/// Checks the rest; `lists` are the files of its workloads.
pub(crate) fn check_workloads(document: &Node, scenario: &Scenario, net: &Net, lists: &Lists) -> Result<(), Error> {
    let doc = Doc { document, scenario };
    workload::check(&doc, net, lists)?;
    fault::check(&doc, net)?;
    size::check(&doc, net, &region::parts(&doc, net, &region::check(&doc, net)?))
}

/// The scenario, and the places of its values.
struct Doc<'a> {
    document: &'a Node,
    scenario: &'a Scenario,
}

/// The expanded topology and its nodes by name.
pub(crate) struct Net {
    graph: Graph,
    names: HashMap<String, usize>,
}

impl Doc<'_> {
    /// Makes an error about the value at a dotted key; if it was not written, about its default.
    fn wrong(&self, key: &str, problem: impl Into<String>) -> Error {
        let (node, found) = self.document.find(key.split('.'));
        let mut error = node.error(key, problem);
        if !found {
            let json = serde_json::to_value(self.scenario).expect("a scenario is plain data");
            let value = json.pointer(&format!("/{}", key.replace('.', "/")));
            error.value = value.map(|value| format!("{} (default)", Node::from_json(value).show()));
        }
        error
    }

    /// Refuses unless `holds`.
    fn need(&self, holds: bool, key: &str, problem: impl FnOnce() -> String) -> Result<(), Error> {
        if holds { Ok(()) } else { Err(self.wrong(key, problem())) }
    }

    fn check_scheme(&self) -> Result<(), Error> {
        check_scheme(&self.scenario.scheme).map_err(|problem| self.wrong("scheme", problem))
    }

    /// Wire bytes of a full packet.
    fn full_packet(&self) -> Bytes {
        self.scenario.host.full_packet()
    }
}

/// Checks that a scheme exists; the error suggests another.
pub(crate) fn check_scheme(name: &str) -> Result<(), String> {
    let names = presets::names();
    if names.contains(&name) {
        return Ok(());
    }
    if name.starts_with(mine::PREFIX) {
        let built: Vec<&str> = mine::presets().iter().map(|(name, _)| *name).collect();
        let built = if built.is_empty() { "none is built for this version".into() } else { built.join(", ") };
        return Err(format!("unknown scheme; expected one that `backwater build-scheme` has built: {built}"));
    }
    Err(format!("unknown scheme; {}", expected(name, &names, "backwater list schemes")))
}

impl Net {
    /// Entries of all routing tables: for every switch one towards each switch with hosts.
    fn routes(&self) -> u64 {
        let homes: HashSet<usize> = (0..self.graph.hosts).map(|host| self.graph.switch_of(host)).collect();
        (self.graph.nodes.len() - self.graph.hosts) as u64 * homes.len() as u64
    }

    /// Returns the node of this name, or what to write instead.
    fn node(&self, name: &str) -> Result<usize, String> {
        self.names.get(name).copied().ok_or_else(|| {
            let nodes = &self.graph.nodes;
            format!("unknown node \"{name}\"; {}expected one of {}", self.hint(name, nodes.len()), sample(nodes))
        })
    }

    /// Returns the host of this name, or what to write instead.
    fn host(&self, name: &str) -> Result<usize, String> {
        let hosts = &self.graph.nodes[..self.graph.hosts];
        match self.names.get(name) {
            Some(&node) if node < self.graph.hosts => Ok(node),
            Some(_) => Err(format!("\"{name}\" is a switch; expected one of the hosts {}", sample(hosts))),
            None => Err(format!(
                "unknown host \"{name}\"; {}expected one of {}",
                self.hint(name, hosts.len()),
                sample(hosts)
            )),
        }
    }

    /// Returns the switches that an entry of a region names: one of them, or all names that begin with the text before
    /// a `*`.
    fn switches(&self, name: &str) -> Result<Vec<usize>, String> {
        let switches = self.graph.hosts..self.graph.nodes.len();
        let Some(prefix) = name.strip_suffix('*') else {
            let node = self.node(name)?;
            let host = node < self.graph.hosts;
            let switch = || format!("\"{name}\" is a host; expected one of {}", sample(&self.graph.nodes[switches]));
            return if host { Err(switch()) } else { Ok(vec![node]) };
        };
        let found: Vec<usize> =
            switches.clone().filter(|&node| self.graph.nodes[node].name.starts_with(prefix)).collect();
        match found.is_empty() {
            false => Ok(found),
            true => Err(format!(
                "no switch has a name that begins like this; expected one of {}",
                sample(&self.graph.nodes[switches])
            )),
        }
    }

    /// Suggests a name, if the list is short enough to search.
    fn hint(&self, name: &str, count: usize) -> String {
        let digits = name.ends_with(|c: char| c.is_ascii_digit());
        let searched = if digits || count > 2000 { 0 } else { count };
        hint(name, self.graph.nodes[..searched].iter().map(|node| node.name.as_str()))
    }
}

/// Shows a few names, and their number.
fn sample(nodes: &[crate::topology::Node]) -> String {
    let names =
        |nodes: &[crate::topology::Node]| nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
    match nodes {
        few if few.len() <= 24 => names(few),
        [first, second, .., last] => {
            format!("{}, {}, ... {} ({} in all)", first.name, second.name, last.name, nodes.len())
        }
        _ => unreachable!("more than 24 nodes have a first and a last"),
    }
}
