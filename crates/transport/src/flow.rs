//! The boundary of a transport: what the two ends of a flow are told, and what they may send.
//!
//! Neither end sees a clock, a queue or a network. Time is an argument, packets come as they are on the wire, and what an end
//! sends goes out as [`Outgoing`] or [`Reply`]: its host adds addresses, names and a place in its NIC.

use crate::due::Due;
use crate::tcp::TimeoutReason;
use backwater_types::{Extension, Frame, Instant, Kind, LibraryRand, Packet};

/// How flows are carried.
pub trait Transport: Send + 'static {
    /// What its packets carry beside their headers.
    type Extension: Extension;
    /// Parameters shared by all flows.
    type Params: Clone + Send + Sync;
    /// A flow at its sender.
    type Sender: Sender<Params = Self::Params, Extension = Self::Extension>;
    /// A flow at its receiver.
    type Receiver: Receiver<Extension = Self::Extension>;
    /// What senders of a host remember of others from one flow to the next.
    type Peers: Default + Send;

    /// The sender of a flow that starts.
    fn open(params: &Self::Params, peers: &mut Self::Peers, now: Instant, start: Start) -> Self::Sender;
    /// Those of the parameters that receivers ask for.
    fn receiving(params: &Self::Params) -> &<Self::Receiver as Receiver>::Params;
    /// What it draws is drawn from streams of this seed; whole numbers come from `rand` where that is given.
    fn draw_from(_params: &mut Self::Params, _seed: u64, _rand: Option<&LibraryRand>) {}
    /// Every packet of the flow was acknowledged.
    fn close(_params: &Self::Params, _peers: &mut Self::Peers, _sender: &mut Self::Sender) {}
}

/// A flow that starts.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Destination host.
    pub dst: u16,
    /// Key of its packets, which routing and flow tables draw on.
    pub key: u32,
    /// Where it starts: a number among the sites of its network.
    pub site: u32,
    /// Packets; `u32::MAX` if it never ends.
    pub packets: u32,
    /// Wire bytes of its last packet.
    pub last_wire: u16,
    /// Traffic class of its data packets.
    pub class: u8,
    /// Flags of its data packets.
    pub flags: u8,
}

/// A packet of a flow's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<E = ()> {
    /// What it is.
    pub kind: Kind,
    /// Position in the flow.
    pub seq: u32,
    /// Bytes on the wire.
    pub wire: u16,
    /// Traffic class.
    pub class: u8,
    /// See [`backwater_types::flags`].
    pub flags: u8,
    /// What it carries beside.
    pub extension: E,
}

/// What a sender may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<P> {
    /// Send.
    Packet(P),
    /// Send, but not before this.
    NotBefore(Instant),
    /// Nothing, until it is told something.
    Blocked,
}

/// The sender of a flow.
pub trait Sender: Send + 'static {
    /// Parameters shared by all flows.
    type Params;
    /// What its packets carry beside their headers.
    type Extension: Extension;
    /// Whether the pace of a packet that waits may change: [`Instant`] if so, else `()`.
    type Due: Due;
    /// Whether it may of this flow.
    #[inline(always)]
    fn moves(&self) -> bool {
        Self::Due::MOVES
    }
    /// Its timer, once it runs, never comes to be due earlier than it was.
    const TIMER_RECEDES: bool = false;
    /// What it would send at `now`: wire bytes. A NIC that chooses among flows asks, as often as it likes.
    fn peek(&self, params: &Self::Params, now: Instant) -> Next<u16>;
    /// What it sends at `now`, which counts as sent.
    fn next_packet(&mut self, params: &Self::Params, now: Instant) -> Next<Outgoing<Self::Extension>>;
    /// A packet of its receiver came in.
    fn on_packet(&mut self, params: &Self::Params, now: Instant, packet: &Frame<Self::Extension>);
    /// When [`Sender::on_timer`] is due, unless it is told something before; [`Instant::NEVER`] if there is nothing to wait for.
    #[inline(always)]
    fn timer(&self, _params: &Self::Params) -> Instant {
        Instant::NEVER
    }
    /// Its time has come. The reason, where that was a timeout of TCP.
    fn on_timer(&mut self, _params: &Self::Params, _now: Instant) -> Option<TimeoutReason> {
        None
    }
    /// A clock that was wound and not told of, by its number, and when it strikes; in the order of winding.
    #[inline(always)]
    fn wound(&mut self) -> Option<(Instant, u8)> {
        None
    }
    /// A clock strikes that was wound for now.
    fn on_clock(&mut self, _params: &Self::Params, _now: Instant, _clock: u8) {}
    /// Earliest start of its next packet, whatever else holds that: exact where it may change, else perhaps less by what the
    /// packet before takes on the link.
    fn pace(&self) -> Instant {
        Instant::ZERO
    }
    /// Whether its pace was set since this was asked last, be it to what it was; only where it may change.
    #[inline(always)]
    fn repaced(&mut self) -> bool {
        true
    }
    /// Whether something is left to send (again, perhaps).
    fn has_unsent(&self) -> bool;
    /// Packets that are left to send, by which a NIC may choose among flows.
    fn left(&self) -> u32 {
        0
    }
    /// The same in bytes of payload; what does not say goes last.
    fn left_bytes(&self, _params: &Self::Params) -> u64 {
        u64::MAX
    }
    /// Whether every packet was acknowledged.
    fn is_done(&self) -> bool;
    /// Packets with data that were acknowledged.
    fn acknowledged(&self) -> u32;
    /// Packets sent again.
    fn retransmitted(&self) -> u32 {
        0
    }
    /// Timeouts of TCP.
    fn timeouts(&self) -> u32 {
        0
    }
    /// Credits that came when it had nothing to send.
    fn wasted(&self) -> u32 {
        0
    }
    /// Key of its packets.
    fn key(&self) -> u32;
    /// Traffic class of its packets, by which its NIC chooses a queue; of the first ones, where it changes.
    fn class(&self) -> u8;
}

/// A packet of a flow's receiver, to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<E = ()> {
    /// What it is.
    pub kind: Kind,
    /// Its number.
    pub seq: u32,
    /// What it carries beside that, where data packets name their receiver; `None`: the same.
    pub word: Option<u32>,
    /// Bytes on the wire.
    pub wire: u16,
    /// See [`backwater_types::flags`].
    pub flags: u8,
    /// What it carries beside.
    pub extension: E,
}

/// The receiver of a flow.
pub trait Receiver: Default + Send + 'static {
    /// Parameters shared by all flows.
    type Params;
    /// What its packets carry beside their headers.
    type Extension: Extension;
    /// What the receivers of a host share: which of the flows that come in may send, where that is for them to say. Nothing, where
    /// each is on its own.
    type Host: Default + Send;
    /// A packet of its sender came in: what answers it. Before that, whatever else is to be said goes to `also`, each with a packet of
    /// its flow that says whence: this one, or that of another.
    #[must_use = "it is to be sent"]
    fn on_packet(
        &mut self,
        params: &Self::Params,
        host: &mut Self::Host,
        now: Instant,
        packet: &Frame<Self::Extension>,
        also: &mut impl FnMut(&Packet, Reply<Self::Extension>),
    ) -> Option<Reply<Self::Extension>>;
    /// When [`Receiver::on_timer`] is due; [`Instant::NEVER`] if there is nothing to wait for.
    #[inline(always)]
    fn timer(&self, _params: &Self::Params, _host: &Self::Host) -> Instant {
        Instant::NEVER
    }
    /// Its time has come. What is to be said goes to `reply`, as for a packet to `also`.
    fn on_timer(
        &mut self,
        _params: &Self::Params,
        _host: &mut Self::Host,
        _now: Instant,
        _reply: &mut impl FnMut(&Packet, Reply<Self::Extension>),
    ) {
    }
    /// Whether it has everything.
    fn is_done(&self) -> bool;
    /// What answers a packet of a flow that was done before.
    fn late(params: &Self::Params, packet: &Frame<Self::Extension>) -> Option<Reply<Self::Extension>>;
}
