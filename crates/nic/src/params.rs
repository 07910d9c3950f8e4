//! What a NIC is told beforehand.

use alloc::sync::Arc;
use backwater_dataplane::{Gate, NicQueues, Red};
use backwater_types::hash::Stream;
use backwater_types::{Duration, LinkShape};

/// What is the same for all NICs of a network; `P`: parameters of the transport.
#[derive(Clone, Debug)]
pub struct NicParams<P> {
    /// Parameters of the transport.
    pub transport: P,
    /// [`List`](crate::List): a pause of this class holds ACKs too.
    pub acks_held_with: Option<u8>,
    /// [`Rings`](crate::Rings) holds flows that a switch has paused by name.
    pub obeys_flow_pauses: bool,
    /// A pause of a flow that is not repeated lapses after this; zero: never.
    pub lapse: Duration,
    /// Bytes that may wait in a [`Fifo`](crate::Fifo).
    pub buffer: u64,
    /// There, ACKs wait with the data.
    pub acks_with_data: bool,
    /// `[workload]`, a bit: its packets are labelled as those of an incast.
    pub labelled: [u64; 4],
}

impl<P> NicParams<P> {
    /// Whether packets of a workload are labelled as those of an incast.
    #[inline(always)]
    pub(crate) fn labels(&self, workload: u8) -> bool {
        self.labelled[workload as usize / 64] >> (workload % 64) & 1 == 1
    }
}

/// What one NIC is built from.
#[derive(Clone, Debug)]
pub struct NicSetup {
    /// Number of its host, which tells its random draws from others'.
    pub host: u16,
    /// Queues of [`Rings`](crate::Rings), which BFC may pause.
    pub queues: NicQueues,
    /// Of [`Rings`](crate::Rings), where the switch grants credits.
    pub gate: Option<Gate>,
    /// [`Rings`](crate::Rings): replies are in the class of data, so PFC holds them too.
    pub holds_replies: bool,
    /// Marking by the bytes that wait in a [`Fifo`](crate::Fifo).
    pub red: Red,
    /// Its link.
    pub link: LinkShape,
    /// Traffic classes that a [`List`](crate::List) is paused by, of which there is one at least.
    pub classes: u8,
    /// Seed of the run.
    pub seed: u64,
    /// [`List`](crate::List) lists its flows anew whenever routes change, in an order that hangs on their addresses: `[host]`, its
    /// address. `None`: they do not change.
    pub addresses: Option<Arc<[u32]>>,
}

impl NicSetup {
    /// Its random draws.
    pub(crate) fn draws(&self) -> Stream {
        Stream::new(self.seed, 0x6e69_6373, self.host.into())
    }
}
