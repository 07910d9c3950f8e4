//! Real programs' sockets across the lab. The test needs namespaces, so it starts itself again inside of its own; where
//! the system does not allow them it says so and passes.

use backwater_lab::Fabric;
use backwater_lab::fabric::address;
use backwater_lab::linux::clock::Clock;
use backwater_lab::linux::{Carrier, Network, Running, namespace};
use backwater_nic::Rings;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::expand;
use backwater_schemes::AnySwitch;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, exit};
use std::time::{Duration, Instant};

/// 100 Gbps are 20 Mb/s.
const DIVISOR: u32 = 5000;

fn main() {
    if std::env::var_os("BACKWATER_INSIDE").is_some() {
        return inside();
    }
    if let Err(why) = namespace::enter() {
        println!("skipped: {why}");
        return;
    }
    let this = std::env::current_exe().expect("the test is a file");
    let status = Command::new(this).env("BACKWATER_INSIDE", "1").status().expect("it starts again");
    exit(status.code().unwrap_or(1));
}

fn chain(switches: usize) -> Scenario {
    let names: Vec<String> = (1..=switches).map(|n| format!("\"sw{n}\"")).collect();
    let mut ends = vec!["\"a\"".to_string()];
    ends.extend(names.iter().cloned());
    ends.push("\"b\"".into());
    let link =
        |pair: &[String]| format!("{{ ends = [{}, {}], rate = \"100 Gbps\", delay = \"1 us\" }}", pair[0], pair[1]);
    let links: Vec<String> = ends.windows(2).map(link).collect();
    let text = format!(
        "scheme = \"bfc\"\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [{}]\nlinks = [{}]\n\
         [host]\npayload = \"952 B\"\nheader = \"48 B\"\n[[workload]]\nkind = \"long-lived\"\ncount = 1\n\
         from = [\"a\"]\nto = [\"b\"]\n[run]\nduration = \"1 ms\"\n",
        names.join(", "),
        links.join(", ")
    );
    backwater_scenario::load_str(&text, Path::new("."), "test", &[], None).expect("valid").runs[0].scenario.clone()
}

fn inside() {
    for switches in [1, 3, 8] {
        let scenario = chain(switches);
        let graph = expand(&scenario.topology);
        let longest = scenario.host.full_packet().0 as usize;
        let mut network = Network::new(graph.hosts as u16, longest).expect("two hosts");
        let memory = scenario.conventions.memory;
        let plane = |shape: &_, table: &_| backwater_planes::any(memory, shape, table);
        let fabric: Fabric<AnySwitch, Rings> = Fabric::new(&scenario, &graph, plane, 1 << 14);
        let mut running = Running::start(&mut network, fabric, None, Clock::start(DIVISOR)).expect("the fabric starts");
        round_trips(&network, switches);
        if switches == 3 {
            transfer(&network);
        }
        // The last acknowledgements are still on their way.
        let patience = Instant::now() + Duration::from_secs(5);
        while running.counts().inside > 0 && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(50));
        }
        let (counts, _) = running.stop();
        for (name, host) in ["a", "b"].iter().zip(&counts.hosts) {
            let [from, to] = &host.late;
            println!(
                "{switches} switches, host {name}: {:?} frames, late in p50 {:?} p99 {:?} max {:?}, out p50 {:?} p99 {:?} max {:?}",
                host.frames,
                from.quantile(0.5),
                from.quantile(0.99),
                from.max(),
                to.quantile(0.5),
                to.quantile(0.99),
                to.max()
            );
            assert_eq!(
                (host.refused.iter().sum::<u64>(), host.overflowed, host.unsent),
                (0, 0, 0),
                "{:?}",
                host.refused
            );
        }
        assert_eq!((counts.inside, counts.dropped), (0, 0));
    }
}

/// A datagram goes there and back on the idle network. The computed time is that of two ways of full frames. A busy
/// machine delays some of the twenty, so the fastest is compared.
fn round_trips(network: &Network, switches: usize) {
    let bind = |host: u16| network.within(host, || UdpSocket::bind((address(host), 7000))).expect("a socket");
    let (here, there) = (bind(0), bind(1));
    here.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    there.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let echo = std::thread::spawn(move || {
        let mut bytes = [0; 2000];
        while let Ok((length, from)) = there.recv_from(&mut bytes) {
            if length == 1 {
                return;
            }
            there.send_to(&bytes[..length], from).unwrap();
        }
    });
    let hops = 2 * (switches as u32 + 1);
    let computed = DIVISOR * hops * (Duration::from_nanos(80) + Duration::from_micros(1));
    let mut measured: Vec<Duration> = (0..20u8)
        .map(|number| {
            // 1000 B with Ethernet, IP and UDP headers.
            let (start, mut bytes) = (Instant::now(), [number; 958]);
            here.send_to(&bytes, (address(1), 7000)).unwrap();
            let length = here.recv(&mut bytes).expect("the echo comes back");
            assert_eq!((length, bytes), (958, [number; 958]));
            start.elapsed()
        })
        .collect();
    measured.sort();
    here.send_to(&[0], (address(1), 7000)).unwrap();
    echo.join().unwrap();
    let (least, median) = (measured[0], measured[measured.len() / 2]);
    println!("{switches} switches: round trip {least:?} to {median:?} (median), computed {computed:?}");
    assert!(least >= computed, "nothing is faster than the network");
    assert!(least < computed + computed / 10, "the fastest is as fast as the network");
}

/// A megabyte by TCP arrives as it was sent.
fn transfer(network: &Network) {
    let listener = network.within(1, || TcpListener::bind((address(1), 7001))).expect("a socket");
    let sent: Vec<u8> = (0..1_000_000u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    let expected = sent.clone();
    let receiver = std::thread::spawn(move || {
        let (mut from, mut bytes) = (listener.accept().unwrap().0, Vec::new());
        from.read_to_end(&mut bytes).unwrap();
        assert!(bytes == expected, "{} bytes arrived", bytes.len());
    });
    let start = Instant::now();
    let mut to = network.within(0, || TcpStream::connect((address(1), 7001))).expect("a connection");
    to.write_all(&sent).unwrap();
    drop(to);
    receiver.join().unwrap();
    let rate = 8.0 / start.elapsed().as_secs_f64();
    println!("1 MB by TCP at {rate:.1} Mb/s of 20");
    assert!(rate > 10.0, "TCP fills the link by half at least");
}
