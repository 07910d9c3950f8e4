//! Random networks of FlowSail, ideal flow control, and BFC by flow id.
//!
//! Thresholds of a few packets, tables of a few records and fingerprints of a few bits make events common that are rare
//! in a datacenter.

use super::{Case, Dice, Family, Net, Scheme, faults, net};
use backwater_scenario::model::{Assignment, Backpressure};
use backwater_types::hash::Stream;
use std::fmt::Write;

/// Properties of FlowSail's draws that other parts of a case depend on.
struct Knobs {
    /// Whether pauses are never repeated and never lapse.
    silent: bool,
    /// Whether flows may share a record, or have none.
    crowded: bool,
    /// Whether switches drop packets of paused flows.
    discards: bool,
}

/// Returns case number `number`.
pub fn case(number: u64) -> Case {
    let dice = &mut Dice(Stream::new(0x6261_636b, 0x7361_696c, number));
    let scheme = Scheme::draw(Family::Flows, dice);
    let ideal = scheme.backpressure == Backpressure::PerFlow;
    let net = net(dice, false);
    let (payload, header) = (dice.of(&[256, 500, 1000]), 48);
    let full = payload + header;
    let mut out = format!("scheme = \"{}\"\nseed = {}\n{}", scheme.name, 1 + dice.below(1000), net.toml);

    let groups = if ideal { 1 } else { dice.of(&[1, 1, 1, 2, 3]) };
    let region = if ideal || !dice.percent(20) { None } else { region(dice, &net, full) };
    let roomy = switch(dice, &mut out, &net, full, groups, region.is_some(), scheme);
    let classes = if groups > 1 { groups } else { dice.of(&[1, 1, 2]) };
    let knobs = knobs(dice, &mut out, &net, full, groups, classes, ideal);
    if let Some((text, _)) = &region {
        out += text;
    }

    let _ = write!(out, "[host]\npayload = \"{payload} B\"\nrto = \"{} us\"\n", dice.of(&[60, 100, 300]));
    let guard = dice.of(&[0, 5, 20, 100]);
    let _ = writeln!(out, "nack_guard = \"{guard} us\"");
    if dice.percent(15) {
        let _ = writeln!(out, "delay = \"{} ns\"", dice.of(&[1, 700, 5000]));
    }
    if dice.percent(15) {
        let _ = writeln!(out, "window = \"{} B\"", payload * dice.of(&[2, 8, 50]));
    }
    workloads(dice, &mut out, &net, payload, classes);
    if dice.percent(20) {
        let sample = dice.of(&[1, 7]);
        let _ = writeln!(
            out,
            "[measure]\nsample = \"{sample} us\"\nactive_flows = true\nqueueing_delay = {}",
            dice.percent(50)
        );
    } else {
        out += "[measure]\nsample = \"0 s\"\n";
    }
    let heavy = if dice.percent(50) { faults(dice, &mut out, &net) } else { false };
    let mishaps = dice.percent(50).then(|| dice.below(1 << 32));

    let steady = !out.contains("[[fault]]");
    let pfc = region.as_ref().is_some_and(|(_, pfc)| *pfc);
    let valleys = out.contains("leaf-spine") && out.contains("\ndown = ") && !out.contains("\"valley\"");
    // No pause lapses, and one stays without a resume: the resume was lost, overtook its pause, or left by another
    // port.
    let stuck = knobs.silent && (!steady || mishaps.is_some() || knobs.crowded);
    // Beside PFC, pauses do not name flows, so packets may wait for packets of another port.
    let cyclic = valleys || (pfc && !steady);
    let (duration, drain) = if stuck { ("1 ms", 1.0) } else { ("4 ms", 10.0) };
    let _ = write!(out, "[run]\nduration = \"{duration}\"\nwarmup = \"0 s\"\ndrain = {drain:.1}\n");
    let live = !heavy && roomy && guard >= 20 && !cyclic && !stuck && !knobs.discards;
    Case { live, threads: if dice.percent(4) { 2 } else { 1 }, lossless: false, mishaps, toml: out }
}

/// Draws queues and buffer. Returns whether the buffer holds more than a few packets.
fn switch(dice: &mut Dice, out: &mut String, net: &Net, full: u64, groups: u64, beside: bool, scheme: &Scheme) -> bool {
    let shared_queues = scheme.assignment != Assignment::PerFlow;
    let queues = if groups == 1 { dice.range(2, 9) } else { groups * dice.range(2, 3) };
    let _ = writeln!(out, "[switch]\nquantum = \"{} B\"", full * dice.range(1, 2));
    if shared_queues {
        let _ = writeln!(out, "queues = {queues}\npriority_groups = {groups}");
    }
    let packets = dice.of(&[3, 8, 20, 40, 80, 300]);
    let infinite = !beside && dice.percent(35);
    let set_aside = if beside { net.ports * (headroom(net, full) + 4096) } else { 0 };
    match infinite {
        true => *out += "buffer = \"infinite\"\n",
        false => {
            let _ = writeln!(out, "buffer = \"{} B\"", set_aside + packets * full + dice.below(full));
        }
    }
    if shared_queues && !infinite && dice.percent(10) {
        let _ = writeln!(out, "alpha = {}", dice.of(&[0.25, 1.0, 8.0]));
    }
    if scheme.marks {
        let kmin = dice.of(&[0, 1000, 5000]);
        let _ = writeln!(out, "ecn = {{ kmin = \"{kmin} B\", kmax = \"{} B\" }}", kmin + dice.of(&[1, 3000, 10_000]));
    }
    infinite || packets >= 40
}

pub(super) fn headroom(net: &Net, full: u64) -> u64 {
    2 * net.delay * net.rate / 8 + 4 * full
}

fn knobs(dice: &mut Dice, out: &mut String, net: &Net, full: u64, groups: u64, classes: u64, ideal: bool) -> Knobs {
    let discards = dice.percent(8);
    if discards {
        // The key belongs to the table above.
        *out += "when_paused = \"discard\"\n";
    }
    *out += "[switch.flowsail]\n";
    let hrtt = dice.range(100, 4000);
    let own_hrtt = dice.percent(50);
    if own_hrtt {
        let _ = writeln!(out, "hrtt = \"{hrtt} ns\"");
    }
    // Thresholds range from nothing to a few packets, whatever the hop's product of rate and delay is.
    let hop = net.rate * if own_hrtt { hrtt } else { 2 * net.delay } / 8;
    let packets = dice.of(&[0.3, 1.0, 2.0, 4.0, 10.0]);
    let ql = if dice.percent(15) { 1.0 } else { packets * full as f64 / hop as f64 };
    let _ = writeln!(out, "ql = {ql:.6}\nqh = {:.6}", (ql * dice.of(&[1.0, 1.5, 3.0]) + 2e-6));
    let silent = dice.percent(6);
    let _ = writeln!(out, "refresh = \"{}\"", if silent { "0 s" } else { dice.of(&["5 us", "10 us", "30 us"]) });
    if dice.percent(10) {
        *out += "nic_obeys = false\n";
    }
    if dice.percent(20) && !ideal {
        *out += "elide = \"valley\"\n";
    }
    let mut crowded = false;
    if !ideal {
        if dice.percent(60) {
            // Without repetitions, `release` is also the period of the sweep.
            let [none, short] = if silent { ["2 us"; 2] } else { ["0 s", "300 ns"] };
            let _ = writeln!(out, "release = \"{}\"", dice.of(&[none, short, "2 us", "20 us", "200 us"]));
        }
        if dice.percent(50) {
            *out += "release_from = \"touch\"\n";
        }
        let per_group: u64 = queues_of(out) / groups;
        // Always written: a preset may have more than there are queues here.
        let isolated = match per_group {
            ..=2 => 1,
            3..=4 => dice.of(&[1, 1, 2]),
            _ => dice.of(&[1, 1, 2, 4]),
        };
        let _ = writeln!(out, "isolation_queues = {isolated}");
        let (small, short) = (dice.percent(50), dice.percent(40));
        crowded = small || short;
        // A recount walks the table, which takes long for large ones.
        let sizes = if small { [16, 16, 17, 40] } else { [1024, 1024, 1024, 4000] };
        let _ = writeln!(out, "table_entries = {}", dice.of(&sizes));
        if short {
            let _ = writeln!(out, "fingerprint_bits = {}", dice.of(&[8, 8, 9]));
        }
        for (percent, line) in [
            (15, "nactive_literal = true\n"),
            (25, "strict_fair = false\n"),
            (50, "hold = \"any\"\n"),
            (25, "residue = \"drain\"\n"),
            (25, "count_last = false\n"),
        ] {
            if dice.percent(percent) {
                *out += line;
            }
        }
        if dice.percent(25) {
            let weights: Vec<String> = (0..classes).map(|_| dice.of(&["1", "2", "7"]).into()).collect();
            let _ = writeln!(out, "weights = [{}]", weights.join(", "));
        }
        if dice.percent(25) {
            let (rows, columns) = (dice.range(1, 3), dice.of(&[16, 32, 64]));
            let _ = writeln!(out, "sketch = {{ rows = {rows}, columns = {columns} }}");
        }
    }
    Knobs { silent, crowded, discards }
}

/// Returns the number of queues in the text so far.
fn queues_of(out: &str) -> u64 {
    let at = out.find("\nqueues = ").expect("queues are drawn first") + 10;
    out[at..].lines().next().and_then(|line| line.parse().ok()).expect("a number")
}

/// Draws a region of another scheme, if the topology has switches for it. Also returns whether the scheme is PFC.
pub(super) fn region(dice: &mut Dice, net: &Net, full: u64) -> Option<(String, bool)> {
    let all: Vec<&String> = net.links.iter().flatten().filter(|name| !name.starts_with("host")).collect();
    let at = match dice.of(&["spine*", "leaf*", "switch"]) {
        prefix if all.iter().any(|name| name.starts_with(prefix.trim_end_matches('*'))) => match prefix {
            "switch" => dice.of(&["switch0", "switch1"]),
            _ => prefix,
        },
        _ => return None,
    };
    if !all.iter().any(|name| name.starts_with(at.trim_end_matches('*'))) {
        return None;
    }
    let pfc = dice.percent(75);
    let pool = dice.range(4, 60) * full;
    let mut out = format!("[[region]]\nat = [\"{at}\"]\nscheme = \"{}\"\n", if pfc { "pfc" } else { "fifo" });
    let _ = writeln!(out, "[region.switch]\nquantum = \"{full} B\"");
    let _ = writeln!(out, "buffer = \"{} B\"", net.ports * (headroom(net, full) + 4096) + pool);
    Some((out, pfc))
}

/// Draws one list of flows per priority. This family has more flows than others, most of them to one host.
fn workloads(dice: &mut Dice, out: &mut String, net: &Net, payload: u64, classes: u64) {
    let hosts = net.hosts.len() as u64;
    let victim = dice.below(hosts);
    let (together, crowd) = (dice.percent(50), dice.of(&[6, 12, 24, 60]));
    for class in 0..classes {
        let _ =
            writeln!(out, "[[workload]]\nkind = \"flow-list\"\nclass = \"c{class}\"\npriority = {class}\nflows = [");
        for _ in 0..dice.range(2, 2 + crowd / classes) {
            let src = dice.below(hosts);
            let dst = if dice.percent(65) { victim } else { dice.below(hosts) };
            let dst = if dst == src { (src + 1) % hosts } else { dst };
            let most = if crowd == 60 { 8 } else { 40 };
            let bytes = match dice.below(8) {
                0 => 1,
                1 => payload,
                2 => payload + 1,
                3 => dice.range(1, 4 * payload),
                _ => dice.range(4 * payload, most * payload),
            };
            let start = if together { dice.below(500) } else { dice.below(30_000) };
            let _ = writeln!(
                out,
                "  {{ start = \"{start} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"{bytes} B\" }},"
            );
        }
        out.push_str("]\n");
    }
    if dice.percent(20) {
        let degree = dice.range(2, 8);
        let bytes = degree * dice.range(1, 12 * payload);
        let _ = write!(
            out,
            "[[workload]]\nkind = \"incast\"\ndegree = {degree}\naggregate = \"{bytes} B\"\nperiod = \"1 s\"\n\
             start = \"{} ns\"\npriority = {}\n",
            dice.below(20_000),
            dice.below(classes)
        );
    }
}
