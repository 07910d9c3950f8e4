//! A flow alone takes the time that a packet-by-packet recursion gives, to the picosecond.
//!
//! The recursion is written out here and shares nothing with the simulator: packet i starts on link h when it has arrived there
//! and packet i - 1 has left, and so do the acknowledgements on the way back.

use crate::common::{row, run, scenario};
use backwater_sim::measure::ideal::Ideal;
use backwater_sim::workload::flow_key;

const PAYLOAD: u64 = 1000;
const HEADER: u64 = 48;
const ACK: u64 = 64;

/// Picoseconds for `bytes` at `gbps`, where a byte takes a whole number of them.
fn ser(bytes: u64, gbps: u64) -> u64 {
    assert_eq!(8_000 % gbps, 0);
    bytes * (8_000 / gbps)
}

/// When each of the frames, given as `(available, wire bytes)`, has crossed `links`, one after the other and in order.
fn cross(frames: &[(u64, u64)], links: &[(u64, u64)]) -> Vec<u64> {
    let mut at: Vec<u64> = frames.iter().map(|(at, _)| *at).collect();
    for (gbps, delay_ns) in links {
        let mut free = 0;
        for (at, (_, wire)) in at.iter_mut().zip(frames) {
            let start = free.max(*at);
            free = start + ser(*wire, *gbps);
            *at = free + delay_ns * 1000;
        }
    }
    at
}

/// Arrival of the last byte at the receiver, and of the last acknowledgement at the sender.
fn expected(links: &[(u64, u64)], bytes: u64, host_delay: u64) -> (u64, u64) {
    let packets = bytes.div_ceil(PAYLOAD);
    let wire = |i: u64| if i + 1 == packets { bytes - i * PAYLOAD + HEADER } else { PAYLOAD + HEADER };
    let data: Vec<(u64, u64)> = (0..packets).map(|i| (0, wire(i))).collect();
    let received: Vec<u64> = cross(&data, links).iter().map(|at| at + host_delay).collect();
    let acks: Vec<(u64, u64)> = received.iter().map(|at| (*at, ACK)).collect();
    let back: Vec<(u64, u64)> = links.iter().rev().copied().collect();
    (received[packets as usize - 1], cross(&acks, &back)[packets as usize - 1] + host_delay)
}

/// One flow of `bytes` from host to host.
fn check(scheme: &str, links: &[(u64, u64)], bytes: u64, host_delay_ns: u64) {
    let text = format!(
        "scheme = \"{scheme}\"\n{}[host]\nwindow = \"1 GB\"\ndelay = \"{host_delay_ns} ns\"\n[run]\nduration = \"1 us\"\n\
         warmup = \"0 s\"\ndrain = 1e6\n[[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\n\
         size = \"{bytes} B\"\n",
        row(links)
    );
    let scenario = scenario(&text);
    let outcome = run(&scenario);
    let case = format!("{scheme}, {bytes} B over {links:?}, host delay {host_delay_ns} ns");
    let (received, acknowledged) = expected(links, bytes, host_delay_ns * 1000);
    assert_eq!(outcome.received[0].0, received, "{case}: last byte");
    assert_eq!(outcome.acknowledged[0].0, acknowledged, "{case}: last acknowledgement");
    let ideal = Ideal::new(&outcome.graph, &scenario);
    let mut path = Vec::new();
    ideal.path(0, 1, flow_key(scenario.seed, 0), &mut path);
    assert_eq!(path.len(), links.len());
    assert_eq!(ideal.completion(&path, bytes).0, received, "{case}: closed form");
    assert_eq!(outcome.flows().next().map(|f| f.slowdown), Some(1.0), "{case}: slowdown");
}

const SIZES: [u64; 6] = [1, 999, 1000, 1001, 20_500, 10_000_000];

#[test]
fn equal_links_over_one_to_six_switches() {
    for switches in 1..=6 {
        let links = vec![(100, 1000); switches + 1];
        for scheme in ["bfc", "bfc-stochastic", "bfc-single", "dctcp", "pfc", "ideal-fq", "dqa", "fifo", "fifo-window"]
        {
            SIZES.iter().for_each(|bytes| check(scheme, &links, *bytes, 0));
        }
    }
}

/// Faster and slower links in every order: a queue builds before each slower one.
#[test]
fn unequal_links_over_one_to_six_switches() {
    let rates = [100, 40, 200, 10, 25, 400, 50];
    let delays = [1000, 1, 500, 2000, 700, 1500, 123];
    for switches in 1..=6 {
        for turn in 0..7 {
            let link = |h: usize| (rates[(h + turn) % 7], delays[(h * 3 + turn) % 7]);
            let links: Vec<(u64, u64)> = (0..=switches).map(link).collect();
            for scheme in ["fifo", "ideal-fq", "fifo-window"] {
                SIZES.iter().for_each(|bytes| check(scheme, &links, *bytes, 0));
            }
            // Under backpressure a queue would stop its sender, rightly; a few packets stay below every threshold.
            for scheme in ["bfc", "bfc-stochastic", "bfc-single", "dctcp", "pfc", "dqa"] {
                SIZES[..4].iter().for_each(|bytes| check(scheme, &links, *bytes, 0));
            }
        }
    }
}

#[test]
fn ever_faster_links_build_no_queue_under_any_scheme() {
    let links = [(10, 300), (40, 1000), (100, 50), (400, 2000)];
    for scheme in ["bfc", "bfc-stochastic", "bfc-single", "dctcp", "pfc", "dqa"] {
        SIZES.iter().for_each(|bytes| check(scheme, &links, *bytes, 0));
    }
}

/// A host holds what it receives for a while: data at the receiver, acknowledgements at the sender.
#[test]
fn host_delay_adds_once_each_way() {
    for delay in [1, 250, 36_000] {
        for scheme in ["bfc", "dctcp", "fifo"] {
            SIZES.iter().for_each(|bytes| check(scheme, &[(100, 1000), (100, 1000)], *bytes, delay));
        }
        check("fifo", &[(100, 1000), (25, 1000), (200, 10)], 20_500, delay);
    }
}

/// 800 Gb/s is 10 ps a byte; the slowest rates leave whole picoseconds too.
#[test]
fn extreme_rates_are_exact() {
    check("fifo", &[(800, 100), (800, 100)], 10_000_000, 0);
    check("fifo", &[(1, 100_000), (800, 1), (1, 5)], 20_500, 0);
}

/// The script of BFC's authors by hand, on their network: 8000 ns and 80 ns for each of n + 3 packets between racks, 4000 and
/// n + 1 within one, n = floor(size / 1000) and at least 1, without headers; the flow ends with the last acknowledgement.
#[test]
fn slowdown_by_the_script_of_bfcs_authors() {
    const CLOS: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 8\nspines = 8\nhosts_per_leaf = 16\nhost_rate = \"100 Gbps\"\n\
                        core_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n";
    let links = [(100, 1000); 4];
    // To another rack, bytes, and the script's ideal in nanoseconds.
    let cases = [
        (true, 500, 8_000 + 40 * 4),
        (true, 1_000, 8_000 + 80 * 4),
        (true, 1_001, 8_000 + 80 * 4),
        (true, 10_500, 8_000 + 80 * 13),
        (true, 10_000_000, 8_000 + 80 * 10_003),
        (false, 500, 4_000 + 40 * 2),
        (false, 1_000, 4_000 + 80 * 2),
        (false, 10_500, 4_000 + 80 * 11),
    ];
    for (inter, bytes, ideal) in cases {
        let to = if inter { "host16" } else { "host1" };
        let outcome = run(&scenario(&format!(
            "scheme = \"ideal-fq\"\n{CLOS}[host]\nwindow = \"1 GB\"\n[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n\
             [measure]\nslowdown = \"bfc-script\"\n[[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\n\
             to = [\"{to}\"]\nsize = \"{bytes} B\"\n"
        )));
        let flow = outcome.flows().next().expect("one flow");
        assert_eq!(flow.ideal, ideal * 1000, "{to}, {bytes} B");
        let (_, acknowledged) = expected(&links[..if inter { 4 } else { 2 }], bytes, 0);
        assert_eq!(flow.slowdown, acknowledged as f64 / (ideal * 1000) as f64, "{to}, {bytes} B");
        // Headers make a long flow 1.048 without any queue.
        assert!(bytes < 10_000_000 || (flow.slowdown - 1.048).abs() < 0.001, "{}", flow.slowdown);
    }
}
