//! What a packet carries beside its header, for schemes that ask for more: in-band telemetry, bytes that are left, credits.
//!
//! A type, so that packets of schemes without stay as small as they are: links, queues and NICs hold a [`Frame`], whoever asks
//! only of the header sees its [`Packet`].

use crate::library_rand::LibraryRand;
use crate::packet::Packet;
use crate::units::{BitsPerSec, Duration, Instant};
use core::fmt::Debug;
use core::ops::{Deref, DerefMut};

/// What the packets of a network carry beside their headers.
pub trait Extension: Copy + Default + Debug + PartialEq + Send + Sync + 'static {
    /// What a port of a switch keeps for it.
    type Port: Clone + Debug + Send + 'static;
    /// Switches write to it.
    const STAMPED: bool = false;
    /// For a port with this link.
    fn port(link: &LinkShape) -> Self::Port;
    /// A data packet starts its transmission; `queued` bytes wait at the port behind it.
    #[inline(always)]
    fn stamp(&mut self, _port: &mut Self::Port, _now: Instant, _queued: u64) {}
    /// A packet of any kind has started its transmission.
    #[inline(always)]
    fn sent(_port: &mut Self::Port, _now: Instant, _wire: u16) {}
    /// Packets say what is left of their flow.
    const TELLS_LEFT: bool = false;
    /// What was left of its flow when the packet with this was sent, itself among it: payload bytes, or packets where its
    /// transport counts by those.
    #[inline(always)]
    fn left(&self, _packet: &Packet) -> u64 {
        0
    }
    /// Some packets are credits, which ports hold until their time has come.
    const CREDITED: bool = false;
    /// A credit is to leave by a port, after those that wait there. Whether there was room for it.
    fn hold(_port: &mut Self::Port, _credit: &Frame<Self>) -> bool {
        false
    }
    /// The first credit that waits at a port, if its time has come: it leaves.
    fn release(_port: &mut Self::Port, _now: Instant) -> Option<Frame<Self>> {
        None
    }
    /// Whether a credit that finds none at a port may leave at once: it does.
    fn passes(_port: &mut Self::Port, _now: Instant, _wire: u16) -> bool {
        false
    }
    /// When the time of the first credit at a port comes; [`Instant::NEVER`] if none waits.
    fn credit_due(_port: &Self::Port) -> Instant {
        Instant::NEVER
    }
}

impl Extension for () {
    type Port = ();

    fn port(_link: &LinkShape) {}
}

/// What in-band telemetry and credits have to know of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkShape {
    /// Its rate.
    pub rate: BitsPerSec,
    /// Number of the transport, by which a type that stands for what the packets of several carry knows whose they are.
    pub transport: u8,
    /// The units in which bytes are counted are as many times as large as at 25 Gb/s.
    pub int_unit: u32,
    /// Tells it from others of its network, though not for certain: what packets add up to know whether they took one path.
    pub tag: u16,
    /// How its ports limit credits.
    pub credits: CreditShape,
    /// How its ports measure and write how much of it is used.
    pub pint: PintShape,
    /// Seed of what its port draws.
    pub seed: u64,
}

impl LinkShape {
    /// With units as at 25 Gb/s, and nothing that limits credits.
    pub fn new(rate: BitsPerSec) -> LinkShape {
        let (credits, pint) = (CreditShape::default(), PintShape::default());
        LinkShape { rate, transport: 0, int_unit: 1, tag: 0, credits, pint, seed: 0 }
    }
}

/// How ports measure how much of a link is used, and write it as the power of a base.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PintShape {
    /// Time over which they average: the longest base round trip.
    pub base_rtt: Duration,
    /// The base.
    pub log_base: f64,
    /// Where all of them draw from, in the order of events; else each draws for itself.
    pub rand: Option<LibraryRand>,
}

/// How ports limit credits: to as much of a link as leaves the rest of it for the data they ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditShape {
    /// Credits that may wait at a port; more are dropped.
    pub queue: u16,
    /// Mean size of a credit on the wire, bytes.
    pub credit: u16,
    /// Size of the data packet it asks for, bytes on the wire.
    pub data: u16,
}

/// A packet with what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<E = ()> {
    /// The header.
    pub packet: Packet,
    /// What it carries beside.
    pub extension: E,
}

const _: () = assert!(size_of::<Frame>() == size_of::<Packet>(), "nothing takes no room");

impl<E: Extension> From<Packet> for Frame<E> {
    #[inline(always)]
    fn from(packet: Packet) -> Frame<E> {
        Frame { packet, extension: E::default() }
    }
}

impl<E: Extension> Frame<E> {
    /// What it says was left of its flow: see [`Extension::left`].
    #[inline(always)]
    pub fn left(&self) -> u64 {
        self.extension.left(&self.packet)
    }
}

impl<E> Deref for Frame<E> {
    type Target = Packet;

    #[inline(always)]
    fn deref(&self) -> &Packet {
        &self.packet
    }
}

impl<E> DerefMut for Frame<E> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }
}
