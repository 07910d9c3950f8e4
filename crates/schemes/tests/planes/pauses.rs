//! For every backpressure, a switch sends pauses of the stated grain, and the neighbours stated to obey them do.

use backwater_dataplane::{BufferSize, DataPlane, Grain};
use backwater_schemes::planes::PRODUCTS;
use backwater_schemes::{
    AnySwitch, Assignment, Backpressure, Conventions, Host, Memory, Neighbour, Network, Switch, SwitchSite,
};
use backwater_types::{BitsPerSec, Bytes, ControlFrame, Duration, Frame, Instant, Kind, Packet};

const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
const DELAY: Duration = Duration(1_000_000);
/// Largest number of packets that the upper switch sends; their bytes exceed any threshold here.
const PACKETS: u32 = 800;

fn tables() -> Vec<Switch> {
    let table = |&(assignment, backpressure): &(Assignment, Backpressure)| {
        let queues = if assignment == Assignment::Class { 8 } else { 32 };
        Switch { queues, assignment, backpressure, buffer: BufferSize::Shared(Bytes(1_000_000)), ..Switch::default() }
    };
    PRODUCTS.iter().map(table).collect()
}

/// Builds a switch of three ports with these neighbours.
fn build(memory: Memory, table: &Switch, neighbours: [Option<&Switch>; 3]) -> AnySwitch {
    let host = Host::default();
    let conventions = Conventions { memory, ..Conventions::default() };
    let network = Network { host: &host, conventions: &conventions, seed: 1, stamps: false, fastest_nic: RATE };
    let neighbour = |switch: Option<_>| Neighbour { name: "", layer: 0, switch, rate: RATE, delay: DELAY };
    let ports = neighbours.into_iter().map(neighbour).collect();
    let site = SwitchSite { name: "", layer: 1, number: 0, nic_rate: RATE, scheduled: Some(4), ports };
    backwater_planes::at(&network, table, &site)
}

/// A packet of flow 1.
fn packet(seq: u32) -> Packet {
    Packet { flow: 1, key: 1, seq, wire: 1048, kind: Kind::Data, ..Packet::NONE }
}

/// Returns the grain of a pause; `None` for other frames.
fn held_by(frame: ControlFrame) -> Option<Grain> {
    match frame {
        ControlFrame::PfcPause(_) => Some(Grain::Port),
        ControlFrame::Pause(_) => Some(Grain::Queue),
        ControlFrame::PauseFlow(_) => Some(Grain::Flow),
        ControlFrame::PfcResume(_)
        | ControlFrame::Resume(_)
        | ControlFrame::Bitmap(_)
        | ControlFrame::ResumeFlow(_)
        | ControlFrame::Credit(_)
        | ControlFrame::CreditSent(_) => None,
    }
}

/// Returns the grain of the first pause that `below` sends to `above`, and whether it stops `above`. The switch `below`
/// receives packets and cannot forward them.
fn first_pause(memory: Memory, above: &Switch, below: &Switch) -> Option<(Grain, bool)> {
    let now = Instant(1_000_000);
    let mut upper = build(memory, above, [Some(below), None, None]);
    let mut lower = build(memory, below, [Some(above), None, None]);
    for seq in 0..PACKETS {
        // The first round has two packets, so that one always waits behind the one sent.
        for copy in 0..=u32::from(seq == 0) {
            upper.receive(now, &Frame::from(packet(2 * seq + copy)), 1, 0);
        }
        let Some(sent) = upper.transmit(now, 0) else { panic!("the switch above stops before it is told to") };
        lower.receive(now, &sent.packet, 0, 2);
        while let Some(sent) = lower.transmit(now, 0) {
            let Some(frame) = sent.packet.control() else { continue };
            let Some(grain) = held_by(frame) else { continue };
            upper.control(now, 0, frame);
            return Some((grain, upper.transmit(now, 0).is_none()));
        }
    }
    None
}

/// Leaves out pairs that scenarios refuse: two backpressures of queues or flows, and different numbers of queues.
#[test]
fn a_switch_sends_the_pauses_that_it_states_and_neighbours_obey_those_that_are_said_to() {
    let tables = tables();
    for below in &tables {
        for above in &tables {
            let stated = below.pauses(above).grain;
            let of = format!("{:?} below {:?}", (below.assignment, below.backpressure), above.backpressure);
            let apart = above.backpressure != below.backpressure && above.grain().is_fine() && below.grain().is_fine();
            let numbered = stated != Grain::Queue || above.data_queues() == below.data_queues();
            if apart || !numbered {
                continue;
            }
            match (first_pause(Memory::Exact, above, below), stated) {
                (None | Some((_, false)), Grain::Nothing) => {}
                (Some((grain, obeyed)), stated) => assert_eq!((grain, obeyed), (stated, true), "{of}"),
                (None, stated) => panic!("{of}: states pauses of a {stated:?} and sends none"),
            }
        }
    }
}

#[test]
fn every_backpressure_is_built_and_sends_pauses_if_it_states_any() {
    let tables = tables();
    for &backpressure in Backpressure::ALL {
        let mut own = tables.iter().filter(|table| table.backpressure == backpressure).peekable();
        assert!(own.peek().is_some(), "{backpressure:?} goes with no assignment");
        for table in own {
            let sent = first_pause(Memory::Exact, table, table).map(|(grain, _)| grain);
            assert_eq!(sent.unwrap_or(Grain::Nothing), table.grain(), "{backpressure:?}");
        }
    }
}

/// With the memory of HPCC's simulator, PFC pauses classes, by the same frames.
#[test]
fn pauses_of_classes_are_obeyed_as_those_of_ports() {
    for assignment in [Assignment::Single, Assignment::Class] {
        let table = Switch {
            queues: 8,
            assignment,
            backpressure: Backpressure::Pfc,
            buffer: BufferSize::Shared(Bytes(1_000_000)),
            ..Switch::default()
        };
        assert_eq!(first_pause(Memory::HpccSim, &table, &table), Some((Grain::Port, true)), "{assignment:?}");
    }
}
