//! Thresholds and queues of marking, the rule of the pool, and what becomes of packets that cannot be marked.

use backwater_types::Bytes;

use super::Part;
use crate::error::Error;
use crate::model::{Assignment, Backpressure, Buffer, EcnOf, NotEct, SpacedOver, Spacing};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let (switch, queues) = (part.switch, part.switch.data_queues());
    if let Some(ecn) = &switch.ecn {
        check_thresholds(part, "ecn", (ecn.kmin, ecn.kmax), ecn.pmax)?;
        for (i, at) in ecn.by_rate.iter().enumerate() {
            let key = format!("ecn.by_rate.{i}");
            check_thresholds(part, &key, (at.kmin, at.kmax), at.pmax)?;
            let twice = ecn.by_rate[..i].iter().any(|other| other.rate == at.rate);
            part.need(!twice, &format!("{key}.rate"), || "given twice: expected each rate once".into())?;
        }
    }
    for (i, queue) in switch.ecn.iter().flat_map(|ecn| &ecn.queues).enumerate() {
        part.need(*queue < queues, &format!("ecn.queues.{i}"), || {
            format!("expected a queue below {queues}, the data queues of a port")
        })?;
    }
    let by_port = switch.ecn.as_ref().is_some_and(|ecn| ecn.of == EcnOf::Port);
    let numbered = !matches!(switch.assignment, Assignment::PerFlow);
    part.need(numbered || !by_port, "ecn.of", || "queues of flows are not marked; expected another assignment".into())?;
    if let Some(pool) = &switch.pool_ecn {
        check_thresholds(part, "pool_ecn", (pool.kmin, pool.kmax), pool.pmax)?;
        let Buffer::Shared(buffer) = switch.buffer else {
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

/// Two thresholds and the probability between them, fields of the table at `key`.
fn check_thresholds(part: &Part, key: &str, (kmin, kmax): (Bytes, Bytes), pmax: f64) -> Result<(), Error> {
    part.need(kmax.0 > 0, &format!("{key}.kmax"), || "expected more than 0 B".into())?;
    part.need(kmin <= kmax, &format!("{key}.kmin"), || format!("expected at most kmax, {kmax}"))?;
    part.need((0.0..=1.0).contains(&pmax), &format!("{key}.pmax"), || "expected 0 to 1".into())
}
