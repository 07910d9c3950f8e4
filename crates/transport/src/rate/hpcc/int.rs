//! In-band network telemetry of HPCC (INT): the wire format of what each switch writes into a packet.
//!
//! Source: Li et al., SIGCOMM 2019, section 4.1. Time, bytes sent and bytes queued have the widths of the paper's
//! header, in units of bytes that grow with the fastest NIC. Rates have 16 bits, to three digits, where the simulator's
//! table knows five rates.

use backwater_types::{BitsPerSec, Extension, Instant, LinkShape};

/// Most hops that a packet has room for: three up and three down, across two data centers.
pub const HOPS: usize = 6;

/// Width of the time that a hop writes, in nanoseconds.
pub(super) const TIME_BITS: u32 = 24;
/// Width of the bytes sent, in their unit.
pub(super) const SENT_BITS: u32 = 20;
/// Width of the bytes queued, in their unit.
const QUEUED_BITS: u32 = 17;
/// Unit of bytes sent at 25 Gb/s.
pub(super) const SENT_UNIT: u64 = 128;
/// Unit of bytes queued at 25 Gb/s.
pub(super) const QUEUED_UNIT: u64 = 80;

/// Telemetry of one packet. 64 bytes, so that a packet with it is copied without parts that overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Int {
    hops: [IntHop; HOPS],
    /// Rates of the links that the hops sent on.
    pub(super) rates: [IntRate; HOPS],
    /// Number of hops that have written.
    count: u16,
    /// Identifier of the path so far, the exclusive or of its links' tags (pathID in the paper).
    pub(super) path: u16,
}

const _: () = assert!(size_of::<Int>() == 64);

/// Record of one hop, from the lowest bits on: time in nanoseconds, bytes sent and bytes queued in their units, all
/// wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct IntHop(pub(super) u64);

/// Rate of a link as three or more decimal digits times a power of ten, from the lowest bits on: four bits of the
/// power, twelve of the digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct IntRate(u16);

/// Telemetry state of one port.
#[derive(Clone, Copy, Debug)]
pub struct IntPort {
    /// Bytes sent so far.
    pub(super) sent: u64,
    /// Factor of the units of bytes.
    unit: u64,
    /// Rate of the link.
    rate: IntRate,
    /// Tag of the link, by which paths are told apart.
    tag: u16,
}

impl Extension for Int {
    type Port = IntPort;
    const STAMPED: bool = true;

    fn port(link: &LinkShape) -> IntPort {
        IntPort { sent: 0, unit: link.int_unit as u64, rate: IntRate::of(link.rate), tag: link.tag }
    }

    #[inline]
    fn stamp(&mut self, port: &mut IntPort, now: Instant, queued: u64) {
        let hop = self.count as usize % HOPS;
        let (time, sent, queued) =
            (now.0 / 1000, port.sent / (SENT_UNIT * port.unit), queued / (QUEUED_UNIT * port.unit));
        self.hops[hop] = IntHop::of(time, sent, queued);
        self.rates[hop] = port.rate;
        self.count = self.count.saturating_add(1);
        self.path ^= port.tag;
    }

    #[inline(always)]
    fn sent(port: &mut IntPort, _now: Instant, wire: u16) {
        port.sent += wire as u64;
    }
}

impl Int {
    /// Yields for each hop the bytes queued, the bytes sent and the nanoseconds since an earlier packet, and the rate of
    /// the link, bit/s. If the earlier packet came by another path, bytes sent and nanoseconds are zero.
    pub(crate) fn since<'a>(&'a self, before: &'a Int, unit: u64) -> impl Iterator<Item = (u64, u64, u64, f64)> + 'a {
        let same = self.path == before.path && self.count == before.count;
        self.read(HOPS as u8).iter().zip(&before.hops).zip(&self.rates).map(move |((now, then), rate)| {
            let (sent, span) = if same { (now.sent_since(*then, unit), now.since(*then)) } else { (0, 0) };
            (now.queued() * QUEUED_UNIT * unit, sent, span, rate.bits_per_sec())
        })
    }

    /// Returns the records of the hops; none if there were more than `room`.
    #[inline(always)]
    pub(super) fn read(&self, room: u8) -> &[IntHop] {
        if self.count <= room.into() { &self.hops[..self.count as usize] } else { &[] }
    }
}

impl IntRate {
    const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

    /// Encodes a rate.
    pub(super) fn of(rate: BitsPerSec) -> IntRate {
        let (mut digits, mut power) = (rate.0, 0);
        while digits > 0xfff {
            (digits, power) = (digits / 10, power + 1);
        }
        IntRate((digits as u16) << 4 | power)
    }

    /// Decodes the rate, bit/s.
    #[inline(always)]
    pub(super) fn bits_per_sec(self) -> f64 {
        (self.0 >> 4) as f64 * IntRate::POWERS[(self.0 & 15) as usize]
    }
}

impl IntHop {
    #[inline(always)]
    fn of(time: u64, sent: u64, queued: u64) -> IntHop {
        let low = |value: u64, bits: u32| value & ((1 << bits) - 1);
        IntHop((low(queued, QUEUED_BITS) << SENT_BITS | low(sent, SENT_BITS)) << TIME_BITS | low(time, TIME_BITS))
    }

    /// Nanoseconds since the hop wrote `before`.
    #[inline(always)]
    pub(super) fn since(self, before: IntHop) -> u64 {
        self.0.wrapping_sub(before.0) & ((1 << TIME_BITS) - 1)
    }

    /// Bytes that the hop has sent since it wrote `before`.
    #[inline(always)]
    pub(super) fn sent_since(self, before: IntHop, unit: u64) -> u64 {
        let sent = (self.0 >> TIME_BITS).wrapping_sub(before.0 >> TIME_BITS);
        (sent & ((1 << SENT_BITS) - 1)) * SENT_UNIT * unit
    }

    /// Bytes queued, in units of [`QUEUED_UNIT`].
    #[inline(always)]
    pub(super) fn queued(self) -> u64 {
        self.0 >> (TIME_BITS + SENT_BITS)
    }
}
