//! Random networks of extended BFC: combinations of early resume, credits, a chip's limits and queues shared by
//! classes.

use super::{Case, Dice, Net, classes, faults, net, workloads};
use backwater_types::hash::Stream;
use std::fmt::Write;

/// Returns case number `number`.
pub fn case(number: u64) -> Case {
    let dice = &mut Dice(Stream::new(0x6261_636b, 0x6578_7464, number));
    let net = net(dice, false);
    let (payload, header) = (dice.of(&[256, 500, 1000]), 48);
    let full = payload + header;
    let (credits, tofino) = (dice.percent(50), dice.percent(40));
    let scheme = if credits { "bfc-credit" } else { "bfc" };
    let queues = dice.range(2, 9);
    let groups = if dice.percent(30) { dice.range(1, (queues - 1).min(4)) } else { 1 };
    let shared = !tofino && groups > 1 && dice.percent(60);
    let early = !tofino && (dice.percent(60) || !credits && !shared);
    let mut out = format!("scheme = \"{scheme}\"\nseed = {}\n{}", 1 + dice.below(1000), net.toml);
    let _ = write!(out, "[switch]\nqueues = {queues}\nquantum = \"{} B\"\n", full * dice.range(1, 2));
    if groups > 1 {
        let _ = writeln!(out, "priority_groups = {groups}");
    }
    let step = full * dice.of(&[1, 2, 8]);
    let busy = 2 * net.delay * net.rate / 8 + step + 3 * full + 64;
    let given = dice.percent(30).then(|| step + full * dice.range(2, 6));
    let mut roomy = true;
    if credits {
        let reserve = given.unwrap_or(busy);
        let _ = writeln!(out, "buffer = \"{} B\"", net.ports * reserve + dice.of(&[0, 0, 1, 10, 60]) * full);
    } else if dice.percent(75) {
        let packets = dice.range(2, 40);
        roomy = packets >= 30;
        let _ = writeln!(out, "buffer = \"{} B\"", packets * full + dice.below(full));
    }
    let _ = write!(out, "[switch.bfc]\nearly_resume = {early}\nshared_queues = {shared}\n");
    let entries = dice.of(&[2, 4, 16]) * groups;
    let _ = write!(out, "pipelines = {}\ntable_entries_per_queue = {entries}\n", dice.of(&[1, 1, 2, 4]));
    let _ = writeln!(out, "refresh = \"{} us\"", dice.of(&[5, 10, 30]));
    for knob in ["sticky_reserve", "literal_empty", "extra_control_queue", "count_last"] {
        if dice.percent(20) {
            let _ = writeln!(out, "{knob} = true");
        }
    }
    if !early && dice.percent(40) {
        out += "per_ingress_threshold = true\n";
    }
    if dice.percent(60) {
        let _ = writeln!(out, "fixed_threshold = \"{} B\"", dice.range(1, 6 * full));
    }
    if dice.percent(15) {
        let _ = writeln!(out, "sticky = \"{} ns\"", dice.of(&[0, 300, 20_000]));
    }
    if dice.percent(30) {
        let _ = writeln!(out, "elide = \"valley\"");
    }
    if credits {
        let _ =
            write!(out, "[switch.bfc.credits]\nstep = \"{step} B\"\nalpha = {}\n", dice.of(&["0.25", "1.0", "8.0"]));
        if let Some(given) = given {
            let _ = writeln!(out, "reserve = \"{given} B\"");
        }
    }
    if tofino {
        let period = dice.of(&[0, 100, 300]);
        let delay = if period == 0 { 0 } else { dice.of(&[0, 250, 700]) };
        let _ = write!(
            out,
            "[switch.bfc.tofino]\ndepth_period = \"{period} ns\"\ndepth_delay = \"{delay} ns\"\nbitmap_period = \"{} ns\"\n\
             recirc_delay = \"{} ns\"\nrecirc_share = {}\ncycle = \"{} ns\"\ntail_fifo = \"0 B\"\n",
            dice.of(&[0, 500, 2000]),
            dice.of(&[0, 500, 1500]),
            dice.of(&["0.0", "0.12", "0.03"]),
            dice.of(&[0, 1, 30]),
        );
    }
    let region = if credits || !dice.percent(30) { String::new() } else { region(dice, &net, full) };
    out += &region;
    let rto = dice.of(&[60, 100, 300]);
    let guard = dice.of(&[20, 100]);
    let _ = write!(out, "[host]\npayload = \"{payload} B\"\nrto = \"{rto} us\"\nnack_guard = \"{guard} us\"\n");
    if dice.percent(25) {
        let _ = writeln!(out, "delay = \"{} ns\"", dice.of(&[1, 700, 5000]));
    }
    if dice.percent(25) {
        let _ = writeln!(out, "window = \"{} B\"", payload * dice.of(&[2, 8, 50]));
    }
    workloads(dice, &mut out, &net, payload);
    if groups > 1 {
        classes::deal(&mut out, groups);
    }
    if dice.percent(30) {
        let sample = dice.of(&[1, 7]);
        let _ = write!(out, "[measure]\nsample = \"{sample} us\"\nactive_flows = true\nqueueing_delay = true\n");
    } else {
        out += "[measure]\nsample = \"0 s\"\n";
    }
    let heavy = faults(dice, &mut out, &net);
    let steady = !out.contains("[[fault]]");
    let turned = out.contains("leaf-spine") && out.contains("\ndown = ");
    // Packets turned back by a failed link may wait for one another in a cycle. Credits are never elided, so they
    // always may.
    let cycles = turned && (credits || !out.contains("\"valley\""));
    // Packets from a region without backpressure may find a full buffer at every attempt.
    let live = !heavy && roomy && !cycles && region.is_empty();
    let threads = if dice.percent(4) { 2 } else { 1 };
    Case { live, threads, lossless: credits && steady, mishaps: None, toml: out }
}

/// Draws a region of one switch without BFC. Pauses do not stop its packets, so the next hop may drop them.
fn region(dice: &mut Dice, net: &Net, full: u64) -> String {
    let switches: Vec<&String> = net.links.iter().flatten().filter(|name| !name.starts_with("host")).collect();
    let at = switches[dice.below(switches.len() as u64) as usize];
    let buffer = dice.range(2, 60) * full;
    format!(
        "[[region]]\nat = [\"{at}\"]\nscheme = \"fifo\"\n[region.switch]\nquantum = \"{full} B\"\nbuffer = \"{buffer} B\"\n"
    )
}
