//! Plants one bug per test in shared memory or TCP. The checker must catch it, and must accept the same run without the
//! bug.
//!
//! Wrong shapes stand in for accounting errors, as they admit and refuse the same packets. A pool that never gets bytes
//! back acts like a smaller one. Private bytes returned twice act like twice the private bytes.

use crate::common::audit::{self, Audit, Fault, Report};
use crate::common::scenario;
use backwater_dataplane::{DataPlane, Discarded, Readings, Received, Sent, Shape};
use backwater_scenario::Scenario;
use backwater_schemes::Switch as Table;
use backwater_schemes::planes::{Build, Fifo};
use backwater_sim::{Simulation, Watch};
use backwater_transport::{Marks, TcpParams};
use backwater_types::{ControlFrame, Frame, Instant, Kind, PortId, flags};

const SOUND: u8 = 0;
const MARKS_ALL: u8 = 1;
const MARKS_NOT_ECT: u8 = 2;
const NEVER_MARKS: u8 = 3;
const FINISHES_EARLY: u8 = 4;
const TELLS_OF_MORE: u8 = 5;

/// A FIFO switch with bug number `BUG`.
struct Bent<const BUG: u8> {
    inner: Fifo,
    calls: u32,
}

impl<const BUG: u8> DataPlane for Bent<BUG> {
    type Extension = ();

    fn receive(&mut self, now: Instant, packet: &Frame, ingress: PortId, egress: PortId) -> Received {
        self.inner.receive(now, packet, ingress, egress)
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        let mut sent = self.inner.transmit(now, port)?;
        self.calls += 1;
        let packet = &mut sent.packet;
        let capable = packet.has(flags::ECT);
        match BUG {
            MARKS_ALL if capable => packet.flags |= flags::CE,
            MARKS_NOT_ECT if packet.kind == Kind::Data && !capable => packet.flags |= flags::CE,
            NEVER_MARKS if capable => packet.flags &= !flags::CE,
            FINISHES_EARLY if packet.kind == Kind::Ack && self.calls > 500 => {
                (packet.seq, packet.receiver_slot) = (u32::MAX, 0);
            }
            TELLS_OF_MORE if packet.kind == Kind::Ack && packet.receiver_slot != 0 => packet.receiver_slot += 40,
            _ => {}
        }
        Some(sent)
    }

    fn queues_as_data(&self, kind: Kind) -> bool {
        self.inner.queues_as_data(kind)
    }

    fn sendable(&self, port: PortId) -> bool {
        self.inner.sendable(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        self.inner.control(now, port, frame);
    }

    fn next_timer(&self) -> Instant {
        self.inner.next_timer()
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        self.inner.timer(now, to_poll);
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.inner.link_down(now, port, to_poll);
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.inner.link_up(now, port, to_poll);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded<Self::Extension>> {
        self.inner.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.inner.readings()
    }
}

/// Returns a scenario of six hosts at two MMUs that exceeds the memory, marks and drops.
fn crowded(marks: &str) -> Scenario {
    let flow = |i: usize| {
        let (src, dst) = if i.is_multiple_of(2) { (1 + i % 3, 0) } else { (i % 3, 4 + i % 2) };
        format!("{{ start = \"{} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"200 KB\" }}", 3000 * (i / 6))
    };
    let flows: Vec<String> = (0..12).map(flow).collect();
    scenario(&format!(
        "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = 6\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         [conventions]\nacks = \"data\"\n[switch]\nbuffer = \"40 KB\"\nalpha = 1.0\nmmu = {{ ports = 3, private = \"5 KB\" }}\n\
         ecn = {{ kmin = \"12 KB\", kmax = \"12 KB\", pmax = 1.0 }}\n[host]\ntransport = \"tcp\"\nrto = \"300 us\"\n\
         header = \"48 B\"\n[host.tcp]\nmarks = \"{marks}\"\nmax_window = 60\ninitial_window = 30\nack_delay = \"100 us\"\n\
         [run]\nduration = \"20 ms\"\nwarmup = \"0 s\"\ndrain = 10.0\n[measure]\nsample = \"0 s\"\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [{}]\n",
        flows.join(", ")
    ))
}

fn audit_with<D: DataPlane<Extension = ()>>(
    marks: Marks,
    bend: impl Fn(&mut TcpParams),
    plane: impl Fn(&Shape, &Table) -> D,
) -> Report {
    let scenario = crowded(if marks == Marks::None { "none" } else { "dctcp" });
    // The run uses the bent parameters, the audit the original ones.
    let mut bent = scenario.clone();
    bend(&mut bent.host.tcp);
    let simulation = Simulation::new(&bent, 1);
    let audit = || Audit::new(&scenario, &simulation.graph);
    let (outcome, audits) = simulation.observe_planes(plane, audit, &Watch::default());
    audit::conclude(audits, &outcome)
}

fn with_plane<const BUG: u8>(marks: Marks) -> Report {
    audit_with(marks, |_| {}, |shape, plane| Bent::<BUG> { inner: Fifo::build(shape, plane), calls: 0 })
}

fn with_shape(bend: impl Fn(&mut Shape)) -> Report {
    audit_with(
        Marks::Dctcp,
        |_| {},
        |shape, plane| {
            let mut shape = shape.clone();
            bend(&mut shape);
            Fifo::build(&shape, plane)
        },
    )
}

fn with_tcp(bend: impl Fn(&mut TcpParams)) -> Report {
    audit_with(Marks::None, bend, Fifo::build)
}

#[track_caller]
fn caught(report: &Report, fault: Fault) {
    assert!(report.has(fault), "not caught as {fault:?}: {:?}", report.faults);
}

#[test]
fn the_sound_ones_pass() {
    for marks in [Marks::None, Marks::Dctcp] {
        for report in [with_plane::<SOUND>(marks), audit_with(marks, |_| {}, Fifo::build)] {
            assert!(report.faults.is_empty() && report.quiescent, "{marks:?}: {:?}", report.faults);
            assert!(report.counts["dropped: buffer"] > 50, "{:?}", report.counts);
            assert_eq!(report.counts.contains_key("marked by a switch"), marks == Marks::Dctcp);
        }
    }
    assert!(with_shape(|_| {}).faults.is_empty());
    assert!(with_tcp(|_| {}).faults.is_empty());
}

#[test]
fn a_pool_that_is_not_given_back_is_caught() {
    caught(&with_shape(|shape| shape.buffer -= 1100), Fault::Buffer);
}

#[test]
fn a_pool_given_back_twice_is_caught() {
    caught(&with_shape(|shape| shape.buffer += 1100), Fault::Buffer);
}

#[test]
fn private_bytes_given_back_twice_are_caught() {
    caught(&with_shape(|shape| shape.memory.private = vec![10_000]), Fault::Buffer);
}

#[test]
fn private_bytes_never_given_back_are_caught() {
    caught(&with_shape(|shape| shape.memory.private = vec![3900]), Fault::Buffer);
}

#[test]
fn bytes_given_back_in_the_wrong_order_are_caught() {
    caught(&with_shape(|shape| shape.memory.returns_private = true), Fault::Buffer);
}

#[test]
fn a_charge_to_the_wrong_mmu_is_caught() {
    caught(&with_shape(|shape| shape.memory.mmu = vec![0, 0, 1, 1, 1, 0]), Fault::Buffer);
    caught(&with_shape(|shape| shape.memory.mmu = Vec::new()), Fault::Buffer);
}

#[test]
fn a_threshold_of_another_alpha_is_caught() {
    caught(&with_shape(|shape| shape.memory.alpha = vec![Some(1.1)]), Fault::Buffer);
    caught(&with_shape(|shape| shape.memory.alpha = vec![None]), Fault::Buffer);
}

#[test]
fn marks_where_no_rule_says_so_are_caught() {
    caught(&with_plane::<MARKS_ALL>(Marks::Dctcp), Fault::Marked);
    caught(&with_plane::<MARKS_NOT_ECT>(Marks::None), Fault::Marked);
}

#[test]
fn marks_left_out_are_caught() {
    caught(&with_plane::<NEVER_MARKS>(Marks::Dctcp), Fault::Marked);
}

#[test]
fn a_flow_finished_early_is_caught() {
    caught(&with_plane::<FINISHES_EARLY>(Marks::Dctcp), Fault::Acknowledged);
}

#[test]
fn an_acknowledgement_of_what_did_not_arrive_is_caught() {
    let report = with_plane::<TELLS_OF_MORE>(Marks::None);
    assert!(!report.faults.is_empty());
}

#[test]
fn a_window_ignored_is_caught() {
    caught(&with_tcp(|tcp| tcp.max_window = 100_000), Fault::Window);
    caught(&with_tcp(|tcp| tcp.initial_window = 40), Fault::Window);
}
