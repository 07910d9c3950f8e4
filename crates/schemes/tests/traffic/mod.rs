//! Random traffic across a switch: bursts, pauses, drops, and links that fail and come back.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use backwater_dataplane::{
    BufferSize, DataPlane, Departed, Discarded, DownQueues, Driver, Joined, MarkingShape, Outlets, PortShape, Red,
    Shape,
};
use backwater_schemes::planes::Product;
use backwater_schemes::{AnySwitch, Switch};
use backwater_types::hash::Stream;
use backwater_types::{
    BitsPerSec, Bytes, ControlFrame, DropReason, Duration, Frame, Instant, Kind, Packet, PortId, SerTime, flags,
};
use std::collections::HashSet;

pub const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
pub const PORTS: u16 = 4;

/// Ways in which a switch drops packets that it has taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drops {
    /// None.
    Never,
    /// With their port. ACKs that wait go unreported then, so there are none.
    WithPort,
    /// At dequeue, where a packet would be marked and cannot be.
    Unmarked,
}

/// Builds a switch of a product with a buffer that overflows.
pub fn build(product: Product, drops: Drops) -> AnySwitch {
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
        stamp: true,
        ..Shape::new(ports, queues)
    };
    backwater_planes::of(product, &shape, &table)
}

/// What a switch did.
#[derive(Clone, Debug, PartialEq)]
pub enum Did {
    Sent(PortId, Packet, Instant),
    Joined(PortId, u16),
    Dropped(PortId, Packet, DropReason),
}

/// Holder of a switch, which keeps its links busy.
pub struct Holder {
    busy_until: Vec<Instant>,
    polls: Vec<Instant>,
    timer: Instant,
    pub did: Vec<Did>,
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
        self.did.push(Did::Sent(port, frame.packet, now));
        // Port 0 is slow, so that its packets wait.
        let slower = if port == 0 { 4 } else { 1 };
        let free_at = now + SerTime::of(RATE).of_bytes(slower * u64::from(frame.wire));
        self.busy_until[port as usize] = free_at;
        free_at
    }

    fn enqueued(&mut self, _now: Instant, joined: Joined, _frame: &Frame<()>) {
        self.did.push(Did::Joined(joined.egress, joined.queue));
    }

    fn dropped(&mut self, _now: Instant, egress: PortId, frame: &Frame<()>, reason: DropReason) {
        self.did.push(Did::Dropped(egress, frame.packet, reason));
    }

    fn discarded(&mut self, _now: Instant, port: PortId, discarded: Discarded<()>, reason: DropReason) {
        self.did.push(Did::Dropped(port, discarded.frame.packet, reason));
    }
}

/// A switch under random traffic.
pub struct Traffic<D> {
    driver: Driver<D>,
    pub holder: Holder,
    draws: Stream,
    /// Control frames for the switch are drawn among those that a neighbour of its kind sends: those it sends itself.
    heard: Vec<ControlFrame>,
    down: Option<PortId>,
    drops: Drops,
    steps: u64,
    now: Instant,
    /// Packets that have arrived.
    pub packets: u64,
    /// Handle of each packet's frame, by the packet's number.
    handle: fn(u64) -> u32,
}

impl<D: DataPlane<Extension = ()>> Traffic<D> {
    pub fn new(plane: D, drops: Drops) -> Traffic<D> {
        let ports = usize::from(PORTS);
        let (busy_until, polls) = (vec![Instant::ZERO; ports], vec![Instant::NEVER; ports]);
        Traffic {
            driver: Driver::new(plane),
            holder: Holder { busy_until, polls, timer: Instant::NEVER, did: Vec::new() },
            draws: Stream::new(7, 7, 7),
            heard: Vec::new(),
            down: None,
            drops,
            steps: 0,
            now: Instant::ZERO,
            packets: 0,
            handle: |number| number as u32,
        }
    }

    /// The same traffic, with other handles.
    pub fn with_handles(self, handle: fn(u64) -> u32) -> Traffic<D> {
        Traffic { handle, ..self }
    }

    /// Lets `packets` packets arrive, and what is between them happen.
    pub fn run(&mut self, packets: u64) {
        while self.packets < packets {
            self.step();
        }
    }

    fn draw(&mut self, below: u32) -> u32 {
        self.draws.next_u32() % below
    }

    fn step(&mut self) {
        // A burst that overflows the buffer, then a lull in which it drains.
        let gap = if self.steps % 1024 < 512 { 40_000 } else { 700_000 };
        self.steps += 1;
        self.now.0 += gap;
        let now = self.now;
        self.run_until(now);
        let before = self.holder.did.len();
        match self.draw(40) {
            0 => self.hear(now),
            1 => self.fail(now),
            n => self.arrive(now, n < 6 && self.drops != Drops::WithPort),
        }
        for did in &self.holder.did[before..] {
            if let Did::Sent(_, packet, _) = did
                && let Some(frame) = packet.control()
            {
                self.heard.push(frame);
            }
        }
    }

    fn arrive(&mut self, now: Instant, ack: bool) {
        // A flow has one path. Most flows leave by port 0.
        let flow = self.draw(40);
        let ingress = (flow % u32::from(PORTS)) as PortId;
        let egress = if flow.is_multiple_of(3) { (flow / 3 % u32::from(PORTS)) as PortId } else { 0 };
        let kind = if ack { Kind::Ack } else { Kind::Data };
        let wire = if ack { 64 } else { 200 + 100 * self.draw(9) as u16 };
        let ect = if self.drops == Drops::Unmarked && flow.is_multiple_of(2) { 0 } else { flags::ECT };
        let last = if self.draw(20) == 0 { flags::LAST } else { 0 };
        let packet = Packet {
            flow,
            key: flow.wrapping_mul(0x9e37_79b9),
            seq: self.packets as u32,
            sender_slot: flow,
            receiver_slot: (self.handle)(self.packets),
            wire,
            kind,
            class: (flow % 2) as u8,
            flags: ect | last,
            upstream_queue: (flow % 7) as u16,
            ..Packet::NONE
        };
        self.packets += 1;
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

    /// Lets all links come back, ends all pauses, and lets the queues drain.
    pub fn settle(&mut self) {
        for port in 0..PORTS {
            for up in [false, true] {
                self.driver.link_changed(self.now, port, up, &mut self.holder);
            }
        }
        self.driver.timer(self.now, &mut self.holder);
        self.now.0 += Duration::from_us(20_000).0;
        self.run_until(self.now);
    }

    /// Handles of the frames that wait in the data queues.
    pub fn residents(&self) -> HashSet<u32> {
        let mut handles = HashSet::new();
        self.driver.readings().visit(&mut |_, _, packet, _| {
            // FlowSail's marks own no frame.
            assert!(packet.wire == 0 || handles.insert(packet.receiver_slot), "two packets own one frame");
        });
        handles
    }
}
