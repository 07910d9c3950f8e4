//! Selective retransmission on whole networks: the exact delay of one lost packet, and fair shares of flows that
//! switches notify of drops.

use crate::common::{logged, row, run, scenario};
use backwater_sim::observe::Observer;
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::{DropReason, Instant, Kind, Packet};

/// Transmission times of a full packet and of an answer at 100 Gb/s, ps.
const FULL: u64 = 1048 * 80;
const ANSWER: u64 = 64 * 80;

/// Number of full packets in the flow.
const PACKETS: u64 = 40;

/// Runs a flow over a switch. Its first link fails for a nanosecond while packet number `lost` is on it. The second
/// link is long, so that nothing else is on the first.
fn with_one_lost(scheme: &str, lost: u64) -> Outcome {
    let down = (lost * FULL + FULL / 2) / 1000;
    let outcome = run(&scenario(&format!(
        "scheme = \"{scheme}\"\n{}[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n[[workload]]\n\
         kind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\nsize = \"{PACKETS} KB\"\n\
         [[fault]]\nlink = [\"host0\", \"switch0\"]\ndown = [[\"{down} ns\", \"{} ns\"]]\n",
        row(&[(100, 1), (100, 5000)]),
        down + 1
    )));
    let lost: u64 = outcome.drops.iter().map(|drops| drops.packets[DropReason::LinkDown as usize]).sum();
    assert_eq!((lost, outcome.retransmitted.iter().collect()), (1, vec![1]), "one is lost, and sent again once");
    outcome
}

/// Propagation delay of both links, one way, ps.
const DELAY: u64 = 5_001_000;

/// Expects one round trip and one more transmission. The packet behind the lost one is sent after it, crosses two links
/// and arrives out of order. The NACK takes two short frames' times and finds that the sender has sent everything. Then
/// the packet goes once more.
#[test]
fn irn_sends_a_lost_packet_again_when_the_next_has_arrived() {
    for lost in [0, 7, PACKETS - 2] {
        let outcome = with_one_lost("irn", lost);
        let nack = (lost + 3) * FULL + DELAY + 2 * ANSWER + DELAY;
        let received = nack + 2 * FULL + DELAY;
        assert_eq!(outcome.received, [Instant(received)], "{lost}");
        assert_eq!(outcome.acknowledged, [Instant(received + 2 * ANSWER + DELAY)], "{lost}");
    }
}

/// No packet follows the last one, so its sender waits for `rto_low` after the last answer.
#[test]
fn a_lost_last_packet_takes_a_timeout() {
    let outcome = with_one_lost("irn", PACKETS - 1);
    let answered = PACKETS * FULL + DELAY + 2 * ANSWER + DELAY;
    let received = answered + 100_000_000 + 2 * FULL + DELAY;
    assert_eq!(outcome.received, [Instant(received)]);
    assert_eq!(outcome.acknowledged, [Instant(received + 2 * ANSWER + DELAY)]);
}

/// Times of one packet's events and of drop notices.
#[derive(Default)]
struct Trace {
    sent: Vec<(u64, u32)>,
    dropped: Vec<(u64, u32)>,
    /// Notices as they leave switches.
    notices: Vec<(u64, usize)>,
    /// Notices as they arrive at the sender.
    told: Vec<(u64, u32)>,
}

impl Observer for Trace {
    fn host_sent(&mut self, now: Instant, _host: usize, packet: &Packet) {
        self.sent.extend((packet.kind == Kind::Data).then_some((now.0, packet.seq)));
    }

    fn host_received(&mut self, now: Instant, _host: usize, packet: &Packet) {
        self.told.extend((packet.kind == Kind::DropNotice).then_some((now.0, packet.seq)));
    }

    fn departed(&mut self, now: Instant, switch: usize, _: u16, packet: &Packet, _: &backwater_dataplane::Departed) {
        self.notices.extend((packet.kind == Kind::DropNotice).then_some((now.0, switch)));
    }

    fn dropped(&mut self, now: Instant, _node: usize, packet: &Packet, _reason: DropReason) {
        self.dropped.push((now.0, packet.seq));
    }
}

/// Sends five packets at 100 Gb/s over two switches. The second has room for three packets beside the one on its link
/// of 10 Gb/s, so it drops the fifth on arrival. The notice is a short frame on each of the two links back, and finds
/// that the sender has sent everything. The sender retransmits the fifth packet, which then finds room.
#[test]
fn a_switch_tells_of_a_drop_and_that_packet_alone_goes_again() {
    let scenario = scenario(&format!(
        "scheme = \"hpcc-nopfc\"\nhost = {{ transport = \"window\", window = \"100 KB\", ack = \"64 B\" }}\n\
         switch = {{ buffer = \"3144 B\", quantum = \"1048 B\" }}\n{}[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\nsize = \"5 KB\"\n",
        row(&[(100, 500), (100, 300), (10, 700)])
    ));
    let (outcome, traces) = Simulation::new(&scenario, 1).observe_any(Trace::default, &Watch::default());
    let [trace] = &traces[..] else { panic!("one partition") };
    let (near, far, last) = (500_000, 300_000, 700_000);
    let dropped = 6 * FULL + near + far;
    assert_eq!(trace.dropped, [(dropped, 4)]);
    let [first, second] = [dropped, dropped + ANSWER + far];
    let graph = &outcome.graph;
    let switch = |name: &str| graph.find(name).expect("a switch");
    assert_eq!(trace.notices, [(first, switch("switch1")), (second, switch("switch0"))]);
    let told = second + ANSWER + near;
    assert_eq!(trace.told, [(told, 4)]);
    let once: Vec<(u64, u32)> = (0..5).map(|seq| (seq * FULL, seq as u32)).collect();
    assert_eq!(trace.sent, [&once[..], &[(told, 4)]].concat());
    // Four packets keep the last link busy from the first arrival on; the fifth arrives meanwhile.
    let free = 2 * FULL + near + far + 4 * 10 * FULL;
    assert!(told + 2 * FULL + near + far < free);
    assert_eq!(outcome.received, [Instant(free + 10 * FULL + last)]);
    assert_eq!(outcome.retransmitted, [1]);
}

/// Sixteen flows start at line rate into a buffer of a quarter of their windows. Each is notified of drops, restarts
/// from the lowest rate, and reaches its share of HPCC's target. Afterwards no packet is dropped.
#[test]
fn sixteen_flows_that_are_told_of_drops_come_to_fair_shares() {
    let flow = |i: usize| {
        format!(
            "[[workload]]\nkind = \"long-lived\"\nclass = \"flow{i}\"\ncount = 1\nfrom = [\"host{i}\"]\nto = [\"host16\"]\n"
        )
    };
    let scenario = scenario(&format!(
        "scheme = \"hpcc-nopfc\"\nswitch.buffer = \"400 KB\"\n[topology]\nkind = \"single-switch\"\nhosts = 17\n\
         rate = \"100 Gbps\"\ndelay = \"1 us\"\n[run]\nduration = \"10 ms\"\nwarmup = \"5 ms\"\ndrain = 1.0\n{}",
        (0..16).map(flow).collect::<String>()
    ));
    let (outcome, log) = logged(&scenario);
    let last = log.dropped.iter().map(|(at, ..)| *at).max().expect("the buffer is small");
    assert!(log.dropped.len() > 100 && last < 1_000_000_000, "{} drops, the last at {last}", log.dropped.len());
    let shares: Vec<f64> = outcome.goodput.iter().map(|bytes| *bytes as f64 * 8.0 / 5e-3 / 100e9).collect();
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    println!("{} drops, the last at {last}; shares {shares:.3?}", log.dropped.len());
    // Jain's index, and the payload's share of 0.95 of the port.
    assert!(sum * sum / (16.0 * squares) > 0.9 && (0.8..0.95).contains(&sum), "{shares:?}");
}
