//! When things were scheduled, in a word.

use backwater_types::Instant;

/// When something was scheduled: in which window, and there as which of what its partition did, or as which of what all did.
///
/// The greater is the later of those that one node scheduled, and of any two whose ranks are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

/// Bits that say which of a window: a rank in the whole network, or a number in a partition; the last tells the arrival of a frame from
/// the end of its transmission.
const OF_WINDOW: u32 = 34;
const RANKED: u64 = 1 << (OF_WINDOW - 1);
const START: u64 = 1 << 63;
const OF_PARTITION: u32 = 26;
/// Partitions that stamps can tell apart.
pub(super) const PARTITIONS: usize = 1 << (OF_WINDOW - 1 - OF_PARTITION);
/// Things that a partition can schedule in a window.
pub(super) const NUMBERS: usize = 1 << (OF_PARTITION - 1);
/// See [`Stamp::place`].
pub(super) const IN_A_WINDOW: usize = 2 * PARTITIONS;

impl Stamp {
    /// Of what was there before anything happened, by its place.
    pub fn before_all(place: u32) -> Stamp {
        Stamp::ranked(0, place, 0)
    }

    /// Of a flow that starts at `at`, after all else of its nanosecond: of workload `class`, and there by its number.
    pub fn after_all(at: Instant, class: u8, number: u32) -> Stamp {
        Stamp(START | (at.0 % 1000) << 40 | u64::from(class) << 32 | u64::from(number))
    }

    /// Of number `number` that `partition` schedules in a window.
    #[inline(always)]
    pub fn of(window: u64, partition: u64, number: usize) -> Stamp {
        Stamp(window << OF_WINDOW | partition << OF_PARTITION | (number as u64) << 1)
    }

    /// The end of the transmission, where this is the arrival.
    #[inline(always)]
    pub fn of_end(self) -> Stamp {
        Stamp(self.0 | 1)
    }

    #[inline(always)]
    fn ranked(window: u64, rank: u32, end: u64) -> Stamp {
        Stamp(window << OF_WINDOW | RANKED | u64::from(rank) << 1 | end)
    }

    /// Number of the window. Not of a flow's start.
    #[inline(always)]
    pub fn window(self) -> u64 {
        self.0 >> OF_WINDOW
    }

    /// Of the window and the partition: consecutive in a window, [`IN_A_WINDOW`] from one to the next.
    #[inline(always)]
    pub fn place(self) -> usize {
        (self.0 >> OF_PARTITION) as usize
    }

    /// As which of what its partition scheduled.
    #[inline(always)]
    pub fn number(self) -> usize {
        (self.0 & ((1 << OF_PARTITION) - 1)) as usize >> 1
    }

    /// The same with its rank in the window.
    #[inline(always)]
    pub fn with(self, rank: u32) -> Stamp {
        Stamp::ranked(self.window(), rank, self.0 & 1)
    }

    /// The greater the later.
    #[inline(always)]
    pub fn key(self) -> u64 {
        self.0
    }

    /// Nobody has to look for its rank.
    #[inline(always)]
    pub fn is_final(self) -> bool {
        self.0 & (START | RANKED) != 0
    }

    /// It is of a flow's start.
    #[inline(always)]
    pub fn is_start(self) -> bool {
        self.0 & START != 0
    }
}
