//! Homa's levels with BFC's dynamic assignment for unscheduled packets: the switch, not the sender, chooses among the
//! queues of the unscheduled levels.
//!
//! Source: Goyal et al., "Backpressure Flow Control", NSDI 2022, the end of appendix A.2: "combine BFC's dynamic queue
//! assignment for unscheduled traffic with Homa's grant mechanism for controlling scheduled traffic". The paper leaves
//! the design open. The design here:
//!
//! * of `P` queues, one for each level, the first `U` serve unscheduled packets, where `U` is Homa's number of
//!   unscheduled levels;
//! * an unscheduled packet, `level < U`, joins one of these as under [`Dynamic`]. A newly active flow gets an empty
//!   queue and keeps it while it is active. If none is empty, the queue is random, or with `similar` the queue with the
//!   most similar remaining size. Two messages of one size, hence of one level, have a queue each while there are
//!   enough;
//! * a scheduled packet, `level >= U`, joins queue `level`.
//!
//! [`SrfAboveStrict`] schedules the queues. Only unscheduled packets make a flow active or sticky. The flow table has
//! the size of BFC's for the same number of queues. With packet spraying a core switch sees a part of a message's
//! packets and assigns its queue by that part.

use crate::assign::{Assignment, Dynamic};
use crate::backpressure::BfcParams;
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::queues::srf_above_strict::SrfAboveStrict;
use crate::shape::Shape;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{Instant, Packet, PortId, QueueId};

/// Dynamic assignment for unscheduled packets; for scheduled ones the queue of their level.
#[derive(Clone, Debug)]
pub struct HomaDynamic {
    unscheduled: Dynamic<1, SrfAboveStrict>,
    /// The first scheduled level, which is also its queue.
    scheduled: QueueId,
    last: QueueId,
}

impl Assignment for HomaDynamic {
    type Queues = SrfAboveStrict;
    type Params = BfcParams;

    fn new(params: &BfcParams, shape: &Shape) -> HomaDynamic {
        let scheduled = SrfAboveStrict::shared(shape.queues.into(), shape.groups.into()) as QueueId;
        let unscheduled = Dynamic::new(params, &Shape { queues: scheduled, groups: 1, ..shape.clone() });
        HomaDynamic { unscheduled, scheduled, last: shape.queues - 1 }
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
        self.unscheduled.prefetch(packet, ingress, port)
    }

    #[inline(always)]
    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &SrfAboveStrict,
        rng: &mut Stream,
    ) -> Choice {
        let level = QueueId::from(packet.class);
        if level < self.scheduled {
            return self.unscheduled.choose(now, packet, ingress, port, queues, rng);
        }
        Choice { queue: level.min(self.last), tag: 0, fresh: false }
    }

    #[inline(always)]
    fn adjust(&self, choice: Choice, left: u64, queues: &SrfAboveStrict) -> Choice {
        self.unscheduled.adjust(choice, left, queues)
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        choice: Choice,
        queues: &SrfAboveStrict,
    ) {
        if choice.queue < self.scheduled {
            self.unscheduled.on_enqueue(now, packet, held, port, choice, queues);
        }
    }

    #[inline(always)]
    fn on_dequeue(&mut self, now: Instant, held: &Meta, port: PortId, queue: QueueId) {
        if queue < self.scheduled {
            self.unscheduled.on_dequeue(now, held, port, queue);
        }
    }

    /// Counts of unscheduled packets.
    fn assigned(&self, port: PortId) -> Assigned {
        self.unscheduled.assigned(port)
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let (unscheduled, scheduled): (Vec<Resident>, Vec<Resident>) =
            residents.iter().partition(|r| QueueId::from(r.packet.class) < self.scheduled);
        if let Some(r) = unscheduled.iter().find(|r| r.queue >= self.scheduled) {
            return Err(format!("an unscheduled packet of level {} is in queue {}", r.packet.class, r.queue));
        }
        if let Some(r) = scheduled.iter().find(|r| r.queue != QueueId::from(r.packet.class).min(self.last)) {
            return Err(format!("a scheduled packet of level {} is in queue {}", r.packet.class, r.queue));
        }
        self.unscheduled.audit(&unscheduled)
    }
}
