//! Priority classes on whole networks.

use crate::common::{scenario, watched};
use backwater_sim::Outcome;
use backwater_types::Instant;

/// Time of a full packet at 100 Gb/s, ps.
const PACKET: u64 = 83_840;

/// A flow: start in ns, source, destination, packets.
type Listed = (u64, u32, u32, u64);

/// Runs flows by class on one switch with nine hosts, 2 us from host to host and 2 us back. Flows of different classes
/// must start at different times.
fn listed(scheme: &str, groups: u8, classes: &[&[Listed]]) -> Outcome {
    let row = |(start, src, dst, packets): &Listed| {
        let bytes = packets * 1000;
        format!("  {{ start = \"{start} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"{bytes} B\" }},\n")
    };
    let workload = |(class, flows): (usize, &&[Listed])| {
        let (rows, priority) = (flows.iter().map(row).collect::<String>(), if groups > 1 { class } else { 0 });
        let head = format!("[[workload]]\nkind = \"flow-list\"\nclass = \"{class}\"\npriority = {priority}\n");
        format!("{head}flows = [\n{rows}]\n")
    };
    let workloads: String = classes.iter().enumerate().map(workload).collect();
    let scenario = scenario(&format!(
        "scheme = \"{scheme}\"\nswitch.priority_groups = {groups}\n[topology]\nkind = \"single-switch\"\nhosts = 9\n\
         rate = \"100 Gbps\"\ndelay = \"1 us\"\n[run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n{workloads}"
    ));
    let (outcome, report) = watched(&scenario, 1, None);
    assert!(report.faults.is_empty(), "{scheme}: {:?}", report.faults);
    assert!(outcome.received.iter().all(|at| at != Instant::NEVER), "{scheme}");
    outcome
}

/// Expects a flow of the higher class to wait only for one packet in transmission at its NIC and at the port. Flows of
/// the lower class come from seven other hosts and from its own. Without classes, the flow shares the link with them.
#[test]
fn a_flow_does_not_notice_lower_classes() {
    let low: Vec<Listed> = (1..8).map(|k| (0, k, 8, 150)).chain([(0, 0, 8, 150), (0, 0, 7, 150)]).collect();
    let start = 8_400; // ns, while packet 100 of the NIC is in transmission
    for scheme in ["bfc", "bfc-stochastic", "dctcp", "dcqcn", "dqa", "pfc"] {
        let taken = |groups: u8| {
            let outcome = listed(scheme, groups, &[&[(start, 0, 8, 50)], &low]);
            outcome.received.iter().last().expect("it starts last").0 - start * 1000
        };
        let (alone, late) = (2_000_000 + 51 * PACKET, 2 * PACKET);
        let with = taken(2);
        assert!(with >= alone && with <= alone + late, "{scheme}: {with} ps, {alone} ps alone");
        assert!(taken(1) > alone + 50 * PACKET, "{scheme}: it shares the link without classes");
    }
}

/// Expects flows of four classes, from a host each to one host, to finish in the order of classes without idling the
/// link.
#[test]
fn classes_are_done_in_their_order() {
    for scheme in ["bfc", "bfc-stochastic", "dctcp", "dqa"] {
        let flow = |class: u32| [(class.into(), class, 8, 100)];
        let outcome = listed(scheme, 4, &[&flow(0), &flow(1), &flow(2), &flow(3)]);
        for (class, at) in outcome.received.iter().enumerate() {
            // All packets of higher classes, and one packet of each class that came first.
            let least = 2_000_000 + (100 * (class as u64 + 1) + 1) * PACKET;
            // A flow resumed by BFC arrives a hop's round trip later; meanwhile lower classes send.
            let resumed = if scheme.starts_with("bfc") { 2_000_000 } else { 0 };
            let most = least + 4 * PACKET + resumed;
            assert!(
                (least..=most).contains(&at.0),
                "{scheme}: class {class} is done at {at:?}, not {least} to {most} ps"
            );
        }
    }
}
