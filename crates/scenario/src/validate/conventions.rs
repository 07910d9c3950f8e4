//! Conventions of other simulators, and the schemes that they can be combined with.

use super::switch::Part;
use crate::error::Error;
use crate::model::{AckClass, Assignment, Backpressure, Conventions, Hosts, Memory, Ties, Time};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let (doc, switch) = (part.doc, part.switch);
    let conventions = &doc.scenario.conventions;
    let frame = conventions.pfc_frame.0;
    doc.need((20..=1500).contains(&frame), "conventions.pfc_frame", || "expected 20 B to 1500 B".into())?;
    let Conventions { acks, hosts, memory, .. } = conventions;
    let finer = switch.grain().is_fine();
    let fifo = switch.built_as() == Assignment::Single && !finer;
    let classes = switch.assignment == Assignment::Class;
    let schemes = "expected a scheme of one queue a port without BFC, such as dctcp, pfc or fifo";
    doc.need(fifo || classes || *acks == AckClass::High, "conventions.acks", || {
        format!("ACKs among the data need one queue a port, or one for each traffic class; {schemes}")
    })?;
    doc.need(!finer || *hosts == Hosts::Rings, "conventions.hosts", || {
        format!("HPCC's simulator has no BFC, and its NIC pauses a whole class; {schemes}")
    })?;
    doc.need(switch.priority_groups == 1 || *hosts == Hosts::Rings, "conventions.hosts", || {
        format!(
            "the NIC of HPCC's simulator serves the flows of all classes in turn; expected \"rings\", or {}.priority_groups = 1",
            part.key
        )
    })?;
    let pfc = switch.backpressure == Backpressure::Pfc && (fifo || classes) && switch.priority_groups == 1;
    doc.need(pfc || *memory == Memory::Exact, "conventions.memory", || {
        "HPCC's simulator always runs PFC, over one queue a port or one for each traffic class; expected a scheme such as dctcp or pfc"
            .into()
    })?;
    let whole = *memory == Memory::HpccSim && *hosts == Hosts::Rings && classes;
    doc.need(!whole, "conventions.hosts", || {
        "HPCC's simulator pauses single classes, and these hosts stop altogether; expected \"hpcc-sim\", or one queue a port".into()
    })?;
    let alpha = switch.pfc.alpha;
    let shift = alpha <= 1.0 && (0..=16).any(|shift| alpha == 1.0 / (1u32 << shift) as f64);
    part.need(shift || *memory == Memory::Exact, "pfc.alpha", || {
        "HPCC's simulator divides by a power of two; expected 1, 0.5, 0.25, 0.125 and so on".into()
    })?;
    let with = conventions.time == Time::WholeNs && *memory == Memory::HpccSim && *hosts == Hosts::HpccSim;
    doc.need(with || conventions.ties == Ties::Random, "conventions.ties", || {
        "events are scheduled in the order of ns-3; expected time = \"whole-ns\", hosts = \"hpcc-sim\" and \
         memory = \"hpcc-sim\" with it"
            .into()
    })?;
    let delayed = doc.scenario.host.delay.0 > 0 && *hosts == Hosts::HpccSim;
    doc.need(!delayed, "host.delay", || "hosts of HPCC's simulator have no delay; expected \"0 s\"".into())
}
