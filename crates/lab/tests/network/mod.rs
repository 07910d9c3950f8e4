//! Small networks, and frames of their hosts.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use backwater_counters::PortStats;
use backwater_lab::Fabric;
use backwater_lab::fabric::address;
use backwater_lab::fabric::outside::{End, Part};
use backwater_lab::fabric::watchdog::Settings;
use backwater_lab::meter::{Measured, Meter};
use backwater_lab::own::{Own, PORT};
use backwater_measure::Outcome;
use backwater_measure::digest::conclude;
use backwater_nic::Rings;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_schemes::AnySwitch;
use backwater_types::Instant;
use etherparse::PacketBuilder;
use std::path::Path;

/// Bytes of a full frame.
pub const FULL: usize = 1000;

/// Frames that fit into the store.
pub const FRAMES: usize = 1 << 16;

pub type Net = Fabric<AnySwitch, Rings>;

pub fn scenario(text: &str) -> Scenario {
    let plan = backwater_scenario::load_str(text, Path::new("."), "test", &[], None).expect("a valid scenario");
    plan.runs[0].scenario.clone()
}

pub fn fabric(scenario: &Scenario, graph: &Graph) -> Net {
    let memory = scenario.conventions.memory;
    Fabric::new(scenario, graph, |shape, table| backwater_planes::any(memory, shape, table), FRAMES)
}

/// A network whose parts run beside each other, as processes would, in virtual time.
pub struct Parts {
    scenario: Scenario,
    graph: Graph,
    watchdog: Option<Settings>,
    parts: Vec<(Part, Net)>,
    /// Meters of all parts, if they are measured.
    meters: Vec<Meter>,
    starts: u64,
}

impl Parts {
    pub fn new(
        scenario: &Scenario,
        graph: &Graph,
        parts: impl Iterator<Item = Part>,
        watchdog: Option<Settings>,
    ) -> Parts {
        let (scenario, graph) = (scenario.clone(), graph.clone());
        let mut network = Parts { scenario, graph, watchdog, parts: Vec::new(), meters: Vec::new(), starts: 0 };
        network.parts = parts.map(|part| (part, network.made(part))).collect();
        for i in 0..network.parts.len() {
            network.greet(i);
        }
        assert!(network.parts.iter().all(|(_, fabric)| fabric.is_greeted()), "all neighbours answer");
        network
    }

    fn made(&self, part: Part) -> Net {
        let memory = self.scenario.conventions.memory;
        let plane = |shape: &_, table: &_| backwater_planes::any(memory, shape, table);
        Fabric::part(&self.scenario, &self.graph, (part, self.watchdog), plane, FRAMES)
    }

    fn greet(&mut self, i: usize) {
        self.starts += 1;
        self.parts[i].1.greet(self.starts);
        self.exchange(|_, bytes| Some(bytes.to_vec()));
    }

    /// Ends a part with all that is in it, and starts it again at `now`.
    pub fn start_again(&mut self, part: Part, now: Instant) {
        let i = self.parts.iter().position(|(one, _)| *one == part).expect("a part of the network");
        self.parts[i].1 = self.made(part);
        self.parts[i].1.run(now, &mut |_, _, _| {});
        self.greet(i);
    }

    pub fn part(&mut self, part: Part) -> &mut Net {
        &mut self.parts.iter_mut().find(|(one, _)| *one == part).expect("a part of the network").1
    }

    /// Carries all frames that have left a part to the next, as far as `carry` leaves them.
    fn exchange(&mut self, mut carry: impl FnMut(End, &[u8]) -> Option<Vec<u8>>) {
        loop {
            let mut on_the_way = Vec::new();
            for (_, fabric) in &mut self.parts {
                let ends: Vec<End> = fabric.ends().collect();
                fabric.emitted(|at, link, bytes| on_the_way.push((at, ends[link], bytes.to_vec())));
            }
            if on_the_way.is_empty() {
                return;
            }
            for (at, end, bytes) in on_the_way {
                let Some(bytes) = carry(end, &bytes) else { continue };
                let there = |fabric: &Net| fabric.ends().position(|one| one == end.other());
                let found = self.parts.iter_mut().find_map(|(_, fabric)| there(fabric).map(|link| (fabric, link)));
                let (fabric, link) = found.expect("the other end of the link");
                fabric.take(at, link, &bytes);
            }
        }
    }

    /// Measures all parts, from time 0.
    pub fn measure(&mut self) {
        let meter = |(_, fabric): &mut (Part, Net)| Meter::new(&self.scenario, &self.graph, fabric);
        self.meters = self.parts.iter_mut().map(meter).collect();
    }

    /// Ends the measurements, and joins those of all parts, which pass as text.
    pub fn measured(&mut self) -> Outcome {
        let measured = |(meter, (_, fabric)): (Meter, &mut (Part, Net))| {
            let text = serde_json::to_string(&meter.measured(fabric)).expect("numbers");
            serde_json::from_str::<Measured>(&text).expect("what was written")
        };
        let parts = self.meters.drain(..).zip(&mut self.parts).map(measured);
        conclude(Measured::outcome(parts, &self.scenario, &self.graph))
    }

    /// Runs all parts up to `until`.
    pub fn run(&mut self, until: Instant, deliver: &mut impl FnMut(Instant, u16, &[u8])) {
        self.run_with(until, deliver, |_, bytes| Some(bytes.to_vec()));
    }

    /// The same, with links that carry what `carry` leaves of a frame.
    pub fn run_with(
        &mut self,
        until: Instant,
        deliver: &mut impl FnMut(Instant, u16, &[u8]),
        mut carry: impl FnMut(End, &[u8]) -> Option<Vec<u8>>,
    ) {
        loop {
            let next = self.parts.iter().map(|(_, fabric)| fabric.next()).min().expect("there is a part");
            // All parts are measured at the same times.
            let pause = self.meters.first().map_or(Instant::NEVER, Meter::before_next);
            let now = next.min(until).min(pause);
            self.parts.iter_mut().for_each(|(_, fabric)| fabric.run(now, deliver));
            self.exchange(&mut carry);
            if next > now && pause < until {
                self.meters.iter_mut().zip(&mut self.parts).for_each(|(meter, (_, fabric))| meter.measure(fabric));
            } else if next > now {
                return;
            }
        }
    }

    /// Names the scenario's own flows, as in the simulator.
    pub fn name_flows(&mut self, own: &[Own]) {
        self.parts[0].1.name_flows(own.iter().filter_map(Own::name));
    }

    pub fn put(&mut self, at: Instant, host: u16, frame: &[u8]) {
        self.parts[0].1.put(at, host, frame);
    }

    /// Counters of every port: hosts first, then switches port by port.
    pub fn stats(&mut self, now: Instant) -> Vec<PortStats> {
        self.parts.iter_mut().flat_map(|(_, fabric)| fabric.stats(now)).collect()
    }

    /// Frames inside.
    pub fn frames(&self) -> usize {
        self.parts.iter().map(|(_, fabric)| fabric.frames()).sum()
    }
}

/// A UDP frame of `wire` bytes, numbered in its payload.
pub fn frame(src: u16, dst: u16, number: u32, wire: usize) -> Vec<u8> {
    let (mut bytes, mut payload) = (Vec::new(), vec![0; wire - 42]);
    payload[..4].copy_from_slice(&number.to_be_bytes());
    let ip = PacketBuilder::ethernet2([2, 0, 0, 0, 0, src as u8], [2, 0, 0, 0, 0, dst as u8]);
    let ip = ip.ipv4(address(src).octets(), address(dst).octets(), 64);
    ip.udp(5000, 5001).write(&mut bytes, &payload).unwrap();
    bytes
}

/// A full frame of one of the scenario's own flows.
pub fn own_frame(own: &Own, number: u32) -> Vec<u8> {
    let mut bytes = frame(own.flow.src, own.flow.dst, number, FULL);
    bytes[34..36].copy_from_slice(&own.port.expect("few flows").to_be_bytes());
    bytes[36..38].copy_from_slice(&PORT.to_be_bytes());
    bytes
}

/// Number of a frame.
pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[42..46].try_into().unwrap())
}

/// Two senders, `a` and `b`, overload the link between two switches. Their receiver is host 2, behind the second.
pub fn overload(scheme: &str) -> String {
    format!(
        "scheme = \"{scheme}\"\nseed = 1\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\", \"r\"]\n\
         switches = [\"sw1\", \"sw2\"]\nlinks = [\
         {{ ends = [\"a\", \"sw1\"], rate = \"100 Gbps\", delay = \"1 us\" }},\
         {{ ends = [\"b\", \"sw1\"], rate = \"100 Gbps\", delay = \"1 us\" }},\
         {{ ends = [\"sw1\", \"sw2\"], rate = \"100 Gbps\", delay = \"1 us\" }},\
         {{ ends = [\"sw2\", \"r\"], rate = \"100 Gbps\", delay = \"1 us\" }}]\n\
         [host]\npayload = \"958 B\"\nheader = \"42 B\"\n[run]\nduration = \"2 ms\"\nwarmup = \"0 s\"\n\
         [[workload]]\nkind = \"long-lived\"\nclass = \"a\"\ncount = 1\nrate = \"100 Gbps\"\nfrom = [\"a\"]\nto = [\"r\"]\n\
         [[workload]]\nkind = \"long-lived\"\nclass = \"b\"\ncount = 1\nrate = \"100 Gbps\"\nfrom = [\"b\"]\nto = [\"r\"]\n\
         start = \"300 ns\"\n"
    )
}
