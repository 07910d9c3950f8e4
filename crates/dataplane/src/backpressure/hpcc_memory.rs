//! Priority flow control over the switch memory of the public HPCC simulator, rule by rule.
//!
//! Source: baselines 0.4, the simulator's memory model. Its coarse rules differ from the exact ones of
//! [`crate::backpressure::pfc`]:
//!
//! ```text
//! headroom = 3 x (rate x delay), T = (buffer - headrooms - reserves - pool used) >> shift,
//!            shift 3 at NIC speed and one less for every doubling of a port's rate
//! arrival of L bytes, ingress with `held` in reserve and pool:
//!   dropped          if headroom used + L > headroom and (held above reserve) + L > T
//!   to the reserve   if held + L <= reserve
//!   to the headroom  if held + L - reserve > T
//!   to the pool      otherwise: all L are `held`, the part above the reserve is pool used
//! departure          from the headroom, then from the pool, then from the reserve
//! XOFF               headroom used, or held above reserve >= T
//! XON                headroom empty, and held above reserve = 0 or + hysteresis <= T
//! ```
//!
//! Every ingress is accounted and paused class by class. Each class has the reserve, the threshold and the headroom of
//! its port, although only one reserve and one headroom are set aside for each port. Without classes all packets are of
//! class 0.
//!
//! Packets lost with a port whose link goes down stay charged to their ingress ([`DownQueues::Leak`]). They never leave
//! the headroom or the pool again, so the pauses that they cause never end.
//!
//! A pause is sent once: it is neither repeated nor does it lapse.

use crate::backpressure::{Backpressure, PausedClasses, PfcParams};
use crate::meta::{Meta, Resident};
use crate::queues::Queues;
use crate::queues::by_number::PausableByNumber;
use crate::shape::{DownQueues, PortShape, Shape};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::{BitsPerSec, ControlFrame, Duration, Instant, Packet, PortId, QueueId};

/// Three times the bytes in flight one way on the link, each step in whole numbers: 37 500 B at 100 Gb/s and 1 us.
pub fn headroom(delay: Duration, rate: BitsPerSec) -> u64 {
    let ns = delay.0 / 1000;
    (rate.0 as u128 * ns as u128 / 8 / 1_000_000_000) as u64 * 3
}

/// Shift of a port's threshold: `base` (3 is an alpha of 1/8) at NIC speed, one less for every doubling, not below 0.
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
    /// Whether packets lost with their port stay charged.
    leaks: bool,
    /// Number of classes per ingress.
    classes: usize,
    /// `[ingress x class]`: bytes charged.
    ingresses: Vec<Ingress>,
}

#[derive(Clone, Copy, Debug)]
struct Ingress {
    /// Bytes in reserve and pool.
    held: u64,
    headroom_used: u64,
    headroom: u64,
    shift: u8,
    paused: bool,
    /// Bytes that are charged and lost.
    leaked: u64,
}

impl HpccMemory {
    #[inline(always)]
    fn at(&self, ingress: PortId, packet: &Packet) -> usize {
        ingress as usize * self.classes + self.class(packet) as usize
    }

    /// Class of the packet, which is that of the queue it joins; classes beyond the last count as the last.
    #[inline(always)]
    fn class(&self, packet: &Packet) -> u8 {
        packet.class.min(self.classes as u8 - 1)
    }

    #[inline(always)]
    fn threshold(&self, port: &Ingress) -> u64 {
        (self.pool - self.pool_used) >> port.shift
    }

    #[inline(always)]
    fn above_reserve(&self, port: &Ingress) -> u64 {
        port.held.saturating_sub(self.reserve)
    }
}

impl<Q: Queues + PausableByNumber> Backpressure<Q> for HpccMemory {
    type Params = PfcParams;
    type Upstream = PausedClasses;

    /// Creates the memory of a switch.
    ///
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
        let classes = shape.queues as usize;
        let aside = ports.iter().map(|port| port.headroom).sum::<u64>() + params.reserve.0 * ports.len() as u64;
        HpccMemory {
            pool: shape.buffer.checked_sub(aside).expect("the buffer holds reserves and headrooms"),
            pool_used: 0,
            reserve: params.reserve.0,
            hysteresis: params.hysteresis.0,
            leaks: shape.down_queues == DownQueues::Leak,
            classes,
            ingresses: ports.iter().flat_map(|port| vec![*port; classes]).collect(),
        }
    }

    fn upstream(_params: &Self::Params, _shape: &Shape) -> PausedClasses {
        PausedClasses
    }

    #[inline(always)]
    fn admits(&self, ingress: PortId, packet: &Packet) -> bool {
        let (port, wire) = (&self.ingresses[self.at(ingress, packet)], packet.wire as u64);
        port.headroom_used + wire <= port.headroom || self.above_reserve(port) + wire <= self.threshold(port)
    }

    #[inline(always)]
    fn passes(&self, ingress: PortId, packet: &Packet) -> bool {
        let (port, wire) = (&self.ingresses[self.at(ingress, packet)], packet.wire as u64);
        let above = (port.held + wire).saturating_sub(self.reserve);
        let threshold = (self.pool - self.pool_used).saturating_sub(wire.min(above)) >> port.shift;
        !port.paused && port.headroom_used == 0 && above < threshold
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        _now: Instant,
        packet: &Packet,
        held: &mut Meta,
        _egress: PortId,
        _queue: QueueId,
        _queues: &Q,
    ) -> Option<ControlFrame> {
        let (at, wire) = (self.at(held.ingress as PortId, packet), packet.wire as u64);
        let mut port = self.ingresses[at];
        let above = (port.held + wire).saturating_sub(self.reserve);
        if above > 0 && above > self.threshold(&port) {
            port.headroom_used += wire;
        } else {
            port.held += wire;
            self.pool_used += wire.min(above);
        }
        let pause = !port.paused && (port.headroom_used > 0 || self.above_reserve(&port) >= self.threshold(&port));
        port.paused |= pause;
        self.ingresses[at] = port;
        pause.then(|| ControlFrame::PfcPause(self.class(packet)))
    }

    #[inline(always)]
    fn on_dequeue(
        &mut self,
        _now: Instant,
        packet: &Packet,
        held: &Meta,
        _egress: PortId,
        _queue: QueueId,
    ) -> Option<ControlFrame> {
        let (at, wire) = (self.at(held.ingress as PortId, packet), packet.wire as u64);
        let mut port = self.ingresses[at];
        let from_headroom = port.headroom_used.min(wire);
        let rest = wire - from_headroom;
        self.pool_used -= rest.min(self.above_reserve(&port));
        port.headroom_used -= from_headroom;
        port.held -= rest;
        let above = self.above_reserve(&port);
        let low = above == 0 || above + self.hysteresis <= self.threshold(&port);
        let resume = port.paused && port.headroom_used == 0 && low;
        port.paused &= !resume;
        self.ingresses[at] = port;
        resume.then(|| ControlFrame::PfcResume(self.class(packet)))
    }

    fn on_lost(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        egress: PortId,
        queue: QueueId,
    ) -> Option<ControlFrame> {
        if self.leaks {
            let at = self.at(held.ingress as PortId, packet);
            self.ingresses[at].leaked += packet.wire as u64;
            return None;
        }
        Backpressure::<Q>::on_dequeue(self, now, packet, held, egress, queue)
    }

    fn state_of(&mut self, _now: Instant, port: PortId, send: &mut dyn FnMut(ControlFrame)) {
        for class in 0..self.classes as u8 {
            let paused = self.ingresses[port as usize * self.classes + class as usize].paused;
            send(if paused { ControlFrame::PfcPause(class) } else { ControlFrame::PfcResume(class) });
        }
    }

    fn audit(&self, residents: &[Resident]) -> Result<(), String> {
        let mut held = vec![0u64; self.ingresses.len()];
        residents.iter().for_each(|r| held[self.at(r.held.ingress as PortId, &r.packet)] += r.packet.wire as u64);
        for (i, (port, held)) in self.ingresses.iter().zip(held).enumerate() {
            let (i, class) = (i / self.classes, i % self.classes);
            let counted = port.held + port.headroom_used - port.leaked;
            if counted != held {
                return Err(format!("ingress {i} is charged {counted} bytes of class {class}, queues hold {held}"));
            }
            if port.headroom_used > port.headroom {
                return Err(format!("ingress {i} uses more headroom than it has for class {class}"));
            }
        }
        let pool: u64 = self.ingresses.iter().map(|port| self.above_reserve(port)).sum();
        if pool != self.pool_used || pool > self.pool {
            return Err(format!("pool counts should be {pool} bytes, are {} of {}", self.pool_used, self.pool));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::round_robin::RoundRobin;

    /// Each class of an ingress has its own reserve of 4096 B and headroom of 37 500 B, of which the switch sets aside
    /// one each per port. All classes draw on the pool of 137 688 - 2 x (37 500 + 4096) = 54 496 B. An eighth of its
    /// free part is the threshold.
    #[test]
    fn classes_are_accounted_and_paused_one_by_one() {
        let nic_rate = BitsPerSec(100_000_000_000);
        let ports = vec![PortShape::new(nic_rate, Duration::from_us(1)); 2];
        let shape = Shape { buffer: 137_688, nic_rate, ..Shape::new(ports, 8) };
        let mut memory = <HpccMemory as Backpressure<RoundRobin>>::new(&PfcParams::default(), &shape);
        let (queues, held) = (RoundRobin::new(8, 1, 1048), Meta::default());
        let packet = |class: u8| Packet { class, wire: 1048, ..Packet::NONE };
        let join = |memory: &mut HpccMemory, class: u8| {
            memory.on_enqueue(Instant::ZERO, &packet(class), &mut held.clone(), 1, class as QueueId, &queues)
        };
        let leave = |memory: &mut HpccMemory, class: u8| {
            Backpressure::<RoundRobin>::on_dequeue(memory, Instant::ZERO, &packet(class), &held, 1, class.into())
        };
        // Nine packets are 5336 B above the reserve, below an eighth of the free pool. The tenth would make 6384 B,
        // above (54 496 - 5336) / 8 = 6145, and for the second class above (49 160 - 5336) / 8 = 5478.
        for class in [3, 5] {
            let answers: Vec<_> = (0..10).filter_map(|_| join(&mut memory, class)).collect();
            assert_eq!(answers, [ControlFrame::PfcPause(class)], "one pause of its class, at the tenth packet");
            let at = memory.ingresses[class as usize];
            assert_eq!((at.held, at.headroom_used), (9 * 1048, 1048));
        }
        assert_eq!(memory.pool_used, 2 * 5336);
        // With seven packets left 3240 + 3072 > (54 496 - 5336 - 3240) / 8 = 5740; with six 2192 + 3072 <= 5871.
        let answers: Vec<_> = (0..4).map(|_| leave(&mut memory, 3)).collect();
        assert_eq!(answers, [None, None, None, Some(ControlFrame::PfcResume(3))]);
        assert!(memory.ingresses[5].paused && !memory.ingresses[3].paused);
        let mut state = Vec::new();
        Backpressure::<RoundRobin>::state_of(&mut memory, Instant::ZERO, 0, &mut |frame| state.push(frame));
        let paused = |frame: &&ControlFrame| matches!(frame, ControlFrame::PfcPause(_));
        assert_eq!(state.iter().filter(paused).collect::<Vec<_>>(), [&ControlFrame::PfcPause(5)]);
        assert_eq!(state.len(), 8);
    }

    #[test]
    fn a_class_beyond_the_last_is_the_last() {
        let ports = vec![PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1)); 2];
        let shape = Shape { buffer: 1 << 20, nic_rate: ports[0].rate, ..Shape::new(ports, 1) };
        let mut memory = <HpccMemory as Backpressure<RoundRobin>>::new(&PfcParams::default(), &shape);
        let (queues, mut held) = (RoundRobin::new(1, 1, 1048), Meta { ingress: 1, ..Meta::default() });
        let packet = Packet { class: 6, wire: 1048, ..Packet::NONE };
        let answers = (0..1000).find_map(|_| memory.on_enqueue(Instant::ZERO, &packet, &mut held, 0, 0, &queues));
        assert_eq!(answers, Some(ControlFrame::PfcPause(0)));
    }

    #[test]
    fn headroom_and_shift_are_the_simulators() {
        let gbps = |n: u64| BitsPerSec(n * 1_000_000_000);
        assert_eq!(headroom(Duration::from_us(1), gbps(100)), 37_500);
        assert_eq!([25, 100, 200, 400, 800, 1600].map(|n| shift(3, gbps(n), gbps(100))), [3, 3, 2, 1, 0, 0]);
    }
}
