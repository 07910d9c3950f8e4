//! What a software NIC has around it: a link, a clock, and here the receivers too. No packet is lost, so no timer of a sender comes
//! to be due.

use backwater_nic::{Context, Flow, Flows, NewFlow, Nic, NicParams};
use backwater_schemes::build::ser_time;
use backwater_schemes::{Network, NicSite, Switch};
use backwater_transport::{Datagrams, Receiver, Reply, Sender, Source, Start, Transport};
use backwater_types::{BitsPerSec, ControlFrame, Duration, Instant, Packet, SerTime, flags};
use std::collections::BTreeMap;

/// Its address.
pub(crate) const HOST: u16 = 3;
/// That of all receivers.
pub(crate) const PEER: u16 = 7;
/// Rate of its link.
pub(crate) const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
/// A full packet takes 80 ps for each of 1048 bytes.
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
    /// What these share.
    shared: <T::Receiver as Receiver>::Host,
    ser: SerTime,
    now: Instant,
    /// When the NIC's timer runs.
    timer: Instant,
    /// The link is taken until then.
    pub(crate) busy_until: Instant,
    /// What took the link, and when.
    pub(crate) sent: Vec<(Instant, Packet)>,
    /// What there was no room for.
    pub(crate) dropped: Vec<Packet>,
}

impl<N: Nic<T::Sender>, T: Transport> SoftwareNic<N, T> {
    /// On a switch that does as its table says.
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

    /// A flow of so many packets starts. Its slot.
    pub(crate) fn start(&mut self, id: u32, workload: u8, packets: u32) -> u32 {
        let start = self.of(workload, packets);
        let flow = T::open(&self.params.transport, &mut self.peers, self.now, start);
        self.add(id, workload, Source::Flow(flow))
    }

    /// An application starts to write datagrams at a rate. Their slot.
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

    /// Whether it knows of the flow.
    pub(crate) fn has(&mut self, slot: u32, id: u32) -> bool {
        self.flows.named(slot, id).is_some()
    }

    /// A frame of the switch comes in.
    pub(crate) fn control(&mut self, frame: ControlFrame) {
        self.tell(|nic, cx| nic.on_control(cx, frame));
    }

    /// The link was down, and is up again.
    pub(crate) fn link_up(&mut self) {
        self.tell(|nic, cx| nic.release(cx));
    }

    /// A reply to a flow that comes in here is to be sent.
    pub(crate) fn reply(&mut self, reply: Packet) {
        self.nic.reply(&self.params, reply.into());
        self.tell(|_, _| ());
    }

    /// All that was sent arrives, and so does what answers it.
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

    /// Time passes; what is due at `end` happens too.
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

    /// Something happens to the NIC; the link may have something to send then.
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

    /// A reply takes the link if it is free, or the next packet of a flow.
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
