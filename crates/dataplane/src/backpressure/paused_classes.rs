//! The upstream half of PFC where each traffic class has a queue of its own.

use crate::backpressure::Upstream;
use crate::canonical::Canonical;
use crate::queues::by_number::PausableByNumber;
use backwater_types::{ControlFrame, Instant, PortId, QueueId, QueueMap};
use core::hash::Hasher;

/// A frame holds or lets go the queue of its class, wherever the scheduler of the port looks; it has no state of its own. Classes that
/// there are no queues for are nobody's.
#[derive(Clone, Copy, Debug, Default)]
pub struct PausedClasses;

impl<Q: PausableByNumber> Upstream<Q> for PausedClasses {
    #[inline]
    fn on_control(&mut self, _now: Instant, _port: PortId, frame: ControlFrame, queues: &mut Q) {
        match frame {
            ControlFrame::PfcPause(class) => queues.set_closed(class as QueueId, true),
            ControlFrame::PfcResume(class) => queues.set_closed(class as QueueId, false),
            _ => {}
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
