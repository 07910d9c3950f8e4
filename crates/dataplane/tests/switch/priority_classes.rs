//! Priority classes: the queues of each class, BFC's pauses within a class, and the order of departure; by hand, and
//! compared with linear searches at random.

use crate::cases::cases;
use backwater_dataplane::{
    Bfc, BfcParams, ByPriority, Composed, DataPlane, Dynamic, NoBackpressure, Policy, PortShape, Readings, Red, Shape,
    Stochastic, Switch,
};
use backwater_types::hash::{self, Stream};
use backwater_types::{
    BitsPerSec, Bytes, ControlFrame, Duration, Instant, Kind, Packet, PortId, QueueId, QueueMap, flags,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const EGRESS: PortId = 3;
const WIRE: u64 = 1048;
/// HRTT x rate: 2 us at 100 Gb/s.
const HOP: u64 = 25_000;

type ByBfc = Switch<Composed<Dynamic<1>, Bfc>>;

/// Shape of four ports of 100 Gb/s with `queues` queues each.
fn shape(queues: u16, groups: u16) -> Shape {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let buffer = 1_000_000;
    Shape { groups, quantum: WIRE as u32, buffer, smallest_packet: WIRE as u32, ..Shape::new(vec![port; 4], queues) }
}

/// Parameters without repetition and without sticky queues.
fn plain() -> BfcParams {
    BfcParams { refresh: Duration::ZERO, sticky: Some(Duration::ZERO), ..BfcParams::default() }
}

fn bfc(queues: u16, groups: u16, params: BfcParams) -> ByBfc {
    Switch::new(&shape(queues, groups), &(params.clone(), params))
}

/// A packet of `flow` that left queue 2 of the neighbour.
fn packet(flow: u32, seq: u32, class: u8) -> Packet {
    let key = flow.wrapping_mul(0x9e37_79b1);
    Packet { flow, seq, key, wire: WIRE as u16, upstream_queue: 2, class, kind: Kind::Data, ..Packet::NONE }
}

/// The class that has queue `q`: the inverse of "queues from ceil(class x queues / groups) on".
fn class_of(q: usize, queues: usize, groups: usize) -> usize {
    q * groups / queues
}

/// Advances the clock beyond the memory of any flow that is gone.
fn later(now: &mut Instant) -> Instant {
    *now += Duration::from_us(10);
    *now
}

#[test]
fn new_flows_take_the_queues_of_their_class_in_turn() {
    // Eight queues are divided into three, three and two.
    let (mut switch, mut now) = (bfc(8, 3, plain()), Instant::ZERO);
    let mut taken = |flow: u32, class: u8| {
        switch.receive(later(&mut now), &packet(flow, 0, class).into(), 0, EGRESS);
        switch.audit().unwrap();
        switch.transmit(now, EGRESS).expect("a queue has data").queue.expect("data leaves a queue")
    };
    let mut queues = [const { Vec::new() }; 3];
    for flow in 0..21 {
        let class = (flow % 3) as u8;
        queues[class as usize].push(taken(flow, class));
    }
    assert_eq!(queues, [[0, 1, 2, 0, 1, 2, 0], [3, 4, 5, 3, 4, 5, 3], [6, 7, 6, 7, 6, 7, 6]]);
    assert!((6..8).contains(&taken(100, 200)), "classes beyond the last count as the last");
}

/// A class without an empty queue shares its own queues, and leaves those of other classes empty.
#[test]
fn a_crowded_class_keeps_to_its_queues() {
    for label in [false, true] {
        // 31 queues, 32 less one for control frames: 8, 8, 8 and 7.
        let mut switch = bfc(31, 4, BfcParams { incast_label: label, ..plain() });
        let mut now = Instant::ZERO;
        if label {
            for flow in 500..510 {
                let labelled = Packet { flags: flags::INCAST, ..packet(flow, 0, 1) };
                switch.receive(later(&mut now), &labelled.into(), 0, EGRESS);
            }
        }
        for flow in 0..200 {
            switch.receive(later(&mut now), &packet(flow, 0, 1).into(), 0, EGRESS);
        }
        let mut used = BTreeSet::new();
        switch.visit(&mut |_, q, packet, _| {
            assert_eq!(
                packet.has(flags::INCAST),
                label && q == 8,
                "labelled flows have the first queue of their class"
            );
            used.insert(q);
        });
        assert_eq!(used, (8..16).collect::<BTreeSet<_>>());
        switch.audit().unwrap();
    }
}

/// 127 queues, 128 less one for control frames, exceed the bits of a word: 32, 32, 32 and 31.
#[test]
fn classes_have_their_queues_and_their_order_beyond_a_word() {
    let mut switch: Switch<Composed<Dynamic<2>, Bfc>> = Switch::new(&shape(127, 4), &(plain(), plain()));
    let mut now = Instant::ZERO;
    for flow in 0..240 {
        switch.receive(later(&mut now), &packet(flow, 0, 3 - (flow % 4) as u8).into(), 0, EGRESS);
        switch.audit().unwrap();
    }
    let sent: Vec<(u8, QueueId)> = std::iter::from_fn(|| switch.transmit(now, EGRESS))
        .map(|sent| (sent.packet.class, sent.queue.expect("data leaves a queue")))
        .collect();
    assert!(sent.len() == 240 && sent.is_sorted_by_key(|(class, _)| *class), "{sent:?}");
    for (class, queues) in [(0, 0..32), (1, 32..64), (2, 64..96), (3, 96..127)] {
        let used: BTreeSet<QueueId> = sent.iter().filter(|(of, _)| *of == class).map(|(_, queue)| *queue).collect();
        assert_eq!(used, queues.collect(), "sixty flows take all queues of their class");
    }
}

/// A class has flow-table entries of its own: with one entry for each class, two flows of one key have queues in their
/// classes.
#[test]
fn flows_of_two_classes_share_no_entry() {
    let mut switch = bfc(2, 2, BfcParams { table_entries_per_queue: 1, ..plain() });
    let mut queue = |class: u8| {
        let entered: Vec<QueueId> = (0..4)
            .map(|seq| {
                switch.receive(Instant(1), &packet(7, seq, class).into(), 0, EGRESS);
                let mut last = None;
                switch.visit(&mut |_, q, packet, _| {
                    if (packet.seq, packet.class) == (seq, class) {
                        last = Some(q);
                    }
                });
                last.expect("the packet is queued")
            })
            .collect();
        assert!(entered.iter().all(|q| *q == entered[0]));
        entered[0]
    };
    assert_eq!([queue(1), queue(0), queue(1)], [1, 0, 1]);
    switch.audit().unwrap();
    assert_eq!(switch.active_flows(EGRESS), Some(2), "each flow is active");
}

/// Th = HRTT x rate / active queues of the packet's class, whatever the state of other classes.
#[test]
fn a_queue_pauses_above_its_share_among_its_class() {
    for own in [0, 1, 3, 6] {
        for other in [0, 1, 5, 8] {
            for paused in 0..=own.min(2) {
                // Each class has eight queues; the flow's class is the second.
                let mut switch = bfc(16, 2, BfcParams { sticky: None, ..plain() });
                for (flows, class) in [(100..100 + own, 1), (200..200 + other, 0)] {
                    for flow in flows {
                        switch.receive(Instant(1), &packet(flow, 0, class).into(), 1, EGRESS);
                    }
                }
                for queue in 0..paused {
                    switch.control(Instant(1), EGRESS, ControlFrame::Pause(8 + queue as QueueId));
                    switch.control(Instant(1), EGRESS, ControlFrame::Pause(queue as QueueId));
                }
                let mut pauses =
                    |seq: &u32| switch.receive(Instant(1), &packet(7, *seq, 1).into(), 0, EGRESS).frame_on.is_some();
                let first = (0..100).find(|seq| pauses(seq)).expect("the flow is paused in the end");
                let threshold = HOP / (1 + own - paused) as u64;
                // Packet n finds n packets ahead of it.
                assert!(
                    u64::from(first) * WIRE > threshold && u64::from(first - 1) * WIRE <= threshold,
                    "{own} queues of its class, {paused} of them paused, {other} of another: paused at packet {first}"
                );
            }
        }
    }
}

/// While the higher class has data the lower one sends nothing. The lower class is paused as if it had the whole link,
/// and resumed once its counted packets have departed.
#[test]
fn a_starved_class_is_paused_and_resumes() {
    let mut switch = bfc(4, 2, plain());
    let now = Instant(1);
    let mut urgent = 0;
    let mut arrives = |switch: &mut ByBfc| {
        switch.receive(now, &packet(1, urgent, 0).into(), 1, EGRESS);
        urgent += 1;
    };
    arrives(&mut switch);
    let paused: Vec<bool> =
        (0..26).map(|seq| switch.receive(now, &packet(7, seq, 1).into(), 0, EGRESS).frame_on.is_some()).collect();
    // 25 000 B are less than 24 packets of 1048 B: packet 24 is the first that finds more. One PAUSE is sent.
    assert_eq!(paused.iter().position(|paused| *paused), Some(24));
    assert_eq!(paused.iter().filter(|paused| **paused).count(), 1);
    let frame = |switch: &mut ByBfc| switch.transmit(now, 0).and_then(|sent| sent.packet.control());
    assert_eq!(frame(&mut switch), Some(ControlFrame::Pause(2)));
    for _ in 0..100 {
        arrives(&mut switch);
        let sent = switch.transmit(now, EGRESS).expect("there is data");
        assert_eq!((sent.packet.class, sent.frame_on), (0, None));
    }
    assert_eq!(switch.transmit(now, EGRESS).expect("the last packet of class 0").packet.class, 0);
    for seq in 0..26 {
        let sent = switch.transmit(now, EGRESS).expect("26 packets wait");
        assert_eq!((sent.packet.class, sent.packet.seq), (1, seq));
        // Packets 24 and 25 were counted.
        assert_eq!(frame(&mut switch), (seq == 25).then_some(ControlFrame::Resume(2)), "after packet {seq}");
        switch.audit().unwrap();
    }
}

// --- at random ----------------------------------------------------------------------------------------------------

/// A packet in the reference lists.
struct Listed {
    flow: u32,
    seq: u32,
    tag: u32,
    ingress: PortId,
    upstream: QueueId,
    counted: bool,
}

/// Reference for one switch: lists of all packets, searched linearly.
struct Lists {
    groups: usize,
    /// `[queue]`: packets of the queue.
    queues: Vec<VecDeque<Listed>>,
    closed: BTreeSet<usize>,
    /// By ingress and upstream queue: counted packets held.
    counters: BTreeMap<(PortId, QueueId), u32>,
    /// `[class]`: queue after the one assigned last, and the queue served last.
    rotor: Vec<usize>,
    served: Vec<usize>,
}

impl Lists {
    fn new(queues: usize, groups: usize) -> Lists {
        Lists {
            groups,
            queues: (0..queues).map(|_| VecDeque::new()).collect(),
            closed: BTreeSet::new(),
            counters: BTreeMap::new(),
            rotor: vec![0; groups],
            served: vec![0; groups],
        }
    }

    fn class(&self, q: usize) -> usize {
        class_of(q, self.queues.len(), self.groups)
    }

    fn active(&self, q: usize) -> bool {
        !self.queues[q].is_empty() && !self.closed.contains(&q)
    }

    /// All queues of a class in cyclic order from `start`.
    fn round(&self, class: usize, start: usize) -> impl Iterator<Item = usize> {
        let n = self.queues.len();
        (start..start + n).map(move |q| q % n).filter(move |q| self.class(*q) == class)
    }

    /// Queue for a flow without one: the first empty queue that is not paused, else the first empty one. `None`: any
    /// queue.
    fn empty(&self, class: usize, literal: bool) -> Option<usize> {
        let empty = || self.round(class, self.rotor[class]).filter(|q| self.queues[*q].is_empty());
        let open = empty().find(|q| !self.closed.contains(q)).filter(|_| !literal);
        open.or_else(|| empty().next())
    }

    /// Queue to send from. Packets are as long as a quantum, so the queues of a class take turns.
    fn next(&self) -> Option<usize> {
        let class = (0..self.queues.len()).filter(|q| self.active(*q)).map(|q| self.class(q)).min()?;
        self.round(class, self.served[class] + 1).find(|q| self.active(*q))
    }
}

/// Runs one switch among flows of up to four classes while a neighbour pauses queues at random. Every queue assignment,
/// every control frame and every departure must match the reference lists. Returns how many flows shared a queue at
/// random, and how many queues were paused.
fn crowd(seed: u64) -> Result<[u32; 2], String> {
    let mut rng = Stream::new(seed, 3, 3);
    let mut below = move |n: u32| rng.next_u32() % n;
    let groups = 1 + below(4) as usize;
    let queues = groups + below(12) as usize;
    let params = BfcParams {
        table_entries_per_queue: [1, 4, 100][below(3) as usize],
        fixed_threshold: (below(2) == 0).then(|| Bytes(WIRE * u64::from(1 + below(4)))),
        literal_empty: below(4) == 0,
        // Equal to the number of upstream queues here.
        nic_queues: Some(5),
        ..plain()
    };
    let mut switch = bfc(queues as u16, groups as u16, params.clone());
    let mut lists = Lists::new(queues, groups);
    let (mut now, mut held, mut seen) = (Instant(1_000_000), 0, [0, 0]);
    let flows = 4 + below(60);
    for step in 0..2500 {
        // Each step is longer than a tick.
        now += Duration(3_000 + u64::from(below(5_000)));
        let wrong = |text: String| Err(format!("step {step}: {text}"));
        match below(10) {
            0..5 if held < 120 && step < 2000 => {
                let flow = below(flows);
                let (class, ingress) = (flow as usize % groups, (flow % 3) as PortId);
                let (upstream, last) = ((flow % 5) as QueueId, below(8) == 0);
                let flags = if last { flags::LAST } else { 0 };
                let arrives = Packet { upstream_queue: upstream, flags, ..packet(flow, step, class as u8) };
                let received = switch.receive(now, &arrives.into(), ingress, EGRESS);
                held += 1;
                let mut place = None;
                switch.visit(&mut |_, q, packet, held| {
                    if packet.seq == step {
                        place = Some((q as usize, held.tag));
                    }
                });
                let Some((q, tag)) = place else { return wrong("the arriving packet is not queued".into()) };
                let known = lists.queues.iter().position(|list| list.iter().any(|other| other.tag == tag));
                let expected = known.or_else(|| lists.empty(class, params.literal_empty));
                seen[0] += expected.is_none() as u32;
                if lists.class(q) != class || expected.is_some_and(|expected| expected != q) {
                    return wrong(format!("class {class} got queue {q}, expected {expected:?}"));
                }
                if known.is_none() {
                    lists.rotor[class] = (q + 1) % queues;
                }
                let before = lists.queues[q].len() as u64 * WIRE;
                let joined = |other: &usize| lists.active(*other) || *other == q && !lists.closed.contains(&q);
                let active = lists.round(class, 0).filter(joined).count().max(1) as u64;
                let threshold = params.fixed_threshold.map_or(HOP / active, |bytes| bytes.0);
                let counted = before > threshold && !last;
                lists.queues[q].push_back(Listed { flow, seq: step, tag, ingress, upstream, counted });
                let counter = lists.counters.entry((ingress, upstream)).or_default();
                *counter += counted as u32;
                let pauses = counted && *counter == 1;
                seen[1] += pauses as u32;
                let frame = switch.transmit(now, ingress).and_then(|sent| sent.packet.control());
                let expected = pauses.then_some(ControlFrame::Pause(upstream));
                if (received.frame_on, frame) != (pauses.then_some(ingress), expected) {
                    return wrong(format!("{frame:?} with {before} B of {threshold}, expected {expected:?}"));
                }
            }
            5 if step < 2000 => {
                let q = below(queues as u32) as usize;
                let map = QueueMap::new([u64::from(below(1 << queues)), 0]);
                let frame = match below(5) {
                    0 | 1 => ControlFrame::Pause(q as QueueId),
                    2 | 3 => ControlFrame::Resume(q as QueueId),
                    _ => ControlFrame::Bitmap(map),
                };
                match frame {
                    ControlFrame::Pause(_) => _ = lists.closed.insert(q),
                    ControlFrame::Resume(_) => _ = lists.closed.remove(&q),
                    _ => lists.closed = (0..queues).filter(|q| map.words()[0] >> q & 1 == 1).collect(),
                }
                switch.control(now, EGRESS, frame);
            }
            _ => {
                if step >= 2000 {
                    switch.control(now, EGRESS, ControlFrame::Bitmap(QueueMap::default()));
                    lists.closed.clear();
                }
                let (expected, sent) = (lists.next(), switch.transmit(now, EGRESS));
                if sent.as_ref().map(|sent| sent.queue) != expected.map(|q| Some(q as QueueId)) {
                    return wrong(format!("queue {expected:?} should send, not {sent:?}"));
                }
                let (Some(sent), Some(q)) = (sent, expected) else { continue };
                held -= 1;
                lists.served[class_of(q, queues, groups)] = q;
                let gone = lists.queues[q].pop_front().expect("the queue is not empty");
                if (sent.packet.flow, sent.packet.seq) != (gone.flow, gone.seq) {
                    return wrong(format!("{:?} leaves before packet {} of flow {}", sent.packet, gone.seq, gone.flow));
                }
                let counter = lists.counters.get_mut(&(gone.ingress, gone.upstream)).expect("the packet has a counter");
                *counter -= gone.counted as u32;
                let resumes = gone.counted && *counter == 0;
                let frame = switch.transmit(now, gone.ingress).and_then(|sent| sent.packet.control());
                let expected = resumes.then_some(ControlFrame::Resume(gone.upstream));
                if (sent.frame_on, frame) != (resumes.then_some(gone.ingress), expected) {
                    return wrong(format!("{frame:?}, expected {expected:?}"));
                }
            }
        }
        if let Err(text) = switch.audit() {
            return wrong(text);
        }
    }
    if held + switch.buffered() as usize > 0 { Err(format!("{held} packets are left")) } else { Ok(seen) }
}

#[test]
fn a_crowd_of_classes_agrees_with_reference_lists() {
    let (mut failed, mut seen) = (Vec::new(), [0, 0]);
    for seed in 0..cases(60, 200) {
        match crowd(seed) {
            Ok(more) => seen = [seen[0] + more[0], seen[1] + more[1]],
            Err(text) => failed.push(format!("seed {seed}: {text}")),
        }
    }
    assert!(failed.is_empty(), "{} fail: {:#?}", failed.len(), &failed[..failed.len().min(8)]);
    assert!(seen.iter().all(|seen| *seen > 1000), "{seen:?}");
}

// --- other assignments --------------------------------------------------------------------------------------------

/// Receives packets of 3000 flows. Returns the queues of each flow.
fn hashed<P: Policy>(switch: &mut Switch<P>, groups: usize) -> BTreeMap<u32, BTreeSet<usize>> {
    let mut of = BTreeMap::<u32, BTreeSet<usize>>::new();
    for round in 0..2 {
        for flow in 0..3000 {
            let (class, key) = ((flow as usize % groups) as u8, hash::mix64(flow.into()) as u32);
            switch.receive(Instant(1), &Packet { key, ..packet(flow, round, class) }.into(), 0, EGRESS);
            let sent = switch.transmit(Instant(1), EGRESS).expect("a queue has data");
            of.entry(flow).or_default().insert(sent.queue.expect("data leaves a queue").into());
        }
    }
    of
}

#[test]
fn a_hash_names_one_of_the_queues_of_a_class_each_as_often() {
    for (queues, groups) in [(8, 4), (31, 4), (7, 3), (4, 4), (16, 1)] {
        let shape = Shape { salt: hash::mix64(5), ..shape(queues, groups) };
        let mut switch = Switch::<Composed<Stochastic<1>, NoBackpressure>>::new(&shape, &((), ()));
        let (queues, groups) = (usize::from(queues), usize::from(groups));
        let mut flows = vec![0; queues];
        for (flow, of) in hashed(&mut switch, groups) {
            let [q] = of.into_iter().collect::<Vec<_>>()[..] else { panic!("flow {flow} has several queues") };
            assert_eq!(class_of(q, queues, groups), flow as usize % groups);
            flows[q] += 1;
        }
        for (q, n) in flows.iter().enumerate() {
            let own =
                (0..queues).filter(|other| class_of(*other, queues, groups) == class_of(q, queues, groups)).count();
            let mean = 3000.0 / (groups * own) as f64;
            assert!((f64::from(*n) - mean).abs() < 5.0 * mean.sqrt(), "queue {q} of {queues}: {n} flows, not {mean}");
        }
    }
}

fn fifos(red: Red) -> Switch<Composed<ByPriority, NoBackpressure>> {
    let mut shape = shape(2, 2);
    shape.ports.iter_mut().for_each(|port| port.red = red);
    Switch::new(&shape, &((), ()))
}

/// Six packets of the lower class arrive, then three of the higher. A packet is marked if it leaves three or more of
/// its class behind.
#[test]
fn a_class_is_marked_by_the_length_of_its_own_fifo() {
    let mut switch = fifos(Red::new(3 * WIRE - 1, 3 * WIRE - 1, 1.0));
    for (seq, class) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (0, 0), (1, 0), (2, 0)] {
        let capable = Packet { flags: flags::ECT, ..packet(class.into(), seq, class) };
        assert!(switch.receive(Instant(1), &capable.into(), 0, EGRESS).dropped.is_none());
    }
    let left: Vec<(u8, u32, bool)> = std::iter::from_fn(|| switch.transmit(Instant(1), EGRESS))
        .map(|sent| (sent.packet.class, sent.packet.seq, sent.packet.has(flags::CE)))
        .collect();
    let higher = (0..3).map(|seq| (0, seq, false));
    let lower = (0..6).map(|seq| (1, seq, seq < 3));
    assert_eq!(left, higher.chain(lower).collect::<Vec<_>>());
}
