//! Pauses in force at one egress port, by the control frames that reached it.

use backwater_types::{ControlFrame, Effect, QueueId, QueueMap, Target};

/// Part of a port that a pause holds. Flows are identified by number alone, as their class may change between a pause
/// and its resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Data queue.
    Queue(QueueId),
    /// Flow number.
    Flow(u32),
    /// Traffic class of PFC; the whole port where PFC does not distinguish classes.
    Class(u8),
}

impl From<Target> for Hold {
    fn from(target: Target) -> Hold {
        match target {
            Target::Queue(queue) => Hold::Queue(queue),
            Target::Flow(name) => Hold::Flow(name.flow),
            Target::Class(class) => Hold::Class(class),
        }
    }
}

/// Held parts of a port. Each has a cause `T`, which keeps its value from the start of the hold.
#[derive(Clone, Debug)]
pub(super) struct Holds<T> {
    /// `[queue]`: cause of the hold, if the queue is held.
    queues: Vec<Option<T>>,
    /// Flows by number and cause, oldest hold first.
    flows: Vec<(u32, T)>,
    /// Classes and causes, oldest hold first.
    classes: Vec<(u8, T)>,
}

impl<T> Default for Holds<T> {
    fn default() -> Holds<T> {
        Holds { queues: Vec::new(), flows: Vec::new(), classes: Vec::new() }
    }
}

impl<T: Copy> Holds<T> {
    /// Applies a frame and gives `cause` to the holds that it begins. Calls `changed` for each hold that begins
    /// (`true`) or ends; a repetition changes nothing.
    pub(super) fn apply(&mut self, frame: ControlFrame, cause: T, mut changed: impl FnMut(Hold, bool)) {
        match frame.effect() {
            Effect::Set { target, holds } => {
                let hold = Hold::from(target);
                if self.set(hold, holds, cause) {
                    changed(hold, holds);
                }
            }
            Effect::SetQueues(map) => self.set_queues(map, cause, changed),
            // A port without credit waits for all packets that its neighbour holds, so no pause has a cause of its own.
            Effect::Limit(_) | Effect::Ask(_) => (),
        }
    }

    /// Begins or ends one hold. Returns whether that changed anything.
    fn set(&mut self, hold: Hold, holds: bool, cause: T) -> bool {
        match hold {
            Hold::Queue(queue) => {
                let queue = usize::from(queue);
                if holds {
                    self.queues.resize(self.queues.len().max(queue + 1), None);
                }
                self.queues.get_mut(queue).is_some_and(|held| set(held, holds, cause))
            }
            Hold::Flow(flow) => set_in(&mut self.flows, flow, holds, cause),
            Hold::Class(class) => set_in(&mut self.classes, class, holds, cause),
        }
    }

    /// Holds exactly the queues of `map`.
    fn set_queues(&mut self, map: QueueMap, cause: T, mut changed: impl FnMut(Hold, bool)) {
        self.queues.resize(self.queues.len().max(u128::BITS as usize), None);
        for (queue, held) in self.queues.iter_mut().enumerate() {
            let holds = map.bits().checked_shr(queue as u32).unwrap_or(0) & 1 == 1;
            if set(held, holds, cause) {
                changed(Hold::Queue(queue as QueueId), holds);
            }
        }
    }

    /// Cause of the hold on this queue.
    pub(super) fn queue(&self, queue: QueueId) -> Option<T> {
        self.queues.get(usize::from(queue)).copied().flatten()
    }

    /// Cause of the hold on this flow, or else, with `false`, of the oldest hold on any flow.
    pub(super) fn flow_or_oldest(&self, flow: u32) -> Option<(bool, T)> {
        let held = self.flows.iter().find(|(held, _)| *held == flow).or(self.flows.first());
        held.map(|(held, cause)| (*held == flow, *cause))
    }

    /// Cause of the oldest hold on any class.
    pub(super) fn oldest_class(&self) -> Option<T> {
        self.classes.first().map(|(_, cause)| *cause)
    }

    /// All held parts: queues, flows, then classes, each by number.
    pub(super) fn into_sorted(mut self) -> impl Iterator<Item = Hold> {
        self.flows.sort_unstable_by_key(|(flow, _)| *flow);
        self.classes.sort_unstable_by_key(|(class, _)| *class);
        let queues = self.queues.into_iter().zip(0..).filter_map(|(held, queue)| held.map(|_| Hold::Queue(queue)));
        let flows = self.flows.into_iter().map(|(flow, _)| Hold::Flow(flow));
        queues.chain(flows).chain(self.classes.into_iter().map(|(class, _)| Hold::Class(class)))
    }
}

/// Begins or ends a hold with its own place. Returns whether that changed anything.
fn set<T>(held: &mut Option<T>, holds: bool, cause: T) -> bool {
    let changes = held.is_some() != holds;
    if changes {
        *held = holds.then_some(cause);
    }
    changes
}

/// Begins or ends a hold in a list by age. Returns whether that changed anything.
fn set_in<K: PartialEq, T>(held: &mut Vec<(K, T)>, one: K, holds: bool, cause: T) -> bool {
    match (held.iter().position(|(other, _)| *other == one), holds) {
        (None, true) => held.push((one, cause)),
        (Some(at), false) => drop(held.remove(at)),
        (None, false) | (Some(_), true) => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::FlowName;

    #[test]
    fn each_change_is_heard_once_and_a_hold_keeps_its_first_cause() {
        let (mut holds, mut cause) = (Holds::default(), 0);
        let name = |flow, class| FlowName { flow, slot: 0, class };
        let mut apply = |frame: ControlFrame| {
            let mut changes = Vec::new();
            holds.apply(frame, cause, |hold, holds| changes.push((hold, holds)));
            cause += 1;
            (changes, holds.clone())
        };
        assert_eq!(apply(ControlFrame::Pause(3)).0, [(Hold::Queue(3), true)]);
        assert_eq!(apply(ControlFrame::Pause(3)).0, [], "a repetition");
        assert_eq!(apply(ControlFrame::Resume(200)).0, [], "of a queue that never was held");
        let (changes, held) = apply(ControlFrame::Bitmap(QueueMap::new([1 << 3 | 1 << 1, 1 << 63])));
        assert_eq!(changes, [(Hold::Queue(1), true), (Hold::Queue(127), true)]);
        assert_eq!([3, 1, 127, 200].map(|queue| held.queue(queue)), [Some(0), Some(3), Some(3), None]);
        assert_eq!(apply(ControlFrame::PauseFlow(name(9, 0))).0, [(Hold::Flow(9), true)]);
        assert_eq!(apply(ControlFrame::PauseFlow(name(7, 0))).0, [(Hold::Flow(7), true)]);
        let (changes, held) = apply(ControlFrame::PfcPause(2));
        assert_eq!(changes, [(Hold::Class(2), true)]);
        assert_eq!((held.flow_or_oldest(7), held.flow_or_oldest(1)), (Some((true, 5)), Some((false, 4))));
        assert_eq!(held.oldest_class(), Some(6));
        let all = [Hold::Queue(1), Hold::Queue(3), Hold::Queue(127), Hold::Flow(7), Hold::Flow(9), Hold::Class(2)];
        assert!(held.into_sorted().eq(all));
        assert_eq!(apply(ControlFrame::ResumeFlow(name(9, 1))).0, [(Hold::Flow(9), false)], "whatever its class");
        assert_eq!(apply(ControlFrame::Credit(5)).0, []);
        let released = [Hold::Queue(1), Hold::Queue(3), Hold::Queue(127)].map(|hold| (hold, false));
        assert_eq!(apply(ControlFrame::Bitmap(QueueMap::default())).0, released);
    }
}
