//! Priority classes of a random network. They have their own draws, so the rest of a case stays the same.

use super::{Conventions, Dice, Scheme};
use backwater_scenario::model::{Assignment, Backpressure};
use backwater_types::hash::Stream;

/// Returns the number of priority groups for case number `case`, at ports with `queues` queues.
pub fn groups(case: u64, scheme: &Scheme, conventions: &Conventions, queues: u64) -> u64 {
    let dice = &mut Dice(Stream::new(0x6261_636b, 0x636c_6173, case));
    let most = match (scheme.assignment, scheme.backpressure) {
        _ if scheme.srf || conventions.memory || conventions.hosts || conventions.acks => 1,
        (Assignment::Single, Backpressure::None | Backpressure::Pfc) => 4,
        (Assignment::Dynamic | Assignment::Stochastic, _) => (queues - 1).min(4),
        _ => 1,
    };
    if dice.percent(25) { dice.range(1, most) } else { 1 }
}

/// Splits the listed flows of `out` into a workload per group, and assigns a group to each other workload.
pub fn deal(out: &mut String, groups: u64) {
    let open = "[[workload]]\nkind = \"flow-list\"\nflows = [\n";
    let (before, listed) = out.split_once(open).expect("flows are listed");
    let (rows, after) = listed.split_once("]\n").expect("the list ends");
    let mut dealt = before.to_string();
    for group in 0..groups {
        let own: Vec<&str> = rows.lines().skip(group as usize).step_by(groups as usize).collect();
        if !own.is_empty() {
            let head = open.replacen("kind", &format!("priority = {group}\nclass = \"list-{group}\"\nkind"), 1);
            dealt += &format!("{head}{}\n]\n", own.join("\n"));
        }
    }
    for (k, part) in after.split("[[workload]]\n").enumerate() {
        match k {
            0 => dealt += part,
            _ => dealt += &format!("[[workload]]\npriority = {}\n{part}", k as u64 % groups),
        }
    }
    *out = dealt;
}
