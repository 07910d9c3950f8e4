//! A job on a network: ranks on hosts, and the numbers of messages.
//!
//! A simulation numbers flows before it starts. Messages of one repetition of the job are numbered in this order: by
//! how many messages their rank sends before them, then by receiving rank, then by sending rank. So neither the file
//! that a job comes from nor the order of its receives matters.
//!
//! Messages between ranks of one host cross no network and have no number.

use crate::job::Job;
use crate::op::Work;
use backwater_paged::{Paged, Record};
use backwater_types::{BitsPerSec, Duration};
use std::sync::Arc;

/// How a job runs, besides its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// `[rank]`: its host.
    pub hosts: Vec<u16>,
    /// How often the job runs. A rank starts the next repetition when it has ended the one before.
    pub repetitions: u32,
    /// Largest message that is sent at once. Of a larger one the sender asks the receiver first.
    pub eager: u64,
    /// Payload of the request and of the answer that precede a larger message, bytes.
    pub control: u64,
    /// Queue pairs of each pair of hosts, of RDMA. A message is divided among them. All data of a queue pair takes one path,
    /// and its messages leave one after the other. `None`: each message takes a path of its own.
    pub queue_pairs: Option<u16>,
    /// Time that messages cost at hosts.
    pub overheads: Overheads,
    /// Messages between ranks of one host.
    pub local: Local,
}

/// Time that messages cost at hosts, by the LogGOPS model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// Time of a stream for each message, at both ends: *o*.
    pub message: Duration,
    /// Time of a stream for each byte after the first, at both ends: *O*.
    pub byte: Duration,
    /// Time of a NIC for each message that it sends: *g*.
    pub gap: Duration,
    /// Time of a NIC for each byte after the first that it sends, besides the time on its link: *G*.
    pub gap_byte: Duration,
    /// Time from the end of a send to the first packet: *L* without the network's part.
    pub latency: Duration,
    /// The NIC of the receiver is occupied for the gap, too, before its stream is. So it is in ATLAHS, but not in
    /// LogGOPSim.
    pub gap_at_receiver: bool,
}

/// Messages between ranks of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// Time that any message takes.
    pub latency: Duration,
    /// Rate at which it crosses; `None`: at once.
    pub rate: Option<BitsPerSec>,
}

impl Placement {
    /// Number of pieces that the data of a message is sent in.
    pub fn pieces(&self, bytes: u64) -> u16 {
        self.queue_pairs.map_or(1, |pairs| u64::from(pairs).min(bytes.max(1)) as u16)
    }

    /// Checks that there are not too many messages to number, as [`Placed::new`] does.
    ///
    /// # Errors
    /// If there are.
    pub fn check(&self, job: &Job, hosts: usize, max_to_host: u32) -> Result<(), TooManyMessages> {
        let (mut to_host, mut all) = (vec![0; hosts], 0);
        for rank in 0..job.ranks() {
            let from = self.hosts[rank as usize];
            for (to, bytes) in job.sends(rank) {
                let to = self.hosts[to as usize];
                if from != to {
                    let asks = u64::from(bytes > self.eager);
                    let there = asks + u64::from(self.pieces(bytes));
                    to_host[to as usize] += there;
                    to_host[from as usize] += asks;
                    all += there + asks;
                }
            }
        }
        self.limit(to_host.into_iter().max().unwrap_or(0), all, max_to_host)
    }

    /// Checks the numbers of messages of one repetition: most to one host, and all.
    fn limit(&self, most: u64, all: u64, max_to_host: u32) -> Result<(), TooManyMessages> {
        let repetitions = u64::from(self.repetitions);
        let limits = [(most, u64::from(max_to_host), true), (all, u64::from(u32::MAX), false)];
        match limits.into_iter().find(|(messages, max, _)| messages * repetitions > *max) {
            Some((messages, max, to_one)) => Err(TooManyMessages { messages: messages * repetitions, max, to_one }),
            None => Ok(()),
        }
    }
}

impl Local {
    /// Time that a message of `bytes` takes.
    pub fn time(&self, bytes: u64) -> Duration {
        let crossing = self.rate.map_or(0, |rate| (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(rate.0)));
        Duration(self.latency.0.saturating_add(u64::try_from(crossing).unwrap_or(u64::MAX)))
    }
}

/// Part of a send that crosses the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Part {
    /// The sender asks the receiver for a receive that matches.
    Request,
    /// The receiver has one.
    Clear,
    /// The message itself.
    Data,
}

/// A message of a job on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Rank that sends the data.
    pub rank: u32,
    /// Number of the send among the operations of that rank.
    pub op: u32,
    /// Part of it.
    pub part: Part,
    /// Piece of the data, from 0: the queue pair that carries it.
    pub piece: u16,
}

/// What a message costs the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Host that the message leaves.
    pub src: u16,
    /// Host that it goes to.
    pub dst: u16,
    /// Payload.
    pub bytes: u64,
    /// Number among the messages to the same host, over all repetitions.
    pub slot: u32,
    /// Queue pair that carries it; `None` if it takes a path of its own.
    pub queue_pair: Option<u16>,
}

/// A job with its ranks on hosts.
#[derive(Clone, Debug)]
pub struct Placed {
    pub(crate) job: Arc<Job>,
    pub(crate) placement: Placement,
    /// `[place of a send]`: number of its first part, which those of its other parts follow; [`NONE`] of a send within a host, and of what is no send.
    numbers: Paged<u32>,
    /// `[number]`: message of the first repetition.
    messages: Paged<Numbered>,
    /// `[host]`: messages to it in one repetition.
    to_host: Vec<u32>,
    /// `[host]`: its ranks are `ranks[of_host[host]..of_host[host + 1]]`.
    of_host: Vec<u32>,
    ranks: Vec<u32>,
}

/// A message of one repetition.
#[derive(Clone, Copy, Debug)]
struct Numbered {
    message: Message,
    /// Its place among those to the receiving host.
    slot: u32,
}

impl Record for Numbered {
    const BYTES: usize = 16;

    fn write(self, into: &mut [u8]) {
        let Numbered { message: Message { rank, op, part, piece }, slot } = self;
        let words = [rank, op, slot, u32::from(piece) << 16 | part as u32];
        into.chunks_exact_mut(4).zip(words).for_each(|(into, word)| word.write(into));
    }

    fn read(from: &[u8]) -> Numbered {
        let [rank, op, slot, last] = [0, 4, 8, 12].map(|at| u32::read(&from[at..at + 4]));
        let part = [Part::Request, Part::Clear, Part::Data][(last & 3) as usize];
        Numbered { message: Message { rank, op, part, piece: (last >> 16) as u16 }, slot }
    }
}

/// Number of no message.
const NONE: u32 = u32::MAX;

/// Why a job cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{messages} messages {}: expected at most {max}", if *.to_one { "to one host" } else { "over all repetitions" })]
pub struct TooManyMessages {
    /// How many there are.
    pub messages: u64,
    /// How many there may be.
    pub max: u64,
    /// Whether these are the messages to one host.
    pub to_one: bool,
}

impl Placed {
    /// Places `job` on hosts `0..hosts` of a network. At most `max_to_host` messages may go to any of them.
    ///
    /// # Errors
    /// If there are too many messages to number.
    ///
    /// # Panics
    /// If the placement has not one host for each rank.
    pub fn new(job: Arc<Job>, placement: Placement, hosts: usize, max_to_host: u32) -> Result<Placed, TooManyMessages> {
        assert_eq!(placement.hosts.len(), job.ranks() as usize, "a host for each rank");
        let mut of_host = vec![0; hosts + 1];
        placement.hosts.iter().for_each(|host| of_host[*host as usize + 1] += 1);
        (0..hosts).for_each(|host| of_host[host + 1] += of_host[host]);
        let mut ranks: Vec<u32> = (0..job.ranks()).collect();
        ranks.sort_by_key(|rank| placement.hosts[*rank as usize]);
        let max = job.rows_max();
        let numbers = Paged::filled(NONE, job.places(), max);
        let to_host = vec![0; hosts];
        let mut placed = Placed { job, placement, numbers, messages: Paged::new(max), to_host, of_host, ranks };
        placed.number(max_to_host)?;
        Ok(placed)
    }

    /// Numbers the messages of one repetition.
    fn number(&mut self, max_to_host: u32) -> Result<(), TooManyMessages> {
        let Placed { job, placement, numbers, messages, to_host, .. } = self;
        // Sends of each rank that are still to be numbered start here.
        let mut sending: Vec<(u32, u32)> = (0..job.ranks()).map(|rank| (rank, 0)).collect();
        let mut level = Vec::new();
        while !sending.is_empty() {
            level.clear();
            sending.retain_mut(|(rank, next)| {
                while *next < job.len(*rank) {
                    let op = *next;
                    *next += 1;
                    if let Work::Send { to, bytes, .. } = job.op(*rank, op).work
                        && placement.hosts[*rank as usize] != placement.hosts[to as usize]
                    {
                        level.push((to, *rank, op, bytes));
                        return true;
                    }
                }
                false
            });
            level.sort_unstable();
            for (to, rank, op, bytes) in &level {
                let asks = &(*bytes > placement.eager);
                numbers.set(job.place(*rank, *op), messages.len() as u32);
                let asking = if *asks { &[Part::Request, Part::Clear][..] } else { &[] };
                let asking = asking.iter().map(|part| (*part, 0));
                let data = (0..placement.pieces(*bytes)).map(|piece| (Part::Data, piece));
                for (part, piece) in asking.chain(data) {
                    let at = if part == Part::Clear { rank } else { to };
                    let slot = &mut to_host[placement.hosts[*at as usize] as usize];
                    let message = Message { rank: *rank, op: *op, part, piece };
                    messages.push(Numbered { message, slot: *slot });
                    *slot += 1;
                }
            }
        }
        let most = to_host.iter().max().map_or(0, |most| u64::from(*most));
        placement.limit(most, messages.len() as u64, max_to_host)
    }

    /// Returns the job.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Returns how the job runs.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Number of the first message of a rank; after all others for one that sends none over the network.
    pub fn first_message(&self, rank: u32) -> u32 {
        let from = self.job.place(rank, 0);
        let numbers = self.numbers.scan(from..from + self.job.len(rank) as usize);
        numbers.filter(|number| *number != NONE).min().unwrap_or(self.messages.len() as u32 + rank)
    }

    /// Number of messages on the network, over all repetitions.
    pub fn messages(&self) -> u32 {
        self.messages.len() as u32 * self.placement.repetitions
    }

    /// Ranks of a host, in rising order.
    pub fn ranks_of(&self, host: u16) -> &[u32] {
        let [from, to] = [host as usize, host as usize + 1].map(|host| self.of_host[host] as usize);
        &self.ranks[from..to]
    }

    /// Host of a rank.
    pub fn host(&self, rank: u32) -> u16 {
        self.placement.hosts[rank as usize]
    }

    /// Rank that a send goes to.
    pub(crate) fn receiver(&self, rank: u32, op: u32) -> u32 {
        self.send(rank, op).0
    }

    /// Payload of a send.
    pub(crate) fn bytes(&self, rank: u32, op: u32) -> u64 {
        self.send(rank, op).1
    }

    /// Tag of a send.
    pub(crate) fn tag(&self, rank: u32, op: u32) -> u32 {
        self.send(rank, op).2
    }

    fn send(&self, rank: u32, op: u32) -> (u32, u64, u32) {
        let Work::Send { to, bytes, tag } = self.job.op(rank, op).work else { unreachable!("messages are of sends") };
        (to, bytes, tag)
    }

    /// Whether a send ends only when its message has been acknowledged.
    pub(crate) fn waits_for_acknowledgement(&self, rank: u32, op: u32) -> bool {
        self.job.op(rank, op).acknowledged || self.bytes(rank, op) > self.placement.eager
    }

    /// Returns the message with a number, and its repetition.
    pub fn message(&self, number: u32) -> (Message, u32) {
        let (numbered, repetition) = self.numbered(number);
        (numbered.message, repetition)
    }

    fn numbered(&self, number: u32) -> (Numbered, u32) {
        let each = self.messages.len() as u32;
        (self.messages.get((number % each) as usize), number / each)
    }

    /// Number of pieces of a send.
    pub(crate) fn pieces(&self, rank: u32, op: u32) -> u16 {
        self.placement.pieces(self.bytes(rank, op))
    }

    /// Returns the number of the first part of a send in a repetition; its other parts have the next numbers. `None` if
    /// both ranks are on one host.
    pub fn number_of(&self, rank: u32, op: u32, repetition: u32) -> Option<u32> {
        let number = Some(self.numbers.get(self.job.place(rank, op))).filter(|number| *number != NONE)?;
        Some(repetition * self.messages.len() as u32 + number)
    }

    /// Returns what the message with a number costs the network.
    pub fn transfer(&self, number: u32) -> Transfer {
        let (Numbered { message: Message { rank, op, part, piece }, slot }, repetition) = self.numbered(number);
        let (to, bytes, _) = self.send(rank, op);
        let (from, to) = if part == Part::Clear { (to, rank) } else { (rank, to) };
        let (src, dst) = (self.host(from), self.host(to));
        let pieces = u64::from(self.placement.pieces(bytes));
        // Pieces differ by at most one byte; the first ones are the longer ones.
        let bytes = bytes.max(1) / pieces + u64::from(u64::from(piece) < bytes.max(1) % pieces);
        let bytes = if part == Part::Data { bytes } else { self.placement.control };
        let slot = slot + repetition * self.to_host[dst as usize];
        Transfer { src, dst, bytes, slot, queue_pair: self.placement.queue_pairs.map(|_| piece) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobBuilder;
    use crate::op::Op;
    use crate::toy::{random, random_placement};
    use backwater_types::hash::Stream;

    /// A job in which each of `ranks` sends `sends[rank]`, destinations and bytes, and receives what the others send.
    fn job(sends: &[&[(u32, u64)]]) -> Arc<Job> {
        let mut builder = JobBuilder::default();
        for (rank, own) in (0..).zip(sends) {
            own.iter().for_each(|(to, bytes)| _ = builder.op(Op::send(*to, *bytes, 0)));
            for (from, other) in (0..).zip(sends) {
                let here = other.iter().filter(|(to, _)| *to == rank);
                here.for_each(|_| _ = builder.op(Op::recv(from, 0)));
            }
            builder.end_rank().expect("no dependency");
        }
        Arc::new(builder.finish().expect("matched"))
    }

    fn placement(hosts: &[u16]) -> Placement {
        Placement {
            hosts: hosts.to_vec(),
            repetitions: 2,
            eager: 1000,
            control: 64,
            queue_pairs: None,
            overheads: Overheads::default(),
            local: Local::default(),
        }
    }

    #[test]
    fn messages_are_numbered_by_their_turn_then_by_receiver() {
        let job = job(&[&[(1, 10), (2, 20)], &[(2, 30), (0, 2000)], &[(1, 50)]]);
        let placed = Placed::new(job.clone(), placement(&[4, 5, 6]), 8, 100).expect("few messages");
        let first: Vec<_> = (0..7).map(|number| placed.message(number).0).map(|m| (m.rank, m.op, m.part)).collect();
        use Part::{Clear, Data, Request};
        let expected =
            [(0, 0, Data), (2, 0, Data), (1, 0, Data), (1, 1, Request), (1, 1, Clear), (1, 1, Data), (0, 1, Data)];
        assert_eq!(first, expected);
        assert_eq!(placed.messages(), 14);
        for number in 0..14 {
            let (Message { rank, op, part, .. }, repetition) = placed.message(number);
            let later = if op == 1 && rank == 1 { part as u32 } else { 0 };
            assert_eq!(placed.number_of(rank, op, repetition), Some(number - later));
        }
        let transfer = |number| placed.transfer(number);
        assert_eq!(transfer(4), Transfer { src: 4, dst: 5, bytes: 64, slot: 2, queue_pair: None });
        assert_eq!(transfer(4 + 7), Transfer { src: 4, dst: 5, bytes: 64, slot: 5, queue_pair: None });
        assert_eq!(transfer(5), Transfer { src: 5, dst: 4, bytes: 2000, slot: 1, queue_pair: None });
        let error = Placed::new(job, placement(&[4, 5, 6]), 8, 5).expect_err("six messages to host 5");
        assert_eq!(error.to_string(), "6 messages to one host: expected at most 5");
    }

    #[test]
    fn a_message_is_divided_among_queue_pairs() {
        let (job, pairs) =
            (job(&[&[(1, 10), (1, 2), (1, 2000)], &[]]), Placement { queue_pairs: Some(4), ..placement(&[0, 1]) });
        let placed = Placed::new(job, pairs, 2, 100).expect("few messages");
        let pieces: Vec<_> = (0..12).map(|number| placed.transfer(number)).map(|t| (t.bytes, t.queue_pair)).collect();
        let expected =
            [(3, 0), (3, 1), (2, 2), (2, 3), (1, 0), (1, 1), (64, 0), (64, 0), (500, 0), (500, 1), (500, 2), (500, 3)];
        assert_eq!(pieces, expected.map(|(bytes, pair)| (bytes, Some(pair))));
    }

    /// The check counts the messages that `Placed::new` numbers.
    #[test]
    fn a_placement_that_is_checked_can_be_numbered_and_no_other() {
        let mut refused = 0;
        for seed in 0..500 {
            let mut rng = Stream::new(seed, 1, 1);
            let ranks = 1 + rng.next_u32() % 6;
            let job = Arc::new(random(&mut rng, ranks, 40, true));
            let placement = random_placement(&mut rng, ranks, [u64::MAX, 1000, 0][seed as usize % 3]);
            let max = rng.next_u32() % 100;
            let numbered = Placed::new(job.clone(), placement.clone(), 4, max).map(|_| ());
            assert_eq!(placement.check(&job, 4, max), numbered, "seed {seed}");
            refused += u32::from(numbered.is_err());
        }
        assert!((50..450).contains(&refused), "{refused}");
    }

    #[test]
    fn messages_within_a_host_have_no_number() {
        let placed = Placed::new(job(&[&[(1, 10), (2, 20)], &[], &[]]), placement(&[3, 3, 0]), 4, 100).expect("few");
        assert_eq!((placed.messages(), placed.ranks_of(3), placed.ranks_of(0)), (2, &[0, 1][..], &[2][..]));
        assert_eq!(placed.number_of(0, 0, 0), None);
    }
}
