//! Schedules: how pending events and frames in flight are kept. A schedule is a type, so the code of an
//! event has no branch on the order.
//!
//! Events come node by node, each node with an event queue of its own. Or all events of the network come one by one in
//! the order in which they were scheduled, as in ns-3. Hosts and switches are the same in both: a frame arrives, a port
//! may be free again, a timer expires.

use backwater_fabric::wire::Target;
use backwater_types::{Duration, Extension, Frame, Instant, PortId};

/// Pending events of the nodes of one partition, except those that each node keeps itself.
pub trait Schedule: Send + Sized {
    /// Metadata that packets carry beside their headers.
    type Extension: Extension;
    /// Events that a node keeps itself: up to `LEAVES`, or several such blocks.
    type Agenda<const LEAVES: usize>: Agenda<Self>;
    /// Whether a pause leaves before the packet that raised it, as in ns-3.
    const FRAMES_FIRST: bool = false;
    /// Whether each setting of a timer is an event of its own that is never withdrawn, as in ns-3.
    const EACH_TIMER_IS_AN_EVENT: bool = false;

    /// Stamp of an arrival: when it was scheduled, where that breaks ties between events of one instant.
    type Stamp: Copy + Send;
    /// Account of a window: what a partition tells all others, beside the frames that it sends them.
    type Account: Default + Send + Sync;

    /// Creates the schedule of a partition with `nodes` nodes and `links` incoming links. Full packets are in flight
    /// for up to `longest`.
    fn new(partition: u16, nodes: usize, links: usize, longest: Duration) -> Self;
    /// Returns the sort key (time and tie-breaking stamp) of the event that is scheduled next and is due at `at`. The
    /// time may differ from `at` below a nanosecond.
    fn stamp(&mut self, at: Instant) -> (Instant, Self::Stamp);
    /// Returns the earliest instant at which an event with sort time `kept_by`, or anything that it schedules, may
    /// come.
    #[inline(always)]
    fn earliest(kept_by: Instant) -> Instant {
        kept_by
    }
    /// Schedules the arrival of a frame at a node of the partition, with its sort key from [`Schedule::stamp`].
    fn deliver(&mut self, to: Target, at: Instant, stamp: Self::Stamp, frame: &Frame<Self::Extension>);
    /// Returns the first instant at which events come that is not before `at`.
    #[inline(always)]
    fn not_before(at: Instant) -> Instant {
        at
    }
    /// Handles the end of the transmission that was to end at `busy_until`.
    #[inline(always)]
    fn ended(_busy_until: &mut Instant) {}
    /// Ends a window: swaps its account into `place`, where an older account lies.
    #[inline(always)]
    fn hand_over(&mut self, _place: &mut Self::Account) {}
}

/// Pending events of one node, in a schedule `S`.
pub trait Agenda<S>: Send {
    /// Creates an empty agenda of `leaves` leaves. Ties are drawn from `tie_seed`, if they are drawn.
    fn new(leaves: usize, tie_seed: u64) -> Self;
    /// Records that a transmission, which ends at `until`, takes the port.
    #[inline(always)]
    fn take_port(&mut self, _schedule: &mut S, _port: EventName, _until: Instant) {}
    /// Whether the port, whose last transmission ends at `busy_until`, is free.
    fn is_free(&self, schedule: &S, port: EventName, busy_until: Instant, now: Instant) -> bool;
    /// Whether a poll of the port is scheduled for the end of its transmission.
    fn awaits(&self, port: EventName) -> bool;
    /// Schedules the next poll of the port at `at`; [`Instant::NEVER`]: none until something happens to the port.
    fn set_port(&mut self, port: EventName, at: Instant);
    /// Schedules the start of the next flow at `at`, as the event of `leaf`.
    fn set_start(&mut self, leaf: usize, at: Instant);
    /// Schedules an expiry of the timer at `at`, beside all others.
    fn wake_at(&mut self, schedule: &mut S, timer: EventName, at: Instant);
    /// Schedules the expiry of a flow's timer at `at`, as an event of its own.
    fn set_flow_timer(&mut self, _schedule: &mut S, _node: EventName, _at: Instant, _timer: FlowTimer) {
        unreachable!("timers of flows are events in the order of ns-3 alone")
    }
    /// Schedules the next expiry of the timer at `at`, in place of any other. Does nothing where each setting of a
    /// timer is an event already.
    fn set_timer(&mut self, timer: EventName, at: Instant);
}

/// Timer of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowTimer {
    /// Slot of the flow at its host.
    pub slot: u32,
    /// Number of the flow, since the slot may have been given to another flow.
    pub flow: u32,
    /// Number among the flow's timers.
    pub number: u8,
}

/// Name of an event: a leaf in the node's own queue, or node and port among all events of the network.
#[derive(Clone, Copy, Debug)]
pub struct EventName {
    /// Leaf of the node's event queue.
    pub leaf: usize,
    /// Number of the node in the graph.
    pub node: u32,
    /// Port of the node. For a timer: 0, or the number by which a NIC distinguishes its timers.
    pub port: PortId,
}
