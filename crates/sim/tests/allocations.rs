//! A test that a warm run allocates no memory per packet, counted by the allocator.
//!
//! All cases are in one test, because a test in parallel would add its own allocations.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

#[path = "engine/common/scenarios.rs"]
mod scenarios;
#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "engine/under_test.rs"]
mod under_test;

use backwater_dataplane::{
    Bfc, BfcExtended, BfcParams, Composed, DataPlane, Departed, Dynamic, FlowSail, FlowSailParams, Policy, PortShape,
    Shape, SketchParams, Switch,
};
use backwater_scenario::Scenario;
use backwater_scenario::model::{Assignment, Backpressure, BufferSize};
use backwater_schemes::registry::PRESETS;
use backwater_sim::observe::Observer;
use backwater_sim::{Simulation, Watch};
use backwater_types::hash::Stream;
use backwater_types::{BitsPerSec, ControlFrame, DropReason, Duration, Instant, Kind, Packet, PortId};
use scenarios::scenario;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Number of allocations and reallocations of this process so far.
fn allocations() -> u64 {
    let stats = ALLOCATOR.stats();
    (stats.allocations + stats.reallocations) as u64
}

#[test]
fn nothing_is_allocated_per_packet() {
    let queue = |k: u64| (k % 31) as u16;
    the_data_plane_allocates_nothing::<Composed<Dynamic<1>, Bfc>>(
        "bfc",
        &bfc_params(),
        |k| [ControlFrame::Pause(queue(k)), ControlFrame::Resume(queue(k + 3))],
        100_000,
    );
    // Flows are paused and resumed in turn. If some flow were always paused, the isolation queue would never be served
    // (FS-A1).
    let flow = |k: u64| packet((k / 2 * 7 % 180) as u32, 0).flow_name();
    let flowsail_frames = |k: u64| match k % 2 {
        0 => [flow(k), flow(k + 2)].map(ControlFrame::PauseFlow),
        _ => [flow(k), flow(k + 2)].map(ControlFrame::ResumeFlow),
    };
    the_data_plane_allocates_nothing::<FlowSail<1>>("flowsail", &flowsail_params(), flowsail_frames, 100_000);
    // One departure can resume several queues, so the largest burst of control frames comes late: ten frames after
    // 620,000 packets.
    the_data_plane_allocates_nothing::<Composed<Dynamic<1>, BfcExtended>>(
        "bfc, resuming early",
        &early_params(),
        |k| [ControlFrame::Pause(queue(k)), ControlFrame::Resume(queue(k + 3))],
        3_000_000,
    );
    for (scheme, _) in PRESETS {
        let scenario = clos(scheme, "");
        // Under per-flow backpressure, queues that skip paused flows allocate a list of arrivals for each flow.
        let lists =
            (scenario.switch.assignment, scenario.switch.backpressure) == (Assignment::Dynamic, Backpressure::PerFlow);
        half_run(scheme, &scenario, if lists { 300 } else { 1000 });
    }
    // A delayed ACK is stored in memory that its flow allocates once.
    let delayed_acks = "host.tcp.ack_every = 3\nhost.tcp.connections = \"per-flow\"\n";
    half_run("TCP with delayed ACKs", &clos("dctcp-tcp", delayed_acks), 300);
}

fn bfc_params() -> (BfcParams, BfcParams) {
    (BfcParams::default(), BfcParams::default())
}

fn early_params() -> (BfcParams, BfcParams) {
    let early = BfcParams { early_resume: true, ..BfcParams::default() };
    (early.clone(), early)
}

fn flowsail_params() -> FlowSailParams {
    let sketch = Some(SketchParams { rows: 3, columns: 64 });
    FlowSailParams { table_entries: 1024, sketch, ..FlowSailParams::default() }
}

/// Asserts that a data plane with a finite buffer makes exactly no allocation, through empty, full and paused queues.
/// Construction and the first `first` packets may allocate: meanwhile the rings of control frames grow to their final
/// size. `incoming` returns the control frames that the egress port receives.
fn the_data_plane_allocates_nothing<P: Policy>(
    name: &str,
    params: &P::Params,
    incoming: impl Fn(u64) -> [ControlFrame; 2],
    first: u64,
) {
    let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
    let shape = Shape { buffer: 1_000_000, ..Shape::new(vec![port; 4], 31) };
    let mut switch = Switch::<P>::new(&shape, params);
    let mut rng = Stream::new(1, 1, 1);
    let mut to_poll = Vec::with_capacity(1024);
    let mut round = |switch: &mut Switch<P>, from: u64, packets: u64| {
        let (mut dropped, mut frames) = (0, 0);
        for k in from..from + packets {
            let now = Instant(k * 40_000);
            let flow = rng.next_u32() % 180;
            let received = switch.receive(now, &packet(flow, k as u32).into(), (flow % 3) as PortId, 3);
            dropped += received.dropped.is_some() as u64;
            // Two packets arrive per departure, then one per two departures: the buffer fills and empties.
            let departures = if k / 4000 % 2 == 0 { k % 2 } else { 2 };
            for _ in 0..departures {
                switch.transmit(now, 3);
            }
            if k % 500 == 0 {
                incoming(k / 500).into_iter().for_each(|frame| switch.control(now, 3, frame));
            }
            if switch.next_timer() <= now {
                switch.timer(now, &mut to_poll);
                to_poll.clear();
            }
            for ingress in 0..3 {
                while switch.transmit(now, ingress).is_some() {
                    frames += 1;
                }
            }
        }
        (dropped, frames)
    };
    round(&mut switch, 0, first);
    let before = allocations();
    let (dropped, frames) = round(&mut switch, first, 1_000_000);
    let allocated = allocations() - before;
    println!(
        "data plane of {name}: {allocated} allocations, {dropped} drops and {frames} control frames in a million packets"
    );
    assert!(dropped > 1000 && frames > 1000, "{dropped} drops, {frames} frames");
    assert_eq!(allocated, 0);
}

fn packet(flow: u32, seq: u32) -> Packet {
    Packet {
        flow,
        seq,
        key: flow.wrapping_mul(0x9e37_79b9),
        sender_slot: 0,
        receiver_slot: 0,
        dst: 3,
        src: 0,
        wire: 1048,
        upstream_queue: (flow % 31) as u16,
        class: 0,
        kind: Kind::Data,
        flags: 0,
    }
}

/// Scenario of 4 ms of large and small flows, with buffers that hold all packets, because retransmissions allocate
/// memory.
fn clos(scheme: &str, more: &str) -> Scenario {
    let text = |memory: &str| {
        format!(
            "scheme = \"{scheme}\"\nhost.payload = \"1000 B\"\n{more}{memory}\
             [topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 4\n\
             host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n\
             [run]\nduration = \"4 ms\"\ndrain = 1.0\n\
             [[workload]]\nkind = \"background\"\nsizes = {{ table = \"fb_hadoop\" }}\nload = 0.5\n\
             [[workload]]\nkind = \"incast\"\ndegree = 12\naggregate = \"500 KB\"\nperiod = \"100 us\"\n"
        )
    };
    let ships = scenario(&text("")).switch;
    let alpha = if ships.alpha.is_some() { "switch.alpha = 100.0\n" } else { "" };
    match ships.buffer {
        BufferSize::Infinite => scenario(&text("")),
        BufferSize::Shared(_) => scenario(&text(&format!("switch.buffer = \"60 MB\"\n{alpha}"))),
    }
}

/// Observer that reads the allocator at the middle of a run and near its end.
#[derive(Default)]
struct Meter {
    middle: Option<u64>,
    end: u64,
    hops: u64,
}

impl Observer for Meter {
    fn departed(&mut self, now: Instant, _: usize, _: PortId, _: &Packet, _: &Departed) {
        if (2_000_000_000..4_000_000_000).contains(&now.0) {
            let so_far = allocations();
            self.middle.get_or_insert(so_far);
            (self.end, self.hops) = (so_far, self.hops + 1);
        }
    }
}

/// Asserts that the second half of a run makes less than one allocation per `share` packets forwarded. These
/// allocations are per flow, not per packet.
fn half_run(name: &str, scenario: &Scenario, share: u64) {
    let (outcome, meters) = Simulation::new(scenario, 1).observe_any(Meter::default, &Watch::default());
    // Credits are dropped on purpose and never retransmitted, so they do not count as lost.
    let all: u64 = outcome.drops.iter().flat_map(|drops| drops.packets).sum();
    let lost = all - outcome.drops.iter().map(|drops| drops.packets[DropReason::Credit as usize]).sum::<u64>();
    let (allocated, hops) = (meters[0].end - meters[0].middle.expect("packets are forwarded"), meters[0].hops);
    println!("{name}: {allocated} allocations in the second half, {hops} packets forwarded");
    assert!(lost == 0 && hops > 100_000, "{name}: {lost} lost of {hops}");
    assert!(allocated * share < hops, "{name}: {allocated} allocations for {hops} packets forwarded");
}
