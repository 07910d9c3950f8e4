//! A job as tables: the operations of all ranks, and what waits for each.
//!
//! Operations of a rank are numbered from 0 in the order in which they were added. A dependency is kept at its cause:
//! an operation that starts or ends looks up who waits for that.
//!
//! The tables of a long trace lie in a file ([`Paged`]). Ranks work through them nearly in order, so few of their pages are
//! in memory.

use crate::check;
use crate::op::{ANY, Op, Work};
use backwater_paged::{Paged, ROWS_MAX, Record};
use backwater_types::Duration;
use std::fmt;

/// Most ranks of a job.
pub const RANKS_MAX: u32 = 1 << 20;
/// Most operations of one rank.
pub const OPS_MAX: u32 = 1 << 30;
/// Most operations of a job that is made from a description: about two gigabytes.
pub const MADE_MAX: u64 = 50_000_000;

/// A job whose dependencies have no cycle and whose sends have receives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Operations, rank by rank; each rank is followed by an entry that only ends its list of edges.
    nodes: Paged<Node>,
    /// Edges from cause to effect, rank by rank.
    edges: Paged<Edge>,
    /// Operations that require no other, rank by rank.
    roots: Paged<u32>,
    /// `[rank]`: where its operations, edges and roots start; one more entry ends the last rank.
    starts: Vec<Starts>,
    /// Phases, which answers are given for.
    pub phases: Vec<Phase>,
    iterations: u32,
}

/// A part of a job that answers are given for, such as one all-reduce or one step of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Name, such as `all-reduce` or `forward 3`.
    pub name: String,
    /// Iteration of the job that the phase belongs to, from 0.
    pub iteration: u32,
}

/// An operation in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Picoseconds of a computation, bytes of a send.
    value: u64,
    peer: u32,
    tag: u32,
    /// Number of operations that it waits for.
    unmet: u32,
    /// First edge, counted from the rank's first.
    edges: u32,
    phase: u32,
    kind: Kind,
    stream: u8,
    nic: u8,
    acknowledged: bool,
}

const _: () = assert!(size_of::<Node>() == 32, "two to a cache line");

impl Record for Node {
    const BYTES: usize = size_of::<Node>();

    fn write(self, into: &mut [u8]) {
        let Node { value, peer, tag, unmet, edges, phase, kind, stream, nic, acknowledged } = self;
        let (words, bytes) = into.split_at_mut(28);
        value.write(&mut words[..8]);
        let fields = [peer, tag, unmet, edges, phase];
        words[8..].chunks_exact_mut(4).zip(fields).for_each(|(word, field)| field.write(word));
        bytes.copy_from_slice(&[kind as u8, stream, nic, acknowledged as u8]);
    }

    fn read(from: &[u8]) -> Node {
        let (words, bytes) = from.split_at(28);
        let word = |field: usize| u32::read(&words[8 + 4 * field..][..4]);
        Node {
            value: u64::read(&words[..8]),
            peer: word(0),
            tag: word(1),
            unmet: word(2),
            edges: word(3),
            phase: word(4),
            kind: [Kind::Calc, Kind::Send, Kind::Recv][bytes[0] as usize],
            stream: bytes[1],
            nic: bytes[2],
            acknowledged: bytes[3] != 0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    #[default]
    Calc,
    Send,
    Recv,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Starts {
    nodes: usize,
    edges: usize,
    roots: usize,
}

/// A dependency: what waits, and for which of the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge(u32);

/// When an operation that others wait for lets them start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When it starts: GOAL's `irequires`.
    Started,
    /// When it ends: GOAL's `requires`.
    Ended,
}

impl Edge {
    fn new(effect: u32, when: When) -> Edge {
        Edge(effect << 1 | (when == When::Started) as u32)
    }

    /// Returns the operation that waits.
    pub fn effect(self) -> u32 {
        self.0 >> 1
    }

    /// Returns what it waits for.
    pub fn when(self) -> When {
        if self.0 & 1 == 1 { When::Started } else { When::Ended }
    }
}

impl Record for Edge {
    const BYTES: usize = u32::BYTES;

    fn write(self, into: &mut [u8]) {
        self.0.write(into);
    }

    fn read(from: &[u8]) -> Edge {
        Edge(u32::read(from))
    }
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {:?}", self.effect(), self.when())
    }
}

impl Job {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// Puts all operations into one phase without a name.
    pub(crate) fn forget_phases(&mut self) {
        self.nodes.update(|node| Node { phase: 0, ..node });
        (self.phases, self.iterations) = (vec![Phase::default()], 1);
    }

    /// Number of iterations that its phases belong to; at least 1.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// Iteration that an operation of a rank belongs to.
    pub fn iteration(&self, rank: u32, op: u32) -> u32 {
        self.phases[self.node(rank, op).phase as usize].iteration
    }

    /// Number of operations of a rank.
    pub fn len(&self, rank: u32) -> u32 {
        (self.starts[rank as usize + 1].nodes - self.starts[rank as usize].nodes - 1) as u32
    }

    /// Whether no rank has an operation.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == self.ranks() as usize
    }

    /// Number of operations of all ranks.
    pub fn operations(&self) -> u64 {
        (self.nodes.len() - self.ranks() as usize) as u64
    }

    /// Position of an operation among those of all ranks; positions are below [`Job::places`].
    pub fn place(&self, rank: u32, op: u32) -> usize {
        self.starts[rank as usize].nodes + op as usize
    }

    /// Upper limit of [`Job::place`].
    pub fn places(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the same job, of whose tables at most `max` rows lie in memory.
    #[cfg(test)]
    pub(crate) fn with_rows_max(&self, max: usize) -> Job {
        let Job { nodes, edges, roots, .. } = JobBuilder::with_rows_max(max).job;
        let mut job = Job { nodes, edges, roots, ..self.clone() };
        job.nodes.extend(self.nodes.iter());
        job.edges.extend(self.edges.iter());
        job.roots.extend(self.roots.iter());
        job
    }

    /// Most rows of a table of its operations in memory.
    pub(crate) fn rows_max(&self) -> usize {
        self.nodes.max()
    }

    fn nodes_of(&self, rank: u32) -> impl Iterator<Item = Node> {
        let from = self.starts[rank as usize].nodes;
        self.nodes.scan(from..from + self.len(rank) as usize)
    }

    fn node(&self, rank: u32, op: u32) -> Node {
        self.nodes.get(self.place(rank, op))
    }

    /// Returns operation `op` of a rank.
    pub fn op(&self, rank: u32, op: u32) -> Op {
        let Node { value, peer, tag, phase, kind, stream, nic, acknowledged, .. } = self.node(rank, op);
        let work = match kind {
            Kind::Calc => Work::Calc(Duration(value)),
            Kind::Send => Work::Send { to: peer, bytes: value, tag },
            Kind::Recv => Work::Recv { from: peer, tag },
        };
        Op { work, stream, nic, phase, acknowledged }
    }

    /// Receiver and payload of each send of a rank, in the order of their numbers.
    pub fn sends(&self, rank: u32) -> impl Iterator<Item = (u32, u64)> {
        self.nodes_of(rank).filter(|node| node.kind == Kind::Send).map(|node| (node.peer, node.value))
    }

    /// Returns the job with other operations in the place of its own, which wait for the same.
    ///
    /// # Panics
    /// If an operation is replaced by one of another kind or with another peer or tag.
    pub fn with_ops(&self, mut change: impl FnMut(Op) -> Op) -> Job {
        let mut job = self.clone();
        for rank in 0..self.ranks() {
            for number in 0..self.len(rank) {
                let (before, mut node) = (self.op(rank, number), self.node(rank, number));
                let after = change(before);
                node.value = match (before.work, after.work) {
                    (Work::Calc(_), Work::Calc(time)) => time.0,
                    (Work::Send { to, tag, .. }, Work::Send { to: other, bytes, tag: its })
                        if (to, tag) == (other, its) =>
                    {
                        bytes
                    }
                    (Work::Recv { .. }, Work::Recv { .. }) if before.work == after.work => 0,
                    _ => panic!("{before:?} becomes {after:?}"),
                };
                let Op { stream, nic, phase, acknowledged, .. } = after;
                (node.stream, node.nic, node.phase, node.acknowledged) = (stream, nic, phase, acknowledged);
                job.nodes.set(self.place(rank, number), node);
            }
        }
        job
    }

    /// Counts what an operation waits for.
    pub fn unmet(&self, rank: u32, op: u32) -> u32 {
        self.node(rank, op).unmet
    }

    /// Returns what waits for an operation, in the order of their numbers.
    pub fn edges(&self, rank: u32, op: u32) -> impl ExactSizeIterator<Item = Edge> + Clone + use<'_> {
        let first = self.starts[rank as usize].edges;
        let [from, to] = [op, op + 1].map(|op| first + self.node(rank, op).edges as usize);
        self.edges.range(from..to)
    }

    /// Returns the operations of a rank that wait for no other, in the order of their numbers.
    pub fn roots(&self, rank: u32) -> impl ExactSizeIterator<Item = u32> + use<'_> {
        let [from, to] = [rank, rank + 1].map(|rank| self.starts[rank as usize].roots);
        self.roots.range(from..to)
    }
}

/// Why a job is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Too many ranks.
    #[error("expected at most {RANKS_MAX} ranks")]
    TooManyRanks,
    /// Too many operations.
    #[error("rank {rank}: expected at most {OPS_MAX} operations")]
    TooManyOps {
        /// Rank with too many.
        rank: u32,
    },
    /// A peer that the job does not have.
    #[error("rank {rank}, operation {op}: there is no rank {peer}: expected 0 to {}", .ranks - 1)]
    NoSuchRank {
        /// Rank of the operation.
        rank: u32,
        /// Number of the operation.
        op: u32,
        /// The rank that it names.
        peer: u32,
        /// Number of ranks.
        ranks: u32,
    },
    /// Operations that wait for one another.
    #[error("rank {rank}: operations wait for one another in a cycle: {}", cycle(.ops))]
    Cycle {
        /// Rank of the operations.
        rank: u32,
        /// The operations, each of which waits for the next, and the last for the first.
        ops: Vec<u32>,
    },
    /// A send without a receive, or the reverse.
    #[error("{0}")]
    Unmatched(check::Unmatched),
}

/// Writes a cycle as `1, 2, 1`, or its start if it is long.
fn cycle(ops: &[u32]) -> String {
    let shown = ops.iter().take(8).map(u32::to_string).collect::<Vec<_>>().join(", ");
    match ops.len() > 8 {
        true => format!("{shown}, ... ({} operations)", ops.len()),
        false => format!("{shown}, {}", ops[0]),
    }
}

/// Builds a job rank by rank.
#[derive(Clone, Debug)]
pub struct JobBuilder {
    job: Job,
    /// Operations of the current rank.
    nodes: Vec<Node>,
    /// Dependencies of the current rank: cause and edge.
    edges: Vec<(u32, Edge)>,
}

impl Default for JobBuilder {
    fn default() -> JobBuilder {
        let job =
            Job { starts: vec![Starts::default()], phases: vec![Phase::default()], iterations: 1, ..Job::default() };
        JobBuilder { job, nodes: Vec::new(), edges: Vec::new() }
    }
}

impl JobBuilder {
    /// Builds a job whose operations go to a file when they are many. The default builder keeps them in memory.
    pub fn of_trace() -> JobBuilder {
        JobBuilder::with_rows_max(ROWS_MAX)
    }

    /// Builds a job of whose tables at most `max` rows lie in memory.
    pub(crate) fn with_rows_max(max: usize) -> JobBuilder {
        let mut builder = JobBuilder::default();
        let Job { nodes, edges, roots, .. } = &mut builder.job;
        (*nodes, *edges, *roots) = (Paged::new(max), Paged::new(max), Paged::new(max));
        builder
    }

    /// Adds a phase and returns its number. Phase 0 is there from the start and has no name.
    pub fn phase(&mut self, name: impl Into<String>, iteration: u32) -> u32 {
        self.job.phases.push(Phase { name: name.into(), iteration });
        self.job.iterations = self.job.iterations.max(iteration + 1);
        self.job.phases.len() as u32 - 1
    }

    /// Number of the current rank.
    pub fn rank(&self) -> u32 {
        self.job.ranks()
    }

    /// Number of operations of the current rank so far.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Whether the current rank has no operation yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an operation to the current rank and returns its number.
    pub fn op(&mut self, op: Op) -> u32 {
        let number = self.len();
        let (kind, value, peer, tag) = match op.work {
            Work::Calc(time) => (Kind::Calc, time.0, 0, 0),
            Work::Send { to, bytes, tag } => (Kind::Send, bytes, to, tag),
            Work::Recv { from, tag } => (Kind::Recv, 0, from, tag),
        };
        let Op { stream, nic, phase, acknowledged, .. } = op;
        self.nodes.push(Node { value, peer, tag, unmet: 0, edges: 0, phase, kind, stream, nic, acknowledged });
        number
    }

    /// Makes operation `effect` of the current rank wait for operation `cause`.
    ///
    /// # Panics
    /// If the rank has no such operations.
    pub fn after(&mut self, cause: u32, effect: u32, when: When) {
        assert!(cause.max(effect) < self.len(), "both operations are of this rank");
        self.edges.push((cause, Edge::new(effect, when)));
    }

    /// Counts what an operation of a rank that has ended waits for.
    pub fn unmet(&self, rank: u32, op: u32) -> u32 {
        self.job.unmet(rank, op)
    }

    /// Adds an operation that waits until those in `causes` have ended.
    pub fn op_after(&mut self, op: Op, causes: &[u32]) -> u32 {
        let number = self.op(op);
        causes.iter().for_each(|cause| self.after(*cause, number, When::Ended));
        number
    }

    /// Ends the current rank; the next operation belongs to the next rank.
    ///
    /// # Errors
    /// If operations of the rank wait for one another, or are too many.
    pub fn end_rank(&mut self) -> Result<(), Problem> {
        let (rank, len) = (self.rank(), self.len());
        if rank == RANKS_MAX {
            return Err(Problem::TooManyRanks);
        }
        if len > OPS_MAX {
            return Err(Problem::TooManyOps { rank });
        }
        let JobBuilder { job, nodes, edges } = self;
        edges.sort_unstable();
        // An entry after the last operation ends its list of edges.
        nodes.push(Node::default());
        for (cause, edge) in &*edges {
            nodes[*cause as usize + 1].edges += 1;
            nodes[edge.effect() as usize].unmet += 1;
        }
        let mut sum = 0;
        for node in &mut *nodes {
            sum += node.edges;
            node.edges = sum;
        }
        debug_assert_eq!(edges.len(), sum as usize);
        let cycle = find_cycle(&nodes[..len as usize], edges);
        job.roots.extend((0..len).filter(|op| nodes[*op as usize].unmet == 0));
        job.edges.extend_from_slice(&edges.drain(..).map(|(_, edge)| edge).collect::<Vec<_>>());
        job.nodes.extend_from_slice(nodes);
        nodes.clear();
        let Job { nodes, edges, roots, starts, .. } = job;
        starts.push(Starts { nodes: nodes.len(), edges: edges.len(), roots: roots.len() });
        cycle.map_or(Ok(()), |ops| Err(Problem::Cycle { rank, ops }))
    }

    /// Ends the job after its last rank.
    ///
    /// # Errors
    /// If an operation names a rank that there is not, or a send has no receive, or the reverse.
    pub fn finish(self) -> Result<Job, Problem> {
        self.finish_with(|_, problem| problem)
    }

    /// Ends the job after its last rank. A reader says in `explain` where in its file the operations are that a
    /// problem is about.
    ///
    /// # Errors
    /// What `explain` makes of the errors of [`JobBuilder::finish`].
    pub fn finish_with<E>(self, explain: impl FnOnce(&Job, Problem) -> E) -> Result<Job, E> {
        match self.check() {
            Ok(()) => Ok(self.job),
            Err(problem) => Err(explain(&self.job, problem)),
        }
    }

    fn check(&self) -> Result<(), Problem> {
        debug_assert!(self.is_empty(), "the last rank was ended");
        let Job { nodes, .. } = &self.job;
        let ranks = self.job.ranks();
        let wrong = |node: &Node| match node.kind {
            Kind::Calc => false,
            Kind::Send => node.peer >= ranks,
            Kind::Recv => node.peer >= ranks && node.peer != ANY,
        };
        if let Some(place) = nodes.iter().position(|node| wrong(&node)) {
            let rank = self.job.starts.partition_point(|starts| starts.nodes <= place) as u32 - 1;
            let op = (place - self.job.starts[rank as usize].nodes) as u32;
            return Err(Problem::NoSuchRank { rank, op, peer: nodes.get(place).peer, ranks });
        }
        check::matched(ranks, &|see| self.job.messages(see)).map_err(Problem::Unmatched)
    }
}

impl Job {
    /// Calls `see` with source, destination and tag of each send and receive, and whether it is a send.
    fn messages(&self, see: &mut dyn FnMut(u32, u32, u32, bool)) {
        for rank in 0..self.ranks() {
            for Node { kind, peer, tag, .. } in self.nodes_of(rank) {
                match kind {
                    Kind::Send => see(rank, peer, tag, true),
                    Kind::Recv => see(peer, rank, tag, false),
                    Kind::Calc => {}
                }
            }
        }
    }
}

/// Finds operations of a rank that wait for one another. `edges` are its dependencies, by cause.
fn find_cycle(nodes: &[Node], edges: &[(u32, Edge)]) -> Option<Vec<u32>> {
    let len = nodes.len() as u32;
    let effects = |op: u32| {
        let to = nodes.get(op as usize + 1).map_or(edges.len(), |next| next.edges as usize);
        edges[nodes[op as usize].edges as usize..to].iter().map(|(_, edge)| edge.effect())
    };
    let mut unmet: Vec<u32> = nodes.iter().map(|node| node.unmet).collect();
    let mut ready: Vec<u32> = (0..len).filter(|op| unmet[*op as usize] == 0).collect();
    let mut met = 0;
    while let Some(op) = ready.pop() {
        met += 1;
        for effect in effects(op) {
            let left = &mut unmet[effect as usize];
            *left -= 1;
            if *left == 0 {
                ready.push(effect);
            }
        }
    }
    if met == len {
        return None;
    }
    // Each operation that is left waits for one that is left, so walking back from cause to cause closes a cycle.
    let mut cause = vec![u32::MAX; len as usize];
    for op in (0..len).filter(|op| unmet[*op as usize] > 0) {
        effects(op).for_each(|effect| cause[effect as usize] = op);
    }
    let mut at = (0..len).find(|op| unmet[*op as usize] > 0)?;
    let mut seen = vec![false; len as usize];
    while !std::mem::replace(&mut seen[at as usize], true) {
        at = cause[at as usize];
    }
    let back = |op: &u32| Some(cause[*op as usize]).filter(|next| *next != at);
    Some(std::iter::successors(Some(at), back).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_kept_at_their_causes() {
        let mut builder = JobBuilder::default();
        let first = builder.op(Op::calc(Duration(5)));
        let second = builder.op_after(Op::calc(Duration(6)), &[first]);
        let third = builder.op_after(Op::calc(Duration(7)), &[first, second]);
        builder.after(second, third, When::Started);
        builder.end_rank().expect("no cycle");
        builder.end_rank().expect("an empty rank");
        let job = builder.finish().expect("no message");
        assert_eq!((job.ranks(), job.len(0), job.len(1), job.operations()), (2, 3, 0, 3));
        assert_eq!([0, 1].map(|rank| job.roots(rank).collect::<Vec<_>>()), [vec![0], vec![]]);
        let effects = |op| job.edges(0, op).map(|e| (e.effect(), e.when())).collect::<Vec<_>>();
        assert_eq!(effects(0), [(1, When::Ended), (2, When::Ended)]);
        assert_eq!(effects(1), [(2, When::Ended), (2, When::Started)]);
        assert_eq!((job.unmet(0, 2), effects(2)), (3, vec![]));
    }

    #[test]
    fn a_cycle_is_named() {
        let mut builder = JobBuilder::default();
        (0..5).for_each(|_| _ = builder.op(Op::calc(Duration(1))));
        for (cause, effect) in [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)] {
            builder.after(cause, effect, When::Ended);
        }
        let problem = builder.end_rank().expect_err("1, 2 and 3 wait for one another");
        assert_eq!(problem.to_string(), "rank 0: operations wait for one another in a cycle: 1, 3, 2, 1");
        let mut builder = JobBuilder::default();
        builder.op(Op::calc(Duration(1)));
        builder.after(0, 0, When::Started);
        assert_eq!(builder.end_rank(), Err(Problem::Cycle { rank: 0, ops: vec![0] }));
    }

    #[test]
    fn a_rank_that_is_not_there_is_named() {
        let mut builder = JobBuilder::default();
        builder.op(Op::calc(Duration(1)));
        builder.end_rank().expect("one operation");
        builder.op(Op::send(0, 1, 0));
        builder.op(Op::send(2, 1, 0));
        builder.end_rank().expect("two operations");
        let problem = builder.finish().expect_err("there are two ranks");
        assert_eq!(problem.to_string(), "rank 1, operation 1: there is no rank 2: expected 0 to 1");
    }
}
