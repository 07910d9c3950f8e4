//! With losses, failing links and buffers of a few packets, every event keeps all rules, and every flow finishes.

use crate::common::audit::Report;
use crate::common::watched;
use crate::conformance::registry::{Subject, all, each, everyday};
use backwater_dataplane::CreditParams;
use backwater_scenario::Scenario;
use backwater_scenario::model::Backpressure;
use backwater_schemes::build::headroom;
use backwater_sim::Outcome;
use backwater_types::{BitsPerSec, Duration, Instant};

/// Returns a dumbbell with three flows across and one back, of 200 KB each, and later small ones.
pub(super) fn crowd(more: &str) -> String {
    let flow = |start: u64, src: u64, dst: u64, bytes: u64| {
        format!("  {{ start = \"{start} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"{bytes} B\" }},\n")
    };
    let flows: String = [(0, 0, 3, 200_000), (0, 1, 3, 200_000), (2_000, 2, 4, 200_000), (3_000, 4, 0, 200_000)]
        .into_iter()
        .chain((0..12).map(|i| (5_000 + 3_000 * i, i % 3, 3 + i % 2, 1 + 1500 * i)))
        .map(|(start, src, dst, bytes)| flow(start, src, dst, bytes))
        .collect();
    format!(
        "[topology]\nkind = \"dumbbell\"\nleft = 3\nright = 2\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         bottleneck_rate = \"100 Gbps\"\nbottleneck_delay = \"1 us\"\n[measure]\nsample = \"5 us\"\n\
         [run]\nduration = \"100 us\"\nwarmup = \"0 s\"\ndrain = 20000.0\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [\n{flows}]\n{more}"
    )
}

/// Checks that the run breaks no rule and finishes every flow.
fn sound(name: &str, scenario: &Scenario) -> (Outcome, Report) {
    let (outcome, report) = watched(scenario, 1, None);
    assert!(report.faults.is_empty(), "{name}: {:?}", report.faults);
    let open = outcome.acknowledged.iter().filter(|at| *at == Instant::NEVER).count();
    assert_eq!(open, 0, "{name}: flows without end");
    (outcome, report)
}

pub(super) fn lossy(share: f64) -> String {
    let link =
        |a: &str, b: &str| format!("[[fault]]\nlink = [\"{a}\", \"{b}\"]\nloss = {share}\ncontrol_loss = {share}\n");
    link("switch0", "switch1") + &link("host0", "switch0")
}

#[test]
fn random_loss_is_repaired() {
    each(all(), |subject| {
        for share in everyday([0.05, 0.001]) {
            let name = format!("{}, loss of {share}", subject.name);
            let (_, report) = sound(&name, &subject.scenario(&crowd(&lossy(share))));
            let lost = report.counts.get("lost: link loss").copied().unwrap_or(0);
            println!("{name}: {lost} lost");
            assert!(lost > 0 || share < 0.01, "{name}: nothing was lost");
        }
    });
}

#[test]
fn links_go_down_and_come_back() {
    each(all(), |subject| {
        for (a, b) in [("switch0", "switch1"), ("host0", "switch0"), ("switch1", "host3")] {
            let fault = format!(
                "[[fault]]\nlink = [\"{a}\", \"{b}\"]\ndown = [[\"12 us\", \"40 us\"], [\"45 us\", \"46 us\"]]\n"
            );
            let name = format!("{}, {a} - {b} down", subject.name);
            let (_, report) = sound(&name, &subject.scenario(&crowd(&fault)));
            assert!(report.counts.get("link changes").is_some_and(|n| *n >= 4), "{name}: nothing happened");
        }
    });
}

/// Returns a scenario with buffer for this many full packets, beside the memory that PFC or credits set aside for the
/// four ports.
fn tiny(subject: &Subject, packets: u64) -> Scenario {
    let ships = subject.scenario(&crowd(""));
    let (host, switch) = (&ships.host, &ships.switch);
    let room =
        headroom(host, &ships.conventions, BitsPerSec(100_000_000_000), Duration::from_us(1)).0 + switch.pfc.reserve.0;
    let credits = switch.bfc.credits.as_ref().filter(|_| switch.grants_credits());
    let reserve = |credits: &CreditParams| {
        credits.reserve(BitsPerSec(100_000_000_000), Duration::from_us(1), host.full_packet().0)
    };
    let set_aside = match switch.backpressure {
        Backpressure::Pfc => 4 * room,
        _ => 4 * credits.map_or(0, reserve),
    };
    let bytes = set_aside + packets * host.full_packet().0;
    let mut small = subject.with(&format!("switch.buffer = \"{bytes} B\"\nswitch.mmu.private = \"0 B\""));
    if switch.pool_ecn.is_some() {
        small = small.with(&format!("switch.pool_ecn.kmin = \"0 B\"\nswitch.pool_ecn.kmax = \"{bytes} B\""));
    }
    small.scenario(&crowd(""))
}

#[test]
fn buffers_of_a_few_packets_suffice() {
    each(all(), |subject| {
        for packets in everyday([3, 8]) {
            let name = format!("{}, {packets} packets of buffer", subject.name);
            sound(&name, &tiny(subject, packets));
        }
    });
}
