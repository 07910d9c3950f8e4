//! Switches: parameters, and combinations of choices.

mod bfc;
mod ecn;
mod elide;
mod flowsail;
mod homa;
mod mmu;
mod pfc;

use std::collections::BTreeSet;

use backwater_schemes::mine_planes;
use backwater_schemes::planes::accepted;
use backwater_types::{Bytes, Duration, Ranges, TIMER_MAX};

use super::{Doc, Net};
use crate::error::Error;
use crate::model::{
    Assignment, Backpressure, BufferSize, Grain, LoadBalancing, LossRecovery, Paths, Scheduler, Switch, Transport,
    WhenPaused,
};

/// Most queues: the numbers of a PAUSE bitmap.
const DATA_QUEUES_MAX: u16 = 128;
/// Most queues in strict priority.
const LEVELS_MAX: u16 = 64;
/// Largest finite buffer, 1 TiB.
const BUFFER_MAX: Bytes = Bytes(1 << 40);
/// Number of priorities of packets.
pub(crate) const PRIORITIES: u8 = 8;

/// A switch table: the scenario's, or that of a region.
pub(super) struct Part<'a> {
    pub(super) doc: &'a Doc<'a>,
    pub(super) net: &'a Net,
    pub(super) switch: &'a Switch,
    /// Dotted key of the table.
    pub(super) key: String,
    /// `[node]`: whether it is a switch of this table.
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

    /// Refuses values of `params`, at `field`, that are out of their own ranges.
    fn in_range(&self, field: &str, params: &impl Ranges) -> Result<(), Error> {
        params.check().map_err(|wrong| self.wrong(&format!("{field}.{}", wrong.key), wrong.problem()))
    }
}

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let switch = part.switch;
    let classes = switch.assignment == Assignment::Class;
    let levels = matches!(switch.assignment, Assignment::Priority | Assignment::HomaDynamic);
    let on_top = switch.assignment == Assignment::Flowsail || switch.bfc.extra_control_queue;
    let most = match on_top {
        _ if classes => PRIORITIES.into(),
        _ if levels => LEVELS_MAX,
        true => DATA_QUEUES_MAX,
        false => DATA_QUEUES_MAX + 1,
    };
    part.need((2..=most).contains(&switch.queues), "queues", || match () {
        _ if classes => {
            format!("expected 2 to {most}: a queue for each traffic class, of which there are {PRIORITIES}")
        }
        _ if levels => format!("expected 2 to {most}, all of which carry data"),
        _ => format!("expected 2 to {most}, so that at most {DATA_QUEUES_MAX} queues carry data"),
    })?;
    if let BufferSize::Shared(bytes) = switch.buffer {
        let full = part.doc.full_packet();
        part.need((full..=BUFFER_MAX).contains(&bytes), "buffer", || {
            format!("expected at least one full packet, {full}, and at most {BUFFER_MAX}, or \"infinite\"")
        })?;
    }
    if let Some(alpha) = switch.alpha {
        part.need(alpha > 0.0, "alpha", || "expected more than 0".into())?;
    }
    check_quantum(part)?;
    ecn::check(part)?;
    mmu::check(part)?;
    check_combination(part)?;
    check_groups(part)?;
    homa::check(part)?;
    check_scheduler(part)?;
    let told = !switch.drop_notice || part.doc.scenario.host.recovery == LossRecovery::Selective;
    part.need(told, "drop_notice", || {
        "no sender can send a single packet again; expected false, or host.recovery = \"selective\"".into()
    })?;
    check_load_balancing(part)?;
    switch.check_tables().map_err(|wrong| part.wrong(&wrong.key, wrong.problem()))?;
    pfc::check(part)?;
    bfc::check(part)?;
    flowsail::check(part)
}

fn check_quantum(part: &Part) -> Result<(), Error> {
    let (quantum, host) = (part.switch.quantum, &part.doc.scenario.host);
    let full = part.doc.full_packet();
    let within = (full.0..=1 << 24).contains(&quantum.0);
    part.need(within, "quantum", || {
        let parts = format!("{} + {}", host.payload, host.header);
        match host.carried() {
            Bytes(0) => format!("expected host.payload + host.header = {parts} = {full}, or more, up to 16 MiB"),
            int => format!(
                "expected host.payload + host.header + telemetry = {parts} + {int} = {full}, or more, up to 16 MiB"
            ),
        }
    })
}

/// Name of an assignment as scenarios write it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("a word")
}

fn check_combination(part: &Part) -> Result<(), Error> {
    let switch = part.switch;
    let refuse = |problem: &str| Err(part.wrong("backpressure", problem));
    match (switch.assignment, switch.grain()) {
        _ if accepted().any(|one| one == (switch.assignment, switch.backpressure)) => check_metadata(part),
        (Assignment::PerFlow, Grain::Queue) => refuse(
            "not with assignment = \"per-flow\": BFC's frames name queues by number, and per-flow queues have none; \
             expected assignment = \"dynamic\", \"stochastic\" or \"single\", or backpressure = \"none\" or \"per-flow\"",
        ),
        (Assignment::PerFlow, Grain::Port | Grain::Class) => refuse(
            "not with assignment = \"per-flow\": PFC holds a whole class at once, which undoes the isolation that a queue \
             per flow is there to give; expected backpressure = \"none\" or \"per-flow\", or another assignment",
        ),
        (Assignment::Flowsail, _) => refuse(
            "not with assignment = \"flowsail\": one table of flows says where they queue and whom to pause, so the two go \
             together; expected backpressure = \"flowsail\"",
        ),
        (Assignment::HomaDynamic, _) => refuse(
            "not with assignment = \"homa-dynamic\": receivers say who may send, and nothing pauses a sender; expected \
             backpressure = \"none\", or another assignment",
        ),
        (Assignment::Class, Grain::Queue) => refuse(
            "not with assignment = \"class\": BFC shares queues among flows, and a class is no flow; expected backpressure = \
             \"none\" or \"pfc\", or another assignment",
        ),
        (_, Grain::Flow) if switch.pausing().isolates => refuse(
            "only with a table of flows: to pause one flow and no other, the switch has to know it; expected assignment = \
             \"per-flow\" or \"dynamic\", or another backpressure",
        ),
        _ if switch.backpressure == Backpressure::Flowsail => refuse(
            "only with assignment = \"flowsail\": one table of flows says where they queue and whom to pause, so the two go \
             together; expected assignment = \"flowsail\", or another backpressure",
        ),
        (assignment, _) => {
            let fitting = accepted().filter(|(_, other)| *other == switch.backpressure);
            let words: BTreeSet<String> = fitting.map(|(assignment, _)| word(&assignment)).collect();
            let words: Vec<String> = words.into_iter().collect();
            refuse(&format!(
                "not with assignment = {}; expected assignment = {}",
                word(&assignment),
                words.join(" or ")
            ))
        }
    }?;
    part.need(switch.grain().is_fine() || switch.when_paused == WhenPaused::Hold, "when_paused", || {
        "this scheme pauses no single queue; expected \"hold\", or backpressure = \"bfc\", \"flowsail\" or \"per-flow\""
            .into()
    })
}

/// Checks that a switch of the user's own is compiled for what packets carry.
fn check_metadata(part: &Part) -> Result<(), Error> {
    let transport = part.doc.scenario.host.transport;
    let Transport::Mine(mine) = transport else { return Ok(()) };
    let built = mine.part().extension().is_none_or(|extension| mine_planes::builds(part.switch, extension));
    part.need(built, "backpressure", || {
        format!(
            "packets of host.transport = {} carry metadata that this switch is not compiled for; expected \
             `.switch_for` of this control in the scheme that has the switch",
            word(&transport)
        )
    })
}

/// Checks flows on several paths: nothing may depend on a flow having one path.
fn check_load_balancing(part: &Part) -> Result<(), Error> {
    let (switch, conventions) = (part.switch, &part.doc.scenario.conventions);
    if let LoadBalancing::Flowlet(gap) = switch.load_balancing {
        part.need(gap > Duration::ZERO && gap <= TIMER_MAX, "load_balancing.flowlet", || {
            format!("expected more than 0 and at most {TIMER_MAX}")
        })?;
    }
    let one_path = |holds: bool, why: &str| {
        part.need(holds || !switch.load_balancing.splits_flows(), "load_balancing", || {
            format!("{why}; expected \"flow\"")
        })
    };
    one_path(
        !switch.symmetric_ecmp,
        "symmetric_ecmp asks for one path in both directions, and a flow with several paths has none",
    )?;
    one_path(conventions.paths == Paths::Salted, "conventions.paths = \"hpcc-sim\" chooses by flow")?;
    let scenario = part.doc.scenario;
    let fine = |switch: &Switch| switch.grain().is_fine();
    one_path(
        !fine(&scenario.switch) && !scenario.region.iter().any(|region| fine(&region.switch)),
        "backpressure by queue or by flow expects a flow to use one port in and one port out: with several paths it would hold some packets while others overtake them",
    )
}

/// Checks shortest remaining flow first: queues that are served by it, and packets that carry the bytes left.
fn check_scheduler(part: &Part) -> Result<(), Error> {
    let switch = part.switch;
    let srf = switch.scheduler == Scheduler::Srf;
    part.need(srf || !switch.bfc.similar, "bfc.similar", || {
        "only scheduler = \"srf\" looks at the bytes left of a flow; expected false, or that scheduler".into()
    })?;
    part.need(!switch.bfc.similar || !switch.bfc.incast_label, "bfc.similar", || {
        "incast_label reserves a queue for incast flows of any size; expected false, or bfc.incast_label = false".into()
    })?;
    let together = [
        (Assignment::PerFlow, Backpressure::None),
        (Assignment::Dynamic, Backpressure::Bfc),
        (Assignment::HomaDynamic, Backpressure::None),
    ];
    part.need(!srf || together.contains(&(switch.assignment, switch.backpressure)), "scheduler", || {
        "only per-flow queues and BFC's queues can be served in the order of the bytes left of their flows; expected \"drr\", or assignment = \"per-flow\" \
         or \"homa-dynamic\" with backpressure = \"none\", or assignment = \"dynamic\" with backpressure = \"bfc\""
            .into()
    })?;
    let tells_left = matches!(part.doc.scenario.host.transport, Transport::Srf | Transport::Homa);
    part.need(!srf || tells_left, "scheduler", || {
        "packets of this transport do not carry the bytes left of their flow; expected \"drr\", or host.transport = \"srf\" or \
         \"homa\""
            .into()
    })
}

/// Checks priority groups: assignments that support them, and queues for each.
fn check_groups(part: &Part) -> Result<(), Error> {
    let switch = part.switch;
    let groups = switch.priority_groups;
    part.need((1..=PRIORITIES).contains(&groups), "priority_groups", || format!("expected 1 to {PRIORITIES}"))?;
    if groups == 1 {
        return Ok(());
    }
    part.need(switch.scheduler == Scheduler::Drr, "priority_groups", || {
        "scheduler = \"srf\" serves the flow with the fewest bytes left, whatever its priority; expected 1, or \"drr\""
            .into()
    })?;
    let (groups, queues) = (u16::from(groups), switch.data_queues());
    // With several groups queues are built as another assignment.
    let built = accepted().any(|one| one == (switch.built_as(), switch.backpressure));
    match (switch.assignment, switch.grain()) {
        (Assignment::Flowsail, _) => {
            let even = queues % groups == 0 && queues / groups >= 2;
            part.need(even, "priority_groups", || {
                format!(
                    "expected a divisor of the {queues} data queues that leaves each group at least two, for normal and for isolated flows"
                )
            })
        }
        (Assignment::Single, _) if built => Ok(()),
        (Assignment::Stochastic | Assignment::Mine(_), _)
        | (Assignment::Dynamic, Grain::Nothing | Grain::Port | Grain::Class | Grain::Queue) => {
            part.need(groups <= queues, "priority_groups", || {
                format!("expected at most the {queues} data queues, one for each group")
            })?;
            part.need(switch.bfc.nic_queues.is_none_or(|queues| groups <= queues), "bfc.nic_queues", || {
                format!("expected at least {}.priority_groups = {groups}, a queue for each group", part.key)
            })
        }
        (Assignment::Class | Assignment::Priority, _) => Err(part.wrong(
            "priority_groups",
            "this assignment already has a queue for each priority; expected 1, or assignment = \"single\"",
        )),
        (Assignment::Single | Assignment::PerFlow | Assignment::HomaDynamic, _) | (Assignment::Dynamic, Grain::Flow) => Err(part.wrong(
            "priority_groups",
            "this scheme's queues are not divided among priorities; expected 1, or assignment = \"flowsail\", or assignment = \
             \"single\", \"stochastic\" or \"dynamic\" with backpressure = \"none\" or \"pfc\", or either of the last two with \"bfc\"",
        )),
    }
}
