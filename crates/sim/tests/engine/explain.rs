//! Records on request: waits, against times computed by hand, and single events.

use crate::common::{node, scenario};
use backwater_sim::record::events::{EventsWanted, What};
use backwater_sim::record::waits::{Wait, Why};
use backwater_sim::record::{Recorded, Wanted};
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::{Duration, Instant};

/// Transmission time of a packet of 1,048 B and of a frame of 64 B at 100 Gb/s, and delay of a link; ps.
const PACKET: u64 = 83_840;
const FRAME: u64 = 5_120;
const LINK: u64 = 1_000_000;

/// Three flows into a port with one queue, which pauses every sender to it while it holds a packet. A passes. B arrives
/// 10 ns later and waits for the rest of A. C has thirty packets. Its first arrives 10 ns after B, finds B waiting, and
/// pauses C's NIC.
const THREE: &str = r#"
scheme = "bfc"
switch.assignment = "single"
switch.bfc.fixed_threshold = "1 B"
[topology]
kind = "single-switch"
hosts = 4
rate = "100 Gbps"
delay = "1 us"
[run]
duration = "10 us"
warmup = "0 s"
[[workload]]
kind = "flow-list"
class = "a"
flows = [{ start = "0 s", src = "host0", dst = "host3", bytes = "1000 B" }]
[[workload]]
kind = "flow-list"
class = "b"
flows = [{ start = "10 ns", src = "host1", dst = "host3", bytes = "1000 B" }]
[[workload]]
kind = "flow-list"
class = "c"
flows = [{ start = "20 ns", src = "host2", dst = "host3", bytes = "30000 B" }]
"#;

#[test]
fn three_flows_one_queue_one_pause_by_hand() {
    let scenario = scenario(THREE);
    let received = Simulation::new(&scenario, 1).run(&Watch::default()).received;
    let explain: Vec<(u32, Instant)> = (0..).zip(&received).collect();
    let wanted = Wanted { explain, ..Wanted::default() };
    let outcome = Simulation::new(&scenario, 1).record(&wanted, &Watch::default());
    let [switch, receiver] = ["switch0", "host3"].map(|name| node(&outcome, name) as u32);
    let plain = |flow: u32, hop: u8, node: u32, port: u16, why: Why, ps: u64| {
        let (whose, sake, by, towards) = (None, None, None, None);
        Wait { flow, hop, node, port, queue: 0, why, whose, sake, by, towards, span: Duration(ps) }
    };
    let link = |flow: u32, hop: u8, node: u32, port: u16| {
        [(Why::Transmission, PACKET), (Why::Propagation, LINK)].map(|(why, ps)| plain(flow, hop, node, port, why, ps))
    };
    // A and B reach the switch 10 ns apart.
    let behind = PACKET - 10_000;
    // C's first packet reaches the switch, and a PAUSE comes back. By then the 25th packet is on the link.
    let pause = 20_000 + PACKET + LINK + FRAME + LINK;
    let sent = (pause - 20_000).div_ceil(PACKET);
    assert_eq!(sent, 25);
    // The port sends A, B and these packets back to back. The RESUME leaves with the last of them.
    let resume = PACKET + LINK + (2 + sent - 1) * PACKET + FRAME + LINK;
    let paused = resume - (20_000 + sent * PACKET);
    let mut expected = Vec::new();
    expected.extend(link(0, 0, 0, 0).into_iter().chain(link(0, 1, switch, 3)));
    expected.extend(link(1, 0, 1, 0));
    expected.push(Wait { whose: Some(0), ..plain(1, 1, switch, 3, Why::Queue, behind) });
    expected.extend(link(1, 1, switch, 3));
    expected.push(Wait { whose: Some(2), ..plain(2, 0, 2, 0, Why::OwnPackets, 29 * PACKET) });
    let (by, towards) = (Some(switch), Some(receiver));
    expected.push(Wait { whose: Some(2), sake: Some(2), by, towards, ..plain(2, 0, 2, 0, Why::Paused, paused) });
    expected.extend(link(2, 0, 2, 0).into_iter().chain(link(2, 1, switch, 3)));
    assert_eq!(outcome.recorded.waits, expected);
    let fct = 31 * PACKET + paused + 2 * LINK;
    assert_eq!(outcome.received.get(2), Instant(20_000 + fct));
}

/// Two leaves and two spines under overload, and a link that fails.
const BUSY: &str = r#"
seed = 3
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
[run]
duration = "60 us"
warmup = "0 s"
[[workload]]
kind = "background"
sizes = { table = "fb_hadoop" }
load = 0.6
[[workload]]
kind = "incast"
degree = 7
aggregate = "200 KB"
load = 0.3
[[fault]]
link = ["leaf0", "spine1"]
down = [["20 us", "30 us"]]
"#;

fn recorded(scheme: &str, threads: usize, span: [u64; 2], at_most: usize) -> (Outcome, Recorded) {
    let scenario = scenario(&format!("scheme = \"{scheme}\"\n{BUSY}"));
    let [from, until] = span.map(|us| Instant(us * 1_000_000));
    let wanted = Wanted { events: Some(EventsWanted { from, until, at_most }), ..Wanted::default() };
    let mut outcome = Simulation::new(&scenario, threads).record(&wanted, &Watch::default());
    let recorded = std::mem::take(&mut outcome.recorded);
    (outcome, recorded)
}

#[test]
fn events_are_the_same_on_any_number_of_threads() {
    for scheme in ["bfc", "dctcp", "flowsail", "dctcp-tcp"] {
        let all = recorded(scheme, 1, [0, 1000], 1 << 20).1;
        assert_eq!(all.events_left_out, 0);
        for (threads, at_most) in [(2, 1 << 20), (4, 1 << 20), (1, 100), (3, 100)] {
            let some = recorded(scheme, threads, [0, 1000], at_most).1;
            let kept = all.events.len().min(at_most);
            assert_eq!(some.events, all.events[..kept], "{scheme} on {threads} threads, {at_most} at most");
            assert_eq!(some.events_left_out, (all.events.len() - kept) as u64);
        }
        let span = recorded(scheme, 2, [20, 30], 1 << 20).1.events;
        let inside = |at: Instant| (20_000_000..30_000_000).contains(&at.0);
        assert_eq!(span, all.events.iter().filter(|event| inside(event.at)).copied().collect::<Vec<_>>());
    }
}

/// Compares events with the counters that every run keeps.
#[test]
fn events_are_what_the_counters_count() {
    for scheme in ["bfc", "dctcp", "flowsail"] {
        let (outcome, recorded) = recorded(scheme, 1, [0, 1_000_000], 1 << 22);
        let count = |is: &dyn Fn(What) -> bool| recorded.events.iter().filter(|event| is(event.what)).count() as u64;
        let dropped: u64 = outcome.drops.iter().flat_map(|drops| drops.packets).sum();
        assert_eq!(count(&|what| matches!(what, What::Dropped(_))), dropped, "{scheme}");
        let held = |of: fn(&backwater_sim::measure::outcome::PortRow) -> u64| outcome.ports.iter().map(of).sum::<u64>();
        let pauses = held(|row| row.total.held.bfc_pauses + row.total.held.pfc_pauses + row.total.held.flow_pauses);
        let paused = count(&|what| what == What::Paused);
        // Repeated pauses are no events.
        assert!(paused <= pauses && (paused > 0) == (pauses > 0), "{scheme}: {paused} of {pauses}");
        assert!(scheme == "dctcp" || paused > 0, "{scheme} pauses");
        assert!(scheme != "dctcp" || count(&|what| what == What::Marked) > 0, "{scheme} marks");
        for what in [What::LinkDown, What::LinkUp] {
            assert_eq!(count(&|other| other == what), 2, "{scheme}: both ends of a link");
        }
        // A pause ends before the next begins.
        let mut open = std::collections::BTreeSet::new();
        for event in &recorded.events {
            let what = (event.node, event.port, event.queue, event.flow);
            match event.what {
                What::Paused => assert!(open.insert(what), "{scheme}: {event:?}"),
                What::Resumed => assert!(open.remove(&what), "{scheme}: {event:?}"),
                _ => {}
            }
        }
    }
}
