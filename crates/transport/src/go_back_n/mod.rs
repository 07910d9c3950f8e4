//! Go-back-N under end-to-end control: the receiver takes packets in order only, and the sender goes back to the packet
//! that the receiver asks for.
//!
//! Source: baselines 0.3 (the HPCC simulator), with the two repairs it recommends: a retransmission timer, and an ACK
//! for duplicate data, so that lost ACKs, NACKs and last packets heal. [`HpccGoBackN`] is the simulator's own, without
//! the timer.

mod receiver;
mod rules;

pub use receiver::{Acknowledged, GoBackNReceiver, GoBackNReceiverParams};
pub use rules::{GoBackNRules, HpccSimRules, Repaired};

use crate::flow::{Next, Outgoing, Sender, Start, Transport};
use crate::paced::{Paced, PacedParams, UNLIMITED, answered_by_paced};
use crate::rate::{Ack, Control, Loss, Times};
use crate::tcp::TimeoutReason;
use backwater_types::{Duration, Frame, Instant, Kind, LibraryRand, flags};
use core::marker::PhantomData;

/// Go-back-N under control `C`.
pub struct GoBackN<C, R = Repaired>(PhantomData<(C, R)>);

/// Go-back-N of the HPCC simulator under control `C`.
pub type HpccGoBackN<C> = GoBackN<C, HpccSimRules>;

/// Parameters of [`GoBackN`].
#[derive(Clone, Debug)]
pub struct GoBackNParams<P> {
    /// Parameters of the flows and of their control.
    pub paced: PacedParams<P>,
    /// Retransmission timeout. Only under [`Repaired`] rules.
    pub rto: Duration,
    /// An ACK that overtook a NACK leaves the sender where the NACK put it. Only under [`HpccSimRules`].
    pub resends_acknowledged: bool,
    /// Parameters of receivers.
    pub receiver: GoBackNReceiverParams,
}

impl<C: Control, R: GoBackNRules> Transport for GoBackN<C, R> {
    type Params = GoBackNParams<C::Params>;
    type Extension = C::Extension;
    type Sender = GoBackNSender<C, R>;
    type Receiver = GoBackNReceiver<C::Extension>;
    type Peers = ();

    fn open(params: &Self::Params, _peers: &mut (), now: Instant, start: Start) -> GoBackNSender<C, R> {
        GoBackNSender::new(params, now, start)
    }

    fn receiving(params: &Self::Params) -> &GoBackNReceiverParams {
        &params.receiver
    }

    fn draw_from(params: &mut Self::Params, seed: u64, rand: Option<&LibraryRand>) {
        params.paced.controls.iter_mut().for_each(|control| C::draw_from(control, seed, rand));
    }
}

/// Sending side of one flow.
#[derive(Clone, Debug)]
pub struct GoBackNSender<C: Control, R = Repaired> {
    paced: Paced<C>,
    /// Next packet to send.
    next: u32,
    /// First packet not yet acknowledged.
    acked: u32,
    /// One more than the last packet ever sent.
    high: u32,
    retransmitted: u32,
    /// Last time that `acked` moved, or that a packet was sent with nothing in flight.
    progress: Instant,
    /// Send time of each packet in flight, where control asks for it.
    sent: C::Times,
    rules: PhantomData<R>,
}

impl<C: Control, R: GoBackNRules> GoBackNSender<C, R> {
    /// Opens a flow.
    pub fn new(params: &GoBackNParams<C::Params>, now: Instant, start: Start) -> Self {
        let paced = Paced::new(&params.paced, now, start);
        let sent = paced.times(&params.paced);
        GoBackNSender { paced, next: 0, acked: 0, high: 0, retransmitted: 0, progress: now, sent, rules: PhantomData }
    }

    /// Whether the window keeps the flow from sending.
    #[inline(always)]
    fn is_window_shut(&self) -> bool {
        self.paced.limit != UNLIMITED && R::in_flight(self.next, self.acked) >= self.paced.limit
    }

    /// Returns the time at which packets in flight are declared lost.
    #[inline(always)]
    fn timeout(&self, params: &GoBackNParams<C::Params>) -> Instant {
        match R::rto(params) {
            Some(rto) if R::in_flight(self.next, self.acked) > 0 => self.progress + rto,
            _ => Instant::NEVER,
        }
    }

    /// Goes back to the first packet not acknowledged.
    #[inline(always)]
    fn go_back(&mut self) {
        self.next = self.acked;
        self.sent.clear();
    }

    /// Returns the time since the packet before `seq` was last sent.
    #[inline(always)]
    fn since_sent(&self, now: Instant, seq: u32) -> Option<Duration> {
        let place = seq.checked_sub(self.acked + 1)?;
        self.sent.since(now, place)
    }

    /// Takes note that all packets before `seq` have arrived.
    #[inline(always)]
    fn advance(&mut self, params: &GoBackNParams<C::Params>, now: Instant, seq: u32) {
        if seq > self.acked && seq <= self.high {
            self.sent.acknowledged(seq - self.acked);
            self.acked = seq;
            self.next = R::resume(params, self.next, seq);
            self.progress = now;
        }
    }
}

impl<C: Control, R: GoBackNRules> Sender for GoBackNSender<C, R> {
    type Params = GoBackNParams<C::Params>;
    type Extension = C::Extension;
    type Due = C::Due;
    const TIMER_RECEDES: bool = !C::TIMED;

    #[inline(always)]
    fn peek(&self, params: &Self::Params, now: Instant) -> Next<u16> {
        if self.next == self.paced.packets || self.is_window_shut() {
            Next::Blocked
        } else {
            self.paced.peek(&params.paced, now, self.next)
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
        self.sent.sent(now);
        Next::Packet(self.paced.send(&params.paced, now, seq, wire))
    }

    #[inline(always)]
    fn on_packet(&mut self, params: &Self::Params, now: Instant, packet: &Frame<C::Extension>) {
        if packet.kind == Kind::Cnp {
            return self.paced.update(&params.paced, |control, params| control.on_cnp(params, now));
        }
        let rtt = self.since_sent(now, packet.seq);
        self.advance(params, now, packet.seq);
        let missed = packet.kind == Kind::Nack;
        if missed {
            self.go_back();
            self.paced.update(&params.paced, |control, params| control.on_loss(params, now, Loss::Missed));
        }
        if !missed || R::NACK_IS_ACK {
            let (seq, marked, extension) = (packet.seq, packet.has(flags::CE), packet.extension);
            let (key, next) = (self.paced.key, self.next);
            let whole =
                if R::counts_full_packets(params) { self.paced.whole_before(&params.paced, next) } else { next };
            let ack = Ack { now, key, seq, next, whole, marked, rtt, extension };
            self.paced.update(&params.paced, |control, params| control.on_ack(params, ack));
        }
    }

    #[inline(always)]
    fn timer(&self, params: &Self::Params) -> Instant {
        self.paced.timer(&params.paced).min(self.timeout(params))
    }

    fn on_timer(&mut self, params: &Self::Params, now: Instant) -> Option<TimeoutReason> {
        if self.timeout(params) <= now {
            self.go_back();
            self.progress = now;
            self.paced.update(&params.paced, |control, params| control.on_loss(params, now, Loss::Timeout));
        }
        self.paced.on_timer(&params.paced, now);
        None
    }

    answered_by_paced!();

    #[inline(always)]
    fn has_unsent(&self) -> bool {
        self.next < self.paced.packets
    }

    #[inline(always)]
    fn left_bytes(&self, params: &Self::Params) -> u64 {
        self.paced.left_from(&params.paced, self.next)
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.acked == self.paced.packets
    }

    fn acknowledged(&self) -> u32 {
        self.acked
    }

    fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::flow::Receiver;
    use crate::rate::{Left, LineRate, Site, Srf, SrfParams, Window};
    use alloc::vec::Vec;
    use backwater_types::Packet;

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
            paced: PacedParams { controls: alloc::vec![()], payload: 1000, full_wire: 1048 },
            rto: RTO,
            resends_acknowledged: false,
            receiver,
        }
    }

    fn sender(packets: u32) -> GoBackNSender<LineRate> {
        let start = Start { dst: 1, key: 7, site: 0, packets, last_wire: 548, class: 0, flags: 0 };
        GoBackNSender::new(&params(), Instant(0), start)
    }

    /// Sends the next packet at `now`.
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

    /// Hands a packet to a receiver, and returns its answer.
    fn receive(receiver: &mut GoBackNReceiver, now: Instant, data: &Frame) -> Option<(Kind, u32)> {
        let reply = receiver.on_packet(&params().receiver, &mut (), now, data, &mut |_, also| panic!("{also:?}"));
        reply.map(|reply| (reply.kind, reply.seq))
    }

    fn answer(kind: Kind, seq: u32) -> Frame {
        packet(kind, seq, 64, 0, 0)
    }

    #[test]
    fn a_gap_is_answered_once_and_sent_again_from_there() {
        let (mut tx, mut rx) = (sender(5), GoBackNReceiver::<()>::default());
        let data: Vec<Frame> = (0..5).map(|_| send(&mut tx, Instant(0))).collect();
        assert_eq!(tx.peek(&params(), Instant(0)), Next::Blocked);
        assert_eq!(receive(&mut rx, Instant(1), &data[0]), Some((Kind::Ack, 1)));
        assert_eq!(receive(&mut rx, Instant(2), &data[2]), Some((Kind::Nack, 1)), "packet 1 was lost");
        assert_eq!(receive(&mut rx, Instant(3), &data[3]), None, "a NACK is on its way");
        tx.on_packet(&params(), Instant(4), &answer(Kind::Ack, 1));
        tx.on_packet(&params(), Instant(5), &answer(Kind::Nack, 1));
        let again = send(&mut tx, Instant(6));
        assert_eq!((again.seq, tx.retransmitted()), (1, 1));
        assert_eq!(receive(&mut rx, Instant(7), &again), Some((Kind::Ack, 2)));
        let after = Instant(2) + GUARD;
        assert_eq!(receive(&mut rx, after, &data[3]), Some((Kind::Nack, 2)), "another packet is missing");
    }

    #[test]
    fn a_lost_last_packet_is_recovered_by_the_timer() {
        let mut tx = sender(1);
        assert_eq!(tx.timer(&params()), Instant::NEVER, "nothing is out");
        assert_eq!(send(&mut tx, Instant(10)).wire, 548);
        assert_eq!(tx.timer(&params()), Instant(10) + RTO);
        tx.on_timer(&params(), Instant(10) + RTO);
        assert!(tx.has_unsent());
        assert!(send(&mut tx, Instant(11) + RTO).has(flags::LAST));
        tx.on_packet(&params(), Instant(12) + RTO, &answer(Kind::Ack, 1));
        assert!(tx.is_done());
    }

    /// Four packets of the window of four were sent, the receiver asked for packet 1, and an ACK of the first three
    /// overtook that.
    fn overtaken<R: GoBackNRules>(resends_acknowledged: bool) -> (GoBackNParams<Site>, GoBackNSender<Window, R>) {
        let start = Start { dst: 1, key: 7, site: 0, packets: 9, last_wire: 548, class: 0, flags: 0 };
        let controls = alloc::vec![Site { window: 4000, ..Site::default() }];
        let paced = PacedParams { controls, payload: 1000, full_wire: 1048 };
        let params = GoBackNParams { paced, rto: RTO, resends_acknowledged, receiver: params().receiver };
        let mut tx = GoBackNSender::new(&params, Instant(0), start);
        (0..4).for_each(|_| assert!(matches!(tx.next_packet(&params, Instant(0)), Next::Packet(_))));
        tx.on_packet(&params, Instant(1), &answer(Kind::Nack, 1));
        tx.on_packet(&params, Instant(2), &answer(Kind::Ack, 3));
        (params, tx)
    }

    fn next_seq<R: GoBackNRules>((params, tx): &mut (GoBackNParams<Site>, GoBackNSender<Window, R>)) -> Option<u32> {
        match tx.next_packet(params, Instant(3)) {
            Next::Packet(packet) => Some(packet.seq),
            _ => None,
        }
    }

    #[test]
    fn an_ack_that_overtakes_a_nack_moves_the_sender_on_except_in_the_hpcc_simulator() {
        assert_eq!(next_seq(&mut overtaken::<Repaired>(true)), Some(3));
        assert_eq!(next_seq(&mut overtaken::<HpccSimRules>(false)), Some(3));
        let mut behind = overtaken::<HpccSimRules>(true);
        assert_eq!(next_seq(&mut behind), None, "less is sent than acknowledged: the window is shut");
        behind.1.on_packet(&behind.0, Instant(4), &answer(Kind::Nack, 3));
        assert_eq!(next_seq(&mut behind), Some(3), "the next NACK opens it");
    }

    #[test]
    fn the_hpcc_simulators_sender_has_no_timer() {
        let (params, tx) = overtaken::<HpccSimRules>(true);
        assert_eq!(tx.timer(&params), Instant::NEVER);
        let (params, mut tx) = overtaken::<Repaired>(false);
        tx.next_packet(&params, Instant(3));
        assert_eq!(tx.timer(&params), Instant(3) + RTO);
    }

    #[test]
    fn duplicates_are_acknowledged_unless_told_otherwise_and_stale_answers_ignored() {
        let (mut tx, mut rx) = (sender(3), GoBackNReceiver::<()>::default());
        let first = send(&mut tx, Instant(0));
        receive(&mut rx, Instant(1), &first);
        assert_eq!(receive(&mut rx, Instant(2), &first), Some((Kind::Ack, 1)));
        let silent = GoBackNReceiverParams { answers_duplicates: false, ..params().receiver };
        assert_eq!(rx.on_packet(&silent, &mut (), Instant(2), &first, &mut |_, reply| panic!("{reply:?}")), None);
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
        let reply = rx.on_packet(&params().receiver, &mut (), Instant(1), &data, &mut |_, reply| panic!("{reply:?}"));
        assert_eq!(reply.map(|reply| reply.flags), Some(flags::CE));
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
            let ack = rx.on_packet(&receiver, &mut (), at, &data, &mut |_, reply| kinds.push(reply.kind));
            assert_eq!(ack.map(|reply| reply.kind), Some(Kind::Ack));
            kinds.iter().filter(|kind| **kind == Kind::Cnp).count()
        };
        assert_eq!(notified(us(1), false), 0, "nothing to tell");
        assert_eq!(notified(us(2), true), 1, "the first mark");
        assert_eq!(notified(us(3), true), 0, "within the interval");
        assert_eq!(notified(us(52), false), 1, "the interval is over, and a mark came in it");
        assert_eq!(notified(us(102), false), 0, "none came since");
        assert_eq!(notified(us(110), true), 1, "no interval runs");
    }

    /// Congestion control that records its events.
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

    /// Congestion control with a gap in nanoseconds behind each packet, which grows by one with each event.
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
        let waits = |tx: &GoBackNSender<Slowing>| (tx.peek(&params(), Instant(0)), tx.paced.limit);
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
        assert_eq!(tx.paced.limit, 124, "a timeout, and its timer");
    }

    #[test]
    fn packets_say_what_is_left_of_their_flow_when_they_are_sent() {
        let start = Start { dst: 1, key: 7, site: 0, packets: 3, last_wire: 548, class: 0, flags: 0 };
        let base = params();
        let PacedParams { payload, full_wire, .. } = base.paced;
        let srf = SrfParams { site: Site { window: u64::MAX, ..Site::default() }, ..SrfParams::default() };
        let paced = PacedParams { controls: alloc::vec![srf], payload, full_wire };
        let GoBackNParams { rto, resends_acknowledged, receiver, .. } = base;
        let params = GoBackNParams { paced, rto, resends_acknowledged, receiver };
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
        assert_eq!(tx.paced.control.sent, 4 * 1048);
        tx.on_packet(&params(), Instant(1000), &answer(Kind::Ack, 1));
        assert_eq!(tx.paced.control.rtt, Some(Duration(1000)));
        tx.on_packet(&params(), Instant(1500), &answer(Kind::Ack, 3));
        assert_eq!(tx.paced.control.rtt, Some(Duration(1300)), "of the third packet, sent at 200");
        tx.on_packet(&params(), Instant(1600), &answer(Kind::Ack, 3));
        assert_eq!(tx.paced.control.rtt, None, "nothing new");
        // Round trips of retransmissions are measured from the retransmission.
        tx.on_packet(&params(), Instant(2000), &answer(Kind::Nack, 3));
        assert!(matches!(tx.next_packet(&params(), Instant(2100)), Next::Packet(Outgoing { seq: 3, .. })));
        tx.on_packet(&params(), Instant(3000), &answer(Kind::Ack, 4));
        assert_eq!(tx.paced.control.rtt, Some(Duration(900)));
        // The timer of control runs beside the retransmission timer, which does not change.
        tx.next_packet(&params(), Instant(3000));
        let timeout = tx.timer(&params());
        tx.on_packet(&params(), Instant(4000), &answer(Kind::Cnp, 4));
        assert_eq!((tx.paced.control.cnps, tx.timer(&params())), (1, Instant(4000) + Duration::from_us(7)));
        tx.on_timer(&params(), Instant(4000) + Duration::from_us(7));
        assert_eq!((tx.timer(&params()), tx.retransmitted()), (timeout, 1));
    }
}
