//! Watchdog over the pauses of one neighbour: it finds a pause that does not end, and ends it.
//!
//! Switches have such a watchdog for PFC, because a neighbour that pauses for ever stops its whole upstream. This one
//! looks at queues, flows and classes alike. It looks every `poll`, so it finds a pause after more than `span` and at
//! most `span + poll`. The neighbour may hold the same again only after it has released it, or has stopped to repeat it
//! for `span`.

use backwater_types::{ControlFrame, Duration, Effect, FlowName, Instant, Packet, QueueMap, Target};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Treatment of packets that a neighbour holds too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// They are sent, whatever the neighbour says.
    Forward,
    /// They are dropped, so that the buffer is free for others.
    Drop,
}

/// Settings of watchdogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Longest time that a neighbour may hold a queue, a flow or a class without a break.
    pub span: Duration,
    /// Period of the looks.
    pub poll: Duration,
    /// Treatment of packets that are held longer.
    pub action: Action,
}

impl Settings {
    /// Settings in seconds of the network; `None` if a time is not positive, or too long.
    pub fn from_seconds(span: f64, poll: f64, action: Action) -> Option<Settings> {
        let time = |seconds: f64| (seconds * 1e12 >= 1.0 && seconds < 1e6).then_some(Duration((seconds * 1e12) as u64));
        Some(Settings { span: time(span)?, poll: time(poll)?, action })
    }
}

/// Counters of a watchdog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pauses that lasted too long.
    pub alarms: u64,
    /// Alarms that have ended.
    pub restored: u64,
    /// Packets dropped.
    pub dropped: u64,
}

/// Watchdog of one port.
#[derive(Debug)]
pub(super) struct Watchdog {
    settings: Settings,
    held: BTreeMap<Key, Held>,
    /// Held targets with an alarm.
    alarmed: usize,
    pub(super) counts: Counts,
}

/// A target, in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Queue(u16),
    Class(u8),
    Flow(u32, u32, u8),
}

/// A target that the neighbour holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    since: Instant,
    /// Time of the neighbour's last frame about it.
    heard: Instant,
    alarmed: bool,
}

impl Key {
    fn of(target: Target) -> Key {
        match target {
            Target::Queue(queue) => Key::Queue(queue),
            Target::Class(class) => Key::Class(class),
            Target::Flow(FlowName { flow, slot, class }) => Key::Flow(flow, slot, class),
        }
    }

    /// Frame that releases the target.
    fn release(self) -> ControlFrame {
        match self {
            Key::Queue(queue) => ControlFrame::Resume(queue),
            Key::Class(class) => ControlFrame::PfcResume(class),
            Key::Flow(flow, slot, class) => ControlFrame::ResumeFlow(FlowName { flow, slot, class }),
        }
    }
}

/// Flows that are watched at most. A neighbour that names more is not a switch of ours.
const MOST: usize = 1 << 16;

impl Watchdog {
    pub(super) fn new(settings: Settings) -> Watchdog {
        Watchdog { settings, held: BTreeMap::new(), alarmed: 0, counts: Counts::default() }
    }

    /// First look after `now`.
    pub(super) fn next(&self, now: Instant) -> Instant {
        Instant((now.0 / self.settings.poll.0 + 1).saturating_mul(self.settings.poll.0))
    }

    /// Takes a frame of the neighbour. Returns the frame that the node is to obey, if any.
    pub(super) fn hear(&mut self, now: Instant, frame: ControlFrame) -> Option<ControlFrame> {
        match frame.effect() {
            Effect::Set { target, holds: true } => self.holds(now, Key::of(target)).then_some(frame),
            Effect::Set { target, holds: false } => {
                self.forget(Key::of(target));
                Some(frame)
            }
            Effect::SetQueues(map) => {
                let bits = map.bits();
                let queues = (0..128).filter(|queue| bits >> queue & 1 == 1);
                let left =
                    queues.filter(|queue| self.holds(now, Key::Queue(*queue))).fold(0u128, |map, q| map | 1 << q);
                let gone = |key: &Key| matches!(key, Key::Queue(queue) if bits.checked_shr((*queue).into()).unwrap_or(0) & 1 == 0);
                let gone: Vec<Key> = self.held.keys().copied().filter(gone).collect();
                gone.into_iter().for_each(|key| self.forget(key));
                Some(ControlFrame::Bitmap(QueueMap::new([left as u64, (left >> 64) as u64])))
            }
            Effect::Limit(_) | Effect::Ask(_) => Some(frame),
        }
    }

    /// Records that the neighbour holds a target. Returns whether the node is to obey.
    fn holds(&mut self, now: Instant, key: Key) -> bool {
        if let Some(held) = self.held.get_mut(&key) {
            held.heard = now;
            return !held.alarmed;
        }
        if self.held.len() < MOST {
            self.held.insert(key, Held { since: now, heard: now, alarmed: false });
        }
        true
    }

    fn forget(&mut self, key: Key) {
        if self.held.remove(&key).is_some_and(|held| held.alarmed) {
            self.alarmed -= 1;
            self.counts.restored += 1;
        }
    }

    /// Forgets all pauses: the neighbour has started again.
    pub(super) fn start_again(&mut self) {
        let keys: Vec<Key> = self.held.keys().copied().collect();
        keys.into_iter().for_each(|key| self.forget(key));
    }

    /// Looks at all pauses. Returns frames that release those that lasted too long.
    pub(super) fn look(&mut self, now: Instant) -> Vec<ControlFrame> {
        let span = self.settings.span;
        let silent: Vec<Key> =
            self.held.iter().filter(|(_, h)| h.alarmed && now.since(h.heard) > span).map(|(key, _)| *key).collect();
        silent.into_iter().for_each(|key| self.forget(key));
        let late = self.held.iter_mut().filter(|(_, held)| !held.alarmed && now.since(held.since) > span);
        let late: Vec<Key> = late
            .map(|(key, held)| {
                held.alarmed = true;
                *key
            })
            .collect();
        self.alarmed += late.len();
        self.counts.alarms += late.len() as u64;
        late.into_iter().map(Key::release).collect()
    }

    /// Whether to drop a data packet that leaves by the port, of a network with `classes` traffic classes.
    pub(super) fn drops(&mut self, packet: &Packet, classes: u8) -> bool {
        if self.alarmed == 0 || self.settings.action == Action::Forward {
            return false;
        }
        let name = packet.flow_name();
        let held_here = |(key, held): (&Key, &Held)| {
            held.alarmed
                && match *key {
                    Key::Queue(queue) => queue == packet.upstream_queue,
                    Key::Class(class) => classes == 1 || class == packet.class,
                    Key::Flow(flow, slot, class) => name == FlowName { flow, slot, class },
                }
        };
        let drops = self.held.iter().any(held_here);
        self.counts.dropped += u64::from(drops);
        drops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn dog(action: Action) -> Watchdog {
        Watchdog::new(Settings { span: Duration::from_us(100), poll: Duration::from_us(30), action })
    }

    fn at(us: u64) -> Instant {
        Instant(us * US)
    }

    fn map(bits: u64) -> ControlFrame {
        ControlFrame::Bitmap(QueueMap::new([bits, 0]))
    }

    /// A pause that starts at any time is found after more than 100 us and at most 130 us.
    #[test]
    fn a_pause_without_end_is_found_in_time() {
        let flow = FlowName { flow: 1, slot: 2, class: 0 };
        let frames = [
            (ControlFrame::Pause(3), ControlFrame::Resume(3)),
            (map(8), ControlFrame::Resume(3)),
            (ControlFrame::PfcPause(1), ControlFrame::PfcResume(1)),
            (ControlFrame::PauseFlow(flow), ControlFrame::ResumeFlow(flow)),
        ];
        for start in 0..60 {
            for (pause, resume) in frames {
                let (mut dog, mut now) = (dog(Action::Forward), at(0));
                assert_eq!(dog.hear(at(start), pause), Some(pause));
                let found = loop {
                    now = dog.next(now);
                    // The neighbour repeats itself, as switches do.
                    assert!(now < at(start) || dog.hear(now, pause).is_some());
                    let released = dog.look(now);
                    if !released.is_empty() {
                        assert_eq!(released, [resume]);
                        break now;
                    }
                };
                let after = found.0 - start * US;
                assert!((100 * US + 1..=130 * US).contains(&after), "{pause:?} at {start} us: after {after} ps");
                // It is not obeyed until it was released.
                let rest = dog.hear(found, pause);
                assert!(rest.is_none() || rest == Some(map(0)), "{rest:?}");
                assert_eq!(dog.hear(found, resume), Some(resume));
                assert_eq!(dog.hear(found, pause), Some(pause));
                assert_eq!(dog.counts, Counts { alarms: 1, restored: 1, dropped: 0 });
            }
        }
    }

    #[test]
    fn pauses_that_end_raise_no_alarm() {
        let (mut dog, mut now) = (dog(Action::Drop), at(0));
        for round in 0..1000 {
            dog.hear(at(100 * round), map(6));
            // Queue 1 is released for an instant, queue 2 by each second map.
            dog.hear(at(100 * round + 50), ControlFrame::Resume(1));
            dog.hear(at(100 * round + 90), map(0));
            while now < at(100 * round + 100) {
                now = dog.next(now);
                assert_eq!(dog.look(now), []);
            }
        }
        assert_eq!(dog.counts, Counts::default());
    }

    #[test]
    fn a_neighbour_that_falls_silent_is_forgotten() {
        let mut dog = dog(Action::Drop);
        dog.hear(at(1), ControlFrame::Pause(3));
        assert_eq!(dog.look(at(120)), [ControlFrame::Resume(3)]);
        assert_eq!(dog.look(at(150)), []);
        assert_eq!(dog.counts, Counts { alarms: 1, restored: 1, dropped: 0 });
    }

    #[test]
    fn packets_of_what_is_held_are_dropped_and_no_others() {
        let packet = |upstream_queue, flow| Packet { upstream_queue, flow, ..Packet::NONE };
        for (action, drops) in [(Action::Drop, true), (Action::Forward, false)] {
            let mut dog = dog(action);
            dog.hear(at(0), ControlFrame::Pause(3));
            dog.hear(at(0), ControlFrame::PauseFlow(packet(0, 9).flow_name()));
            assert!(!dog.drops(&packet(3, 1), 2), "there is no alarm yet");
            dog.look(at(120));
            assert_eq!([packet(3, 1), packet(4, 9)].map(|packet| dog.drops(&packet, 2)), [drops; 2]);
            assert!(!dog.drops(&packet(4, 1), 2));
            assert_eq!(dog.counts.dropped, if drops { 2 } else { 0 });
            dog.start_again();
            assert!(!dog.drops(&packet(3, 1), 2));
        }
    }
}
