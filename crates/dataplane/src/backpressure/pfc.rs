//! Priority flow control with ingress accounting.
//!
//! Source: baselines 0.4 (the HPCC simulator's switch memory), IEEE 802.1Qbb. Every ingress port has a reserve, a
//! dynamic threshold on the shared pool, and headroom for data that arrives after XOFF:
//!
//! ```text
//! T    = alpha x (pool - bytes in the pool)            pool = buffer - all reserves - all headrooms
//! XOFF : headroom in use, or pool bytes of this ingress >= T
//! XON  : headroom empty, and pool bytes of this ingress = 0 or + hysteresis <= T
//! drop : neither reserve, pool below T, nor headroom has room
//! ```
//!
//! The upstream half, [`PausedPorts`], pauses all data of a port, whatever class the frame names: this scheme accounts
//! all classes together, and its frames name class 0.

pub use crate::shape::headroom;

use crate::backpressure::{Backpressure, Grain, Pauses, Pausing, Refresh, Upstream};
use crate::canonical::Canonical;
use crate::meta::{Meta, Resident};
use crate::queues::Queues;
use crate::queues::bits::Bits;
use crate::shape::{PortShape, Shape};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::{
    Bytes, ControlFrame, Duration, Effect, Instant, OutOfRange, Packet, PortId, QueueId, Ranges, Target,
};
use core::hash::{Hash, Hasher};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Ingress accounting of priority flow control (baselines 0.4).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct PfcParams {
    /// An ingress may hold `alpha` times the free shared buffer before it pauses.
    pub alpha: f64,
    /// Room for data that arrives after XOFF. Absent: the exact worst case of each link.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub headroom: Option<Bytes>,
    /// Bytes guaranteed to each ingress port.
    pub reserve: Bytes,
    /// XON only when the ingress is this far below its threshold.
    pub hysteresis: Bytes,
}

impl Default for PfcParams {
    fn default() -> PfcParams {
        PfcParams { alpha: 0.125, headroom: None, reserve: Bytes(4096), hysteresis: Bytes(3072) }
    }
}

impl Ranges for PfcParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.alpha > 0.0, "alpha", "more than 0")
    }
}

impl Pauses for PfcParams {
    fn pausing(&self) -> Pausing<'_> {
        Pausing { refresh: REFRESH, ..Pausing::of(Grain::Port) }
    }
}

/// Period in which a pause is repeated: well inside the 335 us after which it would lapse on real hardware at 100 Gb/s.
const REFRESH: Duration = Duration::from_us(100);

/// Ingress accounting of one switch.
#[derive(Clone, Debug)]
pub struct Pfc {
    pool: u64,
    pool_used: u64,
    /// Bytes of the pool held by traffic without PFC accounting ([`crate::policy::pfc_interop`]).
    taken: u64,
    /// Alpha in units of 1/65536.
    alpha: u64,
    reserve: u64,
    hysteresis: u64,
    ports: Vec<Ingress>,
    refresh: Refresh,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    reserve_used: u64,
    pool_used: u64,
    headroom_used: u64,
    headroom: u64,
    paused: bool,
}

impl Pfc {
    /// Accounts only for ports that `speaks` selects. No other port has headroom.
    ///
    /// # Panics
    /// If reserves and headrooms exceed the buffer; scenarios are checked for that.
    pub fn towards(params: &PfcParams, shape: &Shape, speaks: impl Fn(&PortShape) -> bool) -> Pfc {
        let headroom = |port: &PortShape| match speaks(port) {
            true => params.headroom.map_or(port.headroom, |bytes| bytes.0),
            false => 0,
        };
        let ingress = |port| Ingress { headroom: headroom(port), ..Ingress::default() };
        let ports: Vec<Ingress> = shape.ports.iter().map(ingress).collect();
        let aside = ports.iter().map(|port| port.headroom).sum::<u64>() + params.reserve.0 * ports.len() as u64;
        Pfc {
            pool: shape.buffer.min(u64::MAX >> 1).checked_sub(aside).expect("the buffer holds reserves and headrooms"),
            pool_used: 0,
            taken: 0,
            alpha: (params.alpha * 65536.0 + 0.5) as u64,
            reserve: params.reserve.0,
            hysteresis: params.hysteresis.0,
            refresh: Refresh::new(ports.len(), REFRESH),
            ports,
        }
    }

    #[inline(always)]
    fn threshold(&self) -> u64 {
        ((self.free() as u128 * self.alpha as u128) >> 16) as u64
    }

    /// Free bytes of the pool.
    #[inline(always)]
    fn free(&self) -> u64 {
        self.pool - self.pool_used - self.taken
    }

    /// Whether the pool has room for `wire` bytes of traffic without PFC accounting.
    pub fn has_room(&self, wire: u64) -> bool {
        wire <= self.free()
    }

    /// Takes `wire` bytes of the pool for traffic without PFC accounting.
    pub fn take(&mut self, wire: u64) {
        self.taken += wire;
    }

    /// Gives `wire` bytes of traffic without PFC accounting back to the pool.
    pub fn give(&mut self, wire: u64) {
        self.taken -= wire;
    }

    /// Bytes of the pool held by traffic without PFC accounting.
    pub fn taken(&self) -> u64 {
        self.taken
    }
}

impl<Q: Queues> Backpressure<Q> for Pfc {
    type Params = PfcParams;
    type Upstream = PausedPorts;

    /// Creates the accounting of a switch.
    ///
    /// # Panics
    /// If reserves and headrooms exceed the buffer; scenarios are checked for that.
    fn new(params: &PfcParams, shape: &Shape) -> Pfc {
        Pfc::towards(params, shape, |_| true)
    }

    fn upstream(_params: &Self::Params, _shape: &Shape) -> PausedPorts {
        PausedPorts::default()
    }

    #[inline(always)]
    fn admits(&self, ingress: PortId, packet: &Packet) -> bool {
        let wire = packet.wire as u64;
        let port = &self.ports[ingress as usize];
        port.reserve_used + wire <= self.reserve
            || (port.pool_used < self.threshold() && wire <= self.free())
            || port.headroom_used + wire <= port.headroom
    }

    #[inline(always)]
    fn passes(&self, ingress: PortId, packet: &Packet) -> bool {
        let wire = packet.wire as u64;
        let port = &self.ports[ingress as usize];
        let from_pool = if port.reserve_used + wire <= self.reserve { 0 } else { wire };
        if from_pool == 0 && port.pool_used > 0 {
            // The packet would take bytes of the reserve and give them back to the pool.
            return false;
        }
        let free = self.free().saturating_sub(from_pool);
        let threshold = ((free as u128 * self.alpha as u128) >> 16) as u64;
        !port.paused && port.headroom_used == 0 && port.pool_used + from_pool < threshold
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Meta,
        _egress: PortId,
        _queue: QueueId,
        _queues: &Q,
    ) -> Option<ControlFrame> {
        let (threshold, free, wire) = (self.threshold(), self.free(), packet.wire as u64);
        let port = &mut self.ports[held.ingress as usize];
        if port.reserve_used + wire <= self.reserve {
            port.reserve_used += wire;
        } else if port.pool_used < threshold && wire <= free {
            port.pool_used += wire;
            self.pool_used += wire;
        } else {
            port.headroom_used += wire;
        }
        let threshold = self.threshold();
        let port = &mut self.ports[held.ingress as usize];
        if port.paused || (port.headroom_used == 0 && port.pool_used < threshold) {
            return None;
        }
        port.paused = true;
        self.refresh.on_transition(now, held.ingress as PortId);
        Some(ControlFrame::PfcPause(0))
    }

    /// Gives back headroom first, then the pool, then the reserve.
    #[inline(always)]
    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        _egress: PortId,
        _queue: QueueId,
    ) -> Option<ControlFrame> {
        let port = &mut self.ports[held.ingress as usize];
        let mut left = packet.wire as u64;
        let headroom = left.min(port.headroom_used);
        port.headroom_used -= headroom;
        left -= headroom;
        let pool = left.min(port.pool_used);
        port.pool_used -= pool;
        self.pool_used -= pool;
        port.reserve_used -= left - pool;
        if !port.paused {
            return None;
        }
        let port = *port;
        let low = port.pool_used == 0 || port.pool_used + self.hysteresis <= self.threshold();
        if port.headroom_used > 0 || !low {
            return None;
        }
        self.ports[held.ingress as usize].paused = false;
        self.refresh.on_transition(now, held.ingress as PortId);
        Some(ControlFrame::PfcResume(0))
    }

    fn next_refresh(&self) -> Instant {
        self.refresh.next()
    }

    fn refresh(&mut self, now: Instant, send: &mut dyn FnMut(PortId, ControlFrame)) {
        let ports = &self.ports;
        let state = |port: PortId| match ports[port as usize].paused {
            true => (ControlFrame::PfcPause(0), false),
            false => (ControlFrame::PfcResume(0), true),
        };
        self.refresh.run(now, state, send);
    }

    fn state_of(&mut self, now: Instant, port: PortId, send: &mut dyn FnMut(ControlFrame)) {
        self.refresh.on_transition(now, port);
        let paused = self.ports[port as usize].paused;
        send(if paused { ControlFrame::PfcPause(0) } else { ControlFrame::PfcResume(0) });
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut held = vec![0u64; self.ports.len()];
        residents.iter().for_each(|r| held[r.held.ingress as usize] += r.packet.wire as u64);
        for (i, (port, held)) in self.ports.iter().zip(held).enumerate() {
            let counted = port.reserve_used + port.pool_used + port.headroom_used;
            if counted != held {
                return Err(format!("ingress {i} is charged {counted} bytes, queues hold {held}"));
            }
            if port.headroom_used > port.headroom || port.reserve_used > self.reserve {
                return Err(format!("ingress {i} uses more headroom or reserve than it has"));
            }
        }
        let pool: u64 = self.ports.iter().map(|p| p.pool_used).sum();
        if pool != self.pool_used || pool > self.pool {
            return Err(format!("pool counts should be {pool} bytes, are {} of {}", self.pool_used, self.pool));
        }
        Ok(())
    }
}

/// PFC's upstream half: one bit for each of up to 256 ports, apart from the cache lines of the ports.
#[derive(Clone, Debug)]
pub struct PausedPorts {
    held: Bits<4>,
    /// Whether any port is paused. While none is, no other field is read.
    any: bool,
}

impl Default for PausedPorts {
    fn default() -> PausedPorts {
        PausedPorts { held: Bits::EMPTY, any: false }
    }
}

impl PausedPorts {
    /// Pauses or resumes `port`, by which `frame` arrived, if the frame is one of PFC.
    #[inline]
    pub fn obey(&mut self, port: PortId, frame: ControlFrame) {
        match frame.effect() {
            Effect::Set { target: Target::Class(_), holds: true } => self.hold(port),
            Effect::Set { target: Target::Class(_), holds: false } => self.release(port),
            Effect::Set { target: Target::Queue(_) | Target::Flow(_), .. } => {}
            Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => {}
        }
    }

    fn hold(&mut self, port: PortId) {
        self.held.insert(port as usize);
        self.any = true;
    }

    /// Resumes `port`, whose link went down or came back.
    pub fn release(&mut self, port: PortId) {
        self.held.remove(port as usize);
        self.any = !self.held.is_empty();
    }

    /// Whether `port` may send data.
    #[inline(always)]
    pub fn may_send(&self, port: PortId) -> bool {
        !(self.any && self.held.contains(port as usize))
    }
}

impl<Q> Upstream<Q> for PausedPorts {
    #[inline]
    fn on_control(&mut self, _now: Instant, port: PortId, frame: ControlFrame, _queues: &mut Q) {
        self.obey(port, frame);
    }

    fn release(&mut self, port: PortId, _queues: &mut Q) {
        self.release(port);
    }

    #[inline(always)]
    fn may_send(&self, port: PortId) -> bool {
        self.may_send(port)
    }
}

impl Canonical for PausedPorts {
    fn canonical(&self, _now: Instant, state: &mut impl Hasher) {
        self.held.hash(state);
    }
}
