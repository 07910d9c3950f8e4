//! The job of the traces of all ranks.
//!
//! | node | here |
//! |---|---|
//! | computation | its duration, or 1 ns if it has none, as in ASTRA-sim; the CPU and the GPU each run one at a time |
//! | load, store | its duration, on the GPU |
//! | send, receive | a message; the rank itself has to be its sender or its receiver |
//! | a message or a collective that says it is of the CPU | a computation of its duration, as in ASTRA-sim |
//! | collective | all-reduce, reduce-scatter, all-gather, all-to-all, broadcast, reduce and barrier, by an algorithm |
//! | metadata | no time; groups of ranks are taken from it |
//!
//! Dependencies of data and of control count alike, and may name later nodes. `model.control_dependencies = false` leaves
//! out those of control. The size of an all-gather is what each rank puts in; that of other collectives is the data of a
//! rank. ASTRA-sim lets one communication of a rank run at a time. Here they are limited by their dependencies alone.
//!
//! The attributes `is_cpu_op`, `comm_type`, `comm_size`, `comm_src`, `comm_dst`, `comm_tag`, `pg_name` and `involved_dim`
//! are read, and no others. So `num_ops` and `tensor_size` give a computation no time: set its duration. A collective
//! whose `involved_dim` has a false value is refused.

use super::groups::Groups;
use super::node::Node;
use crate::collective::{Algorithm, Collective, Kind};
use crate::job::{Job, JobBuilder, MADE_MAX, Problem, When};
use crate::op::{BYTES_MAX, Op, TIME_MAX};
use crate::refused::Refused;
use crate::text::quoted;
use backwater_types::Duration;
use std::collections::HashMap;

/// What the traces do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Algorithm of all-reduces.
    pub all_reduce: Algorithm,
    /// Channels of collectives.
    pub channels: u16,
    /// Whether nodes wait by their dependencies of control. In traces that PyTorch wrote, these name the caller of a node,
    /// may name nodes that are not there, and may close cycles.
    pub control_dependencies: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { all_reduce: Algorithm::Ring, channels: 1, control_dependencies: true }
    }
}

const CPU: u8 = 0;
const SENDING: u8 = 1;
const JOINING: u8 = 2;
const GPU: u8 = 3;

/// Kind of a node of metadata.
const METADATA_NODE: u64 = 1;
/// Kind of a node of a collective.
const COLLECTIVE_NODE: u64 = 7;

/// Collectives have tags of their own: this bit, the group, the turn in the group, and the step.
const COLLECTIVE: u32 = 1 << 31;
const GROUPS: usize = 1 << 10;
const TURNS: u32 = 1 << 6;
const STEPS: u32 = 1 << 15;

/// Makes a job of the nodes of each rank, with the names of their files.
///
/// # Errors
/// At the first node that is not valid, by file, place and name.
pub fn job(ranks: &[(String, Vec<Node>)], groups: Groups, options: Options) -> Result<Job, Refused> {
    let mut survey = Survey::new(groups, options);
    ranks.iter().for_each(|(file, nodes)| survey.add(file, nodes));
    let mut traces = survey.begin()?;
    for (file, nodes) in ranks {
        traces.add(file, nodes)?;
    }
    traces.finish()
}

/// The groups and the counts of the traces of all ranks. A job needs them before its first operation is made.
///
/// A reader adds each trace to the survey, and then reads it again for the [`Traces`]. So memory holds the nodes of one rank
/// at a time.
pub struct Survey {
    groups: Groups,
    options: Options,
    /// File of rank 0.
    first: String,
    ranks: u32,
    /// Nodes that are one operation.
    single: u64,
    /// Collectives by their group.
    collectives: HashMap<String, u64>,
}

impl Survey {
    /// Begins with the groups that a file has.
    pub fn new(groups: Groups, options: Options) -> Survey {
        Survey { groups, options, first: "the traces".into(), ranks: 0, single: 0, collectives: HashMap::new() }
    }

    /// Adds the nodes of the next rank.
    pub fn add(&mut self, file: &str, nodes: &[Node]) {
        if self.ranks == 0 {
            self.first = file.into();
        }
        self.ranks += 1;
        for node in nodes {
            match node.kind {
                COLLECTIVE_NODE => match self.collectives.get_mut(&node.group) {
                    Some(count) => *count += 1,
                    None => _ = self.collectives.insert(node.group.clone(), 1),
                },
                METADATA_NODE => self.groups.add(node),
                _ => self.single += 1,
            }
        }
    }

    /// Begins the job.
    ///
    /// # Errors
    /// If it has too many operations.
    pub fn begin(self) -> Result<Traces, Refused> {
        // A collective of n ranks has at most 4 (n - 1) in each channel.
        let of_each = |group: &str| 4 * self.groups.size(group, self.ranks).saturating_sub(1);
        let of = |(group, count): (&String, &u64)| {
            count.saturating_mul(2 + of_each(group) * u64::from(self.options.channels))
        };
        let operations = self.collectives.iter().map(of).fold(self.single, u64::saturating_add);
        if operations > MADE_MAX {
            let expected = format!("expected at most {MADE_MAX}, with fewer ranks, collectives or channels");
            let problem = format!("the traces of {} ranks have about {operations} operations: {expected}", self.ranks);
            return Err(Refused::at(self.first, problem));
        }
        Ok(Traces { survey: self, builder: JobBuilder::of_trace() })
    }
}

/// Builds the job rank by rank.
pub struct Traces {
    survey: Survey,
    builder: JobBuilder,
}

impl Traces {
    /// Adds the nodes of the next rank.
    ///
    /// # Errors
    /// At the first node that is not valid, by file, place and name.
    pub fn add(&mut self, file: &str, nodes: &[Node]) -> Result<(), Refused> {
        let Survey { ref groups, options, ranks, .. } = self.survey;
        let rank = self.builder.rank();
        Rank { rank, file, nodes, ranks, groups, options, turns: HashMap::new() }.add(&mut self.builder)
    }

    /// Ends the job after its last rank.
    ///
    /// # Errors
    /// If a send has no receive, or the reverse.
    pub fn finish(self) -> Result<Job, Refused> {
        self.builder.finish().map_err(|problem| Refused::at(self.survey.first, problem))
    }
}

struct Rank<'a> {
    rank: u32,
    file: &'a str,
    nodes: &'a [Node],
    ranks: u32,
    groups: &'a Groups,
    options: Options,
    /// Collectives of each group so far.
    turns: HashMap<usize, u32>,
}

impl Rank<'_> {
    fn refuse(&self, node: &Node, problem: impl std::fmt::Display) -> Refused {
        let name = quoted(&node.name);
        Refused::at(format_args!("{}: byte {}", self.file, node.at), format_args!("node {} {name}: {problem}", node.id))
    }

    fn add(mut self, builder: &mut JobBuilder) -> Result<(), Refused> {
        // `[node]`: the operations that begin and end it.
        let mut ops = Vec::with_capacity(self.nodes.len());
        // `[operation]`: its node.
        let mut of_op = Vec::new();
        let mut by_id = HashMap::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            if let Some(other) = by_id.insert(node.id, number) {
                let other: &Node = &self.nodes[other];
                return Err(self.refuse(node, format_args!("the node at byte {} has this id too", other.at)));
            }
            ops.push(self.node(node, builder)?);
            of_op.resize(builder.len() as usize, number);
        }
        for (node, (begin, _)) in self.nodes.iter().zip(&ops) {
            let control = if self.options.control_dependencies { node.control.as_slice() } else { &[] };
            for id in node.after.iter().chain(control) {
                let Some(cause) = by_id.get(id) else {
                    return Err(
                        self.refuse(node, format_args!("waits for node {id}, which is not in the file{}", self.hint()))
                    );
                };
                builder.after(ops[*cause].1, *begin, When::Ended);
            }
        }
        builder.end_rank().map_err(|problem| match problem {
            Problem::Cycle { ops, .. } => {
                let mut nodes: Vec<u64> = ops.iter().map(|op| self.nodes[of_op[*op as usize]].id).collect();
                nodes.dedup();
                let shown = nodes.iter().take(8).map(u64::to_string).collect::<Vec<_>>().join(", ");
                let more = if nodes.len() > 8 { ", ..." } else { "" };
                Refused::at(
                    self.file,
                    format_args!("nodes wait for one another: {shown}{more}: expected no cycle{}", self.hint()),
                )
            }
            problem => Refused::at(self.file, problem),
        })
    }

    /// Adds the operations of a node. Returns those that begin and end it.
    fn node(&mut self, node: &Node, builder: &mut JobBuilder) -> Result<(u32, u32), Refused> {
        let one = |op: u32| (op, op);
        // What a communication costs the CPU is a node of its own, as in ASTRA-sim.
        let on_cpu = node.on_cpu == Some(true) && matches!(node.kind, 5..=7);
        match if on_cpu { 4 } else { node.kind } {
            1 => Ok(one(builder.op(Op::calc(Duration::ZERO).on(JOINING)))),
            2 | 3 => Ok(one(builder.op(Op::calc(self.duration(node)?).on(GPU)))),
            4 => {
                let time = self.duration(node)?.max(Duration::from_ns(1));
                Ok(one(builder.op(Op::calc(time).on(if node.on_cpu != Some(false) { CPU } else { GPU }))))
            }
            5 => {
                self.is_own(node, node.comm_src, "sends for")?;
                let to = self.peer(node, node.comm_dst, "comm_dst")?;
                let (bytes, tag) = (self.size(node)?, self.tag(node)?);
                Ok(one(builder.op(Op::send(to, bytes, tag).on(SENDING))))
            }
            6 => {
                self.is_own(node, node.comm_dst, "receives for")?;
                let from = self.peer(node, node.comm_src, "comm_src")?;
                let tag = self.tag(node)?;
                Ok(one(builder.op(Op::recv(from, tag))))
            }
            7 => self.collective(node, builder),
            kind => Err(self.refuse(node, format_args!("type {kind}: expected 1 to 7"))),
        }
    }

    fn collective(&mut self, node: &Node, builder: &mut JobBuilder) -> Result<(u32, u32), Refused> {
        let (kind, algorithm) = match node.comm_type.unwrap_or(0) {
            0 => (Kind::AllReduce, self.options.all_reduce),
            1 => (Kind::Reduce, Algorithm::Binomial),
            2 => (Kind::AllGather, Algorithm::Ring),
            5 => (Kind::Broadcast, Algorithm::Binomial),
            6 => (Kind::AllToAll, Algorithm::Direct),
            7 | 8 => (Kind::ReduceScatter, Algorithm::Ring),
            9 => (Kind::Barrier, Algorithm::RecursiveDoubling),
            other => {
                let expected = "expected 0 all-reduce, 1 reduce, 2 all-gather, 5 broadcast, 6 all-to-all, 7 or 8 reduce-scatter, or 9 barrier";
                return Err(self.refuse(node, format_args!("comm_type {other}: {expected}")));
            }
        };
        if node.some_dimensions {
            let problem = "involved_dim leaves out a dimension, and the network has none: expected its ranks as a group, in pg_name";
            return Err(self.refuse(node, problem));
        }
        let Some((mut members, group)) = self.groups.of(&node.group, self.ranks) else {
            let problem =
                format!("pg_name {}: expected one of the groups {}", quoted(&node.group), self.groups.names());
            return Err(self.refuse(node, problem));
        };
        if let Some(member) = members.iter().find(|member| **member >= self.ranks) {
            let problem = format!("group {} has rank {member}: expected 0 to {}", quoted(&node.group), self.ranks - 1);
            return Err(self.refuse(node, problem));
        }
        // The first rank of a group is the root of a broadcast, unless the node names another.
        if let Some(root) = node.comm_src.and_then(|root| members.iter().position(|member| u64::from(*member) == root))
        {
            members.rotate_left(root);
        }
        let Some(me) = members.iter().position(|member| *member == self.rank) else {
            return Err(self.refuse(node, format_args!("group {} has not rank {}", quoted(&node.group), self.rank)));
        };
        let size = if kind == Kind::Barrier { 1 } else { self.size(node)? };
        let bytes =
            if kind == Kind::AllGather { size.saturating_mul(members.len() as u64).min(BYTES_MAX) } else { size };
        let begin = builder.op(Op::calc(Duration::ZERO).on(JOINING));
        let collective =
            Collective { channels: self.options.channels, ..Collective::new(kind, algorithm, &members, bytes.max(1)) };
        if group >= GROUPS || collective.tags() > STEPS {
            let problem =
                format!("a collective of {} ranks in group number {group}: expected smaller ones", members.len());
            return Err(self.refuse(node, problem));
        }
        let turn = self.turns.entry(group).or_insert(0);
        let tag = COLLECTIVE + (group as u32 * TURNS + *turn % TURNS) * STEPS;
        *turn += 1;
        let mut ends = collective.add(builder, me, &[begin], tag, &mut |_, _| 0);
        ends.push(begin);
        Ok((begin, builder.op_after(Op::calc(Duration::ZERO).on(JOINING), &ends)))
    }

    /// What to do about dependencies of control.
    fn hint(&self) -> &'static str {
        let control = self.options.control_dependencies && self.nodes.iter().any(|node| !node.control.is_empty());
        if control { "; dependencies of control may be left out (model.control_dependencies = false)" } else { "" }
    }

    fn duration(&self, node: &Node) -> Result<Duration, Refused> {
        let most = TIME_MAX.0 / 1_000_000;
        match node.micros <= most {
            true => Ok(Duration::from_us(node.micros)),
            false => Err(self.refuse(node, format_args!("{} us: expected at most {most}", node.micros))),
        }
    }

    fn size(&self, node: &Node) -> Result<u64, Refused> {
        let size = node.comm_size.filter(|size| *size <= BYTES_MAX);
        size.ok_or_else(|| match node.comm_size {
            None => self.refuse(node, "has no comm_size: expected bytes"),
            Some(size) => self.refuse(node, format_args!("comm_size {size}: expected 0 to {BYTES_MAX}")),
        })
    }

    fn tag(&self, node: &Node) -> Result<u32, Refused> {
        // Tags are signed in traces; those below 0 are among the collectives' here.
        let tag = u32::try_from(node.comm_tag).ok().filter(|tag| *tag < COLLECTIVE);
        tag.ok_or_else(|| {
            self.refuse(node, format_args!("comm_tag {}: expected 0 to {}", node.comm_tag as i64, COLLECTIVE - 1))
        })
    }

    fn peer(&self, node: &Node, peer: Option<u64>, attribute: &str) -> Result<u32, Refused> {
        let known = peer.filter(|peer| *peer < u64::from(self.ranks));
        known.map(|peer| peer as u32).ok_or_else(|| {
            let found = peer.map_or("none".into(), |peer| (peer as i64).to_string());
            self.refuse(node, format_args!("{attribute} {found}: expected a rank, 0 to {}", self.ranks - 1))
        })
    }

    fn is_own(&self, node: &Node, rank: Option<u64>, does: &str) -> Result<(), Refused> {
        match rank {
            Some(rank) if rank != u64::from(self.rank) => {
                Err(self.refuse(node, format_args!("{does} rank {rank}: expected rank {}, of this file", self.rank)))
            }
            _ => Ok(()),
        }
    }
}
