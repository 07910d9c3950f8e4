//! Stall detection: ends a run in which paused packets wait for one another for good.
//!
//! A run has stalled if all of these hold:
//!
//! * No flow is still to arrive.
//! * No data packet and no ACK has left any port for [`Timing::stall_after`](super::Timing::stall_after): [`MARGIN`]
//!   plus the time in which a resume frame and the packet it releases cross their links. Repeated pause frames do not
//!   count.
//! * No packet buffered in a switch may leave.
//! * Each counted flow that has not finished has a packet in a switch, or a pause keeps it from sending.
//!
//! The buffered packets then wait for resumes, and the resumes wait for buffered packets to leave. A retransmission
//! would join the packets that wait. Stalls are not detected where a retransmission may take another path, nor where
//! links lose frames or fail: a fault can end a pause, or lose the frame that ends it.

use backwater_engine::Partition;
use backwater_types::{Duration, Instant};

/// Period of the checks for a stall.
pub(super) const EVERY: Duration = Duration::from_us(100);
/// Least idle time before a stall, beyond the time in which a resume frame and the packet it releases cross their
/// links. Pauses are repeated ten times within it.
pub(crate) const MARGIN: Duration = Duration::from_us(1000);

/// State of one partition at a check.
#[derive(Default)]
pub(super) struct PartitionState {
    /// Whether a packet has left a port recently, or may leave one now.
    active: bool,
    /// Flows with packets in switches of the partition, ascending.
    buffered: Vec<u32>,
    /// Counted flows of hosts of the partition that have not finished, and whether a pause keeps each from sending.
    unfinished: Vec<(u32, bool)>,
}

/// Detector of idle time in one partition.
#[derive(Default)]
pub(super) struct StallDetector {
    /// Packets sent by the last check.
    sent: u64,
    /// Time of the first check that found this number of packets.
    since: Instant,
}

impl StallDetector {
    /// Checks the partition, which is active unless it has been idle for `stall_after`. `counts` selects the counted
    /// flows.
    pub(super) fn check(
        &mut self,
        now: Instant,
        stall_after: Duration,
        nodes: &mut dyn Partition,
        counts: impl Fn(u32) -> bool,
    ) -> PartitionState {
        let sent = nodes.packets_sent();
        if self.sent != sent {
            *self = StallDetector { sent, since: now };
        }
        let mut state = PartitionState { active: now.since(self.since) < stall_after, ..PartitionState::default() };
        if state.active {
            return state;
        }
        nodes.switches(&mut |switch| {
            state.active |= (0..switch.ports()).any(|port| switch.sendable(port));
            switch.readings().visit(&mut |_, _, packet, _| {
                if packet.wire > 0 {
                    state.buffered.push(packet.flow);
                }
            });
        });
        state.buffered.sort_unstable();
        state.buffered.dedup();
        nodes.unfinished(now, &mut |flow, paused| {
            if counts(flow) {
                state.unfinished.push((flow, paused));
            }
        });
        state
    }
}

/// Whether a run with these states of its partitions has stalled. `left` counted flows have not finished.
pub(super) fn has_stalled<'a>(states: impl Iterator<Item = &'a PartitionState> + Clone, left: u64) -> bool {
    let is_buffered = |flow: u32| states.clone().any(|state| state.buffered.binary_search(&flow).is_ok());
    let mut flows = states.clone().flat_map(|state| &state.unfinished);
    !states.clone().any(|state| state.active)
        && states.clone().any(|state| !state.buffered.is_empty())
        && flows.clone().count() as u64 == left
        && flows.all(|(flow, paused)| *paused || is_buffered(*flow))
}
