//! Parameters of NICs.

use alloc::sync::Arc;
use backwater_dataplane::{Gate, NicQueues, Red};
use backwater_types::hash::Stream;
use backwater_types::{Duration, LinkShape};

/// Parameters of all NICs of a network; `P`: parameters of the transport.
#[derive(Clone, Debug)]
pub struct NicParams<P> {
    /// Parameters of the transport.
    pub transport: P,
    /// Class whose pause holds ACKs too, in a [`List`](crate::List).
    pub acks_held_with: Option<u8>,
    /// Whether [`Rings`](crate::Rings) obeys pauses of flows by name.
    pub obeys_flow_pauses: bool,
    /// Time after which a pause of a flow ends that is not repeated; zero: never.
    pub lapse: Duration,
    /// Bytes that may wait in a [`Fifo`](crate::Fifo).
    pub buffer: u64,
    /// Whether ACKs wait with the data in a [`Fifo`](crate::Fifo).
    pub acks_with_data: bool,
    /// `[workload]`, a bit each: whether its packets are tagged as those of an incast.
    pub tagged: [u64; 4],
}

impl<P> NicParams<P> {
    /// Whether packets of a workload are tagged as those of an incast.
    #[inline(always)]
    pub(crate) fn tags(&self, workload: u8) -> bool {
        self.tagged[workload as usize / 64] >> (workload % 64) & 1 == 1
    }
}

/// Setup of one NIC.
#[derive(Clone, Debug)]
pub struct NicSetup {
    /// Number of its host, which selects its stream of random numbers.
    pub host: u16,
    /// Queues of [`Rings`](crate::Rings), which BFC may pause.
    pub queues: NicQueues,
    /// Limit of data by BFC's credits in [`Rings`](crate::Rings), where the switch grants them.
    pub gate: Option<Gate>,
    /// Whether replies are in the class of data in [`Rings`](crate::Rings), so that PFC pauses them too.
    pub holds_replies: bool,
    /// Marking by the bytes that wait in a [`Fifo`](crate::Fifo).
    pub red: Red,
    /// Properties of its link.
    pub link: LinkShape,
    /// Traffic classes that may be paused in a [`List`](crate::List), at least one.
    pub classes: u8,
    /// Seed of the run.
    pub seed: u64,
    /// `[host]`: address, by which a [`List`](crate::List) orders its flows anew whenever routes change. `None`: they
    /// do not change.
    pub addresses: Option<Arc<[u32]>>,
}

impl NicSetup {
    /// Makes its stream of random numbers.
    pub(crate) fn draws(&self) -> Stream {
        Stream::new(self.seed, 0x6e69_6373, self.host.into())
    }
}
