//! Shortest remaining flow first on whole networks, and the queue that a window in round trips leaves.

use crate::common::{run, scenario, watched};
use backwater_sim::Outcome;
use backwater_types::Instant;

/// Time of a full packet at 100 Gb/s, ps.
const PACKET: u64 = 83_840;

/// Runs listed flows: start in ns, source, destination, packets. One switch, nine hosts, 2 us from host to host and 2
/// us back.
fn listed(scheme: &str, flows: &[(u64, u32, u32, u64)]) -> Outcome {
    let row = |(start, src, dst, packets): &(u64, u32, u32, u64)| {
        let bytes = packets * 1000;
        format!("  {{ start = \"{start} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"{bytes} B\" }},\n")
    };
    let rows: String = flows.iter().map(row).collect();
    let scenario = scenario(&format!(
        "scheme = \"{scheme}\"\n[topology]\nkind = \"single-switch\"\nhosts = 9\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         [run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n[[workload]]\nkind = \"flow-list\"\nflows = [\n{rows}]\n"
    ));
    let (outcome, report) = watched(&scenario, 1, None);
    assert!(report.faults.is_empty(), "{scheme}: {:?}", report.faults);
    assert!(outcome.received.iter().all(|at| at != Instant::NEVER), "{scheme}");
    assert_eq!(outcome.retransmitted.iter().sum::<u32>(), 0, "{scheme}");
    outcome
}

/// Flows start at once from eight hosts. Each must finish when it and all shorter ones have passed the port. Packets in
/// flight when a shorter flow arrives are excepted. Without pauses the port is never idle.
#[test]
fn flows_from_many_hosts_are_done_in_the_order_of_their_sizes() {
    let sizes = [70, 10, 95, 25, 50, 5, 85, 40];
    let flows: Vec<_> = (0..8).map(|k| (0, k as u32, 8, sizes[k])).collect();
    for scheme in ["ideal-srf", "bfc-srf"] {
        let outcome = listed(scheme, &flows);
        // Under BFC a flow whose turn comes was paused. Its packets arrive a hop's round trip after the resume.
        let resumed = if scheme == "bfc-srf" { 2_000_000 } else { 0 };
        for (k, size) in sizes.iter().enumerate() {
            let before: u64 = sizes.iter().filter(|other| *other <= size).sum();
            let alone = 2_000_000 + (before + 1) * PACKET;
            let late = outcome.received.get(k).0.checked_sub(alone).expect("no sooner than those before it allow");
            assert!(late <= 8 * PACKET + resumed, "{scheme}: {size} packets {late} ps late");
        }
        let last = outcome.received.iter().max().expect("there are flows");
        let all = 2_000_000 + (sizes.iter().sum::<u64>() + 1) * PACKET;
        assert!(last.0 >= all && last.0 <= all + 2 * PACKET + resumed, "{scheme}: {last:?}, not {all}");
    }
}

/// Flows from one host: its NIC serves the flow with the fewest remaining bytes, even one that starts later, and then
/// continues the first.
#[test]
fn flows_from_one_host_are_sent_in_the_order_of_what_is_left() {
    for scheme in ["ideal-srf", "bfc-srf"] {
        // After 20 packets, 60 of the first flow remain.
        let outcome = listed(scheme, &[(0, 0, 1, 80), (20 * PACKET / 1000, 0, 2, 30), (20 * PACKET / 1000, 0, 3, 70)]);
        let done = |packets: u64| Instant(2_000_000 + (packets + 1) * PACKET);
        let [first, second, third] = [0, 1, 2].map(|k: usize| outcome.received.get(k));
        assert!(second >= done(20 + 30) && second <= done(22 + 30), "{scheme}: {second:?}");
        assert!(first >= done(80 + 30) && first <= done(82 + 30), "{scheme}: {first:?}");
        assert!(third >= done(180) && third <= done(180), "{scheme}: {third:?}");
    }
}

/// One flow crosses a link of half its host's rate. The window of its target, less the bytes in flight, waits at that
/// link.
///
/// The base round trip is 6.32 us: 3 links of 1 us each way, and a packet of 1000 B at each. A target of 2 leaves one
/// base round trip in the queue, 39.5 packets at 50 Gb/s. Headers and the time of answers take up a few of these.
#[test]
fn a_target_of_round_trips_leaves_the_rest_of_it_in_the_queue() {
    let queue = |target: f64| {
        let scenario = scenario(&format!(
            "scheme = \"fifo\"\n[host]\ntransport = \"rtt\"\nwindow = \"bdp\"\nrtt.target = {target}\n\
             [topology]\nkind = \"dumbbell\"\nleft = 1\nright = 1\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
             bottleneck_rate = \"50 Gbps\"\nbottleneck_delay = \"1 us\"\n[measure]\nsample = \"2 us\"\n\
             [run]\nduration = \"2 ms\"\nwarmup = \"1 ms\"\ndrain = 1.0\n\
             [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\n"
        ));
        let outcome = run(&scenario);
        let late = outcome.samples.buffers.0.iter().filter(|sample| sample.at >= Instant(1_000_000_000));
        let (sum, most, n) =
            late.fold((0, 0, 0), |(sum, most, n), sample| (sum + sample.bytes, most.max(sample.bytes), n + 1));
        assert!(n > 400, "{n} samples");
        // Two switches, one of which has the queue.
        let (mean, most) = (2.0 * sum as f64 / n as f64 / 1048.0, most as f64 / 1048.0);
        assert!(most < mean + 3.0, "it rests: {mean} packets at the mean, {most} at most");
        mean
    };
    let (low, high) = (queue(2.0), queue(3.0));
    // One more base round trip, 6.32 us, at 167.68 ns per packet.
    assert!(((high - low) - 6_320.0 / 167.68).abs() < 2.0, "{low} and {high} packets");
    assert!(low > 30.0 && low < 40.0, "{low} packets");
}
