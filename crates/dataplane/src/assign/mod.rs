//! Queue assignment: which queue of its egress port a packet joins.

pub mod dynamic;
pub mod homa_dynamic;

pub use dynamic::Dynamic;
pub use homa_dynamic::HomaDynamic;

use crate::held::{Assigned, Choice, Held, Resident};
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
    /// The queues it needs.
    type Queues: Queues;
    /// Its parameters.
    type Params: Clone;
    /// For a switch of this shape.
    fn new(params: &Self::Params, shape: &Shape) -> Self;
    /// The queues of a port of it.
    fn queues(_params: &Self::Params, shape: &Shape) -> Self::Queues {
        Self::Queues::new(shape.queues as usize, shape.groups as usize, shape.quantum)
    }
    /// The queue for `packet` at egress `port`. Pure: the buffer may still refuse the packet.
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
    /// The queue for the packet that `choice` was for, which says that so much is left of its flow.
    #[inline(always)]
    fn beside(&self, choice: Choice, _left: u64, _queues: &Self::Queues) -> Choice {
        choice
    }
    /// The packet joins the queue, which does not hold it yet.
    fn on_enqueue(
        &mut self,
        _now: Instant,
        _packet: &Packet,
        _held: &Held,
        _port: PortId,
        _choice: Choice,
        _queues: &Self::Queues,
    ) {
    }
    /// The packet left its queue.
    fn on_dequeue(&mut self, _now: Instant, _held: &Held, _port: PortId, _queue: QueueId) {}
    /// Flows with packets in `port`, if the rule knows.
    fn active_flows(&self, _port: PortId) -> Option<u32> {
        None
    }
    /// Counts at `port`.
    fn assigned(&self, _port: PortId) -> Assigned {
        Assigned::default()
    }
    /// Compares its state with a recount over all packets held.
    fn audit(&self, _residents: &[Resident]) -> Result<(), String> {
        Ok(())
    }
}

/// Everything into queue 0, which is one FIFO or whatever the queues make of it.
#[derive(Clone, Debug)]
pub struct Single<Q>(core::marker::PhantomData<Q>);

/// [`Single`] with a plain FIFO.
pub type SingleFifo = Single<OneQueue>;

/// [`Single`] with a queue of its own for each flow: ideal fair queueing, or what else these queues make of it.
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

/// The queue of its traffic class; classes beyond the last queue share it. How these are served is for the queues to say: in turn, or
/// in strict priority.
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

/// A fixed hash of the flow (stochastic fair queueing; spec B), among the queues of its class.
#[derive(Clone, Debug)]
pub struct Stochastic<const W: usize> {
    /// `[class]`: its queues.
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
