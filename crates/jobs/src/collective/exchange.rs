//! Exchanges of every rank with each other, and the barrier.

use super::{Move, Parts};

/// Distances from this rank, nearest first, with the ranks there ahead and behind.
fn others(n: usize, me: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (1..n).map(move |distance| (distance, (me + distance) % n, (me + n - distance) % n))
}

/// Every rank sends part p of its data to rank p. In step k it sends to the rank k + 1 ahead.
pub(super) fn all_to_all(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    // What is received goes elsewhere than to the data that is sent, behind its end.
    let end = parts.data.end;
    others(n, me)
        .flat_map(|(distance, ahead, behind)| {
            let (step, received) = (distance as u32 - 1, parts.part(me));
            let received = end + received.start..end + received.end;
            [Move::send(step, ahead, parts.part(ahead)), Move::receive(step, behind, received)]
        })
        .collect()
}

/// Parts go round to their ranks: in step k a rank passes on those that have still to go k + 1 and more further.
pub(super) fn round(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    let (next, before) = ((me + 1) % n, (me + n - 1) % n);
    // In step k a rank sends what began k ranks behind it.
    let bytes = |step: usize, from: usize| {
        let origin = (from + n - step) % n;
        let size: u64 =
            (step + 1..n).map(|distance| parts.part((origin + distance) % n)).map(|p| p.end - p.start).sum();
        let start = parts.data.end * (step as u64 + 1);
        start..start + size
    };
    (0..n - 1)
        .flat_map(|step| {
            let sent = bytes(step, me);
            [Move::send(step as u32, next, sent), Move::receive(step as u32, before, bytes(step, before))]
        })
        .collect()
}

/// Every rank sends each other its part, which that one adds.
pub(super) fn reduce_scatter(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    others(n, me)
        .flat_map(|(_, ahead, behind)| [Move::send(0, ahead, parts.part(ahead)), Move::add(0, behind, parts.part(me))])
        .collect()
}

/// Every rank sends its part to each other.
pub(super) fn all_gather(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    gather(n, me, parts, 0)
}

fn gather(n: usize, me: usize, parts: &Parts, step: u32) -> Vec<Move> {
    others(n, me)
        .flat_map(|(_, ahead, behind)| {
            [Move::send(step, ahead, parts.part(me)), Move::receive(step, behind, parts.part(behind))]
        })
        .collect()
}

/// A direct reduce-scatter, and then a direct all-gather.
pub(super) fn all_reduce(n: usize, me: usize, parts: &Parts) -> Vec<Move> {
    [reduce_scatter(n, me, parts), gather(n, me, parts, 1)].concat()
}

/// Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", IJPP 1988. In step k a rank tells
/// the one 2^k ahead, by a message of one byte, that it and all up to 2^k behind it have come.
pub(super) fn barrier(n: usize, me: usize) -> Vec<Move> {
    (0..n.next_power_of_two().trailing_zeros())
        .flat_map(|step| {
            let distance = 1 << step;
            [Move::send(step, (me + distance) % n, 0..1), Move::receive(step, (me + n - distance) % n, 0..1)]
        })
        .collect()
}
