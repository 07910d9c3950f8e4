//! Collectives along trees.

use super::{Move, Parts};
use std::ops::Range;

/// Parent and children of a rank in a tree.
struct Family {
    parent: Option<usize>,
    children: Vec<usize>,
}

/// The binary tree of NCCL (`ncclGetBtree` in `src/graph/trees.cc`): ranks of odd place are leaves.
fn binary(n: usize, rank: usize) -> Family {
    if rank == 0 {
        let child = n.next_power_of_two() / 2;
        return Family { parent: None, children: if n > 1 { vec![child] } else { Vec::new() } };
    }
    let bit = 1 << rank.trailing_zeros();
    let up = rank ^ bit | bit << 1;
    let parent = if up >= n { rank ^ bit } else { up };
    let mut children = Vec::new();
    if bit > 1 {
        children.push(rank - bit / 2);
        // The upper child is the nearest one that there is.
        let mut low = bit / 2;
        while low > 0 && rank + low >= n {
            low /= 2;
        }
        if low > 0 {
            children.push(rank + low);
        }
    }
    Family { parent: Some(parent), children }
}

/// The second tree of NCCL: the first one shifted by a rank, or mirrored if the number of ranks is even, so that a rank
/// that passes on in one is a leaf in the other.
fn second(n: usize, rank: usize) -> Family {
    let there = |rank: usize| if n % 2 == 1 { (rank + n - 1) % n } else { n - 1 - rank };
    let back = |rank: usize| if n % 2 == 1 { (rank + 1) % n } else { n - 1 - rank };
    let Family { parent, children } = binary(n, there(rank));
    Family { parent: parent.map(back), children: children.into_iter().map(back).collect() }
}

/// Half of the data goes up and down each tree. Steps 0 and 1 are those of the first tree, 2 and 3 of the second.
pub(super) fn all_reduce(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let middle = parts.data.start + (parts.data.end - parts.data.start).div_ceil(2);
    let halves = [(0, binary(n, me), parts.data.start..middle), (2, second(n, me), middle..parts.data.end)];
    let up_and_down = |(step, family, bytes): (u32, Family, Range<u64>)| {
        let Family { parent, children } = family;
        let data = || bytes.clone();
        let up = children.iter().map(|child| Move::add(step, *child, data()));
        let top = parent.map(|parent| [Move::send(step, parent, data()), Move::receive(step + 1, parent, data())]);
        let down = children.iter().map(|child| Move::send(step + 1, *child, data()));
        up.chain(top.into_iter().flatten()).chain(down).collect::<Vec<_>>()
    };
    halves.into_iter().flat_map(up_and_down).collect()
}

/// Binomial tree: rank r has its parent at r without its lowest bit. The farthest child comes first.
fn binomial(n: usize, rank: usize) -> Family {
    let low = if rank == 0 { n.next_power_of_two() } else { 1 << rank.trailing_zeros() };
    let distances = (0..low.trailing_zeros()).rev().map(|bit| 1 << bit);
    Family {
        parent: (rank > 0).then(|| rank - low),
        children: distances.map(|distance| rank + distance).filter(|child| *child < n).collect(),
    }
}

/// Step of the message between a rank and its parent: the farthest children get theirs first.
fn step(n: usize, child: usize) -> u32 {
    n.next_power_of_two().trailing_zeros() - 1 - child.trailing_zeros()
}

pub(super) fn broadcast(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let (Family { parent, children }, data) = (binomial(n, me), || parts.data.clone());
    let received = parent.map(|parent| Move::receive(step(n, me), parent, data()));
    received.into_iter().chain(children.into_iter().map(|child| Move::send(step(n, child), child, data()))).collect()
}

/// The broadcast backwards: the nearest children send first.
pub(super) fn reduce(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let (Family { parent, children }, data) = (binomial(n, me), || parts.data.clone());
    let last = n.next_power_of_two().trailing_zeros() - 1;
    let received = children.into_iter().rev().map(|child| Move::add(last - step(n, child), child, data()));
    received.chain(parent.map(|parent| Move::send(last - step(n, me), parent, data()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_trees_reach_all_and_no_rank_passes_on_in_both() {
        for n in 2..70 {
            let families: [Vec<Family>; 2] =
                [(0..n).map(|rank| binary(n, rank)).collect(), (0..n).map(|rank| second(n, rank)).collect()];
            for family in &families {
                assert_eq!(family.iter().filter(|one| one.parent.is_none()).count(), 1, "{n} ranks: one root");
                for (rank, one) in family.iter().enumerate() {
                    assert!(one.children.iter().all(|child| family[*child].parent == Some(rank)), "{n} ranks: {rank}");
                    assert!(one.children.len() <= 2);
                }
                assert_eq!(family.iter().map(|one| one.children.len()).sum::<usize>(), n - 1, "{n} ranks");
            }
            let passes = |rank: usize, tree: usize| families[tree][rank].children.len() == 2;
            assert!((0..n).all(|rank| !(passes(rank, 0) && passes(rank, 1))), "{n} ranks");
        }
    }
}
