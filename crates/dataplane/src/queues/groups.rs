//! Groups of queues: strict priority between them, deficit round robin within each.
//!
//! Source: spec B.2, "Priority classes"; BFC, appendix A.3. Groups hold consecutive queue numbers, the highest group
//! first. Group g of K has the queues from ceil(g n / K) up to the first queue of group g + 1, out of n. With 32 queues
//! each of four groups has 8. With 31, next to a queue for control frames, the last group has one queue fewer than the
//! others.

use crate::queues::bits::Bits;
use crate::queues::drr::{Drr, Served};
use alloc::boxed::Box;
use backwater_types::QueueId;
use core::ops::Range;

/// Queue numbers of group `group`, out of `queues` in `groups` groups.
pub fn range(queues: u16, groups: u16, group: u16) -> Range<QueueId> {
    let start = |group: u16| (group as u32 * queues as u32).div_ceil(groups as u32) as QueueId;
    start(group)..start(group + 1)
}

/// The queues of a group.
#[derive(Clone, Copy, Debug)]
pub struct Members<const W: usize> {
    /// Set of the group's queues.
    pub all: Bits<W>,
    /// Lowest queue number of the group.
    pub first: QueueId,
    /// Number of queues in the group.
    pub count: u16,
}

impl<const W: usize> Members<W> {
    /// `[group]`: divides `queues` queues among `groups` groups, with none shared.
    ///
    /// # Panics
    /// If a group would have no queue.
    pub fn of(queues: u16, groups: u16) -> Box<[Members<W>]> {
        assert!(queues >= groups, "{queues} queues do not make {groups} groups");
        let members = |group| {
            let Range { start, end } = range(queues, groups, group);
            let all = Bits::below(end as usize).minus(&Bits::below(start as usize));
            Members { all, first: start, count: end - start }
        };
        (0..groups).map(members).collect()
    }

    /// `[group]`: gives queue `g` to group `g` alone. Queues from `groups` on belong to all groups.
    ///
    /// # Panics
    /// If a group would have no queue.
    pub fn sharing(queues: u16, groups: u16) -> Box<[Members<W>]> {
        assert!(queues >= groups, "{queues} queues do not make {groups} groups");
        let members = |group: u16| {
            let mut all = Bits::below(queues as usize).minus(&Bits::below(groups as usize));
            all.insert(group as usize);
            Members { all, first: group, count: queues - groups + 1 }
        };
        (0..groups).map(members).collect()
    }
}

/// Schedulers of the groups of a port.
#[derive(Clone, Debug)]
pub struct Groups<const W: usize> {
    /// Scheduler of the highest group, or of all queues if there is one group.
    highest: Drr,
    lower: Box<[Group<W>]>,
    /// Whether queues of higher groups have lower numbers.
    ordered: bool,
}

#[derive(Clone, Debug)]
struct Group<const W: usize> {
    members: Bits<W>,
    drr: Drr,
}

impl<const W: usize> Groups<W> {
    /// Divides `queues` queues among `groups` groups; a visit is worth `quantum` bytes.
    pub fn new(queues: u16, groups: u16, quantum: u32) -> Groups<W> {
        let group = |members: &Members<W>| Group { members: members.all, drr: Drr::new(quantum) };
        Groups {
            highest: Drr::new(quantum),
            lower: Members::of(queues, groups)[1..].iter().map(group).collect(),
            ordered: true,
        }
    }

    /// Picks the queue to send from among `eligible`: deficit round robin ([`Drr::pick`]) in the highest group with an
    /// eligible queue.
    #[inline(always)]
    pub fn pick<S: Served>(&mut self, eligible: &Bits<W>, queues: &mut [S], head: impl Fn(&S) -> u32) -> Option<usize> {
        if self.lower.is_empty() {
            return self.highest.pick(eligible, queues, head);
        }
        // The lowest number belongs to the highest eligible group.
        let first = if self.ordered { eligible.next_from(0)? } else { self.first_of_highest(eligible)? };
        let group = self.same_group(first, *eligible);
        self.drr(first).pick(&group, queues, head)
    }

    /// An eligible queue of the highest group that has one.
    fn first_of_highest(&self, eligible: &Bits<W>) -> Option<usize> {
        (0..=self.lower.len()).find_map(|group| self.of(group, *eligible).next_from(0))
    }

    /// Queues of `of` that belong to group `group`.
    pub fn of(&self, group: usize, of: Bits<W>) -> Bits<W> {
        match group.checked_sub(1) {
            Some(lower) => of.and(&self.lower[lower].members),
            None => self.lower.iter().fold(of, |rest, group| rest.minus(&group.members)),
        }
    }

    /// Moves queue `q`, which has no packet and no credit, to group `group`.
    pub fn give(&mut self, q: usize, group: usize) {
        self.ordered = false;
        self.lower.iter_mut().for_each(|lower| lower.members.remove(q));
        if let Some(lower) = group.checked_sub(1) {
            self.lower[lower].members.insert(q);
        }
    }

    /// Clears the credit of queue `q`, just picked and now empty.
    #[inline(always)]
    pub fn emptied<S: Served>(&mut self, q: usize, queue: &mut S) {
        self.drr(q).emptied(queue);
    }

    /// Records that a packet of `q` was sent while all queues were empty.
    #[inline(always)]
    pub fn passed(&mut self, q: usize) {
        self.drr(q).passed(q);
    }

    /// Queues of `of` in the same group as `q`.
    #[inline(always)]
    pub fn same_group(&self, q: usize, of: Bits<W>) -> Bits<W> {
        match self.lower.iter().find(|group| group.members.contains(q)) {
            Some(group) => of.and(&group.members),
            None => self.of(0, of),
        }
    }

    /// Scheduler of each group.
    pub fn drrs(&self) -> impl Iterator<Item = &Drr> {
        core::iter::once(&self.highest).chain(self.lower.iter().map(|group| &group.drr))
    }

    #[inline(always)]
    fn drr(&mut self, q: usize) -> &mut Drr {
        match self.lower.iter_mut().find(|group| group.members.contains(q)) {
            Some(group) => &mut group.drr,
            None => &mut self.highest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn groups_share_out_the_queues_and_the_last_has_one_fewer_beside_a_control_queue() {
        let counts = |queues, groups| (0..groups).map(|g| range(queues, groups, g).len()).collect::<Vec<_>>();
        assert_eq!(counts(32, 4), [8; 4]);
        assert_eq!(counts(31, 4), [8, 8, 8, 7]);
        assert_eq!(counts(127, 4), [32, 32, 32, 31]);
        assert_eq!((counts(31, 1), counts(8, 8)), (Vec::from([31]), Vec::from([1; 8])));
        for queues in 1..=128 {
            for groups in 1..=8.min(queues) {
                let counts = counts(queues, groups);
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(*least >= 1 && most - least <= 1, "{queues} queues, {groups} groups: {counts:?}");
                assert_eq!((counts.iter().sum::<usize>(), range(queues, groups, 0).start), (queues.into(), 0));
            }
        }
    }

    #[test]
    fn queues_of_one_group_have_the_same_group() {
        let groups = Groups::<1>::new(31, 4, 1048);
        for (group, members) in Members::<1>::of(31, 4).iter().enumerate() {
            assert_eq!(members.all.count(), u32::from(members.count));
            for q in range(31, 4, group as u16) {
                assert_eq!(groups.same_group(q.into(), Bits::below(31)), members.all);
                assert_eq!(groups.same_group(q.into(), Bits::below(q.into())).count(), u32::from(q - members.first));
            }
        }
    }
}
