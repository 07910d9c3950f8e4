//! Handles of frames: no switch reads them, and every frame has one owner from its arrival to its departure or drop.

use backwater_dataplane::{
    BufferSize, Departed, Discarded, DownQueues, Driver, Joined, MarkingShape, Outlets, PortShape, Red, Shape,
};
use backwater_schemes::planes::Product;
use backwater_schemes::{AnySwitch, Switch};
use backwater_types::hash::Stream;
use backwater_types::{
    BitsPerSec, Bytes, ControlFrame, DropReason, Duration, Frame, Instant, Kind, Packet, PortId, SerTime, flags,
};
use std::collections::HashSet;

const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
const PORTS: u16 = 4;
const STEPS: u32 = 6_000;

/// Ways in which a switch drops packets that it has taken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drops {
    /// None.
    Never,
    /// With their port. ACKs that wait go unreported then, so there are none.
    WithPort,
    /// At dequeue, where a packet would be marked and cannot be.
    Unmarked,
}

/// Builds a switch of a product with a buffer that overflows.
fn build(product: Product, drops: Drops) -> AnySwitch {
    let name = format!("{product:?}");
    let queues = if name.ends_with("Wide") { 100 } else { 8 };
    let table = Switch { queues, buffer: BufferSize::Shared(Bytes(60_000)), ..Switch::default() };
    let mut port = PortShape::new(RATE, Duration::from_us(1));
    port.headroom = 3_000;
    let mut ports = vec![port; PORTS.into()];
    ports[3].pfc_only = name.contains("Pfc") && (name.starts_with("Bfc") || name.starts_with("FlowSail"));
    if drops == Drops::Unmarked {
        ports.iter_mut().for_each(|port| port.red = Red::new(20_000, 20_000, 1.0));
    }
    let marking = MarkingShape { drops_not_ect: drops == Drops::Unmarked, ..MarkingShape::default() };
    let down_queues = if drops == Drops::WithPort { DownQueues::Drop } else { DownQueues::Drain };
    let shape = Shape {
        marking,
        down_queues,
        buffer: 250_000,
        nic_rate: RATE,
        drop_notice: Some(64),
        ..Shape::new(ports, queues)
    };
    product.boxed(&shape, &table)
}

/// What a switch did, without the handles.
#[derive(Clone, Debug, PartialEq)]
enum Did {
    Sent(PortId, Packet, Instant),
    Joined(PortId, u16),
    Dropped(PortId, Packet, DropReason),
}

/// Holder of a switch: it keeps links busy, and an account of handles.
struct Holder {
    busy_until: Vec<Instant>,
    polls: Vec<Instant>,
    timer: Instant,
    did: Vec<Did>,
    /// Handles of frames inside the switch.
    inside: HashSet<u32>,
}

impl Holder {
    fn new() -> Holder {
        let ports = usize::from(PORTS);
        let (busy_until, polls) = (vec![Instant::ZERO; ports], vec![Instant::NEVER; ports]);
        Holder { busy_until, polls, timer: Instant::NEVER, did: Vec::new(), inside: HashSet::new() }
    }

    /// Takes a handle out of the account, and returns the packet without it.
    fn leave(&mut self, packet: &Packet) -> Packet {
        match packet.kind {
            Kind::Control => return *packet,
            Kind::DropNotice => assert_eq!(packet.receiver_slot, Packet::NO_FRAME, "a notice owns no frame"),
            _ => assert!(self.inside.remove(&packet.receiver_slot), "a frame leaves that is not inside: {packet:?}"),
        }
        Packet { receiver_slot: 0, ..*packet }
    }
}

impl Outlets<()> for Holder {
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

    fn send(&mut self, now: Instant, port: PortId, frame: &Frame<()>, _departed: &Departed) -> Instant {
        let packet = self.leave(frame);
        self.did.push(Did::Sent(port, packet, now));
        // Port 0 is slow, so that its packets wait.
        let slower = if port == 0 { 20 } else { 1 };
        let free_at = now + SerTime::of(RATE).of_bytes(slower * u64::from(packet.wire));
        self.busy_until[port as usize] = free_at;
        free_at
    }

    fn enqueued(&mut self, _now: Instant, joined: Joined, _frame: &Frame<()>) {
        self.did.push(Did::Joined(joined.egress, joined.queue));
    }

    fn dropped(&mut self, _now: Instant, egress: PortId, frame: &Frame<()>, reason: DropReason) {
        let packet = self.leave(frame);
        self.did.push(Did::Dropped(egress, packet, reason));
    }

    fn discarded(&mut self, _now: Instant, port: PortId, discarded: Discarded<()>, reason: DropReason) {
        let packet = self.leave(&discarded.frame);
        self.did.push(Did::Dropped(port, packet, reason));
    }
}

/// A switch under random traffic, pauses and failures of links, with handles by `handle`.
struct Traffic {
    driver: Driver<AnySwitch>,
    holder: Holder,
    draws: Stream,
    /// Control frames for the switch are drawn among those that a neighbour of its kind sends: those it sends itself.
    heard: Vec<ControlFrame>,
    down: Option<PortId>,
    drops: Drops,
}

impl Traffic {
    fn new(product: Product, drops: Drops) -> Traffic {
        let (driver, draws) = (Driver::new(build(product, drops)), Stream::new(7, 7, 7));
        Traffic { driver, holder: Holder::new(), draws, heard: Vec::new(), down: None, drops }
    }

    fn draw(&mut self, below: u32) -> u32 {
        self.draws.next_u32() % below
    }

    fn step(&mut self, number: u32, handle: u32) {
        let now = Instant(u64::from(number) * 60_000);
        self.run_until(now);
        match self.draw(40) {
            0 => self.hear(now),
            1 => self.fail(now),
            n => self.arrive(now, handle, n < 6 && self.drops != Drops::WithPort),
        }
        let sent = self.holder.did.iter().rev().take(4).filter_map(|did| match did {
            Did::Sent(_, packet, _) => packet.control(),
            Did::Joined(..) | Did::Dropped(..) => None,
        });
        self.heard.extend(sent);
    }

    fn arrive(&mut self, now: Instant, handle: u32, ack: bool) {
        // A flow has one path. Most flows leave by port 0.
        let flow = self.draw(40);
        let ingress = (flow % u32::from(PORTS)) as PortId;
        let egress = if flow.is_multiple_of(3) { (flow / 3 % u32::from(PORTS)) as PortId } else { 0 };
        let kind = if ack { Kind::Ack } else { Kind::Data };
        let wire = if ack { 64 } else { 1000 };
        let ect = if self.drops == Drops::Unmarked && flow.is_multiple_of(2) { 0 } else { flags::ECT };
        let last = if self.draw(20) == 0 { flags::LAST } else { 0 };
        let packet = Packet {
            flow,
            key: flow.wrapping_mul(0x9e37_79b9),
            seq: self.draw(1 << 20),
            sender_slot: flow,
            receiver_slot: handle,
            wire,
            kind,
            class: (flow % 2) as u8,
            flags: ect | last,
            upstream_queue: (flow % 8) as u16,
            ..Packet::NONE
        };
        assert!(self.holder.inside.insert(handle), "handles are new");
        self.driver.arrive(now, ingress, egress, &mut packet.into(), &mut self.holder);
    }

    /// A neighbour sends a frame such as the switch has sent.
    fn hear(&mut self, now: Instant) {
        if self.heard.is_empty() {
            return;
        }
        let which = self.draw(self.heard.len() as u32) as usize;
        let port = self.draw(PORTS.into()) as PortId;
        self.driver.control(now, port, self.heard[which], &mut self.holder);
    }

    /// A link fails, or the one that failed comes back.
    fn fail(&mut self, now: Instant) {
        let (port, up) = match self.down.take() {
            Some(port) => (port, true),
            None => (self.draw(PORTS.into()) as PortId, false),
        };
        self.down = (!up).then_some(port);
        self.driver.link_changed(now, port, up, &mut self.holder);
        self.driver.timer(now, &mut self.holder);
    }

    /// Runs polls and timers up to `end`.
    fn run_until(&mut self, end: Instant) {
        loop {
            let (port, at) = self.holder.polls.iter().copied().enumerate().min_by_key(|(_, at)| *at).expect("ports");
            if at.min(self.holder.timer) > end {
                return;
            }
            if self.holder.timer <= at {
                let now = std::mem::replace(&mut self.holder.timer, Instant::NEVER);
                self.driver.timer(now, &mut self.holder);
            } else {
                self.holder.polls[port] = Instant::NEVER;
                self.driver.poll_due(at, port as PortId, &mut self.holder);
            }
        }
    }

    /// Handles of the frames that wait in the switch's data queues.
    fn residents(&self) -> HashSet<u32> {
        let mut handles = HashSet::new();
        self.driver.readings().visit(&mut |_, _, packet, _| {
            if packet.wire > 0 && packet.kind != Kind::Control {
                assert!(handles.insert(packet.receiver_slot), "two packets own one frame");
            }
        });
        handles
    }
}

/// Two switches of each product see the same traffic, with different handles: they do the same.
#[test]
fn no_switch_reads_the_handle_of_a_frame() {
    for product in Product::ALL {
        let (mut one, mut other) = (Traffic::new(*product, Drops::Never), Traffic::new(*product, Drops::Never));
        for number in 0..STEPS {
            one.step(number, number);
            other.step(number, u32::MAX - 1 - number.wrapping_mul(0x9e37_79b1) % (1 << 30));
        }
        let sent = one.holder.did.iter().filter(|did| matches!(did, Did::Sent(..))).count();
        assert!(sent > 1_000, "{product:?} sent {sent} packets");
        assert!(one.holder.did == other.holder.did, "{product:?} does something else for other handles");
    }
}

/// Every frame leaves a switch once: it is sent, dropped on arrival, or dropped later.
#[test]
fn frames_are_neither_lost_nor_freed_twice() {
    for drops in [Drops::Never, Drops::WithPort, Drops::Unmarked] {
        // Only switches without backpressure drop packets that cannot be marked.
        let unpaused = |product: &&Product| [Product::Fifo, Product::FairQueueing, Product::Sfq].contains(product);
        let products = Product::ALL.iter().filter(|product| drops != Drops::Unmarked || unpaused(product));
        let reasons: HashSet<DropReason> = products.flat_map(|product| account(*product, drops)).collect();
        let expected = match drops {
            Drops::Never => vec![DropReason::Buffer, DropReason::Headroom],
            Drops::WithPort => vec![DropReason::Buffer, DropReason::Headroom, DropReason::LinkDown],
            Drops::Unmarked => vec![DropReason::NotEct],
        };
        assert!(expected.iter().all(|reason| reasons.contains(reason)), "{drops:?}: {reasons:?}");
    }
}

/// Keeps the account of a switch, and returns the reasons for which it dropped packets.
fn account(product: Product, drops: Drops) -> HashSet<DropReason> {
    let mut traffic = Traffic::new(product, drops);
    for number in 0..STEPS {
        traffic.step(number, number);
        if number % 97 == 0 {
            let residents = traffic.residents();
            assert!(residents.is_subset(&traffic.holder.inside), "{product:?} holds a frame that it sent");
        }
    }
    // All links come back, and nothing is paused any more.
    let end = Instant(u64::from(STEPS) * 60_000);
    for port in 0..PORTS {
        for up in [false, true] {
            traffic.driver.link_changed(end, port, up, &mut traffic.holder);
        }
    }
    traffic.driver.timer(end, &mut traffic.holder);
    traffic.run_until(end + Duration::from_us(20_000));
    // The pseudo-code of FlowSail as printed holds packets for ever. They are still there.
    assert_eq!(traffic.holder.inside, traffic.residents(), "{product:?}, {drops:?}");
    let ends = product != Product::FlowSailLiteral;
    assert!(!ends || traffic.holder.inside.is_empty(), "{product:?} keeps {} frames", traffic.holder.inside.len());
    let reason = |did: &Did| match did {
        Did::Dropped(_, _, reason) => Some(*reason),
        Did::Sent(..) | Did::Joined(..) => None,
    };
    traffic.holder.did.iter().filter_map(reason).collect()
}
