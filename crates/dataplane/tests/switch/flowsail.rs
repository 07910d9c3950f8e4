//! FlowSail's rules one by one, on a single switch (the list of spec F.12, and experiment fs-fig6).
//!
//! Packets have 1000 bytes. Ports have 100 Gb/s and an HRTT of 2 us, so the one-hop bandwidth-delay product is 25,000
//! bytes.

use crate::cases::cases;
use backwater_dataplane::flow_table::{Record, state};
use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{
    Bfc, BfcParams, Composed, DataPlane, FlowSail, FlowSailParams, Hold, IdealFlowControl, PauseByFlowParams,
    PortShape, Readings, ReleaseFrom, Residue, Shape, Single, SketchParams, Switch,
};
use backwater_types::hash::Stream;
use backwater_types::{
    BitsPerSec, Bytes, ControlFrame, Duration, FlowName, Instant, Kind, Packet, PortId, QueueId, flags,
};
use std::collections::BTreeMap;

const PACKET: u64 = 1000;
/// One hop's bandwidth-delay product, in packets.
const HOP: u64 = 25;
/// Egress of all packets in these tests.
const EGRESS: PortId = 3;

fn shape(queues: u16) -> Shape {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    Shape { quantum: PACKET as u32, buffer: 1 << 24, ..Shape::new(vec![port; 4], queues) }
}

fn params() -> FlowSailParams {
    FlowSailParams { table_entries: 1024, ..FlowSailParams::default() }
}

fn packet(flow: u32, seq: u32) -> Packet {
    Packet {
        flow,
        seq,
        key: flow,
        sender_slot: flow,
        receiver_slot: 0,
        dst: 0,
        src: 0,
        wire: PACKET as u16,
        upstream_queue: 0,
        class: 0,
        kind: Kind::Data,
        flags: 0,
    }
}

fn name(flow: u32) -> FlowName {
    packet(flow, 0).flow_name()
}

/// A switch with a clock; every step is followed by a recount.
struct Bench {
    switch: Switch<FlowSail<1>>,
    now: Instant,
    seq: u32,
}

impl Bench {
    fn new(queues: u16, params: &FlowSailParams) -> Bench {
        Bench { switch: Switch::new(&shape(queues), params), now: Instant(1_000_000), seq: 0 }
    }

    fn check(&self) {
        self.switch.audit().unwrap();
    }

    fn pass_time(&mut self, by: Duration) {
        let until = self.now + by;
        let mut to_poll = Vec::new();
        while self.switch.next_timer() <= until {
            self.now = self.switch.next_timer();
            self.switch.timer(self.now, &mut to_poll);
            self.check();
        }
        self.now = until;
    }

    /// Receives a packet of `flow` by port 0. Returns the frame that leaves by that port at once.
    fn arrive(&mut self, flow: u32) -> Option<ControlFrame> {
        self.seq += 1;
        let received = self.switch.receive(self.now, &packet(flow, self.seq).into(), 0, EGRESS);
        assert_eq!(received.dropped, None);
        self.check();
        assert!(received.frame_on.is_none_or(|port| port == 0));
        self.frame()
    }

    /// Receives `count` packets of `flow`, none of which causes a frame.
    fn fill(&mut self, flow: u32, count: u64) {
        for _ in 0..count {
            assert_eq!(self.arrive(flow), None);
        }
    }

    fn frame(&mut self) -> Option<ControlFrame> {
        let sent = self.switch.transmit(self.now, 0);
        sent.map(|sent| sent.packet.control().expect("only control frames leave by port 0"))
    }

    fn pause(&mut self, flow: u32) {
        self.switch.control(self.now, EGRESS, ControlFrame::PauseFlow(name(flow)));
        self.check();
    }

    fn resume(&mut self, flow: u32) {
        self.switch.control(self.now, EGRESS, ControlFrame::ResumeFlow(name(flow)));
        self.check();
    }

    /// Sends the next packet. Returns its flow, sequence number and queue.
    fn send(&mut self) -> Option<(u32, u32, QueueId)> {
        let sent = self.switch.transmit(self.now, EGRESS);
        self.check();
        sent.map(|sent| (sent.packet.flow, sent.packet.seq, sent.queue.expect("data")))
    }

    /// Sends until nothing may leave. Returns the flows in order.
    fn drain(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.send()).map(|(flow, ..)| flow).collect()
    }

    fn record(&self, flow: u32) -> Option<Record> {
        let table = self.switch.policy().table();
        table.find(EGRESS, name(flow)).map(|slot| table[slot])
    }

    fn is(&self, flow: u32, mask: u8) -> bool {
        self.record(flow).is_some_and(|record| record.is(mask))
    }
}

const PAUSE_1: Option<ControlFrame> = Some(ControlFrame::PauseFlow(FlowName { flow: 1, slot: 1, class: 0 }));
const RESUME_1: Option<ControlFrame> = Some(ControlFrame::ResumeFlow(FlowName { flow: 1, slot: 1, class: 0 }));

// --- conditions for a pause ---------------------------------------------------------------------------------------

/// Spec F.3: 25,000 B at 100 Gb/s and 2 us, with one active queue. A flow is paused above the threshold, not at it.
#[test]
fn a_lone_flow_is_paused_above_ql() {
    let mut bench = Bench::new(3, &params());
    bench.fill(1, HOP + 1);
    assert_eq!(bench.arrive(1), PAUSE_1);
    assert_eq!(bench.arrive(1), None, "once");
    for _ in 0..HOP + 1 {
        bench.send();
        assert_eq!(bench.frame(), None);
    }
    bench.send();
    assert_eq!(bench.frame(), None, "two packets are flagged");
    bench.send();
    assert_eq!(bench.frame(), RESUME_1);
    assert!(bench.drain().is_empty());
    assert_eq!(bench.switch.policy().table().used(), 0);
}

/// Without `count_last` a flow's last packet causes no pause, however long the queue.
#[test]
fn a_last_packet_may_be_left_out() {
    for count_last in [true, false] {
        let mut bench = Bench::new(3, &FlowSailParams { count_last, ..params() });
        bench.fill(1, HOP + 1);
        let last = Packet { flags: flags::LAST, ..packet(1, HOP as u32 + 2) };
        bench.switch.receive(bench.now, &last.into(), 0, EGRESS);
        bench.check();
        assert_eq!(bench.frame(), PAUSE_1.filter(|_| count_last));
        bench.drain();
        assert_eq!(bench.frame(), RESUME_1.filter(|_| count_last));
        assert_eq!(bench.switch.policy().table().used(), 0);
    }
}

/// Two active queues divide the bandwidth-delay product.
#[test]
fn thresholds_are_divided_by_the_active_queues() {
    let mut bench = Bench::new(3, &params());
    bench.fill(2, 1);
    bench.fill(1, HOP / 2 + 1);
    assert_eq!(bench.arrive(1), PAUSE_1);
}

/// A paused queue is not active, nor is an empty one. Under FS-A11's other reading every queue that is not paused is
/// active.
#[test]
fn literally_all_queues_that_are_not_paused_are_active() {
    let mut bench = Bench::new(5, &FlowSailParams { nactive_literal: true, ..params() });
    bench.fill(1, HOP / 5 + 1);
    assert_eq!(bench.arrive(1), PAUSE_1);
    let mut bench = Bench::new(5, &FlowSailParams { nactive_literal: true, ..params() });
    bench.pause(9);
    bench.fill(9, 1);
    bench.fill(1, HOP / 4 + 1);
    assert_eq!(bench.arrive(1), PAUSE_1);
}

/// Whether the switch flags the packet of flow 1 that raises the flow to `mine` of the `all` packets in the one normal
/// queue. The flow shares the queue with `flows` - 1 others.
fn flagged(flows: u64, mine: u64, all: u64, params: &FlowSailParams) -> bool {
    let mut bench = Bench::new(2, params);
    let others = all - mine;
    assert!(others + 1 >= flows && mine >= 2 && all > HOP + 1 && all <= 3 * HOP);
    for k in 0..others {
        bench.arrive(2 + (k % (flows - 1)) as u32);
    }
    for _ in 1..mine {
        bench.arrive(1);
    }
    let before = bench.record(1).unwrap().flagged;
    bench.arrive(1);
    bench.record(1).unwrap().flagged > before
}

/// Spec F.3: the shift is 0 for one flow, 1 for two, 2 for three and four, 3 for five to eight. A flow at its share is
/// within it; one packet more exceeds it. The queue and the flow include the arriving packet.
#[test]
fn the_fair_share_is_the_queue_over_a_power_of_two() {
    for (flows, shift) in [(2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 3), (8, 3)] {
        let all = 64;
        let share = all >> shift;
        assert!(!flagged(flows, share, all, &params()), "{flows} flows: at its share");
        assert!(flagged(flows, share + 1, all, &params()), "{flows} flows: above it");
        // FS-A10: without `strict_fair`, a flow at its share is flagged, too.
        let loose = FlowSailParams { strict_fair: false, ..params() };
        assert!(flagged(flows, share, all, &loose), "{flows} flows: at its share, not strict");
        assert!(!flagged(flows, share - 1, all, &loose), "{flows} flows: below it");
    }
}

/// Between Ql and Qh only flows above their share are paused; above Qh every flow is.
#[test]
fn above_qh_every_flow_is_paused() {
    let mut bench = Bench::new(2, &params());
    (0..2 * HOP).for_each(|_| _ = bench.arrive(1));
    assert_eq!(bench.arrive(2), None);
    (0..HOP).for_each(|_| _ = bench.arrive(1));
    assert!(matches!(bench.arrive(3), Some(ControlFrame::PauseFlow(name)) if name.flow == 3));
}

/// FS-A17 and the weighted share: flows of weight 3 and 1 in one queue have three quarters and one quarter.
#[test]
fn weights_divide_the_queue() {
    let weighted = FlowSailParams { weights: vec![3, 1], ..params() };
    for (class, mine, flags) in [(0, 30, false), (0, 31, true), (1, 10, false), (1, 11, true)] {
        let mut bench = Bench::new(2, &weighted);
        for _ in mine..40 {
            let other = Packet { class: 1 - class, ..packet(2, 0) };
            bench.switch.receive(bench.now, &other.into(), 0, EGRESS);
        }
        let mut flagged = Vec::new();
        for _ in 0..mine {
            let p = Packet { class, ..packet(1, 0) };
            bench.switch.receive(bench.now, &p.into(), 0, EGRESS);
            bench.check();
            let table = bench.switch.policy().table();
            flagged.push(table.find(EGRESS, p.flow_name()).map(|slot| table[slot].flagged));
        }
        let [.., before, after] = flagged[..] else { panic!("some packets") };
        assert_eq!(before < after, flags, "class {class}: {mine} of 40");
    }
}

// --- effects of a pause -------------------------------------------------------------------------------------------

/// FS-A4: with two congested flows in one queue, the first RESUME does not release it.
#[test]
fn the_first_of_two_resumes_does_not_release_the_queue() {
    let mut bench = Bench::new(2, &params());
    bench.fill(1, 2);
    bench.fill(2, 2);
    bench.pause(1);
    bench.pause(2);
    assert!(bench.drain().is_empty());
    bench.resume(1);
    assert!(bench.drain().is_empty(), "flow 2 is still paused, and so is the queue of both");
    bench.resume(2);
    assert_eq!(bench.drain(), [1, 1, 2, 2]);
}

/// F.8: the order is old packets, mark, new packets. The mark in front of the new packets waits for its twin.
#[test]
fn new_packets_wait_for_the_old_ones() {
    let mut bench = Bench::new(2, &params());
    bench.fill(1, 3);
    bench.pause(1);
    bench.fill(1, 2);
    bench.fill(2, 1);
    assert!(bench.drain().is_empty(), "the old packets of flow 1 hold its queue, and flow 2's packet with them");
    assert_eq!(bench.record(1).map(|r| (r.normal, r.isolated)), Some((3000, 2000)));
    bench.resume(1);
    let order: Vec<(u32, u32, QueueId)> = std::iter::from_fn(|| bench.send()).collect();
    let of_1: Vec<u32> = order.iter().filter(|(flow, ..)| *flow == 1).map(|(_, seq, _)| *seq).collect();
    assert_eq!(of_1, [1, 2, 3, 4, 5]);
    let queues: Vec<QueueId> = order.iter().filter(|(flow, ..)| *flow == 1).map(|(_, _, q)| *q).collect();
    assert_eq!(queues, [1, 1, 1, 0, 0]);
}

/// FS-A2: a RESUME arrives while the mark waits for its twin. FS-A3: another PAUSE arrives meanwhile. The order mark is
/// consumed once.
#[test]
fn a_resume_leaves_the_wait_for_the_mark_alone() {
    let mut bench = Bench::new(2, &params());
    bench.fill(1, 3);
    bench.pause(1);
    bench.fill(1, 1);
    bench.resume(1);
    // The mark in the isolation queue is consumed at once; the queue then waits for the other mark.
    assert!(bench.is(1, state::MARK_NORMAL) && !bench.is(1, state::MARK_ISOLATED));
    assert_eq!(bench.send().map(|sent| sent.2), Some(1));
    bench.pause(1);
    assert!(bench.drain().is_empty(), "the old packets of flow 1 are held again");
    bench.resume(1);
    bench.resume(1);
    assert!(bench.is(1, state::MARK_NORMAL), "there is no second pair of marks, and the queue still waits");
    let queues: Vec<QueueId> = std::iter::from_fn(|| bench.send()).map(|sent| sent.2).collect();
    assert_eq!(queues, [1, 1, 0]);
    assert!(!bench.is(1, state::MARK_NORMAL | state::MARK_ISOLATED));
}

/// F.6: a mark alone in a queue is consumed, although a scheduler looks only at queues with bytes.
#[test]
fn a_mark_alone_in_a_queue_is_consumed() {
    let mut bench = Bench::new(2, &params());
    bench.fill(1, 1);
    bench.pause(1);
    assert!(bench.is(1, state::MARK_ISOLATED), "a mark alone in the isolation queue");
    bench.resume(1);
    assert!(!bench.is(1, state::MARK_ISOLATED));
    assert_eq!(bench.drain(), [1]);
    assert!(!bench.is(1, state::MARK_NORMAL), "a mark alone in the normal queue, after the packet before it");
    bench.fill(2, 1);
    assert_eq!(bench.drain(), [2]);
}

/// FS-A15: a PAUSE for a flow without packets marks the flow, and its next packets are isolated.
#[test]
fn a_pause_without_packets_isolates_later_packets() {
    let mut bench = Bench::new(3, &params());
    bench.pause(1);
    bench.fill(1, 1);
    bench.fill(2, 1);
    assert_eq!(bench.drain(), [2]);
    bench.resume(1);
    assert_eq!(bench.drain(), [1]);
}

/// FS-A1: an isolation queue waits for the flow of its first packet. By the letter it waits for all of its flows, so
/// that flow 1, which is not paused, waits for flow 2.
#[test]
fn an_isolation_queue_waits_for_the_flow_of_its_first_packet() {
    for (hold, first, second) in [(Hold::Head, &[1, 1][..], &[2, 1][..]), (Hold::Any, &[], &[1, 1, 2, 1])] {
        let mut bench = Bench::new(3, &FlowSailParams { hold, ..params() });
        bench.pause(1);
        bench.pause(2);
        bench.resume(1);
        bench.fill(1, 2);
        bench.fill(2, 1);
        bench.fill(1, 1);
        assert_eq!(bench.drain(), first, "the packets before that of flow 2");
        bench.resume(2);
        assert_eq!(bench.drain(), second);
    }
}

/// A PAUSE for the flow of the first packet holds the queue at once; for another flow it does once a packet of that
/// flow is first.
#[test]
fn a_pause_of_a_flow_further_back_holds_the_queue_once_it_is_first() {
    let mut bench = Bench::new(3, &params());
    bench.pause(1);
    bench.pause(2);
    bench.fill(1, 2);
    bench.fill(2, 2);
    bench.resume(1);
    bench.resume(2);
    bench.pause(2);
    assert_eq!(bench.drain(), [1, 1]);
    bench.resume(2);
    assert_eq!(bench.send().map(|sent| sent.0), Some(2));
    bench.pause(2);
    assert!(bench.drain().is_empty());
}

/// A mark at the head of an isolation queue waits like a packet of its flow while the flow is paused, so nothing
/// overtakes it.
#[test]
fn a_mark_of_a_paused_flow_is_not_consumed() {
    let mut bench = Bench::new(3, &params());
    bench.fill(1, 1);
    bench.pause(1);
    bench.pause(2);
    bench.resume(2);
    bench.fill(2, 1);
    assert!(bench.is(1, state::MARK_ISOLATED));
    assert!(bench.drain().is_empty(), "flow 2 is behind the mark of flow 1");
    bench.resume(1);
    assert_eq!(bench.drain(), [1, 2]);
}

/// FS-A1: a flow is released two HRTT, 4 us, after its RESUME, however busy it is. Counted from its last packet, a flow
/// stays isolated while it sends, and a flow that sent nothing while paused is released at its RESUME.
#[test]
fn a_flow_is_released_two_hrtt_after_its_resume() {
    for release_from in [ReleaseFrom::Resume, ReleaseFrom::Touch] {
        let from_touch = release_from == ReleaseFrom::Touch;
        let mut bench = Bench::new(3, &FlowSailParams { release_from, ..params() });
        let queue_of_next = |bench: &mut Bench| {
            bench.fill(1, 1);
            bench.send().map(|sent| sent.2)
        };
        bench.pause(1);
        bench.fill(1, 1);
        bench.resume(1);
        assert_eq!(bench.send().map(|sent| sent.2), Some(0));
        for after in 1..=4 {
            bench.now += Duration::from_us(1);
            assert_eq!(queue_of_next(&mut bench), Some(0), "{after} us after its RESUME");
        }
        bench.now += Duration::from_us(1);
        assert_eq!(queue_of_next(&mut bench) == Some(0), from_touch, "5 us after its RESUME");

        let mut bench = Bench::new(3, &FlowSailParams { release_from, ..params() });
        bench.pause(1);
        bench.now += Duration::from_us(9);
        bench.resume(1);
        assert_eq!(queue_of_next(&mut bench) == Some(0), !from_touch, "paused for 9 us, just resumed");
    }
}

/// With [`Residue::Drain`] the old packets of a paused flow depart, and so do those of other flows behind them. New
/// packets of the flow are isolated and wait, in order.
#[test]
fn the_residue_of_a_paused_flow_may_drain() {
    for (residue, at_once, after) in [(Residue::Hold, &[][..], &[1, 1, 2, 1][..]), (Residue::Drain, &[1, 1, 2], &[1])] {
        let mut bench = Bench::new(2, &FlowSailParams { residue, ..params() });
        bench.fill(1, 2);
        bench.fill(2, 1);
        bench.pause(1);
        bench.fill(1, 1);
        assert_eq!(bench.drain(), at_once, "the contents of the normal queue");
        // Pause again, with the mark consumed or not.
        bench.pause(1);
        assert!(bench.drain().is_empty());
        bench.resume(1);
        let (flows, seqs): (Vec<u32>, Vec<u32>) =
            std::iter::from_fn(|| bench.send()).map(|(flow, seq, _)| (flow, seq)).unzip();
        assert_eq!(flows, after);
        assert!(seqs.is_sorted(), "{seqs:?}");
    }
}

/// A flow is paused again while its mark is in the normal queue: that queue still drains, and the isolation queue waits
/// for the flow and the mark.
#[test]
fn a_draining_flow_that_is_paused_again_keeps_its_order() {
    let mut bench = Bench::new(2, &FlowSailParams { residue: Residue::Drain, ..params() });
    bench.fill(1, 3);
    bench.pause(1);
    bench.fill(1, 1);
    assert_eq!(bench.send().map(|sent| (sent.1, sent.2)), Some((1, 1)));
    bench.resume(1);
    assert!(bench.is(1, state::MARK_NORMAL), "the twin is still queued, and the isolation queue waits for it");
    assert_eq!(bench.send().map(|sent| (sent.1, sent.2)), Some((2, 1)));
    bench.pause(1);
    assert_eq!(bench.send().map(|sent| (sent.1, sent.2)), Some((3, 1)));
    assert!(bench.drain().is_empty() && !bench.is(1, state::MARK_NORMAL));
    bench.resume(1);
    assert_eq!(bench.send().map(|sent| (sent.1, sent.2)), Some((4, 0)));
}

/// Algorithms 2 and 3: a flow is released as soon as it is resumed and has nothing isolated.
#[test]
fn without_a_release_time_a_resumed_flow_is_released_at_once() {
    let mut bench = Bench::new(3, &FlowSailParams { release: Some(Duration::ZERO), ..params() });
    bench.pause(1);
    bench.fill(1, 1);
    bench.resume(1);
    bench.now += Duration::from_ns(2);
    bench.fill(1, 1);
    assert_eq!(
        std::iter::from_fn(|| bench.send()).map(|sent| sent.2).collect::<Vec<_>>(),
        [0, 0],
        "the new packet follows the old one in the normal queue"
    );
    bench.fill(1, 1);
    assert_ne!(bench.send().map(|sent| sent.2), Some(0));
}

/// A pause that lapses counts as a RESUME: the two HRTT start there.
#[test]
fn a_pause_that_lapses_starts_the_time_of_release() {
    let mut bench = Bench::new(3, &params());
    bench.pause(1);
    bench.pass_time(Duration::from_us(30));
    assert!(!bench.is(1, state::PAUSED) && bench.is(1, state::CONGESTED));
    bench.now += Duration::from_us(4);
    bench.fill(1, 1);
    assert_eq!(bench.send().map(|sent| sent.2), Some(0));
    bench.pass_time(Duration::from_us(10));
    assert_eq!(bench.switch.policy().table().used(), 0, "the sweep released a flow that did not return");
}

/// Without repetition no pause lapses, and the sweep runs every two HRTT.
#[test]
fn without_repetition_resumed_flows_are_swept_too() {
    let mut bench = Bench::new(3, &FlowSailParams { refresh: Duration::ZERO, ..params() });
    bench.pause(1);
    bench.pass_time(Duration::from_us(100));
    assert!(bench.is(1, state::PAUSED));
    bench.resume(1);
    bench.pass_time(Duration::from_us(3));
    assert!(bench.is(1, state::CONGESTED));
    bench.pass_time(Duration::from_us(6));
    assert_eq!((bench.switch.policy().table().used(), bench.switch.next_timer()), (0, Instant::NEVER));
}

/// A full table evicts only records of flows that are due for release.
#[test]
fn a_full_table_evicts_flows_two_hrtt_after_their_resume() {
    let mut bench = Bench::new(3, &FlowSailParams { table_entries: 16, ..params() });
    for flow in 0..100 {
        bench.pause(flow);
        bench.resume(flow);
    }
    let full = bench.switch.policy().table().used();
    assert!(full > 12 && bench.switch.policy().table().refused() > 0);
    let newcomer = (0..100).find(|flow| bench.record(*flow).is_none()).unwrap();
    bench.now += Duration::from_us(3);
    bench.fill(newcomer, 1);
    assert!(bench.record(newcomer).is_none());
    bench.now += Duration::from_us(2);
    bench.fill(newcomer, 1);
    assert!(bench.record(newcomer).is_some());
    assert_eq!(bench.switch.isolated_flows(), full - 1);
}

/// F.7: a flow is released two HRTT after its RESUME and not before, and becomes congested again, over and over.
#[test]
fn released_and_congested_again() {
    let mut bench = Bench::new(3, &params());
    for _ in 0..50 {
        bench.pause(1);
        bench.fill(1, 2);
        assert!(bench.drain().is_empty());
        bench.resume(1);
        assert_eq!(std::iter::from_fn(|| bench.send()).map(|sent| sent.2).collect::<Vec<_>>(), [0, 0]);
        bench.now += Duration::from_us(3);
        bench.fill(1, 1);
        assert_eq!(bench.send().map(|sent| sent.2), Some(0), "still isolated");
        bench.now += Duration::from_us(5);
        bench.fill(1, 1);
        assert_eq!(bench.switch.isolated_flows(), 0, "released as the flow returned");
        // This time the flow has a packet in its normal queue.
        bench.pause(1);
        bench.fill(1, 1);
        bench.resume(1);
        assert_eq!(bench.drain(), [1, 1]);
        bench.pass_time(Duration::from_us(40));
        assert_eq!((bench.switch.isolated_flows(), bench.switch.policy().table().used()), (0, 0), "swept");
        assert_eq!(bench.switch.next_timer(), Instant::NEVER);
    }
}

/// Repeated frames change nothing. In the printed pseudo-code a repeated RESUME makes the count of holds negative, and
/// a repeated PAUSE stops the queue for ever (F.9).
#[test]
fn frames_once_too_often_change_nothing() {
    let mut bench = Bench::new(2, &params());
    bench.resume(1);
    bench.fill(1, 2);
    bench.resume(1);
    (0..3).for_each(|_| bench.pause(1));
    assert!(bench.drain().is_empty());
    bench.resume(1);
    assert_eq!(bench.drain(), [1, 1]);
    (0..3).for_each(|_| bench.resume(1));
    bench.fill(1, 2);
    assert_eq!(bench.drain(), [1, 1]);
}

/// After the loss of a RESUME the pause lapses three periods after its last repetition, and not before.
#[test]
fn a_pause_not_repeated_lapses() {
    let mut bench = Bench::new(2, &params());
    bench.fill(1, 2);
    bench.pause(1);
    bench.pass_time(Duration::from_us(20));
    bench.pause(1);
    bench.pass_time(Duration::from_us(29));
    assert!(bench.drain().is_empty());
    bench.pass_time(Duration::from_us(12));
    assert_eq!(bench.drain(), [1, 1]);
}

/// After the loss of a PAUSE it is repeated every period while packets are flagged, and no longer.
#[test]
fn a_pause_in_force_is_repeated() {
    let mut bench = Bench::new(2, &params());
    bench.fill(1, HOP + 1);
    assert_eq!(bench.arrive(1), PAUSE_1);
    for _ in 0..5 {
        bench.pass_time(Duration::from_us(10));
        assert_eq!(bench.frame(), PAUSE_1);
        assert_eq!(bench.frame(), None);
    }
    bench.drain();
    assert_eq!(bench.frame(), RESUME_1);
    bench.pass_time(Duration::from_us(100));
    assert_eq!(bench.frame(), None);
}

/// FS-A8: the isolation queue is checked against the thresholds like any other, so a pause propagates hop by hop.
#[test]
fn isolated_packets_pause_the_flow_further_up() {
    let mut bench = Bench::new(2, &params());
    bench.pause(1);
    // A paused queue is not active: with no active queue, the threshold is that of one.
    bench.fill(1, HOP + 1);
    assert_eq!(bench.arrive(1), PAUSE_1);
    bench.resume(1);
    bench.drain();
    assert_eq!(bench.frame(), RESUME_1);
}

/// Two queues suffice: one normal queue and one isolation queue.
#[test]
fn two_queues_are_enough() {
    let mut bench = Bench::new(2, &params());
    (1..=4).for_each(|flow| bench.fill(flow, 2));
    bench.pause(3);
    assert!(bench.drain().is_empty(), "all flows share the normal queue");
    bench.fill(3, 1);
    bench.resume(3);
    let mut left = bench.drain();
    left.sort_unstable();
    assert_eq!(left, [1, 1, 2, 2, 3, 3, 3, 4, 4]);
    // Once isolated, the flow no longer stops the others.
    bench.pause(3);
    bench.fill(3, 2);
    bench.fill(1, 2);
    assert_eq!(bench.drain(), [1, 1]);
    bench.resume(3);
    assert_eq!(bench.drain(), [3, 3]);
    bench.pass_time(Duration::from_us(40));
    assert_eq!(bench.switch.policy().table().used(), 0);
}

/// When the link of a paused flow fails the flow is released, since no RESUME can arrive.
#[test]
fn a_link_that_fails_releases_its_flows() {
    let mut bench = Bench::new(2, &params());
    bench.fill(1, 2);
    bench.pause(1);
    bench.fill(1, 1);
    let mut to_poll = Vec::new();
    bench.switch.link_down(bench.now, EGRESS, &mut to_poll);
    bench.check();
    assert_eq!(to_poll, [EGRESS]);
    assert_eq!(bench.drain(), [1, 1, 1]);
}

// --- flows without a record ---------------------------------------------------------------------------------------

/// With a full table packets take the queue chosen by a hash, in order whatever happens later.
#[test]
fn flows_without_a_record_keep_their_order() {
    let mut bench = Bench::new(5, &FlowSailParams { table_entries: 16, ..params() });
    for flow in 0..60 {
        bench.fill(flow, 1);
    }
    let table = bench.switch.policy().table();
    assert!(table.refused() > 0 && table.used() <= 16);
    let without: Vec<u32> = (0..60).filter(|flow| bench.record(*flow).is_none()).collect();
    bench.pause(without[0]);
    assert_eq!(bench.switch.isolated_flows(), 0, "the table has no room for its record");
    // The table has room again when other flows leave. A flow with packets from before its record may then be paused
    // too.
    let mut last = [0; 60];
    for round in 0..400 {
        if let Some((flow, seq, _)) = bench.send() {
            assert!(last[flow as usize] < seq, "flow {flow} is overtaken by itself");
            last[flow as usize] = seq;
        }
        let flow = without[round % without.len()];
        if round < 200 {
            bench.arrive(flow);
        }
        if round % 7 == 0 {
            bench.pause(flow);
        } else if round % 7 == 5 {
            without.iter().for_each(|flow| bench.resume(*flow));
        }
    }
    without.iter().for_each(|flow| bench.resume(*flow));
    while let Some((flow, seq, _)) = bench.send() {
        assert!(last[flow as usize] < seq, "flow {flow} is overtaken by itself");
        last[flow as usize] = seq;
    }
    bench.pass_time(Duration::from_us(100));
    assert_eq!(bench.switch.policy().table().used(), 0);
}

/// Flows with equal fingerprints are one flow: they are paused and resumed together.
#[test]
fn flows_of_one_fingerprint_are_one_flow() {
    let mut bench = Bench::new(4, &FlowSailParams { fingerprint_bits: 8, ..params() });
    let table = bench.switch.policy().table();
    let twin = (2..).find(|flow| table.fingerprint(*flow) == table.fingerprint(1)).unwrap();
    bench.fill(1, 1);
    bench.fill(twin, 1);
    assert_eq!(bench.switch.policy().table().used(), 1);
    bench.pause(twin);
    bench.fill(1, 1);
    assert!(bench.drain().is_empty());
    bench.resume(1);
    assert_eq!(bench.drain(), [1, twin, 1]);
}

// --- fs-fig6 ------------------------------------------------------------------------------------------------------

/// Control frames sent by a switch with policy `P`.
fn frames_sent<P: backwater_dataplane::Policy>(
    params: &P::Params,
    queues: u16,
    arrivals: &[(u32, u16)],
) -> Vec<ControlFrame> {
    let mut switch = Switch::<P>::new(&shape(queues), params);
    let mut frames = Vec::new();
    for (seq, (flow, upstream_queue)) in arrivals.iter().enumerate() {
        let p = Packet { upstream_queue: *upstream_queue, ..packet(*flow, seq as u32) };
        switch.receive(Instant(1), &p.into(), 0, EGRESS);
        switch.audit().unwrap();
        frames.extend(switch.transmit(Instant(1), 0).and_then(|sent| sent.packet.control()));
    }
    frames
}

/// Returns the sorted names of what these frames pause. `name` panics on frames of another kind.
fn paused<T: Ord>(frames: Vec<ControlFrame>, name: impl Fn(ControlFrame) -> T) -> Vec<T> {
    let mut names: Vec<T> = frames.into_iter().map(name).collect();
    names.sort_unstable();
    names
}

/// Four flows share a congested queue, and f1 and f4 have the most packets. f5 goes elsewhere and shares f4's queue
/// upstream. FlowSail and ideal flow control pause f1 and f4; BFC pauses the upstream queues of all five.
#[test]
fn only_the_flows_that_congest_a_queue_are_paused() {
    // Upstream, f1 has queue 1, f2 queue 2, f3 queue 3, and f4 and f5 share queue 4.
    let mut arrivals = Vec::new();
    for round in 0..24 {
        arrivals.extend([(1, 1), (4, 4)]);
        if round % 8 == 0 {
            arrivals.extend([(2, 2), (3, 3)]);
        }
    }
    arrivals.extend([(2, 2), (3, 3)]);
    let flow = |frame| match frame {
        ControlFrame::PauseFlow(name) => name.flow,
        other => panic!("{other:?}"),
    };
    let queue = |frame| match frame {
        ControlFrame::Pause(queue) => queue,
        other => panic!("{other:?}"),
    };
    assert_eq!(paused(frames_sent::<FlowSail<1>>(&params(), 2, &arrivals), flow), [1, 4]);
    // With a queue for each flow the bandwidth-delay product is divided by four.
    let ideal = PauseByFlowParams { threshold: 1.0, count_last: true, refresh: Duration::from_us(10) };
    assert_eq!(paused(frames_sent::<IdealFlowControl>(&ideal, 2, &arrivals), flow), [1, 4]);
    let bfc = BfcParams { fixed_threshold: Some(Bytes(HOP * PACKET)), ..BfcParams::default() };
    let frames = frames_sent::<Composed<Single<PausableQueues<1>>, Bfc>>(&((), bfc), 6, &arrivals);
    assert_eq!(paused(frames, queue), [1, 2, 3, 4], "so f5 waits in queue 4");
}

// --- at random ----------------------------------------------------------------------------------------------------

/// One switch with sixteen records and fingerprints of eight bits carries hundreds of flows of up to three classes.
/// Flows are paused and resumed at random, with repeated and lost frames. Every flow leaves in order, none leaves while
/// its pause is known, every step passes the recount, and in the end nothing is left.
fn crowd(seed: u64) -> Result<(), String> {
    let mut rng = Stream::new(seed, 1, 1);
    let mut below = move |n: u32| rng.next_u32() % n;
    let (groups, per_group) = (1 + below(3) as u16, 2 + below(3) as u16);
    let params = FlowSailParams {
        ql: 0.1,
        qh: 0.5,
        table_entries: 16,
        fingerprint_bits: [8, 9, 32][below(3) as usize],
        isolation_queues: 1 + (per_group > 2) as u16 * below(2) as u16,
        release: Some(Duration::from_us([0, 1, 50][below(3) as usize])),
        release_from: if below(2) == 0 { ReleaseFrom::Touch } else { ReleaseFrom::Resume },
        hold: if below(2) == 0 { Hold::Head } else { Hold::Any },
        residue: if below(3) == 0 { Residue::Drain } else { Residue::Hold },
        weights: if below(2) == 0 { vec![1, 2, 5] } else { Vec::new() },
        sketch: (below(4) == 0).then_some(SketchParams { rows: 2, columns: 16 }),
        ..params()
    };
    let shape = Shape { groups, salt: seed, ..shape(groups * per_group) };
    let mut switch = Switch::<FlowSail<1>>::new(&shape, &params);
    let (mut now, mut to_poll, mut held) = (Instant(1_000_000), Vec::new(), 0);
    let mut last = vec![0; 300];
    // By fingerprint and class: time of the last pause.
    let mut paused: BTreeMap<(u32, u8), Instant> = BTreeMap::new();
    let flows = 20 + below(280);
    for step in 1..=3000 {
        let flow = below(flows);
        let class = (flow % groups as u32) as u8;
        let named = FlowName { class, ..name(flow) };
        let key = (switch.policy().table().fingerprint(flow), class);
        let winding_up = step > 2500;
        match below(10) {
            0..4 if held < 60 && !winding_up => {
                switch.receive(now, &Packet { class, ..packet(flow, step) }.into(), (flow % 3) as PortId, EGRESS);
                held += 1;
            }
            0..7 => {
                if let Some(sent) = switch.transmit(now, EGRESS) {
                    let (flow, seq) = (sent.packet.flow, sent.packet.seq);
                    held -= 1;
                    if sent.packet.wire as u64 != PACKET {
                        return Err(format!("step {step}: {:?} is no packet of this test", sent.packet));
                    }
                    if std::mem::replace(&mut last[flow as usize], seq) > seq {
                        return Err(format!("step {step}: packet {seq} of flow {flow} is out of order"));
                    }
                    let at = paused.get(&(switch.policy().table().fingerprint(flow), sent.packet.class));
                    let residue = params.residue == Residue::Drain
                        && sent.queue.is_some_and(|q| q % per_group >= params.isolation_queues);
                    if !residue && at.is_some_and(|at| now < *at + Duration::from_us(29)) {
                        return Err(format!("step {step}: flow {flow} sends while paused"));
                    }
                }
                (0..3).for_each(|port| while switch.transmit(now, port).is_some() {});
            }
            7 if !winding_up => {
                switch.control(now, EGRESS, ControlFrame::PauseFlow(named));
                if switch.policy().table().find(EGRESS, named).is_some() {
                    paused.insert(key, now);
                }
            }
            8 => {
                switch.control(now, EGRESS, ControlFrame::ResumeFlow(named));
                paused.remove(&key);
            }
            _ => now += Duration(below(2_000_000) as u64),
        }
        while switch.next_timer() <= now {
            switch.timer(now, &mut to_poll);
        }
        switch.audit().map_err(|text| format!("step {step}: {text}"))?;
    }
    for _ in 0..40 {
        now += Duration::from_us(10);
        while switch.transmit(now, EGRESS).is_some() {
            held -= 1;
        }
        (0..3).for_each(|port| while switch.transmit(now, port).is_some() {});
        if switch.next_timer() <= now {
            switch.timer(now, &mut to_poll);
        }
        switch.audit()?;
    }
    let left = (held, switch.policy().table().used(), switch.isolated_flows(), switch.buffered());
    if left == (0, 0, 0, 0) { Ok(()) } else { Err(format!("{left:?} packets, records, isolated and bytes are left")) }
}

#[test]
fn a_crowd_of_flows_stays_in_order() {
    let failed: Vec<String> =
        (0..cases(60, 250)).filter_map(|seed| crowd(seed).err().map(|text| format!("seed {seed}: {text}"))).collect();
    assert!(failed.is_empty(), "{} fail: {:#?}", failed.len(), &failed[..failed.len().min(8)]);
}
