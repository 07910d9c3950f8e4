//! Replays: every decision of a recorded switch is equal, and any that is not is named.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

#[path = "../../sim/tests/engine/common/cases.rs"]
mod cases;
mod traffic;

use backwater_dataplane::{DataPlane, Departed, Discarded, Readings, Received, Sent};
use backwater_replay::player::{play, scenario_of};
use backwater_replay::{Ending, Error, Head, Log, Reader, Recorded, Replay, replay, switch};
use backwater_scenario::{Scenario, load_str, topology};
use backwater_schemes::AnySwitch;
use backwater_schemes::planes::Product;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Frame, Instant, Kind, PortId, QueueId};
use cases::cases;
use std::path::{Path, PathBuf};
use traffic::{Did, Drops, Shared, Traffic, build, head, recorded};

/// Packets of each scheme.
const PACKETS: u64 = 100_000;

/// A network of two switches, with a buffer that overflows. `switch` are lines of its table.
fn scenario(scheme: &str, switch: &str) -> Scenario {
    let text = format!(
        "scheme = \"{scheme}\"\nseed = 7\n[topology]\nkind = \"dumbbell\"\nleft = 3\nright = 3\nrate = \"100 Gbps\"\n\
         delay = \"1 us\"\nbottleneck_rate = \"100 Gbps\"\nbottleneck_delay = \"1 us\"\n[switch]\n{switch}\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host3\"]\n[run]\nduration = \"1 ms\"\n"
    );
    let plan = load_str(&text, Path::new("."), "test", &[], None).expect("a valid scenario");
    plan.runs[0].scenario.clone()
}

/// Builds the switch `switch1` of a scenario's network.
fn built(scenario: &Scenario) -> AnySwitch {
    let (plane, ports) = switch(scenario, &topology::expand(&scenario.topology), "switch1").expect("there is one");
    assert_eq!(ports, traffic::PORTS);
    plane
}

/// A directory of this test, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("backwater-replay-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Scratch(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("room for a log");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn replayed(path: &Path) -> Result<Replay, Error> {
    replay(path, &mut |_| true).map(|replay| replay.expect("nobody stops it"))
}

/// Plays a log in the switch that it describes, or in `plane`.
fn played(bytes: &[u8], plane: Option<AnySwitch>) -> Result<Replay, Error> {
    let mut reader = Reader::new(bytes)?;
    let (mut plane, scheme) = match plane {
        Some(plane) => (plane, "none".to_string()),
        None => {
            let (scenario, name) = scenario_of(&reader)?;
            (switch(&scenario, &topology::expand(&scenario.topology), &name)?.0, scenario.scheme)
        }
    };
    reader.limit_ports(traffic::PORTS);
    play(&mut reader, &mut plane, &scheme, &mut |_| true).map(|replay| replay.expect("nobody stops it"))
}

#[test]
fn every_decision_of_each_scheme_is_equal() {
    let scratch = Scratch::new("schemes");
    for (scheme, buffer) in [("bfc", 100), ("flowsail", 100), ("pfc", 150)] {
        let scenario = scenario(scheme, &format!("queues = 16\nbuffer = \"{buffer} KB\""));
        let path = scratch.0.join(format!("{scheme}.log"));
        let log = Log::create(&path, &Head::new(&scenario, "switch1").expect("JSON")).expect("a file");
        let mut traffic = Traffic::new(Recorded::new(built(&scenario), log.clone()), Drops::Never);
        traffic.run(PACKETS);
        let records = log.finish().expect("room for a log");
        let replay = replayed(&path).expect("a log");
        assert_eq!(replay.difference, None, "{scheme}");
        assert_eq!((replay.ending, replay.packets), (Some(Ending::Complete), PACKETS), "{scheme}");
        assert_eq!((replay.records, &replay.scheme[..], &replay.switch[..]), (records, scheme, "switch1"));
        let count = |counts: &dyn Fn(&Did) -> bool| traffic.holder.did.iter().filter(|did| counts(did)).count();
        let sent = count(&|did| matches!(did, Did::Sent(_, packet, _) if packet.kind != Kind::Control));
        let pauses = count(&|did| matches!(did, Did::Sent(_, packet, _) if packet.kind == Kind::Control));
        let dropped = count(&|did| matches!(did, Did::Dropped(..)));
        println!("{scheme}: {records} records, {sent} sent, {dropped} dropped, {pauses} control frames");
        assert!(sent > 70_000 && dropped > 100 && pauses > 1_000, "{scheme}: the traffic is one-sided");
    }
}

#[test]
fn every_decision_of_each_product_is_equal() {
    for product in Product::ALL {
        for drops in [Drops::Never, Drops::WithPort, Drops::Unmarked] {
            // Only switches without backpressure drop packets that cannot be marked.
            if drops == Drops::Unmarked && ![Product::Fifo, Product::FairQueueing, Product::Sfq].contains(product) {
                continue;
            }
            let (_, bytes) = recorded(build(*product, drops), drops, 5_000, &head());
            let replay = played(&bytes, Some(build(*product, drops))).expect("a log");
            assert_eq!(replay.difference, None, "{product:?}, {drops:?}");
            assert_eq!((replay.ending, replay.packets), (Some(Ending::Complete), 5_000), "{product:?}, {drops:?}");
        }
    }
}

/// A switch with one bug: its `number`-th queue of an arrival is one too high.
struct Planted {
    plane: AnySwitch,
    number: u32,
}

impl DataPlane for Planted {
    type Extension = ();

    fn receive(&mut self, now: Instant, frame: &Frame, ingress: PortId, egress: PortId) -> Received {
        let received = self.plane.receive(now, frame, ingress, egress);
        self.number = self.number.wrapping_sub(1);
        Received { queue: received.queue + u16::from(self.number == 0), ..received }
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        self.plane.transmit(now, port)
    }

    fn pass(&mut self, now: Instant, frame: &mut Frame, ingress: PortId, egress: PortId) -> Option<QueueId> {
        self.plane.pass(now, frame, ingress, egress)
    }

    fn queues_as_data(&self, kind: Kind) -> bool {
        self.plane.queues_as_data(kind)
    }

    fn sendable(&self, port: PortId) -> bool {
        self.plane.sendable(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        self.plane.control(now, port, frame);
    }

    fn next_timer(&self) -> Instant {
        self.plane.next_timer()
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        self.plane.timer(now, to_poll);
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.plane.link_down(now, port, to_poll);
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.plane.link_up(now, port, to_poll);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded> {
        self.plane.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.plane.readings()
    }
}

#[test]
fn a_planted_queue_is_named() {
    let plane = Planted { plane: build(Product::BfcSwitch, Drops::Never), number: 500 };
    let (_, bytes) = recorded(Box::new(plane), Drops::Never, 2_000, &head());
    // The record of the 500th arrival, by the log itself.
    let mut reader = Reader::new(&bytes[..]).expect("a log");
    let (mut arrivals, mut wrong) = (0, None);
    while arrivals < 500 {
        let step = reader.read().expect("a record").expect("not the end");
        arrivals += u32::from(step.call.name() == "receive");
        wrong = Some(step);
    }
    let step = wrong.expect("500 arrivals");
    let replay = played(&bytes, Some(build(Product::BfcSwitch, Drops::Never))).expect("a log");
    let difference = replay.difference.expect("it is found");
    assert_eq!((difference.record, difference.call, replay.ending), (reader.records(), step.call, None));
    assert_eq!(Some(difference.at), step.call.now());
    let [fact] = &difference.facts[..] else { panic!("{difference:?}") };
    let queue = |text: &str| text.parse::<u16>().expect("a queue");
    assert_eq!((fact.what, queue(&fact.expected)), ("queue", queue(&fact.found) + 1));
}

#[test]
fn another_threshold_seed_or_number_of_queues_is_found() {
    let few = "queues = 4\nbuffer = \"200 KB\"";
    let threshold = format!("{few}\nbfc.fixed_threshold = \"7 KB\"");
    let cases = [
        ("threshold", scenario("bfc", &threshold), scenario("bfc", &threshold.replace("7 KB", "7200 B"))),
        ("buffer", scenario("pfc", few), scenario("pfc", &few.replace("200 KB", "199 KB"))),
        ("number of queues", scenario("bfc", few), scenario("bfc", &few.replace("= 4", "= 5"))),
        ("seed", scenario("bfc", few), Scenario { seed: 8, ..scenario("bfc", few) }),
        ("scheme", scenario("bfc", few), scenario("flowsail", few)),
    ];
    for (what, recorded_in, described) in cases {
        let described = Head::new(&described, "switch1").expect("JSON");
        let (_, bytes) = recorded(built(&recorded_in), Drops::Never, 20_000, &described);
        let replay = played(&bytes, None).expect("a log");
        let difference = replay.difference.unwrap_or_else(|| panic!("another {what} is not found"));
        assert!(!difference.facts.is_empty() && difference.record == replay.records, "{what}: {difference:?}");
        println!("{what}: record {}, {}: {:?}", difference.record, difference.call, difference.facts);
    }
}

#[test]
fn a_log_cut_anywhere_in_its_last_kilobyte_is_answered() {
    let scratch = Scratch::new("cut");
    let scenario = scenario("bfc", "queues = 16\nbuffer = \"200 KB\"");
    let (_, bytes) = recorded(built(&scenario), Drops::Never, 1_000, &Head::new(&scenario, "switch1").expect("JSON"));
    for length in (bytes.len() - 1024..bytes.len()).step_by(cases(7, 1) as usize) {
        let replay = replayed(&scratch.file("cut.log", &bytes[..length])).expect("nothing is damaged");
        assert_eq!(replay.difference, None);
        assert!(!matches!(replay.ending, None | Some(Ending::Complete)), "{length}: {:?}", replay.ending);
    }
    assert_eq!(replayed(&scratch.file("cut.log", &bytes)).expect("a log").ending, Some(Ending::Complete));
}

#[test]
fn flipped_bytes_are_refused() {
    let scratch = Scratch::new("flipped");
    let scenario = scenario("flowsail", "queues = 16\nbuffer = \"200 KB\"");
    let (_, bytes) = recorded(built(&scenario), Drops::Never, 500, &Head::new(&scenario, "switch1").expect("JSON"));
    let mut draws = Stream::new(3, 3, 3);
    for _ in 0..cases(200, 1_000) {
        let mut flipped = bytes.clone();
        let at = draws.next_u32() as usize % flipped.len();
        flipped[at] ^= 1 + (draws.next_u32() % 255) as u8;
        let answer = replayed(&scratch.file("flipped.log", &flipped));
        let torn = matches!(&answer, Ok(replay) if matches!(replay.ending, Some(Ending::Torn { .. })));
        assert!(answer.is_err() || torn && at + 200 > bytes.len(), "byte {at}: {answer:?}");
    }
}

/// A log whose checks fit may still be wrong, if somebody made it so: other values are refused, or differ, or change
/// nothing that counts.
#[test]
fn forged_logs_are_answered() {
    let mut draws = Stream::new(4, 4, 4);
    for (product, number) in [(Product::BfcSwitch, 300), (Product::FlowSailSwitch, 300), (Product::FifoPfc, 300)] {
        let (_, bytes) = recorded(build(product, Drops::Never), Drops::Never, 300, &head());
        let mut answers = [0, 0, 0];
        for _ in 0..number {
            let forged = forged(&bytes, &mut draws);
            let answer = played(&forged, Some(build(product, Drops::Never)));
            match answer {
                Err(_) => answers[0] += 1,
                Ok(Replay { difference: Some(_), .. }) => answers[1] += 1,
                Ok(_) => answers[2] += 1,
            }
        }
        println!("{product:?}: refused, differs, equal: {answers:?}");
        assert!(answers[0] > 0 && answers[1] > 0, "{product:?}: {answers:?}");
    }
}

/// Writes a log again with one field of one call changed.
fn forged(bytes: &[u8], draws: &mut Stream) -> Vec<u8> {
    use backwater_replay::{Answer, Call};
    let mut below = |limit: usize| draws.next_u32() as usize % limit;
    let mut reader = Reader::new(bytes).expect("a log");
    let mut steps = Vec::new();
    while let Ok(step) = reader.read().expect("a record") {
        steps.push(step);
    }
    let victim = below(steps.len());
    let value = [0, 1, 5, 200, u64::from(u16::MAX), u64::from(u32::MAX), u64::MAX >> 1][below(7)];
    let which = below(8);
    let change = |packet: &mut backwater_types::Packet| match which {
        0 => packet.wire = value as u16,
        1 => packet.class = value as u8,
        2 => packet.upstream_queue = value as u16,
        3 => packet.kind = Kind::Control,
        4 => packet.flow = value as u32,
        _ => packet.flags = value as u8,
    };
    let step = &mut steps[victim];
    match &mut step.call {
        Call::Receive { packet, .. } | Call::Pass { packet, .. } if which < 6 => change(packet),
        Call::Receive { ingress, egress, .. } | Call::Pass { ingress, egress, .. } => {
            *(if which == 6 { ingress } else { egress }) = value as u16;
        }
        Call::Transmit { port, .. }
        | Call::LinkDown { port, .. }
        | Call::LinkUp { port, .. }
        | Call::Sendable { port } => *port = value as u16,
        Call::Control { frame, .. } => *frame = ControlFrame::Pause(value as u16),
        Call::Timer { now } => now.0 = value,
        Call::NextTimer | Call::QueuesAsData { .. } => {
            step.answer = match step.answer {
                Answer::Flag(flag) => Answer::Flag(!flag),
                _ => Answer::Time(Instant(value)),
            };
        }
    }
    let out = Shared::default();
    let log = Log::new(out.clone(), reader.head()).expect("memory takes a log");
    for step in &steps {
        log.write(step);
    }
    log.finish().expect("memory takes a log");
    out.bytes()
}

#[test]
fn a_switch_that_panics_is_a_difference() {
    let (_, bytes) = recorded(build(Product::BfcSwitch, Drops::Never), Drops::Never, 100, &head());
    /// A switch that gives up at once.
    struct Gone;
    impl DataPlane for Gone {
        type Extension = ();
        fn receive(&mut self, _: Instant, _: &Frame, _: PortId, _: PortId) -> Received {
            unimplemented!("gone")
        }
        fn transmit(&mut self, _: Instant, _: PortId) -> Option<Sent> {
            unimplemented!("gone")
        }
        fn transmit_with(&mut self, _: Instant, _: PortId, _: &mut dyn FnMut(&Frame, &Departed)) -> Option<Departed> {
            unimplemented!("gone")
        }
        fn sendable(&self, _: PortId) -> bool {
            unimplemented!("gone")
        }
        fn control(&mut self, _: Instant, _: PortId, _: ControlFrame) {}
        fn next_timer(&self) -> Instant {
            unimplemented!("gone")
        }
        fn timer(&mut self, _: Instant, _: &mut Vec<PortId>) {}
        fn link_down(&mut self, _: Instant, _: PortId, _: &mut Vec<PortId>) {}
        fn link_up(&mut self, _: Instant, _: PortId, _: &mut Vec<PortId>) {}
        fn discarded(&mut self) -> &mut Vec<Discarded> {
            unimplemented!("gone")
        }
        fn readings(&self) -> &dyn Readings {
            unimplemented!("gone")
        }
    }
    let mut reader = Reader::new(&bytes[..]).expect("a log");
    let replay = play(&mut reader, &mut Gone, "none", &mut |_| true).expect("a log").expect("nobody stops it");
    let difference = replay.difference.expect("it panics");
    assert_eq!((difference.record, &difference.facts[0].found[..]), (1, "panic: not implemented: gone"));
}

#[test]
fn the_head_is_checked() {
    let scratch = Scratch::new("head");
    let good = scenario("bfc", "queues = 16");
    let wrong = |head: Head| {
        let out = Shared::default();
        Log::new(out.clone(), &head).expect("memory takes a log").finish().expect("memory takes a log");
        replayed(&scratch.file("head.log", &out.bytes())).expect_err("a wrong head").to_string()
    };
    let problem = wrong(Head::new(&good, "leaf0").expect("JSON"));
    assert_eq!(problem, "switch = \"leaf0\": expected one of switch0, switch1");
    let mut json = Head::new(&good, "switch0").expect("JSON");
    json.scenario["switch"]["queues"] = 1.into();
    let problem = wrong(json);
    assert!(problem.starts_with("scenario of the log, written by 0.1.0: ") && problem.contains("queues"), "{problem}");
    let missing = replayed(&scratch.0.join("none.log")).expect_err("no file").to_string();
    assert_eq!(missing, "no such file");
}

#[test]
fn a_replay_stops_when_told() {
    let scenario = scenario("bfc", "queues = 16");
    let scratch = Scratch::new("stops");
    let (_, bytes) = recorded(built(&scenario), Drops::Never, 50, &Head::new(&scenario, "switch1").expect("JSON"));
    assert_eq!(replay(&scratch.file("some.log", &bytes), &mut |_| false), Ok(None));
}
