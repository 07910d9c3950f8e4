//! What is explored: the size of the network, and how much may go wrong in it.

use crate::machines::Parcel;
use backwater_dataplane::{PortShape, Shape};
use backwater_types::{BitsPerSec, Duration, Kind, Packet, PortId, flags};

/// Bytes of a packet; at the rate and HRTT below, also the one-hop bandwidth-delay product.
const WIRE: u16 = 1024;
const HRTT: Duration = Duration(1 << 20);
const RATE: BitsPerSec = BitsPerSec((1024 * 8_000_000_000_000) >> 20);
/// Of repetition. A whole number of ticks, and longer than the release and sticky times.
pub const PERIOD: Duration = Duration(10 << 20);

/// What is explored.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Packets of each flow.
    pub packets: &'static [u8],
    /// The receiver of each flow, as a port of the downstream switch.
    pub receivers: &'static [PortId],
    /// Queues of each port.
    pub queues: u16,
    /// Packets on the link at once, one or two.
    pub link: u8,
    /// Frames that may be lost.
    pub losses: u8,
    /// Frames that may be doubled.
    pub doubles: u8,
    /// Queues among which a switch may draw.
    pub draws: u8,
    /// Packets that fit a switch's buffer.
    pub buffer: u8,
    /// Frames may be under way while a period ends.
    pub slow_frames: bool,
    /// Pauses name flows, not queues, and lapse when not repeated.
    pub by_flow: bool,
    /// Of a paused flow what is in a normal queue leaves; only the first queue is held.
    pub drains: bool,
    /// Every flow that is paused is known to the switch, so that none of its packets may leave.
    pub all_tracked: bool,
}

impl Plan {
    pub fn flows(&self) -> usize {
        self.packets.len()
    }

    pub fn ports(&self) -> PortId {
        1 + self.receivers.iter().max().expect("there are flows")
    }

    pub fn shape(&self) -> Shape {
        let port = PortShape::new(RATE, Duration(HRTT.0 / 2));
        Shape {
            quantum: WIRE as u32,
            buffer: self.buffer as u64 * WIRE as u64,
            smallest_packet: WIRE as u32,
            ..Shape::new(vec![port; self.ports() as usize], self.queues)
        }
    }

    pub fn packet(&self, parcel: Parcel) -> Packet {
        let flow = parcel.flow as u32;
        Packet {
            flow,
            seq: parcel.seq as u32,
            // Spread over BFC's flow table.
            key: flow.wrapping_mul(0x5555_5555),
            sender_slot: flow,
            receiver_slot: 0,
            dst: self.receivers[flow as usize],
            src: 0,
            wire: WIRE,
            upstream_queue: parcel.queue as u16,
            class: 0,
            kind: Kind::Data,
            flags: if parcel.seq + 1 == self.packets[flow as usize] { flags::LAST } else { 0 },
        }
    }
}
