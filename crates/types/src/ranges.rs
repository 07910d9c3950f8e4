//! Values that are not any value of their type.

use crate::Duration;
use alloc::format;
use alloc::string::{String, ToString};

/// No timer of a switch or a host is longer: ten seconds. A run takes 60 s at most and the clock has 70, so that every timer
/// that is set fits.
pub const TIMER_MAX: Duration = Duration(10_000_000_000_000);

/// No period in which frames are repeated is shorter: 100 ns, as long as a frame takes at 5 Gb/s. Frames that come faster than
/// they leave would wait without end.
pub const PERIOD_MIN: Duration = Duration::from_ns(100);

/// A value that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Dotted key of the value, from the table that was checked.
    pub key: String,
    /// What was allowed.
    pub expected: String,
}

impl OutOfRange {
    /// Refuses the value of `key` unless `holds`.
    ///
    /// # Errors
    /// If it does not.
    pub fn unless(holds: bool, key: &str, expected: &str) -> Result<(), OutOfRange> {
        if holds { Ok(()) } else { Err(OutOfRange { key: key.to_string(), expected: expected.to_string() }) }
    }

    /// Refuses a time of `key` that is longer than [`TIMER_MAX`] or shorter than `least`.
    ///
    /// # Errors
    /// If it is.
    pub fn unless_timer(key: &str, time: Duration, least: Duration) -> Result<(), OutOfRange> {
        let within = (least..=TIMER_MAX).contains(&time);
        OutOfRange::unless(within, key, &format!("at least {least} and at most {TIMER_MAX}"))
    }

    /// In a sentence.
    pub fn problem(&self) -> String {
        format!("expected {}", self.expected)
    }

    /// The same, of a table in another.
    pub fn within(self, table: &str) -> OutOfRange {
        OutOfRange { key: format!("{table}.{}", self.key), ..self }
    }
}

/// Parameters whose ranges can be checked without knowing anything else.
pub trait Ranges {
    /// The first value out of its range.
    ///
    /// # Errors
    /// If there is one.
    fn check(&self) -> Result<(), OutOfRange>;
}
