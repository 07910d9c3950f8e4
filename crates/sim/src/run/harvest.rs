//! What one partition of a run brings home.

use crate::run::link_samples::LinkSample;
use crate::samples::Samples;
use backwater_engine::stats::PortStats;
use backwater_types::Instant;

/// What one partition of a run brings home, beside what its nodes have counted.
pub(crate) struct Harvest {
    /// Start of each dependent flow whose source is here, `[dependent flow]`; else [`Instant::NEVER`].
    pub(crate) started: Vec<Instant>,
    /// Time at which the last byte of each flow reached its receiver, if here, `[flow]`; else [`Instant::NEVER`].
    pub(crate) received: Vec<Instant>,
    /// Time at which its last acknowledgement reached the sender, if here, `[flow]`.
    pub(crate) acknowledged: Vec<Instant>,
    /// Packets sent again, `[flow]`.
    pub(crate) retransmitted: Vec<u32>,
    /// Timeouts of TCP, `[flow]`.
    pub(crate) timeouts: Vec<u16>,
    /// Samples of switches.
    pub(crate) samples: Samples,
    /// What links did, period by period.
    pub(crate) links: Vec<LinkSample>,
    /// Counters of every port at the start of the counted window: hosts, then switches port by port.
    pub(crate) at_warm: Vec<PortStats>,
    /// The same at its end.
    pub(crate) at_end: Vec<PortStats>,
    /// Payload bytes acknowledged up to the start, and up to the end, of the counted window, `[workload]`.
    pub(crate) acknowledged_bytes: [Vec<u64>; 2],
    /// End of the run.
    pub(crate) ended: Instant,
    /// The run was stopped before its time.
    pub(crate) cancelled: bool,
    /// Nothing could move any more.
    pub(crate) stood_still: bool,
}

impl Harvest {
    /// Before the run, with so many dependent flows and workloads.
    pub(crate) fn new(dependents: usize, workloads: usize) -> Harvest {
        Harvest {
            started: vec![Instant::NEVER; dependents],
            received: vec![Instant::NEVER; dependents],
            acknowledged: vec![Instant::NEVER; dependents],
            retransmitted: vec![0; dependents],
            timeouts: vec![0; dependents],
            samples: Samples::default(),
            links: Vec::new(),
            at_warm: Vec::new(),
            at_end: Vec::new(),
            acknowledged_bytes: [vec![0; workloads], vec![0; workloads]],
            ended: Instant::ZERO,
            cancelled: false,
            stood_still: false,
        }
    }
}
