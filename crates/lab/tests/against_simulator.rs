//! The fabric in virtual time against the simulator and closed forms, without sockets: frames are put in at the times
//! at which programs would send them.

mod network;

use backwater_lab::fabric::outside::Part;
use backwater_lab::own::{Own, own_flows};
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::expand;
use backwater_sim::{Simulation, Watch};
use backwater_types::hash::Stream;
use backwater_types::{Duration, Instant, SerTime};
use network::{FULL, Parts, fabric, frame, number, overload, own_frame, scenario};
use std::collections::HashMap;

/// A chain of switches with a host at each end.
fn chain(switches: usize) -> String {
    let names: Vec<String> = (1..=switches).map(|n| format!("\"sw{n}\"")).collect();
    let mut ends: Vec<String> = vec!["\"a\"".into()];
    ends.extend(names.iter().cloned());
    ends.push("\"b\"".into());
    let link =
        |pair: &[String]| format!("{{ ends = [{}, {}], rate = \"100 Gbps\", delay = \"1 us\" }}", pair[0], pair[1]);
    let links: Vec<String> = ends.windows(2).map(link).collect();
    format!(
        "scheme = \"bfc\"\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [{}]\nlinks = [{}]\n\
         [host]\npayload = \"952 B\"\nheader = \"48 B\"\n[[workload]]\nkind = \"long-lived\"\ncount = 1\n\
         from = [\"a\"]\nto = [\"b\"]\n[run]\nduration = \"1 ms\"\n",
        names.join(", "),
        links.join(", ")
    )
}

#[test]
fn a_round_trip_on_an_idle_network_takes_the_computed_time() {
    for switches in [1, 3, 8] {
        let scenario = scenario(&chain(switches));
        let graph = expand(&scenario.topology);
        let mut fabric = fabric(&scenario, &graph);
        let ser = SerTime::of(graph.links[0].rate);
        for wire in [64, 500, FULL] {
            let (start, mut ends) = (fabric.reached() + Duration::from_us(5), Vec::new());
            fabric.put(start, 0, &frame(0, 1, 1, wire));
            fabric.run(start + Duration::from_us(100), &mut |at, host, frame| ends.push((at, host, frame.to_vec())));
            let (there, host, bytes) = ends.pop().expect("it arrives");
            assert_eq!((host, bytes), (1, frame(0, 1, 1, wire)), "the frame is unchanged");
            let hop = Duration(ser.of_bytes(wire as u64).0 + 1_000_000);
            assert_eq!(there.since(start).0, hop.0 * (switches as u64 + 1), "{switches} switches, {wire} B");
        }
    }
}

/// Runs the same flows as frames, in one part or in many. Returns those that reached the receiver, by source, and the
/// pauses.
fn run_fabric(scenario: &Scenario, in_parts: bool) -> (HashMap<u8, u64>, u64) {
    let graph = expand(&scenario.topology);
    let mut fabric = match in_parts {
        true => Parts::new(scenario, &graph, Part::each(&graph), None),
        false => Parts::new(scenario, &graph, std::iter::once(Part::All), None),
    };
    let step = SerTime::of(graph.links[0].rate).of_bytes(FULL as u64);
    let (mut received, mut last): (HashMap<u8, u64>, HashMap<u8, u32>) = Default::default();
    let end = Instant::ZERO + scenario.run.duration;
    let mut deliver = |_: Instant, host: u16, bytes: &[u8]| {
        assert_eq!(host, 2);
        let (source, number) = (bytes[29] - 1, number(bytes));
        let before = last.insert(source, number);
        assert!(before.is_none_or(|before| before < number), "frame {number} of {source} follows {before:?}");
        *received.entry(source).or_default() += 1;
    };
    for n in 0.. {
        let at = Instant(n * step.0);
        if at >= end {
            break;
        }
        fabric.put(at, 0, &frame(0, 2, n as u32, FULL));
        fabric.put(at + Duration::from_ns(300), 1, &frame(1, 2, n as u32, FULL));
        fabric.run(at, &mut deliver);
    }
    fabric.run(end, &mut deliver);
    let stats = fabric.stats(end);
    let pauses = stats.iter().map(|s| s.held.bfc_pauses + s.held.flow_pauses + s.held.pfc_pauses).sum();
    (received, pauses)
}

/// A network whose switches are processes of their own gives the same, since the bytes between them carry all that
/// switches need. Pauses of BFC are a check of more than BFC: a flow that changes its queue in the NIC from frame to frame is paused a
/// fifth more often, and keeps its throughput.
#[test]
fn throughput_and_pauses_are_the_simulators() {
    for scheme in ["bfc", "flowsail", "pfc", "ideal-fc", "ideal-fq"] {
        let scenario = scenario(&overload(scheme));
        let outcome = Simulation::new(&scenario, 1).run(&Watch::default());
        let simulated: Vec<f64> = outcome.goodput.iter().map(|bytes| *bytes as f64 / 958.0).collect();
        let paused: u64 = outcome
            .ports
            .iter()
            .map(|row| row.total.held.bfc_pauses + row.total.held.flow_pauses + row.total.held.pfc_pauses)
            .sum();
        for in_parts in [false, true] {
            let (received, pauses) = run_fabric(&scenario, in_parts);
            println!("{scheme}: {received:?} frames, simulated {simulated:?}; {pauses} pauses, simulated {paused}");
            for (source, expected) in simulated.iter().enumerate() {
                let got = received[&(source as u8)] as f64;
                let close = (got / expected - 1.0).abs() < 0.02;
                assert!(close, "{scheme}, source {source}: {got} frames, simulated {expected}");
            }
            let (pauses, paused) = (pauses as f64, paused as f64);
            assert!((pauses - paused).abs() <= 0.02 * paused, "{scheme}: {pauses} pauses, simulated {paused}");
        }
    }
}

/// Frames of random flows through a leaf-spine network with a small buffer, and a link that fails and comes back. In
/// the end each frame was delivered, dropped or refused, and the store is empty.
#[test]
fn no_frame_is_kept_or_lost_track_of() {
    for scheme in ["bfc", "flowsail", "dctcp", "ideal-fq"] {
        let text = format!(
            "scheme = \"{scheme}\"\nswitch.buffer = \"200 KB\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
             hosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_rate = \"100 Gbps\"\ncore_delay = \"1 us\"\n[host]\npayload = \"958 B\"\nheader = \"42 B\"\n\
             [run]\nduration = \"1 ms\"\n[[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\n\
             [[fault]]\nlink = [\"leaf0\", \"spine0\"]\nloss = 0.01\ndown = [[\"100 us\", \"200 us\"]]\n"
        );
        let scenario = scenario(&text);
        let graph = expand(&scenario.topology);
        let mut fabric = fabric(&scenario, &graph);
        let mut draws = Stream::new(3, 4, 5);
        let (mut put, mut delivered) = (0u64, 0u64);
        let mut numbers: HashMap<(u8, u16), u32> = HashMap::new();
        let mut in_order: HashMap<(u8, u16), u32> = HashMap::new();
        for step in 0..30_000u64 {
            let now = Instant(step * 20_000);
            let (src, dst) = ((draws.next_u32() % 8) as u16, [0, 0, 0, 5][(draws.next_u32() % 4) as usize]);
            if src != dst {
                let number = numbers.entry((src as u8, dst)).or_default();
                fabric.put(now, src, &frame(src, dst, *number, 64 + (draws.next_u32() % 937) as usize));
                (*number, put) = (*number + 1, put + 1);
            }
            fabric.run(now, &mut |_, host, bytes| {
                let (flow, number) = ((bytes[29] - 1, host), number(bytes));
                let before = in_order.insert(flow, number);
                // Flows between leaves change their path when a link fails.
                let one_path = flow.0 < 4 && host < 4;
                assert!(!one_path || before.is_none_or(|before| before < number), "{scheme}: {flow:?} is reordered");
                delivered += 1;
            });
        }
        fabric.run(Instant(10_000_000_000), &mut |_, _, _| delivered += 1);
        let (dropped, refused): (u64, u64) =
            (fabric.dropped(), (0..8).map(|h| fabric.refused(h).iter().sum::<u64>()).sum());
        assert_eq!(put, delivered + dropped + refused, "{scheme}: {dropped} dropped, {refused} refused");
        assert_eq!(fabric.frames(), 0, "{scheme}");
        assert!(dropped > 0 && delivered > put / 4, "{scheme}: {delivered} of {put} delivered, {dropped} dropped");
    }
}

/// Twelve flows of 20 Gbps over few queues of a link: a flow gets the less, the more flows share its queue. Switches hash
/// the scenario's own flows as they hash the simulator's, so each gets what it gets there. By other hashes it would not.
#[test]
fn own_flows_share_the_queues_that_they_share_in_the_simulator() {
    let base = overload("bfc");
    let (base, _) = base.split_once("[[workload]]").expect("workloads come last");
    let workload = |n: u32| {
        let from = ["a", "b"][n as usize % 2];
        format!(
            "[[workload]]\nkind = \"long-lived\"\nclass = \"w{n}\"\ncount = 1\nrate = \"20 Gbps\"\nfrom = [\"{from}\"]\n\
             to = [\"r\"]\nstart = \"{} ns\"\n",
            37 * n
        )
    };
    let workloads: String = (0..12).map(workload).collect();
    let text = format!("{base}[switch]\nqueues = 5\nassignment = \"stochastic\"\n{workloads}");
    let scenario = scenario(&text);
    let graph = expand(&scenario.topology);
    let outcome = Simulation::new(&scenario, 1).run(&Watch::default());
    let simulated: Vec<f64> = outcome.goodput.iter().map(|bytes| *bytes as f64 / 958.0).collect();
    let most = |by: &mut dyn Iterator<Item = f64>| by.fold(0.0, f64::max);
    let run = |named: bool| {
        let (mut fabric, own) = (fabric(&scenario, &graph), own_flows(&scenario, &graph));
        if named {
            fabric.name_flows(own.iter().filter_map(Own::name));
        }
        let mut frames: HashMap<(u8, u16), f64> = HashMap::new();
        let mut deliver = |_: Instant, _: u16, bytes: &[u8]| {
            *frames.entry((bytes[29] - 1, u16::from_be_bytes([bytes[34], bytes[35]]))).or_default() += 1.0;
        };
        let step = 5 * SerTime::of(graph.links[0].rate).of_bytes(FULL as u64).0;
        for n in 0..scenario.run.duration.0 / step {
            for one in &own {
                fabric.put(one.flow.at + Duration(n * step), one.flow.src, &own_frame(one, n as u32));
            }
            fabric.run(Instant(n * step), &mut deliver);
        }
        fabric.run(Instant::ZERO + scenario.run.duration, &mut deliver);
        let got = own.iter().map(|one| frames[&(one.flow.src as u8, one.port.unwrap())]);
        let apart = got.zip(&own).map(|(got, one)| (got / simulated[usize::from(one.flow.class)] - 1.0).abs());
        most(&mut apart.collect::<Vec<_>>().into_iter())
    };
    let (named, unnamed) = (run(true), run(false));
    println!("differs by {named:.3} with the simulator's hashes, by {unnamed:.3} with others; simulated {simulated:?}");
    assert!(named < 0.1 && unnamed > 0.3);
}
