//! Stamps: when an event was scheduled, in a word.

use backwater_types::Instant;

/// Stamp of an event: when it was scheduled. [`super::ranks`] shows how stamps get their ranks.
///
/// Fields, from the highest bit on:
///
/// ```text
/// without a rank   0 | window 29 | 0 | partition 7 | number in the partition 25 | end 1
/// with a rank      0 | window 29 | 1 | rank in the whole network 32 | end 1
/// start of a flow  1 | unused 13 | picoseconds within the nanosecond 10 | workload 8 | number of the flow 32
/// ```
///
/// The bit *end* is 1 for the end of a transmission, and 0 for the arrival of its frame, which has the same number.
///
/// The greater of two stamps was scheduled later, if one node scheduled both or if both have ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

/// Number of bits below the window. They hold a rank in the whole network, or a number in a partition. The last bit
/// distinguishes the end of a transmission from the arrival of its frame, which has the same number.
const OF_WINDOW: u32 = 34;
const RANKED: u64 = 1 << (OF_WINDOW - 1);
const START: u64 = 1 << 63;
const OF_PARTITION: u32 = 26;
/// Most partitions that stamps tell apart.
pub(super) const PARTITIONS: usize = 1 << (OF_WINDOW - 1 - OF_PARTITION);
/// Most events that a partition schedules in a window.
pub(super) const NUMBERS: usize = 1 << (OF_PARTITION - 1);
/// Distance of the places of two windows: see [`Stamp::place`].
pub(super) const IN_A_WINDOW: usize = 2 * PARTITIONS;

impl Stamp {
    /// Returns the stamp of an event that exists before the run starts, by its place among these.
    pub fn before_all(place: u32) -> Stamp {
        Stamp::ranked(0, place, 0)
    }

    /// Returns the stamp of a flow that starts at `at`, after all other events of its nanosecond. Flows of one instant
    /// start by workload `class`, then by `number`.
    pub fn after_all(at: Instant, class: u8, number: u32) -> Stamp {
        Stamp(START | (at.0 % 1000) << 40 | u64::from(class) << 32 | u64::from(number))
    }

    /// Returns the stamp of event number `number` that `partition` schedules in a window.
    #[inline(always)]
    pub fn of(window: u64, partition: u64, number: usize) -> Stamp {
        Stamp(window << OF_WINDOW | partition << OF_PARTITION | (number as u64) << 1)
    }

    /// Returns the stamp of the end of the transmission whose frame's arrival has this stamp.
    #[inline(always)]
    pub fn of_end(self) -> Stamp {
        Stamp(self.0 | 1)
    }

    #[inline(always)]
    fn ranked(window: u64, rank: u32, end: u64) -> Stamp {
        Stamp(window << OF_WINDOW | RANKED | u64::from(rank) << 1 | end)
    }

    /// Returns the number of the window; meaningless for the start of a flow.
    #[inline(always)]
    pub fn window(self) -> u64 {
        self.0 >> OF_WINDOW
    }

    /// Returns a number for the window and the partition: consecutive in a window, [`IN_A_WINDOW`] from one window to
    /// the next.
    #[inline(always)]
    pub fn place(self) -> usize {
        (self.0 >> OF_PARTITION) as usize
    }

    /// Returns the number among the events that the partition scheduled in the window.
    #[inline(always)]
    pub fn number(self) -> usize {
        (self.0 & ((1 << OF_PARTITION) - 1)) as usize >> 1
    }

    /// Returns the stamp with its rank in the window.
    #[inline(always)]
    pub fn with(self, rank: u32) -> Stamp {
        Stamp::ranked(self.window(), rank, self.0 & 1)
    }

    /// Returns the stamp as an integer to compare.
    #[inline(always)]
    pub fn key(self) -> u64 {
        self.0
    }

    /// Whether the stamp needs no further rank: it has one, or it is of a flow's start.
    #[inline(always)]
    pub fn is_final(self) -> bool {
        self.0 & (START | RANKED) != 0
    }

    /// Whether the stamp is of a flow's start.
    #[inline(always)]
    pub fn is_start(self) -> bool {
        self.0 & START != 0
    }
}
