//! Random networks of TCP: every switch and marking that supports it, pools, private memory, classes, both kinds of
//! connection.

use super::{Case, Dice, Net, faults, net, workloads};
use backwater_scenario::model::{Assignment, Backpressure};
use backwater_schemes::planes::PRODUCTS;
use backwater_types::hash::Stream;
use std::fmt::Write;

/// Returns case number `number`.
pub fn case(number: u64) -> Case {
    let dice = &mut Dice(Stream::new(0x6261_636b, 0x7463_7020, number));
    let pfc = dice.percent(15);
    let net = net(dice, !pfc);
    let (payload, header) = (dice.of(&[256, 500, 1000]), dice.of(&[40, 48]));
    let full = payload + header;
    let mut out = format!("scheme = \"fifo\"\nseed = {}\n{}", 1 + dice.below(1000), net.toml);
    let assignment = assignment(dice, pfc);
    out += "[conventions]\n";
    if by_class(assignment) && dice.percent(50) {
        out += "acks = \"data\"\n";
    }
    if dice.percent(10) {
        out += "time = \"whole-ns\"\n";
    }
    let classes = if assignment == Assignment::Class { dice.range(2, 4) } else { 1 };
    switch(dice, &mut out, &net, full, assignment, classes, pfc);
    host(dice, &mut out, payload, header);
    workloads(dice, &mut out, &net, payload);
    if classes > 1 {
        let mut parts: Vec<String> = out.split("[[workload]]\n").map(String::from).collect();
        for part in &mut parts[1..] {
            *part = format!("priority = {}\n{part}", dice.below(classes + 2));
        }
        out = parts.join("[[workload]]\n");
    }
    if dice.percent(20) {
        let sample = dice.of(&[1, 7]);
        let _ = writeln!(
            out,
            "[measure]\nsample = \"{sample} us\"\npools = true\nqueueing_delay = {}\nactive_flows = {}",
            dice.percent(50),
            dice.percent(50)
        );
    } else {
        out += "[measure]\nsample = \"0 s\"\n";
    }
    faults(dice, &mut out, &net);
    let steady = !out.contains("[[fault]]");
    // Packets turned back by a failed link may wait for one another in a cycle.
    let live = steady || !pfc;
    let lossless = pfc && steady && !out.contains("\nalpha");
    Case { live, threads: if dice.percent(4) { 2 } else { 1 }, lossless, mishaps: None, toml: out }
}

/// Draws a switch that TCP runs over. Most draws have queues that an observer can tell apart. Homa's assignment needs
/// Homa's packets.
fn assignment(dice: &mut Dice, pfc: bool) -> Assignment {
    let backpressure = if pfc { Backpressure::Pfc } else { Backpressure::None };
    let goes = |(assignment, with): &&(Assignment, Backpressure)| {
        *with == backpressure && *assignment != Assignment::HomaDynamic
    };
    let fitting = PRODUCTS.iter().filter(goes).map(|(assignment, _)| *assignment);
    let weight = |assignment| if by_class(assignment) { 4 } else { 1 };
    let weighted: Vec<_> = fitting.flat_map(|assignment| std::iter::repeat_n(assignment, weight(assignment))).collect();
    dice.of(&weighted)
}

/// Whether a port has one queue, or one per class. The audit models memory and marks of these queue by queue.
fn by_class(assignment: Assignment) -> bool {
    matches!(assignment, Assignment::Single | Assignment::Class)
}

/// Draws thresholds between nothing and somewhat above `most` bytes.
fn red(dice: &mut Dice, most: u64) -> String {
    let kmin = dice.below(most / 2);
    let kmax = (kmin + dice.of(&[0, 0, most / 8, most / 2])).clamp(1, most);
    let pmax = dice.of(&["1.0", "0.5", "0.1"]);
    let spacing = if dice.percent(40) { ", spacing = \"uniform\"" } else { "" };
    format!("kmin = \"{} B\", kmax = \"{kmax} B\", pmax = {pmax}{spacing}", kmin.min(kmax))
}

fn switch(dice: &mut Dice, out: &mut String, net: &Net, full: u64, assignment: Assignment, classes: u64, pfc: bool) {
    let word = serde_json::to_string(&assignment).expect("a word");
    let queues = if assignment == Assignment::Class { classes } else { dice.range(2, 9) };
    let quantum = full * dice.range(1, 2);
    let _ = writeln!(out, "[switch]\nquantum = \"{quantum} B\"\nassignment = {word}\nqueues = {queues}");
    if assignment == Assignment::Dynamic {
        let _ = writeln!(out, "bfc = {{ table_entries_per_queue = {} }}", dice.of(&[1, 4, 16]));
    }
    let by_class = by_class(assignment);
    let pool = full * dice.range(2, 40) + dice.below(full);
    if pfc {
        // ACKs that ignore data's pauses need room beside the headroom.
        let each = 2 * (2 * net.delay * net.rate / 8 + 6 * full);
        let _ = writeln!(out, "backpressure = \"pfc\"\nbuffer = \"{} B\"", net.ports * each + pool);
        let alpha = dice.of(&["0.125", "0.5", "1.0"]);
        let _ = writeln!(out, "pfc = {{ headroom = \"{each} B\", reserve = \"0 B\", alpha = {alpha} }}");
    } else {
        let _ = writeln!(out, "buffer = \"{pool} B\"");
        if assignment != Assignment::PerFlow && dice.percent(60) {
            let _ = writeln!(out, "alpha = {}", dice.of(&["0.25", "1.0", "4.0", "8.0"]));
        }
        if by_class && dice.percent(70) {
            mmu(dice, out, net, full, classes);
        }
        if by_class && dice.percent(20) {
            out.push_str("not_ect = \"drop\"\n");
        }
    }
    let ecn = dice.percent(70);
    if ecn {
        let of = if by_class && dice.percent(50) { ", of = \"port\"" } else { "" };
        let queues = match by_class && dice.percent(40) {
            true => format!(", queues = [{}]", dice.below(classes)),
            false => String::new(),
        };
        let _ = writeln!(out, "ecn = {{ {}{of}{queues} }}", red(dice, pool));
    }
    if dice.percent(60) {
        let only = if ecn && dice.percent(40) { ", only_ecn_queues = true" } else { "" };
        let red = red(dice, pool);
        let over = if red.contains("uniform") && dice.percent(50) { ", spaced_over = \"port\"" } else { "" };
        let _ = writeln!(out, "pool_ecn = {{ {red}{over}{only} }}");
    }
}

fn mmu(dice: &mut Dice, out: &mut String, net: &Net, full: u64, classes: u64) {
    let mut keys = Vec::new();
    match dice.below(3) {
        0 => {}
        1 => keys.push(format!("ports = {}", dice.range(1, net.ports))),
        _ => {
            let hosts: Vec<String> = net.hosts.iter().map(|host| format!("\"{host}\"")).collect();
            let (near, far) = hosts.split_at(dice.range(1, hosts.len() as u64 - 1) as usize);
            keys.push(format!("neighbours = [[{}], [{}]]", near.join(", "), far.join(", ")));
        }
    }
    let sizes = [0, 0, full - 1, full, 3 * full + 100];
    keys.push(format!("private = \"{} B\"", dice.of(&sizes)));
    if dice.percent(40) {
        let queue = |dice: &mut Dice| {
            let alpha =
                if dice.percent(60) { format!("alpha = {}", dice.of(&["0.5", "1.0", "2.0"])) } else { "".into() };
            let private = if dice.percent(60) { format!("private = \"{} B\"", dice.of(&sizes)) } else { "".into() };
            let comma = if alpha.is_empty() || private.is_empty() { "" } else { ", " };
            format!("{{ {alpha}{comma}{private} }}")
        };
        let queues: Vec<String> = (0..dice.range(1, classes)).map(|_| queue(dice)).collect();
        keys.push(format!("queue = [{}]", queues.join(", ")));
    }
    if dice.percent(40) {
        keys.push("returns = \"private\"".into());
    }
    let _ = writeln!(out, "mmu = {{ {} }}", keys.join(", "));
}

fn host(dice: &mut Dice, out: &mut String, payload: u64, header: u64) {
    let full = payload + header;
    let rto = dice.of(&[60, 100, 300]);
    let _ = write!(
        out,
        "[host]\ntransport = \"tcp\"\npayload = \"{payload} B\"\nheader = \"{header} B\"\nack = \"{} B\"\nrto = \"{rto} us\"\n",
        dice.of(&[40, 64])
    );
    let _ = writeln!(out, "nic_buffer = \"{} B\"", full * dice.of(&[1, 3, 10, 200, 1000]) + dice.below(full));
    let _ = writeln!(out, "nic_marks = {}", dice.percent(50));
    if dice.percent(30) {
        let _ = writeln!(out, "delay = \"{} ns\"", dice.of(&[1, 700, 5000]));
    }
    let initial = dice.of(&[1, 2, 5, 10, 40]);
    let most = if dice.percent(50) { initial.max(3) + dice.below(20) } else { 0 };
    let _ = write!(
        out,
        "[host.tcp]\nmarks = \"{}\"\ninitial_window = {initial}\nmax_window = {most}\nmin_window = {}\ndup_acks = {}\n\
         rto_max = \"{} us\"\nack_every = {}\nack_delay = \"{} us\"\nidle_restart = {}\nrecovery = \"{}\"\n",
        dice.of(&["none", "dctcp", "dctcp", "ecn-star"]),
        dice.range(1, 3),
        dice.of(&[1, 2, 3, 3, 4]),
        rto * dice.of(&[1, 4, 16]),
        dice.range(1, 4),
        dice.of(&[1, 10, 50]),
        dice.percent(50),
        dice.of(&["rfc6675", "sack1"]),
    );
    let handshake = dice.percent(50);
    let _ = writeln!(out, "handshake = {handshake}");
    if dice.percent(50) {
        let _ = writeln!(out, "connections = \"persistent\"\nopen = {}", if handshake { dice.below(3) } else { 2 });
    }
}
