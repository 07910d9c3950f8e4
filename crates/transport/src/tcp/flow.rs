//! TCP as a transport: connections that flows use one after another, and acknowledgements on the wire.
//!
//! Flows between two hosts may share connections: each takes the idle one with the lowest number, so that few are in
//! use and keep their windows (baselines 1.2). The SACK block of an acknowledgement travels in the field in which data
//! packets name their receiver.

use crate::flow::{Next, Outgoing, Receiver, Reply, Sender, Start, Transport};
use crate::tcp::{AckPolicy, Congestion, Connections, Marks, TcpAck, TcpParams, TcpReceiver, TcpSender, TimeoutReason};
use alloc::boxed::Box;
use alloc::vec::Vec;
use backwater_types::{Duration, Frame, Instant, Kind, Packet, flags};

/// TCP.
pub struct Tcp;

/// Parameters of [`Tcp`].
#[derive(Clone, Debug)]
pub struct TcpFlowParams {
    /// Parameters of every flow.
    pub tcp: TcpParams,
    /// Connections that two hosts have open from the start; `None`: a new connection for each flow.
    pub persistent: Option<u32>,
    /// Whether a new connection opens with a segment without payload.
    pub handshake: bool,
    /// Wire bytes of a full segment.
    pub full_wire: u16,
    /// Header bytes of a segment.
    pub header: u16,
    /// Parameters of receivers.
    pub receiver: TcpAnswers,
}

impl TcpFlowParams {
    /// Completes the parameters of TCP by the wire bytes of a full segment, of its headers and of an acknowledgement.
    pub fn new(params: &TcpParams, rto_min: Duration, full_wire: u16, header: u16, ack_wire: u16) -> TcpFlowParams {
        TcpFlowParams {
            tcp: params.with_rto(rto_min),
            persistent: (params.connections == Connections::Persistent).then_some(params.open),
            handshake: params.handshake,
            full_wire,
            header,
            receiver: TcpAnswers {
                acks: AckPolicy { every: params.ack_every, exact_marks: params.marks == Marks::Dctcp },
                delay: params.ack_delay,
                header,
                ack_wire,
            },
        }
    }
}

/// Parameters of a flow at its receiver.
#[derive(Clone, Copy, Debug)]
pub struct TcpAnswers {
    /// Acknowledgement policy.
    pub acks: AckPolicy,
    /// Longest time that an acknowledgement waits for more segments.
    pub delay: Duration,
    /// Wire bytes of a segment without payload, which opens a connection.
    pub header: u16,
    /// Wire bytes of an acknowledgement.
    pub ack_wire: u16,
}

impl Transport for Tcp {
    type Params = TcpFlowParams;
    type Extension = ();
    type Sender = TcpFlow;
    type Receiver = TcpFlowReceiver;
    /// `[destination]`: connections.
    type Peers = Vec<Peer>;

    fn open(params: &TcpFlowParams, peers: &mut Vec<Peer>, now: Instant, start: Start) -> TcpFlow {
        let new = Idle { number: 0, congestion: Congestion::new(&params.tcp, now), key: start.key };
        let (Idle { number, congestion, key }, handshake) = connect(params, peers, now, start.dst, new);
        let start = Start { key, ..start };
        TcpFlow { send: TcpSender::new(start.packets, handshake, congestion, now), start, connection: number }
    }

    fn receiving(params: &TcpFlowParams) -> &TcpAnswers {
        &params.receiver
    }

    fn close(params: &TcpFlowParams, peers: &mut Vec<Peer>, flow: &mut TcpFlow) {
        if params.persistent.is_some() {
            let idle = Idle { number: flow.connection, congestion: flow.send.congestion, key: flow.start.key };
            peers[flow.start.dst as usize].rest(idle);
        }
    }
}

/// Chooses a connection to `dst`, `new` if none is idle; and whether it has to be opened.
fn connect(params: &TcpFlowParams, peers: &mut Vec<Peer>, now: Instant, dst: u16, mut new: Idle) -> (Idle, bool) {
    let Some(ready) = params.persistent else { return (new, params.handshake) };
    if peers.len() <= dst as usize {
        peers.resize_with(dst as usize + 1, Peer::default);
    }
    let connections = &mut peers[dst as usize];
    if let Some(mut idle) = connections.idle.pop() {
        idle.congestion = idle.congestion.resumed(&params.tcp, now);
        return (idle, false);
    }
    new.number = connections.opened;
    connections.opened += 1;
    (new, params.handshake && connections.opened > ready)
}

/// Connections to one destination, numbered in the order in which they were opened.
#[derive(Debug, Default)]
pub struct Peer {
    opened: u32,
    /// Idle connections, highest number first.
    idle: Vec<Idle>,
}

/// A connection that no flow uses.
#[derive(Clone, Copy, Debug)]
struct Idle {
    number: u32,
    congestion: Congestion,
    /// Key of its packets.
    key: u32,
}

impl Peer {
    fn rest(&mut self, idle: Idle) {
        let at = self.idle.partition_point(|other| other.number > idle.number);
        self.idle.insert(at, idle);
    }
}

/// Sending end of a flow.
#[derive(Clone, Debug)]
pub struct TcpFlow {
    send: TcpSender,
    start: Start,
    /// Number of the connection.
    connection: u32,
}

impl TcpFlow {
    /// Makes the packet of a segment.
    #[inline(always)]
    fn outgoing(&self, params: &TcpFlowParams, segment: u32) -> Outgoing {
        let class = self.start.class;
        if self.send.handshake && segment == 0 {
            let flags = self.start.flags & flags::FOLLOWED;
            return Outgoing { kind: Kind::Data, seq: segment, wire: params.header, class, flags, extension: () };
        }
        let last = segment + 1 == self.send.total;
        let wire = if last { self.start.last_wire } else { params.full_wire };
        let flags = self.start.flags | if last { flags::LAST } else { 0 };
        Outgoing { kind: Kind::Data, seq: segment, wire, class, flags, extension: () }
    }
}

impl Sender for TcpFlow {
    type Params = TcpFlowParams;
    type Extension = ();
    type Due = ();

    fn peek(&self, params: &TcpFlowParams, _now: Instant) -> Next<u16> {
        self.send
            .candidate(&params.tcp)
            .map_or(Next::Blocked, |segment| Next::Packet(self.outgoing(params, segment).wire))
    }

    #[inline(always)]
    fn next_packet(&mut self, params: &TcpFlowParams, now: Instant) -> Next<Outgoing> {
        match self.send.send(&params.tcp, now) {
            Some(segment) => Next::Packet(self.outgoing(params, segment)),
            None => Next::Blocked,
        }
    }

    #[inline(always)]
    fn on_packet(&mut self, params: &TcpFlowParams, now: Instant, packet: &Frame) {
        let block = unpack_block(packet.seq, packet.receiver_slot);
        self.send.on_ack(&params.tcp, now, TcpAck { next: packet.seq, block, marked: packet.has(flags::CE) });
    }

    #[inline(always)]
    fn timer(&self, params: &TcpFlowParams) -> Instant {
        self.send.deadline(&params.tcp).unwrap_or(Instant::NEVER)
    }

    fn on_timer(&mut self, _params: &TcpFlowParams, now: Instant) -> Option<TimeoutReason> {
        Some(self.send.on_timeout(now))
    }

    #[inline(always)]
    fn has_unsent(&self) -> bool {
        self.send.has_unsent()
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.send.is_done()
    }

    fn acknowledged(&self) -> u32 {
        self.send.acked.saturating_sub(self.send.handshake as u32)
    }

    fn retransmitted(&self) -> u32 {
        self.send.retransmitted
    }

    fn timeouts(&self) -> u32 {
        self.send.timeouts
    }

    #[inline(always)]
    fn key(&self) -> u32 {
        self.start.key
    }

    #[inline(always)]
    fn class(&self) -> u8 {
        self.start.class
    }
}

/// Receiving end of a flow.
#[derive(Clone, Debug, Default)]
pub struct TcpFlowReceiver {
    state: TcpReceiver,
    /// Last segment that waits for its acknowledgement, if any does, and the arrival time of the first of these.
    waiting: Option<Box<(Packet, Instant)>>,
}

impl Receiver for TcpFlowReceiver {
    type Params = TcpAnswers;
    type Extension = ();
    type Host = ();

    #[inline(always)]
    fn on_packet(
        &mut self,
        params: &TcpAnswers,
        _host: &mut (),
        now: Instant,
        packet: &Frame,
        also: &mut impl FnMut(&Packet, Reply),
    ) -> Option<Reply> {
        let (marked, waited) = (packet.has(flags::CE), self.state.is_waiting());
        let acks = self.state.on_data(params.acks_of(packet), packet.seq, packet.has(flags::LAST), marked);
        if self.state.is_waiting() && !self.state.is_done() {
            let more = waited && acks.iter().all(Option::is_none);
            match &mut self.waiting {
                Some(waiting) => **waiting = (packet.packet, if more { waiting.1 } else { now }),
                none => *none = Some(Box::new((packet.packet, now))),
            }
        }
        let [first, second] = acks;
        if second.is_some()
            && let Some(ack) = first
        {
            also(packet, params.reply(ack));
        }
        second.or(first).map(|ack| params.reply(ack))
    }

    #[inline(always)]
    fn timer(&self, params: &TcpAnswers, _host: &()) -> Instant {
        match &self.waiting {
            Some(waiting) if self.state.is_waiting() => waiting.1 + params.delay,
            _ => Instant::NEVER,
        }
    }

    /// Acknowledges segments that have waited for more long enough.
    fn on_timer(&mut self, params: &TcpAnswers, _host: &mut (), _now: Instant, reply: &mut impl FnMut(&Packet, Reply)) {
        if let Some(waiting) = &self.waiting {
            reply(&waiting.0, params.reply(self.state.acknowledge()));
        }
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.state.is_done()
    }

    /// Acknowledges the whole flow.
    fn late(params: &TcpAnswers, _packet: &Frame) -> Option<Reply> {
        Some(params.reply(TcpAck { next: u32::MAX, block: (0, 0), marked: false }))
    }
}

impl TcpAnswers {
    /// Policy for one packet: a segment that opens a connection is acknowledged at once, because no other follows
    /// before.
    #[inline(always)]
    fn acks_of(&self, packet: &Packet) -> AckPolicy {
        if packet.wire == self.header { AckPolicy { every: 1, ..self.acks } } else { self.acks }
    }

    #[inline(always)]
    fn reply(&self, ack: TcpAck) -> Reply {
        let flags = if ack.marked { flags::CE } else { 0 };
        Reply {
            kind: Kind::Ack,
            seq: ack.next,
            word: Some(pack_block(&ack)),
            wire: self.ack_wire,
            flags,
            extension: (),
        }
    }
}

/// Packs a SACK block into 16 bits for its distance from the next segment expected and 16 for its length. Longer blocks
/// are cut.
fn pack_block(ack: &TcpAck) -> u32 {
    let (from, to) = ack.block;
    let (beyond, long) = (from.saturating_sub(ack.next), (to - from).min(u16::MAX as u32));
    if from < to && beyond <= u16::MAX as u32 { beyond << 16 | long } else { 0 }
}

fn unpack_block(next: u32, word: u32) -> (u32, u32) {
    let from = next.saturating_add(word >> 16);
    if word == 0 { (0, 0) } else { (from, from + (word & 0xffff)) }
}
