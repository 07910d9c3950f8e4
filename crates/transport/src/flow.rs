//! Interface of a transport: the events that the two ends of a flow handle, and the packets that they send.
//!
//! Neither end sees a clock, a queue or a network. Time is an argument, and packets come as they are on the
//! wire. An end sends an [`Outgoing`] or a [`Reply`]; its host adds addresses and flow names and queues it in its NIC.

use crate::due::Due;
use crate::tcp::TimeoutReason;
use backwater_types::{Extension, Frame, Instant, Kind, LibraryRand, Packet};

/// A transport protocol: both ends of a flow, and state that flows of a host share.
pub trait Transport: Send + 'static {
    /// Metadata that its packets carry beside their headers.
    type Extension: Extension;
    /// Parameters shared by all flows.
    type Params: Clone + Send + Sync;
    /// Sending end of a flow.
    type Sender: Sender<Params = Self::Params, Extension = Self::Extension>;
    /// Receiving end of a flow.
    type Receiver: Receiver<Extension = Self::Extension>;
    /// State that the senders of a host keep of each destination from one flow to the next.
    type Peers: Default + Send;

    /// Opens the sending end of a flow.
    fn open(params: &Self::Params, peers: &mut Self::Peers, now: Instant, start: Start) -> Self::Sender;
    /// Returns the parameters of receivers.
    fn receiving(params: &Self::Params) -> &<Self::Receiver as Receiver>::Params;
    /// Sets the source of random numbers: streams of this seed, and `rand` for whole numbers where it is given.
    fn draw_from(_params: &mut Self::Params, _seed: u64, _rand: Option<&LibraryRand>) {}
    /// Closes a flow whose packets were all acknowledged.
    fn close(_params: &Self::Params, _peers: &mut Self::Peers, _sender: &mut Self::Sender) {}
}

/// A new flow.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Destination host.
    pub dst: u16,
    /// Key of the packets, which routing and flow tables hash.
    pub key: u32,
    /// Index of the path parameters ([`Site`](crate::Site)) of the source.
    pub site: u32,
    /// Packets of the flow; `u32::MAX` if it never ends.
    pub packets: u32,
    /// Wire bytes of the last packet.
    pub last_wire: u16,
    /// Traffic class of data packets.
    pub class: u8,
    /// Flags of data packets.
    pub flags: u8,
}

/// A packet from a flow's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<E = ()> {
    /// Kind of packet.
    pub kind: Kind,
    /// Position in the flow.
    pub seq: u32,
    /// Bytes on the wire.
    pub wire: u16,
    /// Traffic class.
    pub class: u8,
    /// Flags, see [`backwater_types::flags`].
    pub flags: u8,
    /// Metadata beside the headers.
    pub extension: E,
}

/// Permission of a sender to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<P> {
    /// Send this packet.
    Packet(P),
    /// Send, but not before this time.
    NotBefore(Instant),
    /// Send nothing before the next event.
    Blocked,
}

/// Sending end of a flow.
pub trait Sender: Send + 'static {
    /// Parameters shared by all flows.
    type Params;
    /// Metadata that its packets carry beside their headers.
    type Extension: Extension;
    /// Send time that a NIC keeps of a paced packet: [`Instant`] if it may move while the packet waits, else `()`.
    type Due: Due;
    /// Whether the timer of [`Sender::timer`] never moves to an earlier time once it runs.
    const TIMER_RECEDES: bool = false;

    // --- sending ------------------------------------------------------------------------------------------------------

    /// Returns the wire bytes of the packet that would be sent at `now`. Changes nothing, so a NIC may ask as often as
    /// it likes.
    fn peek(&self, params: &Self::Params, now: Instant) -> Next<u16>;
    /// Sends the next packet at `now`.
    fn next_packet(&mut self, params: &Self::Params, now: Instant) -> Next<Outgoing<Self::Extension>>;
    /// Handles a packet from the receiver.
    fn on_packet(&mut self, params: &Self::Params, now: Instant, packet: &Frame<Self::Extension>);
    /// Returns the expiry of the timer, which any event may change; [`Instant::NEVER`] if it does not run.
    #[inline(always)]
    fn timer(&self, _params: &Self::Params) -> Instant {
        Instant::NEVER
    }
    /// Handles the expiry of the timer. Returns the reason, where it was a timeout of TCP.
    fn on_timer(&mut self, _params: &Self::Params, _now: Instant) -> Option<TimeoutReason> {
        None
    }
    /// Whether packets are left to send, for the first time or again.
    fn has_unsent(&self) -> bool;
    /// Whether every packet was acknowledged.
    fn is_done(&self) -> bool;
    /// Key of the packets.
    fn key(&self) -> u32;
    /// Traffic class of the packets, by which the NIC chooses a queue; that of the first packets, where it changes.
    fn class(&self) -> u8;

    // --- counters -----------------------------------------------------------------------------------------------------

    /// Packets with data that were acknowledged.
    fn acknowledged(&self) -> u32;
    /// Retransmitted packets.
    fn retransmitted(&self) -> u32 {
        0
    }
    /// Timeouts. Only of TCP.
    fn timeouts(&self) -> u32 {
        0
    }
    /// Credits that came with nothing left to send. Only of ExpressPass.
    fn wasted(&self) -> u32 {
        0
    }

    // --- for NICs that choose the flow with the least left -------------------------------------------------------------

    /// Packets left to send.
    fn left(&self) -> u32 {
        0
    }
    /// Payload bytes left to send; a flow that does not know goes last.
    fn left_bytes(&self, _params: &Self::Params) -> u64 {
        u64::MAX
    }

    // --- pacing, for NICs that keep send times -------------------------------------------------------------------------

    /// Whether this flow's pending send time can move.
    #[inline(always)]
    fn moves(&self) -> bool {
        Self::Due::MOVES
    }
    /// Earliest start of the next packet by pacing alone: exact where it can move, else perhaps too early by the
    /// transmission time of the packet before.
    fn next_send(&self) -> Instant {
        Instant::ZERO
    }
    /// Whether the send time was set since the last call, be it to the same value. Only where it can move.
    #[inline(always)]
    fn take_moved(&mut self) -> bool {
        true
    }

    // --- timers that are events of their own, as in ns-3 ----------------------------------------------------------------

    /// Takes a timer that was armed since the last call, in the order of arming: its expiry and its number.
    #[inline(always)]
    fn take_armed(&mut self) -> Option<(Instant, u8)> {
        None
    }
    /// Handles the expiry of timer number `timer`, which was armed for `now`.
    fn on_expiry(&mut self, _params: &Self::Params, _now: Instant, _timer: u8) {}
}

/// A packet from a flow's receiver to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<E = ()> {
    /// Kind of packet.
    pub kind: Kind,
    /// Sequence number.
    pub seq: u32,
    /// Further word, which travels in the field in which data packets name their receiver; `None`: that field is
    /// copied.
    pub word: Option<u32>,
    /// Bytes on the wire.
    pub wire: u16,
    /// Flags, see [`backwater_types::flags`].
    pub flags: u8,
    /// Metadata beside the headers.
    pub extension: E,
}

/// Receiving end of a flow.
pub trait Receiver: Default + Send + 'static {
    /// Parameters shared by all flows.
    type Params;
    /// Metadata that its packets carry beside their headers.
    type Extension: Extension;
    /// State that the receivers of a host share, such as which of the incoming flows may send; `()` if each decides
    /// alone.
    type Host: Default + Send;
    /// Handles a packet from the sender and returns its answer. Packets that go before the answer, to this sender or to
    /// others, are given to `also`, each with a packet of the flow that it goes to, from which it takes its addresses.
    #[must_use = "the answer has to be sent"]
    fn on_packet(
        &mut self,
        params: &Self::Params,
        host: &mut Self::Host,
        now: Instant,
        packet: &Frame<Self::Extension>,
        also: &mut impl FnMut(&Packet, Reply<Self::Extension>),
    ) -> Option<Reply<Self::Extension>>;
    /// Returns the expiry of the timer; [`Instant::NEVER`] if it does not run.
    #[inline(always)]
    fn timer(&self, _params: &Self::Params, _host: &Self::Host) -> Instant {
        Instant::NEVER
    }
    /// Handles the expiry of the timer. Packets are given to `reply` as to `also` in [`Receiver::on_packet`].
    fn on_timer(
        &mut self,
        _params: &Self::Params,
        _host: &mut Self::Host,
        _now: Instant,
        _reply: &mut impl FnMut(&Packet, Reply<Self::Extension>),
    ) {
    }
    /// Whether all data has arrived.
    fn is_done(&self) -> bool;
    /// Answers a packet of a flow that was complete before.
    fn late(params: &Self::Params, packet: &Frame<Self::Extension>) -> Option<Reply<Self::Extension>>;
}
