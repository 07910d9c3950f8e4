//! Latencies of NCCL's collectives.
//!
//! Source: `src/graph/tuning.cc` of NVIDIA/nccl v2.28.7-1, `baseLatencies` and the rows `NET` of `hwLatencies`, which NCCL
//! chooses algorithm and protocol by. `ncclTopoTuneModel` counts the first once for a collective, and the second for each
//! step between nodes. Microseconds:
//!
//! | | LL | LL128 | Simple |
//! |---|---|---|---|
//! | tree, once | 6.8 | 14.0 | 8.4 |
//! | tree, each step | 5.0 | 8.5 | 14.0 |
//! | ring, once | 6.6 | 14.0 | 8.4 |
//! | ring, each step | 2.7 | 4.0 | 14.0 |
//!
//! SimAI adds both to every flow (`entry.h` of aliyun/SimAI). Only latencies are here: LL sends a flag beside as much data,
//! and LL128 eight bytes of flags in 128.

use super::Algorithm;
use backwater_types::Duration;

/// Protocol of NCCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Low latency: a flag beside each four bytes.
    LowLatency,
    /// Low latency in lines of 128 bytes.
    LowLatency128,
    /// Chunks, with a barrier for each.
    Simple,
}

/// Latency of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Before the first step.
    pub once: Duration,
    /// Of each message.
    pub each: Duration,
}

/// Latencies between nodes; `None` if NCCL has none for the algorithm.
pub fn latency(algorithm: Algorithm, protocol: Protocol) -> Option<Latency> {
    let column = protocol as usize;
    let (once, each) = match algorithm {
        Algorithm::DoubleBinaryTree => ([6_800, 14_000, 8_400], [5_000, 8_500, 14_000]),
        Algorithm::Ring | Algorithm::BidirectionalRing => ([6_600, 14_000, 8_400], [2_700, 4_000, 14_000]),
        _ => return None,
    };
    Some(Latency { once: Duration::from_ns(once[column]), each: Duration::from_ns(each[column]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums are those that SimAI has for flows between nodes.
    #[test]
    fn rings_and_trees_have_latencies() {
        let sum = |algorithm, protocol| latency(algorithm, protocol).map(|of| (of.once.0 + of.each.0) / 100_000);
        let protocols = [Protocol::LowLatency, Protocol::LowLatency128, Protocol::Simple];
        assert_eq!(protocols.map(|protocol| sum(Algorithm::Ring, protocol)), [Some(93), Some(180), Some(224)]);
        let tree = protocols.map(|protocol| sum(Algorithm::DoubleBinaryTree, protocol));
        assert_eq!(tree, [Some(118), Some(225), Some(224)]);
        assert_eq!(latency(Algorithm::Direct, Protocol::Simple), None);
    }
}
