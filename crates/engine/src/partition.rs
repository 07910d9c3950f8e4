//! Interface of one thread's nodes, whatever their types, to the loop of a run: one call for each window, and readings
//! between windows.

use crate::host::params::Report;
use crate::observe::Observer;
use backwater_counters::SwitchView;
use backwater_counters::link_meter::LinkCount;
use backwater_counters::stats::{Drops, PortStats};
use backwater_counters::{Credits, Timeouts};
use backwater_fabric::flow::Flow;
use backwater_types::{Instant, PortId};

/// Nodes of one thread.
pub trait Partition: Send {
    /// Returns the number of the partition among all.
    fn number(&self) -> usize;
    /// Returns the types of the engine, as the compiler names them.
    fn engine(&self) -> &'static str;
    /// Whether host number `host` is in the partition.
    fn has_host(&self, host: u16) -> bool;
    /// Finds the first event of each node. Called once, before the first window.
    fn begin(&mut self);
    /// Queues a flow that starts at a host of the partition before the end of the next window.
    fn announce(&mut self, flow: Flow);
    /// Handles every event before `end`, and calls `report` with each report of a host.
    fn run_window(&mut self, end: Instant, report: &mut dyn FnMut(Instant, Report));
    /// Returns the time of the earliest pending event, given that flows start no sooner than `next_flow`. Called
    /// between a window and its hand-over.
    fn next(&self, next_flow: Instant) -> Instant;
    /// Leaves frames for other partitions in the exchange. `parity` alternates from window to window.
    fn hand_over(&mut self, parity: usize);
    /// Takes the frames that other partitions left, after all have handed over, and completes the window that ended at
    /// `end`.
    fn take_over(&mut self, parity: usize, end: Instant);

    /// Returns the frames that fully crossed a link to a node of the partition.
    fn packet_hops(&self) -> u64;
    /// Returns the data packets and ACKs that any port has sent so far.
    fn packets_sent(&self) -> u64;
    /// Calls `see` with the node, number and counters up to `now` of every port: hosts first, then switches port by
    /// port.
    fn ports(&mut self, now: Instant, see: &mut dyn FnMut(u32, PortId, &PortStats));
    /// Calls `see` with the counts up to `now` of every link, in the order of [`Partition::ports`].
    fn link_counts(&mut self, now: Instant, see: &mut dyn FnMut(u32, PortId, &LinkCount));
    /// Calls `see` with the totals of every host.
    fn hosts(&self, see: &mut dyn FnMut(HostTotals));
    /// Calls `see` with every switch.
    fn switches(&mut self, see: &mut dyn FnMut(&mut dyn SwitchView));
    /// Adds the payload bytes acknowledged so far to `sum`, `[workload]`.
    fn add_acknowledged(&self, sum: &mut [u64]);
    /// Calls `see` with the number of each flow that has not finished at its sender, and whether only the NIC keeps it
    /// from sending.
    fn unfinished(&self, now: Instant, see: &mut dyn FnMut(u32, bool));
    /// Detaches the observer, if there is one; it observes no more.
    fn detach(&mut self) -> Option<Box<dyn Observer>>;
}

/// Totals of one host.
#[derive(Clone, Copy, Debug)]
pub struct HostTotals {
    /// Number of the host in the graph.
    pub number: u16,
    /// Packets lost on the host's link or dropped by its NIC.
    pub drops: Drops,
    /// Timeouts of TCP, by reason.
    pub timeouts: Timeouts,
    /// Credits received by the host's flows.
    pub credits: Credits,
}
