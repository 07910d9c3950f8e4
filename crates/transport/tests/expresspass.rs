//! ExpressPass by hand: packets and times of both ends, and flows whose credits leave by one port until they share it.

use backwater_transport::{
    ExpressPass, ExpressPassFlowParams, ExpressPassHeader, ExpressPassParams, Next, Outgoing, Receiver, Reply, Sender,
    Start, Transport,
};
use backwater_types::{BitsPerSec, Bytes, Duration, Extension, Frame, Instant, Kind, LinkShape, Packet, flags};
use std::collections::BTreeMap;

type Tx = <ExpressPass as Transport>::Sender;
type Rx = <ExpressPass as Transport>::Receiver;

const RATE: u64 = 100_000_000_000;
const FULL: u16 = 1538;
const SMALL: u16 = 84;
/// A credit and its packet take 1622 B x 80 ps of the link together.
const GAP: u64 = 129_760;
const RTO: Duration = Duration::from_us(500);
const RETRY: Duration = Duration::from_us(100);

fn us(n: u64) -> Instant {
    Instant(n * 1_000_000)
}

fn with(of: ExpressPassParams) -> ExpressPassFlowParams {
    ExpressPassFlowParams::new(&of, [FULL, SMALL], [RTO, RETRY], [RATE; 2].into_iter(), 7)
}

fn params() -> ExpressPassFlowParams {
    with(ExpressPassParams::default())
}

fn sender(params: &ExpressPassFlowParams, packets: u32) -> Tx {
    let start = Start { dst: 1, key: 3, site: 0, packets, last_wire: 500, class: 0, flags: 0 };
    ExpressPass::open(params, &mut (), Instant::ZERO, start)
}

/// Takes all packets that the sender may send now.
fn takes(tx: &mut Tx, params: &ExpressPassFlowParams, now: Instant) -> Vec<Outgoing<ExpressPassHeader>> {
    std::iter::from_fn(|| match tx.next_packet(params, now) {
        Next::Packet(out) => Some(out),
        Next::Blocked => None,
        Next::NotBefore(_) => panic!("nothing waits for its pace"),
    })
    .collect()
}

fn kinds(sent: &[Outgoing<ExpressPassHeader>]) -> Vec<(Kind, u32)> {
    sent.iter().map(|out| (out.kind, if out.kind == Kind::Request { out.extension.number } else { out.seq })).collect()
}

/// A packet as it arrives at the receiver.
fn frame(flow: u32, out: &Outgoing<ExpressPassHeader>) -> Frame<ExpressPassHeader> {
    let Outgoing { kind, seq, wire, flags, extension, .. } = *out;
    Frame { packet: Packet { flow, kind, seq, wire, flags, dst: 1, src: 0, ..Packet::NONE }, extension }
}

/// A reply as it arrives at the sender.
fn answer(reply: &Reply<ExpressPassHeader>) -> Frame<ExpressPassHeader> {
    let Reply { kind, seq, wire, extension, .. } = *reply;
    Frame { packet: Packet { kind, seq, wire, ..Packet::NONE }, extension }
}

fn credit(number: u32, expected: u32, sent: Instant) -> Frame<ExpressPassHeader> {
    let extension = ExpressPassHeader { number, sent };
    answer(&Reply { kind: Kind::Credit, seq: expected, word: None, wire: SMALL, flags: 0, extension })
}

fn hears(
    rx: &mut Rx,
    params: &ExpressPassFlowParams,
    now: Instant,
    packet: &Frame<ExpressPassHeader>,
) -> Vec<Reply<ExpressPassHeader>> {
    let mut replies = Vec::new();
    let answer =
        rx.on_packet(ExpressPass::receiving(params), &mut (), now, packet, &mut |_, reply| replies.push(reply));
    replies.extend(answer);
    replies
}

#[test]
fn each_credit_sends_one_packet_which_brings_it_back_and_then_no_more_are_wanted() {
    let (params, mut tx) = (params(), sender(&params(), 2));
    let request = takes(&mut tx, &params, us(0));
    assert_eq!(kinds(&request), [(Kind::Request, 2)]);
    assert_eq!((request[0].wire, request[0].seq, tx.timer(&params)), (SMALL, 2, us(100)));
    tx.on_packet(&params, us(8), &credit(0, 0, us(4)));
    let first = takes(&mut tx, &params, us(8));
    assert_eq!(kinds(&first), [(Kind::Data, 0)]);
    assert_eq!((first[0].wire, first[0].extension), (FULL, ExpressPassHeader { number: 0, sent: us(4) }));
    tx.on_packet(&params, us(9), &credit(2, 0, us(5)));
    let last = takes(&mut tx, &params, us(9));
    assert_eq!(kinds(&last), [(Kind::Data, 1), (Kind::Request, 0)]);
    assert_eq!((last[0].wire, last[0].flags, last[0].extension.number), (500, flags::LAST, 2));
    // A credit that arrives now is wasted.
    tx.on_packet(&params, us(10), &credit(3, 0, us(6)));
    assert!(takes(&mut tx, &params, us(10)).is_empty());
    assert_eq!((tx.wasted(), tx.is_done()), (1, false));
    let done =
        Reply { kind: Kind::Ack, seq: 2, word: None, wire: SMALL, flags: 0, extension: ExpressPassHeader::default() };
    tx.on_packet(&params, us(12), &answer(&done));
    assert!(tx.is_done() && tx.timer(&params) == Instant::NEVER);
}

#[test]
fn a_request_without_an_answer_is_repeated_and_so_is_one_for_what_was_lost_last() {
    let (params, mut tx) = (params(), sender(&params(), 3));
    takes(&mut tx, &params, us(0));
    for again in 1..4 {
        assert_eq!(tx.timer(&params), us(100 * again));
        tx.on_timer(&params, us(100 * again));
        assert_eq!(kinds(&takes(&mut tx, &params, us(100 * again))), [(Kind::Request, 3)]);
    }
    for number in 0..3 {
        tx.on_packet(&params, us(310), &credit(number, 0, us(304)));
        takes(&mut tx, &params, us(310));
    }
    // A later credit tells that the first packet arrived, but the others did not.
    tx.on_packet(&params, us(320), &credit(3, 1, us(316)));
    assert_eq!((tx.timer(&params), tx.acknowledged()), (us(810), 1));
    tx.on_timer(&params, us(810));
    assert_eq!(kinds(&takes(&mut tx, &params, us(810))), [(Kind::Request, 2)]);
    // The second packet arrived after all.
    tx.on_packet(&params, us(818), &credit(4, 2, us(814)));
    assert_eq!(kinds(&takes(&mut tx, &params, us(818))), [(Kind::Data, 2), (Kind::Request, 0)]);
    assert_eq!(tx.retransmitted(), 1);
}

#[test]
fn a_gap_is_answered_once_and_sent_again_from_there_for_credits_that_have_to_be_asked_for() {
    let (params, mut tx, mut rx) = (params(), sender(&params(), 3), Rx::default());
    let request = takes(&mut tx, &params, us(0));
    let first = hears(&mut rx, &params, us(4), &frame(9, &request[0]));
    assert_eq!((first.len(), first[0].kind, first[0].seq, first[0].extension.sent), (1, Kind::Credit, 0, us(4)));
    let mut data = Vec::new();
    for number in 0..3 {
        tx.on_packet(&params, us(8), &credit(number, 0, us(4)));
        data.extend(takes(&mut tx, &params, us(8)));
    }
    assert_eq!(kinds(&data), [(Kind::Data, 0), (Kind::Data, 1), (Kind::Data, 2), (Kind::Request, 0)]);
    assert!(hears(&mut rx, &params, us(12), &frame(9, &data[0])).is_empty(), "credits acknowledge");
    let nack = hears(&mut rx, &params, us(13), &frame(9, &data[2]));
    assert_eq!((nack.len(), nack[0].kind, nack[0].seq), (1, Kind::Nack, 1));
    assert!(hears(&mut rx, &params, us(14), &frame(9, &data[2])).is_empty(), "it was said just now");
    hears(&mut rx, &params, us(14), &frame(9, &data[3]));
    assert_eq!(rx.timer(ExpressPass::receiving(&params), &()), Instant::NEVER, "no more credits are wanted");
    tx.on_packet(&params, us(17), &answer(&nack[0]));
    let again = takes(&mut tx, &params, us(17));
    assert_eq!(kinds(&again), [(Kind::Request, 2)]);
    assert_eq!(hears(&mut rx, &params, us(21), &frame(9, &again[0])).len(), 1);
    // A late copy of the NACK does nothing once both packets were retransmitted and arrived.
    for number in 5..7 {
        tx.on_packet(&params, us(25), &credit(number, 1, us(21)));
        for out in takes(&mut tx, &params, us(25)) {
            hears(&mut rx, &params, us(29), &frame(9, &out));
        }
    }
    assert!(rx.is_done());
    tx.on_packet(&params, us(30), &credit(7, 3, us(26)));
    tx.on_packet(&params, us(31), &answer(&nack[0]));
    assert!(tx.is_done() && takes(&mut tx, &params, us(31)).is_empty());
}

#[test]
fn who_asks_after_the_end_is_told_of_it() {
    let (params, mut tx) = (params(), sender(&params(), 5));
    let request = frame(1, &takes(&mut tx, &params, us(0))[0]);
    let told = Rx::late(ExpressPass::receiving(&params), &request).expect("an answer");
    assert_eq!((told.kind, told.seq), (Kind::Ack, 5));
    let no_more = Frame { extension: ExpressPassHeader::default(), ..request };
    assert!(Rx::late(ExpressPass::receiving(&params), &no_more).is_none());
}

/// Expects all sizes from 76 to 92 B, gaps within a tenth of 2 x 129.76 ns, and the same draws in each run.
#[test]
fn credits_vary_in_size_and_distance() {
    let params = params();
    let draw = || {
        let mut rx = Rx::default();
        let request = takes(&mut sender(&params, 100_000), &params, us(0));
        let mut credits = hears(&mut rx, &params, us(0), &frame(5, &request[0]));
        for _ in 0..5000 {
            let now = rx.timer(ExpressPass::receiving(&params), &());
            rx.on_timer(ExpressPass::receiving(&params), &mut (), now, &mut |_, reply| credits.push(reply));
        }
        credits
    };
    let credits = draw();
    assert_eq!(credits, draw());
    let mut sizes = BTreeMap::new();
    credits.iter().for_each(|credit| *sizes.entry(credit.wire).or_insert(0) += 1);
    assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), (76..=92).collect::<Vec<u16>>());
    assert!(sizes.values().all(|n| (220..370).contains(n)), "{sizes:?}");
    let gaps: Vec<u64> = credits.windows(2).map(|two| two[1].extension.sent.0 - two[0].extension.sent.0).collect();
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!(*least >= 2 * GAP * 9 / 10 - 1 && *most <= 2 * GAP * 11 / 10, "{least} to {most}");
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((mean / (2.0 * GAP as f64) - 1.0).abs() < 0.005, "{mean}");
}

#[test]
fn a_sender_that_stops_early_asks_again_if_that_was_too_early() {
    let params = with(ExpressPassParams { early_stop: true, ..ExpressPassParams::default() });
    let mut tx = sender(&params, 12);
    takes(&mut tx, &params, us(0));
    let mut sent = Vec::new();
    for number in 0..8 {
        let now = Instant(us(8).0 + 2_000_000 * number as u64);
        tx.on_packet(&params, now, &credit(number, 0, us(4)));
        sent.extend(takes(&mut tx, &params, now));
    }
    // At 16 us, five credits have arrived within a round trip of 8 us, and seven packets are left. At 24 us the credits
    // of a round trip exceed the rest, so the sender stops them.
    assert_eq!(kinds(&sent).iter().position(|(kind, _)| *kind == Kind::Request), None);
    tx.on_packet(&params, us(24), &credit(8, 0, us(20)));
    assert_eq!(kinds(&takes(&mut tx, &params, us(24))), [(Kind::Data, 8), (Kind::Request, 0)]);
    tx.on_packet(&params, us(25), &credit(9, 0, us(21)));
    assert_eq!(kinds(&takes(&mut tx, &params, us(25))), [(Kind::Data, 9)]);
    assert_eq!(tx.timer(&params), us(40), "two round trips after the request");
    tx.on_timer(&params, us(40));
    assert_eq!(kinds(&takes(&mut tx, &params, us(40))), [(Kind::Request, 2)]);
}

// --- flows whose credits leave by one port -----------------------------------------------------------------------------------

/// Next event, and the number of its flow.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A receiver's timer.
    Due(usize),
    /// A credit may leave the port.
    Port,
    /// A packet of the sender arrives.
    Data(usize, Frame<ExpressPassHeader>),
    /// A credit arrives at the sender.
    Credit(usize, Frame<ExpressPassHeader>),
}

/// Runs endless flows into one host, whose port holds all their credits, with 4 us each way. Returns the packets of
/// each in the last `counted` of `until`, and the numbers of credits sent and dropped.
fn share(of: ExpressPassParams, starts: &[Instant], until: Instant, counted: Duration) -> (Vec<u64>, f64) {
    const AWAY: Duration = Duration::from_us(4);
    let params = with(of.clone());
    let receiving = ExpressPass::receiving(&params);
    let mut port = ExpressPassHeader::port(&LinkShape {
        credits: of.shape(Bytes(FULL.into())),
        ..LinkShape::new(BitsPerSec(RATE))
    });
    let mut flows: Vec<(Tx, Rx)> = starts.iter().map(|_| (sender(&params, u32::MAX), Rx::default())).collect();
    let (mut events, mut number, mut made, mut dropped) = (BTreeMap::new(), 0u64, 0, 0);
    let mut add = |events: &mut BTreeMap<(Instant, u64), Event>, at: Instant, event: Event| {
        number += 1;
        events.insert((at, number), event);
    };
    for (flow, start) in starts.iter().enumerate() {
        let request = takes(&mut flows[flow].0, &params, *start);
        add(&mut events, *start + AWAY, Event::Data(flow, frame(flow as u32, &request[0])));
    }
    let (mut packets, mut awaited) = (vec![0; starts.len()], Instant::NEVER);
    while let Some(((now, _), event)) = events.pop_first() {
        if now > until {
            break;
        }
        let mut credits = Vec::new();
        match event {
            Event::Due(flow) => {
                flows[flow].1.on_timer(receiving, &mut (), now, &mut |_, credit| credits.push((flow, credit)));
            }
            Event::Data(flow, packet) => {
                let replies = hears(&mut flows[flow].1, &params, now, &packet);
                credits.extend(replies.into_iter().map(|credit| (flow, credit)));
                packets[flow] += (packet.kind == Kind::Data && now + counted > until) as u64;
            }
            Event::Port => awaited = Instant::NEVER,
            Event::Credit(flow, credit) => {
                flows[flow].0.on_packet(&params, now, &credit);
                for out in takes(&mut flows[flow].0, &params, now) {
                    add(&mut events, now + AWAY, Event::Data(flow, frame(flow as u32, &out)));
                }
            }
        }
        for (flow, credit) in credits {
            let mut frame = answer(&credit);
            frame.packet.flow = flow as u32;
            (made, dropped) = (made + 1, dropped + !ExpressPassHeader::hold(&mut port, &frame) as u64);
            add(&mut events, flows[flow].1.timer(receiving, &()), Event::Due(flow));
        }
        while let Some(credit) = ExpressPassHeader::release(&mut port, now) {
            add(&mut events, now + AWAY, Event::Credit(credit.flow as usize, credit));
        }
        let due = ExpressPassHeader::credit_due(&port);
        if due < awaited {
            awaited = due;
            add(&mut events, due, Event::Port);
        }
    }
    (packets, dropped as f64 / made as f64)
}

/// Capacity of the port in two milliseconds: 15,413 packets.
fn check_shares(flows: usize) {
    let starts: Vec<Instant> = (0..flows as u64).map(|flow| Instant(flow * 37_000_000)).collect();
    let (packets, dropped) = share(ExpressPassParams::default(), &starts, us(6000), Duration::from_us(2000));
    let all: u64 = packets.iter().sum();
    let used = all as f64 * GAP as f64 / 2e9;
    let squares: u64 = packets.iter().map(|n| n * n).sum();
    let fairness = (all * all) as f64 / (flows as u64 * squares) as f64;
    println!("{flows} flows: {packets:?}, {used:.3} of the port, fairness {fairness:.4}, {dropped:.4} dropped");
    assert!((0.95..=1.001).contains(&used), "{used}");
    assert!(fairness > 0.97, "{fairness}: {packets:?}");
    let fair = all / flows as u64;
    assert!(packets.iter().all(|n| (fair * 2 / 3..=fair * 3 / 2).contains(n)), "{packets:?}");
}

#[test]
fn a_flow_alone_uses_its_port() {
    check_shares(1);
}

#[test]
fn two_flows_share_a_port_that_one_had() {
    check_shares(2);
}

#[test]
fn sixteen_flows_share_a_port() {
    check_shares(16);
}
