//! Collectives round a ring.
//!
//! Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009. In
//! step k rank r sends part (r - k) mod n to its successor: the part that it received in step k - 1, with its own data
//! added in the first n - 1 steps of an all-reduce. A reduce-scatter is those steps, after which rank r has part
//! (r + 1) mod n. Here parts are shifted by one, so that it has part r. An all-gather begins with part r at rank r.

use super::{Move, Parts};
use std::ops::Range;

/// A ring seen from one rank; `reversed`: in the other direction.
struct Ring<'a> {
    n: usize,
    me: usize,
    parts: &'a Parts,
    reversed: bool,
}

impl Ring<'_> {
    /// Rank or part at a distance from this rank, against the direction of the ring.
    fn behind(&self, distance: usize) -> usize {
        let distance = distance % self.n;
        if self.reversed { (self.me + distance) % self.n } else { (self.me + self.n - distance) % self.n }
    }

    /// Sends and receives of `steps`. In step k the rank sends the part `shift + k` behind it.
    fn steps(&self, steps: Range<u32>, shift: usize, add: bool) -> Vec<Move> {
        let (next, before) = (self.behind(self.n - 1), self.behind(1));
        let part = |distance: usize| self.parts.part(self.behind(distance));
        steps
            .enumerate()
            .flat_map(|(k, step)| {
                let received = part(shift + k + 1);
                let received =
                    if add { Move::add(step, before, received) } else { Move::receive(step, before, received) };
                [Move::send(step, next, part(shift + k)), received]
            })
            .collect()
    }
}

pub(super) fn all_reduce(n: usize, me: usize, parts: &Parts, reversed: bool) -> Vec<Move> {
    let ring = Ring { n, me, parts, reversed };
    let steps = n as u32 - 1;
    [ring.steps(0..steps, 0, true), ring.steps(steps..2 * steps, n - 1, false)].concat()
}

pub(super) fn reduce_scatter(n: usize, me: usize, parts: &Parts, reversed: bool) -> Vec<Move> {
    Ring { n, me, parts, reversed }.steps(0..n as u32 - 1, 1, true)
}

pub(super) fn all_gather(n: usize, me: usize, parts: &Parts, reversed: bool) -> Vec<Move> {
    Ring { n, me, parts, reversed }.steps(0..n as u32 - 1, 0, false)
}

/// The first rank sends all data along the ring.
pub(super) fn broadcast(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let data = || parts.data.clone();
    let received = (me > 0).then(|| Move::receive(me as u32 - 1, me - 1, data()));
    let sent = (me + 1 < n).then(|| Move::send(me as u32, me + 1, data()));
    received.into_iter().chain(sent).collect()
}

/// The last rank sends its data along the ring to the first, and each adds its own.
pub(super) fn reduce(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let data = || parts.data.clone();
    let step = |from: usize| (n - 1 - from) as u32;
    let received = (me + 1 < n).then(|| Move::add(step(me + 1), me + 1, data()));
    let sent = (me > 0).then(|| Move::send(step(me), me - 1, data()));
    received.into_iter().chain(sent).collect()
}
