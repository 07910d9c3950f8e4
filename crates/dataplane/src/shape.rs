//! The shape of a switch: ports, queues, buffer, marking; what is the same for every scheme.

use crate::buffer::MemoryShape;
use crate::elide::ElidedTurns;
use crate::marking::{Ns3Streams, Red};
use alloc::vec::Vec;
use backwater_types::{BitsPerSec, CONTROL_WIRE, CreditShape, Duration, PintShape};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// What is the same for every scheme: ports, queues, buffer, marking.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The ports.
    pub ports: Vec<PortShape>,
    /// Data queues per port, where their number is fixed.
    pub queues: u16,
    /// Queues per port as hardware counts them: the control queue may be one of them.
    pub hardware_queues: u16,
    /// Groups of data queues, strict priority between them: of equally many, or under Homa's dynamic assignment of one each
    /// but for the first.
    pub groups: u16,
    /// Deficit round robin quantum, bytes; at least the largest packet.
    pub quantum: u32,
    /// Shared buffer of each MMU, bytes; `u64::MAX` is infinite.
    pub buffer: u64,
    /// Dynamic threshold per queue.
    pub alpha: Option<f64>,
    /// MMUs, and what is private to queues.
    pub memory: MemoryShape,
    /// What is marked, beyond the thresholds of ports.
    pub marking: MarkingShape,
    /// Smallest data packet, bytes on the wire: with `buffer`, the number of cells to allocate.
    pub smallest_packet: u32,
    /// Largest data packet, bytes on the wire.
    pub largest_packet: u32,
    /// No more cells are allocated beforehand, of 64 bytes each and what packets carry; a buffer that fills with more packets makes room as
    /// it does.
    pub cells_ahead: u64,
    /// Seed of this switch's random draws.
    pub seed: u64,
    /// Marks by the length of a queue are drawn from these, as ns-3 does.
    pub ns3: Option<Ns3Streams>,
    /// Salt of this switch's hashes.
    pub salt: u64,
    /// HRTT to use instead of the largest of the ports.
    pub hrtt: Option<Duration>,
    /// Turns on which no backpressure is sent (spec C.1).
    pub elided: ElidedTurns,
    /// Rate of hosts' links, by which the HPCC simulator scales thresholds.
    pub nic_rate: BitsPerSec,
    /// Number of the transport: see [`LinkShape::transport`](backwater_types::LinkShape).
    pub transport: u8,
    /// Telemetry counts bytes in units as many times as large as at 25 Gb/s.
    pub int_unit: u32,
    /// How ports limit credits, where there are any.
    pub credits: CreditShape,
    /// How ports measure and write how much of their links is used, where packets carry that.
    pub pint: PintShape,
    /// Keep the enqueue time of every packet.
    pub stamp: bool,
    /// ACKs and NACKs are queued, accounted and paused like data.
    pub acks_with_data: bool,
    /// Wire size of a PFC frame.
    pub pfc_frame: u16,
    /// The sender of data that is not let in is told so, in a packet of this size on the wire.
    pub drop_notice: Option<u16>,
    /// What becomes of what waits at a port whose link goes down.
    pub down_queues: DownQueues,
    /// A packet for a paused queue is dropped, as FlowSail's testbed imitates pausing.
    pub discards_paused: bool,
}

/// What is held against thresholds, and what becomes of packets that cannot be marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkingShape {
    /// The thresholds of a port are for all its data queues together.
    pub per_port: bool,
    /// Bits of queues that those thresholds do not cover.
    pub exempt: u128,
    /// The rule of the pool covers no others either.
    pub pool_exempts: bool,
    /// A packet that is not ECN-capable is dropped where a rule marks it. Only without backpressure.
    pub drops_not_ect: bool,
}

/// What becomes of what waits at a switch's port when its link goes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum DownQueues {
    /// It leaves as fast as the link was, and is lost.
    #[default]
    Drain,
    /// It is dropped at once.
    Drop,
    /// It is dropped at once and stays charged to where it came from, whose pauses then never end: a fault of HPCC's simulator.
    Leak,
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortShape {
    /// Link rate.
    pub rate: BitsPerSec,
    /// Round trip to the neighbour: twice the propagation delay (BFC-A18).
    pub hrtt: Duration,
    /// Marking at this egress.
    pub red: Red,
    /// Bytes that may still come in by it after a PFC pause was decided; see [`headroom`].
    pub headroom: u64,
    /// The neighbour has PFC and nothing else to be paused with.
    pub pfc_only: bool,
    /// The neighbour grants credits, without which nothing may be sent to it: a switch, where BFC has them.
    pub credited: bool,
}

impl PortShape {
    /// A link that marks nothing, to a neighbour as any other; headroom is for packets of 1048 B.
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

/// Cells that each of so many switches allocates beforehand at most: 4 million of 64 B, 256 MB, room for 200 MB of the smallest packets and 4 GB
/// of full ones; and all together 1 GB.
pub fn cells_ahead(switches: u64) -> u64 {
    (1 << 22).min((1 << 24) / switches.max(1))
}

/// Bytes that an ingress may need beyond its threshold: the exact worst case.
///
/// The packet that XOFF is decided by needs room itself where the threshold sank below what its ingress held since the packet before,
/// because others filled the pool. Then the frame waits for a full packet that has just started the other way, crosses the link, and
/// finds the sender starting one more full packet; everything on its way until that one has arrived still comes: `2 x delay x rate + 3
/// full packets + the frame`. At 100 Gb/s, 1 us, 1048 B: 25 000 + 3 144 + 64 B. Full packets alone fill 26 of them, 27 248 B.
pub fn headroom(delay: Duration, rate: BitsPerSec, largest: u64) -> u64 {
    Duration(2 * delay.0).bytes_at(rate).0 + 3 * largest + CONTROL_WIRE as u64
}

impl Shape {
    /// Of these ports with so many data queues each: one group, an infinite buffer without marking, quanta and packets of 1048 B.
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
