//! Collectives: every rank ends with the right data, in the time of the closed forms.

mod toy;

use backwater_jobs::collective::{Algorithm, Collective, Kind, algorithms};
use backwater_jobs::{Job, JobBuilder, Machine, Op, Work};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, Duration, Instant};
use std::collections::BTreeMap;
use std::ops::Range;

const KINDS: [Kind; 7] = [
    Kind::AllReduce,
    Kind::ReduceScatter,
    Kind::AllGather,
    Kind::Broadcast,
    Kind::Reduce,
    Kind::AllToAll,
    Kind::Barrier,
];

fn job(of: &Collective) -> Job {
    of.job(false).expect("each send has a receive, and no cycle")
}

/// How often the data of each rank is in a byte, `[rank]`.
type Sum = Vec<u32>;

/// Data of a rank: its bytes, and behind them what an all-to-all receives.
fn data(kind: Kind, n: usize, rank: usize, bytes: usize) -> Vec<Sum> {
    let own = |there: bool| (0..n).map(|other| u32::from(there && other == rank)).collect();
    (0..2 * bytes).map(|byte| own(byte < bytes && (kind != Kind::Broadcast || rank == 0))).collect()
}

/// Replays what ranks sent and received, in order of time. What is received is kept beside the data until an operation
/// that stands behind the receive needs it: ranks of an exchange send what they had before it.
fn replay(machine: &Machine, held: &mut [Vec<Sum>], of: &Collective) {
    let (placed, trace) = (machine.placed(), machine.traced().expect("traced"));
    let mut events = Vec::new();
    for rank in 0..placed.job().ranks() {
        for op in 0..placed.job().len(rank) {
            let entry = trace.entry(placed, 0, rank, op);
            assert_ne!(entry.ended, Instant::NEVER, "{of:?}: rank {rank} ends");
            match placed.job().op(rank, op).work {
                Work::Send { .. } => events.push((entry.message, 1, rank, op, (0, 0))),
                Work::Recv { .. } => events.push((entry.message, 0, rank, op, entry.sender)),
                Work::Calc(_) => {}
            }
        }
    }
    events.sort_unstable();
    let mut sent = BTreeMap::new();
    // `[rank]`: what was received, by operation.
    let mut beside = vec![BTreeMap::<u32, (Range<u64>, bool, Vec<Sum>)>::new(); held.len()];
    let apply = |here: &mut Vec<Sum>, (bytes, adds, message): (Range<u64>, bool, Vec<Sum>)| {
        for (byte, came) in bytes.zip(message) {
            let byte = &mut here[byte as usize];
            match adds {
                true => byte.iter_mut().zip(came).for_each(|(own, other)| *own += other),
                false => *byte = came,
            }
        }
    };
    for (_, received, rank, op, sender) in events {
        let (step, peer) = match placed.job().op(rank, op).work {
            Work::Send { to, tag, .. } => (tag, to),
            Work::Recv { from, tag } => (tag, from),
            Work::Calc(_) => unreachable!("left out"),
        };
        let (bytes, adds) =
            of.bytes_of(rank as usize, peer as usize, step, received == 1).expect("a move of the algorithm");
        let (here, beside) = (&mut held[rank as usize], &mut beside[rank as usize]);
        if received == 1 {
            let overlaps = |other: &Range<u64>| other.start < bytes.end && bytes.start < other.end;
            let needed: Vec<u32> =
                beside.range(..op).filter(|(_, (other, ..))| overlaps(other)).map(|(op, _)| *op).collect();
            needed.iter().filter_map(|op| beside.remove(op)).for_each(|one| apply(here, one));
            sent.insert((rank, op), here[bytes.start as usize..bytes.end as usize].to_vec());
            continue;
        }
        let message: Vec<Sum> = sent.remove(&sender).expect("it was sent before");
        assert_eq!(message.len() as u64, bytes.end - bytes.start);
        beside.insert(op, (bytes, adds, message));
    }
    for (here, beside) in held.iter_mut().zip(beside) {
        beside.into_values().for_each(|one| apply(here, one));
    }
}

/// Whatever the network does, every rank ends with the data that it is to have.
#[test]
fn every_rank_ends_with_its_data() {
    for kind in KINDS {
        for algorithm in algorithms(kind) {
            for n in [2, 3, 4, 5, 6, 7, 8, 9, 16, 17] {
                for (channels, chunks, slots) in [(1, 1, None), (2, 3, Some(2))] {
                    let bytes = 53;
                    let ranks: Vec<u32> = (0..n as u32).collect();
                    let mut of =
                        Collective { channels, chunks, slots, ..Collective::new(kind, *algorithm, &ranks, bytes) };
                    if chunks > 1 {
                        (of.compute, of.reduce_rate) = (Duration(700), Some(BitsPerSec(8_000_000_000)));
                    }
                    let mut rng = Stream::new(n as u64, 1, *algorithm as u64);
                    let delay = |_| Duration(1 + u64::from(rng.next_u32()));
                    let (machine, _) = toy::run(job(&of), toy::placement(n as u32), delay);
                    // Data of a barrier and of what goes round has no place of its own.
                    if kind == Kind::Barrier || (kind, *algorithm) == (Kind::AllToAll, Algorithm::Ring) {
                        continue;
                    }
                    let mut held: Vec<_> = (0..n).map(|rank| data(kind, n, rank, bytes as usize)).collect();
                    replay(&machine, &mut held, &of);
                    check(kind, &of, &held);
                }
            }
        }
    }
}

fn check(kind: Kind, of: &Collective, held: &[Vec<Sum>]) {
    let n = held.len();
    let all: Sum = vec![1; n];
    let only = |rank: usize| (0..n).map(|other| u32::from(other == rank)).collect::<Sum>();
    for (rank, own) in held.iter().enumerate() {
        for (byte, own) in own[..of.bytes as usize].iter().enumerate() {
            let part = of.part_of(byte as u64);
            let expected = match kind {
                Kind::AllReduce => all.clone(),
                Kind::ReduceScatter if part == rank => all.clone(),
                Kind::Reduce if rank == 0 => all.clone(),
                Kind::AllGather => only(part),
                Kind::Broadcast => only(0),
                _ => continue,
            };
            assert_eq!(*own, expected, "{of:?}: byte {byte} of rank {rank}");
        }
        // What several runs receive has no place of its own.
        if kind == Kind::AllToAll && of.chunks == 1 {
            let received = own[of.bytes as usize..].iter().filter(|byte| byte.iter().sum::<u32>() == 1).count();
            let own = (0..of.bytes).filter(|byte| of.part_of(*byte) == rank).count();
            assert_eq!(received, own, "{of:?}: rank {rank} receives its part");
        }
    }
}

/// No rank leaves a barrier before all have come.
#[test]
fn a_barrier_waits_for_all() {
    for n in 2..20_u32 {
        let ranks: Vec<u32> = (0..n).collect();
        let of = Collective::new(Kind::Barrier, Algorithm::RecursiveDoubling, &ranks, 1);
        let (mut builder, mut rng) = (JobBuilder::default(), Stream::new(n.into(), 1, 1));
        let mut latest = Instant::ZERO;
        let mut ends = Vec::new();
        for me in 0..n as usize {
            let comes = Duration(u64::from(rng.next_u32()));
            latest = latest.max(Instant::ZERO + comes);
            let first = builder.op(Op::calc(comes));
            ends.push(of.add(&mut builder, me, &[first], 0, &mut |_, _| 0));
            builder.end_rank().expect("no cycle");
        }
        let delay = |_| Duration(1 + u64::from(rng.next_u32() % 1000));
        let (machine, _) = toy::run(builder.finish().expect("matched"), toy::placement(n), delay);
        for (rank, ends) in (0..).zip(&ends) {
            let entry = |op: &u32| machine.traced().expect("traced").entry(machine.placed(), 0, rank, *op).ended;
            assert!(ends.iter().map(entry).max() >= Some(latest), "{n} ranks: rank {rank} leaves too early");
        }
    }
}

/// Closed forms on a network in which a message of b bytes takes alpha + b beta.
#[test]
fn collectives_take_their_closed_forms() {
    let (alpha, beta) = (1_000_000_u64, 80_u64);
    let time = |kind, algorithm, n: u64, bytes| {
        let ranks: Vec<u32> = (0..n as u32).collect();
        let of = Collective::new(kind, algorithm, &ranks, bytes);
        toy::run(job(&of), toy::placement(n as u32), |bytes| Duration(alpha + bytes * beta)).1.0
    };
    for n in [2_u64, 3, 5, 8, 16] {
        let part = 1000;
        let (s, rounds) = (part * n, u64::from(n.next_power_of_two().trailing_zeros()));
        assert_eq!(time(Kind::AllReduce, Algorithm::Ring, n, s), 2 * (n - 1) * (alpha + part * beta));
        assert_eq!(time(Kind::ReduceScatter, Algorithm::Ring, n, s), (n - 1) * (alpha + part * beta));
        assert_eq!(time(Kind::AllGather, Algorithm::Ring, n, s), (n - 1) * (alpha + part * beta));
        let ranks: Vec<u32> = (0..n as u32).collect();
        let launched =
            Collective { launch: Duration(5), ..Collective::new(Kind::AllReduce, Algorithm::Ring, &ranks, s) };
        let (_, end) = toy::run(job(&launched), toy::placement(n as u32), |bytes| Duration(alpha + bytes * beta));
        assert_eq!(end.0, 5 + 2 * (n - 1) * (alpha + part * beta));
        // Each direction has half of the data.
        assert_eq!(time(Kind::AllReduce, Algorithm::BidirectionalRing, n, 2 * s), 2 * (n - 1) * (alpha + part * beta));
        assert_eq!(time(Kind::AllToAll, Algorithm::Direct, n, s), alpha + part * beta);
        assert_eq!(time(Kind::AllToAll, Algorithm::Pairwise, n, s), (n - 1) * (alpha + part * beta));
        let round: u64 = (1..n).map(|hops| alpha + (n - hops) * part * beta).sum();
        assert_eq!(time(Kind::AllToAll, Algorithm::Ring, n, s), round);
        assert_eq!(time(Kind::AllReduce, Algorithm::Direct, n, s), 2 * (alpha + part * beta));
        assert_eq!(time(Kind::Broadcast, Algorithm::Binomial, n, s), rounds * (alpha + s * beta));
        assert_eq!(time(Kind::Barrier, Algorithm::RecursiveDoubling, n, 1), rounds * (alpha + beta));
        if n.is_power_of_two() {
            assert_eq!(time(Kind::Reduce, Algorithm::Binomial, n, s), rounds * (alpha + s * beta));
            assert_eq!(time(Kind::AllReduce, Algorithm::RecursiveDoubling, n, s), rounds * (alpha + s * beta));
            let halves = 2 * rounds * alpha + 2 * (n - 1) * part * beta;
            assert_eq!(time(Kind::AllReduce, Algorithm::HalvingDoubling, n, s), halves);
        }
    }
}

/// Bytes that a rank sends in all: 2 (n - 1)/n S for every all-reduce that moves no byte twice.
#[test]
fn ranks_send_what_the_textbook_says() {
    for n in [2_u64, 4, 8, 16] {
        let ranks: Vec<u32> = (0..n as u32).collect();
        for (algorithm, each) in [
            (Algorithm::Ring, 2 * (n - 1) * 1000),
            (Algorithm::BidirectionalRing, 2 * (n - 1) * 1000),
            (Algorithm::HalvingDoubling, 2 * (n - 1) * 1000),
            (Algorithm::Direct, 2 * (n - 1) * 1000),
            (Algorithm::RecursiveDoubling, u64::from(n.ilog2()) * n * 1000),
        ] {
            let job = job(&Collective::new(Kind::AllReduce, algorithm, &ranks, n * 1000));
            for rank in 0..n as u32 {
                let sent = (0..job.len(rank)).map(|op| match job.op(rank, op).work {
                    Work::Send { bytes, .. } => bytes,
                    _ => 0,
                });
                assert_eq!(sent.sum::<u64>(), each, "{algorithm:?}, {n} ranks, rank {rank}");
            }
        }
        // Over both trees a rank sends its sum up in each, and passes on to as many as there are others.
        let job = job(&Collective::new(Kind::AllReduce, Algorithm::DoubleBinaryTree, &ranks, n * 1000));
        let sent = (0..n as u32).flat_map(|rank| (0..job.len(rank)).map(move |op| (rank, op)));
        let sent = sent.map(|(rank, op)| match job.op(rank, op).work {
            Work::Send { bytes, .. } => bytes,
            _ => 0,
        });
        assert_eq!(sent.sum::<u64>(), 2 * (n - 1) * n * 1000, "{n} ranks");
    }
}
