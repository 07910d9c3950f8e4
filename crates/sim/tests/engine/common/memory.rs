//! Model of switch memory: which packets must be admitted, refused or marked, and which may be marked. It follows the
//! packets that enter and leave, is written from spec G.1 and G.2, and shares no code with the switch.

use backwater_scenario::model::{Assignment, BufferSize, EcnOf, NotEct, Returns, Scenario};
use backwater_scenario::topology::Graph;
use backwater_sim::ports;
use backwater_types::{Packet, PortId, flags};

/// Memory of a switch with one queue per port, or one per class: an observer can tell the queue of a packet.
#[derive(Clone, Debug)]
pub struct Memory {
    capacity: u64,
    /// `[port]`: number of its MMU.
    mmu: Vec<usize>,
    /// `[queue]`: private bytes.
    private: Vec<u64>,
    alpha: Vec<Option<f64>>,
    returns_private: bool,
    /// `[mmu]`: shared bytes in use.
    used: Vec<u64>,
    /// `[port][queue]`: bytes held.
    queues: Vec<Vec<Queue>>,
    /// `[port]`: marking thresholds of a queue or of the port, bytes.
    ecn: Vec<Option<(u64, u64)>>,
    by_port: bool,
    /// `[queue]`: whether the thresholds apply to it.
    covered: Vec<bool>,
    pool: Option<(u64, u64)>,
    pool_of_covered: bool,
    /// Whether the switch drops packets that cannot be marked.
    pub drops: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    bytes: u64,
    private: u64,
}

impl Memory {
    /// Creates the model of switch number `node` of the graph; `None` if the switch assigns queues to flows.
    pub fn new(scenario: &Scenario, graph: &Graph, node: usize) -> Option<Memory> {
        let switch = scenario.switch_at(&graph.nodes[node].name);
        let queues = match switch.assignment {
            Assignment::Single | Assignment::Class | Assignment::Priority => usize::from(switch.data_queues()),
            _ => return None,
        };
        let links = &ports(graph)[node];
        let name = |link: &usize| &graph.nodes[graph.peer(*link, node)].name;
        let mmu_of = |(port, link): (usize, &usize)| match switch.mmu.ports {
            Some(ports) => port / ports as usize,
            None => switch.mmu.neighbours.iter().position(|names| names.contains(name(link))).unwrap_or(0),
        };
        let mmu: Vec<usize> = links.iter().enumerate().map(mmu_of).collect();
        let own = |queue: usize| switch.mmu.queue.get(queue);
        let ecn = |link: &usize| {
            let ecn = switch.ecn.as_ref()?;
            let at = ecn.by_rate.iter().find(|at| at.rate == graph.links[*link].rate);
            Some(at.map_or((ecn.kmin.0, ecn.kmax.0), |at| (at.kmin.0, at.kmax.0)))
        };
        Some(Memory {
            capacity: match switch.buffer {
                BufferSize::Infinite => u64::MAX,
                BufferSize::Shared(bytes) => bytes.0,
            },
            used: vec![0; mmu.iter().max().map_or(1, |last| last + 1)],
            private: (0..queues)
                .map(|queue| own(queue).and_then(|own| own.private).unwrap_or(switch.mmu.private).0)
                .collect(),
            alpha: (0..queues).map(|queue| own(queue).and_then(|own| own.alpha).or(switch.alpha)).collect(),
            returns_private: switch.mmu.returns == Returns::Private,
            queues: vec![vec![Queue::default(); queues]; links.len()],
            ecn: links.iter().map(ecn).collect(),
            by_port: switch.ecn.as_ref().is_some_and(|ecn| ecn.of == EcnOf::Port),
            covered: (0..queues as u16)
                .map(|queue| switch.ecn.as_ref().is_some_and(|e| e.queues.is_empty() || e.queues.contains(&queue)))
                .collect(),
            pool: switch.pool_ecn.as_ref().map(|pool| (pool.kmin.0, pool.kmax.0)),
            pool_of_covered: switch.pool_ecn.as_ref().is_some_and(|pool| pool.only_ecn_queues),
            drops: switch.not_ect == NotEct::Drop,
            mmu,
        })
    }

    fn queue(&self, packet: &Packet) -> usize {
        (packet.class as usize).min(self.private.len() - 1)
    }

    /// Returns the most bytes that the switch can hold.
    pub fn most(&self) -> u64 {
        let private = self.private.iter().sum::<u64>() * self.mmu.len() as u64;
        self.capacity.saturating_mul(self.used.len() as u64).saturating_add(private)
    }

    /// Whether the packet fits at this port.
    pub fn admits(&self, port: PortId, packet: &Packet) -> bool {
        let (mmu, class, wire) = (self.mmu[port as usize], self.queue(packet), packet.wire as u64);
        let queue = self.queues[port as usize][class];
        // A faulty switch may exceed its memory or send a packet it never had; other checks report that.
        let free = self.capacity.saturating_sub(self.used[mmu]);
        let below = self.alpha[class].is_none_or(|alpha| ((queue.bytes - queue.private) as f64) < alpha * free as f64);
        queue.private + wire <= self.private[class] || (below && wire <= free)
    }

    /// Whether the switch may refuse the packet: it does not fit at some port.
    pub fn may_refuse(&self, packet: &Packet) -> bool {
        (0..self.mmu.len()).any(|port| !self.admits(port as PortId, packet))
    }

    /// Adds an admitted packet.
    pub fn enter(&mut self, port: PortId, packet: &Packet) {
        let (mmu, class, wire) = (self.mmu[port as usize], self.queue(packet), packet.wire as u64);
        let queue = &mut self.queues[port as usize][class];
        queue.bytes += wire;
        if queue.private + wire <= self.private[class] {
            queue.private += wire;
        } else {
            self.used[mmu] += wire;
        }
    }

    /// Removes a packet that has left. Its bytes return to the shared pool first, or to the queue's private memory
    /// first.
    pub fn leave(&mut self, port: PortId, packet: &Packet) {
        let (mmu, class, wire) = (self.mmu[port as usize], self.queue(packet), packet.wire as u64);
        let queue = &mut self.queues[port as usize][class];
        let shared = queue.bytes.saturating_sub(queue.private);
        let of_private = if self.returns_private { queue.private.min(wire) } else { wire - shared.min(wire) };
        queue.bytes = queue.bytes.saturating_sub(wire);
        queue.private = queue.private.saturating_sub(of_private);
        self.used[mmu] = self.used[mmu].saturating_sub(wire - of_private);
    }

    /// Returns whether a packet that has just left may be marked, and whether it must be.
    pub fn marks(&self, port: PortId, packet: &Packet) -> (bool, bool) {
        let (port, class) = (port as usize, self.queue(packet));
        let mut verdict = (false, false);
        let mut ask = |length: u64, (kmin, kmax): (u64, u64)| {
            verdict = (verdict.0 || length > kmin, verdict.1 || length > kmax);
        };
        let all = self.queues[port].iter().map(|queue| queue.bytes).sum();
        let length = if self.by_port { all } else { self.queues[port][class].bytes };
        if let Some(ecn) = self.ecn[port].filter(|_| self.covered[class]) {
            ask(length, ecn);
        }
        if let Some(pool) = self.pool.filter(|_| self.covered[class] || !self.pool_of_covered) {
            ask(self.used[self.mmu[port]], pool);
        }
        if packet.has(flags::ECT) { verdict } else { (false, false) }
    }
}
