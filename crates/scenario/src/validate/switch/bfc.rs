//! BFC's parameters, and those of them that BFC by flow id has.

use super::{Part, elide};
use crate::error::Error;
use crate::model::{Assignment, Backpressure, Bfc};

/// A flow table this long per queue no longer fits any machine's memory.
const TABLE_ENTRIES_MAX: u32 = 10_000;

pub(super) fn check(part: &Part) -> Result<(), Error> {
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
    elide::check(part, "bfc.elide", &bfc.elide)
}

/// BFC by flow id has an exact table of names in place of BFC's, no sticky time, and no counters of queues.
fn check_by_flow(part: &Part) -> Result<(), Error> {
    let (switch, bfc, plain) = (part.switch, &part.switch.bfc, Bfc::default());
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
