//! A data plane against a log: every call is made again, and everything that comes of it is compared.

use crate::bytes::Fields;
use crate::calls::{Answer, Call, Name, Step};
use crate::read::{Ending, Error, Reader};
use backwater_dataplane::DataPlane;
use backwater_fabric::Blueprint;
use backwater_scenario::topology::{self, Graph};
use backwater_scenario::{Scenario, from_json};
use backwater_schemes::AnySwitch;
use backwater_types::{Instant, PintShape, PortId};
use std::any::Any;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Outcome of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Version of Backwater that wrote the log.
    pub backwater: String,
    /// Name of the switch.
    pub switch: String,
    /// Scheme of the scenario.
    pub scheme: String,
    /// Records whose calls were made again.
    pub records: u64,
    /// Packets that arrived in these.
    pub packets: u64,
    /// Time of the last call.
    pub until: Instant,
    /// How the log ends; `None` if the replay stopped before, at a difference.
    pub ending: Option<Ending>,
    /// First decision that differs.
    pub difference: Option<Difference>,
}

/// The first decision that differs from the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Number of the record, from 1.
    pub record: u64,
    /// Time of the call, or of the last one before a question without a time.
    pub at: Instant,
    /// The call.
    pub call: Call,
    /// What differs; at least one.
    pub facts: Vec<Fact>,
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is, such as `queue`.
    pub what: &'static str,
    /// What the log has.
    pub expected: String,
    /// What the data plane did.
    pub found: String,
}

/// Replays the log of this name against the switch that its scenario describes. `go_on` is asked once in a while, with
/// the number of records so far; the replay stops with `None` when it says no.
///
/// # Errors
/// If the file cannot be read, is no log, or is damaged.
pub fn replay(path: &Path, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Option<Replay>, Error> {
    let mut reader = Reader::open(path)?;
    let (scenario, name) = scenario_of(&reader)?;
    let graph = topology::expand(&scenario.topology);
    let (mut plane, ports) = switch(&scenario, &graph, &name)?;
    reader.limit_ports(ports);
    play(&mut reader, &mut plane, &scenario.scheme, go_on)
}

/// Returns the scenario of a log, and the name of its switch.
///
/// # Errors
/// If the scenario is not valid.
pub fn scenario_of<R: Read>(reader: &Reader<R>) -> Result<(Scenario, String), Error> {
    let head = reader.head();
    let scenario = from_json(&head.scenario.to_string())
        .map_err(|error| Error::whole(format!("scenario of the log, written by {}: {error}", head.backwater)))?;
    Ok((scenario, head.switch.clone()))
}

/// Builds the switch of this name in the network of a scenario, as the simulator builds it. Returns it with the number
/// of its ports.
///
/// # Errors
/// If the network has no switch of this name.
pub fn switch(scenario: &Scenario, graph: &Graph, name: &str) -> Result<(AnySwitch, PortId), Error> {
    let number = number_of(graph, name)?;
    let blueprint = Blueprint::new(scenario, graph, 1, None, &PintShape::default());
    let plan = &blueprint.switches[number - graph.hosts];
    let plane = backwater_planes::any(scenario.conventions.memory, &plan.shape, plan.table);
    Ok((plane, plan.shape.ports.len() as PortId))
}

/// Returns the number in the graph of the switch of this name.
///
/// # Errors
/// If there is no switch of this name.
pub fn number_of(graph: &Graph, name: &str) -> Result<usize, Error> {
    let number = graph.find(name).filter(|number| *number >= graph.hosts);
    number.ok_or_else(|| {
        let names: Vec<&str> = graph.nodes[graph.hosts..].iter().map(|node| node.name.as_str()).collect();
        Error::whole(format!("switch = {name:?}: expected one of {}", shown(&names)))
    })
}

/// Names the first few.
fn shown(names: &[&str]) -> String {
    let more = if names.len() > 8 { format!(" and {} more", names.len() - 8) } else { String::new() };
    names[..names.len().min(8)].join(", ") + &more
}

/// Makes the calls of a log in `plane`, which has not been used yet, and compares what comes of them. See [`replay`].
///
/// # Errors
/// If the log is damaged.
pub fn play<D: DataPlane<Extension = ()>, R: Read>(
    reader: &mut Reader<R>,
    plane: &mut D,
    scheme: &str,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Replay>, Error> {
    let mut replay = Replay {
        backwater: reader.head().backwater.clone(),
        switch: reader.head().switch.clone(),
        scheme: scheme.into(),
        records: 0,
        packets: 0,
        until: Instant::ZERO,
        ending: None,
        difference: None,
    };
    loop {
        if reader.records().is_multiple_of(1 << 17) && !go_on(reader.records()) {
            return Ok(None);
        }
        let step = match reader.read()? {
            Ok(step) => step,
            Err(ending) => {
                replay.ending = Some(ending);
                return Ok(Some(replay));
            }
        };
        replay.records = reader.records();
        replay.until = step.call.now().unwrap_or(replay.until);
        replay.packets += u64::from(takes(&step));
        // A switch that panics is of no use any more, and the replay ends with it.
        let facts = match catch_unwind(AssertUnwindSafe(|| step.call.make(plane))) {
            Ok(found) if found == step => continue,
            Ok(found) => differ(&step, &found),
            Err(panic) => {
                vec![Fact { what: "result", expected: text(&step), found: format!("panic: {}", said(panic)) }]
            }
        };
        let (record, at) = (replay.records, replay.until);
        replay.difference = Some(Difference { record, at, call: step.call, facts });
        return Ok(Some(replay));
    }
}

/// Whether the switch took or dropped a packet in this step.
fn takes(step: &Step) -> bool {
    matches!(step.answer, Answer::Received(_) | Answer::Passed(Some(_)))
}

fn said(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().map_or_else(|_| "without a message".into(), |text| text.to_string()),
    }
}

/// Returns what differs between two steps with the same call.
fn differ(expected: &Step, found: &Step) -> Vec<Fact> {
    let [left, right] = [facts(expected), facts(found)];
    let mut differ = Vec::new();
    for (what, expected) in &left {
        let other = right.iter().find(|(name, _)| name == what).map_or("nothing", |(_, value)| value);
        if other != expected {
            differ.push(Fact { what, expected: expected.clone(), found: other.into() });
        }
    }
    for (what, found) in right {
        if !left.iter().any(|(name, _)| *name == what) {
            differ.push(Fact { what, expected: "nothing".into(), found });
        }
    }
    differ
}

fn text(step: &Step) -> String {
    let facts = facts(step).into_iter().map(|(what, value)| format!("{what} = {value}"));
    facts.collect::<Vec<_>>().join(", ")
}

/// Returns everything that came of a call, by name.
fn facts(step: &Step) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut see = |what, value| facts.push((what, value));
    match &step.answer {
        Answer::Received(received) => received.each(&mut see),
        Answer::Passed(None) => see("passes", "no".into()),
        Answer::Passed(Some((packet, queue))) => {
            see("passes", "yes".into());
            see("queue", queue.to_string());
            packet.each(&mut see);
        }
        Answer::Sent(None) => see("sends", "nothing".into()),
        Answer::Sent(Some((packet, departed))) => {
            see("sends", Name(packet).to_string());
            // The data queue; the packet has one of its own, `upstream_queue`.
            departed.each(&mut see);
            packet.each(&mut see);
        }
        Answer::Done => {}
        Answer::Flag(flag) => see("answer", (if *flag { "yes" } else { "no" }).into()),
        Answer::Time(Instant::NEVER) => see("time", "never".into()),
        Answer::Time(time) => see("time", format!("{} ps", time.0)),
    }
    if !step.dropped.is_empty() {
        let names: Vec<String> = step.dropped.iter().map(|dropped| Name(&dropped.packet).to_string()).collect();
        see("drops", names.join("; "));
        see("dropped packets", format!("{:?}", step.dropped));
    }
    if !step.to_poll.is_empty() {
        see("ports to poll", format!("{:?}", step.to_poll));
    }
    facts
}
