//! What switches do, and which choices go together.

use std::collections::HashSet;

use backwater_dataplane::hpcc_memory;
use backwater_schemes::build::headroom;
use backwater_types::Bytes;

use super::{Doc, Net};
use crate::error::Error;
use crate::model::{
    Assignment, Backpressure, BfcParams, BufferSize, EcnOf, Elide, ElideRule, FlowSailParams, Memory, NotEct,
    SpacedOver, Spacing, Switch, WhenPaused,
};
use crate::topology::NodeKind;

/// Queue numbers of a PAUSE bitmap.
const DATA_QUEUES_MAX: u16 = 128;
/// A flow table this long per queue no longer fits any machine's memory.
const TABLE_ENTRIES_MAX: u32 = 10_000;
/// MMUs of a switch.
const MMUS_MAX: usize = 64;
/// Priorities of packets.
pub(super) const PRIORITIES: u8 = 8;

/// A switch table: the scenario's, or that of a region.
pub(super) struct Part<'a> {
    pub(super) doc: &'a Doc<'a>,
    pub(super) net: &'a Net,
    pub(super) switch: &'a Switch,
    /// Dotted key of the table.
    pub(super) key: String,
    /// `[node]`: whether it is a switch that does this.
    pub(super) here: Vec<bool>,
}

impl Part<'_> {
    fn wrong(&self, field: &str, problem: impl Into<String>) -> Error {
        self.doc.wrong(&format!("{}.{field}", self.key), problem)
    }

    /// Refuses the value of a field unless `holds`.
    pub(super) fn need(&self, holds: bool, field: &str, problem: impl FnOnce() -> String) -> Result<(), Error> {
        if holds { Ok(()) } else { Err(self.wrong(field, problem())) }
    }
}

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let switch = part.switch;
    let classes = switch.assignment == Assignment::Class;
    let on_top = switch.assignment == Assignment::Flowsail || switch.bfc.extra_control_queue;
    let most = match on_top {
        _ if classes => PRIORITIES.into(),
        true => DATA_QUEUES_MAX,
        false => DATA_QUEUES_MAX + 1,
    };
    part.need((2..=most).contains(&switch.queues), "queues", || match classes {
        true => format!("expected 2 to {most}: a queue for each traffic class, of which there are {PRIORITIES}"),
        false => format!("expected 2 to {most}, so that at most {DATA_QUEUES_MAX} queues carry data"),
    })?;
    if let BufferSize::Shared(bytes) = switch.buffer {
        let full = part.doc.full_packet();
        part.need(bytes >= full, "buffer", || format!("expected at least one full packet, {full}"))?;
    }
    if let Some(alpha) = switch.alpha {
        part.need(alpha > 0.0, "alpha", || "expected more than 0".into())?;
    }
    check_quantum(part)?;
    if let Some(ecn) = &switch.ecn {
        part.need(ecn.kmax.0 > 0, "ecn.kmax", || "expected more than 0 B".into())?;
        part.need(ecn.kmin <= ecn.kmax, "ecn.kmin", || format!("expected at most kmax, {}", ecn.kmax))?;
        part.need((0.0..=1.0).contains(&ecn.pmax), "ecn.pmax", || "expected 0 to 1".into())?;
        for (i, at) in ecn.by_rate.iter().enumerate() {
            let key = |field: &str| format!("ecn.by_rate.{i}.{field}");
            part.need(at.kmax.0 > 0, &key("kmax"), || "expected more than 0 B".into())?;
            part.need(at.kmin <= at.kmax, &key("kmin"), || format!("expected at most kmax, {}", at.kmax))?;
            part.need((0.0..=1.0).contains(&at.pmax), &key("pmax"), || "expected 0 to 1".into())?;
            let twice = ecn.by_rate[..i].iter().any(|other| other.rate == at.rate);
            part.need(!twice, &key("rate"), || "given twice: expected each rate once".into())?;
        }
    }
    check_marking(part)?;
    check_mmu(part)?;
    check_combination(part)?;
    check_groups(part)?;
    check_pfc(part)?;
    check_bfc(part)?;
    check_flowsail(part)
}

/// Queues that marking covers, the rule of the pool, and what becomes of packets that cannot be marked.
fn check_marking(part: &Part) -> Result<(), Error> {
    let (switch, queues) = (part.switch, part.switch.data_queues());
    for (i, queue) in switch.ecn.iter().flat_map(|ecn| &ecn.queues).enumerate() {
        part.need(*queue < queues, &format!("ecn.queues.{i}"), || {
            format!("expected a queue below {queues}, the data queues of a port")
        })?;
    }
    let by_port = switch.ecn.as_ref().is_some_and(|ecn| ecn.of == EcnOf::Port);
    let numbered = !matches!(switch.assignment, Assignment::PerFlow);
    part.need(numbered || !by_port, "ecn.of", || "queues of flows are not marked; expected another assignment".into())?;
    if let Some(pool) = &switch.pool_ecn {
        part.need(pool.kmax.0 > 0, "pool_ecn.kmax", || "expected more than 0 B".into())?;
        part.need(pool.kmin <= pool.kmax, "pool_ecn.kmin", || format!("expected at most kmax, {}", pool.kmax))?;
        part.need((0.0..=1.0).contains(&pool.pmax), "pool_ecn.pmax", || "expected 0 to 1".into())?;
        let BufferSize::Shared(buffer) = switch.buffer else {
            return Err(part.wrong("pool_ecn", "an infinite pool has no share in use; expected a size as buffer"));
        };
        part.need(pool.kmax <= buffer, "pool_ecn.kmax", || {
            format!("expected at most {}.buffer = {buffer}, which the pool never exceeds", part.key)
        })?;
        let counted = pool.spacing == Spacing::Uniform || pool.spaced_over == SpacedOver::Pool;
        part.need(counted, "pool_ecn.spaced_over", || {
            "with spacing \"plain\" nothing is counted; expected \"pool\"".into()
        })?;
        part.need(!pool.only_ecn_queues || switch.ecn.is_some(), "pool_ecn.only_ecn_queues", || {
            format!("no queue has ECN on, so nothing would be marked; expected false, or {}.ecn", part.key)
        })?;
    }
    let plain = switch.not_ect == NotEct::Pass || switch.backpressure == Backpressure::None;
    part.need(plain, "not_ect", || {
        "packets are dropped as they leave their queues only without backpressure; expected \"pass\"".into()
    })
}

/// MMUs and private memory.
fn check_mmu(part: &Part) -> Result<(), Error> {
    let (switch, mmu) = (part.switch, &part.switch.mmu);
    let graph = &part.net.graph;
    if let Some(ports) = mmu.ports {
        part.need(ports >= 1, "mmu.ports", || "expected at least 1".into())?;
    }
    part.need(mmu.neighbours.len() <= MMUS_MAX, "mmu.neighbours", || format!("expected at most {MMUS_MAX} MMUs"))?;
    let mut seen = HashSet::new();
    for (i, names) in mmu.neighbours.iter().enumerate() {
        part.need(!names.is_empty(), &format!("mmu.neighbours.{i}"), || "expected a neighbour at least".into())?;
        for (n, name) in names.iter().enumerate() {
            let field = format!("mmu.neighbours.{i}.{n}");
            let node = part.net.node(name).map_err(|problem| part.wrong(&field, problem))?;
            part.need(seen.insert(node), &field, || "named twice: expected each neighbour once".into())?;
            let mut links = graph.links.iter();
            let beside = links.any(|l| (l.a == node && part.here[l.b]) || (l.b == node && part.here[l.a]));
            part.need(beside, &field, || "no neighbour of any of these switches; expected one that is".into())?;
        }
    }
    let memory = mmu.private.0 > 0 || !mmu.queue.is_empty();
    let numbered = switch.assignment != Assignment::PerFlow;
    part.need(numbered || !memory, "mmu", || {
        "memory is private to queues by number, and per-flow queues have none; expected no private memory".into()
    })?;
    let (queues, most) = (switch.data_queues(), Bytes(1 << 40));
    part.need(mmu.private <= most, "mmu.private", || format!("expected at most {most}"))?;
    part.need(mmu.queue.len() <= queues.into(), "mmu.queue", || {
        format!("{} queues: expected at most {queues}, the data queues of a port", mmu.queue.len())
    })?;
    for (i, queue) in mmu.queue.iter().enumerate() {
        let field = |name: &str| format!("mmu.queue.{i}.{name}");
        part.need(queue.alpha.is_none_or(|alpha| alpha > 0.0), &field("alpha"), || "expected more than 0".into())?;
        let private = queue.private.is_none_or(|bytes| bytes <= most);
        part.need(private, &field("private"), || format!("expected at most {most}"))?;
    }
    let ports = |node: usize| graph.links.iter().filter(|l| l.a == node || l.b == node).count();
    let most = (0..graph.nodes.len()).filter(|node| part.here[*node]).map(ports).max().unwrap_or(0);
    let by_number = mmu.neighbours.is_empty();
    let several = match by_number {
        true => mmu.ports.is_some_and(|ports| usize::from(ports) < most),
        false => mmu.neighbours.len() > 1,
    };
    let pfc = switch.backpressure == Backpressure::Pfc;
    part.need(!pfc || !several, if by_number { "mmu.ports" } else { "mmu.neighbours" }, || {
        format!("PFC accounts for one pool; expected one MMU for all {most} ports, or backpressure = \"none\"")
    })
}

fn check_quantum(part: &Part) -> Result<(), Error> {
    let (quantum, host) = (part.switch.quantum, &part.doc.scenario.host);
    let full = part.doc.full_packet();
    let within = (full.0..=1 << 24).contains(&quantum.0);
    part.need(within, "quantum", || {
        format!(
            "expected host.payload + host.header = {} + {} = {full}, or more, up to 16 MiB",
            host.payload, host.header
        )
    })
}

fn check_combination(part: &Part) -> Result<(), Error> {
    let switch = part.switch;
    let refuse = |problem: &str| Err(part.wrong("backpressure", problem));
    match (switch.assignment, switch.backpressure) {
        (Assignment::PerFlow, Backpressure::Bfc) => refuse(
            "not with assignment = \"per-flow\": BFC's frames name queues by number, and per-flow queues have none; \
             expected assignment = \"dynamic\", \"stochastic\" or \"single\", or backpressure = \"none\" or \"per-flow\"",
        ),
        (Assignment::PerFlow, Backpressure::Pfc) => refuse(
            "not with assignment = \"per-flow\": PFC holds a whole class at once, which undoes the isolation that a queue \
             per flow is there to give; expected backpressure = \"none\" or \"per-flow\", or another assignment",
        ),
        (Assignment::Flowsail, Backpressure::Flowsail) => Ok(()),
        (Assignment::PerFlow | Assignment::Dynamic, Backpressure::PerFlow) => Ok(()),
        (Assignment::Flowsail, _) => refuse(
            "not with assignment = \"flowsail\": one table of flows says where they queue and whom to pause, so the two go \
             together; expected backpressure = \"flowsail\"",
        ),
        (Assignment::Class, Backpressure::Bfc) => refuse(
            "not with assignment = \"class\": BFC shares queues among flows, and a class is no flow; expected backpressure = \
             \"none\" or \"pfc\", or another assignment",
        ),
        (_, Backpressure::Flowsail) => refuse(
            "only with assignment = \"flowsail\": one table of flows says where they queue and whom to pause, so the two go \
             together; expected assignment = \"flowsail\", or another backpressure",
        ),
        (_, Backpressure::PerFlow) => refuse(
            "only with a table of flows: to pause one flow and no other, the switch has to know it; expected assignment = \
             \"per-flow\" or \"dynamic\", or another backpressure",
        ),
        _ => Ok(()),
    }?;
    let pauses = !matches!(switch.backpressure, Backpressure::None | Backpressure::Pfc);
    part.need(pauses || switch.when_paused == WhenPaused::Hold, "when_paused", || {
        "nothing pauses a queue alone; expected \"hold\", or backpressure = \"bfc\", \"flowsail\" or \"per-flow\""
            .into()
    })
}

/// Priority groups: the same number of queues each, and enough of them.
fn check_groups(part: &Part) -> Result<(), Error> {
    let switch = part.switch;
    let (groups, queues) = (switch.priority_groups, switch.data_queues());
    part.need((1..=PRIORITIES).contains(&groups), "priority_groups", || format!("expected 1 to {PRIORITIES}"))?;
    part.need(groups == 1 || switch.assignment == Assignment::Flowsail, "priority_groups", || {
        "only FlowSail assigns queues within a group; expected 1, or assignment = \"flowsail\"".into()
    })?;
    let groups = u16::from(groups);
    part.need(queues % groups == 0 && queues / groups >= 2 || groups == 1, "priority_groups", || {
        format!("expected a divisor of the {queues} data queues that leaves a group two at least, for normal and for isolated flows")
    })
}

fn check_pfc(part: &Part) -> Result<(), Error> {
    let (doc, switch, graph) = (part.doc, part.switch, &part.net.graph);
    let pfc = &switch.pfc;
    part.need(pfc.alpha > 0.0, "pfc.alpha", || "expected more than 0".into())?;
    // The ports whose neighbours it pauses by PFC: all, or with FlowSail those of neighbours that speak nothing else.
    let speaks = |node: usize| {
        let node = &graph.nodes[node];
        node.kind == NodeKind::Switch && doc.scenario.switch_at(&node.name).backpressure == Backpressure::Pfc
    };
    let paused = |peer: usize| match switch.backpressure {
        Backpressure::Pfc => true,
        Backpressure::Flowsail => speaks(peer),
        _ => false,
    };
    let (mut set_aside, mut pauses) = (vec![0u64; graph.nodes.len()], vec![false; graph.nodes.len()]);
    for link in &graph.links {
        let room = pfc.headroom.unwrap_or_else(|| match doc.scenario.conventions.memory {
            Memory::Exact => headroom(&doc.scenario.host, &doc.scenario.conventions, link.rate, link.delay),
            Memory::HpccSim => Bytes(hpcc_memory::headroom(link.delay, link.rate)),
        });
        for (end, peer) in [(link.a, link.b), (link.b, link.a)].into_iter().filter(|(end, _)| part.here[*end]) {
            let room = if paused(peer) { room.0 } else { 0 };
            set_aside[end] = set_aside[end].saturating_add(room).saturating_add(pfc.reserve.0);
            pauses[end] |= paused(peer);
        }
    }
    for ((node, bytes), _) in graph.nodes.iter().zip(set_aside).zip(pauses).filter(|(_, pauses)| *pauses) {
        let speaks_it = switch.backpressure == Backpressure::Pfc || !switch.flowsail.as_printed;
        part.need(speaks_it, "flowsail.as_printed", || {
            format!(
                "{} has neighbours of PFC, of which the pseudo-code as printed knows nothing; expected false",
                node.name
            )
        })?;
        let BufferSize::Shared(buffer) = switch.buffer else {
            let by =
                if switch.backpressure == Backpressure::Pfc { "backpressure = \"pfc\"" } else { "neighbours of PFC" };
            let problem = format!(
                "not with {by}, which pauses at a share of the free buffer; expected a size, such as \"12 MB\""
            );
            return Err(part.wrong("buffer", problem));
        };
        let field = if pfc.headroom.is_some() { "pfc.headroom" } else { "buffer" };
        part.need(bytes < buffer.0, field, || {
            format!(
                "headroom and reserve of all ports of {} come to {}: expected less than {}.buffer = {buffer}",
                node.name,
                Bytes(bytes),
                part.key
            )
        })?;
    }
    Ok(())
}

fn check_bfc(part: &Part) -> Result<(), Error> {
    let bfc = &part.switch.bfc;
    let positive = "expected more than 0";
    part.need((1..=TABLE_ENTRIES_MAX).contains(&bfc.table_entries_per_queue), "bfc.table_entries_per_queue", || {
        format!("expected 1 to {TABLE_ENTRIES_MAX}")
    })?;
    part.need(bfc.hrtt.is_none_or(|hrtt| hrtt.0 > 0), "bfc.hrtt", || positive.into())?;
    part.need(bfc.fixed_threshold.is_none_or(|bytes| bytes.0 > 0), "bfc.fixed_threshold", || positive.into())?;
    part.need(bfc.refresh.0 > 0, "bfc.refresh", || positive.into())?;
    let nic_queues = bfc.nic_queues.is_none_or(|queues| (1..=128).contains(&queues));
    part.need(nic_queues, "bfc.nic_queues", || "expected 1 to 128".into())?;
    let sampling = bfc.sampling > 0.0 && bfc.sampling <= 1.0;
    part.need(sampling, "bfc.sampling", || "expected more than 0 and at most 1".into())?;
    check_by_flow(part)?;
    check_elide(part, "bfc.elide", &bfc.elide)
}

fn check_flowsail(part: &Part) -> Result<(), Error> {
    let (switch, flowsail) = (part.switch, &part.switch.flowsail);
    let field = |name: &str| format!("flowsail.{name}");
    part.need(flowsail.ql > 0.0, &field("ql"), || "expected more than 0".into())?;
    part.need(flowsail.qh >= flowsail.ql, &field("qh"), || format!("expected at least ql = {}", flowsail.ql))?;
    part.need(flowsail.hrtt.is_none_or(|hrtt| hrtt.0 > 0), &field("hrtt"), || "expected more than 0".into())?;
    let entries = (16..=1_000_000).contains(&flowsail.table_entries);
    part.need(entries, &field("table_entries"), || "expected 16 to 1000000".into())?;
    let bits = (8..=32).contains(&flowsail.fingerprint_bits);
    part.need(bits, &field("fingerprint_bits"), || "expected 8 to 32".into())?;
    part.need(flowsail.isolation_queues >= 1, &field("isolation_queues"), || "expected at least 1".into())?;
    if switch.assignment == Assignment::Flowsail {
        let per_group = switch.data_queues() / u16::from(switch.priority_groups);
        part.need(flowsail.isolation_queues < per_group, &field("isolation_queues"), || {
            format!("expected fewer than the {per_group} queues of a group, so that some are left for normal flows")
        })?;
    }
    let count = flowsail.weights.len();
    part.need(count <= PRIORITIES.into(), &field("weights"), || {
        format!("{count} weights: expected one for each priority, at most {PRIORITIES}")
    })?;
    for (i, weight) in flowsail.weights.iter().enumerate() {
        part.need((1..=255).contains(weight), &field(&format!("weights.{i}")), || "expected 1 to 255".into())?;
    }
    if let Some(sketch) = &flowsail.sketch {
        part.need((1..=8).contains(&sketch.rows), &field("sketch.rows"), || "expected 1 to 8".into())?;
        let columns = (16..=65_536).contains(&sketch.columns) && sketch.columns.is_power_of_two();
        part.need(columns, &field("sketch.columns"), || "expected a power of two from 16 to 65536".into())?;
    }
    let everywhere = flowsail.elide == Elide::Rule(ElideRule::None);
    part.need(everywhere || switch.backpressure != Backpressure::PerFlow, &field("elide"), || {
        "flows are paused by name on every turn; expected \"none\"".into()
    })?;
    check_as_printed(part)?;
    check_elide(part, "flowsail.elide", &flowsail.elide)
}

/// The printed pseudo-code has none of the knobs, and no priorities.
fn check_as_printed(part: &Part) -> Result<(), Error> {
    let flowsail = &part.switch.flowsail;
    if !flowsail.as_printed {
        return Ok(());
    }
    let plain = FlowSailParams::default();
    for (field, plain) in [
        ("flowsail.release", flowsail.release == plain.release),
        ("flowsail.release_from", flowsail.release_from == plain.release_from),
        ("flowsail.isolation_queues", flowsail.isolation_queues == plain.isolation_queues),
        ("flowsail.hold", flowsail.hold == plain.hold),
        ("flowsail.residue", flowsail.residue == plain.residue),
        ("flowsail.count_last", flowsail.count_last == plain.count_last),
        ("flowsail.fingerprint_bits", flowsail.fingerprint_bits == plain.fingerprint_bits),
        ("flowsail.nactive_literal", flowsail.nactive_literal == plain.nactive_literal),
        ("flowsail.strict_fair", flowsail.strict_fair == plain.strict_fair),
        ("flowsail.weights", flowsail.weights == plain.weights),
        ("flowsail.sketch", flowsail.sketch == plain.sketch),
        ("flowsail.elide", flowsail.elide == plain.elide),
        ("priority_groups", part.switch.priority_groups == 1),
    ] {
        part.need(plain, field, || {
            "the pseudo-code as printed has nothing of the kind; expected the default, or as_printed = false".into()
        })?;
    }
    Ok(())
}

/// BFC by flow id has an exact table of names in place of BFC's, no sticky time, and no counters of queues.
fn check_by_flow(part: &Part) -> Result<(), Error> {
    let (switch, bfc, plain) = (part.switch, &part.switch.bfc, BfcParams::default());
    if (switch.assignment, switch.backpressure) != (Assignment::Dynamic, Backpressure::PerFlow) {
        return Ok(());
    }
    for (field, plain) in [
        ("bfc.table_entries_per_queue", bfc.table_entries_per_queue == plain.table_entries_per_queue),
        ("bfc.sticky", bfc.sticky == plain.sticky),
        ("bfc.hrtt", bfc.hrtt == plain.hrtt),
        ("bfc.fixed_threshold", bfc.fixed_threshold == plain.fixed_threshold),
        ("bfc.per_ingress_threshold", bfc.per_ingress_threshold == plain.per_ingress_threshold),
        ("bfc.literal_empty", bfc.literal_empty == plain.literal_empty),
        ("bfc.sticky_reserve", bfc.sticky_reserve == plain.sticky_reserve),
        ("bfc.sampling", bfc.sampling == plain.sampling),
        ("bfc.incast_label", bfc.incast_label == plain.incast_label),
        ("bfc.nic_obeys", bfc.nic_obeys == plain.nic_obeys),
        ("bfc.nic_queues", bfc.nic_queues == plain.nic_queues),
        ("bfc.elide", bfc.elide == plain.elide),
    ] {
        part.need(plain, field, || {
            "BFC by flow id has nothing of the kind; expected the default, or backpressure = \"bfc\"".into()
        })?;
    }
    Ok(())
}

/// Turns that exist.
fn check_elide(part: &Part, field: &str, elide: &Elide) -> Result<(), Error> {
    let Elide::Turns(turns) = elide else { return Ok(()) };
    let graph = &part.net.graph;
    let links: HashSet<(usize, usize)> =
        graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]).collect();
    for (i, turn) in turns.iter().enumerate() {
        let field = format!("{field}.{i}");
        let mut nodes = [0; 3];
        for (slot, name) in turn.iter().enumerate() {
            nodes[slot] = part.net.node(name).map_err(|problem| part.wrong(&format!("{field}.{slot}"), problem))?;
        }
        let [from, switch, to] = nodes;
        let turns_there = graph.nodes[switch].kind == NodeKind::Switch
            && links.contains(&(from, switch))
            && links.contains(&(switch, to))
            && from != to;
        part.need(turns_there, &field, || "expected [from, switch, to] with links from-switch and switch-to".into())?;
    }
    Ok(())
}
