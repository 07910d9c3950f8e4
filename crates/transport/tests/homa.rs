//! Homa without a simulator: packets that each end sends in response to events, and both ends over a link that loses
//! and reorders.

use backwater_transport::{
    Homa, HomaFlowParams, HomaHeader, HomaLevels, HomaReceiver, HomaReceiverParams, HomaSender, Inbox, Next, Outgoing,
    Receiver, Reply, Sender, Start, Transport,
};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Extension, Frame, Instant, Kind, Packet, flags};

/// RTTbytes of the tests, packets.
const WINDOW: u32 = 10;
const RTO: Duration = Duration::from_us(100);

/// Eight levels, the first three unscheduled: up to 1 KB, up to 5 KB, and larger. At most `overcommitment` messages get
/// grants at once.
fn params(overcommitment: u32) -> HomaFlowParams {
    HomaFlowParams {
        payload: 1000,
        header: 48,
        full_wire: 1048,
        receiver: HomaReceiverParams {
            window: WINDOW,
            levels: HomaLevels { levels: 8, cutoffs: vec![1000, 5000] },
            overcommitment,
            ack_wire: 64,
            rto: RTO,
        },
    }
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn open(params: &HomaFlowParams, packets: u32) -> HomaSender {
    let start = Start { dst: 9, key: 7, site: 0, packets, last_wire: 548, class: 0, flags: flags::ECT };
    Homa::open(params, &mut (), us(0), start)
}

/// Takes all packets that the sender may send now.
fn drain(sender: &mut HomaSender, params: &HomaFlowParams, now: Instant) -> Vec<Outgoing<HomaHeader>> {
    let mut sent = Vec::new();
    while let Next::Packet(out) = sender.next_packet(params, now) {
        sent.push(out);
    }
    sent
}

/// An answer on the wire, with its word in the field in which data packets name their receiver.
fn answer(kind: Kind, seq: u32, word: u32, extension: HomaHeader) -> Frame<HomaHeader> {
    let packet = Packet { kind, seq, receiver_slot: word, ..Packet::NONE };
    Frame { packet, extension }
}

fn grant(seq: u32, granted: u32, level: u8) -> Frame<HomaHeader> {
    answer(Kind::Ack, seq, seq + 1, HomaHeader { packets: granted, span: 0, level })
}

#[test]
fn rtt_bytes_go_unasked_at_the_level_of_the_size_and_the_rest_as_granted() {
    let params = params(2);
    for (packets, level) in [(1, 0), (2, 1), (5, 1), (6, 2), (30, 2)] {
        let sent = drain(&mut open(&params, packets), &params, us(0));
        assert_eq!(sent.len() as u32, packets.min(WINDOW));
        assert!(sent.iter().all(|out| (out.class, out.flags & flags::ECT) == (level, 0)), "{packets}: {sent:?}");
        assert!(sent.iter().all(|out| out.extension.packets == packets));
        // Length and sequence number give the remaining packets, including this one.
        let left = |out: &Outgoing<HomaHeader>| out.extension.left(&Packet { seq: out.seq, ..Packet::NONE });
        assert!(sent.iter().map(left).eq((0..sent.len() as u32).map(|gone| u64::from(packets - gone))), "{packets}");
    }
    let mut sender = open(&params, 30);
    drain(&mut sender, &params, us(0));
    assert_eq!((sender.peek(&params, us(1)), sender.left(), sender.has_unsent()), (Next::Blocked, 20, true));
    sender.on_packet(&params, us(10), &grant(3, 12, 6));
    let sent: Vec<(u32, u8)> = drain(&mut sender, &params, us(10)).iter().map(|out| (out.seq, out.class)).collect();
    assert_eq!((sent, sender.acknowledged()), (vec![(10, 6), (11, 6)], 4));
    // An overtaken grant changes nothing.
    sender.on_packet(&params, us(11), &grant(2, 11, 3));
    assert_eq!((sender.peek(&params, us(11)), sender.acknowledged()), (Next::Blocked, 4));
    sender.on_packet(&params, us(12), &grant(20, 30, 7));
    let sent = drain(&mut sender, &params, us(12));
    assert_eq!(sent.iter().map(|out| out.class).collect::<Vec<_>>(), [7; 18]);
    assert_eq!(sent.last().map(|out| (out.seq, out.wire, out.flags)), Some((29, 548, flags::LAST)));
    sender.on_packet(&params, us(20), &grant(30, 30, 7));
    assert!(sender.is_done() && !sender.has_unsent() && sender.retransmitted() == 0);
}

#[test]
fn a_resend_goes_first_and_only_what_was_sent_is_sent_again() {
    let params = params(2);
    let mut sender = open(&params, 30);
    drain(&mut sender, &params, us(0));
    let resend = |from: u32, span: u16| answer(Kind::Nack, 2, from, HomaHeader { packets: 14, span, level: 5 });
    sender.on_packet(&params, us(200), &resend(8, 6));
    sender.on_packet(&params, us(200), &resend(8, 2));
    assert_eq!(sender.left(), 22);
    let sent: Vec<(u32, u8)> = drain(&mut sender, &params, us(200)).iter().map(|out| (out.seq, out.class)).collect();
    // Packets 8 and 9 are retransmitted, still unscheduled. The resend also grants 10 to 13.
    assert_eq!(sent, [(8, 2), (9, 2), (10, 5), (11, 5), (12, 5), (13, 5)]);
    assert_eq!(sender.retransmitted(), 2);
    // A packet that arrives before its retransmission is not sent again.
    sender.on_packet(&params, us(300), &resend(3, 9));
    sender.on_packet(&params, us(301), &grant(10, 14, 5));
    assert_eq!(drain(&mut sender, &params, us(301)).iter().map(|out| out.seq).collect::<Vec<_>>(), [10, 11]);
}

#[test]
fn a_sender_that_nobody_answers_sends_its_first_packet_again() {
    let params = params(2);
    let mut sender = open(&params, 30);
    assert_eq!(sender.timer(&params), Instant::NEVER, "it is for the NIC to send");
    drain(&mut sender, &params, us(5));
    assert_eq!(sender.timer(&params), us(5) + RTO);
    sender.on_timer(&params, us(5) + RTO);
    assert_eq!(drain(&mut sender, &params, us(105)).iter().map(|out| out.seq).collect::<Vec<_>>(), [0]);
    assert_eq!(sender.timer(&params), us(105) + RTO);
    // After the first answer, the receiver asks for missing packets until all are sent.
    sender.on_packet(&params, us(110), &grant(1, 12, 7));
    drain(&mut sender, &params, us(110));
    assert_eq!(sender.timer(&params), Instant::NEVER);
    sender.on_packet(&params, us(120), &grant(20, 30, 7));
    drain(&mut sender, &params, us(120));
    assert_eq!(sender.timer(&params), us(120) + RTO);
    sender.on_timer(&params, us(120) + RTO);
    assert_eq!(drain(&mut sender, &params, us(220)).iter().map(|out| out.seq).collect::<Vec<_>>(), [20]);
}

/// Receivers of one host.
struct Host {
    params: HomaFlowParams,
    inbox: Inbox,
    flows: Vec<HomaReceiver>,
}

impl Host {
    fn new(overcommitment: u32) -> Host {
        Host { params: params(overcommitment), inbox: Inbox::default(), flows: Vec::new() }
    }

    /// Delivers packet `seq` of `packets` of flow number `flow`, from a sender, at `now`. Returns the answers, by flow.
    fn data(&mut self, now: Instant, flow: u32, sender: u16, seq: u32, packets: u32) -> Vec<(u32, Reply<HomaHeader>)> {
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, HomaReceiver::default());
        }
        let packet = Packet { flow, seq, src: sender, dst: 9, wire: 1048, kind: Kind::Data, ..Packet::NONE };
        let frame = Frame { packet, extension: HomaHeader { packets, span: 0, level: 0 } };
        let receiver = &mut self.flows[flow as usize];
        if receiver.is_done() {
            return HomaReceiver::late(&self.params.receiver, &frame).map(|reply| (flow, reply)).into_iter().collect();
        }
        let mut replies = Vec::new();
        let (params, inbox) = (&self.params.receiver, &mut self.inbox);
        let answer = receiver.on_packet(params, inbox, now, &frame, &mut |of, reply| replies.push((of.flow, reply)));
        replies.extend(answer.map(|reply| (flow, reply)));
        replies
    }

    /// Returns flow, packets granted and level of each answer.
    fn grants(&mut self, flow: u32, sender: u16, seq: u32, packets: u32) -> Vec<(u32, u32, u8)> {
        let replies = self.data(us(1), flow, sender, seq, packets);
        replies.iter().map(|(flow, reply)| (*flow, reply.extension.packets, reply.extension.level)).collect()
    }

    fn silence(&mut self, flow: u32, now: Instant) -> Vec<Reply<HomaHeader>> {
        let (params, inbox) = (&self.params.receiver, &mut self.inbox);
        let receiver = &mut self.flows[flow as usize];
        let mut replies = Vec::new();
        if receiver.timer(params, inbox) <= now {
            receiver.on_timer(params, inbox, now, &mut |_, reply| replies.push(reply));
        }
        replies
    }
}

#[test]
fn a_lone_message_has_rtt_bytes_on_its_way_at_the_lowest_level() {
    let mut host = Host::new(2);
    for seq in 0..30 {
        let granted = seq + 1 + WINDOW;
        let expected = match seq {
            0..20 => vec![(0, granted, 7)],
            // The whole message is granted; only its end is acknowledged.
            20..29 => vec![],
            _ => vec![(0, 30, 7)],
        };
        assert_eq!(host.grants(0, 1, seq, 30), expected, "{seq}");
    }
    assert!(host.flows[0].is_done());
    // A message without grants is answered only at its end; a late packet of it is answered, too.
    for seq in 0..9 {
        assert!(host.data(us(1), 1, 1, seq, 10).is_empty());
    }
    let end = |replies: Vec<(u32, Reply<HomaHeader>)>| {
        replies.iter().map(|(_, reply)| (reply.kind, reply.seq)).collect::<Vec<_>>()
    };
    assert_eq!(end(host.data(us(1), 1, 1, 9, 10)), [(Kind::Ack, 10)]);
    assert_eq!(end(host.data(us(1), 1, 1, 4, 10)), [(Kind::Ack, 10)]);
}

#[test]
fn the_messages_with_the_least_left_are_granted_to_and_the_lowest_levels_in_use() {
    let mut host = Host::new(2);
    // A message alone uses level 7. A shorter one uses level 6, and the first stays at 7.
    assert_eq!(host.grants(0, 1, 0, 50), [(0, 11, 7)]);
    assert_eq!(host.grants(1, 2, 0, 40), [(1, 11, 6)]);
    assert_eq!(host.grants(0, 1, 1, 50), [(0, 12, 7)]);
    // A third message, the shortest, takes the place of the longest.
    assert_eq!(host.grants(2, 3, 0, 30), [(2, 11, 6)]);
    assert_eq!(host.grants(1, 2, 1, 40), [(1, 12, 7)]);
    assert_eq!(host.grants(0, 1, 2, 50), []);
    // When the shortest message is fully granted, the waiting one at once gets the grant it missed.
    for seq in 1..19 {
        assert_eq!(host.grants(2, 3, seq, 30), [(2, seq + 11, 6)]);
    }
    assert_eq!(host.grants(2, 3, 19, 30), [(2, 30, 6), (0, 13, 7)]);
    assert_eq!(host.grants(1, 2, 2, 40), [(1, 13, 6)]);
}

#[test]
fn one_message_of_each_sender_is_granted_to() {
    let mut host = Host::new(2);
    assert_eq!(host.grants(0, 1, 0, 50), [(0, 11, 7)]);
    // A shorter message of the same sender replaces the first, and is the only one with grants.
    assert_eq!(host.grants(1, 1, 0, 40), [(1, 11, 7)]);
    assert_eq!(host.grants(0, 1, 1, 50), []);
    assert_eq!(host.grants(2, 2, 0, 60), [(2, 11, 7)]);
    assert_eq!(host.grants(1, 1, 1, 40), [(1, 12, 6)]);
    for seq in 2..29 {
        host.grants(1, 1, seq, 40);
    }
    assert_eq!(host.grants(1, 1, 29, 40), [(1, 40, 6), (0, 12, 6)]);
}

#[test]
fn a_message_rises_as_its_packets_come_and_goes_ahead_of_a_longer_one() {
    let mut host = Host::new(1);
    assert_eq!(host.grants(0, 1, 0, 40), [(0, 11, 7)]);
    assert_eq!(host.grants(1, 2, 0, 42), []);
    // Between equal messages, the one with grants continues.
    assert_eq!(host.grants(1, 2, 1, 42), []);
    assert_eq!(host.grants(1, 2, 2, 42), []);
    assert_eq!(host.grants(1, 2, 3, 42), [(1, 14, 7)]);
    assert_eq!(host.grants(0, 1, 1, 40), []);
}

#[test]
fn silence_has_what_is_missing_asked_for_again_and_then_the_rest_at_once() {
    let mut host = Host::new(2);
    for seq in [0, 1, 4, 9] {
        host.grants(0, 1, seq, 30);
    }
    assert!(host.silence(0, us(100)).is_empty(), "it was heard at 1 us");
    let asked = host.silence(0, us(101));
    let runs = |replies: &[Reply<HomaHeader>]| {
        replies.iter().map(|r| (r.kind, r.seq, r.word, r.extension.span)).collect::<Vec<_>>()
    };
    // 14 packets are granted. Two runs among the sent packets are missing, and the last four may not have been sent.
    assert_eq!(runs(&asked), [(Kind::Nack, 2, Some(2), 2), (Kind::Nack, 2, Some(5), 4), (Kind::Nack, 2, Some(10), 4)]);
    assert!(asked.iter().all(|reply| (reply.extension.packets, reply.extension.level) == (14, 7)));
    assert!(host.silence(0, us(150)).is_empty());
    assert_eq!(host.silence(0, us(201)).len(), 3);
    // A duplicate is answered with the current grant.
    assert_eq!(host.grants(0, 1, 4, 30), [(0, 14, 7)]);
}

/// Runs forty messages over a link that loses and reorders packets. All messages must arrive. Without losses, no more
/// than RTTbytes of a message may be in flight. Retransmissions must be counted.
#[test]
fn every_message_arrives_over_a_link_that_loses_and_reorders() {
    for (loss, seed) in [(0, 1), (0, 2), (1, 3), (50, 4), (50, 5), (300, 6)] {
        let params = params(2);
        let mut rng = Stream::new(seed, 1, 2);
        let sizes: Vec<u32> = (0..40).map(|_| 1 + rng.next_u32() % 200).collect();
        let mut senders: Vec<HomaSender> = sizes.iter().map(|packets| open(&params, *packets)).collect();
        let mut host = Host::new(2);
        let mut sent = vec![0; sizes.len()];
        let mut arrived = vec![0; sizes.len()];
        // Packets in flight by arrival time and number: flow and frame.
        let mut wire: std::collections::BTreeMap<(Instant, u64), (usize, Frame<HomaHeader>)> = Default::default();
        let (mut now, mut number) = (us(0), 0);
        let mut put = |now: Instant,
                       flow: usize,
                       frame: Frame<HomaHeader>,
                       wire: &mut std::collections::BTreeMap<_, _>| {
            number += 1;
            if rng.next_u32() % 1000 >= loss {
                wire.insert((now + Duration::from_ns(1000 + u64::from(rng.next_u32() % 3000)), number), (flow, frame));
            }
        };
        while senders.iter().any(|sender| !sender.is_done()) {
            for (flow, sender) in senders.iter_mut().enumerate() {
                if sender.timer(&params) <= now {
                    sender.on_timer(&params, now);
                }
                for out in drain(sender, &params, now) {
                    sent[flow] += 1;
                    let src = (flow % 5) as u16;
                    let packet = Packet { flow: flow as u32, seq: out.seq, src, kind: Kind::Data, ..Packet::NONE };
                    put(now, flow, Frame { packet, extension: out.extension }, &mut wire);
                }
            }
            let mut replies = Vec::new();
            if let Some(entry) = wire.first_entry() {
                now = entry.key().0;
                let (flow, frame) = entry.remove();
                if frame.kind == Kind::Data {
                    arrived[flow] += 1;
                    assert!(loss > 0 || sent[flow] - arrived[flow] <= WINDOW, "flow {flow}: {sent:?}, {arrived:?}");
                    replies = host.data(now, flow as u32, frame.src, frame.seq, sizes[flow]);
                } else {
                    senders[flow].on_packet(&params, now, &frame);
                }
            } else {
                now += Duration::from_us(1);
            }
            for flow in 0..host.flows.len() {
                if !host.flows[flow].is_done() {
                    replies.extend(host.silence(flow as u32, now).into_iter().map(|reply| (flow as u32, reply)));
                }
            }
            for (flow, reply) in replies {
                let frame = answer(reply.kind, reply.seq, reply.word.unwrap_or(0), reply.extension);
                put(now, flow as usize, frame, &mut wire);
            }
            assert!(now < us(1_000_000), "loss of {loss} in 1000: no end");
        }
        for (flow, sender) in senders.iter().enumerate() {
            assert_eq!(sent[flow], sizes[flow] + sender.retransmitted(), "flow {flow}");
            assert!(host.flows[flow].is_done());
            // A message that waits for its turn longer than the timeout retransmits one packet to ask whether it is
            // known.
            assert!(loss > 0 || sender.retransmitted() <= 1, "flow {flow}: nothing was lost");
        }
    }
}
