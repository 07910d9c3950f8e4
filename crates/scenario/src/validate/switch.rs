//! What every switch does, and which choices go together.

use std::collections::HashSet;

use backwater_dataplane::hpcc_memory;
use backwater_dataplane::pfc::headroom;
use backwater_types::Bytes;

use super::{Doc, Net};
use crate::error::Error;
use crate::model::{Assignment, Backpressure, Buffer, Elide, Memory};
use crate::topology::NodeKind;

/// Queue numbers of a PAUSE bitmap.
const DATA_QUEUES_MAX: u16 = 128;
/// A flow table this long per queue no longer fits any machine's memory.
const TABLE_ENTRIES_MAX: u32 = 10_000;

pub(super) fn check(doc: &Doc, net: &Net) -> Result<(), Error> {
    let switch = &doc.scenario.switch;
    let most = if switch.bfc.extra_control_queue { DATA_QUEUES_MAX } else { DATA_QUEUES_MAX + 1 };
    doc.need((2..=most).contains(&switch.queues), "switch.queues", || {
        format!("expected 2 to {most}, so that at most {DATA_QUEUES_MAX} queues carry data")
    })?;
    if let Buffer::Shared(bytes) = switch.buffer {
        let full = doc.full_packet();
        doc.need(bytes >= full, "switch.buffer", || format!("expected at least one full packet, {full}"))?;
    }
    if let Some(alpha) = switch.alpha {
        doc.need(alpha > 0.0, "switch.alpha", || "expected more than 0".into())?;
    }
    check_quantum(doc)?;
    if let Some(ecn) = &switch.ecn {
        doc.need(ecn.kmax.0 > 0, "switch.ecn.kmax", || "expected more than 0 B".into())?;
        doc.need(ecn.kmin <= ecn.kmax, "switch.ecn.kmin", || format!("expected at most kmax, {}", ecn.kmax))?;
        doc.need((0.0..=1.0).contains(&ecn.pmax), "switch.ecn.pmax", || "expected 0 to 1".into())?;
        for (i, at) in ecn.by_rate.iter().enumerate() {
            let key = |field: &str| format!("switch.ecn.by_rate.{i}.{field}");
            doc.need(at.kmax.0 > 0, &key("kmax"), || "expected more than 0 B".into())?;
            doc.need(at.kmin <= at.kmax, &key("kmin"), || format!("expected at most kmax, {}", at.kmax))?;
            doc.need((0.0..=1.0).contains(&at.pmax), &key("pmax"), || "expected 0 to 1".into())?;
            let twice = ecn.by_rate[..i].iter().any(|other| other.rate == at.rate);
            doc.need(!twice, &key("rate"), || "given twice: expected each rate once".into())?;
        }
    }
    check_combination(doc)?;
    check_pfc(doc, net)?;
    check_bfc(doc, net)
}

fn check_quantum(doc: &Doc) -> Result<(), Error> {
    let (quantum, host) = (doc.scenario.switch.quantum, &doc.scenario.host);
    let full = doc.full_packet();
    let within = (full.0..=1 << 24).contains(&quantum.0);
    doc.need(within, "switch.quantum", || {
        format!(
            "expected host.payload + host.header = {} + {} = {full}, or more, up to 16 MiB",
            host.payload, host.header
        )
    })
}

fn check_combination(doc: &Doc) -> Result<(), Error> {
    let switch = &doc.scenario.switch;
    match (switch.assignment, switch.backpressure) {
        (Assignment::PerFlow, Backpressure::Bfc) => Err(doc.wrong(
            "switch.backpressure",
            "not with assignment = \"per-flow\": BFC's frames name queues by number, and per-flow queues have none; \
             expected assignment = \"dynamic\", \"stochastic\" or \"single\", or backpressure = \"none\"",
        )),
        (Assignment::PerFlow, Backpressure::Pfc) => Err(doc.wrong(
            "switch.backpressure",
            "not with assignment = \"per-flow\": PFC holds a whole class at once, which undoes the isolation that a queue \
             per flow is there to give; expected backpressure = \"none\", or another assignment",
        )),
        _ => Ok(()),
    }
}

fn check_pfc(doc: &Doc, net: &Net) -> Result<(), Error> {
    let switch = &doc.scenario.switch;
    let pfc = &switch.pfc;
    doc.need(pfc.alpha > 0.0, "switch.pfc.alpha", || "expected more than 0".into())?;
    if switch.backpressure != Backpressure::Pfc {
        return Ok(());
    }
    let Buffer::Shared(buffer) = switch.buffer else {
        let problem = "not with backpressure = \"pfc\", which pauses at a share of the free buffer; expected a size, such as \"12 MB\"";
        return Err(doc.wrong("switch.buffer", problem));
    };
    let full = doc.full_packet();
    let mut set_aside = vec![0u64; net.graph.nodes.len()];
    for link in &net.graph.links {
        let room = pfc.headroom.unwrap_or_else(|| match doc.scenario.conventions.memory {
            Memory::Exact => Bytes(headroom(link.delay, link.rate, full.0)),
            Memory::HpccSim => Bytes(hpcc_memory::headroom(link.delay, link.rate)),
        });
        for end in [link.a, link.b] {
            set_aside[end] = set_aside[end].saturating_add(room.0).saturating_add(pfc.reserve.0);
        }
    }
    for (node, bytes) in net.graph.nodes.iter().zip(set_aside) {
        let fits = node.kind == NodeKind::Host || bytes < buffer.0;
        let key = if pfc.headroom.is_some() { "switch.pfc.headroom" } else { "switch.buffer" };
        doc.need(fits, key, || {
            format!(
                "headroom and reserve of all ports of {} come to {}: expected less than switch.buffer = {buffer}",
                node.name,
                Bytes(bytes)
            )
        })?;
    }
    Ok(())
}

fn check_bfc(doc: &Doc, net: &Net) -> Result<(), Error> {
    let bfc = &doc.scenario.switch.bfc;
    let positive = "expected more than 0";
    doc.need(
        (1..=TABLE_ENTRIES_MAX).contains(&bfc.table_entries_per_queue),
        "switch.bfc.table_entries_per_queue",
        || format!("expected 1 to {TABLE_ENTRIES_MAX}"),
    )?;
    doc.need(bfc.hrtt.is_none_or(|hrtt| hrtt.0 > 0), "switch.bfc.hrtt", || positive.into())?;
    doc.need(bfc.fixed_threshold.is_none_or(|bytes| bytes.0 > 0), "switch.bfc.fixed_threshold", || positive.into())?;
    doc.need(bfc.refresh.0 > 0, "switch.bfc.refresh", || positive.into())?;
    let sampling = bfc.sampling > 0.0 && bfc.sampling <= 1.0;
    doc.need(sampling, "switch.bfc.sampling", || "expected more than 0 and at most 1".into())?;
    let Elide::Turns(turns) = &bfc.elide else { return Ok(()) };
    let links: HashSet<(usize, usize)> =
        net.graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]).collect();
    for (i, turn) in turns.iter().enumerate() {
        let key = format!("switch.bfc.elide.{i}");
        let mut nodes = [0; 3];
        for (slot, name) in turn.iter().enumerate() {
            nodes[slot] = net.node(name).map_err(|problem| doc.wrong(&format!("{key}.{slot}"), problem))?;
        }
        let [from, switch, to] = nodes;
        let turns_there = net.graph.nodes[switch].kind == NodeKind::Switch
            && links.contains(&(from, switch))
            && links.contains(&(switch, to))
            && from != to;
        doc.need(turns_there, &key, || "expected [from, switch, to] with links from-switch and switch-to".into())?;
    }
    Ok(())
}
