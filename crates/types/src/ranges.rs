//! Ranges of parameters, narrower than those of their types.

use crate::Duration;
use alloc::format;
use alloc::string::{String, ToString};

/// Longest timer of a switch or a host, ten seconds. A run takes 60 s at most and the clock has 70 s, so every expiry
/// fits.
pub const TIMER_MAX: Duration = Duration(10_000_000_000_000);

/// Shortest period in which frames are repeated, 100 ns: the time of a frame at 5 Gb/s. Frames repeated faster than
/// they leave would pile up.
pub const PERIOD_MIN: Duration = Duration::from_ns(100);

/// A value that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Dotted key of the value, from the table that was checked.
    pub key: String,
    /// Values that are allowed, for the message.
    pub expected: String,
}

impl OutOfRange {
    /// Refuses the value of `key` unless `holds`.
    ///
    /// # Errors
    /// If `holds` is false.
    pub fn unless(holds: bool, key: &str, expected: &str) -> Result<(), OutOfRange> {
        if holds { Ok(()) } else { Err(OutOfRange { key: key.to_string(), expected: expected.to_string() }) }
    }

    /// Refuses a time of `key` that is longer than [`TIMER_MAX`] or shorter than `least`.
    ///
    /// # Errors
    /// If the time is out of this range.
    pub fn unless_timer(key: &str, time: Duration, least: Duration) -> Result<(), OutOfRange> {
        let within = (least..=TIMER_MAX).contains(&time);
        OutOfRange::unless(within, key, &format!("at least {least} and at most {TIMER_MAX}"))
    }

    /// Message, without the key.
    pub fn problem(&self) -> String {
        format!("expected {}", self.expected)
    }

    /// Prefixes the key with the name of the table around it.
    pub fn within(self, table: &str) -> OutOfRange {
        OutOfRange { key: format!("{table}.{}", self.key), ..self }
    }
}

/// Parameters whose ranges do not depend on anything else.
pub trait Ranges {
    /// Checks all ranges.
    ///
    /// # Errors
    /// Names the first value that is out of its range.
    fn check(&self) -> Result<(), OutOfRange>;
}
