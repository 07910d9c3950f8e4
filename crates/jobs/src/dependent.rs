//! A job as messages and computations that depend on one another, for formats that have these and no operations.
//!
//! A receive that waits and the message that it takes become one, and what waited for operations of a rank waits for
//! messages and computations. What takes no time is left out: a send that does not wait for its acknowledgement ends
//! when it could begin, so what waits for it waits for what it waits for. So does what waits until a message is sent or
//! received: its operation starts when it could begin.
//!
//! Messages from one rank to another with one tag are taken in the order of the operations that send and receive them,
//! as MPI does. While the job runs they are taken in the order in which they arrive.

use crate::job::{Job, When};
use crate::op::{ANY, Op, Work};
use crate::unwritten::Unwritten;
use backwater_types::Duration;
use std::collections::{HashMap, VecDeque};

/// Most dependencies, in all: leaving out one operation may join many with many.
const NEEDS_MAX: usize = 100_000_000;

/// The messages and computations of a job.
pub(crate) struct Dependent {
    /// In the order of their sends, rank by rank.
    pub(crate) messages: Vec<Message>,
    /// In the order of their operations, rank by rank.
    pub(crate) computations: Vec<Computation>,
}

/// A message.
pub(crate) struct Message {
    pub(crate) src: u32,
    /// Its send, an operation of `src`.
    pub(crate) send: u32,
    pub(crate) dst: u32,
    /// Its receive, an operation of `dst`.
    pub(crate) recv: u32,
    pub(crate) bytes: u64,
    pub(crate) tag: u32,
    pub(crate) begin: Begin,
}

/// A computation.
pub(crate) struct Computation {
    pub(crate) rank: u32,
    pub(crate) op: u32,
    pub(crate) begin: Begin,
}

/// When something may begin.
#[derive(Clone, Default)]
pub(crate) struct Begin {
    /// Earliest time after the start of the rank.
    pub(crate) at: Duration,
    /// What has to come first, in rising order.
    pub(crate) needs: Vec<Need>,
}

/// Something that has to come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Need {
    /// A message has arrived.
    Received(u32),
    /// A message was acknowledged.
    Acknowledged(u32),
    /// A computation has ended.
    Computed(u32),
}

/// Computations that become earliest times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// Those on this stream, if they only let time pass from the start of the rank on.
    OfStarts(u8),
    /// All: those that only let time pass from the start of the rank on, and those that take no time. Others are
    /// refused.
    All,
}

/// What waits for an operation waits for.
#[derive(Clone, Default)]
struct End {
    at: Duration,
    /// What it stands for itself.
    own: Vec<Need>,
    /// What came first.
    before: Vec<Need>,
}

impl End {
    /// The end of something that has to come first.
    fn of(need: Need) -> End {
        End { own: vec![need], ..End::default() }
    }

    /// The end of something that takes no time.
    fn after(begin: Begin) -> End {
        End { at: begin.at, own: Vec::new(), before: begin.needs }
    }

    fn join(&mut self, other: &End) {
        self.at = self.at.max(other.at);
        self.own.extend_from_slice(&other.own);
        self.before.extend_from_slice(&other.before);
    }

    /// Returns when something may begin after this, without what comes before another need anyway.
    fn begin(self, all: &Dependent) -> Begin {
        let End { at, mut own, mut before } = self;
        own.sort_unstable();
        own.dedup();
        if before.is_empty() {
            return Begin { at, needs: own };
        }
        before.sort_unstable();
        before.dedup();
        let begin = |need: &Need| match need {
            Need::Received(_) => None,
            Need::Acknowledged(number) => Some(&all.messages[*number as usize].begin),
            Need::Computed(number) => Some(&all.computations[*number as usize].begin),
        };
        let first = own.iter().chain(&before).filter_map(begin).flat_map(|begin| &begin.needs);
        let mut first: Vec<Need> = first.chain(&own).copied().collect();
        first.sort_unstable();
        own.extend(before.into_iter().filter(|need| first.binary_search(need).is_err()));
        own.sort_unstable();
        Begin { at, needs: own }
    }
}

impl Dependent {
    /// Finds the messages and computations of a job. `format` is named in errors.
    ///
    /// # Errors
    /// If receives take messages of any source or tag, operations wait until computations have started, NICs differ, or
    /// sends may wait for computations on their stream.
    pub(crate) fn of(job: &Job, passing: Passing, format: &'static str) -> Result<Dependent, Unwritten> {
        let mut all = Dependent { messages: Vec::new(), computations: Vec::new() };
        let taken = all.pair(job, format)?;
        let (mut first, mut needs) = (0, 0);
        // A job may have many ranks that do nothing.
        for rank in (0..job.ranks()).filter(|rank| job.len(*rank) > 0) {
            let mut writer = OfRank { job, rank, passing, format, taken: &taken, first, needs: 0 };
            writer.write(&mut all)?;
            first += job.len(rank) as usize;
            needs += writer.needs;
            if needs > NEEDS_MAX {
                let what = format!("rank {rank} and those before wait for more than {NEEDS_MAX} messages");
                return Err(Unwritten::Cannot { what, format });
            }
        }
        Ok(all)
    }

    /// Messages whose acknowledgement their rank waits for, though nothing comes after it.
    pub(crate) fn ends(&self, job: &Job) -> Vec<u32> {
        let mut needed = vec![false; self.messages.len()];
        let begins = self.messages.iter().map(|message| &message.begin);
        for begin in begins.chain(self.computations.iter().map(|computation| &computation.begin)) {
            for need in &begin.needs {
                if let Need::Acknowledged(number) = need {
                    needed[*number as usize] = true;
                }
            }
        }
        let is_end = |number: &u32| {
            let Message { src, send, .. } = self.messages[*number as usize];
            !needed[*number as usize] && job.op(src, send).acknowledged
        };
        (0..self.messages.len() as u32).filter(is_end).collect()
    }

    /// Numbers of the messages in the order of their tags, if these differ and each rank sends in that order.
    pub(crate) fn by_tags(&self) -> Option<Vec<u32>> {
        let tag = |number: &u32| self.messages[*number as usize].tag;
        let mut order: Vec<u32> = (0..self.messages.len() as u32).collect();
        order.sort_by_key(tag);
        // Of each rank the last send so far.
        let mut last: HashMap<u32, u32> = HashMap::new();
        let in_order = order.iter().all(|number| {
            let Message { src, send, .. } = self.messages[*number as usize];
            last.insert(src, send).is_none_or(|before| before < send)
        });
        let differ = order.array_windows().all(|[one, next]| tag(one) != tag(next));
        (in_order && differ).then_some(order)
    }

    /// Lists the messages. Returns the message of each send and receive, rank by rank.
    fn pair(&mut self, job: &Job, format: &'static str) -> Result<Vec<u32>, Unwritten> {
        let refuse = |rank: u32, op: u32, what: &str| {
            Err(Unwritten::Cannot { what: format!("rank {rank}, operation {op} {what}"), format })
        };
        let mut taken = vec![u32::MAX; job.operations() as usize];
        // `(destination, source, tag)`: messages.
        let mut sent: HashMap<(u32, u32, u32), VecDeque<u32>> = HashMap::new();
        let mut place = 0;
        for rank in 0..job.ranks() {
            for op in 0..job.len(rank) {
                let Op { work, nic, .. } = job.op(rank, op);
                if nic != 0 {
                    return refuse(rank, op, &format!("uses NIC {nic}"));
                }
                if let Work::Send { to, bytes, tag } = work {
                    let number = self.messages.len() as u32;
                    let begin = Begin::default();
                    self.messages.push(Message { src: rank, send: op, dst: to, recv: 0, bytes, tag, begin });
                    sent.entry((to, rank, tag)).or_default().push_back(number);
                    taken[place] = number;
                }
                place += 1;
            }
        }
        place = 0;
        for rank in 0..job.ranks() {
            for op in 0..job.len(rank) {
                match job.op(rank, op).work {
                    Work::Recv { from, tag } if from == ANY || tag == ANY => {
                        return refuse(rank, op, "takes a message of any source or tag");
                    }
                    Work::Recv { from, tag } => {
                        let number = sent.get_mut(&(rank, from, tag)).and_then(VecDeque::pop_front);
                        let number = number.expect("a job has a send for each receive");
                        (taken[place], self.messages[number as usize].recv) = (number, op);
                    }
                    _ => {}
                }
                place += 1;
            }
        }
        Ok(taken)
    }
}

/// Finds what the messages and computations of one rank wait for.
struct OfRank<'a> {
    job: &'a Job,
    rank: u32,
    passing: Passing,
    format: &'static str,
    /// Messages of sends and receives.
    taken: &'a [u32],
    /// Place of the rank's first operation in `taken`.
    first: usize,
    /// Number of dependencies so far.
    needs: usize,
}

impl OfRank<'_> {
    fn cannot<T>(&self, op: u32, what: impl std::fmt::Display) -> Result<T, Unwritten> {
        Err(Unwritten::Cannot { what: format!("rank {}, operation {op} {what}", self.rank), format: self.format })
    }

    fn ops(&self) -> impl Iterator<Item = (u32, Op)> {
        (0..self.job.len(self.rank)).map(|op| (op, self.job.op(self.rank, op)))
    }

    fn write(&mut self, all: &mut Dependent) -> Result<(), Unwritten> {
        let order = self.order();
        let passes = self.passes(&order)?;
        // `[op]`: number of its computation.
        let mut numbers = vec![u32::MAX; order.len()];
        for (op, operation) in self.ops() {
            if matches!(operation.work, Work::Calc(_)) && !passes(operation.stream) {
                numbers[op as usize] = all.computations.len() as u32;
                all.computations.push(Computation { rank: self.rank, op, begin: Begin::default() });
            }
        }
        let before = self.before_others(&order, |op| numbers[op as usize] == u32::MAX);
        // `[op]`: what it waits for.
        let mut waits = vec![End::default(); order.len()];
        for op in order {
            let operation = self.job.op(self.rank, op);
            let wait = std::mem::take(&mut waits[op as usize]);
            self.needs += wait.own.len() + wait.before.len();
            let begin = wait.begin(all);
            if self.needs > NEEDS_MAX {
                return self.cannot(op, format_args!("and others wait for more than {NEEDS_MAX} messages"));
            }
            let message = self.taken[self.first + op as usize];
            let start = if matches!(operation.work, Work::Calc(_)) { None } else { Some(End::after(begin.clone())) };
            let end = match operation.work {
                Work::Recv { .. } => End { own: vec![Need::Received(message)], ..End::after(begin) },
                Work::Send { .. } => {
                    all.messages[message as usize].begin = begin.clone();
                    if operation.acknowledged { End::of(Need::Acknowledged(message)) } else { End::after(begin) }
                }
                Work::Calc(_) if numbers[op as usize] != u32::MAX => {
                    all.computations[numbers[op as usize] as usize].begin = begin;
                    End::of(Need::Computed(numbers[op as usize]))
                }
                Work::Calc(Duration::ZERO) => End::after(begin),
                Work::Calc(_) if !before[op as usize] => {
                    return self.cannot(op, "computes, and nothing comes after it");
                }
                Work::Calc(time) if begin.needs.is_empty() => End { at: begin.at + time, ..End::default() },
                Work::Calc(_) => return self.cannot(op, "computes after messages"),
            };
            for edge in self.job.edges(self.rank, op) {
                match (edge.when(), &start) {
                    (When::Ended, _) => waits[edge.effect() as usize].join(&end),
                    (When::Started, Some(start)) => waits[edge.effect() as usize].join(start),
                    (When::Started, None) => {
                        return self.cannot(edge.effect(), format_args!("waits until computation {op} has started"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells of which streams the computations become earliest times. Checks that no send waits for its stream.
    fn passes(&self, order: &[u32]) -> Result<impl Fn(u8) -> bool + use<>, Unwritten> {
        let (mut computes, mut sends, mut joins) = ([false; 256], [false; 256], [false; 256]);
        for (_, Op { work, stream, .. }) in self.ops() {
            match work {
                Work::Calc(Duration::ZERO) => joins[stream as usize] = true,
                Work::Calc(_) => computes[stream as usize] = true,
                Work::Send { .. } => sends[stream as usize] = true,
                Work::Recv { .. } => {}
            }
        }
        for stream in (0..=255_u8).filter(|stream| computes[*stream as usize]) {
            let shared = self.passing == Passing::All || sends[stream as usize];
            if shared && !self.is_in_turn(order, stream) {
                let also = if sends[stream as usize] { " and sends" } else { "" };
                let what = format!("rank {} computes{also} on stream {stream}, several at once", self.rank);
                return Err(Unwritten::Cannot { what, format: self.format });
            }
        }
        let starts = match self.passing {
            Passing::All => None,
            Passing::OfStarts(stream) => Some(stream).filter(|stream| {
                let s = *stream as usize;
                computes[s]
                    && !sends[s]
                    && !joins[s]
                    && self.is_in_turn(order, *stream)
                    && self.is_first(order, *stream)
            }),
        };
        let all = self.passing == Passing::All;
        Ok(move |stream| all || starts == Some(stream))
    }

    /// Whether each computation and send on a stream waits for the one before.
    fn is_in_turn(&self, order: &[u32], stream: u8) -> bool {
        // `[op]`: most of these on a path to it. They are in turn if one path has all.
        let mut most = vec![0_u32; order.len()];
        let (mut count, mut longest) = (0, 0);
        for op in order {
            let operation = self.job.op(self.rank, *op);
            let counts = operation.stream == stream && !matches!(operation.work, Work::Recv { .. });
            let here = most[*op as usize] + u32::from(counts);
            (count, longest) = (count + u32::from(counts), longest.max(here));
            for edge in self.job.edges(self.rank, *op) {
                let effect = &mut most[edge.effect() as usize];
                *effect = (*effect).max(here);
            }
        }
        longest == count
    }

    /// Whether no computation on a stream waits for anything else, and something waits for each.
    fn is_first(&self, order: &[u32], stream: u8) -> bool {
        let is_on = |op: u32| {
            let operation = self.job.op(self.rank, op);
            operation.stream == stream && matches!(operation.work, Work::Calc(_))
        };
        let before = self.before_others(order, is_on);
        order.iter().all(|op| {
            let mut edges = self.job.edges(self.rank, *op);
            if is_on(*op) { before[*op as usize] } else { edges.all(|edge| !is_on(edge.effect())) }
        })
    }

    /// `[op]`: whether a send comes after it, or a computation that does not pass.
    fn before_others(&self, order: &[u32], passes: impl Fn(u32) -> bool) -> Vec<bool> {
        let mut before = vec![false; order.len()];
        for op in order.iter().rev() {
            before[*op as usize] = self.job.edges(self.rank, *op).any(|edge| {
                let effect = edge.effect();
                let counts = match self.job.op(self.rank, effect).work {
                    Work::Send { .. } => true,
                    Work::Calc(_) => !passes(effect),
                    Work::Recv { .. } => false,
                };
                counts || before[effect as usize]
            });
        }
        before
    }

    /// Lists the operations so that each stands after what it waits for.
    fn order(&self) -> Vec<u32> {
        let (job, rank) = (self.job, self.rank);
        let mut unmet: Vec<u32> = (0..job.len(rank)).map(|op| job.unmet(rank, op)).collect();
        let mut order = job.roots(rank).collect::<Vec<_>>();
        let mut next = 0;
        while next < order.len() {
            for edge in job.edges(rank, order[next]) {
                let left = &mut unmet[edge.effect() as usize];
                *left -= 1;
                if *left == 0 {
                    order.push(edge.effect());
                }
            }
            next += 1;
        }
        order
    }
}
