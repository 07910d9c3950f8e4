//! How the events ahead of nodes are kept, and the frames in flight between them: a type, so that nothing asks on the way.
//!
//! Node by node, each with an event queue of its own, or all events of the network one by one in the order in which they were
//! scheduled, as in ns-3. Hosts and switches are the same in both: a frame arrives, a port may be free again, a timer runs.

use backwater_fabric::wire::Target;
use backwater_types::{Duration, Extension, Frame, Instant, PortId};

/// The events ahead of the nodes of one partition, but for what each node keeps itself.
pub trait Schedule: Send + Sized {
    /// What packets carry beside their headers.
    type Extension: Extension;
    /// What a node keeps of its own events; as many as `LEAVES`, or several such blocks.
    type Agenda<const LEAVES: usize>: Agenda<Self>;
    /// A pause goes out before the packet that raised it, as it does in ns-3.
    const FRAMES_FIRST: bool = false;
    /// Each time that a timer is set to is an event of its own, as in ns-3: none is taken back.
    const EACH_TIMER_IS_AN_EVENT: bool = false;

    /// When an arrival was scheduled, where that decides between events of one instant.
    type Stamp: Copy + Send;
    /// What a partition tells all others of a window, beside the frames it sent them.
    type Account: Default + Send + Sync;

    /// For so many nodes and incoming links, in this partition; full packets are on their way for up to `longest`.
    fn new(partition: u16, nodes: usize, links: usize, longest: Duration) -> Self;
    /// What is scheduled next is scheduled now, for `at`: by which time it is kept, which may say more than `at`, and its stamp.
    fn stamp(&mut self, at: Instant) -> (Instant, Self::Stamp);
    /// What is kept by this time, and what it schedules, comes no sooner than then.
    #[inline(always)]
    fn earliest(kept_by: Instant) -> Instant {
        kept_by
    }
    /// A frame will arrive at a node here, at the time that came with its stamp.
    fn deliver(&mut self, to: Target, at: Instant, stamp: Self::Stamp, frame: &Frame<Self::Extension>);
    /// The first time at which events come that is not before `at`.
    #[inline(always)]
    fn not_before(at: Instant) -> Instant {
        at
    }
    /// The event has come that a transmission ends at `busy_until`.
    #[inline(always)]
    fn ended(_busy_until: &mut Instant) {}
    /// The window is over: puts the account of it in its place, where an older one lies.
    #[inline(always)]
    fn hand_over(&mut self, _place: &mut Self::Account) {}
}

/// What a node keeps of the events ahead of it, in a schedule `S`.
pub trait Agenda<S>: Send {
    /// Empty, with room for `leaves`; ties are drawn from `tie_seed`, if they are drawn.
    fn new(leaves: usize, tie_seed: u64) -> Self;
    /// The port is taken from now on, by a transmission that ends at `until`.
    #[inline(always)]
    fn take_port(&mut self, _schedule: &mut S, _port: EventName, _until: Instant) {}
    /// Whether the port is free, whose last transmission ends at `busy_until`.
    fn is_free(&self, schedule: &S, port: EventName, busy_until: Instant, now: Instant) -> bool;
    /// Whether a port that is taken will be looked at when it is not.
    fn awaits(&self, port: EventName) -> bool;
    /// The port is looked at next at `at`; [`Instant::NEVER`]: not before something happens to it.
    fn set_port(&mut self, port: EventName, at: Instant);
    /// The next flow starts at `at`, as the event of `leaf`.
    fn set_start(&mut self, leaf: usize, at: Instant);
    /// The timer runs at `at`, whatever else it runs for.
    fn wake_at(&mut self, schedule: &mut S, timer: EventName, at: Instant);
    /// A clock of a flow of the node strikes at `at`, as an event of its own.
    fn set_flow_timer(&mut self, _schedule: &mut S, _node: EventName, _at: Instant, _timer: FlowTimer) {
        unreachable!("timers of flows are events in the order of ns-3 alone")
    }
    /// The earliest thing that the timer still runs for is at `at`. Nothing is set where each of those is an event already.
    fn set_timer(&mut self, timer: EventName, at: Instant);
}

/// A clock of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowTimer {
    /// The flow, by its slot at its host.
    pub slot: u32,
    /// By its number: the slot may have been given to another.
    pub flow: u32,
    /// Which of the flow's.
    pub number: u8,
}

/// An event of a node: by a leaf in the node's own queue, or by node and port among all events of the network.
#[derive(Clone, Copy, Debug)]
pub struct EventName {
    /// Leaf of the node's event queue.
    pub leaf: usize,
    /// Number of the node in the graph.
    pub node: u32,
    /// Its port; of a timer 0, but where a NIC set it the number by which it tells those apart.
    pub port: PortId,
}
