//! Upstream halves: PFC under every policy, and test schemes in the shipped switch.

use backwater_dataplane::policy::recirculating::RecirculatingParams;
use backwater_dataplane::queues::hardware_queues::HardwareQueues;
use backwater_dataplane::queues::round_robin::RoundRobin;
use backwater_dataplane::queues::{PausableQueues, Queues};
use backwater_dataplane::{
    Backpressure, Bfc, BfcByFlow, BfcExtended, BfcParams, ByClass, Composed, DataPlane, Dynamic, FlowSail,
    FlowSailAsPrinted, FlowSailParams, HardwareParams, HpccMemory, IdealFlowControl, Meta, NoBackpressure,
    PauseByFlowParams, PerFlow, Pfc, PfcInterop, PfcParams, Policy, PortShape, Ports, Readings, Recirculating, Shape,
    Single, SingleFifo, Switch, Upstream,
};
use backwater_types::hash::{Stream, range32};
use backwater_types::{BitsPerSec, ControlFrame, Duration, Extension, Instant, Kind, Packet, PortId, QueueId};
use std::collections::VecDeque;

const NOW: Instant = Instant(1_000_000);
const WIRE: u64 = 1048;
const PORTS: usize = 4;

/// Shape of four ports of 100 Gb/s with four queues each.
fn shape() -> Shape {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let nic_rate = port.rate;
    Shape { buffer: 1 << 20, nic_rate, ..Shape::new(vec![port; PORTS], 4) }
}

fn packet(flow: u32, seq: u32, class: u8) -> Packet {
    let (key, wire, kind) = (flow, WIRE as u16, Kind::Data);
    let (sender_slot, receiver_slot, dst, src, upstream_queue, flags) = (0, 0, 0, 0, 0, 0);
    Packet { flow, seq, key, sender_slot, receiver_slot, dst, src, wire, upstream_queue, class, kind, flags }
}

// --- PFC ----------------------------------------------------------------------------------------------------------

/// The paused port, and a port that is never paused.
const HELD: PortId = 2;
const FREE: PortId = 3;
const PAUSE: ControlFrame = ControlFrame::PfcPause(0);
const RESUME: ControlFrame = ControlFrame::PfcResume(0);

fn obeys_pfc<P: Policy>(name: &str, params: &P::Params) {
    let mut switch = Switch::<P>::new(&shape(), params);
    let sends = |switch: &Switch<P>, port: PortId| {
        let sent = switch.clone().transmit(NOW, port).is_some();
        assert_eq!(sent, switch.sendable(port), "{name}: port {port} reports whether it may send");
        sent
    };
    let passes =
        |switch: &Switch<P>, port: PortId| switch.clone().pass(NOW, &mut packet(9, 0, 0).into(), 0, port).is_some();
    let may_pass = passes(&switch, HELD);
    switch.control(NOW, HELD, PAUSE);
    assert!(!passes(&switch, HELD), "{name}: no packet bypasses the queues of a paused port");
    assert_eq!(passes(&switch, FREE), may_pass, "{name}: packets bypass the queues of another port");
    for port in [HELD, FREE] {
        assert!(switch.receive(NOW, &packet(port as u32, 0, 0).into(), 0, port).dropped.is_none());
    }
    let expect = |switch: &Switch<P>, held: bool, what: &str| {
        assert_eq!((sends(switch, HELD), sends(switch, FREE)), (!held, true), "{name}: {what}");
        switch.audit().unwrap();
    };
    expect(&switch, true, "held");
    switch.control(NOW, HELD, PAUSE);
    switch.control(NOW, FREE, RESUME);
    expect(&switch, true, "a repeated pause holds, and a resume of another port changes nothing");
    switch.control(NOW, HELD, RESUME);
    expect(&switch, false, "one resume is enough");
    for comes_up in [false, true] {
        switch.control(NOW, HELD, PAUSE);
        expect(&switch, true, "paused again");
        let mut to_poll = Vec::new();
        match comes_up {
            false => switch.link_down(NOW, HELD, &mut to_poll),
            true => switch.link_up(NOW, HELD, &mut to_poll),
        }
        expect(&switch, false, "a link change ends the pause");
        // Drain the frames that the neighbour is sent on a link that comes up.
        while switch.clone().transmit(NOW, HELD).is_some_and(|sent| sent.packet.kind == Kind::Control) {
            switch.transmit(NOW, HELD);
        }
    }
    switch.control(NOW, HELD, PAUSE);
    let ack = Packet { kind: Kind::Ack, ..packet(HELD as u32, 0, 0) };
    switch.receive(NOW, &ack.into(), 0, HELD);
    let sent = switch.transmit(NOW, HELD).map(|sent| sent.packet.kind);
    assert_eq!(sent, Some(Kind::Ack), "{name}: acknowledgements go on");
    expect(&switch, true, "data does not");
}

#[test]
fn every_policy_obeys_pfc_port_by_port() {
    let (pfc, bfc, flowsail) = (PfcParams::default(), BfcParams::default(), FlowSailParams::default());
    let by_flow = PauseByFlowParams { threshold: 1.0, count_last: false, refresh: Duration::from_us(10) };
    obeys_pfc::<Composed<SingleFifo, NoBackpressure>>("one FIFO", &((), ()));
    obeys_pfc::<Composed<PerFlow, NoBackpressure>>("fair queueing", &((), ()));
    obeys_pfc::<Composed<Dynamic<1>, Pfc>>("PFC", &(bfc.clone(), pfc.clone()));
    obeys_pfc::<Composed<Single<RoundRobin>, HpccMemory>>("HPCC's memory", &((), pfc.clone()));
    obeys_pfc::<Composed<Dynamic<2>, Bfc>>("BFC", &(bfc.clone(), bfc.clone()));
    let late = RecirculatingParams { pipelines: 4, all_may_signal: false, hardware: Some(HardwareParams::default()) };
    let late = ((bfc.clone(), bfc.clone()), late);
    obeys_pfc::<Recirculating<Composed<Dynamic<2, HardwareQueues>, BfcExtended>>>("extended BFC", &late);
    obeys_pfc::<FlowSail<1>>("FlowSail", &flowsail);
    obeys_pfc::<FlowSailAsPrinted>("FlowSail as printed", &flowsail);
    obeys_pfc::<PfcInterop<FlowSail<1>>>("FlowSail beside PFC", &(flowsail, pfc.clone()));
    obeys_pfc::<PfcInterop<Composed<Dynamic<1>, Bfc>>>("BFC beside PFC", &((bfc.clone(), bfc), pfc));
    obeys_pfc::<IdealFlowControl>("ideal flow control", &by_flow);
    obeys_pfc::<BfcByFlow>("BFC by flow", &by_flow);
}

// --- two switches in line -----------------------------------------------------------------------------------------

/// Port from `up` to `down`, and port back to the origin of packets, at both switches.
const AHEAD: PortId = 1;
const BACK: PortId = 0;

/// ```text
/// sources --> up --link--> down --> port 1 + class
///                <--frames--
/// ```
struct Line<P: Policy> {
    up: Switch<P>,
    down: Switch<P>,
    link: VecDeque<Packet>,
    frames: VecDeque<ControlFrame>,
}

impl<P: Policy> Line<P> {
    fn new(up: &P::Params, down: &P::Params) -> Line<P> {
        let (up, down) = (Switch::new(&shape(), up), Switch::new(&shape(), down));
        Line { up, down, link: VecDeque::new(), frames: VecDeque::new() }
    }

    fn check(&mut self) {
        while self.down.sendable(BACK) {
            let sent = self.down.transmit(NOW, BACK).expect("a frame waits");
            self.frames.push_back(sent.packet.control().expect("only frames go back"));
        }
        self.up.audit().unwrap();
        self.down.audit().unwrap();
    }

    /// Receives a packet at `up`, which bypasses the queues onto the link if it may. Returns whether it did.
    fn arrive(&mut self, packet: &Packet) -> bool {
        let passed = self.up.pass(NOW, &mut (*packet).into(), BACK, AHEAD).is_some();
        match passed {
            true => self.link.push_back(*packet),
            false => assert!(self.up.receive(NOW, &(*packet).into(), BACK, AHEAD).dropped.is_none()),
        }
        self.check();
        passed
    }

    /// Sends a packet from `up` onto the link, if it may.
    fn send(&mut self) -> bool {
        let sent = self.up.transmit(NOW, AHEAD);
        self.link.extend(sent.map(|sent| sent.packet.packet));
        self.check();
        sent.is_some()
    }

    /// Delivers the first packet on the link to `down`.
    fn land(&mut self) -> bool {
        let Some(packet) = self.link.pop_front() else { return false };
        assert!(
            self.down.receive(NOW, &packet.into(), BACK, 1 + packet.class as PortId).dropped.is_none(),
            "the buffer has room"
        );
        self.check();
        true
    }

    /// Takes a packet of `class` for a receiver, if there is one.
    fn take(&mut self, class: u8) -> Option<Packet> {
        let sent = self.down.transmit(NOW, 1 + class as PortId);
        self.check();
        sent.map(|sent| sent.packet.packet)
    }

    /// Delivers the first control frame to `up`.
    fn hear(&mut self) -> Option<ControlFrame> {
        let frame = self.frames.pop_front()?;
        self.up.control(NOW, AHEAD, frame);
        self.check();
        Some(frame)
    }
}

// --- PFC per class, with quanta -----------------------------------------------------------------------------------

/// Packets of a class from one ingress above which the class is paused, and the duration of a pause.
const XOFF: u32 = 4;
const QUANTA: Duration = Duration::from_us(3);
const CLASSES: usize = 3;

/// Counts the packets of each ingress and class.
#[derive(Clone)]
struct PfcByClass {
    held: [[u32; CLASSES]; PORTS],
}

/// Upstream half that closes the queue of a class until a resume or until the pause lapses.
#[derive(Clone)]
struct PausedClasses {
    /// `[port][class]`: time when the pause lapses.
    until: [[Option<Instant>; CLASSES]; PORTS],
}

impl Backpressure<PausableQueues<1>> for PfcByClass {
    type Params = ();
    type Upstream = PausedClasses;

    fn new(_params: &(), _shape: &Shape) -> PfcByClass {
        PfcByClass { held: [[0; CLASSES]; PORTS] }
    }

    fn upstream(_params: &(), _shape: &Shape) -> PausedClasses {
        PausedClasses { until: [[None; CLASSES]; PORTS] }
    }

    fn on_enqueue(
        &mut self,
        _now: Instant,
        packet: &Packet,
        held: &mut Meta,
        _egress: PortId,
        _queue: QueueId,
        _queues: &PausableQueues<1>,
    ) -> Option<ControlFrame> {
        held.tag = packet.class as u32;
        let count = &mut self.held[held.ingress as usize][packet.class as usize];
        *count += 1;
        (*count == XOFF + 1).then_some(ControlFrame::PfcPause(packet.class))
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        _packet: &Packet,
        held: &Meta,
        _egress: PortId,
        _queue: QueueId,
    ) -> Option<ControlFrame> {
        let count = &mut self.held[held.ingress as usize][held.tag as usize];
        *count -= 1;
        (*count == XOFF).then_some(ControlFrame::PfcResume(held.tag as u8))
    }
}

impl Upstream<PausableQueues<1>> for PausedClasses {
    fn on_control(&mut self, now: Instant, port: PortId, frame: ControlFrame, queues: &mut PausableQueues<1>) {
        let (class, until) = match frame {
            ControlFrame::PfcPause(class) => (class, Some(now + QUANTA)),
            ControlFrame::PfcResume(class) => (class, None),
            _ => return,
        };
        self.until[port as usize][class as usize] = until;
        queues.set_closed(class as QueueId, until.is_some());
    }

    fn release(&mut self, port: PortId, queues: &mut PausableQueues<1>) {
        for class in 0..CLASSES {
            self.on_control(NOW, port, ControlFrame::PfcResume(class as u8), queues);
        }
    }

    fn may_send(&self, _port: PortId) -> bool {
        true
    }

    fn next_timer(&self) -> Instant {
        self.until.iter().flatten().flatten().copied().min().unwrap_or(Instant::NEVER)
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, PausableQueues<1>, impl Extension>) {
        for (port, class) in (0..PORTS).flat_map(|port| (0..CLASSES).map(move |class| (port, class))) {
            if self.until[port][class].take_if(|until| *until <= now).is_some() {
                ports.open(port as PortId).0.set_closed(class as QueueId, false);
            }
        }
    }

    fn audit(&self, queues: &[&PausableQueues<1>]) -> Result<(), String> {
        let agrees =
            |port: usize, class: usize| queues[port].closed().contains(class) == self.until[port][class].is_some();
        let all = (0..PORTS).all(|port| (0..CLASSES).all(|class| agrees(port, class)));
        all.then_some(()).ok_or_else(|| format!("queues disagree with the pauses {:?}", self.until))
    }
}

type ByClassLine = Line<Composed<ByClass, PfcByClass>>;

/// Sends a hundred packets each of class 0, which a receiver takes at once, and of class 1, which no receiver takes.
fn congested() -> ByClassLine {
    let mut line = ByClassLine::new(&((), ()), &((), ()));
    let mut received = 0;
    for seq in 0..100 {
        line.arrive(&packet(0, seq, 0));
        line.arrive(&packet(1, seq, 1));
        // Frames arrive two packets late.
        line.send();
        line.send();
        while line.land() {}
        line.hear();
        while let Some(packet) = line.take(0) {
            assert_eq!((packet.flow, packet.seq), (0, received));
            received += 1;
        }
    }
    assert_eq!(received, 100, "class 0 is never paused");
    line
}

#[test]
fn a_pause_of_a_class_holds_that_class_alone() {
    let mut line = congested();
    let held = line.down.queued(2) / WIRE;
    assert!((XOFF as u64 + 1..XOFF as u64 + 3).contains(&held), "{held} packets of class 1 arrived");
    assert!(!line.up.sendable(AHEAD) && !line.send(), "the rest of class 1 waits");
    // Once class 1 is taken it all arrives, in order.
    let mut received = 0;
    while let Some(packet) = line.take(1) {
        assert_eq!((packet.flow, packet.seq), (1, received));
        received += 1;
        while line.hear().is_some() {}
        while line.send() {}
        while line.land() {}
    }
    assert_eq!(received, 100);
}

#[test]
fn a_pause_that_is_not_repeated_lapses() {
    let mut line = congested();
    let lapses_at = line.up.next_timer();
    assert_eq!(lapses_at, NOW + QUANTA);
    let mut to_poll = Vec::new();
    line.up.timer(lapses_at, &mut to_poll);
    assert_eq!(to_poll, [AHEAD]);
    assert!(line.up.sendable(AHEAD) && line.up.next_timer() == Instant::NEVER);
    line.up.control(NOW, AHEAD, ControlFrame::PfcPause(1));
    assert!(!line.up.sendable(AHEAD));
    line.up.link_down(NOW, AHEAD, &mut to_poll);
    assert!(line.send(), "the link went down");
}

// --- credits ------------------------------------------------------------------------------------------------------

/// Credits of a port that sends by credits, and the port by which a receiver returns them.
#[derive(Clone)]
struct CreditParams {
    initial: u32,
    returns: Option<PortId>,
}

/// Downstream half that returns a credit for every packet that departs.
#[derive(Clone)]
struct ReturnsCredits(CreditParams);

/// Upstream half that sends while it has credits.
#[derive(Clone)]
struct Credits {
    initial: u32,
    left: [u32; PORTS],
}

impl<Q: Queues> Backpressure<Q> for ReturnsCredits {
    type Params = CreditParams;
    type Upstream = Credits;

    fn new(params: &CreditParams, _shape: &Shape) -> ReturnsCredits {
        ReturnsCredits(params.clone())
    }

    fn upstream(params: &CreditParams, _shape: &Shape) -> Credits {
        Credits { initial: params.initial, left: [params.initial; PORTS] }
    }

    fn passes(&self, ingress: PortId, _packet: &Packet) -> bool {
        self.0.returns != Some(ingress)
    }

    fn on_enqueue(
        &mut self,
        _now: Instant,
        _packet: &Packet,
        _held: &mut Meta,
        _egress: PortId,
        _queue: QueueId,
        _queues: &Q,
    ) -> Option<ControlFrame> {
        None
    }

    fn on_dequeue(
        &mut self,
        _now: Instant,
        _packet: &Packet,
        held: &Meta,
        _egress: PortId,
        _queue: QueueId,
    ) -> Option<ControlFrame> {
        (self.0.returns == Some(held.ingress as PortId)).then_some(ControlFrame::Resume(1))
    }
}

impl<Q: Queues> Upstream<Q> for Credits {
    fn on_control(&mut self, _now: Instant, port: PortId, frame: ControlFrame, _queues: &mut Q) {
        if let ControlFrame::Resume(credits) = frame {
            self.left[port as usize] += credits as u32;
        }
    }

    fn release(&mut self, port: PortId, _queues: &mut Q) {
        self.left[port as usize] = self.initial;
    }

    fn may_send(&self, port: PortId) -> bool {
        self.left[port as usize] > 0
    }

    fn on_sent(&mut self, _now: Instant, port: PortId, _queue: QueueId, _packet: &Packet, _queues: &mut Q) {
        self.left[port as usize] -= 1;
    }
}

/// At every moment each credit is with the sender, with a packet on the link or in the queue, or in flight back.
#[test]
fn a_port_sends_while_it_has_credits() {
    const CREDITS: usize = 5;
    let (mut blocked, mut passed) = (0, 0);
    for seed in 0..50 {
        let up = CreditParams { initial: CREDITS as u32, returns: None };
        // The neighbours of `down` accept everything.
        let down = CreditParams { initial: 1000, returns: Some(BACK) };
        let mut line = Line::<Composed<SingleFifo, ReturnsCredits>>::new(&((), up), &((), down));
        let mut rng = Stream::new(seed, 0, 0);
        let (mut arrived, mut taken) = (0, 0);
        let busy = |line: &Line<_>| (line.up.buffered() + line.down.buffered()) > 0 || !line.link.is_empty();
        while arrived < 100 || busy(&line) {
            match range32(rng.next_u32(), 6) {
                0 | 1 if arrived < 100 => {
                    arrived += 1;
                    passed += line.arrive(&packet(arrived % 3, arrived, 0)) as u32;
                }
                0..3 => _ = line.send(),
                3 => _ = line.land(),
                4 => taken += line.take(0).is_some() as u32,
                _ => _ = line.hear(),
            }
            let held = line.down.queued(1) as usize / WIRE as usize;
            let spent = line.link.len() + held + line.frames.len();
            assert!(spent <= CREDITS, "seed {seed}: {spent} credits are spent");
            let waits = line.up.queued(AHEAD) > 0;
            assert_eq!(line.up.sendable(AHEAD), waits && spent < CREDITS, "seed {seed}: {spent} credits are spent");
            blocked += (waits && spent == CREDITS) as u32;
        }
        assert_eq!(taken, 100, "seed {seed}");
    }
    assert!(blocked > 0 && passed > 0, "blocked {blocked} times, {passed} packets delivered");
}
