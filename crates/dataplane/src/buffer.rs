//! The shared packet buffer of a switch: how much is held, and whether one more packet fits.
//!
//! Counts wire bytes of data packets; ACKs and control frames ride a queue of their own and are exempt (BFC-A13).
//! With a dynamic threshold a queue may hold at most `alpha` times the free buffer (Choudhury and Hahne 1998).

/// Occupancy and limit.
#[derive(Clone, Debug)]
pub struct Buffer {
    capacity: u64,
    used: u64,
    /// `alpha` in units of 1/65536; `None`: no per-queue threshold.
    alpha: Option<u64>,
}

impl Buffer {
    /// `capacity` in bytes (`u64::MAX` for an infinite one); `alpha` rounded to a multiple of 1/65536.
    pub fn new(capacity: u64, alpha: Option<f64>) -> Buffer {
        Buffer { capacity, used: 0, alpha: alpha.map(|a| (a * 65536.0 + 0.5) as u64) }
    }

    /// Whether a packet of `wire` bytes fits, joining a queue that holds `queue` bytes.
    #[inline(always)]
    pub fn admits(&self, queue: u64, wire: u64) -> bool {
        let free = self.capacity - self.used;
        let below_threshold = match self.alpha {
            None => true,
            Some(alpha) => (queue as u128) << 16 < alpha as u128 * free as u128,
        };
        wire <= free && below_threshold
    }

    /// Takes `wire` bytes in.
    #[inline(always)]
    pub fn charge(&mut self, wire: u64) {
        self.used += wire;
    }

    /// Gives `wire` bytes back.
    #[inline(always)]
    pub fn release(&mut self, wire: u64) {
        self.used -= wire;
    }

    /// Bytes held.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Bytes it can hold.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_greedy_queue_gets_alpha_over_one_plus_alpha() {
        let mut buffer = Buffer::new(3_000_000, Some(1.0));
        let mut queue = 0;
        while buffer.admits(queue, 1000) {
            buffer.charge(1000);
            queue += 1000;
        }
        assert_eq!(queue, 1_500_000);
    }

    #[test]
    fn capacity_is_never_exceeded() {
        let mut buffer = Buffer::new(2500, None);
        assert!(buffer.admits(0, 1000));
        buffer.charge(1000);
        buffer.charge(1000);
        assert!(!buffer.admits(0, 501));
        assert!(buffer.admits(0, 500));
    }
}
