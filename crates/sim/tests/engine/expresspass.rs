//! ExpressPass on whole networks. A flow of one packet takes the time of its request, credit and data, to the
//! picosecond. Counts of credits add up. Where credits meet at one port, the data they request finds it free.

use crate::common::{logged, row, run, scenario};
use backwater_sim::measure::summary;
use backwater_sim::observe::Observer;
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::{DropReason, Instant, Kind, Packet};

/// Sizes of the credits that hosts sent.
#[derive(Default)]
struct Credits(Vec<u16>);

impl Observer for Credits {
    fn host_sent(&mut self, _now: Instant, _host: usize, packet: &Packet) {
        self.0.extend((packet.kind == Kind::Credit).then_some(packet.wire));
    }
}

/// Sends one packet over `links`, `(Gb/s, ns)`. A request and a packet go forward and a credit comes back; nothing
/// waits.
#[test]
fn one_packet_takes_a_request_a_credit_and_itself() {
    for links in [vec![(100, 1000); 2], vec![(100, 1000), (40, 500), (200, 123), (10, 700)]] {
        let scenario = scenario(&format!(
            "scheme = \"expresspass\"\n{}[run]\nduration = \"1 us\"\nwarmup = \"0 s\"\ndrain = 1e6\n[[workload]]\n\
             kind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\nsize = \"1460 B\"\n",
            row(&links)
        ));
        let (outcome, credits) = Simulation::new(&scenario, 1).observe_any(Credits::default, &Watch::default());
        let crosses =
            |wire: u16| links.iter().map(|(rate, delay)| wire as u64 * (8000 / rate) + delay * 1000).sum::<u64>();
        let first = credits[0].0[0];
        assert!((76..=92).contains(&first));
        let received = crosses(84) + crosses(first) + crosses(1538);
        assert_eq!(
            (outcome.received.get(0).0, outcome.acknowledged.get(0).0),
            (received, received + crosses(84)),
            "{links:?}"
        );
        assert_eq!(outcome.retransmitted, [0]);
    }
}

/// Runs flows of all sizes between all hosts.
fn mixed(more: &str) -> Outcome {
    run(&scenario(&format!(
        "scheme = \"expresspass\"\n{more}[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n\
         [run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n\
         [[workload]]\nkind = \"background\"\nsizes = {{ table = \"fb_hadoop\" }}\nload = 0.5\n"
    )))
}

#[test]
fn each_credit_that_comes_sends_a_packet_or_is_wasted() {
    for more in ["", "host.expresspass.early_stop = false\n"] {
        let outcome = mixed(more);
        assert!(outcome.acknowledged.iter().all(|at| at != Instant::NEVER));
        let hosts = outcome.graph.hosts as u32;
        let data: u64 = outcome.ports.iter().filter(|p| p.node < hosts).map(|p| p.total.sent.data().packets).sum();
        let credits = outcome.credits;
        assert_eq!(credits.received, data + credits.wasted);
        let summary = summary::summary(&outcome);
        let shown = |key: &str| summary["credits"][key].as_f64().expect("a number");
        assert_eq!([shown("received"), shown("wasted")], [credits.received as f64, credits.wasted as f64]);
        let dropped: u64 = outcome.drops.iter().map(|drops| drops.packets[DropReason::Credit as usize]).sum();
        assert_eq!(shown("dropped"), dropped as f64);
        assert!((0.01..0.6).contains(&shown("waste")) && dropped > 0, "{summary:#}");
        println!("{more}waste {:.3}, {dropped} credits dropped of {}", shown("waste"), credits.received);
        // Dropped credits are no loss of data.
        assert_eq!(
            (summary["loss"]["dropped"].as_u64(), summary["loss"]["share_per_port"].as_f64()),
            (Some(0), Some(0.0))
        );
    }
}

/// Expects early stops to save credits.
#[test]
fn early_stops_waste_fewer_credits() {
    let waste = |more: &str| {
        let credits = mixed(more).credits;
        credits.wasted as f64 / credits.received as f64
    };
    let (early, late) = (waste(""), waste("host.expresspass.early_stop = false\n"));
    assert!(early < late, "{early} of credits are wasted with early stops, {late} without");
}

/// Seven flows start at once towards one port. Credits admit no more packets than the port can send; only a few meet in
/// its queue. After the first flows have ended, the last ones leave at most two fifths of the port idle.
#[test]
fn credits_keep_queues_short_where_senders_meet() {
    let incast = scenario(
        "scheme = \"expresspass\"\n[switch]\nbuffer = \"40 KB\"\n[topology]\nkind = \"single-switch\"\nhosts = 8\n\
         rate = \"100 Gbps\"\ndelay = \"1 us\"\n[measure]\nsample = \"100 ns\"\n\
         [run]\nduration = \"1 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n\
         [[workload]]\nkind = \"incast\"\ndegree = 7\naggregate = \"7 MB\"\nperiod = \"1 s\"\nstart = \"0 s\"\n",
    );
    let (outcome, log) = logged(&incast);
    assert!(outcome.acknowledged.len() == 7 && outcome.acknowledged.iter().all(|at| at != Instant::NEVER));
    let dropped = |reason| log.dropped.iter().filter(|(.., why)| *why == reason).count();
    assert!(dropped(DropReason::Buffer) == 0 && dropped(DropReason::Credit) > 100, "{}", dropped(DropReason::Credit));
    let most = outcome.samples.buffers.0.iter().map(|sample| sample.bytes).max();
    assert!(most < Some(16 * 1538), "{most:?} B in the switch");
    // 7 MB in packets of 1460 B, each of which takes 1622 B of the link's time.
    let least = 7e6 / 1460.0 * 1622.0 * 80e-12;
    let took = outcome.received.iter().max().expect("seven").0 as f64 * 1e-12;
    assert!(took > least && took < 1.4 * least, "{took} s, at least {least} s");
}
