//! FlowSail's parameters, and those of them that the pseudo-code as printed has.

use super::{PRIORITIES, Part, elide};
use crate::error::Error;
use crate::model::{Assignment, Backpressure, Elide, ElideRule, Flowsail};

pub(super) fn check(part: &Part) -> Result<(), Error> {
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
    elide::check(part, "flowsail.elide", &flowsail.elide)
}

/// The printed pseudo-code has none of the knobs, and no priorities.
fn check_as_printed(part: &Part) -> Result<(), Error> {
    let flowsail = &part.switch.flowsail;
    if !flowsail.as_printed {
        return Ok(());
    }
    let plain = Flowsail::default();
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
