//! Load and pauses of each link, period by period.

use crate::stats::PortStats;
use backwater_types::{ControlFrame, Duration, Effect, Instant, Target};
use std::collections::HashMap;

/// Counts of a port so far.
#[derive(Clone, Copy, Debug)]
pub struct LinkCount {
    /// Bytes that the port has sent.
    pub sent: u64,
    /// Bytes of data that wait at the port now.
    pub queued: u64,
    /// Paused time, picoseconds: `LinkSample::paused` of the simulator.
    pub paused: u64,
}

impl LinkCount {
    /// Adds up the counts of a port: its settled counters, the data that waits, and the time that flows were paused.
    pub fn new(stats: &PortStats, queued: u64, flows_paused: u64) -> LinkCount {
        let held = &stats.held;
        LinkCount { sent: stats.sent.wire_bytes(), queued, paused: held.pfc_paused + held.bfc_paused + flows_paused }
    }
}

/// Flows that a neighbour pauses at a port, where pause frames name flows.
#[derive(Clone, Debug)]
pub struct FlowsHeld {
    /// Paused flows, with the instants of their last pause frames.
    named: HashMap<u32, Instant>,
    /// Time after which an unrepeated pause lapses; zero: never.
    lapse: Duration,
    /// Paused time up to `settled_at`, summed over flows, picoseconds.
    paused: u64,
    settled_at: Instant,
}

impl FlowsHeld {
    /// Creates a state without pauses. A pause that is not repeated for `lapse` ends at the next reading; if `lapse` is
    /// zero, it stays.
    pub fn new(lapse: Duration) -> FlowsHeld {
        FlowsHeld { named: HashMap::new(), lapse, paused: 0, settled_at: Instant::ZERO }
    }

    /// Applies a control frame of the neighbour.
    pub fn on_control(&mut self, now: Instant, frame: ControlFrame) {
        let Effect::Set { target: Target::Flow(name), holds } = frame.effect() else { return };
        self.settle(now);
        match holds {
            true => self.named.insert(name.flow, now),
            false => self.named.remove(&name.flow),
        };
    }

    /// Ends all pauses, because the link failed or came back.
    pub fn on_link_change(&mut self, now: Instant) {
        self.settle(now);
        self.named.clear();
    }

    /// Returns the paused time up to `now`, summed over flows, picoseconds.
    pub fn paused(&mut self, now: Instant) -> u64 {
        self.settle(now);
        if self.lapse > Duration::ZERO {
            let lapse = self.lapse;
            self.named.retain(|_, named| now.since(*named) <= lapse);
        }
        self.paused
    }

    /// Brings the paused time up to `now`.
    fn settle(&mut self, now: Instant) {
        self.paused += now.since(self.settled_at).0 * self.named.len() as u64;
        self.settled_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::FlowName;

    fn flow(flow: u32) -> FlowName {
        FlowName { flow, ..FlowName::default() }
    }

    #[test]
    fn flows_count_for_as_long_as_they_are_held() {
        let mut held = FlowsHeld::new(Duration(100));
        held.on_control(Instant(10), ControlFrame::PauseFlow(flow(1)));
        held.on_control(Instant(20), ControlFrame::PauseFlow(flow(2)));
        held.on_control(Instant(30), ControlFrame::PauseFlow(flow(1)));
        assert_eq!(held.paused(Instant(40)), 30 + 20, "a repetition counts once");
        held.on_control(Instant(50), ControlFrame::ResumeFlow(flow(1)));
        assert_eq!(held.paused(Instant(60)), 40 + 40);
        assert_eq!(held.paused(Instant(200)), 40 + 180, "the second has lapsed by now");
        assert_eq!(held.paused(Instant(300)), 40 + 180);
        held.on_control(Instant(300), ControlFrame::PauseFlow(flow(3)));
        held.on_link_change(Instant(310));
        assert_eq!(held.paused(Instant(400)), 40 + 180 + 10);
    }
}
