//! Links over time, queueing delay and active flows of the lab equal those of the simulator. Both run in virtual time and
//! carry the same datagrams at the same times. The lab's network is in one process, or each switch in one of its own.

mod network;

use backwater_lab::fabric::outside::Part;
use backwater_lab::own::own_flows;
use backwater_measure::{Outcome, tables};
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::expand;
use backwater_sim::{Simulation, Watch};
use backwater_types::{Instant, SerTime};
use network::{FULL, Parts, own_frame, scenario};

/// Hosts `a` and `b` at a switch, and `d` and `r` at another. All others send to `r`. No rate of a link is a multiple of
/// another, so hardly two events are simultaneous. Chance would decide between them.
fn tree(scheme: &str, flows: &[(&str, &str, &str)], over: &str) -> Scenario {
    let workload = |(from, rate, start): &(&str, &str, &str)| {
        format!(
            "[[workload]]\nkind = \"long-lived\"\nclass = \"{from}\"\ncount = 1\nrate = \"{rate}\"\nfrom = [\"{from}\"]\n\
             to = [\"r\"]\nstart = \"{start}\"\n"
        )
    };
    let workloads: String = flows.iter().map(workload).collect();
    let link = |(a, b, rate): (&str, &str, &str)| {
        format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"{rate} Gbps\", delay = \"1 us\" }}")
    };
    let links =
        [("a", "sw1", "100"), ("b", "sw1", "100"), ("d", "sw2", "100"), ("sw1", "sw2", "97"), ("sw2", "r", "89")];
    let links = links.map(link).join(", ");
    scenario(&format!(
        "scheme = \"{scheme}\"\nseed = 1\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\", \"d\", \"r\"]\n\
         switches = [\"sw1\", \"sw2\"]\nlinks = [{links}]\n[host]\npayload = \"958 B\"\nheader = \"42 B\"\n\
         {over}{workloads}"
    ))
}

/// `a` and `b` overload the link between the switches, and with `d` that to `r`. Each has a rate of its own, so that each
/// port has counts of its own.
fn overloads(scheme: &str, duration: &str) -> Scenario {
    let flows = [("a", "99 Gbps", "1 ns"), ("b", "61 Gbps", "300 ns"), ("d", "20 Gbps", "20013 ns")];
    let over = format!(
        "[run]\nduration = \"{duration}\"\nwarmup = \"50 us\"\n[measure]\nsample = \"2 us\"\nlinks = \"10 us\"\n\
         queueing_delay = true\nactive_flows = true\nvalleys = true\n"
    );
    tree(scheme, &flows, &over)
}

fn simulated(scenario: &Scenario) -> Outcome {
    Simulation::new(scenario, 1).run(&Watch::default())
}

/// Puts the scenario's own datagrams in when the simulator's hosts write theirs. Returns the measurements of the network
/// in one process, and of one whose switches are processes.
fn carried(scenario: &Scenario) -> [Outcome; 2] {
    let graph = expand(&scenario.topology);
    let own = own_flows(scenario, &graph);
    let end = Instant::ZERO + scenario.run.duration;
    let mut sent: Vec<(Instant, usize, u32)> = Vec::new();
    for (i, one) in own.iter().enumerate() {
        let rate = scenario.workload[usize::from(one.flow.class)].rate().expect("each has a rate");
        let (mut at, step) = (one.flow.at, SerTime::of(rate).of_bytes(FULL as u64));
        for number in 0.. {
            if at >= end {
                break;
            }
            sent.push((at, i, number));
            at += step;
        }
    }
    sent.sort_unstable();
    let whole = Parts::new(scenario, &graph, std::iter::once(Part::All), None);
    [whole, Parts::new(scenario, &graph, Part::each(&graph), None)].map(|mut fabric| {
        fabric.name_flows(&own);
        fabric.measure();
        for (at, i, number) in &sent {
            fabric.put(*at, own[*i].flow.src, &own_frame(&own[*i], *number));
            fabric.run(*at, &mut |_, _, _| {});
        }
        fabric.run(end, &mut |_, _, _| {});
        fabric.measured()
    })
}

/// Ports that are measured: of each host but `r` to its switch, and of each switch towards `r`.
const PORTS: [(u32, u16); 5] = [(0, 0), (1, 0), (2, 0), (4, 2), (5, 1)];

/// Bytes sent, mean bytes queued, and time paused, of one port over the run.
fn of_link(outcome: &Outcome, (node, port): (u32, u16)) -> [f64; 3] {
    let samples = outcome.links.iter().filter(|sample| (sample.node, sample.port) == (node, port));
    let sums = samples.fold([0, 0, 0], |[sent, queued, paused], sample| {
        [sent + sample.sent, queued + sample.queued, paused + sample.paused]
    });
    let periods = outcome.scenario.run.duration.0.div_ceil(outcome.scenario.measure.links.0);
    [sums[0] as f64, sums[1] as f64 / periods as f64, sums[2] as f64]
}

/// Number of delays, and their mean in nanoseconds.
fn of_delays(outcome: &Outcome) -> (u64, f64) {
    let [(1, delays)] = &outcome.delays[..] else { panic!("both switches are beside hosts") };
    let count = delays.bins().map(|(.., count)| count).sum();
    (count, delays.sum as f64 / count as f64 / 1000.0)
}

/// Mean number of active flows at a port.
fn active(outcome: &Outcome, (node, port): (u32, u16)) -> f64 {
    let mut ports = outcome.samples.active_flows.ports();
    let (.., counts) = ports.find(|(n, p, _)| (*n, *p) == (node, port)).expect("every port of a switch has samples");
    let sum: u64 = counts.iter().zip(0..).map(|(samples, flows)| samples * flows).sum();
    sum as f64 / counts.iter().sum::<u64>() as f64
}

fn equal(found: &Outcome, expected: &Outcome, names: &[&str]) {
    for name in names {
        assert_eq!(tables::table(found, name), tables::table(expected, name), "table {name}");
    }
}

const EVERY: [&str; 6] = ["links", "queueing_delay", "active_flows", "buffers", "ports", "drops"];

#[test]
fn without_pauses_every_table_is_the_simulators() {
    let scenario = overloads("fifo", "203 us");
    let expected = simulated(&scenario);
    for found in carried(&scenario) {
        equal(&found, &expected, &EVERY);
        assert_eq!(found.valleys, Some(0));
        // No port has the counts of another, and the overloaded ones queue.
        let links = PORTS.map(|port| of_link(&found, port));
        for (i, one) in links.iter().enumerate() {
            assert!(one[0] > 400e3 && one[2] == 0.0, "port {i}: {one:?}");
            assert!(links[..i].iter().all(|other| other[0] != one[0]), "port {i}: {links:?}");
        }
        assert!(links[3][1] > 100e3 && links[4][1] > 150e3, "{links:?}");
        let (count, mean) = of_delays(&found);
        assert!(count > 3_000 && mean > 10e3, "{count} delays, {mean} ns in the mean");
        let [core, last] = [PORTS[3], PORTS[4]].map(|port| active(&found, port));
        assert!((core - 2.0).abs() < 0.1 && (last - 3.0).abs() < 0.1, "{core} and {last} flows");
    }
}

/// Pauses of queues, of flows and of whole ports, of hosts and of a switch. Nothing is left to chance, so all is equal.
#[test]
fn with_pauses_every_table_is_the_simulators() {
    for scheme in ["bfc", "flowsail", "ideal-fc"] {
        let scenario = overloads(scheme, "203 us");
        let expected = simulated(&scenario);
        let [found, in_parts] = carried(&scenario);
        equal(&found, &expected, &EVERY);
        // At time 0 parts say hello, and BFC then sends a bitmap more.
        if scheme != "bfc" {
            equal(&in_parts, &expected, &EVERY);
        }
        assert_eq!(found.held, expected.held, "{scheme}");
        assert_eq!(in_parts.held.len(), expected.held.len(), "{scheme}");
        assert_eq!(found.held.is_empty(), scheme == "bfc", "the core's port is paused as a whole, or its one queue");
        let held = PORTS.map(|port| of_link(&found, port)[2]);
        assert!(held[0] != held[1] && held[1] != held[3] && held[2] == 0.0 && held[4] == 0.0, "{scheme}: {held:?}");
        assert!([0, 1, 3].iter().all(|port| held[*port] > 1e8), "{scheme}: {held:?}");
    }
    let scenario = overloads("pfc", "2 ms");
    let (expected, [found, _]) = (simulated(&scenario), carried(&scenario));
    equal(&found, &expected, &["links", "queueing_delay", "active_flows", "buffers"]);
    let held = PORTS.map(|port| of_link(&found, port)[2]);
    assert!(held[0] > held[1] && held[1] > held[3] && held[3] > 1e8 && held[2] + held[4] == 0.0, "{held:?}");
}

/// In parts, BFC and PFC send frames at time 0 too, after the hellos. So later events differ by some packets from those
/// of the simulator, as between two seeds. The sums over 2 ms agree.
#[test]
fn in_parts_pauses_of_bfc_and_pfc_are_close_to_the_simulators() {
    for (scheme, share) in [("bfc", 0.1), ("pfc", 0.001)] {
        let scenario = overloads(scheme, "2 ms");
        let (expected, [_, found]) = (simulated(&scenario), carried(&scenario));
        let close = |what: &str, of: &dyn Fn(&Outcome) -> f64| {
            let (found, expected) = (of(&found), of(&expected));
            println!("{scheme}, {what}: {found}, simulated {expected}");
            assert!((found - expected).abs() <= share * expected, "{scheme}, {what}: {found}, simulated {expected}");
        };
        for port in PORTS {
            for (i, what) in ["sent", "queued", "held"].iter().enumerate() {
                close(&format!("{port:?} {what}"), &|outcome| of_link(outcome, port)[i]);
            }
        }
        for port in [PORTS[3], PORTS[4]] {
            close(&format!("{port:?} active flows"), &|outcome| active(outcome, port));
        }
        close("delay", &|outcome| of_delays(outcome).1);
    }
}

/// At a full link every frame begins at a multiple of 80 ns, so each sample falls on one: it comes before the frame, as in
/// the simulator. At time 0 there is none.
#[test]
fn a_sample_comes_before_the_events_of_its_time() {
    let over = "[run]\nduration = \"30 us\"\nwarmup = \"0 s\"\n[measure]\nsample = \"2 us\"\nlinks = \"2 us\"\n\
                active_flows = true\n";
    let scenario = tree("fifo", &[("a", "100 Gbps", "0 s")], over);
    let expected = simulated(&scenario);
    assert_eq!(of_link(&expected, PORTS[0])[0], 15.0 * 25_000.0, "25 frames in each period");
    for found in carried(&scenario) {
        equal(&found, &expected, &["links", "active_flows", "buffers"]);
    }
}
