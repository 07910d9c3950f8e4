//! BFC's assignment of queues, with counts of two choices that leave no trace outside.

use backwater_dataplane::queues::PausableQueues;
use backwater_dataplane::{Assigned, Assignment, BfcParams, Choice, Dynamic, Meta, Resident, Shape};
use backwater_types::hash::Stream;
use backwater_types::{Instant, Packet, PortId, QueueId};
use std::sync::atomic::{AtomicU64, Ordering};

/// Flows assigned a random queue because none was empty.
pub static FALLBACKS: AtomicU64 = AtomicU64::new(0);
/// Flows assigned a queue that was empty but paused.
pub static EMPTY_BUT_PAUSED: AtomicU64 = AtomicU64::new(0);

/// [`Dynamic`] with counts.
#[derive(Clone)]
pub struct Spy(Dynamic<1>);

impl Assignment for Spy {
    type Queues = PausableQueues<1>;
    type Params = BfcParams;

    fn new(params: &BfcParams, shape: &Shape) -> Spy {
        Spy(Dynamic::new(params, shape))
    }

    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &PausableQueues<1>,
        rng: &mut Stream,
    ) -> Choice {
        let choice = self.0.choose(now, packet, ingress, port, queues, rng);
        if choice.fresh && queues.empty().is_empty() {
            FALLBACKS.fetch_add(1, Ordering::Relaxed);
        }
        if choice.fresh
            && queues.empty().contains(choice.queue as usize)
            && queues.closed().contains(choice.queue as usize)
        {
            EMPTY_BUT_PAUSED.fetch_add(1, Ordering::Relaxed);
        }
        choice
    }

    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
        self.0.prefetch(packet, ingress, port)
    }

    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        choice: Choice,
        queues: &PausableQueues<1>,
    ) {
        self.0.on_enqueue(now, packet, held, port, choice, queues);
    }

    fn on_dequeue(&mut self, now: Instant, held: &Meta, port: PortId, queue: QueueId) {
        self.0.on_dequeue(now, held, port, queue);
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        self.0.active_flows(port)
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.0.assigned(port)
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        self.0.audit(residents)
    }
}
