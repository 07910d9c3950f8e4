//! Collectives as operations of ranks.
//!
//! A collective is described once, and written rank by rank: every rank can tell its own messages without the others.
//! An algorithm lists what a rank sends and receives in which step, and which bytes of the data that is ([`Move`]). From
//! the bytes follows what waits for what: a send needs what was received into its bytes ([`writers`]).
//!
//! | file | algorithms |
//! |---|---|
//! | [`ring`] | all-reduce, reduce-scatter and all-gather round a ring; broadcast and reduce along it |
//! | [`doubling`] | recursive doubling and halving, also of numbers of ranks that are no power of two |
//! | [`tree`] | the double binary tree of NCCL; binomial broadcast and reduce |
//! | [`exchange`] | all-to-all, direct exchanges, and the barrier |
//! | [`pipeline`] | microbatches from rank to rank |
//! | [`nccl`] | latencies of NCCL's rings and trees |
//!
//! Data of `bytes` has one part for each rank. Parts differ by at most one byte; the first ones are the longer ones.
//! An all-gather and a reduce-scatter count the whole data, of which each rank has or gets a part.

mod doubling;
mod exchange;
pub mod nccl;
mod pipeline;
mod ring;
mod tree;
mod writers;

pub use pipeline::pipeline;

use crate::job::{Job, JobBuilder, Problem, When};
use crate::op::Op;
use backwater_types::{BitsPerSec, Duration};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use writers::Writers;

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Every rank gets the sum of all data.
    AllReduce,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Every rank gets the parts of all.
    AllGather,
    /// Every rank gets the data of the first.
    Broadcast,
    /// The first rank gets the sum.
    Reduce,
    /// Every rank gets a part of the data of each other.
    AllToAll,
    /// No rank goes on before all have come.
    Barrier,
}

/// How it does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Parts go round from rank to rank. Of a broadcast and a reduce: the data goes along a chain.
    Ring,
    /// Two rings in opposite directions, each with half of the data.
    BidirectionalRing,
    /// All data is exchanged with ranks at distance 1, 2, 4, ...
    RecursiveDoubling,
    /// Halves, quarters, ... are exchanged with ranks at distance 1, 2, 4, ..., and gathered the same way back.
    HalvingDoubling,
    /// Two binary trees, each with half of the data, in which no rank passes on in both.
    DoubleBinaryTree,
    /// A binomial tree. A rank sends to one after another: to the next when the one before has acknowledged all.
    Binomial,
    /// Every rank sends to each other at once.
    Direct,
    /// Every rank exchanges with one other after another.
    Pairwise,
}

/// A collective of a group of ranks.
#[derive(Clone, Copy, Debug)]
pub struct Collective<'a> {
    /// What it does.
    pub kind: Kind,
    /// How.
    pub algorithm: Algorithm,
    /// Ranks of the group, in the order of the algorithm.
    pub ranks: &'a [u32],
    /// Size of the data.
    pub bytes: u64,
    /// Channels, each with its share of the data and its own run of the algorithm.
    pub channels: u16,
    /// Pieces of the data of a channel, each with its own run of the algorithm, one behind another.
    pub chunks: u32,
    /// How many messages a rank sends to another in one channel ahead of the acknowledgement of the first; `None`: all.
    pub slots: Option<u32>,
    /// Time that a rank needs before its first step, such as that of a kernel's launch.
    pub launch: Duration,
    /// Time that a rank computes before each send; before an all-to-all, once.
    pub compute: Duration,
    /// Rate at which a rank adds data that it receives to its own; `None`: at once.
    pub reduce_rate: Option<BitsPerSec>,
}

/// Stream of computations of a collective.
const COMPUTING: u8 = 0;
/// Stream of its sends. A send that is ready does not wait behind a computation.
const SENDING: u8 = 1;

/// What a rank sends or receives in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// Step of the algorithm, which is the same at sender and receiver.
    step: u32,
    /// The other rank, by its place in the group.
    peer: usize,
    /// Bytes of the data.
    bytes: Range<u64>,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Send,
    /// Receives what replaces the rank's own bytes.
    Receive,
    /// Receives what is added to the rank's own bytes.
    Add,
}

impl Move {
    fn send(step: u32, peer: usize, bytes: Range<u64>) -> Move {
        Move { step, peer, bytes, way: Way::Send }
    }

    fn receive(step: u32, peer: usize, bytes: Range<u64>) -> Move {
        Move { step, peer, bytes, way: Way::Receive }
    }

    fn add(step: u32, peer: usize, bytes: Range<u64>) -> Move {
        Move { step, peer, bytes, way: Way::Add }
    }
}

/// Data that is divided into one part for each rank.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    data: Range<u64>,
    n: u64,
}

impl Parts {
    /// Bytes of part `part`.
    fn part(&self, part: usize) -> Range<u64> {
        self.at(part as u64)..self.at(part as u64 + 1)
    }

    /// Bytes of several parts in turn.
    fn parts(&self, parts: Range<usize>) -> Range<u64> {
        self.at(parts.start as u64)..self.at(parts.end as u64)
    }

    fn at(&self, part: u64) -> u64 {
        let bytes = self.data.end - self.data.start;
        self.data.start + bytes / self.n * part + part.min(bytes % self.n)
    }
}

/// Why there is no such collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{algorithm:?} is no algorithm of {kind:?}: expected one of {}", expected(*kind))]
pub struct NoSuchAlgorithm {
    /// What the collective does.
    pub kind: Kind,
    /// The algorithm that does not do that.
    pub algorithm: Algorithm,
}

fn expected(kind: Kind) -> String {
    algorithms(kind).iter().map(|algorithm| format!("{algorithm:?}")).collect::<Vec<_>>().join(", ")
}

/// Lists the algorithms of a kind of collective.
pub fn algorithms(kind: Kind) -> &'static [Algorithm] {
    use Algorithm::{
        BidirectionalRing, Binomial, Direct, DoubleBinaryTree, HalvingDoubling, Pairwise, RecursiveDoubling, Ring,
    };
    match kind {
        Kind::AllReduce => &[Ring, BidirectionalRing, RecursiveDoubling, HalvingDoubling, DoubleBinaryTree, Direct],
        Kind::ReduceScatter => &[Ring, BidirectionalRing, HalvingDoubling, Direct],
        Kind::AllGather => &[Ring, BidirectionalRing, RecursiveDoubling, Direct],
        Kind::Broadcast | Kind::Reduce => &[Binomial, Ring],
        Kind::AllToAll => &[Direct, Pairwise, Ring],
        Kind::Barrier => &[RecursiveDoubling],
    }
}

impl Collective<'_> {
    /// Makes a collective of one channel and one chunk, without computation.
    pub fn new(kind: Kind, algorithm: Algorithm, ranks: &[u32], bytes: u64) -> Collective<'_> {
        let (launch, compute, slots, reduce_rate) = (Duration::ZERO, Duration::ZERO, None, None);
        Collective { kind, algorithm, ranks, bytes, channels: 1, chunks: 1, slots, launch, compute, reduce_rate }
    }

    /// Checks that the algorithm can do this.
    ///
    /// # Errors
    /// Which algorithms can.
    pub fn check(&self) -> Result<(), NoSuchAlgorithm> {
        let Collective { kind, algorithm, .. } = *self;
        if algorithms(kind).contains(&algorithm) { Ok(()) } else { Err(NoSuchAlgorithm { kind, algorithm }) }
    }

    /// Makes a job of this collective alone, whose ranks are those of the group. With `by_steps`, each step is a phase.
    ///
    /// # Errors
    /// If there are too many ranks or operations.
    ///
    /// # Panics
    /// If the algorithm cannot do this, or the group is not of ranks 0 to n - 1 in turn.
    pub fn job(&self, by_steps: bool) -> Result<Job, Problem> {
        assert!((0..).zip(self.ranks).all(|(place, rank)| place == *rank), "the group is of all ranks in turn");
        let mut builder = JobBuilder::default();
        let mut phases = Vec::new();
        for me in 0..self.ranks.len() {
            let mut phase = |builder: &mut JobBuilder, step: u32| {
                while by_steps && phases.len() <= step as usize {
                    phases.push(builder.phase(format!("step {}", phases.len() + 1), 0));
                }
                if by_steps { phases[step as usize] } else { 0 }
            };
            self.add(&mut builder, me, &[], 0, &mut phase);
            builder.end_rank()?;
        }
        builder.finish()
    }

    /// Number of steps.
    pub fn steps(&self) -> u32 {
        (0..self.ranks.len())
            .flat_map(|me| self.moves(me, 0..self.bytes, false))
            .map(|one| one.step + 1)
            .max()
            .unwrap_or(0)
    }

    /// Upper limit of the tags that the collective takes from the one that it is given.
    pub fn tags(&self) -> u32 {
        // No algorithm has more steps than the ring of an all-reduce or the exchange of an all-to-all.
        self.runs() as u32 * self.most_steps()
    }

    fn most_steps(&self) -> u32 {
        2 * self.ranks.len() as u32 + 2
    }

    /// Runs of the algorithm: directions, channels and chunks.
    fn runs(&self) -> u64 {
        self.directions() * u64::from(self.channels) * u64::from(self.chunks)
    }

    fn directions(&self) -> u64 {
        if self.algorithm == Algorithm::BidirectionalRing { 2 } else { 1 }
    }

    /// Returns which bytes of the data of the rank in place `me` a message has, and whether they are added to what is
    /// there. `tag` is that of the message, counted from the first tag of the collective.
    pub fn bytes_of(&self, me: usize, peer: usize, tag: u32, sent: bool) -> Option<(Range<u64>, bool)> {
        let (run, step) = (u64::from(tag / self.most_steps()), tag % self.most_steps());
        let data = Parts { data: 0..self.bytes, n: self.runs() }.part(run as usize);
        let moves = self.moves(me, data, run % self.directions() == 1);
        let found = moves.into_iter().find(|one| (one.step, one.peer, one.way == Way::Send) == (step, peer, sent))?;
        Some((found.bytes, found.way == Way::Add))
    }

    /// Returns the part of the data that a byte is in.
    pub fn part_of(&self, byte: u64) -> usize {
        let runs = Parts { data: 0..self.bytes, n: self.runs() };
        let within = |parts: &Parts, part: &usize| parts.part(*part).contains(&byte);
        let run = (0..self.runs() as usize).find(|run| within(&runs, run)).expect("a byte of the data");
        let parts = Parts { data: runs.part(run), n: self.ranks.len() as u64 };
        (0..self.ranks.len()).find(|part| within(&parts, part)).expect("a byte of the run")
    }

    /// Adds the operations of the rank in place `me` of the group to the current rank of a job. They wait for the
    /// operations in `after`. Messages have tags from `tag` on. `phase` tells the phase of a step.
    ///
    /// Returns the operations that end the collective at this rank.
    ///
    /// # Panics
    /// If the algorithm cannot do this.
    pub fn add(
        &self,
        builder: &mut JobBuilder,
        me: usize,
        after: &[u32],
        tag: u32,
        phase: &mut dyn FnMut(&mut JobBuilder, u32) -> u32,
    ) -> Vec<u32> {
        self.check().expect("the algorithm was checked");
        let launched;
        let mut after = after;
        if self.launch > Duration::ZERO {
            let phase = phase(builder, 0);
            launched = [builder.op_after(Op::calc(self.launch).on(COMPUTING).of(phase), after)];
            after = &launched;
        }
        let mut ends = Vec::new();
        let runs = Parts { data: 0..self.bytes, n: self.runs() };
        let mut connections = HashMap::new();
        for run in 0..self.runs() {
            let reversed = run % self.directions() == 1;
            let channel = run / u64::from(self.chunks);
            let moves = self.moves(me, runs.part(run as usize), reversed);
            let tag = tag + run as u32 * self.most_steps();
            let mut lowering = Lowering { builder, of: self, after, tag, channel, connections: &mut connections };
            lowering.add(moves, &mut ends, phase);
        }
        ends
    }

    /// Lists what the rank in place `me` sends and receives of `data`.
    fn moves(&self, me: usize, data: Range<u64>, reversed: bool) -> Vec<Move> {
        use Algorithm::{
            BidirectionalRing, Binomial, Direct, DoubleBinaryTree, HalvingDoubling, Pairwise, RecursiveDoubling, Ring,
        };
        let n = self.ranks.len();
        if n < 2 {
            return Vec::new();
        }
        let parts = Parts { data, n: n as u64 };
        match (self.kind, self.algorithm) {
            (Kind::AllReduce, Ring | BidirectionalRing) => ring::all_reduce(n, me, &parts, reversed),
            (Kind::ReduceScatter, Ring | BidirectionalRing) => ring::reduce_scatter(n, me, &parts, reversed),
            (Kind::AllGather, Ring | BidirectionalRing) => ring::all_gather(n, me, &parts, reversed),
            (Kind::Broadcast, Ring) => ring::broadcast(n, me, &parts),
            (Kind::Reduce, Ring) => ring::reduce(n, me, &parts),
            (Kind::AllReduce, RecursiveDoubling) => doubling::all_reduce(n, me, &parts),
            (Kind::AllReduce, HalvingDoubling) => doubling::halving_doubling(n, me, &parts),
            (Kind::ReduceScatter, HalvingDoubling) => doubling::reduce_scatter(n, me, &parts),
            (Kind::AllGather, RecursiveDoubling) => doubling::all_gather(n, me, &parts),
            (Kind::AllReduce, DoubleBinaryTree) => tree::all_reduce(n, me, &parts),
            (Kind::Broadcast, Binomial) => tree::broadcast(n, me, &parts),
            (Kind::Reduce, Binomial) => tree::reduce(n, me, &parts),
            (Kind::AllReduce, Direct) => exchange::all_reduce(n, me, &parts),
            (Kind::ReduceScatter, Direct) => exchange::reduce_scatter(n, me, &parts),
            (Kind::AllGather, Direct) => exchange::all_gather(n, me, &parts),
            (Kind::AllToAll, Direct | Pairwise) => exchange::all_to_all(n, me, &parts),
            (Kind::AllToAll, Ring) => exchange::round(n, me, &parts),
            (Kind::Barrier, RecursiveDoubling) => exchange::barrier(n, me),
            _ => Vec::new(),
        }
    }

    /// Whether a step waits for what was received in the step before, whatever its bytes.
    fn is_sequential(&self) -> bool {
        self.kind == Kind::Barrier || self.kind == Kind::AllToAll && self.algorithm != Algorithm::Direct
    }
}

/// Writes one run of an algorithm at one rank.
struct Lowering<'a, 'b> {
    builder: &'a mut JobBuilder,
    of: &'a Collective<'b>,
    after: &'a [u32],
    tag: u32,
    channel: u64,
    /// `(channel, peer)`: the last sends, at most as many as there are slots.
    connections: &'a mut HashMap<(u64, usize), VecDeque<u32>>,
}

impl Lowering<'_, '_> {
    fn add(&mut self, moves: Vec<Move>, ends: &mut Vec<u32>, phase: &mut dyn FnMut(&mut JobBuilder, u32) -> u32) {
        let (mut writers, mut waits) = (Writers::default(), Vec::new());
        // What was received last, and sent last: step and operation.
        let (mut last, mut sent): (Option<(u32, u32)>, Option<u32>) = (None, None);
        let receives = moves.iter().any(|one| one.way != Way::Send);
        let exchange = self.of.kind == Kind::AllToAll && self.of.algorithm == Algorithm::Direct;
        let mut before_all = None;
        for Move { step, peer, bytes, way } in moves {
            let phase = phase(self.builder, step);
            let (rank, tag) = (self.of.ranks[peer], self.tag + step);
            if way != Way::Send {
                let received = self.builder.op_after(Op::recv(rank, tag).of(phase), self.after);
                let received = self.reduced(received, way, bytes.end - bytes.start, phase);
                writers.write(bytes, received, way == Way::Add);
                last = Some((step, received));
                ends.push(received);
                continue;
            }
            waits.clear();
            writers.of(&bytes, &mut waits);
            if self.of.is_sequential()
                && let Some((_, received)) = last.filter(|(before, _)| *before < step)
            {
                // The send before has waited for all that was received before.
                waits.extend([received].into_iter().chain(sent));
            }
            if self.of.algorithm == Algorithm::Binomial {
                waits.extend(sent);
            }
            if waits.is_empty() {
                waits.extend_from_slice(self.after);
            }
            if self.of.compute > Duration::ZERO {
                let calc = before_all.filter(|_| exchange).unwrap_or_else(|| {
                    self.builder.op_after(Op::calc(self.of.compute).on(COMPUTING).of(phase), &waits)
                });
                before_all = Some(calc);
                waits.clear();
                waits.push(calc);
            }
            let acknowledged = self.of.algorithm == Algorithm::Binomial;
            let op = Op::send(rank, bytes.end - bytes.start, tag).on(SENDING).of(phase);
            let send = self.send(Op { acknowledged, ..op }, &waits, peer);
            // A send that waits for a slot holds up those behind it.
            if let Some(sent) = sent.filter(|_| self.of.slots.is_some()) {
                self.builder.after(sent, send, When::Started);
            }
            sent = Some(send);
            if !receives {
                ends.push(send);
            }
        }
    }

    /// Adds the addition of what was received, if it takes time.
    fn reduced(&mut self, received: u32, way: Way, bytes: u64, phase: u32) -> u32 {
        let Some(rate) = self.of.reduce_rate.filter(|_| way == Way::Add) else { return received };
        let time = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(rate.0)) as u64;
        self.builder.op_after(Op::calc(Duration(time)).on(COMPUTING).of(phase), &[received])
    }

    /// Adds a send, which waits for a slot of its connection.
    fn send(&mut self, op: Op, waits: &[u32], peer: usize) -> u32 {
        let Some(slots) = self.of.slots else { return self.builder.op_after(op, waits) };
        let send = self.builder.op_after(Op { acknowledged: true, ..op }, waits);
        let sent = self.connections.entry((self.channel, peer)).or_default();
        if sent.len() == slots as usize
            && let Some(first) = sent.pop_front()
        {
            self.builder.after(first, send, When::Ended);
        }
        sent.push_back(send);
        send
    }
}
