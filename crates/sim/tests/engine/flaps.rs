//! Links that fail and recover: routes avoid them, no pause remains, and flows finish.

use crate::common::log::Log;
use crate::common::{audited, logged, node, scenario};
use backwater_scenario::Scenario;
use backwater_sim::Outcome;
use backwater_types::{DropReason, Instant};

/// Returns a scenario of two leaves and two spines, with a flow from leaf 0 to leaf 1 every 2 us.
fn clos(scheme: &str, fault: &str) -> Scenario {
    let flow = |i: usize| {
        format!(
            "{{ start = \"{} us\", src = \"host{}\", dst = \"host{}\", bytes = \"30 KB\" }}",
            2 * i,
            i % 4,
            4 + i % 4
        )
    };
    let flows: Vec<String> = (0..100).map(flow).collect();
    scenario(&format!(
        "scheme = \"{scheme}\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n\
         [host]\nrto = \"300 us\"\nnack_guard = \"30 us\"\n[run]\nduration = \"3 ms\"\nwarmup = \"0 s\"\n[measure]\nsample = \"0 s\"\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [{}]\n{fault}",
        flows.join(", ")
    ))
}

const SCHEMES: [&str; 10] =
    ["bfc", "bfc-stochastic", "bfc-single", "bfc-flow-id", "dctcp", "pfc", "ideal-fq", "fifo", "flowsail", "ideal-fc"];

/// Returns the times at which data left on the link from `node` to `peer`.
fn crossings(outcome: &Outcome, log: &Log, node: usize, peer: usize) -> Vec<u64> {
    let row = outcome.ports.iter().find(|row| (row.node as usize, row.peer as usize) == (node, peer)).expect("a link");
    log.departed.iter().filter(|d| (d.1, d.2) == (node, row.port)).map(|d| d.0).collect()
}

#[test]
fn routes_avoid_a_link_that_is_down_and_take_it_up_again() {
    let (from, to) = (50_000_000, 120_000_000);
    for scheme in SCHEMES {
        let fault = "[[fault]]\nlink = [\"leaf0\", \"spine1\"]\ndown = [[\"50 us\", \"120 us\"]]\n";
        let (outcome, log) = logged(&clos(scheme, fault));
        let leaf = node(&outcome, "leaf0");
        let over = |spine: &str| crossings(&outcome, &log, leaf, node(&outcome, spine));
        let (failing, sound) = (over("spine1"), over("spine0"));
        let during = |times: &[u64], slack: u64| times.iter().filter(|at| (from + slack..to).contains(*at)).count();
        // Packets already queued are lost: at most 100 KB, 8 us.
        assert_eq!(during(&failing, 8_000_000), 0, "{scheme}: nothing is routed there");
        assert!(during(&sound, 0) > 500, "{scheme}: the other way carries all");
        assert!(failing.iter().any(|at| *at < from) && failing.iter().any(|at| *at > to), "{scheme}: before and after");
        assert!(outcome.acknowledged.iter().all(|at| at != Instant::NEVER), "{scheme}: every flow finishes");
    }
}

#[test]
fn whatever_flaps_flows_recover_and_nothing_stays_held() {
    let link = |a: &str, b: &str, down: &str| format!("[[fault]]\nlink = [\"{a}\", \"{b}\"]\ndown = [{down}]\n");
    let twice = "[\"20 us\", \"21 us\"], [\"60 us\", \"180 us\"]";
    for scheme in SCHEMES {
        for faults in [
            link("leaf0", "spine0", twice),
            link("host5", "leaf1", twice),
            link("host0", "leaf0", "[\"3 us\", \"400 us\"]"),
            // Both links are down at once, so that no route is left for a while.
            link("leaf1", "spine0", "[\"40 us\", \"90 us\"]") + &link("leaf1", "spine1", "[\"70 us\", \"110 us\"]"),
        ] {
            let (outcome, report) = audited(&clos(scheme, &faults), 1);
            assert!(report.faults.is_empty(), "{scheme}: {:?}\n{faults}", report.faults);
            assert!(report.quiescent && report.counts["link changes"] > 0);
            assert!(outcome.acknowledged.iter().all(|at| at != Instant::NEVER));
        }
    }
}

/// Expects the loss of exactly the frames that are on the link, from first bit sent to last bit received, at any time
/// it is down.
#[test]
fn exactly_the_frames_on_the_link_are_lost() {
    // Host 0 sends 300 packets: packet i is on the link from 83 840 i to 83 840 (i + 1) + 1 us.
    let (down, up) = (5_000_000u64, 5_200_000u64);
    let text = format!(
        "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         [host]\nnack_guard = \"1 ms\"\nrto = \"2 ms\"\n[run]\nduration = \"20 us\"\nwarmup = \"0 s\"\ndrain = 1.0\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\nsize = \"300 KB\"\n\
         [[fault]]\nlink = [\"host0\", \"switch0\"]\ndown = [[\"{down} ps\", \"{up} ps\"]]\n"
    );
    let (_, log) = logged(&scenario(&text));
    let packet = 83_840;
    let lost = (0..100u64).filter(|i| i * packet < up && down <= (i + 1) * packet + 1_000_000).count();
    assert_eq!(log.dropped.iter().filter(|d| d.1 == 0 && d.3 == DropReason::LinkDown).count(), lost);
    let first = log.dropped.iter().find(|d| d.1 == 0).expect("some are lost");
    let expected = (0..).find(|i| (i + 1) * packet + 1_000_000 >= down).map(|i: u64| i * packet);
    assert_eq!(Some(first.0), expected);
}
