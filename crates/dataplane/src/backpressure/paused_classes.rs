//! The upstream half of PFC where each traffic class has a queue of its own.

use crate::backpressure::Upstream;
use crate::canonical::Canonical;
use crate::queues::by_number::PausableByNumber;
use backwater_types::{ControlFrame, Effect, Instant, PortId, QueueMap, Target};
use core::hash::Hasher;

/// Pauses and resumes the queue of a frame's class in the port's scheduler; has no state of its own. Frames of classes
/// without a queue are ignored.
#[derive(Clone, Copy, Debug, Default)]
pub struct PausedClasses;

impl<Q: PausableByNumber> Upstream<Q> for PausedClasses {
    #[inline]
    fn on_control(&mut self, _now: Instant, _port: PortId, frame: ControlFrame, queues: &mut Q) {
        match frame.effect() {
            Effect::Set { target: Target::Class(class), holds } => queues.set_closed(class.into(), holds),
            Effect::Set { target: Target::Queue(_) | Target::Flow(_), .. } => {}
            Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => {}
        }
    }

    fn release(&mut self, _port: PortId, queues: &mut Q) {
        queues.set_all_closed(QueueMap::default());
    }

    #[inline(always)]
    fn may_send(&self, _port: PortId) -> bool {
        true
    }
}

impl Canonical for PausedClasses {
    fn canonical(&self, _now: Instant, _state: &mut impl Hasher) {}
}
