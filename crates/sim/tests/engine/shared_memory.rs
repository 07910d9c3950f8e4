//! Shared memory of a switch: thresholds settle at their closed form, pools are independent, and marks and drops follow
//! the rules (spec G).

use crate::common::{run, scenario};
use backwater_dataplane::Departed;
use backwater_scenario::Scenario;
use backwater_sim::observe::{Joined, Observer, Transmission};
use backwater_sim::samples::QueueSample;
use backwater_sim::{Outcome, Simulation, Watch};
use backwater_types::{Instant, Kind, Packet, PortId, flags};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Wire bytes of a full packet.
const FULL: f64 = 1048.0;

/// Returns a scenario of datagrams from two hosts to each of `m` others, at link rate each, so that queues grow for
/// ever.
fn greedy(m: usize, switch: &str, more: &str) -> Scenario {
    let names = |from: usize, to: usize| (from..to).map(|h| format!("\"host{h}\"")).collect::<Vec<_>>().join(", ");
    let queues = (0..m).map(|h| format!("[\"switch0\", \"host{h}\"]")).collect::<Vec<_>>().join(", ");
    scenario(&format!(
        "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = {}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         [switch]\n{switch}[run]\nduration = \"1600 us\"\nwarmup = \"600 us\"\ndrain = 1.0\n\
         [measure]\nsample = \"1 us\"\npools = true\nqueues = [{queues}]\n\
         [[workload]]\nkind = \"long-lived\"\ncount = {}\nfrom = [{}]\nto = [{}]\nrate = \"100 Gbps\"\n{more}",
        3 * m,
        2 * m,
        names(m, 3 * m),
        names(0, m)
    ))
}

/// Returns the mean queue length of the last millisecond, by port, bytes.
fn settled(outcome: &Outcome) -> BTreeMap<u16, f64> {
    let mut sums: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    for QueueSample { at, port, bytes, .. } in &outcome.samples.queues.rows {
        if at.0 >= 600_000_000 {
            let (sum, count) = sums.entry(*port).or_default();
            (*sum, *count) = (*sum + bytes, *count + 1);
        }
    }
    sums.into_iter().map(|(port, (sum, count))| (port, sum as f64 / count as f64)).collect()
}

/// Spec G.1: each queue gets `alpha B / (1 + M alpha)` of the pool, plus its private bytes.
#[test]
fn thresholds_settle_at_the_closed_form() {
    for m in 1..=16 {
        for (alpha, private) in [(1.0, 0), (4.0, 0), (1.0, 128_000), (4.0, 128_000), (0.5, 0)] {
            let switch = format!("buffer = \"3 MB\"\nalpha = {alpha:.1}\nmmu = {{ private = \"{private} B\" }}\n");
            let outcome = run(&greedy(m, &switch, ""));
            let share = alpha * 3e6 / (1.0 + m as f64 * alpha) + private as f64;
            let ports = settled(&outcome);
            assert_eq!(ports.len(), m);
            for (port, mean) in ports {
                let case = format!("{m} ports, alpha {alpha}, private {private}, port {port}");
                assert!((mean - share).abs() <= FULL, "{case}: {mean:.0} for {share:.0}");
            }
            let pool = &outcome.pools[0];
            assert!(pool.counts.dropped_threshold > 1000 && pool.counts.dropped_full == 0, "{:?}", pool.counts);
            assert!(pool.peak <= 3_000_000);
        }
    }
}

/// Expects the same balance whether a departing packet frees shared or private bytes first, since private memory fills
/// first.
#[test]
fn what_is_given_back_first_does_not_move_the_balance() {
    for returns in ["shared", "private"] {
        let switch =
            format!("buffer = \"3 MB\"\nalpha = 4.0\nmmu = {{ private = \"128 KB\", returns = \"{returns}\" }}\n");
        for mean in settled(&run(&greedy(4, &switch, ""))).into_values() {
            assert!((mean - 12e6 / 17.0 - 128_000.0).abs() <= 2.0 * FULL, "{returns}: {mean}");
        }
    }
}

/// Expects a pool without a threshold to fill exactly.
#[test]
fn a_pool_without_threshold_fills_up() {
    let outcome = run(&greedy(3, "buffer = \"500 KB\"\n", ""));
    let sum: f64 = settled(&outcome).into_values().sum();
    assert!((sum - 500_000.0).abs() <= 2.0 * FULL, "{sum}");
    assert!(outcome.pools[0].peak <= 500_000 && outcome.pools[0].counts.dropped_threshold == 0);
}

/// Bytes held by class at a port, from the packets that enter and leave.
#[derive(Default)]
struct ByClass {
    held: BTreeMap<(usize, PortId, u8), i64>,
    /// Sums and numbers of samples, one per event in the last half of the run.
    sums: BTreeMap<(usize, PortId, u8), (i64, i64)>,
}

impl ByClass {
    fn count(&mut self, now: Instant, key: (usize, PortId, u8), wire: i64) {
        *self.held.entry(key).or_default() += wire;
        if now.0 > 800_000_000 {
            let held = self.held[&key];
            let (sum, events) = self.sums.entry(key).or_default();
            (*sum, *events) = (*sum + held, *events + 1);
        }
    }
}

impl Observer for ByClass {
    fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet, _last: &Transmission) {
        self.count(now, (switch, joined.egress, packet.class), packet.wire as i64);
    }

    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        if sent.queue.is_some() {
            self.count(now, (switch, port, packet.class), -(packet.wire as i64));
        }
    }
}

/// Two queues satisfy `q1 = a1 F`, `q2 = a2 F`, `F = B - q1 - q2`. Each gets `a B / (1 + a1 + a2)` plus its private
/// bytes.
#[test]
fn two_queues_of_a_port_have_thresholds_of_their_own() {
    for (first, second, private) in [(1.0, 4.0, 0), (4.0, 1.0, 0), (0.5, 2.0, 40_000)] {
        let own = format!(
            "assignment = \"class\"\nqueues = 2\nbuffer = \"1200 KB\"\nalpha = 8.0\n\
             mmu = {{ queue = [{{ alpha = {first:.1} }}, {{ alpha = {second:.1}, private = \"{private} B\" }}] }}\n"
        );
        let second_class = "[[workload]]\nkind = \"long-lived\"\nclass = \"second\"\ncount = 2\nfrom = [\"host1\", \"host2\"]\n\
                            to = [\"host0\"]\nrate = \"100 Gbps\"\npriority = 1\n";
        let scenario = greedy(1, &own, second_class);
        let simulation = Simulation::new(&scenario, 1);
        let (_, mut seen) = simulation.observe_any(ByClass::default, &Watch::default());
        let switch = simulation.graph.hosts;
        for (class, alpha, private) in [(0, first, 0), (1, second, private)] {
            let (sum, events) = seen[0].sums.remove(&(switch, 0, class)).expect("both are sent");
            let (mean, share) = (sum as f64 / events as f64, alpha * 1.2e6 / (1.0 + first + second) + private as f64);
            assert!(
                (mean - share).abs() <= 2.0 * FULL,
                "alpha {first} and {second}: class {class} {mean:.0}, {share:.0}"
            );
        }
    }
}

// --- MMUs --------------------------------------------------------------------------------------------------------------------

/// Expects flows among hosts 0 to 3, whose ports share an MMU, not to depend on hosts 4 to 11 at the other MMU.
#[test]
fn what_happens_in_one_mmu_is_nothing_to_another() {
    let quiet = |loaded: bool, by_name: bool| {
        let mut text = "scheme = \"fifo\"\n[conventions]\nacks = \"data\"\n[topology]\nkind = \"single-switch\"\nhosts = 12\nrate = \"100 Gbps\"\n\
                        delay = \"5 us\"\n[switch]\nbuffer = \"400 KB\"\nalpha = 1.0\n"
            .to_string();
        text += match by_name {
            false => "mmu = { ports = 4, private = \"20 KB\" }\n",
            true => {
                "mmu = { neighbours = [[\"host4\", \"host5\", \"host6\", \"host7\", \"host8\", \"host9\", \"host10\", \"host11\"], \
                 [\"host0\", \"host1\", \"host2\", \"host3\"]], private = \"20 KB\" }\n"
            }
        };
        // Step thresholds need no random draws.
        text += "ecn = { kmin = \"90 KB\", kmax = \"90 KB\", pmax = 1.0 }\n\
                 pool_ecn = { kmin = \"100 KB\", kmax = \"100 KB\", pmax = 1.0 }\n\
                 [host]\ntransport = \"tcp\"\n[host.tcp]\nmarks = \"dctcp\"\ninitial_window = 100\n\
                 connections = \"persistent\"\n";
        text += "[run]\nduration = \"10 ms\"\nwarmup = \"0 s\"\ndrain = 10.0\n\
                 [[workload]]\nkind = \"flow-list\"\nflows = [\n";
        for i in 0..30 {
            let _ = writeln!(
                text,
                "  {{ start = \"{} ns\", src = \"host{}\", dst = \"host{}\", bytes = \"{} B\" }},",
                1009 * (i / 3) * 31,
                1 + i % 3,
                if i % 5 < 3 { 0 } else { 1 + (i + 1) % 3 },
                200_000 + 13_007 * i
            );
        }
        text += "]\n";
        if loaded {
            text += "[[workload]]\nkind = \"long-lived\"\ncount = 4\nfrom = [\"host4\", \"host5\", \"host6\"]\nto = [\"host7\"]\n\
                     start = \"1 ns\"\nrate = \"90 Gbps\"\n\
                     [[workload]]\nkind = \"incast\"\ndegree = 20\naggregate = \"4 MB\"\nperiod = \"1 ms\"\n\
                     from = [\"host4\", \"host5\", \"host6\", \"host8\"]\nto = [\"host9\", \"host10\"]\n";
        }
        let outcome = run(&scenario(&text));
        let flows: Vec<_> = outcome
            .flows()
            .filter(|row| row.flow.class == 0)
            .map(|row| (row.flow.at, row.flow.src, row.flow.dst, row.received, row.acknowledged, row.retransmitted))
            .collect();
        let pools: Vec<_> = outcome.pools.iter().map(|pool| (pool.mmu, pool.peak, pool.counts, pool.ports)).collect();
        (flows, pools)
    };
    for (by_name, mine, others) in [(false, 0, 1), (true, 1, 0)] {
        let ((alone, pools), (beside, loaded)) = (quiet(false, by_name), quiet(true, by_name));
        assert_eq!(alone.len(), 30);
        assert!(alone.iter().all(|flow| flow.4 != Instant::NEVER));
        assert_eq!(alone, beside);
        let counts = pools[mine].2;
        assert!(counts.dropped_threshold > 0 && counts.marked_queue > 0 && counts.marked_pool > 0, "{counts:?}");
        assert_eq!(pools[mine], loaded[mine]);
        let busy = &loaded[others];
        assert!(pools[others].1 == 0 && busy.1 > 200_000, "{pools:?} {loaded:?}");
        assert!(busy.2.dropped_threshold > 100, "{busy:?}");
    }
}

// --- marks -------------------------------------------------------------------------------------------------------------------

/// Returns a scenario of ECN-capable senders with windows of constant size. After a link's delay, all packets not in
/// flight wait in queues.
fn steady(window: u32, switch: &str, workloads: &str) -> Scenario {
    scenario(&format!(
        "scheme = \"fifo\"\n[topology]\nkind = \"single-switch\"\nhosts = 12\nrate = \"100 Gbps\"\ndelay = \"2 us\"\n\
         [switch]\nbuffer = \"10 MB\"\n{switch}[host]\ntransport = \"tcp\"\n\
         [host.tcp]\nmarks = \"ecn-star\"\ninitial_window = {window}\nmax_window = {window}\nmin_window = {window}\n\
         [run]\nduration = \"2 ms\"\nwarmup = \"1 ms\"\ndrain = 1.0\n[measure]\nsample = \"1 us\"\npools = true\n{workloads}"
    ))
}

/// Returns a workload with one flow from each host in `from` to one host.
fn flows(to: usize, from: &[usize], class: &str, priority: u8) -> String {
    let from: Vec<String> = from.iter().map(|h| format!("\"host{h}\"")).collect();
    format!(
        "[[workload]]\nkind = \"long-lived\"\nclass = \"{class}\"\ncount = {}\nfrom = [{}]\nto = [\"host{to}\"]\npriority = {priority}\n",
        from.len(),
        from.join(", ")
    )
}

/// Data packets that arrived in the second millisecond, and how many were marked, by destination and class.
#[derive(Default)]
struct Marks(BTreeMap<(u16, u8), (u64, u64)>);

impl Observer for Marks {
    fn host_received(&mut self, now: Instant, _host: usize, packet: &Packet) {
        if packet.kind == Kind::Data && now.0 > 1_000_000_000 {
            let (all, marked) = self.0.entry((packet.dst, packet.class)).or_default();
            (*all, *marked) = (*all + 1, *marked + packet.has(flags::CE) as u64);
        }
    }
}

fn marks(scenario: &Scenario) -> (Outcome, BTreeMap<(u16, u8), f64>) {
    let (outcome, mut seen) = Simulation::new(scenario, 1).observe_any(Marks::default, &Watch::default());
    let shares = seen.remove(0).0.into_iter().map(|(key, (all, marked))| {
        assert!(all > 1000, "{key:?}: {all}");
        (key, marked as f64 / all as f64)
    });
    (outcome, shares.collect())
}

/// Two windows of 200 segments over a round trip of 8.3 us, 100 segments, leave 300 segments in the queue, 314 KB.
#[test]
fn red_marks_nothing_at_its_lower_end_and_all_above_its_upper() {
    let senders = flows(0, &[1, 2], "all", 0);
    let waits = 2.0 * 200.0 * FULL - 8.3 * 12_500.0;
    let between = |low: f64, high: f64, pmax: f64| {
        let red = format!("kmin = \"{low} B\", kmax = \"{high} B\", pmax = {pmax:.2}");
        let by = |switch: String| marks(&steady(200, &switch, &senders)).1[&(0, 0)];
        [
            by(format!("ecn = {{ {red} }}\n")),
            by(format!("ecn = {{ {red}, of = \"port\" }}\n")),
            by(format!("pool_ecn = {{ {red} }}\n")),
        ]
    };
    // The queue deviates from its mean by a few packets.
    let near = 10.0 * FULL;
    assert_eq!(between((waits + near).round(), (waits + near).round(), 1.0), [0.0; 3]);
    assert_eq!(between((waits - near).round(), (waits - near).round(), 1.0), [1.0; 3]);
    assert_eq!(between(10.0, (waits - near).round(), 0.1), [1.0; 3], "above the upper end whatever pmax is");
    for share in between(0.0, (2.0 * waits).round(), 0.5) {
        assert!((share - 0.25).abs() < 0.02, "halfway to half: {share}");
    }
    // Uniform spacing marks about twice as often.
    let red = format!("kmin = \"0 B\", kmax = \"{} B\", pmax = 0.2, spacing = \"uniform\"", (2.0 * waits).round());
    for key in ["ecn", "pool_ecn"] {
        let share = marks(&steady(200, &format!("{key} = {{ {red} }}\n"), &senders)).1[&(0, 0)];
        assert!((share - 2.0 * 0.1 / 1.1).abs() < 0.02, "{key}: {share}");
    }
}

/// Two classes with equal queues: the port holds twice the bytes of each.
#[test]
fn thresholds_of_a_port_count_all_its_queues() {
    let senders = flows(0, &[1, 2], "first", 0) + &flows(0, &[3, 4], "second", 1);
    let all = 4.0 * 200.0 * FULL - 8.3 * 12_500.0;
    let shares = |k: f64, of: &str, queues: &str| {
        let ecn = format!("ecn = {{ kmin = \"{k:.0} B\", kmax = \"{k:.0} B\", pmax = 1.0, of = \"{of}\"{queues} }}\n");
        let switch = format!("assignment = \"class\"\nqueues = 3\n{ecn}");
        let shares = marks(&steady(200, &switch, &senders)).1;
        (shares[&(0, 0)], shares[&(0, 1)])
    };
    assert_eq!(shares(0.8 * all, "queue", ""), (0.0, 0.0));
    assert_eq!(shares(0.8 * all, "port", ""), (1.0, 1.0));
    assert_eq!(shares(0.3 * all, "queue", ""), (1.0, 1.0));
    assert_eq!(shares(0.8 * all, "port", ", queues = [1]"), (0.0, 1.0));
    assert_eq!(shares(0.3 * all, "queue", ", queues = [0]"), (1.0, 0.0));
    assert_eq!(shares(1.1 * all, "port", ""), (0.0, 0.0));
}

/// BCC-A2: the pool marks every ECN-capable packet that leaves a port of its MMU, even from an empty queue. With
/// `only_ecn_queues`, it marks no packet of a queue without its own marking.
#[test]
fn a_pool_marks_at_all_its_ports_and_only_where_it_may() {
    let crowd = flows(0, &[1, 2], "crowd", 0) + &flows(3, &[4, 5], "other", 1);
    let bystander = flows(6, &[7], "slow", 0).replace("count = 1", "count = 1\nsize = \"30 MB\"");
    let far = flows(8, &[9], "far", 0);
    let senders = crowd + &bystander + &far;
    let each = 2.0 * 90.0 * FULL - 8.3 * 12_500.0;
    let pool = |more: &str, ecn: &str| {
        let k = 1.5 * each;
        let switch = format!(
            "assignment = \"class\"\nqueues = 2\nmmu = {{ ports = 8 }}\n{ecn}\
             pool_ecn = {{ kmin = \"{k:.0} B\", kmax = \"{k:.0} B\", pmax = 1.0{more} }}\n"
        );
        let (outcome, shares) = marks(&steady(90, &switch, &senders));
        let marked: Vec<u64> = outcome.pools.iter().map(|pool| pool.counts.marked_pool).collect();
        assert!(outcome.pools.iter().all(|pool| pool.counts.marked_queue == 0));
        assert!(marked[0] > 1000 && marked[1] == 0, "{marked:?}");
        [(0, 0), (3, 1), (6, 0), (8, 0)].map(|key| shares[&key])
    };
    let high = "ecn = { kmin = \"9 MB\", kmax = \"9 MB\", pmax = 1.0, queues = [1] }\n";
    assert_eq!(pool("", ""), [1.0, 1.0, 1.0, 0.0], "not in the other MMU");
    assert_eq!(pool("", high), [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(pool(", only_ecn_queues = true", high), [0.0, 1.0, 0.0, 0.0]);
}

/// Expects packets without ECN to be dropped at departure where marking applies, or to pass.
#[test]
fn datagrams_are_dropped_where_they_would_be_marked() {
    let step = "kmin = \"50 KB\", kmax = \"50 KB\", pmax = 1.0";
    let tcp = "[host]\ntransport = \"tcp\"\n";
    for rule in [format!("ecn = {{ {step} }}\n"), format!("pool_ecn = {{ {step} }}\n")] {
        let passes = run(&greedy(1, &format!("buffer = \"3 MB\"\nalpha = 1.0\n{rule}"), tcp));
        assert_eq!(passes.drops.iter().map(|d| d.packets[7]).sum::<u64>(), 0);
        let mean = settled(&passes)[&0];
        assert!((mean - 1.5e6).abs() <= FULL, "{mean}");
        let dropped = run(&greedy(1, &format!("buffer = \"3 MB\"\nalpha = 1.0\nnot_ect = \"drop\"\n{rule}"), tcp));
        let switch = dropped.graph.hosts;
        let at_departure = dropped.drops[switch].packets[7];
        assert_eq!(dropped.drops.iter().map(|d| d.packets[7]).sum::<u64>(), at_departure);
        // All packets above the link's rate are dropped, and the queue stays at the threshold.
        let mean = settled(&dropped)[&0];
        assert!((mean - 50_000.0).abs() <= 2.0 * FULL, "{mean}");
        let sent: u64 = dropped.ports.iter().filter(|p| p.peer == 0).map(|p| p.total.sent.data().packets).sum();
        let came: u64 =
            dropped.ports.iter().filter(|p| p.node as usize != switch).map(|p| p.total.sent.data().packets).sum();
        assert!(came - sent - at_departure < 100, "{came} came, {sent} went, {at_departure} dropped");
        assert_eq!(dropped.drops[switch].packets[0], 0, "nothing for want of buffer");
        assert_eq!(dropped.pools[0].counts.marked_pool + dropped.pools[0].counts.marked_queue, 0);
    }
}

/// Expects TCP without ECN to finish over such a switch, and TCP with ECN to have no drop.
#[test]
fn what_can_be_marked_is_not_dropped() {
    for (capable, drops) in [("dctcp", false), ("none", true)] {
        let mut text = "scheme = \"dctcp-tcp\"\n[topology]\nkind = \"single-switch\"\nhosts = 5\nrate = \"100 Gbps\"\n\
                        delay = \"5 us\"\n[conventions]\nacks = \"high\"\n[switch]\nnot_ect = \"drop\"\n\
                        ecn = { kmin = \"100 KB\", kmax = \"100 KB\", pmax = 1.0 }\n"
            .to_string();
        let _ = write!(
            text,
            "[host.tcp]\nmarks = \"{capable}\"\nhandshake = false\n[run]\nduration = \"2 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n\
             [[workload]]\nkind = \"long-lived\"\ncount = 4\nto = [\"host0\"]\nsize = \"10 MB\"\n"
        );
        let outcome = run(&scenario(&text));
        assert!(outcome.acknowledged.iter().all(|at| at != Instant::NEVER), "{capable}");
        let dropped: u64 = outcome.drops.iter().map(|d| d.packets[7]).sum();
        assert_eq!(dropped > 0, drops, "{capable}: {dropped}");
    }
}

// --- BCC ---------------------------------------------------------------------------------------------------------------------

/// Spec G.6: a port at K_port uses 592 KB of the pool, a third of its lower threshold. With the overshoot of slow start
/// it uses 1592 KB, still below the threshold. With five ports the pool marks.
#[test]
fn one_congested_port_is_not_the_shared_rules_business() {
    let pool_marks = |ports: usize| {
        let workloads: String = (0..ports)
            .map(|port| {
                let from: Vec<usize> = (8 + 2 * port..10 + 2 * port).collect();
                flows(port, &from, &format!("port{port}"), 0)
            })
            .collect();
        // The round trip is 80 us; ACKs and handshakes queue with the data.
        let outcome = run(&scenario(&format!(
            "scheme = \"bcc\"\n[topology]\nkind = \"single-switch\"\nhosts = 32\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
             [host]\ndelay = \"37 us\"\n[host.tcp]\nmax_window = 400\n[run]\nduration = \"12 ms\"\nwarmup = \"0 s\"\ndrain = 1.0\n\
             [measure]\nsample = \"10 us\"\npools = true\nqueues = [[\"switch0\", \"host0\"]]\n{workloads}"
        )));
        let first = &outcome.pools[0];
        assert!(first.counts.marked_queue > 0);
        let late = outcome.samples.queues.rows.iter().filter(|row| row.at.0 > 4_000_000_000).map(|row| row.bytes);
        let most = late.max().unwrap_or(0);
        println!("{ports} ports: {:?}, queue at most {most}, peak {}", first.counts, first.peak);
        (first.counts, most)
    };
    let (one, most) = pool_marks(1);
    assert_eq!((one.marked_pool, one.dropped_threshold + one.dropped_full), (0, 0), "{one:?}");
    assert!((500_000..900_000).contains(&most), "the queue swings below 720 KB: {most}");
    assert!(pool_marks(5).0.marked_pool > 0);
}

/// Spec G.5: marks come first, pauses last, and nothing is dropped.
#[test]
fn pfc_behind_the_pools_marks_drops_nothing() {
    let outcome = run(&scenario(
        "scheme = \"bcc\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\nhost_rate = \"100 Gbps\"\n\
         core_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n[conventions]\nacks = \"high\"\n\
         [switch]\nbackpressure = \"pfc\"\nchip = \"tofino\"\nbuffer = \"3 MB\"\nalpha = 1000.0\nmmu = { private = \"0 B\" }\n\
         pool_ecn = { kmin = \"1 MB\", kmax = \"1500 KB\", pmax = 0.1 }\n\
         [run]\nduration = \"3 ms\"\nwarmup = \"0 s\"\ndrain = 100.0\n[measure]\npools = true\n\
         [[workload]]\nkind = \"incast\"\ndegree = 60\naggregate = \"12 MB\"\nperiod = \"1 ms\"\nto = [\"host0\"]\n\
         [[workload]]\nkind = \"background\"\nsizes = { exponential = \"100 KB\" }\nload = 0.4\n",
    ));
    assert!(outcome.acknowledged.iter().all(|at| at != Instant::NEVER));
    let drops: u64 = outcome.drops.iter().flat_map(|d| d.packets).sum();
    assert_eq!(drops, 0);
    assert!(outcome.ports.iter().map(|p| p.total.held.pfc_pauses).sum::<u64>() > 0, "PFC is needed");
    assert!(outcome.pools.iter().map(|pool| pool.counts.marked_pool).sum::<u64>() > 0, "the pool marks");
}
