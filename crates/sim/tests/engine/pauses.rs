//! Exact times at which a pause is requested, takes effect and ends, from serialisation, propagation and the packet in
//! transmission. Also tests that PFC's headroom is just enough.

use crate::common::log::Log;
use crate::common::{logged, row, scenario};
use backwater_dataplane::pfc;
use backwater_types::{BitsPerSec, ControlFrame, DropReason, Duration, PortId};

/// Bytes on the wire.
const PACKET: u64 = 1048;
const FRAME: u64 = 64;
const ACK: u64 = 64;

/// A sender on a fast link, a switch, a slow link and a receiver: `(ps per byte, ps of delay)`.
#[derive(Clone, Copy, Debug)]
struct Line {
    fast: (u64, u64),
    slow: (u64, u64),
}

impl Line {
    fn new(fast_gbps: u64, fast_ns: u64, slow_gbps: u64, slow_ns: u64) -> Line {
        Line { fast: (8_000 / fast_gbps, fast_ns * 1000), slow: (8_000 / slow_gbps, slow_ns * 1000) }
    }

    fn toml(&self, scheme: &str, more: &str) -> String {
        let gbps_ns = |(ps, delay): (u64, u64)| (8_000 / ps, delay / 1000);
        format!(
            "scheme = \"{scheme}\"\n{}[run]\nduration = \"200 us\"\nwarmup = \"0 s\"\n[measure]\nsample = \"0 s\"\n\
             [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\nsize = \"300 KB\"\n{more}",
            row(&[gbps_ns(self.fast), gbps_ns(self.slow)])
        )
    }

    /// Arrival of packet `i` at the switch, if no pause has stopped the sender.
    fn arrival(&self, i: u64) -> u64 {
        (i + 1) * PACKET * self.fast.0 + self.fast.1
    }

    /// Start of packet `i`'s transmission by the switch, if the slow link sends back to back.
    fn departure(&self, i: u64) -> u64 {
        self.arrival(0) + i * PACKET * self.slow.0
    }

    /// Start of a frame requested at `at` on the link back to the sender. The frame waits for an acknowledgement in
    /// transmission.
    fn frame_start(&self, at: u64) -> u64 {
        let ack = |i: u64| self.departure(i) + (PACKET + ACK) * self.slow.0 + 2 * self.slow.1;
        let busy = (0..).map(ack).take_while(|start| *start <= at).map(|start| start + ACK * self.fast.0).last();
        busy.map_or(at, |until| until.max(at))
    }

    /// Time from the start of a frame to its arrival at the sender.
    fn frame_crossing(&self) -> u64 {
        FRAME * self.fast.0 + self.fast.1
    }

    /// Number of packets that the sender starts before `at`, back to back from time 0.
    fn sent_before(&self, at: u64) -> u64 {
        at.div_ceil(PACKET * self.fast.0)
    }

    /// Arrivals and departures at the switch in order of time: `(time, packet, is an arrival)`. No two share an instant
    /// here, except the first packet's.
    fn events(&self, packets: u64) -> Vec<(u64, u64, bool)> {
        let mut events: Vec<(u64, u64, bool)> =
            (0..packets).flat_map(|i| [(self.arrival(i), i, true), (self.departure(i), i, false)]).collect();
        // The first packet departs at the instant of its arrival, after the arrival.
        events.sort_by_key(|(at, i, arrives)| (*at, !*arrives, *i));
        events
    }
}

/// Checks the times of the first pause and resume: the arrival of packet `asked` requests the pause, and `resume_at`
/// ends it. Returns the number of packets sent before the pause takes effect.
fn check(
    line: &Line,
    log: &Log,
    case: &str,
    asked: u64,
    resume_at: u64,
    pause: ControlFrame,
    resume: ControlFrame,
) -> u64 {
    let asked_at = line.arrival(asked);
    let (pause_starts, resume_starts) = (line.frame_start(asked_at), line.frame_start(resume_at));
    assert_eq!(log.frames_sent[0], (pause_starts, 2, 0, pause), "{case}: the pause leaves");
    let paused = pause_starts + line.frame_crossing();
    assert_eq!(log.frames_received[0], (paused, 0, 0, pause), "{case}: the pause arrives");
    assert_eq!(log.frames_sent[1], (resume_starts, 2, 0, resume), "{case}: the release leaves");
    let resumed = resume_starts + line.frame_crossing();
    assert_eq!(log.frames_received[1], (resumed, 0, 0, resume), "{case}: the release arrives");
    // The sender finishes the packet in transmission. The next one starts when the resume arrives.
    let burst = line.sent_before(paused);
    for (i, (at, ..)) in log.host_sent.iter().take(burst as usize).enumerate() {
        assert_eq!(*at, i as u64 * PACKET * line.fast.0, "{case}: packet {i} of the first burst");
    }
    assert_eq!(log.host_sent[burst as usize].0, resumed, "{case}: the first packet after the release");
    burst
}

/// BFC (spec A.3, A.4) requests a pause when a packet finds more than the threshold queued. It resumes when the last
/// counted packet starts its transmission.
#[test]
fn bfc_pauses_and_resumes_to_the_picosecond() {
    // At 64 Gb/s against 200, 25 packets arrive while 8 leave, so the first cycle has no two events at one instant.
    for (fast_ns, slow_ns) in [(1000, 1000), (333, 2000), (1701, 50)] {
        let line = Line::new(200, fast_ns, 64, slow_ns);
        for threshold in [1, 1047, 1048, 2100, 3000, 4192, 9000] {
            let more = format!("[switch.bfc]\nfixed_threshold = \"{threshold} B\"\nrefresh = \"1 ms\"\n");
            let (_, log) = logged(&scenario(&line.toml("bfc", &more)));
            let case = format!("{line:?}, threshold {threshold} B");
            // Queue length that each packet finds.
            let (mut queued, mut asked) = (0, None);
            let mut last_counted = 0;
            for (_, i, arrives) in line.events(200) {
                if arrives {
                    if queued > threshold && asked.is_none() {
                        asked = Some(i);
                    }
                    let burst = asked.map_or(u64::MAX, |asked| {
                        line.sent_before(line.frame_start(line.arrival(asked)) + line.frame_crossing())
                    });
                    if i >= burst {
                        break;
                    }
                    if queued > threshold {
                        last_counted = i;
                    }
                    queued += PACKET;
                } else {
                    queued -= PACKET;
                }
            }
            let asked = asked.expect("the queue grows");
            let resume_at = line.departure(last_counted);
            let burst = check(&line, &log, &case, asked, resume_at, ControlFrame::Pause(0), ControlFrame::Resume(0));
            assert_eq!(last_counted, burst - 1, "{case}: a growing queue counts every packet from the first");
        }
    }
}

/// PFC (baselines 0.4): replays the ingress accounting of `pfc` over the arrivals and departures.
#[test]
fn pfc_pauses_and_resumes_to_the_picosecond() {
    // Headroom above two delays at 200 Gb/s, 85 050 B for the longest link here.
    let (headroom, buffer) = (90_000, 200_000);
    let pool = buffer - 2 * headroom;
    for (fast_ns, slow_ns) in [(1000, 1000), (333, 2000), (1701, 50)] {
        let line = Line::new(200, fast_ns, 64, slow_ns);
        for hysteresis in [0, 1000, 5000] {
            let more = format!(
                "[switch]\nbuffer = \"{buffer} B\"\n[switch.pfc]\nalpha = 1.0\nreserve = \"0 B\"\nheadroom = \"{headroom} B\"\n\
                 hysteresis = \"{hysteresis} B\"\n"
            );
            let (outcome, log) = logged(&scenario(&line.toml("pfc", &more)));
            let case = format!("{line:?}, hysteresis {hysteresis} B");
            let (mut used, mut over) = (0, 0);
            let (mut asked, mut lifted) = (None, None);
            let mut burst = u64::MAX;
            for (at, i, arrives) in line.events(200) {
                let threshold = |used: u64| pool - used;
                if arrives && i < burst {
                    *if used < threshold(used) { &mut used } else { &mut over } += PACKET;
                    if asked.is_none() && (over > 0 || used >= threshold(used)) {
                        asked = Some(i);
                        burst = line.sent_before(line.frame_start(at) + line.frame_crossing());
                    }
                } else if !arrives && i < burst {
                    let from_headroom = over.min(PACKET);
                    over -= from_headroom;
                    used -= PACKET - from_headroom;
                    let low = used == 0 || used + hysteresis <= threshold(used);
                    if asked.is_some() && lifted.is_none() && over == 0 && low {
                        lifted = Some(at);
                    }
                }
            }
            let (asked, lifted) = (asked.expect("the queue grows"), lifted.expect("the queue drains"));
            check(&line, &log, &case, asked, lifted, ControlFrame::PfcPause(0), ControlFrame::PfcResume(0));
            assert!(log.dropped.is_empty());
            let row = &outcome.ports[0];
            assert!(row.total.held.pfc_paused > 0 && row.total.held.pfc_pauses > 0);
        }
    }
}

/// Between switches: the upstream switch finishes its packet in transmission, and starts again at the instant of
/// release.
#[test]
fn a_switch_obeys_as_a_nic_does() {
    let text = format!(
        "scheme = \"bfc\"\n{}[run]\nduration = \"300 us\"\nwarmup = \"0 s\"\n[measure]\nsample = \"0 s\"\n\
         [switch.bfc]\nfixed_threshold = \"5000 B\"\nrefresh = \"1 ms\"\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\nsize = \"400 KB\"\n",
        row(&[(100, 1000), (100, 1000), (16, 1000)])
    );
    let (_, log) = logged(&scenario(&text));
    let first = 2;
    let changes: Vec<(u64, ControlFrame)> = log
        .frames_received
        .iter()
        .filter(|(_, node, port, _)| (*node, *port) == (first, 1))
        .map(|(at, _, _, frame)| (*at, *frame))
        .collect();
    let left: Vec<u64> = log.departed.iter().filter(|d| (d.1, d.2) == (first, 1)).map(|d| d.0).collect();
    let mut cycles = 0;
    for pair in changes.chunks_exact(2) {
        let [(paused, ControlFrame::Pause(_)), (resumed, ControlFrame::Resume(_))] = pair else {
            panic!("a pause, then its release: {pair:?}");
        };
        let next = left.iter().find(|at| **at > *paused);
        // At 100 Gb/s, behind a link of the same rate, the queue has packets when it is released.
        if let Some(next) = next {
            assert_eq!(next, resumed, "the first packet after the pause");
            cycles += 1;
        }
    }
    assert!(cycles >= 5, "{cycles}");
}

/// Runs a sender at line rate into a switch with a near-idle egress. One packet in the other direction starts at
/// `other_ns`, so that the pause may wait for it.
fn overrun(gbps: u64, delay_ns: u64, headroom: u64, other_ns: u64) -> Log {
    let link = |host: u64, gbps: f64| {
        format!("{{ ends = [\"host{host}\", \"switch0\"], rate = \"{gbps} Gbps\", delay = \"{delay_ns} ns\" }}")
    };
    let links = [link(0, gbps as f64), link(1, 0.1), link(2, gbps as f64)].join(", ");
    let text = format!(
        "scheme = \"pfc\"\n[topology]\nkind = \"graph\"\nhosts = [\"host0\", \"host1\", \"host2\"]\n\
         switches = [\"switch0\"]\nlinks = [{links}]\n[switch]\nbuffer = \"2 MB\"\n[switch.pfc]\nheadroom = \"{headroom} B\"\n\
         alpha = 0.01\n[host]\nrto = \"5 ms\"\n[run]\nduration = \"80 us\"\nwarmup = \"0 s\"\ndrain = 1.0\n\
         [measure]\nsample = \"0 s\"\n[[workload]]\nkind = \"flow-list\"\nflows = [\n\
         {{ start = \"10 us\", src = \"host0\", dst = \"host1\", bytes = \"1 MB\" }},\n\
         {{ start = \"{other_ns} ns\", src = \"host2\", dst = \"host0\", bytes = \"1000 B\" }},\n]\n"
    );
    logged(&scenario(&text)).1
}

/// Returns the time at which the switch requested host0's pause, and the wait of its frame, ps.
fn first_pause(log: &Log) -> (u64, u64) {
    let to_host0 = |f: &&(u64, usize, PortId, ControlFrame)| f.2 == 0 && matches!(f.3, ControlFrame::PfcPause(_));
    let pause = log.frames_sent.iter().find(to_host0).expect("the egress stands still");
    let from_host0 = |e: &&(u64, usize, u32, u32)| log.host_sent.iter().any(|h| (h.1, h.2) == (0, e.2));
    let asked = log.enqueued.iter().filter(from_host0).map(|e| e.0).take_while(|at| *at <= pause.0).last();
    let asked = asked.expect("packets arrived");
    (asked, pause.0 - asked)
}

/// The ingress is alone, so the packet that causes the pause still fits below the threshold. One packet less than the
/// computed headroom then suffices; with two packets less, some packet is dropped. The test tries every alignment of
/// the two directions in steps of a nanosecond. Drops must occur exactly where the alignment leaves time for one more
/// packet.
#[test]
fn pfc_headroom_is_just_enough() {
    for (gbps, delay_ns) in [(100, 1000), (40, 700), (200, 2000)] {
        let computed = pfc::headroom(Duration(delay_ns * 1000), BitsPerSec(gbps * 1_000_000_000), PACKET) - PACKET;
        let byte = 8_000 / gbps;
        let packet = PACKET * byte;
        // The threshold depends on the headroom, so each headroom has its own time of the pause.
        let asked = [computed, computed - PACKET].map(|headroom| first_pause(&overrun(gbps, delay_ns, headroom, 0)).0);
        let (mut lossy, mut safe) = (0, 0);
        for phase in 0..packet.div_ceil(1000) {
            // The other packet starts towards the sender up to one packet before the pause is requested.
            let start = |asked: u64| (asked - packet - delay_ns * 1000) / 1000 - phase;
            let drops = |log: &Log| log.dropped.iter().filter(|d| d.3 == DropReason::Headroom).count() as u64;
            let log = overrun(gbps, delay_ns, computed, start(asked[0]));
            assert_eq!(drops(&log), 0, "{gbps} Gb/s, {delay_ns} ns, phase {phase} ns: lossless");
            let log = overrun(gbps, delay_ns, computed - PACKET, start(asked[1]));
            let (_, waited) = first_pause(&log);
            // Packet k after the one that requested the pause arrives if it starts before the pause takes effect: (k -
            // 1) packets < reaction. If the pause waited for the other packet, the sender first acknowledges that
            // packet. The pause takes effect when the acknowledgement is sent.
            let reaction = 2 * delay_ns * 1000 + if waited > 0 { waited } else { FRAME * byte };
            let to_come = reaction.div_ceil(packet);
            let room = (computed - PACKET) / PACKET;
            let lost = to_come.saturating_sub(room);
            assert_eq!(drops(&log), lost, "{gbps} Gb/s, {delay_ns} ns, phase {phase} ns, waited {waited} ps");
            *if lost > 0 { &mut lossy } else { &mut safe } += 1;
        }
        let phases = lossy + safe;
        println!(
            "{gbps} Gb/s, {delay_ns} ns: {computed} B lossless; a packet less loses in {lossy} of {phases} phases"
        );
        assert!(lossy > 0 && safe > 0, "the alignment decides");
    }
}

/// Runs as [`overrun`] at 100 Gb/s and 1 us, with a threshold that has fallen. host0 first sends 40 % of the pool and
/// stops below its threshold. host3 then fills the pool up to its own threshold, half of the rest. The next packet of
/// host0 arrives above the threshold and requests the pause.
fn overrun_above_a_sunken_threshold(headroom: u64, other_ns: u64) -> Log {
    let link = |host: u64, gbps: f64| {
        format!("{{ ends = [\"host{host}\", \"switch0\"], rate = \"{gbps} Gbps\", delay = \"1 us\" }}")
    };
    let links = [link(0, 100.0), link(1, 0.1), link(2, 100.0), link(3, 100.0)].join(", ");
    let pool = 100 * PACKET;
    let buffer = 4 * headroom + pool;
    let text = format!(
        "scheme = \"pfc\"\n[topology]\nkind = \"graph\"\nhosts = [\"host0\", \"host1\", \"host2\", \"host3\"]\n\
         switches = [\"switch0\"]\nlinks = [{links}]\n[switch]\nbuffer = \"{buffer} B\"\n[switch.pfc]\n\
         headroom = \"{headroom} B\"\nreserve = \"0 B\"\nalpha = 1.0\n[host]\nrto = \"5 ms\"\n\
         [run]\nduration = \"70 us\"\nwarmup = \"0 s\"\ndrain = 1.0\n\
         [measure]\nsample = \"0 s\"\n[[workload]]\nkind = \"flow-list\"\nflows = [\n\
         {{ start = \"10 us\", src = \"host0\", dst = \"host1\", bytes = \"40000 B\" }},\n\
         {{ start = \"20 us\", src = \"host3\", dst = \"host1\", bytes = \"1 MB\" }},\n\
         {{ start = \"40 us\", src = \"host0\", dst = \"host1\", bytes = \"1 MB\" }},\n\
         {{ start = \"{other_ns} ns\", src = \"host2\", dst = \"host0\", bytes = \"1000 B\" }},\n]\n"
    );
    logged(&scenario(&text)).1
}

/// Expects the whole computed headroom to be necessary in that case.
#[test]
fn pfc_headroom_has_room_for_the_packet_that_asks_for_the_pause() {
    let computed = pfc::headroom(Duration::from_us(1), BitsPerSec(100_000_000_000), PACKET);
    let drops = |log: &Log| log.dropped.iter().filter(|d| d.3 == DropReason::Headroom).count();
    let (mut lossy, mut phases) = (0, 0);
    for headroom in [computed, computed - PACKET] {
        // The other packet is in transmission when the pause is requested.
        let asked = first_pause(&overrun_above_a_sunken_threshold(headroom, 1000)).0;
        assert!(asked > 40_000_000, "host0 stopped below its threshold");
        for phase in 0..84 {
            let log = overrun_above_a_sunken_threshold(headroom, (asked - PACKET * 80 - 1_000_000) / 1000 - phase);
            assert!(headroom < computed || drops(&log) == 0, "phase {phase} ns: lossless");
            (lossy, phases) = (lossy + (drops(&log) > 0) as u32, phases + 1);
        }
    }
    println!("{computed} B lossless; a packet less loses in {lossy} of {} phases", phases / 2);
    assert!(lossy > 0, "all of it is needed");
}

/// Returns the packets dropped for lack of headroom, with `payload` bytes per packet, whole nanoseconds and links of 10
/// us.
fn overrun_in_whole_ns(payload: u64, headroom: Option<u64>) -> u64 {
    let link = |host: u64, gbps: f64| {
        format!("{{ ends = [\"host{host}\", \"switch0\"], rate = \"{gbps} Gbps\", delay = \"10 us\" }}")
    };
    let headroom = headroom.map_or(String::new(), |bytes| format!("headroom = \"{bytes} B\"\n"));
    let text = format!(
        "scheme = \"pfc\"\n[topology]\nkind = \"graph\"\nhosts = [\"host0\", \"host1\"]\nswitches = [\"switch0\"]\n\
         links = [{}, {}]\n[conventions]\ntime = \"whole-ns\"\n[switch]\nbuffer = \"2 MB\"\n[switch.pfc]\n{headroom}\
         alpha = 0.01\n[host]\npayload = \"{payload} B\"\nrto = \"5 ms\"\n[run]\nduration = \"200 us\"\nwarmup = \"0 s\"\n\
         drain = 1.0\n[measure]\nsample = \"0 s\"\n[[workload]]\nkind = \"flow-list\"\n\
         flows = [{{ start = \"10 us\", src = \"host0\", dst = \"host1\", bytes = \"3 MB\" }}]\n",
        link(0, 100.0),
        link(1, 0.1)
    );
    let log = logged(&scenario(&text)).1;
    assert!(log.frames_sent.iter().any(|f| matches!(f.3, ControlFrame::PfcPause(_))), "the egress stands still");
    log.dropped.iter().filter(|d| d.3 == DropReason::Headroom).count() as u64
}

/// A frame of 1048 B takes 83 ns instead of 83.84, one of 112 B 8 instead of 8.96. More frames arrive than the rate
/// allows.
#[test]
fn pfc_headroom_is_enough_in_whole_nanoseconds() {
    for payload in [1000, 64] {
        // The ingress is alone, so one packet of the headroom is unused.
        let by_rate = pfc::headroom(Duration::from_us(10), BitsPerSec(100_000_000_000), payload + 48) - (payload + 48);
        assert!(overrun_in_whole_ns(payload, Some(by_rate)) > 0, "{payload} B: the rate says too little");
        assert_eq!(overrun_in_whole_ns(payload, None), 0, "{payload} B");
    }
}
