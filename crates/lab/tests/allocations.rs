//! A test that a warm fabric allocates no memory per frame, counted by the allocator.
//!
//! All schemes are in one test, because a test in parallel would add its own allocations.

use backwater_lab::Fabric;
use backwater_lab::fabric::address;
use backwater_nic::Rings;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::expand;
use backwater_schemes::AnySwitch;
use backwater_types::Instant;
use etherparse::PacketBuilder;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::ops::Range;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes of a frame.
const FULL: usize = 1000;
/// Time between two frames of a host, picoseconds: 80 Gbps.
const APART: u64 = 100_000;
/// Hosts. Each but the last sends.
const HOSTS: u16 = 5;
/// Flows of each sender. One in four goes to the neighbour of the sender, the others overload the last host.
const FLOWS: u16 = 12;
/// Rounds of a burst. In the first of them each sender sends a frame, then the network drains.
const BURST: u64 = 3_000;
/// Rounds with frames while the fabric warms up, and while allocations are counted. The longer bursts let every queue
/// grow to more than it needs later.
const SENDING: [u64; 2] = [1_000, 700];

/// Number of allocations and reallocations of this process so far.
fn allocations() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.allocations + stats.reallocations) as u64
}

/// Two switches, so that switches pause NICs and each other.
fn scenario(scheme: &str) -> Scenario {
    let hosts: Vec<String> = (0..HOSTS).map(|host| format!("\"h{host}\"")).collect();
    let ends = (0..HOSTS).map(|host| format!("[\"h{host}\", \"sw{}\"]", if host + 1 == HOSTS { 2 } else { 1 }));
    let links = ends.chain(["[\"sw1\", \"sw2\"]".into()]);
    let links: Vec<String> =
        links.map(|ends| format!("{{ ends = {ends}, rate = \"100 Gbps\", delay = \"1 us\" }}")).collect();
    let text = format!(
        "scheme = \"{scheme}\"\nswitch.buffer = \"1 MB\"\n[topology]\nkind = \"graph\"\nhosts = [{}]\nswitches = [\"sw1\", \"sw2\"]\n\
         links = [{}]\n[host]\npayload = \"958 B\"\nheader = \"42 B\"\n[run]\nduration = \"1 ms\"\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"h0\"]\nto = [\"h1\"]\n",
        hosts.join(", "),
        links.join(", ")
    );
    let plan = backwater_scenario::load_str(&text, Path::new("."), "test", &[], None).expect("a valid scenario");
    plan.runs[0].scenario.clone()
}

/// Frames of every flow, made before anything is counted.
fn frames() -> Vec<Vec<Vec<u8>>> {
    let frame = |src: u16, flow: u16| {
        let dst = if flow.is_multiple_of(4) { (src + 1) % (HOSTS - 1) } else { HOSTS - 1 };
        let mut bytes = Vec::new();
        let ip = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(address(src).octets(), address(dst).octets(), 64);
        ip.udp(5000 + flow, 5001).write(&mut bytes, &[0; FULL - 42]).expect("memory takes a frame");
        bytes
    };
    (0..HOSTS - 1).map(|src| (0..FLOWS).map(|flow| frame(src, flow)).collect()).collect()
}

/// Frames that were put in, and that arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    put: u64,
    arrived: u64,
}

#[test]
fn nothing_is_allocated_per_frame() {
    let frames = frames();
    for scheme in ["bfc", "flowsail", "pfc"] {
        let scenario = scenario(scheme);
        let graph = expand(&scenario.topology);
        let memory = scenario.conventions.memory;
        let mut fabric: Fabric<AnySwitch, Rings> =
            Fabric::new(&scenario, &graph, |shape, table| backwater_planes::any(memory, shape, table), 1 << 15);
        let mut count = Count::default();
        let mut run = |fabric: &mut Fabric<AnySwitch, Rings>, rounds: Range<u64>, sending: u64| {
            for round in rounds {
                let at = Instant(round * APART);
                if round % BURST < sending {
                    for (host, flows) in (0..).zip(&frames) {
                        fabric.put(at, host, &flows[round as usize % flows.len()]);
                        count.put += 1;
                    }
                }
                fabric.run(at, &mut |_, _, _| count.arrived += 1);
            }
            count
        };
        // The first bursts grow every queue to the size that it needs.
        let warm = run(&mut fabric, 0..20 * BURST, SENDING[0]);
        let pauses_before = pauses(&mut fabric);
        let before = allocations();
        let end = run(&mut fabric, 20 * BURST..100 * BURST, SENDING[1]);
        let allocated = allocations() - before;
        let (put, arrived, paused) =
            (end.put - warm.put, end.arrived - warm.arrived, pauses(&mut fabric) - pauses_before);
        println!("{scheme}: {allocated} allocations for {put} frames, of which {arrived} arrived; {paused} pauses");
        assert!(arrived > 100_000 && paused > 1000, "{scheme}: {arrived} of {put} frames arrived, {paused} pauses");
        assert_eq!(allocated, 0, "{scheme}");
    }
}

/// Pauses of all ports so far.
fn pauses(fabric: &mut Fabric<AnySwitch, Rings>) -> u64 {
    let now = fabric.reached();
    let held = fabric.stats(now).into_iter().map(|port| port.held);
    held.map(|held| held.bfc_pauses + held.flow_pauses + held.pfc_pauses).sum()
}
