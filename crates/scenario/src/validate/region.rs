//! Groups of switches that differ from the others.

use super::switch::Part;
use super::{Doc, Net, check_scheme};
use crate::error::Error;
use crate::model::{Grain, Memory, Region, Switch};

/// Checks names and schemes of regions. Returns `[node]`: its region, if it is in one.
pub(super) fn check(doc: &Doc, net: &Net) -> Result<Vec<Option<usize>>, Error> {
    let mut region_of = vec![None; net.graph.nodes.len()];
    let regions = &doc.scenario.region;
    let exact = doc.scenario.conventions.memory == Memory::Exact;
    doc.need(exact || regions.is_empty(), "conventions.memory", || {
        "HPCC's simulator has one scheme in all switches; expected \"exact\", or no [[region]]".into()
    })?;
    for (i, region) in regions.iter().enumerate() {
        let key = format!("region.{i}");
        doc.need(!region.at.is_empty(), &format!("{key}.at"), || "expected at least one switch".into())?;
        for (n, at) in region.at.iter().enumerate() {
            let wrong = |problem: String| doc.wrong(&format!("{key}.at.{n}"), problem);
            for node in net.switches(at).map_err(wrong)? {
                if let Some(other) = region_of[node].replace(i) {
                    let name = &net.graph.nodes[node].name;
                    return Err(wrong(format!("region.{other} has {name}: expected a switch to be named once")));
                }
            }
        }
        check_scheme(&region.scheme).map_err(|problem| doc.wrong(&format!("{key}.scheme"), problem))?;
        let same = region.switch.symmetric_ecmp == doc.scenario.switch.symmetric_ecmp;
        doc.need(same, &format!("{key}.switch.symmetric_ecmp"), || {
            "paths are the same in both directions only if all switches agree: expected the value of switch.symmetric_ecmp"
                .into()
        })?;
        check_hosts(doc, i, region)?;
    }
    Ok(region_of)
}

/// Checks that regions agree with the scenario's own switch in everything that hosts depend on.
fn check_hosts(doc: &Doc, i: usize, region: &Region) -> Result<(), Error> {
    if region.switch.grain() != Grain::Flow {
        return Ok(());
    }
    let (own, hosts) = (region.switch.pausing(), doc.scenario.switch.flow_pauses());
    // Backpressure by flow without a table of its own has FlowSail's.
    let table = region.switch.backpressure.table().unwrap_or("flowsail");
    doc.need(own.lapse == hosts.lapse, &format!("region.{i}.switch.{table}.refresh"), || {
        format!("hosts end a pause by switch.{table}.refresh = {}: expected the same value", hosts.refresh)
    })?;
    doc.need(own.nic.obeys == hosts.nic.obeys, &format!("region.{i}.switch.{table}.nic_obeys"), || {
        format!("hosts obey pauses by switch.{table}.nic_obeys = {}: expected the same value", hosts.nic.obeys)
    })
}

/// Returns the switch table of the scenario and those of its regions, each with its switches.
pub(super) fn parts<'a>(doc: &'a Doc, net: &'a Net, region_of: &[Option<usize>]) -> Vec<Part<'a>> {
    let part = |switch: &'a Switch, key: String, which: Option<usize>| {
        let here = region_of.iter().enumerate().map(|(node, region)| node >= net.graph.hosts && *region == which);
        Part { doc, net, switch, key, here: here.collect() }
    };
    let regions = doc.scenario.region.iter().enumerate();
    let mut parts = vec![part(&doc.scenario.switch, "switch".into(), None)];
    parts.extend(regions.map(|(i, region)| part(&region.switch, format!("region.{i}.switch"), Some(i))));
    parts
}

/// Refuses neighbours that do not understand each other's frames.
pub(super) fn check_borders(doc: &Doc, net: &Net, region_of: &[Option<usize>]) -> Result<(), Error> {
    let switch_of = |region: Option<usize>| region.map_or(&doc.scenario.switch, |i| &doc.scenario.region[i].switch);
    for link in
        net.graph.links.iter().filter(|link| region_of[link.a] != region_of[link.b] && link.a >= net.graph.hosts)
    {
        let region = region_of[link.a].max(region_of[link.b]).expect("one of two different regions is not none");
        let [a, b] = [link.a, link.b].map(|node| switch_of(region_of[node]));
        let [name_a, name_b] = [link.a, link.b].map(|node| &net.graph.nodes[node].name);
        let silent = [a, b].iter().any(|switch| switch.grain() == Grain::Nothing);
        let obeyed = [(a, b), (b, a)].iter().all(|(own, other)| own.pauses(other).grain != Grain::Nothing);
        let fits = silent || obeyed;
        doc.need(fits, &format!("region.{region}.switch.backpressure"), || {
            let word = |switch: &Switch| serde_json::to_string(&switch.backpressure).expect("a word");
            format!(
                "{name_a} has {} and its neighbour {name_b} {}, and neither obeys the other's frames; expected the same at \
                 both, \"flowsail\" or \"bfc\" beside \"pfc\" (BFC without credits, early resume, Tofino2, split or \
                 shared tables and srf), or \"none\"",
                word(a),
                word(b)
            )
        })?;
        let numbered = a.pauses(b).grain != Grain::Queue || a.data_queues() == b.data_queues();
        doc.need(numbered, &format!("region.{region}.switch.queues"), || {
            format!(
                "{name_a} has {} data queues a port and its neighbour {name_b} {}, and BFC's frames name queues by number; \
                 expected as many at both",
                a.data_queues(),
                b.data_queues()
            )
        })?;
    }
    Ok(())
}
