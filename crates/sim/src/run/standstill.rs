//! Whether a run stands still for good, so that nothing is gained by going on to its last moment.
//!
//! It does once no flow is still to arrive and for [`MARGIN`] longer than a frame is on its way no packet has left any port but frames
//! that repeat pauses, if all that switches hold may not leave, and each counted flow that has not finished has a packet there or is
//! kept from sending by a pause. Packets then wait for pauses, and pauses for packets: what a sender might send again would join those
//! that wait. Not where a packet sent again may take another path, nor where links lose frames or fail, which can end a pause or lose
//! the end of one.

use backwater_engine::Partition;
use backwater_types::{Duration, Instant};

/// Runs are looked at at multiples of this.
pub(super) const EVERY: Duration = Duration::from_us(100);
/// So long nothing has to have moved, beyond what a frame that ends a pause may take: pauses are repeated ten times meanwhile.
pub(crate) const MARGIN: Duration = Duration::from_us(1000);

/// How one partition stands.
#[derive(Default)]
pub(super) struct Stand {
    /// Something has moved of late, or may.
    moves: bool,
    /// Flows with packets in its switches, ascending.
    waiting: Vec<u32>,
    /// Counted flows of its hosts that have not finished, and whether a pause keeps them from sending.
    unfinished: Vec<(u32, bool)>,
}

/// When something moved last in one partition.
#[derive(Default)]
pub(super) struct Stillness {
    sent: u64,
    since: Instant,
}

impl Stillness {
    /// How the partition stands, where what has not moved for `still` does not move; `counts` says which flows count.
    pub(super) fn look(
        &mut self,
        now: Instant,
        still: Duration,
        nodes: &mut dyn Partition,
        counts: impl Fn(u32) -> bool,
    ) -> Stand {
        let sent = nodes.packets_sent();
        if self.sent != sent {
            *self = Stillness { sent, since: now };
        }
        let mut stand = Stand { moves: now.since(self.since) < still, ..Stand::default() };
        if stand.moves {
            return stand;
        }
        nodes.switches(&mut |switch| {
            stand.moves |= (0..switch.ports()).any(|port| switch.sendable(port));
            switch.readings().visit(&mut |_, _, packet, _| {
                if packet.wire > 0 {
                    stand.waiting.push(packet.flow);
                }
            });
        });
        stand.waiting.sort_unstable();
        stand.waiting.dedup();
        nodes.unfinished(now, &mut |flow, may_send| {
            if counts(flow) {
                stand.unfinished.push((flow, may_send));
            }
        });
        stand
    }
}

/// Whether a run whose partitions stand like this stands still, with so many counted flows left.
pub(super) fn still<'a>(stands: impl Iterator<Item = &'a Stand> + Clone, left: u64) -> bool {
    let waits = |flow: u32| stands.clone().any(|stand| stand.waiting.binary_search(&flow).is_ok());
    let mut flows = stands.clone().flat_map(|stand| &stand.unfinished);
    !stands.clone().any(|stand| stand.moves)
        && stands.clone().any(|stand| !stand.waiting.is_empty())
        && flows.clone().count() as u64 == left
        && flows.all(|(flow, held)| *held || waits(*flow))
}
