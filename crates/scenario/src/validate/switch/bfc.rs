//! BFC's parameters, and those of them that BFC by flow id has.

use super::{Part, elide};
use crate::error::Error;
use crate::model::{Assignment, Backpressure, BfcParams};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let bfc = &part.switch.bfc;
    check_by_flow(part)?;
    elide::check(part, "bfc.elide", &bfc.elide)
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
