//! A flow: who sends how much to whom, and when.

use backwater_scenario::model::COLLECTIVE_FLOWS_MAX as FLOWS_MAX;
use backwater_types::Instant;

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its number: dependent flows come first, as their processes number them, then all others in order of arrival.
    pub id: u32,
    /// Arrival.
    pub at: Instant,
    /// Source host.
    pub src: u16,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes; `u64::MAX`: endless.
    pub size: u64,
    /// Number among the flows to the same destination; of a dependent flow see [`Own::receiver_slot`].
    pub receiver_slot: u32,
    /// Destination port, in files and hashes of other simulators.
    pub port: u16,
    /// Workload it belongs to.
    pub class: u8,
    /// Traffic class of its packets.
    pub priority: u8,
}

/// Size of an endless flow.
pub const ENDLESS: u64 = u64::MAX;

impl Flow {
    /// Whether it is of a process that listens.
    #[inline]
    pub fn is_dependent(&self) -> bool {
        own_slot(self.receiver_slot).is_some()
    }

    /// Packets of `payload` bytes it takes, and the payload of the last.
    pub fn packets(&self, payload: u64) -> (u32, u64) {
        if self.size == ENDLESS {
            return (u32::MAX, payload);
        }
        let packets = self.size.div_ceil(payload);
        (packets as u32, self.size - (packets - 1) * payload)
    }
}

/// How a process that listens numbers a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Among all flows of the process.
    pub number: u32,
    /// Among those to the same destination.
    pub slot: u32,
}

/// Set in the slot of a dependent flow.
const OWN: u32 = 1 << 31;
/// Bits for the number among the flows to one destination; above them stands the workload.
const OWN_BITS: u32 = FLOWS_MAX.trailing_zeros();

impl Own {
    /// The slot at the receiver of a flow of workload number `class`.
    pub fn receiver_slot(self, class: u8) -> u32 {
        debug_assert!(self.slot < 1 << OWN_BITS, "a collective has no more flows");
        OWN | (class as u32) << OWN_BITS | self.slot
    }
}

/// Workload and number at the destination that the slot of a dependent flow is made of; `None`: of another flow.
#[inline]
pub fn own_slot(receiver_slot: u32) -> Option<(u8, u32)> {
    let own = receiver_slot & OWN != 0;
    own.then_some(((receiver_slot >> OWN_BITS) as u8, receiver_slot & ((1 << OWN_BITS) - 1)))
}

const _: () = assert!(FLOWS_MAX.is_power_of_two() && OWN_BITS + 8 == 31, "a workload's number has eight bits");
