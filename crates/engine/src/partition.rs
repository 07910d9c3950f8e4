//! One thread's nodes as the loop of a run sees them, whatever their types: one call a window, and readings between windows.

use crate::flow::Flow;
use crate::host::params::{Credits, Finished, Timeouts};
use crate::link_meter::LinkCount;
use crate::meters::Meters;
use crate::observe::Observer;
use crate::stats::{Drops, PortStats};
use crate::switch_node::HeldQueue;
use backwater_dataplane::Readings;
use backwater_types::{Instant, PortId};

/// The nodes of one thread.
pub trait Partition: Send {
    /// Number among all partitions.
    fn number(&self) -> usize;
    /// Types of the engine, as its compiler names them.
    fn engine(&self) -> &'static str;
    /// Whether this host is one of its nodes.
    fn has_host(&self, host: u16) -> bool;
    /// Looks for the first event of each node. Called once, before the first window.
    fn begin(&mut self);
    /// A flow will start at a host here, before the end of the next window.
    fn announce(&mut self, flow: Flow);
    /// Handles every event before `end`, and tells `finished` of flows that end.
    fn run_window(&mut self, end: Instant, finished: &mut dyn FnMut(Instant, Finished));
    /// Time of the earliest event ahead, given that flows start no sooner than `next_flow`. Asked between a window and its hand-over.
    fn next(&self, next_flow: Instant) -> Instant;
    /// Leaves the frames for other partitions where these find them. `parity` alternates from window to window.
    fn hand_over(&mut self, parity: usize);
    /// Takes the frames that others left, once all have handed over: the window that ended at `end` is complete.
    fn take_over(&mut self, parity: usize, end: Instant);

    /// Frames that fully crossed a link to one of its nodes.
    fn packet_hops(&self) -> u64;
    /// Data packets and ACKs that left any port so far.
    fn packets_sent(&self) -> u64;
    /// Counters of every port up to `now`, with its node and number: hosts, then switches port by port.
    fn ports(&mut self, now: Instant, see: &mut dyn FnMut(u32, PortId, &PortStats));
    /// What every link has carried up to `now`, in the same order.
    fn link_counts(&mut self, now: Instant, see: &mut dyn FnMut(u32, PortId, &LinkCount));
    /// Totals of every host.
    fn hosts(&self, see: &mut dyn FnMut(HostTotals));
    /// Every switch.
    fn switches(&mut self, see: &mut dyn FnMut(&mut dyn SwitchView));
    /// Adds the payload bytes acknowledged so far, `[workload]`.
    fn add_acknowledged(&self, sum: &mut [u64]);
    /// Flows that have not finished at their sender, by number, and whether only the NIC keeps each from sending.
    fn unfinished(&self, now: Instant, see: &mut dyn FnMut(u32, bool));
    /// The observer, if there is one; it observes no more.
    fn detach(&mut self) -> Option<Box<dyn Observer>>;
}

/// Totals of one host.
#[derive(Clone, Copy, Debug)]
pub struct HostTotals {
    /// Number in the graph.
    pub number: u16,
    /// Packets lost on its link or dropped by its NIC.
    pub drops: Drops,
    /// Timeouts of TCP, by reason.
    pub timeouts: Timeouts,
    /// Credits that came to its flows.
    pub credits: Credits,
}

/// A switch as measurements see it.
pub trait SwitchView {
    /// Number in the graph.
    fn number(&self) -> u32;
    /// How many ports it has.
    fn ports(&self) -> PortId;
    /// Readings of its data plane.
    fn readings(&self) -> &dyn Readings;
    /// Whether a port has something it may send.
    fn sendable(&self, port: PortId) -> bool;
    /// Flows with data at `port`, if they are counted.
    fn active_flows(&self, port: PortId) -> Option<u32>;
    /// Queues of ports whose data may not leave.
    fn held_queues(&self) -> Vec<HeldQueue>;
    /// Packets dropped here or lost on its links.
    fn drops(&self) -> &Drops;
    /// The measurements on the path of every packet, if any were asked for; it measures no more.
    fn take_meters(&mut self) -> Option<Box<Meters>>;
}
