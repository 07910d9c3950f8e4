//! Random networks of ExpressPass: unequal links, small buffers, credit queues down to one credit, lost requests and
//! credits.

use super::{Case, Dice, faults, net, workloads};
use backwater_types::hash::Stream;
use std::fmt::Write;

/// Returns case number `number`.
pub fn case(number: u64) -> Case {
    let dice = &mut Dice(Stream::new(0x6261_636b, 0x6372_6564, number));
    let net = net(dice, true);
    let (payload, header) = (dice.of(&[256, 1000, 1460]), dice.of(&[48, 78]));
    let full = payload + header;
    let seed = 1 + dice.below(1000);
    let mut out = format!("scheme = \"expresspass\"\nseed = {seed}\n{}", net.toml);
    let buffer = if dice.percent(50) { full * dice.range(1, 40) + dice.below(full) } else { 75_000_000 };
    let _ = write!(out, "[switch]\nbuffer = \"{buffer} B\"\nquantum = \"{full} B\"\n");
    let _ = writeln!(out, "symmetric_ecmp = {}", dice.percent(80));
    let assignment = dice.of(&["single", "single", "dynamic", "per-flow"]);
    // The audit models the memory of several MMUs only where a port has one queue.
    let ports = if assignment == "single" { dice.range(1, net.ports) } else { net.ports };
    let _ = write!(out, "assignment = \"{assignment}\"\nmmu = {{ ports = {ports} }}\n");
    let _ = write!(
        out,
        "[host]\npayload = \"{payload} B\"\nheader = \"{header} B\"\nack = \"{} B\"\nrto = \"{} us\"\nnack_guard = \"{} us\"\n",
        dice.of(&[64, 84]),
        dice.of(&[60, 100, 300]),
        dice.of(&[0, 20, 100])
    );
    if dice.percent(25) {
        let _ = writeln!(out, "delay = \"{} ns\"", dice.of(&[1, 700, 5000]));
    }
    let _ = write!(
        out,
        "[host.expresspass]\ninitial_rate = {}\ncredit_queue = {}\nsmall_flow = {}\nearly_stop = {}\nretry = \"{} us\"\njitter = {}\n",
        dice.of(&["0.5", "1.0", "0.0625"]),
        dice.of(&[1, 2, 8, 16]),
        dice.of(&[0, 40]),
        dice.percent(60),
        dice.of(&[20, 100]),
        dice.of(&["0.1", "0.0", "0.5"])
    );
    if dice.percent(30) {
        out += "credit_min = \"84 B\"\ncredit_max = \"84 B\"\n";
    }
    workloads(dice, &mut out, &net, payload);
    if dice.percent(30) {
        let sample = dice.of(&[1, 7]);
        let _ = write!(out, "[measure]\nsample = \"{sample} us\"\nactive_flows = true\nqueueing_delay = true\n");
    } else {
        out += "[measure]\nsample = \"0 s\"\n";
    }
    faults(dice, &mut out, &net);
    Case { live: true, threads: if dice.percent(4) { 2 } else { 1 }, lossless: false, mishaps: None, toml: out }
}
