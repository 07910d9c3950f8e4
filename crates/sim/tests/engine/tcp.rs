//! TCP on whole networks: a flow alone takes the time that counting acknowledgements gives, to the picosecond. Every
//! timeout follows a drop, and all losses are repaired.

use crate::common::{logged, node, row, run, scenario};
use backwater_dataplane::Departed;
use backwater_scenario::Scenario;
use backwater_scenario::model::AckClass;
use backwater_sim::measure::summary;
use backwater_sim::observe::Observer;
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::{DropReason, Instant, Kind, Packet, PortId};
use std::collections::HashSet;

/// Parameters of a flow on an idle path.
#[derive(Clone)]
struct Path {
    /// `(Gb/s, ns)`, sender to receiver.
    links: Vec<(u64, u64)>,
    payload: u64,
    header: u64,
    ack: u64,
    host_delay: u64,
    initial: u64,
    most: u64,
    handshake: bool,
}

/// Arrival of a flow's last byte and last acknowledgement, ps, and its final window.
#[derive(Debug, PartialEq)]
struct Took {
    received: u64,
    acknowledged: u64,
    window: u64,
}

impl Path {
    /// Returns the time at which a frame, ready at `at`, has crossed all links in one direction. Frames keep their
    /// order.
    fn cross(&self, at: u64, wire: u64, free: &mut [u64], back: bool) -> u64 {
        let hop = |i: usize| if back { self.links[self.links.len() - 1 - i] } else { self.links[i] };
        (0..self.links.len()).fold(at, |at, i| {
            let (rate, delay) = hop(i);
            assert_eq!(8000 % rate, 0);
            free[i] = free[i].max(at) + wire * 8000 / rate;
            free[i] + delay * 1000
        }) + self.host_delay
    }

    /// Returns the times of slow start, computed per acknowledgement. Each acknowledgement that a full window waited
    /// for adds one segment.
    fn flow(&self, start: u64, bytes: u64, initial: u64, opens: bool) -> Took {
        let segments = bytes.div_ceil(self.payload);
        let last = bytes - (segments - 1) * self.payload + self.header;
        let (mut there, mut back) = (vec![0; self.links.len()], vec![0; self.links.len()]);
        let mut now = start;
        if opens {
            let at = self.cross(now, self.header, &mut there, false);
            now = self.cross(at, self.ack, &mut back, true);
        }
        let (mut window, mut sent, mut answers, mut received) = (initial, 0, Vec::new(), 0);
        for acked in 0..=segments {
            if acked > 0 {
                let waited = sent - (acked - 1) >= window;
                now = answers[acked as usize - 1];
                window = if waited { (window + 1).min(self.most) } else { window };
            }
            while sent < segments && sent - acked < window {
                let wire = if sent + 1 == segments { last } else { self.payload + self.header };
                received = self.cross(now, wire, &mut there, false);
                answers.push(self.cross(received, self.ack, &mut back, true));
                sent += 1;
            }
        }
        Took { received, acknowledged: now, window }
    }

    fn host(&self, more: &str) -> String {
        format!(
            "[host]\ntransport = \"tcp\"\npayload = \"{} B\"\nheader = \"{} B\"\nack = \"{} B\"\nrto = \"5 ms\"\n\
             nic_buffer = \"1 GB\"\ndelay = \"{} ns\"\n[host.tcp]\nmarks = \"none\"\nmin_window = 1\ninitial_window = {}\nmax_window = {}\n\
             handshake = {}\n{more}",
            self.payload,
            self.header,
            self.ack,
            self.host_delay / 1000,
            self.initial,
            self.most,
            self.handshake
        )
    }

    /// Runs flows of `(start in ns, bytes)` from one end to the other.
    fn run(&self, flows: &[(u64, u64)], more: &str) -> Outcome {
        let flow = |(start, bytes): &(u64, u64)| {
            format!("{{ start = \"{start} ns\", src = \"host0\", dst = \"host1\", bytes = \"{bytes} B\" }}")
        };
        let flows: Vec<String> = flows.iter().map(flow).collect();
        let scenario = scenario(&format!(
            "scheme = \"fifo\"\n{}[switch]\nbuffer = \"infinite\"\nquantum = \"9100 B\"\n{}[run]\nduration = \"40 ms\"\n\
             warmup = \"0 s\"\ndrain = 100.0\n[measure]\nsample = \"0 s\"\n[[workload]]\nkind = \"flow-list\"\nflows = [{}]\n",
            row(&self.links),
            self.host(more),
            flows.join(", ")
        ));
        run(&scenario)
    }
}

fn path(links: &[(u64, u64)]) -> Path {
    Path {
        links: links.to_vec(),
        payload: 8960,
        header: 40,
        ack: 40,
        host_delay: 0,
        initial: 20,
        most: 65_535,
        handshake: false,
    }
}

#[track_caller]
fn took(outcome: &Outcome, flow: usize, expected: &Took, case: &str) {
    let got = (outcome.received.get(flow).0, outcome.acknowledged.get(flow).0);
    assert_eq!(got, (expected.received, expected.acknowledged), "{case}");
    assert_eq!((outcome.retransmitted.get(flow), outcome.timeouts.get(flow)), (0, 0), "{case}");
}

#[test]
fn a_flow_alone_takes_its_slow_start_to_the_picosecond() {
    let rows: [&[(u64, u64)]; 4] = [
        &[(100, 20_000), (100, 20_000)],
        &[(100, 1000), (40, 7000), (200, 500), (25, 3000)],
        &[(10, 300), (40, 1000), (100, 50)],
        &[(100, 10_000), (100, 10_000), (100, 10_000), (100, 10_000)],
    ];
    for links in rows {
        for (payload, header, ack) in [(8960, 40, 40), (1460, 54, 64), (1000, 48, 64)] {
            for (initial, most) in [(1, 65_535), (2, 7), (20, 125), (10, 65_535)] {
                for (handshake, host_delay) in [(false, 0), (true, 0), (true, 36_000_000), (false, 1_234_000)] {
                    let path = Path { payload, header, ack, initial, most, handshake, host_delay, ..path(links) };
                    for bytes in [1, payload, 3 * payload + 7, 333_333, 2_000_000] {
                        let outcome = path.run(&[(0, bytes)], "");
                        let case = format!("{bytes} B, {payload} + {header}, window {initial} to {most}, {links:?}");
                        took(&outcome, 0, &path.flow(0, bytes, initial, handshake), &case);
                    }
                }
            }
        }
    }
}

/// A round trip is `2 x 40 us`: windows of 20, 40 and 80 follow each other until the path is full.
#[test]
fn windows_go_round_by_round() {
    let path = path(&[(100, 20_000), (100, 20_000)]);
    let round = 80_000_000 + 2 * (9000 + 40) * 80;
    for (rounds, segments) in [(1, 20), (2, 60), (3, 140)] {
        let outcome = path.run(&[(0, segments * 8960)], "");
        // The last window leaves the NIC segment by segment, as acknowledgements arrive in pairs.
        let last = [20, 40, 80][rounds as usize - 1] - 1;
        assert_eq!(outcome.acknowledged.get(0).0, rounds * round + last * 9000 * 80, "{segments} segments");
    }
}

#[test]
fn a_handshake_costs_one_round_trip_of_headers() {
    let plain = path(&[(100, 2000), (40, 1000), (100, 500)]);
    let opening = Path { handshake: true, ..plain.clone() };
    let one_way = 3_500_000;
    let trip = 2 * one_way + 2 * 40 * (80 + 200 + 80);
    // The delay of other acknowledgements does not matter.
    for more in ["", "ack_every = 4\nack_delay = \"300 us\"\n"] {
        let took = |path: &Path| path.run(&[(0, 500_000)], more).acknowledged.get(0).0;
        assert_eq!(took(&opening) - took(&plain), trip, "{more}");
    }
}

#[test]
fn a_window_over_a_round_trip_is_the_throughput() {
    let path = Path { most: 40, ..path(&[(100, 40_000), (100, 40_000)]) };
    let round = 160_000_000 + 2 * (9000 + 40) * 80;
    let outcome = path.run(&[(0, 8960 * 40 * 50)], "");
    let took = outcome.acknowledged.get(0).0 as f64;
    // Twenty segments in the first round trip, half a window in the last.
    let rounds = 51.0;
    assert!((took / (rounds * round as f64) - 1.0).abs() < 0.005, "{} round trips", took / round as f64);
}

/// Baselines 1.2: a flow takes over an idle connection with its window, unless the connection was idle longer than its
/// timeout. If all connections are busy, a new one opens.
#[test]
fn connections_are_taken_over_with_their_windows() {
    let path = path(&[(100, 20_000), (100, 20_000)]);
    let persistent = "connections = \"persistent\"\n";
    let first = path.flow(0, 1_000_000, 20, false);
    assert!(first.window > 60, "{first:?}");
    let ended = first.acknowledged / 1000 + 1;
    for (rest, initial) in [(10, first.window), (4_999_000, first.window), (5_001_000, 20)] {
        let start = ended + rest;
        let outcome = path.run(&[(0, 1_000_000), (start, 2_000_000)], persistent);
        took(&outcome, 0, &first, "first");
        took(&outcome, 1, &path.flow(start * 1000, 2_000_000, initial, false), &format!("after {rest} ns"));
        let anew = path.run(&[(0, 1_000_000), (start, 2_000_000)], "");
        took(&anew, 1, &path.flow(start * 1000, 2_000_000, 20, false), "a connection for each flow");
        let kept = path.run(&[(0, 1_000_000), (start, 2_000_000)], &format!("{persistent}idle_restart = false\n"));
        took(&kept, 1, &path.flow(start * 1000, 2_000_000, first.window, false), "windows that do not age");
    }
    // One connection is open from the start. The second must be opened, and the third flow finds it idle.
    let path = Path { handshake: true, most: 30, ..path };
    let late = ended + 1_000_000;
    let one = format!("{persistent}open = 1\n");
    let outcome = path.run(&[(0, 8_000_000), (late - 900_000, 1), (late, 1)], &one);
    assert!(outcome.acknowledged.get(0).0 > late * 1000 + 200_000_000, "the first is still there");
    let took = |flow: usize, start: u64| (outcome.acknowledged.get(flow).0 - start * 1000) / 1_000_000;
    // Round trips take 80 us. Up to thirty segments are ahead in the NIC, at 720 ns each.
    let (opened, found) = (took(1, late - 900_000), took(2, late));
    assert!((160..230).contains(&opened) && (80..115).contains(&found), "{opened} us opening, {found} us without");
}

/// The first flow ends with a large window. The second uses a connection opened later, and ends later with the initial
/// window. The third must take the first's connection, not the one that became idle last.
#[test]
fn of_idle_connections_the_one_opened_first_is_taken() {
    let path = path(&[(100, 20_000), (100, 20_000)]);
    let first = path.flow(0, 1_000_000, 20, false);
    let (beside, start) = (first.acknowledged / 1000 - 10_000, first.acknowledged / 1000 + 200_000);
    let outcome = path.run(&[(0, 1_000_000), (beside, 1), (start, 2_000_000)], "connections = \"persistent\"\n");
    assert!(outcome.acknowledged.get(0) < outcome.acknowledged.get(1) && outcome.acknowledged.get(1).0 < start * 1000);
    took(&outcome, 2, &path.flow(start * 1000, 2_000_000, first.window, false), "the first's window");
    assert_ne!(path.flow(start * 1000, 2_000_000, 20, false).received, outcome.received.get(2).0, "not the second's");
}

/// Expects a window sent at once to overflow the NIC.
#[test]
fn what_overflows_a_nic_is_counted_and_repaired() {
    let path = Path { initial: 30, ..path(&[(100, 20_000), (100, 20_000)]) };
    let flows = [(0, 3_000_000), (2_000_000, 700_000)];
    let mut text = row(&path.links);
    text += &path.host("").replace("nic_buffer = \"1 GB\"", "nic_buffer = \"90 KB\"");
    let scenario = scenario(&format!(
        "scheme = \"fifo\"\n{text}[switch]\nbuffer = \"infinite\"\nquantum = \"9000 B\"\n[run]\nduration = \"40 ms\"\nwarmup = \"0 s\"\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [{}]\n",
        flows
            .map(|(start, bytes)| {
                format!("{{ start = \"{start} ns\", src = \"host0\", dst = \"host1\", bytes = \"{bytes} B\" }}")
            })
            .join(", ")
    ));
    let (outcome, log) = logged(&scenario);
    assert!(outcome.acknowledged.iter().all(|at| at != Instant::NEVER));
    let host = node(&outcome, "host0");
    // Thirty segments leave at once, and ten fit.
    let first: Vec<_> = log.dropped.iter().take_while(|(at, ..)| *at == 0).collect();
    assert_eq!(first.len(), 20);
    assert!(log.dropped.iter().all(|(_, node, _, reason)| *node == host && *reason == DropReason::Nic));
    let counted = outcome.drops[host];
    assert_eq!((counted.packets[6], counted.data[6]), (log.dropped.len() as u64, log.dropped.len() as u64));
    let again: u64 = outcome.retransmitted.iter().map(u64::from).sum();
    assert_eq!(again, log.dropped.len() as u64, "each goes again, and nothing else");
    let summary = summary::summary(&outcome);
    assert_eq!(summary["drops"]["nic"], log.dropped.len());
}

/// Returns a scenario of many senders to one host over a small buffer, with loss on a link.
fn lossy(marks: &str, every: u32, more: &str) -> Scenario {
    scenario(&format!(
        "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = 9\nrate = \"100 Gbps\"\ndelay = \"2 us\"\n\
         [switch]\nbuffer = \"60 KB\"\nalpha = 4.0\necn = {{ kmin = \"20 KB\", kmax = \"20 KB\", pmax = 1.0 }}\n\
         [host]\ntransport = \"tcp\"\nrto = \"1 ms\"\nheader = \"40 B\"\ndelay = \"3 us\"\n\
         [host.tcp]\nmarks = \"{marks}\"\nhandshake = true\nack_every = {every}\nack_delay = \"50 us\"\n{more}\
         [run]\nduration = \"4 ms\"\nwarmup = \"0 s\"\ndrain = 1000.0\n\
         [[workload]]\nkind = \"incast\"\ndegree = 40\naggregate = \"2 MB\"\nperiod = \"1 ms\"\nto = [\"host8\"]\n\
         [[workload]]\nkind = \"background\"\nsizes = {{ exponential = \"20 KB\" }}\nload = 0.2\nload_of = \"receivers\"\n\
         [[fault]]\nlink = [\"host0\", \"switch0\"]\nloss = 0.02\n"
    ))
}

#[test]
fn every_timeout_has_a_cause_and_is_told_everywhere() {
    let mut seen = [0; 5];
    for (marks, every, more) in [
        ("none", 1, ""),
        ("dctcp", 2, "connections = \"persistent\"\n"),
        ("ecn-star", 4, "connections = \"persistent\"\nopen = 0\n"),
        ("none", 1, "initial_window = 100\n"),
    ] {
        let scenario = lossy(marks, every, more);
        let (outcome, log) = logged(&scenario);
        let case = format!("{marks}, every {every}, {more}");
        assert!(outcome.acknowledged.iter().all(|at| at != Instant::NEVER), "{case}");
        let dropped: HashSet<u32> = log.dropped.iter().map(|(_, _, flow, _)| *flow).collect();
        let timeouts: u64 = outcome.timeouts.iter().map(u64::from).sum();
        assert!(timeouts > 100, "{case}: {timeouts}");
        for (flow, n) in outcome.timeouts.iter().enumerate().filter(|(_, n)| *n > 0) {
            assert!(dropped.contains(&(flow as u32)), "{case}: flow {flow} had {n} timeouts and lost nothing");
        }
        assert_eq!(outcome.timeout_reasons.iter().sum::<u64>(), timeouts, "{case}");
        let summary = summary::summary(&outcome);
        assert_eq!(summary["timeouts"]["total"], timeouts);
        assert_eq!(summary["timeouts"]["flows"], outcome.timeouts.iter().filter(|n| *n > 0).count());
        let names = ["silent", "tail", "retransmission", "held", "handshake"];
        for (name, n) in names.iter().zip(outcome.timeout_reasons) {
            assert_eq!(summary["timeouts"][name], n, "{name}");
        }
        assert_eq!(outcome.flows().map(|flow| flow.timeouts as u64).sum::<u64>(), timeouts);
        seen.iter_mut().zip(outcome.timeout_reasons).for_each(|(sum, n)| *sum += n);
    }
    println!("{seen:?}");
    assert!(seen[0] > 0 && seen[1] > 0 && seen[2] > 0 && seen[4] > 0, "{seen:?}");
}

/// Packets sent and dropped by the switch, by the port that leads to their destination.
#[derive(Default)]
struct Ports {
    left: [u64; 9],
    dropped: [u64; 9],
    acks: u64,
}

impl Observer for Ports {
    fn departed(&mut self, _: Instant, _: usize, port: PortId, _: &Packet, _: &Departed) {
        self.left[port as usize] += 1;
    }

    fn dropped(&mut self, _: Instant, _: usize, packet: &Packet, reason: DropReason) {
        if reason == DropReason::Buffer {
            self.dropped[packet.dst as usize] += 1;
            self.acks += (packet.kind == Kind::Ack) as u64;
        }
    }
}

/// Expects the mean of the ports' loss shares, with equal weight for each port and ACKs counted as packets.
#[test]
fn loss_per_port_is_the_mean_of_what_each_port_drops() {
    let mut scenario = lossy("dctcp", 1, "");
    scenario.conventions.acks = AckClass::Data;
    let (outcome, seen) = Simulation::new(&scenario, 1).observe_any(Ports::default, &Watch::default());
    let Ports { left, dropped, acks } = &seen[0];
    let share = |(left, dropped): (&u64, &u64)| *dropped as f64 / (left + dropped) as f64;
    let shares: Vec<f64> = left.iter().zip(dropped).map(share).collect();
    assert!(shares[8] > 0.02 && shares.contains(&0.0) && *acks > 0, "{shares:?}, {acks} ACKs");
    let loss = &summary::summary(&outcome)["loss"];
    let per_port = loss["share_per_port"].as_f64().expect("packets were sent");
    assert!((per_port / (shares.iter().sum::<f64>() / 9.0) - 1.0).abs() < 1e-12, "{per_port}, {shares:?}");
    assert!(per_port < 0.5 * loss["share"].as_f64().expect("likewise"), "{loss}");
    let of_ports = |port: usize| outcome.ports.iter().find(|p| p.node == 9 && p.peer == port as u32);
    assert!((0..9).all(|port| of_ports(port).is_some_and(|p| p.total.dropped == dropped[port])));
}

/// Expects the same outcome for two implementations of a host's delay. Without backpressure frames to hosts, the engine
/// adds the delay to the last link. Under PFC, which never pauses here, packets wait inside the host.
#[test]
fn a_hosts_delay_is_the_same_on_the_wire_and_in_a_queue() {
    for (marks, every) in [("dctcp", 1), ("none", 3)] {
        let mut outcomes = [("fifo", ""), ("pfc", "pfc = { alpha = 1e6 }\n")].map(|(scheme, pfc)| {
            run(&scenario(&format!(
                "scheme = \"{scheme}\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
                 host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1013 ns\"\ncore_delay = \"719 ns\"\n\
                 [conventions]\nacks = \"data\"\n[switch]\nbuffer = \"900 KB\"\nalpha = 0.1\n{pfc}\
                 ecn = {{ kmin = \"30 KB\", kmax = \"30 KB\", pmax = 1.0 }}\n\
                 [host]\ntransport = \"tcp\"\nrto = \"1 ms\"\ndelay = \"17393 ns\"\n\
                 [host.tcp]\nmarks = \"{marks}\"\nack_every = {every}\nack_delay = \"53719 ns\"\n\
                 [run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n\
                 [[workload]]\nkind = \"background\"\nsizes = {{ exponential = \"50 KB\" }}\nload = 0.5\n\
                 [[workload]]\nkind = \"incast\"\ndegree = 20\naggregate = \"1 MB\"\nperiod = \"233017 ns\"\n\
                 [[fault]]\nlink = [\"host0\", \"leaf0\"]\nloss = 0.01\n"
            )))
        });
        let [wire, queue] = &mut outcomes;
        assert!(wire.drops.iter().map(|d| d.packets[0]).sum::<u64>() > 0, "the buffer is small enough");
        assert_eq!(queue.ports.iter().map(|p| p.total.held.pfc_pauses).sum::<u64>(), 0);
        assert_eq!(wire.received, queue.received);
        assert_eq!(wire.acknowledged, queue.acknowledged);
        assert_eq!((&wire.retransmitted, &wire.timeouts), (&queue.retransmitted, &queue.timeouts));
    }
}

/// Expects a failing link not to affect a frame that has crossed it and waits inside the host.
#[test]
fn what_has_arrived_is_not_lost_with_its_link() {
    let path = Path { host_delay: 36_000_000, ..path(&[(100, 1000), (100, 1000)]) };
    let expected = path.flow(0, 8960, 20, false);
    let arrives = (expected.received - path.host_delay) / 1000;
    let scenario = scenario(&format!(
        "scheme = \"fifo\"\n{}[switch]\nquantum = \"9000 B\"\n{}[run]\nduration = \"40 ms\"\nwarmup = \"0 s\"\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [{{ start = \"0 s\", src = \"host0\", dst = \"host1\", bytes = \"8960 B\" }}]\n\
         [[fault]]\nlink = [\"host1\", \"switch0\"]\ndown = [[\"{} ns\", \"{} ns\"]]\n",
        row(&path.links),
        path.host(""),
        arrives + 10,
        arrives + 30_000,
    ));
    let outcome = run(&scenario);
    assert_eq!((outcome.received.get(0).0, outcome.acknowledged.get(0).0), (expected.received, expected.acknowledged));
}

/// Expects an acknowledgement of several segments to wait for them up to its limit.
#[test]
fn a_delayed_acknowledgement_waits_its_time() {
    let path = path(&[(100, 20_000), (100, 20_000)]);
    let more = "ack_every = 2\nack_delay = \"200 us\"\n";
    let alone = path.flow(0, 8960, 20, false);
    // The last segment of a flow is acknowledged at once; a single segment of a window of one waits.
    let outcome = path.run(&[(0, 8960)], more);
    took(&outcome, 0, &alone, "one segment, the last");
    let narrow = Path { initial: 1, most: 1, ..path.clone() };
    let outcome = narrow.run(&[(0, 8960 * 5)], more);
    let each = narrow.flow(0, 8960 * 5, 1, false);
    assert_eq!(outcome.acknowledged.get(0).0, each.acknowledged + 4 * 200_000_000, "four of five wait the whole time");
    // Two segments do not wait; with three, only the third does.
    let pairs = Path { initial: 2, most: 2, ..path.clone() };
    let outcome = pairs.run(&[(0, 8960 * 8)], more);
    let one_by_one = pairs.flow(0, 8960 * 8, 2, false).acknowledged;
    assert!(outcome.acknowledged.get(0).0 < one_by_one + 4 * 9000 * 80 + 1, "{}", outcome.acknowledged.get(0).0);
    let threes = Path { initial: 3, most: 3, ..path };
    let outcome = threes.run(&[(0, 8960 * 9)], more);
    // Three segments go; the acknowledgement of two lets two more go, the first of which makes a pair with the third.
    assert!(outcome.acknowledged.get(0).0 < 5 * 100_000_000, "{}", outcome.acknowledged.get(0).0);
}

/// Expects no timeout after the end of a run's clock at 70.4 s, whatever else happens until then.
#[test]
fn a_timeout_beyond_the_clock_does_not_come() {
    let run = |host: &str| {
        run(&scenario(&format!(
            "scheme = \"fifo\"\n{}[host]\n{host}\n[run]\nduration = \"60 s\"\nwarmup = \"0 s\"\ndrain = 1.15\n\
             [measure]\nsample = \"0 s\"\n[[workload]]\nkind = \"flow-list\"\n\
             flows = [{{ start = \"0 s\", src = \"host0\", dst = \"host1\", bytes = \"1 B\" }}]\n\
             [[fault]]\nlink = [\"host1\", \"switch0\"]\ndown = [[\"0 s\", \"70 s\"]]\n",
            row(&[(100, 1000), (100, 1000)])
        )))
    };
    // The timeout doubles: due at 5, 15, 35 and 75 s, or at 10, 30 and 70 s, after the end of the run.
    for (rto, most, timeouts) in [("5 s", "64 s", 3), ("5 s", "5 s", 13), ("10 s", "64 s", 2), ("10 s", "20 s", 3)] {
        let outcome = run(&format!("transport = \"tcp\"\nrto = \"{rto}\"\ntcp.rto_max = \"{most}\""));
        assert_eq!(outcome.received, [Instant::NEVER]);
        assert_eq!(outcome.timeout_reasons.iter().sum::<u64>(), timeouts, "{rto} to {most}");
    }
    // Go-back-N's timeout does not double: due at 9, 18, ... 63 and 72 s.
    assert_eq!(run("transport = \"line-rate\"\nrto = \"9 s\"").received, [Instant::NEVER]);
}
