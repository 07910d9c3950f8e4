//! A job as a connection matrix.
//!
//! A message is a flow. One that waits for nothing has a start, and one that waits has a trigger, which the flows hit at
//! their ends that it waits for: a oneshot of one flow, a barrier of several.

use super::matrix::{Begin, Flow, Kind, Matrix, Trigger};
use crate::dependent::{Dependent, Message, Need, Passing};
use crate::job::Job;
use crate::unwritten::Unwritten;
use backwater_types::Duration;
use std::collections::HashMap;

/// Makes the matrix of a job. [`matrix::write`](super::matrix::write) writes it.
///
/// # Errors
/// If the job has what a matrix cannot say: computations after messages, phases, messages of a rank to itself or of no
/// bytes, receives of any source or tag, and flows whose end is one of several that some wait for, and not others.
pub fn matrix_of(job: &Job) -> Result<Matrix, Unwritten> {
    let format = "the connection matrix";
    if job.ranks() == 0 {
        return Err(Unwritten::Cannot { what: "a job without ranks".into(), format });
    }
    if let Some(phase) = job.phases.get(1) {
        return Err(Unwritten::Cannot { what: format!("phase \"{}\"", phase.name), format });
    }
    let dependent = Dependent::of(job, Passing::All, format)?;
    let order = dependent.by_tags().unwrap_or_else(|| (0..dependent.messages.len() as u32).collect());
    // `[message]`: its flow.
    let mut places = vec![0; order.len()];
    (0..).zip(&order).for_each(|(flow, message)| places[*message as usize] = flow);
    let mut matrix = Matrix { hosts: job.ranks(), ..Matrix::default() };
    for number in &order {
        let Message { src, send, dst, bytes, begin, .. } = &dependent.messages[*number as usize];
        let cannot = |what: &str| {
            let what = format!("rank {src}, operation {send} {what}");
            Err(Unwritten::Cannot { what, format })
        };
        if src == dst {
            return cannot("sends to its own rank");
        }
        if *bytes == 0 {
            return cannot("sends no bytes");
        }
        if begin.at > Duration::ZERO && !begin.needs.is_empty() {
            return cannot("waits for a time and for messages");
        }
        let (src, dst, bytes, begin) = (*src, *dst, *bytes, Begin::At(begin.at));
        let (line, id, send_done, recv_done, prio) = (0, None, None, None, None);
        matrix.flows.push(Flow { line, src, dst, id, begin, bytes, send_done, recv_done, prio });
    }
    // What flows wait for: its trigger.
    let mut triggers: HashMap<&[Need], u32> = HashMap::new();
    for (flow, number) in order.iter().enumerate() {
        let Message { src, send, begin, .. } = &dependent.messages[*number as usize];
        let needs = &begin.needs[..];
        if needs.is_empty() {
            continue;
        }
        let id = match triggers.get(needs) {
            Some(id) => *id,
            None => {
                let id = matrix.triggers.len() as u32 + 1;
                for need in needs {
                    let hit = match need {
                        Need::Received(message) => &mut matrix.flows[places[*message as usize]].recv_done,
                        Need::Acknowledged(message) => &mut matrix.flows[places[*message as usize]].send_done,
                        Need::Computed(_) => unreachable!("computations are left out"),
                    };
                    if hit.replace(id).is_some() {
                        let what = format!("rank {src}, operation {send} waits for a part of what another waits for");
                        return Err(Unwritten::Cannot { what, format });
                    }
                }
                let count = needs.len() as u32;
                let kind = if count == 1 { Kind::Oneshot } else { Kind::Barrier { count } };
                matrix.triggers.push(Trigger { line: 0, id, kind });
                triggers.insert(needs, id);
                id
            }
        };
        matrix.flows[flow].begin = Begin::Trigger(id);
        matrix.flows[flow].id = Some(flow as u32 + 1);
    }
    let ends = dependent.ends(job);
    if !ends.is_empty() {
        // Their senders have ended when these are acknowledged. Nothing starts then.
        let id = matrix.triggers.len() as u32 + 1;
        matrix.triggers.push(Trigger { line: 0, id, kind: Kind::Oneshot });
        ends.iter().for_each(|message| matrix.flows[places[*message as usize]].send_done = Some(id));
    }
    Ok(matrix)
}
