//! Selective retransmission without a simulator: packets that each end sends in response to events, and both ends over
//! a link that loses.

use backwater_transport::{
    Ack, Control, Dctcp, DctcpParams, Next, PacedParams, Receiver, Selective, SelectiveFlowParams, SelectiveParams,
    SelectiveReceiver, SelectiveReceiverParams, SelectiveSender, SendTimes, Sender, Site, Start, Transport, Window,
};
use backwater_types::hash::{Stream, range32};
use backwater_types::{BitsPerSec, Duration, Frame, Instant, Kind, Packet, flags};
use std::collections::BTreeSet;

/// Window of the tests, packets.
const WINDOW: u32 = 20;
const LOW: Duration = Duration::from_us(100);
const HIGH: Duration = Duration::from_us(320);

fn site() -> Site {
    Site { line_rate: 100e9, window: 1000 * WINDOW as u64, ..Site::default() }
}

fn under<P>(control: P, losses: SelectiveParams) -> SelectiveFlowParams<P> {
    SelectiveFlowParams {
        paced: PacedParams { controls: vec![control], payload: 1000, full_wire: 1048 },
        spans: vec![WINDOW * losses.reach],
        losses,
        receiver: SelectiveReceiverParams { ack_wire: 64, notifies: None },
    }
}

/// Parameters with a fixed window, where losses are detected by gaps.
fn irn() -> SelectiveFlowParams<Site> {
    under(site(), SelectiveParams { rto_low: LOW, rto_high: HIGH, few: 3, ..SelectiveParams::default() })
}

/// Parameters with drop notices in place of gaps.
fn told() -> SelectiveFlowParams<Site> {
    let params = irn();
    SelectiveFlowParams {
        losses: SelectiveParams { gaps: false, reach: 4, ..params.losses },
        spans: vec![4 * WINDOW],
        ..params
    }
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn start(packets: u32) -> Start {
    Start { dst: 9, key: 7, site: 0, packets, last_wire: 548, class: 0, flags: 0 }
}

fn open<C: Control<Extension = ()>>(params: &SelectiveFlowParams<C::Params>, packets: u32) -> SelectiveSender<C> {
    Selective::<C>::open(params, &mut (), us(0), start(packets))
}

/// Sends all packets that may go now, and returns their numbers.
fn drain<C: Control<Extension = ()>>(
    sender: &mut SelectiveSender<C>,
    params: &SelectiveFlowParams<C::Params>,
    now: Instant,
) -> Vec<u32> {
    let mut sent = Vec::new();
    while let Next::Packet(out) = sender.next_packet(params, now) {
        sent.push(out.seq);
    }
    sent
}

/// An answer on the wire: the first missing packet, and the packet that is answered.
fn answer(kind: Kind, next: u32, came: u32) -> Frame {
    Packet { kind, seq: next, receiver_slot: came, ..Packet::NONE }.into()
}

fn notice(seq: u32) -> Frame {
    Packet { kind: Kind::DropNotice, seq, ..Packet::NONE }.into()
}

fn data(seq: u32, last: bool) -> Frame {
    Packet { kind: Kind::Data, seq, flags: if last { flags::LAST } else { 0 }, ..Packet::NONE }.into()
}

/// Delivers a packet, and returns the answer: kind, first missing packet, and the packet that is answered.
fn receive(receiver: &mut SelectiveReceiver, packet: &Frame) -> (Kind, u32, u32) {
    let reply = receiver.on_packet(&irn().receiver, &mut (), us(0), packet, &mut |_, also| panic!("{also:?}"));
    let reply = reply.expect("each packet is answered");
    (reply.kind, reply.seq, reply.word.expect("it names the packet"))
}

#[test]
fn every_packet_is_answered_with_what_is_missing_and_what_came() {
    let mut rx = SelectiveReceiver::default();
    assert_eq!(receive(&mut rx, &data(0, false)), (Kind::Ack, 1, 0));
    assert_eq!(receive(&mut rx, &data(3, true)), (Kind::Nack, 1, 3));
    assert_eq!(receive(&mut rx, &data(2, false)), (Kind::Nack, 1, 2));
    assert!(!rx.is_done());
    assert_eq!(receive(&mut rx, &data(2, false)), (Kind::Nack, 1, 2), "a duplicate");
    assert_eq!(receive(&mut rx, &data(1, false)), (Kind::Ack, 4, 1));
    assert!(rx.is_done());
    assert_eq!(receive(&mut rx, &data(1, false)), (Kind::Ack, 4, 1), "a late one");
    let late = SelectiveReceiver::<()>::late(&irn().receiver, &data(2, false)).expect("an answer");
    assert_eq!((late.kind, late.seq, late.word), (Kind::Ack, 3, Some(2)));
}

#[test]
fn what_is_missing_goes_again_once_and_nothing_else() {
    let params = irn();
    let mut tx = open::<Window>(&params, 100);
    assert_eq!(drain(&mut tx, &params, us(0)), (0..WINDOW).collect::<Vec<_>>());
    assert_eq!((tx.peek(&params, us(1)), tx.timer(&params)), (Next::Blocked, us(0) + HIGH));
    // Packets 1, 4 and 5 are lost. The first NACK concerns packet 1 alone, and the window counts from that packet.
    tx.on_packet(&params, us(10), &answer(Kind::Ack, 1, 0));
    assert_eq!(drain(&mut tx, &params, us(10)), [20]);
    tx.on_packet(&params, us(11), &answer(Kind::Nack, 1, 2));
    assert_eq!(drain(&mut tx, &params, us(11)), [1]);
    tx.on_packet(&params, us(12), &answer(Kind::Nack, 1, 3));
    assert!(drain(&mut tx, &params, us(12)).is_empty(), "that goes already, and nothing else is missing");
    tx.on_packet(&params, us(13), &answer(Kind::Nack, 1, 6));
    assert_eq!(drain(&mut tx, &params, us(13)), [4, 5]);
    for came in 7..20 {
        tx.on_packet(&params, us(14), &answer(Kind::Nack, 1, came));
    }
    assert_eq!((drain(&mut tx, &params, us(14)), tx.acknowledged()), (vec![], 17));
    // Packet 1 arrives. Up to packet 20 only 4 and 5 are missing, and packets 21 to 23 fit the window.
    tx.on_packet(&params, us(20), &answer(Kind::Ack, 4, 1));
    assert_eq!(drain(&mut tx, &params, us(20)), [21, 22, 23]);
    tx.on_packet(&params, us(21), &answer(Kind::Ack, 5, 4));
    tx.on_packet(&params, us(21), &answer(Kind::Ack, 20, 5));
    assert_eq!((tx.acknowledged(), tx.retransmitted()), (20, 3));
    assert_eq!(drain(&mut tx, &params, us(21)), (24..40).collect::<Vec<_>>());
}

#[test]
fn a_recovery_that_is_over_makes_room_for_another() {
    let params = irn();
    let mut tx = open::<Window>(&params, 100);
    drain(&mut tx, &params, us(0));
    // Packet 0 and its retransmission are lost. This recovery does not retransmit it again.
    tx.on_packet(&params, us(10), &answer(Kind::Nack, 0, 1));
    assert_eq!(drain(&mut tx, &params, us(10)), [0]);
    for came in 2..20 {
        tx.on_packet(&params, us(11), &answer(Kind::Nack, 0, came));
    }
    assert_eq!((drain(&mut tx, &params, us(11)), tx.timer(&params)), (vec![], us(11) + LOW), "one is in flight");
    assert_eq!(tx.on_timer(&params, us(11) + LOW), None);
    assert_eq!(drain(&mut tx, &params, us(111)), [0]);
    tx.on_packet(&params, us(120), &answer(Kind::Ack, 20, 0));
    assert_eq!(drain(&mut tx, &params, us(120)), (20..40).collect::<Vec<_>>());
    tx.on_packet(&params, us(130), &answer(Kind::Nack, 20, 22));
    assert_eq!((drain(&mut tx, &params, us(130)), tx.retransmitted()), (vec![20, 21], 4));
}

#[test]
fn after_a_timeout_all_that_is_missing_goes_again() {
    let params = irn();
    let mut tx = open::<Window>(&params, 10);
    drain(&mut tx, &params, us(0));
    tx.on_packet(&params, us(5), &answer(Kind::Ack, 2, 1));
    tx.on_packet(&params, us(6), &answer(Kind::Ack, 5, 4));
    assert_eq!((tx.timer(&params), tx.has_unsent()), (us(6) + HIGH, false), "five are in flight");
    tx.on_packet(&params, us(7), &answer(Kind::Ack, 7, 6));
    assert_eq!(tx.timer(&params), us(7) + LOW, "three are");
    tx.on_timer(&params, us(106));
    assert!(!tx.has_unsent(), "it is not due");
    tx.on_timer(&params, us(107));
    assert_eq!((drain(&mut tx, &params, us(107)), tx.retransmitted()), (vec![7, 8, 9], 3));
    // The original packet 9 has arrived after all. Packet 7 was retransmitted before, so it does not count as lost
    // again.
    tx.on_packet(&params, us(108), &answer(Kind::Nack, 7, 9));
    assert!(drain(&mut tx, &params, us(108)).is_empty());
    tx.on_packet(&params, us(110), &answer(Kind::Ack, 10, 8));
    assert!(tx.is_done() && !tx.has_unsent() && tx.timer(&params) == Instant::NEVER);
}

#[test]
fn answers_to_what_was_never_sent_change_nothing() {
    let params = irn();
    let mut tx = open::<Window>(&params, 10);
    drain(&mut tx, &params, us(0));
    tx.on_packet(&params, us(1), &answer(Kind::Ack, 11, 3));
    tx.on_packet(&params, us(1), &answer(Kind::Nack, 1, 10));
    tx.on_packet(&params, us(1), &notice(10));
    tx.on_packet(&params, us(1), &answer(Kind::Credit, 5, 4));
    assert_eq!((tx.acknowledged(), tx.has_unsent()), (0, false));
}

#[test]
fn a_notice_has_its_packet_sent_again_and_gaps_do_not() {
    let params = told();
    let mut tx = open::<Window>(&params, 200);
    drain(&mut tx, &params, us(0));
    tx.on_packet(&params, us(5), &notice(7));
    tx.on_packet(&params, us(5), &notice(7));
    assert_eq!(drain(&mut tx, &params, us(5)), [7], "and once, however often it is told");
    tx.on_packet(&params, us(9), &answer(Kind::Nack, 0, 4));
    assert_eq!(drain(&mut tx, &params, us(9)), [20], "nobody said that 0 to 3 were dropped");
    for came in 8..20 {
        tx.on_packet(&params, us(10), &answer(Kind::Nack, 0, came));
    }
    assert_eq!(drain(&mut tx, &params, us(10)), (21..33).collect::<Vec<_>>());
    // A dropped packet that has arrived is not sent again, nor is a packet that arrived before a notice of its drop.
    tx.on_packet(&params, us(11), &answer(Kind::Nack, 0, 7));
    tx.on_packet(&params, us(11), &notice(7));
    tx.on_packet(&params, us(11), &notice(9));
    assert_eq!((drain(&mut tx, &params, us(11)), tx.retransmitted()), (vec![33], 1));
    // The sender goes at most four windows beyond the first missing packet.
    for came in 20..79 {
        tx.on_packet(&params, us(12), &answer(Kind::Nack, 0, came));
        drain(&mut tx, &params, us(12));
    }
    assert_eq!(tx.peek(&params, us(12)), Next::Blocked);
    tx.on_packet(&params, us(13), &notice(0));
    assert_eq!(drain(&mut tx, &params, us(13)), [0]);
    tx.on_packet(&params, us(14), &answer(Kind::Ack, 1, 0));
    assert_eq!(drain(&mut tx, &params, us(14)), [80]);
}

/// A rate of 100 Mb/s on 100 Gb/s leaves a window of one packet, and 83.84 us between packets.
#[test]
fn a_notice_puts_the_rate_to_its_minimum_if_it_is_to() {
    for slows in [true, false] {
        let steady = DctcpParams { additive_increase: BitsPerSec(1), ..DctcpParams::default() };
        let mut params = under(Dctcp::at(&steady, site()), told().losses);
        params.losses.notice_slows = slows;
        let mut tx = open::<Dctcp>(&params, 100);
        let sent = drain(&mut tx, &params, us(0));
        assert_eq!(sent.len(), WINDOW as usize, "at the rate of the line there is no gap");
        tx.on_packet(&params, us(5), &notice(3));
        assert_eq!(drain(&mut tx, &params, us(5)), if slows { vec![] } else { vec![3] });
        for came in (0..3).chain(4..20) {
            tx.on_packet(&params, us(9), &answer(Kind::Nack, 3.min(came + 1), came));
        }
        let sent = drain(&mut tx, &params, us(10));
        assert_eq!(sent.first(), if slows { Some(&3) } else { Some(&20) });
        if slows {
            assert_eq!((sent.len(), tx.peek(&params, us(10))), (1, Next::Blocked));
            tx.on_packet(&params, us(20), &answer(Kind::Ack, 20, 3));
            let Next::NotBefore(at) = tx.peek(&params, us(20)) else { panic!("it is paced") };
            let gap = at.since(us(10)).0;
            assert!(gap.abs_diff(83_840_000) < 1000, "{gap} ps");
        }
    }
}

/// Congestion control that records the last round trip and the last positions.
#[derive(Clone, Copy, Debug)]
struct Listening(Option<Duration>, u32, u32);

impl Control for Listening {
    type Params = ();
    type Extension = ();
    type Due = ();
    type Times = SendTimes;
    fn at(_: &(), _: Site) {}
    fn new(_: &()) -> Listening {
        Listening(None, 0, 0)
    }
    /// Returns a window of one packet per nanosecond of the last round trip; 20 packets before the first.
    fn window(&self, _: &()) -> u64 {
        self.0.map_or(20_000, |rtt| rtt.0)
    }
    fn on_ack(&mut self, _: &(), ack: Ack) -> bool {
        (self.0, self.1, self.2) = (ack.rtt, ack.seq, ack.next);
        true
    }
}

/// The window of [`Listening`] shows the round trip that it was given.
#[test]
fn round_trips_are_those_of_the_last_time_a_packet_was_sent() {
    let params = under((), irn().losses);
    let mut tx = open::<Listening>(&params, 100);
    for ns in 0..20 {
        assert!(matches!(tx.next_packet(&params, Instant(1000 * ns)), Next::Packet(_)));
    }
    // Packet 0 is lost. The answer to packet 1, sent at 1 ns, arrives at 7 ns: a window of 6 holds everything.
    tx.on_packet(&params, Instant(7000), &answer(Kind::Nack, 0, 1));
    assert_eq!(tx.peek(&params, Instant(7000)), Next::Blocked);
    // The answer arrives 30 ns after packet 10 was sent: a window of 30. The lost packets go at 40 ns.
    tx.on_packet(&params, Instant(40_000), &answer(Kind::Nack, 0, 10));
    assert_eq!(drain(&mut tx, &params, Instant(40_000)), [0, 2, 3, 4, 5, 6, 7, 8, 9]);
    // The answer to packet 0 arrives at 43 ns: the round trip since its retransmission is 3 ns, not 43.
    tx.on_packet(&params, Instant(43_000), &answer(Kind::Ack, 2, 0));
    assert_eq!((tx.acknowledged(), tx.peek(&params, Instant(43_000))), (3, Next::Blocked), "17 are in flight");
    for came in [2, 3, 4, 5, 6, 7, 8, 9] {
        tx.on_packet(&params, Instant(43_000), &answer(Kind::Ack, came + 1, came));
    }
    tx.on_packet(&params, Instant(43_000), &answer(Kind::Ack, 19, 18));
    assert_eq!(
        drain(&mut tx, &params, Instant(43_000)),
        (20..39).collect::<Vec<_>>(),
        "25 ns after 18: the span is 20"
    );
}

/// A link that loses three packets in ten both ways, and half the drop notices: every packet is delivered once,
/// retransmissions are counted, and no packet is ever further ahead than the span.
#[test]
fn everything_arrives_once_over_a_link_that_loses() {
    for (case, params) in (0..60).map(|case| (case, if case % 2 == 0 { irn() } else { told() })) {
        let mut dice = Stream::new(1, 2, case);
        let packets = [1, 2, 17, 64, 65, 500][case as usize / 2 % 6];
        let (mut tx, mut rx) = (open::<Window>(&params, packets), SelectiveReceiver::default());
        let (mut delivered, mut sent, mut now) = (BTreeSet::new(), 0, us(0));
        let mut on_way: Vec<(Instant, Frame)> = Vec::new();
        let first_missing =
            |delivered: &BTreeSet<u32>| (0..).find(|seq| !delivered.contains(seq)).expect("there is one");
        while !tx.is_done() {
            for seq in drain(&mut tx, &params, now) {
                sent += 1;
                assert!(seq < first_missing(&delivered) + params.spans[0]);
                if range32(dice.next_u32(), 10) >= 3 {
                    on_way.push((now + Duration::from_us(5), data(seq, seq + 1 == packets)));
                } else if range32(dice.next_u32(), 2) == 0 {
                    on_way.push((now + Duration::from_us(3), notice(seq)));
                }
            }
            now = on_way.iter().map(|(at, _)| *at).fold(tx.timer(&params), Instant::min);
            assert!(now != Instant::NEVER, "case {case}: it hangs");
            if tx.timer(&params) <= now {
                tx.on_timer(&params, now);
            }
            while let Some(at) = on_way.iter().position(|(at, _)| *at <= now) {
                let (_, frame) = on_way.remove(at);
                if frame.kind != Kind::Data {
                    tx.on_packet(&params, now, &frame);
                    continue;
                }
                let (kind, next, came) = if rx.is_done() {
                    let reply = SelectiveReceiver::<()>::late(&params.receiver, &frame).expect("an answer");
                    (reply.kind, reply.seq, frame.seq)
                } else {
                    delivered.insert(frame.seq);
                    receive(&mut rx, &frame)
                };
                assert_eq!(rx.is_done(), delivered.len() as u32 == packets, "case {case}");
                assert!(rx.is_done() || next == first_missing(&delivered), "case {case}");
                if range32(dice.next_u32(), 10) >= 3 {
                    on_way.push((now + Duration::from_us(5), answer(kind, next, came)));
                }
            }
        }
        assert_eq!((delivered.len() as u32, sent), (packets, packets + tx.retransmitted()), "case {case}");
    }
}
