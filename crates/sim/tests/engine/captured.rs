//! Captures of ports: what leaves one end of a link arrives at the other, whatever the number of threads.

use crate::common::scenarios::scenario;
use backwater_sim::record::Wanted;
use backwater_sim::record::capture::{CaptureWanted, Captured, Crossing};
use backwater_sim::{Outcome, Simulation, Watch, ports};
use backwater_types::{Duration, Kind, PortId, SerTime};

/// A leaf-spine network whose link from leaf 0 to the spine loses packets and fails for a while.
fn text(scheme: &str) -> String {
    format!(
        "scheme = \"{scheme}\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"2 us\"\n\
         [run]\nduration = \"300 us\"\n[[workload]]\nkind = \"background\"\nsizes = {{ table = \"fb_hadoop\" }}\n\
         load = 0.6\n[[workload]]\nkind = \"incast\"\ndegree = 4\naggregate = \"100 KB\"\nperiod = \"50 us\"\n\
         [[fault]]\nlink = [\"leaf0\", \"spine0\"]\nloss = 0.01\ndown = [[\"100 us\", \"130 us\"]]\n"
    )
}

/// Runs it, and captures both ends of the link from leaf 0 to the spine, and the port of host 0.
fn capture(scheme: &str, threads: usize, at_most: usize) -> (Outcome, Vec<(u32, PortId)>) {
    let scenario = scenario(&text(scheme));
    let simulation = Simulation::new(&scenario, threads);
    let (graph, links) = (&simulation.graph, ports(&simulation.graph));
    let [leaf, spine] = ["leaf0", "spine0"].map(|name| graph.find(name).expect("a node"));
    let link = *links[leaf].iter().find(|link| links[spine].contains(link)).expect("a link");
    let port = |node: usize| links[node].iter().position(|other| *other == link).expect("its port") as PortId;
    let wanted = vec![(leaf as u32, port(leaf)), (spine as u32, port(spine)), (0, 0)];
    let capture = Some(CaptureWanted { ports: wanted.clone(), at_most });
    (simulation.record(&Wanted { capture, ..Wanted::default() }, &Watch::default()), wanted)
}

fn of(captured: &Captured, port: u32, arrives: bool) -> Vec<Crossing> {
    let of = |one: &&Crossing| (one.port, one.arrives) == (port, arrives);
    captured.packets.iter().filter(of).copied().collect()
}

#[test]
fn what_leaves_one_end_arrives_at_the_other() {
    for scheme in ["bfc", "flowsail", "pfc"] {
        let (outcome, wanted) = capture(scheme, 1, usize::MAX);
        let captured = &outcome.recorded.captured;
        assert_eq!(captured.left_out, 0);
        for (place, port) in wanted.iter().zip(0..) {
            let row = outcome.ports.iter().find(|row| (row.node, row.port) == *place).expect("a row");
            let data = of(captured, port, false).iter().filter(|one| one.packet.kind == Kind::Data).count();
            assert_eq!(data as u64, row.total.sent.data().packets, "{scheme}, port {port}");
        }
        let mut frames = 0;
        let link = outcome.graph.links.iter().find(|link| link.delay == Duration::from_us(2)).expect("a core link");
        for (from, to) in [(0, 1), (1, 0)] {
            let (left, arrived) = (of(captured, from, false), of(captured, to, true));
            let expected: Vec<Crossing> = left
                .iter()
                .map(|one| {
                    let at = one.at + SerTime::of(link.rate).of_bytes(one.packet.wire.into()) + link.delay;
                    Crossing { at, port: to, arrives: true, ..*one }
                })
                .collect();
            let mut expected = expected.iter();
            assert!(arrived.iter().all(|one| expected.any(|other| other == one)), "{scheme}: in order, with gaps");
            let lost = left.len() - arrived.len();
            assert!(lost > 0 && lost * 10 < left.len(), "{scheme}: {lost} of {} are lost", left.len());
            frames += arrived.iter().filter(|one| one.packet.kind == Kind::Control).count();
        }
        assert!(frames > 0 || scheme == "pfc", "{scheme}: control frames cross the link");
    }
}

#[test]
fn a_capture_does_not_depend_on_threads_and_changes_nothing() {
    let plain = Simulation::new(&scenario(&text("bfc")), 1).run(&Watch::default());
    let (one, _) = capture("bfc", 1, 5000);
    let (two, _) = capture("bfc", 2, 5000);
    assert_eq!((&one.digest, &two.digest), (&plain.digest, &plain.digest));
    assert_eq!(one.recorded.captured.packets.len(), 5000);
    assert_eq!(one.recorded.captured, two.recorded.captured);
    let (all, _) = capture("bfc", 2, usize::MAX);
    let captured = (&all.recorded.captured, &one.recorded.captured);
    assert_eq!(captured.0.packets[..5000], captured.1.packets[..], "the first ones");
    assert_eq!(captured.0.packets.len() as u64, 5000 + captured.1.left_out);
}
