//! Random small networks: all features of scenarios, in sizes that finish in milliseconds.
//!
//! A case is a number. Its scenario is TOML text, so a failing case can be run by hand.

mod classes;
mod credits;
mod extended;
mod flowsail;
mod tcp;

use super::scenario;
use backwater_scenario::model::{Assignment, Backpressure, LossRecovery, Scheduler, Transport};
use backwater_schemes::registry::PRESETS;
use backwater_types::hash::Stream;
use std::fmt::Write;
use std::sync::OnceLock;

/// Kinds of random scenarios, each numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// All registered schemes except those of the families below.
    Queues,
    /// Registered schemes whose frames name flows, and FlowSail beside other schemes.
    Flows,
    /// TCP over every switch that supports it, mostly with shared memory, whether or not a registered scheme combines
    /// them.
    Tcp,
    /// ExpressPass.
    Credits,
    /// Extended BFC; see `BfcParams::is_extended`.
    Extended,
}

/// A registered scheme, with the properties that the rest of a case depends on.
#[derive(Debug)]
struct Scheme {
    name: &'static str,
    family: Family,
    /// Relative frequency. Switches with more state get more cases.
    weight: usize,
    assignment: Assignment,
    backpressure: Backpressure,
    /// Whether its switches mark packets.
    marks: bool,
    /// Whether each flow has one path.
    one_path: bool,
    /// Whether its senders retransmit single packets.
    selective: bool,
    /// Bytes of metadata in its packets, beside the headers.
    carried: u64,
    /// Whether its switches serve the flow with the least remaining bytes first.
    srf: bool,
}

impl Scheme {
    fn registered() -> &'static [Scheme] {
        static SCHEMES: OnceLock<Vec<Scheme>> = OnceLock::new();
        SCHEMES.get_or_init(|| PRESETS.iter().map(|(name, _)| Scheme::of(name)).collect())
    }

    /// Reads the properties from the scheme's preset.
    fn of(name: &'static str) -> Scheme {
        let net = "[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
                   [run]\nduration = \"1 ms\"\n[[workload]]\nkind = \"flow-list\"\n\
                   flows = [{ start = \"0 s\", src = \"host0\", dst = \"host1\", bytes = \"1 B\" }]\n";
        let scenario = scenario(&format!("scheme = \"{name}\"\n{net}"));
        let (switch, host) = (&scenario.switch, &scenario.host);
        let (assignment, backpressure) = (switch.assignment, switch.backpressure);
        let family = match (backpressure, host.transport) {
            (Backpressure::Flowsail | Backpressure::PerFlow, _) => Family::Flows,
            (_, Transport::Tcp) => Family::Tcp,
            (_, Transport::Expresspass) => Family::Credits,
            _ if switch.bfc.is_extended() => Family::Extended,
            _ => Family::Queues,
        };
        let weight = match (assignment, backpressure) {
            (Assignment::Dynamic, Backpressure::Bfc) => 4,
            (_, Backpressure::Flowsail) => 3,
            _ => 1,
        };
        let (marks, carried) = (switch.ecn.is_some(), host.carried().0);
        let one_path = !switch.load_balancing.splits_flows();
        let srf = switch.scheduler == Scheduler::Srf;
        let selective = host.recovery == LossRecovery::Selective;
        Scheme { name, family, weight, assignment, backpressure, marks, one_path, selective, carried, srf }
    }

    fn draw(family: Family, dice: &mut Dice) -> &'static Scheme {
        let of_family = Scheme::registered().iter().filter(|scheme| scheme.family == family);
        let weighted: Vec<_> = of_family.flat_map(|scheme| std::iter::repeat_n(scheme, scheme.weight)).collect();
        dice.of(&weighted)
    }
}

/// A random scenario with the properties that its test needs.
pub struct Case {
    /// Text of the scenario file.
    pub toml: String,
    /// Whether every flow must finish. Three causes excuse a flow:
    ///
    /// * Heavy loss of control frames can lose a RESUME and its three repetitions (at 2 %: one in six million).
    /// * Packets turned back by a failed link may wait for one another in a cycle. Eliding backpressure on such turns
    ///   prevents that (spec C.1).
    /// * Go-back-N may make no progress for ever when it sends bursts at line rate into a buffer of a few packets.
    ///   Either the missing packet is dropped each time, or a second NACK sends the sender back before the first has
    ///   taken effect.
    pub live: bool,
    /// Number of threads for the run.
    pub threads: usize,
    /// Whether no packet may be dropped for lack of buffer: PFC with its computed headroom.
    pub lossless: bool,
    /// Seed of the draws that give switches control frames twice or late; `None`: no such draws.
    pub mishaps: Option<u64>,
}

/// Random draws of one case.
pub struct Dice(Stream);

impl Dice {
    /// Creates the draws of case number `case`.
    pub fn new(case: u64) -> Dice {
        Dice(Stream::new(0x6261_636b, 0x7261_6e64, case))
    }

    /// Uniform in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        (self.0.next_u32() as u64 * n) >> 32
    }

    /// Uniform in `low..=high`.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns true with probability `n` percent.
    pub fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    /// Returns a random element of `list`.
    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

const RATES: [u64; 5] = [10, 25, 40, 100, 200];
const DELAYS: [u64; 4] = [100, 500, 1000, 2000];

/// A topology under construction.
struct Net {
    toml: String,
    hosts: Vec<String>,
    /// Links as the names of their two nodes.
    links: Vec<[String; 2]>,
    /// Number of ports of the largest switch.
    ports: u64,
    /// Fastest rate, Gb/s, and longest delay, ns.
    rate: u64,
    delay: u64,
}

/// Returns case number `number` of a family.
pub fn case(family: Family, number: u64) -> Case {
    match family {
        Family::Queues => queues_case(number),
        Family::Flows => flowsail::case(number),
        Family::Tcp => tcp::case(number),
        Family::Credits => credits::case(number),
        Family::Extended => extended::case(number),
    }
}

fn queues_case(number: u64) -> Case {
    let dice = &mut Dice::new(number);
    let scheme = Scheme::draw(Family::Queues, dice);
    let dqa = (scheme.assignment, scheme.backpressure) == (Assignment::Dynamic, Backpressure::None);
    let backpressure = if dqa && dice.percent(40) { Backpressure::Pfc } else { scheme.backpressure };
    let (pfc, bfc) = (backpressure == Backpressure::Pfc, backpressure == Backpressure::Bfc);
    let conventions = Conventions::draw(number, scheme, pfc);
    let net = net(dice, backpressure == Backpressure::None);
    let (payload, header) = (dice.of(&[256, 500, 1000]), 48);
    let full = payload + header + scheme.carried;
    let mut out = format!("scheme = \"{}\"\nseed = {}\n{}", scheme.name, 1 + dice.below(1000), net.toml);
    out += &conventions.toml;

    let queues = dice.range(2, 9);
    let groups = classes::groups(number, scheme, &conventions, queues);
    // In whole nanoseconds the headroom exceeds a buffer drawn here.
    let exact = !out.contains("whole-ns");
    let region = if exact { beside(number, scheme, &net, full) } else { None };
    let small_headroom = pfc && dice.percent(15);
    let mut roomy = !small_headroom;
    let _ = write!(out, "[switch]\nqueues = {queues}\nquantum = \"{} B\"\n", full * dice.range(1, 2));
    if groups > 1 {
        let _ = writeln!(out, "priority_groups = {groups}");
    }
    if pfc {
        // In whole nanoseconds, short frames can arrive twice as fast as the rate allows.
        let faster = if conventions.toml.contains("whole-ns") { 2 } else { 1 };
        let headroom = faster * (2 * net.delay * net.rate / 8 + 4 * full);
        let reserve = dice.of(&[0, 0, full, 4096]);
        let _ = writeln!(out, "backpressure = \"pfc\"");
        let each = if small_headroom { full } else { headroom };
        let pool = dice.range(4, 60) * full;
        let _ = writeln!(out, "buffer = \"{} B\"", net.ports * (each + reserve) + pool);
        // The draw is unconditional, so that later draws stay the same. HPCC's memory divides by a power of two.
        let alpha: f64 = dice.of(&[0.125, 0.5, 1.0, 4.0]);
        let alpha = if conventions.memory { alpha.min(1.0) } else { alpha };
        let mut extra = format!("[switch.pfc]\nreserve = \"{reserve} B\"\nalpha = {alpha}\n");
        let _ = writeln!(extra, "hysteresis = \"{} B\"", dice.of(&[0, full, 3072]));
        if small_headroom || conventions.memory {
            let _ = writeln!(extra, "headroom = \"{each} B\"");
        }
        common_switch(dice, &mut out, scheme, dqa);
        out += &extra;
    } else {
        if dice.percent(75) {
            let packets = dice.range(2, 40);
            roomy = packets >= 30;
            let set_aside = if region.is_some() { net.ports * (flowsail::headroom(&net, full) + 4096) } else { 0 };
            let _ = writeln!(out, "buffer = \"{} B\"", set_aside + packets * full + dice.below(full));
        } else if region.is_some() {
            out += "buffer = \"1 MB\"\n";
        }
        common_switch(dice, &mut out, scheme, dqa);
    }
    let levels = scheme.assignment == Assignment::HomaDynamic;
    if bfc || dqa || levels {
        bfc_knobs(dice, &mut out, full);
        if scheme.srf && !out.contains("incast_label") && dice.percent(50) {
            out += "similar = true\n";
        }
    }
    if let Some((text, _)) = &region {
        let symmetric = if out.contains("symmetric_ecmp = true") { "symmetric_ecmp = true\n" } else { "" };
        out += &format!("{text}{symmetric}");
    }

    let rto = dice.of(&[60, 100, 300]);
    let _ = write!(out, "[host]\npayload = \"{payload} B\"\nrto = \"{rto} us\"\n");
    if scheme.selective {
        let _ = writeln!(out, "selective = {{ rto_low = \"{rto} us\", rto_high = \"{} us\" }}", 3 * rto);
    }
    let guard = dice.of(&[0, 5, 20, 100]);
    let _ = writeln!(out, "nack_guard = \"{guard} us\"");
    if dice.percent(25) {
        let delay = dice.of(&[1, 700, 5000]);
        let _ = writeln!(out, "delay = \"{} ns\"", if conventions.hosts { 0 } else { delay });
    }
    if levels {
        let _ = writeln!(out, "homa = {{ levels = {queues} }}");
    }
    if conventions.acks_paused {
        out += "ack_class = \"data\"\n";
    }
    if dice.percent(25) {
        let _ = writeln!(out, "window = \"{} B\"", payload * dice.of(&[1, 2, 8, 50]));
    }

    workloads(dice, &mut out, &net, payload);
    if groups > 1 {
        classes::deal(&mut out, groups);
    }
    if dice.percent(30) {
        let _ = write!(
            out,
            "[measure]\nsample = \"{} us\"\nactive_flows = true\nqueueing_delay = true\n",
            dice.of(&[1, 7])
        );
    } else {
        out += "[measure]\nsample = \"0 s\"\n";
    }
    let heavy = faults(dice, &mut out, &net);
    // ACKs that count as data but ignore data's pauses may overflow the headroom.
    let unstopped = conventions.acks && conventions.hosts && !conventions.acks_paused;
    let steady = !out.contains("[[fault]]");
    let lossless = pfc && !small_headroom && steady && !out.contains("\nalpha") && !unstopped;
    let valleys = backpressure != Backpressure::None
        && out.contains("leaf-spine")
        && out.contains("\ndown = ")
        && !out.contains("\"valley\"");
    // PFC in a region pauses whole ports, so packets may wait for packets of another flow.
    let valleys = valleys || (region.is_some_and(|(_, pfc)| pfc) && !steady);
    // HPCC's hosts have no retransmission timer, so a lost last packet stays lost. Its switches send each resume once,
    // so a lost one leaves its pause.
    let heals = steady || !conventions.memory;
    let live = !heavy && roomy && guard >= 20 && !valleys && heals && (lossless || !conventions.hosts);
    Case { live, threads: if dice.percent(4) { 2 } else { 1 }, lossless, mishaps: None, toml: out }
}

/// Turns some switches of plain BFC into switches of PFC or without backpressure. It has its own draws, so other draws
/// stay the same.
fn beside(case: u64, scheme: &Scheme, net: &Net, full: u64) -> Option<(String, bool)> {
    let dice = &mut Dice(Stream::new(0x6261_636b, 0x6265_7369, case));
    let plain = scheme.backpressure == Backpressure::Bfc && !scheme.srf;
    if plain && dice.percent(25) { flowsail::region(dice, net, full) } else { None }
}

/// Conventions of another simulator. They have their own draws, so other draws stay the same.
struct Conventions {
    toml: String,
    memory: bool,
    hosts: bool,
    acks: bool,
    acks_paused: bool,
}

impl Conventions {
    fn draw(case: u64, scheme: &Scheme, pfc: bool) -> Conventions {
        let dice = &mut Dice(Stream::new(0x6261_636b, 0x636f_6e76, case));
        let coarse = matches!(scheme.backpressure, Backpressure::None | Backpressure::Pfc);
        let fifo = scheme.assignment == Assignment::Single && coarse;
        let (memory, hosts) = (pfc && fifo && dice.percent(30), fifo && !scheme.selective && dice.percent(30));
        let acks = fifo && dice.percent(30);
        let mut toml = "[conventions]\n".to_string();
        let mut choose = |chosen: bool, line: &str| {
            if chosen {
                toml += line;
            }
        };
        choose(memory, "memory = \"hpcc-sim\"\n");
        choose(hosts, "hosts = \"hpcc-sim\"\n");
        choose(acks, "acks = \"data\"\n");
        let ordered = memory && hosts && dice.percent(50);
        choose(ordered, "ties = \"scheduled\"\n");
        choose(ordered || dice.percent(10), "time = \"whole-ns\"\n");
        choose(dice.percent(10) && scheme.one_path, "paths = \"hpcc-sim\"\n");
        choose(dice.percent(10), "pfc_frame = \"43 B\"\n");
        Conventions { toml, memory, hosts, acks, acks_paused: hosts && dice.percent(70) }
    }
}

fn common_switch(dice: &mut Dice, out: &mut String, scheme: &Scheme, dqa: bool) {
    if dqa && dice.percent(40) {
        let _ = writeln!(out, "assignment = \"stochastic\"");
    }
    if dice.percent(15) && scheme.one_path {
        let _ = writeln!(out, "symmetric_ecmp = true");
    }
    if scheme.assignment != Assignment::PerFlow && dice.percent(10) {
        let _ = writeln!(out, "alpha = {}", dice.of(&[0.25, 1.0, 8.0]));
    }
    if scheme.marks {
        let kmin = dice.of(&[0, 1000, 5000]);
        let _ = write!(
            out,
            "[switch.ecn]\nkmin = \"{kmin} B\"\nkmax = \"{} B\"\n",
            kmin + dice.of(&[0, 3000, 10_000]).max(1)
        );
    }
}

fn bfc_knobs(dice: &mut Dice, out: &mut String, full: u64) {
    let _ = writeln!(out, "[switch.bfc]\ntable_entries_per_queue = {}", dice.of(&[1, 4, 16]));
    let _ = writeln!(out, "refresh = \"{} us\"", dice.of(&[5, 10, 30]));
    for knob in [
        "sticky_reserve",
        "literal_empty",
        "incast_label",
        "extra_control_queue",
        "per_ingress_threshold",
        "count_last",
    ] {
        if dice.percent(20) {
            let _ = writeln!(out, "{knob} = true");
        }
    }
    if dice.percent(15) {
        let _ = writeln!(out, "sampling = 0.5");
    }
    if dice.percent(40) {
        let _ = writeln!(out, "fixed_threshold = \"{} B\"", dice.range(1, 6 * full));
    }
    if dice.percent(15) {
        let _ = writeln!(out, "hrtt = \"{} ns\"", dice.range(100, 4000));
    }
    if dice.percent(15) {
        let _ = writeln!(out, "sticky = \"{} ns\"", dice.of(&[0, 300, 20_000]));
    }
    if dice.percent(30) {
        let _ = writeln!(out, "elide = \"valley\"");
    }
    if dice.percent(10) {
        let _ = writeln!(out, "nic_obeys = false");
    }
}

/// Draws a topology. With `cyclic`, routes may depend on one another in a cycle, which deadlocks under backpressure.
fn net(dice: &mut Dice, cyclic: bool) -> Net {
    let (rate, delay) = (dice.of(&RATES), dice.of(&DELAYS));
    let mut net = Net { toml: "[topology]\n".into(), hosts: Vec::new(), links: Vec::new(), ports: 0, rate, delay };
    let kind = dice.below(10);
    match kind {
        0 => {
            let hosts = dice.range(2, 6);
            let _ = writeln!(
                net.toml,
                "kind = \"single-switch\"\nhosts = {hosts}\nrate = \"{rate} Gbps\"\ndelay = \"{delay} ns\""
            );
            net.add_hosts((0..hosts).map(|_| "switch0".into()));
            net.ports = hosts;
        }
        1 | 2 => {
            let (left, right) = (dice.range(1, 4), dice.range(1, 3));
            let (slow, far) = (dice.of(&RATES), dice.of(&DELAYS));
            let _ = write!(
                net.toml,
                "kind = \"dumbbell\"\nleft = {left}\nright = {right}\nrate = \"{rate} Gbps\"\ndelay = \"{delay} ns\"\n\
                 bottleneck_rate = \"{slow} Gbps\"\nbottleneck_delay = \"{far} ns\"\n"
            );
            net.add_hosts((0..left + right).map(|h| format!("switch{}", (h >= left) as u8)));
            net.links.push(["switch0".into(), "switch1".into()]);
            net.ports = left.max(right) + 1;
            (net.rate, net.delay) = (rate.max(slow), delay.max(far));
        }
        3 | 4 => {
            let (switches, per) = (dice.range(2, 6), dice.range(1, 2));
            let _ = writeln!(
                net.toml,
                "kind = \"chain\"\nswitches = {switches}\nhosts_per_switch = {per}\nrate = \"{rate} Gbps\"\ndelay = \"{delay} ns\""
            );
            net.add_hosts((0..switches * per).map(|h| format!("switch{}", h / per)));
            net.links.extend((1..switches).map(|s| [format!("switch{}", s - 1), format!("switch{s}")]));
            net.ports = per + 2;
        }
        5 | 6 => {
            let (leaves, spines, per) = (dice.range(2, 4), dice.range(1, 2), dice.range(1, 3));
            let core = dice.of(&RATES);
            let _ = write!(
                net.toml,
                "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {per}\n\
                 host_rate = \"{rate} Gbps\"\ncore_rate = \"{core} Gbps\"\nhost_delay = \"{delay} ns\"\ncore_delay = \"{delay} ns\"\n"
            );
            net.add_hosts((0..leaves * per).map(|h| format!("leaf{}", h / per)));
            for leaf in 0..leaves {
                net.links.extend((0..spines).map(|spine| [format!("leaf{leaf}"), format!("spine{spine}")]));
            }
            net.ports = (per + spines).max(leaves);
            net.rate = rate.max(core);
        }
        _ => graph(dice, &mut net, cyclic),
    }
    net
}

/// Draws a random tree of switches, closed to a triangle or (if `cyclic`) a longer ring. Each link has its own rate.
fn graph(dice: &mut Dice, net: &mut Net, cyclic: bool) {
    let switches = dice.range(2, 6);
    let mut pairs: Vec<[u64; 2]> = (1..switches).map(|s| [dice.below(s), s]).collect();
    if switches >= 3 && dice.percent(50) {
        pairs = (1..switches).map(|s| if s < 3 { [s - 1, s] } else { [dice.below(s), s] }).collect();
        pairs.push([0, 2]);
    }
    if switches >= 4 && cyclic && dice.percent(60) {
        pairs = (0..switches).map(|s| [s, (s + 1) % switches]).collect();
    }
    let hosts = dice.range(3, 6);
    let homes: Vec<u64> = (0..hosts).map(|_| dice.below(switches)).collect();
    let quote = |names: Vec<String>| names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ");
    let _ = write!(
        net.toml,
        "kind = \"graph\"\nhosts = [{}]\nswitches = [{}]\nlinks = [\n",
        quote((0..hosts).map(|h| format!("host{h}")).collect()),
        quote((0..switches).map(|s| format!("switch{s}")).collect()),
    );
    let mut degree = vec![0; switches as usize];
    for home in &homes {
        degree[*home as usize] += 1;
    }
    let core = pairs.iter().map(|[a, b]| [format!("switch{a}"), format!("switch{b}")]);
    pairs.iter().flatten().for_each(|s| degree[*s as usize] += 1);
    net.add_hosts(homes.iter().map(|s| format!("switch{s}")));
    net.links.extend(core);
    for [a, b] in &net.links {
        let (rate, delay) = (dice.of(&RATES), dice.of(&DELAYS));
        let _ =
            writeln!(net.toml, "  {{ ends = [\"{a}\", \"{b}\"], rate = \"{rate} Gbps\", delay = \"{delay} ns\" }},");
        (net.rate, net.delay) = (net.rate.max(rate), net.delay.max(delay));
    }
    net.toml += "]\n";
    net.ports = *degree.iter().max().unwrap_or(&1);
}

impl Net {
    fn add_hosts(&mut self, homes: impl Iterator<Item = String>) {
        for (i, home) in homes.enumerate() {
            self.hosts.push(format!("host{i}"));
            self.links.push([format!("host{i}"), home]);
        }
    }
}

/// Draws flows that start within the first microseconds. The run lasts until the network falls silent.
fn workloads(dice: &mut Dice, out: &mut String, net: &Net, payload: u64) {
    let hosts = net.hosts.len() as u64;
    let victim = dice.below(hosts);
    let _ = writeln!(out, "[[workload]]\nkind = \"flow-list\"\nflows = [");
    let together = dice.percent(40);
    for _ in 0..dice.range(2, 10) {
        let src = dice.below(hosts);
        let dst = if dice.percent(60) { victim } else { dice.below(hosts) };
        let dst = if dst == src { (src + 1) % hosts } else { dst };
        let bytes = match dice.below(8) {
            0 => 1,
            1 => payload - 1,
            2 => payload,
            3 => payload + 1,
            4 => dice.range(1, 4 * payload),
            _ => dice.range(4 * payload, 40 * payload),
        };
        let start = if together { 0 } else { dice.below(30_000) };
        let _ = writeln!(
            out,
            "  {{ start = \"{start} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"{bytes} B\" }},"
        );
    }
    out.push_str("]\n");
    if dice.percent(25) {
        let degree = dice.range(2, 8);
        let bytes = degree * dice.range(1, 12 * payload);
        let _ = write!(
            out,
            "[[workload]]\nkind = \"incast\"\ndegree = {degree}\naggregate = \"{bytes} B\"\nperiod = \"1 s\"\nstart = \"{} ns\"\n",
            dice.below(20_000)
        );
    }
    let background = dice.percent(10);
    if background {
        let sizes = dice.of(&[
            "{ fixed = \"700 B\" }",
            "{ exponential = \"3 KB\" }",
            "{ points = { points = [[64, 0.5], [900, 0.7], [20000, 1.0]], linear = true } }",
        ]);
        let load = dice.of(&[0.02, 0.1]);
        let arrivals = dice.of(&["\"poisson\"", "{ log-normal = 2.0 }"]);
        let _ = write!(
            out,
            "[[workload]]\nkind = \"background\"\nsizes = {sizes}\narrivals = {arrivals}\nload = {load}\nload_of = \"receivers\"\n"
        );
    }
    let (duration, drain) = if background { ("40 us", 1000.0) } else { ("4 ms", 10.0) };
    let _ = write!(out, "[run]\nduration = \"{duration}\"\nwarmup = \"0 s\"\ndrain = {drain:.1}\n");
}

/// Draws faults of links. Returns true if the loss of control frames is too heavy for any promise.
fn faults(dice: &mut Dice, out: &mut String, net: &Net) -> bool {
    let mut heavy = false;
    let mut links = net.links.clone();
    for _ in 0..dice.of(&[0, 0, 1, 1, 2]) {
        if links.is_empty() {
            break;
        }
        let [a, b] = links.remove(dice.below(links.len() as u64) as usize);
        let _ = writeln!(out, "[[fault]]\nlink = [\"{a}\", \"{b}\"]");
        if dice.percent(40) {
            let _ = writeln!(out, "loss = {}", dice.of(&[0.005, 0.02]));
        }
        if dice.percent(40) {
            heavy |= dice.percent(10);
            let _ = writeln!(out, "control_loss = {}", if heavy { 0.5 } else { 0.02 });
        }
        if dice.percent(40) {
            let (down, length) = (dice.below(40), dice.range(1, 30));
            let _ = write!(out, "down = [[\"{down} us\", \"{} us\"]", down + length);
            if dice.percent(30) {
                let _ = write!(out, ", [\"{} us\", \"{} us\"]", down + length + 5, down + length + 9);
            }
            out.push_str("]\n");
        }
    }
    heavy
}
