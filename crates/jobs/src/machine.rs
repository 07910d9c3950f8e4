//! Ranks while they run: which operation starts when, and what that causes.
//!
//! A rank keeps its streams, the receives that wait, and the messages that came too early. It learns of three events:
//! a message has arrived, a message of its own was acknowledged, and a time that it asked for has come. It answers
//! with messages that start now, and with the next time at which it wants to be woken.
//!
//! One event may make several operations ready. They start in the order in which they would have been ready without
//! the event: those that waited for nothing else come first, and then the others as their other causes came. This is
//! the order in which a program would have queued them.

use crate::job::When;
use crate::matching::{IntegerHasher, Matching};
use crate::op::{Op, Work};
use crate::placed::{Message, Overheads, Part, Placed};
use crate::span::{Span, Spans};
use crate::trace::{After, Entry, NO_OP, Trace};
use backwater_types::{Duration, Instant};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::Arc;

/// What a rank asks of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// A message starts.
    Message {
        /// Number of the message.
        number: u32,
        /// When its first packet may leave.
        at: Instant,
    },
    /// The host calls [`Machine::on_wake`] at a time.
    Wake {
        /// Rank to wake.
        rank: u32,
        /// When.
        at: Instant,
    },
}

/// A receive whose message has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingReceive {
    /// Rank that waits.
    pub rank: u32,
    /// Number of the receive among its operations.
    pub op: u32,
    /// Rank that it waits for, or [`ANY`](crate::ANY).
    pub from: u32,
    /// Tag, or [`ANY`](crate::ANY).
    pub tag: u32,
}

/// The ranks of a job. A thread may run those of some hosts only: ranks of others are never touched.
#[derive(Clone, Debug)]
pub struct Machine {
    placed: Arc<Placed>,
    /// `[rank]`: its state, from its first event on.
    ranks: Vec<Option<Box<Rank>>>,
    /// Messages to other ranks of the same host that start in the current event.
    local: VecDeque<Local>,
    /// Spans of iterations that ranks have ended.
    spans: Vec<Span>,
    trace: Option<Trace>,
}

/// A message to another rank of the same host.
#[derive(Clone, Copy, Debug)]
struct Local {
    to: u32,
    at: Instant,
    repetition: u32,
    message: Arrived,
}

/// A message, or the request of one, at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrived {
    /// Rank that sends it.
    rank: u32,
    /// Its send.
    op: u32,
    /// Whether this is only the request.
    asks: bool,
}

/// State of one rank.
#[derive(Clone, Debug)]
struct Rank {
    /// Repetition that runs; [`BEFORE`] the start, and the number of repetitions after the last.
    repetition: u32,
    /// Operations of the repetition that have not ended.
    left: u32,
    /// `[iteration of the repetition]`: its operations that have not ended. Empty if there is one.
    left_of: Vec<u32>,
    /// Operations that wait, and for which a cause has come.
    waiting: HashMap<u32, Waiting, ByInteger>,
    /// Numbers the causes that came.
    causes: u32,
    /// What is to be done at this instant.
    steps: VecDeque<Step>,
    streams: Vec<Lane>,
    nics: Vec<Lane>,
    matching: Matching<Arrived>,
    /// Receives that were promised to a message: by the message, [`Arrived::key`].
    promised: HashMap<u64, u32, ByInteger>,
    /// Pieces that have come of messages of several: by message and repetition.
    pieces: HashMap<(u64, u32), u16, ByInteger>,
    /// `repetition`: its messages that came before it started.
    early: BTreeMap<u32, VecDeque<Arrived>>,
    /// What happens at a known time. Equal times are in the order in which they were set.
    timers: BinaryHeap<Reverse<(Instant, u64, Timer)>>,
    timers_set: u64,
    /// Time of the next wake that the host was asked for.
    woken_at: Instant,
    /// Spans of the repetition that runs.
    spans: Spans,
}

type ByInteger = BuildHasherDefault<IntegerHasher>;

/// Marks a send of the rank itself among the keys of messages, which are below.
const ACKNOWLEDGED: u64 = 1 << 63;

/// Repetition of a rank that has not started.
const BEFORE: u32 = u32::MAX;

/// An operation that waits for more than one.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Number of causes that are missing.
    unmet: u32,
    /// Number of the last cause that came.
    last: u32,
}

/// Work of a rank at one instant.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An operation is ready, because of another one of the rank.
    Ready(u32, u32),
    /// An operation has ended.
    Ended(u32),
}

/// Something that one operation at a time occupies: a stream or a NIC.
#[derive(Clone, Debug, Default)]
struct Lane {
    busy_until: Instant,
    /// Operation that occupied it last.
    last: u32,
    queue: VecDeque<Task>,
}

/// What occupies a stream.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// A computation, or a send.
    Run(u32),
    /// A receive whose message of this many bytes has arrived.
    Take(u32, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The stream has run an operation.
    Ran(u32),
    /// The NIC has taken the message of a receive, of this many bytes.
    Taken(u32, u64),
    /// A NIC is free.
    Free(u8),
    /// A message of a repetition arrives from another rank of the host.
    Local(u32, Arrived),
}

impl Machine {
    /// Makes the ranks of a job, which have not started.
    pub fn new(placed: Arc<Placed>) -> Machine {
        let ranks = vec![None; placed.job().ranks() as usize];
        Machine { placed, ranks, local: VecDeque::new(), spans: Vec::new(), trace: None }
    }

    /// Takes the spans of iterations that ranks have ended since they were last taken. All spans of a rank in an iteration
    /// come at once.
    pub fn take_ended_spans(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }

    /// Takes the spans that were not taken yet, also those of iterations that have not ended.
    pub fn take_spans(&mut self) -> Vec<Span> {
        for (number, rank) in (0..).zip(&mut self.ranks) {
            if let Some(rank) = rank {
                rank.spans.take(|_| true, rank.repetition, number, &mut self.spans);
            }
        }
        std::mem::take(&mut self.spans)
    }

    /// Keeps the times of every operation of some repetitions.
    pub fn trace(&mut self, repetitions: Range<u32>) {
        self.trace = Some(Trace::new(&self.placed, repetitions));
    }

    /// Returns the times that were kept.
    pub fn traced(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Returns the job and where it runs.
    pub fn placed(&self) -> &Arc<Placed> {
        &self.placed
    }

    /// Wakes a rank at a time that it asked for. The first call starts it.
    pub fn on_wake(&mut self, rank: u32, now: Instant, begin: &mut dyn FnMut(Begin)) {
        self.event(rank, now, begin, |run| run.on_wake());
    }

    /// Handles the arrival of message `number` at its receiver.
    pub fn on_received(&mut self, number: u32, now: Instant, begin: &mut dyn FnMut(Begin)) {
        let (Message { rank, op, part, .. }, repetition) = self.placed.message(number);
        if part == Part::Clear {
            return self.event(rank, now, begin, |run| run.send_data(op));
        }
        let message = Arrived { rank, op, asks: part == Part::Request };
        let to = self.placed.receiver(rank, op);
        let pieces = if message.asks { 1 } else { self.placed.pieces(rank, op) };
        self.event(to, now, begin, |run| {
            if pieces == 1 || run.is_last_piece((message.key(), repetition), pieces) {
                run.on_message(repetition, message);
            }
        });
    }

    /// Handles the acknowledgement of message `number` at its sender.
    pub fn on_acknowledged(&mut self, number: u32, now: Instant, begin: &mut dyn FnMut(Begin)) {
        let (Message { rank, op, part, .. }, repetition) = self.placed.message(number);
        if part != Part::Data || !self.placed.waits_for_acknowledgement(rank, op) {
            return;
        }
        let pieces = self.placed.pieces(rank, op);
        self.event(rank, now, begin, |run| {
            if pieces == 1 || run.is_last_piece((ACKNOWLEDGED | u64::from(op), repetition), pieces) {
                run.rank.steps.push_back(Step::Ended(op));
            }
        });
    }

    /// Whether a rank has ended its last repetition, or has no operations.
    pub fn has_ended(&self, rank: u32) -> bool {
        let repetitions = self.placed.placement().repetitions;
        self.placed.job().len(rank) == 0
            || self.ranks[rank as usize].as_ref().is_some_and(|rank| rank.repetition == repetitions)
    }

    /// Lists the receives that wait, rank by rank.
    pub fn waiting(&self) -> Vec<WaitingReceive> {
        let waiting = |(rank, state): (u32, &Option<Box<Rank>>)| {
            let all = state.as_ref().map_or_else(Vec::new, |rank| rank.matching.waiting());
            all.into_iter().map(move |(from, tag, op)| WaitingReceive { rank, op, from, tag })
        };
        (0..).zip(&self.ranks).flat_map(waiting).collect()
    }

    /// Lets a rank handle an event, and everything that it causes at this instant on the same host.
    fn event(&mut self, number: u32, now: Instant, begin: &mut dyn FnMut(Begin), event: impl FnOnce(&mut Run)) {
        self.event_at(number, now, begin, event);
        while let Some(Local { to, at, repetition, message }) = self.local.pop_front() {
            self.event_at(to, now, begin, |run| match at > now {
                true => run.set_timer(at, Timer::Local(repetition, message)),
                false => run.on_message(repetition, message),
            });
        }
    }

    fn event_at(&mut self, number: u32, now: Instant, begin: &mut dyn FnMut(Begin), event: impl FnOnce(&mut Run)) {
        let Machine { placed, ranks, local, spans, trace } = self;
        let rank = ranks[number as usize].get_or_insert_with(Box::default);
        let mut run = Run { placed, number, rank, local, ended: spans, trace: trace.as_mut(), now, begin };
        event(&mut run);
        run.settle();
        run.ask_to_be_woken();
    }
}

impl Default for Rank {
    fn default() -> Rank {
        Rank {
            repetition: BEFORE,
            left: 0,
            left_of: Vec::new(),
            waiting: HashMap::default(),
            causes: 0,
            steps: VecDeque::new(),
            streams: Vec::new(),
            nics: Vec::new(),
            matching: Matching::default(),
            promised: HashMap::default(),
            pieces: HashMap::default(),
            early: BTreeMap::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            woken_at: Instant::NEVER,
            spans: Spans::default(),
        }
    }
}

impl Arrived {
    fn key(self) -> u64 {
        (self.rank as u64) << 32 | self.op as u64
    }
}

/// A rank during an event.
struct Run<'a> {
    placed: &'a Placed,
    number: u32,
    rank: &'a mut Rank,
    local: &'a mut VecDeque<Local>,
    /// Spans of iterations that have ended.
    ended: &'a mut Vec<Span>,
    trace: Option<&'a mut Trace>,
    now: Instant,
    begin: &'a mut dyn FnMut(Begin),
}

impl Run<'_> {
    /// Starts the rank if it has not started, and handles what is due.
    fn on_wake(&mut self) {
        if self.rank.repetition == BEFORE {
            self.begin_repetition(0);
            self.settle();
        }
        while let Some(Reverse((at, _, timer))) = self.rank.timers.peek().copied()
            && at <= self.now
        {
            self.rank.timers.pop();
            match timer {
                Timer::Ran(op) => self.on_ran(op),
                Timer::Taken(op, bytes) => {
                    self.note(op, |entry, now| entry.began = now);
                    self.enqueue(self.stream(op), Task::Take(op, bytes));
                }
                Timer::Free(nic) => self.on_nic_free(nic),
                Timer::Local(repetition, message) => self.on_message(repetition, message),
            }
            self.settle();
        }
    }

    fn begin_repetition(&mut self, repetition: u32) {
        let (repetitions, len) = (self.placed.placement().repetitions, self.placed.job().len(self.number));
        self.rank.repetition = if len == 0 { repetitions } else { repetition };
        if self.rank.repetition < repetitions {
            self.rank.left = len;
            self.count_by_iteration();
            let roots = self.placed.job().roots(self.number);
            self.rank.steps.extend(roots.map(|op| Step::Ready(op, NO_OP)));
        }
    }

    /// Counts the operations of each iteration, if a repetition has several.
    fn count_by_iteration(&mut self) {
        let (job, left) = (self.placed.job(), &mut self.rank.left_of);
        if job.iterations() > 1 {
            left.clear();
            left.resize(job.iterations() as usize, 0);
            (0..job.len(self.number)).for_each(|op| left[job.iteration(self.number, op) as usize] += 1);
        }
    }

    /// Counts the end of an operation, and takes the spans of its iteration if it was the last.
    fn count_end(&mut self, op: u32) {
        let Rank { left, left_of, spans, repetition, .. } = &mut *self.rank;
        *left -= 1;
        if left_of.is_empty() {
            return;
        }
        let (job, iteration) = (self.placed.job(), self.placed.job().iteration(self.number, op));
        let left = &mut left_of[iteration as usize];
        *left -= 1;
        if *left == 0 {
            let here = |phase: u32| job.phases[phase as usize].iteration == iteration;
            spans.take(here, *repetition, self.number, self.ended);
        }
    }

    /// Does everything that is to be done at this instant.
    fn settle(&mut self) {
        loop {
            while let Some(step) = self.rank.steps.pop_front() {
                match step {
                    Step::Ready(op, cause) => self.on_ready(op, cause),
                    Step::Ended(op) => self.on_ended(op),
                }
            }
            if self.rank.repetition == BEFORE || self.rank.repetition == self.placed.placement().repetitions {
                return;
            }
            if let Some(mut early) = self.rank.early.first_entry()
                && *early.key() == self.rank.repetition
            {
                let message = early.get_mut().pop_front();
                if early.get().is_empty() {
                    early.remove();
                }
                message.into_iter().for_each(|message| self.on_arrived(message));
            } else if self.rank.left == 0 {
                self.rank.spans.take(|_| true, self.rank.repetition, self.number, self.ended);
                self.begin_repetition(self.rank.repetition + 1);
            } else {
                return;
            }
        }
    }

    fn ask_to_be_woken(&mut self) {
        let next = self.rank.timers.peek().map_or(Instant::NEVER, |Reverse((at, ..))| *at);
        if next != Instant::NEVER && (next < self.rank.woken_at || self.rank.woken_at <= self.now) {
            self.rank.woken_at = next;
            (self.begin)(Begin::Wake { rank: self.number, at: next });
        }
    }

    fn set_timer(&mut self, at: Instant, timer: Timer) {
        self.rank.timers_set += 1;
        self.rank.timers.push(Reverse((at, self.rank.timers_set, timer)));
    }

    fn stream(&self, op: u32) -> u8 {
        self.placed.job().op(self.number, op).stream
    }

    fn overheads(&self) -> Overheads {
        self.placed.placement().overheads
    }

    /// Keeps what happens to an operation, if its repetition is traced.
    #[inline]
    fn note(&mut self, op: u32, note: impl FnOnce(&mut Entry, Instant)) {
        if let Some(trace) = &mut self.trace
            && trace.repetitions().contains(&self.rank.repetition)
        {
            note(trace.entry_mut(self.placed, self.rank.repetition, self.number, op), self.now);
        }
    }

    /// Keeps that an operation occupies its stream now, and what it waited for.
    fn note_began(&mut self, stream: u8, op: u32) {
        if self.trace.is_none() {
            return;
        }
        let Op { nic, work, .. } = self.placed.job().op(self.number, op);
        let Lane { busy_until: stream_free, last: on_stream, .. } = *lane(&mut self.rank.streams, stream);
        let Lane { busy_until: nic_free, last: on_nic, .. } = *lane(&mut self.rank.nics, nic);
        let is_send = matches!(work, Work::Send { .. });
        self.note(op, |entry, now| {
            let asked = if entry.began != Instant::NEVER { entry.began } else { entry.asked() };
            entry.after = match stream_free.max(if is_send { nic_free } else { Instant::ZERO }) {
                free if free <= asked || now == asked => After::Nothing,
                free if free == stream_free => After::Stream(on_stream),
                _ => After::Nic(on_nic),
            };
            entry.began = now;
        });
    }

    fn on_ready(&mut self, op: u32, cause: u32) {
        self.note(op, |entry, now| (entry.ready, entry.cause) = (now, cause));
        let operation = self.placed.job().op(self.number, op);
        self.rank.spans.on_ready(operation.phase, self.now);
        let Work::Recv { from, tag } = operation.work else {
            return self.enqueue(operation.stream, Task::Run(op));
        };
        self.release(op, When::Started);
        if let Some(message) = self.rank.matching.post(from, tag, op) {
            self.on_matched(op, message);
        }
    }

    fn on_ended(&mut self, op: u32) {
        self.note(op, |entry, now| entry.ended = now);
        let operation = self.placed.job().op(self.number, op);
        if matches!(operation.work, Work::Calc(_)) {
            self.rank.spans.on_computed(operation.phase, self.now);
        }
        self.rank.spans.on_ended(operation.phase, self.now);
        self.count_end(op);
        self.release(op, When::Ended);
    }

    /// Makes ready what waited for an operation to start or to end, and for nothing more.
    fn release(&mut self, cause: u32, when: When) {
        let job = self.placed.job();
        let edges = job.edges(self.number, cause);
        if edges.len() == 0 {
            return;
        }
        self.rank.causes = self.rank.causes.wrapping_add(1);
        let mut released = Vec::new();
        for effect in edges.filter(|edge| edge.when() == when).map(|edge| edge.effect()) {
            let unmet = job.unmet(self.number, effect);
            if unmet == 1 {
                released.push((0, effect));
                continue;
            }
            let waiting = self.rank.waiting.entry(effect).or_insert(Waiting { unmet, last: 0 });
            waiting.unmet -= 1;
            if waiting.unmet == 0 {
                released.push((waiting.last, effect));
                self.rank.waiting.remove(&effect);
            } else {
                waiting.last = self.rank.causes;
            }
        }
        released.sort_unstable();
        self.rank.steps.extend(released.into_iter().map(|(_, op)| Step::Ready(op, cause)));
    }

    fn enqueue(&mut self, stream: u8, task: Task) {
        lane(&mut self.rank.streams, stream).queue.push_back(task);
        self.advance(stream);
    }

    /// Runs what waits for a stream, as far as it is free.
    fn advance(&mut self, stream: u8) {
        while let lane = lane(&mut self.rank.streams, stream)
            && lane.busy_until <= self.now
            && let Some(task) = lane.queue.pop_front()
        {
            match task {
                Task::Run(op) => self.run(stream, op),
                Task::Take(op, bytes) => {
                    let Overheads { message, byte, .. } = self.overheads();
                    self.note_began(stream, op);
                    self.occupy(stream, op, cost(message, byte, bytes));
                }
            }
        }
    }

    /// Occupies a stream with an operation for a time.
    fn occupy(&mut self, stream: u8, op: u32, time: Duration) {
        if time == Duration::ZERO {
            return self.on_stream_left(op);
        }
        let end = self.now + time;
        let lane = lane(&mut self.rank.streams, stream);
        (lane.busy_until, lane.last) = (end, op);
        self.set_timer(end, Timer::Ran(op));
    }

    /// Runs a computation or a send on a free stream. A send waits for its NIC first.
    fn run(&mut self, stream: u8, op: u32) {
        let operation = self.placed.job().op(self.number, op);
        let is_send = matches!(operation.work, Work::Send { .. });
        if let nic = lane(&mut self.rank.nics, operation.nic)
            && is_send
            && nic.busy_until > self.now
        {
            let (first, free) = (nic.queue.is_empty(), nic.busy_until);
            nic.queue.push_back(Task::Run(op));
            if first {
                self.set_timer(free, Timer::Free(operation.nic));
            }
            return;
        }
        self.note_began(stream, op);
        let time = match operation.work {
            Work::Calc(time) => {
                self.rank.spans.on_computing(operation.phase, self.now);
                time
            }
            Work::Recv { .. } => unreachable!("receives occupy no stream before their message has come"),
            Work::Send { bytes, .. } => {
                let Overheads { message, byte, gap, gap_byte, .. } = self.overheads();
                let nic = lane(&mut self.rank.nics, operation.nic);
                (nic.busy_until, nic.last) = (self.now + cost(gap, gap_byte, bytes), op);
                cost(message, byte, bytes)
            }
        };
        self.release(op, When::Started);
        self.occupy(stream, op, time);
    }

    /// Handles the end of the time for which an operation occupied its stream.
    fn on_ran(&mut self, op: u32) {
        self.on_stream_left(op);
        self.advance(self.stream(op));
    }

    /// Ends an operation that has left its stream, unless a send still waits for its receiver.
    fn on_stream_left(&mut self, op: u32) {
        let operation = self.placed.job().op(self.number, op);
        let Work::Send { to, bytes, .. } = operation.work else {
            return self.rank.steps.push_back(Step::Ended(op));
        };
        let (at, repetition) = (self.now + self.overheads().latency, self.rank.repetition);
        self.note(op, |entry, now| entry.message = now);
        self.rank.spans.on_sent(operation.phase, bytes, self.now);
        match self.placed.number_of(self.number, op, repetition) {
            Some(number) => {
                // The request, or else all pieces of the data.
                let asks = bytes > self.placed.placement().eager;
                let pieces = if asks { 1 } else { self.placed.pieces(self.number, op) };
                (0..u32::from(pieces)).for_each(|piece| (self.begin)(Begin::Message { number: number + piece, at }));
                if !self.placed.waits_for_acknowledgement(self.number, op) {
                    self.rank.steps.push_back(Step::Ended(op));
                }
            }
            None => {
                let at = at + self.placed.placement().local.time(bytes);
                let message = Arrived { rank: self.number, op, asks: false };
                self.local.push_back(Local { to, at, repetition, message });
                self.rank.steps.push_back(Step::Ended(op));
            }
        }
    }

    /// Sends the message of a send, for which the receiver has a receive.
    fn send_data(&mut self, op: u32) {
        self.note(op, |entry, now| entry.matched = now);
        let number = self.placed.number_of(self.number, op, self.rank.repetition).expect("it asked over the network");
        for piece in 0..u32::from(self.placed.pieces(self.number, op)) {
            (self.begin)(Begin::Message { number: number + Part::Data as u32 + piece, at: self.now });
        }
    }

    fn on_nic_free(&mut self, nic: u8) {
        while let lane = lane(&mut self.rank.nics, nic)
            && lane.busy_until <= self.now
            && let Some(Task::Run(op)) = lane.queue.pop_front()
        {
            self.enqueue(self.stream(op), Task::Run(op));
        }
        let lane = lane(&mut self.rank.nics, nic);
        if !lane.queue.is_empty() {
            let free = lane.busy_until;
            self.set_timer(free, Timer::Free(nic));
        }
    }

    /// Counts a piece that has come, and tells whether all have.
    fn is_last_piece(&mut self, message: (u64, u32), pieces: u16) -> bool {
        let come = self.rank.pieces.entry(message).or_insert(0);
        *come += 1;
        *come == pieces && self.rank.pieces.remove(&message).is_some()
    }

    fn on_message(&mut self, repetition: u32, message: Arrived) {
        if self.rank.repetition != repetition {
            return self.rank.early.entry(repetition).or_default().push_back(message);
        }
        self.on_arrived(message);
    }

    /// Handles a message of the repetition that runs.
    fn on_arrived(&mut self, message: Arrived) {
        if !message.asks
            && let Some(op) = self.rank.promised.remove(&message.key())
        {
            return self.take(op, message);
        }
        let tag = self.placed.tag(message.rank, message.op);
        if let Some((op, message)) = self.rank.matching.arrive(message.rank, tag, message) {
            self.on_matched(op, message);
        }
    }

    /// Handles the match of receive `op` with a message.
    fn on_matched(&mut self, op: u32, message: Arrived) {
        if !message.asks {
            return self.take(op, message);
        }
        self.note(op, |entry, now| entry.matched = now);
        self.rank.promised.insert(message.key(), op);
        let number = self.placed.number_of(message.rank, message.op, self.rank.repetition);
        let number = number.expect("it came over the network") + Part::Clear as u32;
        (self.begin)(Begin::Message { number, at: self.now });
    }

    /// Ends receive `op`, whose message is there, after what that costs the host.
    fn take(&mut self, op: u32, message: Arrived) {
        self.note(op, |entry, now| (entry.message, entry.sender) = (now, (message.rank, message.op)));
        let Overheads { message: each, byte, gap, gap_byte, gap_at_receiver, .. } = self.overheads();
        let bytes = self.placed.bytes(message.rank, message.op);
        let operation = self.placed.job().op(self.number, op);
        if gap_at_receiver && cost(gap, gap_byte, bytes) > Duration::ZERO {
            let nic = lane(&mut self.rank.nics, operation.nic);
            (nic.busy_until, nic.last) = (nic.busy_until.max(self.now) + cost(gap, gap_byte, bytes), op);
            let taken = nic.busy_until;
            self.set_timer(taken, Timer::Taken(op, bytes));
        } else if cost(each, byte, bytes) > Duration::ZERO {
            self.enqueue(operation.stream, Task::Take(op, bytes));
        } else {
            self.note(op, |entry, now| entry.began = now);
            self.rank.steps.push_back(Step::Ended(op));
        }
    }
}

/// Time for a message of `bytes`: so much for each, and so much for each byte after the first.
fn cost(message: Duration, byte: Duration, bytes: u64) -> Duration {
    message + Duration(byte.0 * bytes.saturating_sub(1))
}

/// Returns lane number `number`, which may be used for the first time.
fn lane(lanes: &mut Vec<Lane>, number: u8) -> &mut Lane {
    let number = number as usize;
    if lanes.len() <= number {
        lanes.resize_with(number + 1, Lane::default);
    }
    &mut lanes[number]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Job, JobBuilder};
    use crate::op::ANY;
    use crate::toy::{Played, placement, play, random, random_placement};
    use backwater_types::hash::{Stream, mix64};

    /// The job of LogGOPSim's `binary_tree_32.goal`: rank r passes a byte on to r + 2^k for all 2^k above it.
    fn binary_tree() -> Job {
        let mut builder = JobBuilder::default();
        for rank in 0..32_u32 {
            let top = rank.checked_ilog2();
            let from = top.map(|top| builder.op(Op::recv(rank - (1 << top), 0)));
            for k in top.map_or(0, |top| top + 1)..5 {
                builder.op_after(Op::send(rank + (1 << k), 1, 0), from.as_slice());
            }
            builder.end_rank().expect("no cycle");
        }
        builder.finish().expect("matched")
    }

    /// README of LogGOPSim: four hops take 22,000 ns, so five take 27,500. In ATLAHS a hop also has the receiver's gap.
    #[test]
    fn a_binary_tree_takes_what_loggopsim_says() {
        for (gap_at_receiver, ns) in [(false, 27_500), (true, 32_500)] {
            let mut placed = placement((0..32).collect());
            placed.overheads.message = Duration::from_ns(1500);
            placed.overheads.gap = Duration::from_ns(1000);
            placed.overheads.gap_at_receiver = gap_at_receiver;
            let Played { machine, last, order, .. } = play(binary_tree(), placed, &mut |_| Duration::from_ns(2500));
            assert_eq!((last, order.len()), (Instant(ns * 1000), 31));
            assert!((0..32).all(|rank| machine.has_ended(rank)));
        }
    }

    /// Every operation runs once, after what it requires, whatever the network does.
    #[test]
    fn random_jobs_run_to_their_end_in_order() {
        for seed in 0..2000 {
            let mut rng = Stream::new(seed, 3, 4);
            let ranks = 1 + rng.next_u32() % 6;
            let ops = 5 + rng.next_u32() % 60;
            let eager = [u64::MAX, 1000, 0][rng.next_u32() as usize % 3];
            let job = random(&mut rng, ranks, ops, eager != u64::MAX);
            let placement = random_placement(&mut rng, ranks, eager);
            let Played { machine, mut order, .. } =
                play(job, placement, &mut |_| Duration(1 + rng.next_u32() as u64 % 700));
            let placed = machine.placed();
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..placed.messages()), "seed {seed}: each message starts once");
            let trace = machine.traced().expect("traced");
            for rank in 0..ranks {
                assert!(machine.has_ended(rank), "seed {seed}: {:?}", machine.waiting());
            }
            let every = trace.repetitions().flat_map(|repetition| (0..ranks).map(move |rank| (repetition, rank)));
            for (repetition, rank) in every {
                let of = |rank, op| trace.entry(placed, repetition, rank, op);
                for op in 0..placed.job().len(rank) {
                    let cause = of(rank, op);
                    assert!(cause.ready <= cause.began && cause.began <= cause.ended && cause.ended < Instant::NEVER);
                    let is_receive = matches!(placed.job().op(rank, op).work, Work::Recv { .. });
                    let started = if is_receive { cause.ready } else { cause.began };
                    for edge in placed.job().edges(rank, op) {
                        let met = if edge.when() == When::Ended { cause.ended } else { started };
                        assert!(met <= of(rank, edge.effect()).ready, "seed {seed}: {rank}.{op}");
                    }
                    if let (sender, send) = cause.sender
                        && sender != NO_OP
                    {
                        assert!(of(sender, send).message <= cause.message);
                    }
                }
            }
        }
    }

    #[test]
    fn a_job_in_a_file_runs_as_one_in_memory_does() {
        for seed in 0..300 {
            let mut rng = Stream::new(seed, 5, 6);
            let ranks = 1 + rng.next_u32() % 6;
            let job = random(&mut rng, ranks, 60, true);
            let in_file = job.with_rows_max(rng.next_u32() as usize % 40);
            assert_eq!(in_file, job, "seed {seed}");
            let placement = random_placement(&mut rng, ranks, 1000);
            let played = |job: &Job| {
                let takes = &mut |number| Duration(1 + mix64(seed ^ u64::from(number) << 32) % 700);
                let Played { last, order, times, .. } = play(job.clone(), placement.clone(), takes);
                (last, order, times)
            };
            assert_eq!(played(&in_file), played(&job), "seed {seed}");
        }
    }

    #[test]
    fn a_receive_of_any_source_takes_what_comes_first() {
        let mut builder = JobBuilder::default();
        for _ in 0..2 {
            builder.op(Op::send(2, 10, 5));
            builder.end_rank().expect("one operation");
        }
        builder.op(Op::recv(ANY, 5));
        builder.op_after(Op::recv(ANY, ANY), &[0]);
        builder.end_rank().expect("two operations");
        let job = builder.finish().expect("matched");
        let takes = |number| Duration([300, 200][number as usize]);
        let machine = play(job, placement(vec![0, 1, 2]), &mut { takes }).machine;
        let sender = |op| machine.traced().expect("traced").entry(machine.placed(), 0, 2, op).sender.0;
        assert_eq!((sender(0), sender(1)), (1, 0));
    }
}
