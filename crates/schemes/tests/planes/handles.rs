//! Handles of frames: no switch reads them, and every frame has one owner from its arrival to its departure or drop.

use crate::traffic::{Did, Drops, Traffic, build};
use backwater_schemes::planes::Product;
use backwater_types::{DropReason, Kind, Packet};
use std::collections::HashSet;

const PACKETS: u64 = 6_000;

/// Packet that left a switch; `None` for what stays, and for control frames.
fn left(did: &Did) -> Option<&Packet> {
    match did {
        Did::Sent(_, packet, _) | Did::Dropped(_, packet, _) => (packet.kind != Kind::Control).then_some(packet),
        Did::Joined(..) => None,
    }
}

/// The same with handle 0. Notices have none already.
fn without_handle(did: &Did) -> Did {
    let bare = |packet: &Packet| match packet.kind {
        Kind::Control | Kind::DropNotice => *packet,
        _ => Packet { receiver_slot: 0, ..*packet },
    };
    match did {
        Did::Sent(port, packet, at) => Did::Sent(*port, bare(packet), *at),
        Did::Dropped(port, packet, reason) => Did::Dropped(*port, bare(packet), *reason),
        Did::Joined(..) => did.clone(),
    }
}

/// Two switches of each product see the same traffic, with different handles: they do the same.
#[test]
fn no_switch_reads_the_handle_of_a_frame() {
    for product in Product::ALL {
        let run = |handle: fn(u64) -> u32| {
            let mut traffic = Traffic::new(build(*product, Drops::Never), Drops::Never).with_handles(handle);
            traffic.run(PACKETS);
            traffic.holder.did.iter().map(without_handle).collect::<Vec<Did>>()
        };
        let one = run(|number| number as u32);
        let other = run(|number| u32::MAX - 1 - (number as u32).wrapping_mul(0x9e37_79b1) % (1 << 30));
        let sent = one.iter().filter(|did| matches!(did, Did::Sent(..))).count();
        assert!(sent > 1_000, "{product:?} sent {sent} packets");
        assert!(one == other, "{product:?} does something else for other handles");
    }
}

/// Every frame leaves a switch once: it is sent, dropped on arrival, or dropped later.
#[test]
fn frames_are_neither_lost_nor_freed_twice() {
    for drops in [Drops::Never, Drops::WithPort, Drops::Unmarked] {
        // Only switches without backpressure drop packets that cannot be marked.
        let unpaused = |product: &&Product| [Product::Fifo, Product::FairQueueing, Product::Sfq].contains(product);
        let products = Product::ALL.iter().filter(|product| drops != Drops::Unmarked || unpaused(product));
        let reasons: HashSet<DropReason> = products.flat_map(|product| account(*product, drops)).collect();
        let expected = match drops {
            Drops::Never => vec![DropReason::Buffer, DropReason::Headroom],
            Drops::WithPort => vec![DropReason::Buffer, DropReason::Headroom, DropReason::LinkDown],
            Drops::Unmarked => vec![DropReason::NotEct],
        };
        assert!(expected.iter().all(|reason| reasons.contains(reason)), "{drops:?}: {reasons:?}");
    }
}

/// Keeps the account of a switch, and returns the reasons for which it dropped packets.
fn account(product: Product, drops: Drops) -> HashSet<DropReason> {
    let mut traffic = Traffic::new(build(product, drops), drops);
    for packets in (97..PACKETS).step_by(97).chain([PACKETS]) {
        traffic.run(packets);
        check(&traffic.holder.did, &traffic.residents(), traffic.packets);
    }
    traffic.settle();
    let (residents, gone) = (traffic.residents(), check(&traffic.holder.did, &traffic.residents(), traffic.packets));
    assert_eq!(gone + residents.len() as u64, PACKETS, "{product:?}, {drops:?}: a frame is nowhere");
    // The pseudo-code of FlowSail as printed holds packets for ever.
    assert!(residents.is_empty() || product == Product::FlowSailLiteral, "{product:?} keeps {}", residents.len());
    let reason = |did: &Did| match did {
        Did::Dropped(_, _, reason) => Some(*reason),
        Did::Sent(..) | Did::Joined(..) => None,
    };
    traffic.holder.did.iter().filter_map(reason).collect()
}

/// Checks that each frame has left once at most, and that none that has left is inside. Returns how many have left.
fn check(did: &[Did], residents: &HashSet<u32>, arrived: u64) -> u64 {
    let mut gone = HashSet::new();
    for packet in did.iter().filter_map(left) {
        if packet.kind == Kind::DropNotice {
            assert_eq!(packet.receiver_slot, Packet::NO_FRAME, "a notice owns no frame");
            continue;
        }
        assert!(u64::from(packet.receiver_slot) < arrived, "a frame leaves that has not come: {packet:?}");
        assert!(gone.insert(packet.receiver_slot), "a frame leaves twice: {packet:?}");
    }
    assert!(gone.is_disjoint(residents), "a frame that has left is inside");
    gone.len() as u64
}
