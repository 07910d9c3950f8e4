//! BFC's parameters, and those that BFC by flow id shares.

use backwater_dataplane::CreditParams;
use backwater_types::Bytes;

use super::{Part, elide};
use crate::error::Error;
use crate::model::{
    AckClass, Assignment, Backpressure, BfcParams, BufferSize, Grain, Hosts, Mmu, Scheduler, Switch, Transport,
};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let bfc = &part.switch.bfc;
    check_by_flow(part)?;
    check_table(part)?;
    check_extended(part)?;
    if let Some(credits) = bfc.credits.as_ref().filter(|_| part.switch.grants_credits()) {
        check_credits(part, credits)?;
    }
    elide::check(part, "bfc.elide", &bfc.elide)
}

/// Checks BFC by flow id, which has an exact table of names in place of BFC's, no sticky time, and no counters of
/// queues.
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
            "BFC by flow id does not use this key; expected the default, or backpressure = \"bfc\"".into()
        })?;
    }
    Ok(())
}

/// Checks that the table has an entry for each class of each pipeline.
fn check_table(part: &Part) -> Result<(), Error> {
    let (switch, bfc) = (part.switch, &part.switch.bfc);
    if bfc.pipelines <= 1 {
        return Ok(());
    }
    let dynamic = switch.assignment == Assignment::Dynamic && switch.grain() != Grain::Flow;
    part.need(dynamic, "bfc.pipelines", || {
        "only BFC's flow table can be divided among pipelines; expected 1, or assignment = \"dynamic\" without backpressure = \"per-flow\""
            .into()
    })?;
    let entries = u64::from(bfc.table_entries_per_queue) * u64::from(switch.queues);
    let lanes = u64::from(bfc.pipelines) * u64::from(switch.priority_groups);
    part.need(entries >= lanes, "bfc.pipelines", || {
        let parts = format!("a port has {entries} entries for {lanes} combinations of pipeline and class");
        format!("{parts}; expected at least one entry for each")
    })
}

/// Checks extensions of BFC beyond the plain switch, and their combinations.
fn check_extended(part: &Part) -> Result<(), Error> {
    let (switch, bfc, conventions) = (part.switch, &part.switch.bfc, &part.doc.scenario.conventions);
    let asked = [
        ("bfc.early_resume", bfc.early_resume),
        ("bfc.shared_queues", bfc.shared_queues),
        ("bfc.credits", bfc.credits.is_some()),
        ("bfc.tofino", bfc.tofino.is_some()),
    ];
    for (field, _) in asked.into_iter().filter(|(_, asked)| *asked) {
        let bfc = (switch.assignment, switch.backpressure) == (Assignment::Dynamic, Backpressure::Bfc);
        part.need(bfc && switch.scheduler == Scheduler::Drr, field, || {
            "only BFC that assigns queues to flows and serves them in turn has this; expected it absent or false, or assignment = \
             \"dynamic\", backpressure = \"bfc\" and scheduler = \"drr\""
                .into()
        })?;
        part.need(conventions.hosts == Hosts::Rings && conventions.acks == AckClass::High, field, || {
            "hosts under another simulator's conventions do not support this; expected it absent or false, or conventions.hosts = \"rings\" and \
             conventions.acks = \"high\""
                .into()
        })?;
    }
    part.need(!bfc.early_resume || !bfc.per_ingress_threshold, "bfc.early_resume", || {
        "early resume looks at a whole queue, not at the share of an ingress port; expected false, or bfc.per_ingress_threshold = false".into()
    })?;
    part.need(!bfc.early_resume || bfc.tofino.is_none(), "bfc.early_resume", || {
        "early resume looks at a queue as a packet departs, and the chip's pipelines cannot; expected false, or no bfc.tofino".into()
    })?;
    part.need(!bfc.early_resume || !part.doc.scenario.measure.pauses, "bfc.early_resume", || {
        "measure.pauses assumes that a pause lasts until its packets leave; expected false, or measure.pauses = false"
            .into()
    })?;
    part.need(!bfc.shared_queues || switch.priority_groups > 1, "bfc.shared_queues", || {
        "with one class there is nothing to share; expected false, or priority_groups of at least 2".into()
    })?;
    part.need(!bfc.shared_queues || !bfc.incast_label, "bfc.shared_queues", || {
        "incast_label reserves the first queue of each class; expected false, or bfc.incast_label = false".into()
    })?;
    part.need(!bfc.shared_queues || bfc.tofino.is_none(), "bfc.shared_queues", || {
        "the chip's map of empty queues is old, so two classes could get the same queue; expected false, or no bfc.tofino".into()
    })?;
    let tail = bfc.tofino.as_ref().is_some_and(|tofino| tofino.tail_fifo > Bytes(0));
    part.need(!tail || switch.mmu == Mmu::default(), "bfc.tofino.tail_fifo", || {
        "packets in the tail FIFO belong to no queue, and an mmu charges queues; expected 0, or no table mmu".into()
    })
}

/// Checks credits: every neighbour obeys, one pool is granted, and the reserves of all links fit into it.
fn check_credits(part: &Part, credits: &CreditParams) -> Result<(), Error> {
    let (scenario, switch, graph) = (part.doc.scenario, part.switch, &part.net.graph);
    let same = |other: &Switch| {
        other.grants_credits() && other.bfc.credits == switch.bfc.credits && other.bfc.refresh == switch.bfc.refresh
    };
    let all = scenario.region.iter().map(|region| &region.switch).chain([&scenario.switch]).all(same);
    part.need(all, "bfc.credits", || {
        "the buffer has no room for packets of a neighbour without credits; expected the same credits and the same bfc.refresh in all regions"
            .into()
    })?;
    let rings =
        !matches!(scenario.host.transport, Transport::Tcp | Transport::Expresspass | Transport::Homa | Transport::Srf);
    part.need(rings, "bfc.credits", || {
        "the NIC of this transport does not obey credits; expected no bfc.credits, or an RDMA transport".into()
    })?;
    part.need(switch.alpha.is_none(), "alpha", || {
        "a limit by alpha would drop packets that have a credit; expected no alpha, or no bfc.credits".into()
    })?;
    part.need(switch.mmu == Mmu::default(), "mmu", || {
        "credits divide one pool among all ports and queues; expected no table mmu, or no bfc.credits".into()
    })?;
    let BufferSize::Shared(buffer) = switch.buffer else {
        return Err(part.wrong("buffer", "credits divide a buffer of a known size; expected a size, or no bfc.credits"));
    };
    let full = part.doc.full_packet().0;
    let least = credits.step.0 + 2 * full;
    part.need(credits.reserve.is_none_or(|reserve| reserve.0 >= least), "bfc.credits.reserve", || {
        format!("a link needs credits for a step and two full packets; expected at least {}", Bytes(least))
    })?;
    let mut reserves = vec![0u64; graph.nodes.len()];
    for link in &graph.links {
        let reserve = credits.reserve(link.rate, link.delay, full);
        for end in [link.a, link.b] {
            reserves[end] = reserves[end].saturating_add(reserve);
        }
    }
    let here = graph.nodes.iter().zip(reserves).zip(&part.here).filter(|(_, here)| **here);
    for ((node, bytes), _) in here {
        part.need(bytes <= buffer.0, "buffer", || {
            format!(
                "credits need {} for the links of {}: for each link a round trip, a step and three packets; expected at least as much",
                Bytes(bytes),
                node.name
            )
        })?;
    }
    Ok(())
}
