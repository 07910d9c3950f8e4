//! Jobs that were read run as their files say, on a network where a message takes its bytes in ns plus 100 ns, and its
//! acknowledgement 100 ns more.

use backwater_jobs::htsim::matrix::{Begin as Beginning, Flow, Kind, Trigger};
use backwater_jobs::htsim::{self, Matrix, Unit};
use backwater_jobs::placed::{Local, Overheads};
use backwater_jobs::{Begin, Job, Machine, Placed, Placement, csv};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake(u32),
    Received(u32),
    Acknowledged(u32),
}

/// Runs a job with each rank on a host of its own. Returns when each message started, ns, by tag.
fn starts(job: Job) -> BTreeMap<u32, Vec<u64>> {
    let ranks = job.ranks();
    let placement = Placement {
        hosts: (0..ranks as u16).collect(),
        repetitions: 1,
        eager: u64::MAX,
        control: 1,
        queue_pairs: None,
        overheads: Overheads::default(),
        local: Local::default(),
    };
    let placed = Arc::new(Placed::new(Arc::new(job), placement, ranks as usize, 1000).expect("few messages"));
    let mut machine = Machine::new(placed.clone());
    let mut starts = BTreeMap::<u32, Vec<u64>>::new();
    let mut events: BinaryHeap<_> = (0..ranks).map(|rank| Reverse((Instant::ZERO, Event::Wake(rank)))).collect();
    while let Some(Reverse((now, event))) = events.pop() {
        let mut begun = Vec::new();
        let mut begin = |it| begun.push(it);
        match event {
            Event::Wake(rank) => machine.on_wake(rank, now, &mut begin),
            Event::Received(number) => machine.on_received(number, now, &mut begin),
            Event::Acknowledged(number) => machine.on_acknowledged(number, now, &mut begin),
        }
        for it in begun {
            match it {
                Begin::Wake { rank, at } => events.push(Reverse((at, Event::Wake(rank)))),
                Begin::Message { number, at } => {
                    let (message, _) = placed.message(number);
                    let op = placed.job().op(message.rank, message.op);
                    let backwater_jobs::Work::Send { tag, bytes, .. } = op.work else {
                        panic!("messages are of sends")
                    };
                    starts.entry(tag).or_default().push(at.0 / 1000);
                    let arrival = at + Duration::from_ns(bytes + 100);
                    events.push(Reverse((arrival, Event::Received(number))));
                    events.push(Reverse((arrival + Duration::from_ns(100), Event::Acknowledged(number))));
                }
            }
        }
    }
    (0..ranks).for_each(|rank| assert!(machine.has_ended(rank), "rank {rank} waits: {:?}", machine.waiting()));
    starts
}

/// Starts of flows of a connection matrix, ns, in the order of the file.
fn flows(lines: &str, signal: Option<u64>) -> Vec<u64> {
    let matrix = htsim::matrix::read(&format!("Nodes 8\n{lines}"), "f.cm", Unit::Microseconds).expect("valid");
    let starts = starts(matrix.job("f.cm", signal).expect("valid"));
    (0..matrix.flows.len() as u32).map(|flow| starts[&flow][0]).collect()
}

#[test]
fn flows_start_when_the_matrix_says() {
    let text = "0->1 start 7 size 1000\n0->1 start 3 size 100000\n0->2 start 0 size 5\n0->2 start 3 size 5\n1->0 start 7 size 1";
    assert_eq!(flows(text, None), [7000, 3000, 0, 3000, 7000]);
}

#[test]
fn triggers_fire_at_the_sender_after_the_acknowledgement_and_at_the_receiver_before() {
    let text = "0->1 id 1 start 0 size 1000 send_done_trigger 1 recv_done_trigger 2\n0->2 id 2 trigger 1 size 5\n\
                1->3 id 3 trigger 2 size 5\ntrigger id 1 oneshot\ntrigger id 2 oneshot";
    assert_eq!(flows(text, None), [0, 1200, 1100]);
}

#[test]
fn hits_are_counted_as_they_come() {
    // The second flow is the first to end.
    let text = "0->1 id 1 start 0 size 1000 send_done_trigger 1\n0->2 id 2 start 0 size 300 send_done_trigger 1\n\
                0->3 id 3 trigger 1 size 1\n0->4 id 4 trigger 1 size 1\ntrigger id 1 KIND";
    assert_eq!(flows(&text.replace("KIND", "multishot"), None), [0, 0, 500, 1200]);
    assert_eq!(flows(&text.replace("KIND", "oneshot"), None), [0, 0, 500, 500]);
    assert_eq!(flows(&text.replace("KIND", "barrier count 2"), None), [0, 0, 1200, 1200]);
}

#[test]
fn a_signal_takes_a_message() {
    let text = "0->1 id 1 start 0 size 1000 send_done_trigger 1\n5->2 id 2 start 0 size 300 recv_done_trigger 1\n\
                3->4 id 3 trigger 1 size 1\n0->4 id 4 trigger 1 size 1\ntrigger id 1 KIND";
    // The hits are at host 0 after 1200 ns and at host 2 after 400 ns. A message of 50 bytes takes 150 ns.
    assert_eq!(flows(&text.replace("KIND", "barrier count 2"), Some(50)), [0, 0, 1350, 1200]);
    assert_eq!(flows(&text.replace("KIND", "oneshot"), Some(50)), [0, 0, 550, 550]);
    assert_eq!(flows(&text.replace("KIND", "multishot"), Some(50)), [0, 0, 550, 1200]);
}

#[test]
fn a_serial_all_to_all_has_one_flow_a_host_at_a_time() {
    let text = std::fs::read_to_string(format!("{}/tests/data/alltoall_serial_16n.cm", env!("CARGO_MANIFEST_DIR")));
    let matrix = htsim::matrix::read(&text.expect("there"), "a", Unit::Microseconds).expect("valid");
    let starts = starts(matrix.job("a", None).expect("valid"));
    for (number, flow) in (0..).zip(&matrix.flows) {
        let before = matrix.flows[..number as usize].iter().filter(|other| other.src == flow.src).count() as u64;
        assert_eq!(starts[&number], [before * 2_000_200]);
    }
}

#[test]
fn messages_of_a_csv_wait_and_compute() {
    let text = "id,src,dst,bytes,after,compute_ns,start_ns\na,0,1,1000,,,\nb,1,2,10,a,50,\nc,0,2,10,a,,\nd,2,0,10,b c,20,\n\
                e,0,1,1,,,5000\nf,0,1,1,,7,5000\n";
    let starts = starts(csv::read(text, "m.csv", None).expect("valid"));
    let expected = [(0, 0), (1, 1100 + 50), (2, 1200), (3, 1310 + 20), (4, 5000), (5, 5007)];
    assert_eq!(starts, expected.map(|(tag, start)| (tag, vec![start])).into());
}

/// A matrix in which each trigger is hit, and starts flows, at one host only.
fn random(seed: u64) -> Matrix {
    let mut stream = Stream::new(seed, 0, 0);
    let mut below = |n: u32| stream.next_u32() % n;
    let hosts = 4;
    let kinds = [Kind::Oneshot, Kind::Multishot, Kind::Barrier { count: 0 }];
    // Trigger `id` is at host `id % hosts`.
    let triggers = (1..=8).map(|id| Trigger { line: id.into(), id, kind: kinds[below(3) as usize] });
    let mut matrix = Matrix { hosts, triggers: triggers.collect(), ..Matrix::default() };
    for number in 0..2 + below(12) {
        let (src, dst) = (below(hosts), below(hosts - 1));
        let dst = if dst < src { dst } else { dst + 1 };
        let mut trigger = |host: u32| [host, host + hosts][below(2) as usize].max(1);
        let mut some = |host: u32| Some(trigger(host)).filter(|id| id % hosts == host);
        let (own, send_done, recv_done) = (some(src), some(src), some(dst));
        let begin = match own.filter(|_| below(2) == 0) {
            Some(id) => Beginning::Trigger(id),
            None => Beginning::At(Duration::from_ns(below(100_000).into())),
        };
        let (send_done, recv_done) = (send_done.filter(|_| below(2) == 0), recv_done.filter(|_| below(2) == 0));
        let (line, id, bytes) = (u64::from(number) + 10, Some(number + 1), u64::from(1 + below(100_000)));
        matrix.flows.push(Flow { line, src, dst, id, begin, bytes, send_done, recv_done, prio: None });
    }
    for trigger in &mut matrix.triggers {
        if let Kind::Barrier { count } = &mut trigger.kind {
            let hits = matrix.flows.iter().flat_map(|flow| [flow.send_done, flow.recv_done]);
            *count = hits.filter(|id| *id == Some(trigger.id)).count() as u32;
        }
    }
    matrix
}

/// Starts of the flows as htsim has them, ns, on the same network.
fn as_htsim(matrix: &Matrix) -> Vec<u64> {
    let mut starts = vec![u64::MAX; matrix.flows.len()];
    let mut hits = vec![0; matrix.triggers.len()];
    // Time; a flow that starts, or else a trigger that is hit.
    let mut events = BinaryHeap::new();
    for (number, flow) in matrix.flows.iter().enumerate() {
        if let Beginning::At(start) = flow.begin {
            events.push(Reverse((start.0 / 1000, Some(number), 0)));
        }
    }
    while let Some(Reverse((now, flow, trigger))) = events.pop() {
        if let Some(number) = flow {
            let flow = &matrix.flows[number];
            starts[number] = now;
            let arrival = now + flow.bytes + 100;
            flow.recv_done.iter().for_each(|id| events.push(Reverse((arrival, None, *id))));
            flow.send_done.iter().for_each(|id| events.push(Reverse((arrival + 100, None, *id))));
            continue;
        }
        let hit = &mut hits[trigger as usize - 1];
        *hit += 1;
        let waiting = |(_, flow): &(usize, &Flow)| flow.begin == Beginning::Trigger(trigger);
        let targets = matrix.flows.iter().enumerate().filter(waiting).map(|(number, _)| number);
        let started: Vec<usize> = match matrix.triggers[trigger as usize - 1].kind {
            Kind::Oneshot if *hit == 1 => targets.collect(),
            Kind::Multishot => targets.skip(*hit as usize - 1).take(1).collect(),
            Kind::Barrier { count } if *hit == count => targets.collect(),
            _ => Vec::new(),
        };
        started.iter().for_each(|flow| events.push(Reverse((now, Some(*flow), 0))));
    }
    starts
}

#[test]
fn random_triggers_start_flows_when_htsim_does() {
    let mut run = 0;
    for seed in 0..3000 {
        let matrix = random(seed);
        let expected = as_htsim(&matrix);
        let job = matrix.job("random", None);
        assert_eq!(job.is_ok(), expected.iter().all(|start| *start < u64::MAX), "{job:?}\n{matrix:?}");
        let Ok(job) = job else { continue };
        let starts = starts(job);
        let found: Vec<u64> = (0..matrix.flows.len() as u32).map(|flow| starts[&flow][0]).collect();
        assert_eq!(found, expected, "{matrix:?}");
        run += 1;
    }
    assert!(run > 300, "{run} of 3000 start all flows");
}
