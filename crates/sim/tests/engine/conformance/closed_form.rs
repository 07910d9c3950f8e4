//! A flow alone takes the time of a packet-by-packet recursion plus the time that its host states, to the picosecond.
//!
//! The recursion shares no code with the simulator. Packet i starts on link h when it has arrived there and packet i -
//! 1 has left. Acknowledgements do the same on the way back.

use crate::common::{row, run, scenario};
use crate::conformance::registry::{NOTHING, Subject, all, each, schemes, transports};
use crate::under_test;
use backwater_scenario::Scenario;
use backwater_scenario::model::BufferSize;
use backwater_sim::measure::ideal::Ideal;
use backwater_sim::workload::flow_key;
use backwater_transport::IdlePath;
use backwater_types::{BitsPerSec, Bytes, Duration};

/// Returns the transmission time of `bytes` at `gbps`, ps; a byte must take a whole number of them.
fn ser(bytes: u64, gbps: u64) -> u64 {
    assert_eq!(8_000 % gbps, 0);
    bytes * (8_000 / gbps)
}

/// Returns the time at which each frame, given as `(available, wire bytes)`, has crossed `links` in order, ps.
fn cross(frames: &[(u64, u64)], links: &[(u64, u64)]) -> Vec<u64> {
    let mut at: Vec<u64> = frames.iter().map(|(at, _)| *at).collect();
    for (gbps, delay_ns) in links {
        let mut free = 0;
        for (at, (_, wire)) in at.iter_mut().zip(frames) {
            let start = free.max(*at);
            free = start + ser(*wire, *gbps);
            *at = free + delay_ns * 1000;
        }
    }
    at
}

/// Returns the arrival of the last byte at the receiver, and of the last acknowledgement at the sender, ps.
fn expected(scenario: &Scenario, links: &[(u64, u64)], bytes: u64) -> (u64, u64) {
    let host = &scenario.host;
    let (payload, header) = (host.payload.0, host.headers().0);
    let packets = bytes.div_ceil(payload);
    let wire = |i: u64| if i + 1 == packets { bytes - i * payload + header } else { payload + header };
    there_and_back(scenario, links, (0..packets).map(wire))
}

/// Returns the same times for frames of these sizes.
fn there_and_back(scenario: &Scenario, links: &[(u64, u64)], frames: impl Iterator<Item = u64>) -> (u64, u64) {
    let host = &scenario.host;
    let data: Vec<(u64, u64)> = frames.map(|wire| (0, wire)).collect();
    let received: Vec<u64> = cross(&data, links).iter().map(|at| at + host.delay.0).collect();
    let last = data.len() - 1;
    let answered = if host.answers_each() { &received[..] } else { &received[last..] };
    let acks: Vec<(u64, u64)> = answered.iter().map(|at| (*at, host.ack.0)).collect();
    let back: Vec<(u64, u64)> = links.iter().rev().copied().collect();
    (received[last], cross(&acks, &back)[acks.len() - 1] + host.delay.0)
}

/// Returns the path as the flow's host sees it.
fn idle(scenario: &Scenario, links: &[(u64, u64)], bytes: u64) -> IdlePath {
    let (payload, header) = (scenario.host.payload.0, scenario.host.headers().0);
    let slowest = links.iter().map(|(gbps, _)| *gbps).min().expect("a path has links");
    let round_trip = |wire: u64| Duration(there_and_back(scenario, links, [wire].into_iter()).1);
    IdlePath {
        round_trip: round_trip(payload + header),
        opening: round_trip(header),
        packet: Duration(ser(payload + header, slowest)),
        packets: bytes.div_ceil(payload),
        line: BitsPerSec(links[0].0 * 1_000_000_000),
        wire: Bytes(payload + header),
    }
}

/// Returns a scenario of one flow of `bytes` from host to host.
fn alone(subject: &Subject, links: &[(u64, u64)], bytes: u64) -> Scenario {
    subject.scenario(&format!(
        "{}[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n[[workload]]\nkind = \"long-lived\"\ncount = 1\n\
         from = [\"host0\"]\nto = [\"host1\"]\nsize = \"{bytes} B\"\n",
        row(links)
    ))
}

/// Checks that the flow takes exactly the recursion's time plus the stated time; a stated time too small or too large
/// fails.
fn check(subject: &Subject, links: &[(u64, u64)], bytes: u64) {
    let scenario = alone(subject, links, bytes);
    let outcome = run(&scenario);
    let case = format!("{}, {bytes} B over {links:?}", subject.name);
    let (received, acknowledged) = expected(&scenario, links, bytes);
    // The closed form leaves out telemetry, which counts as slowdown.
    let mut plain = scenario.clone();
    plain.host.header = plain.host.headers();
    let mut path = Vec::new();
    let ideal = |scenario: &Scenario, path: &mut Vec<usize>| {
        let ideal = Ideal::new(&outcome.graph, scenario);
        ideal.path(0, 1, flow_key(scenario.seed, 0), path);
        ideal.completion(path, bytes).0
    };
    assert_eq!(ideal(&plain, &mut path), received, "{case}: closed form");
    assert_eq!(path.len(), links.len());
    let idle = idle(&scenario, links, bytes);
    let stated = scenario.host.startup(&idle).0;
    let took = outcome.received.get(0).0;
    if scenario.host.starts_paced() && !bytes.is_multiple_of(scenario.host.payload.0) {
        // A short last packet catches up with the one before by the time it saves at each link.
        let saved = (idle.round_trip.0 - idle.opening.0).min(stated);
        let late = took.checked_sub(received).expect("nothing is faster than the closed form");
        assert!((stated - saved..=stated).contains(&late), "{case}: {late} ps late, {stated} stated, {saved} saved");
    } else if scenario.host.share() == 1.0 {
        assert_eq!(took, received + stated, "{case}: last byte; {stated} ps more than the closed form are stated");
        assert_eq!(outcome.acknowledged.get(0).0, acknowledged + stated, "{case}: last acknowledgement");
    } else {
        // The flow reaches its share within a few round trips, from line rate or as it states.
        let most = (received as f64 / scenario.host.share()) as u64 + stated + 2 * idle.round_trip.0;
        assert!((received..=most).contains(&took), "{case}: last byte at {took}, for {received} to {most}");
        let first = stated == 0 && idle.packets * idle.packet.0 < idle.round_trip.0;
        assert!(!first || took == received, "{case}: no packet was sent after the first acknowledgement");
    }
    let slowdown = took as f64 / ideal(&scenario, &mut path) as f64;
    assert_eq!(outcome.flows().next().map(|flow| flow.slowdown), Some(slowdown), "{case}: slowdown");
}

/// Gives all subjects that accept it a window larger than any path here needs.
fn subjects(all: Vec<Subject>) -> Vec<Subject> {
    let covering = |subject: Subject| {
        let wide = subject.with("host.window = \"1 GB\"");
        if wide.load(NOTHING).is_ok() { wide } else { subject }
    };
    all.into_iter().map(covering).collect()
}

const SIZES: [u64; 6] = [1, 999, 1000, 1001, 20_500, 2_500_000];

#[test]
fn equal_links_over_one_to_six_switches() {
    each(subjects(all()), |subject| {
        for switches in [1, 2, 3, 6] {
            SIZES.iter().for_each(|bytes| check(subject, &vec![(100, 1000); switches + 1], *bytes));
        }
    });
}

/// Round trips last longer than any initial window.
#[test]
fn long_links() {
    each(subjects(all()), |subject| {
        SIZES[3..].iter().for_each(|bytes| check(subject, &[(100, 1000), (100, 40_000), (100, 1000)], *bytes));
    });
}

/// Opening a connection costs a round trip of a packet without payload.
#[test]
fn a_handshake_takes_a_round_trip() {
    let opening: Vec<Subject> = transports()
        .iter()
        .map(|subject| subject.with("host.tcp.handshake = true").with("host.tcp.connections = \"per-flow\""))
        .filter(|subject| subject.scenario(NOTHING).host.startup(&ONE_PACKET) > Duration::ZERO)
        .collect();
    assert!(!opening.is_empty() || !under_test::ALL);
    each(subjects(opening), |subject| {
        SIZES.iter().for_each(|bytes| check(subject, &[(100, 1000), (100, 1000)], *bytes));
    });
}

/// A path on which only a handshake costs time.
const ONE_PACKET: IdlePath = IdlePath {
    round_trip: Duration(2),
    opening: Duration(1),
    packet: Duration(1),
    packets: 1,
    line: BitsPerSec(100_000_000_000),
    wire: Bytes(1048),
};

/// Faster and slower links in every order; a queue builds before each slower one.
#[test]
fn unequal_links_over_one_to_six_switches() {
    let rates = [100, 40, 200, 10, 25, 400, 50];
    let delays = [1000, 1, 500, 2000, 700, 1500, 123];
    each(subjects(schemes()), |subject| {
        // Finite memory or marking would rightly slow the sender of a long queue; a few packets stay below every
        // threshold.
        let unbounded = subject.scenario(NOTHING).switch.buffer == BufferSize::Infinite;
        let sizes = if unbounded { &SIZES[..] } else { &SIZES[..4] };
        for switches in 1..=6 {
            for turn in 0..7 {
                let link = |h: usize| (rates[(h + turn) % 7], delays[(h * 3 + turn) % 7]);
                let links: Vec<(u64, u64)> = (0..=switches).map(link).collect();
                sizes.iter().for_each(|bytes| check(subject, &links, *bytes));
            }
        }
    });
}

#[test]
fn ever_faster_links_build_no_queue_under_any_scheme() {
    each(subjects(all()), |subject| {
        SIZES.iter().for_each(|bytes| check(subject, &[(10, 300), (40, 1000), (100, 50), (400, 2000)], *bytes));
    });
}

/// A host delays data that it receives, and acknowledgements that it receives.
#[test]
fn host_delay_adds_once_each_way() {
    each(subjects(all()), |subject| {
        for delay in [1, 250, 36_000] {
            let late = subject.with(&format!("host.delay = \"{delay} ns\""));
            SIZES[..5].iter().for_each(|bytes| check(&late, &[(100, 1000), (100, 1000)], *bytes));
        }
    });
}

/// A byte takes 10 ps at 800 Gb/s; the slowest rates give whole picoseconds, too.
#[test]
fn extreme_rates_are_exact() {
    each(subjects(schemes()), |subject| {
        // Telemetry in units of 4096 B and whole nanoseconds is too coarse for a round trip of 400 ns.
        if subject.scenario(NOTHING).host.share() == 1.0 {
            check(subject, &[(800, 100), (800, 100)], 10_000_000);
        }
        check(subject, &[(1, 100_000), (800, 1), (1, 5)], 1001);
    });
}

/// Computes by hand the ideal time of the script of BFC's authors on their network. It is 8000 ns plus 80 ns for each
/// of n + 3 packets between racks, and 4000 ns plus n + 1 packets within one. Here n = floor(size / 1000), at least 1,
/// without headers; the flow ends with the last acknowledgement.
#[test]
fn slowdown_by_the_script_of_bfcs_authors() {
    const CLOS: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 8\nspines = 8\nhosts_per_leaf = 16\nhost_rate = \"100 Gbps\"\n\
                        core_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n";
    let links = [(100, 1000); 4];
    // Whether to another rack, bytes, and the script's ideal, ns.
    let cases = [
        (true, 500, 8_000 + 40 * 4),
        (true, 1_000, 8_000 + 80 * 4),
        (true, 1_001, 8_000 + 80 * 4),
        (true, 10_500, 8_000 + 80 * 13),
        (true, 10_000_000, 8_000 + 80 * 10_003),
        (false, 500, 4_000 + 40 * 2),
        (false, 1_000, 4_000 + 80 * 2),
        (false, 10_500, 4_000 + 80 * 11),
    ];
    for (inter, bytes, ideal) in cases {
        let to = if inter { "host16" } else { "host1" };
        let scenario = scenario(&format!(
            "scheme = \"ideal-fq\"\n{CLOS}[host]\nwindow = \"1 GB\"\n[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n\
             [measure]\nslowdown = \"bfc-script\"\n[[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\n\
             to = [\"{to}\"]\nsize = \"{bytes} B\"\n"
        ));
        let outcome = run(&scenario);
        let flow = outcome.flows().next().expect("one flow");
        assert_eq!(flow.ideal, ideal * 1000, "{to}, {bytes} B");
        let (_, acknowledged) = expected(&scenario, &links[..if inter { 4 } else { 2 }], bytes);
        assert_eq!(flow.slowdown, acknowledged as f64 / (ideal * 1000) as f64, "{to}, {bytes} B");
        // Headers alone give a long flow a slowdown of 1.048.
        assert!(bytes < 10_000_000 || (flow.slowdown - 1.048).abs() < 0.001, "{}", flow.slowdown);
    }
}
