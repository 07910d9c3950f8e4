//! `compat = "hpcc-sim"` against numbers computed by hand from the rules of the public HPCC simulator
//! (docs/fidelity.md).
//!
//! In these rules a 1048 B packet takes 83 ns on a 100 Gb/s link, a 60 B ACK takes 4 ns, and links delay by 1000 ns. A
//! flow ends when its last ACK arrives at its sender. Each test prints its results: `cargo test --release -p
//! backwater-sim --test engine hpcc_sim -- --nocapture`.

use crate::common::{audited, cases, run, scenario};
use backwater_sim::Outcome;

/// Returns the times from arrival to last ACK in order of arrival, ns.
fn completions(outcome: &Outcome) -> Vec<u64> {
    outcome.flows().map(|row| (row.acknowledged.0 - row.flow.at.0) / 1000).collect()
}

/// Returns a scenario of listed flows `(start ns, source, destination, bytes)` in the profile.
fn profile(scheme: &str, topology: &str, flows: &[(u64, usize, usize, u64)]) -> backwater_scenario::Scenario {
    let flows: String = flows
        .iter()
        .map(|(start, src, dst, bytes)| {
            format!(
                "  {{ start = \"{start} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"{bytes} B\" }},\n"
            )
        })
        .collect();
    scenario(&format!(
        "scheme = \"{scheme}\"\ncompat = \"hpcc-sim\"\n[topology]\n{topology}\n\
         [run]\nduration = \"10 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n[measure]\nsample = \"0 s\"\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [\n{flows}]\n"
    ))
}

/// Returns a dumbbell: hosts 0 to `left - 1` on one switch, one host on another, with three links between hosts.
fn dumbbell(left: usize) -> String {
    format!(
        "kind = \"dumbbell\"\nleft = {left}\nright = 1\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         bottleneck_rate = \"100 Gbps\"\nbottleneck_delay = \"1 us\"\n"
    )
}

fn star(hosts: usize) -> String {
    format!("kind = \"single-switch\"\nhosts = {hosts}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n")
}

/// Expects 10 000 packets of 83 ns, two more transmissions of the last one, 3 x 1000 ns forward, and 3 x (4 + 1000) ns
/// for an ACK.
#[test]
fn a_lone_flow_takes_what_the_formula_says() {
    for scheme in ["dctcp", "pfc"] {
        let scenario = profile(scheme, &dumbbell(1), &[(0, 0, 1, 10_000_000)]);
        let outcome = run(&scenario);
        let row = outcome.flows().next().expect("one flow");
        println!("{scheme}: lone 10 MB flow {} ns, standalone {} ns", completions(&outcome)[0], row.ideal / 1000);
        assert_eq!(completions(&outcome), [10_000 * 83 + 2 * 83 + 3_000 + 3 * 4 + 3_000]);
        // Base round trip 2 x 3000 + 3 x 80; 10 480 000 B at 100 Gb/s.
        assert_eq!(row.ideal / 1000, 6_240 + 838_400);
    }
}

/// Expects the shared link never to idle after its first packet. Packet n is acknowledged (n + 2) x 83 ns + 3 x 1000 ns
/// + 3 x 1004 ns after the start.
///
/// The first flow sends 1 205 packets alone, up to 100 us, then every other one. Its last packet is 1 205 + 2 x 8 795 =
/// 18 795. The second flow's last is packet 20 000, and the flow started 100 us later. DCTCP gives the same times as
/// PFC alone, since two windows stay below 300 KB and cause no marks.
#[test]
fn two_flows_share_a_link_packet_by_packet() {
    let end = |packet: u64| (packet + 2) * 83 + 3_000 + 3 * 1_004;
    for scheme in ["pfc", "dctcp"] {
        let flows = [(0, 0, 2, 10_000_000), (100_000, 1, 2, 10_000_000)];
        let outcome = run(&profile(scheme, &dumbbell(2), &flows));
        println!("{scheme}: two 10 MB flows, 100 us apart: {:?} ns", completions(&outcome));
        assert_eq!(completions(&outcome), [end(18_795), end(20_000) - 100_000]);
        assert_eq!(completions(&outcome), [1_566_163, 1_566_178]);
    }
}

/// Expects the port never to idle under PFC alone. The last 16 of its 3 200 packets end the flows in turn, 15 x 83 ns
/// from first to last. Under DCTCP the first flow ends twelve packets before the second, and the rest is the same.
#[test]
fn sixteen_flows_into_one_port() {
    for (scheme, range) in [("dctcp", 267_450..=269_691), ("pfc", 268_446..=269_691)] {
        let flows: Vec<_> = (0..16).map(|i| (0, i, 16, 200_000)).collect();
        let outcome = run(&profile(scheme, &star(17), &flows));
        let times = completions(&outcome);
        let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        println!("{scheme}: 16 x 200 KB into one port: {first} to {last} ns");
        assert_eq!((first, last), (range.start(), range.end()), "{times:?}");
    }
}

#[test]
fn every_event_of_a_profile_run_holds_up() {
    let flows: Vec<_> = (0..16).map(|i| (i * 1000, i as usize, 16, cases(300_000, 1_000_000))).collect();
    for scheme in ["dctcp", "pfc"] {
        let (outcome, report) = audited(&profile(scheme, &star(17), &flows), 1);
        assert!(completions(&outcome).iter().all(|ns| *ns > 0));
        assert!(report.faults.is_empty() && report.quiescent, "{scheme}: {:?}", report.faults);
    }
}
