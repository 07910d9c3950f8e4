//! Plants one bug per test. The checker must catch it, and must accept the same wrapper without a bug.
//!
//! A bug is planted by a wrapper around a part of a switch (assignment, backpressure, queues) or around the whole data
//! plane.

use crate::common::audit::{self, Audit, Fault, Report};
use crate::common::scenario;
use crate::common::watched::{Sheets, Tabled};
use backwater_dataplane::buffer::cells::{Cell as Place, Cells, Fifo};
use backwater_dataplane::flow_table::{FlowTable, Record, state};
use backwater_dataplane::policy::{Outgoing, Policy};
use backwater_dataplane::queues::{PausableQueues, Queues};
use backwater_dataplane::{
    Assigned, Assignment, Backpressure, Bfc, BfcParams, Choice, Composed, DataPlane, Departed, Discarded, Dynamic,
    FlowSail, FlowSailParams, Meta, NoBackpressure, PausedQueues, Ports, Readings, Received, Resident, Sent, Shape,
    Single, Switch, Upstream,
};
use backwater_planes::any;
use backwater_scenario::Scenario;
use backwater_scenario::model::Memory;
use backwater_schemes::AnySwitch;
use backwater_schemes::Switch as Table;
use backwater_sim::observe::{Joined, Observer, Transmission};
use backwater_sim::{Simulation, Watch};
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Duration, Extension, FlowName, Frame, Instant, Kind, Packet, PortId, QueueId};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Narrow = PausableQueues<1>;

/// Returns a scenario of four senders behind one switch and two slow receivers behind another. It brings pauses between
/// switches and at NICs, and flows that share queues.
fn crowded(scheme: &str, more: &str) -> Scenario {
    let flow = |i: usize| {
        format!(
            "{{ start = \"{} ns\", src = \"host{}\", dst = \"host{}\", bytes = \"60 KB\" }}",
            700 * i,
            i % 4,
            4 + i % 2
        )
    };
    let flows: Vec<String> = (0..12).map(flow).collect();
    let link = |a: &str, b: &str, rate: u32| {
        format!("{{ ends = [\"{a}\", \"{b}\"], rate = \"{rate} Gbps\", delay = \"1 us\" }}")
    };
    let senders = (0..4).map(|h| link(&format!("host{h}"), "switch0", 100));
    let receivers = (4..6).map(|h| link(&format!("host{h}"), "switch1", 10));
    let links: Vec<String> = senders.chain(receivers).chain([link("switch0", "switch1", 50)]).collect();
    scenario(&format!(
        "scheme = \"{scheme}\"\n[topology]\nkind = \"graph\"\nswitches = [\"switch0\", \"switch1\"]\n\
         hosts = [\"host0\", \"host1\", \"host2\", \"host3\", \"host4\", \"host5\"]\nlinks = [{}]\n\
         [host]\nrto = \"200 us\"\nnack_guard = \"50 us\"\n[run]\nduration = \"6 ms\"\nwarmup = \"0 s\"\n\
         [measure]\nsample = \"0 s\"\n[[workload]]\nkind = \"flow-list\"\nflows = [{}]\n{more}",
        links.join(", "),
        flows.join(", ")
    ))
}

/// BFC with few queues and a low threshold.
fn bfc(more: &str) -> Scenario {
    crowded("bfc", &format!("[switch]\nqueues = 5\n[switch.bfc]\nfixed_threshold = \"3000 B\"\n{more}"))
}

fn audit_with<D: DataPlane<Extension = ()>>(scenario: &Scenario, plane: impl Fn(&Shape, &Table) -> D) -> Report {
    let simulation = Simulation::new(scenario, 1);
    let audit = || Audit::new(scenario, &simulation.graph);
    let (outcome, audits) = simulation.observe_planes(plane, audit, &Watch::default());
    audit::conclude(audits, &outcome)
}

#[track_caller]
fn caught(report: &Report, fault: Fault) {
    let others = &report.faults;
    assert!(report.has(fault), "not caught as {fault:?}: {others:?}");
}

// --- backpressure ------------------------------------------------------------------------------------------------------------

const SOUND: u8 = 0;
const FORGETS_TO_DECREMENT: u8 = 1;
const DECREMENTS_TWICE: u8 = 2;
const RESUMES_EARLY: u8 = 3;
const NEVER_RESUMES: u8 = 4;
const PAUSES_THE_LOCAL_QUEUE: u8 = 5;
const COUNTS_BEFORE_ADMISSION: u8 = 6;
const IGNORES_PAUSE: u8 = 7;
const NEVER_REFRESHES: u8 = 8;
const REFRESHES_ALL_CLEAR: u8 = 9;
const REPEATS_PAUSE: u8 = 10;

/// BFC's backpressure with bug number `BUG`.
#[derive(Clone)]
struct Broken<const BUG: u8> {
    inner: Bfc,
    calls: Cell<u32>,
    refused: Cell<u32>,
    /// The counter that a bug has changed. The bug strikes once, so that no counter underflows.
    touched: Option<(u8, QueueId)>,
    skip: bool,
}

/// BFC's upstream half, which may ignore frames that name a queue.
#[derive(Clone)]
struct Hearing<const BUG: u8>(PausedQueues);

impl<const BUG: u8> Upstream<Narrow> for Hearing<BUG> {
    fn on_control(&mut self, now: Instant, port: PortId, frame: ControlFrame, queues: &mut Narrow) {
        if BUG != IGNORES_PAUSE {
            self.0.on_control(now, port, frame, queues);
        }
    }

    fn release(&mut self, port: PortId, queues: &mut Narrow) {
        self.0.release(port, queues);
    }

    fn may_send(&self, port: PortId) -> bool {
        Upstream::<Narrow>::may_send(&self.0, port)
    }
}

impl<const BUG: u8> Broken<BUG> {
    fn enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        egress: PortId,
        queue: QueueId,
        queues: &Narrow,
    ) -> Option<ControlFrame> {
        self.inner.on_enqueue(now, packet, held, egress, queue, queues)
    }

    fn dequeue(&mut self, now: Instant, held: &Meta) -> Option<ControlFrame> {
        Backpressure::<Narrow>::on_dequeue(&mut self.inner, now, &Packet::NONE, held, 0, 0)
    }
}

impl<const BUG: u8> Backpressure<Narrow> for Broken<BUG> {
    type Params = BfcParams;
    type Upstream = Hearing<BUG>;

    fn new(params: &BfcParams, shape: &Shape) -> Self {
        let inner = <Bfc as Backpressure<Narrow>>::new(params, shape);
        Broken { inner, calls: Cell::new(0), refused: Cell::new(0), touched: None, skip: false }
    }

    fn upstream(_params: &BfcParams, _shape: &Shape) -> Hearing<BUG> {
        Hearing(PausedQueues::default())
    }

    fn admits(&self, _ingress: PortId, _packet: &Packet) -> bool {
        self.calls.set(self.calls.get() + 1);
        let refuse = BUG == COUNTS_BEFORE_ADMISSION && self.calls.get().is_multiple_of(50);
        self.refused.set(self.refused.get() + refuse as u32);
        !refuse
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        egress: PortId,
        queue: QueueId,
        queues: &Narrow,
    ) -> Option<ControlFrame> {
        if self.refused.take() > 0 {
            self.enqueue(now, packet, &mut held.clone(), egress, queue, queues);
        }
        if BUG == PAUSES_THE_LOCAL_QUEUE {
            held.upstream_queue = queue;
        }
        let frame = self.enqueue(now, packet, held, egress, queue, queues);
        let again = BUG == REPEATS_PAUSE && held.counted;
        frame.or(again.then_some(ControlFrame::Pause(held.upstream_queue)))
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        _packet: &Packet,
        held: &Meta,
        _egress: PortId,
        _queue: QueueId,
    ) -> Option<ControlFrame> {
        let key = (held.ingress, held.upstream_queue);
        let once = held.counted && self.touched.is_none();
        if BUG == FORGETS_TO_DECREMENT && once {
            self.touched = Some(key);
            return None;
        }
        if self.skip && held.counted && self.touched == Some(key) {
            self.skip = false;
            return None;
        }
        let frame = self.dequeue(now, held);
        // The counter was above one, so a second decrement cannot underflow.
        if BUG == DECREMENTS_TWICE && once && frame.is_none() {
            (self.touched, self.skip) = (Some(key), true);
            return self.dequeue(now, held);
        }
        if BUG == RESUMES_EARLY && once && frame.is_none() {
            self.touched = Some(key);
            return Some(ControlFrame::Resume(held.upstream_queue));
        }
        frame.filter(|_| BUG != NEVER_RESUMES)
    }

    fn next_refresh(&self) -> Instant {
        if BUG == NEVER_REFRESHES { Instant::NEVER } else { Backpressure::<Narrow>::next_refresh(&self.inner) }
    }

    fn refresh(&mut self, now: Instant, send: &mut dyn FnMut(PortId, ControlFrame)) {
        Backpressure::<Narrow>::refresh(&mut self.inner, now, &mut |port, frame| match frame {
            ControlFrame::Bitmap(_) if BUG == REFRESHES_ALL_CLEAR => {
                send(port, ControlFrame::Bitmap(Default::default()))
            }
            _ => send(port, frame),
        });
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        Backpressure::<Narrow>::audit(&self.inner, residents)
    }
}

fn with_backpressure<const BUG: u8>(scenario: &Scenario) -> Report {
    audit_with(scenario, |shape, params| {
        Switch::<Composed<Dynamic<1>, Broken<BUG>>>::new(shape, &(params.bfc.clone(), params.bfc.clone()))
    })
}

/// Loses most control frames on the bottleneck.
const DEAF_BOTTLENECK: &str = "[[fault]]\nlink = [\"switch0\", \"switch1\"]\ncontrol_loss = 0.6\n";

#[test]
fn the_sound_wrapper_passes() {
    let report = with_backpressure::<SOUND>(&bfc(""));
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    assert!(report.quiescent);
    for branch in ["PAUSE at a NIC", "PAUSE at a switch", "RESUME at a switch", "BITMAP, some held", "queue collisions"]
    {
        assert!(report.counts.contains_key(branch), "{branch} is not reached: {:?}", report.counts);
    }
}

#[test]
fn a_counter_not_decremented_is_caught() {
    caught(&with_backpressure::<FORGETS_TO_DECREMENT>(&bfc("")), Fault::Recount);
}

#[test]
fn a_counter_decremented_twice_is_caught() {
    caught(&with_backpressure::<DECREMENTS_TWICE>(&bfc("")), Fault::Recount);
}

#[test]
fn an_early_resume_is_caught() {
    caught(&with_backpressure::<RESUMES_EARLY>(&bfc("")), Fault::Protocol);
}

#[test]
fn a_resume_not_sent_is_caught() {
    caught(&with_backpressure::<NEVER_RESUMES>(&bfc("")), Fault::Protocol);
}

/// BFC-A4: each hop rewrites the queue number in the header. PAUSE must name the number that arrived.
#[test]
fn a_pause_for_the_rewritten_queue_number_is_caught() {
    caught(&with_backpressure::<PAUSES_THE_LOCAL_QUEUE>(&bfc("")), Fault::Protocol);
}

#[test]
fn counting_a_packet_that_is_refused_is_caught() {
    caught(&with_backpressure::<COUNTS_BEFORE_ADMISSION>(&bfc("")), Fault::Recount);
}

#[test]
fn an_egress_that_ignores_pauses_is_caught() {
    caught(&with_backpressure::<IGNORES_PAUSE>(&bfc("")), Fault::Paused);
}

/// Expects lost frames without a refresh to leave a queue paused, so that its flows never finish.
#[test]
fn no_refresh_after_a_lost_resume_is_caught() {
    let scenario = bfc(DEAF_BOTTLENECK);
    caught(&with_backpressure::<NEVER_REFRESHES>(&scenario), Fault::Unfinished);
    assert!(!with_backpressure::<SOUND>(&scenario).has(Fault::Unfinished));
}

#[test]
fn a_refresh_that_contradicts_the_counters_is_caught() {
    caught(&with_backpressure::<REFRESHES_ALL_CLEAR>(&bfc("")), Fault::Protocol);
}

/// BFC-A2 forbids a second PAUSE while the counter is above zero.
#[test]
fn a_repeated_pause_is_caught() {
    caught(&with_backpressure::<REPEATS_PAUSE>(&bfc("")), Fault::Protocol);
}

// --- assignment --------------------------------------------------------------------------------------------------------------

const MOVES_FLOWS: u8 = 1;
const IGNORES_SIZE: u8 = 2;
const LOSES_COUNT: u8 = 3;

/// BFC's assignment with bug number `BUG`.
#[derive(Clone)]
struct Misled<const BUG: u8> {
    inner: Dynamic<1>,
    calls: Cell<u32>,
}

impl<const BUG: u8> Assignment for Misled<BUG> {
    type Queues = Narrow;
    type Params = BfcParams;

    fn new(params: &BfcParams, shape: &Shape) -> Self {
        Misled { inner: Dynamic::new(params, shape), calls: Cell::new(0) }
    }

    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &Narrow,
        rng: &mut Stream,
    ) -> Choice {
        let choice = self.inner.choose(now, packet, ingress, port, queues, rng);
        self.calls.set(self.calls.get() + 1);
        let other = (choice.queue + 1) % queues.count() as QueueId;
        match BUG {
            MOVES_FLOWS if self.calls.get().is_multiple_of(5) => Choice { queue: other, ..choice },
            IGNORES_SIZE if !choice.fresh && self.calls.get().is_multiple_of(5) => {
                Choice { queue: other, fresh: true, ..choice }
            }
            _ => choice,
        }
    }

    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
        self.inner.prefetch(packet, ingress, port)
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        choice: Choice,
        queues: &Narrow,
    ) {
        self.inner.on_enqueue(now, packet, held, port, choice, queues);
    }

    fn on_dequeue(&mut self, now: Instant, held: &Meta, port: PortId, queue: QueueId) {
        self.calls.set(self.calls.get() + 1);
        if BUG != LOSES_COUNT || !self.calls.get().is_multiple_of(50) {
            self.inner.on_dequeue(now, held, port, queue);
        }
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.inner.assigned(port)
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        if BUG == MOVES_FLOWS { Ok(()) } else { self.inner.audit(residents) }
    }
}

fn with_assignment<const BUG: u8>() -> Report {
    audit_with(&bfc(""), |shape, params| {
        Switch::<Composed<Misled<BUG>, Bfc>>::new(shape, &(params.bfc.clone(), params.bfc.clone()))
    })
}

#[test]
fn the_sound_assignment_wrapper_passes() {
    let report = with_assignment::<SOUND>();
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

/// BFC-A1: each packet of a flow in the queue stores the flow's queue again.
#[test]
fn moving_a_flow_with_packets_held_is_caught() {
    caught(&with_assignment::<MOVES_FLOWS>(), Fault::Order);
}

#[test]
fn reassigning_without_regard_to_what_is_held_is_caught() {
    let report = with_assignment::<IGNORES_SIZE>();
    caught(&report, Fault::Order);
    caught(&report, Fault::Recount);
}

#[test]
fn a_flow_table_that_loses_count_is_caught() {
    caught(&with_assignment::<LOSES_COUNT>(), Fault::Recount);
}

// --- queues ------------------------------------------------------------------------------------------------------------------

/// Last in, first out: a stack of FIFOs with one packet each.
#[derive(Clone, Default)]
struct Stack(Vec<Fifo>);

impl Queues for Stack {
    fn new(_count: usize, _groups: usize, _quantum: u32) -> Stack {
        Stack::default()
    }

    fn bytes(&self, _q: QueueId) -> u64 {
        self.all_bytes()
    }

    fn all_bytes(&self) -> u64 {
        self.0.iter().map(|fifo| fifo.bytes).sum()
    }

    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        let mut fifo = Fifo::default();
        fifo.push(cells, q, frame, held, now);
        self.0.push(fifo);
    }

    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Place)> {
        self.0.pop().map(|mut fifo| (0, fifo.pop(cells)))
    }

    fn sendable(&self) -> bool {
        !self.0.is_empty()
    }

    fn active_with(&self, _q: QueueId) -> u32 {
        1
    }

    fn occupied(&self) -> u32 {
        self.sendable() as u32
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        for (packet, held) in self.0.iter().flat_map(|fifo| fifo.iter(cells)) {
            see(0, packet, held);
        }
    }
}

#[test]
fn a_queue_that_serves_the_last_first_is_caught() {
    let report = audit_with(&crowded("fifo", TIGHT), |shape, _| {
        Switch::<Composed<Single<Stack>, NoBackpressure>>::new(shape, &((), ()))
    });
    caught(&report, Fault::Order);
}

// --- the whole data plane ----------------------------------------------------------------------------------------------------

const LOSES_PACKETS: u8 = 1;
const COPIES_PACKETS: u8 = 2;
const ACCEPTS_GAPS: u8 = 3;
const IGNORES_PFC: u8 = 4;
const STAYS_HELD: u8 = 5;
const FORGETS_A_FLAP: u8 = 6;
const PANICS: u8 = 7;
const OVERSLEEPS: u8 = 8;
const SENDS_ONCE: u8 = 9;
const OBEYS_AT_ANOTHER_PORT: u8 = 10;
const KEEPS_HOSTS_HELD: u8 = 11;

/// A data plane with bug number `BUG`.
struct Bent<const BUG: u8> {
    inner: AnySwitch,
    calls: u32,
    asked: Cell<u32>,
    copy: Option<(PortId, Sent)>,
    /// Flows paused at neighbours: port and flow.
    told: Vec<(PortId, u32)>,
}

impl<const BUG: u8> DataPlane for Bent<BUG> {
    type Extension = ();

    fn receive(&mut self, now: Instant, packet: &Frame, ingress: PortId, egress: PortId) -> Received {
        self.calls += 1;
        assert!(BUG != PANICS || self.calls < 20, "planted");
        self.inner.receive(now, packet, ingress, egress)
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        if let Some((_, sent)) = self.copy.take_if(|(at, _)| *at == port) {
            return Some(Sent { frame_on: None, timer_changed: false, ..sent });
        }
        let mut sent = self.inner.transmit(now, port)?;
        self.calls += 1;
        let data = sent.packet.kind == Kind::Data;
        match sent.packet.control() {
            Some(ControlFrame::PauseFlow(name)) if self.told.contains(&(port, name.flow)) && BUG == SENDS_ONCE => {
                return self.transmit(now, port);
            }
            // Ports to hosts come before ports to switches.
            Some(ControlFrame::ResumeFlow(_)) if port < 2 && BUG == KEEPS_HOSTS_HELD => {
                return self.transmit(now, port);
            }
            Some(ControlFrame::PauseFlow(name)) => self.told.push((port, name.flow)),
            Some(ControlFrame::ResumeFlow(name)) => self.told.retain(|told| *told != (port, name.flow)),
            _ => {}
        }
        if BUG == LOSES_PACKETS && data && self.calls.is_multiple_of(40) {
            return self.inner.transmit(now, port);
        }
        if BUG == COPIES_PACKETS && data && self.calls.is_multiple_of(40) {
            self.copy = Some((port, sent));
        }
        // A receiver that accepts gaps would answer like this.
        if BUG == ACCEPTS_GAPS && sent.packet.kind == Kind::Nack {
            (sent.packet.kind, sent.packet.seq) = (Kind::Ack, sent.packet.seq + 1);
        }
        Some(sent)
    }

    fn sendable(&self, port: PortId) -> bool {
        self.asked.set(self.asked.get() + 1);
        if BUG == OVERSLEEPS && self.asked.get().is_multiple_of(40) {
            return false;
        }
        self.copy.is_some_and(|(at, _)| at == port) || self.inner.sendable(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        match frame {
            ControlFrame::PfcPause(_) if BUG == IGNORES_PFC => {}
            ControlFrame::PfcResume(_) if BUG == STAYS_HELD => {}
            ControlFrame::PfcPause(_) | ControlFrame::PfcResume(_) if BUG == OBEYS_AT_ANOTHER_PORT => {
                self.inner.control(now, port.checked_sub(1).unwrap_or(1), frame);
            }
            _ => self.inner.control(now, port, frame),
        }
    }

    fn next_timer(&self) -> Instant {
        self.inner.next_timer()
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        self.inner.timer(now, to_poll);
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        if BUG != FORGETS_A_FLAP {
            self.inner.link_down(now, port, to_poll);
        }
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        if BUG != FORGETS_A_FLAP {
            self.inner.link_up(now, port, to_poll);
        }
    }

    fn discarded(&mut self) -> &mut Vec<Discarded<Self::Extension>> {
        self.inner.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.inner.readings()
    }
}

fn bent<const BUG: u8>() -> impl Fn(&Shape, &Table) -> Bent<BUG> {
    |shape, params| Bent {
        inner: any(Memory::Exact, shape, params),
        calls: 0,
        asked: Cell::new(0),
        copy: None,
        told: Vec::new(),
    }
}

fn with_plane<const BUG: u8>(scenario: &Scenario) -> Report {
    audit_with(scenario, bent::<BUG>())
}

/// A small buffer, which drops packets.
const TIGHT: &str = "[switch]\nbuffer = \"20 KB\"\n";

/// A buffer slightly above headroom and reserve of the first switch's five ports, 149 KB.
const PFC: &str = "[switch]\nbuffer = \"170 KB\"\n";

#[test]
fn the_sound_data_plane_passes() {
    for scenario in [crowded("fifo", TIGHT), crowded("pfc", PFC), bfc("")] {
        let report = with_plane::<SOUND>(&scenario);
        assert!(report.faults.is_empty() && report.quiescent, "{}: {:?}", scenario.scheme, report.faults);
    }
}

#[test]
fn a_buffer_larger_than_asked_for_is_caught() {
    let report = audit_with(&crowded("fifo", TIGHT), |shape, params| {
        any(Memory::Exact, &Shape { buffer: 2 * shape.buffer, ..shape.clone() }, params)
    });
    caught(&report, Fault::Buffer);
}

#[test]
fn a_packet_that_vanishes_is_caught() {
    caught(&with_plane::<LOSES_PACKETS>(&crowded("fifo", "")), Fault::Conservation);
}

#[test]
fn a_packet_sent_twice_is_caught() {
    caught(&with_plane::<COPIES_PACKETS>(&crowded("fifo", "")), Fault::Invented);
}

#[test]
fn a_receiver_that_accepts_gaps_is_caught() {
    caught(&with_plane::<ACCEPTS_GAPS>(&crowded("fifo", TIGHT)), Fault::Acknowledged);
}

#[test]
fn a_port_that_ignores_pfc_is_caught() {
    caught(&with_plane::<IGNORES_PFC>(&crowded("pfc", PFC)), Fault::Paused);
}

#[test]
fn a_pause_obeyed_by_another_port_is_caught() {
    caught(&with_plane::<OBEYS_AT_ANOTHER_PORT>(&crowded("pfc", PFC)), Fault::Paused);
}

#[test]
fn a_port_that_stays_held_is_caught() {
    caught(&with_plane::<STAYS_HELD>(&crowded("pfc", PFC)), Fault::Unfinished);
}

/// A link fails while its upstream port is paused, and the port is not released. The resume was lost with the link, so
/// flows behind the port wait for ever.
#[test]
fn a_port_not_released_by_a_flap_is_caught() {
    let flap = format!("{PFC}[[fault]]\nlink = [\"switch0\", \"switch1\"]\ndown = [[\"60 us\", \"1000 us\"]]\n");
    caught(&with_plane::<FORGETS_A_FLAP>(&crowded("pfc", &flap)), Fault::Unfinished);
    let sound = with_plane::<SOUND>(&crowded("pfc", &flap));
    assert!(sound.faults.is_empty(), "{:?}", sound.faults);
}

/// The plane sometimes denies that it has packets to send, so the engine does not poll the port when it is free.
#[test]
fn a_port_that_sleeps_on_data_is_caught() {
    caught(&with_plane::<OVERSLEEPS>(&crowded("fifo", "")), Fault::Idle);
}

/// This is no bug of the data plane: a panic on one thread must end the run instead of leaving the other threads
/// waiting.
#[test]
fn a_panic_on_one_thread_ends_the_run() {
    let scenario = bfc("");
    let simulation = Simulation::new(&scenario, 2);
    let audit = || Audit::new(&scenario, &simulation.graph);
    let run = || simulation.observe_planes(bent::<PANICS>(), audit, &Watch::default());
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}

// --- FlowSail ----------------------------------------------------------------------------------------------------------------

const CONSUMES_THE_MARK_EARLY: u8 = 1;
const TELLS_EARLY: u8 = 2;
const NEVER_TELLS: u8 = 3;
const LEAKS: u8 = 4;
const NEVER_LAPSES: u8 = 5;
const HOLDS_TWICE: u8 = 6;
const TELLS_ANOTHER_PORT: u8 = 7;
const IGNORES_FLOW_PAUSE: u8 = 8;
const ISOLATES_WITHOUT_MARKS: u8 = 9;
const RETURNS_TOO_SOON: u8 = 10;
const FORGETS_A_FLAG: u8 = 11;
const RESUMES_THE_QUEUE_FOR_ALL: u8 = 12;

/// FlowSail with bug number `BUG`. `MUTE` disables its own recount, which would find most bugs first.
#[derive(Clone)]
struct Sail<const BUG: u8, const MUTE: bool> {
    inner: FlowSail<1>,
    tampered: Cell<u32>,
}

impl<const BUG: u8, const MUTE: bool> Sail<BUG, MUTE> {
    fn record(&self, port: PortId, name: FlowName) -> Option<Record> {
        let table = self.inner.table();
        table.find(port, name).map(|slot| table[slot])
    }

    /// Whether a port has order marks. In a queue that wrongly sends, marks would be taken for packets, and all
    /// counters would go wrong.
    fn has_marks(&self, port: PortId) -> bool {
        let marks = state::MARK_NORMAL | state::MARK_ISOLATED;
        self.inner.table().iter().any(|(_, record)| record.port() == port && record.is(marks))
    }

    /// Returns true on the first call and every fifth after it.
    fn now_and_then(&self) -> bool {
        self.tampered.set(self.tampered.get() + 1);
        self.tampered.get() % 5 == 1
    }
}

impl<const BUG: u8, const MUTE: bool> Policy for Sail<BUG, MUTE> {
    type Queues = Narrow;
    type Params = FlowSailParams;

    fn new(params: &FlowSailParams, shape: &Shape) -> Self {
        Sail { inner: FlowSail::new(params, shape), tampered: Cell::new(0) }
    }

    fn extra_cells(params: &FlowSailParams) -> usize {
        FlowSail::<1>::extra_cells(params)
    }

    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &Narrow,
        rng: &mut Stream,
    ) -> Choice {
        let choice = self.inner.choose(now, packet, ingress, port, queues, rng);
        let Some(record) = self.record(port, packet.flow_name()) else { return choice };
        match BUG {
            ISOLATES_WITHOUT_MARKS if record.normal > 3000 && choice.queue != record.isolation_queue() => {
                Choice { queue: record.isolation_queue(), ..choice }
            }
            RETURNS_TOO_SOON if record.isolated > 0 && !record.is(state::MARK_NORMAL | state::MARK_ISOLATED) => {
                Choice { queue: 1, fresh: true, ..choice }
            }
            _ => choice,
        }
    }

    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
        self.inner.prefetch(packet, ingress, port)
    }

    fn lets_pass(&self, choice: Choice) -> bool {
        self.inner.lets_pass(choice)
    }

    fn record_of(&self, port: PortId, flow: FlowName) -> u32 {
        self.inner.record_of(port, flow)
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &Narrow,
    ) -> Option<Outgoing> {
        let told = self.inner.on_enqueue(now, packet, held, port, choice, queues);
        if BUG == TELLS_ANOTHER_PORT {
            return told.map(|(ingress, frame)| ((ingress + 1) % 3, frame));
        }
        told
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        if BUG == FORGETS_A_FLAG && held.counted && self.tampered.get() == 0 {
            self.tampered.set(1);
            return self.inner.on_dequeue(now, packet, &Meta { counted: false, ..*held }, port, queue);
        }
        let told = self.inner.on_dequeue(now, packet, held, port, queue);
        if BUG == TELLS_EARLY && told.is_none() && held.counted && self.tampered.get() == 0 {
            self.tampered.set(1);
            return Some((held.ingress as PortId, ControlFrame::ResumeFlow(packet.flow_name())));
        }
        told.filter(|_| BUG != NEVER_TELLS)
    }

    fn on_joined(&mut self, port: PortId, queue: QueueId, queues: &mut Narrow, cells: &mut Cells<impl Extension>) {
        self.inner.on_joined(port, queue, queues, cells);
    }

    fn on_gone(&mut self, port: PortId, queue: QueueId, queues: &mut Narrow, cells: &mut Cells<impl Extension>) {
        self.inner.on_gone(port, queue, queues, cells);
        if BUG == CONSUMES_THE_MARK_EARLY {
            queues.take_mark(cells, 0);
        }
    }

    fn on_pass(&mut self, now: Instant, packet: &Packet, held: &Meta, port: PortId, choice: Choice, queues: &Narrow) {
        self.inner.on_pass(now, packet, held, port, choice, queues);
    }

    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut Narrow,
        cells: &mut Cells<impl Extension>,
    ) {
        if BUG == IGNORES_FLOW_PAUSE && matches!(frame, ControlFrame::PauseFlow(_)) {
            return;
        }
        self.inner.on_control(now, port, frame, queues, cells);
        if BUG == CONSUMES_THE_MARK_EARLY {
            queues.take_mark(cells, 0);
        }
        match frame {
            ControlFrame::PauseFlow(name) => {
                let Some(record) = self.record(port, name) else { return };
                if BUG == LEAKS && !self.has_marks(port) {
                    queues.set_closed(record.isolation_queue(), false);
                }
            }
            ControlFrame::ResumeFlow(_) if BUG == HOLDS_TWICE && self.now_and_then() => queues.set_closed(0, true),
            // The published pseudo-code frees a queue for all its paused flows at the first RESUME, too (spec F.9).
            ControlFrame::ResumeFlow(_) if BUG == RESUMES_THE_QUEUE_FOR_ALL && !self.has_marks(port) => {
                (0..queues.count() as QueueId).for_each(|q| queues.set_closed(q, false));
            }
            _ => {}
        }
    }

    fn may_send(&self, port: PortId) -> bool {
        self.inner.may_send(port)
    }

    fn next_timer(&self) -> Instant {
        self.inner.next_timer()
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, Narrow, impl Extension>) {
        if BUG == NEVER_LAPSES {
            let paused = self.inner.table().iter().filter(|(_, record)| record.is(state::PAUSED));
            let paused: Vec<(PortId, FlowName)> = paused.map(|(_, record)| (record.port(), record.name())).collect();
            for (port, name) in paused {
                let (queues, cells) = ports.open(port);
                self.inner.on_control(now, port, ControlFrame::PauseFlow(name), queues, cells);
            }
        }
        self.inner.on_timer(now, ports);
    }

    fn on_link_down(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, Narrow, impl Extension>) {
        self.inner.on_link_down(now, port, ports);
    }

    fn audit(&self, residents: &[Resident], queues: &[&Narrow]) -> Result<(), String> {
        if MUTE { Ok(()) } else { self.inner.audit(residents, queues) }
    }
}

/// FlowSail with few queues and low thresholds.
fn flowsail(more: &str) -> Scenario {
    crowded("flowsail", &format!("[switch]\nqueues = 3\n[switch.flowsail]\nql = 0.15\nqh = 0.45\n{more}"))
}

impl<const BUG: u8, const MUTE: bool> Tabled for Switch<Sail<BUG, MUTE>> {
    fn table(&self) -> Option<&FlowTable> {
        Some(self.policy().inner.table())
    }
}

fn watched<D: Tabled<Extension = ()>>(scenario: &Scenario, build: impl Fn(&Shape, &Table) -> D) -> Report {
    let simulation = Simulation::new(scenario, 1);
    let graph = &simulation.graph;
    let sheets = Sheets::new(scenario, graph, false);
    let audit = || Audit::new(scenario, graph).reading(&sheets);
    let (outcome, audits) = simulation.observe_planes(sheets.plane_of(build), audit, &Watch::default());
    audit::conclude(audits, &outcome)
}

fn sail<const BUG: u8, const MUTE: bool>(scenario: &Scenario) -> Report {
    watched(scenario, |shape, params| Switch::<Sail<BUG, MUTE>>::new(shape, &params.flowsail))
}

#[test]
fn the_sound_flowsail_passes() {
    for more in ["", DEAF_BOTTLENECK] {
        let report = sail::<SOUND, false>(&flowsail(more));
        assert!(report.faults.is_empty() && report.quiescent, "{:?}", report.faults);
        for branch in ["PAUSE of a flow at a NIC", "PAUSE of a flow at a switch", "RESUME of a flow at a switch"] {
            assert!(report.counts.contains_key(branch), "{branch} is not reached: {:?}", report.counts);
        }
    }
}

/// FlowSail's safety depends on the mark before a flow's new packets; this bug consumes it before its twin.
#[test]
fn an_order_mark_that_does_not_wait_is_caught() {
    caught(&sail::<CONSUMES_THE_MARK_EARLY, false>(&flowsail("")), Fault::Recount);
    // NICs ignore pauses, so a resumed flow has packets in both queues.
    let pushed = flowsail("nic_obeys = false\n");
    caught(&sail::<CONSUMES_THE_MARK_EARLY, true>(&pushed), Fault::Order);
}

#[test]
fn isolation_without_marks_is_caught() {
    caught(&sail::<ISOLATES_WITHOUT_MARKS, false>(&flowsail("")), Fault::Recount);
    caught(&sail::<ISOLATES_WITHOUT_MARKS, true>(&flowsail("")), Fault::Order);
}

#[test]
fn a_return_with_packets_isolated_is_caught() {
    caught(&sail::<RETURNS_TOO_SOON, false>(&flowsail("")), Fault::Recount);
    caught(&sail::<RETURNS_TOO_SOON, true>(&flowsail("")), Fault::Order);
}

#[test]
fn a_flow_resumed_early_is_caught() {
    caught(&sail::<TELLS_EARLY, false>(&flowsail("")), Fault::Protocol);
}

#[test]
fn a_flow_never_resumed_is_caught() {
    caught(&sail::<NEVER_TELLS, false>(&flowsail("")), Fault::Protocol);
}

#[test]
fn a_flagged_packet_not_counted_down_is_caught() {
    caught(&sail::<FORGETS_A_FLAG, false>(&flowsail("")), Fault::Recount);
    caught(&sail::<FORGETS_A_FLAG, true>(&flowsail("")), Fault::Unfinished);
}

#[test]
fn a_packet_of_a_paused_flow_that_leaves_is_caught() {
    for report in [sail::<LEAKS, true>(&flowsail("")), sail::<IGNORES_FLOW_PAUSE, true>(&flowsail(""))] {
        caught(&report, Fault::Paused);
    }
    caught(&sail::<LEAKS, false>(&flowsail("")), Fault::Recount);
}

/// FS-A4: with two paused flows in a queue, the resume of the first also frees the second.
#[test]
fn a_queue_resumed_for_all_its_flows_is_caught() {
    // With the default `hold`, a packet would leave before the recount.
    let by_the_letter = flowsail("hold = \"any\"\n");
    caught(&sail::<RESUMES_THE_QUEUE_FOR_ALL, false>(&by_the_letter), Fault::Recount);
    caught(&sail::<RESUMES_THE_QUEUE_FOR_ALL, true>(&flowsail("")), Fault::Paused);
}

#[test]
fn a_hold_counted_twice_is_caught() {
    caught(&sail::<HOLDS_TWICE, false>(&flowsail("")), Fault::Recount);
    caught(&sail::<HOLDS_TWICE, true>(&flowsail("")), Fault::Idle);
}

/// A flow whose RESUME was lost waits for ever.
#[test]
fn a_pause_that_does_not_lapse_is_caught() {
    let report = sail::<NEVER_LAPSES, false>(&flowsail(DEAF_BOTTLENECK));
    assert!(report.has(Fault::Idle) || report.has(Fault::Unfinished), "{:?}", report.faults);
}

#[test]
fn a_pause_told_at_another_port_is_caught() {
    caught(&sail::<TELLS_ANOTHER_PORT, false>(&flowsail("")), Fault::Protocol);
}

#[test]
fn a_pause_not_repeated_is_caught() {
    caught(&with_plane::<SENDS_ONCE>(&flowsail("")), Fault::Protocol);
    assert!(with_plane::<SOUND>(&flowsail("")).faults.is_empty());
}

/// A scheme that pauses flows by name once. Pauses are neither repeated nor do they lapse, and NICs ignore them.
fn told_once(more: &str) -> Scenario {
    let knobs = "[switch]\nqueues = 5\n[switch.flowsail]\nql = 0.15\nrefresh = \"0 s\"\nnic_obeys = false\n";
    crowded("bfc-flow-id", &format!("{knobs}{more}"))
}

#[test]
fn a_flow_never_resumed_that_has_nothing_to_send_is_caught() {
    caught(&with_plane::<KEEPS_HOSTS_HELD>(&told_once("")), Fault::Protocol);
    assert!(with_plane::<SOUND>(&told_once("")).faults.is_empty());
}

/// Expects no fault from a pause whose reason remains. Where no pause lapses, a lost RESUME may leave a copy of a
/// packet in a switch for ever, although its flow finishes. The switch is right to pause the flow as long as it holds
/// the packet.
#[test]
fn a_flow_is_rightly_paused_while_a_packet_of_it_stays() {
    let scenario = told_once("[[fault]]\nlink = [\"switch0\", \"switch1\"]\nloss = 1e-9\n");
    let simulation = Simulation::new(&scenario, 1);
    let (switch, [from, to]): (usize, [PortId; 2]) = (6, [0, 4]);
    for stays in [true, false] {
        let (outcome, mut audits) =
            simulation.observe_any(|| Audit::new(&scenario, &simulation.graph), &Watch::default());
        let packet = Packet { kind: Kind::Data, wire: 1048, ..Packet::NONE };
        if stays {
            let joined = Joined { ingress: from, egress: to, upstream_queue: 0, queue: 0, frame_on: None };
            audits[0].enqueued(outcome.ended, switch, joined, &packet, &Transmission::NONE);
        }
        let pause = ControlFrame::PauseFlow(packet.flow_name()).into();
        let departed = Departed { entered: outcome.ended, ..Departed::BESIDE_DATA };
        audits[0].departed(outcome.ended, switch, from, &pause, &departed);
        let faults: Vec<Fault> = audit::conclude(audits, &outcome).faults.iter().map(|fault| fault.0).collect();
        assert_eq!(faults, if stays { vec![] } else { vec![Fault::Protocol] });
    }
}

/// Expects flows that have ended to keep their records under the bug.
#[test]
fn records_that_leak_are_caught() {
    let scenario = flowsail("");
    let released_after = |release: Option<Duration>| {
        watched(&scenario, |shape, params| {
            let flowsail = FlowSailParams { release, ..params.flowsail.clone() };
            any(Memory::Exact, shape, &Table { flowsail, ..params.clone() })
        })
    };
    caught(&released_after(Some(Duration::from_us(1_000_000))), Fault::Held);
    assert!(released_after(None).faults.is_empty());
}
