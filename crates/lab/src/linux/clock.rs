//! The lab's clock: time of the network is time of the machine, divided.
//!
//! A link of 100 Gbps is a link of 100 Mb/s at a divisor of 1000. So no parameter of a scenario is scaled.

use backwater_types::Instant;
use nix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant as Wall, SystemTime};

/// Frames whose stamp is older than this were stamped by a clock that has been set since; they count as new.
const OLDEST: Duration = Duration::from_secs(1);

/// Readings of two clocks, of which the best counts. They take some 10 us.
const READINGS: u32 = 100;

/// Clock of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    start: Wall,
    divisor: u32,
}

/// One reading of the clock.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    clock: Clock,
    wall: Wall,
    /// The machine's time since the epoch, by which the kernel stamps frames.
    system: Duration,
}

impl Clock {
    /// Starts a clock at time 0, on which `divisor` seconds of the machine are a second of the network.
    pub fn start(divisor: u32) -> Clock {
        Clock { start: Wall::now(), divisor }
    }

    /// The same clock, which starts later by `delay`. Until then it stands at 0.
    pub fn later(self, delay: Duration) -> Clock {
        Clock { start: self.start + delay, ..self }
    }

    /// Time of the machine since the clock started; zero before that.
    pub fn age(&self) -> Duration {
        Wall::now().saturating_duration_since(self.start)
    }

    /// The same clock, which stands at 0 until another takes its place.
    pub fn standing(divisor: u32) -> Clock {
        Clock::start(divisor).later(Duration::from_secs(100 * 365 * 86_400))
    }

    /// The clock of another process, which starts at a time of the machine's monotonic clock.
    pub fn at(divisor: u32, monotonic: Duration) -> Clock {
        let (wall, now) = both();
        let start = match now.checked_sub(monotonic) {
            Some(ago) => wall.checked_sub(ago).unwrap_or(wall),
            None => wall + (monotonic - now),
        };
        Clock { start, divisor }
    }

    /// Start of this clock on the machine's monotonic clock, which all processes share.
    pub fn monotonic(&self) -> Duration {
        let (wall, now) = both();
        now + self.start.saturating_duration_since(wall) - wall.saturating_duration_since(self.start)
    }

    /// Reads the clock.
    pub fn now(&self) -> Now {
        let system = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Now { clock: *self, wall: Wall::now(), system }
    }

    /// Returns the time of the network at a time of the machine.
    pub fn network(&self, wall: Wall) -> Instant {
        Instant((wall.saturating_duration_since(self.start).as_nanos() * 1000 / u128::from(self.divisor)) as u64)
    }

    /// Returns the time of the machine at a time of the network; `None` if it is too far off.
    pub fn wall(&self, network: Instant) -> Option<Wall> {
        let nanos = u128::from(network.0) * u128::from(self.divisor) / 1000;
        self.start.checked_add(Duration::from_nanos(u64::try_from(nanos).ok()?))
    }
}

/// Returns one instant by the clock of this process and by that of the machine, to within some 30 ns.
///
/// The clock of the process is read between two readings of the machine's, which are 60 ns apart. The scheduler may stop the
/// thread between them. So many are taken, and the nearest two count.
fn both() -> (Wall, Duration) {
    let read = || {
        let before = monotonic_now();
        let wall = Wall::now();
        (monotonic_now().saturating_sub(before), before, wall)
    };
    let nearest = (1..READINGS).map(|_| read()).fold(read(), |best, next| if next.0 < best.0 { next } else { best });
    let (apart, before, wall) = nearest;
    (wall, before + apart / 2)
}

/// Time of the machine's monotonic clock.
fn monotonic_now() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default()
}

impl Now {
    /// Time of the network.
    pub fn network(&self) -> Instant {
        self.clock.network(self.wall)
    }

    /// Time of the machine.
    pub fn wall(&self) -> Wall {
        self.wall
    }

    /// Time of the machine at which the kernel stamped a frame.
    pub fn stamped(&self, since_epoch: Duration) -> Wall {
        let age = self.system.saturating_sub(since_epoch);
        let age = if age > OLDEST { Duration::ZERO } else { age };
        self.wall.checked_sub(age).unwrap_or(self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes that share a start have the same clock, to a small part of the delay of a link.
    #[test]
    fn a_clock_passes_to_another_process() {
        for clock in [Clock::start(5), Clock::start(5).later(Duration::from_secs(3))] {
            let again = Clock::at(5, clock.monotonic());
            let apart = again.start.max(clock.start).duration_since(again.start.min(clock.start));
            assert!(apart < Duration::from_micros(1), "{apart:?}");
        }
    }

    #[test]
    fn times_of_network_and_machine_are_each_others() {
        let clock = Clock::start(5000);
        for us in [0, 1, 77, 1_000_000] {
            let wall = clock.wall(Instant(us * 1_000_000)).unwrap();
            assert_eq!(wall.duration_since(clock.start), Duration::from_micros(us * 5000));
            assert_eq!(clock.network(wall), Instant(us * 1_000_000));
        }
        assert!(clock.wall(Instant::NEVER).is_none());
    }
}
