//! Hooks at every event, for recorders, checks and tests. A hook that is not implemented does nothing and costs
//! nothing.

pub use backwater_dataplane::Joined;
use backwater_dataplane::{Departed, Readings};
use backwater_fabric::flow::Flow;
use backwater_types::{ControlFrame, DropReason, Instant, Packet, PortId, QueueId};
use std::any::Any;

/// Last transmission of a port, which may still be in progress. It is two words, so that it is passed in registers. If
/// it were written to memory in parts and read back whole, the read would wait for the writes.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// Start of the transmission.
    pub at: Instant,
    /// Packed, from the lowest bit: flow number (32 bits), bytes on the wire (16), queue (16).
    packed: u64,
}

impl Transmission {
    /// State of a port that has sent nothing.
    pub const NONE: Transmission = Transmission { at: Instant::ZERO, packed: (Transmission::NO_QUEUE as u64) << 48 };

    const NO_QUEUE: QueueId = QueueId::MAX;

    /// Describes the transmission of a packet that left data queue `queue`; `None`: the packet is no data.
    #[inline(always)]
    pub fn of(packet: &Packet, queue: Option<QueueId>, at: Instant) -> Transmission {
        let queue = u64::from(queue.unwrap_or(Transmission::NO_QUEUE));
        Transmission { at, packed: queue << 48 | u64::from(packet.wire) << 32 | u64::from(packet.flow) }
    }

    /// Returns the number of the packet's flow.
    #[inline(always)]
    pub fn flow(self) -> u32 {
        self.packed as u32
    }

    /// Returns the bytes on the wire.
    #[inline(always)]
    pub fn wire(self) -> u16 {
        (self.packed >> 32) as u16
    }

    /// Returns the data queue that the packet left; `None`: the packet is no data.
    #[inline(always)]
    pub fn queue(self) -> Option<QueueId> {
        let queue = (self.packed >> 48) as QueueId;
        (queue != Transmission::NO_QUEUE).then_some(queue)
    }
}

const _: () = assert!(size_of::<Transmission>() == 16);

/// State of a flow at its host: the reason that keeps the flow from sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendState {
    /// Only the link keeps the flow from sending.
    Ready,
    /// A neighbour pauses this queue of the NIC, or the flow itself.
    Held(QueueId),
    /// The rate of the flow allows its next packet at this time.
    Paced(Instant),
    /// The sender waits for a window, credits or grants, or has nothing left to send.
    Blocked,
}

/// Work of an expired timer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The timer only releases flows whose send time has come.
    Pace,
    /// The timer may do anything.
    Any,
}

/// Observer of the events at the nodes of one partition. Nodes have their numbers in the graph.
pub trait Observer: Send + Any {
    /// Whether the observer sees anything. Nodes skip the state that only observers read if this one sees nothing.
    fn sees(&self) -> bool {
        true
    }
    /// Whether packets of `flow`, which starts, carry [`FOLLOWED`](backwater_types::flags::FOLLOWED).
    fn follows(&self, _flow: u32) -> bool {
        false
    }
    /// A flow starts, in slot `slot` of its host.
    fn flow_started(&mut self, _now: Instant, _flow: &Flow, _slot: u32) {}
    /// An event at `host` has been handled. `last` is the host's last transmission; `send_state(slot, number)` returns
    /// the state of a flow.
    fn host_settled(
        &mut self,
        _now: Instant,
        _host: usize,
        _last: &Transmission,
        _send_state: &dyn Fn(u32, u32) -> SendState,
    ) {
    }
    /// A host puts a packet on its link.
    fn host_sent(&mut self, _now: Instant, _host: usize, _packet: &Packet) {}
    /// A packet reached its destination host.
    fn host_received(&mut self, _now: Instant, _host: usize, _packet: &Packet) {}
    /// A packet joined a queue of an egress port whose last transmission is `last`.
    fn enqueued(&mut self, _now: Instant, _switch: usize, _joined: Joined, _packet: &Packet, _last: &Transmission) {}
    /// A frame left by `port`.
    fn departed(&mut self, _now: Instant, _switch: usize, _port: PortId, _packet: &Packet, _sent: &Departed) {}
    /// A packet was dropped at a node or lost on the link it was put on.
    fn dropped(&mut self, _now: Instant, _node: usize, _packet: &Packet, _reason: DropReason) {}
    /// A control frame of the neighbour came in by `port`.
    fn controlled(&mut self, _now: Instant, _node: usize, _port: PortId, _frame: ControlFrame) {}
    /// A link of `switch` failed, or came back if `up`.
    fn link_changed(&mut self, _now: Instant, _switch: usize, _port: PortId, _up: bool) {}
    /// The link of `host` failed or came back, which ends all pauses of its NIC.
    fn released(&mut self, _now: Instant, _host: usize) {}
    /// A timer of `node` expired.
    fn woke(&mut self, _now: Instant, _node: usize, _timer: Timer) {}
    /// An event at `switch` has been handled.
    fn settled(&mut self, _now: Instant, _switch: usize, _plane: &dyn Readings) {}
}

/// Observer that sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    #[inline(always)]
    fn sees(&self) -> bool {
        false
    }
}

/// Observer that an engine is compiled for: none, or any observer as a trait object.
pub trait EngineObserver: Observer {
    /// Detaches the observer, if there is one; it observes no more.
    fn detach(&mut self) -> Option<Box<dyn Observer>>;
}

impl EngineObserver for NoObserver {
    fn detach(&mut self) -> Option<Box<dyn Observer>> {
        None
    }
}

impl EngineObserver for Option<Box<dyn Observer>> {
    fn detach(&mut self) -> Option<Box<dyn Observer>> {
        self.take()
    }
}

/// Forwards each event to the observers of an iterator.
macro_rules! forward {
    ($self:ident => $to:expr) => {
        #[inline(always)]
        fn flow_started(&mut $self, now: Instant, flow: &Flow, slot: u32) {
            $to.for_each(|observer| observer.flow_started(now, flow, slot));
        }

        #[inline(always)]
        fn host_settled(
            &mut $self,
            now: Instant,
            host: usize,
            last: &Transmission,
            send_state: &dyn Fn(u32, u32) -> SendState,
        ) {
            $to.for_each(|observer| observer.host_settled(now, host, last, send_state));
        }

        #[inline(always)]
        fn host_sent(&mut $self, now: Instant, host: usize, packet: &Packet) {
            $to.for_each(|observer| observer.host_sent(now, host, packet));
        }

        #[inline(always)]
        fn host_received(&mut $self, now: Instant, host: usize, packet: &Packet) {
            $to.for_each(|observer| observer.host_received(now, host, packet));
        }

        #[inline(always)]
        fn enqueued(&mut $self, now: Instant, switch: usize, joined: Joined, packet: &Packet, last: &Transmission) {
            $to.for_each(|observer| observer.enqueued(now, switch, joined, packet, last));
        }

        #[inline(always)]
        fn departed(&mut $self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
            $to.for_each(|observer| observer.departed(now, switch, port, packet, sent));
        }

        #[inline(always)]
        fn dropped(&mut $self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
            $to.for_each(|observer| observer.dropped(now, node, packet, reason));
        }

        #[inline(always)]
        fn controlled(&mut $self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
            $to.for_each(|observer| observer.controlled(now, node, port, frame));
        }

        #[inline(always)]
        fn link_changed(&mut $self, now: Instant, switch: usize, port: PortId, up: bool) {
            $to.for_each(|observer| observer.link_changed(now, switch, port, up));
        }

        #[inline(always)]
        fn released(&mut $self, now: Instant, host: usize) {
            $to.for_each(|observer| observer.released(now, host));
        }

        #[inline(always)]
        fn woke(&mut $self, now: Instant, node: usize, timer: Timer) {
            $to.for_each(|observer| observer.woke(now, node, timer));
        }

        #[inline(always)]
        fn settled(&mut $self, now: Instant, switch: usize, plane: &dyn Readings) {
            $to.for_each(|observer| observer.settled(now, switch, plane));
        }
    };
}

/// Forwards each event to the observer, if there is one.
impl Observer for Option<Box<dyn Observer>> {
    #[inline(always)]
    fn sees(&self) -> bool {
        self.is_some()
    }

    #[inline(always)]
    fn follows(&self, flow: u32) -> bool {
        self.as_ref().is_some_and(|observer| observer.follows(flow))
    }

    forward!(self => self.iter_mut());
}
