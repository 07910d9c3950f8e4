//! Hooks that checks and tests hang on. The default does nothing and costs nothing.

use crate::flow::Flow;
pub use backwater_dataplane::Joined;
use backwater_dataplane::{Departed, Readings};
use backwater_types::{ControlFrame, DropReason, Instant, Packet, PortId, QueueId};
use std::any::Any;

/// What a port sent last, which may go on: two words, so that it is passed in registers. Put together in parts and read
/// back as a whole it would wait for its own stores.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// When it began.
    pub at: Instant,
    /// From the lowest bit on: 32 of its flow, 16 of its bytes on the wire, 16 of its queue.
    what: u64,
}

impl Transmission {
    /// Of a port that has sent nothing.
    pub const NONE: Transmission = Transmission { at: Instant::ZERO, what: (Transmission::NO_QUEUE as u64) << 48 };

    const NO_QUEUE: QueueId = QueueId::MAX;

    /// Of a packet that left this data queue, or was no data.
    #[inline(always)]
    pub fn of(packet: &Packet, queue: Option<QueueId>, at: Instant) -> Transmission {
        let queue = u64::from(queue.unwrap_or(Transmission::NO_QUEUE));
        Transmission { at, what: queue << 48 | u64::from(packet.wire) << 32 | u64::from(packet.flow) }
    }

    /// Of which flow.
    #[inline(always)]
    pub fn flow(self) -> u32 {
        self.what as u32
    }

    /// Bytes on the wire.
    #[inline(always)]
    pub fn wire(self) -> u16 {
        (self.what >> 32) as u16
    }

    /// The data queue that it left; `None`: it was no data.
    #[inline(always)]
    pub fn queue(self) -> Option<QueueId> {
        let queue = (self.what >> 48) as QueueId;
        (queue != Transmission::NO_QUEUE).then_some(queue)
    }
}

const _: () = assert!(size_of::<Transmission>() == 16);

/// What keeps a flow from sending, as its host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendState {
    /// Nothing but the link.
    Ready,
    /// A neighbour holds this queue of the NIC, or the flow itself.
    Held(QueueId),
    /// Its pace, until then.
    Paced(Instant),
    /// Its sender: a window, credits or grants, or nothing that is left to send.
    Blocked,
}

/// What a timer of a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// It lets flows go whose pace is due, and no more.
    Pace,
    /// Anything.
    Any,
}

/// Sees what happens at the nodes of one partition. Nodes are numbered as in the graph.
pub trait Observer: Send + Any {
    /// Whether packets of this flow, which starts, are to carry [`FOLLOWED`](backwater_types::flags::FOLLOWED).
    fn follows(&self, _flow: u32) -> bool {
        false
    }
    /// A flow starts, in this slot of its host.
    fn flow_started(&mut self, _now: Instant, _flow: &Flow, _slot: u32) {}
    /// An event at `host`, which sent `_last` last, has been handled; `stand` says how the flow of a slot and a number stands.
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
    /// A packet reached the host it is for.
    fn host_received(&mut self, _now: Instant, _host: usize, _packet: &Packet) {}
    /// A packet joined a queue of a port that sent `_last` last.
    fn enqueued(&mut self, _now: Instant, _switch: usize, _joined: Joined, _packet: &Packet, _last: &Transmission) {}
    /// A frame left by `port`.
    fn departed(&mut self, _now: Instant, _switch: usize, _port: PortId, _packet: &Packet, _sent: &Departed) {}
    /// A packet was dropped at a node or lost on the link it was put on.
    fn dropped(&mut self, _now: Instant, _node: usize, _packet: &Packet, _reason: DropReason) {}
    /// A neighbour's frame came in by `port`.
    fn controlled(&mut self, _now: Instant, _node: usize, _port: PortId, _frame: ControlFrame) {}
    /// A link of `switch` failed, or came back if `up`.
    fn link_changed(&mut self, _now: Instant, _switch: usize, _port: PortId, _up: bool) {}
    /// The link of `host` failed or came back: nothing holds its NIC.
    fn released(&mut self, _now: Instant, _host: usize) {}
    /// A timer of `node` runs.
    fn woke(&mut self, _now: Instant, _node: usize, _timer: Timer) {}
    /// An event at `switch` has been handled.
    fn settled(&mut self, _now: Instant, _switch: usize, _plane: &dyn Readings) {}
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// An observer that an engine is compiled for: none, or any one behind a table of functions.
pub trait EngineObserver: Observer {
    /// The observer itself, if there is one; it observes no more.
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

/// Hands each event on to those of an iterator.
macro_rules! forward {
    ($self:ident => $to:expr) => {
        #[inline(always)]
        fn flow_started(&mut $self, now: Instant, flow: &Flow, slot: u32) {
            $to.for_each(|observer| observer.flow_started(now, flow, slot));
        }

        #[inline(always)]
        fn host_settled(&mut $self, now: Instant, host: usize, last: &Transmission, send_state: &dyn Fn(u32, u32) -> SendState) {
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

/// An observer, if there is one.
impl Observer for Option<Box<dyn Observer>> {
    #[inline(always)]
    fn follows(&self, flow: u32) -> bool {
        self.as_ref().is_some_and(|observer| observer.follows(flow))
    }

    forward!(self => self.iter_mut());
}
