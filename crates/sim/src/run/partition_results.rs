//! Results of one partition of a run.

use backwater_counters::stats::PortStats;
use backwater_measure::link_samples::LinkSample;
use backwater_measure::samples::Samples;
use backwater_paged::{Paged, ROWS_MAX, Record};
use backwater_traffic::Progress;
use backwater_types::Instant;

/// Results that one partition collects during a run, besides the counters of its nodes.
pub(crate) struct PartitionResults {
    /// `[closed-loop flow]`: start; [`Instant::NEVER`] if the source is in another partition.
    pub(crate) started: Paged<Instant>,
    /// `[flow]`: arrival of the last byte at the receiver; [`Instant::NEVER`] if the receiver is in another partition.
    pub(crate) received: Paged<Instant>,
    /// `[flow]`: arrival of the last acknowledgement at the sender; [`Instant::NEVER`] if the sender is in another
    /// partition.
    pub(crate) acknowledged: Paged<Instant>,
    /// `[flow]`: retransmitted packets.
    pub(crate) retransmitted: Paged<u32>,
    /// `[flow]`: timeouts of TCP.
    pub(crate) timeouts: Paged<u16>,
    /// `[workload]`: what the ranks of jobs have done.
    pub(crate) progress: Vec<Progress>,
    /// Samples of switches.
    pub(crate) samples: Samples,
    /// Samples of links, one per period.
    pub(crate) links: Vec<LinkSample>,
    /// Counters of every port at the start of the counted window: hosts, then switches port by port.
    pub(crate) at_warm: Vec<PortStats>,
    /// Counters of every port at the end of the counted window, in the same order.
    pub(crate) at_end: Vec<PortStats>,
    /// `[start, middle, end of the counted window][workload]`: payload bytes acknowledged up to then.
    pub(crate) acknowledged_bytes: [Vec<u64>; 3],
    /// End of the run.
    pub(crate) ended: Instant,
    /// Whether the run was cancelled.
    pub(crate) cancelled: bool,
    /// Whether the run ended because it had stalled for good.
    pub(crate) stalled: bool,
}

impl PartitionResults {
    /// Creates empty results for `closed_loop_flows` closed-loop flows and `workloads` workloads.
    pub(crate) fn new(closed_loop_flows: usize, workloads: usize) -> PartitionResults {
        PartitionResults {
            started: filled(Instant::NEVER, closed_loop_flows),
            received: filled(Instant::NEVER, closed_loop_flows),
            acknowledged: filled(Instant::NEVER, closed_loop_flows),
            retransmitted: filled(0, closed_loop_flows),
            timeouts: filled(0, closed_loop_flows),
            progress: vec![Progress::default(); workloads],
            samples: Samples::default(),
            links: Vec::new(),
            at_warm: Vec::new(),
            at_end: Vec::new(),
            acknowledged_bytes: std::array::from_fn(|_| vec![0; workloads]),
            ended: Instant::ZERO,
            cancelled: false,
            stalled: false,
        }
    }
}

/// Makes a column that goes to a file when it is long.
fn filled<T: Record>(row: T, len: usize) -> Paged<T> {
    Paged::filled(row, len, ROWS_MAX)
}
