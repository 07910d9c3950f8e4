//! TCP's two ends through `Transport`, `Sender` and `Receiver`, as a host sees them: times and wire format of
//! acknowledgements, choice of a flow's connection, and opening.

use backwater_transport::{
    Connections, Marks, Next, Outgoing, Receiver, Reply, Sender, Start, Tcp, TcpAnswers, TcpFlow, TcpFlowParams,
    TcpFlowReceiver, TcpParams, TimeoutReason, Transport,
};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Instant, Kind, Packet, flags};
use std::collections::BTreeSet;

const US: u64 = 1_000_000;
const RTO: u64 = 5_000 * US;
const RTT: u64 = 100 * US;
/// Wire bytes of a full segment, of its headers, of an acknowledgement, and of a flow's last segment.
const FULL: u16 = 1500;
const HEADER: u16 = 40;
const ACK: u16 = 44;
const LAST: u16 = 777;

/// A receiver, and the replies it has sent.
struct Listener {
    params: TcpAnswers,
    receiver: TcpFlowReceiver,
    /// Time of each reply, the segment whose packet addresses it, and the reply.
    sent: Vec<(u64, u32, Reply)>,
}

impl Listener {
    fn new(tcp: TcpParams) -> Listener {
        let params = *Tcp::receiving(&params(tcp));
        Listener { params, receiver: TcpFlowReceiver::default(), sent: Vec::new() }
    }

    /// Delivers a segment, after the timer if that is due, and returns the answers.
    fn hear(&mut self, at: u64, seq: u32, flags: u8) -> Vec<Reply> {
        self.take(at, segment(seq, flags))
    }

    fn take(&mut self, at: u64, segment: Packet) -> Vec<Reply> {
        self.wait(at);
        let before = self.sent.len();
        let sent = &mut self.sent;
        let mut reply = |of: &Packet, reply| sent.push((at, of.seq, reply));
        if let Some(last) = self.receiver.on_packet(&self.params, &mut (), Instant(at), &segment.into(), &mut reply) {
            reply(&segment, last);
        }
        self.sent[before..].iter().map(|(.., reply)| *reply).collect()
    }

    fn wait(&mut self, until: u64) {
        let at = self.due();
        if at <= until {
            let sent = &mut self.sent;
            let mut reply = |of: &Packet, reply| sent.push((at, of.seq, reply));
            self.receiver.on_timer(&self.params, &mut (), Instant(at), &mut reply);
        }
    }

    fn due(&self) -> u64 {
        self.receiver.timer(&self.params, &()).0
    }
}

/// A sender, its parameters, and the peers of its host.
struct Host {
    params: TcpFlowParams,
    peers: <Tcp as Transport>::Peers,
    now: u64,
}

impl Host {
    fn new(tcp: TcpParams) -> Host {
        Host { params: params(tcp), peers: Default::default(), now: 0 }
    }

    fn open(&mut self, dst: u16, key: u32, packets: u32) -> TcpFlow {
        let start = Start { dst, key, site: 0, packets, last_wire: LAST, class: 3, flags: flags::ECT };
        Tcp::open(&self.params, &mut self.peers, Instant(self.now), start)
    }

    /// Sends all segments that may go now.
    fn burst(&self, flow: &mut TcpFlow) -> Vec<Outgoing> {
        let mut out = Vec::new();
        loop {
            let seen = flow.peek(&self.params, Instant(self.now));
            match flow.next_packet(&self.params, Instant(self.now)) {
                Next::Packet(packet) => {
                    assert_eq!(seen, Next::Packet(packet.wire), "what is seen is what is sent");
                    out.push(packet);
                }
                next => {
                    assert_eq!((seen, next), (Next::Blocked, Next::Blocked));
                    return out;
                }
            }
        }
    }

    /// Delivers a reply.
    fn hear(&self, flow: &mut TcpFlow, reply: Reply) {
        let word = reply.word.expect("an acknowledgement has a word of its own");
        let packet = Packet { kind: reply.kind, flags: reply.flags, receiver_slot: word, ..segment(reply.seq, 0) };
        flow.on_packet(&self.params, Instant(self.now), &packet.into());
    }

    /// Delivers every segment, until the flow ends, and returns the segments of each round trip.
    fn carry(&mut self, flow: &mut TcpFlow) -> Vec<usize> {
        let (mut rounds, mut arrived) = (Vec::new(), 0);
        let mut sent = self.burst(flow).len();
        while sent > 0 {
            rounds.push(sent);
            self.now += RTT;
            sent = (0..sent)
                .map(|_| {
                    arrived += 1;
                    self.hear(flow, ack(arrived, 0));
                    self.burst(flow).len()
                })
                .sum();
        }
        assert!(flow.is_done());
        Tcp::close(&self.params, &mut self.peers, flow);
        rounds
    }
}

fn params(tcp: TcpParams) -> TcpFlowParams {
    TcpFlowParams::new(&tcp, Duration(RTO), FULL, HEADER, ACK)
}

/// A segment as it arrives, of a flow with slot 9 at its receiver.
fn segment(seq: u32, flags: u8) -> Packet {
    Packet { seq, flags, kind: Kind::Data, wire: FULL, receiver_slot: 9, ..Packet::NONE }
}

fn ack(next: u32, word: u32) -> Reply {
    Reply { kind: Kind::Ack, seq: next, word: Some(word), wire: ACK, flags: 0, extension: () }
}

fn marked(reply: Reply) -> Reply {
    Reply { flags: flags::CE, ..reply }
}

/// Encodes a block of `from..to`, where segment `next` is expected.
fn word(next: u32, from: u32, to: u32) -> u32 {
    (from - next) * 65_536 + (to - from)
}

// --- acknowledgements that wait ----------------------------------------------------------------------------------------------

/// Policy of an acknowledgement for three segments, or after 10 us.
fn later(marks: Marks) -> TcpParams {
    TcpParams { marks, ack_every: 3, ack_delay: Duration(10 * US), ..TcpParams::default() }
}

const NEVER: u64 = Instant::NEVER.0;

#[test]
fn an_acknowledgement_waits_from_the_first_segment_that_it_stands_for() {
    let mut listener = Listener::new(later(Marks::Dctcp));
    assert_eq!(listener.due(), NEVER);
    let heard = [(100, Some(110)), (107, Some(110)), (109, None), (200, Some(210)), (209, Some(210)), (215, Some(225))];
    for (seq, (at, due)) in heard.into_iter().enumerate() {
        listener.hear(at * US, seq as u32, 0);
        assert_eq!(listener.due(), due.map_or(NEVER, |due| due * US), "after segment {seq}");
    }
    listener.wait(300 * US);
    let due = [(109, 2, 3), (210, 4, 5), (225, 5, 6)];
    assert_eq!(listener.sent, due.map(|(at, with, next)| (at * US, with, ack(next, 0))));
    assert_eq!(listener.due(), NEVER);
}

/// RFC 8257, section 3.2: a change of the marks acknowledges the waiting segments, and the segment that changed them
/// waits from then on.
#[test]
fn a_change_of_marks_starts_the_wait_anew() {
    let mut listener = Listener::new(later(Marks::Dctcp));
    assert_eq!(listener.hear(100 * US, 0, 0), []);
    assert_eq!(listener.hear(104 * US, 1, flags::CE), [ack(1, 0)]);
    assert_eq!(listener.due(), 114 * US);
    assert_eq!(listener.hear(106 * US, 2, flags::CE), []);
    assert_eq!(listener.due(), 114 * US);
    listener.wait(114 * US);
    assert_eq!(listener.sent[1..], [(114 * US, 2, marked(ack(3, 0)))]);
    // Without DCTCP, an acknowledgement is marked if any of its segments was.
    let mut listener = Listener::new(later(Marks::EcnStar));
    assert_eq!(listener.hear(100 * US, 0, 0), []);
    assert_eq!(listener.hear(104 * US, 1, flags::CE), []);
    assert_eq!(listener.due(), 110 * US);
    assert_eq!(listener.hear(106 * US, 2, 0), [marked(ack(3, 0))]);
}

#[test]
fn a_hole_and_the_end_of_a_flow_end_the_wait() {
    let mut listener = Listener::new(later(Marks::Dctcp));
    assert_eq!(listener.hear(100 * US, 0, 0), []);
    assert_eq!(listener.hear(101 * US, 2, 0), [ack(1, 0), ack(1, word(1, 2, 3))], "what waited goes first");
    assert_eq!(listener.due(), NEVER);
    assert_eq!(listener.hear(102 * US, 1, 0), [ack(3, 0)]);
    assert_eq!(listener.hear(103 * US, 3, 0), []);
    assert_eq!(listener.due(), 113 * US);
    assert_eq!(listener.hear(104 * US, 4, flags::LAST), [ack(5, 0)]);
    assert!(listener.receiver.is_done() && listener.due() == NEVER);
}

/// Expects an acknowledgement of the whole flow for a late packet, sent before the sender heard of the end.
#[test]
fn what_comes_late_is_told_that_everything_has_arrived() {
    let mut host = Host::new(TcpParams::default());
    let mut flow = host.open(1, 7, 10);
    assert_eq!(host.burst(&mut flow).len(), 10);
    for lost in [0, 4, 9] {
        let late =
            TcpFlowReceiver::late(&host.params.receiver, &segment(lost, flags::CE).into()).expect("it is answered");
        assert_eq!((late.kind, late.wire, late.flags), (Kind::Ack, ACK, 0));
        let mut flow = flow.clone();
        host.hear(&mut flow, late);
        assert!(flow.is_done() && flow.acknowledged() == 10 && flow.timer(&host.params) == Instant::NEVER);
    }
}

// --- blocks ------------------------------------------------------------------------------------------------------------------

/// Every acknowledgement has the block that its segment is in, unless the segment was expected.
#[test]
fn a_block_is_where_it_begins_beyond_the_next_segment_and_how_long_it_is() {
    for seed in 0..300 {
        let mut stream = Stream::new(seed, 0, 0);
        let mut order: Vec<u32> = (0..60).collect();
        (1..order.len()).for_each(|at| order.swap(at, stream.next_u32() as usize % (at + 1)));
        let (mut listener, mut arrived) = (Listener::new(TcpParams::default()), BTreeSet::new());
        for seq in order {
            arrived.insert(seq);
            let next = (0..).find(|seq| !arrived.contains(seq)).expect("some segment is missing");
            let from = (0..=seq).rev().find(|seq| !arrived.contains(seq)).map_or(0, |hole| hole + 1);
            let to = (seq..).find(|seq| !arrived.contains(seq)).expect("some segment is missing");
            let block = if seq < next { 0 } else { word(next, from, to) };
            assert_eq!(listener.hear(0, seq, 0), [ack(next, block)], "{arrived:?}");
        }
    }
}

#[test]
fn a_block_has_sixteen_bits_for_each_and_is_cut_or_left_out_beyond() {
    let mut listener = Listener::new(TcpParams::default());
    assert_eq!(listener.hear(0, 65_535, 0), [ack(0, word(0, 65_535, 65_536))]);
    assert_eq!(listener.hear(0, 70_000, 0), [ack(0, 0)]);
    let mut listener = Listener::new(TcpParams::default());
    for seq in 1..=70_000 {
        assert_eq!(listener.hear(0, seq, 0), [ack(0, word(0, 1, 1 + seq.min(65_535)))]);
    }
}

/// Segments in the block are not retransmitted after a timeout.
#[test]
fn a_sender_spares_the_block_that_it_was_told_of() {
    for (next, from, to) in [(0, 1, 2), (5, 8, 12), (5, 6, 20), (19, 0, 0), (12, 13, 13), (0, 19, 20)] {
        let mut host = Host::new(TcpParams { initial_window: 20, dup_acks: 100, ..TcpParams::default() });
        let mut flow = host.open(1, 7, 20);
        assert_eq!(host.burst(&mut flow).len(), 20);
        let block = if from < to { word(next, from, to) } else { 0 };
        host.hear(&mut flow, ack(next, block));
        host.now = flow.timer(&host.params).0;
        let reason = if from < to { TimeoutReason::Tail } else { TimeoutReason::Silent };
        assert_eq!(flow.on_timer(&host.params, Instant(host.now)), Some(reason));
        let mut arrived: BTreeSet<u32> = (0..next).chain(from..to).collect();
        let missing: Vec<u32> = (0..20).filter(|seq| !arrived.contains(seq)).collect();
        let mut again = Vec::new();
        while !flow.is_done() {
            let sent: Vec<u32> = host.burst(&mut flow).iter().map(|out| out.seq).collect();
            assert!(!sent.is_empty(), "{again:?} sent again, {arrived:?} arrived, and nothing goes");
            arrived.extend(&sent);
            again.extend(sent);
            host.hear(&mut flow, ack((0..).find(|seq| !arrived.contains(seq)).expect("the first beyond"), 0));
        }
        assert_eq!(again, missing, "expected {next}, block {from}..{to}");
        assert_eq!((flow.retransmitted(), flow.timeouts()), (missing.len() as u32, 1));
    }
}

/// Expects a window that loses each third segment, except the last few, to be repaired without a timeout. Exactly the
/// lost segments are retransmitted.
#[test]
fn what_a_receiver_packs_its_sender_unpacks() {
    let lost = |seq: &u32| *seq < 80 && seq % 3 == 1;
    let mut host = Host::new(TcpParams { initial_window: 90, ..TcpParams::default() });
    let (mut flow, mut listener) = (host.open(1, 7, 90), Listener::new(TcpParams::default()));
    let mut air: Vec<u32> = host.burst(&mut flow).iter().map(|out| out.seq).filter(|seq| !lost(seq)).collect();
    let mut again = Vec::new();
    while !air.is_empty() {
        for seq in std::mem::take(&mut air) {
            let flag = if seq == 89 { flags::LAST } else { 0 };
            listener.hear(0, seq, flag).into_iter().for_each(|reply| host.hear(&mut flow, reply));
            air.extend(host.burst(&mut flow).iter().map(|out| out.seq));
        }
        again.extend_from_slice(&air);
    }
    assert_eq!(again, (0..90).filter(lost).collect::<Vec<u32>>());
    assert!(listener.receiver.is_done() && flow.is_done() && flow.timeouts() == 0);
}

/// DCTCP's estimate starts at 1: the first mark halves the window, once.
#[test]
fn a_mark_in_an_acknowledgement_is_one() {
    let mut host = Host::new(TcpParams { initial_window: 20, ..TcpParams::default() });
    let mut flow = host.open(1, 7, 100);
    assert_eq!(host.burst(&mut flow).len(), 20);
    // Ten of twenty fit the window from then on: nothing goes until ten are acknowledged, and then one for each.
    let sent: Vec<usize> = (1..=15)
        .map(|next| {
            host.hear(&mut flow, marked(ack(next, 0)));
            host.burst(&mut flow).len()
        })
        .collect();
    assert_eq!(sent, [[0; 10].as_slice(), &[1; 5]].concat());
}

// --- connections -------------------------------------------------------------------------------------------------------------

fn persistent() -> TcpParams {
    TcpParams { connections: Connections::Persistent, handshake: true, open: 2, ..TcpParams::default() }
}

/// A connection has the key of its packets, which is that of the flow that opened it.
#[test]
fn a_flow_takes_the_idle_connection_that_was_opened_first() {
    let mut host = Host::new(persistent());
    let mut flows: Vec<TcpFlow> = (10..14).map(|key| host.open(5, key, 3)).collect();
    assert_eq!(flows.iter().map(Sender::key).collect::<Vec<_>>(), [10, 11, 12, 13], "a busy one is not shared");
    for at in [2, 0, 1] {
        host.carry(&mut flows[at]);
    }
    // 10, 11 and 12 are idle.
    assert_eq!(host.open(6, 20, 3).key(), 20, "they lead elsewhere");
    let mut first = host.open(5, 21, 3);
    assert_eq!(first.key(), 10);
    assert_eq!(host.open(5, 22, 3).key(), 11);
    host.carry(&mut first);
    assert_eq!([23, 24, 25].map(|key| host.open(5, key, 3).key()), [10, 12, 25]);
}

/// Ten segments, and one more for each acknowledgement while the window limits the sender: ten of the first round, one
/// of the second.
#[test]
fn a_connection_keeps_its_window_over_a_short_rest() {
    for (rest, window) in [(0, 21), (RTO, 21), (RTO + 1, 10)] {
        let mut host = Host::new(persistent());
        let mut flow = host.open(5, 10, 30);
        assert_eq!(host.carry(&mut flow), [10, 20]);
        host.now += rest;
        let mut flow = host.open(5, 11, 100);
        assert_eq!((flow.key(), host.carry(&mut flow)[0]), (10, window), "after {rest} ps");
    }
}

/// Two hosts have two connections from the start; a third is opened when it is needed, once.
#[test]
fn connections_beyond_the_first_are_opened_once() {
    let opens = |host: &mut Host, flow: &mut TcpFlow| host.burst(flow)[0].wire == HEADER;
    let mut host = Host::new(persistent());
    let mut flows: Vec<TcpFlow> = (0..4).map(|key| host.open(5, key, 3)).collect();
    let opened: Vec<bool> = flows.iter().map(|flow| opens(&mut host, &mut flow.clone())).collect();
    assert_eq!(opened, [false, false, true, true]);
    flows.iter_mut().for_each(|flow| drop(host.carry(flow)));
    let mut flows: Vec<TcpFlow> = (0..5).map(|key| host.open(5, key, 3)).collect();
    let opened: Vec<bool> = flows.iter_mut().map(|flow| opens(&mut host, flow)).collect();
    assert_eq!(opened, [false, false, false, false, true]);
}

/// Each flow opens a new connection: its packets have its key, and no state is kept.
#[test]
fn a_connection_for_each_flow_is_new_to_each() {
    let mut host = Host::new(TcpParams { handshake: true, ..TcpParams::default() });
    for key in 0..3 {
        let mut flow = host.open(5, key, 30);
        assert_eq!((flow.key(), host.carry(&mut flow)), (key, vec![1, 10, 20]));
    }
}

// --- opening -----------------------------------------------------------------------------------------------------------------

#[test]
fn a_connection_opens_with_headers_alone_and_one_round_trip() {
    let mut host = Host::new(TcpParams { handshake: true, initial_window: 4, ..TcpParams::default() });
    let mut flow = host.open(5, 7, 3);
    let out = |seq, wire, flags| Outgoing { kind: Kind::Data, seq, wire, class: 3, flags, extension: () };
    assert_eq!(host.burst(&mut flow), [out(0, HEADER, 0)], "not ECN-capable, and alone");
    host.hear(&mut flow, ack(1, 0));
    assert_eq!((flow.acknowledged(), flow.has_unsent()), (0, true), "no data yet");
    let sent = [out(1, FULL, flags::ECT), out(2, FULL, flags::ECT), out(3, LAST, flags::ECT | flags::LAST)];
    assert_eq!(host.burst(&mut flow), sent);
    assert!(!flow.has_unsent());
    host.hear(&mut flow, ack(4, 0));
    assert_eq!((flow.acknowledged(), flow.is_done()), (3, true));
}

/// The segment that opens a connection is acknowledged at once, since none follows before; later ones wait for more.
#[test]
fn an_opening_is_acknowledged_at_once() {
    let mut host = Host::new(TcpParams { handshake: true, ..later(Marks::Dctcp) });
    let (mut flow, mut listener) = (host.open(5, 7, 2), Listener::new(later(Marks::Dctcp)));
    let opening = Packet { wire: host.burst(&mut flow)[0].wire, ..segment(0, 0) };
    assert_eq!(listener.take(100 * US, opening), [ack(1, 0)]);
    assert_eq!(listener.due(), NEVER);
    assert_eq!(listener.hear(101 * US, 1, 0), []);
    assert_eq!(listener.due(), 111 * US);
    // The opening arrives again, since its acknowledgement was lost.
    assert_eq!(listener.take(102 * US, opening), [ack(2, 0), ack(2, 0)]);
    assert_eq!(listener.due(), NEVER);
}

#[test]
fn a_lost_opening_is_sent_again_when_the_timer_is_due() {
    let mut host = Host::new(TcpParams { handshake: true, ..TcpParams::default() });
    host.now = 33 * US;
    let mut flow = host.open(5, 7, 1);
    assert_eq!(flow.timer(&host.params), Instant::NEVER);
    let opening = host.burst(&mut flow);
    for backed_off in [1, 2, 4] {
        let due = flow.timer(&host.params);
        assert_eq!(due, Instant(host.now + backed_off * RTO));
        host.now = due.0;
        assert_eq!(flow.on_timer(&host.params, due), Some(TimeoutReason::Handshake));
        assert_eq!(host.burst(&mut flow), opening);
    }
    host.hear(&mut flow, ack(1, 0));
    let last =
        Outgoing { kind: Kind::Data, seq: 1, wire: LAST, class: 3, flags: flags::ECT | flags::LAST, extension: () };
    assert_eq!(host.burst(&mut flow), [last]);
    assert_eq!(flow.timer(&host.params), Instant(host.now + RTO), "what was lost is forgotten");
}
