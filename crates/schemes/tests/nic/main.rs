//! Each NIC under a transport, from tables of parameters and without a simulator: the time at which each packet takes
//! the link.

mod software;

use backwater_dataplane::{Ecn, EcnAt, EcnOf, FlowSailParams, Spacing};
use backwater_nic::{Fifo, LeastLeft, List, Nic, Rings, Srpt, Throttled};
use backwater_schemes::{
    AckClass, AnyControl, Assignment, Backpressure, Conventions, Host, Hosts, Network, Switch, Transport as Name,
};
use backwater_transport::{
    Control, ExpressPass, ExpressPassHeader, GoBackN, GoBackNSender, Homa, HomaHeader, HomaLevels, Left, Site, Srf,
    Tcp, Transport,
};
use backwater_types::{BitsPerSec, Bytes, ControlFrame, Duration, FlowName, Instant, Kind, Packet, QueueMap, flags};
use software::{HOST, LAST_WIRE, PACKET, PEER, RATE, SoftwareNic};
use std::collections::BTreeSet;

/// A NIC of RDMA.
type Rdma<N> = SoftwareNic<N, GoBackN<AnyControl>>;

/// Tables of a scenario that a NIC is built from.
#[derive(Clone, Default)]
struct Tables {
    switch: Switch,
    host: Host,
    conventions: Conventions,
}

impl Tables {
    fn under(assignment: Assignment, backpressure: Backpressure) -> Tables {
        Tables { switch: Switch { assignment, backpressure, ..Switch::default() }, ..Tables::default() }
    }

    fn network(&self) -> Network<'_> {
        Network { host: &self.host, conventions: &self.conventions, seed: 1, stamps: false, fastest_nic: RATE }
    }

    fn site(&self) -> Site {
        Site {
            line_rate: RATE.0 as f64,
            window: u64::MAX,
            payload: self.host.payload.0,
            base_rtt: Duration::ZERO,
            int_unit: 1,
            whole: false,
            timer_events: false,
        }
    }

    /// Makes a NIC of RDMA, under the control that `host` names.
    fn rdma<N: Nic<GoBackNSender<AnyControl>>>(&self) -> Rdma<N> {
        let control = self.host.control(self.site()).expect("it is one");
        let network = self.network();
        SoftwareNic::new(&network, &self.switch, network.go_back_n::<AnyControl>(vec![control]))
    }

    fn rings(&self) -> Rdma<Rings> {
        self.rdma()
    }

    /// Makes the NIC of HPCC's simulator.
    fn list(&self) -> Rdma<List> {
        let mut tables = self.clone();
        tables.conventions.hosts = Hosts::HpccSim;
        tables.rdma()
    }

    /// Makes a NIC that serves the flow with the fewest packets left, under RDMA. All RDMA flows report no packets
    /// left, so they go one after another.
    fn srpt(&self) -> Rdma<Srpt> {
        self.rdma()
    }

    /// Makes a NIC that serves the flow with the fewest bytes left.
    fn least_left(&self) -> SoftwareNic<LeastLeft<Left>, GoBackN<Srf>> {
        let network = self.network();
        let params = Srf::at(&self.host.srf, self.site());
        SoftwareNic::new(&network, &self.switch, network.go_back_n::<Srf>(vec![params]))
    }

    /// Makes a NIC under TCP, which starts with ten segments.
    fn fifo(&self) -> SoftwareNic<Fifo, Tcp> {
        let mut tables = self.clone();
        tables.host.transport = Name::Tcp;
        let network = tables.network();
        SoftwareNic::new(&network, &tables.switch, network.tcp())
    }
}

/// A later frame that names a flow, and its arrival in us after the first.
type Later = (u64, fn(FlowName) -> ControlFrame);

/// Returns the time `packets` packet times after the start.
fn at(packets: u64) -> Instant {
    Instant(packets * PACKET.0)
}

/// Returns the middle of the transmission that starts `packets` packet times after the start.
fn amid(packets: u64) -> Instant {
    at(packets) + Duration(PACKET.0 / 2)
}

fn times<N: Nic<T::Sender>, T: Transport>(nic: &SoftwareNic<N, T>) -> Vec<Instant> {
    nic.sent.iter().map(|(at, _)| *at).collect()
}

fn flows<N: Nic<T::Sender>, T: Transport>(nic: &SoftwareNic<N, T>) -> Vec<u32> {
    nic.sent.iter().map(|(_, packet)| packet.flow).collect()
}

#[test]
fn a_pause_of_the_port_holds_a_flow_until_it_is_resumed_or_the_link_comes_up() {
    fn check<N: Nic<T::Sender>, T: Transport>(mut nic: SoftwareNic<N, T>) {
        let slot = nic.start(1, 0, 10);
        nic.run_to(amid(2));
        nic.control(ControlFrame::PfcPause(0));
        nic.run_to(amid(20));
        nic.control(ControlFrame::PfcResume(0));
        nic.run_to(at(22));
        nic.control(ControlFrame::PfcPause(0));
        nic.run_to(at(40));
        nic.link_up();
        nic.run_to(at(100));
        let after = |first: Instant, packets: u64| (0..packets).map(move |n| first + Duration(n * PACKET.0));
        let expected: Vec<Instant> = after(at(0), 3).chain(after(amid(20), 2)).chain(after(at(40), 5)).collect();
        assert_eq!(times(&nic), expected);
        assert_eq!(nic.busy_until, at(44) + Duration(80 * u64::from(LAST_WIRE)));
        for (seq, (_, packet)) in nic.sent.iter().enumerate() {
            let (last, wire) = if seq == 9 { (flags::LAST, LAST_WIRE) } else { (0, 1048) };
            let expected = Packet {
                flow: 1,
                seq: seq as u32,
                key: 11,
                sender_slot: slot,
                receiver_slot: 101,
                dst: PEER,
                src: HOST,
                wire,
                class: 1,
                kind: Kind::Data,
                flags: flags::ECT | last,
                ..Packet::NONE
            };
            assert_eq!(*packet, expected);
        }
        // The flow is fully acknowledged: its slot is free, and another flow gets it.
        assert!(nic.has(slot, 1));
        nic.arrive();
        assert!(!nic.has(slot, 1));
        assert_eq!(nic.start(2, 0, 1), slot);
        assert_eq!(nic.sent.last().map(|(at, packet)| (*at, packet.flow)), Some((at(100), 2)));
    }
    check(Tables::default().rings());
    check(Tables::default().list());
    check(Tables::default().fifo());
    check(Tables::default().srpt());
    check(Tables::default().least_left());
}

/// An application writes a datagram every second packet time. After a pause from 1 to 7, datagrams go back to back
/// until they have caught up.
#[test]
fn a_flow_with_a_pace_is_woken_for_it_and_catches_up_after_a_pause() {
    fn check<N: Nic<T::Sender>, T: Transport>(mut nic: SoftwareNic<N, T>) {
        let slot = nic.write(1, 1, 9, BitsPerSec(RATE.0 / 2));
        nic.run_to(at(1));
        nic.control(ControlFrame::PfcPause(0));
        nic.run_to(at(7));
        nic.control(ControlFrame::PfcResume(0));
        nic.run_to(at(100));
        let due = |k: u64| at(if k == 0 { 0 } else { (2 * k).max(7 + k - 1) });
        assert_eq!(times(&nic), (0..9).map(due).collect::<Vec<_>>());
        assert!(nic.sent.iter().all(|(_, packet)| packet.has(flags::DATAGRAM) && packet.receiver_slot == 1));
        assert!(!nic.has(slot, 1), "nothing acknowledges the last");
    }
    check(Tables::default().rings());
    check(Tables::default().list());
    check(Tables::default().fifo());
    check(Tables::default().srpt());
    check(Tables::default().least_left());
}

#[test]
fn bfc_pauses_queues_of_rings() {
    let mut tables = Tables::under(Assignment::Dynamic, Backpressure::Bfc);
    let run = |tables: &Tables| {
        let mut nic = tables.rings();
        nic.start(1, 0, 1000);
        nic.start(2, 0, 1000);
        nic.run_to(amid(5));
        let [first, second] = [0, 1].map(|k: usize| nic.sent[k].1.upstream_queue);
        nic.control(ControlFrame::Pause(first));
        nic.run_to(amid(9));
        nic.control(ControlFrame::Resume(first));
        nic.run_to(amid(13));
        nic.control(ControlFrame::Bitmap(QueueMap::new([1 << second, 0])));
        nic.run_to(amid(17));
        nic.control(ControlFrame::Bitmap(QueueMap::default()));
        nic.run_to(amid(19));
        nic.control(ControlFrame::Bitmap(QueueMap::new([1 << first | 1 << second, 0])));
        nic.run_to(amid(30));
        nic.control(ControlFrame::Resume(second));
        nic.run_to(at(32));
        let queues: Vec<u16> = nic.sent.iter().map(|(_, packet)| packet.upstream_queue).collect();
        assert_eq!(queues, flows(&nic).iter().map(|flow| if *flow == 1 { first } else { second }).collect::<Vec<_>>());
        assert_ne!(first, second);
        (times(&nic), flows(&nic))
    };
    let (when, who) = run(&tables);
    assert_eq!(when, (0..20).map(at).chain([amid(30), amid(31)]).collect::<Vec<_>>());
    assert_eq!(who, [1, 2, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 1, 2, 1, 1, 1, 1, 2, 1, 2, 2]);
    tables.switch.bfc.nic_obeys = false;
    let (when, who) = run(&tables);
    assert_eq!(when, (0..=32).map(at).collect::<Vec<_>>());
    assert_eq!(who, (0..=32).map(|k| 1 + k % 2).collect::<Vec<_>>());
}

#[test]
fn flowsail_pauses_flows_of_rings_by_name() {
    let mut tables = Tables::under(Assignment::Flowsail, Backpressure::Flowsail);
    let run = |tables: &Tables| {
        let mut nic = tables.rings();
        nic.start(1, 0, 1000);
        nic.start(2, 0, 1000);
        nic.run_to(amid(3));
        let name = nic.sent[0].1.flow_name();
        nic.control(ControlFrame::PauseFlow(name));
        nic.run_to(amid(6));
        nic.control(ControlFrame::PauseFlow(FlowName { flow: 9, slot: nic.sent[2].1.sender_slot, ..name }));
        nic.control(ControlFrame::ResumeFlow(name));
        nic.run_to(amid(10));
        assert_eq!(times(&nic), (0..=10).map(at).collect::<Vec<_>>());
        flows(&nic)
    };
    // The first packet goes before the second flow starts. Back in the ring the first flow is behind the second.
    assert_eq!(run(&tables), [1, 1, 2, 1, 2, 2, 2, 2, 1, 2, 1]);
    tables.switch.flowsail.nic_obeys = false;
    assert_eq!(run(&tables), [1, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
}

/// Pauses are repeated every 10 us, and lapse 30 us after the last.
#[test]
fn a_pause_by_name_that_is_not_repeated_lapses() {
    let mut tables = Tables::under(Assignment::Flowsail, Backpressure::Flowsail);
    tables.switch.flowsail = FlowSailParams { refresh: Duration::from_us(10), ..tables.switch.flowsail };
    let pause = amid(2);
    let us = |us: u64| pause + Duration::from_us(us);
    // Returns the next send time of a flow that was paused at 0 us and received `frames`.
    let resumed = |tables: &Tables, frames: &[Later]| {
        let mut nic = tables.rings();
        nic.start(1, 0, 1_000_000);
        nic.run_to(pause);
        let name = nic.sent[0].1.flow_name();
        nic.control(ControlFrame::PauseFlow(name));
        for (at, frame) in frames {
            nic.run_to(us(*at));
            nic.control(frame(name));
        }
        nic.run_to(us(1_000));
        assert_eq!(times(&nic)[..3], [at(0), at(1), at(2)]);
        times(&nic).get(3).copied()
    };
    let (hold, go): (fn(_) -> _, fn(_) -> _) = (ControlFrame::PauseFlow, ControlFrame::ResumeFlow);
    assert_eq!(resumed(&tables, &[]), Some(us(30)));
    assert_eq!(resumed(&tables, &[(10, hold), (20, hold)]), Some(us(50)));
    assert_eq!(resumed(&tables, &[(17, go)]), Some(us(17)));
    tables.switch.flowsail.refresh = Duration::ZERO;
    assert_eq!(resumed(&tables, &[]), None, "where none is repeated, none lapses");
    assert_eq!(resumed(&tables, &[(400, go)]), Some(us(400)));
}

#[test]
fn a_flow_paused_again_lapses_by_its_last_pause_and_a_link_that_comes_up_lets_it_go() {
    let mut nic = Tables::under(Assignment::Flowsail, Backpressure::Flowsail).rings();
    nic.start(1, 0, 1_000_000);
    let name = nic.sent[0].1.flow_name();
    let us = |us: u64| at(0) + Duration::from_us(us);
    let count = |end: u64| us(end).0.div_ceil(PACKET.0) as usize;
    nic.run_to(us(1));
    nic.control(ControlFrame::PauseFlow(name));
    nic.run_to(us(5));
    assert_eq!(nic.sent.len(), count(1));
    nic.control(ControlFrame::ResumeFlow(name));
    nic.run_to(us(6));
    nic.control(ControlFrame::PauseFlow(name));
    let sent = nic.sent.len();
    assert_eq!(sent, count(1) + count(1));
    nic.run_to(us(35));
    assert_eq!(nic.sent.len(), sent, "the first pause would have lapsed at 31 us");
    nic.run_to(us(36));
    assert_eq!(nic.sent[sent..].iter().map(|(at, _)| *at).collect::<Vec<_>>(), [us(36)]);
    nic.control(ControlFrame::PauseFlow(name));
    nic.run_to(us(40));
    assert_eq!(nic.sent.len(), sent + 1);
    nic.link_up();
    assert_eq!(nic.sent.last().map(|(at, _)| *at), Some(us(40)));
}

#[test]
fn rings_serve_groups_of_queues_in_strict_priority() {
    let mut tables = Tables::under(Assignment::Flowsail, Backpressure::Flowsail);
    tables.switch.priority_groups = 2;
    let mut nic = tables.rings();
    nic.start(1, 0, 6);
    nic.run_to(amid(1));
    nic.start(2, 1, 3);
    nic.run_to(at(20));
    assert_eq!(flows(&nic), [1, 1, 2, 2, 2, 1, 1, 1, 1]);
    assert!(nic.sent.iter().all(|(_, packet)| packet.upstream_queue == u16::from(packet.class)));
}

/// BFC has eight queues in four groups. A pause by number stops only its queue, which belongs to one class. The highest
/// class that may send goes first.
#[test]
fn bfc_pauses_queues_of_a_nic_whose_classes_have_their_own() {
    let mut tables = Tables::under(Assignment::Dynamic, Backpressure::Bfc);
    (tables.switch.queues, tables.switch.priority_groups, tables.switch.bfc.extra_control_queue) = (8, 4, true);
    let mut nic = tables.rings();
    nic.start(1, 3, 9);
    nic.run_to(amid(1));
    nic.start(2, 0, 9);
    nic.start(3, 0, 9);
    nic.run_to(amid(4));
    nic.control(ControlFrame::Pause(2));
    nic.run_to(amid(6));
    nic.control(ControlFrame::Bitmap(QueueMap::new([1 << 2 | 1 << 3, 0])));
    nic.run_to(amid(7));
    nic.control(ControlFrame::Bitmap(QueueMap::default()));
    nic.run_to(at(11));
    assert_eq!(flows(&nic), [1, 1, 2, 3, 2, 3, 3, 1, 2, 3, 2, 3]);
    let queues: BTreeSet<_> = nic.sent.iter().map(|(_, packet)| (packet.flow, packet.upstream_queue)).collect();
    assert_eq!(queues, [(1, 6), (2, 2), (3, 3)].into());
    assert_eq!(times(&nic), (0..12).map(at).collect::<Vec<_>>(), "the link is never idle");
}

/// NICs at a switch with several FIFOs have as many classes.
#[test]
fn rings_serve_the_classes_of_fifos_in_strict_priority() {
    for (assignment, backpressure) in [
        (Assignment::Single, Backpressure::Pfc),
        (Assignment::Stochastic, Backpressure::None),
        (Assignment::Dynamic, Backpressure::Pfc),
    ] {
        let mut tables = Tables::under(assignment, backpressure);
        tables.switch.priority_groups = 3;
        let mut nic = tables.rings();
        nic.start(1, 2, 4);
        nic.run_to(amid(1));
        nic.start(2, 0, 2);
        nic.run_to(amid(2));
        nic.start(3, 1, 2);
        nic.run_to(at(20));
        assert_eq!(flows(&nic), [1, 1, 2, 3, 3, 2, 1, 1]);
    }
}

/// Pairs take turns by their place in the list; a search starts behind the place of the last sender.
#[test]
fn the_pairs_of_a_list_take_turns() {
    let mut nic = Tables::default().list();
    (1..=3).for_each(|id| _ = nic.start(id, 0, 3));
    nic.run_to(at(20));
    assert_eq!(flows(&nic), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

/// The shortest message goes first. A flow that starts later may go in between, and retransmissions go before the rest
/// of their message.
#[test]
fn the_message_with_the_least_left_goes_first() {
    let tables = Tables::default();
    let levels = HomaLevels { levels: 8, cutoffs: vec![] };
    let mut nic: SoftwareNic<Srpt<HomaHeader>, Homa> =
        SoftwareNic::new(&tables.network(), &tables.switch, tables.network().homa(1 << 20, levels));
    nic.start(1, 0, 8);
    nic.start(2, 0, 5);
    nic.run_to(amid(2));
    nic.start(3, 0, 3);
    nic.start(4, 0, 3);
    nic.run_to(at(40));
    // The first packet goes before the second message starts. Among messages with equally many packets left, the first
    // to start goes first.
    assert_eq!(flows(&nic), [1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1]);
}

/// Flows go by remaining bytes, which packets carry. The last packet of each flow has 500 B of payload. Retransmissions
/// count as remaining again.
#[test]
fn the_flow_with_the_fewest_bytes_left_goes_first_and_says_so() {
    let mut nic = Tables::default().least_left();
    nic.start(1, 0, 8);
    nic.start(2, 0, 5);
    nic.run_to(amid(2));
    nic.start(3, 0, 3);
    nic.start(4, 0, 3);
    nic.run_to(at(40));
    // The first packet goes before the second flow starts. Among flows with equally many bytes left, the first to start
    // goes first.
    assert_eq!(flows(&nic), [1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1]);
}

/// Expects a flow of a paused queue not to be sent, however few bytes it has left. Flows behind it go in order.
#[test]
fn bfc_pauses_queues_of_a_nic_that_goes_by_what_is_left() {
    let mut tables = Tables::under(Assignment::Dynamic, Backpressure::Bfc);
    tables.switch.queues = 4;
    let run = |tables: &Tables| {
        let mut nic = tables.least_left();
        (1..=3).for_each(|flow| _ = nic.start(flow, 0, 1000 * flow));
        nic.run_to(amid(1));
        let first = nic.sent[0].1.upstream_queue;
        nic.control(ControlFrame::Pause(first));
        nic.run_to(amid(6));
        let second = nic.sent[2].1.upstream_queue;
        nic.control(ControlFrame::Bitmap(QueueMap::new([1 << first | 1 << second, 0])));
        nic.run_to(amid(9));
        nic.control(ControlFrame::Resume(first));
        nic.run_to(amid(19));
        nic.control(ControlFrame::Bitmap(QueueMap::new([0b111, 0])));
        nic.run_to(amid(25));
        nic.link_up();
        nic.run_to(at(27));
        assert!(nic.sent.iter().all(|(_, packet)| (packet.upstream_queue == first) == (packet.flow == 1)));
        (times(&nic), flows(&nic))
    };
    let (when, who) = run(&tables);
    assert_eq!(who[..10], [1, 1, 2, 2, 2, 2, 2, 3, 3, 3]);
    assert_eq!(who[10..], [1; 12], "the second is paused still, then all are until the link comes up");
    assert_eq!(when, (0..20).map(at).chain([amid(25), amid(26)]).collect::<Vec<_>>());
    tables.switch.bfc.nic_obeys = false;
    assert_eq!(run(&tables).1, [1; 28]);
}

#[test]
fn replies_go_first_unless_they_are_in_the_class_of_data() {
    /// Returns the send times of two replies: one queued during the second of five packets, one at 20 under a pause
    /// until 30.
    fn replies<N: Nic<T::Sender>, T: Transport>(mut nic: SoftwareNic<N, T>) -> [Instant; 2] {
        let reply = |seq| Packet { kind: Kind::Ack, seq, wire: 64, dst: PEER, src: HOST, ..Packet::NONE };
        nic.start(1, 0, 5);
        nic.run_to(amid(1));
        nic.reply(reply(0));
        nic.run_to(at(10));
        nic.control(ControlFrame::PfcPause(0));
        nic.run_to(at(20));
        nic.reply(reply(1));
        nic.run_to(at(30));
        nic.control(ControlFrame::PfcResume(0));
        nic.run_to(at(40));
        let replies: Vec<_> = nic.sent.iter().filter(|(_, packet)| packet.kind == Kind::Ack).collect();
        assert_eq!((replies.len(), replies[0].1.seq, replies[1].1.seq), (2, 0, 1));
        assert_eq!(nic.sent.len(), 7);
        [replies[0].0, replies[1].0]
    }
    let (high, mut data) = (Tables::default(), Tables::default());
    data.conventions.acks = AckClass::Data;
    data.host.ack_class = AckClass::Data;
    assert_eq!(replies(high.rings()), [at(2), at(20)]);
    assert_eq!(replies(high.list()), [at(2), at(20)]);
    assert_eq!(replies(high.fifo()), [at(2), at(20)]);
    assert_eq!(replies(high.srpt()), [at(2), at(20)]);
    assert_eq!(replies(high.least_left()), [at(2), at(20)]);
    assert_eq!(replies(data.rings()), [at(2), at(30)]);
    assert_eq!(replies(data.list()), [at(2), at(30)]);
    assert_eq!(replies(data.fifo()), [at(4) + Duration(80 * u64::from(LAST_WIRE)), at(30)]);
}

#[test]
fn a_fifo_drops_what_it_has_no_room_for_and_goes_on_with_the_window() {
    let mut tables = Tables::default();
    tables.host.nic_buffer = Bytes(5 * 1048);
    let mut nic = tables.fifo();
    nic.start(1, 0, 10);
    nic.run_to(at(20));
    let (sent, dropped) = (&nic.sent, &nic.dropped);
    assert_eq!(
        sent.iter().map(|(at, packet)| (*at, packet.seq)).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4].map(|k| (at(k), k as u32))
    );
    assert_eq!(dropped.iter().rev().map(|packet| packet.seq).collect::<Vec<_>>(), [5, 6, 7, 8, 9]);

    // With room, each acknowledgement in slow start releases two more: 10, then 20.
    let mut nic = Tables::default().fifo();
    nic.start(1, 0, 30);
    nic.run_to(at(20));
    assert_eq!(times(&nic), (0..10).map(at).collect::<Vec<_>>());
    nic.arrive();
    nic.run_to(at(50));
    assert_eq!(times(&nic)[10..], (20..40).map(at).collect::<Vec<_>>());
}

/// Ten packets wait; a packet is marked if more than three stay behind it. The thresholds are those of its link's rate.
#[test]
fn a_fifo_that_marks_does_so_as_the_switch_at_its_rate() {
    let mut tables = Tables::default();
    let (kmin, kmax) = (Bytes(3 * 1048), Bytes(3 * 1048));
    tables.switch.ecn = Some(Ecn {
        kmin: Bytes(1 << 30),
        kmax: Bytes(1 << 30),
        pmax: 1.0,
        of: EcnOf::Queue,
        spacing: Spacing::Plain,
        queues: Vec::new(),
        by_rate: vec![EcnAt { rate: RATE, kmin, kmax, pmax: 1.0 }],
    });
    let marked = |tables: &Tables| {
        let mut nic = tables.fifo();
        nic.start(1, 0, 10);
        nic.run_to(at(20));
        assert_eq!(nic.sent.len(), 10);
        nic.sent.iter().filter(|(_, packet)| packet.has(flags::CE)).map(|(_, packet)| packet.seq).collect::<Vec<_>>()
    };
    assert!(marked(&tables).is_empty());
    tables.host.nic_marks = true;
    assert_eq!(marked(&tables), [0, 1, 2, 3, 4, 5]);
}

/// Thirty credits arrive at once. One goes, eight wait, and the rest are dropped. The bucket lets two go at once, and
/// then one per packet that the way back can take. The share of a credit and its packet is (1048 + 84) x 80 ps. Data
/// goes in between.
#[test]
fn credits_wait_for_their_time_and_data_goes_between_them() {
    const EACH: u64 = 1132 * 80;
    let mut tables = Tables::default();
    tables.host.transport = Name::Expresspass;
    let network = tables.network();
    let transport = network.expresspass([RATE; 8].into_iter());
    let mut nic: SoftwareNic<Throttled<Fifo<ExpressPassHeader>, ExpressPassHeader>, ExpressPass> =
        SoftwareNic::new(&network, &tables.switch, transport);
    let reply = |kind: Kind, seq: u32| Packet { kind, seq, wire: 84, dst: PEER, src: HOST, ..Packet::NONE };
    (0..30).for_each(|seq| nic.reply(reply(Kind::Credit, seq)));
    assert_eq!(nic.dropped.iter().map(|packet| packet.seq).collect::<Vec<_>>(), (9..30).collect::<Vec<_>>());
    nic.run_to(Instant(3 * EACH + EACH / 2));
    let credits = |nic: &SoftwareNic<_, ExpressPass>| -> Vec<(u64, u32)> {
        let sent = nic.sent.iter().filter(|(_, packet)| packet.kind == Kind::Credit);
        sent.map(|(at, packet)| (at.0, packet.seq)).collect()
    };
    let near = |(at, seq): (u64, u32), exact: u64| at.abs_diff(exact) <= seq as u64;
    let alone = credits(&nic);
    assert_eq!(alone[..2], [(0, 0), (84 * 80, 1)]);
    assert!(alone.len() == 5 && alone[2..].iter().all(|one| near(*one, (one.1 as u64 - 1) * EACH)), "{alone:?}");
    // Replies of other kinds do not wait for the bucket, and data goes while credits wait.
    nic.write(1, 1, 9, RATE);
    nic.reply(reply(Kind::Ack, 7));
    nic.run_to(Instant(20 * EACH));
    let kinds: Vec<Kind> = nic.sent.iter().skip(5).map(|(_, packet)| packet.kind).collect();
    assert_eq!(kinds[..4], [Kind::Data, Kind::Ack, Kind::Credit, Kind::Data], "{kinds:?}");
    let all = credits(&nic);
    assert_eq!((all.len(), kinds.iter().filter(|kind| **kind == Kind::Data).count()), (9, 9));
    for one in &all[5..] {
        let due = (one.1 as u64 - 1) * EACH;
        assert!(one.0 + 9 >= due && one.0 <= due + 2 * PACKET.0, "{one:?} was due at {due}");
    }
}
