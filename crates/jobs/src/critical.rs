//! The critical path of an iteration: the chain of computations and messages that its last operation waited for.
//!
//! The chain is followed back in time. An operation began when the last thing that it waited for had come: an operation
//! that it requires, the one before it on its stream or at its NIC, or a message. So the steps follow one another
//! without a gap, and sum exactly to the time of the iteration. Of several chains that are as late, it is one.

use crate::drive::{self, First};
use crate::job::When;
use crate::op::Work;
use crate::placed::{Message, Part, Placed, Transfer};
use crate::replay::{OtherRun, Times, replay};
use crate::span::Span;
use crate::trace::{After, Entry, NO_OP, Trace};
use backwater_types::Instant;
use std::collections::HashMap;
use std::sync::Arc;

/// A part of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What took the time.
    pub kind: Kind,
    /// Rank that did it; of a message and its acknowledgement, the rank that waited for it.
    pub rank: u32,
    /// Operation of the job that took the time: a rank and a number among its operations. Of a message: its send.
    pub op: (u32, u32),
    /// When it began.
    pub begin: Instant,
    /// When it ended, which is when the next step begins.
    pub end: Instant,
    /// Message on the network, by number. Of several pieces, the one that came last.
    pub message: Option<u32>,
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A computation.
    Compute,
    /// The data of a message crosses the network.
    Message,
    /// A queue pair sends a message, and the next one waits for that.
    QueuePair,
    /// A sender asks its receiver for a receive.
    Request,
    /// The receiver answers that it has one.
    Clear,
    /// The last acknowledgement of a message comes back to its sender.
    Acknowledgement,
    /// A message crosses between ranks of one host.
    Local,
    /// Time of a stream for a message: *o* and *O*.
    Overhead,
    /// Time of a NIC between two messages: *g* and *G*.
    Gap,
    /// Time between the end of a send and its first packet: *L*.
    Latency,
}

impl Kind {
    /// Names, in the order of the kinds.
    pub const NAMES: [&str; 10] = [
        "compute",
        "message",
        "queue-pair",
        "request",
        "clear",
        "acknowledgement",
        "local",
        "overhead",
        "gap",
        "latency",
    ];

    /// Whether it is of a message that goes from one rank to another.
    pub fn is_message(self) -> bool {
        use Kind::{Acknowledgement, Clear, Local, Message, QueuePair, Request};
        matches!(self, Message | QueuePair | Request | Clear | Acknowledgement | Local)
    }
}

/// The critical path of an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// When the first rank began the iteration.
    pub begin: Instant,
    /// When the last rank ended it.
    pub end: Instant,
    /// The steps, in order of time. The first begins at `begin` and the last ends at `end`.
    pub steps: Vec<Step>,
}

/// Why there is no critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The times are not those of the job.
    #[error("{0}: these are times of another run")]
    OtherRun(#[from] OtherRun),
    /// The iteration did not run in this time.
    #[error("iteration {0} is not found as it ran: a rank woke when a message came, and their order is not known")]
    Order(u32),
}

/// Returns the critical path of an iteration of a job, which ran from `ran.0` to `ran.1`.
///
/// # Errors
/// If the times are not those of the job. Or if a rank woke when a message arrived, and it matters which came first:
/// engines differ in this, and some do not always do the same.
pub fn critical_path(
    placed: &Arc<Placed>,
    when: drive::When,
    times: Times,
    iteration: u32,
    ran: (Instant, Instant),
) -> Result<Path, Unknown> {
    let in_order = |first| path(placed, drive::When { first, ..when }, times, iteration);
    let found = [First::Wakes, First::Arrivals].map(in_order);
    let fits = |path: &Path| (path.begin, path.end) == ran;
    if let Some(path) = found.iter().flatten().flatten().find(|path| fits(path)) {
        return Ok(path.clone());
    }
    match found {
        [Err(error), Err(_)] => Err(error.into()),
        _ => Err(Unknown::Order(iteration)),
    }
}

/// Returns the critical path of an iteration; `None` if it did not end.
fn path(placed: &Arc<Placed>, when: drive::When, times: Times, iteration: u32) -> Result<Option<Path>, OtherRun> {
    let each = placed.job().iterations();
    let repetition = iteration / each;
    let spans = replay(placed, when, times, 0..0)?.take_spans();
    let own = |span: &&Span| {
        (span.repetition, placed.job().phases[span.phase as usize].iteration) == (repetition, iteration % each)
    };
    let begin = spans.iter().filter(own).map(|span| span.begin).min().unwrap_or(Instant::NEVER);
    let end = spans.iter().filter(own).map(|span| span.end).max().unwrap_or(Instant::NEVER);
    if end == Instant::NEVER {
        return Ok(None);
    }
    // Other ranks may still have been in an earlier repetition, and queue pairs may have sent messages of any.
    let running = spans.iter().filter(|span| span.end > begin).map(|span| span.repetition).min();
    let pairs = QueuePairs::new(placed, times);
    let sent = pairs.repetitions(placed, times, begin, end);
    let (first, last) = sent.unwrap_or((repetition, repetition));
    let first = running.map_or(repetition, |running| repetition.min(running)).min(first);
    let machine = replay(placed, when, times, first..1 + repetition.max(last))?;
    let trace = machine.traced().expect("it was asked for");
    let mut walk = Walk { placed, trace, times, pairs, begin, repetition, at: end, steps: Vec::new() };
    let Some((rank, op)) = walk.last_op(iteration % each) else { return Ok(None) };
    walk.back(Point::Ended(rank, op));
    walk.steps.reverse();
    Ok(Some(Path { begin, end, steps: walk.steps }))
}

struct Walk<'a> {
    placed: &'a Placed,
    trace: &'a Trace,
    times: Times<'a>,
    pairs: QueuePairs,
    /// Where the path ends.
    begin: Instant,
    /// Repetition that it has come to.
    repetition: u32,
    /// Time that it has come to.
    at: Instant,
    /// The steps so far, from the last one on.
    steps: Vec<Step>,
}

/// What has just happened to an operation: a rank and a number among its operations.
#[derive(Clone, Copy, Debug)]
enum Point {
    Ended(u32, u32),
    /// It occupied its stream.
    Began(u32, u32),
    Ready(u32, u32),
    /// A send handed its message to the NIC.
    Handed(u32, u32),
    /// Its first packet could leave.
    Left(u32, u32),
    /// All data of a send was at the receiver.
    Arrived(u32, u32),
    /// A receive took its message.
    Took(u32, u32),
    /// A receive matched the request of a message.
    Matched(u32, u32),
    /// The sender heard of that.
    Heard(u32, u32),
}

impl Walk<'_> {
    fn entry(&self, rank: u32, op: u32) -> Entry {
        *self.trace.entry(self.placed, self.repetition, rank, op)
    }

    /// Finds the operation with which an iteration ended.
    fn last_op(&self, iteration: u32) -> Option<(u32, u32)> {
        let job = self.placed.job();
        let ops = |rank| (0..job.len(rank)).rev().map(move |op| (rank, op));
        (0..job.ranks())
            .flat_map(ops)
            .find(|(rank, op)| job.iteration(*rank, *op) == iteration && self.entry(*rank, *op).ended == self.at)
    }

    /// Follows the path back from a point.
    fn back(&mut self, point: Point) {
        let mut point = Some(point);
        while let Some(now) = point
            && self.at > self.begin
        {
            point = match now {
                Point::Ended(rank, op) => self.before_end(rank, op),
                Point::Began(rank, op) => Some(self.before_began(rank, op)),
                Point::Ready(rank, op) => self.before_ready(rank, op),
                Point::Handed(rank, op) => {
                    self.step(Kind::Overhead, (rank, op), self.entry(rank, op).began);
                    Some(Point::Began(rank, op))
                }
                Point::Left(rank, op) => {
                    self.step(Kind::Latency, (rank, op), self.entry(rank, op).message);
                    Some(Point::Handed(rank, op))
                }
                Point::Arrived(rank, op) => self.before_arrived(rank, op),
                Point::Took(rank, op) => Some(self.before_took(rank, op)),
                Point::Matched(rank, op) => self.before_matched(rank, op),
                Point::Heard(rank, op) => {
                    let clear = self.number(rank, op) + Part::Clear as u32;
                    self.before_crossed(Kind::Clear, clear)
                }
            };
        }
    }

    /// Adds what an operation did since `begin`.
    fn step(&mut self, kind: Kind, op: (u32, u32), begin: Instant) {
        self.push(Step { kind, rank: op.0, op, begin, end: self.at, message: None });
    }

    fn push(&mut self, step: Step) {
        debug_assert!(step.begin <= self.at, "{step:?} begins after {:?}", self.at);
        let end = self.at;
        self.at = end.min(step.begin);
        if self.at < end && end > self.begin {
            self.steps.push(Step { begin: self.at.max(self.begin), ..step });
        }
    }

    fn before_end(&mut self, rank: u32, op: u32) -> Option<Point> {
        let entry = self.entry(rank, op);
        match self.placed.job().op(rank, op).work {
            Work::Calc(_) => self.step(Kind::Compute, (rank, op), entry.began),
            Work::Recv { .. } => self.step(Kind::Overhead, (rank, op), entry.began),
            Work::Send { .. } if entry.ended == entry.message => return Some(Point::Handed(rank, op)),
            Work::Send { .. } => {
                let last = self.last_piece(rank, op, self.times.acknowledged);
                let begin = self.times.received[last as usize];
                let message = Some(last);
                self.push(Step { kind: Kind::Acknowledgement, rank, op: (rank, op), begin, end: self.at, message });
                return self.before_crossed(Kind::Message, last);
            }
        }
        Some(Point::Began(rank, op))
    }

    fn before_began(&mut self, rank: u32, op: u32) -> Point {
        let entry = self.entry(rank, op);
        let is_receive = |op| matches!(self.placed.job().op(rank, op).work, Work::Recv { .. });
        match entry.after {
            After::Stream(before) => {
                let computes = matches!(self.placed.job().op(rank, before).work, Work::Calc(_));
                let kind = if computes { Kind::Compute } else { Kind::Overhead };
                self.step(kind, (rank, before), self.entry(rank, before).began);
                Point::Began(rank, before)
            }
            After::Nic(before) => {
                let receives = is_receive(before);
                let since = |entry: Entry| if receives { entry.message } else { entry.began };
                // The gap may outlast the repetition.
                if since(self.entry(rank, before)) >= self.at && self.trace.repetitions().start < self.repetition {
                    self.repetition -= 1;
                }
                let since = since(self.entry(rank, before)).min(self.at);
                self.step(Kind::Gap, (rank, before), since);
                if receives { Point::Took(rank, before) } else { Point::Began(rank, before) }
            }
            After::Nothing if is_receive(op) => {
                self.step(Kind::Gap, (rank, op), entry.message);
                Point::Took(rank, op)
            }
            After::Nothing => Point::Ready(rank, op),
        }
    }

    fn before_ready(&mut self, rank: u32, op: u32) -> Option<Point> {
        let entry = self.entry(rank, op);
        let job = self.placed.job();
        if entry.cause != NO_OP {
            let cause = entry.cause;
            let ended = self.entry(rank, cause).ended == entry.ready;
            let edges = job.edges(rank, cause).filter(|edge| edge.effect() == op);
            let by_end = edges.clone().any(|edge| edge.when() == When::Ended);
            let by_start = edges.clone().any(|edge| edge.when() == When::Started);
            let receives = matches!(job.op(rank, cause).work, Work::Recv { .. });
            return Some(match by_end && (ended || !by_start) {
                true => Point::Ended(rank, cause),
                false if receives => Point::Ready(rank, cause),
                false => Point::Began(rank, cause),
            });
        }
        // It waited for the end of the repetition before.
        if self.trace.repetitions().start == self.repetition {
            return None;
        }
        self.repetition -= 1;
        let last = (0..job.len(rank)).rev().find(|op| self.entry(rank, *op).ended == self.at);
        last.map(|last| Point::Ended(rank, last))
    }

    fn before_took(&mut self, rank: u32, op: u32) -> Point {
        let Entry { message, ready, sender: (from, send), .. } = self.entry(rank, op);
        if message <= ready {
            return Point::Ready(rank, op);
        }
        if self.placed.number_of(from, send, self.repetition).is_some() {
            return Point::Arrived(from, send);
        }
        let (kind, begin) = (Kind::Local, self.entry(from, send).message);
        self.push(Step { kind, rank, op: (from, send), begin, end: self.at, message: None });
        Point::Handed(from, send)
    }

    fn before_arrived(&mut self, rank: u32, op: u32) -> Option<Point> {
        self.before_crossed(Kind::Message, self.last_piece(rank, op, self.times.received))
    }

    fn before_matched(&mut self, rank: u32, op: u32) -> Option<Point> {
        let Entry { matched, ready, sender: (from, send), .. } = self.entry(rank, op);
        if matched <= ready {
            return Some(Point::Ready(rank, op));
        }
        self.before_crossed(Kind::Request, self.number(from, send))
    }

    /// Adds that a message crossed the network, and before that waited while its queue pair sent others.
    fn before_crossed(&mut self, kind: Kind, number: u32) -> Option<Point> {
        self.message_step(kind, number);
        let mut number = number;
        loop {
            if self.at <= self.begin {
                return None;
            }
            let (point, asked) = self.caused(number);
            let before = self.pairs.before(self.placed, self.times, number).filter(|_| self.at > asked);
            let Some(before) = before else { return Some(point) };
            // A rank may have gone on to the next repetition before its messages had left.
            self.repetition = self.placed.message(before).1;
            self.message_step(Kind::QueuePair, before);
            number = before;
        }
    }

    /// Adds the time from the start of a message to where the path has come.
    fn message_step(&mut self, kind: Kind, number: u32) {
        let (Message { rank, op, part, .. }, _) = self.placed.message(number);
        let to = if part == Part::Clear { rank } else { self.placed.receiver(rank, op) };
        let begin = self.times.started[number as usize];
        self.push(Step { kind, rank: to, op: (rank, op), begin, end: self.at, message: Some(number) });
    }

    /// Returns what made a message start, and when that happened.
    fn caused(&self, number: u32) -> (Point, Instant) {
        let (Message { rank, op, part, .. }, _) = self.placed.message(number);
        let entry = self.entry(rank, op);
        let left = (Point::Left(rank, op), entry.message + self.placed.placement().overheads.latency);
        match part {
            Part::Data if self.asks(rank, op) => (Point::Heard(rank, op), entry.matched),
            Part::Request | Part::Data => left,
            Part::Clear => {
                let to = self.placed.receiver(rank, op);
                let receives = (0..self.placed.job().len(to)).find(|one| self.entry(to, *one).sender == (rank, op));
                receives.map_or(left, |one| (Point::Matched(to, one), self.entry(to, one).matched))
            }
        }
    }

    /// Whether a sender asks before it sends.
    fn asks(&self, rank: u32, op: u32) -> bool {
        self.placed.bytes(rank, op) > self.placed.placement().eager
    }

    /// Number of the first part of a send over the network.
    fn number(&self, rank: u32, op: u32) -> u32 {
        self.placed.number_of(rank, op, self.repetition).expect("it crossed the network")
    }

    /// Number of that piece of a send that came last.
    fn last_piece(&self, rank: u32, op: u32, times: &[Instant]) -> u32 {
        let first = self.number(rank, op) + if self.asks(rank, op) { Part::Data as u32 } else { 0 };
        let pieces = first..first + u32::from(self.placed.pieces(rank, op));
        pieces.max_by_key(|piece| times[*piece as usize]).unwrap_or(first)
    }
}

/// Messages of each queue pair, in the order in which they started.
struct QueuePairs(HashMap<Pair, Vec<(Instant, u32)>>);

/// Source, destination and queue pair.
type Pair = (u16, u16, u16);

impl QueuePairs {
    fn new(placed: &Placed, times: Times) -> QueuePairs {
        let mut of: HashMap<Pair, Vec<(Instant, u32)>> = HashMap::new();
        for number in 0..placed.messages() {
            let Some(pair) = pair(placed, number) else { break };
            of.entry(pair).or_default().push((times.started[number as usize], number));
        }
        of.values_mut().for_each(|messages| messages.sort_unstable());
        QueuePairs(of)
    }

    /// First and last repetition whose messages were on their way between two times.
    fn repetitions(&self, placed: &Placed, times: Times, begin: Instant, end: Instant) -> Option<(u32, u32)> {
        let numbers = self.0.values().flatten().map(|(_, number)| *number);
        let sent = numbers.filter(|number| {
            let number = *number as usize;
            times.started[number] < end && times.received[number] > begin
        });
        sent.map(|number| placed.message(number).1).fold(None, |all, one| {
            let (first, last) = all.unwrap_or((one, one));
            Some((one.min(first), one.max(last)))
        })
    }

    /// Message of the same queue pair that started before `number`.
    fn before(&self, placed: &Placed, times: Times, number: u32) -> Option<u32> {
        let messages = &self.0[&pair(placed, number)?];
        let later = messages.partition_point(|(started, _)| *started < times.started[number as usize]);
        Some(messages[..later].last()?.1)
    }
}

fn pair(placed: &Placed, number: u32) -> Option<Pair> {
    let Transfer { src, dst, queue_pair, .. } = placed.transfer(number);
    Some((src, dst, queue_pair?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Job, JobBuilder};
    use crate::op::Op;
    use crate::placed::Placement;
    use crate::toy::{Played, placement, play, random, random_placement};
    use backwater_types::Duration;
    use backwater_types::hash::{self, Stream};

    const WHEN: drive::When =
        drive::When { start: Instant::ZERO, tick: 1, end: Instant::NEVER, first: drive::First::Wakes };

    /// Runs a job in which message `number` takes `takes[number]`, and returns the paths of all iterations.
    fn paths(job: &Job, placement: &Placement, takes: &dyn Fn(u32) -> Duration) -> (Played, Vec<Path>) {
        let played = play(job.clone(), placement.clone(), &mut { takes });
        let [started, received, acknowledged] = &played.times;
        let times = Times { started, received, acknowledged };
        let iterations = placement.repetitions * job.iterations();
        let of = |iteration| path(played.machine.placed(), WHEN, times, iteration);
        let all = (0..iterations).map(|one| of(one).expect("the same run").expect("it ended")).collect();
        (played, all)
    }

    /// The steps follow one another from the begin of the iteration to its end. A message that takes a moment longer
    /// delays the end by that moment if it is a step, unless another chain takes as long.
    #[test]
    fn steps_are_without_gaps_and_a_longer_step_delays_the_end() {
        let (mut delayed, mut kinds) = (0, [0; Kind::NAMES.len()]);
        for seed in 0..1000 {
            let mut rng = Stream::new(seed, 5, 6);
            let ranks = 1 + rng.next_u32() % 6;
            let ops = 5 + rng.next_u32() % 60;
            let eager = [u64::MAX, 1000, 0][rng.next_u32() as usize % 3];
            let job = random(&mut rng, ranks, ops, eager != u64::MAX);
            let placement = random_placement(&mut rng, ranks, eager);
            // Times are multiples of 8, so that a quarter of each is whole. They are large, so that few are equal.
            let take = |number: u32| Duration(8 + hash::stream(seed, 9, number.into()) % 1_000_000 * 8);
            let (played, paths) = paths(&job, &placement, &take);
            for (number, path) in paths.iter().enumerate() {
                let mut at = path.begin;
                for step in &path.steps {
                    assert_eq!(step.begin, at, "seed {seed}, iteration {number}: {path:?}");
                    assert!(step.end > at);
                    at = step.end;
                    kinds[step.kind as usize] += 1;
                }
                assert_eq!(at, path.end, "seed {seed}, iteration {number}");
            }
            let (first, steps) = (&paths[0], &paths[0].steps);
            // A queue pair is free after a quarter of the time of its message.
            let delays = |kind| match kind {
                Kind::Message | Kind::Request | Kind::Clear => 8,
                Kind::QueuePair => 2,
                _ => 0,
            };
            for (step, delay) in steps.iter().map(|step| (step, delays(step.kind))).filter(|(_, delay)| *delay > 0) {
                let message = step.message.expect("it crosses the network");
                let longer = |number| take(number) + Duration(8 * u64::from(number == message));
                let moved = play(job.clone(), placement.clone(), &mut { longer });
                let [started, received, acknowledged] = &moved.times;
                let times = Times { started, received, acknowledged };
                let path = path(moved.machine.placed(), WHEN, times, 0).expect("the same run").expect("ended");
                assert!(
                    path.end >= first.end + Duration(delay),
                    "seed {seed}: message {message} of {first:?}: {path:?}"
                );
                delayed += 1;
            }
            assert_eq!(played.machine.waiting(), []);
        }
        assert!(delayed > 1000 && kinds.iter().all(|steps| *steps > 20), "{delayed} {kinds:?}");
    }

    /// Rank 0 computes and sends; rank 1 computes for longer, and only then posts the receive.
    #[test]
    fn a_receive_that_is_late_is_no_fault_of_its_message() {
        for (computes, kinds) in [(50, [Kind::Compute, Kind::Message].as_slice()), (700, &[Kind::Compute])] {
            let mut builder = JobBuilder::default();
            let first = builder.op(Op::calc(Duration(100)));
            builder.op_after(Op::send(1, 10, 0), &[first]);
            builder.end_rank().expect("no cycle");
            let first = builder.op(Op::calc(Duration(computes)));
            builder.op_after(Op::recv(0, 0), &[first]);
            builder.end_rank().expect("no cycle");
            let job = builder.finish().expect("matched");
            let (_, paths) = paths(&job, &placement(vec![0, 1]), &|_| Duration(300));
            let found: Vec<Kind> = paths[0].steps.iter().map(|step| step.kind).collect();
            assert_eq!((found.as_slice(), paths[0].end), (kinds, Instant(computes.max(400))));
        }
    }

    #[test]
    fn times_of_another_run_are_refused() {
        let mut builder = JobBuilder::default();
        builder.op(Op::send(1, 10, 0));
        builder.end_rank().expect("no cycle");
        builder.op(Op::recv(0, 0));
        builder.end_rank().expect("no cycle");
        let job = builder.finish().expect("matched");
        let (played, _) = paths(&job, &placement(vec![0, 1]), &|_| Duration(300));
        let [started, received, acknowledged] = played.times;
        let others = [Instant(7)];
        let times = Times { started: &others, received: &received, acknowledged: &acknowledged };
        let ran = (Instant::ZERO, Instant(300));
        let error = critical_path(played.machine.placed(), WHEN, times, 0, ran).expect_err("it starts at once");
        assert_eq!(error, Unknown::OtherRun(OtherRun { number: 0, expected: 7, found: 0 }));
        let times = Times { started: &started, ..times };
        let of = |ran| critical_path(played.machine.placed(), WHEN, times, 0, ran);
        assert_eq!(of(ran).expect("it ran so").end, Instant(300));
        assert_eq!(of((Instant::ZERO, Instant(301))), Err(Unknown::Order(0)));
    }
}
