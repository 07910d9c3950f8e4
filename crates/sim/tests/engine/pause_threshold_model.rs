//! The pause-threshold model of BFC's appendix C against the simulator (spec C.2).
//!
//! One endless flow enters a switch at x times the rate at which it leaves; Th = a HRTT mu. The egress idles for this
//! share of the time:
//!
//! ```text
//! E(x, a) = (x - 1) / (a x + x^2 - 1)
//! ```
//!
//! Set-up: a NIC at x times 100 Gb/s and propagation of 1 us each way, so HRTT = 2 us, and a = 1 is a threshold of 25
//! 000 B. With one flow in one queue, the last counted packet is the last of the queue. The model's resume rule, "the
//! queue is empty", therefore holds up to that packet. RESUME is sent when the packet's transmission starts, and the
//! idle time is one packet shorter (BFC-A16).
//!
//! The control loop in turn is longer by the frame and by the rest of a packet in transmission (BFC-A18). At 1048 B, 84
//! ns, both effects are 4 % of HRTT; at 256 B, 20 ns, 1 %.

use crate::common::{node, run, scenario};

/// Returns the share of time that the egress idles, over whole milliseconds.
fn idle(x: f64, a: f64, wire: u64) -> f64 {
    let gbps = (x * 100.0).round() as u64;
    let threshold = (a * 25_000.0) as u64;
    let text = format!(
        "scheme = \"bfc\"\n[topology]\nkind = \"graph\"\nhosts = [\"host0\", \"host1\"]\nswitches = [\"switch0\"]\nlinks = [\n\
         {{ ends = [\"host0\", \"switch0\"], rate = \"{gbps} Gbps\", delay = \"1 us\" }},\n\
         {{ ends = [\"host1\", \"switch0\"], rate = \"100 Gbps\", delay = \"1 us\" }},\n]\n\
         [switch.bfc]\nfixed_threshold = \"{threshold} B\"\n[host]\npayload = \"{} B\"\n\
         [run]\nduration = \"8 ms\"\nwarmup = \"1 ms\"\ndrain = 1.0\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\n",
        wire - 48
    );
    let outcome = run(&scenario(&text));
    let (switch, receiver) = (node(&outcome, "switch0") as u32, node(&outcome, "host1") as u32);
    let egress = outcome.ports.iter().find(|p| (p.node, p.peer) == (switch, receiver)).expect("the egress");
    1.0 - egress.window_bytes as f64 * 8.0 / (100e9 * 7e-3)
}

fn model(x: f64, a: f64) -> f64 {
    (x - 1.0) / (a * x + x * x - 1.0)
}

#[track_caller]
fn check(x: f64, a: f64, wire: u64, within: f64) {
    let (measured, expected) = (idle(x, a, wire), model(x, a));
    let off = measured / expected - 1.0;
    println!("x = {x}, a = {a}, {wire} B: {measured:.5}, model {expected:.5}, {:+.2} %", 100.0 * off);
    assert!(off.abs() <= within, "x = {x}, a = {a}, {wire} B: {measured:.5} against {expected:.5}");
}

#[test]
fn packets_of_1048_bytes_come_within_4_percent() {
    check(2.0, 1.0, 1048, 0.04);
    check(1.1, 1.0, 1048, 0.04);
}

#[test]
fn packets_of_256_bytes_come_within_one_and_a_half() {
    check(2.0, 1.0, 256, 0.015);
    check(1.1, 1.0, 256, 0.015);
}

/// The model's maximum over x at thresholds of HRTT/4, 2 HRTT and 4 HRTT: 0.308, 0.146 and 0.1, at x = 1 + sqrt(a).
#[test]
fn other_thresholds_follow_the_model() {
    for a in [0.25, 2.0, 4.0] {
        check(1.0 + f64::sqrt(a), a, 256, 0.015);
    }
}
