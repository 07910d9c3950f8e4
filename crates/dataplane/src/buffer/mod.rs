//! Admission of packets to the memory of a switch.
//!
//! Source: spec G.1, after Bai et al., ToN 2021, section II-A, and Choudhury and Hahne 1998. Each MMU has a shared pool
//! of `B` bytes for the queues of its ports, and each queue may have `S` bytes to itself:
//!
//! ```text
//! private room:  private used + len <= S                       -> private
//! shared room:   shared part of the queue < alpha (B - used)   and   used + len <= B   -> shared
//! else the arriving packet is dropped; nothing is pushed out
//! ```
//!
//! A departing packet gives back bytes of the pool first (BCC-A4), so private bytes stay filled. M greedy queues each
//! settle at `alpha B / (1 + M alpha)` of the pool. Only wire bytes of packets in data queues count. ACKs and control
//! frames have queues of their own and are exempt (BFC-A13) unless the switch puts ACKs among the data.

pub mod cells;
mod params;
pub mod ring;

pub use params::{BufferSize, Mmu, QueueMemory, Returns};
pub use ring::Ring;

use crate::marking::Red;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use backwater_types::hash::Stream;
use backwater_types::{PortId, QueueId};

/// Memory of a switch beyond one shared pool.
#[derive(Clone, Debug, Default)]
pub struct MemoryShape {
    /// `[port]`: MMU of the port, numbered from 0 without gaps. Empty: one MMU for all.
    pub mmu: Vec<u8>,
    /// `[queue]`: private bytes of this queue of each port. Empty: no private bytes.
    pub private: Vec<u64>,
    /// `[queue]`: dynamic thresholds. Used only where `private` is given.
    pub alpha: Vec<Option<f64>>,
    /// A departing packet gives back private bytes first.
    pub returns_private: bool,
    /// Marking by the occupancy of a pool.
    pub red: Option<Red>,
    /// Whether its uniform spacing counts the bytes of each port separately.
    pub red_per_port: bool,
}

/// Reason why a packet does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The pool has no room.
    Full,
    /// The queue is at or above its dynamic threshold.
    Threshold,
}

/// The shared pool of one MMU.
#[derive(Clone, Debug)]
pub struct Pool {
    capacity: u64,
    used: u64,
    peak: u64,
    /// Marking rule on `used`.
    red: Red,
    /// Drops and marks in this pool.
    pub counts: PoolCounts,
}

/// Packets dropped or marked by a pool and its rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize))]
pub struct PoolCounts {
    /// Packets dropped because the pool was full.
    pub dropped_full: u64,
    /// Packets dropped because their queue was at its dynamic threshold.
    pub dropped_threshold: u64,
    /// Packets marked by the rule of their queue or port.
    pub marked_queue: u64,
    /// Packets marked by the rule of the pool alone.
    pub marked_pool: u64,
}

/// Private bytes and threshold of a queue.
#[derive(Clone, Copy, Debug)]
struct Account {
    private: u64,
    used: u64,
    alpha: Threshold,
}

/// Alpha in units of 1/65536; `None`: no threshold.
type Threshold = Option<u64>;

fn threshold(alpha: Option<f64>) -> Threshold {
    alpha.map(|a| (a * 65536.0 + 0.5) as u64)
}

/// Occupancy and limits of the buffer of a switch.
#[derive(Clone, Debug)]
pub struct Buffer {
    pools: Vec<Pool>,
    /// `[port]`: MMU of the port.
    mmu: Vec<u8>,
    alpha: Threshold,
    /// `[port x queue]`: accounts. Empty if no queue has private bytes and all thresholds are equal.
    accounts: Vec<Account>,
    queues: usize,
    returns_private: bool,
    /// `[port]`: the pools' marking rule, where each port counts separately; else empty.
    reds: Vec<Red>,
}

impl Buffer {
    /// Pools of `capacity` bytes each (`u64::MAX` for infinite ones) for `ports` ports; `alpha` rounded to a multiple
    /// of 1/65536.
    pub fn new(capacity: u64, alpha: Option<f64>, ports: usize, memory: &MemoryShape) -> Buffer {
        let mmu = if memory.mmu.is_empty() { vec![0; ports] } else { memory.mmu.clone() };
        let pools = mmu.iter().max().map_or(1, |last| *last as usize + 1);
        let red = memory.red.unwrap_or(Red::OFF);
        let queue =
            |(private, alpha): (&u64, &Option<f64>)| Account { private: *private, used: 0, alpha: threshold(*alpha) };
        let accounts: Vec<Account> = memory.private.iter().zip(&memory.alpha).map(queue).collect();
        Buffer {
            pools: vec![Pool { capacity, used: 0, peak: 0, red, counts: PoolCounts::default() }; pools],
            mmu,
            alpha: threshold(alpha),
            queues: accounts.len(),
            accounts: accounts.repeat(ports),
            returns_private: memory.returns_private,
            reds: if memory.red_per_port { vec![red; ports] } else { Vec::new() },
        }
    }

    /// Bytes it can hold, private ones among them; `None` if there is no limit.
    pub fn capacity(&self) -> Option<u64> {
        let private: u64 = self.accounts.iter().map(|account| account.private).sum();
        let pools: u64 = self.pools.iter().map(|pool| pool.capacity).fold(0, u64::saturating_add);
        (pools != u64::MAX).then(|| pools + private)
    }

    /// The MMU of a port.
    pub fn mmu(&self, port: PortId) -> u8 {
        self.mmu[port as usize]
    }

    /// Whether a packet of `wire` bytes fits, if it joins a queue that holds `bytes`.
    ///
    /// # Errors
    /// The reason why the packet does not fit.
    #[inline(always)]
    pub fn admits(&self, mmu: u8, port: PortId, queue: QueueId, bytes: u64, wire: u64) -> Result<(), Refused> {
        let pool = &self.pools[mmu as usize];
        let (mut shared, mut alpha) = (bytes, self.alpha);
        if !self.accounts.is_empty() {
            let account = &self.accounts[port as usize * self.queues + queue as usize];
            if account.used + wire <= account.private {
                return Ok(());
            }
            (shared, alpha) = (bytes - account.used, account.alpha);
        }
        let free = pool.capacity - pool.used;
        if alpha.is_some_and(|alpha| (shared as u128) << 16 >= alpha as u128 * free as u128) {
            return Err(Refused::Threshold);
        }
        if wire <= free { Ok(()) } else { Err(Refused::Full) }
    }

    /// Whether a packet of `wire` bytes that finds its port empty may bypass the queues: it fits and, if the marking
    /// rule is `asked`, the pool would not mark it.
    #[inline(always)]
    pub fn passes(&mut self, mmu: u8, port: PortId, queue: QueueId, wire: u64, asked: bool) -> bool {
        (!asked || {
            let (used, red) = self.rule(mmu, port);
            red.is_below(used)
        }) && self.admits(mmu, port, queue, 0, wire).is_ok()
    }

    /// Records that a packet of `wire` bytes bypassed the queues: it occupied memory for a moment.
    #[inline(always)]
    pub fn passed(&mut self, mmu: u8, port: PortId, queue: QueueId, wire: u64) {
        if !self.accounts.is_empty() {
            let account = &self.accounts[port as usize * self.queues + queue as usize];
            if account.used + wire <= account.private {
                return;
            }
        }
        let pool = &mut self.pools[mmu as usize];
        pool.peak = pool.peak.max(pool.used + wire);
    }

    /// Counts a packet that did not fit.
    #[cold]
    pub fn refuse(&mut self, mmu: u8, why: Refused) {
        let counts = &mut self.pools[mmu as usize].counts;
        match why {
            Refused::Full => counts.dropped_full += 1,
            Refused::Threshold => counts.dropped_threshold += 1,
        }
    }

    /// Charges `wire` bytes, which fit.
    #[inline(always)]
    pub fn charge(&mut self, mmu: u8, port: PortId, queue: QueueId, wire: u64) {
        if !self.accounts.is_empty() {
            let account = &mut self.accounts[port as usize * self.queues + queue as usize];
            if account.used + wire <= account.private {
                account.used += wire;
                return;
            }
        }
        let pool = &mut self.pools[mmu as usize];
        pool.used += wire;
        pool.peak = pool.peak.max(pool.used);
    }

    /// Releases `wire` bytes of a queue that still holds `left` bytes.
    #[inline(always)]
    pub fn release(&mut self, mmu: u8, port: PortId, queue: QueueId, left: u64, wire: u64) {
        let mut of_pool = wire;
        if !self.accounts.is_empty() {
            let account = &mut self.accounts[port as usize * self.queues + queue as usize];
            of_pool = match self.returns_private {
                false => wire.min(left + wire - account.used),
                true => wire - wire.min(account.used),
            };
            account.used -= wire - of_pool;
        }
        self.pools[mmu as usize].used -= of_pool;
    }

    /// Whether the pool's rule marks a packet of `wire` bytes that has departed by `port`.
    #[inline(always)]
    pub fn marks(&mut self, mmu: u8, port: PortId, wire: u64, rng: &mut Stream) -> bool {
        let (used, red) = self.rule(mmu, port);
        red.marks(used, wire, rng)
    }

    /// Bytes in a pool, and the pool's marking rule for departures by `port`.
    #[inline(always)]
    fn rule(&mut self, mmu: u8, port: PortId) -> (u64, &mut Red) {
        let pool = &mut self.pools[mmu as usize];
        let red = if self.reds.is_empty() { &mut pool.red } else { &mut self.reds[port as usize] };
        (pool.used, red)
    }

    /// Counts a mark, made by the queue's rule or by the pool's alone.
    #[inline(always)]
    pub fn marked(&mut self, mmu: u8, by_queue: bool) {
        let counts = &mut self.pools[mmu as usize].counts;
        counts.marked_queue += by_queue as u64;
        counts.marked_pool += !by_queue as u64;
    }

    /// Bytes held, including private ones.
    pub fn used(&self) -> u64 {
        let private: u64 = self.accounts.iter().map(|account| account.used).sum();
        self.pools.iter().map(|pool| pool.used).sum::<u64>() + private
    }

    /// The shared pools, by MMU.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// Compares with a recount: `held` lists port, queue and bytes of every queue with data.
    ///
    /// # Errors
    /// The first disagreement.
    pub fn audit(&self, held: &[(PortId, QueueId, u64)]) -> Result<(), String> {
        let mut pools = vec![0; self.pools.len()];
        let mut private = vec![0; self.accounts.len()];
        for (port, queue, bytes) in held {
            let at = *port as usize * self.queues + *queue as usize;
            let own = self.accounts.get(at).map_or(0, |account| account.used);
            if own > *bytes {
                return Err(format!("port {port} queue {queue}: {own} private bytes of {bytes}"));
            }
            if let Some(seen) = private.get_mut(at) {
                *seen = own;
            }
            pools[self.mmu[*port as usize] as usize] += bytes - own;
        }
        for (at, account) in self.accounts.iter().enumerate() {
            if account.used != private[at] || account.used > account.private {
                return Err(format!(
                    "account {at}: {} private bytes, {} held of {}",
                    account.used, private[at], account.private
                ));
            }
        }
        for (mmu, (pool, held)) in self.pools.iter().zip(pools).enumerate() {
            if pool.used != held || held > pool.capacity {
                return Err(format!("pool {mmu} of {} counts {} bytes, {held} are held", pool.capacity, pool.used));
            }
        }
        Ok(())
    }
}

impl Pool {
    /// Bytes held.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Largest number of bytes held so far.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills queue 0 of each of `ports` ports in turn until no port takes another packet of 1000 B. Returns the bytes
    /// of each.
    fn fill(buffer: &mut Buffer, ports: usize) -> Vec<u64> {
        let mut queues = vec![0; ports];
        loop {
            let before: u64 = queues.iter().sum();
            for (port, bytes) in queues.iter_mut().enumerate() {
                let (mmu, port) = (buffer.mmu(port as PortId), port as PortId);
                if buffer.admits(mmu, port, 0, *bytes, 1000).is_ok() {
                    buffer.charge(mmu, port, 0, 1000);
                    *bytes += 1000;
                }
            }
            if queues.iter().sum::<u64>() == before {
                return queues;
            }
        }
    }

    fn one_queue(private: u64, alpha: f64) -> MemoryShape {
        MemoryShape { private: vec![private], alpha: vec![Some(alpha)], ..MemoryShape::default() }
    }

    #[test]
    fn greedy_queues_get_alpha_over_one_plus_m_alpha_and_their_private_bytes() {
        for (m, alpha) in (1..=16).flat_map(|m| [(m, 1.0), (m, 4.0), (m, 0.5)]) {
            let share = alpha * 3e6 / (1.0 + m as f64 * alpha);
            for (private, memory) in [(0, MemoryShape::default()), (128_000, one_queue(128_000, alpha))] {
                let mut buffer = Buffer::new(3_000_000, Some(alpha), m, &memory);
                for bytes in fill(&mut buffer, m) {
                    let off = bytes as f64 - share - private as f64;
                    assert!(off.abs() <= 1000.0, "{m} queues, alpha {alpha}, private {private}: {bytes} for {share}");
                }
            }
        }
    }

    #[test]
    fn pools_are_independent() {
        let memory = MemoryShape { mmu: vec![0, 0, 1, 1], ..MemoryShape::default() };
        let mut buffer = Buffer::new(10_000, None, 4, &memory);
        for _ in 0..10 {
            buffer.charge(0, 1, 0, 1000);
        }
        assert_eq!(buffer.admits(0, 0, 0, 0, 1), Err(Refused::Full));
        assert_eq!(buffer.admits(1, 2, 0, 0, 10_000), Ok(()));
        assert_eq!((buffer.pools()[0].used(), buffer.pools()[1].used(), buffer.used()), (10_000, 0, 10_000));
    }

    #[test]
    fn private_bytes_are_used_first_and_given_back_last_or_first() {
        for (returns_private, left) in [(false, (3000, 0)), (true, (2000, 1000))] {
            let memory = MemoryShape { returns_private, ..one_queue(3000, 1.0) };
            let mut buffer = Buffer::new(10_000, None, 1, &memory);
            for i in 0..5 {
                assert!(buffer.admits(0, 0, 0, 1000 * i, 1000).is_ok());
                buffer.charge(0, 0, 0, 1000);
            }
            assert_eq!(buffer.pools()[0].used(), 2000);
            for left in [4000, 3000] {
                buffer.release(0, 0, 0, left, 1000);
            }
            assert_eq!(
                (buffer.used() - buffer.pools()[0].used(), buffer.pools()[0].used()),
                if returns_private { (1000, 2000) } else { left }
            );
            assert_eq!(buffer.audit(&[(0, 0, 3000)]), Ok(()));
        }
    }

    /// With p = 1/3 every second packet after a mark is marked for certain; spacing counts the packets of the pool, or
    /// of the port.
    #[test]
    fn uniform_spacing_counts_over_the_pool_or_each_port() {
        for red_per_port in [false, true] {
            let red = Some(Red::new(0, 15_000, 1.0).uniform(1000));
            let mut buffer = Buffer::new(15_000, None, 2, &MemoryShape { red, red_per_port, ..MemoryShape::default() });
            (0..5).for_each(|_| buffer.charge(0, 0, 0, 1000));
            let mut rng = Stream::new(1, 1, 1);
            let marked: Vec<bool> = (0..1000).map(|i| buffer.marks(0, i % 2, 1000, &mut rng)).collect();
            let of_port: Vec<bool> = marked.iter().step_by(2).copied().collect();
            let two_unmarked = |marked: &[bool]| marked.windows(2).any(|pair| pair == [false; 2]);
            assert_eq!((two_unmarked(&marked), two_unmarked(&of_port)), (red_per_port, !red_per_port));
        }
    }

    #[test]
    fn queues_of_a_port_may_differ() {
        let memory = MemoryShape { private: vec![0, 5000], alpha: vec![Some(1.0), None], ..MemoryShape::default() };
        let buffer = Buffer::new(10_000, Some(1.0), 1, &memory);
        assert_eq!(buffer.admits(0, 0, 0, 10_000, 1), Err(Refused::Threshold));
        assert_eq!(buffer.admits(0, 0, 1, 10_000, 1), Ok(()));
    }

    #[test]
    fn capacity_is_never_exceeded() {
        let mut buffer = Buffer::new(2500, None, 1, &MemoryShape::default());
        buffer.charge(0, 0, 0, 1000);
        buffer.charge(0, 0, 0, 1000);
        assert_eq!(buffer.admits(0, 0, 0, 0, 501), Err(Refused::Full));
        assert_eq!(buffer.admits(0, 0, 0, 0, 500), Ok(()));
    }
}
