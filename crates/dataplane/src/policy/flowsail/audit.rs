//! An audit of FlowSail's state against a recount of its queues (the rules of spec F.2 to F.8).

use super::FlowSail;
use crate::flow_table::{NO_QUEUE, NONE, Record, Slot, state};
use crate::meta::Resident;
use crate::queues::PausableQueues;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use backwater_types::{Instant, PortId, QueueId};

/// Contents of the queues for one record.
#[derive(Default)]
struct Found {
    normal: u32,
    isolated: u32,
    flagged: u32,
    mark_normal: bool,
    mark_isolated: bool,
}

pub(super) fn check<const W: usize>(
    policy: &FlowSail<W>,
    residents: &[Resident],
    queues: &[&PausableQueues<W>],
) -> Result<(), String> {
    let found = recount(policy, residents, queues)?;
    for (slot, record) in policy.table.iter() {
        check_record(policy, slot, record, found.get(&slot))?;
    }
    if let Some(slot) = found.keys().find(|slot| policy.table.iter().all(|(live, _)| live != **slot)) {
        return Err(format!("queues hold packets or marks of record {slot}, which is free"));
    }
    check_queues(policy, residents, queues)?;
    let congested = policy.table.iter().filter(|(_, record)| record.is(state::CONGESTED)).count();
    if policy.isolated as usize != congested {
        return Err(format!("{} flows are counted as isolated, {congested} are", policy.isolated));
    }
    for (port, state) in policy.ports.iter().enumerate() {
        let here = |record: &Record| record.port() as usize == port && record.normal | record.isolated > 0;
        let active = policy.table.iter().filter(|(_, record)| here(record)).count();
        let untracked = policy.queues[port * policy.layout.queues as usize..][..policy.layout.queues as usize].iter();
        if state.active_flows as usize != active
            || state.untracked != untracked.map(|queue| queue.untracked).sum::<u32>()
        {
            return Err(format!(
                "port {port} miscounts {} active flows or {} untracked packets",
                state.active_flows, state.untracked
            ));
        }
    }
    if policy.table.iter().any(|(_, record)| needs_refresh(record)) && policy.next == Instant::NEVER {
        return Err("records wait for a refresh and no timer is set".into());
    }
    Ok(())
}

fn needs_refresh(record: &Record) -> bool {
    record.flagged > 0 || record.is(state::CONGESTED)
}

/// Walks every queue in order. Compares the state of single flows and queues here and returns the totals.
fn recount<const W: usize>(
    policy: &FlowSail<W>,
    residents: &[Resident],
    queues: &[&PausableQueues<W>],
) -> Result<BTreeMap<Slot, Found>, String> {
    let mut found: BTreeMap<Slot, Found> = BTreeMap::new();
    let mut flows: BTreeMap<(PortId, QueueId), BTreeSet<Slot>> = BTreeMap::new();
    let mut untracked: BTreeMap<(PortId, QueueId), u32> = BTreeMap::new();
    let mut seen: BTreeSet<(PortId, QueueId)> = BTreeSet::new();
    for r in residents {
        let place = (r.port, r.queue);
        let (isolated, is_mark, slot) = (policy.layout.is_isolation(r.queue), r.packet.wire == 0, r.held.tag);
        if seen.insert(place) && is_mark && !queues[r.port as usize].closed().contains(r.queue as usize) {
            return Err(format!("queue {} of port {} is open with a mark at its head", r.queue, r.port));
        }
        if slot == NONE {
            *untracked.entry(place).or_default() += 1;
            continue;
        }
        let record = &policy.table[slot];
        let own = if isolated { record.isolation_queue() } else { record.normal_queue() };
        if record.port() != r.port || own != r.queue {
            return Err(format!(
                "port {} queue {}: holds a packet or mark of a flow whose queue is {own}",
                r.port, r.queue
            ));
        }
        let found = found.entry(slot).or_default();
        match (is_mark, isolated) {
            (true, true) if found.isolated > 0 => {
                return Err(format!("record {slot}: a mark behind its packets in the isolation queue"));
            }
            (true, true) => found.mark_isolated = true,
            (true, false) => found.mark_normal = true,
            (false, false) if found.mark_normal => {
                return Err(format!("record {slot}: a packet behind its mark in the normal queue"));
            }
            (false, _) => {
                *(if isolated { &mut found.isolated } else { &mut found.normal }) += r.packet.wire as u32;
                found.flagged += r.held.counted as u32;
                flows.entry(place).or_default().insert(slot);
            }
        }
    }
    for (at, queue) in policy.queues.iter().enumerate() {
        let queues = policy.layout.queues as usize;
        let place = ((at / queues) as PortId, (at % queues) as QueueId);
        let weighs =
            |slot: &Slot| if policy.weights.is_empty() { 0 } else { policy.weight(policy.table[*slot].class()) };
        let weight: u32 = flows.get(&place).map_or(0, |flows| flows.iter().map(weighs).sum());
        if queue.weight != weight {
            return Err(format!("{place:?} counts flows of weight {}, {weight} is theirs", queue.weight));
        }
        let (flows, untracked) = (flows.get(&place).map_or(0, BTreeSet::len), untracked.get(&place).copied());
        if queue.flows as usize != flows || queue.untracked != untracked.unwrap_or(0) {
            return Err(format!(
                "{place:?} disagrees with its packets on {} flows or {} untracked packets",
                queue.flows, queue.untracked
            ));
        }
    }
    Ok(found)
}

fn check_record<const W: usize>(
    policy: &FlowSail<W>,
    slot: Slot,
    record: &Record,
    found: Option<&Found>,
) -> Result<(), String> {
    let none = Found::default();
    let found = found.unwrap_or(&none);
    let wrong = |what: &str| Err(format!("record {slot} of port {}: {what}: {record:?}", record.port()));
    if (record.normal, record.isolated, record.flagged) != (found.normal, found.isolated, found.flagged) {
        return wrong("its counters disagree with its queues");
    }
    if (record.is(state::MARK_NORMAL), record.is(state::MARK_ISOLATED)) != (found.mark_normal, found.mark_isolated) {
        return wrong("its marks are not in the queues its state says");
    }
    if record.is_spent() {
        return wrong("it is spent and was not removed");
    }
    if policy.table.find(record.port(), record.name()) != Some(slot) {
        return wrong("a look-up by its name does not find it");
    }
    let isolated = record.is(state::PAUSED) || found.mark_normal || found.mark_isolated || found.isolated > 0;
    if isolated && !record.is(state::CONGESTED) {
        return wrong("it is paused or isolated and not congested");
    }
    if record.is(state::CONGESTED) && record.normal > 0 && !record.is(state::MARK_NORMAL) {
        return wrong("no mark follows its old packets");
    }
    if record.is(state::PAUSED) && record.is(state::MARK_NORMAL) && !policy.drains && record.held != record.queue {
        return wrong("it is paused and its old packets may depart");
    }
    if record.held != NO_QUEUE && (policy.drains || !record.is(state::PAUSED) || record.held != record.queue) {
        return wrong("it is not paused, or holds a queue other than its normal one");
    }
    let waits = policy.queues[policy.at(record.port(), record.isolation_queue())].waiting == slot;
    if waits != (record.is(state::MARK_NORMAL) && !record.is(state::MARK_ISOLATED)) {
        return wrong("its isolation queue waits for its mark without need, or fails to");
    }
    Ok(())
}

fn first_is_paused<const W: usize>(policy: &FlowSail<W>, residents: &[Resident], port: PortId, queue: QueueId) -> bool {
    let first = residents.iter().find(|r| (r.port, r.queue) == (port, queue));
    first.is_some_and(|r| policy.table[r.held.tag].is(state::PAUSED))
}

fn check_queues<const W: usize>(
    policy: &FlowSail<W>,
    residents: &[Resident],
    queues: &[&PausableQueues<W>],
) -> Result<(), String> {
    let mut holds: BTreeMap<(PortId, QueueId), u16> = BTreeMap::new();
    for (_, record) in policy.table.iter() {
        if record.is(state::PAUSED) && !policy.hold_by_head {
            *holds.entry((record.port(), record.isolation_queue())).or_default() += 1;
        }
        if record.held != NO_QUEUE {
            *holds.entry((record.port(), record.held as QueueId)).or_default() += 1;
        }
    }
    for (at, queue) in policy.queues.iter().enumerate() {
        let count = policy.layout.queues as usize;
        let (port, q) = ((at / count) as PortId, (at % count) as QueueId);
        let expected = holds.get(&(port, q)).copied().unwrap_or(0) + (queue.waiting != NONE) as u16;
        if queue.holds != expected {
            return Err(format!("queue {q} of port {port} counts {} holds, {expected} are", queue.holds));
        }
        let by_first =
            policy.hold_by_head && policy.layout.is_isolation(q) && first_is_paused(policy, residents, port, q);
        if queues[port as usize].closed().contains(q as usize) != (queue.holds > 0 || by_first) {
            return Err(format!(
                "queue {q} of port {port} with {} holds is open or closed in disagreement with them",
                queue.holds
            ));
        }
    }
    Ok(())
}
