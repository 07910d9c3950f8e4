//! FlowSail's parameters, and those that the printed pseudo-code shares.

use super::{Part, elide};
use crate::error::Error;
use crate::model::{Assignment, Backpressure, Elide, ElideRule, FlowSailParams};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let (switch, flowsail) = (part.switch, &part.switch.flowsail);
    if switch.assignment == Assignment::Flowsail {
        let per_group = switch.data_queues() / u16::from(switch.priority_groups);
        part.need(flowsail.isolation_queues < per_group, "flowsail.isolation_queues", || {
            format!("expected fewer than the {per_group} queues of a group, so that some are left for normal flows")
        })?;
    }
    let everywhere = flowsail.elide == Elide::Rule(ElideRule::None);
    part.need(everywhere || switch.backpressure != Backpressure::PerFlow, "flowsail.elide", || {
        "backpressure = \"per-flow\" pauses flows on every turn; expected \"none\"".into()
    })?;
    check_as_printed(part)?;
    elide::check(part, "flowsail.elide", &flowsail.elide)
}

/// Checks the printed pseudo-code, which has no options and no priorities.
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
            "the pseudo-code as printed does not use this key; expected the default, or as_printed = false".into()
        })?;
    }
    Ok(())
}
