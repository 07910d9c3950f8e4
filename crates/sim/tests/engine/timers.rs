//! The timer of a data plane runs when it is due, in every order of events.

use crate::common::scenario;
use backwater_dataplane::{DataPlane, Discarded, Readings, Received, Sent, Shape};
use backwater_planes::any;
use backwater_schemes::AnySwitch;
use backwater_schemes::Switch as Table;
use backwater_schemes::conventions::Memory;
use backwater_sim::observe::NoObserver;
use backwater_sim::{Simulation, Watch};
use backwater_types::{ControlFrame, Duration, Frame, Instant, PortId};
use std::sync::{Arc, Mutex};

/// Times at which the timer was due and at which it ran.
type Runs = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Not a whole number of nanoseconds.
const PERIOD: Duration = Duration(700_400);
const TIMES: usize = 5;

/// A switch that sets its timer when it first enqueues a packet, and then a few more times.
struct Ticking {
    inner: AnySwitch,
    next: Instant,
    runs: Runs,
}

impl DataPlane for Ticking {
    type Extension = ();

    fn receive(&mut self, now: Instant, packet: &Frame, ingress: PortId, egress: PortId) -> Received {
        let starts = self.next == Instant::NEVER && self.runs.lock().unwrap().is_empty();
        if starts {
            self.next = now + PERIOD;
        }
        let received = self.inner.receive(now, packet, ingress, egress);
        Received { timer_changed: received.timer_changed || starts, ..received }
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        self.inner.transmit(now, port)
    }

    fn sendable(&self, port: PortId) -> bool {
        self.inner.sendable(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        self.inner.control(now, port, frame);
    }

    fn next_timer(&self) -> Instant {
        self.next
    }

    fn timer(&mut self, now: Instant, _to_poll: &mut Vec<PortId>) {
        let mut runs = self.runs.lock().unwrap();
        runs.push((self.next, now));
        self.next = if runs.len() < TIMES { now + PERIOD } else { Instant::NEVER };
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.inner.link_down(now, port, to_poll);
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.inner.link_up(now, port, to_poll);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded> {
        self.inner.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.inner.readings()
    }
}

fn text(profile: &str) -> String {
    format!(
        "scheme = \"pfc\"\n{profile}[topology]\nkind = \"single-switch\"\nhosts = 3\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         [run]\nduration = \"20 us\"\nwarmup = \"0 s\"\ndrain = 10.0\n[[workload]]\nkind = \"flow-list\"\nflows = [\n\
         {{ start = \"0 s\", src = \"host0\", dst = \"host2\", bytes = \"20 KB\" }},\n\
         {{ start = \"0 s\", src = \"host1\", dst = \"host2\", bytes = \"20 KB\" }},\n]\n"
    )
}

#[test]
fn a_switch_is_woken_when_its_timer_is_due_in_every_order_of_events() {
    let hpcc_sim = "compat = \"hpcc-sim\"\n";
    for (profile, memory, unit) in [("", Memory::Exact, 1), (hpcc_sim, Memory::HpccSim, 1000)] {
        let scenario = scenario(&text(profile));
        for one_by_one in [false, true] {
            let simulation = Simulation::new(&scenario, 1);
            let simulation = if one_by_one { simulation.one_by_one() } else { simulation };
            let runs = Runs::default();
            let plane = |shape: &Shape, table: &Table| Ticking {
                inner: any(memory, shape, table),
                next: Instant::NEVER,
                runs: runs.clone(),
            };
            simulation.observe_planes(plane, || NoObserver, &Watch::default());
            let runs = runs.lock().unwrap();
            assert_eq!(runs.len(), TIMES, "{profile}one by one: {one_by_one}");
            let in_time = |(due, ran): &(Instant, Instant)| due.0.div_ceil(unit) * unit == ran.0;
            assert!(runs.iter().all(in_time), "{profile}one by one: {one_by_one}: {runs:?}");
        }
    }
}
