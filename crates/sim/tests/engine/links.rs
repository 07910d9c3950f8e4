//! Samples of links over time sum to the ports' counters on any number of threads, and sampling leaves the run
//! unchanged.

use crate::common::{run, scenario};
use backwater_scenario::Scenario;
use backwater_sim::measure::outcome::Outcome;
use backwater_sim::{Simulation, Watch};
use backwater_types::Duration;
use std::collections::HashMap;

const SMALL: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\n\
                     core_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"";

/// Returns a scenario of eight hosts under incast for 200 us, sampled to the end of the run.
fn loaded(keys: &str) -> Scenario {
    scenario(&format!(
        "{keys}\n{SMALL}\n[run]\nduration = \"200 us\"\nwarmup = \"0 s\"\ndrain = 1.0\nall_finish = false\n\
         [measure]\nlinks = \"7 us\"\n\
         [[workload]]\nkind = \"background\"\nsizes = {{ fixed = \"40 KB\" }}\nload = 0.6\n\
         [[workload]]\nkind = \"incast\"\ndegree = 16\naggregate = \"4 MB\"\nperiod = \"60 us\"\n"
    ))
}

/// Returns bytes sent and time paused by `(node, port)`, summed over all periods.
fn sums(outcome: &Outcome) -> HashMap<(u32, u16), (u64, u64)> {
    let mut sums: HashMap<(u32, u16), (u64, u64)> = HashMap::new();
    for sample in &outcome.links {
        let sum = sums.entry((sample.node, sample.port)).or_default();
        (sum.0, sum.1) = (sum.0 + sample.sent, sum.1 + sample.paused);
    }
    sums
}

#[test]
fn periods_add_up_to_what_ports_counted() {
    for keys in ["scheme = \"bfc\"", "scheme = \"pfc\"\nswitch.buffer = \"1 MB\"", "scheme = \"dctcp\""] {
        let outcome = run(&loaded(keys));
        let sums = sums(&outcome);
        for row in &outcome.ports {
            let of = sums.get(&(row.node, row.port)).copied().unwrap_or_default();
            let held = row.total.held.pfc_paused + row.total.held.bfc_paused;
            assert_eq!(of, (row.total.sent.wire_bytes(), held), "{keys}: node {}, port {}", row.node, row.port);
        }
        let held: u64 = sums.values().map(|(_, paused)| paused).sum();
        assert_eq!(held > 0, !keys.contains("dctcp"), "{keys}: {held} ps");
        let last = outcome.links.last().expect("links were busy").at;
        assert_eq!(last.0, 200_000_000, "the last period ends with the run, cut short");
        assert!(outcome.links.iter().all(|sample| sample.at.0 % 7_000_000 == 0 || sample.at == last));
    }
}

/// FlowSail's frames name flows, so from none to all of them are paused at any time.
#[test]
fn flows_are_held_one_by_one() {
    for scheme in ["flowsail", "ideal-fc"] {
        let outcome = run(&loaded(&format!("scheme = \"{scheme}\"")));
        let held: u64 = sums(&outcome).values().map(|(_, paused)| paused).sum();
        let flows = outcome.received.len() as u64;
        assert!(held > 0 && held < flows * 200_000_000, "{scheme}: {held} ps over {flows} flows");
        let at_hosts = outcome.links.iter().filter(|sample| (sample.node as usize) < outcome.graph.hosts);
        assert!(at_hosts.map(|sample| sample.paused).sum::<u64>() > 0, "{scheme}: hosts are held too");
    }
}

#[test]
fn nothing_else_changes_and_threads_do_not_matter() {
    for keys in ["scheme = \"bfc\"", "scheme = \"flowsail\""] {
        let with = loaded(keys);
        let mut without = with.clone();
        without.measure.links = Duration::ZERO;
        let run = |scenario: &Scenario, threads| Simulation::new(scenario, threads).run(&Watch::default());
        let (one, three, plain) = (run(&with, 1), run(&with, 3), run(&without, 1));
        assert_eq!(one.digest.whole, three.digest.whole, "{keys}");
        assert_eq!(one.links, three.links, "{keys}");
        assert!(plain.links.is_empty() && plain.digest.whole != one.digest.whole, "{keys}: it is among what counts");
        let tables = |outcome: &Outcome| {
            let tables = outcome.digest.tables.iter().filter(|(name, _)| *name != "links");
            tables.cloned().collect::<Vec<_>>()
        };
        assert_eq!(tables(&one), tables(&plain), "{keys}");
    }
}
