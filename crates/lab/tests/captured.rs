//! Captures of a fabric's ports: the frames of hosts, byte for byte, at the times of the network.

mod network;

use backwater_fabric::ports;
use backwater_lab::Captures;
use backwater_lab::fabric::outside::{End, Part};
use backwater_lab::fabric::watchdog::{Action, Settings};
use backwater_nic::Rings;
use backwater_scenario::topology::expand;
use backwater_schemes::AnySwitch;
use backwater_types::{ControlFrame, Instant, PortId, QueueMap, SerTime};
use backwater_wire::{Address, Body, Frame, Port};
use network::{FULL, Parts, frame, overload, scenario};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::time::Duration;

/// Port by which any frame of the test may come.
const PORT: Port = Port { queues: 128, upstream_queues: 128, classes: 8, hosts: 3, largest: 9000 };
/// Frames that each sender sends.
const FRAMES: u64 = 500;

/// A frame of a file: interface, whether it arrives, time and bytes.
type Row = (u32, bool, Duration, Vec<u8>);

fn read(file: &[u8]) -> Vec<Row> {
    let mut reader = PcapNgReader::new(file).expect("a header");
    let mut rows = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(one) = block.expect("a block").into_owned() {
            let arrives = one.options.contains(&EnhancedPacketOption::Flags(1));
            rows.push((one.interface_id, arrives, one.timestamp, one.data.into_owned()));
        }
    }
    rows
}

#[test]
fn frames_of_hosts_are_in_the_file_byte_for_byte() {
    let scenario = scenario(&overload("bfc"));
    let graph = expand(&scenario.topology);
    let path = std::env::temp_dir().join(format!("backwater-captured-{}.pcapng", std::process::id()));
    let links = ports(&graph);
    let node = |name: &str| graph.find(name).expect("a node");
    let link = *links[node("sw1")].iter().find(|link| links[node("sw2")].contains(link)).expect("a link");
    let port = |name: &str| links[node(name)].iter().position(|other| *other == link).expect("its port") as PortId;
    // The receiver's port, that of the second switch to the first, that of the first switch to the second, and a sender's.
    let wanted = vec![
        ("r".into(), node("r") as u32, 0),
        ("sw2:sw1".into(), node("sw2") as u32, port("sw2")),
        ("sw1:sw2".into(), node("sw1") as u32, port("sw1")),
        ("a".into(), node("a") as u32, 0),
    ];
    let captures = Captures::create(&graph, vec![(path.clone(), wanted)]).expect("a file");
    let memory = scenario.conventions.memory;
    let plane = |shape: &_, table: &_| backwater_planes::any(memory, shape, table);
    let mut fabric: backwater_lab::Fabric<AnySwitch, Rings> =
        backwater_lab::Fabric::new(&scenario, &graph, plane, 1 << 12);
    fabric.capture(&captures);
    let mut delivered: Vec<(Instant, Vec<u8>)> = Vec::new();
    let mut deliver = |at: Instant, _: u16, bytes: &[u8]| delivered.push((at, bytes.to_vec()));
    for number in 0..FRAMES {
        let now = Instant(number * 80_000);
        [0, 1].into_iter().for_each(|host| fabric.put(now, host, &frame(host, 2, number as u32, FULL)));
        fabric.run(now, &mut deliver);
    }
    fabric.run(Instant(10_000_000_000), &mut deliver);
    captures.flush().expect("room for captures");
    let rows = read(&std::fs::read(&path).expect("the file"));
    std::fs::remove_file(&path).expect("it is ours");

    assert_eq!(delivered.len() as u64, 2 * FRAMES);
    assert!(rows.windows(2).all(|two| two[0].2 <= two[1].2), "in the order of time");
    let of = |interface: u32, arrives: bool| {
        let of = rows.iter().filter(move |row| (row.0, row.1) == (interface, arrives));
        of.map(|row| (row.2, Frame::parse(&row.3, &PORT).expect("a frame of ours").body))
    };
    let wrapped = |(at, body): (Duration, Body<'_>)| match body {
        Body::Packet(_, bytes) => Some((at, bytes.to_vec())),
        _ => None,
    };
    let nanos = |at: &Instant| Duration::from_nanos(at.0 / 1000);
    let expected: Vec<(Duration, Vec<u8>)> = delivered.iter().map(|(at, bytes)| (nanos(at), bytes.clone())).collect();
    // Compared without being printed: the lists are long.
    assert!(of(0, true).filter_map(wrapped).eq(expected), "at the receiver");
    // What leaves the first switch arrives at the second, a transmission and the propagation later.
    let hop = SerTime::of(graph.links[link].rate).of_bytes(FULL as u64) + graph.links[link].delay;
    let later = |(at, bytes)| (at + Duration::from_nanos(hop.0 / 1000), bytes);
    let left: Vec<(Duration, Vec<u8>)> = of(2, false).filter_map(wrapped).map(later).collect();
    assert_eq!(left.len() as u64, 2 * FRAMES);
    assert!(of(1, true).filter_map(wrapped).eq(left), "between the switches");
    // The first switch is the bottleneck, and the second has nothing to pause.
    assert!(!of(2, true).any(|(_, body)| matches!(body, Body::Control(ControlFrame::Pause(_)))));
    // It pauses the senders, and tells them all paused queues now and then.
    let told: Vec<ControlFrame> = of(3, true).filter_map(|(_, body)| control(&body)).collect();
    assert!(told.iter().any(|frame| matches!(frame, ControlFrame::Pause(_))), "{told:?}");
    assert!(told.iter().any(|frame| matches!(frame, ControlFrame::Bitmap(map) if !map.is_empty())), "{told:?}");
}

fn control(body: &Body) -> Option<ControlFrame> {
    if let Body::Control(frame) = body { Some(*frame) } else { None }
}

/// A neighbour in another process holds the first switch for ever, and sends bytes that are no frame. The watchdog ends
/// the pause. Its resumes never crossed the link, so they are not in the file; all that came is.
#[test]
fn between_processes_the_file_has_what_came_and_nothing_else() {
    let scenario = scenario(&overload("bfc"));
    let graph = expand(&scenario.topology);
    let path = std::env::temp_dir().join(format!("backwater-came-{}.pcapng", std::process::id()));
    let [first, second] = ["sw1", "sw2"].map(|name| graph.find(name).expect("a switch"));
    let links = ports(&graph);
    let core = *links[first].iter().find(|link| links[second].contains(link)).expect("a link");
    let port = links[first].iter().position(|link| *link == core).expect("its port") as PortId;
    let of_hosts = ("r".into(), graph.find("r").expect("a host") as u32, 0);
    let wanted = vec![(path.clone(), vec![("sw1:sw2".into(), first as u32, port), of_hosts])];
    Captures::create(&graph, wanted.clone()).expect("a file");
    // As a process that starts again, it goes on with a file.
    let captures = Captures::append(&graph, wanted).expect("the file");
    let us = |us: u64| backwater_types::Duration::from_us(us);
    let settings = Settings { span: us(100), poll: us(50), action: Action::Forward };
    let part = Part::Switch(first);
    let mut network = Parts::new(&scenario, &graph, Part::each(&graph), Some(settings));
    network.part(part).capture(&captures);
    let hold = Body::Control(ControlFrame::Bitmap(QueueMap::new([(1 << 31) - 1, 0])));
    let mut bytes = vec![0; 200];
    let length = Frame { source: Address([2, 9, 9, 9, 9, 9]), body: hold }.emit(&mut bytes).expect("room for it");
    let (hold, junk) = (&bytes[..length], &[7; 61][..]);
    let silent = |end: End, bytes: &[u8]| (end != End { link: core, b: true }).then(|| bytes.to_vec());
    let mut came: Vec<(Duration, Vec<u8>)> = Vec::new();
    for step in 0..400u64 {
        let now = Instant(step * 1_000_000);
        network.put(now, 0, &frame(0, 2, step as u32, FULL));
        network.run_with(now, &mut |_, _, _| {}, silent);
        let fabric = network.part(part);
        let link = fabric.ends().position(|end| end.link == core).expect("the link between the switches");
        // The bytes come a little later than all that has happened so far.
        let (at, bytes) = (Instant(now.0 + 1000 * (step % 3)), if step % 10 == 9 { junk } else { hold });
        fabric.take(at, link, bytes);
        came.push((Duration::from_nanos(at.0 / 1000), bytes.to_vec()));
    }
    network.run_with(Instant(1_000_000_000), &mut |_, _, _| {}, silent);
    let alarms: u64 = network.part(part).outside_counts().map(|(_, counts)| counts.watchdog.alarms).sum();
    captures.flush().expect("room for captures");
    let rows = read(&std::fs::read(&path).expect("the file"));
    std::fs::remove_file(&path).expect("it is ours");
    assert!(alarms > 0, "the watchdog released the switch");
    let sent = rows.iter().filter(|row| (row.0, row.1) == (0, false)).count();
    assert!(sent > 100, "{sent} frames left, as the watchdog lets them");
    let arrived: Vec<_> = rows.iter().filter(|row| row.1).map(|row| (row.2, row.3.clone())).collect();
    assert!(arrived == came, "{} of {} frames are in the file", arrived.len(), came.len());
    assert!(rows.windows(2).all(|two| two[0].2 <= two[1].2), "in the order of time");
    assert!(rows.iter().all(|row| row.0 == 0), "the receiver's port is in another process");
}
