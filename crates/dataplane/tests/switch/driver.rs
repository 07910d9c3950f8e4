//! Two switches back to back, driven without a simulator, as a software switch drives one. The clock is a number, a
//! link is a queue, and packets carry handles of payloads, which have to be released.
//!
//! ```text
//! source 0 --> 0 up 2 ---> 0 down 1 --> receiver, four times slower
//! source 1 --> 1       <--
//! ```

use backwater_dataplane::{
    Bfc, BfcParams, Composed, DataPlane, Departed, Discarded, DownQueues, Driver, Dynamic, Joined, NoBackpressure,
    Outlets, PortShape, Red, Shape, SingleFifo, Switch,
};
use backwater_types::{
    BitsPerSec, ControlFrame, DropReason, Duration, Extension, Frame, Instant, Kind, LinkShape, Packet, PortId, SerTime,
};
use std::collections::{BTreeSet, VecDeque};

const FAST: BitsPerSec = BitsPerSec(100_000_000_000);
const SLOW: BitsPerSec = BitsPerSec(25_000_000_000);
const DELAY: Duration = Duration::from_us(1);
const WIRE: u16 = 1048;
/// Number of packets of each source.
const PACKETS: u32 = 400;

/// Handle of a payload stored elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Payload(u32);

impl Extension for Payload {
    type Port = ();

    fn port(_link: &LinkShape) {}
}

fn frame(source: u16, seq: u32) -> Frame<Payload> {
    let (flow, dst) = (u32::from(source) + 1, 9);
    let packet = Packet { flow, seq, key: flow * 77, src: source, dst, wire: WIRE, kind: Kind::Data, ..Packet::NONE };
    Frame { packet, extension: Payload(u32::from(source) * PACKETS + seq) }
}

/// Links of a switch, and its requested polls and timer.
struct Links {
    /// `[port]`: serialisation time.
    ser: Vec<SerTime>,
    busy_until: Vec<Instant>,
    /// `[port]`: frames on the link, with the times at which they arrive.
    wires: Vec<VecDeque<(Instant, Frame<Payload>)>>,
    /// `[port]`: time of the next poll.
    polls: Vec<Instant>,
    timer: Instant,
    joined: u64,
    dropped: Vec<(Frame<Payload>, DropReason)>,
}

impl Links {
    fn new(rates: &[BitsPerSec]) -> Links {
        Links {
            ser: rates.iter().map(|rate| SerTime::of(*rate)).collect(),
            busy_until: vec![Instant::ZERO; rates.len()],
            wires: vec![VecDeque::new(); rates.len()],
            polls: vec![Instant::NEVER; rates.len()],
            timer: Instant::NEVER,
            joined: 0,
            dropped: Vec::new(),
        }
    }

    /// Time of the next event at this switch, apart from arrivals.
    fn next(&self) -> Instant {
        self.polls.iter().copied().min().unwrap_or(Instant::NEVER).min(self.timer)
    }
}

impl Outlets<Payload> for Links {
    fn is_free(&self, now: Instant, port: PortId) -> bool {
        self.busy_until[port as usize] <= now
    }

    fn free_at(&self, port: PortId) -> Instant {
        self.busy_until[port as usize]
    }

    fn poll_at(&mut self, port: PortId, at: Instant) {
        self.polls[port as usize] = at;
    }

    fn arm(&mut self, at: Instant) {
        self.timer = at;
    }

    fn send(&mut self, now: Instant, port: PortId, frame: &Frame<Payload>, _departed: &Departed) -> Instant {
        let port = port as usize;
        assert!(self.busy_until[port] <= now, "port {port} is busy");
        self.busy_until[port] = now + self.ser[port].of_bytes(frame.wire.into());
        self.wires[port].push_back((self.busy_until[port] + DELAY, *frame));
        self.busy_until[port]
    }

    fn enqueued(&mut self, _now: Instant, _joined: Joined, _frame: &Frame<Payload>) {
        self.joined += 1;
    }

    fn dropped(&mut self, _now: Instant, _egress: PortId, frame: &Frame<Payload>, reason: DropReason) {
        self.dropped.push((*frame, reason));
    }

    fn discarded(&mut self, _now: Instant, _port: PortId, discarded: Discarded<Payload>, reason: DropReason) {
        self.dropped.push((discarded.frame, reason));
    }
}

/// A switch with its links.
struct Box<D> {
    driver: Driver<D>,
    links: Links,
}

impl<D: DataPlane<Extension = Payload>> Box<D> {
    /// Runs the polls and timers that are due.
    fn run(&mut self, now: Instant) -> bool {
        for port in 0..self.links.polls.len() {
            if self.links.polls[port] <= now {
                self.links.polls[port] = Instant::NEVER;
                self.driver.poll_due(now, port as PortId, &mut self.links);
            }
        }
        let due = self.links.timer <= now;
        if due {
            self.driver.timer(now, &mut self.links);
        }
        due
    }

    /// Takes the frame that has arrived at the other end of `port`, if any.
    fn arrived(&mut self, now: Instant, port: PortId) -> Option<Frame<Payload>> {
        let wire = &mut self.links.wires[port as usize];
        let due = wire.front().is_some_and(|(at, _)| *at <= now);
        due.then(|| wire.pop_front()).flatten().map(|(_, frame)| frame)
    }

    fn next_arrival(&self, port: PortId) -> Instant {
        self.links.wires[port as usize].front().map_or(Instant::NEVER, |(at, _)| *at)
    }
}

/// Switch with these port rates. The first has two ports to sources and one ahead; the second one port back and one to
/// a receiver.
fn switch(rates: &[BitsPerSec]) -> Box<Switch<Composed<Dynamic<1>, Bfc>, Payload>> {
    let ports = rates.iter().map(|rate| PortShape::new(*rate, DELAY)).collect();
    let params = BfcParams::default();
    Box {
        driver: Driver::new(Switch::new(&Shape::new(ports, 32), &(params.clone(), params))),
        links: Links::new(rates),
    }
}

#[test]
fn two_switches_back_to_back_pause_each_other_and_lose_nothing() {
    let (mut up, mut down) = (switch(&[FAST, FAST, FAST]), switch(&[FAST, SLOW]));
    let interval = SerTime::of(FAST).of_bytes(WIRE.into());
    let mut sources = [(0, Instant(0)), (0, Instant(7_000))];
    let (mut received, mut pauses, mut repeats, mut timers) = (Vec::new(), 0, 0, 0);
    let mut most = 0;
    loop {
        let of_sources = sources.iter().filter(|(seq, _)| *seq < PACKETS).map(|(_, at)| *at).min();
        let on_wires = up.next_arrival(2).min(down.next_arrival(0)).min(down.next_arrival(1));
        let now = of_sources.unwrap_or(Instant::NEVER).min(on_wires).min(up.links.next()).min(down.links.next());
        if now == Instant::NEVER {
            break;
        }
        for (source, (seq, at)) in (0..).zip(&mut sources) {
            if *seq < PACKETS && *at <= now {
                up.driver.arrive(now, source, 2, &mut frame(source, *seq), &mut up.links);
                (*seq, *at) = (*seq + 1, *at + interval);
            }
        }
        while let Some(mut frame) = up.arrived(now, 2) {
            down.driver.arrive(now, 0, 1, &mut frame, &mut down.links);
        }
        while let Some(frame) = down.arrived(now, 0) {
            let frame = frame.control().expect("only control frames travel back");
            pauses += u32::from(matches!(frame, ControlFrame::Pause(_)));
            repeats += u32::from(matches!(frame, ControlFrame::Bitmap(_)));
            up.driver.control(now, 2, frame, &mut up.links);
        }
        while let Some(frame) = down.arrived(now, 1) {
            received.push(frame);
        }
        timers += u32::from(up.run(now)) + u32::from(down.run(now));
        most = most.max(down.driver.readings().buffered());
        // Frames to the sources are ignored.
        for port in [0, 1] {
            up.links.wires[port].clear();
        }
    }
    assert!(pauses > 0 && repeats > 0, "{pauses} pauses and {repeats} repetitions on the link");
    assert!(timers > 0, "the timer ran {timers} times");
    // The bound covers a round trip and the thresholds, far less than all data sent.
    assert!(most < 2 * 100_000, "peak of {most} bytes before the slow link");
    let handles: BTreeSet<u32> = received.iter().map(|frame| frame.extension.0).collect();
    assert_eq!(
        (received.len(), handles.len()),
        (2 * PACKETS as usize, 2 * PACKETS as usize),
        "each packet arrives once"
    );
    for source in [0, 1] {
        let mut seqs = received.iter().filter(|frame| frame.src == source).map(|frame| frame.seq);
        assert!(seqs.by_ref().eq(0..PACKETS), "in order");
    }
    for links in [&up.links, &down.links] {
        assert!(links.dropped.is_empty() && links.joined == 2 * u64::from(PACKETS));
    }
    for switch in [&up.driver, &down.driver] {
        assert_eq!(
            (switch.readings().buffered(), switch.next_timer()),
            (0, Instant::NEVER),
            "the switch is empty and has no timer"
        );
        switch.readings().audit().unwrap();
    }
}

/// The header of a packet names its upstream queue, whether the packet was queued or bypassed the queue.
#[test]
fn a_packet_that_passes_names_its_queue_as_one_that_was_queued() {
    let mut up = switch(&[FAST, FAST, FAST]);
    let stale = Packet { upstream_queue: 31, ..frame(0, 0).packet };
    for passes in [true, false] {
        let mut fresh = up.driver.clone();
        let links = &mut Links::new(&[FAST, FAST, FAST]);
        if !passes {
            links.busy_until[2] = Instant(5);
        }
        let mut joined = Vec::new();
        fresh.arrive(Instant(1), 0, 2, &mut Frame { packet: stale, extension: Payload(3) }, links);
        fresh.poll_due(Instant(5), 2, links);
        joined.extend(links.wires[2].iter().map(|(_, frame)| (frame.upstream_queue, frame.extension)));
        assert_eq!(joined, [(0, Payload(3))], "passes: {passes}");
    }
    assert!(!up.run(Instant(1)));
}

/// Packets dropped after admission are handed out with their metadata: those lost with their link, as it fails or
/// returns, and those that should be marked and are not ECN-capable.
#[test]
fn discarded_packets_keep_their_metadata() {
    type Fifo = Switch<Composed<SingleFifo, NoBackpressure>, Payload>;
    let port = || PortShape::new(FAST, DELAY);
    let driver = |shape: &Shape| Driver::new(Fifo::new(shape, &((), ())));
    for down_queues in [DownQueues::Drop, DownQueues::Leak] {
        let mut switch = driver(&Shape { down_queues, ..Shape::new(vec![port(), port()], 1) });
        let links = &mut Links::new(&[FAST, FAST]);
        for (up, from) in [(false, 0), (true, 3)] {
            links.busy_until[1] = Instant(1_000_000);
            (from..from + 3).for_each(|seq| switch.arrive(Instant(1), 0, 1, &mut frame(0, seq), links));
            switch.link_changed(Instant(2), 1, up, links);
            switch.timer(Instant(2), links);
            let expected: Vec<_> = (from..from + 3).map(|seq| (Payload(seq), DropReason::LinkDown)).collect();
            let dropped: Vec<_> = links.dropped.drain(..).map(|(frame, why)| (frame.extension, why)).collect();
            assert_eq!(dropped, expected, "{down_queues:?}, up: {up}");
        }
    }
    let mut shape = Shape::new(vec![port(), PortShape { red: Red::new(0, 0, 1.0), ..port() }], 1);
    shape.marking.drops_not_ect = true;
    let mut switch = driver(&shape);
    let links = &mut Links::new(&[FAST, FAST]);
    links.busy_until[1] = Instant(5);
    (0..3).for_each(|seq| switch.arrive(Instant(1), 0, 1, &mut frame(0, seq), links));
    switch.poll_due(Instant(5), 1, links);
    let mut handles: Vec<u32> = links.dropped.iter().map(|(frame, _)| frame.extension.0).collect();
    assert!(
        !handles.is_empty() && links.dropped.iter().all(|(_, why)| *why == DropReason::NotEct),
        "some packets are dropped"
    );
    handles.extend(links.wires[1].iter().map(|(_, frame)| frame.extension.0));
    assert_eq!(handles, [0, 1, 2], "all were");
}
