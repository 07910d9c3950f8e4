//! Collectives by exchanges at distances 1, 2, 4, ...
//!
//! Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005.
//! If the number of ranks is no power of two, the first ranks of odd place take part for their neighbours too: these
//! send them their data before, and get the result after.

use super::{Move, Parts};
use std::ops::Range;

/// The ranks that take part: a power of two.
struct Cube {
    n: usize,
    me: usize,
    /// Ranks beyond the power of two, each of which has another rank take part for it.
    more: usize,
    /// `log2` of the ranks that take part.
    rounds: u32,
}

impl Cube {
    fn new(n: usize, me: usize) -> Cube {
        let rounds = n.ilog2();
        Cube { n, me, more: n - (1 << rounds), rounds }
    }

    /// Place of this rank among those that take part.
    fn place(&self) -> Option<usize> {
        match self.me < 2 * self.more {
            true => (self.me % 2 == 1).then_some(self.me / 2),
            false => Some(self.me - self.more),
        }
    }

    /// Rank of a place.
    fn rank(&self, place: usize) -> usize {
        if place < self.more { 2 * place + 1 } else { place + self.more }
    }

    /// Parts of the ranks that a range of places stands for.
    fn parts(&self, places: Range<usize>) -> Range<usize> {
        let first = |place: usize| if place < self.more { 2 * place } else { place + self.more };
        first(places.start)..if places.end == 1 << self.rounds { self.n } else { first(places.end) }
    }

    /// Wraps what the ranks that take part do: `steps` steps, of which the first is number 1.
    fn folded(
        &self,
        parts: &Parts,
        steps: u32,
        moves: impl FnOnce(usize) -> Vec<Move>,
        after: Range<u64>,
    ) -> Vec<Move> {
        let (me, all) = (self.me, || parts.data.clone());
        let folds = me < 2 * self.more;
        match self.place() {
            None => vec![Move::send(0, me + 1, all()), Move::receive(steps + 1, me + 1, after)],
            Some(place) => {
                let before = folds.then(|| Move::add(0, me - 1, all()));
                let after = folds.then(|| Move::send(steps + 1, me - 1, after));
                before.into_iter().chain(moves(place)).chain(after).collect()
            }
        }
    }
}

/// Every round exchanges all data.
pub(super) fn all_reduce(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let cube = Cube::new(n, me);
    let moves = |place: usize| {
        let round = |round: u32| {
            let (peer, all) = (cube.rank(place ^ 1 << round), || parts.data.clone());
            [Move::send(1 + round, peer, all()), Move::add(1 + round, peer, all())]
        };
        (0..cube.rounds).flat_map(round).collect()
    };
    cube.folded(parts, cube.rounds, moves, parts.data.clone())
}

/// Places that a place has the sum for after `rounds` rounds of halving.
fn halved(cube: &Cube, place: usize, rounds: u32) -> Range<usize> {
    // Round k divides by bit k of the place, so the ranges of ranks at distance 1 are the halves of all data.
    (0..rounds).fold(0..1 << cube.rounds, |places, round| {
        let middle = places.start + places.len() / 2;
        if place >> round & 1 == 0 { places.start..middle } else { middle..places.end }
    })
}

/// Rounds of halving: each sends the half of its range that its peer keeps.
fn halving(cube: &Cube, place: usize, parts: &Parts) -> Vec<Move> {
    let round = |round: u32| {
        let other = place ^ 1 << round;
        let bytes = |place| parts.parts(cube.parts(halved(cube, place, round + 1)));
        let peer = cube.rank(other);
        [Move::send(1 + round, peer, bytes(other)), Move::add(1 + round, peer, bytes(place))]
    };
    (0..cube.rounds).flat_map(round).collect()
}

/// Rounds of doubling, back from the last distance to the first.
fn doubling(cube: &Cube, place: usize, parts: &Parts, first: u32) -> Vec<Move> {
    let round = |(step, round): (u32, u32)| {
        let other = place ^ 1 << round;
        let bytes = |place| parts.parts(cube.parts(halved(cube, place, round + 1)));
        let peer = cube.rank(other);
        [Move::send(step, peer, bytes(place)), Move::receive(step, peer, bytes(other))]
    };
    (first..).zip((0..cube.rounds).rev()).flat_map(round).collect()
}

pub(super) fn halving_doubling(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let cube = Cube::new(n, me);
    let moves = |place: usize| [halving(&cube, place, parts), doubling(&cube, place, parts, 1 + cube.rounds)].concat();
    cube.folded(parts, 2 * cube.rounds, moves, parts.data.clone())
}

/// Rank of a place that has the sum of part `part` after all rounds of halving, and its bytes.
fn owner(cube: &Cube, part: usize) -> usize {
    let place = if part < 2 * cube.more { part / 2 } else { part - cube.more };
    // The place whose range is that of `place`: its bits in reverse.
    let place = if cube.rounds == 0 { 0 } else { place.reverse_bits() >> (usize::BITS - cube.rounds) };
    cube.rank(place)
}

/// Halving leaves the sum of each part at some rank, which sends it to the rank that is to have it.
pub(super) fn reduce_scatter(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let cube = Cube::new(n, me);
    let last = cube.rounds + 1;
    let mut moves: Vec<Move> = Vec::new();
    if me < 2 * cube.more {
        match me % 2 {
            0 => moves.push(Move::send(0, me + 1, parts.data.clone())),
            _ => moves.push(Move::add(0, me - 1, parts.data.clone())),
        }
    }
    if let Some(place) = cube.place() {
        moves.extend(halving(&cube, place, parts));
        let mine = cube.parts(halved(&cube, place, cube.rounds));
        moves.extend(mine.filter(|part| *part != me).map(|part| Move::send(last, part, parts.part(part))));
    }
    let owner = owner(&cube, me);
    if owner != me {
        moves.push(Move::receive(last, owner, parts.part(me)));
    }
    moves
}

/// Every round exchanges what both have. A rank that does not take part sends its part before, and gets all after.
pub(super) fn all_gather(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let cube = Cube::new(n, me);
    let (me, last) = (cube.me, cube.rounds + 1);
    let Some(place) = cube.place() else {
        let own = Move::send(0, me + 1, parts.part(me));
        return vec![own, Move::receive(last, me + 1, parts.data.clone())];
    };
    let folds = me < 2 * cube.more;
    let before = folds.then(|| Move::receive(0, me - 1, parts.part(me - 1)));
    let after = folds.then(|| Move::send(last, me - 1, parts.data.clone()));
    let round = |round: u32| {
        let bytes = |place: usize| {
            let first = place >> round << round;
            parts.parts(cube.parts(first..first + (1 << round)))
        };
        let other = place ^ 1 << round;
        let peer = cube.rank(other);
        [Move::send(1 + round, peer, bytes(place)), Move::receive(1 + round, peer, bytes(other))]
    };
    before.into_iter().chain((0..cube.rounds).flat_map(round)).chain(after).collect()
}
