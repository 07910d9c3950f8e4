//! The waits of a flow sum to its completion time, to the picosecond, and recording them leaves the run unchanged.

use crate::common::run;
use crate::conformance::faults::{crowd, lossy};
use crate::conformance::registry::{Subject, all, each, profiled};
use backwater_dataplane::Departed;
use backwater_scenario::Scenario;
use backwater_sim::observe::{Joined, Observer, Transmission};
use backwater_sim::record::Wanted;
use backwater_sim::record::waits::{Wait, Why};
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::{BitsPerSec, ControlFrame, Instant, Packet, PortId, QueueId, SerTime};
use std::collections::BTreeMap;

/// Runs the scenario twice and explains all finished flows in the second run.
pub(super) fn explained(scenario: &Scenario) -> Outcome {
    let first = run(scenario);
    let times = (0..).zip(&first.received).filter(|(_, at)| *at != Instant::NEVER);
    let wanted = Wanted { explain: times.collect(), ..Wanted::default() };
    assert!(!wanted.explain.is_empty(), "some flow finished");
    let second = Simulation::new(scenario, 1).record(&wanted, &Watch::default());
    assert_eq!(first.digest.whole, second.digest.whole, "the same run");
    second
}

fn sums_are_exact(name: &str, scenario: &Scenario) {
    let outcome = explained(scenario);
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for wait in &outcome.recorded.waits {
        *sums.entry(wait.flow).or_default() += wait.span.0;
    }
    for row in outcome.flows().filter(|row| row.received != Instant::NEVER) {
        let sum = sums.remove(&row.flow.id);
        assert_eq!(sum, Some(row.received.since(row.flow.at).0), "{name}: flow {}", row.flow.id);
    }
    assert!(sums.is_empty(), "{name}: parts of flows that did not finish: {sums:?}");
}

fn check(subjects: Vec<Subject>) {
    each(subjects, |subject| {
        let down =
            "[[fault]]\nlink = [\"switch0\", \"switch1\"]\ndown = [[\"12 us\", \"40 us\"], [\"45 us\", \"46 us\"]]\n";
        for more in ["", &lossy(0.02), down] {
            if let Ok(scenario) = subject.load(&crowd(more)) {
                sums_are_exact(&format!("{} {more}", subject.name), &scenario);
            }
        }
    });
}

#[test]
fn waits_sum_to_completion_times() {
    check(all());
}

#[test]
fn waits_sum_to_completion_times_in_every_profile() {
    check(profiled());
}

/// Expects pauses under every scheme that pauses, in a crowd and with flows both ways. The switch that paused must be
/// next to the waiting port. The flow to blame must own a packet that made this switch queue the pause.
#[test]
fn pauses_have_their_cause_next_door() {
    each(all(), |subject| {
        // With few queues, both directions use the same queue numbers.
        let few = subject.with("switch.queues = 4").load(&both_ways()).ok();
        for scenario in [subject.scenario(&crowd("")), subject.scenario(&both_ways())].into_iter().chain(few) {
            let outcome = explained(&scenario);
            let peer = |node, port| {
                outcome.ports.iter().find(|row| (row.node, row.port) == (node, port)).expect("a port").peer
            };
            let causes = causes(&scenario);
            for wait in outcome.recorded.waits.iter().filter(|wait| wait.by.is_some()) {
                let by = peer(wait.node, wait.port);
                assert_eq!(wait.by, Some(by), "{}: {wait:?}", subject.name);
                assert!(wait.whose.is_some(), "{}: {wait:?}", subject.name);
                let is_cause = |cause: &Cause| {
                    (cause.switch as u32, peer(cause.switch as u32, cause.ingress)) == (by, wait.node)
                        && cause.queue.is_none_or(|queue| queue == wait.queue)
                        && Some(cause.flow) == wait.sake
                        && Some(peer(cause.switch as u32, cause.egress)) == wait.towards
                };
                assert!(causes.iter().any(is_cause), "{}: {wait:?}", subject.name);
            }
        }
    });
}

/// Returns a dumbbell with flows both ways between three and three hosts. All flows start within a microsecond, so packets
/// of the other direction join the port by which a pause leaves while the pause waits there.
fn both_ways() -> String {
    let flow = |i: u64| {
        let (a, b) = (i % 3, 3 + i / 2 % 3);
        let (src, dst) = if i.is_multiple_of(2) { (a, b) } else { (b, a) };
        format!("  {{ start = \"{} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"100 KB\" }},\n", 20 * i)
    };
    let flows: String = (0..48).map(flow).collect();
    format!(
        "[topology]\nkind = \"dumbbell\"\nleft = 3\nright = 3\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         bottleneck_rate = \"100 Gbps\"\nbottleneck_delay = \"1 us\"\n\
         [run]\nduration = \"100 us\"\nwarmup = \"0 s\"\ndrain = 20000.0\n\
         [[workload]]\nkind = \"flow-list\"\nflows = [\n{flows}]\n"
    )
}

/// A packet that may have caused a pause: it was enqueued after the last instant at which the pause would have left
/// earlier.
struct Cause {
    switch: usize,
    ingress: PortId,
    egress: PortId,
    flow: u32,
    /// Upstream queue that the pause names; `None` if it names a flow or a class.
    queue: Option<QueueId>,
}

/// An enqueued packet.
struct Arrival {
    at: Instant,
    joined: Joined,
    flow: u32,
}

/// A transmission; `frame` is set if it is a control frame.
struct Sent {
    start: Instant,
    end: Instant,
    frame: Option<ControlFrame>,
}

/// Arrivals and transmissions by switch and port, observed from outside the switches.
#[derive(Default)]
struct Log {
    came: BTreeMap<(usize, PortId), Vec<Arrival>>,
    left: BTreeMap<(usize, PortId), Vec<Sent>>,
}

impl Observer for Log {
    fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet, _last: &Transmission) {
        self.came.entry((switch, joined.ingress)).or_default().push(Arrival { at: now, joined, flow: packet.flow });
    }

    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, _sent: &Departed) {
        let end = now + SerTime::of(BitsPerSec(100_000_000_000)).of_bytes(packet.wire.into());
        self.left.entry((switch, port)).or_default().push(Sent { start: now, end, frame: packet.control() });
    }
}

/// Returns every packet that may have caused a pause in the scenario's run. A port sends frames first. A pause that
/// starts right behind other packets was therefore caused during the last of these, or during the frames between. Any
/// other pause was caused at the instant it starts.
fn causes(scenario: &Scenario) -> Vec<Cause> {
    let (_, mut logs) = Simulation::new(scenario, 1).observe_any(Log::default, &Watch::default());
    let Log { came, left } = logs.remove(0);
    let mut causes = Vec::new();
    for (&(switch, ingress), left) in &left {
        for (i, Sent { start, frame, .. }) in left.iter().enumerate() {
            let Some(frame) = frame else { continue };
            let mut since = *start;
            for before in left[..i].iter().rev() {
                if before.end != since {
                    break;
                }
                since = before.start;
                if before.frame.is_none() {
                    break;
                }
            }
            let may_have = |joined: &Joined, flow: u32| match frame {
                ControlFrame::Pause(queue) => joined.upstream_queue == *queue,
                ControlFrame::PauseFlow(name) => flow == name.flow,
                ControlFrame::PfcPause(_) => true,
                ControlFrame::Resume(_) | ControlFrame::Bitmap(_) => false,
                ControlFrame::ResumeFlow(_) | ControlFrame::PfcResume(_) => false,
                ControlFrame::Credit(_) | ControlFrame::CreditSent(_) => false,
            };
            let queue = if let ControlFrame::Pause(queue) = frame { Some(*queue) } else { None };
            for &Arrival { at, joined, flow } in came.get(&(switch, ingress)).into_iter().flatten() {
                if (since..=*start).contains(&at) && may_have(&joined, flow) {
                    causes.push(Cause { switch, ingress, egress: joined.egress, flow, queue });
                }
            }
        }
    }
    causes
}

/// Expects no wait without a cause: a port sends nothing only if its packets are paused, and the record says so.
#[test]
fn no_packet_waits_for_nothing() {
    each(all(), |subject| {
        let outcome = explained(&subject.scenario(&crowd("")));
        let idle = |wait: &&Wait| wait.why == Why::Idle && wait.hop > 0;
        let first = outcome.recorded.waits.iter().find(idle);
        assert_eq!(first, None, "{}", subject.name);
    });
}
