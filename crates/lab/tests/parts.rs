//! Networks whose switches are processes of their own, in virtual time: neighbours that start again, that never resume,
//! that forge frames; and hosts that forge frames.

#[path = "../../sim/tests/engine/common/cases.rs"]
mod cases;
mod network;

use backwater_lab::fabric::outside::{End, Part};
use backwater_lab::fabric::watchdog::{Action, Settings};
use backwater_scenario::topology::{Graph, expand};
use backwater_types::hash::{self, Stream};
use backwater_types::{ControlFrame, Duration, FlowName, Instant, QueueMap};
use backwater_wire::{Address, Body, Frame, Pfc};
use cases::cases;
use network::{FULL, Net, Parts, fabric, frame, number, overload, scenario};

/// Time of a full frame at 100 Gbps.
const STEP: u64 = 80_000;
/// Link between the two switches, and the switches.
const CORE: usize = 3;
const SW1: Part = Part::Switch(3);
const SW2: Part = Part::Switch(4);

fn us(us: u64) -> Instant {
    Instant(us * 1_000_000)
}

fn network(scheme: &str, watchdog: Option<Settings>) -> Parts {
    // The link between the switches has room for both senders, so that the second switch pauses the first.
    let core = "ends = [\"sw1\", \"sw2\"], rate = ";
    let text = overload(scheme).replace(&format!("{core}\"100 Gbps\""), &format!("{core}\"200 Gbps\""));
    assert!(text.contains("200 Gbps"));
    let scenario = scenario(&text);
    let graph = expand(&scenario.topology);
    Parts::new(&scenario, &graph, Part::each(&graph), watchdog)
}

/// Lets both senders send at line rate from `from` until `until`. Returns the number of frames.
fn send(network: &mut Parts, from: Instant, until: Instant, deliver: &mut impl FnMut(Instant, u16, &[u8])) -> u64 {
    let steps = (until.0 - from.0) / STEP;
    for step in 0..steps {
        let at = Instant(from.0 + step * STEP);
        for host in [0, 1] {
            network.put(at, host, &frame(host, 2, step as u32, FULL));
        }
        network.run(at, deliver);
    }
    2 * steps
}

/// Data packets that the first switch has sent to the second.
fn sent_on_core(network: &mut Parts, now: Instant) -> u64 {
    // Ports of three hosts, and those of the first switch to its two hosts, come before.
    network.stats(now)[5].sent.data().packets
}

/// A switch pauses its neighbour, ends, and starts again with nothing in it. The neighbour sends again within two
/// refresh periods of 2 us, and traffic recovers.
#[test]
fn neighbours_of_a_switch_that_starts_again_are_not_held() {
    for scheme in ["bfc", "flowsail", "pfc", "ideal-fc"] {
        let mut network = network(scheme, None);
        let mut delivered = 0u64;
        send(&mut network, us(0), us(300), &mut |_, _, _| delivered += 1);
        let before = network.part(SW1).frames();
        assert!(before > 10, "{scheme}: the first switch has {before} frames, as the second holds it");
        network.start_again(SW2, us(300));
        let held = sent_on_core(&mut network, us(300));
        network.run(us(304), &mut |_, _, _| delivered += 1);
        let went = sent_on_core(&mut network, us(304)) - held;
        assert!(went > 20, "{scheme}: {went} packets in two refresh periods");
        network.run(us(2_000), &mut |_, _, _| delivered += 1);
        assert_eq!(network.frames(), 0, "{scheme}: frames wait for ever");
        // The next flows are carried as before.
        let mut again = 0u64;
        let sent = send(&mut network, us(2_000), us(2_300), &mut |_, _, _| again += 1);
        network.run(us(6_000), &mut |_, _, _| again += 1);
        assert_eq!((again, network.frames()), (sent, 0), "{scheme}");
    }
}

fn bytes(body: Body) -> Vec<u8> {
    let mut bytes = vec![0; 2000];
    let length = Frame { source: Address([2, 9, 9, 9, 9, 9]), body }.emit(&mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

/// Sends a frame to the first switch as if the second did, whose own frames do not arrive.
fn forge(network: &mut Parts, at: Instant, body: Body, deliver: &mut impl FnMut(Instant, u16, &[u8])) {
    network.run_with(at, deliver, silent);
    let first: &mut Net = network.part(SW1);
    let link = first.ends().position(|end| end == End { link: CORE, b: false }).expect("the link between the switches");
    first.take(at, link, &bytes(body));
}

/// Links that carry nothing from the second switch.
fn silent(end: End, bytes: &[u8]) -> Option<Vec<u8>> {
    (end != End { link: CORE, b: true }).then(|| bytes.to_vec())
}

/// Name of the flow whose packets cross the link between the switches.
fn flow_on_core(network: &mut Parts, from: Instant) -> FlowName {
    let mut name = None;
    network.put(from, 0, &frame(0, 2, 0, FULL));
    network.run_with(Instant(from.0 + 100_000_000), &mut |_, _, _| {}, |end, bytes| {
        let bounds = backwater_wire::Port { queues: 128, upstream_queues: 128, classes: 8, hosts: 3, largest: 1500 };
        if end == (End { link: CORE, b: false })
            && let Ok(Frame { body: Body::Packet(header, _), .. }) = Frame::parse(bytes, &bounds)
        {
            name = Some(header.flow);
        }
        Some(bytes.to_vec())
    });
    name.expect("the frame crosses the link")
}

/// A neighbour pauses and never resumes. The watchdog finds it, and lets others pass or all.
#[test]
fn a_neighbour_that_never_resumes_is_found_and_forgiven() {
    let (span, poll) = (Duration::from_us(200), Duration::from_us(50));
    for (scheme, action) in
        [("bfc", Action::Forward), ("bfc", Action::Drop), ("flowsail", Action::Forward), ("pfc", Action::Drop)]
    {
        let case = format!("{scheme}, {action:?}");
        let mut network = network(scheme, Some(Settings { span, poll, action }));
        let flow = flow_on_core(&mut network, us(0));
        let (hold, release) = match scheme {
            "bfc" => (
                Body::Control(ControlFrame::Bitmap(QueueMap::new([(1 << 31) - 1, 0]))),
                Body::Control(ControlFrame::Bitmap(QueueMap::default())),
            ),
            "flowsail" => (Body::Control(ControlFrame::PauseFlow(flow)), Body::Control(ControlFrame::ResumeFlow(flow))),
            _ => (Body::Pfc(Pfc::pause(0).unwrap()), Body::Pfc(Pfc::resume(0).unwrap())),
        };
        let mut arrivals: Vec<Instant> = Vec::new();
        // It holds from 107 us on, and says so again and again. One frame of the flow comes every 2 us.
        for step in 0..500u64 {
            let now = us(107 + 2 * step);
            network.put(now, 0, &frame(0, 2, step as u32, FULL));
            forge(&mut network, now, hold, &mut |at, _, _| arrivals.push(at));
        }
        let watched = |network: &mut Parts| {
            network.part(SW1).outside_counts().find(|(end, _)| end.link == CORE).expect("the link").1.watchdog
        };
        assert!(watched(&mut network).alarms >= 1, "{case}: no alarm");
        let first = arrivals.first().copied();
        match action {
            // Looks are at multiples of 50 us, so at 350 us, after 243 us. Two transmissions and delays follow.
            Action::Forward => {
                let first = first.expect("frames arrive");
                assert!((us(350)..us(353)).contains(&first), "{case}: first arrival at {first:?}");
                assert!(arrivals.len() >= 495, "{case}: {} of 500", arrivals.len());
            }
            Action::Drop => {
                assert_eq!(first, None, "{case}");
                let dropped = watched(&mut network).dropped;
                assert!(dropped >= 495, "{case}: {dropped} of 500 were dropped");
            }
        }
        // The neighbour resumes: all is as before, and the next pause is obeyed.
        let before = arrivals.len();
        forge(&mut network, us(1_200), release, &mut |at, _, _| arrivals.push(at));
        network.put(us(1_201), 0, &frame(0, 2, 1000, FULL));
        network.run_with(us(1_210), &mut |at, _, _| arrivals.push(at), silent);
        assert!(arrivals.len() > before, "{case}: nothing arrives after the end of the pause");
        let before = arrivals.len();
        forge(&mut network, us(1_220), hold, &mut |at, _, _| arrivals.push(at));
        network.put(us(1_221), 0, &frame(0, 2, 1001, FULL));
        network.run_with(us(1_230), &mut |at, _, _| arrivals.push(at), silent);
        assert_eq!(arrivals.len(), before, "{case}: the next pause is not obeyed");
        let counts = watched(&mut network);
        assert_eq!(counts.alarms, counts.restored, "{case}");
    }
}

/// Without forged frames no pause lasts long enough, under any load of our own.
#[test]
fn a_watchdog_is_silent_under_load() {
    for scheme in ["bfc", "flowsail", "pfc", "ideal-fc"] {
        let settings = Settings { span: Duration::from_us(200), poll: Duration::from_us(50), action: Action::Drop };
        let mut network = network(scheme, Some(settings));
        let mut delivered = 0u64;
        let sent = send(&mut network, us(0), us(1_000), &mut |_, _, _| delivered += 1);
        network.run(us(8_000), &mut |_, _, _| delivered += 1);
        assert_eq!((delivered, network.frames()), (sent, 0), "{scheme}");
        for part in [Part::Hosts, SW1, SW2] {
            assert!(
                network.part(part).outside_counts().all(|(_, counts)| counts.watchdog == Default::default()),
                "{scheme}"
            );
        }
    }
}

/// PFC's pause ends after its quanta of 512 bit times, also where no other frame comes.
#[test]
fn a_pause_of_pfc_lasts_its_quanta() {
    let mut network = network("pfc", None);
    let quanta = 10_000u16;
    let mut pfc = Pfc::pause(0).unwrap();
    pfc.quanta[0] = quanta;
    forge(&mut network, us(10), Body::Pfc(pfc), &mut |_, _, _| {});
    let mut arrived = None;
    network.put(us(11), 0, &frame(0, 2, 0, FULL));
    network.run(us(400), &mut |at, _, _| arrived = Some(at));
    // 512 bits take 2.56 ns at 200 Gbps. A hop of 40 ns and one of 80 ns follow, and two delays of 1 us.
    let end = us(10).0 + u64::from(quanta) * 2_560 + STEP / 2 + STEP + 2_000_000;
    assert_eq!(arrived, Some(Instant(end)));
}

fn wide(draws: &mut Stream) -> u64 {
    u64::from(draws.next_u32()) << 32 | u64::from(draws.next_u32())
}

/// Bytes that a host could send to forge a control frame.
fn forged(draws: &mut Stream, graph: &Graph) -> Vec<u8> {
    let queue = (draws.next_u32() % 128) as u16;
    let name = FlowName { flow: draws.next_u32() % 4, slot: draws.next_u32() % 4, class: 0 };
    let body = match draws.next_u32() % 9 {
        0 => Body::Control(ControlFrame::Pause(queue)),
        1 => Body::Control(ControlFrame::Bitmap(QueueMap::new([wide(draws), wide(draws)]))),
        2 => Body::Control(ControlFrame::PauseFlow(name)),
        3 => Body::Control(ControlFrame::ResumeFlow(name)),
        4 => Body::Control(ControlFrame::Credit(wide(draws) >> 1)),
        5 => Body::Control(ControlFrame::CreditSent(wide(draws) >> 1)),
        6 => Body::Pfc(Pfc::pause((draws.next_u32() % 8) as u8).unwrap()),
        7 => Body::Hello(wide(draws)),
        _ => Body::Answer(wide(draws)),
    };
    let mut forged = bytes(body);
    // To the switch, to a host, or to anybody.
    if draws.next_u32().is_multiple_of(3) {
        forged[..6].copy_from_slice(&[2, 0xb7, 0, 0, 0, (draws.next_u32() as usize % graph.hosts) as u8]);
    }
    forged
}

/// A million control frames from hosts: counted, and without any effect on the traffic beside them.
#[test]
fn control_frames_from_hosts_have_no_effect() {
    for scheme in ["bfc", "flowsail", "pfc", "ideal-fc"] {
        let scenario = scenario(&overload(scheme));
        let graph = expand(&scenario.topology);
        let run = |forges: bool| {
            let (mut net, mut draws, mut arrivals) = (fabric(&scenario, &graph), Stream::new(1, 2, 3), Vec::new());
            for step in 0..2_500u64 {
                let at = Instant(step * STEP);
                for host in [0, 1] {
                    net.put(at, host, &frame(host, 2, step as u32, FULL));
                }
                for n in 0..if forges { 100 } else { 0 } {
                    net.put(at, n % 3, &forged(&mut draws, &graph));
                }
                net.run(at, &mut |at, host, bytes| arrivals.push((at, host, bytes.to_vec())));
            }
            let stats = net.stats(us(200));
            let refused: u64 = (0..3).map(|host| net.refused(host)[backwater_lab::ip::Refused::Control as usize]).sum();
            (arrivals, stats, net.frames(), refused)
        };
        let (quiet, noisy) = (run(false), run(true));
        assert!(quiet.0.len() > 2_000, "{scheme}");
        assert!(
            (&quiet.0, &quiet.1, quiet.2) == (&noisy.0, &noisy.1, noisy.2),
            "{scheme}: forged frames have an effect"
        );
        assert_eq!((quiet.3, noisy.3), (0, 250_000), "{scheme}");
    }
}

/// A neighbour may send anything. What is no frame is counted, and nothing ends the process or keeps frames for ever.
#[test]
fn anything_may_come_from_a_neighbour() {
    for scheme in ["bfc", "flowsail", "pfc"] {
        let scenario = scenario(&overload(scheme));
        let graph = expand(&scenario.topology);
        let mut network = Parts::new(&scenario, &graph, Part::each(&graph), None);
        let mut draws = Stream::new(5, 6, 7);
        for step in 0..20_000u64 {
            let now = Instant(step * STEP);
            network.put(now, (step % 2) as u16, &frame((step % 2) as u16, 2, step as u32, FULL));
            let mut garbage = forged(&mut draws, &graph);
            for _ in 0..draws.next_u32() % 3 {
                let place = draws.next_u32() as usize % garbage.len();
                garbage[place] ^= 1 << (draws.next_u32() % 8);
            }
            if draws.next_u32().is_multiple_of(4) {
                garbage.truncate(draws.next_u32() as usize % garbage.len());
            }
            let first = network.part(SW1);
            let links = first.ends().count();
            first.take(now, draws.next_u32() as usize % links, &garbage);
            network.run(now, &mut |_, _, _| {});
        }
        let refused: u64 = network.part(SW1).outside_counts().map(|(_, counts)| counts.refused.total()).sum();
        assert!(refused > 1_000, "{scheme}: {refused} were refused");
    }
}

/// Frames of random sizes cross a network, in one part and in many: 200,000, and a million by `make test-long`. Each
/// arrives once, in the order of its flow, and byte for byte as it was sent. No scheme here may lose one.
#[test]
fn many_frames_arrive_once_in_order_and_as_they_were() {
    let pairs = cases(20_000, 100_000) as u32;
    for (scheme, apart) in [("bfc", false), ("flowsail", false), ("pfc", false), ("bfc", true), ("flowsail", true)] {
        let scenario = scenario(&overload(scheme));
        let graph = expand(&scenario.topology);
        let mut network = match apart {
            true => Parts::new(&scenario, &graph, Part::each(&graph), None),
            false => Parts::new(&scenario, &graph, std::iter::once(Part::All), None),
        };
        let size = |src: u16, number: u32| 64 + (hash::mix64(u64::from(src) << 32 | u64::from(number)) % 900) as usize;
        let mut next = [0u32; 2];
        let mut check = |_: Instant, host: u16, bytes: &[u8]| {
            let (src, expected) = (u16::from(bytes[29]) - 1, number(bytes));
            assert_eq!((host, expected), (2, next[usize::from(src)]), "{scheme}: a frame of {src} is out of order");
            assert!(bytes == frame(src, 2, expected, size(src, expected)), "{scheme}: frame {expected} is altered");
            next[usize::from(src)] += 1;
        };
        // Both senders together need more than the link for 200 us, and nothing for the next 200 us.
        let (mut now, mut sent) = (0, 0);
        while sent < pairs {
            for src in [0, 1] {
                network.put(Instant(now), src, &frame(src, 2, sent, size(src, sent)));
            }
            (sent, now) = (sent + 1, now + if sent % 4_000 == 0 { 200_000_000 } else { 50_000 });
            network.run(Instant(now), &mut check);
        }
        network.run(Instant(now + 10_000_000_000), &mut check);
        assert_eq!((next, network.frames()), ([sent; 2], 0), "{scheme}, apart: {apart}");
    }
}
