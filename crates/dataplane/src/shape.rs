//! The shape of a switch, independent of the scheme: ports, queues, buffer, marking.

use crate::buffer::MemoryShape;
use crate::elide::ElidedTurns;
use crate::marking::{Ns3Streams, Red};
use alloc::vec::Vec;
use backwater_types::{BitsPerSec, CONTROL_WIRE, CreditShape, Duration, PintShape};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Configuration of a switch that is independent of the scheme: ports, queues, buffer, marking.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Ports of the switch.
    pub ports: Vec<PortShape>,
    /// Data queues per port, where their number is fixed.
    pub queues: u16,
    /// Queues per port as hardware counts them, possibly with the control queue.
    pub hardware_queues: u16,
    /// Groups of data queues, with strict priority between them. Groups are of equal size; under Homa's dynamic
    /// assignment all but the first have one queue.
    pub groups: u16,
    /// Deficit round robin quantum, bytes; at least the largest packet.
    pub quantum: u32,
    /// Shared buffer of each MMU, bytes; `u64::MAX` is infinite.
    pub buffer: u64,
    /// Dynamic threshold (alpha) of every queue. `None`: no threshold.
    pub alpha: Option<f64>,
    /// MMUs, and private bytes of queues.
    pub memory: MemoryShape,
    /// Marking rules beyond the thresholds of ports.
    pub marking: MarkingShape,
    /// Smallest data packet, bytes on the wire: with `buffer`, the number of cells to allocate.
    pub smallest_packet: u32,
    /// Largest data packet, bytes on the wire.
    pub largest_packet: u32,
    /// Limit on the cells allocated in advance, of 64 bytes each plus the packets' metadata. A buffer with more packets
    /// grows when they arrive.
    pub cells_ahead: u64,
    /// Seed of this switch's random numbers.
    pub seed: u64,
    /// ns-3's random streams, where marks by queue length use them.
    pub ns3: Option<Ns3Streams>,
    /// Salt of this switch's hashes.
    pub salt: u64,
    /// HRTT in place of the largest of the ports.
    pub hrtt: Option<Duration>,
    /// Turns on which no backpressure is sent (spec C.1).
    pub elided: ElidedTurns,
    /// Rate of hosts' links, the base of the HPCC simulator's thresholds.
    pub nic_rate: BitsPerSec,
    /// Number of the transport: see [`LinkShape::transport`](backwater_types::LinkShape).
    pub transport: u8,
    /// Unit of bytes in telemetry, as a multiple of the unit at 25 Gb/s.
    pub int_unit: u32,
    /// Limits of ports on credits, with credit-based transports.
    pub credits: CreditShape,
    /// Measurement of link utilisation in ports and its encoding, where packets carry it.
    pub pint: PintShape,
    /// Whether to keep the enqueue time of every packet.
    pub stamp: bool,
    /// Whether ACKs and NACKs are queued, accounted and paused like data.
    pub acks_with_data: bool,
    /// Wire size of a PFC frame.
    pub pfc_frame: u16,
    /// Wire size of the notice to the sender of dropped data. `None`: no notices.
    pub drop_notice: Option<u16>,
    /// Treatment of the packets at a port whose link goes down.
    pub down_queues: DownQueues,
    /// Whether a packet for a paused queue is dropped, as FlowSail's testbed imitates pausing.
    pub discards_paused: bool,
}

/// Lengths compared with thresholds, and the treatment of packets that cannot be marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkingShape {
    /// Whether a port's thresholds apply to all its data queues together.
    pub per_port: bool,
    /// `[bit]`: queues that those thresholds do not cover.
    pub exempt: u128,
    /// Whether the pool's rule exempts the same queues.
    pub pool_exempts: bool,
    /// Whether a packet that is not ECN-capable is dropped where a rule marks it. Only without backpressure.
    pub drops_not_ect: bool,
}

/// Treatment of the packets at a switch's port whose link goes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum DownQueues {
    /// Packets depart at the rate of the link and are lost.
    #[default]
    Drain,
    /// Packets are dropped at once.
    Drop,
    /// Packets are dropped at once and stay charged to their ingress, whose pauses then never end: a fault of HPCC's
    /// simulator.
    Leak,
}

/// Configuration of one port.
#[derive(Clone, Debug)]
pub struct PortShape {
    /// Link rate.
    pub rate: BitsPerSec,
    /// Round trip to the neighbour: twice the propagation delay (BFC-A18).
    pub hrtt: Duration,
    /// Marking rule of this egress.
    pub red: Red,
    /// Bytes that may still arrive by the port after the decision to send a PFC pause; see [`headroom`].
    pub headroom: u64,
    /// Whether PFC is the only pause that the neighbour obeys.
    pub pfc_only: bool,
    /// Whether the neighbour is a switch that grants credits, without which nothing may be sent to it: with BFC's
    /// credits.
    pub credited: bool,
}

impl PortShape {
    /// Creates a port without marking, to a neighbour without special properties. Headroom is for packets of 1048 B.
    pub fn new(rate: BitsPerSec, delay: Duration) -> PortShape {
        PortShape {
            rate,
            hrtt: Duration(2 * delay.0),
            red: Red::OFF,
            headroom: headroom(delay, rate, 1048),
            pfc_only: false,
            credited: false,
        }
    }
}

/// Limit on the cells that each of `switches` switches allocates in advance. Each allocates at most 4 million cells of
/// 64 B: 256 MB, room for 200 MB of the smallest packets and 4 GB of full ones. All together allocate at most 1 GB.
pub fn cells_ahead(switches: u64) -> u64 {
    (1 << 22).min((1 << 24) / switches.max(1))
}

/// Bytes that an ingress may need beyond its threshold: the exact worst case.
///
/// The packet that causes XOFF needs room itself if the threshold sank below the ingress's bytes since the packet
/// before, because others filled the pool. The frame then waits for a full packet that has just started the other way,
/// crosses the link, and reaches the sender as it starts one more full packet. All data in flight until the end of that
/// packet still arrives: `2 x delay x rate + 3 full packets + the frame`. At 100 Gb/s, 1 us, 1048 B: 25 000 + 3 144 +
/// 64 B. Full packets alone fill 26 of them, 27 248 B.
pub fn headroom(delay: Duration, rate: BitsPerSec, largest: u64) -> u64 {
    Duration(2 * delay.0).bytes_at(rate).0 + 3 * largest + CONTROL_WIRE as u64
}

impl Shape {
    /// Creates the shape of a switch with these ports and `queues` data queues each: one group, an infinite buffer
    /// without marking, quanta and packets of 1048 B.
    pub fn new(ports: Vec<PortShape>, queues: u16) -> Shape {
        Shape {
            ports,
            queues,
            hardware_queues: queues + 1,
            groups: 1,
            quantum: 1048,
            buffer: u64::MAX,
            alpha: None,
            memory: MemoryShape::default(),
            marking: MarkingShape::default(),
            smallest_packet: 49,
            largest_packet: 1048,
            cells_ahead: cells_ahead(1),
            seed: 1,
            ns3: None,
            salt: 1,
            hrtt: None,
            elided: ElidedTurns::default(),
            nic_rate: BitsPerSec(0),
            transport: 0,
            int_unit: 1,
            credits: CreditShape::default(),
            pint: PintShape::default(),
            stamp: false,
            acks_with_data: false,
            pfc_frame: 64,
            drop_notice: None,
            down_queues: DownQueues::Drain,
            discards_paused: false,
        }
    }

    /// Largest round trip to a neighbour (`maxHRTT`).
    pub fn hrtt(&self) -> Duration {
        self.hrtt.unwrap_or_else(|| self.ports.iter().map(|p| p.hrtt).max().unwrap_or(Duration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_is_the_round_trip_three_packets_and_the_frame() {
        assert_eq!(headroom(Duration::from_us(1), BitsPerSec(100_000_000_000), 1048), 25_000 + 3_144 + 64);
    }
}
