//! Selective retransmission under end-to-end control: the receiver takes packets in any order, and the sender
//! retransmits only the missing ones.
//!
//! Sources: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, section 3 (IRN; baselines 8), with the
//! timeouts of a public simulator that runs it at 100 Gb/s; Goyal et al., "Backpressure Flow Control", NSDI 2022,
//! section 6.2.1, and its authors' simulator (HPCC without PFC; baselines 4.1).
//!
//! ```text
//! receiver:            answers each packet with the first missing packet and its own number, by an ACK in order,
//!                      else by a NACK
//! a packet may start:  packets in flight (sent, neither acknowledged nor declared lost) < window, and its number is
//!                      less than `reach` windows of line rate beyond the first missing packet
//! NACK, with `gaps`:   starts a recovery, if none runs, with R = next packet never sent. Packets missing below the
//!                      NACK's packet are lost, unless this recovery declared them lost before. It ends when all
//!                      before R have arrived
//! drop notice:         the dropped packet is lost, and with `notice_slows` the rate goes to its minimum
//! nothing new for RTO: all missing packets are lost. RTO = rto_low if at most `few` are in flight, else rto_high
//! lost packets go first, the lowest number first
//! ```
//!
//! Control sees every answer, each for a packet that arrived. Its positions in the flow are counts: packets that have
//! arrived, and packets sent and not lost, as HPCC without PFC counts bytes in its authors' simulator. Control sees a
//! loss once in a recovery, with every notice and with every timeout.
//!
//! Differs from IRN: after a timeout all missing packets go, not only the first, so that the end of a flow takes one
//! timeout. Differs from HPCC without PFC: the sender retransmits the dropped packet, not as many bytes of the end of
//! the flow. There is also a timer, so that a lost notice does not end a flow.
//!
//! State: two sets of packets at the sender and one at the receiver, a bit for each packet from the first missing one
//! on; at most `reach` windows of them, and none without losses.

use crate::flow::{Next, Outgoing, Receiver, Reply, Sender, Start, Transport};
use crate::notifier::{Notifier, cnp};
use crate::paced::{Paced, PacedParams, answered_by_paced};
use crate::packet_set::PacketSet;
use crate::rate::{Ack, Control, Loss, Times};
use crate::tcp::TimeoutReason;
use alloc::format;
use alloc::vec::Vec;
use backwater_types::{
    Duration, Extension, Frame, Instant, Kind, LibraryRand, OutOfRange, Packet, Ranges, TIMER_MAX, flags,
};
use core::marker::PhantomData;
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Signs by which a sender detects losses (baselines 4.1 and 8).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct SelectiveParams {
    /// Packets missing below one that came out of order are lost (IRN); false: only notices and timeouts declare
    /// losses.
    pub gaps: bool,
    /// A drop notice sets the rate to its minimum, where control has one.
    pub notice_slows: bool,
    /// Windows of packets that may be sent beyond the first missing packet, 1 to 64.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64)))]
    pub reach: u32,
    /// Timeout with at most `few` packets in flight.
    pub rto_low: Duration,
    /// Timeout with more than `few` packets in flight.
    pub rto_high: Duration,
    /// Most packets in flight for which the timeout is `rto_low`.
    pub few: u32,
}

impl Default for SelectiveParams {
    fn default() -> SelectiveParams {
        SelectiveParams {
            gaps: true,
            notice_slows: true,
            reach: 1,
            rto_low: Duration::from_us(100),
            rto_high: Duration::from_us(320),
            few: 3,
        }
    }
}

impl Ranges for SelectiveParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless((1..=64).contains(&self.reach), "reach", "1 to 64")?;
        let timer = |time: Duration| time > Duration::ZERO && time <= TIMER_MAX;
        let expected = format!("more than 0 and at most {TIMER_MAX}");
        OutOfRange::unless(timer(self.rto_low), "rto_low", &expected)?;
        OutOfRange::unless(timer(self.rto_high), "rto_high", &expected)?;
        OutOfRange::unless(self.rto_low <= self.rto_high, "rto_low", &format!("at most rto_high = {}", self.rto_high))
    }
}

/// Selective retransmission under control `C`.
pub struct Selective<C>(PhantomData<C>);

/// Parameters of [`Selective`].
#[derive(Clone, Debug)]
pub struct SelectiveFlowParams<P> {
    /// Parameters of the flows and of their control.
    pub paced: PacedParams<P>,
    /// `[site]`: packets that may be sent from the first missing one on.
    pub spans: Vec<u32>,
    /// Signs of losses.
    pub losses: SelectiveParams,
    /// Parameters of receivers.
    pub receiver: SelectiveReceiverParams,
}

/// Parameters of a [`SelectiveReceiver`].
#[derive(Clone, Copy, Debug)]
pub struct SelectiveReceiverParams {
    /// Wire bytes of an ACK or NACK.
    pub ack_wire: u16,
    /// Least time between two congestion notifications; `None`: the receiver sends none ([`Control::notifies`]).
    pub notifies: Option<Duration>,
}

impl<C: Control> Transport for Selective<C> {
    type Params = SelectiveFlowParams<C::Params>;
    type Extension = C::Extension;
    type Sender = SelectiveSender<C>;
    type Receiver = SelectiveReceiver<C::Extension>;
    type Peers = ();

    fn open(params: &Self::Params, _peers: &mut (), now: Instant, start: Start) -> SelectiveSender<C> {
        SelectiveSender::new(params, now, start)
    }

    fn receiving(params: &Self::Params) -> &SelectiveReceiverParams {
        &params.receiver
    }

    fn draw_from(params: &mut Self::Params, seed: u64, rand: Option<&LibraryRand>) {
        params.paced.controls.iter_mut().for_each(|control| C::draw_from(control, seed, rand));
    }
}

/// Sending side of one flow.
#[derive(Clone, Debug)]
pub struct SelectiveSender<C: Control> {
    paced: Paced<C>,
    /// Packets known to have arrived.
    arrived: PacketSet,
    /// Packets known to have arrived or in flight. Packets not in the set are to be sent.
    out: PacketSet,
    /// One more than the last packet ever sent.
    high: u32,
    /// Packets that may be sent from the first missing one on.
    span: u32,
    /// Recovery lasts until all packets before this have arrived.
    recover: u32,
    /// Packets missing below this were declared lost in the current recovery.
    judged: u32,
    retransmitted: u32,
    /// Last time that a packet was newly acknowledged, or that one was sent with nothing in flight.
    progress: Instant,
    /// Last send time of each packet from the first missing one on, where control asks for it.
    sent: C::Times,
}

impl<C: Control> SelectiveSender<C> {
    /// Opens a flow.
    pub fn new(params: &SelectiveFlowParams<C::Params>, now: Instant, start: Start) -> Self {
        let paced = Paced::new(&params.paced, now, start);
        SelectiveSender {
            sent: paced.times(&params.paced),
            paced,
            arrived: PacketSet::EMPTY,
            out: PacketSet::EMPTY,
            high: 0,
            span: params.spans[start.site as usize],
            recover: 0,
            judged: 0,
            retransmitted: 0,
            progress: now,
        }
    }

    /// Counts the packets sent, neither declared lost nor known to have arrived.
    #[inline(always)]
    fn in_flight(&self) -> u32 {
        self.out.count() - self.arrived.count()
    }

    /// Returns the time at which all missing packets are declared lost.
    #[inline(always)]
    fn timeout(&self, params: &SelectiveFlowParams<C::Params>) -> Instant {
        match self.in_flight() {
            0 => Instant::NEVER,
            few if few <= params.losses.few => self.progress + params.losses.rto_low,
            _ => self.progress + params.losses.rto_high,
        }
    }

    /// Takes note that packet `came` and all packets before `next` have arrived.
    #[inline(always)]
    fn on_arrived(&mut self, now: Instant, next: u32, came: u32) {
        let (count, first) = (self.arrived.count(), self.arrived.first_missing());
        for packets in [&mut self.arrived, &mut self.out] {
            packets.insert_before(next);
            packets.insert(came);
        }
        self.sent.acknowledged(self.arrived.first_missing() - first);
        if self.arrived.count() > count {
            self.progress = now;
        }
    }

    /// Declares packets lost that are missing below `came`, unless this recovery did so before.
    #[cold]
    fn recover(&mut self, params: &SelectiveFlowParams<C::Params>, now: Instant, came: u32) {
        let first = self.arrived.first_missing();
        if came < first {
            return;
        }
        if first >= self.recover {
            (self.recover, self.judged) = (self.high, first);
            self.paced.update(&params.paced, |control, params| control.on_loss(params, now, Loss::Missed));
        }
        let mut from = self.judged;
        while let Some((lost, end)) = self.arrived.hole(from, came) {
            (lost..end).for_each(|seq| self.out.remove(seq));
            from = end;
        }
        self.judged = self.judged.max(came);
    }

    /// Handles the notice that a switch dropped packet `seq`.
    #[cold]
    fn on_notice(&mut self, params: &SelectiveFlowParams<C::Params>, now: Instant, seq: u32) {
        if !self.out.contains(seq) || self.arrived.contains(seq) {
            return;
        }
        self.out.remove(seq);
        let slows = params.losses.notice_slows;
        self.paced.update(&params.paced, |control, params| {
            let changed = control.on_loss(params, now, Loss::Missed);
            slows && control.to_min_rate(params) || changed
        });
    }
}

impl<C: Control> Sender for SelectiveSender<C> {
    type Params = SelectiveFlowParams<C::Params>;
    type Extension = C::Extension;
    type Due = C::Due;

    #[inline(always)]
    fn peek(&self, params: &Self::Params, now: Instant) -> Next<u16> {
        let seq = self.out.first_missing();
        let shut = self.in_flight() >= self.paced.limit || seq - self.arrived.first_missing() >= self.span;
        if seq == self.paced.packets || shut { Next::Blocked } else { self.paced.peek(&params.paced, now, seq) }
    }

    #[inline(always)]
    fn next_packet(&mut self, params: &Self::Params, now: Instant) -> Next<Outgoing<C::Extension>> {
        let wire = match self.peek(params, now) {
            Next::Packet(wire) => wire,
            Next::NotBefore(at) => return Next::NotBefore(at),
            Next::Blocked => return Next::Blocked,
        };
        let seq = self.out.first_missing();
        if self.in_flight() == 0 {
            self.progress = now;
        }
        self.out.insert(seq);
        if seq < self.high {
            self.retransmitted += 1;
            self.sent.sent_again(now, seq - self.arrived.first_missing());
        } else {
            self.high = seq + 1;
            self.sent.sent(now);
        }
        Next::Packet(self.paced.send(&params.paced, now, seq, wire))
    }

    #[inline(always)]
    fn on_packet(&mut self, params: &Self::Params, now: Instant, packet: &Frame<C::Extension>) {
        match packet.kind {
            Kind::Ack | Kind::Nack => {}
            Kind::Cnp => return self.paced.update(&params.paced, |control, params| control.on_cnp(params, now)),
            Kind::DropNotice => return self.on_notice(params, now, packet.seq),
            _ => return,
        }
        let (next, came) = (packet.seq, packet.receiver_slot);
        if next > self.high || came >= self.high {
            return;
        }
        let place = came.checked_sub(self.arrived.first_missing());
        let rtt = place.and_then(|place| self.sent.since(now, place));
        self.on_arrived(now, next, came);
        if packet.kind == Kind::Nack && params.losses.gaps {
            self.recover(params, now, came);
        }
        let (seq, marked, extension) = (self.arrived.count(), packet.has(flags::CE), packet.extension);
        let (key, next) = (self.paced.key, self.out.count());
        let ack = Ack { now, key, seq, next, whole: next, marked, rtt, extension };
        self.paced.update(&params.paced, |control, params| control.on_ack(params, ack));
    }

    #[inline(always)]
    fn timer(&self, params: &Self::Params) -> Instant {
        self.paced.timer(&params.paced).min(self.timeout(params))
    }

    fn on_timer(&mut self, params: &Self::Params, now: Instant) -> Option<TimeoutReason> {
        if self.timeout(params) <= now {
            self.out.clone_from(&self.arrived);
            // Packets that are retransmitted now arrive out of order and declare no others lost.
            (self.recover, self.judged) = (self.high, self.high);
            self.progress = now;
            self.paced.update(&params.paced, |control, params| control.on_loss(params, now, Loss::Timeout));
        }
        self.paced.on_timer(&params.paced, now);
        None
    }

    answered_by_paced!();

    #[inline(always)]
    fn has_unsent(&self) -> bool {
        self.out.first_missing() < self.paced.packets
    }

    #[inline(always)]
    fn left_bytes(&self, params: &Self::Params) -> u64 {
        self.paced.left_from(&params.paced, self.out.first_missing())
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.arrived.first_missing() == self.paced.packets
    }

    fn acknowledged(&self) -> u32 {
        self.arrived.count()
    }

    fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
}

/// Receiving side of one flow. Answers carry the extension of the packet that they answer.
#[derive(Clone, Debug)]
pub struct SelectiveReceiver<E = ()> {
    arrived: PacketSet,
    /// Number of packets of the flow; 0 before the last one has arrived.
    packets: u32,
    /// Congestion notifications, if any are sent.
    notifier: Notifier,
    carries: PhantomData<E>,
}

impl<E> Default for SelectiveReceiver<E> {
    fn default() -> SelectiveReceiver<E> {
        SelectiveReceiver { arrived: PacketSet::EMPTY, packets: 0, notifier: Notifier::default(), carries: PhantomData }
    }
}

impl<E: Extension> Receiver for SelectiveReceiver<E> {
    type Params = SelectiveReceiverParams;
    type Extension = E;
    type Host = ();

    #[inline(always)]
    fn on_packet(
        &mut self,
        params: &SelectiveReceiverParams,
        _host: &mut (),
        now: Instant,
        packet: &Frame<E>,
        also: &mut impl FnMut(&Packet, Reply<E>),
    ) -> Option<Reply<E>> {
        if self.notifier.on_packet(now, params.notifies, packet) {
            also(packet, cnp(packet, params.ack_wire));
        }
        self.arrived.insert(packet.seq);
        if packet.has(flags::LAST) {
            self.packets = packet.seq + 1;
        }
        let next = self.arrived.first_missing();
        let kind = if packet.seq < next { Kind::Ack } else { Kind::Nack };
        Some(params.answer(packet, kind, next))
    }

    #[inline(always)]
    fn timer(&self, _params: &SelectiveReceiverParams, _host: &()) -> Instant {
        self.notifier.timer()
    }

    fn on_timer(
        &mut self,
        params: &SelectiveReceiverParams,
        _host: &mut (),
        now: Instant,
        reply: &mut impl FnMut(&Packet, Reply<E>),
    ) {
        if let Some(packet) = self.notifier.on_timer(now, params.notifies) {
            reply(packet, cnp(packet, params.ack_wire));
        }
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.packets > 0 && self.arrived.first_missing() == self.packets
    }

    /// The whole flow has arrived, and so have all packets before this one.
    fn late(params: &SelectiveReceiverParams, packet: &Frame<E>) -> Option<Reply<E>> {
        Some(params.answer(packet, Kind::Ack, packet.seq + 1))
    }
}

impl SelectiveReceiverParams {
    /// Answers a packet; `next` is the first missing one.
    #[inline(always)]
    fn answer<E: Extension>(&self, packet: &Frame<E>, kind: Kind, next: u32) -> Reply<E> {
        let (flags, extension) = (packet.flags & flags::CE, packet.extension);
        Reply { kind, seq: next, word: Some(packet.seq), wire: self.ack_wire, flags, extension }
    }
}
