//! Construction of switches: the configuration of a switch ([`Shape`]) from its table of parameters and its place in
//! the network.

use crate::conventions::{AckClass, Conventions, DownQueues, Memory, Time};
use crate::registry::{Host, Switch};
use crate::site::SwitchSite;
use crate::switch::{Assignment, WhenPaused};
pub use backwater_dataplane::ElidedTurns;
use backwater_dataplane::shape::cells_ahead;
use backwater_dataplane::{
    BufferSize, Ecn, EcnOf, Elide, ElideRule, MarkingShape, MemoryShape, Mmu, NotEct, PortShape, Red, Returns, Shape,
    SpacedOver, Spacing, pfc,
};
use backwater_types::{BitsPerSec, Bytes, CONTROL_WIRE, CreditShape, Duration, PintShape, PortId, SerTime, hash};

/// Parameters of all switches and hosts of a network.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// Table of hosts.
    pub host: &'a Host,
    /// Conventions of the model.
    pub conventions: &'a Conventions,
    /// Seed of every random stream.
    pub seed: u64,
    /// Whether enqueue times are kept.
    pub stamps: bool,
    /// Rate of the fastest NIC.
    pub fastest_nic: BitsPerSec,
}

impl Network<'_> {
    /// Limit of ExpressPass credits at ports.
    pub(crate) fn credits(&self) -> CreditShape {
        self.host.expresspass.shape(self.host.full_packet())
    }

    /// Configuration of the switch of a table at its place.
    pub fn shape(&self, table: &Switch, site: &SwitchSite) -> Shape {
        let full = self.host.full_packet().0 as u32;
        let ports = site.ports.iter().map(|port| PortShape {
            rate: port.rate,
            hrtt: Duration(2 * port.delay.0),
            red: table.ecn.as_ref().map_or(Red::OFF, |ecn| red(ecn, port.rate, full)),
            headroom: headroom(self.host, self.conventions, port.rate, port.delay).0,
            pfc_only: port.switch.is_some_and(|other| other.grain().is_coarse()),
            credited: port.switch.is_some_and(|other| other.grants_credits()),
        });
        let smallest = self.host.smallest_packet();
        let around: Vec<(&str, u32)> = site.ports.iter().map(|port| (port.name, port.layer)).collect();
        Shape {
            ports: ports.collect(),
            queues: table.data_queues(),
            hardware_queues: table.queues,
            groups: groups(table, site),
            quantum: table.quantum.0 as u32,
            buffer: match table.buffer {
                BufferSize::Infinite => u64::MAX,
                BufferSize::Shared(bytes) => bytes.0,
            },
            alpha: table.alpha,
            memory: memory(table, site, full),
            marking: MarkingShape {
                per_port: table.ecn.as_ref().is_some_and(|ecn| ecn.of == EcnOf::Port),
                exempt: exempt_queues(table),
                pool_exempts: table.pool_ecn.as_ref().is_some_and(|pool| pool.only_ecn_queues),
                drops_not_ect: table.not_ect == NotEct::Drop,
            },
            smallest_packet: match self.conventions.acks {
                AckClass::High => smallest.0 as u32,
                AckClass::Data => smallest.min(self.host.ack).0 as u32,
            },
            largest_packet: full,
            cells_ahead: cells_ahead(1),
            seed: hash::stream(self.seed, 0x7377_6974, site.number),
            ns3: None,
            salt: hash::stream(self.seed, 0x7361_6c74, site.number),
            hrtt: table.hrtt(),
            elided: elided(table, (site.name, site.layer), &around),
            nic_rate: site.nic_rate,
            transport: self.host.transport.number(),
            int_unit: self.host.int_unit(self.fastest_nic),
            credits: self.credits(),
            pint: PintShape::default(),
            stamp: self.stamps,
            acks_with_data: self.conventions.acks == AckClass::Data,
            pfc_frame: self.conventions.pfc_frame.0 as u16,
            drop_notice: table.drop_notice.then_some(self.host.ack.0 as u16),
            down_queues: match self.conventions.memory {
                Memory::HpccSim => self.conventions.down_queues,
                Memory::Exact => DownQueues::Drain,
            },
            discards_paused: table.when_paused == WhenPaused::Discard,
        }
    }
}

/// Transmission times at `rate`.
pub fn ser_time(conventions: &Conventions, rate: BitsPerSec) -> SerTime {
    match conventions.time {
        Time::Exact => SerTime::of(rate),
        Time::WholeNs => SerTime::in_whole_ns(rate),
    }
}

/// Headroom: bytes that an ingress may need beyond its threshold, in the exact worst case ([`pfc::headroom`]).
///
/// In whole nanoseconds frames take less time than by their link's rate, above all short ones, so more of them may come
/// in a given time. Frames that take less than a nanosecond take none at all there, and no headroom would suffice; they
/// are left out.
pub fn headroom(host: &Host, conventions: &Conventions, rate: BitsPerSec, delay: Duration) -> Bytes {
    let (full, frame) = (host.full_packet().0, conventions.pfc_frame.0.max(CONTROL_WIRE.into()));
    let exact = pfc::headroom(delay, rate, full);
    if conventions.time == Time::Exact {
        return Bytes(exact);
    }
    let ser = ser_time(conventions, rate);
    let reaction = 2 * delay.0 + ser.of_bytes(full).0 + ser.of_bytes(frame).0;
    let most = (host.smallest_packet().0..=full)
        .map(|wire| (wire, ser.of_bytes(wire).0))
        .filter(|(_, time)| *time > 0)
        .map(|(wire, time)| (reaction as u128 * wire as u128).div_ceil(time as u128) as u64)
        .max();
    Bytes(exact.max(most.unwrap_or(0) + 2 * full))
}

/// Marking thresholds of a port of this rate; a full packet has `packet` bytes.
pub(crate) fn red(ecn: &Ecn, rate: BitsPerSec, packet: u32) -> Red {
    let red = match ecn.by_rate.iter().find(|at| at.rate == rate) {
        Some(at) => Red::new(at.kmin.0, at.kmax.0, at.pmax),
        None => Red::new(ecn.kmin.0, ecn.kmax.0, ecn.pmax),
    };
    spaced(red, ecn.spacing, packet)
}

fn spaced(red: Red, spacing: Spacing, packet: u32) -> Red {
    match spacing {
        Spacing::Plain => red,
        Spacing::Uniform => red.uniform(packet),
    }
}

/// Bits of the queues that `ecn` does not cover; all bits without `ecn`.
fn exempt_queues(table: &Switch) -> u128 {
    match &table.ecn {
        None => u128::MAX,
        Some(ecn) if ecn.queues.is_empty() => 0,
        Some(ecn) => !ecn.queues.iter().fold(0, |bits, queue| bits | 1u128 << queue),
    }
}

/// Number of groups of queues with strict priority between them: under Homa's dynamic assignment the queues of
/// unscheduled packets are one group, and each other queue is one.
fn groups(table: &Switch, site: &SwitchSite) -> u16 {
    match table.assignment {
        Assignment::HomaDynamic => {
            let scheduled = site.scheduled.expect("only with Homa's hosts, whose levels are known");
            table.queues - u16::from(scheduled) + 1
        }
        _ => table.priority_groups.into(),
    }
}

/// MMUs and private memory of a switch.
fn memory(table: &Switch, site: &SwitchSite, packet: u32) -> MemoryShape {
    let mmu = &table.mmu;
    let queues = table.data_queues() as usize;
    let own = |queue: usize| mmu.queue.get(queue);
    let private: Vec<u64> =
        (0..queues).map(|queue| own(queue).and_then(|own| own.private).unwrap_or(mmu.private).0).collect();
    let alpha: Vec<Option<f64>> =
        (0..queues).map(|queue| own(queue).and_then(|own| own.alpha).or(table.alpha)).collect();
    let plain = mmu.queue.is_empty() && mmu.private.0 == 0;
    MemoryShape {
        mmu: mmus(mmu, site),
        private: if plain { Vec::new() } else { private },
        alpha: if plain { Vec::new() } else { alpha },
        returns_private: mmu.returns == Returns::Private,
        red: table
            .pool_ecn
            .as_ref()
            .map(|pool| spaced(Red::new(pool.kmin.0, pool.kmax.0, pool.pmax), pool.spacing, packet)),
        red_per_port: table.pool_ecn.as_ref().is_some_and(|pool| pool.spaced_over == SpacedOver::Port),
    }
}

/// `[port]`: number of its MMU.
fn mmus(mmu: &Mmu, site: &SwitchSite) -> Vec<u8> {
    let of = |(port, peer): (usize, &crate::site::Neighbour)| {
        let named = mmu.neighbours.iter().position(|names| names.iter().any(|name| name == peer.name)).unwrap_or(0);
        let by_number = mmu.ports.filter(|_| mmu.neighbours.is_empty());
        by_number.map_or(named, |ports| port / ports as usize) as u8
    };
    site.ports.iter().enumerate().map(of).collect()
}

/// Turns on which a switch sends no pauses, by its table, its name and layer, and the names and layers of what is at
/// its ports.
pub fn elided(table: &Switch, (name, layer): (&str, u32), around: &[(&str, u32)]) -> ElidedTurns {
    let mut out = ElidedTurns::default();
    let mut insert = |ingress: usize, egress: usize| out.insert(ingress as PortId, egress as PortId);
    match table.pausing().elide {
        None | Some(Elide::Rule(ElideRule::None)) => {}
        Some(Elide::Rule(ElideRule::Valley)) => {
            let above = || (0..around.len()).filter(|port| around[*port].1 > layer);
            above().for_each(|egress| above().for_each(|ingress| insert(ingress, egress)));
        }
        Some(Elide::Turns(turns)) => {
            let port = |name: &str| around.iter().position(|(peer, _)| *peer == name);
            for [from, _, to] in turns.iter().filter(|turn| turn[1] == name) {
                if let (Some(ingress), Some(egress)) = (port(from), port(to)) {
                    insert(ingress, egress);
                }
            }
        }
    }
    out
}
