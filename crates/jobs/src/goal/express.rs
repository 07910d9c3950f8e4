//! What GOAL can say of a job.

use crate::job::{Job, When};
use crate::op::{ANY, Op, Work};
use crate::unwritten::Unwritten;
use std::collections::{HashMap, VecDeque};

/// Checks that GOAL can say everything that a job has.
///
/// # Errors
/// Names the first thing that it cannot.
pub(super) fn check(job: &Job) -> Result<(), Unwritten> {
    let cannot = |what: String| Err(Unwritten::Cannot { what, format: "GOAL" });
    if job.ranks() == 0 {
        return cannot("a job without ranks".into());
    }
    if job.phases.len() > 1 {
        return cannot(format!("phase \"{}\"", job.phases[1].name));
    }
    for rank in 0..job.ranks() {
        for op in 0..job.len(rank) {
            let Op { work, nic, phase, acknowledged, .. } = job.op(rank, op);
            let what = match work {
                _ if acknowledged => "ends when it is acknowledged".into(),
                _ if phase != 0 => format!("is of phase {phase}"),
                Work::Calc(_) if nic != 0 => format!("computes on NIC {nic}"),
                Work::Calc(time) if time.0 % 1000 != 0 => format!("takes {} ps, not whole ns", time.0),
                Work::Send { tag: ANY, .. } => format!("sends with tag {ANY}"),
                _ => continue,
            };
            return cannot(format!("rank {rank}, operation {op} {what}"));
        }
    }
    Ok(())
}

/// Sizes of receives, which a job does not have and other simulators use.
///
/// The n-th receive of a rank from a source with a tag has the size of the n-th such send. A receive of any source or
/// any tag has that of the largest message to the rank, as it has to take whichever comes.
pub(super) struct Sizes {
    /// `[rank]`: messages to it are `sends[starts[rank]..starts[rank + 1]]`.
    starts: Vec<usize>,
    /// Sending rank and operation, in rising order for each receiver.
    sends: Vec<(u32, u32)>,
}

/// Sizes of the messages to one rank.
pub(super) struct SizesOf {
    /// `(source, tag)`: sizes.
    exact: HashMap<(u32, u32), VecDeque<u64>>,
    largest: u64,
}

impl Sizes {
    pub(super) fn new(job: &Job) -> Sizes {
        let mut starts = vec![0; job.ranks() as usize + 2];
        each_send(job, |to, _, _| starts[to as usize + 2] += 1);
        (2..starts.len()).for_each(|rank| starts[rank] += starts[rank - 1]);
        let mut sends = vec![(0, 0); starts[starts.len() - 1]];
        each_send(job, |to, rank, op| {
            let next = &mut starts[to as usize + 1];
            sends[*next] = (rank, op);
            *next += 1;
        });
        Sizes { starts, sends }
    }

    /// Collects the sizes of messages to a rank.
    pub(super) fn of(&self, job: &Job, rank: u32) -> SizesOf {
        let mut sizes = SizesOf { exact: HashMap::new(), largest: 0 };
        for (from, op) in &self.sends[self.starts[rank as usize]..self.starts[rank as usize + 1]] {
            let Work::Send { bytes, tag, .. } = job.op(*from, *op).work else { unreachable!("only sends are listed") };
            sizes.exact.entry((*from, tag)).or_default().push_back(bytes);
            sizes.largest = sizes.largest.max(bytes);
        }
        sizes
    }
}

impl SizesOf {
    /// Returns the size of the next receive from a source with a tag.
    pub(super) fn next(&mut self, from: u32, tag: u32) -> u64 {
        let exact = self.exact.get_mut(&(from, tag)).and_then(VecDeque::pop_front);
        exact.unwrap_or(self.largest)
    }
}

/// Calls `see` with receiver, sender and operation of each send.
fn each_send(job: &Job, mut see: impl FnMut(u32, u32, u32)) {
    for rank in 0..job.ranks() {
        for op in 0..job.len(rank) {
            if let Work::Send { to, .. } = job.op(rank, op).work {
                see(to, rank, op);
            }
        }
    }
}

/// Lists the dependencies of a rank as `(later, cause, effect, when)`, by the later of both operations.
pub(super) fn dependencies(job: &Job, rank: u32) -> Vec<(u32, u32, u32, When)> {
    let of = |cause: u32| {
        job.edges(rank, cause).map(move |edge| (cause.max(edge.effect()), cause, edge.effect(), edge.when()))
    };
    let mut all: Vec<_> = (0..job.len(rank)).flat_map(of).collect();
    all.sort_by_key(|(later, cause, effect, _)| (*later, *effect, *cause));
    all
}
