//! Homa on whole networks: grants that keep the line busy, shortest message first, and delays of scheduled packets.

use crate::common::{run, scenario, watched};
use backwater_scenario::Scenario;
use backwater_sim::Outcome;
use backwater_types::Instant;

/// Returns a scenario of two leaves with eight hosts each, and four spines; 8 us there and back.
fn clos(scheme: &str, rest: &str) -> Scenario {
    scenario(&format!(
        "scheme = \"{scheme}\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 8\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n{rest}"
    ))
}

/// Runs listed messages: start in ns, source, destination, bytes.
fn listed(scheme: &str, messages: &[(u64, u32, u32, u64)]) -> Outcome {
    let row = |(start, src, dst, bytes): &(u64, u32, u32, u64)| {
        format!("  {{ start = \"{start} ns\", src = \"host{src}\", dst = \"host{dst}\", bytes = \"{bytes} B\" }},\n")
    };
    let rows: String = messages.iter().map(row).collect();
    run(&clos(
        scheme,
        &format!(
            "[run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n[[workload]]\nkind = \"flow-list\"\nflows = [\n{rows}]\n"
        ),
    ))
}

/// Expects a message alone never to wait for a grant. RTTbytes are 100 packets of 83.84 ns each. A packet and its grant
/// take 8 us plus the transmission times of four links, 8.356 us together. The message then takes store and forward of
/// n packets over four links plus 4 us.
#[test]
fn grants_keep_the_line_of_a_message_alone_busy() {
    for scheme in ["homa", "homa-ecmp"] {
        for packets in [1, 100, 101, 5000] {
            let outcome = listed(scheme, &[(0, 0, 8, packets * 1000)]);
            let expected = Instant(4_000_000 + (packets + 3) * 83_840);
            assert_eq!(outcome.received.get(0), expected, "{scheme}, {packets} packets");
            assert_eq!(outcome.retransmitted.get(0), 0);
        }
    }
}

/// Sends three packets to a host that receives three messages of 5 MB. The short message has the highest level in use,
/// so it waits at most for the packet in transmission at each of four ports.
#[test]
fn a_short_message_does_not_wait_for_long_ones() {
    for scheme in ["homa", "homa-ecmp"] {
        let long = |src: u32| (0, src, 8, 5_000_000);
        let outcome = listed(scheme, &[long(0), long(1), long(2), (100_000, 3, 8, 3000), (300_000, 0, 8, 3000)]);
        for (short, start) in [(3, 100_000_000), (4, 300_000_000)] {
            let took = outcome.received.get(short).since(Instant(start)).0;
            let (alone, packet) = (4_000_000 + 6 * 83_840, 83_840);
            assert!((alone..=alone + 4 * packet).contains(&took), "{scheme}: {took} ps, alone {alone}");
        }
    }
}

/// Sends messages to one host, each shorter than all before. Each goes ahead of the longer ones and leaves their levels
/// unchanged. Messages finish in the order of their sizes, the last to start as early as if alone, and the port is
/// never idle.
#[test]
fn a_message_with_less_left_goes_ahead_of_those_with_more() {
    let sizes: Vec<u64> = (1..=7).rev().map(|k| k * 400_000).collect();
    let starts = |k: u32| 20_000 * u64::from(k);
    let messages: Vec<_> = (0..7).map(|k| (starts(k), k, 8, sizes[k as usize])).collect();
    for scheme in ["homa", "homa-ecmp"] {
        let outcome = listed(scheme, &messages);
        let done: Vec<Instant> = outcome.received.iter().collect();
        assert!(done.is_sorted_by(|longer, shorter| longer > shorter), "{scheme}: {done:?}");
        let packet = 83_840;
        let (alone, took) = (4_000_000 + 403 * packet, done[6].since(Instant(starts(6) * 1000)).0);
        // The message waits for the unscheduled packets of the others that are still queued.
        assert!((alone..alone + 20_000_000).contains(&took), "{scheme}: {took} ps, alone {alone}");
        let all = 4_000_000 + (sizes.iter().sum::<u64>() / 1000 + 3) * packet;
        assert!((all..all + 2_000_000).contains(&done[0].0), "{scheme}: {:?}, all packets at {all}", done[0]);
    }
}

/// In a busy network without losses, expects no retransmissions, and measured delays of scheduled packets at ports to
/// hosts.
#[test]
fn nothing_is_sent_twice_where_nothing_is_lost_and_scheduled_packets_are_metered() {
    for scheme in ["homa", "homa-ecmp"] {
        let scenario = clos(
            scheme,
            "[run]\nduration = \"1 ms\"\ndrain = 100.0\n[measure]\nqueueing_delay = true\n\
             [[workload]]\nkind = \"background\"\nsizes = { table = \"fb_hadoop\" }\nload = 0.6\n\
             [[workload]]\nkind = \"incast\"\ndegree = 15\naggregate = \"500 KB\"\nperiod = \"200 us\"\n",
        );
        let (outcome, report) = watched(&scenario, 1, None);
        assert!(report.faults.is_empty(), "{scheme}: {:?}", report.faults);
        assert!(outcome.received.iter().all(|at| at != Instant::NEVER));
        assert_eq!(outcome.retransmitted.iter().sum::<u32>(), 0, "{scheme}");
        let hops: Vec<(u8, u8)> = outcome.scheduled_delays.iter().map(|(layers, _)| *layers).collect();
        assert!([(1, 0), (1, 2), (2, 1)].iter().all(|hop| hops.contains(hop)), "{hops:?}");
        let all: u64 = outcome.delays.iter().flat_map(|(_, delays)| delays.bins()).map(|(_, _, n)| n).sum();
        let scheduled: u64 =
            outcome.scheduled_delays.iter().flat_map(|(_, delays)| delays.bins()).map(|(_, _, n)| n).sum();
        assert!(scheduled > all / 2 && scheduled < all, "{scheduled} of {all}: 82 % of Hadoop's bytes are scheduled");
        // Sprayed packets find all paths, and wait only for others that chose the same one.
        let mean = |hop: (u8, u8)| {
            let (_, delays) = outcome.scheduled_delays.iter().find(|(layers, _)| *layers == hop).expect("it is there");
            delays.sum as f64 / delays.bins().map(|(_, _, n)| n).sum::<u64>() as f64 / 1e6
        };
        println!("{scheme}: {:.2} us up, {:.2} us down, {:.2} us to hosts", mean((1, 2)), mean((2, 1)), mean((1, 0)));
        assert!(scheme != "homa" || mean((1, 2)) < 5.0);
    }
}

#[test]
fn a_window_that_no_message_exceeds_needs_no_grants() {
    let outcome = run(&clos(
        "homa",
        "[host]\nwindow = \"2 MB\"\n[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n[[workload]]\nkind = \"long-lived\"\n\
         count = 1\nfrom = [\"host0\"]\nto = [\"host8\"]\nsize = \"1 MB\"\n",
    ));
    let replies: u64 =
        outcome.ports.iter().filter(|port| port.node == 8).map(|port| port.total.sent.acks().packets).sum();
    assert_eq!(replies, 1, "the acknowledgement of the whole message");
}
