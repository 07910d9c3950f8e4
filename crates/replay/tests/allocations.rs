//! A log takes no memory per call: its writer has one buffer.

use backwater_dataplane::{DataPlane, PortShape, Shape};
use backwater_replay::{Head, Log, Recorded};
use backwater_schemes::Switch;
use backwater_schemes::planes::Product;
use backwater_types::{BitsPerSec, ControlFrame, Duration, Instant, Kind, Packet};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::io::{BufWriter, sink};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_log_takes_no_memory_per_call() {
    let ports = vec![PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1)); 2];
    let shape = Shape { buffer: 1_000_000, ..Shape::new(ports, 8) };
    let plane = backwater_planes::of::<()>(Product::BfcSwitch, &shape, &Switch { queues: 8, ..Switch::default() });
    let head = Head { backwater: "test".into(), switch: "one".into(), scenario: serde_json::json!({}) };
    let log = Log::new(BufWriter::new(sink()), &head).expect("a sink takes a log");
    let mut plane = Recorded::new(plane, log.clone());
    let mut to_poll = Vec::with_capacity(16);
    let mut step = |number: u32| {
        let now = Instant(u64::from(number) * 80_000);
        let flow = number % 20;
        let packet = Packet { flow, key: flow, seq: number, wire: 1000, kind: Kind::Data, ..Packet::NONE };
        plane.queues_as_data(Kind::Data);
        plane.pass(now, &mut packet.into(), 0, 1);
        plane.receive(now, &packet.into(), 0, 1);
        let _ = plane.transmit(now, 1);
        let _ = plane.transmit(now, 0);
        plane.sendable(1);
        plane.control(now, 1, ControlFrame::Resume(3));
        if plane.next_timer() <= now {
            plane.timer(now, &mut to_poll);
            to_poll.clear();
        }
        plane.discarded().clear();
    };
    (0..10_000).for_each(&mut step);
    let before = ALLOCATOR.stats();
    (10_000..60_000).for_each(&mut step);
    let after = ALLOCATOR.stats();
    let count = after.allocations + after.reallocations - before.allocations - before.reallocations;
    assert!(log.records() > 400_000);
    assert_eq!(count, 0, "allocations in 50,000 packets");
}
