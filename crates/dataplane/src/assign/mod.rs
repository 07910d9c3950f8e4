//! Queue assignment: the choice of an egress queue for each packet.

pub mod dynamic;
pub mod homa_dynamic;

pub use dynamic::Dynamic;
pub use homa_dynamic::HomaDynamic;

use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::queues::flow_queues::FlowQueues;
use crate::queues::groups::Members;
use crate::queues::strict_queues::StrictQueues;
use crate::queues::{OneQueue, PausableQueues, Queues};
use crate::shape::Shape;
use alloc::boxed::Box;
use alloc::string::String;
use backwater_types::hash::{self, Stream};
use backwater_types::{Instant, Packet, PortId, QueueId};

/// A rule that maps packets to queues.
pub trait Assignment: Clone + Send + 'static {
    /// Queues of a port under this assignment.
    type Queues: Queues;
    /// Parameters of the assignment.
    type Params: Clone;
    /// Creates the state for a switch of this `shape`.
    fn new(params: &Self::Params, shape: &Shape) -> Self;
    /// Creates the queues of one port.
    fn queues(_params: &Self::Params, shape: &Shape) -> Self::Queues {
        Self::Queues::new(shape.queues as usize, shape.groups as usize, shape.quantum)
    }
    /// Chooses the queue for `packet` at egress `port`. Pure: the buffer may still refuse the packet.
    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        _ingress: PortId,
        port: PortId,
        queues: &Self::Queues,
        rng: &mut Stream,
    ) -> Choice;
    /// Prefetches the state that [`Assignment::choose`] will read first.
    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32;
    /// Adjusts `choice` for a scheduler by remaining size: `left` bytes of the packet's flow remain.
    #[inline(always)]
    fn adjust(&self, choice: Choice, _left: u64, _queues: &Self::Queues) -> Choice {
        choice
    }
    /// Records that the packet joins its queue, which does not hold it yet.
    fn on_enqueue(
        &mut self,
        _now: Instant,
        _packet: &Packet,
        _held: &Meta,
        _port: PortId,
        _choice: Choice,
        _queues: &Self::Queues,
    ) {
    }
    /// Records that the packet left its queue.
    fn on_dequeue(&mut self, _now: Instant, _held: &Meta, _port: PortId, _queue: QueueId) {}
    /// Number of flows with packets at `port`, if the assignment tracks flows.
    fn active_flows(&self, _port: PortId) -> Option<u32> {
        None
    }
    /// Assignment counts at `port`.
    fn assigned(&self, _port: PortId) -> Assigned {
        Assigned::default()
    }
    /// Compares the state with a recount over all buffered packets.
    fn audit(&self, _residents: &[Resident]) -> Result<(), String> {
        Ok(())
    }
}

/// Assigns every packet to queue 0. The queue type decides what that means: one FIFO, or a queue per flow.
#[derive(Clone, Debug)]
pub struct Single<Q>(core::marker::PhantomData<Q>);

/// [`Single`] with a plain FIFO.
pub type SingleFifo = Single<OneQueue>;

/// [`Single`] with a queue for each flow: ideal fair queueing, or another discipline of `Q`.
pub type PerFlow<Q = FlowQueues> = Single<Q>;

impl<Q: Queues> Assignment for Single<Q> {
    type Queues = Q;
    type Params = ();

    fn new(_params: &(), _shape: &Shape) -> Single<Q> {
        Single(core::marker::PhantomData)
    }

    #[inline(always)]
    fn prefetch(&self, _packet: &Packet, _ingress: PortId, _port: PortId) -> u32 {
        0
    }

    #[inline(always)]
    fn choose(
        &self,
        _now: Instant,
        _packet: &Packet,
        _ingress: PortId,
        _port: PortId,
        _queues: &Q,
        _rng: &mut Stream,
    ) -> Choice {
        Choice { queue: 0, tag: 0, fresh: false }
    }
}

/// Assigns a packet to the queue of its traffic class. Classes beyond the last queue share it. The queue type decides
/// the order of service: round robin or strict priority.
#[derive(Clone, Debug)]
pub struct ByClass<Q = PausableQueues<1>> {
    last: QueueId,
    queues: core::marker::PhantomData<Q>,
}

/// [`ByClass`] in strict priority.
pub type ByPriority = ByClass<StrictQueues>;

impl<Q: Queues> Assignment for ByClass<Q> {
    type Queues = Q;
    type Params = ();

    fn new(_params: &(), shape: &Shape) -> ByClass<Q> {
        ByClass { last: shape.queues - 1, queues: core::marker::PhantomData }
    }

    #[inline(always)]
    fn prefetch(&self, _packet: &Packet, _ingress: PortId, _port: PortId) -> u32 {
        0
    }

    #[inline(always)]
    fn choose(
        &self,
        _now: Instant,
        packet: &Packet,
        _ingress: PortId,
        _port: PortId,
        _queues: &Q,
        _rng: &mut Stream,
    ) -> Choice {
        Choice { queue: (packet.class as QueueId).min(self.last), tag: 0, fresh: false }
    }
}

/// Assigns a flow to a queue of its class by a fixed hash (stochastic fair queueing; spec B).
#[derive(Clone, Debug)]
pub struct Stochastic<const W: usize> {
    /// `[class]`: queues of the class.
    classes: Box<[Members<W>]>,
    salt: u64,
}

impl<const W: usize> Assignment for Stochastic<W> {
    type Queues = PausableQueues<W>;
    type Params = ();

    fn new(_params: &(), shape: &Shape) -> Stochastic<W> {
        Stochastic { classes: Members::of(shape.queues, shape.groups), salt: shape.salt }
    }

    #[inline(always)]
    fn prefetch(&self, _packet: &Packet, _ingress: PortId, _port: PortId) -> u32 {
        0
    }

    #[inline(always)]
    fn choose(
        &self,
        _now: Instant,
        packet: &Packet,
        _ingress: PortId,
        _port: PortId,
        _queues: &PausableQueues<W>,
        _rng: &mut Stream,
    ) -> Choice {
        let class = &self.classes[(packet.class as usize).min(self.classes.len() - 1)];
        let queue = class.first + hash::range32(hash::salted(packet.key, self.salt), class.count.into()) as QueueId;
        Choice { queue, tag: 0, fresh: false }
    }
}
