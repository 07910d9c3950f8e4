//! Division of a port's queues into isolation and normal queues.

use crate::queues::bits::Bits;
use backwater_types::QueueId;
use backwater_types::hash;

/// Division of the queues of a port. In each group the isolation queues come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) queues: u16,
    pub(super) per_group: u16,
    pub(super) isolation: u16,
}

impl Layout {
    #[inline(always)]
    pub(super) fn group(&self, class: u8) -> u16 {
        let groups = self.queues / self.per_group;
        if groups == 1 { 0 } else { (class as u16).min(groups - 1) }
    }

    /// Isolation queue of a flow.
    #[inline(always)]
    pub(super) fn isolation_queue(&self, class: u8, flow: u32, salt: u64) -> QueueId {
        let first = self.group(class) * self.per_group;
        if self.isolation == 1 {
            return first;
        }
        first + hash::range32(hash::mix64(flow as u64 ^ salt) as u32, self.isolation as u32) as u16
    }

    #[inline(always)]
    pub(super) fn is_isolation(&self, queue: QueueId) -> bool {
        queue % self.per_group < self.isolation
    }

    /// Normal queues of a group.
    pub(super) fn normal<const W: usize>(&self, group: u16) -> Bits<W> {
        let end = (group + 1) * self.per_group;
        let start = group * self.per_group + self.isolation;
        Bits::below(end as usize).minus(&Bits::below(start as usize))
    }
}
