//! A software NIC: a link, a clock, and here the receivers too. No packet is lost, so no timer of a sender expires.

use backwater_nic::{Context, Flow, Flows, NewFlow, Nic, NicParams};
use backwater_schemes::build::ser_time;
use backwater_schemes::{Network, NicSite, Switch};
use backwater_transport::{Datagrams, Receiver, Reply, Sender, Source, Start, Transport};
use backwater_types::{BitsPerSec, ControlFrame, Duration, Instant, Packet, SerTime, flags};
use std::collections::BTreeMap;

/// Address of the host.
pub(crate) const HOST: u16 = 3;
/// Address of all receivers.
pub(crate) const PEER: u16 = 7;
/// Rate of the link.
pub(crate) const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
/// Transmission time of a full packet: 80 ps for each of 1048 bytes.
pub(crate) const PACKET: Duration = Duration(83_840);
/// Wire bytes of the last packet of a flow.
pub(crate) const LAST_WIRE: u16 = 548;
/// `[workload]`: traffic class.
pub(crate) const PRIORITIES: [u8; 4] = [1, 0, 2, 3];

/// A NIC of discipline `N`, whose flows have transport `T`.
pub(crate) struct SoftwareNic<N: Nic<T::Sender>, T: Transport> {
    nic: N,
    params: NicParams<T::Params>,
    flows: Flows<T::Sender, N::Flow>,
    peers: T::Peers,
    receivers: BTreeMap<u32, T::Receiver>,
    /// State that receivers share.
    shared: <T::Receiver as Receiver>::Host,
    ser: SerTime,
    now: Instant,
    /// Expiry of the NIC's timer.
    timer: Instant,
    /// End of the current transmission.
    pub(crate) busy_until: Instant,
    /// Packets sent, and the starts of their transmissions.
    pub(crate) sent: Vec<(Instant, Packet)>,
    /// Packets dropped for lack of room.
    pub(crate) dropped: Vec<Packet>,
}

impl<N: Nic<T::Sender>, T: Transport> SoftwareNic<N, T> {
    /// Makes a NIC on a switch of this table.
    pub(crate) fn new(network: &Network, table: &Switch, transport: T::Params) -> Self {
        SoftwareNic {
            nic: N::new(network.nic(table, &NicSite { host: HOST, rate: RATE, delay: Duration::from_us(1) })),
            params: network.nic_params(table, transport),
            flows: Flows::default(),
            peers: T::Peers::default(),
            receivers: BTreeMap::new(),
            shared: Default::default(),
            ser: ser_time(network.conventions, RATE),
            now: Instant::ZERO,
            timer: Instant::NEVER,
            busy_until: Instant::ZERO,
            sent: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Starts a flow of `packets` packets, and returns its slot.
    pub(crate) fn start(&mut self, id: u32, workload: u8, packets: u32) -> u32 {
        let start = self.of(workload, packets);
        let flow = T::open(&self.params.transport, &mut self.peers, self.now, start);
        self.add(id, workload, Source::Flow(flow))
    }

    /// Starts an application that writes datagrams at a rate, and returns its slot.
    pub(crate) fn write(&mut self, id: u32, workload: u8, packets: u32, rate: BitsPerSec) -> u32 {
        let datagrams = Datagrams::new(self.of(workload, packets), 1048, SerTime::of(rate), self.now);
        self.add(id, workload, Source::Datagrams(datagrams))
    }

    fn of(&self, workload: u8, packets: u32) -> Start {
        let class = PRIORITIES[workload as usize];
        Start { dst: PEER, key: 11, site: 0, packets, last_wire: LAST_WIRE, class, flags: flags::ECT }
    }

    fn add(&mut self, id: u32, workload: u8, source: Source<T::Sender>) -> u32 {
        let new = NewFlow { id, dst: PEER, size: 0, receiver_slot: 100 + id, class: workload };
        let slot = self.flows.add(Flow::new(source, new));
        self.tell(|nic, cx| nic.offer(cx, slot));
        slot
    }

    /// Whether the NIC knows the flow.
    pub(crate) fn has(&mut self, slot: u32, id: u32) -> bool {
        self.flows.named(slot, id).is_some()
    }

    /// Delivers a frame of the switch.
    pub(crate) fn control(&mut self, frame: ControlFrame) {
        self.tell(|nic, cx| nic.on_control(cx, frame));
    }

    /// Takes the link down and up again.
    pub(crate) fn link_up(&mut self) {
        self.tell(|nic, cx| nic.release(cx));
    }

    /// Sends a reply to a flow that this host receives.
    pub(crate) fn reply(&mut self, reply: Packet) {
        self.nic.reply(&self.params, reply.into());
        self.tell(|_, _| ());
    }

    /// Delivers all packets that were sent, and their answers.
    pub(crate) fn arrive(&mut self) {
        let sent: Vec<Packet> = self.sent.iter().map(|(_, packet)| *packet).collect();
        for packet in sent {
            let mut replies = Vec::new();
            let (receiver, shared) = (self.receivers.entry(packet.flow).or_default(), &mut self.shared);
            let mut say = |of: &Packet, reply: Reply<T::Extension>| {
                let Reply { kind, seq, word, wire, flags, .. } = reply;
                let receiver_slot = word.unwrap_or(of.receiver_slot);
                replies.push(Packet { kind, seq, receiver_slot, dst: of.src, src: of.dst, wire, flags, ..*of });
            };
            let receiving = T::receiving(&self.params.transport);
            if let Some(reply) = receiver.on_packet(receiving, shared, self.now, &packet.into(), &mut say) {
                say(&packet, reply);
            }
            for reply in replies {
                let slot = reply.sender_slot;
                let Some(flow) = self.flows.named(slot, reply.flow) else { continue };
                flow.source.on_packet(&self.params.transport, self.now, &reply.into());
                let done = flow.source.is_done();
                self.tell(|nic, cx| if done { nic.done(cx, slot) } else { nic.offer(cx, slot) });
            }
        }
    }

    /// Lets time pass, up to and including `end`.
    pub(crate) fn run_to(&mut self, end: Instant) {
        loop {
            let link = if self.nic.sendable() && self.busy_until > self.now { self.busy_until } else { Instant::NEVER };
            let next = link.min(self.timer);
            if next > end {
                break;
            }
            self.now = next;
            if self.timer <= next {
                self.with(|nic, cx| nic.on_timer(cx));
                self.timer = self.nic.next_timer();
            }
            self.send();
        }
        self.now = end;
    }

    /// Runs an event of the NIC, after which the link is polled.
    fn tell(&mut self, event: impl FnOnce(&mut N, &mut Context<T::Sender, N::Flow>)) {
        self.with(event);
        self.send();
    }

    fn with<R>(&mut self, event: impl FnOnce(&mut N, &mut Context<T::Sender, N::Flow>) -> R) -> R {
        let mut cx = Context {
            now: self.now,
            busy_until: self.busy_until,
            ser: self.ser,
            host: HOST,
            params: &self.params,
            flows: &mut self.flows,
            wake: Instant::NEVER,
        };
        let result = event(&mut self.nic, &mut cx);
        self.timer = self.timer.min(cx.wake);
        while let Some(packet) = self.nic.dropped() {
            self.dropped.push(packet);
        }
        result
    }

    /// Puts a reply, or else the next packet of a flow, on the link if it is free.
    fn send(&mut self) {
        if self.busy_until > self.now {
            return;
        }
        let reply = self.nic.next_reply(&self.params);
        if let Some(packet) = reply.or_else(|| self.with(|nic, cx| nic.next_data(cx))) {
            self.busy_until = self.now + self.ser.of_bytes(packet.wire.into());
            self.sent.push((self.now, packet.packet));
        }
    }
}
