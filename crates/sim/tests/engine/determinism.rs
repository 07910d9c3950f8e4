//! The same scenario, seed and version give the same bytes: across repeats, threads, window sizes, and however the switch's type
//! is chosen; and across builds, by digests kept in `golden_digests.txt`.
//!
//! This test runs with debug assertions; the release build that Python drives is compared with the same file there. After a
//! change that is meant to change outcomes: `BLESS=1 cargo test -p backwater-sim --test engine golden`.

use crate::common::random::{self, Family};
use crate::common::scenario;
use backwater_dataplane::{DataPlane, Departed, Readings, Received, Sent};
use backwater_scenario::model::{Hold, ReleaseFrom, Residue};
use backwater_scenario::{Scenario, load};
use backwater_schemes::planes::{AnySwitch, any};
use backwater_sim::measure::outcome::Digests;
use backwater_sim::observe::Nobody;
use backwater_sim::{Simulation, Watch};
use backwater_types::{ControlFrame, Instant, Kind, Packet, PortId};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SMOKE: [&str; 7] = ["bfc", "dctcp", "ideal-fq", "flowsail", "ideal-fc", "bcc", "dctcp-tcp"];

fn smoke(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/smoke").join(format!("{name}.toml"));
    load(&path, &[], None).unwrap_or_else(|e| panic!("{e}")).runs.remove(0).scenario
}

fn digest(scenario: &Scenario, threads: usize) -> Digests {
    Simulation::new(scenario, threads).run(&Watch::default()).digest
}

/// A small Clos with losses, flaps, sampling of queues and delays: everything the digest covers. `scheme@profile` is a scheme
/// in another simulator's profile.
fn busy(scheme: &str) -> Scenario {
    let (preset, profile) = scheme.split_once('@').unwrap_or((scheme, ""));
    let compat = if profile.is_empty() { String::new() } else { format!("compat = \"{profile}\"\n") };
    scenario(&format!(
        "scheme = \"{preset}\"\n{compat}[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"600 ns\"\n\
         [run]\nduration = \"150 us\"\n[measure]\nsample = \"3 us\"\nactive_flows = true\nqueueing_delay = true\n\
         [[workload]]\nkind = \"background\"\nsizes = {{ table = \"google_rpc\" }}\nload = 0.7\n\
         [[workload]]\nkind = \"incast\"\ndegree = 12\naggregate = \"120 KB\"\nperiod = \"40 us\"\n\
         [[fault]]\nlink = [\"leaf0\", \"spine1\"]\nloss = 0.01\ncontrol_loss = 0.02\ndown = [[\"50 us\", \"90 us\"]]\n\
         [[fault]]\nlink = [\"host3\", \"leaf0\"]\ndown = [[\"30 us\", \"45 us\"]]\n"
    ))
}

const SCHEMES: [&str; 15] = [
    "bfc",
    "bfc-stochastic",
    "bfc-single",
    "bfc-flow-id",
    "dctcp",
    "pfc",
    "ideal-fq",
    "dqa",
    "fifo",
    "dctcp@hpcc-sim",
    "flowsail",
    "flowsail+dctcp",
    "ideal-fc",
    "bcc",
    "dctcp-tcp",
];

#[test]
fn a_run_repeats_itself() {
    for scheme in SCHEMES {
        let scenario = busy(scheme);
        assert_eq!(digest(&scenario, 1), digest(&scenario, 1), "{scheme}");
    }
}

#[test]
fn another_seed_is_another_run() {
    let scenario = busy("bfc");
    assert_ne!(digest(&scenario, 1), digest(&Scenario { seed: scenario.seed + 1, ..scenario.clone() }, 1));
}

#[test]
fn threads_do_not_matter() {
    for scheme in SCHEMES {
        let scenario = busy(scheme);
        let one = digest(&scenario, 1);
        for threads in [2, 4] {
            assert_eq!(one, digest(&scenario, threads), "{scheme} on {threads} threads");
        }
    }
}

/// The look-ahead here is 600 ns and 49 B, 603 920 ps; with TCP 40 B, 603 200 ps.
#[test]
fn windows_at_or_below_the_look_ahead_do_not_matter() {
    for scheme in SCHEMES {
        let mut scenario = busy(scheme);
        let widest = digest(&scenario, 1);
        for window in [603_920, 600_000, 84_000, 7_919] {
            scenario.run.window = Some(backwater_types::Duration(window));
            assert_eq!(widest, digest(&scenario, 1), "{scheme}, windows of {window} ps");
        }
        scenario.run.window = Some(backwater_types::Duration(200_000));
        assert_eq!(widest, digest(&scenario, 2), "{scheme}, short windows on two threads");
    }
}

#[test]
fn the_enum_of_all_switches_does_as_the_types_do() {
    for name in SMOKE {
        let scenario = smoke(name);
        assert_eq!(digest(&scenario, 1), Simulation::new(&scenario, 1).run_any(&Watch::default()).digest, "{name}");
    }
    for scheme in SCHEMES {
        let scenario = busy(scheme);
        assert_eq!(digest(&scenario, 1), Simulation::new(&scenario, 2).run_any(&Watch::default()).digest, "{scheme}");
    }
    let mut wide = busy("bfc");
    wide.switch.queues = 129;
    assert_eq!(digest(&wide, 1), Simulation::new(&wide, 1).run_any(&Watch::default()).digest, "128 queues");
}

/// A switch in which every packet goes through a queue, also one that finds its port empty.
struct NoneMayPass {
    inner: AnySwitch,
}

impl DataPlane for NoneMayPass {
    fn receive(&mut self, now: Instant, packet: &Packet, ingress: PortId, egress: PortId) -> Received {
        self.inner.receive(now, packet, ingress, egress)
    }
    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent> {
        self.inner.transmit(now, port)
    }
    fn transmit_to(&mut self, now: Instant, port: PortId, out: impl FnOnce(&Packet, &Departed)) -> Option<Departed> {
        self.inner.transmit_to(now, port, out)
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
    fn timer(&mut self, now: Instant, kicked: &mut Vec<PortId>) {
        self.inner.timer(now, kicked);
    }
    fn link_down(&mut self, now: Instant, port: PortId, kicked: &mut Vec<PortId>) {
        self.inner.link_down(now, port, kicked);
    }
    fn link_up(&mut self, now: Instant, port: PortId, kicked: &mut Vec<PortId>) {
        self.inner.link_up(now, port, kicked);
    }
    fn discarded(&mut self) -> &mut Vec<(Packet, Instant)> {
        self.inner.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.inner.readings()
    }
}

/// A packet that passes an empty port leaves the traces of one that was queued and taken.
#[test]
fn passing_an_empty_port_does_not_matter() {
    let unmetered = |scheme: &str| {
        let mut scenario = busy(scheme);
        // Packets that are metered do not pass.
        (scenario.measure.active_flows, scenario.measure.queueing_delay) = (false, false);
        scenario
    };
    let by_the_letter = |mut scenario: Scenario| {
        scenario.switch.flowsail.hold = Hold::Any;
        scenario.switch.flowsail.release_from = ReleaseFrom::Touch;
        scenario
    };
    let draining = |mut scenario: Scenario| {
        scenario.switch.flowsail.residue = Residue::Drain;
        scenario
    };
    let schemes = SCHEMES.map(|scheme| (scheme, unmetered(scheme)));
    let more = [("by the letter", by_the_letter(unmetered("flowsail"))), ("draining", draining(unmetered("flowsail")))];
    for (name, scenario) in schemes.into_iter().chain(more) {
        let memory = scenario.conventions.memory;
        let simulation = Simulation::new(&scenario, 1);
        let queued = simulation.observe_planes(
            |shape, params| NoneMayPass { inner: any(memory, shape, params) },
            || Nobody,
            &Watch::default(),
        );
        assert_eq!(digest(&scenario, 1), queued.0.digest, "{name}");
    }
}

/// What is measured on the side changes no flow.
#[test]
fn measuring_does_not_disturb() {
    let scenario = busy("bfc");
    let mut plain = scenario.clone();
    plain.measure.sample = backwater_types::Duration::ZERO;
    (plain.measure.active_flows, plain.measure.queueing_delay) = (false, false);
    let run = |s: &Scenario| Simulation::new(s, 1).run(&Watch::default());
    let (with, without) = (run(&scenario), run(&plain));
    assert_eq!(with.received, without.received);
    assert_eq!(with.acknowledged, without.acknowledged);
}

#[test]
fn random_networks_do_not_depend_on_threads_or_windows() {
    let families = [(Family::Queues, 200), (Family::Flows, 100), (Family::Tcp, 200)];
    let cases = families.into_iter().flat_map(|(family, cases)| (0..cases).map(move |number| (family, number)));
    for (family, number) in cases {
        let mut scenario = scenario(&random::case(family, 1_000_000 + number).toml);
        let one = digest(&scenario, 1);
        let look_ahead = Simulation::new(&scenario, 1).graph.look_ahead(&scenario.host, &scenario.conventions);
        scenario.run.window = Some(backwater_types::Duration(look_ahead.0 / 3));
        assert_eq!(one, digest(&scenario, 1 + number as usize % 4), "{family:?} case {number}");
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/golden_digests.txt")
}

/// One line a scenario and table, and one for the whole: `experiments/smoke/NAME.toml TABLE DIGEST`.
#[test]
fn smoke_scenarios_have_their_golden_digests() {
    let mut text = String::new();
    for name in SMOKE {
        let Digests { whole, tables } = digest(&smoke(name), 1);
        for (table, digest) in tables.into_iter().chain([("whole", whole)]) {
            let _ = writeln!(text, "experiments/smoke/{name}.toml {table} {digest}");
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden(), &text).unwrap();
    }
    let kept = std::fs::read_to_string(golden()).unwrap_or_default();
    let changed: Vec<&str> = text.lines().filter(|line| !kept.lines().any(|kept| kept == *line)).collect();
    assert!(changed.is_empty(), "outcomes changed; if that is meant, BLESS=1 and say so in the commit: {changed:#?}");
    assert_eq!(text, kept, "what is kept is not what there is");
}
