//! Flows: source, destination, size and start.

use backwater_scenario::model::COLLECTIVE_FLOWS_MAX as FLOWS_MAX;
use backwater_types::Instant;

/// Flow between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number of the flow. Dependent flows come first, as their workloads number them, then all others in order of
    /// arrival.
    pub id: u32,
    /// Time of arrival.
    pub at: Instant,
    /// Source host.
    pub src: u16,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes; [`ENDLESS`] for an endless flow.
    pub size: u64,
    /// Number among the flows to the same destination; of a closed-loop flow, [`Own::receiver_slot`].
    pub receiver_slot: u32,
    /// Destination port, in files and hashes of other simulators.
    pub port: u16,
    /// Number of the flow's workload.
    pub class: u8,
    /// Traffic class of the flow's packets.
    pub priority: u8,
}

/// First port by which a flow of a job tells its connection: the range of UDP source ports in RoCEv2. Connections of a
/// pair of hosts have ports of their own.
pub const CONNECTION_PORT: u16 = 0xc000;

/// Size of an endless flow.
pub const ENDLESS: u64 = u64::MAX;

impl Flow {
    /// Whether the flow belongs to a closed-loop workload, which starts flows when others finish.
    #[inline]
    pub fn is_closed_loop(&self) -> bool {
        own_slot(self.receiver_slot).is_some()
    }

    /// Makes a wake: a start without a flow. Its workload is told that `at` has come at `host`, and `own.slot`, which
    /// says what for. `own.number` orders wakes and flows of one instant.
    pub fn wake(own: Own, at: Instant, host: u16, class: u8) -> Flow {
        let receiver_slot = own.receiver_slot(class);
        Flow { id: own.number, at, src: host, dst: host, size: 0, receiver_slot, port: 0, class, priority: 0 }
    }

    /// Whether this is a wake. A flow has at least one byte.
    #[inline]
    pub fn is_wake(&self) -> bool {
        self.size == 0
    }

    /// Whether this is a message on a queue pair. All messages of a queue pair have its port.
    #[inline]
    pub fn is_of_queue_pair(&self) -> bool {
        self.port >= CONNECTION_PORT && self.is_closed_loop()
    }

    /// Returns the number of packets of `payload` bytes, and the payload of the last packet.
    pub fn packets(&self, payload: u64) -> (u32, u64) {
        if self.size == ENDLESS {
            return (u32::MAX, payload);
        }
        let packets = self.size.div_ceil(payload);
        (packets as u32, self.size - (packets - 1) * payload)
    }
}

/// Numbers that a closed-loop workload gives to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Number among all flows of the workload.
    pub number: u32,
    /// Number among the workload's flows to the same destination.
    pub slot: u32,
}

/// Bit that is set in the slot of a closed-loop flow.
const OWN: u32 = 1 << 31;
/// Bits of the number among the flows to one destination; the workload's number stands above them.
const OWN_BITS: u32 = FLOWS_MAX.trailing_zeros();

impl Own {
    /// Returns the slot at the receiver, for a flow of workload number `class`.
    pub fn receiver_slot(self, class: u8) -> u32 {
        debug_assert!(self.slot < 1 << OWN_BITS, "a collective has no more flows");
        OWN | (class as u32) << OWN_BITS | self.slot
    }
}

/// Splits the slot of a closed-loop flow into its workload and its number at the destination; `None` for other flows.
#[inline]
pub fn own_slot(receiver_slot: u32) -> Option<(u8, u32)> {
    let own = receiver_slot & OWN != 0;
    own.then_some(((receiver_slot >> OWN_BITS) as u8, receiver_slot & ((1 << OWN_BITS) - 1)))
}

const _: () = assert!(FLOWS_MAX.is_power_of_two() && OWN_BITS + 8 == 31, "a workload's number has eight bits");
