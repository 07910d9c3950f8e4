//! Switches of the fabric decide as the simulator's: their logs are replayed, and every decision compared.

use backwater_lab::fabric::address;
use backwater_lab::{Fabric, Logs};
use backwater_nic::Rings;
use backwater_replay::{Ending, replay};
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::expand;
use backwater_schemes::AnySwitch;
use backwater_types::Instant;
use backwater_types::hash::Stream;
use etherparse::PacketBuilder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Frames that hosts send.
const FRAMES: u64 = 150_000;

/// A leaf-spine network with a small buffer, and a link that fails and comes back.
fn scenario(scheme: &str) -> Scenario {
    let text = format!(
        "scheme = \"{scheme}\"\nswitch.buffer = \"400 KB\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\n\
         hosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_rate = \"100 Gbps\"\n\
         core_delay = \"1 us\"\n[host]\npayload = \"958 B\"\nheader = \"42 B\"\n[run]\nduration = \"1 ms\"\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host1\"]\n\
         [[fault]]\nlink = [\"leaf0\", \"spine0\"]\nloss = 0.01\ndown = [[\"100 us\", \"200 us\"]]\n"
    );
    let plan = backwater_scenario::load_str(&text, Path::new("."), "test", &[], None).expect("a valid scenario");
    plan.runs[0].scenario.clone()
}

fn frame(src: u16, dst: u16, port: u16, wire: usize) -> Vec<u8> {
    let (mut bytes, payload) = (Vec::new(), vec![0; wire - 42]);
    let ip = PacketBuilder::ethernet2([2, 0, 0, 0, 0, src as u8], [2, 0, 0, 0, 0, dst as u8]);
    let ip = ip.ipv4(address(src).octets(), address(dst).octets(), 64);
    ip.udp(port, 5001).write(&mut bytes, &payload).expect("memory takes a frame");
    bytes
}

/// Sends bursts of random flows, most of them to host 0. Returns the number of frames that arrived.
fn run(fabric: &mut Fabric<AnySwitch, Rings>) -> u64 {
    let (mut draws, mut now, mut delivered) = (Stream::new(3, 4, 5), Instant::ZERO, 0);
    for number in 0..FRAMES {
        now.0 += if number % 4096 < 2048 { 15_000 } else { 100_000 };
        let src = (draws.next_u32() % 8) as u16;
        let dst = if draws.next_u32() % 4 == 0 { 5 } else { 0 };
        if src != dst {
            let port = 5000 + (draws.next_u32() % 5) as u16;
            fabric.put(now, src, &frame(src, dst, port, 64 + (draws.next_u32() % 937) as usize));
        }
        fabric.run(now, &mut |_, _, _| delivered += 1);
    }
    fabric.run(Instant(now.0 + 10_000_000_000), &mut |_, _, _| delivered += 1);
    delivered
}

#[test]
fn every_decision_is_the_simulators() {
    let dir = std::env::temp_dir().join(format!("backwater-replayed-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    for scheme in ["bfc", "flowsail", "pfc"] {
        let scenario = scenario(scheme);
        let graph = expand(&scenario.topology);
        let names = ["leaf0", "leaf1", "spine0"];
        let wanted: BTreeMap<String, PathBuf> =
            names.iter().map(|name| (name.to_string(), dir.join(format!("{scheme}-{name}.log")))).collect();
        let logs = Logs::create(&scenario, &graph, wanted.clone()).expect("files");
        let mut fabric: Fabric<AnySwitch, Rings> = logs.fabric(&scenario, &graph, 1 << 16);
        let delivered = run(&mut fabric);
        logs.finish().expect("room for logs");
        let mut plain: Fabric<AnySwitch, Rings> = Logs::default().fabric(&scenario, &graph, 1 << 16);
        assert_eq!((run(&mut plain), plain.packet_hops()), (delivered, fabric.packet_hops()), "{scheme}");
        for (name, path) in wanted {
            let found = replay(&path, &mut |_| true).expect("a log").expect("nobody stops it");
            assert_eq!((&found.difference, found.ending), (&None, Some(Ending::Complete)), "{scheme}, {name}");
            println!("{scheme}, {name}: {} packets, {} records", found.packets, found.records);
            assert!(found.switch == name && found.packets > if name == "leaf0" { 100_000 } else { 10_000 });
        }
    }
    std::fs::remove_dir_all(&dir).expect("its own directory");
}

#[test]
fn a_switch_that_is_not_there_is_named() {
    let scenario = scenario("bfc");
    let wanted = BTreeMap::from([("leaf7".to_string(), PathBuf::from("never-written.log"))]);
    let error = Logs::create(&scenario, &expand(&scenario.topology), wanted).expect_err("no such switch");
    assert_eq!(error.to_string(), "switch = \"leaf7\": expected one of leaf0, leaf1, spine0");
    let wanted = BTreeMap::from([("leaf0".to_string(), PathBuf::from("/nowhere/at/all.log"))]);
    let error = Logs::create(&scenario, &expand(&scenario.topology), wanted).expect_err("no such directory");
    assert!(error.to_string().starts_with("/nowhere/at/all.log: cannot be written: "), "{error}");
}
