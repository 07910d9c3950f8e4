//! Patterns and algorithms of collectives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pattern of communication of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// All-reduce: in 2 (n - 1) steps each of n ranks sends a part to its successor, and passes on the parts that it
    /// receives.
    Ring,
    /// Each rank sends a part to each other; a rank starts the next iteration when it has the parts of all others.
    AllToAll,
    /// The first rank sends microbatches, and each rank passes on to the next those that it receives.
    Pipeline,
    /// Every rank gets the sum of the data of all.
    AllReduce,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Every rank gets the parts of all.
    AllGather,
    /// Every rank gets the data of the first.
    Broadcast,
    /// The first rank gets the sum.
    Reduce,
    /// No rank goes on before all have come.
    Barrier,
}

/// Protocol of NCCL, by which its latencies are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NcclProtocol {
    /// Low latency.
    Ll,
    /// Low latency in lines of 128 bytes.
    Ll128,
    /// The protocol of large messages.
    Simple,
}

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveAlgorithm {
    /// Parts go round from rank to rank; the data of a broadcast or a reduce goes along a chain.
    Ring,
    /// Two rings in opposite directions, each with half of the data.
    BidirectionalRing,
    /// All data is exchanged with ranks at distance 1, 2, 4, ...
    RecursiveDoubling,
    /// Halves, quarters, ... are exchanged with ranks at distance 1, 2, 4, ..., and gathered the same way back.
    HalvingDoubling,
    /// NCCL's two binary trees, each with half of the data.
    DoubleBinaryTree,
    /// A binomial tree.
    Binomial,
    /// Every rank sends to each other at once.
    Direct,
    /// Every rank exchanges with one other after another.
    Pairwise,
}

impl CollectiveAlgorithm {
    /// All algorithms.
    pub const ALL: [CollectiveAlgorithm; 8] = [
        CollectiveAlgorithm::Ring,
        CollectiveAlgorithm::BidirectionalRing,
        CollectiveAlgorithm::RecursiveDoubling,
        CollectiveAlgorithm::HalvingDoubling,
        CollectiveAlgorithm::DoubleBinaryTree,
        CollectiveAlgorithm::Binomial,
        CollectiveAlgorithm::Direct,
        CollectiveAlgorithm::Pairwise,
    ];
}
