//! Backpressure graph of a scenario, and the cycles in it.

use crate::digraph::Digraph;
use crate::pauses::{Pause, Pauses};
use crate::switches::Switches;
use crate::turns::{Cause, Failed, HOSTS, Turn, Turns};
use crate::ways::{Links, Ways};
use backwater_fabric::link_states::link_states;
use backwater_scenario::Scenario;
use backwater_scenario::model::{Backpressure as Scheme, Switch};
use backwater_scenario::topology::{Graph, expand};
use backwater_types::Instant;
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub use crate::turns::Watch;

/// Link failures beyond those of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failures {
    /// No further failure.
    None,
    /// Any one link between switches fails, in each state of the links that the scenario has.
    One,
    /// Any one or two links between switches fail, in each state of the links that the scenario has.
    Two,
    /// Packets take any turn except back to the previous node, independent of routes (spec, BFC-C3).
    All,
}

/// Largest number of states of the links that are searched separately for a cycle.
const ALONE_MAX: usize = 1000;

/// Dependencies between ports, and the cycles in them.
#[derive(Debug)]
pub struct Backpressure {
    /// Report, as JSON:
    ///
    /// ```text
    /// ports           egress ports, those of NICs included
    /// turns           turns that packets take
    /// pausing         turns by which a neighbour's port waits for the egress
    /// elided          turns on which pauses are elided
    /// components      sizes of the strong components, in ports
    /// circle          turns of a cycle of ports that wait for one another: from, switch, to; by: the backpressure;
    ///                 table: the one whose `elide` may name the turn, or null; towards: the switch whose hosts the
    ///                 packets are for; failed: the failed links; change: whether changing links bring the turn
    /// alone           whether the cycle exists in a single state of the links
    /// edges           turns between ports of one component: from, switch, to, by, component, region; share of the
    ///                 pairs of hosts whose packets take the turn; table, as above
    /// elided_turns    turns between switches that are elided already, whether packets take them or not: from, switch,
    ///                 to, by, region; table: the one whose `elide` names the turn
    /// ```
    pub report: Value,
    /// Strong components: an edge for each entry of `edges`, from the port that waits to the port that it waits for.
    pub cycles: Digraph,
}

/// Checks a valid scenario. Returns `None` if `watch` asked to stop.
pub fn check(scenario: &Scenario, failures: Failures, watch: &Watch) -> Option<Backpressure> {
    let graph = expand(&scenario.topology);
    let switches = Switches::new(&graph);
    let pauses = Pauses::new(scenario, &switches);
    let states: Vec<Links> = states(&graph, scenario).into_iter().map(|up| Links::new(&switches, up)).collect();
    let mut ways = Ways::new(&switches);
    let mut turns = Turns::new(&switches);
    turns.add_routes(&mut ways, &states);
    match failures {
        Failures::None => {}
        Failures::One | Failures::Two => {
            for (_, links) in states.iter().enumerate().filter(|(n, links)| !states[..*n].contains(links)) {
                let two = failures == Failures::Two;
                if !turns.add_failures(&mut ways, links, two, watch) {
                    return None;
                }
            }
        }
        Failures::All => turns.add_possible(),
    }
    let dependencies = Dependencies::new(&switches, &pauses, &turns.list);
    let of = dependencies.graph.components(|_| true);
    let inside = |edge: usize| {
        let (a, b) = dependencies.graph.edges()[edge];
        of[a as usize].is_some() && of[a as usize] == of[b as usize]
    };
    let around: Vec<usize> = (0..dependencies.list.len()).filter(|edge| inside(*edge)).collect();
    let alone = |failed: Failed| {
        let mut turns = Turns::new(&switches);
        turns.add_failed(&mut Ways::new(&switches), &states[0], failed);
        let dependencies = Dependencies::new(&switches, &pauses, &turns.list);
        let cycle = dependencies.graph.cycle(|_| true)?;
        Some(cycle.into_iter().map(|edge| dependencies.list[edge as usize].clone()).collect::<Vec<Dependency>>())
    };
    let tried: BTreeSet<(usize, Failed)> = around
        .iter()
        .filter_map(|edge| match dependencies.list[*edge].turn.cause {
            Cause::Route { failed, .. } => Some((failed.iter().count(), failed)),
            _ => None,
        })
        .collect();
    let mut found = None;
    for (_, failed) in tried.into_iter().take(ALONE_MAX) {
        if watch.is_cancelled() {
            return None;
        }
        found = alone(failed);
        if found.is_some() {
            break;
        }
    }
    let is_alone = found.is_some();
    let cycle = found.or_else(|| {
        let edges = dependencies.graph.cycle(|_| true)?;
        Some(edges.into_iter().map(|edge| dependencies.list[edge as usize].clone()).collect())
    });
    let intact = Links::new(&switches, vec![true; graph.links.len()]);
    let shares = shares(&switches, &mut ways, &intact, around.iter().map(|edge| dependencies.list[*edge].turn.switch));
    let place = |turn: &Turn| {
        let name = switches.name(turn.switch);
        let region = scenario.region.iter().position(|region| std::ptr::eq(&region.switch, scenario.switch_at(name)));
        let (from, to) = (switches.peer(turn.switch, turn.ingress), switches.peer(turn.switch, turn.egress));
        json!({ "from": from, "switch": name, "to": to, "region": region })
    };
    let elided = |turn: &Turn| {
        let mut row = place(turn);
        let backpressure = scenario.switch_at(switches.name(turn.switch)).backpressure;
        (row["by"], row["table"]) = (word(backpressure), backpressure.table().into());
        row
    };
    let of_switch = |switch: usize| shares[switch].as_ref().expect("it has such a turn");
    let edge = |edge: &usize| {
        let Dependency { turn, by, table } = &dependencies.list[*edge];
        let mut row = place(turn);
        (row["by"], row["table"]) = (word(*by), (*table).into());
        row["component"] = of[dependencies.graph.edges()[*edge].0 as usize].into();
        row["share"] = of_switch(turn.switch)[turn.ingress][turn.egress].into();
        row
    };
    let count = |kind: &dyn Fn(Pause) -> bool| -> usize {
        let turns = turns.list.iter().filter(|turn| kind(pauses.by(&switches, turn)));
        turns.map(|turn| times(&switches, turn)).sum()
    };
    let report = json!({
        "ports": switches.ports.iter().map(Vec::len).sum::<usize>() + graph.hosts,
        "turns": count(&|_| true),
        "pausing": count(&|pause| pause.waits_by().is_some()),
        "elided": count(&|pause| pause == Pause::Elided),
        "components": sizes(&of),
        "circle": cycle.iter().flatten().map(|dependency| dependency.to_json(&switches)).collect::<Vec<_>>(),
        "alone": is_alone,
        "edges": around.iter().map(edge).collect::<Vec<_>>(),
        "elided_turns": pauses.elided(&switches).iter().map(elided).collect::<Vec<_>>(),
    });
    Some(Backpressure { report, cycles: among(&dependencies.graph, &of, &around) })
}

/// Returns the turns that packets take by the scenario's own routes: from node, switch, to node, by their numbers in
/// the graph.
pub fn turns(scenario: &Scenario) -> BTreeSet<[usize; 3]> {
    let graph = expand(&scenario.topology);
    let switches = Switches::new(&graph);
    let states: Vec<Links> = states(&graph, scenario).into_iter().map(|up| Links::new(&switches, up)).collect();
    let mut turns = Turns::new(&switches);
    turns.add_routes(&mut Ways::new(&switches), &states);
    let mut all = BTreeSet::new();
    for &Turn { switch, ingress, egress, .. } in &turns.list {
        let here = graph.hosts + switch;
        let peer = |port: usize| graph.peer(switches.ports[switch][port].link, here);
        let of_hosts = switches.hosts[switch].iter().filter(|host| *host != egress);
        let ingresses: Vec<usize> = if ingress == HOSTS { of_hosts.collect() } else { vec![ingress] };
        all.extend(ingresses.into_iter().map(|ingress| [peer(ingress), here, peer(egress)]));
    }
    all
}

/// Returns the sizes of the strong components, in ports, by the scenario's own routes; empty if there is no cycle.
pub fn components(scenario: &Scenario) -> Vec<usize> {
    let holds = |switch: &Switch| switch.pausing().holds_others();
    if !holds(&scenario.switch) && !scenario.region.iter().any(|region| holds(&region.switch)) {
        return Vec::new();
    }
    let graph = expand(&scenario.topology);
    let switches = Switches::new(&graph);
    let states: Vec<Links> = states(&graph, scenario).into_iter().map(|up| Links::new(&switches, up)).collect();
    let mut turns = Turns::new(&switches);
    turns.add_routes(&mut Ways::new(&switches), &states);
    sizes(&Dependencies::new(&switches, &Pauses::new(scenario, &switches), &turns.list).graph.components(|_| true))
}

fn sizes(of: &[Option<u32>]) -> Vec<usize> {
    let mut sizes = Vec::new();
    for component in of.iter().flatten().map(|component| *component as usize) {
        sizes.resize(sizes.len().max(component + 1), 0);
        sizes[component] += 1;
    }
    sizes
}

/// Returns the number of turns that `turn` stands for, as its ingress may be all hosts of the switch.
fn times(switches: &Switches, turn: &Turn) -> usize {
    let hosts = switches.hosts[turn.switch];
    match turn.ingress {
        HOSTS => hosts.len() - usize::from(hosts.contains(turn.egress)),
        _ => 1,
    }
}

/// Dependency of one port on another, by a turn.
#[derive(Clone, Debug)]
struct Dependency {
    turn: Turn,
    by: Scheme,
    /// Scenario table whose `elide` may name the turn.
    table: Option<&'static str>,
}

impl Dependency {
    fn to_json(&self, switches: &Switches) -> Value {
        let Turn { switch, ingress, egress, cause } = self.turn;
        let link = |link: usize| {
            let link = &switches.graph.links[link];
            [link.a, link.b].map(|node| switches.graph.nodes[node].name.clone())
        };
        let (towards, failed) = match cause {
            Cause::Route { root, failed } => (Some(root), failed),
            Cause::Change { root } => (Some(root), Failed::default()),
            Cause::Possible => (None, Failed::default()),
        };
        json!({
            "from": switches.peer(switch, ingress), "switch": switches.name(switch),
            "to": switches.peer(switch, egress),
            "by": word(self.by), "table": self.table, "towards": towards.map(|root| switches.name(root)),
            "failed": failed.iter().map(link).collect::<Vec<_>>(),
            "change": matches!(cause, Cause::Change { .. }),
        })
    }
}

/// Returns the name of a backpressure in scenario files.
fn word(backpressure: Scheme) -> Value {
    serde_json::to_value(backpressure).expect("a word")
}

/// Dependencies between ports of links between switches. NICs wait for ports, but no port waits for a NIC. Ports to
/// hosts wait for nothing. Neither can be in a cycle.
struct Dependencies {
    graph: Digraph,
    /// `[edge]`: its dependency.
    list: Vec<Dependency>,
}

impl Dependencies {
    fn new(switches: &Switches, pauses: &Pauses, turns: &[Turn]) -> Dependencies {
        let (mut edges, mut list) = (Vec::new(), Vec::new());
        for turn in turns {
            let port = |number: usize| switches.ports[turn.switch].get(number).and_then(|port| port.peer);
            let (Some((above, back)), Some(_)) = (port(turn.ingress), port(turn.egress)) else { continue };
            if let Some(paused) = pauses.by(switches, turn).waits_by() {
                edges.push(((switches.first[above] + back) as u32, (switches.first[turn.switch] + turn.egress) as u32));
                list.push(Dependency { turn: *turn, by: paused.by, table: pauses.elidable(turn.switch, paused) });
            }
        }
        let vertices = switches.ports.iter().map(Vec::len).sum();
        Dependencies { graph: Digraph::new(vertices, edges), list }
    }
}

/// Returns the graph of the edges `around` and of the vertices in a component.
fn among(graph: &Digraph, of: &[Option<u32>], around: &[usize]) -> Digraph {
    let mut numbers = vec![0; of.len()];
    let mut count = 0;
    for (vertex, _) in of.iter().enumerate().filter(|(_, component)| component.is_some()) {
        numbers[vertex] = count;
        count += 1;
    }
    let edge = |edge: &usize| {
        let (a, b) = graph.edges()[*edge];
        (numbers[a as usize], numbers[b as usize])
    };
    Digraph::new(count as usize, around.iter().map(edge).collect())
}

/// Returns `[switch][ingress][egress]`, for the switches in `of`: the share of the pairs of hosts whose packets take a
/// turn while all links are up.
fn shares(
    switches: &Switches,
    ways: &mut Ways,
    links: &Links,
    of: impl Iterator<Item = usize>,
) -> Vec<Option<Vec<Vec<f64>>>> {
    let mut loads = vec![None; switches.ports.len()];
    for switch in of {
        let ports = switches.ports[switch].len();
        loads[switch].get_or_insert_with(|| vec![vec![0.0; ports]; ports + 1]);
    }
    if loads.iter().any(Option::is_some) {
        for &root in &switches.homes {
            ways.settle(switches, root, links);
            ways.add_loads(switches, links, &mut loads);
        }
    }
    let hosts = switches.graph.hosts as f64;
    let pairs = hosts * (hosts - 1.0);
    loads.iter_mut().flatten().flatten().flatten().for_each(|load| *load /= pairs);
    loads
}

/// Returns the states of the links: `[state][link]`, whether the link is up, at the start and after each change before
/// the scenario's end. A change at the start replaces the state before it, because no packet is in flight then.
fn states(graph: &Graph, scenario: &Scenario) -> Vec<Vec<bool>> {
    let end = scenario.run.duration.0 as f64 * scenario.run.drain;
    let mut states = vec![vec![true; graph.links.len()]];
    for (at, up) in link_states(graph, &scenario.fault).into_iter().filter(|(at, _)| (at.0 as f64) < end) {
        if at == Instant::ZERO {
            states.clear();
        }
        states.push(up);
    }
    states.dedup();
    states
}
