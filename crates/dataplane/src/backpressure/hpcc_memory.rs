//! Priority flow control over switch memory as the public HPCC simulator has it, rule by rule.
//!
//! Source: baselines 0.4, the simulator's memory model. It differs from [`crate::backpressure::pfc`], which is exact where this is coarse:
//!
//! ```text
//! headroom = 3 x (rate x delay), T = (buffer - headrooms - reserves - pool used) >> shift, shift 3 at NIC speed and one less
//!            for every doubling of a port's rate
//! arrival of L bytes, ingress with `held` in reserve and pool:
//!   dropped          if headroom used + L > headroom and (held above reserve) + L > T
//!   to the reserve   if held + L <= reserve
//!   to the headroom  if held + L - reserve > T
//!   to the pool      otherwise: all L are `held`, what is above the reserve is pool used
//! departure          from the headroom, then from the pool, then from the reserve
//! XOFF               headroom used, or held above reserve >= T
//! XON                headroom empty, and held above reserve = 0 or + hysteresis <= T
//! ```
//!
//! What is lost with a port whose link goes down stays charged there ([`DownQueues::Leak`]); it leaves no headroom and no pool again, so
//! pauses that it causes never end.
//!
//! A pause is sent once: it is neither repeated nor does it lapse.

use crate::backpressure::{Backpressure, PausedPorts, PfcParams};
use crate::held::{Held, Resident};
use crate::queues::Queues;
use crate::shape::{DownQueues, PortShape, Shape};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::{BitsPerSec, ControlFrame, Duration, Instant, Packet, PortId, QueueId};

/// Three times what a link holds one way, bytes, each step in whole numbers: 37 500 B at 100 Gb/s and 1 us.
pub fn headroom(delay: Duration, rate: BitsPerSec) -> u64 {
    let ns = delay.0 / 1000;
    (rate.0 as u128 * ns as u128 / 8 / 1_000_000_000) as u64 * 3
}

/// The threshold's shift of a port: `base` (3 is an alpha of 1/8) at NIC speed, one less for every doubling, not below 0.
pub fn shift(base: u8, rate: BitsPerSec, nic: BitsPerSec) -> u8 {
    let (mut shift, mut rate) = (base, rate.0);
    while rate > nic.0 && shift > 0 {
        shift -= 1;
        rate /= 2;
    }
    shift
}

/// Memory of one switch.
#[derive(Clone, Debug)]
pub struct HpccMemory {
    /// Buffer less headrooms and reserves.
    pool: u64,
    pool_used: u64,
    reserve: u64,
    hysteresis: u64,
    /// What is lost with its port stays charged.
    leaks: bool,
    ports: Vec<Ingress>,
}

#[derive(Clone, Copy, Debug)]
struct Ingress {
    /// In reserve and pool.
    held: u64,
    headroom_used: u64,
    headroom: u64,
    shift: u8,
    paused: bool,
    /// Charged, and lost.
    leaked: u64,
}

impl HpccMemory {
    #[inline(always)]
    fn threshold(&self, port: &Ingress) -> u64 {
        (self.pool - self.pool_used) >> port.shift
    }

    #[inline(always)]
    fn above_reserve(&self, port: &Ingress) -> u64 {
        port.held.saturating_sub(self.reserve)
    }
}

impl<Q: Queues> Backpressure<Q> for HpccMemory {
    type Params = PfcParams;
    type Upstream = PausedPorts;

    /// # Panics
    /// If reserves and headrooms exceed the buffer; scenarios are checked for that.
    fn new(params: &PfcParams, shape: &Shape) -> HpccMemory {
        // Scenarios are checked for an alpha of 1, 1/2, 1/4, ...
        let base = ((1.0 / params.alpha) as u64).trailing_zeros() as u8;
        let ingress = |port: &PortShape| Ingress {
            held: 0,
            headroom_used: 0,
            headroom: params.headroom.map_or(headroom(Duration(port.hrtt.0 / 2), port.rate), |bytes| bytes.0),
            shift: shift(base, port.rate, shape.nic_rate),
            paused: false,
            leaked: 0,
        };
        let ports: Vec<Ingress> = shape.ports.iter().map(ingress).collect();
        let aside = ports.iter().map(|port| port.headroom).sum::<u64>() + params.reserve.0 * ports.len() as u64;
        HpccMemory {
            pool: shape.buffer.checked_sub(aside).expect("the buffer holds reserves and headrooms"),
            pool_used: 0,
            reserve: params.reserve.0,
            hysteresis: params.hysteresis.0,
            leaks: shape.down_queues == DownQueues::Leak,
            ports,
        }
    }

    fn upstream(_params: &Self::Params, _shape: &Shape) -> PausedPorts {
        PausedPorts::default()
    }

    #[inline(always)]
    fn admits(&self, ingress: PortId, wire: u64) -> bool {
        let port = &self.ports[ingress as usize];
        port.headroom_used + wire <= port.headroom || self.above_reserve(port) + wire <= self.threshold(port)
    }

    #[inline(always)]
    fn passes(&self, ingress: PortId, wire: u64) -> bool {
        let port = &self.ports[ingress as usize];
        let above = (port.held + wire).saturating_sub(self.reserve);
        let threshold = (self.pool - self.pool_used).saturating_sub(wire.min(above)) >> port.shift;
        !port.paused && port.headroom_used == 0 && above < threshold
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        _now: Instant,
        packet: &Packet,
        held: &mut Held,
        _egress: PortId,
        _queue: QueueId,
        _queues: &Q,
    ) -> Option<ControlFrame> {
        let wire = packet.wire as u64;
        let mut port = self.ports[held.ingress as usize];
        let above = (port.held + wire).saturating_sub(self.reserve);
        if above > 0 && above > self.threshold(&port) {
            port.headroom_used += wire;
        } else {
            port.held += wire;
            self.pool_used += wire.min(above);
        }
        let pause = !port.paused && (port.headroom_used > 0 || self.above_reserve(&port) >= self.threshold(&port));
        port.paused |= pause;
        self.ports[held.ingress as usize] = port;
        pause.then_some(ControlFrame::PfcPause(0))
    }

    #[inline(always)]
    fn on_dequeue(&mut self, _now: Instant, wire: u16, held: &Held) -> Option<ControlFrame> {
        let mut port = self.ports[held.ingress as usize];
        let from_headroom = port.headroom_used.min(wire as u64);
        let rest = wire as u64 - from_headroom;
        self.pool_used -= rest.min(self.above_reserve(&port));
        port.headroom_used -= from_headroom;
        port.held -= rest;
        let above = self.above_reserve(&port);
        let low = above == 0 || above + self.hysteresis <= self.threshold(&port);
        let resume = port.paused && port.headroom_used == 0 && low;
        port.paused &= !resume;
        self.ports[held.ingress as usize] = port;
        resume.then_some(ControlFrame::PfcResume(0))
    }

    fn on_lost(&mut self, now: Instant, wire: u16, held: &Held) -> Option<ControlFrame> {
        if self.leaks {
            self.ports[held.ingress as usize].leaked += wire as u64;
            return None;
        }
        Backpressure::<Q>::on_dequeue(self, now, wire, held)
    }

    fn state_of(&mut self, _now: Instant, port: PortId) -> Option<ControlFrame> {
        let paused = self.ports[port as usize].paused;
        Some(if paused { ControlFrame::PfcPause(0) } else { ControlFrame::PfcResume(0) })
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut held = vec![0u64; self.ports.len()];
        residents.iter().for_each(|r| held[r.held.ingress as usize] += r.packet.wire as u64);
        for (i, (port, held)) in self.ports.iter().zip(held).enumerate() {
            let counted = port.held + port.headroom_used - port.leaked;
            if counted != held {
                return Err(format!("ingress {i} is charged {counted} bytes, {held} are held"));
            }
            if port.headroom_used > port.headroom {
                return Err(format!("ingress {i} uses more headroom than it has"));
            }
        }
        let pool: u64 = self.ports.iter().map(|port| self.above_reserve(port)).sum();
        if pool != self.pool_used || pool > self.pool {
            return Err(format!("pool holds {pool} bytes, counts {}, has {}", self.pool_used, self.pool));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_and_shift_are_the_simulators() {
        let gbps = |n: u64| BitsPerSec(n * 1_000_000_000);
        assert_eq!(headroom(Duration::from_us(1), gbps(100)), 37_500);
        assert_eq!([25, 100, 200, 400, 800, 1600].map(|n| shift(3, gbps(n), gbps(100))), [3, 3, 2, 1, 0, 0]);
    }
}
