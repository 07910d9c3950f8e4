//! Homa with BFC's dynamic assignment for unscheduled packets.

use super::Part;
use crate::error::Error;
use crate::model::{Assignment, Scheduler, Transport};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let (switch, host) = (part.switch, &part.doc.scenario.host);
    if switch.assignment != Assignment::HomaDynamic {
        return Ok(());
    }
    part.need(host.transport == Transport::Homa, "assignment", || {
        "only Homa has unscheduled packets; expected host.transport = \"homa\", or another assignment".into()
    })?;
    let levels = host.homa.levels;
    part.need(switch.queues == u16::from(levels), "queues", || {
        format!("this assignment has one queue for each level; expected host.homa.levels = {levels}")
    })?;
    part.need(switch.scheduler == Scheduler::Srf, "scheduler", || {
        "unscheduled packets are served in the order of the bytes left of their messages; expected \"srf\", or another assignment".into()
    })
}
