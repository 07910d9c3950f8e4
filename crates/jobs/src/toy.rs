//! A network for tests, in which each message takes a time that the test says.

use crate::drive::{First, When, drive};
use crate::job::{self, Job, JobBuilder};
use crate::machine::Machine;
use crate::op::{Op, Work};
use crate::placed::{self, Overheads, Placed, Placement, Transfer};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Instant};
use std::collections::HashMap;
use std::sync::Arc;

/// What happened when a job ran.
pub(crate) struct Played {
    pub machine: Machine,
    /// Time of the last event.
    pub last: Instant,
    /// Messages, in the order in which they started.
    pub order: Vec<u32>,
    /// `[number]`: start of a message, its arrival, and its acknowledgement.
    pub times: [Vec<Instant>; 3],
}

/// Runs a job to its end. Messages take a time that `takes` returns, and acknowledgements half of it. A message leaves
/// its queue pair to the next one after a quarter of that time.
pub(crate) fn play(job: Job, placement: Placement, takes: &mut dyn FnMut(u32) -> Duration) -> Played {
    let hosts = placement.hosts.iter().max().map_or(1, |host| *host as usize + 1);
    let placed = Arc::new(Placed::new(Arc::new(job), placement, hosts, 1 << 23).expect("few messages"));
    let mut machine = Machine::new(placed.clone());
    machine.trace(0..placed.placement().repetitions);
    let times = [(); 3].map(|()| vec![Instant::NEVER; placed.messages() as usize]);
    let mut played = Played { machine, last: Instant::ZERO, order: Vec::new(), times };
    let when = When { start: Instant::ZERO, tick: 1, end: Instant::NEVER, first: First::Wakes };
    // When each queue pair may begin its next message.
    let mut free = HashMap::new();
    let Played { machine, order, times, .. } = &mut played;
    played.last = drive(machine, when, &mut |number, at| {
        order.push(number);
        let takes = takes(number);
        let Transfer { src, dst, queue_pair, .. } = placed.transfer(number);
        let at = queue_pair.map_or(at, |pair| {
            let free = free.entry((src, dst, pair)).or_insert(at);
            let begin = at.max(*free);
            *free = begin + Duration(takes.0 / 4);
            begin
        });
        let [received, acknowledged] = [at + takes, at + takes + Duration(takes.0 / 2)];
        times.iter_mut().zip([at, received, acknowledged]).for_each(|(all, at)| all[number as usize] = at);
        [received, acknowledged]
    });
    played
}

/// Places each rank once.
pub(crate) fn placement(hosts: Vec<u16>) -> Placement {
    Placement {
        hosts,
        repetitions: 1,
        eager: u64::MAX,
        control: 64,
        queue_pairs: None,
        overheads: Overheads::default(),
        local: placed::Local::default(),
    }
}

/// Makes a random job without deadlock: operations are added in one order of all ranks, and a receive is added after
/// its send. Each message has a tag of its own. If senders ask first, nothing waits for the end of a send: its receive
/// may come after what waits.
pub(crate) fn random(rng: &mut Stream, ranks: u32, ops: u32, asks: bool) -> Job {
    let mut draw = |n: u32| rng.next_u32() % n;
    let mut of_rank = vec![Vec::<(Op, Vec<(u32, job::When)>)>::new(); ranks as usize];
    // Messages that are sent and not yet received: sender, receiver, tag.
    let mut flying = Vec::<(u32, u32, u32)>::new();
    for tag in 0..ops {
        let rank = draw(ranks);
        let here = flying.iter().position(|(_, to, _)| *to == rank);
        let op = match (draw(3), here) {
            (0, _) => Op::calc(Duration(draw(4) as u64 * 100)),
            (1, Some(at)) => {
                let (from, _, tag) = flying.remove(at);
                Op::recv(from, tag)
            }
            _ => {
                let to = draw(ranks);
                flying.push((rank, to, tag));
                Op { acknowledged: draw(4) == 0, ..Op::send(to, [1, 900, 5000][draw(3) as usize], tag) }
            }
        };
        let own = &mut of_rank[rank as usize];
        let mut causes = Vec::new();
        for _ in 0..if own.is_empty() { 0 } else { draw(3) } {
            let cause = draw(own.len() as u32);
            let is_send = matches!(own[cause as usize].0.work, Work::Send { .. });
            let started = draw(2) == 0 || asks && is_send;
            causes.push((cause, if started { job::When::Started } else { job::When::Ended }));
        }
        own.push((op.on(draw(2) as u8), causes));
    }
    for (from, to, tag) in flying {
        of_rank[to as usize].push((Op::recv(from, tag), vec![]));
    }
    let mut builder = JobBuilder::default();
    for own in &of_rank {
        for (op, causes) in own {
            let number = builder.op(*op);
            causes.iter().for_each(|(cause, when)| builder.after(*cause, number, *when));
        }
        builder.end_rank().expect("causes come before");
    }
    builder.finish().expect("each send has a receive")
}

/// Places a job on up to four hosts, with repetitions, queue pairs and overheads.
pub(crate) fn random_placement(rng: &mut Stream, ranks: u32, eager: u64) -> Placement {
    let mut placement = placement((0..ranks).map(|_| (rng.next_u32() % 4) as u16).collect());
    placement.repetitions = 1 + rng.next_u32() % 3;
    placement.eager = eager;
    placement.queue_pairs = [None, Some(1), Some(3)][rng.next_u32() as usize % 3];
    placement.local.latency = Duration(rng.next_u32() as u64 % 2 * 50);
    if rng.next_u32().is_multiple_of(2) {
        let mut time = || Duration(rng.next_u32() as u64 % 3 * 40);
        let (message, gap, latency) = (time(), time(), time());
        let gap_at_receiver = time() == Duration::ZERO;
        placement.overheads = Overheads { message, gap, latency, gap_at_receiver, ..Overheads::default() };
    }
    placement
}
