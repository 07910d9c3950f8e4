//! Metadata that a packet carries beside its header in some schemes: in-band telemetry, bytes left, credits.
//!
//! The metadata is a type parameter, so that packets without it stay small: links, queues and NICs hold a [`Frame`],
//! which dereferences to its [`Packet`].

use crate::library_rand::LibraryRand;
use crate::packet::Packet;
use crate::units::{BitsPerSec, Duration, Instant};
use core::fmt::Debug;
use core::ops::{Deref, DerefMut};

/// Metadata that the packets of a network carry beside their headers.
pub trait Extension: Copy + Default + Debug + PartialEq + Send + Sync + 'static {
    /// State that a port of a switch keeps for it.
    type Port: Clone + Debug + Send + 'static;
    /// Whether switches write to it.
    const STAMPED: bool = false;
    /// Makes the state of a port with this link.
    fn port(link: &LinkShape) -> Self::Port;
    /// Updates the metadata of a data packet that starts its transmission; `queued` bytes wait at the port behind it.
    #[inline(always)]
    fn stamp(&mut self, _port: &mut Self::Port, _now: Instant, _queued: u64) {}
    /// Updates a port after the start of a packet of any kind.
    #[inline(always)]
    fn sent(_port: &mut Self::Port, _now: Instant, _wire: u16) {}
    /// Whether packets carry the bytes or packets left of their flow.
    const TELLS_LEFT: bool = false;
    /// Payload bytes left of the flow when the packet was sent, its own included; packets where the transport counts
    /// packets.
    #[inline(always)]
    fn left(&self, _packet: &Packet) -> u64 {
        0
    }
    /// Whether some packets are credits, which ports hold until a token bucket lets them go.
    const CREDITED: bool = false;
    /// Queues a credit at its egress port. Returns whether there was room for it.
    fn hold(_port: &mut Self::Port, _credit: &Frame<Self>) -> bool {
        false
    }
    /// Takes the first credit that waits at a port, if it may go now.
    fn release(_port: &mut Self::Port, _now: Instant) -> Option<Frame<Self>> {
        None
    }
    /// Lets a credit bypass a port if no other waits and it may go now. Returns whether it goes.
    fn passes(_port: &mut Self::Port, _now: Instant, _wire: u16) -> bool {
        false
    }
    /// Returns the time at which the first credit at a port may go; [`Instant::NEVER`] if none waits.
    fn credit_due(_port: &Self::Port) -> Instant {
        Instant::NEVER
    }
}

impl Extension for () {
    type Port = ();

    fn port(_link: &LinkShape) {}
}

/// Properties of a link that in-band telemetry and credits use.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkShape {
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Number of the transport, by which an enum of several transports' metadata chooses its variant.
    pub transport: u8,
    /// Factor of telemetry's units of bytes over those at 25 Gb/s.
    pub int_unit: u32,
    /// Tag of the link, not necessarily unique; packets combine the tags of their links to tell paths apart.
    pub tag: u16,
    /// Limit of ExpressPass credits at its ports.
    pub credits: CreditShape,
    /// Measurement of PINT at its ports.
    pub pint: PintShape,
    /// Seed of its ports' random numbers.
    pub seed: u64,
}

impl LinkShape {
    /// Makes a link with units as at 25 Gb/s and without a limit of credits.
    pub fn new(rate: BitsPerSec) -> LinkShape {
        let (credits, pint) = (CreditShape::default(), PintShape::default());
        LinkShape { rate, transport: 0, int_unit: 1, tag: 0, credits, pint, seed: 0 }
    }
}

/// Measurement of a link's utilisation by PINT, which is written as a power of a base.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PintShape {
    /// Averaging time: the longest base round trip.
    pub base_rtt: Duration,
    /// Base of the powers.
    pub log_base: f64,
    /// Generator of random numbers that all ports share, in the order of events; `None`: each port has its own.
    pub rand: Option<LibraryRand>,
}

/// Limit of ExpressPass credits at ports: the share of a link that leaves the rest for their data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditShape {
    /// Credits that may wait at a port; more are dropped.
    pub queue: u16,
    /// Mean size of a credit on the wire, bytes.
    pub credit: u16,
    /// Size of the data packet that a credit asks for, bytes on the wire.
    pub data: u16,
}

/// A packet with its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<E = ()> {
    /// Header.
    pub packet: Packet,
    /// Metadata beside the header.
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
    /// Bytes or packets left of the flow, see [`Extension::left`].
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
