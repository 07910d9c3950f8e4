//! The fast path that bypasses an empty port acts like enqueue and dequeue, event by event.

use crate::conformance::digests::{busy, digest};
use crate::conformance::registry::{NOTHING, Subject, each, profiled, schemes};
use backwater_dataplane::{DataPlane, Discarded, Ns3Streams, Readings, Received, Sent, Shape};
use backwater_planes::any;
use backwater_scenario::Scenario;
use backwater_scenario::model::Memory;
use backwater_schemes::AnySwitch;
use backwater_schemes::Switch as Table;
use backwater_sim::measure::outcome::Digests;
use backwater_sim::observe::NoObserver;
use backwater_sim::{Planes, Simulation, Watch};
use backwater_types::{ControlFrame, Extension, Frame, Instant, Kind, LibraryRand, PintShape, PortId, QueueId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Two switches with the same input. The first may let packets bypass its queues; the second enqueues every packet.
struct Twins<E: Extension> {
    passes: AnySwitch<E>,
    queues: AnySwitch<E>,
    passed: Arc<AtomicU64>,
    /// Generators of the two switches, where all nodes of a network draw from one. Before each draw, the second copies
    /// the first's state.
    rand: Option<[LibraryRand; 2]>,
    /// Ports to poll, of each twin.
    to_poll: [Vec<PortId>; 2],
}

impl<E: Extension> Twins<E> {
    /// Checks that both switches have the same readings at `port`.
    fn compare(&self, now: Instant, port: PortId) {
        let (a, b) = (self.passes.readings(), self.queues.readings());
        let read =
            |twin: &dyn Readings| (twin.buffered(), twin.queued(port), twin.active_flows(port), twin.isolated_flows());
        assert_eq!(read(a), read(b), "at {now:?}, port {port}");
        let assigned = |twin: &dyn Readings| format!("{:?}", twin.assigned(port));
        assert_eq!(assigned(a), assigned(b), "at {now:?}, port {port}");
        assert_eq!(self.passes.next_timer(), self.queues.next_timer(), "at {now:?}");
        assert_eq!(self.passes.sendable(port), self.queues.sendable(port), "at {now:?}, port {port}");
        assert_eq!(self.passes.due(port), self.queues.due(port), "at {now:?}, port {port}");
    }

    /// Gives the enqueueing twin the generator state of the other.
    fn draw_alike(&self) {
        if let Some([passes, queues]) = &self.rand {
            queues.follow(passes);
        }
    }

    /// Checks that `what` makes both twins name the same ports to poll.
    fn poll(&mut self, to_poll: &mut Vec<PortId>, what: impl Fn(&mut AnySwitch<E>, &mut Vec<PortId>)) {
        let [a, b] = &mut self.to_poll;
        a.clear();
        b.clear();
        what(&mut self.passes, a);
        what(&mut self.queues, b);
        assert_eq!(a, b);
        to_poll.append(a);
    }
}

impl<E: Extension> DataPlane for Twins<E> {
    type Extension = E;

    fn receive(&mut self, now: Instant, packet: &Frame<E>, ingress: PortId, egress: PortId) -> Received {
        let received = self.passes.receive(now, packet, ingress, egress);
        let other = self.queues.receive(now, packet, ingress, egress);
        assert_eq!((received.dropped, received.frame_on), (other.dropped, other.frame_on), "at {now:?}");
        self.compare(now, egress);
        received
    }

    fn pass(&mut self, now: Instant, packet: &mut Frame<E>, ingress: PortId, egress: PortId) -> Option<QueueId> {
        self.draw_alike();
        let unstamped = *packet;
        let queue = self.passes.pass(now, packet, ingress, egress)?;
        self.passed.fetch_add(1, Ordering::Relaxed);
        let received = self.queues.receive(now, &unstamped, ingress, egress);
        assert!(received.dropped.is_none() && received.frame_on.is_none(), "at {now:?}: {received:?}");
        let sent = self.queues.transmit(now, egress).expect("it was alone at a free port");
        assert_eq!((sent.packet.flow, sent.packet.seq, sent.packet.kind), (packet.flow, packet.seq, packet.kind));
        assert_eq!(sent.packet.flags, packet.flags, "at {now:?}: marks");
        assert_eq!(sent.packet.extension, packet.extension, "at {now:?}: telemetry");
        assert!(sent.frame_on.is_none(), "at {now:?}: {:?}", sent.frame_on);
        if let Some(other) = sent.queue {
            assert_eq!(queue, other, "at {now:?}");
        }
        self.compare(now, egress);
        Some(queue)
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent<E>> {
        self.draw_alike();
        let (sent, other) = (self.passes.transmit(now, port), self.queues.transmit(now, port));
        let told = |sent: Option<Sent<E>>| {
            sent.map(|sent| (format!("{:?}", sent.packet), sent.queue, sent.frame_on, sent.entered))
        };
        assert_eq!(told(sent), told(other), "at {now:?}, port {port}");
        self.compare(now, port);
        sent
    }

    fn queues_as_data(&self, kind: Kind) -> bool {
        self.passes.queues_as_data(kind)
    }

    fn sendable(&self, port: PortId) -> bool {
        self.passes.sendable(port)
    }

    fn due(&self, port: PortId) -> Instant {
        self.passes.due(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        self.passes.control(now, port, frame);
        self.queues.control(now, port, frame);
        self.compare(now, port);
    }

    fn next_timer(&self) -> Instant {
        self.passes.next_timer()
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        self.poll(to_poll, |twin, to_poll| twin.timer(now, to_poll));
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.poll(to_poll, |twin, to_poll| twin.link_down(now, port, to_poll));
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.poll(to_poll, |twin, to_poll| twin.link_up(now, port, to_poll));
    }

    fn discarded(&mut self) -> &mut Vec<Discarded<Self::Extension>> {
        self.queues.discarded().clear();
        self.passes.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.passes.readings()
    }
}

fn unmetered(subject: &Subject) -> Scenario {
    let mut scenario = busy(subject);
    // Packets do not bypass queues where delays or active flows are measured.
    (scenario.measure.active_flows, scenario.measure.queueing_delay) = (false, false);
    scenario
}

/// Parameters that change which packets may bypass queues, beside the values of the schemes.
const RULES: [&str; 3] = [
    "switch.flowsail.hold = \"any\"\nswitch.flowsail.release_from = \"touch\"",
    "switch.flowsail.residue = \"drain\"",
    "switch.bfc.literal_empty = true",
];

#[test]
fn passing_an_empty_port_leaves_the_traces_of_queueing() {
    let ship: Vec<Subject> = schemes().into_iter().chain(profiled()).collect();
    each(ship, |subject| {
        let outcome = twins(&subject.name, &unmetered(subject));
        for rule in RULES.map(|rule| subject.with(rule)).iter().filter(|rule| rule.load(NOTHING).is_ok()) {
            let scenario = unmetered(rule);
            // A rule of another scheme changes nothing.
            if digest(&scenario, 1).tables != outcome.tables {
                twins(&rule.name, &scenario);
            }
        }
    });
}

/// Maker of twins for any network.
struct AllTwins {
    memory: Memory,
    passed: Arc<AtomicU64>,
    /// Streams of the enqueueing twins, where the other twins share streams: copies of the shared ones.
    streams: OnceLock<Ns3Streams>,
}

impl Planes for AllTwins {
    type Plane<E: Extension> = Twins<E>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Table) -> Twins<E> {
        let ns3 = shape.ns3.as_ref().map(|streams| self.streams.get_or_init(|| streams.fork()).clone());
        let rand = shape.pint.rand.as_ref().map(|rand| [rand.clone(), rand.fork()]);
        let pint = PintShape { rand: rand.as_ref().map(|[_, queues]| queues.clone()), ..shape.pint.clone() };
        let (passes, queues) = (shape.clone(), Shape { ns3, pint, ..shape.clone() });
        let [passes, queues] = [passes, queues].map(|shape| any(self.memory, &shape, table));
        Twins { passes, queues, passed: self.passed.clone(), rand, to_poll: Default::default() }
    }
}

fn twins(name: &str, scenario: &Scenario) -> Digests {
    let passed = Arc::new(AtomicU64::new(0));
    let twins = AllTwins { memory: scenario.conventions.memory, passed: passed.clone(), streams: OnceLock::new() };
    let (outcome, _) = Simulation::new(scenario, 1).observe(&twins, || NoObserver, &Watch::default());
    println!("{name}: {} passed", passed.load(Ordering::Relaxed));
    assert_eq!(digest(scenario, 1), outcome.digest, "{name}");
    outcome.digest
}
