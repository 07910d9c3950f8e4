//! Marking: thresholds and queues, the rule of the pool, and packets that cannot be marked.

use super::Part;
use crate::error::Error;
use crate::model::{Assignment, BufferSize, EcnOf, Grain, NotEct, SpacedOver, Spacing};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let (switch, queues) = (part.switch, part.switch.data_queues());
    if let Some(ecn) = &switch.ecn {
        part.in_range("ecn", ecn)?;
    }
    for (i, queue) in switch.ecn.iter().flat_map(|ecn| &ecn.queues).enumerate() {
        part.need(*queue < queues, &format!("ecn.queues.{i}"), || {
            format!("expected a queue below {queues}, the data queues of a port")
        })?;
    }
    let by_port = switch.ecn.as_ref().is_some_and(|ecn| ecn.of == EcnOf::Port);
    let numbered = !matches!(switch.assignment, Assignment::PerFlow);
    part.need(numbered || !by_port, "ecn.of", || "per-flow queues are not marked; expected another assignment".into())?;
    if let Some(pool) = &switch.pool_ecn {
        part.in_range("pool_ecn", pool)?;
        let BufferSize::Shared(buffer) = switch.buffer else {
            return Err(part.wrong("pool_ecn", "an infinite pool has no share in use; expected a size as buffer"));
        };
        part.need(pool.kmax <= buffer, "pool_ecn.kmax", || {
            format!("expected at most {}.buffer = {buffer}, which the pool never exceeds", part.key)
        })?;
        let counted = pool.spacing == Spacing::Uniform || pool.spaced_over == SpacedOver::Pool;
        part.need(counted, "pool_ecn.spaced_over", || {
            "spacing = \"plain\" counts no packets; expected \"pool\"".into()
        })?;
        part.need(!pool.only_ecn_queues || switch.ecn.is_some(), "pool_ecn.only_ecn_queues", || {
            format!("no queue has ECN on, so nothing would be marked; expected false, or {}.ecn", part.key)
        })?;
    }
    let plain = switch.not_ect == NotEct::Pass || switch.grain() == Grain::Nothing;
    part.need(plain, "not_ect", || {
        "only a switch without backpressure drops packets as they leave their queues; expected \"pass\"".into()
    })
}
