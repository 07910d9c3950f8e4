//! Go-back-N under end-to-end control: the receiver takes packets in order only, the sender starts again where it was told to.
//!
//! Source: baselines 0.3 (the HPCC simulator), with the two repairs it recommends: a retransmission timer, and an ACK for
//! duplicate data, so that lost ACKs, NACKs and last packets heal. [`GoBackNParams`] can do without either.

use crate::due::Due;
use crate::flow::{Next, Outgoing, Receiver, Reply, Sender, Start, Transport};
use crate::rate::{Ack, Control, Loss, Times};
use crate::tcp::TimeoutReason;
use alloc::boxed::Box;
use alloc::vec::Vec;
use backwater_types::{Duration, Extension, Frame, Instant, Kind, LibraryRand, Packet, flags};
use core::marker::PhantomData;

/// Go-back-N under control `C`.
pub struct GoBackN<C>(PhantomData<C>);

/// Parameters of [`GoBackN`].
#[derive(Clone, Debug)]
pub struct GoBackNParams<P> {
    /// `[site]`: of end-to-end control.
    pub controls: Vec<P>,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Wire bytes of a full packet.
    pub full_wire: u16,
    /// Retransmission timeout; `None`: there is no timer, and a flow that loses its last packet never ends.
    pub rto: Option<Duration>,
    /// Control hears of NACKs as of ACKs.
    pub hears_nacks: bool,
    /// An ACK that overtook a NACK leaves it at what the NACK said: what is acknowledged already is sent again, or under a window
    /// nothing until the next NACK, as less is sent than acknowledged.
    pub resends_acknowledged: bool,
    /// Of receivers.
    pub receiver: GoBackNReceiverParams,
}

/// Parameters of a [`GoBackNReceiver`].
#[derive(Clone, Copy, Debug)]
pub struct GoBackNReceiverParams {
    /// Wire bytes of an ACK or NACK.
    pub ack_wire: u16,
    /// A second NACK for the same packet waits this long.
    pub nack_guard: Duration,
    /// Duplicates are acknowledged.
    pub answers_duplicates: bool,
    /// Notifies of congestion, at most once in this time ([`Control::notifies`]).
    pub notifies: Option<Duration>,
    /// Which packets are acknowledged; `None`: all.
    pub acknowledged: Option<Acknowledged>,
}

/// Which packets a receiver acknowledges: those up to whose end there are so many bytes, or a multiple of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Bytes.
    pub from: u64,
    /// Bytes.
    pub multiples_of: u64,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Wire bytes of a full packet.
    pub full_wire: u64,
}

impl Acknowledged {
    /// Whether this packet is.
    fn covers(&self, packet: &Packet) -> bool {
        let end = (packet.seq as u64 + 1) * self.payload - (self.full_wire - packet.wire as u64);
        end >= self.from || end.is_multiple_of(self.multiples_of)
    }
}

impl<P> GoBackNParams<P> {
    /// Of the control of flows that start there.
    #[inline(always)]
    fn control(&self, site: u32) -> &P {
        &self.controls[site as usize]
    }
}

impl<C: Control> Transport for GoBackN<C> {
    type Params = GoBackNParams<C::Params>;
    type Extension = C::Extension;
    type Sender = GoBackNSender<C>;
    type Receiver = GoBackNReceiver<C::Extension>;
    type Peers = ();

    fn open(params: &Self::Params, _peers: &mut (), now: Instant, start: Start) -> GoBackNSender<C> {
        GoBackNSender::new(params, now, start)
    }

    fn receiving(params: &Self::Params) -> &GoBackNReceiverParams {
        &params.receiver
    }

    fn draw_from(params: &mut Self::Params, seed: u64, rand: Option<&LibraryRand>) {
        params.controls.iter_mut().for_each(|control| C::draw_from(control, seed, rand));
    }
}

/// The sending side of one flow.
#[derive(Clone, Debug)]
pub struct GoBackNSender<C: Control> {
    control: C,
    key: u32,
    site: u32,
    /// Of the flow.
    packets: u32,
    /// Wire bytes of the last of them.
    last_wire: u16,
    class: u8,
    flags: u8,
    /// Its pace was set.
    repaced: bool,
    /// Next packet to send.
    next: u32,
    /// First packet not yet acknowledged.
    acked: u32,
    /// One more than the last packet ever sent.
    high: u32,
    /// Packets in flight at which the window is shut.
    limit: u32,
    retransmitted: u32,
    /// Last time `acked` moved, or the flow had nothing in flight and sent.
    progress: Instant,
    /// Earliest start of the next packet.
    not_before: Instant,
    /// Wire bytes of the packet sent last.
    sent_wire: u16,
    /// When each packet in flight was last sent, where control asks for it.
    sent: C::Times,
}

impl<C: Control> GoBackNSender<C> {
    /// Of a flow that starts.
    pub fn new(params: &GoBackNParams<C::Params>, now: Instant, start: Start) -> Self {
        let Start { dst: _, key, site, packets, last_wire, class, flags } = start;
        let control = params.control(site);
        let mut sender = GoBackNSender {
            control: C::new(control),
            key,
            site,
            packets,
            last_wire,
            class,
            flags,
            repaced: false,
            next: 0,
            acked: 0,
            high: 0,
            limit: 0,
            retransmitted: 0,
            progress: now,
            not_before: now,
            sent_wire: 0,
            sent: C::times(control),
        };
        sender.set_limit(params);
        sender
    }

    #[inline(always)]
    fn set_limit(&mut self, params: &GoBackNParams<C::Params>) {
        self.limit =
            self.control.window(params.control(self.site)).div_ceil(params.payload).min(u32::MAX as u64) as u32;
    }

    /// Control is told something. If that changes the pace, what waits does so for the time its predecessor takes at the rate that
    /// holds now, where control asks for that.
    #[inline(always)]
    fn tell(&mut self, params: &GoBackNParams<C::Params>, what: impl FnOnce(&mut C, &C::Params) -> bool) {
        let control = params.control(self.site);
        let before = self.gap(control);
        if what(&mut self.control, control) {
            self.set_limit(params);
            self.repaced = C::Due::MOVES;
            self.not_before = Instant((self.not_before + self.gap(control)).0.saturating_sub(before.0));
        }
    }

    /// Gap behind the last packet sent, where a change of the pace moves what waits for it.
    #[inline(always)]
    fn gap(&self, control: &C::Params) -> Duration {
        if C::Due::MOVES { self.control.moved_by(control, self.sent_wire as u64) } else { Duration::ZERO }
    }

    /// Packets sent and not acknowledged.
    #[inline(always)]
    fn in_flight(&self) -> u32 {
        self.next.saturating_sub(self.acked)
    }

    /// Whether its window keeps it from sending. With less sent than acknowledged any window does.
    #[inline(always)]
    fn is_window_shut(&self) -> bool {
        if self.next < self.acked { self.limit < u32::MAX } else { self.next - self.acked >= self.limit }
    }

    #[inline(always)]
    fn wire(&self, params: &GoBackNParams<C::Params>) -> u16 {
        if self.next + 1 == self.packets { self.last_wire } else { params.full_wire }
    }

    /// Payload bytes of the flow from packet `seq` on.
    #[inline(always)]
    fn left_from(&self, params: &GoBackNParams<C::Params>, seq: u32) -> u64 {
        let header = u64::from(params.full_wire) - params.payload;
        match self.packets - seq {
            0 => 0,
            left => u64::from(left - 1) * params.payload + u64::from(self.last_wire).saturating_sub(header),
        }
    }

    /// When what is in flight is taken for lost.
    #[inline(always)]
    fn timeout(&self, params: &GoBackNParams<C::Params>) -> Instant {
        match params.rto {
            Some(rto) if self.in_flight() > 0 => self.progress + rto,
            _ => Instant::NEVER,
        }
    }

    /// Starts again with the first packet not acknowledged.
    #[inline(always)]
    fn go_back(&mut self) {
        self.next = self.acked;
        self.sent.clear();
    }

    /// How long ago the packet before `seq` was sent.
    #[inline(always)]
    fn since_sent(&self, now: Instant, seq: u32) -> Option<Duration> {
        let place = seq.checked_sub(self.acked + 1)?;
        self.sent.since(now, place)
    }

    /// Everything before `seq` has arrived.
    #[inline(always)]
    fn advance(&mut self, params: &GoBackNParams<C::Params>, now: Instant, seq: u32) {
        if seq > self.acked && seq <= self.high {
            self.sent.acknowledged(seq - self.acked);
            self.acked = seq;
            if !params.resends_acknowledged {
                self.next = self.next.max(seq);
            }
            self.progress = now;
        }
    }
}

impl<C: Control> Sender for GoBackNSender<C> {
    type Params = GoBackNParams<C::Params>;
    type Extension = C::Extension;
    type Due = C::Due;
    const TIMER_RECEDES: bool = !C::TIMED;

    #[inline(always)]
    fn peek(&self, params: &Self::Params, now: Instant) -> Next<u16> {
        if self.next == self.packets || self.is_window_shut() {
            Next::Blocked
        } else if self.not_before > now {
            Next::NotBefore(self.not_before)
        } else {
            Next::Packet(self.wire(params))
        }
    }

    #[inline(always)]
    fn next_packet(&mut self, params: &Self::Params, now: Instant) -> Next<Outgoing<C::Extension>> {
        let wire = match self.peek(params, now) {
            Next::Packet(wire) => wire,
            Next::NotBefore(at) => return Next::NotBefore(at),
            Next::Blocked => return Next::Blocked,
        };
        let seq = self.next;
        if seq == self.acked {
            self.progress = now;
        }
        self.next += 1;
        if seq < self.high {
            self.retransmitted += 1;
        } else {
            self.high = self.next;
        }
        self.control.on_sent(params.control(self.site), now, wire as u64);
        self.not_before = now + self.control.gap(params.control(self.site), wire as u64);
        self.sent_wire = wire;
        self.sent.sent(now);
        let last = if self.next == self.packets { flags::LAST } else { 0 };
        let (class, flags) = (self.class, self.flags | last);
        let extension = self.control.outgoing(now, self.left_from(params, seq));
        Next::Packet(Outgoing { kind: Kind::Data, seq, wire, class, flags, extension })
    }

    #[inline(always)]
    fn on_packet(&mut self, params: &Self::Params, now: Instant, packet: &Frame<C::Extension>) {
        if packet.kind == Kind::Cnp {
            return self.tell(params, |control, params| control.on_cnp(params, now));
        }
        let rtt = self.since_sent(now, packet.seq);
        self.advance(params, now, packet.seq);
        let missed = packet.kind == Kind::Nack;
        if missed {
            // Back to what was missed.
            self.go_back();
            self.tell(params, |control, params| control.on_loss(params, now, Loss::Missed));
        }
        if !missed || params.hears_nacks {
            let (seq, marked, extension) = (packet.seq, packet.has(flags::CE), packet.extension);
            let short = params.resends_acknowledged && self.next == self.packets && self.last_wire < params.full_wire;
            let (key, next, whole) = (self.key, self.next, self.next - short as u32);
            let ack = Ack { now, key, seq, next, whole, marked, rtt, extension };
            self.tell(params, |control, params| control.on_ack(params, ack));
        }
    }

    #[inline(always)]
    fn timer(&self, params: &Self::Params) -> Instant {
        let own = self.control.timer(params.control(self.site));
        own.min(self.timeout(params))
    }

    fn on_timer(&mut self, params: &Self::Params, now: Instant) -> Option<TimeoutReason> {
        if self.timeout(params) <= now {
            self.go_back();
            self.progress = now;
            self.tell(params, |control, params| control.on_loss(params, now, Loss::Timeout));
        }
        if self.control.timer(params.control(self.site)) <= now {
            self.tell(params, |control, params| control.on_timer(params, now));
        }
        None
    }

    #[inline(always)]
    fn wound(&mut self) -> Option<(Instant, u8)> {
        self.control.wound()
    }

    fn on_clock(&mut self, params: &Self::Params, now: Instant, clock: u8) {
        self.tell(params, |control, params| control.on_clock(params, now, clock));
    }

    #[inline(always)]
    fn pace(&self) -> Instant {
        self.not_before
    }

    #[inline(always)]
    fn repaced(&mut self) -> bool {
        core::mem::take(&mut self.repaced)
    }

    #[inline(always)]
    fn has_unsent(&self) -> bool {
        self.next < self.packets
    }

    #[inline(always)]
    fn left_bytes(&self, params: &Self::Params) -> u64 {
        self.left_from(params, self.next)
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.acked == self.packets
    }

    fn acknowledged(&self) -> u32 {
        self.acked
    }

    fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    #[inline(always)]
    fn key(&self) -> u32 {
        self.key
    }
}

/// The receiving side of one flow, whose acknowledgements bring back what its packets carry.
#[derive(Clone, Debug)]
pub struct GoBackNReceiver<E = ()> {
    /// Next packet expected.
    expected: u32,
    done: bool,
    /// When the last NACK for `expected` was sent; never if none was.
    nacked: Instant,
    /// Where it notifies of congestion, from the first mark on.
    notice: Option<Box<Notice>>,
    carries: PhantomData<E>,
}

/// What a receiver remembers of its last notification.
#[derive(Clone, Copy, Debug)]
struct Notice {
    /// The next goes no sooner.
    next: Instant,
    /// A marked packet came since the last.
    due: bool,
    /// One of the flow.
    packet: Packet,
}

impl<E> Default for GoBackNReceiver<E> {
    fn default() -> GoBackNReceiver<E> {
        GoBackNReceiver { expected: 0, done: false, nacked: Instant::NEVER, notice: None, carries: PhantomData }
    }
}

impl<E: Extension> Receiver for GoBackNReceiver<E> {
    type Params = GoBackNReceiverParams;
    type Extension = E;
    type Host = ();

    #[inline(always)]
    fn on_packet(
        &mut self,
        params: &GoBackNReceiverParams,
        _host: &mut (),
        now: Instant,
        packet: &Frame<E>,
        reply: &mut impl FnMut(&Packet, Reply<E>),
    ) {
        if let Some(interval) = params.notifies
            && packet.has(flags::CE)
            && self.notify(now, interval, packet)
        {
            reply(packet, params.cnp(packet));
        }
        let kind = if packet.seq == self.expected {
            self.expected += 1;
            self.nacked = Instant::NEVER;
            self.done = packet.has(flags::LAST);
            if params.acknowledged.is_some_and(|which| !which.covers(packet)) {
                return;
            }
            Kind::Ack
        } else if packet.seq < self.expected {
            if !params.answers_duplicates {
                return;
            }
            Kind::Ack
        } else {
            if self.nacked != Instant::NEVER && now.since(self.nacked) < params.nack_guard {
                return;
            }
            self.nacked = now;
            Kind::Nack
        };
        reply(packet, params.reply(packet, kind, self.expected));
    }

    #[inline(always)]
    fn timer(&self, _params: &GoBackNReceiverParams, _host: &()) -> Instant {
        match &self.notice {
            Some(notice) if notice.due => notice.next,
            _ => Instant::NEVER,
        }
    }

    fn on_timer(
        &mut self,
        params: &GoBackNReceiverParams,
        _host: &mut (),
        now: Instant,
        reply: &mut impl FnMut(&Packet, Reply<E>),
    ) {
        let (Some(notice), Some(interval)) = (&mut self.notice, params.notifies) else { return };
        (notice.due, notice.next) = (false, now + interval);
        reply(&notice.packet, params.cnp(&notice.packet));
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.done
    }

    fn late(params: &GoBackNReceiverParams, packet: &Frame<E>) -> Option<Reply<E>> {
        params.answers_duplicates.then(|| params.reply(packet, Kind::Ack, packet.seq + 1))
    }
}

impl<E: Extension> GoBackNReceiver<E> {
    /// A marked packet came in. Whether to notify now; otherwise that will be due once the interval is over.
    fn notify(&mut self, now: Instant, interval: Duration, packet: &Packet) -> bool {
        let notice = self.notice.get_or_insert_with(|| Box::new(Notice { next: now, due: false, packet: *packet }));
        notice.due = now < notice.next;
        if !notice.due {
            notice.next = now + interval;
        }
        !notice.due
    }
}

impl GoBackNReceiverParams {
    fn cnp<E: Extension>(&self, packet: &Packet) -> Reply<E> {
        let (seq, wire, extension) = (packet.seq, self.ack_wire, E::default());
        Reply { kind: Kind::Cnp, seq, word: None, wire, flags: 0, extension }
    }

    #[inline(always)]
    fn reply<E: Extension>(&self, packet: &Frame<E>, kind: Kind, seq: u32) -> Reply<E> {
        let (flags, extension) = (packet.flags & flags::CE, packet.extension);
        Reply { kind, seq, word: None, wire: self.ack_wire, flags, extension }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rate::{Left, LineRate, Site, Srf, SrfParams};

    const GUARD: Duration = Duration::from_us(500);
    const RTO: Duration = Duration::from_us(1000);

    pub(crate) fn params() -> GoBackNParams<()> {
        let receiver = GoBackNReceiverParams {
            ack_wire: 64,
            nack_guard: GUARD,
            answers_duplicates: true,
            notifies: None,
            acknowledged: None,
        };
        GoBackNParams {
            controls: alloc::vec![()],
            payload: 1000,
            full_wire: 1048,
            rto: Some(RTO),
            hears_nacks: false,
            resends_acknowledged: false,
            receiver,
        }
    }

    fn sender(packets: u32) -> GoBackNSender<LineRate> {
        let start = Start { dst: 1, key: 7, site: 0, packets, last_wire: 548, class: 0, flags: 0 };
        GoBackNSender::new(&params(), Instant(0), start)
    }

    /// What goes out at `now`.
    fn send(sender: &mut GoBackNSender<LineRate>, now: Instant) -> Frame {
        let Next::Packet(Outgoing { seq, wire, class, flags, .. }) = sender.next_packet(&params(), now) else {
            panic!("it may send")
        };
        packet(Kind::Data, seq, wire, class, flags)
    }

    fn packet(kind: Kind, seq: u32, wire: u16, class: u8, flags: u8) -> Frame {
        let (flow, key, sender_slot, receiver_slot, dst, src, upstream_queue) = (0, 7, 0, 0, 1, 0, 0);
        Packet { flow, seq, key, sender_slot, receiver_slot, dst, src, wire, upstream_queue, class, kind, flags }.into()
    }

    /// What a receiver answers.
    fn receive(receiver: &mut GoBackNReceiver, now: Instant, data: &Frame) -> Vec<(Kind, u32)> {
        let mut replies = Vec::new();
        receiver
            .on_packet(&params().receiver, &mut (), now, data, &mut |_, reply| replies.push((reply.kind, reply.seq)));
        replies
    }

    fn answer(kind: Kind, seq: u32) -> Frame {
        packet(kind, seq, 64, 0, 0)
    }

    #[test]
    fn a_gap_is_answered_once_and_sent_again_from_there() {
        let (mut tx, mut rx) = (sender(5), GoBackNReceiver::<()>::default());
        let data: Vec<Frame> = (0..5).map(|_| send(&mut tx, Instant(0))).collect();
        assert_eq!(tx.peek(&params(), Instant(0)), Next::Blocked);
        assert_eq!(receive(&mut rx, Instant(1), &data[0]), [(Kind::Ack, 1)]);
        assert_eq!(receive(&mut rx, Instant(2), &data[2]), [(Kind::Nack, 1)], "packet 1 was lost");
        assert_eq!(receive(&mut rx, Instant(3), &data[3]), [], "a NACK is on its way");
        tx.on_packet(&params(), Instant(4), &answer(Kind::Ack, 1));
        tx.on_packet(&params(), Instant(5), &answer(Kind::Nack, 1));
        let again = send(&mut tx, Instant(6));
        assert_eq!((again.seq, tx.retransmitted()), (1, 1));
        assert_eq!(receive(&mut rx, Instant(7), &again), [(Kind::Ack, 2)]);
        let after = Instant(2) + GUARD;
        assert_eq!(receive(&mut rx, after, &data[3]), [(Kind::Nack, 2)], "another packet is missing");
    }

    #[test]
    fn a_lost_last_packet_is_recovered_by_the_timer() {
        let mut tx = sender(1);
        assert_eq!(tx.timer(&params()), Instant::NEVER, "nothing is out");
        assert_eq!(send(&mut tx, Instant(10)).wire, 548);
        assert_eq!(tx.timer(&params()), Instant(10) + RTO);
        let without = GoBackNParams { rto: None, ..params() };
        assert_eq!(tx.timer(&without), Instant::NEVER);
        tx.on_timer(&params(), Instant(10) + RTO);
        assert!(tx.has_unsent());
        assert!(send(&mut tx, Instant(11) + RTO).has(flags::LAST));
        tx.on_packet(&params(), Instant(12) + RTO, &answer(Kind::Ack, 1));
        assert!(tx.is_done());
    }

    #[test]
    fn duplicates_are_acknowledged_unless_told_otherwise_and_stale_answers_ignored() {
        let (mut tx, mut rx) = (sender(3), GoBackNReceiver::<()>::default());
        let first = send(&mut tx, Instant(0));
        receive(&mut rx, Instant(1), &first);
        assert_eq!(receive(&mut rx, Instant(2), &first), [(Kind::Ack, 1)]);
        let silent = GoBackNReceiverParams { answers_duplicates: false, ..params().receiver };
        rx.on_packet(&silent, &mut (), Instant(2), &first, &mut |_, reply| panic!("{reply:?}"));
        assert_eq!(GoBackNReceiver::late(&silent, &first), None);
        tx.on_packet(&params(), Instant(3), &answer(Kind::Ack, 1));
        tx.on_packet(&params(), Instant(4), &answer(Kind::Ack, 1));
        tx.on_packet(&params(), Instant(5), &answer(Kind::Ack, 9));
        assert_eq!(tx.acknowledged(), 1);
    }

    #[test]
    fn a_flow_is_done_with_its_last_packet_in_order() {
        let (mut tx, mut rx) = (sender(2), GoBackNReceiver::<()>::default());
        let data = [send(&mut tx, Instant(0)), send(&mut tx, Instant(0))];
        receive(&mut rx, Instant(1), &data[1]);
        assert!(!rx.is_done(), "the first is missing");
        receive(&mut rx, Instant(2), &data[0]);
        receive(&mut rx, Instant(3), &data[1]);
        assert!(rx.is_done());
        let late = GoBackNReceiver::late(&params().receiver, &data[1]).map(|reply| (reply.kind, reply.seq));
        assert_eq!(late, Some((Kind::Ack, 2)));
    }

    #[test]
    fn marks_are_echoed() {
        let (mut tx, mut rx) = (sender(1), GoBackNReceiver::<()>::default());
        let mut data = send(&mut tx, Instant(0));
        data.flags |= flags::CE | flags::ECT;
        rx.on_packet(&params().receiver, &mut (), Instant(1), &data, &mut |_, reply| {
            assert_eq!(reply.flags, flags::CE)
        });
    }

    #[test]
    fn congestion_is_notified_at_once_and_then_once_an_interval() {
        let receiver = GoBackNReceiverParams { notifies: Some(Duration::from_us(50)), ..params().receiver };
        let (mut tx, mut rx) = (sender(10), GoBackNReceiver::<()>::default());
        let us = |n: u64| Instant(n * 1_000_000);
        let mut notified = |at: Instant, marked: bool| {
            let mut data = send(&mut tx, at);
            data.flags |= if marked { flags::CE } else { 0 };
            let mut kinds = Vec::new();
            if rx.timer(&receiver, &()) <= at {
                rx.on_timer(&receiver, &mut (), at, &mut |_, reply| kinds.push(reply.kind));
            }
            rx.on_packet(&receiver, &mut (), at, &data, &mut |_, reply| kinds.push(reply.kind));
            kinds.iter().filter(|kind| **kind == Kind::Cnp).count()
        };
        assert_eq!(notified(us(1), false), 0, "nothing to tell");
        assert_eq!(notified(us(2), true), 1, "the first mark");
        assert_eq!(notified(us(3), true), 0, "within the interval");
        assert_eq!(notified(us(52), false), 1, "the interval is over, and a mark came in it");
        assert_eq!(notified(us(102), false), 0, "none came since");
        assert_eq!(notified(us(110), true), 1, "no interval runs");
    }

    /// Remembers what it is told.
    #[derive(Clone, Copy)]
    struct Listening {
        rtt: Option<Duration>,
        cnps: u32,
        sent: u64,
        due: Instant,
    }

    impl Control for Listening {
        type Params = ();
        type Extension = ();
        type Due = ();
        type Times = crate::SendTimes;
        const TIMED: bool = true;
        fn at(_: &(), _: crate::Site) {}
        fn new(_: &()) -> Listening {
            Listening { rtt: None, cnps: 0, sent: 0, due: Instant::NEVER }
        }
        fn window(&self, _: &()) -> u64 {
            u64::MAX
        }
        fn on_ack(&mut self, _: &(), ack: Ack) -> bool {
            self.rtt = ack.rtt;
            false
        }
        fn on_sent(&mut self, _: &(), _: Instant, wire: u64) {
            self.sent += wire;
        }
        fn on_cnp(&mut self, _: &(), now: Instant) -> bool {
            (self.cnps, self.due) = (self.cnps + 1, now + Duration::from_us(7));
            false
        }
        fn timer(&self, _: &()) -> Instant {
            self.due
        }
        fn on_timer(&mut self, _: &(), _: Instant) -> bool {
            self.due = Instant::NEVER;
            false
        }
    }

    /// A gap of so many nanoseconds behind each packet, which everything it is told adds one to.
    #[derive(Clone, Copy)]
    struct Slowing(u64);

    impl Control for Slowing {
        type Params = ();
        type Extension = ();
        type Due = Instant;
        type Times = ();
        const TIMED: bool = true;
        fn at(_: &(), _: crate::Site) {}
        fn new(_: &()) -> Slowing {
            Slowing(10)
        }
        fn window(&self, _: &()) -> u64 {
            self.0 * 1000
        }
        fn gap(&self, _: &(), _: u64) -> Duration {
            Duration::from_ns(self.0)
        }
        fn on_ack(&mut self, _: &(), _: Ack) -> bool {
            self.0 += 1;
            true
        }
        fn on_cnp(&mut self, _: &(), _: Instant) -> bool {
            self.0 += 1;
            true
        }
        fn timer(&self, _: &()) -> Instant {
            Instant(900_000)
        }
        fn on_timer(&mut self, _: &(), _: Instant) -> bool {
            self.0 += 1;
            true
        }
        fn on_loss(&mut self, _: &(), _: Instant, loss: Loss) -> bool {
            self.0 += if loss == Loss::Missed { 10 } else { 100 };
            true
        }
    }

    #[test]
    fn whatever_changes_the_pace_moves_what_waits_and_the_window() {
        let start = Start { dst: 1, key: 7, site: 0, packets: 99, last_wire: 548, class: 0, flags: 0 };
        let mut tx = GoBackNSender::<Slowing>::new(&params(), Instant(0), start);
        tx.next_packet(&params(), Instant(0));
        let waits = |tx: &GoBackNSender<Slowing>| (tx.peek(&params(), Instant(0)), tx.limit);
        let at = |ns: u64| Next::NotBefore(Instant(0) + Duration::from_ns(ns));
        assert_eq!(waits(&tx), (at(10), 10));
        tx.on_packet(&params(), Instant(1), &answer(Kind::Ack, 0));
        assert_eq!(waits(&tx), (at(11), 11), "an ACK");
        tx.on_packet(&params(), Instant(2), &answer(Kind::Cnp, 0));
        assert_eq!(waits(&tx), (at(12), 12), "a notification");
        tx.on_timer(&params(), Instant(899_999));
        assert_eq!(waits(&tx), (at(12), 12), "its timer is not due");
        tx.on_timer(&params(), Instant(900_000));
        assert_eq!(waits(&tx), (at(13), 13), "its timer");
        tx.on_packet(&params(), Instant(3), &answer(Kind::Nack, 0));
        assert_eq!(waits(&tx), (at(23), 23), "a loss");
        tx.next_packet(&params(), Instant(23_000));
        tx.on_timer(&params(), Instant(23_000) + RTO);
        assert_eq!(tx.limit, 124, "a timeout, and its timer");
    }

    #[test]
    fn packets_say_what_is_left_of_their_flow_when_they_are_sent() {
        let start = Start { dst: 1, key: 7, site: 0, packets: 3, last_wire: 548, class: 0, flags: 0 };
        let GoBackNParams { payload, full_wire, rto, hears_nacks, receiver, .. } = params();
        let srf = SrfParams { site: Site { window: u64::MAX, ..Site::default() }, ..SrfParams::default() };
        let params = GoBackNParams { controls: alloc::vec![srf], payload, full_wire, rto, hears_nacks, receiver };
        let mut tx = GoBackNSender::<Srf>::new(&params, Instant(0), start);
        let send = |tx: &mut GoBackNSender<Srf>| match tx.next_packet(&params, Instant(0)) {
            Next::Packet(out) => (out.seq, out.extension, tx.left_bytes(&params)),
            other => panic!("{other:?}"),
        };
        assert_eq!(tx.left_bytes(&params), 2500);
        assert_eq!(send(&mut tx), (0, Left(2500), 1500));
        assert_eq!(send(&mut tx), (1, Left(1500), 500));
        assert_eq!(send(&mut tx), (2, Left(500), 0));
        let missed = Frame { packet: answer(Kind::Nack, 1).packet, extension: Left::default() };
        tx.on_packet(&params, Instant(9), &missed);
        assert_eq!(tx.left_bytes(&params), 1500);
        assert_eq!(send(&mut tx), (1, Left(1500), 500), "as it is sent again");
    }

    #[test]
    fn control_hears_round_trips_notifications_and_its_timer() {
        let start = Start { dst: 1, key: 7, site: 0, packets: 9, last_wire: 548, class: 0, flags: 0 };
        let mut tx = GoBackNSender::<Listening>::new(&params(), Instant(0), start);
        (0..4).for_each(|i| assert!(matches!(tx.next_packet(&params(), Instant(100 * i)), Next::Packet(_))));
        assert_eq!(tx.control.sent, 4 * 1048);
        tx.on_packet(&params(), Instant(1000), &answer(Kind::Ack, 1));
        assert_eq!(tx.control.rtt, Some(Duration(1000)));
        tx.on_packet(&params(), Instant(1500), &answer(Kind::Ack, 3));
        assert_eq!(tx.control.rtt, Some(Duration(1300)), "of the third packet, sent at 200");
        tx.on_packet(&params(), Instant(1600), &answer(Kind::Ack, 3));
        assert_eq!(tx.control.rtt, None, "nothing new");
        // Go back: what is sent again is measured from then.
        tx.on_packet(&params(), Instant(2000), &answer(Kind::Nack, 3));
        assert!(matches!(tx.next_packet(&params(), Instant(2100)), Next::Packet(Outgoing { seq: 3, .. })));
        tx.on_packet(&params(), Instant(3000), &answer(Kind::Ack, 4));
        assert_eq!(tx.control.rtt, Some(Duration(900)));
        // Its timer is heard beside the retransmission timer, which stays where it was.
        tx.next_packet(&params(), Instant(3000));
        let timeout = tx.timer(&params());
        tx.on_packet(&params(), Instant(4000), &answer(Kind::Cnp, 4));
        assert_eq!((tx.control.cnps, tx.timer(&params())), (1, Instant(4000) + Duration::from_us(7)));
        tx.on_timer(&params(), Instant(4000) + Duration::from_us(7));
        assert_eq!((tx.timer(&params()), tx.retransmitted()), (timeout, 1));
    }
}
