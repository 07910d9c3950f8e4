//! Tests the model of the public HPCC simulator against times computed by hand.
//!
//! Each test prints its results: `cargo test --release -p backwater-sim --test engine hpcc_model -- --nocapture`.

use crate::common::hpcc_model::{Cc, Config, Ecn, FlowSpec, Link, Net, Order, Outcome, murmur3, run, transmission_ns};

const GBPS: u64 = 1_000_000_000;
const NEVER: u64 = u64::MAX;

fn flow(src: u32, dst: u32, bytes: u64, start_ns: u64) -> FlowSpec {
    FlowSpec { src, dst, bytes, start_ns, dport: 100, pg: 3 }
}

fn link(a: u32, b: u32) -> Link {
    Link { a, b, rate: 100 * GBPS, delay_ns: 1000 }
}

/// Returns a dumbbell: hosts `0..left`, host `left`, then their switches. The link between switches is the last of the
/// list.
fn dumbbell(left: u32) -> Net {
    let switches = vec![left + 1, left + 2];
    let mut links: Vec<Link> = (0..left).map(|host| link(host, left + 1)).collect();
    links.push(link(left, left + 2));
    links.push(link(left + 1, left + 2));
    Net { nodes: left + 3, switches, links }
}

/// Returns hosts `0..hosts` on one switch.
fn star(hosts: u32) -> Net {
    Net { nodes: hosts + 1, switches: vec![hosts], links: (0..hosts).map(|host| link(host, hosts)).collect() }
}

fn line_rate() -> Config {
    Config {
        cc: Cc::LineRate,
        ack_high_prio: false,
        buffer: 12 << 20,
        ecn: Vec::new(),
        payload: 1000,
        order: Order::Scheduled,
        lose: Vec::new(),
        down: None,
        loss: 0.0,
        loss_of: Vec::new(),
        ack_from: 1,
        ack_chunk: 4000,
        rate_bound: true,
    }
}

fn dctcp() -> Config {
    Config {
        cc: Cc::Dctcp { g: 1.0 / 16.0, ai: 961_000_000, min_rate: GBPS, var_win: true, has_win: true },
        ecn: vec![Ecn { rate: 100 * GBPS, kmin: 300_000, kmax: 300_000, pmax: 1.0 }],
        ..line_rate()
    }
}

fn completions(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|flow| flow.fct_ns.expect("it finishes")).collect()
}

#[test]
fn a_lone_flow_takes_what_the_formula_says() {
    for (name, config) in [("line rate", line_rate()), ("dctcp", dctcp())] {
        let outcome = run(&dumbbell(1), &[flow(0, 1, 10_000_000, 0)], &config, NEVER);
        println!("{name}: {outcome:?}");
        assert_eq!(outcome.flows[0].fct_ns, Some(10_000 * 83 + 2 * 83 + 3 * 1000 + 3 * 4 + 3 * 1000));
        assert_eq!(outcome.flows[0].standalone_ns, 2 * 3000 + 3 * 80 + 10_480_000 * 8 / 100);
    }
}

/// Expects the shared port never to be idle. The last of 20 000 packets ends its flow at 20 000 * 83 + 2 * 83 + 3000 +
/// 3012 ns, and that flow started 100 us later.
///
/// The first flow has sent 1205 packets (100 us / 83 ns, rounded up) before the second starts, and then the flows
/// alternate. Its last packet is therefore packet 10 000 + 8795 at that port.
///
/// At line rate, pauses hold the senders back in turn. Under DCTCP, ACKs do so: two windows of 78 000 B never fill the
/// queue to the marking threshold, so DCTCP sends as fast as it may, too.
#[test]
fn two_flows_share_a_link() {
    for (name, config) in [("line rate", line_rate()), ("dctcp", dctcp())] {
        let flows = [flow(0, 2, 10_000_000, 0), flow(1, 2, 10_000_000, 100_000)];
        let outcome = run(&dumbbell(2), &flows, &config, NEVER);
        println!("{name}: {:?} ns, {} pauses, {} drops", completions(&outcome), outcome.pauses, outcome.drops);
        let ends = |packets: u64| (packets + 2) * 83 + 3000 + 3 * (4 + 1000);
        assert_eq!([ends(18_795), ends(20_000) - 100_000], [1_566_163, 1_566_178]);
        assert_eq!(completions(&outcome), [1_566_163, 1_566_178]);
        assert_eq!(outcome.drops, 0);
    }
}

/// Expects the last of 3200 packets to end its flow after 83 + 1000 + 3200 * 83 + 1000 ns out and 2 * (4 + 1000) ns
/// back. At line rate the packets of 16 senders alternate, and flows end one packet apart. Under DCTCP the first flow
/// is 12 packets ahead by then.
#[test]
fn sixteen_flows_meet_at_one_port() {
    for (name, config) in [("line rate", line_rate()), ("dctcp", dctcp())] {
        let flows: Vec<FlowSpec> = (0..16).map(|host| flow(host, 16, 200_000, 0)).collect();
        let times = completions(&run(&star(17), &flows, &config, NEVER));
        println!("{name}: {times:?} ns");
        let last = 83 + 1000 + 3200 * 83 + 1000 + 2 * (4 + 1000);
        assert_eq!(last, 269_691);
        let turns: Vec<u64> = (0..16).map(|place| last - (15 - place) * 83).collect();
        assert_eq!(turns[0], 268_446);
        if let Cc::LineRate = config.cc {
            assert_eq!(times, turns);
        } else {
            assert_eq!(times.iter().min(), Some(&267_450));
            assert_eq!(times.iter().max(), Some(&last));
        }
    }
}

/// Expects packet 0 of the first flow to leave before the second flow starts; then they alternate.
#[test]
fn a_host_serves_its_flows_in_turn() {
    let outcome = run(&star(3), &[flow(0, 1, 100_000, 0), flow(0, 2, 100_000, 0)], &line_rate(), NEVER);
    println!("{:?} ns", completions(&outcome));
    assert_eq!(completions(&outcome), [199 * 83 + 83 + 4008, 200 * 83 + 83 + 4008]);
}

/// Time from a packet's arrival to the arrival of its answer, 3012 ns.
const ANSWER: u64 = 3 * (4 + 1000);

/// Arrival time of a packet sent in slot `slot`, ns: `83 (slot + 3) + 3000`, as a slot takes 83 ns.
fn reached(slot: u64) -> u64 {
    83 * (slot + 3) + 3000
}

/// Packet 100 is lost. Packet 101 causes a NACK, and the first slot after the NACK's arrival starts again with packet
/// 100.
#[test]
fn a_sender_goes_back_to_what_was_lost() {
    for (name, config) in [("line rate", line_rate()), ("dctcp", dctcp())] {
        let config = Config { lose: vec![(0, 100_000)], ..config };
        let outcome = run(&dumbbell(1), &[flow(0, 1, 1_000_000, 0)], &config, NEVER);
        println!("{name}: {outcome:?}");
        let again = (reached(101) + ANSWER).div_ceil(83);
        assert_eq!(completions(&outcome), [reached(again + 899) + ANSWER]);
        assert_eq!((outcome.nacks, outcome.drops), (1, 0));
    }
}

/// Packet 100 is lost twice. Packets after its second loss get no NACK until 500 us after the first one.
#[test]
fn a_second_nack_waits() {
    let config = Config { lose: vec![(0, 100_000); 2], ..line_rate() };
    let outcome = run(&dumbbell(1), &[flow(0, 1, 10_000_000, 0)], &config, NEVER);
    println!("{outcome:?}");
    let late = (reached(101) + 500_000 - reached(0)).div_ceil(83);
    let again = (reached(late) + ANSWER).div_ceil(83);
    assert_eq!(completions(&outcome), [reached(again + 9899) + ANSWER]);
    assert_eq!(outcome.nacks, 2);

    // This flow has nothing left to send by then, and no timer.
    let outcome = run(&dumbbell(1), &[flow(0, 1, 1_000_000, 0)], &config, NEVER);
    println!("{outcome:?}");
    assert_eq!((outcome.flows[0].fct_ns, outcome.nacks), (None, 1));
}

/// Expects no NACK, since no packet follows the lost last one.
#[test]
fn a_lost_tail_stalls_its_flow() {
    for (name, config) in [("line rate", line_rate()), ("dctcp", dctcp())] {
        let config = Config { lose: vec![(0, 999_000)], ..config };
        let outcome = run(&dumbbell(1), &[flow(0, 1, 1_000_000, 0)], &config, NEVER);
        println!("{name}: {outcome:?}");
        assert_eq!((outcome.flows[0].fct_ns, outcome.nacks), (None, 0));
    }
}

/// Four senders are paused again and again. Their shared port is never idle, so the last flow ends when 16 000 packets
/// have passed.
#[test]
fn pauses_keep_packets_from_being_dropped() {
    let flows: Vec<FlowSpec> = (0..4).map(|host| flow(host, 4, 4_000_000, 0)).collect();
    let outcome = run(&star(5), &flows, &line_rate(), NEVER);
    println!("{outcome:?}");
    assert_eq!(completions(&outcome).into_iter().max(), Some(83 + 1000 + 16_000 * 83 + 1000 + 2 * (4 + 1000)));
    assert!(outcome.pauses > 4 && outcome.drops == 0);

    // Links of 10 ns get a headroom of 375 B, less than the packet in flight when a pause is sent.
    let mut net = star(5);
    net.links.iter_mut().for_each(|link| link.delay_ns = 10);
    let outcome = run(&net, &flows, &line_rate(), 100_000_000);
    println!("{outcome:?}");
    assert!(outcome.pauses > 4 && outcome.drops > 0 && outcome.nacks > 0);
}

/// Hosts 0 and 1, leaves 2 and 3, spines 4 and 5. Links of spine 5 take 2000 ns, so the completion time of a one-packet
/// flow shows the paths of packet and ACK. The last spine is the first choice.
#[test]
fn a_route_is_chosen_by_hash() {
    let delays = [(0, 2, 1000), (1, 3, 1000), (2, 4, 1000), (2, 5, 2000), (3, 4, 1000), (3, 5, 2000)];
    let links = delays.map(|(a, b, delay_ns)| Link { a, b, rate: 100 * GBPS, delay_ns }).to_vec();
    let net = Net { nodes: 6, switches: vec![2, 3, 4, 5], links };
    let mut seen = std::collections::BTreeMap::new();
    for dport in 0..100 {
        let outcome = run(&net, &[FlowSpec { dport, ..flow(0, 1, 1000, 0) }], &line_rate(), NEVER);
        let (host0, host1, sport, dport) = (0x0b00_0001, 0x0b00_0101, 10_000, u32::from(dport));
        let spine = |choice: u32| [2000, 1000][choice as usize % 2];
        let there = 4 * 83 + 2000 + 2 * spine(murmur3(&[host0, host1, sport | dport << 16], 2));
        let back = 4 * 4 + 2000 + 2 * spine(murmur3(&[host1, host0, dport | sport << 16], 3));
        assert_eq!(completions(&outcome), [there + back]);
        *seen.entry((there, back)).or_insert(0) += 1;
    }
    println!("{seen:?}");
    assert_eq!(seen.len(), 4);
}

/// Published hashes of "test" and "aaaa", and a transmission that would take exactly 80 ns but for an inexact double.
#[test]
fn parts_have_known_values() {
    assert_eq!(murmur3(&[u32::from_le_bytes(*b"test")], 0), 0xba6b_d213);
    assert_eq!(murmur3(&[u32::from_le_bytes(*b"aaaa")], 0x9747_b28c), 0x5a97_808a);
    let times = [1048, 60, 43, 1000].map(|bytes| transmission_ns(bytes, 100 * GBPS));
    println!("{times:?} ns");
    assert_eq!(times, [83, 4, 3, 79]);
    assert_eq!(transmission_ns(1_250_000_000, GBPS), 10_000_000_000);
}

/// Expects the last completion to be the same under all orders of ties, as one port carries all packets. The same seed
/// repeats a run.
#[test]
fn the_order_of_ties_is_a_choice() {
    let flows: Vec<FlowSpec> = (0..16).map(|host| flow(host, 16, 200_000, 0)).collect();
    let times = |order| completions(&run(&star(17), &flows, &Config { order, ..line_rate() }, NEVER));
    let sorted = |order| {
        let mut times = times(order);
        times.sort_unstable();
        times
    };
    println!("{:?} ns", times(Order::Random(1)));
    assert_eq!(times(Order::Random(1)), times(Order::Random(1)));
    assert_ne!(times(Order::Random(1)), times(Order::Scheduled));
    assert_eq!(sorted(Order::Random(1)).last(), Some(&269_691));
    assert_eq!(times(Order::ByNode), times(Order::Scheduled));
}
