//! Plans of exploration: the size of the network, and the faults in it.

use crate::machines::Parcel;
use backwater_dataplane::{PortShape, Shape};
use backwater_types::{BitsPerSec, Duration, Kind, Packet, PortId, flags};

/// Bytes of a packet. At the rate and HRTT below, this is also the one-hop bandwidth-delay product.
const WIRE: u16 = 1024;
const HRTT: Duration = Duration(1 << 20);
const RATE: BitsPerSec = BitsPerSec((1024 * 8_000_000_000_000) >> 20);
/// Refresh period: a whole number of ticks, longer than the release and sticky times.
pub const PERIOD: Duration = Duration(10 << 20);

/// Size of an explored network, and its faults.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Packets of each flow.
    pub packets: &'static [u8],
    /// `[flow]`: its receiver, as a port of the downstream switch.
    pub receivers: &'static [PortId],
    /// Queues of each port.
    pub queues: u16,
    /// Packets that fit on the link at once, one or two.
    pub link: u8,
    /// Number of frames that may be lost.
    pub losses: u8,
    /// Number of frames that may be duplicated.
    pub doubles: u8,
    /// Queues among which a switch may choose at random.
    pub draws: u8,
    /// Packets that fit a switch's buffer.
    pub buffer: u8,
    /// Whether frames may be in flight at the end of a period.
    pub slow_frames: bool,
    /// Whether pauses name flows, not queues, and lapse when not repeated.
    pub by_flow: bool,
    /// Whether packets of a paused flow depart from its normal queue, so that only the first queue is ever held.
    pub drains: bool,
    /// Whether the switch has a record of every paused flow, so that none of its packets may leave.
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
            // Keys are spread over BFC's flow table.
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
